/* harvest_nodes.h - rows in bytes that are not known to be a page of a tree (harvest_scan.c). */
#ifndef LARDER_HARVEST_NODES_H
#define LARDER_HARVEST_NODES_H

#include "harvest.h"

/* Takes rows that prove themselves from nodes that begin at each step of some bytes. */
void larder__harvest_search_nodes(larder__harvest *h, const uint8_t *bytes, size_t size_bytes,
                                  size_t step);

#endif

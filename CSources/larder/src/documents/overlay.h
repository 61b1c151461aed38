/* overlay.h - what overlay.c offers overlay_scan.c. */
#ifndef LARDER_OVERLAY_H
#define LARDER_OVERLAY_H

#include "documents.h"

/* The key of an overlay; as prefix of a collection's overlays with an empty id. */
void larder__overlay_key(larder__key *key, uint64_t user, uint64_t collection, larder_bytes id);

#endif

/*
 * scan.h - what scan.c (scans of one collection, by read time) and scan_group.c share.
 */
#ifndef LARDER_SCAN_H
#define LARDER_SCAN_H

#include "stream.h"

/* The user of a local view: 0 when it is unknown or not asked for. */
int32_t larder__scan_user(const larder_txn *txn, const larder_scan_options *options, uint64_t *user,
                          larder_error *error);
/* next of a scan that gives nothing, for names the store does not know. */
int32_t larder__scan_nothing(larder_scan *scan, larder_document *document, larder_error *error);
/* Reads what the stream stands on. LARDER_NOT_FOUND: the flags pass it over. */
int32_t larder__scan_give(larder_scan *scan, larder__stream *stream, larder__ahead *ahead,
                          larder_document *document, larder_error *error);

#endif

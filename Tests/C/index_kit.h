/*
 * index_kit.h - short notations for tests of indexes and sets: records, definitions, bounds and
 * expected documents as text.
 *
 * Values: 12  -0.5  nan  null  true  'text'  x*300  x*300+'text' (300 times x, then text)
 * @5 (timestamp, in seconds)  &'c/1' (reference)  [1, 'a']  {k: 1}. A record: "a=1 b='x' tags=[1, 2]".
 */
#ifndef LARDER_TEST_INDEX_KIT_H
#define LARDER_TEST_INDEX_KIT_H

#include "test.h"

/* A plain record; borrowed until the eighth call after it. */
larder_bytes kit_record(const char *text);
/* An encoded value; likewise. */
larder_bytes kit_value(const char *text);
/* The order bytes of values: "asc 1, desc 'x'"; likewise. */
larder_bytes kit_order(const char *text);
/* An encoded field path of dotted text; likewise. */
larder_bytes kit_path(const char *text);

void kit_put(larder_txn *txn, const char *name, const char *record);
/* count documents {a: 0 .. count - 1} in several collections of group c. */
void kit_put_many(larder_txn *txn, int count);
/* As known not to exist. */
void kit_put_absent(larder_txn *txn, const char *name);
void kit_remove(larder_txn *txn, const char *name);
/* The view of a user; record NULL: deleted. */
void kit_overlay(larder_txn *txn, const char *user, const char *name, const char *record);

/* segments: "a asc, m.b desc, tags contains". */
uint32_t kit_define(larder_txn *txn, const char *group, const char *segments);
/* The same with the status; *index_id stays as it is on failure. */
int32_t kit_try_define(larder_txn *txn, const char *group, const char *segments,
                       uint32_t *index_id);
/* Back-fills to the end. */
void kit_fill(larder_txn *txn, uint32_t index_id);
larder_index kit_index(const larder_txn *txn, uint32_t index_id);

/* Options with bounds in kit_order's notation, or NULL. */
larder_scan_options kit_options(uint32_t flags, const char *start, const char *end);

/* The names that the scan gives, with spaces between them, for checks; closes it. Damaged
 * entries come as "E_CORRUPT". */
const char *kit_names(larder_scan *scan);
const char *kit_scan(const larder_txn *txn, uint32_t index_id, const char *collection,
                     const larder_scan_options *options);
/* Of the whole group, in ascending order. */
const char *kit_all(const larder_txn *txn, uint32_t index_id);

/* Compares what a definition counts with the rows of both tables. */
void kit_check_counts(const larder_txn *txn);

#define CHECK_NAMES(actual, expected)                                                              \
    do {                                                                                           \
        const char *given = (actual);                                                              \
        CHECK_NOTE(strcmp(given, (expected)) == 0, "%s gives \"%s\", not \"%s\"", #actual, given,  \
                   (expected));                                                                    \
    } while (0)

#endif

/*
 * location.h - the rows of one location: children of a node that is too large for its parent's row,
 * or of a tree's holder, whose only child has the empty key and is the tree's root.
 *
 *   key of a row   location number | separator                     at most SEPARATOR_MAX bytes
 *                  location number | first SEPARATOR_MAX bytes of a key form | fraction (8)
 *
 * A separator is above every key of the rows before and not above the keys of its row; the first
 * row of a location has the empty one. It is as short as it can be. Where two neighbouring keys
 * share so much that their separator would be too long, the row behind gets what they share, cut,
 * and a fraction that orders the rows with the same cut bytes. When no fraction is left between two
 * such rows, the row before stays larger than others.
 *
 * Location number 0 is the list of what is to be freed: 0, location number -> empty.
 */
#ifndef LARDER_LOCATION_H
#define LARDER_LOCATION_H

#include "segment.h"

#define LARDER__SEPARATOR_MAX 400

void larder__location_key(larder__key *key, uint64_t location);
/* Splits a row's key; false when it is malformed. */
bool larder__location_read_key(larder_bytes key, uint64_t *location, larder_bytes *separator);

/* Stands on one row of a location. */
typedef struct larder__location_cursor {
    larder__cursor rows;
    uint64_t location;
    larder__key prefix;
} larder__location_cursor;

int32_t larder__location_open(const larder_txn *txn, uint64_t location,
                              larder__location_cursor *cursor, larder_error *error);
void larder__location_close(larder__location_cursor *cursor);
/* Moves to another location. */
void larder__location_move(larder__location_cursor *cursor, uint64_t location);
/* To the row where a key is or would be: OK; END when the location has no row. */
int32_t larder__location_seek(larder__location_cursor *cursor, larder_bytes form,
                              larder_error *error);
/* To the first, last, following, previous row: OK, END. */
int32_t larder__location_first(larder__location_cursor *cursor, larder_error *error);
int32_t larder__location_last(larder__location_cursor *cursor, larder_error *error);
int32_t larder__location_next(larder__location_cursor *cursor, larder_error *error);
int32_t larder__location_previous(larder__location_cursor *cursor, larder_error *error);
static inline larder_bytes larder__location_separator(const larder__location_cursor *cursor) {
    return larder__bytes(larder__begin(cursor->rows.key) + cursor->prefix.size_bytes,
                         cursor->rows.key.size_bytes - cursor->prefix.size_bytes);
}
/* A bound that no key of the rows before reaches: the separator; behind cut bytes the row's first
 * key, or, when that does not begin with them, the end of the keys that do. */
int32_t larder__location_bound(const larder__location_cursor *cursor, larder__form *bound,
                               larder_error *error);
/* Opens the row that the cursor stands on. */
int32_t larder__location_segment(const larder__location_cursor *cursor, larder__segment *segment,
                                 larder_error *error);

/* The key of a row that begins with a child, behind a row that ends with another: before and
 * next are the keys of the rows around it (next empty: there is none). False when there is no room
 * for one. */
bool larder__location_split_key(uint64_t location, larder_bytes last, larder_bytes first,
                                const larder__key *before, const larder__key *next,
                                larder__key *key);

#endif

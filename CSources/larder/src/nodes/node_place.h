/*
 * node_place.h - finding a node by its path, and going through its children.
 *
 * A holder is a location whose only child has the empty key: a tree, or the index of its tracked
 * queries (node_query.h). Paths begin at that child.
 */
#ifndef LARDER_NODE_PLACE_H
#define LARDER_NODE_PLACE_H

#include "location.h"

/* Where a node is stored. Single; close it in any case. */
typedef struct larder__place {
    larder__location_cursor rows; /* on the row that the node is in */
    larder__segment segment;      /* that row */
    larder_bytes node;            /* stored */
    larder__head head;            /* of it */
    bool has_segment;
} larder__place;

/* OK, NOT_FOUND. path: checked text. */
int32_t larder__place_find(const larder_txn *txn, uint64_t holder, larder_bytes path,
                           larder__place *place, larder_error *error);
/* The same, where path begins with a child of the location. */
int32_t larder__place_find_below(const larder_txn *txn, uint64_t location, larder_bytes path,
                                 larder__place *place, larder_error *error);
/* To a child of the node that place stands on: OK, NOT_FOUND. */
int32_t larder__place_descend(larder__place *place, larder_bytes key, larder_error *error);
void larder__place_close(larder__place *place);
static inline const uint8_t *larder__place_end(const larder__place *place) {
    return larder__begin(place->node) + place->node.size_bytes;
}

/* The children of a place in runs: those in one row of a location, or all that lie in the place's
 * own row. Borrows the place; close it in any case. */
typedef struct larder__children {
    larder__segment *segment; /* what the current run lies in */
    bool is_location, has_row, has_inline_run;
    larder__location_cursor rows;
    larder__segment row;
    larder__segment_child in_row;
    larder_bytes all, left; /* of an inline run */
    larder_bytes node;      /* the current child, stored */
    larder_bytes key;       /* its key, once larder__children_key was called */
    char scratch[LARDER__FORM_MAX];
} larder__children;

int32_t larder__children_open(const larder_txn *txn, larder__place *place,
                              larder__children *children, larder_error *error);
void larder__children_close(larder__children *children);
/* To the first run (forwards) or last one; to the run in which a key is or would be; to the
 * following or the one before. OK, END. */
int32_t larder__children_begin_run(larder__children *children, bool backwards, larder_error *error);
int32_t larder__children_seek_run(larder__children *children, larder_bytes key,
                                  larder_error *error);
int32_t larder__children_next_run(larder__children *children, bool backwards, larder_error *error);
/* The next child of the run, in key order. OK, END. */
int32_t larder__children_next(larder__children *children, larder_error *error);
/* Its key as text, in children->key. */
int32_t larder__children_key(larder__children *children, larder_error *error);
/* The child with a key: OK, NOT_FOUND. */
int32_t larder__children_find(larder__children *children, larder_bytes key, larder_error *error);
/* How many children the run has. */
int32_t larder__children_count(larder__children *children, int64_t *count, larder_error *error);

/* Appends a stored node to out with all that lies below it, encoded. */
int32_t larder__node_copy(const larder_txn *txn, larder__segment *segment, larder_bytes node,
                          larder__buffer *out, larder_error *error);
/* Appends the children of a place with these keys as an encoded node: OK, NOT_FOUND. */
int32_t larder__children_read(const larder_txn *txn, larder__place *place, larder_bytes priority,
                              const larder_bytes *keys, size_t key_count, larder__buffer *out,
                              larder_error *error);
/* The keys in order, each once, in memory for the caller to release; checks them. *count
 * changes. */
int32_t larder__keys_sort(const larder_allocator *allocator, const larder_bytes *keys,
                          size_t *count, larder_bytes **sorted, larder_error *error);
/* Fills the size of children in; NOT_FOUND when there are none. */
int32_t larder__children_finish(larder__buffer *out, size_t size_at);

/* Children between two keys; an empty key is no bound. */
typedef struct larder__page {
    larder_bytes lower, upper;
    bool has_lower, has_upper; /* the child with that key belongs to the page */
    bool backwards;            /* the last ones */
    bool keys_only;
    int64_t max_count, max_bytes; /* 0: no bound */
} larder__page;
/* Appends them as an encoded node: OK, MORE when a bound ended the page; nothing where none is. */
int32_t larder__page_read(const larder_txn *txn, larder__place *place, const larder__page *page,
                          larder_bytes priority, larder__buffer *out, larder_error *error);
/* The beginning of each public call that reads. */
int32_t larder__read_check(const larder_txn *txn, uint64_t tree, larder_bytes path, const void *out,
                           larder_error *error);
/* Whether a number is a tree's: OK, or E_INVALID_ARGUMENT. */
int32_t larder__tree_check(const larder_txn *txn, uint64_t tree, larder_error *error);

#endif

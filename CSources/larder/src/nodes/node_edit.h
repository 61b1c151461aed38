/*
 * node_edit.h - changing what lies below a holder.
 *
 * An edit goes down the tree by the paths of its changes, which are in order. It reads each row
 * that a change falls into once, merges the changes into its children and writes the row once, as
 * several rows when it has grown. Children of more than SPLIT_BYTES become a location of their own;
 * a location whose last row shrinks below JOIN_BYTES goes back into its parent's row. Rows that
 * shrink below MERGE_BYTES are written together with a neighbour.
 *
 * Long strings of a row are not decompressed when a change does not touch them: they are COLD in
 * what is merged, and the row gets its cold part back. Where that cannot be (the row is split, or
 * gets long strings), they are put in first.
 *
 * A location that is replaced is not walked: it goes to the list of what is to be freed
 * (node_free.c).
 */
#ifndef LARDER_NODE_EDIT_H
#define LARDER_NODE_EDIT_H

#include "location.h"

#define LARDER__SPLIT_BYTES 2048
#define LARDER__JOIN_BYTES 1024
#define LARDER__MERGE_BYTES 768

typedef struct larder__node_change {
    const larder_bytes *keys; /* forms, below the holder; the last may be LARDER__priority_form */
    uint32_t key_count;
    larder_bytes node; /* encoded and valid; empty: nothing is to be there */
} larder__node_change;

/* Changes in path order: keys by memcmp, none a prefix of another. The nodes may not lie in the
 * environment. After a failure the transaction can only be aborted. */
int32_t larder__node_edit(larder_txn *txn, uint64_t holder, const larder__node_change *changes,
                          size_t count, larder_error *error);

/* Paths parsed into changes; memory is kept until free. */
typedef struct larder__change_list {
    larder__buffer forms, keys, changes;
    const larder_allocator *allocator;
} larder__change_list;
void larder__change_list_init(larder__change_list *list, const larder_allocator *allocator);
void larder__change_list_free(larder__change_list *list);
/* Empties it, with its memory. */
void larder__change_list_clear(larder__change_list *list);
/* A change at base/path: checked paths. */
int32_t larder__change_list_add(larder__change_list *list, larder_bytes base, larder_bytes path,
                                larder_bytes node, larder_error *error);
/* Puts them in order and applies them. E_INVALID_ARGUMENT when one path lies below another. */
int32_t larder__change_list_apply(larder__change_list *list, larder_txn *txn, uint64_t holder,
                                  larder_error *error);

/* ---- writing rows (node_rows.c) ---- */

/* Children in working form, one after the other: key size, key, node. Keys are forms, or, where
 * has_text_keys, text. */
typedef struct larder__run {
    larder_bytes children;
    bool has_text_keys;
    bool is_appended; /* what is new lies at the end: rows are filled from the start */
} larder__run;

/* Writes a run as one or more rows, of which the first has the key; next: the key of the row
 * behind them, empty for none. */
int32_t larder__rows_put(larder_txn *txn, uint64_t location, const larder__key *key,
                         const larder__key *next, const larder__run *run, larder_error *error);
/* Removes a row, and counts its dictionary. */
int32_t larder__rows_remove(larder_txn *txn, const larder__key *key, larder_error *error);
/* Gives a row another key. */
int32_t larder__rows_move(larder_txn *txn, const larder__key *from, const larder__key *to,
                          larder_error *error);
/* Appends the children of the row that a cursor stands on as a run with forms as keys. */
int32_t larder__run_read(const larder__location_cursor *rows, larder__buffer *out,
                         larder_error *error);
/* Writes what the segment writer holds, which began with the names of source, in place of the row
 * that source is a copy of, with the cold part of that. */
int32_t larder__rows_patch(larder_txn *txn, const larder__key *key, const larder__segment *source,
                           uint32_t unused_bytes, larder_error *error);
/* Appends a working node to out, with those of its children that are too large in locations of
 * their own. */
int32_t larder__node_spill(larder_txn *txn, larder_bytes node, larder__buffer *out,
                           larder_error *error);

/* ---- what is to be freed (node_free.c) ---- */

int32_t larder__location_discard(larder_txn *txn, uint64_t location, larder_error *error);
/* Discards every location that a working node refers to. */
int32_t larder__node_discard(larder_txn *txn, larder_bytes node, larder_error *error);
/* Frees up to max_rows rows of discarded locations. OK: none is left; LARDER_MORE. */
int32_t larder__discarded_free(larder_txn *txn, int64_t max_rows, larder_error *error);

/* ---- what the writer keeps between calls ---- */

struct larder__node_state {
    larder__segment_writer writer;
    uint64_t swept_tree; /* a tree whose root this transaction knows to have a sweep, 0 for none */
    larder__buffer damaged; /* uint64_t: trees and ids of queries whose eviction met damage */
};

#endif

/*
 * node_query.h - tracked queries of a tree, sweeps, and the index that finds them by path.
 *
 * A row of table node_queries, sealed, under (tree, id); little-endian:
 *
 *   0      LRU epoch (4)
 *   4      kind: 0 a query, 1 a sweep
 *   5      the caller's flags (4)
 *   9      last use (9)
 *   18     location that holds the tracked keys, varint; 0: there were never any
 *          path size varint | path
 *          payload, to the end; of a sweep the path below its own where it goes on
 *
 * A query keeps what lies at its path from eviction: all of it, or with KEYED the children that are
 * its tracked keys. They are the root's children of a holder, each TRUE.
 *
 * A sweep deletes what no query keeps at and below its path, when the walk over the LRU log comes
 * to it. It is a query that was evicted, under the same id, or was made (ids from SWEEP_ID on,
 * first in the log) because a query or a tracked key went, or data was written that no query keeps.
 *
 * The index is a tree of its own, in the holder after the tree's: at each path of a query
 * .q/<id> is the query's flags, and .s is the id of a sweep that was made.
 */
#ifndef LARDER_NODE_QUERY_H
#define LARDER_NODE_QUERY_H

#include "node_edit.h"
#include "node_place.h"

#define LARDER__SWEEP_ID (UINT64_C(1) << 63)

/* Of a caller's flags. */
#define LARDER__QUERY_FLAGS                                                                        \
    (LARDER_NODE_QUERY_COMPLETE | LARDER_NODE_QUERY_ACTIVE | LARDER_NODE_QUERY_KEYED |             \
     LARDER_NODE_QUERY_PINNED)
/* Of those of a query that is not evicted. */
#define LARDER__QUERY_STAYS (LARDER_NODE_QUERY_ACTIVE | LARDER_NODE_QUERY_PINNED)

enum { LARDER__QUERY_ROW = 0, LARDER__SWEEP_ROW = 1 };

typedef struct larder__query_row {
    uint32_t epoch;
    uint8_t kind;
    uint32_t flags;
    larder_time last_use;
    uint64_t keys; /* the holder of the tracked keys */
    larder_bytes path, payload;
} larder__query_row;

static inline uint64_t larder__index_of(uint64_t tree) { return tree + 1; }
larder__key larder__query_key(uint64_t tree, uint64_t id);
bool larder__query_read_key(larder_bytes key, uint64_t *tree, uint64_t *id);
bool larder__query_parse(larder_bytes payload, larder__query_row *row);
/* OK, NOT_FOUND. The row borrows from the transaction. */
int32_t larder__query_read(const larder_txn *txn, uint64_t tree, uint64_t id,
                           larder__query_row *row, larder_error *error);
/* The row's bytes may be borrowed from the transaction. */
int32_t larder__query_write(larder_txn *txn, uint64_t tree, uint64_t id,
                            const larder__query_row *row, larder_error *error);
/* Removes a query's part of the index and its tracked keys, not its row. */
int32_t larder__query_detach(larder_txn *txn, uint64_t tree, uint64_t id,
                             const larder__query_row *row, larder_error *error);
/* Removes the row. */
int32_t larder__query_forget(larder_txn *txn, uint64_t tree, uint64_t id, larder_error *error);

/* Makes a sweep at a path unless there is one. path may not lie in the environment. */
int32_t larder__sweep_make(larder_txn *txn, uint64_t tree, larder_bytes path, larder_error *error);
/* Removes the mark of a sweep that was made. */
int32_t larder__sweep_unmark(larder_txn *txn, uint64_t tree, larder_bytes path,
                             larder_error *error);

/* The part of the tree that the queries at one path keep. */
typedef struct larder__keepers {
    bool keeps_all;       /* one of them is not KEYED */
    larder__buffer keyed; /* uint64_t each: holders of tracked keys */
} larder__keepers;
extern const larder_bytes larder__index_queries; /* .q */
extern const larder_bytes larder__index_sweep;   /* .s */
/* Whether a place of the index has more than the mark of a sweep. */
int32_t larder__index_has_more(const larder_txn *txn, larder__place *place, bool *has_more,
                               larder_error *error);
int32_t larder__keepers_read(const larder_txn *txn, uint64_t tree, larder_bytes path,
                             larder__keepers *keepers, larder_error *error);
/* Whether one of the tracked keys of the keyed queries is a key. */
int32_t larder__keepers_have(const larder_txn *txn, const larder__keepers *keepers,
                             larder_bytes key, bool *found, larder_error *error);
/* Whether queries at a path or above it keep everything there. Uses *keepers. */
int32_t larder__keepers_cover(const larder_txn *txn, uint64_t tree, larder_bytes path,
                              larder__keepers *keepers, bool *covered, larder_error *error);

/* Pins (node_pin.c). The path or one above it; a path below it. */
bool larder__node_is_pinned(larder_env *env, uint64_t tree, larder_bytes path);
bool larder__node_has_pin_below(larder_env *env, uint64_t tree, larder_bytes path);
bool larder__node_has_pin_at(larder_env *env, uint64_t tree, larder_bytes path);

#endif

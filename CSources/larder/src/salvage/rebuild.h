/*
 * rebuild.h - gathered rows (harvest.h) read as a store, and written to a new one.
 *
 *   rebuild.c            transactions; documents, their pending writes, targets, values
 *   rebuild_settled.c    which batches of old pages were acknowledged
 *   rebuild_trees.c      trees, their writes and tracked queries
 *
 * Everything is written by the calls that applications use, so that the new store is a sound one
 * whatever was found.
 */
#ifndef LARDER_REBUILD_H
#define LARDER_REBUILD_H

#include "harvest.h"

typedef struct larder__rebuild {
    const larder__harvest *harvest;
    larder_env *from_env, *to_env;
    const larder_txn *from;
    larder_txn *to;
    MDB_dbi guessed;
    larder_salvage_report *report;
    larder__buffer plain, name; /* of a document */
    larder__buffer strays;      /* rebuild_settled.c */
    bool has_strays;            /* they are listed */
    int64_t waiting_bytes;      /* in the transaction */
    uint64_t moved_bytes;
    int64_t begin_bytes; /* of progress */
    larder_progress_function progress;
    void *context;
} larder__rebuild;

/* Writes a row that a walk over a table has met: OK; LARDER_NOT_FOUND: it is left out; < 0. */
typedef int32_t (*larder__rebuild_row)(larder__rebuild *r, larder_bytes key, larder_bytes value,
                                       larder_error *error);
/* Calls put for each row of a table whose key begins with prefix, in transactions of bounded
 * size. A row that cannot be written is counted as lost. */
int32_t larder__rebuild_table(larder__rebuild *r, larder__table table, larder_bytes prefix,
                              larder__rebuild_row put, larder_salvage_count *count,
                              larder_error *error);
/* Commits when enough waits, or in any case. */
int32_t larder__rebuild_commit(larder__rebuild *r, bool always, larder_error *error);
/* Whether a failure is the row's own, and another row may do. */
static inline bool larder__rebuild_goes_on(const larder__rebuild *r, int32_t status) {
    return status >= 0 || (r->to != NULL && !r->to->failed && status != LARDER_E_NO_MEMORY);
}

/* *is_settled: a guessed batch was acknowledged. */
int32_t larder__rebuild_is_settled(larder__rebuild *r, uint64_t user, const larder_batch *batch,
                                   bool *is_settled, larder_error *error);
int32_t larder__rebuild_documents(larder__rebuild *r, larder_error *error);
int32_t larder__rebuild_outbox(larder__rebuild *r, larder_error *error);
int32_t larder__rebuild_tree_writes(larder__rebuild *r, larder_error *error);
int32_t larder__rebuild_trees(larder__rebuild *r, larder_error *error);

#endif

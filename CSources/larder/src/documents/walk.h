/*
 * walk.h - the rows of a table whose keys end in a document id, in name order.
 *
 * Key order is name order but for ids whose key forms begin with the same LARDER__ID_HEAD bytes
 * and go on: the long ones among them end in a hash. Such a run is gathered, put in order by
 * the ids' texts and given from memory.
 */
#ifndef LARDER_WALK_H
#define LARDER_WALK_H

#include "documents.h"

typedef struct larder__walk {
    const larder_txn *txn;
    larder__table table;
    bool reads_collection; /* the collection number follows the prefix */
    bool has_values;
    bool is_started;
    larder__cursor cursor;
    larder__key prefix;
    larder__key start; /* where to begin, set before the first next; empty: at the prefix */
    size_t skip_bytes; /* of a fixed size between prefix and id, e.g. a time; set likewise */

    /* where it stands; borrowed until its next call or the next write */
    uint64_t collection;
    larder_bytes key, id_key_form, value;

    /* the run being given */
    larder__key run_head;     /* what its keys begin with; empty: none */
    larder__buffer run_bytes; /* keys and texts */
    larder__buffer run_items;
    size_t run_at;
} larder__walk;

/* prefix ends behind the collection number (collection says it), or, with reads_collection,
 * right before it. Only overlays have values worth fetching. */
int32_t larder__walk_open(const larder_txn *txn, larder__table table, larder_bytes prefix,
                          bool reads_collection, uint64_t collection, larder__walk *walk,
                          larder_error *error);
/* LARDER_OK, LARDER_END; after E_CORRUPT the next call goes on behind the damage. */
int32_t larder__walk_next(larder__walk *walk, larder_error *error);
/* A zeroed or closed one is fine. */
void larder__walk_close(larder__walk *walk);

#endif

/*
 * lru.h - what lru.c (the log), evict.c (the walk) and pin.c (touches and pins) share.
 *
 * larder__lru_state, by who may use it: touches, pins and is_stale under its lock; the rest by
 * the writer.
 */
#ifndef LARDER_LRU_H
#define LARDER_LRU_H

#include "row.h"

/* One entry of the log. */
typedef struct larder__lru_entry {
    const uint8_t *begin;
    size_t size_bytes;
    uint64_t collection; /* 0: a target */
    larder_bytes id;
    int32_t target_id;
} larder__lru_entry;
bool larder__lru_entry_read(const uint8_t **at, const uint8_t *end, larder__lru_entry *entry);

/* Whether an entry of the log at epoch is the row's own: it is stale otherwise. */
int32_t larder__lru_is_current(const larder_txn *txn, const larder__lru_entry *entry,
                               uint32_t epoch, bool *current, larder_error *error);

/* Rows of the log. */
larder__key larder__lru_key(uint32_t epoch, uint32_t chunk);
bool larder__lru_read_key(larder_bytes key, uint32_t *epoch, uint32_t *chunk);
/* Adds an entry to those that wait in the transaction; writes these as rows of an epoch. */
int32_t larder__lru_append(larder_txn *txn, uint64_t collection, larder_bytes id, int32_t target_id,
                           larder_error *error);
int32_t larder__lru_write_log(larder_txn *txn, uint32_t epoch, larder_error *error);
/* Changes the epoch in a document's row. */
int32_t larder__lru_set_epoch(larder_txn *txn, uint64_t collection, larder_bytes id, uint32_t epoch,
                              larder_error *error);
/* What is written from now on lies behind every row of the log, also behind rows that are gone:
 * the walk, which remembers where it stood by key, must meet it. */
void larder__lru_begin_epoch(larder_txn *txn);

struct larder__lru_state {
    pthread_mutex_t lock;
    struct larder__touch_queue *queue;
    struct larder__pin_table *pins;
    _Atomic int64_t pin_count; /* documents and targets pinned */
    _Atomic bool is_stale;     /* something passed over may go now: walk from the start */

    larder__key from; /* the row the next step begins with; empty: the first */
    size_t skip_bytes;
    int64_t pinned_bytes; /* met since the walk began */
    larder__key tidy_from;
    larder__buffer row, kept;
};

/* A batch of touched names, taken out of the queue. */
typedef struct larder__touches {
    larder_bytes *names;
    size_t count;
    struct larder__touch_queue *queue;
} larder__touches;
void larder__lru_take_touches(larder_env *env, larder__touches *touches);
void larder__lru_give_touches(larder_env *env, larder__touches *touches);

bool larder__lru_has_pins(larder_env *env);
bool larder__lru_is_pinned(larder_env *env, larder_bytes path, larder_bytes id);
bool larder__lru_is_target_pinned(larder_env *env, int32_t target_id);
/* Before a step: back to the start when something passed over may go now. */
void larder__lru_begin_step(larder_env *env);
void larder__lru_reset(larder_env *env);

#endif

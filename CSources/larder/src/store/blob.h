/* blob.h - what blob.c (compression), train.c and dictionary.c (dictionaries) share. */
#ifndef LARDER_BLOB_H
#define LARDER_BLOB_H

#include "internal.h"
#include "record/vocabulary.h"

#define LARDER__SAMPLE_MAX 4096             /* bytes of one cold part that are looked at */
#define LARDER__AUTOMATIC_BYTES (96 * 1024) /* met before the first dictionary is trained */
#define LARDER__AUTOMATIC_COUNT 1024

#define LARDER__DICTIONARY_HEAD 8 /* in a dictionary's row, before the dictionary */

typedef struct larder__dictionary_delta { /* a count that changed in the write transaction */
    uint32_t id;
    int64_t records;
} larder__dictionary_delta_row;

/* A dictionary that is prepared for compressing, or none. */
typedef struct larder__prepared {
    const ZSTD_CDict *dictionary; /* in memory */
    void *memory;
} larder__prepared;

struct larder__blob_state { /* the writer's */
    ZSTD_CCtx *encoder;
    larder__prepared encoder_dictionary;
    uint32_t encoder_id;
    larder__dictionary_delta_row *deltas;
    size_t delta_count, delta_capacity;
    uint32_t first_made;    /* dictionary made in the write transaction, 0 for none */
    bool gave_up_training;  /* until the store is opened again */
    larder__buffer samples; /* raw cold parts met before there is a dictionary */
    size_t *sample_sizes;
    size_t sample_count;
};

/* Leaves none on failure. */
int32_t larder__prepared_make(const larder_allocator *allocator, larder_bytes content, int level,
                              larder__prepared *prepared, larder_error *error);
void larder__prepared_free(const larder_allocator *allocator, larder__prepared *prepared);
/* Trains a dictionary of up to so many bytes on samples that lie one after the other. NOT_FOUND: they
 * have nothing in common. */
int32_t larder__dictionary_train(const larder_env *env, const void *samples, const size_t *sizes,
                                 size_t count, larder__buffer *content, size_t capacity_bytes,
                                 larder_error *error);
/* Whether a dictionary was made in this transaction: an abort takes it back. */
static inline bool larder__dictionary_is_new(const larder_txn *txn, uint32_t id) {
    const larder__blob_state *state = txn->env->blobs;
    return txn->is_write && state->first_made != 0 && id >= state->first_made;
}
larder__key larder__dictionary_key(uint32_t id);
larder__key larder__dictionary_count_key(uint32_t id);
/* Record count as stored, and content, borrowed. NOT_FOUND. */
int32_t larder__dictionary_row(const larder_txn *txn, uint32_t id, int64_t *record_count,
                               larder_bytes *content, larder_error *error);
/* The records that the write transaction has yet to add to a dictionary's count. */
int64_t larder__dictionary_delta(const larder_txn *txn, uint32_t id);
/* Drops a prepared dictionary whose transaction was aborted. */
void larder__blob_forget(larder_env *env, uint32_t id);

#endif

/*
 * vocabulary.h - what is needed to read a store's records, whichever transaction they came
 * from: the names of shapes, prepared dictionaries, and contexts to decompress with.
 *
 *     environment ----+
 *     detached record +--> vocabulary: shapes by number | dictionaries by id | contexts
 *     detached record +
 *
 * The environment and every detached record share it; the last of them frees it. Readers look
 * at its tables without a lock: entries are only added, except that an aborted transaction
 * removes what it added, which no other transaction has seen.
 *
 * Users are counted in stripes, so that threads that detach records at once share no cache
 * line. The count is settled when the environment goes: it closes each stripe, moving its count
 * into `remaining`; a thread that finds a stripe closed counts down `remaining` instead.
 */
#ifndef LARDER_VOCABULARY_H
#define LARDER_VOCABULARY_H

#include "base/error.h"
#include "base/stripe.h"
#include "record.h"

#include <zstd.h>

#define LARDER__DICTIONARY_MAX 1024
#define LARDER__SHAPE_MAX 4096         /* shapes in one store; beyond, names go inline */
#define LARDER__SHAPE_NAMES_MAX 2048   /* bytes of one shape's names */
#define LARDER__SHAPE_TOTAL_MAX 262144 /* bytes of all shapes' names */

typedef struct larder__shape {
    uint32_t serial; /* in this process: what larder_field remembers */
    uint32_t size_bytes;
    uint8_t names[]; /* names container */
} larder__shape;

typedef struct larder__dictionary {
    ZSTD_DDict *decoder;
    size_t size_bytes;
} larder__dictionary;

struct larder_vocabulary {
    larder_allocator allocator;
    _Atomic(larder__shape *) shapes[LARDER__SHAPE_MAX + 1];             /* by number */
    _Atomic(larder__dictionary *) dictionaries[LARDER__DICTIONARY_MAX]; /* by id */
    _Atomic(struct larder__context *) contexts[LARDER__STRIPES];        /* idle ones */
    larder__striped_count users; /* detached records, while the environment is there */
    _Atomic int64_t remaining;   /* users, once it is gone */
};

int32_t larder__vocabulary_create(const larder_allocator *allocator, larder_vocabulary **vocabulary,
                                  larder_error *error);
/* The environment goes. NULL is accepted. */
void larder__vocabulary_leave(larder_vocabulary *vocabulary);
/* For a detached record; by someone whose environment, or own record, is there. */
void larder__vocabulary_retain(larder_vocabulary *vocabulary);
void larder__vocabulary_release(larder_vocabulary *vocabulary);

static inline larder__dictionary *larder__dictionary_find(const larder_vocabulary *vocabulary,
                                                          uint32_t id) {
    if (id == 0 || id >= LARDER__DICTIONARY_MAX) return NULL;
    return atomic_load_explicit(&vocabulary->dictionaries[id], memory_order_acquire);
}
/* Prepares a dictionary; of two threads that add one at once the first wins. */
int32_t larder__dictionary_add(larder_vocabulary *vocabulary, uint32_t id, larder_bytes content,
                               larder_error *error);
void larder__dictionary_forget(larder_vocabulary *vocabulary, uint32_t id);

/* A frame without its magic number, into exactly raw_bytes. dictionary 0: none. */
int32_t larder__frame_decompress(const larder_vocabulary *vocabulary, uint32_t dictionary,
                                 larder_bytes frame, void *buffer, size_t raw_bytes,
                                 larder_error *error);

#endif

/*
 * shape.h - shapes in memory: see shape.c. Readers find them without a lock or a call.
 */
#ifndef LARDER_SHAPE_H
#define LARDER_SHAPE_H

#include "internal.h"

typedef struct larder__shape {
    uint32_t serial; /* in this process: what larder_field remembers */
    uint32_t size_bytes;
    uint8_t names[]; /* names container */
} larder__shape;

struct larder__shape_cache {
    _Atomic(larder__shape *) by_number[LARDER__SHAPE_MAX + 1];
    uint16_t slots[2 * LARDER__SHAPE_MAX]; /* writer only: number by hash, 0 empty */
    int64_t begun_at;                      /* next_shape when the write transaction began */
    bool has_new;
};

/* Reads one that is not in memory yet. */
int32_t larder__shape_load(const larder_txn *txn, uint32_t number, const larder__shape **shape,
                           larder_error *error);
static inline int32_t larder__shape_find(const larder_txn *txn, uint32_t number,
                                         const larder__shape **shape, larder_error *error) {
    if (number <= LARDER__SHAPE_MAX) {
        *shape = atomic_load_explicit(&txn->env->shapes->by_number[number], memory_order_acquire);
        if (*shape != NULL) return LARDER_OK;
    }
    return larder__shape_load(txn, number, shape, error);
}

#endif

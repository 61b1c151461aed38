/* shape.h - shapes in memory (shape.c): found without a lock or a call. */
#ifndef LARDER_SHAPE_H
#define LARDER_SHAPE_H

#include "internal.h"
#include "record/vocabulary.h"

struct larder__shape_cache {               /* the writer's */
    uint16_t slots[2 * LARDER__SHAPE_MAX]; /* number by hash, 0 empty */
    int64_t begun_at;                      /* next_shape when the write transaction began */
    bool has_new;
};

/* Whether a shape was made in this transaction: an abort takes it back. */
static inline bool larder__shape_is_new(const larder_txn *txn, uint32_t number) {
    const larder__shape_cache *cache = txn->env->shapes;
    return txn->is_write && cache->has_new && (int64_t)number > cache->begun_at;
}

/* Reads one that is not in memory yet. */
int32_t larder__shape_load(const larder_txn *txn, uint32_t number, const larder__shape **shape,
                           larder_error *error);
static inline int32_t larder__shape_find(const larder_txn *txn, uint32_t number,
                                         const larder__shape **shape, larder_error *error) {
    if (number <= LARDER__SHAPE_MAX) {
        *shape = atomic_load_explicit(&txn->env->vocabulary->shapes[number], memory_order_acquire);
        if (*shape != NULL) return LARDER_OK;
    }
    return larder__shape_load(txn, number, shape, error);
}

#endif

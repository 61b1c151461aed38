/* txn.h - what transactions for reading and for writing share (txn.c, txn_read.c). */
#ifndef LARDER_TXN_H
#define LARDER_TXN_H

#include "internal.h"

static inline int32_t larder__txn_check_env(const larder_env *env, const void *out,
                                            larder_error *error) {
    if (out == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "txn is NULL");
    return larder__env_check(env, error);
}

/* Whether a transaction that is to end is being checked: that is logged, and it stays open. */
bool larder__txn_is_checked(const larder_txn *txn);
/* NULL: no memory. */
larder_txn *larder__txn_new(larder_env *env);
void larder__txn_free(larder_txn *txn);
/* Whether the calling thread has a write transaction of the environment open. */
bool larder__txn_is_writing(larder_env *env);
/* Replaces the map; waits for open reads to end. size 0 adopts what another process made it. */
int32_t larder__txn_resize(larder_env *env, uint64_t size, larder_error *error);

#endif

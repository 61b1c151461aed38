/*
 * stripe.h - counts that many threads change and few read: each thread has a stripe of its own,
 * by a hash of its id, so that threads that do not wait for each other do not slow each other
 * down through one cache line, either. Only the sum means something; a stripe may be negative.
 */
#ifndef LARDER_STRIPE_H
#define LARDER_STRIPE_H

#include "process.h"

#include <stdatomic.h>
#include <stdint.h>

#define LARDER__STRIPES 16
#define LARDER__STRIPE_BYTES 128 /* two cache lines: they are fetched in pairs */

/* The calling thread's stripe, below LARDER__STRIPES. */
static inline uint32_t larder__stripe(void) {
    return (uint32_t)(larder__thread_id() * UINT64_C(0x9e3779b97f4a7c15) >> 60);
}

typedef struct larder__striped_count {
    struct {
        _Atomic int64_t count;
        char apart[LARDER__STRIPE_BYTES - sizeof(int64_t)];
    } stripes[LARDER__STRIPES];
} larder__striped_count;

static inline void larder__striped_add(larder__striped_count *count, int64_t delta) {
    atomic_fetch_add(&count->stripes[larder__stripe()].count, delta);
}
/* Exact while no thread adds. */
static inline int64_t larder__striped_sum(larder__striped_count *count) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < LARDER__STRIPES; i++)
        sum += atomic_load(&count->stripes[i].count);
    return sum;
}

#endif

/* process.h - what belongs to the process and to no store: open handles, forks, threads. */
#ifndef LARDER_PROCESS_H
#define LARDER_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* Every handle given out is counted: environments, transactions, scans, builders, sets, detached
 * records. larder_live_handle_count gives the sum. */
void larder__handle_opened(void);
void larder__handle_closed(void);

/* How often this process is a fork's child; registry.c's fork handler counts. */
extern _Atomic uint64_t larder__fork_generation;

/* The calling thread, as a number that no other running thread has. */
static inline uint64_t larder__thread_id(void) { return (uint64_t)(uintptr_t)pthread_self(); }

#endif

/* lock.h - who has the store open (lock.c). */
#ifndef LARDER_LOCK_H
#define LARDER_LOCK_H

#include "internal.h"

/* Opens the lock file and waits until nobody else is opening the store. */
int32_t larder__lock_begin_opening(larder_env *env, larder_error *error);
/* Takes the place of an owner, or for reading none. *is_alone: no other process uses the store,
 * and none can begin to before larder__lock_end_opening. */
int32_t larder__lock_own(larder_env *env, bool *is_alone, larder_error *error);
/* Whether the files are readable, or missing, from which larder__lock_own tells. */
bool larder__lock_is_visible(const larder_env *env);
void larder__lock_end_opening(larder_env *env);
/* Gives everything up and closes the file; nothing to do when there is none. */
void larder__lock_release(larder_env *env);

/* Keeps owners from opening the store in a directory while *file is open, which becomes -1 where there
 * is no lock file. Nothing is written. E_LOCKED, E_ALREADY_OPEN: it is open. */
int32_t larder__lock_against_owners(const char *directory, int *file, larder_error *error);

/* The pin of a checkpoint, by its header's sequence (wal_checkpoint.c). */
void larder__lock_pin(larder_env *env, uint64_t sequence);
void larder__lock_unpin(larder_env *env, uint64_t sequence);
/* Whether another process has it. */
bool larder__lock_is_pinned(larder_env *env, uint64_t sequence);

#endif

/*
 * txn_read.c - read transactions, and replacing the map while none is open.
 *
 * LMDB's map can be replaced only while the process has no transaction open. A writer that finds
 * the map nearly full blocks new readers, waits up to a second for open reads to end, and grows
 * it. With the default reservation of 1 TiB that never happens.
 *
 * A read transaction is counted in the reader slot of its thread's stripe, so that reads on
 * several threads touch no common memory: a slot counts its open reads and keeps a reset LMDB
 * transaction for the next one. The thread that replaces the map sets readers_blocked and then
 * sums the slots; a reader counts itself and then looks at readers_blocked. One of the two sees
 * the other, whatever the order.
 *
 * Invariants: the slots' open_reads together count handles given out; idle structures own a reset
 * MDB_txn.
 */
#include "guard.h"
#include "txn.h"
#include "wal.h"

#include <errno.h>
#include <time.h>

/* How long a writer waits for readers to leave: a second. */
#define WAIT_SLICES 200
#define WAIT_SLICE_NS 5000000
#define IDLE_READS_MAX 64

/* ---- readers, and replacing the map ---- */

int64_t larder__txn_open_reads(larder_env *env) {
    int64_t count = 0;
    for (uint32_t i = 0; i < LARDER__STRIPES; i++)
        count += atomic_load(&env->reader_slots[i].open_reads);
    return count;
}

/* Ends a read that was counted in a slot. Once uncounted, a reader no longer touches the
 * environment, which may be closed by then: so it looks before that whether a thread waits for
 * it, and a thread that begins to wait just then looks again by itself (WAIT_SLICE_NS). */
static void reader_leave(larder_env *env, larder__reader_slot *slot) {
    if (!atomic_load(&env->readers_blocked)) {
        atomic_fetch_sub(&slot->open_reads, 1);
        return;
    }
    pthread_mutex_lock(&env->state_lock);
    atomic_fetch_sub(&slot->open_reads, 1);
    pthread_cond_broadcast(&env->readers_changed);
    pthread_mutex_unlock(&env->state_lock);
}

/* Counts a read in the slot of the calling thread, once readers are not blocked. */
static larder__reader_slot *reader_enter(larder_env *env) {
    larder__reader_slot *slot = &env->reader_slots[larder__stripe()];
    for (;;) {
        atomic_fetch_add(&slot->open_reads, 1);
        if (!atomic_load(&env->readers_blocked)) return slot;
        reader_leave(env, slot);
        pthread_mutex_lock(&env->state_lock);
        while (atomic_load(&env->readers_blocked))
            pthread_cond_wait(&env->readers_changed, &env->state_lock);
        pthread_mutex_unlock(&env->state_lock);
    }
}

/* Blocks new reads and waits for open ones to end; false when some stayed. Call with
 * state_lock held. */
static bool block_readers(larder_env *env) {
    atomic_store(&env->readers_blocked, true);
    for (int slice = 0; slice < WAIT_SLICES && larder__txn_open_reads(env) > 0; slice++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_SLICE_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&env->readers_changed, &env->state_lock, &until);
    }
    return larder__txn_open_reads(env) == 0;
}

static void admit_readers(larder_env *env) {
    atomic_store(&env->readers_blocked, false);
    pthread_cond_broadcast(&env->readers_changed);
}

int32_t larder__txn_resize(larder_env *env, uint64_t size, larder_error *error) {
    pthread_mutex_lock(&env->state_lock);
    int32_t status = LARDER_OK;
    if (!block_readers(env)) {
        status = LARDER_E_BUSY;
    } else {
        int code = larder__mdb_env_set_mapsize(env->mdb, size);
        if (code != 0 && size != 0) {
            larder__log(env, LARDER_LOG_ERROR, "growing the map to %llu bytes: %s",
                        (unsigned long long)size, mdb_strerror(code));
            if (larder__mdb_env_set_mapsize(env->mdb, env->map_bytes) != 0)
                atomic_store(&env->writes_refused, true);
        }
        if (code != 0) status = larder__fail_mdb(error, code, "growing the map");
        MDB_envinfo info;
        if (larder__mdb_env_info(env->mdb, &info) == 0) env->map_bytes = info.me_mapsize;
        larder__env_find_map(env);
    }
    admit_readers(env);
    pthread_mutex_unlock(&env->state_lock);
    return status;
}

/* ---- beginning and ending ---- */

static void release_read(larder_txn *txn) {
    if (txn->mdb != NULL && !larder__env_is_forked(txn->env)) larder__mdb_txn_abort(txn->mdb);
    larder__txn_free(txn);
}

void larder__txn_release_idle(larder_env *env) {
    for (uint32_t i = 0; i < LARDER__STRIPES; i++) {
        larder_txn *txn = atomic_exchange(&env->reader_slots[i].idle, NULL);
        if (txn != NULL) release_read(txn);
    }
    while (env->idle_reads != NULL) {
        larder_txn *txn = env->idle_reads;
        env->idle_reads = txn->next_idle;
        release_read(txn);
    }
    env->idle_count = 0;
    if (env->idle_write != NULL) larder__txn_free(env->idle_write);
    env->idle_write = NULL;
}

/* The slot's idle structure or another, NULL when there is none. */
static larder_txn *take_idle(larder_env *env, larder__reader_slot *slot) {
    larder_txn *txn = atomic_exchange(&slot->idle, NULL);
    if (txn != NULL) return txn;
    pthread_mutex_lock(&env->state_lock);
    txn = env->idle_reads;
    if (txn != NULL) {
        env->idle_reads = txn->next_idle;
        env->idle_count--;
    }
    pthread_mutex_unlock(&env->state_lock);
    return txn;
}

/* False when there are enough. */
static bool give_idle(larder_env *env, larder__reader_slot *slot, larder_txn *txn) {
    larder_txn *none = NULL;
    if (atomic_compare_exchange_strong(&slot->idle, &none, txn)) return true;
    pthread_mutex_lock(&env->state_lock);
    bool is_kept = env->idle_count < IDLE_READS_MAX;
    if (is_kept) {
        txn->next_idle = env->idle_reads;
        env->idle_reads = txn;
        env->idle_count++;
    }
    pthread_mutex_unlock(&env->state_lock);
    return is_kept;
}

int32_t larder_txn_begin_read(larder_env *env, const larder_txn **txn, larder_error *error) {
    int32_t status = larder__txn_check_env(env, txn, error);
    if (status != LARDER_OK) return status;
    if (atomic_load(&env->reads_refused))
        return larder__fail(error, LARDER_E_WRITES_REFUSED,
                            "an earlier sync failed: close and open the store again");
    larder__reader_slot *slot;
    larder_txn *read;
    int code;
    for (;;) {
        slot = reader_enter(env);
        read = take_idle(env, slot);
        if (read != NULL) {
            code = larder__mdb_txn_renew(read->mdb);
        } else {
            read = larder__txn_new(env);
            code = read == NULL ? ENOMEM
                                : larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &read->mdb);
            if (code != 0 && read != NULL) read->mdb = NULL;
        }
        if (code == 0) break;
        if (read != NULL) release_read(read);
        reader_leave(env, slot);
        if (code == MDB_MAP_RESIZED) {
            status = larder__txn_resize(env, 0, error);
            if (status != LARDER_OK) return status;
            continue;
        }
        return larder__fail_mdb(error, code, "beginning a read transaction");
    }
    read->next_idle = NULL;
    read->slot = slot;
    read->commit = mdb_txn_id(read->mdb);
    read->counters_loaded = false;
    read->tree = 0;
    read->open_scans = read->checks = 0;
    if ((env->flags & LARDER_OPEN_SHARED) != 0 && env->wal != NULL)
        larder__wal_saw_commit(env, read->commit);
    larder__handle_opened();
    *txn = read;
    return LARDER_OK;
}

void larder_txn_end_read(const larder_txn *const_txn) {
    larder_txn *txn = (larder_txn *)(uintptr_t)const_txn;
    if (txn == NULL || txn->is_write) return;
    larder_env *env = txn->env;
    bool is_forked = larder__env_is_forked(env);
    if (!is_forked && larder__txn_is_checked(txn)) return;
    larder__handle_closed();
    if (is_forked) return; /* the parent's slot; nothing here is ours */
    if (txn->scans != NULL) larder__documents_model.end_scans(txn);
    larder__reader_slot *slot = txn->slot;
    mdb_txn_reset(txn->mdb);
    if (!give_idle(env, slot, txn)) release_read(txn);
    reader_leave(env, slot); /* last: the environment may be closed now */
}

/*
 * txn.c - transactions: begin, commit, abort; growing the map.
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
 * Invariants: env->writer is held from begin_write to commit or abort; the slots' open_reads
 * together and open_writes count handles given out; idle structures own a reset MDB_txn.
 */
#include "file.h"
#include "guard.h"
#include "rules.h"
#include "wal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

const larder__data_model *const larder__data_models[LARDER__MODEL_COUNT] = {
    &larder__documents_model,
    &larder__nodes_model,
};

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

/* Replaces the map. size 0 adopts what another process made it. */
static int32_t resize(larder_env *env, uint64_t size, larder_error *error) {
    pthread_mutex_lock(&env->state_lock);
    int32_t status = LARDER_OK;
    if (!block_readers(env)) {
        status = LARDER_E_BUSY;
    } else {
        int code = mdb_env_set_mapsize(env->mdb, size);
        if (code != 0 && size != 0) {
            larder__log(env, LARDER_LOG_ERROR, "growing the map to %llu bytes: %s",
                        (unsigned long long)size, mdb_strerror(code));
            if (mdb_env_set_mapsize(env->mdb, env->map_bytes) != 0)
                atomic_store(&env->writes_refused, true);
        }
        if (code != 0) status = larder__fail_mdb(error, code, "growing the map");
        MDB_envinfo info;
        mdb_env_info(env->mdb, &info);
        env->map_bytes = info.me_mapsize;
        larder__env_find_map(env);
    }
    admit_readers(env);
    pthread_mutex_unlock(&env->state_lock);
    return status;
}

/* Keeps blocks behind the file's last page for transactions that make the store smaller, and grows
 * the map when the next transaction might not fit. Call as the writer. */
static void make_room(larder_env *env) {
    MDB_envinfo info;
    mdb_env_info(env->mdb, &info);
    MDB_stat pages;
    mdb_env_stat(env->mdb, &pages);
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * pages.ms_psize;
    if (used + LARDER__RESERVE_BYTES > env->allocated_bytes) larder__file_reserve(env, used);
    if (info.me_mapsize >= used + env->map_margin_bytes && !env->grow_wanted) return;
    uint64_t size = 2 * (uint64_t)info.me_mapsize;
    if (size < used + 2 * env->map_margin_bytes) size = used + 2 * env->map_margin_bytes;
    if (resize(env, size, NULL) == LARDER_OK)
        env->grow_wanted = false;
    else
        larder__log(env, LARDER_LOG_WARNING,
                    "the map could not grow beyond %llu bytes while transactions are open",
                    (unsigned long long)info.me_mapsize);
}

/* ---- beginning ---- */

static int32_t check_env(const larder_env *env, const void *out, larder_error *error) {
    if (env == NULL || out == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env or txn is NULL");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    return LARDER_OK;
}

static larder_txn *new_txn(larder_env *env) {
    larder_txn *txn = larder__allocate(&env->allocator, sizeof *txn);
    if (txn == NULL) return NULL;
    memset(txn, 0, sizeof *txn);
    txn->env = env;
    txn->sealed.allocator = &env->allocator;
    txn->old.allocator = txn->row.allocator = txn->hot.allocator = &env->allocator;
    txn->cold.allocator = txn->scratch.allocator = txn->lru_log.allocator = &env->allocator;
    txn->redo.allocator = &env->allocator;
    return txn;
}

static void free_txn(larder_txn *txn) {
    larder_env *env = txn->env;
    larder__buffer_free(&txn->sealed);
    larder__buffer_free(&txn->old);
    larder__buffer_free(&txn->row);
    larder__buffer_free(&txn->hot);
    larder__buffer_free(&txn->cold);
    larder__buffer_free(&txn->scratch);
    larder__buffer_free(&txn->lru_log);
    larder__buffer_free(&txn->redo);
    larder__release(&env->allocator, txn->deltas);
    larder__release(&env->allocator, txn);
}

static void release_read(larder_txn *txn) {
    if (txn->mdb != NULL && !larder__env_is_forked(txn->env)) larder__mdb_txn_abort(txn->mdb);
    free_txn(txn);
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
    if (env->idle_write != NULL) free_txn(env->idle_write);
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
    int32_t status = check_env(env, txn, error);
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
            read = new_txn(env);
            code = read == NULL ? ENOMEM
                                : larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &read->mdb);
            if (code != 0 && read != NULL) read->mdb = NULL;
        }
        if (code == 0) break;
        if (read != NULL) release_read(read);
        reader_leave(env, slot);
        if (code == MDB_MAP_RESIZED) {
            status = resize(env, 0, error);
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
    read->open_scans = 0;
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
    larder__handle_closed();
    if (larder__env_is_forked(env)) return; /* the parent's slot; nothing here is ours */
    if (txn->scans != NULL) larder__documents_model.end_scans(txn);
    larder__reader_slot *slot = txn->slot;
    mdb_txn_reset(txn->mdb);
    if (!give_idle(env, slot, txn)) release_read(txn);
    reader_leave(env, slot); /* last: the environment may be closed now */
}

static int32_t load_counters(larder_txn *txn, larder_error *error);

/* Takes the writer's place: the thread must not have it already. */
static int32_t enter_writer(larder_env *env, larder_error *error) {
    uint64_t self = larder__thread_id();
    pthread_mutex_lock(&env->state_lock);
    bool is_mine = env->writer_thread == self;
    pthread_mutex_unlock(&env->state_lock);
    if (is_mine)
        return larder__fail(error, LARDER_E_BUSY, "this thread has a write transaction open");
    pthread_mutex_lock(&env->writer);
    pthread_mutex_lock(&env->state_lock);
    env->writer_thread = self;
    env->open_writes++;
    pthread_mutex_unlock(&env->state_lock);
    return LARDER_OK;
}

static void leave_writer(larder_env *env) {
    pthread_mutex_lock(&env->state_lock);
    env->writer_thread = 0;
    env->open_writes--;
    pthread_mutex_unlock(&env->state_lock);
    pthread_mutex_unlock(&env->writer);
}

int32_t larder_txn_begin_write(larder_env *env, larder_txn **txn, larder_error *error) {
    int32_t status = check_env(env, txn, error);
    if (status != LARDER_OK) return status;
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0)
        return larder__fail(error, LARDER_E_READ_ONLY, "the store was opened read-only");
    status = enter_writer(env, error);
    if (status != LARDER_OK) return status;
    bool lacked_reserve = env->lacks_reserve;
    larder_txn *write = NULL;
    if (atomic_load(&env->is_damaged)) {
        status = larder__fail(error, LARDER_E_CORRUPT, "the data file of %s is damaged", env->path);
        goto done;
    }
    if (atomic_load(&env->writes_refused)) {
        status = larder__fail(error, LARDER_E_WRITES_REFUSED,
                              "an earlier sync failed: close and open the store again");
        goto done;
    }
    make_room(env);
    write = env->idle_write != NULL ? env->idle_write : new_txn(env);
    env->idle_write = NULL;
    if (write == NULL) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a transaction");
        goto done;
    }
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &write->mdb);
    while (code == MDB_MAP_RESIZED) {
        status = resize(env, 0, error);
        if (status != LARDER_OK) goto done;
        code = larder__mdb_txn_begin(env->mdb, NULL, 0, &write->mdb);
    }
    if (code != 0) {
        write->mdb = NULL;
        status = larder__fail_mdb(error, code, "beginning a write transaction");
        goto done;
    }
    write->is_write = true;
    write->failed = write->changed = write->names_changed = write->reclaiming = false;
    write->open_scans = 0;
    write->thread = larder__thread_id();
    write->commit = mdb_txn_id(write->mdb);
    write->delta_count = 0;
    write->lru_log.size_bytes = 0;
    write->counters_loaded = false;
    write->tree = 0;
    memset(write->cursors, 0, sizeof write->cursors);
    memset(write->last_is_known, 0, sizeof write->last_is_known);
    status = larder__wal_begin(write, error);
    if (env->lacks_reserve) larder__file_recount_reserve(env);
    if (status == LARDER_OK) status = load_counters(write, error);
    write->begin_bytes = larder__counters_total(&write->counters);
    if (status == LARDER_OK) status = larder__rules_begin(write, error);
    if (status != LARDER_OK) {
        larder__mdb_txn_abort(write->mdb);
        write->mdb = NULL;
    }
done:
    if (env->lacks_reserve && !lacked_reserve)
        larder__log(env, LARDER_LOG_WARNING,
                    "the disk of %s is full: only what makes the store smaller is taken",
                    env->path);
    if (status != LARDER_OK) {
        if (write != NULL) env->idle_write = write;
        leave_writer(env);
        return status;
    }
    larder__handle_opened();
    *txn = write;
    return LARDER_OK;
}

uint64_t larder_txn_commit_number(const larder_txn *txn) { return txn == NULL ? 0 : txn->commit; }
larder_env *larder_txn_env(const larder_txn *txn) { return txn == NULL ? NULL : txn->env; }

/* ---- counters ---- */

static larder__key counter_key(void) {
    larder__key key = {0};
    larder__key_byte(&key, LARDER__KIND_COUNTERS);
    return key;
}

static int32_t load_counters(larder_txn *txn, larder_error *error) {
    larder__key key = counter_key();
    larder_bytes payload;
    memset(&txn->counters, 0, sizeof txn->counters);
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status < 0) return status;
    if (status == LARDER_OK) {
        if (payload.size_bytes != sizeof txn->counters)
            return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                                   "the counter row has another size", error);
        memcpy(&txn->counters, payload.data, sizeof txn->counters);
    }
    txn->counters_loaded = true;
    return LARDER_OK;
}

int32_t larder__txn_counters(const larder_txn *txn, const larder__counters **counters,
                             larder_error *error) {
    int32_t status = LARDER_OK;
    if (!txn->counters_loaded) status = load_counters((larder_txn *)(uintptr_t)txn, error);
    *counters = &txn->counters;
    return status;
}

/* The row counts itself, so it is sized before it is written: its size never changes. */
static int32_t store_counters(larder_txn *txn, larder_error *error) {
    larder__key key = counter_key();
    larder_bytes none;
    if (larder__table_get(txn, LARDER__CATALOG, larder__key_bytes(&key), &none, NULL) ==
        LARDER_NOT_FOUND) {
        larder_bytes blank = larder__bytes(&txn->counters, sizeof txn->counters);
        int32_t status = larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key),
                                                  &blank, 1, error);
        if (status != LARDER_OK) return status;
    }
    larder_bytes part = larder__bytes(&txn->counters, sizeof txn->counters);
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &part, 1, error);
}

/* ---- ending ---- */

static void close_cursors(larder_txn *txn) {
    for (int t = 0; t < LARDER__TABLE_COUNT; t++) {
        if (txn->cursors[t] != NULL) mdb_cursor_close(txn->cursors[t]);
        txn->cursors[t] = NULL;
    }
}

/* Tells the caches, gives the structure back and lets the next writer in. */
static void finish_write(larder_txn *txn, bool committed) {
    larder_env *env = txn->env;
    larder__shape_ended(txn, committed);
    larder__blob_ended(txn, committed);
    larder__lru_ended(txn, committed);
    for (int i = 0; i < LARDER__MODEL_COUNT; i++)
        larder__data_models[i]->ended(txn, committed);
    if (!committed) memset(txn->memo, 0, sizeof txn->memo);
    txn->mdb = NULL;
    env->idle_write = txn;
    larder__handle_closed();
    leave_writer(env);
}

void larder_txn_abort(larder_txn *txn) {
    if (txn == NULL || !txn->is_write) return;
    if (larder__env_is_forked(txn->env)) {
        larder__handle_closed();
        return;
    }
    if (txn->thread != larder__thread_id()) {
        larder__log(txn->env, LARDER_LOG_ERROR,
                    "a write transaction was aborted on another thread: nothing done");
        return;
    }
    if (txn->scans != NULL) larder__documents_model.end_scans(txn);
    close_cursors(txn);
    larder__mdb_txn_abort(txn->mdb);
    finish_write(txn, false);
}

static int32_t prepare_commit(larder_txn *txn, larder_error *error) {
    int32_t status = LARDER_OK;
    if (!txn->reclaiming) status = larder__lru_flush_touches(txn, error);
    if (status == LARDER_OK && !txn->changed) return LARDER_OK;
    for (int i = 0; i < LARDER__MODEL_COUNT && status == LARDER_OK; i++)
        status = larder__data_models[i]->commit(txn, error);
    if (status == LARDER_OK) status = larder__blob_commit(txn, error);
    if (status == LARDER_OK) status = larder__lru_commit(txn, error);
    if (status == LARDER_OK) status = larder__collection_flush(txn, error);
    if (status == LARDER_OK) {
        if (txn->names_changed) txn->counters.catalog_version++;
        txn->counters.commit_number = (int64_t)txn->commit;
        status = store_counters(txn, error);
    }
    return status;
}

/* A full disk or a full map is noticed before anything is referred to; anything else may be a
 * failed sync, after which the kernel's pages cannot be trusted. */
static int32_t refuse_after(larder_env *env, int32_t status) {
    if (status >= 0 || status == LARDER_E_NO_SPACE || status == LARDER_E_MAP_FULL ||
        status == LARDER_E_NO_MEMORY)
        return status;
    atomic_store(&env->writes_refused, true);
    larder__log(env, LARDER_LOG_ERROR,
                "a commit failed (%s): writes are refused until the store is opened again",
                larder_strerror(status));
    return status;
}

/* To the log, which is what makes it durable, and then to LMDB. */
static int32_t commit_rows(larder_txn *txn, larder_error *error) {
    larder_env *env = txn->env;
    larder__wal *wal = txn->changed ? env->wal : NULL;
    int32_t status = wal == NULL ? LARDER_OK : larder__wal_append(txn, error);
    if (status == LARDER_MORE)
        return refuse_after(env, larder__wal_commit_whole(env, txn->mdb, error));
    if (status != LARDER_OK) {
        larder__mdb_txn_abort(txn->mdb);
        return status;
    }
    int code = larder__mdb_txn_commit(txn->mdb);
    /* LMDB calls a write that was cut short by a full disk an input/output error. */
    if (code == EIO && larder__file_lacks_room(env, LARDER__NO_ROOM_BYTES)) code = ENOSPC;
    if (wal != NULL && code == 0) larder__wal_committed(txn);
    if (wal != NULL && code != 0) larder__wal_withdraw(txn);
    return code == 0 ? LARDER_OK : refuse_after(env, larder__fail_mdb(error, code, "committing"));
}

int32_t larder_txn_commit(larder_txn *txn, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_E_TXN_ENDED) {
        larder_txn_abort(txn);
        return status;
    }
    if (status != LARDER_OK) return status;
    larder_env *env = txn->env;
    if (txn->open_scans > 0)
        status =
            larder__fail(error, LARDER_E_BUSY,
                         "%d scans of the transaction are open: it was aborted", txn->open_scans);
    if (status == LARDER_OK) status = prepare_commit(txn, error);
    if (status == LARDER_OK && atomic_load(&env->is_damaged))
        status = larder__fail(error, LARDER_E_CORRUPT, "the data file of %s is damaged", env->path);
    if (status == LARDER_OK && env->lacks_reserve &&
        larder__counters_total(&txn->counters) > txn->begin_bytes)
        status = larder__fail(error, LARDER_E_NO_SPACE,
                              "the disk is full: %s takes only what makes it smaller", env->path);
    if (status != LARDER_OK) {
        larder__txn_note(txn, status);
        larder_txn_abort(txn);
        return status;
    }
    close_cursors(txn);
    bool is_over = !txn->reclaiming && !env->manual_reclaim && larder__lru_is_due(txn);
    if (txn->names_changed) atomic_store(&env->catalog_commit, txn->commit);
    status = commit_rows(txn, error);
    if (status == LARDER_E_MAP_FULL) env->grow_wanted = true;
    if (status == LARDER_E_NO_SPACE && env->wal != NULL) env->wal->is_cramped = true;
    finish_write(txn, status == LARDER_OK);
    if (status == LARDER_OK && is_over) larder__lru_reclaim(env);
    return status;
}

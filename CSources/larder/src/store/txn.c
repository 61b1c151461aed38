/*
 * txn.c - write transactions: begin, commit, abort; room for the next one.
 *
 * Invariants: env->writer is held from begin_write to commit or abort; open_writes counts handles
 * given out, and threads that wait for one. Read transactions are in txn_read.c.
 */
#include "txn.h"
#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "rules.h"
#include "wal.h"

#include <errno.h>

const larder__data_model *const larder__data_models[LARDER__MODEL_COUNT] = {
    &larder__documents_model,
    &larder__nodes_model,
};

/* ---- beginning ---- */

/* Keeps blocks behind the file's last page for transactions that make the store smaller, and grows
 * the map when the next transaction might not fit. Call as the writer. */
static void make_room(larder_env *env) {
    MDB_envinfo info;
    if (larder__mdb_env_info(env->mdb, &info) != 0) return;
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * env->page_bytes;
    if (used + LARDER__RESERVE_BYTES > env->allocated_bytes) larder__file_reserve(env, used);
    if (info.me_mapsize >= used + env->map_margin_bytes && !env->grow_wanted) return;
    uint64_t size = 2 * (uint64_t)info.me_mapsize;
    if (size < used + 2 * env->map_margin_bytes) size = used + 2 * env->map_margin_bytes;
    if (larder__txn_resize(env, size, NULL) == LARDER_OK)
        env->grow_wanted = false;
    else
        larder__log(env, LARDER_LOG_WARNING,
                    "the map could not grow beyond %llu bytes while transactions are open",
                    (unsigned long long)info.me_mapsize);
}

larder_txn *larder__txn_new(larder_env *env) {
    larder_txn *txn = larder__allocate(&env->allocator, sizeof *txn);
    if (txn == NULL) return NULL;
    memset(txn, 0, sizeof *txn);
    txn->env = env;
    txn->sealed.allocator = &env->allocator;
    txn->old.allocator = txn->row.allocator = txn->hot.allocator = &env->allocator;
    txn->cold.allocator = txn->scratch.allocator = txn->lru_log.allocator = &env->allocator;
    txn->redo.rest.allocator = &env->allocator;
    return txn;
}

void larder__txn_free(larder_txn *txn) {
    larder_env *env = txn->env;
    larder__buffer_free(&txn->sealed);
    larder__buffer_free(&txn->old);
    larder__buffer_free(&txn->row);
    larder__buffer_free(&txn->hot);
    larder__buffer_free(&txn->cold);
    larder__buffer_free(&txn->scratch);
    larder__buffer_free(&txn->lru_log);
    larder__buffer_free(&txn->redo.rest);
    larder__release(&env->allocator, txn->deltas);
    larder__release(&env->allocator, txn);
}

static int32_t load_counters(larder_txn *txn, larder_error *error);

bool larder__txn_is_writing(larder_env *env) {
    pthread_mutex_lock(&env->state_lock);
    bool is_writing = env->writer_thread == larder__thread_id();
    pthread_mutex_unlock(&env->state_lock);
    return is_writing;
}

static void set_writer(larder_env *env, uint64_t thread) {
    pthread_mutex_lock(&env->state_lock);
    env->writer_thread = thread;
    pthread_mutex_unlock(&env->state_lock);
}

/* Takes the writer's place: the thread must not have it already. */
static int32_t enter_writer(larder_env *env, larder_error *error) {
    if (larder__txn_is_writing(env))
        return larder__fail(error, LARDER_E_BUSY, "this thread has a write transaction open");
    atomic_fetch_add(&env->open_writes, 1);
    pthread_mutex_lock(&env->writer);
    set_writer(env, larder__thread_id());
    return LARDER_OK;
}

static void leave_writer(larder_env *env) {
    set_writer(env, 0);
    pthread_mutex_unlock(&env->writer);
    atomic_fetch_sub(&env->open_writes, 1); /* last: the environment may be closed now */
}

int32_t larder_txn_begin_write(larder_env *env, larder_txn **txn, larder_error *error) {
    int32_t status = larder__txn_check_env(env, txn, error);
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
    write = env->idle_write != NULL ? env->idle_write : larder__txn_new(env);
    env->idle_write = NULL;
    if (write == NULL) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a transaction");
        goto done;
    }
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &write->mdb);
    while (code == MDB_MAP_RESIZED) {
        status = larder__txn_resize(env, 0, error);
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
    write->open_scans = write->checks = 0;
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
    if (larder__txn_is_checked(txn)) return;
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
    larder__env_enter(env);
    finish_write(txn, status == LARDER_OK);
    if (status == LARDER_OK && is_over) larder__lru_reclaim(env);
    larder__env_leave(env);
    return status;
}

/*
 * guard.h - LMDB's calls, which a damaged file cannot end the process with (guard.c, guard_map.c).
 *
 * Each is LMDB's function of the same name. Where LMDB finds an assertion wrong or touches memory
 * that is not there, the call ends with MDB_CORRUPTED, and env->is_damaged is set. So does one that
 * would change a page that is damaged, and it changes nothing.
 */
#ifndef LARDER_GUARD_H
#define LARDER_GUARD_H

#include "internal.h"

/* Of each of LMDB's environments, for mdb_env_set_maxdbs. */
#define LARDER__TABLES_MAX (LARDER__TABLE_COUNT + 3)

/* To be called with each environment that LMDB has created, before it is opened. env: whose it is;
 * NULL: of a copy that is being made. */
void larder__guard_attach(MDB_env *mdb, larder_env *env);
/* Damage was found in the data file: writes are refused from here on. */
void larder__guard_note_damage(larder_env *env, const char *what);
/* Calls a function that may touch memory that is not there: false, it did, and what it had allocated is
 * lost. */
bool larder__guard_run(void (*run)(void *context), void *context);
/* Finds where the data file is mapped, by a row's value that LMDB has returned and the page that
 * has it; false: the page is damaged. */
bool larder__guard_find_map(larder_env *env, MDB_val value);
/* The map was replaced: where it is is not known until the next larder__guard_find_map. */
void larder__guard_forget_map(larder_env *env);
/* Whether bytes that LMDB has returned in a transaction can be read, where the file is not known to
 * be as long. */
bool larder__guard_look(const larder_txn *txn, const void *data, size_t size_bytes);
/* Whether bytes that LMDB has returned in a transaction can be read. */
static inline bool larder__guard_can_read(const larder_txn *txn, const void *data,
                                          size_t size_bytes) {
    uint64_t at = (uintptr_t)data - txn->env->map_begin, end = at + size_bytes;
    uint64_t filled = atomic_load_explicit(&txn->env->map_filled, memory_order_relaxed);
    return (end <= filled && at <= end) || larder__guard_look(txn, data, size_bytes);
}
/* The same of a row. Its value lies behind its key, or in pages of its own. */
static inline bool larder__guard_can_read_row(const larder_txn *txn, MDB_val key, MDB_val value) {
    if ((const uint8_t *)key.mv_data + key.mv_size == value.mv_data)
        return larder__guard_can_read(txn, key.mv_data, key.mv_size + value.mv_size);
    return larder__guard_can_read(txn, key.mv_data, key.mv_size) &&
           larder__guard_can_read(txn, value.mv_data, value.mv_size);
}

/* Calls a function for each page in LMDB's table of free pages, as the transaction for reading sees
 * it, until it says false: of the pages that the commits from first to last replaced. */
typedef bool (*larder__page_function)(void *context, uint64_t page);
int larder__mdb_each_free(MDB_txn *txn, uint64_t first, uint64_t last, larder__page_function visit,
                          void *context);

int larder__mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
int larder__mdb_txn_renew(MDB_txn *txn);
int larder__mdb_env_set_mapsize(MDB_env *env, size_t bytes);
/* Zeros on failure. */
int larder__mdb_env_info(MDB_env *env, MDB_envinfo *info);
int larder__mdb_txn_commit(MDB_txn *txn);
void larder__mdb_txn_abort(MDB_txn *txn);
int larder__mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi);
int larder__mdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat);
int larder__mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int larder__mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);
int larder__mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int larder__mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor);
int larder__mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);
/* Several calls of mdb_cursor_get in one: count rows at most, by MDB_NEXT or MDB_PREV. *taken says
 * how many were had, whether or not a step behind them failed. */
typedef struct larder__mdb_row {
    MDB_val key, value;
} larder__mdb_row;
int larder__mdb_cursor_get_rows(MDB_cursor *cursor, MDB_cursor_op op, larder__mdb_row *rows,
                                size_t count, size_t *taken);
int larder__mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags);
/* key: of the row that the cursor stands on. */
int larder__mdb_cursor_del(MDB_cursor *cursor, const MDB_val *key, unsigned flags);

#endif

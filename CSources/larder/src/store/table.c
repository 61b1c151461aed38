/*
 * table.c - accounted rows: every change of a table passes here, so that the counters are the
 * sum of the rows at each commit.
 */
#include "guard.h"
#include "internal.h"
#include "wal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

const char *const larder__table_names[LARDER__TABLE_COUNT] = {
    [LARDER__CATALOG] = "catalog",
    [LARDER__DOCUMENTS] = "documents",
    [LARDER__READ_TIMES] = "read_times",
    [LARDER__LRU] = "lru",
    [LARDER__MUTATIONS] = "mutations",
    [LARDER__MUTATION_DOCUMENTS] = "mutation_documents",
    [LARDER__OVERLAYS] = "overlays",
    [LARDER__OVERLAY_BATCHES] = "overlay_batches",
    [LARDER__TARGETS] = "targets",
    [LARDER__TARGET_DOCUMENTS] = "target_documents",
    [LARDER__DOCUMENT_TARGETS] = "document_targets",
    [LARDER__INDEX_ENTRIES] = "index_entries",
    [LARDER__OVERLAY_ENTRIES] = "overlay_entries",
    [LARDER__NODES] = "nodes",
    [LARDER__NODE_QUERIES] = "node_queries",
    [LARDER__NODE_WRITES] = "node_writes",
};

const larder__category larder__table_categories[LARDER__TABLE_COUNT] = {
    [LARDER__CATALOG] = LARDER__COUNT_CATALOG,
    [LARDER__DOCUMENTS] = LARDER__COUNT_DOCUMENTS,
    [LARDER__READ_TIMES] = LARDER__COUNT_DOCUMENTS,
    [LARDER__LRU] = LARDER__COUNT_DOCUMENTS,
    [LARDER__MUTATIONS] = LARDER__COUNT_MUTATIONS,
    [LARDER__MUTATION_DOCUMENTS] = LARDER__COUNT_MUTATIONS,
    [LARDER__OVERLAYS] = LARDER__COUNT_OVERLAYS,
    [LARDER__OVERLAY_BATCHES] = LARDER__COUNT_OVERLAYS,
    [LARDER__TARGETS] = LARDER__COUNT_TARGETS,
    [LARDER__TARGET_DOCUMENTS] = LARDER__COUNT_TARGETS,
    [LARDER__DOCUMENT_TARGETS] = LARDER__COUNT_TARGETS,
    [LARDER__INDEX_ENTRIES] = LARDER__COUNT_INDEXES,
    [LARDER__OVERLAY_ENTRIES] = LARDER__COUNT_INDEXES,
    [LARDER__NODES] = LARDER__COUNT_NODES,
    [LARDER__NODE_QUERIES] = LARDER__COUNT_NODES,
    [LARDER__NODE_WRITES] = LARDER__COUNT_MUTATIONS,
};

#define PAGE_BYTES 4096
#define PAGE_HEADER 16
#define NODE_HEADER 8
#define SLOT 2
/* LMDB keeps at least two nodes in a page; a larger one goes to pages of its own. */
#define NODE_MAX ((((PAGE_BYTES - PAGE_HEADER) / 2) & -2) - SLOT)

int64_t larder__row_cost(size_t key_bytes, size_t value_bytes) {
    size_t node = NODE_HEADER + key_bytes + value_bytes;
    size_t pages = 0;
    if (node > NODE_MAX) {
        pages = (PAGE_HEADER + value_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        node = NODE_HEADER + key_bytes + sizeof(uint64_t);
    }
    node = (node + 1) & ~(size_t)1;
    return (int64_t)(node + SLOT + pages * PAGE_BYTES);
}

size_t larder__row_room(size_t key_bytes) { return NODE_MAX - NODE_HEADER - key_bytes; }

static MDB_val as_val(larder_bytes bytes) {
    MDB_val val = {bytes.size_bytes, (void *)(uintptr_t)bytes.data};
    return val;
}
static larder_bytes as_bytes(MDB_val val) { return larder__bytes(val.mv_data, val.mv_size); }

static void account(larder_txn *txn, larder__table table, int64_t rows, int64_t bytes) {
    larder_usage *usage = &txn->counters.usage[larder__table_categories[table]];
    usage->row_count += rows;
    usage->size_bytes += bytes;
    txn->changed = true;
    txn->write_count++;
    if (rows < 0 && larder__table_holds_documents(table)) larder__env_released_rows(txn->env);
}

/* The transaction's cursor for writing in a table, or NULL with error filled. */
static MDB_cursor *write_cursor(larder_txn *txn, larder__table table, larder_error *error) {
    MDB_cursor *cursor = txn->cursors[table];
    if (cursor != NULL) return cursor;
    int code = larder__mdb_cursor_open(txn->mdb, txn->env->dbis[table], &cursor);
    if (code != 0) {
        larder__txn_note(txn, larder__fail_mdb(error, code, "opening a cursor"));
        return NULL;
    }
    txn->cursors[table] = cursor;
    return cursor;
}

/* LMDB believes the sizes that a damaged page gives: those beyond any row of ours stop here. */
#define VALUE_MAX ((size_t)LARDER_PAYLOAD_MAX_BYTES + (1 << 20))

/* Behind a page that it does not find LMDB refuses a transaction, and it may not have said so: it looks
 * a table up before a row. */
static int32_t fail_reading(const larder_txn *txn, int code, larder_error *error) {
    if (code == MDB_BAD_TXN && !txn->failed) {
        larder__guard_note_damage(txn->env, mdb_strerror(MDB_CORRUPTED));
        code = MDB_CORRUPTED;
    }
    return larder__fail_mdb(error, code, "reading a row");
}

int32_t larder__table_get(const larder_txn *txn, larder__table table, larder_bytes key,
                          larder_bytes *value, larder_error *error) {
    MDB_val k = as_val(key), v;
    int code = larder__mdb_get(txn->mdb, txn->env->dbis[table], &k, &v);
    if (code == MDB_NOTFOUND) return LARDER_NOT_FOUND;
    if (code != 0) return fail_reading(txn, code, error);
    if (v.mv_size > VALUE_MAX || !larder__guard_can_read(txn, v.mv_data, v.mv_size))
        return larder__corrupt(txn, table, key, "a size that no row has", error);
    *value = as_bytes(v);
    return LARDER_OK;
}

/* LMDB packs pages fully only when it knows that a key goes behind all others. The last key
 * of each table is remembered for that; a put that does go there says so. */
static bool goes_last(larder_txn *txn, larder__table table, MDB_cursor *cursor, larder_bytes key) {
    larder__key *last = &txn->last[table];
    if (!txn->last_is_known[table]) {
        MDB_val k, v;
        int code = larder__mdb_cursor_get(cursor, &k, &v, MDB_LAST);
        if (code != 0 && code != MDB_NOTFOUND) return false;
        larder__key_clear(last);
        if (code == 0 &&
            (k.mv_size > LARDER__KEY_MAX || !larder__guard_can_read(txn, k.mv_data, k.mv_size)))
            return false; /* a damaged page */
        if (code == 0) larder__key_append(last, k.mv_data, k.mv_size);
        txn->last_is_known[table] = true;
    }
    if (larder__bytes_compare(key, larder__key_bytes(last)) <= 0) return false;
    larder__key_clear(last);
    larder__key_append(last, key.data, key.size_bytes);
    return true;
}

/* Before the row under key goes. */
static void may_lose_last(larder_txn *txn, larder__table table, larder_bytes key) {
    if (larder__bytes_equal(key, larder__key_bytes(&txn->last[table])))
        txn->last_is_known[table] = false;
}

/* Inserts unless the key is there (MDB_KEYEXIST, and v is what it has). */
static int insert(larder_txn *txn, larder__table table, MDB_cursor *cursor, MDB_val *k,
                  MDB_val *v) {
    larder_bytes key = as_bytes(*k), value = as_bytes(*v);
    int64_t cost = larder__row_cost(k->mv_size, v->mv_size);
    uint64_t record_bytes = larder__wal_record_bytes(txn);
    if (!larder__wal_put(txn, table, key, value)) return ENOMEM;
    bool is_last = goes_last(txn, table, cursor, key);
    int code = larder__mdb_cursor_put(cursor, k, v, is_last ? MDB_APPEND : MDB_NOOVERWRITE);
    if (code == 0)
        account(txn, table, 1, cost);
    else
        larder__wal_take_back(txn, record_bytes);
    return is_last && code == MDB_KEYEXIST ? MDB_CORRUPTED : code;
}

int32_t larder__table_put(larder_txn *txn, larder__table table, larder_bytes key,
                          larder_bytes value, larder_error *error) {
    MDB_cursor *cursor = write_cursor(txn, table, error);
    if (cursor == NULL) return LARDER_E_NO_MEMORY;
    MDB_val k = as_val(key), v = as_val(value);
    int code = insert(txn, table, cursor, &k, &v);
    if (code == MDB_KEYEXIST) {
        int64_t old_cost = larder__row_cost(key.size_bytes, v.mv_size);
        unsigned flags = v.mv_size == value.size_bytes ? MDB_CURRENT : 0;
        k = as_val(key);
        v = as_val(value);
        code = larder__wal_put(txn, table, key, value)
                   ? larder__mdb_cursor_put(cursor, &k, &v, flags)
                   : ENOMEM;
        if (code == 0)
            account(txn, table, 0, larder__row_cost(key.size_bytes, value.size_bytes) - old_cost);
    }
    if (code == 0) return LARDER_OK;
    return larder__txn_note(txn, larder__fail_mdb(error, code, "writing a row"));
}

int32_t larder__table_add(larder_txn *txn, larder__table table, larder_bytes key,
                          larder_error *error) {
    MDB_cursor *cursor = write_cursor(txn, table, error);
    if (cursor == NULL) return LARDER_E_NO_MEMORY;
    MDB_val k = as_val(key), v = {0, NULL};
    int code = insert(txn, table, cursor, &k, &v);
    if (code == 0) return LARDER_OK;
    if (code == MDB_KEYEXIST) return LARDER_END;
    return larder__txn_note(txn, larder__fail_mdb(error, code, "writing a row"));
}

int32_t larder__table_remove(larder_txn *txn, larder__table table, larder_bytes key,
                             larder_error *error) {
    MDB_cursor *cursor = write_cursor(txn, table, error);
    if (cursor == NULL) return LARDER_E_NO_MEMORY;
    MDB_val k = as_val(key), v;
    int code = larder__mdb_cursor_get(cursor, &k, &v, MDB_SET_KEY);
    if (code == MDB_NOTFOUND) return LARDER_NOT_FOUND;
    if (code == 0) {
        int64_t cost = larder__row_cost(key.size_bytes, v.mv_size);
        may_lose_last(txn, table, key);
        code = larder__wal_remove(txn, table, key) ? larder__mdb_cursor_del(cursor, &k, 0) : ENOMEM;
        if (code == 0) {
            account(txn, table, -1, -cost);
            return LARDER_OK;
        }
    }
    return larder__txn_note(txn, larder__fail_mdb(error, code, "removing a row"));
}

/* ---- sealed values ---- */

#define SEAL_BYTES 4

int32_t larder__corrupt(const larder_txn *txn, larder__table table, larder_bytes key,
                        const char *what, larder_error *error) {
    char hex[2 * 64 + 1];
    size_t shown = key.size_bytes < 64 ? key.size_bytes : 64;
    for (size_t i = 0; i < shown; i++)
        snprintf(hex + 2 * i, 3, "%02x", larder__begin(key)[i]);
    hex[2 * shown] = '\0';
    larder__log(txn->env, LARDER_LOG_ERROR, "damage in table %s, key %s%s: %s",
                larder__table_names[table], hex, shown < key.size_bytes ? "..." : "", what);
    return larder__fail(error, LARDER_E_CORRUPT, "damage in table %s, key %s: %s",
                        larder__table_names[table], hex, what);
}

int32_t larder__unseal(const larder_txn *txn, larder__table table, larder_bytes key,
                       larder_bytes value, larder_bytes *payload, larder_error *error) {
    if (value.size_bytes < SEAL_BYTES)
        return larder__corrupt(txn, table, key, "the row is too short", error);
    *payload = larder__bytes(larder__begin(value) + SEAL_BYTES, value.size_bytes - SEAL_BYTES);
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    crc = larder__crc32c(crc, payload->data, payload->size_bytes);
    if (crc != larder__load32(value.data))
        return larder__corrupt(txn, table, key, "the checksum does not match", error);
    return LARDER_OK;
}

int32_t larder__table_get_sealed(const larder_txn *txn, larder__table table, larder_bytes key,
                                 larder_bytes *payload, larder_error *error) {
    larder_bytes value;
    int32_t status = larder__table_get(txn, table, key, &value, error);
    if (status != LARDER_OK) return status;
    return larder__unseal(txn, table, key, value, payload, error);
}

int32_t larder__table_put_sealed(larder_txn *txn, larder__table table, larder_bytes key,
                                 const larder_bytes *parts, size_t part_count,
                                 larder_error *error) {
    larder__buffer *row = &txn->sealed;
    row->size_bytes = 0;
    uint8_t seal[SEAL_BYTES] = {0};
    bool has_memory = larder__buffer_append(row, seal, sizeof seal);
    for (size_t i = 0; i < part_count && has_memory; i++)
        has_memory = larder__buffer_append(row, parts[i].data, parts[i].size_bytes);
    if (!has_memory)
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row"));
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    crc = larder__crc32c(crc, row->data + SEAL_BYTES, row->size_bytes - SEAL_BYTES);
    larder__store32(row->data, crc);
    return larder__table_put(txn, table, key, larder__bytes(row->data, row->size_bytes), error);
}

int32_t larder__table_get_count(const larder_txn *txn, larder_bytes key, int64_t *count,
                                larder_error *error) {
    larder_bytes payload;
    *count = 0;
    int32_t status = larder__table_get_sealed(txn, LARDER__CATALOG, key, &payload, error);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status != LARDER_OK) return status;
    if (payload.size_bytes != sizeof(uint64_t))
        return larder__corrupt(txn, LARDER__CATALOG, key, "malformed count", error);
    *count = (int64_t)larder__load64(payload.data);
    return LARDER_OK;
}

int32_t larder__table_put_count(larder_txn *txn, larder_bytes key, int64_t count,
                                larder_error *error) {
    uint8_t bytes[sizeof(uint64_t)];
    if (count <= 0) {
        int32_t status = larder__table_remove(txn, LARDER__CATALOG, key, error);
        return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    }
    larder__store64(bytes, (uint64_t)count);
    larder_bytes payload = larder__bytes(bytes, sizeof bytes);
    return larder__table_put_sealed(txn, LARDER__CATALOG, key, &payload, 1, error);
}

/* ---- cursors ---- */

int32_t larder__cursor_open(const larder_txn *txn, larder__table table, larder__cursor *cursor,
                            larder_error *error) {
    memset(cursor, 0, sizeof *cursor);
    cursor->txn = txn;
    cursor->table = table;
    int code = larder__mdb_cursor_open(txn->mdb, txn->env->dbis[table], &cursor->mdb);
    if (code == 0) return LARDER_OK;
    cursor->mdb = NULL;
    return fail_reading(txn, code, error);
}

void larder__cursor_close(larder__cursor *cursor) {
    if (cursor->mdb != NULL) mdb_cursor_close(cursor->mdb);
    cursor->mdb = NULL;
}

/* Where LMDB fails it forgets the place: its next step would begin at the table's first row again. */
static int32_t move(larder__cursor *cursor, MDB_val *k, MDB_cursor_op op, larder_error *error) {
    MDB_val v;
    int code = larder__mdb_cursor_get(cursor->mdb, k, &v, op);
    if (code == MDB_NOTFOUND) return LARDER_END;
    cursor->is_ended = code != 0;
    if (code != 0) return fail_reading(cursor->txn, code, error);
    if (k->mv_size > LARDER__KEY_MAX || v.mv_size > VALUE_MAX ||
        !larder__guard_can_read_row(cursor->txn, *k, v))
        return larder__corrupt(cursor->txn, cursor->table, larder__bytes(NULL, 0),
                               "a size that no row has", error);
    cursor->key = as_bytes(*k);
    cursor->value = as_bytes(v);
    return LARDER_OK;
}

/* Steps between two comparisons with the number of rows. */
#define STEPS_A_COUNT 4096

int32_t larder__cursor_count_steps(larder__cursor *cursor, size_t count, larder_error *error) {
    uint64_t before = cursor->step_count;
    if (cursor->is_ended) return LARDER_END;
    cursor->step_count += count;
    if (before / STEPS_A_COUNT == cursor->step_count / STEPS_A_COUNT) return LARDER_OK;
    MDB_stat rows;
    int code = larder__mdb_stat(cursor->txn->mdb, cursor->txn->env->dbis[cursor->table], &rows);
    if (code != 0) return fail_reading(cursor->txn, code, error);
    /* A write transaction may have removed rows that the cursor passed, and added others since: the
     * rows that there were at the first comparison, and those that there are now, are allowed. */
    if (cursor->step_limit == 0) cursor->step_limit = cursor->step_count + rows.ms_entries;
    if (cursor->step_count <= cursor->step_limit + rows.ms_entries) return LARDER_OK;
    cursor->is_ended = true;
    return larder__corrupt(cursor->txn, cursor->table, larder__bytes(NULL, 0),
                           "more rows than the table has", error);
}

static int32_t step(larder__cursor *cursor, MDB_val *k, MDB_cursor_op op, larder_error *error) {
    int32_t status = larder__cursor_count_steps(cursor, 1, error);
    return status == LARDER_OK ? move(cursor, k, op, error) : status;
}

static void begin_steps(larder__cursor *cursor) {
    cursor->step_count = cursor->step_limit = 0;
    cursor->is_ended = false;
}

int32_t larder__cursor_seek(larder__cursor *cursor, larder_bytes at_least, larder_error *error) {
    MDB_val k = as_val(at_least);
    begin_steps(cursor);
    return move(cursor, &k, k.mv_size == 0 ? MDB_FIRST : MDB_SET_RANGE, error);
}

int32_t larder__cursor_seek_on(larder__cursor *cursor, larder_bytes at_least, larder_error *error) {
    MDB_val k = as_val(at_least);
    return step(cursor, &k, MDB_SET_RANGE, error);
}

int32_t larder__cursor_seek_below(larder__cursor *cursor, larder_bytes below, larder_error *error) {
    MDB_val k = as_val(below);
    begin_steps(cursor);
    int32_t status = k.mv_size == 0 ? LARDER_END : move(cursor, &k, MDB_SET_RANGE, error);
    if (status == LARDER_END)
        return below.size_bytes == 0 ? LARDER_END : move(cursor, &k, MDB_LAST, error);
    if (status != LARDER_OK) return status;
    return move(cursor, &k, MDB_PREV, error);
}

int32_t larder__cursor_next(larder__cursor *cursor, larder_error *error) {
    MDB_val k;
    return step(cursor, &k, MDB_NEXT, error);
}

int32_t larder__cursor_previous(larder__cursor *cursor, larder_error *error) {
    MDB_val k;
    return step(cursor, &k, MDB_PREV, error);
}

int32_t larder__cursor_last(larder__cursor *cursor, larder_error *error) {
    MDB_val k;
    begin_steps(cursor);
    return move(cursor, &k, MDB_LAST, error);
}

int32_t larder__cursor_remove(larder_txn *txn, larder__cursor *cursor, larder_error *error) {
    int64_t cost = larder__row_cost(cursor->key.size_bytes, cursor->value.size_bytes);
    MDB_val k = as_val(cursor->key);
    may_lose_last(txn, cursor->table, cursor->key);
    int code = larder__wal_remove(txn, cursor->table, cursor->key)
                   ? larder__mdb_cursor_del(cursor->mdb, &k, 0)
                   : ENOMEM;
    if (code != 0) return larder__txn_note(txn, larder__fail_mdb(error, code, "removing a row"));
    account(txn, cursor->table, -1, -cost);
    return LARDER_OK;
}

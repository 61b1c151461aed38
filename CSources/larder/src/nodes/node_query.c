/* node_query.c - rows of tracked queries, and the calls that change and read them
 * (node_query.h). */
#include "node_query.h"

#include "store/lru.h"

#include <stdio.h>

enum { EPOCH_AT = 0, KIND_AT = 4, FLAGS_AT = 5, USE_AT = 9, KEYS_AT = 18 };

larder__key larder__query_key(uint64_t tree, uint64_t id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, tree);
    larder__key_u64(&key, id);
    return key;
}

bool larder__query_read_key(larder_bytes key, uint64_t *tree, uint64_t *id) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    return larder__key_read_number(&at, end, tree) && larder__key_read_u64(&at, end, id) &&
           at == end;
}

/* ---- the row ---- */

bool larder__query_parse(larder_bytes payload, larder__query_row *row) {
    const uint8_t *at = larder__begin(payload), *end = at + payload.size_bytes;
    uint64_t size;
    memset(row, 0, sizeof *row);
    if (payload.size_bytes < KEYS_AT || at[KIND_AT] > LARDER__SWEEP_ROW ||
        !larder__time_get(at + USE_AT, &row->last_use))
        return false;
    row->epoch = larder__load32(at + EPOCH_AT);
    row->kind = at[KIND_AT];
    row->flags = larder__load32(at + FLAGS_AT);
    at += KEYS_AT;
    size_t used = larder__varint_get(at, end, &row->keys);
    at += used;
    if (used == 0) return false;
    used = larder__varint_get(at, end, &size);
    if (used == 0 || size > (uint64_t)(end - at) - used) return false;
    row->path = larder__bytes(at + used, (size_t)size);
    at += used + size;
    row->payload = larder__bytes(at, (size_t)(end - at));
    return true;
}

int32_t larder__query_read(const larder_txn *txn, uint64_t tree, uint64_t id,
                           larder__query_row *row, larder_error *error) {
    larder__key key = larder__query_key(tree, id);
    larder_bytes payload;
    int32_t status = larder__table_get_sealed(txn, LARDER__NODE_QUERIES, larder__key_bytes(&key),
                                              &payload, error);
    if (status != LARDER_OK) return status;
    if (!larder__query_parse(payload, row))
        return larder__corrupt(txn, LARDER__NODE_QUERIES, larder__key_bytes(&key),
                               "malformed query", error);
    return LARDER_OK;
}

int32_t larder__query_write(larder_txn *txn, uint64_t tree, uint64_t id,
                            const larder__query_row *row, larder_error *error) {
    uint8_t head[KEYS_AT + 2 * LARDER__VARINT_MAX];
    larder__store32(head + EPOCH_AT, row->epoch);
    head[KIND_AT] = row->kind;
    larder__store32(head + FLAGS_AT, row->flags);
    larder__time_put(head + USE_AT, row->last_use);
    size_t size = KEYS_AT + larder__varint_put(head + KEYS_AT, row->keys);
    size += larder__varint_put(head + size, row->path.size_bytes);
    larder_bytes parts[3] = {larder__bytes(head, size), row->path, row->payload};
    larder__key key = larder__query_key(tree, id);
    return larder__table_put_sealed(txn, LARDER__NODE_QUERIES, larder__key_bytes(&key), parts, 3,
                                    error);
}

int32_t larder__query_forget(larder_txn *txn, uint64_t tree, uint64_t id, larder_error *error) {
    larder__key key = larder__query_key(tree, id);
    int32_t status =
        larder__table_remove(txn, LARDER__NODE_QUERIES, larder__key_bytes(&key), error);
    if (status == LARDER_OK) txn->counters.query_count--;
    return status;
}

/* ---- the index ---- */

const larder_bytes larder__index_queries = {".q", 2};
const larder_bytes larder__index_sweep = {".s", 2};

#define INDEX_KEY_MAX (2 + 1 + 20 + 1)

/* Sets or, with an empty node, removes name at a path of the index. */
static int32_t put_index(larder_txn *txn, uint64_t tree, larder_bytes path, const char *name,
                         larder_bytes node, larder_error *error) {
    larder__change_list list;
    larder__change_list_init(&list, &txn->env->allocator);
    int32_t status =
        larder__change_list_add(&list, path, larder__bytes(name, strlen(name)), node, error);
    if (status == LARDER_OK)
        status = larder__change_list_apply(&list, txn, larder__index_of(tree), error);
    larder__change_list_free(&list);
    return status;
}

static int32_t put_index_number(larder_txn *txn, uint64_t tree, larder_bytes path, const char *name,
                                uint64_t number, larder_error *error) {
    larder__buffer node = {.allocator = &txn->env->allocator};
    larder_leaf leaf = {.type = LARDER_NODE_INTEGER, .integer = (int64_t)number};
    int32_t status = LARDER_E_NO_MEMORY;
    if (larder__append_leaf(&node, &leaf, larder__bytes(NULL, 0)))
        status = put_index(txn, tree, path, name, larder__bytes(node.data, node.size_bytes), error);
    else
        larder__fail(error, status, "no memory for a query");
    larder__buffer_free(&node);
    return status;
}

static void index_name(char name[INDEX_KEY_MAX], uint64_t id) {
    snprintf(name, INDEX_KEY_MAX, ".q/%llu", (unsigned long long)id);
}

int32_t larder__query_detach(larder_txn *txn, uint64_t tree, uint64_t id,
                             const larder__query_row *row, larder_error *error) {
    char name[INDEX_KEY_MAX];
    uint64_t keys = row->keys;
    larder__buffer path = {.allocator = &txn->env->allocator};
    if (!larder__append_bytes(&path, row->path))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a query");
    index_name(name, id);
    int32_t status = put_index(txn, tree, larder__bytes(path.data, path.size_bytes), name,
                               larder__bytes(NULL, 0), error);
    larder__buffer_free(&path);
    if (status == LARDER_OK && keys != 0) status = larder__location_discard(txn, keys, error);
    return status;
}

/* ---- sweeps ---- */

/* The .s of a path: OK, NOT_FOUND. */
static int32_t find_sweep(const larder_txn *txn, uint64_t tree, larder_bytes path,
                          larder_error *error) {
    larder__place place;
    int32_t status = larder__place_find(txn, larder__index_of(tree), path, &place, error);
    if (status == LARDER_OK) {
        larder__children children;
        status = larder__children_open(txn, &place, &children, error);
        if (status == LARDER_OK)
            status = larder__children_find(&children, larder__index_sweep, error);
        larder__children_close(&children);
    }
    larder__place_close(&place);
    return status;
}

int32_t larder__sweep_make(larder_txn *txn, uint64_t tree, larder_bytes path, larder_error *error) {
    int32_t status = find_sweep(txn, tree, path, error);
    if (status != LARDER_NOT_FOUND) return status;
    uint64_t id = LARDER__SWEEP_ID + (uint64_t)++txn->counters.next_sweep;
    larder__query_row row = {.kind = LARDER__SWEEP_ROW, .path = path};
    status = put_index_number(txn, tree, path, ".s", id, error);
    if (status == LARDER_OK) status = larder__query_write(txn, tree, id, &row, error);
    if (status != LARDER_OK) return status;
    txn->counters.query_count++;
    uint8_t id_bytes[8];
    larder__store64_big(id_bytes, id);
    /* Those that wait belong to the current epoch; this one to the first. */
    status = larder__lru_write_log(txn, larder__lru_epoch(txn), error);
    if (status == LARDER_OK)
        status = larder__lru_append(txn, LARDER__LRU_NODE_QUERY, tree,
                                    larder__bytes(id_bytes, sizeof id_bytes), error);
    if (status == LARDER_OK) status = larder__lru_write_log(txn, 0, error);
    larder__env_released_rows(txn->env);
    return status;
}

int32_t larder__sweep_unmark(larder_txn *txn, uint64_t tree, larder_bytes path,
                             larder_error *error) {
    return put_index(txn, tree, path, ".s", larder__bytes(NULL, 0), error);
}

/* ---- public: writing ---- */

static int32_t check_write(larder_txn *txn, uint64_t tree, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    return status == LARDER_OK ? larder__tree_check(txn, tree, error) : status;
}

static int32_t check_query(const larder_node_query *query, larder_error *error) {
    uint32_t depth;
    if (query == NULL || query->struct_bytes < sizeof *query || query->query_id <= 0 ||
        (query->flags & ~(uint32_t)LARDER__QUERY_FLAGS) != 0 || !larder__is_input(query->payload) ||
        query->payload.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a query needs struct_bytes, an id above 0, known flags and a payload "
                            "of at most %d bytes",
                            LARDER_PAYLOAD_MAX_BYTES);
    if (!larder__time_is_valid(query->last_use))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a time of last use is out of range");
    return larder__node_path_check(query->path, false, &depth, error);
}

static int32_t note_use(larder_txn *txn, uint64_t tree, uint64_t id, bool is_logged,
                        larder_error *error) {
    uint8_t bytes[8];
    larder__store64_big(bytes, id);
    return larder__lru_note(txn, LARDER__LRU_NODE_QUERY, tree, larder__bytes(bytes, sizeof bytes),
                            is_logged, 0, error);
}

/* The evicted query of this id had a sweep: its remaining work is continued by another sweep. */
static int32_t replace_sweep(larder_txn *txn, uint64_t tree, uint64_t id,
                             const larder__query_row *old, larder_error *error) {
    larder__buffer path = {.allocator = &txn->env->allocator};
    if (!larder__append_bytes(&path, old->path))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a query");
    int32_t status = larder__query_forget(txn, tree, id, error);
    if (status == LARDER_OK)
        status = larder__sweep_make(txn, tree, larder__bytes(path.data, path.size_bytes), error);
    larder__buffer_free(&path);
    return status;
}

static int32_t put_query(larder_txn *txn, uint64_t tree, const larder_node_query *query,
                         larder_error *error) {
    uint64_t id = (uint64_t)query->query_id;
    larder__query_row old = {0};
    int32_t status = larder__query_read(txn, tree, id, &old, error);
    if (status == LARDER_OK && old.kind == LARDER__SWEEP_ROW) {
        status = replace_sweep(txn, tree, id, &old, error);
        if (status == LARDER_OK) status = LARDER_NOT_FOUND;
    }
    if (status < 0) return status;
    bool is_new = status == LARDER_NOT_FOUND;
    if (!is_new && !larder__bytes_equal(old.path, query->path))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the path of a query cannot change");
    larder__query_row row = {.epoch = larder__lru_epoch(txn),
                             .flags = query->flags,
                             .last_use = query->last_use,
                             .keys = is_new ? 0 : old.keys,
                             .path = query->path,
                             .payload = query->payload};
    bool is_logged = !is_new && old.epoch == row.epoch;
    uint32_t changed = (is_new ? ~0u : old.flags ^ row.flags) & LARDER_NODE_QUERY_KEYED;
    status = larder__query_write(txn, tree, id, &row, error);
    if (status == LARDER_OK && changed != 0) {
        char name[INDEX_KEY_MAX];
        index_name(name, id);
        status = put_index_number(txn, tree, query->path, name, row.flags & LARDER_NODE_QUERY_KEYED,
                                  error);
    }
    /* With KEYED it keeps less than before. */
    if (status == LARDER_OK && !is_new && changed != 0 &&
        (row.flags & LARDER_NODE_QUERY_KEYED) != 0)
        status = larder__sweep_make(txn, tree, query->path, error);
    if (status == LARDER_OK && is_new) txn->counters.query_count++;
    if ((old.flags & ~row.flags & LARDER__QUERY_STAYS) != 0) larder__env_released_rows(txn->env);
    return status == LARDER_OK ? note_use(txn, tree, id, is_logged, error) : status;
}

int32_t larder_node_query_put(larder_txn *txn, uint64_t tree, const larder_node_query *query,
                              larder_error *error) {
    int32_t status = check_write(txn, tree, error);
    if (status == LARDER_OK) status = check_query(query, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = put_query(txn, tree, query, error);
    return status == LARDER_E_INVALID_ARGUMENT ? status : larder__txn_note_partial(txn, status);
}

/* A query that is in use: OK, NOT_FOUND. */
static int32_t read_query(const larder_txn *txn, uint64_t tree, int64_t query_id,
                          larder__query_row *row, larder_error *error) {
    if (query_id <= 0) return LARDER_NOT_FOUND;
    int32_t status = larder__query_read(txn, tree, (uint64_t)query_id, row, error);
    return status == LARDER_OK && row->kind != LARDER__QUERY_ROW ? LARDER_NOT_FOUND : status;
}

int32_t larder_node_query_remove(larder_txn *txn, uint64_t tree, int64_t query_id,
                                 larder_error *error) {
    larder__query_row row;
    int32_t status = check_write(txn, tree, error);
    if (status == LARDER_OK) status = read_query(txn, tree, query_id, &row, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    larder__buffer path = {.allocator = &txn->env->allocator};
    if (!larder__append_bytes(&path, row.path))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a query"));
    status = larder__query_detach(txn, tree, (uint64_t)query_id, &row, error);
    if (status == LARDER_OK) status = larder__query_forget(txn, tree, (uint64_t)query_id, error);
    if (status == LARDER_OK)
        status = larder__sweep_make(txn, tree, larder__bytes(path.data, path.size_bytes), error);
    larder__buffer_free(&path);
    larder__env_released_rows(txn->env);
    return larder__txn_note_partial(txn, status);
}

/* Writes a row again that was read from the transaction. */
static int32_t rewrite(larder_txn *txn, uint64_t tree, uint64_t id, larder__query_row row,
                       larder_error *error) {
    bool is_logged = row.epoch == larder__lru_epoch(txn);
    row.epoch = larder__lru_epoch(txn);
    int32_t status = larder__query_write(txn, tree, id, &row, error);
    return status == LARDER_OK ? note_use(txn, tree, id, is_logged, error) : status;
}

int32_t larder_node_query_touch(larder_txn *txn, uint64_t tree, int64_t query_id,
                                larder_error *error) {
    larder__query_row row;
    int32_t status = check_write(txn, tree, error);
    if (status == LARDER_OK) status = read_query(txn, tree, query_id, &row, error);
    if (status != LARDER_OK || row.epoch == larder__lru_epoch(txn))
        return larder__txn_note(txn, status);
    return larder__txn_note_partial(txn, rewrite(txn, tree, (uint64_t)query_id, row, error));
}

/* ---- public: tracked keys ---- */

static int32_t check_keys(const larder_bytes *keys, size_t count, larder_error *error) {
    int32_t status = LARDER_OK;
    if (!larder__is_array(keys, count, sizeof *keys))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "removed or added is NULL or too long");
    for (size_t i = 0; i < count && status == LARDER_OK; i++)
        status = larder__node_key_check(keys[i], error);
    return status;
}

static int32_t change_keys(larder_txn *txn, uint64_t holder, const larder_bytes *keys, size_t count,
                           larder_bytes node, larder_error *error) {
    larder__change_list list;
    larder_bytes *sorted = NULL;
    const larder_allocator *allocator = &txn->env->allocator;
    if (count == 0) return LARDER_OK;
    larder__change_list_init(&list, allocator);
    int32_t status = larder__keys_sort(allocator, keys, &count, &sorted, error);
    for (size_t i = 0; i < count && status == LARDER_OK; i++)
        status = larder__change_list_add(&list, sorted[i], larder__bytes(NULL, 0), node, error);
    if (status == LARDER_OK) status = larder__change_list_apply(&list, txn, holder, error);
    larder__change_list_free(&list);
    larder__release(allocator, sorted);
    return status;
}

int32_t larder_node_query_change_keys(larder_txn *txn, uint64_t tree, int64_t query_id,
                                      const larder_bytes *removed, size_t removed_count,
                                      const larder_bytes *added, size_t added_count,
                                      larder_error *error) {
    static const uint8_t present = LARDER_NODE_TRUE;
    larder__query_row row;
    int32_t status = check_write(txn, tree, error);
    if (status == LARDER_OK) status = check_keys(removed, removed_count, error);
    if (status == LARDER_OK) status = check_keys(added, added_count, error);
    if (status == LARDER_OK) status = read_query(txn, tree, query_id, &row, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    larder__buffer path = {.allocator = &txn->env->allocator};
    if (!larder__append_bytes(&path, row.path))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a query"));
    uint64_t keys = row.keys;
    if (keys == 0) {
        keys = row.keys = (uint64_t)++txn->counters.next_location;
        status = larder__query_write(txn, tree, (uint64_t)query_id, &row, error);
    }
    if (status == LARDER_OK)
        status = change_keys(txn, keys, removed, removed_count, larder__bytes(NULL, 0), error);
    if (status == LARDER_OK)
        status = change_keys(txn, keys, added, added_count, larder__bytes(&present, 1), error);
    if (status == LARDER_OK && removed_count > 0)
        status = larder__sweep_make(txn, tree, larder__bytes(path.data, path.size_bytes), error);
    larder__buffer_free(&path);
    return larder__txn_note_partial(txn, status);
}

int32_t larder_node_query_keys(const larder_txn *txn, uint64_t tree, int64_t query_id,
                               larder_node_builder *into, larder_error *error) {
    larder__query_row row;
    int32_t status = larder__read_check(txn, tree, larder__bytes(NULL, 0), into, error);
    if (status == LARDER_OK) status = read_query(txn, tree, query_id, &row, error);
    if (status != LARDER_OK) return status;
    larder__buffer *out = larder__builder_begin(into);
    if (row.keys == 0) return LARDER_OK;
    larder__place place;
    status = larder__place_find(txn, row.keys, larder__bytes(NULL, 0), &place, error);
    if (status == LARDER_OK)
        status = larder__node_copy(txn, &place.segment, place.node, out, error);
    larder__place_close(&place);
    if (status < 0) out->size_bytes = 0;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

/* ---- public: reading ---- */

static void give(const larder__query_row *row, uint64_t id, larder_node_query *query) {
    larder_node_query given = {.struct_bytes = query->struct_bytes,
                               .query_id = (int64_t)id,
                               .flags = row->flags,
                               .last_use = row->last_use,
                               .path = row->path,
                               .payload = row->payload};
    *query = given;
}

static int32_t check_read(const larder_txn *txn, uint64_t tree, const larder_node_query *query,
                          larder_error *error) {
    int32_t status = larder__read_check(txn, tree, larder__bytes(NULL, 0), query, error);
    if (status == LARDER_OK && query->struct_bytes < sizeof *query)
        status =
            larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the query's struct_bytes is not set");
    return status;
}

int32_t larder_node_query_get(const larder_txn *txn, uint64_t tree, int64_t query_id,
                              larder_node_query *query, larder_error *error) {
    larder__query_row row;
    int32_t status = check_read(txn, tree, query, error);
    if (status == LARDER_OK) status = read_query(txn, tree, query_id, &row, error);
    if (status == LARDER_OK) give(&row, (uint64_t)query_id, query);
    return status;
}

int32_t larder_node_query_next(const larder_txn *txn, uint64_t tree, int64_t after,
                               larder_node_query *query, larder_error *error) {
    larder__cursor cursor;
    int32_t status = check_read(txn, tree, query, error);
    if (status != LARDER_OK) return status;
    if (after == INT64_MAX) return LARDER_END;
    larder__key key = larder__query_key(tree, after < 0 ? 1 : (uint64_t)after + 1);
    status = larder__cursor_open(txn, LARDER__NODE_QUERIES, &cursor, error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error); status == LARDER_OK;
         status = larder__cursor_next(&cursor, error)) {
        uint64_t of, id;
        larder_bytes payload;
        larder__query_row row;
        if (!larder__query_read_key(cursor.key, &of, &id))
            status =
                larder__corrupt(txn, LARDER__NODE_QUERIES, cursor.key, "a malformed key", error);
        else if (of != tree || id >= LARDER__SWEEP_ID)
            status = LARDER_END;
        else
            status = larder__unseal(txn, LARDER__NODE_QUERIES, cursor.key, cursor.value, &payload,
                                    error);
        if (status != LARDER_OK) break;
        if (!larder__query_parse(payload, &row)) {
            status =
                larder__corrupt(txn, LARDER__NODE_QUERIES, cursor.key, "malformed query", error);
            break;
        }
        if (row.kind != LARDER__QUERY_ROW) continue;
        give(&row, id, query);
        break;
    }
    larder__cursor_close(&cursor);
    return status;
}

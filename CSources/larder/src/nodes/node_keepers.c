/* node_keepers.c - what the tracked queries at one place of the index keep (node_query.h). */
#include "node_query.h"

static int32_t add_query(const larder_txn *txn, uint64_t tree, larder_bytes name,
                         larder__keepers *keepers, larder_error *error) {
    uint64_t id = 0;
    larder__query_row row;
    const uint8_t *p = larder__begin(name);
    for (size_t i = 0; i < name.size_bytes; i++)
        id = id * 10 + (uint64_t)(p[i] - '0');
    int32_t status = larder__query_read(txn, tree, id, &row, error);
    if (status == LARDER_NOT_FOUND || (status == LARDER_OK && row.kind != LARDER__QUERY_ROW)) {
        larder__key key = larder__query_key(tree, id);
        return larder__corrupt(txn, LARDER__NODE_QUERIES, larder__key_bytes(&key),
                               "the index mentions a query that is not there", error);
    }
    if (status != LARDER_OK) return status;
    if ((row.flags & LARDER_NODE_QUERY_KEYED) == 0)
        keepers->keeps_all = true;
    else if (row.keys != 0 && !larder__buffer_append(&keepers->keyed, &row.keys, sizeof row.keys))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a query");
    return LARDER_OK;
}

/* The queries of a .q, which is small or a location of its own. */
static int32_t each_query(const larder_txn *txn, uint64_t tree, larder__place *queries,
                          larder__keepers *keepers, larder_error *error) {
    larder__children ids;
    int32_t status = larder__children_open(txn, queries, &ids, error);
    if (status == LARDER_OK) status = larder__children_begin_run(&ids, false, error);
    while (status == LARDER_OK) {
        while ((status = larder__children_next(&ids, error)) == LARDER_OK) {
            status = larder__children_key(&ids, error);
            if (status == LARDER_OK) status = add_query(txn, tree, ids.key, keepers, error);
            if (status != LARDER_OK) break;
        }
        if (status == LARDER_END) status = larder__children_next_run(&ids, false, error);
    }
    larder__children_close(&ids);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder__keepers_read(const larder_txn *txn, uint64_t tree, larder_bytes path,
                             larder__keepers *keepers, larder_error *error) {
    larder__place place;
    keepers->keeps_all = false;
    keepers->keyed.size_bytes = 0;
    int32_t status = larder__place_find(txn, larder__index_of(tree), path, &place, error);
    if (status == LARDER_OK) status = larder__place_descend(&place, larder__index_queries, error);
    if (status == LARDER_OK) status = each_query(txn, tree, &place, keepers, error);
    larder__place_close(&place);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

int32_t larder__index_has_more(const larder_txn *txn, larder__place *place, bool *has_more,
                               larder_error *error) {
    larder__children children;
    *has_more = false;
    int32_t status = larder__children_open(txn, place, &children, error);
    if (status == LARDER_OK) status = larder__children_begin_run(&children, false, error);
    while (status == LARDER_OK && !*has_more) {
        status = larder__children_next(&children, error);
        if (status == LARDER_OK) status = larder__children_key(&children, error);
        if (status == LARDER_OK)
            *has_more = !larder__bytes_equal(children.key, larder__index_sweep);
        else if (status == LARDER_END)
            status = larder__children_next_run(&children, false, error);
    }
    larder__children_close(&children);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder__keepers_have(const larder_txn *txn, const larder__keepers *keepers,
                             larder_bytes key, bool *found, larder_error *error) {
    *found = false;
    for (size_t at = 0; at < keepers->keyed.size_bytes && !*found; at += sizeof(uint64_t)) {
        larder__place place;
        int32_t status =
            larder__place_find(txn, larder__load64(keepers->keyed.data + at), key, &place, error);
        larder__place_close(&place);
        if (status < 0) return status;
        *found = status == LARDER_OK;
    }
    return LARDER_OK;
}

static int32_t has_queries(const larder_txn *txn, larder__place *place, bool *found,
                           larder_error *error) {
    larder__children children;
    int32_t status = larder__children_open(txn, place, &children, error);
    if (status == LARDER_OK)
        status = larder__children_find(&children, larder__index_queries, error);
    larder__children_close(&children);
    *found = status == LARDER_OK;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

int32_t larder__keepers_cover(const larder_txn *txn, uint64_t tree, larder_bytes path,
                              larder__keepers *keepers, bool *covered, larder_error *error) {
    larder__place place;
    larder_bytes above = larder__bytes(path.data, 0), rest = path, key;
    *covered = false;
    int32_t status = larder__place_find(txn, larder__index_of(tree), above, &place, error);
    while (status == LARDER_OK) {
        bool found;
        status = has_queries(txn, &place, &found, error);
        if (status == LARDER_OK && found)
            status = larder__keepers_read(txn, tree, above, keepers, error);
        if (status != LARDER_OK) break;
        *covered = found && keepers->keeps_all;
        if (*covered || !larder__path_take(&rest, &key)) break;
        if (found) status = larder__keepers_have(txn, keepers, key, covered, error);
        if (*covered || status != LARDER_OK) break;
        above.size_bytes = (size_t)(larder__begin(key) - larder__begin(path)) + key.size_bytes;
        status = larder__place_descend(&place, key, error);
    }
    larder__place_close(&place);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

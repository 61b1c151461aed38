/*
 * node_tree.c - trees by name, and their numbers.
 *
 * Sealed rows of table catalog:
 *
 *   r  name         -> number varint
 *   s  tree number  -> name
 *
 * A tree's number is that of the location that holds its root; the number after it is the holder
 * of the index of its tracked queries (node_query.h).
 */
#include "node_place.h"
#include "store/catalog.h"

static larder__key name_key(larder_bytes name) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_TREE);
    larder__key_append(&key, name.data, name.size_bytes);
    return key;
}

static larder__key number_key(uint64_t tree) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_TREE_NUMBER);
    larder__key_number(&key, tree);
    return key;
}

int32_t larder__tree_check(const larder_txn *const_txn, uint64_t tree, larder_error *error) {
    larder_txn *txn = (larder_txn *)(uintptr_t)const_txn; /* its memory of the last tree */
    larder_bytes name;
    if (tree != 0 && txn->tree == tree) return LARDER_OK;
    larder__key key = number_key(tree);
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &name, error);
    if (status == LARDER_NOT_FOUND)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "no tree has the number %llu",
                            (unsigned long long)tree);
    if (status == LARDER_OK) txn->tree = tree;
    return status;
}

static int32_t find(const larder_txn *txn, larder_bytes name, uint64_t *tree, larder_error *error) {
    if (tree == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "tree is NULL");
    if (name.size_bytes == 0 || name.data == NULL ||
        name.size_bytes > LARDER_NODE_TREE_NAME_MAX_BYTES || !larder__utf8_is_valid(name))
        return larder__fail(error, LARDER_E_INVALID_NAME, "a tree's name is 1 to %d bytes of UTF-8",
                            LARDER_NODE_TREE_NAME_MAX_BYTES);
    larder__key key = name_key(name);
    larder_bytes payload;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status != LARDER_OK) return status;
    const uint8_t *p = larder__begin(payload);
    if (larder__varint_get(p, p + payload.size_bytes, tree) == 0 || *tree == 0)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key), "no number", error);
    return LARDER_OK;
}

int32_t larder_node_tree_find(const larder_txn *txn, larder_bytes name, uint64_t *tree,
                              larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    return status != LARDER_OK ? status : find(txn, name, tree, error);
}

int32_t larder_node_tree_obtain(larder_txn *txn, larder_bytes name, uint64_t *tree,
                                larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = find(txn, name, tree, error);
    if (status != LARDER_NOT_FOUND) return larder__txn_note(txn, status);
    *tree = (uint64_t)++txn->counters.next_location;
    txn->counters.next_location++; /* of the queries' index */
    uint8_t varint[LARDER__VARINT_MAX];
    larder_bytes number = larder__bytes(varint, larder__varint_put(varint, *tree));
    larder__key key = name_key(name), reverse = number_key(*tree);
    status =
        larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &number, 1, error);
    if (status == LARDER_OK)
        status = larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&reverse), &name,
                                          1, error);
    return larder__txn_note_partial(txn, status);
}

int32_t larder_node_tree_next(const larder_txn *txn, uint64_t after, uint64_t *tree,
                              larder_bytes *name, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (tree == NULL || name == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "tree or name is NULL");
    if (after == UINT64_MAX) return LARDER_END;
    larder__key key = number_key(after + 1);
    larder__cursor cursor;
    status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    const uint8_t *at = larder__begin(cursor.key);
    if (status == LARDER_OK && at[0] != LARDER__KIND_TREE_NUMBER) status = LARDER_END;
    if (status == LARDER_OK) {
        const uint8_t *end = at + cursor.key.size_bytes;
        at++;
        if (!larder__key_read_number(&at, end, tree) || at != end)
            status = larder__corrupt(txn, LARDER__CATALOG, cursor.key, "a malformed key", error);
    }
    if (status == LARDER_OK)
        status = larder__unseal(txn, LARDER__CATALOG, cursor.key, cursor.value, name, error);
    larder__cursor_close(&cursor);
    return status;
}

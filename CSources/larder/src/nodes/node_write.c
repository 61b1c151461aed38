/*
 * node_write.c - pending writes of a tree, and refused ones: bytes by number.
 *
 * A row of table node_writes, sealed, under (tree, kind, id): time (9), payload. The catalog keeps
 * the highest id of a tree's pending writes, so that none is given twice.
 */
#include "node_place.h"
#include "store/catalog.h"

#define TIME_BYTES LARDER__TIME_BYTES

static larder__key write_key(uint64_t tree, int32_t kind, uint64_t id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, tree);
    larder__key_byte(&key, (uint8_t)kind);
    larder__key_u64(&key, id);
    return key;
}

static larder__key highest_key(uint64_t tree) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_WRITE_ID);
    larder__key_number(&key, tree);
    return key;
}

static int32_t check_kind(const larder_txn *txn, uint64_t tree, int32_t kind, larder_error *error) {
    if (kind != LARDER_NODE_WRITE_PENDING && kind != LARDER_NODE_WRITE_REFUSED)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "%d is no kind of write", kind);
    return larder__tree_check(txn, tree, error);
}

static int32_t check_write(const larder_node_write *write, larder_error *error) {
    if (write == NULL || write->struct_bytes < sizeof *write || write->write_id <= 0 ||
        !larder__is_input(write->payload) || write->payload.size_bytes > LARDER_PAYLOAD_MAX_BYTES ||
        !larder__time_is_valid(write->time))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a write needs struct_bytes, an id above 0, a valid time and a payload "
                            "of at most %d bytes",
                            LARDER_PAYLOAD_MAX_BYTES);
    return LARDER_OK;
}

int32_t larder_node_write_put(larder_txn *txn, uint64_t tree, int32_t kind,
                              const larder_node_write *write, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_kind(txn, tree, kind, error);
    if (status == LARDER_OK) status = check_write(write, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    uint8_t time[TIME_BYTES];
    larder__time_put(time, write->time);
    larder_bytes parts[2] = {larder__bytes(time, sizeof time), write->payload};
    larder__key key = write_key(tree, kind, (uint64_t)write->write_id);
    status = larder__table_put_sealed(txn, LARDER__NODE_WRITES, larder__key_bytes(&key), parts, 2,
                                      error);
    if (status == LARDER_OK && kind == LARDER_NODE_WRITE_PENDING) {
        int64_t highest;
        key = highest_key(tree);
        status = larder__table_get_count(txn, larder__key_bytes(&key), &highest, error);
        if (status == LARDER_OK && write->write_id > highest)
            status = larder__table_put_count(txn, larder__key_bytes(&key), write->write_id, error);
    }
    return larder__txn_note_partial(txn, status);
}

/* A row met under a key of a tree and kind; END when it is of another. */
static int32_t read_row(const larder_txn *txn, larder_bytes key, larder_bytes value, uint64_t tree,
                        int32_t kind, larder_node_write *write, larder_error *error) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t of, id;
    larder_bytes payload;
    if (!larder__key_read_number(&at, end, &of) || at == end)
        return larder__corrupt(txn, LARDER__NODE_WRITES, key, "a malformed key", error);
    if (of != tree || *at++ != kind) return LARDER_END;
    if (!larder__key_read_u64(&at, end, &id) || at != end || id == 0 || id > INT64_MAX)
        return larder__corrupt(txn, LARDER__NODE_WRITES, key, "a malformed key", error);
    int32_t status = larder__unseal(txn, LARDER__NODE_WRITES, key, value, &payload, error);
    if (status != LARDER_OK) return status;
    larder_node_write given = {.struct_bytes = write->struct_bytes, .write_id = (int64_t)id};
    if (payload.size_bytes < TIME_BYTES || !larder__time_get(larder__begin(payload), &given.time))
        return larder__corrupt(txn, LARDER__NODE_WRITES, key, "a malformed write", error);
    given.payload =
        larder__bytes(larder__begin(payload) + TIME_BYTES, payload.size_bytes - TIME_BYTES);
    *write = given;
    return LARDER_OK;
}

static int32_t check_read(const larder_txn *txn, uint64_t tree, int32_t kind,
                          const larder_node_write *write, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = check_kind(txn, tree, kind, error);
    if (status == LARDER_OK && (write == NULL || write->struct_bytes < sizeof *write))
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                              "write is NULL or its struct_bytes is not set");
    return status;
}

int32_t larder_node_write_get(const larder_txn *txn, uint64_t tree, int32_t kind, int64_t write_id,
                              larder_node_write *write, larder_error *error) {
    larder_bytes value;
    int32_t status = check_read(txn, tree, kind, write, error);
    if (status != LARDER_OK) return status;
    if (write_id <= 0) return LARDER_NOT_FOUND;
    larder__key key = write_key(tree, kind, (uint64_t)write_id);
    status = larder__table_get(txn, LARDER__NODE_WRITES, larder__key_bytes(&key), &value, error);
    if (status != LARDER_OK) return status;
    return read_row(txn, larder__key_bytes(&key), value, tree, kind, write, error);
}

int32_t larder_node_write_next(const larder_txn *txn, uint64_t tree, int32_t kind, int64_t after,
                               larder_node_write *write, larder_error *error) {
    larder__cursor cursor;
    int32_t status = check_read(txn, tree, kind, write, error);
    if (status != LARDER_OK) return status;
    if (after == INT64_MAX) return LARDER_END;
    larder__key key = write_key(tree, kind, after < 0 ? 0 : (uint64_t)after + 1);
    status = larder__cursor_open(txn, LARDER__NODE_WRITES, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    if (status == LARDER_OK)
        status = read_row(txn, cursor.key, cursor.value, tree, kind, write, error);
    larder__cursor_close(&cursor);
    return status;
}

int32_t larder_node_write_remove(larder_txn *txn, uint64_t tree, int32_t kind, int64_t write_id,
                                 larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_kind(txn, tree, kind, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    if (write_id <= 0) return LARDER_NOT_FOUND;
    larder__key key = write_key(tree, kind, (uint64_t)write_id);
    return larder__table_remove(txn, LARDER__NODE_WRITES, larder__key_bytes(&key), error);
}

int32_t larder_node_write_highest_id(const larder_txn *txn, uint64_t tree, int64_t *write_id,
                                     larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = larder__tree_check(txn, tree, error);
    if (status != LARDER_OK) return status;
    if (write_id == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "write_id is NULL");
    larder__key key = highest_key(tree);
    return larder__table_get_count(txn, larder__key_bytes(&key), write_id, error);
}

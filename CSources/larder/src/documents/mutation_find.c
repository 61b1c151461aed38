/* mutation_find.c - which batches touch a document or a collection. */
#include "batch.h"
#include "store/catalog.h"

/* The prefix of the rows that say which of the user's batches touch a document; LARDER_END where
 * there are none. */
static int32_t touch_prefix(const larder_txn *txn, larder_bytes user, larder_bytes name,
                            larder__key *prefix, larder_error *error) {
    larder__id id;
    uint64_t number, collection;
    int32_t status = larder__name_find(txn, name, &collection, &id, error);
    if (status < 0) return status;
    int32_t user_status = larder__user_find(txn, user, &number, error);
    if (user_status < 0) return user_status;
    if (status != LARDER_OK || user_status != LARDER_OK) return LARDER_END;
    larder__mutation_touch_prefix(prefix, collection, &id);
    larder__key_number(prefix, number);
    return LARDER_OK;
}

/* The batch of the cursor's row; LARDER_END where it is behind those of the prefix. */
static int32_t read_touch(const larder_txn *txn, const larder__cursor *cursor,
                          const larder__key *prefix, int64_t *batch_id, larder_error *error) {
    if (!larder__bytes_has_prefix(cursor->key, larder__key_bytes(prefix))) return LARDER_END;
    const uint8_t *at = larder__begin(cursor->key) + prefix->size_bytes;
    const uint8_t *end = larder__begin(cursor->key) + cursor->key.size_bytes;
    uint64_t found;
    if (!larder__key_read_u64(&at, end, &found) || at != end || found > INT64_MAX)
        return larder__corrupt(txn, LARDER__MUTATION_DOCUMENTS, cursor->key, "malformed key",
                               error);
    *batch_id = (int64_t)found;
    return LARDER_OK;
}

int32_t larder_mutation_next_touching(const larder_txn *txn, larder_bytes user, larder_bytes name,
                                      int64_t after, int64_t *batch_id, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix, start;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!batch_id) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "batch_id is NULL");
    status = touch_prefix(txn, user, name, &prefix, error);
    if (status != LARDER_OK || after == INT64_MAX) return status == LARDER_OK ? LARDER_END : status;
    start = prefix;
    larder__key_u64(&start, after < 0 ? 0 : (uint64_t)after + 1);
    status = larder__cursor_open(txn, LARDER__MUTATION_DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&start), error);
    if (status == LARDER_OK) status = read_touch(txn, &cursor, &prefix, batch_id, error);
    larder__cursor_close(&cursor);
    return status;
}

int32_t larder_mutation_find_document(const larder_txn *txn, larder_bytes user, larder_bytes name,
                                      int64_t *ids, size_t capacity, size_t *id_count,
                                      larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix;
    int64_t id;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!id_count || !larder__is_room(ids, capacity))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "ids or id_count is NULL");
    status = touch_prefix(txn, user, name, &prefix, error);
    if (status < 0) return status;
    *id_count = 0;
    if (status == LARDER_END) return LARDER_OK;
    status = larder__cursor_open(txn, LARDER__MUTATION_DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    while (status == LARDER_OK &&
           (status = read_touch(txn, &cursor, &prefix, &id, error)) == LARDER_OK) {
        if (*id_count < capacity) ids[*id_count] = id;
        (*id_count)++;
        status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

static int compare_ids(const void *left, const void *right, const void *context) {
    (void)context;
    int64_t a = (int64_t)larder__load64(left), b = (int64_t)larder__load64(right);
    return a < b ? -1 : a > b;
}

/* Appends the ids of the user's batches that touch a document of the collection, in the order
 * of documents. */
static int32_t gather_ids(const larder_txn *txn, uint64_t user, uint64_t collection,
                          larder__buffer *found, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, collection);
    int32_t status = larder__cursor_open(txn, LARDER__MUTATION_DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix))) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        larder_bytes id;
        uint64_t row_user, batch_id;
        if (!larder__key_read_idz(&at, end, &id) || !larder__key_read_number(&at, end, &row_user) ||
            !larder__key_read_u64(&at, end, &batch_id))
            status = larder__corrupt(txn, LARDER__MUTATION_DOCUMENTS, cursor.key, "malformed key",
                                     error);
        else if (row_user == user && !larder__buffer_append(found, &batch_id, sizeof batch_id))
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for batch ids");
        else
            status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder_mutation_find_collection(const larder_txn *txn, larder_bytes user, larder_bytes path,
                                        int64_t *ids, size_t capacity, size_t *id_count,
                                        larder_error *error) {
    uint64_t number, collection;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!id_count || !larder__is_room(ids, capacity))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "ids or id_count is NULL");
    status = larder__collection_find(txn, path, &collection, error);
    if (status < 0) return status;
    int32_t user_status = larder__user_find(txn, user, &number, error);
    if (user_status < 0) return user_status;
    *id_count = 0;
    if (status != LARDER_OK || user_status != LARDER_OK) return LARDER_OK;
    larder__buffer found = {.allocator = &txn->env->allocator};
    status = gather_ids(txn, number, collection, &found, error);
    if (status == LARDER_OK) {
        size_t count = found.size_bytes / 8;
        larder__sort(found.data, count, 8, compare_ids, NULL);
        for (size_t i = 0; i < count; i++) {
            int64_t id = (int64_t)larder__load64(found.data + 8 * i);
            if (i > 0 && id == (int64_t)larder__load64(found.data + 8 * (i - 1))) continue;
            if (*id_count < capacity) ids[*id_count] = id;
            (*id_count)++;
        }
    }
    larder__buffer_free(&found);
    return status;
}

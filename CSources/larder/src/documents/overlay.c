/*
 * overlay.c - what users' pending writes make of documents.
 *
 * An overlay lies under (user number, collection number, id):
 *
 *   0      crc32c over the key and bytes 4 to the row (4, little-endian)
 *   4      largest batch id (8, little-endian)
 *   12     payload size varint | payload
 *          row (row.h), bound to the overlay's key: found or absent, version and read time
 *          {0,0}, epoch 0
 *
 * An empty row in overlay_batches under (user number, batch id, collection number, id) mirrors
 * each one. Found views have entries in the user's indexes (index.c) and count as users of
 * their dictionary. Overlays have no place in the LRU log: they go with their batches.
 */
#include "overlay.h"
#include "store/catalog.h"

enum { BATCH_AT = 4, PAYLOAD_AT = 12 };

void larder__overlay_key(larder__key *key, uint64_t user, uint64_t collection, larder_bytes id) {
    larder__key_clear(key);
    larder__key_number(key, user);
    larder__key_number(key, collection);
    larder__key_id(key, id);
}

static void batch_key(larder__key *key, uint64_t user, int64_t batch_id, uint64_t collection,
                      larder_bytes id) {
    larder__key_clear(key);
    larder__key_number(key, user);
    larder__key_u64(key, (uint64_t)batch_id);
    larder__key_number(key, collection);
    larder__key_id(key, id);
}

/* ---- read ---- */

int32_t larder__overlay_view(const larder_txn *txn, larder_bytes key, larder_bytes value,
                             larder_document *view, larder_bytes *payload, larder_error *error) {
    const uint8_t *begin = value.data, *end = begin + value.size_bytes;
    uint64_t size;
    size_t n =
        value.size_bytes > PAYLOAD_AT ? larder__varint_get(begin + PAYLOAD_AT, end, &size) : 0;
    const uint8_t *at = begin + PAYLOAD_AT + n;
    if (n == 0 || size > (uint64_t)(end - at))
        return larder__corrupt(txn, LARDER__OVERLAYS, key, "overlay cut short", error);
    const uint8_t *row = at + size;
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    crc = larder__crc32c(crc, begin + BATCH_AT, (size_t)(row - begin) - BATCH_AT);
    if (crc != larder__load32(begin))
        return larder__corrupt(txn, LARDER__OVERLAYS, key, "wrong checksum of an overlay", error);
    int32_t status = larder__row_read(txn, LARDER__OVERLAYS, key,
                                      larder__bytes(row, (size_t)(end - row)), view, error);
    if (status != LARDER_OK) return status;
    static const larder_time none = {0, 0, 0};
    view->flags |= LARDER_DOCUMENT_LOCAL_MUTATIONS;
    view->version = none;
    view->create_time = none;
    view->read_time = none;
    view->batch_id = (int64_t)larder__load64(begin + BATCH_AT);
    view->stored_bytes = (int64_t)value.size_bytes;
    if (payload) *payload = larder__bytes(at, (size_t)size);
    return LARDER_OK;
}

static int32_t read_overlay(const larder_txn *txn, uint64_t user, uint64_t collection,
                            larder_bytes id, larder_document *view, larder_bytes *payload,
                            larder_error *error) {
    larder__key key;
    larder_bytes value;
    larder__overlay_key(&key, user, collection, id);
    int32_t status =
        larder__table_get(txn, LARDER__OVERLAYS, larder__key_bytes(&key), &value, error);
    if (status != LARDER_OK) return status;
    return larder__overlay_view(txn, larder__key_bytes(&key), value, view, payload, error);
}

int32_t larder__overlay_read(const larder_txn *txn, uint64_t user, uint64_t collection,
                             larder_bytes id_key_form, larder_document *view, larder_error *error) {
    return read_overlay(txn, user, collection, id_key_form, view, NULL, error);
}

/* The numbers of a user and a name: OK, NOT_FOUND. */
static int32_t find(const larder_txn *txn, larder_bytes user, larder_bytes name,
                    uint64_t *user_number, uint64_t *collection, larder__id *id,
                    larder_error *error) {
    int32_t status = larder__name_find(txn, name, collection, id, error);
    if (status < 0) return status;
    int32_t user_status = larder__user_find(txn, user, user_number, error);
    return user_status != LARDER_OK ? user_status : status;
}

int32_t larder_overlay_get(const larder_txn *txn, larder_bytes user, larder_bytes name,
                           larder_document *view, larder_bytes *payload, larder_error *error) {
    larder__id id;
    uint64_t number, collection;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!view) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "view is NULL");
    status = find(txn, user, name, &number, &collection, &id, error);
    if (status != LARDER_OK) return status;
    status = read_overlay(txn, number, collection, larder__id_bytes(&id), view, payload, error);
    if (status == LARDER_OK) larder__name_split(name, &view->collection, &view->id);
    return status;
}

/* ---- write ---- */

/* Copies the overlay under key to txn->old, so that it outlives writes, and looks at it. */
static int32_t hold_old(larder_txn *txn, larder_bytes key, larder_document *old,
                        larder_error *error) {
    larder_bytes value;
    int32_t status = larder__table_get(txn, LARDER__OVERLAYS, key, &value, error);
    if (status != LARDER_OK) return status;
    txn->old.size_bytes = 0;
    if (!larder__buffer_append(&txn->old, value.data, value.size_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the overlay before");
    value = larder__bytes(txn->old.data, txn->old.size_bytes);
    return larder__overlay_view(txn, key, value, old, NULL, error);
}

static const larder_record *found_record(const larder_document *document) {
    return document->state == LARDER_DOCUMENT_FOUND ? &document->record : NULL;
}

static int32_t count_dictionaries(larder_txn *txn, const larder_record *old_record,
                                  const larder_record *new_record, larder_error *error) {
    uint32_t before = old_record ? old_record->dictionary : 0;
    uint32_t after = new_record ? new_record->dictionary : 0;
    if (before == after) return LARDER_OK;
    int32_t status = before != 0 ? larder__dictionary_count(txn, before, -1, error) : LARDER_OK;
    if (status == LARDER_OK && after != 0) status = larder__dictionary_count(txn, after, 1, error);
    return status;
}

/* Where an overlay is put, and its bytes: the name, then from value_at on the row's value. */
typedef struct placement {
    uint64_t user, collection;
    larder__id id;
    int64_t batch_id;
    larder__buffer held;
    size_t value_at;
} placement;

/* Copies what the caller gave, because it may be borrowed from this transaction. */
static bool hold_input(placement *put, larder_bytes name, larder_bytes payload) {
    uint8_t head[PAYLOAD_AT + LARDER__VARINT_MAX] = {0};
    larder__store64(head + BATCH_AT, (uint64_t)put->batch_id);
    size_t n = larder__varint_put(head + PAYLOAD_AT, payload.size_bytes);
    put->value_at = name.size_bytes;
    return larder__buffer_append(&put->held, name.data, name.size_bytes) &&
           larder__buffer_append(&put->held, head, PAYLOAD_AT + n) &&
           larder__buffer_append(&put->held, payload.data, payload.size_bytes);
}

/* Finishes the value with the row in txn->row. */
static bool seal_value(larder_txn *txn, placement *put, larder_bytes key) {
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    uint8_t *value = put->held.data + put->value_at;
    size_t head_bytes = put->held.size_bytes - put->value_at;
    crc = larder__crc32c(crc, value + BATCH_AT, head_bytes - BATCH_AT);
    larder__store32(value, crc);
    return larder__buffer_append(&put->held, txn->row.data, txn->row.size_bytes);
}

/* Writes the overlay whose row is in txn->row. old: what it replaces, or NULL. */
static int32_t put_rows(larder_txn *txn, placement *put, larder_bytes key,
                        const larder_document *old, const larder_record *record,
                        larder_error *error) {
    larder_bytes id = larder__id_bytes(&put->id);
    const larder_record *old_record = old ? found_record(old) : NULL;
    larder__key mirror;
    if (!seal_value(txn, put, key))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an overlay");
    int32_t status = larder__index_update_overlay(txn, put->user, put->collection, id, old_record,
                                                  record, error);
    if (status != LARDER_OK) return status;
    larder_bytes value =
        larder__bytes(put->held.data + put->value_at, put->held.size_bytes - put->value_at);
    status = larder__table_put(txn, LARDER__OVERLAYS, key, value, error);
    if (status != LARDER_OK) return status;
    if (old && old->batch_id != put->batch_id) {
        batch_key(&mirror, put->user, old->batch_id, put->collection, id);
        status =
            larder__table_remove(txn, LARDER__OVERLAY_BATCHES, larder__key_bytes(&mirror), error);
        if (status < 0) return status;
    }
    if (!old || old->batch_id != put->batch_id) {
        batch_key(&mirror, put->user, put->batch_id, put->collection, id);
        status = larder__table_put(txn, LARDER__OVERLAY_BATCHES, larder__key_bytes(&mirror),
                                   larder__bytes(NULL, 0), error);
        if (status != LARDER_OK) return status;
    }
    return count_dictionaries(txn, old_record, record, error);
}

/* Forgets names that no row mentions. */
static int32_t release(larder_txn *txn, uint64_t collection, larder_bytes id, larder_error *error) {
    int32_t status = larder__id_release(txn, collection, id, error);
    return status < 0 ? status : larder__collection_release(txn, collection, error);
}

static int32_t put_overlay(larder_txn *txn, placement *put, larder_bytes user, larder_bytes plain,
                           larder_error *error) {
    larder_bytes name = larder__bytes(put->held.data, put->value_at);
    larder_document_info info;
    larder_document old;
    larder_record record;
    larder__key key;
    int64_t raw_bytes;
    int32_t status = larder__user_obtain(txn, user, &put->user, error);
    if (status == LARDER_OK)
        status = larder__name_obtain(txn, name, &put->collection, &put->id, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    larder_bytes id = larder__id_bytes(&put->id);
    larder__overlay_key(&key, put->user, put->collection, id);
    larder_document_info_init(&info, sizeof info);
    info.state = plain.size_bytes > 0 ? LARDER_DOCUMENT_FOUND : LARDER_DOCUMENT_ABSENT;
    status = larder__row_build(txn, larder__key_bytes(&key), &info, plain, 0, &record, &raw_bytes,
                               error);
    bool is_new = false;
    if (status == LARDER_OK) {
        status = hold_old(txn, larder__key_bytes(&key), &old, error);
        is_new = status == LARDER_NOT_FOUND;
    }
    if (status < 0) {
        /* A record that was refused must leave no name behind. */
        if (release(txn, put->collection, id, NULL) < 0) txn->failed = true;
        return larder__txn_note(txn, status);
    }
    bool is_found = info.state == LARDER_DOCUMENT_FOUND;
    status = put_rows(txn, put, larder__key_bytes(&key), is_new ? NULL : &old,
                      is_found ? &record : NULL, error);
    return larder__txn_note_partial(txn, status);
}

int32_t larder_overlay_put(larder_txn *txn, larder_bytes user, larder_bytes name,
                           int64_t largest_batch_id, larder_bytes plain, larder_bytes payload,
                           larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (largest_batch_id <= 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "batch ids are above 0");
    if (!larder__is_input(plain) || !larder__is_input(payload))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "plain or payload is NULL");
    if (payload.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE, "the payload has %zu bytes; %d are allowed",
                            payload.size_bytes, LARDER_PAYLOAD_MAX_BYTES);
    status = larder__path_check(name, 0, error);
    if (status != LARDER_OK) return status;
    placement put = {.batch_id = largest_batch_id, .held = {.allocator = &txn->env->allocator}};
    if (hold_input(&put, name, payload))
        status = put_overlay(txn, &put, user, plain, error);
    else
        status = larder__txn_note(
            txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an overlay"));
    larder__buffer_free(&put.held);
    return status;
}

/* Removes one overlay with all that goes with it. id must not lie in the environment. */
static int32_t remove_overlay(larder_txn *txn, uint64_t user, uint64_t collection, larder_bytes id,
                              larder_error *error) {
    larder__key key;
    larder_document old;
    larder__overlay_key(&key, user, collection, id);
    int32_t status = hold_old(txn, larder__key_bytes(&key), &old, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status =
        larder__index_update_overlay(txn, user, collection, id, found_record(&old), NULL, error);
    if (status == LARDER_OK)
        status = larder__table_remove(txn, LARDER__OVERLAYS, larder__key_bytes(&key), error);
    if (status == LARDER_OK) {
        batch_key(&key, user, old.batch_id, collection, id);
        status = larder__table_remove(txn, LARDER__OVERLAY_BATCHES, larder__key_bytes(&key), error);
    }
    if (status >= 0) status = count_dictionaries(txn, found_record(&old), NULL, error);
    if (status == LARDER_OK) status = release(txn, collection, id, error);
    return larder__txn_note_partial(txn, status < 0 ? status : LARDER_OK);
}

int32_t larder_overlay_remove(larder_txn *txn, larder_bytes user, larder_bytes name,
                              larder_error *error) {
    larder__id id;
    uint64_t number, collection;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    status = find(txn, user, name, &number, &collection, &id, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    return remove_overlay(txn, number, collection, larder__id_bytes(&id), error);
}

/* The first overlay saved under the batch: OK, NOT_FOUND. */
static int32_t first_of_batch(const larder_txn *txn, larder_bytes prefix, uint64_t *collection,
                              larder__id *id, larder_error *error) {
    larder__cursor cursor = {0};
    int32_t status = larder__cursor_open(txn, LARDER__OVERLAY_BATCHES, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, prefix, error);
    if (status == LARDER_END ||
        (status == LARDER_OK && !larder__bytes_has_prefix(cursor.key, prefix)))
        status = LARDER_NOT_FOUND;
    if (status == LARDER_OK) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        if (larder__key_read_number(&at, end, collection) && at < end &&
            end - at <= LARDER__ID_MAX) {
            id->size_bytes = (uint8_t)(end - at);
            memcpy(id->bytes, at, id->size_bytes);
        } else {
            status =
                larder__corrupt(txn, LARDER__OVERLAY_BATCHES, cursor.key, "malformed key", error);
        }
    }
    larder__cursor_close(&cursor);
    return status;
}

int32_t larder_overlay_remove_batch(larder_txn *txn, larder_bytes user, int64_t batch_id,
                                    int64_t *removed_count, larder_error *error) {
    larder__key prefix;
    uint64_t number;
    int64_t removed = 0;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    status = larder__user_find(txn, user, &number, error);
    if (status < 0) return larder__txn_note(txn, status);
    if (removed_count) *removed_count = 0;
    if (status == LARDER_NOT_FOUND || batch_id <= 0) return LARDER_OK;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, number);
    larder__key_u64(&prefix, (uint64_t)batch_id);
    for (;;) {
        uint64_t collection;
        larder__id id;
        status = first_of_batch(txn, larder__key_bytes(&prefix), &collection, &id, error);
        if (status != LARDER_OK) break;
        status = remove_overlay(txn, number, collection, larder__id_bytes(&id), error);
        if (status == LARDER_NOT_FOUND)
            status = larder__corrupt(txn, LARDER__OVERLAY_BATCHES, larder__key_bytes(&prefix),
                                     "a batch mentions an overlay that is not there", error);
        if (status != LARDER_OK) break;
        removed++;
    }
    if (status == LARDER_NOT_FOUND) {
        if (removed_count) *removed_count = removed;
        return LARDER_OK;
    }
    return removed > 0 ? larder__txn_note_partial(txn, status) : larder__txn_note(txn, status);
}

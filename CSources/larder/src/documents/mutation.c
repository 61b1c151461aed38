/*
 * mutation.c - the users' queues of mutation batches.
 *
 * A batch lies under (user number, batch id); batch.h has its bytes. Beside it: an empty row in
 * mutation_documents for each document that it touches, and in the catalog the number of batches
 * in each user's queue (8 bytes, sealed), no row for an empty queue. A user without anything
 * keeps its number.
 */
#include "batch.h"
#include "store/catalog.h"

enum { ERROR_MAX_BYTES = 1024 };

static void batch_key(larder__key *key, uint64_t user, int64_t batch_id) {
    larder__key_clear(key);
    larder__key_number(key, user);
    larder__key_u64(key, (uint64_t)batch_id);
}

static void queue_key(larder__key *key, uint64_t user) {
    larder__key_clear(key);
    larder__key_byte(key, LARDER__KIND_QUEUE);
    larder__key_number(key, user);
}

void larder__mutation_touch_prefix(larder__key *key, uint64_t collection, const larder__id *id) {
    larder__key_clear(key);
    larder__key_number(key, collection);
    larder__key_idz(key, larder__id_bytes(id));
}

/* ---- queues ---- */

static int32_t queue_count(const larder_txn *txn, uint64_t user, int64_t *count,
                           larder_error *error) {
    larder__key key;
    queue_key(&key, user);
    return larder__table_get_count(txn, larder__key_bytes(&key), count, error);
}

static int32_t set_queue_count(larder_txn *txn, uint64_t user, int64_t count, larder_error *error) {
    larder__key key;
    queue_key(&key, user);
    return larder__table_put_count(txn, larder__key_bytes(&key), count, error);
}

int32_t larder_mutation_count(const larder_txn *txn, larder_bytes user, int64_t *count,
                              larder_error *error) {
    uint64_t number;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!count) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "count is NULL");
    status = larder__user_find(txn, user, &number, error);
    if (status < 0) return status;
    *count = 0;
    return status == LARDER_OK ? queue_count(txn, number, count, error) : LARDER_OK;
}

/* Users with a number lie in the catalog in text order; most have a queue. */
int32_t larder_mutation_next_user(const larder_txn *txn, const larder_bytes *after,
                                  larder_bytes *user, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key key;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!user || (after && !larder__is_input(*after)))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "user or after is NULL");
    if (after && after->size_bytes > LARDER_USER_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a user has at most %d bytes",
                            LARDER_USER_MAX_BYTES);
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_USER);
    if (after) {
        larder__key_append(&key, after->data, after->size_bytes);
        larder__key_byte(&key, 0);
    }
    status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    while (status == LARDER_OK) {
        const uint8_t *bytes = larder__begin(cursor.key);
        uint64_t number;
        int64_t count;
        if (bytes[0] != LARDER__KIND_USER) {
            status = LARDER_END;
            break;
        }
        larder_bytes text = larder__bytes(bytes + 1, cursor.key.size_bytes - 1);
        status = larder__user_find(txn, text, &number, error);
        if (status == LARDER_NOT_FOUND)
            status =
                larder__corrupt(txn, LARDER__CATALOG, cursor.key, "user without a number", error);
        if (status != LARDER_OK) break;
        status = queue_count(txn, number, &count, error);
        if (status != LARDER_OK) break;
        if (count > 0) {
            *user = text;
            break;
        }
        status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status;
}

/* ---- append ---- */

static int32_t check_append(larder_time local_write_time, const larder_mutation_document *documents,
                            size_t document_count, larder_bytes payload, const int64_t *batch_id,
                            larder_error *error) {
    if (!batch_id || !larder__is_input(payload) ||
        !larder__is_array(documents, document_count, sizeof *documents))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "batch_id, documents or payload is NULL or too long");
    if (!larder__time_is_valid(local_write_time))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the local write time is no time");
    if (payload.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE, "the payload has %zu bytes; %d are allowed",
                            payload.size_bytes, LARDER_PAYLOAD_MAX_BYTES);
    size_t total = 0;
    for (size_t i = 0; i < document_count; i++) {
        int32_t status = larder__name_check_new(documents[i].name, error);
        if (status != LARDER_OK) return status;
        if (!larder__time_is_valid(documents[i].base_version))
            return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                "the base version of document %zu is no time", i);
        total += larder__batch_document_bytes(&documents[i]);
        if (total > LARDER_PAYLOAD_MAX_BYTES)
            return larder__fail(error, LARDER_E_TOO_LARGE,
                                "the batch's documents take more than %d bytes",
                                LARDER_PAYLOAD_MAX_BYTES);
    }
    return LARDER_OK;
}

/* Writes the batch, whose bytes are in txn->row, and what goes with it. */
static int32_t append_rows(larder_txn *txn, uint64_t user, int64_t batch_id, larder_error *error) {
    larder_bytes row = larder__bytes(txn->row.data, txn->row.size_bytes);
    larder_batch batch;
    larder__key key;
    int64_t count;
    if (!larder__batch_parse(row, batch_id, &batch))
        return larder__fail(error, LARDER_E_CORRUPT, "the batch that was built is malformed");
    int32_t status = queue_count(txn, user, &count, error);
    if (status != LARDER_OK) return status;
    for (uint32_t i = 0; i < batch.document_count; i++) {
        larder_mutation_document document;
        uint64_t collection;
        larder__id id;
        status = larder_batch_get_document(&batch, i, &document);
        if (status != LARDER_OK) return status;
        status = larder__name_obtain(txn, document.name, &collection, &id, error);
        if (status != LARDER_OK) return status;
        larder__mutation_touch_prefix(&key, collection, &id);
        larder__key_number(&key, user);
        larder__key_u64(&key, (uint64_t)batch_id);
        status = larder__table_put(txn, LARDER__MUTATION_DOCUMENTS, larder__key_bytes(&key),
                                   larder__bytes(NULL, 0), error);
        if (status != LARDER_OK) return status;
    }
    batch_key(&key, user, batch_id);
    status =
        larder__table_put_sealed(txn, LARDER__MUTATIONS, larder__key_bytes(&key), &row, 1, error);
    if (status != LARDER_OK) return status;
    status = set_queue_count(txn, user, count + 1, error);
    if (status != LARDER_OK) return status;
    txn->counters.next_batch_id = batch_id + 1;
    txn->counters.pending_batch_count++;
    txn->changed = true;
    return LARDER_OK;
}

int32_t larder_mutation_append(larder_txn *txn, larder_bytes user, larder_time local_write_time,
                               const larder_mutation_document *documents, size_t document_count,
                               larder_bytes payload, int64_t *batch_id, larder_error *error) {
    const larder__counters *counters;
    uint64_t number;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    status = check_append(local_write_time, documents, document_count, payload, batch_id, error);
    if (status != LARDER_OK) return status;
    status = larder__txn_counters(txn, &counters, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    int64_t id = counters->next_batch_id < 1 ? 1 : counters->next_batch_id;
    /* The whole row comes first: names and payload may be borrowed from this transaction. */
    larder_batch batch = {.local_write_time = local_write_time, .payload = payload};
    txn->row.size_bytes = 0;
    if (!larder__batch_append(&txn->row, &batch) ||
        !larder__batch_append_documents(&txn->row, documents, document_count))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a batch"));
    status = larder__user_obtain(txn, user, &number, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = append_rows(txn, number, id, error);
    if (status == LARDER_OK) *batch_id = id;
    return larder__txn_note_partial(txn, status);
}

int32_t larder__mutation_restore(larder_txn *txn, larder_bytes user, const larder_batch *batch,
                                 larder_error *error) {
    uint64_t number;
    int64_t next = txn->counters.next_batch_id;
    txn->row.size_bytes = 0;
    if (!larder__batch_append(&txn->row, batch) ||
        !larder__buffer_append(&txn->row, batch->documents.data, batch->documents.size_bytes))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a batch"));
    int32_t status = larder__user_obtain(txn, user, &number, error);
    if (status == LARDER_OK) status = append_rows(txn, number, batch->batch_id, error);
    if (status == LARDER_OK && next > txn->counters.next_batch_id)
        txn->counters.next_batch_id = next;
    return larder__txn_note_partial(txn, status);
}

/* ---- read ---- */

static int32_t read_batch(const larder_txn *txn, uint64_t user, int64_t batch_id,
                          larder_batch *batch, larder_error *error) {
    larder__key key;
    larder_bytes row;
    batch_key(&key, user, batch_id);
    int32_t status =
        larder__table_get_sealed(txn, LARDER__MUTATIONS, larder__key_bytes(&key), &row, error);
    if (status != LARDER_OK) return status;
    if (!larder__batch_parse(row, batch_id, batch))
        return larder__corrupt(txn, LARDER__MUTATIONS, larder__key_bytes(&key), "malformed batch",
                               error);
    return LARDER_OK;
}

int32_t larder_mutation_get(const larder_txn *txn, larder_bytes user, int64_t batch_id,
                            larder_batch *batch, larder_error *error) {
    uint64_t number;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!batch) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "batch is NULL");
    status = larder__user_find(txn, user, &number, error);
    if (status != LARDER_OK) return status;
    return batch_id > 0 ? read_batch(txn, number, batch_id, batch, error) : LARDER_NOT_FOUND;
}

int32_t larder_mutation_next(const larder_txn *txn, larder_bytes user, int64_t after,
                             larder_batch *batch, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key key, prefix;
    uint64_t number, batch_id;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!batch) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "batch is NULL");
    status = larder__user_find(txn, user, &number, error);
    if (status == LARDER_NOT_FOUND || (status == LARDER_OK && after == INT64_MAX))
        return LARDER_END;
    if (status != LARDER_OK) return status;
    batch_key(&key, number, after < 0 ? 0 : after + 1);
    larder__key_clear(&prefix);
    larder__key_number(&prefix, number);
    status = larder__cursor_open(txn, LARDER__MUTATIONS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    if (status == LARDER_OK && !larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix)))
        status = LARDER_END;
    if (status == LARDER_OK) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        larder_bytes row;
        if (!larder__key_read_u64(&at, end, &batch_id) || at != end || batch_id > INT64_MAX) {
            status = larder__corrupt(txn, LARDER__MUTATIONS, cursor.key, "malformed key", error);
        } else {
            /* Also of a damaged batch, so that a caller can go on behind it. */
            batch->batch_id = (int64_t)batch_id;
            status = larder__unseal(txn, LARDER__MUTATIONS, cursor.key, cursor.value, &row, error);
            if (status == LARDER_OK && !larder__batch_parse(row, (int64_t)batch_id, batch))
                status =
                    larder__corrupt(txn, LARDER__MUTATIONS, cursor.key, "malformed batch", error);
        }
    }
    larder__cursor_close(&cursor);
    return status;
}

/* ---- remove, attempts ---- */

/* Removes a batch's mention of one document. */
static int32_t remove_mention(larder_txn *txn, uint64_t user, int64_t batch_id, larder_bytes name,
                              larder_error *error) {
    uint64_t collection;
    larder__id id;
    larder__key key;
    int32_t status = larder__name_find(txn, name, &collection, &id, error);
    if (status != LARDER_OK) return status;
    larder__mutation_touch_prefix(&key, collection, &id);
    larder__key_number(&key, user);
    larder__key_u64(&key, (uint64_t)batch_id);
    status = larder__table_remove(txn, LARDER__MUTATION_DOCUMENTS, larder__key_bytes(&key), error);
    if (status != LARDER_OK) return status;
    status = larder__id_release(txn, collection, larder__id_bytes(&id), error);
    return status < 0 ? status : larder__collection_release(txn, collection, error);
}

/* batch lies in txn->row. */
static int32_t remove_rows(larder_txn *txn, uint64_t user, const larder_batch *batch,
                           larder_error *error) {
    larder__key key;
    int64_t count;
    int32_t status = queue_count(txn, user, &count, error);
    if (status != LARDER_OK) return status;
    batch_key(&key, user, batch->batch_id);
    status = larder__table_remove(txn, LARDER__MUTATIONS, larder__key_bytes(&key), error);
    if (status != LARDER_OK) return status;
    for (uint32_t i = 0; i < batch->document_count; i++) {
        larder_mutation_document document;
        status = larder_batch_get_document(batch, i, &document);
        if (status < 0)
            return larder__corrupt(txn, LARDER__MUTATIONS, larder__key_bytes(&key),
                                   "malformed documents", error);
        /* NOT_FOUND: the batch names the document twice. */
        status = remove_mention(txn, user, batch->batch_id, document.name, error);
        if (status < 0) return status;
    }
    status = set_queue_count(txn, user, count - 1, error);
    if (status != LARDER_OK) return status;
    txn->counters.pending_batch_count--;
    txn->changed = true;
    return LARDER_OK;
}

int32_t larder_mutation_remove(larder_txn *txn, larder_bytes user, int64_t batch_id,
                               larder_error *error) {
    const larder__counters *counters;
    larder_batch batch;
    uint64_t number;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    status = larder__user_find(txn, user, &number, error);
    if (status == LARDER_OK)
        status = batch_id > 0 ? read_batch(txn, number, batch_id, &batch, error) : LARDER_NOT_FOUND;
    if (status == LARDER_OK) status = larder__txn_counters(txn, &counters, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    txn->row.size_bytes = 0;
    if (!larder__buffer_append(&txn->row, batch.documents.data, batch.documents.size_bytes))
        return larder__txn_note(
            txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a batch's documents"));
    batch.documents.data = txn->row.data;
    return larder__txn_note_partial(txn, remove_rows(txn, number, &batch, error));
}

/* At most ERROR_MAX_BYTES of text, cut between characters. */
static larder_bytes cut_text(larder_bytes text) {
    size_t size = text.size_bytes;
    if (size > ERROR_MAX_BYTES) {
        size = ERROR_MAX_BYTES;
        for (int i = 0; i < 3 && (larder__begin(text)[size] & 0xc0) == 0x80; i++)
            size--;
    }
    return larder__bytes(text.data, size);
}

int32_t larder_mutation_record_attempt(larder_txn *txn, larder_bytes user, int64_t batch_id,
                                       larder_time when, larder_bytes error_text,
                                       larder_error *error) {
    larder__key key;
    larder_batch batch;
    uint64_t number;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (!larder__is_input(error_text))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the error text is NULL");
    error_text = cut_text(error_text);
    if (!larder__utf8_is_valid(error_text))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the error text is not UTF-8");
    if (!larder__time_is_valid(when))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the attempt's time is no time");
    status = larder__user_find(txn, user, &number, error);
    if (status == LARDER_OK)
        status = batch_id > 0 ? read_batch(txn, number, batch_id, &batch, error) : LARDER_NOT_FOUND;
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    if (batch.attempt_count < UINT32_MAX) batch.attempt_count++;
    batch.last_attempt = when;
    batch.last_error = error_text;
    txn->row.size_bytes = 0;
    if (!larder__batch_append(&txn->row, &batch) ||
        !larder__buffer_append(&txn->row, batch.documents.data, batch.documents.size_bytes))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a batch"));
    larder_bytes row = larder__bytes(txn->row.data, txn->row.size_bytes);
    batch_key(&key, number, batch_id);
    status =
        larder__table_put_sealed(txn, LARDER__MUTATIONS, larder__key_bytes(&key), &row, 1, error);
    return larder__txn_note_partial(txn, status);
}

/*
 * document.c - documents: put, get, remove, and what changes along with a row.
 *
 * A put touches, in this order: the collection's number, the row's bytes, index entries, the
 * read-time row, the document row, counters, the LRU log. Everything that can be refused is
 * refused before the first of them but the number of a new collection, which is released again.
 */
#include "documents.h"
#include "store/catalog.h"
#include "store/lru.h"
#include "store/row.h"

void larder_document_info_init(larder_document_info *info, size_t struct_bytes) {
    if (info == NULL) return;
    larder_document_info defaults = {.struct_bytes = struct_bytes, .state = LARDER_DOCUMENT_FOUND};
    larder__struct_init(info, struct_bytes, &defaults, sizeof defaults);
}

static larder__key read_time_key(uint64_t collection, larder_time time, larder_bytes id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, collection);
    larder__key_time(&key, time);
    larder__key_id(&key, id);
    return key;
}

/* ---- counting ---- */

/* Adds (sign 1) or takes away (-1) what a document counts, its row apart. */
static int32_t count(larder_txn *txn, uint64_t collection, larder_bytes key,
                     const larder_document *document, int64_t raw_bytes, int64_t sign,
                     larder_error *error) {
    bool is_found = document->state == LARDER_DOCUMENT_FOUND;
    larder__counters *c = &txn->counters;
    if (is_found) {
        c->found_count += sign;
        c->raw_record_bytes += sign * raw_bytes;
        c->stored_record_bytes += sign * document->stored_bytes;
    } else {
        c->absent_count += sign;
    }
    int64_t cost = larder__row_cost(key.size_bytes, (size_t)document->stored_bytes);
    int32_t status =
        larder__collection_count(txn, collection, is_found ? sign : 0, sign * cost, error);
    if (status == LARDER_OK && document->record.dictionary != 0)
        status = larder__dictionary_count(txn, document->record.dictionary, sign, error);
    return status;
}

/* The row there is, copied into txn->old, so that later writes do not move it. NOT_FOUND. Of a
 * damaged row (E_CORRUPT, without a message) the document is one whose record is damaged. */
static int32_t read_old(larder_txn *txn, larder_bytes key, larder_document *document,
                        larder_error *error) {
    larder_bytes row;
    memset(document, 0, sizeof *document);
    int32_t status = larder__table_get(txn, LARDER__DOCUMENTS, key, &row, error);
    if (status != LARDER_OK) return status;
    txn->old.size_bytes = 0;
    if (!larder__buffer_append(&txn->old, row.data, row.size_bytes))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row"));
    larder_error failure;
    status =
        larder__row_read(txn, LARDER__DOCUMENTS, key,
                         larder__bytes(txn->old.data, txn->old.size_bytes), document, &failure);
    if (status < 0 && status != LARDER_E_CORRUPT && error != NULL) *error = failure;
    if (status != LARDER_E_CORRUPT) return status;
    memset(document, 0, sizeof *document);
    document->state = LARDER_DOCUMENT_FOUND; /* for all we know: it may have index entries */
    document->record.flags = LARDER__RECORD_DAMAGED;
    return status;
}

static bool is_damaged(const larder_document *document) {
    return (document->record.flags & LARDER__RECORD_DAMAGED) != 0;
}

static uint32_t old_epoch(const larder_txn *txn) {
    return larder__load32(txn->old.data + LARDER__ROW_EPOCH_AT);
}

/* ---- put ---- */

static bool is_same_time(larder_time a, larder_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

static int32_t check_info(const larder_document_info *info, larder_bytes plain,
                          larder_error *error) {
    if (info == NULL || info->struct_bytes < sizeof *info)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "info is NULL or not initialised by larder_document_info_init");
    if (info->state < LARDER_DOCUMENT_FOUND || info->state > LARDER_DOCUMENT_UNKNOWN)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a document of state %d",
                            info->state);
    if ((info->flags & ~(uint32_t)LARDER_DOCUMENT_COMMITTED_MUTATIONS) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown document flags 0x%x",
                            info->flags);
    if (!larder__time_is_valid(info->version) || !larder__time_is_valid(info->create_time) ||
        !larder__time_is_valid(info->read_time))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a time outside the years 0001 to 9999, or nanoseconds outside "
                            "0..999999999");
    if (info->state != LARDER_DOCUMENT_FOUND && plain.size_bytes > 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "only a found document has a record");
    return LARDER_OK;
}

static int32_t move_read_time(larder_txn *txn, uint64_t collection, larder_bytes id,
                              const larder_document *old, bool has_old, larder_time read_time,
                              larder_error *error) {
    if (has_old && is_damaged(old)) {
        int32_t status = larder__read_time_forget(txn, collection, id, error);
        if (status != LARDER_OK) return status;
    } else if (has_old) {
        if (is_same_time(old->read_time, read_time)) return LARDER_OK;
        larder__key key = read_time_key(collection, old->read_time, id);
        int32_t status =
            larder__table_remove(txn, LARDER__READ_TIMES, larder__key_bytes(&key), error);
        if (status < 0) return status;
    }
    larder__key key = read_time_key(collection, read_time, id);
    return larder__table_put(txn, LARDER__READ_TIMES, larder__key_bytes(&key), larder__bytes("", 0),
                             error);
}

/* Everything behind the checks. The row lies in txn->row, the old one in txn->old. */
static int32_t store(larder_txn *txn, uint64_t collection, larder_bytes id, larder_bytes key,
                     const larder_document *old, bool has_old, larder_document *new_document,
                     int64_t raw_bytes, uint32_t epoch, larder_error *error) {
    int32_t status = LARDER_OK;
    const larder_record *old_record =
        has_old && old->state == LARDER_DOCUMENT_FOUND ? &old->record : NULL;
    const larder_record *new_record =
        new_document->state == LARDER_DOCUMENT_FOUND ? &new_document->record : NULL;
    if (old_record != NULL || new_record != NULL)
        status = larder__index_update(txn, collection, id, old_record, new_record, error);
    if (status == LARDER_OK)
        status = move_read_time(txn, collection, id, old, has_old, new_document->read_time, error);
    if (status == LARDER_OK)
        status = larder__table_put(txn, LARDER__DOCUMENTS, key,
                                   larder__bytes(txn->row.data, txn->row.size_bytes), error);
    bool was_damaged = has_old && is_damaged(old);
    if (status == LARDER_OK && has_old && !was_damaged)
        status = count(txn, collection, key, old,
                       old_record == NULL ? 0 : larder__row_raw_bytes(old_record), -1, error);
    if (status == LARDER_OK)
        status = was_damaged ? larder__document_recount(txn, collection, error)
                             : count(txn, collection, key, new_document, raw_bytes, 1, error);
    if (status == LARDER_OK)
        status = larder__lru_note(txn, LARDER__LRU_DOCUMENT, collection, id,
                                  has_old && !was_damaged && old_epoch(txn) == epoch,
                                  larder__row_cost(key.size_bytes, txn->row.size_bytes), error);
    return status;
}

static int32_t put(larder_txn *txn, uint64_t collection, const larder__id *id,
                   const larder_document_info *info, larder_bytes plain, larder_error *error) {
    larder__key key = larder__document_key(collection, larder__id_bytes(id));
    uint32_t epoch = larder__lru_epoch(txn);
    larder_document old, new_document = {.state = info->state,
                                         .version = info->version,
                                         .create_time = info->create_time,
                                         .read_time = info->read_time};
    int64_t raw_bytes;
    int32_t status = larder__row_build(txn, larder__key_bytes(&key), info, plain, epoch,
                                       &new_document.record, &raw_bytes, error);
    if (status != LARDER_OK) return status;
    new_document.stored_bytes = (int64_t)txn->row.size_bytes;
    status = read_old(txn, larder__key_bytes(&key), &old, error);
    if (status < 0 && !is_damaged(&old)) return status;
    status = store(txn, collection, larder__id_bytes(id), larder__key_bytes(&key), &old,
                   status != LARDER_NOT_FOUND, &new_document, raw_bytes, epoch, error);
    /* From here on rows were written: a failure leaves nothing but an abort. */
    if (status != LARDER_OK) txn->failed = true;
    return status;
}

int32_t larder_document_put(larder_txn *txn, larder_bytes name, const larder_document_info *info,
                            larder_bytes plain, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_info(info, plain, error);
    if (status == LARDER_OK && info->state == LARDER_DOCUMENT_FOUND)
        status = larder__name_check_new(name, error);
    return status == LARDER_OK ? larder__document_put_again(txn, name, info, plain, error) : status;
}

int32_t larder__document_put_again(larder_txn *txn, larder_bytes name,
                                   const larder_document_info *info, larder_bytes plain,
                                   larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_info(info, plain, error);
    if (status != LARDER_OK) return status;
    uint64_t collection;
    larder__id id;
    status = larder__name_obtain(txn, name, &collection, &id, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = put(txn, collection, &id, info, plain, error);
    if (status != LARDER_OK && !txn->failed && status > LARDER_E_IO) {
        int32_t released = larder__id_release(txn, collection, larder__id_bytes(&id), NULL);
        if (released == LARDER_OK) released = larder__collection_release(txn, collection, NULL);
        larder__txn_note(txn, released);
    }
    return larder__txn_note(txn, status);
}

/* ---- get ---- */

int32_t larder__document_read(const larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                              larder_document *document, larder_error *error) {
    larder__key key = larder__document_key(collection, id_key_form);
    larder_bytes row;
    int32_t status =
        larder__table_get(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, error);
    if (status != LARDER_OK) return status;
    return larder__row_read(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), row, document, error);
}

int32_t larder_document_get(const larder_txn *txn, larder_bytes name, larder_document *document,
                            larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (document == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "document is NULL");
    uint64_t collection;
    larder__id id;
    status = larder__name_find(txn, name, &collection, &id, error);
    if (status == LARDER_OK)
        status = larder__document_read(txn, collection, larder__id_bytes(&id), document, error);
    if (status == LARDER_OK) larder__name_split(name, &document->collection, &document->id);
    return status;
}

int32_t larder_document_get_local(const larder_txn *txn, larder_bytes user, larder_bytes name,
                                  larder_document *document, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (document == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "document is NULL");
    uint64_t collection, number;
    larder__id id;
    status = larder__user_find(txn, user, &number, error);
    if (status < 0) return status;
    bool has_user = status == LARDER_OK;
    status = larder__name_find(txn, name, &collection, &id, error);
    if (status != LARDER_OK) return status;
    status = LARDER_NOT_FOUND;
    if (has_user)
        status =
            larder__overlay_read(txn, number, collection, larder__id_bytes(&id), document, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__document_read(txn, collection, larder__id_bytes(&id), document, error);
    if (status == LARDER_OK) larder__name_split(name, &document->collection, &document->id);
    return status;
}

/* ---- remove ---- */

int32_t larder__document_remove(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                                bool even_damaged, int64_t *freed_bytes, larder_error *error) {
    larder__key key = larder__document_key(collection, id_key_form);
    int64_t before = larder__counters_total(&txn->counters);
    larder_document old;
    int32_t status = read_old(txn, larder__key_bytes(&key), &old, error);
    bool was_damaged = is_damaged(&old);
    if (was_damaged && !even_damaged)
        return larder__fail(error, LARDER_E_CORRUPT, "the document's row is damaged");
    if (status != LARDER_OK && !was_damaged) return status;
    status = LARDER_OK;
    bool is_found = old.state == LARDER_DOCUMENT_FOUND;
    if (is_found)
        status = larder__index_update(txn, collection, id_key_form, &old.record, NULL, error);
    if (was_damaged) {
        if (status == LARDER_OK)
            status = larder__read_time_forget(txn, collection, id_key_form, error);
    } else if (status == LARDER_OK) {
        larder__key time = read_time_key(collection, old.read_time, id_key_form);
        status = larder__table_remove(txn, LARDER__READ_TIMES, larder__key_bytes(&time), error);
        if (status == LARDER_NOT_FOUND) status = LARDER_OK;
    }
    if (status == LARDER_OK)
        status = larder__table_remove(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), error);
    if (status == LARDER_OK)
        status = was_damaged ? larder__document_recount(txn, collection, error)
                             : count(txn, collection, larder__key_bytes(&key), &old,
                                     is_found ? larder__row_raw_bytes(&old.record) : 0, -1, error);
    if (status == LARDER_OK) status = larder__id_release(txn, collection, id_key_form, error);
    if (status != LARDER_OK) txn->failed = true;
    if (freed_bytes != NULL) *freed_bytes = before - larder__counters_total(&txn->counters);
    return status;
}

int32_t larder_document_remove(larder_txn *txn, larder_bytes name, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    uint64_t collection;
    larder__id id;
    status = larder__name_find(txn, name, &collection, &id, error);
    if (status == LARDER_OK)
        status = larder__document_remove(txn, collection, larder__id_bytes(&id), true, NULL, error);
    if (status == LARDER_OK) {
        status = larder__collection_release(txn, collection, error);
        if (status != LARDER_OK) txn->failed = true;
    }
    return larder__txn_note(txn, status);
}

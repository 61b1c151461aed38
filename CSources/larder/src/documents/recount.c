/*
 * recount.c - what is done about a damaged document row when it is replaced or removed.
 *
 * The row cannot say what it counted, when it was read or which entries it has. Its read-time
 * and index rows carry the document's id and are found by that (here and in index_entries.c);
 * the counters are recounted from all document rows, as larder_check would. Rows that are
 * damaged, too, count by what their first byte and their size say until they are mended.
 *
 * Linear in the number of documents: damage is rare, and wrong counters would stay for good.
 */
#include "documents.h"
#include "store/blob.h"
#include "store/catalog.h"
#include "store/row.h"

typedef struct tally {
    int64_t found_count, absent_count, raw_bytes, stored_bytes;
    int64_t collection_found, collection_bytes; /* of one collection */
    int64_t dictionary_uses[LARDER__DICTIONARY_MAX];
} tally;

int32_t larder__read_time_forget(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                                 larder_error *error) {
    larder__key prefix, own = {.size_bytes = 0};
    larder__key_clear(&prefix);
    larder__key_number(&prefix, collection);
    larder__key_id(&own, id_key_form);
    size_t head = prefix.size_bytes + LARDER__TIME_BYTES;
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__READ_TIMES, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix))) {
        bool is_own = cursor.key.size_bytes == head + own.size_bytes &&
                      memcmp(larder__begin(cursor.key) + head, own.bytes, own.size_bytes) == 0;
        if (is_own) status = larder__cursor_remove(txn, &cursor, error);
        if (status == LARDER_OK) status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

static void add_row(tally *t, const larder_document *document, size_t row_bytes) {
    if (document->state != LARDER_DOCUMENT_FOUND) {
        t->absent_count++;
        return;
    }
    t->found_count++;
    t->raw_bytes += larder__row_raw_bytes(&document->record);
    t->stored_bytes += (int64_t)row_bytes;
    if (document->record.dictionary < LARDER__DICTIONARY_MAX)
        t->dictionary_uses[document->record.dictionary]++;
}

static int32_t add_all(larder_txn *txn, larder_bytes prefix, tally *t, larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), error); status == LARDER_OK;
         status = larder__cursor_next(&cursor, error)) {
        larder_document document;
        memset(&document, 0, sizeof document);
        status =
            larder__row_read(txn, LARDER__DOCUMENTS, cursor.key, cursor.value, &document, NULL);
        if (status == LARDER_E_CORRUPT) {
            memset(&document.record, 0, sizeof document.record);
        } else if (status != LARDER_OK) {
            status = larder__fail(error, status, "counting documents");
            break;
        }
        int64_t found = document.state == LARDER_DOCUMENT_FOUND;
        add_row(t, &document, cursor.value.size_bytes);
        if (!larder__bytes_has_prefix(cursor.key, prefix)) continue;
        t->collection_found += found;
        t->collection_bytes += larder__row_cost(cursor.key.size_bytes, cursor.value.size_bytes);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t set_dictionary_counts(larder_txn *txn, const tally *t, larder_error *error) {
    for (uint32_t id = 1; id < LARDER__DICTIONARY_MAX; id++) {
        int64_t record_count;
        larder_bytes content;
        int32_t status = larder__dictionary_row(txn, id, &record_count, &content, error);
        if (status == LARDER_NOT_FOUND) continue;
        if (status != LARDER_OK) return status;
        int64_t delta = t->dictionary_uses[id] - record_count - larder__dictionary_delta(txn, id);
        if (delta != 0) status = larder__dictionary_count(txn, id, delta, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

int32_t larder__document_recount(larder_txn *txn, uint64_t collection, larder_error *error) {
    larder__key prefix;
    larder__collection_row row;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, collection);
    tally *t = larder__allocate(&txn->env->allocator, sizeof *t);
    if (t == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to count documents");
    memset(t, 0, sizeof *t);
    int32_t status = add_all(txn, larder__key_bytes(&prefix), t, error);
    if (status == LARDER_OK) status = larder__collection_flush(txn, error);
    if (status == LARDER_OK) status = larder__collection_read(txn, collection, &row, error);
    if (status == LARDER_OK)
        status = larder__collection_count(txn, collection, t->collection_found - row.found_count,
                                          t->collection_bytes - row.size_bytes, error);
    if (status == LARDER_OK) status = set_dictionary_counts(txn, t, error);
    if (status == LARDER_OK) {
        txn->counters.found_count = t->found_count;
        txn->counters.absent_count = t->absent_count;
        txn->counters.raw_record_bytes = t->raw_bytes;
        txn->counters.stored_record_bytes = t->stored_bytes;
    }
    larder__release(&txn->env->allocator, t);
    return status;
}

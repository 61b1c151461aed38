/* rebuild.c - writing what was found of documents to a new store (rebuild.h). */
#include "rebuild.h"

#include "documents/batch.h"
#include "documents/documents.h"
#include "documents/target.h"
#include "store/catalog.h"

#define BYTES_A_COMMIT (4 << 20)
#define ROW_OVERHEAD 128

/* ---- transactions ---- */

int32_t larder__rebuild_commit(larder__rebuild *r, bool always, larder_error *error) {
    int32_t status = LARDER_OK;
    if (r->to != NULL && (always || r->waiting_bytes >= BYTES_A_COMMIT)) {
        larder_txn *txn = r->to;
        r->to = NULL;
        r->waiting_bytes = 0;
        status = larder_txn_commit(txn, error);
    }
    if (status == LARDER_OK && r->to == NULL)
        status = larder_txn_begin_write(r->to_env, &r->to, error);
    return status;
}

static int32_t report_progress(larder__rebuild *r, uint64_t bytes, larder_error *error) {
    uint64_t all = r->harvest->gathered_bytes, before = r->moved_bytes;
    r->moved_bytes += bytes;
    if (r->progress == NULL || all == 0 || before >> 16 == r->moved_bytes >> 16) return LARDER_OK;
    double share = r->moved_bytes < all ? (double)r->moved_bytes / (double)all : 1;
    int64_t total = r->harvest->total_bytes;
    int64_t done = r->begin_bytes + (int64_t)(share * (double)(total - r->begin_bytes));
    if (r->progress(r->context, done, total) == 0) return LARDER_OK;
    return larder__fail(error, LARDER_STOPPED, "stopped by the caller");
}

/* One row; one that fails with its transaction is left out when all is done again. */
static int32_t put_row(larder__rebuild *r, const larder__cursor *cursor, larder__rebuild_row put,
                       larder_salvage_count *count, larder_error *error) {
    int32_t status = put(r, cursor->key, cursor->value, error);
    if (status < 0 && larder__rebuild_goes_on(r, status)) {
        count->lost_count++;
        return LARDER_OK;
    }
    if (status < 0) return status;
    if (status == LARDER_OK) {
        count->found_count++;
        count->guessed_count += larder__harvest_is_guessed(r->harvest, r->from->mdb, r->guessed,
                                                           cursor->table, cursor->key);
    }
    r->waiting_bytes += (int64_t)(cursor->key.size_bytes + cursor->value.size_bytes) + ROW_OVERHEAD;
    return report_progress(r, cursor->key.size_bytes + cursor->value.size_bytes, error);
}

int32_t larder__rebuild_table(larder__rebuild *r, larder__table table, larder_bytes prefix,
                              larder__rebuild_row put, larder_salvage_count *count,
                              larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(r->from, table, &cursor, error);
    if (status == LARDER_OK) status = larder__cursor_seek(&cursor, prefix, error);
    while (status == LARDER_OK && larder__bytes_has_prefix(cursor.key, prefix)) {
        status = put_row(r, &cursor, put, count, error);
        if (status == LARDER_OK) status = larder__rebuild_commit(r, false, error);
        if (status == LARDER_OK) status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* ---- names ---- */

/* The full name to r->name. */
static int32_t make_name(larder__rebuild *r, uint64_t collection, larder_bytes id,
                         larder_error *error) {
    larder_bytes path, text;
    char scratch[32];
    int32_t status = larder__collection_info(r->from, collection, &path, NULL, error);
    if (status == LARDER_OK)
        status = larder__id_text(r->from, collection, id, scratch, &text, error);
    if (status != LARDER_OK) return status;
    r->name.size_bytes = 0;
    if (!larder__buffer_append(&r->name, path.data, path.size_bytes) ||
        !larder__buffer_append(&r->name, "/", 1) ||
        !larder__buffer_append(&r->name, text.data, text.size_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a name");
    return LARDER_OK;
}

static larder_bytes name_of(const larder__rebuild *r) {
    return larder__bytes(r->name.data, r->name.size_bytes);
}

static larder_bytes rest_of(larder_bytes key, const uint8_t *at) {
    return larder__bytes(at, key.size_bytes - (size_t)(at - larder__begin(key)));
}

/* ---- pending writes ---- */

static int32_t put_batch(larder__rebuild *r, larder_bytes key, larder_bytes value,
                         larder_error *error) {
    uint64_t user, id;
    larder_bytes payload, name;
    larder_batch batch;
    int32_t status = larder__unseal(r->from, LARDER__MUTATIONS, key, value, &payload, error);
    if (status != LARDER_OK) return status;
    if (!larder__evidence_batch_key(key, &user, &id) ||
        !larder__batch_parse(payload, (int64_t)id, &batch))
        return larder__corrupt(r->from, LARDER__MUTATIONS, key, "malformed batch", error);
    bool is_settled = false;
    if (larder__harvest_is_guessed(r->harvest, r->from->mdb, r->guessed, LARDER__MUTATIONS, key))
        status = larder__rebuild_is_settled(r, user, &batch, &is_settled, error);
    if (status != LARDER_OK) return status;
    r->report->settled_count += is_settled;
    if (is_settled) return LARDER_NOT_FOUND;
    status = larder__user_name(r->from, user, &name, error);
    return status == LARDER_OK ? larder__mutation_restore(r->to, name, &batch, error) : status;
}

/* ---- documents and overlays ---- */

/* A found document's fields to r->plain. */
static int32_t copy_fields(larder__rebuild *r, const larder_document *document,
                           larder_error *error) {
    size_t needed = 0;
    r->plain.size_bytes = 0;
    if (document->state != LARDER_DOCUMENT_FOUND) return LARDER_OK;
    int32_t status = larder_record_copy(&document->record, r->plain.data, r->plain.capacity_bytes,
                                        &needed, error);
    if (status == LARDER_E_BUFFER_TOO_SMALL) {
        if (!larder__buffer_reserve(&r->plain, needed))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a document");
        status = larder_record_copy(&document->record, r->plain.data, r->plain.capacity_bytes,
                                    &needed, error);
    }
    if (status == LARDER_OK) r->plain.size_bytes = needed;
    return status;
}

static larder_bytes plain_of(const larder__rebuild *r) {
    return larder__bytes(r->plain.data, r->plain.size_bytes);
}

static int32_t put_document(larder__rebuild *r, larder_bytes key, larder_bytes value,
                            larder_error *error) {
    larder_document document;
    larder_document_info info;
    uint64_t collection;
    const uint8_t *at = larder__begin(key);
    if (!larder__key_read_number(&at, at + key.size_bytes, &collection))
        return larder__corrupt(r->from, LARDER__DOCUMENTS, key, "malformed key", error);
    int32_t status = make_name(r, collection, rest_of(key, at), error);
    if (status == LARDER_OK)
        status = larder__row_read(r->from, LARDER__DOCUMENTS, key, value, &document, error);
    if (status == LARDER_OK) status = copy_fields(r, &document, error);
    if (status != LARDER_OK) return status;
    larder_document_info_init(&info, sizeof info);
    info.state = document.state;
    info.flags = document.flags & LARDER_DOCUMENT_COMMITTED_MUTATIONS;
    info.version = document.version;
    info.create_time = document.create_time;
    info.read_time = document.read_time;
    return larder__document_put_again(r->to, name_of(r), &info, plain_of(r), error);
}

/* An overlay without a batch is left out. */
static int32_t put_overlay(larder__rebuild *r, larder_bytes key, larder_bytes value,
                           larder_error *error) {
    larder_document view;
    larder_bytes payload, user;
    uint64_t number, collection;
    int64_t batch_id;
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    if (!larder__key_read_number(&at, end, &number) ||
        !larder__key_read_number(&at, end, &collection))
        return larder__corrupt(r->from, LARDER__OVERLAYS, key, "malformed key", error);
    int32_t status = larder__user_name(r->from, number, &user, error);
    if (status == LARDER_OK) status = make_name(r, collection, rest_of(key, at), error);
    if (status == LARDER_OK)
        status = larder_mutation_next_touching(r->to, user, name_of(r), 0, &batch_id, error);
    if (status == LARDER_END) return LARDER_NOT_FOUND;
    if (status != LARDER_OK) return status;
    status = larder__overlay_view(r->from, key, value, &view, &payload, error);
    if (status == LARDER_OK) status = copy_fields(r, &view, error);
    if (status != LARDER_OK) return status;
    return larder_overlay_put(r->to, user, name_of(r), view.batch_id, plain_of(r), payload, error);
}

/* ---- targets ---- */

/* A possibly incomplete target is resynchronised from scratch. */
static bool is_known_whole(const larder__rebuild *r) {
    static const larder__table tables[] = {LARDER__CATALOG, LARDER__DOCUMENTS, LARDER__TARGETS,
                                           LARDER__TARGET_DOCUMENTS};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (!larder__harvest_is_whole(r->harvest, tables[i])) return false;
    return true;
}

static int32_t put_target(larder__rebuild *r, larder_bytes key, larder_bytes value,
                          larder_error *error) {
    static const larder_time none = {0, 0, 0};
    larder_target target = {.struct_bytes = sizeof target};
    uint64_t id;
    const uint8_t *at = larder__begin(key);
    (void)value;
    if (!larder__key_read_number(&at, at + key.size_bytes, &id) || id > INT32_MAX)
        return larder__corrupt(r->from, LARDER__TARGETS, key, "malformed key", error);
    int32_t status = larder_target_get(r->from, (int32_t)id, &target, error);
    if (status != LARDER_OK) return status;
    if (!is_known_whole(r)) {
        target.resume_token = larder__bytes(NULL, 0);
        target.snapshot_version = target.limbo_free_version = none;
    }
    return larder_target_put(r->to, &target, error);
}

static int32_t put_target_document(larder__rebuild *r, larder_bytes key, larder_bytes value,
                                   larder_error *error) {
    uint64_t target, collection;
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    (void)value;
    if (!larder__key_read_number(&at, end, &target) || target > INT32_MAX ||
        !larder__key_read_number(&at, end, &collection))
        return larder__corrupt(r->from, LARDER__TARGET_DOCUMENTS, key, "malformed key", error);
    int32_t status = make_name(r, collection, rest_of(key, at), error);
    return status == LARDER_OK
               ? larder_target_add_document(r->to, (int32_t)target, name_of(r), error)
               : status;
}

/* ---- indexes, values ---- */

static int32_t put_indexes(larder__rebuild *r, larder_error *error) {
    larder_index index;
    uint32_t after = 0, id;
    int32_t status;
    while ((status = larder_index_next(r->from, after, &index, error)) != LARDER_END) {
        if (status == LARDER_OK) {
            after = index.index_id;
            status = larder_index_define(r->to, index.group, index.segments, index.segment_count,
                                         &id, error);
        } else {
            after = UINT32_MAX; /* what follows a damaged one is not found by its number */
        }
        if (!larder__rebuild_goes_on(r, status)) return status;
        if (after == UINT32_MAX) break;
    }
    return larder__rebuild_commit(r, false, error);
}

static int32_t put_values(larder__rebuild *r, int32_t kind, larder_salvage_count *count,
                          larder_error *error) {
    larder_bytes after = {NULL, 0}, name, payload;
    larder_time time;
    int32_t status;
    while ((status = larder_named_next(r->from, kind, after, &name, &time, &payload, error)) ==
           LARDER_OK) {
        status = larder_named_put(r->to, kind, name, time, payload, error);
        if (!larder__rebuild_goes_on(r, status)) return status;
        larder__key key;
        larder__key_clear(&key);
        larder__key_byte(&key, LARDER__KIND_NAMED);
        larder__key_byte(&key, (uint8_t)kind);
        larder__key_append(&key, name.data, name.size_bytes < 479 ? name.size_bytes : 479);
        if (status == LARDER_OK) {
            count->found_count++;
            count->guessed_count += larder__harvest_is_guessed(
                r->harvest, r->from->mdb, r->guessed, LARDER__CATALOG, larder__key_bytes(&key));
        } else {
            count->lost_count++;
        }
        r->name.size_bytes = 0;
        if (!larder__buffer_append(&r->name, name.data, name.size_bytes))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a name");
        after = name_of(r);
        r->waiting_bytes += (int64_t)payload.size_bytes + ROW_OVERHEAD;
        status = larder__rebuild_commit(r, false, error);
        if (status != LARDER_OK) return status;
    }
    if (status == LARDER_END) return LARDER_OK;
    if (status == LARDER_E_CORRUPT) count->lost_count++;
    return status == LARDER_E_CORRUPT ? LARDER_OK : status;
}

/* ---- all ---- */

static const larder_bytes all = {NULL, 0};

int32_t larder__rebuild_outbox(larder__rebuild *r, larder_error *error) {
    larder_salvage_report *report = r->report;
    int32_t status =
        larder__rebuild_table(r, LARDER__MUTATIONS, all, put_batch, &report->batches, error);
    if (status == LARDER_OK) status = larder__rebuild_tree_writes(r, error);
    if (status == LARDER_OK)
        status = put_values(r, LARDER_NAMED_DEAD_LETTER, &report->refused_writes, error);
    return status;
}

int32_t larder__rebuild_documents(larder__rebuild *r, larder_error *error) {
    static const int32_t kinds[] = {LARDER_NAMED_GLOBAL, LARDER_NAMED_BUNDLE, LARDER_NAMED_QUERY};
    larder_salvage_report *report = r->report;
    larder_salvage_count mentions = {0, 0, 0};
    int32_t status = put_indexes(r, error);
    if (status == LARDER_OK)
        status =
            larder__rebuild_table(r, LARDER__OVERLAYS, all, put_overlay, &report->overlays, error);
    if (status == LARDER_OK)
        status = larder__rebuild_table(r, LARDER__DOCUMENTS, all, put_document, &report->documents,
                                       error);
    if (status == LARDER_OK)
        status =
            larder__rebuild_table(r, LARDER__TARGETS, all, put_target, &report->targets, error);
    if (status == LARDER_OK)
        status = larder__rebuild_table(r, LARDER__TARGET_DOCUMENTS, all, put_target_document,
                                       &mentions, error);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == LARDER_OK; i++)
        status = put_values(r, kinds[i], &report->values, error);
    return status;
}

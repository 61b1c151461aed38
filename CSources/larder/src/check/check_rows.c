/* check_rows.c - the rows of every table but the index entries. See check.c. */
#include "check.h"
#include "documents/batch.h"
#include "documents/target.h"
#include "store/catalog.h"
#include "store/lru.h"

#define BAD_KEY "the key is malformed"

/* ---- documents, read times, LRU ---- */

int32_t larder__audit_collection_end(larder__audit *c) {
    if (c->collection_number == 0) return LARDER_OK;
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_COLLECTION);
    larder__key_number(&key, c->collection_number);
    larder__collection_row row;
    larder_error error = {0};
    int32_t status = larder__collection_read(c->txn, c->collection_number, &row, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__CATALOG, larder__key_bytes(&key), status, &error);
    if (row.found_count != c->collection.found_count || row.size_bytes != c->collection.cost_bytes)
        return larder__audit_report(c, LARDER__CATALOG, larder__key_bytes(&key),
                                    "a collection counts %lld documents and %lld bytes; its rows "
                                    "are %lld and %lld",
                                    (long long)row.found_count, (long long)row.size_bytes,
                                    (long long)c->collection.found_count,
                                    (long long)c->collection.cost_bytes);
    return LARDER_OK;
}

static void add_sums(larder__document_sums *sums, const larder_document *document, int64_t cost) {
    sums->cost_bytes += cost;
    if (document->state != LARDER_DOCUMENT_FOUND) {
        sums->absent_count++;
        return;
    }
    sums->found_count++;
    sums->raw_bytes += larder__row_raw_bytes(&document->record);
    sums->stored_bytes += document->stored_bytes;
}

/* The whole record: decompressed, and valid by all rules but the size limits. */
static int32_t check_record(larder__audit *c, larder__table table, larder_bytes key,
                            const larder_record *record) {
    larder_error error = {0};
    size_t needed = 0;
    if (record->dictionary != 0 && record->dictionary < LARDER__DICTIONARY_MAX)
        c->dictionary_uses[record->dictionary]++;
    int32_t status = larder_record_copy(record, NULL, 0, &needed, &error);
    if (status == LARDER_E_BUFFER_TOO_SMALL) {
        c->plain.size_bytes = 0;
        if (!larder__buffer_reserve(&c->plain, needed))
            return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check a record");
        status = larder_record_copy(record, c->plain.data, needed, &needed, &error);
    }
    if (status == LARDER_OK) {
        larder_record opened;
        status = larder_record_open(larder__bytes(c->plain.data, needed), 64, INT64_C(16) << 20,
                                    &opened, &error);
    }
    return larder__audit_damage(c, table, key, status, &error);
}

int32_t larder__audit_document(larder__audit *c, larder_bytes key, larder_bytes value) {
    uint64_t collection;
    larder_bytes id, text;
    char scratch[32];
    larder_document document;
    larder_error error = {0};
    if (!larder__audit_place(larder__begin(key), larder__begin(key) + key.size_bytes, &collection,
                             &id))
        return larder__audit_report(c, LARDER__DOCUMENTS, key, BAD_KEY);
    if (collection != c->collection_number) {
        int32_t status = larder__audit_collection_end(c);
        if (status != LARDER_OK) return status;
        memset(&c->collection, 0, sizeof c->collection);
        c->collection_number = collection;
    }
    int32_t status = larder__row_read(c->txn, LARDER__DOCUMENTS, key, value, &document, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__DOCUMENTS, key, status, &error);
    int64_t cost = larder__row_cost(key.size_bytes, value.size_bytes);
    add_sums(&c->documents, &document, cost);
    add_sums(&c->collection, &document, cost);
    status = larder__id_text(c->txn, collection, id, scratch, &text, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__DOCUMENTS, key, status, &error);
    larder__key time;
    larder__key_clear(&time);
    larder__key_number(&time, collection);
    larder__key_time(&time, document.read_time);
    larder__key_id(&time, id);
    status = larder__audit_mention(c, LARDER__DOCUMENTS, key, LARDER__READ_TIMES, &time);
    if (status != LARDER_OK || document.state != LARDER_DOCUMENT_FOUND) return status;
    status = check_record(c, LARDER__DOCUMENTS, key, &document.record);
    if (status == LARDER_OK)
        status = larder__audit_index_record(c, NULL, collection, id, &document.record, key);
    return status;
}

int32_t larder__audit_read_time(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t collection;
    larder_time time;
    if (!larder__key_read_number(&at, end, &collection) ||
        !larder__key_read_time(&at, end, &time) || at >= end || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__READ_TIMES, key, BAD_KEY);
    larder__key document = larder__document_key(collection, larder__bytes(at, (size_t)(end - at)));
    return larder__audit_mention(c, LARDER__READ_TIMES, key, LARDER__DOCUMENTS, &document);
}

/* Entries that count are kept: each document and target must have one. */
int32_t larder__audit_lru(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint32_t epoch, chunk;
    if (!larder__key_read_u32(&at, end, &epoch) || !larder__key_read_u32(&at, end, &chunk) ||
        at != end)
        return larder__audit_report(c, LARDER__LRU, key, BAD_KEY);
    at = larder__begin(value);
    end = at + value.size_bytes;
    while (at < end) {
        larder__lru_entry entry;
        bool counts;
        larder_error error = {0};
        if (!larder__lru_entry_read(&at, end, &entry))
            return larder__audit_report(c, LARDER__LRU, key, "the row is malformed");
        c->lru_entries++;
        int32_t status = larder__lru_is_current(c->txn, &entry, epoch, &counts, &error);
        if (status != LARDER_OK) {
            status = larder__audit_damage(c, LARDER__LRU, key, status, &error);
            if (status != LARDER_OK) return status;
            continue;
        }
        if (counts &&
            !larder__items_add(&c->current, larder__bytes(entry.begin, entry.size_bytes), 0))
            return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check the LRU log");
    }
    return LARDER_OK;
}

/* ---- overlays ---- */

static bool read_overlay_key(larder_bytes key, uint64_t *user, uint64_t *collection,
                             larder_bytes *id) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    return larder__key_read_number(&at, end, user) && larder__audit_place(at, end, collection, id);
}

int32_t larder__audit_overlay(larder__audit *c, larder_bytes key, larder_bytes value) {
    uint64_t user, collection;
    larder_bytes id, text, path;
    char scratch[32];
    larder_document view;
    larder_error error = {0};
    if (!read_overlay_key(key, &user, &collection, &id))
        return larder__audit_report(c, LARDER__OVERLAYS, key, BAD_KEY);
    int32_t status = larder__overlay_view(c->txn, key, value, &view, NULL, &error);
    if (status == LARDER_OK) status = larder__user_name(c->txn, user, &text, &error);
    if (status == LARDER_OK)
        status = larder__collection_info(c->txn, collection, &path, NULL, &error);
    if (status == LARDER_OK)
        status = larder__id_text(c->txn, collection, id, scratch, &text, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__OVERLAYS, key, status, &error);
    larder__key batch;
    larder__key_clear(&batch);
    larder__key_number(&batch, user);
    larder__key_u64(&batch, (uint64_t)view.batch_id);
    larder__key_number(&batch, collection);
    larder__key_id(&batch, id);
    status = larder__audit_mention(c, LARDER__OVERLAYS, key, LARDER__OVERLAY_BATCHES, &batch);
    if (status != LARDER_OK || view.state != LARDER_DOCUMENT_FOUND) return status;
    status = check_record(c, LARDER__OVERLAYS, key, &view.record);
    if (status == LARDER_OK)
        status = larder__audit_index_record(c, &user, collection, id, &view.record, key);
    return status;
}

int32_t larder__audit_overlay_batch(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t user, batch, collection;
    larder_bytes id;
    if (!larder__key_read_number(&at, end, &user) || !larder__key_read_u64(&at, end, &batch) ||
        !larder__audit_place(at, end, &collection, &id) || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__OVERLAY_BATCHES, key, BAD_KEY);
    larder__key overlay;
    larder__key_clear(&overlay);
    larder__key_number(&overlay, user);
    larder__key_number(&overlay, collection);
    larder__key_id(&overlay, id);
    return larder__audit_mention(c, LARDER__OVERLAY_BATCHES, key, LARDER__OVERLAYS, &overlay);
}

/* ---- mutations ---- */

static void mention_key(larder__key *key, uint64_t collection, larder_bytes id, uint64_t user,
                        uint64_t batch) {
    larder__key_clear(key);
    larder__key_number(key, collection);
    larder__key_idz(key, id);
    larder__key_number(key, user);
    larder__key_u64(key, batch);
}

static void queue_key(larder__key *key, uint64_t user) {
    larder__key_clear(key);
    larder__key_byte(key, LARDER__KIND_QUEUE);
    larder__key_number(key, user);
}

int32_t larder__audit_queue_end(larder__audit *c) {
    if (c->queue_user == 0) return LARDER_OK;
    larder__key key;
    larder_bytes payload;
    larder_error error = {0};
    queue_key(&key, c->queue_user);
    int32_t status = larder__table_get_sealed(c->txn, LARDER__CATALOG, larder__key_bytes(&key),
                                              &payload, &error);
    if (status < 0)
        return larder__audit_damage(c, LARDER__CATALOG, larder__key_bytes(&key), status, &error);
    int64_t count =
        status == LARDER_OK && payload.size_bytes == 8 ? (int64_t)larder__load64(payload.data) : 0;
    if (count == c->queue_batches) return LARDER_OK;
    return larder__audit_report(c, LARDER__CATALOG, larder__key_bytes(&key),
                                "a queue counts %lld batches and has %lld", (long long)count,
                                (long long)c->queue_batches);
}

int32_t larder__audit_mutation(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t user, id;
    larder_bytes payload;
    larder_batch batch;
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &user) || !larder__key_read_u64(&at, end, &id) ||
        at != end)
        return larder__audit_report(c, LARDER__MUTATIONS, key, BAD_KEY);
    if (user != c->queue_user) {
        int32_t status = larder__audit_queue_end(c);
        if (status != LARDER_OK) return status;
        c->queue_user = user;
        c->queue_batches = 0;
    }
    c->queue_batches++;
    if (id == 0 || id > (uint64_t)c->counters->next_batch_id) {
        int32_t status = larder__audit_report(c, LARDER__MUTATIONS, key,
                                              "batch %llu was never given", (unsigned long long)id);
        if (status != LARDER_OK) return status;
    }
    int32_t status = larder__unseal(c->txn, LARDER__MUTATIONS, key, value, &payload, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__MUTATIONS, key, status, &error);
    if (!larder__batch_parse(payload, (int64_t)id, &batch))
        return larder__audit_report(c, LARDER__MUTATIONS, key, "the batch is malformed");
    for (uint32_t i = 0; i < batch.document_count; i++) {
        larder_mutation_document document;
        uint64_t collection;
        larder__id document_id;
        status = larder_batch_get_document(&batch, i, &document);
        if (status == LARDER_OK)
            status = larder__name_find(c->txn, document.name, &collection, &document_id, &error);
        if (status != LARDER_OK) {
            status = larder__audit_report(c, LARDER__MUTATIONS, key,
                                          "document %u of the batch cannot be found", i);
        } else {
            larder__key mention;
            mention_key(&mention, collection, larder__id_bytes(&document_id), user, id);
            status = larder__audit_mention(c, LARDER__MUTATIONS, key, LARDER__MUTATION_DOCUMENTS,
                                           &mention);
        }
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

/* Whether the batch that a row names lists the document. */
static int32_t is_listed(larder__audit *c, uint64_t user, uint64_t id, larder_bytes path,
                         larder_bytes text, bool *found, larder_error *error) {
    larder__key key;
    larder_bytes payload;
    larder_batch batch;
    *found = false;
    larder__key_clear(&key);
    larder__key_number(&key, user);
    larder__key_u64(&key, id);
    int32_t status = larder__table_get_sealed(c->txn, LARDER__MUTATIONS, larder__key_bytes(&key),
                                              &payload, error);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status != LARDER_OK || !larder__batch_parse(payload, (int64_t)id, &batch)) return status;
    for (uint32_t i = 0; i < batch.document_count && !*found; i++) {
        larder_mutation_document document;
        larder_bytes collection, last;
        if (larder_batch_get_document(&batch, i, &document) != LARDER_OK) continue;
        larder__name_split(document.name, &collection, &last);
        *found = larder__bytes_equal(collection, path) && larder__bytes_equal(last, text);
    }
    return LARDER_OK;
}

int32_t larder__audit_mutation_document(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t collection, user, batch;
    larder_bytes id, path, text;
    char scratch[32];
    bool found;
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &collection) || !larder__key_read_idz(&at, end, &id) ||
        !larder__key_read_number(&at, end, &user) || !larder__key_read_u64(&at, end, &batch) ||
        at != end || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__MUTATION_DOCUMENTS, key, BAD_KEY);
    int32_t status = larder__collection_info(c->txn, collection, &path, NULL, &error);
    if (status == LARDER_OK)
        status = larder__id_text(c->txn, collection, id, scratch, &text, &error);
    if (status == LARDER_OK) status = is_listed(c, user, batch, path, text, &found, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__MUTATION_DOCUMENTS, key, status, &error);
    if (found) return LARDER_OK;
    return larder__audit_report(c, LARDER__MUTATION_DOCUMENTS, key,
                                "its batch does not list the document");
}

/* ---- targets ---- */

int32_t larder__audit_target(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t number;
    larder_bytes payload;
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &number) || at != end || number == 0 ||
        number > INT32_MAX)
        return larder__audit_report(c, LARDER__TARGETS, key, BAD_KEY);
    if ((int64_t)number > c->counters->highest_target_id) {
        int32_t status = larder__audit_report(c, LARDER__TARGETS, key,
                                              "its id is above the highest ever stored");
        if (status != LARDER_OK) return status;
    }
    int32_t status = larder__unseal(c->txn, LARDER__TARGETS, key, value, &payload, &error);
    int64_t counted = 0, listed = 0;
    if (status == LARDER_OK)
        status = larder__target_count(c->txn, (int32_t)number, &counted, &error);
    larder__cursor cursor = {0};
    if (status == LARDER_OK)
        status = larder__cursor_open(c->txn, LARDER__TARGET_DOCUMENTS, &cursor, &error);
    if (status == LARDER_OK) {
        for (status = larder__cursor_seek(&cursor, key, &error);
             status == LARDER_OK && larder__bytes_has_prefix(cursor.key, key);
             status = larder__cursor_next(&cursor, &error))
            listed++;
        if (status == LARDER_END) status = LARDER_OK;
    }
    larder__cursor_close(&cursor);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__TARGETS, key, status, &error);
    if (counted == listed) return LARDER_OK;
    return larder__audit_report(c, LARDER__TARGETS, key,
                                "the target counts %lld documents and has %lld", (long long)counted,
                                (long long)listed);
}

int32_t larder__audit_target_document(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t number, collection;
    larder_bytes id;
    if (!larder__key_read_number(&at, end, &number) ||
        !larder__audit_place(at, end, &collection, &id) || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__TARGET_DOCUMENTS, key, BAD_KEY);
    larder__key target, mirror;
    larder__key_clear(&target);
    larder__key_number(&target, number);
    int32_t status =
        larder__audit_mention(c, LARDER__TARGET_DOCUMENTS, key, LARDER__TARGETS, &target);
    if (status != LARDER_OK) return status;
    larder__key_clear(&mirror);
    larder__key_number(&mirror, collection);
    larder__key_idz(&mirror, id);
    larder__key_number(&mirror, number);
    return larder__audit_mention(c, LARDER__TARGET_DOCUMENTS, key, LARDER__DOCUMENT_TARGETS,
                                 &mirror);
}

int32_t larder__audit_document_target(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t collection, number;
    larder_bytes id, text;
    char scratch[32];
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &collection) || !larder__key_read_idz(&at, end, &id) ||
        !larder__key_read_number(&at, end, &number) || at != end || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__DOCUMENT_TARGETS, key, BAD_KEY);
    int32_t status = larder__id_text(c->txn, collection, id, scratch, &text, &error);
    return larder__audit_damage(c, LARDER__DOCUMENT_TARGETS, key, status, &error);
}

/* ---- catalog ---- */

static int32_t check_collection_row(larder__audit *c, larder_bytes key, uint64_t number) {
    larder__collection_row row;
    larder_error error = {0};
    uint64_t found = 0;
    int32_t status = larder__collection_read(c->txn, number, &row, &error);
    if (status == LARDER_OK) {
        c->collection_rows++;
        c->collection_found += row.found_count;
        c->collection_bytes += row.size_bytes;
        status = larder__collection_find(c->txn, row.path, &found, &error);
    }
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (status != LARDER_OK || found != number)
        return larder__audit_report(c, LARDER__CATALOG, key,
                                    "the collection's path leads to another number");
    status = larder__group_find(c->txn, larder__path_last(row.path), &found, &error);
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (status != LARDER_OK || found != row.group)
        return larder__audit_report(c, LARDER__CATALOG, key,
                                    "the collection's group has another number");
    status = larder__group_member(c->txn, row.group, row.path, &found, &error);
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (status == LARDER_OK && found == number) return LARDER_OK;
    return larder__audit_report(c, LARDER__CATALOG, key,
                                "the collection is not a member of its group");
}

static int32_t check_user_row(larder__audit *c, larder_bytes key, uint64_t number,
                              larder_bytes user) {
    larder_error error = {0};
    uint64_t found = 0;
    int32_t status = larder__user_find(c->txn, user, &found, &error);
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (status == LARDER_OK && found == number) return LARDER_OK;
    return larder__audit_report(c, LARDER__CATALOG, key, "the user leads to another number");
}

int32_t larder__audit_catalog(larder__audit *c, larder_bytes key, larder_bytes value) {
    larder_bytes payload;
    larder_error error = {0};
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    if (at == end) return larder__audit_report(c, LARDER__CATALOG, key, BAD_KEY);
    uint8_t kind = *at++;
    c->catalog_rows[kind]++;
    if (kind == LARDER__KIND_FORMAT) return LARDER_OK; /* read when the store was opened */
    if (kind == LARDER__KIND_CANONICAL)                /* all in the key */
        return value.size_bytes == 0
                   ? LARDER_OK
                   : larder__audit_report(c, LARDER__CATALOG, key, "the row should be empty");
    int32_t status = larder__unseal(c->txn, LARDER__CATALOG, key, value, &payload, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    uint64_t number = 0;
    switch (kind) {
    case LARDER__KIND_COLLECTION:
        if (!larder__key_read_number(&at, end, &number))
            return larder__audit_report(c, LARDER__CATALOG, key, BAD_KEY);
        return check_collection_row(c, key, number);
    case LARDER__KIND_USER_NUMBER:
        if (!larder__key_read_number(&at, end, &number))
            return larder__audit_report(c, LARDER__CATALOG, key, BAD_KEY);
        return check_user_row(c, key, number, payload);
    case LARDER__KIND_TREE_NUMBER:
        if (!larder__key_read_number(&at, end, &number) || number == 0)
            return larder__audit_report(c, LARDER__CATALOG, key, BAD_KEY);
        return larder__audit_tree(c, key, number, payload);
    case LARDER__KIND_WRITE_ID:
        if (!larder__key_read_number(&at, end, &number) || at != end)
            return larder__audit_report(c, LARDER__CATALOG, key, BAD_KEY);
        return larder__audit_write_id(c, key, number);
    case LARDER__KIND_QUEUE:
        if (payload.size_bytes != 8)
            return larder__audit_report(c, LARDER__CATALOG, key, "the row is malformed");
        c->queue_total += (int64_t)larder__load64(payload.data);
        return LARDER_OK;
    case LARDER__KIND_SHAPE:
        c->shape_bytes += (int64_t)payload.size_bytes;
        return LARDER_OK;
    default:
        return LARDER_OK;
    }
}

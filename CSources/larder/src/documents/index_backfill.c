/*
 * index_backfill.c - indexing what was stored before an index was defined, in bounded steps.
 *
 * First the documents of the group, collection by collection in path order and each in name
 * order; then the overlays of all users. A step looks at rows, collects their entries, sorts
 * them and puts them, so that the puts walk the index from left to right. Writes between steps
 * maintain entries themselves, on either side of the position, so the position only has to move
 * forward. The bytes that keep it, at the end of the definition's row:
 *
 *     nothing                                            at the beginning
 *     01 | size of the catalog key (2) | catalog key of the collection in its group |
 *          id key form of the last document looked at, or nothing
 *     02 | key of the last overlay looked at, or nothing
 *     03                                                 before the beginning: entries that an
 *                                                        earlier version made are removed first
 *
 * A damaged row has no entries; reading it logs the damage, and the step goes on.
 */
#include "index.h"
#include "store/catalog.h"

#include <time.h>

enum { AT_DOCUMENTS = 1, AT_OVERLAYS = 2, AT_CLEARING = 3 };
enum { ENTRY_BYTES_MAX = 8 << 20 }; /* collected before they are put */
enum { FIRST_ROWS = 64 };           /* of a step bounded in time, before its speed is known */

typedef struct backfill {
    larder_txn *txn;
    larder__index_definition *definition;
    larder__index_work *work;
    larder__items items; /* entries of table */
    larder__table table;
    uint64_t group;         /* 0: it has no collections */
    larder__cursor members; /* the group's collections */
    larder__cursor rows;    /* documents or overlays */
    bool is_open;           /* rows stands in the present collection, or in the overlays */
    int phase;
    uint64_t collection;
    larder__key member; /* the present collection in the catalog; empty: none yet */
    larder__key prefix; /* of its documents */
    larder__key last;   /* key of the last row looked at */
    int64_t found_count;
} backfill;

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the back-fill");
}

/* ---- the position ---- */

larder_bytes larder__index_clearing(void) {
    static const uint8_t position[1] = {AT_CLEARING};
    return larder__bytes(position, sizeof position);
}

static bool read_position(backfill *fill, larder_bytes position) {
    fill->phase = AT_DOCUMENTS;
    if (position.size_bytes == 0) return true;
    const uint8_t *at = larder__begin(position), *end = at + position.size_bytes;
    fill->phase = *at++;
    if (fill->phase == AT_DOCUMENTS) {
        if (end - at < 2) return false;
        size_t size_bytes = larder__load16(at);
        at += 2;
        if (size_bytes > LARDER__KEY_MAX || size_bytes > (size_t)(end - at)) return false;
        larder__key_append(&fill->member, at, size_bytes);
        at += size_bytes;
    }
    if ((size_t)(end - at) > LARDER__KEY_MAX) return false;
    larder__key_append(&fill->last, at, (size_t)(end - at));
    return fill->phase >= AT_DOCUMENTS && fill->phase <= AT_CLEARING;
}

static size_t write_position(const backfill *fill, uint8_t out[2 * LARDER__KEY_MAX + 3]) {
    if (fill->phase == AT_DOCUMENTS && fill->member.size_bytes == 0) return 0;
    uint8_t *at = out;
    *at++ = (uint8_t)fill->phase;
    if (fill->phase == AT_DOCUMENTS) {
        larder__store16(at, (uint16_t)fill->member.size_bytes);
        memcpy(at + 2, fill->member.bytes, fill->member.size_bytes);
        at += 2 + fill->member.size_bytes;
    }
    memcpy(at, fill->last.bytes, fill->last.size_bytes);
    return (size_t)(at - out) + fill->last.size_bytes;
}

static void set_key(larder__key *key, larder_bytes bytes) {
    larder__key_clear(key);
    larder__key_append(key, bytes.data, bytes.size_bytes);
}

/* ---- documents ---- */

/* Goes to the next collection of the group; the first time, to the one of the position. */
static int32_t next_collection(backfill *fill, larder_error *error) {
    int32_t status = LARDER_OK;
    bool resumes = fill->members.mdb == NULL && fill->member.size_bytes > 0;
    if (resumes) {
        status = larder__cursor_open(fill->txn, LARDER__CATALOG, &fill->members, error);
        if (status == LARDER_OK)
            status =
                larder__cursor_seek_below(&fill->members, larder__key_bytes(&fill->member), error);
        if (status != LARDER_OK) return status;
    }
    status = larder__group_next(fill->txn, fill->group, &fill->members, &fill->collection, error);
    if (status != LARDER_OK) return status;
    larder__key_clear(&fill->prefix);
    larder__key_number(&fill->prefix, fill->collection);
    larder__key from = fill->prefix;
    bool is_same = larder__bytes_equal(fill->members.key, larder__key_bytes(&fill->member));
    if (resumes && is_same)
        larder__key_append(&from, fill->last.bytes, fill->last.size_bytes);
    else
        larder__key_clear(&fill->last);
    set_key(&fill->member, fill->members.key);
    status = larder__cursor_seek(&fill->rows, larder__key_bytes(&from), error);
    if (status == LARDER_OK && fill->last.size_bytes > 0 &&
        larder__bytes_equal(fill->rows.key, larder__key_bytes(&from)))
        status = larder__cursor_next(&fill->rows, error);
    return status == LARDER_END ? LARDER_NOT_FOUND : status;
}

/* Puts the cursor on the next document row, or answers LARDER_END. */
static int32_t next_document(backfill *fill, larder_error *error) {
    if (fill->group == 0) return LARDER_END;
    int32_t status = fill->is_open ? larder__cursor_next(&fill->rows, error) : LARDER_NOT_FOUND;
    for (;;) {
        if (status < 0) return status;
        fill->is_open = status == LARDER_OK &&
                        larder__bytes_has_prefix(fill->rows.key, larder__key_bytes(&fill->prefix));
        if (fill->is_open) return LARDER_OK;
        status = next_collection(fill, error);
        if (status == LARDER_END) return status;
    }
}

/* Appends the entries of a record; damage leaves it without. */
static int32_t collect(backfill *fill, const uint64_t *user, uint64_t collection,
                       larder_bytes id_key_form, const larder_record *record, larder_error *error) {
    larder__key prefix;
    larder__index_prefix(&prefix, user, fill->definition->index_id, collection);
    larder__index_view view = {.record = record, .cold = &fill->work->new_cold};
    size_t count = larder__items_count(&fill->items);
    int32_t status = larder__index_collect(fill->definition, &view, larder__key_bytes(&prefix),
                                           id_key_form, fill->work, &fill->items, NULL);
    if (status == LARDER_E_NO_MEMORY) return no_memory(error);
    if (status == LARDER_OK) return LARDER_OK;
    larder__items_truncate(&fill->items, count);
    larder__corrupt(fill->txn, fill->rows.table, fill->rows.key, "fields that cannot be read",
                    NULL);
    return LARDER_OK;
}

static int32_t look_at_document(backfill *fill, larder_error *error) {
    larder_bytes key = fill->rows.key;
    larder_bytes id = larder__bytes(larder__begin(key) + fill->prefix.size_bytes,
                                    key.size_bytes - fill->prefix.size_bytes);
    set_key(&fill->last, id);
    int32_t state;
    uint32_t epoch;
    larder_time read_time;
    if (larder__row_head(fill->rows.value, &state, &epoch, &read_time) &&
        state != LARDER_DOCUMENT_FOUND)
        return LARDER_OK;
    fill->found_count++;
    larder_document document;
    int32_t status =
        larder__row_read(fill->txn, LARDER__DOCUMENTS, key, fill->rows.value, &document, NULL);
    if (status == LARDER_E_NO_MEMORY) return no_memory(error);
    if (status != LARDER_OK || document.state != LARDER_DOCUMENT_FOUND) return LARDER_OK;
    return collect(fill, NULL, fill->collection, id, &document.record, error);
}

/* ---- overlays ---- */

/* Puts the cursor on the next overlay row, or answers LARDER_END. */
static int32_t next_overlay(backfill *fill, larder_error *error) {
    if (fill->group == 0) return LARDER_END;
    if (fill->is_open) return larder__cursor_next(&fill->rows, error);
    fill->is_open = true;
    int32_t status = larder__cursor_seek(&fill->rows, larder__key_bytes(&fill->last), error);
    if (status == LARDER_OK && larder__bytes_equal(fill->rows.key, larder__key_bytes(&fill->last)))
        status = larder__cursor_next(&fill->rows, error);
    return status;
}

/* Moves behind all overlays of a user in a collection of another group. */
static void skip_collection(backfill *fill, uint64_t user, uint64_t collection) {
    larder__key_clear(&fill->last);
    larder__key_number(&fill->last, user);
    larder__key_number(&fill->last, collection);
    larder__key_successor(&fill->last);
    fill->is_open = false;
}

static int32_t look_at_overlay(backfill *fill, larder_error *error) {
    larder_bytes key = fill->rows.key;
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t user, collection, group = 0;
    set_key(&fill->last, key);
    if (!larder__key_read_number(&at, end, &user) ||
        !larder__key_read_number(&at, end, &collection)) {
        larder__corrupt(fill->txn, LARDER__OVERLAYS, key, "a malformed key", NULL);
        return LARDER_OK;
    }
    if (collection != fill->collection) {
        int32_t status = larder__collection_info(fill->txn, collection, NULL, &group, NULL);
        if (status < 0 && status != LARDER_E_CORRUPT)
            return larder__fail(error, status, "reading a collection");
        if (status != LARDER_OK || group != fill->group) {
            skip_collection(fill, user, collection);
            return LARDER_OK;
        }
        fill->collection = collection;
    }
    larder_document view;
    larder_bytes payload;
    int32_t status = larder__overlay_view(fill->txn, key, fill->rows.value, &view, &payload, NULL);
    if (status == LARDER_E_NO_MEMORY) return no_memory(error);
    if (status != LARDER_OK || view.state != LARDER_DOCUMENT_FOUND) return LARDER_OK;
    return collect(fill, &user, collection, larder__bytes(at, (size_t)(end - at)), &view.record,
                   error);
}

/* ---- a step ---- */

static int32_t put_entries(backfill *fill, larder_error *error) {
    if (!larder__items_sort(&fill->items, 0)) return no_memory(error);
    size_t count = larder__items_count(&fill->items);
    larder_usage before = larder__index_usage(fill->txn);
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < count && status == LARDER_OK; i++)
        status = larder__table_put(
            fill->txn, fill->table, larder__items_get(&fill->items, i),
            larder__index_entry_value(larder__items_at(&fill->items, i)->mark), error);
    larder__index_count(fill->txn, fill->definition, before);
    larder__items_clear(&fill->items);
    return status;
}

static int32_t begin_phase(backfill *fill, int phase, larder_error *error) {
    fill->phase = phase;
    fill->is_open = false;
    fill->table = phase == AT_DOCUMENTS ? LARDER__INDEX_ENTRIES : LARDER__OVERLAY_ENTRIES;
    fill->collection = 0;
    larder__cursor_close(&fill->rows);
    return larder__cursor_open(fill->txn,
                               phase == AT_DOCUMENTS ? LARDER__DOCUMENTS : LARDER__OVERLAYS,
                               &fill->rows, error);
}

/* Looks at up to *rows rows and puts their entries: OK with *rows set to what it did, or
 * LARDER_END when nothing is left. */
static int32_t look(backfill *fill, int64_t *rows, larder_error *error) {
    int64_t limit = *rows;
    int32_t status = LARDER_OK;
    for (*rows = 0; *rows < limit && fill->items.bytes.size_bytes < ENTRY_BYTES_MAX; ++*rows) {
        status =
            fill->phase == AT_DOCUMENTS ? next_document(fill, error) : next_overlay(fill, error);
        if (status == LARDER_END && fill->phase == AT_DOCUMENTS) {
            status = put_entries(fill, error);
            larder__key_clear(&fill->last);
            if (status == LARDER_OK) status = begin_phase(fill, AT_OVERLAYS, error);
            if (status == LARDER_OK) status = next_overlay(fill, error);
        }
        if (status != LARDER_OK) break;
        status = fill->phase == AT_DOCUMENTS ? look_at_document(fill, error)
                                             : look_at_overlay(fill, error);
        if (status != LARDER_OK) break;
    }
    if (status < 0) return status;
    int32_t put_status = put_entries(fill, error);
    return put_status != LARDER_OK ? put_status : status;
}

static int64_t thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Rows until one of the bounds: LARDER_END when nothing is left, else OK. */
static int32_t run(backfill *fill, int64_t max_documents, int64_t max_us, larder_error *error) {
    int64_t start_us = max_us > 0 ? thread_us() : 0;
    int64_t left = max_documents > 0 ? max_documents : INT64_MAX;
    int64_t chunk = max_us > 0 ? FIRST_ROWS : INT64_MAX, done = 0;
    while (left > 0) {
        int64_t rows = chunk < left ? chunk : left;
        int32_t status = look(fill, &rows, error);
        if (status != LARDER_OK) return status;
        left -= rows;
        done += rows;
        if (max_us == 0) continue;
        /* As many rows as fit in what is left, going by the speed so far; at most double. */
        int64_t used_us = thread_us() - start_us;
        if (used_us >= max_us) return LARDER_OK;
        double fitting = (double)(max_us - used_us) * (double)done / (double)(used_us + 1) + 1;
        int64_t most = chunk > INT64_MAX / 2 ? INT64_MAX : 2 * chunk;
        chunk = fitting < (double)most ? (int64_t)fitting : most;
    }
    return LARDER_OK;
}

/* Removes entries within the same bounds: OK when none are left, or MORE. What is written
 * meanwhile has its entries again when the back-fill comes to it. */
static int32_t clear(backfill *fill, int64_t max_entries, int64_t max_us, larder_error *error) {
    int64_t start_us = max_us > 0 ? thread_us() : 0;
    int64_t left = max_entries > 0 ? max_entries : INT64_MAX;
    larder_usage before = larder__index_usage(fill->txn);
    int32_t status = LARDER_MORE;
    while (status == LARDER_MORE && left > 0) {
        int64_t chunk = max_us > 0 && left > FIRST_ROWS ? FIRST_ROWS : left;
        left -= chunk;
        status = larder__index_drop_entries(fill->txn, fill->definition->index_id, &chunk, error);
        if (max_us > 0 && thread_us() - start_us >= max_us) break;
    }
    larder__index_count(fill->txn, fill->definition, before);
    return status;
}

static int32_t begin(backfill *fill, larder_error *error) {
    larder__index_row row;
    int32_t status = larder__group_find(fill->txn, fill->definition->group, &fill->group, error);
    if (status < 0) return status;
    if (status == LARDER_NOT_FOUND) fill->group = 0;
    status = larder__index_read(fill->txn, fill->definition->index_id, &row, error);
    if (status != LARDER_OK) return status;
    if (row.state == LARDER__INDEX_COMPLETE) return LARDER_END;
    fill->found_count = row.backfilled_count;
    if (!read_position(fill, row.position))
        return larder__fail(error, LARDER_E_CORRUPT, "the back-fill position of index %u",
                            fill->definition->index_id);
    return fill->phase == AT_CLEARING ? LARDER_MORE : begin_phase(fill, fill->phase, error);
}

int32_t larder__index_backfill(larder_txn *txn, larder__index_definition *definition,
                               int64_t max_documents, int64_t max_us, larder_error *error) {
    backfill fill = {.txn = txn, .definition = definition};
    fill.work = &txn->env->indexes->work;
    larder__items_init(&fill.items, &txn->env->allocator);
    int32_t status = begin(&fill, error);
    if (status == LARDER_END) {
        status = LARDER_OK;
        goto done;
    }
    if (status == LARDER_MORE) {
        status = clear(&fill, max_documents, max_us, error);
        if (status == LARDER_MORE) {
            status = larder__index_write(txn, definition, LARDER__INDEX_BUILDING, 0,
                                         larder__index_clearing(), error);
            if (status == LARDER_OK) status = LARDER_MORE;
            goto done;
        }
        if (status == LARDER_OK) status = begin_phase(&fill, AT_DOCUMENTS, error);
    }
    if (status == LARDER_OK) status = run(&fill, max_documents, max_us, error);
    if (status == LARDER_OK || status == LARDER_END) {
        uint8_t position[2 * LARDER__KEY_MAX + 3];
        bool is_complete = status == LARDER_END;
        size_t position_bytes = is_complete ? 0 : write_position(&fill, position);
        status = larder__index_write(
            txn, definition, is_complete ? LARDER__INDEX_COMPLETE : LARDER__INDEX_BUILDING,
            fill.found_count, larder__bytes(position, position_bytes), error);
        if (status == LARDER_OK && !is_complete) status = LARDER_MORE;
    }
done:
    larder__cursor_close(&fill.members);
    larder__cursor_close(&fill.rows);
    larder__items_free(&fill.items);
    return status;
}

/* ---- counting ---- */

static int32_t count_documents(larder_txn *txn, larder_bytes group, bool only_whether,
                               int64_t *count, larder_error *error) {
    uint64_t number, collection;
    larder__cursor cursor = {0};
    *count = 0;
    int32_t status = larder__collection_flush(txn, error);
    if (status == LARDER_OK) status = larder__group_find(txn, group, &number, error);
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    while ((status = larder__group_next(txn, number, &cursor, &collection, error)) == LARDER_OK) {
        larder__collection_row row;
        status = larder__collection_read(txn, collection, &row, error);
        if (status != LARDER_OK) break;
        *count += row.found_count;
        if (only_whether && *count > 0) break;
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder__index_has_documents(larder_txn *txn, larder_bytes group, larder_error *error) {
    int64_t count;
    int32_t status = count_documents(txn, group, true, &count, error);
    return status == LARDER_OK && count == 0 ? LARDER_NOT_FOUND : status;
}

int32_t larder_index_backfill(larder_txn *txn, uint32_t index_id, int64_t max_documents,
                              int64_t max_us, int64_t *done_count, int64_t *total_count,
                              larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (max_documents < 0 || max_us < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound is below 0");
    larder__index_row row;
    larder__index_cache *cache;
    status = larder__index_read(txn, index_id, &row, error);
    if (status == LARDER_OK) status = larder__index_cache_use(txn, &cache, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    larder__index_definition *definition = larder__index_cached(cache, index_id);
    if (definition == NULL)
        return larder__fail(error, LARDER_E_CORRUPT, "index %u is not in memory", index_id);
    int32_t outcome = larder__index_backfill(txn, definition, max_documents, max_us, error);
    if (outcome < 0) return larder__txn_note_partial(txn, outcome);
    if (done_count == NULL && total_count == NULL) return outcome;
    int64_t total;
    status = count_documents(txn, definition->group, false, &total, error);
    if (status == LARDER_OK) status = larder__index_read(txn, index_id, &row, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status < 0 ? status : LARDER_E_CORRUPT);
    /* Documents come and go between steps; progress never passes the whole. */
    int64_t done = row.backfilled_count < total ? row.backfilled_count : total;
    if (done_count != NULL) *done_count = outcome == LARDER_OK ? total : done;
    if (total_count != NULL) *total_count = total;
    return outcome;
}

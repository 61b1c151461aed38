/*
 * check_index.c - index entries: those that documents should have are there, and none besides.
 * See check.c.
 *
 * A building index need not have an entry for every document yet; what it has must be right.
 */
#include "check.h"
#include "store/catalog.h"

#define BAD_KEY "the key is malformed"

static int32_t no_memory(larder__audit *c) {
    return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check indexes");
}

/* A definition's own copy of its row. */
static int32_t take_definition(larder__audit *c, uint32_t number, larder_bytes payload) {
    const larder_allocator *allocator = &c->txn->env->allocator;
    larder__audit_index *grown = larder__allocate(allocator, (c->index_count + 1) * sizeof *grown);
    if (grown == NULL) return no_memory(c);
    if (c->index_count > 0) memcpy(grown, c->indexes, c->index_count * sizeof *grown);
    larder__release(allocator, c->indexes);
    c->indexes = grown;
    larder__audit_index *added = &c->indexes[c->index_count];
    memset(added, 0, sizeof *added);
    added->row.allocator = allocator;
    if (!larder__buffer_append(&added->row, payload.data, payload.size_bytes)) return no_memory(c);
    larder__index_row row;
    if (!larder__index_parse(larder__bytes(added->row.data, added->row.size_bytes), &row)) {
        larder__buffer_free(&added->row);
        larder__key key;
        larder__key_clear(&key);
        larder__key_byte(&key, LARDER__KIND_INDEX);
        larder__key_number(&key, number);
        return larder__audit_report(c, LARDER__CATALOG, larder__key_bytes(&key),
                                    "the index definition is malformed");
    }
    larder__index_describe(&added->definition, &row);
    added->definition.index_id = number;
    added->is_complete = row.state == LARDER__INDEX_COMPLETE;
    added->stored_entries = row.entry_count;
    added->stored_bytes = row.size_bytes;
    c->index_count++;
    return LARDER_OK;
}

int32_t larder__audit_index_begin(larder__audit *c) {
    larder__cursor cursor;
    const uint8_t kind[1] = {LARDER__KIND_INDEX};
    int32_t status = larder__cursor_open(c->txn, LARDER__CATALOG, &cursor, c->error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__bytes(kind, 1), c->error);
         status == LARDER_OK && larder__begin(cursor.key)[0] == LARDER__KIND_INDEX;
         status = larder__cursor_next(&cursor, c->error)) {
        const uint8_t *at = larder__begin(cursor.key) + 1;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        uint64_t number;
        larder_bytes payload;
        /* Damage is reported when the catalog is walked. */
        if (larder__unseal(c->txn, LARDER__CATALOG, cursor.key, cursor.value, &payload, NULL) !=
                LARDER_OK ||
            !larder__key_read_number(&at, end, &number) || number > UINT32_MAX)
            continue;
        status = take_definition(c, (uint32_t)number, payload);
        if (status != LARDER_OK) break;
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

void larder__audit_index_free(larder__audit *c) {
    for (size_t i = 0; i < c->index_count; i++)
        larder__buffer_free(&c->indexes[i].row);
    larder__release(&c->txn->env->allocator, c->indexes);
}

static int32_t check_expected(larder__audit *c, larder__audit_index *index, const uint64_t *user,
                              uint64_t collection, larder_bytes id, larder__index_view *view,
                              larder_bytes key) {
    larder__table table = user == NULL ? LARDER__INDEX_ENTRIES : LARDER__OVERLAY_ENTRIES;
    larder__table owner = user == NULL ? LARDER__DOCUMENTS : LARDER__OVERLAYS;
    larder__items *items = &c->work.new_items;
    larder__key prefix;
    larder_error error = {0};
    larder__items_clear(items);
    larder__key_clear(&prefix);
    larder__index_prefix(&prefix, user, index->definition.index_id, collection);
    int32_t status = larder__index_collect(&index->definition, view, larder__key_bytes(&prefix), id,
                                           &c->work, items, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, owner, key, status, &error);
    if (!larder__items_sort(items, 0)) return no_memory(c);
    for (size_t i = 0; i < larder__items_count(items); i++) {
        larder_bytes value;
        index->expected_entries++;
        status = larder__table_get(c->txn, table, larder__items_get(items, i), &value, &error);
        if (status == LARDER_NOT_FOUND && !index->is_complete) {
            index->expected_entries--;
            continue;
        }
        if (status == LARDER_NOT_FOUND)
            status = larder__audit_report(c, owner, key, "an entry in index %u is missing",
                                          index->definition.index_id);
        else if (status == LARDER_OK &&
                 !larder__bytes_equal(value,
                                      larder__index_entry_value(larder__items_at(items, i)->mark)))
            status = larder__audit_report(c, owner, key, "its entry in index %u is malformed",
                                          index->definition.index_id);
        if (status != LARDER_OK) return larder__audit_damage(c, owner, key, status, &error);
    }
    return LARDER_OK;
}

int32_t larder__audit_index_record(larder__audit *c, const uint64_t *user, uint64_t collection,
                                   larder_bytes id, const larder_record *record, larder_bytes key) {
    if (c->index_count == 0) return LARDER_OK;
    larder_bytes path;
    larder_error error = {0};
    int32_t status = larder__collection_info(c->txn, collection, &path, NULL, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__DOCUMENTS, key, status, &error);
    larder_bytes group = larder__path_last(path);
    larder__index_view view = {.record = record, .cold = &c->work.new_cold};
    for (size_t i = 0; i < c->index_count && status == LARDER_OK; i++)
        if (larder__bytes_equal(c->indexes[i].definition.group, group))
            status = check_expected(c, &c->indexes[i], user, collection, id, &view, key);
    return status;
}

static int32_t count_entry(larder__audit *c, larder__table table, larder_bytes key,
                           larder_bytes value, const uint8_t *at) {
    const uint8_t *end = larder__begin(key) + key.size_bytes;
    uint64_t number;
    if (!larder__key_read_number(&at, end, &number))
        return larder__audit_report(c, table, key, BAD_KEY);
    for (size_t i = 0; i < c->index_count; i++) {
        larder__audit_index *index = &c->indexes[i];
        if (index->definition.index_id != number) continue;
        index->found_entries++;
        index->found_bytes += larder__row_cost(key.size_bytes, value.size_bytes);
        return LARDER_OK;
    }
    return larder__audit_report(c, table, key, "an entry of index %llu, which is not defined",
                                (unsigned long long)number);
}

int32_t larder__audit_index_entry(larder__audit *c, larder_bytes key, larder_bytes value) {
    return count_entry(c, LARDER__INDEX_ENTRIES, key, value, larder__begin(key));
}

int32_t larder__audit_overlay_entry(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t user;
    if (!larder__key_read_number(&at, end, &user))
        return larder__audit_report(c, LARDER__OVERLAY_ENTRIES, key, BAD_KEY);
    return count_entry(c, LARDER__OVERLAY_ENTRIES, key, value, at);
}

int32_t larder__audit_index_end(larder__audit *c) {
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < c->index_count && status == LARDER_OK; i++) {
        const larder__audit_index *index = &c->indexes[i];
        larder__key key;
        larder__key_clear(&key);
        larder__key_byte(&key, LARDER__KIND_INDEX);
        larder__key_number(&key, index->definition.index_id);
        if (index->stored_entries != index->found_entries ||
            index->stored_bytes != index->found_bytes)
            status = larder__audit_report(
                c, LARDER__CATALOG, larder__key_bytes(&key),
                "the index counts %lld entries and %lld bytes; its rows "
                "are %lld and %lld",
                (long long)index->stored_entries, (long long)index->stored_bytes,
                (long long)index->found_entries, (long long)index->found_bytes);
        larder__index_row row;
        bool is_going =
            larder__index_parse(larder__bytes(index->row.data, index->row.size_bytes), &row) &&
            (row.state == LARDER__INDEX_DROPPING ||
             larder__bytes_equal(row.position, larder__index_clearing()));
        if (status == LARDER_OK && !is_going && index->expected_entries != index->found_entries)
            status = larder__audit_report(c, LARDER__CATALOG, larder__key_bytes(&key),
                                          "documents make %lld entries, the index has %lld",
                                          (long long)index->expected_entries,
                                          (long long)index->found_entries);
    }
    return status;
}

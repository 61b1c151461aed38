/*
 * index_entries.c - the index entries of a record, and moving them when a document changes.
 *
 * A written document costs, for each index of its collection, finding the indexed fields in the
 * old and the new record; only when their bytes differ are entries made, sorted and compared,
 * and only entries that one side has alone are removed or put. That is also right while the
 * back-fill runs: what it has not reached yet is either untouched or made in full here, and
 * making it again changes nothing.
 */
#include "index.h"

void larder__index_work_init(larder__index_work *work, const larder_allocator *allocator) {
    memset(work, 0, sizeof *work);
    work->head.allocator = work->tail.allocator = allocator;
    work->old_cold.allocator = work->new_cold.allocator = allocator;
    larder__items_init(&work->old_items, allocator);
    larder__items_init(&work->new_items, allocator);
}

void larder__index_work_free(larder__index_work *work) {
    larder__buffer_free(&work->head);
    larder__buffer_free(&work->tail);
    larder__buffer_free(&work->old_cold);
    larder__buffer_free(&work->new_cold);
    larder__items_free(&work->old_items);
    larder__items_free(&work->new_items);
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for index entries");
}

/* ---- the entries of one record ---- */

static int32_t load_cold(larder__index_view *view, larder_error *error) {
    size_t raw_bytes = larder_record_cold_bytes(view->record);
    view->cold->size_bytes = 0;
    if (!larder__buffer_reserve(view->cold, raw_bytes)) return no_memory(error);
    int32_t status = larder_record_load(view->record, view->cold->data, view->cold->capacity_bytes,
                                        &view->loaded, error);
    if (status == LARDER_OK) view->record = &view->loaded;
    return status;
}

int32_t larder__index_find(larder__index_view *view, larder_field *field, larder_bytes *value,
                           larder_error *error) {
    if ((view->record->flags & LARDER__RECORD_DAMAGED) != 0)
        return larder__fail(error, LARDER_E_CORRUPT, "the record is damaged");
    int32_t status = larder_record_find(view->record, field, value, NULL);
    if (status == LARDER_COLD) {
        status = load_cold(view, error);
        if (status != LARDER_OK) return status;
        status = larder_record_find(view->record, field, value, NULL);
    }
    if (status < 0) return larder__fail(error, status, "an indexed field cannot be read");
    return status;
}

/* Cuts the order bytes, appends the id and makes an item of it. */
static bool finish_entry(larder__items *items, size_t offset, size_t prefix_bytes,
                         larder_bytes suffix) {
    size_t limit = offset + prefix_bytes + LARDER__ORDER_MAX;
    uint16_t mark = items->bytes.size_bytes > limit;
    if (mark != 0) items->bytes.size_bytes = limit;
    return larder__buffer_append(&items->bytes, suffix.data, suffix.size_bytes) &&
           larder__items_push(items, offset, mark);
}

static int32_t append_segments(const larder__index_definition *definition,
                               const larder_bytes *values, uint32_t from, uint32_t to,
                               larder__buffer *out, larder_error *error) {
    int32_t status = LARDER_OK;
    for (uint32_t i = from; i < to && status == LARDER_OK; i++)
        status = larder__order_append(values[i],
                                      definition->kinds[i] == LARDER_SEGMENT_DESCENDING
                                          ? LARDER_ORDER_DESCENDING
                                          : LARDER_ORDER_ASCENDING,
                                      out, error);
    return status;
}

/* An entry for each element of the array among the values. */
static int32_t collect_elements(const larder__index_definition *definition,
                                const larder_bytes *values, larder_bytes prefix,
                                larder_bytes suffix, larder__index_work *work, larder__items *items,
                                larder_error *error) {
    uint32_t at = (uint32_t)definition->contains;
    size_t count = 0;
    int32_t status = larder_value_count(values[at], &count);
    work->head.size_bytes = work->tail.size_bytes = 0;
    if (status == LARDER_OK)
        status = append_segments(definition, values, 0, at, &work->head, error);
    if (status == LARDER_OK)
        status = append_segments(definition, values, at + 1, definition->segment_count, &work->tail,
                                 error);
    for (size_t i = 0; i < count && status == LARDER_OK; i++) {
        larder_bytes element;
        size_t offset = items->bytes.size_bytes;
        status = larder_value_get_element(values[at], i, &element);
        if (status != LARDER_OK) break;
        if (!larder__buffer_append(&items->bytes, prefix.data, prefix.size_bytes) ||
            !larder__buffer_append(&items->bytes, work->head.data, work->head.size_bytes))
            return no_memory(error);
        status = larder__order_append(element, LARDER_ORDER_ASCENDING, &items->bytes, error);
        if (status == LARDER_OK &&
            (!larder__buffer_append(&items->bytes, work->tail.data, work->tail.size_bytes) ||
             !finish_entry(items, offset, prefix.size_bytes, suffix)))
            return no_memory(error);
    }
    if (status > 0) status = LARDER_E_INVALID_RECORD;
    return status;
}

int32_t larder__index_collect(larder__index_definition *definition, larder__index_view *view,
                              larder_bytes prefix, larder_bytes suffix, larder__index_work *work,
                              larder__items *items, larder_error *error) {
    if (view->record == NULL) return LARDER_OK;
    larder_bytes values[LARDER_INDEX_MAX_SEGMENTS];
    for (uint32_t i = 0; i < definition->segment_count; i++) {
        int32_t status = larder__index_find(view, &definition->fields[i], &values[i], error);
        if (status == LARDER_NOT_FOUND) return LARDER_OK;
        if (status != LARDER_OK) return status;
        /* An earlier value lies in the same record, loaded or not: it stays valid. */
        if (definition->kinds[i] == LARDER_SEGMENT_CONTAINS &&
            larder_value_type(values[i]) != LARDER_TYPE_ARRAY)
            return LARDER_OK;
    }
    if (definition->contains >= 0)
        return collect_elements(definition, values, prefix, suffix, work, items, error);
    size_t offset = items->bytes.size_bytes;
    if (!larder__buffer_append(&items->bytes, prefix.data, prefix.size_bytes))
        return no_memory(error);
    int32_t status =
        append_segments(definition, values, 0, definition->segment_count, &items->bytes, error);
    if (status != LARDER_OK) return status;
    return finish_entry(items, offset, prefix.size_bytes, suffix) ? LARDER_OK : no_memory(error);
}

larder_bytes larder__index_entry_value(uint16_t mark) {
    static const uint8_t cut_size[2] = {LARDER__ORDER_MAX & 0xff, LARDER__ORDER_MAX >> 8};
    return mark != 0 ? larder__bytes(cut_size, sizeof cut_size) : larder__bytes(NULL, 0);
}

size_t larder__index_boundary(const larder__index_row *row, larder_bytes rest, larder_bytes value) {
    size_t at = 0;
    if (value.size_bytes > 0) {
        at = value.size_bytes == 2 ? larder__load16(value.data) : 0;
        if (at != LARDER__ORDER_MAX) return 0;
    } else {
        for (uint32_t i = 0; i < row->segment_count; i++) {
            int32_t direction = row->segments[i].kind == LARDER_SEGMENT_DESCENDING
                                    ? LARDER_ORDER_DESCENDING
                                    : LARDER_ORDER_ASCENDING;
            size_t size = larder__order_skip(
                larder__bytes(larder__begin(rest) + at, rest.size_bytes - at), direction);
            if (size == 0) return 0;
            at += size;
        }
    }
    size_t id_bytes = rest.size_bytes > at ? rest.size_bytes - at : 0;
    return id_bytes > 0 && id_bytes <= LARDER__ID_MAX && at <= LARDER__ORDER_MAX ? at : 0;
}

void larder__index_prefix(larder__key *key, const uint64_t *user, uint32_t index_id,
                          uint64_t collection) {
    larder__key_clear(key);
    if (user != NULL) larder__key_number(key, *user);
    larder__key_number(key, index_id);
    larder__key_number(key, collection);
}

/* ---- maintenance ---- */

/* Whether both records give the same entries, as far as the bytes of their fields say. OK: yes,
 * NOT_FOUND: perhaps not. Damage in a record is NOT_FOUND, too, and met again later. */
static int32_t compare_fields(larder__index_definition *definition, larder__index_view *old_view,
                              larder__index_view *new_view, larder_error *error) {
    if (old_view->record == NULL || new_view->record == NULL) return LARDER_NOT_FOUND;
    bool is_equal = true;
    for (uint32_t i = 0; i < definition->segment_count; i++) {
        larder_bytes old_value, new_value;
        int32_t old_status = larder__index_find(old_view, &definition->fields[i], &old_value, NULL);
        int32_t new_status = larder__index_find(new_view, &definition->fields[i], &new_value, NULL);
        if (old_status == LARDER_E_NO_MEMORY || new_status == LARDER_E_NO_MEMORY)
            return no_memory(error);
        if (old_status == LARDER_NOT_FOUND && new_status == LARDER_NOT_FOUND) return LARDER_OK;
        is_equal = is_equal && old_status == LARDER_OK && new_status == LARDER_OK &&
                   larder__bytes_equal(old_value, new_value);
    }
    return is_equal ? LARDER_OK : LARDER_NOT_FOUND;
}

typedef struct entry_change {
    larder_txn *txn;
    larder__table table;
    larder__index_definition *definition;
    larder_bytes prefix;
    larder_bytes id;
} entry_change;

static int32_t remove_entry(const entry_change *change, larder_bytes key, larder_error *error) {
    int32_t status = larder__table_remove(change->txn, change->table, key, error);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status; /* not back-filled yet */
}

/* Both sorted: removes what only the old side has, puts what only the new side has. */
static int32_t move_entries(const entry_change *change, const larder__items *old_items,
                            const larder__items *new_items, larder_error *error) {
    size_t old_count = larder__items_count(old_items), new_count = larder__items_count(new_items);
    size_t o = 0, n = 0;
    int32_t status = LARDER_OK;
    while ((o < old_count || n < new_count) && status == LARDER_OK) {
        int order = o == old_count   ? 1
                    : n == new_count ? -1
                                     : larder__bytes_compare(larder__items_get(old_items, o),
                                                             larder__items_get(new_items, n));
        if (order < 0)
            status = remove_entry(change, larder__items_get(old_items, o), error);
        else if (order > 0)
            status = larder__table_put(
                change->txn, change->table, larder__items_get(new_items, n),
                larder__index_entry_value(larder__items_at(new_items, n)->mark), error);
        o += order <= 0;
        n += order >= 0;
    }
    return status;
}

/* When the old record is damaged: finds its entries by their id. */
static int32_t remove_by_id(const entry_change *change, larder_error *error) {
    larder__index_row row;
    int32_t status = larder__index_read(change->txn, change->definition->index_id, &row, error);
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    larder__cursor cursor;
    status = larder__cursor_open(change->txn, change->table, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, change->prefix, error);
    while (status == LARDER_OK && larder__bytes_has_prefix(cursor.key, change->prefix)) {
        larder_bytes rest = larder__bytes(larder__begin(cursor.key) + change->prefix.size_bytes,
                                          cursor.key.size_bytes - change->prefix.size_bytes);
        size_t order_bytes = larder__index_boundary(&row, rest, cursor.value);
        larder_bytes id =
            larder__bytes(larder__begin(rest) + order_bytes, rest.size_bytes - order_bytes);
        if (order_bytes > 0 && larder__bytes_equal(id, change->id))
            status = larder__cursor_remove(change->txn, &cursor, error);
        if (status == LARDER_OK) status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* Makes the entries of both sides. *is_damaged: those of the old side cannot be known. */
static int32_t collect_both(const entry_change *change, larder__index_view *old_view,
                            larder__index_view *new_view, larder__index_work *work,
                            bool *is_damaged, larder_error *error) {
    larder__index_definition *definition = change->definition;
    *is_damaged = false;
    larder__items_clear(&work->old_items);
    larder__items_clear(&work->new_items);
    int32_t status = larder__index_collect(definition, old_view, change->prefix, change->id, work,
                                           &work->old_items, NULL);
    if (status == LARDER_E_NO_MEMORY) return no_memory(error);
    if (status != LARDER_OK) {
        *is_damaged = true;
        larder__items_clear(&work->old_items);
    }
    status = larder__index_collect(definition, new_view, change->prefix, change->id, work,
                                   &work->new_items, error);
    if (status != LARDER_OK || definition->contains < 0) return status;
    if (!larder__items_sort(&work->old_items, 0) || !larder__items_sort(&work->new_items, 0))
        return no_memory(error);
    return LARDER_OK;
}

static int32_t update(larder_txn *txn, larder__table table, const uint64_t *user,
                      uint64_t collection, larder_bytes id_key_form,
                      const larder_record *old_record, const larder_record *new_record,
                      larder_error *error) {
    larder__index_cache *cache;
    larder__index_definition *definition;
    int32_t status = larder__index_cache_use(txn, &cache, error);
    if (status == LARDER_OK)
        status = larder__index_of_collection(txn, cache, collection, &definition, error);
    if (status != LARDER_OK) return status;
    larder__index_view old_view = {.record = old_record, .cold = &cache->work.old_cold};
    larder__index_view new_view = {.record = new_record, .cold = &cache->work.new_cold};
    for (; definition != NULL; definition = larder__index_at(cache, definition->next)) {
        status = compare_fields(definition, &old_view, &new_view, error);
        if (status == LARDER_OK) continue;
        if (status < 0) return status;
        larder__key prefix;
        larder__index_prefix(&prefix, user, definition->index_id, collection);
        entry_change change = {txn, table, definition, larder__key_bytes(&prefix), id_key_form};
        bool is_damaged;
        status = collect_both(&change, &old_view, &new_view, &cache->work, &is_damaged, error);
        if (status != LARDER_OK) return status;
        larder_usage before = larder__index_usage(txn);
        if (is_damaged) status = remove_by_id(&change, error);
        if (status == LARDER_OK)
            status = move_entries(&change, &cache->work.old_items, &cache->work.new_items, error);
        larder__index_count(txn, definition, before);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

int32_t larder__index_update(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                             const larder_record *old_record, const larder_record *new_record,
                             larder_error *error) {
    return update(txn, LARDER__INDEX_ENTRIES, NULL, collection, id_key_form, old_record, new_record,
                  error);
}

int32_t larder__index_update_overlay(larder_txn *txn, uint64_t user, uint64_t collection,
                                     larder_bytes id_key_form, const larder_record *old_record,
                                     const larder_record *new_record, larder_error *error) {
    return update(txn, LARDER__OVERLAY_ENTRIES, &user, collection, id_key_form, old_record,
                  new_record, error);
}

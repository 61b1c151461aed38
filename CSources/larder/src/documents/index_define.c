/*
 * index_define.c - defining indexes, telling what is defined, and dropping indexes in bounded
 * steps.
 *
 * A drop first takes the definition out of use: from then on entries are not maintained and the
 * row only keeps the number from being forgotten until the last entry is gone.
 */
#include "index.h"
#include "store/catalog.h"

/* Documents and overlays that define looks at itself, so that an index that has little to do is
 * complete at once. */
enum { DEFINE_STEP_ROWS = 1000 };

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an index");
}

/* ---- define ---- */

static int32_t check_field_path(larder_bytes path, size_t position, larder_error *error) {
    if (path.size_bytes == 0 || path.data == NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "the field path of segment %zu is empty",
                            position + 1);
    if (path.size_bytes > 2 * LARDER_FIELD_NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "the field path of segment %zu has %zu bytes", position + 1,
                            path.size_bytes);
    const uint8_t *at = path.data, *end = at + path.size_bytes;
    larder_bytes name, first = {NULL, 0};
    size_t count = 0, text_bytes = 0;
    while (larder__path_next(&at, end, &name)) {
        if (!larder__utf8_is_valid(name))
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "the field path of segment %zu has a name that is not UTF-8",
                                position + 1);
        if (count++ == 0) first = name;
        text_bytes += name.size_bytes + 1;
    }
    if (at == NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "the field path of segment %zu is malformed", position + 1);
    if (text_bytes - 1 > LARDER_FIELD_NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "the field path of segment %zu has %zu bytes; %d are allowed",
                            position + 1, text_bytes - 1, LARDER_FIELD_NAME_MAX_BYTES);
    if (count == 1 && larder__bytes_equal(first, larder__bytes("__name__", 8)))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "an index has no segment for __name__: entries are in name order "
                            "within equal values");
    return LARDER_OK;
}

static int32_t check_definition(larder_bytes group, const larder_index_segment *segments,
                                size_t segment_count, larder_error *error) {
    int32_t status = larder__path_check(group, 1, error);
    if (status != LARDER_OK) return status;
    if (memchr(group.data, '/', group.size_bytes) != NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "an index belongs to a collection id, not to a path");
    if (segments == NULL || segment_count == 0 || segment_count > LARDER_INDEX_MAX_SEGMENTS)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "an index has 1 to %d segments",
                            LARDER_INDEX_MAX_SEGMENTS);
    bool contains = false;
    for (size_t i = 0; i < segment_count; i++) {
        int32_t kind = segments[i].kind;
        if (kind < LARDER_SEGMENT_ASCENDING || kind > LARDER_SEGMENT_CONTAINS)
            return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                "segment %zu has no such kind: %d", i + 1, kind);
        if (kind == LARDER_SEGMENT_CONTAINS && contains)
            return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                "an index has at most one CONTAINS segment");
        contains = contains || kind == LARDER_SEGMENT_CONTAINS;
        status = check_field_path(segments[i].field_path, i, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

static bool append_text(larder__buffer *buffer, larder_bytes text) {
    uint8_t size[LARDER__VARINT_MAX];
    return larder__buffer_append(buffer, size, larder__varint_put(size, text.size_bytes)) &&
           larder__buffer_append(buffer, text.data, text.size_bytes);
}

static bool build_definition(larder__buffer *buffer, larder_bytes group,
                             const larder_index_segment *segments, size_t segment_count) {
    buffer->size_bytes = 0;
    uint8_t count = (uint8_t)segment_count;
    bool has_memory = larder__buffer_append(buffer, &count, 1) && append_text(buffer, group);
    for (size_t i = 0; i < segment_count && has_memory; i++) {
        uint8_t kind = (uint8_t)segments[i].kind;
        has_memory =
            larder__buffer_append(buffer, &kind, 1) && append_text(buffer, segments[i].field_path);
    }
    return has_memory;
}

static int32_t define_new(larder_txn *txn, larder__index_cache *cache, larder_bytes group,
                          larder_bytes definition, uint32_t *index_id, larder_error *error) {
    if (txn->counters.next_index >= UINT32_MAX)
        return larder__fail(error, LARDER_E_TOO_LARGE, "there are no index ids left");
    int32_t status = larder__index_commit(txn, error);
    if (status != LARDER_OK) return status;
    uint32_t id = (uint32_t)++txn->counters.next_index;
    static const int64_t counts[3] = {0};
    status = larder__index_row_put(txn, id, LARDER__INDEX_BUILDING, counts, definition,
                                   larder__bytes(NULL, 0), error);
    if (status != LARDER_OK) return status;
    larder__index_changed(txn, cache);
    *index_id = id;
    status = larder__index_has_documents(txn, group, error);
    if (status != LARDER_NOT_FOUND) return status;
    /* Only overlays can be left to index, and few of them. */
    status = larder__index_cache_use(txn, &cache, error);
    if (status != LARDER_OK) return status;
    larder__index_definition *made = larder__index_cached(cache, id);
    if (made == NULL) return larder__fail(error, LARDER_E_CORRUPT, "a definition is not readable");
    status = larder__index_backfill(txn, made, DEFINE_STEP_ROWS, 0, error);
    return status == LARDER_MORE ? LARDER_OK : status;
}

int32_t larder_index_define(larder_txn *txn, larder_bytes group,
                            const larder_index_segment *segments, size_t segment_count,
                            uint32_t *index_id, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (index_id == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "index_id is NULL");
    status = check_definition(group, segments, segment_count, error);
    if (status != LARDER_OK) return status;
    larder__index_cache *cache;
    status = larder__index_cache_use(txn, &cache, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    larder__buffer *scratch = &txn->scratch;
    if (!build_definition(scratch, group, segments, segment_count))
        return larder__txn_note(txn, no_memory(error));
    larder_bytes definition = larder__bytes(scratch->data, scratch->size_bytes);
    for (int32_t at = larder__index_of_group(cache, group); at >= 0;) {
        const larder__index_definition *known = larder__index_at(cache, at);
        if (larder__bytes_equal(known->bytes, definition)) {
            *index_id = known->index_id;
            return LARDER_OK;
        }
        at = known->next;
    }
    status = define_new(txn, cache, group, definition, index_id, error);
    return larder__txn_note_partial(txn, status);
}

/* ---- get ---- */

static void fill_index(const larder_txn *txn, uint32_t index_id, const larder__index_row *row,
                       larder_index *index) {
    memset(index, 0, sizeof *index);
    index->index_id = index_id;
    index->segment_count = row->segment_count;
    index->group = row->group;
    memcpy(index->segments, row->segments, row->segment_count * sizeof row->segments[0]);
    index->entry_count = row->entry_count;
    index->size_bytes = row->size_bytes;
    index->complete = row->state == LARDER__INDEX_COMPLETE;
    index->backfilled_count = row->backfilled_count;
    const larder__index_cache *cache = txn->env->indexes;
    if (!txn->is_write || !cache->is_begun || !cache->is_loaded) return;
    const larder__index_definition *definition = larder__index_cached(cache, index_id);
    if (definition == NULL) return;
    index->entry_count += definition->entry_delta;
    index->size_bytes += definition->size_delta;
}

int32_t larder_index_get(const larder_txn *txn, uint32_t index_id, larder_index *index,
                         larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (index == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "index is NULL");
    larder__index_row row;
    status = larder__index_read(txn, index_id, &row, error);
    if (status == LARDER_OK) fill_index(txn, index_id, &row, index);
    return status;
}

/* The first row with an id above after, in one of the states that wanted has bits for. A damaged
 * row is E_CORRUPT; *index_id is set all the same. */
static int32_t next_row(const larder_txn *txn, uint32_t after, uint32_t wanted, uint32_t *index_id,
                        larder__index_row *row, larder_error *error) {
    if (after == UINT32_MAX) return LARDER_END;
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_INDEX);
    larder__key_number(&key, (uint64_t)after + 1);
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, error)) {
        const uint8_t *at = larder__begin(cursor.key), *end = at + cursor.key.size_bytes;
        larder_bytes payload;
        uint64_t number;
        if (*at++ != LARDER__KIND_INDEX) {
            status = LARDER_END;
            break;
        }
        if (!larder__key_read_number(&at, end, &number) || number == 0 || number > UINT32_MAX) {
            larder__corrupt(txn, LARDER__CATALOG, cursor.key, "not an index number", NULL);
            continue;
        }
        *index_id = (uint32_t)number;
        status = larder__unseal(txn, LARDER__CATALOG, cursor.key, cursor.value, &payload, error);
        if (status == LARDER_OK && !larder__index_parse(payload, row))
            status = larder__corrupt(txn, LARDER__CATALOG, cursor.key,
                                     "an index definition that is malformed", error);
        if (status != LARDER_OK || (wanted & 1u << row->state) != 0) break;
    }
    larder__cursor_close(&cursor);
    return status;
}

int32_t larder_index_next(const larder_txn *txn, uint32_t after, larder_index *index,
                          larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (index == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "index is NULL");
    larder__index_row row;
    uint32_t index_id = 0;
    status = next_row(txn, after, 1u << LARDER__INDEX_BUILDING | 1u << LARDER__INDEX_COMPLETE,
                      &index_id, &row, error);
    if (status == LARDER_OK) fill_index(txn, index_id, &row, index);
    /* So that a caller can drop a damaged definition and go on behind it. */
    if (status == LARDER_E_CORRUPT) {
        memset(index, 0, sizeof *index);
        index->index_id = index_id;
    }
    return status;
}

/* ---- drop ---- */

/* Removes what begins with prefix until *left is 0: OK, or MORE when some are left. */
static int32_t remove_entries(larder_txn *txn, larder__table table, const larder__key *prefix,
                              int64_t *left, larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, table, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(prefix), error);
    while (status == LARDER_OK && larder__bytes_has_prefix(cursor.key, larder__key_bytes(prefix))) {
        if (*left == 0) {
            status = LARDER_MORE;
            break;
        }
        (*left)--;
        status = larder__cursor_remove(txn, &cursor, error);
        if (status == LARDER_OK) status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* The same for every user that has overlay entries. */
static int32_t remove_overlay_entries(larder_txn *txn, uint32_t index_id, int64_t *left,
                                      larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__OVERLAY_ENTRIES, &cursor, error);
    if (status != LARDER_OK) return status;
    larder__key key;
    larder__key_clear(&key);
    for (;;) {
        uint64_t user;
        status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
        if (status != LARDER_OK) break;
        const uint8_t *at = larder__begin(cursor.key);
        if (!larder__key_read_number(&at, at + cursor.key.size_bytes, &user)) {
            status =
                larder__corrupt(txn, LARDER__OVERLAY_ENTRIES, cursor.key, "no user number", error);
            break;
        }
        larder__key_clear(&key);
        larder__key_number(&key, user);
        larder__key_number(&key, index_id);
        status = remove_entries(txn, LARDER__OVERLAY_ENTRIES, &key, left, error);
        if (status != LARDER_OK) break;
        larder__key_clear(&key);
        larder__key_number(&key, user + 1);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* Takes the index out of use. */
static int32_t begin_drop(larder_txn *txn, uint32_t index_id, larder_error *error) {
    larder__index_cache *cache;
    int32_t status = larder__index_cache_use(txn, &cache, error);
    if (status == LARDER_OK) status = larder__index_commit(txn, error);
    if (status != LARDER_OK) return status;
    larder__index_definition *definition = larder__index_cached(cache, index_id);
    if (definition == NULL)
        return larder__fail(error, LARDER_E_CORRUPT, "index %u is not in memory", index_id);
    status = larder__index_write(txn, definition, LARDER__INDEX_DROPPING, 0, larder__bytes(NULL, 0),
                                 error);
    if (status == LARDER_OK) larder__index_changed(txn, cache);
    return status;
}

int32_t larder__index_drop_entries(larder_txn *txn, uint32_t index_id, int64_t *left,
                                   larder_error *error) {
    larder__key prefix;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, index_id);
    int32_t status = remove_entries(txn, LARDER__INDEX_ENTRIES, &prefix, left, error);
    if (status != LARDER_OK) return status;
    return remove_overlay_entries(txn, index_id, left, error);
}

/* Keeps the counts of a row whose index is going true to the entries that are left. */
static int32_t count_dropped(larder_txn *txn, uint32_t index_id, larder_usage before,
                             larder_error *error) {
    larder__index_row row;
    larder_error failure = {0};
    int32_t status = larder__index_row_read(txn, index_id, &row, &failure);
    if (status == LARDER_E_CORRUPT) return LARDER_OK;
    if (status != LARDER_OK) return larder__index_give(error, &failure);
    larder_usage now = larder__index_usage(txn);
    int64_t counts[3] = {row.entry_count + now.row_count - before.row_count,
                         row.size_bytes + now.size_bytes - before.size_bytes, 0};
    larder__buffer *scratch = &txn->scratch;
    scratch->size_bytes = 0;
    if (!larder__buffer_append(scratch, row.definition.data, row.definition.size_bytes))
        return no_memory(error);
    return larder__index_row_put(txn, index_id, LARDER__INDEX_DROPPING, counts,
                                 larder__bytes(scratch->data, scratch->size_bytes),
                                 larder__bytes(NULL, 0), error);
}

static int32_t drop(larder_txn *txn, uint32_t index_id, bool is_in_use, int64_t max_entries,
                    larder_error *error) {
    int32_t status = is_in_use ? begin_drop(txn, index_id, error) : LARDER_OK;
    if (status != LARDER_OK) return status;
    int64_t left = max_entries == 0 ? INT64_MAX : max_entries;
    larder_usage before = larder__index_usage(txn);
    status = larder__index_drop_entries(txn, index_id, &left, error);
    if (status == LARDER_MORE) {
        status = count_dropped(txn, index_id, before, error);
        return status == LARDER_OK ? LARDER_MORE : status;
    }
    if (status != LARDER_OK) return status;
    larder__key key = larder__index_row_key(index_id);
    return larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
}

/* The first index that a drop was begun of, damaged rows of others passed over: OK, END. */
static int32_t next_dropping(const larder_txn *txn, uint32_t *index_id, larder__index_row *row,
                             larder_error *error) {
    int32_t status;
    *index_id = 0;
    do {
        status = next_row(txn, *index_id, 1u << LARDER__INDEX_DROPPING, index_id, row, error);
    } while (status == LARDER_E_CORRUPT);
    return status;
}

int32_t larder_index_drop(larder_txn *txn, uint32_t index_id, int64_t max_entries,
                          larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (max_entries < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_entries is below 0");
    larder__index_row row;
    larder_error failure = {0};
    bool goes_on = index_id == 0;
    /* 0: what an earlier drop left, which nothing else finds any more. */
    if (goes_on) {
        status = next_dropping(txn, &index_id, &row, &failure);
        if (status == LARDER_END) return LARDER_OK;
    } else {
        status = larder__index_row_read(txn, index_id, &row, &failure);
        if (status == LARDER_NOT_FOUND) return status;
    }
    /* A damaged definition is not in use. */
    bool is_in_use = status == LARDER_OK && row.state != LARDER__INDEX_DROPPING;
    if (status != LARDER_OK && status != LARDER_E_CORRUPT)
        return larder__txn_note(txn, larder__index_give(error, &failure));
    status = drop(txn, index_id, is_in_use, max_entries, error);
    if (status != LARDER_OK || !goes_on) return larder__txn_note_partial(txn, status);
    status = next_dropping(txn, &index_id, &row, &failure);
    if (status == LARDER_END) return LARDER_OK;
    return status == LARDER_OK ? LARDER_MORE
                               : larder__txn_note(txn, larder__index_give(error, &failure));
}

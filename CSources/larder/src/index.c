/*
 * index.c - index definitions: their rows, the writer's cache of them, define, get and drop.
 *
 * The cache belongs to the one writer of the process and is kept between transactions: writing a
 * document asks it which indexes its collection has. It is dropped when a transaction that
 * changed definitions is aborted, and with LARDER_OPEN_SHARED when catalog_version says that
 * another process committed a change of names. Readers parse the row in their own snapshot.
 *
 * Counts of entries change with every document, so they are kept as differences in the cache
 * and added to the rows when the transaction commits.
 */
#include "index.h"

enum { ROW_COUNTS_AT = 1, ROW_BACKFILLED_AT = 17, ROW_DEFINITION_AT = 25 };
/* Documents and overlays that define looks at itself, so that an index that has little to do is
 * complete at once. */
enum { DEFINE_STEP_ROWS = 1000 };

/* ---- rows ---- */

static larder__key row_key(uint32_t index_id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_INDEX);
    larder__key_number(&key, index_id);
    return key;
}

static bool take_text(const uint8_t **at, const uint8_t *end, larder_bytes *text) {
    uint64_t size;
    size_t n = larder__varint_get(*at, end, &size);
    if (n == 0 || size > (size_t)(end - *at) - n) return false;
    *text = larder__bytes(*at + n, (size_t)size);
    *at += n + size;
    return true;
}

bool larder__index_parse(larder_bytes payload, larder__index_row *row) {
    if (payload.size_bytes <= ROW_DEFINITION_AT) return false;
    const uint8_t *begin = larder__begin(payload), *end = begin + payload.size_bytes;
    const uint8_t *at = begin + ROW_DEFINITION_AT;
    row->state = begin[0];
    row->entry_count = (int64_t)larder__load64(begin + ROW_COUNTS_AT);
    row->size_bytes = (int64_t)larder__load64(begin + ROW_COUNTS_AT + 8);
    row->backfilled_count = (int64_t)larder__load64(begin + ROW_BACKFILLED_AT);
    row->segment_count = *at++;
    if (row->state < LARDER__INDEX_BUILDING || row->state > LARDER__INDEX_DROPPING ||
        row->segment_count == 0 || row->segment_count > LARDER_INDEX_MAX_SEGMENTS ||
        !take_text(&at, end, &row->group))
        return false;
    for (uint32_t i = 0; i < row->segment_count; i++) {
        larder_index_segment *segment = &row->segments[i];
        if (at == end || *at > LARDER_SEGMENT_CONTAINS) return false;
        segment->kind = *at++;
        segment->reserved = 0;
        if (!take_text(&at, end, &segment->field_path)) return false;
    }
    row->definition =
        larder__bytes(begin + ROW_DEFINITION_AT, (size_t)(at - begin) - ROW_DEFINITION_AT);
    row->position = larder__bytes(at, (size_t)(end - at));
    return true;
}

/* The row in any state. */
static int32_t read_row(const larder_txn *txn, uint32_t index_id, larder__index_row *row,
                        larder_error *error) {
    larder__key key = row_key(index_id);
    larder_bytes payload;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status != LARDER_OK) return status;
    if (larder__index_parse(payload, row)) return LARDER_OK;
    return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                           "an index definition that is malformed", error);
}

int32_t larder__index_read(const larder_txn *txn, uint32_t index_id, larder__index_row *row,
                           larder_error *error) {
    int32_t status = read_row(txn, index_id, row, error);
    return status == LARDER_OK && row->state == LARDER__INDEX_DROPPING ? LARDER_NOT_FOUND : status;
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an index");
}

/* For calls that go on after some failures: hands one that counts to the caller. */
static int32_t give(larder_error *error, const larder_error *failure) {
    if (error != NULL) *error = *failure;
    return failure->status;
}

static int32_t put_row(larder_txn *txn, uint32_t index_id, int32_t state, const int64_t counts[3],
                       larder_bytes definition, larder_bytes position, larder_error *error) {
    larder__key key = row_key(index_id);
    uint8_t head[ROW_DEFINITION_AT] = {(uint8_t)state};
    for (size_t i = 0; i < 3; i++)
        larder__store64(head + ROW_COUNTS_AT + 8 * i, (uint64_t)counts[i]);
    larder_bytes parts[3] = {larder__bytes(head, sizeof head), definition, position};
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), parts, 3, error);
}

int32_t larder__index_write(larder_txn *txn, larder__index_definition *definition, int32_t state,
                            int64_t backfilled_count, larder_bytes position, larder_error *error) {
    larder__index_row row;
    int32_t status = read_row(txn, definition->index_id, &row, error);
    if (status != LARDER_OK) return status;
    int64_t counts[3] = {row.entry_count + definition->entry_delta,
                         row.size_bytes + definition->size_delta, backfilled_count};
    definition->entry_delta = definition->size_delta = 0;
    definition->is_touched = false;
    return put_row(txn, definition->index_id, state, counts, definition->bytes, position, error);
}

/* ---- the cache ---- */

int32_t larder__index_create_cache(larder_env *env, larder_error *error) {
    larder__index_cache *cache = larder__allocate(&env->allocator, sizeof *cache);
    if (cache == NULL) return no_memory(error);
    memset(cache, 0, sizeof *cache);
    cache->texts.allocator = &env->allocator;
    cache->definitions.allocator = &env->allocator;
    cache->row.allocator = &env->allocator;
    larder__index_work_init(&cache->work, &env->allocator);
    env->indexes = cache;
    return LARDER_OK;
}

void larder__index_destroy_cache(larder_env *env) {
    larder__index_cache *cache = env->indexes;
    if (cache == NULL) return;
    larder__buffer_free(&cache->texts);
    larder__buffer_free(&cache->definitions);
    larder__buffer_free(&cache->row);
    larder__index_work_free(&cache->work);
    larder__release(&env->allocator, cache);
    env->indexes = NULL;
}

static size_t definition_count(const larder__index_cache *cache) {
    return cache->definitions.size_bytes / sizeof(larder__index_definition);
}

void larder__index_describe(larder__index_definition *definition, const larder__index_row *row) {
    definition->segment_count = row->segment_count;
    definition->contains = -1;
    definition->next = -1;
    definition->bytes = row->definition;
    definition->group = row->group;
    for (uint32_t i = 0; i < row->segment_count; i++) {
        definition->kinds[i] = (uint8_t)row->segments[i].kind;
        larder_field_init(&definition->fields[i], row->segments[i].field_path);
        if (row->segments[i].kind == LARDER_SEGMENT_CONTAINS) definition->contains = (int32_t)i;
    }
}

/* Copies one row in. What the definition's bytes point to is set when all texts are there. */
static int32_t load_row(larder_txn *txn, larder__index_cache *cache, larder_bytes key,
                        larder_bytes value) {
    larder_bytes payload;
    larder__index_row row;
    uint64_t number;
    const uint8_t *at = larder__begin(key) + 1;
    int32_t status = larder__unseal(txn, LARDER__CATALOG, key, value, &payload, NULL);
    if (status != LARDER_OK) return status;
    if (!larder__key_read_number(&at, larder__begin(key) + key.size_bytes, &number) ||
        number == 0 || number > UINT32_MAX || !larder__index_parse(payload, &row))
        return larder__corrupt(txn, LARDER__CATALOG, key, "an index definition that is malformed",
                               NULL);
    if (row.state == LARDER__INDEX_DROPPING) return LARDER_OK;
    larder__index_definition definition;
    memset(&definition, 0, sizeof definition);
    definition.index_id = (uint32_t)number;
    definition.bytes.size_bytes = payload.size_bytes - row.position.size_bytes;
    if (!larder__buffer_append(&cache->texts, payload.data, definition.bytes.size_bytes) ||
        !larder__buffer_append(&cache->definitions, &definition, sizeof definition))
        return LARDER_E_NO_MEMORY;
    return LARDER_OK;
}

static void link_definitions(larder__index_cache *cache) {
    const uint8_t *at = cache->texts.data;
    size_t count = definition_count(cache);
    for (size_t i = 0; i < count; i++) {
        larder__index_definition *definition = larder__index_at(cache, (int32_t)i);
        larder__index_row row;
        size_t size_bytes = definition->bytes.size_bytes;
        if (larder__index_parse(larder__bytes(at, size_bytes), &row))
            larder__index_describe(definition, &row);
        at += size_bytes;
        for (size_t before = i; before-- > 0;) {
            larder__index_definition *other = larder__index_at(cache, (int32_t)before);
            if (!larder__bytes_equal(other->group, definition->group)) continue;
            other->next = (int32_t)i;
            break;
        }
    }
}

static int32_t load(larder_txn *txn, larder__index_cache *cache, larder_error *error) {
    static const uint8_t kind = LARDER__KIND_INDEX;
    larder__cursor cursor;
    cache->texts.size_bytes = 0;
    cache->definitions.size_bytes = 0;
    memset(cache->memo, 0, sizeof cache->memo);
    int32_t status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__bytes(&kind, 1), error);
    while (status == LARDER_OK && larder__begin(cursor.key)[0] == kind) {
        status = load_row(txn, cache, cursor.key, cursor.value);
        if (status == LARDER_E_NO_MEMORY) no_memory(error);
        /* A damaged definition cannot be scanned either: drop it and define it again. */
        if (status == LARDER_OK || status == LARDER_E_CORRUPT)
            status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    if (status < 0) return status;
    link_definitions(cache);
    cache->is_loaded = true;
    return LARDER_OK;
}

int32_t larder__index_cache_use(larder_txn *txn, larder__index_cache **used, larder_error *error) {
    larder__index_cache *cache = txn->env->indexes;
    if (!cache->is_begun) {
        cache->is_begun = true;
        if ((txn->env->flags & LARDER_OPEN_SHARED) != 0 &&
            cache->catalog_version != txn->counters.catalog_version)
            cache->is_loaded = false;
        cache->catalog_version = txn->counters.catalog_version;
    }
    *used = cache;
    if (cache->is_loaded) return LARDER_OK;
    return larder__txn_note(txn, load(txn, cache, error));
}

larder__index_definition *larder__index_cached(const larder__index_cache *cache,
                                               uint32_t index_id) {
    size_t low = 0, high = definition_count(cache);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        larder__index_definition *definition = larder__index_at(cache, (int32_t)middle);
        if (definition->index_id == index_id) return definition;
        if (definition->index_id < index_id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int32_t first_of_group(const larder__index_cache *cache, larder_bytes group) {
    size_t count = definition_count(cache);
    for (size_t i = 0; i < count; i++)
        if (larder__bytes_equal(larder__index_at(cache, (int32_t)i)->group, group))
            return (int32_t)i;
    return -1;
}

int32_t larder__index_of_collection(larder_txn *txn, larder__index_cache *cache,
                                    uint64_t collection, larder__index_definition **first,
                                    larder_error *error) {
    *first = NULL;
    if (definition_count(cache) == 0) return LARDER_OK;
    size_t slot = collection % LARDER__INDEX_MEMO;
    if (cache->memo[slot].collection != collection) {
        larder_bytes path;
        int32_t status = larder__collection_info(txn, collection, &path, NULL, error);
        if (status != LARDER_OK) return status;
        cache->memo[slot].collection = collection;
        cache->memo[slot].first = first_of_group(cache, larder__path_last(path));
    }
    *first = larder__index_at(cache, cache->memo[slot].first);
    return LARDER_OK;
}

larder_usage larder__index_usage(const larder_txn *txn) {
    return txn->counters.usage[LARDER__COUNT_INDEXES];
}

void larder__index_count(const larder_txn *txn, larder__index_definition *definition,
                         larder_usage before) {
    const larder_usage *now = &txn->counters.usage[LARDER__COUNT_INDEXES];
    definition->entry_delta += now->row_count - before.row_count;
    definition->size_delta += now->size_bytes - before.size_bytes;
    definition->is_touched = true;
}

int32_t larder__index_commit(larder_txn *txn, larder_error *error) {
    larder__index_cache *cache = txn->env->indexes;
    if (!cache->is_begun || !cache->is_loaded) return LARDER_OK;
    size_t count = definition_count(cache);
    for (size_t i = 0; i < count; i++) {
        larder__index_definition *definition = larder__index_at(cache, (int32_t)i);
        if (!definition->is_touched) continue;
        larder__index_row row;
        larder_error failure = {0};
        int32_t status = read_row(txn, definition->index_id, &row, &failure);
        /* A row damaged since it was loaded: the index can only be dropped; go on without. */
        if (status == LARDER_E_CORRUPT || status == LARDER_NOT_FOUND) continue;
        if (status != LARDER_OK) return give(error, &failure);
        cache->row.size_bytes = 0;
        if (!larder__buffer_append(&cache->row, row.position.data, row.position.size_bytes))
            return no_memory(error);
        status = larder__index_write(txn, definition, row.state, row.backfilled_count,
                                     larder__bytes(cache->row.data, cache->row.size_bytes), error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

void larder__index_ended(larder_txn *txn, bool committed) {
    larder__index_cache *cache = txn->env->indexes;
    if (cache == NULL) return;
    if (committed) {
        if (cache->is_begun) cache->catalog_version = txn->counters.catalog_version;
    } else {
        if (cache->is_changed) cache->is_loaded = false;
        /* The numbers of collections that were not made after all go to others. */
        memset(cache->memo, 0, sizeof cache->memo);
        size_t count = definition_count(cache);
        for (size_t i = 0; i < count; i++) {
            larder__index_definition *definition = larder__index_at(cache, (int32_t)i);
            definition->entry_delta = definition->size_delta = 0;
            definition->is_touched = false;
        }
    }
    cache->is_begun = cache->is_changed = false;
}

/* The cache is read again when it is needed next; pending counts are in the rows already. */
static void definitions_changed(larder_txn *txn, larder__index_cache *cache) {
    cache->is_loaded = false;
    cache->is_changed = true;
    txn->counters.catalog_version++;
}

/* ---- define ---- */

static int32_t check_field_path(larder_bytes path, size_t position, larder_error *error) {
    if (path.size_bytes == 0 || path.data == NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "the field path of segment %zu is empty",
                            position + 1);
    const uint8_t *at = path.data, *end = at + path.size_bytes;
    larder_bytes name, first = {NULL, 0};
    size_t count = 0, text_bytes = 0;
    while (larder__path_next(&at, end, &name)) {
        if (name.size_bytes == 0 || !larder__utf8_is_valid(name))
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "the field path of segment %zu has an empty name or one that is "
                                "not UTF-8",
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
    status =
        put_row(txn, id, LARDER__INDEX_BUILDING, counts, definition, larder__bytes(NULL, 0), error);
    if (status != LARDER_OK) return status;
    definitions_changed(txn, cache);
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
    for (int32_t at = first_of_group(cache, group); at >= 0;) {
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

/* Takes the index out of use; row is what is stored, NULL when damaged. */
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
    if (status == LARDER_OK) definitions_changed(txn, cache);
    return status;
}

static int32_t drop_entries(larder_txn *txn, uint32_t index_id, int64_t *left,
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
    int32_t status = read_row(txn, index_id, &row, &failure);
    if (status == LARDER_E_CORRUPT) return LARDER_OK;
    if (status != LARDER_OK) return give(error, &failure);
    larder_usage now = larder__index_usage(txn);
    int64_t counts[3] = {row.entry_count + now.row_count - before.row_count,
                         row.size_bytes + now.size_bytes - before.size_bytes, 0};
    larder__buffer *scratch = &txn->scratch;
    scratch->size_bytes = 0;
    if (!larder__buffer_append(scratch, row.definition.data, row.definition.size_bytes))
        return no_memory(error);
    return put_row(txn, index_id, LARDER__INDEX_DROPPING, counts,
                   larder__bytes(scratch->data, scratch->size_bytes), larder__bytes(NULL, 0),
                   error);
}

static int32_t drop(larder_txn *txn, uint32_t index_id, bool is_in_use, int64_t max_entries,
                    larder_error *error) {
    int32_t status = is_in_use ? begin_drop(txn, index_id, error) : LARDER_OK;
    if (status != LARDER_OK) return status;
    int64_t left = max_entries == 0 ? INT64_MAX : max_entries;
    larder_usage before = larder__index_usage(txn);
    status = drop_entries(txn, index_id, &left, error);
    if (status == LARDER_MORE) {
        status = count_dropped(txn, index_id, before, error);
        return status == LARDER_OK ? LARDER_MORE : status;
    }
    if (status != LARDER_OK) return status;
    larder__key key = row_key(index_id);
    return larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
}

int32_t larder_index_drop(larder_txn *txn, uint32_t index_id, int64_t max_entries,
                          larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (max_entries < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_entries is below 0");
    larder__index_row row;
    larder_error failure = {0};
    /* 0: what an earlier drop left, which nothing else finds any more. */
    if (index_id == 0) {
        do {
            status =
                next_row(txn, index_id, 1u << LARDER__INDEX_DROPPING, &index_id, &row, &failure);
        } while (status == LARDER_E_CORRUPT);
        if (status == LARDER_END) return LARDER_OK;
    } else {
        status = read_row(txn, index_id, &row, &failure);
        if (status == LARDER_NOT_FOUND) return status;
    }
    /* A damaged definition is in nobody's use. */
    bool is_in_use = status == LARDER_OK && row.state != LARDER__INDEX_DROPPING;
    if (status != LARDER_OK && status != LARDER_E_CORRUPT)
        return larder__txn_note(txn, give(error, &failure));
    return larder__txn_note_partial(txn, drop(txn, index_id, is_in_use, max_entries, error));
}

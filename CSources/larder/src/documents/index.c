/*
 * index.c - index definitions: their rows and the writer's cache of them.
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
#include "store/catalog.h"

enum { STATE_BUILDING_EARLIER = 1, STATE_COMPLETE_EARLIER = 2 }; /* of versions up to 0.2 */
enum { ROW_COUNTS_AT = 1, ROW_BACKFILLED_AT = 17, ROW_DEFINITION_AT = 25 };

/* ---- rows ---- */

larder__key larder__index_row_key(uint32_t index_id) {
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
    if (row->state < STATE_BUILDING_EARLIER || row->state > LARDER__INDEX_COMPLETE ||
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
    if (row->state == STATE_BUILDING_EARLIER || row->state == STATE_COMPLETE_EARLIER) {
        row->state = LARDER__INDEX_BUILDING;
        row->backfilled_count = 0;
        row->position = larder__index_clearing();
    }
    return true;
}

int32_t larder__index_row_read(const larder_txn *txn, uint32_t index_id, larder__index_row *row,
                               larder_error *error) {
    larder__key key = larder__index_row_key(index_id);
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
    int32_t status = larder__index_row_read(txn, index_id, row, error);
    return status == LARDER_OK && row->state == LARDER__INDEX_DROPPING ? LARDER_NOT_FOUND : status;
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an index");
}

int32_t larder__index_row_put(larder_txn *txn, uint32_t index_id, int32_t state,
                              const int64_t counts[3], larder_bytes definition,
                              larder_bytes position, larder_error *error) {
    larder__key key = larder__index_row_key(index_id);
    uint8_t head[ROW_DEFINITION_AT] = {(uint8_t)state};
    for (size_t i = 0; i < 3; i++)
        larder__store64(head + ROW_COUNTS_AT + 8 * i, (uint64_t)counts[i]);
    larder_bytes parts[3] = {larder__bytes(head, sizeof head), definition, position};
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), parts, 3, error);
}

int32_t larder__index_write(larder_txn *txn, larder__index_definition *definition, int32_t state,
                            int64_t backfilled_count, larder_bytes position, larder_error *error) {
    larder__index_row row;
    int32_t status = larder__index_row_read(txn, definition->index_id, &row, error);
    if (status != LARDER_OK) return status;
    int64_t counts[3] = {row.entry_count + definition->entry_delta,
                         row.size_bytes + definition->size_delta, backfilled_count};
    definition->entry_delta = definition->size_delta = 0;
    definition->is_touched = false;
    return larder__index_row_put(txn, definition->index_id, state, counts, definition->bytes,
                                 position, error);
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
    definition.bytes.size_bytes = ROW_DEFINITION_AT + row.definition.size_bytes;
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

int32_t larder__index_of_group(const larder__index_cache *cache, larder_bytes group) {
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
        cache->memo[slot].first = larder__index_of_group(cache, larder__path_last(path));
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
        int32_t status = larder__index_row_read(txn, definition->index_id, &row, &failure);
        /* A row damaged since it was loaded: the index can only be dropped; go on without. */
        if (status == LARDER_E_CORRUPT || status == LARDER_NOT_FOUND) continue;
        if (status != LARDER_OK) return larder__index_give(error, &failure);
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

void larder__index_changed(larder_txn *txn, larder__index_cache *cache) {
    cache->is_loaded = false;
    cache->is_changed = true;
    txn->counters.catalog_version++;
}

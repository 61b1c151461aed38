/* lru_kit.c - see lru_kit.h. */
#include "lru_kit.h"

#include "documents/documents.h"
#include "store/catalog.h"
#include "store/row.h"

#define LONG_US ((int64_t)1 << 40)

void lru_put_in(larder_txn *txn, const char *name, size_t text_bytes) {
    static char text[65000];
    uint64_t state = larder__hash64(test_text(name)) | 1;
    if (text_bytes >= sizeof text) abort();
    for (size_t i = 0; i < text_bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        text[i] = (char)('!' + (state >> 40) % 90);
    }
    text[text_bytes] = 0;
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version = info.create_time = info.read_time = (larder_time){1, 0, 0};
    CHECK_OK(larder_document_put(txn, test_text(name), &info, store_record(1, text), &test_error));
}

void lru_put(larder_env *env, const char *name, size_t text_bytes) {
    larder_txn *txn = store_write(env);
    lru_put_in(txn, name, text_bytes);
    store_commit(txn);
}

void lru_next_epoch(larder_env *env) {
    larder_txn *txn = store_write(env);
    larder__lru_begin_epoch(txn);
    txn->changed = true;
    store_commit(txn);
}

bool lru_has(larder_env *env, const char *name) {
    larder_document document;
    const larder_txn *txn = store_read(env);
    int32_t status = larder_document_get(txn, test_text(name), &document, &test_error);
    CHECK(status >= 0);
    larder_txn_end_read(txn);
    return status == LARDER_OK;
}

uint32_t lru_epoch_of(larder_env *env, const char *name) {
    larder__lru_entry entry = {.kind = LARDER__LRU_DOCUMENT};
    larder__id id;
    uint32_t epoch = 0;
    const larder_txn *txn = store_read(env);
    int32_t status = larder__name_find(txn, test_text(name), &entry.number, &id, &test_error);
    entry.id = larder__id_bytes(&id);
    if (status == LARDER_OK) status = larder__lru_documents.epoch(txn, &entry, &epoch, &test_error);
    CHECK(status >= 0);
    larder_txn_end_read(txn);
    return status == LARDER_OK ? epoch : 0;
}

int64_t lru_entries(larder_env *env, bool current_only) {
    const larder_txn *txn = store_read(env);
    larder__cursor cursor;
    int64_t count = 0;
    CHECK_OK(larder__cursor_open(txn, LARDER__LRU, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), &test_error);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, &test_error)) {
        const uint8_t *at = larder__begin(cursor.value), *end = at + cursor.value.size_bytes;
        uint32_t epoch, chunk;
        larder__lru_entry entry;
        CHECK(larder__lru_read_key(cursor.key, &epoch, &chunk));
        while (at < end && larder__lru_entry_read(&at, end, &entry)) {
            bool is_current = true;
            if (current_only)
                CHECK_OK(larder__lru_is_current(txn, &entry, epoch, &is_current, &test_error));
            count += is_current;
        }
        CHECK(at == end);
    }
    larder__cursor_close(&cursor);
    larder_txn_end_read(txn);
    return count;
}

larder_lru_result lru_step(larder_env *env, int64_t goal_bytes, int64_t max_documents,
                           int32_t expected) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    CHECK_STATUS(larder_lru_step(env, goal_bytes, max_documents, LONG_US, &result, &test_error),
                 expected);
    return result;
}

larder_lru_result lru_reclaim(larder_env *env, int64_t goal_bytes) {
    larder_lru_result sum = {.struct_bytes = sizeof sum};
    for (int32_t status = LARDER_MORE; status == LARDER_MORE;) {
        larder_lru_result result = {.struct_bytes = sizeof result};
        status = larder_lru_step(env, goal_bytes, 0, LONG_US, &result, &test_error);
        CHECK(status >= 0);
        sum.evicted_count += result.evicted_count;
        sum.target_count += result.target_count;
        sum.freed_bytes += result.freed_bytes;
        sum.pinned_count += result.pinned_count;
        sum.total_bytes = result.total_bytes;
    }
    return sum;
}

larder_cache_rule lru_rule(int32_t scope, const char *path, uint32_t flags) {
    larder_cache_rule rule = {.struct_bytes = sizeof rule, .scope = scope, .flags = flags};
    rule.path = test_text(path);
    return rule;
}

void lru_set_rules(larder_env *env, const larder_cache_rule *rules, size_t count) {
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_cache_rules_set(txn, rules, count, &test_error));
    store_commit(txn);
}

void lru_at(larder_env *env, int64_t second) {
    CHECK_OK(larder_lru_set_time(env, second * LRU_SECOND, &test_error));
}

larder_cache_rule lru_get_rule(larder_env *env, size_t index, int32_t expected) {
    const larder_txn *txn = store_read(env);
    larder_cache_rule rule = {.struct_bytes = sizeof rule};
    CHECK_STATUS(larder_cache_rules_get(txn, index, &rule, &test_error), expected);
    larder_txn_end_read(txn);
    return rule;
}

void lru_touch(larder_env *env, const char *name) {
    CHECK_OK(larder_lru_touch(env, test_text(name), &test_error));
    store_commit(store_write(env));
}

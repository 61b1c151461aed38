/* node_kit.c - see node_kit.h. */
#include "node_kit.h"

larder_env *node_kit_open(uint64_t *tree) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_node_tree_obtain(txn, test_text("test"), tree, &test_error));
    store_commit(txn);
    return env;
}

void node_kit_put(larder_txn *txn, uint64_t tree, const char *path, node_model *value) {
    larder_bytes encoded = node_model_bytes(value);
    CHECK_OK(larder_node_put(txn, tree, test_text(path), encoded, &test_error));
    node_model_bytes_free(encoded);
    node_model_free(value);
}

void node_kit_commit(larder_env *env, uint64_t tree, const char *path, node_model *value) {
    larder_txn *txn = store_write(env);
    node_kit_put(txn, tree, path, value);
    store_commit(txn);
}

node_model *node_kit_read(const larder_txn *txn, uint64_t tree, const char *path) {
    larder_node_builder *builder = NULL;
    larder_bytes encoded = {0};
    CHECK_OK(larder_node_builder_create(NULL, &builder, &test_error));
    int32_t status = larder_node_read(txn, tree, test_text(path), builder, &test_error);
    CHECK(status == LARDER_OK || status == LARDER_NOT_FOUND);
    CHECK_OK(larder_node_builder_finish(builder, &encoded, &test_error));
    CHECK_EQ(status == LARDER_NOT_FOUND, encoded.size_bytes == 0);
    node_model *found = node_model_decode(encoded);
    larder_node_builder_close(builder);
    return found;
}

bool node_kit_has(larder_env *env, uint64_t tree, const char *path) {
    const larder_txn *txn = store_read(env);
    node_model *found = node_kit_read(txn, tree, path);
    larder_txn_end_read(txn);
    node_model_free(found);
    return found != NULL;
}

void node_kit_expect(larder_env *env, uint64_t tree, const char *path, node_model *value) {
    const larder_txn *txn = store_read(env);
    node_model *found = node_kit_read(txn, tree, path);
    larder_txn_end_read(txn);
    CHECK_NOTE(node_model_is_same(found, value), "%s has another value", path);
    node_model_free(found);
    node_model_free(value);
}

const char *node_kit_noise(size_t size_bytes) {
    static char noise[65536];
    if (size_bytes >= sizeof noise) abort();
    for (size_t i = 0; i < size_bytes; i++)
        noise[i] = (char)('!' + test_random_below(90));
    noise[size_bytes] = 0;
    return noise;
}

node_model *node_kit_list(int first, int count, size_t size_bytes) {
    node_model *list = NULL;
    char key[16];
    for (int i = first; i < first + count; i++) {
        snprintf(key, sizeof key, "k%04d", i);
        list = node_model_put(list, key, node_model_text(node_kit_noise(size_bytes)));
    }
    return list;
}

/* ---- queries ---- */

void node_kit_track(larder_env *env, uint64_t tree, int64_t id, const char *path, uint32_t flags) {
    larder_node_query query = {
        .struct_bytes = sizeof query, .query_id = id, .flags = flags, .path = test_text(path)};
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_node_query_put(txn, tree, &query, &test_error));
    store_commit(txn);
}

void node_kit_track_key(larder_env *env, uint64_t tree, int64_t id, const char *key) {
    larder_bytes text = test_text(key);
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_node_query_change_keys(txn, tree, id, NULL, 0, &text, 1, &test_error));
    store_commit(txn);
}

void node_kit_untrack(larder_env *env, uint64_t tree, int64_t id) {
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_node_query_remove(txn, tree, id, &test_error));
    store_commit(txn);
}

void node_kit_evict(larder_env *env) {
    enum { STEPS_MAX = 1000 };
    larder_lru_result result = {.struct_bytes = sizeof result};
    int32_t status = LARDER_MORE;
    for (int step = 0; step < STEPS_MAX && status == LARDER_MORE; step++)
        status = larder_lru_step(env, 0, 16, 0, &result, &test_error);
    CHECK_OK(status);
}

/* ---- rows ---- */

uint64_t node_kit_location(const larder_txn *txn, uint64_t tree, const char *path) {
    larder__place place;
    uint64_t location = 0;
    if (larder__place_find(txn, tree, test_text(path), &place, &test_error) == LARDER_OK)
        (void)larder__reference_read(&place.head, larder__place_end(&place), &location);
    larder__place_close(&place);
    return location;
}

int64_t node_kit_row_count(const larder_txn *txn, uint64_t location) {
    larder__location_cursor rows;
    int64_t count = 0;
    CHECK_OK(larder__location_open(txn, location, &rows, &test_error));
    int32_t status = larder__location_first(&rows, &test_error);
    for (; status == LARDER_OK; status = larder__location_next(&rows, &test_error))
        count++;
    CHECK_STATUS(status, LARDER_END);
    larder__location_close(&rows);
    return count;
}

void node_kit_row(larder_txn *txn, uint64_t location, larder_bytes separator,
                  const node_kit_child *children, size_t count) {
    static larder__segment_writer writer;
    const larder_allocator *allocator = &txn->env->allocator;
    larder__key key;
    uint32_t dictionary;
    writer.names.allocator = writer.hot.allocator = writer.cold.allocator = allocator;
    larder__location_key(&key, location);
    larder__key_append(&key, separator.data, separator.size_bytes);
    larder__segment_begin(&writer);
    for (size_t i = 0; i < count; i++)
        CHECK_OK(larder__segment_add(&writer, children[i].form, children[i].node, &test_error));
    CHECK_OK(
        larder__segment_finish(txn, &writer, larder__key_bytes(&key), &dictionary, &test_error));
    CHECK_OK(larder__table_put(txn, LARDER__NODES, larder__key_bytes(&key),
                               larder__bytes(txn->row.data, txn->row.size_bytes), &test_error));
    txn->changed = true;
    larder__buffer_free(&writer.names);
    larder__buffer_free(&writer.hot);
    larder__buffer_free(&writer.cold);
    memset(&writer, 0, sizeof writer);
}

typedef struct slot {
    uint8_t bytes[4096];
} slot;

static uint8_t *next_slot(void) {
    static slot slots[4];
    static size_t at;
    at = (at + 1) % 4;
    return slots[at].bytes;
}

larder_bytes node_kit_reference(uint64_t location) {
    uint8_t *bytes = next_slot();
    bytes[0] = LARDER__NODE_REFERENCE;
    return larder__bytes(bytes, 1 + larder__varint_put(bytes + 1, location));
}

larder_bytes node_kit_wrap(const char *key, larder_bytes node) {
    enum { HEAD_BYTES = 1 + LARDER__NODE_SIZE_BYTES };
    uint8_t *bytes = next_slot();
    size_t size = strlen(key);
    if (HEAD_BYTES + 1 + size + node.size_bytes > sizeof(slot) || size > 127) abort();
    bytes[0] = LARDER_NODE_CHILDREN;
    larder__store32(bytes + 1, (uint32_t)(1 + size + node.size_bytes));
    bytes[HEAD_BYTES] = (uint8_t)size;
    memcpy(bytes + HEAD_BYTES + 1, key, size);
    memcpy(bytes + HEAD_BYTES + 1 + size, node.data, node.size_bytes);
    return larder__bytes(bytes, HEAD_BYTES + 1 + size + node.size_bytes);
}

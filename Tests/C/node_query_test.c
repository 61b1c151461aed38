/* node_query_test.c - tracked queries and what they keep (nodes/node_query.h, node_keepers.c). */
#include "node_kit.h"
#include "nodes/node_query.h"

typedef struct world {
    larder_env *env;
    uint64_t tree;
} world;

static void begin(world *w) { w->env = node_kit_open(&w->tree); }
static void end(world *w) {
    store_check(w->env);
    store_close(w->env);
}

static void queries_come_back_as_they_were_put(void) {
    world w;
    begin(&w);
    larder_node_query put = {.struct_bytes = sizeof put,
                             .query_id = 7,
                             .flags = LARDER_NODE_QUERY_COMPLETE,
                             .last_use = {5, 6000, 0},
                             .path = test_text("a/b"),
                             .payload = test_text("{}")};
    larder_node_query got = {.struct_bytes = sizeof got};
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_query_put(txn, w.tree, &put, &test_error));
    CHECK_OK(larder_node_query_get(txn, w.tree, 7, &got, &test_error));
    CHECK_EQ(got.flags, LARDER_NODE_QUERY_COMPLETE);
    CHECK(got.last_use.seconds == 5 && got.last_use.nanoseconds == 6000);
    CHECK_TEXT(got.path, "a/b");
    CHECK_TEXT(got.payload, "{}");
    CHECK_STATUS(larder_node_query_get(txn, w.tree, 8, &got, NULL), LARDER_NOT_FOUND);
    put.path = test_text("a/c");
    CHECK_STATUS(larder_node_query_put(txn, w.tree, &put, NULL), LARDER_E_INVALID_ARGUMENT);
    put.query_id = 0;
    CHECK_STATUS(larder_node_query_put(txn, w.tree, &put, NULL), LARDER_E_INVALID_ARGUMENT);
    put.query_id = 3;
    put.flags = 0x80;
    CHECK_STATUS(larder_node_query_put(txn, w.tree, &put, NULL), LARDER_E_INVALID_ARGUMENT);
    put.flags = 0;
    CHECK_OK(larder_node_query_put(txn, w.tree, &put, &test_error));
    CHECK_OK(larder_node_query_next(txn, w.tree, 0, &got, &test_error));
    CHECK_EQ(got.query_id, 3);
    CHECK_OK(larder_node_query_next(txn, w.tree, 3, &got, &test_error));
    CHECK_EQ(got.query_id, 7);
    CHECK_STATUS(larder_node_query_next(txn, w.tree, 7, &got, NULL), LARDER_END);
    CHECK_OK(larder_node_query_remove(txn, w.tree, 3, &test_error));
    CHECK_STATUS(larder_node_query_remove(txn, w.tree, 3, NULL), LARDER_NOT_FOUND);
    store_commit(txn);
    end(&w);
}

static size_t key_count(world *w, int64_t id) {
    larder_node_builder *into = NULL;
    larder_bytes encoded = {0};
    const larder_txn *txn = store_read(w->env);
    CHECK_OK(larder_node_builder_create(NULL, &into, &test_error));
    CHECK_OK(larder_node_query_keys(txn, w->tree, id, into, &test_error));
    CHECK_OK(larder_node_builder_finish(into, &encoded, &test_error));
    node_model *keys = node_model_decode(encoded);
    size_t count = keys == NULL ? 0 : keys->count;
    node_model_free(keys);
    larder_node_builder_close(into);
    larder_txn_end_read(txn);
    return count;
}

static void tracked_keys_are_removed_and_added(void) {
    world w;
    begin(&w);
    enum { KEYS = 300 };
    char texts[KEYS][16];
    larder_bytes keys[KEYS];
    for (int i = 0; i < KEYS; i++) {
        snprintf(texts[i], sizeof texts[i], "k%d", i);
        keys[i] = test_text(texts[i]);
    }
    node_kit_track(w.env, w.tree, 1, "list", LARDER_NODE_QUERY_KEYED);
    CHECK_EQ(key_count(&w, 1), 0);
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_query_change_keys(txn, w.tree, 1, NULL, 0, keys, KEYS, &test_error));
    store_commit(txn);
    CHECK_EQ(key_count(&w, 1), KEYS);
    store_check(w.env);
    txn = store_write(w.env); /* what is removed and added stays */
    CHECK_OK(larder_node_query_change_keys(txn, w.tree, 1, keys, 200, keys + 150, 60, &test_error));
    CHECK_STATUS(larder_node_query_change_keys(txn, w.tree, 2, keys, 1, NULL, 0, NULL),
                 LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(key_count(&w, 1), 150);
    node_kit_untrack(w.env, w.tree, 1);
    end(&w);
}

static larder__keepers keepers_at(const larder_txn *txn, uint64_t tree, const char *path) {
    larder__keepers keepers = {.keyed.allocator = &txn->env->allocator};
    CHECK_OK(larder__keepers_read(txn, tree, test_text(path), &keepers, &test_error));
    return keepers;
}

static void keepers_are_the_queries_at_a_path(void) {
    world w;
    bool found = false;
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "list", LARDER_NODE_QUERY_KEYED);
    node_kit_track_key(w.env, w.tree, 1, "k1");
    node_kit_track(w.env, w.tree, 2, "list", LARDER_NODE_QUERY_KEYED);
    node_kit_track_key(w.env, w.tree, 2, "k2");
    node_kit_track(w.env, w.tree, 3, "list/k3", 0);
    const larder_txn *txn = store_read(w.env);
    larder__keepers keepers = keepers_at(txn, w.tree, "list");
    CHECK(!keepers.keeps_all);
    for (int i = 1; i < 4; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        CHECK_OK(larder__keepers_have(txn, &keepers, test_text(key), &found, &test_error));
        CHECK_EQ(found, i < 3);
    }
    larder__buffer_free(&keepers.keyed);
    keepers = keepers_at(txn, w.tree, "list/k3");
    CHECK(keepers.keeps_all);
    larder__buffer_free(&keepers.keyed);
    keepers = keepers_at(txn, w.tree, "");
    CHECK(!keepers.keeps_all && keepers.keyed.size_bytes == 0);
    CHECK_OK(larder__keepers_cover(txn, w.tree, test_text("list/k2/below"), &keepers, &found,
                                   &test_error));
    CHECK(found);
    CHECK_OK(
        larder__keepers_cover(txn, w.tree, test_text("list/k9"), &keepers, &found, &test_error));
    CHECK(!found); /* no query tracks it */
    CHECK_OK(larder__keepers_cover(txn, w.tree, test_text("other"), &keepers, &found, &test_error));
    CHECK(!found);
    larder__buffer_free(&keepers.keyed);
    larder_txn_end_read(txn);
    end(&w);
}

/* The index has two keys more than the deepest path. */
static void the_deepest_path_can_have_queries(void) {
    world w;
    char deep[2 * LARDER_NODE_DEPTH_MAX];
    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = i % 2 == 0 ? 'a' : '/';
    deep[sizeof deep - 1] = 0;
    begin(&w);
    node_kit_commit(w.env, w.tree, deep, node_model_number(1));
    for (int64_t id = 1; id < 4; id++)
        node_kit_track(w.env, w.tree, id, deep, 0);
    store_check(w.env);
    for (int64_t id = 1; id < 3; id++)
        node_kit_untrack(w.env, w.tree, id);
    store_check(w.env);
    node_kit_evict(w.env);
    CHECK(!node_kit_has(w.env, w.tree, ""));
    end(&w);
}

static void many_queries_at_one_path(void) {
    world w;
    begin(&w);
    for (int64_t id = 1; id < 400; id++)
        node_kit_track(w.env, w.tree, id, "list", id == 399 ? 0 : LARDER_NODE_QUERY_KEYED);
    const larder_txn *txn = store_read(w.env);
    larder__keepers keepers = keepers_at(txn, w.tree, "list");
    CHECK(keepers.keeps_all);
    larder__buffer_free(&keepers.keyed);
    larder_txn_end_read(txn);
    end(&w);
}

static const test_case cases[] = {
    {"queries come back as they were put", queries_come_back_as_they_were_put},
    {"tracked keys are removed and added", tracked_keys_are_removed_and_added},
    {"keepers are the queries at a path", keepers_are_the_queries_at_a_path},
    {"the deepest path can have queries", the_deepest_path_can_have_queries},
    {"many queries at one path", many_queries_at_one_path},
};
TEST_SUITE(node_query, cases);

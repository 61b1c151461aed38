/* node_free_test.c - freeing what was deleted, some rows a commit (nodes/node_free.c). */
#include "node_kit.h"
#include "nodes/node_edit.h"

enum { ROW_BYTES_MAX = 8192 };

static int64_t node_rows(larder_env *env) { return store_stat(env).nodes.row_count; }

static void a_large_location_is_freed_over_several_commits(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    node_kit_commit(env, tree, "list", node_kit_list(0, 9000, 200));
    int64_t before = node_rows(env);
    CHECK_NOTE(before > 700, "%lld rows", (long long)before);
    node_kit_commit(env, tree, "list", NULL);
    int64_t after = node_rows(env);
    CHECK(after < before && after > 10);
    CHECK(!node_kit_has(env, tree, "list"));
    store_check(env);
    node_kit_commit(env, tree, "a", node_model_number(1));
    node_kit_commit(env, tree, "b", node_model_number(1));
    CHECK_NOTE(node_rows(env) < 5, "%lld rows are left", (long long)node_rows(env));
    store_check(env);
    store_close(env);
}

static void what_lies_below_is_freed_too(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    for (int i = 0; i < 20; i++) {
        char path[32];
        snprintf(path, sizeof path, "list/deep%02d/list", i);
        node_kit_commit(env, tree, path, node_kit_list(0, 40, 100));
    }
    node_kit_commit(env, tree, "", NULL);
    for (int i = 0; i < 3; i++)
        node_kit_commit(env, tree, "a", node_model_number(i));
    CHECK(node_rows(env) < 5);
    store_check(env);
    store_close(env);
}

static void locations_are_discarded_once(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    larder_txn *txn = store_write(env);
    uint64_t spare = (uint64_t)++txn->counters.next_location;
    CHECK_OK(larder__location_discard(txn, spare, &test_error));
    CHECK_STATUS(larder__location_discard(txn, spare, NULL), LARDER_E_CORRUPT);
    larder_txn_abort(txn);
    store_close(env);
}

/* It goes alone; commits go on. */
static void a_damaged_row_does_not_stop_commits(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    node_kit_commit(env, tree, "list", node_kit_list(0, 100, 100));
    larder_txn *txn = store_write(env);
    larder__key key;
    uint8_t copy[ROW_BYTES_MAX];
    larder_bytes row = {0};
    larder__location_key(&key, node_kit_location(txn, tree, "list"));
    CHECK_OK(larder__table_get(txn, LARDER__NODES, larder__key_bytes(&key), &row, &test_error));
    REQUIRE(row.size_bytes > 0 && row.size_bytes < sizeof copy);
    memcpy(copy, row.data, row.size_bytes);
    copy[20] ^= 1;
    CHECK_OK(larder__table_put(txn, LARDER__NODES, larder__key_bytes(&key),
                               larder__bytes(copy, row.size_bytes), &test_error));
    txn->changed = true;
    store_commit(txn);
    txn = store_write(env);
    larder_node_builder *into = NULL;
    CHECK_OK(larder_node_builder_create(NULL, &into, &test_error));
    CHECK_STATUS(larder_node_read(txn, tree, test_text("list"), into, NULL), LARDER_E_CORRUPT);
    larder_node_builder_close(into);
    node_kit_put(txn, tree, "list", NULL);
    store_commit(txn);
    CHECK(!node_kit_has(env, tree, "list"));
    CHECK(node_rows(env) < 5);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"a large location is freed over several commits",
     a_large_location_is_freed_over_several_commits},
    {"what lies below is freed, too", what_lies_below_is_freed_too},
    {"locations are discarded once", locations_are_discarded_once},
    {"a damaged row does not stop commits", a_damaged_row_does_not_stop_commits},
};
TEST_SUITE(node_free, cases);

/*
 * node_edit_test.c - what writes make of nodes, and of the rows that they lie in
 * (nodes/node_edit.h).
 */
#include "node_kit.h"

typedef struct world {
    larder_env *env;
    uint64_t tree;
} world;

static void begin(world *w) { w->env = node_kit_open(&w->tree); }
static void end(world *w) {
    store_check(w->env);
    store_close(w->env);
}
static void put(world *w, const char *path, node_model *value) {
    node_kit_commit(w->env, w->tree, path, value);
}

static uint64_t location(world *w, const char *path) {
    const larder_txn *txn = store_read(w->env);
    uint64_t found = node_kit_location(txn, w->tree, path);
    larder_txn_end_read(txn);
    return found;
}

static int64_t rows(world *w, const char *path) {
    uint64_t of = location(w, path);
    const larder_txn *txn = store_read(w->env);
    int64_t count = node_kit_row_count(txn, of);
    larder_txn_end_read(txn);
    return count;
}

static node_model *with_priority(node_model *node, int64_t priority) {
    return node_model_put(node, ".priority", node_model_number(priority));
}

static void a_write_below_a_leaf_inherits_its_priority(void) {
    world w;
    begin(&w);
    put(&w, "a", with_priority(node_model_number(1), 5));
    put(&w, "a/b/c", NULL); /* changes nothing */
    node_kit_expect(w.env, w.tree, "a", with_priority(node_model_number(1), 5));
    put(&w, "a/b/c", node_model_number(2));
    node_kit_expect(w.env, w.tree, "a",
                    with_priority(node_model_put(NULL, "b/c", node_model_number(2)), 5));
    end(&w);
}

static void what_is_emptied_goes_with_its_parents(void) {
    world w;
    begin(&w);
    put(&w, "a/b/c", node_model_number(1));
    put(&w, "a/.priority", node_model_number(3));
    put(&w, "none/.priority", node_model_number(3)); /* changes nothing */
    put(&w, "d", node_model_number(2));
    put(&w, "a/b/c", NULL);
    CHECK(!node_kit_has(w.env, w.tree, "a") && !node_kit_has(w.env, w.tree, "none"));
    put(&w, "a/b", node_model_number(1)); /* without the priority */
    node_kit_expect(w.env, w.tree, "a", node_model_put(NULL, "b", node_model_number(1)));
    put(&w, "", NULL);
    CHECK(!node_kit_has(w.env, w.tree, ""));
    end(&w);
}

static void a_merge_keeps_the_priority_of_what_it_replaces(void) {
    world w;
    static const uint8_t yes = LARDER_NODE_TRUE;
    larder_node_change changes[] = {{test_text("new"), {&yes, 1}}, {test_text("old"), {NULL, 0}}};
    begin(&w);
    put(&w, "a", with_priority(node_model_put(NULL, "old", node_model_number(1)), 5));
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_merge(txn, w.tree, test_text("a"), changes, 2, &test_error));
    store_commit(txn);
    larder_leaf leaf = {.type = LARDER_NODE_TRUE};
    node_kit_expect(w.env, w.tree, "a",
                    with_priority(node_model_put(NULL, "new", node_model_leaf(&leaf, NULL)), 5));
    changes[1].path = test_text("new/below");
    txn = store_write(w.env);
    CHECK_STATUS(larder_node_merge(txn, w.tree, test_text("a"), changes, 2, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    larder_txn_abort(txn);
    end(&w);
}

static void large_children_become_a_location_and_come_back(void) {
    world w;
    begin(&w);
    put(&w, "beside", node_model_number(1));
    put(&w, "list", node_kit_list(0, 10, 20));
    CHECK_EQ(location(&w, "list"), 0);
    put(&w, "list", node_kit_list(0, 200, 100));
    CHECK(location(&w, "list") != 0);
    CHECK(rows(&w, "list") > 5);
    put(&w, "list/k0007/below", node_model_number(7));
    node_kit_expect(w.env, w.tree, "list/k0007/below", node_model_number(7));
    for (int i = 0; i < 196; i++) {
        char path[32];
        snprintf(path, sizeof path, "list/k%04d", i);
        put(&w, path, NULL);
    }
    CHECK_EQ(location(&w, "list"), 0);
    const larder_txn *txn = store_read(w.env);
    int64_t count = 0;
    CHECK_OK(larder_node_count(txn, w.tree, test_text("list"), &count, &test_error));
    CHECK_EQ(count, 4);
    larder_txn_end_read(txn);
    end(&w);
}

/* Rows in the middle that shrink join their neighbours. */
static void rows_that_shrink_are_written_together(void) {
    world w;
    begin(&w);
    put(&w, "list", node_kit_list(0, 400, 100));
    int64_t before = rows(&w, "list");
    for (int i = 0; i < 400; i++) {
        char path[32];
        snprintf(path, sizeof path, "list/k%04d", i);
        if (i % 10 != 0) put(&w, path, NULL);
    }
    CHECK_NOTE(rows(&w, "list") <= before / 3, "%lld rows of %lld", (long long)rows(&w, "list"),
               (long long)before);
    end(&w);
}

static void rows_that_are_appended_to_stay_full(void) {
    world w;
    begin(&w);
    for (int i = 0; i < 300; i++) {
        char path[32];
        snprintf(path, sizeof path, "list/k%04d", i);
        put(&w, path, node_model_text(node_kit_noise(100)));
    }
    CHECK_NOTE(rows(&w, "list") < 300 * 110 / 1300, "%lld rows", (long long)rows(&w, "list"));
    end(&w);
}

static void keys_and_depth_are_checked(void) {
    world w;
    char deep[2 * LARDER_NODE_DEPTH_MAX];
    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = i % 2 == 0 ? 'a' : '/';
    larder_bytes deepest = {deep, sizeof deep - 1}, yes = {"\x02", 1};
    begin(&w);
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_put(txn, w.tree, deepest, yes, &test_error));
    CHECK_STATUS(larder_node_put(txn, w.tree, deepest, TEST_BYTES("\7\4\0\0\0\1a\2"), NULL) < 0, 1);
    CHECK_STATUS(larder_node_put(txn, w.tree, test_text("a.b"), yes, NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_node_put(txn, w.tree, test_text("a"), TEST_BYTES("\6\1t"), NULL),
                 LARDER_E_INVALID_RECORD); /* a server value */
    CHECK_STATUS(larder_node_put(txn, w.tree + 1, test_text("a"), yes, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    store_commit(txn);
    end(&w);
}

static const test_case cases[] = {
    {"a write below a leaf inherits its priority", a_write_below_a_leaf_inherits_its_priority},
    {"what is emptied goes with its parents", what_is_emptied_goes_with_its_parents},
    {"a merge keeps the priority of what it replaces",
     a_merge_keeps_the_priority_of_what_it_replaces},
    {"large children become a location and come back",
     large_children_become_a_location_and_come_back},
    {"rows that shrink are written together", rows_that_shrink_are_written_together},
    {"rows that are appended to stay full", rows_that_are_appended_to_stay_full},
    {"keys and depth are checked", keys_and_depth_are_checked},
};
TEST_SUITE(node_edit, cases);

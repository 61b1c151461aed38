/* node_write_test.c - trees by name, and their pending and refused writes (nodes/node_tree.c,
 * node_write.c). */
#include "node_kit.h"

typedef struct world {
    larder_env *env;
    larder_txn *txn;
    uint64_t tree;
} world;

static void begin(world *w) {
    w->env = node_kit_open(&w->tree);
    w->txn = store_write(w->env);
}
static void end(world *w) {
    store_commit(w->txn);
    store_check(w->env);
    store_close(w->env);
}

static void trees_have_numbers(void) {
    world w;
    uint64_t found = 0, other = 0;
    larder_bytes name;
    begin(&w);
    CHECK_OK(larder_node_tree_obtain(w.txn, test_text("other"), &other, &test_error));
    CHECK(other != w.tree);
    CHECK_OK(larder_node_tree_obtain(w.txn, test_text("test"), &found, &test_error));
    CHECK_EQ(found, w.tree);
    CHECK_OK(larder_node_tree_find(w.txn, test_text("other"), &found, &test_error));
    CHECK_EQ(found, other);
    CHECK_STATUS(larder_node_tree_find(w.txn, test_text("none"), &found, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_node_tree_find(w.txn, test_text(""), &found, NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_node_tree_find(w.txn, test_text(store_fill('n', 401)), &found, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_OK(larder_node_tree_next(w.txn, 0, &found, &name, &test_error));
    CHECK_EQ(found, w.tree);
    CHECK_TEXT(name, "test");
    CHECK_OK(larder_node_tree_next(w.txn, found, &found, &name, &test_error));
    CHECK_EQ(found, other);
    CHECK_STATUS(larder_node_tree_next(w.txn, found, &found, &name, NULL), LARDER_END);
    end(&w);
}

static void trees_hold_nodes_of_their_own(void) {
    world w;
    uint64_t other = 0;
    begin(&w);
    CHECK_OK(larder_node_tree_obtain(w.txn, test_text("other"), &other, &test_error));
    node_kit_put(w.txn, w.tree, "a", node_model_number(1));
    CHECK(node_kit_read(w.txn, other, "a") == NULL);
    end(&w);
}

static int32_t put(world *w, int32_t kind, int64_t id, const char *payload) {
    larder_node_write write = {.struct_bytes = sizeof write,
                               .write_id = id,
                               .time = {17, 1000, 0},
                               .payload = test_text(payload)};
    return larder_node_write_put(w->txn, w->tree, kind, &write, &test_error);
}

static void writes_are_kept_in_order(void) {
    world w;
    larder_node_write write = {.struct_bytes = sizeof write};
    begin(&w);
    CHECK_OK(put(&w, LARDER_NODE_WRITE_PENDING, 300, "c"));
    CHECK_OK(put(&w, LARDER_NODE_WRITE_PENDING, 2, "a"));
    CHECK_OK(put(&w, LARDER_NODE_WRITE_PENDING, 5, "b"));
    CHECK_OK(put(&w, LARDER_NODE_WRITE_REFUSED, 1, "refused"));
    CHECK_OK(put(&w, LARDER_NODE_WRITE_PENDING, 5, "replaced"));
    static const char *const expected[] = {"a", "replaced", "c"};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(larder_node_write_next(w.txn, w.tree, LARDER_NODE_WRITE_PENDING, write.write_id,
                                        &write, &test_error));
        CHECK_TEXT(write.payload, expected[i]);
        CHECK(write.time.seconds == 17 && write.time.nanoseconds == 1000);
    }
    CHECK_STATUS(larder_node_write_next(w.txn, w.tree, LARDER_NODE_WRITE_PENDING, write.write_id,
                                        &write, NULL),
                 LARDER_END);
    CHECK_OK(
        larder_node_write_get(w.txn, w.tree, LARDER_NODE_WRITE_REFUSED, 1, &write, &test_error));
    CHECK_TEXT(write.payload, "refused");
    CHECK_STATUS(larder_node_write_get(w.txn, w.tree, LARDER_NODE_WRITE_PENDING, 1, &write, NULL),
                 LARDER_NOT_FOUND);
    end(&w);
}

static void ids_are_never_given_twice(void) {
    world w;
    int64_t highest = -1;
    begin(&w);
    CHECK_OK(larder_node_write_highest_id(w.txn, w.tree, &highest, &test_error));
    CHECK_EQ(highest, 0);
    CHECK_OK(put(&w, LARDER_NODE_WRITE_PENDING, 7, "a"));
    CHECK_OK(put(&w, LARDER_NODE_WRITE_REFUSED, 9, "a"));
    CHECK_OK(larder_node_write_remove(w.txn, w.tree, LARDER_NODE_WRITE_PENDING, 7, &test_error));
    CHECK_STATUS(larder_node_write_remove(w.txn, w.tree, LARDER_NODE_WRITE_PENDING, 7, NULL),
                 LARDER_NOT_FOUND);
    CHECK_OK(larder_node_write_highest_id(w.txn, w.tree, &highest, &test_error));
    CHECK_EQ(highest, 7);
    end(&w);
}

static void what_is_no_write_is_refused(void) {
    world w;
    larder_node_write write = {.struct_bytes = sizeof write, .write_id = 1};
    begin(&w);
    CHECK_STATUS(put(&w, 2, 1, "a"), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(put(&w, LARDER_NODE_WRITE_PENDING, 0, "a"), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_node_write_put(w.txn, w.tree + 1, 0, &write, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    write.time.nanoseconds = -1;
    CHECK_STATUS(larder_node_write_put(w.txn, w.tree, 0, &write, NULL), LARDER_E_INVALID_ARGUMENT);
    end(&w);
}

static const test_case cases[] = {
    {"trees have numbers", trees_have_numbers},
    {"trees hold nodes of their own", trees_hold_nodes_of_their_own},
    {"writes are kept in order", writes_are_kept_in_order},
    {"ids are never given twice", ids_are_never_given_twice},
    {"what is no write is refused", what_is_no_write_is_refused},
};
TEST_SUITE(node_write, cases);

/* node_page_test.c - pages, some children, counts and sizes (nodes/node_page.c, node_read.c). */
#include "node_kit.h"

enum { CHILDREN = 100 };

typedef struct world {
    larder_env *env;
    uint64_t tree;
    const larder_txn *txn;
    larder_node_builder *into;
} world;

/* A list in rows of its own, and a small node. */
static void begin(world *w) {
    w->env = node_kit_open(&w->tree);
    node_kit_commit(w->env, w->tree, "list", node_kit_list(0, CHILDREN, 100));
    node_kit_commit(w->env, w->tree, "list/.priority", node_model_number(9));
    node_kit_commit(w->env, w->tree, "small", node_kit_list(0, 5, 4));
    w->txn = store_read(w->env);
    CHECK_OK(larder_node_builder_create(NULL, &w->into, &test_error));
}

static void end(world *w) {
    larder_node_builder_close(w->into);
    larder_txn_end_read(w->txn);
    store_close(w->env);
}

/* First and last key, and how many. */
static void expect(world *w, int first, int last, bool has_priority) {
    larder_bytes encoded = {0};
    CHECK_OK(larder_node_builder_finish(w->into, &encoded, &test_error));
    node_model *found = node_model_decode(encoded);
    char key[16];
    REQUIRE(found != NULL);
    CHECK_EQ(found->count, last - first + 1);
    snprintf(key, sizeof key, "k%04d", first);
    CHECK_TEXT(test_text(found->keys[0]), key);
    snprintf(key, sizeof key, "k%04d", last);
    CHECK_TEXT(test_text(found->keys[found->count - 1]), key);
    CHECK_EQ(found->priority.type == LARDER_NODE_INTEGER, has_priority);
    node_model_free(found);
}

static int32_t read(world *w, const char *path, larder_node_page page) {
    page.struct_bytes = sizeof page;
    return larder_node_read_page(w->txn, w->tree, test_text(path), &page, w->into, &test_error);
}

static void pages_end_at_their_bounds(void) {
    world w;
    begin(&w);
    larder_bytes none = {NULL, 0};
    CHECK_STATUS(read(&w, "list", (larder_node_page){.max_count = 30}), LARDER_MORE);
    expect(&w, 0, 29, true);
    CHECK_STATUS(read(&w, "list", (larder_node_page){.max_count = 30, .backwards = 1}),
                 LARDER_MORE);
    expect(&w, 70, 99, true);
    larder_node_page page = {.after = test_text("k0029"), .before = test_text("k0040")};
    CHECK_OK(read(&w, "list", page));
    expect(&w, 30, 39, true);
    page.backwards = 1;
    page.max_count = 3;
    CHECK_STATUS(read(&w, "list", page), LARDER_MORE);
    expect(&w, 37, 39, true);
    page.before = none;
    page.after = test_text("k0096");
    CHECK_OK(read(&w, "list", page));
    expect(&w, 97, 99, true);
    CHECK_STATUS(read(&w, "small", (larder_node_page){.max_count = 2, .keys_only = 1}),
                 LARDER_MORE);
    expect(&w, 0, 1, false);
    end(&w);
}

static void one_child_comes_whatever_its_size(void) {
    world w;
    begin(&w);
    for (int backwards = 0; backwards < 2; backwards++) {
        CHECK_STATUS(read(&w, "list", (larder_node_page){.max_bytes = 1, .backwards = backwards}),
                     LARDER_MORE);
        expect(&w, backwards * 99, backwards * 99, true);
        CHECK_STATUS(read(&w, "list", (larder_node_page){.max_bytes = 350, .backwards = backwards}),
                     LARDER_MORE);
        expect(&w, backwards * 97, backwards * 97 + 2, true);
    }
    end(&w);
}

static void a_page_of_nothing_is_empty(void) {
    world w;
    larder_bytes encoded;
    begin(&w);
    CHECK_OK(read(&w, "none", (larder_node_page){0}));
    CHECK_OK(larder_node_builder_finish(w.into, &encoded, &test_error));
    CHECK_EQ(encoded.size_bytes, 0);
    CHECK_OK(read(&w, "list/k0001", (larder_node_page){0})); /* a leaf */
    CHECK_OK(larder_node_builder_finish(w.into, &encoded, &test_error));
    CHECK_EQ(encoded.size_bytes, 0);
    CHECK_STATUS(read(&w, "list", (larder_node_page){.max_count = -1}), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(read(&w, "list", (larder_node_page){.after = test_text("a.b")}),
                 LARDER_E_INVALID_NAME);
    end(&w);
}

static void children_come_in_key_order(void) {
    world w;
    larder_bytes keys[] = {test_text("k0012"), test_text("none"), test_text("k0011"),
                           test_text("k0012")};
    begin(&w);
    CHECK_OK(
        larder_node_read_children(w.txn, w.tree, test_text("list"), keys, 4, w.into, &test_error));
    expect(&w, 11, 12, true);
    CHECK_STATUS(
        larder_node_read_children(w.txn, w.tree, test_text("list"), keys + 1, 1, w.into, NULL),
        LARDER_NOT_FOUND);
    end(&w);
}

static void counts_and_sizes(void) {
    world w;
    int64_t count = 0;
    larder_usage usage;
    begin(&w);
    CHECK_OK(larder_node_count(w.txn, w.tree, test_text("list"), &count, &test_error));
    CHECK_EQ(count, CHILDREN);
    CHECK_OK(larder_node_count(w.txn, w.tree, test_text("small"), &count, &test_error));
    CHECK_EQ(count, 5);
    CHECK_OK(larder_node_count(w.txn, w.tree, test_text("list/k0001"), &count, &test_error));
    CHECK_EQ(count, 0);
    CHECK_OK(larder_node_usage(w.txn, w.tree, test_text("list"), &usage, &test_error));
    CHECK_EQ(usage.row_count, node_kit_row_count(w.txn, node_kit_location(w.txn, w.tree, "list")));
    CHECK(usage.size_bytes > CHILDREN * 80);
    int64_t below = usage.size_bytes;
    CHECK_OK(larder_node_usage(w.txn, w.tree, test_text(""), &usage, &test_error));
    CHECK(usage.size_bytes > below);
    CHECK_OK(larder_node_usage(w.txn, w.tree, test_text("small"), &usage, &test_error));
    CHECK_EQ(usage.size_bytes, 0); /* in the root's row */
    end(&w);
}

static const test_case cases[] = {
    {"pages end at their bounds", pages_end_at_their_bounds},
    {"one child comes, whatever its size", one_child_comes_whatever_its_size},
    {"a page of nothing is empty", a_page_of_nothing_is_empty},
    {"children come in key order", children_come_in_key_order},
    {"counts and sizes", counts_and_sizes},
};
TEST_SUITE(node_page, cases);

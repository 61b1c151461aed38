/*
 * node_location_test.c - rows of a location whose keys share more bytes than a separator takes
 * (location.h).
 */
#include "store.h"
#include "test.h"

enum { SHARED_BYTES = 450, LARGE_BYTES = 1200, SMALL_BYTES = 40, KEY_COUNT = 5 };

typedef struct world {
    larder_env *env;
    uint64_t tree;
    larder_node_builder *builder;
} world;

static void begin(world *w) {
    w->env = store_open();
    CHECK_OK(larder_node_builder_create(NULL, &w->builder, &test_error));
    larder_txn *txn = store_write(w->env);
    CHECK_OK(larder_node_tree_obtain(txn, test_text("test"), &w->tree, &test_error));
    store_commit(txn);
}

static void end(world *w) {
    larder_node_builder_close(w->builder);
    store_check(w->env);
    store_close(w->env);
}

/* The key that begins with SHARED_BYTES times the same letter. */
static const char *shared_key(int number) {
    static char key[SHARED_BYTES + 2];
    memset(key, 'a', SHARED_BYTES);
    key[SHARED_BYTES] = (char)('a' + number);
    return key;
}

/* A leaf of text that does not compress much. Borrowed until the builder's next use. */
static larder_bytes text_node(world *w, size_t size_bytes) {
    static char text[LARGE_BYTES];
    larder_leaf leaf = {.type = LARDER_NODE_STRING, .text = {text, size_bytes}};
    larder_bytes encoded = {0};
    for (size_t i = 0; i < size_bytes; i++)
        text[i] = (char)('!' + test_random_below(90));
    larder_node_builder_reset(w->builder);
    CHECK_OK(larder_node_builder_leaf(w->builder, &leaf, NULL, &test_error));
    CHECK_OK(larder_node_builder_finish(w->builder, &encoded, &test_error));
    return encoded;
}

static void put(world *w, const char *key, size_t size_bytes) {
    larder_txn *txn = store_write(w->env);
    CHECK_OK(larder_node_put(txn, w->tree, test_text(key), text_node(w, size_bytes), &test_error));
    store_commit(txn);
}

static void delete_key(world *w, const char *key) {
    larder_txn *txn = store_write(w->env);
    CHECK_OK(larder_node_put(txn, w->tree, test_text(key), test_text(""), &test_error));
    store_commit(txn);
}

static void check_has(world *w, const char *key) {
    const larder_txn *txn = store_read(w->env);
    larder_node_builder_reset(w->builder);
    CHECK_OK(larder_node_read(txn, w->tree, test_text(key), w->builder, &test_error));
    larder_txn_end_read(txn);
}

/* A row whose first keys went: what lies between them and its next key belongs to it, also when
 * one commit writes it together with a key of the row before. large: the keys with large values, a
 * bit each; they decide where rows begin. */
static void lose_first_keys(unsigned large, int deleted) {
    world w;
    char last[SHARED_BYTES + 2];
    begin(&w);
    for (int i = 0; i < KEY_COUNT; i++)
        put(&w, shared_key(i), large >> i & 1 ? LARGE_BYTES : SMALL_BYTES);
    put(&w, "b1", LARGE_BYTES);
    for (int i = KEY_COUNT - deleted; i < KEY_COUNT; i++)
        delete_key(&w, shared_key(i));
    snprintf(last, sizeof last, "%s", shared_key(KEY_COUNT - deleted - 1));
    larder_bytes node = text_node(&w, LARGE_BYTES);
    larder_node_change changes[] = {{test_text(last), node}, {test_text("ab"), node}};
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_merge(txn, w.tree, test_text(""), changes, 2, &test_error));
    store_commit(txn);
    check_has(&w, last);
    check_has(&w, "ab");
    check_has(&w, "b1");
    end(&w);
}

static void a_row_that_lost_its_first_keys_takes_the_keys_below_its_next(void) {
    for (unsigned large = 0; large < 1u << KEY_COUNT; large++)
        for (int deleted = 1; deleted < 3; deleted++)
            lose_first_keys(large, deleted);
}

static const test_case cases[] = {
    {"a row that lost its first keys takes the keys below its next",
     a_row_that_lost_its_first_keys_takes_the_keys_below_its_next},
};
TEST_SUITE(node_location, cases);

/* node_sweep_test.c - eviction of trees: what queries and pins keep, and what goes
 * (nodes/node_sweep.c, node_pin.c). */
#include "node_kit.h"

typedef struct world {
    larder_env *env;
    uint64_t tree;
} world;

static void begin(world *w) {
    w->env = node_kit_open(&w->tree);
    node_kit_commit(w->env, w->tree, "a", node_kit_list(0, 200, 60));
    node_kit_commit(w->env, w->tree, "b/c", node_kit_list(0, 5, 60));
    node_kit_commit(w->env, w->tree, "b/d", node_model_number(1));
}
static void end(world *w) {
    store_check(w->env);
    store_close(w->env);
}
static bool has(world *w, const char *path) { return node_kit_has(w->env, w->tree, path); }

static bool has_query(world *w, int64_t id) {
    larder_node_query query = {.struct_bytes = sizeof query};
    const larder_txn *txn = store_read(w->env);
    int32_t status = larder_node_query_get(txn, w->tree, id, &query, NULL);
    larder_txn_end_read(txn);
    return status == LARDER_OK;
}

static void what_no_query_keeps_goes(void) {
    world w;
    begin(&w);
    node_kit_evict(w.env);
    CHECK(!has(&w, ""));
    CHECK_EQ(store_stat(w.env).nodes.row_count, 0);
    end(&w);
}

static void active_queries_keep_their_path(void) {
    world w;
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "b/c", LARDER_NODE_QUERY_ACTIVE);
    node_kit_evict(w.env);
    CHECK(has(&w, "b/c/k0004") && !has(&w, "a") && !has(&w, "b/d") && has_query(&w, 1));
    node_kit_track(w.env, w.tree, 1, "b/c", 0); /* no longer active */
    node_kit_evict(w.env);
    CHECK(!has(&w, "") && !has_query(&w, 1));
    end(&w);
}

static void keyed_queries_keep_their_keys(void) {
    world w;
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "a", LARDER_NODE_QUERY_ACTIVE | LARDER_NODE_QUERY_KEYED);
    node_kit_track_key(w.env, w.tree, 1, "k0003");
    node_kit_track_key(w.env, w.tree, 1, "k0150");
    node_kit_track(w.env, w.tree, 2, "a/k0007", LARDER_NODE_QUERY_ACTIVE);
    node_kit_evict(w.env);
    const larder_txn *txn = store_read(w.env);
    int64_t count = 0;
    CHECK_OK(larder_node_count(txn, w.tree, test_text("a"), &count, &test_error));
    CHECK_EQ(count, 3);
    larder_txn_end_read(txn);
    CHECK(has(&w, "a/k0003") && has(&w, "a/k0007") && has(&w, "a/k0150") && !has(&w, "b"));
    end(&w);
}

/* The query that was used last goes last. */
static void queries_go_in_the_order_of_their_use(void) {
    world w;
    larder_lru_result result = {.struct_bytes = sizeof result};
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "a", 0);
    node_kit_track(w.env, w.tree, 2, "b", 0);
    int32_t status = LARDER_MORE;
    int64_t total = store_stat(w.env).total_bytes;
    for (int step = 0; step < 100 && status == LARDER_MORE; step++)
        status = larder_lru_step(w.env, total - 4000, 1, 0, &result, &test_error);
    CHECK_OK(status);
    CHECK(!has_query(&w, 1) && has_query(&w, 2) && has(&w, "b/c/k0004"));
    end(&w);
}

static void pinned_queries_stay_until_they_are_not(void) {
    world w;
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "b/c", LARDER_NODE_QUERY_PINNED);
    node_kit_track(w.env, w.tree, 2, "b", 0);
    node_kit_evict(w.env);
    CHECK(has(&w, "b/c/k0004") && !has(&w, "a") && !has(&w, "b/d"));
    CHECK(has_query(&w, 1) && !has_query(&w, 2));
    store_check(w.env);
    node_kit_track(w.env, w.tree, 1, "b/c", 0);
    node_kit_evict(w.env);
    CHECK(!has(&w, "") && !has_query(&w, 1));
    end(&w);
}

/* Returns the count of steps. */
static int sweep_through(world *w, int64_t max_count) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    int32_t status = LARDER_MORE;
    int step = 0;
    for (; step < 10000 && status == LARDER_MORE; step++) {
        status = larder_lru_sweep(w->env, max_count, 0, &result, &test_error);
        CHECK_EQ(result.query_count, 0);
    }
    CHECK_OK(status);
    return step;
}

static void a_sweep_deletes_what_no_query_keeps_and_evicts_nothing(void) {
    for (int64_t max_count = 0; max_count < 2; max_count++) {
        world w;
        begin(&w);
        node_kit_track(w.env, w.tree, 1, "a", 0);
        node_kit_track(w.env, w.tree, 2, "b", 0);
        node_kit_track(w.env, w.tree, 3, "b/d", 0);
        sweep_through(&w, max_count);
        CHECK(has(&w, "a/k0001") && has(&w, "b/c/k0004") && has(&w, "b/d"));
        larder_txn *txn = store_write(w.env);
        CHECK_OK(larder_node_query_remove(txn, w.tree, 2, &test_error));
        CHECK_OK(larder_txn_commit(txn, &test_error));
        CHECK(has(&w, "b/c/k0004"));
        CHECK(sweep_through(&w, max_count) > 0);
        CHECK(has(&w, "a/k0001") && !has(&w, "b/c") && has(&w, "b/d"));
        CHECK(has_query(&w, 1) && !has_query(&w, 2) && has_query(&w, 3));
        store_check(w.env);
        CHECK_EQ(sweep_through(&w, max_count), 1);
        end(&w);
    }
}

static void a_sweep_waits_for_a_pin(void) {
    world w;
    begin(&w);
    CHECK_OK(larder_node_pin(w.env, w.tree, test_text("b"), &test_error));
    node_kit_track(w.env, w.tree, 1, "a", 0);
    node_kit_track(w.env, w.tree, 2, "b", 0);
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_query_remove(txn, w.tree, 1, &test_error));
    CHECK_OK(larder_node_query_remove(txn, w.tree, 2, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    sweep_through(&w, 0);
    CHECK(!has(&w, "a") && has(&w, "b/c/k0004"));
    CHECK_OK(larder_node_unpin(w.env, w.tree, test_text("b"), &test_error));
    sweep_through(&w, 0);
    CHECK(!has(&w, "b"));
    larder_lru_result result = {.struct_bytes = sizeof result};
    CHECK_EQ(larder_lru_sweep(w.env, -1, 0, &result, &test_error), LARDER_E_INVALID_ARGUMENT);
    end(&w);
}

static void an_evicted_query_can_be_put_again(void) {
    world w;
    larder_lru_result result = {.struct_bytes = sizeof result};
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "a", 0);
    for (int step = 0; step < 3 && has_query(&w, 1); step++)
        CHECK(larder_lru_step(w.env, 0, 1, 0, &result, &test_error) >= 0);
    CHECK(!has_query(&w, 1));
    store_check(w.env); /* a sweep is under way in its place */
    node_kit_track(w.env, w.tree, 1, "a", LARDER_NODE_QUERY_ACTIVE);
    node_kit_commit(w.env, w.tree, "a/again", node_model_number(1));
    store_check(w.env);
    node_kit_evict(w.env);
    CHECK(has(&w, "a/again"));
    end(&w);
}

static void pins_keep_what_lies_at_and_below_them(void) {
    world w;
    begin(&w);
    CHECK_OK(larder_node_pin(w.env, w.tree, test_text("b/c"), &test_error));
    CHECK_OK(larder_node_pin(w.env, w.tree, test_text("b/c"), &test_error));
    node_kit_track(w.env, w.tree, 1, "b/c/k0001", 0);
    node_kit_track(w.env, w.tree, 2, "a", 0);
    node_kit_evict(w.env);
    CHECK(has(&w, "b/c/k0004") && !has(&w, "b/d") && !has(&w, "a"));
    CHECK(has_query(&w, 1) && !has_query(&w, 2));
    CHECK_OK(larder_node_unpin(w.env, w.tree, test_text("b/c"), &test_error));
    node_kit_evict(w.env);
    CHECK(has(&w, "b/c/k0004")); /* pinned once more */
    CHECK_OK(larder_node_unpin(w.env, w.tree, test_text("b/c"), &test_error));
    CHECK_STATUS(larder_node_unpin(w.env, w.tree, test_text("b/c"), NULL), LARDER_NOT_FOUND);
    node_kit_commit(w.env, w.tree, "e", node_model_number(1)); /* makes a sweep */
    node_kit_evict(w.env);
    CHECK(!has(&w, ""));
    end(&w);
}

static void the_root_can_be_pinned(void) {
    world w;
    begin(&w);
    CHECK_OK(larder_node_pin(w.env, w.tree, test_text(""), &test_error));
    node_kit_evict(w.env);
    CHECK(has(&w, "a/k0004") && has(&w, "b/d"));
    CHECK_STATUS(larder_node_pin(w.env, w.tree, test_text("a//b"), NULL), LARDER_E_INVALID_NAME);
    end(&w);
}

/* A row in the middle of a location that a sweep has to go through. */
static void damage_list(world *w) {
    larder_txn *txn = store_write(w->env);
    larder__location_cursor rows;
    larder__key key = {0};
    uint8_t copy[8192];
    CHECK_OK(larder__location_open(txn, node_kit_location(txn, w->tree, "a"), &rows, &test_error));
    CHECK_OK(larder__location_first(&rows, &test_error));
    CHECK_OK(larder__location_next(&rows, &test_error));
    larder__key_append(&key, rows.rows.key.data, rows.rows.key.size_bytes);
    size_t size = rows.rows.value.size_bytes;
    REQUIRE(size < sizeof copy);
    memcpy(copy, rows.rows.value.data, size);
    larder__location_close(&rows);
    copy[8] ^= 1; /* not the cold part, which a sweep leaves as it is */
    CHECK_OK(larder__table_put(txn, LARDER__NODES, larder__key_bytes(&key),
                               larder__bytes(copy, size), &test_error));
    store_commit(txn);
}

static void damage_does_not_stop_eviction_elsewhere(void) {
    world w;
    uint64_t other = 0;
    larder_lru_result result = {.struct_bytes = sizeof result};
    begin(&w);
    node_kit_track(w.env, w.tree, 1, "a", LARDER_NODE_QUERY_ACTIVE | LARDER_NODE_QUERY_KEYED);
    node_kit_track_key(w.env, w.tree, 1, "k0190");
    larder_txn *txn = store_write(w.env);
    CHECK_OK(larder_node_tree_obtain(txn, test_text("other"), &other, &test_error));
    node_kit_put(txn, other, "list", node_kit_list(0, 100, 60));
    store_commit(txn);
    damage_list(&w);
    int32_t status = LARDER_MORE;
    int failed = 0;
    for (int step = 0; step < 100 && status != LARDER_OK; step++) {
        status = larder_lru_step(w.env, 0, 1, 0, &result, NULL);
        failed += status == LARDER_E_CORRUPT;
    }
    CHECK_OK(status);
    CHECK_NOTE(failed > 0 && failed < 5, "%d steps met damage", failed);
    CHECK(!node_kit_has(w.env, other, ""));
    store_close(w.env);
}

static const test_case cases[] = {
    {"what no query keeps goes", what_no_query_keeps_goes},
    {"active queries keep their path", active_queries_keep_their_path},
    {"keyed queries keep their keys", keyed_queries_keep_their_keys},
    {"queries go in the order of their use", queries_go_in_the_order_of_their_use},
    {"pinned queries stay until they are not", pinned_queries_stay_until_they_are_not},
    {"a sweep deletes what no query keeps and evicts nothing",
     a_sweep_deletes_what_no_query_keeps_and_evicts_nothing},
    {"a sweep waits for a pin", a_sweep_waits_for_a_pin},
    {"an evicted query can be put again", an_evicted_query_can_be_put_again},
    {"pins keep what lies at and below them", pins_keep_what_lies_at_and_below_them},
    {"the root can be pinned", the_root_can_be_pinned},
    {"damage does not stop eviction elsewhere", damage_does_not_stop_eviction_elsewhere},
};
TEST_SUITE(node_sweep, cases);

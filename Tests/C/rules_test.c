/*
 * rules_test.c - cache rules (rules.c): which rule applies, what goes and what stays, and ages on a
 * clock of the test.
 */
#include "lru_kit.h"
#include "store/rules.h"

/* ---- the rules themselves ---- */

static void rules_are_stored_and_counted(void) {
    const char *directory = test_directory();
    larder_env *env = store_open_at(directory);
    lru_get_rule(env, 0, LARDER_END);
    lru_put(env, "rooms/1/messages/a", 100);
    lru_put(env, "rooms/2/messages/a", 100);
    lru_put(env, "rooms/2/messages/b", 100);
    larder_cache_rule rules[2] = {
        lru_rule(LARDER_RULE_GROUP, "messages", 0),
        lru_rule(LARDER_RULE_COLLECTION, "rooms/2/messages", LARDER_RULE_LOCAL_ONLY)};
    rules[0].max_bytes = 100000;
    rules[1].max_age_us = 1000 * LRU_SECOND;
    lru_set_rules(env, rules, 2);
    store_check(env);
    store_close(env);
    env = store_open_at(directory);
    larder_cache_rule group = lru_get_rule(env, 0, LARDER_OK),
                      own = lru_get_rule(env, 1, LARDER_OK);
    CHECK_EQ(group.scope, LARDER_RULE_GROUP);
    CHECK_EQ(group.max_bytes, 100000);
    CHECK_EQ(group.document_count, 1); /* the others have a rule of their own */
    CHECK_EQ(own.document_count, 2);
    CHECK_EQ(own.flags, LARDER_RULE_LOCAL_ONLY);
    CHECK_EQ(own.max_age_us, 1000 * LRU_SECOND);
    CHECK_EQ(own.size_bytes, 2 * group.size_bytes);
    lru_get_rule(env, 2, LARDER_END);
    lru_set_rules(env, NULL, 0);
    lru_get_rule(env, 0, LARDER_END);
    store_close(env);
}

static void the_rule_of_all_collections_applies_last(void) {
    larder_env *env = store_open();
    larder_cache_rule rules[3] = {lru_rule(LARDER_RULE_ALL, "", LARDER_RULE_LOCAL_ONLY),
                                  lru_rule(LARDER_RULE_GROUP, "messages", 0),
                                  lru_rule(LARDER_RULE_COLLECTION, "rooms/2/messages", 0)};
    lru_set_rules(env, rules, 3);
    lru_put(env, "rooms/1/messages/a", 100);
    lru_put(env, "rooms/2/messages/a", 100);
    lru_put(env, "notes/a", 100);
    lru_put(env, "notes/b", 100);
    lru_put(env, "tasks/a", 100);
    CHECK_EQ(lru_get_rule(env, 0, LARDER_OK).document_count, 3);
    CHECK_EQ(lru_get_rule(env, 0, LARDER_OK).scope, LARDER_RULE_ALL);
    CHECK_EQ(lru_get_rule(env, 1, LARDER_OK).document_count, 1);
    CHECK_EQ(lru_get_rule(env, 2, LARDER_OK).document_count, 1);
    lru_reclaim(env, 0);
    CHECK(lru_has(env, "notes/a"));
    CHECK(lru_has(env, "tasks/a"));
    CHECK(!lru_has(env, "rooms/1/messages/a"));
    CHECK(!lru_has(env, "rooms/2/messages/a"));
    rules[0].flags = LARDER_RULE_NEVER_CACHED;
    rules[1].flags = LARDER_RULE_PINNED;
    lru_set_rules(env, rules, 2);
    lru_put(env, "rooms/1/messages/a", 100);
    lru_put(env, "notes/c", 100);
    lru_reclaim(env, -1);
    CHECK(lru_has(env, "rooms/1/messages/a"));
    CHECK(!lru_has(env, "notes/a"));
    CHECK(!lru_has(env, "notes/c"));
    store_check(env);
    store_close(env);
}

static void contradictions_are_refused(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    const struct {
        int32_t scope;
        const char *path;
        uint32_t flags;
        int64_t max_bytes, max_age_us;
        int32_t status;
    } cases[] = {
        {LARDER_RULE_COLLECTION, "c", LARDER_RULE_PINNED | LARDER_RULE_NEVER_CACHED, 0, 0,
         LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", LARDER_RULE_LOCAL_ONLY | LARDER_RULE_NEVER_CACHED, 0, 0,
         LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", LARDER_RULE_PINNED, 1, 0, LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", LARDER_RULE_NEVER_CACHED, 0, 1, LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", 8, 0, 0, LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", 0, -1, 0, LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c/d", 0, 0, 0, LARDER_E_INVALID_NAME},
        {LARDER_RULE_GROUP, "c/d/e", 0, 0, 0, LARDER_E_INVALID_NAME},
        {LARDER_RULE_ALL, "c", 0, 0, 0, LARDER_E_INVALID_ARGUMENT},
        {3, "c", 0, 0, 0, LARDER_E_INVALID_ARGUMENT},
        {LARDER_RULE_COLLECTION, "c", LARDER_RULE_LOCAL_ONLY, 5, 5, LARDER_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        larder_cache_rule rule = lru_rule(cases[i].scope, cases[i].path, cases[i].flags);
        rule.max_bytes = cases[i].max_bytes;
        rule.max_age_us = cases[i].max_age_us;
        CHECK_STATUS(larder_cache_rules_set(txn, &rule, 1, &test_error), cases[i].status);
    }
    larder_cache_rule twice[2] = {lru_rule(LARDER_RULE_GROUP, "c", 0),
                                  lru_rule(LARDER_RULE_GROUP, "c", LARDER_RULE_PINNED)};
    CHECK_STATUS(larder_cache_rules_set(txn, twice, 2, &test_error), LARDER_E_INVALID_ARGUMENT);
    twice[1].scope = LARDER_RULE_COLLECTION;
    CHECK_OK(larder_cache_rules_set(txn, twice, 2, &test_error));
    larder_txn_abort(txn);
    lru_get_rule(env, 0, LARDER_END);
    store_close(env);
}

/* ---- what goes and what stays ---- */

static void pinned_collections_outlast_the_budget(void) {
    larder_env *env = store_open();
    larder_cache_rule rules[2] = {lru_rule(LARDER_RULE_COLLECTION, "keep", LARDER_RULE_PINNED),
                                  lru_rule(LARDER_RULE_GROUP, "local", LARDER_RULE_LOCAL_ONLY)};
    lru_set_rules(env, rules, 2);
    lru_put(env, "keep/a", 400);
    lru_put(env, "c/d/local/a", 400);
    lru_put(env, "c/a", 400);
    CHECK_EQ(lru_reclaim(env, 0).evicted_count, 1);
    CHECK(lru_has(env, "keep/a") && lru_has(env, "c/d/local/a") && !lru_has(env, "c/a"));
    lru_set_rules(env, NULL, 0);
    CHECK_EQ(lru_reclaim(env, 0).evicted_count, 2);
    store_close(env);
}

static void documents_never_cached_go_when_nothing_keeps_them(void) {
    larder_env *env = store_open();
    larder_cache_rule rule = lru_rule(LARDER_RULE_GROUP, "never", LARDER_RULE_NEVER_CACHED);
    lru_set_rules(env, &rule, 1);
    CHECK_OK(larder_lru_pin(env, test_text("a/b/never/shown"), &test_error));
    lru_put(env, "a/b/never/shown", 100);
    lru_put(env, "a/b/never/unused", 100);
    lru_put(env, "c/a", 100);
    CHECK(lru_has(env, "a/b/never/shown") && !lru_has(env, "a/b/never/unused"));
    CHECK_OK(larder_lru_unpin(env, test_text("a/b/never/shown"), &test_error));
    store_commit(store_write(env));
    CHECK(!lru_has(env, "a/b/never/shown") && lru_has(env, "c/a"));
    store_check(env);
    store_close(env);
}

static void a_pending_mutation_keeps_a_document_never_cached(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_cache_rule rule = lru_rule(LARDER_RULE_COLLECTION, "never", LARDER_RULE_NEVER_CACHED);
    CHECK_OK(larder_cache_rules_set(txn, &rule, 1, &test_error));
    larder_mutation_document touched = {.name = test_text("never/a")};
    larder_bytes user = test_text("u");
    larder_time now = {5, 0, 0};
    int64_t id = 0;
    CHECK_OK(larder_mutation_append(txn, user, now, &touched, 1, test_text("p"), &id, &test_error));
    lru_put_in(txn, "never/a", 100);
    store_commit(txn);
    CHECK(lru_has(env, "never/a"));
    txn = store_write(env);
    CHECK_OK(larder_mutation_remove(txn, user, id, &test_error));
    store_commit(txn);
    CHECK(!lru_has(env, "never/a"));
    store_close(env);
}

static void the_oldest_of_a_collection_go_above_its_limit(void) {
    larder_env *env = store_open();
    char name[32];
    lru_put(env, "other/oldest", 400);
    lru_put(env, "c/00", 400);
    larder_cache_rule rule = lru_rule(LARDER_RULE_COLLECTION, "c", 0);
    lru_set_rules(env, &rule, 1);
    int64_t one = lru_get_rule(env, 0, LARDER_OK).size_bytes;
    rule.max_bytes = 20 * one + one / 2;
    lru_set_rules(env, &rule, 1);
    for (int i = 1; i < 60; i++) {
        lru_next_epoch(env);
        snprintf(name, sizeof name, "c/%02d", i);
        lru_put(env, name, 400);
        larder_cache_rule now = lru_get_rule(env, 0, LARDER_OK);
        CHECK_NOTE(now.size_bytes <= rule.max_bytes, "after %d", i);
        CHECK_NOTE(i < 20 || now.document_count >= 18, "%d documents are left after %d",
                   (int)now.document_count, i);
        CHECK(lru_has(env, name));
        lru_touch(env, "c/00");
    }
    CHECK(lru_has(env, "other/oldest") && lru_has(env, "c/00") && !lru_has(env, "c/30"));
    store_check(env);
    store_close(env);
}

static void a_document_is_never_too_old_too_early(void) {
    const char *directory = test_directory();
    larder_env *env = store_open_at(directory);
    lru_at(env, 1000);
    lru_put(env, "c/before", 100);
    lru_at(env, 50000);
    larder_cache_rule rule = lru_rule(LARDER_RULE_COLLECTION, "c", 0);
    rule.max_age_us = 1600 * LRU_SECOND;
    lru_set_rules(env, &rule, 1); /* ages count from here for what was there */
    lru_at(env, 51000);
    lru_put(env, "c/used", 100);
    lru_put(env, "d/other", 100);
    lru_at(env, 51599);
    lru_reclaim(env, -1);
    CHECK(lru_has(env, "c/before"));
    store_close(env);
    env = store_open_at(directory);
    lru_at(env, 51701);
    lru_reclaim(env, -1);
    CHECK(!lru_has(env, "c/before") && lru_has(env, "c/used"));
    lru_at(env, 52500);
    lru_touch(env, "c/used");
    lru_at(env, 54099);
    lru_reclaim(env, -1);
    CHECK(lru_has(env, "c/used"));
    lru_at(env, 54201);
    lru_reclaim(env, -1);
    CHECK(!lru_has(env, "c/used") && lru_has(env, "d/other"));
    store_check(env);
    store_close(env);
}

static void a_walk_by_rules_goes_in_small_steps(void) {
    larder_env *env = store_open();
    char name[32];
    larder_txn *txn = store_write(env);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "%s/%d", i % 2 == 0 ? "never" : "c", i);
        lru_put_in(txn, name, 20);
    }
    store_commit(txn);
    env->manual_reclaim = true; /* steps are by hand */
    larder_cache_rule rule = lru_rule(LARDER_RULE_COLLECTION, "never", LARDER_RULE_NEVER_CACHED);
    lru_set_rules(env, &rule, 1);
    int64_t evicted = 0, steps = 0;
    for (int32_t status = LARDER_MORE; status == LARDER_MORE; steps++) {
        larder_lru_result result = {.struct_bytes = sizeof result};
        status = larder_lru_step(env, -1, 50, INT64_C(1) << 40, &result, &test_error);
        CHECK(status >= 0 && result.examined_count <= 50);
        evicted += result.evicted_count;
    }
    CHECK_EQ(evicted, 500);
    CHECK(steps >= 10);
    CHECK_EQ(store_stat(env).document_count, 500);
    CHECK_EQ(lru_step(env, -1, 50, LARDER_OK).examined_count, 0);
    store_close(env);
}

/* And marks of use that no clock has made: a caller can put them there by name. */
static void times_at_their_limits_are_counted(void) {
    static const int64_t latest = INT64_C(253402300799) * LRU_SECOND;
    static const int64_t ages[] = {1, 1000 * LRU_SECOND, INT64_MAX - 1, INT64_MAX};
    static const int64_t until[] = {INT64_MIN, -1, 0, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1};
    larder_env *env = store_open();
    CHECK_STATUS(larder_lru_set_time(env, latest + 1, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_lru_set_time(env, INT64_MAX, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_lru_set_time(env, INT64_MIN, &test_error));
    for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
        larder_cache_rule rule = lru_rule(LARDER_RULE_GROUP, "c", 0);
        rule.max_age_us = ages[i];
        lru_set_rules(env, &rule, 1);
        for (int64_t now = 0; now <= latest; now += latest) {
            CHECK_OK(larder_lru_set_time(env, now, &test_error));
            lru_put(env, "c/a", 100);
            lru_reclaim(env, -1);
        }
        uint8_t marks[12 * 6] = {0};
        for (size_t m = 0; m < 6; m++)
            memcpy(marks + 12 * m + 4, &until[m], sizeof until[m]);
        larder_txn *txn = store_write(env);
        CHECK_OK(larder_named_put(txn, LARDER_NAMED_SHARED, test_text("useTimes"), (larder_time){0},
                                  (larder_bytes){marks + 12 * i, sizeof marks - 12 * i},
                                  &test_error));
        store_commit(txn);
        lru_set_rules(env, &rule, 1); /* and they are read again */
        lru_put(env, "c/b", 100);
        lru_reclaim(env, -1);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"rules are stored and counted", rules_are_stored_and_counted},
    {"the rule of all collections applies last", the_rule_of_all_collections_applies_last},
    {"contradictions are refused", contradictions_are_refused},
    {"pinned collections outlast the budget", pinned_collections_outlast_the_budget},
    {"documents never cached go when nothing keeps them",
     documents_never_cached_go_when_nothing_keeps_them},
    {"a pending mutation keeps a document never cached",
     a_pending_mutation_keeps_a_document_never_cached},
    {"the oldest of a collection go above its limit",
     the_oldest_of_a_collection_go_above_its_limit},
    {"a document is never too old too early", a_document_is_never_too_old_too_early},
    {"a walk by rules goes in small steps", a_walk_by_rules_goes_in_small_steps},
    {"times at their limits are counted", times_at_their_limits_are_counted},
};
TEST_SUITE(rules, cases);

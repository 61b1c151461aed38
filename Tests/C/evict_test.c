/*
 * evict_test.c - the walk that evicts (evict.c, and what documents and targets add to it in
 * model.c): the order, the byte goal, what is kept and for how long, where a step goes on.
 */
#include "lru_kit.h"

enum { COUNT = 20 };

static const char *name_of(int i) {
    static char names[4][32];
    static int next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof names[0], "c/%02d", i);
    return name;
}

/* COUNT documents of one size, each used in an epoch of its own: c/00 is the oldest. */
static larder_env *open_with_ages(void) {
    larder_env *env = store_open();
    for (int i = 0; i < COUNT; i++) {
        lru_put(env, name_of(i), 400);
        lru_next_epoch(env);
    }
    return env;
}

static int64_t total(larder_env *env) { return store_stat(env).total_bytes; }

/* Checks that exactly the documents from..COUNT - 1 are there. */
static void check_present_from(larder_env *env, int from) {
    for (int i = 0; i < COUNT; i++)
        CHECK_NOTE(lru_has(env, name_of(i)) == (i >= from), "document %d, first kept %d", i, from);
}

static void put_target(larder_env *env, int32_t id, const char *document) {
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target, .target_id = id};
    target.canonical_id = test_text("canonical");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    if (document != NULL)
        CHECK_OK(larder_target_add_document(txn, id, test_text(document), &test_error));
    store_commit(txn);
}

static bool has_target(larder_env *env, int32_t id) {
    const larder_txn *txn = store_read(env);
    larder_target target = {.struct_bytes = sizeof target};
    int32_t status = larder_target_get(txn, id, &target, &test_error);
    CHECK(status >= 0);
    larder_txn_end_read(txn);
    return status == LARDER_OK;
}

static void the_oldest_go_until_the_goal_is_reached(void) {
    larder_env *env = open_with_ages();
    int64_t before = total(env), one = store_stat(env).documents.size_bytes / COUNT;
    int64_t goal = before - 5 * one;
    larder_lru_result result = lru_step(env, goal, 0, LARDER_OK);
    CHECK_EQ(result.evicted_count, result.examined_count);
    CHECK(result.evicted_count >= 4 && result.evicted_count <= 6);
    check_present_from(env, (int)result.evicted_count);
    CHECK_EQ(result.total_bytes, total(env));
    CHECK(result.total_bytes <= goal);
    CHECK(result.total_bytes > goal - 2 * one); /* and nothing beyond it */
    /* The log's rows went, too; freed_bytes counts the documents'. */
    CHECK(result.freed_bytes > 0 && result.freed_bytes <= before - result.total_bytes + one);
    store_check(env);
    CHECK_EQ(lru_step(env, goal, 0, LARDER_OK).examined_count, 0);
    store_close(env);
}

static void freed_bytes_are_what_the_documents_took(void) {
    larder_env *env = open_with_ages();
    larder_stat before = store_stat(env);
    larder_lru_result result = lru_step(env, 0, 3, LARDER_MORE);
    CHECK_EQ(result.evicted_count, 3);
    larder_stat after = store_stat(env);
    CHECK_EQ(before.document_count - after.document_count, 3);
    /* Three documents with their read times; three rows of the log went on top. */
    int64_t logged = 3 * larder__row_cost(8, 1 + 1 + 2);
    CHECK_EQ(result.freed_bytes, before.documents.size_bytes - after.documents.size_bytes - logged);
    store_close(env);
}

static void a_step_looks_at_no_more_than_it_may_and_the_next_goes_on(void) {
    larder_env *env = open_with_ages();
    for (int done = 0; done < COUNT; done += 4) {
        larder_lru_result result =
            lru_step(env, 0, 4, LARDER_MORE); /* the catalog's bytes stay: never at the goal */
        CHECK_EQ(result.examined_count, 4);
        CHECK_EQ(result.evicted_count, 4);
        check_present_from(env, done + 4);
    }
    CHECK_EQ(lru_step(env, 0, 4, LARDER_OK).examined_count, 0);
    CHECK_EQ(lru_entries(env, false), 0);
    store_check(env);
    store_close(env);
}

static void a_touched_document_outlives_younger_ones(void) {
    larder_env *env = open_with_ages();
    CHECK_OK(larder_lru_touch(env, test_text("c/00"), &test_error));
    lru_step(env, 0, COUNT, LARDER_MORE); /* 20 entries: the stale one of c/00 is among them */
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ(lru_has(env, name_of(i)), i == 0);
    store_check(env);
    store_close(env);
}

static void a_pinned_document_stays_until_it_is_unpinned(void) {
    larder_env *env = open_with_ages();
    CHECK_OK(larder_lru_pin(env, test_text("c/03"), &test_error));
    larder_lru_result result = lru_reclaim(env, 0);
    CHECK_EQ(result.evicted_count, COUNT - 1);
    CHECK_EQ(result.pinned_count, 1);
    CHECK(lru_has(env, "c/03"));
    CHECK(store_stat(env).pinned_bytes > 400);
    CHECK_EQ(lru_step(env, 0, 0, LARDER_OK).examined_count, 0); /* passed over until released */
    CHECK_OK(larder_lru_unpin(env, test_text("c/03"), &test_error));
    CHECK_EQ(lru_reclaim(env, 0).evicted_count, 1);
    CHECK(!lru_has(env, "c/03"));
    store_check(env);
    store_close(env);
}

/* Two documents in one row of the log, of which the first is kept. */
static void a_step_passes_over_what_the_last_one_kept(void) {
    larder_env *env = store_open();
    lru_put(env, "c/a", 400);
    lru_put(env, "c/b", 400);
    CHECK_OK(larder_lru_pin(env, test_text("c/a"), &test_error));
    larder_lru_result result = lru_step(env, 0, 1, LARDER_MORE);
    CHECK_EQ(result.pinned_count, 1);
    result = lru_step(env, 0, 1, LARDER_MORE);
    CHECK_EQ(result.pinned_count, 0);
    CHECK_EQ(result.evicted_count, 1);
    CHECK(lru_has(env, "c/a"));
    CHECK(!lru_has(env, "c/b"));
    CHECK_EQ(lru_step(env, 0, 1, LARDER_OK).examined_count, 0);
    store_check(env);
    store_close(env);
}

static void a_document_with_a_pending_write_stays_until_it_is_removed(void) {
    larder_env *env = open_with_ages();
    larder_txn *txn = store_write(env);
    larder_mutation_document document = {.name = test_text("c/03")};
    int64_t batch;
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text("payload"), &batch, &test_error));
    store_commit(txn);
    CHECK_EQ(lru_reclaim(env, 0).evicted_count, COUNT - 1);
    CHECK(lru_has(env, "c/03"));
    txn = store_write(env);
    CHECK_OK(larder_mutation_remove(txn, test_text("ada"), batch, &test_error));
    store_commit(txn);
    CHECK_EQ(lru_reclaim(env, 0).evicted_count, 1);
    CHECK(!lru_has(env, "c/03"));
    store_check(env);
    store_close(env);
}

static void a_document_lives_as_long_as_its_target(void) {
    larder_env *env = open_with_ages();
    put_target(env, 7, "c/00"); /* younger than every document */
    uint32_t old = lru_epoch_of(env, "c/00"), young = lru_epoch_of(env, name_of(COUNT - 1)) + 1;
    CHECK(old < young);
    larder_lru_result result = lru_step(env, 0, 1, LARDER_MORE);
    CHECK_EQ(result.evicted_count, 0);
    CHECK_EQ(lru_epoch_of(env, "c/00"), young); /* it went along to the target's epoch */
    CHECK_EQ(lru_step(env, 0, COUNT - 1, LARDER_MORE).evicted_count, COUNT - 1);
    CHECK(lru_has(env, "c/00"));
    CHECK(has_target(env, 7));
    result = lru_reclaim(env, 0);
    CHECK_EQ(result.target_count, 1);
    CHECK_EQ(result.evicted_count, 1);
    CHECK(!has_target(env, 7));
    CHECK(!lru_has(env, "c/00"));
    store_check(env);
    store_close(env);
}

static void a_pinned_target_keeps_its_documents(void) {
    larder_env *env = open_with_ages();
    put_target(env, 7, "c/04");
    put_target(env, 8, "c/05");
    CHECK_OK(larder_lru_pin_target(env, 7, &test_error));
    larder_lru_result result = lru_reclaim(env, 0);
    CHECK_EQ(result.evicted_count, COUNT - 1);
    CHECK_EQ(result.target_count, 1);
    CHECK(lru_has(env, "c/04"));
    CHECK(has_target(env, 7));
    CHECK(!has_target(env, 8));
    CHECK_OK(larder_lru_unpin_target(env, 7, &test_error));
    result = lru_reclaim(env, 0);
    CHECK_EQ(result.evicted_count, 1);
    CHECK_EQ(result.target_count, 1);
    store_check(env);
    store_close(env);
}

/* A target of more documents than a step removes at once. */
static void a_large_target_is_removed_in_parts(void) {
    larder_env *env = store_open();
    char name[32];
    put_target(env, 7, NULL);
    larder_txn *txn = store_write(env);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof name, "c/%04d", i);
        CHECK_OK(larder_target_add_document(txn, 7, test_text(name), &test_error));
    }
    store_commit(txn);
    larder_lru_result result = lru_step(env, 0, 1, LARDER_MORE);
    CHECK_EQ(result.target_count, 0);
    CHECK(result.freed_bytes > 0);
    CHECK(!has_target(env, 7)); /* from the first part on no reader finds it */
    store_check(env);
    result = lru_reclaim(env, 0);
    CHECK_EQ(result.target_count, 1);
    CHECK_EQ(store_stat(env).targets.row_count, 0);
    store_check(env);
    store_close(env);
}

static larder_env *open_with_budget(int64_t budget, bool is_manual) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.budget_bytes = budget;
    options.manual_reclaim = is_manual;
    CHECK_OK(larder_env_open("", &options, &env, &test_error));
    return env;
}

static void a_commit_over_the_budget_evicts_unless_that_is_manual(void) {
    for (int is_manual = 0; is_manual < 2; is_manual++) {
        larder_env *env = open_with_budget(LARDER_BUDGET_MIN_BYTES, is_manual);
        for (int i = 0; i < COUNT; i++) {
            lru_put(env, name_of(i), 60000);
            if (!is_manual) CHECK(total(env) <= LARDER_BUDGET_MIN_BYTES);
        }
        CHECK_EQ(lru_has(env, "c/00"), is_manual);
        CHECK(lru_has(env, name_of(COUNT - 1)));
        if (is_manual) {
            CHECK(total(env) > LARDER_BUDGET_MIN_BYTES);
            CHECK(lru_reclaim(env, -1).total_bytes <= LARDER_BUDGET_MIN_BYTES);
            CHECK(!lru_has(env, "c/00"));
        }
        store_check(env);
        store_close(env);
    }
}

static void wrong_arguments_are_refused(void) {
    larder_env *env = store_open();
    larder_lru_result result = {0};
    CHECK_STATUS(larder_lru_step(env, 0, 0, 0, &result, NULL), LARDER_E_INVALID_ARGUMENT);
    result.struct_bytes = sizeof result;
    CHECK_STATUS(larder_lru_step(NULL, 0, 0, 0, &result, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_lru_step(env, 0, -1, 0, &result, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_lru_step(env, 0, 0, -1, &result, NULL), LARDER_E_INVALID_ARGUMENT);
    store_close(env);
}

static void the_last_commit_that_evicted_is_known(void) {
    larder_env *env = open_with_ages();
    CHECK_EQ(larder_lru_commit_number(env), 0);
    lru_step(env, INT64_MAX, 0, LARDER_OK);
    CHECK_EQ(larder_lru_commit_number(env), 0);
    lru_step(env, total(env) - 1, 0, LARDER_OK);
    uint64_t evicted = larder_lru_commit_number(env);
    CHECK_EQ(evicted, store_stat(env).commit_number);
    lru_put(env, "c/new", 10);
    CHECK(store_stat(env).commit_number > evicted);
    CHECK_EQ(larder_lru_commit_number(env), evicted);
    CHECK_EQ(larder_lru_commit_number(NULL), 0);
    store_close(env);
}

static const test_case cases[] = {
    {"the last commit that evicted is known", the_last_commit_that_evicted_is_known},
    {"the oldest go until the goal is reached", the_oldest_go_until_the_goal_is_reached},
    {"freed bytes are what the documents took", freed_bytes_are_what_the_documents_took},
    {"a step looks at no more than it may, and the next goes on",
     a_step_looks_at_no_more_than_it_may_and_the_next_goes_on},
    {"a touched document outlives younger ones", a_touched_document_outlives_younger_ones},
    {"a pinned document stays until it is unpinned", a_pinned_document_stays_until_it_is_unpinned},
    {"a step passes over what the last one kept", a_step_passes_over_what_the_last_one_kept},
    {"a document with a pending write stays until it is removed",
     a_document_with_a_pending_write_stays_until_it_is_removed},
    {"a document lives as long as its target", a_document_lives_as_long_as_its_target},
    {"a pinned target keeps its documents", a_pinned_target_keeps_its_documents},
    {"a large target is removed in parts", a_large_target_is_removed_in_parts},
    {"a commit over the budget evicts, unless that is manual",
     a_commit_over_the_budget_evicts_unless_that_is_manual},
    {"wrong arguments are refused", wrong_arguments_are_refused},
};
TEST_SUITE(evict, cases);

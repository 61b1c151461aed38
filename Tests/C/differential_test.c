/*
 * differential_test.c - random operations on a store and on the mirror, compared all the time.
 */
#include "mirror.h"
#include "test.h"

#include <sys/stat.h>

static bool differs(void) {
    if (mirror_problem_count() == 0) return false;
    test_fail(__FILE__, __LINE__, "%ld differences, first: %s", mirror_problem_count(),
              mirror_problem_text());
    return true;
}

static larder_env *open_store(const char *path, int64_t budget_bytes, bool in_memory) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.budget_bytes = budget_bytes;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    if (in_memory) options.flags = LARDER_OPEN_IN_MEMORY;
    larder_env *env = NULL;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

static void compare(larder_env *env, const mirror *m, bool check) {
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    mirror_verify(m, txn, NULL);
    if (check) mirror_check(txn);
    larder_txn_end_read(txn);
}

static void touch_some(larder_env *env) {
    for (int i = 0; i < 3; i++)
        CHECK_OK(
            larder_lru_touch(env, mirror_name((int)test_random_below(MIRROR_NAMES)), &test_error));
}

/* One transaction: committed or dropped, compared before or after. */
/* *committed (nullable): whether it was. */
static int64_t one_transaction(larder_env *env, mirror **m, const mirror_profile *profile,
                               bool *committed) {
    larder_txn *txn;
    if (larder_txn_begin_write(env, &txn, &test_error) != LARDER_OK) {
        test_fail(__FILE__, __LINE__, "begin_write: %s", test_error.message);
        return INT64_MAX / 2;
    }
    int operations = 0;
    bool dropped = test_random_below(5) == 0;
    if (committed) *committed = !dropped;
    mirror *before = dropped ? mirror_clone(*m) : NULL;
    mirror_commit(*m, txn, profile, &operations);
    if (test_random_below(16) == 0) mirror_verify(*m, txn, NULL); /* its own writes */
    if (dropped) {
        larder_txn_abort(txn);
        mirror_free(*m);
        *m = before;
        /* another sequence number, or the same would be tried again indefinitely */
        (*m)->sequence += 1;
    } else
        CHECK_OK(larder_txn_commit(txn, &test_error));
    return operations;
}

static void run(bool in_memory, int operations_a_commit, int64_t operations) {
    const char *path = in_memory ? NULL : test_directory();
    mirror_profile profile = {.seed = test_random(), .operations = operations_a_commit};
    mirror *m = mirror_create();
    larder_env *env = open_store(path, LARDER_BUDGET_UNLIMITED, in_memory);
    mirror_problem_reset();
    for (int64_t done = 0, round = 0; done < operations && env && !differs(); round++) {
        done += one_transaction(env, &m, &profile, NULL);
        if (test_random_below(6) == 0) touch_some(env);
        if (round % 20 == 19) compare(env, m, round % 100 == 99);
        if (!in_memory && test_random_below(40) == 0) {
            CHECK_OK(larder_env_close(env, &test_error));
            env = open_store(path, LARDER_BUDGET_UNLIMITED, false);
        }
    }
    if (env) {
        compare(env, m, true);
        CHECK_OK(larder_env_close(env, &test_error));
    }
    differs();
    mirror_free(m);
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void on_disk(void) { run(false, 40, test_steps(9000)); }
static void in_memory(void) { run(true, 10, test_steps(7000)); }

/* ---- under a budget ---- */

static void change_pins(larder_env *env, mirror *m) {
    int name = (int)test_random_below(MIRROR_NAMES),
        target = (int)test_random_below(MIRROR_TARGETS);
    switch (test_random_below(4)) {
    case 0:
        CHECK_OK(larder_lru_pin(env, mirror_name(name), &test_error));
        m->pins[name]++;
        break;
    case 1:
        CHECK_OK(larder_lru_pin_target(env, mirror_target_id(target), &test_error));
        m->target_pins[target]++;
        break;
    case 2:
        for (int i = 0; i < MIRROR_NAMES && !m->pins[name]; i++)
            name = (name + 1) % MIRROR_NAMES;
        if (!m->pins[name]) break;
        CHECK_OK(larder_lru_unpin(env, mirror_name(name), &test_error));
        m->pins[name]--;
        break;
    default:
        if (!m->target_pins[target]) break;
        CHECK_OK(larder_lru_unpin_target(env, mirror_target_id(target), &test_error));
        m->target_pins[target]--;
    }
}

/* Bytes that nothing may evict, at the most: what the mirror says is held, and all that is not
 * documents or targets. */
static void check_budget(larder_env *env, const mirror *m, int64_t budget_bytes) {
    const larder_txn *txn;
    larder_stat stat = {.struct_bytes = sizeof stat};
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    CHECK_OK(larder_env_stat(txn, &stat, &test_error));
    CHECK_EQ(stat.budget_bytes, budget_bytes);
    if (stat.total_bytes > budget_bytes) {
        /* then every document that is left is held by something */
        for (int name = 0; name < MIRROR_NAMES; name++) {
            if (m->documents[name].state == 0) continue;
            bool kept = m->pins[name] > 0;
            for (int b = 0; b < MIRROR_BATCHES; b++)
                for (int i = 0; m->batches[b].present && i < m->batches[b].name_count; i++)
                    kept |= m->batches[b].names[i] == name;
            for (int t = 0; t < MIRROR_TARGETS; t++)
                kept |=
                    m->target_pins[t] > 0 && m->targets[t].present && m->targets[t].members[name];
            CHECK_NOTE(kept, "over budget by %lld bytes while document %d could go",
                       (long long)(stat.total_bytes - budget_bytes), name);
            if (!kept) break;
        }
        CHECK_NOTE(!mirror_cache_may_shrink(m), "over budget by %lld bytes while nodes could go",
                   (long long)(stat.total_bytes - budget_bytes));
    }
    larder_txn_end_read(txn);
}

static void under_a_budget(void) {
    const char *path = test_directory();
    int64_t operations = test_steps(4000), budget_bytes = LARDER_BUDGET_MIN_BYTES;
    mirror_profile profile = {
        .seed = test_random(), .operations = 12, .large = true, .lenient = true};
    mirror *m = mirror_create();
    larder_env *env = open_store(path, budget_bytes, false);
    mirror_problem_reset();
    for (int64_t done = 0, round = 0; done < operations && env && !differs(); round++) {
        bool committed = false;
        done += one_transaction(env, &m, &profile, &committed);
        const larder_txn *txn;
        REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
        mirror_reconcile(m, txn);
        if (round % 16 == 15) mirror_verify(m, txn, NULL);
        if (round % 40 == 39) mirror_check(txn);
        larder_txn_end_read(txn);
        if (committed) check_budget(env, m, budget_bytes);
        if (test_random_below(3) == 0) touch_some(env);
        if (test_random_below(4) == 0) change_pins(env, m);
        if (test_random_below(60) == 0) {
            budget_bytes = LARDER_BUDGET_MIN_BYTES + (int64_t)test_random_below(500000);
            CHECK_OK(larder_env_set_budget(env, budget_bytes, &test_error));
        }
        if (test_random_below(60) == 0) {
            CHECK_OK(larder_env_close(env, &test_error));
            env = open_store(path, budget_bytes, false);
            memset(m->pins, 0, sizeof m->pins); /* pins are the handle's */
            memset(m->target_pins, 0, sizeof m->target_pins);
        }
    }
    if (env) {
        compare(env, m, true);
        CHECK_OK(larder_env_close(env, &test_error));
    }
    differs();
    mirror_free(m);
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- which goes first ---- */

enum { AGES = 40, AGE_BYTES = 20000 };

static void put_of_age(larder_env *env, int number) {
    static uint8_t content[AGE_BYTES];
    for (size_t at = 0; at < AGE_BYTES; at += 8) {
        uint64_t word = test_random();
        memcpy(content + at, &word, 8);
    }
    larder_builder *builder;
    larder_txn *txn;
    larder_bytes plain, bytes = {content, AGE_BYTES};
    REQUIRE_OK(larder_builder_create(NULL, &builder, &test_error));
    CHECK_OK(larder_builder_begin_map(builder, &test_error));
    CHECK_OK(larder_builder_name(builder, test_text("content"), &test_error));
    CHECK_OK(larder_builder_bytes(builder, bytes, &test_error));
    CHECK_OK(larder_builder_end_map(builder, &test_error));
    CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version.seconds = info.read_time.seconds = number + 1;
    char name[32];
    snprintf(name, sizeof name, "ages/%03d", number);
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_document_put(txn, test_text(name), &info, plain, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    larder_builder_close(builder);
}

static bool age_is_there(larder_env *env, int number) {
    const larder_txn *txn;
    larder_document document;
    char name[32];
    snprintf(name, sizeof name, "ages/%03d", number);
    if (larder_txn_begin_read(env, &txn, &test_error) != LARDER_OK) return false;
    int32_t status = larder_document_get(txn, test_text(name), &document, &test_error);
    larder_txn_end_read(txn);
    CHECK(status == LARDER_OK || status == LARDER_NOT_FOUND);
    return status == LARDER_OK;
}

/* 40 documents of 20 KB, the first ten of which are touched when all are there. Half is
 * evicted: the touched ones and the youngest stay. Documents within 1/16 of the store's bytes
 * of the boundary may go either way. */
static void least_recently_used_goes_first(void) {
    larder_env *env = open_store(test_directory(), LARDER_BUDGET_UNLIMITED, false);
    REQUIRE(env != NULL);
    for (int i = 0; i < AGES; i++)
        put_of_age(env, i);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "ages/%03d", i);
        CHECK_OK(larder_lru_touch(env, test_text(name), &test_error));
    }
    put_of_age(env, AGES); /* a touch is written with the next commit */
    larder_lru_result result = {.struct_bytes = sizeof result};
    int32_t status;
    int64_t goal = (int64_t)(AGES + 1) * AGE_BYTES / 2, freed = 0;
    do {
        result.struct_bytes = sizeof result;
        status = larder_lru_step(env, goal, 0, 0, &result, &test_error);
        freed += result.freed_bytes;
    } while (status == LARDER_MORE);
    CHECK_OK(status);
    CHECK(result.total_bytes <= goal);
    CHECK(freed > 0);
    int slack = AGES / 8, kept = 0;
    for (int i = 0; i <= AGES; i++)
        kept += age_is_there(env, i);
    CHECK(kept >= AGES / 2 - 4);
    for (int i = 0; i < 10; i++)
        CHECK_NOTE(age_is_there(env, i), "touched document %d went", i);
    /* of the others the oldest ones: 10, 11, ... */
    int boundary = 10;
    while (boundary <= AGES && !age_is_there(env, boundary))
        boundary++;
    CHECK_NOTE(boundary > 10, "the oldest is still there");
    for (int i = boundary + slack; i <= AGES; i++)
        CHECK_NOTE(age_is_there(env, i), "document %d went before the older %d", i, boundary);
    CHECK_OK(larder_env_close(env, &test_error));
}

static void pins_keep_documents(void) {
    larder_env *env = open_store(test_directory(), LARDER_BUDGET_UNLIMITED, false);
    REQUIRE(env != NULL);
    for (int i = 0; i < 10; i++)
        put_of_age(env, i);
    larder_bytes first = test_text("ages/000");
    CHECK_OK(larder_lru_pin(env, first, &test_error));
    CHECK_OK(larder_lru_pin(env, first, &test_error));
    CHECK_OK(larder_lru_unpin(env, first, &test_error));
    larder_target target = {.struct_bytes = sizeof target, .target_id = 7};
    target.canonical_id = target.query = test_text("ages");
    larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    CHECK_OK(larder_target_add_document(txn, 7, test_text("ages/001"), &test_error));
    larder_mutation_document touched = {.name = test_text("ages/002")};
    int64_t batch_id;
    larder_time now = {1, 0, 0};
    CHECK_OK(larder_mutation_append(txn, test_text("alice"), now, &touched, 1, test_text("m"),
                                    &batch_id, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    CHECK_OK(larder_lru_pin_target(env, 7, &test_error));
    larder_lru_result result = {.struct_bytes = sizeof result};
    int32_t status;
    do
        status = larder_lru_step(env, 0, 0, 0, &result, &test_error);
    while (status == LARDER_MORE);
    CHECK_OK(status);
    for (int i = 0; i < 10; i++)
        CHECK_NOTE(age_is_there(env, i) == (i < 3), "document %d after evicting all", i);
    /* without the pins and the mutation all of it can go */
    CHECK_OK(larder_lru_unpin(env, first, &test_error));
    CHECK_OK(larder_lru_unpin_target(env, 7, &test_error));
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_mutation_remove(txn, test_text("alice"), batch_id, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    do
        status = larder_lru_step(env, 0, 0, 0, &result, &test_error);
    while (status == LARDER_MORE);
    CHECK_OK(status);
    for (int i = 0; i < 10; i++)
        CHECK_NOTE(!age_is_there(env, i), "document %d is left", i);
    const larder_txn *read;
    larder_stat stat = {.struct_bytes = sizeof stat};
    REQUIRE_OK(larder_txn_begin_read(env, &read, &test_error));
    CHECK_OK(larder_env_stat(read, &stat, &test_error));
    CHECK_EQ(stat.document_count, 0);
    CHECK_EQ(stat.documents.row_count, 0);
    CHECK_EQ(stat.targets.row_count, 0);
    CHECK_EQ(stat.mutations.row_count, 0);
    CHECK_OK(mirror_check(read));
    larder_txn_end_read(read);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* A store that is written for good under a budget keeps its file within a factor of it. */
static void the_file_stays_near_the_budget(void) {
    const char *path = test_directory();
    larder_env *env = open_store(path, LARDER_BUDGET_MIN_BYTES, false);
    REQUIRE(env != NULL);
    for (int i = 0; i < 400; i++)
        put_of_age(env, i); /* 8 MB through a budget of 1 MiB */
    char file[1024];
    struct stat info;
    snprintf(file, sizeof file, "%s/data.mdb", path);
    CHECK_EQ(stat(file, &info), 0);
    CHECK_NOTE(info.st_size < 4 * LARDER_BUDGET_MIN_BYTES, "the file has %lld bytes",
               (long long)info.st_size);
    CHECK_OK(larder_env_close(env, &test_error));
}

static const test_case cases[] = {
    {"on disk", on_disk},
    {"in memory", in_memory},
    {"under a budget", under_a_budget},
    {"least recently used goes first", least_recently_used_goes_first},
    {"pins keep documents", pins_keep_documents},
    {"the file stays near the budget", the_file_stays_near_the_budget},
};
TEST_SUITE(differential, cases);

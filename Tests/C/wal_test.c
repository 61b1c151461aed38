/*
 * wal_test.c - the write-ahead log (wal.h): what is left of a store whose process ended at some
 * moment. Power cuts are crash/powercut_test.c's.
 */
#include "store/catalog.h"
#include "wal_kit.h"

#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

/* ---- after the end of the process ---- */

static void what_was_committed_is_there(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 65536);
    REQUIRE(env != NULL);
    for (int i = 0; i < 200; i++) { /* the log turns many times */
        CHECK_OK(wal_kit_put(env, i, (size_t)test_random_below(9000)));
        if (i % 9 != 0) continue;
        larder__wal_wait(env);
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        larder_env *opened = wal_kit_open(image, 0, 65536);
        REQUIRE(opened != NULL);
        CHECK_EQ(wal_kit_count(opened), i + 1);
        CHECK_EQ(store_stat(opened).commit_number, store_stat(env).commit_number);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env); /* the last of them may have begun a checkpoint */
    CHECK(env->wal->checkpoint_count > 10);
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    store_close(env);
    wal_kit_check_count(image, 200);
    wal_kit_check_count(wal_kit_join(root, "store"), 200);
}

/* Nothing of the map but the checkpoint's pages is needed. */
static void the_log_alone_has_the_commits(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    for (int i = 0; i < 5; i++)
        CHECK_OK(wal_kit_put(env, number++, 500));
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 0);
    wal_kit_copy(wal_kit_join(root, "store"), image, "data.wal");
    store_close(env);
    wal_kit_check_count(image, number);
}

/* LMDB writes over pages of the checkpoint; their images are in the log. */
static void replaced_pages_are_put_back(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    int64_t file_bytes = store_stat(env).file_bytes;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(wal_kit_put(env, (int)test_random_below((uint64_t)number), 500));
        if (i % 20 != 19) continue;
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        larder_env *opened = wal_kit_open(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(opened->wal->recovered_count, (uint64_t)i + 1);
        CHECK_EQ(wal_kit_count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 0);
    CHECK(env->wal->image_count > 0 && env->wal->pin == NULL);
    int64_t grown = store_stat(env).file_bytes - file_bytes;
    CHECK_NOTE(grown < 100 * 4096, "the file grew by %lld bytes", (long long)grown);
    store_close(env);
    wal_kit_check_count(wal_kit_join(root, "store"), number);
}

/* While a checkpoint is written the one before is needed, and commits go on. */
static void a_checkpoint_leaves_the_one_before(void) {
    const char *root = test_directory();
    char image[4200];
    int number, i;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    for (i = 0; i < 20000 && env->wal->checkpoint_count == 0; i++) {
        CHECK_OK(wal_kit_put(env, (int)test_random_below((uint64_t)number), 500));
        larder__wal_wait(env);
    }
    for (int k = 0; k < 20; k++, i++) {
        larder__wal_wait(env);
        CHECK_OK(wal_kit_put(env, (int)test_random_below((uint64_t)number), 500));
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        int log = open(wal_kit_join(image, "data.wal"), O_WRONLY);
        static const uint8_t blank[LARDER__WAL_BLOCK];
        off_t at = (off_t)(env->wal->header.sequence % 2 * LARDER__WAL_BLOCK);
        CHECK_EQ(pwrite(log, blank, sizeof blank, at), (ssize_t)sizeof blank);
        close(log);
        larder_env *opened = wal_kit_open(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(opened->wal->recovered_count, (uint64_t)i + 1);
        CHECK_EQ(wal_kit_count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 1);
    store_close(env);
}

/* The documents from number first on, some apart, up to another, in one commit. */
static void put_many(larder_env *env, int first, int end, int step) {
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = (larder_time){first + 1, 0, 0};
    for (int number = first; txn != NULL && number < end; number += step) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", number);
        CHECK_OK(larder_document_put(txn, test_text(name), &info,
                                     store_record(number, store_fill('y', 40)), &test_error));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
}

/* A commit that replaces many pages has a pin instead of images, up to the next checkpoint. */
static void many_replaced_pages_are_pinned(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    put_many(env, number, 5000, 1);
    number = 5000;
    CHECK_OK(larder_env_close(env, &test_error));
    env = wal_kit_open(wal_kit_join(root, "store"), 0, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 12; i++) {
        put_many(env, 0, 5000, 7);
        if (i == 1) { /* the commit may have begun a checkpoint */
            larder__wal_wait(env);
            CHECK(env->wal->pin != NULL || env->wal->checkpoint_count > 0);
        }
        CHECK_OK(wal_kit_put(env, i, 500));
        larder__wal_wait(env);
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        larder_env *opened = wal_kit_open(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(wal_kit_count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    store_close(env);
    wal_kit_check_count(wal_kit_join(root, "store"), number);
}

static void a_commit_that_does_not_fit_is_a_checkpoint(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 65536);
    REQUIRE(env != NULL);
    for (int i = 0; i < 12; i++)
        CHECK_OK(wal_kit_put(env, i, i % 3 == 0 ? 65000 : 100));
    larder__wal_wait(env);
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    wal_kit_check_count(image, 12);
    store_close(env);
    wal_kit_check_count(wal_kit_join(root, "store"), 12);
}

/* ---- opening for reading ---- */

static void reading_changes_nothing(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 5; i++)
        CHECK_OK(wal_kit_put(env, i, 500));
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    store_close(env);
    size_t sizes[4];
    uint8_t *before = wal_kit_read(wal_kit_join(image, "data.mdb"), &sizes[0]);
    uint8_t *log_before = wal_kit_read(wal_kit_join(image, "data.wal"), &sizes[1]);
    env = wal_kit_open(image, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(wal_kit_count(env), 5);
    store_check(env);
    larder_txn *txn;
    CHECK_STATUS(larder_txn_begin_write(env, &txn, NULL), LARDER_E_READ_ONLY);
    store_close(env);
    uint8_t *after = wal_kit_read(wal_kit_join(image, "data.mdb"), &sizes[2]);
    uint8_t *log_after = wal_kit_read(wal_kit_join(image, "data.wal"), &sizes[3]);
    CHECK(sizes[0] == sizes[2] && memcmp(before, after, sizes[0]) == 0);
    CHECK(sizes[1] == sizes[3] && memcmp(log_before, log_after, sizes[1]) == 0);
    free(before);
    free(after);
    free(log_before);
    free(log_after);
}

/* ---- earlier formats ---- */

/* What format 1 was: fewer tables, another number, and no log. */
static void make_format_1(const char *path) {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    uint8_t row[10] = "larder";
    row[LARDER__FORMAT_AT] = 1;
    MDB_val key = {1, "b"}, value = {sizeof row, row};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 20), 0);
    CHECK_EQ(mdb_env_open(env, path, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "catalog", 0, &table), 0);
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_dbi_open(txn, "nodes", 0, &table), 0);
    CHECK_EQ(mdb_drop(txn, table, 1), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_EQ(unlink(wal_kit_join(path, "data.wal")), 0);
}

static void a_store_of_format_1_gets_a_log(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/store", test_directory());
    larder_env *env = wal_kit_open(path, LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 5; i++)
        CHECK_OK(wal_kit_put(env, i, 500));
    store_close(env);
    make_format_1(path);
    CHECK_STATUS(
        larder_env_open(path, &(larder_env_options){.struct_bytes = 12, .flags = 2}, &env, NULL),
        LARDER_E_READ_ONLY);
    CHECK(access(wal_kit_join(path, "data.wal"), F_OK) != 0);
    env = wal_kit_open(path, 0, 0);
    REQUIRE(env != NULL);
    CHECK_OK(wal_kit_put(env, 5, 500));
    CHECK(env->stored_format == LARDER_FORMAT_VERSION && env->wal->header.state == 0);
    store_close(env);
    wal_kit_check_count(path, 6);
}

static larder_opening opening_of(larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    CHECK_OK(larder_env_opening(env, &opening, &test_error));
    return opening;
}

static void opening_says_what_it_found(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_CREATED);
    for (int i = 0; i < 5; i++)
        CHECK_OK(wal_kit_put(env, i, 10));
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    uint64_t commit = store_stat(env).commit_number;
    larder_opening small = {.struct_bytes = 8};
    CHECK_STATUS(larder_env_opening(env, &small, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_opening(env, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_env_close(env, &test_error));

    env = wal_kit_open(wal_kit_join(root, "store"), 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_CLEAN);
    CHECK_EQ(opening_of(env).recovered_count, 0);
    CHECK_EQ(opening_of(env).commit_number, commit);
    CHECK_OK(larder_env_close(env, &test_error));

    env = wal_kit_open(image, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_RECOVERED);
    CHECK_EQ(opening_of(env).recovered_count, 5);
    CHECK_EQ(opening_of(env).commit_number, commit);
    CHECK_OK(larder_env_close(env, &test_error));

    size_t size; /* a meta page is blanked */
    uint8_t *content = wal_kit_read(wal_kit_join(image, "data.mdb"), &size);
    memset(content, 0, 4096);
    wal_kit_write(wal_kit_join(image, "data.mdb"), content, size);
    free(content);
    env = wal_kit_open(image, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_REPAIRED);
    CHECK_EQ(wal_kit_count(env), 5);
    CHECK_OK(larder_env_close(env, &test_error));
}

static larder__wal_state state_of(const char *directory) {
    larder__wal_header header = {.state = LARDER__WAL_UNUSED};
    int file = open(wal_kit_join(directory, "data.wal"), O_RDONLY);
    CHECK_OK(larder__wal_read_header(file, &header, &test_error));
    close(file);
    return header.state;
}

/* A record behind a header that says so is read all the same, and the header says so no longer. */
static void a_closed_log_is_known_to_have_no_records(void) {
    const char *root = test_directory();
    char image[4200], store[4200];
    snprintf(image, sizeof image, "%s/image", root);
    snprintf(store, sizeof store, "%s/store", root);
    larder_env *env = wal_kit_open(store, LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    CHECK_OK(wal_kit_put(env, 0, 10));
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    store_close(env);
    CHECK_EQ(state_of(store), LARDER__WAL_CLOSED);
    env = wal_kit_open(store, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(state_of(store), LARDER__WAL_CLOSED); /* nothing was written */
    wal_kit_make_image(store, image);
    CHECK_OK(wal_kit_put(env, 1, 10));
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    wal_kit_check_count(image, 1);
    wal_kit_make_image(store, image);
    CHECK_OK(wal_kit_put(env, 2, 10));
    wal_kit_check_count(image, 2);
    wal_kit_make_image(store, image);
    store_close(env);
    wal_kit_check_count(store, 3);

    size_t size; /* the first of two records is damaged */
    uint8_t *log = wal_kit_read(wal_kit_join(image, "data.wal"), &size);
    log[LARDER__WAL_FIRST + LARDER__WAL_RECORD_HEAD + 3] ^= 1;
    wal_kit_write(wal_kit_join(image, "data.wal"), log, size);
    free(log);
    larder_env *opened = NULL;
    CHECK_STATUS(larder_env_open(image, NULL, &opened, NULL), LARDER_E_CORRUPT);
    /* Other processes append without looking at the state. */
    env = wal_kit_open(store, LARDER_OPEN_SHARED, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    CHECK_OK(wal_kit_put(env, 3, 10));
    store_close(env);
    wal_kit_check_count(store, 4);
}

static void keep_count(void *context, int32_t level, const char *message) {
    (void)level;
    if (strstr(message, "not closed") != NULL) ++*(int *)context;
}

/* How many messages about a store that was not closed an opening logs. */
static int messages_of_opening(const char *path, int32_t level) {
    int count = 0;
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.map_bytes = 64 << 20;
    options.log = keep_count;
    options.log_context = &count;
    options.log_level = level;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    if (env != NULL) CHECK_OK(larder_env_close(env, &test_error));
    return count;
}

/* Applications end without closing their stores; nothing is wrong then. */
static void a_recovery_without_damage_is_no_warning(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    CHECK_OK(wal_kit_put(env, 0, 10));
    for (int32_t level = LARDER_LOG_WARNING; level <= LARDER_LOG_INFO; level++) {
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        CHECK_EQ(messages_of_opening(image, level), level == LARDER_LOG_INFO ? 1 : 0);
    }
    CHECK_OK(larder_env_close(env, &test_error));
}

static void a_small_budget_has_a_small_log(void) {
    static const struct {
        int64_t budget_bytes;
        uint64_t log_bytes;
    } cases[] = {{1 << 20, 2 << 20},
                 {5 << 20, 5 << 20},
                 {64 << 20, LARDER__WAL_DEFAULT},
                 {LARDER_BUDGET_UNLIMITED, LARDER__WAL_DEFAULT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = wal_kit_join(test_directory(), "store");
        larder_env *env = NULL;
        larder_env_options options;
        larder_env_options_init(&options, sizeof options);
        options.flags = LARDER_OPEN_CREATE;
        options.map_bytes = 64 << 20;
        options.budget_bytes = cases[i].budget_bytes;
        REQUIRE_OK(larder_env_open(path, &options, &env, &test_error));
        CHECK_EQ(env->log_bytes, cases[i].log_bytes);
        for (int n = 0; i == 0 && n < 5000 && env->wal->checkpoint_count < 3; n++) {
            CHECK_OK(wal_kit_put(env, n % 20, 500));
            larder__wal_wait(env); /* its thread counts checkpoints */
        }
        if (i == 0) CHECK(env->wal->checkpoint_count >= 3);
        CHECK(env->wal->header.capacity_bytes <= cases[i].log_bytes);
        CHECK_OK(larder_env_close(env, &test_error));
    }
}

static const test_case cases[] = {
    {"a recovery without damage is no warning", a_recovery_without_damage_is_no_warning},
    {"a small budget has a small log", a_small_budget_has_a_small_log},
    {"a closed log is known to have no records", a_closed_log_is_known_to_have_no_records},
    {"opening says what it found", opening_says_what_it_found},
    {"what was committed is there", what_was_committed_is_there},
    {"the log alone has the commits", the_log_alone_has_the_commits},
    {"replaced pages are put back", replaced_pages_are_put_back},
    {"a checkpoint leaves the one before", a_checkpoint_leaves_the_one_before},
    {"many replaced pages are pinned", many_replaced_pages_are_pinned},
    {"a commit that does not fit is a checkpoint", a_commit_that_does_not_fit_is_a_checkpoint},
    {"reading changes nothing", reading_changes_nothing},
    {"a store of format 1 gets a log", a_store_of_format_1_gets_a_log},
};
TEST_SUITE(wal, cases);

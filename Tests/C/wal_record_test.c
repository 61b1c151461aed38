/*
 * wal_record_test.c - records of large transactions, which are written to the log in parts
 * (wal_record.c).
 */
#include "wal_kit.h"

#include <sys/stat.h>
#include <unistd.h>

/* Text that compression leaves at three quarters of its size. */
static const char *random_text(size_t size) {
    static char text[65536];
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (size_t i = 0; i < size; i++)
        text[i] = letters[test_random_below(64)];
    text[size] = 0;
    return text;
}

/* A transaction that puts the documents from number first on. */
static larder_txn *begin_put(larder_env *env, int first, int count, size_t text_bytes) {
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = info.create_time = (larder_time){first + 1, 0, 0};
    for (int number = first; txn != NULL && number < first + count; number++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", number);
        CHECK_OK(larder_document_put(txn, test_text(name), &info,
                                     store_record(number, random_text(text_bytes)), &test_error));
    }
    return txn;
}

static larder_env *open_in_small_parts(const char *path, uint32_t flags, uint64_t log_bytes) {
    larder_env *env = wal_kit_open(path, flags, log_bytes);
    if (env != NULL) env->wal->part_bytes = LARDER__WAL_BLOCK;
    return env;
}

/* ---- */

static void a_large_record_is_in_the_log_and_not_in_memory(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    for (int i = 0; i < 2; i++) {
        larder_txn *txn = begin_put(env, number, 40, 50000);
        REQUIRE(txn != NULL);
        CHECK(txn->redo.written_bytes > 1200000);
        CHECK(txn->redo.rest.capacity_bytes < 1 << 20);
        CHECK_OK(larder_txn_commit(txn, &test_error));
        number += 40;
    }
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 0);
    wal_kit_copy(wal_kit_join(root, "store"), image, "data.wal");
    store_close(env);
    wal_kit_check_count(image, number);
}

/* Commits of all sizes, some aborted, some over documents that are there. */
static void check_parts(uint32_t flags, uint64_t log_bytes) {
    const char *root = test_directory();
    char store[4200], image[4200];
    snprintf(store, sizeof store, "%s/store-%x-%d", root, flags, (int)log_bytes);
    snprintf(image, sizeof image, "%s/image", root);
    int number = 0, parts = 0;
    larder_env *env = open_in_small_parts(store, flags | LARDER_OPEN_CREATE, log_bytes);
    REQUIRE(env != NULL);
    for (int i = 0; i < 120; i++) {
        int first =
            test_random_below(3) == 0 ? (int)test_random_below((uint64_t)number + 1) : number;
        int count = 1 + (int)test_random_below(12);
        larder_txn *txn = begin_put(env, first, count, (size_t)test_random_below(3000));
        REQUIRE(txn != NULL);
        parts += txn->redo.written_bytes > 0;
        if (test_random_below(5) == 0) {
            larder_txn_abort(txn);
        } else {
            CHECK_OK(larder_txn_commit(txn, &test_error));
            if (first + count > number) number = first + count;
        }
        if (i % 8 != 0) continue;
        larder__wal_wait(env);
        wal_kit_make_image(store, image);
        larder_env *opened = open_in_small_parts(image, flags, log_bytes);
        REQUIRE(opened != NULL);
        CHECK_EQ(wal_kit_count(opened), number);
        CHECK_EQ(store_stat(opened).commit_number, store_stat(env).commit_number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    CHECK(parts > 10);
    store_close(env);
    wal_kit_check_count(store, number);
}

static void what_was_committed_in_parts_is_there(void) {
    check_parts(0, 65536);
    check_parts(0, 1 << 20);
    check_parts(LARDER_OPEN_SHARED, 65536);
    check_parts(LARDER_OPEN_SHARED, 1 << 20);
}

static void an_aborted_transaction_leaves_no_record(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    env->wal->part_bytes = LARDER__WAL_BLOCK;
    for (int i = 0; i < 4; i++) {
        larder_txn *txn = begin_put(env, number, 20, 2000);
        REQUIRE(txn != NULL);
        CHECK(txn->redo.written_bytes > 0);
        larder_txn_abort(txn);
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        wal_kit_check_count(image, number);
        CHECK_OK(wal_kit_put(env, number++, 100));
        wal_kit_make_image(wal_kit_join(root, "store"), image);
        wal_kit_check_count(image, number);
    }
    CHECK_EQ(env->wal->checkpoint_count, 0);
    store_close(env);
}

/* It is a checkpoint by itself, and parts are tried again after some commits. */
static void a_record_that_outgrows_its_space_is_given_up(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    larder_txn *txn = begin_put(env, number, 150, 50000);
    REQUIRE(txn != NULL);
    CHECK(txn->redo.is_given_up && txn->redo.rest.capacity_bytes == 0);
    CHECK_OK(larder_txn_commit(txn, &test_error));
    number += 150;
    CHECK_EQ(env->wal->checkpoint_count, 1);
    for (int commits = 1; commits < 20; commits++) {
        bool is_large = commits == 1 || commits >= 16;
        txn = begin_put(env, number, is_large ? 10 : 1, is_large ? 50000 : 10);
        REQUIRE(txn != NULL);
        CHECK_EQ(txn->redo.written_bytes > 0, commits >= 16);
        CHECK_OK(larder_txn_commit(txn, &test_error));
        number += is_large ? 10 : 1;
    }
    larder__wal_wait(env);
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    store_close(env);
    wal_kit_check_count(image, number);
}

static void a_record_of_which_a_part_is_torn_is_cut(void) {
    const char *root = test_directory();
    char before[4200], image[4200];
    int number;
    snprintf(before, sizeof before, "%s/before", root);
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &number);
    REQUIRE(env != NULL);
    env->wal->part_bytes = LARDER__WAL_BLOCK;
    CHECK_OK(wal_kit_put(env, number, 100));
    number++;
    wal_kit_make_image(wal_kit_join(root, "store"), before);
    uint64_t from = env->wal->last.end;
    larder_txn *txn = begin_put(env, number, 20, 2000);
    REQUIRE(txn != NULL);
    uint64_t written = txn->redo.written_bytes;
    CHECK(written >= 4 * LARDER__WAL_BLOCK);
    CHECK_OK(larder_txn_commit(txn, &test_error));
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(root, "store/data.wal"), &size);
    store_close(env);
    mkdir(image, 0755);
    for (uint64_t at = from; at < from + written; at += LARDER__WAL_BLOCK) {
        uint8_t *block = log + at, kept[LARDER__WAL_BLOCK];
        memcpy(kept, block, sizeof kept);
        memset(block, 0, sizeof kept);
        wal_kit_make_image(before, image);
        wal_kit_write(wal_kit_join(image, "data.wal"), log, size);
        wal_kit_check_count(image, number);
        memcpy(block, kept, sizeof kept);
    }
    wal_kit_make_image(before, image);
    wal_kit_write(wal_kit_join(image, "data.wal"), log, size);
    wal_kit_check_count(image, number + 20);
    free(log);
}

static const test_case cases[] = {
    {"a large record is in the log and not in memory",
     a_large_record_is_in_the_log_and_not_in_memory},
    {"what was committed in parts is there", what_was_committed_in_parts_is_there},
    {"an aborted transaction leaves no record", an_aborted_transaction_leaves_no_record},
    {"a record that outgrows its space is given up", a_record_that_outgrows_its_space_is_given_up},
    {"a record of which a part is torn is cut", a_record_of_which_a_part_is_torn_is_cut},
};
TEST_SUITE(wal_record, cases);

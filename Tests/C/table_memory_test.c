/*
 * table_memory_test.c - mutations, overlays, targets and named values without memory: the n-th
 * allocation fails, once or for good, for n = 1, 2, 3, ... until a run meets no failure.
 */
#include "memory_kit.h"
#include "store.h"

static char long_names[2][1300];

/* The steps stop at the first failure, which is then the only status that counts. */
#define STEP(call)                                                                                 \
    do {                                                                                           \
        int32_t step_status = (call);                                                              \
        if (step_status < 0) return step_status;                                                   \
    } while (0)

static int32_t write_all(larder_txn *txn) {
    larder_mutation_document documents[3] = {{.name = test_text("c/1")},
                                             {.name = test_text(long_names[0])},
                                             {.name = test_text(long_names[1])}};
    larder_time time = {1, 2, 0};
    larder_bytes user = test_text("ada"), none = {NULL, 0};
    larder_target target = {.struct_bytes = sizeof target, .target_id = 3};
    int64_t id;
    target.canonical_id = test_text("canonical");
    STEP(larder_mutation_append(txn, user, time, documents, 3, test_text("payload"), &id, NULL));
    STEP(larder_mutation_append(txn, user, time, documents, 1, none, &id, NULL));
    STEP(larder_mutation_record_attempt(txn, user, id, time, test_text("error"), NULL));
    STEP(larder_mutation_remove(txn, user, id, NULL));
    for (size_t i = 0; i < 3; i++)
        STEP(larder_overlay_put(txn, user, documents[i].name, 1,
                                store_record(1, store_fill('t', 3000)), test_text("payload"),
                                NULL));
    STEP(larder_overlay_put(txn, user, documents[0].name, 2, none, none, NULL));
    STEP(larder_overlay_remove(txn, user, documents[0].name, NULL));
    STEP(larder_target_put(txn, &target, NULL));
    for (size_t i = 0; i < 3; i++)
        STEP(larder_target_add_document(txn, 3, documents[i].name, NULL));
    STEP(larder_target_remove_document(txn, 3, documents[0].name, NULL));
    STEP(
        larder_target_change_documents(txn, 3, &documents[1].name, 1, &documents[0].name, 1, NULL));
    STEP(larder_named_put(txn, LARDER_NAMED_GLOBAL, test_text(long_names[0]), time,
                          test_text("value"), NULL));
    return LARDER_OK;
}

static int32_t read_scan(larder_scan *scan, int expected) {
    larder_document document;
    int32_t status;
    int count = 0;
    while ((status = larder_scan_next(scan, &document, NULL)) == LARDER_OK)
        count++;
    larder_scan_close(scan);
    if (status == LARDER_END) CHECK_EQ(count, expected);
    return status;
}

static int32_t read_all(const larder_txn *txn) {
    larder_bytes user = test_text("ada");
    larder_scan *scan = NULL;
    int64_t ids[4];
    size_t count;
    STEP(larder_mutation_find_collection(txn, user, test_text("c"), ids, 4, &count, NULL));
    CHECK_EQ(count, 1);
    STEP(larder_overlay_scan_collection(txn, user, test_text("c"), 0, &scan, NULL));
    STEP(read_scan(scan, 2));
    STEP(larder_overlay_scan_group(txn, user, test_text("c"), 0, &scan, NULL));
    STEP(read_scan(scan, 2));
    STEP(larder_overlay_scan_batch(txn, user, 1, &scan, NULL));
    STEP(read_scan(scan, 2));
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = LARDER_SCAN_ALL_STATES;
    STEP(larder_target_scan(txn, 3, &options, &scan, NULL));
    STEP(read_scan(scan, 2));
    return LARDER_OK;
}

static void make_names(void) {
    for (int i = 0; i < 2; i++) {
        strcpy(long_names[i], "c/");
        strcat(long_names[i], store_fill('x', 1200));
        strcat(long_names[i], i ? "b" : "a");
    }
}

static void check_empty(larder_env *env) {
    larder_stat stat = store_stat(env);
    CHECK_EQ(stat.mutations.row_count, 0);
    CHECK_EQ(stat.overlays.row_count, 0);
    CHECK_EQ(stat.targets.row_count, 0);
    CHECK_EQ(stat.collection_count, 0);
    store_check(env);
}

static void writes_without_memory_change_nothing(void) {
    make_names();
    for (int mode = 0; mode < 2; mode++) {
        int64_t n = 0;
        do {
            larder_env *env = memory_kit_open();
            larder_txn *txn = store_write(env);
            memory_kit.fails_for_good = mode == 1;
            memory_kit.has_failed = false;
            memory_kit.fail_at = ++n;
            int32_t status = write_all(txn);
            memory_kit.fail_at = -1;
            if (status == LARDER_OK) {
                /* The allocation that failed was not needed. */
                store_commit(txn);
                const larder_txn *read = store_read(env);
                CHECK_OK(read_all(read));
                larder_txn_end_read(read);
                store_check(env);
            } else {
                CHECK_STATUS(status, LARDER_E_NO_MEMORY);
                CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_TXN_ENDED);
                check_empty(env);
            }
            memory_kit_close(env);
        } while (memory_kit.has_failed && n < 10000);
        CHECK(n > 5);
    }
}

static void reads_without_memory_can_be_repeated(void) {
    make_names();
    larder_env *env = memory_kit_open();
    larder_txn *txn = store_write(env);
    REQUIRE_OK(write_all(txn));
    store_commit(txn);
    const larder_txn *read = store_read(env);
    int64_t n = 0;
    do {
        int64_t before = memory_kit.live_count;
        memory_kit.has_failed = false;
        memory_kit.fails_for_good = true;
        memory_kit.fail_at = ++n;
        int32_t status = read_all(read);
        memory_kit.fail_at = -1;
        CHECK_STATUS(status, memory_kit.has_failed ? LARDER_E_NO_MEMORY : LARDER_OK);
        CHECK_EQ(memory_kit.live_count, before);
        CHECK_OK(read_all(read));
    } while (memory_kit.has_failed && n < 10000);
    CHECK(n > 5);
    larder_txn_end_read(read);
    memory_kit_close(env);
}

static const test_case cases[] = {
    {"writes without memory change nothing", writes_without_memory_change_nothing},
    {"reads without memory can be repeated", reads_without_memory_can_be_repeated},
};
TEST_SUITE(table_memory, cases);

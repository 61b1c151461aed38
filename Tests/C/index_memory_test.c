/* index_memory_test.c - what indexes and sets allocate, and that they survive having no memory. */
#include "index_kit.h"
#include "memory_kit.h"
#include "store.h"

static void put_many(larder_txn *txn, int count, int offset) {
    char name[64], record[256];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, i % 3 ? "c/%05d" : "u/1/c/%05d", i);
        snprintf(record, sizeof record, "a=%d b='text %d' t=['x', 'y%d', %d]", (i + offset) % 50,
                 i + offset, (i + offset) % 9, offset);
        kit_put(txn, name, record);
    }
}

static void scans_allocate_nothing_per_entry(void) {
    larder_env *env = memory_kit_open();
    larder_txn *txn = store_write(env);
    uint32_t a = kit_define(txn, "c", "a asc, b desc"), t = kit_define(txn, "c", "t contains");
    put_many(txn, 900, 0);
    kit_overlay(txn, "ada", "c/00004", "a=3 b=2 t=['x']");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    static const uint32_t flags[] = {0, LARDER_SCAN_KEYS_ONLY, LARDER_SCAN_REVERSE,
                                     LARDER_SCAN_LOCAL_VIEW};
    for (size_t i = 0; i < 4; i++)
        for (int group = 0; group < 2; group++)
            for (int contains = 0; contains < 2; contains++) {
                larder_scan_options options = kit_options(flags[i], NULL, NULL);
                options.user = test_text("ada");
                larder_scan *scan = NULL;
                larder_document document;
                REQUIRE_OK(larder_index_scan(read, contains ? t : a, test_text(group ? "" : "c"),
                                             &options, &scan, &test_error));
                int64_t before = memory_kit.allocation_count;
                int count = 0;
                while (larder_scan_next(scan, &document, &test_error) == LARDER_OK)
                    count++;
                CHECK_EQ(memory_kit.allocation_count, before);
                CHECK(count >= 600);
                larder_scan_close(scan);
            }
    larder_txn_end_read(read);
    memory_kit_close(env);
}

static void writing_allocates_nothing_in_steady_state(void) {
    larder_env *env = memory_kit_open();
    larder_txn *txn = store_write(env);
    kit_define(txn, "c", "a asc, b desc");
    kit_define(txn, "c", "t contains");
    put_many(txn, 300, 0);
    put_many(txn, 300, 10);
    int64_t before = memory_kit.allocation_count;
    put_many(txn, 300, 11);
    CHECK_EQ(memory_kit.allocation_count, before);
    store_commit(txn);
    memory_kit_close(env);
}

/* Everything that indexes and sets do, up to the first failure, which is returned. */
static int32_t do_all(larder_env *env) {
    larder_txn *txn = NULL;
    larder_scan *scan = NULL;
    larder_set *left = NULL, *right = NULL;
    uint32_t a = 0, t = 0;
    char name[700];
    larder_document document;
    larder_scan_options keys =
        kit_options(LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
    keys.user = test_text("ada");
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    status = kit_try_define(txn, "c", "a asc", &a);
    for (int i = 0; i < 40 && status == LARDER_OK; i++) {
        snprintf(name, sizeof name, i % 2 ? "c/%s%d" : "u/1/c/%s%d", store_fill('m', 190), i);
        status = larder_document_put(txn, test_text(name), &info,
                                     kit_record("a=1 s=x*3000 t=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
                                                "11, 12, 13, 14, 15, 16, 17, 18, 19]"),
                                     &test_error);
    }
    if (status == LARDER_OK)
        status = larder_overlay_put(txn, test_text("ada"), test_text(name), 1, kit_record("a=1"),
                                    test_text(""), &test_error);
    if (status == LARDER_OK) status = kit_try_define(txn, "c", "t contains, s asc", &t);
    if (status == LARDER_OK) status = larder_index_backfill(txn, t, 0, 0, NULL, NULL, &test_error);
    if (status == LARDER_OK) CHECK_EQ(kit_index(txn, t).complete, 1);
    if (status == LARDER_OK) status = larder_set_create(txn, &left, &test_error);
    if (status == LARDER_OK) status = larder_set_create(txn, &right, &test_error);
    if (status == LARDER_OK)
        status = larder_index_scan(txn, a, test_text(""), &keys, &scan, &test_error);
    if (status == LARDER_OK) {
        status = larder_set_add_scan(left, scan, &test_error);
        CHECK_EQ(larder_set_count(left), status == LARDER_OK ? 40 : 0);
    }
    larder_scan_close(scan);
    scan = NULL;
    if (status == LARDER_OK)
        status = larder_index_scan(txn, t, test_text("c"), NULL, &scan, &test_error);
    if (status == LARDER_OK) {
        status = larder_set_add_scan(right, scan, &test_error);
        CHECK_EQ(larder_set_count(right), status == LARDER_OK ? 20 : 0);
    }
    larder_scan_close(scan);
    scan = NULL;
    if (status == LARDER_OK) {
        status = larder_set_union(right, left, &test_error);
        CHECK_EQ(larder_set_count(right), status == LARDER_OK ? 40 : 20);
    }
    if (status == LARDER_OK) status = larder_set_scan(right, NULL, &scan, &test_error);
    while (status == LARDER_OK)
        status = larder_scan_next(scan, &document, &test_error);
    if (status == LARDER_END) status = LARDER_OK;
    larder_scan_close(scan);
    larder_set_close(left);
    larder_set_close(right);
    if (status == LARDER_OK) {
        kit_check_counts(txn);
        status = larder_index_drop(txn, a, 0, &test_error);
    }
    if (status == LARDER_OK) return larder_txn_commit(txn, &test_error);
    larder_txn_abort(txn);
    return status;
}

static void having_no_memory_is_a_status(void) {
    larder_env *env = memory_kit_open();
    int64_t allowed = 0;
    for (;; allowed++) {
        memory_kit.fails_for_good = true;
        memory_kit.has_failed = false;
        memory_kit.fail_at = allowed + 1;
        int32_t status = do_all(env);
        memory_kit.fail_at = -1;
        if (status == LARDER_OK) break;
        CHECK_STATUS(status, LARDER_E_NO_MEMORY);
        CHECK(memory_kit.has_failed);
        const larder_txn *read = store_read(env);
        larder_index index;
        CHECK_STATUS(larder_index_next(read, 0, &index, &test_error), LARDER_END);
        larder_txn_end_read(read);
        CHECK_EQ(larder_live_handle_count(), 1);
        REQUIRE(allowed < 10000);
    }
    CHECK_NOTE(allowed > 20, "only %lld allocations", (long long)allowed);
    store_check(env);
    memory_kit_close(env);
}

static const test_case cases[] = {
    {"scans allocate nothing per entry", scans_allocate_nothing_per_entry},
    {"writing allocates nothing in steady state", writing_allocates_nothing_in_steady_state},
    {"having no memory is a status", having_no_memory_is_a_status},
};
TEST_SUITE(index_memory, cases);

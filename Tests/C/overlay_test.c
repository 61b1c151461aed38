/* overlay_test.c - overlays: views, scans, batches. */
#include "store.h"

#include "store/internal.h"

static void put(larder_txn *txn, const char *user, const char *name, int64_t batch_id,
                int64_t number) {
    larder_bytes plain = {NULL, 0};
    if (number >= 0) plain = store_record(number, "view");
    CHECK_OK(larder_overlay_put(txn, test_text(user), test_text(name), batch_id, plain,
                                test_text("mutation"), &test_error));
}

/* Checks that the scan gives exactly these names, joined by commas, and closes it. */
static void check_scan(larder_scan *scan, const char *expected) {
    char text[4096] = "";
    larder_document view;
    int32_t status;
    while ((status = larder_scan_next(scan, &view, &test_error)) == LARDER_OK) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.*s/%.*s", used > 0 ? "," : "",
                 (int)view.collection.size_bytes, (const char *)view.collection.data,
                 (int)view.id.size_bytes, (const char *)view.id.data);
        CHECK((view.flags & LARDER_DOCUMENT_LOCAL_MUTATIONS) != 0);
    }
    CHECK_STATUS(status, LARDER_END);
    CHECK_STATUS(larder_scan_next(scan, &view, NULL), LARDER_END);
    larder_scan_close(scan);
    CHECK_TEXT(test_text(text), expected);
}

static void check_batch(const larder_txn *txn, const char *user, int64_t batch_id,
                        const char *expected) {
    larder_scan *scan = NULL;
    CHECK_OK(larder_overlay_scan_batch(txn, test_text(user), batch_id, &scan, &test_error));
    check_scan(scan, expected);
}

static void check_collection(const larder_txn *txn, const char *user, const char *path,
                             int64_t since_batch, const char *expected) {
    larder_scan *scan = NULL;
    CHECK_OK(larder_overlay_scan_collection(txn, test_text(user), test_text(path), since_batch,
                                            &scan, &test_error));
    check_scan(scan, expected);
}

static void a_view_comes_back_as_it_was_put(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document view;
    larder_bytes payload;
    put(txn, "ada", "cities/__id7__", 3, 42);
    put(txn, "ada", "cities/gone", 4, -1);
    store_commit(txn);
    const larder_txn *read = store_read(env);
    REQUIRE_OK(larder_overlay_get(read, test_text("ada"), test_text("cities/__id7__"), &view,
                                  &payload, &test_error));
    CHECK_TEXT(view.collection, "cities");
    CHECK_TEXT(view.id, "__id7__");
    CHECK_EQ(view.state, LARDER_DOCUMENT_FOUND);
    CHECK_EQ(view.flags, LARDER_DOCUMENT_LOCAL_MUTATIONS);
    CHECK_EQ(view.version.seconds, 0);
    CHECK_EQ(view.batch_id, 3);
    CHECK(view.stored_bytes > 0);
    CHECK(store_record_is(&view.record, store_record(42, "view")));
    CHECK_TEXT(payload, "mutation");
    REQUIRE_OK(larder_overlay_get(read, test_text("ada"), test_text("cities/gone"), &view, NULL,
                                  &test_error));
    CHECK_EQ(view.state, LARDER_DOCUMENT_ABSENT);
    CHECK_EQ(view.batch_id, 4);
    CHECK_STATUS(
        larder_overlay_get(read, test_text("bob"), test_text("cities/gone"), &view, NULL, NULL),
        LARDER_NOT_FOUND);
    CHECK_STATUS(
        larder_overlay_get(read, test_text("ada"), test_text("cities/SF"), &view, NULL, NULL),
        LARDER_NOT_FOUND);
    CHECK_STATUS(
        larder_overlay_get(read, test_text("ada"), test_text("towns/SF"), &view, NULL, NULL),
        LARDER_NOT_FOUND);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void large_fields_of_a_view_come_back(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document view;
    char text[20001];
    for (size_t i = 0; i < 20000; i++)
        text[i] = (char)('a' + (i * i / 7) % 26);
    text[20000] = 0;
    CHECK_OK(larder_overlay_put(txn, test_text("ada"), test_text("c/1"), 1, store_record(1, text),
                                (larder_bytes){NULL, 0}, &test_error));
    store_commit(txn);
    const larder_txn *read = store_read(env);
    REQUIRE_OK(
        larder_overlay_get(read, test_text("ada"), test_text("c/1"), &view, NULL, &test_error));
    CHECK(store_record_is(&view.record, store_record(1, text)));
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void the_local_view_is_the_users_own(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document document;
    larder_document_info_init(&info, sizeof info);
    info.version = (larder_time){5, 0, 0};
    CHECK_OK(
        larder_document_put(txn, test_text("c/1"), &info, store_record(1, "base"), &test_error));
    put(txn, "ada", "c/1", 1, 2);
    REQUIRE_OK(
        larder_document_get_local(txn, test_text("ada"), test_text("c/1"), &document, &test_error));
    CHECK(store_record_is(&document.record, store_record(2, "view")));
    REQUIRE_OK(
        larder_document_get_local(txn, test_text("bob"), test_text("c/1"), &document, &test_error));
    CHECK(store_record_is(&document.record, store_record(1, "base")));
    /* The overlay outlives the document. */
    CHECK_OK(larder_document_remove(txn, test_text("c/1"), &test_error));
    CHECK_OK(
        larder_document_get_local(txn, test_text("ada"), test_text("c/1"), &document, &test_error));
    CHECK_OK(larder_overlay_remove(txn, test_text("ada"), test_text("c/1"), &test_error));
    CHECK_STATUS(
        larder_document_get_local(txn, test_text("ada"), test_text("c/1"), &document, NULL),
        LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).collection_count, 0);
    store_check(env);
    store_close(env);
}

static void an_overlay_belongs_to_the_batch_it_was_saved_under_last(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    put(txn, "ada", "c/1", 1, 1);
    put(txn, "ada", "c/2", 1, 1);
    put(txn, "bob", "c/1", 1, 1);
    check_batch(txn, "ada", 1, "c/1,c/2");
    put(txn, "ada", "c/1", 2, 2);
    put(txn, "ada", "c/2", 1, 3);
    check_batch(txn, "ada", 1, "c/2");
    check_batch(txn, "ada", 2, "c/1");
    check_batch(txn, "ada", 3, "");
    check_batch(txn, "ada", -1, "");
    int64_t removed = -1;
    CHECK_OK(larder_overlay_remove_batch(txn, test_text("ada"), 1, &removed, &test_error));
    CHECK_EQ(removed, 1);
    CHECK_OK(larder_overlay_remove_batch(txn, test_text("ada"), 1, &removed, &test_error));
    CHECK_EQ(removed, 0);
    CHECK_OK(larder_overlay_remove_batch(txn, test_text("eve"), 1, &removed, &test_error));
    CHECK_EQ(removed, 0);
    check_batch(txn, "ada", 2, "c/1");
    check_batch(txn, "bob", 1, "c/1");
    CHECK_OK(larder_overlay_remove(txn, test_text("ada"), test_text("c/1"), &test_error));
    CHECK_STATUS(larder_overlay_remove(txn, test_text("ada"), test_text("c/1"), NULL),
                 LARDER_NOT_FOUND);
    CHECK_OK(larder_overlay_remove_batch(txn, test_text("bob"), 1, NULL, &test_error));
    store_commit(txn);
    larder_stat stat = store_stat(env);
    CHECK_EQ(stat.overlays.row_count, 0);
    CHECK_EQ(stat.overlays.size_bytes, 0);
    CHECK_EQ(stat.collection_count, 0);
    store_check(env);
    store_close(env);
}

static void scans_are_in_name_order_since_a_batch(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_scan *scan = NULL;
    put(txn, "ada", "c/b", 3, 1);
    put(txn, "ada", "c/a", 5, -1);
    put(txn, "ada", "c/__id12__", 1, 1);
    put(txn, "ada", "c/__id9__", 9, 1);
    put(txn, "ada", "d/x/c/y", 7, 1);
    put(txn, "bob", "c/z", 1, 1);
    check_collection(txn, "ada", "c", 0, "c/__id9__,c/__id12__,c/a,c/b");
    check_collection(txn, "ada", "c", -1, "c/__id9__,c/__id12__,c/a,c/b");
    check_collection(txn, "ada", "c", 3, "c/__id9__,c/a");
    check_collection(txn, "ada", "c", 9, "");
    check_collection(txn, "eve", "c", 0, "");
    check_collection(txn, "ada", "e", 0, "");
    CHECK_OK(
        larder_overlay_scan_group(txn, test_text("ada"), test_text("c"), 3, &scan, &test_error));
    check_scan(scan, "c/__id9__,c/a,d/x/c/y");
    CHECK_OK(
        larder_overlay_scan_group(txn, test_text("ada"), test_text("e"), 0, &scan, &test_error));
    check_scan(scan, "");
    CHECK_OK(
        larder_overlay_scan_group(txn, test_text("eve"), test_text("c"), 0, &scan, &test_error));
    check_scan(scan, "");
    larder_txn_abort(txn);
    store_close(env);
}

static void overlays_have_index_entries_while_they_live(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint8_t path[16];
    size_t path_bytes;
    uint32_t index_id;
    larder_bytes field = test_text("n");
    REQUIRE_OK(larder_path_encode(&field, 1, path, sizeof path, &path_bytes, &test_error));
    larder_index_segment segment = {{path, path_bytes}, LARDER_SEGMENT_ASCENDING, 0};
    REQUIRE_OK(larder_index_define(txn, test_text("c"), &segment, 1, &index_id, &test_error));
    int64_t before = store_stat(env).indexes.row_count;
    put(txn, "ada", "c/1", 1, 10);
    put(txn, "ada", "c/2", 1, 11);
    put(txn, "bob", "c/1", 1, 12);
    put(txn, "ada", "c/1", 2, 13);
    store_commit(txn);
    store_check(env);
    CHECK_EQ(store_stat(env).indexes.row_count, before + 3);
    txn = store_write(env);
    put(txn, "bob", "c/1", 2, -1);
    CHECK_OK(larder_overlay_remove_batch(txn, test_text("ada"), 1, NULL, &test_error));
    store_commit(txn);
    store_check(env);
    CHECK_EQ(store_stat(env).indexes.row_count, before + 1);
    txn = store_write(env);
    CHECK_OK(larder_overlay_remove(txn, test_text("ada"), test_text("c/1"), &test_error));
    store_commit(txn);
    store_check(env);
    CHECK_EQ(store_stat(env).indexes.row_count, before);
    store_close(env);
}

static void wrong_arguments_change_nothing(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes none = {NULL, 0}, user = test_text("ada"), name = test_text("c/1");
    larder_bytes dangling = {NULL, 1}, large = {"", LARDER_PAYLOAD_MAX_BYTES + 1};
    larder_bytes plain = store_record(1, "view");
    larder_scan *scan = NULL;
    larder_document view;
    CHECK_STATUS(larder_overlay_put(NULL, user, name, 1, plain, none, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_put(txn, user, test_text("c"), 1, plain, none, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_overlay_put(txn, TEST_BYTES("\xff"), name, 1, plain, none, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_overlay_put(txn, user, name, 0, plain, none, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_put(txn, user, name, 1, dangling, none, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_put(txn, user, name, 1, plain, dangling, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_put(txn, user, name, 1, plain, large, NULL), LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_overlay_put(txn, user, name, 1, TEST_BYTES("no record"), none, NULL),
                 LARDER_E_INVALID_RECORD);
    char long_name[1300] = "c/";
    strcat(long_name, store_fill('l', 1200));
    CHECK_STATUS(
        larder_overlay_put(txn, user, test_text(long_name), 1, TEST_BYTES("L\1"), none, NULL),
        LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder_overlay_get(txn, user, name, NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_get(txn, user, test_text("c"), &view, NULL, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_overlay_remove(txn, user, name, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_overlay_scan_collection(txn, user, name, 0, &scan, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_overlay_scan_collection(txn, user, test_text("c"), 0, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_overlay_scan_group(txn, user, test_text("c/d/e"), 0, &scan, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_overlay_scan_batch(txn, dangling, 1, &scan, NULL), LARDER_E_INVALID_NAME);
    CHECK(scan == NULL);
    store_commit(txn);
    /* What was refused left neither a collection nor a long id behind. */
    CHECK_EQ(store_stat(env).collection_count, 0);
    CHECK_EQ(store_stat(env).overlays.row_count, 0);
    store_check(env);
    const larder_txn *read = store_read(env);
    txn = (larder_txn *)(uintptr_t)read;
    CHECK_STATUS(larder_overlay_put(txn, user, name, 1, plain, none, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_overlay_remove(txn, user, name, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_overlay_remove_batch(txn, user, 1, NULL, NULL), LARDER_E_READ_ONLY);
    larder_txn_end_read(read);
    store_close(env);
}

static void damage_is_reported_and_the_rest_is_served(void) {
    static const ptrdiff_t offsets[5] = {0, 4, 12, 14, -1};
    for (int place = 0; place < 5; place++) {
        const char *path = test_directory();
        larder_env *env = store_open_at(path);
        larder_txn *txn = store_write(env);
        put(txn, "ada", "c/1", 1, 1);
        put(txn, "ada", "c/2", 1, 2);
        store_commit(txn);
        store_close(env);
        store_damage(path, "overlays", 0, offsets[place]);
        env = store_open_at(path);
        txn = store_write(env);
        larder_document view;
        larder_scan *scan = NULL;
        larder_bytes user = test_text("ada");
        CHECK_STATUS(larder_overlay_get(txn, user, test_text("c/1"), &view, NULL, NULL),
                     LARDER_E_CORRUPT);
        CHECK_STATUS(larder_document_get_local(txn, user, test_text("c/1"), &view, NULL),
                     LARDER_E_CORRUPT);
        /* A write that meets damage ends its transaction. */
        CHECK_STATUS(larder_overlay_remove(txn, user, test_text("c/1"), NULL), LARDER_E_CORRUPT);
        CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_TXN_ENDED);
        txn = store_write(env);
        CHECK_STATUS(larder_overlay_put(txn, user, test_text("c/1"), 2, store_record(1, ""),
                                        (larder_bytes){NULL, 0}, NULL),
                     LARDER_E_CORRUPT);
        larder_txn_abort(txn);
        txn = store_write(env);
        CHECK_STATUS(larder_overlay_remove_batch(txn, user, 1, NULL, NULL), LARDER_E_CORRUPT);
        larder_txn_abort(txn);
        txn = store_write(env);
        CHECK_OK(larder_overlay_scan_collection(txn, user, test_text("c"), 0, &scan, &test_error));
        CHECK_STATUS(larder_scan_next(scan, &view, NULL), LARDER_E_CORRUPT);
        CHECK_OK(larder_scan_next(scan, &view, &test_error));
        CHECK_TEXT(view.id, "2");
        CHECK_STATUS(larder_scan_next(scan, &view, NULL), LARDER_END);
        larder_scan_close(scan);
        CHECK_OK(larder_overlay_remove(txn, user, test_text("c/2"), &test_error));
        store_commit(txn);
        store_close(env);
    }
}

/* The bytes that overlay.c describes; a change of them is a change of the format. */
static void an_overlay_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes row;
    put(txn, "ada", "c/x", 258, -1);
    larder_bytes key = TEST_BYTES("\x01\x01x");
    REQUIRE_OK(larder__table_get(txn, LARDER__OVERLAYS, key, &row, &test_error));
    CHECK(row.size_bytes > 21);
    const uint8_t *bytes = row.data;
    larder_bytes head = {bytes + 4, 17};
    CHECK_BYTES(head, TEST_BYTES("\x02\x01\0\0\0\0\0\0\x08mutation"));
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    CHECK_EQ(larder__load32(bytes), larder__crc32c(crc, head.data, head.size_bytes));
    /* Then a document row: absent, its checksum, epoch 0, version {0,0}. */
    CHECK_EQ(bytes[21] & 3, LARDER_DOCUMENT_ABSENT);
    larder_bytes version = {bytes + 26, row.size_bytes - 26};
    CHECK_BYTES(version, TEST_BYTES("\0\0\0\0\x0e\x77\x91\xf7\0\0\0\0\0"));
    REQUIRE_OK(larder__table_get(txn, LARDER__OVERLAY_BATCHES,
                                 TEST_BYTES("\x01\0\0\0\0\0\0\x01\x02\x01x"), &row, &test_error));
    CHECK_EQ(row.size_bytes, 0);
    larder_txn_abort(txn);
    store_close(env);
}

static void borrowed_bytes_may_be_put_again(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document view;
    larder_bytes payload;
    put(txn, "ada", "c/1", 1, 1);
    REQUIRE_OK(
        larder_overlay_get(txn, test_text("ada"), test_text("c/1"), &view, &payload, &test_error));
    CHECK_OK(larder_overlay_put(txn, test_text("ada"), test_text("c/1"), 2, store_record(2, ""),
                                payload, &test_error));
    REQUIRE_OK(
        larder_overlay_get(txn, test_text("ada"), test_text("c/1"), &view, &payload, &test_error));
    CHECK_TEXT(payload, "mutation");
    CHECK_EQ(view.batch_id, 2);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"a view comes back as it was put", a_view_comes_back_as_it_was_put},
    {"large fields of a view come back", large_fields_of_a_view_come_back},
    {"the local view is the user's own", the_local_view_is_the_users_own},
    {"an overlay belongs to the batch it was saved under last",
     an_overlay_belongs_to_the_batch_it_was_saved_under_last},
    {"scans are in name order since a batch", scans_are_in_name_order_since_a_batch},
    {"overlays have index entries while they live", overlays_have_index_entries_while_they_live},
    {"wrong arguments change nothing", wrong_arguments_change_nothing},
    {"damage is reported and the rest is served", damage_is_reported_and_the_rest_is_served},
    {"borrowed bytes may be put again", borrowed_bytes_may_be_put_again},
    {"an overlay has its documented bytes", an_overlay_has_its_documented_bytes},
};
TEST_SUITE(overlay, cases);

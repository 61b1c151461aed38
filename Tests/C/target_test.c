/* target_test.c - targets and their documents. */
#include "names.h"
#include "store.h"

#include "documents/documents.h"

static larder_target target_of(int32_t id, const char *canonical_id) {
    larder_target target = {.struct_bytes = sizeof target, .target_id = id};
    target.flags = 0x80000001u;
    target.sequence_number = -5;
    target.snapshot_version = (larder_time){100, 1, 0};
    target.limbo_free_version = (larder_time){99, 2, 0};
    target.resume_token = TEST_BYTES("to\0ken");
    target.canonical_id = test_text(canonical_id);
    target.query = test_text("query");
    return target;
}

static void put(larder_txn *txn, int32_t id, const char *canonical_id) {
    larder_target target = target_of(id, canonical_id);
    CHECK_OK(larder_target_put(txn, &target, &test_error));
}

static void add(larder_txn *txn, int32_t id, const char *name) {
    CHECK_OK(larder_target_add_document(txn, id, test_text(name), &test_error));
}

static int64_t count_of(const larder_txn *txn, int32_t id) {
    int64_t count = -1;
    CHECK_OK(larder_target_document_count(txn, id, &count, &test_error));
    return count;
}

/* Names and states that a scan gives, joined by commas: "c/1=1". */
static void check_scan(const larder_txn *txn, int32_t id, uint32_t flags, const char *user,
                       const char *expected) {
    char text[4096] = "";
    larder_scan_options options;
    larder_scan *scan = NULL;
    larder_document document;
    larder_scan_options_init(&options, sizeof options);
    options.flags = flags;
    options.user = test_text(user);
    REQUIRE_OK(larder_target_scan(txn, id, &options, &scan, &test_error));
    int32_t status;
    while ((status = larder_scan_next(scan, &document, &test_error)) == LARDER_OK) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.*s/%.*s=%d", used > 0 ? "," : "",
                 (int)document.collection.size_bytes, (const char *)document.collection.data,
                 (int)document.id.size_bytes, (const char *)document.id.data, document.state);
    }
    CHECK_STATUS(status, LARDER_END);
    larder_scan_close(scan);
    CHECK_TEXT(test_text(text), expected);
}

static void a_target_comes_back_as_it_was_put(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    put(txn, 7, "canonical");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    larder_target target = {.struct_bytes = sizeof target};
    REQUIRE_OK(larder_target_get(read, 7, &target, &test_error));
    CHECK_EQ(target.struct_bytes, sizeof target);
    CHECK_EQ(target.target_id, 7);
    CHECK_EQ(target.flags, 0x80000001u);
    CHECK_EQ(target.sequence_number, -5);
    CHECK_EQ(target.snapshot_version.seconds, 100);
    CHECK_EQ(target.snapshot_version.nanoseconds, 1);
    CHECK_EQ(target.limbo_free_version.seconds, 99);
    CHECK_BYTES(target.resume_token, TEST_BYTES("to\0ken"));
    CHECK_TEXT(target.canonical_id, "canonical");
    CHECK_TEXT(target.query, "query");
    CHECK_STATUS(larder_target_get(read, 8, &target, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_target_get(read, -1, &target, NULL), LARDER_NOT_FOUND);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void targets_are_listed_by_id_and_found_by_canonical_id(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target};
    int32_t ids[4], highest = -1;
    size_t count = 0;
    CHECK_OK(larder_target_highest_id(txn, &highest, &test_error));
    CHECK_EQ(highest, 0);
    put(txn, 300, "a");
    put(txn, 2, "a");
    put(txn, INT32_MAX, "b");
    const int32_t order[] = {2, 300, INT32_MAX};
    int32_t after = INT32_MIN;
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(larder_target_next(txn, after, &target, &test_error));
        CHECK_EQ(target.target_id, order[i]);
        after = target.target_id;
    }
    CHECK_STATUS(larder_target_next(txn, after, &target, NULL), LARDER_END);
    CHECK_OK(larder_target_find(txn, test_text("a"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 2);
    CHECK_EQ(ids[0], 2);
    CHECK_EQ(ids[1], 300);
    CHECK_OK(larder_target_find(txn, test_text("a"), ids, 1, &count, &test_error));
    CHECK_EQ(count, 2);
    /* A new canonical id takes the place of the old one. */
    put(txn, 2, "c");
    CHECK_OK(larder_target_find(txn, test_text("a"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 1);
    CHECK_OK(larder_target_find(txn, test_text("c"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 1);
    CHECK_EQ(ids[0], 2);
    CHECK_OK(larder_target_remove(txn, INT32_MAX, &test_error));
    CHECK_OK(larder_target_find(txn, test_text("b"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 0);
    CHECK_OK(larder_target_highest_id(txn, &highest, &test_error));
    CHECK_EQ(highest, INT32_MAX);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void documents_are_added_once_and_counted(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    int32_t ids[4];
    size_t count = 0;
    put(txn, 1, "a");
    put(txn, 2, "b");
    add(txn, 1, "c/2");
    add(txn, 1, "c/1");
    add(txn, 1, "c/1");
    add(txn, 2, "c/1");
    CHECK_EQ(count_of(txn, 1), 2);
    CHECK_OK(larder_target_find_document(txn, test_text("c/1"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 2);
    CHECK_EQ(ids[0], 1);
    CHECK_EQ(ids[1], 2);
    /* Putting the target again keeps its documents. */
    put(txn, 1, "z");
    CHECK_EQ(count_of(txn, 1), 2);
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES, "", "c/1=0,c/2=0");
    CHECK_OK(larder_target_remove_document(txn, 1, test_text("c/1"), &test_error));
    CHECK_STATUS(larder_target_remove_document(txn, 1, test_text("c/1"), NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_target_remove_document(txn, 3, test_text("c/2"), NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_target_remove_document(txn, 1, test_text("d/2"), NULL), LARDER_NOT_FOUND);
    CHECK_EQ(count_of(txn, 1), 1);
    CHECK_EQ(count_of(txn, 2), 1);
    CHECK_STATUS(larder_target_add_document(txn, 3, test_text("e/1"), NULL), LARDER_NOT_FOUND);
    int64_t documents;
    CHECK_STATUS(larder_target_document_count(txn, 3, &documents, NULL), LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).collection_count, 1);
    store_check(env);
    store_close(env);
}

static void several_documents_change_at_once(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    put(txn, 1, "a");
    put(txn, 2, "b");
    const larder_bytes names[] = {test_text("c/1"), test_text("c/2"), test_text("d/1"),
                                  test_text("c/1"), name_at(7)};
    CHECK_OK(larder_target_change_documents(txn, 1, NULL, 0, names, 5, &test_error));
    CHECK_OK(larder_target_change_documents(txn, 2, names, 5, names, 2, &test_error));
    CHECK_EQ(count_of(txn, 1), 4);
    CHECK_EQ(count_of(txn, 2), 2);
    CHECK_OK(larder_target_change_documents(txn, 1, NULL, 0, NULL, 0, &test_error));
    /* What is removed and added stays; twice removed is removed once. */
    const larder_bytes gone[] = {names[0], names[2], names[0], names[4], test_text("x/1")};
    CHECK_OK(larder_target_change_documents(txn, 1, gone, 5, names + 1, 1, &test_error));
    CHECK_OK(larder_target_change_documents(txn, 2, names + 1, 1, names + 1, 1, &test_error));
    CHECK_EQ(count_of(txn, 1), 1);
    CHECK_EQ(count_of(txn, 2), 2);
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES, "", "c/2=0");
    CHECK_STATUS(larder_target_change_documents(txn, 3, gone, 5, names, 5, NULL), LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).collection_count, 1);
    store_check(env);
    store_close(env);
}

static void removing_a_target_leaves_no_row(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[1300] = "odd/";
    strcat(name, store_fill('q', 1200));
    put(txn, 5, "a");
    add(txn, 5, name);
    add(txn, 5, "c/1");
    add(txn, 5, "c/2");
    store_commit(txn);
    store_check(env);
    txn = store_write(env);
    CHECK_OK(larder_target_remove(txn, 5, &test_error));
    CHECK_STATUS(larder_target_remove(txn, 5, NULL), LARDER_NOT_FOUND);
    check_scan(txn, 5, LARDER_SCAN_ALL_STATES, "", "");
    store_commit(txn);
    larder_stat stat = store_stat(env);
    CHECK_EQ(stat.targets.row_count, 0);
    CHECK_EQ(stat.targets.size_bytes, 0);
    CHECK_EQ(stat.collection_count, 0);
    store_check(env);
    store_close(env);
}

static void a_scan_gives_documents_as_the_options_say(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_bytes none = {NULL, 0};
    larder_document_info_init(&info, sizeof info);
    put(txn, 1, "a");
    add(txn, 1, "d/missing");
    add(txn, 1, "c/found");
    add(txn, 1, "c/absent");
    add(txn, 1, "c/pending");
    add(txn, 1, "c/deleted");
    CHECK_OK(
        larder_document_put(txn, test_text("c/found"), &info, store_record(1, "x"), &test_error));
    CHECK_OK(
        larder_document_put(txn, test_text("c/deleted"), &info, store_record(2, "x"), &test_error));
    info.state = LARDER_DOCUMENT_ABSENT;
    CHECK_OK(larder_document_put(txn, test_text("c/absent"), &info, none, &test_error));
    CHECK_OK(larder_overlay_put(txn, test_text("ada"), test_text("c/pending"), 1,
                                store_record(3, "x"), none, &test_error));
    CHECK_OK(larder_overlay_put(txn, test_text("ada"), test_text("c/deleted"), 1, none, none,
                                &test_error));
    check_scan(txn, 1, 0, "", "c/deleted=1,c/found=1");
    check_scan(txn, 1, LARDER_SCAN_LOCAL_VIEW, "ada", "c/found=1,c/pending=1");
    check_scan(txn, 1, LARDER_SCAN_LOCAL_VIEW, "bob", "c/deleted=1,c/found=1");
    check_scan(txn, 1, LARDER_SCAN_KEYS_ONLY, "", "c/deleted=0,c/found=0");
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES, "",
               "d/missing=0,c/absent=2,c/deleted=1,c/found=1,c/pending=0");
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES | LARDER_SCAN_KEYS_ONLY, "",
               "d/missing=0,c/absent=0,c/deleted=0,c/found=0,c/pending=0");
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES | LARDER_SCAN_LOCAL_VIEW, "ada",
               "d/missing=0,c/absent=2,c/deleted=2,c/found=1,c/pending=1");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void a_target_can_be_removed_in_steps(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target};
    int32_t ids[4];
    size_t count = 0;
    int64_t removed = -1, total = 0;
    uint32_t epoch = 0;
    put(txn, 1, "a");
    for (char name[8] = "c/a"; name[2] <= 'j'; name[2]++)
        add(txn, 1, name);
    CHECK_STATUS(larder__target_remove_some(txn, 1, 4, &removed, &test_error), LARDER_MORE);
    CHECK_EQ(removed, 4);
    /* It cannot be found any more, whatever is left of it. */
    CHECK_STATUS(larder_target_get(txn, 1, &target, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_target_next(txn, 0, &target, NULL), LARDER_END);
    CHECK_OK(larder_target_find(txn, test_text("a"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 0);
    CHECK_OK(larder_target_find_document(txn, test_text("c/j"), ids, 4, &count, &test_error));
    CHECK_EQ(count, 0);
    CHECK_STATUS(larder_target_add_document(txn, 1, test_text("c/z"), NULL), LARDER_NOT_FOUND);
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES, "", "");
    store_commit(txn);
    store_check(env);
    txn = store_write(env);
    CHECK_OK(larder__target_epoch(txn, 1, &epoch, &test_error));
    int32_t status;
    do {
        status = larder__target_remove_some(txn, 1, 4, &removed, &test_error);
        total += removed;
    } while (status == LARDER_MORE);
    CHECK_STATUS(status, LARDER_OK);
    CHECK_EQ(total, 6);
    CHECK_STATUS(larder__target_remove_some(txn, 1, 4, &removed, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder__target_epoch(txn, 1, &epoch, NULL), LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).targets.row_count, 0);
    store_check(env);
    /* Putting the id again while it is being removed starts with no documents. */
    txn = store_write(env);
    put(txn, 1, "a");
    add(txn, 1, "c/a");
    add(txn, 1, "c/b");
    CHECK_STATUS(larder__target_remove_some(txn, 1, 1, &removed, &test_error), LARDER_MORE);
    put(txn, 1, "b");
    CHECK_EQ(count_of(txn, 1), 0);
    check_scan(txn, 1, LARDER_SCAN_ALL_STATES, "", "");
    add(txn, 1, "c/b");
    CHECK_EQ(count_of(txn, 1), 1);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void the_epoch_of_a_target_can_be_moved(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target};
    uint32_t epoch = 0;
    put(txn, 1, "a");
    CHECK_OK(larder__target_set_epoch(txn, 1, 77, &test_error));
    CHECK_OK(larder__target_epoch(txn, 1, &epoch, &test_error));
    CHECK_EQ(epoch, 77);
    CHECK_OK(larder_target_get(txn, 1, &target, &test_error));
    CHECK_BYTES(target.resume_token, TEST_BYTES("to\0ken"));
    CHECK_TEXT(target.query, "query");
    CHECK_STATUS(larder__target_set_epoch(txn, 2, 77, NULL), LARDER_NOT_FOUND);
    larder_txn_abort(txn);
    store_close(env);
}

static void check_refused(larder_txn *txn, larder_target target, int32_t status) {
    CHECK_STATUS(larder_target_put(txn, &target, NULL), status);
}

static void wrong_arguments_change_nothing(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = target_of(1, "a"), bad;
    larder_bytes dangling = {NULL, 1}, large = {"", LARDER_PAYLOAD_MAX_BYTES + 1};
    larder_scan_options options;
    larder_scan *scan = NULL;
    size_t count;
    CHECK_STATUS(larder_target_put(NULL, &target, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_put(txn, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.struct_bytes = 0;
    check_refused(txn, bad, LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_get(txn, 1, &bad, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_next(txn, 0, &bad, NULL), LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.target_id = 0;
    check_refused(txn, bad, LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.target_id = INT32_MIN;
    check_refused(txn, bad, LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.snapshot_version.nanoseconds = 1000000000;
    check_refused(txn, bad, LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.query = dangling;
    check_refused(txn, bad, LARDER_E_INVALID_ARGUMENT);
    bad = target, bad.canonical_id.size_bytes = LARDER_NAME_MAX_BYTES + 1;
    check_refused(txn, bad, LARDER_E_TOO_LARGE);
    bad = target, bad.resume_token = large;
    check_refused(txn, bad, LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_target_add_document(txn, 1, test_text("c"), NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_target_remove_document(txn, 1, test_text("c"), NULL),
                 LARDER_E_INVALID_NAME);
    const larder_bytes names[] = {test_text("c/1"), test_text("c")};
    CHECK_STATUS(larder_target_change_documents(txn, 1, NULL, 0, names, 2, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_target_change_documents(txn, 1, names, 2, NULL, 0, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_target_change_documents(txn, 1, NULL, 1, NULL, 0, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_find(txn, test_text("a"), NULL, 0, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_find(txn, dangling, NULL, 0, &count, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_find_document(txn, test_text("c/1"), NULL, 1, &count, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_highest_id(txn, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_target_scan(txn, 1, NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    larder_scan_options_init(&options, sizeof options);
    options.flags = LARDER_SCAN_REVERSE;
    CHECK_STATUS(larder_target_scan(txn, 1, &options, &scan, NULL), LARDER_E_INVALID_ARGUMENT);
    options.flags = 0;
    options.start = test_text("c/1");
    CHECK_STATUS(larder_target_scan(txn, 1, &options, &scan, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK(scan == NULL);
    store_commit(txn);
    CHECK_EQ(store_stat(env).targets.row_count, 0);
    CHECK_EQ(store_stat(env).collection_count, 0);
    /* The longest canonical id, and nothing but the id. */
    txn = store_write(env);
    target.canonical_id = test_text(store_fill('k', LARDER_NAME_MAX_BYTES));
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    larder_target small = {.struct_bytes = sizeof small, .target_id = 2};
    CHECK_OK(larder_target_put(txn, &small, &test_error));
    CHECK_OK(larder_target_find(txn, (larder_bytes){NULL, 0}, NULL, 0, &count, &test_error));
    CHECK_EQ(count, 1);
    store_commit(txn);
    store_check(env);
    const larder_txn *read = store_read(env);
    txn = (larder_txn *)(uintptr_t)read;
    CHECK_STATUS(larder_target_put(txn, &target, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_target_remove(txn, 1, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_target_add_document(txn, 1, test_text("c/1"), NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_target_remove_document(txn, 1, test_text("c/1"), NULL), LARDER_E_READ_ONLY);
    larder_txn_end_read(read);
    store_close(env);
}

static void damage_is_reported_and_the_rest_is_served(void) {
    static const ptrdiff_t offsets[4] = {0, 4, 8, -1};
    for (int place = 0; place < 4; place++) {
        const char *path = test_directory();
        larder_env *env = store_open_at(path);
        larder_txn *txn = store_write(env);
        put(txn, 1, "a");
        put(txn, 2, "b");
        add(txn, 2, "c/1");
        store_commit(txn);
        store_close(env);
        store_damage(path, "targets", 0, offsets[place]);
        env = store_open_at(path);
        txn = store_write(env);
        larder_target target = {.struct_bytes = sizeof target};
        int32_t ids[2];
        size_t count = 0;
        CHECK_STATUS(larder_target_get(txn, 1, &target, NULL), LARDER_E_CORRUPT);
        CHECK_STATUS(larder_target_next(txn, 0, &target, NULL), LARDER_E_CORRUPT);
        CHECK_EQ(target.target_id, 1);
        CHECK_STATUS(larder_target_find(txn, test_text("a"), ids, 2, &count, NULL),
                     LARDER_E_CORRUPT);
        /* A write that meets damage ends its transaction. */
        CHECK_STATUS(larder_target_remove(txn, 1, NULL), LARDER_E_CORRUPT);
        CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_TXN_ENDED);
        txn = store_write(env);
        CHECK_STATUS(larder_target_add_document(txn, 1, test_text("c/1"), NULL), LARDER_E_CORRUPT);
        larder_txn_abort(txn);
        txn = store_write(env);
        CHECK_OK(larder_target_next(txn, 1, &target, &test_error));
        CHECK_EQ(target.target_id, 2);
        check_scan(txn, 2, LARDER_SCAN_ALL_STATES, "", "c/1=0");
        CHECK_OK(larder_target_remove(txn, 2, &test_error));
        store_commit(txn);
        store_close(env);
    }
}

/* The bytes that target.c describes; a change of them is a change of the format. */
static void a_target_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes row;
    put(txn, 300, "canonical");
    add(txn, 300, "c/x");
    CHECK_OK(larder__target_set_epoch(txn, 300, 258, &test_error));
    REQUIRE_OK(larder__table_get_sealed(txn, LARDER__TARGETS, TEST_BYTES("\xf1\x01\x2c"), &row,
                                        &test_error));
    CHECK_BYTES(row, TEST_BYTES("\x02\x01\0\0" /* epoch */
                                "\0"           /* in use */
                                "\x01\0\0\x80"
                                "\xfb\xff\xff\xff\xff\xff\xff\xff"
                                "\x0e\x77\x91\xf7\x64\0\0\0\x01"
                                "\x0e\x77\x91\xf7\x63\0\0\0\x02"
                                "\x06to\0ken"
                                "\x09"
                                "canonical"
                                "query"));
    CHECK_OK(larder__table_get(txn, LARDER__TARGET_DOCUMENTS, TEST_BYTES("\xf1\x01\x2c\x01x"), &row,
                               &test_error));
    CHECK_OK(larder__table_get(txn, LARDER__DOCUMENT_TARGETS, TEST_BYTES("\x01\x01x\xf1\x01\x2c"),
                               &row, &test_error));
    REQUIRE_OK(larder__table_get_sealed(txn, LARDER__CATALOG, TEST_BYTES("q\xf1\x01\x2c"), &row,
                                        &test_error));
    CHECK_BYTES(row, TEST_BYTES("\x01\0\0\0\0\0\0\0"));
    larder_txn_abort(txn);
    store_close(env);
}

static void borrowed_bytes_may_be_put_again(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target};
    put(txn, 1, "a");
    REQUIRE_OK(larder_target_get(txn, 1, &target, &test_error));
    target.sequence_number = 9;
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    REQUIRE_OK(larder_target_get(txn, 1, &target, &test_error));
    CHECK_EQ(target.sequence_number, 9);
    CHECK_BYTES(target.resume_token, TEST_BYTES("to\0ken"));
    CHECK_TEXT(target.canonical_id, "a");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"a target comes back as it was put", a_target_comes_back_as_it_was_put},
    {"targets are listed by id and found by canonical id",
     targets_are_listed_by_id_and_found_by_canonical_id},
    {"documents are added once and counted", documents_are_added_once_and_counted},
    {"several documents change at once", several_documents_change_at_once},
    {"removing a target leaves no row", removing_a_target_leaves_no_row},
    {"a scan gives documents as the options say", a_scan_gives_documents_as_the_options_say},
    {"a target can be removed in steps", a_target_can_be_removed_in_steps},
    {"the epoch of a target can be moved", the_epoch_of_a_target_can_be_moved},
    {"wrong arguments change nothing", wrong_arguments_change_nothing},
    {"damage is reported and the rest is served", damage_is_reported_and_the_rest_is_served},
    {"borrowed bytes may be put again", borrowed_bytes_may_be_put_again},
    {"a target has its documented bytes", a_target_has_its_documented_bytes},
};
TEST_SUITE(target, cases);

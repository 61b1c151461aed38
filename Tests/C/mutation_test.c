/* mutation_test.c - queues of mutation batches. */
#include "store.h"

#include "store/internal.h"

static const larder_time write_time = {1700000000, 5000, 0};
static const larder_time version_3 = {3, 4, 0};

static int64_t append(larder_txn *txn, const char *user, const char *name, const char *payload) {
    int64_t id = 0;
    larder_mutation_document document = {.name = test_text(name)};
    CHECK_OK(larder_mutation_append(txn, test_text(user), write_time, &document, 1,
                                    test_text(payload), &id, &test_error));
    return id;
}

static int64_t count_of(const larder_txn *txn, const char *user) {
    int64_t count = -1;
    CHECK_OK(larder_mutation_count(txn, test_text(user), &count, &test_error));
    return count;
}

static void a_batch_comes_back_as_it_was_appended(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_mutation_document documents[3] = {{.name = test_text("cities/SF")},
                                             {test_text("cities/__id7__"), version_3},
                                             {.name = test_text("cities/SF")}};
    int64_t id = 0;
    REQUIRE_OK(larder_mutation_append(txn, test_text("ada"), write_time, documents, 3,
                                      TEST_BYTES("pay\0load"), &id, &test_error));
    CHECK_EQ(id, 1);
    store_commit(txn);
    const larder_txn *read = store_read(env);
    larder_batch batch;
    larder_mutation_document document;
    REQUIRE_OK(larder_mutation_get(read, test_text("ada"), 1, &batch, &test_error));
    CHECK_EQ(batch.batch_id, 1);
    CHECK_EQ(batch.local_write_time.seconds, write_time.seconds);
    CHECK_EQ(batch.local_write_time.nanoseconds, write_time.nanoseconds);
    CHECK_EQ(batch.attempt_count, 0);
    CHECK_EQ(batch.last_attempt.seconds, 0);
    CHECK_EQ(batch.last_error.size_bytes, 0);
    CHECK_BYTES(batch.payload, TEST_BYTES("pay\0load"));
    CHECK_EQ(batch.document_count, 3);
    REQUIRE_OK(larder_batch_get_document(&batch, 1, &document));
    CHECK_TEXT(document.name, "cities/__id7__");
    CHECK_EQ(document.base_version.seconds, 3);
    CHECK_EQ(document.base_version.nanoseconds, 4);
    REQUIRE_OK(larder_batch_get_document(&batch, 2, &document));
    CHECK_TEXT(document.name, "cities/SF");
    CHECK_EQ(document.base_version.seconds, 0);
    CHECK_STATUS(larder_batch_get_document(&batch, 3, &document), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_batch_get_document(NULL, 0, &document), LARDER_E_INVALID_ARGUMENT);
    /* The document named twice is mentioned once. */
    int64_t ids[4];
    CHECK_EQ(store_batches_touching(read, test_text("ada"), test_text("cities/SF"), ids, 4), 1);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void batches_without_documents_or_payload_are_kept(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_batch batch;
    larder_mutation_document document;
    int64_t id = 0;
    CHECK_OK(larder_mutation_append(txn, test_text(""), write_time, NULL, 0,
                                    (larder_bytes){NULL, 0}, &id, &test_error));
    REQUIRE_OK(larder_mutation_next(txn, test_text(""), 0, &batch, &test_error));
    CHECK_EQ(batch.batch_id, id);
    CHECK_EQ(batch.document_count, 0);
    CHECK_EQ(batch.payload.size_bytes, 0);
    CHECK_STATUS(larder_batch_get_document(&batch, 0, &document), LARDER_NOT_FOUND);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void queues_are_first_in_first_out_for_each_user(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_batch batch;
    int64_t a1 = append(txn, "ada", "c/1", "1"), b1 = append(txn, "bob", "c/1", "2");
    int64_t a2 = append(txn, "ada", "c/2", "3");
    CHECK(a1 < b1 && b1 < a2);
    store_commit(txn);
    const larder_txn *read = store_read(env);
    REQUIRE_OK(larder_mutation_next(read, test_text("ada"), 0, &batch, &test_error));
    CHECK_EQ(batch.batch_id, a1);
    REQUIRE_OK(larder_mutation_next(read, test_text("ada"), a1, &batch, &test_error));
    CHECK_EQ(batch.batch_id, a2);
    CHECK_STATUS(larder_mutation_next(read, test_text("ada"), a2, &batch, NULL), LARDER_END);
    CHECK_STATUS(larder_mutation_next(read, test_text("ada"), INT64_MAX, &batch, NULL), LARDER_END);
    CHECK_OK(larder_mutation_next(read, test_text("ada"), INT64_MIN, &batch, &test_error));
    CHECK_STATUS(larder_mutation_next(read, test_text("eve"), 0, &batch, NULL), LARDER_END);
    CHECK_STATUS(larder_mutation_get(read, test_text("ada"), b1, &batch, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_mutation_get(read, test_text("ada"), -1, &batch, NULL), LARDER_NOT_FOUND);
    CHECK_EQ(count_of(read, "ada"), 2);
    CHECK_EQ(count_of(read, "eve"), 0);
    larder_txn_end_read(read);
    CHECK_EQ(store_stat(env).pending_batch_count, 3);
    store_check(env);
    store_close(env);
}

static void ids_are_never_used_again(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    int64_t first = append(txn, "ada", "c/1", "1");
    CHECK_OK(larder_mutation_remove(txn, test_text("ada"), first, &test_error));
    int64_t second = append(txn, "ada", "c/1", "1");
    CHECK(second > first);
    CHECK_OK(larder_mutation_remove(txn, test_text("ada"), second, &test_error));
    store_commit(txn);
    store_close(env);
    env = store_open_at(path);
    txn = store_write(env);
    CHECK(append(txn, "bob", "c/1", "1") > second);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void removing_the_last_batch_leaves_no_row(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[1300] = "odd/";
    strcat(name, store_fill('q', 1200));
    int64_t id = append(txn, "ada", name, "payload");
    larder_collection collection;
    CHECK_OK(larder_collection_get(txn, test_text("odd"), &collection, &test_error));
    store_commit(txn);
    txn = store_write(env);
    CHECK_STATUS(larder_mutation_remove(txn, test_text("eve"), id, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_mutation_remove(txn, test_text("ada"), id + 1, NULL), LARDER_NOT_FOUND);
    CHECK_OK(larder_mutation_remove(txn, test_text("ada"), id, &test_error));
    CHECK_STATUS(larder_mutation_remove(txn, test_text("ada"), id, NULL), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_collection_get(txn, test_text("odd"), &collection, NULL), LARDER_NOT_FOUND);
    CHECK_EQ(count_of(txn, "ada"), 0);
    larder_bytes user;
    CHECK_STATUS(larder_mutation_next_user(txn, NULL, &user, NULL), LARDER_END);
    store_commit(txn);
    larder_stat stat = store_stat(env);
    CHECK_EQ(stat.mutations.row_count, 0);
    CHECK_EQ(stat.mutations.size_bytes, 0);
    CHECK_EQ(stat.pending_batch_count, 0);
    CHECK_EQ(stat.collection_count, 0);
    store_check(env);
    store_close(env);
}

static void attempts_are_counted_with_their_last_error(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_batch batch;
    int64_t id = append(txn, "ada", "c/1", "payload");
    CHECK_OK(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3,
                                            test_text("unavailable"), &test_error));
    REQUIRE_OK(larder_mutation_get(txn, test_text("ada"), id, &batch, &test_error));
    CHECK_EQ(batch.attempt_count, 1);
    CHECK_EQ(batch.last_attempt.seconds, 3);
    CHECK_TEXT(batch.last_error, "unavailable");
    CHECK_TEXT(batch.payload, "payload");
    CHECK_EQ(batch.document_count, 1);
    /* Cut at 1 KiB, between two characters: byte 1,023 begins one of two bytes. */
    char text[1200];
    strcpy(text, store_fill('e', 1023));
    strcat(text, "é and more");
    CHECK_OK(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3, test_text(text),
                                            &test_error));
    REQUIRE_OK(larder_mutation_get(txn, test_text("ada"), id, &batch, &test_error));
    CHECK_EQ(batch.attempt_count, 2);
    CHECK_TEXT(batch.last_error, store_fill('e', 1023));
    CHECK_OK(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3,
                                            test_text(store_fill('e', 1024)), &test_error));
    REQUIRE_OK(larder_mutation_get(txn, test_text("ada"), id, &batch, &test_error));
    CHECK_EQ(batch.last_error.size_bytes, 1024);
    CHECK_OK(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3,
                                            (larder_bytes){NULL, 0}, &test_error));
    REQUIRE_OK(larder_mutation_get(txn, test_text("ada"), id, &batch, &test_error));
    CHECK_EQ(batch.attempt_count, 4);
    CHECK_EQ(batch.last_error.size_bytes, 0);
    CHECK_STATUS(larder_mutation_record_attempt(txn, test_text("ada"), id + 1, version_3,
                                                test_text("x"), NULL),
                 LARDER_NOT_FOUND);
    CHECK_STATUS(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3,
                                                TEST_BYTES("\xff"), NULL),
                 LARDER_E_INVALID_ARGUMENT);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void batches_that_touch_a_document_or_collection_are_found(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    int64_t ids[8];
    size_t count = 0;
    int64_t first = append(txn, "ada", "c/9", "");
    int64_t second = append(txn, "ada", "c/1", "");
    int64_t third = append(txn, "ada", "c/9", "");
    append(txn, "bob", "c/9", "");
    append(txn, "ada", "c/9/d/1", "");
    CHECK_EQ(store_batches_touching(txn, test_text("ada"), test_text("c/9"), ids, 8), 2);
    CHECK_EQ(ids[0], first);
    CHECK_EQ(ids[1], third);
    CHECK_STATUS(larder_mutation_next_touching(txn, test_text("ada"), test_text("c/9"), INT64_MAX,
                                               &ids[0], &test_error),
                 LARDER_END);
    CHECK_OK(larder_mutation_next_touching(txn, test_text("ada"), test_text("c/9"), INT64_MIN,
                                           &ids[0], &test_error));
    CHECK_EQ(ids[0], first);
    /* In the order of ids, not of documents; the number is full, the array is not passed. */
    CHECK_OK(larder_mutation_find_collection(txn, test_text("ada"), test_text("c"), ids, 2, &count,
                                             &test_error));
    CHECK_EQ(count, 3);
    CHECK_EQ(ids[0], first);
    CHECK_EQ(ids[1], second);
    CHECK_OK(larder_mutation_find_collection(txn, test_text("ada"), test_text("c"), NULL, 0, &count,
                                             &test_error));
    CHECK_EQ(count, 3);
    CHECK_EQ(store_batches_touching(txn, test_text("eve"), test_text("c/9"), ids, 8), 0);
    CHECK_EQ(store_batches_touching(txn, test_text("ada"), test_text("c/2"), ids, 8), 0);
    CHECK_OK(larder_mutation_find_collection(txn, test_text("ada"), test_text("nothing"), ids, 8,
                                             &count, &test_error));
    CHECK_EQ(count, 0);
    larder_txn_abort(txn);
    store_close(env);
}

static void users_with_a_queue_are_listed_in_order(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    append(txn, "zoe", "c/1", "");
    append(txn, "ad", "c/1", "");
    append(txn, "", "c/1", "");
    int64_t gone = append(txn, "ada", "c/1", "");
    append(txn, "adb", "c/1", "");
    CHECK_OK(larder_mutation_remove(txn, test_text("ada"), gone, &test_error));
    const char *const expected[] = {"", "ad", "adb", "zoe"};
    larder_bytes user, after;
    CHECK_OK(larder_mutation_next_user(txn, NULL, &user, &test_error));
    for (size_t i = 0; i < 4; i++) {
        CHECK_TEXT(user, expected[i]);
        after = test_text(expected[i]);
        int32_t status = larder_mutation_next_user(txn, &after, &user, &test_error);
        CHECK_STATUS(status, i < 3 ? LARDER_OK : LARDER_END);
    }
    larder_txn_abort(txn);
    store_close(env);
}

static void wrong_arguments_change_nothing(void) {
    static const larder_time no_time = {0, -1, 0};
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_mutation_document good = {.name = test_text("c/1")}, bad = {.name = test_text("c")};
    larder_mutation_document both[2] = {good, bad};
    larder_mutation_document bad_version = {test_text("c/1"), no_time};
    larder_bytes none = {NULL, 0}, user = test_text("ada"), dangling = {NULL, 1};
    larder_bytes large = {"", LARDER_PAYLOAD_MAX_BYTES + 1};
    int64_t id = -1;
    size_t count;
    larder_batch batch;
    CHECK_STATUS(larder_mutation_append(NULL, user, write_time, &good, 1, none, &id, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, both, 2, none, &id, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, &bad_version, 1, none, &id, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, no_time, &good, 1, none, &id, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, NULL, 1, none, &id, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, &good, 1, dangling, &id, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, &good, 1, none, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_append(txn, user, write_time, &good, 1, large, &id, NULL),
                 LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_mutation_append(txn, test_text(store_fill('u', LARDER_USER_MAX_BYTES + 1)),
                                        write_time, &good, 1, none, &id, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(
        larder_mutation_append(txn, TEST_BYTES("\xff"), write_time, &good, 1, none, &id, NULL),
        LARDER_E_INVALID_NAME);
    CHECK_EQ(id, -1);
    CHECK_STATUS(larder_mutation_get(txn, user, 1, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_next(txn, user, 1, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_next(txn, dangling, 0, &batch, NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_mutation_count(txn, user, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_next_user(txn, NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_next_touching(txn, user, test_text("c"), 0, &id, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_mutation_next_touching(txn, user, test_text("c/1"), 0, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_find_document(txn, user, test_text("c"), NULL, 0, &count, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_mutation_find_document(txn, user, test_text("c/1"), NULL, 1, &count, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_find_document(txn, user, test_text("c/1"), NULL, 0, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_find_collection(txn, user, test_text("c"), NULL, 1, &count, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_mutation_find_collection(txn, user, test_text("c"), NULL, 0, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(
        larder_mutation_find_collection(txn, user, test_text("c/1"), NULL, 0, &count, NULL),
        LARDER_E_INVALID_NAME);
    store_commit(txn);
    CHECK_EQ(store_stat(env).collection_count, 0);
    CHECK_EQ(store_stat(env).mutations.row_count, 0);
    /* The longest user and name that are allowed. */
    txn = store_write(env);
    char user_text[LARDER_USER_MAX_BYTES + 1], name[LARDER_NAME_MAX_BYTES + 1] = "";
    strcpy(user_text, store_fill('u', LARDER_USER_MAX_BYTES));
    for (int i = 0; i < 4; i++) {
        strcat(name, i > 0 ? "/" : "");
        strcat(name, store_fill((char)('a' + i), LARDER_ID_MAX_BYTES));
    }
    id = append(txn, user_text, name, "");
    store_commit(txn);
    store_check(env);
    txn = store_write(env);
    CHECK_OK(larder_mutation_remove(txn, test_text(user_text), id, &test_error));
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void a_read_transaction_cannot_write(void) {
    larder_env *env = store_open();
    const larder_txn *read = store_read(env);
    larder_txn *txn = (larder_txn *)(uintptr_t)read;
    int64_t id;
    larder_bytes none = {NULL, 0};
    CHECK_STATUS(larder_mutation_append(txn, none, write_time, NULL, 0, none, &id, NULL),
                 LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_mutation_remove(txn, none, 1, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_mutation_record_attempt(txn, none, 1, write_time, none, NULL),
                 LARDER_E_READ_ONLY);
    larder_txn_end_read(read);
    store_close(env);
}

static void damage_is_reported_and_the_rest_is_served(void) {
    for (int place = 0; place < 3; place++) {
        static const ptrdiff_t offsets[3] = {0, 12, -1};
        const char *path = test_directory();
        larder_env *env = store_open_at(path);
        larder_txn *txn = store_write(env);
        int64_t first = append(txn, "ada", "c/1", "one"), second = append(txn, "ada", "c/2", "two");
        store_commit(txn);
        store_close(env);
        store_damage(path, "mutations", 0, offsets[place]);
        env = store_open_at(path);
        txn = store_write(env);
        larder_batch batch;
        CHECK_STATUS(larder_mutation_get(txn, test_text("ada"), first, &batch, NULL),
                     LARDER_E_CORRUPT);
        CHECK_STATUS(larder_mutation_next(txn, test_text("ada"), 0, &batch, NULL),
                     LARDER_E_CORRUPT);
        CHECK_EQ(batch.batch_id, first);
        /* A write that meets damage ends its transaction. */
        CHECK_STATUS(larder_mutation_remove(txn, test_text("ada"), first, NULL), LARDER_E_CORRUPT);
        CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_TXN_ENDED);
        txn = store_write(env);
        CHECK_STATUS(larder_mutation_record_attempt(txn, test_text("ada"), first, write_time,
                                                    test_text("x"), NULL),
                     LARDER_E_CORRUPT);
        larder_txn_abort(txn);
        txn = store_write(env);
        CHECK_OK(larder_mutation_next(txn, test_text("ada"), first, &batch, &test_error));
        CHECK_EQ(batch.batch_id, second);
        CHECK_TEXT(batch.payload, "two");
        CHECK_OK(larder_mutation_remove(txn, test_text("ada"), second, &test_error));
        append(txn, "ada", "c/3", "three");
        store_commit(txn);
        store_close(env);
    }
}

/* The bytes that batch.h and key.h describe; a change of them is a change of the format. */
static void a_batch_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_mutation_document documents[2] = {{.name = test_text("c/1")},
                                             {test_text("c/__id7__"), version_3}};
    larder_bytes row;
    int64_t id;
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), write_time, documents, 2,
                                    test_text("payload"), &id, &test_error));
    CHECK_OK(larder_mutation_record_attempt(txn, test_text("ada"), id, version_3, test_text("no"),
                                            &test_error));
    REQUIRE_OK(larder__table_get_sealed(txn, LARDER__MUTATIONS,
                                        TEST_BYTES("\x01\0\0\0\0\0\0\0\x01"), &row, &test_error));
    CHECK_BYTES(row, TEST_BYTES("\x0e\xdc\xe5\xe8\x00\x00\x00\x13\x88" /* local write time */
                                "\x01\0\0\0"                           /* attempts */
                                "\x0e\x77\x91\xf7\x03\0\0\0\x04"       /* the last */
                                "\x02no\x07payload"
                                "\x02\x04\0\0\0\x17\0\0\0" /* two documents, their ends */
                                "\0c/1"
                                "\x01\x0e\x77\x91\xf7\x03\0\0\0\x04"
                                "c/__id7__"));
    /* collection 1, id 7 in key form with its length, user 1, batch 1 */
    REQUIRE_OK(larder__table_get(txn, LARDER__MUTATION_DOCUMENTS,
                                 TEST_BYTES("\x01\x09\x00\x80\0\0\0\0\0\0\x07"
                                            "\x01\0\0\0\0\0\0\0\x01"),
                                 &row, &test_error));
    CHECK_EQ(row.size_bytes, 0);
    REQUIRE_OK(
        larder__table_get_sealed(txn, LARDER__CATALOG, TEST_BYTES("o\x01"), &row, &test_error));
    CHECK_BYTES(row, TEST_BYTES("\x01\0\0\0\0\0\0\0"));
    larder_txn_abort(txn);
    store_close(env);
}

/* What a batch gives may be given back in the same transaction. */
static void borrowed_bytes_may_be_appended_again(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    append(txn, "ada", "c/1", "payload of the first");
    larder_batch batch;
    larder_mutation_document document;
    larder_bytes user;
    int64_t id;
    REQUIRE_OK(larder_mutation_next(txn, test_text("ada"), 0, &batch, &test_error));
    REQUIRE_OK(larder_batch_get_document(&batch, 0, &document));
    CHECK_OK(larder_mutation_append(txn, test_text("new"), write_time, &document, 1, batch.payload,
                                    &id, &test_error));
    REQUIRE_OK(larder_mutation_get(txn, test_text("new"), id, &batch, &test_error));
    CHECK_TEXT(batch.payload, "payload of the first");
    REQUIRE_OK(larder_mutation_next_user(txn, NULL, &user, &test_error));
    CHECK_OK(larder_mutation_remove(txn, user, 1, &test_error));
    CHECK_EQ(count_of(txn, "ada"), 0);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"a batch comes back as it was appended", a_batch_comes_back_as_it_was_appended},
    {"batches without documents or payload are kept",
     batches_without_documents_or_payload_are_kept},
    {"queues are first in, first out for each user", queues_are_first_in_first_out_for_each_user},
    {"ids are never used again", ids_are_never_used_again},
    {"removing the last batch leaves no row", removing_the_last_batch_leaves_no_row},
    {"attempts are counted with their last error", attempts_are_counted_with_their_last_error},
    {"batches that touch a document or collection are found",
     batches_that_touch_a_document_or_collection_are_found},
    {"users with a queue are listed in order", users_with_a_queue_are_listed_in_order},
    {"wrong arguments change nothing", wrong_arguments_change_nothing},
    {"a read transaction cannot write", a_read_transaction_cannot_write},
    {"damage is reported and the rest is served", damage_is_reported_and_the_rest_is_served},
    {"borrowed bytes may be appended again", borrowed_bytes_may_be_appended_again},
    {"a batch has its documented bytes", a_batch_has_its_documented_bytes},
};
TEST_SUITE(mutation, cases);

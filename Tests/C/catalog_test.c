/*
 * catalog_test.c - names and their numbers (catalog.c): given once, kept while anything mentions
 * them, never given again; counts of collections; what a transaction remembers.
 */
#include "documents/documents.h"
#include "index_kit.h"
#include "store.h"
#include "store/catalog.h"
#include "store/internal.h"

static larder_bytes catalog_row(const larder_txn *txn, larder_bytes key) {
    larder_bytes payload = {NULL, 0};
    CHECK_OK(larder__table_get_sealed(txn, LARDER__CATALOG, key, &payload, &test_error));
    return payload;
}

static uint64_t find(const larder_txn *txn, const char *path) {
    uint64_t number = 0;
    int32_t status = larder__collection_find(txn, test_text(path), &number, &test_error);
    CHECK(status == LARDER_OK || status == LARDER_NOT_FOUND);
    return status == LARDER_OK ? number : 0;
}

static uint64_t obtain(larder_txn *txn, const char *path) {
    uint64_t number = 0;
    CHECK_OK(larder__collection_obtain(txn, test_text(path), &number, &test_error));
    return number;
}

/* The bytes that catalog.c describes; a change of them is a change of the format. */
static void rows_have_their_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint64_t user;
    CHECK_EQ(obtain(txn, "cities"), 1);
    CHECK_EQ(obtain(txn, "cities/SF/landmarks"), 2);
    CHECK_OK(larder__user_obtain(txn, test_text("ada"), &user, &test_error));
    CHECK_EQ(user, 1);
    CHECK_OK(larder__collection_count(txn, 1, 2, 300, &test_error));
    CHECK_OK(larder__collection_flush(txn, &test_error));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("ccities\0\1")), TEST_BYTES("\1"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("ccities\0\1SF\0\1landmarks\0\1")), TEST_BYTES("\2"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("d\1")),
                TEST_BYTES("\1\2\0\0\0\0\0\0\0\x2c\1\0\0\0\0\0\0cities"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("ecities")), TEST_BYTES("\1cities"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("f\2cities\0\1SF\0\1landmarks\0\1")),
                TEST_BYTES("\2cities/SF/landmarks"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("hada")), TEST_BYTES("\1"));
    CHECK_BYTES(catalog_row(txn, TEST_BYTES("i\1")), TEST_BYTES("ada"));
    larder_txn_abort(txn);
    store_close(env);
}

static void a_number_is_kept_and_never_given_again(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put(txn, "a/1", "n=1");
    kit_put(txn, "b/1", "n=1");
    uint64_t a = find(txn, "a"), b = find(txn, "b");
    CHECK(a != 0 && b != 0 && a != b);
    CHECK_EQ(obtain(txn, "a"), a);
    store_commit(txn);
    txn = store_write(env);
    CHECK_EQ(find(txn, "a"), a);
    kit_remove(txn, "b/1"); /* the last document: the collection goes */
    CHECK_EQ(find(txn, "b"), 0);
    CHECK_EQ(txn->counters.collection_count, 1);
    kit_put(txn, "b/1", "n=1");
    CHECK(find(txn, "b") > b);
    kit_put(txn, "d/1", "n=1"); /* come and gone in one transaction */
    CHECK(find(txn, "d") > b);
    kit_remove(txn, "d/1");
    CHECK_EQ(find(txn, "d"), 0);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

/* ---- release ---- */

typedef enum mention { BY_DOCUMENT, BY_OVERLAY, BY_MUTATION, BY_TARGET, MENTIONS } mention;

static int64_t batch_id;

static void add_mention(larder_txn *txn, mention how, const char *name) {
    larder_mutation_document document = {.name = test_text(name)};
    larder_target target = {.struct_bytes = sizeof target, .target_id = 7};
    target.canonical_id = test_text("canonical");
    switch (how) {
    case BY_DOCUMENT:
        kit_put(txn, name, "n=1");
        break;
    case BY_OVERLAY:
        kit_overlay(txn, "ada", name, "n=1");
        break;
    case BY_MUTATION:
        CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                        test_text("payload"), &batch_id, &test_error));
        break;
    default:
        CHECK_OK(larder_target_put(txn, &target, &test_error));
        CHECK_OK(larder_target_add_document(txn, 7, document.name, &test_error));
    }
}

static void remove_mention(larder_txn *txn, mention how, const char *name) {
    switch (how) {
    case BY_DOCUMENT:
        kit_remove(txn, name);
        break;
    case BY_OVERLAY:
        CHECK_OK(larder_overlay_remove(txn, test_text("ada"), test_text(name), &test_error));
        break;
    case BY_MUTATION:
        CHECK_OK(larder_mutation_remove(txn, test_text("ada"), batch_id, &test_error));
        break;
    default:
        CHECK_OK(larder_target_remove_document(txn, 7, test_text(name), &test_error));
    }
}

static bool has_long_text(const larder_txn *txn, uint64_t collection, const larder__id *id) {
    char scratch[32];
    larder_bytes text;
    return larder__id_text(txn, collection, larder__id_bytes(id), scratch, &text, NULL) ==
           LARDER_OK;
}

/* Each table by itself keeps a collection and the text of a long id; the last row takes them. */
static void names_go_with_the_last_row_that_mentions_them(void) {
    char name[400];
    snprintf(name, sizeof name, "c/%s", store_fill('x', 300));
    for (int kept_by = 0; kept_by < MENTIONS; kept_by++) {
        larder_env *env = store_open();
        larder_txn *txn = store_write(env);
        for (int how = 0; how < MENTIONS; how++)
            add_mention(txn, (mention)how, name);
        uint64_t collection;
        larder__id id;
        CHECK_OK(larder__name_find(txn, test_text(name), &collection, &id, &test_error));
        CHECK(id.is_long);
        for (int how = 0; how < MENTIONS; how++) {
            if (how == kept_by) continue;
            remove_mention(txn, (mention)how, name);
            CHECK_EQ(find(txn, "c"), collection);
            CHECK(has_long_text(txn, collection, &id));
        }
        store_commit(txn);
        store_check(env);
        txn = store_write(env);
        remove_mention(txn, (mention)kept_by, name);
        CHECK_NOTE(find(txn, "c") == 0, "the collection stays after mention %d", kept_by);
        CHECK_NOTE(!has_long_text(txn, collection, &id), "the id stays after mention %d", kept_by);
        store_commit(txn);
        store_check(env);
        store_close(env);
    }
}

static void a_long_id_reads_back_as_its_text(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[400], scratch[32];
    for (int length = 195; length < 205; length++) {
        snprintf(name, sizeof name, "c/%s", store_fill('x', (size_t)length));
        uint64_t collection;
        larder__id id;
        larder_bytes text;
        CHECK_OK(larder__name_obtain(txn, test_text(name), &collection, &id, &test_error));
        CHECK_EQ(id.is_long, length > 199);
        CHECK_OK(
            larder__id_text(txn, collection, larder__id_bytes(&id), scratch, &text, &test_error));
        CHECK_TEXT(text, name + 2);
    }
    larder_txn_abort(txn);
    store_close(env);
}

/* ---- counts ---- */

/* More collections than a transaction keeps counts of at once. */
static void a_collection_counts_its_documents(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[32];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 150; i++) {
            snprintf(name, sizeof name, "c%d/%d", i, round);
            kit_put(txn, name, "n=1");
        }
    kit_remove(txn, "c7/1");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    for (int i = 0; i < 150; i++) {
        larder__collection_row row;
        snprintf(name, sizeof name, "c%d", i);
        CHECK_OK(larder__collection_read(read, find(read, name), &row, &test_error));
        CHECK_EQ(row.found_count, i == 7 ? 2 : 3);
        CHECK_TEXT(row.path, name);
    }
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void a_group_gives_its_collections_in_path_order(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    static const char *const paths[] = {"b/1/g", "a/2/g", "g", "a/1/g", "a/1/h"};
    static const char *const ordered[] = {"a/1/g", "a/2/g", "b/1/g", "g"};
    for (size_t i = 0; i < 5; i++)
        obtain(txn, paths[i]);
    uint64_t group, collection;
    larder__cursor cursor = {0};
    larder_bytes path;
    CHECK_OK(larder__group_find(txn, test_text("g"), &group, &test_error));
    for (size_t i = 0; i < 4; i++) {
        REQUIRE_OK(larder__group_next(txn, group, &cursor, &collection, &test_error));
        CHECK_OK(larder__collection_info(txn, collection, &path, NULL, &test_error));
        CHECK_TEXT(path, ordered[i]);
    }
    CHECK_STATUS(larder__group_next(txn, group, &cursor, &collection, &test_error), LARDER_END);
    larder__cursor_close(&cursor);
    CHECK_STATUS(larder__group_find(txn, test_text("none"), &group, &test_error), LARDER_NOT_FOUND);
    larder_txn_abort(txn);
    store_close(env);
}

/* ---- what a transaction remembers ---- */

static void what_is_remembered_holds_in_its_snapshot_only(void) {
    larder_env *env = store_open();
    const larder_txn *old = store_read(env);
    larder_txn *txn = store_write(env);
    kit_put(txn, "c/1", "n=1");
    uint64_t number = find(txn, "c");
    store_commit(txn);
    CHECK_EQ(find(old, "c"), 0);
    const larder_txn *read = store_read(env);
    CHECK_EQ(find(read, "c"), number);
    CHECK_EQ(find(read, "c"), number);
    larder_txn_end_read(read); /* its structure, with what it remembers, serves the next */
    larder_txn_end_read(old);
    txn = store_write(env);
    kit_remove(txn, "c/1");
    CHECK_EQ(find(txn, "c"), 0);
    store_commit(txn);
    for (int i = 0; i < 4; i++) {
        read = store_read(env);
        CHECK_EQ(find(read, "c"), 0);
        larder_txn_end_read(read);
    }
    store_close(env);
}

static void an_abort_forgets_the_names_it_made(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put(txn, "c/1", "n=1");
    CHECK(find(txn, "c") != 0);
    larder_txn_abort(txn);
    txn = store_write(env);
    CHECK_EQ(find(txn, "c"), 0);
    CHECK_EQ(obtain(txn, "d"), 1);
    larder_txn_abort(txn);
    store_close(env);
}

static void wrong_names_are_refused(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint64_t number;
    larder__id id;
    CHECK_STATUS(larder__collection_obtain(txn, test_text("c/1"), &number, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder__name_obtain(txn, test_text("c"), &number, &id, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder__group_find(txn, test_text("a/b/c"), &number, NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder__user_obtain(txn, TEST_BYTES("\xff"), &number, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK(!txn->changed);
    larder_txn_abort(txn);
    store_close(env);
}

static int32_t put_new(larder_txn *txn, const char *name) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version = (larder_time){.seconds = 1};
    return larder_document_put(txn, test_text(name), &info, kit_record("n=1"), &test_error);
}

/* Firestore has one spelling of each number, and 0 is none of them. */
static void a_new_numeric_id_is_spelled_canonically(void) {
    static const char *const numbers[] = {"1", "-1", "10", "9223372036854775807",
                                          "-9223372036854775808"};
    static const char *const others[] = {"",    "0",  "-0", "00",  "07", "-01",
                                         "007", "+1", "-",  "abc", "1a", "9223372036854775808"};
    static const char *const plain[] = {"_", "__", "___", "____", "__id7_", "_id7__", "__id7__x"};
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[64];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(name, sizeof name, "c/__id%s__", numbers[i]);
        CHECK_OK(put_new(txn, name));
        snprintf(name, sizeof name, "__id%s__/a", numbers[i]);
        CHECK_STATUS(put_new(txn, name), LARDER_E_INVALID_NAME);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(name, sizeof name, "c/__id%s__", others[i]);
        CHECK_STATUS(put_new(txn, name), LARDER_E_INVALID_NAME);
        int64_t batch;
        larder_mutation_document document = {.name = test_text(name)};
        CHECK_STATUS(larder_mutation_append(txn, test_text("ada"), (larder_time){.seconds = 1},
                                            &document, 1, test_text("m"), &batch, NULL),
                     LARDER_E_INVALID_NAME);
        snprintf(name, sizeof name, "c/__id%s__/d/e", others[i]);
        CHECK_STATUS(put_new(txn, name), LARDER_E_INVALID_NAME);
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        snprintf(name, sizeof name, "%s/%s", plain[i], plain[i]);
        CHECK_OK(put_new(txn, name));
    }
    CHECK_STATUS(put_new(txn, "c/_____"), LARDER_E_INVALID_NAME);
    larder_txn_abort(txn);
    store_close(env);
}

static void ids_of_earlier_versions_can_be_read_and_deleted(void) {
    static const char *const names[] = {"c/__id0__", "c/__id07__", "__id7__/a"};
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version = (larder_time){.seconds = 1};
    for (size_t i = 0; i < 3; i++) {
        larder_document document;
        CHECK_OK(larder__document_put_again(txn, test_text(names[i]), &info, kit_record("n=1"),
                                            &test_error));
        CHECK_OK(larder_document_get(txn, test_text(names[i]), &document, &test_error));
        kit_overlay(txn, "ada", names[i], "n=2");
        kit_put_absent(txn, names[i]);
    }
    CHECK_EQ(larder__document_put_again(txn, test_text("c/__id__"), &info, kit_record("n=1"), NULL),
             LARDER_E_INVALID_NAME);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"rows have their documented bytes", rows_have_their_documented_bytes},
    {"a number is kept and never given again", a_number_is_kept_and_never_given_again},
    {"names go with the last row that mentions them",
     names_go_with_the_last_row_that_mentions_them},
    {"a long id reads back as its text", a_long_id_reads_back_as_its_text},
    {"a collection counts its documents", a_collection_counts_its_documents},
    {"a group gives its collections in path order", a_group_gives_its_collections_in_path_order},
    {"what is remembered holds in its snapshot only",
     what_is_remembered_holds_in_its_snapshot_only},
    {"an abort forgets the names it made", an_abort_forgets_the_names_it_made},
    {"wrong names are refused", wrong_names_are_refused},
    {"a new numeric id is spelled canonically", a_new_numeric_id_is_spelled_canonically},
    {"ids of earlier versions can be read and deleted",
     ids_of_earlier_versions_can_be_read_and_deleted},
};
TEST_SUITE(catalog, cases);

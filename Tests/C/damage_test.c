/*
 * damage_test.c - damaged document rows can be replaced and removed, and leave nothing behind:
 * afterwards larder_check is clean, whatever byte it was.
 */
#include "index_kit.h"
#include "store.h"
#include "store/catalog.h"
#include "store/internal.h"

enum { DOCUMENTS = 5, DAMAGED = 2 }; /* position of c/3: c/1, c/2 and d/2 lie around it */

static const char *const names[DOCUMENTS] = {"c/1", "c/2", "c/3", "c/4", "d/2"};

/* Two indexes, one of a field in the compressed part; a deleted document, an overlay. */
static void fill(const char *path) {
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    kit_define(txn, "c", "a asc");
    kit_define(txn, "c", "t contains, a desc");
    for (int i = 0; i < DOCUMENTS; i++)
        kit_put(txn, names[i], "a=7 text=x*300+'text' t=['p', 'q']");
    kit_put_absent(txn, "c/0");
    kit_overlay(txn, "ada", "c/3", "a=9 t=['r']");
    store_commit(txn);
    store_close(env);
}

static size_t row_bytes(const char *path) {
    larder_env *env = store_open_at(path);
    const larder_txn *txn = store_read(env);
    larder_document document;
    size_t size = 0;
    if (larder_document_get(txn, test_text("c/3"), &document, &test_error) == LARDER_OK)
        size = (size_t)document.stored_bytes;
    larder_txn_end_read(txn);
    store_close(env);
    return size;
}

static int32_t read_status(larder_env *env) {
    const larder_txn *txn = store_read(env);
    larder_document document;
    int32_t status = larder_document_get(txn, test_text("c/3"), &document, NULL);
    larder_txn_end_read(txn);
    return status;
}

static int64_t count_of(larder_env *env, const char *collection) {
    const larder_txn *txn = store_read(env);
    larder_collection found = {0};
    CHECK_OK(larder_collection_get(txn, test_text(collection), &found, &test_error));
    larder_txn_end_read(txn);
    return found.document_count;
}

typedef enum mending { REPLACE, REPLACE_ABSENT, REMOVE, MENDINGS } mending;

static void mend(larder_env *env, mending how) {
    larder_txn *txn = store_write(env);
    if (how == REPLACE) kit_put(txn, "c/3", "a=8 text='short' t=['q']");
    if (how == REPLACE_ABSENT) kit_put_absent(txn, "c/3");
    if (how == REMOVE) {
        larder_error error = {.status = 77};
        CHECK_OK(larder_document_remove(txn, test_text("c/3"), &error));
        CHECK_EQ(error.status, 77); /* untouched by a call that succeeds */
    }
    store_commit(txn);
}

static void any_damaged_byte_can_be_mended(void) {
    const char *model = test_directory();
    fill(model);
    size_t size = row_bytes(model);
    int noticed = 0;
    REQUIRE(size > 60);
    for (size_t at = 0; at < size; at++) {
        if (at >= 5 && at < 9) continue; /* the LRU epoch, which no checksum covers */
        mending how = (mending)(at % MENDINGS);
        char path[600];
        snprintf(path, sizeof path, "%s/%zu", model, at);
        larder_env *env = store_open_at(model);
        REQUIRE_OK(larder_env_copy(env, path, NULL, NULL, &test_error));
        store_close(env);
        store_damage(path, "documents", DAMAGED + 1, (ptrdiff_t)at);
        env = store_open_at(path);
        noticed += read_status(env) == LARDER_E_CORRUPT;
        mend(env, how);
        CHECK_STATUS(read_status(env), how == REMOVE ? LARDER_NOT_FOUND : LARDER_OK);
        store_check(env);
        CHECK_EQ(count_of(env, "c"), how == REPLACE ? 4 : 3);
        CHECK_EQ(count_of(env, "d"), 1);
        store_close(env);
    }
    CHECK(noticed > 40);
}

static void two_damaged_rows_are_mended_one_by_one(void) {
    const char *path = test_directory();
    fill(path);
    store_damage(path, "documents", 1, 12);
    store_damage(path, "documents", DAMAGED + 1, 12);
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    kit_remove(txn, "c/3");
    store_commit(txn);
    txn = store_write(env);
    kit_put(txn, "c/1", "a=1 text=x*300");
    store_commit(txn);
    store_check(env);
    CHECK_EQ(count_of(env, "c"), 3);
    CHECK_EQ(store_stat(env).document_count, 4);
    store_close(env);
}

/* Two long ids with one hash cannot be made; their text row can be given the other's text. */
static void a_long_id_is_known_by_its_text(void) {
    larder_env *env = store_open();
    char name[600], other[600];
    snprintf(name, sizeof name, "c/%s", store_fill('a', 400));
    snprintf(other, sizeof other, "c/%s", store_fill('b', 400));
    larder_txn *txn = store_write(env);
    kit_put(txn, name, "a=1");
    kit_overlay(txn, "ada", name, "a=2");
    larder_document document;
    CHECK_OK(larder_document_get(txn, test_text(name), &document, &test_error));
    uint64_t collection;
    larder__id id;
    CHECK_OK(larder__name_find(txn, test_text(name), &collection, &id, &test_error));
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_LONG_ID);
    larder__key_number(&key, collection);
    larder__key_id(&key, larder__id_bytes(&id));
    larder_bytes text = test_text(other + 2);
    CHECK_OK(larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &text, 1,
                                      &test_error));
    CHECK_STATUS(larder_document_get(txn, test_text(name), &document, &test_error),
                 LARDER_NOT_FOUND);
    CHECK_STATUS(
        larder_document_get_local(txn, test_text("ada"), test_text(name), &document, &test_error),
        LARDER_NOT_FOUND);
    CHECK_STATUS(larder_document_remove(txn, test_text(name), &test_error), LARDER_NOT_FOUND);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    CHECK_STATUS(larder_document_put(txn, test_text(name), &info, kit_record("a=3"), NULL),
                 LARDER_E_INVALID_NAME);
    larder_txn_abort(txn);
    store_close(env);
}

static const test_case cases[] = {
    {"any damaged byte can be mended", any_damaged_byte_can_be_mended},
    {"two damaged rows are mended one by one", two_damaged_rows_are_mended_one_by_one},
    {"a long id is known by its text", a_long_id_is_known_by_its_text},
};
TEST_SUITE(damage, cases);

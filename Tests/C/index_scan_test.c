/* index_scan_test.c - scans of indexes: bounds, groups, long ids, local views, damage. */
#include "index_kit.h"
#include "store.h"

#include "documents/documents.h"
#include "store/catalog.h"

#include <lmdb.h>

/* ---- scans ---- */

static void bounds_in_every_form(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc, b desc");
    kit_put(txn, "c/11", "a=1 b=1");
    kit_put(txn, "c/12", "a=1 b=2");
    kit_put(txn, "c/21", "a=2 b=1");
    kit_put(txn, "c/22", "a=2 b=2");
    kit_put(txn, "c/22x", "a=2 b=2");
    kit_put(txn, "c/31", "a=3 b=1");
    static const struct {
        uint32_t flags;
        const char *start, *end, *expected;
    } cases[] = {
        {0, NULL, NULL, "c/12 c/11 c/22 c/22x c/21 c/31"},
        {0, "asc 2", NULL, "c/22 c/22x c/21 c/31"},
        {LARDER_SCAN_START_AFTER, "asc 2", NULL, "c/31"},
        {0, NULL, "asc 2", "c/12 c/11"},
        {LARDER_SCAN_END_AT, NULL, "asc 2", "c/12 c/11 c/22 c/22x c/21"},
        {LARDER_SCAN_END_AT, "asc 2", "asc 2", "c/22 c/22x c/21"},
        {0, "asc 2", "asc 2", ""},
        {LARDER_SCAN_START_AFTER | LARDER_SCAN_END_AT, "asc 2", "asc 2", ""},
        {LARDER_SCAN_START_AFTER, "asc 1", "asc 3", "c/22 c/22x c/21"},
        {0, "asc 2, desc 2", NULL, "c/22 c/22x c/21 c/31"},
        {LARDER_SCAN_START_AFTER, "asc 2, desc 2", NULL, "c/21 c/31"},
        {0, NULL, "asc 2, desc 2", "c/12 c/11"},
        {LARDER_SCAN_END_AT, NULL, "asc 2, desc 2", "c/12 c/11 c/22 c/22x"},
        {LARDER_SCAN_START_AFTER | LARDER_SCAN_END_AT, "asc 2, desc 2", "asc 3, desc 1",
         "c/21 c/31"},
        {0, "asc 3", "asc 1", ""},
        {0, "asc 0", "asc 1", ""},
        {0, "asc 4", NULL, ""},
        {LARDER_SCAN_START_AFTER, NULL, NULL, "c/12 c/11 c/22 c/22x c/21 c/31"},
        {LARDER_SCAN_END_AT, NULL, NULL, "c/12 c/11 c/22 c/22x c/21 c/31"},
        {LARDER_SCAN_REVERSE, NULL, NULL, "c/31 c/21 c/22x c/22 c/11 c/12"},
        {LARDER_SCAN_REVERSE, "asc 2", NULL, "c/31 c/21 c/22x c/22"},
        {LARDER_SCAN_REVERSE | LARDER_SCAN_START_AFTER, "asc 2", NULL, "c/31"},
        {LARDER_SCAN_REVERSE, NULL, "asc 2", "c/11 c/12"},
        {LARDER_SCAN_REVERSE | LARDER_SCAN_END_AT, "asc 2", "asc 2", "c/21 c/22x c/22"},
        {LARDER_SCAN_REVERSE | LARDER_SCAN_END_AT, NULL, "asc 9", "c/31 c/21 c/22x c/22 c/11 c/12"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t keys = 0; keys < 2; keys++)
            for (int group = 0; group < 2; group++) {
                larder_scan_options options =
                    kit_options(cases[i].flags | (keys ? LARDER_SCAN_KEYS_ONLY : 0), cases[i].start,
                                cases[i].end);
                const char *given = kit_scan(txn, id, group ? "" : "c", &options);
                CHECK_NOTE(strcmp(given, cases[i].expected) == 0,
                           "case %zu gives \"%s\", not \"%s\"", i, given, cases[i].expected);
            }
    /* Bounds of bytes that no value has. */
    larder_scan_options options = kit_options(0, NULL, NULL);
    options.start = TEST_BYTES("\xff\xff");
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "");
    options.flags = LARDER_SCAN_START_AFTER;
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "");
    options.flags = LARDER_SCAN_REVERSE | LARDER_SCAN_END_AT;
    options.start = (larder_bytes){0};
    options.end = TEST_BYTES("\xff\xff");
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "c/31 c/21 c/22x c/22 c/11 c/12");
    larder_txn_abort(txn);
    store_close(env);
}

static void type_ranges_select_types(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/null", "a=null");
    kit_put(txn, "c/true", "a=true");
    kit_put(txn, "c/nan", "a=nan");
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/time", "a=@5");
    kit_put(txn, "c/text", "a='t'");
    kit_put(txn, "c/array", "a=[1]");
    kit_put(txn, "c/map", "a={x: 1}");
    CHECK_NAMES(kit_all(txn, id), "c/null c/true c/nan c/1 c/time c/text c/array c/map");
    static const struct {
        int32_t type;
        const char *expected;
    } cases[] = {{LARDER_TYPE_NULL, "c/null"},
                 {LARDER_TYPE_BOOLEAN, "c/true"},
                 {LARDER_TYPE_INTEGER, "c/nan c/1"},
                 {LARDER_TYPE_DOUBLE, "c/nan c/1"},
                 {LARDER_TYPE_TIMESTAMP, "c/time"},
                 {LARDER_TYPE_STRING, "c/text"},
                 {LARDER_TYPE_BYTES, ""},
                 {LARDER_TYPE_ARRAY, "c/array"},
                 {LARDER_TYPE_MAP, "c/map"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t start[64], end[64];
        larder_scan_options options = kit_options(0, NULL, NULL);
        options.start.data = start;
        options.end.data = end;
        CHECK_OK(larder_order_encode_type(cases[i].type, 0, 0, start, sizeof start,
                                          &options.start.size_bytes, &test_error));
        CHECK_OK(larder_order_encode_type(cases[i].type, 1, 0, end, sizeof end,
                                          &options.end.size_bytes, &test_error));
        const char *given = kit_scan(txn, id, "c", &options);
        CHECK_NOTE(strcmp(given, cases[i].expected) == 0, "type %d gives \"%s\", not \"%s\"",
                   cases[i].type, given, cases[i].expected);
    }
    larder_txn_abort(txn);
    store_close(env);
}

static void scans_give_records_and_entries(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1 b='one'");
    kit_put(txn, "c/2", "a=2 b='two'");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_index_scan(read, id, test_text("c"), NULL, &scan, &test_error));
    larder_document first, second;
    larder_bytes order;
    CHECK_OK(larder_scan_next(scan, &first, &test_error));
    CHECK_OK(larder_index_scan_entry(scan, &order, &test_error));
    CHECK_BYTES(order, kit_order("asc 1"));
    CHECK_OK(larder_scan_next(scan, &second, &test_error));
    CHECK_OK(larder_index_scan_entry(scan, &order, &test_error));
    CHECK_BYTES(order, kit_order("asc 2"));
    CHECK_EQ(first.state, LARDER_DOCUMENT_FOUND);
    CHECK(store_record_is(&first.record, kit_record("a=1 b='one'")));
    CHECK(store_record_is(&second.record, kit_record("a=2 b='two'")));
    CHECK_EQ(second.version.seconds, 1);
    CHECK_TEXT(second.collection, "c");
    CHECK_STATUS(larder_scan_next(scan, &first, &test_error), LARDER_END);
    CHECK_STATUS(larder_scan_next(scan, &first, &test_error), LARDER_END);
    CHECK_STATUS(larder_index_scan_entry(scan, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_close(scan);
    REQUIRE_OK(larder_scan_collection(read, test_text("c"), NULL, &scan, &test_error));
    CHECK_STATUS(larder_index_scan_entry(scan, &order, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_close(scan);
    larder_txn_end_read(read);
    store_close(env);
}

static void scans_of_what_is_not_there(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    CHECK_NAMES(kit_all(txn, id), "");
    CHECK_NAMES(kit_scan(txn, id, "c", NULL), "");
    CHECK_NAMES(kit_scan(txn, id, "x/y/c", NULL), "");
    CHECK_NAMES(kit_scan(txn, id, "d", NULL), "E_INVALID_ARGUMENT");
    CHECK_NAMES(kit_scan(txn, id, "c/d", NULL), "E_INVALID_NAME");
    CHECK_NAMES(kit_scan(txn, id + 1, "c", NULL), "NOT_FOUND");
    larder_scan_options options = kit_options(1u << 20, NULL, NULL);
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "E_INVALID_ARGUMENT");
    options = kit_options(LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
    options.user = test_text("nobody");
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "");
    CHECK_STATUS(larder_index_scan(txn, id, test_text("c"), NULL, NULL, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    larder_txn_abort(txn);
    store_close(env);
}

static void groups_merge_by_value_then_path(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "posts", "a asc");
    static const char *const names[] = {"posts/5",
                                        "posts/5/posts/1",
                                        "users/a/posts/0",
                                        "users/a/posts/1",
                                        "users/a/posts/1/posts/z",
                                        "users/a/posts/1/x/1/posts/0",
                                        "users/a/posts/1/x/1/posts/9",
                                        "users/a/posts/2",
                                        "users/a!/posts/0",
                                        "users/b/posts/1"};
    enum { COUNT = sizeof names / sizeof names[0] };
    static char all[1024], reversed[1024];
    all[0] = reversed[0] = 0;
    for (size_t i = 0; i < COUNT; i++)
        kit_put(txn, names[(i * 7 + 3) % COUNT], "a=1");
    for (size_t i = 0; i < COUNT; i++) {
        if (i > 0) strcat(all, " ");
        strcat(all, names[i]);
        if (i > 0) strcat(reversed, " ");
        strcat(reversed, names[COUNT - 1 - i]);
    }
    CHECK_NAMES(kit_all(txn, id), all);
    larder_scan_options options = kit_options(LARDER_SCAN_REVERSE, NULL, NULL);
    CHECK_NAMES(kit_scan(txn, id, "", &options), reversed);
    kit_put(txn, "users/a/posts/1", "a=2");
    kit_put(txn, "users/b/posts/1", "a=0");
    kit_put(txn, "posts/5/posts/1", "a=2");
    CHECK_NAMES(kit_all(txn, id),
                "users/b/posts/1 posts/5 users/a/posts/0 users/a/posts/1/posts/z "
                "users/a/posts/1/x/1/posts/0 users/a/posts/1/x/1/posts/9 users/a/posts/2 "
                "users/a!/posts/0 posts/5/posts/1 users/a/posts/1");
    options = kit_options(LARDER_SCAN_END_AT, "asc 2", "asc 2");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "posts/5/posts/1 users/a/posts/1");
    CHECK_NAMES(kit_scan(txn, id, "users/a/posts", &options), "users/a/posts/1");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    CHECK_NAMES(kit_scan(read, id, "", &options), "posts/5/posts/1 users/a/posts/1");
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void long_ids_come_in_name_order(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    static char names[8][400], all[4096], reversed[4096];
    static const char *const tails[8] = {"", "0", "a", "b", "c", "c1", "d", "e"};
    for (size_t i = 0; i < 8; i++)
        snprintf(names[i], sizeof names[i], "c/%s%s", store_fill('x', i == 0 ? 184 : 250),
                 tails[i]);
    all[0] = reversed[0] = 0;
    for (size_t i = 0; i < 8; i++)
        kit_put(txn, names[(i * 3) % 8], "a=1");
    kit_put(txn, "c/y", "a=1");
    kit_put(txn, "c/w", "a=1");
    for (size_t i = 0; i < 8; i++) {
        strcat(strcat(all, names[i]), " ");
        strcat(strcat(reversed, " "), names[7 - i]);
    }
    static char expected[8192];
    snprintf(expected, sizeof expected, "c/w %sc/y", all);
    CHECK_NAMES(kit_all(txn, id), expected);
    CHECK_NAMES(kit_scan(txn, id, "c", NULL), expected);
    snprintf(expected, sizeof expected, "c/y%s c/w", reversed);
    larder_scan_options options = kit_options(LARDER_SCAN_REVERSE, NULL, NULL);
    CHECK_NAMES(kit_scan(txn, id, "", &options), expected);
    /* One of the run has an overlay with the same value: it comes from another stream. */
    kit_overlay(txn, "ada", names[4], "a=1");
    kit_overlay(txn, "ada", names[6], "a=0");
    options = kit_options(LARDER_SCAN_LOCAL_VIEW, "asc 1", NULL);
    options.user = test_text("ada");
    snprintf(expected, sizeof expected, "c/w %s %s %s %s %s %s %s c/y", names[0], names[1],
             names[2], names[3], names[4], names[5], names[7]);
    CHECK_NAMES(kit_scan(txn, id, "", &options), expected);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void local_views_replace_base_entries(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/2", "a=2");
    kit_put(txn, "c/3", "a=3");
    kit_put(txn, "d/1/c/1", "a=2");
    kit_overlay(txn, "ada", "c/2", "a=9");     /* moved */
    kit_overlay(txn, "ada", "c/3", NULL);      /* deleted */
    kit_overlay(txn, "ada", "c/4", "a=2");     /* new */
    kit_overlay(txn, "ada", "d/1/c/1", "b=2"); /* lost the field */
    kit_overlay(txn, "zoe", "c/1", "a=0");
    CHECK_NAMES(kit_all(txn, id), "c/1 c/2 d/1/c/1 c/3");
    CHECK_EQ(kit_index(txn, id).entry_count, 4 + 3);
    larder_scan_options options = kit_options(LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
    options.user = test_text("ada");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/1 c/4 c/2");
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "c/1 c/4 c/2");
    CHECK_NAMES(kit_scan(txn, id, "d/1/c", &options), "");
    options.flags |= LARDER_SCAN_REVERSE;
    CHECK_NAMES(kit_scan(txn, id, "c", &options), "c/2 c/4 c/1");
    options.user = test_text("zoe");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/3 d/1/c/1 c/2 c/1");
    options.user = test_text("bob");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/3 d/1/c/1 c/2 c/1");
    options = kit_options(LARDER_SCAN_LOCAL_VIEW | LARDER_SCAN_END_AT, "asc 9", "asc 9");
    options.user = test_text("ada");
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_index_scan(txn, id, test_text("c"), &options, &scan, &test_error));
    larder_document document;
    CHECK_OK(larder_scan_next(scan, &document, &test_error));
    CHECK_EQ(document.flags, LARDER_DOCUMENT_LOCAL_MUTATIONS);
    CHECK_EQ(document.batch_id, 1);
    CHECK(store_record_is(&document.record, kit_record("a=9")));
    larder_scan_close(scan);
    CHECK_OK(larder_overlay_remove(txn, test_text("ada"), test_text("c/2"), &test_error));
    options = kit_options(LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
    options.user = test_text("ada");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/1 c/2 c/4");
    kit_check_counts(txn);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void a_write_ends_the_scans_of_its_transaction(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/2", "a=2");
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_index_scan(txn, id, test_text("c"), NULL, &scan, &test_error));
    larder_document document;
    larder_bytes order;
    CHECK_OK(larder_scan_next(scan, &document, &test_error));
    kit_put(txn, "c/2", "a=0");
    CHECK_STATUS(larder_scan_next(scan, &document, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_index_scan_entry(scan, &order, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_close(scan);
    CHECK_NAMES(kit_scan(txn, id, "c", NULL), "c/2 c/1");
    larder_txn_abort(txn);
    store_close(env);
}

/* ---- damage ---- */

static void an_entry_without_its_document_is_reported(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/2", "a=2");
    kit_put(txn, "c/3", "a=3");
    store_commit(txn);
    store_close(env);
    store_damage(path, "documents", 1, -1);
    env = store_open_at(path);
    const larder_txn *read = store_read(env);
    CHECK_NAMES(kit_scan(read, id, "c", NULL), "c/1 E_CORRUPT c/3");
    CHECK_NAMES(kit_scan(read, id, "", NULL), "c/1 E_CORRUPT c/3");
    larder_scan_options keys = kit_options(LARDER_SCAN_KEYS_ONLY, NULL, NULL);
    CHECK_NAMES(kit_scan(read, id, "c", &keys), "c/1 c/2 c/3");
    larder_txn_end_read(read);
    /* The back-fill passes over it. */
    txn = store_write(env);
    uint32_t other = kit_define(txn, "c", "a desc");
    kit_fill(txn, other);
    CHECK_NAMES(kit_scan(txn, other, "c", NULL), "c/3 c/1");
    store_commit(txn);
    store_close(env);
}

/* Puts a row into a table of a closed store. */
static void put_row(const char *path, const char *table, larder_bytes key, larder_bytes value) {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k = {key.size_bytes, (void *)(uintptr_t)key.data};
    MDB_val v = {value.size_bytes, (void *)(uintptr_t)value.data};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 32), 0);
    CHECK_EQ(mdb_env_open(env, path, MDB_NOSYNC, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, table, 0, &dbi), 0);
    CHECK_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    store_replace_log(path);
}

static void malformed_entries_are_reported_and_passed(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    CHECK_EQ(id, 1);
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/2", "a='x'");
    store_commit(txn);
    store_close(env);
    /* Index 1, collection 1; a label that no value has, a text without end, a value without an
     * id, an entry that claims to be cut and is not, an id that is no id. */
    put_row(path, "index_entries", TEST_BYTES("\1\1\1zz"), TEST_BYTES(""));
    put_row(path, "index_entries", TEST_BYTES("\1\1\x19zz"), TEST_BYTES(""));
    put_row(path, "index_entries", TEST_BYTES("\1\1\x05"), TEST_BYTES(""));
    put_row(path, "index_entries", TEST_BYTES("\1\1\x05zz"), TEST_BYTES("\xf0\0"));
    put_row(path, "index_entries", TEST_BYTES("\1\1\x0a\1"), TEST_BYTES(""));
    env = store_open_at(path);
    const larder_txn *read = store_read(env);
    for (int group = 0; group < 2; group++)
        for (uint32_t flags = 0; flags < 8; flags++) {
            larder_scan_options options = kit_options(flags & 3, NULL, NULL);
            if (flags & 4)
                options = kit_options((flags & 3) | LARDER_SCAN_END_AT, "asc 1", "asc 1");
            const char *names = kit_scan(read, id, group ? "" : "c", &options);
            CHECK_NOTE(strstr(names, "c/1") != NULL, "flags %u: %s", flags, names);
            if (flags & 4) continue;
            CHECK_NOTE(strstr(names, "c/2") != NULL, "flags %u: %s", flags, names);
            CHECK_NOTE(strstr(names, "E_CORRUPT") != NULL, "flags %u: %s", flags, names);
        }
    larder_txn_end_read(read);
    txn = store_write(env);
    kit_put(txn, "c/2", "a=2");
    kit_remove(txn, "c/1");
    CHECK_OK(larder_index_drop(txn, id, 0, &test_error));
    store_commit(txn);
    CHECK_EQ(store_stat(env).document_count, 1);
    store_close(env);
}

static void entries_of_an_unreadable_record_are_found_by_id(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t a = kit_define(txn, "c", "a asc"), t = kit_define(txn, "c", "t contains, a desc");
    kit_put(txn, "c/1", "a=1 t=[1, 2, 3]");
    kit_put(txn, "c/11", "a=1 t=[1, 2, 3]");
    kit_put(txn, "c/2", "a=1 t=[1, 2, x*300]");
    uint64_t collection = 0;
    larder__id id;
    larder_record fresh, unreadable;
    REQUIRE_OK(larder_record_open(kit_record("a=1 t=[1]"), 0, 0, &unreadable, &test_error));
    unreadable.values = TEST_BYTES("\2\1\xff\xff");
    REQUIRE_OK(larder__name_find(txn, test_text("c/1"), &collection, &id, &test_error));
    CHECK_OK(larder__index_update(txn, collection, larder__id_bytes(&id), &unreadable, NULL,
                                  &test_error));
    CHECK_NAMES(kit_all(txn, a), "c/11 c/2");
    CHECK_NAMES(kit_all(txn, t), "c/11 c/2 c/11 c/2 c/11 c/2");
    REQUIRE_OK(larder__name_find(txn, test_text("c/2"), &collection, &id, &test_error));
    larder_bytes plain = kit_record("a=0 t=[2, 9]");
    REQUIRE_OK(larder_record_open(plain, 0, 0, &fresh, &test_error));
    CHECK_OK(larder__index_update(txn, collection, larder__id_bytes(&id), &unreadable, &fresh,
                                  &test_error));
    larder_scan_options keys = kit_options(LARDER_SCAN_KEYS_ONLY, NULL, NULL);
    CHECK_NAMES(kit_scan(txn, a, "c", &keys), "c/2 c/11");
    CHECK_NAMES(kit_scan(txn, t, "c", &keys), "c/11 c/11 c/2 c/11 c/2");
    kit_check_counts(txn);
    larder_txn_abort(txn);
    store_close(env);
}

static void a_damaged_definition_can_be_dropped(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc"), other = kit_define(txn, "c", "a desc");
    kit_put(txn, "c/1", "a=1");
    store_commit(txn);
    store_close(env);
    put_row(path, "catalog", TEST_BYTES("m\1"), TEST_BYTES("\1\2\3\4\1\0\0\0\0\0\0\0\0\0\0\0"));
    env = store_open_at(path);
    txn = store_write(env);
    larder_index index;
    CHECK_STATUS(larder_index_get(txn, id, &index, &test_error), LARDER_E_CORRUPT);
    CHECK_STATUS(larder_index_next(txn, 0, &index, &test_error), LARDER_E_CORRUPT);
    CHECK_EQ(index.index_id, id);
    CHECK_OK(larder_index_next(txn, id, &index, &test_error));
    CHECK_EQ(index.index_id, other);
    kit_put(txn, "c/2", "a=2"); /* the other index is maintained */
    CHECK_NAMES(kit_all(txn, other), "c/2 c/1");
    CHECK_NAMES(kit_all(txn, id), "E_CORRUPT");
    CHECK_OK(larder_index_drop(txn, id, 0, &test_error));
    CHECK_STATUS(larder_index_get(txn, id, &index, &test_error), LARDER_NOT_FOUND);
    store_commit(txn);
    store_close(env);
}

static const test_case cases[] = {
    {"bounds in every form", bounds_in_every_form},
    {"type ranges select types", type_ranges_select_types},
    {"scans give records and entries", scans_give_records_and_entries},
    {"scans of what is not there", scans_of_what_is_not_there},
    {"groups merge by value, then path", groups_merge_by_value_then_path},
    {"long ids come in name order", long_ids_come_in_name_order},
    {"local views replace base entries", local_views_replace_base_entries},
    {"a write ends the scans of its transaction", a_write_ends_the_scans_of_its_transaction},
    {"an entry without its document is reported", an_entry_without_its_document_is_reported},
    {"malformed entries are reported and passed", malformed_entries_are_reported_and_passed},
    {"entries of an unreadable record are found by id",
     entries_of_an_unreadable_record_are_found_by_id},
    {"a damaged definition can be dropped", a_damaged_definition_can_be_dropped},
};
TEST_SUITE(index_scan, cases);

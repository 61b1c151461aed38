/* index_test.c - index definitions, their entries, back-fill, drop and scans, case by case. */
#include "index_kit.h"
#include "store.h"

#include "internal.h"

#include <lmdb.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- definitions ---- */

static void equal_definitions_share_an_id(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t first = kit_define(txn, "cities", "a asc, b desc");
    CHECK_EQ(kit_define(txn, "cities", "a asc, b desc"), first);
    uint32_t others[5] = {
        kit_define(txn, "cities", "a asc, b asc"), kit_define(txn, "cities", "b desc, a asc"),
        kit_define(txn, "cities", "a asc"), kit_define(txn, "towns", "a asc, b desc"),
        kit_define(txn, "cities", "a.b desc")};
    for (size_t i = 0; i < 5; i++) {
        CHECK(others[i] != first);
        for (size_t k = 0; k < i; k++)
            CHECK(others[i] != others[k]);
    }
    store_commit(txn);
    txn = store_write(env);
    CHECK_EQ(kit_define(txn, "cities", "a asc, b desc"), first);
    CHECK_EQ(kit_define(txn, "cities", "a.b desc"), others[4]);
    larder_txn_abort(txn);
    store_check(env);
    store_close(env);
}

static void get_and_next_tell_the_definition(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t first = kit_define(txn, "cities", "a.b asc, tags contains, `x-y` desc");
    uint32_t second = kit_define(txn, "towns", "n desc");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    larder_index index = kit_index(read, first);
    CHECK_EQ(index.index_id, first);
    CHECK_TEXT(index.group, "cities");
    REQUIRE(index.segment_count == 3);
    CHECK_BYTES(index.segments[0].field_path, kit_path("a.b"));
    CHECK_BYTES(index.segments[1].field_path, kit_path("tags"));
    CHECK_BYTES(index.segments[2].field_path, kit_path("`x-y`"));
    CHECK_EQ(index.segments[0].kind, LARDER_SEGMENT_ASCENDING);
    CHECK_EQ(index.segments[1].kind, LARDER_SEGMENT_CONTAINS);
    CHECK_EQ(index.segments[2].kind, LARDER_SEGMENT_DESCENDING);
    CHECK_EQ(index.complete, 1);
    CHECK_EQ(index.entry_count, 0);
    CHECK_OK(larder_index_next(read, 0, &index, &test_error));
    CHECK_EQ(index.index_id, first);
    CHECK_OK(larder_index_next(read, first, &index, &test_error));
    CHECK_EQ(index.index_id, second);
    CHECK_STATUS(larder_index_next(read, second, &index, &test_error), LARDER_END);
    CHECK_STATUS(larder_index_next(read, UINT32_MAX, &index, &test_error), LARDER_END);
    CHECK_STATUS(larder_index_get(read, second + 1, &index, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_get(read, 0, &index, &test_error), LARDER_NOT_FOUND);
    larder_txn_end_read(read);
    store_close(env);
}

static void bad_definitions_are_refused(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = 7;
    CHECK_STATUS(kit_try_define(txn, "", "a asc", &id), LARDER_E_INVALID_NAME);
    CHECK_STATUS(kit_try_define(txn, "a/b/c", "a asc", &id), LARDER_E_INVALID_NAME);
    CHECK_STATUS(kit_try_define(txn, "__x__", "a asc", &id), LARDER_E_INVALID_NAME);
    CHECK_STATUS(kit_try_define(txn, "\xff", "a asc", &id), LARDER_E_INVALID_NAME);
    CHECK_STATUS(kit_try_define(txn, "c", "", &id), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(kit_try_define(txn, "c", "a contains, b contains", &id),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(kit_try_define(txn, "c", "__name__ asc", &id), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(kit_try_define(txn, "c",
                                "a asc, b asc, c asc, d asc, e asc, f asc, g asc, h asc, i asc, "
                                "j asc, k asc, l asc, m asc, n asc, o asc, p asc, q asc",
                                &id),
                 LARDER_E_INVALID_ARGUMENT);
    larder_index_segment segment = {.field_path = kit_path("a"), .kind = 3};
    larder_bytes group = test_text("c");
    CHECK_STATUS(larder_index_define(txn, group, &segment, 1, &id, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    segment.kind = -1;
    CHECK_STATUS(larder_index_define(txn, group, &segment, 1, &id, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    segment.kind = LARDER_SEGMENT_ASCENDING;
    CHECK_STATUS(larder_index_define(txn, group, NULL, 1, &id, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_index_define(txn, group, &segment, 1, NULL, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    static const char *const paths[] = {"", "\005ab", "\x00", "\x02\xff\xff", "\xff\xff\xff"};
    static const size_t sizes[] = {0, 3, 1, 3, 3};
    for (size_t i = 0; i < 5; i++) {
        segment.field_path = (larder_bytes){paths[i], sizes[i]};
        CHECK_STATUS(larder_index_define(txn, group, &segment, 1, &id, &test_error),
                     LARDER_E_INVALID_NAME);
    }
    CHECK_EQ(id, 7);
    larder_index index;
    CHECK_STATUS(larder_index_next(txn, 0, &index, &test_error), LARDER_END);
    CHECK_STATUS(larder_index_get(txn, 1, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_index_drop(txn, 1, 0, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_drop(txn, 1, -1, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_index_backfill(txn, 1, 0, 0, NULL, NULL, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_backfill(txn, 1, -1, 0, NULL, NULL, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_index_backfill(txn, 1, 0, -1, NULL, NULL, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    store_commit(txn);
    store_close(env);
}

static void writes_need_a_write_transaction(void) {
    larder_env *env = store_open();
    const larder_txn *read = store_read(env);
    larder_txn *wrong = (larder_txn *)(uintptr_t)read;
    uint32_t id;
    CHECK_STATUS(kit_try_define(wrong, "c", "a asc", &id), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_index_drop(wrong, 1, 0, &test_error), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_index_backfill(wrong, 1, 0, 0, NULL, NULL, &test_error),
                 LARDER_E_READ_ONLY);
    larder_txn_end_read(read);
    store_close(env);
}

/* ---- entries ---- */

static void entries_follow_every_write(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t up = kit_define(txn, "c", "a asc"), down = kit_define(txn, "c", "a desc");
    kit_put(txn, "c/1", "a=2");
    kit_put(txn, "c/2", "a=1");
    kit_put(txn, "c/3", "a=3");
    kit_put(txn, "c/4", "b=3");
    CHECK_NAMES(kit_all(txn, up), "c/2 c/1 c/3");
    CHECK_NAMES(kit_all(txn, down), "c/3 c/1 c/2");
    CHECK_EQ(kit_index(txn, up).entry_count, 3);
    kit_put(txn, "c/1", "a=4");     /* moves */
    kit_put(txn, "c/2", "a=1 b=9"); /* stays */
    kit_put(txn, "c/3", "b=1");     /* loses the field */
    kit_put(txn, "c/4", "a='x'");   /* gains it */
    CHECK_NAMES(kit_all(txn, up), "c/2 c/1 c/4");
    store_commit(txn);
    txn = store_write(env);
    kit_put_absent(txn, "c/4");
    kit_remove(txn, "c/2");
    CHECK_NAMES(kit_all(txn, up), "c/1");
    kit_put(txn, "c/4", "a=0");
    CHECK_NAMES(kit_all(txn, down), "c/1 c/4");
    kit_check_counts(txn);
    store_commit(txn);
    const larder_txn *read = store_read(env);
    CHECK_NAMES(kit_all(read, up), "c/4 c/1");
    kit_check_counts(read);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void an_equal_value_is_not_written(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc, t contains");
    kit_put(txn, "c/1", "a=1 t=['x', 'y'] z=1");
    int64_t size = kit_index(txn, id).size_bytes;
    kit_put(txn, "c/1", "a=1.0 t=['y', 'x', 'x'] z=2"); /* the same order bytes */
    CHECK_EQ(kit_index(txn, id).entry_count, 2);
    CHECK_EQ(kit_index(txn, id).size_bytes, size);
    CHECK_NAMES(kit_all(txn, id), "c/1 c/1");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void every_directional_field_is_needed(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc, m.b desc");
    kit_put(txn, "c/1", "a=1");
    kit_put(txn, "c/2", "m={b: 1}");
    kit_put(txn, "c/3", "a=1 m={b: null}");
    kit_put(txn, "c/4", "a=null m={b: 2}");
    kit_put(txn, "c/5", "a=1 m=1");
    kit_put(txn, "c/6", "a=1 m={b: 'x'}");
    CHECK_NAMES(kit_all(txn, id), "c/4 c/6 c/3");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void arrays_have_an_entry_for_each_distinct_element(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "t contains");
    uint32_t both = kit_define(txn, "c", "a asc, t contains, b desc");
    kit_put(txn, "c/1", "t=['x', 'y', 'x', 'y'] a=1 b=1");
    kit_put(txn, "c/2", "t='x' a=1 b=1");
    kit_put(txn, "c/3", "t=[] a=1 b=1");
    kit_put(txn, "c/4", "t=[1, 1.0, ['x'], null] a=1 b=2");
    kit_put(txn, "c/5", "t=['y'] a=1");
    CHECK_EQ(kit_index(txn, id).entry_count, 2 + 3 + 1);
    CHECK_EQ(kit_index(txn, both).entry_count, 2 + 3);
    larder_scan_options is_y = kit_options(LARDER_SCAN_END_AT, "asc 'y'", "asc 'y'");
    CHECK_NAMES(kit_scan(txn, id, "c", &is_y), "c/1 c/5");
    larder_scan_options is_array = kit_options(LARDER_SCAN_END_AT, "asc ['x']", "asc ['x']");
    CHECK_NAMES(kit_scan(txn, id, "c", &is_array), "c/4");
    CHECK_NAMES(kit_scan(txn, both, "c", NULL), "c/4 c/4 c/1 c/1 c/4");
    kit_put(txn, "c/1", "t=['y', 'z'] a=1 b=1"); /* one leaves, one stays, one comes */
    larder_scan_options texts = kit_options(0, "asc ''", NULL);
    CHECK_NAMES(kit_scan(txn, id, "c", &texts), "c/1 c/5 c/1 c/4");
    kit_remove(txn, "c/4");
    CHECK_EQ(kit_index(txn, id).entry_count, 3);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void large_arrays_and_cold_fields_are_indexed(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t tags = kit_define(txn, "c", "t contains"), text = kit_define(txn, "c", "s asc");
    static char record[1 << 16];
    for (int round = 0; round < 3; round++) {
        size_t size = (size_t)snprintf(record, sizeof record, "s=x*5000+'%d' t=[", round);
        for (int i = 0; i < 1000; i++)
            size += (size_t)snprintf(record + size, sizeof record - size, "'tag%d', ",
                                     (i * 7919 + round) % 1001);
        snprintf(record + size, sizeof record - size, "]");
        kit_put(txn, "c/1", record);
        CHECK_EQ(kit_index(txn, tags).entry_count, 1000);
        CHECK_EQ(kit_index(txn, text).entry_count, 1);
    }
    larder_scan_options missing = kit_options(LARDER_SCAN_END_AT, "asc 'tag5'", "asc 'tag5'");
    CHECK_NAMES(kit_scan(txn, tags, "c", &missing), "c/1");
    kit_put(txn, "c/1", "a=1");
    CHECK_EQ(kit_index(txn, tags).entry_count, 0);
    CHECK_EQ(kit_index(txn, text).entry_count, 0);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void numbers_are_exact(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "n asc");
    /* 2^53 and what lies around it, as integers and as doubles. */
    kit_put(txn, "c/a", "n=9007199254740991");
    kit_put(txn, "c/b", "n=9007199254740992");
    kit_put(txn, "c/c", "n=9007199254740993");
    kit_put(txn, "c/d", "n=9007199254740994");
    kit_put(txn, "c/e", "n=9007199254740992.0");
    kit_put(txn, "c/f", "n=9223372036854775807");
    kit_put(txn, "c/g", "n=9223372036854775808.0");
    kit_put(txn, "c/h", "n=-9223372036854775808");
    kit_put(txn, "c/i", "n=nan");
    kit_put(txn, "c/j", "n=-0.0");
    kit_put(txn, "c/k", "n=0");
    kit_put(txn, "c/l", "n=0.5");
    kit_put(txn, "c/m", "n=-1e300");
    CHECK_NAMES(kit_all(txn, id), "c/i c/m c/h c/j c/k c/l c/a c/b c/e c/c c/d c/f c/g");
    larder_scan_options equal =
        kit_options(LARDER_SCAN_END_AT, "asc 9007199254740993", "asc 9007199254740993");
    CHECK_NAMES(kit_scan(txn, id, "c", &equal), "c/c");
    equal = kit_options(LARDER_SCAN_END_AT, "asc 9007199254740992.0", "asc 9007199254740992");
    CHECK_NAMES(kit_scan(txn, id, "c", &equal), "c/b c/e");
    store_commit(txn);
    store_close(env);
}

static void long_values_are_cut(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "s asc"), pair = kit_define(txn, "c", "s asc, n asc");
    kit_put(txn, "c/1", "s=x*300+'b' n=1");
    kit_put(txn, "c/2", "s=x*300+'a' n=1"); /* above c/1, but alike where the index cuts */
    kit_put(txn, "c/3", "s=x*200 n=1");
    kit_put(txn, "c/4", "s=y*300 n=2");
    kit_put(txn, "c/5", "s=x*237 n=1"); /* with label and end 240 bytes: fits */
    kit_put(txn, "c/6", "s=x*239 n=1"); /* its end is cut off */
    CHECK_NAMES(kit_all(txn, id), "c/3 c/5 c/1 c/2 c/6 c/4");
    CHECK_NAMES(kit_all(txn, pair), "c/3 c/5 c/1 c/2 c/6 c/4");
    /* A bound beyond the cut takes all that may match. */
    larder_scan_options equal = kit_options(LARDER_SCAN_END_AT, "asc x*300+'a'", "asc x*300+'a'");
    CHECK_NAMES(kit_scan(txn, id, "c", &equal), "c/1 c/2 c/6");
    larder_scan_options after = kit_options(LARDER_SCAN_START_AFTER, "asc x*300+'a'", NULL);
    CHECK_NAMES(kit_scan(txn, id, "c", &after), "c/1 c/2 c/6 c/4");
    larder_scan_options before = kit_options(0, NULL, "asc x*300+'a'");
    CHECK_NAMES(kit_scan(txn, id, "c", &before), "c/3 c/5 c/1 c/2 c/6");
    equal = kit_options(LARDER_SCAN_END_AT, "asc x*237", "asc x*237");
    CHECK_NAMES(kit_scan(txn, id, "c", &equal), "c/5");
    larder_scan *scan = NULL;
    equal = kit_options(LARDER_SCAN_END_AT, "asc y*300", "asc y*300");
    REQUIRE_OK(larder_index_scan(txn, id, test_text("c"), &equal, &scan, &test_error));
    larder_document document;
    larder_bytes order;
    CHECK_STATUS(larder_index_scan_entry(scan, &order, &test_error), LARDER_NOT_FOUND);
    CHECK_OK(larder_scan_next(scan, &document, &test_error));
    CHECK_OK(larder_index_scan_entry(scan, &order, &test_error));
    larder_bytes whole = kit_order("asc y*300");
    CHECK_EQ(order.size_bytes, 240);
    CHECK_BYTES(order, ((larder_bytes){whole.data, 240}));
    CHECK_STATUS(larder_scan_next(scan, &document, &test_error), LARDER_END);
    CHECK_STATUS(larder_index_scan_entry(scan, &order, &test_error), LARDER_NOT_FOUND);
    larder_scan_close(scan);
    kit_put(txn, "c/1", "s='b' n=1");
    kit_remove(txn, "c/2");
    CHECK_NAMES(kit_all(txn, pair), "c/1 c/3 c/5 c/6 c/4");
    kit_check_counts(txn);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

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

/* ---- back-fill ---- */

static void fill_group(larder_txn *txn, int count) {
    char name[64], record[64];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, i % 3 ? "c/%03d" : "u/%d/c/%03d", i % 3 ? i : i % 4, i);
        snprintf(record, sizeof record, "a=%d", (i * 37) % count);
        kit_put(txn, name, record);
    }
}

static void backfill_runs_in_steps(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    fill_group(txn, 100);
    kit_put_absent(txn, "c/absent");
    kit_put(txn, "other/1", "a=1");
    uint32_t id = kit_define(txn, "c", "a asc");
    CHECK_EQ(kit_index(txn, id).complete, 0);
    store_commit(txn);
    int64_t done = -1, total = -1, last = 0;
    int steps = 0;
    int32_t status;
    do {
        txn = store_write(env);
        status = larder_index_backfill(txn, id, 7, 0, &done, &total, &test_error);
        CHECK(status == LARDER_MORE || status == LARDER_OK);
        CHECK_EQ(total, 100);
        CHECK(done >= last && done <= total && done - last <= 7);
        CHECK_EQ(kit_index(txn, id).backfilled_count, done);
        CHECK_EQ(kit_index(txn, id).complete, status == LARDER_OK);
        CHECK_EQ(kit_index(txn, id).entry_count, done);
        last = done;
        kit_check_counts(txn);
        store_commit(txn);
        steps++;
    } while (status == LARDER_MORE && steps < 100);
    CHECK_EQ(done, 100);
    CHECK(steps >= 15 && steps <= 16);
    txn = store_write(env);
    CHECK_OK(larder_index_backfill(txn, id, 7, 0, &done, &total, &test_error));
    CHECK_EQ(done, 100);
    larder_txn_abort(txn);
    store_check(env);
    store_close(env);
}

static void backfill_with_writes_between_steps(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    fill_group(txn, 60);
    uint32_t id = kit_define(txn, "c", "a asc");
    store_commit(txn);
    int32_t status;
    int step = 0;
    do {
        txn = store_write(env);
        status = larder_index_backfill(txn, id, 3, 0, NULL, NULL, &test_error);
        CHECK(status == LARDER_MORE || status == LARDER_OK);
        char name[64], record[64];
        for (int i = 0; i < 4; i++) { /* before, at and behind the position */
            int at = (int)test_random_below(60);
            snprintf(name, sizeof name, at % 3 ? "c/%03d" : "u/%d/c/%03d", at % 3 ? at : at % 4,
                     at);
            snprintf(record, sizeof record, "a=%d", (int)test_random_below(9));
            larder_document document;
            if (i < 3)
                kit_put(txn, name, record);
            else if (larder_document_get(txn, test_text(name), &document, NULL) == LARDER_OK)
                kit_remove(txn, name);
        }
        snprintf(name, sizeof name, "u/n%d/c/1", step);
        kit_put(txn, name, "a=5");
        kit_check_counts(txn);
        if (step++ % 3 == 1) {
            larder_txn_abort(txn); /* the position goes back, too */
            status = LARDER_MORE;
        } else {
            store_commit(txn);
        }
    } while (status == LARDER_MORE && step < 500);
    CHECK(step < 500);
    /* Everything that is there is indexed, and nothing else. */
    const larder_txn *read = store_read(env);
    CHECK_EQ(kit_index(read, id).entry_count, store_stat(env).document_count);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static void backfill_covers_overlays(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put(txn, "c/1", "a=1");
    kit_overlay(txn, "ada", "c/2", "a=0");
    kit_overlay(txn, "ada", "x/1/c/2", "a=0");
    kit_overlay(txn, "ada", "b/2", "a=0");
    kit_overlay(txn, "ada", "d/2", "a=0");
    kit_overlay(txn, "zoe", "c/1", "a=7");
    kit_overlay(txn, "zoe", "c/3", NULL);
    uint32_t id = kit_define(txn, "c", "a asc");
    CHECK_EQ(kit_index(txn, id).complete, 0);
    int steps = 0;
    while (larder_index_backfill(txn, id, 1, 0, NULL, NULL, &test_error) == LARDER_MORE) {
        steps++;
        REQUIRE(steps < 20);
    }
    CHECK_EQ(kit_index(txn, id).complete, 1);
    CHECK_EQ(kit_index(txn, id).entry_count, 4);
    larder_scan_options options = kit_options(LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
    options.user = test_text("ada");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/2 x/1/c/2 c/1");
    options.user = test_text("zoe");
    CHECK_NAMES(kit_scan(txn, id, "", &options), "c/1");
    /* Without documents, overlays alone are indexed at once. */
    uint32_t other = kit_define(txn, "d", "a asc");
    CHECK_EQ(kit_index(txn, other).complete, 1);
    CHECK_EQ(kit_index(txn, other).entry_count, 1);
    kit_check_counts(txn);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void backfill_keeps_to_its_time(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    fill_group(txn, 3000);
    uint32_t id = kit_define(txn, "c", "a asc");
    int steps = 0;
    while (larder_index_backfill(txn, id, 0, 200, NULL, NULL, &test_error) == LARDER_MORE)
        steps++;
    /* 3,000 documents take longer than 0.2 ms by any means, and less than a second. */
    CHECK_NOTE(steps > 1 && steps < 5000, "%d steps", steps);
    CHECK_EQ(kit_index(txn, id).entry_count, 3000);
    larder_txn_abort(txn);
    store_close(env);
}

static void a_new_index_of_an_empty_group_is_complete(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put_absent(txn, "c/1");
    uint32_t id = kit_define(txn, "c", "a asc");
    CHECK_EQ(kit_index(txn, id).complete, 1);
    kit_put(txn, "c/1", "a=1");
    CHECK_NAMES(kit_all(txn, id), "c/1");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

/* ---- drop ---- */

static void drop_runs_in_steps(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc"), kept = kit_define(txn, "c", "a desc");
    fill_group(txn, 50);
    kit_overlay(txn, "ada", "c/001", "a=1");
    kit_overlay(txn, "ada", "c/002", "a=1");
    kit_overlay(txn, "zoe", "c/001", "a=1");
    store_commit(txn);
    txn = store_write(env);
    CHECK_STATUS(larder_index_drop(txn, id, 20, &test_error), LARDER_MORE);
    larder_index index;
    CHECK_STATUS(larder_index_get(txn, id, &index, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_backfill(txn, id, 0, 0, NULL, NULL, &test_error), LARDER_NOT_FOUND);
    CHECK_NAMES(kit_all(txn, id), "NOT_FOUND");
    CHECK_OK(larder_index_next(txn, 0, &index, &test_error));
    CHECK_EQ(index.index_id, kept);
    kit_put(txn, "c/999", "a=1"); /* goes to the other one only */
    CHECK_EQ(kit_index(txn, kept).entry_count, 54);
    uint32_t again = kit_define(txn, "c", "a asc");
    CHECK(again != id && again != kept);
    store_commit(txn);
    store_check(env);
    txn = store_write(env);
    CHECK_STATUS(larder_index_drop(txn, id, 20, &test_error), LARDER_MORE);
    CHECK_STATUS(larder_index_drop(txn, id, 12, &test_error), LARDER_MORE);
    CHECK_OK(larder_index_drop(txn, id, 1, &test_error));
    CHECK_STATUS(larder_index_drop(txn, id, 20, &test_error), LARDER_NOT_FOUND);
    kit_fill(txn, again);
    CHECK_EQ(kit_index(txn, again).entry_count, 54);
    kit_check_counts(txn);
    store_commit(txn);
    store_check(env);
    txn = store_write(env);
    CHECK_OK(larder_index_drop(txn, again, 0, &test_error));
    CHECK_OK(larder_index_drop(txn, kept, 0, &test_error));
    store_commit(txn);
    CHECK_EQ(store_stat(env).indexes.row_count, 0);
    CHECK_EQ(store_stat(env).indexes.size_bytes, 0);
    store_check(env);
    store_close(env);
}

static void an_unfinished_drop_can_be_found(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t first = kit_define(txn, "c", "a asc"), second = kit_define(txn, "c", "a desc");
    fill_group(txn, 10);
    CHECK_OK(larder_index_drop(txn, 0, 5, &test_error)); /* nothing to do */
    CHECK_STATUS(larder_index_drop(txn, first, 5, &test_error), LARDER_MORE);
    CHECK_STATUS(larder_index_drop(txn, second, 5, &test_error), LARDER_MORE);
    store_commit(txn);
    txn = store_write(env);
    CHECK_OK(larder_index_drop(txn, 0, 0, &test_error));
    CHECK_OK(larder_index_drop(txn, 0, 0, &test_error));
    CHECK_STATUS(larder_index_drop(txn, first, 0, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_drop(txn, second, 0, &test_error), LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).indexes.row_count, 0);
    store_check(env);
    store_close(env);
}

/* ---- transactions and processes ---- */

static void an_abort_leaves_no_trace(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t kept = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    store_commit(txn);
    txn = store_write(env);
    uint32_t lost = kit_define(txn, "c", "b asc");
    kit_put(txn, "c/2", "a=2 b=2");
    kit_put(txn, "new/1/c/2", "a=2 b=2");
    CHECK_EQ(kit_index(txn, kept).entry_count, 3);
    CHECK_EQ(kit_index(txn, lost).entry_count, 2);
    larder_txn_abort(txn);
    txn = store_write(env);
    CHECK_EQ(kit_index(txn, kept).entry_count, 1);
    larder_index index;
    CHECK_STATUS(larder_index_get(txn, lost, &index, &test_error), LARDER_NOT_FOUND);
    /* The number of new/1/c goes to a collection of another group. */
    uint32_t other = kit_define(txn, "d", "a asc");
    kit_put(txn, "d/1", "a=4");
    kit_put(txn, "c/3", "a=3");
    CHECK_EQ(kit_index(txn, kept).entry_count, 2);
    CHECK_NAMES(kit_all(txn, kept), "c/1 c/3");
    CHECK_NAMES(kit_all(txn, other), "d/1");
    kit_check_counts(txn);
    store_commit(txn);
    /* The same without a change of definitions. */
    txn = store_write(env);
    kit_put(txn, "new/2/c/1", "a=0");
    larder_txn_abort(txn);
    txn = store_write(env);
    kit_put(txn, "new/2/d/1", "a=5");
    CHECK_NAMES(kit_all(txn, kept), "c/1 c/3");
    CHECK_NAMES(kit_all(txn, other), "d/1 new/2/d/1");
    store_commit(txn);
    txn = store_write(env);
    CHECK_STATUS(larder_index_drop(txn, kept, 1, &test_error), LARDER_MORE);
    larder_txn_abort(txn);
    txn = store_write(env);
    kit_put(txn, "c/4", "a=0");
    CHECK_NAMES(kit_all(txn, kept), "c/4 c/1 c/3");
    kit_check_counts(txn);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void definitions_live_in_the_store(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    kit_put(txn, "c/1", "a=1 t=['x', 'y']");
    uint32_t id = kit_define(txn, "c", "a asc, t contains");
    kit_fill(txn, id);
    store_commit(txn);
    store_close(env);
    env = store_open_at(path);
    txn = store_write(env);
    CHECK_EQ(kit_define(txn, "c", "a asc, t contains"), id);
    kit_put(txn, "c/2", "a=1 t=['x']");
    CHECK_NAMES(kit_all(txn, id), "c/1 c/2 c/1");
    store_commit(txn);
    const larder_txn *read = store_read(env);
    CHECK_EQ(kit_index(read, id).complete, 1);
    CHECK_EQ(kit_index(read, id).entry_count, 3);
    kit_check_counts(read);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

static larder_env *open_shared(const char *path) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_SHARED | LARDER_OPEN_ANY_FILE_SYSTEM;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

/* Waits for a byte, then defines an index on b and drops the one on a. */
static int run_other_process(const char *path, int from) {
    char byte;
    if (read(from, &byte, 1) != 1) return 1;
    larder_env *env = NULL;
    larder_txn *txn = NULL;
    uint32_t id = 0;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_SHARED | LARDER_OPEN_ANY_FILE_SYSTEM;
    if (larder_env_open(path, &options, &env, NULL) != LARDER_OK) return 2;
    if (larder_txn_begin_write(env, &txn, NULL) != LARDER_OK) return 3;
    if (kit_try_define(txn, "c", "b asc", &id) != LARDER_OK) return 4;
    if (larder_index_backfill(txn, id, 0, 0, NULL, NULL, NULL) != LARDER_OK) return 5;
    if (larder_index_drop(txn, 1, 0, NULL) != LARDER_OK) return 6;
    if (larder_txn_commit(txn, NULL) != LARDER_OK) return 7;
    return larder_env_close(env, NULL) == LARDER_OK ? 0 : 8;
}

static void other_processes_define_and_drop(void) {
    const char *path = test_directory();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(run_other_process(path, ends[0]));
    larder_env *env = open_shared(path);
    larder_txn *txn = store_write(env);
    CHECK_EQ(kit_define(txn, "c", "a asc"), 1);
    kit_put(txn, "c/1", "a=1 b=3");
    store_commit(txn);
    int status = -1;
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    txn = store_write(env);
    kit_put(txn, "c/2", "a=2 b=2");
    kit_remove(txn, "c/1");
    larder_index index;
    CHECK_STATUS(larder_index_get(txn, 1, &index, &test_error), LARDER_NOT_FOUND);
    CHECK_NAMES(kit_all(txn, 2), "c/2");
    kit_check_counts(txn);
    store_commit(txn);
    CHECK_EQ(store_stat(env).indexes.row_count, 1);
    store_check(env);
    store_close(env);
    close(ends[0]);
    close(ends[1]);
}

static void readers_keep_their_snapshot(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t id = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    store_commit(txn);
    const larder_txn *before = store_read(env);
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_index_scan(before, id, test_text("c"), NULL, &scan, &test_error));
    txn = store_write(env);
    kit_put(txn, "c/2", "a=2");
    CHECK_OK(larder_index_drop(txn, kit_define(txn, "c", "x asc"), 0, &test_error));
    store_commit(txn);
    CHECK_NAMES(kit_names(scan), "c/1");
    CHECK_EQ(kit_index(before, id).entry_count, 1);
    larder_txn_end_read(before);
    const larder_txn *after = store_read(env);
    CHECK_NAMES(kit_all(after, id), "c/1 c/2");
    larder_txn_end_read(after);
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
    {"equal definitions share an id", equal_definitions_share_an_id},
    {"get and next tell the definition", get_and_next_tell_the_definition},
    {"bad definitions are refused", bad_definitions_are_refused},
    {"writes need a write transaction", writes_need_a_write_transaction},
    {"entries follow every write", entries_follow_every_write},
    {"an equal value is not written", an_equal_value_is_not_written},
    {"every directional field is needed", every_directional_field_is_needed},
    {"arrays have an entry for each distinct element",
     arrays_have_an_entry_for_each_distinct_element},
    {"large arrays and cold fields are indexed", large_arrays_and_cold_fields_are_indexed},
    {"numbers are exact", numbers_are_exact},
    {"long values are cut", long_values_are_cut},
    {"bounds in every form", bounds_in_every_form},
    {"type ranges select types", type_ranges_select_types},
    {"scans give records and entries", scans_give_records_and_entries},
    {"scans of what is not there", scans_of_what_is_not_there},
    {"groups merge by value, then path", groups_merge_by_value_then_path},
    {"long ids come in name order", long_ids_come_in_name_order},
    {"local views replace base entries", local_views_replace_base_entries},
    {"a write ends the scans of its transaction", a_write_ends_the_scans_of_its_transaction},
    {"back-fill runs in steps", backfill_runs_in_steps},
    {"back-fill with writes between steps", backfill_with_writes_between_steps},
    {"back-fill covers overlays", backfill_covers_overlays},
    {"back-fill keeps to its time", backfill_keeps_to_its_time},
    {"a new index of an empty group is complete", a_new_index_of_an_empty_group_is_complete},
    {"drop runs in steps", drop_runs_in_steps},
    {"an unfinished drop can be found", an_unfinished_drop_can_be_found},
    {"an abort leaves no trace", an_abort_leaves_no_trace},
    {"definitions live in the store", definitions_live_in_the_store},
    {"other processes define and drop", other_processes_define_and_drop},
    {"readers keep their snapshot", readers_keep_their_snapshot},
    {"an entry without its document is reported", an_entry_without_its_document_is_reported},
    {"malformed entries are reported and passed", malformed_entries_are_reported_and_passed},
    {"entries of an unreadable record are found by id",
     entries_of_an_unreadable_record_are_found_by_id},
    {"a damaged definition can be dropped", a_damaged_definition_can_be_dropped},
};
TEST_SUITE(index, cases);

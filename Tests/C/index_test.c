/* index_test.c - index definitions, their entries, transactions, a second process. */
#include "index_kit.h"
#include "store.h"

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
    /* the last two are sizes in more bytes than they need */
    static const char *const paths[] = {"",
                                        "\005ab",
                                        "\x00",
                                        "\x02\xff\xff",
                                        "\xff\xff\xff",
                                        "\x81\x00"
                                        "a",
                                        "\x81\x80\x00"
                                        "a"};
    static const size_t sizes[] = {0, 3, 1, 3, 3, 3, 4};
    for (size_t i = 0; i < 7; i++) {
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
    {"an abort leaves no trace", an_abort_leaves_no_trace},
    {"definitions live in the store", definitions_live_in_the_store},
    {"other processes define and drop", other_processes_define_and_drop},
    {"readers keep their snapshot", readers_keep_their_snapshot},
};
TEST_SUITE(index, cases);

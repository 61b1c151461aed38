/* named_test.c - globals, bundles and named queries, and a naive model of them. */
#include "store.h"

#include "store/internal.h"

static const larder_time time_5 = {5, 6, 0};

static void put(larder_txn *txn, int32_t kind, const char *name, const char *payload) {
    CHECK_OK(larder_named_put(txn, kind, test_text(name), time_5, test_text(payload), &test_error));
}

static void a_value_comes_back_as_it_was_put(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_time time = {0, 0, 0};
    larder_bytes payload;
    put(txn, LARDER_NAMED_GLOBAL, "token", "one");
    put(txn, LARDER_NAMED_BUNDLE, "token", "two");
    put(txn, LARDER_NAMED_GLOBAL, "token", "three");
    CHECK_OK(larder_named_put(txn, LARDER_NAMED_QUERY, test_text("empty"), (larder_time){0, 0, 0},
                              (larder_bytes){NULL, 0}, &test_error));
    store_commit(txn);
    const larder_txn *read = store_read(env);
    REQUIRE_OK(larder_named_get(read, LARDER_NAMED_GLOBAL, test_text("token"), &time, &payload,
                                &test_error));
    CHECK_EQ(time.seconds, 5);
    CHECK_EQ(time.nanoseconds, 6);
    CHECK_TEXT(payload, "three");
    CHECK_OK(larder_named_get(read, LARDER_NAMED_BUNDLE, test_text("token"), NULL, &payload,
                              &test_error));
    CHECK_TEXT(payload, "two");
    CHECK_OK(
        larder_named_get(read, LARDER_NAMED_QUERY, test_text("empty"), NULL, NULL, &test_error));
    CHECK_STATUS(
        larder_named_get(read, LARDER_NAMED_QUERY, test_text("token"), NULL, &payload, NULL),
        LARDER_NOT_FOUND);
    larder_txn_end_read(read);
    txn = store_write(env);
    CHECK_OK(larder_named_remove(txn, LARDER_NAMED_GLOBAL, test_text("token"), &test_error));
    CHECK_STATUS(larder_named_remove(txn, LARDER_NAMED_GLOBAL, test_text("token"), NULL),
                 LARDER_NOT_FOUND);
    CHECK_OK(larder_named_get(txn, LARDER_NAMED_BUNDLE, test_text("token"), NULL, &payload,
                              &test_error));
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void wrong_arguments_change_nothing(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    int64_t before = store_stat(env).catalog.row_count;
    larder_bytes none = {NULL, 0}, name = test_text("n"), dangling = {NULL, 1};
    larder_bytes large = {"", LARDER_PAYLOAD_MAX_BYTES + 1};
    larder_time no_time = {0, 1000000000, 0};
    larder_bytes found;
    for (int32_t kind = 0; kind <= 8; kind += 8) {
        CHECK_STATUS(larder_named_put(txn, kind, name, time_5, none, NULL),
                     LARDER_E_INVALID_ARGUMENT);
        CHECK_STATUS(larder_named_get(txn, kind, name, NULL, NULL, NULL),
                     LARDER_E_INVALID_ARGUMENT);
        CHECK_STATUS(larder_named_remove(txn, kind, name, NULL), LARDER_E_INVALID_ARGUMENT);
        CHECK_STATUS(larder_named_next(txn, kind, none, &found, NULL, NULL, NULL),
                     LARDER_E_INVALID_ARGUMENT);
    }
    CHECK_STATUS(larder_named_put(NULL, 1, name, time_5, none, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_named_put(txn, 1, none, time_5, none, NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_named_put(txn, 1, dangling, time_5, none, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_named_put(txn, 1, TEST_BYTES("\xc0\x80"), time_5, none, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_named_put(txn, 1, test_text(store_fill('n', 1501)), time_5, none, NULL),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_named_put(txn, 1, name, no_time, none, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_named_put(txn, 1, name, time_5, dangling, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_named_put(txn, 1, name, time_5, large, NULL), LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_named_next(txn, 1, none, NULL, NULL, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_named_next(txn, 1, none, &found, NULL, NULL, NULL), LARDER_END);
    CHECK_OK(larder_named_put(txn, 1, test_text(store_fill('n', 1500)), time_5, none, &test_error));
    CHECK_OK(larder_named_remove(txn, 1, test_text(store_fill('n', 1500)), &test_error));
    store_commit(txn);
    CHECK(store_stat(env).catalog.row_count <= before + 1); /* the counters */
    const larder_txn *read = store_read(env);
    txn = (larder_txn *)(uintptr_t)read;
    CHECK_STATUS(larder_named_put(txn, 1, name, time_5, none, NULL), LARDER_E_READ_ONLY);
    CHECK_STATUS(larder_named_remove(txn, 1, name, NULL), LARDER_E_READ_ONLY);
    larder_txn_end_read(read);
    store_check(env);
    store_close(env);
}

/* The catalog's rows are in key order: the last are those of the last kind. */
static void damage_is_reported_and_can_be_written_over(void) {
    for (int is_long = 0; is_long < 2; is_long++) {
        const char *path = test_directory();
        larder_env *env = store_open_at(path);
        larder_txn *txn = store_write(env);
        char name[801];
        strcpy(name, store_fill('m', is_long ? 800 : 8));
        put(txn, LARDER_NAMED_GLOBAL, name, "payload");
        put(txn, LARDER_NAMED_QUERY, "z", "other");
        store_commit(txn);
        store_close(env);
        /* counters, format, then the values */
        store_damage(path, "catalog", 2, -1);
        env = store_open_at(path);
        txn = store_write(env);
        larder_bytes found = {NULL, 0}, none = {NULL, 0}, payload;
        CHECK_STATUS(larder_named_get(txn, 1, test_text(name), NULL, &payload, NULL),
                     LARDER_E_CORRUPT);
        CHECK_STATUS(larder_named_next(txn, 1, none, &found, NULL, &payload, NULL),
                     LARDER_E_CORRUPT);
        if (!is_long) CHECK_TEXT(found, name);
        CHECK_OK(larder_named_get(txn, 3, test_text("z"), NULL, &payload, &test_error));
        CHECK_TEXT(payload, "other");
        if (is_long) CHECK_OK(larder_named_remove(txn, 1, test_text(name), &test_error));
        put(txn, LARDER_NAMED_GLOBAL, name, "again");
        CHECK_OK(larder_named_get(txn, 1, test_text(name), NULL, &payload, &test_error));
        CHECK_TEXT(payload, "again");
        store_commit(txn);
        store_check(env);
        store_close(env);
    }
}

/* The bytes that named.c describes; a change of them is a change of the format. */
static void a_value_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes row;
    char name[481];
    strcpy(name, store_fill('m', 480));
    put(txn, LARDER_NAMED_QUERY, "ab", "payload");
    put(txn, LARDER_NAMED_QUERY, name, "payload");
    REQUIRE_OK(larder__table_get_sealed(txn, LARDER__CATALOG,
                                        TEST_BYTES("n\x03"
                                                   "ab"),
                                        &row, &test_error));
    CHECK_BYTES(row, TEST_BYTES("\x0e\x77\x91\xf7\x05\0\0\0\x06\0payload"));
    uint8_t key[482] = {'n', 3};
    memcpy(key + 2, name, 464);
    larder__hash128(test_text(name), key + 466);
    REQUIRE_OK(larder__table_get_sealed(txn, LARDER__CATALOG, (larder_bytes){key, sizeof key}, &row,
                                        &test_error));
    CHECK_EQ(row.size_bytes, 9 + 2 + 480 + 7);
    CHECK(memcmp((const char *)row.data + 9, "\xe0\x03mmm", 5) == 0);
    larder_txn_abort(txn);
    store_close(env);
}

/* ---- the naive model ---- */

enum { NAMES = 24, KINDS = 7 };

/* Short names, names around the limits of the key form, and long ones that share their first
 * bytes, some up to the head and some beyond. In byte order. */
static char names[NAMES][1501];

static void make_names(void) {
    static const size_t lengths[] = {1, 2, 463, 464, 465, 470, 478, 479, 480, 481, 600, 1500};
    size_t n = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        strcpy(names[n++], store_fill('m', lengths[i]));
    for (int c = 'n'; c < 'r'; c++) {
        strcpy(names[n], store_fill('m', 700));
        names[n++][690] = (char)c;
    }
    for (int c = 'n'; c < 'r'; c++) {
        strcpy(names[n], store_fill('m', 500));
        names[n++][466] = (char)c;
    }
    strcpy(names[n], store_fill('m', 475));
    names[n++][466] = 'r';
    strcpy(names[n++], "n");
    strcpy(names[n++], store_fill('o', 480));
    strcpy(names[n++], "ü");
    if (n != NAMES) abort();
    /* Insertion sort: the names above are nearly in order. */
    for (size_t i = 1; i < NAMES; i++)
        for (size_t k = i; k > 0 && strcmp(names[k - 1], names[k]) > 0; k--) {
            char held[1501];
            memcpy(held, names[k], sizeof held);
            memcpy(names[k], names[k - 1], sizeof held);
            memcpy(names[k - 1], held, sizeof held);
        }
}

typedef struct model {
    int64_t values[KINDS][NAMES]; /* 0: none */
} model;

static void model_change(model *m, larder_txn *txn) {
    int32_t kind = (int32_t)test_random_below(KINDS);
    size_t name = test_random_below(NAMES);
    int64_t *value = &m->values[kind][name];
    if (test_random_below(2) == 0) {
        *value = (int64_t)test_random_below(1000000) + 1;
        CHECK_OK(larder_named_put(txn, kind + 1, test_text(names[name]),
                                  (larder_time){*value, 0, 0}, (larder_bytes){value, sizeof *value},
                                  &test_error));
    } else {
        CHECK_STATUS(larder_named_remove(txn, kind + 1, test_text(names[name]), &test_error),
                     *value > 0 ? LARDER_OK : LARDER_NOT_FOUND);
        *value = 0;
    }
}

static void compare(const model *m, const larder_txn *txn) {
    larder_bytes name, payload, after;
    larder_time time;
    for (int32_t kind = 0; kind < KINDS; kind++) {
        after = (larder_bytes){NULL, 0};
        for (size_t i = 0; i < NAMES; i++) {
            int64_t value = m->values[kind][i];
            int32_t status =
                larder_named_get(txn, kind + 1, test_text(names[i]), &time, &payload, &test_error);
            CHECK_STATUS(status, value > 0 ? LARDER_OK : LARDER_NOT_FOUND);
            if (value == 0) continue;
            REQUIRE_OK(
                larder_named_next(txn, kind + 1, after, &name, &time, &payload, &test_error));
            CHECK_TEXT(name, names[i]);
            CHECK_EQ(time.seconds, value);
            CHECK_BYTES(payload, ((larder_bytes){&value, sizeof value}));
            after = test_text(names[i]);
        }
        CHECK_STATUS(larder_named_next(txn, kind + 1, after, &name, NULL, NULL, &test_error),
                     LARDER_END);
    }
    /* From a name that need not be there. */
    size_t start = test_random_below(NAMES), next = start + 1;
    while (next < NAMES && m->values[0][next] == 0)
        next++;
    int32_t status =
        larder_named_next(txn, 1, test_text(names[start]), &name, NULL, NULL, &test_error);
    CHECK_STATUS(status, next < NAMES ? LARDER_OK : LARDER_END);
    if (status == LARDER_OK && next < NAMES) CHECK_TEXT(name, names[next]);
}

static void values_equal_a_naive_model(void) {
    larder_env *env = store_open();
    static model now, before;
    memset(&now, 0, sizeof now);
    make_names();
    int64_t steps = test_steps(5000);
    for (int64_t done = 0; done < steps;) {
        larder_txn *txn = store_write(env);
        before = now;
        for (uint64_t n = test_random_below(20) + 1; n > 0; n--, done++)
            model_change(&now, txn);
        compare(&now, txn);
        if (test_random_below(4) == 0) {
            larder_txn_abort(txn);
            now = before;
        } else {
            store_commit(txn);
        }
        const larder_txn *read = store_read(env);
        compare(&now, read);
        larder_txn_end_read(read);
        if (done % 100 < 5) store_check(env);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"a value comes back as it was put", a_value_comes_back_as_it_was_put},
    {"wrong arguments change nothing", wrong_arguments_change_nothing},
    {"damage is reported and can be written over", damage_is_reported_and_can_be_written_over},
    {"values equal a naive model", values_equal_a_naive_model},
    {"a value has its documented bytes", a_value_has_its_documented_bytes},
};
TEST_SUITE(named, cases);

/* set_test.c - sets of documents: filling, combining, scanning, and a naive model. */
#include "index_kit.h"
#include "names.h"
#include "store.h"

static larder_set *make_set(const larder_txn *txn) {
    larder_set *set = NULL;
    CHECK_OK(larder_set_create(txn, &set, &test_error));
    return set;
}

/* Adds the documents of an index between two bounds. */
static void add(larder_set *set, const larder_txn *txn, uint32_t index_id, uint32_t flags,
                const char *start, const char *end) {
    larder_scan_options options = kit_options(flags | LARDER_SCAN_KEYS_ONLY, start, end);
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_index_scan(txn, index_id, test_text(""), &options, &scan, &test_error));
    CHECK_OK(larder_set_add_scan(set, scan, &test_error));
    larder_scan_close(scan);
}

static const char *scan_set(larder_set *set, uint32_t flags, const char *user) {
    larder_scan_options options = kit_options(flags, NULL, NULL);
    options.user = test_text(user);
    larder_scan *scan = NULL;
    int32_t status = larder_set_scan(set, &options, &scan, &test_error);
    return status == LARDER_OK ? kit_names(scan) : larder_status_name(status);
}

static void sets_combine(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t a = kit_define(txn, "c", "a asc"), b = kit_define(txn, "c", "b asc");
    kit_put(txn, "c/1", "a=1 b=4");
    kit_put(txn, "c/2", "a=2 b=3");
    kit_put(txn, "c/3", "a=3 b=2");
    kit_put(txn, "c/4", "a=4 b=1");
    kit_put(txn, "c/__id9__", "a=3 b=3");
    larder_set *left = make_set(txn), *right = make_set(txn), *empty = make_set(txn);
    CHECK_EQ(larder_set_count(left), 0);
    CHECK_NAMES(scan_set(left, 0, ""), "");
    add(left, txn, a, 0, "asc 2", NULL);
    add(right, txn, b, 0, "asc 2", NULL);
    CHECK_EQ(larder_set_count(left), 4);
    CHECK_NAMES(scan_set(left, 0, ""), "c/__id9__ c/2 c/3 c/4");
    CHECK_NAMES(scan_set(right, 0, ""), "c/__id9__ c/1 c/2 c/3");
    CHECK_NAMES(scan_set(right, LARDER_SCAN_REVERSE, ""), "c/3 c/2 c/1 c/__id9__");
    add(left, txn, a, LARDER_SCAN_END_AT, "asc 3", "asc 3"); /* doubles */
    CHECK_EQ(larder_set_count(left), 4);
    CHECK_OK(larder_set_union(left, empty, &test_error));
    CHECK_OK(larder_set_union(left, left, &test_error));
    CHECK_OK(larder_set_intersect(left, left, &test_error));
    CHECK_EQ(larder_set_count(left), 4);
    CHECK_OK(larder_set_union(empty, right, &test_error));
    CHECK_OK(larder_set_intersect(left, right, &test_error));
    CHECK_NAMES(scan_set(left, 0, ""), "c/__id9__ c/2 c/3");
    CHECK_NAMES(scan_set(empty, 0, ""), "c/__id9__ c/1 c/2 c/3");
    add(left, txn, a, 0, "asc 4", NULL);
    CHECK_OK(larder_set_union(left, empty, &test_error));
    CHECK_NAMES(scan_set(left, LARDER_SCAN_KEYS_ONLY, ""), "c/__id9__ c/1 c/2 c/3 c/4");
    larder_set_close(left);
    larder_set_close(right);
    larder_set_close(empty);
    larder_set_close(NULL);
    larder_txn_abort(txn);
    store_close(env);
}

static void scans_of_sets_read_views_and_states(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put(txn, "c/1", "a=1");
    kit_put_absent(txn, "c/2");
    kit_put(txn, "c/3", "a=3");
    kit_overlay(txn, "ada", "c/1", "a=9");
    kit_overlay(txn, "ada", "c/2", "a=8");
    kit_overlay(txn, "ada", "c/3", NULL);
    larder_target target = {.struct_bytes = sizeof target, .target_id = 2};
    target.canonical_id = test_text("t");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    static const char *const members[] = {"c/1", "c/2", "c/3", "c/4"};
    for (size_t i = 0; i < 4; i++)
        CHECK_OK(larder_target_add_document(txn, 2, test_text(members[i]), &test_error));
    larder_set *set = make_set(txn);
    larder_scan_options options =
        kit_options(LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES, NULL, NULL);
    larder_scan *scan = NULL;
    REQUIRE_OK(larder_target_scan(txn, 2, &options, &scan, &test_error));
    CHECK_OK(larder_set_add_scan(set, scan, &test_error));
    larder_scan_close(scan);
    CHECK_EQ(larder_set_count(set), 4);
    CHECK_NAMES(scan_set(set, LARDER_SCAN_KEYS_ONLY, ""), "c/1 c/2 c/3 c/4");
    CHECK_NAMES(scan_set(set, 0, ""), "c/1 c/3");
    CHECK_NAMES(scan_set(set, LARDER_SCAN_ALL_STATES, ""), "c/1 c/2 c/3 c/4");
    CHECK_NAMES(scan_set(set, LARDER_SCAN_LOCAL_VIEW, "ada"), "c/1 c/2");
    CHECK_NAMES(scan_set(set, LARDER_SCAN_LOCAL_VIEW, "zoe"), "c/1 c/3");
    CHECK_NAMES(scan_set(set, LARDER_SCAN_LOCAL_VIEW | LARDER_SCAN_ALL_STATES, "ada"),
                "c/1 c/2 c/3 c/4");
    options = kit_options(LARDER_SCAN_LOCAL_VIEW | LARDER_SCAN_ALL_STATES, NULL, NULL);
    options.user = test_text("ada");
    REQUIRE_OK(larder_set_scan(set, &options, &scan, &test_error));
    static const int32_t states[] = {LARDER_DOCUMENT_FOUND, LARDER_DOCUMENT_FOUND,
                                     LARDER_DOCUMENT_ABSENT, LARDER_DOCUMENT_NOT_READ};
    for (size_t i = 0; i < 4; i++) {
        larder_document document;
        CHECK_OK(larder_scan_next(scan, &document, &test_error));
        CHECK_EQ(document.state, states[i]);
        if (i == 0) CHECK(store_record_is(&document.record, kit_record("a=9")));
        CHECK_EQ(document.flags, i < 3 ? LARDER_DOCUMENT_LOCAL_MUTATIONS : 0);
    }
    larder_scan_close(scan);
    larder_set_close(set);
    larder_txn_abort(txn);
    store_close(env);
}

static void misuse_is_refused(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t a = kit_define(txn, "c", "a asc");
    kit_put(txn, "c/1", "a=1");
    store_commit(txn);
    const larder_txn *read = store_read(env), *elsewhere = store_read(env);
    larder_set *set = make_set(read), *other = make_set(elsewhere);
    larder_scan *scan = NULL;
    CHECK_STATUS(larder_set_create(read, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_create(NULL, &set, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_union(set, other, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_intersect(set, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_union(NULL, set, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_add_scan(set, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_scan(set, NULL, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_set_scan(NULL, NULL, &scan, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_EQ(larder_set_count(NULL), 0);
    REQUIRE_OK(larder_index_scan(elsewhere, a, test_text(""), NULL, &scan, &test_error));
    CHECK_STATUS(larder_set_add_scan(set, scan, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_close(scan);
    REQUIRE_OK(larder_collection_scan(read, test_text(""), &scan, &test_error));
    CHECK_STATUS(larder_set_add_scan(set, scan, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_close(scan);
    larder_scan_options bounds = kit_options(0, NULL, NULL);
    bounds.start = test_text("c/1");
    CHECK_STATUS(larder_set_scan(set, &bounds, &scan, &test_error), LARDER_E_INVALID_ARGUMENT);
    /* A set does not change under its own scan. */
    add(set, read, a, 0, NULL, NULL);
    REQUIRE_OK(larder_set_scan(set, NULL, &scan, &test_error));
    CHECK_STATUS(larder_set_add_scan(set, scan, &test_error), LARDER_E_BUSY);
    CHECK_STATUS(larder_set_union(set, set, &test_error), LARDER_E_BUSY);
    larder_scan_close(scan);
    CHECK_EQ(larder_set_count(set), 1);
    larder_set_close(set);
    larder_set_close(other);
    larder_txn_end_read(read);
    larder_txn_end_read(elsewhere);
    store_close(env);
}

static void members_outlive_writes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint32_t a = kit_define(txn, "c", "a asc");
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_put(txn, name, "a=1");
    }
    larder_set *set = make_set(txn);
    add(set, txn, a, 0, NULL, NULL);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        if (i % 100 != 50) kit_remove(txn, name);
    }
    CHECK_EQ(larder_set_count(set), 300);
    CHECK_NAMES(scan_set(set, 0, ""), "c/050 c/150 c/250");
    larder_set_close(set);
    larder_txn_abort(txn);
    store_close(env);
}

/* Random sets of all kinds of names, against arrays of flags. */
static void random_sets_against_a_model(void) {
    enum { SETS = 4 };
    bool model[SETS][NAME_COUNT] = {{false}};
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_target target = {.struct_bytes = sizeof target};
    target.canonical_id = test_text("t");
    bool holds[9][NAME_COUNT] = {{false}};
    for (int32_t id = 1; id <= 8; id++) {
        target.target_id = id;
        CHECK_OK(larder_target_put(txn, &target, &test_error));
        for (size_t n = 0; n < NAME_COUNT; n++) {
            holds[id][n] = test_random_below(9) < (uint64_t)id;
            if (holds[id][n])
                CHECK_OK(larder_target_add_document(txn, id, name_at(n), &test_error));
        }
    }
    store_commit(txn);
    const larder_txn *read = store_read(env);
    larder_set *sets[SETS];
    for (size_t s = 0; s < SETS; s++)
        sets[s] = make_set(read);
    for (int round = 0; round < 400; round++) {
        size_t s = test_random_below(SETS), o = test_random_below(SETS);
        int32_t id = 1 + (int32_t)test_random_below(8);
        uint64_t dice = test_random_below(4);
        larder_scan_options options =
            kit_options(LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES, NULL, NULL);
        larder_scan *scan = NULL;
        if (dice == 0) {
            larder_set_close(sets[s]);
            sets[s] = make_set(read);
            memset(model[s], 0, sizeof model[s]);
        } else if (dice == 1) {
            CHECK_OK(larder_set_intersect(sets[s], sets[o], &test_error));
        } else if (dice == 2) {
            CHECK_OK(larder_set_union(sets[s], sets[o], &test_error));
        } else {
            REQUIRE_OK(larder_target_scan(read, id, &options, &scan, &test_error));
            CHECK_OK(larder_set_add_scan(sets[s], scan, &test_error));
            larder_scan_close(scan);
        }
        size_t count = 0;
        for (size_t n = 0; n < NAME_COUNT; n++) {
            if (dice == 1) model[s][n] = model[s][n] && model[o][n];
            if (dice == 2) model[s][n] = model[s][n] || model[o][n];
            if (dice == 3) model[s][n] = model[s][n] || holds[id][n];
            count += model[s][n];
        }
        CHECK_EQ(larder_set_count(sets[s]), count);
        bool is_reverse = test_random_below(2) > 0;
        if (is_reverse) options.flags |= LARDER_SCAN_REVERSE;
        REQUIRE_OK(larder_set_scan(sets[s], &options, &scan, &test_error));
        larder_document document;
        size_t last[NAME_COLLECTIONS]; /* name order within each collection */
        for (size_t c = 0; c < NAME_COLLECTIONS; c++)
            last[c] = is_reverse ? NAME_COUNT : 0;
        while (larder_scan_next(scan, &document, &test_error) == LARDER_OK) {
            size_t n = 0;
            for (; n < NAME_COUNT; n++) {
                larder_bytes name = name_at(n), path = name_collection(name_collection_of(n));
                if (name.size_bytes == path.size_bytes + 1 + document.id.size_bytes &&
                    path.size_bytes == document.collection.size_bytes &&
                    memcmp(path.data, document.collection.data, path.size_bytes) == 0 &&
                    memcmp((const char *)name.data + path.size_bytes + 1, document.id.data,
                           document.id.size_bytes) == 0)
                    break;
            }
            REQUIRE(n < NAME_COUNT);
            size_t *before = &last[name_collection_of(n)];
            CHECK(is_reverse ? n < *before : n + 1 > *before);
            *before = is_reverse ? n : n + 1;
            CHECK(model[s][n]);
            count--;
        }
        CHECK_EQ(count, 0);
        larder_scan_close(scan);
    }
    for (size_t s = 0; s < SETS; s++)
        larder_set_close(sets[s]);
    larder_txn_end_read(read);
    store_close(env);
}

static const test_case cases[] = {
    {"sets combine", sets_combine},
    {"scans of sets read views and states", scans_of_sets_read_views_and_states},
    {"misuse is refused", misuse_is_refused},
    {"members outlive writes", members_outlive_writes},
    {"random sets against a model", random_sets_against_a_model},
};
TEST_SUITE(set, cases);

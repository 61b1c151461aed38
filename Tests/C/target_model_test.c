/* target_model_test.c - random operations on targets against a naive model. */
#include "names.h"
#include "store.h"

enum { TARGETS = 10, CANONICALS = 3 };

typedef struct model_target {
    bool present;
    int64_t sequence_number;
    size_t canonical;
    bool members[NAME_COUNT];
} model_target;

typedef struct model {
    model_target targets[TARGETS];
    int32_t highest;
} model;

static int32_t id_of(size_t target) { return (int32_t)(target * 97 + 1); }
static larder_bytes canonical_of(size_t canonical) {
    static const char *const texts[CANONICALS] = {"a", "b", ""};
    return test_text(texts[canonical]);
}

static void model_change(model *m, larder_txn *txn) {
    size_t target = test_random_below(TARGETS), name = test_random_below(NAME_COUNT);
    model_target *expected = &m->targets[target];
    int32_t if_present = expected->present ? LARDER_OK : LARDER_NOT_FOUND;
    uint64_t what = test_random_below(40);
    if (what < 6) {
        expected->sequence_number = (int64_t)test_random();
        expected->canonical = test_random_below(CANONICALS);
        if (!expected->present) memset(expected->members, 0, sizeof expected->members);
        expected->present = true;
        if (id_of(target) > m->highest) m->highest = id_of(target);
        larder_target put = {.struct_bytes = sizeof put, .target_id = id_of(target)};
        put.sequence_number = expected->sequence_number;
        put.canonical_id = canonical_of(expected->canonical);
        put.resume_token = TEST_BYTES("to\0ken");
        put.query = test_text("query");
        CHECK_OK(larder_target_put(txn, &put, &test_error));
    } else if (what < 8) {
        CHECK_STATUS(larder_target_remove(txn, id_of(target), &test_error), if_present);
        expected->present = false;
    } else if (what < 12) {
        size_t picked[6];
        larder_bytes names[6];
        for (size_t i = 0; i < 6; i++) {
            picked[i] = test_random_below(NAME_COUNT);
            names[i] = name_at(picked[i]);
            expected->members[picked[i]] = i >= 3;
        }
        CHECK_STATUS(
            larder_target_change_documents(txn, id_of(target), names, 3, names + 3, 3, &test_error),
            if_present);
    } else if (what < 28) {
        CHECK_STATUS(larder_target_add_document(txn, id_of(target), name_at(name), &test_error),
                     if_present);
        expected->members[name] = true;
    } else {
        bool is_member = expected->present && expected->members[name];
        CHECK_STATUS(larder_target_remove_document(txn, id_of(target), name_at(name), &test_error),
                     is_member ? LARDER_OK : LARDER_NOT_FOUND);
        expected->members[name] = false;
    }
}

static void compare_ids(const model *m, const larder_txn *txn) {
    int32_t ids[TARGETS], highest = 0;
    size_t count = 0, at = 0, name = test_random_below(NAME_COUNT);
    size_t canonical = test_random_below(CANONICALS);
    CHECK_OK(larder_target_find_document(txn, name_at(name), ids, TARGETS, &count, &test_error));
    for (size_t t = 0; t < TARGETS; t++)
        if (m->targets[t].present && m->targets[t].members[name])
            CHECK(at < count && ids[at++] == id_of(t));
    CHECK_EQ(count, at);
    CHECK_OK(larder_target_find(txn, canonical_of(canonical), ids, TARGETS, &count, &test_error));
    at = 0;
    for (size_t t = 0; t < TARGETS; t++)
        if (m->targets[t].present && m->targets[t].canonical == canonical)
            CHECK(at < count && ids[at++] == id_of(t));
    CHECK_EQ(count, at);
    CHECK_OK(larder_target_highest_id(txn, &highest, &test_error));
    CHECK_EQ(highest, m->highest);
}

static size_t position_of(const larder_document *document) {
    char text[2000];
    snprintf(text, sizeof text, "%.*s/%.*s", (int)document->collection.size_bytes,
             (const char *)document->collection.data, (int)document->id.size_bytes,
             (const char *)document->id.data);
    for (size_t name = 0; name < NAME_COUNT; name++)
        if (strcmp(name_at(name).data, text) == 0) return name;
    return NAME_COUNT;
}

/* Every member once, in name order within a collection. */
static void compare_documents(const model *m, const larder_txn *txn, size_t target) {
    const model_target *expected = &m->targets[target];
    larder_scan_options options;
    larder_scan *scan = NULL;
    larder_document document;
    int64_t members = 0, given = 0;
    size_t last = NAME_COUNT;
    larder_scan_options_init(&options, sizeof options);
    options.flags = LARDER_SCAN_ALL_STATES | LARDER_SCAN_KEYS_ONLY;
    REQUIRE_OK(larder_target_scan(txn, id_of(target), &options, &scan, &test_error));
    while (larder_scan_next(scan, &document, &test_error) == LARDER_OK) {
        size_t name = position_of(&document);
        CHECK(name < NAME_COUNT && expected->present && expected->members[name]);
        if (last < NAME_COUNT && name < NAME_COUNT &&
            name_collection_of(last) == name_collection_of(name))
            CHECK(last < name);
        last = name;
        given++;
    }
    larder_scan_close(scan);
    for (size_t name = 0; name < NAME_COUNT; name++)
        members += expected->present && expected->members[name];
    CHECK_EQ(given, members);
    if (!expected->present) return;
    int64_t count = -1;
    CHECK_OK(larder_target_document_count(txn, id_of(target), &count, &test_error));
    CHECK_EQ(count, members);
}

static void compare_all(const model *m, const larder_txn *txn) {
    larder_target target = {.struct_bytes = sizeof target};
    int32_t after = 0;
    for (size_t t = 0; t < TARGETS; t++) {
        compare_documents(m, txn, t);
        if (!m->targets[t].present) continue;
        REQUIRE_OK(larder_target_next(txn, after, &target, &test_error));
        CHECK_EQ(target.target_id, id_of(t));
        CHECK_EQ(target.sequence_number, m->targets[t].sequence_number);
        CHECK_BYTES(target.canonical_id, canonical_of(m->targets[t].canonical));
        after = target.target_id;
    }
    CHECK_STATUS(larder_target_next(txn, after, &target, &test_error), LARDER_END);
}

static void targets_equal_a_naive_model(void) {
    larder_env *env = store_open();
    static model now, before;
    memset(&now, 0, sizeof now);
    int64_t steps = test_steps(5000);
    for (int64_t done = 0; done < steps;) {
        larder_txn *txn = store_write(env);
        before = now;
        for (uint64_t n = test_random_below(20) + 1; n > 0; n--, done++) {
            model_change(&now, txn);
            compare_ids(&now, txn);
        }
        compare_documents(&now, txn, test_random_below(TARGETS));
        if (test_random_below(4) == 0) {
            larder_txn_abort(txn);
            now = before;
        } else {
            store_commit(txn);
        }
        const larder_txn *read = store_read(env);
        compare_ids(&now, read);
        compare_all(&now, read);
        larder_txn_end_read(read);
        if (done % 100 < 5) store_check(env);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"targets equal a naive model", targets_equal_a_naive_model},
};
TEST_SUITE(target_model, cases);

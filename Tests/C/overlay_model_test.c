/* overlay_model_test.c - random operations on overlays against a naive model. */
#include "names.h"
#include "store.h"

typedef struct model_overlay {
    int64_t batch_id; /* 0: none */
    int64_t number;   /* of its record, -1 for a delete */
} model_overlay;

typedef struct model {
    model_overlay overlays[NAME_USERS][NAME_COUNT];
} model;

enum { BATCH_IDS = 12 };

static void model_change(model *m, larder_txn *txn) {
    size_t user = test_random_below(NAME_USERS), name = test_random_below(NAME_COUNT);
    model_overlay *overlay = &m->overlays[user][name];
    uint64_t what = test_random_below(20);
    if (what < 11) {
        overlay->batch_id = (int64_t)test_random_below(BATCH_IDS) + 1;
        overlay->number = (int64_t)test_random_below(1000) - 1;
        larder_bytes plain = {NULL, 0};
        if (overlay->number >= 0)
            plain = store_record(overlay->number, store_fill('t', (size_t)overlay->number));
        larder_bytes payload = {&overlay->number, test_random_below(2) * sizeof(int64_t)};
        CHECK_OK(larder_overlay_put(txn, name_user(user), name_at(name), overlay->batch_id, plain,
                                    payload, &test_error));
    } else if (what < 19) {
        CHECK_STATUS(larder_overlay_remove(txn, name_user(user), name_at(name), &test_error),
                     overlay->batch_id > 0 ? LARDER_OK : LARDER_NOT_FOUND);
        overlay->batch_id = 0;
    } else {
        int64_t batch_id = (int64_t)test_random_below(BATCH_IDS) + 1, removed = -1, expected = 0;
        CHECK_OK(
            larder_overlay_remove_batch(txn, name_user(user), batch_id, &removed, &test_error));
        for (size_t i = 0; i < NAME_COUNT; i++) {
            if (m->overlays[user][i].batch_id != batch_id) continue;
            m->overlays[user][i].batch_id = 0;
            expected++;
        }
        CHECK_EQ(removed, expected);
    }
}

static void compare_view(const larder_document *view, const model_overlay *expected) {
    CHECK_EQ(view->batch_id, expected->batch_id);
    CHECK_EQ(view->flags, LARDER_DOCUMENT_LOCAL_MUTATIONS);
    CHECK_EQ(view->state, expected->number >= 0 ? LARDER_DOCUMENT_FOUND : LARDER_DOCUMENT_ABSENT);
    if (expected->number < 0) return;
    larder_bytes plain = store_record(expected->number, store_fill('t', (size_t)expected->number));
    CHECK(store_record_is(&view->record, plain));
}

/* What a scan should give: overlays of collections first .. last by name, above since or of
 * exactly one batch. */
typedef struct expectation {
    size_t user, first, last;
    int64_t since, batch_id;
} expectation;

static bool is_expected(const model *m, const expectation *e, size_t name) {
    const model_overlay *overlay = &m->overlays[e->user][name];
    size_t collection = name_collection_of(name);
    if (collection < e->first || collection > e->last || overlay->batch_id == 0) return false;
    return e->batch_id > 0 ? overlay->batch_id == e->batch_id : overlay->batch_id > e->since;
}

static void compare_scan(const model *m, larder_scan *scan, const expectation *e) {
    larder_document view;
    for (size_t name = 0; name < NAME_COUNT; name++) {
        if (!is_expected(m, e, name)) continue;
        REQUIRE_OK(larder_scan_next(scan, &view, &test_error));
        larder_bytes text = name_at(name);
        size_t path_bytes = name_collection(name_collection_of(name)).size_bytes;
        CHECK_BYTES(view.collection, name_collection(name_collection_of(name)));
        CHECK_BYTES(view.id, ((larder_bytes){(const char *)text.data + path_bytes + 1,
                                             text.size_bytes - path_bytes - 1}));
        compare_view(&view, &m->overlays[e->user][name]);
    }
    CHECK_STATUS(larder_scan_next(scan, &view, &test_error), LARDER_END);
}

/* By batch, collections come by number: compare as a set. */
static void compare_batch_scan(const model *m, larder_scan *scan, const expectation *e) {
    larder_document view;
    bool seen[NAME_COUNT] = {false};
    size_t count = 0, expected = 0;
    while (larder_scan_next(scan, &view, &test_error) == LARDER_OK) {
        char text[2000];
        snprintf(text, sizeof text, "%.*s/%.*s", (int)view.collection.size_bytes,
                 (const char *)view.collection.data, (int)view.id.size_bytes,
                 (const char *)view.id.data);
        for (size_t name = 0; name < NAME_COUNT; name++)
            if (strcmp(name_at(name).data, text) == 0 && !seen[name] && is_expected(m, e, name)) {
                seen[name] = true;
                count++;
                compare_view(&view, &m->overlays[e->user][name]);
            }
    }
    for (size_t name = 0; name < NAME_COUNT; name++)
        expected += is_expected(m, e, name);
    CHECK_EQ(count, expected);
}

static void compare_scans(const model *m, const larder_txn *txn) {
    larder_scan *scan = NULL;
    size_t user = test_random_below(NAME_USERS), c = test_random_below(NAME_COLLECTIONS);
    int64_t since = (int64_t)test_random_below(BATCH_IDS) - 1;
    expectation by_path = {user, c, c, since, 0};
    REQUIRE_OK(larder_overlay_scan_collection(txn, name_user(user), name_collection(c), since,
                                              &scan, &test_error));
    compare_scan(m, scan, &by_path);
    larder_scan_close(scan);
    expectation by_group = {user, 1, 2, since, 0};
    REQUIRE_OK(larder_overlay_scan_group(txn, name_user(user), test_text("landmarks"), since, &scan,
                                         &test_error));
    compare_scan(m, scan, &by_group);
    larder_scan_close(scan);
    expectation by_batch = {user, 0, NAME_COLLECTIONS, 0, since + 2};
    REQUIRE_OK(larder_overlay_scan_batch(txn, name_user(user), since + 2, &scan, &test_error));
    compare_batch_scan(m, scan, &by_batch);
    larder_scan_close(scan);
}

static void compare_one(const model *m, const larder_txn *txn) {
    size_t user = test_random_below(NAME_USERS), name = test_random_below(NAME_COUNT);
    const model_overlay *expected = &m->overlays[user][name];
    larder_document view;
    larder_bytes payload;
    int32_t status =
        larder_overlay_get(txn, name_user(user), name_at(name), &view, &payload, &test_error);
    CHECK_STATUS(status, expected->batch_id > 0 ? LARDER_OK : LARDER_NOT_FOUND);
    if (status != LARDER_OK) return;
    compare_view(&view, expected);
    if (payload.size_bytes > 0)
        CHECK_BYTES(payload, ((larder_bytes){&expected->number, sizeof expected->number}));
}

static void overlays_equal_a_naive_model(void) {
    larder_env *env = store_open();
    static model now, before;
    memset(&now, 0, sizeof now);
    int64_t steps = test_steps(5000);
    for (int64_t done = 0; done < steps;) {
        larder_txn *txn = store_write(env);
        before = now;
        for (uint64_t n = test_random_below(20) + 1; n > 0; n--, done++) {
            model_change(&now, txn);
            compare_one(&now, txn);
        }
        compare_scans(&now, txn);
        if (test_random_below(4) == 0) {
            larder_txn_abort(txn);
            now = before;
        } else {
            store_commit(txn);
        }
        const larder_txn *read = store_read(env);
        compare_scans(&now, read);
        for (int i = 0; i < 10; i++)
            compare_one(&now, read);
        larder_txn_end_read(read);
        if (done % 100 < 5) store_check(env);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"overlays equal a naive model", overlays_equal_a_naive_model},
};
TEST_SUITE(overlay_model, cases);

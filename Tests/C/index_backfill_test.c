/* index_backfill_test.c - back-fill and drop in bounded steps. */
#include "documents/index.h"
#include "index_kit.h"
#include "store.h"

/* ---- back-fill ---- */

static void backfill_runs_in_steps(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_put_many(txn, 100);
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
    kit_put_many(txn, 60);
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
    kit_put_many(txn, 3000);
    uint32_t id = kit_define(txn, "c", "a asc");
    int steps = 0;
    while (larder_index_backfill(txn, id, 0, 200, NULL, NULL, &test_error) == LARDER_MORE)
        steps++;
    /* 3,000 documents take longer than 0.2 ms by any means, and less than a second. */
    CHECK_NOTE(steps > 1 && steps < 5000, "%d steps", steps);
    CHECK_EQ(kit_index(txn, id).entry_count, 3000);
    larder_txn_abort(txn);
    /* a time without end, at the limits of its type */
    static const int64_t times[] = {10000000000000000, INT64_MAX - 1, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        txn = store_write(env);
        kit_put_many(txn, 500);
        id = kit_define(txn, "c", "a asc");
        CHECK_OK(larder_index_backfill(txn, id, i == 1 ? INT64_MAX : 0, times[i], NULL, NULL,
                                       &test_error));
        CHECK_EQ(kit_index(txn, id).entry_count, 500);
        larder_txn_abort(txn);
    }
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
    kit_put_many(txn, 50);
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
    kit_put_many(txn, 10);
    CHECK_OK(larder_index_drop(txn, 0, 5, &test_error)); /* nothing to do */
    CHECK_STATUS(larder_index_drop(txn, first, 5, &test_error), LARDER_MORE);
    CHECK_STATUS(larder_index_drop(txn, second, 5, &test_error), LARDER_MORE);
    store_commit(txn);
    txn = store_write(env);
    CHECK_STATUS(larder_index_drop(txn, 0, 0, &test_error), LARDER_MORE); /* the second */
    CHECK_OK(larder_index_drop(txn, 0, 0, &test_error));
    CHECK_STATUS(larder_index_drop(txn, first, 0, &test_error), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_index_drop(txn, second, 0, &test_error), LARDER_NOT_FOUND);
    store_commit(txn);
    CHECK_EQ(store_stat(env).indexes.row_count, 0);
    store_check(env);
    store_close(env);
}

/* ---- indexes of earlier versions ---- */

/* The order bytes that versions up to 0.2 had for a reference to c/__id7__. */
static const uint8_t earlier_bytes[] = "\x25"
                                       "c\0\2__id7__\0\1";

static larder__key entry_key(const uint64_t *user, uint32_t id, larder_bytes order,
                             const char *document) {
    larder__key key;
    larder__index_prefix(&key, user, id, 1);
    larder__key_append(&key, order.data, order.size_bytes);
    larder__key_append(&key, document, strlen(document));
    return key;
}

/* Makes an index what it was: with other bytes in place of those of one document and overlay. */
static void make_earlier(larder_txn *txn, uint32_t id, uint8_t state) {
    const uint64_t ada = 1, *users[] = {NULL, &ada};
    static const char *const documents[] = {"2", "5"};
    larder__index_row row;
    uint8_t definition[64];
    CHECK_OK(larder__index_commit(txn, &test_error));
    larder_usage before = larder__index_usage(txn);
    for (size_t i = 0; i < 2; i++) {
        larder__table table = i == 0 ? LARDER__INDEX_ENTRIES : LARDER__OVERLAY_ENTRIES;
        larder_bytes none = larder__bytes(NULL, 0);
        larder_bytes earlier = larder__bytes(earlier_bytes, sizeof earlier_bytes - 1);
        larder__key now = entry_key(users[i], id, kit_order("asc &'c/__id7__'"), documents[i]);
        larder__key then = entry_key(users[i], id, earlier, documents[i]);
        CHECK_OK(larder__table_remove(txn, table, larder__key_bytes(&now), &test_error));
        CHECK_OK(larder__table_put(txn, table, larder__key_bytes(&then), none, &test_error));
    }
    int64_t more = larder__index_usage(txn).size_bytes - before.size_bytes;
    CHECK_OK(larder__index_read(txn, id, &row, &test_error));
    memcpy(definition, row.definition.data, row.definition.size_bytes);
    const int64_t counts[] = {row.entry_count, row.size_bytes + more, 4};
    CHECK_OK(larder__index_row_put(txn, id, state, counts,
                                   larder__bytes(definition, row.definition.size_bytes),
                                   larder__bytes(NULL, 0), &test_error));
    larder__index_changed(txn, txn->env->indexes);
}

static void an_index_of_an_earlier_version_is_built_again(void) {
    for (uint8_t state = 1; state <= 2; state++) {
        larder_env *env = store_open();
        larder_txn *txn = store_write(env);
        uint32_t id = kit_define(txn, "c", "r asc");
        kit_put(txn, "c/1", "r=&'c/__id12__'");
        kit_put(txn, "c/2", "r=&'c/__id7__'");
        kit_put(txn, "c/3", "r=&'c/a'");
        kit_put(txn, "c/4", "r=1");
        kit_overlay(txn, "ada", "c/5", "r=&'c/__id7__'");
        make_earlier(txn, id, state);
        store_commit(txn);
        store_check(env);
        const larder_txn *read = store_read(env);
        CHECK_EQ(kit_index(read, id).complete, 0);
        larder_txn_end_read(read);

        /* Until then it is maintained as an index that is being built. */
        txn = store_write(env);
        CHECK_EQ(kit_define(txn, "c", "r asc"), id);
        kit_put(txn, "c/2", "r=&'c/__id13__'");
        kit_remove(txn, "c/3");
        store_commit(txn);
        store_check(env);

        int32_t status;
        int steps = 0;
        do {
            txn = store_write(env);
            int64_t done, total;
            status = larder_index_backfill(txn, id, 1, 0, &done, &total, &test_error);
            CHECK(status == LARDER_MORE || status == LARDER_OK);
            kit_check_counts(txn);
            if (steps == 1) kit_put(txn, "c/6", "r=&'c/__id-1__'");
            store_commit(txn);
            store_check(env);
        } while (status == LARDER_MORE && ++steps < 50);
        CHECK(steps > 6);
        txn = store_write(env);
        CHECK_EQ(kit_index(txn, id).complete, 1);
        CHECK_EQ(kit_index(txn, id).entry_count, 5);
        CHECK_NAMES(kit_all(txn, id), "c/4 c/6 c/1 c/2");
        larder_scan_options options = kit_options(LARDER_SCAN_LOCAL_VIEW, NULL, NULL);
        options.user = test_text("ada");
        CHECK_NAMES(kit_scan(txn, id, "", &options), "c/4 c/6 c/5 c/1 c/2");
        larder_txn_abort(txn);
        store_close(env);
    }
}

static const test_case cases[] = {
    {"back-fill runs in steps", backfill_runs_in_steps},
    {"back-fill with writes between steps", backfill_with_writes_between_steps},
    {"back-fill covers overlays", backfill_covers_overlays},
    {"back-fill keeps to its time", backfill_keeps_to_its_time},
    {"a new index of an empty group is complete", a_new_index_of_an_empty_group_is_complete},
    {"an index of an earlier version is built again",
     an_index_of_an_earlier_version_is_built_again},
    {"drop runs in steps", drop_runs_in_steps},
    {"an unfinished drop can be found", an_unfinished_drop_can_be_found},
};
TEST_SUITE(index_backfill, cases);

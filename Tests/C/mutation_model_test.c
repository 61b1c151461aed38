/* mutation_model_test.c - random operations on queues against a naive model. */
#include "names.h"
#include "store.h"

static const larder_time write_time = {1700000000, 5000, 0};

enum { BATCHES = 64, BATCH_NAMES = 5 };

typedef struct model_batch {
    bool present;
    size_t user;
    int64_t id;
    size_t name_count;
    size_t names[BATCH_NAMES];
    uint32_t attempts;
    uint64_t payload; /* its bytes */
} model_batch;

typedef struct model {
    model_batch batches[BATCHES];
    int64_t last_id;
} model;

static void model_append(model *m, larder_txn *txn) {
    larder_mutation_document documents[BATCH_NAMES];
    size_t slot = test_random_below(BATCHES);
    model_batch *batch = &m->batches[slot];
    if (batch->present) return;
    *batch = (model_batch){.present = true, .payload = test_random()};
    batch->user = test_random_below(NAME_USERS);
    batch->name_count = test_random_below(BATCH_NAMES + 1);
    for (size_t i = 0; i < batch->name_count; i++) {
        batch->names[i] = test_random_below(NAME_COUNT);
        documents[i].name = name_at(batch->names[i]);
        documents[i].base_version = (larder_time){(int64_t)batch->names[i], 0, 0};
    }
    CHECK_OK(larder_mutation_append(
        txn, name_user(batch->user), write_time, documents, batch->name_count,
        (larder_bytes){&batch->payload, sizeof batch->payload}, &batch->id, &test_error));
    CHECK(batch->id > m->last_id);
    m->last_id = batch->id;
}

static void model_change(model *m, larder_txn *txn) {
    uint64_t what = test_random_below(10);
    if (what < 5) {
        model_append(m, txn);
        return;
    }
    model_batch *batch = &m->batches[test_random_below(BATCHES)];
    int32_t expected = batch->present ? LARDER_OK : LARDER_NOT_FOUND;
    larder_bytes user = name_user(batch->user);
    if (what < 9) {
        CHECK_STATUS(larder_mutation_remove(txn, user, batch->id, &test_error), expected);
        batch->present = false;
    } else {
        CHECK_STATUS(larder_mutation_record_attempt(txn, user, batch->id, write_time,
                                                    test_text("again"), &test_error),
                     expected);
        batch->attempts++;
    }
}

static bool touches(const model_batch *batch, size_t user, size_t name, size_t collection) {
    if (!batch->present || batch->user != user) return false;
    for (size_t i = 0; i < batch->name_count; i++)
        if (batch->names[i] == name || name_collection_of(batch->names[i]) == collection)
            return true;
    return false;
}

/* The ids that the model has for the question, ascending. */
static size_t model_ids(const model *m, size_t user, size_t name, size_t collection, int64_t *ids) {
    size_t count = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        if (!touches(&m->batches[i], user, name, collection)) continue;
        size_t at = count++;
        for (; at > 0 && ids[at - 1] > m->batches[i].id; at--)
            ids[at] = ids[at - 1];
        ids[at] = m->batches[i].id;
    }
    return count;
}

static void compare_found(const model *m, const larder_txn *txn) {
    size_t user = test_random_below(NAME_USERS), name = test_random_below(NAME_COUNT);
    size_t collection = test_random_below(NAME_COLLECTIONS), count = 0;
    int64_t expected[BATCHES], ids[BATCHES];
    size_t expected_count = model_ids(m, user, name, SIZE_MAX, expected);
    CHECK_EQ(store_batches_touching(txn, name_user(user), name_at(name), ids, BATCHES),
             expected_count);
    CHECK(memcmp(ids, expected, expected_count * sizeof ids[0]) == 0);
    expected_count = model_ids(m, user, SIZE_MAX, collection, expected);
    CHECK_OK(larder_mutation_find_collection(txn, name_user(user), name_collection(collection), ids,
                                             BATCHES, &count, &test_error));
    CHECK_EQ(count, expected_count);
    CHECK(memcmp(ids, expected, expected_count * sizeof ids[0]) == 0);
}

static const model_batch *model_next(const model *m, size_t user, int64_t after) {
    const model_batch *best = NULL;
    for (size_t i = 0; i < BATCHES; i++) {
        const model_batch *batch = &m->batches[i];
        if (batch->present && batch->user == user && batch->id > after &&
            (!best || batch->id < best->id))
            best = batch;
    }
    return best;
}

static void compare_batch(const larder_batch *batch, const model_batch *expected) {
    CHECK_EQ(batch->batch_id, expected->id);
    CHECK_EQ(batch->attempt_count, expected->attempts);
    CHECK_BYTES(batch->payload, ((larder_bytes){&expected->payload, sizeof expected->payload}));
    CHECK_EQ(batch->document_count, expected->name_count);
    for (size_t i = 0; i < expected->name_count; i++) {
        larder_mutation_document document;
        REQUIRE_OK(larder_batch_get_document(batch, i, &document));
        CHECK_BYTES(document.name, name_at(expected->names[i]));
        CHECK_EQ(document.base_version.seconds, (int64_t)expected->names[i]);
    }
}

static void compare_queues(const model *m, const larder_txn *txn) {
    for (size_t user = 0; user < NAME_USERS; user++) {
        int64_t after = 0, count = 0, stored = -1;
        for (;; count++) {
            larder_batch batch;
            const model_batch *expected = model_next(m, user, after);
            int32_t status = larder_mutation_next(txn, name_user(user), after, &batch, &test_error);
            CHECK_STATUS(status, expected ? LARDER_OK : LARDER_END);
            if (!expected || status != LARDER_OK) break;
            compare_batch(&batch, expected);
            after = expected->id;
        }
        CHECK_OK(larder_mutation_count(txn, name_user(user), &stored, &test_error));
        CHECK_EQ(stored, count);
    }
}

static void queues_equal_a_naive_model(void) {
    larder_env *env = store_open();
    static model now, before;
    memset(&now, 0, sizeof now);
    int64_t steps = test_steps(5000);
    for (int64_t done = 0; done < steps;) {
        larder_txn *txn = store_write(env);
        before = now;
        for (uint64_t n = test_random_below(20) + 1; n > 0; n--, done++) {
            model_change(&now, txn);
            compare_found(&now, txn);
        }
        if (test_random_below(4) == 0) {
            larder_txn_abort(txn);
            now = before;
        } else {
            store_commit(txn);
        }
        const larder_txn *read = store_read(env);
        compare_found(&now, read);
        compare_queues(&now, read);
        larder_txn_end_read(read);
        if (done % 100 < 5) store_check(env);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"queues equal a naive model", queues_equal_a_naive_model},
};
TEST_SUITE(mutation_model, cases);

/*
 * blob_test.c - compression (blob.c) and dictionaries (train.c): parts read back, use counts equal
 * the records, a dictionary of an aborted transaction is gone, damaged frames are refused.
 */
#include "store/blob.h"

#include "make.h"
#include "store.h"

enum { FIRST = 400, OTHERS = 1000 }; /* documents for the first dictionary; of other words */

/* Text that compresses alone, and better with a dictionary of others like it. */
static const char *text_of(int i) {
    static char text[700];
    uint64_t state = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) + 1;
    static const char *const words[2][10] = {{"harbour", "meridian", "quartz", "lantern", "vessel",
                                              "orchard", "granite", "compass", "estuary", "beacon"},
                                             {"telegraph", "sonata", "umbrella", "velocity",
                                              "walnut", "xylophone", "yearling", "zephyr",
                                              "alabaster", "bulwark"}};
    size_t size = 0;
    while (size < 500) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%s-%d ",
                             words[i >= OTHERS][(state >> 33) % 10], (int)((state >> 40) % 100));
    }
    return text;
}

static void put(larder_txn *txn, int i) {
    char name[32];
    snprintf(name, sizeof name, "c/%06d", i);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version = info.create_time = info.read_time = (larder_time){1, 0, 0};
    CHECK_OK(
        larder_document_put(txn, test_text(name), &info, store_record(i, text_of(i)), &test_error));
}

static void remove_document(larder_txn *txn, int i) {
    char name[32];
    snprintf(name, sizeof name, "c/%06d", i);
    CHECK_OK(larder_document_remove(txn, test_text(name), &test_error));
}

/* The dictionary that a document's row names; its content must be whole. */
static uint32_t dictionary_of(const larder_txn *txn, int i) {
    char name[32];
    larder_document document;
    snprintf(name, sizeof name, "c/%06d", i);
    if (larder_document_get(txn, test_text(name), &document, &test_error) != LARDER_OK) {
        test_fail(__FILE__, __LINE__, "document %d cannot be read", i);
        return 0;
    }
    uint32_t dictionary = document.record.dictionary;
    CHECK(store_record_is(&document.record, store_record(i, text_of(i))));
    return dictionary;
}

static larder_dictionary dictionary_at(const larder_txn *txn, uint32_t id) {
    larder_dictionary found = {0};
    CHECK_OK(larder_dictionary_next(txn, id - 1, &found, &test_error));
    CHECK_EQ(found.dictionary_id, id);
    return found;
}

/* ---- cold parts ---- */

static void a_cold_part_reads_back(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes raw = make_copy(test_text(text_of(1)));
    larder__buffer out = {.allocator = &env->allocator};
    uint32_t dictionary = 77;
    CHECK(larder__buffer_append(&out, "before", 6));
    REQUIRE_OK(larder__cold_compress(txn, raw, &out, &dictionary, &test_error));
    CHECK_EQ(dictionary, 0);
    CHECK(memcmp(out.data, "before", 6) == 0);
    CHECK(out.size_bytes - 6 < raw.size_bytes);
    larder_bytes frame = make_copy(larder__bytes(out.data + 6, out.size_bytes - 6));
    char *got = malloc(raw.size_bytes);
    CHECK_OK(larder__frame_decompress(env->vocabulary, 0, frame, got, raw.size_bytes, &test_error));
    CHECK_BYTES(larder__bytes(got, raw.size_bytes), raw);
    /* A frame of another size than the row says is damage. */
    CHECK(larder__frame_decompress(env->vocabulary, 0, frame, got, raw.size_bytes - 1, NULL) < 0);
    free(got);
    larder__buffer_free(&out);
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

static void what_does_not_shrink_is_left_raw(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    uint8_t random[300];
    for (size_t i = 0; i < sizeof random; i++)
        random[i] = (uint8_t)test_random();
    larder__buffer out = {.allocator = &env->allocator};
    uint32_t dictionary = 77;
    CHECK(larder__buffer_append(&out, "before", 6));
    CHECK_STATUS(larder__cold_compress(txn, larder__bytes(random, sizeof random), &out, &dictionary,
                                       &test_error),
                 LARDER_NOT_FOUND);
    CHECK_EQ(dictionary, 0);
    CHECK_EQ(out.size_bytes, 6);
    larder__buffer_free(&out);
    larder_txn_abort(txn);
    store_close(env);
}

/* ---- dictionaries ---- */

static larder_env *open_trained(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    for (int i = 0; i < FIRST; i++)
        put(txn, i);
    CHECK_EQ(txn->counters.dictionary_id, 0);
    store_commit(txn);
    return env;
}

static void the_first_dictionary_comes_by_itself(void) {
    larder_env *env = open_trained();
    larder_txn *txn = store_write(env);
    CHECK_EQ(txn->counters.dictionary_id, 1);
    CHECK_EQ(dictionary_of(txn, 0), 0);
    CHECK_EQ(dictionary_at(txn, 1).record_count, 0);
    put(txn, FIRST);
    CHECK_EQ(dictionary_of(txn, FIRST), 1);
    CHECK_EQ(env->blobs->sample_count, 0); /* nothing more is kept for training */
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void a_dictionary_counts_the_records_that_need_it(void) {
    larder_env *env = open_trained();
    larder_txn *txn = store_write(env);
    for (int i = 0; i < 10; i++)
        put(txn, FIRST + i);
    put(txn, 3); /* from none to the dictionary */
    put(txn, 3); /* and once more: it needs it once */
    CHECK_EQ(larder__dictionary_delta(txn, 1), 11);
    CHECK_EQ(dictionary_at(txn, 1).record_count, 11);
    store_commit(txn);
    txn = store_write(env);
    CHECK_EQ(larder__dictionary_delta(txn, 1), 0);
    CHECK_EQ(dictionary_at(txn, 1).record_count, 11);
    remove_document(txn, FIRST);
    remove_document(txn, FIRST + 1);
    CHECK_EQ(dictionary_at(txn, 1).record_count, 9);
    larder_txn_abort(txn);
    const larder_txn *read = store_read(env);
    CHECK_EQ(dictionary_at(read, 1).record_count, 11);
    larder_txn_end_read(read);
    txn = store_write(env);
    CHECK_EQ(larder__dictionary_delta(txn, 1), 0); /* the abort forgot them */
    larder_txn_abort(txn);
    store_check(env);
    store_close(env);
}

static void an_aborted_dictionary_is_gone(void) {
    larder_env *env = open_trained();
    larder_txn *txn = store_write(env);
    larder_train_result result = {0};
    for (int i = 0; i < 2 * FIRST; i++)
        put(txn, OTHERS + i);
    CHECK_OK(larder_blob_train(txn, 0, 0, &result, &test_error));
    CHECK_EQ(result.dictionary_id, 2);
    CHECK(result.after_bytes < result.before_bytes);
    static const size_t samples[] = {1, 255, 256, 257};
    for (int i = 0; i < 4; i++) { /* too few to train with */
        larder_train_result none;
        CHECK_STATUS(larder_blob_train(txn, 0, samples[i], &none, &test_error), LARDER_NOT_FOUND);
    }
    CHECK_STATUS(larder_blob_train(txn, 0, SIZE_MAX, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_blob_train(txn, SIZE_MAX, 0, NULL, &test_error), LARDER_E_INVALID_ARGUMENT);
    put(txn, 0);
    CHECK_EQ(dictionary_of(txn, 0), 2);
    CHECK(larder__dictionary_find(env->vocabulary, 2) != NULL);
    larder_txn_abort(txn);
    CHECK(larder__dictionary_find(env->vocabulary, 2) == NULL);
    txn = store_write(env);
    CHECK_EQ(txn->counters.dictionary_id, 1);
    put(txn, 0);
    CHECK_EQ(dictionary_of(txn, 0), 1);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static void repacking_moves_records_to_the_dictionary_in_use(void) {
    larder_env *env = open_trained();
    larder_txn *txn = store_write(env);
    larder_repack repack = {0};
    int64_t changed, sum = 0;
    int32_t status;
    do {
        status = larder_blob_repack(txn, 70, &repack, &changed, &test_error);
        CHECK(status == LARDER_OK || status == LARDER_MORE);
        CHECK(changed <= 70);
        sum += changed;
    } while (status == LARDER_MORE);
    CHECK_EQ(sum, FIRST);
    CHECK_EQ(dictionary_at(txn, 1).record_count, FIRST);
    for (int i = 0; i < FIRST; i += 37)
        CHECK_EQ(dictionary_of(txn, i), 1);
    store_commit(txn);
    store_check(env);
    store_close(env);
}

/* ---- frames of their own ---- */

static int32_t decompress(const larder_txn *txn, larder_bytes frame, size_t max_bytes,
                          larder_bytes *raw) {
    static uint8_t buffer[65536];
    size_t needed = 0;
    int32_t status =
        larder_blob_decompress(txn, frame, max_bytes, buffer, sizeof buffer, &needed, NULL);
    if (status == LARDER_OK) *raw = larder__bytes(buffer, needed);
    return status;
}

static larder_bytes compress(const larder_txn *txn, larder_bytes raw) {
    static uint8_t buffer[66000];
    size_t asked = 0, needed = 0;
    CHECK_STATUS(larder_blob_compress(txn, raw, NULL, 0, &asked, NULL), LARDER_E_BUFFER_TOO_SMALL);
    CHECK_OK(larder_blob_compress(txn, raw, buffer, sizeof buffer, &needed, &test_error));
    CHECK_EQ(asked, needed);
    return make_copy(larder__bytes(buffer, needed));
}

static void a_frame_reads_back_and_bounds_what_it_claims(void) {
    larder_env *env = store_open();
    const larder_txn *txn = store_read(env);
    static const size_t sizes[] = {0, 1, 500, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        larder_bytes raw = make_copy(larder__bytes(store_fill('z', sizes[i]), sizes[i])), got;
        larder_bytes frame = compress(txn, raw);
        REQUIRE_OK(decompress(txn, frame, sizes[i], &got));
        CHECK_BYTES(got, raw);
        if (sizes[i] == 0) continue;
        CHECK_STATUS(decompress(txn, frame, sizes[i] - 1, &got), LARDER_E_TOO_LARGE);
        size_t needed = 0;
        CHECK_STATUS(larder_blob_decompress(txn, frame, sizes[i], NULL, 0, &needed, NULL),
                     LARDER_E_BUFFER_TOO_SMALL);
        CHECK_EQ(needed, sizes[i]);
    }
    larder_txn_end_read(txn);
    make_release();
    store_close(env);
}

static void a_damaged_frame_is_refused(void) {
    larder_env *env = store_open();
    const larder_txn *txn = store_read(env);
    larder_bytes frame = compress(txn, test_text(text_of(5))), got;
    for (size_t i = 0; i < frame.size_bytes; i++) {
        uint8_t *byte = (uint8_t *)(uintptr_t)frame.data + i;
        *byte ^= 1;
        CHECK_NOTE(decompress(txn, frame, 65536, &got) == LARDER_E_INVALID_RECORD, "byte %zu", i);
        *byte ^= 1;
        larder_bytes part = make_copy(larder__bytes(frame.data, i));
        CHECK_NOTE(decompress(txn, part, 65536, &got) == LARDER_E_INVALID_RECORD, "cut to %zu", i);
    }
    CHECK_OK(decompress(txn, frame, 65536, &got));
    larder_txn_end_read(txn);
    make_release();
    store_close(env);
}

static const test_case cases[] = {
    {"a cold part reads back", a_cold_part_reads_back},
    {"what does not shrink is left raw", what_does_not_shrink_is_left_raw},
    {"the first dictionary comes by itself", the_first_dictionary_comes_by_itself},
    {"a dictionary counts the records that need it", a_dictionary_counts_the_records_that_need_it},
    {"an aborted dictionary is gone", an_aborted_dictionary_is_gone},
    {"repacking moves records to the dictionary in use",
     repacking_moves_records_to_the_dictionary_in_use},
    {"a frame reads back and bounds what it claims", a_frame_reads_back_and_bounds_what_it_claims},
    {"a damaged frame is refused", a_damaged_frame_is_refused},
};
TEST_SUITE(blob, cases);

/*
 * row_test.c - a document's stored bytes (row.h, row.c): what is built reads back, the head has
 * its documented bytes, damage to any byte under a checksum is found.
 */
#include "store/row.h"

#include "index_kit.h"
#include "make.h"
#include "store.h"

#include <zstd.h>

static larder_document_info info_of(int32_t state, uint32_t flags, int64_t version, int64_t create,
                                    int64_t read) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = state;
    info.flags = flags;
    info.version.seconds = version;
    info.create_time.seconds = create;
    info.read_time.seconds = read;
    return info;
}

/* The row under key "k", copied to memory of exactly its size. */
static larder_bytes build(larder_txn *txn, const larder_document_info *info, larder_bytes plain,
                          uint32_t epoch) {
    larder_record record;
    int64_t raw_bytes;
    CHECK_OK(larder__row_build(txn, test_text("k"), info, plain, epoch, &record, &raw_bytes,
                               &test_error));
    return make_copy(larder__bytes(txn->row.data, txn->row.size_bytes));
}

static int32_t read_row(const larder_txn *txn, const char *key, larder_bytes row,
                        larder_document *document) {
    return larder__row_read(txn, LARDER__DOCUMENTS, test_text(key), row, document, NULL);
}

static bool is_same_time(larder_time a, larder_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

static void what_is_built_reads_back(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    static const int32_t states[] = {LARDER_DOCUMENT_FOUND, LARDER_DOCUMENT_ABSENT,
                                     LARDER_DOCUMENT_UNKNOWN};
    for (int s = 0; s < 3; s++)
        for (int bits = 0; bits < 8; bits++) {
            bool is_found = states[s] == LARDER_DOCUMENT_FOUND;
            larder_document_info info =
                info_of(states[s], bits & 1 ? LARDER_DOCUMENT_COMMITTED_MUTATIONS : 0, 50,
                        bits & 2   ? 40
                        : is_found ? 50
                                   : 0,
                        bits & 4 ? 60 : 50);
            larder_bytes plain = is_found ? kit_record("n=7 text=x*300") : larder__bytes(NULL, 0);
            larder_bytes row = build(txn, &info, plain, 77);
            larder_document document;
            REQUIRE_OK(read_row(txn, "k", row, &document));
            CHECK_EQ(document.state, info.state);
            CHECK_EQ(document.flags, info.flags);
            CHECK(is_same_time(document.version, info.version));
            CHECK(is_same_time(document.create_time, info.create_time));
            CHECK(is_same_time(document.read_time, info.read_time));
            CHECK_EQ(document.stored_bytes, row.size_bytes);
            if (is_found) CHECK(store_record_is(&document.record, plain));
            int32_t state;
            uint32_t epoch;
            larder_time read_time;
            CHECK(larder__row_head(row, &state, &epoch, &read_time));
            CHECK_EQ(state, info.state);
            CHECK_EQ(epoch, 77);
            CHECK(is_same_time(read_time, info.read_time));
        }
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

static void the_head_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document_info info =
        info_of(LARDER_DOCUMENT_ABSENT, LARDER_DOCUMENT_COMMITTED_MUTATIONS, 1, 0, 2);
    larder_bytes row = build(txn, &info, larder__bytes(NULL, 0), 0x01020304);
    const uint8_t *at = larder__begin(row);
    uint8_t time[LARDER__TIME_BYTES];
    REQUIRE(row.size_bytes == 9 + 2 * LARDER__TIME_BYTES);
    CHECK_EQ(at[0], 0x02 | 0x04 | 0x10); /* absent, committed mutations, a read time */
    CHECK_BYTES(larder__bytes(at + 5, 4), TEST_BYTES("\4\3\2\1"));
    larder__time_put(time, info.version);
    CHECK(memcmp(at + 9, time, sizeof time) == 0);
    larder__time_put(time, info.read_time);
    CHECK(memcmp(at + 18, time, sizeof time) == 0);
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

/* With the frame decompressed, too: it has a checksum of its own when it is large. */
static int32_t read_whole(const larder_txn *txn, larder_bytes row) {
    static uint8_t buffer[70000];
    larder_document document;
    size_t needed;
    int32_t status = read_row(txn, "k", row, &document);
    if (status != LARDER_OK || document.state != LARDER_DOCUMENT_FOUND) return status;
    return larder_record_copy(&document.record, buffer, sizeof buffer, &needed, NULL);
}

static void any_damaged_byte_but_the_epoch_is_found(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char random[400];
    for (size_t i = 0; i < sizeof random - 1; i++)
        random[i] = (char)('a' + test_random_below(26));
    random[sizeof random - 1] = 0;
    /* Nothing compressed; a small frame; a large one; a cold part that does not compress. */
    larder_bytes plains[4] = {make_copy(kit_record("n=7")), make_copy(kit_record("text=x*300")),
                              make_copy(store_record(1, store_fill('y', 9000))),
                              make_copy(store_record(1, random))};
    for (int p = -1; p < 4; p++) {
        larder_document_info info =
            info_of(p < 0 ? LARDER_DOCUMENT_ABSENT : LARDER_DOCUMENT_FOUND, 0, 50, 40, 60);
        larder_bytes row = build(txn, &info, p < 0 ? larder__bytes(NULL, 0) : plains[p], 77);
        CHECK_OK(read_whole(txn, row));
        for (size_t i = 0; i < row.size_bytes; i++) {
            uint8_t *byte = (uint8_t *)(uintptr_t)row.data + i;
            bool is_epoch = i >= LARDER__ROW_EPOCH_AT && i < LARDER__ROW_VERSION_AT;
            uint8_t bit = (uint8_t)(1u << test_random_below(8));
            *byte ^= bit;
            CHECK_NOTE((read_whole(txn, row) == LARDER_OK) == is_epoch, "row %d, byte %zu", p, i);
            *byte ^= bit;
        }
        for (size_t size = 0; size < row.size_bytes; size++) {
            larder_bytes part = make_copy(larder__bytes(row.data, size));
            CHECK_NOTE(read_whole(txn, part) < 0, "row %d cut to %zu bytes", p, size);
        }
    }
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

static void a_row_belongs_to_its_key(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_document_info info = info_of(LARDER_DOCUMENT_FOUND, 0, 50, 50, 50);
    larder_bytes row = build(txn, &info, kit_record("n=7"), 1);
    larder_document document;
    CHECK_OK(read_row(txn, "k", row, &document));
    CHECK_STATUS(read_row(txn, "l", row, &document), LARDER_E_CORRUPT);
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

/* The cold part of a record as a frame; out is freed by the caller. */
static larder_bytes frame_of(larder_txn *txn, larder_bytes plain, larder__buffer *out) {
    larder_record opened = make_open(plain);
    CHECK_OK(larder__record_split(&opened, 64, &txn->hot, &txn->cold, &test_error));
    CHECK(larder__buffer_reserve(out, ZSTD_compressBound(txn->cold.size_bytes)));
    size_t size =
        ZSTD_compress(out->data, out->capacity_bytes, txn->cold.data, txn->cold.size_bytes, 1);
    CHECK(!ZSTD_isError(size) && size > 4);
    return make_copy(larder__bytes(out->data + 4, size - 4)); /* without the magic number */
}

/* A compressed part, small and large, and one that was stored raw. */
static void another_cold_part_changes_nothing_else(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char random[400];
    for (size_t i = 0; i < sizeof random - 1; i++)
        random[i] = (char)('!' + test_random_below(90));
    random[sizeof random - 1] = 0;
    larder_bytes plains[3] = {make_copy(store_record(3, store_fill('y', 300))),
                              make_copy(store_record(3, store_fill('y', 60000))),
                              make_copy(store_record(3, random))};
    for (int i = 0; i < 3; i++) {
        larder_document_info info = info_of(LARDER_DOCUMENT_FOUND, 0, 50, 40, 60);
        larder_bytes row = build(txn, &info, plains[i], 77);
        larder_document document, again;
        larder__buffer out = {.allocator = &env->allocator};
        REQUIRE_OK(read_row(txn, "k", row, &document));
        CHECK_EQ((document.record.flags & LARDER__RECORD_LOADED) != 0, i == 2);
        larder_bytes frame = frame_of(txn, plains[i], &out);
        CHECK_OK(larder__row_replace_cold(txn, test_text("k"), row, &document.record, 0, frame,
                                          &test_error));
        larder_bytes replaced = make_copy(larder__bytes(txn->row.data, txn->row.size_bytes));
        REQUIRE_OK(read_row(txn, "k", replaced, &again));
        CHECK_EQ(again.record.flags & LARDER__RECORD_LOADED, 0);
        CHECK_EQ(again.state, document.state);
        CHECK(is_same_time(again.create_time, document.create_time));
        CHECK(is_same_time(again.read_time, document.read_time));
        CHECK_BYTES(again.record.values, document.record.values);
        CHECK(store_record_is(&again.record, plains[i]));
        larder__buffer_free(&out);
    }
    larder_txn_abort(txn);
    make_release();
    store_close(env);
}

static const test_case cases[] = {
    {"what is built reads back", what_is_built_reads_back},
    {"the head has its documented bytes", the_head_has_its_documented_bytes},
    {"any damaged byte but the epoch is found", any_damaged_byte_but_the_epoch_is_found},
    {"a row belongs to its key", a_row_belongs_to_its_key},
    {"another cold part changes nothing else", another_cold_part_changes_nothing_else},
};
TEST_SUITE(row, cases);

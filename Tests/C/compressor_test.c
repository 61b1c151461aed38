/*
 * compressor_test.c - compressors (compressor.c): bytes read back, sizes that are asked for, and
 * bytes that are no frame or a damaged one.
 */
#include "base/bytes.h"

#include "make.h"
#include "test.h"

static larder_compressor *open_compressor(void) {
    larder_compressor *compressor = NULL;
    CHECK_OK(larder_compressor_create(&compressor, &test_error));
    return compressor;
}

/* Words that repeat, and bytes that do not. */
static larder_bytes content(size_t size, bool is_random) {
    static uint8_t bytes[300000];
    for (size_t i = 0; i < size; i++)
        bytes[i] = is_random ? (uint8_t)test_random() : (uint8_t) "some words "[i % 11];
    return make_copy(larder__bytes(bytes, size));
}

static void bytes_read_back(void) {
    larder_compressor *compressor = open_compressor();
    static const size_t sizes[] = {0, 1, 11, 500, 4096, 60000, 300000};
    static uint8_t buffer[310000];
    static uint8_t back[310000];
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        larder_bytes raw = content(sizes[i / 2], i % 2 == 1);
        size_t bound = 0, size = 0, needed = 0;
        CHECK_STATUS(larder_compressor_compress(compressor, raw, NULL, 0, &bound, NULL),
                     LARDER_E_BUFFER_TOO_SMALL);
        REQUIRE(bound <= sizeof buffer);
        REQUIRE_OK(larder_compressor_compress(compressor, raw, buffer, bound, &size, &test_error));
        CHECK(size <= bound);
        if (raw.size_bytes >= 500 && i % 2 == 0) CHECK(size < raw.size_bytes / 4);
        CHECK_STATUS(larder_compressor_compress(compressor, raw, back, size - 1, &needed, NULL),
                     LARDER_E_BUFFER_TOO_SMALL);
        larder_bytes frame = larder__bytes(buffer, size);
        if (raw.size_bytes > 0) {
            CHECK_STATUS(larder_compressor_decompress(compressor, frame, back, raw.size_bytes - 1,
                                                      &needed, NULL),
                         LARDER_E_BUFFER_TOO_SMALL);
            CHECK_EQ(needed, raw.size_bytes);
        }
        REQUIRE_OK(larder_compressor_decompress(compressor, frame, back, raw.size_bytes, &needed,
                                                &test_error));
        CHECK_EQ(needed, raw.size_bytes);
        CHECK_BYTES(larder__bytes(back, needed), raw);
        make_release();
    }
    larder_compressor_close(compressor);
    larder_compressor_close(NULL);
}

static void what_is_no_frame_is_refused(void) {
    larder_compressor *compressor = open_compressor();
    static uint8_t buffer[5000];
    static uint8_t back[5000];
    larder_bytes raw = content(4000, false);
    size_t size = 0, needed = 0;
    REQUIRE_OK(
        larder_compressor_compress(compressor, raw, buffer, sizeof buffer, &size, &test_error));
    for (size_t cut = 0; cut < size; cut++)
        CHECK(larder_compressor_decompress(compressor, larder__bytes(buffer, cut), back,
                                           sizeof back, &needed, NULL) == LARDER_E_INVALID_RECORD);
    /* Damage is found, or gives other bytes of the same size. */
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            buffer[at] ^= (uint8_t)(1 << bit);
            int32_t status = larder_compressor_decompress(compressor, larder__bytes(buffer, size),
                                                          back, sizeof back, &needed, NULL);
            CHECK(status == LARDER_OK
                      ? needed <= sizeof back
                      : status == LARDER_E_INVALID_RECORD || status == LARDER_E_BUFFER_TOO_SMALL);
            buffer[at] ^= (uint8_t)(1 << bit);
        }
    for (int i = 0; i < 2000; i++) {
        larder_bytes noise = content((size_t)(test_random() % 200), true);
        CHECK(larder_compressor_decompress(compressor, noise, back, sizeof back, &needed, NULL) !=
              LARDER_OK);
    }
    REQUIRE_OK(larder_compressor_decompress(compressor, larder__bytes(buffer, size), back,
                                            sizeof back, &needed, &test_error));
    CHECK_BYTES(larder__bytes(back, needed), raw);
    make_release();
    larder_compressor_close(compressor);
}

static void arguments_are_checked(void) {
    larder_compressor *compressor = open_compressor();
    uint8_t buffer[100];
    size_t needed = 0;
    larder_bytes text = test_text("text"), none = {NULL, 3};
    CHECK_STATUS(larder_compressor_create(NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_compress(NULL, text, buffer, 100, &needed, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_compress(compressor, none, buffer, 100, &needed, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_compress(compressor, text, buffer, 100, NULL, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_compress(compressor, text, NULL, 100, &needed, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_decompress(NULL, text, buffer, 100, &needed, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_compressor_decompress(compressor, none, buffer, 100, &needed, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    larder_compressor_close(compressor);
}

static const test_case cases[] = {
    {"bytes read back", bytes_read_back},
    {"what is no frame is refused", what_is_no_frame_is_refused},
    {"arguments are checked", arguments_are_checked},
};
TEST_SUITE(compressor, cases);

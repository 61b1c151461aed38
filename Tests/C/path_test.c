/* path_test.c - field paths: encoding, canonical text both ways (digest, 1.8). */
#include "make.h"
#include "record/record.h"
#include "test.h"

static larder_bytes encode(size_t count, const larder_bytes *segments) {
    uint8_t buffer[4096];
    size_t needed = 0;
    CHECK_OK(larder_path_encode(segments, count, buffer, sizeof buffer, &needed, &test_error));
    return make_copy(larder__bytes(buffer, needed));
}

static larder_bytes format(larder_bytes path) {
    uint8_t buffer[4096];
    size_t needed = 0;
    CHECK_OK(larder_path_format(path, buffer, sizeof buffer, &needed, &test_error));
    return make_copy(larder__bytes(buffer, needed));
}

static void segments_are_encoded_with_their_lengths(void) {
    larder_bytes segments[] = {test_text("a"), test_text("b.c"), test_text("\xc3\xa9")};
    CHECK_BYTES(encode(1, segments), make_hex("01 61"));
    CHECK_BYTES(encode(3, segments), make_hex("01 61 03 622e63 02 c3a9"));
    char text[200];
    memset(text, 'x', sizeof text);
    larder_bytes long_segment = {text, 200};
    larder_bytes path = encode(1, &long_segment);
    CHECK_EQ(path.size_bytes, 202);
    CHECK(memcmp(path.data, "\xc8\x01", 2) == 0);
}

static void paths_are_limited(void) {
    char text[1501];
    memset(text, 'x', sizeof text);
    larder_bytes whole = {text, 1500}, beyond = {text, 1501}, nothing = {NULL, 0};
    larder_bytes halves[] = {{text, 749}, {text, 750}}, more[] = {{text, 750}, {text, 750}};
    larder_bytes bad = TEST_BYTES("\xff");
    size_t needed;
    CHECK_STATUS(larder_path_encode(&whole, 1, NULL, 0, &needed, &test_error),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK_EQ(needed, 1502);
    CHECK_STATUS(larder_path_encode(halves, 2, NULL, 0, &needed, &test_error),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK_STATUS(larder_path_encode(more, 2, NULL, 0, &needed, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_path_encode(&beyond, 1, NULL, 0, &needed, &test_error),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_path_encode(&nothing, 1, NULL, 0, &needed, &test_error),
                 LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_path_encode(NULL, 0, NULL, 0, &needed, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_path_encode(&bad, 1, NULL, 0, &needed, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_path_parse(whole, NULL, 0, &needed, &test_error),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK_STATUS(larder_path_parse(beyond, NULL, 0, &needed, &test_error), LARDER_E_INVALID_NAME);
}

/* Text, encoded path, and the text that it is formatted to. */
static void canonical_text_is_parsed_and_formatted(void) {
    static const struct {
        const char *text, *path, *canonical;
    } rows[] = {
        {"a", "01 61", "a"},
        {"_a1.B_2", "03 5f6131 03 425f32", "_a1.B_2"},
        {"__name__", "08 5f5f6e616d655f5f", "__name__"},
        {"a.`b.c`.d", "01 61 03 622e63 01 64", "a.`b.c`.d"},
        {"`a`", "01 61", "a"},
        {"1a", "02 3161", "`1a`"},
        {"a-b", "03 612d62", "`a-b`"},
        {"\xc3\xa9", "02 c3a9", "`\xc3\xa9`"},
        {"`a\\`b`", "03 616062", "`a\\`b`"},
        {"`a\\\\b`", "03 615c62", "`a\\\\b`"},
        {"a\\.b", "03 612e62", "`a.b`"}, /* the escape also works outside of backticks */
        {"a`.`b", "03 612e62", "`a.b`"}, /* quoting may begin inside of a segment */
        {"` `", "01 20", "` `"},
        {"a b", "03 612062", "`a b`"},
        {"\\`", "01 60", "`\\``"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        larder_bytes path = make_path(rows[i].text);
        CHECK_BYTES(path, make_hex(rows[i].path));
        CHECK_TEXT(format(path), rows[i].canonical);
        CHECK_BYTES(make_path(rows[i].canonical), path);
    }
    larder_bytes with_nul = TEST_BYTES("a\0b");
    larder_bytes path = encode(1, &with_nul);
    CHECK_BYTES(format(path), TEST_BYTES("`a\0b`"));
}

static void malformed_text_is_refused(void) {
    static const char *const texts[] = {"",   ".",    "a.",   ".a",   "a..b", "a.`",
                                        "`a", "`a.b", "a\\",  "``",   "a.``", "`a\\`",
                                        "\\", "a.\\", "\xff", "a\xc3"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint8_t buffer[64];
        size_t needed;
        CHECK_NOTE(larder_path_parse(make_copy(test_text(texts[i])), buffer, sizeof buffer, &needed,
                                     &test_error) == LARDER_E_INVALID_NAME,
                   "accepted: %s", texts[i]);
    }
}

static void malformed_bytes_are_refused(void) {
    static const char *const paths[] = {
        "",         "00",        "01",           "02 61",
        "01 61 00", "01 61 80",  "01 ff",        "ffffffffffffffffffff01 61",
        "8100 61",  "818000 61", "01 61 8100 61"}; /* sizes longer than need be */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        uint8_t buffer[64];
        size_t needed;
        CHECK_NOTE(larder_path_format(make_hex(paths[i]), buffer, sizeof buffer, &needed,
                                      &test_error) == LARDER_E_INVALID_NAME,
                   "accepted: %s", paths[i]);
    }
    larder_record record = make_open(make_record(1, "a", make_integer(1)));
    larder_bytes value, plain, padded = make_hex("8100 61");
    larder_field field;
    larder_builder *builder = NULL;
    larder_field_init(&field, padded);
    CHECK_STATUS(larder_record_find(&record, &field, &value, NULL), LARDER_E_INVALID_NAME);
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    CHECK_STATUS(larder_record_patch(&record, &record, &padded, 1, builder, &plain, &test_error),
                 LARDER_E_INVALID_NAME);
    larder_builder_close(builder);
}

static void random_segments_round_trip(void) {
    static const char *const pieces[] = {"a", "B", "_", "7", ".", "`", "\\", " ", "\xe2\x82\xac"};
    for (int round = 0; round < 3000; round++) {
        char texts[4][64];
        larder_bytes segments[4];
        size_t count = 1 + test_random_below(4);
        for (size_t i = 0; i < count; i++) {
            texts[i][0] = 0;
            size_t length = 1 + test_random_below(6);
            for (size_t k = 0; k < length; k++)
                strcat(texts[i], pieces[test_random_below(9)]);
            segments[i] = test_text(texts[i]);
        }
        larder_bytes path = encode(count, segments);
        larder_bytes text = format(path);
        uint8_t back[512];
        size_t needed = 0;
        CHECK_OK(larder_path_parse(text, back, sizeof back, &needed, &test_error));
        CHECK_BYTES(larder__bytes(back, needed), path);
        const uint8_t *at = larder__begin(path), *end = at + path.size_bytes;
        larder_bytes segment;
        for (size_t i = 0; i < count; i++) {
            CHECK(larder__path_next(&at, end, &segment));
            CHECK_BYTES(segment, segments[i]);
        }
        CHECK(!larder__path_next(&at, end, &segment) && at == end);
        /* exactly the size that was told is enough, one less is not */
        uint8_t *exact = malloc(text.size_bytes);
        CHECK_OK(larder_path_format(path, exact, text.size_bytes, &needed, &test_error));
        CHECK_STATUS(larder_path_format(path, exact, text.size_bytes - 1, &needed, &test_error),
                     LARDER_E_BUFFER_TOO_SMALL);
        CHECK_EQ(needed, text.size_bytes);
        free(exact);
        make_release();
    }
}

static const test_case cases[] = {
    {"segments are encoded with their lengths", segments_are_encoded_with_their_lengths},
    {"paths are limited", paths_are_limited},
    {"canonical text is parsed and formatted", canonical_text_is_parsed_and_formatted},
    {"malformed text is refused", malformed_text_is_refused},
    {"malformed bytes are refused", malformed_bytes_are_refused},
    {"random segments round trip", random_segments_round_trip},
};
TEST_SUITE(path, cases);

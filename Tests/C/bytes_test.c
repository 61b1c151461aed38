/* bytes_test.c - varints, checksum, hashes, UTF-8, buffer, sort, status texts. */
#include "base/bytes.h"
#include "base/error.h"
#include "make.h"
#include "test.h"

#include <errno.h>
#include <lmdb.h>

static void varints_round_trip(void) {
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t bytes[LARDER__VARINT_MAX];
        size_t size = larder__varint_put(bytes, values[i]);
        CHECK_EQ(size, larder__varint_size(values[i]));
        uint64_t value = 1;
        CHECK_EQ(larder__varint_get(bytes, bytes + size, &value), size);
        CHECK(value == values[i]);
        for (size_t cut = 0; cut < size; cut++)
            CHECK_EQ(larder__varint_get(bytes, bytes + cut, &value), 0);
    }
    const uint8_t beyond[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    uint64_t value;
    CHECK_EQ(larder__varint_get(beyond, beyond + 10, &value), 0);
}

/* With and without bytes behind it, which decide how it is read. */
static void varints_longer_than_need_be_are_refused(void) {
    for (size_t size = 2; size <= LARDER__VARINT_MAX; size++)
        for (uint8_t low = 0; low < 2; low++) {
            uint8_t bytes[LARDER__VARINT_MAX + 16] = {0};
            uint64_t value;
            memset(bytes, 0x80, size - 1);
            bytes[0] |= low;
            CHECK_EQ(larder__varint_get(bytes, bytes + size, &value), 0);
            CHECK_EQ(larder__varint_get(bytes, bytes + sizeof bytes, &value), 0);
            bytes[size - 1] = 1; /* the same length, for a number that needs it */
            CHECK_EQ(larder__varint_get(bytes, bytes + size, &value), size);
            CHECK(value == (UINT64_C(1) << (7 * (size - 1)) | low));
        }
}

/* RFC 3720, B.4 */
static void crc32c_gives_the_published_values(void) {
    uint8_t bytes[32];
    memset(bytes, 0, 32);
    CHECK_EQ(larder__crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    CHECK_EQ(larder__crc32c(0, bytes, 32), 0x62a8ab43);
    for (size_t i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    CHECK_EQ(larder__crc32c(0, bytes, 32), 0x46dd794e);
    CHECK_EQ(larder__crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_EQ(larder__crc32c_portable(0, "123456789", 9), 0xe3069283);
}

static void crc32c_is_the_same_by_table_and_in_pieces(void) {
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)test_random();
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint32_t whole = larder__crc32c(0, bytes, size);
        CHECK_EQ(larder__crc32c_portable(0, bytes, size), whole);
        size_t first = test_random_below(size + 1);
        CHECK_EQ(larder__crc32c(larder__crc32c(0, bytes, first), bytes + first, size - first),
                 whole);
        CHECK_EQ(larder__crc32c_join(larder__crc32c(0, bytes, first),
                                     larder__crc32c(0, bytes + first, size - first), size - first),
                 whole);
    }
}

/* The reference vectors of SipHash-2-4-128, key and input 00 01 02 ... */
static void hash128_is_pinned(void) {
    static const char *const expected[] = {
        "a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45",
        "8177228da4a45dc7fca38bdef60affe4", "9c70b60c5267a94e5f33b6b02985ed51"};
    uint8_t input[4] = {0, 1, 2, 3}, out[16];
    for (size_t i = 0; i < 4; i++) {
        larder__hash128(larder__bytes(input, i), out);
        CHECK_BYTES(larder__bytes(out, 16), make_hex(expected[i]));
    }
    const char *text = "a name that is longer than a block of eight bytes";
    larder__hash128(test_text(text), out);
    uint8_t other[16];
    for (size_t cut = 1; cut < strlen(text); cut++) {
        larder__hash128(larder__bytes(text, cut), other);
        CHECK(memcmp(out, other, 16) != 0);
    }
}

static void hash64_differs_for_small_changes(void) {
    uint8_t bytes[40];
    memset(bytes, 'a', sizeof bytes);
    for (size_t size = 1; size <= sizeof bytes; size++) {
        uint64_t hash = larder__hash64(larder__bytes(bytes, size));
        CHECK(hash == larder__hash64(larder__bytes(bytes, size)));
        CHECK(hash != larder__hash64(larder__bytes(bytes, size - 1)));
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= 1;
            CHECK(hash != larder__hash64(larder__bytes(bytes, size)));
            bytes[at] ^= 1;
        }
    }
}

static bool utf8(const char *hex) { return larder__utf8_is_valid(make_hex(hex)); }

static void utf8_accepts_exactly_the_well_formed(void) {
    CHECK(utf8(""));
    CHECK(utf8("00") && utf8("7f"));
    CHECK(utf8("c280") && utf8("dfbf"));
    CHECK(utf8("e0a080") && utf8("ed9fbf") && utf8("ee8080") && utf8("efbfbf"));
    CHECK(utf8("f0908080") && utf8("f48fbfbf"));
    CHECK(!utf8("80") && !utf8("bf"));                      /* continuation alone */
    CHECK(!utf8("c080") && !utf8("c1bf"));                  /* over-long */
    CHECK(!utf8("e09fbf") && !utf8("f08fbfbf"));            /* over-long */
    CHECK(!utf8("eda080") && !utf8("edbfbf"));              /* surrogates */
    CHECK(!utf8("f4908080") && !utf8("f5808080"));          /* beyond U+10FFFF */
    CHECK(!utf8("c2") && !utf8("e0a0") && !utf8("f09080")); /* cut off */
    CHECK(!utf8("c241") && !utf8("e0a041") && !utf8("f0908041"));
    CHECK(!utf8("fe") && !utf8("ff"));
}

/* One character at every place of an ASCII text, to meet each of the fast paths. */
static void utf8_finds_a_bad_byte_anywhere(void) {
    for (size_t size = 1; size <= 70; size++) {
        uint8_t bytes[70];
        memset(bytes, 'x', size);
        larder_bytes text = make_copy(larder__bytes(bytes, size));
        CHECK(larder__utf8_is_valid(text));
        for (size_t at = 0; at < size; at++) {
            memset(bytes, 'x', size);
            bytes[at] = 0xff;
            CHECK(!larder__utf8_is_valid(make_copy(larder__bytes(bytes, size))));
            if (at + 3 > size) continue;
            memcpy(bytes + at, "\xe2\x82\xac", 3);
            CHECK(larder__utf8_is_valid(make_copy(larder__bytes(bytes, size))));
            CHECK(!larder__utf8_is_valid(make_copy(larder__bytes(bytes, at + 2))));
        }
        make_release();
    }
}

static int live_allocations, allocations_left;
static void *count_allocate(void *context, size_t size) {
    (void)context;
    if (allocations_left-- <= 0) return NULL;
    live_allocations++;
    return malloc(size);
}
static void count_release(void *context, void *memory) {
    (void)context;
    live_allocations--;
    free(memory);
}

static void buffer_grows_and_survives_lack_of_memory(void) {
    larder_allocator allocator = {NULL, count_allocate, count_release};
    larder__buffer buffer = {.allocator = &allocator};
    allocations_left = 1;
    CHECK(larder__buffer_append(&buffer, "abc", 3));
    CHECK(!larder__buffer_reserve(&buffer, 100000));
    CHECK(!larder__buffer_reserve(&buffer, SIZE_MAX - 1));
    CHECK_BYTES(larder__bytes(buffer.data, buffer.size_bytes), test_text("abc"));
    allocations_left = 100;
    for (int i = 0; i < 1000; i++)
        CHECK(larder__buffer_append(&buffer, "0123456789", 10));
    CHECK_EQ(buffer.size_bytes, 10003);
    CHECK(memcmp(buffer.data + 9993, "0123456789", 10) == 0);
    CHECK(allocations_left > 85); /* it doubles */
    larder__buffer_free(&buffer);
    CHECK_EQ(live_allocations, 0);
}

static int compare_u32(const void *left, const void *right, const void *context) {
    CHECK(context == &live_allocations);
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void sort_orders_any_input(void) {
    for (size_t count = 0; count < 200; count++) {
        uint32_t items[200];
        uint64_t sum = 0, sorted_sum = 0;
        for (size_t i = 0; i < count; i++) {
            items[i] = (uint32_t)test_random_below(50);
            sum += items[i] * items[i];
        }
        larder__sort(items, count, 4, compare_u32, &live_allocations);
        for (size_t i = 0; i < count; i++) {
            sorted_sum += items[i] * items[i];
            if (i > 0) CHECK(items[i - 1] <= items[i]);
        }
        CHECK(sum == sorted_sum);
    }
}

static void every_status_has_a_name_and_a_text(void) {
    static const int32_t statuses[] = {0,   1,   2,   3,   4,   5,   -10, -11, -12, -13, -14, -15,
                                       -16, -17, -30, -31, -32, -33, -34, -35, -36, -37, -38, -39,
                                       -40, -41, -50, -51, -52, -53, -54, -55, -70, -71};
    size_t count = sizeof statuses / sizeof statuses[0];
    for (size_t i = 0; i < count; i++) {
        CHECK(strcmp(larder_status_name(statuses[i]), "unknown") != 0);
        CHECK(strstr(larder_strerror(statuses[i]), "does not know") == NULL);
        for (size_t other = 0; other < i; other++) {
            CHECK(strcmp(larder_status_name(statuses[i]), larder_status_name(statuses[other])));
            CHECK(strcmp(larder_strerror(statuses[i]), larder_strerror(statuses[other])));
        }
    }
    CHECK(strcmp(larder_status_name(LARDER_E_CORRUPT), "E_CORRUPT") == 0);
    CHECK(strcmp(larder_status_name(LARDER_NOT_FOUND), "NOT_FOUND") == 0);
    CHECK(strcmp(larder_status_name(-999), "unknown") == 0);
    CHECK(strcmp(larder_strerror(999), larder_strerror(-999)) != 0);
}

static void lmdb_and_system_codes_map_to_statuses(void) {
    static const int codes[][2] = {{MDB_MAP_FULL, LARDER_E_MAP_FULL},
                                   {MDB_READERS_FULL, LARDER_E_READERS_FULL},
                                   {MDB_CORRUPTED, LARDER_E_CORRUPT},
                                   {MDB_PAGE_NOTFOUND, LARDER_E_CORRUPT},
                                   {MDB_PANIC, LARDER_E_WRITES_REFUSED},
                                   {MDB_INVALID, LARDER_E_FOREIGN_FILE},
                                   {MDB_BAD_TXN, LARDER_E_TXN_ENDED},
                                   {MDB_NOTFOUND, LARDER_NOT_FOUND},
                                   {MDB_TXN_FULL, LARDER_E_TOO_LARGE},
                                   {ENOSPC, LARDER_E_NO_SPACE},
                                   {EDQUOT, LARDER_E_NO_SPACE},
                                   {ENOMEM, LARDER_E_NO_MEMORY},
                                   {EACCES, LARDER_E_PERMISSION},
                                   {EROFS, LARDER_E_READ_ONLY},
                                   {EIO, LARDER_E_IO},
                                   {12345, LARDER_E_IO}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        larder_error error = {0};
        CHECK_STATUS(larder__fail_mdb(&error, codes[i][0], "writing"), codes[i][1]);
        CHECK_EQ(error.status, codes[i][1]);
        CHECK_EQ(error.system_code, codes[i][0]);
        CHECK_NOTE(strncmp(error.message, "writing: ", 9) == 0 && strlen(error.message) > 12,
                   "message is \"%s\"", error.message);
        CHECK_STATUS(larder__fail_mdb(NULL, codes[i][0], "writing"), codes[i][1]);
    }
    larder_error untouched = {7, 8, "as it was"};
    CHECK_OK(larder__fail_mdb(&untouched, MDB_SUCCESS, "writing"));
    CHECK_EQ(untouched.status, 7);
}

static void messages_are_one_line_of_whole_characters(void) {
    larder_error error;
    CHECK_STATUS(larder__fail(&error, LARDER_E_IO, "a\nb\tc"), LARDER_E_IO);
    CHECK_TEXT(test_text(error.message), "a b c");
    char text[400];
    for (size_t shift = 0; shift < 5; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 5);
        larder__fail(&error, LARDER_E_IO, "%s", text);
        size_t size = strlen(error.message);
        CHECK(size < sizeof error.message && size > sizeof error.message - 5);
        CHECK(larder__utf8_is_valid(larder__bytes(error.message, size)));
    }
    larder__fail(&error, LARDER_E_IO, "caf\xc3\xa9");
    CHECK_TEXT(test_text(error.message), "caf\xc3\xa9");
    CHECK_STATUS(larder__fail(NULL, LARDER_E_IO, "no error wanted"), LARDER_E_IO);
}

static void version_and_limits_are_functions_too(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", LARDER_VERSION_MAJOR, LARDER_VERSION_MINOR,
             LARDER_VERSION_PATCH);
    CHECK_TEXT(test_text(larder_version()), expected);
    CHECK_EQ(larder_version_number(),
             LARDER_VERSION_MAJOR * 65536 + LARDER_VERSION_MINOR * 256 + LARDER_VERSION_PATCH);
    CHECK_EQ(larder_format_version(), LARDER_FORMAT_VERSION);
    CHECK_EQ(larder_limit_name_bytes(), 6144);
    CHECK_EQ(larder_limit_id_bytes(), 1500);
    CHECK_EQ(larder_limit_document_bytes(), 1048576);
    CHECK_EQ(larder_limit_depth(), 20);
    CHECK_EQ(larder_limit_budget_bytes(), 1048576);
}

static const test_case cases[] = {
    {"varints round trip", varints_round_trip},
    {"varints longer than need be are refused", varints_longer_than_need_be_are_refused},
    {"CRC-32C gives the published values", crc32c_gives_the_published_values},
    {"CRC-32C is the same by table and in pieces", crc32c_is_the_same_by_table_and_in_pieces},
    {"hash128 is pinned", hash128_is_pinned},
    {"hash64 differs for small changes", hash64_differs_for_small_changes},
    {"UTF-8: exactly the well formed is accepted", utf8_accepts_exactly_the_well_formed},
    {"UTF-8: a bad byte is found anywhere", utf8_finds_a_bad_byte_anywhere},
    {"a buffer grows and survives lack of memory", buffer_grows_and_survives_lack_of_memory},
    {"sort orders any input", sort_orders_any_input},
    {"every status has a name and a text", every_status_has_a_name_and_a_text},
    {"LMDB and system codes map to statuses", lmdb_and_system_codes_map_to_statuses},
    {"messages are one line of whole characters", messages_are_one_line_of_whole_characters},
    {"version and limits are functions, too", version_and_limits_are_functions_too},
};
TEST_SUITE(bytes, cases);

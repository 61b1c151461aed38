/*
 * order_test.c - order bytes: golden bytes, agreement with the comparison, prefix freedom,
 * ranges of types, skipping. (Ordering groups by section are in compare_test.c, which checks
 * their order bytes, too.)
 */
#include "make.h"
#include "model.h"
#include "record/record.h"
#include "test.h"

#include <math.h>

static const larder_bytes nothing = {NULL, 0};

static larder_bytes ascending(larder_bytes value) {
    return make_order(value, LARDER_ORDER_ASCENDING);
}

/* A change here breaks every index. */
static void golden_order_bytes(void) {
    CHECK_BYTES(ascending(make_null()), make_hex("05"));
    CHECK_BYTES(ascending(make_boolean(false)), make_hex("0a"));
    CHECK_BYTES(ascending(make_boolean(true)), make_hex("0b"));
    CHECK_BYTES(ascending(make_double(NAN)), make_hex("0d"));
    CHECK_BYTES(ascending(make_double(-INFINITY)), make_hex("0f 000fffffffffffff 0000"));
    CHECK_BYTES(ascending(make_integer(-1)), make_hex("0f 400fffffffffffff"));
    CHECK_BYTES(ascending(make_integer(0)), make_hex("0f 8000000000000000"));
    CHECK_BYTES(ascending(make_double(-0.0)), make_hex("0f 8000000000000000"));
    CHECK_BYTES(ascending(make_double(1.0)), make_hex("0f bff0000000000000"));
    CHECK_BYTES(ascending(make_integer(9007199254740991)), make_hex("0f c33fffffffffffff"));
    CHECK_BYTES(ascending(make_integer(9007199254740992)), make_hex("0f c340000000000000 0000"));
    CHECK_BYTES(ascending(make_integer(9007199254740993)), make_hex("0f c340000000000000 0001"));
    CHECK_BYTES(ascending(make_integer(-9007199254740993)), make_hex("0f 3cbffffffffffffe 0001"));
    CHECK_BYTES(ascending(make_integer(INT64_MAX)), make_hex("0f c3dfffffffffffff 03ff"));
    CHECK_BYTES(ascending(make_integer(INT64_MIN)), make_hex("0f 3c1fffffffffffff 0000"));
    CHECK_BYTES(ascending(make_double(0x1p63)), make_hex("0f c3e0000000000000 0000"));
    CHECK_BYTES(ascending(make_timestamp(0, 1)), make_hex("14 0e7791f700 00000001"));
    CHECK_BYTES(ascending(make_pending(0, 1, make_null())), make_hex("17 0e7791f700 00000001"));
    CHECK_BYTES(ascending(make_string_of(TEST_BYTES("a\0b"))), make_hex("19 6100ff62 0001"));
    CHECK_BYTES(ascending(make_bytes(TEST_BYTES("\xff"))), make_hex("1e ff 0001"));
    CHECK_BYTES(ascending(make_reference("a//b/")), make_hex("25 61 0002 62 0001"));
    CHECK_BYTES(ascending(make_reference("")), make_hex("25 0001"));
    CHECK_BYTES(ascending(make_reference("a/__id7__")),
                make_hex("25 61 0002 0003 8000000000000007 0001"));
    CHECK_BYTES(ascending(make_reference("__id-1__/b")),
                make_hex("25 0003 7fffffffffffffff 0002 62 0001"));
    CHECK_BYTES(ascending(make_reference("__id07__")),
                make_hex("25 0003 8000000000000007 5f5f696430375f5f 0001"));
    CHECK_BYTES(ascending(make_geo_point(1, -0.0)),
                make_hex("2d bff0000000000000 8000000000000000"));
    CHECK_BYTES(ascending(make_array(2, make_null(), make_array(0))), make_hex("32 05 3201 01"));
    CHECK_BYTES(ascending(make_vector((double[]){1, NAN}, 2)),
                make_hex("35 00000002 bff0000000000000 0000000000000000"));
    CHECK_BYTES(ascending(make_map(1, "ab", make_null())), make_hex("37 19 6162 0001 05 01"));
    CHECK_BYTES(ascending(make_max()), make_hex("3c"));
    CHECK_BYTES(make_order(make_string("a"), LARDER_ORDER_DESCENDING), make_hex("e6 9e fffe"));
    CHECK_BYTES(make_order(make_null(), LARDER_ORDER_DESCENDING), make_hex("fa"));
}

static bool has_prefix(larder_bytes bytes, larder_bytes prefix) {
    return larder__bytes_has_prefix(bytes, prefix);
}

static void random_order_bytes_follow_the_comparison(void) {
    for (int round = 0; round < 4000; round++) {
        const model *a = model_random(3);
        const model *b = model_vary(a, 3);
        larder_bytes x = model_encode(a), y = model_encode(b);
        int expected = model_compare(a, b);
        for (int32_t direction = 0; direction < 2; direction++) {
            larder_bytes i = make_order(x, direction), k = make_order(y, direction);
            CHECK_EQ(larder__bytes_compare(i, k), direction ? -expected : expected);
            /* prefix-free: so that further segments may follow */
            if (expected != 0) CHECK(!has_prefix(i, k) && !has_prefix(k, i));
            CHECK_EQ(larder__order_skip(i, direction), i.size_bytes);
        }
        make_release();
    }
}

/* Entries of an index with two segments. */
static void encodings_follow_each_other_without_separators(void) {
    for (int round = 0; round < 2000; round++) {
        const model *first = model_random(2), *second = model_random(2);
        const model *first_other = model_vary(first, 2), *second_other = model_vary(second, 2);
        int32_t directions[2] = {(int32_t)test_random_below(2), (int32_t)test_random_below(2)};
        larder__buffer x = {0}, y = {0};
        CHECK_OK(larder__order_append(model_encode(first), directions[0], &x, &test_error));
        size_t first_size = x.size_bytes;
        CHECK_OK(larder__order_append(model_encode(second), directions[1], &x, &test_error));
        CHECK_OK(larder__order_append(model_encode(first_other), directions[0], &y, &test_error));
        CHECK_OK(larder__order_append(model_encode(second_other), directions[1], &y, &test_error));
        int expected = model_compare(first, first_other) * (directions[0] ? -1 : 1);
        if (expected == 0)
            expected = model_compare(second, second_other) * (directions[1] ? -1 : 1);
        CHECK_EQ(larder__bytes_compare(larder__bytes(x.data, x.size_bytes),
                                       larder__bytes(y.data, y.size_bytes)),
                 expected);
        larder_bytes whole = make_copy(larder__bytes(x.data, x.size_bytes));
        CHECK_EQ(larder__order_skip(whole, directions[0]), first_size);
        larder__buffer_free(&x);
        larder__buffer_free(&y);
        make_release();
    }
}

static void a_type_has_a_range(void) {
    for (int round = 0; round < 3000; round++) {
        const model *value = model_random(2);
        int32_t type = (int32_t)test_random_below(LARDER_TYPE_MAX + 1);
        int32_t value_rank = value->type == LARDER_TYPE_DOUBLE ? LARDER_TYPE_INTEGER : value->type;
        int32_t rank = type == LARDER_TYPE_DOUBLE ? LARDER_TYPE_INTEGER : type;
        for (int32_t direction = 0; direction < 2; direction++) {
            larder_bytes bytes = make_order(model_encode(value), direction);
            uint8_t bounds[2];
            size_t needed = 0;
            for (int32_t end = 0; end < 2; end++) {
                CHECK_OK(larder_order_encode_type(type, end, direction, bounds + end, 1, &needed,
                                                  &test_error));
                CHECK_EQ(needed, 1);
            }
            bool after_start = larder__bytes_compare(bytes, larder__bytes(bounds, 1)) >= 0;
            bool before_end = larder__bytes_compare(bytes, larder__bytes(bounds + 1, 1)) < 0;
            CHECK_EQ(after_start && before_end, value_rank == rank);
            if (value_rank != rank)
                CHECK_EQ(after_start, direction ? value_rank < rank : value_rank > rank);
        }
        make_release();
    }
}

static void bad_arguments_are_refused(void) {
    uint8_t buffer[64];
    size_t needed = 0;
    larder_bytes value = make_string("text");
    CHECK_STATUS(larder_order_encode(value, 2, buffer, sizeof buffer, &needed, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_order_encode_type(14, 0, 0, buffer, 64, &needed, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_order_encode_type(-1, 0, 0, buffer, 64, &needed, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_order_encode_type(1, 2, 0, buffer, 64, &needed, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_order_encode_type(1, 0, 3, buffer, 64, &needed, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_order_encode_type(1, 0, 0, NULL, 0, &needed, &test_error),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK_EQ(needed, 1);
}

/* Whatever the capacity: the size is returned, and a buffer too small is left alone. */
static void a_buffer_too_small_is_left_alone(void) {
    for (int round = 0; round < 300; round++) {
        larder_bytes value = model_encode(model_random(3));
        larder_bytes expected = ascending(value);
        for (size_t capacity = 0; capacity < expected.size_bytes + 40; capacity++) {
            uint8_t *buffer = malloc(capacity + 1);
            memset(buffer, 0xab, capacity + 1);
            size_t needed = 0;
            int32_t status = larder_order_encode(value, 0, buffer, capacity, &needed, &test_error);
            CHECK_EQ(needed, expected.size_bytes);
            if (capacity < needed) {
                CHECK_STATUS(status, LARDER_E_BUFFER_TOO_SMALL);
                for (size_t i = 0; i < capacity; i++)
                    CHECK_EQ(buffer[i], 0xab);
            } else {
                CHECK_STATUS(status, LARDER_OK);
                CHECK_BYTES(larder__bytes(buffer, needed), expected);
            }
            CHECK_EQ(buffer[capacity], 0xab);
            free(buffer);
        }
        make_release();
    }
}

static void append_keeps_what_is_there(void) {
    larder__buffer buffer = {0};
    CHECK(larder__buffer_append(&buffer, "before", 6));
    CHECK_OK(larder__order_append(make_string("x"), LARDER_ORDER_DESCENDING, &buffer, &test_error));
    CHECK_STATUS(larder__order_append(make_hex("40 01"), 0, &buffer, &test_error),
                 LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder__order_append(nothing, 0, &buffer, &test_error), LARDER_E_INVALID_RECORD);
    CHECK_BYTES(larder__bytes(buffer.data, buffer.size_bytes), make_hex("6265666f7265 e687fffe"));
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = 0;
    CHECK_OK(larder__order_append(make_string(text), 0, &buffer, &test_error));
    CHECK_EQ(buffer.size_bytes, 10 + 100003);
    free(text);
    larder__buffer_free(&buffer);
}

static void skip_refuses_what_is_no_encoding(void) {
    static const char *const malformed[] = {"00",
                                            "02",
                                            "ff",
                                            "0f",
                                            "0f 80000000000000",
                                            "0f c340000000000000 00",
                                            "0f ffffffffffffffff" /* NaN */,
                                            "14 00",
                                            "19 61",
                                            "19 61 00",
                                            "19 00 02",
                                            "19 00 03",
                                            "25 61 00 03",
                                            "2d 00",
                                            "32",
                                            "32 05",
                                            "32 02",
                                            "35 000000",
                                            "35 00000001 00",
                                            "35 ffffffff",
                                            "37",
                                            "37 05",
                                            "37 19 00 01",
                                            "37 1e 00 01 05 01",
                                            "37 19 00 01 05"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_bytes bytes = make_hex(malformed[i]);
        CHECK_NOTE(larder__order_skip(bytes, 0) == 0, "skipped: %s", malformed[i]);
        uint8_t flipped[64];
        for (size_t k = 0; k < bytes.size_bytes; k++)
            flipped[k] = (uint8_t) ~((const uint8_t *)bytes.data)[k];
        CHECK_NOTE(larder__order_skip(make_copy(larder__bytes(flipped, bytes.size_bytes)), 1) == 0,
                   "skipped descending: %s", malformed[i]);
    }
    CHECK_EQ(larder__order_skip(nothing, 0), 0);
    uint8_t deep[100000];
    memset(deep, 0x32, sizeof deep);
    CHECK_EQ(larder__order_skip(larder__bytes(deep, sizeof deep), 0), 0);
}

/* Every truncation and change of real ones: never beyond the end. */
static void damaged_order_bytes_never_crash(void) {
    for (int round = 0; round < 200; round++) {
        int32_t direction = (int32_t)test_random_below(2);
        larder_bytes bytes = make_order(model_encode(model_random(3)), direction);
        for (size_t size = 0; size < bytes.size_bytes; size++)
            CHECK_EQ(larder__order_skip(make_copy(larder__bytes(bytes.data, size)), direction), 0);
        uint8_t *copy = malloc(bytes.size_bytes);
        memcpy(copy, bytes.data, bytes.size_bytes);
        for (size_t at = 0; at < bytes.size_bytes; at++) {
            copy[at] ^= (uint8_t)(1 + test_random_below(255));
            CHECK(larder__order_skip(larder__bytes(copy, bytes.size_bytes), direction) <=
                  bytes.size_bytes);
            copy[at] = ((const uint8_t *)bytes.data)[at];
        }
        free(copy);
        make_release();
    }
}

static const test_case cases[] = {
    {"golden order bytes", golden_order_bytes},
    {"random order bytes follow the comparison", random_order_bytes_follow_the_comparison},
    {"encodings follow each other without separators",
     encodings_follow_each_other_without_separators},
    {"a type has a range", a_type_has_a_range},
    {"bad arguments are refused", bad_arguments_are_refused},
    {"a buffer too small is left alone", a_buffer_too_small_is_left_alone},
    {"append keeps what is there", append_keeps_what_is_there},
    {"skip refuses what is no encoding", skip_refuses_what_is_no_encoding},
    {"damaged order bytes never crash", damaged_order_bytes_never_crash},
};
TEST_SUITE(order, cases);

/*
 * value_test.c - encoded values: golden bytes, accessors, sizes, validation.
 */
#include "exercise.h"
#include "make.h"
#include "record/record.h"
#include "test.h"

#include <math.h>

/* ---- format ---- */

/* The bytes of the format: a change here breaks every store. */
static void golden_bytes(void) {
    CHECK_BYTES(make_null(), make_hex("00"));
    CHECK_BYTES(make_boolean(false), make_hex("01"));
    CHECK_BYTES(make_boolean(true), make_hex("02"));
    CHECK_BYTES(make_integer(0), make_hex("10"));
    CHECK_BYTES(make_integer(1), make_hex("11 01"));
    CHECK_BYTES(make_integer(-1), make_hex("11 ff"));
    CHECK_BYTES(make_integer(127), make_hex("11 7f"));
    CHECK_BYTES(make_integer(128), make_hex("12 8000"));
    CHECK_BYTES(make_integer(-128), make_hex("11 80"));
    CHECK_BYTES(make_integer(-129), make_hex("12 7fff"));
    CHECK_BYTES(make_integer(65536), make_hex("13 000001"));
    CHECK_BYTES(make_integer(INT64_MIN), make_hex("18 0000000000000080"));
    CHECK_BYTES(make_integer(INT64_MAX), make_hex("18 ffffffffffffff7f"));
    CHECK_BYTES(make_double(1.0), make_hex("20 000000000000f03f"));
    CHECK_BYTES(make_double(-0.0), make_hex("20 0000000000000080"));
    CHECK_BYTES(make_double(NAN), make_hex("20 000000000000f87f"));
    CHECK_BYTES(make_double(-NAN), make_hex("20 000000000000f87f"));
    CHECK_BYTES(make_timestamp(0, 0), make_hex("21 0e7791f700 00000000"));
    CHECK_BYTES(make_timestamp(-62135596800, 1), make_hex("21 0000000000 00000001"));
    CHECK_BYTES(make_timestamp(253402300799, 999999999), make_hex("21 497786387f 3b9ac9ff"));
    CHECK_BYTES(make_pending(1, 2, (larder_bytes){NULL, 0}), make_hex("22 0e7791f701 00000002"));
    CHECK_BYTES(make_pending(1, 2, make_integer(5)), make_hex("22 0e7791f701 00000002 1105"));
    CHECK_BYTES(make_string("caf\xc3\xa9"), make_hex("30 636166c3a9"));
    CHECK_BYTES(make_string(""), make_hex("30"));
    CHECK_BYTES(make_bytes(TEST_BYTES("\0\xff")), make_hex("31 00ff"));
    CHECK_BYTES(make_reference("projects/p"), make_hex("32 70726f6a656374732f70"));
    CHECK_BYTES(make_geo_point(1, -2), make_hex("33 000000000000f03f 00000000000000c0"));
    CHECK_BYTES(make_array(0), make_hex("40 00"));
    CHECK_BYTES(make_array(2, make_integer(1), make_null()), make_hex("40 02 01 02 03 1101 00"));
    double components[] = {1.0, NAN};
    CHECK_BYTES(make_vector(components, 2), make_hex("41 000000000000f03f 000000000000f87f"));
    CHECK_BYTES(make_map(0), make_hex("42 00"));
    CHECK_BYTES(make_map(2, "b", make_null(), "a", make_boolean(true)),
                make_hex("42 02 01 03 06 016102 016200"));
    CHECK_BYTES(make_max(), make_hex("7f"));
}

/* Ends take 1 byte up to 255, 2 up to 65,535, then 4. */
static void ends_have_the_smallest_width(void) {
    static const struct {
        size_t text_bytes;
        uint8_t width;
    } sizes[] = {{253, 1}, {254, 2}, {255, 2}, {65533, 2}, {65534, 4}, {100000, 4}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = malloc(sizes[i].text_bytes + 1);
        memset(text, 'x', sizes[i].text_bytes);
        text[sizes[i].text_bytes] = 0;
        larder_bytes array = make_array(2, make_string(text), make_null());
        free(text);
        CHECK_EQ(((const uint8_t *)array.data)[2], sizes[i].width);
        CHECK_EQ(array.size_bytes, 3u + 2u * sizes[i].width + sizes[i].text_bytes + 2);
        CHECK_OK(larder_value_validate(array, 1, &test_error));
        larder_bytes last;
        CHECK_OK(larder_value_get_element(array, 1, &last));
        CHECK_BYTES(last, make_null());
    }
}

static void times_keep_their_range_and_order(void) {
    larder_time first = {-62135596800, 0, 0}, last = {253402300799, 999999999, 0};
    CHECK(larder__time_is_valid(first) && larder__time_is_valid(last));
    larder_time wrong[] = {{-62135596801, 0, 0}, {253402300800, 0, 0}, {0, -1, 0},
                           {0, 1000000000, 0},   {INT64_MIN, 0, 0},    {INT64_MAX, 0, 0}};
    for (size_t i = 0; i < 6; i++)
        CHECK(!larder__time_is_valid(wrong[i]));
    uint8_t before[LARDER__TIME_BYTES], bytes[LARDER__TIME_BYTES];
    larder_time previous = first, time;
    larder__time_put(before, first);
    for (int i = 0; i < 1000; i++) {
        time.seconds = first.seconds + (int64_t)test_random_below(315537897600);
        time.nanoseconds = (int32_t)test_random_below(1000000000);
        larder__time_put(bytes, time);
        larder_time back;
        CHECK(larder__time_get(bytes, &back));
        CHECK_EQ(larder__time_compare(back, time), 0);
        int order = memcmp(bytes, before, sizeof bytes);
        CHECK_EQ(order < 0 ? -1 : order > 0, larder__time_compare(time, previous));
        memcpy(before, bytes, sizeof bytes);
        previous = time;
    }
    CHECK(!larder__time_get(make_hex("497786387f 3b9aca00").data, &time));
    CHECK(!larder__time_get(make_hex("4977863880 00000000").data, &time));
}

/* ---- accessors ---- */

static void accessors_refuse_other_types(void) {
    double component = 1;
    larder_bytes values[] = {make_null(),           make_boolean(true),
                             make_integer(3),       make_double(2.5),
                             make_timestamp(1, 2),  make_pending(1, 2, make_null()),
                             make_string("s"),      make_bytes(test_text("b")),
                             make_reference("a/b"), make_geo_point(1, 2),
                             make_array(0),         make_vector(&component, 1),
                             make_map(0),           make_max()};
    for (int32_t type = 0; type <= LARDER_TYPE_MAX; type++) {
        larder_bytes value = values[type], bytes, name;
        int32_t boolean;
        int64_t integer;
        double number, second;
        larder_time time;
        size_t count;
        CHECK_EQ(larder_value_type(value), type);
#define EXPECT(call, condition) CHECK_STATUS(call, (condition) ? LARDER_OK : LARDER_E_WRONG_TYPE)
        EXPECT(larder_value_get_boolean(value, &boolean), type == LARDER_TYPE_BOOLEAN);
        EXPECT(larder_value_get_integer(value, &integer), type == LARDER_TYPE_INTEGER);
        EXPECT(larder_value_get_double(value, &number), type == LARDER_TYPE_DOUBLE);
        EXPECT(larder_value_get_timestamp(value, &time), type == LARDER_TYPE_TIMESTAMP);
        EXPECT(larder_value_get_server_timestamp(value, &time, &bytes),
               type == LARDER_TYPE_SERVER_TIMESTAMP);
        EXPECT(larder_value_get_bytes(value, &bytes),
               type >= LARDER_TYPE_STRING && type <= LARDER_TYPE_REFERENCE);
        EXPECT(larder_value_get_geo_point(value, &number, &second), type == LARDER_TYPE_GEO_POINT);
        EXPECT(larder_value_count(value, &count),
               type >= LARDER_TYPE_ARRAY && type <= LARDER_TYPE_MAP);
#undef EXPECT
#define EXPECT(call, condition)                                                                    \
    CHECK_STATUS(call, (condition) ? LARDER_NOT_FOUND : LARDER_E_WRONG_TYPE)
        EXPECT(larder_value_get_element(value, 1, &bytes), type == LARDER_TYPE_ARRAY);
        EXPECT(larder_value_get_component(value, 1, &number), type == LARDER_TYPE_VECTOR);
        EXPECT(larder_value_get_entry(value, 1, &name, &bytes), type == LARDER_TYPE_MAP);
        EXPECT(larder_value_find(value, test_text("x"), &bytes), type == LARDER_TYPE_MAP);
#undef EXPECT
    }
}

static void maps_are_found_by_name(void) {
    larder_bytes map =
        make_map(3, "b", make_integer(2), "aa", make_integer(1), "\xc3\xa9", make_integer(3));
    larder_bytes value, name;
    int64_t integer = 0;
    CHECK_OK(larder_value_find(map, test_text("\xc3\xa9"), &value));
    CHECK_OK(larder_value_get_integer(value, &integer));
    CHECK_EQ(integer, 3);
    CHECK_STATUS(larder_value_find(map, test_text("a"), &value), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_value_find(map, test_text(""), &value), LARDER_NOT_FOUND);
    CHECK_STATUS(larder_value_find(map, test_text("\xff"), &value), LARDER_NOT_FOUND);
    CHECK_OK(larder_value_get_entry(map, 0, &name, &value));
    CHECK_TEXT(name, "aa");
    CHECK_STATUS(larder_value_get_entry(map, 3, &name, &value), LARDER_NOT_FOUND);
}

static void a_pending_timestamp_keeps_only_a_settled_previous_value(void) {
    larder_bytes settled = make_string("before");
    larder_bytes inner = make_pending(1, 0, settled);
    larder_bytes outer = make_pending(2, 0, inner);
    larder_time time;
    larder_bytes previous;
    CHECK_OK(larder_value_get_server_timestamp(outer, &time, &previous));
    CHECK_EQ(time.seconds, 2);
    CHECK_BYTES(previous, settled);
    CHECK_BYTES(make_pending(2, 0, make_pending(1, 0, (larder_bytes){NULL, 0})),
                make_pending(2, 0, (larder_bytes){NULL, 0}));
}

/* ---- sizes ---- */

static void sizes_follow_the_published_rules(void) {
    CHECK_EQ(larder_value_size(make_null()), 1);
    CHECK_EQ(larder_value_size(make_boolean(true)), 1);
    CHECK_EQ(larder_value_size(make_integer(0)), 8);
    CHECK_EQ(larder_value_size(make_integer(INT64_MAX)), 8);
    CHECK_EQ(larder_value_size(make_double(0.5)), 8);
    CHECK_EQ(larder_value_size(make_timestamp(0, 0)), 8);
    CHECK_EQ(larder_value_size(make_pending(0, 0, make_string("a long previous value"))), 8);
    CHECK_EQ(larder_value_size(make_string("caf\xc3\xa9")), 6);
    CHECK_EQ(larder_value_size(make_bytes(TEST_BYTES("abc"))), 3);
    CHECK_EQ(larder_value_size(make_reference("projects/p")), 11);
    CHECK_EQ(larder_value_size(make_geo_point(0, 0)), 16);
    CHECK_EQ(larder_value_size(make_array(2, make_null(), make_string("a"))), 3);
    CHECK_EQ(larder_value_size(make_vector((double[]){1, 2}, 2)), 16);
    CHECK_EQ(larder_value_size(make_map(1, "name", make_map(1, "a", make_integer(1)))), 15);
    CHECK_EQ(larder_value_size(make_hex("99")), LARDER_E_INVALID_RECORD);
    CHECK_EQ(larder_value_size(make_hex("40 01 01 05 00")), LARDER_E_INVALID_RECORD);
}

/* ---- validation ---- */

static void only_the_canonical_form_is_valid(void) {
    static const char *const malformed[] = {
        "",                                              /* nothing */
        "03",                                            /* no such tag */
        "19",                                            /* no such tag */
        "50 30 00",                                      /* cold, which is for stored rows */
        "00 00",                                         /* null with a payload */
        "11",                                            /* integer cut off */
        "11 00",                                         /* 0 has no payload */
        "12 0100",                                       /* 1 takes one byte */
        "12 80ff",                                       /* -128 takes one byte */
        "18 ffffff7f00000000",                           /* 4 bytes would do */
        "20 0000",                                       /* double cut off */
        "20 010000000000f87f",                           /* another NaN */
        "20 000000000000f8ff",                           /* another NaN */
        "21 0000000000 3b9aca00",                        /* 1,000,000,000 ns */
        "21 4977863880 00000000",                        /* year 10000 */
        "21 00000000",                                   /* cut off */
        "22 0e7791f7",                                   /* cut off */
        "22 0e7791f701 00000002 22 0e7791f701 00000002", /* a pending previous value */
        "22 0e7791f701 00000002 99",                     /* previous value malformed */
        "30 ff",                                         /* not UTF-8 */
        "32 c3",                                         /* not UTF-8 */
        "33 000000000000f03f",                           /* cut off */
        "33 0000000000e05640 0000000000000000",          /* latitude 91.5 */
        "33 000000000000f87f 0000000000000000",          /* NaN */
        "40",                                            /* no count */
        "40 00 00",                                      /* bytes behind an empty array */
        "40 80 00",                                      /* count is not the shortest */
        "40 01",                                         /* no width */
        "40 01 03 01 00",                                /* no such width */
        "40 01 02 0100 00",                              /* a wider end than needed */
        "40 01 01 00",                                   /* an empty element */
        "40 01 01 02 00",                                /* beyond the end */
        "40 01 01 01 0000",                              /* bytes behind the last element */
        "40 02 01 02 01 00 00",                          /* ends fall */
        "41 00",                                         /* vector cut off */
        "41 010000000000f87f",                           /* another NaN */
        "42 01 01 02 0000",                              /* empty name */
        "42 01 01 02 0161",                              /* no value */
        "42 01 01 03 05 61 00",                          /* name beyond the entry */
        "42 01 01 04 8100 61 00",                        /* length is not the shortest */
        "42 01 01 03 01 ff 00",                          /* name is not UTF-8 */
        "42 02 01 03 06 016200 016100",                  /* names out of order */
        "42 02 01 03 06 016100 016100",                  /* the same name twice */
    };
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_error error = {0};
        larder_bytes value = make_hex(malformed[i]);
        CHECK_NOTE(larder_value_validate(value, 20, &error) == LARDER_E_INVALID_RECORD,
                   "accepted: %s", malformed[i]);
        CHECK_NOTE(error.status == LARDER_E_INVALID_RECORD && error.message[0], "no message: %s",
                   malformed[i]);
        exercise_value(value);
    }
    CHECK_OK(larder_value_validate(make_max(), 20, &test_error));
}

static larder_bytes nest(int depth) {
    larder_bytes value = make_null();
    for (int i = 0; i < depth; i++)
        value = i % 2 ? make_map(1, "a", value) : make_array(1, value);
    return value;
}

static void depth_counts_arrays_and_maps(void) {
    CHECK_OK(larder_value_validate(make_string("a"), 0, &test_error));
    CHECK_OK(larder_value_validate(make_vector((double[]){1}, 1), 0, &test_error));
    CHECK_STATUS(larder_value_validate(make_array(0), 0, &test_error), LARDER_E_TOO_DEEP);
    for (int depth = 1; depth < 30; depth++) {
        CHECK_OK(larder_value_validate(nest(depth), (uint32_t)depth, &test_error));
        CHECK_STATUS(larder_value_validate(nest(depth), (uint32_t)depth - 1, &test_error),
                     LARDER_E_TOO_DEEP);
        make_release();
    }
    /* a previous value counts at the depth of its timestamp */
    larder_bytes pending = make_pending(1, 1, nest(5));
    CHECK_OK(larder_value_validate(pending, 5, &test_error));
    CHECK_STATUS(larder_value_validate(pending, 4, &test_error), LARDER_E_TOO_DEEP);
}

/* Unchecked bytes may be nested without end. */
static void very_deep_bytes_end_in_a_status(void) {
    enum { DEPTH = 20000 };
    uint8_t *bytes = malloc(DEPTH * 7 + 1);
    size_t at = DEPTH * 7 + 1;
    bytes[--at] = 0x00;
    for (int i = 0; i < DEPTH; i++) {
        uint32_t size = (uint32_t)(DEPTH * 7 + 1 - at);
        at -= 4;
        memcpy(bytes + at, &size, 4);
        bytes[--at] = 4;
        bytes[--at] = 1;
        bytes[--at] = 0x40;
    }
    larder_bytes value = make_copy((larder_bytes){bytes, DEPTH * 7 + 1});
    larder_bytes other = make_copy((larder_bytes){bytes, DEPTH * 7 + 1});
    free(bytes);
    CHECK_STATUS(larder_value_validate(value, UINT32_MAX, &test_error), LARDER_E_TOO_DEEP);
    CHECK_EQ(larder_value_compare(value, other), 0);
    CHECK_EQ(larder_value_equal(value, other), 1);
    CHECK_EQ(larder_value_size(value), LARDER_E_INVALID_RECORD);
    size_t needed;
    CHECK_STATUS(larder_order_encode(value, LARDER_ORDER_ASCENDING, NULL, 0, &needed, &test_error),
                 LARDER_E_TOO_DEEP);
}

static void malformed_values_sort_first_and_together(void) {
    larder_bytes malformed[] = {{NULL, 0},      make_hex("99"),    make_hex("20 00"),
                                make_hex("40"), make_hex("12 01"), make_hex("50 30 00")};
    for (size_t i = 0; i < 6; i++) {
        CHECK(larder_value_compare(malformed[i], make_null()) < 0);
        CHECK(larder_value_compare(make_null(), malformed[i]) > 0);
        for (size_t k = 0; k < 6; k++)
            CHECK_EQ(larder_value_compare(malformed[i], malformed[k]), 0);
        CHECK(larder_value_type(malformed[i]) == LARDER_E_INVALID_RECORD || i == 2 || i == 3 ||
              i == 4);
        size_t needed;
        CHECK_STATUS(larder_order_encode(malformed[i], 0, NULL, 0, &needed, &test_error),
                     LARDER_E_INVALID_RECORD);
    }
}

/* Every truncation and every single-byte change of well-formed values, unchecked. */
static void damaged_values_never_crash(void) {
    larder_bytes values[] = {
        make_map(4, "a", make_array(3, make_integer(300), make_string("text"), make_null()), "b",
                 make_pending(5, 6, make_map(1, "x", make_double(1.5))), "c",
                 make_vector((double[]){1, 2}, 2), "reference", make_reference("a/b/c")),
        make_array(3, make_geo_point(1, 2), make_bytes(TEST_BYTES("\0\1")), make_timestamp(9, 9)),
        make_integer(INT64_MIN)};
    for (size_t i = 0; i < 3; i++) {
        for (size_t size = 0; size < values[i].size_bytes; size++) {
            larder_bytes cut = make_copy((larder_bytes){values[i].data, size});
            CHECK(size > 0 || larder_value_validate(cut, 20, NULL) < 0);
            exercise_value(cut);
        }
        uint8_t *bytes = malloc(values[i].size_bytes);
        memcpy(bytes, values[i].data, values[i].size_bytes);
        for (size_t at = 0; at < values[i].size_bytes; at++) {
            uint8_t original = bytes[at];
            for (int change = 1; change < 256; change++) {
                bytes[at] = (uint8_t)(original ^ change);
                larder_bytes damaged = {bytes, values[i].size_bytes};
                exercise_value(damaged);
                exercise_pair(damaged, values[i]);
            }
            bytes[at] = original;
        }
        free(bytes);
        CHECK_OK(larder_value_validate(values[i], 20, &test_error));
    }
}

static const test_case cases[] = {
    {"golden bytes of the format", golden_bytes},
    {"ends have the smallest width", ends_have_the_smallest_width},
    {"times keep their range and order", times_keep_their_range_and_order},
    {"accessors refuse other types", accessors_refuse_other_types},
    {"maps are found by name", maps_are_found_by_name},
    {"a pending timestamp keeps only a settled previous value",
     a_pending_timestamp_keeps_only_a_settled_previous_value},
    {"sizes follow the published rules", sizes_follow_the_published_rules},
    {"only the canonical form is valid", only_the_canonical_form_is_valid},
    {"depth counts arrays and maps", depth_counts_arrays_and_maps},
    {"very deep bytes end in a status", very_deep_bytes_end_in_a_status},
    {"malformed values sort first and together", malformed_values_sort_first_and_together},
    {"damaged values never crash", damaged_values_never_crash},
};
TEST_SUITE(value, cases);

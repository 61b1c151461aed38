/*
 * value_test.c - encoded values: golden bytes, accessors, order, equality, sizes, validation.
 */
#include "exercise.h"
#include "make.h"
#include "model.h"
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

/* ---- order ---- */

static int sign(int32_t order) { return order < 0 ? -1 : order > 0; }

/* Groups in ascending order, the values in a group comparing equal. Ends with an empty value;
 * groups are divided by the value NEXT. */
#define NEXT ((larder_bytes){NULL, 1})
#define END ((larder_bytes){NULL, 0})

static void check_order(const char *what, const larder_bytes *values) {
    int group = 0;
    for (size_t i = 0; values[i].size_bytes > 0; i++) {
        if (!values[i].data) {
            group++;
            continue;
        }
        int other_group = 0;
        for (size_t k = 0; values[k].size_bytes > 0; k++) {
            if (!values[k].data) {
                other_group++;
                continue;
            }
            int expected = sign(group - other_group);
            CHECK_NOTE(sign(larder_value_compare(values[i], values[k])) == expected,
                       "%s: values %zu and %zu", what, i, k);
            for (int32_t direction = 0; direction < 2; direction++) {
                larder_bytes a = make_order(values[i], direction);
                larder_bytes b = make_order(values[k], direction);
                CHECK_NOTE(larder__bytes_compare(a, b) == (direction ? -expected : expected),
                           "%s: order bytes of %zu and %zu", what, i, k);
            }
        }
    }
}

static void types_are_ranked(void) {
    const larder_bytes values[] = {make_null(),
                                   NEXT,
                                   make_boolean(false),
                                   NEXT,
                                   make_boolean(true),
                                   NEXT,
                                   make_double(NAN),
                                   NEXT,
                                   make_double(-INFINITY),
                                   NEXT,
                                   make_integer(INT64_MAX),
                                   NEXT,
                                   make_double(INFINITY),
                                   NEXT,
                                   make_timestamp(-62135596800, 0),
                                   NEXT,
                                   make_timestamp(253402300799, 999999999),
                                   NEXT,
                                   make_pending(-62135596800, 0, make_null()),
                                   NEXT,
                                   make_pending(253402300799, 999999999, END),
                                   NEXT,
                                   make_string(""),
                                   NEXT,
                                   make_string("\xf4\x8f\xbf\xbf"),
                                   NEXT,
                                   make_bytes(END),
                                   NEXT,
                                   make_bytes(TEST_BYTES("\xff\xff\xff")),
                                   NEXT,
                                   make_reference("projects//databases//documents/"),
                                   NEXT,
                                   make_reference("\xf4\x8f\xbf\xbf"),
                                   NEXT,
                                   make_geo_point(-90, -180),
                                   NEXT,
                                   make_geo_point(90, 180),
                                   NEXT,
                                   make_array(0),
                                   NEXT,
                                   make_array(1, make_map(0)),
                                   NEXT,
                                   make_vector(NULL, 0),
                                   NEXT,
                                   make_vector((double[]){INFINITY}, 1),
                                   NEXT,
                                   make_map(0),
                                   NEXT,
                                   make_map(1, "\xf4\x8f\xbf\xbf", make_map(0)),
                                   NEXT,
                                   make_max(),
                                   END};
    check_order("types", values);
}

static void numbers_are_ordered_exactly(void) {
    const larder_bytes values[] = {make_double(NAN),
                                   make_double(-NAN),
                                   NEXT,
                                   make_double(-INFINITY),
                                   NEXT,
                                   make_double(-0x1.0000000000001p63),
                                   NEXT,
                                   make_integer(INT64_MIN),
                                   make_double(-0x1p63),
                                   NEXT,
                                   make_integer(INT64_MIN + 1),
                                   NEXT,
                                   make_integer(-9007199254740993),
                                   NEXT,
                                   make_integer(-9007199254740992),
                                   make_double(-0x1p53),
                                   NEXT,
                                   make_integer(-9007199254740991),
                                   make_double(-9007199254740991.0),
                                   NEXT,
                                   make_double(-1.5),
                                   NEXT,
                                   make_integer(-1),
                                   make_double(-1.0),
                                   NEXT,
                                   make_double(-5e-324),
                                   NEXT,
                                   make_integer(0),
                                   make_double(0.0),
                                   make_double(-0.0),
                                   NEXT,
                                   make_double(5e-324),
                                   NEXT,
                                   make_double(0.5),
                                   NEXT,
                                   make_integer(1),
                                   make_double(1.0),
                                   NEXT,
                                   make_double(1.1),
                                   NEXT,
                                   make_integer(9007199254740991),
                                   make_double(9007199254740991.0),
                                   NEXT,
                                   make_integer(9007199254740992),
                                   make_double(0x1p53),
                                   NEXT,
                                   make_integer(9007199254740993),
                                   NEXT,
                                   make_integer(9007199254740994),
                                   make_double(9007199254740994.0),
                                   NEXT,
                                   make_integer(INT64_MAX - 1024),
                                   NEXT,
                                   make_integer(INT64_MAX - 1023),
                                   make_double(0x1p63 - 1024),
                                   NEXT,
                                   make_integer(INT64_MAX - 1022),
                                   NEXT,
                                   make_integer(INT64_MAX),
                                   NEXT,
                                   make_double(0x1p63),
                                   NEXT,
                                   make_double(INFINITY),
                                   END};
    check_order("numbers", values);
}

static void times_strings_and_bytes_are_ordered(void) {
    const larder_bytes times[] = {make_timestamp(-1, 999999999),
                                  NEXT,
                                  make_timestamp(0, 0),
                                  NEXT,
                                  make_timestamp(0, 1),
                                  NEXT,
                                  make_timestamp(1, 0),
                                  NEXT,
                                  make_pending(-5, 0, make_integer(9)),
                                  make_pending(-5, 0, END),
                                  NEXT,
                                  make_pending(-5, 1, make_null()),
                                  END};
    check_order("timestamps", times);
    /* U+FFFF is above surrogates in UTF-16, but below U+10000 in UTF-8 */
    const larder_bytes strings[] = {make_string(""),
                                    NEXT,
                                    make_string_of(TEST_BYTES("\0")),
                                    NEXT,
                                    make_string_of(TEST_BYTES("\0\0")),
                                    NEXT,
                                    make_string_of(TEST_BYTES("\0a")),
                                    NEXT,
                                    make_string("\x01"),
                                    NEXT,
                                    make_string("A"),
                                    NEXT,
                                    make_string("a"),
                                    NEXT,
                                    make_string_of(TEST_BYTES("a\0")),
                                    NEXT,
                                    make_string_of(TEST_BYTES("a\0b")),
                                    NEXT,
                                    make_string("a\x01"),
                                    NEXT,
                                    make_string("ab"),
                                    NEXT,
                                    make_string("b"),
                                    NEXT,
                                    make_string("\xc3\xa9"),
                                    NEXT,
                                    make_string("\xef\xbf\xbf"),
                                    NEXT,
                                    make_string("\xf0\x90\x80\x80"),
                                    END};
    check_order("strings", strings);
    const larder_bytes bytes[] = {make_bytes(END),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\0")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\0\1")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\0\xff")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\1")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\xff")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\xff\0")),
                                  NEXT,
                                  make_bytes(TEST_BYTES("\xff\xff")),
                                  END};
    check_order("bytes", bytes);
}

static void references_are_ordered_by_segments(void) {
    const larder_bytes values[] = {
        make_reference(""), make_reference("/"), make_reference("//"), NEXT, make_reference("a"),
        make_reference("/a/"), NEXT, make_reference("a/b"), make_reference("a//b"), NEXT,
        make_reference("a/b/c"), NEXT, make_reference("a/c"), NEXT,
        /* byte-wise, "a-b" and "a.b" would come before "a/b" */
        make_reference("a\x01/a"), NEXT, make_reference("a-"), NEXT, make_reference("a-/b"), NEXT,
        make_reference("a.b/c"), NEXT, make_reference("aa"), NEXT, make_reference("c/__id10__"),
        NEXT, /* no rule for numeric ids here */
        make_reference("c/__id9__"), END};
    check_order("references", values);
}

static void containers_are_ordered_by_content(void) {
    larder_bytes one = make_integer(1), two = make_integer(2);
    const larder_bytes geo[] = {make_geo_point(-1, 5),
                                NEXT,
                                make_geo_point(0, -1),
                                NEXT,
                                make_geo_point(0.0, 0.0),
                                make_geo_point(-0.0, -0.0),
                                NEXT,
                                make_geo_point(0, 1),
                                NEXT,
                                make_geo_point(1, -5),
                                END};
    check_order("geo points", geo);
    const larder_bytes arrays[] = {make_array(0),
                                   NEXT,
                                   make_array(1, make_null()),
                                   NEXT,
                                   make_array(2, make_null(), one),
                                   NEXT,
                                   make_array(1, one),
                                   make_array(1, make_double(1.0)),
                                   NEXT,
                                   make_array(2, one, one),
                                   NEXT,
                                   make_array(2, one, two),
                                   NEXT,
                                   make_array(1, two),
                                   NEXT,
                                   make_array(1, make_string("1")),
                                   NEXT,
                                   make_array(1, make_array(0)),
                                   NEXT,
                                   make_array(1, make_array(1, one)),
                                   END};
    check_order("arrays", arrays);
    const double v[] = {1, 2, -5, NAN, -0.0, 0.0};
    const larder_bytes vectors[] = {make_vector(v, 0),
                                    NEXT,
                                    make_vector(v + 3, 1),
                                    NEXT,
                                    make_vector(v + 2, 1),
                                    NEXT,
                                    make_vector(v + 4, 1),
                                    make_vector(v + 5, 1),
                                    NEXT,
                                    make_vector(v, 1),
                                    NEXT,
                                    make_vector(v + 1, 1),
                                    NEXT,
                                    make_vector(v + 2, 2),
                                    NEXT,
                                    make_vector(v, 2),
                                    END};
    check_order("vectors", vectors);
    const larder_bytes maps[] = {make_map(0),
                                 NEXT,
                                 make_map(1, "a", one),
                                 make_map(1, "a", make_double(1)),
                                 NEXT,
                                 make_map(2, "a", one, "b", one),
                                 NEXT,
                                 make_map(2, "a", one, "b", two),
                                 NEXT,
                                 make_map(1, "a", two),
                                 NEXT,
                                 make_map(1, "aa", one),
                                 NEXT,
                                 make_map(1, "b", make_null()),
                                 NEXT,
                                 make_map(1, "b", one),
                                 END};
    check_order("maps", maps);
}

/* ---- equality ---- */

/* Values of one group are equal, those of different groups are not. */
static void equality_is_strict_and_recursive(void) {
    larder_bytes one = make_integer(1), one_point = make_double(1.0);
    const double zero = 0.0, minus = -0.0, nan = NAN;
    const larder_bytes values[] = {
        make_null(), NEXT, make_boolean(false), NEXT, make_boolean(true), NEXT, one, NEXT,
        one_point, NEXT, make_double(0.0), NEXT, make_double(-0.0), NEXT, make_integer(0), NEXT,
        make_double(NAN), make_double(-NAN), NEXT, make_timestamp(1, 1), NEXT, make_timestamp(1, 2),
        NEXT,
        /* the previous value is ignored */
        make_pending(1, 1, END), make_pending(1, 1, one), make_pending(1, 1, one_point), NEXT,
        make_pending(1, 2, END), NEXT, make_string("a"), NEXT, make_string("A"), NEXT,
        make_bytes(test_text("a")), NEXT, make_bytes(END), NEXT, make_string(""), NEXT,
        make_reference("a/b"), NEXT, make_geo_point(0.0, 1), make_geo_point(-0.0, 1), NEXT,
        make_geo_point(1, 0), NEXT, make_array(0), NEXT, make_array(1, one), NEXT,
        make_array(1, one_point), NEXT, make_array(2, one, one), NEXT, make_map(0), NEXT,
        make_map(1, "a", one), NEXT,
        /* also inside of maps, where the iOS SDK is loose */
        make_map(1, "a", one_point), NEXT, make_map(1, "b", one), NEXT,
        make_map(1, "a", make_double(0.0)), NEXT, make_map(1, "a", make_double(-0.0)), NEXT,
        make_map(1, "a", make_array(1, make_pending(1, 1, one))),
        make_map(1, "a", make_array(1, make_pending(1, 1, END))), NEXT, make_vector(NULL, 0), NEXT,
        make_vector(&zero, 1), NEXT, make_vector(&minus, 1), NEXT, make_vector(&nan, 1), NEXT,
        make_max(), END};
    int group = 0;
    for (size_t i = 0; values[i].size_bytes > 0; i++) {
        if (!values[i].data) {
            group++;
            continue;
        }
        int other = 0;
        for (size_t k = 0; values[k].size_bytes > 0; k++) {
            if (!values[k].data)
                other++;
            else
                CHECK_NOTE(larder_value_equal(values[i], values[k]) == (group == other),
                           "1.4: values %zu and %zu", i, k);
        }
    }
}

/* ---- against the model ---- */

static void random_values_follow_the_model(void) {
    for (int round = 0; round < 4000; round++) {
        const model *a = model_random(3);
        const model *b = model_vary(a, 3);
        larder_bytes x = model_encode(a), y = model_encode(b);
        CHECK_OK(larder_value_validate(x, 20, &test_error));
        CHECK_OK(larder_value_validate(y, 20, &test_error));
        int expected = model_compare(a, b);
        CHECK_EQ(sign(larder_value_compare(x, y)), expected);
        CHECK_EQ(sign(larder_value_compare(y, x)), -expected);
        CHECK_EQ(larder_value_equal(x, y), model_equal(a, b));
        CHECK_EQ(larder_value_equal(y, x), model_equal(a, b));
        CHECK_EQ(larder_value_compare(x, x), 0);
        CHECK_EQ(larder_value_equal(x, x), 1);
        CHECK_EQ(larder_value_size(x), model_size(a));
        const model *back = model_decode(x);
        CHECK(back && model_same(a, back));
        CHECK_EQ(model_same(a, b), larder__bytes_equal(x, y)); /* the form is canonical */
        make_release();
    }
}

static void random_values_sort_transitively(void) {
    enum { COUNT = 60 };
    for (int round = 0; round < 10; round++) {
        larder_bytes values[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = model_encode(model_random(2));
            size_t at = i; /* insertion sort */
            larder_bytes held = values[i];
            while (at > 0 && larder_value_compare(held, values[at - 1]) < 0) {
                values[at] = values[at - 1];
                at--;
            }
            values[at] = held;
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = i + 1; k < COUNT; k++)
                CHECK(larder_value_compare(values[i], values[k]) <= 0);
        make_release();
    }
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
    larder_bytes malformed[] = {END,
                                make_hex("99"),
                                make_hex("20 00"),
                                make_hex("40"),
                                make_hex("12 01"),
                                make_hex("50 30 00")};
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
    {"types are ranked", types_are_ranked},
    {"numbers are ordered exactly", numbers_are_ordered_exactly},
    {"times, strings and bytes are ordered", times_strings_and_bytes_are_ordered},
    {"references are ordered by segments", references_are_ordered_by_segments},
    {"containers are ordered by content", containers_are_ordered_by_content},
    {"equality is strict and recursive", equality_is_strict_and_recursive},
    {"random values follow the model", random_values_follow_the_model},
    {"random values sort transitively", random_values_sort_transitively},
    {"sizes follow the published rules", sizes_follow_the_published_rules},
    {"only the canonical form is valid", only_the_canonical_form_is_valid},
    {"depth counts arrays and maps", depth_counts_arrays_and_maps},
    {"very deep bytes end in a status", very_deep_bytes_end_in_a_status},
    {"malformed values sort first and together", malformed_values_sort_first_and_together},
    {"damaged values never crash", damaged_values_never_crash},
};
TEST_SUITE(value, cases);

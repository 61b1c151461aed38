/*
 * compare_test.c - encoded values: their order, in memory and as order bytes, and their equality.
 */
#include "make.h"
#include "model.h"
#include "record/record.h"
#include "test.h"

#include <math.h>

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
        make_reference("a.b/c"), NEXT, make_reference("aa"), NEXT,
        make_reference("c/__id-9223372036854775808__"), NEXT, make_reference("c/__id-1__"), NEXT,
        make_reference("c/__id9__"), NEXT, make_reference("c/__id9__/__id1__"), NEXT,
        make_reference("c/__id9__/a"), NEXT, make_reference("c//__id09__"), NEXT,
        make_reference("c/__id10__"), NEXT, make_reference("c/__id9223372036854775807__"), NEXT,
        make_reference("c/0"), NEXT, make_reference("c/__id9223372036854775808__"), NEXT,
        make_reference("c/__id_"), NEXT, make_reference("c/a"), END};
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

static const test_case cases[] = {
    {"types are ranked", types_are_ranked},
    {"numbers are ordered exactly", numbers_are_ordered_exactly},
    {"times, strings and bytes are ordered", times_strings_and_bytes_are_ordered},
    {"references are ordered by segments", references_are_ordered_by_segments},
    {"containers are ordered by content", containers_are_ordered_by_content},
    {"equality is strict and recursive", equality_is_strict_and_recursive},
    {"random values follow the model", random_values_follow_the_model},
    {"random values sort transitively", random_values_sort_transitively},
};
TEST_SUITE(compare, cases);

/* builder_test.c - the builder: what it makes, what it refuses, and that a refusal leaves it
 * usable. */
#include "make.h"
#include "model.h"
#include "record/builder_parts.h"
#include "test.h"

#include <math.h>

static const larder_bytes nothing = {NULL, 0};

static larder_builder *new_builder(void) {
    larder_builder *builder = NULL;
    if (larder_builder_create(NULL, &builder, &test_error) != LARDER_OK) abort();
    return builder;
}

static void maps_come_out_sorted(void) {
    larder_bytes one = make_integer(1), two = make_integer(2), three = make_integer(3);
    CHECK_BYTES(make_record(3, "b", two, "c", three, "a", one),
                make_record(3, "a", one, "b", two, "c", three));
    CHECK_BYTES(make_map(2, "x", make_map(2, "b", two, "a", one), "aa", three),
                make_map(2, "aa", three, "x", make_map(2, "a", one, "b", two)));
}

/* Names that begin alike for more than the 8 bytes that are compared at once, and many. */
static void many_names_are_sorted(void) {
    static const size_t counts[] = {2, 23, 24, 25, 100, 1000};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        larder_builder *builder = new_builder();
        CHECK_OK(larder_builder_begin_map(builder, &test_error));
        size_t count = counts[c], step = 7919; /* a prime: each name once, in disorder */
        for (size_t i = 0; i < count; i++) {
            char name[64];
            size_t number = (i * step + 3) % count;
            snprintf(name, sizeof name, number % 3 ? "n%zu" : "the same beginning %zu", number);
            CHECK_OK(larder_builder_name(builder, test_text(name), &test_error));
            CHECK_OK(larder_builder_integer(builder, (int64_t)number, &test_error));
        }
        CHECK_OK(larder_builder_end_map(builder, &test_error));
        larder_bytes plain;
        CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
        larder_record record;
        CHECK_OK(larder_record_open(plain, 0, 0, &record, &test_error));
        CHECK_EQ(larder_record_count(&record), count);
        for (size_t i = 0; i < count; i++) {
            larder_bytes name, value;
            char expected[64];
            int64_t number = -1;
            CHECK_OK(larder_record_get_entry(&record, i, &name, &value, NULL));
            CHECK_OK(larder_value_get_integer(value, &number));
            snprintf(expected, sizeof expected, number % 3 ? "n%d" : "the same beginning %d",
                     (int)number);
            CHECK_TEXT(name, expected);
        }
        larder_builder_close(builder);
    }
}

static void a_name_twice_is_refused_and_the_map_stays_open(void) {
    for (size_t count = 2; count < 60; count += 19) {
        larder_builder *builder = new_builder();
        CHECK_OK(larder_builder_begin_array(builder, &test_error));
        CHECK_OK(larder_builder_begin_map(builder, &test_error));
        for (size_t i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "n%zu", i == count - 1 ? (size_t)0 : count - i - 2);
            CHECK_OK(larder_builder_name(builder, test_text(name), &test_error));
            CHECK_OK(larder_builder_null(builder, &test_error));
        }
        CHECK_STATUS(larder_builder_end_map(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
        CHECK(strstr(test_error.message, "\"n0\"") != NULL);
        CHECK_OK(larder_builder_name(builder, test_text("another"), &test_error));
        CHECK_OK(larder_builder_null(builder, &test_error));
        CHECK_STATUS(larder_builder_end_map(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
        larder_builder_reset(builder);
        CHECK_OK(larder_builder_null(builder, &test_error));
        larder_bytes value;
        CHECK_OK(larder_builder_finish_value(builder, &value, &test_error));
        CHECK_BYTES(value, make_hex("00"));
        larder_builder_close(builder);
    }
}

static void bad_values_are_refused(void) {
    larder_builder *builder = new_builder();
    larder_bytes bad = TEST_BYTES("a\xff"), value;
    larder_time wrong = {253402300800, 0, 0}, time = {0, 0, 0};
    CHECK_STATUS(larder_builder_string(builder, bad, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_reference(builder, bad, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_timestamp(builder, wrong, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_server_timestamp(builder, wrong, nothing, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_server_timestamp(builder, time, bad, &test_error),
                 LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder_builder_geo_point(builder, 90.1, 0, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_geo_point(builder, 0, -180.1, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_geo_point(builder, NAN, 0, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_geo_point(builder, 0, INFINITY, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_value(builder, nothing, &test_error), LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder_builder_value(builder, make_hex("40 01"), &test_error),
                 LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder_builder_vector(builder, NULL, SIZE_MAX / 2, &test_error),
                 LARDER_E_TOO_LARGE);
    /* none of them left a trace */
    CHECK_STATUS(larder_builder_finish_value(builder, &value, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_boolean(builder, 5, &test_error));
    CHECK_OK(larder_builder_finish_value(builder, &value, &test_error));
    CHECK_BYTES(value, make_hex("02"));
    larder_builder_close(builder);
}

static void bad_names_are_refused_and_the_map_goes_on(void) {
    larder_builder *builder = new_builder();
    char text[1501];
    memset(text, 'n', sizeof text);
    larder_bytes longest = {text, 1500}, beyond = {text, 1501}, bad = TEST_BYTES("\xed\xa0\x80");
    CHECK_STATUS(larder_builder_name(builder, longest, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_begin_map(builder, &test_error));
    CHECK_STATUS(larder_builder_name(builder, nothing, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_builder_name(builder, beyond, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_builder_name(builder, bad, &test_error), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_builder_null(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_name(builder, longest, &test_error));
    CHECK_STATUS(larder_builder_name(builder, test_text("b"), &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_end_map(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_end_array(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_string(builder, bad, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_null(builder, &test_error)); /* the name still waits */
    CHECK_OK(larder_builder_end_map(builder, &test_error));
    CHECK_STATUS(larder_builder_end_map(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_builder_null(builder, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_bytes plain;
    CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
    larder_record record;
    CHECK_OK(larder_record_open(plain, 0, 0, &record, &test_error));
    larder_bytes name, value;
    CHECK_OK(larder_record_get_entry(&record, 0, &name, &value, NULL));
    CHECK_BYTES(name, longest);
    larder_builder_close(builder);
}

static void only_a_map_is_a_record(void) {
    larder_builder *builder = new_builder();
    larder_bytes bytes;
    CHECK_STATUS(larder_builder_finish_record(builder, &bytes, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_begin_array(builder, &test_error));
    CHECK_STATUS(larder_builder_finish_record(builder, &bytes, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_end_array(builder, &test_error));
    CHECK_STATUS(larder_builder_finish_record(builder, &bytes, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_finish_value(builder, &bytes, &test_error));
    CHECK_BYTES(bytes, make_hex("40 00"));
    /* the next value starts over, without a reset */
    CHECK_OK(larder_builder_begin_map(builder, &test_error));
    CHECK_OK(larder_builder_end_map(builder, &test_error));
    CHECK_OK(larder_builder_finish_value(builder, &bytes, &test_error));
    CHECK_BYTES(bytes, make_hex("42 00"));
    CHECK_OK(larder_builder_finish_record(builder, &bytes, &test_error));
    CHECK_BYTES(bytes, make_hex("4c 01 01 00 00"));
    /* the maximum is for bounds */
    CHECK_OK(larder_builder_begin_map(builder, &test_error));
    CHECK_OK(larder_builder_name(builder, test_text("a"), &test_error));
    CHECK_OK(larder_builder_value(builder, make_array(1, make_max()), &test_error));
    CHECK_OK(larder_builder_end_map(builder, &test_error));
    CHECK_STATUS(larder_builder_finish_record(builder, &bytes, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_finish_value(builder, &bytes, &test_error));
    larder_builder_close(builder);
    larder_builder_close(NULL);
}

static void depth_ends_at_64(void) {
    larder_builder *builder = new_builder();
    for (int i = 0; i < 64; i++)
        CHECK_OK(larder_builder_begin_array(builder, &test_error));
    CHECK_STATUS(larder_builder_begin_array(builder, &test_error), LARDER_E_TOO_DEEP);
    CHECK_STATUS(larder_builder_begin_map(builder, &test_error), LARDER_E_TOO_DEEP);
    CHECK_STATUS(larder_builder_value(builder, make_array(0), &test_error), LARDER_E_TOO_DEEP);
    CHECK_OK(larder_builder_null(builder, &test_error));
    for (int i = 0; i < 64; i++)
        CHECK_OK(larder_builder_end_array(builder, &test_error));
    larder_bytes value;
    CHECK_OK(larder_builder_finish_value(builder, &value, &test_error));
    CHECK_OK(larder_value_validate(value, 64, &test_error));
    CHECK_STATUS(larder_value_validate(value, 63, &test_error), LARDER_E_TOO_DEEP);
    larder_builder_close(builder);
}

static void one_builder_makes_many_values(void) {
    larder_builder *builder = new_builder();
    for (int round = 0; round < 2000; round++) {
        bool as_record = test_random_below(2);
        const model *value = as_record ? model_random_map(3) : model_random(3);
        larder_bytes bytes;
        if (test_random_below(3) == 0) larder_builder_reset(builder);
        if (test_random_below(5) == 0) { /* given up halfway */
            CHECK_OK(larder_builder_begin_map(builder, &test_error));
            CHECK_OK(larder_builder_name(builder, test_text("left"), &test_error));
            larder_builder_reset(builder);
        }
        model_build(builder, value);
        CHECK_OK(as_record ? larder_builder_finish_record(builder, &bytes, &test_error)
                           : larder_builder_finish_value(builder, &bytes, &test_error));
        CHECK_BYTES(bytes, as_record ? model_encode_record(value) : model_encode(value));
        bytes = make_copy(bytes);
        if (as_record) {
            larder_record record;
            CHECK_OK(larder_record_open(bytes, 0, 0, &record, &test_error));
            CHECK_EQ(larder_record_size(&record), model_size(value));
            const model *back = model_decode_record(&record);
            CHECK(back && model_same(value, back));
        } else {
            const model *back = model_decode(bytes);
            CHECK(back && model_same(value, back));
        }
        make_release();
    }
    larder_builder_close(builder);
}

/* ---- lack of memory ---- */

static int live, left;
static void *few_allocate(void *context, size_t size) {
    (void)context;
    if (left <= 0) return NULL;
    left--;
    live++;
    return malloc(size);
}
static void few_release(void *context, void *memory) {
    (void)context;
    live--;
    free(memory);
}

static int32_t build_large(larder_builder *builder, larder_bytes *plain) {
    int32_t status = larder_builder_begin_map(builder, &test_error);
    for (int i = 0; i < 100 && status == LARDER_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", 99 - i);
        status = larder_builder_name(builder, test_text(name), &test_error);
        if (status == LARDER_OK) status = larder_builder_begin_array(builder, &test_error);
        for (int k = 0; k < 5 && status == LARDER_OK; k++)
            status = larder_builder_string(builder, test_text("some text in it"), &test_error);
        if (status == LARDER_OK) status = larder_builder_end_array(builder, &test_error);
    }
    if (status == LARDER_OK) status = larder_builder_end_map(builder, &test_error);
    if (status == LARDER_OK) status = larder_builder_finish_record(builder, plain, &test_error);
    return status;
}

static void lack_of_memory_is_a_status_and_nothing_leaks(void) {
    larder_allocator allocator = {NULL, few_allocate, few_release};
    bool succeeded = false;
    for (int budget = 0; budget < 60 && !succeeded; budget++) {
        larder_builder *builder = NULL;
        left = budget;
        int32_t status = larder_builder_create(&allocator, &builder, &test_error);
        larder_bytes plain = nothing;
        if (status == LARDER_OK) status = build_large(builder, &plain);
        succeeded = status == LARDER_OK;
        if (!succeeded) CHECK_STATUS(status, LARDER_E_NO_MEMORY);
        if (builder && !succeeded) { /* with memory it works after a reset */
            left = 1000;
            larder_builder_reset(builder);
            CHECK_OK(build_large(builder, &plain));
        }
        larder_record record;
        if (builder) CHECK_OK(larder_record_open(plain, 0, 0, &record, &test_error));
        larder_builder_close(builder);
        CHECK_EQ(live, 0);
    }
    CHECK(succeeded);
}

/* Once warm, a builder needs no memory. */
static void a_warm_builder_does_not_allocate(void) {
    larder_allocator allocator = {NULL, few_allocate, few_release};
    larder_builder *builder = NULL;
    larder_bytes plain;
    left = 1000;
    CHECK_OK(larder_builder_create(&allocator, &builder, &test_error));
    CHECK_OK(build_large(builder, &plain));
    left = 0;
    for (int i = 0; i < 10; i++)
        CHECK_OK(build_large(builder, &plain));
    larder_builder_close(builder);
    CHECK_EQ(live, 0);
}

/* A buffer grows by doubling: what it has room for is not what may be written. */
static void a_value_ends_at_1_gib(void) {
    larder_builder *builder = new_builder();
    larder__buffer own = builder->data;
    uint8_t nowhere = 0;
    builder->data.data = &nowhere; /* nothing is written there */
    builder->data.capacity_bytes = (size_t)1 << 32;
    for (size_t size = ((size_t)1 << 30) - 8; size <= (size_t)1 << 30; size += 8) {
        builder->data.size_bytes = size;
        CHECK_STATUS(larder_builder_integer(builder, INT64_MAX, &test_error), LARDER_E_TOO_LARGE);
        CHECK_EQ(builder->data.size_bytes, size);
    }
    builder->data = own;
    larder_builder_close(builder);
}

static const test_case cases[] = {
    {"maps come out sorted", maps_come_out_sorted},
    {"many names are sorted", many_names_are_sorted},
    {"a name twice is refused and the map stays open",
     a_name_twice_is_refused_and_the_map_stays_open},
    {"bad values are refused", bad_values_are_refused},
    {"bad names are refused and the map goes on", bad_names_are_refused_and_the_map_goes_on},
    {"only a map is a record", only_a_map_is_a_record},
    {"depth ends at 64", depth_ends_at_64},
    {"a value ends at 1 GiB", a_value_ends_at_1_gib},
    {"one builder makes many values", one_builder_makes_many_values},
    {"lack of memory is a status and nothing leaks", lack_of_memory_is_a_status_and_nothing_leaks},
    {"a warm builder does not allocate", a_warm_builder_does_not_allocate},
};
TEST_SUITE(builder, cases);

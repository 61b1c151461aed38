/*
 * record_test.c - records: golden bytes, the check of untrusted bytes, look-up, damage.
 */
#include "exercise.h"
#include "make.h"
#include "record/record.h"
#include "test.h"

static int64_t integer_of(larder_bytes value) {
    int64_t integer = INT64_MIN;
    CHECK_OK(larder_value_get_integer(value, &integer));
    return integer;
}

/* ---- format ---- */

static void golden_bytes(void) {
    CHECK_BYTES(make_record(0), make_hex("4c 01 01 00 00"));
    CHECK_BYTES(make_record(1, "a", make_null()), make_hex("4c 01 04 01 01 01 61  01 01 01 00"));
    CHECK_BYTES(make_record(2, "name", make_string("SF"), "\xc3\xa9", make_integer(7)),
                make_hex("4c 01 0a 02 01 04 06 6e616d65 c3a9  02 01 03 05 305346 1107"));
    CHECK_BYTES(make_record(1, "m", make_map(1, "x", make_array(1, make_boolean(true)))),
                make_hex("4c 01 04 01 01 01 6d  01 01 0b 42 01 01 07 0178 40 01 01 01 02"));
}

/* ---- open ---- */

static void malformed_records_are_refused(void) {
    static const char *const malformed[] = {
        "",
        "4c",
        "4c 01",
        "4b 01 01 00 00",                               /* another magic byte */
        "4c 02 01 00 00",                               /* another version */
        "4c 01 00",                                     /* no names */
        "4c 01 01 00",                                  /* no values */
        "4c 01 05 00 00",                               /* names beyond the end */
        "4c 01 8100 00 00",                             /* size is not the shortest */
        "4c 01 01 00 00 00",                            /* bytes behind */
        "4c 01 01 00 01 01 01 00",                      /* more values than names */
        "4c 01 04 01 01 01 61 00",                      /* more names than values */
        "4c 01 05 01 02 0100 61 01 01 01 00",           /* a wider end than needed */
        "4c 01 03 01 01 00 01 01 01 00",                /* empty name */
        "4c 01 04 01 01 01 ff 01 01 01 00",             /* name is not UTF-8 */
        "4c 01 06 02 01 01 02 6261 02 01 01 02 0000",   /* names out of order */
        "4c 01 06 02 01 01 02 6161 02 01 01 02 0000",   /* a name twice */
        "4c 01 04 01 01 01 61 01 01 01 7f",             /* maximum */
        "4c 01 04 01 01 01 61 01 01 03 400101017f",     /* value beyond its container */
        "4c 01 04 01 01 01 61 01 01 05 40 01 01 01 7f", /* maximum inside */
        "4c 01 04 01 01 01 61 01 01 03 50 30 00",       /* cold */
        "4c 01 04 01 01 01 61 01 01 02 30 ff",          /* string is not UTF-8 */
        "4c 01 04 01 01 01 61 01 01 02 11 00",          /* integer is not the shortest */
    };
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_record record = {.shape = 77};
        larder_error error = {0};
        larder_bytes plain = make_hex(malformed[i]);
        CHECK_NOTE(larder_record_open(plain, 0, 0, &record, &error) == LARDER_E_INVALID_RECORD,
                   "accepted: %s", malformed[i]);
        CHECK_NOTE(error.message[0] != 0, "no message: %s", malformed[i]);
        CHECK_EQ(record.shape, 77); /* nothing is set */
    }
    larder_error error = {0};
    larder_record record;
    larder_bytes plain = make_hex("4c 01 06 01 01 03 616263 01 01 02 30 ff");
    CHECK_STATUS(larder_record_open(plain, 0, 0, &record, &error), LARDER_E_INVALID_RECORD);
    CHECK_NOTE(strstr(error.message, "\"abc\"") != NULL, "message is \"%s\"", error.message);
}

static void depth_is_limited(void) {
    larder_bytes value = make_null();
    for (uint32_t depth = 0; depth <= 25; depth++) {
        larder_record record;
        larder_bytes plain = make_record(1, "a", value);
        if (depth > 0) {
            CHECK_OK(larder_record_open(plain, depth, 0, &record, &test_error));
            if (depth > 1)
                CHECK_STATUS(larder_record_open(plain, depth - 1, 0, &record, &test_error),
                             LARDER_E_TOO_DEEP);
        }
        CHECK_STATUS(larder_record_open(plain, 0, 0, &record, &test_error),
                     depth <= LARDER_DEPTH_MAX ? LARDER_OK : LARDER_E_TOO_DEEP);
        value = depth % 2 ? make_map(1, "m", value) : make_array(1, value);
    }
}

static void size_is_limited(void) {
    /* "a" + 1, text + 1 */
    larder_record record;
    larder_bytes fits = make_record(1, "a", make_repeated('x', LARDER_DOCUMENT_MAX_BYTES - 3));
    larder_bytes beyond = make_record(1, "a", make_repeated('x', LARDER_DOCUMENT_MAX_BYTES - 2));
    CHECK_OK(larder_record_open(fits, 0, 0, &record, &test_error));
    CHECK_EQ(larder_record_size(&record), LARDER_DOCUMENT_MAX_BYTES);
    CHECK_STATUS(larder_record_open(beyond, 0, 0, &record, &test_error), LARDER_E_TOO_LARGE);
    CHECK_OK(larder_record_open(beyond, 0, 2 * LARDER_DOCUMENT_MAX_BYTES, &record, &test_error));
    larder_bytes small = make_record(2, "a", make_null(), "bc", make_integer(1));
    CHECK_OK(larder_record_open(small, 0, 14, &record, &test_error));
    CHECK_STATUS(larder_record_open(small, 0, 13, &record, &test_error), LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_record_open(small, 0, -1, &record, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_record_open(small, 0, INT64_MAX, &record, &test_error));
    /* a previous value does not count: "a" + 1, 8; "b" + 1, 1 */
    larder_bytes pending =
        make_record(2, "a", make_pending(1, 1, make_string("long before")), "b", make_null());
    CHECK_OK(larder_record_open(pending, 0, 13, &record, &test_error));
    CHECK_EQ(larder_record_size(&record), 13);
    CHECK_STATUS(larder_record_open(pending, 0, 12, &record, &test_error), LARDER_E_TOO_LARGE);
    /* refused by length alone, whatever the bytes are */
    static uint8_t zeros[8 * 100 + 100];
    CHECK_STATUS(
        larder_record_open((larder_bytes){zeros, sizeof zeros}, 0, 100, &record, &test_error),
        LARDER_E_TOO_LARGE);
    CHECK_STATUS(larder_record_open((larder_bytes){zeros, 100}, 0, 100, &record, &test_error),
                 LARDER_E_INVALID_RECORD);
}

/* ---- look-up ---- */

static void fields_are_found_by_path(void) {
    larder_record record = make_open(
        make_record(4, "a", make_integer(1), "map",
                    make_map(2, "x", make_integer(2), "y.z", make_map(1, "deep", make_integer(3))),
                    "odd name", make_integer(4), "text", make_string("abc")));
    CHECK_EQ(larder_record_count(&record), 4);
    CHECK_EQ(integer_of(make_find(&record, "a")), 1);
    CHECK_EQ(integer_of(make_find(&record, "map.x")), 2);
    CHECK_EQ(integer_of(make_find(&record, "map.`y.z`.deep")), 3);
    CHECK_EQ(integer_of(make_find(&record, "`odd name`")), 4);
    static const char *const missing[] = {"b",   "A",      "aa",      "map.z",     "map.y.z",
                                          "a.x", "text.a", "map.x.y", "text.text", "ma"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        larder_field field;
        larder_bytes value;
        larder_field_init(&field, make_path(missing[i]));
        CHECK_STATUS(larder_record_find(&record, &field, &value, NULL), LARDER_NOT_FOUND);
    }
    static const char *const malformed[] = {"",   "00",           "02 61",
                                            "80", "03 6d6170 00", "03 6d6170 05"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_field field;
        larder_bytes value;
        larder_field_init(&field, make_hex(malformed[i]));
        CHECK_STATUS(larder_record_find(&record, &field, &value, NULL), LARDER_E_INVALID_NAME);
    }
    larder_field field;
    larder_bytes value, name;
    int32_t type = -1;
    larder_field_init(&field, make_path("map.`y.z`"));
    CHECK_OK(larder_record_find(&record, &field, &value, &type));
    CHECK_EQ(type, LARDER_TYPE_MAP);
    CHECK_OK(larder_record_get_entry(&record, 3, &name, &value, &type));
    CHECK_EQ(type, LARDER_TYPE_STRING);
    CHECK_TEXT(name, "text");
    CHECK_STATUS(larder_record_get_entry(&record, 4, &name, &value, &type), LARDER_NOT_FOUND);
}

/* Few names, more than are scanned, and so many that their ends take two bytes. */
static void fields_are_found_among_many(void) {
    static const size_t counts[] = {1, 15, 16, 17, 40, 200};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        larder_builder *builder = NULL;
        larder_bytes plain;
        CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
        CHECK_OK(larder_builder_begin_map(builder, &test_error));
        for (size_t i = 0; i < counts[c]; i++) {
            char name[40];
            snprintf(name, sizeof name, "field%zu", i * 2);
            CHECK_OK(larder_builder_name(builder, test_text(name), &test_error));
            CHECK_OK(larder_builder_integer(builder, (int64_t)i, &test_error));
        }
        CHECK_OK(larder_builder_end_map(builder, &test_error));
        CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
        larder_record record = make_open(plain);
        for (size_t i = 0; i < 2 * counts[c]; i++) {
            char name[40];
            snprintf(name, sizeof name, "field%zu", i);
            larder_bytes value = make_find(&record, name);
            if (i % 2)
                CHECK_EQ(value.size_bytes, 0);
            else
                CHECK_EQ(integer_of(value), (int64_t)(i / 2));
        }
        larder_builder_close(builder);
    }
}

/* Records of a shape share their names; the position is remembered with the shape's number. */
static void a_field_remembers_its_place_in_a_shape(void) {
    larder_record first = make_open(make_record(2, "a", make_integer(1), "b", make_integer(2)));
    larder_record second = make_open(make_record(2, "a", make_integer(3), "b", make_integer(4)));
    larder_record other = make_open(make_record(1, "b", make_integer(5)));
    larder_field field, absent;
    larder_bytes value;
    first.shape = second.shape = 9;
    other.shape = 10;
    larder_field_init(&field, make_path("b"));
    larder_field_init(&absent, make_path("c"));
    for (int round = 0; round < 2; round++) {
        CHECK_OK(larder_record_find(&first, &field, &value, NULL));
        CHECK_EQ(integer_of(value), 2);
        CHECK_EQ(field.shape, 9);
        CHECK_EQ(field.position, 1);
        CHECK_OK(larder_record_find(&second, &field, &value, NULL));
        CHECK_EQ(integer_of(value), 4);
        CHECK_OK(larder_record_find(&other, &field, &value, NULL));
        CHECK_EQ(integer_of(value), 5);
        CHECK_STATUS(larder_record_find(&first, &absent, &value, NULL), LARDER_NOT_FOUND);
        CHECK_EQ(absent.shape, 9);
        CHECK_EQ(absent.position, -1);
        CHECK_STATUS(larder_record_find(&second, &absent, &value, NULL), LARDER_NOT_FOUND);
    }
    /* what is remembered is used: the names are not looked at again */
    CHECK_OK(larder_record_find(&first, &field, &value, NULL));
    second.names = make_hex("02 01 01 02 7879");
    CHECK_OK(larder_record_find(&second, &field, &value, NULL));
    CHECK_EQ(integer_of(value), 4);
    /* a position that the record does not have is a status */
    larder_record damaged = make_open(make_record(1, "b", make_integer(5)));
    damaged.shape = 9;
    CHECK_STATUS(larder_record_find(&damaged, &field, &value, NULL), LARDER_E_INVALID_RECORD);
    /* only the first segment's place is remembered; the rest is looked up each time */
    larder_record nested[] = {
        make_open(make_record(2, "a", make_null(), "m", make_map(1, "x", make_integer(1)))),
        make_open(make_record(2, "a", make_null(), "m",
                              make_map(2, "w", make_null(), "x", make_integer(2)))),
        make_open(make_record(2, "a", make_null(), "m", make_integer(3)))};
    larder_field_init(&field, make_path("m.x"));
    for (size_t i = 0; i < 6; i++) {
        nested[i % 3].shape = 11;
        int32_t status = larder_record_find(&nested[i % 3], &field, &value, NULL);
        CHECK_STATUS(status, i % 3 == 2 ? LARDER_NOT_FOUND : LARDER_OK);
        if (status == LARDER_OK) CHECK_EQ(integer_of(value), (int64_t)(i % 3 + 1));
        CHECK_EQ(field.position, 1);
    }
    /* a plain record has no shape: nothing is remembered */
    larder_record plain = make_open(make_record(1, "c", make_integer(6)));
    larder_field_init(&absent, make_path("c"));
    CHECK_OK(larder_record_find(&plain, &absent, &value, NULL));
    CHECK_EQ(absent.shape, 0);
}

/* ---- damage ---- */

static void damaged_records_never_crash(void) {
    larder_bytes samples[] = {
        make_record(3, "a", make_string("0123456789"), "b",
                    make_array(2, make_map(1, "x", make_integer(1000)), make_null()), "reference",
                    make_reference("a/b")),
        make_record(2, "p", make_pending(5, 6, make_map(1, "x", make_double(1.5))), "v",
                    make_vector((double[]){1, 2}, 2)),
        make_record(0)};
    larder_builder *builder = NULL;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    for (size_t i = 0; i < 3; i++) {
        larder_record record;
        exercise_record(samples[i], builder);
        for (size_t size = 0; size < samples[i].size_bytes; size++) {
            larder_bytes cut = make_copy((larder_bytes){samples[i].data, size});
            CHECK_STATUS(larder_record_open(cut, 0, 0, &record, NULL), LARDER_E_INVALID_RECORD);
            exercise_record(cut, builder);
        }
        uint8_t *bytes = malloc(samples[i].size_bytes);
        memcpy(bytes, samples[i].data, samples[i].size_bytes);
        for (size_t at = 0; at < samples[i].size_bytes; at++) {
            uint8_t original = bytes[at];
            for (int change = 1; change < 256; change++) {
                bytes[at] = (uint8_t)(original ^ change);
                exercise_record((larder_bytes){bytes, samples[i].size_bytes}, builder);
            }
            bytes[at] = original;
        }
        free(bytes);
    }
    larder_builder_close(builder);
}

static const test_case cases[] = {
    {"golden bytes of the format", golden_bytes},
    {"malformed records are refused", malformed_records_are_refused},
    {"depth is limited", depth_is_limited},
    {"size is limited", size_is_limited},
    {"fields are found by path", fields_are_found_by_path},
    {"fields are found among many", fields_are_found_among_many},
    {"a field remembers its place in a shape", a_field_remembers_its_place_in_a_shape},
    {"damaged records never crash", damaged_records_never_crash},
};
TEST_SUITE(record, cases);

/*
 * record_test.c - records: golden bytes, the check of untrusted bytes, look-up, the cold part,
 * and patches (digest, 1.9).
 */
#include "exercise.h"
#include "make.h"
#include "model.h"
#include "record/record.h"
#include "test.h"

static const larder_bytes nothing = {NULL, 0};

static larder_bytes repeat(char c, size_t count) {
    char *text = malloc(count + 1);
    memset(text, c, count);
    text[count] = 0;
    larder_bytes value = make_string(text);
    free(text);
    return value;
}

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
    larder_bytes fits = make_record(1, "a", repeat('x', LARDER_DOCUMENT_MAX_BYTES - 3));
    larder_bytes beyond = make_record(1, "a", repeat('x', LARDER_DOCUMENT_MAX_BYTES - 2));
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

/* ---- the cold part ---- */

/* The stored form with its cold part at hand, in memory of exactly its size. */
static larder_record store_form(const larder_record *plain, size_t cold_field_bytes) {
    larder__buffer hot = {0}, cold = {0};
    CHECK_OK(larder__record_split(plain, cold_field_bytes, &hot, &cold, &test_error));
    larder_record stored = *plain;
    stored.values = make_copy(larder__bytes(hot.data, hot.size_bytes));
    stored.cold = make_copy(larder__bytes(cold.data, cold.size_bytes));
    stored.cold_raw_bytes = (uint32_t)cold.size_bytes;
    larder__buffer_free(&hot);
    larder__buffer_free(&cold);
    return stored;
}

static void golden_split(void) {
    larder_record plain =
        make_open(make_record(4, "a", make_string("hot"), "b", make_string("cold text"), "c",
                              make_integer(1), "d", make_bytes(TEST_BYTES("cold bytes"))));
    larder_record stored = store_form(&plain, 8);
    CHECK_BYTES(stored.values, make_hex("04 01 04 07 09 0c 30686f74 50 30 00 1101 50 31 01"));
    CHECK_BYTES(stored.cold, make_hex("02 01 0a 15 30636f6c642074657874 31636f6c64206279746573"));
}

/* Only what can be large goes cold, from the threshold on, and only at the top level. */
static void large_values_go_cold(void) {
    char name[32];
    memset(name, 'x', sizeof name);
    larder_bytes reference = make_reference("projects/p/databases/d/documents/c/d");
    larder_bytes exact = make_string("123456789"), below = make_string("12345678"); /* 10, 9 */
    larder_record plain =
        make_open(make_record(6, "array", make_array(1, exact), "below", below, "exact", exact,
                              "map", make_map(1, "m", exact), "reference", reference, "vector",
                              make_vector((double[]){1, 2}, 2)));
    larder_record stored = store_form(&plain, 10);
    CHECK_EQ(larder_record_cold_bytes(&stored), stored.cold.size_bytes);
    CHECK_EQ(larder_record_cold_bytes(&plain), 0);
    static const struct {
        int32_t status, type;
    } expected[] = {{LARDER_COLD, LARDER_TYPE_ARRAY},   {LARDER_OK, LARDER_TYPE_STRING},
                    {LARDER_COLD, LARDER_TYPE_STRING},  {LARDER_COLD, LARDER_TYPE_MAP},
                    {LARDER_OK, LARDER_TYPE_REFERENCE}, {LARDER_COLD, LARDER_TYPE_VECTOR}};
    for (size_t i = 0; i < 6; i++) {
        larder_bytes field_name, value;
        int32_t type = -1;
        CHECK_STATUS(larder_record_get_entry(&stored, i, &field_name, &value, &type),
                     expected[i].status);
        CHECK_EQ(type, expected[i].type);
        if (expected[i].status == LARDER_COLD) CHECK_EQ(value.size_bytes, 0);
    }
    larder_field field;
    larder_bytes value;
    int32_t type = -1;
    larder_field_init(&field, make_path("map.m"));
    CHECK_STATUS(larder_record_find(&stored, &field, &value, &type), LARDER_COLD);
    CHECK_EQ(type, LARDER_TYPE_MAP);
    stored.flags = LARDER__RECORD_LOADED;
    CHECK_EQ(larder_record_cold_bytes(&stored), 0);
    CHECK_OK(larder_record_find(&stored, &field, &value, &type));
    CHECK_EQ(type, LARDER_TYPE_STRING);
    CHECK_BYTES(value, exact);
    stored = store_form(&plain, 1000);
    CHECK_EQ(stored.cold.size_bytes, 0);
    CHECK_BYTES(stored.values, plain.values);
}

static void split_and_copy_give_the_record_back(void) {
    for (int round = 0; round < 1500; round++) {
        const model *map = model_random_map(3);
        larder_bytes bytes = model_encode_record(map);
        larder_record plain = make_open(bytes);
        larder_record stored = store_form(&plain, test_random_below(30));
        stored.flags = LARDER__RECORD_LOADED;
        size_t needed = 0;
        CHECK_STATUS(larder_record_copy(&stored, NULL, 0, &needed, &test_error),
                     LARDER_E_BUFFER_TOO_SMALL);
        CHECK_EQ(needed, bytes.size_bytes);
        uint8_t *copy = malloc(needed);
        memset(copy, 0xab, needed);
        CHECK_STATUS(larder_record_copy(&stored, copy, needed - 1, &needed, &test_error),
                     LARDER_E_BUFFER_TOO_SMALL);
        CHECK_EQ(copy[0], 0xab);
        CHECK_OK(larder_record_copy(&stored, copy, needed, &needed, &test_error));
        CHECK_BYTES(larder__bytes(copy, needed), bytes);
        free(copy);
        CHECK_EQ(larder_record_size(&stored), model_size(map));
        const model *back = model_decode_record(&stored);
        CHECK(back && model_same(map, back));
        make_release();
    }
}

/* Values of all sizes, so that the widths of the plain, hot and cold ends differ. */
static void copy_works_in_place_for_all_widths(void) {
    static const size_t sizes[] = {1, 100, 250, 251, 253, 254, 300, 65000, 65530, 65536, 100000};
    for (size_t i = 0; i < 11; i++) {
        for (size_t k = 0; k < 11; k++) {
            for (size_t threshold = 10; threshold <= 100000; threshold *= 10) {
                larder_record plain = make_open(make_record(
                    5, "a", repeat('a', sizes[i]), "b", make_null(), "c", repeat('c', sizes[k]),
                    "d", repeat('d', 20), "e", make_integer(INT64_MIN)));
                larder_record stored = store_form(&plain, threshold);
                stored.flags = LARDER__RECORD_LOADED;
                size_t needed = 0;
                larder_record_copy(&stored, NULL, 0, &needed, NULL);
                uint8_t *copy = malloc(needed);
                CHECK_OK(larder_record_copy(&stored, copy, needed, &needed, &test_error));
                larder_bytes names, values;
                CHECK(larder__record_parts(larder__bytes(copy, needed), &names, &values));
                CHECK_BYTES(values, plain.values);
                free(copy);
                make_release();
            }
        }
    }
}

static void a_damaged_cold_part_is_a_status(void) {
    larder_record plain =
        make_open(make_record(3, "a", make_string("0123456789"), "b", make_integer(5), "c",
                              make_array(3, make_integer(1), make_integer(2), make_integer(3))));
    larder_record stored = store_form(&plain, 5);
    stored.flags = LARDER__RECORD_LOADED;
    CHECK(stored.cold.size_bytes > 0);
    larder_bytes good_values = stored.values, good_cold = stored.cold;
    uint8_t bytes[128];
    for (int part = 0; part < 2; part++) {
        larder_bytes good = part ? good_cold : good_values;
        for (size_t at = 0; at < good.size_bytes; at++) {
            for (int change = 1; change < 256; change++) {
                memcpy(bytes, good.data, good.size_bytes);
                bytes[at] = (uint8_t)(bytes[at] ^ change);
                larder_bytes damaged = make_copy((larder_bytes){bytes, good.size_bytes});
                stored.values = part ? good_values : damaged;
                stored.cold = part ? damaged : good_cold;
                exercise_look(&stored);
                exercise_copy(&stored, nothing);
                make_release();
                plain = make_open(
                    make_record(3, "a", make_string("0123456789"), "b", make_integer(5), "c",
                                make_array(3, make_integer(1), make_integer(2), make_integer(3))));
                stored = store_form(&plain, 5);
                stored.flags = LARDER__RECORD_LOADED;
                good_values = stored.values;
                good_cold = stored.cold;
                good = part ? good_cold : good_values;
            }
        }
    }
    /* a value of another type than the row says */
    memcpy(bytes, good_cold.data, good_cold.size_bytes);
    bytes[4] = LARDER__TAG_BYTES;
    stored.cold = make_copy((larder_bytes){bytes, good_cold.size_bytes});
    larder_bytes name, value;
    CHECK_STATUS(larder_record_get_entry(&stored, 0, &name, &value, NULL), LARDER_E_CORRUPT);
    uint8_t copy[256];
    size_t needed;
    CHECK_STATUS(larder_record_copy(&stored, copy, sizeof copy, &needed, &test_error),
                 LARDER_E_CORRUPT);
    /* a row that names cold values without having a cold part */
    stored.cold = nothing;
    CHECK_STATUS(larder_record_copy(&stored, copy, sizeof copy, &needed, &test_error),
                 LARDER_E_CORRUPT);
}

/* A compressed cold part, by way of a store: neither looking nor asking for the size
 * decompresses; load, copy and size do. */
static void a_stored_record_is_loaded_when_asked(void) {
    larder_env_options options;
    larder_env *env = NULL;
    larder_txn *txn = NULL;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.cold_field_bytes = 100;
    REQUIRE_OK(larder_env_open("", &options, &env, &test_error));
    char text[2001];
    for (size_t i = 0; i < 2000; i++)
        text[i] = "the same words over "[i % 20];
    text[2000] = 0;
    larder_bytes plain = make_record(3, "large", make_string(text), "name", make_string("small"),
                                     "tags", make_array(1, make_string(text)));
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = (larder_time){1, 0, 0};
    larder_document document;
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_document_put(txn, test_text("c/d"), &info, plain, &test_error));
    CHECK_OK(larder_document_get(txn, test_text("c/d"), &document, &test_error));
    larder_record stored = document.record, loaded;
    CHECK(larder_record_cold_bytes(&stored) > 4000);
    larder_field field;
    larder_bytes value;
    int32_t type = -1;
    larder_field_init(&field, make_path("name"));
    CHECK_OK(larder_record_find(&stored, &field, &value, &type));
    CHECK_BYTES(value, make_string("small"));
    larder_field_init(&field, make_path("tags"));
    CHECK_STATUS(larder_record_find(&stored, &field, &value, &type), LARDER_COLD);
    CHECK_EQ(type, LARDER_TYPE_ARRAY);
    CHECK_EQ(larder_record_size(&stored), 6 + 2001 + 5 + 6 + 5 + 2001);
    size_t raw_bytes = larder_record_cold_bytes(&stored), needed = 0;
    uint8_t *buffer = malloc(raw_bytes), *copy = malloc(plain.size_bytes);
    CHECK_STATUS(larder_record_load(&stored, buffer, raw_bytes - 1, &loaded, &test_error),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK_OK(larder_record_load(&stored, buffer, raw_bytes, &loaded, &test_error));
    CHECK_EQ(larder_record_cold_bytes(&loaded), 0);
    CHECK_OK(larder_record_find(&loaded, &field, &value, &type));
    CHECK_BYTES(value, make_array(1, make_string(text)));
    CHECK_OK(larder_record_copy(&stored, copy, plain.size_bytes, &needed, &test_error));
    CHECK_BYTES(larder__bytes(copy, needed), plain);
    memset(copy, 0, plain.size_bytes);
    CHECK_OK(larder_record_copy(&loaded, copy, plain.size_bytes, &needed, &test_error));
    CHECK_BYTES(larder__bytes(copy, needed), plain);
    larder_builder *builder = NULL;
    larder_bytes patched, path = make_path("name");
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    CHECK_STATUS(larder_record_patch(&stored, &loaded, &path, 1, builder, &patched, &test_error),
                 LARDER_COLD);
    CHECK_OK(larder_record_patch(&loaded, &loaded, &path, 1, builder, &patched, &test_error));
    CHECK_BYTES(patched, plain);
    larder_builder_close(builder);
    free(buffer);
    free(copy);
    larder_txn_abort(txn);
    CHECK_OK(larder_env_close(env, &test_error));
}

/* ---- patch ---- */

static larder_bytes patch(larder_bytes base, larder_bytes source, size_t count,
                          const char *const *paths) {
    larder_builder *builder = NULL;
    larder_bytes mask[8], plain = nothing;
    larder_record base_record = {0}, source_record = make_open(source);
    if (base.size_bytes > 0) base_record = make_open(base);
    for (size_t i = 0; i < count; i++)
        mask[i] = make_path(paths[i]);
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    CHECK_OK(larder_record_patch(base.size_bytes > 0 ? &base_record : NULL, &source_record, mask,
                                 count, builder, &plain, &test_error));
    plain = make_copy(plain);
    larder_builder_close(builder);
    return plain;
}
#define PATCH(base, source, ...)                                                                   \
    patch(base, source, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                    \
          (const char *[]){__VA_ARGS__})

static void patches_set_and_delete(void) {
    larder_bytes one = make_integer(1), two = make_integer(2);
    larder_bytes empty = make_record(0), base = make_record(2, "a", one, "b", one);
    CHECK_BYTES(PATCH(base, make_record(1, "a", two), "a"), make_record(2, "a", two, "b", one));
    CHECK_BYTES(PATCH(base, make_record(1, "c", two), "c"),
                make_record(3, "a", one, "b", one, "c", two));
    CHECK_BYTES(PATCH(base, empty, "a"), make_record(1, "b", one));
    CHECK_BYTES(PATCH(base, empty, "a", "b"), empty);
    CHECK_BYTES(PATCH(base, empty, "c"), base);
    /* outside of the mask the source does not count */
    CHECK_BYTES(PATCH(base, make_record(2, "a", two, "b", two), "b"),
                make_record(2, "a", one, "b", two));
    CHECK_BYTES(PATCH(nothing, make_record(1, "a", two), "a"), make_record(1, "a", two));
    CHECK_BYTES(PATCH(nothing, empty, "a"), empty);
    CHECK_BYTES(PATCH(base, make_record(2, "a", make_null(), "b", two), "b", "a", "b"),
                make_record(2, "a", make_null(), "b", two));
}

static void patches_make_and_replace_maps_on_the_way(void) {
    larder_bytes one = make_integer(1), two = make_integer(2);
    larder_bytes empty = make_record(0), empty_map = make_map(0);
    larder_bytes source = make_record(1, "a", make_map(1, "b", make_map(1, "c", two)));
    larder_bytes base = make_record(1, "a", make_map(2, "b", one, "x", one));
    CHECK_BYTES(PATCH(empty, source, "a.b.c"), source);
    CHECK_BYTES(PATCH(make_record(1, "a", one), source, "a.b.c"), source);
    CHECK_BYTES(PATCH(base, source, "a.b.c"),
                make_record(1, "a", make_map(2, "b", make_map(1, "c", two), "x", one)));
    CHECK_BYTES(PATCH(base, source, "a"), source);
    /* deletes */
    CHECK_BYTES(PATCH(base, empty, "a.b"), make_record(1, "a", make_map(1, "x", one)));
    CHECK_BYTES(PATCH(base, empty, "a.b", "a.x"), make_record(1, "a", empty_map));
    /* maps on the way are made for a delete, too */
    CHECK_BYTES(PATCH(base, empty, "a.b.c"),
                make_record(1, "a", make_map(2, "b", empty_map, "x", one)));
    CHECK_BYTES(PATCH(empty, empty, "a.b"), make_record(1, "a", empty_map));
    CHECK_BYTES(PATCH(make_record(1, "a", one), empty, "a.b"), make_record(1, "a", empty_map));
    /* a set and a delete below one parent */
    CHECK_BYTES(PATCH(make_record(1, "a", one), source, "a.b", "a.x"), source);
    CHECK_BYTES(PATCH(base, source, "a.b", "a.x"), source);
    /* a path and one below it, in either order */
    CHECK_BYTES(PATCH(base, source, "a", "a.x"), source);
    CHECK_BYTES(PATCH(base, source, "a.x", "a"), source);
    CHECK_BYTES(PATCH(base, empty, "a.b", "a"), empty);
    CHECK_BYTES(PATCH(make_record(1, "a.b", one), make_record(1, "a.b", two), "`a.b`"),
                make_record(1, "a.b", two));
}

static void bad_masks_are_refused(void) {
    larder_record base = make_open(make_record(1, "a", make_null()));
    larder_builder *builder = NULL;
    larder_bytes plain;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    static const char *const malformed[] = {"", "00", "02 61", "01 61 00", "01 ff"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_bytes mask[2] = {make_path("a"), make_hex(malformed[i])};
        CHECK_STATUS(larder_record_patch(&base, &base, mask, 2, builder, &plain, &test_error),
                     LARDER_E_INVALID_NAME);
    }
    uint8_t deep[300];
    for (size_t i = 0; i < 300; i++)
        deep[i] = i % 2 ? 'a' : 1;
    larder_bytes mask = {deep, 300};
    CHECK_STATUS(larder_record_patch(&base, &base, &mask, 1, builder, &plain, &test_error),
                 LARDER_E_TOO_DEEP);
    CHECK_STATUS(larder_record_patch(&base, NULL, &mask, 1, builder, &plain, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_null(builder, &test_error)); /* it was reset */
    larder_builder_close(builder);
}

static void random_patches_follow_the_model(void) {
    static const char *const names[] = {"a", "b", "c", "aa", "ab", "a.b"};
    larder_builder *builder = NULL;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    for (int round = 0; round < 3000; round++) {
        const model *base = model_random_map(4);
        const model *source = test_random_below(2) ? model_vary(base, 4) : model_random_map(4);
        if (source->type != LARDER_TYPE_MAP) source = base;
        model_path paths[30];
        larder_bytes mask[30];
        size_t count = test_random_below(test_random_below(8) ? 6 : 30);
        for (size_t i = 0; i < count; i++) {
            uint8_t path[256];
            size_t needed = 0;
            paths[i].count = 1 + test_random_below(3);
            for (size_t k = 0; k < paths[i].count; k++)
                paths[i].segments[k] = test_text(names[test_random_below(6)]);
            CHECK_OK(larder_path_encode(paths[i].segments, paths[i].count, path, sizeof path,
                                        &needed, &test_error));
            mask[i] = make_copy(larder__bytes(path, needed));
        }
        const model *expected = model_patch(base, source, paths, count);
        larder_record base_record = make_open(model_encode_record(base));
        larder_record source_record = make_open(model_encode_record(source));
        if (test_random_below(2)) { /* the same from stored records */
            base_record = store_form(&base_record, 5);
            source_record = store_form(&source_record, 5);
            base_record.flags = source_record.flags = LARDER__RECORD_LOADED;
        }
        larder_bytes plain = nothing;
        CHECK_OK(larder_record_patch(&base_record, &source_record, mask, count, builder, &plain,
                                     &test_error));
        CHECK_BYTES(plain, model_encode_record(expected));
        make_release();
    }
    larder_builder_close(builder);
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
    {"golden bytes of a split", golden_split},
    {"large values go cold", large_values_go_cold},
    {"split and copy give the record back", split_and_copy_give_the_record_back},
    {"copy works in place for all widths", copy_works_in_place_for_all_widths},
    {"a damaged cold part is a status", a_damaged_cold_part_is_a_status},
    {"a stored record is loaded when asked", a_stored_record_is_loaded_when_asked},
    {"patches set and delete", patches_set_and_delete},
    {"patches make and replace maps on the way", patches_make_and_replace_maps_on_the_way},
    {"bad masks are refused", bad_masks_are_refused},
    {"random patches follow the model", random_patches_follow_the_model},
    {"damaged records never crash", damaged_records_never_crash},
};
TEST_SUITE(record, cases);

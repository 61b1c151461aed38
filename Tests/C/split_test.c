/*
 * split_test.c - the cold part of a record: what goes there, and copying and loading it.
 */
#include "exercise.h"
#include "make.h"
#include "model.h"
#include "record/record.h"
#include "test.h"

static const larder_bytes nothing = {NULL, 0};

static void golden_split(void) {
    larder_record plain =
        make_open(make_record(4, "a", make_string("hot"), "b", make_string("cold text"), "c",
                              make_integer(1), "d", make_bytes(TEST_BYTES("cold bytes"))));
    larder_record stored = make_stored(&plain, 8);
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
    larder_record stored = make_stored(&plain, 10);
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
    stored = make_stored(&plain, 1000);
    CHECK_EQ(stored.cold.size_bytes, 0);
    CHECK_BYTES(stored.values, plain.values);
}

static void split_and_copy_give_the_record_back(void) {
    for (int round = 0; round < 1500; round++) {
        const model *map = model_random_map(3);
        larder_bytes bytes = model_encode_record(map);
        larder_record plain = make_open(bytes);
        larder_record stored = make_stored(&plain, test_random_below(30));
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
                larder_record plain =
                    make_open(make_record(5, "a", make_repeated('a', sizes[i]), "b", make_null(),
                                          "c", make_repeated('c', sizes[k]), "d",
                                          make_repeated('d', 20), "e", make_integer(INT64_MIN)));
                larder_record stored = make_stored(&plain, threshold);
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
    larder_record stored = make_stored(&plain, 5);
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
                stored = make_stored(&plain, 5);
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

static const test_case cases[] = {
    {"golden bytes of a split", golden_split},
    {"large values go cold", large_values_go_cold},
    {"split and copy give the record back", split_and_copy_give_the_record_back},
    {"copy works in place for all widths", copy_works_in_place_for_all_widths},
    {"a damaged cold part is a status", a_damaged_cold_part_is_a_status},
    {"a stored record is loaded when asked", a_stored_record_is_loaded_when_asked},
};
TEST_SUITE(split, cases);

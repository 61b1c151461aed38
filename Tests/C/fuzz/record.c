/*
 * record.c - fuzz target: any bytes as a plain record, as a value, as a field path in text, and
 * as the bytes of an encoded path. exercise.h says what must hold; beyond that, a record that
 * is accepted must come back byte by byte from the builder, and its values from splitting.
 */
#include "exercise.h"

static larder_builder *builder;

/* Builds a well-formed value again, part by part. */
static void rebuild(larder_bytes value) {
    int32_t boolean;
    int64_t integer;
    double number, second;
    larder_time time;
    larder_bytes name, item;
    size_t count = 0;
#define MUST(call) EXERCISE_REQUIRE((call) == LARDER_OK)
    switch (larder_value_type(value)) {
    case LARDER_TYPE_NULL:
        MUST(larder_builder_null(builder, NULL));
        break;
    case LARDER_TYPE_BOOLEAN:
        MUST(larder_value_get_boolean(value, &boolean));
        MUST(larder_builder_boolean(builder, boolean, NULL));
        break;
    case LARDER_TYPE_INTEGER:
        MUST(larder_value_get_integer(value, &integer));
        MUST(larder_builder_integer(builder, integer, NULL));
        break;
    case LARDER_TYPE_DOUBLE:
        MUST(larder_value_get_double(value, &number));
        MUST(larder_builder_double(builder, number, NULL));
        break;
    case LARDER_TYPE_TIMESTAMP:
        MUST(larder_value_get_timestamp(value, &time));
        MUST(larder_builder_timestamp(builder, time, NULL));
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        MUST(larder_value_get_server_timestamp(value, &time, &item));
        MUST(larder_builder_server_timestamp(builder, time, item, NULL));
        break;
    case LARDER_TYPE_STRING:
        MUST(larder_value_get_bytes(value, &item));
        MUST(larder_builder_string(builder, item, NULL));
        break;
    case LARDER_TYPE_BYTES:
        MUST(larder_value_get_bytes(value, &item));
        MUST(larder_builder_bytes(builder, item, NULL));
        break;
    case LARDER_TYPE_REFERENCE:
        MUST(larder_value_get_bytes(value, &item));
        MUST(larder_builder_reference(builder, item, NULL));
        break;
    case LARDER_TYPE_GEO_POINT:
        MUST(larder_value_get_geo_point(value, &number, &second));
        MUST(larder_builder_geo_point(builder, number, second, NULL));
        break;
    case LARDER_TYPE_VECTOR: {
        MUST(larder_value_count(value, &count));
        double *components = malloc(count * sizeof *components + 1);
        EXERCISE_REQUIRE(components != NULL);
        for (size_t i = 0; i < count; i++)
            MUST(larder_value_get_component(value, i, &components[i]));
        MUST(larder_builder_vector(builder, components, count, NULL));
        free(components);
        break;
    }
    case LARDER_TYPE_ARRAY:
        MUST(larder_value_count(value, &count));
        MUST(larder_builder_begin_array(builder, NULL));
        for (size_t i = 0; i < count; i++) {
            MUST(larder_value_get_element(value, i, &item));
            rebuild(item);
        }
        MUST(larder_builder_end_array(builder, NULL));
        break;
    case LARDER_TYPE_MAP:
        MUST(larder_value_count(value, &count));
        MUST(larder_builder_begin_map(builder, NULL));
        for (size_t i = count; i > 0; i--) { /* backwards: the builder sorts */
            MUST(larder_value_get_entry(value, i - 1, &name, &item));
            MUST(larder_builder_name(builder, name, NULL));
            rebuild(item);
        }
        MUST(larder_builder_end_map(builder, NULL));
        break;
    case LARDER_TYPE_MAX:
        MUST(larder_builder_max(builder, NULL));
        break;
    default:
        abort(); /* a well-formed value has a type */
    }
}

static void rebuild_record(const larder_record *record, larder_bytes plain) {
    larder_bytes name, value, result;
    MUST(larder_builder_begin_map(builder, NULL));
    for (size_t i = larder_record_count(record); i > 0; i--) {
        MUST(larder_record_get_entry(record, i - 1, &name, &value, NULL));
        MUST(larder_builder_name(builder, name, NULL));
        rebuild(value);
    }
    MUST(larder_builder_end_map(builder, NULL));
    MUST(larder_builder_finish_record(builder, &result, NULL));
    EXERCISE_REQUIRE(larder__bytes_equal(result, plain));
}

static void exercise_path(larder_bytes input) {
    uint8_t path[8192], text[8192], again[8192];
    size_t path_bytes, text_bytes, again_bytes;
    (void)larder_path_format(input, text, sizeof text, &text_bytes, NULL);
    if (larder_path_parse(input, path, sizeof path, &path_bytes, NULL) != LARDER_OK) return;
    larder_bytes parsed = larder__bytes(path, path_bytes);
    MUST(larder_path_format(parsed, text, sizeof text, &text_bytes, NULL));
    MUST(larder_path_parse(larder__bytes(text, text_bytes), again, sizeof again, &again_bytes,
                           NULL));
    EXERCISE_REQUIRE(larder__bytes_equal(larder__bytes(again, again_bytes), parsed));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    larder_bytes input = {data, size}, result;
    larder_record record;
    if (!builder) MUST(larder_builder_create(NULL, &builder, NULL));
    larder_builder_reset(builder);
    exercise_record(input, builder);
    if (larder_record_open(input, 0, 0, &record, NULL) == LARDER_OK) rebuild_record(&record, input);
    exercise_value(input);
    if (larder_value_validate(input, 20, NULL) == LARDER_OK) {
        larder_builder_reset(builder);
        rebuild(input);
        MUST(larder_builder_finish_value(builder, &result, NULL));
        EXERCISE_REQUIRE(larder__bytes_equal(result, input));
    }
    exercise_path(input);
    /* the input as a mask for itself */
    if (larder_record_open(input, 0, 0, &record, NULL) == LARDER_OK && size > 8) {
        larder_bytes mask[2] = {{data + size / 2, size / 4}, {data + size / 3, size / 5}};
        (void)larder_record_patch(&record, &record, mask, 2, builder, &result, NULL);
    }
    return 0;
}

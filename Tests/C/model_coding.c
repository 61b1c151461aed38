/* model_coding.c - values of model.h, encoded and decoded. */
#include "make.h"
#include "model.h"
#include "test.h"

void model_build(larder_builder *builder, const model *value) {
    larder_bytes previous = {NULL, 0};
    switch (value->type) {
    case LARDER_TYPE_NULL:
        CHECK_OK(larder_builder_null(builder, &test_error));
        break;
    case LARDER_TYPE_BOOLEAN:
        CHECK_OK(larder_builder_boolean(builder, value->boolean, &test_error));
        break;
    case LARDER_TYPE_INTEGER:
        CHECK_OK(larder_builder_integer(builder, value->integer, &test_error));
        break;
    case LARDER_TYPE_DOUBLE:
        CHECK_OK(larder_builder_double(builder, value->number, &test_error));
        break;
    case LARDER_TYPE_TIMESTAMP:
        CHECK_OK(larder_builder_timestamp(builder, value->time, &test_error));
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        if (value->previous) previous = model_encode(value->previous);
        CHECK_OK(larder_builder_server_timestamp(builder, value->time, previous, &test_error));
        break;
    case LARDER_TYPE_STRING:
        CHECK_OK(larder_builder_string(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_BYTES:
        CHECK_OK(larder_builder_bytes(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_REFERENCE:
        CHECK_OK(larder_builder_reference(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_GEO_POINT:
        CHECK_OK(larder_builder_geo_point(builder, value->number, value->second, &test_error));
        break;
    case LARDER_TYPE_VECTOR:
        CHECK_OK(larder_builder_vector(builder, value->numbers, value->count, &test_error));
        break;
    case LARDER_TYPE_ARRAY:
        CHECK_OK(larder_builder_begin_array(builder, &test_error));
        for (size_t i = 0; i < value->count; i++)
            model_build(builder, value->items[i]);
        CHECK_OK(larder_builder_end_array(builder, &test_error));
        break;
    case LARDER_TYPE_MAP: {
        CHECK_OK(larder_builder_begin_map(builder, &test_error));
        /* from a random name on, and round */
        size_t first = value->count ? test_random_below(value->count) : 0;
        for (size_t i = 0; i < value->count; i++) {
            size_t at = (first + i) % value->count;
            CHECK_OK(larder_builder_name(builder, value->names[at], &test_error));
            model_build(builder, value->items[at]);
        }
        CHECK_OK(larder_builder_end_map(builder, &test_error));
        break;
    }
    default:
        CHECK(false);
    }
}

static larder_bytes encode(const model *value, bool as_record) {
    larder_builder *builder = NULL;
    larder_bytes bytes = {NULL, 0};
    if (larder_builder_create(NULL, &builder, &test_error) != LARDER_OK) abort();
    model_build(builder, value);
    CHECK_OK(as_record ? larder_builder_finish_record(builder, &bytes, &test_error)
                       : larder_builder_finish_value(builder, &bytes, &test_error));
    bytes = make_copy(bytes);
    larder_builder_close(builder);
    return bytes;
}

larder_bytes model_encode(const model *value) { return encode(value, false); }
larder_bytes model_encode_record(const model *map) { return encode(map, true); }

const model *model_decode(larder_bytes value) {
    int32_t type = larder_value_type(value), boolean = 0, status = LARDER_OK;
    larder_bytes name, item;
    if (type < 0) return NULL;
    model *made = model_new(type);
    switch (type) {
    case LARDER_TYPE_NULL:
        break;
    case LARDER_TYPE_BOOLEAN:
        status = larder_value_get_boolean(value, &boolean);
        made->boolean = boolean != 0;
        break;
    case LARDER_TYPE_INTEGER:
        status = larder_value_get_integer(value, &made->integer);
        break;
    case LARDER_TYPE_DOUBLE:
        status = larder_value_get_double(value, &made->number);
        break;
    case LARDER_TYPE_TIMESTAMP:
        status = larder_value_get_timestamp(value, &made->time);
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        status = larder_value_get_server_timestamp(value, &made->time, &item);
        if (status == LARDER_OK && item.size_bytes > 0 && !(made->previous = model_decode(item)))
            return NULL;
        break;
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_BYTES:
    case LARDER_TYPE_REFERENCE:
        status = larder_value_get_bytes(value, &made->text);
        break;
    case LARDER_TYPE_GEO_POINT:
        status = larder_value_get_geo_point(value, &made->number, &made->second);
        break;
    case LARDER_TYPE_VECTOR:
        if (larder_value_count(value, &made->count) != LARDER_OK) return NULL;
        made->numbers = model_keep(NULL, made->count * sizeof *made->numbers);
        for (size_t i = 0; status == LARDER_OK && i < made->count; i++)
            status = larder_value_get_component(value, i, &made->numbers[i]);
        break;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        if (larder_value_count(value, &made->count) != LARDER_OK) return NULL;
        made->items = model_keep(NULL, made->count * sizeof *made->items);
        made->names = model_keep(NULL, made->count * sizeof *made->names);
        for (size_t i = 0; status == LARDER_OK && i < made->count; i++) {
            status = type == LARDER_TYPE_ARRAY ? larder_value_get_element(value, i, &item)
                                               : larder_value_get_entry(value, i, &name, &item);
            if (status == LARDER_OK && type == LARDER_TYPE_MAP) made->names[i] = make_copy(name);
            if (status == LARDER_OK && !(made->items[i] = model_decode(item))) return NULL;
        }
        break;
    default:
        return NULL;
    }
    return status == LARDER_OK ? made : NULL;
}

const model *model_decode_record(const larder_record *record) {
    model *map = model_new(LARDER_TYPE_MAP);
    map->count = larder_record_count(record);
    map->items = model_keep(NULL, map->count * sizeof *map->items);
    map->names = model_keep(NULL, map->count * sizeof *map->names);
    for (size_t i = 0; i < map->count; i++) {
        larder_bytes value;
        int32_t type;
        if (larder_record_get_entry(record, i, &map->names[i], &value, &type) != LARDER_OK)
            return NULL;
        map->names[i] = make_copy(map->names[i]);
        map->items[i] = model_decode(value);
        if (!map->items[i] || map->items[i]->type != type) return NULL;
    }
    return map;
}

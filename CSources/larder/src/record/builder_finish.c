/*
 * builder_finish.c - puts the root map, which a builder leaves in parts, together as a record or as a
 * value.
 */
#include "base/error.h"
#include "builder_parts.h"

static int32_t misuse(larder_error *error, const char *text) {
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "builder: %s", text);
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "builder: out of memory");
}

void larder__builder_put_head(uint8_t *to, const larder__builder_part *parts, size_t count,
                              size_t body_bytes) {
    uint32_t width = larder__container_width(body_bytes);
    uint8_t *ends = larder__container_begin(to, count, width);
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        end += parts[i].end - parts[i].offset;
        larder__container_put_end(ends, width, i, end);
    }
}

int32_t larder_builder_finish_record(larder_builder *builder, larder_bytes *plain,
                                     larder_error *error) {
    if (!builder || !plain) return misuse(error, "builder or plain is NULL");
    if (builder->root != LARDER__ROOT_DONE) return misuse(error, "the record is not complete");
    if (!builder->root_is_map) return misuse(error, "a record is a map");
    if (builder->saw_max) return misuse(error, "a record cannot hold the maximum value");
    const larder__builder_part *parts = builder->parts;
    size_t count = builder->part_count;
    size_t name_bytes = 0, value_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        name_bytes += parts[i].name_size;
        value_bytes += parts[i].end - parts[i].offset - parts[i].name_at - parts[i].name_size;
    }
    size_t names = larder__container_head(count, name_bytes) + name_bytes;
    size_t total = 2 + larder__varint_size(names) + names +
                   larder__container_head(count, value_bytes) + value_bytes;
    builder->result.size_bytes = 0;
    if (!larder__buffer_reserve(&builder->result, total)) return no_memory(error);

    uint8_t *to = builder->result.data;
    *to++ = LARDER__RECORD_MAGIC;
    *to++ = LARDER__RECORD_VERSION;
    to += larder__varint_put(to, names);
    uint32_t name_width = larder__container_width(name_bytes);
    uint32_t value_width = larder__container_width(value_bytes);
    uint8_t *name_ends = larder__container_begin(to, count, name_width);
    uint8_t *value_ends = larder__container_begin(to + names, count, value_width);
    uint8_t *name_to = name_ends + count * name_width;
    uint8_t *value_to = value_ends + count * value_width;
    size_t name_end = 0, value_end = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *name = builder->data.data + parts[i].offset + parts[i].name_at;
        const uint8_t *value = name + parts[i].name_size;
        size_t value_size = (size_t)(builder->data.data + parts[i].end - value);
        memcpy(name_to + name_end, name, parts[i].name_size);
        memcpy(value_to + value_end, value, value_size);
        name_end += parts[i].name_size;
        value_end += value_size;
        larder__container_put_end(name_ends, name_width, i, name_end);
        larder__container_put_end(value_ends, value_width, i, value_end);
    }
    builder->result.size_bytes = total;
    builder->finished = true;
    *plain = larder__bytes(builder->result.data, total);
    return LARDER_OK;
}

int32_t larder_builder_finish_value(larder_builder *builder, larder_bytes *value,
                                    larder_error *error) {
    if (!builder || !value) return misuse(error, "builder or value is NULL");
    if (builder->root != LARDER__ROOT_DONE) return misuse(error, "the value is not complete");
    if (!builder->root_is_map) {
        builder->finished = true;
        *value = larder__bytes(builder->data.data, builder->data.size_bytes);
        return LARDER_OK;
    }
    const larder__builder_part *parts = builder->parts;
    size_t count = builder->part_count;
    size_t body_bytes = 0;
    for (size_t i = 0; i < count; i++)
        body_bytes += parts[i].end - parts[i].offset;
    size_t head = larder__container_head(count, body_bytes);
    builder->result.size_bytes = 0;
    if (!larder__buffer_reserve(&builder->result, 1 + head + body_bytes)) return no_memory(error);
    uint8_t *to = builder->result.data;
    *to++ = LARDER__TAG_MAP;
    larder__builder_put_head(to, parts, count, body_bytes);
    to += head;
    for (size_t i = 0; i < count; i++) {
        size_t size = parts[i].end - parts[i].offset;
        memcpy(to, builder->data.data + parts[i].offset, size);
        to += size;
    }
    builder->result.size_bytes = 1 + head + body_bytes;
    builder->finished = true;
    *value = larder__bytes(builder->result.data, builder->result.size_bytes);
    return LARDER_OK;
}

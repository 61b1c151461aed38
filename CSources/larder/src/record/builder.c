/*
 * builder.c - makes encoded values and plain records.
 *
 * Bodies are written one after the other into data. Of each open array or map the builder keeps
 * a frame, and of each element or entry in it a part; both are stacks, so that a closed
 * container leaves nothing behind but its bytes. When a container ends, its bodies move up by
 * the size of the head and the head is written in front; entries that came out of order are
 * first gathered in order in scratch. The root map is left in parts: builder_finish.c puts it
 * together as a record or as a value.
 *
 *     data    ... | 42 | name value | name value |          (an open map)
 *     parts   ...        ^ part       ^ part
 *
 * Memory is kept from one use to the next. A call that fails leaves the builder as it was: the
 * caller may go on with another value, or reset. Only the first call after a finish, whatever
 * its outcome, discards what was finished.
 */
#include "builder.h"
#include "base/error.h"
#include "base/process.h"
#include "builder_parts.h"

#include <assert.h>
#include <math.h>

#define DATA_MAX (UINT32_C(1) << 30)
#define SMALL_SORT 24 /* parts up to which insertion is used */

typedef larder__builder_part part;
typedef larder__builder_frame frame;

static int32_t misuse(larder_error *error, const char *text) {
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "builder: %s", text);
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "builder: out of memory");
}

int32_t larder_builder_create(const larder_allocator *allocator, larder_builder **builder,
                              larder_error *error) {
    if (!builder || !larder__is_allocator(allocator))
        return misuse(error, "builder or a function of the allocator is NULL");
    if (!allocator) allocator = &larder__default_allocator;
    larder_builder *made = larder__allocate(allocator, sizeof *made);
    if (!made) return no_memory(error);
    memset(made, 0, sizeof *made);
    made->allocator = *allocator;
    made->data.allocator = &made->allocator;
    made->scratch.allocator = &made->allocator;
    made->result.allocator = &made->allocator;
    made->workspace.allocator = &made->allocator;
    larder__handle_opened();
    *builder = made;
    return LARDER_OK;
}

void larder_builder_close(larder_builder *builder) {
    if (!builder) return;
    larder_allocator allocator = builder->allocator;
    larder__buffer_free(&builder->data);
    larder__buffer_free(&builder->scratch);
    larder__buffer_free(&builder->result);
    larder__buffer_free(&builder->workspace);
    larder__release(&allocator, builder->parts);
    larder__release(&allocator, builder);
    larder__handle_closed();
}

void larder_builder_reset(larder_builder *builder) {
    if (!builder) return;
    builder->data.size_bytes = 0;
    builder->part_count = 0;
    builder->depth = 0;
    builder->root = LARDER__ROOT_NONE;
    builder->root_is_map = false;
    builder->saw_max = false;
    builder->finished = false;
}

larder__buffer *larder__builder_workspace(larder_builder *builder) { return &builder->workspace; }

static int32_t too_large(larder_error *error) {
    return larder__fail(error, LARDER_E_TOO_LARGE, "builder: more than 1 GiB");
}

static int32_t reserve(larder_builder *builder, size_t bytes, larder_error *error) {
    if (bytes > DATA_MAX - builder->data.size_bytes) return too_large(error);
    if (bytes <= builder->data.capacity_bytes - builder->data.size_bytes) return LARDER_OK;
    return larder__buffer_reserve(&builder->data, bytes) ? LARDER_OK : no_memory(error);
}

static int32_t reserve_part(larder_builder *builder, larder_error *error) {
    if (builder->part_count < builder->part_capacity) return LARDER_OK;
    size_t capacity = builder->part_capacity < 32 ? 32 : builder->part_capacity * 2;
    part *parts = larder__allocate(&builder->allocator, capacity * sizeof *parts);
    if (!parts) return no_memory(error);
    if (builder->part_count > 0) memcpy(parts, builder->parts, builder->part_count * sizeof *parts);
    larder__release(&builder->allocator, builder->parts);
    builder->parts = parts;
    builder->part_capacity = capacity;
    return LARDER_OK;
}

static inline frame *top_frame(larder_builder *builder) {
    return builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
}

/* Whether a value may come now; makes room for bytes of it and its part. */
static int32_t place(larder_builder *builder, size_t bytes, larder_error *error) {
    if (!builder) return misuse(error, "it is NULL");
    if (builder->finished) larder_builder_reset(builder);
    const frame *top = top_frame(builder);
    if (!top && builder->root != LARDER__ROOT_NONE) return misuse(error, "the value is complete");
    if (top && top->is_map && !top->is_named) return misuse(error, "a value in a map has no name");
    if (top && !top->is_map) {
        int32_t status = reserve_part(builder, error);
        if (status != LARDER_OK) return status;
    }
    return reserve(builder, bytes, error);
}

/* A value of so many bytes was written behind data. */
static void placed(larder_builder *builder, size_t bytes) {
    uint32_t offset = (uint32_t)builder->data.size_bytes;
    builder->data.size_bytes += bytes;
    frame *top = top_frame(builder);
    if (!top) {
        builder->root = LARDER__ROOT_DONE;
        return;
    }
    if (top->is_map) {
        top->is_named = false;
    } else {
        part element = {0, offset, 0, 0, 0};
        builder->parts[builder->part_count++] = element;
    }
    builder->parts[builder->part_count - 1].end = (uint32_t)builder->data.size_bytes;
}

static inline uint8_t *behind(larder_builder *builder) {
    return builder->data.data + builder->data.size_bytes;
}

/* A value of tag and payload. */
static int32_t add(larder_builder *builder, uint8_t tag, const void *payload, size_t size,
                   larder_error *error) {
    if (size >= DATA_MAX) return too_large(error);
    if (!payload && size > 0) return misuse(error, "a value is NULL");
    int32_t status = place(builder, 1 + size, error);
    if (status != LARDER_OK) return status;
    uint8_t *to = behind(builder);
    to[0] = tag;
    if (size > 0) memcpy(to + 1, payload, size);
    placed(builder, 1 + size);
    return LARDER_OK;
}

/* ---- scalars ---- */

int32_t larder_builder_null(larder_builder *builder, larder_error *error) {
    return add(builder, LARDER__TAG_NULL, NULL, 0, error);
}

int32_t larder_builder_boolean(larder_builder *builder, int32_t boolean, larder_error *error) {
    return add(builder, boolean ? LARDER__TAG_TRUE : LARDER__TAG_FALSE, NULL, 0, error);
}

int32_t larder_builder_integer(larder_builder *builder, int64_t integer, larder_error *error) {
    int32_t status = place(builder, 9, error);
    if (status != LARDER_OK) return status;
    size_t size = larder__integer_bytes(integer);
    uint8_t *to = behind(builder);
    to[0] = (uint8_t)(LARDER__TAG_INTEGER + size);
    larder__store64(to + 1, (uint64_t)integer); /* there is room for all of it */
    placed(builder, 1 + size);
    return LARDER_OK;
}

static inline void put_double(uint8_t *to, double number) {
    uint64_t bits = LARDER__NAN_BITS;
    if (number == number) memcpy(&bits, &number, 8);
    larder__store64(to, bits);
}

int32_t larder_builder_double(larder_builder *builder, double number, larder_error *error) {
    uint8_t payload[8];
    put_double(payload, number);
    return add(builder, LARDER__TAG_DOUBLE, payload, sizeof payload, error);
}

static int32_t check_time(larder_time time, larder_error *error) {
    return larder__time_is_valid(time)
               ? LARDER_OK
               : misuse(error, "a timestamp lies outside of the years 1 to 9999");
}

int32_t larder_builder_timestamp(larder_builder *builder, larder_time time, larder_error *error) {
    int32_t status = check_time(time, error);
    if (status != LARDER_OK) return status;
    uint8_t payload[LARDER__TIME_BYTES];
    larder__time_put(payload, time);
    return add(builder, LARDER__TAG_TIMESTAMP, payload, sizeof payload, error);
}

int32_t larder_builder_string(larder_builder *builder, larder_bytes text, larder_error *error) {
    if (text.size_bytes >= DATA_MAX) return too_large(error);
    if (!larder__utf8_is_valid(text)) return misuse(error, "a string is not UTF-8");
    return add(builder, LARDER__TAG_STRING, text.data, text.size_bytes, error);
}

int32_t larder_builder_bytes(larder_builder *builder, larder_bytes content, larder_error *error) {
    return add(builder, LARDER__TAG_BYTES, content.data, content.size_bytes, error);
}

int32_t larder_builder_reference(larder_builder *builder, larder_bytes name, larder_error *error) {
    if (name.size_bytes >= DATA_MAX) return too_large(error);
    if (!larder__utf8_is_valid(name)) return misuse(error, "a reference is not UTF-8");
    return add(builder, LARDER__TAG_REFERENCE, name.data, name.size_bytes, error);
}

int32_t larder_builder_geo_point(larder_builder *builder, double latitude, double longitude,
                                 larder_error *error) {
    if (!(fabs(latitude) <= 90 && fabs(longitude) <= 180))
        return misuse(error, "a geo point is not within 90 and 180 degrees");
    uint8_t payload[16];
    put_double(payload, latitude);
    put_double(payload + 8, longitude);
    return add(builder, LARDER__TAG_GEO_POINT, payload, sizeof payload, error);
}

int32_t larder_builder_vector(larder_builder *builder, const double *components,
                              size_t component_count, larder_error *error) {
    if (component_count >= DATA_MAX / 8) return too_large(error);
    if (!components && component_count > 0) return misuse(error, "components is NULL");
    size_t size = 1 + 8 * component_count;
    int32_t status = place(builder, size, error);
    if (status != LARDER_OK) return status;
    uint8_t *to = behind(builder);
    *to++ = LARDER__TAG_VECTOR;
    for (size_t i = 0; i < component_count; i++)
        put_double(to + 8 * i, components[i]);
    placed(builder, size);
    return LARDER_OK;
}

int32_t larder_builder_max(larder_builder *builder, larder_error *error) {
    int32_t status = add(builder, LARDER__TAG_MAX, NULL, 0, error);
    if (status == LARDER_OK) builder->saw_max = true;
    return status;
}

/* ---- encoded values ---- */

static int32_t check_value(larder_builder *builder, larder_bytes value, larder__value_check *check,
                           larder_error *error) {
    if (!builder) return misuse(error, "it is NULL");
    size_t open = builder->finished ? 0 : builder->depth;
    memset(check, 0, sizeof *check);
    check->max_depth = (uint32_t)(LARDER__BUILDER_DEPTH_MAX - open);
    if (larder__check_value(check, larder__input(value), 0)) return LARDER_OK;
    return larder__fail(error, check->status, "builder: %s", check->problem);
}

int32_t larder__builder_raw(larder_builder *builder, larder_bytes value, larder_error *error) {
    assert(value.size_bytes > 0);
    return add(builder, *larder__begin(value), larder__begin(value) + 1, value.size_bytes - 1,
               error);
}

int32_t larder_builder_value(larder_builder *builder, larder_bytes value, larder_error *error) {
    larder__value_check check;
    int32_t status = check_value(builder, value, &check, error);
    if (status != LARDER_OK) return status;
    status = larder__builder_raw(builder, value, error);
    if (status == LARDER_OK && check.saw_max) builder->saw_max = true;
    return status;
}

int32_t larder_builder_server_timestamp(larder_builder *builder, larder_time write_time,
                                        larder_bytes previous, larder_error *error) {
    int32_t status = check_time(write_time, error);
    if (status != LARDER_OK) return status;
    larder__value_check check = {0};
    if (previous.size_bytes > 0) {
        status = check_value(builder, previous, &check, error);
        if (status != LARDER_OK) return status;
        larder_time ignored;
        if (*larder__begin(previous) == LARDER__TAG_SERVER_TIMESTAMP)
            (void)larder_value_get_server_timestamp(previous, &ignored, &previous);
    }
    size_t head = 1 + LARDER__TIME_BYTES;
    if (previous.size_bytes >= DATA_MAX - head) return too_large(error);
    status = place(builder, head + previous.size_bytes, error);
    if (status != LARDER_OK) return status;
    uint8_t *to = behind(builder);
    to[0] = LARDER__TAG_SERVER_TIMESTAMP;
    larder__time_put(to + 1, write_time);
    if (previous.size_bytes > 0) memcpy(to + head, previous.data, previous.size_bytes);
    placed(builder, head + previous.size_bytes);
    if (check.saw_max) builder->saw_max = true;
    return LARDER_OK;
}

/* ---- names ---- */

static inline uint64_t prefix_of(larder_bytes name) {
    const uint8_t *at = larder__begin(name);
    size_t size = name.size_bytes;
    if (size >= 8) return larder__load64_big(at);
    unsigned unused = 64 - 8 * (unsigned)size;
    if (size >= 4) /* two loads that overlap */
        return (uint64_t)larder__load32_big(at) << 32 | (uint64_t)larder__load32_big(at + size - 4)
                                                            << unused;
    return (uint64_t)at[0] << 56 | (uint64_t)at[size / 2] << (size == 1 ? 56 : 48) |
           (uint64_t)at[size - 1] << unused;
}

/* Bit 7 of each byte: clear in ASCII. */
#define NOT_ASCII 0x8080808080808080u

int32_t larder_builder_name(larder_builder *builder, larder_bytes name, larder_error *error) {
    frame *top = !builder || builder->finished ? NULL : top_frame(builder);
    if (!top || !top->is_map) return misuse(error, "a name outside of a map");
    if (top->is_named) return misuse(error, "a name follows a name");
    if (name.size_bytes == 0 || !name.data)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a field name is empty");
    if (name.size_bytes > LARDER_FIELD_NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "a field name of %zu bytes: 1,500 are "
                            "allowed",
                            name.size_bytes);
    uint64_t prefix = prefix_of(name);
    bool is_ascii = name.size_bytes <= 8 && (prefix & NOT_ASCII) == 0;
    if (!is_ascii && !larder__utf8_is_valid(name))
        return larder__fail(error, LARDER_E_INVALID_NAME, "a field name is not UTF-8");
    int32_t status = reserve_part(builder, error);
    if (status == LARDER_OK) status = reserve(builder, LARDER__VARINT_MAX + name.size_bytes, error);
    if (status != LARDER_OK) return status;
    uint8_t *to = behind(builder);
    size_t length_bytes = larder__varint_put(to, name.size_bytes);
    memcpy(to + length_bytes, name.data, name.size_bytes);
    part entry = {prefix, (uint32_t)builder->data.size_bytes, 0, (uint16_t)length_bytes,
                  (uint16_t)name.size_bytes};
    builder->parts[builder->part_count++] = entry;
    builder->data.size_bytes += length_bytes + name.size_bytes;
    top->is_named = true;
    return LARDER_OK;
}

static larder_bytes part_name(const uint8_t *data, const part *entry) {
    return larder__bytes(data + entry->offset + entry->name_at, entry->name_size);
}

static inline int compare_names(const part *a, const part *b, const uint8_t *data) {
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return larder__bytes_compare(part_name(data, a), part_name(data, b));
}

static int compare_parts(const void *left, const void *right, const void *data) {
    return compare_names(left, right, data);
}

/* Puts parts in the order of their names. *sorted: they were. False when a name comes twice:
 * *twice is one of the two. */
static bool sort_parts(part *parts, size_t count, const uint8_t *data, bool *sorted,
                       const part **twice) {
    size_t at = 1;
    while (at < count && compare_names(&parts[at - 1], &parts[at], data) < 0)
        at++;
    *sorted = at >= count;
    if (*sorted) return true;
    if (count <= SMALL_SORT) {
        for (; at < count; at++) {
            part held = parts[at];
            size_t to = at;
            while (to > 0 && compare_names(&held, &parts[to - 1], data) < 0) {
                parts[to] = parts[to - 1];
                to--;
            }
            parts[to] = held;
        }
    } else {
        larder__sort(parts, count, sizeof *parts, compare_parts, data);
    }
    for (size_t i = 1; i < count; i++) {
        if (compare_names(&parts[i - 1], &parts[i], data) == 0) {
            *twice = &parts[i];
            return false;
        }
    }
    return true;
}

/* ---- arrays and maps ---- */

static int32_t begin(larder_builder *builder, bool is_map, larder_error *error) {
    int32_t status = place(builder, 1, error);
    if (status != LARDER_OK) return status;
    if (builder->depth == LARDER__BUILDER_DEPTH_MAX)
        return larder__fail(error, LARDER_E_TOO_DEEP, "builder: nested deeper than %d",
                            LARDER__BUILDER_DEPTH_MAX);
    frame *top = top_frame(builder);
    if (top && !top->is_map) {
        part element = {0, (uint32_t)builder->data.size_bytes, 0, 0, 0};
        builder->parts[builder->part_count++] = element;
    }
    if (!top) {
        builder->root = LARDER__ROOT_OPEN;
        builder->root_is_map = is_map;
    }
    *behind(builder) = is_map ? LARDER__TAG_MAP : LARDER__TAG_ARRAY;
    builder->data.size_bytes++;
    frame opened = {(uint32_t)builder->data.size_bytes, (uint32_t)builder->part_count, is_map,
                    false};
    builder->frames[builder->depth++] = opened;
    return LARDER_OK;
}

static int32_t end(larder_builder *builder, bool is_map, larder_error *error) {
    if (!builder || builder->finished || builder->depth == 0 ||
        top_frame(builder)->is_map != is_map)
        return misuse(error, is_map ? "no map is open here" : "no array is open here");
    frame *top = top_frame(builder);
    if (top->is_named) return misuse(error, "a map ends behind a name without value");
    part *parts = builder->parts + top->first;
    size_t count = builder->part_count - top->first;
    size_t body_bytes = builder->data.size_bytes - top->start;
    bool sorted = true;
    const part *twice = NULL;
    if (is_map && !sort_parts(parts, count, builder->data.data, &sorted, &twice))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "field \"%.*s\" comes twice",
                            (int)twice->name_size,
                            (const char *)part_name(builder->data.data, twice).data);
    if (is_map && builder->depth == 1) { /* left for finish */
        builder->depth = 0;
        builder->root = LARDER__ROOT_DONE;
        return LARDER_OK;
    }
    size_t head = larder__container_head(count, body_bytes);
    int32_t status = reserve(builder, head, error);
    if (status != LARDER_OK) return status;
    uint8_t *bodies = builder->data.data + top->start;
    if (sorted) {
        memmove(bodies + head, bodies, body_bytes);
    } else {
        builder->scratch.size_bytes = 0;
        if (!larder__buffer_reserve(&builder->scratch, body_bytes)) return no_memory(error);
        uint8_t *to = builder->scratch.data;
        for (size_t i = 0; i < count; i++) {
            size_t size = parts[i].end - parts[i].offset;
            memcpy(to, builder->data.data + parts[i].offset, size);
            to += size;
        }
        memcpy(bodies + head, builder->scratch.data, body_bytes);
    }
    larder__builder_put_head(bodies, parts, count, body_bytes);
    builder->data.size_bytes += head;
    builder->part_count = top->first;
    builder->depth--;
    frame *outer = top_frame(builder);
    if (!outer) {
        builder->root = LARDER__ROOT_DONE;
    } else {
        builder->parts[builder->part_count - 1].end = (uint32_t)builder->data.size_bytes;
        outer->is_named = false;
    }
    return LARDER_OK;
}

int32_t larder_builder_begin_array(larder_builder *builder, larder_error *error) {
    return begin(builder, false, error);
}
int32_t larder_builder_end_array(larder_builder *builder, larder_error *error) {
    return end(builder, false, error);
}
int32_t larder_builder_begin_map(larder_builder *builder, larder_error *error) {
    return begin(builder, true, error);
}
int32_t larder_builder_end_map(larder_builder *builder, larder_error *error) {
    return end(builder, true, error);
}

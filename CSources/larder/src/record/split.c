/*
 * split.c - a plain record taken apart for storing, and put together again.
 *
 *     plain values   a | BIG b | c | BIG d
 *     hot            a | cold 0 | c | cold 1        cold   BIG b | BIG d
 *
 * Cold positions count up in the order of fields. So the plain form's size follows from the hot
 * values and the cold container's size alone, without decompressing.
 */
#include "base/error.h"
#include "record.h"

static inline bool can_be_cold(uint8_t tag) {
    return tag == LARDER__TAG_STRING || tag == LARDER__TAG_BYTES || tag == LARDER__TAG_ARRAY ||
           tag == LARDER__TAG_VECTOR || tag == LARDER__TAG_MAP;
}

static inline bool goes_cold(larder_bytes value, size_t cold_field_bytes) {
    return value.size_bytes >= cold_field_bytes && can_be_cold(*larder__begin(value));
}

int32_t larder__record_split(const larder_record *plain, size_t cold_field_bytes,
                             larder__buffer *hot, larder__buffer *cold, larder_error *error) {
    hot->size_bytes = 0;
    cold->size_bytes = 0;
    larder__container values;
    if (!larder__container_open(plain->values, &values))
        return larder__fail(error, LARDER_E_INVALID_RECORD, "record: the values are malformed");
    size_t hot_bytes = 0, cold_bytes = 0, cold_count = 0, start = 0;
    for (size_t i = 0; i < values.count; i++) {
        larder_bytes value = larder__container_walk(&values, i, &start);
        if (value.size_bytes == 0 || *larder__begin(value) == LARDER__TAG_COLD)
            return larder__fail(error, LARDER_E_INVALID_RECORD, "record: it is not a plain one");
        if (goes_cold(value, cold_field_bytes)) {
            cold_bytes += value.size_bytes;
            hot_bytes += 2 + larder__varint_size(cold_count++);
        } else {
            hot_bytes += value.size_bytes;
        }
    }
    if (cold_count == 0) {
        if (larder__buffer_append(hot, plain->values.data, plain->values.size_bytes))
            return LARDER_OK;
        return larder__fail(error, LARDER_E_NO_MEMORY, "record: out of memory");
    }
    size_t hot_size = larder__container_head(values.count, hot_bytes) + hot_bytes;
    size_t cold_size = larder__container_head(cold_count, cold_bytes) + cold_bytes;
    if (!larder__buffer_reserve(hot, hot_size) || !larder__buffer_reserve(cold, cold_size))
        return larder__fail(error, LARDER_E_NO_MEMORY, "record: out of memory");
    uint32_t hot_width = larder__container_width(hot_bytes);
    uint32_t cold_width = larder__container_width(cold_bytes);
    uint8_t *hot_ends = larder__container_begin(hot->data, values.count, hot_width);
    uint8_t *cold_ends = larder__container_begin(cold->data, cold_count, cold_width);
    uint8_t *hot_to = hot_ends + values.count * hot_width;
    uint8_t *cold_to = cold_ends + cold_count * cold_width;
    size_t hot_end = 0, cold_end = 0, position = 0;
    start = 0;
    for (size_t i = 0; i < values.count; i++) {
        larder_bytes value = larder__container_walk(&values, i, &start);
        if (goes_cold(value, cold_field_bytes)) {
            memcpy(cold_to + cold_end, value.data, value.size_bytes);
            cold_end += value.size_bytes;
            larder__container_put_end(cold_ends, cold_width, position, cold_end);
            hot_to[hot_end++] = LARDER__TAG_COLD;
            hot_to[hot_end++] = *larder__begin(value);
            hot_end += larder__varint_put(hot_to + hot_end, position++);
        } else {
            memcpy(hot_to + hot_end, value.data, value.size_bytes);
            hot_end += value.size_bytes;
        }
        larder__container_put_end(hot_ends, hot_width, i, hot_end);
    }
    hot->size_bytes = hot_size;
    cold->size_bytes = cold_size;
    return LARDER_OK;
}

/* ---- putting together ---- */

/* A value of the hot container: a cold tag or a value. */
static inline bool is_cold(larder_bytes value) {
    return value.size_bytes > 0 && *larder__begin(value) == LARDER__TAG_COLD;
}

/* The parts of the plain form that hot values give. */
typedef struct layout {
    larder__container values;
    size_t hot_bytes; /* bodies that are not cold */
    size_t cold_count;
    size_t cold_bytes; /* bodies in the cold container */
} layout;

/* The bytes of count bodies in a canonical container of raw_bytes; false when none has it. */
static bool bodies_of(size_t raw_bytes, size_t count, size_t *body_bytes) {
    for (uint32_t width = 1; width <= 4; width *= 2) {
        size_t head = larder__varint_size(count) + 1 + width * count;
        if (raw_bytes < head) return false;
        *body_bytes = raw_bytes - head;
        if (larder__container_width(*body_bytes) == width) return true;
    }
    return false;
}

/* False when the hot values are malformed or do not fit a cold container of raw_bytes. */
static bool make_plan(const larder_record *record, size_t raw_bytes, layout *plan) {
    memset(plan, 0, sizeof *plan);
    larder__container *values = &plan->values;
    if (!larder__container_open(record->values, values)) return false;
    size_t start = 0;
    for (size_t i = 0; i < values->count; i++) {
        larder_bytes value = larder__container_walk(values, i, &start);
        if (value.size_bytes == 0) return false;
        if (!is_cold(value)) {
            plan->hot_bytes += value.size_bytes;
            continue;
        }
        const uint8_t *at = larder__begin(value);
        uint64_t position;
        if (value.size_bytes < 3 ||
            larder__varint_get(at + 2, at + value.size_bytes, &position) != value.size_bytes - 2 ||
            position != plan->cold_count || !can_be_cold(at[1]))
            return false;
        plan->cold_count++;
    }
    if (plan->cold_count == 0) return raw_bytes == 0;
    return bodies_of(raw_bytes, plan->cold_count, &plan->cold_bytes);
}

/*
 * Writes the values container at to. The raw cold container lies at the end of the same room and
 * is read while the room fills from the front: what is written never passes what is still to be
 * read, because what follows a point in the plain form is at least what follows it in the cold
 * container, in ends and in bodies. False when the cold container does not fit the plan.
 */
static bool merge(const layout *plan, uint8_t *to, uint8_t *raw, size_t raw_bytes) {
    const larder__container *values = &plan->values;
    larder__container cold;
    if (!larder__container_open(larder__bytes(raw, raw_bytes), &cold) ||
        cold.count != plan->cold_count || cold.width != larder__container_width(plan->cold_bytes) ||
        (size_t)(cold.limit - cold.bodies) != plan->cold_bytes ||
        larder__container_end(&cold, cold.count - 1) != plan->cold_bytes)
        return false;
    uint32_t width = larder__container_width(plan->hot_bytes + plan->cold_bytes);
    uint8_t *ends = larder__container_begin(to, values->count, width);
    size_t start = 0, cold_start = 0, end = 0, position = 0;
    for (size_t i = 0; i < values->count; i++) {
        larder_bytes value = larder__container_walk(values, i, &start);
        if (is_cold(value)) {
            size_t cold_end = larder__container_end(&cold, position++);
            if (cold_end <= cold_start || cold_end > plan->cold_bytes) return false;
            end += cold_end - cold_start;
            cold_start = cold_end;
        } else {
            end += value.size_bytes;
        }
        larder__container_put_end(ends, width, i, end);
    }
    uint8_t *bodies = ends + width * values->count;
    const uint8_t *from = cold.bodies;
    size_t at = 0;
    start = 0;
    for (size_t i = 0; i < values->count; i++) {
        larder_bytes value = larder__container_walk(values, i, &start);
        if (!is_cold(value)) {
            memcpy(bodies + at, value.data, value.size_bytes);
            at += value.size_bytes;
            continue;
        }
        size_t size = (width == 1   ? ends[i]
                       : width == 2 ? larder__load16(ends + 2 * i)
                                    : larder__load32(ends + 4 * i)) -
                      at;
        memmove(bodies + at, from, size);
        if (bodies[at] != larder__begin(value)[1]) return false;
        from += size;
        at += size;
    }
    return true;
}

int32_t larder_record_copy(const larder_record *record, void *buffer, size_t capacity_bytes,
                           size_t *needed_bytes, larder_error *error) {
    if (record == NULL || needed_bytes == NULL || !larder__is_room(buffer, capacity_bytes))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "record: the record, needed_bytes or the buffer is NULL");
    bool loaded = (record->flags & LARDER__RECORD_LOADED) != 0;
    size_t raw_bytes = loaded ? record->cold.size_bytes : larder_record_cold_bytes(record);
    layout plan;
    if (record->names.size_bytes == 0 || !make_plan(record, raw_bytes, &plan))
        return larder__fail(error, LARDER_E_CORRUPT, "record: the stored values are malformed");
    size_t body_bytes = plan.hot_bytes + plan.cold_bytes;
    size_t head = 2 + larder__varint_size(record->names.size_bytes) + record->names.size_bytes;
    size_t needed =
        head + (plan.cold_count == 0
                    ? record->values.size_bytes
                    : larder__container_head(plan.values.count, body_bytes) + body_bytes);
    *needed_bytes = needed;
    if (needed > capacity_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                            "record: %zu bytes are needed, %zu are there", needed, capacity_bytes);
    uint8_t *begin = buffer;
    uint8_t *raw = begin + needed - raw_bytes;
    if (plan.cold_count > 0 && loaded) {
        memcpy(raw, record->cold.data, raw_bytes);
    } else if (plan.cold_count > 0) {
        int32_t status = larder__cold_decompress(record->vocabulary, record->dictionary,
                                                 record->cold, raw, raw_bytes, error);
        if (status != LARDER_OK) return status;
    }
    uint8_t *to = begin;
    *to++ = LARDER__RECORD_MAGIC;
    *to++ = LARDER__RECORD_VERSION;
    to += larder__varint_put(to, record->names.size_bytes);
    memcpy(to, record->names.data, record->names.size_bytes);
    to += record->names.size_bytes;
    if (plan.cold_count == 0) {
        memcpy(to, record->values.data, record->values.size_bytes);
    } else if (!merge(&plan, to, raw, raw_bytes)) {
        return larder__fail(error, LARDER_E_CORRUPT, "record: the cold part is malformed");
    }
    return LARDER_OK;
}

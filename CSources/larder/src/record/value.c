/*
 * value.c - reading encoded values in place: tags, times, containers and the accessors.
 *
 * Every accessor checks the bounds of what it reads and nothing else, so that it is safe on any
 * bytes and constant time (look-up by name: logarithmic).
 */
#include "record.h"

/* The type order of Firestore is that of the ranks; see the digest's table of types. */
const larder__tag_info larder__tags[256] = {
    /* rank, type, exact bytes, document bytes */
    [LARDER__TAG_NULL] = {1, LARDER_TYPE_NULL, 1, 1},
    [LARDER__TAG_FALSE] = {2, LARDER_TYPE_BOOLEAN, 1, 1},
    [LARDER__TAG_TRUE] = {2, LARDER_TYPE_BOOLEAN, 1, 1},
    [LARDER__TAG_INTEGER] = {3, LARDER_TYPE_INTEGER, 1, 8},
    [LARDER__TAG_INTEGER + 1] = {3, LARDER_TYPE_INTEGER, 2, 8},
    [LARDER__TAG_INTEGER + 2] = {3, LARDER_TYPE_INTEGER, 3, 8},
    [LARDER__TAG_INTEGER + 3] = {3, LARDER_TYPE_INTEGER, 4, 8},
    [LARDER__TAG_INTEGER + 4] = {3, LARDER_TYPE_INTEGER, 5, 8},
    [LARDER__TAG_INTEGER + 5] = {3, LARDER_TYPE_INTEGER, 6, 8},
    [LARDER__TAG_INTEGER + 6] = {3, LARDER_TYPE_INTEGER, 7, 8},
    [LARDER__TAG_INTEGER + 7] = {3, LARDER_TYPE_INTEGER, 8, 8},
    [LARDER__TAG_INTEGER + 8] = {3, LARDER_TYPE_INTEGER, 9, 8},
    [LARDER__TAG_DOUBLE] = {3, LARDER_TYPE_DOUBLE, 9, 8},
    [LARDER__TAG_TIMESTAMP] = {4, LARDER_TYPE_TIMESTAMP, 1 + LARDER__TIME_BYTES, 8},
    [LARDER__TAG_SERVER_TIMESTAMP] = {5, LARDER_TYPE_SERVER_TIMESTAMP, 0, 8},
    [LARDER__TAG_STRING] = {6, LARDER_TYPE_STRING, 0, 0},
    [LARDER__TAG_BYTES] = {7, LARDER_TYPE_BYTES, 0, 0},
    [LARDER__TAG_REFERENCE] = {8, LARDER_TYPE_REFERENCE, 0, 0},
    [LARDER__TAG_GEO_POINT] = {9, LARDER_TYPE_GEO_POINT, 17, 16},
    [LARDER__TAG_ARRAY] = {10, LARDER_TYPE_ARRAY, 0, 0},
    [LARDER__TAG_VECTOR] = {11, LARDER_TYPE_VECTOR, 0, 0},
    [LARDER__TAG_MAP] = {12, LARDER_TYPE_MAP, 0, 0},
    [LARDER__TAG_MAX] = {13, LARDER_TYPE_MAX, 1, 1},
};

/* ---- times ---- */

bool larder__time_is_valid(larder_time time) {
    return time.seconds >= -LARDER__SECONDS_BEFORE_EPOCH && time.seconds <= LARDER__SECONDS_MAX &&
           time.nanoseconds >= 0 && time.nanoseconds <= LARDER__NANOSECONDS_MAX;
}

void larder__time_put(uint8_t to[LARDER__TIME_BYTES], larder_time time) {
    uint64_t seconds = (uint64_t)(time.seconds + LARDER__SECONDS_BEFORE_EPOCH);
    to[0] = (uint8_t)(seconds >> 32);
    larder__store32_big(to + 1, (uint32_t)seconds);
    larder__store32_big(to + 5, (uint32_t)time.nanoseconds);
}

int larder__time_compare(larder_time a, larder_time b) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds ? -1 : 1;
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds;
}

/* ---- containers ---- */

size_t larder__container_size(const larder__container *c, const uint8_t *begin) {
    size_t head = (size_t)(c->bodies - begin);
    if (c->count == 0) return head;
    size_t body_bytes = larder__container_end(c, c->count - 1);
    return body_bytes <= (size_t)(c->limit - c->bodies) ? head + body_bytes : 0;
}

uint8_t *larder__container_begin(uint8_t *to, size_t count, uint32_t width) {
    to += larder__varint_put(to, count);
    if (count > 0) *to++ = (uint8_t)width;
    return to;
}

/* Compares the first bytes before it calls memcmp: names mostly differ there. */
static inline int name_compare(larder_bytes a, larder_bytes b) {
    if (a.size_bytes > 0 && b.size_bytes > 0) {
        int difference = *larder__begin(a) - *larder__begin(b);
        if (difference != 0) return difference;
    }
    return larder__bytes_compare(a, b);
}

/* Whether names of at most 255 bytes in all, as most are, hold one: lengths are compared first,
 * which leaves about one comparison of bytes. */
static ptrdiff_t scan_names(const larder__container *names, larder_bytes name) {
    size_t start = 0, room = (size_t)(names->limit - names->bodies);
    for (size_t i = 0; i < names->count; i++) {
        size_t end = names->ends[i];
        if (end - start == name.size_bytes && end <= room && end > start &&
            names->bodies[start] == *larder__begin(name) &&
            memcmp(names->bodies + start, name.data, name.size_bytes) == 0)
            return (ptrdiff_t)i;
        start = end;
    }
    return -1;
}

#define SCANNED_MAX 16 /* names; beyond, halving is faster */

ptrdiff_t larder__names_find(const larder__container *names, larder_bytes name) {
    if (names->width == 1 && names->count <= SCANNED_MAX) return scan_names(names, name);
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        larder_bytes found;
        if (!larder__container_get(names, middle, &found)) return -1;
        int order = name_compare(found, name);
        if (order == 0) return (ptrdiff_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- accessors ---- */

static inline uint8_t tag_of(larder_bytes value) { return *larder__begin(value); }

static inline larder_bytes payload_of(larder_bytes value) {
    return larder__bytes(larder__begin(value) + 1, value.size_bytes - 1);
}

/* LARDER_OK when the value has the tag and a size that the tag allows, and there is a place for what
 * is asked of it. */
static inline int32_t expect(larder_bytes value, uint8_t tag, const void *out) {
    if (out == NULL) return LARDER_E_INVALID_ARGUMENT;
    if (larder__input(value).size_bytes == 0) return LARDER_E_INVALID_RECORD;
    const larder__tag_info *info = &larder__tags[tag_of(value)];
    if (info->rank == 0) return LARDER_E_INVALID_RECORD;
    if (tag_of(value) != tag) return LARDER_E_WRONG_TYPE;
    if (info->exact_bytes != 0 && value.size_bytes != info->exact_bytes)
        return LARDER_E_INVALID_RECORD;
    return LARDER_OK;
}

int32_t larder_value_type(larder_bytes value) {
    if (larder__input(value).size_bytes == 0) return LARDER_E_INVALID_RECORD;
    const larder__tag_info *info = &larder__tags[tag_of(value)];
    return info->rank != 0 ? info->type : LARDER_E_INVALID_RECORD;
}

int32_t larder_value_get_boolean(larder_bytes value, int32_t *boolean) {
    if (boolean == NULL) return LARDER_E_INVALID_ARGUMENT;
    int32_t type = larder_value_type(value);
    if (type < 0) return type;
    if (type != LARDER_TYPE_BOOLEAN) return LARDER_E_WRONG_TYPE;
    if (value.size_bytes != 1) return LARDER_E_INVALID_RECORD;
    *boolean = tag_of(value) == LARDER__TAG_TRUE;
    return LARDER_OK;
}

int32_t larder_value_get_integer(larder_bytes value, int64_t *integer) {
    if (integer == NULL) return LARDER_E_INVALID_ARGUMENT;
    int32_t type = larder_value_type(value);
    if (type < 0) return type;
    if (type != LARDER_TYPE_INTEGER) return LARDER_E_WRONG_TYPE;
    if (value.size_bytes != larder__tags[tag_of(value)].exact_bytes) return LARDER_E_INVALID_RECORD;
    *integer = larder__integer_load(larder__begin(value) + 1, value.size_bytes - 1);
    return LARDER_OK;
}

int32_t larder_value_get_double(larder_bytes value, double *number) {
    int32_t status = expect(value, LARDER__TAG_DOUBLE, number);
    if (status != LARDER_OK) return status;
    *number = larder__double_load(larder__begin(value) + 1);
    return LARDER_OK;
}

int32_t larder_value_get_timestamp(larder_bytes value, larder_time *time) {
    int32_t status = expect(value, LARDER__TAG_TIMESTAMP, time);
    if (status != LARDER_OK) return status;
    return larder__time_get(larder__begin(value) + 1, time) ? LARDER_OK : LARDER_E_INVALID_RECORD;
}

int32_t larder_value_get_bytes(larder_bytes value, larder_bytes *content) {
    if (content == NULL) return LARDER_E_INVALID_ARGUMENT;
    int32_t type = larder_value_type(value);
    if (type < 0) return type;
    if (type != LARDER_TYPE_STRING && type != LARDER_TYPE_BYTES && type != LARDER_TYPE_REFERENCE)
        return LARDER_E_WRONG_TYPE;
    *content = payload_of(value);
    return LARDER_OK;
}

int32_t larder_value_get_geo_point(larder_bytes value, double *latitude, double *longitude) {
    int32_t status = expect(value, LARDER__TAG_GEO_POINT, latitude);
    if (longitude == NULL) return LARDER_E_INVALID_ARGUMENT;
    if (status != LARDER_OK) return status;
    *latitude = larder__double_load(larder__begin(value) + 1);
    *longitude = larder__double_load(larder__begin(value) + 9);
    return LARDER_OK;
}

int32_t larder_value_get_server_timestamp(larder_bytes value, larder_time *write_time,
                                          larder_bytes *previous) {
    int32_t status = expect(value, LARDER__TAG_SERVER_TIMESTAMP, write_time);
    if (previous == NULL) return LARDER_E_INVALID_ARGUMENT;
    if (status != LARDER_OK) return status;
    size_t head = 1 + LARDER__TIME_BYTES;
    if (value.size_bytes < head || !larder__time_get(larder__begin(value) + 1, write_time))
        return LARDER_E_INVALID_RECORD;
    size_t rest = value.size_bytes - head;
    *previous = larder__bytes(rest > 0 ? larder__begin(value) + head : NULL, rest);
    return LARDER_OK;
}

/* Opens an array (tag ARRAY) or map (tag MAP). */
static inline int32_t open_container(larder_bytes value, uint8_t tag, const void *out,
                                     larder__container *container) {
    int32_t status = expect(value, tag, out);
    if (status != LARDER_OK) return status;
    return larder__container_open(payload_of(value), container) ? LARDER_OK
                                                                : LARDER_E_INVALID_RECORD;
}

int32_t larder_value_count(larder_bytes value, size_t *count) {
    if (count == NULL) return LARDER_E_INVALID_ARGUMENT;
    int32_t type = larder_value_type(value);
    if (type < 0) return type;
    if (type == LARDER_TYPE_VECTOR) {
        if ((value.size_bytes - 1) % 8 != 0) return LARDER_E_INVALID_RECORD;
        *count = (value.size_bytes - 1) / 8;
        return LARDER_OK;
    }
    if (type != LARDER_TYPE_ARRAY && type != LARDER_TYPE_MAP) return LARDER_E_WRONG_TYPE;
    larder__container container;
    int32_t status = open_container(value, tag_of(value), count, &container);
    if (status == LARDER_OK) *count = container.count;
    return status;
}

int32_t larder_value_get_element(larder_bytes array, size_t position, larder_bytes *element) {
    larder__container container;
    int32_t status = open_container(array, LARDER__TAG_ARRAY, element, &container);
    if (status != LARDER_OK) return status;
    if (position >= container.count) return LARDER_NOT_FOUND;
    return larder__container_get(&container, position, element) ? LARDER_OK
                                                                : LARDER_E_INVALID_RECORD;
}

int32_t larder_value_get_component(larder_bytes vector, size_t position, double *component) {
    int32_t status = expect(vector, LARDER__TAG_VECTOR, component);
    if (status != LARDER_OK) return status;
    if ((vector.size_bytes - 1) % 8 != 0) return LARDER_E_INVALID_RECORD;
    if (position >= (vector.size_bytes - 1) / 8) return LARDER_NOT_FOUND;
    *component = larder__double_load(larder__begin(vector) + 1 + 8 * position);
    return LARDER_OK;
}

int32_t larder_value_get_entry(larder_bytes map, size_t position, larder_bytes *name,
                               larder_bytes *value) {
    larder__container container;
    if (name == NULL) return LARDER_E_INVALID_ARGUMENT;
    int32_t status = open_container(map, LARDER__TAG_MAP, value, &container);
    if (status != LARDER_OK) return status;
    if (position >= container.count) return LARDER_NOT_FOUND;
    larder_bytes entry;
    if (!larder__container_get(&container, position, &entry) ||
        !larder__entry_split(entry, name, value))
        return LARDER_E_INVALID_RECORD;
    return LARDER_OK;
}

int32_t larder_value_find(larder_bytes map, larder_bytes name, larder_bytes *value) {
    larder__container container;
    if (!larder__is_input(name)) return LARDER_E_INVALID_ARGUMENT;
    int32_t status = open_container(map, LARDER__TAG_MAP, value, &container);
    if (status != LARDER_OK) return status;
    size_t low = 0, high = container.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        larder_bytes entry, found, found_value;
        if (!larder__container_get(&container, middle, &entry) ||
            !larder__entry_split(entry, &found, &found_value))
            return LARDER_E_INVALID_RECORD;
        int order = name_compare(found, name);
        if (order == 0) {
            *value = found_value;
            return LARDER_OK;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return LARDER_NOT_FOUND;
}

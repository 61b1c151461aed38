/*
 * path.c - field paths: encoded segments, and Firestore's canonical text.
 *
 *     encoded   per segment: varint length | UTF-8 name (never empty)
 *     text      segments joined by dots; a segment that is not [_a-zA-Z][_a-zA-Z0-9]* stands
 *               in backticks, with \ before each \ and backtick
 *
 * Parsing is as lenient as Firestore's: \ takes the next character literally and a backtick
 * opens or closes quoting anywhere; outside of quotes every other character but the dot is
 * part of the name. A path has at least one segment, no empty one, and at most 1,500 bytes of
 * names and dots.
 */
#include "base/error.h"
#include "record.h"

bool larder__path_next(const uint8_t **at, const uint8_t *end, larder_bytes *segment) {
    const uint8_t *p = *at;
    if (p == end) return false;
    uint64_t size;
    size_t n = larder__varint_get(p, end, &size);
    if (n == 0 || size == 0 || size > (size_t)(end - p) - n) {
        *at = NULL;
        return false;
    }
    *segment = larder__bytes(p + n, (size_t)size);
    *at = p + n + size;
    return true;
}

void larder_field_init(larder_field *field, larder_bytes path) {
    if (field == NULL) return;
    field->path = path;
    field->shape = 0;
    field->position = -1;
}

static int32_t too_small(size_t needed, size_t capacity, larder_error *error) {
    return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                        "field path: %zu bytes are needed, %zu are there", needed, capacity);
}

static int32_t invalid(larder_error *error, const char *problem) {
    return larder__fail(error, LARDER_E_INVALID_NAME, "field path: %s", problem);
}

/* The longest text of a path within the limit: each byte may have a backslash, each segment
 * backticks. */
#define TEXT_MAX_BYTES (4 * LARDER_FIELD_NAME_MAX_BYTES)

static int32_t check_room(const void *buffer, size_t capacity, const size_t *needed,
                          larder_error *error) {
    if (needed != NULL && larder__is_room(buffer, capacity)) return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                        "field path: needed_bytes or the buffer is NULL");
}

int32_t larder_path_encode(const larder_bytes *segments, size_t segment_count, void *buffer,
                           size_t capacity_bytes, size_t *needed_bytes, larder_error *error) {
    int32_t status = check_room(buffer, capacity_bytes, needed_bytes, error);
    if (status != LARDER_OK) return status;
    if (segment_count == 0) return invalid(error, "no segments");
    if (segments == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "field path: segments is NULL");
    if (segment_count > LARDER_FIELD_NAME_MAX_BYTES)
        return invalid(error, "longer than 1,500 bytes");
    size_t needed = 0, text_bytes = segment_count - 1;
    for (size_t i = 0; i < segment_count; i++) {
        size_t size = segments[i].size_bytes;
        if (size == 0) return invalid(error, "a segment is empty");
        if (size > LARDER_FIELD_NAME_MAX_BYTES ||
            (text_bytes += size) > LARDER_FIELD_NAME_MAX_BYTES)
            return invalid(error, "longer than 1,500 bytes");
        if (!larder__utf8_is_valid(segments[i])) return invalid(error, "not UTF-8");
        needed += larder__varint_size(size) + size;
    }
    *needed_bytes = needed;
    if (needed > capacity_bytes) return too_small(needed, capacity_bytes, error);
    uint8_t *to = buffer;
    for (size_t i = 0; i < segment_count; i++) {
        to += larder__varint_put(to, segments[i].size_bytes);
        memcpy(to, segments[i].data, segments[i].size_bytes);
        to += segments[i].size_bytes;
    }
    return LARDER_OK;
}

/* Reads one segment of the text, up to its dot or the end. Writes its name to to when that is
 * not NULL. *size is the name's; NULL, or what is wrong. */
static const char *parse_segment(const uint8_t **at, const uint8_t *end, uint8_t *to,
                                 size_t *size) {
    const uint8_t *p = *at;
    bool quoted = false;
    size_t n = 0;
    for (; p < end && (quoted || *p != '.'); p++) {
        if (*p == '`') {
            quoted = !quoted;
            continue;
        }
        if (*p == '\\' && ++p == end) return "ends with a backslash";
        if (to) to[n] = *p;
        n++;
    }
    if (quoted) return "a backtick is not closed";
    if (n == 0) return "a segment is empty";
    *at = p;
    *size = n;
    return NULL;
}

int32_t larder_path_parse(larder_bytes text, void *buffer, size_t capacity_bytes,
                          size_t *needed_bytes, larder_error *error) {
    int32_t status = check_room(buffer, capacity_bytes, needed_bytes, error);
    if (status != LARDER_OK) return status;
    if (text.size_bytes == 0) return invalid(error, "empty");
    if (text.size_bytes > TEXT_MAX_BYTES) return invalid(error, "longer than 1,500 bytes");
    if (!larder__utf8_is_valid(text)) return invalid(error, "not UTF-8");
    const uint8_t *begin = text.data;
    const uint8_t *end = begin + text.size_bytes;
    size_t needed = 0, text_bytes = 0;
    for (const uint8_t *at = begin;; at++) {
        size_t size = 0;
        const char *problem = parse_segment(&at, end, NULL, &size);
        if (problem) return invalid(error, problem);
        text_bytes += size + (needed > 0);
        if (text_bytes > LARDER_FIELD_NAME_MAX_BYTES)
            return invalid(error, "longer than 1,500 bytes");
        needed += larder__varint_size(size) + size;
        if (at == end) break;
        if (at + 1 == end) return invalid(error, "ends with a dot");
    }
    *needed_bytes = needed;
    if (needed > capacity_bytes) return too_small(needed, capacity_bytes, error);
    uint8_t *to = buffer;
    for (const uint8_t *at = begin; at < end; at++) {
        size_t size = 0;
        const uint8_t *start = at;
        parse_segment(&at, end, NULL, &size);
        to += larder__varint_put(to, size);
        parse_segment(&start, end, to, &size);
        to += size;
    }
    return LARDER_OK;
}

static bool is_bare(larder_bytes name) {
    const uint8_t *p = name.data;
    for (size_t i = 0; i < name.size_bytes; i++) {
        uint8_t lower = p[i] | 0x20;
        bool letter = (lower >= 'a' && lower <= 'z') || p[i] == '_';
        if (!letter && (i == 0 || p[i] < '0' || p[i] > '9')) return false;
    }
    return true;
}

int32_t larder_path_format(larder_bytes path, void *buffer, size_t capacity_bytes,
                           size_t *needed_bytes, larder_error *error) {
    int32_t status = check_room(buffer, capacity_bytes, needed_bytes, error);
    if (status != LARDER_OK) return status;
    if (path.size_bytes == 0) return invalid(error, "no segments");
    if (!larder__is_input(path)) return invalid(error, "NULL, or longer than 1 GiB");
    const uint8_t *at = path.data;
    const uint8_t *end = at + path.size_bytes;
    size_t needed = 0;
    larder_bytes name;
    while (larder__path_next(&at, end, &name)) {
        if (!larder__utf8_is_valid(name)) return invalid(error, "not UTF-8");
        needed += name.size_bytes + (needed > 0);
        if (is_bare(name)) continue;
        needed += 2;
        const uint8_t *p = name.data;
        for (size_t i = 0; i < name.size_bytes; i++)
            needed += p[i] == '\\' || p[i] == '`';
    }
    if (!at) return invalid(error, "the encoded bytes are malformed");
    *needed_bytes = needed;
    if (needed > capacity_bytes) return too_small(needed, capacity_bytes, error);
    uint8_t *to = buffer;
    at = path.data;
    while (larder__path_next(&at, end, &name)) {
        if (to != buffer) *to++ = '.';
        bool bare = is_bare(name);
        if (!bare) *to++ = '`';
        const uint8_t *p = name.data;
        for (size_t i = 0; i < name.size_bytes; i++) {
            if (p[i] == '\\' || p[i] == '`') *to++ = '\\';
            *to++ = p[i];
        }
        if (!bare) *to++ = '`';
    }
    return LARDER_OK;
}

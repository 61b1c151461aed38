/* key.c - building and reading the parts of keys that key.h lays out. */
#include "key.h"

#include "base/error.h"
#include "record/record.h"

#include <assert.h>

#define NUMBER_ONE_BYTE 240
#define SIGN_BIT (UINT64_C(1) << 63)

void larder__key_append(larder__key *key, const void *data, size_t size_bytes) {
    assert(size_bytes <= LARDER__KEY_MAX - key->size_bytes);
    if (size_bytes > LARDER__KEY_MAX - key->size_bytes) return;
    if (size_bytes > 0) memcpy(key->bytes + key->size_bytes, data, size_bytes);
    key->size_bytes += size_bytes;
}

void larder__key_byte(larder__key *key, uint8_t byte) { larder__key_append(key, &byte, 1); }

void larder__key_number(larder__key *key, uint64_t number) {
    if (number < NUMBER_ONE_BYTE) {
        larder__key_byte(key, (uint8_t)number);
        return;
    }
    uint8_t big[8], out[LARDER__NUMBER_MAX];
    larder__store64_big(big, number);
    size_t skip = (size_t)__builtin_clzll(number) / 8;
    size_t size = 8 - skip;
    out[0] = (uint8_t)(0xf0 + size - 1);
    memcpy(out + 1, big + skip, size);
    larder__key_append(key, out, size + 1);
}

void larder__key_u32(larder__key *key, uint32_t value) {
    uint8_t big[4];
    larder__store32_big(big, value);
    larder__key_append(key, big, 4);
}

void larder__key_u64(larder__key *key, uint64_t value) {
    uint8_t big[8];
    larder__store64_big(big, value);
    larder__key_append(key, big, 8);
}

void larder__key_time(larder__key *key, larder_time time) {
    uint8_t bytes[LARDER__TIME_BYTES];
    larder__time_put(bytes, time);
    larder__key_append(key, bytes, sizeof bytes);
}

bool larder__key_successor(larder__key *key) {
    while (key->size_bytes > 0) {
        uint8_t *last = &key->bytes[key->size_bytes - 1];
        if (*last < 0xff) {
            (*last)++;
            return true;
        }
        key->size_bytes--;
    }
    return false;
}

bool larder__key_read_number(const uint8_t **at, const uint8_t *end, uint64_t *number) {
    const uint8_t *p = *at;
    if (p >= end) return false;
    if (*p < NUMBER_ONE_BYTE) {
        *number = *p;
        *at = p + 1;
        return true;
    }
    size_t size = (size_t)(*p - 0xf0) + 1;
    if (size > 8 || (size_t)(end - p) < size + 1 || p[1] == 0) return false;
    uint64_t value = 0;
    for (size_t i = 1; i <= size; i++)
        value = value << 8 | p[i];
    if (value < NUMBER_ONE_BYTE) return false;
    *number = value;
    *at = p + size + 1;
    return true;
}

bool larder__key_read_u32(const uint8_t **at, const uint8_t *end, uint32_t *value) {
    if (end - *at < 4) return false;
    *value = larder__load32_big(*at);
    *at += 4;
    return true;
}

bool larder__key_read_u64(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    if (end - *at < 8) return false;
    *value = larder__load64_big(*at);
    *at += 8;
    return true;
}

bool larder__key_read_time(const uint8_t **at, const uint8_t *end, larder_time *time) {
    if (end - *at < LARDER__TIME_BYTES || !larder__time_get(*at, time)) return false;
    *at += LARDER__TIME_BYTES;
    return true;
}

bool larder__key_read_idz(const uint8_t **at, const uint8_t *end, larder_bytes *id) {
    if (*at >= end) return false;
    size_t size = **at;
    if (size == 0 || size > LARDER__ID_MAX || (size_t)(end - *at) < size + 1) return false;
    *id = larder__bytes(*at + 1, size);
    *at += size + 1;
    return true;
}

/* The key form without the long rule: a head of at most 9 bytes, then the rest of the text. */
static size_t id_head(larder_bytes text, uint8_t head[9], larder_bytes *rest) {
    int64_t value;
    const uint8_t *p = text.data;
    *rest = text;
    if (text.size_bytes > 6 && p[0] == '_' && larder__numeric_id(text, &value)) {
        head[0] = 0;
        larder__store64_big(head + 1, (uint64_t)value ^ SIGN_BIT);
        if (larder__numeric_id_is_canonical(text, value)) *rest = larder__bytes(NULL, 0);
        return 9;
    }
    if (text.size_bytes > 0 && p[0] <= 1) {
        head[0] = 1;
        return 1;
    }
    return 0;
}

void larder__id_encode(larder_bytes text, larder__id *id) {
    uint8_t head[9];
    larder_bytes rest;
    size_t head_size = id_head(text, head, &rest);
    size_t size = head_size + rest.size_bytes;
    id->is_long = size >= LARDER__ID_MAX;
    memcpy(id->bytes, head, head_size);
    if (!id->is_long) {
        if (rest.size_bytes > 0) memcpy(id->bytes + head_size, rest.data, rest.size_bytes);
        id->size_bytes = (uint8_t)size;
        return;
    }
    memcpy(id->bytes + head_size, rest.data, LARDER__ID_HEAD - head_size);
    larder__hash128(text, id->bytes + LARDER__ID_HEAD);
    id->size_bytes = LARDER__ID_MAX;
}

bool larder__id_decode(larder_bytes key_form, char scratch[32], larder_bytes *text) {
    const uint8_t *p = key_form.data;
    size_t size = key_form.size_bytes;
    if (size == 0 || size >= LARDER__ID_MAX) return false;
    if (p[0] == 0) {
        if (size < 9) return false;
        if (size > 9) {
            *text = larder__bytes(p + 9, size - 9);
            return true;
        }
        int64_t value = (int64_t)(larder__load64_big(p + 1) ^ SIGN_BIT);
        size_t printed = larder__numeric_id_print(scratch, value);
        *text = larder__bytes(scratch, printed);
        return true;
    }
    if (p[0] == 1) {
        if (size == 1) return false;
        *text = larder__bytes(p + 1, size - 1);
        return true;
    }
    *text = key_form;
    return true;
}

void larder__key_id(larder__key *key, larder_bytes key_form) {
    larder__key_append(key, key_form.data, key_form.size_bytes);
}

void larder__key_idz(larder__key *key, larder_bytes key_form) {
    larder__key_byte(key, (uint8_t)key_form.size_bytes);
    larder__key_append(key, key_form.data, key_form.size_bytes);
}

/* Takes the segment before the next slash from the front of a path. */
static larder_bytes take_segment(larder_bytes *path) {
    const char *p = path->data;
    const char *slash = path->size_bytes == 0 ? NULL : memchr(p, '/', path->size_bytes);
    size_t size = slash == NULL ? path->size_bytes : (size_t)(slash - p);
    larder_bytes segment = larder__bytes(p, size);
    size_t used = slash == NULL ? size : size + 1;
    *path = larder__bytes(p == NULL ? NULL : p + used, path->size_bytes - used);
    return segment;
}

int larder__path_compare(larder_bytes a, larder_bytes b) {
    while (a.size_bytes > 0 && b.size_bytes > 0) {
        larder_bytes left = take_segment(&a), right = take_segment(&b);
        int order = larder__segment_compare(left, right);
        if (order != 0) return order;
    }
    return a.size_bytes > 0 ? 1 : b.size_bytes > 0 ? -1 : 0;
}

#define PATH_HEAD (LARDER__PATH_MAX - 16)

/* Appends while there is room for the head of a cut key; counts all the same. */
static void put_escaped(larder__key *key, size_t start, size_t *total, const uint8_t *data,
                        size_t size) {
    for (size_t i = 0; i < size; i++) {
        uint8_t pair[2] = {data[i], 0xff};
        size_t width = data[i] == 0 ? 2 : 1;
        for (size_t k = 0; k < width; k++) {
            if (key->size_bytes - start < LARDER__PATH_MAX) larder__key_byte(key, pair[k]);
            (*total)++;
        }
    }
}

bool larder__key_path(larder__key *key, larder_bytes path) {
    size_t start = key->size_bytes, total = 0;
    larder_bytes left = path;
    while (left.size_bytes > 0) {
        uint8_t head[9];
        larder_bytes rest, segment = take_segment(&left);
        size_t head_size = id_head(segment, head, &rest);
        put_escaped(key, start, &total, head, head_size);
        put_escaped(key, start, &total, rest.data, rest.size_bytes);
        static const uint8_t stop[2] = {0, 1};
        for (size_t k = 0; k < 2; k++) {
            if (key->size_bytes - start < LARDER__PATH_MAX) larder__key_byte(key, stop[k]);
            total++;
        }
    }
    if (total < LARDER__PATH_MAX) return false;
    larder__hash128(path, key->bytes + start + PATH_HEAD);
    key->size_bytes = start + LARDER__PATH_MAX;
    return true;
}

/* Firestore reserves what has a character or more between two underscores at either end. */
static bool is_reserved(larder_bytes segment) {
    const char *p = segment.data;
    size_t size = segment.size_bytes;
    return size >= 5 && memcmp(p, "__", 2) == 0 && memcmp(p + size - 2, "__", 2) == 0;
}

/* Excepted are numeric ids: where rows may be of an earlier version, all that it took for one. */
static bool is_numeric(larder_bytes segment) {
    int64_t value;
    return larder__numeric_id(segment, &value);
}

/* Elsewhere document ids that spell a number other than 0 as Firestore does. */
static bool is_new_numeric(larder_bytes segment, bool is_document_id) {
    int64_t value;
    return is_document_id && larder__numeric_id(segment, &value) && value != 0 &&
           larder__numeric_id_is_canonical(segment, value);
}

static int32_t fail_reserved(larder_bytes segment, int position, const char *kind,
                             larder_error *error) {
    int shown = segment.size_bytes < 60 ? (int)segment.size_bytes : 60;
    return larder__fail(error, LARDER_E_INVALID_NAME, "segment %d of the %s, '%.*s', is reserved",
                        position, kind, shown, (const char *)segment.data);
}

int32_t larder__name_check_new(larder_bytes name, larder_error *error) {
    int32_t status = larder__path_check(name, 0, error);
    if (status != LARDER_OK) return status;
    larder_bytes left = name;
    for (int position = 1; left.size_bytes > 0; position++) {
        larder_bytes segment = take_segment(&left);
        if (is_reserved(segment) && !is_new_numeric(segment, position % 2 == 0))
            return fail_reserved(segment, position, "document name", error);
    }
    return LARDER_OK;
}

int32_t larder__path_check(larder_bytes path, int parity, larder_error *error) {
    const char *kind = parity == 0 ? "document name" : "collection path";
    if (path.size_bytes == 0)
        return larder__fail(error, LARDER_E_INVALID_NAME, "the %s is empty", kind);
    if (path.data == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the %s is NULL", kind);
    if (path.size_bytes > LARDER_NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME, "the %s has %zu bytes; %d are allowed",
                            kind, path.size_bytes, LARDER_NAME_MAX_BYTES);
    if (!larder__utf8_is_valid(path))
        return larder__fail(error, LARDER_E_INVALID_NAME, "the %s is not UTF-8", kind);
    const char *p = path.data;
    if (p[0] == '/' || p[path.size_bytes - 1] == '/')
        return larder__fail(error, LARDER_E_INVALID_NAME, "the %s begins or ends with a slash",
                            kind);
    larder_bytes left = path;
    int count = 0;
    while (left.size_bytes > 0) {
        larder_bytes segment = take_segment(&left);
        count++;
        if (segment.size_bytes == 0)
            return larder__fail(error, LARDER_E_INVALID_NAME, "the %s has an empty segment", kind);
        if (segment.size_bytes > LARDER_ID_MAX_BYTES)
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "segment %d of the %s has %zu bytes; %d are allowed", count, kind,
                                segment.size_bytes, LARDER_ID_MAX_BYTES);
        const char *text = segment.data;
        bool dots = text[0] == '.' &&
                    (segment.size_bytes == 1 || (segment.size_bytes == 2 && text[1] == '.'));
        if (dots || (is_reserved(segment) && !is_numeric(segment)))
            return fail_reserved(segment, count, kind, error);
    }
    if (count > LARDER_PATH_MAX_SEGMENTS)
        return larder__fail(error, LARDER_E_INVALID_NAME, "the %s has %d segments; %d are allowed",
                            kind, count, LARDER_PATH_MAX_SEGMENTS);
    if (count % 2 != parity)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "a %s has an %s number of segments, this one has %d", kind,
                            parity == 0 ? "even" : "odd", count);
    return LARDER_OK;
}

larder_bytes larder__path_last(larder_bytes path) {
    const char *p = path.data;
    size_t start = path.size_bytes;
    while (start > 0 && p[start - 1] != '/')
        start--;
    return larder__bytes(p + start, path.size_bytes - start);
}

void larder__name_split(larder_bytes name, larder_bytes *collection, larder_bytes *id) {
    *id = larder__path_last(name);
    size_t used = id->size_bytes + 1;
    *collection = larder__bytes(name.data, name.size_bytes >= used ? name.size_bytes - used : 0);
}

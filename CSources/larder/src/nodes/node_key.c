/* node_key.c - keys and paths of nodes: their form, order and limits (node_key.h). */
#include "node_key.h"

#include "base/error.h"

#include <stdio.h>

#define PATH_MAX_BYTES (LARDER_NODE_DEPTH_MAX * (LARDER_NODE_KEY_MAX_BYTES + 1))
#define INTEGER_MAX_BYTES 11
#define INTEGER_FORM_BYTES 6
#define INTEGER_MARK 0x01
#define SIGN_BIT 0x80000000u
#define LATE_LEAD 0xee /* lead bytes EE and EF */
#define LATE_SHIFT 0x10

const larder_bytes larder__priority_key = {".priority", 9};
const larder_bytes larder__priority_form = {"\xff\xff", 2};

static bool read_integer(larder_bytes text, int32_t *value) {
    const uint8_t *p = larder__begin(text), *end = p + text.size_bytes;
    if (text.size_bytes == 0 || text.size_bytes > INTEGER_MAX_BYTES) return false;
    if (*p > '9') return false;
    bool is_negative = *p == '-';
    if (is_negative) p++;
    if (p == end) return false;
    int64_t magnitude = 0;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') return false;
        magnitude = magnitude * 10 + (*p - '0');
    }
    int64_t number = is_negative ? -magnitude : magnitude;
    if (number < INT32_MIN || number > INT32_MAX) return false;
    *value = (int32_t)number;
    return true;
}

static inline uint8_t shift_lead(uint8_t byte) {
    return byte == LATE_LEAD || byte == LATE_LEAD + 1 ? (uint8_t)(byte + LATE_SHIFT) : byte;
}

void larder__form_encode(larder_bytes text, larder__form *form) {
    int32_t value;
    const uint8_t *p = larder__begin(text);
    if (read_integer(text, &value)) {
        form->bytes[0] = INTEGER_MARK;
        larder__store32_big(form->bytes + 1, (uint32_t)value ^ SIGN_BIT);
        form->bytes[5] = (uint8_t)(2 * text.size_bytes + (p[0] == '-' ? 0 : 1));
        form->size_bytes = INTEGER_FORM_BYTES;
        return;
    }
    for (size_t i = 0; i < text.size_bytes; i++)
        form->bytes[i] = shift_lead(p[i]);
    form->size_bytes = text.size_bytes;
}

/* Digits with leading zeros up to the length. */
static bool print_integer(const uint8_t *form, char scratch[LARDER__FORM_MAX], larder_bytes *text) {
    int64_t value = (int32_t)(larder__load32_big(form + 1) ^ SIGN_BIT);
    int length = form[5] / 2;
    bool has_minus = form[5] % 2 == 0;
    if (length > INTEGER_MAX_BYTES || (value < 0) > has_minus || (value > 0 && has_minus))
        return false;
    int digits = length - (has_minus ? 1 : 0);
    char exact[INTEGER_MAX_BYTES + 2];
    if (digits < 1) return false;
    int printed = snprintf(exact, sizeof exact, "%s%0*lld", has_minus ? "-" : "", digits,
                           (long long)(value < 0 ? -value : value));
    if (printed != length) return false;
    memcpy(scratch, exact, (size_t)length);
    *text = larder__bytes(scratch, (size_t)length);
    return true;
}

bool larder__form_decode(larder_bytes form, char scratch[LARDER__FORM_MAX], larder_bytes *text) {
    const uint8_t *p = larder__begin(form);
    size_t size = form.size_bytes, i = 0;
    if (size > LARDER__FORM_MAX) return false;
    if (size == INTEGER_FORM_BYTES && p[0] == INTEGER_MARK) return print_integer(p, scratch, text);
    while (i < size && p[i] < LATE_LEAD + LATE_SHIFT)
        i++;
    *text = form;
    if (i == size) return true;
    for (i = 0; i < size; i++)
        scratch[i] = (char)(p[i] >= LATE_LEAD + LATE_SHIFT ? p[i] - LATE_SHIFT : p[i]);
    *text = larder__bytes(scratch, size);
    return true;
}

/* A bit for each of 0x00 to 0x7f. */
static const uint32_t forbidden[4] = {
    0xffffffffu, /* control characters */
    1u << ('#' - 32) | 1u << ('$' - 32) | 1u << ('.' - 32) | 1u << ('/' - 32),
    1u << ('[' - 64) | 1u << (']' - 64),
    1u << (0x7f - 96),
};

static inline bool is_forbidden(uint8_t c) {
    return c < 0x80 && (forbidden[c / 32] >> c % 32 & 1) != 0;
}

int32_t larder__node_key_check(larder_bytes key, larder_error *error) {
    const uint8_t *p = larder__begin(key);
    if (key.size_bytes == 0 || key.data == NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a key is empty");
    if (key.size_bytes > LARDER_NODE_KEY_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a key has %zu bytes; %d are allowed",
                            key.size_bytes, LARDER_NODE_KEY_MAX_BYTES);
    uint8_t all_bits = 0;
    for (size_t i = 0; i < key.size_bytes; i++) {
        if (is_forbidden(p[i]))
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "a key holds the character 0x%02x, which no key may have", p[i]);
        all_bits |= p[i];
    }
    if (all_bits >= 0x80 && !larder__utf8_is_valid(key))
        return larder__fail(error, LARDER_E_INVALID_NAME, "a key is not UTF-8");
    return LARDER_OK;
}

int larder__text_compare(larder_bytes left, larder_bytes right) {
    const uint8_t *a = larder__begin(left), *b = larder__begin(right);
    size_t shared = left.size_bytes < right.size_bytes ? left.size_bytes : right.size_bytes;
    if (shared > 0 && memcmp(a, b, shared) != 0) {
        size_t i = 0;
        while (a[i] == b[i])
            i++;
        return shift_lead(a[i]) < shift_lead(b[i]) ? -1 : 1;
    }
    return left.size_bytes < right.size_bytes ? -1 : left.size_bytes > right.size_bytes;
}

int larder__node_key_compare(larder_bytes left, larder_bytes right) {
    int32_t a, b;
    bool left_is_integer = read_integer(left, &a), right_is_integer = read_integer(right, &b);
    if (left_is_integer != right_is_integer) return left_is_integer ? -1 : 1;
    if (!left_is_integer) return larder__text_compare(left, right);
    if (a != b) return a < b ? -1 : 1;
    if (left.size_bytes != right.size_bytes) return left.size_bytes < right.size_bytes ? -1 : 1;
    return larder__bytes_compare(left, right); /* a minus is below the digits */
}

int32_t larder_node_compare_keys(larder_bytes left, larder_bytes right) {
    return larder__node_key_compare(larder__input(left), larder__input(right));
}

bool larder__path_take(larder_bytes *path, larder_bytes *key) {
    const uint8_t *p = larder__begin(*path);
    if (path->size_bytes == 0) return false;
    const uint8_t *slash = memchr(p, '/', path->size_bytes);
    size_t size = slash == NULL ? path->size_bytes : (size_t)(slash - p);
    size_t used = slash == NULL ? size : size + 1;
    *key = larder__bytes(p, size);
    *path = larder__bytes(p + used, path->size_bytes - used);
    return true;
}

int32_t larder__node_path_check(larder_bytes path, bool may_end_in_priority, uint32_t *depth,
                                larder_error *error) {
    larder_bytes key;
    *depth = 0;
    if (path.size_bytes == 0) return LARDER_OK;
    if (path.data == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a path is NULL");
    if (path.size_bytes > PATH_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a path has %zu bytes; %d are allowed",
                            path.size_bytes, PATH_MAX_BYTES);
    if (larder__begin(path)[path.size_bytes - 1] == '/')
        return larder__fail(error, LARDER_E_INVALID_NAME, "a path ends with a slash");
    while (larder__path_take(&path, &key)) {
        if (++*depth > LARDER_NODE_DEPTH_MAX)
            return larder__fail(error, LARDER_E_TOO_DEEP, "a path has more than %d keys",
                                LARDER_NODE_DEPTH_MAX);
        if (may_end_in_priority && path.size_bytes == 0 &&
            larder__bytes_equal(key, larder__priority_key))
            return LARDER_OK;
        int32_t status = larder__node_key_check(key, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

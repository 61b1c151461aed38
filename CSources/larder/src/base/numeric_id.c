/* numeric_id.c - reading and ordering the segments that stand for numbers. */
#include "numeric_id.h"

#include <stdio.h>

#define SIGN_BIT (UINT64_C(1) << 63)

bool larder__numeric_id(larder_bytes segment, int64_t *value) {
    const char *p = segment.data;
    size_t size = segment.size_bytes;
    if (size <= 6 || memcmp(p, "__id", 4) != 0 || memcmp(p + size - 2, "__", 2) != 0) return false;
    const char *digit = p + 4, *end = p + size - 2;
    bool negative = *digit == '-';
    if (negative) digit++;
    if (digit == end) return false;
    uint64_t limit = negative ? SIGN_BIT : SIGN_BIT - 1, magnitude = 0;
    for (; digit < end; digit++) {
        if (*digit < '0' || *digit > '9') return false;
        uint64_t d = (uint64_t)(*digit - '0');
        if (magnitude > (limit - d) / 10) return false;
        magnitude = magnitude * 10 + d;
    }
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

size_t larder__numeric_id_print(char out[LARDER__NUMERIC_ID_TEXT], int64_t value) {
    return (size_t)snprintf(out, LARDER__NUMERIC_ID_TEXT, "__id%lld__", (long long)value);
}

bool larder__numeric_id_is_canonical(larder_bytes segment, int64_t value) {
    char canonical[LARDER__NUMERIC_ID_TEXT];
    size_t size = larder__numeric_id_print(canonical, value);
    return larder__bytes_equal(segment, larder__bytes(canonical, size));
}

int larder__segment_compare(larder_bytes a, larder_bytes b) {
    int64_t x, y;
    bool a_is_numeric = larder__numeric_id(a, &x), b_is_numeric = larder__numeric_id(b, &y);
    if (a_is_numeric != b_is_numeric) return a_is_numeric ? -1 : 1;
    if (a_is_numeric && x != y) return x < y ? -1 : 1;
    if (a_is_numeric && !larder__bytes_equal(a, b)) {
        if (larder__numeric_id_is_canonical(a, x)) return -1;
        if (larder__numeric_id_is_canonical(b, x)) return 1;
    }
    return larder__bytes_compare(a, b);
}

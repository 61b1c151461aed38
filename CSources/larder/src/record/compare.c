/*
 * compare.c - Firestore's total order and its equality, on encoded bytes in place.
 *
 * Nothing is decoded into memory or allocated. Bytes that are not well formed have rank 0: below
 * every value and equal to each other. Recursion ends at LARDER__DEPTH_LIMIT, deeper parts count
 * as equal.
 *
 * Equality is recursive: inside an array or a map 1 and 1.0 differ as they do outside.
 */
#include "base/numeric_id.h"
#include "record.h"

/* The rank in the type order, 0 when the value is malformed at its own level. */
static inline unsigned rank_of(larder_bytes value) {
    if (value.size_bytes == 0) return 0;
    const larder__tag_info *info = &larder__tags[*larder__begin(value)];
    if (info->exact_bytes != 0) return value.size_bytes == info->exact_bytes ? info->rank : 0;
    larder__container container;
    switch (*larder__begin(value)) {
    case LARDER__TAG_SERVER_TIMESTAMP:
        return value.size_bytes > LARDER__TIME_BYTES ? info->rank : 0;
    case LARDER__TAG_VECTOR:
        return value.size_bytes % 8 == 1 ? info->rank : 0;
    case LARDER__TAG_ARRAY:
    case LARDER__TAG_MAP:
        return larder__container_open(larder__bytes(larder__begin(value) + 1, value.size_bytes - 1),
                                      &container)
                   ? info->rank
                   : 0;
    default:
        return info->rank;
    }
}

static inline larder_bytes payload_of(larder_bytes value) {
    return larder__bytes(larder__begin(value) + 1, value.size_bytes - 1);
}

static inline int compare_integers(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

/* NaN equals NaN and is below all other numbers; -0.0 equals 0.0. */
static inline int compare_doubles(double a, double b) {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a == b) return 0;
    if (a == a) return 1;
    return b == b ? -1 : 0;
}

/* Exact: no rounding of the integer. */
static int compare_mixed(int64_t integer, double number) {
    if (number != number) return 1;
    if (number >= 0x1p63) return -1;
    if (number < -0x1p63) return 1;
    int64_t whole = (int64_t)number;
    if (integer != whole) return integer < whole ? -1 : 1;
    double fraction = number - (double)whole;
    return fraction > 0 ? -1 : fraction < 0;
}

static int compare_numbers(larder_bytes a, larder_bytes b) {
    const uint8_t *left = larder__begin(a), *right = larder__begin(b);
    if (*left == LARDER__TAG_DOUBLE) {
        double number = larder__double_load(left + 1);
        if (*right == LARDER__TAG_DOUBLE)
            return compare_doubles(number, larder__double_load(right + 1));
        return -compare_mixed(larder__integer_load(right + 1, b.size_bytes - 1), number);
    }
    int64_t integer = larder__integer_load(left + 1, a.size_bytes - 1);
    if (*right == LARDER__TAG_DOUBLE) return compare_mixed(integer, larder__double_load(right + 1));
    return compare_integers(integer, larder__integer_load(right + 1, b.size_bytes - 1));
}

/* The next segment that is not empty; false when there is none. */
static bool next_segment(const uint8_t **at, const uint8_t *end, larder_bytes *segment) {
    const uint8_t *p = *at;
    while (p < end && *p == '/')
        p++;
    const uint8_t *begin = p;
    while (p < end && *p != '/')
        p++;
    *at = p;
    *segment = larder__bytes(begin, (size_t)(p - begin));
    return p > begin;
}

/* As document names: segment by segment, numeric ids first; empty segments are skipped. What both begin with (most names share their
 * project and collection) is passed over first, up to the last slash in it. */
static int compare_references(larder_bytes a, larder_bytes b) {
    const uint8_t *left = larder__begin(a), *right = larder__begin(b);
    size_t shared = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    size_t at = 0;
    while (shared - at >= 8 && larder__load64(left + at) == larder__load64(right + at))
        at += 8;
    while (at < shared && left[at] == right[at])
        at++;
    while (at > 0 && left[at - 1] != '/')
        at--;
    const uint8_t *left_end = left + a.size_bytes, *right_end = right + b.size_bytes;
    left += at;
    right += at;
    for (;;) {
        larder_bytes left_segment, right_segment;
        bool has_left = next_segment(&left, left_end, &left_segment);
        bool has_right = next_segment(&right, right_end, &right_segment);
        if (!has_left || !has_right) return has_left - has_right;
        int order = larder__segment_compare(left_segment, right_segment);
        if (order != 0) return order;
    }
}

static int compare_geo_points(const uint8_t *left, const uint8_t *right) {
    int order = compare_doubles(larder__double_load(left), larder__double_load(right));
    if (order != 0) return order;
    return compare_doubles(larder__double_load(left + 8), larder__double_load(right + 8));
}

static int compare_vectors(larder_bytes a, larder_bytes b) {
    if (a.size_bytes != b.size_bytes) return a.size_bytes < b.size_bytes ? -1 : 1;
    for (size_t i = 0; i < a.size_bytes; i += 8) {
        int order = compare_doubles(larder__double_load(larder__begin(a) + i),
                                    larder__double_load(larder__begin(b) + i));
        if (order != 0) return order;
    }
    return 0;
}

static int compare_values(larder_bytes a, larder_bytes b, uint32_t depth);

/* Elements in turn, then the count. Entries of maps: name, then value. */
static int compare_containers(larder_bytes a, larder_bytes b, bool maps, uint32_t depth) {
    larder__container left, right;
    if (!larder__container_open(a, &left) || !larder__container_open(b, &right)) return 0;
    size_t shared = left.count < right.count ? left.count : right.count;
    size_t left_start = 0, right_start = 0;
    for (size_t i = 0; i < shared; i++) {
        larder_bytes x = larder__container_walk(&left, i, &left_start);
        larder_bytes y = larder__container_walk(&right, i, &right_start);
        if (maps) {
            larder_bytes x_name = {NULL, 0}, y_name = {NULL, 0};
            if (!larder__entry_split(x, &x_name, &x)) x.size_bytes = 0;
            if (!larder__entry_split(y, &y_name, &y)) y.size_bytes = 0;
            int order = larder__bytes_compare(x_name, y_name);
            if (order != 0) return order;
        }
        int order = compare_values(x, y, depth + 1);
        if (order != 0) return order;
    }
    return left.count < right.count ? -1 : left.count > right.count;
}

__attribute__((noinline)) static int compare_values(larder_bytes a, larder_bytes b,
                                                    uint32_t depth) {
    unsigned left_rank = rank_of(a), right_rank = rank_of(b);
    if (left_rank != right_rank) return left_rank < right_rank ? -1 : 1;
    if (left_rank == 0) return 0;
    const uint8_t *left = larder__begin(a), *right = larder__begin(b);
    switch (larder__tags[*left].type) {
    case LARDER_TYPE_BOOLEAN:
        return (int)*left - (int)*right;
    case LARDER_TYPE_INTEGER:
    case LARDER_TYPE_DOUBLE:
        return compare_numbers(a, b);
    case LARDER_TYPE_TIMESTAMP:
    case LARDER_TYPE_SERVER_TIMESTAMP: {
        int order = memcmp(left + 1, right + 1, LARDER__TIME_BYTES);
        return order < 0 ? -1 : order > 0;
    }
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_BYTES:
        return larder__bytes_compare(payload_of(a), payload_of(b));
    case LARDER_TYPE_REFERENCE:
        return compare_references(payload_of(a), payload_of(b));
    case LARDER_TYPE_GEO_POINT:
        return compare_geo_points(left + 1, right + 1);
    case LARDER_TYPE_VECTOR:
        return compare_vectors(payload_of(a), payload_of(b));
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        if (depth >= LARDER__DEPTH_LIMIT) return 0;
        return compare_containers(payload_of(a), payload_of(b), *left == LARDER__TAG_MAP, depth);
    default:
        return 0;
    }
}

/* The two comparisons that queries are made of come first, without the frame of the others. */
int32_t larder_value_compare(larder_bytes left, larder_bytes right) {
    left = larder__input(left);
    right = larder__input(right);
    if (left.size_bytes > 0 && right.size_bytes > 0) {
        const uint8_t *a = larder__begin(left), *b = larder__begin(right);
        if (*a == LARDER__TAG_STRING && *b == LARDER__TAG_STRING) {
            size_t shared = left.size_bytes < right.size_bytes ? left.size_bytes : right.size_bytes;
            int order = memcmp(a, b, shared);
            if (order != 0) return order < 0 ? -1 : 1;
            return left.size_bytes < right.size_bytes ? -1 : left.size_bytes > right.size_bytes;
        }
        size_t left_bytes = (size_t)*a - LARDER__TAG_INTEGER;
        size_t right_bytes = (size_t)*b - LARDER__TAG_INTEGER;
        if (left_bytes <= 8 && right_bytes <= 8 && left.size_bytes == 1 + left_bytes &&
            right.size_bytes == 1 + right_bytes)
            return compare_integers(larder__integer_load(a + 1, left_bytes),
                                    larder__integer_load(b + 1, right_bytes));
    }
    return compare_values(left, right, 0);
}

/* ---- equality ---- */

static bool equal_double(const uint8_t *left, const uint8_t *right) {
    if (larder__load64(left) == larder__load64(right)) return true;
    double a = larder__double_load(left), b = larder__double_load(right);
    return a != a && b != b;
}

static bool equal_values(larder_bytes a, larder_bytes b, uint32_t depth);

static bool equal_containers(larder_bytes a, larder_bytes b, bool maps, uint32_t depth) {
    larder__container left, right;
    if (!larder__container_open(a, &left) || !larder__container_open(b, &right)) return false;
    if (left.count != right.count) return false;
    size_t left_start = 0, right_start = 0;
    for (size_t i = 0; i < left.count; i++) {
        larder_bytes x = larder__container_walk(&left, i, &left_start);
        larder_bytes y = larder__container_walk(&right, i, &right_start);
        if (maps) {
            larder_bytes x_name, y_name;
            if (!larder__entry_split(x, &x_name, &x) || !larder__entry_split(y, &y_name, &y) ||
                !larder__bytes_equal(x_name, y_name))
                return false;
        }
        if (!equal_values(x, y, depth + 1)) return false;
    }
    return true;
}

/* In canonical form equal values have equal bytes, but for the previous values of pending
 * server timestamps, which do not count, and the zeros of geo points, which are one (both SDKs
 * compare degrees as numbers): so only they and what may hold them is looked into. */
__attribute__((noinline)) static bool equal_values(larder_bytes a, larder_bytes b, uint32_t depth) {
    if (a.size_bytes == 0 || b.size_bytes == 0) return a.size_bytes == b.size_bytes;
    const uint8_t *left = larder__begin(a), *right = larder__begin(b);
    if (*left != *right) return false;
    if (larder__bytes_equal(a, b)) return true;
    if (rank_of(a) == 0 || rank_of(b) == 0) return false;
    switch (*left) {
    case LARDER__TAG_DOUBLE:
        return equal_double(left + 1, right + 1);
    case LARDER__TAG_SERVER_TIMESTAMP:
        return memcmp(left + 1, right + 1, LARDER__TIME_BYTES) == 0;
    case LARDER__TAG_GEO_POINT:
        return compare_geo_points(left + 1, right + 1) == 0;
    case LARDER__TAG_VECTOR:
        if (a.size_bytes != b.size_bytes) return false;
        for (size_t i = 1; i < a.size_bytes; i += 8)
            if (!equal_double(left + i, right + i)) return false;
        return true;
    case LARDER__TAG_ARRAY:
    case LARDER__TAG_MAP:
        return depth < LARDER__DEPTH_LIMIT &&
               equal_containers(payload_of(a), payload_of(b), *left == LARDER__TAG_MAP, depth);
    default:
        return false;
    }
}

int32_t larder_value_equal(larder_bytes left, larder_bytes right) {
    left = larder__input(left);
    right = larder__input(right);
    if (left.size_bytes > 0 && *larder__begin(left) == LARDER__TAG_STRING)
        return larder__bytes_equal(left, right);
    return equal_values(left, right, 0);
}

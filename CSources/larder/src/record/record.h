/*
 * record.h - the bytes of values and records.
 *
 * Container (all little-endian), for arrays, maps, names and top-level values:
 *
 *     count varint | width (1 byte: 1, 2 or 4; absent when count is 0) | end[count] | bodies
 *
 * end[i] is where body i ends, counted from the first body, in width bytes; body i begins at
 * end[i-1] (0 for the first). Width is the smallest that holds end[count-1]. Ends never fall.
 *
 * Value: a tag byte and a payload that ends where the value's container says:
 *
 *     00       null            01 false   02 true
 *     10..18   integer: tag - 0x10 bytes (0 to 8), two's complement, the fewest that keep the
 *              value (0 has none)
 *     20       double (8)      21 timestamp (9: as in keys)
 *     22       pending server timestamp: write time (9) | previous value, or nothing
 *     30       string          31 bytes        32 reference, resource name
 *     33       geo point: latitude (8), longitude (8)
 *     40       array: container of values
 *     41       vector: doubles (8 each)
 *     42       map: container of entries in UTF-8 order of names; an entry is
 *              name length varint | name | value
 *     50       cold: real tag (1) | position varint in the cold container (top level of a
 *              stored record only)
 *     7F       maximum (bounds only)
 *
 * Plain record:  4C ('L') | 01 | names size varint | names container (of bare names, in UTF-8
 *                order, no two alike) | values container (as many values, in that order)
 *
 * A stored record keeps names in the catalog as a "shape", values (with cold tags) in its row,
 * and the cold values as one container of values, compressed (row.h).
 *
 * There is one form of each value, and no other is accepted: shortest varints and integers,
 * narrowest ends, nothing behind the last body. So equal bytes and equal content are the same.
 *
 * NaN is stored as 7FF8000000000000; -0.0 is kept. Rejected: values that carry their own
 * length (the container knows it), hashed field tables (names are few; see the decision page).
 */
#ifndef LARDER_RECORD_H
#define LARDER_RECORD_H

#include "base/bytes.h"

enum {
    LARDER__TAG_NULL = 0x00,
    LARDER__TAG_FALSE = 0x01,
    LARDER__TAG_TRUE = 0x02,
    LARDER__TAG_INTEGER = 0x10, /* + payload size */
    LARDER__TAG_DOUBLE = 0x20,
    LARDER__TAG_TIMESTAMP = 0x21,
    LARDER__TAG_SERVER_TIMESTAMP = 0x22,
    LARDER__TAG_STRING = 0x30,
    LARDER__TAG_BYTES = 0x31,
    LARDER__TAG_REFERENCE = 0x32,
    LARDER__TAG_GEO_POINT = 0x33,
    LARDER__TAG_ARRAY = 0x40,
    LARDER__TAG_VECTOR = 0x41,
    LARDER__TAG_MAP = 0x42,
    LARDER__TAG_COLD = 0x50,
    LARDER__TAG_MAX = 0x7f
};

#define LARDER__RECORD_MAGIC 0x4c
#define LARDER__RECORD_VERSION 0x01
#define LARDER__TIME_BYTES 9

/* 9-byte times, order-preserving; larder__time_is_valid says whether one can be stored. */
bool larder__time_is_valid(larder_time time);
void larder__time_put(uint8_t to[LARDER__TIME_BYTES], larder_time time);
#define LARDER__SECONDS_BEFORE_EPOCH INT64_C(62135596800) /* from year 1 to 1970 */
#define LARDER__SECONDS_MAX INT64_C(253402300799)         /* the end of year 9999 */
#define LARDER__NANOSECONDS_MAX 999999999
static inline bool larder__time_get(const uint8_t from[LARDER__TIME_BYTES], larder_time *time) {
    int64_t seconds = (int64_t)from[0] << 32 | larder__load32_big(from + 1);
    uint32_t nanoseconds = larder__load32_big(from + 5);
    if (seconds > LARDER__SECONDS_MAX + LARDER__SECONDS_BEFORE_EPOCH ||
        nanoseconds > LARDER__NANOSECONDS_MAX)
        return false;
    time->seconds = seconds - LARDER__SECONDS_BEFORE_EPOCH;
    time->nanoseconds = (int32_t)nanoseconds;
    time->reserved = 0;
    return true;
}
int larder__time_compare(larder_time a, larder_time b);

/* The properties of a tag; rank 0: no such tag in a value (cold included). */
typedef struct larder__tag_info {
    uint8_t rank;           /* of the type order, from 1; integers and doubles share one */
    int8_t type;            /* LARDER_TYPE_... */
    uint8_t exact_bytes;    /* of the whole value, 0 where it varies */
    uint8_t document_bytes; /* towards the document size limit, where that is fixed */
} larder__tag_info;
extern const larder__tag_info larder__tags[256];

/* Values deeper than this are malformed, whatever limit is asked for, so that recursion over
 * them is bounded. */
#define LARDER__DEPTH_LIMIT 128

/* The integer of n payload bytes, 0 to 8. */
static inline int64_t larder__integer_load(const uint8_t *payload, size_t n) {
    uint64_t v;
    if (n >= 4) {
        uint64_t low = larder__load32(payload), high = larder__load32(payload + n - 4);
        v = low | high << (8 * (n - 4));
    } else if (n >= 2) {
        uint64_t low = larder__load16(payload), high = larder__load16(payload + n - 2);
        v = low | high << (8 * (n - 2));
    } else if (n == 1) {
        v = *payload;
    } else {
        return 0;
    }
    unsigned unused = 64 - 8 * (unsigned)n;
    return (int64_t)(v << unused) >> unused;
}
/* The fewest payload bytes that keep an integer. */
static inline size_t larder__integer_bytes(int64_t integer) {
    uint64_t magnitude = (uint64_t)(integer < 0 ? ~integer : integer);
    if (magnitude == 0) return integer == 0 ? 0 : 1;
    return (size_t)(64 - __builtin_clzll(magnitude)) / 8 + 1;
}
static inline double larder__double_load(const void *from) {
    double number;
    memcpy(&number, from, 8);
    return number;
}
#define LARDER__NAN_BITS 0x7ff8000000000000u

/* A container opened in place. */
typedef struct larder__container {
    size_t count;
    uint32_t width;
    const uint8_t *ends;
    const uint8_t *bodies;
    const uint8_t *limit; /* end of the bytes it was opened in */
} larder__container;

/* False when the head does not fit in bytes. Bodies are checked as they are taken. */
static inline bool larder__container_open(larder_bytes bytes, larder__container *container) {
    if (bytes.size_bytes == 0) return false;
    const uint8_t *at = larder__begin(bytes);
    const uint8_t *limit = at + bytes.size_bytes;
    uint64_t count = *at;
    size_t count_bytes = 1;
    if (count >= 0x80) count_bytes = larder__varint_get(at, limit, &count);
    if (count_bytes == 0) return false;
    at += count_bytes;
    container->count = (size_t)count;
    container->width = 1;
    container->ends = at;
    container->bodies = at;
    container->limit = limit;
    if (count == 0) return true;
    if (at == limit) return false;
    uint32_t width = *at++;
    if (width != 1 && width != 2 && width != 4) return false;
    if (count > (size_t)(limit - at) >> (width >> 1)) return false; /* divided by the width */
    container->width = width;
    container->ends = at;
    container->bodies = at + width * (size_t)count;
    return true;
}
/* Where the body at a position that exists ends. */
static inline size_t larder__container_end(const larder__container *c, size_t position) {
    if (c->width == 1) return c->ends[position];
    if (c->width == 2) return larder__load16(c->ends + 2 * position);
    return larder__load32(c->ends + 4 * position);
}
/* Walks: the next body, beginning at *start (0 for the first), which moves to its end. Empty
 * when its end is out of bounds, so that bodies never overlap, whatever the ends say. */
static inline larder_bytes larder__container_walk(const larder__container *c, size_t position,
                                                  size_t *start) {
    size_t begin = *start, end = larder__container_end(c, position);
    if (end < begin || end > (size_t)(c->limit - c->bodies)) return larder__bytes(NULL, 0);
    *start = end;
    return larder__bytes(c->bodies + begin, end - begin);
}
/* False beyond the end or when the ends are out of bounds. */
static inline bool larder__container_get(const larder__container *c, size_t position,
                                         larder_bytes *body) {
    if (position >= c->count) return false;
    size_t start = position > 0 ? larder__container_end(c, position - 1) : 0;
    size_t end = larder__container_end(c, position);
    if (start > end || end > (size_t)(c->limit - c->bodies)) return false;
    *body = larder__bytes(c->bodies + start, end - start);
    return true;
}
/* The bytes of the whole container, which must end inside limit; 0 when malformed. */
size_t larder__container_size(const larder__container *c, const uint8_t *begin);
/* The narrowest width for ends up to last_end. */
static inline uint32_t larder__container_width(size_t last_end) {
    return last_end <= UINT8_MAX ? 1 : last_end <= UINT16_MAX ? 2 : 4;
}
/* Bytes before the bodies of a container of count bodies that take body_bytes. */
static inline size_t larder__container_head(size_t count, size_t body_bytes) {
    size_t head = larder__varint_size(count);
    return count == 0 ? head : head + 1 + count * larder__container_width(body_bytes);
}
/* Writes count and width; returns where the ends begin. */
uint8_t *larder__container_begin(uint8_t *to, size_t count, uint32_t width);
static inline void larder__container_put_end(uint8_t *ends, uint32_t width, size_t position,
                                             size_t end) {
    if (width == 1)
        ends[position] = (uint8_t)end;
    else if (width == 2)
        larder__store16(ends + 2 * position, (uint16_t)end);
    else
        larder__store32(ends + 4 * position, (uint32_t)end);
}
/* Splits an entry of a map; false when malformed. */
static inline bool larder__entry_split(larder_bytes entry, larder_bytes *name,
                                       larder_bytes *value) {
    if (entry.size_bytes == 0) return false;
    const uint8_t *at = larder__begin(entry);
    const uint8_t *end = at + entry.size_bytes;
    uint64_t name_bytes = *at;
    size_t n = 1;
    if (name_bytes >= 0x80) n = larder__varint_get(at, end, &name_bytes);
    if (n == 0 || name_bytes > (size_t)(end - at) - n) return false;
    *name = larder__bytes(at + n, (size_t)name_bytes);
    *value = larder__bytes(at + n + name_bytes, (size_t)(end - at) - n - (size_t)name_bytes);
    return true;
}
/* Binary search in a names container: position, or -1. */
ptrdiff_t larder__names_find(const larder__container *names, larder_bytes name);

/* A check of untrusted values. max_depth is set by the caller; the rest is the outcome. */
typedef struct larder__value_check {
    uint32_t max_depth;
    bool saw_max;        /* a maximum is among the values */
    int64_t size;        /* what the values count towards the document size limit */
    int32_t status;      /* of the first problem */
    const char *problem; /* in words */
} larder__value_check;
/* Adds one value inside depth arrays and maps; false at the first problem. */
bool larder__check_value(larder__value_check *check, larder_bytes value, uint32_t depth);
/* Opens a container that must be canonical and fill bytes exactly. */
bool larder__check_container(larder__value_check *check, larder_bytes bytes,
                             larder__container *container);
/* A field name: UTF-8, neither empty nor too long, after the previous one (empty: none). */
bool larder__check_name(larder__value_check *check, larder_bytes name, larder_bytes previous);

/* In front of a cold part of at least so many bytes: its checksum. Smaller ones are covered by
 * the row's. */
#define LARDER__COLD_CHECKSUM_BYTES 4
#define LARDER__COLD_CHECKSUM_FROM 160
/* Flags of larder_record. */
enum {
    LARDER__RECORD_LOADED = 1,   /* cold is the decompressed container */
    LARDER__RECORD_DAMAGED = 4,  /* nothing of it can be read */
    LARDER__RECORD_UNSETTLED = 2 /* its shape or dictionary goes if its transaction is aborted */
};

/* The value at a position below the count; LARDER_COLD with *type set when it is cold. */
int32_t larder__record_value(const larder_record *record, size_t position, larder_bytes *value,
                             int32_t *type);
/* vocabulary.c: tests the checksum of a cold part as it is stored and gives the frame in it. */
int32_t larder__cold_check(larder_bytes cold, larder_bytes *frame, larder_error *error);
/* The same, and decompresses the frame into exactly raw_bytes. */
int32_t larder__cold_decompress(const larder_vocabulary *vocabulary, uint32_t dictionary,
                                larder_bytes cold, void *buffer, size_t raw_bytes,
                                larder_error *error);

/* Splits a plain record for storing. hot receives the values container with cold tags, cold
 * the container of cold values (empty when nothing is cold enough). A top-level value of at
 * least cold_field_bytes bytes (strings, bytes, arrays, maps, vectors) goes cold. Both buffers
 * are cleared first. plain is a record that larder_record_open accepted. */
int32_t larder__record_split(const larder_record *plain, size_t cold_field_bytes,
                             larder__buffer *hot, larder__buffer *cold, larder_error *error);
/* The names and values containers inside plain bytes whose head is well formed. */
bool larder__record_parts(larder_bytes plain, larder_bytes *names, larder_bytes *values);

/* The field path's next segment at *at; false at the end or when malformed (*at is then NULL
 * for malformed). */
bool larder__path_next(const uint8_t **at, const uint8_t *end, larder_bytes *segment);

/* Appends order bytes to a buffer. */
int32_t larder__order_append(larder_bytes value, int32_t direction, larder__buffer *out,
                             larder_error *error);
/* The length of the one encoded value at the front of order bytes in that direction; 0 when
 * malformed. */
size_t larder__order_skip(larder_bytes order_bytes, int32_t direction);

#endif

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
 * NaN is stored as 7FF8000000000000; -0.0 is kept. Rejected: values that carry their own
 * length (the container knows it), hashed field tables (names are few; see the decision page).
 */
#ifndef LARDER_RECORD_H
#define LARDER_RECORD_H

#include "bytes.h"

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
bool larder__time_get(const uint8_t from[LARDER__TIME_BYTES], larder_time *time);
int larder__time_compare(larder_time a, larder_time b);

/* A container opened in place. */
typedef struct larder__container {
    size_t count;
    uint32_t width;
    const uint8_t *ends;
    const uint8_t *bodies;
    const uint8_t *limit; /* end of the bytes it was opened in */
} larder__container;

/* False when the head does not fit in bytes. Bodies are checked as they are taken. */
bool larder__container_open(larder_bytes bytes, larder__container *container);
/* False beyond the end or when the ends are out of bounds. */
static inline bool larder__container_get(const larder__container *c, size_t position,
                                         larder_bytes *body) {
    if (position >= c->count) return false;
    size_t start = 0, end;
    if (c->width == 1) {
        if (position > 0) start = c->ends[position - 1];
        end = c->ends[position];
    } else if (c->width == 2) {
        if (position > 0) start = larder__load16(c->ends + 2 * (position - 1));
        end = larder__load16(c->ends + 2 * position);
    } else {
        if (position > 0) start = larder__load32(c->ends + 4 * (position - 1));
        end = larder__load32(c->ends + 4 * position);
    }
    if (start > end || end > (size_t)(c->limit - c->bodies)) return false;
    *body = larder__bytes(c->bodies + start, end - start);
    return true;
}
/* The bytes of the whole container, which must end inside limit; 0 when malformed. */
size_t larder__container_size(const larder__container *c, const uint8_t *begin);
/* Binary search in a names container: position, or -1. */
ptrdiff_t larder__names_find(const larder__container *names, larder_bytes name);

/* Flags of larder_record. */
enum { LARDER__RECORD_LOADED = 1 }; /* cold is the decompressed container */

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

/*
 * bytes.h - loads, stores, varints, checksum, hash and a growing buffer.
 *
 * LMDB aligns values to 2 bytes only, so everything goes through memcpy. Stored integers are
 * little-endian; integers inside keys are big-endian, so that memcmp orders them.
 */
#ifndef LARDER_BYTES_H
#define LARDER_BYTES_H

#include "larder.h"

#include <stdbool.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "larder stores little-endian integers by memcpy; this host is big-endian"
#endif

static inline larder_bytes larder__bytes(const void *data, size_t size_bytes) {
    larder_bytes bytes = {data, size_bytes};
    return bytes;
}
static inline const uint8_t *larder__begin(larder_bytes bytes) {
    return (const uint8_t *)bytes.data;
}

/* ---- what callers give: each public call looks at it here first ---- */

/* The most that a call takes of bytes, or of an array: nothing larger is read. */
#define LARDER__INPUT_MAX ((size_t)1 << 30)
/* The largest struct that a caller of a later version has. */
#define LARDER__STRUCT_MAX 4096

/* Whether the items of an array can be read. */
static inline bool larder__is_array(const void *items, size_t count, size_t item_bytes) {
    return count == 0 || (items != NULL && count <= LARDER__INPUT_MAX / item_bytes);
}
static inline bool larder__is_input(larder_bytes bytes) {
    return larder__is_array(bytes.data, bytes.size_bytes, 1);
}
/* The bytes, or none where they cannot be read: for what is malformed when it is empty. */
static inline larder_bytes larder__input(larder_bytes bytes) {
    return larder__is_input(bytes) ? bytes : larder__bytes(NULL, 0);
}
/* Whether a caller's buffer is there: a missing one has no capacity. */
static inline bool larder__is_room(const void *buffer, size_t capacity) {
    return buffer != NULL || capacity == 0;
}
/* NULL is the default allocator. */
static inline bool larder__is_allocator(const larder_allocator *allocator) {
    return allocator == NULL || (allocator->allocate != NULL && allocator->release != NULL);
}
/* Fills a caller's struct, which may be of another version, with defaults. One that is said to be larger
 * than any gets a struct_bytes of 0, which every call refuses. */
void larder__struct_init(void *to, size_t struct_bytes, const void *defaults,
                         size_t defaults_bytes);
static inline bool larder__bytes_equal(larder_bytes a, larder_bytes b) {
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}
/* memcmp, then length. */
static inline int larder__bytes_compare(larder_bytes a, larder_bytes b) {
    size_t shared = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
    if (order != 0) return order < 0 ? -1 : 1;
    return a.size_bytes < b.size_bytes ? -1 : a.size_bytes > b.size_bytes;
}
static inline bool larder__bytes_has_prefix(larder_bytes bytes, larder_bytes prefix) {
    return bytes.size_bytes >= prefix.size_bytes &&
           (prefix.size_bytes == 0 || memcmp(bytes.data, prefix.data, prefix.size_bytes) == 0);
}

static inline uint16_t larder__load16(const void *from) {
    uint16_t v;
    memcpy(&v, from, 2);
    return v;
}
static inline uint32_t larder__load32(const void *from) {
    uint32_t v;
    memcpy(&v, from, 4);
    return v;
}
static inline uint64_t larder__load64(const void *from) {
    uint64_t v;
    memcpy(&v, from, 8);
    return v;
}
static inline void larder__store16(void *to, uint16_t v) { memcpy(to, &v, 2); }
static inline void larder__store32(void *to, uint32_t v) { memcpy(to, &v, 4); }
static inline void larder__store64(void *to, uint64_t v) { memcpy(to, &v, 8); }
static inline uint32_t larder__load32_big(const void *from) {
    return __builtin_bswap32(larder__load32(from));
}
static inline uint64_t larder__load64_big(const void *from) {
    return __builtin_bswap64(larder__load64(from));
}
static inline void larder__store32_big(void *to, uint32_t v) {
    larder__store32(to, __builtin_bswap32(v));
}
static inline void larder__store64_big(void *to, uint64_t v) {
    larder__store64(to, __builtin_bswap64(v));
}

/* LEB128, at most 10 bytes, and no more than are needed: a number has one form, because bytes that
 * hold it are compared and used as keys. */
#define LARDER__VARINT_MAX 10
static inline size_t larder__varint_size(uint64_t v) {
    size_t n = 1;
    while (v >= 0x80) {
        v >>= 7;
        n++;
    }
    return n;
}
static inline size_t larder__varint_put(uint8_t *to, uint64_t v) {
    size_t n = 0;
    while (v >= 0x80) {
        to[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    to[n++] = (uint8_t)v;
    return n;
}
/* Longer varints. */
size_t larder__varint_get_long(const uint8_t *from, const uint8_t *end, uint64_t *v);
/* Behind a varint, or NULL when it does not end before end. */
static inline const uint8_t *larder__varint_skip(const uint8_t *from, const uint8_t *end) {
    while (from < end)
        if (*from++ < 0x80) return from;
    return NULL;
}
/* The bytes read, or 0 when the varint does not end before end, exceeds 64 bits or is longer than it
 * need be. */
static inline size_t larder__varint_get(const uint8_t *from, const uint8_t *end, uint64_t *v) {
    if (from < end && *from < 0x80) {
        *v = *from;
        return 1;
    }
    if (end - from >= 2 && from[1] < 0x80) {
        *v = (from[0] & 0x7fu) | (uint64_t)from[1] << 7;
        return from[1] != 0 ? 2 : 0;
    }
    return larder__varint_get_long(from, end, v);
}

/* CRC-32C (Castagnoli), by the processor's instruction where there is one. */
uint32_t larder__crc32c(uint32_t seed, const void *data, size_t size_bytes);
/* The same by table, as processors without the instruction compute it. */
uint32_t larder__crc32c_portable(uint32_t seed, const void *data, size_t size_bytes);
/* Of two pieces of data together, from the checksum of each and the size of the second. */
uint32_t larder__crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes);

/* Sorts count items of item_bytes (at most 64) in place: heap sort, no memory. compare answers
 * below, equal to or above 0. */
typedef int (*larder__compare_function)(const void *left, const void *right, const void *context);
void larder__sort(void *items, size_t count, size_t item_bytes, larder__compare_function compare,
                  const void *context);

/* Four CRC-32C side by side, folded into one: about three times as fast on a document row. Not for
 * data of which whole sectors may be missing: in text that repeats every 8 bytes, a run of zeros that
 * begins 28 bytes into one of the 32-byte blocks is not seen. */
uint32_t larder__checksum(uint32_t seed, const void *data, size_t size_bytes);
/* The same without the instruction, for tests. */
uint32_t larder__checksum_portable(uint32_t seed, const void *data, size_t size_bytes);

/* A 128-bit hash for keys of over-long names; stable on disk, not cryptographic. */
void larder__hash128(larder_bytes bytes, uint8_t out[16]);
/* A 64-bit hash for in-memory tables; not stable. */
uint64_t larder__hash64(larder_bytes bytes);

/* Whether a caller's bytes can be read and are well-formed UTF-8. */
bool larder__utf8_is_valid(larder_bytes text);

/* A buffer that grows; memory from the allocator. Zero-initialise with the allocator set. */
typedef struct larder__buffer {
    uint8_t *data;
    size_t size_bytes;
    size_t capacity_bytes;
    const larder_allocator *allocator;
} larder__buffer;

/* Makes room for extra_bytes more; false when there is no memory (the buffer is unchanged). */
bool larder__buffer_reserve(larder__buffer *buffer, size_t extra_bytes);
bool larder__buffer_append_growing(larder__buffer *buffer, const void *data, size_t size_bytes);
static inline bool larder__buffer_append(larder__buffer *buffer, const void *data,
                                         size_t size_bytes) {
    if (size_bytes > buffer->capacity_bytes - buffer->size_bytes)
        return larder__buffer_append_growing(buffer, data, size_bytes);
    if (size_bytes > 0) memcpy(buffer->data + buffer->size_bytes, data, size_bytes);
    buffer->size_bytes += size_bytes;
    return true;
}
void larder__buffer_free(larder__buffer *buffer);

/* NULL allocator: malloc and free. */
void *larder__allocate(const larder_allocator *allocator, size_t size_bytes);
void larder__release(const larder_allocator *allocator, void *memory);
extern const larder_allocator larder__default_allocator;

#endif

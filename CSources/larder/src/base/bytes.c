/* bytes.c - callers' structs, the allocator, the growing buffer, the UTF-8 check, varints. */
#include "bytes.h"

#include <stdlib.h>

void larder__struct_init(void *to, size_t struct_bytes, const void *defaults,
                         size_t defaults_bytes) {
    static const size_t refused = 0;
    bool is_sound = struct_bytes <= LARDER__STRUCT_MAX;
    if (is_sound) memset(to, 0, struct_bytes);
    memcpy(to, defaults, struct_bytes < defaults_bytes ? struct_bytes : defaults_bytes);
    if (!is_sound) memcpy(to, &refused, sizeof refused);
}

static void *default_allocate(void *context, size_t size_bytes) {
    (void)context;
    return malloc(size_bytes);
}

static void default_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

const larder_allocator larder__default_allocator = {NULL, default_allocate, default_release};

void *larder__allocate(const larder_allocator *allocator, size_t size_bytes) {
    if (!allocator) allocator = &larder__default_allocator;
    return allocator->allocate(allocator->context, size_bytes > 0 ? size_bytes : 1);
}

void larder__release(const larder_allocator *allocator, void *memory) {
    if (!memory) return;
    if (!allocator) allocator = &larder__default_allocator;
    allocator->release(allocator->context, memory);
}

bool larder__buffer_reserve(larder__buffer *buffer, size_t extra_bytes) {
    if (extra_bytes <= buffer->capacity_bytes - buffer->size_bytes) return true;
    if (extra_bytes > SIZE_MAX / 4 || buffer->size_bytes > SIZE_MAX / 4) return false;
    size_t needed = buffer->size_bytes + extra_bytes;
    size_t capacity = buffer->capacity_bytes < 128 ? 128 : buffer->capacity_bytes * 2;
    if (capacity < needed) capacity = needed;
    uint8_t *data = larder__allocate(buffer->allocator, capacity);
    if (!data) return false;
    if (buffer->size_bytes > 0) memcpy(data, buffer->data, buffer->size_bytes);
    larder__release(buffer->allocator, buffer->data);
    buffer->data = data;
    buffer->capacity_bytes = capacity;
    return true;
}

bool larder__buffer_append_growing(larder__buffer *buffer, const void *data, size_t size_bytes) {
    if (!larder__buffer_reserve(buffer, size_bytes)) return false;
    if (size_bytes > 0) memcpy(buffer->data + buffer->size_bytes, data, size_bytes);
    buffer->size_bytes += size_bytes;
    return true;
}

void larder__buffer_free(larder__buffer *buffer) {
    larder__release(buffer->allocator, buffer->data);
    buffer->data = NULL;
    buffer->size_bytes = 0;
    buffer->capacity_bytes = 0;
}

/* Bit 7 of each byte: clear in ASCII. */
#define NOT_ASCII 0x8080808080808080u

/* The bytes of the character at p, which is not ASCII; 0 when it is not well formed
 * (continuation, over-long, surrogate, beyond U+10FFFF, cut off). */
static size_t character_bytes(const uint8_t *p, size_t left) {
    uint8_t lead = p[0];
    if (lead < 0xc2 || lead > 0xf4 || left < 2) return 0;
    uint8_t second = p[1];
    if (lead < 0xe0) return (second & 0xc0) == 0x80 ? 2 : 0;
    uint8_t low = 0x80, high = 0xbf;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (second < low || second > high) return 0;
    if (left < 3 || (p[2] & 0xc0) != 0x80) return 0;
    if (lead < 0xf0) return 3;
    return left >= 4 && (p[3] & 0xc0) == 0x80 ? 4 : 0;
}

bool larder__utf8_is_valid(larder_bytes text) {
    size_t size = text.size_bytes;
    if (size == 0) return true;
    if (!larder__is_input(text)) return false;
    const uint8_t *p = text.data;
    const uint8_t *end = p + size;
    if (size < 8) {
        if (size >= 4 && ((larder__load32(p) | larder__load32(end - 4)) & 0x80808080u) == 0)
            return true;
        while (p < end) {
            size_t n = *p < 0x80 ? 1 : character_bytes(p, (size_t)(end - p));
            if (n == 0) return false;
            p += n;
        }
        return true;
    }
    for (;;) {
        while (end - p >= 32) {
            uint64_t any = larder__load64(p) | larder__load64(p + 8) | larder__load64(p + 16) |
                           larder__load64(p + 24);
            if (any & NOT_ASCII) break;
            p += 32;
        }
        while (end - p >= 8 && !(larder__load64(p) & NOT_ASCII))
            p += 8;
        /* The last 8 bytes reach back over what is known to be valid. */
        if (end - p < 8 && !(larder__load64(end - 8) & NOT_ASCII)) return true;
        while (p < end && *p < 0x80)
            p++;
        while (p < end && *p >= 0x80) {
            size_t n = character_bytes(p, (size_t)(end - p));
            if (n == 0) return false;
            p += n;
        }
        if (p == end) return true;
    }
}

/* Up to 8 bytes at once: the groups of 7 bits are moved together in three steps. */
size_t larder__varint_get_long(const uint8_t *from, const uint8_t *end, uint64_t *v) {
    uint64_t value = 0;
    if (end - from >= 8) {
        uint64_t word = larder__load64(from), stop = ~word & NOT_ASCII;
        if (stop != 0) {
            word &= (stop ^ (stop - 1)) & ~NOT_ASCII;
            word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
            word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
            *v = (word & 0x0fffffffu) | (word & 0x0fffffff00000000u) >> 4;
            size_t n = (size_t)__builtin_ctzll(stop) / 8 + 1;
            return n == 1 || from[n - 1] != 0 ? n : 0;
        }
    }
    for (size_t n = 0; n < LARDER__VARINT_MAX && from + n < end; n++) {
        uint8_t byte = from[n];
        if (n == 9 && byte > 1) return 0;
        value |= (uint64_t)(byte & 0x7f) << (7 * n);
        if (byte < 0x80) {
            *v = value;
            return n == 0 || byte != 0 ? n + 1 : 0;
        }
    }
    return 0;
}

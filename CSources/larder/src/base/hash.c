/*
 * hash.c - the two hashes.
 *
 * hash128 is SipHash-2-4 with 128 bits of output and the fixed key 00 01 .. 0F: it stands in
 * for the tail of over-long names on disk, so it must never change, and names that a stranger
 * chooses must not collide. hash64 folds 64 x 64 bit products and is for tables in memory; it
 * may change with any version.
 */
#include "bytes.h"

typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static inline uint64_t rotate(uint64_t v, int bits) { return (v << bits) | (v >> (64 - bits)); }

static inline void sip_round(sip_state *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static void sip_block(sip_state *s, uint64_t block) {
    s->v3 ^= block;
    sip_round(s);
    sip_round(s);
    s->v0 ^= block;
}

static uint64_t sip_finish(sip_state *s) {
    for (int i = 0; i < 4; i++)
        sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

void larder__hash128(larder_bytes bytes, uint8_t out[16]) {
    const uint64_t key0 = 0x0706050403020100u, key1 = 0x0f0e0d0c0b0a0908u;
    sip_state s = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du ^ 0xee,
                   key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u};
    const uint8_t *p = bytes.data;
    size_t left = bytes.size_bytes;
    for (; left >= 8; left -= 8, p += 8)
        sip_block(&s, larder__load64(p));
    uint64_t last = (uint64_t)bytes.size_bytes << 56;
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)p[i] << (8 * i);
    sip_block(&s, last);
    s.v2 ^= 0xee;
    larder__store64(out, sip_finish(&s));
    s.v1 ^= 0xdd;
    larder__store64(out + 8, sip_finish(&s));
}

/* The two halves of the 128-bit product, xored. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32);
    uint64_t cross = a_low * b_high + (uint32_t)middle;
    uint64_t high = a_high * b_high + (middle >> 32) + (cross >> 32);
    return ((cross << 32) | (uint32_t)low) ^ high;
#endif
}

uint64_t larder__hash64(larder_bytes bytes) {
    const uint64_t first = 0x9e3779b97f4a7c15u, second = 0xd6e8feb86659fd93u;
    const uint8_t *p = bytes.data;
    size_t left = bytes.size_bytes;
    uint64_t hash = fold((uint64_t)left ^ first, second);
    for (; left > 16; left -= 16, p += 16)
        hash = fold(larder__load64(p) ^ first ^ hash, larder__load64(p + 8) ^ second);
    uint64_t a = 0, b = 0;
    if (left >= 8) {
        a = larder__load64(p);
        b = larder__load64(p + left - 8);
    } else if (left >= 4) {
        a = larder__load32(p);
        b = larder__load32(p + left - 4);
    } else if (left > 0) {
        a = (uint64_t)p[0] | (uint64_t)p[left / 2] << 8 | (uint64_t)p[left - 1] << 16;
    }
    return fold(fold(a ^ hash ^ first, b ^ second) ^ hash, second);
}

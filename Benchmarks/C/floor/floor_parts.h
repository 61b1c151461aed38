/* floor_parts.h - what the files of the floor share. */
#ifndef LARDER_BENCH_FLOOR_PARTS_H
#define LARDER_BENCH_FLOOR_PARTS_H

#include "../generator.h"
#include "include/floor.h"

#include <lmdb.h>

struct floor_store {
    MDB_env *env;
    MDB_dbi documents, state, population, queue, views;
    uint64_t next_batch;
};

void floor_check(int code, const char *what);

static inline MDB_val val(span bytes) {
    return (MDB_val){bytes.size, (void *)(uintptr_t)bytes.data};
}
static inline span span_of_val(MDB_val v) { return (span){v.mv_data, v.mv_size}; }

/* A number whose bytes sort as it does. */
static inline void put_big_endian(uint64_t number, unsigned char to[8]) {
    for (int k = 0; k < 8; k++)
        to[k] = (unsigned char)(number >> (56 - 8 * k));
}

/* ---- raw_decode.c ---- */

typedef struct node {
    unsigned tag; /* of the value in the record; text, reference, map and array have a span */
    size_t name_at, name_size;
    size_t at, size; /* in bytes, or the children: the nodes that follow */
    union {
        int64_t integer;
        double real;
        struct {
            int64_t seconds;
            int32_t nanoseconds;
        } timestamp;
        struct {
            double latitude, longitude;
        } point;
    } as;
} node;

/* A decoded document. It is used again for the next one. */
typedef struct arena {
    node *nodes;
    size_t count, capacity;
    buffer bytes;
} arena;

/* The number of nodes: one a value. */
size_t raw_decode(span record, arena *to);
void arena_release(arena *a);

#endif

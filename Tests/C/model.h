/*
 * model.h - values as plain structures, compared in the most obvious way: what the encoded
 * implementation is tested against. The rules are Firestore's.
 */
#ifndef LARDER_TEST_MODEL_H
#define LARDER_TEST_MODEL_H

#include "larder.h"

#include <stdbool.h>

typedef struct model model;
struct model {
    int32_t type;
    bool boolean;
    int64_t integer;
    double number; /* double; latitude */
    double second; /* longitude */
    larder_time time;
    larder_bytes text;     /* string, bytes, reference */
    const model *previous; /* of a pending server timestamp, or NULL */
    size_t count;          /* array, map, vector */
    const model **items;   /* array, map */
    larder_bytes *names;   /* map, in order */
    double *numbers;       /* vector */
};

/* What these return is in the memory of make.h. */

/* A value of the type, with zeros for content. */
model *model_new(int32_t type);
/* A copy of data, or zeros where it is NULL. */
void *model_keep(const void *data, size_t size_bytes);
/* A copy that can be changed; empty when the map is NULL or another value. */
model *model_map_copy(const model *map);
/* Inserts in order; replaces one of the same name. */
void model_map_put(model *map, larder_bytes name, const model *value);
/* NULL when there is none. */
const model *model_map_get(const model *map, larder_bytes name);

/* A random value, in the memory of make.h; depth: how many containers it may be deep. Small
 * alphabets and edge cases are preferred, so that equal and nearly equal values come up. */
const model *model_random(int depth);
/* A random map with names from the same alphabet. */
const model *model_random_map(int depth);
/* The value with one small difference, or the same. */
const model *model_vary(const model *value, int depth);

/* Adds it to the builder; maps in a random order of names. */
void model_build(larder_builder *builder, const model *value);
larder_bytes model_encode(const model *value);
larder_bytes model_encode_record(const model *map);
/* Reads an encoded value through the accessors. NULL when one of them fails. */
const model *model_decode(larder_bytes value);
const model *model_decode_record(const larder_record *record);

int model_compare(const model *a, const model *b);
bool model_equal(const model *a, const model *b);
int64_t model_size(const model *value);
/* The same in every detail that is stored (previous values too). */
bool model_same(const model *a, const model *b);

/* base (NULL: no fields) patched: each path of segments set or deleted, but for those below another
 * one of them. */
typedef struct model_path {
    size_t count;
    larder_bytes segments[8];
} model_path;
const model *model_patch(const model *base, const model *source, const model_path *paths,
                         size_t path_count);

#endif

/* builder_parts.h - a builder's state, between builder.c and builder_finish.c. */
#ifndef LARDER_BUILDER_PARTS_H
#define LARDER_BUILDER_PARTS_H

#include "record.h"

#define LARDER__BUILDER_DEPTH_MAX 64 /* open arrays and maps; records allow less */

typedef struct larder__builder_part {
    uint64_t prefix; /* the first 8 bytes of the name as a number, 0 behind its end */
    uint32_t offset; /* of the body in data */
    uint32_t end;
    uint16_t name_at; /* from offset */
    uint16_t name_size;
} larder__builder_part;

typedef struct larder__builder_frame {
    uint32_t start; /* of the bodies in data */
    uint32_t first; /* part */
    bool is_map;
    bool is_named; /* a name waits for its value */
} larder__builder_frame;

enum { LARDER__ROOT_NONE, LARDER__ROOT_OPEN, LARDER__ROOT_DONE };

struct larder_builder {
    larder_allocator allocator;
    larder__buffer data;
    larder__buffer scratch;
    larder__buffer result;
    larder__buffer workspace;
    larder__builder_part *parts;
    size_t part_count, part_capacity;
    size_t depth; /* open frames */
    int root;
    bool root_is_map;
    bool saw_max;
    bool finished; /* the next value starts over */
    larder__builder_frame frames[LARDER__BUILDER_DEPTH_MAX];
};

/* Writes count, width and ends for the parts, whose bodies follow in that order (builder_finish.c). */
void larder__builder_put_head(uint8_t *to, const larder__builder_part *parts, size_t count,
                              size_t body_bytes);

#endif

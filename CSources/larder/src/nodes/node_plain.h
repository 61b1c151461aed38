/*
 * node_plain.h - encoded nodes: looking at one, skipping it, appending to one.
 *
 * A node has three encodings, which differ in two of their types:
 *
 *   encoded   larder.h; what callers give and get
 *   working   the same, where a child may be a REFERENCE: its children are a location of their own;
 *             or COLD: a string in the cold part of the row that it was read from
 *   stored    inside a row (segment.h): sizes of children are varints, their keys numbers of the
 *             row's name table, long strings lie in the row's cold part
 *
 * Nothing here trusts the bytes: what does not fit ends in NULL or false.
 */
#ifndef LARDER_NODE_PLAIN_H
#define LARDER_NODE_PLAIN_H

#include "base/error.h"
#include "node_key.h"

enum {
    LARDER__NODE_REFERENCE = 8, /* location number varint */
    LARDER__NODE_COLD = 9,      /* a string: where in the cold part, size; varints */
    LARDER__NODE_TYPE = 0x0f,
    LARDER__NODE_PRIORITY = 0x10,
    LARDER__NODE_SIZE_BYTES = 4 /* of the children's size, in encoded and working nodes */
};

/* Keys down to the deepest leaf. The index of tracked queries (node_query.h) has two more than its
 * tree. */
#define LARDER__DEPTH_MAX (LARDER_NODE_DEPTH_MAX + 2)

typedef enum larder__node_encoding { LARDER__WORKING, LARDER__STORED } larder__node_encoding;

/* A node taken apart as far as its head goes. */
typedef struct larder__head {
    uint8_t type;
    larder_bytes priority;  /* an encoded leaf, empty for none */
    const uint8_t *payload; /* behind it */
} larder__head;

bool larder__head_read(const uint8_t *at, const uint8_t *end, larder__head *head);
/* Where a node's payload ends; NULL when it does not fit. */
const uint8_t *larder__payload_end(larder__node_encoding encoding, const larder__head *head,
                                   const uint8_t *end);
/* The same from the node's first byte. */
const uint8_t *larder__node_end(larder__node_encoding encoding, const uint8_t *at,
                                const uint8_t *end);
/* The children of a head of type CHILDREN. */
bool larder__head_children(larder__node_encoding encoding, const larder__head *head,
                           const uint8_t *end, larder_bytes *children);
/* A zigzag varint. */
static inline bool larder__integer_read(const uint8_t *at, const uint8_t *end, int64_t *integer) {
    uint64_t raw;
    if (larder__varint_get(at, end, &raw) == 0) return false;
    *integer = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    return true;
}
/* The value of a leaf, or of a priority. False for other types. */
bool larder__head_leaf(const larder__head *head, const uint8_t *end, larder_leaf *leaf);
bool larder__leaf_read(larder_bytes encoded, larder_leaf *leaf);
/* Takes "key size, key, node" off the front. */
bool larder__child_take(const uint8_t **at, const uint8_t *end, larder_bytes *key,
                        larder_bytes *node);

/* The order of values in an index: empty, false, true, numbers, strings, children. */
int larder__leaf_compare(const larder_leaf *left, const larder_leaf *right);

/* Each appends; false when there is no memory. */
static inline bool larder__append_byte(larder__buffer *out, uint8_t byte) {
    if (out->size_bytes == out->capacity_bytes) return larder__buffer_append(out, &byte, 1);
    out->data[out->size_bytes++] = byte;
    return true;
}
static inline bool larder__append_varint(larder__buffer *out, uint64_t value) {
    if (out->capacity_bytes - out->size_bytes < LARDER__VARINT_MAX &&
        !larder__buffer_reserve(out, LARDER__VARINT_MAX))
        return false;
    out->size_bytes += larder__varint_put(out->data + out->size_bytes, value);
    return true;
}
static inline bool larder__append_bytes(larder__buffer *out, larder_bytes bytes) {
    return larder__buffer_append(out, bytes.data, bytes.size_bytes);
}
static inline bool larder__append_sized(larder__buffer *out, larder_bytes bytes) {
    return larder__append_varint(out, bytes.size_bytes) && larder__append_bytes(out, bytes);
}
/* A leaf's head and value, with no priority. */
bool larder__append_leaf(larder__buffer *out, const larder_leaf *leaf, larder_bytes priority);
/* The head of children or of a reference; priority: encoded, empty for none. */
bool larder__append_head(larder__buffer *out, uint8_t type, larder_bytes priority);
/* The head of children whose size is not known yet; *size_at is where it goes. */
bool larder__children_begin(larder__buffer *out, larder_bytes priority, size_t *size_at);
/* Fills the size in. */
void larder__children_end(larder__buffer *out, size_t size_at);
bool larder__append_reference(larder__buffer *out, larder_bytes priority, uint64_t location);
/* The location of a working or stored REFERENCE. */
bool larder__reference_read(const larder__head *head, const uint8_t *end, uint64_t *location);

/* Nodes that larder__node_check accepts besides those that a tree can hold. */
enum { LARDER__CHECK_SERVER_VALUES = 1, LARDER__CHECK_RESERVED_KEYS = 2 /* .q */ };
/* The value of a leaf; its type is one. */
int32_t larder__leaf_check(const larder_leaf *leaf, uint32_t allowed, larder_error *error);
/* Validates an encoded node in full. *depth: keys down to its deepest leaf. */
int32_t larder__node_check(larder_bytes encoded, uint32_t allowed, uint32_t *depth,
                           larder_error *error);

struct larder_node_builder {
    larder__buffer bytes;
    larder__buffer levels; /* open children, outermost first */
    size_t key_at;         /* where the key of the next node begins; SIZE_MAX: none was given */
    larder_allocator allocator;
};
/* For a call that fills the builder with one node: what it appends to. */
larder__buffer *larder__builder_begin(larder_node_builder *builder);

#endif

/* node_editing.h - what node_edit.c (nodes) and node_row.c (rows) share of one edit. */
#ifndef LARDER_NODE_EDITING_H
#define LARDER_NODE_EDITING_H

#include "node_edit.h"

typedef struct larder__editing {
    larder_txn *txn;
    const larder__node_change *changes;
    larder_error *error;
} larder__editing;

/* Changes first..end-1 of an edit, which all lie below one node with depth keys above it. */
typedef struct larder__changed {
    size_t first, end;
    uint32_t depth;
} larder__changed;

static inline larder_bytes larder__changed_key(const larder__editing *e, size_t change,
                                               uint32_t depth) {
    return e->changes[change].keys[depth];
}

/* Those of the changes that go through the same child as the first one. */
static inline larder__changed larder__changed_child(const larder__editing *e, larder__changed in) {
    larder__changed child = {in.first, in.first + 1, in.depth + 1};
    while (child.end < in.end && larder__bytes_equal(larder__changed_key(e, child.end, in.depth),
                                                     larder__changed_key(e, child.first, in.depth)))
        child.end++;
    return child;
}

static inline int32_t larder__edit_no_memory(const larder__editing *e) {
    return larder__fail(e->error, LARDER_E_NO_MEMORY, "no memory for a node");
}

static inline int32_t larder__edit_malformed(const larder__editing *e) {
    return larder__fail(e->error, LARDER_E_CORRUPT, "a working node is malformed");
}

/* Appends what changes make of a working node (empty: of nothing); nothing when it becomes
 * empty. */
int32_t larder__merge_node(const larder__editing *e, larder_bytes old, larder__changed in,
                           larder__buffer *out);
/* The same where a location holds the node's children. */
int32_t larder__merge_location(const larder__editing *e, uint64_t location, larder_bytes priority,
                               larder__changed in, larder__buffer *out);
/* Applies changes to the rows of a location. *has_shrunk: it may be empty or small now. */
int32_t larder__edit_rows(const larder__editing *e, uint64_t location, bool is_holder,
                          larder__changed in, bool *has_shrunk);

#endif

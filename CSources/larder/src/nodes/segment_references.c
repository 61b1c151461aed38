/* segment_references.c - the locations that a row of table nodes refers to (segment.h). */
#include "segment.h"

static const char malformed[] = "a node is malformed";

static int32_t each_reference(larder__segment *s, larder_bytes node, uint32_t depth,
                              larder__location_function function, void *context,
                              larder_error *error) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_bytes children, key, child;
    uint64_t location;
    if (!larder__head_read(at, end, &head) || depth > LARDER__DEPTH_MAX)
        return larder__segment_damaged(s, malformed, error);
    if (head.type == LARDER__NODE_REFERENCE) {
        if (!larder__reference_read(&head, end, &location))
            return larder__segment_damaged(s, malformed, error);
        return function(context, location, error);
    }
    if (head.type != LARDER_NODE_CHILDREN) return LARDER_OK;
    if (!larder__head_children(LARDER__STORED, &head, end, &children))
        return larder__segment_damaged(s, malformed, error);
    int32_t status;
    while ((status = larder__stored_take(s, &children, &key, &child, error)) == LARDER_OK) {
        status = each_reference(s, child, depth + 1, function, context, error);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder__stored_references(larder__segment *segment, larder_bytes node,
                                  larder__location_function function, void *context,
                                  larder_error *error) {
    return each_reference(segment, node, 0, function, context, error);
}

int32_t larder__segment_references(larder__segment *segment, larder__location_function function,
                                   void *context, larder_error *error) {
    larder__segment_child child;
    larder__segment_rewind(&child);
    for (;;) {
        int32_t status = larder__segment_next(segment, &child, error);
        if (status == LARDER_OK)
            status = each_reference(segment, child.node, 0, function, context, error);
        if (status != LARDER_OK) return status == LARDER_END ? LARDER_OK : status;
    }
}

/*
 * node_builder.c - builds an encoded node from leaves and children in key order.
 *
 *   bytes    the node so far; each open children has a blank size
 *   levels   for each open children: where its key and its size lie, and its last key
 */
#include "base/process.h"
#include "node_plain.h"

typedef struct level {
    size_t key_at;                      /* of the key before the children, SIZE_MAX at the top */
    size_t size_at;                     /* of the children's size */
    size_t last_key_at, last_key_bytes; /* of the child before; no bytes: there is none */
} level;

#define NO_KEY SIZE_MAX

static size_t level_count(const larder_node_builder *b) {
    return b->levels.size_bytes / sizeof(level);
}
static level *top_level(const larder_node_builder *b) {
    return (level *)(void *)b->levels.data + level_count(b) - 1;
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
}

static int32_t misused(larder_error *error, const char *what) {
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "%s", what);
}

int32_t larder_node_builder_create(const larder_allocator *allocator, larder_node_builder **builder,
                                   larder_error *error) {
    if (builder == NULL || !larder__is_allocator(allocator))
        return misused(error, "builder or a function of the allocator is NULL");
    if (allocator == NULL) allocator = &larder__default_allocator;
    larder_node_builder *b = larder__allocate(allocator, sizeof *b);
    if (b == NULL) return no_memory(error);
    memset(b, 0, sizeof *b);
    b->allocator = *allocator;
    b->bytes.allocator = b->levels.allocator = &b->allocator;
    b->key_at = NO_KEY;
    larder__handle_opened();
    *builder = b;
    return LARDER_OK;
}

void larder_node_builder_close(larder_node_builder *builder) {
    if (builder == NULL) return;
    larder_allocator allocator = builder->allocator;
    larder__buffer_free(&builder->bytes);
    larder__buffer_free(&builder->levels);
    larder__release(&allocator, builder);
    larder__handle_closed();
}

void larder_node_builder_reset(larder_node_builder *builder) {
    if (builder == NULL) return;
    builder->bytes.size_bytes = builder->levels.size_bytes = 0;
    builder->key_at = NO_KEY;
}

larder__buffer *larder__builder_begin(larder_node_builder *builder) {
    larder_node_builder_reset(builder);
    return &builder->bytes;
}

static int32_t too_large(size_t size, larder_error *error) {
    return larder__fail(error, LARDER_E_TOO_LARGE, "the node has %zu bytes; %d are allowed", size,
                        LARDER_NODE_MAX_BYTES);
}

int32_t larder_node_builder_key(larder_node_builder *builder, larder_bytes key,
                                larder_error *error) {
    if (builder == NULL || level_count(builder) == 0 || builder->key_at != NO_KEY)
        return misused(error, "a key is given once for each child, inside children");
    int32_t status = larder__node_key_check(key, error);
    if (status != LARDER_OK) return status;
    level *top = top_level(builder);
    if (top->last_key_bytes > 0 &&
        larder__node_key_compare(
            larder__bytes(builder->bytes.data + top->last_key_at, top->last_key_bytes), key) >= 0)
        return misused(error, "keys are to be given in key order");
    size_t at = builder->bytes.size_bytes;
    if (!larder__append_sized(&builder->bytes, key)) {
        builder->bytes.size_bytes = at;
        return no_memory(error);
    }
    builder->key_at = at;
    return LARDER_OK;
}

/* Whether a node may come now. */
static int32_t check_place(const larder_node_builder *b, larder_error *error) {
    if (b == NULL) return misused(error, "builder is NULL");
    if (b->bytes.size_bytes > LARDER_NODE_MAX_BYTES) return too_large(b->bytes.size_bytes, error);
    if (level_count(b) == 0 && b->bytes.size_bytes > 0)
        return misused(error, "the node is complete");
    if (level_count(b) > 0 && b->key_at == NO_KEY) return misused(error, "the child has no key");
    return LARDER_OK;
}

/* The node after the last key is there. */
static void close_child(larder_node_builder *b) {
    if (b->key_at == NO_KEY) return;
    level *top = top_level(b);
    uint64_t size = 0;
    const uint8_t *key = b->bytes.data + b->key_at;
    size_t used = larder__varint_get(key, b->bytes.data + b->bytes.size_bytes, &size);
    top->last_key_at = b->key_at + used;
    top->last_key_bytes = (size_t)size;
    b->key_at = NO_KEY;
}

static bool is_leaf_type(int32_t type) {
    return type >= LARDER_NODE_FALSE && type <= LARDER_NODE_SERVER_VALUE;
}

/* Appends a priority as an encoded leaf to out, which is empty for none. */
static int32_t put_priority(const larder_leaf *priority, larder__buffer *out, larder_error *error) {
    out->size_bytes = 0;
    if (priority == NULL || priority->type == LARDER_NODE_EMPTY) return LARDER_OK;
    if (!is_leaf_type(priority->type) || priority->type <= LARDER_NODE_TRUE)
        return misused(error, "a priority is a number, a string or a server value");
    int32_t status = larder__leaf_check(priority, LARDER__CHECK_SERVER_VALUES, error);
    if (status != LARDER_OK) return status;
    return larder__append_leaf(out, priority, larder__bytes(NULL, 0)) ? LARDER_OK
                                                                      : no_memory(error);
}

static int32_t add_leaf(larder_node_builder *b, const larder_leaf *leaf, larder_bytes priority,
                        larder_error *error) {
    size_t at = b->bytes.size_bytes;
    int32_t status = larder__leaf_check(leaf, LARDER__CHECK_SERVER_VALUES, error);
    if (status != LARDER_OK) return status;
    if (!larder__append_leaf(&b->bytes, leaf, priority)) {
        b->bytes.size_bytes = at;
        return no_memory(error);
    }
    close_child(b);
    return LARDER_OK;
}

int32_t larder_node_builder_leaf(larder_node_builder *builder, const larder_leaf *leaf,
                                 const larder_leaf *priority, larder_error *error) {
    int32_t status = check_place(builder, error);
    if (status != LARDER_OK) return status;
    if (leaf == NULL || !is_leaf_type(leaf->type)) return misused(error, "the leaf has no type");
    larder__buffer encoded = {.allocator = &builder->allocator};
    status = put_priority(priority, &encoded, error);
    if (status == LARDER_OK)
        status = add_leaf(builder, leaf, larder__bytes(encoded.data, encoded.size_bytes), error);
    larder__buffer_free(&encoded);
    return status;
}

int32_t larder_node_builder_begin_children(larder_node_builder *builder,
                                           const larder_leaf *priority, larder_error *error) {
    int32_t status = check_place(builder, error);
    if (status != LARDER_OK) return status;
    if (level_count(builder) == LARDER_NODE_DEPTH_MAX)
        return larder__fail(error, LARDER_E_TOO_DEEP, "a node has more than %d levels",
                            LARDER_NODE_DEPTH_MAX);
    larder__buffer encoded = {.allocator = &builder->allocator};
    size_t at = builder->bytes.size_bytes;
    level opened = {.key_at = builder->key_at};
    status = put_priority(priority, &encoded, error);
    if (status == LARDER_OK &&
        (!larder__children_begin(&builder->bytes, larder__bytes(encoded.data, encoded.size_bytes),
                                 &opened.size_at) ||
         !larder__buffer_append(&builder->levels, &opened, sizeof opened))) {
        builder->bytes.size_bytes = at;
        status = no_memory(error);
    }
    larder__buffer_free(&encoded);
    if (status == LARDER_OK) builder->key_at = NO_KEY;
    return status;
}

int32_t larder_node_builder_end_children(larder_node_builder *builder, larder_error *error) {
    if (builder == NULL || level_count(builder) == 0 || builder->key_at != NO_KEY)
        return misused(error, "no children are open, or the last key has no node");
    level ended = *top_level(builder);
    builder->levels.size_bytes -= sizeof ended;
    builder->key_at = ended.key_at;
    if (ended.last_key_bytes > 0) {
        larder__children_end(&builder->bytes, ended.size_at);
        close_child(builder);
        return LARDER_OK;
    }
    builder->bytes.size_bytes = ended.key_at == NO_KEY ? 0 : ended.key_at;
    builder->key_at = NO_KEY;
    return LARDER_OK;
}

int32_t larder_node_builder_node(larder_node_builder *builder, larder_bytes encoded,
                                 larder_error *error) {
    uint32_t depth;
    int32_t status = check_place(builder, error);
    if (status == LARDER_OK)
        status = larder__node_check(encoded, LARDER__CHECK_SERVER_VALUES, &depth, error);
    if (status != LARDER_OK) return status;
    if (level_count(builder) + depth > LARDER_NODE_DEPTH_MAX)
        return larder__fail(error, LARDER_E_TOO_DEEP, "a node has more than %d levels",
                            LARDER_NODE_DEPTH_MAX);
    if (encoded.size_bytes == 0) {
        if (builder->key_at != NO_KEY) builder->bytes.size_bytes = builder->key_at;
        builder->key_at = NO_KEY;
        return LARDER_OK;
    }
    if (!larder__append_bytes(&builder->bytes, encoded)) return no_memory(error);
    close_child(builder);
    return LARDER_OK;
}

int32_t larder_node_builder_finish(larder_node_builder *builder, larder_bytes *encoded,
                                   larder_error *error) {
    if (builder == NULL || encoded == NULL || level_count(builder) > 0)
        return misused(error, "children are still open, or an argument is NULL");
    if (builder->bytes.size_bytes > LARDER_NODE_MAX_BYTES)
        return too_large(builder->bytes.size_bytes, error);
    *encoded = larder__bytes(builder->bytes.data, builder->bytes.size_bytes);
    return LARDER_OK;
}

/* node_plain.c - encoded nodes: taken apart, compared, appended, validated (node_plain.h). */
#include "node_plain.h"

#include <math.h>

#define DOUBLE_BYTES 8

/* ---- taking apart ---- */

static const uint8_t *skip_sized(const uint8_t *at, const uint8_t *end) {
    uint64_t size;
    size_t used = larder__varint_get(at, end, &size);
    if (used == 0 || size > (uint64_t)(end - at) - used) return NULL;
    return at + used + size;
}

static const uint8_t *skip_payload(larder__node_encoding encoding, uint8_t type, const uint8_t *at,
                                   const uint8_t *end) {
    switch (type) {
    case LARDER_NODE_FALSE:
    case LARDER_NODE_TRUE:
        return at;
    case LARDER_NODE_INTEGER:
    case LARDER__NODE_REFERENCE:
        return larder__varint_skip(at, end);
    case LARDER_NODE_DOUBLE:
        return end - at < DOUBLE_BYTES ? NULL : at + DOUBLE_BYTES;
    case LARDER_NODE_STRING:
    case LARDER_NODE_SERVER_VALUE:
        return skip_sized(at, end);
    case LARDER__NODE_COLD:
        at = larder__varint_skip(at, end);
        return at == NULL ? NULL : larder__varint_skip(at, end);
    case LARDER_NODE_CHILDREN:
        if (encoding == LARDER__STORED) return skip_sized(at, end);
        if (end - at < LARDER__NODE_SIZE_BYTES ||
            larder__load32(at) > (uint64_t)(end - at) - LARDER__NODE_SIZE_BYTES)
            return NULL;
        return at + LARDER__NODE_SIZE_BYTES + larder__load32(at);
    default:
        return NULL;
    }
}

static bool is_priority_type(uint8_t type) {
    return type >= LARDER_NODE_INTEGER && type <= LARDER_NODE_SERVER_VALUE;
}

bool larder__head_read(const uint8_t *at, const uint8_t *end, larder__head *head) {
    if (at >= end || (*at & ~(LARDER__NODE_TYPE | LARDER__NODE_PRIORITY)) != 0) return false;
    head->type = *at & LARDER__NODE_TYPE;
    head->priority = larder__bytes(NULL, 0);
    head->payload = at + 1;
    if ((*at & LARDER__NODE_PRIORITY) == 0) return true;
    const uint8_t *priority = at + 1;
    if (priority >= end || !is_priority_type(*priority)) return false;
    head->payload = skip_payload(LARDER__WORKING, *priority, priority + 1, end);
    if (head->payload == NULL) return false;
    head->priority = larder__bytes(priority, (size_t)(head->payload - priority));
    return true;
}

const uint8_t *larder__payload_end(larder__node_encoding encoding, const larder__head *head,
                                   const uint8_t *end) {
    return skip_payload(encoding, head->type, head->payload, end);
}

const uint8_t *larder__node_end(larder__node_encoding encoding, const uint8_t *at,
                                const uint8_t *end) {
    larder__head head;
    if (at < end && *at <= LARDER__NODE_TYPE) return skip_payload(encoding, *at, at + 1, end);
    if (!larder__head_read(at, end, &head)) return NULL;
    return skip_payload(encoding, head.type, head.payload, end);
}

bool larder__head_children(larder__node_encoding encoding, const larder__head *head,
                           const uint8_t *end, larder_bytes *children) {
    const uint8_t *begin = head->payload, *behind = larder__payload_end(encoding, head, end);
    if (head->type != LARDER_NODE_CHILDREN || behind == NULL) return false;
    if (encoding == LARDER__STORED)
        begin = larder__varint_skip(begin, end);
    else
        begin += LARDER__NODE_SIZE_BYTES;
    *children = larder__bytes(begin, (size_t)(behind - begin));
    return true;
}

static bool read_text(const uint8_t *at, const uint8_t *end, larder_bytes *text) {
    uint64_t size;
    size_t used = larder__varint_get(at, end, &size);
    if (used == 0 || size > (uint64_t)(end - at) - used) return false;
    *text = larder__bytes(at + used, (size_t)size);
    return true;
}

bool larder__head_leaf(const larder__head *head, const uint8_t *end, larder_leaf *leaf) {
    memset(leaf, 0, sizeof *leaf);
    leaf->type = head->type;
    switch (head->type) {
    case LARDER_NODE_FALSE:
    case LARDER_NODE_TRUE:
        return true;
    case LARDER_NODE_INTEGER:
        return larder__integer_read(head->payload, end, &leaf->integer);
    case LARDER_NODE_DOUBLE:
        if (end - head->payload < DOUBLE_BYTES) return false;
        memcpy(&leaf->number, head->payload, DOUBLE_BYTES);
        return true;
    case LARDER_NODE_STRING:
    case LARDER_NODE_SERVER_VALUE:
        return read_text(head->payload, end, &leaf->text);
    default:
        return false;
    }
}

bool larder__leaf_read(larder_bytes encoded, larder_leaf *leaf) {
    const uint8_t *at = larder__begin(encoded), *end = at + encoded.size_bytes;
    larder__head head;
    if (encoded.size_bytes == 0) {
        memset(leaf, 0, sizeof *leaf);
        return true;
    }
    return larder__head_read(at, end, &head) && larder__head_leaf(&head, end, leaf);
}

bool larder__child_take(const uint8_t **at, const uint8_t *end, larder_bytes *key,
                        larder_bytes *node) {
    uint64_t size;
    size_t used = larder__varint_get(*at, end, &size);
    if (used == 0 || size > (uint64_t)(end - *at) - used) return false;
    *key = larder__bytes(*at + used, (size_t)size);
    const uint8_t *begin = *at + used + size;
    const uint8_t *behind = larder__node_end(LARDER__WORKING, begin, end);
    if (behind == NULL) return false;
    *node = larder__bytes(begin, (size_t)(behind - begin));
    *at = behind;
    return true;
}

bool larder__reference_read(const larder__head *head, const uint8_t *end, uint64_t *location) {
    return head->type == LARDER__NODE_REFERENCE &&
           larder__varint_get(head->payload, end, location) != 0 && *location != 0;
}

/* ---- order ---- */

/* Types in index order; numbers share a rank. */
static int rank(int32_t type) {
    switch (type) {
    case LARDER_NODE_EMPTY:
        return 0;
    case LARDER_NODE_SERVER_VALUE:
        return 1;
    case LARDER_NODE_FALSE:
        return 2;
    case LARDER_NODE_TRUE:
        return 3;
    case LARDER_NODE_INTEGER:
    case LARDER_NODE_DOUBLE:
        return 4;
    case LARDER_NODE_STRING:
        return 5;
    default:
        return 6;
    }
}

#define TWO_TO_63 9223372036854775808.0

/* Exactly: the integer is not rounded. */
static int compare_mixed(int64_t integer, double number) {
    if (!(number < TWO_TO_63)) return -1; /* NaN, too */
    if (number < -TWO_TO_63) return 1;
    int64_t whole = (int64_t)number;
    if (integer != whole) return integer < whole ? -1 : 1;
    return number > (double)whole ? -1 : number < (double)whole;
}

static int compare_numbers(const larder_leaf *a, const larder_leaf *b) {
    bool a_is_integer = a->type == LARDER_NODE_INTEGER,
         b_is_integer = b->type == LARDER_NODE_INTEGER;
    if (a_is_integer && b_is_integer) return a->integer < b->integer ? -1 : a->integer > b->integer;
    if (a_is_integer) return compare_mixed(a->integer, b->number);
    if (b_is_integer) return -compare_mixed(b->integer, a->number);
    return a->number < b->number ? -1 : a->number > b->number;
}

int larder__leaf_compare(const larder_leaf *left, const larder_leaf *right) {
    int a = rank(left->type), b = rank(right->type);
    if (a != b) return a < b ? -1 : 1;
    if (left->type == LARDER_NODE_STRING) return larder__text_compare(left->text, right->text);
    return a == rank(LARDER_NODE_INTEGER) ? compare_numbers(left, right) : 0;
}

/* ---- appending ---- */

bool larder__append_head(larder__buffer *out, uint8_t type, larder_bytes priority) {
    if (priority.size_bytes > 0) type |= LARDER__NODE_PRIORITY;
    return larder__append_byte(out, type) && larder__append_bytes(out, priority);
}

bool larder__append_leaf(larder__buffer *out, const larder_leaf *leaf, larder_bytes priority) {
    if (!larder__append_head(out, (uint8_t)leaf->type, priority)) return false;
    switch (leaf->type) {
    case LARDER_NODE_INTEGER:
        return larder__append_varint(out, (uint64_t)leaf->integer << 1 ^
                                              (uint64_t)(leaf->integer < 0 ? -1 : 0));
    case LARDER_NODE_DOUBLE:
        return larder__buffer_append(out, &leaf->number, DOUBLE_BYTES);
    case LARDER_NODE_STRING:
    case LARDER_NODE_SERVER_VALUE:
        return larder__append_sized(out, leaf->text);
    default:
        return true;
    }
}

bool larder__children_begin(larder__buffer *out, larder_bytes priority, size_t *size_at) {
    static const uint8_t blank[LARDER__NODE_SIZE_BYTES] = {0};
    if (!larder__append_head(out, LARDER_NODE_CHILDREN, priority)) return false;
    *size_at = out->size_bytes;
    return larder__buffer_append(out, blank, sizeof blank);
}

void larder__children_end(larder__buffer *out, size_t size_at) {
    size_t size = out->size_bytes - size_at - LARDER__NODE_SIZE_BYTES;
    larder__store32(out->data + size_at, (uint32_t)size);
}

bool larder__append_reference(larder__buffer *out, larder_bytes priority, uint64_t location) {
    return larder__append_head(out, LARDER__NODE_REFERENCE, priority) &&
           larder__append_varint(out, location);
}

/* ---- validating ---- */

static int32_t malformed(larder_error *error, const char *what) {
    return larder__fail(error, LARDER_E_INVALID_RECORD, "an encoded node is malformed: %s", what);
}

int32_t larder__leaf_check(const larder_leaf *leaf, uint32_t allowed, larder_error *error) {
    if (leaf->type == LARDER_NODE_SERVER_VALUE && (allowed & LARDER__CHECK_SERVER_VALUES) == 0)
        return malformed(error, "a server value is to be resolved first");
    if (leaf->type == LARDER_NODE_DOUBLE && !isfinite(leaf->number))
        return malformed(error, "a number is not finite");
    if (leaf->type != LARDER_NODE_STRING && leaf->type != LARDER_NODE_SERVER_VALUE)
        return LARDER_OK; /* what text holds is not looked at */
    if (leaf->text.size_bytes > LARDER_NODE_STRING_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE, "a string has %zu bytes; %d are allowed",
                            leaf->text.size_bytes, LARDER_NODE_STRING_MAX_BYTES);
    if (!larder__utf8_is_valid(leaf->text)) return malformed(error, "a string is not UTF-8");
    return LARDER_OK;
}

typedef struct checking {
    uint32_t allowed;
    uint32_t deepest;
    larder_error *error;
} checking;

static int32_t check_node(checking *c, const uint8_t *at, const uint8_t *end, uint32_t depth);

static int32_t check_children(checking *c, larder_bytes children, uint32_t depth) {
    const uint8_t *at = larder__begin(children), *end = at + children.size_bytes;
    larder_bytes key, node, last = {0};
    if (children.size_bytes == 0) return malformed(c->error, "children without a child");
    bool is_index = (c->allowed & LARDER__CHECK_RESERVED_KEYS) != 0;
    if (depth == (is_index ? LARDER__DEPTH_MAX : LARDER_NODE_DEPTH_MAX))
        return larder__fail(c->error, LARDER_E_TOO_DEEP, "a node has more than %d levels",
                            LARDER_NODE_DEPTH_MAX);
    while (at < end) {
        if (!larder__child_take(&at, end, &key, &node))
            return malformed(c->error, "a child's size");
        int32_t status = larder__node_key_check(key, c->error);
        if (status == LARDER_E_INVALID_NAME && (c->allowed & LARDER__CHECK_RESERVED_KEYS) != 0 &&
            key.size_bytes == 2 && *larder__begin(key) == '.')
            status = LARDER_OK;
        if (status != LARDER_OK) return status;
        if (last.size_bytes > 0 && larder__node_key_compare(last, key) >= 0)
            return malformed(c->error, "keys are not in order");
        last = key;
        const uint8_t *begin = larder__begin(node);
        status = check_node(c, begin, begin + node.size_bytes, depth + 1);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

static int32_t check_node(checking *c, const uint8_t *at, const uint8_t *end, uint32_t depth) {
    larder__head head;
    larder_leaf leaf;
    if (depth > c->deepest) c->deepest = depth;
    if (!larder__head_read(at, end, &head) ||
        larder__payload_end(LARDER__WORKING, &head, end) != end)
        return malformed(c->error, "its size or type");
    if (head.priority.size_bytes > 0) {
        if (!larder__leaf_read(head.priority, &leaf)) return malformed(c->error, "a priority");
        int32_t status = larder__leaf_check(&leaf, c->allowed, c->error);
        if (status != LARDER_OK) return status;
    }
    if (head.type == LARDER_NODE_CHILDREN) {
        larder_bytes children;
        if (!larder__head_children(LARDER__WORKING, &head, end, &children))
            return malformed(c->error, "its size");
        return check_children(c, children, depth);
    }
    if (!larder__head_leaf(&head, end, &leaf)) return malformed(c->error, "a leaf");
    return larder__leaf_check(&leaf, c->allowed, c->error);
}

int32_t larder__node_check(larder_bytes encoded, uint32_t allowed, uint32_t *depth,
                           larder_error *error) {
    checking c = {.allowed = allowed, .error = error};
    *depth = 0;
    if (encoded.size_bytes == 0) return LARDER_OK;
    if (encoded.data == NULL) return malformed(error, "it is NULL");
    if (encoded.size_bytes > LARDER_NODE_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE,
                            "an encoded node has %zu bytes; %d are allowed", encoded.size_bytes,
                            LARDER_NODE_MAX_BYTES);
    const uint8_t *at = larder__begin(encoded);
    int32_t status = check_node(&c, at, at + encoded.size_bytes, 0);
    *depth = c.deepest;
    return status;
}

/* ---- public ---- */

int32_t larder_node_validate(larder_bytes encoded, larder_error *error) {
    uint32_t depth;
    return larder__node_check(encoded, LARDER__CHECK_SERVER_VALUES, &depth, error);
}

int32_t larder_node_open(larder_bytes encoded, larder_node *node, larder_error *error) {
    larder__head head;
    if (node == NULL || !larder__is_input(encoded))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "node or encoded is NULL");
    memset(node, 0, sizeof *node);
    if (encoded.size_bytes == 0) return LARDER_OK;
    const uint8_t *at = larder__begin(encoded), *end = at + encoded.size_bytes;
    if (!larder__head_read(at, end, &head) || !larder__leaf_read(head.priority, &node->priority))
        return malformed(error, "its head");
    const uint8_t *behind = larder__payload_end(LARDER__WORKING, &head, end);
    if (behind == NULL || head.type > LARDER_NODE_CHILDREN) return malformed(error, "its size");
    node->type = head.type;
    node->size_bytes = (size_t)(behind - at);
    if (head.type == LARDER_NODE_CHILDREN)
        (void)larder__head_children(LARDER__WORKING, &head, end, &node->children);
    else if (!larder__head_leaf(&head, end, &node->leaf))
        return malformed(error, "a leaf");
    return LARDER_OK;
}

int32_t larder_node_take_child(larder_bytes *children, larder_bytes *key, larder_bytes *child,
                               larder_error *error) {
    if (children == NULL || key == NULL || child == NULL || !larder__is_input(*children))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "children or an output is NULL");
    if (children->size_bytes == 0) return LARDER_END;
    const uint8_t *at = larder__begin(*children), *end = at + children->size_bytes;
    if (!larder__child_take(&at, end, key, child)) return malformed(error, "a child");
    *children = larder__bytes(at, (size_t)(end - at));
    return LARDER_OK;
}

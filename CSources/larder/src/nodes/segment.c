/* segment.c - reading a row of table nodes in place (segment.h). */
#include "segment.h"

#include "record/vocabulary.h"

#define HEAD_BYTES 5
#define CHECKSUM_AT 1
#define COLD_PRESENT 0x01
#define RAW_STORED 1
#define FRAME_CHECKSUM_BYTES 4
/* A cold part holds one leaf, or strings of nodes that are split when they are large. */
#define COLD_MAX_BYTES (LARDER_NODE_STRING_MAX_BYTES + (1 << 20))

int32_t larder__segment_damaged(const larder__segment *segment, const char *what,
                                larder_error *error) {
    return larder__corrupt(segment->txn, LARDER__NODES, segment->key, what, error);
}

/* ---- opening ---- */

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    size_t used = larder__varint_get(*at, end, value);
    *at += used;
    return used != 0;
}

static bool take_bytes(const uint8_t **at, const uint8_t *end, uint64_t size, larder_bytes *bytes) {
    if (size > (uint64_t)(end - *at)) return false;
    *bytes = larder__bytes(*at, (size_t)size);
    *at += size;
    return true;
}

/* *at: behind the cold part's head afterwards, where the row's checksum ends. */
static bool take_cold_head(larder__segment *s, const uint8_t **at, const uint8_t *end) {
    uint64_t raw, unused, number;
    if (!take_varint(at, end, &raw) || raw == 0 || raw > COLD_MAX_BYTES) return false;
    if (!take_varint(at, end, &unused) || unused > raw) return false;
    if (!take_varint(at, end, &number) || number > UINT32_MAX) return false;
    if (end - *at < FRAME_CHECKSUM_BYTES) return false;
    *at += FRAME_CHECKSUM_BYTES;
    s->cold_bytes = (uint32_t)raw;
    s->unused_bytes = (uint32_t)unused;
    s->is_raw = number == RAW_STORED;
    s->dictionary = number <= RAW_STORED ? 0 : (uint32_t)number - 1;
    s->frame = larder__bytes(*at, (size_t)(end - *at));
    return !s->is_raw || s->frame.size_bytes == raw;
}

int32_t larder__segment_open(const larder_txn *txn, larder_bytes key, larder_bytes row,
                             larder__segment *s, larder_error *error) {
    const uint8_t *p = larder__begin(row), *end = p + row.size_bytes, *at = p + HEAD_BYTES;
    uint64_t names_bytes, hot_bytes;
    memset(s, 0, offsetof(larder__segment, name_at));
    s->txn = txn;
    s->key = key;
    s->loaded.allocator = &txn->env->allocator;
    if (row.size_bytes < HEAD_BYTES || (p[0] & ~COLD_PRESENT) != 0)
        return larder__segment_damaged(s, "the row is too short", error);
    bool is_sound = take_varint(&at, end, &s->child_count) && at < end;
    if (is_sound) s->name_count = *at++;
    is_sound = is_sound && take_varint(&at, end, &names_bytes) &&
               take_varint(&at, end, &hot_bytes) && names_bytes <= LARDER__NAMES_MAX_BYTES &&
               take_bytes(&at, end, names_bytes, &s->names) &&
               take_bytes(&at, end, hot_bytes, &s->hot);
    s->cold_part = larder__bytes(at, (size_t)(end - at));
    if (is_sound) is_sound = (p[0] & COLD_PRESENT) != 0 ? take_cold_head(s, &at, end) : at == end;
    if (!is_sound) return larder__segment_damaged(s, "the row is malformed", error);
    uint32_t crc = larder__crc32c(p[0], key.data, key.size_bytes);
    crc = larder__checksum(crc, p + HEAD_BYTES, (size_t)(at - p) - HEAD_BYTES);
    if (crc != larder__load32(p + CHECKSUM_AT))
        return larder__segment_damaged(s, "the checksum does not match", error);
    return LARDER_OK;
}

void larder__segment_close(larder__segment *segment) { larder__buffer_free(&segment->loaded); }

static int32_t load_cold(larder__segment *s, larder_error *error) {
    if (s->cold.size_bytes > 0) return LARDER_OK;
    if (s->cold_bytes == 0) return larder__segment_damaged(s, "the cold part is missing", error);
    const uint8_t *frame = larder__begin(s->frame);
    if (larder__checksum(0, frame, s->frame.size_bytes) !=
        larder__load32(frame - FRAME_CHECKSUM_BYTES))
        return larder__segment_damaged(s, "the cold part's checksum does not match", error);
    if (s->is_raw) {
        s->cold = s->frame;
        return LARDER_OK;
    }
    int32_t status = LARDER_OK;
    if (s->dictionary != 0) status = larder__dictionary_load(s->txn, s->dictionary, error);
    if (status != LARDER_OK) return status;
    s->loaded.size_bytes = 0;
    if (!larder__buffer_reserve(&s->loaded, s->cold_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
    status = larder__frame_decompress(s->txn->env->vocabulary, s->dictionary, s->frame,
                                      s->loaded.data, s->cold_bytes, error);
    if (status == LARDER_E_CORRUPT || status == LARDER_E_INVALID_RECORD)
        return larder__segment_damaged(s, "the cold part does not decompress", error);
    if (status == LARDER_OK) s->cold = larder__bytes(s->loaded.data, s->cold_bytes);
    return status;
}

/* ---- children of the row ---- */

static int32_t malformed(const larder__segment *s, larder_error *error) {
    return larder__segment_damaged(s, "a node is malformed", error);
}

/* The sizes that a child begins with; *at: behind them. */
static inline bool take_sizes(const uint8_t **at, const uint8_t *end, uint64_t *shared,
                              uint64_t *rest) {
    const uint8_t *p = *at;
    if (end - p < 2 || p[0] >= 0x80 || p[1] >= 0x80)
        return take_varint(at, end, shared) && take_varint(at, end, rest);
    *shared = p[0];
    *rest = p[1];
    *at = p + 2;
    return true;
}

int32_t larder__segment_next(const larder__segment *s, larder__segment_child *child,
                             larder_error *error) {
    const uint8_t *begin = larder__begin(s->hot), *end = begin + s->hot.size_bytes;
    const uint8_t *at = begin + child->next_at;
    uint64_t shared, rest;
    if (child->next_at >= s->hot.size_bytes) return LARDER_END;
    child->at = child->next_at;
    if (!take_sizes(&at, end, &shared, &rest) || rest > (uint64_t)(end - at))
        return malformed(s, error);
    at += rest;
    const uint8_t *behind = larder__node_end(LARDER__STORED, at, end);
    if (behind == NULL) return malformed(s, error);
    child->node = larder__bytes(at, (size_t)(behind - at));
    child->next_at = (size_t)(behind - begin);
    return LARDER_OK;
}

/* An integer of at most 56 bits; longer ones are left to larder__integer_read. */
static inline bool take_short_integer(const uint8_t **at, const uint8_t *end, int64_t *value) {
    uint64_t raw = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 56 && p < end; shift += 7) {
        raw |= (uint64_t)(*p & 0x7f) << shift;
        if (*p++ >= 0x80) continue;
        *value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
        *at = p;
        return true;
    }
    return false;
}

/* What does not look like such an integer is left to larder__segment_next. */
void larder__segment_pass_integers(const larder__segment *s, larder__segment_child *child,
                                   int64_t least, int64_t most) {
    const uint8_t *begin = larder__begin(s->hot), *end = begin + s->hot.size_bytes;
    const uint8_t *at = begin + child->next_at;
    while (at < end) {
        const uint8_t *node = at;
        uint64_t shared, rest;
        int64_t value;
        if (!take_sizes(&node, end, &shared, &rest) || rest >= (uint64_t)(end - node)) break;
        node += rest;
        if (*node++ != LARDER_NODE_INTEGER || !take_short_integer(&node, end, &value)) break;
        if (value >= least && value <= most) break;
        at = node;
    }
    child->next_at = (size_t)(at - begin);
}

/* From the last key that was put together on. */
int32_t larder__segment_key(const larder__segment *s, larder__segment_child *child,
                            larder_error *error) {
    const uint8_t *begin = larder__begin(s->hot), *end = begin + s->hot.size_bytes;
    const uint8_t *at = begin + child->keyed_at;
    while (child->keyed_at <= child->at && at < end) {
        uint64_t shared, rest;
        larder_bytes suffix;
        if (!take_sizes(&at, end, &shared, &rest) || shared > child->form.size_bytes ||
            rest > LARDER__FORM_MAX - shared || !take_bytes(&at, end, rest, &suffix))
            return malformed(s, error);
        if (rest > 0) memcpy(child->form.bytes + shared, suffix.data, suffix.size_bytes);
        child->form.size_bytes = (size_t)(shared + rest);
        at = larder__node_end(LARDER__STORED, at, end);
        if (at == NULL) return malformed(s, error);
        child->keyed_at = (size_t)(at - begin);
    }
    return LARDER_OK;
}

/* Keys are compared by what they do not share: matched is how many bytes of the last key, which
 * is below the wanted one, are its first bytes, too. */
int32_t larder__segment_find(const larder__segment *s, larder_bytes form, larder_bytes *node,
                             larder_error *error) {
    const uint8_t *at = larder__begin(s->hot), *end = at + s->hot.size_bytes;
    const uint8_t *wanted = larder__begin(form);
    size_t matched = 0;
    while (at < end) {
        uint64_t shared, rest;
        larder_bytes suffix;
        if (!take_varint(&at, end, &shared) || !take_varint(&at, end, &rest) ||
            !take_bytes(&at, end, rest, &suffix))
            return malformed(s, error);
        if (shared < matched) return LARDER_NOT_FOUND; /* above the wanted key */
        bool is_equal = false;
        if (shared == matched) {
            const uint8_t *p = larder__begin(suffix);
            size_t left = form.size_bytes - matched, i = 0;
            size_t least = left < suffix.size_bytes ? left : suffix.size_bytes;
            while (i < least && p[i] == wanted[matched + i])
                i++;
            is_equal = i == left && i == suffix.size_bytes;
            if (!is_equal && (i == left || (i < suffix.size_bytes && p[i] > wanted[matched + i])))
                return LARDER_NOT_FOUND;
            matched += i;
        }
        const uint8_t *behind = larder__node_end(LARDER__STORED, at, end);
        if (behind == NULL) return malformed(s, error);
        if (is_equal) {
            *node = larder__bytes(at, (size_t)(behind - at));
            return LARDER_OK;
        }
        at = behind;
    }
    return LARDER_NOT_FOUND;
}

/* ---- stored nodes ---- */

int32_t larder__segment_places(larder__segment *s, larder_error *error) {
    if (s->has_places) return LARDER_OK;
    const uint8_t *begin = larder__begin(s->names), *end = begin + s->names.size_bytes;
    const uint8_t *at = begin;
    for (uint32_t i = 0; i < s->name_count; i++) {
        if (at >= end || *at > end - at - 1)
            return larder__segment_damaged(s, "a name is malformed", error);
        s->name_at[i] = (uint16_t)(at - begin);
        at += 1 + *at;
    }
    s->has_places = true;
    return LARDER_OK;
}

static int32_t take_key_slowly(larder__segment *s, const uint8_t **at, const uint8_t *end,
                               larder_bytes *key, larder_error *error) {
    uint64_t size;
    if (*at >= end) return malformed(s, error);
    if (**at == 0) {
        ++*at;
        bool is_sound = take_varint(at, end, &size) && size <= LARDER__FORM_MAX &&
                        take_bytes(at, end, size, key);
        return is_sound ? LARDER_OK : malformed(s, error);
    }
    if (!s->has_places) {
        int32_t status = larder__segment_places(s, error);
        if (status != LARDER_OK) return status;
    }
    if (**at > s->name_count) return malformed(s, error);
    const uint8_t *name = larder__begin(s->names) + s->name_at[*(*at)++ - 1];
    *key = larder__bytes(name + 1, *name);
    return LARDER_OK;
}

static inline int32_t take_key(larder__segment *s, const uint8_t **at, const uint8_t *end,
                               larder_bytes *key, larder_error *error) {
    if (*at >= end || **at == 0 || !s->has_places || **at > s->name_count)
        return take_key_slowly(s, at, end, key, error);
    const uint8_t *name = larder__begin(s->names) + s->name_at[*(*at)++ - 1];
    *key = larder__bytes(name + 1, *name);
    return LARDER_OK;
}

int32_t larder__stored_take(larder__segment *s, larder_bytes *children, larder_bytes *key,
                            larder_bytes *node, larder_error *error) {
    const uint8_t *at = larder__begin(*children), *end = at + children->size_bytes;
    if (children->size_bytes == 0) return LARDER_END;
    int32_t status = take_key(s, &at, end, key, error);
    if (status != LARDER_OK) return status;
    const uint8_t *behind = larder__node_end(LARDER__STORED, at, end);
    if (behind == NULL) return malformed(s, error);
    *node = larder__bytes(at, (size_t)(behind - at));
    *children = larder__bytes(behind, (size_t)(end - behind));
    return LARDER_OK;
}

int32_t larder__stored_find(larder__segment *s, const larder__head *head, const uint8_t *end,
                            larder_bytes key, larder_bytes *node, larder_error *error) {
    larder_bytes children, found;
    if (!larder__head_children(LARDER__STORED, head, end, &children)) return malformed(s, error);
    for (;;) {
        int32_t status = larder__stored_take(s, &children, &found, node, error);
        if (status == LARDER_END) return LARDER_NOT_FOUND;
        if (status != LARDER_OK || larder__bytes_equal(found, key)) return status;
    }
}

static int32_t read_cold(larder__segment *s, const larder__head *head, const uint8_t *end,
                         larder_bytes *text, larder_error *error) {
    uint64_t begin, size;
    const uint8_t *at = head->payload;
    if (!take_varint(&at, end, &begin) || !take_varint(&at, end, &size)) return malformed(s, error);
    int32_t status = load_cold(s, error);
    if (status != LARDER_OK) return status;
    if (begin > s->cold.size_bytes || size > s->cold.size_bytes - begin) return malformed(s, error);
    *text = larder__bytes(larder__begin(s->cold) + begin, (size_t)size);
    return LARDER_OK;
}

int32_t larder__stored_leaf(larder__segment *s, const larder__head *head, const uint8_t *end,
                            larder_leaf *leaf, larder_error *error) {
    if (head->type != LARDER__NODE_COLD)
        return larder__head_leaf(head, end, leaf) ? LARDER_OK : malformed(s, error);
    memset(leaf, 0, sizeof *leaf);
    leaf->type = LARDER_NODE_STRING;
    return read_cold(s, head, end, &leaf->text, error);
}

/* ---- copying out ---- */

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
}

typedef struct copying {
    larder__segment *segment;
    const larder__copy_rules *rules;
    larder__buffer *out;
    larder_error *error;
} copying;

static int32_t copy_node(const copying *c, const uint8_t **at, const uint8_t *end, uint32_t depth);

/* Numbers and booleans up to this size are copied byte by byte. */
#define SMALL_LEAF_MAX (1 + LARDER__VARINT_MAX)

/* The children of one node, a key and a node each; small leaves without a call. */
static int32_t copy_children(const copying *c, larder_bytes children, larder_bytes priority,
                             uint32_t depth) {
    const uint8_t *at = larder__begin(children), *end = at + children.size_bytes;
    larder__buffer *out = c->out;
    size_t size_at;
    if (depth >= LARDER__DEPTH_MAX) return malformed(c->segment, c->error);
    if (!larder__children_begin(out, priority, &size_at)) return no_memory(c->error);
    while (at < end) {
        larder_bytes key;
        int32_t status = take_key(c->segment, &at, end, &key, c->error);
        if (status != LARDER_OK) return status;
        if (!larder__buffer_reserve(out, key.size_bytes + LARDER__VARINT_MAX + SMALL_LEAF_MAX))
            return no_memory(c->error);
        (void)larder__append_sized(out, key);
        if (at < end && *at <= LARDER_NODE_INTEGER && *at != LARDER_NODE_EMPTY) {
            const uint8_t *behind =
                *at == LARDER_NODE_INTEGER ? larder__varint_skip(at + 1, end) : at + 1;
            if (behind == NULL || behind - at > SMALL_LEAF_MAX)
                return malformed(c->segment, c->error);
            uint8_t *to = out->data + out->size_bytes;
            out->size_bytes += (size_t)(behind - at);
            while (at < behind)
                *to++ = *at++;
            continue;
        }
        status = copy_node(c, &at, end, depth + 1);
        if (status != LARDER_OK) return status;
    }
    larder__children_end(out, size_at);
    return LARDER_OK;
}

static int32_t copy_cold(const copying *c, const larder__head *head, const uint8_t *end) {
    larder_bytes text;
    int32_t status = read_cold(c->segment, head, end, &text, c->error);
    if (status != LARDER_OK) return status;
    bool has_memory = larder__append_head(c->out, LARDER_NODE_STRING, head->priority) &&
                      larder__append_sized(c->out, text);
    return has_memory ? LARDER_OK : no_memory(c->error);
}

/* The node that begins at *at, which is moved behind it. */
static int32_t copy_node(const copying *c, const uint8_t **at, const uint8_t *end, uint32_t depth) {
    const uint8_t *begin = *at;
    larder__head head;
    larder_bytes children;
    uint64_t location;
    if (!larder__head_read(begin, end, &head)) return malformed(c->segment, c->error);
    *at = larder__payload_end(LARDER__STORED, &head, end);
    if (*at == NULL) return malformed(c->segment, c->error);
    switch (head.type) {
    case LARDER_NODE_CHILDREN:
        if (!larder__head_children(LARDER__STORED, &head, end, &children))
            return malformed(c->segment, c->error);
        return copy_children(c, children, head.priority, depth);
    case LARDER__NODE_REFERENCE:
        if (!larder__reference_read(&head, end, &location)) return malformed(c->segment, c->error);
        return c->rules->reference(c->rules->context, head.priority, location, depth, c->out,
                                   c->error);
    case LARDER__NODE_COLD:
        if (!c->rules->keeps_cold) return copy_cold(c, &head, end);
        break;
    default:
        break;
    }
    return larder__buffer_append(c->out, begin, (size_t)(*at - begin)) ? LARDER_OK
                                                                       : no_memory(c->error);
}

int32_t larder__stored_copy(larder__segment *segment, larder_bytes node, uint32_t depth,
                            const larder__copy_rules *rules, larder__buffer *out,
                            larder_error *error) {
    copying c = {segment, rules, out, error};
    const uint8_t *at = larder__begin(node);
    return copy_node(&c, &at, at + node.size_bytes, depth);
}

int32_t larder__keep_reference(void *context, larder_bytes priority, uint64_t location,
                               uint32_t depth, larder__buffer *out, larder_error *error) {
    (void)context;
    (void)depth;
    return larder__append_reference(out, priority, location) ? LARDER_OK : no_memory(error);
}

/* ---- working nodes with cold strings ---- */

static int32_t resolve_children(const copying *c, larder_bytes children) {
    const uint8_t *at = larder__begin(children), *end = at + children.size_bytes;
    larder_bytes key, node;
    while (at < end) {
        if (!larder__child_take(&at, end, &key, &node)) return malformed(c->segment, c->error);
        if (!larder__append_sized(c->out, key)) return no_memory(c->error);
        int32_t status = larder__cold_resolve_node(c->segment, node, c->out, c->error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

int32_t larder__cold_resolve_node(larder__segment *segment, larder_bytes node, larder__buffer *out,
                                  larder_error *error) {
    copying c = {segment, NULL, out, error};
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_bytes children;
    size_t size_at;
    if (!larder__head_read(at, end, &head)) return malformed(segment, error);
    if (head.type == LARDER__NODE_COLD) return copy_cold(&c, &head, end);
    if (head.type != LARDER_NODE_CHILDREN)
        return larder__append_bytes(out, node) ? LARDER_OK : no_memory(error);
    if (!larder__head_children(LARDER__WORKING, &head, end, &children))
        return malformed(segment, error);
    if (!larder__children_begin(out, head.priority, &size_at)) return no_memory(error);
    int32_t status = resolve_children(&c, children);
    larder__children_end(out, size_at);
    return status;
}

int64_t larder__cold_size(larder_bytes node) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_bytes children, key, child;
    uint64_t begin, size;
    int64_t total = 0;
    if (!larder__head_read(at, end, &head)) return 0;
    if (head.type == LARDER__NODE_COLD) {
        at = head.payload;
        return take_varint(&at, end, &begin) && take_varint(&at, end, &size) ? (int64_t)size : 0;
    }
    if (!larder__head_children(LARDER__WORKING, &head, end, &children)) return 0;
    at = larder__begin(children);
    for (end = at + children.size_bytes; at < end && larder__child_take(&at, end, &key, &child);)
        total += larder__cold_size(child);
    return total;
}

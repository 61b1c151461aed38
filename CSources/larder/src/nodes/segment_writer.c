/* segment_writer.c - building a row of table nodes (segment.h). */
#include "segment.h"

#define HEAD_BYTES 5
#define CHECKSUM_AT 1
#define COLD_PRESENT 0x01
#define RAW_STORED 1
#define NAME_MAX_BYTES 255
#define SLOT_COUNT (2 * (LARDER__NAMES_MAX + 1))
#define HEAD_ESTIMATE 12      /* flags, checksum, counts and sizes */
#define COLD_HEAD_ESTIMATE 12 /* raw size, dictionary, checksum, the frame's own head */

void larder__segment_begin(larder__segment_writer *w) {
    w->names.size_bytes = w->hot.size_bytes = w->cold.size_bytes = 0;
    w->child_count = 0;
    w->name_count = 0;
    w->last.size_bytes = 0;
    memset(w->slots, 0, sizeof w->slots);
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row");
}

int32_t larder__segment_begin_from(larder__segment_writer *w, larder__segment *source,
                                   larder_error *error) {
    larder__segment_begin(w);
    int32_t status = larder__segment_places(source, error);
    if (status != LARDER_OK) return status;
    if (!larder__append_bytes(&w->names, source->names)) return no_memory(error);
    memcpy(w->name_at, source->name_at, source->name_count * sizeof w->name_at[0]);
    for (uint32_t i = 0; i < source->name_count; i++) {
        const uint8_t *name = w->names.data + w->name_at[i];
        size_t slot = larder__hash64(larder__bytes(name + 1, *name)) % SLOT_COUNT;
        while (w->slots[slot] != 0)
            slot = (slot + 1) % SLOT_COUNT;
        w->slots[slot] = (uint8_t)(i + 1);
    }
    w->name_count = source->name_count;
    return LARDER_OK;
}

/* ---- names ---- */

/* The place of a name from 1 on, which is added when it is new; 0 when there is no room. A slot of
 * a name that was taken back counts as empty: all that were added behind it are gone, too. */
static int32_t find_name(larder__segment_writer *w, larder_bytes name, uint8_t *place,
                         larder_error *error) {
    *place = 0;
    if (name.size_bytes > NAME_MAX_BYTES) return LARDER_OK;
    size_t slot = larder__hash64(name) % SLOT_COUNT;
    while (w->slots[slot] != 0 && w->slots[slot] <= w->name_count) {
        const uint8_t *known = w->names.data + w->name_at[w->slots[slot] - 1];
        if (larder__bytes_equal(larder__bytes(known + 1, *known), name)) {
            *place = w->slots[slot];
            return LARDER_OK;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    size_t at = w->names.size_bytes;
    if (w->name_count == LARDER__NAMES_MAX || at + 1 + name.size_bytes > LARDER__NAMES_MAX_BYTES)
        return LARDER_OK;
    if (!larder__append_byte(&w->names, (uint8_t)name.size_bytes) ||
        !larder__append_bytes(&w->names, name))
        return no_memory(error);
    w->name_at[w->name_count] = (uint16_t)at;
    *place = w->slots[slot] = (uint8_t)++w->name_count;
    return LARDER_OK;
}

/* ---- nodes ---- */

/* Puts the size in front of what was appended from at on, where one byte was left for it. */
static bool put_size(larder__buffer *out, size_t at) {
    size_t size = out->size_bytes - at - 1;
    size_t width = larder__varint_size(size);
    if (width > 1) {
        if (!larder__buffer_reserve(out, width - 1)) return false;
        memmove(out->data + at + width, out->data + at + 1, size);
        out->size_bytes += width - 1;
    }
    larder__varint_put(out->data + at, size);
    return true;
}

static int32_t add_node(larder__segment_writer *w, larder_bytes node, larder_error *error);

static int32_t add_children(larder__segment_writer *w, const larder__head *head, const uint8_t *end,
                            larder_error *error) {
    larder_bytes children, key, node;
    size_t at;
    if (!larder__head_children(LARDER__WORKING, head, end, &children)) return LARDER_E_CORRUPT;
    if (!larder__append_head(&w->hot, LARDER_NODE_CHILDREN, head->priority))
        return no_memory(error);
    at = w->hot.size_bytes;
    if (!larder__append_byte(&w->hot, 0)) return no_memory(error);
    const uint8_t *p = larder__begin(children), *behind = p + children.size_bytes;
    while (p < behind) {
        uint8_t place;
        if (!larder__child_take(&p, behind, &key, &node)) return LARDER_E_CORRUPT;
        int32_t status = find_name(w, key, &place, error);
        if (status == LARDER_OK && (!larder__append_byte(&w->hot, place) ||
                                    (place == 0 && !larder__append_sized(&w->hot, key))))
            status = no_memory(error);
        if (status == LARDER_OK) status = add_node(w, node, error);
        if (status != LARDER_OK) return status;
    }
    return put_size(&w->hot, at) ? LARDER_OK : no_memory(error);
}

static int32_t add_cold(larder__segment_writer *w, const larder__head *head, larder_bytes text,
                        larder_error *error) {
    bool has_memory = larder__append_head(&w->hot, LARDER__NODE_COLD, head->priority) &&
                      larder__append_varint(&w->hot, w->cold.size_bytes) &&
                      larder__append_varint(&w->hot, text.size_bytes) &&
                      larder__append_bytes(&w->cold, text);
    return has_memory ? LARDER_OK : no_memory(error);
}

/* A working node comes from the store or was validated: it is malformed never. */
static int32_t add_node(larder__segment_writer *w, larder_bytes node, larder_error *error) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_leaf leaf;
    if (!larder__head_read(at, end, &head)) return LARDER_E_CORRUPT;
    if (head.type == LARDER_NODE_CHILDREN) return add_children(w, &head, end, error);
    if (head.type == LARDER_NODE_STRING) {
        if (!larder__head_leaf(&head, end, &leaf)) return LARDER_E_CORRUPT;
        if (leaf.text.size_bytes >= LARDER__COLD_STRING_MIN)
            return add_cold(w, &head, leaf.text, error);
    }
    return larder__append_bytes(&w->hot, node) ? LARDER_OK : no_memory(error);
}

/* Appends what a key does not share with the last one. */
static bool add_key(larder__segment_writer *w, larder_bytes form) {
    const uint8_t *p = larder__begin(form);
    size_t shared = 0;
    size_t least = form.size_bytes < w->last.size_bytes ? form.size_bytes : w->last.size_bytes;
    while (shared < least && p[shared] == w->last.bytes[shared])
        shared++;
    size_t rest = form.size_bytes - shared;
    if (!larder__append_varint(&w->hot, shared) || !larder__append_varint(&w->hot, rest) ||
        !larder__buffer_append(&w->hot, p + shared, rest))
        return false;
    if (rest > 0) memcpy(w->last.bytes + shared, p + shared, rest);
    w->last.size_bytes = form.size_bytes;
    w->child_count++;
    return true;
}

static int32_t add_checked(larder__segment_writer *w, larder_bytes node, larder_error *error) {
    int32_t status = add_node(w, node, error);
    if (status == LARDER_E_CORRUPT)
        return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    return status;
}

int32_t larder__segment_add(larder__segment_writer *w, larder_bytes form, larder_bytes node,
                            larder_error *error) {
    return add_key(w, form) ? add_checked(w, node, error) : no_memory(error);
}

int32_t larder__segment_add_stored(larder__segment_writer *w, larder_bytes form, larder_bytes node,
                                   larder_error *error) {
    bool has_memory = add_key(w, form) && larder__append_bytes(&w->hot, node);
    return has_memory ? LARDER_OK : no_memory(error);
}

int32_t larder__segment_splice(larder__segment_writer *w, larder_bytes hot, larder_bytes node,
                               larder_error *error) {
    if (!larder__append_bytes(&w->hot, hot)) return no_memory(error);
    return node.size_bytes == 0 ? LARDER_OK : add_checked(w, node, error);
}

size_t larder__segment_estimate(const larder__segment_writer *w) {
    size_t size = HEAD_ESTIMATE + w->names.size_bytes + w->hot.size_bytes;
    if (w->cold.size_bytes > 0)
        size += COLD_HEAD_ESTIMATE + w->cold.size_bytes * w->cold_ratio / 256;
    return size;
}

larder__segment_mark larder__segment_note(const larder__segment_writer *w) {
    larder__segment_mark mark = {w->names.size_bytes, w->hot.size_bytes, w->cold.size_bytes,
                                 w->child_count, w->name_count};
    return mark;
}

/* The last key stays what it was: the row is finished after that. */
void larder__segment_undo(larder__segment_writer *w, const larder__segment_mark *mark) {
    w->names.size_bytes = mark->names_bytes;
    w->hot.size_bytes = mark->hot_bytes;
    w->cold.size_bytes = mark->cold_bytes;
    w->child_count = mark->child_count;
    w->name_count = mark->name_count;
}

/* ---- the row ---- */

/* Appends the cold part's head and the frame; *checked_bytes: the row up to the frame. */
static int32_t put_cold(larder_txn *txn, larder__segment_writer *w, uint32_t *dictionary,
                        size_t *checked_bytes, larder_error *error) {
    larder_bytes cold = larder__bytes(w->cold.data, w->cold.size_bytes);
    uint8_t crc[4];
    txn->scratch.size_bytes = 0;
    int32_t status = larder__cold_compress(txn, cold, &txn->scratch, dictionary, error);
    if (status < 0) return status;
    bool is_raw = status == LARDER_NOT_FOUND;
    larder_bytes frame = is_raw ? cold : larder__bytes(txn->scratch.data, txn->scratch.size_bytes);
    uint32_t ratio = (uint32_t)(frame.size_bytes * 256 / cold.size_bytes);
    w->cold_ratio = (3 * w->cold_ratio + ratio) / 4;
    uint64_t number = is_raw ? RAW_STORED : *dictionary == 0 ? 0 : (uint64_t)*dictionary + 1;
    larder__store32(crc, larder__checksum(0, frame.data, frame.size_bytes));
    if (!larder__append_varint(&txn->row, cold.size_bytes) || !larder__append_byte(&txn->row, 0) ||
        !larder__append_varint(&txn->row, number) ||
        !larder__buffer_append(&txn->row, crc, sizeof crc))
        return no_memory(error);
    *checked_bytes = txn->row.size_bytes;
    return larder__append_bytes(&txn->row, frame) ? LARDER_OK : no_memory(error);
}

/* The row up to its cold part. */
static int32_t put_head(larder_txn *txn, const larder__segment_writer *w, bool has_cold,
                        larder_error *error) {
    larder__buffer *row = &txn->row;
    uint8_t head[HEAD_BYTES] = {has_cold ? COLD_PRESENT : 0};
    row->size_bytes = 0;
    bool has_memory = larder__buffer_append(row, head, sizeof head) &&
                      larder__append_varint(row, w->child_count) &&
                      larder__append_byte(row, (uint8_t)w->name_count) &&
                      larder__append_varint(row, w->names.size_bytes) &&
                      larder__append_varint(row, w->hot.size_bytes) &&
                      larder__buffer_append(row, w->names.data, w->names.size_bytes) &&
                      larder__buffer_append(row, w->hot.data, w->hot.size_bytes);
    return has_memory ? LARDER_OK : no_memory(error);
}

static void seal(larder__buffer *row, larder_bytes key, size_t checked_bytes) {
    uint32_t crc = larder__crc32c(row->data[0], key.data, key.size_bytes);
    crc = larder__checksum(crc, row->data + HEAD_BYTES, checked_bytes - HEAD_BYTES);
    larder__store32(row->data + CHECKSUM_AT, crc);
}

int32_t larder__segment_finish(larder_txn *txn, larder__segment_writer *w, larder_bytes key,
                               uint32_t *dictionary, larder_error *error) {
    bool has_cold = w->cold.size_bytes > 0;
    *dictionary = 0;
    int32_t status = put_head(txn, w, has_cold, error);
    size_t checked_bytes = txn->row.size_bytes;
    if (status == LARDER_OK && has_cold)
        status = put_cold(txn, w, dictionary, &checked_bytes, error);
    if (status == LARDER_OK) seal(&txn->row, key, checked_bytes);
    return status;
}

int32_t larder__segment_finish_with(larder_txn *txn, larder__segment_writer *w, larder_bytes key,
                                    const larder__segment *source, uint32_t unused_bytes,
                                    larder_error *error) {
    bool has_cold = source->cold_bytes > 0;
    larder_bytes part = source->cold_part;
    int32_t status = put_head(txn, w, has_cold, error);
    if (status == LARDER_OK && has_cold) {
        /* The head's two sizes are written again. */
        size_t sizes =
            larder__varint_size(source->cold_bytes) + larder__varint_size(source->unused_bytes);
        part = larder__bytes(larder__begin(part) + sizes, part.size_bytes - sizes);
        if (!larder__append_varint(&txn->row, source->cold_bytes) ||
            !larder__append_varint(&txn->row, unused_bytes) ||
            !larder__append_bytes(&txn->row, part))
            status = no_memory(error);
    }
    if (status == LARDER_OK)
        seal(&txn->row, key, txn->row.size_bytes - (has_cold ? source->frame.size_bytes : 0));
    return status;
}

int32_t larder__segment_rekey(larder_txn *txn, const larder__segment *source, larder_bytes row,
                              larder_bytes key, larder_error *error) {
    txn->row.size_bytes = 0;
    if (!larder__append_bytes(&txn->row, row)) return no_memory(error);
    seal(&txn->row, key, row.size_bytes - (source->cold_bytes > 0 ? source->frame.size_bytes : 0));
    return LARDER_OK;
}

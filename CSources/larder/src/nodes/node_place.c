/* node_place.c - finding a node by its path, and going through its children (node_place.h). */
#include "node_place.h"

/* ---- places ---- */

void larder__place_close(larder__place *place) {
    if (place->has_segment) larder__segment_close(&place->segment);
    place->has_segment = false;
    larder__location_close(&place->rows);
}

/* Opens the row of a child and finds the child in it. */
static int32_t enter(larder__place *place, larder_bytes form, bool is_holder, larder_error *error) {
    int32_t status = larder__location_seek(&place->rows, form, error);
    if (status == LARDER_END) {
        if (is_holder) return LARDER_NOT_FOUND; /* an empty tree */
        larder_bytes key = larder__key_bytes(&place->rows.prefix);
        return larder__corrupt(place->rows.rows.txn, LARDER__NODES, key, "a location without a row",
                               error);
    }
    if (status != LARDER_OK) return status;
    if (place->has_segment) larder__segment_close(&place->segment);
    place->has_segment = true;
    status = larder__location_segment(&place->rows, &place->segment, error);
    if (status == LARDER_OK)
        status = larder__segment_find(&place->segment, form, &place->node, error);
    return status;
}

static int32_t read_head(larder__place *place, larder_error *error) {
    if (larder__head_read(larder__begin(place->node), larder__place_end(place), &place->head))
        return LARDER_OK;
    return larder__segment_damaged(&place->segment, "a node is malformed", error);
}

static int32_t descend(larder__place *place, larder_bytes key, larder_error *error) {
    const uint8_t *end = larder__place_end(place);
    uint64_t location;
    larder__form form;
    switch (place->head.type) {
    case LARDER_NODE_CHILDREN:
        return larder__stored_find(&place->segment, &place->head, end, key, &place->node, error);
    case LARDER__NODE_REFERENCE:
        if (!larder__reference_read(&place->head, end, &location))
            return larder__segment_damaged(&place->segment, "a node is malformed", error);
        larder__location_move(&place->rows, location);
        larder__form_encode(key, &form);
        return enter(place, larder__form_bytes(&form), false, error);
    default:
        return LARDER_NOT_FOUND;
    }
}

int32_t larder__place_descend(larder__place *place, larder_bytes key, larder_error *error) {
    int32_t status = descend(place, key, error);
    return status == LARDER_OK ? read_head(place, error) : status;
}

/* Down a path from the node that place stands on. */
static int32_t follow(larder__place *place, larder_bytes path, larder_error *error) {
    larder_bytes key;
    int32_t status = read_head(place, error);
    while (status == LARDER_OK && larder__path_take(&path, &key))
        status = larder__place_descend(place, key, error);
    return status;
}

int32_t larder__place_find(const larder_txn *txn, uint64_t holder, larder_bytes path,
                           larder__place *place, larder_error *error) {
    place->has_segment = false;
    int32_t status = larder__location_open(txn, holder, &place->rows, error);
    if (status == LARDER_OK) status = enter(place, larder__bytes(NULL, 0), true, error);
    return status == LARDER_OK ? follow(place, path, error) : status;
}

int32_t larder__place_find_below(const larder_txn *txn, uint64_t location, larder_bytes path,
                                 larder__place *place, larder_error *error) {
    larder_bytes key;
    larder__form form;
    place->has_segment = false;
    int32_t status = larder__location_open(txn, location, &place->rows, error);
    if (status != LARDER_OK || !larder__path_take(&path, &key)) return status;
    larder__form_encode(key, &form);
    status = enter(place, larder__form_bytes(&form), false, error);
    return status == LARDER_OK ? follow(place, path, error) : status;
}

/* ---- children ---- */

int32_t larder__children_open(const larder_txn *txn, larder__place *place, larder__children *c,
                              larder_error *error) {
    const uint8_t *end = larder__place_end(place);
    uint64_t location;
    memset(c, 0, offsetof(larder__children, scratch));
    c->segment = &place->segment;
    if (place->head.type == LARDER_NODE_CHILDREN) {
        if (larder__head_children(LARDER__STORED, &place->head, end, &c->all)) return LARDER_OK;
        return larder__segment_damaged(&place->segment, "a node is malformed", error);
    }
    if (place->head.type != LARDER__NODE_REFERENCE) return LARDER_OK;
    if (!larder__reference_read(&place->head, end, &location))
        return larder__segment_damaged(&place->segment, "a node is malformed", error);
    c->is_location = true;
    return larder__location_open(txn, location, &c->rows, error);
}

static void close_row(larder__children *c) {
    if (c->has_row) larder__segment_close(&c->row);
    c->has_row = false;
}

void larder__children_close(larder__children *c) {
    close_row(c);
    if (c->is_location) larder__location_close(&c->rows);
}

static int32_t begin_inline(larder__children *c) {
    if (c->has_inline_run || c->all.size_bytes == 0) return LARDER_END;
    c->has_inline_run = true;
    c->left = c->all;
    return LARDER_OK;
}

/* The run of the row that the cursor was moved to with this status. */
static int32_t open_row(larder__children *c, int32_t status, larder_error *error) {
    close_row(c);
    if (status != LARDER_OK) return status;
    c->has_row = true;
    c->segment = &c->row;
    larder__segment_rewind(&c->in_row);
    return larder__location_segment(&c->rows, &c->row, error);
}

int32_t larder__children_begin_run(larder__children *c, bool backwards, larder_error *error) {
    if (!c->is_location) return begin_inline(c);
    return open_row(c,
                    backwards ? larder__location_last(&c->rows, error)
                              : larder__location_first(&c->rows, error),
                    error);
}

int32_t larder__children_seek_run(larder__children *c, larder_bytes key, larder_error *error) {
    if (!c->is_location) return begin_inline(c);
    larder__form form;
    larder__form_encode(key, &form);
    return open_row(c, larder__location_seek(&c->rows, larder__form_bytes(&form), error), error);
}

int32_t larder__children_next_run(larder__children *c, bool backwards, larder_error *error) {
    if (!c->is_location) return LARDER_END;
    return open_row(c,
                    backwards ? larder__location_previous(&c->rows, error)
                              : larder__location_next(&c->rows, error),
                    error);
}

int32_t larder__children_next(larder__children *c, larder_error *error) {
    if (!c->is_location) return larder__stored_take(c->segment, &c->left, &c->key, &c->node, error);
    int32_t status = larder__segment_next(&c->row, &c->in_row, error);
    c->node = c->in_row.node;
    return status;
}

int32_t larder__children_key(larder__children *c, larder_error *error) {
    if (!c->is_location) return LARDER_OK;
    int32_t status = larder__segment_key(&c->row, &c->in_row, error);
    if (status != LARDER_OK ||
        larder__form_decode(larder__form_bytes(&c->in_row.form), c->scratch, &c->key))
        return status;
    return larder__segment_damaged(&c->row, "a key is malformed", error);
}

int32_t larder__children_find(larder__children *c, larder_bytes key, larder_error *error) {
    int32_t status;
    if (c->is_location) {
        larder__form form;
        status = larder__children_seek_run(c, key, error);
        if (status == LARDER_END) return LARDER_NOT_FOUND;
        if (status != LARDER_OK) return status;
        larder__form_encode(key, &form);
        status = larder__segment_find(&c->row, larder__form_bytes(&form), &c->node, error);
        c->key = key;
        return status;
    }
    c->left = c->all;
    do
        status = larder__children_next(c, error);
    while (status == LARDER_OK && !larder__bytes_equal(c->key, key));
    return status == LARDER_END ? LARDER_NOT_FOUND : status;
}

int32_t larder__children_count(larder__children *c, int64_t *count, larder_error *error) {
    if (c->is_location) {
        *count = (int64_t)c->row.child_count;
        return LARDER_OK;
    }
    larder_bytes left = c->all, key, node;
    int32_t status;
    *count = 0;
    while ((status = larder__stored_take(c->segment, &left, &key, &node, error)) == LARDER_OK)
        (*count)++;
    return status == LARDER_END ? LARDER_OK : status;
}

/* ---- copying with what lies below ---- */

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
}

static int32_t copy_location(void *context, larder_bytes priority, uint64_t location,
                             uint32_t depth, larder__buffer *out, larder_error *error);

static int32_t copy_row(larder__segment *segment, uint32_t depth, void *context,
                        larder__buffer *out, larder_error *error) {
    larder__copy_rules rules = {.reference = copy_location, .context = context};
    larder__segment_child child;
    char scratch[LARDER__FORM_MAX];
    larder_bytes key;
    larder__segment_rewind(&child);
    for (;;) {
        int32_t status = larder__segment_next(segment, &child, error);
        if (status == LARDER_OK) status = larder__segment_key(segment, &child, error);
        if (status != LARDER_OK) return status == LARDER_END ? LARDER_OK : status;
        if (!larder__form_decode(larder__form_bytes(&child.form), scratch, &key))
            return larder__segment_damaged(segment, "a key is malformed", error);
        if (!larder__append_sized(out, key)) return no_memory(error);
        status = larder__stored_copy(segment, child.node, depth + 1, &rules, out, error);
        if (status != LARDER_OK) return status;
    }
}

/* context: the transaction. */
static int32_t copy_location(void *context, larder_bytes priority, uint64_t location,
                             uint32_t depth, larder__buffer *out, larder_error *error) {
    const larder_txn *txn = context;
    larder__location_cursor rows;
    larder__segment segment;
    size_t size_at;
    if (depth >= LARDER__DEPTH_MAX)
        return larder__fail(error, LARDER_E_CORRUPT, "locations lie in each other");
    if (!larder__children_begin(out, priority, &size_at)) return no_memory(error);
    int32_t status = larder__location_open(txn, location, &rows, error);
    if (status != LARDER_OK) return status;
    for (status = larder__location_first(&rows, error); status == LARDER_OK;
         status = larder__location_next(&rows, error)) {
        status = larder__location_segment(&rows, &segment, error);
        if (status == LARDER_OK) status = copy_row(&segment, depth, context, out, error);
        larder__segment_close(&segment);
        if (status != LARDER_OK) break;
    }
    larder__location_close(&rows);
    if (status != LARDER_END) return status;
    if (out->size_bytes == size_at + LARDER__NODE_SIZE_BYTES) {
        larder__key key;
        larder__location_key(&key, location);
        return larder__corrupt(txn, LARDER__NODES, larder__key_bytes(&key),
                               "a location without a row", error);
    }
    larder__children_end(out, size_at);
    return LARDER_OK;
}

int32_t larder__node_copy(const larder_txn *txn, larder__segment *segment, larder_bytes node,
                          larder__buffer *out, larder_error *error) {
    larder__copy_rules rules = {.reference = copy_location, .context = (void *)(uintptr_t)txn};
    return larder__stored_copy(segment, node, 0, &rules, out, error);
}

/*
 * node_edit.c - merging changes into nodes, and what stands for a location afterwards
 * (node_edit.h). node_row.c applies them to the rows of a location.
 */
#include "node_editing.h"

/* ---- children in one piece ---- */

/* Appends the child that a group of changes makes of an old one; nothing when it becomes empty. */
static int32_t merge_child(const larder__editing *e, larder_bytes key, larder_bytes old,
                           larder__changed group, larder__buffer *out) {
    size_t begin = out->size_bytes;
    if (!larder__append_sized(out, key)) return larder__edit_no_memory(e);
    size_t node_at = out->size_bytes;
    int32_t status = larder__merge_node(e, old, group, out);
    if (status == LARDER_OK && out->size_bytes == node_at) out->size_bytes = begin;
    return status;
}

static int32_t merge_new_child(const larder__editing *e, larder__changed group,
                               larder__buffer *out) {
    char scratch[LARDER__FORM_MAX];
    larder_bytes key;
    if (!larder__form_decode(larder__changed_key(e, group.first, group.depth - 1), scratch, &key))
        return larder__edit_malformed(e);
    return merge_child(e, key, larder__bytes(NULL, 0), group, out);
}

/* Appends children: old ones, in working form with text keys, with the changes. Nothing when none
 * is left. */
static int32_t merge_children(const larder__editing *e, larder_bytes old, larder_bytes priority,
                              larder__changed in, larder__buffer *out) {
    size_t begin = out->size_bytes, size_at;
    const uint8_t *at = larder__begin(old), *end = at + old.size_bytes;
    int32_t status = LARDER_OK;
    if (!larder__children_begin(out, priority, &size_at)) return larder__edit_no_memory(e);
    while (at < end && status == LARDER_OK) {
        const uint8_t *child_at = at;
        larder_bytes key, node;
        larder__form form;
        int order = 1;
        if (!larder__child_take(&at, end, &key, &node) || key.size_bytes > LARDER__FORM_MAX)
            return larder__edit_malformed(e);
        larder__form_encode(key, &form);
        while (in.first < in.end && status == LARDER_OK) {
            order = larder__bytes_compare(larder__changed_key(e, in.first, in.depth),
                                          larder__form_bytes(&form));
            if (order >= 0) break;
            larder__changed group = larder__changed_child(e, in);
            status = merge_new_child(e, group, out);
            in.first = group.end;
        }
        if (status != LARDER_OK) break;
        if (in.first < in.end && order == 0) {
            larder__changed group = larder__changed_child(e, in);
            status = merge_child(e, key, node, group, out);
            in.first = group.end;
        } else if (!larder__buffer_append(out, child_at, (size_t)(at - child_at))) {
            status = larder__edit_no_memory(e);
        }
    }
    while (in.first < in.end && status == LARDER_OK) {
        larder__changed group = larder__changed_child(e, in);
        status = merge_new_child(e, group, out);
        in.first = group.end;
    }
    if (out->size_bytes == size_at + LARDER__NODE_SIZE_BYTES)
        out->size_bytes = begin;
    else
        larder__children_end(out, size_at);
    return status;
}

/* ---- children in a location ---- */

/* Appends a run's children with text keys. */
static int32_t append_as_text(const larder__editing *e, larder_bytes run, larder__buffer *out) {
    const uint8_t *at = larder__begin(run), *end = at + run.size_bytes;
    char scratch[LARDER__FORM_MAX];
    larder_bytes form, key, node;
    while (at < end) {
        if (!larder__child_take(&at, end, &form, &node) ||
            !larder__form_decode(form, scratch, &key))
            return larder__edit_malformed(e);
        if (!larder__append_sized(out, key) || !larder__append_bytes(out, node))
            return larder__edit_no_memory(e);
    }
    return LARDER_OK;
}

/* Appends what stands for a location whose rows shrank: nothing, its children when they are few, or
 * a reference. */
static int32_t settle(const larder__editing *e, uint64_t location, larder_bytes priority,
                      larder__buffer *out) {
    larder__location_cursor rows;
    larder__buffer run = {.allocator = &e->txn->env->allocator};
    bool is_alone = false;
    int32_t status = larder__location_open(e->txn, location, &rows, e->error);
    if (status != LARDER_OK) return status;
    status = larder__location_first(&rows, e->error);
    if (status == LARDER_OK) status = larder__run_read(&rows, &run, e->error);
    bool is_empty = status == LARDER_END;
    if (status == LARDER_OK) {
        status = larder__location_next(&rows, e->error);
        is_alone = status == LARDER_END;
    }
    larder__location_close(&rows);
    if (status == LARDER_END) status = LARDER_OK;
    if (status == LARDER_OK && is_alone && run.size_bytes <= LARDER__JOIN_BYTES) {
        larder__key key;
        size_t size_at;
        larder__location_key(&key, location);
        status = larder__rows_remove(e->txn, &key, e->error);
        if (status == LARDER_OK && !larder__children_begin(out, priority, &size_at))
            status = larder__edit_no_memory(e);
        if (status == LARDER_OK)
            status = append_as_text(e, larder__bytes(run.data, run.size_bytes), out);
        if (status == LARDER_OK) larder__children_end(out, size_at);
    } else if (status == LARDER_OK && !is_empty) {
        if (!larder__append_reference(out, priority, location)) status = larder__edit_no_memory(e);
    }
    larder__buffer_free(&run);
    return status;
}

int32_t larder__merge_location(const larder__editing *e, uint64_t location, larder_bytes priority,
                               larder__changed in, larder__buffer *out) {
    bool has_shrunk = false;
    int32_t status = larder__edit_rows(e, location, false, in, &has_shrunk);
    if (status != LARDER_OK) return status;
    if (has_shrunk) return settle(e, location, priority, out);
    return larder__append_reference(out, priority, location) ? LARDER_OK
                                                             : larder__edit_no_memory(e);
}

/* ---- one node ---- */

/* Changes that lie below a leaf or nothing. */
static int32_t merge_leaf(const larder__editing *e, larder_bytes old, const larder__head *head,
                          larder_bytes priority, larder__changed in, larder__buffer *out) {
    size_t begin = out->size_bytes;
    int32_t status = merge_children(e, larder__bytes(NULL, 0), priority, in, out);
    if (status != LARDER_OK || out->size_bytes > begin || old.size_bytes == 0) return status;
    const uint8_t *end = larder__begin(old) + old.size_bytes;
    bool has_memory = larder__append_head(out, head->type, priority) &&
                      larder__buffer_append(out, head->payload, (size_t)(end - head->payload));
    return has_memory ? LARDER_OK : larder__edit_no_memory(e);
}

/* Appends what changes make of a working node (empty: of nothing). */
int32_t larder__merge_node(const larder__editing *e, larder_bytes old, larder__changed in,
                           larder__buffer *out) {
    const uint8_t *at = larder__begin(old), *end = at + old.size_bytes;
    larder__head head = {0};
    larder_bytes children;
    uint64_t location;
    if (e->changes[in.first].key_count == in.depth) {
        int32_t status = larder__node_discard(e->txn, old, e->error);
        larder_bytes node = e->changes[in.first].node;
        if (status != LARDER_OK || node.size_bytes == 0) return status;
        /* A large node becomes rows here, without being copied into out first. */
        return larder__node_spill(e->txn, node, out, e->error);
    }
    if (old.size_bytes > 0 && !larder__head_read(at, end, &head)) return larder__edit_malformed(e);
    larder_bytes priority = head.priority;
    if (larder__bytes_equal(larder__changed_key(e, in.end - 1, in.depth), larder__priority_form))
        priority = e->changes[--in.end].node;
    switch (head.type) {
    case LARDER_NODE_CHILDREN:
        if (!larder__head_children(LARDER__WORKING, &head, end, &children))
            return larder__edit_malformed(e);
        return merge_children(e, children, priority, in, out);
    case LARDER__NODE_REFERENCE:
        if (!larder__reference_read(&head, end, &location)) return larder__edit_malformed(e);
        return larder__merge_location(e, location, priority, in, out);
    default:
        return merge_leaf(e, old, &head, priority, in, out);
    }
}

int32_t larder__node_edit(larder_txn *txn, uint64_t holder, const larder__node_change *changes,
                          size_t count, larder_error *error) {
    larder__editing e = {txn, changes, error};
    larder__changed all = {0, count, 0};
    bool has_shrunk;
    int32_t status = larder__edit_rows(&e, holder, true, all, &has_shrunk);
    return larder__txn_note_partial(txn, status);
}

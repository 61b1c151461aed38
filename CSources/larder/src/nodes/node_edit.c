/* node_edit.c - merging changes into a tree, row by row (node_edit.h). */
#include "node_edit.h"

typedef struct editing {
    larder_txn *txn;
    const larder__node_change *changes;
    larder_error *error;
} editing;

/* Changes first..end-1 of an edit, which all lie below one node with depth keys above it. */
typedef struct changed {
    size_t first, end;
    uint32_t depth;
} changed;

static int32_t no_memory(const editing *e) {
    return larder__fail(e->error, LARDER_E_NO_MEMORY, "no memory for a node");
}

static int32_t malformed(const editing *e) {
    return larder__fail(e->error, LARDER_E_CORRUPT, "a working node is malformed");
}

static larder_bytes key_at(const editing *e, size_t change, uint32_t depth) {
    return e->changes[change].keys[depth];
}

/* Those of the changes that go through the same child as the first one. */
static changed first_group(const editing *e, changed in) {
    changed group = {in.first, in.first + 1, in.depth + 1};
    while (group.end < in.end &&
           larder__bytes_equal(key_at(e, group.end, in.depth), key_at(e, group.first, in.depth)))
        group.end++;
    return group;
}

static int32_t merge_node(const editing *e, larder_bytes old, changed in, larder__buffer *out);

/* ---- children in one piece ---- */

/* Appends the child that a group of changes makes of an old one; nothing when it becomes empty. */
static int32_t merge_child(const editing *e, larder_bytes key, larder_bytes old, changed group,
                           larder__buffer *out) {
    size_t begin = out->size_bytes;
    if (!larder__append_sized(out, key)) return no_memory(e);
    size_t node_at = out->size_bytes;
    int32_t status = merge_node(e, old, group, out);
    if (status == LARDER_OK && out->size_bytes == node_at) out->size_bytes = begin;
    return status;
}

static int32_t merge_new_child(const editing *e, changed group, larder__buffer *out) {
    char scratch[LARDER__FORM_MAX];
    larder_bytes key;
    if (!larder__form_decode(key_at(e, group.first, group.depth - 1), scratch, &key))
        return malformed(e);
    return merge_child(e, key, larder__bytes(NULL, 0), group, out);
}

/* Appends children: old ones, in working form with text keys, with the changes. Nothing when none
 * is left. */
static int32_t merge_children(const editing *e, larder_bytes old, larder_bytes priority, changed in,
                              larder__buffer *out) {
    size_t begin = out->size_bytes, size_at;
    const uint8_t *at = larder__begin(old), *end = at + old.size_bytes;
    int32_t status = LARDER_OK;
    if (!larder__children_begin(out, priority, &size_at)) return no_memory(e);
    while (at < end && status == LARDER_OK) {
        const uint8_t *child_at = at;
        larder_bytes key, node;
        larder__form form;
        int order = 1;
        if (!larder__child_take(&at, end, &key, &node) || key.size_bytes > LARDER__FORM_MAX)
            return malformed(e);
        larder__form_encode(key, &form);
        while (in.first < in.end && status == LARDER_OK) {
            order = larder__bytes_compare(key_at(e, in.first, in.depth), larder__form_bytes(&form));
            if (order >= 0) break;
            changed group = first_group(e, in);
            status = merge_new_child(e, group, out);
            in.first = group.end;
        }
        if (status != LARDER_OK) break;
        if (in.first < in.end && order == 0) {
            changed group = first_group(e, in);
            status = merge_child(e, key, node, group, out);
            in.first = group.end;
        } else if (!larder__buffer_append(out, child_at, (size_t)(at - child_at))) {
            status = no_memory(e);
        }
    }
    while (in.first < in.end && status == LARDER_OK) {
        changed group = first_group(e, in);
        status = merge_new_child(e, group, out);
        in.first = group.end;
    }
    if (out->size_bytes == size_at + LARDER__NODE_SIZE_BYTES)
        out->size_bytes = begin;
    else
        larder__children_end(out, size_at);
    return status;
}

/* ---- children in rows ---- */

/* One row of a location that changes fall into. */
typedef struct row_edit {
    larder__key key, next; /* next: of the row behind it, empty for none */
    larder__form bound;    /* changes below it fall into the row, when there is a next one */
    larder__buffer old, fresh;
} row_edit;

static void row_key(const larder__location_cursor *rows, larder__key *key) {
    larder__key_clear(key);
    larder__key_append(key, rows->rows.key.data, rows->rows.key.size_bytes);
}

/* Reads the row that the cursor stands on as a run, appended to out. */
static int32_t read_run(const editing *e, const larder__location_cursor *rows,
                        larder__buffer *out) {
    larder__segment segment;
    int32_t status = larder__location_segment(rows, &segment, e->error);
    if (status == LARDER_OK) status = larder__rows_read(e->txn, &segment, out, e->error);
    larder__segment_close(&segment);
    return status;
}

/* The row for a key with what lies behind it. END: the location is empty. */
static int32_t load_row(const editing *e, uint64_t location, larder_bytes form, row_edit *row) {
    larder__location_cursor rows;
    row->old.size_bytes = row->fresh.size_bytes = 0;
    larder__key_clear(&row->next);
    larder__location_key(&row->key, location);
    int32_t status = larder__location_open(e->txn, location, &rows, e->error);
    if (status != LARDER_OK) return status;
    status = larder__location_seek(&rows, form, e->error);
    if (status == LARDER_OK) {
        row_key(&rows, &row->key);
        status = read_run(e, &rows, &row->old);
    }
    if (status == LARDER_OK) {
        status = larder__location_next(&rows, e->error);
        if (status == LARDER_OK) {
            row_key(&rows, &row->next);
            status = larder__location_bound(&rows, &row->bound, e->error);
        } else if (status == LARDER_END) {
            status = LARDER_OK;
        }
    }
    larder__location_close(&rows);
    return status;
}

/* Those of the changes that fall into the row. */
static changed changes_in_row(const editing *e, const row_edit *row, changed in) {
    changed here = first_group(e, in);
    here.depth = in.depth;
    while (here.end < in.end && (row->next.size_bytes == 0 ||
                                 larder__bytes_compare(key_at(e, here.end, in.depth),
                                                       larder__form_bytes(&row->bound)) < 0))
        here.end++;
    return here;
}

/* Appends one changed child of a row, with its own large children in other locations. */
static int32_t merge_row_child(const editing *e, larder_bytes old, changed group,
                               larder__buffer *scratch, larder__buffer *out) {
    larder_bytes form = key_at(e, group.first, group.depth - 1);
    scratch->size_bytes = 0;
    int32_t status = merge_node(e, old, group, scratch);
    if (status != LARDER_OK || scratch->size_bytes == 0) return status;
    if (!larder__append_sized(out, form)) return no_memory(e);
    return larder__node_spill(e->txn, larder__bytes(scratch->data, scratch->size_bytes), out,
                              e->error);
}

/* Fills row->fresh. *is_appended: every changed child is behind all old ones. */
static int32_t merge_row(const editing *e, row_edit *row, changed in, bool *is_appended) {
    larder__buffer scratch = {.allocator = &e->txn->env->allocator};
    const uint8_t *at = row->old.data, *end = at + row->old.size_bytes;
    larder_bytes none = {NULL, 0}, form, node;
    int32_t status = LARDER_OK;
    *is_appended = true;
    while (at < end && status == LARDER_OK) {
        const uint8_t *child_at = at;
        int order = 1;
        if (!larder__child_take(&at, end, &form, &node)) {
            status = malformed(e);
            break;
        }
        while (in.first < in.end && status == LARDER_OK) {
            order = larder__bytes_compare(key_at(e, in.first, in.depth), form);
            if (order >= 0) break;
            changed group = first_group(e, in);
            status = merge_row_child(e, none, group, &scratch, &row->fresh);
            in.first = group.end;
            *is_appended = false;
        }
        if (status != LARDER_OK) break;
        if (in.first < in.end && order == 0) {
            changed group = first_group(e, in);
            status = merge_row_child(e, node, group, &scratch, &row->fresh);
            in.first = group.end;
            *is_appended = false;
        } else if (!larder__buffer_append(&row->fresh, child_at, (size_t)(at - child_at))) {
            status = no_memory(e);
        }
    }
    while (in.first < in.end && status == LARDER_OK) {
        changed group = first_group(e, in);
        status = merge_row_child(e, none, group, &scratch, &row->fresh);
        in.first = group.end;
    }
    *is_appended = *is_appended && row->next.size_bytes == 0;
    larder__buffer_free(&scratch);
    return status;
}

static bool is_first(const row_edit *row, uint64_t location) {
    larder__key first;
    larder__location_key(&first, location);
    return row->key.size_bytes == first.size_bytes;
}

/* Takes the row behind, or the one before, into a row that has become small. */
static int32_t take_neighbour(const editing *e, uint64_t location, row_edit *row) {
    larder__location_cursor rows;
    int32_t status = larder__location_open(e->txn, location, &rows, e->error);
    if (status != LARDER_OK) return status;
    larder__key gone;
    if (row->next.size_bytes > 0) {
        status = larder__cursor_seek(&rows.rows, larder__key_bytes(&row->next), e->error);
        if (status == LARDER_OK) status = read_run(e, &rows, &row->fresh);
        gone = row->next;
        larder__key_clear(&row->next);
        if (status == LARDER_OK) status = larder__location_next(&rows, e->error);
        if (status == LARDER_OK) row_key(&rows, &row->next);
    } else {
        gone = row->key;
        row->old.size_bytes = 0;
        status = larder__cursor_seek_below(&rows.rows, larder__key_bytes(&row->key), e->error);
        if (status == LARDER_OK) row_key(&rows, &row->key);
        if (status == LARDER_OK) status = read_run(e, &rows, &row->old);
        if (status == LARDER_OK) {
            if (!larder__buffer_append(&row->old, row->fresh.data, row->fresh.size_bytes))
                status = no_memory(e);
            larder__buffer swapped = row->old;
            row->old = row->fresh;
            row->fresh = swapped;
        }
    }
    larder__location_close(&rows);
    if (status == LARDER_END) status = LARDER_OK;
    return status == LARDER_OK ? larder__rows_remove(e->txn, &gone, e->error) : status;
}

/* Writes what has become of the row. */
static int32_t store_row(const editing *e, uint64_t location, row_edit *row, bool is_appended) {
    bool is_new = row->old.size_bytes == 0, is_last = row->next.size_bytes == 0;
    if (row->fresh.size_bytes == 0) {
        if (is_new) return LARDER_OK;
        int32_t status = larder__rows_remove(e->txn, &row->key, e->error);
        if (status != LARDER_OK || !is_first(row, location) || is_last) return status;
        return larder__rows_move(e->txn, &row->next, &row->key, e->error);
    }
    bool is_alone = is_first(row, location) && is_last;
    if (row->fresh.size_bytes < row->old.size_bytes &&
        row->fresh.size_bytes < LARDER__MERGE_BYTES && !is_alone) {
        int32_t status = take_neighbour(e, location, row);
        if (status != LARDER_OK) return status;
    }
    larder__run run = {.children = larder__bytes(row->fresh.data, row->fresh.size_bytes),
                       .is_appended = is_appended};
    return larder__rows_put(e->txn, location, &row->key, &row->next, &run, e->error);
}

/* Appends a run's children with text keys. */
static int32_t append_as_text(const editing *e, larder_bytes run, larder__buffer *out) {
    const uint8_t *at = larder__begin(run), *end = at + run.size_bytes;
    char scratch[LARDER__FORM_MAX];
    larder_bytes form, key, node;
    while (at < end) {
        if (!larder__child_take(&at, end, &form, &node) ||
            !larder__form_decode(form, scratch, &key))
            return malformed(e);
        if (!larder__append_sized(out, key) || !larder__append_bytes(out, node))
            return no_memory(e);
    }
    return LARDER_OK;
}

/* Appends what stands for a location whose rows shrank: nothing, its children when they are few, or
 * a reference. */
static int32_t settle(const editing *e, uint64_t location, larder_bytes priority,
                      larder__buffer *out) {
    larder__location_cursor rows;
    larder__buffer run = {.allocator = &e->txn->env->allocator};
    bool is_alone = false;
    int32_t status = larder__location_open(e->txn, location, &rows, e->error);
    if (status != LARDER_OK) return status;
    status = larder__location_first(&rows, e->error);
    if (status == LARDER_OK) status = read_run(e, &rows, &run);
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
            status = no_memory(e);
        if (status == LARDER_OK)
            status = append_as_text(e, larder__bytes(run.data, run.size_bytes), out);
        if (status == LARDER_OK) larder__children_end(out, size_at);
    } else if (status == LARDER_OK && !is_empty) {
        if (!larder__append_reference(out, priority, location)) status = no_memory(e);
    }
    larder__buffer_free(&run);
    return status;
}

/* Applies changes to the rows of a location. *has_shrunk: it may be empty or small now. */
static int32_t edit_rows(const editing *e, uint64_t location, bool is_holder, changed in,
                         bool *has_shrunk) {
    row_edit row = {.old.allocator = &e->txn->env->allocator,
                    .fresh.allocator = &e->txn->env->allocator};
    int32_t status = LARDER_OK;
    *has_shrunk = false;
    while (in.first < in.end && status == LARDER_OK) {
        bool is_appended = false;
        status = load_row(e, location, key_at(e, in.first, in.depth), &row);
        if (status == LARDER_END)
            status = is_holder ? LARDER_OK
                               : larder__corrupt(e->txn, LARDER__NODES, larder__key_bytes(&row.key),
                                                 "a location without a row", e->error);
        if (status != LARDER_OK) break;
        changed here = changes_in_row(e, &row, in);
        in.first = here.end;
        status = merge_row(e, &row, here, &is_appended);
        if (status != LARDER_OK) break;
        if (row.fresh.size_bytes < row.old.size_bytes) *has_shrunk = true;
        bool is_same = larder__bytes_equal(larder__bytes(row.old.data, row.old.size_bytes),
                                           larder__bytes(row.fresh.data, row.fresh.size_bytes));
        if (!is_same) status = store_row(e, location, &row, is_appended);
    }
    larder__buffer_free(&row.old);
    larder__buffer_free(&row.fresh);
    return status;
}

static int32_t merge_location(const editing *e, uint64_t location, larder_bytes priority,
                              changed in, larder__buffer *out) {
    bool has_shrunk = false;
    int32_t status = edit_rows(e, location, false, in, &has_shrunk);
    if (status != LARDER_OK) return status;
    if (has_shrunk) return settle(e, location, priority, out);
    return larder__append_reference(out, priority, location) ? LARDER_OK : no_memory(e);
}

/* ---- one node ---- */

/* Changes that lie below a leaf or nothing. */
static int32_t merge_leaf(const editing *e, larder_bytes old, const larder__head *head,
                          larder_bytes priority, changed in, larder__buffer *out) {
    size_t begin = out->size_bytes;
    int32_t status = merge_children(e, larder__bytes(NULL, 0), priority, in, out);
    if (status != LARDER_OK || out->size_bytes > begin || old.size_bytes == 0) return status;
    const uint8_t *end = larder__begin(old) + old.size_bytes;
    bool has_memory = larder__append_head(out, head->type, priority) &&
                      larder__buffer_append(out, head->payload, (size_t)(end - head->payload));
    return has_memory ? LARDER_OK : no_memory(e);
}

/* Appends what changes make of a working node (empty: of nothing). */
static int32_t merge_node(const editing *e, larder_bytes old, changed in, larder__buffer *out) {
    const uint8_t *at = larder__begin(old), *end = at + old.size_bytes;
    larder__head head = {0};
    larder_bytes children;
    uint64_t location;
    if (e->changes[in.first].key_count == in.depth) {
        int32_t status = larder__node_discard(e->txn, old, e->error);
        if (status == LARDER_OK && !larder__append_bytes(out, e->changes[in.first].node))
            status = no_memory(e);
        return status;
    }
    if (old.size_bytes > 0 && !larder__head_read(at, end, &head)) return malformed(e);
    larder_bytes priority = head.priority;
    if (larder__bytes_equal(key_at(e, in.end - 1, in.depth), larder__priority_form))
        priority = e->changes[--in.end].node;
    switch (head.type) {
    case LARDER_NODE_CHILDREN:
        if (!larder__head_children(LARDER__WORKING, &head, end, &children)) return malformed(e);
        return merge_children(e, children, priority, in, out);
    case LARDER__NODE_REFERENCE:
        if (!larder__reference_read(&head, end, &location)) return malformed(e);
        return merge_location(e, location, priority, in, out);
    default:
        return merge_leaf(e, old, &head, priority, in, out);
    }
}

int32_t larder__node_edit(larder_txn *txn, uint64_t holder, const larder__node_change *changes,
                          size_t count, larder_error *error) {
    editing e = {txn, changes, error};
    changed all = {0, count, 0};
    bool has_shrunk;
    int32_t status = edit_rows(&e, holder, true, all, &has_shrunk);
    return larder__txn_note_partial(txn, status);
}

/*
 * node_row.c - changes applied to the rows of a location.
 *
 *     through   a change goes through a child whose children are a location: it is applied there,
 *               and the row is not touched unless something else stands for the child then
 *     patched   the row is written again with the changed children in their places; all others
 *               are copied as they are stored, and the cold part as it is
 *     rebuilt   the row's children become a run, and that new rows: it has grown too large,
 *               or too small, or has new long strings, or much of its cold part is unused
 */
#include "node_editing.h"

/* A patched row of fewer bytes is put together with a neighbour, if it has shrunk. */
#define SMALL_ROW_BYTES 400

/* The result of the changes for one child of the row. */
typedef struct result {
    larder__changed changes;
    size_t at, size_bytes;   /* in results: a working node, whose long strings may be COLD */
    bool is_new;             /* the row has no such child */
    size_t node_at, next_at; /* in the row's hot part: the child's node, and what follows */
} result;

/* One row, or the place of the first row of an empty location. */
typedef struct row_edit {
    uint64_t location;
    larder__key key, next;  /* next: of the row behind it, empty for none */
    larder__form bound;     /* changes below it fall into the row, when there is a next one */
    larder__buffer row;     /* a copy of it */
    larder__segment source; /* that copy */
    bool has_source;
    larder__buffer list;    /* of result, in key order */
    larder__buffer results; /* the nodes */
    larder__buffer fresh;   /* a run of all children, when the row is rebuilt */
    larder__buffer scratch;
    int64_t unused_bytes; /* of the cold part: what the results no longer use */
    bool has_changed, has_shrunk;
    bool is_appended; /* every changed child lies behind all others, and the row is the last */
} row_edit;

static void init(row_edit *row, const larder_allocator *allocator) {
    memset(row, 0, sizeof *row);
    row->row.allocator = row->list.allocator = row->results.allocator = allocator;
    row->fresh.allocator = row->scratch.allocator = allocator;
}

static void close_source(row_edit *row) {
    if (row->has_source) larder__segment_close(&row->source);
    row->has_source = false;
}

static void clear(row_edit *row) {
    close_source(row);
    row->list.size_bytes = row->results.size_bytes = row->fresh.size_bytes = 0;
    row->has_changed = row->has_shrunk = false;
    row->unused_bytes = 0;
    row->is_appended = true;
}

static void release(row_edit *row) {
    close_source(row);
    larder__buffer_free(&row->row);
    larder__buffer_free(&row->list);
    larder__buffer_free(&row->results);
    larder__buffer_free(&row->fresh);
    larder__buffer_free(&row->scratch);
}

static size_t result_count(const row_edit *row) { return row->list.size_bytes / sizeof(result); }
static const result *result_at(const row_edit *row, size_t position) {
    return (const result *)(const void *)row->list.data + position;
}
static larder_bytes node_of(const row_edit *row, const result *of) {
    return larder__bytes(row->results.data + of->at, of->size_bytes);
}
static larder_bytes form_of(const larder__editing *e, const result *of) {
    return larder__changed_key(e, of->changes.first, of->changes.depth - 1);
}

static void copy_key(const larder__location_cursor *rows, larder__key *key) {
    larder__key_clear(key);
    larder__key_append(key, rows->rows.key.data, rows->rows.key.size_bytes);
}

static bool is_first(const row_edit *row) {
    larder__key first;
    larder__location_key(&first, row->location);
    return row->key.size_bytes == first.size_bytes;
}

/* ---- reading ---- */

/* The row in which a key is, or would be, and what lies behind it. END: there is none. */
static int32_t load(const larder__editing *e, row_edit *row, larder_bytes form) {
    larder__location_cursor rows;
    clear(row);
    larder__key_clear(&row->next);
    larder__location_key(&row->key, row->location);
    int32_t status = larder__location_open(e->txn, row->location, &rows, e->error);
    if (status != LARDER_OK) return status;
    status = larder__location_seek(&rows, form, e->error);
    if (status == LARDER_OK) {
        copy_key(&rows, &row->key);
        row->row.size_bytes = 0;
        if (!larder__append_bytes(&row->row, rows.rows.value)) status = larder__edit_no_memory(e);
    }
    if (status == LARDER_OK) {
        row->has_source = true;
        status = larder__segment_open(e->txn, larder__key_bytes(&row->key),
                                      larder__bytes(row->row.data, row->row.size_bytes),
                                      &row->source, e->error);
    }
    if (status == LARDER_OK) {
        status = larder__location_next(&rows, e->error);
        if (status == LARDER_OK) {
            copy_key(&rows, &row->next);
            status = larder__location_bound(&rows, &row->bound, e->error);
        } else if (status == LARDER_END) {
            status = LARDER_OK;
        }
    }
    larder__location_close(&rows);
    return status;
}

/* Those of the changes that fall into the row. */
static larder__changed changes_in_row(const larder__editing *e, const row_edit *row,
                                      larder__changed in) {
    larder__changed here = larder__changed_child(e, in);
    here.depth = in.depth;
    while (here.end < in.end && (row->next.size_bytes == 0 ||
                                 larder__bytes_compare(larder__changed_key(e, here.end, in.depth),
                                                       larder__form_bytes(&row->bound)) < 0))
        here.end++;
    return here;
}

/* ---- results ---- */

/* Adds what becomes of a child, stored as it is or not there: ready, or what its changes make of
 * it. */
static int32_t add_result(const larder__editing *e, row_edit *row,
                          const larder__segment_child *child, larder__changed changes,
                          const larder__buffer *ready) {
    larder__copy_rules rules = {.reference = larder__keep_reference, .keeps_cold = true};
    result added = {.changes = changes, .at = row->results.size_bytes, .is_new = child == NULL};
    int32_t status = LARDER_OK;
    row->scratch.size_bytes = 0;
    if (child != NULL) {
        added.next_at = child->next_at;
        added.node_at = child->next_at - child->node.size_bytes;
        status = larder__stored_copy(&row->source, child->node, 0, &rules, &row->scratch, e->error);
    }
    larder_bytes old = larder__bytes(row->scratch.data, row->scratch.size_bytes);
    if (status == LARDER_OK && ready == NULL)
        status = larder__merge_node(e, old, changes, &row->results);
    else if (status == LARDER_OK &&
             !larder__buffer_append(&row->results, ready->data, ready->size_bytes))
        status = larder__edit_no_memory(e);
    if (status != LARDER_OK) return status;
    added.size_bytes = row->results.size_bytes - added.at;
    row->has_shrunk = row->has_shrunk || added.size_bytes < old.size_bytes;
    if (larder__bytes_equal(old, node_of(row, &added)))
        return LARDER_OK; /* nothing becomes of it */
    row->has_changed = true;
    /* What the node has of the cold part, it has from before. */
    int64_t cold_bytes = larder__cold_size(old);
    if (cold_bytes > 0) row->unused_bytes += cold_bytes - larder__cold_size(node_of(row, &added));
    return larder__buffer_append(&row->list, &added, sizeof added) ? LARDER_OK
                                                                   : larder__edit_no_memory(e);
}

/* The results of changes to the row's children. */
static int32_t add_results(const larder__editing *e, row_edit *row, larder__changed in,
                           const larder__buffer *ready) {
    larder__segment_child child;
    int32_t status = LARDER_OK;
    larder__segment_rewind(&child);
    while (row->has_source && in.first < in.end && status == LARDER_OK) {
        status = larder__segment_next(&row->source, &child, e->error);
        if (status == LARDER_END) break;
        if (status == LARDER_OK) status = larder__segment_key(&row->source, &child, e->error);
        while (status == LARDER_OK && in.first < in.end) {
            larder__changed group = larder__changed_child(e, in);
            int order = larder__bytes_compare(larder__changed_key(e, in.first, in.depth),
                                              larder__form_bytes(&child.form));
            if (order > 0) break;
            row->is_appended = false;
            in.first = group.end;
            status = add_result(e, row, order == 0 ? &child : NULL, group, ready);
            if (order == 0) break;
        }
    }
    if (status == LARDER_END) status = LARDER_OK;
    while (in.first < in.end && status == LARDER_OK) {
        larder__changed group = larder__changed_child(e, in);
        status = add_result(e, row, NULL, group, ready);
        in.first = group.end;
    }
    row->is_appended = row->is_appended && row->next.size_bytes == 0;
    return status;
}

/* The row's children and the results in key order, one after the other. */
typedef struct walk {
    larder__segment_child child;
    bool is_ahead; /* the child comes after the next result */
    size_t result;
} walk;

/* *of: a result, or NULL for a child that stays as it is. OK, END. */
static int32_t walk_next(const larder__editing *e, row_edit *row, walk *w, const result **of) {
    int32_t status = LARDER_END;
    if (w->is_ahead) {
        status = LARDER_OK;
    } else if (row->has_source) {
        status = larder__segment_next(&row->source, &w->child, e->error);
        if (status == LARDER_OK) status = larder__segment_key(&row->source, &w->child, e->error);
    }
    if (status < 0) return status;
    bool has_child = status == LARDER_OK, has_result = w->result < result_count(row);
    *of = has_result ? result_at(row, w->result) : NULL;
    if (!has_child && !has_result) return LARDER_END;
    int order = !has_result ? -1
                : !has_child
                    ? 1
                    : larder__bytes_compare(larder__form_bytes(&w->child.form), form_of(e, *of));
    w->is_ahead = has_child && order > 0;
    if (order < 0)
        *of = NULL;
    else
        w->result++;
    return LARDER_OK;
}

/* ---- patching ---- */

/* The results take the places of children that are there: what lies between is copied. */
static int32_t splice(const larder__editing *e, row_edit *row, larder__segment_writer *writer) {
    const uint8_t *hot = larder__begin(row->source.hot);
    size_t at = 0;
    for (size_t i = 0; i < result_count(row); i++) {
        const result *of = result_at(row, i);
        int32_t status = larder__segment_splice(writer, larder__bytes(hot + at, of->node_at - at),
                                                node_of(row, of), e->error);
        if (status != LARDER_OK) return status;
        at = of->next_at;
    }
    writer->child_count = row->source.child_count;
    return larder__segment_splice(writer, larder__bytes(hot + at, row->source.hot.size_bytes - at),
                                  larder__bytes(NULL, 0), e->error);
}

static int32_t copy_and_add(const larder__editing *e, row_edit *row,
                            larder__segment_writer *writer) {
    walk w = {.result = 0};
    const result *of;
    int32_t status;
    larder__segment_rewind(&w.child);
    while ((status = walk_next(e, row, &w, &of)) == LARDER_OK) {
        if (of == NULL)
            status = larder__segment_add_stored(writer, larder__form_bytes(&w.child.form),
                                                w.child.node, e->error);
        else if (of->size_bytes > 0)
            status = larder__segment_add(writer, form_of(e, of), node_of(row, of), e->error);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/* NOT_FOUND, and nothing written: the row is to be rebuilt. */
static int32_t patch(const larder__editing *e, row_edit *row) {
    larder__segment_writer *writer = &e->txn->env->nodes->writer;
    bool is_spliced = true;
    if (!row->has_source) return LARDER_NOT_FOUND;
    for (size_t i = 0; i < result_count(row); i++) {
        const result *of = result_at(row, i);
        if (of->size_bytes > LARDER__SPLIT_BYTES) return LARDER_NOT_FOUND;
        is_spliced = is_spliced && !of->is_new && of->size_bytes > 0;
    }
    uint64_t unused = row->source.unused_bytes + (uint64_t)row->unused_bytes;
    if (unused > row->source.cold_bytes / 4) return LARDER_NOT_FOUND;
    int32_t status = larder__segment_begin_from(writer, &row->source, e->error);
    if (status == LARDER_OK)
        status = is_spliced ? splice(e, row, writer) : copy_and_add(e, row, writer);
    if (status != LARDER_OK) return status;
    size_t size = larder__segment_estimate(writer) + row->source.cold_part.size_bytes;
    bool is_alone = is_first(row) && row->next.size_bytes == 0;
    if (writer->cold.size_bytes > 0 || writer->child_count == 0 ||
        size > larder__row_room(row->key.size_bytes) ||
        (row->has_shrunk && size < SMALL_ROW_BYTES && !is_alone))
        return LARDER_NOT_FOUND;
    return larder__rows_patch(e->txn, &row->key, &row->source, (uint32_t)unused, e->error);
}

/* ---- rebuilding ---- */

/* Appends a result to the run, with its long strings, and its large children elsewhere. */
static int32_t add_to_run(const larder__editing *e, row_edit *row, const result *of) {
    larder_bytes node = node_of(row, of);
    if (node.size_bytes == 0) return LARDER_OK;
    if (!larder__append_sized(&row->fresh, form_of(e, of))) return larder__edit_no_memory(e);
    if (row->has_source && row->source.cold_bytes > 0) {
        row->scratch.size_bytes = 0;
        int32_t status = larder__cold_resolve_node(&row->source, node, &row->scratch, e->error);
        if (status != LARDER_OK) return status;
        node = larder__bytes(row->scratch.data, row->scratch.size_bytes);
    }
    return larder__node_spill(e->txn, node, &row->fresh, e->error);
}

static int32_t make_run(const larder__editing *e, row_edit *row) {
    larder__copy_rules rules = {.reference = larder__keep_reference};
    walk w = {.result = 0};
    const result *of;
    int32_t status;
    larder__segment_rewind(&w.child);
    while ((status = walk_next(e, row, &w, &of)) == LARDER_OK) {
        if (of != NULL)
            status = add_to_run(e, row, of);
        else if (!larder__append_sized(&row->fresh, larder__form_bytes(&w.child.form)))
            status = larder__edit_no_memory(e);
        else
            status =
                larder__stored_copy(&row->source, w.child.node, 0, &rules, &row->fresh, e->error);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/* Puts the children of the row behind, or of the one before, to those of a row that has become
 * small. */
static int32_t take_neighbour(const larder__editing *e, row_edit *row) {
    larder__location_cursor rows;
    larder__key gone = row->next;
    int32_t status = larder__location_open(e->txn, row->location, &rows, e->error);
    if (status != LARDER_OK) return status;
    if (row->next.size_bytes > 0) {
        status = larder__cursor_seek(&rows.rows, larder__key_bytes(&row->next), e->error);
        if (status == LARDER_OK) status = larder__run_read(&rows, &row->fresh, e->error);
        larder__key_clear(&row->next);
        if (status == LARDER_OK) status = larder__location_next(&rows, e->error);
        if (status == LARDER_OK) copy_key(&rows, &row->next);
    } else {
        gone = row->key;
        row->scratch.size_bytes = 0;
        status = larder__cursor_seek_below(&rows.rows, larder__key_bytes(&row->key), e->error);
        if (status == LARDER_OK) copy_key(&rows, &row->key);
        if (status == LARDER_OK) status = larder__run_read(&rows, &row->scratch, e->error);
        if (status == LARDER_OK &&
            !larder__buffer_append(&row->scratch, row->fresh.data, row->fresh.size_bytes))
            status = larder__edit_no_memory(e);
        larder__buffer swapped = row->scratch;
        row->scratch = row->fresh;
        row->fresh = swapped;
    }
    larder__location_close(&rows);
    if (status == LARDER_END) status = LARDER_OK;
    return status == LARDER_OK ? larder__rows_remove(e->txn, &gone, e->error) : status;
}

static int32_t rebuild(const larder__editing *e, row_edit *row) {
    int32_t status = make_run(e, row);
    if (status != LARDER_OK) return status;
    bool is_last = row->next.size_bytes == 0;
    if (row->fresh.size_bytes == 0) {
        if (!row->has_source) return LARDER_OK;
        status = larder__rows_remove(e->txn, &row->key, e->error);
        if (status != LARDER_OK || !is_first(row) || is_last) return status;
        return larder__rows_move(e->txn, &row->next, &row->key, e->error);
    }
    if (row->has_shrunk && row->fresh.size_bytes < LARDER__MERGE_BYTES &&
        !(is_first(row) && is_last))
        status = take_neighbour(e, row);
    if (status != LARDER_OK) return status;
    larder__run run = {.children = larder__bytes(row->fresh.data, row->fresh.size_bytes),
                       .is_appended = row->is_appended};
    return larder__rows_put(e->txn, row->location, &row->key, &row->next, &run, e->error);
}

/* ---- going through ---- */

/* Applies changes that go through a child whose children are a location. NOT_FOUND: there is no
 * such child. OK: the row stays as it is. MORE: what now stands for the child was appended to
 * out. */
static int32_t pass_through(const larder__editing *e, uint64_t location, larder__changed group,
                            larder__buffer *out) {
    larder__location_cursor rows;
    larder__segment segment;
    larder__buffer before = {.allocator = out->allocator};
    larder__head head;
    larder_bytes node = {0}, form = larder__changed_key(e, group.first, group.depth - 1);
    out->size_bytes = 0;
    if (e->changes[group.first].key_count == group.depth) return LARDER_NOT_FOUND;
    int32_t status = larder__location_open(e->txn, location, &rows, e->error);
    if (status != LARDER_OK) return status;
    status = larder__location_seek(&rows, form, e->error);
    if (status == LARDER_OK) {
        status = larder__location_segment(&rows, &segment, e->error);
        if (status == LARDER_OK) status = larder__segment_find(&segment, form, &node, e->error);
        larder__segment_close(&segment);
    }
    larder__location_close(&rows);
    if (status != LARDER_OK) return status == LARDER_END ? LARDER_NOT_FOUND : status;
    if (!larder__head_read(larder__begin(node), larder__begin(node) + node.size_bytes, &head) ||
        head.type != LARDER__NODE_REFERENCE)
        return LARDER_NOT_FOUND;
    if (!larder__append_bytes(&before, node)) return larder__edit_no_memory(e);
    larder_bytes old = larder__bytes(before.data, before.size_bytes);
    status = larder__merge_node(e, old, group, out);
    if (status == LARDER_OK && !larder__bytes_equal(old, larder__bytes(out->data, out->size_bytes)))
        status = LARDER_MORE;
    larder__buffer_free(&before);
    return status;
}

static int32_t write_row(const larder__editing *e, row_edit *row) {
    if (!row->has_changed) return LARDER_OK;
    int32_t status = patch(e, row);
    return status == LARDER_NOT_FOUND ? rebuild(e, row) : status;
}

int32_t larder__edit_rows(const larder__editing *e, uint64_t location, bool is_holder,
                          larder__changed in, bool *has_shrunk) {
    const larder_allocator *allocator = &e->txn->env->allocator;
    row_edit row;
    larder__buffer passed = {.allocator = allocator};
    int32_t status = LARDER_OK;
    init(&row, allocator);
    row.location = location;
    *has_shrunk = false;
    while (in.first < in.end && status == LARDER_OK) {
        larder__changed group = larder__changed_child(e, in);
        int32_t through = pass_through(e, location, group, &passed);
        in.first = group.end;
        if (through <= LARDER_OK) {
            status = through;
            continue;
        }
        status = load(e, &row, larder__changed_key(e, group.first, in.depth));
        if (status == LARDER_END)
            status = is_holder ? LARDER_OK
                               : larder__corrupt(e->txn, LARDER__NODES, larder__key_bytes(&row.key),
                                                 "a location without a row", e->error);
        if (status != LARDER_OK) break;
        larder__changed here = {group.first, in.end, in.depth};
        here = through == LARDER_MORE ? (larder__changed){group.first, group.end, in.depth}
                                      : changes_in_row(e, &row, here);
        in.first = here.end;
        status = add_results(e, &row, here, through == LARDER_MORE ? &passed : NULL);
        *has_shrunk = *has_shrunk || row.has_shrunk;
        if (status == LARDER_OK) status = write_row(e, &row);
    }
    release(&row);
    larder__buffer_free(&passed);
    return status;
}

/* node_rows.c - runs of children become rows, and large children locations (node_edit.h). */
#include "node_edit.h"

static larder__segment_writer *writer_of(const larder_txn *txn) { return &txn->env->nodes->writer; }

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row");
}

/* ---- one row ---- */

static int32_t uncount(larder_txn *txn, larder_bytes key, larder_bytes row, larder_error *error) {
    larder__segment segment;
    int32_t status = larder__segment_open(txn, key, row, &segment, error);
    uint32_t dictionary = segment.dictionary;
    larder__segment_close(&segment);
    if (status == LARDER_OK && dictionary != 0)
        status = larder__dictionary_count(txn, dictionary, -1, error);
    return status;
}

/* Takes the dictionary of the row that is there, if any, out of the count. */
static int32_t uncount_at(larder_txn *txn, const larder__key *key, larder_error *error) {
    larder_bytes row;
    int32_t status = larder__table_get(txn, LARDER__NODES, larder__key_bytes(key), &row, error);
    if (status != LARDER_OK) return status;
    return uncount(txn, larder__key_bytes(key), row, error);
}

int32_t larder__rows_remove(larder_txn *txn, const larder__key *key, larder_error *error) {
    int32_t status = uncount_at(txn, key, error);
    if (status != LARDER_OK) return status;
    return larder__table_remove(txn, LARDER__NODES, larder__key_bytes(key), error);
}

/* What the writer holds becomes the row. */
static int32_t put_row(larder_txn *txn, const larder__key *key, uint32_t dictionary,
                       larder_error *error) {
    larder_bytes row = larder__bytes(txn->row.data, txn->row.size_bytes);
    int32_t status = uncount_at(txn, key, error);
    if (status < 0) return status;
    status = larder__table_put(txn, LARDER__NODES, larder__key_bytes(key), row, error);
    if (status == LARDER_OK && dictionary != 0)
        status = larder__dictionary_count(txn, dictionary, 1, error);
    txn->counters.epoch_bytes += larder__row_cost(key->size_bytes, row.size_bytes);
    return status;
}

int32_t larder__rows_move(larder_txn *txn, const larder__key *from, const larder__key *to,
                          larder_error *error) {
    larder_bytes row;
    larder__segment segment;
    int32_t status = larder__table_get(txn, LARDER__NODES, larder__key_bytes(from), &row, error);
    if (status != LARDER_OK) return status;
    status = larder__segment_open(txn, larder__key_bytes(from), row, &segment, error);
    if (status == LARDER_OK)
        status = larder__segment_rekey(txn, &segment, row, larder__key_bytes(to), error);
    larder__segment_close(&segment);
    if (status == LARDER_OK)
        status = larder__table_remove(txn, LARDER__NODES, larder__key_bytes(from), error);
    if (status != LARDER_OK) return status;
    return larder__table_put(txn, LARDER__NODES, larder__key_bytes(to),
                             larder__bytes(txn->row.data, txn->row.size_bytes), error);
}

static int32_t read_rows(larder__segment *segment, larder__buffer *out, larder_error *error) {
    larder__copy_rules rules = {.reference = larder__keep_reference};
    larder__segment_child child;
    larder__segment_rewind(&child);
    for (;;) {
        int32_t status = larder__segment_next(segment, &child, error);
        if (status == LARDER_OK) status = larder__segment_key(segment, &child, error);
        if (status != LARDER_OK) return status == LARDER_END ? LARDER_OK : status;
        if (!larder__append_sized(out, larder__form_bytes(&child.form))) return no_memory(error);
        status = larder__stored_copy(segment, child.node, 0, &rules, out, error);
        if (status != LARDER_OK) return status;
    }
}

int32_t larder__run_read(const larder__location_cursor *rows, larder__buffer *out,
                         larder_error *error) {
    larder__segment segment;
    int32_t status = larder__location_segment(rows, &segment, error);
    if (status == LARDER_OK) status = read_rows(&segment, out, error);
    larder__segment_close(&segment);
    return status;
}

/* ---- a run as rows ---- */

/* The size of a value that LMDB keeps in the leaf page, two of them to a page. */
static size_t room(const larder__key *key) { return larder__row_room(key->size_bytes); }

typedef struct putting {
    larder_txn *txn;
    uint64_t location;
    const larder__key *next;
    bool has_text_keys;
    larder_error *error;
} putting;

/* A child of a run with its key as form. */
static bool take_child(const putting *p, const uint8_t **at, const uint8_t *end, larder__form *form,
                       larder_bytes *node) {
    larder_bytes key;
    if (!larder__child_take(at, end, &key, node) || key.size_bytes > LARDER__FORM_MAX) return false;
    if (p->has_text_keys) {
        larder__form_encode(key, form);
    } else {
        if (key.size_bytes > 0) memcpy(form->bytes, key.data, key.size_bytes);
        form->size_bytes = key.size_bytes;
    }
    return true;
}

static int32_t malformed(const putting *p) {
    return larder__fail(p->error, LARDER_E_CORRUPT, "a working node is malformed");
}

/* Fills the writer with children from at on until they take limit bytes of the run or more than the
 * row's room; at least one, and as many as cannot be told from the next one by a key. *stop: where
 * the next row begins, and *next_key its key. */
static int32_t fill(const putting *p, const larder__key *key, const uint8_t *at, const uint8_t *end,
                    size_t limit, size_t size, const uint8_t **stop, larder__key *next_key) {
    larder__segment_writer *writer = writer_of(p->txn);
    const uint8_t *begin = at;
    larder__form form, last;
    larder_bytes node;
    larder__segment_begin(writer);
    last.size_bytes = 0;
    while (at < end) {
        const uint8_t *child = at;
        if (!take_child(p, &at, end, &form, &node)) return malformed(p);
        larder__segment_mark mark = larder__segment_note(writer);
        bool is_full = mark.child_count > 0 && (size_t)(child - begin) >= limit;
        if (!is_full) {
            larder__form above = writer->last;
            int32_t status = larder__segment_add(writer, larder__form_bytes(&form), node, p->error);
            if (status != LARDER_OK) return status;
            is_full = mark.child_count > 0 && larder__segment_estimate(writer) > size;
            if (is_full) {
                larder__segment_undo(writer, &mark);
                writer->last = above;
            }
        }
        if (is_full) {
            if (larder__location_split_key(p->location, larder__form_bytes(&last),
                                           larder__form_bytes(&form), key, p->next, next_key)) {
                *stop = child;
                return LARDER_OK;
            }
            int32_t status = larder__segment_add(writer, larder__form_bytes(&form), node, p->error);
            if (status != LARDER_OK) return status;
        }
        last = form;
    }
    *stop = end;
    return LARDER_OK;
}

/* One row from at on. */
static int32_t put_one(const putting *p, const larder__key *key, const uint8_t *at,
                       const uint8_t *end, size_t limit, const uint8_t **stop,
                       larder__key *next_key, uint32_t *dictionary) {
    larder__segment_writer *writer = writer_of(p->txn);
    size_t size = room(key);
    int32_t status = fill(p, key, at, end, limit, size, stop, next_key);
    if (status == LARDER_OK)
        status =
            larder__segment_finish(p->txn, writer, larder__key_bytes(key), dictionary, p->error);
    /* The cold part was compressed less than expected: fewer children. */
    while (status == LARDER_OK && p->txn->row.size_bytes > size && writer->child_count > 1) {
        const uint8_t *before = *stop;
        size_t taken = (size_t)(*stop - at);
        limit = taken - taken / 8 - 1;
        status = fill(p, key, at, end, limit * size / p->txn->row.size_bytes, size, stop, next_key);
        if (status == LARDER_OK)
            status = larder__segment_finish(p->txn, writer, larder__key_bytes(key), dictionary,
                                            p->error);
        if (*stop == before) break;
    }
    return status;
}

int32_t larder__rows_put(larder_txn *txn, uint64_t location, const larder__key *first_key,
                         const larder__key *next, const larder__run *run, larder_error *error) {
    putting p = {txn, location, next, run->has_text_keys, error};
    const uint8_t *at = larder__begin(run->children), *end = at + run->children.size_bytes;
    size_t limit = SIZE_MAX;
    larder__key key = *first_key, next_key = {0};
    while (at < end) {
        const uint8_t *stop;
        uint32_t dictionary;
        int32_t status = put_one(&p, &key, at, end, limit, &stop, &next_key, &dictionary);
        if (status == LARDER_OK && stop < end && !run->is_appended && limit == SIZE_MAX) {
            /* As many rows of about the same size as are needed. */
            size_t total = (size_t)(end - at), one = (size_t)(stop - at);
            size_t rows = (total + one - 1) / one;
            limit = (total + rows - 1) / rows;
            status = put_one(&p, &key, at, end, limit, &stop, &next_key, &dictionary);
        }
        if (status == LARDER_OK) status = put_row(txn, &key, dictionary, error);
        if (status != LARDER_OK) return status;
        at = stop;
        key = next_key;
    }
    return LARDER_OK;
}

int32_t larder__rows_patch(larder_txn *txn, const larder__key *key, const larder__segment *source,
                           uint32_t unused_bytes, larder_error *error) {
    int32_t status = larder__segment_finish_with(txn, writer_of(txn), larder__key_bytes(key),
                                                 source, unused_bytes, error);
    if (status != LARDER_OK) return status;
    larder_bytes row = larder__bytes(txn->row.data, txn->row.size_bytes);
    txn->counters.epoch_bytes += larder__row_cost(key->size_bytes, row.size_bytes);
    return larder__table_put(txn, LARDER__NODES, larder__key_bytes(key), row, error);
}

/* ---- large children ---- */

static int32_t put_location(larder_txn *txn, larder_bytes priority, larder_bytes children,
                            larder__buffer *out, larder_error *error) {
    uint64_t location = (uint64_t)++txn->counters.next_location;
    larder__key key, none = {0};
    larder__run run = {.children = children, .has_text_keys = true, .is_appended = true};
    larder__location_key(&key, location);
    int32_t status = larder__rows_put(txn, location, &key, &none, &run, error);
    if (status != LARDER_OK) return status;
    return larder__append_reference(out, priority, location) ? LARDER_OK : no_memory(error);
}

static int32_t spill_children(larder_txn *txn, const larder__head *head, const uint8_t *end,
                              larder__buffer *out, larder_error *error) {
    larder_bytes children, key, child;
    size_t size_at;
    if (!larder__head_children(LARDER__WORKING, head, end, &children))
        return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    if (!larder__children_begin(out, head->priority, &size_at)) return no_memory(error);
    const uint8_t *at = larder__begin(children), *behind = at + children.size_bytes;
    while (at < behind) {
        if (!larder__child_take(&at, behind, &key, &child))
            return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
        if (!larder__append_sized(out, key)) return no_memory(error);
        int32_t status = larder__node_spill(txn, child, out, error);
        if (status != LARDER_OK) return status;
    }
    larder__children_end(out, size_at);
    return LARDER_OK;
}

/* *is_flat: none of the children is too large to lie in a row. */
static bool look_for_large(larder_bytes children, bool *is_flat) {
    const uint8_t *at = larder__begin(children), *end = at + children.size_bytes;
    larder_bytes key, child;
    *is_flat = true;
    while (at < end && *is_flat) {
        if (!larder__child_take(&at, end, &key, &child)) return false;
        *is_flat = child.size_bytes <= LARDER__SPLIT_BYTES;
    }
    return true;
}

int32_t larder__node_spill(larder_txn *txn, larder_bytes node, larder__buffer *out,
                           larder_error *error) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_bytes children;
    bool is_flat;
    if (!larder__head_read(at, end, &head))
        return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    if (head.type != LARDER_NODE_CHILDREN || node.size_bytes <= LARDER__SPLIT_BYTES)
        return larder__append_bytes(out, node) ? LARDER_OK : no_memory(error);
    if (!larder__head_children(LARDER__WORKING, &head, end, &children) ||
        !look_for_large(children, &is_flat))
        return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    if (is_flat) return put_location(txn, head.priority, children, out, error);
    larder__buffer own = {.allocator = out->allocator};
    int32_t status = spill_children(txn, &head, end, &own, error);
    if (status == LARDER_OK && own.size_bytes <= LARDER__SPLIT_BYTES) {
        if (!larder__buffer_append(out, own.data, own.size_bytes)) status = no_memory(error);
    } else if (status == LARDER_OK) {
        /* Still too large with its children's children elsewhere: its own are a location. */
        bool is_sound =
            larder__head_read(own.data, own.data + own.size_bytes, &head) &&
            larder__head_children(LARDER__WORKING, &head, own.data + own.size_bytes, &children);
        status = is_sound ? put_location(txn, head.priority, children, out, error)
                          : larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    }
    larder__buffer_free(&own);
    return status;
}

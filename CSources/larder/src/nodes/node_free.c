/*
 * node_free.c - discarded locations and the freeing of their rows.
 *
 * A subtree is deleted by dropping the reference to it: its location goes to a list (location 0),
 * whatever it holds. Each commit frees some rows of the list, and so does eviction before it
 * evicts; a row's own references join the list when the row goes.
 */
#include "node_edit.h"

static larder__key discard_key(uint64_t location) {
    larder__key key;
    larder__location_key(&key, 0);
    larder__key_number(&key, location);
    return key;
}

int32_t larder__location_discard(larder_txn *txn, uint64_t location, larder_error *error) {
    larder__key key = discard_key(location);
    int32_t status = larder__table_add(txn, LARDER__NODES, larder__key_bytes(&key), error);
    if (status == LARDER_END)
        return larder__corrupt(txn, LARDER__NODES, larder__key_bytes(&key),
                               "a location is discarded twice", error);
    return status;
}

int32_t larder__node_discard(larder_txn *txn, larder_bytes node, larder_error *error) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    larder_bytes children, key, child;
    uint64_t location;
    if (node.size_bytes == 0) return LARDER_OK;
    if (!larder__head_read(at, end, &head))
        return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
    if (larder__reference_read(&head, end, &location))
        return larder__location_discard(txn, location, error);
    if (!larder__head_children(LARDER__WORKING, &head, end, &children)) return LARDER_OK;
    at = larder__begin(children);
    for (end = at + children.size_bytes; at < end;) {
        if (!larder__child_take(&at, end, &key, &child))
            return larder__fail(error, LARDER_E_CORRUPT, "a working node is malformed");
        int32_t status = larder__node_discard(txn, child, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

/* Locations that a row refers to: they are discarded once the row is no longer looked at. */
static int32_t note_location(void *context, uint64_t location, larder_error *error) {
    larder__buffer *locations = context;
    if (larder__buffer_append(locations, &location, sizeof location)) return LARDER_OK;
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to free a location");
}

/* Discards what the row refers to and removes it. A damaged row goes alone, so that it cannot keep
 * commits from freeing what comes after it; what it referred to stays behind, for larder_check to
 * report. */
static int32_t free_row(larder_txn *txn, larder__location_cursor *rows, larder__buffer *locations,
                        larder_error *error) {
    larder__segment segment;
    larder__key key = {0};
    larder_error failure;
    larder__key_append(&key, rows->rows.key.data, rows->rows.key.size_bytes);
    locations->size_bytes = 0;
    int32_t status = larder__location_segment(rows, &segment, &failure);
    if (status == LARDER_OK)
        status = larder__segment_references(&segment, note_location, locations, &failure);
    larder__segment_close(&segment);
    if (status == LARDER_E_CORRUPT)
        return larder__table_remove(txn, LARDER__NODES, larder__key_bytes(&key), error);
    if (status != LARDER_OK && error != NULL) *error = failure;
    for (size_t at = 0; at < locations->size_bytes && status == LARDER_OK; at += sizeof(uint64_t))
        status = larder__location_discard(txn, larder__load64(locations->data + at), error);
    return status == LARDER_OK ? larder__rows_remove(txn, &key, error) : status;
}

/* Frees up to *left rows of one location; OK when it has none left. */
static int32_t free_location(larder_txn *txn, uint64_t location, int64_t *left,
                             larder_error *error) {
    larder__buffer locations = {.allocator = &txn->env->allocator};
    int32_t status = LARDER_OK;
    while (status == LARDER_OK && *left > 0) {
        larder__location_cursor rows;
        status = larder__location_open(txn, location, &rows, error);
        if (status != LARDER_OK) break;
        status = larder__location_first(&rows, error);
        if (status == LARDER_OK) status = free_row(txn, &rows, &locations, error);
        larder__location_close(&rows);
        (*left)--;
    }
    larder__buffer_free(&locations);
    if (status == LARDER_END) return LARDER_OK;
    return status == LARDER_OK ? LARDER_MORE : status;
}

int32_t larder__discarded_free(larder_txn *txn, int64_t max_rows, larder_error *error) {
    larder__location_cursor list;
    int64_t left = max_rows;
    for (;;) {
        uint64_t location = 0;
        int32_t status = larder__location_open(txn, 0, &list, error);
        if (status != LARDER_OK) return status;
        status = larder__location_first(&list, error);
        if (status == LARDER_OK) {
            larder_bytes number = larder__location_separator(&list);
            const uint8_t *at = larder__begin(number), *end = at + number.size_bytes;
            if (!larder__key_read_number(&at, end, &location) || at != end)
                status =
                    larder__corrupt(txn, LARDER__NODES, list.rows.key, "a malformed key", error);
        }
        larder__location_close(&list);
        if (status == LARDER_END) return LARDER_OK;
        if (status == LARDER_OK && left <= 0) return LARDER_MORE;
        if (status == LARDER_OK) status = free_location(txn, location, &left, error);
        if (status != LARDER_OK) return status;
        larder__key key = discard_key(location);
        left--;
        status = larder__table_remove(txn, LARDER__NODES, larder__key_bytes(&key), error);
        if (status != LARDER_OK) return status;
    }
}

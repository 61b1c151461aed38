/* node_read.c - reading subtrees and some children; counts and sizes. */
#include "node_place.h"

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
}

int32_t larder__read_check(const larder_txn *txn, uint64_t tree, larder_bytes path, const void *out,
                           larder_error *error) {
    uint32_t depth;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (out == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "an output is NULL");
    status = larder__tree_check(txn, tree, error);
    return status == LARDER_OK ? larder__node_path_check(path, false, &depth, error) : status;
}

int32_t larder_node_read(const larder_txn *txn, uint64_t tree, larder_bytes path,
                         larder_node_builder *into, larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, into, error);
    if (status != LARDER_OK) return status;
    larder__buffer *out = larder__builder_begin(into);
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK)
        status = larder__node_copy(txn, &place.segment, place.node, out, error);
    larder__place_close(&place);
    if (status != LARDER_OK) out->size_bytes = 0;
    return status;
}

/* ---- some children ---- */

static int compare_keys(const void *left, const void *right, const void *context) {
    (void)context;
    return larder__node_key_compare(*(const larder_bytes *)left, *(const larder_bytes *)right);
}

int32_t larder__keys_sort(const larder_allocator *allocator, const larder_bytes *keys,
                          size_t *count, larder_bytes **sorted, larder_error *error) {
    *sorted = larder__allocate(allocator, *count * sizeof **sorted);
    if (*sorted == NULL) return no_memory(error);
    bool is_sorted = true;
    for (size_t i = 0; i < *count; i++) {
        int32_t status = larder__node_key_check(keys[i], error);
        if (status != LARDER_OK) return status;
        (*sorted)[i] = keys[i];
        is_sorted = is_sorted && (i == 0 || larder__node_key_compare(keys[i - 1], keys[i]) < 0);
    }
    if (is_sorted) return LARDER_OK;
    larder__sort(*sorted, *count, sizeof **sorted, compare_keys, NULL);
    size_t kept = 1;
    for (size_t i = 1; i < *count; i++)
        if (!larder__bytes_equal((*sorted)[i], (*sorted)[kept - 1]))
            (*sorted)[kept++] = (*sorted)[i];
    *count = kept;
    return LARDER_OK;
}

static int32_t copy_children(const larder_txn *txn, larder__children *children,
                             const larder_bytes *keys, size_t count, larder__buffer *out,
                             larder_error *error) {
    for (size_t i = 0; i < count; i++) {
        int32_t status = larder__children_find(children, keys[i], error);
        if (status == LARDER_NOT_FOUND) continue;
        if (status == LARDER_OK && !larder__append_sized(out, keys[i])) status = no_memory(error);
        if (status == LARDER_OK)
            status = larder__node_copy(txn, children->segment, children->node, out, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

int32_t larder__children_finish(larder__buffer *out, size_t size_at) {
    if (out->size_bytes == size_at + LARDER__NODE_SIZE_BYTES) return LARDER_NOT_FOUND;
    larder__children_end(out, size_at);
    return LARDER_OK;
}

int32_t larder__children_read(const larder_txn *txn, larder__place *place, larder_bytes priority,
                              const larder_bytes *keys, size_t key_count, larder__buffer *out,
                              larder_error *error) {
    larder__children children;
    larder_bytes *sorted = NULL;
    size_t size_at;
    const larder_allocator *allocator = &txn->env->allocator;
    int32_t status = larder__children_open(txn, place, &children, error);
    if (status == LARDER_OK)
        status = larder__keys_sort(allocator, keys, &key_count, &sorted, error);
    if (status == LARDER_OK && !larder__children_begin(out, priority, &size_at))
        status = no_memory(error);
    if (status == LARDER_OK) status = copy_children(txn, &children, sorted, key_count, out, error);
    if (status == LARDER_OK) status = larder__children_finish(out, size_at);
    larder__release(allocator, sorted);
    larder__children_close(&children);
    return status;
}

int32_t larder_node_read_children(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                  const larder_bytes *keys, size_t key_count,
                                  larder_node_builder *into, larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, into, error);
    if (status != LARDER_OK) return status;
    larder__buffer *out = larder__builder_begin(into);
    if (key_count == 0) return LARDER_NOT_FOUND;
    if (!larder__is_array(keys, key_count, sizeof *keys))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "keys is NULL or too long");
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK)
        status =
            larder__children_read(txn, &place, place.head.priority, keys, key_count, out, error);
    larder__place_close(&place);
    if (status != LARDER_OK) out->size_bytes = 0;
    return status;
}

/* ---- counts and sizes ---- */

static int32_t count_children(const larder_txn *txn, larder__place *place, int64_t *count,
                              larder_error *error) {
    larder__children children;
    int32_t status = larder__children_open(txn, place, &children, error);
    if (status == LARDER_OK) status = larder__children_begin_run(&children, false, error);
    while (status == LARDER_OK) {
        int64_t in_run = 0;
        status = larder__children_count(&children, &in_run, error);
        *count += in_run;
        if (status == LARDER_OK) status = larder__children_next_run(&children, false, error);
    }
    larder__children_close(&children);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder_node_count(const larder_txn *txn, uint64_t tree, larder_bytes path, int64_t *count,
                          larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, count, error);
    if (status != LARDER_OK) return status;
    *count = 0;
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK) status = count_children(txn, &place, count, error);
    larder__place_close(&place);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

typedef struct measuring {
    const larder_txn *txn;
    larder_usage *usage;
    uint32_t depth;
} measuring;

static int32_t measure_location(void *context, uint64_t location, larder_error *error) {
    measuring *m = context;
    larder__location_cursor rows;
    if (m->depth == LARDER_NODE_DEPTH_MAX)
        return larder__fail(error, LARDER_E_CORRUPT, "locations lie in each other");
    int32_t status = larder__location_open(m->txn, location, &rows, error);
    if (status != LARDER_OK) return status;
    m->depth++;
    for (status = larder__location_first(&rows, error); status == LARDER_OK;
         status = larder__location_next(&rows, error)) {
        larder__segment segment;
        m->usage->row_count++;
        m->usage->size_bytes +=
            larder__row_cost(rows.rows.key.size_bytes, rows.rows.value.size_bytes);
        status = larder__location_segment(&rows, &segment, error);
        if (status == LARDER_OK)
            status = larder__segment_references(&segment, measure_location, m, error);
        larder__segment_close(&segment);
        if (status != LARDER_OK) break;
    }
    m->depth--;
    larder__location_close(&rows);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder_node_usage(const larder_txn *txn, uint64_t tree, larder_bytes path,
                          larder_usage *usage, larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, usage, error);
    if (status != LARDER_OK) return status;
    memset(usage, 0, sizeof *usage);
    measuring m = {.txn = txn, .usage = usage};
    if (path.size_bytes == 0) return measure_location(&m, tree, error);
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK)
        status = larder__stored_references(&place.segment, place.node, measure_location, &m, error);
    larder__place_close(&place);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

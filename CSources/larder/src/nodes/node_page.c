/*
 * node_page.c - pages: children from one key to another.
 *
 * Rows are read forwards in any case. Backwards, the rows of the page come last row first: what
 * is kept of each is its last children.
 */
#include "node_place.h"

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a node");
}

/* Children that go into a page, as they are found: a run at a time. */
typedef struct paging {
    const larder_txn *txn;
    const larder__page *page;
    larder__buffer found;   /* encoded children, key and node, run after run */
    larder__buffer offsets; /* size_t each: where a child of the current run begins in found */
    larder__buffer runs;    /* size_t each: where a run begins in found */
    int64_t count;
    size_t bytes; /* of what is in the page */
    bool is_full;
} paging;

static bool is_full(const paging *p, size_t child_bytes) {
    if (p->count == 0) return false;
    return (p->page->max_count > 0 && p->count >= p->page->max_count) ||
           (p->page->max_bytes > 0 && p->bytes + child_bytes > (size_t)p->page->max_bytes);
}

static int32_t add_child(paging *p, larder__children *children, larder_error *error) {
    static const uint8_t present = LARDER_NODE_TRUE;
    size_t at = p->found.size_bytes;
    if (!larder__buffer_append(&p->offsets, &at, sizeof at) ||
        !larder__append_sized(&p->found, children->key))
        return no_memory(error);
    if (p->page->keys_only)
        return larder__buffer_append(&p->found, &present, 1) ? LARDER_OK : no_memory(error);
    return larder__node_copy(p->txn, children->segment, children->node, &p->found, error);
}

static bool is_below(const larder__page *page, larder_bytes key) {
    if (page->lower.size_bytes == 0) return false;
    int order = larder__node_key_compare(key, page->lower);
    return order < 0 || (order == 0 && !page->has_lower);
}

static bool is_above(const larder__page *page, larder_bytes key) {
    if (page->upper.size_bytes == 0) return false;
    int order = larder__node_key_compare(key, page->upper);
    return order > 0 || (order == 0 && !page->has_upper);
}

/* The children of one run; forwards it stops as soon as the page is full. *passed: the range ends
 * in this run. */
static int32_t take_run(paging *p, larder__children *children, bool *passed, larder_error *error) {
    const larder__page *page = p->page;
    p->offsets.size_bytes = 0;
    int32_t status;
    while ((status = larder__children_next(children, error)) == LARDER_OK) {
        status = larder__children_key(children, error);
        if (status != LARDER_OK) return status;
        if (is_below(page, children->key)) {
            if (page->backwards) *passed = true;
            continue;
        }
        if (is_above(page, children->key)) {
            if (!page->backwards) *passed = true;
            return LARDER_OK;
        }
        size_t at = p->found.size_bytes;
        status = add_child(p, children, error);
        if (status != LARDER_OK) return status;
        if (page->backwards) continue;
        if (is_full(p, p->found.size_bytes - at)) {
            p->found.size_bytes = at;
            p->is_full = true;
            return LARDER_OK;
        }
        p->count++;
        p->bytes += p->found.size_bytes - at;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/* Of a run that was taken whole, backwards: keeps the last children that still fit. */
static void keep_last(paging *p, size_t run_at) {
    const size_t *offsets = (const size_t *)(const void *)p->offsets.data;
    size_t count = p->offsets.size_bytes / sizeof *offsets, end = p->found.size_bytes, i = count;
    while (i > 0 && !is_full(p, end - offsets[i - 1])) {
        p->bytes += end - offsets[i - 1];
        p->count++;
        end = offsets[--i];
    }
    if (i == 0) return;
    p->is_full = true;
    memmove(p->found.data + run_at, p->found.data + end, p->found.size_bytes - end);
    p->found.size_bytes -= end - run_at;
}

static int32_t first_run(const paging *p, larder__children *children, larder_error *error) {
    const larder__page *page = p->page;
    larder_bytes from = page->backwards ? page->upper : page->lower;
    if (from.size_bytes == 0) return larder__children_begin_run(children, page->backwards, error);
    return larder__children_seek_run(children, from, error);
}

static int32_t take_runs(paging *p, larder__children *children, larder_error *error) {
    bool passed = false;
    int32_t status = first_run(p, children, error);
    while (status == LARDER_OK) {
        size_t at = p->found.size_bytes;
        status = take_run(p, children, &passed, error);
        if (status == LARDER_OK && p->page->backwards) keep_last(p, at);
        if (status == LARDER_OK && !larder__buffer_append(&p->runs, &at, sizeof at))
            status = no_memory(error);
        if (status != LARDER_OK || p->is_full || passed) return status;
        status = larder__children_next_run(children, p->page->backwards, error);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/* The runs in key order. */
static bool append_runs(const paging *p, larder__buffer *out) {
    const size_t *runs = (const size_t *)(const void *)p->runs.data;
    size_t count = p->runs.size_bytes / sizeof *runs, end = p->found.size_bytes;
    if (!p->page->backwards) return larder__buffer_append(out, p->found.data, end);
    for (size_t i = count; i-- > 0;) {
        if (!larder__buffer_append(out, p->found.data + runs[i], end - runs[i])) return false;
        end = runs[i];
    }
    return true;
}

int32_t larder__page_read(const larder_txn *txn, larder__place *place, const larder__page *page,
                          larder_bytes priority, larder__buffer *out, larder_error *error) {
    const larder_allocator *allocator = &txn->env->allocator;
    paging p = {.txn = txn,
                .page = page,
                .found.allocator = allocator,
                .offsets.allocator = allocator,
                .runs.allocator = allocator};
    larder__children children;
    size_t size_at;
    int32_t status = larder__children_open(txn, place, &children, error);
    if (status == LARDER_OK) status = take_runs(&p, &children, error);
    larder__children_close(&children);
    if (status == LARDER_OK && p.found.size_bytes > 0) {
        if (!larder__children_begin(out, priority, &size_at) || !append_runs(&p, out))
            status = no_memory(error);
        else
            status = larder__children_finish(out, size_at);
    }
    larder__buffer_free(&p.found);
    larder__buffer_free(&p.offsets);
    larder__buffer_free(&p.runs);
    return status == LARDER_OK && p.is_full ? LARDER_MORE : status;
}

int32_t larder_node_read_page(const larder_txn *txn, uint64_t tree, larder_bytes path,
                              const larder_node_page *page, larder_node_builder *into,
                              larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, into, error);
    if (status != LARDER_OK) return status;
    if (page == NULL || page->struct_bytes < sizeof *page || page->max_count < 0 ||
        page->max_bytes < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "the page is NULL, its struct_bytes is not set, or a bound is wrong");
    if (page->after.size_bytes > 0) status = larder__node_key_check(page->after, error);
    if (status == LARDER_OK && page->before.size_bytes > 0)
        status = larder__node_key_check(page->before, error);
    if (status != LARDER_OK) return status;
    larder__page internal = {.lower = page->after,
                             .upper = page->before,
                             .backwards = page->backwards != 0,
                             .keys_only = page->keys_only != 0,
                             .max_count = page->max_count,
                             .max_bytes = page->max_bytes};
    larder__buffer *out = larder__builder_begin(into);
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK)
        status = larder__page_read(txn, &place, &internal, place.head.priority, out, error);
    larder__place_close(&place);
    if (status < 0) out->size_bytes = 0;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

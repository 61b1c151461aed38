/*
 * node_window.c - the children that a query shows, without holding the others.
 *
 * By key the window is a page. By any other index every child is looked at once, in its row: its
 * value in the index is compared with the bounds and, where there is a limit, with the worst
 * of those kept so far, which are a heap of at most limit entries.
 */
#include "node_place.h"

/* A child that is in the window so far. */
typedef struct kept {
    larder_leaf value; /* its text, and the key, lie in bytes */
    larder_bytes key;
    larder__buffer bytes;
} kept;

typedef struct scanning {
    const larder_txn *txn;
    const larder_node_window *window;
    larder_error *error;
    kept *heap; /* the worst one first */
    size_t count, capacity;
    larder__place below; /* where an index path crosses into another location */
    bool has_below;
} scanning;

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a window");
}

/* ---- a child's value in the index ---- */

static void close_below(scanning *s) {
    if (s->has_below) larder__place_close(&s->below);
    s->has_below = false;
}

/* The value of a stored node: a leaf, or CHILDREN. */
static int32_t read_value(const scanning *s, larder__segment *segment, larder_bytes node,
                          larder_leaf *value) {
    const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
    larder__head head;
    memset(value, 0, sizeof *value);
    if (node.size_bytes > 1 && *at == LARDER_NODE_INTEGER) {
        value->type = LARDER_NODE_INTEGER;
        if (larder__integer_read(at + 1, end, &value->integer)) return LARDER_OK;
    }
    if (!larder__head_read(at, end, &head))
        return larder__segment_damaged(segment, "a node is malformed", s->error);
    if (head.type == LARDER_NODE_CHILDREN || head.type == LARDER__NODE_REFERENCE) {
        value->type = LARDER_NODE_CHILDREN;
        return LARDER_OK;
    }
    return larder__stored_leaf(segment, &head, end, value, s->error);
}

/* The value at a path below a stored node; EMPTY where nothing is. */
static int32_t value_at_path(scanning *s, larder__segment *segment, larder_bytes node,
                             larder_leaf *value) {
    larder_bytes path = s->window->index_path, rest = path, key;
    memset(value, 0, sizeof *value);
    while (larder__path_take(&rest, &key)) {
        const uint8_t *at = larder__begin(node), *end = at + node.size_bytes;
        larder__head head;
        uint64_t location;
        if (!larder__head_read(at, end, &head))
            return larder__segment_damaged(segment, "a node is malformed", s->error);
        if (larder__reference_read(&head, end, &location)) {
            close_below(s);
            s->has_below = true;
            int32_t status = larder__place_find_below(s->txn, location, path, &s->below, s->error);
            if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
            return read_value(s, &s->below.segment, s->below.node, value);
        }
        if (head.type != LARDER_NODE_CHILDREN) return LARDER_OK;
        int32_t status = larder__stored_find(segment, &head, end, key, &node, s->error);
        if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
        path = rest;
    }
    return read_value(s, segment, node, value);
}

static int32_t index_value(scanning *s, const larder__children *children, larder_leaf *value) {
    larder__head head;
    const uint8_t *at = larder__begin(children->node), *end = at + children->node.size_bytes;
    switch (s->window->index) {
    case LARDER_NODE_INDEX_VALUE:
        return read_value(s, children->segment, children->node, value);
    case LARDER_NODE_INDEX_PATH:
        return value_at_path(s, children->segment, children->node, value);
    default:
        if (larder__head_read(at, end, &head) && larder__leaf_read(head.priority, value))
            return LARDER_OK;
        return larder__segment_damaged(children->segment, "a node is malformed", s->error);
    }
}

/* ---- bounds ---- */

/* A child and its value in the index. */
typedef struct candidate {
    larder__children *children;
    larder_leaf value;
    bool has_key; /* children->key is the child's */
} candidate;

static int32_t fetch_key(const scanning *s, candidate *child) {
    if (child->has_key) return LARDER_OK;
    child->has_key = true;
    return larder__children_key(child->children, s->error);
}

/* *order: below, at or above 0 as the child lies below, at or above the bound. */
static int32_t compare_bound(const scanning *s, candidate *child, const larder_node_bound *bound,
                             int *order) {
    *order = larder__leaf_compare(&child->value, &bound->value);
    if (*order != 0) return LARDER_OK;
    *order = bound->key_kind == LARDER_NODE_KEY_MIN ? 1 : -1;
    if (bound->key_kind != LARDER_NODE_KEY_GIVEN) return LARDER_OK;
    int32_t status = fetch_key(s, child);
    if (status == LARDER_OK) *order = larder__node_key_compare(child->children->key, bound->key);
    return status;
}

static int32_t is_within(const scanning *s, candidate *child, bool *within) {
    const larder_node_window *window = s->window;
    int32_t status = LARDER_OK;
    int order;
    *within = true;
    if (window->start.given != 0) {
        status = compare_bound(s, child, &window->start, &order);
        *within = order > 0 || (order == 0 && window->start.exclusive == 0);
    }
    if (status == LARDER_OK && *within && window->end.given != 0) {
        status = compare_bound(s, child, &window->end, &order);
        *within = order < 0 || (order == 0 && window->end.exclusive == 0);
    }
    return status;
}

/* ---- the heap ---- */

/* Above 0 when the first is further from where the limit counts, and so the first to go. */
static int compare_worst(const scanning *s, const larder_leaf *a, larder_bytes a_key,
                         const larder_leaf *b, larder_bytes b_key) {
    int order = larder__leaf_compare(a, b);
    if (order == 0) order = larder__node_key_compare(a_key, b_key);
    return s->window->from_end != 0 ? -order : order;
}

static bool is_worse(const scanning *s, size_t a, size_t b) {
    return compare_worst(s, &s->heap[a].value, s->heap[a].key, &s->heap[b].value, s->heap[b].key) >
           0;
}

static void swap(scanning *s, size_t a, size_t b) {
    kept held = s->heap[a];
    s->heap[a] = s->heap[b];
    s->heap[b] = held;
}

static void sift_down(scanning *s) {
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->count) return;
        if (child + 1 < s->count && is_worse(s, child + 1, child)) child++;
        if (!is_worse(s, child, at)) return;
        swap(s, at, child);
        at = child;
    }
}

static void sift_up(scanning *s, size_t at) {
    while (at > 0 && is_worse(s, at, (at - 1) / 2)) {
        swap(s, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static int32_t fill(kept *to, const larder_leaf *value, larder_bytes key, larder_error *error) {
    to->bytes.size_bytes = 0;
    if (!larder__buffer_reserve(&to->bytes, value->text.size_bytes + key.size_bytes))
        return no_memory(error);
    (void)larder__append_bytes(&to->bytes, value->text);
    (void)larder__append_bytes(&to->bytes, key);
    to->value = *value;
    to->value.text = larder__bytes(to->bytes.data, value->text.size_bytes);
    to->key = larder__bytes(to->bytes.data + value->text.size_bytes, key.size_bytes);
    return LARDER_OK;
}

static int32_t grow(scanning *s) {
    size_t capacity = s->capacity == 0 ? 16 : 2 * s->capacity;
    kept *grown = larder__allocate(&s->txn->env->allocator, capacity * sizeof *grown);
    if (grown == NULL) return no_memory(s->error);
    memset(grown, 0, capacity * sizeof *grown);
    if (s->count > 0) memcpy(grown, s->heap, s->count * sizeof *grown);
    for (size_t i = s->count; i < capacity; i++)
        grown[i].bytes.allocator = &s->txn->env->allocator;
    larder__release(&s->txn->env->allocator, s->heap);
    s->heap = grown;
    s->capacity = capacity;
    return LARDER_OK;
}

static int32_t keep(scanning *s, candidate *child) {
    larder__children *children = child->children;
    bool is_full = (int64_t)s->count == s->window->limit;
    if (is_full) {
        /* Most children differ in their values from the worst one: their keys are not looked at. */
        int order = larder__leaf_compare(&child->value, &s->heap[0].value);
        if (s->window->from_end != 0) order = -order;
        if (order > 0) return LARDER_OK;
    }
    int32_t status = fetch_key(s, child);
    if (status != LARDER_OK) return status;
    if (!is_full) {
        if (s->count == s->capacity) status = grow(s);
        if (status == LARDER_OK)
            status = fill(&s->heap[s->count], &child->value, children->key, s->error);
        if (status == LARDER_OK) sift_up(s, s->count++);
        return status;
    }
    if (compare_worst(s, &child->value, children->key, &s->heap[0].value, s->heap[0].key) >= 0)
        return LARDER_OK;
    status = fill(&s->heap[0], &child->value, children->key, s->error);
    if (status == LARDER_OK) sift_down(s);
    return status;
}

/* ---- the scan ---- */

/* Passes over children that are worse than all that are kept, whatever the bounds are. */
static void pass_worse(const scanning *s, larder__children *children) {
    bool is_full = s->window->limit > 0 && (int64_t)s->count == s->window->limit;
    if (!is_full || s->window->index != LARDER_NODE_INDEX_VALUE || !children->is_location ||
        s->heap[0].value.type != LARDER_NODE_INTEGER)
        return;
    int64_t worst = s->heap[0].value.integer;
    larder__segment_pass_integers(&children->row, &children->in_row,
                                  s->window->from_end != 0 ? worst : INT64_MIN,
                                  s->window->from_end != 0 ? INT64_MAX : worst);
}

static int32_t copy_child(scanning *s, candidate *child, larder__buffer *out) {
    larder__children *children = child->children;
    int32_t status = fetch_key(s, child);
    if (status != LARDER_OK) return status;
    if (!larder__append_sized(out, children->key)) return no_memory(s->error);
    return larder__node_copy(s->txn, children->segment, children->node, out, s->error);
}

/* Each child within the bounds: to the heap, or where there is no limit to out. */
static int32_t scan_run(scanning *s, larder__children *children, larder__buffer *out) {
    int32_t status;
    while (pass_worse(s, children),
           (status = larder__children_next(children, s->error)) == LARDER_OK) {
        candidate child = {.children = children};
        bool within;
        status = index_value(s, children, &child.value);
        if (status == LARDER_OK) status = is_within(s, &child, &within);
        if (status != LARDER_OK) return status;
        if (!within) continue;
        status = s->window->limit > 0 ? keep(s, &child) : copy_child(s, &child, out);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t scan(scanning *s, larder__place *place, larder__buffer *out) {
    larder__children children;
    size_t size_at = 0;
    int32_t status = larder__children_open(s->txn, place, &children, s->error);
    if (status == LARDER_OK && s->window->limit == 0 &&
        !larder__children_begin(out, larder__bytes(NULL, 0), &size_at))
        status = no_memory(s->error);
    if (status == LARDER_OK) status = larder__children_begin_run(&children, false, s->error);
    while (status == LARDER_OK) {
        status = scan_run(s, &children, out);
        if (status == LARDER_OK) status = larder__children_next_run(&children, false, s->error);
    }
    larder__children_close(&children);
    if (status != LARDER_END) return status;
    return s->window->limit == 0 ? larder__children_finish(out, size_at) : LARDER_OK;
}

static int32_t read_kept(scanning *s, larder__place *place, larder__buffer *out) {
    if (s->count == 0) return LARDER_NOT_FOUND;
    larder_bytes *keys = larder__allocate(&s->txn->env->allocator, s->count * sizeof *keys);
    if (keys == NULL) return no_memory(s->error);
    for (size_t i = 0; i < s->count; i++)
        keys[i] = s->heap[i].key;
    int32_t status =
        larder__children_read(s->txn, place, larder__bytes(NULL, 0), keys, s->count, out, s->error);
    larder__release(&s->txn->env->allocator, keys);
    return status;
}

static int32_t read_by_value(const larder_txn *txn, larder__place *place,
                             const larder_node_window *window, larder__buffer *out,
                             larder_error *error) {
    scanning s = {.txn = txn, .window = window, .error = error};
    int32_t status = scan(&s, place, out);
    if (status == LARDER_OK && window->limit > 0) status = read_kept(&s, place, out);
    close_below(&s);
    for (size_t i = 0; i < s.capacity; i++)
        larder__buffer_free(&s.heap[i].bytes);
    larder__release(&txn->env->allocator, s.heap);
    return status;
}

/* ---- by key ---- */

/* A bound as the end of a page; false when nothing can be within. */
static bool key_bound(const larder_node_bound *bound, int32_t nothing, larder_bytes *key,
                      bool *has_key) {
    *key = larder__bytes(NULL, 0);
    *has_key = false;
    if (bound->given == 0) return true;
    if (bound->key_kind != LARDER_NODE_KEY_GIVEN) return bound->key_kind != nothing;
    *key = bound->key;
    *has_key = bound->exclusive == 0;
    return true;
}

static int32_t read_by_key(const larder_txn *txn, larder__place *place,
                           const larder_node_window *window, larder__buffer *out,
                           larder_error *error) {
    larder__page page = {.backwards = window->from_end != 0, .max_count = window->limit};
    if (!key_bound(&window->start, LARDER_NODE_KEY_MAX, &page.lower, &page.has_lower) ||
        !key_bound(&window->end, LARDER_NODE_KEY_MIN, &page.upper, &page.has_upper))
        return LARDER_NOT_FOUND;
    int32_t status = larder__page_read(txn, place, &page, larder__bytes(NULL, 0), out, error);
    if (status < 0) return status;
    return out->size_bytes == 0 ? LARDER_NOT_FOUND : LARDER_OK;
}

static int32_t check_bound(const larder_node_bound *bound, larder_error *error) {
    if (bound->given == 0) return LARDER_OK;
    if (bound->key_kind < LARDER_NODE_KEY_GIVEN || bound->key_kind > LARDER_NODE_KEY_MAX ||
        bound->value.type < LARDER_NODE_EMPTY || bound->value.type > LARDER_NODE_CHILDREN)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound is unknown");
    if (bound->value.type == LARDER_NODE_STRING && !larder__is_input(bound->value.text))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound's text is NULL");
    if (bound->key_kind != LARDER_NODE_KEY_GIVEN) return LARDER_OK;
    if (larder__input(bound->key).size_bytes == 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound's key is empty");
    return LARDER_OK;
}

static int32_t check_window(const larder_node_window *window, larder_error *error) {
    uint32_t depth;
    if (window == NULL || window->struct_bytes < sizeof *window || window->limit < 0 ||
        window->index < LARDER_NODE_INDEX_PRIORITY || window->index > LARDER_NODE_INDEX_PATH)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "the window is NULL, its struct_bytes is not set, or its limit or "
                            "index is unknown");
    int32_t status = check_bound(&window->start, error);
    if (status == LARDER_OK) status = check_bound(&window->end, error);
    if (status != LARDER_OK || window->index != LARDER_NODE_INDEX_PATH) return status;
    if (window->index_path.size_bytes == 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the index path is empty");
    return larder__node_path_check(window->index_path, false, &depth, error);
}

int32_t larder_node_read_window(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                const larder_node_window *window, larder_node_builder *into,
                                larder_error *error) {
    int32_t status = larder__read_check(txn, tree, path, into, error);
    if (status == LARDER_OK) status = check_window(window, error);
    if (status != LARDER_OK) return status;
    larder__buffer *out = larder__builder_begin(into);
    larder__place place;
    status = larder__place_find(txn, tree, path, &place, error);
    if (status == LARDER_OK)
        status = window->index == LARDER_NODE_INDEX_KEY
                     ? read_by_key(txn, &place, window, out, error)
                     : read_by_value(txn, &place, window, out, error);
    larder__place_close(&place);
    if (status != LARDER_OK) out->size_bytes = 0;
    return status;
}

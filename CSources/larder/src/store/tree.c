/* tree.c - walking trees page by page (tree.h). */
#include "tree.h"

typedef struct tree_walk {
    const larder__pages *pages;
    const larder__tree_visitor *visitor;
    uint8_t *visited;
    const larder_allocator *allocator;
    uint8_t *buffers[LARDER__TREE_DEPTH_MAX]; /* a page each, made when its depth is reached */
    bool has_number_keys;                     /* 8 bytes, little-endian */
    bool has_memory, is_ended;
} tree_walk;

/* Keys from low on and below high. */
typedef struct bounds {
    larder_bytes low, high;
    bool has_high;
} bounds;

static void lose(tree_walk *w, uint64_t page, const bounds *of, const char *what) {
    w->visitor->lost(w->visitor->context, page, of->low, of->has_high ? &of->high : NULL, what);
}

static int compare(const tree_walk *w, larder_bytes a, larder_bytes b) {
    if (!w->has_number_keys || a.size_bytes != 8 || b.size_bytes != 8)
        return larder__bytes_compare(a, b);
    uint64_t left = larder__load64(a.data), right = larder__load64(b.data);
    return left < right ? -1 : left > right;
}

static bool is_within(const tree_walk *w, const bounds *of, larder_bytes key) {
    return compare(w, key, of->low) >= 0 && (!of->has_high || compare(w, key, of->high) < 0);
}

static void visit(tree_walk *w, uint64_t page, unsigned depth, bounds of);

/* The children of a branch. Each has the keys from its own on and below the next one's; where a node
 * between cannot be read, a part of them is another child's. */
static void visit_branch(tree_walk *w, const uint8_t *bytes, uint64_t page, size_t count,
                         unsigned depth, bounds of) {
    larder__page_node node = {.child = LARDER__PAGE_NONE};
    larder_bytes low = of.low;
    uint64_t child = LARDER__PAGE_NONE, filled = 0;
    bool has_gap = false;
    for (size_t i = 0; i <= count && !w->is_ended; i++) {
        bounds below = {low, of.high, of.has_high};
        if (i < count) {
            bool is_sound = larder__page_node_at(bytes, w->pages->page_bytes, false, i, &node);
            /* The first key of a branch is never looked at. */
            if (is_sound && i > 0)
                is_sound = is_within(w, &of, node.key) && compare(w, node.key, low) > 0;
            has_gap = has_gap || !is_sound;
            if (!is_sound) continue;
            filled += larder__page_node_bytes(&node, false);
            below = (bounds){low, node.key, true};
        }
        if (i > 0 && child != LARDER__PAGE_NONE) visit(w, child, depth + 1, below);
        if (i > 0 && has_gap)
            lose(w, page, &below, "a branch has a node that leaves it or is out of order");
        if (i < count) {
            if (i > 0) low = node.key;
            child = node.child;
            has_gap = false;
        }
    }
    if (!w->is_ended && !larder__page_is_filled(bytes, w->pages->page_bytes, filled))
        lose(w, page, &of, "a branch has another number of nodes than its head says");
}

/* The rows of a leaf: what lies between two that are sound is lost when one between is not. */
static void visit_leaf(tree_walk *w, const uint8_t *bytes, uint64_t page, size_t count, bounds of) {
    larder__page_node node;
    bounds gap = {of.low, of.high, of.has_high};
    bool has_gap = false, is_whole = true;
    uint64_t filled = 0;
    larder_bytes last = {NULL, 0};
    for (size_t i = 0; i < count && !w->is_ended; i++) {
        bool is_sound = larder__page_node_at(bytes, w->pages->page_bytes, true, i, &node) &&
                        node.key.size_bytes > 0 && is_within(w, &of, node.key) &&
                        (last.size_bytes == 0 || compare(w, node.key, last) > 0);
        if (!is_sound) {
            has_gap = true;
            is_whole = false;
            continue;
        }
        filled += larder__page_node_bytes(&node, true);
        if (has_gap) {
            bounds before = {gap.low, node.key, true};
            lose(w, page, &before, "a leaf has a row that leaves it or is out of order");
        }
        has_gap = false;
        gap.low = last = node.key;
        w->is_ended = !w->visitor->node(w->visitor->context, &node);
    }
    if (has_gap && !w->is_ended)
        lose(w, page, &gap, "a leaf has a row that leaves it or is out of order");
    if (is_whole && !larder__page_is_filled(bytes, w->pages->page_bytes, filled)) {
        is_whole = false;
        if (!w->is_ended)
            lose(w, page, &of, "a leaf has another number of rows than its head says");
    }
    if (is_whole && w->visitor->page != NULL) w->visitor->page(w->visitor->context, page);
}

/* Why a page cannot be the one expected, or NULL. */
static const char *look_at(tree_walk *w, uint64_t page, unsigned depth, uint8_t **bytes,
                           size_t *count, bool *is_leaf) {
    if (depth >= LARDER__TREE_DEPTH_MAX) return "the tree is too deep";
    if (page < 2 || page >= w->pages->page_count) return "the file does not have the page";
    if (larder__page_is_marked(w->visited, page)) return "two ways lead to the page";
    larder__page_mark(w->visited, page);
    if (w->buffers[depth] == NULL)
        w->buffers[depth] = larder__allocate(w->allocator, w->pages->page_bytes);
    *bytes = w->buffers[depth];
    if (*bytes == NULL) {
        w->has_memory = false;
        w->is_ended = true;
        return "no memory";
    }
    if (!larder__pages_read(w->pages, page, *bytes)) return "the page cannot be read";
    larder__page_kind kind = larder__page_kind_of(*bytes, page);
    *is_leaf = kind == LARDER__PAGE_LEAF;
    if (kind == LARDER__PAGE_BROKEN) return "the page is another one, or damaged";
    if (!*is_leaf && kind != LARDER__PAGE_BRANCH) return "the page is no part of a tree";
    if (!larder__page_count_nodes(*bytes, w->pages->page_bytes, count) || *count == 0)
        return "the page's head is damaged";
    return NULL;
}

static void visit(tree_walk *w, uint64_t page, unsigned depth, bounds of) {
    uint8_t *bytes = NULL;
    size_t count = 0;
    bool is_leaf = false;
    const char *why = look_at(w, page, depth, &bytes, &count, &is_leaf);
    if (why != NULL) {
        if (w->has_memory) lose(w, page, &of, why);
    } else if (is_leaf) {
        visit_leaf(w, bytes, page, count, of);
    } else {
        if (w->visitor->page != NULL) w->visitor->page(w->visitor->context, page);
        visit_branch(w, bytes, page, count, depth, of);
    }
}

static bool walk_all(tree_walk *w, uint64_t root, bool *has_memory) {
    w->has_memory = true;
    if (root != LARDER__PAGE_NONE) visit(w, root, 0, (bounds){{NULL, 0}, {NULL, 0}, false});
    for (size_t i = 0; i < LARDER__TREE_DEPTH_MAX; i++)
        larder__release(w->allocator, w->buffers[i]);
    *has_memory = w->has_memory;
    return !w->is_ended;
}

bool larder__tree_walk_all(const larder__pages *pages, uint64_t root, uint8_t *visited,
                           const larder__tree_visitor *visitor, const larder_allocator *allocator,
                           bool *has_memory) {
    tree_walk w = {.pages = pages, .visitor = visitor, .visited = visited, .allocator = allocator};
    return walk_all(&w, root, has_memory);
}

bool larder__tree_walk_numbers(const larder__pages *pages, uint64_t root, uint8_t *visited,
                               const larder__tree_visitor *visitor,
                               const larder_allocator *allocator, bool *has_memory) {
    tree_walk w = {.pages = pages,
                   .visitor = visitor,
                   .visited = visited,
                   .allocator = allocator,
                   .has_number_keys = true};
    return walk_all(&w, root, has_memory);
}

bool larder__tree_has_depth(const larder__pages *pages, const larder__root *root) {
    uint8_t bytes[LARDER__PAGE_LARGEST];
    uint64_t page = root->page;
    larder__page_node node;
    if (page == LARDER__PAGE_NONE || root->depth > LARDER__TREE_DEPTH_MAX)
        return page == LARDER__PAGE_NONE && root->depth == 0;
    for (unsigned depth = 1; depth <= root->depth; depth++) {
        if (!larder__pages_read(pages, page, bytes)) return false;
        larder__page_kind kind = larder__page_kind_of(bytes, page);
        if (kind == LARDER__PAGE_LEAF) return depth == root->depth;
        if (kind != LARDER__PAGE_BRANCH ||
            !larder__page_node_at(bytes, pages->page_bytes, false, 0, &node))
            return false;
        page = node.child;
    }
    return false;
}

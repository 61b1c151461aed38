/* page_check.c - whether a page of a tree is one that LMDB can change (page.h). */
#include "page.h"

static int compare(const larder__page_place *place, larder_bytes a, larder_bytes b) {
    if (place->kind != LARDER__TREE_FREE) return larder__bytes_compare(a, b);
    uint64_t left = larder__load64(a.data), right = larder__load64(b.data);
    return left < right ? -1 : left > right;
}

/* What a node has to be wherever it lies. */
static const char *check_node(const larder__page_place *place, const larder__page_node *node,
                              bool is_leaf) {
    if (!is_leaf && (node->child < 2 || node->child >= place->page_count))
        return "it refers to a page that the file does not have";
    if (larder__page_node_bytes(node, is_leaf) > (place->page_bytes - LARDER__PAGE_HEAD) / 2)
        return "it has a node that is too large";
    if (is_leaf && node->is_table != (place->kind == LARDER__TREE_TABLES))
        return "it has a node of another kind";
    return NULL;
}

/* The nodes lie behind each other from the page's free part to its end. Marks where each begins. */
static const char *check_nodes(const uint8_t *page, const larder__page_place *place, size_t count,
                               bool is_leaf, uint8_t *begins) {
    larder__page_node node;
    const char *what = NULL;
    size_t at = larder__page_upper(page, place->page_bytes), found = 0;
    memset(begins, 0, place->page_bytes / 16);
    for (; at < place->page_bytes && what == NULL; found++) {
        if (!larder__page_node_from(page, place->page_bytes, is_leaf, at, &node))
            return "it has a node that leaves it";
        what = check_node(place, &node, is_leaf);
        larder__page_mark(begins, at / 2);
        at += (size_t)larder__page_node_bytes(&node, is_leaf);
    }
    if (what == NULL && (at != place->page_bytes || found != count))
        what = "it has another number of nodes than its head says";
    return what;
}

/* Each slot refers to another node, in the order of their keys. */
static const char *check_slots(const uint8_t *page, const larder__page_place *place, size_t count,
                               bool is_leaf, uint8_t *begins) {
    larder_bytes last = place->low;
    bool may_be_equal = true; /* the first key may be the parent's */
    for (size_t i = 0; i < count; i++) {
        size_t at = larder__load16(page + LARDER__PAGE_HEAD + 2 * i);
        if (at >= place->page_bytes || at % 2 != 0 || !larder__page_is_marked(begins, at / 2))
            return "it has a slot without a node";
        begins[at / 16] &= (uint8_t) ~(1 << at / 2 % 8);
        if (!is_leaf && i == 0) continue; /* its key is never looked at */
        const uint8_t *node = page + at;
        larder_bytes key = larder__bytes(node + LARDER__NODE_HEAD,
                                         larder__load16(node + LARDER__NODE_KEY_BYTES_AT));
        if (key.size_bytes == 0 ||
            (place->kind == LARDER__TREE_FREE && key.size_bytes != sizeof(uint64_t)))
            return "it has a key that no row has";
        if (last.data != NULL && compare(place, key, last) < (may_be_equal ? 0 : 1))
            return "its keys are out of order";
        may_be_equal = false;
        last = key;
    }
    return place->has_high && last.data != NULL && compare(place, last, place->high) >= 0
               ? "its keys belong elsewhere"
               : NULL;
}

const char *larder__page_check(const uint8_t *page, const larder__page_place *place) {
    uint8_t begins[LARDER__PAGE_LARGEST / 16];
    size_t count;
    larder__page_kind kind = larder__page_kind_of(page, place->page);
    bool is_leaf = kind == LARDER__PAGE_LEAF;
    if (!is_leaf && kind != LARDER__PAGE_BRANCH)
        return "it is another page, or its head is damaged";
    if (!larder__page_count_nodes(page, place->page_bytes, &count) || count == 0)
        return "its head is damaged";
    const char *what = check_nodes(page, place, count, is_leaf, begins);
    return what != NULL ? what : check_slots(page, place, count, is_leaf, begins);
}

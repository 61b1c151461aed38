/*
 * harvest_scan.c - rows in pages that no tree leads to, and in images of pages.
 *
 * Such a page is an older one, or the one that a damaged branch led to, or was put in the place of
 * another. Its rows prove themselves by their checksums (evidence.h). A page whose head is damaged
 * is searched for nodes, which begin at even places; so are the free parts of all pages, and what lies
 * behind large values in their last page.
 */
#include "harvest.h"

#include "harvest_nodes.h"
#include "store/tree.h"

#define REPORT_BYTES (UINT64_C(1) << 20)

static bool read_large(larder__harvest *h, const larder__page_node *node, larder__buffer *value) {
    value->size_bytes = 0;
    if (node->value_bytes > LARDER__VALUE_MAX || node->value_bytes > h->pages.file_bytes ||
        node->child >= h->pages.page_count)
        return false;
    if (!larder__buffer_reserve(value, (size_t)node->value_bytes)) {
        larder__harvest_fail_memory(h);
        return false;
    }
    value->size_bytes = (size_t)node->value_bytes;
    return larder__pages_read_value(&h->pages, node->child, value->data, node->value_bytes);
}

static bool take_node(larder__harvest *h, const larder__page_node *node) {
    if (node->is_table || node->key.size_bytes == 0 || node->value_bytes == 0) return false;
    if (node->child == LARDER__PAGE_NONE)
        return larder__harvest_take_proved(h, node->key, node->value,
                                           larder__harvest_grade_of_pages(h));
    larder__buffer value = {.allocator = h->allocator};
    bool is_taken =
        read_large(h, node, &value) &&
        larder__harvest_take_proved(h, node->key, larder__bytes(value.data, value.size_bytes),
                                    larder__harvest_grade_of_pages(h));
    larder__buffer_free(&value);
    return is_taken;
}

void larder__harvest_search_nodes(larder__harvest *h, const uint8_t *bytes, size_t size_bytes,
                                  size_t step) {
    uint32_t page_bytes = h->pages.page_bytes;
    larder__page_node node;
    uint8_t *copy = larder__allocate(h->allocator, 2 * (size_t)page_bytes);
    if (copy == NULL) {
        larder__harvest_fail_memory(h);
        return;
    }
    /* Nodes are read from an even place behind a page's head, whatever place they have here. */
    for (size_t at = 0; at + 16 <= size_bytes && larder__harvest_goes_on(h); at += step) {
        const uint8_t *from = bytes + at;
        uint16_t flags = larder__load16(from + 4), key_bytes = larder__load16(from + 6);
        if (flags > 1 || key_bytes == 0 || key_bytes > LARDER__KEY_MAX) continue;
        size_t rest = size_bytes - at;
        if (rest > page_bytes - LARDER__PAGE_HEAD) rest = page_bytes - LARDER__PAGE_HEAD;
        memcpy(copy + LARDER__PAGE_HEAD, from, rest);
        if (larder__page_node_from(copy, (uint32_t)(LARDER__PAGE_HEAD + rest), true,
                                   LARDER__PAGE_HEAD, &node))
            take_node(h, &node);
    }
    larder__release(h->allocator, copy);
}

/* Between its slots and its nodes a page has what its memory held before: nodes of others, too. */
static void search_free_part(larder__harvest *h, const uint8_t *bytes) {
    uint32_t from, to;
    if (larder__page_free_part(bytes, h->pages.page_bytes, &from, &to))
        larder__harvest_search_nodes(h, bytes + from, to - from, 2);
}

/* A page or an image of one. */
static void take_page(larder__harvest *h, const uint8_t *bytes) {
    uint32_t page_bytes = h->pages.page_bytes;
    larder__page_node node;
    size_t count = 0;
    bool is_sound = larder__page_kind_anywhere(bytes) == LARDER__PAGE_LEAF &&
                    larder__page_count_nodes(bytes, page_bytes, &count);
    for (size_t i = 0; i < count && is_sound && larder__harvest_goes_on(h); i++) {
        is_sound = larder__page_node_at(bytes, page_bytes, true, i, &node);
        /* Rows of some tables prove nothing, and are fine. */
        if (is_sound && node.value_bytes > 0 && !node.is_table) is_sound = take_node(h, &node);
    }
    if (is_sound)
        search_free_part(h, bytes);
    else
        larder__harvest_search_nodes(h, bytes + LARDER__PAGE_HEAD, page_bytes - LARDER__PAGE_HEAD,
                                     2);
}

/* Whether a row that is found here can be one that the trees do not have. */
static bool is_needed(const larder__harvest *h) {
    if (!h->has_base || !h->is_base_last || h->has_missed) return true;
    for (int t = 0; t < LARDER__TABLE_COUNT; t++)
        if (h->lost[t].is_all || h->lost[t].ranges.size_bytes > 0) return true;
    return false;
}

/* A page of a value has behind it what its memory held before, as others in their free part. */
static void search_tails(larder__harvest *h, uint8_t *bytes) {
    uint32_t page_bytes = h->pages.page_bytes;
    for (size_t i = 0; i < h->tails.size_bytes / sizeof(uint64_t); i++) {
        uint64_t place = larder__load64(h->tails.data + i * sizeof(uint64_t));
        size_t from = (size_t)(place % page_bytes + place % 2);
        if (from > 0 && from < page_bytes &&
            larder__pages_read(&h->pages, place / page_bytes, bytes))
            larder__harvest_search_nodes(h, bytes + from, page_bytes - from, 2);
    }
}

void larder__harvest_scan(larder__harvest *h) {
    uint64_t unreported = 0;
    if (!is_needed(h)) {
        larder__harvest_report(h, h->pages.file_bytes);
        return;
    }
    uint8_t *bytes = larder__allocate(h->allocator, h->pages.page_bytes);
    if (bytes == NULL) {
        larder__harvest_fail_memory(h);
        return;
    }
    for (uint64_t page = 0; page < h->pages.page_count && larder__harvest_goes_on(h); page++) {
        bool is_seen = larder__page_is_marked(h->seen, page);
        unreported += h->pages.page_bytes;
        if (!larder__pages_read(&h->pages, page, bytes)) continue;
        larder__page_kind kind = larder__page_kind_of(bytes, page);
        if (kind == LARDER__PAGE_BRANCH || (kind == LARDER__PAGE_LEAF && is_seen))
            search_free_part(h, bytes);
        else if (!is_seen && kind != LARDER__PAGE_META)
            take_page(h, bytes);
        if (unreported >= REPORT_BYTES || page + 1 == h->pages.page_count) {
            larder__harvest_report(h, unreported);
            unreported = 0;
        }
    }
    search_tails(h, bytes);
    larder__release(h->allocator, bytes);
    larder__harvest_each_image(h, take_page);
}

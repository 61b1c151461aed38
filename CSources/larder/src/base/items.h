/*
 * items.h - many short byte strings in one arena, sorted by memcmp: the index entries of a
 * document or of a back-fill step, the members of a document set.
 *
 *     bytes   all strings, one after the other
 *     list    for each string: where it begins, its size, and 8 of its bytes as a number
 *
 * The 8 bytes are those behind what all sorted strings share, so that most comparisons need one
 * number each. Buffers are kept by larder__items_clear: nothing is allocated in steady state.
 */
#ifndef LARDER_ITEMS_H
#define LARDER_ITEMS_H

#include "bytes.h"

typedef struct larder__item {
    uint64_t head;
    uint32_t offset;
    uint16_t size_bytes;
    uint16_t mark; /* the owner's */
} larder__item;

typedef struct larder__items {
    larder__buffer bytes;
    larder__buffer list;    /* larder__item each */
    larder__buffer scratch; /* of the sort */
} larder__items;

void larder__items_init(larder__items *items, const larder_allocator *allocator);
void larder__items_free(larder__items *items);
static inline void larder__items_clear(larder__items *items) {
    items->bytes.size_bytes = 0;
    items->list.size_bytes = 0;
}
static inline size_t larder__items_count(const larder__items *items) {
    return items->list.size_bytes / sizeof(larder__item);
}
static inline larder__item *larder__items_at(const larder__items *items, size_t position) {
    return (larder__item *)(void *)items->list.data + position;
}
static inline larder_bytes larder__items_get(const larder__items *items, size_t position) {
    const larder__item *item = larder__items_at(items, position);
    return larder__bytes(items->bytes.data + item->offset, item->size_bytes);
}
/* Makes an item of what was appended to items->bytes from offset on (at most 65,535 bytes).
 * False, and nothing added, when there is no memory. */
bool larder__items_push(larder__items *items, size_t offset, uint16_t mark);
/* Copies one string in. */
bool larder__items_add(larder__items *items, larder_bytes bytes, uint16_t mark);
/* Forgets the items from position on. */
void larder__items_truncate(larder__items *items, size_t count);
/* Sorts the items from position on and keeps one of those that are alike. False, and nothing
 * changed, when there is no memory. */
bool larder__items_sort(larder__items *items, size_t from);

#endif

/*
 * sort.c - heap sort for items of any small size.
 *
 * Items are a binary heap: the children of i are 2i + 1 and 2i + 2, none above its parent. At
 * worst n log n comparisons whatever the input, which strangers may choose; the C library's
 * qsort promises no such bound and takes no context.
 */
#include "bytes.h"

#include <assert.h>

enum { ITEM_MAX = 64 };

/* Sinks the item at root to its place in a heap of count items. */
static void sink(uint8_t *items, size_t root, size_t count, size_t size,
                 larder__compare_function compare, const void *context) {
    uint8_t held[ITEM_MAX];
    memcpy(held, items + root * size, size);
    size_t child;
    while ((child = 2 * root + 1) < count) {
        if (child + 1 < count &&
            compare(items + child * size, items + (child + 1) * size, context) < 0)
            child++;
        if (compare(held, items + child * size, context) >= 0) break;
        memcpy(items + root * size, items + child * size, size);
        root = child;
    }
    memcpy(items + root * size, held, size);
}

void larder__sort(void *items, size_t count, size_t item_bytes, larder__compare_function compare,
                  const void *context) {
    assert(item_bytes <= ITEM_MAX);
    uint8_t *base = items;
    for (size_t i = count / 2; i > 0; i--)
        sink(base, i - 1, count, item_bytes, compare, context);
    for (size_t left = count; left > 1; left--) {
        uint8_t held[ITEM_MAX];
        uint8_t *last = base + (left - 1) * item_bytes;
        memcpy(held, last, item_bytes);
        memcpy(last, base, item_bytes);
        memcpy(base, held, item_bytes);
        sink(base, 0, left - 1, item_bytes, compare, context);
    }
}

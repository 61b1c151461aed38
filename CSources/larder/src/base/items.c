/*
 * items.c - byte strings in one arena: a merge sort that looks at 8 bytes first.
 *
 * Rejected: qsort, whose comparison has no way to the arena; pointers instead of offsets, which
 * die when the arena grows.
 */
#include "items.h"

enum { INSERTION_RUN = 12 };

void larder__items_init(larder__items *items, const larder_allocator *allocator) {
    memset(items, 0, sizeof *items);
    items->bytes.allocator = allocator;
    items->list.allocator = allocator;
    items->scratch.allocator = allocator;
}

void larder__items_free(larder__items *items) {
    larder__buffer_free(&items->bytes);
    larder__buffer_free(&items->list);
    larder__buffer_free(&items->scratch);
}

bool larder__items_push(larder__items *items, size_t offset, uint16_t mark) {
    size_t size_bytes = items->bytes.size_bytes - offset;
    if (size_bytes > UINT16_MAX || items->bytes.size_bytes > UINT32_MAX) return false;
    larder__item item = {0, (uint32_t)offset, (uint16_t)size_bytes, mark};
    return larder__buffer_append(&items->list, &item, sizeof item);
}

bool larder__items_add(larder__items *items, larder_bytes bytes, uint16_t mark) {
    size_t offset = items->bytes.size_bytes;
    if (!larder__buffer_append(&items->bytes, bytes.data, bytes.size_bytes)) return false;
    if (larder__items_push(items, offset, mark)) return true;
    items->bytes.size_bytes = offset;
    return false;
}

void larder__items_truncate(larder__items *items, size_t count) {
    if (count < larder__items_count(items)) items->list.size_bytes = count * sizeof(larder__item);
}

/* Compares behind the shared bytes. */
static int compare(const uint8_t *bytes, size_t shared, const larder__item *a,
                   const larder__item *b) {
    if (a->head != b->head) return a->head < b->head ? -1 : 1;
    return larder__bytes_compare(larder__bytes(bytes + a->offset + shared, a->size_bytes - shared),
                                 larder__bytes(bytes + b->offset + shared, b->size_bytes - shared));
}

static size_t shared_bytes(const uint8_t *bytes, const larder__item *list, size_t count) {
    size_t shared = list[0].size_bytes;
    const uint8_t *first = bytes + list[0].offset;
    for (size_t i = 1; i < count && shared > 0; i++) {
        const uint8_t *other = bytes + list[i].offset;
        if (shared > list[i].size_bytes) shared = list[i].size_bytes;
        if (memcmp(first, other, shared) == 0) continue;
        size_t same = 0;
        while (first[same] == other[same])
            same++;
        shared = same;
    }
    return shared;
}

static void set_heads(const uint8_t *bytes, size_t shared, larder__item *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t head[8] = {0};
        size_t size = list[i].size_bytes - shared;
        memcpy(head, bytes + list[i].offset + shared, size < 8 ? size : 8);
        list[i].head = larder__load64_big(head);
    }
}

static void sort_run(const uint8_t *bytes, size_t shared, larder__item *list, size_t count) {
    for (size_t i = 1; i < count; i++) {
        larder__item item = list[i];
        size_t at = i;
        while (at > 0 && compare(bytes, shared, &item, &list[at - 1]) < 0) {
            list[at] = list[at - 1];
            at--;
        }
        list[at] = item;
    }
}

static void merge(const uint8_t *bytes, size_t shared, const larder__item *left, size_t left_count,
                  const larder__item *right, size_t right_count, larder__item *to) {
    size_t l = 0, r = 0;
    while (l < left_count && r < right_count)
        *to++ = compare(bytes, shared, &left[l], &right[r]) <= 0 ? left[l++] : right[r++];
    memcpy(to, left + l, (left_count - l) * sizeof *to);
    memcpy(to + (left_count - l), right + r, (right_count - r) * sizeof *to);
}

static void merge_sort(const uint8_t *bytes, size_t shared, larder__item *list, size_t count,
                       larder__item *scratch) {
    for (size_t at = 0; at < count; at += INSERTION_RUN)
        sort_run(bytes, shared, list + at, count - at < INSERTION_RUN ? count - at : INSERTION_RUN);
    larder__item *from = list, *to = scratch;
    for (size_t width = INSERTION_RUN; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t left = count - at < width ? count - at : width;
            size_t right = count - at - left < width ? count - at - left : width;
            merge(bytes, shared, from + at, left, from + at + left, right, to + at);
        }
        larder__item *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, count * sizeof *list);
}

bool larder__items_sort(larder__items *items, size_t from) {
    size_t count = larder__items_count(items);
    if (count <= from + 1) return true;
    larder__item *list = larder__items_at(items, from);
    count -= from;
    const uint8_t *bytes = items->bytes.data;
    size_t shared = shared_bytes(bytes, list, count);
    set_heads(bytes, shared, list, count);
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = compare(bytes, shared, &list[i - 1], &list[i]) <= 0;
    if (!sorted) {
        larder__item *scratch = NULL;
        if (count > INSERTION_RUN) {
            items->scratch.size_bytes = 0;
            if (!larder__buffer_reserve(&items->scratch, count * sizeof *list)) return false;
            scratch = (larder__item *)(void *)items->scratch.data;
        }
        merge_sort(bytes, shared, list, count, scratch);
    }
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (compare(bytes, shared, &list[kept - 1], &list[i]) != 0) list[kept++] = list[i];
    larder__items_truncate(items, from + kept);
    return true;
}

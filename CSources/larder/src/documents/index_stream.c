/* index_stream.c - see index_stream.h. */
#include "index_stream.h"
#include "store/catalog.h"

typedef struct run_item { /* one entry of a run; offsets in the run's bytes */
    size_t rest_at, rest_bytes;
    size_t text_at, text_bytes;
} run_item;

struct larder__index_run {
    larder__buffer bytes, items;
    size_t at;
};

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an index scan");
}

/* ---- bounds ---- */

bool larder__index_range_set(larder__index_range *range, const larder_scan_options *options) {
    size_t size = options->start.size_bytes;
    bool is_cut = size > LARDER__ORDER_MAX;
    larder__key_append(&range->low, options->start.data, is_cut ? LARDER__ORDER_MAX : size);
    if (size > 0 && !is_cut && (options->flags & LARDER_SCAN_START_AFTER) != 0 &&
        !larder__key_successor(&range->low))
        return false;
    size = options->end.size_bytes;
    is_cut = size > LARDER__ORDER_MAX;
    larder__key_append(&range->high, options->end.data, is_cut ? LARDER__ORDER_MAX : size);
    range->has_high = size > 0;
    if (size > 0 && (is_cut || (options->flags & LARDER_SCAN_END_AT) != 0))
        range->has_high = larder__key_successor(&range->high);
    return !range->has_high || larder__bytes_compare(larder__key_bytes(&range->low),
                                                     larder__key_bytes(&range->high)) < 0;
}

/* Whether the row under the cursor belongs to the stream. */
static bool is_inside(const larder__index_range *range, const larder__index_stream *s,
                      larder_bytes key) {
    if (!larder__bytes_has_prefix(key, larder__bytes(s->prefix, s->prefix_bytes))) return false;
    larder_bytes rest =
        larder__bytes(larder__begin(key) + s->prefix_bytes, key.size_bytes - s->prefix_bytes);
    if (range->is_reverse) return larder__bytes_compare(rest, larder__key_bytes(&range->low)) >= 0;
    return !range->has_high || larder__bytes_compare(rest, larder__key_bytes(&range->high)) < 0;
}

int32_t larder__index_stream_place(const larder__index_range *range, larder__index_stream *s,
                                   larder_error *error) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_append(&key, s->prefix, s->prefix_bytes);
    int32_t status;
    if (!range->is_reverse) {
        larder__key_append(&key, range->low.bytes, range->low.size_bytes);
        status = larder__cursor_seek(&s->cursor, larder__key_bytes(&key), error);
    } else {
        if (range->has_high)
            larder__key_append(&key, range->high.bytes, range->high.size_bytes);
        else
            larder__key_successor(&key);
        status = larder__cursor_seek_below(&s->cursor, larder__key_bytes(&key), error);
    }
    if (status == LARDER_OK && !is_inside(range, s, s->cursor.key)) status = LARDER_END;
    s->is_placed = status == LARDER_OK;
    return status;
}

/* ---- runs of long ids ---- */

static void free_run(const larder__index_range *range, larder__index_stream *s) {
    if (s->run == NULL) return;
    larder__buffer_free(&s->run->bytes);
    larder__buffer_free(&s->run->items);
    larder__release(&range->txn->env->allocator, s->run);
    s->run = NULL;
    s->order_bytes = 0;
}

static int compare_runs(const void *left, const void *right, const void *context) {
    const run_item *a = left, *b = right;
    const uint8_t *bytes = context;
    return larder__segment_compare(larder__bytes(bytes + a->text_at, a->text_bytes),
                                   larder__bytes(bytes + b->text_at, b->text_bytes));
}

/* Takes the entry under the cursor apart: OK or E_CORRUPT. */
static int32_t parse(const larder__index_range *range, larder__index_stream *s,
                     larder_error *error) {
    larder_bytes key = s->cursor.key;
    larder_bytes rest =
        larder__bytes(larder__begin(key) + s->prefix_bytes, key.size_bytes - s->prefix_bytes);
    /* Encodings end themselves: what begins with the last order bytes has the same. */
    bool is_same = s->order_bytes > 0 && !s->is_cut && s->cursor.value.size_bytes == 0 &&
                   rest.size_bytes > s->order_bytes &&
                   memcmp(rest.data, s->rest.data, s->order_bytes) == 0;
    if (!is_same) s->order_bytes = larder__index_boundary(&range->row, rest, s->cursor.value);
    s->rest = rest;
    s->is_cut = s->cursor.value.size_bytes > 0;
    if (s->order_bytes > 0 && rest.size_bytes - s->order_bytes <= LARDER__ID_MAX) return LARDER_OK;
    s->order_bytes = 0;
    return larder__corrupt(range->txn, s->cursor.table, key, "a malformed index entry", error);
}

/* Whether the user's overlay takes the place of the current base entry: OK, NOT_FOUND. */
static int32_t find_overlay(const larder__index_range *range, const larder__index_stream *s,
                            larder_error *error) {
    if (!s->checks_overlays || s->is_overlay) return LARDER_NOT_FOUND;
    larder__key key;
    larder_bytes value;
    larder__key_clear(&key);
    larder__key_number(&key, range->user);
    larder__key_number(&key, s->collection);
    larder__key_id(&key, larder__index_stream_id(s));
    return larder__table_get(range->txn, LARDER__OVERLAYS, larder__key_bytes(&key), &value, error);
}

static int32_t add_to_run(const larder__index_range *range, larder__index_stream *s,
                          larder_error *error) {
    char scratch[32];
    larder_bytes text;
    int32_t status = larder__id_text(range->txn, s->collection, larder__index_stream_id(s), scratch,
                                     &text, error);
    if (status != LARDER_OK) return status;
    larder__buffer *bytes = &s->run->bytes;
    run_item item = {bytes->size_bytes, s->rest.size_bytes, bytes->size_bytes + s->rest.size_bytes,
                     text.size_bytes};
    if (!larder__buffer_append(bytes, s->rest.data, s->rest.size_bytes) ||
        !larder__buffer_append(bytes, text.data, text.size_bytes) ||
        !larder__buffer_append(&s->run->items, &item, sizeof item))
        return no_memory(error);
    return LARDER_OK;
}

static int32_t move(const larder__index_range *range, larder__index_stream *s,
                    larder_error *error) {
    return range->is_reverse ? larder__cursor_previous(&s->cursor, error)
                             : larder__cursor_next(&s->cursor, error);
}

/* Gathers the run that the current entry begins. A damaged entry in it is logged and left out. */
static int32_t gather(const larder__index_range *range, larder__index_stream *s,
                      larder_error *error) {
    const larder_allocator *allocator = &range->txn->env->allocator;
    larder__key head;
    larder__key_clear(&head);
    larder__key_append(&head, s->prefix, s->prefix_bytes);
    larder__key_append(&head, s->rest.data, s->order_bytes + LARDER__ID_HEAD);
    s->run = larder__allocate(allocator, sizeof *s->run);
    if (s->run == NULL) return no_memory(error);
    memset(s->run, 0, sizeof *s->run);
    s->run->bytes.allocator = s->run->items.allocator = allocator;
    size_t order_bytes = s->order_bytes;
    int32_t status = LARDER_OK;
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(s->cursor.key, larder__key_bytes(&head)) &&
           is_inside(range, s, s->cursor.key)) {
        status = parse(range, s, NULL);
        if (status == LARDER_OK) {
            status = find_overlay(range, s, error);
            if (status == LARDER_NOT_FOUND) status = add_to_run(range, s, error);
        }
        if (status != LARDER_OK && status != LARDER_E_CORRUPT) return status;
        status = move(range, s, error);
    }
    if (status < 0) return status;
    s->is_placed = status == LARDER_OK;
    s->order_bytes = order_bytes;
    larder__sort(s->run->items.data, s->run->items.size_bytes / sizeof(run_item), sizeof(run_item),
                 compare_runs, s->run->bytes.data);
    return LARDER_OK;
}

/* The run's next entry, in scan order; false when it is through. */
static bool take_from_run(const larder__index_range *range, larder__index_stream *s) {
    size_t count = s->run->items.size_bytes / sizeof(run_item);
    if (s->run->at == count) return false;
    size_t at = range->is_reverse ? count - 1 - s->run->at : s->run->at;
    s->run->at++;
    run_item item;
    memcpy(&item, s->run->items.data + at * sizeof item, sizeof item);
    s->rest = larder__bytes(s->run->bytes.data + item.rest_at, item.rest_bytes);
    return true;
}

/* ---- streams ---- */

int32_t larder__index_stream_next(const larder__index_range *range, larder__index_stream *s,
                                  larder_error *error) {
    for (;;) {
        if (s->run != NULL) {
            if (take_from_run(range, s)) return LARDER_OK;
            free_run(range, s);
            if (!s->is_placed) return LARDER_END;
        }
        int32_t status = s->is_placed ? LARDER_OK : move(range, s, error);
        s->is_placed = false;
        if (status != LARDER_OK) return status;
        if (!is_inside(range, s, s->cursor.key)) return LARDER_END;
        status = parse(range, s, error);
        if (status != LARDER_OK) return status;
        if (larder__index_stream_id(s).size_bytes > LARDER__ID_HEAD) {
            status = gather(range, s, error);
            if (status != LARDER_OK) return status;
            continue;
        }
        status = find_overlay(range, s, error);
        if (status < 0) return status;
        if (status == LARDER_NOT_FOUND) return LARDER_OK;
    }
}

void larder__index_stream_close(const larder__index_range *range, larder__index_stream *s) {
    larder__cursor_close(&s->cursor);
    free_run(range, s);
}

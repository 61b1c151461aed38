/*
 * index_scan.c - documents in the order of an index.
 *
 * A scan of one collection has one stream (index_stream.h); a group, a stream for each collection
 * that has entries in the bounds; a local view, further ones for overlays. A heap merges them, by
 * order bytes and then by document name. Everything is allocated when the scan is opened, but for
 * runs of long ids.
 */
#include "index_stream.h"
#include "store/catalog.h"

typedef larder__index_stream stream;

typedef struct member { /* a collection of the group */
    uint64_t collection;
    larder_bytes path;
    int32_t nested_end;
} member;

typedef struct index_scan {
    larder_scan base;
    larder__index_range range;
    larder__buffer members;
    larder__buffer streams;
    larder__buffer heap; /* positions of streams, the first entry in scan order on top */
    bool is_given;       /* the top was given */
    larder_error damage; /* met at opening, reported at the first call */
} index_scan;

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an index scan");
}

static stream *stream_at(const index_scan *scan, size_t position) {
    return (stream *)(void *)scan->streams.data + position;
}
static size_t stream_count(const index_scan *scan) {
    return scan->streams.size_bytes / sizeof(stream);
}

/* ---- order of entries ---- */

static int compare_ids(const index_scan *scan, const stream *a, const stream *b) {
    larder_bytes left = larder__index_stream_id(a), right = larder__index_stream_id(b);
    if (left.size_bytes <= LARDER__ID_HEAD || right.size_bytes <= LARDER__ID_HEAD ||
        memcmp(left.data, right.data, LARDER__ID_HEAD) != 0)
        return larder__bytes_compare(left, right);
    char left_scratch[32], right_scratch[32];
    larder_bytes left_text, right_text;
    if (larder__id_text(scan->base.txn, a->collection, left, left_scratch, &left_text, NULL) !=
            LARDER_OK ||
        larder__id_text(scan->base.txn, b->collection, right, right_scratch, &right_text, NULL) !=
            LARDER_OK)
        return larder__bytes_compare(left, right);
    return larder__segment_compare(left_text, right_text);
}

/* Names of outer's current document and of a document in inner, a collection that lies below a
 * document of outer's collection. */
static int compare_nested(const index_scan *scan, const stream *outer, const stream *inner) {
    const uint8_t *rest = larder__begin(inner->path) + outer->path.size_bytes + 1;
    size_t size = inner->path.size_bytes - outer->path.size_bytes - 1;
    const uint8_t *slash = memchr(rest, '/', size);
    larder_bytes segment = larder__bytes(rest, slash == NULL ? size : (size_t)(slash - rest));
    larder_bytes text;
    char scratch[32];
    if (larder__id_text(scan->base.txn, outer->collection, larder__index_stream_id(outer), scratch,
                        &text, NULL) != LARDER_OK)
        return -1;
    return larder__segment_compare(text, segment) <= 0 ? -1 : 1;
}

static bool comes_before(const index_scan *scan, int32_t left, int32_t right) {
    const stream *a = stream_at(scan, (size_t)left), *b = stream_at(scan, (size_t)right);
    int order = larder__bytes_compare(larder__index_stream_order(a), larder__index_stream_order(b));
    if (order == 0) {
        if (a->rank == b->rank)
            order = compare_ids(scan, a, b);
        else if (a->rank < b->rank)
            order = b->rank < a->nested_end ? compare_nested(scan, a, b) : -1;
        else
            order = a->rank < b->nested_end ? -compare_nested(scan, b, a) : 1;
    }
    return scan->range.is_reverse ? order > 0 : order < 0;
}

/* ---- heap ---- */

static int32_t *heap_of(const index_scan *scan) { return (int32_t *)(void *)scan->heap.data; }
static size_t heap_count(const index_scan *scan) { return scan->heap.size_bytes / sizeof(int32_t); }

static void sink(const index_scan *scan, size_t root) {
    int32_t *heap = heap_of(scan);
    size_t count = heap_count(scan), child;
    int32_t held = heap[root];
    while ((child = 2 * root + 1) < count) {
        if (child + 1 < count && comes_before(scan, heap[child + 1], heap[child])) child++;
        if (!comes_before(scan, heap[child], held)) break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = held;
}

static void pop_top(index_scan *scan) {
    int32_t *heap = heap_of(scan);
    size_t count = heap_count(scan);
    larder__cursor_close(&stream_at(scan, (size_t)heap[0])->cursor);
    heap[0] = heap[count - 1];
    scan->heap.size_bytes -= sizeof(int32_t);
    if (count > 1) sink(scan, 0);
}

/* ---- giving documents ---- */

static int32_t read_document(const index_scan *scan, const stream *s, larder_document *document,
                             larder_error *error) {
    const larder_txn *txn = scan->base.txn;
    int32_t status = s->is_overlay
                         ? larder__overlay_read(txn, scan->range.user, s->collection,
                                                larder__index_stream_id(s), document, error)
                         : larder__document_read(txn, s->collection, larder__index_stream_id(s),
                                                 document, error);
    if (status < 0 || (status == LARDER_OK && document->state == LARDER_DOCUMENT_FOUND))
        return status;
    larder__key key;
    larder__key_clear(&key);
    larder__key_append(&key, s->prefix, s->prefix_bytes);
    larder__key_append(&key, s->rest.data, s->rest.size_bytes);
    return larder__corrupt(txn, s->cursor.table, larder__key_bytes(&key),
                           "an index entry whose document is not there", error);
}

static int32_t next_entry(larder_scan *base, larder_document *document, larder_error *error) {
    index_scan *scan = (index_scan *)base;
    if (scan->damage.status != LARDER_OK) {
        int32_t status = scan->damage.status;
        if (error != NULL) *error = scan->damage;
        scan->damage.status = LARDER_OK;
        return status;
    }
    if (scan->is_given) {
        int32_t status = larder__index_stream_next(
            &scan->range, stream_at(scan, (size_t)heap_of(scan)[0]), error);
        if (status < 0) return status;
        if (status == LARDER_END)
            pop_top(scan);
        else if (heap_count(scan) > 1)
            sink(scan, 0);
        scan->is_given = false;
    }
    if (heap_count(scan) == 0) return LARDER_END;
    const stream *s = stream_at(scan, (size_t)heap_of(scan)[0]);
    scan->is_given = true;
    if ((base->flags & LARDER_SCAN_KEYS_ONLY) != 0) {
        memset(document, 0, sizeof *document);
    } else {
        int32_t status = read_document(scan, s, document, error);
        if (status != LARDER_OK) return status;
    }
    base->collection = s->collection;
    base->collection_path = s->path;
    return larder__scan_name(base, s->collection, larder__index_stream_id(s), document, error);
}

static int32_t last_entry(const larder_scan *base, larder_bytes *order_bytes) {
    const index_scan *scan = (const index_scan *)base;
    if (!scan->is_given || heap_count(scan) == 0) return LARDER_NOT_FOUND;
    *order_bytes = larder__index_stream_order(stream_at(scan, (size_t)heap_of(scan)[0]));
    return LARDER_OK;
}

/* ---- opening ---- */

static void close_scan(larder_scan *base) {
    index_scan *scan = (index_scan *)base;
    for (size_t i = 0; i < stream_count(scan); i++)
        larder__index_stream_close(&scan->range, stream_at(scan, i));
    larder__buffer_free(&scan->members);
    larder__buffer_free(&scan->streams);
    larder__buffer_free(&scan->heap);
}

static member *member_at(const index_scan *scan, size_t position) {
    return (member *)(void *)scan->members.data + position;
}

static int32_t add_member(index_scan *scan, uint64_t collection, larder_error *error) {
    member added = {.collection = collection};
    int32_t status = larder__collection_info(scan->base.txn, collection, &added.path, NULL, error);
    if (status != LARDER_OK) return status;
    return larder__buffer_append(&scan->members, &added, sizeof added) ? LARDER_OK
                                                                       : no_memory(error);
}

static int compare_members(const void *left, const void *right, const void *context) {
    (void)context;
    return larder__path_compare(((const member *)left)->path, ((const member *)right)->path);
}

/* Puts the collections in path order and finds those that lie below documents of others. */
static void order_members(index_scan *scan) {
    size_t count = scan->members.size_bytes / sizeof(member);
    /* Paths whose keys were cut are in hash order. */
    for (size_t i = 1; i < count; i++)
        if (compare_members(member_at(scan, i - 1), member_at(scan, i), NULL) > 0) {
            larder__sort(scan->members.data, count, sizeof(member), compare_members, NULL);
            break;
        }
    for (size_t i = count; i-- > 0;) {
        member *outer = member_at(scan, i);
        size_t end = i + 1;
        while (end < count) {
            const larder_bytes inner = member_at(scan, end)->path;
            if (inner.size_bytes <= outer->path.size_bytes ||
                !larder__bytes_has_prefix(inner, outer->path) ||
                larder__begin(inner)[outer->path.size_bytes] != '/')
                break;
            end = (size_t)member_at(scan, end)->nested_end;
        }
        outer->nested_end = (int32_t)end;
    }
}

static int32_t list_group(index_scan *scan, larder_bytes group, larder_error *error) {
    uint64_t number, collection;
    int32_t status = larder__group_find(scan->base.txn, group, &number, error);
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    larder__cursor cursor = {0};
    while ((status = larder__group_next(scan->base.txn, number, &cursor, &collection, error)) ==
           LARDER_OK) {
        status = add_member(scan, collection, error);
        if (status != LARDER_OK) break;
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* Makes a stream of the probe when it has an entry, which takes over its cursor. */
static int32_t add_stream(index_scan *scan, stream *probe, larder_error *error) {
    const larder_txn *txn = scan->base.txn;
    larder__table table = probe->is_overlay ? LARDER__OVERLAY_ENTRIES : LARDER__INDEX_ENTRIES;
    larder__key prefix;
    larder__index_prefix(&prefix, probe->is_overlay ? &scan->range.user : NULL,
                         scan->range.index_id, probe->collection);
    memcpy(probe->prefix, prefix.bytes, prefix.size_bytes);
    probe->prefix_bytes = (uint8_t)prefix.size_bytes;
    probe->order_bytes = 0;
    int32_t status = LARDER_OK;
    if (probe->cursor.mdb == NULL || probe->cursor.table != table) {
        larder__cursor_close(&probe->cursor);
        status = larder__cursor_open(txn, table, &probe->cursor, error);
    }
    if (status == LARDER_OK) status = larder__index_stream_place(&scan->range, probe, error);
    if (status != LARDER_OK) return status == LARDER_END ? LARDER_OK : status;
    int32_t position = (int32_t)stream_count(scan);
    if (!larder__buffer_append(&scan->streams, probe, sizeof *probe)) return no_memory(error);
    probe->cursor.mdb = NULL;
    stream *added = stream_at(scan, (size_t)position);
    do {
        status = larder__index_stream_next(&scan->range, added, &scan->damage);
    } while (status == LARDER_E_CORRUPT);
    if (status < 0) {
        if (error != NULL) *error = scan->damage;
        return status;
    }
    if (status == LARDER_END) {
        larder__cursor_close(&added->cursor);
        return LARDER_OK;
    }
    return larder__buffer_append(&scan->heap, &position, sizeof position) ? LARDER_OK
                                                                          : no_memory(error);
}

/* Whether the user has an overlay in a collection: OK, NOT_FOUND. */
static int32_t find_overlays(const index_scan *scan, uint64_t collection, larder__cursor *cursor,
                             larder_error *error) {
    if (!scan->range.has_user) return LARDER_NOT_FOUND;
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, scan->range.user);
    larder__key_number(&key, collection);
    int32_t status = LARDER_OK;
    if (cursor->mdb == NULL)
        status = larder__cursor_open(scan->base.txn, LARDER__OVERLAYS, cursor, error);
    if (status == LARDER_OK) status = larder__cursor_seek(cursor, larder__key_bytes(&key), error);
    if (status < 0) return status;
    return status == LARDER_OK && larder__bytes_has_prefix(cursor->key, larder__key_bytes(&key))
               ? LARDER_OK
               : LARDER_NOT_FOUND;
}

static int32_t open_streams(index_scan *scan, larder_error *error) {
    larder__cursor overlays = {0};
    stream base_probe = {0}, overlay_probe = {.is_overlay = true};
    size_t count = scan->members.size_bytes / sizeof(member);
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < count && status == LARDER_OK; i++) {
        const member *m = member_at(scan, i);
        base_probe.collection = overlay_probe.collection = m->collection;
        base_probe.path = overlay_probe.path = m->path;
        base_probe.rank = overlay_probe.rank = (int32_t)i;
        base_probe.nested_end = overlay_probe.nested_end = m->nested_end;
        int32_t found = find_overlays(scan, m->collection, &overlays, error);
        status = found < 0 ? found : LARDER_OK;
        base_probe.checks_overlays = found == LARDER_OK;
        if (status == LARDER_OK) status = add_stream(scan, &base_probe, error);
        if (status == LARDER_OK && found == LARDER_OK)
            status = add_stream(scan, &overlay_probe, error);
    }
    larder__cursor_close(&overlays);
    larder__cursor_close(&base_probe.cursor);
    larder__cursor_close(&overlay_probe.cursor);
    if (status != LARDER_OK) return status;
    for (size_t i = heap_count(scan) / 2; i-- > 0;)
        sink(scan, i);
    return LARDER_OK;
}

static int32_t open_scan(index_scan *scan, larder_bytes group, uint64_t collection,
                         const larder_scan_options *options, larder_error *error) {
    if (!larder__index_range_set(&scan->range, options)) return LARDER_OK;
    int32_t status =
        collection != 0 ? add_member(scan, collection, error) : list_group(scan, group, error);
    if (status != LARDER_OK) return status;
    order_members(scan);
    return open_streams(scan, error);
}

/* The numbers that the options and the collection name: OK, or NOT_FOUND when the store has no
 * such collection, so that nothing can be found. */
static int32_t find_names(const larder_txn *txn, larder_bytes collection_path, larder_bytes group,
                          const larder_scan_options *options, uint64_t *collection, bool *has_user,
                          uint64_t *user, larder_error *error) {
    *has_user = false;
    *collection = 0;
    if ((options->flags & LARDER_SCAN_LOCAL_VIEW) != 0) {
        int32_t status = larder__user_find(txn, options->user, user, error);
        if (status < 0) return status;
        *has_user = status == LARDER_OK;
    }
    if (collection_path.size_bytes == 0) return LARDER_OK;
    int32_t status = larder__collection_find(txn, collection_path, collection, error);
    if (status < 0) return status;
    if (!larder__bytes_equal(larder__path_last(collection_path), group))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "the index is of another collection group");
    return status;
}

int32_t larder_index_scan(const larder_txn *txn, uint32_t index_id, larder_bytes collection_path,
                          const larder_scan_options *options, larder_scan **scan,
                          larder_error *error) {
    larder_scan_options checked;
    larder__index_row row;
    uint64_t collection, user = 0;
    bool has_user;
    int32_t status = larder__scan_check_open(txn, scan, error);
    if (status == LARDER_OK) status = larder__scan_options(options, &checked, error);
    if (status == LARDER_OK) status = larder__index_read(txn, index_id, &row, error);
    if (status != LARDER_OK) return status;
    int32_t found =
        find_names(txn, collection_path, row.group, &checked, &collection, &has_user, &user, error);
    if (found < 0) return found;
    larder_scan *base;
    status = larder__scan_create(txn, sizeof(index_scan), options, &base, error);
    if (status != LARDER_OK) return status;
    index_scan *created = (index_scan *)base;
    const larder_allocator *allocator = &txn->env->allocator;
    created->members.allocator = allocator;
    created->streams.allocator = created->heap.allocator = allocator;
    created->range.txn = txn;
    created->range.is_reverse = (checked.flags & LARDER_SCAN_REVERSE) != 0;
    created->range.index_id = index_id;
    created->range.row = row;
    created->range.has_user = has_user;
    created->range.user = user;
    base->next = next_entry;
    base->close = close_scan;
    base->entry = last_entry;
    if (found == LARDER_OK) status = open_scan(created, row.group, collection, &checked, error);
    if (status != LARDER_OK) {
        larder_scan_close(base);
        return status;
    }
    *scan = base;
    return LARDER_OK;
}

int32_t larder_index_scan_entry(const larder_scan *scan, larder_bytes *order_bytes,
                                larder_error *error) {
    if (scan == NULL || order_bytes == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan or order_bytes is NULL");
    int32_t status = larder__scan_check(scan, error);
    if (status != LARDER_OK) return status;
    if (scan->entry == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "not a scan of an index");
    return scan->entry(scan, order_bytes);
}

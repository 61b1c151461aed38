/*
 * scan_group.c - the documents of a collection group in name order.
 *
 * Names are given in path order over all collections of the group. A collection that lies below
 * a document of another one of the same group ("nested": a/1/a below a) comes between that
 * document and the next. The collections are listed once, in path order, each with its nearest
 * enclosing one; the scan keeps a stack of the streams that enclose the current document.
 */
#include "scan.h"
#include "store/catalog.h"

#include <stdlib.h>

typedef struct member { /* one collection of the group, in path order */
    uint64_t collection;
    larder_bytes path;
    int32_t parent; /* the nearest enclosing member, or -1 */
    int32_t end;    /* the first member behind those it encloses */
} member;

typedef struct frame { /* a collection being given */
    larder__stream stream;
    int32_t member;
    int32_t child;  /* the enclosed member that comes next in scan order, or -1 */
    bool is_peeked; /* the stream stands on a document that was not given yet */
    bool is_done;
} frame;

typedef struct group_scan {
    larder_scan base;
    larder__ahead ahead;
    larder_scan_options options;
    larder_bytes start, end; /* copies of the bounds */
    uint64_t user;
    member *members;
    int32_t member_count, member_capacity;
    int32_t next_root; /* in scan order; -1 or member_count when through */
    frame **frames;
    int32_t frame_count, frame_capacity;
} group_scan;

static const larder_allocator *allocator_of(const group_scan *scan) {
    return &scan->base.txn->env->allocator;
}

static bool encloses(larder_bytes outer, larder_bytes inner) {
    return inner.size_bytes > outer.size_bytes && larder__bytes_has_prefix(inner, outer) &&
           larder__begin(inner)[outer.size_bytes] == '/';
}

static int by_path(const void *a, const void *b) {
    return larder__path_compare(((const member *)a)->path, ((const member *)b)->path);
}

static int32_t add_member(group_scan *scan, uint64_t collection, larder_error *error) {
    if (scan->member_count == scan->member_capacity) {
        int32_t capacity = scan->member_capacity == 0 ? 16 : 2 * scan->member_capacity;
        member *grown = larder__allocate(allocator_of(scan), (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a group's collections");
        if (scan->member_count > 0)
            memcpy(grown, scan->members, (size_t)scan->member_count * sizeof *grown);
        larder__release(allocator_of(scan), scan->members);
        scan->members = grown;
        scan->member_capacity = capacity;
    }
    member *added = &scan->members[scan->member_count];
    int32_t status = larder__collection_info(scan->base.txn, collection, &added->path, NULL, error);
    if (status != LARDER_OK) return status;
    added->collection = collection;
    scan->member_count++;
    return LARDER_OK;
}

static int32_t list_members(group_scan *scan, uint64_t group, larder_error *error) {
    larder__cursor cursor = {0};
    uint64_t collection;
    int32_t status;
    while ((status = larder__group_next(scan->base.txn, group, &cursor, &collection, error)) ==
           LARDER_OK) {
        status = add_member(scan, collection, error);
        if (status != LARDER_OK) break;
    }
    larder__cursor_close(&cursor);
    if (status != LARDER_END) return status;
    /* Paths beyond 400 bytes may lie in hash order. */
    if (scan->member_count > 1)
        qsort(scan->members, (size_t)scan->member_count, sizeof *scan->members, by_path);
    for (int32_t i = 0; i < scan->member_count; i++) {
        int32_t parent = i - 1;
        while (parent >= 0 && !encloses(scan->members[parent].path, scan->members[i].path))
            parent = scan->members[parent].parent;
        scan->members[i].parent = parent;
        scan->members[i].end = i + 1;
        for (int32_t p = parent; p >= 0; p = scan->members[p].parent)
            scan->members[p].end = i + 1;
    }
    return LARDER_OK;
}

/* The meaning of a bound (a document name) inside one collection: everything lies before (-1) or
 * behind it (1), or it is the id in *id (0). */
static int bound_in(larder_bytes path, larder_bytes bound, larder_bytes *id, bool *is_below) {
    larder_bytes collection, last;
    larder__name_split(bound, &collection, &last);
    *is_below = false;
    if (larder__bytes_equal(path, collection)) {
        *id = last;
        return 0;
    }
    if (encloses(path, bound)) { /* the bound lies below a document of this collection */
        const uint8_t *rest = larder__begin(bound) + path.size_bytes + 1;
        size_t size = bound.size_bytes - path.size_bytes - 1;
        const uint8_t *slash = memchr(rest, '/', size);
        *id = larder__bytes(rest, slash == NULL ? size : (size_t)(slash - rest));
        *is_below = slash != NULL;
        return 0;
    }
    return larder__path_compare(path, bound);
}

/* Opens the stream of a member with the bounds that hold in it. *is_empty: nothing can match. */
static int32_t open_member(group_scan *scan, const member *m, larder__stream *stream,
                           bool *is_empty, larder_error *error) {
    larder_scan_options o = scan->options;
    larder_bytes start = {0}, end = {0};
    bool is_below;
    *is_empty = false;
    if (scan->start.size_bytes > 0) {
        int order = bound_in(m->path, scan->start, &start, &is_below);
        if (order < 0) *is_empty = true;
        /* The document above the bound comes before the bound. */
        if (is_below) o.flags |= LARDER_SCAN_START_AFTER;
    }
    if (scan->end.size_bytes > 0) {
        int order = bound_in(m->path, scan->end, &end, &is_below);
        if (order > 0) *is_empty = true;
        if (is_below) o.flags |= LARDER_SCAN_END_AT;
    }
    if (*is_empty) return LARDER_OK;
    return larder__stream_open(stream, scan->base.txn, m->collection, scan->user, &o, start, end,
                               error);
}

/* The first, or in reverse the last, member directly enclosed by parent within [from, end). */
static int32_t first_child(const group_scan *scan, int32_t parent, int32_t from, int32_t end,
                           bool is_reverse) {
    if (from >= end) return -1;
    if (!is_reverse) return from;
    int32_t child = end - 1;
    while (scan->members[child].parent != parent)
        child = scan->members[child].parent;
    return child;
}

static int32_t child_behind(const group_scan *scan, int32_t parent, int32_t child,
                            bool is_reverse) {
    int32_t end = scan->members[parent].end;
    if (!is_reverse) return first_child(scan, parent, scan->members[child].end, end, false);
    return first_child(scan, parent, parent + 1, child, true);
}

static int32_t push(group_scan *scan, int32_t m, larder_error *error) {
    if (scan->frame_count == scan->frame_capacity) {
        int32_t capacity = scan->frame_capacity + 8;
        frame **grown = larder__allocate(allocator_of(scan), (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a group scan");
        if (scan->frame_count > 0)
            memcpy(grown, scan->frames, (size_t)scan->frame_count * sizeof *grown);
        larder__release(allocator_of(scan), scan->frames);
        scan->frames = grown;
        scan->frame_capacity = capacity;
    }
    frame *f = larder__allocate(allocator_of(scan), sizeof *f);
    if (f == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a group scan");
    memset(f, 0, sizeof *f);
    bool is_reverse = (scan->base.flags & LARDER_SCAN_REVERSE) != 0;
    f->member = m;
    f->child = first_child(scan, m, m + 1, scan->members[m].end, is_reverse);
    int32_t status = open_member(scan, &scan->members[m], &f->stream, &f->is_done, error);
    if (status != LARDER_OK) {
        larder__release(allocator_of(scan), f);
        return status;
    }
    scan->frames[scan->frame_count++] = f;
    return LARDER_OK;
}

static void pop(group_scan *scan) {
    frame *f = scan->frames[--scan->frame_count];
    larder__stream_close(&f->stream);
    larder__release(allocator_of(scan), f);
}

/* Whether the enclosed member comes before the document that the frame stands on. */
static bool child_is_next(const group_scan *scan, const frame *f) {
    if (f->is_done) return true;
    const member *outer = &scan->members[f->member], *inner = &scan->members[f->child];
    const uint8_t *rest = larder__begin(inner->path) + outer->path.size_bytes + 1;
    size_t size = inner->path.size_bytes - outer->path.size_bytes - 1;
    const uint8_t *slash = memchr(rest, '/', size);
    larder_bytes segment = larder__bytes(rest, (size_t)(slash - rest)), text;
    char scratch[32];
    larder_bytes current = f->stream.current;
    if (f->stream.run != NULL)
        text = f->stream.run[f->stream.run_at].text;
    else if (!larder__id_decode(current, scratch, &text))
        return false;
    int order = larder__segment_compare(segment, text);
    /* a/1 comes before a/1/a/x; in reverse behind it. */
    return f->stream.is_reverse ? order >= 0 : order < 0;
}

static int32_t next_root(group_scan *scan, larder_error *error) {
    bool is_reverse = (scan->base.flags & LARDER_SCAN_REVERSE) != 0;
    int32_t root = scan->next_root;
    if (root < 0 || root >= scan->member_count) return LARDER_END;
    scan->next_root = is_reverse ? first_child(scan, -1, 0, root, true) : scan->members[root].end;
    return push(scan, root, error);
}

static int32_t next_in_group(larder_scan *base, larder_document *document, larder_error *error) {
    group_scan *scan = (group_scan *)base;
    for (;;) {
        int32_t status;
        if (scan->frame_count == 0) {
            status = next_root(scan, error);
            if (status != LARDER_OK) return status;
        }
        frame *f = scan->frames[scan->frame_count - 1];
        if (!f->is_done && !f->is_peeked) {
            status = larder__stream_next(&f->stream, error);
            if (status < 0) return status;
            f->is_done = status == LARDER_END;
            f->is_peeked = !f->is_done;
        }
        if (f->child >= 0 && child_is_next(scan, f)) {
            int32_t child = f->child;
            f->child = child_behind(scan, f->member, child, f->stream.is_reverse);
            status = push(scan, child, error);
            if (status != LARDER_OK) return status;
            continue;
        }
        if (f->is_done) {
            pop(scan);
            continue;
        }
        f->is_peeked = false;
        status = larder__scan_give(base, &f->stream, &scan->ahead, document, error);
        if (status != LARDER_NOT_FOUND) return status;
    }
}

static void close_group(larder_scan *base) {
    group_scan *scan = (group_scan *)base;
    while (scan->frame_count > 0)
        pop(scan);
    larder__release(allocator_of(scan), scan->frames);
    larder__release(allocator_of(scan), scan->members);
}

int32_t larder_scan_group(const larder_txn *txn, larder_bytes group,
                          const larder_scan_options *options, larder_scan **scan,
                          larder_error *error) {
    int32_t status = larder__scan_check_open(txn, scan, error);
    larder_scan_options o;
    if (status == LARDER_OK) status = larder__scan_options(options, &o, error);
    if (status == LARDER_OK && o.start.size_bytes > 0)
        status = larder__path_check(o.start, 0, error);
    if (status == LARDER_OK && o.end.size_bytes > 0) status = larder__path_check(o.end, 0, error);
    if (status != LARDER_OK) return status;
    uint64_t number, user;
    status = larder__group_find(txn, group, &number, error);
    if (status < 0) return status;
    bool is_known = status == LARDER_OK;
    status = larder__scan_user(txn, &o, &user, error);
    if (status != LARDER_OK) return status;
    larder_scan *created;
    size_t size = sizeof(group_scan) + o.start.size_bytes + o.end.size_bytes;
    status = larder__scan_create(txn, size, &o, &created, error);
    if (status != LARDER_OK) return status;
    created->next = larder__scan_nothing;
    if (is_known) {
        group_scan *opened = (group_scan *)created;
        uint8_t *bounds = (uint8_t *)(opened + 1);
        created->next = next_in_group;
        created->close = close_group;
        opened->options = o;
        opened->user = user;
        if (o.start.size_bytes > 0) memcpy(bounds, o.start.data, o.start.size_bytes);
        opened->start = larder__bytes(bounds, o.start.size_bytes);
        bounds += o.start.size_bytes;
        if (o.end.size_bytes > 0) memcpy(bounds, o.end.data, o.end.size_bytes);
        opened->end = larder__bytes(bounds, o.end.size_bytes);
        status = list_members(opened, number, error);
        bool is_reverse = (o.flags & LARDER_SCAN_REVERSE) != 0;
        if (status == LARDER_OK)
            opened->next_root = first_child(opened, -1, 0, opened->member_count, is_reverse);
    }
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

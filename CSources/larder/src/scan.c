/*
 * scan.c - scans: what all kinds share, and the kinds over documents by name and by read time.
 *
 * A group scan gives names in path order over all collections of the group. A collection that
 * lies below a document of another one of the same group ("nested": a/1/a below a) comes
 * between that document and the next. The collections are listed once, in path order, each with
 * its nearest enclosing one; the scan keeps a stack of the streams that enclose the current
 * document.
 */
#include "stream.h"
#include "walk.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ---- what all kinds share ---- */

void larder_scan_options_init(larder_scan_options *options, size_t struct_bytes) {
    if (options == NULL) return;
    larder_scan_options defaults = {.struct_bytes = struct_bytes};
    memset(options, 0, struct_bytes);
    memcpy(options, &defaults, struct_bytes < sizeof defaults ? struct_bytes : sizeof defaults);
}

int32_t larder__scan_options(const larder_scan_options *given, larder_scan_options *options,
                             larder_error *error) {
    const uint32_t known = LARDER_SCAN_REVERSE | LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES |
                           LARDER_SCAN_LOCAL_VIEW | LARDER_SCAN_START_AFTER | LARDER_SCAN_END_AT;
    larder_scan_options_init(options, sizeof *options);
    if (given == NULL) return LARDER_OK;
    if (given->struct_bytes < sizeof *given)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "options are not initialised by larder_scan_options_init");
    *options = *given;
    if ((options->flags & ~known) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown scan flags 0x%x",
                            options->flags);
    if ((options->start.data == NULL && options->start.size_bytes > 0) ||
        (options->end.data == NULL && options->end.size_bytes > 0))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound is NULL");
    return LARDER_OK;
}

int32_t larder__scan_create(const larder_txn *txn, size_t size_bytes,
                            const larder_scan_options *options, larder_scan **scan,
                            larder_error *error) {
    larder_scan_options checked;
    if (scan == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan is NULL");
    int32_t status = larder__scan_options(options, &checked, error);
    if (status != LARDER_OK) return status;
    larder_scan *created = larder__allocate(&txn->env->allocator, size_bytes);
    if (created == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a scan");
    memset(created, 0, size_bytes);
    larder_txn *owner = (larder_txn *)(uintptr_t)txn;
    created->txn = txn;
    created->env = txn->env;
    created->next_open = owner->scans;
    created->link_open = &owner->scans;
    if (owner->scans != NULL) owner->scans->link_open = &created->next_open;
    owner->scans = created;
    created->flags = checked.flags;
    created->write_count = txn->write_count;
    owner->open_scans++;
    larder__handle_opened();
    *scan = created;
    return LARDER_OK;
}

/* Takes a scan out of its transaction. */
static void end_scan(larder_scan *scan) {
    larder_txn *owner = (larder_txn *)(uintptr_t)scan->txn;
    if (scan->close != NULL) scan->close(scan);
    *scan->link_open = scan->next_open;
    if (scan->next_open != NULL) scan->next_open->link_open = scan->link_open;
    owner->open_scans--;
    scan->txn = NULL;
}

void larder__scans_end(larder_txn *txn) {
    while (txn->scans != NULL)
        end_scan(txn->scans);
}

void larder_scan_close(larder_scan *scan) {
    if (scan == NULL) return;
    if (scan->txn != NULL) end_scan(scan);
    larder__handle_closed();
    larder__release(&scan->env->allocator, scan);
}

int32_t larder__scan_check(const larder_scan *scan, larder_error *error) {
    if (scan->txn == NULL)
        return larder__fail(error, LARDER_E_TXN_ENDED, "the scan's transaction has ended");
    int32_t status = larder__txn_check_read(scan->txn, error);
    if (status == LARDER_OK && scan->write_count != scan->txn->write_count)
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                              "the transaction has written since the scan was opened");
    return status;
}

int32_t larder_scan_next(larder_scan *scan, larder_document *document, larder_error *error) {
    if (scan == NULL || document == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan or document is NULL");
    int32_t status = larder__scan_check(scan, error);
    if (status != LARDER_OK) return status;
    if (scan->is_collection_scan)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a scan of collections: use larder_collection_next");
    if (scan->ended) return LARDER_END;
    status = scan->next(scan, document, error);
    if (status == LARDER_END) scan->ended = true;
    return status;
}

int32_t larder__scan_name(larder_scan *scan, uint64_t collection, larder_bytes id_key_form,
                          larder_document *document, larder_error *error) {
    if (scan->collection != collection || scan->collection_path.data == NULL) {
        int32_t status =
            larder__collection_info(scan->txn, collection, &scan->collection_path, NULL, error);
        if (status != LARDER_OK) return status;
        scan->collection = collection;
    }
    scan->id_key_form = id_key_form;
    document->collection = scan->collection_path;
    if (larder__id_key_is_text(id_key_form)) {
        document->id = id_key_form;
        return LARDER_OK;
    }
    return larder__id_text(scan->txn, collection, id_key_form, scan->scratch, &document->id, error);
}

/* The user of a local view: LARDER_OK with 0 when it is unknown or not asked for. */
static int32_t view_user(const larder_txn *txn, const larder_scan_options *options, uint64_t *user,
                         larder_error *error) {
    *user = 0;
    if (options == NULL || (options->flags & LARDER_SCAN_LOCAL_VIEW) == 0) return LARDER_OK;
    int32_t status = larder__user_find(txn, options->user, user, error);
    if (status == LARDER_NOT_FOUND) *user = 0;
    return status < 0 ? status : LARDER_OK;
}

/* A scan that gives nothing, for names the store does not know. */
static int32_t give_nothing(larder_scan *scan, larder_document *document, larder_error *error) {
    (void)scan;
    (void)document;
    (void)error;
    return LARDER_END;
}

/* ---- reading ahead: random reads ask the kernel for single pages, long scans for more ---- */

#define AHEAD_AFTER 32
#define AHEAD_BYTES (UINT64_C(4) << 20)

/* Asks for a chunk unless the scan did so lately, or its first page is in memory. Asking costs a
 * look at each of its pages, and rows of neighbouring names lie all over the file. */
static void ask_for(larder__ahead *ahead, uintptr_t chunk) {
    uintptr_t *slot = &ahead->chunks[chunk % LARDER__AHEAD_SLOTS];
    if (*slot == chunk) return;
    *slot = chunk;
    void *from = (void *)(chunk * AHEAD_BYTES);
    unsigned char is_resident = 0;
    if (mincore(from, 1, &is_resident) == 0 && (is_resident & 1) != 0) return;
    madvise(from, AHEAD_BYTES, MADV_WILLNEED);
}

static void read_ahead(larder__ahead *ahead, const larder_txn *txn, larder_bytes row) {
    uintptr_t chunk = (uintptr_t)row.data / AHEAD_BYTES;
    if (chunk == ahead->last || txn->is_write) return;
    if (ahead->count < AHEAD_AFTER) {
        ahead->count++;
        return;
    }
    ahead->last = chunk;
    ask_for(ahead, chunk);
    ask_for(ahead, chunk + 1);
}

/* ---- one collection ---- */

typedef struct collection_scan {
    larder_scan base;
    larder__stream stream;
    larder__ahead ahead;
} collection_scan;

/* Reads what the stream stands on, or says that the flags pass it over. */
static int32_t give(larder_scan *scan, larder__stream *stream, larder__ahead *ahead,
                    larder_document *document, bool *is_passed, larder_error *error) {
    *is_passed = false;
    memset(document, 0, sizeof *document);
    if ((scan->flags & LARDER_SCAN_KEYS_ONLY) != 0 && (scan->flags & LARDER_SCAN_ALL_STATES) != 0)
        return larder__scan_name(scan, stream->collection, stream->current, document, error);
    if (stream->base_is_current) read_ahead(ahead, scan->txn, stream->base.value);
    int32_t status = larder__stream_read(stream, document, error);
    if (status != LARDER_OK) return status;
    if (document->state != LARDER_DOCUMENT_FOUND && (scan->flags & LARDER_SCAN_ALL_STATES) == 0) {
        *is_passed = true;
        return LARDER_OK;
    }
    if ((scan->flags & LARDER_SCAN_KEYS_ONLY) != 0) memset(document, 0, sizeof *document);
    return larder__scan_name(scan, stream->collection, stream->current, document, error);
}

static int32_t next_in_collection(larder_scan *base, larder_document *document,
                                  larder_error *error) {
    collection_scan *scan = (collection_scan *)base;
    for (;;) {
        int32_t status = larder__stream_next(&scan->stream, error);
        if (status != LARDER_OK) return status;
        bool is_passed;
        status = give(base, &scan->stream, &scan->ahead, document, &is_passed, error);
        if (!is_passed) return status;
    }
}

static void close_collection(larder_scan *base) {
    larder__stream_close(&((collection_scan *)base)->stream);
}

/* Ids given as bounds must be ids. */
static int32_t check_id_bound(larder_bytes id, larder_error *error) {
    if (id.size_bytes == 0) return LARDER_OK;
    if (id.size_bytes > LARDER_ID_MAX_BYTES || memchr(id.data, '/', id.size_bytes) != NULL ||
        !larder__utf8_is_valid(id))
        return larder__fail(error, LARDER_E_INVALID_NAME, "a bound that is not a document id");
    return LARDER_OK;
}

int32_t larder_scan_collection(const larder_txn *txn, larder_bytes path,
                               const larder_scan_options *options, larder_scan **scan,
                               larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    larder_scan_options o;
    if (status == LARDER_OK) status = larder__scan_options(options, &o, error);
    if (status == LARDER_OK) status = check_id_bound(o.start, error);
    if (status == LARDER_OK) status = check_id_bound(o.end, error);
    if (status != LARDER_OK) return status;
    uint64_t collection, user;
    status = larder__collection_find(txn, path, &collection, error);
    if (status < 0) return status;
    bool is_known = status == LARDER_OK;
    status = view_user(txn, &o, &user, error);
    if (status != LARDER_OK) return status;
    larder_scan *created;
    size_t size = sizeof(collection_scan) + o.start.size_bytes + o.end.size_bytes;
    status = larder__scan_create(txn, size, &o, &created, error);
    if (status != LARDER_OK) return status;
    created->next = give_nothing;
    if (is_known) {
        collection_scan *opened = (collection_scan *)created;
        uint8_t *bounds = (uint8_t *)(opened + 1); /* the caller's bytes are copied */
        if (o.start.size_bytes > 0) memcpy(bounds, o.start.data, o.start.size_bytes);
        if (o.end.size_bytes > 0) memcpy(bounds + o.start.size_bytes, o.end.data, o.end.size_bytes);
        created->next = next_in_collection;
        created->close = close_collection;
        status = larder__stream_open(
            &opened->stream, txn, collection, user, &o, larder__bytes(bounds, o.start.size_bytes),
            larder__bytes(bounds + o.start.size_bytes, o.end.size_bytes), error);
    }
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

/* ---- a collection group ---- */

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

/* What a bound (a document name) means inside one collection: everything lies before (-1) or
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
        bool is_passed;
        status = give(base, &f->stream, &scan->ahead, document, &is_passed, error);
        if (!is_passed) return status;
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
    int32_t status = larder__txn_check_read(txn, error);
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
    status = view_user(txn, &o, &user, error);
    if (status != LARDER_OK) return status;
    larder_scan *created;
    size_t size = sizeof(group_scan) + o.start.size_bytes + o.end.size_bytes;
    status = larder__scan_create(txn, size, &o, &created, error);
    if (status != LARDER_OK) return status;
    created->next = give_nothing;
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

/* ---- by read time ---- */

typedef struct read_time_scan {
    larder_scan base;
    larder__walk walk;
    larder__key since;     /* the time's rows begin with this */
    larder_bytes since_id; /* a copy when it shares its head with others; else empty */
} read_time_scan;

/* Whether the row at hand does not come after since_id, which only its text can tell. */
static bool is_before(const read_time_scan *scan, larder_bytes id) {
    return scan->since_id.size_bytes > 0 &&
           larder__bytes_has_prefix(scan->walk.key, larder__key_bytes(&scan->since)) &&
           larder__segment_compare(id, scan->since_id) <= 0;
}

static int32_t next_by_read_time(larder_scan *base, larder_document *document,
                                 larder_error *error) {
    read_time_scan *scan = (read_time_scan *)base;
    for (;;) {
        int32_t status = larder__walk_next(&scan->walk, error);
        if (status != LARDER_OK) return status;
        larder_bytes id = scan->walk.id_key_form;
        larder_document named;
        memset(document, 0, sizeof *document);
        memset(&named, 0, sizeof named);
        status = larder__scan_name(base, scan->walk.collection, id, &named, error);
        if (status != LARDER_OK) return status;
        if (is_before(scan, named.id)) continue;
        if ((base->flags & LARDER_SCAN_KEYS_ONLY) == 0 ||
            (base->flags & LARDER_SCAN_ALL_STATES) == 0) {
            status = larder__document_read(base->txn, scan->walk.collection, id, document, error);
            if (status == LARDER_NOT_FOUND)
                return larder__corrupt(base->txn, LARDER__READ_TIMES, scan->walk.key,
                                       "a read time without its document", error);
            if (status != LARDER_OK) return status;
            if (document->state != LARDER_DOCUMENT_FOUND &&
                (base->flags & LARDER_SCAN_ALL_STATES) == 0)
                continue;
            if ((base->flags & LARDER_SCAN_KEYS_ONLY) != 0) memset(document, 0, sizeof *document);
        }
        document->collection = named.collection;
        document->id = named.id;
        return LARDER_OK;
    }
}

static void close_read_time(larder_scan *base) {
    larder__walk_close(&((read_time_scan *)base)->walk);
}

int32_t larder_scan_read_time(const larder_txn *txn, larder_bytes path, larder_time since,
                              larder_bytes since_id, const larder_scan_options *options,
                              larder_scan **scan, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = check_id_bound(since_id, error);
    if (status != LARDER_OK) return status;
    if (options != NULL && options->struct_bytes >= sizeof *options &&
        ((options->flags & ~(uint32_t)(LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES)) != 0 ||
         options->start.size_bytes > 0 || options->end.size_bytes > 0))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a scan by read time takes KEYS_ONLY and ALL_STATES only");
    if (!larder__time_is_valid(since))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "since is not a valid time");
    uint64_t collection;
    status = larder__collection_find(txn, path, &collection, error);
    if (status < 0) return status;
    bool is_known = status == LARDER_OK;
    larder_scan *created;
    status = larder__scan_create(txn, sizeof(read_time_scan) + since_id.size_bytes, options,
                                 &created, error);
    if (status != LARDER_OK) return status;
    created->next = give_nothing;
    if (is_known) {
        read_time_scan *opened = (read_time_scan *)created;
        larder__key prefix = {0};
        created->next = next_by_read_time;
        created->close = close_read_time;
        larder__key_number(&prefix, collection);
        status = larder__walk_open(txn, LARDER__READ_TIMES, larder__key_bytes(&prefix), false,
                                   collection, &opened->walk, error);
        opened->walk.skip_bytes = LARDER__TIME_BYTES;
        opened->since = prefix;
        larder__key_time(&opened->since, since);
        opened->walk.start = opened->since;
        if (since_id.size_bytes > 0) {
            larder__id id;
            larder__id_encode(since_id, &id);
            larder_bytes key_form = larder__id_bytes(&id);
            if (key_form.size_bytes <= LARDER__ID_HEAD) {
                larder__key_id(&opened->walk.start, key_form);
                larder__key_byte(&opened->walk.start, 0); /* behind the id itself */
            } else {
                memcpy(opened + 1, since_id.data, since_id.size_bytes);
                opened->since_id = larder__bytes(opened + 1, since_id.size_bytes);
                larder__key_id(&opened->walk.start, larder__bytes(key_form.data, LARDER__ID_HEAD));
            }
        }
    }
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

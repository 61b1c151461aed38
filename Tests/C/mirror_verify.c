/*
 * mirror_verify.c - compares a store with the mirror, table by table.
 *
 * For each scan the mirror makes the list of names that it should give, in order, and the scan
 * is walked beside it. Where the header leaves the order of collections open, the lists are
 * compared after sorting both by name, and order is checked within each collection.
 */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_USER = -1 };

/* A name's head and its length, for messages. */
#define SHOWN(bytes)                                                                               \
    (bytes).size_bytes < 24 ? (int)(bytes).size_bytes : 24,                                        \
        (bytes).data ? (const char *)(bytes).data : "", (bytes).size_bytes < 24 ? "" : "..."

typedef struct checker {
    const larder_scan_options *options; /* of the scan at hand, for messages */
    const mirror *m;
    const larder_txn *txn;
    const mirror_profile *profile;
    mirror_random random;
    larder_error error;
    int32_t status; /* of the call that failed, with faults */
    uint8_t buffer[LARDER_DOCUMENT_MAX_BYTES];
} checker;

/* False when the comparison cannot go on. */
static bool expect(checker *c, int32_t status, int32_t expected, const char *what, int which) {
    if (status == expected) return true;
    if (c->profile && c->profile->faults && status < 0) {
        c->status = status;
        return false;
    }
    mirror_problem("at commit %llu: %s %d: %s instead of %s (%s)",
                   (unsigned long long)c->m->sequence, what, which, larder_status_name(status),
                   larder_status_name(expected), status < 0 ? c->error.message : "");
    return false;
}

static uint64_t below(checker *c, uint64_t bound) { return mirror_random_below(&c->random, bound); }

static bool same_bytes(larder_bytes a, larder_bytes b) {
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}
static bool same_time(larder_time a, larder_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}
static int time_order(larder_time a, larder_time b) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds ? -1 : 1;
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds;
}

static void require(checker *c, bool condition, const char *what, int which) {
    if (!condition)
        mirror_problem("at commit %llu: %s %d", (unsigned long long)c->m->sequence, what, which);
}

/* ---- one document ---- */

static bool check_record(checker *c, const larder_record *record, const mirror_blob *plain,
                         const char *what, int name) {
    size_t needed = 0;
    int32_t status =
        MIRROR_CALL(larder_record_copy(record, c->buffer, sizeof c->buffer, &needed, &c->error));
    if (!expect(c, status, LARDER_OK, "record_copy of", name)) return false;
    larder_bytes copy = {c->buffer, needed};
    require(c, same_bytes(copy, mirror_blob_bytes(plain)), what, name);
    return true;
}

static const mirror_overlay *overlay_of(const mirror *m, int user, int name) {
    if (user == NO_USER || !m->overlays[user][name].present) return NULL;
    return &m->overlays[user][name];
}

/* The state of the document as the user sees it; 0: nothing known. */
static int32_t state_of(const mirror *m, int user, int name) {
    const mirror_overlay *overlay = overlay_of(m, user, name);
    if (overlay) return overlay->plain ? LARDER_DOCUMENT_FOUND : LARDER_DOCUMENT_ABSENT;
    return m->documents[name].state;
}

static bool check_document(checker *c, const larder_document *document, int user, int name,
                           bool keys_only) {
    require(c, same_bytes(document->id, mirror_id(name)), "id of", name);
    require(c, same_bytes(document->collection, mirror_collection(mirror_name_collection(name))),
            "collection of", name);
    if (keys_only) {
        require(c, document->state == LARDER_DOCUMENT_NOT_READ, "keys-only state of", name);
        return true;
    }
    require(c, document->state == state_of(c->m, user, name), "state of", name);
    const mirror_overlay *overlay = overlay_of(c->m, user, name);
    if (overlay) {
        require(c, document->flags & LARDER_DOCUMENT_LOCAL_MUTATIONS, "flags of the view of", name);
        require(c, same_time(document->version, (larder_time){0, 0, 0}), "version of the view of",
                name);
        require(c, document->batch_id == overlay->batch_id, "batch id of the view of", name);
        if (overlay->plain)
            return check_record(c, &document->record, overlay->plain, "record of the view of",
                                name);
        return true;
    }
    const mirror_document *d = &c->m->documents[name];
    require(c, document->flags == d->flags, "flags of", name);
    require(c, same_time(document->version, d->version), "version of", name);
    require(c, same_time(document->create_time, d->create_time), "create time of", name);
    require(c, same_time(document->read_time, d->read_time), "read time of", name);
    require(c, document->stored_bytes > 0, "stored bytes of", name);
    if (d->state == LARDER_DOCUMENT_FOUND)
        return check_record(c, &document->record, d->plain, "record of", name);
    return true;
}

/* ---- lists of names ---- */

typedef struct list {
    int names[MIRROR_NAMES];
    int count;
} list;

static int by_name(const void *a, const void *b) {
    return mirror_path_compare(mirror_name(*(const int *)a), mirror_name(*(const int *)b));
}
static int by_collection_then_id(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    int order = mirror_path_compare(mirror_collection(mirror_name_collection(x)),
                                    mirror_collection(mirror_name_collection(y)));
    return order ? order : mirror_segment_compare(mirror_id(x), mirror_id(y));
}

/* Finds the name of a document that a scan gave; -1 for one outside the universe. */
static int name_of(const larder_document *document) {
    for (int collection = 0; collection < MIRROR_COLLECTIONS; collection++) {
        if (!same_bytes(mirror_collection(collection), document->collection)) continue;
        for (int i = 0; i < MIRROR_IDS; i++)
            if (same_bytes(mirror_id(i), document->id)) return collection * MIRROR_IDS + i;
    }
    return -1;
}

static void reverse(list *l) {
    for (int i = 0; i < l->count / 2; i++) {
        int swap = l->names[i];
        l->names[i] = l->names[l->count - 1 - i];
        l->names[l->count - 1 - i] = swap;
    }
}

/* Walks the scan beside the list. in_order: in exactly this order; else in name order within
 * each collection. not_stored: states of documents that are not there are NOT_READ. */
static void walk(checker *c, larder_scan *scan, const list *expected, int user, bool keys_only,
                 bool in_order, bool not_stored, const char *what) {
    char note[120];
    if (c->options) {
        snprintf(note, sizeof note, "%s (flags %u, bounds %.*s%s .. %.*s%s)", what,
                 c->options->flags, SHOWN(c->options->start), SHOWN(c->options->end));
        what = note;
    }
    list given = {.count = 0};
    for (;;) {
        larder_document document;
        int32_t status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error));
        if (status == LARDER_END) break;
        if (!expect(c, status, LARDER_OK, what, given.count)) goto done;
        int name = name_of(&document);
        if (name < 0 || given.count == MIRROR_NAMES) {
            mirror_problem(
                "at commit %llu: %s gave a document that is not in the mirror: %.*s/%.*s",
                (unsigned long long)c->m->sequence, what, (int)document.collection.size_bytes,
                (const char *)document.collection.data, (int)document.id.size_bytes,
                (const char *)document.id.data);
            goto done;
        }
        given.names[given.count++] = name;
        if (not_stored && state_of(c->m, user, name) == 0)
            require(c, document.state == LARDER_DOCUMENT_NOT_READ, "state of a missing document",
                    name);
        else if (!check_document(c, &document, user, name, keys_only))
            goto done;
    }
    if (given.count != expected->count)
        mirror_problem("at commit %llu: %s gave %d documents instead of %d",
                       (unsigned long long)c->m->sequence, what, given.count, expected->count);
    list want = *expected;
    if (!in_order) {
        for (int i = 1; i < given.count; i++)
            if (mirror_name_collection(given.names[i - 1]) ==
                mirror_name_collection(given.names[i]))
                require(c, by_name(&given.names[i - 1], &given.names[i]) < 0, what, i);
        qsort(given.names, (size_t)given.count, sizeof(int), by_name);
        qsort(want.names, (size_t)want.count, sizeof(int), by_name);
    }
    for (int i = 0; i < given.count && i < want.count; i++)
        if (given.names[i] != want.names[i]) {
            larder_bytes a = mirror_name(given.names[i]), b = mirror_name(want.names[i]);
            mirror_problem("at commit %llu: %s: place %d of %d holds %.*s (%zu bytes) instead of "
                           "%.*s (%zu bytes)",
                           (unsigned long long)c->m->sequence, what, i, want.count,
                           a.size_bytes < 60 ? (int)a.size_bytes : 60, (const char *)a.data,
                           a.size_bytes, b.size_bytes < 60 ? (int)b.size_bytes : 60,
                           (const char *)b.data, b.size_bytes);
            break;
        }
done:
    larder_scan_close(scan);
}

/* ---- documents, by name and by scan ---- */

static void check_documents(checker *c) {
    for (int name = 0; name < MIRROR_NAMES && c->status == 0; name++) {
        larder_document document;
        int32_t status =
            MIRROR_CALL(larder_document_get(c->txn, mirror_name(name), &document, &c->error));
        int32_t state = c->m->documents[name].state;
        if (expect(c, status, state ? LARDER_OK : LARDER_NOT_FOUND, "document_get", name) && state)
            check_document(c, &document, NO_USER, name, false);
        int user = (int)below(c, MIRROR_USERS);
        status = MIRROR_CALL(larder_document_get_local(c->txn, mirror_user(user), mirror_name(name),
                                                       &document, &c->error));
        state = state_of(c->m, user, name);
        if (expect(c, status, state ? LARDER_OK : LARDER_NOT_FOUND, "document_get_local", name) &&
            state)
            check_document(c, &document, user, name, false);
    }
}

/* Options with random flags; user is set where the view is the user's. */
static int random_options(checker *c, larder_scan_options *options, uint32_t allowed) {
    larder_scan_options_init(options, sizeof *options);
    options->flags = (uint32_t)below(c, 64) & allowed;
    if (!(options->flags & LARDER_SCAN_LOCAL_VIEW)) return NO_USER;
    int user = (int)below(c, MIRROR_USERS);
    options->user = mirror_user(user);
    return user;
}

static bool wanted(const checker *c, uint32_t flags, int user, int name) {
    int32_t state = state_of(c->m, user, name);
    return flags & LARDER_SCAN_ALL_STATES ? state != 0 : state == LARDER_DOCUMENT_FOUND;
}

static bool in_bounds(const larder_scan_options *options, larder_bytes at,
                      int (*compare)(larder_bytes, larder_bytes)) {
    if (options->start.size_bytes > 0) {
        int order = compare(at, options->start);
        if (order < 0 || (order == 0 && options->flags & LARDER_SCAN_START_AFTER)) return false;
    }
    if (options->end.size_bytes > 0) {
        int order = compare(at, options->end);
        if (order > 0 || (order == 0 && !(options->flags & LARDER_SCAN_END_AT))) return false;
    }
    return true;
}

static void scan_collection(checker *c, int collection, bool bounded) {
    larder_scan_options options;
    int user = random_options(c, &options, bounded ? 63 : 15);
    if (bounded) {
        if (below(c, 4)) options.start = mirror_id((int)below(c, MIRROR_IDS));
        if (below(c, 4)) options.end = mirror_id((int)below(c, MIRROR_IDS));
    }
    list expected = {.count = 0};
    for (int name = collection * MIRROR_IDS; name < (collection + 1) * MIRROR_IDS; name++)
        if (wanted(c, options.flags, user, name) &&
            in_bounds(&options, mirror_id(name), mirror_segment_compare))
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), by_name);
    if (options.flags & LARDER_SCAN_REVERSE) reverse(&expected);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(
        larder_scan_collection(c->txn, mirror_collection(collection), &options, &scan, &c->error));
    c->options = &options;
    if (expect(c, status, LARDER_OK, "scan_collection", collection))
        walk(c, scan, &expected, user, options.flags & LARDER_SCAN_KEYS_ONLY, true, false,
             "scan of a collection");
    c->options = NULL;
}

static void scan_group(checker *c, int collection, bool bounded) {
    larder_scan_options options;
    int user = random_options(c, &options, bounded ? 63 : 15);
    if (bounded) {
        if (below(c, 4)) options.start = mirror_name((int)below(c, MIRROR_NAMES));
        if (below(c, 4)) options.end = mirror_name((int)below(c, MIRROR_NAMES));
    }
    larder_bytes group = mirror_group(collection);
    list expected = {.count = 0};
    for (int name = 0; name < MIRROR_NAMES; name++)
        if (same_bytes(mirror_group(mirror_name_collection(name)), group) &&
            wanted(c, options.flags, user, name) &&
            in_bounds(&options, mirror_name(name), mirror_path_compare))
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), by_name);
    if (options.flags & LARDER_SCAN_REVERSE) reverse(&expected);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(larder_scan_group(c->txn, group, &options, &scan, &c->error));
    c->options = &options;
    if (expect(c, status, LARDER_OK, "scan_group", collection))
        walk(c, scan, &expected, user, options.flags & LARDER_SCAN_KEYS_ONLY, true, false,
             "scan of a group");
    c->options = NULL;
}

static const mirror *sorting_mirror; /* for qsort's comparison */

static int by_read_time(const void *a, const void *b) {
    int order = time_order(sorting_mirror->documents[*(const int *)a].read_time,
                           sorting_mirror->documents[*(const int *)b].read_time);
    return order ? order : by_name(a, b);
}

static void scan_read_time(checker *c, int collection) {
    larder_scan_options options;
    random_options(c, &options, LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES);
    larder_time since = {(int64_t)(1699999990 + below(c, 55)), (int32_t)(below(c, 4) * 250000000),
                         0};
    larder_bytes since_id = {NULL, 0};
    if (below(c, 3))
        since = c->m->documents[collection * MIRROR_IDS + (int)below(c, MIRROR_IDS)].read_time;
    if (below(c, 2)) since_id = mirror_id((int)below(c, MIRROR_IDS));
    list expected = {.count = 0};
    for (int name = collection * MIRROR_IDS; name < (collection + 1) * MIRROR_IDS; name++) {
        if (!wanted(c, options.flags, NO_USER, name)) continue;
        int order = time_order(c->m->documents[name].read_time, since);
        if (order > 0 || (order == 0 && (since_id.size_bytes == 0 ||
                                         mirror_segment_compare(mirror_id(name), since_id) > 0)))
            expected.names[expected.count++] = name;
    }
    sorting_mirror = c->m;
    qsort(expected.names, (size_t)expected.count, sizeof(int), by_read_time);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(larder_scan_read_time(c->txn, mirror_collection(collection), since,
                                                       since_id, &options, &scan, &c->error));
    if (expect(c, status, LARDER_OK, "scan_read_time", collection))
        walk(c, scan, &expected, NO_USER, options.flags & LARDER_SCAN_KEYS_ONLY, true, false,
             "scan by read time");
}

/* ---- collections ---- */

static void check_collections(checker *c) {
    int64_t found[MIRROR_COLLECTIONS] = {0}, known[MIRROR_COLLECTIONS] = {0};
    for (int name = 0; name < MIRROR_NAMES; name++) {
        found[mirror_name_collection(name)] += c->m->documents[name].state == LARDER_DOCUMENT_FOUND;
        known[mirror_name_collection(name)] += c->m->documents[name].state != 0;
    }
    bool seen[MIRROR_COLLECTIONS] = {false};
    larder_scan *scan;
    larder_bytes all = {NULL, 0};
    int32_t status = MIRROR_CALL(larder_collection_scan(c->txn, all, &scan, &c->error));
    if (!expect(c, status, LARDER_OK, "collection_scan", 0)) return;
    int last = -1;
    for (;;) {
        larder_collection collection;
        status = MIRROR_CALL(larder_collection_next(scan, &collection, &c->error));
        if (status == LARDER_END) break;
        if (!expect(c, status, LARDER_OK, "collection_next", 0)) break;
        int which = 0;
        while (which < MIRROR_COLLECTIONS && !same_bytes(mirror_collection(which), collection.path))
            which++;
        if (which == MIRROR_COLLECTIONS) {
            require(c, false, "a collection outside the mirror", 0);
            continue;
        }
        seen[which] = true;
        require(c, collection.document_count == found[which], "document count of collection",
                which);
        require(c, (collection.size_bytes > 0) == (known[which] > 0), "size of collection", which);
        if (last >= 0)
            require(c, mirror_path_compare(mirror_collection(last), collection.path) < 0,
                    "order of collection", which);
        last = which;
    }
    larder_scan_close(scan);
    for (int which = 0; which < MIRROR_COLLECTIONS && c->status == 0; which++) {
        require(c, seen[which] || known[which] == 0, "missing collection", which);
        larder_collection collection;
        status = MIRROR_CALL(
            larder_collection_get(c->txn, mirror_collection(which), &collection, &c->error));
        if (status == LARDER_NOT_FOUND && known[which] == 0) continue;
        if (expect(c, status, LARDER_OK, "collection_get", which))
            require(c, collection.document_count == found[which], "count of collection", which);
    }
}

/* ---- mutations and overlays ---- */

static const mirror_batch *batch_after(const mirror *m, int user, int64_t after) {
    const mirror_batch *best = NULL;
    for (int b = 0; b < MIRROR_BATCHES; b++) {
        const mirror_batch *batch = &m->batches[b];
        if (batch->present && batch->user == user && batch->batch_id > after &&
            (!best || batch->batch_id < best->batch_id))
            best = batch;
    }
    return best;
}

static void check_batch(checker *c, const larder_batch *batch, const mirror_batch *want) {
    int id = (int)want->batch_id;
    require(c, batch->batch_id == want->batch_id, "batch id", id);
    require(c, same_time(batch->local_write_time, want->local_write_time), "write time of batch",
            id);
    require(c, batch->attempt_count == want->attempt_count, "attempts of batch", id);
    require(c, same_time(batch->last_attempt, want->last_attempt), "last attempt of batch", id);
    require(c, same_bytes(batch->last_error, mirror_blob_bytes(want->last_error)),
            "last error of batch", id);
    require(c, same_bytes(batch->payload, mirror_blob_bytes(want->payload)), "payload of batch",
            id);
    require(c, (int)batch->document_count == want->name_count, "documents of batch", id);
    for (int i = 0; i < want->name_count; i++) {
        larder_mutation_document document;
        int32_t status = MIRROR_CALL(larder_batch_get_document(batch, (size_t)i, &document));
        if (!expect(c, status, LARDER_OK, "batch_get_document", id)) return;
        require(c, same_bytes(document.name, mirror_name(want->names[i])), "a document of batch",
                id);
        require(c, same_time(document.base_version, want->base_versions[i]),
                "a base version of batch", id);
    }
    larder_mutation_document beyond;
    require(c, larder_batch_get_document(batch, (size_t)want->name_count, &beyond) != LARDER_OK,
            "a document too many in batch", id);
}

/* Compares ids from the store with the mirror's batches that touch a name or a collection. */
static void check_ids(checker *c, int user, const int64_t *ids, size_t count, size_t capacity,
                      int name, int collection, const char *what) {
    int64_t after = 0;
    size_t at = 0;
    const mirror_batch *batch;
    while ((batch = batch_after(c->m, user, after))) {
        after = batch->batch_id;
        bool touches = false;
        for (int i = 0; i < batch->name_count; i++)
            touches |= name >= 0 ? batch->names[i] == name
                                 : mirror_name_collection(batch->names[i]) == collection;
        if (!touches) continue;
        if (at < count && at < capacity)
            require(c, ids[at] == batch->batch_id, what, name >= 0 ? name : collection);
        at++;
    }
    require(c, at == count, what, name >= 0 ? name : collection);
}

static void check_mutations(checker *c) {
    for (int user = 0; user < MIRROR_USERS && c->status == 0; user++) {
        larder_bytes text = mirror_user(user);
        int64_t after = 0, count = 0, stored_count = -1;
        const mirror_batch *want;
        int32_t status;
        while ((want = batch_after(c->m, user, after))) {
            larder_batch batch;
            status = MIRROR_CALL(larder_mutation_next(c->txn, text, after, &batch, &c->error));
            if (!expect(c, status, LARDER_OK, "mutation_next after", (int)after)) return;
            check_batch(c, &batch, want);
            status =
                MIRROR_CALL(larder_mutation_get(c->txn, text, want->batch_id, &batch, &c->error));
            if (!expect(c, status, LARDER_OK, "mutation_get", (int)want->batch_id)) return;
            check_batch(c, &batch, want);
            after = want->batch_id;
            count++;
        }
        larder_batch none;
        status = MIRROR_CALL(larder_mutation_next(c->txn, text, after, &none, &c->error));
        if (!expect(c, status, LARDER_END, "mutation_next behind", (int)after)) return;
        status = MIRROR_CALL(larder_mutation_get(c->txn, text, after + 1, &none, &c->error));
        if (!expect(c, status, LARDER_NOT_FOUND, "mutation_get of nothing", 0)) return;
        status = MIRROR_CALL(larder_mutation_count(c->txn, text, &stored_count, &c->error));
        if (!expect(c, status, LARDER_OK, "mutation_count", user)) return;
        require(c, stored_count == count, "batches of user", user);
        for (int round = 0; round < 12; round++) {
            int64_t ids[MIRROR_BATCHES];
            size_t id_count = 0, capacity = (size_t)below(c, 4) == 0 ? 1 : MIRROR_BATCHES;
            int name = (int)below(c, MIRROR_NAMES);
            const mirror_batch *some = &c->m->batches[below(c, MIRROR_BATCHES)];
            if (some->present) name = some->names[0];
            status = MIRROR_CALL(larder_mutation_find_document(c->txn, text, mirror_name(name), ids,
                                                               capacity, &id_count, &c->error));
            if (!expect(c, status, LARDER_OK, "mutation_find_document", name)) return;
            check_ids(c, user, ids, id_count, capacity, name, -1, "batches of document");
            int collection = mirror_name_collection(name);
            status = MIRROR_CALL(larder_mutation_find_collection(
                c->txn, text, mirror_collection(collection), ids, capacity, &id_count, &c->error));
            if (!expect(c, status, LARDER_OK, "mutation_find_collection", collection)) return;
            check_ids(c, user, ids, id_count, capacity, -1, collection, "batches of collection");
        }
    }
    /* users with a queue, in order */
    larder_bytes after = {NULL, 0}, user_text;
    bool first = true;
    char kept[64];
    for (int user = 0; user < MIRROR_USERS && c->status == 0; user++) {
        if (!batch_after(c->m, user, 0)) continue;
        int32_t status = MIRROR_CALL(
            larder_mutation_next_user(c->txn, first ? NULL : &after, &user_text, &c->error));
        if (!expect(c, status, LARDER_OK, "mutation_next_user", user)) return;
        require(c, same_bytes(user_text, mirror_user(user)), "order of user", user);
        if (user_text.size_bytes > sizeof kept) return;
        if (user_text.size_bytes) memcpy(kept, user_text.data, user_text.size_bytes);
        after = (larder_bytes){kept, user_text.size_bytes};
        first = false;
    }
    int32_t status = MIRROR_CALL(
        larder_mutation_next_user(c->txn, first ? NULL : &after, &user_text, &c->error));
    expect(c, status, LARDER_END, "mutation_next_user at the end", 0);
}

static void check_overlays(checker *c) {
    for (int user = 0; user < MIRROR_USERS; user++) {
        larder_bytes text = mirror_user(user);
        for (int name = 0; name < MIRROR_NAMES && c->status == 0; name++) {
            const mirror_overlay *want = overlay_of(c->m, user, name);
            if (!want && below(c, 8)) continue;
            larder_document view;
            larder_bytes payload = {NULL, 0};
            int32_t status = MIRROR_CALL(
                larder_overlay_get(c->txn, text, mirror_name(name), &view, &payload, &c->error));
            if (expect(c, status, want ? LARDER_OK : LARDER_NOT_FOUND, "overlay_get", name) &&
                want) {
                require(c, same_bytes(payload, mirror_blob_bytes(want->payload)),
                        "payload of the overlay of", name);
                check_document(c, &view, user, name, false);
            }
        }
        int collection = (int)below(c, MIRROR_COLLECTIONS);
        int64_t since = below(c, 2) ? 0 : (int64_t)below(c, (uint64_t)c->m->next_batch_id + 1);
        list expected = {.count = 0}, group = {.count = 0}, batch = {.count = 0};
        const mirror_batch *some = batch_after(c->m, user, since);
        int64_t batch_id = some ? some->batch_id : since;
        for (int name = 0; name < MIRROR_NAMES; name++) {
            const mirror_overlay *o = overlay_of(c->m, user, name);
            if (!o) continue;
            if (o->batch_id == batch_id) batch.names[batch.count++] = name;
            if (o->batch_id <= since) continue;
            if (mirror_name_collection(name) == collection) expected.names[expected.count++] = name;
            if (same_bytes(mirror_group(mirror_name_collection(name)), mirror_group(collection)))
                group.names[group.count++] = name;
        }
        qsort(expected.names, (size_t)expected.count, sizeof(int), by_name);
        larder_scan *scan;
        int32_t status = MIRROR_CALL(larder_overlay_scan_collection(
            c->txn, text, mirror_collection(collection), since, &scan, &c->error));
        if (!expect(c, status, LARDER_OK, "overlay_scan_collection", collection)) return;
        walk(c, scan, &expected, user, false, true, false, "scan of a collection's overlays");
        status = MIRROR_CALL(larder_overlay_scan_group(c->txn, text, mirror_group(collection),
                                                       since, &scan, &c->error));
        if (!expect(c, status, LARDER_OK, "overlay_scan_group", collection)) return;
        walk(c, scan, &group, user, false, false, false, "scan of a group's overlays");
        status = MIRROR_CALL(larder_overlay_scan_batch(c->txn, text, batch_id, &scan, &c->error));
        if (!expect(c, status, LARDER_OK, "overlay_scan_batch", (int)batch_id)) return;
        larder_document document;
        list given = {.count = 0};
        while ((status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error))) == LARDER_OK &&
               given.count < MIRROR_NAMES)
            given.names[given.count++] = name_of(&document);
        larder_scan_close(scan);
        if (!expect(c, status, LARDER_END, "scan of a batch's overlays", user)) return;
        require(c, given.count == batch.count, "overlays of batch", (int)batch_id);
        for (int i = 0; i < batch.count; i++) {
            bool there = false;
            for (int k = 0; k < given.count; k++)
                there |= given.names[k] == batch.names[i];
            require(c, there, "an overlay of batch", (int)batch_id);
        }
    }
}

/* ---- targets ---- */

static void check_target(checker *c, const larder_target *target, int which) {
    const mirror_target *t = &c->m->targets[which];
    require(c, target->target_id == mirror_target_id(which), "id of target", which);
    require(c, target->flags == t->flags, "flags of target", which);
    require(c, target->sequence_number == t->sequence_number, "sequence number of target", which);
    require(c, same_time(target->snapshot_version, t->snapshot_version), "version of target",
            which);
    require(c, same_time(target->limbo_free_version, t->limbo_free_version),
            "limbo-free version of target", which);
    require(c, same_bytes(target->resume_token, mirror_blob_bytes(t->resume_token)),
            "token of target", which);
    require(c, same_bytes(target->canonical_id, mirror_canonical(t->canonical)),
            "canonical id of target", which);
    require(c, same_bytes(target->query, mirror_blob_bytes(t->query)), "query of target", which);
}

static void check_targets(checker *c) {
    int32_t after = 0, status;
    for (int which = 0; which < MIRROR_TARGETS && c->status == 0; which++) {
        const mirror_target *t = &c->m->targets[which];
        int32_t id = mirror_target_id(which);
        larder_target target = {.struct_bytes = sizeof target};
        status = MIRROR_CALL(larder_target_get(c->txn, id, &target, &c->error));
        if (!expect(c, status, t->present ? LARDER_OK : LARDER_NOT_FOUND, "target_get", which))
            return;
        if (!t->present) continue;
        check_target(c, &target, which);
        target.struct_bytes = sizeof target;
        status = MIRROR_CALL(larder_target_next(c->txn, after, &target, &c->error));
        if (!expect(c, status, LARDER_OK, "target_next", which)) return;
        check_target(c, &target, which);
        after = id;
        int64_t count = -1, members = 0;
        list expected = {.count = 0};
        larder_scan_options options;
        random_options(c, &options, LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES);
        for (int name = 0; name < MIRROR_NAMES; name++) {
            members += t->members[name];
            if (t->members[name] && (options.flags & LARDER_SCAN_ALL_STATES ||
                                     c->m->documents[name].state == LARDER_DOCUMENT_FOUND))
                expected.names[expected.count++] = name;
        }
        status = MIRROR_CALL(larder_target_document_count(c->txn, id, &count, &c->error));
        if (!expect(c, status, LARDER_OK, "target_document_count", which)) return;
        require(c, count == members, "documents of target", which);
        larder_scan *scan;
        status = MIRROR_CALL(larder_target_scan(c->txn, id, &options, &scan, &c->error));
        if (!expect(c, status, LARDER_OK, "target_scan", which)) return;
        walk(c, scan, &expected, NO_USER, options.flags & LARDER_SCAN_KEYS_ONLY, false, true,
             "scan of a target");
    }
    if (c->status != 0) return;
    larder_target none = {.struct_bytes = sizeof none};
    status = MIRROR_CALL(larder_target_next(c->txn, after, &none, &c->error));
    if (after != INT32_MAX && !expect(c, status, LARDER_END, "target_next at the end", 0)) return;
    int32_t highest = -1;
    status = MIRROR_CALL(larder_target_highest_id(c->txn, &highest, &c->error));
    if (!expect(c, status, LARDER_OK, "target_highest_id", 0)) return;
    require(c, highest == c->m->highest_target_id, "highest target id", highest);
    for (int canonical = 0; canonical < MIRROR_CANONICALS; canonical++) {
        int32_t ids[MIRROR_TARGETS];
        size_t count = 0, want = 0;
        status = MIRROR_CALL(larder_target_find(c->txn, mirror_canonical(canonical), ids,
                                                MIRROR_TARGETS, &count, &c->error));
        if (!expect(c, status, LARDER_OK, "target_find", canonical)) return;
        for (int which = 0; which < MIRROR_TARGETS; which++) {
            if (!c->m->targets[which].present || c->m->targets[which].canonical != canonical)
                continue;
            if (want < count)
                require(c, ids[want] == mirror_target_id(which), "target by canonical id", which);
            want++;
        }
        require(c, count == want, "targets with canonical id", canonical);
    }
    for (int round = 0; round < 20; round++) {
        int name = (int)below(c, round < 10 ? 24 : MIRROR_NAMES);
        int32_t ids[MIRROR_TARGETS];
        size_t count = 0, want = 0;
        status = MIRROR_CALL(larder_target_find_document(c->txn, mirror_name(name), ids,
                                                         MIRROR_TARGETS, &count, &c->error));
        if (!expect(c, status, LARDER_OK, "target_find_document", name)) return;
        for (int which = 0; which < MIRROR_TARGETS; which++) {
            if (!c->m->targets[which].members[name]) continue;
            if (want < count)
                require(c, ids[want] == mirror_target_id(which), "target of document", name);
            want++;
        }
        require(c, count == want, "targets of document", name);
    }
}

/* ---- named values ---- */

static int by_named(const void *a, const void *b) {
    larder_bytes x = mirror_named(*(const int *)a), y = mirror_named(*(const int *)b);
    size_t shared = x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes;
    int order = memcmp(x.data, y.data, shared);
    return order ? order : (x.size_bytes > y.size_bytes) - (x.size_bytes < y.size_bytes);
}

static void check_named(checker *c) {
    int sorted[MIRROR_NAMED];
    for (int i = 0; i < MIRROR_NAMED; i++)
        sorted[i] = i;
    qsort(sorted, MIRROR_NAMED, sizeof(int), by_named);
    for (int kind = 0; kind < MIRROR_NAMED_KINDS && c->status == 0; kind++) {
        larder_bytes after = {NULL, 0}, name, payload;
        larder_time time;
        int32_t status;
        for (int i = 0; i < MIRROR_NAMED; i++) {
            int which = sorted[i];
            const mirror_named_value *want = &c->m->named[kind][which];
            status = MIRROR_CALL(larder_named_get(c->txn, kind + 1, mirror_named(which), &time,
                                                  &payload, &c->error));
            if (!expect(c, status, want->present ? LARDER_OK : LARDER_NOT_FOUND, "named_get",
                        which))
                return;
            if (!want->present) continue;
            require(c, same_time(time, want->time), "time of named value", which);
            require(c, same_bytes(payload, mirror_blob_bytes(want->payload)),
                    "payload of named value", which);
            status = MIRROR_CALL(
                larder_named_next(c->txn, kind + 1, after, &name, &time, &payload, &c->error));
            if (!expect(c, status, LARDER_OK, "named_next", which)) return;
            require(c, same_bytes(name, mirror_named(which)), "order of named value", which);
            require(c, same_bytes(payload, mirror_blob_bytes(want->payload)),
                    "payload of the next named value", which);
            after = mirror_named(which);
        }
        status = MIRROR_CALL(
            larder_named_next(c->txn, kind + 1, after, &name, &time, &payload, &c->error));
        if (!expect(c, status, LARDER_END, "named_next at the end", kind)) return;
    }
}

/* ---- indexes ---- */

typedef struct entry {
    int name;
    size_t size_bytes;
    uint8_t order[MIRROR_ORDER_MAX];
} entry;

typedef struct entries {
    entry *items;
    size_t count, capacity;
    int name; /* being collected */
} entries;

static void add_entry(void *context, larder_bytes order_bytes) {
    entries *all = context;
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? all->capacity * 2 : 256;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (!all->items) abort();
    }
    entry *e = &all->items[all->count++];
    e->name = all->name;
    e->size_bytes = order_bytes.size_bytes;
    memcpy(e->order, order_bytes.data, order_bytes.size_bytes);
}

static int by_order(const void *a, const void *b) {
    const entry *x = a, *y = b;
    size_t shared = x->size_bytes < y->size_bytes ? x->size_bytes : y->size_bytes;
    int order = memcmp(x->order, y->order, shared);
    if (order == 0) order = (x->size_bytes > y->size_bytes) - (x->size_bytes < y->size_bytes);
    return order ? order : by_name(&x->name, &y->name);
}

static bool has_prefix(const entry *e, larder_bytes prefix) {
    return e->size_bytes >= prefix.size_bytes &&
           memcmp(e->order, prefix.data, prefix.size_bytes) == 0;
}
static int bound_order(const entry *e, larder_bytes bound) {
    size_t shared = e->size_bytes < bound.size_bytes ? e->size_bytes : bound.size_bytes;
    int order = memcmp(e->order, bound.data, shared);
    return order ? order : (e->size_bytes > bound.size_bytes) - (e->size_bytes < bound.size_bytes);
}

/* A bound: the front of an entry at a value's end, so that it is a whole number of values. */
static larder_bytes some_bound(checker *c, const entries *all, int index, uint8_t *to) {
    larder_bytes none = {NULL, 0};
    if (all->count == 0 || below(c, 3) == 0) return none;
    const entry *e = &all->items[below(c, all->count)];
    if (e->size_bytes == MIRROR_ORDER_MAX) return none;
    const mirror_index_definition *d = mirror_index(index);
    memcpy(to, e->order, e->size_bytes);
    size_t size = e->size_bytes;
    if (d->segment_count > 1 && below(c, 2)) {
        /* the first value only: the longest value's order bytes that the entry begins with */
        if (c->m->documents[e->name].state != LARDER_DOCUMENT_FOUND) return none;
        larder_record record;
        larder_field field;
        larder_bytes value;
        larder_bytes plain = mirror_blob_bytes(c->m->documents[e->name].plain);
        larder_field_init(&field, d->segments[0].field_path);
        if (larder_record_open(plain, 0, 0, &record, NULL) != LARDER_OK ||
            larder_record_find(&record, &field, &value, NULL) != LARDER_OK)
            return none;
        if (d->segments[0].kind == LARDER_SEGMENT_CONTAINS &&
            larder_value_get_element(value, 0, &value) != LARDER_OK)
            return none;
        size_t needed = 0;
        int32_t direction = d->segments[0].kind == LARDER_SEGMENT_DESCENDING
                                ? LARDER_ORDER_DESCENDING
                                : LARDER_ORDER_ASCENDING;
        if (larder_order_encode(value, direction, to, MIRROR_ORDER_MAX, &needed, NULL) != LARDER_OK)
            return none;
        size = needed;
    }
    larder_bytes bound = {to, size};
    return bound;
}

static bool entry_in_bounds(const entry *e, const larder_scan_options *options) {
    if (options->start.size_bytes > 0) {
        if (options->flags & LARDER_SCAN_START_AFTER && has_prefix(e, options->start)) return false;
        if (bound_order(e, options->start) < 0) return false;
    }
    if (options->end.size_bytes > 0) {
        if (options->flags & LARDER_SCAN_END_AT && has_prefix(e, options->end)) return true;
        if (bound_order(e, options->end) >= 0) return false;
    }
    return true;
}

/* The entries of the documents as the user sees them. collection: -1 for the whole group. */
static void collect_entries(checker *c, int index, int user, int collection, entries *all) {
    for (int name = 0; name < MIRROR_NAMES; name++) {
        int in = mirror_name_collection(name);
        if (!same_bytes(mirror_group(in), mirror_index(index)->group)) continue;
        if (collection >= 0 && in != collection) continue;
        const mirror_overlay *o = overlay_of(c->m, user, name);
        const mirror_document *d = &c->m->documents[name];
        if (o ? !o->plain : d->state != LARDER_DOCUMENT_FOUND) continue;
        all->name = name;
        mirror_index_entries(index, mirror_blob_bytes(o ? o->plain : d->plain), add_entry, all);
    }
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_order);
}

static void collect_overlay_entries(checker *c, int index, int user, entries *all) {
    for (int name = 0; name < MIRROR_NAMES; name++) {
        const mirror_overlay *o = overlay_of(c->m, user, name);
        if (!o || !o->plain ||
            !same_bytes(mirror_group(mirror_name_collection(name)), mirror_index(index)->group))
            continue;
        all->name = name;
        mirror_index_entries(index, mirror_blob_bytes(o->plain), add_entry, all);
    }
}

static void scan_index(checker *c, int index, uint32_t id) {
    larder_scan_options options;
    int user = random_options(c, &options, 63 & ~(uint32_t)LARDER_SCAN_ALL_STATES);
    int collection = -1;
    if (below(c, 2)) {
        do
            collection = (int)below(c, MIRROR_COLLECTIONS);
        while (!same_bytes(mirror_group(collection), mirror_index(index)->group));
    }
    entries all = {0};
    collect_entries(c, index, user, collection, &all);
    uint8_t start[MIRROR_ORDER_MAX], end[MIRROR_ORDER_MAX];
    options.start = some_bound(c, &all, index, start);
    options.end = some_bound(c, &all, index, end);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++)
        if (entry_in_bounds(&all.items[i], &options)) {
            if (kept != i) all.items[kept] = all.items[i];
            kept++;
        }
    all.count = kept;
    bool backwards = options.flags & LARDER_SCAN_REVERSE;
    larder_bytes whole = {NULL, 0};
    larder_scan *scan;
    int32_t status = MIRROR_CALL(
        larder_index_scan(c->txn, id, collection < 0 ? whole : mirror_collection(collection),
                          &options, &scan, &c->error));
    if (!expect(c, status, LARDER_OK, "index_scan", index)) goto done;
    size_t at = 0;
    larder_document document;
    while ((status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error))) == LARDER_OK) {
        if (at == all.count) {
            at++;
            break;
        }
        const entry *want = &all.items[backwards ? all.count - 1 - at : at];
        int name = name_of(&document);
        larder_bytes order, cut = {want->order, want->size_bytes};
        if (!expect(c, MIRROR_CALL(larder_index_scan_entry(scan, &order, &c->error)), LARDER_OK,
                    "index_scan_entry", index))
            break;
        if (name != want->name || !same_bytes(order, cut)) {
            larder_bytes a = mirror_name(name < 0 ? 0 : name), b = mirror_name(want->name);
            mirror_problem(
                "at commit %llu: index %d, flags %u, place %zu of %zu: %.*s (%zu) instead "
                "of %.*s (%zu)",
                (unsigned long long)c->m->sequence, index, options.flags, at, all.count,
                a.size_bytes < 60 ? (int)a.size_bytes : 60, (const char *)a.data, order.size_bytes,
                b.size_bytes < 60 ? (int)b.size_bytes : 60, (const char *)b.data, cut.size_bytes);
            status = LARDER_END;
            at = all.count;
            break;
        }
        if (!check_document(c, &document, user, name, options.flags & LARDER_SCAN_KEYS_ONLY)) break;
        at++;
    }
    larder_scan_close(scan);
    if (at <= all.count && !expect(c, status, LARDER_END, "scan of index", index)) goto done;
    if (at != all.count)
        mirror_problem("at commit %llu: index %d, flags %u, gave %s documents than %zu",
                       (unsigned long long)c->m->sequence, index, options.flags,
                       at < all.count ? "fewer" : "more", all.count);
done:
    free(all.items);
}

static bool same_definition(const larder_index *index, const mirror_index_definition *d) {
    if (!same_bytes(index->group, d->group) || index->segment_count != d->segment_count)
        return false;
    for (size_t s = 0; s < d->segment_count; s++)
        if (!same_bytes(index->segments[s].field_path, d->segments[s].field_path) ||
            index->segments[s].kind != d->segments[s].kind)
            return false;
    return true;
}

/* Documents that two complete indexes of one group both hold, or either, and a set's scan. */
static void check_sets(checker *c, const uint32_t ids[MIRROR_INDEXES]) {
    int first = 2, second = 3 + 2 * (int)below(c, 2);
    if (c->m->indexes[first] != MIRROR_INDEX_COMPLETE ||
        c->m->indexes[second] != MIRROR_INDEX_COMPLETE)
        return;
    bool all = below(c, 2);
    bool in[2][MIRROR_NAMES] = {{false}};
    larder_set *sets[2] = {NULL, NULL};
    larder_bytes whole = {NULL, 0};
    for (int i = 0; i < 2; i++) {
        int index = i ? second : first;
        entries held = {0};
        collect_entries(c, index, NO_USER, -1, &held);
        for (size_t e = 0; e < held.count; e++)
            in[i][held.items[e].name] = true;
        free(held.items);
        larder_scan_options options;
        larder_scan_options_init(&options, sizeof options);
        options.flags = LARDER_SCAN_KEYS_ONLY;
        larder_scan *scan;
        int32_t status = MIRROR_CALL(larder_set_create(c->txn, &sets[i], &c->error));
        if (!expect(c, status, LARDER_OK, "set_create", i)) goto done;
        status =
            MIRROR_CALL(larder_index_scan(c->txn, ids[index], whole, &options, &scan, &c->error));
        if (!expect(c, status, LARDER_OK, "index_scan", index)) goto done;
        status = MIRROR_CALL(larder_set_add_scan(sets[i], scan, &c->error));
        larder_scan_close(scan);
        if (!expect(c, status, LARDER_OK, "set_add_scan", index)) goto done;
    }
    int32_t status = all ? MIRROR_CALL(larder_set_union(sets[0], sets[1], &c->error))
                         : MIRROR_CALL(larder_set_intersect(sets[0], sets[1], &c->error));
    if (!expect(c, status, LARDER_OK, all ? "set_union" : "set_intersect", 0)) goto done;
    list expected = {.count = 0};
    for (int name = 0; name < MIRROR_NAMES; name++)
        if (all ? in[0][name] || in[1][name] : in[0][name] && in[1][name])
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), by_collection_then_id);
    require(c, larder_set_count(sets[0]) == (size_t)expected.count, "documents of the set", all);
    larder_scan *scan;
    status = MIRROR_CALL(larder_set_scan(sets[0], NULL, &scan, &c->error));
    if (expect(c, status, LARDER_OK, "set_scan", 0))
        walk(c, scan, &expected, NO_USER, false, false, false, "scan of a set");
done:
    larder_set_close(sets[0]);
    larder_set_close(sets[1]);
}

static void check_indexes(checker *c) {
    uint32_t ids[MIRROR_INDEXES] = {0}, after = 0;
    for (;;) {
        larder_index index;
        int32_t status = MIRROR_CALL(larder_index_next(c->txn, after, &index, &c->error));
        if (status == LARDER_END) break;
        if (!expect(c, status, LARDER_OK, "index_next", (int)after)) return;
        after = index.index_id;
        int which = 0;
        while (which < MIRROR_INDEXES && !same_definition(&index, mirror_index(which)))
            which++;
        if (which == MIRROR_INDEXES) {
            require(c, false, "an index outside the mirror", (int)after);
            continue;
        }
        ids[which] = index.index_id;
        require(c, c->m->indexes[which] != MIRROR_INDEX_NONE, "a dropped index", which);
        if (c->m->indexes[which] == MIRROR_INDEX_COMPLETE) {
            require(c, index.complete == 1, "completeness of index", which);
            /* the documents' and those of every user's overlays */
            entries all = {0};
            collect_entries(c, which, NO_USER, -1, &all);
            size_t count = all.count;
            for (int user = 0; user < MIRROR_USERS; user++) {
                all.count = 0;
                collect_overlay_entries(c, which, user, &all);
                count += all.count;
            }
            if (index.entry_count != (int64_t)count)
                mirror_problem("at commit %llu: index %d counts %lld entries instead of %zu",
                               (unsigned long long)c->m->sequence, which,
                               (long long)index.entry_count, count);
            free(all.items);
        }
    }
    for (int which = 0; which < MIRROR_INDEXES && c->status == 0; which++) {
        require(c, (ids[which] != 0) == (c->m->indexes[which] != MIRROR_INDEX_NONE),
                "presence of index", which);
        if (c->m->indexes[which] != MIRROR_INDEX_COMPLETE || ids[which] == 0) continue;
        for (int round = 0; round < 3 && c->status == 0; round++)
            scan_index(c, which, ids[which]);
    }
    if (c->status == 0) check_sets(c, ids);
}

/* ---- counters ---- */

static void check_stat(checker *c) {
    larder_stat stat = {.struct_bytes = sizeof stat};
    int32_t status = MIRROR_CALL(larder_env_stat(c->txn, &stat, &c->error));
    if (!expect(c, status, LARDER_OK, "env_stat", 0)) return;
    int64_t found = 0, absent = 0, pending = 0, raw = 0, stored = 0, overlays = 0, node_writes = 0;
    for (int name = 0; name < MIRROR_NAMES; name++) {
        const mirror_document *d = &c->m->documents[name];
        found += d->state == LARDER_DOCUMENT_FOUND;
        absent += d->state != 0 && d->state != LARDER_DOCUMENT_FOUND;
        larder_document document;
        if (d->state == LARDER_DOCUMENT_FOUND &&
            expect(
                c,
                MIRROR_CALL(larder_document_get(c->txn, mirror_name(name), &document, &c->error)),
                LARDER_OK, "document_get", name)) {
            raw += (int64_t)(document.record.names.size_bytes + document.record.values.size_bytes +
                             document.record.cold_raw_bytes);
            stored += document.stored_bytes;
        }
        for (int user = 0; user < MIRROR_USERS; user++)
            overlays += c->m->overlays[user][name].present;
    }
    for (int b = 0; b < MIRROR_BATCHES; b++)
        pending += c->m->batches[b].present;
    for (int w = 0; w < MIRROR_NODE_WRITES; w++)
        node_writes += c->m->node_writes[w] != NULL;
    require(c, stat.document_count == found, "stat: document count", (int)stat.document_count);
    require(c, stat.absent_count == absent, "stat: absent count", (int)stat.absent_count);
    require(c, stat.pending_batch_count == pending, "stat: pending batches",
            (int)stat.pending_batch_count);
    require(c, stat.raw_record_bytes == raw, "stat: raw record bytes", (int)stat.raw_record_bytes);
    require(c, stat.stored_record_bytes == stored, "stat: stored record bytes",
            (int)stat.stored_record_bytes);
    require(c, (stat.overlays.row_count > 0) == (overlays > 0), "stat: overlay rows",
            (int)stat.overlays.row_count);
    require(c, (stat.mutations.row_count > 0) == (pending + node_writes > 0), "stat: mutation rows",
            (int)stat.mutations.row_count);
    require(c, stat.documents.row_count >= found + absent, "stat: document rows",
            (int)stat.documents.row_count);
    require(c,
            stat.total_bytes == stat.documents.size_bytes + stat.overlays.size_bytes +
                                    stat.mutations.size_bytes + stat.indexes.size_bytes +
                                    stat.targets.size_bytes + stat.nodes.size_bytes +
                                    stat.catalog.size_bytes,
            "stat: total bytes", (int)stat.total_bytes);
    require(c, stat.format_version == larder_format_version(), "stat: format",
            (int)stat.format_version);
}

static void check_nodes(checker *c) {
    if (expect(c, mirror_nodes_verify(c->m, c->txn, &c->error), LARDER_OK, "nodes", 0))
        expect(c, mirror_cache_verify(c->m, c->txn, &c->error), LARDER_OK, "cached nodes", 0);
}

int32_t mirror_verify(const mirror *m, const larder_txn *txn, const mirror_profile *profile) {
    checker *c = malloc(sizeof *c);
    if (!c) abort();
    c->m = m;
    c->txn = txn;
    c->profile = profile;
    c->options = NULL;
    c->random = mirror_random_from(m->sequence, 77);
    c->status = 0;
    memset(&c->error, 0, sizeof c->error);
    void (*const parts[])(checker *) = {check_documents, check_collections, check_mutations,
                                        check_overlays,  check_targets,     check_named,
                                        check_indexes,   check_nodes,       check_stat};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && c->status == 0; i++)
        parts[i](c);
    for (int collection = 0; collection < MIRROR_COLLECTIONS && c->status == 0; collection++) {
        scan_collection(c, collection, false);
        scan_collection(c, collection, true);
        scan_group(c, collection, false);
        scan_group(c, collection, true);
        scan_read_time(c, collection);
    }
    int32_t status = c->status;
    free(c);
    return status;
}

/* ---- eviction ---- */

void mirror_reconcile(mirror *m, const larder_txn *txn) {
    bool pinned[MIRROR_NAMES] = {false};
    mirror_cache_reconcile(m, txn);
    for (int t = 0; t < MIRROR_TARGETS; t++) {
        mirror_target *target = &m->targets[t];
        if (!target->present) continue;
        larder_target stored = {.struct_bytes = sizeof stored};
        int32_t status = larder_target_get(txn, mirror_target_id(t), &stored, NULL);
        if (status == LARDER_NOT_FOUND) {
            if (m->target_pins[t] > 0) mirror_problem("pinned target %d was evicted", t);
            mirror_blob_release(target->resume_token);
            mirror_blob_release(target->query);
            memset(target, 0, sizeof *target);
            continue;
        }
        bool held[MIRROR_NAMES] = {false};
        larder_scan_options options;
        larder_scan_options_init(&options, sizeof options);
        options.flags = LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES;
        larder_scan *scan;
        larder_document document;
        if (status != LARDER_OK ||
            larder_target_scan(txn, mirror_target_id(t), &options, &scan, NULL) != LARDER_OK) {
            mirror_problem("target %d cannot be read", t);
            continue;
        }
        while (larder_scan_next(scan, &document, NULL) == LARDER_OK) {
            int name = name_of(&document);
            if (name >= 0) held[name] = true;
        }
        larder_scan_close(scan);
        for (int name = 0; name < MIRROR_NAMES; name++) {
            if (target->members[name] && !held[name]) target->members[name] = false;
            if (target->members[name] && m->target_pins[t] > 0) pinned[name] = true;
        }
    }
    for (int name = 0; name < MIRROR_NAMES; name++) {
        mirror_document *d = &m->documents[name];
        larder_document document;
        if (d->state == 0 ||
            larder_document_get(txn, mirror_name(name), &document, NULL) != LARDER_NOT_FOUND)
            continue;
        if (d->held) mirror_problem("document %d was evicted under a pending mutation", name);
        if (m->pins[name] > 0) mirror_problem("pinned document %d was evicted", name);
        if (pinned[name]) mirror_problem("document %d of a pinned target was evicted", name);
        mirror_blob_release(d->plain);
        memset(d, 0, sizeof *d);
    }
}

/* ---- check ---- */

static int32_t report_problem(void *context, const char *table, larder_bytes key,
                              const char *message) {
    (void)context;
    char hex[129] = "";
    const uint8_t *bytes = key.data;
    for (size_t i = 0; i < key.size_bytes && i < 64; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    mirror_problem("check: %s %s: %s", table, hex, message);
    return 0;
}

int32_t mirror_check(const larder_txn *txn) {
    larder_check_report report = {.struct_bytes = sizeof report};
    larder_error error = {0};
    int32_t status = MIRROR_CALL(larder_check(txn, report_problem, NULL, NULL, &report, &error));
    if (status != LARDER_OK && report.problem_count == 0)
        mirror_problem("check ended with %s: %s", larder_status_name(status), error.message);
    return status;
}

/* mirror_documents.c - compares documents, by name and by scan, and collections with the mirror. */
#include "mirror_checker.h"

#include <stdlib.h>
#include <string.h>

/* ---- documents, by name and by scan ---- */

void mirror_check_documents(checker *c) {
    for (int name = 0; name < MIRROR_NAMES && c->status == 0; name++) {
        larder_document document;
        int32_t status =
            MIRROR_CALL(larder_document_get(c->txn, mirror_name(name), &document, &c->error));
        int32_t state = c->m->documents[name].state;
        if (checker_expect(c, status, state ? LARDER_OK : LARDER_NOT_FOUND, "document_get", name) &&
            state)
            checker_document(c, &document, CHECKER_NO_USER, name, false);
        int user = (int)checker_below(c, MIRROR_USERS);
        status = MIRROR_CALL(larder_document_get_local(c->txn, mirror_user(user), mirror_name(name),
                                                       &document, &c->error));
        state = checker_state_of(c->m, user, name);
        if (checker_expect(c, status, state ? LARDER_OK : LARDER_NOT_FOUND, "document_get_local",
                           name) &&
            state)
            checker_document(c, &document, user, name, false);
    }
}

static bool wanted(const checker *c, uint32_t flags, int user, int name) {
    int32_t state = checker_state_of(c->m, user, name);
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
    int user = checker_random_options(c, &options, bounded ? 63 : 15);
    if (bounded) {
        if (checker_below(c, 4)) options.start = mirror_id((int)checker_below(c, MIRROR_IDS));
        if (checker_below(c, 4)) options.end = mirror_id((int)checker_below(c, MIRROR_IDS));
    }
    checker_list expected = {.count = 0};
    for (int name = collection * MIRROR_IDS; name < (collection + 1) * MIRROR_IDS; name++)
        if (wanted(c, options.flags, user, name) &&
            in_bounds(&options, mirror_id(name), mirror_segment_compare))
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), checker_by_name);
    if (options.flags & LARDER_SCAN_REVERSE) checker_reverse(&expected);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(
        larder_scan_collection(c->txn, mirror_collection(collection), &options, &scan, &c->error));
    c->options = &options;
    if (checker_expect(c, status, LARDER_OK, "scan_collection", collection))
        checker_walk(c, scan, &expected, user, options.flags & LARDER_SCAN_KEYS_ONLY, true, false,
                     "scan of a collection");
    c->options = NULL;
}

static void scan_group(checker *c, int collection, bool bounded) {
    larder_scan_options options;
    int user = checker_random_options(c, &options, bounded ? 63 : 15);
    if (bounded) {
        if (checker_below(c, 4)) options.start = mirror_name((int)checker_below(c, MIRROR_NAMES));
        if (checker_below(c, 4)) options.end = mirror_name((int)checker_below(c, MIRROR_NAMES));
    }
    larder_bytes group = mirror_group(collection);
    checker_list expected = {.count = 0};
    for (int name = 0; name < MIRROR_NAMES; name++)
        if (checker_same_bytes(mirror_group(mirror_name_collection(name)), group) &&
            wanted(c, options.flags, user, name) &&
            in_bounds(&options, mirror_name(name), mirror_path_compare))
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), checker_by_name);
    if (options.flags & LARDER_SCAN_REVERSE) checker_reverse(&expected);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(larder_scan_group(c->txn, group, &options, &scan, &c->error));
    c->options = &options;
    if (checker_expect(c, status, LARDER_OK, "scan_group", collection))
        checker_walk(c, scan, &expected, user, options.flags & LARDER_SCAN_KEYS_ONLY, true, false,
                     "scan of a group");
    c->options = NULL;
}

static const mirror *sorting_mirror; /* for qsort's comparison */

static int by_read_time(const void *a, const void *b) {
    int order = checker_time_order(sorting_mirror->documents[*(const int *)a].read_time,
                                   sorting_mirror->documents[*(const int *)b].read_time);
    return order ? order : checker_by_name(a, b);
}

static void scan_read_time(checker *c, int collection) {
    larder_scan_options options;
    checker_random_options(c, &options, LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES);
    larder_time since = {(int64_t)(1699999990 + checker_below(c, 55)),
                         (int32_t)(checker_below(c, 4) * 250000000), 0};
    larder_bytes since_id = {NULL, 0};
    if (checker_below(c, 3))
        since =
            c->m->documents[collection * MIRROR_IDS + (int)checker_below(c, MIRROR_IDS)].read_time;
    if (checker_below(c, 2)) since_id = mirror_id((int)checker_below(c, MIRROR_IDS));
    checker_list expected = {.count = 0};
    for (int name = collection * MIRROR_IDS; name < (collection + 1) * MIRROR_IDS; name++) {
        if (!wanted(c, options.flags, CHECKER_NO_USER, name)) continue;
        int order = checker_time_order(c->m->documents[name].read_time, since);
        if (order > 0 || (order == 0 && (since_id.size_bytes == 0 ||
                                         mirror_segment_compare(mirror_id(name), since_id) > 0)))
            expected.names[expected.count++] = name;
    }
    sorting_mirror = c->m;
    qsort(expected.names, (size_t)expected.count, sizeof(int), by_read_time);
    larder_scan *scan;
    int32_t status = MIRROR_CALL(larder_scan_read_time(c->txn, mirror_collection(collection), since,
                                                       since_id, &options, &scan, &c->error));
    if (checker_expect(c, status, LARDER_OK, "scan_read_time", collection))
        checker_walk(c, scan, &expected, CHECKER_NO_USER, options.flags & LARDER_SCAN_KEYS_ONLY,
                     true, false, "scan by read time");
}

void mirror_check_scans(checker *c) {
    for (int collection = 0; collection < MIRROR_COLLECTIONS && c->status == 0; collection++) {
        scan_collection(c, collection, false);
        scan_collection(c, collection, true);
        scan_group(c, collection, false);
        scan_group(c, collection, true);
        scan_read_time(c, collection);
    }
}

/* ---- collections ---- */

void mirror_check_collections(checker *c) {
    int64_t found[MIRROR_COLLECTIONS] = {0}, known[MIRROR_COLLECTIONS] = {0};
    for (int name = 0; name < MIRROR_NAMES; name++) {
        found[mirror_name_collection(name)] += c->m->documents[name].state == LARDER_DOCUMENT_FOUND;
        known[mirror_name_collection(name)] += c->m->documents[name].state != 0;
    }
    bool seen[MIRROR_COLLECTIONS] = {false};
    larder_scan *scan;
    larder_bytes all = {NULL, 0};
    int32_t status = MIRROR_CALL(larder_collection_scan(c->txn, all, &scan, &c->error));
    if (!checker_expect(c, status, LARDER_OK, "collection_scan", 0)) return;
    int last = -1;
    for (;;) {
        larder_collection collection;
        status = MIRROR_CALL(larder_collection_next(scan, &collection, &c->error));
        if (status == LARDER_END) break;
        if (!checker_expect(c, status, LARDER_OK, "collection_next", 0)) break;
        int which = 0;
        while (which < MIRROR_COLLECTIONS &&
               !checker_same_bytes(mirror_collection(which), collection.path))
            which++;
        if (which == MIRROR_COLLECTIONS) {
            checker_require(c, false, "a collection outside the mirror", 0);
            continue;
        }
        seen[which] = true;
        checker_require(c, collection.document_count == found[which],
                        "document count of collection", which);
        checker_require(c, (collection.size_bytes > 0) == (known[which] > 0), "size of collection",
                        which);
        if (last >= 0)
            checker_require(c, mirror_path_compare(mirror_collection(last), collection.path) < 0,
                            "order of collection", which);
        last = which;
    }
    larder_scan_close(scan);
    for (int which = 0; which < MIRROR_COLLECTIONS && c->status == 0; which++) {
        checker_require(c, seen[which] || known[which] == 0, "missing collection", which);
        larder_collection collection;
        status = MIRROR_CALL(
            larder_collection_get(c->txn, mirror_collection(which), &collection, &c->error));
        if (status == LARDER_NOT_FOUND && known[which] == 0) continue;
        if (checker_expect(c, status, LARDER_OK, "collection_get", which))
            checker_require(c, collection.document_count == found[which], "count of collection",
                            which);
    }
}

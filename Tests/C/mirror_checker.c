/* mirror_checker.c - the comparison of documents and of scans with the mirror (mirror_checker.h). */
#include "mirror_checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool checker_expect(checker *c, int32_t status, int32_t expected, const char *what, int which) {
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

uint64_t checker_below(checker *c, uint64_t bound) {
    return mirror_random_below(&c->random, bound);
}

bool checker_same_bytes(larder_bytes a, larder_bytes b) {
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}
bool checker_same_time(larder_time a, larder_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}
int checker_time_order(larder_time a, larder_time b) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds ? -1 : 1;
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds;
}

void checker_require(checker *c, bool condition, const char *what, int which) {
    if (!condition)
        mirror_problem("at commit %llu: %s %d", (unsigned long long)c->m->sequence, what, which);
}

/* ---- one document ---- */

bool checker_record(checker *c, const larder_record *record, const mirror_blob *plain,
                    const char *what, int name) {
    size_t needed = 0;
    int32_t status =
        MIRROR_CALL(larder_record_copy(record, c->buffer, sizeof c->buffer, &needed, &c->error));
    if (!checker_expect(c, status, LARDER_OK, "record_copy of", name)) return false;
    larder_bytes copy = {c->buffer, needed};
    checker_require(c, checker_same_bytes(copy, mirror_blob_bytes(plain)), what, name);
    return true;
}

const mirror_overlay *checker_overlay_of(const mirror *m, int user, int name) {
    if (user == CHECKER_NO_USER || !m->overlays[user][name].present) return NULL;
    return &m->overlays[user][name];
}

/* The state of the document as the user sees it; 0: nothing known. */
int32_t checker_state_of(const mirror *m, int user, int name) {
    const mirror_overlay *overlay = checker_overlay_of(m, user, name);
    if (overlay) return overlay->plain ? LARDER_DOCUMENT_FOUND : LARDER_DOCUMENT_ABSENT;
    return m->documents[name].state;
}

bool checker_document(checker *c, const larder_document *document, int user, int name,
                      bool keys_only) {
    checker_require(c, checker_same_bytes(document->id, mirror_id(name)), "id of", name);
    checker_require(
        c,
        checker_same_bytes(document->collection, mirror_collection(mirror_name_collection(name))),
        "collection of", name);
    if (keys_only) {
        checker_require(c, document->state == LARDER_DOCUMENT_NOT_READ, "keys-only state of", name);
        return true;
    }
    checker_require(c, document->state == checker_state_of(c->m, user, name), "state of", name);
    const mirror_overlay *overlay = checker_overlay_of(c->m, user, name);
    if (overlay) {
        checker_require(c, document->flags & LARDER_DOCUMENT_LOCAL_MUTATIONS,
                        "flags of the view of", name);
        checker_require(c, checker_same_time(document->version, (larder_time){0, 0, 0}),
                        "version of the view of", name);
        checker_require(c, document->batch_id == overlay->batch_id, "batch id of the view of",
                        name);
        if (overlay->plain)
            return checker_record(c, &document->record, overlay->plain, "record of the view of",
                                  name);
        return true;
    }
    const mirror_document *d = &c->m->documents[name];
    checker_require(c, document->flags == d->flags, "flags of", name);
    checker_require(c, checker_same_time(document->version, d->version), "version of", name);
    checker_require(c, checker_same_time(document->create_time, d->create_time), "create time of",
                    name);
    checker_require(c, checker_same_time(document->read_time, d->read_time), "read time of", name);
    checker_require(c, document->stored_bytes > 0, "stored bytes of", name);
    if (d->state == LARDER_DOCUMENT_FOUND)
        return checker_record(c, &document->record, d->plain, "record of", name);
    return true;
}

/* ---- lists of names ---- */

int checker_by_name(const void *a, const void *b) {
    return mirror_path_compare(mirror_name(*(const int *)a), mirror_name(*(const int *)b));
}
int checker_by_collection_then_id(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    int order = mirror_path_compare(mirror_collection(mirror_name_collection(x)),
                                    mirror_collection(mirror_name_collection(y)));
    return order ? order : mirror_segment_compare(mirror_id(x), mirror_id(y));
}

int checker_name_of(const larder_document *document) {
    for (int collection = 0; collection < MIRROR_COLLECTIONS; collection++) {
        if (!checker_same_bytes(mirror_collection(collection), document->collection)) continue;
        for (int i = 0; i < MIRROR_IDS; i++)
            if (checker_same_bytes(mirror_id(i), document->id)) return collection * MIRROR_IDS + i;
    }
    return -1;
}

void checker_reverse(checker_list *l) {
    for (int i = 0; i < l->count / 2; i++) {
        int swap = l->names[i];
        l->names[i] = l->names[l->count - 1 - i];
        l->names[l->count - 1 - i] = swap;
    }
}

void checker_walk(checker *c, larder_scan *scan, const checker_list *expected, int user,
                  bool keys_only, bool in_order, bool not_stored, const char *what) {
    char note[120];
    if (c->options) {
        snprintf(note, sizeof note, "%s (flags %u, bounds %.*s%s .. %.*s%s)", what,
                 c->options->flags, CHECKER_SHOWN(c->options->start),
                 CHECKER_SHOWN(c->options->end));
        what = note;
    }
    checker_list given = {.count = 0};
    for (;;) {
        larder_document document;
        int32_t status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error));
        if (status == LARDER_END) break;
        if (!checker_expect(c, status, LARDER_OK, what, given.count)) goto done;
        int name = checker_name_of(&document);
        if (name < 0 || given.count == MIRROR_NAMES) {
            mirror_problem(
                "at commit %llu: %s gave a document that is not in the mirror: %.*s/%.*s",
                (unsigned long long)c->m->sequence, what, (int)document.collection.size_bytes,
                (const char *)document.collection.data, (int)document.id.size_bytes,
                (const char *)document.id.data);
            goto done;
        }
        given.names[given.count++] = name;
        if (not_stored && checker_state_of(c->m, user, name) == 0)
            checker_require(c, document.state == LARDER_DOCUMENT_NOT_READ,
                            "state of a missing document", name);
        else if (!checker_document(c, &document, user, name, keys_only))
            goto done;
    }
    if (given.count != expected->count)
        mirror_problem("at commit %llu: %s gave %d documents instead of %d",
                       (unsigned long long)c->m->sequence, what, given.count, expected->count);
    checker_list want = *expected;
    if (!in_order) {
        for (int i = 1; i < given.count; i++)
            if (mirror_name_collection(given.names[i - 1]) ==
                mirror_name_collection(given.names[i]))
                checker_require(c, checker_by_name(&given.names[i - 1], &given.names[i]) < 0, what,
                                i);
        qsort(given.names, (size_t)given.count, sizeof(int), checker_by_name);
        qsort(want.names, (size_t)want.count, sizeof(int), checker_by_name);
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

int checker_random_options(checker *c, larder_scan_options *options, uint32_t allowed) {
    larder_scan_options_init(options, sizeof *options);
    options->flags = (uint32_t)checker_below(c, 64) & allowed;
    if (!(options->flags & LARDER_SCAN_LOCAL_VIEW)) return CHECKER_NO_USER;
    int user = (int)checker_below(c, MIRROR_USERS);
    options->user = mirror_user(user);
    return user;
}

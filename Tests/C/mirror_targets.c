/* mirror_targets.c - compares targets and named values with the mirror. */
#include "mirror_checker.h"

#include <stdlib.h>
#include <string.h>

/* ---- targets ---- */

static void check_target(checker *c, const larder_target *target, int which) {
    const mirror_target *t = &c->m->targets[which];
    checker_require(c, target->target_id == mirror_target_id(which), "id of target", which);
    checker_require(c, target->flags == t->flags, "flags of target", which);
    checker_require(c, target->sequence_number == t->sequence_number, "sequence number of target",
                    which);
    checker_require(c, checker_same_time(target->snapshot_version, t->snapshot_version),
                    "version of target", which);
    checker_require(c, checker_same_time(target->limbo_free_version, t->limbo_free_version),
                    "limbo-free version of target", which);
    checker_require(c, checker_same_bytes(target->resume_token, mirror_blob_bytes(t->resume_token)),
                    "token of target", which);
    checker_require(c, checker_same_bytes(target->canonical_id, mirror_canonical(t->canonical)),
                    "canonical id of target", which);
    checker_require(c, checker_same_bytes(target->query, mirror_blob_bytes(t->query)),
                    "query of target", which);
}

void mirror_check_targets(checker *c) {
    int32_t after = 0, status;
    for (int which = 0; which < MIRROR_TARGETS && c->status == 0; which++) {
        const mirror_target *t = &c->m->targets[which];
        int32_t id = mirror_target_id(which);
        larder_target target = {.struct_bytes = sizeof target};
        status = MIRROR_CALL(larder_target_get(c->txn, id, &target, &c->error));
        if (!checker_expect(c, status, t->present ? LARDER_OK : LARDER_NOT_FOUND, "target_get",
                            which))
            return;
        if (!t->present) continue;
        check_target(c, &target, which);
        target.struct_bytes = sizeof target;
        status = MIRROR_CALL(larder_target_next(c->txn, after, &target, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "target_next", which)) return;
        check_target(c, &target, which);
        after = id;
        int64_t count = -1, members = 0;
        checker_list expected = {.count = 0};
        larder_scan_options options;
        checker_random_options(c, &options, LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES);
        for (int name = 0; name < MIRROR_NAMES; name++) {
            members += t->members[name];
            if (t->members[name] && (options.flags & LARDER_SCAN_ALL_STATES ||
                                     c->m->documents[name].state == LARDER_DOCUMENT_FOUND))
                expected.names[expected.count++] = name;
        }
        status = MIRROR_CALL(larder_target_document_count(c->txn, id, &count, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "target_document_count", which)) return;
        checker_require(c, count == members, "documents of target", which);
        larder_scan *scan;
        status = MIRROR_CALL(larder_target_scan(c->txn, id, &options, &scan, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "target_scan", which)) return;
        checker_walk(c, scan, &expected, CHECKER_NO_USER, options.flags & LARDER_SCAN_KEYS_ONLY,
                     false, true, "scan of a target");
    }
    if (c->status != 0) return;
    larder_target none = {.struct_bytes = sizeof none};
    status = MIRROR_CALL(larder_target_next(c->txn, after, &none, &c->error));
    if (after != INT32_MAX && !checker_expect(c, status, LARDER_END, "target_next at the end", 0))
        return;
    int32_t highest = -1;
    status = MIRROR_CALL(larder_target_highest_id(c->txn, &highest, &c->error));
    if (!checker_expect(c, status, LARDER_OK, "target_highest_id", 0)) return;
    checker_require(c, highest == c->m->highest_target_id, "highest target id", highest);
    for (int canonical = 0; canonical < MIRROR_CANONICALS; canonical++) {
        int32_t ids[MIRROR_TARGETS];
        size_t count = 0, want = 0;
        status = MIRROR_CALL(larder_target_find(c->txn, mirror_canonical(canonical), ids,
                                                MIRROR_TARGETS, &count, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "target_find", canonical)) return;
        for (int which = 0; which < MIRROR_TARGETS; which++) {
            if (!c->m->targets[which].present || c->m->targets[which].canonical != canonical)
                continue;
            if (want < count)
                checker_require(c, ids[want] == mirror_target_id(which), "target by canonical id",
                                which);
            want++;
        }
        checker_require(c, count == want, "targets with canonical id", canonical);
    }
    for (int round = 0; round < 20; round++) {
        int name = (int)checker_below(c, round < 10 ? 24 : MIRROR_NAMES);
        int32_t ids[MIRROR_TARGETS];
        size_t count = 0, want = 0;
        status = MIRROR_CALL(larder_target_find_document(c->txn, mirror_name(name), ids,
                                                         MIRROR_TARGETS, &count, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "target_find_document", name)) return;
        for (int which = 0; which < MIRROR_TARGETS; which++) {
            if (!c->m->targets[which].members[name]) continue;
            if (want < count)
                checker_require(c, ids[want] == mirror_target_id(which), "target of document",
                                name);
            want++;
        }
        checker_require(c, count == want, "targets of document", name);
    }
}

/* ---- named values ---- */

static int by_named(const void *a, const void *b) {
    larder_bytes x = mirror_named(*(const int *)a), y = mirror_named(*(const int *)b);
    size_t shared = x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes;
    int order = memcmp(x.data, y.data, shared);
    return order ? order : (x.size_bytes > y.size_bytes) - (x.size_bytes < y.size_bytes);
}

void mirror_check_named(checker *c) {
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
            if (!checker_expect(c, status, want->present ? LARDER_OK : LARDER_NOT_FOUND,
                                "named_get", which))
                return;
            if (!want->present) continue;
            checker_require(c, checker_same_time(time, want->time), "time of named value", which);
            checker_require(c, checker_same_bytes(payload, mirror_blob_bytes(want->payload)),
                            "payload of named value", which);
            status = MIRROR_CALL(
                larder_named_next(c->txn, kind + 1, after, &name, &time, &payload, &c->error));
            if (!checker_expect(c, status, LARDER_OK, "named_next", which)) return;
            checker_require(c, checker_same_bytes(name, mirror_named(which)),
                            "order of named value", which);
            checker_require(c, checker_same_bytes(payload, mirror_blob_bytes(want->payload)),
                            "payload of the next named value", which);
            after = mirror_named(which);
        }
        status = MIRROR_CALL(
            larder_named_next(c->txn, kind + 1, after, &name, &time, &payload, &c->error));
        if (!checker_expect(c, status, LARDER_END, "named_next at the end", kind)) return;
    }
}

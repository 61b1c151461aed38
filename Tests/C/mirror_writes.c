/* mirror_writes.c - compares pending mutations and overlays with the mirror. */
#include "mirror_checker.h"

#include <stdlib.h>
#include <string.h>

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
    checker_require(c, batch->batch_id == want->batch_id, "batch id", id);
    checker_require(c, checker_same_time(batch->local_write_time, want->local_write_time),
                    "write time of batch", id);
    checker_require(c, batch->attempt_count == want->attempt_count, "attempts of batch", id);
    checker_require(c, checker_same_time(batch->last_attempt, want->last_attempt),
                    "last attempt of batch", id);
    checker_require(c, checker_same_bytes(batch->last_error, mirror_blob_bytes(want->last_error)),
                    "last error of batch", id);
    checker_require(c, checker_same_bytes(batch->payload, mirror_blob_bytes(want->payload)),
                    "payload of batch", id);
    checker_require(c, (int)batch->document_count == want->name_count, "documents of batch", id);
    for (int i = 0; i < want->name_count; i++) {
        larder_mutation_document document;
        int32_t status = MIRROR_CALL(larder_batch_get_document(batch, (size_t)i, &document));
        if (!checker_expect(c, status, LARDER_OK, "batch_get_document", id)) return;
        checker_require(c, checker_same_bytes(document.name, mirror_name(want->names[i])),
                        "a document of batch", id);
        checker_require(c, checker_same_time(document.base_version, want->base_versions[i]),
                        "a base version of batch", id);
    }
    larder_mutation_document beyond;
    checker_require(
        c, larder_batch_get_document(batch, (size_t)want->name_count, &beyond) != LARDER_OK,
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
            checker_require(c, ids[at] == batch->batch_id, what, name >= 0 ? name : collection);
        at++;
    }
    checker_require(c, at == count, what, name >= 0 ? name : collection);
}

void mirror_check_mutations(checker *c) {
    for (int user = 0; user < MIRROR_USERS && c->status == 0; user++) {
        larder_bytes text = mirror_user(user);
        int64_t after = 0, count = 0, stored_count = -1;
        const mirror_batch *want;
        int32_t status;
        while ((want = batch_after(c->m, user, after))) {
            larder_batch batch;
            status = MIRROR_CALL(larder_mutation_next(c->txn, text, after, &batch, &c->error));
            if (!checker_expect(c, status, LARDER_OK, "mutation_next after", (int)after)) return;
            check_batch(c, &batch, want);
            status =
                MIRROR_CALL(larder_mutation_get(c->txn, text, want->batch_id, &batch, &c->error));
            if (!checker_expect(c, status, LARDER_OK, "mutation_get", (int)want->batch_id)) return;
            check_batch(c, &batch, want);
            after = want->batch_id;
            count++;
        }
        larder_batch none;
        status = MIRROR_CALL(larder_mutation_next(c->txn, text, after, &none, &c->error));
        if (!checker_expect(c, status, LARDER_END, "mutation_next behind", (int)after)) return;
        status = MIRROR_CALL(larder_mutation_get(c->txn, text, after + 1, &none, &c->error));
        if (!checker_expect(c, status, LARDER_NOT_FOUND, "mutation_get of nothing", 0)) return;
        status = MIRROR_CALL(larder_mutation_count(c->txn, text, &stored_count, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "mutation_count", user)) return;
        checker_require(c, stored_count == count, "batches of user", user);
        for (int round = 0; round < 12; round++) {
            int64_t ids[MIRROR_BATCHES];
            size_t id_count = 0, capacity = (size_t)checker_below(c, 4) == 0 ? 1 : MIRROR_BATCHES;
            int name = (int)checker_below(c, MIRROR_NAMES);
            const mirror_batch *some = &c->m->batches[checker_below(c, MIRROR_BATCHES)];
            if (some->present) name = some->names[0];
            for (int64_t id = 0; id_count < MIRROR_BATCHES; ids[id_count++] = id) {
                status = MIRROR_CALL(larder_mutation_next_touching(c->txn, text, mirror_name(name),
                                                                   id, &id, &c->error));
                if (status == LARDER_END) break;
                if (!checker_expect(c, status, LARDER_OK, "mutation_next_touching", name)) return;
            }
            check_ids(c, user, ids, id_count, MIRROR_BATCHES, name, -1, "batches of document");
            int collection = mirror_name_collection(name);
            status = MIRROR_CALL(larder_mutation_find_collection(
                c->txn, text, mirror_collection(collection), ids, capacity, &id_count, &c->error));
            if (!checker_expect(c, status, LARDER_OK, "mutation_find_collection", collection))
                return;
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
        if (!checker_expect(c, status, LARDER_OK, "mutation_next_user", user)) return;
        checker_require(c, checker_same_bytes(user_text, mirror_user(user)), "order of user", user);
        if (user_text.size_bytes > sizeof kept) return;
        if (user_text.size_bytes) memcpy(kept, user_text.data, user_text.size_bytes);
        after = (larder_bytes){kept, user_text.size_bytes};
        first = false;
    }
    int32_t status = MIRROR_CALL(
        larder_mutation_next_user(c->txn, first ? NULL : &after, &user_text, &c->error));
    checker_expect(c, status, LARDER_END, "mutation_next_user at the end", 0);
}

void mirror_check_overlays(checker *c) {
    for (int user = 0; user < MIRROR_USERS; user++) {
        larder_bytes text = mirror_user(user);
        for (int name = 0; name < MIRROR_NAMES && c->status == 0; name++) {
            const mirror_overlay *want = checker_overlay_of(c->m, user, name);
            if (!want && checker_below(c, 8)) continue;
            larder_document view;
            larder_bytes payload = {NULL, 0};
            int32_t status = MIRROR_CALL(
                larder_overlay_get(c->txn, text, mirror_name(name), &view, &payload, &c->error));
            if (checker_expect(c, status, want ? LARDER_OK : LARDER_NOT_FOUND, "overlay_get",
                               name) &&
                want) {
                checker_require(c, checker_same_bytes(payload, mirror_blob_bytes(want->payload)),
                                "payload of the overlay of", name);
                checker_document(c, &view, user, name, false);
            }
        }
        int collection = (int)checker_below(c, MIRROR_COLLECTIONS);
        int64_t since =
            checker_below(c, 2) ? 0 : (int64_t)checker_below(c, (uint64_t)c->m->next_batch_id + 1);
        checker_list expected = {.count = 0}, group = {.count = 0}, batch = {.count = 0};
        const mirror_batch *some = batch_after(c->m, user, since);
        int64_t batch_id = some ? some->batch_id : since;
        for (int name = 0; name < MIRROR_NAMES; name++) {
            const mirror_overlay *o = checker_overlay_of(c->m, user, name);
            if (!o) continue;
            if (o->batch_id == batch_id) batch.names[batch.count++] = name;
            if (o->batch_id <= since) continue;
            if (mirror_name_collection(name) == collection) expected.names[expected.count++] = name;
            if (checker_same_bytes(mirror_group(mirror_name_collection(name)),
                                   mirror_group(collection)))
                group.names[group.count++] = name;
        }
        qsort(expected.names, (size_t)expected.count, sizeof(int), checker_by_name);
        larder_scan *scan;
        int32_t status = MIRROR_CALL(larder_overlay_scan_collection(
            c->txn, text, mirror_collection(collection), since, &scan, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "overlay_scan_collection", collection)) return;
        checker_walk(c, scan, &expected, user, false, true, false,
                     "scan of a collection's overlays");
        status = MIRROR_CALL(larder_overlay_scan_group(c->txn, text, mirror_group(collection),
                                                       since, &scan, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "overlay_scan_group", collection)) return;
        checker_walk(c, scan, &group, user, false, false, false, "scan of a group's overlays");
        status = MIRROR_CALL(larder_overlay_scan_batch(c->txn, text, batch_id, &scan, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "overlay_scan_batch", (int)batch_id)) return;
        larder_document document;
        checker_list given = {.count = 0};
        while ((status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error))) == LARDER_OK &&
               given.count < MIRROR_NAMES)
            given.names[given.count++] = checker_name_of(&document);
        larder_scan_close(scan);
        if (!checker_expect(c, status, LARDER_END, "scan of a batch's overlays", user)) return;
        checker_require(c, given.count == batch.count, "overlays of batch", (int)batch_id);
        for (int i = 0; i < batch.count; i++) {
            bool there = false;
            for (int k = 0; k < given.count; k++)
                there |= given.names[k] == batch.names[i];
            checker_require(c, there, "an overlay of batch", (int)batch_id);
        }
    }
}

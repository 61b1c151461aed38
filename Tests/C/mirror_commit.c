/*
 * mirror_commit.c - random changes, to the mirror and to a store at once.
 *
 * Each operation draws everything it needs first, then calls the store, then changes the
 * mirror, so that the same seed gives the same changes with and without a store.
 */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void (*mirror_guard)(bool enter);

typedef struct step {
    mirror *m;
    larder_txn *txn;
    const mirror_profile *profile;
    mirror_random random;
    larder_error error;
    int32_t status; /* of the call that failed, with faults */
} step;

static uint64_t below(step *s, uint64_t bound) { return mirror_random_below(&s->random, bound); }

/* True when the operation took place, or found what it should. */
static bool expect(step *s, int32_t status, int32_t expected, const char *what) {
    if (status == expected) return true;
    if (s->profile->faults && status < 0) {
        s->status = status;
        return false;
    }
    if (s->profile->lenient && status == LARDER_NOT_FOUND) return true;
    mirror_problem("commit %llu: %s: %s instead of %s (%s)", (unsigned long long)s->m->sequence + 1,
                   what, larder_status_name(status), larder_status_name(expected),
                   status < 0 ? s->error.message : "");
    return false;
}

static larder_time some_time(step *s) {
    larder_time time = {(int64_t)(1700000000 + below(s, 40)), (int32_t)(below(s, 4) * 250000000),
                        0};
    return time;
}

static mirror_blob *some_payload(step *s, size_t bound) {
    size_t size = below(s, bound);
    mirror_blob *blob = malloc(sizeof *blob + size + 8);
    if (!blob) abort();
    blob->references = 1;
    blob->size_bytes = size;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = mirror_random_next(&s->random);
        memcpy(blob->data + i, &word, 8);
    }
    return blob;
}

static void replace(mirror_blob **at, mirror_blob *blob) {
    mirror_blob_release(*at);
    *at = blob;
}

/* Few enough names that the operations meet: mostly of the first collections. */
static int some_name(step *s) {
    if (s->profile->large) return (int)below(s, MIRROR_NAMES);
    return (int)(below(s, 3) ? below(s, MIRROR_NAMES) : below(s, 24));
}

static bool is_pending(const mirror *m, int name) {
    for (int b = 0; b < MIRROR_BATCHES; b++)
        for (int i = 0; m->batches[b].present && i < m->batches[b].name_count; i++)
            if (m->batches[b].names[i] == name) return true;
    return false;
}

/* ---- documents ---- */

static void document_put(step *s, int32_t state) {
    int name = some_name(s);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = state;
    info.version = some_time(s);
    if (below(s, 3) == 0) info.flags = LARDER_DOCUMENT_COMMITTED_MUTATIONS;
    if (below(s, 2))
        info.create_time = some_time(s);
    else if (below(s, 2))
        info.create_time = info.version;
    info.read_time = below(s, 2) ? info.version : some_time(s);
    mirror_blob *plain = NULL;
    if (state == LARDER_DOCUMENT_FOUND)
        plain = mirror_record(&s->random, s->profile->large && below(s, 4) != 0);
    else {
        larder_time none = {0, 0, 0};
        info.create_time = none;
    }
    if (s->txn) {
        int32_t status = MIRROR_CALL(larder_document_put(s->txn, mirror_name(name), &info,
                                                         mirror_blob_bytes(plain), &s->error));
        if (!expect(s, status, LARDER_OK, "document_put")) {
            mirror_blob_release(plain);
            return;
        }
    }
    mirror_document *d = &s->m->documents[name];
    d->state = state;
    d->flags = info.flags;
    d->version = info.version;
    d->create_time = info.create_time;
    d->read_time = info.read_time;
    d->held = is_pending(s->m, name);
    replace(&d->plain, plain);
}

static void document_remove(step *s) {
    int name = some_name(s);
    mirror_document *d = &s->m->documents[name];
    if (s->txn) {
        int32_t status = MIRROR_CALL(larder_document_remove(s->txn, mirror_name(name), &s->error));
        if (!expect(s, status, d->state ? LARDER_OK : LARDER_NOT_FOUND, "document_remove")) return;
    }
    replace(&d->plain, NULL);
    memset(d, 0, sizeof *d);
}

/* ---- mutations and overlays ---- */

static void overlay_put_named(step *s, int user, int name, int64_t batch_id) {
    mirror_blob *plain = below(s, 5) ? mirror_record(&s->random, false) : NULL;
    mirror_blob *payload = some_payload(s, 100);
    if (s->txn) {
        int32_t status = MIRROR_CALL(
            larder_overlay_put(s->txn, mirror_user(user), mirror_name(name), batch_id,
                               mirror_blob_bytes(plain), mirror_blob_bytes(payload), &s->error));
        if (!expect(s, status, LARDER_OK, "overlay_put")) {
            mirror_blob_release(plain);
            mirror_blob_release(payload);
            return;
        }
    }
    mirror_overlay *o = &s->m->overlays[user][name];
    o->present = true;
    o->batch_id = batch_id;
    replace(&o->plain, plain);
    replace(&o->payload, payload);
}

static void overlay_clear(mirror_overlay *o) {
    replace(&o->plain, NULL);
    replace(&o->payload, NULL);
    memset(o, 0, sizeof *o);
}

/* A batch, and an overlay for each document that it touches. */
static void mutation_append(step *s) {
    mirror_batch batch = {.present = true, .batch_id = s->m->next_batch_id};
    batch.user = (int)below(s, MIRROR_USERS);
    batch.local_write_time = some_time(s);
    batch.name_count = 1 + (int)below(s, MIRROR_BATCH_NAMES);
    larder_mutation_document documents[MIRROR_BATCH_NAMES] = {0};
    for (int i = 0; i < batch.name_count; i++) {
        bool known;
        do {
            batch.names[i] = some_name(s);
            known = false;
            for (int k = 0; k < i; k++)
                known |= batch.names[k] == batch.names[i];
        } while (known);
        if (below(s, 2)) batch.base_versions[i] = some_time(s);
        documents[i].name = mirror_name(batch.names[i]);
        documents[i].base_version = batch.base_versions[i];
    }
    batch.payload = some_payload(s, below(s, 10) ? 300 : 9000);
    int slot = 0;
    while (slot < MIRROR_BATCHES && s->m->batches[slot].present)
        slot++;
    if (slot == MIRROR_BATCHES) {
        mirror_blob_release(batch.payload);
        return;
    }
    if (s->txn) {
        int64_t batch_id = 0;
        int32_t status = MIRROR_CALL(larder_mutation_append(
            s->txn, mirror_user(batch.user), batch.local_write_time, documents,
            (size_t)batch.name_count, mirror_blob_bytes(batch.payload), &batch_id, &s->error));
        if (!expect(s, status, LARDER_OK, "mutation_append")) {
            mirror_blob_release(batch.payload);
            return;
        }
        if (batch_id != batch.batch_id)
            mirror_problem("batch id %lld instead of %lld", (long long)batch_id,
                           (long long)batch.batch_id);
    }
    s->m->batches[slot] = batch;
    s->m->next_batch_id++;
    for (int i = 0; i < batch.name_count && s->status == 0; i++)
        if (below(s, 8)) overlay_put_named(s, batch.user, batch.names[i], batch.batch_id);
}

static mirror_batch *some_batch(step *s) {
    int start = (int)below(s, MIRROR_BATCHES);
    for (int i = 0; i < MIRROR_BATCHES; i++) {
        mirror_batch *batch = &s->m->batches[(start + i) % MIRROR_BATCHES];
        if (batch->present) return batch;
    }
    return NULL;
}

static void mutation_remove(step *s) {
    mirror_batch *batch = some_batch(s);
    if (!batch) {
        if (!s->txn) return;
        int32_t status = MIRROR_CALL(larder_mutation_remove(s->txn, mirror_user(1), 5, &s->error));
        expect(s, status, LARDER_NOT_FOUND, "mutation_remove of nothing");
        return;
    }
    int64_t removed = 0;
    for (int n = 0; n < MIRROR_NAMES; n++) {
        mirror_overlay *o = &s->m->overlays[batch->user][n];
        removed += o->present && o->batch_id == batch->batch_id;
    }
    if (s->txn) {
        larder_bytes user = mirror_user(batch->user);
        int32_t status =
            MIRROR_CALL(larder_mutation_remove(s->txn, user, batch->batch_id, &s->error));
        if (!expect(s, status, LARDER_OK, "mutation_remove")) return;
        int64_t count = -1;
        status = MIRROR_CALL(
            larder_overlay_remove_batch(s->txn, user, batch->batch_id, &count, &s->error));
        if (!expect(s, status, LARDER_OK, "overlay_remove_batch")) return;
        if (count != removed)
            mirror_problem("overlay_remove_batch removed %lld overlays instead of %lld",
                           (long long)count, (long long)removed);
    }
    for (int n = 0; n < MIRROR_NAMES; n++) {
        mirror_overlay *o = &s->m->overlays[batch->user][n];
        if (o->present && o->batch_id == batch->batch_id) overlay_clear(o);
    }
    replace(&batch->last_error, NULL);
    replace(&batch->payload, NULL);
    memset(batch, 0, sizeof *batch);
    for (int n = 0; n < MIRROR_NAMES; n++)
        s->m->documents[n].held &= is_pending(s->m, n);
}

static void mutation_attempt(step *s) {
    mirror_batch *batch = some_batch(s);
    larder_time when = some_time(s);
    mirror_blob *text = some_payload(s, 40);
    for (size_t i = 0; i < text->size_bytes; i++)
        text->data[i] = (uint8_t)('a' + text->data[i] % 26);
    if (!batch) {
        mirror_blob_release(text);
        return;
    }
    if (s->txn) {
        int32_t status = MIRROR_CALL(
            larder_mutation_record_attempt(s->txn, mirror_user(batch->user), batch->batch_id, when,
                                           mirror_blob_bytes(text), &s->error));
        if (!expect(s, status, LARDER_OK, "mutation_record_attempt")) {
            mirror_blob_release(text);
            return;
        }
    }
    batch->attempt_count++;
    batch->last_attempt = when;
    replace(&batch->last_error, text);
}

static void overlay_put(step *s) {
    mirror_batch *batch = some_batch(s);
    if (batch)
        overlay_put_named(s, batch->user, batch->names[below(s, (uint64_t)batch->name_count)],
                          batch->batch_id);
}

static void overlay_remove(step *s) {
    int user = (int)below(s, MIRROR_USERS), name = some_name(s);
    int start = name;
    while (below(s, 8) && !s->m->overlays[user][name].present &&
           (name = (name + 1) % MIRROR_NAMES) != start) {
    }
    mirror_overlay *o = &s->m->overlays[user][name];
    if (s->txn) {
        int32_t status = MIRROR_CALL(
            larder_overlay_remove(s->txn, mirror_user(user), mirror_name(name), &s->error));
        if (!expect(s, status, o->present ? LARDER_OK : LARDER_NOT_FOUND, "overlay_remove")) return;
    }
    overlay_clear(o);
}

/* ---- targets ---- */

static void target_put(step *s) {
    int which = (int)below(s, MIRROR_TARGETS);
    larder_target target = {.struct_bytes = sizeof target, .target_id = mirror_target_id(which)};
    int canonical = (int)below(s, MIRROR_CANONICALS);
    target.flags = (uint32_t)below(s, 4);
    target.sequence_number = (int64_t)below(s, 1000);
    target.snapshot_version = some_time(s);
    if (below(s, 2)) target.limbo_free_version = some_time(s);
    mirror_blob *token = some_payload(s, 60), *query = some_payload(s, 400);
    target.resume_token = mirror_blob_bytes(token);
    target.canonical_id = mirror_canonical(canonical);
    target.query = mirror_blob_bytes(query);
    if (s->txn) {
        int32_t status = MIRROR_CALL(larder_target_put(s->txn, &target, &s->error));
        if (!expect(s, status, LARDER_OK, "target_put")) {
            mirror_blob_release(token);
            mirror_blob_release(query);
            return;
        }
    }
    mirror_target *t = &s->m->targets[which];
    t->present = true;
    t->flags = target.flags;
    t->sequence_number = target.sequence_number;
    t->snapshot_version = target.snapshot_version;
    t->limbo_free_version = target.limbo_free_version;
    t->canonical = canonical;
    replace(&t->resume_token, token);
    replace(&t->query, query);
    if (target.target_id > s->m->highest_target_id) s->m->highest_target_id = target.target_id;
}

static void target_clear(mirror_target *t) {
    replace(&t->resume_token, NULL);
    replace(&t->query, NULL);
    memset(t, 0, sizeof *t);
}

static void target_remove(step *s) {
    int which = (int)below(s, MIRROR_TARGETS);
    mirror_target *t = &s->m->targets[which];
    if (s->txn) {
        int32_t status =
            MIRROR_CALL(larder_target_remove(s->txn, mirror_target_id(which), &s->error));
        if (!expect(s, status, t->present ? LARDER_OK : LARDER_NOT_FOUND, "target_remove")) return;
    }
    target_clear(t);
}

static void target_documents(step *s, bool add) {
    int which = (int)below(s, MIRROR_TARGETS), count = 1 + (int)below(s, 6);
    mirror_target *t = &s->m->targets[which];
    for (int i = 0; i < count && s->status == 0; i++) {
        int name = some_name(s);
        if (!add && below(s, 4)) /* rather one that it holds */
            for (int k = 0; k < MIRROR_NAMES && !t->members[name]; k++)
                name = (name + 1) % MIRROR_NAMES;
        if (!t->present || (!add && !t->members[name])) continue;
        if (s->txn) {
            int32_t status =
                add ? MIRROR_CALL(larder_target_add_document(s->txn, mirror_target_id(which),
                                                             mirror_name(name), &s->error))
                    : MIRROR_CALL(larder_target_remove_document(s->txn, mirror_target_id(which),
                                                                mirror_name(name), &s->error));
            if (!expect(s, status, LARDER_OK,
                        add ? "target_add_document" : "target_remove_document"))
                return;
        }
        t->members[name] = add;
    }
}

/* ---- named values ---- */

static void named_put(step *s, int kind, int which, mirror_blob *payload) {
    larder_time time = some_time(s);
    if (s->txn) {
        int32_t status = MIRROR_CALL(larder_named_put(s->txn, kind + 1, mirror_named(which), time,
                                                      mirror_blob_bytes(payload), &s->error));
        if (!expect(s, status, LARDER_OK, "named_put")) {
            mirror_blob_release(payload);
            return;
        }
    }
    mirror_named_value *v = &s->m->named[kind][which];
    v->present = true;
    v->time = time;
    replace(&v->payload, payload);
}

static void named_remove(step *s) {
    int kind = (int)below(s, MIRROR_NAMED_KINDS), which = 1 + (int)below(s, MIRROR_NAMED - 1);
    mirror_named_value *v = &s->m->named[kind][which];
    if (s->txn) {
        int32_t status =
            MIRROR_CALL(larder_named_remove(s->txn, kind + 1, mirror_named(which), &s->error));
        if (!expect(s, status, v->present ? LARDER_OK : LARDER_NOT_FOUND, "named_remove")) return;
    }
    replace(&v->payload, NULL);
    memset(v, 0, sizeof *v);
}

/* ---- indexes ---- */

/* OK also when one is there. Its id is the store's affair. */
static bool index_id(step *s, int which, uint32_t *id) {
    const mirror_index_definition *d = mirror_index(which);
    int32_t status = MIRROR_CALL(
        larder_index_define(s->txn, d->group, d->segments, d->segment_count, id, &s->error));
    return expect(s, status, LARDER_OK, "index_define");
}

static void index_define(step *s) {
    int which = (int)below(s, MIRROR_INDEXES);
    uint32_t id = 0;
    if (s->txn && !index_id(s, which, &id)) return;
    if (s->m->indexes[which] == MIRROR_INDEX_NONE) s->m->indexes[which] = MIRROR_INDEX_FILLING;
}

/* Some documents, or the whole index. */
static void index_backfill(step *s) {
    int which = (int)below(s, MIRROR_INDEXES);
    bool whole = below(s, 3) != 0;
    int64_t at_once = 1 + (int64_t)below(s, 40);
    if (s->m->indexes[which] == MIRROR_INDEX_NONE) return;
    if (s->txn) {
        uint32_t id = 0;
        if (!index_id(s, which, &id)) return;
        int32_t status;
        int64_t done = 0, total = 0;
        int steps = 0;
        do {
            status = MIRROR_CALL(
                larder_index_backfill(s->txn, id, at_once, 0, &done, &total, &s->error));
            if (done > total || ++steps > 10000) {
                mirror_problem("backfill: %lld of %lld documents after %d steps", (long long)done,
                               (long long)total, steps);
                return;
            }
        } while (whole && status == LARDER_MORE);
        if (status != LARDER_MORE && !expect(s, status, LARDER_OK, "index_backfill")) return;
    }
    if (whole) s->m->indexes[which] = MIRROR_INDEX_COMPLETE;
}

static void index_drop(step *s) {
    int which = (int)below(s, MIRROR_INDEXES);
    int64_t at_once = (int64_t)below(s, 3) * 7;
    if (s->m->indexes[which] == MIRROR_INDEX_NONE) return;
    if (s->txn) {
        uint32_t id = 0;
        if (!index_id(s, which, &id)) return;
        int32_t status;
        do
            status = MIRROR_CALL(larder_index_drop(s->txn, id, at_once, &s->error));
        while (status == LARDER_MORE);
        if (!expect(s, status, LARDER_OK, "index_drop")) return;
    }
    s->m->indexes[which] = MIRROR_INDEX_NONE;
}

/* ---- what must be refused, and must change nothing ---- */

static void refused(step *s) {
    static const char *const bad_names[] = {"",       "cities",     "/cities/a", "cities/a/",
                                            "c//a",   "cities/.",   "cities/..", "cities/__a__",
                                            "c/\xff", "cities/a/b", "\xc3/a"};
    uint64_t which = below(s, 16);
    if (!s->txn) return;
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = 1;
    info.read_time.seconds = 1;
    larder_bytes none = {NULL, 0}, junk = {"L\x01\x99\x02junk", 8};
    if (which < sizeof bad_names / sizeof bad_names[0]) {
        larder_bytes name = {bad_names[which], strlen(bad_names[which])};
        expect(s, MIRROR_CALL(larder_document_put(s->txn, name, &info, none, &s->error)),
               LARDER_E_INVALID_NAME, "document_put with a bad name");
        return;
    }
    switch (which) {
    case 11:
        info.state = LARDER_DOCUMENT_FOUND;
        expect(s, MIRROR_CALL(larder_document_put(s->txn, mirror_name(0), &info, junk, &s->error)),
               LARDER_E_INVALID_RECORD, "document_put of junk");
        break;
    case 12:
        info.version.nanoseconds = 1000000000;
        expect(s, MIRROR_CALL(larder_document_put(s->txn, mirror_name(0), &info, none, &s->error)),
               LARDER_E_INVALID_ARGUMENT, "document_put with a bad time");
        break;
    case 13:
        expect(s, MIRROR_CALL(larder_target_remove(s->txn, 99, &s->error)), LARDER_NOT_FOUND,
               "target_remove of nothing");
        break;
    case 14:
        expect(s,
               MIRROR_CALL(larder_overlay_put(s->txn, mirror_user(1), mirror_name(3), 1, junk, none,
                                              &s->error)),
               LARDER_E_INVALID_RECORD, "overlay_put of junk");
        break;
    default:
        expect(s,
               MIRROR_CALL(larder_index_define(s->txn, mirror_group(0), NULL, 0, &(uint32_t){0},
                                               &s->error)),
               LARDER_E_INVALID_ARGUMENT, "index_define without segments");
        break;
    }
}

/* ---- a commit ---- */

static void nodes(step *s) {
    for (int left = 1 + (int)below(s, 6); left > 0; left--)
        if (!expect(s, mirror_nodes_change(s->m, s->txn, &s->random, &s->error), LARDER_OK,
                    "a change of the tree"))
            return;
}

static void cache(step *s) {
    for (int left = 1 + (int)below(s, 4); left > 0; left--)
        if (!expect(s, mirror_cache_change(s->m, s->txn, &s->random, s->profile->large, &s->error),
                    LARDER_OK, "a change of the cache"))
            return;
}

static void operation(step *s) {
    uint64_t which = below(s, s->profile->plain_only ? 100 : 108);
    if (s->profile->plain_only) {
        if (which < 90)
            document_put(s, LARDER_DOCUMENT_FOUND);
        else
            document_remove(s);
    } else if (which < 34)
        document_put(s, LARDER_DOCUMENT_FOUND);
    else if (which < 39)
        document_put(s, LARDER_DOCUMENT_ABSENT);
    else if (which < 41)
        document_put(s, LARDER_DOCUMENT_UNKNOWN);
    else if (which < 50)
        document_remove(s);
    else if (which < 57)
        mutation_append(s);
    else if (which < 63)
        mutation_remove(s);
    else if (which < 66)
        mutation_attempt(s);
    else if (which < 69)
        overlay_put(s);
    else if (which < 73)
        overlay_remove(s);
    else if (which < 77)
        target_put(s);
    else if (which < 78)
        target_remove(s);
    else if (which < 84)
        target_documents(s, true);
    else if (which < 87)
        target_documents(s, false);
    else if (which < 90)
        named_put(s, (int)below(s, MIRROR_NAMED_KINDS), 1 + (int)below(s, MIRROR_NAMED - 1),
                  some_payload(s, 500));
    else if (which < 92)
        named_remove(s);
    else if (which < 94)
        index_define(s);
    else if (which < 96)
        index_backfill(s);
    else if (which < 97)
        index_drop(s);
    else if (which < 98)
        refused(s);
    else if (which < 103)
        nodes(s);
    else
        cache(s);
}

int32_t mirror_commit(mirror *m, larder_txn *txn, const mirror_profile *profile,
                      int *operation_count) {
    step s = {.m = m, .txn = txn, .profile = profile};
    s.random = mirror_random_from(profile->seed, m->sequence + 1);
    int count = 1 + (int)below(&s, (uint64_t)profile->operations);
    for (int i = 0; i < count && s.status == 0; i++)
        operation(&s);
    if (s.status == 0) {
        mirror_blob *payload = malloc(sizeof *payload + 8);
        if (!payload) abort();
        uint64_t sequence = m->sequence + 1;
        payload->references = 1;
        payload->size_bytes = 8;
        memcpy(payload->data, &sequence, 8);
        named_put(&s, 0, 0, payload);
    }
    if (s.status == 0) m->sequence++;
    if (operation_count) *operation_count = count;
    return s.status;
}

int64_t mirror_stored_sequence(const larder_txn *txn) {
    larder_time time;
    larder_bytes payload;
    int32_t status =
        larder_named_get(txn, LARDER_NAMED_GLOBAL, mirror_named(0), &time, &payload, NULL);
    if (status == LARDER_NOT_FOUND) return 0;
    if (status != LARDER_OK) return status;
    uint64_t sequence = 0;
    if (payload.size_bytes != 8) return LARDER_E_CORRUPT;
    memcpy(&sequence, payload.data, 8);
    return (int64_t)sequence;
}

/* mirror_indexes.c - compares index entries, in each order and bound, with the mirror. */
#include "mirror_checker.h"

#include <stdlib.h>
#include <string.h>

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
    return order ? order : checker_by_name(&x->name, &y->name);
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
    if (all->count == 0 || checker_below(c, 3) == 0) return none;
    const entry *e = &all->items[checker_below(c, all->count)];
    if (e->size_bytes == MIRROR_ORDER_MAX) return none;
    const mirror_index_definition *d = mirror_index(index);
    memcpy(to, e->order, e->size_bytes);
    size_t size = e->size_bytes;
    if (d->segment_count > 1 && checker_below(c, 2)) {
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
        if (!checker_same_bytes(mirror_group(in), mirror_index(index)->group)) continue;
        if (collection >= 0 && in != collection) continue;
        const mirror_overlay *o = checker_overlay_of(c->m, user, name);
        const mirror_document *d = &c->m->documents[name];
        if (o ? !o->plain : d->state != LARDER_DOCUMENT_FOUND) continue;
        all->name = name;
        mirror_index_entries(index, mirror_blob_bytes(o ? o->plain : d->plain), add_entry, all);
    }
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_order);
}

static void collect_overlay_entries(checker *c, int index, int user, entries *all) {
    for (int name = 0; name < MIRROR_NAMES; name++) {
        const mirror_overlay *o = checker_overlay_of(c->m, user, name);
        if (!o || !o->plain ||
            !checker_same_bytes(mirror_group(mirror_name_collection(name)),
                                mirror_index(index)->group))
            continue;
        all->name = name;
        mirror_index_entries(index, mirror_blob_bytes(o->plain), add_entry, all);
    }
}

static void scan_index(checker *c, int index, uint32_t id) {
    larder_scan_options options;
    int user = checker_random_options(c, &options, 63 & ~(uint32_t)LARDER_SCAN_ALL_STATES);
    int collection = -1;
    if (checker_below(c, 2)) {
        do
            collection = (int)checker_below(c, MIRROR_COLLECTIONS);
        while (!checker_same_bytes(mirror_group(collection), mirror_index(index)->group));
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
    if (!checker_expect(c, status, LARDER_OK, "index_scan", index)) goto done;
    size_t at = 0;
    larder_document document;
    while ((status = MIRROR_CALL(larder_scan_next(scan, &document, &c->error))) == LARDER_OK) {
        if (at == all.count) {
            at++;
            break;
        }
        const entry *want = &all.items[backwards ? all.count - 1 - at : at];
        int name = checker_name_of(&document);
        larder_bytes order, cut = {want->order, want->size_bytes};
        if (!checker_expect(c, MIRROR_CALL(larder_index_scan_entry(scan, &order, &c->error)),
                            LARDER_OK, "index_scan_entry", index))
            break;
        if (name != want->name || !checker_same_bytes(order, cut)) {
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
        if (!checker_document(c, &document, user, name, options.flags & LARDER_SCAN_KEYS_ONLY))
            break;
        at++;
    }
    larder_scan_close(scan);
    if (at <= all.count && !checker_expect(c, status, LARDER_END, "scan of index", index))
        goto done;
    if (at != all.count)
        mirror_problem("at commit %llu: index %d, flags %u, gave %s documents than %zu",
                       (unsigned long long)c->m->sequence, index, options.flags,
                       at < all.count ? "fewer" : "more", all.count);
done:
    free(all.items);
}

static bool same_definition(const larder_index *index, const mirror_index_definition *d) {
    if (!checker_same_bytes(index->group, d->group) || index->segment_count != d->segment_count)
        return false;
    for (size_t s = 0; s < d->segment_count; s++)
        if (!checker_same_bytes(index->segments[s].field_path, d->segments[s].field_path) ||
            index->segments[s].kind != d->segments[s].kind)
            return false;
    return true;
}

/* Documents that two complete indexes of one group both hold, or either, and a set's scan. */
static void check_sets(checker *c, const uint32_t ids[MIRROR_INDEXES]) {
    int first = 2, second = 3 + 2 * (int)checker_below(c, 2);
    if (c->m->indexes[first] != MIRROR_INDEX_COMPLETE ||
        c->m->indexes[second] != MIRROR_INDEX_COMPLETE)
        return;
    bool all = checker_below(c, 2);
    bool in[2][MIRROR_NAMES] = {{false}};
    larder_set *sets[2] = {NULL, NULL};
    larder_bytes whole = {NULL, 0};
    for (int i = 0; i < 2; i++) {
        int index = i ? second : first;
        entries held = {0};
        collect_entries(c, index, CHECKER_NO_USER, -1, &held);
        for (size_t e = 0; e < held.count; e++)
            in[i][held.items[e].name] = true;
        free(held.items);
        larder_scan_options options;
        larder_scan_options_init(&options, sizeof options);
        options.flags = LARDER_SCAN_KEYS_ONLY;
        larder_scan *scan;
        int32_t status = MIRROR_CALL(larder_set_create(c->txn, &sets[i], &c->error));
        if (!checker_expect(c, status, LARDER_OK, "set_create", i)) goto done;
        status =
            MIRROR_CALL(larder_index_scan(c->txn, ids[index], whole, &options, &scan, &c->error));
        if (!checker_expect(c, status, LARDER_OK, "index_scan", index)) goto done;
        status = MIRROR_CALL(larder_set_add_scan(sets[i], scan, &c->error));
        larder_scan_close(scan);
        if (!checker_expect(c, status, LARDER_OK, "set_add_scan", index)) goto done;
    }
    int32_t status = all ? MIRROR_CALL(larder_set_union(sets[0], sets[1], &c->error))
                         : MIRROR_CALL(larder_set_intersect(sets[0], sets[1], &c->error));
    if (!checker_expect(c, status, LARDER_OK, all ? "set_union" : "set_intersect", 0)) goto done;
    checker_list expected = {.count = 0};
    for (int name = 0; name < MIRROR_NAMES; name++)
        if (all ? in[0][name] || in[1][name] : in[0][name] && in[1][name])
            expected.names[expected.count++] = name;
    qsort(expected.names, (size_t)expected.count, sizeof(int), checker_by_collection_then_id);
    checker_require(c, larder_set_count(sets[0]) == (size_t)expected.count, "documents of the set",
                    all);
    larder_scan *scan;
    status = MIRROR_CALL(larder_set_scan(sets[0], NULL, &scan, &c->error));
    if (checker_expect(c, status, LARDER_OK, "set_scan", 0))
        checker_walk(c, scan, &expected, CHECKER_NO_USER, false, false, false, "scan of a set");
done:
    larder_set_close(sets[0]);
    larder_set_close(sets[1]);
}

void mirror_check_indexes(checker *c) {
    uint32_t ids[MIRROR_INDEXES] = {0}, after = 0;
    for (;;) {
        larder_index index;
        int32_t status = MIRROR_CALL(larder_index_next(c->txn, after, &index, &c->error));
        if (status == LARDER_END) break;
        if (!checker_expect(c, status, LARDER_OK, "index_next", (int)after)) return;
        after = index.index_id;
        int which = 0;
        while (which < MIRROR_INDEXES && !same_definition(&index, mirror_index(which)))
            which++;
        if (which == MIRROR_INDEXES) {
            checker_require(c, false, "an index outside the mirror", (int)after);
            continue;
        }
        ids[which] = index.index_id;
        checker_require(c, c->m->indexes[which] != MIRROR_INDEX_NONE, "a dropped index", which);
        if (c->m->indexes[which] == MIRROR_INDEX_COMPLETE) {
            checker_require(c, index.complete == 1, "completeness of index", which);
            /* the documents' and those of every user's overlays */
            entries all = {0};
            collect_entries(c, which, CHECKER_NO_USER, -1, &all);
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
        checker_require(c, (ids[which] != 0) == (c->m->indexes[which] != MIRROR_INDEX_NONE),
                        "presence of index", which);
        if (c->m->indexes[which] != MIRROR_INDEX_COMPLETE || ids[which] == 0) continue;
        for (int round = 0; round < 3 && c->status == 0; round++)
            scan_index(c, which, ids[which]);
    }
    if (c->status == 0) check_sets(c, ids);
}

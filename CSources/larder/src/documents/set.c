/*
 * set.c - sets of documents, for combining what index scans give.
 *
 * A member is a byte string, collection number and id key form, so sets are sorted lists of
 * strings: no two alike, combined in one pass. Members are copied, so a set does not depend on
 * the rows it was made from. Every change happens in full or not at all.
 *
 * String order is name order within a collection, but for ids that share their first
 * LARDER__ID_HEAD bytes: larder_set_scan puts such a run in order by the ids' texts.
 */
#include "base/items.h"
#include "documents.h"
#include "store/catalog.h"

struct larder_set {
    const larder_txn *txn;
    const larder_allocator *allocator;
    larder__items members; /* sorted */
    int32_t open_scans;    /* while there are any, it does not change */
};

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a set of documents");
}

static int32_t check_set(const larder_set *set, larder_error *error) {
    if (set == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "set is NULL");
    return larder__txn_check_read(set->txn, error);
}

static int32_t check_change(const larder_set *set, larder_error *error) {
    int32_t status = check_set(set, error);
    if (status == LARDER_OK && set->open_scans > 0)
        return larder__fail(error, LARDER_E_BUSY, "a scan of the set is open");
    return status;
}

int32_t larder_set_create(const larder_txn *txn, larder_set **set, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (set == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "set is NULL");
    const larder_allocator *allocator = &txn->env->allocator;
    larder_set *created = larder__allocate(allocator, sizeof *created);
    if (created == NULL) return no_memory(error);
    created->txn = txn;
    created->allocator = allocator;
    created->open_scans = 0;
    larder__items_init(&created->members, allocator);
    larder__handle_opened();
    *set = created;
    return LARDER_OK;
}

void larder_set_close(larder_set *set) {
    if (set == NULL) return;
    larder__items_free(&set->members);
    larder__release(set->allocator, set);
    larder__handle_closed();
}

size_t larder_set_count(larder_set *set) {
    return set == NULL ? 0 : larder__items_count(&set->members);
}

/* ---- combining ---- */

/* Replaces the list of items by both of its sorted halves merged: [0, middle) and the rest. */
static bool merge_halves(larder__items *items, size_t middle) {
    size_t count = larder__items_count(items), left = 0, right = middle;
    if (middle == 0 || middle == count ||
        larder__bytes_compare(larder__items_get(items, middle - 1),
                              larder__items_get(items, middle)) < 0)
        return true;
    larder__buffer merged = {.allocator = items->list.allocator};
    if (!larder__buffer_reserve(&merged, items->list.size_bytes)) return false;
    larder__item *to = (larder__item *)(void *)merged.data;
    while (left < middle || right < count) {
        int order = left == middle   ? 1
                    : right == count ? -1
                                     : larder__bytes_compare(larder__items_get(items, left),
                                                             larder__items_get(items, right));
        *to++ = *larder__items_at(items, order <= 0 ? left : right);
        left += order <= 0;
        right += order >= 0;
    }
    merged.size_bytes = (size_t)((uint8_t *)to - merged.data);
    larder__buffer_free(&items->list);
    items->list = merged;
    return true;
}

static bool add_member(larder__items *members, uint64_t collection, larder_bytes id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, collection);
    larder__key_id(&key, id);
    return larder__items_add(members, larder__key_bytes(&key), 0);
}

/* Appends what the scan gives: LARDER_END when it is through. */
static int32_t append_scan(larder__items *members, larder_scan *scan, larder_error *error) {
    for (;;) {
        larder_document document;
        int32_t status = larder_scan_next(scan, &document, error);
        if (status != LARDER_OK) return status;
        if (!add_member(members, scan->collection, scan->id_key_form)) return no_memory(error);
    }
}

int32_t larder_set_add_scan(larder_set *set, larder_scan *scan, larder_error *error) {
    int32_t status = check_change(set, error);
    if (status != LARDER_OK) return status;
    if (scan == NULL || scan->txn != set->txn || scan->is_collection_scan)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "not a scan over documents in the set's transaction");
    larder__items *members = &set->members;
    size_t count = larder__items_count(members), bytes = members->bytes.size_bytes;
    status = append_scan(members, scan, error);
    /* A damaged document is reported; what came before it stays, and the scan can go on. */
    bool keeps = status == LARDER_END || status == LARDER_E_CORRUPT;
    if (keeps && !(larder__items_sort(members, count) && merge_halves(members, count))) {
        status = no_memory(error);
        keeps = false;
    }
    if (!keeps) {
        larder__items_truncate(members, count);
        members->bytes.size_bytes = bytes;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t check_pair(const larder_set *set, const larder_set *other, larder_error *error) {
    int32_t status = check_change(set, error);
    if (status != LARDER_OK) return status;
    if (other == NULL || other->txn != set->txn)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "other is not a set of the same transaction");
    return LARDER_OK;
}

int32_t larder_set_intersect(larder_set *set, larder_set *other, larder_error *error) {
    int32_t status = check_pair(set, other, error);
    if (status != LARDER_OK || set == other) return status;
    size_t count = larder_set_count(set), other_count = larder_set_count(other);
    size_t kept = 0, at = 0, o = 0;
    while (at < count && o < other_count) {
        int order = larder__bytes_compare(larder__items_get(&set->members, at),
                                          larder__items_get(&other->members, o));
        if (order == 0)
            *larder__items_at(&set->members, kept++) = *larder__items_at(&set->members, at);
        at += order <= 0;
        o += order >= 0;
    }
    larder__items_truncate(&set->members, kept);
    return LARDER_OK;
}

int32_t larder_set_union(larder_set *set, larder_set *other, larder_error *error) {
    int32_t status = check_pair(set, other, error);
    if (status != LARDER_OK || set == other) return status;
    larder__items *members = &set->members;
    size_t count = larder__items_count(members), other_count = larder_set_count(other);
    size_t bytes = members->bytes.size_bytes;
    bool has_memory = true;
    for (size_t i = 0; i < other_count && has_memory; i++)
        has_memory = larder__items_add(members, larder__items_get(&other->members, i), 0);
    if (has_memory && merge_halves(members, count)) return LARDER_OK;
    larder__items_truncate(members, count);
    members->bytes.size_bytes = bytes;
    return no_memory(error);
}

/* ---- scanning ---- */

typedef struct set_scan {
    larder_scan base;
    larder_set *set;
    bool has_user;
    uint64_t user;
    size_t at;      /* members given, in scan order */
    size_t run_end; /* members up to here were put in order by text: run */
    size_t run_begin;
    larder__buffer run; /* positions of members, in name order */
    larder__buffer texts;
} set_scan;

typedef struct run_item {
    size_t member;
    size_t text_at, text_bytes;
} run_item;

static void split_member(larder_bytes member, uint64_t *collection, larder_bytes *id) {
    const uint8_t *at = larder__begin(member), *end = at + member.size_bytes;
    larder__key_read_number(&at, end, collection);
    *id = larder__bytes(at, (size_t)(end - at));
}

static int compare_texts(const void *left, const void *right, const void *context) {
    const run_item *a = left, *b = right;
    const uint8_t *texts = context;
    return larder__segment_compare(larder__bytes(texts + a->text_at, a->text_bytes),
                                   larder__bytes(texts + b->text_at, b->text_bytes));
}

/* Whether two members are of one run: alike in collection and in the head of long ids. */
static bool is_one_run(larder_bytes a, larder_bytes b) {
    uint64_t collection = 0;
    larder_bytes id;
    split_member(a, &collection, &id);
    size_t head = a.size_bytes - id.size_bytes + LARDER__ID_HEAD;
    return a.size_bytes > head && b.size_bytes > head && memcmp(a.data, b.data, head) == 0;
}

/* Puts the run around a member in order. Most runs are one member long, and nothing is done. */
static int32_t order_run(set_scan *scan, size_t position, larder_error *error) {
    const larder__items *members = &scan->set->members;
    size_t count = larder__items_count(members), begin = position, end = position + 1;
    larder_bytes member = larder__items_get(members, position);
    while (begin > 0 && is_one_run(larder__items_get(members, begin - 1), member))
        begin--;
    while (end < count && is_one_run(member, larder__items_get(members, end)))
        end++;
    scan->run_begin = begin;
    scan->run_end = end;
    scan->run.size_bytes = scan->texts.size_bytes = 0;
    for (size_t i = begin; i < end; i++) {
        uint64_t collection = 0;
        larder_bytes id, text;
        char scratch[32];
        split_member(larder__items_get(members, i), &collection, &id);
        int32_t status = end - begin == 1 ? LARDER_NOT_FOUND
                                          : larder__id_text(scan->base.txn, collection, id, scratch,
                                                            &text, NULL);
        if (status != LARDER_OK) text = id; /* reported when it is given */
        run_item item = {i, scan->texts.size_bytes, text.size_bytes};
        if (!larder__buffer_append(&scan->texts, text.data, text.size_bytes) ||
            !larder__buffer_append(&scan->run, &item, sizeof item))
            return no_memory(error);
    }
    larder__sort(scan->run.data, end - begin, sizeof(run_item), compare_texts, scan->texts.data);
    return LARDER_OK;
}

/* The member at a position of the scan. */
static int32_t find_member(set_scan *scan, size_t position, larder_bytes *member,
                           larder_error *error) {
    const larder__items *members = &scan->set->members;
    *member = larder__items_get(members, position);
    if (position < scan->run_begin || position >= scan->run_end) {
        uint64_t collection = 0;
        larder_bytes id;
        split_member(*member, &collection, &id);
        if (id.size_bytes <= LARDER__ID_HEAD) return LARDER_OK;
        int32_t status = order_run(scan, position, error);
        if (status != LARDER_OK) return status;
    }
    run_item item;
    memcpy(&item, scan->run.data + (position - scan->run_begin) * sizeof item, sizeof item);
    *member = larder__items_get(members, item.member);
    return LARDER_OK;
}

/* Reads a member: OK, or NOT_FOUND when the flags pass it over. */
static int32_t read_member(const set_scan *scan, uint64_t collection, larder_bytes id,
                           larder_document *document, larder_error *error) {
    const larder_txn *txn = scan->base.txn;
    int32_t status = LARDER_NOT_FOUND;
    if (scan->has_user)
        status = larder__overlay_read(txn, scan->user, collection, id, document, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__document_read(txn, collection, id, document, error);
    bool all_states = (scan->base.flags & LARDER_SCAN_ALL_STATES) != 0;
    if (status == LARDER_NOT_FOUND && all_states) {
        memset(document, 0, sizeof *document); /* LARDER_DOCUMENT_NOT_READ */
        return LARDER_OK;
    }
    if (status == LARDER_OK && document->state != LARDER_DOCUMENT_FOUND && !all_states)
        return LARDER_NOT_FOUND;
    return status;
}

static int32_t next_member(larder_scan *base, larder_document *document, larder_error *error) {
    set_scan *scan = (set_scan *)base;
    for (;;) {
        size_t count = larder__items_count(&scan->set->members);
        if (scan->at >= count) return LARDER_END;
        larder_bytes member, id;
        uint64_t collection = 0;
        size_t position =
            (base->flags & LARDER_SCAN_REVERSE) != 0 ? count - 1 - scan->at : scan->at;
        int32_t status = find_member(scan, position, &member, error);
        if (status != LARDER_OK) return status;
        scan->at++;
        split_member(member, &collection, &id);
        if ((base->flags & LARDER_SCAN_KEYS_ONLY) != 0)
            memset(document, 0, sizeof *document);
        else
            status = read_member(scan, collection, id, document, error);
        if (status == LARDER_NOT_FOUND) continue;
        if (status != LARDER_OK) return status;
        return larder__scan_name(base, collection, id, document, error);
    }
}

static void close_scan(larder_scan *base) {
    set_scan *scan = (set_scan *)base;
    scan->set->open_scans--;
    larder__buffer_free(&scan->run);
    larder__buffer_free(&scan->texts);
}

int32_t larder_set_scan(larder_set *set, const larder_scan_options *options, larder_scan **scan,
                        larder_error *error) {
    larder_scan_options checked;
    int32_t status = check_set(set, error);
    if (status == LARDER_OK && scan == NULL)
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan is NULL");
    if (status == LARDER_OK) status = larder__scan_options(options, &checked, error);
    if (status != LARDER_OK) return status;
    if (checked.start.size_bytes > 0 || checked.end.size_bytes > 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a scan of a set has no bounds");
    uint64_t user = 0;
    bool has_user = false;
    if ((checked.flags & LARDER_SCAN_LOCAL_VIEW) != 0) {
        status = larder__user_find(set->txn, checked.user, &user, error);
        if (status < 0) return status;
        has_user = status == LARDER_OK;
    }
    larder_scan *base;
    status = larder__scan_create(set->txn, sizeof(set_scan), options, &base, error);
    if (status != LARDER_OK) return status;
    set_scan *created = (set_scan *)base;
    created->set = set;
    set->open_scans++;
    created->has_user = has_user;
    created->user = user;
    created->run.allocator = created->texts.allocator = set->allocator;
    base->next = next_member;
    base->close = close_scan;
    *scan = base;
    return LARDER_OK;
}

/*
 * node_sweep.c - eviction: tracked queries go, and with them the data that no other query keeps.
 *
 * The walk over the LRU log (store/evict.c) visits a query that was not used for long. It becomes a
 * sweep of its path, under the same id and in the same place of the log, so that whatever
 * interrupts it, the next walk goes on. A sweep goes down from its path:
 *
 *     a subtree at or above which a query without KEYED stands, or a pin    stays
 *     a child that is a tracked key of a KEYED query at its parent          stays
 *     a child with queries or pins below it                                 is gone into
 *     every other child                                                     goes
 *
 * A visit looks at a page of children and notes in the sweep's row how far it came. Deleting is
 * dropping references (node_free.c): rows are freed some at a time, before more is deleted.
 */
#include "node_query.h"

#include "store/lru.h"

#define PAGE_CHILDREN 128
#define FREED_ROWS 64

/* ---- rows in the log ---- */

static uint64_t id_of(const larder__lru_entry *entry) {
    return larder__load64_big(larder__begin(entry->id));
}

static int64_t query_count(const larder__counters *counters) { return counters->query_count; }

static int32_t query_epoch(const larder_txn *txn, const larder__lru_entry *entry, uint32_t *epoch,
                           larder_error *error) {
    larder__query_row row;
    int32_t status = larder__query_read(txn, entry->number, id_of(entry), &row, error);
    if (status == LARDER_OK) *epoch = row.epoch;
    return status;
}

/* ---- a sweep ---- */

/* Where a sweep is: the children of a path, those above a key. */
typedef struct sweeping {
    larder_txn *txn;
    uint64_t tree;
    larder_error *error;
    larder__buffer path;
    size_t own_bytes;     /* of the path: the sweep's own */
    larder__buffer after; /* a key; empty: from the first child on */
    larder__keepers keepers;
    larder__buffer keys; /* a page of them */
    larder__change_list gone;
    int64_t left; /* children to look at in this visit */
    bool has_deleted;
} sweeping;

static int32_t no_memory(const sweeping *s) {
    return larder__fail(s->error, LARDER_E_NO_MEMORY, "no memory to evict");
}

static larder_bytes bytes_of(const larder__buffer *buffer) {
    return larder__bytes(buffer->data, buffer->size_bytes);
}

/* Goes into a child of the path. */
static bool enter_child(sweeping *s, larder_bytes key) {
    if (s->path.size_bytes > 0 && !larder__append_byte(&s->path, '/')) return false;
    s->after.size_bytes = 0;
    return larder__append_bytes(&s->path, key);
}

/* Back to the parent, behind the child that the path ended with. False at the sweep's own path. */
static bool leave_child(sweeping *s, bool *has_memory) {
    if (s->path.size_bytes <= s->own_bytes) return false;
    size_t size = s->path.size_bytes;
    while (size > 0 && s->path.data[size - 1] != '/')
        size--;
    s->after.size_bytes = 0;
    *has_memory = larder__buffer_append(&s->after, s->path.data + size, s->path.size_bytes - size);
    s->path.size_bytes = size > 0 ? size - 1 : 0;
    return true;
}

/* Whether everything at the path stays, for what stands at it or above it. */
static int32_t is_covered(sweeping *s, bool *covered) {
    larder_bytes path = bytes_of(&s->path);
    *covered = larder__node_is_pinned(s->txn->env, s->tree, path);
    if (*covered) return LARDER_OK;
    return larder__keepers_cover(s->txn, s->tree, path, &s->keepers, covered, s->error);
}

typedef enum child_fate { GOES, STAYS, IS_ENTERED } child_fate;

/* Of the child that the path ends with; the keepers are its parent's. */
static int32_t decide(sweeping *s, larder_bytes key, child_fate *fate) {
    larder__place place;
    bool found;
    larder_bytes path = bytes_of(&s->path);
    int32_t status = larder__keepers_have(s->txn, &s->keepers, key, &found, s->error);
    if (status != LARDER_OK) return status;
    *fate = STAYS;
    if (found || larder__node_has_pin_at(s->txn->env, s->tree, path)) return LARDER_OK;
    *fate = IS_ENTERED;
    if (larder__node_has_pin_below(s->txn->env, s->tree, path)) return LARDER_OK;
    status = larder__place_find(s->txn, larder__index_of(s->tree), path, &place, s->error);
    larder__place_close(&place);
    if (status == LARDER_NOT_FOUND) *fate = GOES;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

/* The next page of keys, and whether there are more behind it. */
static int32_t read_keys(sweeping *s, larder_bytes *children, bool *more) {
    larder__page page = {.lower = bytes_of(&s->after), .keys_only = true, .max_count = s->left};
    larder__place place;
    larder_node node;
    s->keys.size_bytes = 0;
    int32_t status = larder__place_find(s->txn, s->tree, bytes_of(&s->path), &place, s->error);
    if (status == LARDER_OK)
        status =
            larder__page_read(s->txn, &place, &page, larder__bytes(NULL, 0), &s->keys, s->error);
    larder__place_close(&place);
    *more = status == LARDER_MORE;
    if (status < 0) return status;
    status = larder_node_open(bytes_of(&s->keys), &node, s->error);
    *children = node.children;
    return status;
}

/* Looks at children until one is to be entered, which the path then ends with. */
static int32_t look_at_page(sweeping *s, larder_bytes children, bool *is_entered) {
    larder_bytes key, node;
    *is_entered = false;
    while (children.size_bytes > 0) {
        child_fate fate;
        size_t size = s->path.size_bytes;
        int32_t status = larder_node_take_child(&children, &key, &node, s->error);
        if (status != LARDER_OK) return status;
        s->left--;
        if (!enter_child(s, key)) return no_memory(s);
        status = decide(s, key, &fate);
        if (status != LARDER_OK) return status;
        *is_entered = fate == IS_ENTERED;
        if (*is_entered) return LARDER_OK;
        if (fate == GOES) s->has_deleted = true;
        if (fate == GOES)
            status = larder__change_list_add(&s->gone, bytes_of(&s->path), larder__bytes(NULL, 0),
                                             larder__bytes(NULL, 0), s->error);
        if (status != LARDER_OK) return status;
        s->path.size_bytes = size;
        if (!larder__append_bytes(&s->after, key)) return no_memory(s);
    }
    return LARDER_OK;
}

/* The children at the path. *is_through: there are none left to look at here. */
static int32_t sweep_page(sweeping *s, bool *is_through) {
    larder_bytes children;
    bool more, is_entered;
    *is_through = true;
    int32_t status =
        larder__keepers_read(s->txn, s->tree, bytes_of(&s->path), &s->keepers, s->error);
    if (status != LARDER_OK || s->keepers.keeps_all) return status;
    status = read_keys(s, &children, &more);
    if (status == LARDER_OK) status = look_at_page(s, children, &is_entered);
    if (status != LARDER_OK) return status;
    *is_through = !more && !is_entered;
    status = larder__change_list_apply(&s->gone, s->txn, s->tree, s->error);
    larder__change_list_clear(&s->gone);
    return status;
}

/* Deletes everything at the sweep's path when nothing below it is to be kept. */
static int32_t delete_whole(sweeping *s, bool *is_deleted) {
    larder__place place;
    bool is_needed = false;
    larder_bytes path = bytes_of(&s->path), none = {NULL, 0};
    *is_deleted = false;
    if (larder__node_has_pin_below(s->txn->env, s->tree, path)) return LARDER_OK;
    int32_t status = larder__place_find(s->txn, larder__index_of(s->tree), path, &place, s->error);
    if (status == LARDER_OK) status = larder__index_has_more(s->txn, &place, &is_needed, s->error);
    larder__place_close(&place);
    if (status < 0 || is_needed) return status;
    status = larder__place_find(s->txn, s->tree, path, &place, s->error);
    larder__place_close(&place);
    *is_deleted = true;
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    s->has_deleted = true;
    status = larder__change_list_add(&s->gone, path, none, none, s->error);
    return status == LARDER_OK ? larder__change_list_apply(&s->gone, s->txn, s->tree, s->error)
                               : status;
}

/* OK: the sweep is through; MORE: the visit's share is used up. */
static int32_t sweep(sweeping *s) {
    bool is_through, has_memory = true;
    if (s->path.size_bytes == s->own_bytes && s->after.size_bytes == 0) {
        int32_t status = delete_whole(s, &is_through);
        if (status != LARDER_OK || is_through) return status;
    }
    while (s->left > 0) {
        int32_t status = sweep_page(s, &is_through);
        if (status != LARDER_OK) return status;
        if (is_through && !leave_child(s, &has_memory)) return LARDER_OK;
        if (!has_memory) return no_memory(s);
    }
    return LARDER_MORE;
}

/* ---- visits ---- */

/* The query becomes a sweep in its place. */
static int32_t turn_into_sweep(larder_txn *txn, uint64_t tree, uint64_t id, larder_error *error) {
    larder__query_row row;
    larder__buffer path = {.allocator = &txn->env->allocator};
    int32_t status = larder__query_read(txn, tree, id, &row, error);
    if (status == LARDER_OK && !larder__append_bytes(&path, row.path))
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to evict");
    if (status == LARDER_OK) status = larder__query_detach(txn, tree, id, &row, error);
    larder__query_row swept = {
        .epoch = row.epoch, .kind = LARDER__SWEEP_ROW, .path = bytes_of(&path)};
    if (status == LARDER_OK) status = larder__query_write(txn, tree, id, &swept, error);
    larder__buffer_free(&path);
    return status;
}

/* Where the sweep's row says that it goes on. */
static bool begin_sweep(sweeping *s, const larder__query_row *row) {
    larder_bytes key, rest = row->payload;
    if (!larder__append_bytes(&s->path, row->path)) return false;
    s->own_bytes = s->path.size_bytes;
    while (larder__path_take(&rest, &key)) {
        if (rest.size_bytes == 0) return larder__append_bytes(&s->after, key);
        if (!enter_child(s, key)) return false;
    }
    return true;
}

/* Writes down how far the sweep came: the path below its own, and the last key. */
static int32_t end_visit(sweeping *s, uint64_t id, uint32_t epoch) {
    larder__buffer position = {.allocator = &s->txn->env->allocator};
    size_t from = s->own_bytes;
    if (from > 0 && from < s->path.size_bytes) from++; /* the slash */
    bool has_memory =
        larder__buffer_append(&position, s->path.data + from, s->path.size_bytes - from);
    if (has_memory && position.size_bytes > 0) has_memory = larder__append_byte(&position, '/');
    has_memory = has_memory && larder__append_bytes(&position, bytes_of(&s->after));
    larder__query_row row = {.epoch = epoch,
                             .kind = LARDER__SWEEP_ROW,
                             .path = larder__bytes(s->path.data, s->own_bytes),
                             .payload = bytes_of(&position)};
    int32_t status =
        has_memory ? larder__query_write(s->txn, s->tree, id, &row, s->error) : no_memory(s);
    larder__buffer_free(&position);
    return status;
}

static int32_t forget_sweep(sweeping *s, uint64_t id) {
    int32_t status = larder__query_forget(s->txn, s->tree, id, s->error);
    if (status != LARDER_OK || id < LARDER__SWEEP_ID) return status;
    s->txn->env->nodes->swept_tree = 0;
    return larder__sweep_unmark(s->txn, s->tree, larder__bytes(s->path.data, s->own_bytes),
                                s->error);
}

static int32_t visit_sweep(larder__lru_step *step, uint64_t tree, uint64_t id,
                           const larder__query_row *row, larder__lru_outcome *outcome,
                           larder_error *error) {
    const larder_allocator *allocator = &step->txn->env->allocator;
    sweeping s = {.txn = step->txn,
                  .tree = tree,
                  .error = error,
                  .path.allocator = allocator,
                  .after.allocator = allocator,
                  .keepers.keyed.allocator = allocator,
                  .keys.allocator = allocator,
                  .left = PAGE_CHILDREN};
    bool covered = false;
    uint32_t epoch = row->epoch;
    larder__change_list_init(&s.gone, allocator);
    int32_t status = begin_sweep(&s, row) ? LARDER_OK : no_memory(&s);
    size_t position = s.path.size_bytes;
    s.path.size_bytes = s.own_bytes; /* for its own path only */
    if (status == LARDER_OK) status = is_covered(&s, &covered);
    s.path.size_bytes = position;
    if (status == LARDER_OK && !covered) status = sweep(&s);
    /* Deleted rows are freed before the walk goes on to younger rows. */
    if (status == LARDER_OK && s.has_deleted) status = LARDER_MORE;
    *outcome = status == LARDER_MORE ? LARDER__LRU_AGAIN : LARDER__LRU_GONE;
    if (status == LARDER_MORE)
        status = end_visit(&s, id, epoch);
    else if (status == LARDER_OK)
        status = forget_sweep(&s, id);
    larder__change_list_free(&s.gone);
    larder__buffer_free(&s.path);
    larder__buffer_free(&s.after);
    larder__buffer_free(&s.keepers.keyed);
    larder__buffer_free(&s.keys);
    return status;
}

static int32_t visit(larder__lru_step *step, uint64_t tree, uint64_t id,
                     larder__lru_outcome *outcome, larder_error *error) {
    larder__query_row row;
    larder_txn *txn = step->txn;
    int32_t status = larder__query_read(txn, tree, id, &row, error);
    if (status != LARDER_OK) return status;
    bool is_query = row.kind == LARDER__QUERY_ROW;
    if (larder__node_is_pinned(txn->env, tree, row.path) ||
        (is_query && (row.flags & LARDER__QUERY_STAYS) != 0)) {
        step->result->pinned_count++;
        *outcome = LARDER__LRU_KEPT;
        return LARDER_OK;
    }
    *outcome = LARDER__LRU_AGAIN;
    status = larder__discarded_free(txn, FREED_ROWS, error);
    if (status != LARDER_OK) return status == LARDER_MORE ? LARDER_OK : status;
    if (!is_query) return visit_sweep(step, tree, id, &row, outcome, error);
    step->result->query_count++;
    step->removed_holder = true;
    return turn_into_sweep(txn, tree, id, error);
}

/* Whether an earlier visit met damage. The step in which it did was dropped; those that follow pass
 * the query by, so that the rest of the store is kept to its budget. */
static bool is_damaged(const larder__buffer *damaged, uint64_t tree, uint64_t id) {
    for (size_t at = 0; at < damaged->size_bytes; at += 2 * sizeof tree)
        if (larder__load64(damaged->data + at) == tree &&
            larder__load64(damaged->data + at + sizeof tree) == id)
            return true;
    return false;
}

static void note_damage(larder__buffer *damaged, uint64_t tree, uint64_t id) {
    uint8_t bytes[2 * sizeof tree];
    larder__store64(bytes, tree);
    larder__store64(bytes + sizeof tree, id);
    (void)larder__buffer_append(damaged, bytes, sizeof bytes); /* or it is met once more */
}

static int32_t visit_query(larder__lru_step *step, const larder__lru_entry *entry, uint32_t epoch,
                           larder__lru_outcome *outcome, larder_error *error) {
    int64_t before = larder__counters_total(&step->txn->counters);
    larder__buffer *damaged = &step->txn->env->nodes->damaged;
    uint64_t tree = entry->number, id = id_of(entry);
    (void)epoch;
    *outcome = LARDER__LRU_KEPT;
    if (is_damaged(damaged, tree, id)) return LARDER_OK;
    int32_t status = visit(step, tree, id, outcome, error);
    if (status == LARDER_E_CORRUPT) note_damage(damaged, tree, id);
    step->result->freed_bytes += before - larder__counters_total(&step->txn->counters);
    return status;
}

static bool is_made_sweep(const larder__lru_entry *entry) {
    return id_of(entry) >= LARDER__SWEEP_ID;
}

const larder__lru_rows larder__lru_node_queries = {
    .count = query_count,
    .epoch = query_epoch,
    .is_unkept = is_made_sweep,
    .visit = visit_query,
};

/*
 * mirror_cache.c - the mirror's tree that may be evicted, and its tracked queries.
 *
 * A query is put together with the data that it then has, as a listen does. While it is there,
 * the data at its path, or of its tracked keys, is exactly what was written; elsewhere some of
 * what was written may be gone. A query without ACTIVE may go at any time. No operation depends on
 * what was evicted, so that commits can be repeated on a mirror alone.
 */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[MIRROR_NODE_QUERIES] = {"rooms", "rooms/k1", "list", "list/k7/k2"};
static const char *const tracked[MIRROR_NODE_KEYS] = {"k1", "k2", "k3", "17"};

static larder_bytes text(const char *data) { return (larder_bytes){data, strlen(data)}; }

typedef struct changing {
    mirror *m;
    larder_txn *txn;
    mirror_random *random;
    larder_error *error;
    bool is_large;
    uint64_t tree;
} changing;

static uint64_t pick(const changing *c, uint64_t bound) {
    return mirror_random_below(c->random, bound);
}

/* ---- changes ---- */

static void make_key(const changing *c, char key[8]) {
    if (pick(c, 3) == 0)
        snprintf(key, 8, "%d", (int)pick(c, 20));
    else
        snprintf(key, 8, "k%d", (int)pick(c, 12));
}

/* Without priorities: one would say whether all children of its node were evicted once. */
static node_model *make_value(const changing *c, int depth) {
    if (depth == 0 || pick(c, 4) == 0) {
        static char content[4096];
        size_t size = pick(c, c->is_large ? sizeof content : 300);
        for (size_t i = 0; i < size; i++)
            content[i] = (char)('a' + pick(c, 26));
        content[size] = 0;
        return node_model_text(content);
    }
    node_model *node = NULL;
    for (uint64_t left = 1 + pick(c, 10); left > 0; left--) {
        char key[8];
        make_key(c, key);
        node = node_model_put(node, key, make_value(c, depth - 1));
    }
    return node;
}

static int32_t put(const changing *c, const char *path, node_model *value) {
    int32_t status = LARDER_OK;
    if (c->txn != NULL) {
        larder_bytes encoded = node_model_bytes(value);
        status = MIRROR_CALL(larder_node_put(c->txn, c->tree, text(path), encoded, c->error));
        node_model_bytes_free(encoded);
    }
    c->m->cache = node_model_put(c->m->cache, path, value);
    return status;
}

static int32_t put_anywhere(const changing *c) {
    char path[64] = "rooms", key[8];
    uint64_t begin = pick(c, 4);
    if (begin == 1) snprintf(path, sizeof path, "list");
    if (begin == 2) snprintf(path, sizeof path, "beside");
    for (uint64_t depth = 1 + pick(c, 2); depth > 0; depth--) {
        make_key(c, key);
        size_t size = strlen(path);
        snprintf(path + size, sizeof path - size, "/%s", key);
    }
    return put(c, path, pick(c, 4) == 0 ? NULL : make_value(c, (int)pick(c, 3)));
}

static int32_t set_keys(const changing *c, int which) {
    const mirror_node_query *q = &c->m->node_queries[which];
    larder_bytes removed[MIRROR_NODE_KEYS], added[MIRROR_NODE_KEYS];
    size_t removed_count = 0, added_count = 0;
    for (int k = 0; k < MIRROR_NODE_KEYS; k++) {
        if (q->keys[k])
            added[added_count++] = text(tracked[k]);
        else
            removed[removed_count++] = text(tracked[k]);
    }
    if (c->txn == NULL) return LARDER_OK;
    return MIRROR_CALL(larder_node_query_change_keys(c->txn, c->tree, which + 1, removed,
                                                     removed_count, added, added_count, c->error));
}

static int32_t listen(const changing *c, int which) {
    mirror_node_query *q = &c->m->node_queries[which];
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = which + 1,
                               .path = text(paths[which]),
                               .payload = text("{}")};
    q->present = true;
    q->flags = (uint32_t)pick(c, 8);
    if (pick(c, 2) == 0) q->flags &= ~(uint32_t)LARDER_NODE_QUERY_ACTIVE;
    query.flags = q->flags;
    for (int k = 0; k < MIRROR_NODE_KEYS; k++)
        q->keys[k] = pick(c, 2) == 0;
    int32_t status = LARDER_OK;
    if (c->txn != NULL)
        status = MIRROR_CALL(larder_node_query_put(c->txn, c->tree, &query, c->error));
    if (status == LARDER_OK) status = set_keys(c, which);
    if (status != LARDER_OK) return status;
    return put(c, paths[which], make_value(c, 2));
}

static int32_t forget(const changing *c, int which) {
    memset(&c->m->node_queries[which], 0, sizeof c->m->node_queries[which]);
    if (c->txn == NULL) return LARDER_OK;
    return MIRROR_CALL(larder_node_query_remove(c->txn, c->tree, which + 1, c->error));
}

/* A key that is tracked from now on has its data with it. */
static int32_t toggle_key(const changing *c, int which) {
    char path[64];
    int key = (int)pick(c, MIRROR_NODE_KEYS);
    bool *is_tracked = &c->m->node_queries[which].keys[key];
    *is_tracked = !*is_tracked;
    int32_t status = set_keys(c, which);
    if (status < 0 || !*is_tracked) return status;
    snprintf(path, sizeof path, "%s/%s", paths[which], tracked[key]);
    int32_t put_status = put(c, path, make_value(c, 1));
    return put_status == LARDER_OK ? status : put_status;
}

static int32_t touch(const changing *c, int which) {
    if (c->txn == NULL) return LARDER_OK;
    return MIRROR_CALL(larder_node_query_touch(c->txn, c->tree, which + 1, c->error));
}

int32_t mirror_cache_change(mirror *m, larder_txn *txn, mirror_random *random, bool is_large,
                            larder_error *error) {
    changing c = {m, txn, random, error, is_large, 0};
    int32_t status = LARDER_OK;
    if (txn != NULL)
        status = MIRROR_CALL(larder_node_tree_obtain(txn, text("cache"), &c.tree, error));
    if (status != LARDER_OK) return status;
    int which = (int)pick(&c, MIRROR_NODE_QUERIES);
    uint64_t what = pick(&c, 12);
    if (what < 5) return put_anywhere(&c);
    if (what < 8 || !m->node_queries[which].present) return listen(&c, which);
    if (what < 9) return forget(&c, which);
    return what < 11 ? toggle_key(&c, which) : touch(&c, which);
}

/* ---- what queries keep ---- */

/* Calls a function for each path that the query keeps. */
static void each_kept(const mirror *m, int which, void (*visit)(void *, const char *),
                      void *context) {
    const mirror_node_query *q = &m->node_queries[which];
    char path[64];
    if (!q->present) return;
    if ((q->flags & LARDER_NODE_QUERY_KEYED) == 0) {
        visit(context, paths[which]);
        return;
    }
    for (int k = 0; k < MIRROR_NODE_KEYS; k++) {
        if (!q->keys[k]) continue;
        snprintf(path, sizeof path, "%s/%s", paths[which], tracked[k]);
        visit(context, path);
    }
}

static void strip(void *context, const char *path) {
    node_model **left = context;
    *left = node_model_put(*left, path, NULL);
}

bool mirror_cache_may_shrink(const mirror *m) {
    bool may_shrink = false;
    node_model *left = node_model_copy(m->cache);
    for (int which = 0; which < MIRROR_NODE_QUERIES; which++) {
        const mirror_node_query *q = &m->node_queries[which];
        may_shrink |= q->present && (q->flags & LARDER_NODE_QUERY_ACTIVE) == 0;
        each_kept(m, which, strip, &left);
    }
    may_shrink |= left != NULL;
    node_model_free(left);
    return may_shrink;
}

/* ---- comparison ---- */

typedef struct comparing {
    const node_model *stored, *written;
} comparing;

static void compare_kept(void *context, const char *path) {
    const comparing *c = context;
    if (!node_model_is_same(node_model_at(c->stored, path), node_model_at(c->written, path)))
        mirror_problem("what a query keeps at %s is not what was written", path);
}

/* Whether all of it was written. */
static bool is_within(const node_model *stored, const node_model *written) {
    if (stored == NULL) return true;
    if (written == NULL || stored->leaf.type != written->leaf.type) return false;
    if (stored->leaf.type != LARDER_NODE_CHILDREN) return node_model_is_same(stored, written);
    for (size_t i = 0; i < stored->count; i++)
        if (!is_within(stored->children[i], node_model_at(written, stored->keys[i]))) return false;
    return true;
}

static int32_t find_tree(const larder_txn *txn, uint64_t *tree, larder_error *error) {
    return MIRROR_CALL(larder_node_tree_find(txn, text("cache"), tree, error));
}

static void reconcile(mirror *m, const larder_txn *txn) {
    uint64_t tree = 0;
    node_model *stored = NULL;
    if (larder_node_tree_find(txn, text("cache"), &tree, NULL) != LARDER_OK) return;
    for (int which = 0; which < MIRROR_NODE_QUERIES; which++) {
        mirror_node_query *q = &m->node_queries[which];
        larder_node_query query = {.struct_bytes = sizeof query};
        if (!q->present ||
            larder_node_query_get(txn, tree, which + 1, &query, NULL) != LARDER_NOT_FOUND)
            continue;
        if ((q->flags & LARDER_NODE_QUERY_ACTIVE) != 0)
            mirror_problem("active query %d was evicted", which);
        memset(q, 0, sizeof *q);
    }
    if (mirror_node_read(txn, tree, &stored, NULL) != LARDER_OK) {
        mirror_problem("the cache cannot be read");
        node_model_free(stored);
        return;
    }
    comparing c = {stored, m->cache};
    for (int which = 0; which < MIRROR_NODE_QUERIES; which++)
        each_kept(m, which, compare_kept, &c);
    if (!is_within(stored, m->cache)) mirror_problem("the cache has what was not written");
    node_model_free(m->cache);
    m->cache = stored;
}

/* Without the guard: it must not meet faults. */
void mirror_cache_reconcile(mirror *m, const larder_txn *txn) {
    void (*guard)(bool) = mirror_guard;
    mirror_guard = NULL;
    reconcile(m, txn);
    mirror_guard = guard;
}

static int32_t verify_keys(const mirror_node_query *q, const larder_txn *txn, uint64_t tree,
                           int which, larder_error *error) {
    larder_node_builder *builder = NULL;
    larder_bytes encoded = {0};
    if (larder_node_builder_create(NULL, &builder, NULL) != LARDER_OK) abort();
    int32_t status = MIRROR_CALL(larder_node_query_keys(txn, tree, which + 1, builder, error));
    if (status >= 0) larder_node_builder_finish(builder, &encoded, NULL);
    node_model *keys = node_model_decode(encoded);
    larder_node_builder_close(builder);
    size_t expected = 0;
    bool has_all = true;
    for (int k = 0; k < MIRROR_NODE_KEYS; k++) {
        expected += q->keys[k];
        has_all = has_all && q->keys[k] == (node_model_at(keys, tracked[k]) != NULL);
    }
    if (status >= 0 && (!has_all || node_model_leaf_count(keys) != expected))
        mirror_problem("tracked query %d has other keys", which);
    node_model_free(keys);
    return status < 0 ? status : LARDER_OK;
}

static int32_t verify_query(const mirror *m, const larder_txn *txn, uint64_t tree, int which,
                            larder_error *error) {
    const mirror_node_query *q = &m->node_queries[which];
    larder_node_query query = {.struct_bytes = sizeof query};
    int32_t status = MIRROR_CALL(larder_node_query_get(txn, tree, which + 1, &query, error));
    if (status < 0) return status;
    if ((status == LARDER_OK) != q->present)
        mirror_problem("tracked query %d: %s", which, larder_status_name(status));
    if (status != LARDER_OK || !q->present) return LARDER_OK;
    if (query.flags != q->flags || query.path.size_bytes != strlen(paths[which]) ||
        memcmp(query.path.data, paths[which], query.path.size_bytes) != 0)
        mirror_problem("tracked query %d has flags %u, not %u", which, query.flags, q->flags);
    return verify_keys(q, txn, tree, which, error);
}

int32_t mirror_cache_verify(const mirror *m, const larder_txn *txn, larder_error *error) {
    uint64_t tree = 0;
    node_model *found;
    int32_t status = find_tree(txn, &tree, error);
    if (status == LARDER_NOT_FOUND) {
        if (m->cache != NULL) mirror_problem("the cache is missing");
        return LARDER_OK;
    }
    if (status != LARDER_OK) return status;
    status = mirror_node_read(txn, tree, &found, error);
    if (status == LARDER_OK && !node_model_is_same(found, m->cache))
        mirror_problem("the cache differs: %zu leaves", node_model_leaf_count(found));
    node_model_free(found);
    for (int which = 0; which < MIRROR_NODE_QUERIES && status == LARDER_OK; which++)
        status = verify_query(m, txn, tree, which, error);
    return status;
}

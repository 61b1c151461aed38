/*
 * check_queries.c - trees, their tracked queries with the index of those, and their pending
 * writes. See check.c.
 *
 * Each query and each sweep that was made is in the index of its tree, which has no more entries
 * than there are such rows.
 */
#include "check.h"
#include "nodes/node_query.h"

#include <stdio.h>

#define BAD_KEY "the key is malformed"

static int32_t no_memory(larder__audit *c) {
    return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check queries");
}

/* ---- trees ---- */

int32_t larder__audit_tree(larder__audit *c, larder_bytes key, uint64_t tree, larder_bytes name) {
    uint64_t found = 0;
    larder_error error = {0};
    int32_t status = larder_node_tree_find(c->txn, name, &found, &error);
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (!larder__audit_holder(c, tree) || !larder__audit_holder(c, larder__index_of(tree)))
        return no_memory(c);
    if (status != LARDER_OK || found != tree)
        return larder__audit_report(c, LARDER__CATALOG, key, "the tree leads to another number");
    if (larder__index_of(tree) <= (uint64_t)c->counters->next_location) return LARDER_OK;
    return larder__audit_report(c, LARDER__CATALOG, key, "the tree's number was never given");
}

/* *is_known: the tree that a row belongs to is there. */
static int32_t check_tree(larder__audit *c, larder__table table, larder_bytes key, uint64_t tree,
                          bool *is_known) {
    larder_error error = {0};
    int32_t status = larder__tree_check(c->txn, tree, &error);
    *is_known = status == LARDER_OK;
    if (status == LARDER_E_INVALID_ARGUMENT)
        return larder__audit_report(c, table, key, "%s", error.message);
    return larder__audit_damage(c, table, key, status, &error);
}

int32_t larder__audit_write_id(larder__audit *c, larder_bytes key, uint64_t tree) {
    larder_error error = {0};
    int64_t highest = 0;
    bool is_known;
    int32_t status = check_tree(c, LARDER__CATALOG, key, tree, &is_known);
    if (status != LARDER_OK || !is_known) return status;
    status = larder__table_get_count(c->txn, key, &highest, &error);
    return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
}

/* ---- tracked queries ---- */

/* Whether the index has the query or the sweep, with its flags or its id. */
static int32_t check_index(larder__audit *c, larder_bytes key, uint64_t tree, uint64_t id,
                           const larder__query_row *row) {
    larder__place place;
    larder_leaf leaf = {0};
    larder_error error = {0};
    char name[32];
    bool is_made = id >= LARDER__SWEEP_ID;
    int64_t expected = is_made ? (int64_t)id : (int64_t)(row->flags & LARDER_NODE_QUERY_KEYED);
    snprintf(name, sizeof name, "%llu", (unsigned long long)id);
    int32_t status = larder__place_find(c->txn, larder__index_of(tree), row->path, &place, &error);
    if (status == LARDER_OK)
        status = larder__place_descend(
            &place, is_made ? larder__index_sweep : larder__index_queries, &error);
    if (status == LARDER_OK && !is_made)
        status = larder__place_descend(&place, larder__bytes(name, strlen(name)), &error);
    if (status == LARDER_OK)
        status = larder__stored_leaf(&place.segment, &place.head, larder__place_end(&place), &leaf,
                                     &error);
    larder__place_close(&place);
    if (status < 0) return larder__audit_damage(c, LARDER__NODE_QUERIES, key, status, &error);
    if (status == LARDER_OK && leaf.type == LARDER_NODE_INTEGER && leaf.integer == expected)
        return LARDER_OK;
    return larder__audit_report(c, LARDER__NODE_QUERIES, key, "the index does not mention it");
}

/* The fault of the row by itself; NULL for none. */
static const char *check_query(const larder__audit *c, uint64_t id, const larder__query_row *row) {
    uint32_t depth;
    if (larder__node_path_check(row->path, false, &depth, NULL) != LARDER_OK)
        return "the query's path is malformed";
    if (row->keys > (uint64_t)c->counters->next_location)
        return "the location of the tracked keys was never given";
    if (row->kind == LARDER__QUERY_ROW) {
        if (id >= LARDER__SWEEP_ID) return "a query has the id of a sweep";
        return (row->flags & ~(uint32_t)LARDER__QUERY_FLAGS) != 0 ? "a flag is unknown" : NULL;
    }
    if (row->keys != 0) return "a sweep has tracked keys";
    if (larder__node_path_check(row->payload, false, &depth, NULL) != LARDER_OK)
        return "the place where a sweep goes on is malformed";
    if (id > LARDER__SWEEP_ID && id - LARDER__SWEEP_ID > (uint64_t)c->counters->next_sweep)
        return "the sweep's id was never given";
    return NULL;
}

/* Tracked keys are the root's children, each TRUE. */
static int32_t check_keys(larder__audit *c, larder_bytes key, uint64_t holder) {
    larder__place place;
    larder_node root, child;
    larder_bytes name, encoded;
    larder_error error = {0};
    larder__buffer *out = &c->nodes.node;
    out->size_bytes = 0;
    int32_t status = larder__place_find(c->txn, holder, larder__bytes(NULL, 0), &place, &error);
    if (status == LARDER_OK)
        status = larder__node_copy(c->txn, &place.segment, place.node, out, &error);
    larder__place_close(&place);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status == LARDER_OK)
        status = larder_node_open(larder__bytes(out->data, out->size_bytes), &root, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__NODE_QUERIES, key, status, &error);
    bool is_sound = root.type == LARDER_NODE_CHILDREN && root.priority.type == LARDER_NODE_EMPTY;
    while (is_sound &&
           (status = larder_node_take_child(&root.children, &name, &encoded, NULL)) == LARDER_OK)
        is_sound = larder_node_open(encoded, &child, NULL) == LARDER_OK &&
                   child.type == LARDER_NODE_TRUE && child.priority.type == LARDER_NODE_EMPTY;
    if (is_sound && status == LARDER_END) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODE_QUERIES, key, "its tracked keys are malformed");
}

int32_t larder__audit_node_query(larder__audit *c, larder_bytes key, larder_bytes value) {
    uint64_t tree, id;
    larder_bytes payload;
    larder__query_row row;
    larder_error error = {0};
    if (!larder__query_read_key(key, &tree, &id) || id == 0)
        return larder__audit_report(c, LARDER__NODE_QUERIES, key, BAD_KEY);
    bool is_known;
    int32_t status = check_tree(c, LARDER__NODE_QUERIES, key, tree, &is_known);
    if (status != LARDER_OK || !is_known) return status;
    status = larder__unseal(c->txn, LARDER__NODE_QUERIES, key, value, &payload, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__NODE_QUERIES, key, status, &error);
    if (!larder__query_parse(payload, &row))
        return larder__audit_report(c, LARDER__NODE_QUERIES, key, "the query is malformed");
    if (row.kind == LARDER__QUERY_ROW) c->report->tracked_query_count++;
    if (row.keys != 0 && !larder__audit_holder(c, row.keys)) return no_memory(c);
    const char *what = check_query(c, id, &row);
    if (what != NULL) return larder__audit_report(c, LARDER__NODE_QUERIES, key, "%s", what);
    if (row.keys != 0) status = check_keys(c, key, row.keys);
    if (status != LARDER_OK || (row.kind == LARDER__SWEEP_ROW && id < LARDER__SWEEP_ID))
        return status;
    c->nodes.index_entries++;
    return check_index(c, key, tree, id, &row);
}

/* Leaves of an index, each of which stands for one row. */
static int32_t count_leaves(larder__audit *c, larder_bytes encoded, int64_t *count) {
    larder_node node;
    larder_bytes key, child;
    int32_t status = larder_node_open(encoded, &node, c->error);
    if (status != LARDER_OK) return status;
    if (node.type != LARDER_NODE_CHILDREN) {
        *count += node.type != LARDER_NODE_EMPTY;
        return LARDER_OK;
    }
    while ((status = larder_node_take_child(&node.children, &key, &child, c->error)) == LARDER_OK) {
        status = count_leaves(c, child, count);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t count_index(larder__audit *c, uint64_t tree, int64_t *count) {
    larder__place place;
    larder_error error = {0};
    larder__buffer *out = &c->nodes.node;
    out->size_bytes = 0;
    int32_t status =
        larder__place_find(c->txn, larder__index_of(tree), larder__bytes(NULL, 0), &place, &error);
    if (status == LARDER_OK)
        status = larder__node_copy(c->txn, &place.segment, place.node, out, &error);
    larder__place_close(&place);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status != LARDER_OK) {
        larder__key key;
        larder__location_key(&key, larder__index_of(tree));
        return larder__audit_damage(c, LARDER__NODES, larder__key_bytes(&key), status, &error);
    }
    return count_leaves(c, larder__bytes(out->data, out->size_bytes), count);
}

/* ---- pending writes ---- */

int32_t larder__audit_node_write(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t tree, id;
    larder_bytes payload;
    larder_time time;
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &tree) || at == end || *at > LARDER_NODE_WRITE_REFUSED)
        return larder__audit_report(c, LARDER__NODE_WRITES, key, BAD_KEY);
    int32_t kind = *at++;
    if (!larder__key_read_u64(&at, end, &id) || at != end || id == 0 || id > INT64_MAX)
        return larder__audit_report(c, LARDER__NODE_WRITES, key, BAD_KEY);
    bool is_known;
    int32_t status = check_tree(c, LARDER__NODE_WRITES, key, tree, &is_known);
    if (status != LARDER_OK || !is_known) return status;
    status = larder__unseal(c->txn, LARDER__NODE_WRITES, key, value, &payload, &error);
    int64_t highest = 0;
    if (status == LARDER_OK) status = larder_node_write_highest_id(c->txn, tree, &highest, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__NODE_WRITES, key, status, &error);
    if (payload.size_bytes < LARDER__TIME_BYTES || !larder__time_get(larder__begin(payload), &time))
        return larder__audit_report(c, LARDER__NODE_WRITES, key, "the write is malformed");
    if (kind == LARDER_NODE_WRITE_PENDING && (int64_t)id > highest)
        return larder__audit_report(c, LARDER__NODE_WRITES, key,
                                    "its id is above the highest ever given");
    return LARDER_OK;
}

/* ---- totals ---- */

int32_t larder__audit_queries_end(larder__audit *c) {
    int64_t leaves = 0;
    uint64_t tree = 0;
    larder_bytes name;
    int32_t status = LARDER_OK;
    while (status == LARDER_OK) {
        larder_error error = {0};
        status = larder_node_tree_next(c->txn, tree, &tree, &name, &error);
        if (status == LARDER_OK)
            status = count_index(c, tree, &leaves);
        else if (status < 0)
            return larder__audit_damage(c, LARDER__CATALOG, larder__bytes(NULL, 0), status, &error);
    }
    if (status != LARDER_END) return status;
    if (leaves == c->nodes.index_entries) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODE_QUERIES, larder__bytes(NULL, 0),
                                "indexes mention %lld queries, rows are %lld", (long long)leaves,
                                (long long)c->nodes.index_entries);
}

/*
 * rebuild_trees.c - trees, their writes and tracked queries, written to a new store.
 *
 * A tree is copied child by child from its root; a node that cannot be read as a whole, child by child
 * again, so that a damaged row costs what lies in it.
 */
#include "rebuild.h"

#include "nodes/node_query.h"
#include "store/catalog.h"

#define KEYS_A_PAGE 256

/* The number of a tree of the new store that has the name of one of the old. */
static int32_t obtain_tree(larder__rebuild *r, uint64_t tree, uint64_t *number,
                           larder_error *error) {
    larder__key key;
    larder_bytes name;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_TREE_NUMBER);
    larder__key_number(&key, tree);
    int32_t status =
        larder__table_get_sealed(r->from, LARDER__CATALOG, larder__key_bytes(&key), &name, error);
    if (status == LARDER_NOT_FOUND)
        return larder__corrupt(r->from, LARDER__CATALOG, larder__key_bytes(&key),
                               "a tree without a name", error);
    return status == LARDER_OK ? larder_node_tree_obtain(r->to, name, number, error) : status;
}

/* ---- writes ---- */

static int32_t put_write(larder__rebuild *r, larder_bytes key, larder_bytes value,
                         larder_error *error) {
    uint64_t tree, id, number;
    uint8_t kind;
    larder_node_write write = {.struct_bytes = sizeof write};
    (void)value;
    if (!larder__evidence_write_key(key, &tree, &kind, &id))
        return larder__corrupt(r->from, LARDER__NODE_WRITES, key, "malformed key", error);
    int32_t status = obtain_tree(r, tree, &number, error);
    if (status == LARDER_OK)
        status = larder_node_write_get(r->from, tree, kind, (int64_t)id, &write, error);
    if (status == LARDER_OK) status = larder_node_write_put(r->to, number, kind, &write, error);
    return status;
}

static int32_t put_pending(larder__rebuild *r, larder_bytes key, larder_bytes value,
                           larder_error *error) {
    uint64_t tree, id;
    uint8_t kind;
    bool is_refused =
        larder__evidence_write_key(key, &tree, &kind, &id) && kind == LARDER_NODE_WRITE_REFUSED;
    return is_refused ? LARDER_NOT_FOUND : put_write(r, key, value, error);
}

static int32_t put_refused(larder__rebuild *r, larder_bytes key, larder_bytes value,
                           larder_error *error) {
    uint64_t tree, id;
    uint8_t kind;
    bool is_refused =
        larder__evidence_write_key(key, &tree, &kind, &id) && kind == LARDER_NODE_WRITE_REFUSED;
    return is_refused ? put_write(r, key, value, error) : LARDER_NOT_FOUND;
}

int32_t larder__rebuild_tree_writes(larder__rebuild *r, larder_error *error) {
    larder_bytes all = {NULL, 0};
    int32_t status = larder__rebuild_table(r, LARDER__NODE_WRITES, all, put_pending,
                                           &r->report->tree_writes, error);
    if (status == LARDER_OK)
        status = larder__rebuild_table(r, LARDER__NODE_WRITES, all, put_refused,
                                       &r->report->refused_writes, error);
    return status;
}

/* ---- tracked queries ---- */

/* The tracked keys, or as many as there are. */
static int32_t put_keys(larder__rebuild *r, uint64_t tree, uint64_t number, int64_t id,
                        larder_error *error) {
    larder_node_builder *builder;
    larder_bytes encoded, children, key, child;
    larder_node node;
    int32_t status = larder_node_builder_create(NULL, &builder, error);
    if (status != LARDER_OK) return status;
    status = larder_node_query_keys(r->from, tree, id, builder, NULL);
    if (status == LARDER_OK) status = larder_node_builder_finish(builder, &encoded, NULL);
    if (status == LARDER_OK && encoded.size_bytes > 0)
        status = larder_node_open(encoded, &node, NULL);
    if (status == LARDER_OK && encoded.size_bytes > 0) {
        children = node.children;
        while (status == LARDER_OK &&
               larder_node_take_child(&children, &key, &child, NULL) == LARDER_OK)
            status = larder_node_query_change_keys(r->to, number, id, NULL, 0, &key, 1, error);
    }
    larder_node_builder_close(builder);
    return larder__rebuild_goes_on(r, status) ? LARDER_OK : status;
}

static bool is_known_whole(const larder__rebuild *r) {
    return larder__harvest_is_whole(r->harvest, LARDER__CATALOG) &&
           larder__harvest_is_whole(r->harvest, LARDER__NODES) &&
           larder__harvest_is_whole(r->harvest, LARDER__NODE_QUERIES);
}

static int32_t put_query(larder__rebuild *r, larder_bytes key, larder_bytes value,
                         larder_error *error) {
    uint64_t tree, id, number;
    larder_bytes payload;
    larder__query_row row;
    int32_t status = larder__unseal(r->from, LARDER__NODE_QUERIES, key, value, &payload, error);
    if (status != LARDER_OK) return status;
    if (!larder__query_read_key(key, &tree, &id) || !larder__query_parse(payload, &row))
        return larder__corrupt(r->from, LARDER__NODE_QUERIES, key, "malformed query", error);
    if (row.kind != LARDER__QUERY_ROW || id > INT64_MAX) return LARDER_NOT_FOUND; /* a sweep */
    status = obtain_tree(r, tree, &number, error);
    if (status != LARDER_OK) return status;
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = (int64_t)id,
                               .flags = row.flags,
                               .last_use = row.last_use,
                               .path = row.path,
                               .payload = row.payload};
    if (!is_known_whole(r)) query.flags &= ~(uint32_t)LARDER_NODE_QUERY_COMPLETE;
    status = larder_node_query_put(r->to, number, &query, error);
    if (status != LARDER_OK || row.keys == 0) return status;
    return put_keys(r, tree, number, (int64_t)id, error);
}

/* ---- nodes ---- */

typedef struct copied_tree {
    larder__rebuild *r;
    uint64_t from, to;
    larder__buffer path;
} copied_tree;

static larder_bytes path_of(const copied_tree *t) {
    return larder__bytes(t->path.data, t->path.size_bytes);
}

static bool append_key(copied_tree *t, larder_bytes key) {
    return (t->path.size_bytes == 0 || larder__buffer_append(&t->path, "/", 1)) &&
           larder__buffer_append(&t->path, key.data, key.size_bytes);
}

static int32_t put_node(copied_tree *t, larder_node_builder *builder, larder_error *error) {
    larder_bytes encoded;
    int32_t status = larder_node_builder_finish(builder, &encoded, error);
    if (status != LARDER_OK || encoded.size_bytes == 0) return status;
    t->r->waiting_bytes += (int64_t)encoded.size_bytes;
    status = larder_node_put(t->r->to, t->to, path_of(t), encoded, error);
    return status == LARDER_OK ? larder__rebuild_commit(t->r, false, error) : status;
}

static int32_t copy_children(copied_tree *t, unsigned depth, larder_error *error);

/* The node at the path, whole where that can be done. */
static int32_t copy_node(copied_tree *t, unsigned depth, larder_error *error) {
    larder_node_builder *builder;
    int32_t status = larder_node_builder_create(NULL, &builder, error);
    if (status != LARDER_OK) return status;
    int32_t found = larder_node_read(t->r->from, t->from, path_of(t), builder, NULL);
    if (found == LARDER_OK) status = put_node(t, builder, error);
    larder_node_builder_close(builder);
    if (found == LARDER_NOT_FOUND) t->r->report->nodes.lost_count++;
    if (found == LARDER_E_NO_MEMORY) return larder__fail(error, found, "no memory for a node");
    return found < 0 ? copy_children(t, depth + 1, error) : status;
}

/* Of a node that is copied child by child. */
static int32_t put_priority(copied_tree *t, const larder_leaf *priority, larder_error *error) {
    larder_node_builder *builder;
    size_t size = t->path.size_bytes;
    if (priority->type == LARDER_NODE_EMPTY) return LARDER_OK;
    int32_t status = larder_node_builder_create(NULL, &builder, error);
    if (status != LARDER_OK) return status;
    if (append_key(t, larder__bytes(".priority", 9)))
        status = larder_node_builder_leaf(builder, priority, NULL, error);
    else
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a path");
    if (status == LARDER_OK) status = put_node(t, builder, error);
    larder_node_builder_close(builder);
    t->path.size_bytes = size;
    return status;
}

/* One page of keys; *last becomes its last one. LARDER_MORE: another follows. */
static int32_t copy_page(copied_tree *t, unsigned depth, larder__buffer *last,
                         larder_leaf *priority, larder__buffer *text, larder_error *error) {
    larder_node_builder *builder;
    larder_bytes encoded, key, child;
    larder_node node;
    larder_node_page page = {.struct_bytes = sizeof page,
                             .after = larder__bytes(last->data, last->size_bytes),
                             .keys_only = 1,
                             .max_count = KEYS_A_PAGE};
    int32_t status = larder_node_builder_create(NULL, &builder, error);
    if (status != LARDER_OK) return status;
    int32_t found = larder_node_read_page(t->r->from, t->from, path_of(t), &page, builder, NULL);
    if (found < 0) t->r->report->nodes.lost_count++;
    if (found >= 0)
        found = larder_node_builder_finish(builder, &encoded, NULL) < 0 ? LARDER_OK : found;
    bool has_node =
        found >= 0 && encoded.size_bytes > 0 && larder_node_open(encoded, &node, NULL) == LARDER_OK;
    if (has_node && node.priority.type != LARDER_NODE_EMPTY) {
        *priority = node.priority;
        text->size_bytes = 0;
        if (larder__buffer_append(text, priority->text.data, priority->text.size_bytes))
            priority->text = larder__bytes(text->data, text->size_bytes);
    }
    while (has_node && status == LARDER_OK &&
           larder_node_take_child(&node.children, &key, &child, NULL) == LARDER_OK) {
        size_t size = t->path.size_bytes;
        last->size_bytes = 0;
        if (!larder__buffer_append(last, key.data, key.size_bytes) || !append_key(t, key))
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a path");
        if (status == LARDER_OK) status = copy_node(t, depth, error);
        if (larder__rebuild_goes_on(t->r, status)) status = LARDER_OK;
        t->path.size_bytes = size;
    }
    larder_node_builder_close(builder);
    return status != LARDER_OK || !has_node ? status : found;
}

static int32_t copy_children(copied_tree *t, unsigned depth, larder_error *error) {
    larder__buffer last = {.allocator = t->path.allocator}, text = {.allocator = t->path.allocator};
    larder_leaf priority = {.type = LARDER_NODE_EMPTY};
    int32_t status = LARDER_MORE;
    if (depth > LARDER_NODE_DEPTH_MAX) return LARDER_OK;
    while (status == LARDER_MORE)
        status = copy_page(t, depth, &last, &priority, &text, error);
    if (status == LARDER_OK) status = put_priority(t, &priority, error);
    larder__buffer_free(&last);
    larder__buffer_free(&text);
    return status;
}

static int32_t put_tree(larder__rebuild *r, larder_bytes key, larder_bytes value,
                        larder_error *error) {
    copied_tree t = {.r = r, .path = {.allocator = &r->to_env->allocator}};
    int64_t highest = 0, there = 0;
    larder_node_builder *builder;
    larder__key count;
    const uint8_t *at = larder__begin(key) + 1;
    (void)value;
    if (!larder__key_read_number(&at, larder__begin(key) + key.size_bytes, &t.from))
        return larder__corrupt(r->from, LARDER__CATALOG, key, "malformed key", error);
    int32_t status = obtain_tree(r, t.from, &t.to, error);
    if (status == LARDER_OK) status = larder_node_builder_create(NULL, &builder, error);
    if (status != LARDER_OK) return status;
    /* A root that is a leaf has no children; any other is copied child by child. */
    larder_node_page page = {.struct_bytes = sizeof page, .keys_only = 1, .max_count = 1};
    larder_bytes encoded = {NULL, 0};
    int32_t found = larder_node_read_page(r->from, t.from, path_of(&t), &page, builder, NULL);
    if (found >= 0 && larder_node_builder_finish(builder, &encoded, NULL) == LARDER_OK &&
        encoded.size_bytes == 0 &&
        larder_node_read(r->from, t.from, path_of(&t), builder, NULL) == LARDER_OK)
        status = put_node(&t, builder, error);
    larder_node_builder_close(builder);
    if (status == LARDER_OK) status = copy_children(&t, 0, error);
    larder__buffer_free(&t.path);
    if (status != LARDER_OK) return status;
    /* Ids of its writes are not given twice. */
    larder__key_clear(&count);
    larder__key_byte(&count, LARDER__KIND_WRITE_ID);
    larder__key_number(&count, t.to);
    if (larder_node_write_highest_id(r->from, t.from, &highest, NULL) != LARDER_OK)
        return LARDER_OK;
    status = larder__table_get_count(r->to, larder__key_bytes(&count), &there, error);
    if (status == LARDER_OK && highest > there)
        status = larder__table_put_count(r->to, larder__key_bytes(&count), highest, error);
    return status;
}

int32_t larder__rebuild_trees(larder__rebuild *r, larder_error *error) {
    static const char kind = LARDER__KIND_TREE_NUMBER;
    larder_bytes all = {NULL, 0};
    larder_salvage_count trees = {0, 0, 0};
    int32_t status =
        larder__rebuild_table(r, LARDER__NODE_QUERIES, all, put_query, &r->report->queries, error);
    if (status == LARDER_OK)
        status = larder__rebuild_table(r, LARDER__CATALOG, larder__bytes(&kind, 1), put_tree,
                                       &trees, error);
    return status;
}

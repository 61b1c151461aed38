/* node_put.c - the public calls that change a tree. */
#include "node_query.h"

static int32_t check_node(larder_bytes node, larder_bytes base, larder_bytes path,
                          larder_error *error) {
    uint32_t depth, above, below;
    int32_t status = larder__node_path_check(base, path.size_bytes == 0, &above, error);
    if (status == LARDER_OK) status = larder__node_path_check(path, true, &below, error);
    if (status == LARDER_OK) status = larder__node_check(node, 0, &depth, error);
    if (status != LARDER_OK) return status;
    if (above + below + depth > LARDER_NODE_DEPTH_MAX)
        return larder__fail(error, LARDER_E_TOO_DEEP, "a node would lie below %d keys or more",
                            LARDER_NODE_DEPTH_MAX);
    return LARDER_OK;
}

/* Whether the last key of a path is .priority. */
static bool ends_in_priority(larder_bytes path) {
    size_t size = larder__priority_key.size_bytes;
    if (path.size_bytes < size) return false;
    const uint8_t *p = larder__begin(path) + path.size_bytes - size;
    return memcmp(p, larder__priority_key.data, size) == 0;
}

static int32_t check_priority(larder_bytes node, larder_error *error) {
    const uint8_t *p = larder__begin(node);
    if (node.size_bytes == 0 || (p[0] >= LARDER_NODE_INTEGER && p[0] <= LARDER_NODE_STRING))
        return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                        "a priority is a number or a string without a priority of its own");
}

static int32_t add_change(larder__change_list *list, larder_bytes base, larder_bytes path,
                          larder_bytes node, larder_error *error) {
    int32_t status = check_node(node, base, path, error);
    if (status == LARDER_OK && ends_in_priority(path.size_bytes == 0 ? base : path))
        status = check_priority(node, error);
    return status == LARDER_OK ? larder__change_list_add(list, base, path, node, error) : status;
}

/* Data that no tracked query keeps is noted, so that it is found when space is needed. */
static int32_t note_unkept(larder_txn *txn, uint64_t tree, larder_bytes base,
                           const larder_node_change *changes, size_t count, larder_error *error) {
    bool is_kept = false;
    larder__buffer path = {.allocator = &txn->env->allocator};
    larder__keepers keepers = {.keyed.allocator = &txn->env->allocator};
    int32_t status = larder__keepers_cover(txn, tree, base, &keepers, &is_kept, error);
    for (size_t i = 0; i < count && status == LARDER_OK && !is_kept; i++) {
        if (changes[i].node.size_bytes == 0) continue;
        path.size_bytes = 0;
        bool has_memory = larder__append_bytes(&path, base);
        if (has_memory && base.size_bytes > 0) has_memory = larder__append_byte(&path, '/');
        if (!has_memory || !larder__append_bytes(&path, changes[i].path)) {
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a path");
            break;
        }
        bool is_change_kept = true;
        status = larder__keepers_cover(txn, tree, larder__bytes(path.data, path.size_bytes),
                                       &keepers, &is_change_kept, error);
        if (status != LARDER_OK || is_change_kept) continue;
        status = larder__sweep_make(txn, tree, larder__bytes(NULL, 0), error);
        txn->env->nodes->swept_tree = tree;
        break;
    }
    larder__buffer_free(&keepers.keyed);
    larder__buffer_free(&path);
    return status;
}

int32_t larder_node_merge(larder_txn *txn, uint64_t tree, larder_bytes path,
                          const larder_node_change *changes, size_t change_count,
                          larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = larder__tree_check(txn, tree, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    if (!larder__is_array(changes, change_count, sizeof *changes))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "changes is NULL or too long");
    larder__change_list list;
    larder__change_list_init(&list, &txn->env->allocator);
    for (size_t i = 0; i < change_count && status == LARDER_OK; i++)
        status = add_change(&list, path, changes[i].path, changes[i].node, error);
    if (status == LARDER_OK && txn->env->nodes->swept_tree != tree)
        status = note_unkept(txn, tree, path, changes, change_count, error);
    if (status == LARDER_OK) status = larder__change_list_apply(&list, txn, tree, error);
    larder__change_list_free(&list);
    return larder__txn_note(txn, status);
}

int32_t larder_node_put(larder_txn *txn, uint64_t tree, larder_bytes path, larder_bytes encoded,
                        larder_error *error) {
    larder_node_change change = {.path = larder__bytes(NULL, 0), .node = encoded};
    return larder_node_merge(txn, tree, path, &change, 1, error);
}

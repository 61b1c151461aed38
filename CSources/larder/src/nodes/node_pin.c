/*
 * node_pin.c - pins of subtrees.
 *
 * Pins are names in the LRU's table (store/pin.c): tree number (8), a letter, the path. A pin adds
 * its own path with letter '=' and every path above it with '>', so that "is something pinned below
 * this path" is one look-up, too.
 */
#include "node_query.h"

#include "store/lru.h"

#define AT_PATH '='
#define BELOW_PATH '>'

/* Fills name; false without memory. */
static bool make_name(larder__buffer *name, uint64_t tree, char letter, larder_bytes path) {
    name->size_bytes = 0;
    return larder__buffer_append(name, &tree, sizeof tree) &&
           larder__append_byte(name, (uint8_t)letter) && larder__append_bytes(name, path);
}

/* The path without its last key; false for the root. */
static bool parent(larder_bytes *path) {
    const uint8_t *p = larder__begin(*path);
    if (path->size_bytes == 0) return false;
    size_t size = path->size_bytes - 1;
    while (size > 0 && p[size] != '/')
        size--;
    *path = larder__bytes(p, size);
    return true;
}

/* Adds the pin's names, or drops them until there is one that is not there. *done: how many. */
static int32_t each_name(larder_env *env, uint64_t tree, larder_bytes path, bool is_pin,
                         size_t limit, size_t *done, larder_error *error) {
    larder__buffer name = {.allocator = &env->allocator};
    char letter = AT_PATH;
    int32_t status = LARDER_OK;
    *done = 0;
    do {
        if (*done == limit) break;
        if (!make_name(&name, tree, letter, path)) {
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a pin");
            break;
        }
        larder_bytes bytes = larder__bytes(name.data, name.size_bytes);
        status = is_pin ? larder__lru_add_pin(env, LARDER__LRU_NODE_QUERY, bytes, error)
                        : larder__lru_drop_pin(env, LARDER__LRU_NODE_QUERY, bytes);
        if (status != LARDER_OK) break;
        (*done)++;
        letter = BELOW_PATH;
    } while (parent(&path));
    larder__buffer_free(&name);
    return status;
}

static int32_t check(larder_env *env, uint64_t tree, larder_bytes path, larder_error *error) {
    uint32_t depth;
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if (tree == 0) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "no tree has number 0");
    return larder__node_path_check(path, false, &depth, error);
}

int32_t larder_node_pin(larder_env *env, uint64_t tree, larder_bytes path, larder_error *error) {
    size_t done, undone;
    int32_t status = check(env, tree, path, error);
    if (status != LARDER_OK) return status;
    status = each_name(env, tree, path, true, SIZE_MAX, &done, error);
    if (status != LARDER_OK) (void)each_name(env, tree, path, false, done, &undone, NULL);
    return status;
}

int32_t larder_node_unpin(larder_env *env, uint64_t tree, larder_bytes path, larder_error *error) {
    size_t done;
    int32_t status = check(env, tree, path, error);
    return status == LARDER_OK ? each_name(env, tree, path, false, SIZE_MAX, &done, error) : status;
}

/* Without memory to ask, it counts as pinned. */
static bool has_name(larder_env *env, uint64_t tree, char letter, larder_bytes path) {
    larder__buffer name = {.allocator = &env->allocator};
    bool found = !make_name(&name, tree, letter, path) ||
                 larder__lru_is_pinned(env, LARDER__LRU_NODE_QUERY,
                                       larder__bytes(name.data, name.size_bytes));
    larder__buffer_free(&name);
    return found;
}

bool larder__node_has_pin_at(larder_env *env, uint64_t tree, larder_bytes path) {
    return larder__lru_has_pins(env) && has_name(env, tree, AT_PATH, path);
}

bool larder__node_has_pin_below(larder_env *env, uint64_t tree, larder_bytes path) {
    return larder__lru_has_pins(env) && has_name(env, tree, BELOW_PATH, path);
}

bool larder__node_is_pinned(larder_env *env, uint64_t tree, larder_bytes path) {
    if (!larder__lru_has_pins(env)) return false;
    do
        if (has_name(env, tree, AT_PATH, path)) return true;
    while (parent(&path));
    return false;
}

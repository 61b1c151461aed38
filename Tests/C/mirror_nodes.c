/* mirror_nodes.c - the mirror's tree that a tracked query keeps whole, and its pending writes. */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES_MAX = 400, ROOT_QUERY = 99 };

static larder_bytes text(const char *data) { return (larder_bytes){data, strlen(data)}; }

static uint64_t below(void *context, uint64_t bound) { return mirror_random_below(context, bound); }

static node_model_random randoms(mirror_random *random) {
    return (node_model_random){.below = below, .context = random, .long_keys = true};
}

void mirror_nodes_keep(mirror *m) {
    m->tree = node_model_copy(m->tree);
    m->cache = node_model_copy(m->cache);
    for (int w = 0; w < MIRROR_NODE_WRITES; w++)
        mirror_blob_keep(m->node_writes[w]);
}

void mirror_nodes_release(mirror *m) {
    node_model_free(m->tree);
    node_model_free(m->cache);
    for (int w = 0; w < MIRROR_NODE_WRITES; w++)
        mirror_blob_release(m->node_writes[w]);
}

/* ---- changes ---- */

typedef struct changing {
    mirror *m;
    larder_txn *txn;
    mirror_random *random;
    larder_error *error;
    uint64_t tree;
} changing;

static uint64_t pick(const changing *c, uint64_t bound) {
    return mirror_random_below(c->random, bound);
}

/* The tree, with a query that keeps all of it. */
static int32_t obtain(changing *c) {
    larder_node_query query = {
        .struct_bytes = sizeof query, .query_id = ROOT_QUERY, .flags = LARDER_NODE_QUERY_ACTIVE};
    if (c->txn == NULL) return LARDER_OK;
    int32_t status =
        MIRROR_CALL(larder_node_tree_obtain(c->txn, text("mirror"), &c->tree, c->error));
    if (status != LARDER_OK) return status;
    return MIRROR_CALL(larder_node_query_put(c->txn, c->tree, &query, c->error));
}

static int32_t put(const changing *c) {
    char path[8192];
    node_model_random random = randoms(c->random);
    node_model *value = NULL;
    snprintf(path, sizeof path, "%s", node_model_path(&random, c->m->tree));
    if (pick(c, 4) != 0) value = node_model_make(&random, 2, 6);
    if (*path == 0 || node_model_leaf_count(c->m->tree) > LEAVES_MAX) {
        node_model_free(value);
        value = NULL;
        path[0] = 0;
        if (c->m->tree != NULL && c->m->tree->count > 0)
            snprintf(path, sizeof path, "%s", c->m->tree->keys[pick(c, c->m->tree->count)]);
    }
    int32_t status = LARDER_OK;
    if (c->txn != NULL) {
        larder_bytes encoded = node_model_bytes(value);
        status = MIRROR_CALL(larder_node_put(c->txn, c->tree, text(path), encoded, c->error));
        node_model_bytes_free(encoded);
    }
    c->m->tree = node_model_put(c->m->tree, path, value);
    return status;
}

/* Deletions come last: written together, the changes never empty their parent in between. */
static int32_t merge(const changing *c) {
    enum { CHANGES = 20 };
    larder_node_change changes[CHANGES];
    node_model *values[CHANGES];
    char keys[CHANGES][32];
    size_t count = 1 + pick(c, CHANGES);
    node_model_random random = randoms(c->random);
    for (size_t i = 0; i < count; i++) {
        values[i] = pick(c, 5) == 0 ? NULL : node_model_make(&random, 1, 4);
        snprintf(keys[i], sizeof keys[i], "m%llu", (unsigned long long)(i * 10 + pick(c, 10)));
        changes[i] = (larder_node_change){text(keys[i]), node_model_bytes(values[i])};
    }
    for (int deletes = 0; deletes < 2; deletes++) {
        for (size_t i = 0; i < count; i++) {
            char path[64];
            if ((changes[i].node.size_bytes == 0) != deletes) continue;
            snprintf(path, sizeof path, "rooms/a/%s", keys[i]);
            c->m->tree = node_model_put(c->m->tree, path, values[i]);
        }
    }
    int32_t status = LARDER_OK;
    if (c->txn != NULL)
        status = MIRROR_CALL(
            larder_node_merge(c->txn, c->tree, text("rooms/a"), changes, count, c->error));
    for (size_t i = 0; i < count; i++)
        node_model_bytes_free(changes[i].node);
    return status;
}

static mirror_blob *make_payload(const changing *c) {
    size_t size = pick(c, 400);
    mirror_blob *blob = malloc(sizeof *blob + size + 1);
    if (blob == NULL) abort();
    blob->references = 1;
    blob->size_bytes = size;
    memset(blob->data, 'a' + (int)pick(c, 26), size);
    return blob;
}

static int32_t change_write(const changing *c) {
    int which = (int)pick(c, MIRROR_NODE_WRITES);
    mirror_blob **at = &c->m->node_writes[which];
    bool ends = *at != NULL && pick(c, 2) == 0;
    larder_node_write write = {
        .struct_bytes = sizeof write, .write_id = which + 1, .time = {17, 0, 0}};
    mirror_blob *blob = ends ? NULL : make_payload(c);
    mirror_blob_release(*at);
    *at = blob;
    if (c->txn == NULL) return LARDER_OK;
    if (ends)
        return MIRROR_CALL(larder_node_write_remove(c->txn, c->tree, LARDER_NODE_WRITE_PENDING,
                                                    which + 1, c->error));
    write.payload = mirror_blob_bytes(blob);
    return MIRROR_CALL(
        larder_node_write_put(c->txn, c->tree, LARDER_NODE_WRITE_PENDING, &write, c->error));
}

int32_t mirror_nodes_change(mirror *m, larder_txn *txn, mirror_random *random,
                            larder_error *error) {
    changing c = {m, txn, random, error, 0};
    int32_t status = obtain(&c);
    uint64_t which = pick(&c, 10);
    if (status != LARDER_OK) return status;
    if (which < 5) return put(&c);
    return which < 8 ? merge(&c) : change_write(&c);
}

/* ---- comparison ---- */

int32_t mirror_node_read(const larder_txn *txn, uint64_t tree, node_model **found,
                         larder_error *error) {
    larder_node_builder *builder = NULL;
    larder_bytes encoded = {0};
    *found = NULL;
    if (larder_node_builder_create(NULL, &builder, NULL) != LARDER_OK) abort();
    int32_t status = MIRROR_CALL(larder_node_read(txn, tree, text(""), builder, error));
    if (status >= 0) larder_node_builder_finish(builder, &encoded, NULL);
    *found = node_model_decode(encoded);
    larder_node_builder_close(builder);
    return status < 0 ? status : LARDER_OK;
}

static int32_t verify_tree(const mirror *m, const larder_txn *txn, uint64_t tree,
                           larder_error *error) {
    node_model *found;
    int32_t status = mirror_node_read(txn, tree, &found, error);
    if (status == LARDER_OK && !node_model_is_same(found, m->tree))
        mirror_problem("the tree differs: %zu leaves", node_model_leaf_count(found));
    node_model_free(found);
    return status;
}

static bool is_payload(larder_bytes payload, const mirror_blob *blob) {
    larder_bytes expected = mirror_blob_bytes(blob);
    return payload.size_bytes == expected.size_bytes &&
           (payload.size_bytes == 0 ||
            memcmp(payload.data, expected.data, payload.size_bytes) == 0);
}

static int32_t verify_write(const mirror *m, const larder_txn *txn, uint64_t tree, int which,
                            larder_error *error) {
    larder_node_write write = {.struct_bytes = sizeof write};
    int32_t status = MIRROR_CALL(
        larder_node_write_get(txn, tree, LARDER_NODE_WRITE_PENDING, which + 1, &write, error));
    if (status < 0) return status;
    const mirror_blob *blob = m->node_writes[which];
    if ((status == LARDER_OK) != (blob != NULL) ||
        (blob != NULL && !is_payload(write.payload, blob)))
        mirror_problem("pending write %d: %s", which, larder_status_name(status));
    return LARDER_OK;
}

/* One after the other, in the order of their ids, which end at the highest ever given or below. */
static int32_t verify_order(const mirror *m, const larder_txn *txn, uint64_t tree,
                            larder_error *error) {
    larder_node_write write = {.struct_bytes = sizeof write};
    int64_t highest = 0;
    int32_t status = MIRROR_CALL(larder_node_write_highest_id(txn, tree, &highest, error));
    for (int w = 0; w < MIRROR_NODE_WRITES && status == LARDER_OK; w++) {
        if (m->node_writes[w] == NULL) continue;
        status = MIRROR_CALL(larder_node_write_next(txn, tree, LARDER_NODE_WRITE_PENDING,
                                                    write.write_id, &write, error));
        if (status >= 0 && (status != LARDER_OK || write.write_id != w + 1 || w + 1 > highest))
            mirror_problem("pending write %d is not the next one", w);
    }
    if (status != LARDER_OK) return status < 0 ? status : LARDER_OK;
    status = MIRROR_CALL(larder_node_write_next(txn, tree, LARDER_NODE_WRITE_PENDING,
                                                write.write_id, &write, error));
    if (status == LARDER_OK) mirror_problem("a pending write too many");
    return status < 0 ? status : LARDER_OK;
}

int32_t mirror_nodes_verify(const mirror *m, const larder_txn *txn, larder_error *error) {
    uint64_t tree = 0;
    int32_t status = MIRROR_CALL(larder_node_tree_find(txn, text("mirror"), &tree, error));
    if (status == LARDER_NOT_FOUND) {
        if (m->tree != NULL) mirror_problem("the tree is missing");
        return LARDER_OK;
    }
    if (status == LARDER_OK) status = verify_tree(m, txn, tree, error);
    for (int w = 0; w < MIRROR_NODE_WRITES && status == LARDER_OK; w++)
        status = verify_write(m, txn, tree, w, error);
    return status == LARDER_OK ? verify_order(m, txn, tree, error) : status;
}

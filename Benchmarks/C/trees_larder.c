/* trees_larder.c - trees in Larder, through larder.h alone. */
#include "trees.h"

#include "larder.h"

#include <stdlib.h>
#include <string.h>

struct tree_store {
    larder_env *env;
    uint64_t tree;
    larder_node_builder *into, *from;
    larder_error error;
};

static void check(const tree_store *s, int32_t status, const char *what) {
    if (status < 0) fail("Larder, %s: %s", what, s->error.message);
}

static larder_bytes bytes(const char *data, size_t size) { return (larder_bytes){data, size}; }
static larder_bytes text(const char *data) { return bytes(data, strlen(data)); }

static tree_store *tree_open(const char *directory, const store_options *options) {
    tree_store *s = bench_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    larder_env_options o;
    larder_env_options_init(&o, sizeof o);
    o.durability = options->durability == EVERY_COMMIT ? LARDER_DURABILITY_EVERY_COMMIT
                                                       : LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    o.map_bytes = options->map_bytes;
    o.budget_bytes = (int64_t)1 << 40; /* far, but it is counted */
    check(s, larder_env_open(directory, &o, &s->env, &s->error), "open");
    check(s, larder_node_builder_create(NULL, &s->into, &s->error), "builder");
    check(s, larder_node_builder_create(NULL, &s->from, &s->error), "builder");
    larder_txn *txn;
    check(s, larder_txn_begin_write(s->env, &txn, &s->error), "begin");
    check(s, larder_node_tree_obtain(txn, text("bench"), &s->tree, &s->error), "tree");
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = 1,
                               .flags = LARDER_NODE_QUERY_COMPLETE,
                               .payload = text("{}")};
    check(s, larder_node_query_put(txn, s->tree, &query, &s->error), "query");
    check(s, larder_txn_commit(txn, &s->error), "commit");
    return s;
}

static void tree_close(tree_store *s) {
    larder_node_builder_close(s->into);
    larder_node_builder_close(s->from);
    check(s, larder_env_close(s->env, &s->error), "close");
    free(s);
}

/* ---- writing ---- */

static void add_leaf(const tree_store *s, const char *key, larder_leaf leaf) {
    check(s, larder_node_builder_key(s->from, text(key), NULL), "key");
    check(s, larder_node_builder_leaf(s->from, &leaf, NULL, NULL), "leaf");
}

static larder_leaf integer(int64_t value) {
    return (larder_leaf){.type = LARDER_NODE_INTEGER, .integer = value};
}
static larder_leaf string(const char *data, size_t size) {
    return (larder_leaf){.type = LARDER_NODE_STRING, .text = bytes(data, size)};
}

/* Nodes that are built one after the other, and the changes made of them. */
static buffer arena;
static larder_node_change *changes;
static size_t *ends;

static void changes_begin(size_t count) {
    arena.size = 0;
    changes = realloc(changes, count * sizeof *changes);
    ends = realloc(ends, count * sizeof *ends);
    if (changes == NULL || ends == NULL) fail("out of memory");
}

static void changes_add(const tree_store *s, size_t at, const char *path, size_t path_size) {
    larder_bytes encoded;
    check(s, larder_node_builder_finish(s->from, &encoded, NULL), "finish");
    buffer_append(&arena, encoded.data, encoded.size_bytes);
    ends[at] = arena.size;
    changes[at].path = bytes(path + 1, path_size - 1);
}

static void changes_put(tree_store *s, size_t count) {
    larder_txn *txn;
    size_t at = 0;
    for (size_t k = 0; k < count; at = ends[k++])
        changes[k].node = bytes(arena.data + at, ends[k] - at);
    check(s, larder_txn_begin_write(s->env, &txn, &s->error), "begin");
    check(s, larder_node_merge(txn, s->tree, text(""), changes, count, &s->error), "merge");
    check(s, larder_txn_commit(txn, &s->error), "commit");
}

static void put_messages(tree_store *s, const message *messages, size_t count) {
    changes_begin(count);
    for (size_t k = 0; k < count; k++) {
        const message *m = &messages[k];
        larder_leaf edited = {.type = m->edited ? LARDER_NODE_TRUE : LARDER_NODE_FALSE};
        larder_node_builder_reset(s->from);
        larder_node_builder_begin_children(s->from, NULL, NULL);
        add_leaf(s, "author", string(m->author, m->author_size));
        add_leaf(s, "edited", edited);
        add_leaf(s, "likes", integer(m->likes));
        add_leaf(s, "text", string(m->text, m->text_size));
        add_leaf(s, "time", integer(m->time));
        larder_node_builder_end_children(s->from, NULL);
        changes_add(s, k, m->path, m->path_size);
    }
    changes_put(s, count);
}

static void put_scores(tree_store *s, int64_t first, size_t count) {
    static char(*paths)[64];
    paths = realloc(paths, count * sizeof *paths);
    if (paths == NULL) fail("out of memory");
    changes_begin(count);
    for (size_t k = 0; k < count; k++) {
        larder_leaf leaf = integer(score_of(first + (int64_t)k));
        span path = score_path(first + (int64_t)k, paths[k]);
        larder_node_builder_reset(s->from);
        larder_node_builder_leaf(s->from, &leaf, NULL, NULL);
        changes_add(s, k, path.data, path.size);
    }
    changes_put(s, count);
}

static void put_groups(tree_store *s, const group *groups, size_t count) {
    changes_begin(count);
    for (size_t k = 0; k < count; k++) {
        const group *g = &groups[k];
        larder_node_builder_reset(s->from);
        larder_node_builder_begin_children(s->from, NULL, NULL);
        for (int i = 0; i < GROUP_SETTINGS; i++) {
            check(s, larder_node_builder_key(s->from, text(g->names[i]), NULL), "key");
            larder_node_builder_begin_children(s->from, NULL, NULL);
            add_leaf(s, "note", string(g->texts[i], strlen(g->texts[i])));
            add_leaf(s, "value", integer(g->numbers[i]));
            larder_node_builder_end_children(s->from, NULL);
        }
        larder_node_builder_end_children(s->from, NULL);
        changes_add(s, k, g->path, g->path_size);
    }
    changes_put(s, count);
}

static void put_likes(tree_store *s, const message *messages, size_t count) {
    larder_txn *txn;
    check(s, larder_txn_begin_write(s->env, &txn, &s->error), "begin");
    for (size_t k = 0; k < count; k++) {
        const message *m = &messages[k];
        char path[80];
        larder_bytes encoded;
        larder_leaf leaf = integer(m->likes + 1);
        memcpy(path, m->path + 1, m->path_size - 1);
        memcpy(path + m->path_size - 1, "/likes", 7);
        larder_node_builder_reset(s->from);
        larder_node_builder_leaf(s->from, &leaf, NULL, NULL);
        larder_node_builder_finish(s->from, &encoded, NULL);
        check(s, larder_node_put(txn, s->tree, text(path), encoded, &s->error), "put");
    }
    check(s, larder_txn_commit(txn, &s->error), "commit");
}

/* ---- reading ---- */

static void add_node(const tree_store *s, larder_bytes encoded, tree_sum *sum) {
    larder_node node;
    larder_bytes key, child;
    check(s, larder_node_open(encoded, &node, NULL), "node");
    if (node.type == LARDER_NODE_CHILDREN) {
        while (larder_node_take_child(&node.children, &key, &child, NULL) == LARDER_OK)
            add_node(s, child, sum);
        return;
    }
    sum->leaves++;
    sum->numbers += node.leaf.integer;
    sum->text_bytes += (int64_t)node.leaf.text.size_bytes;
}

static tree_sum tree_read(tree_store *s, span path) {
    const larder_txn *txn;
    tree_sum sum = {0};
    larder_bytes encoded;
    size_t size = path.size - 1;
    if (path.data[path.size - 1] == '/') size--;
    check(s, larder_txn_begin_read(s->env, &txn, &s->error), "begin");
    check(s, larder_node_read(txn, s->tree, bytes(path.data + 1, size), s->into, &s->error),
          "read");
    larder_txn_end_read(txn);
    larder_node_builder_finish(s->into, &encoded, NULL);
    add_node(s, encoded, &sum);
    return sum;
}

static int64_t highest_scores(tree_store *s) {
    const larder_txn *txn;
    tree_sum sum = {0};
    larder_bytes encoded;
    larder_node_window window = {
        .struct_bytes = sizeof window, .index = LARDER_NODE_INDEX_VALUE, .from_end = 1, .limit = 4};
    check(s, larder_txn_begin_read(s->env, &txn, &s->error), "begin");
    check(s, larder_node_read_window(txn, s->tree, text("scores"), &window, s->into, &s->error),
          "window");
    larder_txn_end_read(txn);
    larder_node_builder_finish(s->into, &encoded, NULL);
    add_node(s, encoded, &sum);
    return sum.numbers;
}

static int64_t used_bytes(tree_store *s) {
    const larder_txn *txn;
    larder_stat stat = {.struct_bytes = sizeof stat};
    check(s, larder_txn_begin_read(s->env, &txn, &s->error), "begin");
    check(s, larder_env_stat(txn, &stat, &s->error), "stat");
    larder_txn_end_read(txn);
    return stat.file_bytes - stat.free_bytes;
}

const tree_peer larder_tree = {"Larder",   tree_open, tree_close, put_messages,   put_scores,
                               put_groups, put_likes, tree_read,  highest_scores, used_bytes};

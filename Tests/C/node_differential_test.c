/*
 * node_differential_test.c - random writes to a tree and to a plain structure, compared all the
 * time: subtrees, children by key, pages, windows, counts.
 */
#include "node_model.h"
#include "store.h"
#include "test.h"

static uint64_t random_below(void *context, uint64_t bound) {
    (void)context;
    return test_random_below(bound);
}

/* Trees stay small enough to be compared often, and are large now and then. */
enum { SMALL_LEAVES = 800, LARGE_LEAVES = 6000 };

typedef struct world {
    larder_env *env;
    uint64_t tree;
    node_model *root;
    node_model_random random;
    size_t leaves_max;
    larder_node_builder *builder, *found;
} world;

static void begin(world *w, larder_env *env, bool long_keys) {
    memset(w, 0, sizeof *w);
    w->env = env;
    w->random.below = random_below;
    w->random.long_keys = long_keys;
    w->leaves_max = LARGE_LEAVES / 2;
    CHECK_OK(larder_node_builder_create(NULL, &w->builder, &test_error));
    CHECK_OK(larder_node_builder_create(NULL, &w->found, &test_error));
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_node_tree_obtain(txn, test_text("test"), &w->tree, &test_error));
    store_commit(txn);
}

static void end(world *w) {
    node_model_free(w->root);
    larder_node_builder_close(w->builder);
    larder_node_builder_close(w->found);
    store_close(w->env);
}

/* What the model has against what a read gave. */
static void compare(world *w, const node_model *expected, int32_t status, const char *what) {
    larder_bytes found = {0};
    CHECK_NOTE(status >= 0, "%s: status %d: %s", what, status, test_error.message);
    larder_node_builder_finish(w->found, &found, NULL);
    CHECK_NOTE(node_model_is(expected, found), "%s differs: %zu bytes found", what,
               found.size_bytes);
}

static void compare_whole(world *w, const larder_txn *txn) {
    int32_t status = larder_node_read(txn, w->tree, test_text(""), w->found, &test_error);
    CHECK_EQ(status == LARDER_NOT_FOUND, w->root == NULL);
    compare(w, w->root, status, "the whole tree");
}

static void compare_path(world *w, const larder_txn *txn) {
    const char *path = node_model_path(&w->random, w->root);
    const node_model *node = node_model_at(w->root, path);
    int32_t status = larder_node_read(txn, w->tree, test_text(path), w->found, &test_error);
    CHECK_EQ(status == LARDER_NOT_FOUND, node == NULL);
    compare(w, node, status, "a subtree");
    int64_t count;
    CHECK_OK(larder_node_count(txn, w->tree, test_text(path), &count, &test_error));
    CHECK_EQ(count, node == NULL ? 0 : (int64_t)node->count);
}

enum { CHILDREN_MAX = 4096 };

typedef struct chosen {
    bool is_kept[CHILDREN_MAX];
} chosen;

/* Compares with a node that has those children, which it borrows. */
static void compare_chosen(world *w, const node_model *node, const chosen *c, bool with_priority,
                           int32_t status, const char *what) {
    static char *keys[CHILDREN_MAX];
    static node_model *children[CHILDREN_MAX];
    node_model picked = {.leaf.type = LARDER_NODE_CHILDREN, .keys = keys, .children = children};
    if (node != NULL && with_priority) picked.priority = node->priority;
    for (size_t i = 0; node != NULL && i < node->count && i < CHILDREN_MAX; i++) {
        if (!c->is_kept[i]) continue;
        keys[picked.count] = node->keys[i];
        children[picked.count++] = node->children[i];
    }
    compare(w, picked.count > 0 ? &picked : NULL, status, what);
}

static void compare_children(world *w, const larder_txn *txn) {
    static chosen c;
    const char *path = node_model_path(&w->random, w->root);
    const node_model *node = node_model_at(w->root, path);
    larder_bytes keys[40];
    char absent[] = "absent-key";
    size_t count = 0;
    memset(&c, 0, sizeof c);
    for (size_t i = 0; node != NULL && i < 20 && node->count > 0; i++) {
        size_t at = test_random_below(node->count);
        if (at >= CHILDREN_MAX) continue;
        c.is_kept[at] = true;
        keys[count++] = test_text(node->keys[at]);
    }
    keys[count++] = test_text(absent);
    int32_t status = larder_node_read_children(txn, w->tree, test_text(path), keys, count, w->found,
                                               &test_error);
    compare_chosen(w, node, &c, true, status, "children by key");
}

static void compare_page(world *w, const larder_txn *txn) {
    static chosen c;
    const char *path = node_model_path(&w->random, w->root);
    const node_model *node = node_model_at(w->root, path);
    larder_node_page page = {.struct_bytes = sizeof page};
    char after[1024] = "", before[1024] = "";
    if (test_random_below(2)) snprintf(after, sizeof after, "%s", node_model_key(&w->random));
    if (test_random_below(2)) snprintf(before, sizeof before, "%s", node_model_key(&w->random));
    page.after = test_text(after);
    page.before = test_text(before);
    page.backwards = (int32_t)test_random_below(2);
    page.max_count = (int64_t)test_random_below(20);
    memset(&c, 0, sizeof c);
    size_t in_range[CHILDREN_MAX], count = 0;
    for (size_t i = 0; node != NULL && i < node->count && i < CHILDREN_MAX; i++) {
        if (*after && node_model_compare_keys(node->keys[i], after) <= 0) continue;
        if (*before && node_model_compare_keys(node->keys[i], before) >= 0) continue;
        in_range[count++] = i;
    }
    size_t taken =
        page.max_count > 0 && count > (size_t)page.max_count ? (size_t)page.max_count : count;
    for (size_t i = 0; i < taken; i++)
        c.is_kept[in_range[page.backwards ? count - 1 - i : i]] = true;
    int32_t status =
        larder_node_read_page(txn, w->tree, test_text(path), &page, w->found, &test_error);
    CHECK_EQ(status, taken < count ? LARDER_MORE : LARDER_OK);
    compare_chosen(w, node, &c, true, status, "a page");
}

/* ---- windows ---- */

static larder_leaf value_of(const node_model *child, int32_t index, const char *index_path) {
    larder_leaf none = {0};
    if (index == LARDER_NODE_INDEX_PRIORITY) return child->priority;
    if (index == LARDER_NODE_INDEX_PATH) child = node_model_at(child, index_path);
    return child == NULL ? none : child->leaf;
}

static int compare_bound(const larder_leaf *value, const char *key, const larder_node_bound *bound,
                         const char *bound_key, int32_t index) {
    int order =
        index == LARDER_NODE_INDEX_KEY ? 0 : node_model_compare_leaves(value, &bound->value);
    if (order != 0) return order;
    if (bound->key_kind == LARDER_NODE_KEY_MIN) return 1;
    if (bound->key_kind == LARDER_NODE_KEY_MAX) return -1;
    return node_model_compare_keys(key, bound_key);
}

static void random_bound(world *w, larder_node_bound *bound, char key[1024]) {
    static const char *const texts[] = {"", "a", "bcd", "zz"};
    bound->given = (int32_t)test_random_below(2);
    bound->exclusive = (int32_t)test_random_below(2);
    bound->key_kind = (int32_t)test_random_below(3);
    bound->value.type = (int32_t)test_random_below(LARDER_NODE_STRING + 1);
    if (bound->value.type == LARDER_NODE_INTEGER)
        bound->value.integer = (int64_t)test_random_below(2000) - 1000;
    if (bound->value.type == LARDER_NODE_DOUBLE)
        bound->value.number = (double)test_random_below(900) / 3 - 150;
    if (bound->value.type == LARDER_NODE_STRING)
        bound->value.text = test_text(texts[test_random_below(4)]);
    snprintf(key, 1024, "%s", node_model_key(&w->random));
    bound->key = test_text(key);
}

typedef struct ranked {
    const node_model *parent;
    int32_t index;
    const char *index_path;
} ranked;
static ranked ranking;

static int compare_ranked(const void *left, const void *right) {
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    larder_leaf x = value_of(ranking.parent->children[a], ranking.index, ranking.index_path);
    larder_leaf y = value_of(ranking.parent->children[b], ranking.index, ranking.index_path);
    int order = ranking.index == LARDER_NODE_INDEX_KEY ? 0 : node_model_compare_leaves(&x, &y);
    if (order != 0) return order;
    return node_model_compare_keys(ranking.parent->keys[a], ranking.parent->keys[b]);
}

static void compare_window(world *w, const larder_txn *txn) {
    static chosen c;
    const char *path = node_model_path(&w->random, w->root);
    const node_model *node = node_model_at(w->root, path);
    larder_node_window window = {.struct_bytes = sizeof window};
    char start[1024], last[1024], index_path[2048];
    window.index = (int32_t)test_random_below(4);
    window.from_end = (int32_t)test_random_below(2);
    window.limit = (int64_t)(test_random_below(3) == 0 ? 0 : 1 + test_random_below(8));
    snprintf(index_path, sizeof index_path, "%s", node_model_key(&w->random));
    window.index_path = test_text(index_path);
    random_bound(w, &window.start, start);
    random_bound(w, &window.end, last);
    memset(&c, 0, sizeof c);
    size_t in_range[CHILDREN_MAX], count = 0;
    for (size_t i = 0; node != NULL && i < node->count && i < CHILDREN_MAX; i++) {
        larder_leaf value = value_of(node->children[i], window.index, index_path);
        if (window.start.given) {
            int order = compare_bound(&value, node->keys[i], &window.start, start, window.index);
            if (order < 0 || (order == 0 && window.start.exclusive)) continue;
        }
        if (window.end.given) {
            int order = compare_bound(&value, node->keys[i], &window.end, last, window.index);
            if (order > 0 || (order == 0 && window.end.exclusive)) continue;
        }
        in_range[count++] = i;
    }
    ranking.parent = node;
    ranking.index = window.index;
    ranking.index_path = index_path;
    qsort(in_range, count, sizeof in_range[0], compare_ranked);
    size_t taken = window.limit > 0 && count > (size_t)window.limit ? (size_t)window.limit : count;
    for (size_t i = 0; i < taken; i++)
        c.is_kept[in_range[window.from_end ? count - 1 - i : i]] = true;
    int32_t status =
        larder_node_read_window(txn, w->tree, test_text(path), &window, w->found, &test_error);
    CHECK_EQ(status, taken > 0 ? LARDER_OK : LARDER_NOT_FOUND);
    compare_chosen(w, node, &c, false, status, "a window");
}

static void compare_all(world *w, const larder_txn *txn, bool whole) {
    if (whole) compare_whole(w, txn);
    for (int i = 0; i < 3; i++) {
        compare_path(w, txn);
        compare_children(w, txn);
        compare_page(w, txn);
        compare_window(w, txn);
    }
}

/* ---- writes ---- */

static node_model *random_value(world *w) {
    uint64_t kind = test_random_below(12);
    if (kind < 3) return NULL;
    if (kind == 3) return node_model_make(&w->random, 4, 14);
    if (kind == 4) return node_model_make(&w->random, 1, 200);
    return node_model_make(&w->random, 2, 4);
}

static void put(world *w, larder_txn *txn) {
    char path[8192];
    snprintf(path, sizeof path, "%s", node_model_path(&w->random, w->root));
    if (*path == 0 && test_random_below(10) != 0) return;
    node_model *value = random_value(w);
    if (test_random_below(8) == 0) {
        size_t size = strlen(path);
        snprintf(path + size, sizeof path - size, "%s.priority", size > 0 ? "/" : "");
        if (value != NULL && (value->count > 0 || value->leaf.type <= LARDER_NODE_TRUE)) {
            node_model_free(value);
            value = node_model_number((int64_t)test_random_below(50));
        }
        if (value != NULL && value->priority.type != LARDER_NODE_EMPTY)
            value = node_model_put(value, ".priority", NULL);
    }
    larder_bytes encoded = node_model_encode(value, w->builder);
    CHECK_OK(larder_node_put(txn, w->tree, test_text(path), encoded, &test_error));
    w->root = node_model_put(w->root, path, value);
}

/* Many children of one node, none below another: at the path of a random node. */
static void merge(world *w, larder_txn *txn) {
    enum { CHANGES = 60 };
    char path[8192];
    larder_node_change changes[CHANGES];
    node_model *values[CHANGES];
    char *keys[CHANGES];
    uint8_t *copies[CHANGES];
    size_t count = 0;
    snprintf(path, sizeof path, "%s", node_model_path(&w->random, w->root));
    size_t wanted = 1 + test_random_below(CHANGES);
    for (size_t i = 0; i < wanted; i++) {
        char key[4096];
        snprintf(key, sizeof key, "%s", node_model_key(&w->random));
        bool is_known = false;
        for (size_t k = 0; k < count; k++)
            is_known = is_known || (strncmp(keys[k], key, strlen(key)) == 0 &&
                                    (keys[k][strlen(key)] == 0 || keys[k][strlen(key)] == '/'));
        if (is_known) continue;
        if (test_random_below(3) == 0) {
            size_t size = strlen(key);
            snprintf(key + size, sizeof key - size, "/%s", node_model_key(&w->random));
        }
        values[count] = random_value(w);
        larder_bytes encoded = node_model_encode(values[count], w->builder);
        copies[count] = malloc(encoded.size_bytes + 1);
        if (encoded.size_bytes > 0) memcpy(copies[count], encoded.data, encoded.size_bytes);
        keys[count] = strdup(key);
        changes[count].path = test_text(keys[count]);
        changes[count].node = (larder_bytes){copies[count], encoded.size_bytes};
        count++;
    }
    CHECK_OK(larder_node_merge(txn, w->tree, test_text(path), changes, count, &test_error));
    /* Written together, they never empty a node in between, which would lose its priority. */
    for (int deletes = 0; deletes < 2; deletes++) {
        for (size_t i = 0; i < count; i++) {
            char whole[16384];
            if ((values[i] == NULL) != deletes) continue;
            snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "/" : "", keys[i]);
            w->root = node_model_put(w->root, whole, values[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(keys[i]);
        free(copies[i]);
    }
}

static void prune(world *w, larder_txn *txn) {
    if (test_random_below(40) == 0)
        w->leaves_max = test_random_below(5) == 0 ? LARGE_LEAVES : SMALL_LEAVES;
    while (node_model_leaf_count(w->root) > w->leaves_max) {
        char path[1024];
        snprintf(path, sizeof path, "%s", w->root->keys[test_random_below(w->root->count)]);
        CHECK_OK(larder_node_put(txn, w->tree, test_text(path), test_text(""), &test_error));
        w->root = node_model_put(w->root, path, NULL);
    }
}

static void run(bool long_keys, int64_t operations) {
    world w;
    begin(&w, store_open(), long_keys);
    for (int64_t done = 0; done < operations;) {
        larder_txn *txn = store_write(w.env);
        node_model *before = node_model_copy(w.root);
        int64_t writes = 1 + (int64_t)test_random_below(8);
        for (int64_t i = 0; i < writes; i++) {
            if (test_random_below(3) == 0)
                merge(&w, txn);
            else
                put(&w, txn);
        }
        done += writes;
        prune(&w, txn);
        compare_all(&w, txn, test_random_below(4) == 0);
        if (test_random_below(6) == 0) {
            larder_txn_abort(txn);
            node_model_free(w.root);
            w.root = before;
        } else {
            store_commit(txn);
            node_model_free(before);
        }
        const larder_txn *read = store_read(w.env);
        compare_all(&w, read, test_random_below(4) == 0);
        larder_txn_end_read(read);
        if (test_random_below(10) == 0) store_check(w.env);
    }
    store_check(w.env);
    end(&w);
}

static void short_keys(void) { run(false, test_steps(1500)); }
static void long_keys(void) { run(true, test_steps(500)); }

/* Everything is deleted again: no row is left. */
static void deletes_everything(void) {
    world w;
    begin(&w, store_open(), false);
    int64_t rows = store_stat(w.env).nodes.row_count;
    for (int round = 0; round < 5; round++) {
        larder_txn *txn = store_write(w.env);
        for (int i = 0; i < 20; i++)
            merge(&w, txn);
        store_commit(txn);
        while (w.root != NULL) {
            txn = store_write(w.env);
            char path[1024];
            snprintf(path, sizeof path, "%s",
                     w.root->count > 0 ? w.root->keys[test_random_below(w.root->count)] : "");
            CHECK_OK(larder_node_put(txn, w.tree, test_text(path), test_text(""), &test_error));
            w.root = node_model_put(w.root, path, NULL);
            store_commit(txn);
            if (test_random_below(20) == 0) store_check(w.env);
        }
    }
    store_check(w.env);
    larder_stat stat = store_stat(w.env);
    CHECK_NOTE(stat.nodes.row_count <= rows + 3, "%lld rows are left",
               (long long)stat.nodes.row_count);
    end(&w);
}

static const test_case cases[] = {
    {"random writes and reads equal those of a plain tree", short_keys},
    {"the same with keys that share hundreds of bytes", long_keys},
    {"deleting every child leaves no row", deletes_everything},
};
TEST_SUITE(node_differential, cases);

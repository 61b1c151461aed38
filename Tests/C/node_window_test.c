/* node_window_test.c - the children that a query shows (nodes/node_window.c). */
#include "node_kit.h"

/* Six dinosaurs: heights in meters times ten, and an order of appearance as priority. */
static const struct {
    const char *name;
    int64_t height, priority;
} dinosaurs[] = {{"bruhathkayosaurus", 250, 3}, {"lambeosaurus", 21, 1}, {"linhenykus", 6, 5},
                 {"pterodactyl", 6, 2},         {"stegosaurus", 40, 6},  {"triceratops", 30, 4}};

typedef struct world {
    larder_env *env;
    uint64_t tree;
    const larder_txn *txn;
    larder_node_builder *into;
} world;

static void begin(world *w) {
    w->env = node_kit_open(&w->tree);
    for (size_t i = 0; i < sizeof dinosaurs / sizeof dinosaurs[0]; i++) {
        char path[64];
        node_model *one =
            node_model_put(NULL, "size/height", node_model_number(dinosaurs[i].height));
        one = node_model_put(one, ".priority", node_model_number(dinosaurs[i].priority));
        snprintf(path, sizeof path, "dinosaurs/%s", dinosaurs[i].name);
        node_kit_commit(w->env, w->tree, path, one);
        snprintf(path, sizeof path, "heights/%s", dinosaurs[i].name);
        node_kit_commit(w->env, w->tree, path, node_model_number(dinosaurs[i].height));
    }
    w->txn = store_read(w->env);
    CHECK_OK(larder_node_builder_create(NULL, &w->into, &test_error));
}

static void end(world *w) {
    larder_node_builder_close(w->into);
    larder_txn_end_read(w->txn);
    store_close(w->env);
}

/* The first letters of the window's children, in key order. */
static void expect(world *w, const char *path, larder_node_window window, const char *letters) {
    larder_bytes encoded = {0};
    char found[16] = "";
    window.struct_bytes = sizeof window;
    int32_t status =
        larder_node_read_window(w->txn, w->tree, test_text(path), &window, w->into, &test_error);
    CHECK_EQ(status, *letters == 0 ? LARDER_NOT_FOUND : LARDER_OK);
    CHECK_OK(larder_node_builder_finish(w->into, &encoded, &test_error));
    node_model *node = node_model_decode(encoded);
    for (size_t i = 0; node != NULL && i < node->count && i < sizeof found - 1; i++)
        found[i] = node->keys[i][0];
    CHECK_TEXT(test_text(found), letters);
    CHECK(node == NULL || node->priority.type == LARDER_NODE_EMPTY);
    node_model_free(node);
}

static larder_node_bound at(int64_t value, const char *key) {
    larder_node_bound bound = {.given = 1,
                               .key_kind = key ? LARDER_NODE_KEY_GIVEN : LARDER_NODE_KEY_MIN};
    bound.value = (larder_leaf){.type = LARDER_NODE_INTEGER, .integer = value};
    if (key != NULL) bound.key = test_text(key);
    return bound;
}

static void limits_take_from_either_end(void) {
    world w;
    begin(&w);
    for (int32_t from_end = 0; from_end < 2; from_end++) {
        larder_node_window window = {
            .index = LARDER_NODE_INDEX_VALUE, .from_end = from_end, .limit = 2};
        expect(&w, "heights", window, from_end ? "bs" : "lp");
        window.index = LARDER_NODE_INDEX_PATH;
        window.index_path = test_text("size/height");
        expect(&w, "dinosaurs", window, from_end ? "bs" : "lp");
        window.index = LARDER_NODE_INDEX_PRIORITY;
        expect(&w, "dinosaurs", window, from_end ? "ls" : "lp");
        window.index = LARDER_NODE_INDEX_KEY;
        expect(&w, "dinosaurs", window, from_end ? "st" : "bl");
        window.limit = 0;
        expect(&w, "dinosaurs", window, "bllpst");
    }
    end(&w);
}

static void bounds_take_the_key_into_account(void) {
    world w;
    begin(&w);
    larder_node_window window = {.index = LARDER_NODE_INDEX_VALUE};
    window.start = at(6, NULL);
    window.end = at(30, NULL);
    expect(&w, "heights", window, "llp"); /* 30 itself is above its lowest key */
    window.end = at(30, "triceratops");
    expect(&w, "heights", window, "llpt");
    window.end.exclusive = 1;
    expect(&w, "heights", window, "llp");
    window.start = at(6, "linhenykus");
    window.start.exclusive = 1;
    expect(&w, "heights", window, "lp");
    window.start.key_kind = LARDER_NODE_KEY_MAX;
    expect(&w, "heights", window, "l");
    window.start = at(1000, NULL);
    window.end.given = 0;
    expect(&w, "heights", window, "");
    end(&w);
}

static void keys_bound_the_key_index(void) {
    world w;
    begin(&w);
    larder_node_window window = {.index = LARDER_NODE_INDEX_KEY, .limit = 2};
    window.start = at(0, "linhenykus");
    expect(&w, "dinosaurs", window, "lp");
    window.start.exclusive = 1;
    expect(&w, "dinosaurs", window, "ps");
    window.start.key_kind = LARDER_NODE_KEY_MAX;
    expect(&w, "dinosaurs", window, "");
    expect(&w, "none", window, "");
    expect(&w, "heights/stegosaurus", (larder_node_window){0}, "");
    end(&w);
}

/* The index path leads into another location, and to what has no such value. */
static void index_paths_cross_rows(void) {
    world w;
    begin(&w);
    larder_txn_end_read(w.txn);
    node_kit_commit(w.env, w.tree, "dinosaurs/stegosaurus/size/parts", node_kit_list(0, 60, 100));
    node_kit_commit(w.env, w.tree, "dinosaurs/pterodactyl/size", node_model_number(1));
    w.txn = store_read(w.env);
    larder_node_window window = {.index = LARDER_NODE_INDEX_PATH, .from_end = 1, .limit = 2};
    window.index_path = test_text("size/height");
    expect(&w, "dinosaurs", window, "bs");
    window.from_end = 0;
    expect(&w, "dinosaurs", window, "lp"); /* null comes first */
    window.index_path = test_text("size/parts/k0001");
    window.from_end = 1;
    window.limit = 1;
    expect(&w, "dinosaurs", window, "s");
    window.index_path = test_text("");
    window.struct_bytes = sizeof window;
    CHECK_STATUS(
        larder_node_read_window(w.txn, w.tree, test_text("dinosaurs"), &window, w.into, NULL),
        LARDER_E_INVALID_ARGUMENT);
    end(&w);
}

/* ---- windows of a large location ---- */

#define SCORES 2000

/* Mostly small integers, each many times; others are long, negative, or of other types. */
static node_model *score(int number) {
    larder_leaf leaf = {.type = LARDER_NODE_INTEGER, .integer = number * 7919 % 61 - 20};
    larder_leaf none = {0};
    if (number % 89 == 0) leaf.integer = number % 2 ? INT64_MAX - number : INT64_MIN + number;
    if (number % 97 == 0)
        leaf = (larder_leaf){.type = LARDER_NODE_DOUBLE, .number = number % 7 - 20.5};
    if (number % 101 == 0) leaf = (larder_leaf){.type = LARDER_NODE_TRUE};
    if (number % 103 == 0) return node_model_text("text");
    return node_model_leaf(&leaf, &none);
}

static const node_model *ranked; /* what is sorted */

static int compare_scores(const void *left, const void *right) {
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    int order = node_model_compare_leaves(&ranked->children[a]->leaf, &ranked->children[b]->leaf);
    return order != 0 ? order : node_model_compare_keys(ranked->keys[a], ranked->keys[b]);
}

static void windows_by_value_of_many_children(void) {
    world w = {0};
    w.env = node_kit_open(&w.tree);
    node_model *scores = NULL;
    for (int i = 0; i < SCORES; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i * 31 % SCORES);
        scores = node_model_put(scores, key, score(i));
    }
    node_kit_commit(w.env, w.tree, "scores", node_model_copy(scores));
    static size_t order[SCORES];
    CHECK_EQ(scores->count, SCORES);
    for (size_t i = 0; i < SCORES; i++)
        order[i] = i;
    ranked = scores;
    qsort(order, SCORES, sizeof order[0], compare_scores);
    w.txn = store_read(w.env);
    CHECK(node_kit_location(w.txn, w.tree, "scores") != 0);
    CHECK_OK(larder_node_builder_create(NULL, &w.into, &test_error));
    for (size_t first = 0; first < SCORES; first += 67) {
        for (int32_t from_end = 0; from_end < 2; from_end++) {
            for (size_t limit = 1; limit < 40; limit = limit * 2 + 1) {
                larder_node_window window = {.struct_bytes = sizeof window,
                                             .index = LARDER_NODE_INDEX_VALUE,
                                             .from_end = from_end,
                                             .limit = (int64_t)limit};
                size_t bound = from_end ? SCORES - 1 - first : first;
                larder_node_bound *end = from_end ? &window.end : &window.start;
                end->given = first > 0;
                end->key_kind = LARDER_NODE_KEY_GIVEN;
                end->value = scores->children[order[bound]]->leaf;
                end->key = test_text(scores->keys[order[bound]]);
                node_model *expected = NULL;
                for (size_t i = 0; i < limit && first + i < SCORES; i++) {
                    size_t child = order[from_end ? bound - i : bound + i];
                    expected = node_model_put(expected, scores->keys[child],
                                              node_model_copy(scores->children[child]));
                }
                larder_bytes encoded;
                CHECK_OK(larder_node_read_window(w.txn, w.tree, test_text("scores"), &window,
                                                 w.into, &test_error));
                CHECK_OK(larder_node_builder_finish(w.into, &encoded, &test_error));
                CHECK(node_model_is(expected, encoded));
                node_model_free(expected);
            }
        }
    }
    node_model_free(scores);
    end(&w);
}

static const test_case cases[] = {
    {"limits take from either end", limits_take_from_either_end},
    {"bounds take the key into account", bounds_take_the_key_into_account},
    {"keys bound the key index", keys_bound_the_key_index},
    {"index paths cross rows", index_paths_cross_rows},
    {"windows by value of many children", windows_by_value_of_many_children},
};
TEST_SUITE(node_window, cases);

/*
 * node.c - fuzz target: nodes as bytes. The first byte says what the rest is:
 *
 *     0  an encoded node: what is valid comes back the same from a builder and from a store
 *     1  two keys, the first with its size in front: their forms order as they do
 *     2  a row of table nodes, with checksums that fit: everything in it is looked at
 */
#include "node_damage.h"
#include "nodes/node_edit.h"
#include "nodes/node_place.h"
#include "require.h"

static larder_env *env;
static uint64_t tree;
static larder_node_builder *builder;

static void open_store(void) {
    env = require_tree(&tree);
    REQUIRE(larder_node_builder_create(NULL, &builder, NULL) == LARDER_OK);
}

/* ---- an encoded node ---- */

static void rebuild(larder_bytes encoded) {
    larder_node node;
    larder_bytes key, child;
    REQUIRE(larder_node_open(encoded, &node, NULL) == LARDER_OK);
    REQUIRE(node.size_bytes == encoded.size_bytes);
    if (node.type != LARDER_NODE_CHILDREN) {
        REQUIRE(larder_node_builder_leaf(builder, &node.leaf, &node.priority, NULL) == LARDER_OK);
        return;
    }
    REQUIRE(larder_node_builder_begin_children(builder, &node.priority, NULL) == LARDER_OK);
    while (larder_node_take_child(&node.children, &key, &child, NULL) == LARDER_OK) {
        REQUIRE(larder_node_builder_key(builder, key, NULL) == LARDER_OK);
        rebuild(child);
    }
    REQUIRE(larder_node_builder_end_children(builder, NULL) == LARDER_OK);
}

static void exercise_encoded(larder_bytes input) {
    larder_bytes again;
    larder_txn *txn;
    larder_node node;
    (void)larder_node_open(input, &node, NULL);
    int32_t valid = larder_node_validate(input, NULL);
    REQUIRE(larder_txn_begin_write(env, &txn, NULL) == LARDER_OK);
    int32_t status = larder_node_put(txn, tree, larder__bytes("a/b", 3), input, NULL);
    if (valid != LARDER_OK) {
        REQUIRE(status != LARDER_OK);
        larder_txn_abort(txn);
        return;
    }
    larder_node_builder_reset(builder);
    if (input.size_bytes > 0) rebuild(input);
    REQUIRE(larder_node_builder_finish(builder, &again, NULL) == LARDER_OK);
    /* Varints of more bytes than they need are valid, but not what is written. */
    bool is_canonical = larder__bytes_equal(input, again);
    if (status == LARDER_OK && is_canonical) {
        status = larder_node_read(txn, tree, larder__bytes("a/b", 3), builder, NULL);
        REQUIRE(status == (input.size_bytes > 0 ? LARDER_OK : LARDER_NOT_FOUND));
        REQUIRE(larder_node_builder_finish(builder, &again, NULL) == LARDER_OK);
        REQUIRE(larder__bytes_equal(input, again));
    }
    larder_txn_abort(txn);
}

/* ---- keys ---- */

static int sign(int number) { return number < 0 ? -1 : number > 0; }

static void exercise_keys(larder_bytes input) {
    const uint8_t *p = larder__begin(input);
    char scratch[LARDER__FORM_MAX];
    larder_bytes text;
    (void)larder__form_decode(input, scratch, &text);
    if (input.size_bytes < 1 || input.size_bytes - 1 < p[0]) return;
    larder_bytes a = larder__bytes(p + 1, p[0]);
    larder_bytes b = larder__bytes(p + 1 + p[0], input.size_bytes - 1 - p[0]);
    if (larder__node_key_check(a, NULL) != LARDER_OK ||
        larder__node_key_check(b, NULL) != LARDER_OK)
        return;
    larder__form x, y;
    larder__form_encode(a, &x);
    larder__form_encode(b, &y);
    int order = sign(larder__bytes_compare(larder__form_bytes(&x), larder__form_bytes(&y)));
    REQUIRE(order == sign(larder_node_compare_keys(a, b)));
    REQUIRE(-order == sign(larder_node_compare_keys(b, a)));
    REQUIRE((order == 0) == larder__bytes_equal(a, b));
    REQUIRE(larder__form_decode(larder__form_bytes(&x), scratch, &text));
    REQUIRE(larder__bytes_equal(text, a));
}

/* ---- a row ---- */

static void look_at_row(larder__segment *segment) {
    larder__segment_child child;
    larder__buffer out = {.allocator = &env->allocator};
    larder__copy_rules rules = {.reference = larder__keep_reference};
    larder__segment_rewind(&child);
    while (larder__segment_next(segment, &child, NULL) == LARDER_OK &&
           larder__segment_key(segment, &child, NULL) == LARDER_OK && out.size_bytes < 1 << 20) {
        larder_bytes node;
        size_t at = out.size_bytes;
        (void)larder__segment_find(segment, larder__form_bytes(&child.form), &node, NULL);
        for (int keeps = 0; keeps < 2; keeps++) {
            rules.keeps_cold = keeps == 1;
            if (larder__stored_copy(segment, child.node, 0, &rules, &out, NULL) != LARDER_OK) break;
            larder_bytes copy = larder__bytes(out.data + at, out.size_bytes - at);
            REQUIRE(larder__node_end(LARDER__WORKING, copy.data,
                                     larder__begin(copy) + copy.size_bytes) != NULL);
            (void)larder__cold_size(copy);
            at = out.size_bytes;
        }
    }
    larder__buffer_free(&out);
}

static void exercise_row(larder_bytes input) {
    const larder_txn *txn;
    larder__segment segment;
    larder_bytes key = larder__bytes("\x05", 1);
    uint8_t *row = malloc(input.size_bytes + 1);
    REQUIRE(row != NULL);
    if (input.size_bytes > 0) memcpy(row, input.data, input.size_bytes);
    REQUIRE(larder_txn_begin_read(env, &txn, NULL) == LARDER_OK);
    (void)node_damage_mend(txn, key, row, input.size_bytes);
    int32_t status =
        larder__segment_open(txn, key, larder__bytes(row, input.size_bytes), &segment, NULL);
    if (status == LARDER_OK) look_at_row(&segment);
    larder__segment_close(&segment);
    larder_txn_end_read(txn);
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (env == NULL) open_store();
    if (size == 0) return 0;
    larder_bytes rest = larder__bytes(data + 1, size - 1);
    if (data[0] % 3 == 0) exercise_encoded(rest);
    if (data[0] % 3 == 1) exercise_keys(rest);
    if (data[0] % 3 == 2) exercise_row(rest);
    return 0;
}

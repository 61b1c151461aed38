/* segment_test.c - rows of table nodes: their bytes, and what is read in place
 * (nodes/segment.h). */
#include "node_kit.h"

static const larder_bytes none = {NULL, 0};
static const larder_bytes yes = {"\x02", 1};

enum { LOCATION = 9 };

/* The row of LOCATION; borrowed from the transaction. */
static larder_bytes row_of(const larder_txn *txn) {
    larder__key key;
    larder_bytes row = {0};
    larder__location_key(&key, LOCATION);
    CHECK_OK(larder__table_get(txn, LARDER__NODES, larder__key_bytes(&key), &row, &test_error));
    return row;
}

static void open_row(const larder_txn *txn, larder__segment *segment) {
    larder__location_cursor rows;
    CHECK_OK(larder__location_open(txn, LOCATION, &rows, &test_error));
    CHECK_OK(larder__location_first(&rows, &test_error));
    CHECK_OK(larder__location_segment(&rows, segment, &test_error));
    larder__location_close(&rows);
}

/* Behind the checksum. */
static larder_bytes behind_checksum(larder_bytes row) {
    return larder__bytes(larder__begin(row) + 5, row.size_bytes - 5);
}

static void rows_are_these_bytes(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    larder_txn *txn = store_write(env);
    node_kit_child children[] = {{test_text("ab"), node_kit_wrap("name", yes)},
                                 {test_text("ac"), node_kit_wrap("name", TEST_BYTES("\3\16"))},
                                 {test_text("ad"), node_kit_reference(300)}};
    node_kit_row(txn, LOCATION, none, children, 3);
    larder_bytes row = row_of(txn);
    CHECK_EQ(*larder__begin(row), 0);
    CHECK_BYTES(behind_checksum(row), TEST_BYTES("\3\1\5\x16\4name"
                                                 "\0\2ab\7\2\1\2"
                                                 "\1\1c\7\3\1\3\16"
                                                 "\1\1d\10\xac\2"));
    larder_txn_abort(txn);
    store_close(env);
}

static void long_strings_lie_in_the_cold_part(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    larder_txn *txn = store_write(env);
    char node[2 + LARDER__COLD_STRING_MIN] = {LARDER_NODE_STRING, LARDER__COLD_STRING_MIN};
    memset(node + 2, 'x', LARDER__COLD_STRING_MIN);
    node_kit_child children[] = {{test_text("a"), larder__bytes(node, sizeof node)},
                                 {test_text("b"), TEST_BYTES("\5\2hi")}};
    node_kit_row(txn, LOCATION, none, children, 2);
    larder__segment segment;
    open_row(txn, &segment);
    CHECK_EQ(segment.cold_bytes, LARDER__COLD_STRING_MIN);
    CHECK_EQ(segment.unused_bytes, 0);
    CHECK_BYTES(segment.hot, TEST_BYTES("\0\1a\x09\0\x20\0\1b\5\2hi"));
    larder_bytes found;
    larder__head head;
    larder_leaf leaf;
    CHECK_OK(larder__segment_find(&segment, test_text("a"), &found, &test_error));
    const uint8_t *end = larder__begin(found) + found.size_bytes;
    CHECK(larder__head_read(larder__begin(found), end, &head));
    CHECK_OK(larder__stored_leaf(&segment, &head, end, &leaf, &test_error));
    CHECK_BYTES(leaf.text, larder__bytes(node + 2, LARDER__COLD_STRING_MIN));
    larder__segment_close(&segment);
    larder_txn_abort(txn);
    store_close(env);
}

static void children_are_found_by_key(void) {
    enum { COUNT = 50 };
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    larder_txn *txn = store_write(env);
    node_kit_child children[COUNT];
    char keys[COUNT][24];
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "k%02d%s", i, i % 3 == 0 ? "longer" : "");
        children[i] = (node_kit_child){test_text(keys[i]), yes};
    }
    node_kit_row(txn, LOCATION, none, children, COUNT);
    larder__segment segment;
    larder_bytes node;
    open_row(txn, &segment);
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(larder__segment_find(&segment, children[i].form, &node, &test_error));
    static const char *const absent[] = {"",           "j",  "k",    "k00", "k03long",
                                         "k03longers", "k1", "k49a", "l"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++)
        CHECK_STATUS(larder__segment_find(&segment, test_text(absent[i]), &node, NULL),
                     LARDER_NOT_FOUND);
    larder__segment_child child;
    int count = 0;
    larder__segment_rewind(&child);
    while (larder__segment_next(&segment, &child, &test_error) == LARDER_OK) {
        if (count % 7 == 0) { /* keys are put together only when one is asked for */
            CHECK_OK(larder__segment_key(&segment, &child, &test_error));
            CHECK_TEXT(larder__form_bytes(&child.form), keys[count]);
        }
        count++;
    }
    CHECK_EQ(count, COUNT);
    larder__segment_close(&segment);
    larder_txn_abort(txn);
    store_close(env);
}

/* Each byte in turn: rows that differ from what was written are damaged. */
static void any_damaged_byte_is_found(void) {
    uint64_t tree;
    larder_env *env = node_kit_open(&tree);
    larder_txn *txn = store_write(env);
    char node[2 + 40] = {LARDER_NODE_STRING, 40};
    memset(node + 2, 'x', 40);
    node_kit_child children[] = {{test_text("a"), node_kit_wrap("b", larder__bytes(node, 42))},
                                 {test_text("b"), TEST_BYTES("\5\2hi")}};
    node_kit_row(txn, LOCATION, none, children, 2);
    larder__key key;
    uint8_t copy[256];
    larder_bytes row = row_of(txn);
    REQUIRE(row.size_bytes < sizeof copy);
    memcpy(copy, row.data, row.size_bytes);
    larder__location_key(&key, LOCATION);
    for (size_t at = 0; at < row.size_bytes; at++) {
        larder__segment segment;
        larder__segment_child child;
        larder__buffer out = {.allocator = &txn->env->allocator};
        larder__copy_rules rules = {.reference = larder__keep_reference};
        copy[at] ^= 4;
        int32_t status = larder__segment_open(txn, larder__key_bytes(&key),
                                              larder__bytes(copy, row.size_bytes), &segment, NULL);
        larder__segment_rewind(&child);
        if (status == LARDER_OK) status = larder__segment_next(&segment, &child, NULL);
        if (status == LARDER_OK)
            status = larder__stored_copy(&segment, child.node, 0, &rules, &out, NULL);
        CHECK_NOTE(status == LARDER_E_CORRUPT, "byte %zu: %s", at, larder_status_name(status));
        larder__segment_close(&segment);
        larder__buffer_free(&out);
        copy[at] ^= 4;
    }
    larder_txn_abort(txn);
    store_close(env);
}

static const test_case cases[] = {
    {"rows are these bytes", rows_are_these_bytes},
    {"long strings lie in the cold part", long_strings_lie_in_the_cold_part},
    {"children are found by key", children_are_found_by_key},
    {"any damaged byte is found", any_damaged_byte_is_found},
};
TEST_SUITE(segment, cases);

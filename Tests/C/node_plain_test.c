/* node_plain_test.c - encoded nodes: bytes, builder, validation, order (nodes/node_plain.h). */
#include "nodes/node_plain.h"
#include "test.h"

static larder_node_builder *builder;
static const larder_leaf seven = {.type = LARDER_NODE_INTEGER, .integer = 7};
static const larder_leaf text = {.type = LARDER_NODE_STRING, .text = {"hi", 2}};

static void begin(void) { CHECK_OK(larder_node_builder_create(NULL, &builder, &test_error)); }

static larder_bytes finish(void) {
    larder_bytes encoded = {0};
    CHECK_OK(larder_node_builder_finish(builder, &encoded, &test_error));
    CHECK_OK(larder_node_validate(encoded, &test_error));
    return encoded;
}

static void key(const char *name) {
    CHECK_OK(larder_node_builder_key(builder, test_text(name), &test_error));
}

static larder_bytes leaf_bytes(larder_leaf leaf, const larder_leaf *priority) {
    larder_node_builder_reset(builder);
    CHECK_OK(larder_node_builder_leaf(builder, &leaf, priority, &test_error));
    return finish();
}

static void leaves_are_these_bytes(void) {
    begin();
    CHECK_BYTES(leaf_bytes((larder_leaf){.type = LARDER_NODE_FALSE}, NULL), TEST_BYTES("\1"));
    CHECK_BYTES(leaf_bytes(seven, NULL), TEST_BYTES("\3\16"));
    CHECK_BYTES(leaf_bytes((larder_leaf){.type = LARDER_NODE_INTEGER, .integer = -1}, NULL),
                TEST_BYTES("\3\1"));
    CHECK_BYTES(leaf_bytes((larder_leaf){.type = LARDER_NODE_DOUBLE, .number = 1.5}, NULL),
                TEST_BYTES("\4\0\0\0\0\0\0\xf8\x3f"));
    CHECK_BYTES(leaf_bytes(text, &seven), TEST_BYTES("\x15\3\16\2hi"));
    larder_node_builder_close(builder);
}

static void children_are_these_bytes(void) {
    begin();
    CHECK_OK(larder_node_builder_begin_children(builder, &seven, &test_error));
    key("1");
    CHECK_OK(larder_node_builder_leaf(builder, &text, NULL, &test_error));
    key("a");
    CHECK_OK(larder_node_builder_begin_children(builder, NULL, &test_error));
    CHECK_OK(larder_node_builder_end_children(builder, &test_error)); /* vanishes */
    key("b");
    CHECK_OK(larder_node_builder_node(builder, TEST_BYTES("\2"), &test_error));
    CHECK_OK(larder_node_builder_end_children(builder, &test_error));
    larder_bytes encoded = finish();
    CHECK_BYTES(encoded, TEST_BYTES("\x17\3\16\x09\0\0\0\1"
                                    "1\5\2hi\1"
                                    "b\2"));
    larder_node node;
    larder_bytes name, child;
    CHECK_OK(larder_node_open(encoded, &node, &test_error));
    CHECK_EQ(node.priority.integer, 7);
    CHECK_OK(larder_node_take_child(&node.children, &name, &child, &test_error));
    CHECK_TEXT(name, "1");
    CHECK_OK(larder_node_take_child(&node.children, &name, &child, &test_error));
    CHECK_TEXT(name, "b");
    CHECK_STATUS(larder_node_take_child(&node.children, &name, &child, NULL), LARDER_END);
    larder_node_builder_close(builder);
}

static void the_builder_refuses_what_is_no_node(void) {
    begin();
    CHECK_OK(larder_node_builder_begin_children(builder, NULL, &test_error));
    CHECK(larder_node_builder_leaf(builder, &seven, NULL, NULL) < 0); /* no key */
    larder_node_builder_reset(builder);
    CHECK_OK(larder_node_builder_begin_children(builder, NULL, &test_error));
    key("b");
    CHECK_OK(larder_node_builder_leaf(builder, &seven, NULL, &test_error));
    CHECK(larder_node_builder_key(builder, test_text("a"), NULL) < 0); /* order */
    CHECK(larder_node_builder_key(builder, test_text("c.d"), NULL) < 0);
    larder_node_builder_reset(builder);
    larder_leaf endless = {.type = LARDER_NODE_DOUBLE, .number = 1e308 * 10};
    CHECK(larder_node_builder_leaf(builder, &endless, NULL, NULL) < 0);
    larder_node_builder_close(builder);
}

static void malformed_nodes_are_refused(void) {
    static const larder_bytes malformed[] = {
        {"\0", 1},                      /* EMPTY */
        {"\x08\1", 2},                  /* a reference */
        {"\x09\0\1", 3},                /* a cold string */
        {"\x21", 1},                    /* an unknown bit */
        {"\x12\2", 2},                  /* a priority that is none */
        {"\3", 1},                      /* no integer */
        {"\5\3hi", 4},                  /* too short */
        {"\5\1hi", 4},                  /* too long */
        {"\5\1\xff", 3},                /* UTF-8 */
        {"\4\0\0\0\0\0\0\xf0\x7f", 9},  /* infinite */
        {"\7\0\0\0\0", 5},              /* no child */
        {"\7\6\0\0\0\1b\2\1a\2", 11},   /* order */
        {"\7\6\0\0\0\1a\2\1a\2", 11},   /* twice */
        {"\7\4\0\0\0\2.q\2", 9},        /* a reserved key */
        {"\7\xff\xff\xff\xff\1a\2", 8}, /* larger than it is */
        {"\3\x80\0", 3},                /* varints longer than need be */
        {"\3\xff\x80\0", 4},
        {"\5\x82\0hi", 5},
        {"\7\4\0\0\0\x81\0a\2", 9},
        {"\x12\3\x80\0", 4},
    };
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        CHECK_NOTE(larder_node_validate(malformed[i], NULL) < 0, "malformed node %zu", i);
}

static void a_builder_ends_at_the_limit_of_a_node(void) {
    larder_node_builder *full = NULL;
    larder_leaf leaf = {.type = LARDER_NODE_TRUE};
    CHECK_OK(larder_node_builder_create(NULL, &full, &test_error));
    CHECK_OK(larder_node_builder_begin_children(full, NULL, &test_error));
    CHECK_OK(larder_node_builder_key(full, test_text("a"), &test_error));
    size_t size = full->bytes.size_bytes;
    full->bytes.size_bytes = LARDER_NODE_MAX_BYTES + 1; /* as if so much were there */
    CHECK_STATUS(larder_node_builder_leaf(full, &leaf, NULL, &test_error), LARDER_E_TOO_LARGE);
    full->bytes.size_bytes = size;
    CHECK_OK(larder_node_builder_leaf(full, &leaf, NULL, &test_error));
    larder_node_builder_close(full);
}

static void values_are_in_index_order(void) {
    static const larder_leaf ordered[] = {
        {.type = LARDER_NODE_EMPTY},
        {.type = LARDER_NODE_FALSE},
        {.type = LARDER_NODE_TRUE},
        {.type = LARDER_NODE_DOUBLE, .number = -1e300},
        {.type = LARDER_NODE_INTEGER, .integer = INT64_MIN},
        {.type = LARDER_NODE_DOUBLE, .number = -0.5},
        {.type = LARDER_NODE_INTEGER, .integer = 0},
        {.type = LARDER_NODE_INTEGER, .integer = INT64_MAX - 1}, /* not a double */
        {.type = LARDER_NODE_INTEGER, .integer = INT64_MAX},
        {.type = LARDER_NODE_DOUBLE, .number = 9223372036854775808.0},
        {.type = LARDER_NODE_STRING, .text = {"", 0}},
        {.type = LARDER_NODE_STRING, .text = {"\xf0\x9f\x98\x80", 4}},
        {.type = LARDER_NODE_STRING, .text = {"\xee\x80\x80", 3}},
        {.type = LARDER_NODE_CHILDREN},
    };
    int count = sizeof ordered / sizeof ordered[0];
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            int order = larder__leaf_compare(&ordered[a], &ordered[b]);
            CHECK_NOTE((order < 0) == (a < b) && (order > 0) == (a > b), "values %d, %d", a, b);
        }
    larder_leaf none = {.type = LARDER_NODE_DOUBLE, .number = 0.0};
    none.number = none.number / none.number; /* of a damaged row: any answer will do */
    (void)larder__leaf_compare(&none, &ordered[4]);
    (void)larder__leaf_compare(&ordered[4], &none);
}

static const test_case cases[] = {
    {"leaves are these bytes", leaves_are_these_bytes},
    {"children are these bytes", children_are_these_bytes},
    {"the builder refuses what is no node", the_builder_refuses_what_is_no_node},
    {"malformed nodes are refused", malformed_nodes_are_refused},
    {"a builder ends at the limit of a node", a_builder_ends_at_the_limit_of_a_node},
    {"values are in index order", values_are_in_index_order},
};
TEST_SUITE(node_plain, cases);

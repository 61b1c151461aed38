/* node_key_test.c - keys of nodes: their form, order, limits, and paths (nodes/node_key.h). */
#include "nodes/node_key.h"
#include "test.h"

static larder_bytes encode(const char *text) {
    static larder__form form;
    larder__form_encode(test_text(text), &form);
    return larder__form_bytes(&form);
}

static void forms_are_these_bytes(void) {
    CHECK_BYTES(encode("0"), TEST_BYTES("\1\x80\0\0\0\3"));
    CHECK_BYTES(encode("17"), TEST_BYTES("\1\x80\0\0\x11\5"));
    CHECK_BYTES(encode("-1"), TEST_BYTES("\1\x7f\xff\xff\xff\4"));
    CHECK_BYTES(encode("-0"), TEST_BYTES("\1\x80\0\0\0\4"));
    CHECK_BYTES(encode("00"), TEST_BYTES("\1\x80\0\0\0\5"));
    CHECK_BYTES(encode("2147483647"), TEST_BYTES("\1\xff\xff\xff\xff\x15"));
    CHECK_TEXT(encode("2147483648"), "2147483648");
    CHECK_TEXT(encode("-"), "-");
    CHECK_TEXT(encode("1a"), "1a");
    CHECK_BYTES(encode("\xee\x80\x80z"), TEST_BYTES("\xfe\x80\x80z"));
    CHECK_BYTES(encode("\xef\xbc\xa1"), TEST_BYTES("\xff\xbc\xa1"));
    CHECK_TEXT(encode("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

/* In order. */
static const char *const ordered[] = {"-2147483648",
                                      "-10",
                                      "-1",
                                      "0",
                                      "-0",
                                      "00",
                                      "1",
                                      "01",
                                      "2",
                                      "10",
                                      "2147483647",
                                      " ",
                                      "-",
                                      "-2147483649",
                                      "-a",
                                      "2147483648",
                                      "a",
                                      "a ",
                                      "aa",
                                      "b",
                                      "\xc3\xa9",
                                      "\xed\x9f\xbf",
                                      "\xf0\x9f\x98\x80",
                                      "\xee\x80\x80",
                                      "\xef\xbf\xbd"};
enum { ORDERED = sizeof ordered / sizeof ordered[0] };

static int sign(int order) { return order < 0 ? -1 : order > 0; }

static void forms_order_as_keys_do(void) {
    for (int a = 0; a < ORDERED; a++) {
        for (int b = 0; b < ORDERED; b++) {
            larder__form left, right;
            larder__form_encode(test_text(ordered[a]), &left);
            larder__form_encode(test_text(ordered[b]), &right);
            int expected = sign(a - b);
            int found =
                larder__bytes_compare(larder__form_bytes(&left), larder__form_bytes(&right));
            CHECK_NOTE(sign(found) == expected, "forms of %s, %s", ordered[a], ordered[b]);
            found = larder_node_compare_keys(test_text(ordered[a]), test_text(ordered[b]));
            CHECK_NOTE(sign(found) == expected, "keys %s, %s", ordered[a], ordered[b]);
        }
    }
}

static void forms_decode_to_their_keys(void) {
    char scratch[LARDER__FORM_MAX];
    larder_bytes text;
    for (int i = 0; i < ORDERED; i++) {
        CHECK(larder__form_decode(encode(ordered[i]), scratch, &text));
        CHECK_TEXT(text, ordered[i]);
    }
    /* A length that the number does not fill, a sign that it has not, no digits. */
    CHECK(!larder__form_decode(TEST_BYTES("\1\x80\0\0\x11\3"), scratch, &text));
    CHECK(!larder__form_decode(TEST_BYTES("\1\x7f\xff\xff\xff\5"), scratch, &text));
    CHECK(!larder__form_decode(TEST_BYTES("\1\x80\0\0\1\4"), scratch, &text));
    CHECK(!larder__form_decode(TEST_BYTES("\1\x80\0\0\0\1"), scratch, &text));
    CHECK(!larder__form_decode(TEST_BYTES("\1\x80\0\0\0\xff"), scratch, &text));
}

static void keys_have_limits(void) {
    char longest[LARDER_NODE_KEY_MAX_BYTES + 2];
    memset(longest, 'k', sizeof longest);
    CHECK_OK(
        larder__node_key_check(larder__bytes(longest, LARDER_NODE_KEY_MAX_BYTES), &test_error));
    CHECK_STATUS(larder__node_key_check(larder__bytes(longest, sizeof longest - 1), NULL),
                 LARDER_E_INVALID_NAME);
    static const char *const forbidden[] = {"",    "a.b", "#",    "$",    "[",    "a]",
                                            "a/b", "\n",  "\x7f", "\xff", "\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        CHECK_NOTE(larder__node_key_check(test_text(forbidden[i]), NULL) == LARDER_E_INVALID_NAME,
                   "key %zu is forbidden", i);
}

static void paths_have_limits(void) {
    uint32_t depth;
    char deep[2 * LARDER_NODE_DEPTH_MAX + 2];
    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = i % 2 == 0 ? 'a' : '/';
    CHECK_OK(larder__node_path_check(larder__bytes(deep, 2 * LARDER_NODE_DEPTH_MAX - 1), false,
                                     &depth, &test_error));
    CHECK_EQ(depth, LARDER_NODE_DEPTH_MAX);
    CHECK_STATUS(larder__node_path_check(larder__bytes(deep, 2 * LARDER_NODE_DEPTH_MAX + 1), false,
                                         &depth, NULL),
                 LARDER_E_TOO_DEEP);
    CHECK_OK(larder__node_path_check(test_text(""), false, &depth, &test_error));
    CHECK_EQ(depth, 0);
    CHECK_OK(larder__node_path_check(test_text("a/.priority"), true, &depth, &test_error));
    static const char *const malformed[] = {"/", "/a", "a/", "a//b", "a/.priority", ".priority/a"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        CHECK_STATUS(larder__node_path_check(test_text(malformed[i]), false, &depth, NULL),
                     LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder__node_path_check(test_text(".priority/a"), true, &depth, NULL),
                 LARDER_E_INVALID_NAME);
}

static void keys_are_taken_off_a_path(void) {
    larder_bytes path = test_text("a/bc/d"), key;
    CHECK(larder__path_take(&path, &key));
    CHECK_TEXT(key, "a");
    CHECK(larder__path_take(&path, &key));
    CHECK_TEXT(key, "bc");
    CHECK_TEXT(path, "d");
    CHECK(larder__path_take(&path, &key));
    CHECK_TEXT(key, "d");
    CHECK(!larder__path_take(&path, &key));
}

static const test_case cases[] = {
    {"forms are these bytes", forms_are_these_bytes},
    {"forms order as keys do", forms_order_as_keys_do},
    {"forms decode to their keys", forms_decode_to_their_keys},
    {"keys have limits", keys_have_limits},
    {"paths have limits", paths_have_limits},
    {"keys are taken off a path", keys_are_taken_off_a_path},
};
TEST_SUITE(node_key, cases);

/* node_model.c - see node_model.h. */
#include "node_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

static bool read_number(const char *key, long long *number) {
    size_t size = strlen(key), at = key[0] == '-' ? 1 : 0;
    if (size == at || size > 11) return false;
    for (size_t i = at; i < size; i++)
        if (key[i] < '0' || key[i] > '9') return false;
    *number = strtoll(key, NULL, 10);
    return *number >= -2147483648LL && *number <= 2147483647LL;
}

/* UTF-16 units of a text; out holds as many as the text has bytes. */
static size_t to_utf16(const char *text, uint16_t *out) {
    const unsigned char *p = (const unsigned char *)text;
    size_t count = 0;
    while (*p != 0) {
        uint32_t point;
        int extra;
        if (*p < 0x80) {
            point = *p;
            extra = 0;
        } else if (*p < 0xe0) {
            point = *p & 0x1fu;
            extra = 1;
        } else if (*p < 0xf0) {
            point = *p & 0x0fu;
            extra = 2;
        } else {
            point = *p & 0x07u;
            extra = 3;
        }
        for (p++; extra > 0; extra--)
            point = point << 6 | (*p++ & 0x3fu);
        if (point < 0x10000) {
            out[count++] = (uint16_t)point;
        } else {
            out[count++] = (uint16_t)(0xd800 + ((point - 0x10000) >> 10));
            out[count++] = (uint16_t)(0xdc00 + ((point - 0x10000) & 0x3ff));
        }
    }
    return count;
}

static int compare_utf16(const char *left, const char *right) {
    uint16_t *a = malloc(2 * (strlen(left) + 1)), *b = malloc(2 * (strlen(right) + 1));
    size_t a_count = to_utf16(left, a), b_count = to_utf16(right, b), i = 0;
    while (i < a_count && i < b_count && a[i] == b[i])
        i++;
    int order;
    if (i < a_count && i < b_count)
        order = a[i] < b[i] ? -1 : 1;
    else
        order = a_count < b_count ? -1 : a_count > b_count;
    free(a);
    free(b);
    return order;
}

int node_model_compare_keys(const char *left, const char *right) {
    long long a, b;
    bool left_is_number = read_number(left, &a), right_is_number = read_number(right, &b);
    if (left_is_number != right_is_number) return left_is_number ? -1 : 1;
    if (!left_is_number) return compare_utf16(left, right);
    if (a != b) return a < b ? -1 : 1;
    size_t left_size = strlen(left), right_size = strlen(right);
    if (left_size != right_size) return left_size < right_size ? -1 : 1;
    return compare_utf16(left, right);
}

static int rank(int32_t type) {
    static const int ranks[] = {
        [LARDER_NODE_EMPTY] = 0,   [LARDER_NODE_FALSE] = 1,  [LARDER_NODE_TRUE] = 2,
        [LARDER_NODE_INTEGER] = 3, [LARDER_NODE_DOUBLE] = 3, [LARDER_NODE_STRING] = 4,
        [LARDER_NODE_CHILDREN] = 5};
    return ranks[type];
}

int node_model_compare_leaves(const larder_leaf *left, const larder_leaf *right) {
    int a = rank(left->type), b = rank(right->type);
    if (a != b) return a < b ? -1 : 1;
    if (a == 4) return compare_utf16(left->text.data, right->text.data);
    if (a != 3) return 0;
    long double x =
        left->type == LARDER_NODE_INTEGER ? (long double)left->integer : (long double)left->number;
    long double y = right->type == LARDER_NODE_INTEGER ? (long double)right->integer
                                                       : (long double)right->number;
    return x < y ? -1 : x > y;
}

/* ---- nodes ---- */

static larder_leaf copy_leaf(const larder_leaf *leaf) {
    larder_leaf copy = {0};
    if (leaf == NULL) return copy;
    copy = *leaf;
    if (leaf->type == LARDER_NODE_STRING) {
        char *text = malloc(leaf->text.size_bytes + 1);
        if (leaf->text.size_bytes > 0) memcpy(text, leaf->text.data, leaf->text.size_bytes);
        text[leaf->text.size_bytes] = 0;
        copy.text.data = text;
    }
    return copy;
}

static void free_leaf(larder_leaf *leaf) {
    if (leaf->type == LARDER_NODE_STRING) free((void *)(uintptr_t)leaf->text.data);
    memset(leaf, 0, sizeof *leaf);
}

node_model *node_model_leaf(const larder_leaf *leaf, const larder_leaf *priority) {
    node_model *node = calloc(1, sizeof *node);
    node->leaf = copy_leaf(leaf);
    node->priority = copy_leaf(priority);
    return node;
}

node_model *node_model_number(int64_t integer) {
    larder_leaf leaf = {.type = LARDER_NODE_INTEGER, .integer = integer};
    return node_model_leaf(&leaf, NULL);
}

node_model *node_model_text(const char *text) {
    larder_leaf leaf = {.type = LARDER_NODE_STRING, .text = {text, strlen(text)}};
    return node_model_leaf(&leaf, NULL);
}

void node_model_free(node_model *node) {
    if (node == NULL) return;
    for (size_t i = 0; i < node->count; i++) {
        free(node->keys[i]);
        node_model_free(node->children[i]);
    }
    free(node->keys);
    free(node->children);
    free_leaf(&node->leaf);
    free_leaf(&node->priority);
    free(node);
}

static void insert(node_model *node, size_t at, const char *key, size_t key_size,
                   node_model *child) {
    node->keys = realloc(node->keys, (node->count + 1) * sizeof *node->keys);
    node->children = realloc(node->children, (node->count + 1) * sizeof *node->children);
    memmove(node->keys + at + 1, node->keys + at, (node->count - at) * sizeof *node->keys);
    memmove(node->children + at + 1, node->children + at,
            (node->count - at) * sizeof *node->children);
    node->keys[at] = malloc(key_size + 1);
    memcpy(node->keys[at], key, key_size);
    node->keys[at][key_size] = 0;
    node->children[at] = child;
    node->count++;
}

static void erase(node_model *node, size_t at) {
    free(node->keys[at]);
    memmove(node->keys + at, node->keys + at + 1, (node->count - at - 1) * sizeof *node->keys);
    memmove(node->children + at, node->children + at + 1,
            (node->count - at - 1) * sizeof *node->children);
    node->count--;
}

/* Where a key is or would be. */
static size_t find(const node_model *node, const char *key, bool *found) {
    size_t low = 0, high = node->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = node_model_compare_keys(node->keys[middle], key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

node_model *node_model_copy(const node_model *node) {
    if (node == NULL) return NULL;
    node_model *copy = node_model_leaf(&node->leaf, &node->priority);
    for (size_t i = 0; i < node->count; i++)
        insert(copy, i, node->keys[i], strlen(node->keys[i]), node_model_copy(node->children[i]));
    return copy;
}

node_model *node_model_put(node_model *root, const char *path, node_model *value) {
    if (*path == 0) {
        node_model_free(root);
        return value;
    }
    if (strcmp(path, ".priority") == 0) {
        if (root != NULL) {
            free_leaf(&root->priority);
            if (value != NULL) root->priority = copy_leaf(&value->leaf);
        }
        node_model_free(value);
        return root;
    }
    const char *slash = strchr(path, '/');
    size_t size = slash == NULL ? strlen(path) : (size_t)(slash - path);
    char *key = malloc(size + 1);
    memcpy(key, path, size);
    key[size] = 0;
    const char *rest = slash == NULL ? "" : slash + 1;
    bool found = false;
    size_t at = root == NULL ? 0 : find(root, key, &found);
    node_model *child = found ? root->children[at] : NULL;
    child = node_model_put(child, rest, value);
    if (child == NULL) {
        if (found) {
            erase(root, at);
            if (root->count == 0) {
                node_model_free(root);
                root = NULL;
            }
        }
    } else if (found) {
        root->children[at] = child;
    } else {
        if (root == NULL) root = calloc(1, sizeof *root);
        free_leaf(&root->leaf);
        root->leaf.type = LARDER_NODE_CHILDREN;
        insert(root, at, key, size, child);
    }
    free(key);
    return root;
}

const node_model *node_model_at(const node_model *root, const char *path) {
    while (root != NULL && *path != 0) {
        const char *slash = strchr(path, '/');
        size_t size = slash == NULL ? strlen(path) : (size_t)(slash - path);
        char *key = malloc(size + 1);
        memcpy(key, path, size);
        key[size] = 0;
        bool found;
        size_t at = find(root, key, &found);
        free(key);
        root = found ? root->children[at] : NULL;
        path = slash == NULL ? "" : slash + 1;
    }
    return root;
}

size_t node_model_leaf_count(const node_model *node) {
    if (node == NULL) return 0;
    if (node->leaf.type != LARDER_NODE_CHILDREN) return 1;
    size_t count = 0;
    for (size_t i = 0; i < node->count; i++)
        count += node_model_leaf_count(node->children[i]);
    return count;
}

/* ---- random ones ---- */

static uint64_t below(const node_model_random *random, uint64_t bound) {
    return random->below(random->context, bound);
}

const char *node_model_key(const node_model_random *random) {
    static const char *const odd[] = {
        "0",  "00", "-0",           "-1",          "007",          "-",
        "-a", "9",  "10",           "2147483647",  "-2147483648",  "2147483648",
        "a",  "ab", "aa",           "name",        "\xef\xbc\xa1", "\xf0\x9f\x98\x80",
        " ",  "~",  "\xee\x80\x80", "\xed\x9f\xbf"};
    static char key[1024];
    uint64_t kind = below(random, 10);
    if (random->long_keys && kind < 3) {
        size_t size = 380 + below(random, 3) * 100;
        memset(key, 'L', size);
        snprintf(key + size, sizeof key - size, "%llu", (unsigned long long)below(random, 3000));
    } else if (kind < 5) {
        snprintf(key, sizeof key, "%s", odd[below(random, sizeof odd / sizeof odd[0])]);
    } else if (kind < 7) {
        snprintf(key, sizeof key, "%lld", (long long)below(random, 400) - 100);
    } else {
        snprintf(key, sizeof key, "-Nk%05llu", (unsigned long long)below(random, 500));
    }
    return key;
}

static larder_leaf random_leaf(const node_model_random *random, char text[4096]) {
    larder_leaf leaf = {0};
    leaf.type = (int32_t)(LARDER_NODE_FALSE + below(random, 5));
    leaf.integer = leaf.type == LARDER_NODE_INTEGER
                       ? (int64_t)(below(random, 4) == 0 ? below(random, UINT64_MAX)
                                                         : below(random, 2000) - 1000)
                       : 0;
    if (leaf.type == LARDER_NODE_DOUBLE) leaf.number = (double)below(random, 4000) / 7.0 - 250;
    if (leaf.type == LARDER_NODE_STRING) {
        size_t size = below(random, 8) == 0 ? below(random, 1500) : below(random, 60);
        for (size_t i = 0; i < size; i++)
            text[i] = (char)('a' + below(random, 3) * below(random, 8));
        text[size] = 0;
        leaf.text.data = text;
        leaf.text.size_bytes = size;
    }
    return leaf;
}

static larder_leaf random_priority(const node_model_random *random, char text[4096]) {
    larder_leaf none = {0}, number = {.type = LARDER_NODE_INTEGER};
    if (below(random, 4) != 0) return none;
    for (int tries = 0; tries < 20; tries++) {
        larder_leaf leaf = random_leaf(random, text);
        if (leaf.type > LARDER_NODE_TRUE) return leaf;
    }
    return number; /* a fuzzer's numbers may all be equal */
}

node_model *node_model_make(const node_model_random *random, int depth, int width) {
    char text[4096], priority_text[4096];
    larder_leaf priority = random_priority(random, priority_text);
    if (depth == 0 || below(random, 3) == 0) {
        larder_leaf leaf = random_leaf(random, text);
        return node_model_leaf(&leaf, &priority);
    }
    node_model *node = NULL;
    size_t count = 1 + below(random, (uint64_t)width);
    for (size_t i = 0; i < count; i++) {
        node_model *child = node_model_make(random, depth - 1, width);
        node = node_model_put(node, node_model_key(random), child);
    }
    node->priority = copy_leaf(&priority);
    return node;
}

const char *node_model_path(const node_model_random *random, const node_model *root) {
    static char path[8192];
    size_t size = 0;
    path[0] = 0;
    for (int depth = 0; depth < 6 && below(random, 5) != 0; depth++) {
        const char *key = root != NULL && root->count > 0 && below(random, 5) != 0
                              ? root->keys[below(random, root->count)]
                              : node_model_key(random);
        int added = snprintf(path + size, sizeof path - size, "%s%s", size > 0 ? "/" : "", key);
        root = node_model_at(root, path + size + (size > 0 ? 1 : 0));
        size += (size_t)added;
    }
    return path;
}

/* ---- encoding ---- */

void node_model_build(const node_model *node, larder_node_builder *builder) {
    if (node == NULL) return;
    if (node->leaf.type != LARDER_NODE_CHILDREN) {
        larder_node_builder_leaf(builder, &node->leaf, &node->priority, NULL);
        return;
    }
    larder_node_builder_begin_children(builder, &node->priority, NULL);
    for (size_t i = 0; i < node->count; i++) {
        larder_bytes key = {node->keys[i], strlen(node->keys[i])};
        larder_node_builder_key(builder, key, NULL);
        node_model_build(node->children[i], builder);
    }
    larder_node_builder_end_children(builder, NULL);
}

larder_bytes node_model_encode(const node_model *node, larder_node_builder *builder) {
    larder_bytes encoded = {0};
    larder_node_builder_reset(builder);
    node_model_build(node, builder);
    larder_node_builder_finish(builder, &encoded, NULL);
    return encoded;
}

/* ---- encoded without the library ---- */

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
} bytes;

static void append(bytes *out, const void *data, size_t size) {
    if (out->size + size > out->capacity) {
        out->capacity = 2 * (out->size + size) + 64;
        out->data = realloc(out->data, out->capacity);
        if (out->data == NULL) abort();
    }
    if (size > 0) memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void append_byte(bytes *out, uint8_t byte) { append(out, &byte, 1); }

static void append_varint(bytes *out, uint64_t number) {
    for (; number >= 0x80; number >>= 7)
        append_byte(out, (uint8_t)(number | 0x80));
    append_byte(out, (uint8_t)number);
}

static void append_value(bytes *out, const larder_leaf *leaf) {
    if (leaf->type == LARDER_NODE_INTEGER)
        append_varint(out, leaf->integer < 0 ? 2 * (uint64_t)(-(leaf->integer + 1)) + 1
                                             : 2 * (uint64_t)leaf->integer);
    if (leaf->type == LARDER_NODE_DOUBLE) append(out, &leaf->number, sizeof leaf->number);
    if (leaf->type < LARDER_NODE_STRING) return;
    append_varint(out, leaf->text.size_bytes);
    append(out, leaf->text.data, leaf->text.size_bytes);
}

static void append_node(bytes *out, const node_model *node) {
    bool has_priority = node->priority.type != LARDER_NODE_EMPTY;
    append_byte(out, (uint8_t)(node->leaf.type | (has_priority ? 0x10 : 0)));
    if (has_priority) {
        append_byte(out, (uint8_t)node->priority.type);
        append_value(out, &node->priority);
    }
    if (node->leaf.type != LARDER_NODE_CHILDREN) {
        append_value(out, &node->leaf);
        return;
    }
    size_t at = out->size;
    uint8_t size[4] = {0};
    append(out, size, sizeof size);
    for (size_t i = 0; i < node->count; i++) {
        size_t key_size = strlen(node->keys[i]);
        append_varint(out, key_size);
        append(out, node->keys[i], key_size);
        append_node(out, node->children[i]);
    }
    for (int i = 0; i < 4; i++)
        out->data[at + (size_t)i] = (uint8_t)((out->size - at - 4) >> 8 * i);
}

larder_bytes node_model_bytes(const node_model *node) {
    bytes out = {0};
    if (node != NULL) append_node(&out, node);
    return (larder_bytes){out.data, out.size};
}

void node_model_bytes_free(larder_bytes encoded) { free((void *)(uintptr_t)encoded.data); }

node_model *node_model_decode(larder_bytes encoded) {
    larder_node opened;
    larder_bytes key, child;
    if (larder_node_open(encoded, &opened, NULL) != LARDER_OK) abort();
    if (opened.type == LARDER_NODE_EMPTY) return NULL;
    if (opened.type != LARDER_NODE_CHILDREN) return node_model_leaf(&opened.leaf, &opened.priority);
    larder_leaf children = {.type = LARDER_NODE_CHILDREN};
    node_model *node = node_model_leaf(&children, &opened.priority);
    while (larder_node_take_child(&opened.children, &key, &child, NULL) == LARDER_OK)
        insert(node, node->count, key.data, key.size_bytes, node_model_decode(child));
    return node;
}

bool node_model_is(const node_model *node, larder_bytes encoded) {
    larder_bytes expected = node_model_bytes(node);
    bool is_same =
        expected.size_bytes == encoded.size_bytes &&
        (encoded.size_bytes == 0 || memcmp(expected.data, encoded.data, encoded.size_bytes) == 0);
    node_model_bytes_free(expected);
    return is_same;
}

bool node_model_is_same(const node_model *left, const node_model *right) {
    larder_bytes encoded = node_model_bytes(right);
    bool is_same = node_model_is(left, encoded);
    node_model_bytes_free(encoded);
    return is_same;
}

/*
 * node_model.h - trees as plain structures, changed in the most obvious way: what the stored ones
 * are tested against. The rules are the Realtime Database's.
 */
#ifndef LARDER_TEST_NODE_MODEL_H
#define LARDER_TEST_NODE_MODEL_H

#include "larder.h"

#include <stdbool.h>

/* NULL is the empty node. */
typedef struct node_model node_model;
struct node_model {
    larder_leaf leaf; /* CHILDREN: it has some; text is the model's own */
    larder_leaf priority;
    size_t count;
    char **keys; /* in order */
    node_model **children;
};

/* Random numbers from a function of the caller's: 0 .. bound - 1. */
typedef uint64_t (*node_model_below)(void *context, uint64_t bound);
typedef struct node_model_random {
    node_model_below below;
    void *context;
    bool long_keys; /* some keys share hundreds of bytes */
} node_model_random;

node_model *node_model_leaf(const larder_leaf *leaf, const larder_leaf *priority);
node_model *node_model_number(int64_t integer);
node_model *node_model_text(const char *text);
/* A random node of at most depth levels, with up to width children each. */
node_model *node_model_make(const node_model_random *random, int depth, int width);
/* A key; borrowed until the next call. */
const char *node_model_key(const node_model_random *random);
node_model *node_model_copy(const node_model *node);
void node_model_free(node_model *node);

/* The tree with value (taken over) at a path; its last key may be .priority. */
node_model *node_model_put(node_model *root, const char *path, node_model *value);
/* The node at a path, or NULL. */
const node_model *node_model_at(const node_model *root, const char *path);
/* A random path into the tree, or beyond it; borrowed until the next call. */
const char *node_model_path(const node_model_random *random, const node_model *root);

void node_model_build(const node_model *node, larder_node_builder *builder);
/* Encoded by the builder; borrowed from it. */
larder_bytes node_model_encode(const node_model *node, larder_node_builder *builder);
/* Encoded by the model itself, not the library, in memory of its own. */
larder_bytes node_model_bytes(const node_model *node);
void node_model_bytes_free(larder_bytes encoded);
node_model *node_model_decode(larder_bytes encoded);
/* Whether these are the bytes of the node. */
bool node_model_is(const node_model *node, larder_bytes encoded);
bool node_model_is_same(const node_model *left, const node_model *right);
int node_model_compare_keys(const char *left, const char *right);
int node_model_compare_leaves(const larder_leaf *left, const larder_leaf *right);
size_t node_model_leaf_count(const node_model *node);

#endif

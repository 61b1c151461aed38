/*
 * tree.h - walking the trees of a data file without LMDB (tree.c).
 *
 * A page is a tree's when it has the number and the kind that its parent expects and its keys lie,
 * in order, between the parent's. Each page is visited once: a second way to it leads to damage.
 */
#ifndef LARDER_TREE_H
#define LARDER_TREE_H

#include "page.h"

typedef struct larder__tree_visitor {
    void *context;
    /* A node of a leaf, whose value is empty when it is large (node->child). False ends the walk. */
    bool (*node)(void *context, const larder__page_node *node);
    /* What a page lacks, or cannot be: keys from low on and below high (NULL: to the last). Those
     * of a branch may have been lost in part before. */
    void (*lost)(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                 const char *what);
    /* A page that is whole. May be NULL. */
    void (*page)(void *context, uint64_t page);
} larder__tree_visitor;

/* Walks the tree below a root in the order of keys. visited has a bit for each page of the file and
 * may be shared by trees that have no page in common. False: the visitor ended it, or there is no
 * memory (then *has_memory is false). */
bool larder__tree_walk_all(const larder__pages *pages, uint64_t root, uint8_t *visited,
                           const larder__tree_visitor *visitor, const larder_allocator *allocator,
                           bool *has_memory);
/* The same of LMDB's table of free pages, whose keys are numbers. */
bool larder__tree_walk_numbers(const larder__pages *pages, uint64_t root, uint8_t *visited,
                               const larder__tree_visitor *visitor,
                               const larder_allocator *allocator, bool *has_memory);
/* Whether a tree has the depth that its record says; false also where a page on the way to the first
 * row is damaged. */
bool larder__tree_has_depth(const larder__pages *pages, const larder__root *root);

#endif

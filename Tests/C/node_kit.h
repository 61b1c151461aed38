/*
 * node_kit.h - trees in tests: putting and reading plain ones, rows made by hand.
 *
 * Functions report a failed check by themselves and go on.
 */
#ifndef LARDER_TEST_NODE_KIT_H
#define LARDER_TEST_NODE_KIT_H

#include "node_model.h"
#include "nodes/node_place.h"
#include "store.h"

/* A store in memory with one tree. */
larder_env *node_kit_open(uint64_t *tree);
/* Puts a value, which is taken over; NULL deletes. */
void node_kit_put(larder_txn *txn, uint64_t tree, const char *path, node_model *value);
/* The same in a commit of its own. */
void node_kit_commit(larder_env *env, uint64_t tree, const char *path, node_model *value);
/* For the caller to free. */
node_model *node_kit_read(const larder_txn *txn, uint64_t tree, const char *path);
bool node_kit_has(larder_env *env, uint64_t tree, const char *path);
/* Checks that the path holds the value, which is taken over. */
void node_kit_expect(larder_env *env, uint64_t tree, const char *path, node_model *value);
/* A string that does not compress, of this size; borrowed until the next call. */
const char *node_kit_noise(size_t size_bytes);
/* Children first, first + 1, ... of count, each with noise of so many bytes: k0000. */
node_model *node_kit_list(int first, int count, size_t size_bytes);

/* A query of the tree, or a change of it, in a commit of its own. */
void node_kit_track(larder_env *env, uint64_t tree, int64_t id, const char *path, uint32_t flags);
void node_kit_track_key(larder_env *env, uint64_t tree, int64_t id, const char *key);
void node_kit_untrack(larder_env *env, uint64_t tree, int64_t id);
/* Evicts until nothing more can go. */
void node_kit_evict(larder_env *env);

/* The location that the children at a path are; 0 when they lie in their parent's row. */
uint64_t node_kit_location(const larder_txn *txn, uint64_t tree, const char *path);
int64_t node_kit_row_count(const larder_txn *txn, uint64_t location);
/* Children of rows by hand. */
typedef struct node_kit_child {
    larder_bytes form;
    larder_bytes node; /* working */
} node_kit_child;
/* Makes a row of these children as they are, sealed. */
void node_kit_row(larder_txn *txn, uint64_t location, larder_bytes separator,
                  const node_kit_child *children, size_t count);
/* A working REFERENCE; children with one key. Borrowed until the fourth call after. */
larder_bytes node_kit_reference(uint64_t location);
larder_bytes node_kit_wrap(const char *key, larder_bytes node);

#endif

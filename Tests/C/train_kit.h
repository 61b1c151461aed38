/*
 * train_kit.h - write transactions that make dictionaries and use them, for tests in which memory runs
 * out. Each returns the status of the call that failed, after which the transaction is aborted.
 */
#ifndef LARDER_TEST_TRAIN_KIT_H
#define LARDER_TEST_TRAIN_KIT_H

#include "larder.h"

#include <stdbool.h>

/* Opens a store, in memory where path is empty; NULL: it could not. */
larder_env *train_kit_open(const char *path, const larder_allocator *allocator,
                           larder_error *error);
/* Puts documents, for which the commit trains the first dictionary. */
int32_t train_kit_first(larder_env *env, larder_error *error);
/* Puts others, by which a next dictionary is better than the first. */
int32_t train_kit_others(larder_env *env, larder_error *error);
/* Puts some that use a dictionary, trains another one, and repacks all documents. */
int32_t train_kit_next(larder_env *env, larder_error *error);
/* Whether every document reads as it was put, and larder_check finds nothing. *dictionary: the one in
 * use. */
bool train_kit_is_whole(larder_env *env, uint32_t *dictionary, larder_error *error);

#endif

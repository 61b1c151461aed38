/*
 * lru_kit.h - what the tests of use and eviction share: documents with a known last use, and looks
 * at epochs and the log. Functions report a failed check by themselves and go on.
 */
#ifndef LARDER_TEST_LRU_KIT_H
#define LARDER_TEST_LRU_KIT_H

#include "store.h"
#include "store/lru.h"

/* Puts a document with about text_bytes of content that does not compress, in a commit of its
 * own. */
void lru_put(larder_env *env, const char *name, size_t text_bytes);
/* The same within a transaction. */
void lru_put_in(larder_txn *txn, const char *name, size_t text_bytes);
/* Begins an epoch: what is used from now on is younger than all that was used before. */
void lru_next_epoch(larder_env *env);
bool lru_has(larder_env *env, const char *name);
/* The epoch in a document's row; 0 when there is no such row. */
uint32_t lru_epoch_of(larder_env *env, const char *name);
/* Entries in the rows of the log; current ones alone when asked. */
int64_t lru_entries(larder_env *env, bool current_only);
/* A step without a limit of time; checks the status. */
larder_lru_result lru_step(larder_env *env, int64_t goal_bytes, int64_t max_documents,
                           int32_t expected);
/* Steps until nothing more is to do, and adds their results. */
larder_lru_result lru_reclaim(larder_env *env, int64_t goal_bytes);

/* Of cache rules, whose times are in microseconds. */
#define LRU_SECOND INT64_C(1000000)
larder_cache_rule lru_rule(int32_t scope, const char *path, uint32_t flags);
void lru_set_rules(larder_env *env, const larder_cache_rule *rules, size_t count);
void lru_at(larder_env *env, int64_t second);
larder_cache_rule lru_get_rule(larder_env *env, size_t index, int32_t expected);
/* Uses a document, in a commit that changes nothing else. */
void lru_touch(larder_env *env, const char *name);

#endif

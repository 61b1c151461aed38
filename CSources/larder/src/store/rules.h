/*
 * rules.h - cache rules in memory (rules.c, rule_ages.c), for the walk (evict.c), for the counts of collections
 * (catalog.c) and for documents (documents/model.c).
 *
 * Belongs to the writer: everything here is called with a write transaction open, but for
 * larder__rules_are_due, which larder_txn_commit calls as the writer as well.
 */
#ifndef LARDER_RULES_H
#define LARDER_RULES_H

#include "lru.h"

typedef struct larder__rule {
    int32_t scope;
    uint32_t flags;
    int64_t max_bytes;   /* 0: none */
    int64_t max_age_us;  /* 0: none */
    larder_bytes path;   /* in larder__rules.text */
    int64_t size_bytes;  /* of its documents, with those of the open transaction */
    uint32_t cutoff;     /* documents last used in an earlier epoch are too old */
    bool is_over;        /* above max_bytes, until enough went */
    bool was_considered; /* the walk has passed over none of its documents */
} larder__rule;

/* A time by which every use in the epochs from one on, up to the next mark's, had happened. */
typedef struct larder__use_mark {
    uint32_t epoch;
    int64_t until_us;
} larder__use_mark;

#define LARDER__RULE_MEMO 1024
#define LARDER__RULE_MARKS 1024

typedef struct larder__rules {
    int64_t version; /* counters.rules_version that they are of; -1: to be read */
    int64_t commit;  /* the last commit that size_bytes counts */
    larder__rule *list;
    size_t count;
    larder__buffer text;
    uint64_t memo_collection[LARDER__RULE_MEMO]; /* + 1; direct-mapped */
    uint32_t memo_rule[LARDER__RULE_MEMO];       /* + 1; 0: none */
    larder__use_mark marks[LARDER__RULE_MARKS];
    size_t mark_count;
    bool has_limits; /* some rule evicts */
    bool marks_changed;
    _Atomic bool is_settled;   /* the last walk removed all that it may */
    _Atomic int64_t given_us;  /* larder_lru_set_time; negative: the system's */
    larder__lru_position from; /* where the walk by rules goes on */
} larder__rules;

/* At the beginning of a write transaction, whose counters are loaded. */
int32_t larder__rules_begin(larder_txn *txn, larder_error *error);
void larder__rules_ended(larder_txn *txn, bool committed);
/* Documents of a collection came or went. */
void larder__rules_count(larder_txn *txn, uint64_t collection, int64_t bytes_delta);
/* A value of this name is put or removed: whether it is the row of the rules. */
bool larder__rules_is_row(int32_t kind, larder_bytes name);
/* Whether a step would look for documents to evict by rules. */
bool larder__rules_are_due(const larder_txn *txn);

/* The rule of a collection, or NULL. */
larder__rule *larder__rules_of(larder_txn *txn, uint64_t collection);
/* The walk by rules: before it; whether a rule may still want rows of an epoch; whether one wants
 * this document; at the end of the log, or when no rule wants more. */
void larder__rules_begin_walk(larder_txn *txn, bool has_released);
bool larder__rules_want_any(const larder_txn *txn, uint32_t epoch);
bool larder__rules_want(larder_txn *txn, const larder__lru_entry *entry, uint32_t epoch);
void larder__rules_settle(larder_txn *txn);

/* ---- ages (rule_ages.c) ---- */

/* In microseconds since 1970. */
int64_t larder__rules_now(const larder__rules *rules);
/* Writes the first mark, unless there are marks: every document counts as used now. */
int32_t larder__marks_begin(larder_txn *txn, larder_error *error);
int32_t larder__marks_remove(larder_txn *txn, larder_error *error);
int32_t larder__marks_read(larder_txn *txn, larder__rules *rules, larder_error *error);
/* Begins an epoch and marks it, when the last mark has run out. */
void larder__marks_add(larder_txn *txn, larder__rules *rules);
/* Before the commit of a transaction that changed something. */
int32_t larder__marks_commit(larder_txn *txn, larder_error *error);
/* Documents of earlier epochs have not been used for so long; 0: there are none. */
uint32_t larder__marks_cutoff(const larder__rules *rules, int64_t age, int64_t now);

int32_t larder__rules_create(larder_env *env, larder_error *error);
void larder__rules_destroy(larder_env *env);

#endif

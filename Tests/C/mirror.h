/*
 * mirror.h - a naive in-memory mirror of a whole store, for tests that compare the two.
 *
 * The mirror knows a fixed universe of names, users, targets, named values and index
 * definitions, so its state is a handful of arrays. mirror_commit makes random changes: to the
 * mirror, and, when it is given a write transaction, to the store too. What it does depends on
 * the profile's seed and the mirror's state only, never on the store, so that another process
 * can repeat it. Each commit also stores its sequence number under a global name: a store says
 * by itself which state of the mirror it should equal.
 *
 * The store evicts and the mirror does not: mirror_reconcile drops from the mirror what the store
 * has evicted and reports what must not have gone.
 */
#ifndef LARDER_TEST_MIRROR_H
#define LARDER_TEST_MIRROR_H

#include "larder.h"
#include "node_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MIRROR_COLLECTIONS = 8,
    MIRROR_IDS = 40,
    MIRROR_NAMES = MIRROR_COLLECTIONS * MIRROR_IDS,
    MIRROR_USERS = 3,
    MIRROR_TARGETS = 8,
    MIRROR_CANONICALS = 4,
    MIRROR_NAMED_KINDS = 7,
    MIRROR_NAMED = 12,
    MIRROR_INDEXES = 7,
    MIRROR_BATCHES = 48,
    MIRROR_BATCH_NAMES = 5,
    MIRROR_NODE_QUERIES = 4,
    MIRROR_NODE_KEYS = 4,
    MIRROR_NODE_WRITES = 12
};

/* ---- random numbers (splitmix64) ---- */

typedef struct mirror_random {
    uint64_t state;
} mirror_random;
mirror_random mirror_random_from(uint64_t seed, uint64_t stream);
uint64_t mirror_random_next(mirror_random *random);
uint64_t mirror_random_below(mirror_random *random, uint64_t bound);

/* What malloc gave; without memory the program ends. */
void *mirror_must(void *memory);
/* Borrowed bytes of NUL-terminated text. */
larder_bytes mirror_text(const char *text);

/* ---- the universe ---- */

larder_bytes mirror_user(int user);
larder_bytes mirror_collection(int collection);
larder_bytes mirror_group(int collection); /* the collection's last segment */
larder_bytes mirror_id(int name);
larder_bytes mirror_name(int name);
int mirror_name_collection(int name);
/* Firestore's order of two names, segment by segment; written apart from the library's. */
int mirror_path_compare(larder_bytes a, larder_bytes b);
int mirror_segment_compare(larder_bytes a, larder_bytes b);
int32_t mirror_target_id(int target);
larder_bytes mirror_canonical(int canonical);
larder_bytes mirror_named(int named);
/* The index with this number, with encoded field paths; borrowed for good. */
typedef struct mirror_index_definition {
    larder_bytes group;
    larder_index_segment segments[4];
    size_t segment_count;
} mirror_index_definition;
const mirror_index_definition *mirror_index(int index);

/* ---- the state ---- */

typedef struct mirror_blob { /* shared, never changed */
    int references;
    size_t size_bytes;
    uint8_t data[];
} mirror_blob;

typedef struct mirror_document {
    int32_t state; /* 0: nothing known */
    uint32_t flags;
    larder_time version, create_time, read_time;
    mirror_blob *plain; /* of a found one */
    bool held;          /* written while a pending batch touched it: must not be evicted */
} mirror_document;

typedef struct mirror_overlay {
    bool present;
    int64_t batch_id;
    mirror_blob *plain; /* NULL: the pending writes delete it */
    mirror_blob *payload;
} mirror_overlay;

typedef struct mirror_batch {
    bool present;
    int user;
    int64_t batch_id;
    larder_time local_write_time;
    uint32_t attempt_count;
    larder_time last_attempt;
    mirror_blob *last_error;
    mirror_blob *payload;
    int name_count;
    int names[MIRROR_BATCH_NAMES];
    larder_time base_versions[MIRROR_BATCH_NAMES];
} mirror_batch;

typedef struct mirror_target {
    bool present;
    uint32_t flags;
    int64_t sequence_number;
    larder_time snapshot_version, limbo_free_version;
    mirror_blob *resume_token;
    mirror_blob *query;
    int canonical;
    bool members[MIRROR_NAMES];
} mirror_target;

typedef struct mirror_named_value {
    bool present;
    larder_time time;
    mirror_blob *payload;
} mirror_named_value;

typedef struct mirror_node_query {
    bool present;
    uint32_t flags;
    bool keys[MIRROR_NODE_KEYS];
} mirror_node_query;

typedef enum mirror_index_state {
    MIRROR_INDEX_NONE,
    MIRROR_INDEX_FILLING, /* may or may not be complete */
    MIRROR_INDEX_COMPLETE
} mirror_index_state;

typedef struct mirror {
    uint64_t sequence; /* commits so far */
    mirror_document documents[MIRROR_NAMES];
    mirror_overlay overlays[MIRROR_USERS][MIRROR_NAMES];
    mirror_batch batches[MIRROR_BATCHES]; /* in no order */
    mirror_target targets[MIRROR_TARGETS];
    mirror_named_value named[MIRROR_NAMED_KINDS][MIRROR_NAMED];
    mirror_index_state indexes[MIRROR_INDEXES];
    node_model *tree, *cache;
    mirror_node_query node_queries[MIRROR_NODE_QUERIES];
    mirror_blob *node_writes[MIRROR_NODE_WRITES];
    int64_t next_batch_id;
    int32_t highest_target_id;
    /* pins of this handle: kept by the test, read by mirror_reconcile */
    int pins[MIRROR_NAMES];
    int target_pins[MIRROR_TARGETS];
} mirror;

mirror *mirror_create(void);
mirror *mirror_clone(const mirror *from);
void mirror_free(mirror *m);

/* ---- problems: differences that were found, counted over the process ---- */

long mirror_problem_count(void);
void mirror_problem_reset(void);
/* The first difference since the last reset, "" for none. */
const char *mirror_problem_text(void);
/* Prints each difference to standard error when set (default). */
void mirror_problem_print(bool print);
void mirror_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- changes ---- */

typedef struct mirror_profile {
    uint64_t seed;
    int operations;  /* in one commit, at most */
    bool large;      /* documents of up to 30 KB that do not compress */
    bool lenient;    /* the store evicts: NOT_FOUND is no difference */
    bool faults;     /* calls may fail: stop at the first failure, without calling it one */
    bool plain_only; /* nothing that must be there: no mutations, pins; documents only */
} mirror_profile;

/* Called with true before and false after every larder call of mirror_commit and
 * mirror_verify, when set. */
extern void (*mirror_guard)(bool enter);
static inline int mirror_enter(void) {
    if (mirror_guard) mirror_guard(true);
    return 0;
}
static inline int32_t mirror_leave(int32_t status) {
    if (mirror_guard) mirror_guard(false);
    return status;
}
/* A larder call between both calls of the guard; its status. */
#define MIRROR_CALL(expression) ((void)mirror_enter(), mirror_leave(expression))

/* Applies commit number m->sequence + 1 to the mirror and, unless txn is NULL, to the store.
 * Returns LARDER_OK, or with faults the status of the call that failed: the mirror is then
 * somewhere in between, so work on a clone. *operation_count (nullable) is what was done. */
int32_t mirror_commit(mirror *m, larder_txn *txn, const mirror_profile *profile,
                      int *operation_count);

/* ---- comparison ---- */

/* The sequence number that the store holds, 0 for none. Below 0: a status. */
int64_t mirror_stored_sequence(const larder_txn *txn);
/* Drops from the mirror what the store has evicted. */
void mirror_reconcile(mirror *m, const larder_txn *txn);
/* Compares everything: gets, scans of every kind in both directions and between random
 * bounds, counters. Differences are problems. With faults in the profile a call may fail:
 * the status comes back and is no difference. profile may be NULL. */
int32_t mirror_verify(const mirror *m, const larder_txn *txn, const mirror_profile *profile);
/* larder_check, and problems for what it finds. Returns its status. */
int32_t mirror_check(const larder_txn *txn);

/* ---- a tree that is kept whole, and its pending writes (mirror_nodes.c) ---- */

/* The trees of a mirror that was copied bit by bit. */
void mirror_nodes_keep(mirror *m);
void mirror_nodes_release(mirror *m);
int32_t mirror_nodes_change(mirror *m, larder_txn *txn, mirror_random *random, larder_error *error);
int32_t mirror_nodes_verify(const mirror *m, const larder_txn *txn, larder_error *error);
/* A whole tree, for the caller to free. */
int32_t mirror_node_read(const larder_txn *txn, uint64_t tree, node_model **found,
                         larder_error *error);

/* ---- a tree that may be evicted, and its tracked queries (mirror_cache.c) ---- */

/* NOT_FOUND when the query was evicted that it is about. */
int32_t mirror_cache_change(mirror *m, larder_txn *txn, mirror_random *random, bool is_large,
                            larder_error *error);
int32_t mirror_cache_verify(const mirror *m, const larder_txn *txn, larder_error *error);
void mirror_cache_reconcile(mirror *m, const larder_txn *txn);
/* Whether eviction would find something, as far as the mirror knows. */
bool mirror_cache_may_shrink(const mirror *m);

/* ---- records (mirror_records.c) ---- */

/* A random plain record; kept in a new blob. */
mirror_blob *mirror_record(mirror_random *random, bool large);
void mirror_blob_release(mirror_blob *blob);
mirror_blob *mirror_blob_keep(mirror_blob *blob);
static inline larder_bytes mirror_blob_bytes(const mirror_blob *blob) {
    larder_bytes bytes = {blob ? blob->data : NULL, blob ? blob->size_bytes : 0};
    return bytes;
}

/* The index entries (order bytes, one after the other, cut at 240 bytes) of a plain record:
 * calls visit for each. */
void mirror_index_entries(int index, larder_bytes plain,
                          void (*visit)(void *context, larder_bytes order_bytes), void *context);
enum { MIRROR_ORDER_MAX = 240 };

#endif

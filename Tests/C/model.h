/*
 * model.h - a naive in-memory model of a whole store, for tests that compare the two.
 *
 * The model knows a fixed universe of names, users, targets, named values and index
 * definitions, so its state is a handful of arrays. model_commit makes random changes: to the
 * model, and, when it is given a write transaction, to the store too. What it does depends on
 * the profile's seed and the model's state only, never on the store, so that another process
 * can repeat it. Each commit also stores its sequence number under a global name: a store says
 * by itself which state of the model it should equal.
 *
 * The store evicts and the model does not: model_reconcile drops from the model what the store
 * has evicted and reports what must not have gone.
 */
#ifndef LARDER_TEST_MODEL_H
#define LARDER_TEST_MODEL_H

#include "larder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_COLLECTIONS = 8,
    MODEL_IDS = 40,
    MODEL_NAMES = MODEL_COLLECTIONS * MODEL_IDS,
    MODEL_USERS = 3,
    MODEL_TARGETS = 8,
    MODEL_CANONICALS = 4,
    MODEL_NAMED_KINDS = 3,
    MODEL_NAMED = 12,
    MODEL_INDEXES = 7,
    MODEL_BATCHES = 48,
    MODEL_BATCH_NAMES = 5
};

/* ---- random numbers (splitmix64) ---- */

typedef struct model_random {
    uint64_t state;
} model_random;
model_random model_random_from(uint64_t seed, uint64_t stream);
uint64_t model_random_next(model_random *random);
uint64_t model_random_below(model_random *random, uint64_t bound);

/* ---- the universe ---- */

larder_bytes model_user(int user);
larder_bytes model_collection(int collection);
larder_bytes model_group(int collection); /* the collection's last segment */
larder_bytes model_id(int name);
larder_bytes model_name(int name);
int model_name_collection(int name);
/* Firestore's order of two names, segment by segment; written apart from the library's. */
int model_path_compare(larder_bytes a, larder_bytes b);
int model_segment_compare(larder_bytes a, larder_bytes b);
int32_t model_target_id(int target);
larder_bytes model_canonical(int canonical);
larder_bytes model_named(int named);
/* The index with this number, with encoded field paths; borrowed for good. */
typedef struct model_index_definition {
    larder_bytes group;
    larder_index_segment segments[4];
    size_t segment_count;
} model_index_definition;
const model_index_definition *model_index(int index);

/* ---- the state ---- */

typedef struct model_blob { /* shared, never changed */
    int references;
    size_t size_bytes;
    uint8_t data[];
} model_blob;

typedef struct model_document {
    int32_t state; /* 0: nothing known */
    uint32_t flags;
    larder_time version, create_time, read_time;
    model_blob *plain; /* of a found one */
    bool held;         /* written while a pending batch touched it: must not be evicted */
} model_document;

typedef struct model_overlay {
    bool present;
    int64_t batch_id;
    model_blob *plain; /* NULL: the pending writes delete it */
    model_blob *payload;
} model_overlay;

typedef struct model_batch {
    bool present;
    int user;
    int64_t batch_id;
    larder_time local_write_time;
    uint32_t attempt_count;
    larder_time last_attempt;
    model_blob *last_error;
    model_blob *payload;
    int name_count;
    int names[MODEL_BATCH_NAMES];
    larder_time base_versions[MODEL_BATCH_NAMES];
} model_batch;

typedef struct model_target {
    bool present;
    uint32_t flags;
    int64_t sequence_number;
    larder_time snapshot_version, limbo_free_version;
    model_blob *resume_token;
    model_blob *query;
    int canonical;
    bool members[MODEL_NAMES];
} model_target;

typedef struct model_named_value {
    bool present;
    larder_time time;
    model_blob *payload;
} model_named_value;

typedef enum model_index_state {
    MODEL_INDEX_NONE,
    MODEL_INDEX_FILLING, /* may or may not be complete */
    MODEL_INDEX_COMPLETE
} model_index_state;

typedef struct model {
    uint64_t sequence; /* commits so far */
    model_document documents[MODEL_NAMES];
    model_overlay overlays[MODEL_USERS][MODEL_NAMES];
    model_batch batches[MODEL_BATCHES]; /* in no order */
    model_target targets[MODEL_TARGETS];
    model_named_value named[MODEL_NAMED_KINDS][MODEL_NAMED];
    model_index_state indexes[MODEL_INDEXES];
    int64_t next_batch_id;
    int32_t highest_target_id;
    /* pins of this handle: kept by the test, read by model_reconcile */
    int pins[MODEL_NAMES];
    int target_pins[MODEL_TARGETS];
} model;

model *model_create(void);
model *model_clone(const model *from);
void model_free(model *m);

/* ---- problems: differences that were found, counted over the process ---- */

long model_problem_count(void);
void model_problem_reset(void);
/* The first difference since the last reset, "" for none. */
const char *model_problem_text(void);
/* Prints each difference to standard error when set (default). */
void model_problem_print(bool print);
void model_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- changes ---- */

typedef struct model_profile {
    uint64_t seed;
    int operations;   /* in one commit, at most */
    bool large;       /* documents of up to 30 KB that do not compress */
    bool lenient;     /* the store evicts: NOT_FOUND is no difference */
    bool faults;      /* calls may fail: stop at the first failure, without calling it one */
    bool plain_only;  /* nothing that must be there: no mutations, pins; documents only */
} model_profile;

/* Called with true before and false after every larder call of model_commit and
 * model_verify, when set. */
extern void (*model_guard)(bool enter);

/* Applies commit number m->sequence + 1 to the model and, unless txn is NULL, to the store.
 * Returns LARDER_OK, or with faults the status of the call that failed: the model is then
 * somewhere in between, so work on a clone. *operation_count (nullable) is what was done. */
int32_t model_commit(model *m, larder_txn *txn, const model_profile *profile,
                     int *operation_count);

/* ---- comparison ---- */

/* The sequence number that the store holds, 0 for none. Below 0: a status. */
int64_t model_stored_sequence(const larder_txn *txn);
/* Drops from the model what the store has evicted. */
void model_reconcile(model *m, const larder_txn *txn);
/* Compares everything: gets, scans of every kind in both directions and between random
 * bounds, counters. Differences are problems. With faults in the profile a call may fail:
 * the status comes back and is no difference. profile may be NULL. */
int32_t model_verify(const model *m, const larder_txn *txn, const model_profile *profile);
/* larder_check, and problems for what it finds. Returns its status. */
int32_t model_check(const larder_txn *txn);

/* ---- records ---- */

/* A random plain record; kept in a new blob. */
model_blob *model_record(model_random *random, bool large);
void model_blob_release(model_blob *blob);
model_blob *model_blob_keep(model_blob *blob);
static inline larder_bytes model_blob_bytes(const model_blob *blob) {
    larder_bytes bytes = {blob ? blob->data : NULL, blob ? blob->size_bytes : 0};
    return bytes;
}

/* The index entries (order bytes, one after the other, cut at 240 bytes) of a plain record:
 * calls visit for each. */
void model_index_entries(int index, larder_bytes plain,
                         void (*visit)(void *context, larder_bytes order_bytes), void *context);
enum { MODEL_ORDER_MAX = 240 };

#endif

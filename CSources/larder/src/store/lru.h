/*
 * lru.h - what lru.c (the log), evict.c (the walk), pin.c (touches and pins) and the folders whose
 * rows can be evicted share.
 *
 * An entry of the log names a row by its kind. The log and the walk are the same for every kind;
 * what they need to know of a row they ask its larder__lru_rows, which the folder of the row
 * defines (documents/model.c). A further kind gets an entry form in lru.c and a line in its table.
 *
 * larder__lru_state, by who may use it: touches and pins under its lock; the rest by the writer.
 */
#ifndef LARDER_LRU_H
#define LARDER_LRU_H

#include "internal.h"

typedef enum larder__lru_kind {
    LARDER__LRU_DOCUMENT,   /* number: of the collection; id: key form */
    LARDER__LRU_TARGET,     /* number: the target id; id: none */
    LARDER__LRU_NODE_QUERY, /* number: of the tree; id: the query's (8, big-endian) */
    LARDER__LRU_KIND_COUNT
} larder__lru_kind;

/* One entry of the log. */
typedef struct larder__lru_entry {
    const uint8_t *begin;
    size_t size_bytes;
    larder__lru_kind kind;
    uint64_t number;
    larder_bytes id;
} larder__lru_entry;
bool larder__lru_entry_read(const uint8_t **at, const uint8_t *end, larder__lru_entry *entry);

/* The place at which a walk over the log continues. */
typedef struct larder__lru_position {
    larder__key key; /* the row the next step begins with; empty: the first */
    size_t skip_bytes;
} larder__lru_position;

/* The outcome for an entry that the walk visits. */
typedef enum larder__lru_outcome {
    LARDER__LRU_GONE, /* the row went, or has another entry now */
    LARDER__LRU_KEPT,
    LARDER__LRU_AGAIN /* something else went: look at it once more */
} larder__lru_outcome;

/* The write transaction in which the walk makes one step. */
typedef struct larder__lru_step {
    larder_txn *txn;
    int64_t goal;
    int64_t max_documents;
    int64_t started_us, max_us;
    larder_lru_result *result;
    bool by_rules;            /* cache rules choose the documents, not the goal */
    bool only_unkept;         /* what nothing keeps goes, whatever the goal, and nothing else */
    bool is_met;              /* at the last row of the log: nothing after it is to go */
    bool removed_holder;      /* what kept other rows: they may go now */
    bool removed_log_row;     /* a row of the log became empty */
    uint64_t left_collection; /* that the last evicted document was in, to be released; 0: none */
} larder__lru_step;

/* The log's operations on a kind of row. */
typedef struct larder__lru_rows {
    /* How many rows the store has, as far as the counters know. */
    int64_t (*count)(const larder__counters *counters);
    /* The epoch in the row of an entry: OK, NOT_FOUND. */
    int32_t (*epoch)(const larder_txn *txn, const larder__lru_entry *entry, uint32_t *epoch,
                     larder_error *error);
    /* Whether a row only stands for data that nothing keeps. It lies in epoch 0. NULL: none does. */
    bool (*is_unkept)(const larder__lru_entry *entry);
    /* Evicts the row of an entry that is current, or keeps it. Counts in step->result. */
    int32_t (*visit)(larder__lru_step *step, const larder__lru_entry *entry, uint32_t epoch,
                     larder__lru_outcome *outcome, larder_error *error);
    /* Ends the step, before its commit. NULL: nothing to do. */
    int32_t (*end)(larder__lru_step *step, larder_error *error);
    /* Gives the row of a name that was touched the current epoch; no such row is no failure.
     * NULL: rows of this kind are not touched by name. */
    int32_t (*touch)(larder_txn *txn, larder_bytes name, larder_error *error);
} larder__lru_rows;
extern const larder__lru_rows larder__lru_documents, larder__lru_targets; /* documents/model.c */
extern const larder__lru_rows larder__lru_node_queries;                   /* nodes/node_sweep.c */
const larder__lru_rows *larder__lru_rows_of(larder__lru_kind kind);

/* Whether an entry of the log at epoch is the row's own: it is stale otherwise. */
int32_t larder__lru_is_current(const larder_txn *txn, const larder__lru_entry *entry,
                               uint32_t epoch, bool *current, larder_error *error);

/* Rows of the log. */
larder__key larder__lru_key(uint32_t epoch, uint32_t chunk);
bool larder__lru_read_key(larder_bytes key, uint32_t *epoch, uint32_t *chunk);
/* Adds an entry to those that wait in the transaction; writes these as rows of an epoch. */
int32_t larder__lru_append(larder_txn *txn, larder__lru_kind kind, uint64_t number, larder_bytes id,
                           larder_error *error);
int32_t larder__lru_write_log(larder_txn *txn, uint32_t epoch, larder_error *error);
/* Notes that a row of cost_bytes was written with the current epoch; adds it to the epoch's log
 * unless it is there. */
int32_t larder__lru_note(larder_txn *txn, larder__lru_kind kind, uint64_t number, larder_bytes id,
                         bool is_logged, int64_t cost_bytes, larder_error *error);
/* Later writes lie after every row of the log, also after rows that are gone:
 * the walk, which remembers its position by key, must meet it. */
void larder__lru_begin_epoch(larder_txn *txn);

struct larder__lru_state {
    pthread_mutex_t lock;
    struct larder__touch_queue *queue;
    struct larder__pin_table *pins;
    _Atomic int64_t pin_count; /* rows pinned */

    larder__lru_position from;        /* of the walk to the goal */
    larder__lru_position unkept_from; /* of that to what nothing keeps */
    int64_t pinned_bytes;             /* met since the walk began */
    larder__key tidy_from;
    larder__buffer row, kept;
    struct larder__rules *rules; /* rules.h, with a walk of their own */
};

/* A batch of touched names, taken out of the queue. */
typedef struct larder__touches {
    larder_bytes *names;
    size_t count;
    struct larder__touch_queue *queue;
} larder__touches;
void larder__lru_take_touches(larder_env *env, larder__touches *touches);
void larder__lru_give_touches(larder_env *env, larder__touches *touches);

/* Pins are by kind and name: of a document its path, of a target its id's bytes, of a subtree as
 * nodes/node_pin.c says. Counted; drop: OK, NOT_FOUND. */
int32_t larder__lru_add_pin(larder_env *env, larder__lru_kind kind, larder_bytes name,
                            larder_error *error);
int32_t larder__lru_drop_pin(larder_env *env, larder__lru_kind kind, larder_bytes name);
static inline larder_bytes larder__lru_target_name(const int32_t *target_id) {
    return larder__bytes(target_id, sizeof *target_id);
}
bool larder__lru_has_pins(larder_env *env);
bool larder__lru_is_pinned(larder_env *env, larder__lru_kind kind, larder_bytes name);
/* Before a step: back to the start when something passed over may go now, which it answers. */
bool larder__lru_begin_step(larder_env *env);
void larder__lru_reset(larder_env *env);

#endif

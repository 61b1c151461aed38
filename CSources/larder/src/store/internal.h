/*
 * internal.h - the environment and transaction structures, and what one file of the store offers
 * the others and the folders above. Each line below uses the lines under it:
 *
 *   env.c, env_options.c, env_tables.c, copy.c, compact.c, stat.c
 *                            opening and closing; copies; sizes
 *   txn.c, txn_read.c, evict.c
 *                            transactions, a commit evicts, and a step is a transaction
 *   rules.c, rule_ages.c     cache rules: sizes and ages of collections
 *   lru.c, pin.c             use: epochs and their log, touches, pins
 *   train.c, dictionary.c    dictionaries
 *   row.c                    a document's stored bytes
 *   catalog.c, mention.c, shape.c, blob.c, named.c
 *                            names to numbers and back; field names; compression; small values
 *   table.c                  accounted get/put/remove and cursors over LMDB tables
 *   wal.c, wal_record.c, wal_checkpoint.c, wal_pages.c, wal_judge.c, wal_recover.c, wal_copy.c
 *                            the write-ahead log
 *   guard.c, guard_map.c, verify.c
 *                            LMDB's calls, which damaged pages cannot end the process with
 *   page.c, page_check.c, tree.c
 *                            pages of the data file, read without LMDB
 *   key.c, file.c, file_room.c, lock.c, registry.c, handle.c
 *                            keys; directory, files and locks, from outside LMDB; open stores;
 *                            checks, log
 *
 * Three things point the other way: commit writes the waiting counts of catalog.c, train.c and
 * lru.c; a copy is verified with larder_check_pages; and the folders above are called through tables
 * of functions (larder__data_model, larder__quarantine, larder__lru_rows in lru.h).
 */
#ifndef LARDER_INTERNAL_H
#define LARDER_INTERNAL_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/process.h"
#include "base/stripe.h"
#include "key.h"
#include "record/record.h"

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- tables ---- */

/* The numbers stand in the write-ahead log: a new table comes last. */
typedef enum larder__table {
    LARDER__CATALOG,
    LARDER__DOCUMENTS,
    LARDER__READ_TIMES,
    LARDER__LRU,
    LARDER__MUTATIONS,
    LARDER__MUTATION_DOCUMENTS,
    LARDER__OVERLAYS,
    LARDER__OVERLAY_BATCHES,
    LARDER__TARGETS,
    LARDER__TARGET_DOCUMENTS,
    LARDER__DOCUMENT_TARGETS,
    LARDER__INDEX_ENTRIES,
    LARDER__OVERLAY_ENTRIES,
    LARDER__NODES,
    LARDER__NODE_QUERIES,
    LARDER__NODE_WRITES,
    LARDER__TABLE_COUNT
} larder__table;

/* The category that a table's rows are counted in. The order is that of the stored counters. */
typedef enum larder__category {
    LARDER__COUNT_DOCUMENTS,
    LARDER__COUNT_OVERLAYS,
    LARDER__COUNT_MUTATIONS,
    LARDER__COUNT_INDEXES,
    LARDER__COUNT_TARGETS,
    LARDER__COUNT_NODES,
    LARDER__COUNT_CATALOG,
    LARDER__CATEGORY_COUNT
} larder__category;

/* Whether rows of the table keep the documents that they name from eviction. */
static inline bool larder__table_holds_documents(larder__table table) {
    return table == LARDER__MUTATION_DOCUMENTS || table == LARDER__DOCUMENT_TARGETS;
}

/* Beside a store in which a process has met damage (quarantine.c). */
#define LARDER__DAMAGE_NOTE "damage.note"

extern const char *const larder__table_names[LARDER__TABLE_COUNT];
extern const larder__category larder__table_categories[LARDER__TABLE_COUNT];

/* Bytes a row occupies in its leaf page: header 8, slot 2, key and value rounded up to 2; a
 * value that LMDB moves out takes a page number instead and whole pages. */
int64_t larder__row_cost(size_t key_bytes, size_t value_bytes);
/* The largest value that LMDB keeps in a leaf page beside a key. */
size_t larder__row_room(size_t key_bytes);

/* Numbers kept in the catalog's counter row and changed with each commit. */
typedef struct larder__counters {
    larder_usage usage[LARDER__CATEGORY_COUNT];
    int64_t found_count;
    int64_t absent_count;
    int64_t raw_record_bytes;
    int64_t stored_record_bytes;
    int64_t pending_batch_count;
    int64_t collection_count;
    int64_t next_batch_id;
    int64_t highest_target_id;
    int64_t next_collection;
    int64_t next_group;
    int64_t next_user;
    int64_t next_index;
    int64_t next_shape;
    int64_t shape_bytes;
    int64_t epoch;           /* the current LRU epoch */
    int64_t epoch_bytes;     /* written or touched in it */
    int64_t lru_entry_count; /* entries in the LRU log, stale ones too */
    int64_t dictionary_id;   /* in use, 0 none */
    int64_t commit_number;
    int64_t catalog_version; /* rises when a name gets or loses its number */
    int64_t next_dictionary;
    int64_t next_location; /* the last number of a tree or a location of nodes */
    int64_t query_count;   /* tracked queries of trees, and sweeps (node_query.h) */
    int64_t next_sweep;
    int64_t rules_version; /* rises when the cache rules change; 0: there were none */
    int64_t reserved[1];
} larder__counters;

int64_t larder__counters_total(const larder__counters *counters);

/* ---- data models ----
 *
 * The folders above the store take part in its life by a table of functions: the store calls
 * them through it alone. What can be evicted joins likewise (lru.h). */

typedef struct larder__data_model {
    /* State in memory, when a store is opened; close also after an open that failed. */
    int32_t (*open)(larder_env *env, larder_error *error);
    void (*close)(larder_env *env);
    /* Of a write transaction that changed something: writes what waits. */
    int32_t (*commit)(larder_txn *txn, larder_error *error);
    /* After the commit or abort of any write transaction. */
    void (*ended)(larder_txn *txn, bool committed);
    /* A transaction with open scans ends: they release their cursors. */
    void (*end_scans)(larder_txn *txn);
    /* The walk that evicts is about to begin: frees what nothing refers to any more. OK: there is
     * nothing left of it; LARDER_MORE. */
    int32_t (*free_unused)(larder_txn *txn, larder_error *error);
} larder__data_model;
extern const larder__data_model larder__documents_model; /* documents/model.c */
extern const larder__data_model larder__nodes_model;     /* nodes/nodes_model.c */
#define LARDER__MODEL_COUNT 2
extern const larder__data_model *const larder__data_models[LARDER__MODEL_COUNT]; /* txn.c */

/* ---- setting a damaged store aside while it is opened (salvage/quarantine.c) ---- */

/* Each with the store's locks, in a process that is alone with it, and nothing of it open. */
typedef struct larder__quarantine_calls {
    /* Sets the files in env->path aside and puts a new store of what could be salvaged in their
     * place. Fills env->quarantine and env->salvaged. On failure the files are as they were, or
     * finish goes on. */
    int32_t (*make)(larder_env *env, larder_error *error);
    /* Goes on with what a process that ended had begun. */
    int32_t (*finish)(larder_env *env, larder_error *error);
    /* Whether a process has met damage in the store, and its pages are indeed damaged. */
    bool (*is_due)(const larder_env *env);
} larder__quarantine_calls;
extern const larder__quarantine_calls larder__quarantine;

/* ---- environment (env.c) ---- */

typedef struct larder__blob_state larder__blob_state;   /* blob.c: encoder, samples */
typedef struct larder__lru_state larder__lru_state;     /* lru.c: touches and pins */
typedef struct larder__index_cache larder__index_cache; /* index.c: definitions in memory */
typedef struct larder__shape_cache larder__shape_cache; /* shape.c */
typedef struct larder__wal larder__wal;                 /* wal.h */
typedef struct larder__node_state larder__node_state;   /* nodes: the writer's */
typedef struct larder__verified larder__verified;       /* verify.c: pages that were looked at */

/* The read transactions begun by the threads of one stripe: no two slots share a cache line. */
typedef struct larder__reader_slot {
    _Atomic int64_t open_reads;        /* begun less ended here */
    _Atomic(struct larder_txn *) idle; /* a reset read transaction kept for reuse */
    char apart[LARDER__STRIPE_BYTES - sizeof(int64_t) - sizeof(void *)];
} larder__reader_slot;

struct larder_env {
    larder_allocator allocator;
    uint64_t fork_generation;
    uint32_t flags;
    int32_t durability;
    uint32_t max_depth;
    uint32_t cold_field_bytes;
    int64_t max_document_bytes;
    int32_t compression_level;
    bool automatic_training;
    bool manual_reclaim;
    _Atomic int64_t budget_bytes;
    larder_log_function log;
    void *log_context;
    int32_t log_level;

    MDB_env *mdb;
    MDB_dbi dbis[LARDER__TABLE_COUNT];
    int lock_file;
    uint32_t page_bytes; /* of the data file */
    uint64_t map_bytes;
    uint64_t map_margin_bytes; /* kept free for the next transaction */
    char *path;
    uint64_t device, inode;    /* in the registry of open stores */
    uint64_t file_bytes;       /* of the data file when it was opened */
    uint64_t short_size_bytes; /* the data file's size when its end was missing, else 0 */
    uint64_t short_from_page;
    larder_opening opening; /* what larder_env_opening says */
    int32_t recovery;       /* LARDER_RECOVERY_... */
    char quarantine[4352];  /* where a damaged store's files were moved to; or empty */
    larder_salvage_report salvaged;
    uint64_t log_bytes;       /* the log's largest capacity */
    uint64_t allocated_bytes; /* blocks of the data file that are known to be allocated */
    bool lacks_reserve;       /* those behind its last page could not be; as the writer */
    uint32_t stored_format;   /* the number in the format row */
    bool lacks_tables;        /* those of a later version than the one that made the store */
    larder__wal *wal;         /* NULL: in memory, or only read */
    struct larder_env *next_open;

    pthread_mutex_t writer; /* held from begin_write to its end */
    larder__reader_slot reader_slots[LARDER__STRIPES];
    _Atomic int64_t open_writes;   /* begun, or waiting to begin, and not ended */
    _Atomic int64_t running_calls; /* those that use the environment without a transaction */
    _Atomic bool readers_blocked;  /* the map is being replaced; changed under state_lock */
    pthread_mutex_t state_lock;    /* guards the fields below */
    pthread_cond_t readers_changed;
    uint64_t writer_thread;        /* pthread_self of the writer, 0 none; under state_lock */
    struct larder_txn *idle_write; /* the writer's structure, kept with its buffers */
    struct larder_txn *idle_reads; /* those whose slot had one; under state_lock */
    int64_t idle_count;
    _Atomic bool writes_refused;
    _Atomic bool reads_refused; /* a commit is seen that may not be durable */
    bool grow_wanted;
    _Atomic bool is_damaged;     /* LMDB met a page that is (guard.c) */
    uintptr_t map_begin;         /* where the data file is mapped; 0: not known */
    _Atomic uint64_t map_filled; /* the file's size when it was last looked at */
    larder__verified *verified;  /* NULL: not needed yet; as the writer */

    _Atomic uint64_t catalog_commit; /* the last commit of this process that changed names */
    larder_vocabulary *vocabulary;
    larder__shape_cache *shapes;
    larder__blob_state *blobs;
    larder__lru_state *lru;
    larder__index_cache *indexes;
    larder__node_state *nodes;
    _Atomic bool released_rows; /* see larder__env_released_rows */

    _Atomic int64_t evicted_count, evicted_bytes, pinned_bytes;
    _Atomic uint64_t eviction_commit; /* the last one in which the LRU removed something */
};

static inline bool larder__env_is_forked(const larder_env *env) {
    return env->fork_generation !=
           atomic_load_explicit(&larder__fork_generation, memory_order_relaxed);
}
/* Around a call that uses the environment before, between or after its transactions: closing is refused
 * until it has left. */
static inline void larder__env_enter(larder_env *env) { atomic_fetch_add(&env->running_calls, 1); }
static inline void larder__env_leave(larder_env *env) { atomic_fetch_sub(&env->running_calls, 1); }
/* A row, target or pin that kept another row from eviction went: the next walk over the LRU log
 * begins at the oldest entry again. */
static inline void larder__env_released_rows(larder_env *env) {
    atomic_store(&env->released_rows, true);
}
/* Options and their limits (env_options.c). */
int32_t larder__options_check(const larder_env_options *options, larder_error *error);
int32_t larder__budget_check(int64_t budget_bytes, larder_error *error);
/* With LMDB open: finds the tables, or makes those of a new store (env_tables.c). */
int32_t larder__tables_prepare(larder_env *env, larder_error *error);
/* Gives a store of an earlier version, in one commit, the tables that it lacks and this version's format
 * number; its log is empty by then. E_LOCKED if another process has it open. */
int32_t larder__tables_migrate(larder_env *env, bool is_alone, larder_error *error);
/* Puts this version's format number into the format row. 0 or an error of LMDB. */
int larder__format_write(const larder_env *env, MDB_txn *txn);
/* The format of stores that have no log. */
#define LARDER__FORMAT_WITHOUT_LOG 1
/* Finds where the map is, while no transaction is open (env_tables.c). */
void larder__env_find_map(larder_env *env);
/* To the caller's log function (handle.c). */
void larder__log(const larder_env *env, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- transactions (txn.c, txn_read.c) ---- */

#define LARDER__COLLECTION_MEMO 4

typedef struct larder__collection_memo { /* one remembered path -> number */
    uint64_t number;
    uint64_t group;
    uint64_t commit; /* snapshot it was learned in */
    uint16_t path_bytes;
    char path[110];
} larder__collection_memo;

/* A write transaction's counters of a collection that it changed; written at commit. */
typedef struct larder__collection_delta {
    uint64_t number;
    int64_t found_delta;
    int64_t bytes_delta;
} larder__collection_delta;

/* A write transaction's record for the write-ahead log (wal_record.c). */
typedef struct larder__redo {
    larder__buffer rest; /* what is not in the log; at first with room for the head */
    bool is_given_up;
    uint64_t written_bytes;  /* in the log already, whole blocks */
    uint64_t at, room_bytes; /* the place in the log, and the free space there */
    uint32_t checksum;       /* of the payload that is written */
} larder__redo;

struct larder_txn {
    larder_env *env;
    MDB_txn *mdb;
    struct larder_txn *next_idle;
    larder__reader_slot *slot; /* of a read transaction: where it is counted */
    uint64_t commit;           /* the snapshot's commit number, or the one being made */
    uint64_t thread;           /* of a write transaction */
    bool is_write;
    int64_t begin_bytes; /* of rows, when a write transaction began */
    bool failed;         /* a storage failure: only abort */
    bool changed;        /* something was written */
    bool names_changed;
    bool reclaiming; /* this transaction belongs to the LRU walker */
    int32_t checks;  /* calls of larder_check that read it: until they end it is only read */
    int32_t open_scans;
    struct larder_scan *scans; /* the open ones */
    uint64_t write_count;      /* rows changed by this structure's transactions */
    larder__counters counters; /* write: current values; read: of the snapshot, when loaded */
    bool counters_loaded;
    larder__collection_memo memo[LARDER__COLLECTION_MEMO];
    uint32_t memo_next;
    uint64_t tree; /* a number known to be a tree's, 0 for none */

    /* write only */
    MDB_cursor *cursors[LARDER__TABLE_COUNT]; /* opened when first used */
    larder__key last[LARDER__TABLE_COUNT];    /* the last key, when known (table.c) */
    bool last_is_known[LARDER__TABLE_COUNT];
    larder__collection_delta *deltas;
    size_t delta_count, delta_capacity;
    larder__buffer sealed;  /* a sealed row being put (table.c) */
    larder__buffer old;     /* the row being replaced */
    larder__buffer row;     /* a row being built */
    larder__buffer hot;     /* its values */
    larder__buffer cold;    /* its cold container */
    larder__buffer scratch; /* scratch space within one call */
    larder__buffer lru_log; /* entries for the epoch, written at commit (lru.c) */
    larder__redo redo;      /* the record for the write-ahead log (wal_record.c) */
};

/* Read transactions that are open; exact while none begins or ends. */
int64_t larder__txn_open_reads(larder_env *env);
/* Frees the read transactions kept for reuse and the writer's buffers. */
void larder__txn_release_idle(larder_env *env);
/* LARDER_OK when the environment can be used, or the transaction for reading / writing from this
 * thread; else fills error. Every public call begins with one of them. */
int32_t larder__env_check(const larder_env *env, larder_error *error);
int32_t larder__txn_check_read(const larder_txn *txn, larder_error *error);
int32_t larder__txn_check_write(const larder_txn *txn, larder_error *error);
/* Marks a write transaction as failed when status is a storage failure; returns status. */
static inline int32_t larder__txn_note(larder_txn *txn, int32_t status) {
    if (status <= LARDER_E_IO && txn->is_write) {
        txn->failed = true;
        if (status == LARDER_E_MAP_FULL) txn->env->grow_wanted = true;
    }
    return status;
}
/* The same for a call that has begun to change rows: whatever failed, the transaction would keep
 * half of the call's rows, so it can only be aborted. */
static inline int32_t larder__txn_note_partial(larder_txn *txn, int32_t status) {
    if (status < 0) txn->failed = true;
    return status;
}
/* The snapshot's counters (loads them the first time). */
int32_t larder__txn_counters(const larder_txn *txn, const larder__counters **counters,
                             larder_error *error);

/* ---- tables (table.c). Values are borrowed until the next write or the transaction's end. */

int32_t larder__table_get(const larder_txn *txn, larder__table table, larder_bytes key,
                          larder_bytes *value, larder_error *error); /* OK, NOT_FOUND, < 0 */
/* Inserts or replaces. value must not lie in the environment. */
int32_t larder__table_put(larder_txn *txn, larder__table table, larder_bytes key,
                          larder_bytes value, larder_error *error);
/* Inserts an empty row: OK, LARDER_END when the key is there, < 0. */
int32_t larder__table_add(larder_txn *txn, larder__table table, larder_bytes key,
                          larder_error *error);
int32_t larder__table_remove(larder_txn *txn, larder__table table, larder_bytes key,
                             larder_error *error); /* OK, NOT_FOUND, < 0 */

/* Sealed values: crc32c over key and payload (4), then the payload. For every row that is not
 * empty, except document rows (which have their own) and LRU rows. A mismatch is E_CORRUPT and
 * is logged with table and key. */
int32_t larder__table_get_sealed(const larder_txn *txn, larder__table table, larder_bytes key,
                                 larder_bytes *payload, larder_error *error);
/* The payload is the parts one after the other. */
int32_t larder__table_put_sealed(larder_txn *txn, larder__table table, larder_bytes key,
                                 const larder_bytes *parts, size_t part_count, larder_error *error);
/* A catalog row that holds one count, sealed; a count of 0 has no row. */
int32_t larder__table_get_count(const larder_txn *txn, larder_bytes key, int64_t *count,
                                larder_error *error);
int32_t larder__table_put_count(larder_txn *txn, larder_bytes key, int64_t count,
                                larder_error *error);
/* Checks a sealed value met by a cursor. */
int32_t larder__unseal(const larder_txn *txn, larder__table table, larder_bytes key,
                       larder_bytes value, larder_bytes *payload, larder_error *error);
/* Logs the damage with table and key in hexadecimal and returns E_CORRUPT. */
int32_t larder__corrupt(const larder_txn *txn, larder__table table, larder_bytes key,
                        const char *what, larder_error *error);

typedef struct larder__cursor {
    const larder_txn *txn;
    MDB_cursor *mdb;
    larder__table table;
    larder_bytes key, value;
    uint64_t step_count, step_limit; /* since the last seek that was not a step itself */
    bool is_ended;                   /* damage: steps answer LARDER_END until the next such seek */
} larder__cursor;
int32_t larder__cursor_open(const larder_txn *txn, larder__table table, larder__cursor *cursor,
                            larder_error *error);
void larder__cursor_close(larder__cursor *cursor); /* a zeroed or closed one is fine */
/* Counts steps made with LMDB's cursor. E_CORRUPT when there have been more steps than the table can
 * have rows: damaged pages lead back to rows that were passed. From then on LARDER_END. */
int32_t larder__cursor_count_steps(larder__cursor *cursor, size_t count, larder_error *error);
/* Each sets key and value, or answers LARDER_END. Behind a row that cannot be read a step goes on;
 * where LMDB itself fails, every later step answers LARDER_END. */
int32_t larder__cursor_seek(larder__cursor *cursor, larder_bytes at_least, larder_error *error);
/* A seek that counts as a step: for walks that skip rows on their way through the table. */
int32_t larder__cursor_seek_on(larder__cursor *cursor, larder_bytes at_least, larder_error *error);
int32_t larder__cursor_seek_below(larder__cursor *cursor, larder_bytes below,
                                  larder_error *error); /* the last key < below */
int32_t larder__cursor_next(larder__cursor *cursor, larder_error *error);
int32_t larder__cursor_previous(larder__cursor *cursor, larder_error *error);
int32_t larder__cursor_last(larder__cursor *cursor, larder_error *error);
/* Removes the row it stands on; the cursor then stands before the following one, so that
 * larder__cursor_next gives that. */
int32_t larder__cursor_remove(larder_txn *txn, larder__cursor *cursor, larder_error *error);

/* ---- document rows (row.c) ---- */

/* Builds the stored row of a document in txn->row. For a found document plain is checked and
 * split, its shape obtained and its cold part compressed. *raw_bytes: the plain size. */
int32_t larder__row_build(larder_txn *txn, larder_bytes key, const larder_document_info *info,
                          larder_bytes plain, uint32_t epoch, larder_record *record,
                          int64_t *raw_bytes, larder_error *error);
/* Reads a row in place: checksum (bound to key), times, state, record view. collection and id
 * of *document are left to the caller. */
int32_t larder__row_read(const larder_txn *txn, larder__table table, larder_bytes key,
                         larder_bytes row, larder_document *document, larder_error *error);
/* Builds in txn->row the row again with another cold part; record is the view of the old one. */
int32_t larder__row_replace_cold(larder_txn *txn, larder_bytes key, larder_bytes row,
                                 const larder_record *record, uint32_t dictionary,
                                 larder_bytes frame, larder_error *error);
/* The raw size of a record: names, values, and the cold part before compression. */
int64_t larder__row_raw_bytes(const larder_record *record);
/* The head only, without checksum or record: state, epoch, read time. False when too short. */
bool larder__row_head(larder_bytes row, int32_t *state, uint32_t *epoch, larder_time *read_time);

/* ---- blobs (blob.c) ---- */

int32_t larder__blob_create(larder_env *env, larder_error *error);
void larder__blob_destroy(larder_env *env);
/* Compresses a cold container with the dictionary in use into out (appended, without the
 * frame's magic number). *dictionary is the id used, 0 none. LARDER_NOT_FOUND when compression
 * would not save enough: store it raw. */
int32_t larder__cold_compress(larder_txn *txn, larder_bytes raw, larder__buffer *out,
                              uint32_t *dictionary, larder_error *error);
/* Makes sure a dictionary that a row names is in memory, so that decompressing needs no
 * transaction. */
int32_t larder__dictionary_load(const larder_txn *txn, uint32_t dictionary, larder_error *error);
/* Counts a record that starts (+1) or stops (-1) using a dictionary. */
int32_t larder__dictionary_count(larder_txn *txn, uint32_t dictionary, int64_t delta,
                                 larder_error *error);
int32_t larder__blob_commit(larder_txn *txn, larder_error *error); /* before commit */
void larder__blob_ended(larder_txn *txn, bool committed);          /* after it or abort */

/* ---- LRU (lru.c) ---- */

int32_t larder__lru_create(larder_env *env, larder_error *error);
void larder__lru_destroy(larder_env *env);
/* The epoch that a row written now gets. */
uint32_t larder__lru_epoch(const larder_txn *txn);
/* Writes waiting touches into their rows. */
int32_t larder__lru_flush_touches(larder_txn *txn, larder_error *error);
int32_t larder__lru_commit(larder_txn *txn, larder_error *error); /* before commit */
/* Whether the store is over its budget, or a cache rule evicts. */
bool larder__lru_is_due(const larder_txn *txn);
/* Steps until below the budget and within the cache rules, or nothing can go; failures are logged. */
void larder__lru_reclaim(larder_env *env);
void larder__lru_ended(larder_txn *txn, bool committed);

#endif

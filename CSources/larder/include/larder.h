/*
 * larder.h - the storage core of Larder: documents, pending mutations, overlays, targets,
 * indexes, trees of nodes and compressed blobs in one LMDB environment, with exact byte
 * accounting and a byte-budget LRU. SPDX-License-Identifier: Apache-2.0
 *
 * THE CONTRACT
 *
 *  1. Names. Functions are larder_<noun>_<verb>, types larder_<noun>, constants
 *     LARDER_<NOUN>_<X>. Arguments: the subject, inputs, outputs, and last a nullable
 *     larder_error. Sizes end in _bytes, counts in _count, durations in _us (microseconds).
 *  2. Status. Every call that can fail returns int32_t: 0 (LARDER_OK) done, above 0 an expected
 *     outcome (LARDER_NOT_FOUND, LARDER_END, ...), below 0 a failure (LARDER_E_...). Values are
 *     pinned: they never change meaning. Details go into the caller's larder_error; nothing is
 *     kept in thread-local or global memory. A failed call leaves the store as it was; one that
 *     fails inside a write transaction leaves that transaction usable unless the status is
 *     LARDER_E_IO or below (storage failure, damaged data): then it can only be aborted.
 *  3. Ownership. Inputs are copied before a call returns. Memory that comes out is either
 *     borrowed (larder_bytes) or written into the caller's buffer; no function returns memory
 *     to free. Buffer calls take (buffer, capacity_bytes, &needed_bytes): when the capacity is
 *     too small they return LARDER_E_BUFFER_TOO_SMALL, set needed_bytes and write nothing, so a
 *     call with a NULL buffer and 0 asks for the size. needed_bytes is never NULL.
 *  4. Lifetimes. Borrowed bytes that come out of a transaction die at the next write through
 *     that transaction or at its end, whichever is first. Bytes borrowed from a scan's scratch
 *     (decoded ids) die at the next call on that scan. Bytes borrowed from a builder die at its
 *     next call.
 *  5. Threads. Each section says free (any threads at once), single (any thread, one at a
 *     time) or pinned (only the thread that began it).
 *  6. Handles are opaque. Closing functions accept NULL. Option structs begin with
 *     struct_bytes and have an initialiser; call it before setting fields, so that later
 *     versions can add fields.
 *  7. Units. Sizes are bytes; times are larder_time (seconds and nanoseconds since the Unix
 *     epoch, UTC) for stored instants and microseconds for durations.
 *  8. Text is UTF-8 and is checked where it enters. A document name is the path below the
 *     database's documents root, e.g. "cities/SF" or "cities/SF/landmarks/bridge".
 *  9. Processes. A store is opened by one process at a time unless LARDER_OPEN_SHARED is set by
 *     all of them, or LARDER_OPEN_READ_ONLY by the later ones. Handles do not survive fork().
 * 10. ABI. Within one major version functions and constants are only added.
 * 11. Refusals. NULL is accepted for errors, callbacks and their contexts, by closing functions, and
 *     where a comment says "nullable" or "NULL". Refused, before anything is read or changed, are any
 *     other NULL; bytes and arrays that are NULL but not empty, or larger than 1 GiB; a NULL buffer
 *     with a capacity; a struct_bytes that is not set; an allocator without one of its functions; and
 *     a handle of before a fork(). The status is LARDER_E_FORKED, LARDER_E_INVALID_ARGUMENT,
 *     LARDER_E_INVALID_NAME or LARDER_E_INVALID_RECORD, of a size also LARDER_E_TOO_LARGE, and
 *     functions that return a size answer with it, too; functions without a status do nothing, or
 *     answer 0, NULL or "". Every integer may have any value: one out of range is refused, or is the
 *     number of nothing that is there.
 * 12. At once. What a call answers while another one of the same environment runs, or a transaction
 *     is open; also from the callback of the other one. "waits": until that has ended.
 *
 *     while                   | begin_ | begin_ | env_ | env_    | check,   | lru_step, | env_
 *                             | read   | write  | copy | compact | env_sync | lru_sweep | close
 *     ------------------------+--------+--------+------+---------+----------+-----------+------
 *     a write transaction of  |        |        |      |         |          |           |
 *       the calling thread    | OK     | E_BUSY |E_BUSY| OK      | OK       | E_BUSY    |E_BUSY
 *       another thread (a)    | OK     | waits  | OK   | OK      | OK       | waits     |E_BUSY
 *     a read transaction (b)  | OK     | OK     | OK   | OK      | OK       | OK        |E_BUSY
 *     env_copy, env_compact,  |        |        |      |         |          |           |
 *       env_sync              | OK     | OK     | OK   | OK      | OK       | OK        |E_BUSY
 *
 *     (a) and any call in it; likewise larder_txn_commit, larder_lru_step and larder_lru_sweep, from
 *     beginning to end. (b) of any thread. While larder_check runs its transaction is only read: what
 *     writes and larder_txn_commit are E_BUSY, and it cannot be ended otherwise.
 *     larder_env_open and larder_salvage of a store that this process has open: E_ALREADY_OPEN. Calls
 *     that are not listed never wait for a transaction. No call may begin once larder_env_close has.
 */
#ifndef LARDER_H
#define LARDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LARDER_API __attribute__((visibility("default")))
#else
#define LARDER_API
#endif

/* ---------------------------------------------------------------- version (free) ---------- */

#define LARDER_VERSION_MAJOR 0
#define LARDER_VERSION_MINOR 2
#define LARDER_VERSION_PATCH 0
/* The newest on-disk format that this library reads and writes. */
#define LARDER_FORMAT_VERSION 3

/* The library's version, e.g. "0.2.0"; static text. */
LARDER_API const char *larder_version(void);
/* (major << 16) | (minor << 8) | patch of the library that is loaded. */
LARDER_API uint32_t larder_version_number(void);
/* The on-disk format this library writes. */
LARDER_API uint32_t larder_format_version(void);

/* ---------------------------------------------------------------- status (free) ----------- */

enum {
    LARDER_OK = 0,

    /* expected outcomes */
    LARDER_NOT_FOUND = 1, /* nothing is stored under that name or id */
    LARDER_END = 2,       /* a scan has no further entry */
    LARDER_COLD = 3,      /* the value lies in the compressed part: larder_record_load first */
    LARDER_MORE = 4,      /* a bounded step did its share; call again for the rest */
    LARDER_STOPPED = 5,   /* a progress callback asked to stop */

    /* the caller's data */
    LARDER_E_INVALID_ARGUMENT = -10,
    LARDER_E_INVALID_NAME = -11,   /* a path, id, field path or user that Firestore forbids */
    LARDER_E_INVALID_RECORD = -12, /* bytes that are not a record or value of this format */
    LARDER_E_TOO_DEEP = -13,       /* maps and arrays nested beyond max_depth */
    LARDER_E_TOO_LARGE = -14,      /* a document beyond max_document_bytes, or another limit */
    LARDER_E_BUFFER_TOO_SMALL = -15,
    LARDER_E_WRONG_TYPE = -16,
    LARDER_E_EXISTS = -17,

    /* the environment */
    LARDER_E_ALREADY_OPEN = -30, /* this process has the store open: use that handle */
    LARDER_E_LOCKED = -31,       /* another process has the store open exclusively */
    LARDER_E_FORKED = -32,       /* the handle was made before fork() */
    LARDER_E_NETWORK_FILE_SYSTEM = -33,
    LARDER_E_NEWER_FORMAT = -34,
    LARDER_E_FOREIGN_FILE = -35, /* a file is there that is not a Larder store */
    LARDER_E_NO_STORE = -36,     /* nothing is there and creating was not asked for */
    LARDER_E_READ_ONLY = -37,
    LARDER_E_PERMISSION = -38,
    LARDER_E_WRONG_THREAD = -39, /* a pinned handle used on another thread */
    LARDER_E_TXN_ENDED = -40,    /* the transaction has failed or its environment is closing */
    LARDER_E_BUSY = -41,         /* open handles or readers prevent the call */

    /* storage failures */
    LARDER_E_IO = -50,
    LARDER_E_NO_SPACE = -51,
    LARDER_E_NO_MEMORY = -52,
    LARDER_E_WRITES_REFUSED = -53, /* an earlier sync failed: reopen before writing */
    LARDER_E_READERS_FULL = -54,
    LARDER_E_MAP_FULL = -55, /* one transaction outgrew the map; the map grows at the next */

    /* stored data */
    LARDER_E_CORRUPT = -70,
    LARDER_E_NO_DICTIONARY = -71
};

/* A short sentence for a status; static text, also for values this version does not know. */
LARDER_API const char *larder_strerror(int32_t status);
/* The constant's name without prefix, e.g. "E_CORRUPT", or "unknown"; static text. */
LARDER_API const char *larder_status_name(int32_t status);

/* The error of a call, owned by the caller. Untouched by a call that succeeds. */
typedef struct larder_error {
    int32_t status;
    int32_t system_code; /* errno or LMDB's code, 0 where there is none */
    char message[248];   /* one line, NUL-terminated, UTF-8 */
} larder_error;

/* ---------------------------------------------------------------- basic types ------------- */

/* Borrowed bytes; data may be NULL when size_bytes is 0. */
typedef struct larder_bytes {
    const void *data;
    size_t size_bytes;
} larder_bytes;

/* An instant. nanoseconds is 0..999,999,999. {0, 0} means "none" where a version is meant.
 * Stored instants lie between years 0001 and 9999 (seconds -62,135,596,800 .. 253,402,300,799),
 * Firestore's range. */
typedef struct larder_time {
    int64_t seconds;
    int32_t nanoseconds;
    int32_t reserved; /* 0 */
} larder_time;

typedef struct larder_env larder_env;
typedef struct larder_txn larder_txn;
typedef struct larder_scan larder_scan;
typedef struct larder_builder larder_builder;
typedef struct larder_set larder_set;
typedef struct larder_detached larder_detached;
typedef struct larder_vocabulary larder_vocabulary; /* private */

/* ---------------------------------------------------------------- limits (free) ----------- */

/* Firestore's published limits; also functions, because bindings cannot read macros. */
#define LARDER_NAME_MAX_BYTES 6144       /* a document name */
#define LARDER_ID_MAX_BYTES 1500         /* a collection id or document id */
#define LARDER_PATH_MAX_SEGMENTS 200     /* 100 levels of collections */
#define LARDER_FIELD_NAME_MAX_BYTES 1500 /* a field name or a field path */
#define LARDER_DOCUMENT_MAX_BYTES 1048576
#define LARDER_DEPTH_MAX 20
#define LARDER_BUDGET_MIN_BYTES 1048576
#define LARDER_BUDGET_UNLIMITED (-1)
#define LARDER_USER_MAX_BYTES 256         /* a user id */
#define LARDER_PAYLOAD_MAX_BYTES 67108864 /* an opaque payload of a mutation batch or target */

LARDER_API int64_t larder_limit_name_bytes(void);
LARDER_API int64_t larder_limit_id_bytes(void);
LARDER_API int64_t larder_limit_document_bytes(void);
LARDER_API int64_t larder_limit_depth(void);
LARDER_API int64_t larder_limit_budget_bytes(void); /* the smallest budget */

/* ---------------------------------------------------------------- environment (free) ------ */

enum {
    LARDER_OPEN_CREATE = 1,          /* make the directory and the store where there is none */
    LARDER_OPEN_READ_ONLY = 2,       /* no write transactions; another process may be writing. See
                                        larder_env_open on snapshots */
    LARDER_OPEN_SHARED = 4,          /* other processes may open it with this flag, too */
    LARDER_OPEN_IN_MEMORY = 8,       /* path is ignored; nothing is left on disk after close */
    LARDER_OPEN_ANY_FILE_SYSTEM = 16 /* do not refuse a network file system (memory maps and
                                        locks are not reliable there) */
};

enum {
    /* Each commit is on disk when it returns. */
    LARDER_DURABILITY_EVERY_COMMIT = 0,
    /* The store stays intact after a power cut, but the last commit may be missing. With the
     * write-ahead log it costs what EVERY_COMMIT does: one flush. There is no mode that risks
     * the store itself. */
    LARDER_DURABILITY_LAST_COMMIT_AT_RISK = 1
};

enum { LARDER_LOG_ERROR = 0, LARDER_LOG_WARNING = 1, LARDER_LOG_INFO = 2, LARDER_LOG_DEBUG = 3 };

/* The automatic repair of a store that is damaged or cannot be written when it is opened. */
enum {
    /* None but recovery by the log; otherwise opening fails with a status. */
    LARDER_RECOVERY_FAIL = 0,
    /* Without room or the right to write it opens the store for reading only. */
    LARDER_RECOVERY_READ_ONLY = 1,
    /* The same; and of a damaged store it salvages a new one (larder_salvage), which takes its place.
     * The damaged files are moved to DIR/damaged-TIME as they are. Only a process that is alone with
     * the store does that; it takes the time of reading all of the data file, and room for its size
     * twice. */
    LARDER_RECOVERY_QUARANTINE = 2
};

/* Called on whichever thread meets the event, never with a lock held that a larder call needs;
 * message is one line and valid during the call. It must not call into larder. */
typedef void (*larder_log_function)(void *context, int32_t level, const char *message);

/* Memory for the library's own structures and for prepared dictionaries (LMDB's and the rest of
 * zstd's come from malloc). allocate returns NULL when there is none, else memory that is aligned as
 * malloc's; every size is above 0; release gets what allocate gave. Neither function may be NULL. */
typedef struct larder_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_bytes);
    void (*release)(void *context, void *memory);
} larder_allocator;

typedef struct larder_env_options {
    size_t struct_bytes;
    uint32_t flags;              /* LARDER_OPEN_...; default LARDER_OPEN_CREATE */
    int32_t durability;          /* LARDER_DURABILITY_...; default EVERY_COMMIT */
    int64_t budget_bytes;        /* default LARDER_BUDGET_UNLIMITED; else at least 1 MiB */
    uint64_t map_bytes;          /* address space to reserve; 0: 1 TiB, or what the system
                                     gives; the map grows beyond it by itself */
    uint32_t max_readers;        /* read transactions at once over all processes; default 510 */
    uint32_t max_depth;          /* default LARDER_DEPTH_MAX */
    int64_t max_document_bytes;  /* default LARDER_DOCUMENT_MAX_BYTES */
    int32_t compression_level;   /* zstd level of the cold part; default 1 */
    uint32_t automatic_training; /* 1: train a first dictionary by itself; default 1 */
    uint32_t cold_field_bytes;   /* a value at least this large may go cold; 0: the default */
    uint32_t manual_reclaim;     /* 1: a commit over budget does not evict; larder_lru_step
                                     does; default 0 */
    larder_log_function log;     /* default NULL */
    void *log_context;
    int32_t log_level; /* the most detailed level wanted; default LARDER_LOG_WARNING */
    int32_t recovery;  /* LARDER_RECOVERY_...; default LARDER_RECOVERY_FAIL */
    const larder_allocator *allocator; /* copied at open; NULL: malloc and free */
    uint64_t log_bytes; /* the write-ahead log grows to this; 0: the default, which is
                           budget_bytes, but from 2 MiB to 16 MiB */
} larder_env_options;

/* An init function sets struct_bytes and defaults, and the rest to 0. */
LARDER_API void larder_env_options_init(larder_env_options *options, size_t struct_bytes);

/* Opens the store in the directory path. options may be NULL for the defaults. Cleans stale
 * readers. *env is set only on success. E_ALREADY_OPEN, E_LOCKED, E_NETWORK_FILE_SYSTEM,
 * E_NEWER_FORMAT, E_FOREIGN_FILE, E_NO_STORE, E_PERMISSION, E_CORRUPT, E_IO, E_NO_MEMORY.
 *
 * E_CORRUPT: files that do not belong together, such as a data file that was restored without its log,
 * and files that lack an acknowledged commit are refused before anything is written to them; one that is
 * refused later gets back what recovery had replaced. A commit that a power cut has interrupted was not
 * acknowledged, and is no damage.
 *
 * LARDER_OPEN_READ_ONLY reads the files themselves, and each read transaction sees the last commit of
 * the process that writes, where lock.mdb can be written, or the file system is read-only and no
 * process has the store open, and where the store was closed or another process has it open. Otherwise
 * it reads a snapshot: a copy of both files in the directory for temporary files ($TMPDIR or /tmp, else
 * /dev/shm), which is recovered there and takes their room until close. larder_opening.is_snapshot
 * says so. A snapshot never changes: commits that other processes make later are seen after closing
 * and opening again. A snapshot is also made while another process writes; E_BUSY: that one wrote
 * checkpoints faster than the files could be copied. Reading needs the right to read data.mdb and
 * data.wal, and no right to write. */
LARDER_API int32_t larder_env_open(const char *path, const larder_env_options *options,
                                   larder_env **env, larder_error *error);

/* Closes. LARDER_E_BUSY, and nothing done, while transactions of it are open or calls of it that
 * the contract lists (11) are running; after fork() the child's close releases memory only. NULL is
 * accepted. */
LARDER_API int32_t larder_env_close(larder_env *env, larder_error *error);

/* What opening found, and what it did about that. */
enum {
    LARDER_OPENING_CREATED = 0,    /* there was no store */
    LARDER_OPENING_CLEAN = 1,      /* it had been closed, or other processes have it open */
    LARDER_OPENING_RECOVERED = 2,  /* it had not been closed: commits came from the log */
    LARDER_OPENING_REPAIRED = 3,   /* a damaged meta page was replaced by the log's copy */
    LARDER_OPENING_LOST = 4,       /* files of a store were there without its data: a store was
                                     created */
    LARDER_OPENING_READ_ONLY = 5,  /* it is open for reading only: there was no room, or no right,
                                     to write */
    LARDER_OPENING_QUARANTINED = 6 /* it was damaged, and is a new one of what was salvaged */
};
typedef struct larder_opening {
    size_t struct_bytes;
    int32_t state;            /* LARDER_OPENING_... */
    int32_t is_snapshot;      /* 1: reads a copy, which later commits do not change */
    uint64_t commit_number;   /* the last commit then */
    uint64_t recovered_count; /* commits that came from the log */
    uint64_t lost_count;      /* acknowledged commits of a QUARANTINED store that cannot be read */
} larder_opening;
/* Fills opening, whose struct_bytes the caller has set. */
LARDER_API int32_t larder_env_opening(const larder_env *env, larder_opening *opening,
                                      larder_error *error);

/* The directory that a damaged store's files were moved to by this opening; "" when none were.
 * Borrowed until close. */
LARDER_API const char *larder_env_quarantine(const larder_env *env);

/* The directory it was opened in; "" for an in-memory store. Borrowed until close. */
LARDER_API const char *larder_env_path(const larder_env *env);

/* Makes every commit so far durable, whatever the durability mode. */
LARDER_API int32_t larder_env_sync(larder_env *env, larder_error *error);

/* Changes the budget (at least 1 MiB, or LARDER_BUDGET_UNLIMITED); takes effect at the next
 * commit or larder_lru_step. The budget is not stored: it is an option of each open. */
LARDER_API int32_t larder_env_set_budget(larder_env *env, int64_t budget_bytes,
                                         larder_error *error);

/* Rows and bytes of one category, as the accounting counts them: what its rows occupy in leaf
 * pages (node header, key, value, slot), whole pages for values that overflow. */
typedef struct larder_usage {
    int64_t row_count;
    int64_t size_bytes;
} larder_usage;

typedef struct larder_stat {
    size_t struct_bytes;
    larder_usage documents; /* records, the read-time index, the LRU log */
    larder_usage overlays;
    larder_usage mutations; /* also the pending and refused writes of trees */
    larder_usage indexes;
    larder_usage targets;
    larder_usage nodes;   /* of the Realtime Database's trees, with their tracked queries */
    larder_usage catalog; /* collections, shapes, dictionaries, named queries, globals */
    int64_t total_bytes;  /* the sum of the above: what the budget is compared with */
    int64_t budget_bytes;
    int64_t document_count; /* found documents */
    int64_t absent_count;   /* known-absent and unknown documents */
    int64_t collection_count;
    int64_t pending_batch_count; /* of all users */
    int64_t raw_record_bytes;    /* of found documents, before cold parts were compressed */
    int64_t stored_record_bytes; /* of the same, as stored */
    int64_t file_bytes;          /* the data file's size */
    int64_t free_bytes;          /* in pages of the data file that hold nothing */
    uint64_t map_bytes;
    uint64_t commit_number;         /* rises by one with each commit that changed something */
    int64_t evicted_document_count; /* since open */
    int64_t evicted_bytes;          /* since open */
    int64_t pinned_bytes;           /* found pinned while over budget at the last reclaim */
    uint32_t reader_count;          /* read transactions open now, over all processes */
    uint32_t format_version;
    uint32_t dictionary_id; /* the one in use for new records, 0 for none */
    uint32_t shape_count;
} larder_stat;

/* Fills stat, whose struct_bytes the caller has set, from the transaction's snapshot. */
LARDER_API int32_t larder_env_stat(const larder_txn *txn, larder_stat *stat, larder_error *error);

/* done and total are in units of the call (pages, documents, ...); total is 0 where it is not
 * known. A return other than 0 stops the call with LARDER_STOPPED. */
typedef int32_t (*larder_progress_function)(void *context, int64_t done, int64_t total);

/* Copies the store to the directory target, which must be missing or empty, while others read
 * and write: the copy is one snapshot, synced before the call returns. Progress in bytes. Before it
 * has its name its pages and the checksums of its rows are verified, as by larder_check_pages, and
 * it is opened. LARDER_E_CORRUPT, and nothing is left, where that finds damage, or the handle has
 * met some; damaged pages of the store's end its writes as well. LARDER_E_BUSY on a thread that has
 * a write transaction open. */
LARDER_API int32_t larder_env_copy(larder_env *env, const char *target,
                                   larder_progress_function progress, void *context,
                                   larder_error *error);

/* As larder_env_copy, but row by row in key order, so that pages are full and free pages are
 * gone. To shrink a store: compact, close, and put the copy in its place. On a thread that has a
 * write transaction open the copy is without its changes. */
LARDER_API int32_t larder_env_compact(larder_env *env, const char *target,
                                      larder_progress_function progress, void *context,
                                      larder_error *error);

/* Handles of this library that are open in the process (environments, transactions, scans,
 * builders, sets, detached records): 0 at the end of a clean test. */
LARDER_API int64_t larder_live_handle_count(void);

/* ---------------------------------------------------------------- transactions ------------ */

/* Read (single): a snapshot as of one commit; never waits for a writer. Close it soon: pages
 * freed after its commit cannot be used again while it is open. */
LARDER_API int32_t larder_txn_begin_read(larder_env *env, const larder_txn **txn,
                                         larder_error *error);
/* Write (pinned): waits until no other write transaction is open, in this or another process.
 * It may also be given to every call that reads, and sees its own writes. A thread that holds
 * one must not begin another: LARDER_E_BUSY. */
LARDER_API int32_t larder_txn_begin_write(larder_env *env, larder_txn **txn, larder_error *error);
/* Commits and frees the handle, whatever the outcome; on failure nothing was changed. Over
 * budget, it then reclaims space as larder_lru_step does. All scans must be closed. */
LARDER_API int32_t larder_txn_commit(larder_txn *txn, larder_error *error);
/* Drops the changes and frees the handle. */
LARDER_API void larder_txn_abort(larder_txn *txn);
/* Ends a read transaction and frees the handle. */
LARDER_API void larder_txn_end_read(const larder_txn *txn);
/* The number of the commit that a read transaction sees, or that a write transaction makes. */
LARDER_API uint64_t larder_txn_commit_number(const larder_txn *txn);
LARDER_API larder_env *larder_txn_env(const larder_txn *txn);

/* ---------------------------------------------------------------- values (free) ----------- */

/*
 * A value is its encoded bytes (storage-format page). Bytes from a builder or a record that
 * passed larder_record_open are well formed; other bytes go through larder_value_validate
 * first. Accessors check bounds in any case and answer LARDER_E_INVALID_RECORD.
 */

/* In Firestore's type order: smaller sorts first. */
enum {
    LARDER_TYPE_NULL = 0,
    LARDER_TYPE_BOOLEAN = 1,
    LARDER_TYPE_INTEGER = 2,
    LARDER_TYPE_DOUBLE = 3, /* sorts with INTEGER, by number */
    LARDER_TYPE_TIMESTAMP = 4,
    LARDER_TYPE_SERVER_TIMESTAMP = 5, /* pending: local write time and a previous value */
    LARDER_TYPE_STRING = 6,
    LARDER_TYPE_BYTES = 7,
    LARDER_TYPE_REFERENCE = 8,
    LARDER_TYPE_GEO_POINT = 9,
    LARDER_TYPE_ARRAY = 10,
    LARDER_TYPE_VECTOR = 11,
    LARDER_TYPE_MAP = 12,
    LARDER_TYPE_MAX = 13 /* sorts after everything; in bounds only, never in a record */
};

/* The type, or LARDER_E_INVALID_RECORD (below 0). */
LARDER_API int32_t larder_value_type(larder_bytes value);
/* Checks everything: tags, bounds, UTF-8, order of names, depth. */
LARDER_API int32_t larder_value_validate(larder_bytes value, uint32_t max_depth,
                                         larder_error *error);

/* Each: LARDER_E_WRONG_TYPE when it is another type. */
LARDER_API int32_t larder_value_get_boolean(larder_bytes value, int32_t *boolean);
LARDER_API int32_t larder_value_get_integer(larder_bytes value, int64_t *integer);
LARDER_API int32_t larder_value_get_double(larder_bytes value, double *number);
LARDER_API int32_t larder_value_get_timestamp(larder_bytes value, larder_time *time);
/* Text of a string, content of bytes, resource name of a reference. */
LARDER_API int32_t larder_value_get_bytes(larder_bytes value, larder_bytes *content);
LARDER_API int32_t larder_value_get_geo_point(larder_bytes value, double *latitude,
                                              double *longitude);
/* previous is empty (data NULL) when there is none. */
LARDER_API int32_t larder_value_get_server_timestamp(larder_bytes value, larder_time *write_time,
                                                     larder_bytes *previous);
/* Elements of an array or vector, entries of a map. */
LARDER_API int32_t larder_value_count(larder_bytes value, size_t *count);
/* LARDER_NOT_FOUND beyond the end. Constant time. */
LARDER_API int32_t larder_value_get_element(larder_bytes array, size_t position,
                                            larder_bytes *element);
LARDER_API int32_t larder_value_get_component(larder_bytes vector, size_t position,
                                              double *component);
/* Entries are in UTF-8 order of their names. Constant time. */
LARDER_API int32_t larder_value_get_entry(larder_bytes map, size_t position, larder_bytes *name,
                                          larder_bytes *value);
/* LARDER_NOT_FOUND when there is no such name. Logarithmic time. */
LARDER_API int32_t larder_value_find(larder_bytes map, larder_bytes name, larder_bytes *value);

/* Firestore's total order (integers and doubles by exact number): below, equal to or above 0.
 * Values that are not well formed sort before all others and equal to each other. */
LARDER_API int32_t larder_value_compare(larder_bytes left, larder_bytes right);
/* Firestore's equality, which is not "compares the same": 1 and 1.0 differ, 0.0 and -0.0
 * differ, NaN equals NaN. 1 or 0. */
LARDER_API int32_t larder_value_equal(larder_bytes left, larder_bytes right);
/* The value's size towards the document size limit, by Firestore's published rules. */
LARDER_API int64_t larder_value_size(larder_bytes value);

/*
 * Order bytes: an encoding whose memcmp order is Firestore's order of values (numbers exactly,
 * strings and bytes in full, no truncation). Index keys are made of them.
 */
enum { LARDER_ORDER_ASCENDING = 0, LARDER_ORDER_DESCENDING = 1 };
LARDER_API int32_t larder_order_encode(larder_bytes value, int32_t direction, void *buffer,
                                       size_t capacity_bytes, size_t *needed_bytes,
                                       larder_error *error);
/* The bytes before (end 0) or after (end 1) every value of the type's rank, for ranges such as
 * "all strings". INTEGER and DOUBLE share a rank. */
LARDER_API int32_t larder_order_encode_type(int32_t type, int32_t end, int32_t direction,
                                            void *buffer, size_t capacity_bytes,
                                            size_t *needed_bytes, larder_error *error);

/* ---------------------------------------------------------------- field paths (free) ------ */

/* A field path is encoded as its segments one after the other, each as a varint length and the
 * UTF-8 name: segments may hold dots and quotes. A path has one encoding: varints longer than they
 * need be are refused. */
LARDER_API int32_t larder_path_encode(const larder_bytes *segments, size_t segment_count,
                                      void *buffer, size_t capacity_bytes, size_t *needed_bytes,
                                      larder_error *error);
/* From Firestore's canonical text: a.b.`odd.name`, with \ as the escape inside backticks. */
LARDER_API int32_t larder_path_parse(larder_bytes text, void *buffer, size_t capacity_bytes,
                                     size_t *needed_bytes, larder_error *error);
/* To that text. */
LARDER_API int32_t larder_path_format(larder_bytes path, void *buffer, size_t capacity_bytes,
                                      size_t *needed_bytes, larder_error *error);

/* A path prepared for repeated look-up (single). It borrows path and remembers where the field
 * lay in the last record shape, so a scan finds it without comparing names. */
typedef struct larder_field {
    larder_bytes path;
    uint32_t shape;
    int32_t position;
} larder_field;
LARDER_API void larder_field_init(larder_field *field, larder_bytes path);

/* ---------------------------------------------------------------- records ----------------- */

/*
 * A record is a document's fields. The plain form is self-contained bytes, made by a builder
 * and given to and copied out of the store. In the store the field names are shared between
 * records of one shape and large values lie in a compressed part; a larder_record looks at
 * either form in place.
 */
typedef struct larder_record {
    larder_bytes names;                  /* private */
    larder_bytes values;                 /* private */
    larder_bytes cold;                   /* private */
    uint32_t cold_raw_bytes;             /* private */
    uint32_t dictionary;                 /* private */
    uint32_t shape;                      /* private */
    uint32_t flags;                      /* private */
    const larder_vocabulary *vocabulary; /* private */
} larder_record;

/* Checks untrusted plain bytes (free) in full and looks at them: E_INVALID_RECORD, E_TOO_DEEP,
 * E_TOO_LARGE. 0 for a limit means the default (20, 1 MiB). The record borrows bytes. */
LARDER_API int32_t larder_record_open(larder_bytes plain, uint32_t max_depth,
                                      int64_t max_document_bytes, larder_record *record,
                                      larder_error *error);
/* Looks at plain bytes that a builder, larder_record_copy or larder_detached_plain gave, or that
 * larder_record_open accepted before, without checking them again. Constant time. Other bytes do
 * no harm, but what is read of them means nothing. E_INVALID_RECORD where they do not even begin
 * as a record. The record borrows bytes. */
LARDER_API int32_t larder_record_open_trusted(larder_bytes plain, larder_record *record,
                                              larder_error *error);
/* Fields at the top level. */
LARDER_API size_t larder_record_count(const larder_record *record);
/* Field by position in UTF-8 order of names. LARDER_COLD when the value is in the cold part:
 * value is then empty and *type (nullable) its type. */
LARDER_API int32_t larder_record_get_entry(const larder_record *record, size_t position,
                                           larder_bytes *name, larder_bytes *value, int32_t *type);
/* The value at a field path. LARDER_NOT_FOUND; LARDER_COLD as above (for a path that leads
 * into a cold map, *type is that of the cold field). */
LARDER_API int32_t larder_record_find(const larder_record *record, larder_field *field,
                                      larder_bytes *value, int32_t *type);
/* Bytes of the cold part when decompressed, 0 when everything is at hand. */
LARDER_API size_t larder_record_cold_bytes(const larder_record *record);
/* Decompresses the cold part into the caller's buffer of at least larder_record_cold_bytes;
 * *loaded then never answers LARDER_COLD and borrows both. */
LARDER_API int32_t larder_record_load(const larder_record *record, void *buffer,
                                      size_t capacity_bytes, larder_record *loaded,
                                      larder_error *error);
/* Writes the plain form, decompressing as needed. */
LARDER_API int32_t larder_record_copy(const larder_record *record, void *buffer,
                                      size_t capacity_bytes, size_t *needed_bytes,
                                      larder_error *error);
/* The fields' size towards the document size limit, by Firestore's published rules (the
 * name's share apart). E_CORRUPT below 0 for a cold part that does not decompress. */
LARDER_API int64_t larder_record_size(const larder_record *record);

/* ---- detached records (free) ----
 * A copy of a record that outlives its transaction and its environment, in memory of the
 * caller's. It is copied as it is stored, compressed part and all, and shares the field names
 * and dictionaries of its store with it, which stay in memory as long as one of them needs them
 * (with the allocator of the environment). Environments close while there are some. */

/* Copies a record into a buffer aligned for a pointer, which is to stay where it is until
 * larder_detached_end. Linear in the stored bytes; nothing is decompressed, but the compressed
 * part's checksum is tested: E_CORRUPT. */
LARDER_API int32_t larder_record_detach(const larder_record *record, void *buffer,
                                        size_t capacity_bytes, size_t *needed_bytes,
                                        larder_detached **detached, larder_error *error);
/* The record as it is stored, which may answer LARDER_COLD. Borrowed until the end. */
LARDER_API const larder_record *larder_detached_record(const larder_detached *detached);
/* The record with everything at hand, decompressed by the first call and kept. Borrowed until
 * the end. E_NO_MEMORY; E_CORRUPT for a compressed part that was damaged before its checksum was
 * made. A call that failed can be made again. */
LARDER_API int32_t larder_detached_load(larder_detached *detached, const larder_record **loaded,
                                        larder_error *error);
/* The plain form, made by the first call and kept; otherwise as larder_detached_load. */
LARDER_API int32_t larder_detached_plain(larder_detached *detached, larder_bytes *plain,
                                         larder_error *error);
/* Releases what it shares and has made; the buffer is the caller's again. No other thread may
 * be using it. NULL is accepted. */
LARDER_API void larder_detached_end(larder_detached *detached);

/* ---- builder (single) ---- */

/* allocator may be NULL for malloc. A builder is reused: finish, then reset or begin again. */
LARDER_API int32_t larder_builder_create(const larder_allocator *allocator,
                                         larder_builder **builder, larder_error *error);
LARDER_API void larder_builder_close(larder_builder *builder);
LARDER_API void larder_builder_reset(larder_builder *builder);
/* Inside a map: names the next value. Any order; a name twice in one map fails at end_map. */
LARDER_API int32_t larder_builder_name(larder_builder *builder, larder_bytes name,
                                       larder_error *error);
LARDER_API int32_t larder_builder_null(larder_builder *builder, larder_error *error);
LARDER_API int32_t larder_builder_boolean(larder_builder *builder, int32_t boolean,
                                          larder_error *error);
LARDER_API int32_t larder_builder_integer(larder_builder *builder, int64_t integer,
                                          larder_error *error);
LARDER_API int32_t larder_builder_double(larder_builder *builder, double number,
                                         larder_error *error);
LARDER_API int32_t larder_builder_timestamp(larder_builder *builder, larder_time time,
                                            larder_error *error);
LARDER_API int32_t larder_builder_string(larder_builder *builder, larder_bytes text,
                                         larder_error *error);
LARDER_API int32_t larder_builder_bytes(larder_builder *builder, larder_bytes content,
                                        larder_error *error);
/* A full resource name, projects/P/databases/D/documents/... */
LARDER_API int32_t larder_builder_reference(larder_builder *builder, larder_bytes name,
                                            larder_error *error);
LARDER_API int32_t larder_builder_geo_point(larder_builder *builder, double latitude,
                                            double longitude, larder_error *error);
LARDER_API int32_t larder_builder_vector(larder_builder *builder, const double *components,
                                         size_t component_count, larder_error *error);
/* previous: the value before, or empty bytes for none; a pending previous is replaced by its
 * own previous, so nesting never grows. */
LARDER_API int32_t larder_builder_server_timestamp(larder_builder *builder, larder_time write_time,
                                                   larder_bytes previous, larder_error *error);
/* The value that sorts after all others, for bounds. */
LARDER_API int32_t larder_builder_max(larder_builder *builder, larder_error *error);
LARDER_API int32_t larder_builder_begin_array(larder_builder *builder, larder_error *error);
LARDER_API int32_t larder_builder_end_array(larder_builder *builder, larder_error *error);
LARDER_API int32_t larder_builder_begin_map(larder_builder *builder, larder_error *error);
LARDER_API int32_t larder_builder_end_map(larder_builder *builder, larder_error *error);
/* Copies a well-formed encoded value. */
LARDER_API int32_t larder_builder_value(larder_builder *builder, larder_bytes value,
                                        larder_error *error);
/* The finished root, which must be a map, as a plain record; borrowed until the next call. */
LARDER_API int32_t larder_builder_finish_record(larder_builder *builder, larder_bytes *plain,
                                                larder_error *error);
/* The finished root as an encoded value; borrowed until the next call. */
LARDER_API int32_t larder_builder_finish_value(larder_builder *builder, larder_bytes *value,
                                               larder_error *error);

/* A new plain record: base (NULL for no fields) with each path of mask set to its value in
 * source, or deleted where source has none. To set, maps on the way are made, and other values
 * on the way are replaced by maps; a delete below what is no map changes nothing. A path above
 * another one decides for both. Neither record may have a cold part (LARDER_COLD: load first).
 * Resets builder. */
LARDER_API int32_t larder_record_patch(const larder_record *base, const larder_record *source,
                                       const larder_bytes *mask, size_t mask_count,
                                       larder_builder *builder, larder_bytes *plain,
                                       larder_error *error);

/* ---------------------------------------------------------------- documents --------------- */

enum {
    LARDER_DOCUMENT_NOT_READ = 0, /* from a scan with LARDER_SCAN_KEYS_ONLY */
    LARDER_DOCUMENT_FOUND = 1,
    LARDER_DOCUMENT_ABSENT = 2, /* known not to exist */
    LARDER_DOCUMENT_UNKNOWN = 3 /* exists at a version, contents unknown */
};
enum {
    LARDER_DOCUMENT_COMMITTED_MUTATIONS = 1, /* acknowledged, not yet seen on the watch stream */
    LARDER_DOCUMENT_LOCAL_MUTATIONS = 2      /* from an overlay; version is {0,0} */
};

/* Borrowed from its transaction (or scan). */
typedef struct larder_document {
    larder_bytes collection; /* path, e.g. "cities" */
    larder_bytes id;
    int32_t state;
    uint32_t flags;
    larder_time version;     /* of the contents, or of the knowledge of absence */
    larder_time create_time; /* {0,0} when not known */
    larder_time read_time;   /* when the cache learned it */
    larder_record record;    /* of a found document */
    int64_t batch_id;        /* with LOCAL_MUTATIONS: the largest pending batch that touches it */
    int64_t stored_bytes;    /* of its row */
} larder_document;

/* Metadata of a written document; struct_bytes set by the caller (or larder_document_info_init). */
typedef struct larder_document_info {
    size_t struct_bytes;
    int32_t state;  /* FOUND, ABSENT or UNKNOWN */
    uint32_t flags; /* COMMITTED_MUTATIONS or 0 */
    larder_time version;
    larder_time create_time;
    larder_time read_time;
} larder_document_info;
LARDER_API void larder_document_info_init(larder_document_info *info, size_t struct_bytes);

/* Writes a document; plain is a plain record for a found one and empty otherwise. Checks name,
 * record and size; maintains indexes, the read-time index and accounting. A damaged row is
 * replaced, which requires recounting all documents. The name of a found one has no reserved id:
 * those are __.+__, but for document ids that spell a number other than 0 as __id42__ does. Of
 * earlier versions a store may hold others, which can be read and removed. */
LARDER_API int32_t larder_document_put(larder_txn *txn, larder_bytes name,
                                       const larder_document_info *info, larder_bytes plain,
                                       larder_error *error);
/* LARDER_NOT_FOUND when nothing is known of it. Ignores overlays. collection and id of
 * *document are parts of the caller's name. */
LARDER_API int32_t larder_document_get(const larder_txn *txn, larder_bytes name,
                                       larder_document *document, larder_error *error);
/* Forgets what is known of it, with its index entries; targets and mutations keep their
 * mention of it. LARDER_NOT_FOUND. A damaged row goes, too, as with larder_document_put. */
LARDER_API int32_t larder_document_remove(larder_txn *txn, larder_bytes name, larder_error *error);
/* The user's view: its overlay where there is one, else the document. */
LARDER_API int32_t larder_document_get_local(const larder_txn *txn, larder_bytes user,
                                             larder_bytes name, larder_document *document,
                                             larder_error *error);

/* ---- collections ---- */

typedef struct larder_collection {
    larder_bytes path;      /* borrowed until the scan's next call */
    int64_t document_count; /* found documents */
    int64_t size_bytes;     /* of its document rows */
} larder_collection;
/* LARDER_NOT_FOUND when the store holds nothing in it. */
LARDER_API int32_t larder_collection_get(const larder_txn *txn, larder_bytes path,
                                         larder_collection *collection, larder_error *error);
/* Collections in path order; below a document (its direct sub-collections), or all of them
 * when parent is empty. Ended with larder_scan_close. */
LARDER_API int32_t larder_collection_scan(const larder_txn *txn, larder_bytes parent,
                                          larder_scan **scan, larder_error *error);
LARDER_API int32_t larder_collection_next(larder_scan *scan, larder_collection *collection,
                                          larder_error *error);

/* ---- scans (single; belong to their transaction; closed before it ends) ----
 * A write through a write transaction ends the use of scans opened before it: they answer
 * LARDER_E_INVALID_ARGUMENT and are to be closed. */

enum {
    LARDER_SCAN_REVERSE = 1,
    LARDER_SCAN_KEYS_ONLY = 2,    /* collection and id only; the record is not read */
    LARDER_SCAN_ALL_STATES = 4,   /* also absent and unknown documents */
    LARDER_SCAN_LOCAL_VIEW = 8,   /* documents as options.user sees them, overlays merged in */
    LARDER_SCAN_START_AFTER = 16, /* start is exclusive */
    LARDER_SCAN_END_AT = 32       /* end is inclusive */
};
typedef struct larder_scan_options {
    size_t struct_bytes;
    uint32_t flags;
    uint32_t reserved;
    larder_bytes user;
    /* Bounds in scan-independent (ascending) sense; empty for none. By name: document ids of
     * the collection, or full names for a group. By index: order bytes. */
    larder_bytes start;
    larder_bytes end;
} larder_scan_options;
/* In place of options NULL means these. */
LARDER_API void larder_scan_options_init(larder_scan_options *options, size_t struct_bytes);

/* Documents of one collection in name order (numeric ids first). */
LARDER_API int32_t larder_scan_collection(const larder_txn *txn, larder_bytes path,
                                          const larder_scan_options *options, larder_scan **scan,
                                          larder_error *error);
/* Documents of every collection with that last segment, in name order. */
LARDER_API int32_t larder_scan_group(const larder_txn *txn, larder_bytes group,
                                     const larder_scan_options *options, larder_scan **scan,
                                     larder_error *error);
/* Documents of a collection in (read time, name) order, from those whose read time is after
 * since, or equal to it with an id after since_id (empty since_id: all of that time, too). */
LARDER_API int32_t larder_scan_read_time(const larder_txn *txn, larder_bytes path,
                                         larder_time since, larder_bytes since_id,
                                         const larder_scan_options *options, larder_scan **scan,
                                         larder_error *error);
/* The next document, or LARDER_END. A damaged row is LARDER_E_CORRUPT, is logged with its key,
 * and the next call goes on behind it. */
LARDER_API int32_t larder_scan_next(larder_scan *scan, larder_document *document,
                                    larder_error *error);
LARDER_API void larder_scan_close(larder_scan *scan);

/* ---------------------------------------------------------------- mutations --------------- */

/* One document that a batch touches. base_version: the version it was based on, {0,0}: none. */
typedef struct larder_mutation_document {
    larder_bytes name;
    larder_time base_version;
} larder_mutation_document;

typedef struct larder_batch {
    int64_t batch_id;
    larder_time local_write_time;
    uint32_t attempt_count;
    uint32_t document_count;
    larder_time last_attempt;
    larder_bytes last_error; /* text of the last failure, empty for none */
    larder_bytes payload;    /* as appended */
    larder_bytes documents;  /* private: larder_batch_get_document reads it */
} larder_batch;

/* Appends to the user's queue. Batch ids rise over all users and are never used again. */
LARDER_API int32_t larder_mutation_append(larder_txn *txn, larder_bytes user,
                                          larder_time local_write_time,
                                          const larder_mutation_document *documents,
                                          size_t document_count, larder_bytes payload,
                                          int64_t *batch_id, larder_error *error);
LARDER_API int32_t larder_mutation_get(const larder_txn *txn, larder_bytes user, int64_t batch_id,
                                       larder_batch *batch, larder_error *error);
/* The first batch with an id above after (0: the head of the queue), or LARDER_END. */
LARDER_API int32_t larder_mutation_next(const larder_txn *txn, larder_bytes user, int64_t after,
                                        larder_batch *batch, larder_error *error);
LARDER_API int32_t larder_batch_get_document(const larder_batch *batch, size_t position,
                                             larder_mutation_document *document);
/* Removes a batch: acknowledged, rejected or cancelled. LARDER_NOT_FOUND. */
LARDER_API int32_t larder_mutation_remove(larder_txn *txn, larder_bytes user, int64_t batch_id,
                                          larder_error *error);
/* Counts an attempt and keeps its error text (empty for none; cut at 1 KiB). */
LARDER_API int32_t larder_mutation_record_attempt(larder_txn *txn, larder_bytes user,
                                                  int64_t batch_id, larder_time when,
                                                  larder_bytes error_text, larder_error *error);
/* The id of the user's first batch above after (0: from the head of the queue) that touches the
 * document, or LARDER_END. */
LARDER_API int32_t larder_mutation_next_touching(const larder_txn *txn, larder_bytes user,
                                                 larder_bytes name, int64_t after,
                                                 int64_t *batch_id, larder_error *error);
/* Ids of all of them, ascending. Writes up to capacity ids; *id_count is the full number. */
LARDER_API int32_t larder_mutation_find_document(const larder_txn *txn, larder_bytes user,
                                                 larder_bytes name, int64_t *ids, size_t capacity,
                                                 size_t *id_count, larder_error *error);
/* The same for every document directly in a collection. */
LARDER_API int32_t larder_mutation_find_collection(const larder_txn *txn, larder_bytes user,
                                                   larder_bytes path, int64_t *ids, size_t capacity,
                                                   size_t *id_count, larder_error *error);
/* Batches in the user's queue. */
LARDER_API int32_t larder_mutation_count(const larder_txn *txn, larder_bytes user, int64_t *count,
                                         larder_error *error);
/* Users that have a queue, in order of their ids: the first above *after (NULL: the very first,
 * which may be the unauthenticated user ""), or LARDER_END. */
LARDER_API int32_t larder_mutation_next_user(const larder_txn *txn, const larder_bytes *after,
                                             larder_bytes *user, larder_error *error);

/* ---------------------------------------------------------------- overlays ---------------- */

/* The local view of one document for one user. plain is the view as a plain record, empty when
 * the pending writes delete it. payload is the caller's (the overlay mutation). */
LARDER_API int32_t larder_overlay_put(larder_txn *txn, larder_bytes user, larder_bytes name,
                                      int64_t largest_batch_id, larder_bytes plain,
                                      larder_bytes payload, larder_error *error);
/* payload is nullable. */
LARDER_API int32_t larder_overlay_get(const larder_txn *txn, larder_bytes user, larder_bytes name,
                                      larder_document *view, larder_bytes *payload,
                                      larder_error *error);
LARDER_API int32_t larder_overlay_remove(larder_txn *txn, larder_bytes user, larder_bytes name,
                                         larder_error *error);
/* Removes those saved under the batch; *removed_count (nullable) says how many. */
LARDER_API int32_t larder_overlay_remove_batch(larder_txn *txn, larder_bytes user, int64_t batch_id,
                                               int64_t *removed_count, larder_error *error);
/* The user's overlays in a collection, in name order, whose batch id is above since_batch. */
LARDER_API int32_t larder_overlay_scan_collection(const larder_txn *txn, larder_bytes user,
                                                  larder_bytes path, int64_t since_batch,
                                                  larder_scan **scan, larder_error *error);
LARDER_API int32_t larder_overlay_scan_group(const larder_txn *txn, larder_bytes user,
                                             larder_bytes group, int64_t since_batch,
                                             larder_scan **scan, larder_error *error);
/* The names that have an overlay saved under the batch. */
LARDER_API int32_t larder_overlay_scan_batch(const larder_txn *txn, larder_bytes user,
                                             int64_t batch_id, larder_scan **scan,
                                             larder_error *error);

/* ---------------------------------------------------------------- targets ----------------- */

typedef struct larder_target {
    size_t struct_bytes;
    int32_t target_id;       /* above 0 */
    uint32_t flags;          /* the caller's */
    int64_t sequence_number; /* the caller's; larger is more recently used */
    larder_time snapshot_version;
    larder_time limbo_free_version;
    larder_bytes resume_token;
    larder_bytes canonical_id; /* at most LARDER_NAME_MAX_BYTES */
    larder_bytes query;        /* the caller's encoding of the target */
} larder_target;

/* Adds or replaces; its documents stay. Counts as a use. */
LARDER_API int32_t larder_target_put(larder_txn *txn, const larder_target *target,
                                     larder_error *error);
LARDER_API int32_t larder_target_get(const larder_txn *txn, int32_t target_id,
                                     larder_target *target, larder_error *error);
/* Targets with that canonical id (they may differ: compare query). As mutation_find_document. */
LARDER_API int32_t larder_target_find(const larder_txn *txn, larder_bytes canonical_id,
                                      int32_t *ids, size_t capacity, size_t *id_count,
                                      larder_error *error);
/* The first target with an id above after, or LARDER_END. */
LARDER_API int32_t larder_target_next(const larder_txn *txn, int32_t after, larder_target *target,
                                      larder_error *error);
/* Removes it with its documents' mention of it; the documents stay. */
LARDER_API int32_t larder_target_remove(larder_txn *txn, int32_t target_id, larder_error *error);
/* The highest target id ever stored, 0 for none. */
LARDER_API int32_t larder_target_highest_id(const larder_txn *txn, int32_t *target_id,
                                            larder_error *error);
LARDER_API int32_t larder_target_add_document(larder_txn *txn, int32_t target_id, larder_bytes name,
                                              larder_error *error);
LARDER_API int32_t larder_target_remove_document(larder_txn *txn, int32_t target_id,
                                                 larder_bytes name, larder_error *error);
/* Removes some documents and then adds some, in any order and also twice; those that are not, or
 * are, in the target change nothing. No name may be borrowed from the transaction.
 * LARDER_NOT_FOUND when there is no such target. Cheapest with names of one collection next to
 * each other. */
LARDER_API int32_t larder_target_change_documents(larder_txn *txn, int32_t target_id,
                                                  const larder_bytes *removed, size_t removed_count,
                                                  const larder_bytes *added, size_t added_count,
                                                  larder_error *error);
LARDER_API int32_t larder_target_document_count(const larder_txn *txn, int32_t target_id,
                                                int64_t *count, larder_error *error);
/* Its documents; those not in the store come as LARDER_DOCUMENT_NOT_READ with ALL_STATES. */
LARDER_API int32_t larder_target_scan(const larder_txn *txn, int32_t target_id,
                                      const larder_scan_options *options, larder_scan **scan,
                                      larder_error *error);
/* Targets that hold the document. As mutation_find_document. */
LARDER_API int32_t larder_target_find_document(const larder_txn *txn, larder_bytes name,
                                               int32_t *ids, size_t capacity, size_t *id_count,
                                               larder_error *error);

/* ---- bundles, named queries, dead letters, what clients share, globals: values by name ---- */

enum {
    LARDER_NAMED_GLOBAL = 1, /* e.g. a stream token, the last remote snapshot version */
    LARDER_NAMED_BUNDLE = 2,
    LARDER_NAMED_QUERY = 3,
    LARDER_NAMED_DEAD_LETTER = 4, /* a batch that the backend refused, for the application */
    LARDER_NAMED_JOURNAL = 5,     /* what a commit is to tell other clients of the store */
    LARDER_NAMED_CLIENT = 6,      /* a client that shares the store */
    LARDER_NAMED_SHARED = 7       /* what those clients have in common, e.g. who is primary */
};
/* time: a bundle's create time, a named query's read time, the rejection's time. Name: 1 ..
 * 1,500 bytes. Nullable where they come out: time and payload. */
LARDER_API int32_t larder_named_put(larder_txn *txn, int32_t kind, larder_bytes name,
                                    larder_time time, larder_bytes payload, larder_error *error);
LARDER_API int32_t larder_named_get(const larder_txn *txn, int32_t kind, larder_bytes name,
                                    larder_time *time, larder_bytes *payload, larder_error *error);
LARDER_API int32_t larder_named_remove(larder_txn *txn, int32_t kind, larder_bytes name,
                                       larder_error *error);
/* The first name above after in byte order (empty: the first), or LARDER_END. */
LARDER_API int32_t larder_named_next(const larder_txn *txn, int32_t kind, larder_bytes after,
                                     larder_bytes *name, larder_time *time, larder_bytes *payload,
                                     larder_error *error);

/* ---------------------------------------------------------------- indexes ----------------- */

enum { LARDER_SEGMENT_ASCENDING = 0, LARDER_SEGMENT_DESCENDING = 1, LARDER_SEGMENT_CONTAINS = 2 };
#define LARDER_INDEX_MAX_SEGMENTS 16
typedef struct larder_index_segment {
    larder_bytes field_path; /* encoded, see larder_path_encode */
    int32_t kind;
    int32_t reserved;
} larder_index_segment;
typedef struct larder_index {
    uint32_t index_id;
    uint32_t segment_count;
    larder_bytes group;
    larder_index_segment segments[LARDER_INDEX_MAX_SEGMENTS];
    int64_t entry_count; /* of documents and of overlays */
    int64_t size_bytes;
    int32_t complete; /* 1: every document is indexed; only then use it for queries */
    int32_t reserved;
    int64_t backfilled_count; /* documents looked at by the back-fill so far */
} larder_index;

/* At most one CONTAINS segment. LARDER_OK also when an equal one is there: *index_id is its id.
 * Complete at once when the group holds no documents. */
LARDER_API int32_t larder_index_define(larder_txn *txn, larder_bytes group,
                                       const larder_index_segment *segments, size_t segment_count,
                                       uint32_t *index_id, larder_error *error);
LARDER_API int32_t larder_index_get(const larder_txn *txn, uint32_t index_id, larder_index *index,
                                    larder_error *error);
/* The first index with an id above after, or LARDER_END. */
LARDER_API int32_t larder_index_next(const larder_txn *txn, uint32_t after, larder_index *index,
                                     larder_error *error);
/* Removes up to max_entries entries (0: all); LARDER_MORE when some are left, and from the
 * first call on the index is no longer maintained or found by larder_index_get. index_id 0: goes
 * on with a drop that was not finished, LARDER_OK also when there is none; LARDER_MORE also when
 * another is left. */
LARDER_API int32_t larder_index_drop(larder_txn *txn, uint32_t index_id, int64_t max_entries,
                                     larder_error *error);
/* Indexes up to max_documents further documents or until max_us of processor time is used
 * (0: no bound): LARDER_MORE, or LARDER_OK when complete. *done_count and *total_count
 * (nullable): documents looked at so far and in all. */
LARDER_API int32_t larder_index_backfill(larder_txn *txn, uint32_t index_id, int64_t max_documents,
                                         int64_t max_us, int64_t *done_count, int64_t *total_count,
                                         larder_error *error);
/* Documents whose entries lie between options.start and options.end, in entry order, then name
 * order. collection: one collection, or empty for the whole group. Order bytes of a bound may
 * be those of the first segments only; END_AT then takes everything that begins with them, and
 * START_AFTER leaves it all out. Values whose order bytes together pass 240 bytes are cut in
 * the index: such entries may come out of order among those with the same first 240 bytes and
 * are for the caller to test again, as with every index. With a CONTAINS segment a document
 * comes once an element that lies in the bounds. */
LARDER_API int32_t larder_index_scan(const larder_txn *txn, uint32_t index_id,
                                     larder_bytes collection, const larder_scan_options *options,
                                     larder_scan **scan, larder_error *error);
/* The order bytes of the entry that larder_scan_next gave last (cut as above; borrowed until
 * the next call on the scan). */
LARDER_API int32_t larder_index_scan_entry(const larder_scan *scan, larder_bytes *order_bytes,
                                           larder_error *error);

/* ---- sets of documents (single; belong to their transaction) ---- */

LARDER_API int32_t larder_set_create(const larder_txn *txn, larder_set **set, larder_error *error);
LARDER_API void larder_set_close(larder_set *set);
/* Adds the scan's remaining documents (best opened with KEYS_ONLY); duplicates are ignored. */
LARDER_API int32_t larder_set_add_scan(larder_set *set, larder_scan *scan, larder_error *error);
/* Keeps what is also in other / adds what is in other. Of one transaction. */
LARDER_API int32_t larder_set_intersect(larder_set *set, larder_set *other, larder_error *error);
LARDER_API int32_t larder_set_union(larder_set *set, larder_set *other, larder_error *error);
LARDER_API size_t larder_set_count(larder_set *set);
/* The set's documents, in name order within each collection. The set stays as it is and must
 * outlive the scan. */
LARDER_API int32_t larder_set_scan(larder_set *set, const larder_scan_options *options,
                                   larder_scan **scan, larder_error *error);

/* ---------------------------------------------------------------- nodes ------------------- */

/*
 * The Realtime Database's trees. A tree is one node by name; a node is a leaf (boolean, number or
 * string) or children: keys with nodes below them. What is empty does not exist: a node whose
 * last child goes, goes too. Leaves and children may have a priority, a number or a string.
 *
 * Keys are 1 .. 768 bytes of UTF-8 without control characters and . # $ [ ] /. Their order is
 * the Realtime Database's: 32-bit integers by number, then everything else by UTF-16 code unit.
 * A path is keys joined by slashes; "" is the root.
 *
 * Encoded, a node is (integers in varints of 7 bits a byte, lowest first, as short as they can be;
 * sizes in bytes)
 *
 *     head    type (low 4 bits, LARDER_NODE_...), 0x10: a priority follows, a leaf of its own
 *     leaf    FALSE, TRUE: nothing more; INTEGER: zigzag varint; DOUBLE: 8 bytes, little-endian;
 *             STRING, SERVER_VALUE: size varint, text
 *     children  size of the rest (4, little-endian), then for each, in key order:
 *               key size varint, key, node
 *
 * and an empty node is no bytes.
 */
#define LARDER_NODE_KEY_MAX_BYTES 768
#define LARDER_NODE_DEPTH_MAX 100             /* keys in a path, down to the deepest leaf */
#define LARDER_NODE_STRING_MAX_BYTES 10485760 /* of one leaf */
#define LARDER_NODE_MAX_BYTES 268435456       /* of a node, encoded */
#define LARDER_NODE_TREE_NAME_MAX_BYTES 400

enum {
    LARDER_NODE_EMPTY = 0,
    LARDER_NODE_FALSE = 1,
    LARDER_NODE_TRUE = 2,
    LARDER_NODE_INTEGER = 3,
    LARDER_NODE_DOUBLE = 4,
    LARDER_NODE_STRING = 5,
    LARDER_NODE_SERVER_VALUE = 6, /* to be resolved: in encoded nodes, never in a tree */
    LARDER_NODE_CHILDREN = 7
};

typedef struct larder_leaf {
    int32_t type; /* LARDER_NODE_... but CHILDREN; EMPTY: there is none */
    int32_t reserved;
    int64_t integer;
    double number;
    larder_bytes text;
} larder_leaf;

/* An encoded node's first look; borrows its bytes. */
typedef struct larder_node {
    int32_t type;
    int32_t reserved;
    larder_leaf leaf;      /* EMPTY for children */
    larder_leaf priority;  /* EMPTY for none */
    larder_bytes children; /* for larder_node_take_child */
    size_t size_bytes;     /* of the encoded node, which other bytes may follow */
} larder_node;

/* ---- encoded nodes (free) ---- */

/* Below, equal to or above 0, in key order. Only equal keys compare equal; bytes that cannot be read
 * are below all others. */
LARDER_API int32_t larder_node_compare_keys(larder_bytes left, larder_bytes right);
/* Checks everything: sizes, types, keys and their order, UTF-8, depth. E_INVALID_RECORD,
 * E_TOO_DEEP, E_TOO_LARGE. */
LARDER_API int32_t larder_node_validate(larder_bytes encoded, larder_error *error);
/* Looks at the node that the bytes begin with; its children are not looked at. */
LARDER_API int32_t larder_node_open(larder_bytes encoded, larder_node *node, larder_error *error);
/* Takes the first child off the children of an open node: its key and its encoded bytes.
 * LARDER_END when none is left. Constant time. */
LARDER_API int32_t larder_node_take_child(larder_bytes *children, larder_bytes *key,
                                          larder_bytes *child, larder_error *error);

/* ---- builder (single) ---- */

typedef struct larder_node_builder larder_node_builder;
/* allocator may be NULL for malloc. A builder is reused: finish, then reset and begin again. */
LARDER_API int32_t larder_node_builder_create(const larder_allocator *allocator,
                                              larder_node_builder **builder, larder_error *error);
LARDER_API void larder_node_builder_close(larder_node_builder *builder);
LARDER_API void larder_node_builder_reset(larder_node_builder *builder);
/* Inside children: the key of the next node, above the key before it. */
LARDER_API int32_t larder_node_builder_key(larder_node_builder *builder, larder_bytes key,
                                           larder_error *error);
/* priority: NULL or EMPTY for none; INTEGER, DOUBLE, STRING or SERVER_VALUE. */
LARDER_API int32_t larder_node_builder_leaf(larder_node_builder *builder, const larder_leaf *leaf,
                                            const larder_leaf *priority, larder_error *error);
/* Children that get no child until their end vanish, and the key before them. */
LARDER_API int32_t larder_node_builder_begin_children(larder_node_builder *builder,
                                                      const larder_leaf *priority,
                                                      larder_error *error);
LARDER_API int32_t larder_node_builder_end_children(larder_node_builder *builder,
                                                    larder_error *error);
/* Copies an encoded node, which is validated; an empty one as children without a child. */
LARDER_API int32_t larder_node_builder_node(larder_node_builder *builder, larder_bytes encoded,
                                            larder_error *error);
/* The encoded node; empty when nothing was added. Borrowed until the next call. */
LARDER_API int32_t larder_node_builder_finish(larder_node_builder *builder, larder_bytes *encoded,
                                              larder_error *error);

/* ---- trees ---- */

/* A tree's number in this store, above 0; find: LARDER_NOT_FOUND. Name: 1 .. 400 bytes. */
LARDER_API int32_t larder_node_tree_find(const larder_txn *txn, larder_bytes name, uint64_t *tree,
                                         larder_error *error);
LARDER_API int32_t larder_node_tree_obtain(larder_txn *txn, larder_bytes name, uint64_t *tree,
                                           larder_error *error);
/* The first tree with a number above after, or LARDER_END. */
LARDER_API int32_t larder_node_tree_next(const larder_txn *txn, uint64_t after, uint64_t *tree,
                                         larder_bytes *name, larder_error *error);

/* ---- reading: into a builder, which is reset first and then finished by the caller ---- */

/* The whole subtree at a path. LARDER_NOT_FOUND: empty. */
LARDER_API int32_t larder_node_read(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                    larder_node_builder *into, larder_error *error);
/* The children with these keys, in any order, and the priority of the node; those that are empty
 * are left out. */
LARDER_API int32_t larder_node_read_children(const larder_txn *txn, uint64_t tree,
                                             larder_bytes path, const larder_bytes *keys,
                                             size_t key_count, larder_node_builder *into,
                                             larder_error *error);

/* Children from one key to another. */
typedef struct larder_node_page {
    size_t struct_bytes;
    larder_bytes after;  /* children above this key only; empty: from the first */
    larder_bytes before; /* children below this key only; empty: to the last */
    int32_t backwards;   /* 1: those nearest to before are taken */
    int32_t keys_only;   /* 1: TRUE in place of each node */
    int64_t max_count;   /* 0: no bound */
    int64_t max_bytes;   /* encoded; 0: no bound. At least one child comes in any case */
} larder_node_page;
/* LARDER_OK when there are no further children in the range, LARDER_MORE when a bound ended the
 * page. In key order in both directions. */
LARDER_API int32_t larder_node_read_page(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                         const larder_node_page *page, larder_node_builder *into,
                                         larder_error *error);

enum {
    LARDER_NODE_INDEX_PRIORITY = 0,
    LARDER_NODE_INDEX_KEY = 1,
    LARDER_NODE_INDEX_VALUE = 2,
    LARDER_NODE_INDEX_PATH = 3
};
enum { LARDER_NODE_KEY_GIVEN = 0, LARDER_NODE_KEY_MIN = 1, LARDER_NODE_KEY_MAX = 2 };
/* One end of a window: a value in the index and a key among the children that have it. */
typedef struct larder_node_bound {
    int32_t given;     /* 0: no bound */
    int32_t exclusive; /* 1: the very child at the bound is left out */
    larder_leaf value; /* EMPTY: the lowest, null. Not looked at for the key index */
    int32_t key_kind;  /* LARDER_NODE_KEY_...; MIN is below and MAX above all keys */
    int32_t reserved;
    larder_bytes key;
} larder_node_bound;
/* The children that a query shows. */
typedef struct larder_node_window {
    size_t struct_bytes;
    int32_t index;           /* LARDER_NODE_INDEX_... */
    int32_t from_end;        /* 1: the limit takes the last children of the index, not the first */
    larder_bytes index_path; /* for INDEX_PATH */
    int64_t limit;           /* 0: none */
    larder_node_bound start;
    larder_node_bound end;
} larder_node_window;
/* Children within the bounds, at most limit of them, in key order and without the node's own
 * priority. Memory grows with the children in the window, not with those at the path.
 * LARDER_NOT_FOUND: nothing is in the window. */
LARDER_API int32_t larder_node_read_window(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                           const larder_node_window *window,
                                           larder_node_builder *into, larder_error *error);

/* How many children; 0 for leaves and what is empty. Reads one head a row. */
LARDER_API int32_t larder_node_count(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                     int64_t *count, larder_error *error);
/* Rows that hold nothing but the subtree at the path, and their bytes; {0, 0} for what is kept in
 * a row of an ancestor. Reads them all. */
LARDER_API int32_t larder_node_usage(const larder_txn *txn, uint64_t tree, larder_bytes path,
                                     larder_usage *usage, larder_error *error);

/* ---- writing ---- */

/* Writes at a path below the one of the call. */
typedef struct larder_node_change {
    larder_bytes path; /* its last key may be .priority, with a leaf or nothing as node */
    larder_bytes node; /* encoded; empty: deletes */
} larder_node_change;
/* Replaces the subtree at a path; empty bytes delete it. The path may end in .priority. What is
 * written below a leaf replaces the leaf by children that inherit its priority; deleting below
 * a leaf, and a priority for what is empty, change nothing. */
LARDER_API int32_t larder_node_put(larder_txn *txn, uint64_t tree, larder_bytes path,
                                   larder_bytes encoded, larder_error *error);
/* The same at many paths, in any order; no path may lie below another one of them. Nodes are not
 * emptied in between: one that has children before and after keeps its priority. */
LARDER_API int32_t larder_node_merge(larder_txn *txn, uint64_t tree, larder_bytes path,
                                     const larder_node_change *changes, size_t change_count,
                                     larder_error *error);

/* ---- tracked queries: what keeps nodes from eviction ---- */

enum {
    LARDER_NODE_QUERY_COMPLETE = 1, /* the caller's: all its data is here */
    LARDER_NODE_QUERY_ACTIVE = 2,   /* never evicted */
    LARDER_NODE_QUERY_KEYED = 4,    /* keeps its tracked keys only; otherwise the whole path */
    LARDER_NODE_QUERY_PINNED = 8    /* never evicted, also when it is not active */
};
typedef struct larder_node_query {
    size_t struct_bytes;
    int64_t query_id; /* the caller's, above 0 */
    uint32_t flags;
    uint32_t reserved;
    larder_time last_use; /* the caller's */
    larder_bytes path;
    larder_bytes payload; /* e.g. its parameters */
} larder_node_query;
/* Adds or replaces, and counts as a use. The path of a query cannot change: E_INVALID_ARGUMENT. */
LARDER_API int32_t larder_node_query_put(larder_txn *txn, uint64_t tree,
                                         const larder_node_query *query, larder_error *error);
LARDER_API int32_t larder_node_query_get(const larder_txn *txn, uint64_t tree, int64_t query_id,
                                         larder_node_query *query, larder_error *error);
/* The first query with an id above after, or LARDER_END. */
LARDER_API int32_t larder_node_query_next(const larder_txn *txn, uint64_t tree, int64_t after,
                                          larder_node_query *query, larder_error *error);
/* Removes it with its tracked keys. The data stays and is the first to go over budget, where no
 * other query keeps it. */
LARDER_API int32_t larder_node_query_remove(larder_txn *txn, uint64_t tree, int64_t query_id,
                                            larder_error *error);
/* Notes a use. */
LARDER_API int32_t larder_node_query_touch(larder_txn *txn, uint64_t tree, int64_t query_id,
                                           larder_error *error);
/* Removes some tracked keys and then adds some. LARDER_NOT_FOUND: no such query. */
LARDER_API int32_t larder_node_query_change_keys(larder_txn *txn, uint64_t tree, int64_t query_id,
                                                 const larder_bytes *removed, size_t removed_count,
                                                 const larder_bytes *added, size_t added_count,
                                                 larder_error *error);
/* The tracked keys, as children that are TRUE. */
LARDER_API int32_t larder_node_query_keys(const larder_txn *txn, uint64_t tree, int64_t query_id,
                                          larder_node_builder *into, larder_error *error);

/* Keeps the subtree at a path, and the tracked queries in it, from eviction while this handle is
 * open (free). Counted: as many unpins as pins; unpin: LARDER_NOT_FOUND. */
LARDER_API int32_t larder_node_pin(larder_env *env, uint64_t tree, larder_bytes path,
                                   larder_error *error);
LARDER_API int32_t larder_node_unpin(larder_env *env, uint64_t tree, larder_bytes path,
                                     larder_error *error);

/* ---- pending writes of a tree, and those that were refused ---- */

enum { LARDER_NODE_WRITE_PENDING = 0, LARDER_NODE_WRITE_REFUSED = 1 };
typedef struct larder_node_write {
    size_t struct_bytes;
    int64_t write_id; /* above 0 */
    larder_time time;
    larder_bytes payload;
} larder_node_write;
/* Adds or replaces. */
LARDER_API int32_t larder_node_write_put(larder_txn *txn, uint64_t tree, int32_t kind,
                                         const larder_node_write *write, larder_error *error);
LARDER_API int32_t larder_node_write_get(const larder_txn *txn, uint64_t tree, int32_t kind,
                                         int64_t write_id, larder_node_write *write,
                                         larder_error *error);
/* The first with an id above after, or LARDER_END. */
LARDER_API int32_t larder_node_write_next(const larder_txn *txn, uint64_t tree, int32_t kind,
                                          int64_t after, larder_node_write *write,
                                          larder_error *error);
LARDER_API int32_t larder_node_write_remove(larder_txn *txn, uint64_t tree, int32_t kind,
                                            int64_t write_id, larder_error *error);
/* The highest id that the tree's pending writes ever had, 0 for none. */
LARDER_API int32_t larder_node_write_highest_id(const larder_txn *txn, uint64_t tree,
                                                int64_t *write_id, larder_error *error);

/* ---------------------------------------------------------------- blobs ------------------- */

typedef struct larder_train_result {
    uint32_t dictionary_id;
    uint32_t sample_count;
    int64_t sample_bytes;
    int64_t dictionary_bytes;
    int64_t before_bytes; /* samples kept out of training, compressed as before */
    int64_t after_bytes;  /* the same samples with the new dictionary */
} larder_train_result;

/* Trains a dictionary from a spread of the store's own cold parts and makes it the one in use
 * for what is written from now on; older ones stay readable. 0 for a parameter: the default
 * (8 KiB, 256 KiB). LARDER_NOT_FOUND, and nothing done, when there are too few cold parts or
 * the new one would not be smaller. result is nullable. */
LARDER_API int32_t larder_blob_train(larder_txn *txn, size_t dictionary_bytes,
                                     size_t max_sample_bytes, larder_train_result *result,
                                     larder_error *error);
/* Where a repack stands; zero it to begin. */
typedef struct larder_repack {
    uint32_t key_bytes;
    uint8_t key[512];
} larder_repack;
/* Compresses again up to max_documents documents that use an older dictionary or none, from
 * where repack stands: LARDER_MORE, or LARDER_OK when through. *changed_count (nullable): rows
 * that became smaller. Dictionaries that no record uses any more are removed at the end. */
LARDER_API int32_t larder_blob_repack(larder_txn *txn, int64_t max_documents, larder_repack *repack,
                                      int64_t *changed_count, larder_error *error);
/* A frame of its own: checksum and raw size in front, zstd without a dictionary behind. For
 * callers that keep large payloads. */
LARDER_API int32_t larder_blob_compress(const larder_txn *txn, larder_bytes raw, void *buffer,
                                        size_t capacity_bytes, size_t *needed_bytes,
                                        larder_error *error);
/* max_raw_bytes bounds what the frame may claim (E_TOO_LARGE) before anything is done. */
LARDER_API int32_t larder_blob_decompress(const larder_txn *txn, larder_bytes frame,
                                          size_t max_raw_bytes, void *buffer, size_t capacity_bytes,
                                          size_t *needed_bytes, larder_error *error);
typedef struct larder_dictionary {
    uint32_t dictionary_id;
    uint32_t reserved;
    int64_t size_bytes;
    int64_t record_count; /* records that need it */
} larder_dictionary;
/* The first dictionary with an id above after, or LARDER_END. */
LARDER_API int32_t larder_dictionary_next(const larder_txn *txn, uint32_t after,
                                          larder_dictionary *dictionary, larder_error *error);

/* ---------------------------------------------------------------- compressors (single) ---- */

/* Compresses bytes in memory that are not stored: much that is rarely looked at. */
typedef struct larder_compressor larder_compressor;
LARDER_API int32_t larder_compressor_create(larder_compressor **compressor, larder_error *error);
LARDER_API void larder_compressor_close(larder_compressor *compressor);
/* A zstd frame with the raw size in it and without a checksum, of up to LARDER_PAYLOAD_MAX_BYTES.
 * needed_bytes is the frame's size; of one that is larger than the capacity, a size that is enough. */
LARDER_API int32_t larder_compressor_compress(larder_compressor *compressor, larder_bytes raw,
                                              void *buffer, size_t capacity_bytes,
                                              size_t *needed_bytes, larder_error *error);
/* The raw bytes of such a frame. E_INVALID_RECORD for other bytes, and for most damaged frames. */
LARDER_API int32_t larder_compressor_decompress(larder_compressor *compressor, larder_bytes frame,
                                                void *buffer, size_t capacity_bytes,
                                                size_t *needed_bytes, larder_error *error);

/* ---------------------------------------------------------------- LRU (free) -------------- */

/* Notes a use of the document; written with the next commit, so a read never becomes a write.
 * At most 4,096 notes wait; further ones are dropped, which makes eviction less exact, never
 * wrong. */
LARDER_API int32_t larder_lru_touch(larder_env *env, larder_bytes name, larder_error *error);
/* Keeps a document, or a target and its documents, from eviction while this handle is open.
 * Counted: as many unpins as pins. */
LARDER_API int32_t larder_lru_pin(larder_env *env, larder_bytes name, larder_error *error);
LARDER_API int32_t larder_lru_unpin(larder_env *env, larder_bytes name, larder_error *error);
LARDER_API int32_t larder_lru_pin_target(larder_env *env, int32_t target_id, larder_error *error);
LARDER_API int32_t larder_lru_unpin_target(larder_env *env, int32_t target_id, larder_error *error);

/* Cache rules: what is kept of a collection. They are stored and obeyed by every handle. The rule
 * of the exact path applies, else that of the group (the last segment of the path), else that of
 * all collections, else none. */
enum { LARDER_RULE_COLLECTION = 1, LARDER_RULE_GROUP = 2, LARDER_RULE_ALL = 3 };
enum {
    LARDER_RULE_PINNED = 1,       /* never evicted */
    LARDER_RULE_NEVER_CACHED = 2, /* evicted when nothing keeps it, whatever the budget */
    LARDER_RULE_LOCAL_ONLY = 4    /* not evicted for the budget; callers do not send it */
};
typedef struct larder_cache_rule {
    size_t struct_bytes;
    int32_t scope;
    uint32_t flags;
    larder_bytes path;      /* a collection's path, a group's id; empty for all */
    int64_t max_bytes;      /* of its documents, as larder_stat counts them; 0: no limit */
    int64_t max_age_us;     /* since the last use; 0: no limit */
    int64_t document_count; /* of its collections; only for larder_cache_rules_get */
    int64_t size_bytes;
} larder_cache_rule;
/* Replaces the rules, 256 at most. E_INVALID_ARGUMENT for two rules of one selector and for rules
 * that contradict themselves: a limit together with pinned, and anything with never cached. */
LARDER_API int32_t larder_cache_rules_set(larder_txn *txn, const larder_cache_rule *rules,
                                          size_t rule_count, larder_error *error);
/* The rule of a place in the order they were set in, or LARDER_END; linear in the collections of
 * a group, or in all of them. path is borrowed. */
LARDER_API int32_t larder_cache_rules_get(const larder_txn *txn, size_t index,
                                          larder_cache_rule *rule, larder_error *error);
/* The time that ages are counted by, in microseconds since 1970 and up to the year 9999; negative:
 * the system's, as it is at first. */
LARDER_API int32_t larder_lru_set_time(larder_env *env, int64_t now_us, larder_error *error);

typedef struct larder_lru_result {
    size_t struct_bytes;
    int64_t examined_count;
    int64_t evicted_count; /* documents */
    int64_t target_count;  /* targets removed */
    int64_t freed_bytes;
    int64_t pinned_count; /* met and kept */
    int64_t total_bytes;  /* after the step */
    int64_t elapsed_us;
    int64_t query_count; /* tracked queries of trees removed */
} larder_lru_result;

/* One write transaction of its own that evicts least recently used documents, and targets that
 * are not pinned, until total_bytes is at most goal_bytes (negative: the budget), max_documents
 * were examined or max_us have passed (0: 500 documents, 2,000 us). Kept: pinned documents,
 * those that a pending mutation touches, those of pinned targets, and those that a cache rule
 * pins. Before that, documents go that cache rules want to go, whatever the goal. LARDER_MORE:
 * another step can free more; LARDER_OK: at or below the goal and within the rules, or nothing
 * more can go. */
LARDER_API int32_t larder_lru_step(larder_env *env, int64_t goal_bytes, int64_t max_documents,
                                   int64_t max_us, larder_lru_result *result, larder_error *error);

/* One write transaction of its own that deletes nodes which no tracked query keeps any more, since
 * a query or a tracked key was removed: what would be the first to go over budget. Nothing else
 * is evicted. max_count (0: 500) rows are examined; the rest is as for larder_lru_step, also
 * LARDER_MORE. */
LARDER_API int32_t larder_lru_sweep(larder_env *env, int64_t max_count, int64_t max_us,
                                    larder_lru_result *result, larder_error *error);

/* The number of the last commit in which this handle evicted something, 0 before the first:
 * what was read from an earlier commit may have been evicted since. */
LARDER_API uint64_t larder_lru_commit_number(const larder_env *env);

/* ---------------------------------------------------------------- check ------------------- */

typedef struct larder_check_report {
    size_t struct_bytes;
    int64_t row_count; /* rows read */
    int64_t document_count;
    int64_t index_entry_count;
    int64_t problem_count;
    int64_t node_row_count; /* of trees; a row holds many small nodes */
    int64_t tracked_query_count;
    int64_t node_write_count; /* pending and refused writes of trees */
} larder_check_report;

/* table and key say where, message what; all valid during the call. Other than 0 stops. */
typedef int32_t (*larder_problem_function)(void *context, const char *table, larder_bytes key,
                                           const char *message);

/* Verifies every row and every invariant between tables on the transaction's snapshot, and
 * changes nothing. A write transaction that has changed something is refused
 * (E_INVALID_ARGUMENT): some counters are written at its commit. Memory grows with the number of
 * documents (about 50 bytes each). LARDER_OK: clean; LARDER_E_CORRUPT: problem_count says how many;
 * the call itself failed otherwise. problem and progress (rows) may be NULL. */
LARDER_API int32_t larder_check(const larder_txn *txn, larder_problem_function problem,
                                larder_progress_function progress, void *context,
                                larder_check_report *report, larder_error *error);

/* ---------------------------------------------------------------- salvage (free) ---------- */

/* Of one kind of data. lost_count: known to have been there, by a count or by a row that is
 * damaged; there may be more where the counts are lost as well. guessed_count: of those found, where
 * they lay where nothing refers to them: they may be older versions, or have been removed. */
typedef struct larder_salvage_count {
    int64_t found_count;
    int64_t lost_count;
    int64_t guessed_count;
} larder_salvage_count;

typedef struct larder_salvage_report {
    size_t struct_bytes;
    larder_salvage_count batches;        /* pending writes of documents */
    larder_salvage_count tree_writes;    /* pending writes of trees */
    larder_salvage_count refused_writes; /* of both, for the application */
    larder_salvage_count documents;
    larder_salvage_count overlays;
    larder_salvage_count targets;
    larder_salvage_count nodes;   /* rows of trees */
    larder_salvage_count queries; /* tracked queries of trees */
    larder_salvage_count values;  /* bundles, named queries, globals */
    uint64_t commit_number;       /* the last commit of which something whole was found */
    int64_t page_count;           /* of the data file */
    int64_t damaged_page_count;   /* that a tree leads to and that are not what it expects */
    int64_t damaged_record_count; /* acknowledged commits that cannot be read */
    int64_t settled_count; /* batches in old pages that are known to have been acknowledged */
} larder_salvage_report;

/* What was salvaged when opening has set a damaged store aside; LARDER_NOT_FOUND: it has not. */
LARDER_API int32_t larder_env_salvaged(const larder_env *env, larder_salvage_report *report,
                                       larder_error *error);

/* Makes a store in the directory target, which must be missing or empty, of what can be read of the
 * one in the directory damaged, without LMDB and without writing to that: pending writes first, then
 * refused ones, documents, targets, trees, and the rest. Index definitions are kept. Where
 * something is lost, targets have no resume token and tracked queries are not complete, so that a
 * backend sends all of them again. What clients of a shared store tell each other is left out.
 * Beside the target there has to be room for the damaged store's size twice. Progress in bytes, read
 * and written. LARDER_OK also when things are lost: report says so. E_LOCKED while another process
 * has the store open, E_ALREADY_OPEN while this one has, E_NO_STORE, E_EXISTS. */
LARDER_API int32_t larder_salvage(const char *damaged, const char *target,
                                  larder_progress_function progress, void *context,
                                  larder_salvage_report *report, larder_error *error);

typedef struct larder_pages_report {
    size_t struct_bytes;
    int64_t page_count; /* of the data file */
    int64_t tree_count; /* pages of trees and of large values that were verified */
    int64_t free_count; /* listed as free */
    int64_t row_count;
    int64_t record_count; /* of the log after the checkpoint */
    int64_t problem_count;
    uint64_t commit_number; /* the last one, as the log or the newer meta page says */
} larder_pages_report;

/* what, of a table ("" for none): on a page, or UINT64_MAX. Other than 0 stops. */
typedef int32_t (*larder_page_problem_function)(void *context, uint64_t page, const char *table,
                                                const char *message);

/* Verifies the pages of the store in a directory, the rows' checksums and the write-ahead log, reading
 * the files alone: no LMDB, no lock, nothing written, and an answer whatever they hold. While another
 * process writes to the store it may find problems that are none. LARDER_OK: none; LARDER_E_CORRUPT:
 * problem_count says how many. E_NO_STORE, E_FOREIGN_FILE, E_IO. problem and progress (bytes) may
 * be NULL. */
LARDER_API int32_t larder_check_pages(const char *path, larder_page_problem_function problem,
                                      larder_progress_function progress, void *context,
                                      larder_pages_report *report, larder_error *error);

#ifdef __cplusplus
}
#endif

#endif /* LARDER_H */

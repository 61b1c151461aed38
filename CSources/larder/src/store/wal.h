/*
 * wal.h - the write-ahead log: what a commit promises, on disk with one flush.
 *
 *   wal.c             the file: headers, and reading records
 *   wal_record.c      a transaction's record, and appending it
 *   wal_checkpoint.c  checkpoints, pins, what a write transaction begins with
 *   wal_pages.c       images of the checkpoint's pages that commits replace
 *   wal_judge.c       what the files say of each other, and what follows
 *   wal_recover.c     opening: the map as it was at the checkpoint, then the log's records
 *   wal_copy.c        stores that are only read, and copies
 *
 * LMDB commits without flushing. A commit first appends a record of its changed rows to the log
 * and flushes that, then commits to LMDB, and only then is it acknowledged. A checkpoint flushes
 * the map as of some commit and writes a header with that commit's meta page. From then on no page
 * of that commit is lost before the next checkpoint: before LMDB uses one again, its image is in
 * the log; or LMDB does not use it, because a read transaction of ours, the pin, needs it. After a
 * crash the images and the meta page are put back, which makes the map exactly the checkpoint's
 * whatever else reached the disk, and the records are applied.
 *
 *   DIR/data.wal   | header 0 | header 1 | record ... | free ... | record ... |
 *                  0          4096       8192                                 capacity_bytes
 *
 *   header  checksum 4 | magic 4 | version 4 | state 4 | sequence 8 | salt 8 | capacity 8 |
 *           start 8 | commit 8 | chain 4 | page size 4 | root checksum 4 | flags 4 | meta page 136
 *           flags: 1: each commit is in the log, or its mark is, before it is in the map
 *   record  checksum 4 | magic 4 | salt 8 | commit 8 | place 8 | chain 4 | 0 4 | payload bytes 8 |
 *           oldest 8 | 0 8 | payload | 0 ... to a multiple of 4096
 *           oldest: the sequence of the first header that recovery may begin at to reach it; an
 *           earlier one's pages are no longer protected. 0: not known
 *           without a payload: the mark of a commit that is a checkpoint by itself
 *   payload change ...; change: table 1 | kind 1 | key bytes, varint | key |
 *           but for kind 1 (remove): value bytes, varint | value
 *           kind 0: put. Kind 2: the image of a page; the key is its number 8, the table 0
 *
 * Invariants:
 *   - the newest header that is valid is the current one; header n lies in block n % 2, and is
 *     flushed before header n + 1 is begun and before the space that it frees is written;
 *   - a checksum, a CRC-32C, covers all that follows it; a record's chain is the checksum of the
 *     record before it, the first one's that of the header; salt, commit and place are those
 *     expected. Rows have a faster checksum (bytes.h), which does not see every torn record: with a
 *     text of one letter, sectors of zeros cancel each other out in its four parts;
 *   - a record begins in a block of its own, so that a write never touches an older record;
 *   - the record after one lies behind it or, where it did not fit there, in the first block, and then
 *     none of the same commit lies behind it;
 *   - the record of a commit, or its mark, is on disk before the commit's meta page is written; the
 *     data file has the checkpoint's meta page or a later one before the header is written.
 *
 * Rejected: records of pages alone (a small commit changes 14 pages, and the log would be 15 times
 * as long); a map opened with MDB_NOSYNC alone (a power cut mixes pages of several commits).
 */
#ifndef LARDER_WAL_H
#define LARDER_WAL_H

#include "file.h"
#include "internal.h"

#define LARDER__WAL_FILE "data.wal"
#define LARDER__WAL_BLOCK 4096
#define LARDER__WAL_FIRST (2 * LARDER__WAL_BLOCK) /* where records begin */
#define LARDER__WAL_RECORD_HEAD 64
#define LARDER__WAL_META 136
#define LARDER__WAL_STAMP_AT                                                                       \
    8 /* in it: the address of a map at a fixed place, which nobody asks for */
#define LARDER__WAL_MAGIC_RECORD UINT32_C(0x5257444c) /* "LDWR" */
#define LARDER__WAL_PART (UINT64_C(256) << 10)        /* part_bytes, but for tests */
#define LARDER__WAL_PAGE_MAX 65536
#define LARDER__WAL_IMAGES_MAX 64 /* in a record; where more are needed, a pin costs less */
#define LARDER__WAL_SMALLEST (UINT64_C(64) << 10)
#define LARDER__WAL_DEFAULT (UINT64_C(16) << 20)
#define LARDER__WAL_DEFAULT_LEAST (UINT64_C(2) << 20) /* with a small budget */
#define LARDER__WAL_LARGEST (UINT64_C(1) << 30)

typedef enum larder__wal_state {
    LARDER__WAL_ACTIVE = 0,
    /* The data file was flushed in full and stands alone: a copy, or a log that is being made. */
    LARDER__WAL_UNUSED = 1,
    /* As active; the store was closed, and nothing was appended behind the checkpoint: opening
     * need not look for records of which an earlier one is damaged. */
    LARDER__WAL_CLOSED = 2
} larder__wal_state;

typedef struct larder__wal_header {
    larder__wal_state state;
    uint64_t sequence;
    uint64_t salt;
    uint64_t capacity_bytes;
    uint64_t start; /* of the first record after the checkpoint */
    uint64_t commit;
    uint32_t chain;
    uint32_t page_bytes;
    uint32_t root_checksum; /* of the page that LMDB's table of tables begins in */
    bool has_marks;         /* a version wrote it that marks commits which are checkpoints */
    uint8_t meta[LARDER__WAL_META];
} larder__wal_header;

/* Behind the record of a commit. */
typedef struct larder__wal_place {
    uint64_t commit;
    uint64_t end;
    uint32_t chain;
} larder__wal_place;

typedef enum larder__wal_kind {
    LARDER__WAL_PUT = 0,
    LARDER__WAL_REMOVE = 1,
    LARDER__WAL_PAGE = 2
} larder__wal_kind;

/* In a record; borrowed from it. */
typedef struct larder__wal_change {
    uint8_t table;
    larder__wal_kind kind;
    larder_bytes key, value; /* of a page: its number, its image */
} larder__wal_change;

/* What the files of a store say before one of them is changed. */
typedef struct larder__wal_meta_page {
    bool is_whole;       /* LMDB takes it for a meta page, and it is in its place */
    bool is_checkpoints; /* it is the one in the header */
    bool is_of_log;      /* it has the header's stamp, or that of a recovery from it */
    uint64_t commit;
} larder__wal_meta_page;

typedef struct larder__wal_facts {
    larder__wal_header header; /* of the valid ones the newer */
    bool other_is_valid;       /* the header before it; or there was none */
    larder__wal_place last;    /* behind the last record that the header leads to */
    bool is_outdated;          /* a record does not follow from a header as old as this */
    bool has_mark;             /* the commit behind the last record was to be a checkpoint */
    uint64_t latest;           /* of the whole records of later commits; 0: there is none */
    larder__wal_meta_page metas[2];
    bool has_root;       /* the data file has the root page that the header refers to */
    bool has_root_image; /* the log does: the page was to be written over */
} larder__wal_facts;

/* What follows from the facts. */
typedef enum larder__wal_verdict {
    LARDER__WAL_CLEAN,   /* the map is at the checkpoint, and there are no records */
    LARDER__WAL_RECOVER, /* the map of the checkpoint is put back, and the records are applied */
    LARDER__WAL_RECORD_LOST, /* a record cannot be read, and a later one can */
    LARDER__WAL_COMMIT_LOST, /* the data file has a commit after the log's last one */
    LARDER__WAL_HEADER_LOST, /* the newest header cannot be read, and recovery needs it */
    LARDER__WAL_DATA_OLDER,  /* the data file is older than the checkpoint */
    LARDER__WAL_DATA_APART,  /* there was a recovery between the data file's time and the log's */
    LARDER__WAL_DATA_FOREIGN /* the data file is damaged or another store's */
} larder__wal_verdict;

/* A commit that can become a checkpoint. The pin, if any, keeps its pages and later ones. */
typedef struct larder__wal_point {
    larder__wal_place place;
    MDB_txn *pin;
    uint8_t meta[LARDER__WAL_META];
    uint32_t root_checksum;
    bool is_log_full; /* it was the reason: a larger one is wanted */
} larder__wal_point;

struct larder__wal {
    int file;
    uint64_t capacity_wanted; /* the largest capacity */
    /* As the writer, or while the store is opened or closed. */
    larder__wal_place last; /* of the last commit that this process knows */
    larder__wal_place next; /* of the record that was appended and is not yet committed */
    bool last_is_known;
    bool is_alone;          /* when the store was opened */
    bool has_header;        /* there was a log */
    bool is_recovering;     /* the map was not at the last commit */
    bool was_damaged;       /* a meta page was */
    bool is_ready;          /* opened in full */
    bool is_closed;         /* the header says so; before the first record */
    larder__buffer records; /* to be applied */
    larder__buffer undo;    /* what opening has written over: bytes, at 8, size 8; each */
    int64_t undo_size;      /* of the data file before; 0: opening has not written yet */
    uint64_t salt;          /* of the current header */
    int64_t kept_bytes;     /* of replaced pages, by a pin, since a checkpoint was captured */
    int64_t row_bytes;      /* what the rows take */
    bool is_cramped;        /* the disk was full */
    bool is_small;          /* a record did not fit the log */
    uint64_t part_bytes;    /* a larger record is written in parts; tests set less */
    int without_parts;      /* transactions left, this one included, before parts are tried again */
    bool failed; /* a header could not be written, or flushed: only opening again helps */

    /* As the writer: images (wal_pages.c). */
    bool is_imaging; /* since the last checkpoint that was captured, with each commit */
    MDB_txn *reader; /* reads LMDB's table of free pages, and is reset between; NULL: shared */
    uint64_t *settled_pages; /* a bit each, of page_count: needs no image */
    size_t settled_bytes;
    uint64_t page_count;
    uint64_t imaged[LARDER__WAL_IMAGES_MAX]; /* in the record to be committed */
    size_t imaged_count;
    uint64_t deferred[LARDER__WAL_IMAGES_MAX]; /* to be in the next record */
    size_t deferred_count;
    bool has_many; /* more than that are needed */

    pthread_mutex_t lock;      /* guards what follows */
    larder__wal_header header; /* the current one */
    uint64_t oldest;           /* the first header whose pages are protected up to now */
    bool header_is_flushed;
    MDB_txn *pin; /* NULL: none of this process, or images do */
    uint64_t pin_sequence;
    uint64_t seen_commit;        /* the last one after which the pin was looked at */
    bool is_running, is_started; /* the thread of a checkpoint; started: to be joined */
    pthread_t thread;
    larder__wal_point point; /* what it writes */
    uint64_t checkpoint_count, recovered_count, image_count, part_count;
};

/* ---- the file (wal.c) ---- */

static inline uint64_t larder__wal_whole_blocks(uint64_t size_bytes) {
    return (size_bytes + LARDER__WAL_BLOCK - 1) / LARDER__WAL_BLOCK * LARDER__WAL_BLOCK;
}
/* Writes all of it. 0 or errno. */
int larder__wal_write_at(int file, const uint8_t *data, size_t size, uint64_t at);
/* The error for an errno: "DOING the write-ahead log: ...". */
int32_t larder__wal_fail(larder_error *error, int code, const char *doing);
/* Reads both headers. OK; NOT_FOUND: neither is valid. *other_is_valid: the one before is valid as
 * well, or there was none. */
int32_t larder__wal_read_headers(int file, larder__wal_header *header, bool *other_is_valid,
                                 larder_error *error);
int32_t larder__wal_read_header(int file, larder__wal_header *header, larder_error *error);
/* Writes it in its block and flushes. 0 or errno. */
int larder__wal_write_header(int file, const larder__wal_header *header);
/* Extends a file with zeros that are on disk. 0 or errno. */
int larder__wal_fill(int file, uint64_t from, uint64_t to);
uint64_t larder__wal_new_salt(void);

/* Reads the record behind *place, whose payload is appended to payload (nullable: then the
 * checksum is not verified), and moves *place behind it. OK, < 0, or *place stays: LARDER_END: there is
 * none; LARDER_MORE: the commit is marked as a checkpoint by itself; LARDER_STOPPED: the record does not
 * follow from a header as old as this. */
int32_t larder__wal_next(int file, const larder__wal_header *header, larder__wal_place *place,
                         larder__buffer *payload, larder_error *error);

/* The size, with its head, of the record that begins at a place of a file of so many bytes, whichever
 * commit it is of and whether or not it is whole; 0: there is none. */
uint64_t larder__wal_size_of_any(const uint8_t *head, uint64_t at, uint64_t file_bytes);
/* What its head says. */
static inline uint64_t larder__wal_salt_of(const uint8_t *head) { return larder__load64(head + 8); }
static inline uint64_t larder__wal_commit_of(const uint8_t *head) {
    return larder__load64(head + 16);
}
static inline uint32_t larder__wal_chain_of(const uint8_t *head) {
    return larder__load32(head + 32);
}
static inline uint64_t larder__wal_oldest_of(const uint8_t *head) {
    return larder__load64(head + 48);
}
/* Whether it is the head of a mark; size is what larder__wal_size_of_any says. */
static inline bool larder__wal_is_mark(uint64_t size) { return size == LARDER__WAL_RECORD_HEAD; }

/* The latest commit after one that a whole record is of, wherever that lies; 0: there is none. */
int32_t larder__wal_find_latest(int file, uint64_t commit, larder__buffer *scratch,
                                uint64_t *latest, larder_error *error);

/* The change at *at, and moves behind it; false: there is none that can be read. */
bool larder__wal_next_change(const uint8_t **at, const uint8_t *end, larder__wal_change *change);
/* The number of a page with an image. */
static inline uint64_t larder__wal_page_of(const larder__wal_change *change) {
    return change->key.size_bytes == 8 ? larder__load64(change->key.data) : UINT64_MAX;
}

/* ---- a transaction's record (wal_record.c) ---- */

/* Adds a change to the transaction's record, before LMDB makes it; false: no memory. Beyond a
 * limit the record is given up, and the commit becomes a checkpoint. */
bool larder__wal_put(larder_txn *txn, larder__table table, larder_bytes key, larder_bytes value);
bool larder__wal_remove(larder_txn *txn, larder__table table, larder_bytes key);
/* The image of a page, to the end of a record that has changes. */
bool larder__wal_note_image(larder_txn *txn, larder_bytes number, larder_bytes image);
/* The size so far, with the head. */
static inline uint64_t larder__wal_record_bytes(const larder_txn *txn) {
    return txn->redo.written_bytes + txn->redo.rest.size_bytes;
}
/* Takes back the one change that was added since the record had so many bytes. */
void larder__wal_take_back(larder_txn *txn, uint64_t record_bytes);
/* Appends and flushes the transaction's record. OK; LARDER_MORE: it does not fit the log; < 0 */
int32_t larder__wal_append(larder_txn *txn, larder_error *error);
/* Appends and flushes the mark of a commit, without a record, after the last one. LARDER_MORE: there is no
 * room for it, or the log's end is not known. */
int32_t larder__wal_append_mark(larder_env *env, uint64_t commit, larder_error *error);
/* LMDB has made the commit whose record was appended. */
void larder__wal_committed(larder_txn *txn);
/* The commit whose record was appended failed: the record must not be applied. */
void larder__wal_withdraw(larder_txn *txn);

/* ---- images of pages (wal_pages.c) ---- */

/* Begins with the commit that read sees, whose meta page is given. False: it has to be pinned. */
bool larder__wal_begin_images(larder_env *env, MDB_txn *read, const uint8_t meta[]);
/* Adds to the transaction's record the pages that the commit before it replaced. LARDER_MORE: that
 * cannot be done, and they have to be pinned; a part of them may be added. */
int32_t larder__wal_add_images(larder_txn *txn);
/* A checkpoint of the last commit is about to be written, and the one before is needed until then:
 * the next record gets images of what the commit replaced. False: it has to be pinned. */
bool larder__wal_defer_images(larder__wal *wal, uint64_t commit);
/* Adds the pages that the last commit replaced to what makes a checkpoint due, where there is a pin. */
void larder__wal_count_kept(larder_txn *txn);
/* The record with the images is committed. */
void larder__wal_settle_images(larder__wal *wal);
/* The first image of a page in the records that were read. */
bool larder__wal_find_image(const larder__buffer *records, uint64_t page, larder_bytes *image);
/* Writes the first image of each page to its place. 0 or errno. */
int larder__wal_restore_pages(larder_env *env, int data_file);

/* ---- checkpoints (wal_checkpoint.c) ---- */

/* What a write transaction begins with, as LMDB's writer: the log's end, a pin, and a checkpoint
 * when one is due. */
int32_t larder__wal_begin(larder_txn *txn, larder_error *error);
/* Finds the free space behind the last record where at least so many bytes (not 0) fit; it begins
 * at *at. Returns its size, which checkpoints only make larger; 0: there is none. */
uint64_t larder__wal_find_room(larder__wal *wal, uint64_t least_bytes, uint64_t *at);
/* Of the file, with its headers. */
uint64_t larder__wal_capacity(larder__wal *wal);
/* Whether the next checkpoint can make the log larger. */
bool larder__wal_can_grow(larder_env *env);
/* Writes a checkpoint of the commit before the open write transaction, and waits for it. */
int32_t larder__wal_checkpoint(larder_env *env, MDB_txn *writing, larder_error *error);
/* The same of the last commit, with no transaction open. */
int32_t larder__wal_checkpoint_last(larder_env *env, larder_error *error);
/* Writes the current header with another state. 0 or errno. */
int larder__wal_mark(larder_env *env, larder__wal_state state);
/* Commits to LMDB a transaction whose record does not fit, and writes a checkpoint. */
int32_t larder__wal_commit_whole(larder_env *env, MDB_txn *txn, larder_error *error);
/* Waits for the checkpoint's thread. */
void larder__wal_wait(larder_env *env);
/* The page of LMDB's meta structure for a commit that cannot change now, and the checksum of
 * the root page that it refers to. */
int larder__wal_capture(larder_env *env, uint64_t commit, uint8_t meta[LARDER__WAL_META],
                        uint32_t *root_checksum);
int larder__wal_root_checksum(int data_file, const uint8_t meta[LARDER__WAL_META],
                              uint32_t page_bytes, uint32_t *checksum);
/* LMDB uses no page again that a commit replaces from the open write transaction's predecessor on,
 * until the next checkpoint. 0 or LMDB's code. */
int larder__wal_pin(larder_env *env);
/* Read transactions of this process that are the log's. */
uint32_t larder__wal_reader_count(larder_env *env);
/* Releases the pin, as LMDB's writer or with nobody else. */
void larder__wal_unpin(larder_env *env);
/* A read transaction of a shared store saw a commit: releases a pin that a newer checkpoint of
 * another process has made useless. */
void larder__wal_saw_commit(larder_env *env, uint64_t commit);

/* ---- before opening (wal_judge.c) ---- */

/* Reads what the two files say, without writing; the records' payloads go to *records. OK; NOT_FOUND: no
 * header is valid. Of an unused log the data file is not looked at. */
int32_t larder__wal_look(int log, int data_file, larder__wal_facts *facts, larder__buffer *records,
                         larder_error *error);
/* The same by name, and what follows. *has_log: there is a valid header. A data file that is missing beside
 * one that is in use: E_CORRUPT. */
int32_t larder__wal_look_at(const char *directory, const larder_allocator *allocator,
                            larder__wal_facts *facts, larder__wal_verdict *verdict, bool *has_log,
                            larder_error *error);
/* The highest commit that a whole meta page gives. */
uint64_t larder__wal_newest(const larder__wal_facts *facts);
larder__wal_verdict larder__wal_judge(const larder__wal_facts *facts);
/* The stamp in a meta structure; and that which a recovery writes. */
static inline uint64_t larder__wal_stamp_in(const uint8_t meta[LARDER__WAL_META]) {
    return larder__load64(meta + LARDER__WAL_STAMP_AT);
}
uint64_t larder__wal_next_stamp(const larder__wal_header *header, const larder__wal_place *last);
static inline bool larder__wal_is_refused(larder__wal_verdict verdict) {
    return verdict > LARDER__WAL_RECOVER;
}
/* The error for a store that is refused. */
int32_t larder__wal_refuse(const larder__wal_facts *facts, larder__wal_verdict verdict,
                           const char *directory, larder_error *error);

/* ---- opening (wal_recover.c) ---- */

/* Before LMDB maps the data file in directory: opens the log, and when this is the only process
 * that uses the store puts the checkpoint's map back where it has gone on. Refuses a store whose
 * files do not say the same; nothing is written then. */
int32_t larder__wal_open(larder_env *env, const char *directory, bool is_alone,
                         larder_error *error);
/* Writes to the data file before LMDB maps it; larder__wal_undo takes it back. 0 or errno. */
int larder__wal_overwrite(larder__wal *wal, int data_file, larder_bytes bytes, uint64_t at);
/* With LMDB closed: after an opening that failed, the data file becomes what it was. */
void larder__wal_undo(larder_env *env);
/* With the tables open: applies the records, or begins a log where there is none. */
int32_t larder__wal_recover(larder_env *env, larder_error *error);
/* The error for a store of format 2 without its log. */
int32_t larder__wal_is_missing(const larder_env *env, larder_error *error);
/* With LMDB still open: a checkpoint, when there was a commit since the last; the pin goes. */
void larder__wal_close(larder_env *env);
/* With LMDB closed: releases memory and the descriptor. */
void larder__wal_release(larder_env *env);

/* ---- reading, and copies (wal_copy.c) ---- */

/* Whether a store can be read without its log being applied: the log is empty or unused, or there
 * is none, as was right before format 2. Refuses as larder__wal_open does. */
int32_t larder__wal_is_clean(const char *directory, bool *is_clean, bool *has_log,
                             larder_error *error);
/* Copies the files to a directory of their own, to be recovered there for reading. Another process may
 * write meanwhile; E_BUSY: it does so too often. */
int32_t larder__wal_copy_aside(const larder_env *env, char path[LARDER__MEMORY_PATH_MAX],
                               larder_error *error);
/* The log of a copy, whose data file stands alone. 0 or errno. */
int larder__wal_make_unused(const char *directory);

#endif

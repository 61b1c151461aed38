/*
 * harvest.h - rows of a damaged store, gathered in a store of their own.
 *
 *   harvest.c        the gathered rows, and which keys are known to be lost
 *   harvest_log.c    the log: its records, and rows in what is left of damaged ones
 *   harvest_tree.c   the trees that a meta page leads to
 *   harvest_scan.c   the pages that no tree leads to
 *   harvest_names.c  names whose row is lost and another row knows
 *
 * Sources come in this order, and the first one that has a row, or its removal, decides:
 *
 *   1. whole records of the log after the base, the newest first
 *   2. the base: the tree of the checkpoint, or of the data file's newer meta page where that is a later
 *      one, or where the files contradict each other on the checkpoint (wal_judge.c)
 *   3. the trees of the other meta pages, the newest first
 *   4. what is left of damaged records
 *   5. older records of the log, the newest first
 *   6. pages that no tree leads to, and the log's images of pages
 *
 * From 3 on a row is guessed: it may be an older one, or have been removed. So it is taken only
 * where the base has lost something: keys between two separators whose page is damaged, a table with
 * fewer rows than its record says, a batch that is mentioned and not there. Ids of
 * batches and of a tree's pending writes are never used twice, so one above all those of the base
 * is taken as well: it was written later.
 *
 * The gathered rows are an LMDB file of ours with the tables of a store, which is then read as one.
 */
#ifndef LARDER_HARVEST_H
#define LARDER_HARVEST_H

#include "evidence.h"
#include "store/page.h"

#define LARDER__VIEWS_MAX 3

/* A record of the log, found by its head. */
typedef struct larder__found_record {
    uint64_t at;         /* of its head in the log's bytes */
    uint64_t size_bytes; /* with its head */
    uint64_t commit, salt;
    bool is_whole;
} larder__found_record;

typedef struct larder__found_log {
    larder__buffer bytes; /* all of the file */
    bool has_header;
    larder__wal_header header;
    larder__buffer records;  /* larder__found_record each, by place */
    larder__buffer images;   /* larder__image each, by number: the checkpoint's */
    uint64_t last_commit;    /* of the records that follow the header without a gap */
    larder__wal_facts facts; /* with the data file's */
    larder__wal_verdict verdict;
} larder__found_log;

/* Keys of a table that a tree has lost, in order. */
typedef struct larder__lost_keys {
    bool is_all;
    bool is_unordered; /* a range begins before the one before it */
    larder__buffer ranges, keys;
} larder__lost_keys;

/* Where a view begins. */
typedef struct larder__view_root {
    larder__meta meta;
    uint64_t commit;    /* of the map */
    uint64_t last;      /* with what the log adds to it */
    bool is_checkpoint; /* the log's images stand for pages */
} larder__view_root;

typedef struct larder__harvest {
    const larder_allocator *allocator;
    int32_t status; /* of the first failure; everything ends after it */
    larder_error error;

    larder__pages pages;
    larder__found_log log;
    uint8_t *seen;                     /* a bit a page: a tree leads to it, and it is whole */
    larder__buffer tails;              /* uint64_t each: places in the file behind large values */
    uint64_t base_commit, last_commit; /* of the base; with the log's */
    bool has_base;                     /* a base snapshot exists; its intact key ranges are known */
    bool is_base_last;                 /* and no later one can have been lost */
    larder__lost_keys lost[LARDER__TABLE_COUNT];
    uint64_t base_next_batch; /* the id after the last of the base; 0: not known */

    MDB_env *mdb;
    MDB_txn *txn;
    int64_t waiting; /* rows in it */
    MDB_dbi tables[LARDER__TABLE_COUNT];
    MDB_dbi removed; /* table, key: a record of the log removed it */
    MDB_dbi guessed; /* table, key */
    MDB_dbi missed;  /* table, key: another row mentions it */
    MDB_dbi highest; /* tree: the highest id of its pending writes in the base */
    bool has_removed, has_missed;
    bool is_in_base; /* it is being walked */
    int64_t row_count[LARDER__TABLE_COUNT], guessed_count[LARDER__TABLE_COUNT];
    int64_t damaged_count[LARDER__TABLE_COUNT]; /* rows of the base that are not whole */
    uint64_t gathered_bytes;

    int64_t damaged_page_count, damaged_record_count;
    larder_progress_function progress;
    void *context;
    int64_t done_bytes, total_bytes;
} larder__harvest;

typedef enum larder__grade {
    LARDER__GRADE_SURE,  /* of a whole record of the log, or of the base */
    LARDER__GRADE_GUESS, /* only where something is lost */
    LARDER__GRADE_LATER  /* the same; it was written after the base, if it was */
} larder__grade;

#define LARDER__GUESSED_TABLE "salvage_guessed"

/* Opens the files of a directory for reading, and reads the log. Free it in any case. */
int32_t larder__harvest_open_files(larder__harvest *harvest, const char *directory,
                                   const larder_allocator *allocator, larder_error *error);
/* Gathers what the files in a directory have, in an LMDB file in another one. */
int32_t larder__harvest_make(const char *directory, const char *into,
                             const larder_allocator *allocator, larder_progress_function progress,
                             void *context, larder__harvest *harvest, larder_error *error);
/* Closes the LMDB file; what is lost is still known. */
void larder__harvest_close(larder__harvest *harvest);
void larder__harvest_free(larder__harvest *harvest);
/* Whether all rows of a table are known to be there: none is lost, damaged or guessed. */
bool larder__harvest_is_whole(const larder__harvest *harvest, larder__table table);

/* harvest.c */
void larder__harvest_fail(larder__harvest *h, int code, const char *doing);
void larder__harvest_fail_memory(larder__harvest *h);
/* Of what old pages have. */
static inline larder__grade larder__harvest_grade_of_pages(const larder__harvest *h) {
    return h->is_base_last ? LARDER__GRADE_GUESS : LARDER__GRADE_LATER;
}
/* Takes a row that is whole, unless there is one or its removal is known. */
void larder__harvest_take(larder__harvest *h, larder__table table, larder_bytes key,
                          larder_bytes value, larder__grade grade);
/* Takes a row of any table that proves itself; false: it does not. */
bool larder__harvest_take_proved(larder__harvest *h, larder_bytes key, larder_bytes value,
                                 larder__grade grade);
/* A removal by a whole record. */
void larder__harvest_remove(larder__harvest *h, larder__table table, larder_bytes key);
/* The base lacks keys from low on and below high, which is NULL for the last ones. */
void larder__harvest_lose(larder__harvest *h, larder__table table, larder_bytes low,
                          const larder_bytes *high);
void larder__harvest_lose_all(larder__harvest *h, larder__table table);
/* Whether the base may have lost a key. */
bool larder__harvest_is_lost(const larder__harvest *h, larder__table table, larder_bytes key);
bool larder__harvest_has(larder__harvest *h, larder__table table, larder_bytes key);
/* In the same or a later transaction of LMDB's that has the table open. */
bool larder__harvest_is_guessed(const larder__harvest *h, MDB_txn *txn, MDB_dbi guessed,
                                larder__table table, larder_bytes key);
/* Writes what waits. */
void larder__harvest_commit(larder__harvest *h);
/* Adds to the bytes that were read. */
void larder__harvest_report(larder__harvest *h, uint64_t bytes);
static inline bool larder__harvest_goes_on(const larder__harvest *h) {
    return h->status == LARDER_OK;
}

/* The roots in the log's header and in the meta pages, the best first: the base. */
size_t larder__harvest_list_roots(const larder__pages *pages, const larder__found_log *log,
                                  larder__view_root list[LARDER__VIEWS_MAX]);

/* harvest_log.c */
void larder__harvest_read_log(larder__harvest *h, const char *directory);
/* The last commit that the header or a record with its salt names; 0: no header is in use, or the
 * log's end is missing. */
uint64_t larder__found_log_newest(const larder__found_log *log);
/* Commits after one that no whole record has, up to the last that one or the header has. */
uint64_t larder__found_log_gaps(const larder__found_log *log, uint64_t commit, uint64_t *last);
/* The whole records after a commit; those up to it, guessed; damaged ones. */
void larder__harvest_newer_records(larder__harvest *h, uint64_t commit);
void larder__harvest_older_records(larder__harvest *h, uint64_t commit);
void larder__harvest_damaged_records(larder__harvest *h);
/* Calls a function for each image of a page in whole records. */
typedef void (*larder__image_function)(larder__harvest *h, const uint8_t *bytes);
void larder__harvest_each_image(larder__harvest *h, larder__image_function visit);

/* harvest_tree.c: all tables that a root leads to; of the base, or guessed. */
void larder__harvest_walk(larder__harvest *h, const larder__root *tables, bool has_images,
                          bool is_base);
/* The commit that the counters of a tree are of; 0: they cannot be read. The number of a meta page has no
 * checksum. */
uint64_t larder__harvest_commit_of(const larder__pages *pages, const larder__root *tables);
/* harvest_scan.c */
void larder__harvest_scan(larder__harvest *h);
/* harvest_names.c */
void larder__harvest_mend_names(larder__harvest *h);

#endif

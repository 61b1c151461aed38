/*
 * copy.h - what copies of a store share: the snapshot, and the directory that one is made in (copy.c,
 * compact.c).
 */
#ifndef LARDER_COPY_H
#define LARDER_COPY_H

#include "page.h"

#define LARDER__COPY_PATH 4096

typedef struct larder__copy {
    larder_env *env;
    const larder_txn *from; /* the snapshot */
    larder__pages pages;    /* those of the data file up to its last one; LMDB's file */
    uint8_t meta_bytes[LARDER__WAL_META]; /* its meta structure */
    larder__meta meta;
    char partial[LARDER__COPY_PATH]; /* where the copy is made */
    larder_progress_function progress;
    void *context;
    int64_t done, total;
} larder__copy;

/* Adds to the progress; LARDER_STOPPED. */
int32_t larder__copy_report(larder__copy *c, int64_t more, larder_error *error);
/* A page of the store's is damaged: writes are refused from here on. table may be "". */
int32_t larder__copy_damage(larder__copy *c, uint64_t page, const char *table, const char *what,
                            larder_error *error);
/* Fills the data file of a compacted copy. */
int32_t larder__copy_rows(larder__copy *c, larder_error *error);

#endif

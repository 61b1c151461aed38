/*
 * store.h - stores in tests: opening, transactions that must work, records, damage.
 *
 * Functions named store_... report a failed check by themselves and go on; a NULL handle makes
 * the calls that follow fail with a status, not crash.
 */
#ifndef LARDER_TEST_STORE_H
#define LARDER_TEST_STORE_H

#include "test.h"

/* In memory. */
larder_env *store_open(void);
/* In a directory; what it logs is dropped, because tests cause damage on purpose. */
larder_env *store_open_at(const char *path);
/* Also checks that nothing is left open in the process. */
void store_close(larder_env *env);

larder_txn *store_write(larder_env *env);
const larder_txn *store_read(larder_env *env);
void store_commit(larder_txn *txn);

/* larder_check on a fresh read transaction, with every problem as a failure. */
void store_check(larder_env *env);
/* The ids of the user's batches that touch a document, in order; at most capacity. */
size_t store_batches_touching(const larder_txn *txn, larder_bytes user, larder_bytes name,
                              int64_t *ids, size_t capacity);
/* The counters of a fresh read transaction. */
larder_stat store_stat(larder_env *env);

/* A plain record {"n": number, "text": text}; borrowed until the next call. */
larder_bytes store_record(int64_t number, const char *text);
/* Whether a record in the store equals that; it is loaded when it is cold. */
bool store_record_is(const larder_record *record, larder_bytes plain);

/* Turns over the lowest bit of one byte of a row's value in a closed store: the row at
 * position (0: the first) of the table, the byte at the offset, from the end when negative. */
void store_damage(const char *path, const char *table, size_t position, ptrdiff_t offset);

/* After a change by LMDB alone to a closed store: its log would take that back, so that it gets
 * a new one. */
void store_replace_log(const char *path);

/* count bytes of fill; borrowed until the next call. For long names and payloads. */
char *store_fill(char fill, size_t count);

#endif

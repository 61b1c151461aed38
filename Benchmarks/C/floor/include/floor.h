/*
 * floor.h - what the Swift benchmarks use of the C ones: the workload's documents, and the
 * floor: hand-written loops over LMDB that hold the same documents and do nothing else.
 *
 *   floor_store.c   tables, filling, local writes        raw_decode.c   a whole record, decoded
 *   floor_reads.c   point reads, scans, index scans      workload.c     documents, random numbers
 *   floor_trees.c   trees of the Realtime Database
 *
 * A store may be shared by threads; a reader belongs to one thread at a time. A failure prints a
 * sentence and ends the program.
 */
#ifndef LARDER_BENCH_FLOOR_H
#define LARDER_BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the workload ---- */

/* Bytes that stay valid until the next call of the same function on the same thread. */
typedef struct workload_bytes {
    const void *data;
    size_t size;
} workload_bytes;

/* "cities/city000042"; to holds 32 bytes. The result is the length. */
size_t workload_name(int64_t i, char *to);
/* The document as raw record (raw_record.c) and as JSON (json.c). */
workload_bytes workload_raw_record(int64_t i);
workload_bytes workload_json(int64_t i);
/* Documents below n whose state is "CA". */
int64_t workload_matches(int64_t n);
/* count numbers below n, uniformly random, always the same ones. */
void workload_random(int64_t n, int64_t *to, size_t count);

/* Returns free heap memory to the system, so that the process's size means something. */
void workload_give_back_memory(void);

/* ---- the store ---- */

typedef struct floor_store floor_store;

/* Durable: each commit is on disk; otherwise MDB_NOMETASYNC. */
floor_store *floor_open(const char *directory, bool durable);
void floor_close(floor_store *s);
/* Documents 0 .. n-1 with indexes on state and population, 500 a commit. */
void floor_fill(floor_store *s, int64_t n);
/* Local writes of documents first .. first + count - 1, one a commit: a row of the queue and
 * one of the local view, as every client of this kind has to keep. */
void floor_write(floor_store *s, int64_t first, int64_t count);

/* ---- reading: each call is one read transaction, but floor_read, which renews it a document.
 * Every document that is found is decoded whole. The result is how many were. ---- */

typedef struct floor_reader floor_reader;

floor_reader *floor_reader_open(floor_store *s);
void floor_reader_close(floor_reader *reader);
int64_t floor_read(floor_reader *reader, const int64_t *numbers, size_t count);
int64_t floor_scan_state(floor_reader *reader);
int64_t floor_index_state(floor_reader *reader);
int64_t floor_scan_most_populous(floor_reader *reader, size_t count);
int64_t floor_index_most_populous(floor_reader *reader, size_t count);
int64_t floor_first(floor_reader *reader, size_t count);

/* ---- trees: rooms of messages, and scores (trees.h); raw LMDB keeps a row a leaf ---- */

enum { WORKLOAD_ROOM_MESSAGES = 100, WORKLOAD_MESSAGE_LEAVES = 5 };

/* "rooms/r0001/<push id>" of message i, and "scores/p000001"; to holds 64 bytes. The result is the
 * length. */
size_t workload_message_path(int64_t i, char to[64]);
size_t workload_score_path(int64_t i, char to[64]);
workload_bytes workload_message_json(int64_t i);
int64_t workload_score(int64_t i);

typedef struct floor_trees floor_trees;

floor_trees *floor_trees_open(const char *directory);
void floor_trees_close(floor_trees *t);
/* Messages 0 .. messages-1 and scores 0 .. scores-1. */
void floor_trees_fill(floor_trees *t, int64_t messages, int64_t scores);
/* Reads every leaf of a room, or of all rooms; the result is how many there are. */
int64_t floor_trees_read_room(floor_trees *t, int64_t room);
int64_t floor_trees_read_rooms(floor_trees *t);
/* Looks at every score; the sum of the four highest. */
int64_t floor_trees_highest_scores(floor_trees *t);

#endif

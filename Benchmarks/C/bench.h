/*
 * bench.h - what the parts of larder-bench share.
 *
 *   generator.c    the documents of the workload        sink.h     how a document is passed
 *   raw_record.c   tag/length/value bytes, a sink       json.c     JSON text, a sink
 *   larder_sink.c  Larder's plain records, a sink
 *   cities.c       real documents from an NDJSON file
 *   peer_*.c       Larder, raw LMDB and SQLite behind one table of functions
 *   writes.c commits.c reads.c disk.c
 *                  the operations                      measure.c  clocks, page cache, files
 *   trees.c        operations on the Realtime Database's trees: tree_workload.c, trees_*.c
 *   allocations.c  the malloc counter                   report.c   rows, ratios, limits, JSON
 *   stores.c       stores built for an operation        machine.c  what was measured on
 *   main.c         options
 *
 * A benchmark stops at the first failure: fail() prints a sentence and exits.
 */
#ifndef LARDER_BENCH_H
#define LARDER_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- bytes ---- */

typedef struct span {
    const char *data;
    size_t size;
} span;

typedef struct buffer {
    char *data;
    size_t size, capacity;
} buffer;
void buffer_reserve(buffer *b, size_t more);
void buffer_append(buffer *b, const void *data, size_t size);
void buffer_release(buffer *b);
void *bench_alloc(size_t size);

/* ---- clocks (seconds), measure.c ---- */

typedef struct stopwatch {
    double wall, processor;
} stopwatch;
stopwatch stopwatch_start(void);
stopwatch stopwatch_stop(stopwatch started); /* elapsed */
double thread_processor_seconds(void);

/* ---- files, measure.c ---- */

void remove_tree(const char *directory);
void make_directory(const char *directory);
void copy_directory(const char *from, const char *to); /* flat; lock files stay behind; synced */
int64_t directory_bytes(const char *directory);        /* without lock files */
bool path_exists(const char *path);
/* Writes the files of a closed store back and drops them from the page cache; the share of
 * pages that stayed is 0..1. */
double drop_from_page_cache(const char *directory);
/* Median microseconds of a 4 KiB overwrite (append false) or append with fdatasync. */
double fdatasync_us(const char *directory, bool append);

/* ---- allocations.c ---- */

/* Calls of malloc, calloc, realloc and the aligned ones since the program began, of all
 * libraries in the process; -1 where the C library offers no way to count. */
int64_t malloc_count(void);

/* ---- systems ---- */

enum { SYSTEM_LARDER, SYSTEM_RAW, SYSTEM_SQLITE, SYSTEM_COUNT };
typedef enum durability { EVERY_COMMIT, LAST_COMMIT_AT_RISK } durability;

typedef struct store_options {
    durability durability;
    bool read_ahead;    /* raw LMDB only: false opens with MDB_NORDAHEAD */
    uint64_t map_bytes; /* 0: the system's own default */
} store_options;

typedef enum read_mode {
    READ_ONE_TXN,  /* all reads in one read transaction */
    READ_EACH_TXN, /* a read transaction renewed or begun for each */
    READ_WHOLE     /* one transaction; every byte of the record brought out, uncompressed */
} read_mode;

/* Documents in one system's own form, ready to be stored. */
typedef struct prepared {
    size_t count;
    size_t capacity;
    span *names;
    span *bodies;
    buffer arena;
    size_t *offsets; /* in arena while it grows: name, body, name, body, ... end */
} prepared;
void prepared_clear(prepared *p);
void prepared_add(prepared *p, span name, span body);
void prepared_finish(prepared *p); /* names and bodies become valid */
void prepared_release(prepared *p);

typedef struct usage {
    int64_t file_bytes; /* what the files of the store occupy */
    int64_t used_bytes; /* of these, in pages that hold something */
} usage;

typedef struct evict_result {
    int64_t evicted_count;
    size_t step_count;
    double *step_processor_ms; /* to be freed by the caller */
} evict_result;

struct sink;
typedef struct store store;

typedef struct peer {
    const char *label;
    store *(*open)(const char *directory, const store_options *options);
    void (*close)(store *s);
    /* A sink that encodes one document; encoded() gives the bytes of the last one. */
    const struct sink *(*encoder)(void);
    span (*encoded)(void);
    /* An index on `state` of an empty store, maintained from now on. */
    void (*define_index)(store *s);
    /* The same over the documents that are there, in one transaction. */
    void (*build_index)(store *s);
    /* One transaction that inserts everything. */
    void (*insert)(store *s, const prepared *documents);
    /* Reads by name; the result is the number found. */
    int64_t (*read)(store *s, const span *names, size_t count, read_mode mode);
    /* Documents whose state is that code; candidates are all documents. */
    int64_t (*scan_state)(store *s, const char state[2]);
    int64_t (*index_state)(store *s, const char state[2]);
    /* Removes the documents, per_commit in each transaction. */
    void (*remove)(store *s, const span *names, size_t count, size_t per_commit);
    usage (*usage)(store *s);
    /* The system's own compacting copy, into an empty directory. */
    void (*compact)(store *s, const char *directory);
} peer;

extern const peer larder_peer, raw_peer, sqlite_peer;
extern const peer *const peers[SYSTEM_COUNT];

/* What only Larder does. */
evict_result larder_peer_evict_half(store *s);
bool larder_peer_has(store *s, span name);
/* A write that waits for a backend, and what the document is meanwhile: one commit. */
void larder_peer_local_write(store *s, span name, span body);
int64_t larder_peer_hook_count(void); /* calls of the allocator hook so far */
/* Calls of malloc, and of the hook, while a state scan ran over its candidates (in_scan, from
 * the first next to the last) and from opening to closing it (in_all). */
typedef struct scan_allocations {
    int64_t candidates;
    int64_t in_scan, in_all, hook_in_scan;
} scan_allocations;
scan_allocations larder_peer_scan_allocations(store *s, bool by_index);

/* ---- one run ---- */

typedef struct bench {
    const char *directory;
    const char *cities; /* NDJSON file, or NULL */
    int rounds;
    bool systems[SYSTEM_COUNT];
    bool reuse; /* keep and use again the stores built for reading */
    int64_t big_bytes;
    uint64_t map_bytes;
} bench;

typedef struct operation {
    const char *name;
    const char *summary;
    void (*run)(const bench *b, int64_t n);
    bool once; /* does not depend on N */
} operation;
extern const operation write_operations[], commit_operations[], read_operations[],
    disk_operations[], tree_operations[];

/* ---- stores.c ---- */

/* The store to read from: built on first use, with or without the state index. The path is
 * static until the next call. */
const char *base_store(const bench *b, int system, int64_t n, bool indexed);
/* A path below the run's directory; static until the fourth call after it. */
const char *bench_path(const bench *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
store_options bench_store_options(const bench *b, durability d);
/* Inserts documents 0 .. n-1, 500 a commit; elapsed time apart for encoding and storing. */
void ingest(const bench *b, const peer *p, store *s, int64_t n, stopwatch *encode,
            stopwatch *storing);
/* count names of documents below n, uniformly random. Freed by the caller, one block. */
span *random_names(int64_t n, size_t count);
/* The systems of a round in turn; the first differs from round to round. -1: left out. */
int system_in_turn(const bench *b, int round, int turn);
/* Documents below n whose state is the wanted one. */
int64_t expected_matches(int64_t n);
/* Fails unless what a system found is what it should have. */
void expect(int system, const char *what, int64_t found, int64_t expected);
/* Tells each document of an NDJSON file with its "id" as name to the system's encoder and
 * inserts it, 500 a commit, in the file's order or by name; the number of documents, and of
 * bytes of JSON. */
int64_t ingest_file(const char *path, int system, store *s, bool in_name_order,
                    int64_t *json_bytes);

/* ---- rows, report.c ---- */

typedef enum limit_kind {
    LIMIT_NONE,
    LIMIT_TO_RAW,    /* Larder's figure at most limit x raw LMDB's */
    LIMIT_TO_SQLITE, /* the same with SQLite */
    LIMIT_VALUE      /* Larder's figure itself */
} limit_kind;

typedef struct row_spec {
    const char *id;    /* for programs, e.g. "ingest.every-commit" */
    const char *title; /* for people */
    const char *unit;  /* "us", "ms", "bytes", "allocations" */
    limit_kind kind;
    double limit;
    enum {
        GROWTH_NONE,
        GROWTH_PER_DOCUMENT,
        GROWTH_WHOLE
    } growth; /* what figure is of: one
                    document of an operation over all of them, or one of a fixed number */
} row_spec;

/* Adds one round's figure of one system (wall) and its processor time (below 0: none). */
void row_add(const row_spec *spec, int64_t n, int system, double figure, double processor);
/* The same from elapsed time, per one of count, in the row's unit. */
void row_add_time(const row_spec *spec, int64_t n, int system, stopwatch elapsed, double count);
/* Prints the rows complete so far that were not printed yet. */
void report_rows(void);
/* The table of reach and limit, and the growth table; the number of rows that missed. */
int report_summary(void);
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_json(const char *path);
/* A JSON string. */
void json_text(FILE *file, const char *text);

/* ---- machine.c ---- */

/* Prints machine, versions and settings; machine_json gives them again as JSON members. */
void report_machine(const bench *b);
void machine_json(FILE *file);

#endif

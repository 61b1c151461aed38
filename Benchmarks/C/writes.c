/* writes.c - operations that write: ingest, building an index, eviction. */
#include "generator.h"

#include <stdlib.h>

/* ---- ingest: an empty store, one index, 500 documents a commit ---- */

static void ingest_rows(const bench *b, int64_t n, durability d, const row_spec *storing_spec,
                        const row_spec *both_spec) {
    for (int round = 0; round < b->rounds; round++) {
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            const peer *p = peers[system];
            const char *path = bench_path(b, "ingest");
            store_options options = bench_store_options(b, d);
            stopwatch encode, storing;
            store *s = p->open(path, &options);
            p->define_index(s);
            ingest(b, p, s, n, &encode, &storing);
            p->close(s);
            remove_tree(path);
            row_add_time(storing_spec, n, system, storing, (double)n);
            storing.wall += encode.wall;
            storing.processor += encode.processor;
            row_add_time(both_spec, n, system, storing, (double)n);
        }
    }
}

static void run_ingest(const bench *b, int64_t n) {
    static const row_spec every = {
        "ingest.every-commit", "ingest a document, every commit on disk", "us", LIMIT_TO_RAW, 2,
        GROWTH_PER_DOCUMENT};
    static const row_spec every_encoded = {"ingest.every-commit.encoding",
                                           "the same, encoding the document inside",
                                           "us",
                                           LIMIT_NONE,
                                           0,
                                           GROWTH_NONE};
    static const row_spec at_risk = {"ingest.last-commit-at-risk",
                                     "ingest a document, last commit at risk",
                                     "us",
                                     LIMIT_TO_RAW,
                                     2,
                                     GROWTH_PER_DOCUMENT};
    static const row_spec at_risk_encoded = {"ingest.last-commit-at-risk.encoding",
                                             "the same, encoding the document inside, at risk",
                                             "us",
                                             LIMIT_NONE,
                                             0,
                                             GROWTH_NONE};
    ingest_rows(b, n, EVERY_COMMIT, &every, &every_encoded);
    ingest_rows(b, n, LAST_COMMIT_AT_RISK, &at_risk, &at_risk_encoded);
}

/* ---- building an index over the documents of a store ---- */

static void run_index_build(const bench *b, int64_t n) {
    static const row_spec spec = {
        "index-build", "build an index, a document", "us", LIMIT_TO_RAW, 2, GROWTH_PER_DOCUMENT};
    for (int round = 0; round < b->rounds; round++) {
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            const peer *p = peers[system];
            const char *path = bench_path(b, "index-build");
            store_options options = bench_store_options(b, EVERY_COMMIT);
            copy_directory(base_store(b, system, n, false), path);
            store *s = p->open(path, &options);
            stopwatch started = stopwatch_start();
            p->build_index(s);
            row_add_time(&spec, n, system, stopwatch_stop(started), (double)n);
            expect(system, "index built", p->index_state(s, STATE_WANTED), expected_matches(n));
            p->close(s);
            remove_tree(path);
        }
    }
}

/* ---- eviction of half of the bytes; the others delete the same documents ---- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const row_spec evict_spec = {
    "evict", "evict a document (half of the store)", "us", LIMIT_TO_RAW, 2, GROWTH_PER_DOCUMENT};

/* A copy of the indexed base store, opened with each commit on disk. */
static store *open_copy(const bench *b, int system, int64_t n, const char **path) {
    store_options options = bench_store_options(b, EVERY_COMMIT);
    *path = bench_path(b, "evict");
    copy_directory(base_store(b, system, n, true), *path);
    return peers[system]->open(*path, &options);
}

/* Evicts, and gives the names that went, in one block to be freed. */
static span *evict_larder(const bench *b, int64_t n, size_t *count, double **steps,
                          size_t *step_count) {
    const char *path;
    store *s = open_copy(b, SYSTEM_LARDER, n, &path);
    stopwatch started = stopwatch_start();
    evict_result result = larder_peer_evict_half(s);
    stopwatch elapsed = stopwatch_stop(started);
    if (result.evicted_count == 0) fail("Larder evicted nothing");
    row_add_time(&evict_spec, n, SYSTEM_LARDER, elapsed, (double)result.evicted_count);
    *steps = realloc(*steps, (*step_count + result.step_count) * sizeof **steps);
    if (*steps == NULL) fail("out of memory");
    for (size_t k = 0; k < result.step_count; k++) {
        (*steps)[(*step_count)++] = result.step_processor_ms[k];
    }
    free(result.step_processor_ms);
    span *names = bench_alloc((size_t)n * (sizeof *names + 32));
    char *text = (char *)(names + n);
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        span name = {text, city_name(i, text)};
        if (larder_peer_has(s, name)) continue;
        names[(*count)++] = name;
        text += 32;
    }
    expect(SYSTEM_LARDER, "evicted", (int64_t)*count, result.evicted_count);
    peers[SYSTEM_LARDER]->close(s);
    remove_tree(path);
    return names;
}

static void run_evict(const bench *b, int64_t n) {
    static const row_spec step_spec = {"evict.step-p99",
                                       "an eviction step's processor time, 99th percentile",
                                       "ms",
                                       LIMIT_VALUE,
                                       5,
                                       GROWTH_NONE};
    static const row_spec worst_spec = {
        "evict.step-most", "an eviction step's processor time, the longest", "ms", LIMIT_NONE, 0,
        GROWTH_NONE};
    double *steps = NULL;
    size_t step_count = 0;
    for (int round = 0; round < b->rounds; round++) {
        size_t count = (size_t)n / 2;
        span *names = NULL;
        if (b->systems[SYSTEM_LARDER]) {
            names = evict_larder(b, n, &count, &steps, &step_count);
        } else { /* the least recently used half: the first ones */
            names = bench_alloc(count * (sizeof *names + 32));
            char *text = (char *)(names + count);
            for (size_t k = 0; k < count; k++, text += 32) {
                names[k] = (span){text, city_name((int64_t)k, text)};
            }
        }
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0 || system == SYSTEM_LARDER) continue;
            const char *path;
            store *s = open_copy(b, system, n, &path);
            stopwatch started = stopwatch_start();
            peers[system]->remove(s, names, count, 1000);
            row_add_time(&evict_spec, n, system, stopwatch_stop(started), (double)count);
            expect(system, "left", peers[system]->read(s, names, count, READ_ONE_TXN), 0);
            peers[system]->close(s);
            remove_tree(path);
        }
        free(names);
    }
    if (step_count > 0) {
        qsort(steps, step_count, sizeof *steps, compare_doubles);
        row_add(&step_spec, n, SYSTEM_LARDER, steps[step_count * 99 / 100], -1);
        row_add(&worst_spec, n, SYSTEM_LARDER, steps[step_count - 1], -1);
    }
    free(steps);
}

const operation write_operations[] = {
    {"ingest", "500 documents a commit, one index, into an empty store", run_ingest, false},
    {"index-build", "an index over the documents of a store", run_index_build, false},
    {"evict", "half of the bytes; the others delete the same documents", run_evict, false},
    {0}};

/*
 * reads.c - operations that read a warm store: point reads, scans, index scans, allocations.
 * Stores are opened once; one pass before the first round is not counted.
 */
#include "generator.h"

#include <stdlib.h>

enum { POINT_READS = 100000 };

static void open_all(const bench *b, int64_t n, bool indexed, store *stores[SYSTEM_COUNT]) {
    store_options options = bench_store_options(b, EVERY_COMMIT);
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        stores[system] = NULL;
        if (!b->systems[system]) continue;
        stores[system] = peers[system]->open(base_store(b, system, n, indexed), &options);
    }
}

static void close_all(store *stores[SYSTEM_COUNT]) {
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (stores[system] != NULL) peers[system]->close(stores[system]);
    }
}

/* ---- 100,000 reads by uniformly random name ---- */

static void run_point_read(const bench *b, int64_t n) {
    static const struct {
        row_spec spec;
        read_mode mode;
    } kinds[] = {
        {{"point-read.one-txn", "point read, all in one transaction", "us", LIMIT_TO_RAW, 2,
          GROWTH_WHOLE},
         READ_ONE_TXN},
        {{"point-read.each-txn", "point read, a read transaction for each", "us", LIMIT_TO_RAW, 2,
          GROWTH_WHOLE},
         READ_EACH_TXN},
        {{"point-read.whole", "point read of the whole record, cold part too", "us", LIMIT_NONE, 0,
          GROWTH_NONE},
         READ_WHOLE},
    };
    store *stores[SYSTEM_COUNT];
    span *names = random_names(n, POINT_READS);
    open_all(b, n, true, stores);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int round = -1; round < b->rounds; round++) {
            for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
                int system = system_in_turn(b, round + 1, turn);
                if (system < 0) continue;
                stopwatch started = stopwatch_start();
                int64_t found =
                    peers[system]->read(stores[system], names, POINT_READS, kinds[k].mode);
                stopwatch elapsed = stopwatch_stop(started);
                expect(system, "read", found, POINT_READS);
                if (round >= 0) row_add_time(&kinds[k].spec, n, system, elapsed, POINT_READS);
            }
        }
    }
    close_all(stores);
    free(names);
}

/* ---- state == 'CA' ---- */

/* A figure is of tens of milliseconds: a small store is queried several times. */
static int64_t repetitions(int64_t n, bool by_index) {
    int64_t documents = by_index ? 4000000 : 400000;
    return n >= documents ? 1 : documents / n;
}

static void run_queries(const bench *b, int64_t n, bool by_index, const row_spec *spec) {
    store *stores[SYSTEM_COUNT];
    int64_t times = repetitions(n, by_index), matches = expected_matches(n);
    open_all(b, n, true, stores);
    for (int round = -1; round < b->rounds; round++) {
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round + 1, turn);
            if (system < 0) continue;
            const peer *p = peers[system];
            int64_t found = 0;
            stopwatch started = stopwatch_start();
            for (int64_t k = 0; k < times; k++) {
                found += by_index ? p->index_state(stores[system], STATE_WANTED)
                                  : p->scan_state(stores[system], STATE_WANTED);
            }
            stopwatch elapsed = stopwatch_stop(started);
            bool every = system == SYSTEM_RAW && !by_index; /* it counts the candidates */
            expect(system, spec->title, found, times * (every ? n : matches));
            double count = (double)(times * (by_index ? matches : n));
            if (round >= 0) row_add_time(spec, n, system, elapsed, count);
        }
    }
    close_all(stores);
}

static void run_scan(const bench *b, int64_t n) {
    static const row_spec spec = {"scan", "scan with an equality test, a candidate",
                                  "us",   LIMIT_TO_RAW,
                                  2,      GROWTH_PER_DOCUMENT};
    run_queries(b, n, false, &spec);
}

static void run_index_scan(const bench *b, int64_t n) {
    static const row_spec spec = {
        "index-scan",       "indexed equality, 2 % of N, a match", "us", LIMIT_TO_RAW, 2,
        GROWTH_PER_DOCUMENT};
    run_queries(b, n, true, &spec);
}

/* ---- heap allocations of a scan ---- */

static void run_allocations(const bench *b, int64_t n) {
    static const row_spec scan_spec = {
        "allocations.scan", "heap allocations a scan's candidate", "allocations", LIMIT_VALUE, 0,
        GROWTH_NONE};
    static const row_spec index_spec = {"allocations.index-scan",
                                        "heap allocations an index scan's match",
                                        "allocations",
                                        LIMIT_VALUE,
                                        0,
                                        GROWTH_NONE};
    if (!b->systems[SYSTEM_LARDER]) return;
    if (malloc_count() < 0) {
        report_note("allocations cannot be counted with this C library");
        return;
    }
    store *stores[SYSTEM_COUNT];
    bench alone = *b;
    alone.systems[SYSTEM_RAW] = alone.systems[SYSTEM_SQLITE] = false;
    open_all(&alone, n, true, stores);
    for (int by_index = 0; by_index < 2; by_index++) {
        /* The first scan of an environment loads shapes and dictionaries. */
        scan_allocations first = larder_peer_scan_allocations(stores[SYSTEM_LARDER], by_index == 1);
        scan_allocations got = larder_peer_scan_allocations(stores[SYSTEM_LARDER], by_index == 1);
        row_add(by_index == 1 ? &index_spec : &scan_spec, n, SYSTEM_LARDER,
                (double)got.in_scan / (double)got.candidates, -1);
        report_note("%s of %lld candidates: %lld calls of malloc in all libraries, %lld of the"
                    " allocator hook; with opening and closing it %lld of malloc; the first one"
                    " since the store was opened %lld",
                    by_index == 1 ? "index scan" : "scan", (long long)got.candidates,
                    (long long)got.in_scan, (long long)got.hook_in_scan, (long long)got.in_all,
                    (long long)first.in_all);
    }
    close_all(stores);
}

const operation read_operations[] = {
    {"point-read", "100,000 reads by random name", run_point_read, false},
    {"scan", "an equality test on every document", run_scan, false},
    {"index-scan", "the same through an index, documents read", run_index_scan, false},
    {"allocations", "heap allocations per candidate of a scan", run_allocations, false},
    {0}};

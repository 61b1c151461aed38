/* disk.c - operations on files: bytes on disk, cold reads, opening. */
#include "generator.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes on disk ---- */

static void add_size(const row_spec *file_spec, const row_spec *used_spec, int64_t n, int system,
                     store *s, int64_t count) {
    usage u = peers[system]->usage(s);
    row_add(file_spec, n, system, (double)u.file_bytes / (double)count, -1);
    row_add(used_spec, n, system, (double)u.used_bytes / (double)count, -1);
}

static void run_size(const bench *b, int64_t n) {
    /* The limit is stated for 100,000 documents; a small store carries its fixed part, too. */
    const row_spec file_spec = {"size.file", "file bytes a document, no user index",
                                "bytes",     n >= 100000 ? LIMIT_VALUE : LIMIT_NONE,
                                600,         GROWTH_PER_DOCUMENT};
    static const row_spec used_spec = {
        "size.used", "the same, pages in use", "bytes", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec indexed_spec = {
        "size.indexed", "file bytes a document, one index", "bytes", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec indexed_used_spec = {
        "size.indexed-used", "the same, one index, in use", "bytes", LIMIT_NONE, 0, GROWTH_NONE};
    store_options options = bench_store_options(b, EVERY_COMMIT);
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (!b->systems[system]) continue;
        for (int indexed = 0; indexed < 2; indexed++) {
            store *s = peers[system]->open(base_store(b, system, n, indexed == 1), &options);
            add_size(indexed == 1 ? &indexed_spec : &file_spec,
                     indexed == 1 ? &indexed_used_spec : &used_spec, n, system, s, n);
            peers[system]->close(s);
        }
    }
}

/* One system's size of the file's documents, and after its own compacting copy. */
static void add_cities(const bench *b, int system, bool in_name_order, const row_spec *specs[3]) {
    store_options options = bench_store_options(b, LAST_COMMIT_AT_RISK);
    int64_t json_bytes;
    const char *path = bench_path(b, "cities"), *compacted = bench_path(b, "cities-compacted");
    store *s = peers[system]->open(path, &options);
    int64_t count = ingest_file(b->cities, system, s, in_name_order, &json_bytes);
    if (count == 0) fail("%s holds no documents", b->cities);
    add_size(specs[0], specs[1], 0, system, s, count);
    if (specs[2] != NULL) {
        make_directory(compacted);
        peers[system]->compact(s, compacted);
        double bytes = (double)directory_bytes(compacted);
        row_add(specs[2], 0, system, bytes / (double)count, -1);
        remove_tree(compacted);
    }
    if (system == SYSTEM_LARDER && !in_name_order) {
        report_note("real cities: %lld documents of %.0f bytes of JSON", (long long)count,
                    (double)json_bytes / (double)count);
    }
    peers[system]->close(s);
    remove_tree(path);
}

static void run_cities(const bench *b, int64_t n) {
    static const row_spec file = {"size.cities", "file bytes a document, real cities",
                                  "bytes",       LIMIT_TO_SQLITE,
                                  0.6,           GROWTH_NONE};
    static const row_spec used = {
        "size.cities-used", "the same, real cities, in use", "bytes", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec compacted = {"size.cities-compacted",
                                       "real cities, after each system's compacting copy",
                                       "bytes",
                                       LIMIT_NONE,
                                       0,
                                       GROWTH_NONE};
    static const row_spec ordered = {"size.cities-ordered",
                                     "real cities, put in name order",
                                     "bytes",
                                     LIMIT_NONE,
                                     0,
                                     GROWTH_NONE};
    static const row_spec ordered_used = {"size.cities-ordered-used",
                                          "the same, in name order, in use",
                                          "bytes",
                                          LIMIT_NONE,
                                          0,
                                          GROWTH_NONE};
    const row_spec *in_file_order[3] = {&file, &used, &compacted};
    const row_spec *in_name_order[3] = {&ordered, &ordered_used, NULL};
    (void)n;
    if (b->cities == NULL) return;
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (!b->systems[system]) continue;
        add_cities(b, system, false, in_file_order);
        add_cities(b, system, true, in_name_order);
    }
}

/* ---- reads after the files left the page cache ---- */

static void run_cold(const bench *b, int64_t n) {
    static const row_spec read_spec = {"cold-read", "cold random read", "us", LIMIT_TO_RAW,
                                       1.5,         GROWTH_WHOLE};
    static const row_spec scan_spec = {"cold-scan", "cold scan, a candidate", "us", LIMIT_TO_RAW,
                                       1.5,         GROWTH_PER_DOCUMENT};
    size_t count = 1000;
    span *names = random_names(n, count);
    double stayed = 0;
    for (int scan = 0; scan < 2; scan++) {
        for (int round = 0; round < b->rounds; round++) {
            for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
                int system = system_in_turn(b, round, turn);
                if (system < 0) continue;
                const peer *p = peers[system];
                store_options options = bench_store_options(b, EVERY_COMMIT);
                options.read_ahead = scan == 1;
                const char *path = base_store(b, system, n, true);
                double resident = drop_from_page_cache(path);
                if (resident > stayed) stayed = resident;
                store *s = p->open(path, &options);
                stopwatch started = stopwatch_start();
                int64_t found = scan == 1 ? p->scan_state(s, STATE_WANTED)
                                          : p->read(s, names, count, READ_ONE_TXN);
                stopwatch elapsed = stopwatch_stop(started);
                p->close(s);
                if (found == 0) fail("%s found nothing in a cold store", p->label);
                row_add_time(scan == 1 ? &scan_spec : &read_spec, n, system, elapsed,
                             scan == 1 ? (double)n : (double)count);
            }
        }
    }
    report_note("N = %lld, cold: %.1f %% of the files' pages at most stayed in memory when"
                " dropped; opening is not timed",
                (long long)n, stayed * 100);
    free(names);
}

/* ---- opening to the first read ---- */

static double open_us(const bench *b, int system, const char *path, span name, bool cold) {
    enum { TIMES = 20 };
    store_options options = bench_store_options(b, EVERY_COMMIT);
    double total = 0;
    int times = cold ? 1 : TIMES;
    for (int k = 0; k < times; k++) {
        if (cold) drop_from_page_cache(path);
        stopwatch started = stopwatch_start();
        store *s = peers[system]->open(path, &options);
        peers[system]->read(s, &name, 1, READ_ONE_TXN);
        total += stopwatch_stop(started).wall;
        peers[system]->close(s);
    }
    return total * 1e6 / times;
}

/* Documents are added until the file is that large. */
static int64_t build_big(const bench *b, const char *path, int64_t bytes) {
    const peer *p = peers[SYSTEM_LARDER];
    store_options options = bench_store_options(b, LAST_COMMIT_AT_RISK);
    store *s = p->open(path, &options);
    prepared batch = {0};
    int64_t count = 0;
    while (directory_bytes(path) < bytes) {
        prepared_clear(&batch);
        for (int k = 0; k < 5000; k++, count++) {
            city c;
            char name[32];
            city_generate(count, &c);
            city_tell(&c, p->encoder());
            prepared_add(&batch, (span){name, city_name(count, name)}, p->encoded());
        }
        prepared_finish(&batch);
        p->insert(s, &batch);
    }
    prepared_release(&batch);
    p->close(s);
    return count;
}

static void run_open(const bench *b, int64_t n) {
    static const row_spec empty_spec = {
        "open.empty", "open an empty store, to the first read", "us", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec big_spec = {
        "open.big", "open a large store, to the first read", "us", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec cold_spec = {
        "open.big-cold", "the same, its file not in memory", "us", LIMIT_NONE, 0, GROWTH_NONE};
    static const row_spec ratio_spec = {
        "open.ratio", "opening a large store over an empty one", "x", LIMIT_VALUE, 5, GROWTH_NONE};
    (void)n;
    char path[SYSTEM_COUNT][4096], big[4096];
    char text[32];
    span name = {text, city_name(4242, text)};
    store_options options = bench_store_options(b, EVERY_COMMIT);
    bool with_big = b->big_bytes > 0 && b->systems[SYSTEM_LARDER];
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        snprintf(path[system], sizeof path[0], "%s", bench_path(b, "empty-%d", system));
        if (!b->systems[system]) continue;
        store *s = peers[system]->open(path[system], &options);
        peers[system]->define_index(s); /* a commit, so that it is not one just being made */
        peers[system]->close(s);
    }
    snprintf(big, sizeof big, "%s", bench_path(b, "big"));
    if (with_big) {
        if (!path_exists(big)) {
            int64_t count = build_big(b, big, b->big_bytes);
            report_note("the large store: %lld documents, %.2f GB", (long long)count,
                        (double)directory_bytes(big) * 1e-9);
        }
        open_us(b, SYSTEM_LARDER, big, name, false);
    }
    for (int round = 0; round < b->rounds; round++) {
        double empty_us = 0;
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            double us = open_us(b, system, path[system], name, false);
            row_add(&empty_spec, 0, system, us, -1);
            if (system == SYSTEM_LARDER) empty_us = us;
        }
        if (!with_big) continue;
        double big_us = open_us(b, SYSTEM_LARDER, big, name, false);
        row_add(&big_spec, 0, SYSTEM_LARDER, big_us, -1);
        row_add(&cold_spec, 0, SYSTEM_LARDER, open_us(b, SYSTEM_LARDER, big, name, true), -1);
        row_add(&ratio_spec, 0, SYSTEM_LARDER, big_us / empty_us, -1);
    }
    for (int system = 0; system < SYSTEM_COUNT; system++)
        remove_tree(path[system]);
    if (with_big && !b->reuse) remove_tree(big);
}

const operation disk_operations[] = {
    {"size", "bytes on disk a document", run_size, false},
    {"cities", "the same for an NDJSON file (--cities)", run_cities, true},
    {"cold", "random reads and a scan of files that are not in memory", run_cold, false},
    {"open", "opening to the first read (with --big: of a large store)", run_open, true},
    {0}};

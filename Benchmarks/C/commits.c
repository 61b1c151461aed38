/* commits.c - commits one at a time, each on disk; what they write; opening after them. */
#include "generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { COMMITS = 600, LARGE_COMMITS = 11, LARGE_DOCUMENTS = 5000 };

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What was written to the directory's device, once all is written back: by other processes as well,
 * so that it means something on a quiet machine. The kernel's count for a process is of whole folios,
 * which are larger than what is written of them. -1: the device has no count. */
static int64_t device_bytes(const char *directory) {
    enum { SECTOR_BYTES = 512 };
    struct stat info;
    char path[96];
    long long sectors = -1;
    sync();
    if (stat(directory, &info) != 0) return -1;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(info.st_dev),
             minor(info.st_dev));
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    if (fscanf(file, "%*s %*s %*s %*s %*s %*s %lld", &sectors) != 1) sectors = -1;
    fclose(file);
    return sectors < 0 ? -1 : sectors * SECTOR_BYTES;
}

/* Commits a document, or a local write of one, so many times; the median in seconds. */
static double commit_median(int system, store *s, int64_t n, bool is_local_write) {
    static prepared one;
    double *taken = bench_alloc(COMMITS * sizeof *taken);
    uint64_t random = 7;
    for (int i = 0; i < COMMITS; i++) {
        city c;
        char name[32];
        int64_t number = (int64_t)(splitmix64(&random) % (uint64_t)n);
        city_generate(is_local_write ? number : n + i, &c);
        span name_span = {name, city_name(is_local_write ? number : n + i, name)};
        city_tell(&c, peers[system]->encoder());
        prepared_clear(&one);
        prepared_add(&one, name_span, peers[system]->encoded());
        prepared_finish(&one);
        stopwatch started = stopwatch_start();
        if (is_local_write)
            larder_peer_local_write(s, one.names[0], one.bodies[0]);
        else
            peers[system]->insert(s, &one);
        taken[i] = stopwatch_stop(started).wall;
    }
    qsort(taken, COMMITS, sizeof *taken, compare_doubles);
    double median = taken[COMMITS / 2];
    free(taken);
    return median;
}

/* Commits so many new documents, so many times; the median in seconds. */
static double large_commit_median(int system, store *s, int64_t n) {
    static prepared batch;
    double taken[LARGE_COMMITS];
    for (int i = 0; i < LARGE_COMMITS; i++) {
        prepared_clear(&batch);
        for (int64_t k = 0; k < LARGE_DOCUMENTS; k++) {
            city c;
            char name[32];
            int64_t number = n + (int64_t)i * LARGE_DOCUMENTS + k;
            city_generate(number, &c);
            span name_span = {name, city_name(number, name)};
            city_tell(&c, peers[system]->encoder());
            prepared_add(&batch, name_span, peers[system]->encoded());
        }
        prepared_finish(&batch);
        stopwatch started = stopwatch_start();
        peers[system]->insert(s, &batch);
        taken[i] = stopwatch_stop(started).wall;
    }
    qsort(taken, LARGE_COMMITS, sizeof *taken, compare_doubles);
    return taken[LARGE_COMMITS / 2];
}

static store *open_for_commits(const bench *b, int system, int64_t n, const char **path) {
    store_options options = bench_store_options(b, EVERY_COMMIT);
    *path = bench_path(b, "commits");
    copy_directory(base_store(b, system, n, false), *path);
    return peers[system]->open(*path, &options);
}

static void add_opening(const bench *b, int64_t n, const char *path, const row_spec *spec) {
    store_options options = bench_store_options(b, EVERY_COMMIT);
    stopwatch started = stopwatch_start();
    store *s = larder_peer.open(path, &options);
    row_add(spec, n, SYSTEM_LARDER, stopwatch_stop(started).wall * 1e3, -1);
    larder_peer.close(s);
}

/* Local writes of Larder, beside a write of 4 KiB to a file that has its blocks, flushed. */
static void local_writes(const bench *b, int64_t n) {
    static const row_spec spec = {"commit.local-write",
                                  "a local write, on disk (raw: a write of 4 KiB, flushed)",
                                  "us",
                                  LIMIT_TO_RAW,
                                  1.5,
                                  GROWTH_NONE};
    static const row_spec bytes_spec = {"commit.device-bytes",
                                        "bytes to the device, a local write",
                                        "bytes",
                                        LIMIT_NONE,
                                        0,
                                        GROWTH_NONE};
    static const row_spec killed_spec = {
        "open.killed", "opening a store of 600 local writes that was not closed",
        "ms",          LIMIT_VALUE,
        1000,          GROWTH_NONE};
    static const row_spec closed_spec = {
        "open.closed", "opening it when it was closed", "ms", LIMIT_NONE, 0, GROWTH_NONE};
    const char *path, *image = bench_path(b, "killed");
    store *s = open_for_commits(b, SYSTEM_LARDER, n, &path);
    int64_t before = device_bytes(b->directory);
    double median = commit_median(SYSTEM_LARDER, s, n, true);
    int64_t after = device_bytes(b->directory);
    row_add(&spec, n, SYSTEM_LARDER, median * 1e6, -1);
    row_add(&spec, n, SYSTEM_RAW, fdatasync_us(b->directory, false), -1);
    if (before >= 0) row_add(&bytes_spec, n, SYSTEM_LARDER, (double)(after - before) / COMMITS, -1);
    copy_directory(path, image); /* as a process that is killed leaves it */
    larder_peer.close(s);
    add_opening(b, n, image, &killed_spec);
    add_opening(b, n, path, &closed_spec);
    remove_tree(image);
    remove_tree(path);
}

static void run_commits(const bench *b, int64_t n) {
    static const row_spec spec = {
        "commit.document", "a document, on disk", "us", LIMIT_TO_SQLITE, 0.9, GROWTH_NONE};
    static const row_spec large_spec = {
        "commit.large", "5,000 documents, on disk", "ms", LIMIT_NONE, 0, GROWTH_NONE};
    for (int round = 0; round < b->rounds; round++) {
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            const char *path;
            store *s = open_for_commits(b, system, n, &path);
            row_add(&spec, n, system, commit_median(system, s, n, false) * 1e6, -1);
            row_add(&large_spec, n, system, large_commit_median(system, s, n + COMMITS) * 1e3, -1);
            peers[system]->close(s);
            remove_tree(path);
        }
        if (b->systems[SYSTEM_LARDER]) local_writes(b, n);
    }
}

const operation commit_operations[] = {
    {"commit", "small and large commits one at a time, each on disk", run_commits, false}, {0}};

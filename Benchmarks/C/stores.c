/* stores.c - the stores that operations run on, and what operations have in common. */
#include "generator.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS_PER_COMMIT = 500 };

const char *bench_path(const bench *b, const char *format, ...) {
    static char paths[4][4096];
    static unsigned next;
    char name[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", b->directory, name);
    return path;
}

store_options bench_store_options(const bench *b, durability d) {
    return (store_options){.durability = d, .read_ahead = true, .map_bytes = b->map_bytes};
}

int system_in_turn(const bench *b, int round, int turn) {
    int system = (round + turn) % SYSTEM_COUNT;
    return b->systems[system] ? system : -1;
}

void expect(int system, const char *what, int64_t found, int64_t expected) {
    if (found == expected) return;
    fail("%s, %s: %lld found, %lld expected", peers[system]->label, what, (long long)found,
         (long long)expected);
}

int64_t expected_matches(int64_t n) {
    static int64_t known_n = -1, known;
    if (n != known_n) {
        city c;
        known = 0;
        for (int64_t i = 0; i < n; i++) {
            city_generate(i, &c);
            known += memcmp(c.state, STATE_WANTED, 2) == 0;
        }
        known_n = n;
    }
    return known;
}

span *random_names(int64_t n, size_t count) {
    enum { ROOM = 32 };
    span *names = bench_alloc(count * (sizeof *names + ROOM));
    char *text = (char *)(names + count);
    uint64_t state = 42;
    for (size_t k = 0; k < count; k++, text += ROOM) {
        names[k] = (span){text, city_name((int64_t)(splitmix64(&state) % (uint64_t)n), text)};
    }
    return names;
}

static void add(stopwatch *total, stopwatch part) {
    total->wall += part.wall;
    total->processor += part.processor;
}

void ingest(const bench *b, const peer *p, store *s, int64_t n, stopwatch *encode,
            stopwatch *storing) {
    (void)b;
    static city cities[DOCUMENTS_PER_COMMIT];
    static prepared batch;
    *encode = *storing = (stopwatch){0};
    for (int64_t first = 0; first < n; first += DOCUMENTS_PER_COMMIT) {
        int64_t count = n - first < DOCUMENTS_PER_COMMIT ? n - first : DOCUMENTS_PER_COMMIT;
        for (int64_t k = 0; k < count; k++)
            city_generate(first + k, &cities[k]);
        stopwatch started = stopwatch_start();
        prepared_clear(&batch);
        for (int64_t k = 0; k < count; k++) {
            char name[32];
            span name_span = {name, city_name(first + k, name)};
            city_tell(&cities[k], p->encoder());
            prepared_add(&batch, name_span, p->encoded());
        }
        prepared_finish(&batch);
        add(encode, stopwatch_stop(started));
        started = stopwatch_start();
        p->insert(s, &batch);
        add(storing, stopwatch_stop(started));
    }
}

const char *base_store(const bench *b, int system, int64_t n, bool indexed) {
    static char path[SYSTEM_COUNT][4096];
    static const char *const names[SYSTEM_COUNT] = {"larder", "raw", "sqlite"};
    snprintf(path[system], sizeof path[0], "%s/base-%s-%lld-%s", b->directory, names[system],
             (long long)n, indexed ? "indexed" : "plain");
    if (path_exists(path[system])) return path[system];
    /* Under another name until it is whole, so that a run that was stopped leaves no half one. */
    const char *building = bench_path(b, "building");
    const peer *p = peers[system];
    store_options options = bench_store_options(b, LAST_COMMIT_AT_RISK);
    stopwatch encode, storing;
    remove_tree(building);
    store *s = p->open(building, &options);
    if (indexed) p->define_index(s);
    ingest(b, p, s, n, &encode, &storing);
    p->close(s);
    drop_from_page_cache(building); /* for its fdatasync */
    if (rename(building, path[system]) != 0) fail("cannot rename %s", building);
    return path[system];
}

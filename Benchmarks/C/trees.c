/* trees.c - operations on the Realtime Database's trees: rooms of messages, scores, settings. */
#include "trees.h"

#include "generator.h"

#include <stdlib.h>
#include <string.h>

enum { UPDATE_MESSAGES = 200, UPDATE_SCORES = 1000, LIKES = 2000, LIKES_A_COMMIT = 100 };

const tree_peer *const tree_peers[SYSTEM_COUNT] = {&larder_tree, &raw_tree, &sqlite_tree};

static void expect_sum(int system, const char *what, tree_sum found, tree_sum expected) {
    expect(system, what, found.leaves, expected.leaves);
    expect(system, what, found.numbers, expected.numbers);
    expect(system, what, found.text_bytes, expected.text_bytes);
}

static void add_message(tree_sum *sum, const message *m) {
    sum->leaves += MESSAGE_LEAVES;
    sum->numbers += m->likes + m->time;
    sum->text_bytes += (int64_t)(m->author_size + m->text_size);
}

/* ---- building ---- */

/* Rooms of n messages, 1,000 leaves an update. */
static stopwatch build_rooms(const tree_peer *p, tree_store *s, int64_t n) {
    static message update[UPDATE_MESSAGES];
    stopwatch total = {0};
    for (int64_t first = 0; first < n; first += UPDATE_MESSAGES) {
        size_t count = n - first < UPDATE_MESSAGES ? (size_t)(n - first) : UPDATE_MESSAGES;
        for (size_t k = 0; k < count; k++)
            message_generate(first + (int64_t)k, &update[k]);
        stopwatch started = stopwatch_start();
        p->put_messages(s, update, count);
        stopwatch elapsed = stopwatch_stop(started);
        total.wall += elapsed.wall;
        total.processor += elapsed.processor;
    }
    return total;
}

static stopwatch build_scores(const tree_peer *p, tree_store *s, int64_t n) {
    stopwatch started = stopwatch_start();
    for (int64_t first = 0; first < n; first += UPDATE_SCORES)
        p->put_scores(s, first,
                      n - first < UPDATE_SCORES ? (size_t)(n - first) : (size_t)UPDATE_SCORES);
    return stopwatch_stop(started);
}

static stopwatch build_deep(const tree_peer *p, tree_store *s) {
    static group groups[DEEP_GROUPS];
    for (int i = 0; i < DEEP_GROUPS; i++)
        group_generate(i, &groups[i]);
    stopwatch started = stopwatch_start();
    p->put_groups(s, groups, DEEP_GROUPS);
    return stopwatch_stop(started);
}

static tree_store *open_new(const bench *b, int system, durability d) {
    static const char *const names[SYSTEM_COUNT] = {"larder", "raw", "sqlite"};
    store_options options = bench_store_options(b, d);
    const char *path = bench_path(b, "tree-%s", names[system]);
    remove_tree(path);
    return tree_peers[system]->open(path, &options);
}

/* ---- data in, and its size ---- */

static void run_rooms_in(const bench *b, int64_t n) {
    static const row_spec every = {"rooms-in.every-commit",
                                   "rooms, 1,000 leaves a commit, a leaf, durable",
                                   "us",
                                   LIMIT_NONE,
                                   0,
                                   GROWTH_PER_DOCUMENT};
    static const row_spec in = {"rooms-in", "rooms, 1,000 leaves a commit, a leaf, at risk",
                                "us",       LIMIT_TO_SQLITE,
                                1 / 3.0,    GROWTH_PER_DOCUMENT};
    static const row_spec floor_spec = {
        "rooms-in.floor", "the same, against the floor", "us", LIMIT_TO_RAW, 1, GROWTH_NONE};
    static const row_spec size = {"rooms-size", "rooms, bytes in used pages a leaf",
                                  "bytes",      LIMIT_TO_SQLITE,
                                  0.4,          GROWTH_PER_DOCUMENT};
    double leaves = (double)n * MESSAGE_LEAVES;
    for (int round = 0; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++)
            for (int durable = 0; durable < 2; durable++) {
                int system = system_in_turn(b, round, turn);
                if (system < 0) continue;
                const tree_peer *p = tree_peers[system];
                tree_store *s =
                    open_new(b, system, durable == 1 ? EVERY_COMMIT : LAST_COMMIT_AT_RISK);
                stopwatch elapsed = build_rooms(p, s, n);
                row_add_time(durable == 1 ? &every : &in, n, system, elapsed, leaves);
                if (durable == 0) {
                    row_add_time(&floor_spec, n, system, elapsed, leaves);
                    row_add(&size, n, system, (double)p->used_bytes(s) / leaves, -1);
                }
                p->close(s);
            }
}

static void run_scores_in(const bench *b, int64_t n) {
    static const row_spec in = {"scores-in", "scores, 1,000 a commit, one, at risk",
                                "us",        LIMIT_TO_SQLITE,
                                1 / 3.0,     GROWTH_PER_DOCUMENT};
    static const row_spec size = {"scores-size", "scores, bytes in used pages, one",
                                  "bytes",       LIMIT_TO_SQLITE,
                                  0.4,           GROWTH_PER_DOCUMENT};
    for (int round = 0; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            const tree_peer *p = tree_peers[system];
            tree_store *s = open_new(b, system, LAST_COMMIT_AT_RISK);
            row_add_time(&in, n, system, build_scores(p, s, n), (double)n);
            row_add(&size, n, system, (double)p->used_bytes(s) / (double)n, -1);
            p->close(s);
        }
}

static void run_deep(const bench *b, int64_t n) {
    static const row_spec in = {
        "deep-in", "1 MiB of settings in one update", "ms", LIMIT_TO_SQLITE, 1, GROWTH_NONE};
    static const row_spec read = {
        "deep-read", "1 MiB of settings read whole", "ms", LIMIT_TO_SQLITE, 1, GROWTH_NONE};
    static const row_spec size = {
        "deep-size", "1 MiB of settings, used pages", "bytes", LIMIT_TO_SQLITE, 0.8, GROWTH_NONE};
    tree_sum expected = {0};
    (void)n;
    for (int i = 0; i < DEEP_GROUPS; i++) {
        group g;
        group_generate(i, &g);
        for (int k = 0; k < GROUP_SETTINGS; k++) {
            expected.leaves += 2;
            expected.numbers += g.numbers[k];
            expected.text_bytes += (int64_t)strlen(g.texts[k]);
        }
    }
    for (int round = 0; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            const tree_peer *p = tree_peers[system];
            tree_store *s = open_new(b, system, LAST_COMMIT_AT_RISK);
            row_add_time(&in, 0, system, build_deep(p, s), 1);
            expect_sum(system, "settings", p->read(s, span_of("/config/")), expected);
            stopwatch started = stopwatch_start();
            (void)p->read(s, span_of("/config/"));
            row_add_time(&read, 0, system, stopwatch_stop(started), 1);
            row_add(&size, 0, system, (double)p->used_bytes(s), -1);
            p->close(s);
        }
}

/* ---- reading ---- */

static void run_room_read(const bench *b, int64_t n) {
    static const row_spec spec = {"room-read", "a room of 500 leaves read and decoded",
                                  "us",        LIMIT_TO_SQLITE,
                                  0.1,         GROWTH_WHOLE};
    tree_store *stores[SYSTEM_COUNT] = {NULL};
    int64_t rooms = n / ROOM_MESSAGES;
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (!b->systems[system]) continue;
        stores[system] = open_new(b, system, LAST_COMMIT_AT_RISK);
        (void)build_rooms(tree_peers[system], stores[system], n);
    }
    for (int round = -1; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round + 1, turn);
            if (system < 0) continue;
            enum { READS = 1000 };
            uint64_t state = 42;
            tree_sum sum = {0};
            stopwatch started = stopwatch_start();
            for (int k = 0; k < READS; k++) {
                char path[64];
                span room = room_path((int64_t)(splitmix64(&state) % (uint64_t)rooms), path);
                sum = tree_peers[system]->read(stores[system], room);
                expect(system, "a room", sum.leaves, ROOM_MESSAGES * MESSAGE_LEAVES);
            }
            stopwatch elapsed = stopwatch_stop(started);
            if (round >= 0) row_add_time(&spec, n, system, elapsed, READS);
        }
    tree_sum first = {0};
    for (int i = 0; i < ROOM_MESSAGES; i++) {
        message m;
        message_generate(i, &m);
        add_message(&first, &m);
    }
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        char path[64];
        if (stores[system] == NULL) continue;
        expect_sum(system, "a room", tree_peers[system]->read(stores[system], room_path(0, path)),
                   first);
        tree_peers[system]->close(stores[system]);
    }
}

static void run_scores_window(const bench *b, int64_t n) {
    static const row_spec spec = {
        "scores-window", "the 4 highest scores of all", "ms", LIMIT_TO_RAW, 1.5, GROWTH_NONE};
    tree_store *stores[SYSTEM_COUNT] = {NULL};
    int64_t expected = -1;
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (!b->systems[system]) continue;
        stores[system] = open_new(b, system, LAST_COMMIT_AT_RISK);
        (void)build_scores(tree_peers[system], stores[system], n);
    }
    for (int round = -1; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round + 1, turn);
            if (system < 0) continue;
            enum { TIMES = 10 };
            int64_t found = 0;
            stopwatch started = stopwatch_start();
            for (int k = 0; k < TIMES; k++)
                found = tree_peers[system]->highest_scores(stores[system]);
            stopwatch elapsed = stopwatch_stop(started);
            if (expected < 0) expected = found;
            expect(system, "the highest scores", found, expected);
            if (round >= 0) row_add_time(&spec, n, system, elapsed, TIMES);
        }
    for (int system = 0; system < SYSTEM_COUNT; system++)
        if (stores[system] != NULL) tree_peers[system]->close(stores[system]);
}

/* ---- single changes ---- */

static void run_likes(const bench *b, int64_t n) {
    static const row_spec spec = {
        "room-change", "one leaf of a message, 100 a commit, at risk", "us", LIMIT_TO_SQLITE, 1,
        GROWTH_WHOLE};
    static message changed[LIKES];
    uint64_t state = 5;
    for (int k = 0; k < LIKES; k++)
        message_generate((int64_t)(splitmix64(&state) % (uint64_t)n), &changed[k]);
    tree_store *stores[SYSTEM_COUNT] = {NULL};
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        if (!b->systems[system]) continue;
        stores[system] = open_new(b, system, LAST_COMMIT_AT_RISK);
        (void)build_rooms(tree_peers[system], stores[system], n);
    }
    for (int round = 0; round < b->rounds; round++)
        for (int turn = 0; turn < SYSTEM_COUNT; turn++) {
            int system = system_in_turn(b, round, turn);
            if (system < 0) continue;
            stopwatch started = stopwatch_start();
            for (int k = 0; k < LIKES; k += LIKES_A_COMMIT) {
                for (int i = k; i < k + LIKES_A_COMMIT; i++)
                    changed[i].likes = round + i;
                tree_peers[system]->put_likes(stores[system], changed + k, LIKES_A_COMMIT);
            }
            row_add_time(&spec, n, system, stopwatch_stop(started), LIKES);
        }
    for (int system = 0; system < SYSTEM_COUNT; system++)
        if (stores[system] != NULL) tree_peers[system]->close(stores[system]);
}

const operation tree_operations[] = {
    {"rooms-in", "rooms of messages, 1,000 leaves an update; their size", run_rooms_in, false},
    {"room-read", "1,000 rooms read by random number", run_room_read, false},
    {"room-change", "one leaf of a message after the other", run_likes, false},
    {"scores-in", "scores, 1,000 an update; their size", run_scores_in, false},
    {"scores-window", "the last 4 scores by value", run_scores_window, false},
    {"deep", "1 MiB of settings in and out; its size", run_deep, true},
    {0}};

/* floor_trees.c - the trees of trees_raw.c as the Swift benchmarks take them. */
#include "../trees.h"
#include "floor_parts.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)WORKLOAD_ROOM_MESSAGES == ROOM_MESSAGES, "floor.h says what trees.h says");
_Static_assert((int)WORKLOAD_MESSAGE_LEAVES == MESSAGE_LEAVES, "floor.h says what trees.h says");

struct floor_trees {
    tree_store *store;
};

/* ---- the workload ---- */

/* Without the leading slash. */
static size_t copy_path(const char *path, size_t size, char to[64]) {
    memcpy(to, path + 1, size - 1);
    return size - 1;
}

size_t workload_message_path(int64_t i, char to[64]) {
    message m;
    message_generate(i, &m);
    return copy_path(m.path, m.path_size, to);
}

size_t workload_score_path(int64_t i, char to[64]) {
    char path[64];
    span name = score_path(i, path);
    return copy_path(name.data, name.size, to);
}

workload_bytes workload_message_json(int64_t i) {
    message m;
    message_generate(i, &m);
    span json = message_json(&m, m.likes);
    return (workload_bytes){json.data, json.size};
}

int64_t workload_score(int64_t i) { return score_of(i); }

/* ---- the store ---- */

floor_trees *floor_trees_open(const char *directory) {
    floor_trees *t = bench_alloc(sizeof *t);
    store_options options = {.durability = LAST_COMMIT_AT_RISK};
    t->store = raw_tree.open(directory, &options);
    return t;
}

void floor_trees_close(floor_trees *t) {
    raw_tree.close(t->store);
    free(t);
}

void floor_trees_fill(floor_trees *t, int64_t messages, int64_t scores) {
    enum { PER_COMMIT = 1000 };
    static message update[PER_COMMIT];
    for (int64_t first = 0; first < messages; first += PER_COMMIT) {
        size_t count = messages - first < PER_COMMIT ? (size_t)(messages - first) : PER_COMMIT;
        for (size_t k = 0; k < count; k++)
            message_generate(first + (int64_t)k, &update[k]);
        raw_tree.put_messages(t->store, update, count);
    }
    raw_tree.put_scores(t->store, 0, (size_t)scores);
}

int64_t floor_trees_read_room(floor_trees *t, int64_t room) {
    char path[64];
    return raw_tree.read(t->store, room_path(room, path)).leaves;
}

int64_t floor_trees_read_rooms(floor_trees *t) {
    return raw_tree.read(t->store, span_of("/rooms/")).leaves;
}

int64_t floor_trees_highest_scores(floor_trees *t) { return raw_tree.highest_scores(t->store); }

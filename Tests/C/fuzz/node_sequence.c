/*
 * node_sequence.c - fuzz target: the input is a program of calls on a tree.
 *
 * Each operation is one byte and takes its arguments from the bytes that follow; past the end
 * every byte is 0. The tree is compared with a plain structure after each transaction, until
 * something may have been evicted; larder_check must find nothing wrong at the end.
 */
#include "node_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS_MAX = 300, LEAVES_MAX = 3000 };

typedef struct program {
    const uint8_t *at, *end;
    larder_env *env;
    larder_txn *txn;
    uint64_t tree;
    node_model *root, *committed;
    node_model_random random;
    larder_node_builder *builder, *found;
    bool may_evict;
    larder_error error;
} program;

static void fail(const program *p, const char *what, int32_t status) {
    fprintf(stderr, "%s: %s: %s\n", what, larder_status_name(status), p->error.message);
    abort();
}

/* Nothing is damaged, and storage is sound. */
static int32_t expect(const program *p, int32_t status, const char *what) {
    if (status <= LARDER_E_IO || status == LARDER_E_TXN_ENDED) fail(p, what, status);
    return status;
}
#define EXPECT(call) expect(p, (call), #call)
static void must(const program *p, int32_t status, const char *what) {
    if (status != LARDER_OK) fail(p, what, status);
}
#define MUST(call) must(p, (call), #call)

static larder_bytes text(const char *data) { return (larder_bytes){data, strlen(data)}; }

static uint8_t take(program *p) { return p->at < p->end ? *p->at++ : 0; }

static uint64_t below(void *context, uint64_t bound) {
    program *p = context;
    uint64_t number = take(p);
    if (bound > 256) number = number << 8 | take(p);
    if (bound > 65536) number = number << 32 | number << 16 | take(p);
    return number % bound;
}

/* ---- transactions ---- */

static void begin(program *p) {
    if (p->txn == NULL) MUST(larder_txn_begin_write(p->env, &p->txn, &p->error));
}

static void compare(program *p, const larder_txn *txn) {
    larder_bytes found = {0}, expected = node_model_encode(p->root, p->builder);
    if (p->may_evict) return;
    EXPECT(larder_node_read(txn, p->tree, text(""), p->found, &p->error));
    MUST(larder_node_builder_finish(p->found, &found, &p->error));
    if (found.size_bytes != expected.size_bytes ||
        (found.size_bytes > 0 && memcmp(found.data, expected.data, found.size_bytes) != 0))
        fail(p, "the tree differs", LARDER_E_CORRUPT);
}

static void end(program *p, bool commits) {
    if (p->txn == NULL) return;
    if (commits) {
        compare(p, p->txn);
        MUST(larder_txn_commit(p->txn, &p->error));
        node_model_free(p->committed);
        p->committed = node_model_copy(p->root);
    } else {
        larder_txn_abort(p->txn);
        node_model_free(p->root);
        p->root = node_model_copy(p->committed);
    }
    p->txn = NULL;
}

static void run_commit(program *p) { end(p, true); }
static void run_abort(program *p) { end(p, false); }

/* ---- writes ---- */

static const char *take_path(program *p) {
    static char path[8192];
    snprintf(path, sizeof path, "%s", node_model_path(&p->random, p->root));
    return path;
}

static void run_put(program *p) {
    const char *path = take_path(p);
    uint8_t choice = take(p);
    node_model *value = NULL;
    begin(p);
    if (choice % 4 != 0 && node_model_leaf_count(p->root) < LEAVES_MAX)
        value = node_model_make(&p->random, choice % 3, choice % 8 == 7 ? 60 : 6);
    larder_bytes encoded = node_model_encode(value, p->builder);
    MUST(larder_node_put(p->txn, p->tree, text(path), encoded, &p->error));
    p->root = node_model_put(p->root, path, value);
}

static void run_append(program *p) {
    int count = 1 + take(p) % 100, size = take(p);
    char value[300];
    begin(p);
    if (node_model_leaf_count(p->root) > LEAVES_MAX) return;
    memset(value, 'v', sizeof value);
    value[size] = '\0';
    for (int i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "list/k%05d", (int)(take(p) * 7 + i));
        value[size / 2] = (char)('a' + i % 26);
        if (size < 2) value[0] = '\0';
        node_model *leaf = node_model_text(value);
        larder_bytes encoded = node_model_encode(leaf, p->builder);
        MUST(larder_node_put(p->txn, p->tree, text(path), encoded, &p->error));
        p->root = node_model_put(p->root, path, leaf);
    }
}

static void run_bad_put(program *p) {
    size_t size = take(p), left = (size_t)(p->end - p->at);
    if (size > left) size = left;
    larder_bytes raw = {p->at, size};
    begin(p);
    larder_bytes path = take(p) % 2 == 0 ? text("bad") : raw;
    p->at += size;
    if (larder_node_put(p->txn, p->tree, path, raw, &p->error) == LARDER_OK) end(p, false);
}

/* ---- reads ---- */

static void run_reads(program *p) {
    const char *path = take_path(p);
    larder_node_page page = {.struct_bytes = sizeof page, .max_count = take(p) % 20};
    larder_node_window window = {.struct_bytes = sizeof window,
                                 .index = take(p) % 4,
                                 .from_end = take(p) % 2,
                                 .index_path = text("a/b"),
                                 .limit = take(p) % 5};
    char after[1024];
    int64_t count;
    larder_usage usage;
    begin(p);
    snprintf(after, sizeof after, "%s", node_model_key(&p->random));
    if (take(p) % 2 == 0) page.after = text(after);
    page.backwards = take(p) % 2;
    window.start.given = take(p) % 2;
    window.start.key = text(after);
    window.start.value.type = LARDER_NODE_INTEGER;
    window.start.value.integer = take(p);
    EXPECT(larder_node_read(p->txn, p->tree, text(path), p->found, &p->error));
    EXPECT(larder_node_read_page(p->txn, p->tree, text(path), &page, p->found, &p->error));
    EXPECT(larder_node_read_window(p->txn, p->tree, text(path), &window, p->found, &p->error));
    MUST(larder_node_count(p->txn, p->tree, text(path), &count, &p->error));
    MUST(larder_node_usage(p->txn, p->tree, text(path), &usage, &p->error));
}

/* ---- queries, writes, eviction ---- */

static void run_query(program *p) {
    const char *path = take_path(p);
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = 1 + take(p) % 6,
                               .flags = take(p) % 8,
                               .path = text(path),
                               .payload = text("{}")};
    begin(p);
    EXPECT(larder_node_query_put(p->txn, p->tree, &query, &p->error));
}

static void run_query_change(program *p) {
    int64_t id = 1 + take(p) % 6;
    char keys[2][1024];
    larder_bytes changed[2];
    for (int i = 0; i < 2; i++) {
        snprintf(keys[i], sizeof keys[i], "%s", node_model_key(&p->random));
        changed[i] = text(keys[i]);
    }
    begin(p);
    uint8_t choice = take(p);
    if (choice % 4 == 0)
        EXPECT(larder_node_query_remove(p->txn, p->tree, id, &p->error));
    else if (choice % 4 == 1)
        EXPECT(larder_node_query_touch(p->txn, p->tree, id, &p->error));
    else
        EXPECT(larder_node_query_change_keys(p->txn, p->tree, id, changed, choice % 2, changed + 1,
                                             1, &p->error));
    EXPECT(larder_node_query_keys(p->txn, p->tree, id, p->found, &p->error));
}

static void run_write(program *p) {
    larder_node_write write = {.struct_bytes = sizeof write,
                               .write_id = take(p),
                               .time = {take(p), 0, 0},
                               .payload = text("payload")};
    int32_t kind = take(p) % 2;
    begin(p);
    EXPECT(larder_node_write_put(p->txn, p->tree, kind, &write, &p->error));
    if (take(p) % 2 == 0)
        EXPECT(larder_node_write_remove(p->txn, p->tree, kind, take(p), &p->error));
    EXPECT(larder_node_write_next(p->txn, p->tree, kind, take(p), &write, &p->error));
}

static void run_pin(program *p) {
    const char *path = take_path(p);
    if (take(p) % 2 == 0)
        EXPECT(larder_node_pin(p->env, p->tree, text(path), &p->error));
    else
        EXPECT(larder_node_unpin(p->env, p->tree, text(path), &p->error));
}

static void run_step(program *p) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    end(p, true);
    p->may_evict = true;
    EXPECT(larder_lru_step(p->env, take(p) * 100, 1 + take(p) % 8, 0, &result, &p->error));
}

static int32_t report(void *context, const char *table, larder_bytes key, const char *message) {
    (void)context;
    fprintf(stderr, "check: %s: ", table);
    for (size_t i = 0; i < key.size_bytes; i++)
        fprintf(stderr, "%02x", ((const uint8_t *)key.data)[i]);
    fprintf(stderr, ": %s\n", message);
    return 0;
}

static void run_check(program *p) {
    const larder_txn *read;
    larder_check_report summary = {.struct_bytes = sizeof summary};
    end(p, true);
    MUST(larder_txn_begin_read(p->env, &read, &p->error));
    MUST(larder_check(read, report, NULL, NULL, &summary, &p->error));
    compare(p, read);
    larder_txn_end_read(read);
}

static void (*const operations[])(program *) = {
    run_commit,       run_commit,  run_abort, run_put,   run_put,   run_put,   run_append,
    run_append,       run_bad_put, run_reads, run_reads, run_query, run_query, run_query_change,
    run_query_change, run_write,   run_pin,   run_step,  run_check,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    program state = {.at = data, .end = data + size};
    program *p = &state;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    uint8_t choice = take(p);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.automatic_training = choice & 1;
    options.log_level = LARDER_LOG_ERROR;
    p->random = (node_model_random){.below = below, .context = p, .long_keys = (choice & 2) != 0};
    MUST(larder_env_open("", &options, &p->env, &p->error));
    MUST(larder_node_builder_create(NULL, &p->builder, &p->error));
    MUST(larder_node_builder_create(NULL, &p->found, &p->error));
    begin(p);
    MUST(larder_node_tree_obtain(p->txn, text("t"), &p->tree, &p->error));
    end(p, true);
    for (int count = 0; count < OPERATIONS_MAX && p->at < p->end; count++)
        operations[take(p) % (sizeof operations / sizeof operations[0])](p);
    run_check(p);
    larder_node_builder_close(p->builder);
    larder_node_builder_close(p->found);
    node_model_free(p->root);
    node_model_free(p->committed);
    MUST(larder_env_close(p->env, &p->error));
    if (larder_live_handle_count() != 0) fail(p, "open handles at the end", LARDER_OK);
    return 0;
}

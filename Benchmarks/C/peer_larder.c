/*
 * peer_larder.c - Larder through its public header. Every document carries a version and a
 * read time; accounting, the read-time index, checksums, compression and the eviction order
 * are on, as they always are.
 */
#include "generator.h"
#include "sink.h"

#include <larder.h>
#include <stdlib.h>
#include <string.h>

struct store {
    larder_env *env;
    larder_field state, population;
    char state_path[8], population_path[16];
    larder_builder *values;
    int64_t next_version;
    buffer cold;
};

static _Atomic int64_t hook_calls;

static void check(int32_t status, const char *what, const larder_error *error) {
    if (status >= 0) return;
    fail("Larder, %s: %s (%s)", what, larder_strerror(status),
         error != NULL && error->status == status ? error->message : "no detail");
}

static larder_bytes bytes_of(span s) { return (larder_bytes){s.data, s.size}; }

static const sink *larder_encoder(void) { return &larder_sink; }

static void *hook_allocate(void *context, size_t size_bytes) {
    (void)context;
    hook_calls++;
    return malloc(size_bytes);
}

static void hook_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

int64_t larder_peer_hook_count(void) { return hook_calls; }

static larder_bytes encode_path(const char *name, char *to, size_t capacity) {
    larder_error error = {0};
    larder_bytes segment = {name, strlen(name)};
    size_t size = 0;
    check(larder_path_encode(&segment, 1, to, capacity, &size, &error), "a field path", &error);
    return (larder_bytes){to, size};
}

static store *larder_open(const char *directory, const store_options *options) {
    static const larder_allocator hook = {NULL, hook_allocate, hook_release};
    larder_error error = {0};
    store *s = bench_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    larder_env_options open;
    larder_env_options_init(&open, sizeof open);
    open.durability = options->durability == EVERY_COMMIT ? LARDER_DURABILITY_EVERY_COMMIT
                                                          : LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    open.map_bytes = options->map_bytes;
    open.manual_reclaim = 1;
    open.allocator = &hook;
    check(larder_env_open(directory, &open, &s->env, &error), "open", &error);
    larder_field_init(&s->state, encode_path("state", s->state_path, sizeof s->state_path));
    larder_field_init(&s->population,
                      encode_path("population", s->population_path, sizeof s->population_path));
    check(larder_builder_create(NULL, &s->values, &error), "builder", &error);
    s->next_version = 1700000000;
    return s;
}

static void larder_close(store *s) {
    larder_error error = {0};
    larder_builder_close(s->values);
    check(larder_env_close(s->env, &error), "close", &error);
    buffer_release(&s->cold);
    free(s);
}

static const larder_txn *begin_read(const store *s) {
    larder_error error = {0};
    const larder_txn *txn = NULL;
    check(larder_txn_begin_read(s->env, &txn, &error), "begin_read", &error);
    return txn;
}

static larder_txn *begin_write(const store *s) {
    larder_error error = {0};
    larder_txn *txn = NULL;
    check(larder_txn_begin_write(s->env, &txn, &error), "begin_write", &error);
    return txn;
}

static void commit(larder_txn *txn) {
    larder_error error = {0};
    check(larder_txn_commit(txn, &error), "commit", &error);
}

static uint32_t define_state(const store *s, larder_txn *txn) {
    larder_error error = {0};
    uint32_t index_id = 0;
    larder_index_segment segment = {s->state.path, LARDER_SEGMENT_ASCENDING, 0};
    check(larder_index_define(txn, bytes_of(span_of(COLLECTION)), &segment, 1, &index_id, &error),
          "index_define", &error);
    return index_id;
}

static void larder_define_index(store *s) {
    larder_txn *txn = begin_write(s);
    define_state(s, txn);
    commit(txn);
}

static void larder_build_index(store *s) {
    larder_error error = {0};
    larder_txn *txn = begin_write(s);
    uint32_t index_id = define_state(s, txn);
    int32_t status;
    do {
        status = larder_index_backfill(txn, index_id, 0, 0, NULL, NULL, &error);
        check(status, "index_backfill", &error);
    } while (status == LARDER_MORE);
    commit(txn);
}

static void larder_insert(store *s, const prepared *documents) {
    larder_error error = {0};
    larder_txn *txn = begin_write(s);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    for (size_t k = 0; k < documents->count; k++) {
        info.version = (larder_time){s->next_version, (int32_t)k * 1000, 0};
        info.create_time = info.version;
        info.read_time = (larder_time){s->next_version + 1, 0, 0};
        check(larder_document_put(txn, bytes_of(documents->names[k]), &info,
                                  bytes_of(documents->bodies[k]), &error),
              "document_put", &error);
    }
    s->next_version++;
    commit(txn);
}

static volatile int64_t touched; /* keeps reads from being optimised away */

/* A record's population, which is a hot field. */
static int64_t read_population(store *s, const larder_document *document) {
    larder_bytes value;
    int32_t type;
    int64_t population = 0;
    check(larder_record_find(&document->record, &s->population, &value, &type) == LARDER_OK
              ? larder_value_get_integer(value, &population)
              : LARDER_E_CORRUPT,
          "reading population", NULL);
    return population;
}

static int64_t read_whole(store *s, const larder_document *document) {
    larder_error error = {0};
    larder_record loaded = document->record;
    size_t cold_bytes = larder_record_cold_bytes(&document->record);
    if (cold_bytes > 0) {
        s->cold.size = 0;
        buffer_reserve(&s->cold, cold_bytes);
        check(
            larder_record_load(&document->record, s->cold.data, s->cold.capacity, &loaded, &error),
            "record_load", &error);
    }
    larder_bytes name, value;
    int64_t bytes = 0;
    size_t count = larder_record_count(&loaded);
    for (size_t k = 0; k < count; k++) {
        if (larder_record_get_entry(&loaded, k, &name, &value, NULL) != LARDER_OK) {
            fail("Larder: a field is missing");
        }
        bytes += (int64_t)value.size_bytes;
    }
    return bytes;
}

static int64_t larder_read(store *s, const span *names, size_t count, read_mode mode) {
    larder_error error = {0};
    int64_t found = 0, sum = 0;
    const larder_txn *txn = mode == READ_EACH_TXN ? NULL : begin_read(s);
    for (size_t k = 0; k < count; k++) {
        larder_document document;
        if (mode == READ_EACH_TXN) txn = begin_read(s);
        int32_t status = larder_document_get(txn, bytes_of(names[k]), &document, &error);
        check(status, "document_get", &error);
        if (status == LARDER_OK) {
            sum += mode == READ_WHOLE ? read_whole(s, &document) : read_population(s, &document);
            found++;
        }
        if (mode == READ_EACH_TXN) larder_txn_end_read(txn);
    }
    if (mode != READ_EACH_TXN) larder_txn_end_read(txn);
    touched = sum;
    return found;
}

/* The wanted state as an encoded value; borrowed from the store's builder. */
static larder_bytes state_value(store *s, const char state[2]) {
    larder_error error = {0};
    larder_bytes value;
    larder_builder_reset(s->values);
    check(larder_builder_string(s->values, (larder_bytes){state, 2}, &error), "value", &error);
    check(larder_builder_finish_value(s->values, &value, &error), "value", &error);
    return value;
}

/* Runs over a scan, testing the state of each document; candidates (nullable) are counted. */
static int64_t count_matches(store *s, larder_scan *scan, larder_bytes wanted,
                             int64_t *candidates) {
    larder_error error = {0};
    larder_document document;
    int64_t matches = 0, seen = 0;
    int32_t status;
    while ((status = larder_scan_next(scan, &document, &error)) == LARDER_OK) {
        larder_bytes value;
        int32_t type;
        seen++;
        if (larder_record_find(&document.record, &s->state, &value, &type) == LARDER_OK &&
            larder_value_equal(value, wanted)) {
            matches++;
        }
    }
    check(status, "scan_next", &error);
    if (candidates != NULL) *candidates = seen;
    return matches;
}

static larder_scan *open_scan(const store *s, const larder_txn *txn) {
    (void)s;
    larder_error error = {0};
    larder_scan *scan = NULL;
    check(larder_scan_collection(txn, bytes_of(span_of(COLLECTION)), NULL, &scan, &error),
          "scan_collection", &error);
    return scan;
}

static larder_scan *open_index_scan(const store *s, const larder_txn *txn, larder_bytes wanted) {
    (void)s;
    larder_error error = {0};
    larder_index index;
    int32_t status = larder_index_next(txn, 0, &index, &error);
    check(status, "index_next", &error);
    if (status != LARDER_OK || !index.complete) fail("Larder: there is no complete index");
    char order[64];
    size_t size = 0;
    check(larder_order_encode(wanted, LARDER_ORDER_ASCENDING, order, sizeof order, &size, &error),
          "order_encode", &error);
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = LARDER_SCAN_END_AT;
    options.start = (larder_bytes){order, size};
    options.end = options.start;
    larder_scan *scan = NULL;
    check(larder_index_scan(txn, index.index_id, bytes_of(span_of(COLLECTION)), &options, &scan,
                            &error),
          "index_scan", &error);
    return scan;
}

static int64_t run_scan(store *s, const char state[2], bool by_index) {
    larder_bytes wanted = state_value(s, state);
    const larder_txn *txn = begin_read(s);
    larder_scan *scan = by_index ? open_index_scan(s, txn, wanted) : open_scan(s, txn);
    int64_t matches = count_matches(s, scan, wanted, NULL);
    larder_scan_close(scan);
    larder_txn_end_read(txn);
    return matches;
}

static int64_t larder_scan_state(store *s, const char state[2]) {
    return run_scan(s, state, false);
}

static int64_t larder_index_state(store *s, const char state[2]) {
    return run_scan(s, state, true);
}

scan_allocations larder_peer_scan_allocations(store *s, bool by_index) {
    scan_allocations result = {0};
    larder_bytes wanted = state_value(s, STATE_WANTED);
    int64_t before_all = malloc_count();
    const larder_txn *txn = begin_read(s);
    larder_scan *scan = by_index ? open_index_scan(s, txn, wanted) : open_scan(s, txn);
    int64_t before = malloc_count(), hook_before = hook_calls;
    count_matches(s, scan, wanted, &result.candidates);
    result.in_scan = malloc_count() - before;
    result.hook_in_scan = hook_calls - hook_before;
    larder_scan_close(scan);
    larder_txn_end_read(txn);
    result.in_all = malloc_count() - before_all;
    return result;
}

static void larder_remove(store *s, const span *names, size_t count, size_t per_commit) {
    larder_error error = {0};
    for (size_t first = 0; first < count; first += per_commit) {
        size_t last = first + per_commit < count ? first + per_commit : count;
        larder_txn *txn = begin_write(s);
        for (size_t k = first; k < last; k++) {
            check(larder_document_remove(txn, bytes_of(names[k]), &error), "document_remove",
                  &error);
        }
        commit(txn);
    }
}

evict_result larder_peer_evict_half(store *s) {
    larder_error error = {0};
    larder_stat stat = {.struct_bytes = sizeof stat};
    const larder_txn *txn = begin_read(s);
    check(larder_env_stat(txn, &stat, &error), "env_stat", &error);
    larder_txn_end_read(txn);
    evict_result result = {0};
    size_t capacity = 0;
    int32_t status;
    do {
        larder_lru_result step = {.struct_bytes = sizeof step};
        double before = thread_processor_seconds();
        status = larder_lru_step(s->env, stat.total_bytes / 2, 0, 0, &step, &error);
        double used_ms = (thread_processor_seconds() - before) * 1e3;
        check(status, "lru_step", &error);
        if (result.step_count == capacity) {
            capacity = capacity == 0 ? 256 : capacity * 2;
            result.step_processor_ms =
                realloc(result.step_processor_ms, capacity * sizeof *result.step_processor_ms);
            if (result.step_processor_ms == NULL) fail("out of memory");
        }
        result.step_processor_ms[result.step_count++] = used_ms;
        result.evicted_count += step.evicted_count;
    } while (status == LARDER_MORE);
    return result;
}

bool larder_peer_has(store *s, span name) {
    larder_error error = {0};
    larder_document document;
    const larder_txn *txn = begin_read(s);
    int32_t status = larder_document_get(txn, bytes_of(name), &document, &error);
    check(status, "document_get", &error);
    larder_txn_end_read(txn);
    return status == LARDER_OK;
}

void larder_peer_local_write(store *s, span name, span body) {
    larder_error error = {0};
    int64_t batch_id;
    larder_bytes user = bytes_of(span_of("ada"));
    larder_mutation_document document = {.name = bytes_of(name)};
    larder_time now = {s->next_version++, 0, 0};
    larder_txn *txn = begin_write(s);
    check(larder_mutation_append(txn, user, now, &document, 1, bytes_of(body), &batch_id, &error),
          "mutation_append", &error);
    check(larder_overlay_put(txn, user, bytes_of(name), batch_id, bytes_of(body),
                             bytes_of(span_of("set")), &error),
          "overlay_put", &error);
    commit(txn);
}

static usage larder_usage_of(store *s) {
    larder_error error = {0};
    larder_stat stat = {.struct_bytes = sizeof stat};
    const larder_txn *txn = begin_read(s);
    check(larder_env_stat(txn, &stat, &error), "env_stat", &error);
    larder_txn_end_read(txn);
    return (usage){stat.file_bytes, stat.file_bytes - stat.free_bytes};
}

static void larder_compact(store *s, const char *directory) {
    larder_error error = {0};
    check(larder_env_compact(s->env, directory, NULL, NULL, &error), "env_compact", &error);
}

const peer larder_peer = {
    .label = "Larder",
    .open = larder_open,
    .close = larder_close,
    .encoder = larder_encoder,
    .encoded = larder_encoded,
    .define_index = larder_define_index,
    .build_index = larder_build_index,
    .insert = larder_insert,
    .read = larder_read,
    .scan_state = larder_scan_state,
    .index_state = larder_index_state,
    .remove = larder_remove,
    .usage = larder_usage_of,
    .compact = larder_compact,
};

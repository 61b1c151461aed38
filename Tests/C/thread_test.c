/*
 * thread_test.c - one environment used by many threads at once: readers, writers, touches, pins,
 * eviction, statistics, copies. Meant for the thread sanitizer (make -C Tests/C tsan); without
 * it the checks of what readers see are what counts.
 *
 * Each commit writes the same number to a pair of documents and to a global, so a reader knows
 * a mixture of two commits when it sees one.
 */
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { PAIRS = 40, WRITERS = 2, READERS = 3, PINNERS = 2, OTHERS = READERS + PINNERS + 1 };
enum { COMMITS_EACH = 60, TOUCHES_A_STEP = 40 };

typedef struct shared {
    larder_env *env;
    _Atomic bool stop;
    _Atomic int64_t reads, failures;
    _Atomic uint64_t number; /* of the last write that began */
    char copy[600];
    pthread_mutex_t mutex;
    pthread_cond_t stepped;
    uint64_t steps; /* transactions that the writers have ended */
} shared;

static void note_step(shared *s) {
    pthread_mutex_lock(&s->mutex);
    s->steps++;
    pthread_cond_broadcast(&s->stepped);
    pthread_mutex_unlock(&s->mutex);
}

static void stop_all(shared *s) {
    pthread_mutex_lock(&s->mutex);
    atomic_store(&s->stop, true);
    pthread_cond_broadcast(&s->stepped);
    pthread_mutex_unlock(&s->mutex);
}

/* Waits until the writers have taken more steps than were seen; false once all have to stop. */
static bool wait_for_step(shared *s, uint64_t *seen) {
    pthread_mutex_lock(&s->mutex);
    while (s->steps == *seen && !atomic_load(&s->stop))
        pthread_cond_wait(&s->stepped, &s->mutex);
    *seen = s->steps;
    pthread_mutex_unlock(&s->mutex);
    return !atomic_load(&s->stop);
}

static void failed(shared *s, const char *what, const larder_error *error) {
    if (atomic_fetch_add(&s->failures, 1) == 0)
        test_fail(__FILE__, __LINE__, "%s: %s", what, error->message);
}

static larder_bytes name_of(char *to, size_t capacity, const char *collection, uint64_t pair) {
    snprintf(to, capacity, "%s/%03llu", collection, (unsigned long long)pair);
    return test_text(to);
}

static int32_t put_number(larder_txn *txn, larder_builder *builder, larder_bytes name,
                          uint64_t number, larder_error *error) {
    larder_bytes plain;
    static const char filling[600] = "a value that is long enough to be compressed";
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version.seconds = info.read_time.seconds = (int64_t)number + 1;
    larder_builder_reset(builder);
    larder_builder_begin_map(builder, NULL);
    larder_builder_name(builder, test_text("number"), NULL);
    larder_builder_integer(builder, (int64_t)number, NULL);
    larder_builder_name(builder, test_text("filling"), NULL);
    larder_builder_bytes(builder, (larder_bytes){filling, sizeof filling}, NULL);
    larder_builder_end_map(builder, NULL);
    int32_t status = larder_builder_finish_record(builder, &plain, error);
    return status == LARDER_OK ? larder_document_put(txn, name, &info, plain, error) : status;
}

static int32_t write_pair(shared *s, larder_txn *txn, larder_builder *builder, uint64_t number,
                          larder_error *error) {
    char text[64];
    larder_time time = {1, 0, 0};
    int32_t status =
        put_number(txn, builder, name_of(text, sizeof text, "left", number % PAIRS), number, error);
    if (status == LARDER_OK)
        status = put_number(txn, builder, name_of(text, sizeof text, "right", number % PAIRS),
                            number, error);
    if (status == LARDER_OK)
        status = larder_named_put(txn, LARDER_NAMED_GLOBAL, test_text("number"), time,
                                  (larder_bytes){&number, sizeof number}, error);
    if (status == LARDER_OK && number % 7 == 0) {
        larder_mutation_document touched = {.name = name_of(text, sizeof text, "left", 0)};
        int64_t batch_id;
        status = larder_mutation_append(txn, test_text("alice"), time, &touched, 1,
                                        test_text("payload"), &batch_id, error);
        if (status == LARDER_OK)
            status = larder_mutation_remove(txn, test_text("alice"), batch_id, error);
    }
    (void)s;
    return status;
}

static void *write_pairs(void *context) {
    shared *s = context;
    larder_builder *builder;
    larder_error error = {0};
    if (larder_builder_create(NULL, &builder, &error) != LARDER_OK) return NULL;
    for (int i = 0; i < COMMITS_EACH; i++) {
        larder_txn *txn;
        int32_t status = larder_txn_begin_write(s->env, &txn, &error);
        if (status != LARDER_OK) {
            failed(s, "begin_write", &error);
            break;
        }
        uint64_t number = atomic_fetch_add(&s->number, 1) + 1;
        status = write_pair(s, txn, builder, number, &error);
        if (status != LARDER_OK || i % 9 == 8)
            larder_txn_abort(txn);
        else
            status = larder_txn_commit(txn, &error);
        if (status != LARDER_OK) failed(s, "a commit", &error);
        note_step(s);
    }
    larder_builder_close(builder);
    return NULL;
}

static bool number_in(const larder_document *document, int64_t *number) {
    uint8_t path[16];
    size_t size;
    larder_field field;
    larder_bytes value;
    if (larder_path_parse(test_text("number"), path, sizeof path, &size, NULL) != LARDER_OK)
        return false;
    larder_field_init(&field, (larder_bytes){path, size});
    return larder_record_find(&document->record, &field, &value, NULL) == LARDER_OK &&
           larder_value_get_integer(value, number) == LARDER_OK;
}

/* Left and right of a pair are of one commit, and none is newer than the global. */
static void read_pairs_once(shared *s) {
    const larder_txn *txn;
    larder_error error = {0};
    if (larder_txn_begin_read(s->env, &txn, &error) != LARDER_OK) {
        failed(s, "begin_read", &error);
        return;
    }
    larder_time time;
    larder_bytes payload;
    uint64_t newest = 0;
    int32_t status =
        larder_named_get(txn, LARDER_NAMED_GLOBAL, test_text("number"), &time, &payload, &error);
    if (status == LARDER_OK) memcpy(&newest, payload.data, sizeof newest);
    int64_t numbers[PAIRS];
    memset(numbers, 0xff, sizeof numbers);
    static const char *const sides[] = {"left", "right"};
    for (int side = 0; side < 2; side++) {
        larder_scan *scan;
        larder_document document;
        status = larder_scan_collection(txn, test_text(sides[side]), NULL, &scan, &error);
        if (status != LARDER_OK) {
            failed(s, "scan_collection", &error);
            break;
        }
        while ((status = larder_scan_next(scan, &document, &error)) == LARDER_OK) {
            int64_t number = -1;
            char id[8] = "";
            if (document.id.size_bytes < sizeof id)
                memcpy(id, document.id.data, document.id.size_bytes);
            long pair = strtol(id, NULL, 10);
            if (!number_in(&document, &number) || pair < 0 || pair >= PAIRS ||
                number > (int64_t)newest || (uint64_t)number % PAIRS != (uint64_t)pair)
                failed(s, "a document of another commit", &error);
            else if (side == 0)
                numbers[pair] = number;
            /* the other side may have been evicted, but is never of another commit */
            else if (numbers[pair] >= 0 && numbers[pair] != number)
                failed(s, "a mixture of two commits", &error);
        }
        if (status != LARDER_END) failed(s, "scan_next", &error);
        larder_scan_close(scan);
    }
    larder_stat stat = {.struct_bytes = sizeof stat};
    if (larder_env_stat(txn, &stat, &error) != LARDER_OK) failed(s, "env_stat", &error);
    larder_txn_end_read(txn);
    atomic_fetch_add(&s->reads, 1);
}

static void *read_pairs(void *context) {
    shared *s = context;
    do
        read_pairs_once(s);
    while (!atomic_load(&s->stop));
    return NULL;
}

static void touch_and_pin_once(shared *s, uint64_t i) {
    larder_error error = {0};
    char text[64];
    larder_bytes name = name_of(text, sizeof text, i % 2 ? "left" : "right", i % PAIRS);
    if (larder_lru_touch(s->env, name, &error) != LARDER_OK) failed(s, "touch", &error);
    if (larder_lru_pin(s->env, name, &error) != LARDER_OK) failed(s, "pin", &error);
    if (larder_lru_unpin(s->env, name, &error) != LARDER_OK) failed(s, "unpin", &error);
    if (larder_lru_pin_target(s->env, 5, &error) != LARDER_OK) failed(s, "pin_target", &error);
    if (larder_lru_unpin_target(s->env, 5, &error) != LARDER_OK) failed(s, "unpin_target", &error);
    if (larder_env_set_budget(s->env, LARDER_BUDGET_MIN_BYTES + (int64_t)(i % 100), &error) !=
        LARDER_OK)
        failed(s, "set_budget", &error);
}

static void *touch_and_pin(void *context) {
    shared *s = context;
    uint64_t i = 0, seen = 0;
    while (wait_for_step(s, &seen))
        for (int touch = 0; touch < TOUCHES_A_STEP; touch++)
            touch_and_pin_once(s, i++);
    return NULL;
}

static void remove_copy(const char *path) {
    DIR *entries = opendir(path);
    struct dirent *entry;
    char name[900];
    while (entries && (entry = readdir(entries))) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        unlink(name);
    }
    if (entries) closedir(entries);
    rmdir(path);
}

static void *evict_and_copy(void *context) {
    shared *s = context;
    larder_error error = {0};
    uint64_t seen = 0;
    for (int i = 0; wait_for_step(s, &seen); i++) {
        larder_lru_result result = {.struct_bytes = sizeof result};
        int32_t status = larder_lru_step(s->env, 20000, 10, 500, &result, &error);
        if (status != LARDER_OK && status != LARDER_MORE) failed(s, "lru_step", &error);
        if (larder_env_sync(s->env, &error) != LARDER_OK) failed(s, "sync", &error);
        if (i % 4 == 0) {
            status = i % 8 ? larder_env_compact(s->env, s->copy, NULL, NULL, &error)
                           : larder_env_copy(s->env, s->copy, NULL, NULL, &error);
            if (status != LARDER_OK) failed(s, "copy", &error);
            remove_copy(s->copy);
        }
    }
    return NULL;
}

static void check_store(larder_env *env) {
    const larder_txn *txn;
    larder_check_report report = {.struct_bytes = sizeof report};
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    CHECK_OK(larder_check(txn, NULL, NULL, NULL, &report, &test_error));
    CHECK_EQ(report.problem_count, 0);
    larder_txn_end_read(txn);
}

static void all_at_once(void) {
    shared s = {.mutex = PTHREAD_MUTEX_INITIALIZER, .stepped = PTHREAD_COND_INITIALIZER};
    const char *root = test_directory();
    char path[600];
    snprintf(path, sizeof path, "%s/store", root);
    snprintf(s.copy, sizeof s.copy, "%s/copy", root);
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    REQUIRE_OK(larder_env_open(path, &options, &s.env, &test_error));
    pthread_t writers[WRITERS], others[OTHERS];
    for (int i = 0; i < WRITERS; i++)
        REQUIRE(pthread_create(&writers[i], NULL, write_pairs, &s) == 0);
    for (int i = 0; i < READERS; i++)
        REQUIRE(pthread_create(&others[i], NULL, read_pairs, &s) == 0);
    for (int i = READERS; i < READERS + PINNERS; i++)
        REQUIRE(pthread_create(&others[i], NULL, touch_and_pin, &s) == 0);
    REQUIRE(pthread_create(&others[OTHERS - 1], NULL, evict_and_copy, &s) == 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    stop_all(&s);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
    CHECK_EQ(atomic_load(&s.failures), 0);
    CHECK(atomic_load(&s.reads) > 0);
    check_store(s.env);
    CHECK_OK(larder_env_close(s.env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* One read transaction handed from thread to thread, as Swift's tasks do. */
typedef struct handed {
    const larder_txn *txn;
    int32_t status;
} handed;

static void *read_handed(void *context) {
    handed *h = context;
    larder_document document;
    h->status = larder_document_get(h->txn, test_text("left/001"), &document, NULL);
    return NULL;
}

static void read_transactions_change_threads(void) {
    shared s = {.env = NULL};
    REQUIRE_OK(larder_env_open(test_directory(), NULL, &s.env, &test_error));
    larder_builder *builder;
    larder_txn *write;
    REQUIRE_OK(larder_builder_create(NULL, &builder, &test_error));
    REQUIRE_OK(larder_txn_begin_write(s.env, &write, &test_error));
    CHECK_OK(write_pair(&s, write, builder, 1, &test_error));
    CHECK_OK(larder_txn_commit(write, &test_error));
    larder_builder_close(builder);
    handed h = {.status = -1};
    REQUIRE_OK(larder_txn_begin_read(s.env, &h.txn, &test_error));
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        h.status = -1;
        REQUIRE(pthread_create(&thread, NULL, read_handed, &h) == 0);
        pthread_join(thread, NULL);
        CHECK_OK(h.status);
    }
    larder_txn_end_read(h.txn);
    CHECK_OK(larder_env_close(s.env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* Many stores opened and closed by many threads: the registry. */
static void *open_and_close(void *context) {
    shared *s = context;
    larder_error error = {0};
    for (int i = 0; i < 30; i++) {
        larder_env *env;
        larder_env_options options;
        larder_env_options_init(&options, sizeof options);
        options.flags = LARDER_OPEN_IN_MEMORY;
        int32_t status = larder_env_open(NULL, &options, &env, &error);
        if (status != LARDER_OK) {
            failed(s, "open", &error);
            break;
        }
        if (larder_env_close(env, &error) != LARDER_OK) failed(s, "close", &error);
    }
    return NULL;
}

static void *open_same(void *context) {
    shared *s = context;
    larder_error error = {0};
    for (int i = 0; i < 20; i++) {
        larder_env *env;
        int32_t status = larder_env_open(s->copy, NULL, &env, &error);
        if (status == LARDER_E_ALREADY_OPEN) continue;
        if (status != LARDER_OK) {
            failed(s, "open the same", &error);
            break;
        }
        atomic_fetch_add(&s->reads, 1);
        if (larder_env_close(env, &error) != LARDER_OK) failed(s, "close the same", &error);
    }
    return NULL;
}

static void threads_open_and_close(void) {
    shared s = {.env = NULL};
    snprintf(s.copy, sizeof s.copy, "%s/store", test_directory());
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, i < 2 ? open_and_close : open_same, &s) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(atomic_load(&s.failures), 0);
    CHECK(atomic_load(&s.reads) > 0);
    CHECK_EQ(larder_live_handle_count(), 0);
}

static const test_case cases[] = {
    {"all at once", all_at_once},
    {"read transactions change threads", read_transactions_change_threads},
    {"threads open and close", threads_open_and_close},
};
TEST_SUITE(thread, cases);

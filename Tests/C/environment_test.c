/* environment_test.c - opening, growing, copying and closing a store; threads and the caller's memory. */
#include "env_kit.h"
#include "mirror.h"
#include "store/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static void opens_and_creates(void) {
    const char *root = test_directory();
    const char *path = env_kit_join(root, "a/b/store");
    CHECK_STATUS(env_kit_open_status(path, 0), LARDER_E_NO_STORE);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NO_STORE);
    CHECK(access(path, F_OK) != 0);
    int before = env_kit_descriptor_count();
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK(strcmp(larder_env_path(env), path) == 0);
    CHECK_EQ(larder_live_handle_count(), 1);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_OK(larder_env_sync(env, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
    CHECK_EQ(env_kit_descriptor_count(), before);
    env = env_kit_open_store(path, 0);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_get(env, "cities/SF"));
    CHECK_STATUS(env_kit_get(env, "cities/LA"), LARDER_NOT_FOUND);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_OK(larder_env_close(NULL, NULL));
}

static void refuses_bad_options(void) {
    const char *path = test_directory();
    larder_env *env = NULL;
    larder_env_options options = env_kit_defaults();
    options.budget_bytes = LARDER_BUDGET_MIN_BYTES - 1;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = env_kit_defaults();
    options.budget_bytes = -2;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = env_kit_defaults();
    options.durability = 9;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = env_kit_defaults();
    options.flags = 1u << 30;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open(NULL, NULL, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open("", NULL, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open(path, NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    /* a caller that knows fewer options */
    options = env_kit_defaults();
    options.struct_bytes = offsetof(larder_env_options, map_bytes);
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    CHECK_STATUS(larder_env_set_budget(env, LARDER_BUDGET_MIN_BYTES - 1, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_set_budget(env, 0, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_env_set_budget(env, LARDER_BUDGET_MIN_BYTES, &test_error));
    CHECK_OK(larder_env_set_budget(env, LARDER_BUDGET_UNLIMITED, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void opens_once_in_a_process(void) {
    const char *root = test_directory();
    const char *path = env_kit_join(root, "store"), *link = env_kit_join(root, "link");
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_SHARED), LARDER_E_ALREADY_OPEN);
    CHECK_EQ(symlink(path, link), 0);
    CHECK_STATUS(env_kit_open_status(link, LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(env_kit_open_status(env_kit_join(root, "./store/../store/"), LARDER_OPEN_CREATE),
                 LARDER_E_ALREADY_OPEN);
    char here[1024];
    REQUIRE(getcwd(here, sizeof here) != NULL);
    CHECK_EQ(chdir(root), 0);
    CHECK_STATUS(env_kit_open_status("store", LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_EQ(chdir(here), 0);
    /* the refused opens must not have taken away the first one's locks */
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(env_kit_open_status(link, 0), LARDER_OK);
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- threads and misuse ---- */

typedef struct other_thread {
    larder_env *env;
    larder_txn *txn;
    int32_t get, put, commit;
} other_thread;

static void *use_elsewhere(void *context) {
    other_thread *t = context;
    larder_document document;
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    larder_bytes none = {NULL, 0};
    t->get = larder_document_get(t->txn, test_text("cities/SF"), &document, NULL);
    t->put = larder_document_put(t->txn, test_text("cities/LA"), &info, none, NULL);
    t->commit = larder_txn_commit(t->txn, NULL);
    return NULL;
}

static void write_transactions_stay_on_their_thread(void) {
    larder_env *env = env_kit_open_store(test_directory(), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    other_thread t = {.env = env};
    REQUIRE_OK(larder_txn_begin_write(env, &t.txn, &test_error));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, use_elsewhere, &t) == 0);
    pthread_join(thread, NULL);
    CHECK_STATUS(t.get, LARDER_E_WRONG_THREAD);
    CHECK_STATUS(t.put, LARDER_E_WRONG_THREAD);
    CHECK_STATUS(t.commit, LARDER_E_WRONG_THREAD);
    larder_txn *second;
    CHECK_STATUS(larder_txn_begin_write(env, &second, NULL), LARDER_E_BUSY);
    larder_lru_result result = {.struct_bytes = sizeof result};
    CHECK_STATUS(larder_lru_step(env, 0, 0, 0, &result, NULL), LARDER_E_BUSY);
    CHECK_STATUS(larder_env_close(env, NULL), LARDER_E_BUSY);
    CHECK_OK(larder_txn_commit(t.txn, &test_error));
    const larder_txn *read;
    REQUIRE_OK(larder_txn_begin_read(env, &read, &test_error));
    CHECK_STATUS(larder_env_close(env, NULL), LARDER_E_BUSY);
    larder_txn_end_read(read);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void commit_with_an_open_scan_aborts(void) {
    larder_env *env = env_kit_open_store(test_directory(), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    larder_txn *txn;
    larder_scan *scan;
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_document_remove(txn, test_text("cities/SF"), &test_error));
    REQUIRE_OK(larder_scan_collection(txn, test_text("cities"), NULL, &scan, &test_error));
    CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_BUSY);
    larder_scan_close(scan);
    CHECK_OK(env_kit_get(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- growth ---- */

typedef struct growing {
    larder_env *env;
    _Atomic bool stop;
    _Atomic int reads, failures;
} growing;

static void *read_meanwhile(void *context) {
    growing *g = context;
    while (!atomic_load(&g->stop)) {
        const larder_txn *txn;
        larder_scan *scan;
        larder_document document;
        if (larder_txn_begin_read(g->env, &txn, NULL) != LARDER_OK) {
            atomic_fetch_add(&g->failures, 1);
            continue;
        }
        int count = 0;
        if (larder_scan_collection(txn, test_text("big"), NULL, &scan, NULL) == LARDER_OK) {
            while (count < 50 && larder_scan_next(scan, &document, NULL) == LARDER_OK)
                count++;
            larder_scan_close(scan);
        } else
            atomic_fetch_add(&g->failures, 1);
        larder_txn_end_read(txn);
        atomic_fetch_add(&g->reads, 1);
    }
    return NULL;
}

static void write_big(larder_env *env, int commits, int documents, size_t document_bytes) {
    static uint8_t content[200000];
    larder_builder *builder;
    REQUIRE_OK(larder_builder_create(NULL, &builder, &test_error));
    for (int i = 0, number = 0; i < commits; i++) {
        larder_txn *txn;
        REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
        for (int d = 0; d < documents; d++, number++) {
            for (size_t at = 0; at + 8 <= document_bytes; at += 8) {
                uint64_t word = test_random();
                memcpy(content + at, &word, 8);
            }
            larder_bytes plain, bytes = {content, document_bytes};
            larder_builder_reset(builder);
            CHECK_OK(larder_builder_begin_map(builder, &test_error));
            CHECK_OK(larder_builder_name(builder, test_text("content"), &test_error));
            CHECK_OK(larder_builder_bytes(builder, bytes, &test_error));
            CHECK_OK(larder_builder_end_map(builder, &test_error));
            REQUIRE_OK(larder_builder_finish_record(builder, &plain, &test_error));
            larder_document_info info;
            larder_document_info_init(&info, sizeof info);
            info.state = LARDER_DOCUMENT_FOUND;
            info.version.seconds = info.read_time.seconds = number + 1;
            char name[64];
            snprintf(name, sizeof name, "big/%06d", number);
            REQUIRE_OK(larder_document_put(txn, test_text(name), &info, plain, &test_error));
        }
        REQUIRE_OK(larder_txn_commit(txn, &test_error));
    }
    larder_builder_close(builder);
}

static void a_small_map_grows_by_itself(void) {
    larder_env_options options = env_kit_defaults();
    options.map_bytes = 1 << 20;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    growing g = {.env = NULL};
    REQUIRE_OK(larder_env_open(test_directory(), &options, &g.env, &test_error));
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&readers[i], NULL, read_meanwhile, &g) == 0);
    write_big(g.env, 64, 10, 100000); /* 64 MB */
    atomic_store(&g.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    CHECK_EQ(atomic_load(&g.failures), 0);
    CHECK(atomic_load(&g.reads) > 0);
    const larder_txn *txn;
    larder_stat stat = {.struct_bytes = sizeof stat};
    REQUIRE_OK(larder_txn_begin_read(g.env, &txn, &test_error));
    CHECK_OK(larder_env_stat(txn, &stat, &test_error));
    CHECK_OK(mirror_check(txn));
    larder_txn_end_read(txn);
    CHECK_EQ(stat.document_count, 640);
    CHECK(stat.map_bytes > 64000000 && stat.file_bytes > 64000000);
    CHECK_OK(larder_env_close(g.env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void a_small_map_grows_beside_a_lasting_reader(void) {
    larder_env_options options = env_kit_defaults();
    options.map_bytes = 1 << 20;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    larder_env *env = NULL;
    const larder_txn *read;
    REQUIRE_OK(larder_env_open(test_directory(), &options, &env, &test_error));
    REQUIRE_OK(larder_txn_begin_read(env, &read, &test_error));
    write_big(env, 4, 10, 100000);
    larder_txn_end_read(read);
    CHECK_OK(larder_env_close(env, &test_error));
}

/* ---- in memory ---- */

static int entries_named_larder(const char *directory) {
    int count = 0;
    DIR *entries = opendir(directory);
    if (!entries) return 0;
    struct dirent *entry;
    while ((entry = readdir(entries)))
        count += strncmp(entry->d_name, "larder-", 7) == 0 &&
                 strncmp(entry->d_name, "larder-test-", 12) != 0 &&
                 strncmp(entry->d_name, "larder-crash-", 13) != 0;
    closedir(entries);
    return count;
}

static void an_in_memory_store_leaves_nothing(void) {
    int before = entries_named_larder("/dev/shm") + entries_named_larder("/tmp");
    int descriptors = env_kit_descriptor_count();
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_IN_MEMORY;
    larder_env *env = NULL, *other = NULL;
    REQUIRE_OK(larder_env_open(NULL, &options, &env, &test_error));
    REQUIRE_OK(larder_env_open("ignored", &options, &other, &test_error));
    CHECK(strcmp(larder_env_path(env), "") == 0);
    CHECK_EQ(entries_named_larder("/dev/shm") + entries_named_larder("/tmp"), before);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_OK(env_kit_get(env, "cities/SF"));
    CHECK_STATUS(env_kit_get(other, "cities/SF"), LARDER_NOT_FOUND);
    CHECK_OK(larder_env_sync(env, &test_error));
    mirror *m = mirror_create();
    mirror_profile profile = {.seed = test_random(), .operations = 40};
    for (int i = 0; i < 10; i++) {
        larder_txn *write;
        REQUIRE_OK(larder_txn_begin_write(other, &write, &test_error));
        mirror_commit(m, write, &profile, NULL);
        CHECK_OK(larder_txn_commit(write, &test_error));
    }
    const larder_txn *read;
    REQUIRE_OK(larder_txn_begin_read(other, &read, &test_error));
    mirror_verify(m, read, NULL);
    mirror_check(read);
    larder_txn_end_read(read);
    mirror_free(m);
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_OK(larder_env_close(other, &test_error));
    CHECK(access("ignored", F_OK) != 0);
    CHECK_EQ(env_kit_descriptor_count(), descriptors);
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- copies ---- */

static int32_t stop_at_once(void *context, int64_t done, int64_t total) {
    (void)done;
    (void)total;
    ++*(int *)context;
    return 1;
}
static int32_t go_on(void *context, int64_t done, int64_t total) {
    int64_t *last = context;
    CHECK(done >= *last && (total == 0 || done <= total));
    *last = done;
    return 0;
}

static void check_copy(const char *path, const mirror *m) {
    larder_env *env = env_kit_open_store(path, 0);
    const larder_txn *txn;
    REQUIRE(env != NULL);
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    mirror_problem_reset();
    mirror_verify(m, txn, NULL);
    mirror_check(txn);
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    larder_txn_end_read(txn);
    CHECK_OK(env_kit_put(env, "copies/areWritable"));
    larder_txn *write;
    REQUIRE_OK(larder_txn_begin_write(env, &write, &test_error));
    CHECK_OK(larder_document_remove(write, test_text("copies/areWritable"), &test_error));
    CHECK_OK(larder_txn_commit(write, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
}

static void copies_are_whole_stores(void) {
    const char *root = test_directory();
    larder_env *env = env_kit_open_store(env_kit_join(root, "store"), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    mirror *m = mirror_create();
    mirror_profile profile = {.seed = test_random(), .operations = 60};
    mirror_problem_reset();
    for (int i = 0; i < 12; i++) {
        larder_txn *txn;
        REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
        mirror_commit(m, txn, &profile, NULL);
        CHECK_OK(larder_txn_commit(txn, &test_error));
    }
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    int64_t last = 0;
    CHECK_OK(larder_env_copy(env, env_kit_join(root, "copy"), go_on, &last, &test_error));
    CHECK(last > 0);
    last = 0;
    CHECK_OK(larder_env_compact(env, env_kit_join(root, "compact"), go_on, &last, &test_error));
    CHECK(last > 0);
    check_copy(env_kit_join(root, "copy"), m);
    check_copy(env_kit_join(root, "compact"), m);
    CHECK(env_kit_file_size(env_kit_join(root, "compact/data.mdb")) <=
          env_kit_file_size(env_kit_join(root, "copy/data.mdb")));
    /* an empty directory will do; one that holds something will not */
    const char *empty = env_kit_join(root, "empty");
    mkdir(empty, 0755);
    CHECK_OK(larder_env_copy(env, empty, NULL, NULL, &test_error));
    check_copy(empty, m);
    CHECK(larder_env_copy(env, empty, NULL, NULL, NULL) < 0);
    CHECK(larder_env_compact(env, empty, NULL, NULL, NULL) < 0);
    CHECK(larder_env_copy(env, env_kit_join(root, "store"), NULL, NULL, NULL) < 0);
    check_copy(empty, m);
    int calls = 0;
    CHECK_STATUS(larder_env_copy(env, env_kit_join(root, "stopped"), stop_at_once, &calls, NULL),
                 LARDER_STOPPED);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(
        larder_env_compact(env, env_kit_join(root, "stopped2"), stop_at_once, &calls, NULL),
        LARDER_STOPPED);
    /* what was stopped is no store that opens */
    CHECK(env_kit_open_status(env_kit_join(root, "stopped"), 0) != LARDER_OK);
    CHECK(env_kit_open_status(env_kit_join(root, "stopped2"), 0) != LARDER_OK);
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    mirror_verify(m, txn, NULL);
    larder_txn_end_read(txn);
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    CHECK_OK(larder_env_close(env, &test_error));
    mirror_free(m);
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- the caller's memory ---- */

typedef struct counted {
    int64_t live, calls;
} counted;

static void *counted_allocate(void *context, size_t size) {
    counted *c = context;
    c->live++;
    c->calls++;
    CHECK(size > 0);
    return malloc(size);
}
static void counted_release(void *context, void *memory) {
    ((counted *)context)->live--;
    free(memory);
}

static void the_allocator_hook_gets_everything_back(void) {
    counted c = {0, 0};
    larder_allocator allocator = {&c, counted_allocate, counted_release};
    larder_env_options options = env_kit_defaults();
    options.allocator = &allocator;
    larder_env *env = NULL;
    REQUIRE_OK(larder_env_open(test_directory(), &options, &env, &test_error));
    allocator.allocate = NULL; /* copied at open */
    mirror *m = mirror_create();
    mirror_profile profile = {.seed = test_random(), .operations = 60};
    mirror_problem_reset();
    for (int i = 0; i < 6; i++) {
        larder_txn *write;
        REQUIRE_OK(larder_txn_begin_write(env, &write, &test_error));
        mirror_commit(m, write, &profile, NULL);
        CHECK_OK(larder_txn_commit(write, &test_error));
    }
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    mirror_verify(m, txn, NULL);
    mirror_check(txn);
    larder_txn_end_read(txn);
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK(c.calls > 0);
    CHECK_EQ(c.live, 0);
    mirror_free(m);
}

static const test_case cases[] = {
    {"opens and creates", opens_and_creates},
    {"refuses bad options", refuses_bad_options},
    {"opens once in a process", opens_once_in_a_process},
    {"write transactions stay on their thread", write_transactions_stay_on_their_thread},
    {"commit with an open scan aborts", commit_with_an_open_scan_aborts},
    {"a small map grows by itself", a_small_map_grows_by_itself},
    {"a small map grows beside a lasting reader", a_small_map_grows_beside_a_lasting_reader},
    {"an in-memory store leaves nothing", an_in_memory_store_leaves_nothing},
    {"copies are whole stores", copies_are_whole_stores},
    {"the allocator hook gets everything back", the_allocator_hook_gets_everything_back},
};
TEST_SUITE(environment, cases);

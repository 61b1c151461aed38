/* process_test.c - stores that several processes open, and readers of one. */
#include "env_kit.h"
#include "mirror.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- several processes ---- */

static const char *open_locked(void *path) {
    larder_env *env;
    larder_error error;
    NEED(larder_env_open(path, NULL, &env, &error) == LARDER_E_LOCKED);
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_E_LOCKED);
    return NULL;
}

static const char *read_beside_writer(void *path) {
    larder_env *env;
    larder_error error;
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_READ_ONLY;
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
    NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
    NEED(env_kit_get(env, "cities/LA") == LARDER_NOT_FOUND);
    NEED(env_kit_put(env, "cities/LA") == LARDER_E_READ_ONLY);
    larder_lru_result result = {.struct_bytes = sizeof result};
    NEED(larder_lru_step(env, 0, 0, 0, &result, &error) == LARDER_E_READ_ONLY);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void locks_out_other_processes(void) {
    char *path = env_kit_join(test_directory(), "store");
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    env_kit_in_child(open_locked, path);
    env_kit_in_child(read_beside_writer, path);
    CHECK_OK(env_kit_put(env, "cities/LA"));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(env_kit_open_status(path, 0), LARDER_OK);
}

static const char *wait_for_byte(void *context) {
    int *ends = context;
    close(ends[1]);
    NEED(env_kit_await_byte(ends[0]));
    return NULL;
}

static void a_living_child_keeps_no_lock(void) {
    const char *path = test_directory();
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    env_kit_child c = env_kit_child_start(wait_for_byte, ends);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(env_kit_open_status(path, 0), LARDER_OK);
    env_kit_send_byte(ends[1]);
    env_kit_child_finish(c);
    close(ends[0]);
    close(ends[1]);
}

typedef struct shared_test {
    char *path;
    int to_child[2], to_parent[2];
} shared_test;

static const char *share(void *context) {
    shared_test *t = context;
    larder_env *env;
    larder_error error;
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(t->path, &options, &env, &error) == LARDER_OK);
    NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
    NEED(env_kit_put(env, "rooms/fromChild") == LARDER_OK);
    env_kit_send_byte(t->to_parent[1]);
    NEED(env_kit_await_byte(t->to_child[0]));
    /* a collection that the other process made after we had looked for it */
    NEED(env_kit_get(env, "walks/one") == LARDER_OK);
    NEED(env_kit_put(env, "walks/two") == LARDER_OK);
    NEED(env_kit_get(env, "walks/one") == LARDER_OK);
    env_kit_send_byte(t->to_parent[1]);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void processes_share_a_store(void) {
    shared_test t = {.path = env_kit_join(test_directory(), "store")};
    larder_env *env = env_kit_open_store(t.path, LARDER_OPEN_CREATE | LARDER_OPEN_SHARED);
    REQUIRE(env != NULL && pipe(t.to_child) == 0 && pipe(t.to_parent) == 0);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_STATUS(env_kit_get(env, "rooms/fromChild"), LARDER_NOT_FOUND);
    env_kit_child c = env_kit_child_start(share, &t);
    CHECK(env_kit_await_byte(t.to_parent[0]));
    CHECK_OK(env_kit_get(env, "rooms/fromChild"));
    CHECK_OK(env_kit_put(env, "walks/one"));
    env_kit_send_byte(t.to_child[1]);
    CHECK(env_kit_await_byte(t.to_parent[0]));
    CHECK_OK(env_kit_get(env, "walks/two"));
    CHECK_OK(env_kit_put(env, "rooms/another"));
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    CHECK_OK(larder_check(txn, NULL, NULL, NULL,
                          &(larder_check_report){.struct_bytes = sizeof(larder_check_report)},
                          &test_error));
    larder_txn_end_read(txn);
    env_kit_child_finish(c);
    CHECK_OK(larder_env_close(env, &test_error));
    for (int i = 0; i < 2; i++) {
        close(t.to_child[i]);
        close(t.to_parent[i]);
    }
}

static const char *write_many(void *context) {
    larder_env *env;
    larder_error error;
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_SHARED;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    NEED(larder_env_open(context, &options, &env, &error) == LARDER_OK);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/child%d", i % 7, i);
        NEED(env_kit_put(env, name) == LARDER_OK);
    }
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void processes_write_in_turn(void) {
    char *path = env_kit_join(test_directory(), "store");
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_SHARED;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    larder_env *env = NULL;
    REQUIRE_OK(larder_env_open(path, &options, &env, &test_error));
    env_kit_child children[2] = {env_kit_child_start(write_many, path),
                                 env_kit_child_start(write_many, path)};
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/parent%d", i % 7, i);
        CHECK_OK(env_kit_put(env, name));
    }
    env_kit_child_finish(children[0]);
    env_kit_child_finish(children[1]);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/parent%d", i % 7, i);
        CHECK_OK(env_kit_get(env, name));
        snprintf(name, sizeof name, "c%d/child%d", i % 7, i);
        CHECK_OK(env_kit_get(env, name));
    }
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    CHECK_OK(mirror_check(txn));
    larder_txn_end_read(txn);
    CHECK_OK(larder_env_close(env, &test_error));
}

typedef struct forked {
    larder_env *env;
    const larder_txn *read;
    larder_txn *write;
    char *copy;
} forked;

static const char *use_after_fork(void *context) {
    forked *f = context;
    const larder_txn *read;
    larder_txn *write;
    larder_error error;
    larder_document document;
    larder_bytes name = test_text("cities/SF"), none = {NULL, 0};
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    larder_scan *scan;
    larder_lru_result result = {.struct_bytes = sizeof result};
    larder_stat stat = {.struct_bytes = sizeof stat};
    NEED(larder_txn_begin_read(f->env, &read, &error) == LARDER_E_FORKED);
    NEED(larder_txn_begin_write(f->env, &write, &error) == LARDER_E_FORKED);
    NEED(larder_env_sync(f->env, &error) == LARDER_E_FORKED);
    NEED(larder_env_set_budget(f->env, -1, &error) == LARDER_E_FORKED);
    NEED(larder_env_copy(f->env, f->copy, NULL, NULL, &error) == LARDER_E_FORKED);
    NEED(larder_env_compact(f->env, f->copy, NULL, NULL, &error) == LARDER_E_FORKED);
    NEED(larder_lru_step(f->env, 0, 0, 0, &result, &error) == LARDER_E_FORKED);
    NEED(larder_lru_touch(f->env, name, &error) == LARDER_E_FORKED);
    NEED(larder_lru_pin(f->env, name, &error) == LARDER_E_FORKED);
    NEED(larder_lru_pin_target(f->env, 1, &error) == LARDER_E_FORKED);
    NEED(larder_document_get(f->read, name, &document, &error) == LARDER_E_FORKED);
    NEED(larder_scan_collection(f->read, test_text("cities"), NULL, &scan, &error) ==
         LARDER_E_FORKED);
    NEED(larder_env_stat(f->read, &stat, &error) == LARDER_E_FORKED);
    NEED(larder_document_put(f->write, name, &info, none, &error) == LARDER_E_FORKED);
    NEED(larder_txn_commit(f->write, &error) == LARDER_E_FORKED);
    larder_txn_abort(f->write);
    larder_txn_end_read(f->read);
    NEED(larder_env_close(f->env, &error) == LARDER_OK);
    NEED(larder_live_handle_count() == 0);
    return NULL;
}

static void handles_do_not_survive_fork(void) {
    const char *root = test_directory();
    forked f = {.copy = env_kit_join(root, "copy")};
    f.env = env_kit_open_store(env_kit_join(root, "store"), LARDER_OPEN_CREATE);
    REQUIRE(f.env != NULL);
    CHECK_OK(env_kit_put(f.env, "cities/SF"));
    REQUIRE_OK(larder_txn_begin_read(f.env, &f.read, &test_error));
    REQUIRE_OK(larder_txn_begin_write(f.env, &f.write, &test_error));
    env_kit_in_child(use_after_fork, &f);
    /* the parent's are as they were */
    larder_document document;
    CHECK_OK(larder_document_get(f.read, test_text("cities/SF"), &document, &test_error));
    larder_txn_end_read(f.read);
    CHECK_OK(larder_txn_commit(f.write, &test_error));
    CHECK_OK(env_kit_put(f.env, "cities/LA"));
    CHECK_OK(larder_env_close(f.env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- readers ---- */

static char logged[512];
static int logged_count;
static void keep_log(void *context, int32_t level, const char *message) {
    if (*(int32_t *)context < level) logged_count += 1000; /* more detail than wanted */
    logged_count++;
    snprintf(logged, sizeof logged, "%s", message);
}

static const char *hold_a_reader(void *context) {
    shared_test *t = context;
    larder_env *env;
    larder_error error;
    const larder_txn *txn;
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(t->path, &options, &env, &error) == LARDER_OK);
    for (int i = 0; i < 3; i++)
        NEED(larder_txn_begin_read(env, &txn, &error) == LARDER_OK);
    env_kit_send_byte(t->to_parent[1]);
    pause();
    return "was not killed";
}

static uint32_t reader_count(larder_env *env) {
    const larder_txn *txn;
    larder_stat stat = {.struct_bytes = sizeof stat};
    if (larder_txn_begin_read(env, &txn, &test_error) != LARDER_OK) return UINT32_MAX;
    CHECK_OK(larder_env_stat(txn, &stat, &test_error));
    larder_txn_end_read(txn);
    return stat.reader_count - 1; /* apart from this one */
}

static void cleans_stale_readers(void) {
    shared_test t = {.path = env_kit_join(test_directory(), "store")};
    larder_env *env = env_kit_open_store(t.path, LARDER_OPEN_CREATE | LARDER_OPEN_SHARED);
    REQUIRE(env != NULL && pipe(t.to_parent) == 0);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    env_kit_child c = env_kit_child_start(hold_a_reader, &t);
    CHECK(env_kit_await_byte(t.to_parent[0]));
    CHECK_EQ(reader_count(env), 3);
    CHECK_OK(larder_env_close(env, &test_error)); /* so that the next open is a new one */
    kill(c.process, SIGKILL);
    waitpid(c.process, NULL, 0);
    close(c.result);
    larder_env_options options = env_kit_defaults();
    int32_t level = LARDER_LOG_INFO;
    options.flags = LARDER_OPEN_SHARED;
    options.log = keep_log;
    options.log_context = &level;
    options.log_level = level;
    logged_count = 0;
    REQUIRE_OK(larder_env_open(t.path, &options, &env, &test_error));
    CHECK_EQ(reader_count(env), 0);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK(logged_count < 1000);
    close(t.to_parent[0]);
    close(t.to_parent[1]);
}

static void answers_full_reader_table(void) {
    larder_env_options options = env_kit_defaults();
    options.max_readers = 4;
    larder_env *env = NULL;
    REQUIRE_OK(larder_env_open(test_directory(), &options, &env, &test_error));
    const larder_txn *reads[16];
    int count = 0;
    int32_t status = LARDER_OK;
    while (count < 16 &&
           (status = larder_txn_begin_read(env, &reads[count], &test_error)) == LARDER_OK)
        count++;
    CHECK_STATUS(status, LARDER_E_READERS_FULL);
    CHECK(count >= 4);
    larder_txn_end_read(reads[--count]);
    REQUIRE_OK(larder_txn_begin_read(env, &reads[count], &test_error));
    count++;
    CHECK_OK(env_kit_put(env, "cities/SF"));
    while (count > 0)
        larder_txn_end_read(reads[--count]);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void readers_see_one_commit(void) {
    larder_env *env = env_kit_open_store(test_directory(), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    const larder_txn *before, *after;
    larder_txn *write;
    larder_document document;
    REQUIRE_OK(larder_txn_begin_read(env, &before, &test_error));
    CHECK(larder_txn_env(before) == env);
    CHECK_OK(env_kit_put(env, "cities/LA"));
    CHECK_STATUS(larder_document_get(before, test_text("cities/LA"), &document, NULL),
                 LARDER_NOT_FOUND);
    REQUIRE_OK(larder_txn_begin_read(env, &after, &test_error));
    CHECK_OK(larder_document_get(after, test_text("cities/LA"), &document, &test_error));
    CHECK_EQ(larder_txn_commit_number(after), larder_txn_commit_number(before) + 1);
    REQUIRE_OK(larder_txn_begin_write(env, &write, &test_error));
    CHECK_EQ(larder_txn_commit_number(write), larder_txn_commit_number(after) + 1);
    CHECK_OK(larder_document_remove(write, test_text("cities/LA"), &test_error));
    CHECK_STATUS(larder_document_get(write, test_text("cities/LA"), &document, NULL),
                 LARDER_NOT_FOUND);
    CHECK_OK(larder_document_get(after, test_text("cities/LA"), &document, &test_error));
    larder_txn_abort(write);
    larder_txn_end_read(before);
    larder_txn_end_read(after);
    CHECK_OK(env_kit_get(env, "cities/LA"));
    /* a commit that changes nothing has no number of its own */
    REQUIRE_OK(larder_txn_begin_read(env, &before, &test_error));
    uint64_t number = larder_txn_commit_number(before);
    larder_txn_end_read(before);
    REQUIRE_OK(larder_txn_begin_write(env, &write, &test_error));
    CHECK_OK(larder_txn_commit(write, &test_error));
    REQUIRE_OK(larder_txn_begin_read(env, &before, &test_error));
    CHECK_EQ(larder_txn_commit_number(before), number);
    larder_txn_end_read(before);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static const test_case cases[] = {
    {"locks out other processes", locks_out_other_processes},
    {"a living child keeps no lock", a_living_child_keeps_no_lock},
    {"processes share a store", processes_share_a_store},
    {"processes write in turn", processes_write_in_turn},
    {"handles do not survive fork", handles_do_not_survive_fork},
    {"cleans stale readers", cleans_stale_readers},
    {"answers a full reader table", answers_full_reader_table},
    {"readers see one commit", readers_see_one_commit},
};
TEST_SUITE(process, cases);

/*
 * reader_test.c - opening for reading without the right to write: the store's files or a snapshot of
 * them, whatever other processes do meanwhile.
 */
#include "env_kit.h"
#include "store/wal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAST = 12,
    SNAPSHOTS = 60,
    USER = 65534
}; /* of a child when the tests run as root, whom nothing is forbidden */

/* ---- stores ---- */

static const char *const files[] = {"data.mdb", "data.wal", "lock.mdb", "owner.lock"};

typedef struct store {
    char root[900];
    char path[1000];
    bool is_writable; /* for the child's user */
    int to_reader[2], to_writer[2];
} store;

/* Each commit writes two documents, alike. */
static int32_t put_pair(larder_env *env, int number) {
    larder_txn *txn;
    char text[32];
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = (larder_time){number, 0, 0};
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    for (int i = 0; i < 2 && status == LARDER_OK; i++) {
        snprintf(text, sizeof text, "%c/%d", 'a' + i, number % 50);
        status = larder_document_put(txn, test_text(text), &info, store_record(number, text),
                                     &test_error);
        if (status == LARDER_OK)
            status = larder_document_put(txn, test_text(i == 0 ? "a/last" : "b/last"), &info,
                                         store_record(number, "last"), &test_error);
    }
    if (status == LARDER_OK) return larder_txn_commit(txn, &test_error);
    larder_txn_abort(txn);
    return status;
}

/* The number of the last commit; -1: what is read is not one commit's. */
static int64_t last_of(larder_env *env) {
    const larder_txn *txn;
    larder_document documents[2];
    larder_check_report report = {.struct_bytes = sizeof report};
    if (larder_txn_begin_read(env, &txn, NULL) != LARDER_OK) return -1;
    int64_t number = -1;
    if (larder_check(txn, NULL, NULL, NULL, &report, NULL) == LARDER_OK &&
        larder_document_get(txn, test_text("a/last"), &documents[0], NULL) == LARDER_OK &&
        larder_document_get(txn, test_text("b/last"), &documents[1], NULL) == LARDER_OK &&
        documents[0].version.seconds == documents[1].version.seconds)
        number = documents[0].version.seconds;
    larder_txn_end_read(txn);
    return number;
}

/* Of a process that ends without closing it, or after that. */
static const char *leave_store(void *context) {
    store *s = context;
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    options.log_bytes = 65536;
    NEED(larder_env_open(s->path, &options, &env, NULL) == LARDER_OK);
    for (int number = 1; number <= LAST; number++)
        NEED(put_pair(env, number) == LARDER_OK);
    larder__wal_wait(env); /* the thread sanitizer reports threads that nobody has joined */
    return NULL;
}

static void begin(store *s, bool is_closed) {
    char command[1100];
    if (s->root[0] == '\0') snprintf(s->root, sizeof s->root, "%s", test_memory_directory());
    chmod(s->root, 0755);
    snprintf(s->path, sizeof s->path, "%s/store", s->root);
    snprintf(command, sizeof command, "rm -rf '%s'", s->path);
    CHECK_EQ(system(command), 0);
    env_kit_in_child(leave_store, s);
    if (is_closed) CHECK_STATUS(env_kit_open_status(s->path, 0), LARDER_OK);
}

static void allow(const store *s) {
    chmod(s->path, 0755);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        chmod(env_kit_join(s->path, files[i]), 0644);
}

static bool become_user(void) { return getuid() != 0 || (setgid(USER) == 0 && setuid(USER) == 0); }

static int32_t open_to_read(const store *s, larder_env **env) {
    larder_env_options options = env_kit_defaults();
    options.flags = LARDER_OPEN_READ_ONLY;
    *env = NULL;
    return larder_env_open(s->path, &options, env, &test_error);
}

static larder_opening opening_of(const larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    larder_env_opening(env, &opening, NULL);
    return opening;
}

/* ---- stores that nobody writes ---- */

static const char *read_store(void *context) {
    store *s = context;
    larder_env_options options = env_kit_defaults();
    larder_env *env;
    NEED(become_user());
    NEED(open_to_read(s, &env) == LARDER_OK);
    NEED(last_of(env) == LAST);
    NEED(put_pair(env, LAST + 1) == LARDER_E_READ_ONLY);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    if (s->is_writable) return NULL;
    /* An application that takes what it gets. */
    NEED(larder_env_open(s->path, &options, &env, NULL) == LARDER_E_PERMISSION);
    options.recovery = LARDER_RECOVERY_READ_ONLY;
    NEED(larder_env_open(s->path, &options, &env, NULL) == LARDER_OK);
    NEED(opening_of(env).state == LARDER_OPENING_READ_ONLY && last_of(env) == LAST);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}

/* Each set of the directory and the files is not to be written; and the locks are missing as in a copy, or
 * are there. */
static void a_store_is_read_without_the_right_to_write(void) {
    store s = {.root = ""};
    for (unsigned forbidden = 0; forbidden < 32; forbidden++) {
        for (unsigned with = 0; with < 4; with++) {
            bool has_locks = (with & 1) != 0;
            bool no_directory = (forbidden & 16) != 0;
            begin(&s, (with & 2) != 0);
            s.is_writable = has_locks || !no_directory;
            for (unsigned i = 0; i < 4; i++) {
                bool is_forbidden = (forbidden & 1u << i) != 0;
                if (i >= 2 && !has_locks) unlink(env_kit_join(s.path, files[i]));
                chmod(env_kit_join(s.path, files[i]), is_forbidden ? 0444 : 0666);
                if (is_forbidden && (i < 2 || has_locks)) s.is_writable = false;
            }
            chmod(s.path, no_directory ? 0555 : 0777);
            env_kit_in_child(read_store, &s);
            allow(&s);
            larder_env *env = env_kit_open_store(s.path, 0);
            CHECK_EQ(last_of(env), LAST);
            CHECK_OK(larder_env_close(env, &test_error));
        }
    }
}

/* A directory that may be written, and files that may not. */
static const char *read_in_place(void *context) {
    store *s = context;
    larder_env *env;
    NEED(become_user());
    NEED(open_to_read(s, &env) == LARDER_OK);
    NEED(opening_of(env).is_snapshot == 0 && last_of(env) == LAST);
    env_kit_send_byte(s->to_writer[1]);
    NEED(env_kit_await_byte(s->to_reader[0]));
    NEED(last_of(env) == LAST + 1); /* the writer's commit */
    env_kit_send_byte(s->to_writer[1]);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}

static void open_pipes(store *s) { CHECK(pipe(s->to_reader) == 0 && pipe(s->to_writer) == 0); }

/* The writer notices when the reader has ended. */
static env_kit_child start_reader(env_kit_work work, store *s) {
    env_kit_child reader = env_kit_child_start(work, s);
    close(s->to_writer[1]);
    return reader;
}

static void close_pipes(const store *s) {
    close(s->to_reader[0]);
    close(s->to_reader[1]);
    close(s->to_writer[0]);
}

static void a_reader_that_is_registered_sees_later_commits(void) {
    store s = {.root = ""};
    begin(&s, true);
    open_pipes(&s);
    chmod(env_kit_join(s.path, "lock.mdb"), 0666);
    larder_env *env = env_kit_open_store(s.path, 0);
    REQUIRE(env != NULL);
    env_kit_child reader = start_reader(read_in_place, &s);
    CHECK(env_kit_await_byte(s.to_writer[0]));
    CHECK_OK(put_pair(env, LAST + 1));
    env_kit_send_byte(s.to_reader[1]);
    CHECK(env_kit_await_byte(s.to_writer[0]));
    env_kit_child_finish(reader);
    CHECK_OK(larder_env_close(env, &test_error));
    close_pipes(&s);
}

/* ---- snapshots ---- */

static const char *read_snapshot(void *context) {
    store *s = context;
    larder_env *env;
    NEED(become_user());
    for (int i = 0; i < 2; i++) {
        NEED(open_to_read(s, &env) == LARDER_OK);
        NEED(opening_of(env).is_snapshot == 1 && last_of(env) == LAST + i);
        env_kit_send_byte(s->to_writer[1]);
        NEED(env_kit_await_byte(s->to_reader[0]));
        NEED(last_of(env) == LAST + i); /* it does not change */
        NEED(larder_env_close(env, NULL) == LARDER_OK);
    }
    return NULL;
}

/* Of a writer whose lock file it cannot use. hidden: nor see whether there is one. */
static void snapshots_beside_a_writer(bool hidden) {
    store s = {.root = ""};
    begin(&s, true);
    open_pipes(&s);
    larder_env *env = env_kit_open_store(s.path, 0);
    REQUIRE(env != NULL);
    for (size_t i = 2; i < 4; i++)
        chmod(env_kit_join(s.path, files[i]), hidden ? 0000 : 0444);
    env_kit_child reader = start_reader(read_snapshot, &s);
    for (int number = LAST + 1; number <= LAST + 2; number++) {
        CHECK(env_kit_await_byte(s.to_writer[0]));
        CHECK_OK(put_pair(env, number));
        env_kit_send_byte(s.to_reader[1]);
    }
    env_kit_child_finish(reader);
    allow(&s);
    CHECK_OK(larder_env_close(env, &test_error));
    close_pipes(&s);
}

static void a_snapshot_is_made_beside_a_writer(void) {
    snapshots_beside_a_writer(false);
    snapshots_beside_a_writer(true);
}

/* A store that was not closed: its snapshot is the same after another process recovered it. */
static void a_snapshot_does_not_change(void) {
    store s = {.root = ""};
    larder_env *reader, *again;
    begin(&s, false);
    REQUIRE_OK(open_to_read(&s, &reader));
    CHECK_EQ(opening_of(reader).is_snapshot, 1);
    CHECK_EQ(last_of(reader), LAST);
    pid_t writer = fork();
    if (writer == 0) {
        larder_env *env = NULL;
        bool is_done = larder_env_open(s.path, NULL, &env, NULL) == LARDER_OK &&
                       put_pair(env, LAST + 1) == LARDER_OK &&
                       larder_env_close(env, NULL) == LARDER_OK;
        _exit(is_done ? 0 : 1);
    }
    int result = -1;
    CHECK(writer > 0 && waitpid(writer, &result, 0) == writer && result == 0);
    CHECK_EQ(last_of(reader), LAST);
    CHECK_OK(larder_env_close(reader, &test_error));
    REQUIRE_OK(open_to_read(&s, &again));
    CHECK_EQ(opening_of(again).is_snapshot, 0);
    CHECK_EQ(last_of(again), LAST + 1);
    CHECK_OK(larder_env_close(again, &test_error));
}

static const char *read_many_snapshots(void *context) {
    store *s = context;
    int64_t last = LAST;
    int made = 0;
    NEED(become_user());
    for (int i = 0; i < SNAPSHOTS; i++) {
        larder_env *env;
        int32_t status = open_to_read(s, &env);
        NEED(status == LARDER_OK || status == LARDER_E_BUSY);
        if (status != LARDER_OK) continue;
        int64_t number = last_of(env);
        NEED(opening_of(env).is_snapshot == 1 && number >= last);
        last = number;
        made++;
        NEED(larder_env_close(env, NULL) == LARDER_OK);
    }
    NEED(made > 5 && last > LAST);
    return NULL;
}

/* Each is one commit's, although pages and the log change while they are copied. */
static void snapshots_are_whole_while_a_process_writes(void) {
    store s = {.root = ""};
    begin(&s, true);
    larder_env *env = env_kit_open_store(s.path, 0);
    REQUIRE(env != NULL);
    chmod(env_kit_join(s.path, "lock.mdb"), 0444);
    env_kit_child reader = env_kit_child_start(read_many_snapshots, &s);
    struct pollfd ended = {.fd = reader.result, .events = POLLIN};
    for (int number = LAST + 1; poll(&ended, 1, 0) == 0 && number < 1000000; number++)
        CHECK_OK(put_pair(env, number));
    env_kit_child_finish(reader);
    CHECK_OK(larder_env_close(env, &test_error));
}

static const test_case cases[] = {
    {"a store is read without the right to write", a_store_is_read_without_the_right_to_write},
    {"a reader that is registered sees later commits",
     a_reader_that_is_registered_sees_later_commits},
    {"a snapshot is made beside a writer", a_snapshot_is_made_beside_a_writer},
    {"a snapshot does not change", a_snapshot_does_not_change},
    {"snapshots are whole while a process writes", snapshots_are_whole_while_a_process_writes},
};
TEST_SUITE(reader, cases);

/*
 * environment_test.c - opening, sharing, forking, growing, copying and closing a store.
 *
 * Tests of several processes run a function in a child; it returns NULL, or text that says
 * what was not as it should be, which fails the test in the parent.
 */
#include "mirror.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a file system type of the test's choice ---- */

static long fake_file_system;

int statfs(const char *path, struct statfs *info);
int statfs(const char *path, struct statfs *info) {
    int result = (int)syscall(SYS_statfs, path, info);
    if (result == 0 && fake_file_system) info->f_type = (__typeof__(info->f_type))fake_file_system;
    return result;
}

/* ---- helpers ---- */

static larder_env_options defaults(void) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    return options;
}

static larder_env *open_store(const char *path, uint32_t flags) {
    larder_env_options options = defaults();
    options.flags = flags;
    larder_env *env = NULL;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

static int32_t open_status(const char *path, uint32_t flags) {
    larder_env_options options = defaults();
    options.flags = flags;
    larder_env *env = NULL;
    larder_error error = {0};
    int32_t status = larder_env_open(path, &options, &env, &error);
    if (status == LARDER_OK)
        larder_env_close(env, NULL);
    else
        CHECK_NOTE(error.status == status && error.message[0] != 0, "the error is not filled");
    CHECK(status == LARDER_OK || env == NULL);
    return status;
}

static int32_t put(larder_env *env, const char *name) {
    larder_txn *txn;
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = info.read_time.seconds = 5;
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    larder_bytes none = {NULL, 0};
    status = larder_document_put(txn, test_text(name), &info, none, &test_error);
    if (status != LARDER_OK) {
        larder_txn_abort(txn);
        return status;
    }
    return larder_txn_commit(txn, &test_error);
}

static int32_t get(larder_env *env, const char *name) {
    const larder_txn *txn;
    int32_t status = larder_txn_begin_read(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    larder_document document;
    status = larder_document_get(txn, test_text(name), &document, &test_error);
    larder_txn_end_read(txn);
    return status;
}

/* The result is good for the next fifteen calls. */
static char *join(const char *directory, const char *name) {
    static char paths[16][1024];
    static int next;
    char text[1024];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    char *path = paths[next++ % 16];
    memcpy(path, text, sizeof text);
    return path;
}

static int descriptor_count(void) {
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    if (!entries) return -1;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static void write_file(const char *path, const void *data, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    REQUIRE(file >= 0);
    CHECK_EQ(write(file, data, size), (ssize_t)size);
    close(file);
}

static off_t file_size(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : -1;
}

/* ---- child processes ---- */

#define TEXT_OF(x) #x
#define LINE_TEXT(x) TEXT_OF(x)
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) return "line " LINE_TEXT(__LINE__) ": " #condition;                      \
    } while (0)

typedef const char *(*child_function)(void *context);

typedef struct child {
    pid_t process;
    int result; /* what it says at the end */
} child;

static child child_start(child_function work, void *context) {
    child c = {-1, -1};
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) return c;
    c.process = fork();
    if (c.process == 0) {
        close(ends[0]);
        const char *text = work(context);
        if (text && write(ends[1], text, strlen(text)) < 0) _exit(2);
        _exit(0);
    }
    close(ends[1]);
    c.result = ends[0];
    return c;
}

static void child_finish(child c) {
    char text[512];
    ssize_t size = read(c.result, text, sizeof text - 1);
    text[size < 0 ? 0 : size] = 0;
    int status = 0;
    waitpid(c.process, &status, 0);
    close(c.result);
    CHECK_NOTE(text[0] == 0, "child: %s", text);
    CHECK_NOTE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: wait status %#x",
               (unsigned)status);
}

static void in_child(child_function work, void *context) {
    child_finish(child_start(work, context));
}

static void send_byte(int to) { CHECK_EQ(write(to, "x", 1), 1); }
static bool await_byte(int from) {
    char byte;
    return read(from, &byte, 1) == 1;
}

/* ---- opening ---- */

static void opens_and_creates(void) {
    const char *root = test_directory();
    const char *path = join(root, "a/b/store");
    CHECK_STATUS(open_status(path, 0), LARDER_E_NO_STORE);
    CHECK_STATUS(open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NO_STORE);
    CHECK(access(path, F_OK) != 0);
    int before = descriptor_count();
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK(strcmp(larder_env_path(env), path) == 0);
    CHECK_EQ(larder_live_handle_count(), 1);
    CHECK_OK(put(env, "cities/SF"));
    CHECK_OK(larder_env_sync(env, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
    CHECK_EQ(descriptor_count(), before);
    env = open_store(path, 0);
    REQUIRE(env != NULL);
    CHECK_OK(get(env, "cities/SF"));
    CHECK_STATUS(get(env, "cities/LA"), LARDER_NOT_FOUND);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_OK(larder_env_close(NULL, NULL));
}

static void refuses_bad_options(void) {
    const char *path = test_directory();
    larder_env *env = NULL;
    larder_env_options options = defaults();
    options.budget_bytes = LARDER_BUDGET_MIN_BYTES - 1;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = defaults();
    options.budget_bytes = -2;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = defaults();
    options.durability = 9;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    options = defaults();
    options.flags = 1u << 30;
    CHECK_STATUS(larder_env_open(path, &options, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open(NULL, NULL, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open("", NULL, &env, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_open(path, NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    /* a caller that knows fewer options */
    options = defaults();
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
    const char *path = join(root, "store"), *link = join(root, "link");
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_STATUS(open_status(path, LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(open_status(path, LARDER_OPEN_SHARED), LARDER_E_ALREADY_OPEN);
    CHECK_EQ(symlink(path, link), 0);
    CHECK_STATUS(open_status(link, LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_STATUS(open_status(join(root, "./store/../store/"), LARDER_OPEN_CREATE),
                 LARDER_E_ALREADY_OPEN);
    char here[1024];
    REQUIRE(getcwd(here, sizeof here) != NULL);
    CHECK_EQ(chdir(root), 0);
    CHECK_STATUS(open_status("store", LARDER_OPEN_CREATE), LARDER_E_ALREADY_OPEN);
    CHECK_EQ(chdir(here), 0);
    /* the refused opens must not have taken away the first one's locks */
    CHECK_OK(put(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(open_status(link, 0), LARDER_OK);
    CHECK_EQ(larder_live_handle_count(), 0);
}

/* ---- files that are no store of ours ---- */

static void refuses_foreign_files(void) {
    const char *root = test_directory();
    char junk[8192];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)test_random();
    write_file(join(root, "file"), junk, 100);
    CHECK_STATUS(open_status(join(root, "file"), LARDER_OPEN_CREATE), LARDER_E_FOREIGN_FILE);
    size_t sizes[] = {3, 100, 4096, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *directory = join(root, "junk");
        mkdir(directory, 0755);
        write_file(join(directory, "data.mdb"), junk, sizes[i]);
        CHECK_STATUS(open_status(directory, LARDER_OPEN_CREATE), LARDER_E_FOREIGN_FILE);
        CHECK_EQ(file_size(join(directory, "data.mdb")), (off_t)sizes[i]);
    }
    /* an LMDB store of another program */
    const char *other = join(root, "other");
    mkdir(other, 0755);
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {3, "key"}, value = {5, "value"};
    REQUIRE(mdb_env_create(&env) == 0);
    CHECK_EQ(mdb_env_open(env, other, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &table), 0);
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_STATUS(open_status(other, LARDER_OPEN_CREATE), LARDER_E_FOREIGN_FILE);
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void refuses_a_newer_format(void) {
    const char *path = test_directory();
    larder_env *store = open_store(path, LARDER_OPEN_CREATE);
    CHECK_OK(larder_env_close(store, &test_error));
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {1, "b"}, value;
    char row[64];
    REQUIRE(mdb_env_create(&env) == 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 20), 0);
    CHECK_EQ(mdb_env_open(env, path, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "catalog", 0, &table), 0);
    CHECK_EQ(mdb_get(txn, table, &key, &value), 0);
    REQUIRE(value.mv_size >= 10 && value.mv_size < sizeof row);
    memcpy(row, value.mv_data, value.mv_size);
    CHECK(memcmp(row, "larder", 6) == 0);
    uint32_t format = larder_format_version() + 1;
    memcpy(row + 6, &format, 4);
    value.mv_data = row;
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_STATUS(open_status(path, LARDER_OPEN_CREATE), LARDER_E_NEWER_FORMAT);
    CHECK_STATUS(open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NEWER_FORMAT);
}

static void finds_a_truncated_file(void) {
    const char *path = test_directory();
    mirror *m = mirror_create();
    mirror_profile profile = {.seed = test_random(), .operations = 30};
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    for (int i = 0; i < 10; i++) {
        larder_txn *txn;
        REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
        mirror_commit(m, txn, &profile, NULL);
        CHECK_OK(larder_txn_commit(txn, &test_error));
    }
    CHECK_OK(larder_env_close(env, &test_error));
    mirror_free(m);
    const char *file = join(path, "data.mdb");
    off_t full = file_size(file);
    off_t sizes[] = {full / 2, 3 * 4096, 2 * 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_EQ(truncate(file, sizes[i]), 0);
        CHECK_STATUS(open_status(path, LARDER_OPEN_CREATE), LARDER_E_CORRUPT);
        CHECK_STATUS(open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_CORRUPT);
        CHECK_EQ(file_size(file), sizes[i]);
    }
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void *file_content(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    off_t length = file_size(path);
    char *content = length > 0 ? malloc((size_t)length) : NULL;
    *size = content && file ? fread(content, 1, (size_t)length, file) : 0;
    if (file) fclose(file);
    return content;
}

/* Opening in any way gives a status and leaves the data file as it is. */
static void check_left_alone(const char *path, int32_t expected) {
    static const uint32_t ways[] = {LARDER_OPEN_CREATE, 0, LARDER_OPEN_READ_ONLY,
                                    LARDER_OPEN_CREATE | LARDER_OPEN_SHARED};
    const char *file = join(path, "data.mdb");
    size_t before_size, after_size;
    void *before = file_content(file, &before_size);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        CHECK_STATUS(open_status(path, ways[i]), expected);
        void *after = file_content(file, &after_size);
        CHECK(before && after && after_size == before_size &&
              memcmp(before, after, before_size) == 0);
        free(after);
    }
    free(before);
}

static void overwrite(const char *file, off_t at, const void *data, size_t size) {
    int descriptor = open(file, O_WRONLY);
    REQUIRE(descriptor >= 0);
    CHECK_EQ(pwrite(descriptor, data, size, at), (ssize_t)size);
    close(descriptor);
}

static void a_store_with_blank_pages_is_left_alone(void) {
    static const uint8_t zeros[2 * 4096];
    const char *path = test_directory(), *file = join(path, "data.mdb");
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    size_t size;
    void *whole = file_content(file, &size);
    REQUIRE(whole != NULL);
    overwrite(file, 0, zeros, 4096);
    check_left_alone(path, LARDER_E_CORRUPT);
    overwrite(file, 0, zeros, sizeof zeros);
    check_left_alone(path, LARDER_E_CORRUPT);
    /* A meta page of transaction 0 in place of the first, beside a blank one. */
    write_file(file, whole, size);
    overwrite(file, 4096, zeros, 4096);
    overwrite(file, 16 + 128, zeros, 8);
    check_left_alone(path, LARDER_E_CORRUPT);
    write_file(file, whole, size);
    env = open_store(path, LARDER_OPEN_READ_ONLY);
    REQUIRE(env != NULL);
    CHECK_OK(get(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    free(whole);
}

/* A short file that is not blank throughout belongs to another program. */
static void a_short_file_with_content_is_left_alone(void) {
    const char *path = test_directory(), *file = join(path, "data.mdb");
    static const off_t places[] = {152, 4095, 4096 + 152, 8191};
    static uint8_t content[8192];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memset(content, 0, sizeof content);
        content[places[i]] = 1;
        write_file(file, content, sizeof content);
        check_left_alone(path, LARDER_E_CORRUPT);
    }
}

static const char *create_only(void *path) {
    larder_env_options options = defaults();
    larder_env *env = NULL;
    NEED(larder_env_open(path, &options, &env, NULL) == LARDER_OK);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}

/* What the creation of a store leaves at each of its steps is recreated. */
static void a_store_that_was_not_created_is_recreated(void) {
    static const uint8_t zeros[2 * 4096];
    const char *path = test_directory(), *file = join(path, "data.mdb");
    MDB_env *mdb;
    REQUIRE(mdb_env_create(&mdb) == 0);
    REQUIRE(mdb_env_open(mdb, path, MDB_NOLOCK, 0644) == 0);
    mdb_env_close(mdb);
    size_t size;
    uint8_t *fresh = file_content(file, &size);
    REQUIRE(fresh != NULL && size == sizeof zeros);
    static const size_t sizes[] = {0, 512, 4096, 5000, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int blank = 0; blank < 4; blank++) {
            uint8_t content[sizeof zeros];
            memcpy(content, fresh, sizeof content);
            if (blank & 1) memset(content, 0, 4096);
            if (blank & 2) memset(content + 4096, 0, 4096);
            if (sizes[i] > 4096 && sizes[i] < 8192 && !(blank & 2)) continue; /* page cut within */
            if (sizes[i] > 0 && sizes[i] < 4096 && !(blank & 1)) continue;
            write_file(file, content, sizes[i]);
            CHECK_STATUS(open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NO_STORE);
            in_child(create_only, (void *)(uintptr_t)path);
            CHECK_STATUS(open_status(path, 0), LARDER_OK);
        }
    }
    free(fresh);
}

/* ---- a full disk ---- */

typedef struct disk {
    char root[900];
    const char *(*work)(struct disk *d);
    int filler;
} disk;

static void fill(disk *d) {
    static const char block[4096];
    d->filler = open(join(d->root, "filler"), O_RDWR | O_CREAT, 0644);
    while (write(d->filler, block, sizeof block) == (ssize_t)sizeof block)
        continue;
}
static void make_room(disk *d) {
    if (ftruncate(d->filler, 0) != 0) return;
    close(d->filler);
}

static const char *on_a_disk(void *context) {
    disk *d = context;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", d->root, "tmpfs", 0, "size=1m") != 0) {
        printf("    skipped: a file system cannot be mounted here\n");
        fflush(stdout);
        return NULL;
    }
    return d->work(d);
}

static void with_a_disk(const char *(*work)(disk *d)) {
    disk d = {.work = work};
    snprintf(d.root, sizeof d.root, "%s", test_directory());
    in_child(on_a_disk, &d);
}

/* Begins as many read transactions as there can be: each takes a place in the lock file. */
static const char *fill_readers(larder_env *env) {
    const larder_txn *reads[600];
    int count = 0;
    int32_t status = LARDER_OK;
    while (count < 600 && (status = larder_txn_begin_read(env, &reads[count], NULL)) == LARDER_OK)
        count++;
    NEED(status == LARDER_E_READERS_FULL && count >= 500);
    while (count > 0)
        larder_txn_end_read(reads[--count]);
    return NULL;
}

static const char *open_on_a_full_disk(disk *d) {
    const char *path = join(d->root, "store"), *text;
    larder_env_options options = defaults();
    larder_env *env = NULL;
    larder_error error = {0};
    fill(d);
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_E_NO_SPACE && error.message[0]);
    NEED(access(join(path, "data.mdb"), F_OK) != 0);
    make_room(d);
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
    NEED(put(env, "cities/SF") == LARDER_OK);
    /* The disk is full while the store is open: readers find room. */
    fill(d);
    if ((text = fill_readers(env)) != NULL) return text;
    NEED(get(env, "cities/SF") == LARDER_OK);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    /* A lock file that is whole needs no more room. */
    for (int i = 0; i < 2; i++) {
        options.flags = i == 0 ? LARDER_OPEN_READ_ONLY : LARDER_OPEN_CREATE;
        NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
        if ((text = fill_readers(env)) != NULL) return text;
        NEED(get(env, "cities/SF") == LARDER_OK);
        NEED(larder_env_close(env, &error) == LARDER_OK);
    }
    /* Without one, or with one that is a hole, there must be room first. */
    for (int hole = 0; hole < 2; hole++) {
        make_room(d);
        unlink(join(path, "lock.mdb"));
        if (hole) {
            int file = open(join(path, "lock.mdb"), O_RDWR | O_CREAT, 0644);
            NEED(file >= 0 && ftruncate(file, 32768) == 0);
            close(file);
        }
        fill(d);
        for (int i = 0; i < 2; i++) {
            options.flags = i == 0 ? LARDER_OPEN_READ_ONLY : LARDER_OPEN_CREATE;
            NEED(larder_env_open(path, &options, &env, &error) == LARDER_E_NO_SPACE);
        }
    }
    make_room(d);
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
    NEED(get(env, "cities/SF") == LARDER_OK && put(env, "cities/LON") == LARDER_OK);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}
static void a_full_disk_is_an_error_at_opening(void) { with_a_disk(open_on_a_full_disk); }

static const char *open_in_full_memory(disk *d) {
    larder_env_options options = defaults();
    larder_env *env = NULL;
    options.flags = LARDER_OPEN_IN_MEMORY;
    NEED(mount(d->root, "/dev/shm", NULL, MS_BIND, NULL) == 0);
    fill(d);
    NEED(larder_env_open(NULL, &options, &env, NULL) == LARDER_E_NO_SPACE && env == NULL);
    make_room(d);
    NEED(larder_env_open(NULL, &options, &env, NULL) == LARDER_OK);
    NEED(put(env, "cities/SF") == LARDER_OK);
    fill(d);
    const char *text = fill_readers(env);
    if (text != NULL) return text;
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}
static void full_memory_is_an_error_at_opening(void) { with_a_disk(open_in_full_memory); }

static void the_lock_file_is_allocated_in_full(void) {
    static const uint32_t readers[] = {2, 4, 510, 70000 / 64, 65536};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        const char *path = join(test_directory(), "store");
        larder_env_options options = defaults();
        options.max_readers = readers[i];
        larder_env *env = NULL;
        REQUIRE_OK(larder_env_open(path, &options, &env, &test_error));
        struct stat info;
        CHECK_EQ(stat(join(path, "lock.mdb"), &info), 0);
        CHECK_NOTE(info.st_blocks * 512 >= info.st_size, "%ld blocks for %ld bytes",
                   (long)info.st_blocks, (long)info.st_size);
        /* Its length is the one that LMDB gives it, from which others tell how many there are. */
        CHECK_EQ(info.st_size % 64, 0);
        CHECK(info.st_size >= 64 * ((off_t)readers[i] + 2) &&
              info.st_size <= 64 * ((off_t)readers[i] + 8));
        CHECK_OK(larder_env_close(env, &test_error));
        char command[1100];
        snprintf(command, sizeof command, "rm -rf '%s'", path);
        CHECK_EQ(system(command), 0);
    }
}

static void refuses_network_file_systems(void) {
    const char *path = test_directory();
    static const long types[] = {0x6969, 0xff534d42, 0xfe534d42, 0x517b, 0x01021997};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        fake_file_system = types[i];
        CHECK_STATUS(open_status(path, LARDER_OPEN_CREATE), LARDER_E_NETWORK_FILE_SYSTEM);
    }
    CHECK_STATUS(open_status(path, LARDER_OPEN_CREATE | LARDER_OPEN_ANY_FILE_SYSTEM), LARDER_OK);
    fake_file_system = 0xef53; /* ext4 */
    CHECK_STATUS(open_status(path, 0), LARDER_OK);
    fake_file_system = 0;
}

static const char *open_without_permission(void *context) {
    NEED(getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
    larder_env *env;
    larder_error error;
    NEED(larder_env_open(context, NULL, &env, &error) == LARDER_E_PERMISSION);
    return NULL;
}

static void answers_missing_permission(void) {
    const char *root = test_directory();
    char *path = join(root, "closed");
    mkdir(path, 0000);
    in_child(open_without_permission, path);
    chmod(path, 0755);
}

/* ---- several processes ---- */

static const char *open_locked(void *path) {
    larder_env *env;
    larder_error error;
    NEED(larder_env_open(path, NULL, &env, &error) == LARDER_E_LOCKED);
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_E_LOCKED);
    return NULL;
}

static const char *read_beside_writer(void *path) {
    larder_env *env;
    larder_error error;
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_READ_ONLY;
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
    NEED(get(env, "cities/SF") == LARDER_OK);
    NEED(get(env, "cities/LA") == LARDER_NOT_FOUND);
    NEED(put(env, "cities/LA") == LARDER_E_READ_ONLY);
    larder_lru_result result = {.struct_bytes = sizeof result};
    NEED(larder_lru_step(env, 0, 0, 0, &result, &error) == LARDER_E_READ_ONLY);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void locks_out_other_processes(void) {
    char *path = join(test_directory(), "store");
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, "cities/SF"));
    in_child(open_locked, path);
    in_child(read_beside_writer, path);
    CHECK_OK(put(env, "cities/LA"));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(open_status(path, 0), LARDER_OK);
}

static const char *wait_for_byte(void *context) {
    int *ends = context;
    close(ends[1]);
    NEED(await_byte(ends[0]));
    return NULL;
}

static void a_living_child_keeps_no_lock(void) {
    const char *path = test_directory();
    larder_env *env = open_store(path, LARDER_OPEN_CREATE);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    child c = child_start(wait_for_byte, ends);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_STATUS(open_status(path, 0), LARDER_OK);
    send_byte(ends[1]);
    child_finish(c);
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
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(t->path, &options, &env, &error) == LARDER_OK);
    NEED(get(env, "cities/SF") == LARDER_OK);
    NEED(put(env, "rooms/fromChild") == LARDER_OK);
    send_byte(t->to_parent[1]);
    NEED(await_byte(t->to_child[0]));
    /* a collection that the other process made after we had looked for it */
    NEED(get(env, "walks/one") == LARDER_OK);
    NEED(put(env, "walks/two") == LARDER_OK);
    NEED(get(env, "walks/one") == LARDER_OK);
    send_byte(t->to_parent[1]);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void processes_share_a_store(void) {
    shared_test t = {.path = join(test_directory(), "store")};
    larder_env *env = open_store(t.path, LARDER_OPEN_CREATE | LARDER_OPEN_SHARED);
    REQUIRE(env != NULL && pipe(t.to_child) == 0 && pipe(t.to_parent) == 0);
    CHECK_OK(put(env, "cities/SF"));
    CHECK_STATUS(get(env, "rooms/fromChild"), LARDER_NOT_FOUND);
    child c = child_start(share, &t);
    CHECK(await_byte(t.to_parent[0]));
    CHECK_OK(get(env, "rooms/fromChild"));
    CHECK_OK(put(env, "walks/one"));
    send_byte(t.to_child[1]);
    CHECK(await_byte(t.to_parent[0]));
    CHECK_OK(get(env, "walks/two"));
    CHECK_OK(put(env, "rooms/another"));
    const larder_txn *txn;
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    CHECK_OK(larder_check(txn, NULL, NULL, NULL,
                          &(larder_check_report){.struct_bytes = sizeof(larder_check_report)},
                          &test_error));
    larder_txn_end_read(txn);
    child_finish(c);
    CHECK_OK(larder_env_close(env, &test_error));
    for (int i = 0; i < 2; i++) {
        close(t.to_child[i]);
        close(t.to_parent[i]);
    }
}

static const char *write_many(void *context) {
    larder_env *env;
    larder_error error;
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_SHARED;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    NEED(larder_env_open(context, &options, &env, &error) == LARDER_OK);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/child%d", i % 7, i);
        NEED(put(env, name) == LARDER_OK);
    }
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}

static void processes_write_in_turn(void) {
    char *path = join(test_directory(), "store");
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_SHARED;
    options.durability = LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    larder_env *env = NULL;
    REQUIRE_OK(larder_env_open(path, &options, &env, &test_error));
    child children[2] = {child_start(write_many, path), child_start(write_many, path)};
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/parent%d", i % 7, i);
        CHECK_OK(put(env, name));
    }
    child_finish(children[0]);
    child_finish(children[1]);
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, "c%d/parent%d", i % 7, i);
        CHECK_OK(get(env, name));
        snprintf(name, sizeof name, "c%d/child%d", i % 7, i);
        CHECK_OK(get(env, name));
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
    forked f = {.copy = join(root, "copy")};
    f.env = open_store(join(root, "store"), LARDER_OPEN_CREATE);
    REQUIRE(f.env != NULL);
    CHECK_OK(put(f.env, "cities/SF"));
    REQUIRE_OK(larder_txn_begin_read(f.env, &f.read, &test_error));
    REQUIRE_OK(larder_txn_begin_write(f.env, &f.write, &test_error));
    in_child(use_after_fork, &f);
    /* the parent's are as they were */
    larder_document document;
    CHECK_OK(larder_document_get(f.read, test_text("cities/SF"), &document, &test_error));
    larder_txn_end_read(f.read);
    CHECK_OK(larder_txn_commit(f.write, &test_error));
    CHECK_OK(put(f.env, "cities/LA"));
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
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_SHARED;
    NEED(larder_env_open(t->path, &options, &env, &error) == LARDER_OK);
    for (int i = 0; i < 3; i++)
        NEED(larder_txn_begin_read(env, &txn, &error) == LARDER_OK);
    send_byte(t->to_parent[1]);
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
    shared_test t = {.path = join(test_directory(), "store")};
    larder_env *env = open_store(t.path, LARDER_OPEN_CREATE | LARDER_OPEN_SHARED);
    REQUIRE(env != NULL && pipe(t.to_parent) == 0);
    CHECK_OK(put(env, "cities/SF"));
    child c = child_start(hold_a_reader, &t);
    CHECK(await_byte(t.to_parent[0]));
    CHECK_EQ(reader_count(env), 3);
    CHECK_OK(larder_env_close(env, &test_error)); /* so that the next open is a new one */
    kill(c.process, SIGKILL);
    waitpid(c.process, NULL, 0);
    close(c.result);
    larder_env_options options = defaults();
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
    larder_env_options options = defaults();
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
    CHECK_OK(put(env, "cities/SF"));
    while (count > 0)
        larder_txn_end_read(reads[--count]);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void readers_see_one_commit(void) {
    larder_env *env = open_store(test_directory(), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, "cities/SF"));
    const larder_txn *before, *after;
    larder_txn *write;
    larder_document document;
    REQUIRE_OK(larder_txn_begin_read(env, &before, &test_error));
    CHECK(larder_txn_env(before) == env);
    CHECK_OK(put(env, "cities/LA"));
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
    CHECK_OK(get(env, "cities/LA"));
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
    larder_env *env = open_store(test_directory(), LARDER_OPEN_CREATE);
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
    larder_env *env = open_store(test_directory(), LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, "cities/SF"));
    larder_txn *txn;
    larder_scan *scan;
    REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
    CHECK_OK(larder_document_remove(txn, test_text("cities/SF"), &test_error));
    REQUIRE_OK(larder_scan_collection(txn, test_text("cities"), NULL, &scan, &test_error));
    CHECK_STATUS(larder_txn_commit(txn, NULL), LARDER_E_BUSY);
    larder_scan_close(scan);
    CHECK_OK(get(env, "cities/SF"));
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
    larder_env_options options = defaults();
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
    larder_env_options options = defaults();
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
    int descriptors = descriptor_count();
    larder_env_options options = defaults();
    options.flags = LARDER_OPEN_IN_MEMORY;
    larder_env *env = NULL, *other = NULL;
    REQUIRE_OK(larder_env_open(NULL, &options, &env, &test_error));
    REQUIRE_OK(larder_env_open("ignored", &options, &other, &test_error));
    CHECK(strcmp(larder_env_path(env), "") == 0);
    CHECK_EQ(entries_named_larder("/dev/shm") + entries_named_larder("/tmp"), before);
    CHECK_OK(put(env, "cities/SF"));
    CHECK_OK(get(env, "cities/SF"));
    CHECK_STATUS(get(other, "cities/SF"), LARDER_NOT_FOUND);
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
    CHECK_EQ(descriptor_count(), descriptors);
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
    larder_env *env = open_store(path, 0);
    const larder_txn *txn;
    REQUIRE(env != NULL);
    REQUIRE_OK(larder_txn_begin_read(env, &txn, &test_error));
    mirror_problem_reset();
    mirror_verify(m, txn, NULL);
    mirror_check(txn);
    CHECK_NOTE(mirror_problem_count() == 0, "%s", mirror_problem_text());
    larder_txn_end_read(txn);
    CHECK_OK(put(env, "copies/areWritable"));
    larder_txn *write;
    REQUIRE_OK(larder_txn_begin_write(env, &write, &test_error));
    CHECK_OK(larder_document_remove(write, test_text("copies/areWritable"), &test_error));
    CHECK_OK(larder_txn_commit(write, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
}

static void copies_are_whole_stores(void) {
    const char *root = test_directory();
    larder_env *env = open_store(join(root, "store"), LARDER_OPEN_CREATE);
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
    CHECK_OK(larder_env_copy(env, join(root, "copy"), go_on, &last, &test_error));
    CHECK(last > 0);
    last = 0;
    CHECK_OK(larder_env_compact(env, join(root, "compact"), go_on, &last, &test_error));
    CHECK(last > 0);
    check_copy(join(root, "copy"), m);
    check_copy(join(root, "compact"), m);
    CHECK(file_size(join(root, "compact/data.mdb")) <= file_size(join(root, "copy/data.mdb")));
    /* an empty directory will do; one that holds something will not */
    const char *empty = join(root, "empty");
    mkdir(empty, 0755);
    CHECK_OK(larder_env_copy(env, empty, NULL, NULL, &test_error));
    check_copy(empty, m);
    CHECK(larder_env_copy(env, empty, NULL, NULL, NULL) < 0);
    CHECK(larder_env_compact(env, empty, NULL, NULL, NULL) < 0);
    CHECK(larder_env_copy(env, join(root, "store"), NULL, NULL, NULL) < 0);
    check_copy(empty, m);
    int calls = 0;
    CHECK_STATUS(larder_env_copy(env, join(root, "stopped"), stop_at_once, &calls, NULL),
                 LARDER_STOPPED);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(larder_env_compact(env, join(root, "stopped2"), stop_at_once, &calls, NULL),
                 LARDER_STOPPED);
    /* what was stopped is no store that opens */
    CHECK(open_status(join(root, "stopped"), 0) != LARDER_OK);
    CHECK(open_status(join(root, "stopped2"), 0) != LARDER_OK);
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
    larder_env_options options = defaults();
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
    {"refuses foreign files", refuses_foreign_files},
    {"refuses a newer format", refuses_a_newer_format},
    {"finds a truncated file", finds_a_truncated_file},
    {"a store with blank pages is left alone", a_store_with_blank_pages_is_left_alone},
    {"a short file with content is left alone", a_short_file_with_content_is_left_alone},
    {"a store that was not created is recreated", a_store_that_was_not_created_is_recreated},
    {"a full disk is an error at opening", a_full_disk_is_an_error_at_opening},
    {"full memory is an error at opening", full_memory_is_an_error_at_opening},
    {"the lock file is allocated in full", the_lock_file_is_allocated_in_full},
    {"refuses network file systems", refuses_network_file_systems},
    {"answers missing permission", answers_missing_permission},
    {"locks out other processes", locks_out_other_processes},
    {"a living child keeps no lock", a_living_child_keeps_no_lock},
    {"processes share a store", processes_share_a_store},
    {"processes write in turn", processes_write_in_turn},
    {"handles do not survive fork", handles_do_not_survive_fork},
    {"cleans stale readers", cleans_stale_readers},
    {"answers a full reader table", answers_full_reader_table},
    {"readers see one commit", readers_see_one_commit},
    {"write transactions stay on their thread", write_transactions_stay_on_their_thread},
    {"commit with an open scan aborts", commit_with_an_open_scan_aborts},
    {"a small map grows by itself", a_small_map_grows_by_itself},
    {"a small map grows beside a lasting reader", a_small_map_grows_beside_a_lasting_reader},
    {"an in-memory store leaves nothing", an_in_memory_store_leaves_nothing},
    {"copies are whole stores", copies_are_whole_stores},
    {"the allocator hook gets everything back", the_allocator_hook_gets_everything_back},
};
TEST_SUITE(environment, cases);

/* disk_test.c - opening and writing on a full disk, and the room that is allocated ahead. */
#include "env_kit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a full disk ---- */

typedef struct disk {
    char root[900];
    const char *(*work)(struct disk *d);
    int filler;
} disk;

static void fill(disk *d) {
    static const char block[4096];
    d->filler = open(env_kit_join(d->root, "filler"), O_RDWR | O_CREAT, 0644);
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
    env_kit_in_child(on_a_disk, &d);
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
    const char *path = env_kit_join(d->root, "store"), *text;
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    larder_error error = {0};
    fill(d);
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_E_NO_SPACE && error.message[0]);
    NEED(access(env_kit_join(path, "data.mdb"), F_OK) != 0);
    make_room(d);
    NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
    NEED(env_kit_put(env, "cities/SF") == LARDER_OK);
    /* The disk is full while the store is open: readers find room. */
    fill(d);
    if ((text = fill_readers(env)) != NULL) return text;
    NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    /* A lock file that is whole needs no more room. */
    for (int i = 0; i < 2; i++) {
        options.flags = i == 0 ? LARDER_OPEN_READ_ONLY : LARDER_OPEN_CREATE;
        NEED(larder_env_open(path, &options, &env, &error) == LARDER_OK);
        if ((text = fill_readers(env)) != NULL) return text;
        NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
        NEED(larder_env_close(env, &error) == LARDER_OK);
    }
    /* Without one, or with one that is a hole, there must be room first. */
    for (int hole = 0; hole < 2; hole++) {
        make_room(d);
        unlink(env_kit_join(path, "lock.mdb"));
        if (hole) {
            int file = open(env_kit_join(path, "lock.mdb"), O_RDWR | O_CREAT, 0644);
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
    NEED(env_kit_get(env, "cities/SF") == LARDER_OK && env_kit_put(env, "cities/LON") == LARDER_OK);
    NEED(larder_env_close(env, &error) == LARDER_OK);
    return NULL;
}
static void a_full_disk_is_an_error_at_opening(void) { with_a_disk(open_on_a_full_disk); }

/* The disk is full: what makes the store smaller is taken, down to nothing, and then more. */
static const char *remove_on_a_full_disk(disk *d) {
    const char *path = env_kit_join(d->root, "store");
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    larder_txn *txn;
    char name[32];
    int32_t status;
    int count = 0;
    NEED(larder_env_open(path, &options, &env, NULL) == LARDER_OK);
    do {
        if (count == 200) fill(d);
        snprintf(name, sizeof name, "cities/%05d", count);
        status = env_kit_put(env, name);
        count++;
    } while (status == LARDER_OK && count < 100000);
    NEED(status == LARDER_E_NO_SPACE && count > 200);
    for (int i = 0; i < count - 1; i++) {
        snprintf(name, sizeof name, "cities/%05d", i);
        NEED(larder_txn_begin_write(env, &txn, NULL) == LARDER_OK);
        NEED(larder_document_remove(txn, test_text(name), NULL) == LARDER_OK);
        NEED(larder_txn_commit(txn, NULL) == LARDER_OK);
    }
    NEED(env_kit_put(env, "cities/SF") == LARDER_OK && env_kit_get(env, "cities/SF") == LARDER_OK);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}
static void a_full_disk_takes_removals(void) { with_a_disk(remove_on_a_full_disk); }

static const char *open_in_full_memory(disk *d) {
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    options.flags = LARDER_OPEN_IN_MEMORY;
    NEED(mount(d->root, "/dev/shm", NULL, MS_BIND, NULL) == 0);
    fill(d);
    NEED(larder_env_open(NULL, &options, &env, NULL) == LARDER_E_NO_SPACE && env == NULL);
    make_room(d);
    NEED(larder_env_open(NULL, &options, &env, NULL) == LARDER_OK);
    NEED(env_kit_put(env, "cities/SF") == LARDER_OK);
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
        const char *path = env_kit_join(test_directory(), "store");
        larder_env_options options = env_kit_defaults();
        options.max_readers = readers[i];
        larder_env *env = NULL;
        REQUIRE_OK(larder_env_open(path, &options, &env, &test_error));
        struct stat info;
        CHECK_EQ(stat(env_kit_join(path, "lock.mdb"), &info), 0);
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

/* ---- opening for reading where a store cannot be written ---- */

/* The store's process ends without closing it when the commit is only in the log. */
static const char *leave_store(const char *path, bool is_closed) {
    pid_t child = fork();
    if (child == 0) {
        larder_env_options options = env_kit_defaults();
        larder_env *env = NULL;
        bool is_done = larder_env_open(path, &options, &env, NULL) == LARDER_OK &&
                       env_kit_put(env, "cities/SF") == LARDER_OK &&
                       (!is_closed || larder_env_close(env, NULL) == LARDER_OK);
        _exit(is_done ? 0 : 1);
    }
    int result;
    NEED(child > 0 && waitpid(child, &result, 0) == child && result == 0);
    return NULL;
}

/* Opens to write, as an application does that takes what it gets; refusal is the status of others. */
static const char *check_reads_only(const char *path, int32_t refusal) {
    static const int32_t recoveries[] = {LARDER_RECOVERY_READ_ONLY, LARDER_RECOVERY_QUARANTINE};
    larder_env_options options = env_kit_defaults();
    larder_opening opening = {.struct_bytes = sizeof opening};
    larder_env *env = NULL;
    NEED(larder_env_open(path, &options, &env, NULL) == refusal && env == NULL);
    for (size_t i = 0; i < sizeof recoveries / sizeof recoveries[0]; i++) {
        options.recovery = recoveries[i];
        NEED(larder_env_open(path, &options, &env, NULL) == LARDER_OK);
        NEED(larder_env_opening(env, &opening, NULL) == LARDER_OK);
        NEED(opening.state == LARDER_OPENING_READ_ONLY && opening.commit_number > 0);
        NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
        NEED(env_kit_put(env, "cities/LON") == LARDER_E_READ_ONLY);
        NEED(larder_env_close(env, NULL) == LARDER_OK);
    }
    return NULL;
}

/* Afterwards it is what it was. */
static const char *check_writes_again(const char *path, int32_t state) {
    larder_env_options options = env_kit_defaults();
    larder_opening opening = {.struct_bytes = sizeof opening};
    larder_env *env = NULL;
    options.recovery = LARDER_RECOVERY_READ_ONLY;
    NEED(larder_env_open(path, &options, &env, NULL) == LARDER_OK);
    NEED(larder_env_opening(env, &opening, NULL) == LARDER_OK && opening.state == state);
    NEED(env_kit_get(env, "cities/SF") == LARDER_OK);
    NEED(env_kit_put(env, "cities/LON") == LARDER_OK);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}

static const char *open_without_rights(disk *d) {
    const char *text;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        const char *path = env_kit_join(d->root, is_closed ? "closed" : "open");
        if ((text = leave_store(path, is_closed)) != NULL) return text;
        NEED(mount(NULL, d->root, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
        if ((text = check_reads_only(path, LARDER_E_PERMISSION)) != NULL) return text;
        NEED(mount(NULL, d->root, NULL, MS_REMOUNT, NULL) == 0);
        text =
            check_writes_again(path, is_closed ? LARDER_OPENING_CLEAN : LARDER_OPENING_RECOVERED);
        if (text != NULL) return text;
    }
    return NULL;
}
static void a_store_without_rights_is_read(void) { with_a_disk(open_without_rights); }

static const char *open_without_room(disk *d) {
    const char *path = env_kit_join(d->root, "store"), *text;
    if ((text = leave_store(path, false)) != NULL) return text;
    unlink(env_kit_join(path, "lock.mdb")); /* as in a copy: recovery needs a new one */
    fill(d);
    if ((text = check_reads_only(path, LARDER_E_NO_SPACE)) != NULL) return text;
    make_room(d);
    return check_writes_again(path, LARDER_OPENING_RECOVERED);
}
static void a_store_without_room_is_read(void) { with_a_disk(open_without_room); }

static const test_case cases[] = {
    {"a store that may not be written is opened for reading", a_store_without_rights_is_read},
    {"a store without room is opened for reading", a_store_without_room_is_read},
    {"a full disk is an error at opening", a_full_disk_is_an_error_at_opening},
    {"a full disk takes removals", a_full_disk_takes_removals},
    {"full memory is an error at opening", full_memory_is_an_error_at_opening},
    {"the lock file is allocated in full", the_lock_file_is_allocated_in_full},
};
TEST_SUITE(disk, cases);

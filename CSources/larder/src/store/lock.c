/*
 * lock.c - who has the store open, by locks on bytes of one file.
 *
 *   DIR/owner.lock  byte 0       write-locked by an exclusive owner, read-locked by shared ones;
 *                                those that only read have none
 *                   2^62         locked while a store is opened: for writing by owners, so that
 *                                recovery meets nobody, for reading by those that only read
 *                   2^62 + 1 + n the pin of checkpoint n of a shared store
 *
 * The bytes between are for applications, such as the numbers of the clients of a shared store.
 * The locks belong to the open file, so that no other descriptor of the process can drop them. A
 * child of fork() closes its descriptor at once (registry.c): a lock goes with its process.
 */
#include "lock.h"

#include "file.h"
#include "registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER_BYTE 0
#define OPENING_BYTE (UINT64_C(1) << 62)
#define PIN_BYTE (OPENING_BYTE + 1)
#define LOCK_PATH_MAX 4352

static struct flock byte_lock(int type, uint64_t at) {
    struct flock lock = {
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1};
    return lock;
}

/* 0 or errno; EAGAIN: another process has it. */
static int set_lock(int file, int type, uint64_t at, bool waits) {
    struct flock lock = byte_lock(type, at);
    while (fcntl(file, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock) != 0) {
        if (errno == EINTR) continue;
        return errno == EACCES ? EAGAIN : errno;
    }
    return 0;
}

static bool is_locked(int file, uint64_t at) {
    struct flock lock = byte_lock(F_WRLCK, at);
    return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static void join(char path[LOCK_PATH_MAX], const char *directory, const char *name) {
    snprintf(path, LOCK_PATH_MAX, "%s/%s", directory, name);
}

int32_t larder__lock_begin_opening(larder_env *env, larder_error *error) {
    char path[LOCK_PATH_MAX];
    bool reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    int flags = O_RDWR | O_CLOEXEC;
    /* A copy of a store has no owner file yet: that is made whenever there is data. */
    join(path, env->path, "data.mdb");
    if (!reads && ((env->flags & LARDER_OPEN_CREATE) != 0 || access(path, F_OK) == 0))
        flags |= O_CREAT;
    join(path, env->path, "owner.lock");
    env->lock_file = open(path, flags, 0644);
    if (env->lock_file < 0 && reads) env->lock_file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (env->lock_file < 0 && reads) return LARDER_OK; /* none to be locked */
    if (env->lock_file < 0) {
        if (errno == ENOENT)
            return larder__fail(error, LARDER_E_NO_STORE, "there is no store at %s", env->path);
        return larder__file_fail(error, errno, "opening", path);
    }
    int code = set_lock(env->lock_file, reads ? F_RDLCK : F_WRLCK, OPENING_BYTE, true);
    return code == 0 ? LARDER_OK : larder__file_fail(error, code, "locking", path);
}

/* Whether a process has LMDB open on the store: it locks the first byte of its own lock file. */
static bool is_mapped(const char *directory) {
    char path[LOCK_PATH_MAX];
    join(path, directory, "lock.mdb");
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    bool is_mapped = is_locked(file, 0);
    close(file); /* LMDB is not open in this process, so that no lock of its own goes */
    return is_mapped;
}

int32_t larder__lock_own(larder_env *env, bool *is_alone, larder_error *error) {
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0) {
        *is_alone = !(env->lock_file >= 0 && is_locked(env->lock_file, OWNER_BYTE)) &&
                    !is_mapped(env->path);
        return LARDER_OK;
    }
    bool is_shared = (env->flags & LARDER_OPEN_SHARED) != 0;
    int code = set_lock(env->lock_file, F_WRLCK, OWNER_BYTE, false);
    *is_alone = code == 0;
    if (is_shared && (code == 0 || code == EAGAIN))
        code = set_lock(env->lock_file, F_RDLCK, OWNER_BYTE, false);
    if (code == EAGAIN)
        return larder__fail(error, LARDER_E_LOCKED, "%s is in use by another process%s", env->path,
                            is_shared ? ", which does not share it"
                                      : "; until that ends it can only be read");
    if (code != 0) return larder__file_fail(error, code, "locking", env->path);
    *is_alone = *is_alone && !is_mapped(env->path);
    return LARDER_OK;
}

bool larder__lock_is_visible(const larder_env *env) {
    static const char *const files[] = {"owner.lock", "lock.mdb"};
    char path[LOCK_PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        join(path, env->path, files[i]);
        if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno != ENOENT) return false;
    }
    return true;
}

int32_t larder__lock_against_owners(const char *directory, int *file, larder_error *error) {
    char path[LOCK_PATH_MAX];
    struct stat info;
    *file = -1;
    if (stat(directory, &info) != 0)
        return larder__file_fail(error, errno, "looking at", directory);
    if (larder__registry_has((uint64_t)info.st_dev, (uint64_t)info.st_ino))
        return larder__fail(error, LARDER_E_ALREADY_OPEN, "this process has %s open", directory);
    join(path, directory, "owner.lock");
    *file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0 && errno != ENOENT) return larder__file_fail(error, errno, "opening", path);
    int code = *file < 0 ? 0 : set_lock(*file, F_RDLCK, OPENING_BYTE, true);
    if (code != 0) return larder__file_fail(error, code, "locking", path);
    if ((*file >= 0 && is_locked(*file, OWNER_BYTE)) || is_mapped(directory))
        return larder__fail(error, LARDER_E_LOCKED, "another process has %s open", directory);
    return LARDER_OK;
}

void larder__lock_end_opening(larder_env *env) {
    if (env->lock_file < 0) return;
    set_lock(env->lock_file, F_UNLCK, OPENING_BYTE, false);
    if ((env->flags & LARDER_OPEN_READ_ONLY) == 0) return;
    close(env->lock_file);
    env->lock_file = -1;
}

/* Closing alone would leave the locks to children that are just being forked. */
void larder__lock_release(larder_env *env) {
    if (env->lock_file < 0) return;
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    fcntl(env->lock_file, F_OFD_SETLK, &lock);
    close(env->lock_file);
    env->lock_file = -1;
}

void larder__lock_pin(larder_env *env, uint64_t sequence) {
    /* Without it other processes take the pin for lost, and write a checkpoint. */
    set_lock(env->lock_file, F_WRLCK, PIN_BYTE + sequence, false);
}

void larder__lock_unpin(larder_env *env, uint64_t sequence) {
    set_lock(env->lock_file, F_UNLCK, PIN_BYTE + sequence, false);
}

bool larder__lock_is_pinned(larder_env *env, uint64_t sequence) {
    struct flock lock = byte_lock(F_WRLCK, PIN_BYTE + sequence);
    return fcntl(env->lock_file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

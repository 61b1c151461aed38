/*
 * file_room.c - room on the disk for the store's files: for a new store, for LMDB's lock file, and
 * on a full disk for transactions that make the store smaller.
 *
 * LMDB makes its lock file by extending it and writes it through a map, so that on a full disk a
 * hole in it ends the process with SIGBUS. It is allocated here before LMDB maps it.
 *
 * The reserve consists of blocks behind the data file's last page. Where the disk has none, free
 * pages within the file do as well, unless a reader keeps them.
 */
#include "base/platform.h"
#include "file.h"
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NEW_STORE_BYTES (UINT64_C(512) << 10) /* with its log, its lock file and the reserve */

bool larder__file_has_room_for_store(const char *directory) {
    struct statvfs system;
    return statvfs(directory, &system) != 0 ||
           (uint64_t)system.f_bavail * system.f_frsize >= NEW_STORE_BYTES;
}

/* ---- the lock file ---- */

/* LMDB 0.9's lock file: two headers of 64 bytes or more, then 64 bytes for each reader. */
#define LOCK_BYTES_A_READER 64
#define LOCK_BYTES(readers) (2 * 64 + LOCK_BYTES_A_READER * (off_t)(readers))
#define LOCK_BLOCK 4096

/* Where the file system cannot allocate: a zero is written to each block. It is a byte of a
 * reader's padding, so that even a process that has the file mapped loses nothing. A file that
 * another process uses is not made longer: all of them must see it equally long. */
static int fill_blocks(int file, off_t size, off_t wanted) {
    if (size < wanted) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        if (fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) size = wanted;
    }
    for (off_t end = LOCK_BLOCK; size > 0; end += LOCK_BLOCK) {
        off_t last = end < size ? end : size;
        ssize_t written;
        do
            written = pwrite(file, "", 1, last - 1);
        while (written < 0 && errno == EINTR);
        if (written != 1) return written < 0 ? errno : EIO;
        if (last == size) break;
    }
    return 0;
}

int32_t larder__file_allocate_readers(const char *directory, uint32_t max_readers,
                                      larder_error *error) {
    char path[4352];
    snprintf(path, sizeof path, "%s/lock.mdb", directory);
    int code = 0;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) {
        /* Where it cannot be written LMDB cannot map it either, and says so. */
        if (errno == EACCES || errno == EPERM || errno == EROFS) return LARDER_OK;
        return larder__file_fail(error, errno, "opening", path);
    }
    struct stat info;
    if (fstat(file, &info) != 0) {
        code = errno;
        goto done;
    }
    /* LMDB takes the length of a file that is there for the number of readers: the length stays,
     * and blocks are allocated behind it. A new one gets some more, for other headers. */
    off_t size = info.st_size;
    if (size < LOCK_BYTES(max_readers))
        size = (LOCK_BYTES(max_readers) + LOCK_BLOCK) / LOCK_BLOCK * LOCK_BLOCK;
    code = larder__reserve_blocks(file, 0, size);
    if (code == EOPNOTSUPP) code = fill_blocks(file, info.st_size, LOCK_BYTES(max_readers));
done:
    /* Closing drops the process's locks on the file: it has none before LMDB opens it. */
    close(file);
    return code == 0 ? LARDER_OK : larder__file_fail(error, code, "allocating", path);
}

int larder__file_try_readers(const char *directory) {
    char path[4352];
    snprintf(path, sizeof path, "%s/lock.mdb", directory);
    int file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC), code = file < 0 ? errno : 0;
    if (file >= 0) close(file); /* LMDB has not opened it in this process */
    if (code == ENOENT)
        code = faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
    return code;
}

/* ---- the data file ---- */

bool larder__file_lacks_room(const larder_env *env, uint64_t bytes) {
    int file;
    struct statvfs system;
    struct stat info;
    struct rlimit limit;
    if (mdb_env_get_fd(env->mdb, &file) != 0) return false;
    if (fstatvfs(file, &system) == 0 && (uint64_t)system.f_bavail * system.f_frsize < bytes)
        return true;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           fstat(file, &info) == 0 && (uint64_t)info.st_size + bytes > limit.rlim_cur;
}

/* A line of LMDB's list of readers ends with the commit that is read, or with a dash where a reader
 * is between two reads. The heading ends with a word. */
static int note_reader(const char *line, void *oldest) {
    const char *last = strrchr(line, ' ');
    if (last == NULL || last[1] < '0' || last[1] > '9') return 0;
    uint64_t commit = strtoull(last + 1, NULL, 10);
    if (commit < *(uint64_t *)oldest) *(uint64_t *)oldest = commit;
    return 0;
}

static bool count_down(void *count, uint64_t page) {
    (void)page;
    return --*(uint64_t *)count > 0;
}

/* Whether the free pages of the file that LMDB can use have fewer bytes than twice the reserve. It uses
 * those that were replaced before the last commit, and before the commit that the oldest reader of
 * any process sees; the log's pins are readers, too. with_last: also those that the last commit
 * replaced: the transaction after the one that begins can use them when their readers have ended. */
static bool lacks_free_pages(larder_env *env, bool with_last) {
    MDB_txn *txn;
    uint64_t missing = 2 * LARDER__RESERVE_BYTES / env->page_bytes;
    if (larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn) != 0) return true;
    uint64_t last = mdb_txn_id(txn), oldest = last;
    bool is_known = mdb_reader_list(env->mdb, note_reader, &oldest) >= 0;
    uint64_t end = oldest == last && with_last ? last + 1 : oldest;
    if (is_known && end > 0) larder__mdb_each_free(txn, 0, end - 1, count_down, &missing);
    larder__mdb_txn_abort(txn);
    return missing > 0;
}

void larder__file_reserve(larder_env *env, uint64_t used_bytes) {
    int file;
    uint64_t more = used_bytes < LARDER__RESERVE_BYTES ? used_bytes : LARDER__RESERVE_BYTES;
    uint64_t wanted = LARDER__RESERVE_BYTES + more;
    if (mdb_env_get_fd(env->mdb, &file) != 0) return;
    int code = larder__reserve_blocks(file, (off_t)used_bytes, (off_t)wanted);
    env->lacks_reserve = (code == ENOSPC || code == EDQUOT) && lacks_free_pages(env, false);
    if (code == 0)
        env->allocated_bytes = used_bytes + wanted;
    else if (code != ENOSPC && code != EDQUOT) /* of a file system that has no such thing */
        env->allocated_bytes = UINT64_MAX;
}

void larder__file_recount_reserve(larder_env *env) {
    if (env->lacks_reserve) env->lacks_reserve = lacks_free_pages(env, true);
}

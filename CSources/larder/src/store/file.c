/*
 * file.c - the store's directory, and its data file before LMDB maps it.
 *
 *   DIR/data.mdb    LMDB's pages          DIR/lock.mdb   LMDB's reader table
 *   DIR/data.wal    the write-ahead log (wal.h)       DIR/owner.lock  locks (lock.c)
 *
 * LMDB trusts its file: pages that lie behind the end of a truncated one end the process with
 * SIGBUS. So the meta pages are read here first, and a file shorter than they say is accepted
 * only when every missing page is on the free list (LMDB does not write pages that a
 * transaction both allocates and frees).
 */
#include "file.h"
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/mount.h>
#else
#include <sys/vfs.h>
#endif

#define DATA_FILE "data.mdb"
#define LOCK_FILE "lock.mdb"
#define LOG_FILE "data.wal"

#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1
#define META_HEADER 16 /* of an LMDB page */
#define META_BYTES 136
#define META_PAGE_SIZE_AT 24
#define META_LAST_PAGE_AT 120
#define META_TXN_AT 128
#define FILE_PATH_MAX 4352
#define SMALLEST_PAGE 256
#define LARGEST_PAGE 65536

int larder__file_make_directory(const char *path) {
    if (mkdir(path, 0755) == 0) return 0;
    if (errno == EEXIST) {
        struct stat info;
        if (stat(path, &info) != 0) return errno;
        return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    }
    if (errno != ENOENT) return errno;
    size_t size = strlen(path) + 1;
    char *parent = malloc(size);
    if (parent == NULL) return ENOMEM;
    memcpy(parent, path, size);
    int code = ENOENT;
    char *slash = strrchr(parent, '/');
    while (slash != NULL && slash != parent && slash[1] == '\0') { /* trailing slashes */
        *slash = '\0';
        slash = strrchr(parent, '/');
    }
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        code = larder__file_make_directory(parent);
        if (code == 0 && mkdir(path, 0755) != 0 && errno != EEXIST) code = errno;
    }
    free(parent);
    return code;
}

bool larder__file_system_is_network(uint64_t type) {
    switch (type) {
    case 0x6969:     /* NFS */
    case 0xff534d42: /* CIFS */
    case 0xfe534d42: /* SMB2 */
    case 0x517b:     /* SMB */
    case 0x01021997: /* 9P */
    case 0x5346414f: /* AFS */
    case 0x73757245: /* Coda */
    case 0x00c36400: /* Ceph */
    case 0x0bd00bd0: /* Lustre */
    case 0x564c:     /* NCP */
    case 0x6b414653: /* kAFS */
    case 0x01161970: /* GFS2 */
    case 0x7461636f: /* OCFS2 */
        return true;
    default:
        return false;
    }
}

static bool is_on_network(const char *path) {
    struct statfs system;
    if (statfs(path, &system) != 0) return false;
#ifdef __APPLE__
    return (system.f_flags & MNT_LOCAL) == 0;
#else
    return larder__file_system_is_network((uint32_t)system.f_type);
#endif
}

int32_t larder__file_fail(larder_error *error, int code, const char *doing, const char *path) {
    int32_t status = code == EACCES || code == EPERM || code == EROFS ? LARDER_E_PERMISSION
                     : code == ENOSPC || code == EDQUOT               ? LARDER_E_NO_SPACE
                     : code == ENOMEM                                 ? LARDER_E_NO_MEMORY
                                                                      : LARDER_E_IO;
    return larder__fail_system(error, status, code, "%s %s: %s", doing, path, strerror(code));
}

int32_t larder__file_prepare(larder_env *env, larder_error *error) {
    struct stat info;
    bool may_create =
        (env->flags & LARDER_OPEN_CREATE) != 0 && (env->flags & LARDER_OPEN_READ_ONLY) == 0;
    if (may_create) {
        int code = larder__file_make_directory(env->path);
        if (code == ENOTDIR)
            return larder__fail(error, LARDER_E_FOREIGN_FILE,
                                "%s is a file; a store is a directory", env->path);
        if (code != 0) return larder__file_fail(error, code, "making", env->path);
    }
    if (stat(env->path, &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return larder__fail(error, LARDER_E_NO_STORE, "there is no store at %s", env->path);
        return larder__file_fail(error, errno, "looking at", env->path);
    }
    if (!S_ISDIR(info.st_mode))
        return larder__fail(error, LARDER_E_FOREIGN_FILE, "%s is a file; a store is a directory",
                            env->path);
    if ((env->flags & LARDER_OPEN_ANY_FILE_SYSTEM) == 0) {
        if (is_on_network(env->path))
            return larder__fail(error, LARDER_E_NETWORK_FILE_SYSTEM,
                                "%s is on a network file system, where memory maps and locks are "
                                "not reliable",
                                env->path);
    }
    env->device = (uint64_t)info.st_dev;
    env->inode = (uint64_t)info.st_ino;
    return LARDER_OK;
}

static void join(char *out, size_t size, const char *directory, const char *file) {
    snprintf(out, size, "%s/%s", directory, file);
}

/* LMDB makes its lock file before the data file, so that a store whose creation did not end can look
 * the same: an empty data file beside it tells nothing. */
bool larder__file_is_lost(const larder_env *env) {
    static const char *const files[] = {LOCK_FILE, DATA_FILE, LOG_FILE};
    char path[FILE_PATH_MAX];
    bool is_there[3];
    for (int i = 0; i < 3; i++) {
        join(path, sizeof path, env->path, files[i]);
        is_there[i] = access(path, F_OK) == 0;
    }
    return is_there[0] && !is_there[1] && !is_there[2];
}

/* Reads exactly, or as much as there is. */
ssize_t larder__file_read(int file, void *buffer, size_t size, off_t offset) {
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(file, (char *)buffer + done, size - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* LMDB divides by the size of a page. */
static bool meta_is_valid(const uint8_t *meta) {
    uint32_t page = larder__load32(meta + META_PAGE_SIZE_AT);
    return larder__load32(meta) == META_MAGIC && larder__load32(meta + 4) == META_VERSION &&
           page >= SMALLEST_PAGE && page <= LARGEST_PAGE && (page & (page - 1)) == 0;
}

static bool is_zero(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0) return false;
    return true;
}

/* Whether a part of a file holds zeros alone, as far as the file goes. */
static bool is_blank(int file, uint64_t from, uint64_t to) {
    uint8_t bytes[4096];
    while (from < to) {
        size_t wanted = to - from < sizeof bytes ? (size_t)(to - from) : sizeof bytes;
        ssize_t size = larder__file_read(file, bytes, wanted, (off_t)from);
        if (size < 0 || !is_zero(bytes, (size_t)size)) return false;
        if ((size_t)size < wanted) return true;
        from += (uint64_t)size;
    }
    return true;
}

/* A kill or a power cut can tear LMDB's first write to a new file, of both meta pages. No commit
 * ever reached the file when it ends with these pages or earlier, and each of them is either
 * blank or missing, or of transaction 0. (Both are synced before the first commit adds a page:
 * create_tables in env_tables.c.) Anything else is never recreated. */
static bool is_unborn(int file, const uint8_t *first, bool first_is_valid, const uint8_t *second,
                      bool second_is_valid, uint64_t file_bytes, uint64_t page) {
    if (file_bytes > 2 * page) return false;
    if (first_is_valid && second_is_valid && file_bytes == 2 * page) return false;
    if (first_is_valid ? larder__load64(first + META_HEADER + META_TXN_AT) != 0
                       : !is_blank(file, 0, page))
        return false;
    return second_is_valid ? larder__load64(second + META_HEADER + META_TXN_AT) == 0
                           : is_blank(file, page, 2 * page);
}

int32_t larder__file_inspect(larder_env *env, const char *directory, larder_error *error) {
    char path[FILE_PATH_MAX];
    join(path, sizeof path, directory, DATA_FILE);
    int32_t status = LARDER_OK;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO would wait for a writer */
    if (file < 0) {
        if (errno != ENOENT) return larder__file_fail(error, errno, "opening", path);
        if ((env->flags & LARDER_OPEN_CREATE) != 0 && (env->flags & LARDER_OPEN_READ_ONLY) == 0)
            return larder__file_has_room_for_store(directory)
                       ? LARDER_OK
                       : larder__file_fail(error, ENOSPC, "creating", path);
        return larder__fail(error, LARDER_E_NO_STORE, "there is no store at %s", env->path);
    }
    struct stat info;
    uint8_t first[META_HEADER + META_BYTES] = {0}, second[META_HEADER + META_BYTES] = {0};
    if (fstat(file, &info) != 0) {
        status = larder__file_fail(error, errno, "looking at", path);
        goto done;
    }
    if (!S_ISREG(info.st_mode)) {
        status = larder__fail(error, LARDER_E_FOREIGN_FILE, "%s is not a regular file", path);
        goto done;
    }
    env->file_bytes = (uint64_t)info.st_size;
    if (info.st_size == 0) goto done; /* created and never written: LMDB initialises it */
    ssize_t size = larder__file_read(file, first, sizeof first, 0);
    if (size < 0) {
        status = larder__file_fail(error, errno, "reading", path);
        goto done;
    }
    bool first_is_valid = size == (ssize_t)sizeof first && meta_is_valid(first + META_HEADER);
    uint32_t page = first_is_valid ? larder__load32(first + META_HEADER + META_PAGE_SIZE_AT)
                                   : (uint32_t)sysconf(_SC_PAGESIZE);
    size = larder__file_read(file, second, sizeof second, (off_t)page);
    if (size < 0) {
        status = larder__file_fail(error, errno, "reading", path);
        goto done;
    }
    bool second_is_valid = size == (ssize_t)sizeof second && meta_is_valid(second + META_HEADER) &&
                           larder__load32(second + META_HEADER + META_PAGE_SIZE_AT) == page;
    if (is_unborn(file, first, first_is_valid, second, second_is_valid, (uint64_t)info.st_size,
                  page)) {
        if ((env->flags & LARDER_OPEN_CREATE) == 0 || (env->flags & LARDER_OPEN_READ_ONLY) != 0)
            status = larder__fail(error, LARDER_E_NO_STORE,
                                  "the store at %s was not created to its end", env->path);
        else if (truncate(path, 0) != 0)
            status = larder__file_fail(error, errno, "recreating", path);
        goto done;
    }
    if (is_zero(first, sizeof first) && is_zero(second, sizeof second)) {
        status = larder__fail(error, LARDER_E_CORRUPT,
                              "the first two pages of %s are blank, and it has %llu bytes: it is "
                              "damaged, and is left as it is",
                              path, (unsigned long long)info.st_size);
        goto done;
    }
    if (!first_is_valid) { /* LMDB itself starts from the first meta page */
        status =
            second_is_valid
                ? larder__fail(error, LARDER_E_CORRUPT, "the first page of %s is damaged", path)
                : larder__fail(error, LARDER_E_FOREIGN_FILE, "%s is not an LMDB file", path);
        goto done;
    }
    if (!second_is_valid) {
        status = larder__fail(error, LARDER_E_CORRUPT, "the second page of %s is damaged", path);
        goto done;
    }
    const uint8_t *newest = first;
    if (larder__load64(second + META_HEADER + META_TXN_AT) >
        larder__load64(first + META_HEADER + META_TXN_AT))
        newest = second;
    uint64_t last_page = larder__load64(newest + META_HEADER + META_LAST_PAGE_AT);
    if (last_page > (UINT64_C(1) << 47) / page) {
        status = larder__fail(error, LARDER_E_CORRUPT, "the meta page of %s is damaged", path);
        goto done;
    }
    uint64_t needed = (last_page + 1) * page;
    if ((uint64_t)info.st_size < needed) {
        env->short_from_page = (uint64_t)info.st_size / page;
        /* Zeros in place of what is missing: LMDB answers "corrupted" there, not SIGBUS. */
        if ((env->flags & LARDER_OPEN_READ_ONLY) == 0 && truncate(path, (off_t)needed) != 0)
            status = larder__file_fail(error, errno, "extending", path);
        else
            env->short_size_bytes = (uint64_t)info.st_size;
    }
done:
    close(file);
    return status;
}

typedef struct page_range {
    uint64_t first, last, found;
} page_range;

static bool look_for_page(void *context, uint64_t page) {
    page_range *range = context;
    range->found += page >= range->first && page <= range->last;
    return true;
}

/* Whether the free list names every page from first to last. */
static int32_t tail_is_free(larder_env *env, uint64_t first, uint64_t last, bool *is_free) {
    MDB_txn *txn;
    page_range range = {first, last, 0};
    int code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn);
    if (code != 0) return code;
    code = larder__mdb_each_free(txn, 0, UINT64_MAX, look_for_page, &range);
    larder__mdb_txn_abort(txn);
    *is_free = range.found == last - first + 1;
    return code;
}

int32_t larder__file_check_tail(larder_env *env, larder_error *error) {
    if (env->short_size_bytes == 0) return LARDER_OK;
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    MDB_envinfo info;
    struct stat now;
    bool is_free = false;
    int file, code = mdb_env_get_fd(env->mdb, &file);
    if (code == 0) code = larder__mdb_env_info(env->mdb, &info);
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    uint64_t needed = (uint64_t)(info.me_last_pgno + 1) * env->page_bytes;
    if (only_reads && fstat(file, &now) == 0) { /* a writer may have gone on */
        if ((uint64_t)now.st_size >= needed) return LARDER_OK;
        env->short_from_page = (uint64_t)now.st_size / env->page_bytes;
    }
    code = tail_is_free(env, env->short_from_page, info.me_last_pgno, &is_free);
    if (code == 0 && is_free) return LARDER_OK;
    char path[FILE_PATH_MAX];
    join(path, sizeof path, env->path, DATA_FILE);
    if (!only_reads && truncate(path, (off_t)env->short_size_bytes) != 0)
        larder__log(env, LARDER_LOG_WARNING, "could not restore the length of %s", path);
    return larder__fail(error, LARDER_E_CORRUPT, "%s was cut off: it has %llu bytes and needs %llu",
                        path, (unsigned long long)env->short_size_bytes,
                        (unsigned long long)needed);
}

/* Opens and syncs one directory. Where a file system cannot do that, nothing is lost by it. */
static int sync_directory(const char *path) {
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return errno;
    int code = fsync(directory) == 0 || errno == EINVAL ? 0 : errno;
    close(directory);
    return code;
}

static void parent_of(char *path) {
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        path[--size] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        strcpy(path, ".");
    else
        slash[slash == path ? 1 : 0] = '\0';
}

int32_t larder__file_sync_entries(larder_env *env, larder_error *error) {
    char path[FILE_PATH_MAX];
    int size = snprintf(path, sizeof path, "%s", env->path);
    if (size < 1 || (size_t)size >= sizeof path)
        return larder__file_fail(error, ENAMETOOLONG, "syncing", env->path);
    int code = sync_directory(path);
    parent_of(path);
    if (code == 0) code = sync_directory(path);
    /* A directory above that may not be read was there before the store. */
    if (code == EACCES || code == EPERM) code = 0;
    return code == 0 ? LARDER_OK : larder__file_fail(error, code, "syncing", env->path);
}

static int32_t make_directory_in(const char *const *places, size_t count,
                                 char path[LARDER__MEMORY_PATH_MAX], larder_error *error) {
    int code = ENOENT;
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(path, LARDER__MEMORY_PATH_MAX, "%s/larder-XXXXXX", places[i]);
        if (size < 0 || size >= LARDER__MEMORY_PATH_MAX - 16) {
            code = ENAMETOOLONG;
            continue;
        }
        if (mkdtemp(path) == NULL) {
            code = errno;
            continue;
        }
        if (larder__file_has_room_for_store(path)) return LARDER_OK;
        rmdir(path);
        return larder__file_fail(error, ENOSPC, "making a store in", places[i]);
    }
    return larder__file_fail(error, code, "making a temporary directory in", places[0]);
}

static const char *temporary_directory(void) {
    const char *temporary = getenv("TMPDIR");
    return temporary == NULL || temporary[0] == '\0' ? "/tmp" : temporary;
}

int32_t larder__file_make_memory(char path[LARDER__MEMORY_PATH_MAX], larder_error *error) {
    const char *places[] = {"/dev/shm", temporary_directory()};
    return make_directory_in(places, 2, path, error);
}

int32_t larder__file_make_temporary(char path[LARDER__MEMORY_PATH_MAX], larder_error *error) {
    const char *places[] = {temporary_directory(), "/dev/shm"};
    return make_directory_in(places, 2, path, error);
}

void larder__file_remove_memory(const char *path) {
    static const char *const files[] = {DATA_FILE, LOCK_FILE, LOG_FILE};
    char file[LARDER__MEMORY_PATH_MAX + 16];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        join(file, sizeof file, path, files[i]);
        unlink(file);
    }
    rmdir(path);
}

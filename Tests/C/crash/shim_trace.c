/*
 * shim_trace.c - preloaded: records what a process does to the files of a store (trace.h).
 *
 * Files that memory-mapped locks live in (names that hold "lock") are left out: their contents
 * do not matter after a power cut.
 */
#include "trace.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, FILES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace_file = -1;
static const char *prefix;
static struct {
    uint32_t file; /* 0: not of the store; DIRECTORY_FILE: a directory of it */
    bool syncs;    /* each write */
    char *path;    /* of a directory */
} descriptors[DESCRIPTORS];
#define DIRECTORY_FILE UINT32_MAX
static char *files[FILES];
static uint32_t file_count;

static void *real(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}
#define REAL(name) ((__typeof__(&name))(uintptr_t)real(#name))

static void put(const void *data, size_t size) {
    const char *from = data;
    while (size > 0) {
        long n = syscall(SYS_write, trace_file, from, size);
        if (n <= 0) abort();
        from += n;
        size -= (size_t)n;
    }
}

static void record(uint32_t kind, uint32_t file, uint64_t offset, const void *content,
                   size_t size) {
    trace_record head = {kind, file, offset, size};
    put(&head, sizeof head);
    put(content, size);
}

__attribute__((constructor)) static void begin(void) {
    prefix = getenv(TRACE_PREFIX_VARIABLE);
    const char *path = getenv(TRACE_FILE_VARIABLE);
    if (!prefix || !path) return;
    int file =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) abort();
    trace_file = (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, DESCRIPTORS);
    syscall(SYS_close, file);
    if (trace_file < 0) abort();
}

static bool is_traced(const char *path) {
    if (trace_file < 0 || !path || strncmp(path, prefix, strlen(prefix)) != 0) return false;
    const char *name = strrchr(path, '/');
    return !strstr(name ? name : path, "lock");
}

static uint32_t number_of(const char *path, bool is_new) {
    if (!is_new)
        for (uint32_t i = file_count; i > 0; i--)
            if (strcmp(files[i - 1], path) == 0) return i;
    if (file_count == FILES) abort();
    files[file_count++] = strdup(path);
    record(TRACE_CREATE, file_count, 0, path, strlen(path));
    return file_count;
}

static void opened(int descriptor, const char *path, int flags, bool existed) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS || !is_traced(path)) return;
    struct stat info;
    if (fstat(descriptor, &info) != 0) return;
    if (S_ISDIR(info.st_mode)) {
        descriptors[descriptor].file = DIRECTORY_FILE;
        free(descriptors[descriptor].path);
        descriptors[descriptor].path = strdup(path);
        return;
    }
    descriptors[descriptor].file = number_of(path, !existed);
    descriptors[descriptor].syncs = (flags & O_DSYNC) != 0; /* O_SYNC has that bit, too */
    if (flags & O_TRUNC) record(TRACE_TRUNCATE, descriptors[descriptor].file, 0, NULL, 0);
}

static int open_traced(int directory, const char *path, int flags, mode_t mode) {
    pthread_mutex_lock(&lock);
    bool existed = access(path, F_OK) == 0;
    int descriptor = (int)syscall(SYS_openat, directory, path, flags, mode);
    opened(descriptor, path, flags, existed);
    pthread_mutex_unlock(&lock);
    return descriptor;
}

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_traced(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_traced(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_traced(directory, path, flags, mode);
}

int close(int descriptor) {
    pthread_mutex_lock(&lock);
    if (descriptor >= 0 && descriptor < DESCRIPTORS) descriptors[descriptor].file = 0;
    int result = (int)syscall(SYS_close, descriptor);
    pthread_mutex_unlock(&lock);
    return result;
}

static uint32_t file_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS ? descriptors[descriptor].file : 0;
}

static void wrote(int descriptor, const void *data, ssize_t size, off_t offset) {
    uint32_t file = file_of(descriptor);
    if (file == 0 || file == DIRECTORY_FILE || size <= 0) return;
    record(TRACE_WRITE, file, (uint64_t)offset, data, (size_t)size);
    if (descriptors[descriptor].syncs) record(TRACE_SYNC_WRITE, file, 0, NULL, 0);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result = REAL(pwrite)(descriptor, data, size, offset);
    wrote(descriptor, data, result, offset);
    pthread_mutex_unlock(&lock);
    return result;
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset) {
    return pwrite(descriptor, data, size, offset);
}

ssize_t write(int descriptor, const void *data, size_t size) {
    if (file_of(descriptor) == 0) return syscall(SYS_write, descriptor, data, size);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t result = syscall(SYS_write, descriptor, data, size);
    wrote(descriptor, data, result, offset);
    pthread_mutex_unlock(&lock);
    return result;
}

/* One record for the whole vector, cut at what was written. */
static void wrote_vector(int descriptor, const struct iovec *parts, int count, ssize_t size,
                         off_t offset) {
    if (size <= 0) return;
    char *whole = malloc((size_t)size);
    if (!whole) abort();
    size_t used = 0;
    for (int i = 0; i < count && used < (size_t)size; i++) {
        size_t part =
            parts[i].iov_len < (size_t)size - used ? parts[i].iov_len : (size_t)size - used;
        memcpy(whole + used, parts[i].iov_base, part);
        used += part;
    }
    wrote(descriptor, whole, size, offset);
    free(whole);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    if (file_of(descriptor) == 0) return REAL(writev)(descriptor, parts, count);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t result = REAL(writev)(descriptor, parts, count);
    wrote_vector(descriptor, parts, count, result, offset);
    pthread_mutex_unlock(&lock);
    return result;
}
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result = REAL(pwritev)(descriptor, parts, count, offset);
    if (file_of(descriptor) != 0) wrote_vector(descriptor, parts, count, result, offset);
    pthread_mutex_unlock(&lock);
    return result;
}

static int synced(int descriptor, int result) {
    uint32_t file = file_of(descriptor);
    if (result == 0 && file == DIRECTORY_FILE) {
        const char *path = descriptors[descriptor].path;
        record(TRACE_SYNC_DIRECTORY, 0, 0, path, strlen(path));
    } else if (result == 0 && file != 0)
        record(TRACE_SYNC, file, 0, NULL, 0);
    return result;
}
int fsync(int descriptor) {
    pthread_mutex_lock(&lock);
    int result = synced(descriptor, (int)syscall(SYS_fsync, descriptor));
    pthread_mutex_unlock(&lock);
    return result;
}
int fdatasync(int descriptor) {
    pthread_mutex_lock(&lock);
    int result = synced(descriptor, (int)syscall(SYS_fdatasync, descriptor));
    pthread_mutex_unlock(&lock);
    return result;
}
/* These would change files behind the trace's back. */
int sync_file_range(int descriptor, off64_t offset, off64_t size, unsigned flags) {
    if (file_of(descriptor) != 0) abort();
    return REAL(sync_file_range)(descriptor, offset, size, flags);
}
int msync(void *address, size_t size, int flags) {
    return (int)syscall(SYS_msync, address, size, flags); /* of the lock file only */
}

int ftruncate(int descriptor, off_t size) {
    pthread_mutex_lock(&lock);
    int result = (int)syscall(SYS_ftruncate, descriptor, size);
    uint32_t file = file_of(descriptor);
    if (result == 0 && file != 0) record(TRACE_TRUNCATE, file, (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }
int truncate(const char *path, off_t size) {
    pthread_mutex_lock(&lock);
    int result = (int)syscall(SYS_truncate, path, size);
    if (result == 0 && is_traced(path))
        record(TRACE_TRUNCATE, number_of(path, false), (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&lock);
    int result = (int)syscall(SYS_mkdir, path, mode);
    if (result == 0 && is_traced(path)) record(TRACE_DIRECTORY, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&lock);
    return result;
}
int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    int result = (int)syscall(SYS_unlink, path);
    if (result == 0 && is_traced(path)) record(TRACE_REMOVE, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&lock);
    return result;
}
int rename(const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int result = (int)syscall(SYS_rename, from, to);
    if (result == 0 && (is_traced(from) || is_traced(to))) {
        char both[2 * PATH_MAX];
        int size = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
        record(TRACE_RENAME, 0, 0, both, (size_t)size);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

__attribute__((visibility("default"))) void shim_trace_mark(uint64_t value);
void shim_trace_mark(uint64_t value) {
    pthread_mutex_lock(&lock);
    if (trace_file >= 0) record(TRACE_MARK, 0, value, NULL, 0);
    pthread_mutex_unlock(&lock);
}

/*
 * shim_fault.c - preloaded: makes the n-th call of a kind fail, or a thread wait (fault.h).
 */
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static _Atomic int inside;
static _Atomic uint32_t kinds;
static _Atomic long wanted, calls, live;
static int error;
static bool sticky;

EXPORTED fault_arm shim_fault_arm;
EXPORTED fault_calls shim_fault_calls;
EXPORTED fault_enter shim_fault_enter;
EXPORTED fault_holds shim_fault_holds;
EXPORTED fault_live shim_fault_live;

void shim_fault_arm(uint32_t which, long n, int code, int is_sticky) {
    atomic_store(&kinds, 0);
    atomic_store(&wanted, n);
    atomic_store(&calls, 0);
    error = code;
    sticky = is_sticky;
    atomic_store(&kinds, which);
}
long shim_fault_calls(void) { return atomic_load(&calls); }
void shim_fault_enter(int is_inside) { atomic_store(&inside, is_inside); }
long shim_fault_live(void) { return atomic_load(&live); }

/* Whether this call is to fail. */
static bool fails(uint32_t kind) {
    if (!atomic_load(&inside) || !(atomic_load(&kinds) & kind)) return false;
    long number = atomic_fetch_add(&calls, 1) + 1, n = atomic_load(&wanted);
    bool now = n > 0 && (number == n || (sticky && number > n));
    if (now) errno = error;
    return now;
}

/* ---- writes ---- */

static __typeof__(&pwrite) real_pwrite;
static __typeof__(&writev) real_writev;
static __typeof__(&pwritev) real_pwritev;
static __typeof__(&pthread_create) real_pthread_create;
static __typeof__(&pthread_join) real_pthread_join;

/* Before anything is counted, as dlsym allocates. */
__attribute__((constructor)) static void find_functions(void) {
    real_pwrite = (__typeof__(real_pwrite))(uintptr_t)dlsym(RTLD_NEXT, "pwrite");
    real_writev = (__typeof__(real_writev))(uintptr_t)dlsym(RTLD_NEXT, "writev");
    real_pwritev = (__typeof__(real_pwritev))(uintptr_t)dlsym(RTLD_NEXT, "pwritev");
    real_pthread_create =
        (__typeof__(real_pthread_create))(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");
    real_pthread_join = (__typeof__(real_pthread_join))(uintptr_t)dlsym(RTLD_NEXT, "pthread_join");
}

ssize_t write(int file, const void *data, size_t size) {
    if (fails(FAULT_WRITE)) {
        if (error != FAULT_SHORT || size < 2) return -1;
        size /= 2;
    }
    return syscall(SYS_write, file, data, size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
    if (fails(FAULT_WRITE)) {
        if (error != FAULT_SHORT || size < 2) return -1;
        size /= 2;
    }
    return real_pwrite(file, data, size, offset);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
    if (fails(FAULT_WRITE)) {
        if (error != FAULT_SHORT) return -1;
        if (count > 1)
            count /= 2;
        else
            return syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2);
    }
    return real_writev(file, parts, count);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    if (fails(FAULT_WRITE)) {
        if (error != FAULT_SHORT) return -1;
        if (count > 1) count /= 2;
    }
    return real_pwritev(file, parts, count, offset);
}

/* ---- files ---- */

int fsync(int file) { return fails(FAULT_SYNC) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return fails(FAULT_SYNC) ? -1 : (int)syscall(SYS_fdatasync, file); }
int ftruncate(int file, off_t size) {
    return fails(FAULT_TRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}
int fallocate(int file, int mode, off_t from, off_t size) {
    return fails(FAULT_ALLOCATE) ? -1 : (int)syscall(SYS_fallocate, file, mode, from, size);
}
int truncate(const char *path, off_t size) {
    return fails(FAULT_TRUNCATE) ? -1 : (int)syscall(SYS_truncate, path, size);
}
int rename(const char *from, const char *to) {
    return fails(FAULT_NAME) ? -1 : (int)syscall(SYS_rename, from, to);
}
int mkdir(const char *path, mode_t mode) {
    return fails(FAULT_NAME) ? -1 : (int)syscall(SYS_mkdir, path, mode);
}
int unlink(const char *path) { return fails(FAULT_NAME) ? -1 : (int)syscall(SYS_unlink, path); }
int rmdir(const char *path) { return fails(FAULT_NAME) ? -1 : (int)syscall(SYS_rmdir, path); }

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
    return fails(FAULT_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return fails(FAULT_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
    MODE_OF(flags)
    return fails(FAULT_OPEN) ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode);
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *); /* an int comes in the same register */
    va_end(arguments);
    bool is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                   command == F_OFD_SETLKW;
    if (is_lock && fails(FAULT_LOCK)) return -1;
    return (int)syscall(SYS_fcntl, file, command, argument);
}

ssize_t read(int file, void *buffer, size_t size) {
    return fails(FAULT_READ) ? -1 : syscall(SYS_read, file, buffer, size);
}
ssize_t pread(int file, void *buffer, size_t size, off_t offset) {
    return fails(FAULT_READ) ? -1 : syscall(SYS_pread64, file, buffer, size, offset);
}

/* ---- memory ---- */

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(FAULT_MAP)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static void *count(void *memory, long delta) {
    if (memory) atomic_fetch_add(&live, delta);
    return memory;
}

void *malloc(size_t size) { return fails(FAULT_MEMORY) ? NULL : count(__libc_malloc(size), 1); }
void *calloc(size_t number, size_t size) {
    return fails(FAULT_MEMORY) ? NULL : count(__libc_calloc(number, size), 1);
}
void *realloc(void *memory, size_t size) {
    if (size > 0 && fails(FAULT_MEMORY)) return NULL;
    void *changed = __libc_realloc(memory, size);
    if (!memory) count(changed, 1);
    return changed;
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (fails(FAULT_MEMORY)) return ENOMEM;
    *memory = count(__libc_memalign(alignment, size), 1);
    return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
    count(memory, -1);
    __libc_free(memory);
}

/* ---- threads ---- */

/* The thread that is held, or was. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t released;
    bool holds;
    pthread_t thread;
    void *(*run)(void *);
} held = {.lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};

static void *run_held(void *argument) {
    pthread_mutex_lock(&held.lock);
    while (held.holds)
        pthread_cond_wait(&held.released, &held.lock);
    pthread_mutex_unlock(&held.lock);
    return held.run(argument);
}

int shim_fault_holds(void) {
    pthread_mutex_lock(&held.lock);
    int holds = held.holds;
    pthread_mutex_unlock(&held.lock);
    return holds;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
    if (!fails(FAULT_THREAD)) return real_pthread_create(thread, attributes, run, argument);
    if (error != FAULT_HOLD) return EAGAIN;
    pthread_mutex_lock(&held.lock);
    held.run = run;
    int code = real_pthread_create(thread, attributes, run_held, argument);
    held.holds = code == 0;
    if (held.holds) held.thread = *thread;
    pthread_mutex_unlock(&held.lock);
    return code;
}

int pthread_join(pthread_t thread, void **result) {
    pthread_mutex_lock(&held.lock);
    if (held.holds && pthread_equal(thread, held.thread)) {
        held.holds = false;
        pthread_cond_signal(&held.released);
    }
    pthread_mutex_unlock(&held.lock);
    return real_pthread_join(thread, result);
}

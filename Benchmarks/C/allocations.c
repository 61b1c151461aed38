/*
 * allocations.c - counts heap allocations of the whole process, LMDB, zstd and SQLite included:
 * with glibc the program's own malloc family takes the place of the library's everywhere and
 * hands on to it. Elsewhere nothing is counted and malloc_count answers -1.
 */
#include "bench.h"

#include <features.h>

#ifdef __GLIBC__

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Atomic int64_t calls;

static void count_call(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count_call();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_call();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    count_call();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count_call();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_call();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count_call();
    void *got = __libc_memalign(alignment, size);
    if (got == NULL) return ENOMEM;
    *memory = got;
    return 0;
}

void free(void *memory) { __libc_free(memory); }

int64_t malloc_count(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

#else

int64_t malloc_count(void) { return -1; }

#endif

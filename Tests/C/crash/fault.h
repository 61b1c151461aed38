/*
 * fault.h - what shim_fault.so can make fail, and how a test says so. The functions are looked
 * up with dlsym; calls are counted and fail only between shim_fault_enter(1) and (0).
 */
#ifndef LARDER_FAULT_H
#define LARDER_FAULT_H

#include <stdint.h>

enum {
    FAULT_WRITE = 1,      /* write, pwrite, writev, pwritev */
    FAULT_SYNC = 2,       /* fsync, fdatasync */
    FAULT_TRUNCATE = 4,   /* ftruncate, truncate */
    FAULT_MAP = 8,        /* mmap */
    FAULT_MEMORY = 16,    /* malloc, calloc, realloc, posix_memalign */
    FAULT_OPEN = 32,      /* open, openat */
    FAULT_LOCK = 64,      /* fcntl's locks */
    FAULT_NAME = 128,     /* rename, mkdir, unlink, rmdir */
    FAULT_READ = 256,     /* read, pread */
    FAULT_THREAD = 512,   /* pthread_create */
    FAULT_ALLOCATE = 1024 /* fallocate */
};
/* In place of an errno: the write does half of what it should. */
#define FAULT_SHORT (-1)
/* In place of an errno: the thread is created, and runs only when another one begins to wait for its
 * end (pthread_join). One at a time. */
#define FAULT_HOLD (-2)

/* The n-th call of these kinds from now on fails with the error; with sticky all later ones,
 * too. n 0: none fails, they are counted. */
typedef void fault_arm(uint32_t kinds, long n, int error, int sticky);
/* Calls of the armed kinds so far. */
typedef long fault_calls(void);
typedef void fault_enter(int inside);
/* Whether a thread is held. */
typedef int fault_holds(void);
/* Allocations less releases of the process so far, inside or not. */
typedef long fault_live(void);

#endif

/*
 * Tells the thread sanitizer what Swift's Mutex does when threads wait for it.
 *
 * The quick paths of Mutex are compiled into the program, where the sanitizer sees them. The slow
 * ones are in a library that it does not see: they spin, or let the kernel hand the lock over, and
 * whatever the lock guards is then reported as a race. This library, loaded before that one with
 * LD_PRELOAD, stands in for the slow paths, calls them, and says what was acquired and released. In
 * programs without the sanitizer it only calls them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

/* Methods of Synchronization._MutexHandle, whose address is the lock's. */
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*lock_function)(uint32_t thread, SELF);
typedef SWIFT bool (*try_lock_function)(SELF);
typedef SWIFT void (*unlock_function)(SELF);

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF) {
    lock_function next = (lock_function)dlsym(RTLD_NEXT, LOCK);

    next(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT bool try_lock_slow(SELF) {
    try_lock_function next = (try_lock_function)dlsym(RTLD_NEXT, TRY_LOCK);
    bool acquired = next(self);

    if (acquired && __tsan_acquire) __tsan_acquire(self);
    return acquired;
}

SWIFT void unlock_slow(SELF) {
    unlock_function next = (unlock_function)dlsym(RTLD_NEXT, UNLOCK);

    if (__tsan_release) __tsan_release(self);
    next(self);
}

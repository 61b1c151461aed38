/*
 * zstd_test.c - the n-th allocation of zstd's or LMDB's own fails, for n = 1, 2, 3 ... until a clean
 * run, in transactions that train dictionaries and use them (train_kit.h).
 *
 *     zstd_test [--dir D]
 *
 * Each runs in a child process. Whatever fails, the call answers with LARDER_E_NO_MEMORY, or has not
 * needed it; the store is as before or as after; opened again, it takes the same transaction; and no
 * memory is left but what zstd's trainer has had, which does not survive it by itself.
 */
#include "crash.h"
#include "fault.h"
#include "train_kit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The trainer's tables, and what libc keeps for later. */
enum { LIMIT_SECONDS = 60, ALLOCATIONS_KEPT = 4 + 3, WAYS = 4 };

static fault_arm *arm;
static fault_calls *calls;
static fault_enter *enter;
static fault_live *live;
static larder_error error;

/* The library's own memory does not fail here. */
static void *allocate(void *context, size_t size) {
    (void)context;
    enter(0);
    void *memory = malloc(size);
    enter(1);
    return memory;
}
static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}
static const larder_allocator allocator = {NULL, allocate, release};

typedef struct run {
    char path[1100];
    int way;
    long n;
} run;

static bool is_next(const run *r) { return r->way % 2 == 1; }
static bool is_sticky(const run *r) { return r->way >= 2; }

static int wrong(const run *r, int32_t status, const char *what) {
    printf("way %d, allocation %ld: %s (%s: %s)\n", r->way, r->n, what, larder_status_name(status),
           error.message);
    return 1;
}

/* 0: all is well; 1: something is not; 2: nothing has failed. */
static int run_once(void *context) {
    const run *r = context;
    uint32_t dictionary = 0;
    int32_t (*change)(larder_env *, larder_error *) = is_next(r) ? train_kit_next : train_kit_first;
    crash_remove_tree(r->path);
    larder_env *env = train_kit_open(r->path, &allocator, &error);
    if (env == NULL) return wrong(r, LARDER_OK, "the store does not open");
    if (is_next(r) &&
        (train_kit_first(env, &error) != LARDER_OK || train_kit_others(env, &error) != LARDER_OK))
        return wrong(r, LARDER_OK, "the store cannot be filled");
    if (larder_env_close(env, NULL) != LARDER_OK) return wrong(r, LARDER_OK, "it does not close");
    long before = live();
    env = train_kit_open(r->path, &allocator, &error); /* without an encoder */
    if (env == NULL) return wrong(r, LARDER_OK, "the store does not open");
    arm(FAULT_MEMORY, r->n, ENOMEM, is_sticky(r));
    enter(1);
    int32_t status = change(env, &error);
    enter(0);
    bool has_failed = calls() >= r->n;
    arm(0, 0, 0, 0);
    if (status != LARDER_OK && status != LARDER_E_NO_MEMORY) return wrong(r, status, "the status");
    if (status != LARDER_OK && !has_failed) return wrong(r, status, "it fails without a fault");
    if (!train_kit_is_whole(env, &dictionary, &error))
        return wrong(r, status, "the store is not whole");
    if (status != LARDER_OK && dictionary != (is_next(r) ? 1 : 0))
        return wrong(r, status, "a dictionary is left");
    if (status != LARDER_OK && larder_env_close(env, NULL) != LARDER_OK)
        return wrong(r, status, "it does not close");
    if (status != LARDER_OK) env = train_kit_open(r->path, &allocator, &error);
    if (env == NULL) return wrong(r, status, "the store does not open again");
    if (status != LARDER_OK && change(env, &error) != LARDER_OK)
        return wrong(r, status, "it fails again without a fault");
    if (!train_kit_is_whole(env, &dictionary, &error) || dictionary != (is_next(r) ? 2 : 1))
        return wrong(r, status, "there is no new dictionary");
    if (larder_env_close(env, NULL) != LARDER_OK) return wrong(r, status, "it does not close");
    if (larder_live_handle_count() != 0) return wrong(r, status, "handles are left");
    if (live() - before > ALLOCATIONS_KEPT) return wrong(r, status, "memory is left");
    return has_failed ? 0 : 2;
}

static void sweep(const char *root, int way) {
    run r = {.way = way};
    int result = 0;
    snprintf(r.path, sizeof r.path, "%s/store", root);
    for (r.n = 1; result != 2 && crash_failures() < 20; r.n++) {
        result = crash_child(run_once, &r, LIMIT_SECONDS);
        if (result == 0)
            crash_pass();
        else if (result != 2)
            crash_fail("way %d, allocation %ld: %s %d", way, r.n,
                       result < 0 ? "signal" : "exit status", result < 0 ? -1 - result : result);
    }
    printf("%s dictionary, %s: %ld points\n", way % 2 == 1 ? "next" : "first",
           way >= 2 ? "for good" : "once", r.n - 2);
    fflush(stdout);
}

int main(int argc, char **argv) {
    crash_preload(argv, "shim_fault.so");
    arm = (fault_arm *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_arm");
    calls = (fault_calls *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_calls");
    enter = (fault_enter *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_enter");
    live = (fault_live *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_live");
    if (!arm || !calls || !enter || !live) {
        fprintf(stderr, "shim_fault.so is not loaded\n");
        return 3;
    }
    const char *directory = crash_directory(argc, argv, true);
    for (int way = 0; way < WAYS; way++)
        sweep(directory, way);
    return crash_finish();
}

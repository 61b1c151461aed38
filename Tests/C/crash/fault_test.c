/*
 * fault_test.c - the n-th system call or allocation fails, for n = 1, 2, 3 ... until a clean run.
 *
 *     fault_test [--seed S] [--dir D] [--all] [--kind NAME]
 *
 * A scenario opens a store, makes commits that touch every noun, reads everything, trains a
 * dictionary, evicts, copies, compacts, checks, syncs, closes and opens again. For each kind of
 * call and each way of failing it is run in a child process with the first such call failing,
 * then the second, and so on. Wherever the failure lands:
 *
 *   - the call that met it answers with a status, and nothing crashes or hangs;
 *   - a failed commit has changed nothing that the handle can see; reopened, the store is as
 *     before or as after it; larder_check is clean;
 *   - after a failed sync the handle refuses writes until the store is opened again, while
 *     reads go on (but for a commit that is a checkpoint: then it refuses both); after
 *     anything else the same call succeeds when it is tried again;
 *   - no handle, descriptor or allocation is left.
 *
 * Allocations are many: beyond the first 150 a sample of them fails, unless --all is given.
 * The allocator hook of the options is failed in the same way, and its balance must be 0. At
 * the end a really full file system, or a file size limit where none can be mounted (full_disk.h).
 */
#include "crash.h"
#include "fault.h"
#include "full_disk.h"
#include "store/wal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMITS = 8, LIMIT_SECONDS = 120, EVERY_ONE = 150, FAULT_HOOK = 1 << 20 };
/* What libc keeps for later, e.g. of threads. */
enum { ALLOCATIONS_KEPT = 4 };

static fault_arm *arm;
static fault_calls *calls;
static fault_enter *shim_enter;
static fault_live *live;

static void enter(int is_inside);
static void guard(bool is_inside) { enter(is_inside); }

static int32_t leave(int32_t status) {
    enter(0);
    return status;
}
/* A call during which faults happen. */
#define CALL(expression) (enter(1), leave(expression))

typedef struct way {
    const char *name;
    uint32_t kind;
    int error;
    const char *error_name;
} way;

static const way ways[] = {
    {"write", FAULT_WRITE, EIO, "EIO"},
    {"write", FAULT_WRITE, ENOSPC, "ENOSPC"},
    {"write", FAULT_WRITE, EINTR, "EINTR"},
    {"write", FAULT_WRITE, FAULT_SHORT, "short"},
    {"sync", FAULT_SYNC, EIO, "EIO"},
    {"sync", FAULT_SYNC, ENOSPC, "ENOSPC"},
    {"truncate", FAULT_TRUNCATE, EIO, "EIO"},
    {"map", FAULT_MAP, ENOMEM, "ENOMEM"},
    {"open", FAULT_OPEN, EMFILE, "EMFILE"},
    {"open", FAULT_OPEN, EACCES, "EACCES"},
    {"lock", FAULT_LOCK, ENOLCK, "ENOLCK"},
    {"lock", FAULT_LOCK, EINTR, "EINTR"},
    {"name", FAULT_NAME, EIO, "EIO"},
    {"name", FAULT_NAME, ENOSPC, "ENOSPC"},
    {"read", FAULT_READ, EIO, "EIO"},
    {"thread", FAULT_THREAD, EAGAIN, "EAGAIN"},
    {"allocate", FAULT_ALLOCATE, ENOSPC, "ENOSPC"},
    {"allocate", FAULT_ALLOCATE, EIO, "EIO"},
    {"allocate", FAULT_ALLOCATE, EOPNOTSUPP, "EOPNOTSUPP"},
    {"memory", FAULT_MEMORY, ENOMEM, "ENOMEM"},
    {"hook", FAULT_HOOK, ENOMEM, "ENOMEM"},
};

/* ---- the allocator hook ---- */

static struct {
    long calls, wanted, live;
    bool sticky, inside;
} hook;

static void enter(int is_inside) {
    hook.inside = is_inside;
    shim_enter(is_inside);
}

static void *hook_allocate(void *context, size_t size) {
    (void)context;
    long number = hook.inside ? ++hook.calls : 0;
    if (hook.inside && hook.wanted > 0 &&
        (number == hook.wanted || (hook.sticky && number > hook.wanted)))
        return NULL;
    void *memory = malloc(size);
    hook.live += memory != NULL;
    return memory;
}
static void hook_release(void *context, void *memory) {
    (void)context;
    hook.live -= memory != NULL;
    free(memory);
}
static const larder_allocator hook_allocator = {NULL, hook_allocate, hook_release};

/* ---- one run ---- */

typedef struct run {
    const way *way;
    long n;
    bool sticky;
    uint64_t seed;
    char root[1024];
    /* state */
    larder_env *env;
    mirror *m;     /* what is committed for certain */
    mirror *after; /* with the commit that failed, or NULL */
    mirror_profile profile;
    bool evicts;    /* from now on documents may be gone */
    bool failed;    /* something has failed */
    bool has_parts; /* a record was written in parts */
    int descriptors;
    char where[64];
    int32_t status;
    larder_error error;
} run;

static void arm_fault(run *r, long n) {
    hook.calls = 0;
    hook.wanted = 0;
    hook.sticky = r->sticky;
    if (r->way->kind == FAULT_HOOK) hook.wanted = n;
    arm(r->way->kind, n, r->way->error, r->sticky);
}
static void disarm(void) {
    hook.wanted = 0;
    arm(0, 0, 0, 0);
}

static void wrong(run *r, const char *what) {
    mirror_problem("%s %s%s, call %ld, during %s (%s: %s): %s", r->way->name, r->way->error_name,
                   r->sticky ? " for good" : "", r->n, r->where, larder_status_name(r->status),
                   r->error.message, what);
}

static void store_path(const run *r, char *path, size_t capacity) {
    snprintf(path, capacity, "%s/store", r->root);
}

/* In half of the runs records of more than a block are written in parts. */
static bool with_parts(const run *r) { return r->seed % 4 < 2; }

static int32_t open_store(run *r) {
    char path[1100];
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    if (r->way->kind == FAULT_HOOK) options.allocator = &hook_allocator;
    options.durability =
        r->seed % 2 ? LARDER_DURABILITY_LAST_COMMIT_AT_RISK : LARDER_DURABILITY_EVERY_COMMIT;
    options.log_bytes = 65536; /* checkpoints, and commits that are one */
    store_path(r, path, sizeof path);
    int32_t status = CALL(larder_env_open(path, &options, &r->env, &r->error));
    if (status == LARDER_OK && with_parts(r)) r->env->wal->part_bytes = LARDER__WAL_BLOCK;
    return status;
}

/* A commit of the mirror's; on failure r->after is what it would have led to. */
static int32_t commit(run *r) {
    larder_txn *txn;
    int32_t status = CALL(larder_txn_begin_write(r->env, &txn, &r->error));
    if (status != LARDER_OK) return status;
    mirror *next = mirror_clone(r->m);
    status = mirror_commit(next, txn, &r->profile, NULL);
    if (status != LARDER_OK) {
        enter(1);
        larder_txn_abort(txn);
        enter(0);
        mirror_free(next);
        return status;
    }
    r->has_parts |= txn->redo.written_bytes > 0 && !txn->redo.is_given_up;
    status = CALL(larder_txn_commit(txn, &r->error));
    mirror_free(status == LARDER_OK ? r->m : r->after);
    if (status == LARDER_OK)
        r->m = next;
    else
        r->after = next;
    return status;
}

static int32_t read_all(run *r) {
    const larder_txn *txn;
    int32_t status = CALL(larder_txn_begin_read(r->env, &txn, &r->error));
    if (status != LARDER_OK) return status;
    mirror *seen = mirror_clone(r->m);
    if (r->evicts) mirror_reconcile(seen, txn); /* which meets no fault: it is not guarded */
    mirror_profile profile = r->profile;
    profile.faults = true;
    status = mirror_verify(seen, txn, &profile);
    mirror_free(seen);
    enter(1);
    larder_txn_end_read(txn);
    enter(0);
    return status;
}

static int32_t check(run *r) {
    const larder_txn *txn;
    int32_t status = CALL(larder_txn_begin_read(r->env, &txn, &r->error));
    if (status != LARDER_OK) return status;
    larder_check_report report = {.struct_bytes = sizeof report};
    status = CALL(larder_check(txn, NULL, NULL, NULL, &report, &r->error));
    if (status == LARDER_E_CORRUPT) wrong(r, "a fault is taken for damage");
    enter(1);
    larder_txn_end_read(txn);
    enter(0);
    return status;
}

static int32_t train(run *r) {
    larder_txn *txn;
    int32_t status = CALL(larder_txn_begin_write(r->env, &txn, &r->error));
    if (status != LARDER_OK) return status;
    larder_train_result result;
    status = CALL(larder_blob_train(txn, 1024, 65536, &result, &r->error));
    larder_repack repack = {0};
    int64_t changed;
    while (status >= 0 && (status = CALL(larder_blob_repack(txn, 10, &repack, &changed,
                                                            &r->error))) == LARDER_MORE) {
    }
    if (status < 0) {
        enter(1);
        larder_txn_abort(txn);
        enter(0);
        return status;
    }
    return CALL(larder_txn_commit(txn, &r->error));
}

static int32_t touch_and_evict(run *r) {
    int32_t status = CALL(larder_lru_touch(r->env, mirror_name(3), &r->error));
    if (status < 0) return status;
    status = CALL(larder_lru_pin(r->env, mirror_name(4), &r->error));
    if (status < 0) return status;
    status = CALL(larder_lru_pin_target(r->env, mirror_target_id(0), &r->error));
    if (status < 0) return status;
    r->evicts = r->profile.lenient = true;
    larder_lru_result result = {.struct_bytes = sizeof result};
    status = CALL(larder_lru_step(r->env, 20000, 40, 0, &result, &r->error));
    return status == LARDER_MORE ? LARDER_OK : status;
}

static int32_t copy(run *r) {
    char path[1100];
    snprintf(path, sizeof path, "%s/copy", r->root);
    crash_remove_tree(path);
    return CALL(larder_env_copy(r->env, path, NULL, NULL, &r->error));
}
static int32_t compact(run *r) {
    char path[1100];
    snprintf(path, sizeof path, "%s/compact", r->root);
    crash_remove_tree(path);
    return CALL(larder_env_compact(r->env, path, NULL, NULL, &r->error));
}
static int32_t sync_store(run *r) { return CALL(larder_env_sync(r->env, &r->error)); }
static int32_t close_store(run *r) {
    int32_t status = CALL(larder_env_close(r->env, &r->error));
    if (status == LARDER_OK) r->env = NULL;
    return status;
}

static const struct {
    const char *name;
    int32_t (*run)(run *r);
} steps[] = {{"open", open_store},
             {"commit 1", commit},
             {"commit 2", commit},
             {"commit 3", commit},
             {"read", read_all},
             {"commit 4", commit},
             {"train", train},
             {"commit 5", commit},
             {"sync", sync_store},
             {"check", check},
             {"copy", copy},
             {"compact", compact},
             {"close", close_store},
             {"open again", open_store},
             {"commit 6", commit},
             {"evict", touch_and_evict},
             {"commit 7", commit},
             {"read again", read_all},
             {"close again", close_store}};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* Compares what the handle, or a new one, shows with the mirror. */
static void compare(run *r, larder_env *env, bool may_be_after) {
    const larder_txn *txn;
    larder_error error = {0};
    int32_t status = larder_txn_begin_read(env, &txn, &error);
    /* A commit that did not fit the log is there for readers before the log's header refers to it:
     * where that cannot be written, they are refused, too. */
    if (status == LARDER_E_WRITES_REFUSED) return;
    if (status != LARDER_OK) {
        r->error = error;
        wrong(r, "reading is not possible afterwards");
        return;
    }
    int64_t stored = mirror_stored_sequence(txn);
    mirror *expected = r->m;
    if (may_be_after && r->after && stored == (int64_t)r->after->sequence) expected = r->after;
    mirror *seen = mirror_clone(expected);
    if (r->evicts) mirror_reconcile(seen, txn);
    long before = mirror_problem_count();
    mirror_guard = NULL; /* whatever goes on failing, reading must not */
    mirror_verify(seen, txn, NULL);
    mirror_check(txn);
    mirror_guard = guard;
    if (mirror_problem_count() > before) wrong(r, "the store is neither as before nor as after");
    mirror_free(seen);
    larder_txn_end_read(txn);
}

/* The failed call once more, now that nothing fails. */
static void try_again(run *r, int step) {
    larder_error first = r->error;
    bool was_sync = r->way->kind == FAULT_SYNC && r->way->error == EIO;
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(r->env, &txn, &r->error);
    if (status == LARDER_OK) larder_txn_abort(txn);
    if (status == LARDER_E_WRITES_REFUSED) {
        const larder_txn *read;
        bool reads = larder_txn_begin_read(r->env, &read, NULL) == LARDER_OK;
        if (reads) larder_txn_end_read(read);
        if (reads && (r->way->kind & (FAULT_SYNC | FAULT_WRITE | FAULT_MAP)) == 0)
            wrong(r, "writes are refused without need");
        return;
    }
    if (was_sync && steps[step].run != copy && steps[step].run != compact)
        wrong(r, "writes go on after a failed sync");
    if (status != LARDER_OK) {
        wrong(r, "writing is not possible afterwards");
        return;
    }
    r->error = first;
    status = steps[step].run(r);
    if (status < 0) {
        r->status = status;
        wrong(r, "it fails again without a fault");
    }
}

/* Names in the directory that should not be there. */
static void check_left_over(run *r) {
    DIR *entries = opendir(r->root);
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        const char *name = entry->d_name;
        if (name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0))) continue;
        if (strcmp(name, "store") && strcmp(name, "copy") && strcmp(name, "compact"))
            wrong(r, "a partial copy is left");
    }
    if (entries) closedir(entries);
}

/* 0: the fault came and all is well; 1: something is not; 2: no such call was made. */
static int run_scenario(void *context) {
    run *r = context;
    r->m = mirror_create();
    r->profile = (mirror_profile){.seed = r->seed, .operations = 40, .faults = true};
    crash_remove_tree(r->root);
    mkdir(r->root, 0755);
    r->descriptors = crash_descriptor_count();
    long live_before = live();
    arm_fault(r, r->n);
    int step = 0;
    for (; step < STEPS; step++) {
        snprintf(r->where, sizeof r->where, "%s", steps[step].name);
        memset(&r->error, 0, sizeof r->error);
        int32_t status = steps[step].run(r);
        if (status >= 0) continue;
        r->status = status;
        r->failed = true;
        if (r->error.status != status && r->error.status != 0 && r->env)
            wrong(r, "the error says another status");
        if (!r->sticky) break;
        /* it fails on: more calls must answer, too */
        if (!r->env) break;
        commit(r);
        read_all(r);
        sync_store(r);
        commit(r);
        break;
    }
    long made = r->way->kind == FAULT_HOOK ? hook.calls : calls();
    if (r->env && r->sticky) { /* closing must work even now */
        compare(r, r->env, true);
        if (close_store(r) != LARDER_OK) wrong(r, "the store does not close");
    }
    disarm();
    if (r->env && r->failed) {
        compare(r, r->env, false);
        try_again(r, step);
        if (r->env && close_store(r) != LARDER_OK) wrong(r, "the store does not close");
    }
    if (r->way->kind != FAULT_NAME) check_left_over(r);
    if (larder_live_handle_count() != 0) wrong(r, "handles are left");
    if (crash_descriptor_count() != r->descriptors) wrong(r, "descriptors are left");
    if (hook.live != 0) wrong(r, "memory of the allocator hook is left");
    /* a new handle, without faults */
    memset(&r->error, 0, sizeof r->error);
    r->status = open_store(r);
    if (r->status != LARDER_OK)
        wrong(r, "the store does not open afterwards");
    else {
        compare(r, r->env, true);
        larder_env_close(r->env, NULL);
    }
    mirror_free(r->m);
    mirror_free(r->after);
    long left = live() - live_before;
    if (left > ALLOCATIONS_KEPT) {
        snprintf(r->where, sizeof r->where, "the run (%ld allocations are left)", left);
        wrong(r, "memory is left");
    }
    bool is_last = made < r->n; /* of the sweep: nothing has failed */
    if (is_last && with_parts(r) && !r->has_parts) wrong(r, "no record was written in parts");
    if (mirror_problem_count() > 0) return 1;
    return is_last ? 2 : 0;
}

/* ---- sweeps ---- */

static void sweep(const char *root, const way *w, bool sticky, uint64_t seed, bool all) {
    long points = 0;
    mirror_random random = mirror_random_from(seed, (uint64_t)w->kind + (uint64_t)sticky);
    for (long n = 1;; n++) {
        run *r = calloc(1, sizeof *r);
        if (!r) abort();
        r->way = w;
        r->n = n;
        r->sticky = sticky;
        r->seed = seed + (uint64_t)(points % 4); /* both durability modes, with and without parts */
        snprintf(r->root, sizeof r->root, "%s/run", root);
        int result = crash_child(run_scenario, r, LIMIT_SECONDS);
        free(r);
        if (result == 2) break;
        points++;
        if (result == 0)
            crash_pass();
        else
            crash_fail("%s %s%s, call %ld: %s %d", w->name, w->error_name,
                       sticky ? " for good" : "", n, result < 0 ? "signal" : "exit status",
                       result < 0 ? -1 - result : result);
        if (crash_failures() > 40) break;
        if (!all && points > EVERY_ONE)
            n += (long)mirror_random_below(&random, (uint64_t)n / 20 + 2);
    }
    printf("%-9s %-7s %-8s %5ld points\n", w->name, w->error_name, sticky ? "for good" : "once",
           points);
    fflush(stdout);
}

int main(int argc, char **argv) {
    crash_preload(argv, "shim_fault.so");
    arm = (fault_arm *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_arm");
    calls = (fault_calls *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_calls");
    shim_enter = (fault_enter *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_enter");
    live = (fault_live *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_live");
    if (!arm || !calls || !shim_enter || !live) {
        fprintf(stderr, "shim_fault.so is not loaded\n");
        return 3;
    }
    mirror_guard = guard;
    mirror_canonical(0); /* makes what the mirror keeps for good */
    mirror_named(0);
    mirror_index(0);
    mirror_free(mirror_create());
    uint64_t seed = crash_seed(argc, argv);
    const char *directory = crash_directory(argc, argv, true);
    const char *kind = crash_option(argc, argv, "kind", NULL);
    bool all = crash_flag(argc, argv, "all");
    if (!kind || strcmp(kind, "full") == 0) full_disk_run(directory);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (kind && strcmp(kind, ways[i].name) != 0) continue;
        sweep(directory, &ways[i], false, seed, all);
        /* a call that is interrupted indefinitely is not a fault that can be answered */
        if (ways[i].error != EINTR) sweep(directory, &ways[i], true, seed, all);
    }
    return crash_finish();
}

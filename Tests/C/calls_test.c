/*
 * calls_test.c - the table of larder.h (12): what each call answers while another one runs or a
 * transaction is open, from the same thread, from a callback, and from another thread.
 *
 * Calls without a callback are stopped where they flush a file or allocate memory. What waits for ever
 * ends the process by an alarm.
 */
#include "index_kit.h"
#include "lru_kit.h"
#include "stop_kit.h"
#include "store/internal.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* larder_check reports after some thousand rows. */
enum { LIMIT_SECONDS = 300, DOCUMENTS = 60, NAMES = 5000 };

#ifdef __linux__
/* In place of libc's; here and not in the kit, which crash tests link as well. */
int fdatasync(int file) {
    stop_kit_reach(STOP_KIT_FLUSH);
    return (int)syscall(SYS_fdatasync, file);
}
#endif

/* ---- the store ---- */

static char root[600], path[700];
static larder_env *env;

static void drop_log(void *context, int32_t level, const char *message) {
    (void)context;
    (void)level;
    (void)message;
}

static void open_it(uint32_t flags) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | flags;
    options.allocator = &stop_kit_allocator;
    options.log = drop_log;
    options.automatic_training = 0;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
}

static void remove_copy(const char *copy) {
    char name[1100];
    DIR *opened = opendir(copy);
    if (opened == NULL) return;
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        snprintf(name, sizeof name, "%s/%s", copy, entry->d_name);
        unlink(name);
    }
    closedir(opened);
    rmdir(copy);
}

/* ---- the calls ---- */

typedef enum call {
    READ,
    WRITE,
    COPY,
    COMPACT,
    CHECK_,
    SYNC,
    STEP,
    SWEEP,
    CLOSE,
    OPEN,
    SALVAGE,
    PAGES,
    CALLS
} call;
static const char *const call_names[CALLS] = {
    "begin_read", "begin_write", "env_copy",  "env_compact", "check",   "env_sync",
    "lru_step",   "lru_sweep",   "env_close", "env_open",    "salvage", "check_pages"};

static int32_t read_once(void) {
    const larder_txn *txn;
    larder_document document;
    int32_t status = larder_txn_begin_read(env, &txn, NULL);
    if (status != LARDER_OK) return status;
    status = larder_document_get(txn, test_text("c/001"), &document, NULL);
    larder_txn_end_read(txn);
    return status;
}

static int32_t write_once(void) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, NULL);
    if (status != LARDER_OK) return status;
    kit_put(txn, "c/001", "n=5 text='other'");
    return larder_txn_commit(txn, NULL);
}

static int32_t check_once(void) {
    const larder_txn *txn;
    larder_check_report report = {.struct_bytes = sizeof report};
    int32_t status = larder_txn_begin_read(env, &txn, NULL);
    if (status != LARDER_OK) return status;
    status = larder_check(txn, NULL, NULL, NULL, &report, NULL);
    larder_txn_end_read(txn);
    return status;
}

static int32_t copy_once(bool is_compact, larder_progress_function progress) {
    static _Atomic int number;
    char copy[800];
    snprintf(copy, sizeof copy, "%s/copy-%d", root, atomic_fetch_add(&number, 1));
    int32_t status = is_compact ? larder_env_compact(env, copy, progress, NULL, NULL)
                                : larder_env_copy(env, copy, progress, NULL, NULL);
    remove_copy(copy);
    return status;
}

static int32_t step_once(bool is_sweep) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    int32_t status = is_sweep ? larder_lru_sweep(env, 0, 0, &result, NULL)
                              : larder_lru_step(env, -1, 0, 0, &result, NULL);
    return status == LARDER_MORE ? LARDER_OK : status;
}

static int32_t make_call(call which) {
    char target[800];
    larder_env *other;
    larder_salvage_report salvaged = {.struct_bytes = sizeof salvaged};
    larder_pages_report pages = {.struct_bytes = sizeof pages};
    snprintf(target, sizeof target, "%s/salvaged", root);
    switch (which) {
    case READ:
        return read_once();
    case WRITE:
        return write_once();
    case COPY:
    case COMPACT:
        return copy_once(which == COMPACT, NULL);
    case CHECK_:
        return check_once();
    case SYNC:
        return larder_env_sync(env, NULL);
    case STEP:
    case SWEEP:
        return step_once(which == SWEEP);
    case CLOSE:
        return larder_env_close(env, NULL);
    case OPEN:
        return larder_env_open(path, NULL, &other, NULL);
    case SALVAGE:
        return larder_salvage(path, target, NULL, NULL, &salvaged, NULL);
    default:
        return larder_check_pages(path, NULL, NULL, NULL, &pages, NULL);
    }
}

/* ---- what goes on meanwhile ---- */

typedef enum state {
    IN_WRITE, /* a write transaction of this thread */
    IN_READ,  /* a read transaction */
    IN_COPY,  /* its callback; the others likewise */
    IN_COMPACT,
    IN_CHECK,         /* of a read transaction */
    IN_CHECK_WRITING, /* of a write transaction */
    BESIDE_WRITE,     /* a write transaction of another thread; the others likewise */
    BESIDE_COMMIT,
    BESIDE_STEP,
    BESIDE_SWEEP,
    BESIDE_BACKFILL,
    BESIDE_TRAIN,
    BESIDE_REPACK,
    BESIDE_SYNC,
    STATES
} state;
static const char *const state_names[STATES] = {"a write transaction",
                                                "a read transaction",
                                                "env_copy",
                                                "env_compact",
                                                "check",
                                                "check of a write transaction",
                                                "another's write transaction",
                                                "another's commit",
                                                "another's lru_step",
                                                "another's lru_sweep",
                                                "another's backfill",
                                                "another's train",
                                                "another's repack",
                                                "another's env_sync"};

typedef enum answer { OK_, BUSY, WAITS } answer;

/* The table of larder.h. */
static answer expected_of(state while_, call which) {
    bool is_own = while_ == IN_WRITE || while_ == IN_CHECK_WRITING;
    bool is_others = while_ >= BESIDE_WRITE && while_ != BESIDE_SYNC;
    switch (which) {
    case CLOSE:
        return BUSY;
    case WRITE:
    case STEP:
    case SWEEP:
        return is_own ? BUSY : is_others ? WAITS : OK_;
    case COPY:
        return is_own ? BUSY : OK_;
    default:
        return OK_;
    }
}

static int32_t status_of(call which, answer expected) {
    if (which == OPEN || which == SALVAGE) return LARDER_E_ALREADY_OPEN;
    return expected == BUSY ? LARDER_E_BUSY : LARDER_OK;
}

/* Whether two calls of write_once, lru_step or lru_sweep are in the environment. */
static bool has_waiter(void) { return atomic_load(&env->open_writes) > 1; }

typedef struct caller {
    call which;
    int32_t status;
    _Atomic bool is_done;
} caller;

static void *run_caller(void *context) {
    caller *c = context;
    c->status = make_call(c->which);
    atomic_store(&c->is_done, true);
    return NULL;
}

/* What a state calls when it is reached: every call from this thread, or from one of its own. */
static struct {
    state now;
    bool from_other_thread, is_done;
    caller waiting[CALLS]; /* one at a time */
    pthread_t threads[CALLS];
    bool is_waiting[CALLS];
} meanwhile;

static void check_call(call which) {
    /* Another thread's write transaction is this one's where this thread is another's. */
    state now = meanwhile.now;
    if (meanwhile.from_other_thread && (now == IN_WRITE || now == IN_CHECK_WRITING))
        now = BESIDE_WRITE;
    answer expected = expected_of(now, which);
    if (!meanwhile.from_other_thread) {
        if (expected == WAITS) return; /* run by another thread */
        int32_t status = make_call(which);
        CHECK_NOTE(status == status_of(which, expected), "%s during %s: %s", call_names[which],
                   state_names[meanwhile.now], larder_status_name(status));
        return;
    }
    caller *c = &meanwhile.waiting[which];
    *c = (caller){.which = which};
    REQUIRE(pthread_create(&meanwhile.threads[which], NULL, run_caller, c) == 0);
    if (expected != WAITS) {
        pthread_join(meanwhile.threads[which], NULL);
        CHECK_NOTE(c->status == status_of(which, expected), "%s on another thread during %s: %s",
                   call_names[which], state_names[meanwhile.now], larder_status_name(c->status));
        return;
    }
    while (!has_waiter())
        sched_yield();
    CHECK_NOTE(!atomic_load(&c->is_done), "%s does not wait for %s", call_names[which],
               state_names[meanwhile.now]);
    meanwhile.is_waiting[which] = true;
}

static void make_calls(void) {
    if (meanwhile.is_done) return;
    meanwhile.is_done = true;
    for (int which = 0; which < CALLS; which++)
        if (which != WRITE && which != STEP && which != SWEEP) check_call((call)which);
    check_call(WRITE); /* last: they may wait until the state ends */
    check_call(STEP);
    check_call(SWEEP);
}

static void join_waiting(void) {
    for (int which = 0; which < CALLS; which++) {
        if (!meanwhile.is_waiting[which]) continue;
        pthread_join(meanwhile.threads[which], NULL);
        CHECK_NOTE(meanwhile.waiting[which].status == LARDER_OK, "%s after %s: %s",
                   call_names[which], state_names[meanwhile.now],
                   larder_status_name(meanwhile.waiting[which].status));
    }
}

static int32_t report_progress(void *context, int64_t done, int64_t total) {
    (void)context;
    (void)done;
    (void)total;
    make_calls();
    return 0;
}

static int32_t check_with_callback(const larder_txn *txn) {
    larder_check_report report = {.struct_bytes = sizeof report};
    return larder_check(txn, NULL, report_progress, NULL, &report, &test_error);
}

/* ---- states of this thread ---- */

static void run_here(state now) {
    larder_txn *txn = NULL;
    const larder_txn *read = NULL;
    if (now == IN_WRITE || now == IN_CHECK_WRITING) txn = store_write(env);
    if (now == IN_READ || now == IN_CHECK) read = store_read(env);
    if (now == IN_WRITE) kit_put(txn, "c/003", "n=1");
    if (now == IN_WRITE || now == IN_READ) make_calls();
    if (now == IN_COPY || now == IN_COMPACT)
        CHECK_OK(copy_once(now == IN_COMPACT, report_progress));
    if (now == IN_CHECK) CHECK_OK(check_with_callback(read));
    if (now == IN_CHECK_WRITING) CHECK_OK(check_with_callback(txn));
    CHECK_NOTE(meanwhile.is_done, "%s was not reached", state_names[now]);
    if (txn != NULL) store_commit(txn);
    if (read != NULL) larder_txn_end_read(read);
    join_waiting();
}

/* ---- states of another thread ---- */

static uint32_t index_id;

static int32_t run_work(state now, stop_kit_at at) {
    larder_txn *txn;
    larder_train_result trained;
    larder_repack repack = {0};
    int64_t changed;
    if (now == BESIDE_SYNC || now == BESIDE_STEP || now == BESIDE_SWEEP) {
        lru_next_epoch(env);
        larder_lru_touch(env, test_text("c/002"), NULL); /* to be written by a step */
        stop_kit_place = at;
        return now == BESIDE_SYNC ? larder_env_sync(env, NULL) : step_once(now == BESIDE_SWEEP);
    }
    int32_t status = larder_txn_begin_write(env, &txn, NULL);
    if (status != LARDER_OK) return status;
    kit_put(txn, "c/004", "n=2");
    stop_kit_place = at;
    if (now == BESIDE_BACKFILL)
        status = larder_index_backfill(txn, index_id, 0, 0, NULL, NULL, NULL);
    if (now == BESIDE_TRAIN) status = larder_blob_train(txn, 0, 0, &trained, NULL);
    if (now == BESIDE_REPACK) status = larder_blob_repack(txn, 1000, &repack, &changed, NULL);
    if (now != BESIDE_COMMIT) stop_kit_reach(at); /* it has not allocated any */
    CHECK(status >= 0);
    return larder_txn_commit(txn, NULL);
}

typedef struct worker {
    state now;
    int32_t status;
} worker;

static void *run_worker(void *context) {
    worker *w = context;
    bool in_memory = w->now == BESIDE_BACKFILL || w->now == BESIDE_TRAIN || w->now == BESIDE_REPACK;
    w->status = run_work(w->now, in_memory ? STOP_KIT_MEMORY : STOP_KIT_FLUSH);
    return NULL;
}

static void run_beside(state now, bool closes) {
    worker w = {.now = now};
    pthread_t thread;
    stop_kit_begin();
    REQUIRE(pthread_create(&thread, NULL, run_worker, &w) == 0);
    stop_kit_wait();
    if (!closes) make_calls();
    stop_kit_go_on();
    /* Closing succeeds when the call does not need the environment any more. */
    while (closes && larder_env_close(env, NULL) == LARDER_E_BUSY)
        sched_yield();
    pthread_join(thread, NULL);
    CHECK_NOTE(w.status >= 0, "%s: %s", state_names[now], larder_status_name(w.status));
    if (!closes) join_waiting();
}

/* ---- tests ---- */

static void fill(void) {
    larder_txn *txn = store_write(env);
    char name[32];
    for (int i = 0; i < DOCUMENTS; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_put(txn, name,
                "n=7 text=x*300+'a text of some length, and another one of the same kind'");
    }
    index_id = kit_define(txn, "c", "n asc");
    larder_target target = {.struct_bytes = sizeof target, .target_id = 7};
    target.canonical_id = test_text("canonical");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "d/%05d", i);
        CHECK_OK(larder_target_add_document(txn, 7, test_text(name), &test_error));
    }
    store_commit(txn);
}

static void begin_test(uint32_t flags) {
    alarm(LIMIT_SECONDS);
    snprintf(root, sizeof root, "%s", test_directory());
    snprintf(path, sizeof path, "%s/store", root);
    open_it(flags);
    fill();
}

static void end_test(void) {
    alarm(0);
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void check_table(uint32_t flags) {
    begin_test(flags);
    for (int now = 0; now < STATES; now++)
        for (int from_other = 0; from_other < 2; from_other++) {
            memset(&meanwhile, 0, sizeof meanwhile);
            meanwhile.now = (state)now;
            meanwhile.from_other_thread = from_other == 1;
            if (now < BESIDE_WRITE)
                run_here((state)now);
            else
                run_beside((state)now, false);
        }
    CHECK_OK(check_once());
    CHECK_OK(larder_env_close(env, &test_error));
    end_test();
}

static void every_pair_answers_as_the_table_says(void) { check_table(0); }
static void so_do_those_of_a_shared_store(void) { check_table(LARDER_OPEN_SHARED); }

static void a_store_is_closed_when_no_call_needs_it(void) {
    begin_test(0);
    for (int now = BESIDE_WRITE; now < STATES; now++)
        for (int i = 0; i < 5; i++) {
            if (i + now > BESIDE_WRITE) open_it(0);
            run_beside((state)now, true);
        }
    end_test();
}

/* A transaction that is checked. */
static struct {
    larder_txn *write;
    const larder_txn *read;
    bool is_done;
} checked;

static int32_t end_checked(void *context, int64_t done, int64_t total) {
    larder_check_report report = {.struct_bytes = sizeof report};
    (void)context;
    (void)done;
    (void)total;
    if (checked.is_done) return 0;
    checked.is_done = true;
    if (checked.write != NULL) {
        CHECK_STATUS(larder_document_remove(checked.write, test_text("c/005"), NULL),
                     LARDER_E_BUSY);
        CHECK_STATUS(larder_txn_commit(checked.write, NULL), LARDER_E_BUSY);
        larder_txn_abort(checked.write); /* does nothing */
    }
    if (checked.read != NULL) larder_txn_end_read(checked.read); /* likewise */
    const larder_txn *txn = checked.write != NULL ? checked.write : checked.read;
    CHECK_OK(larder_check(txn, NULL, NULL, NULL, &report, &test_error));
    return 0;
}

static void a_transaction_is_only_read_while_it_is_checked(void) {
    begin_test(0);
    larder_check_report report = {.struct_bytes = sizeof report};
    memset(&checked, 0, sizeof checked);
    checked.write = store_write(env);
    CHECK_OK(larder_check(checked.write, NULL, end_checked, NULL, &report, &test_error));
    CHECK(checked.is_done);
    kit_remove(checked.write, "c/005");
    store_commit(checked.write);
    memset(&checked, 0, sizeof checked);
    checked.read = store_read(env);
    CHECK_OK(larder_check(checked.read, NULL, end_checked, NULL, &report, &test_error));
    CHECK(checked.is_done);
    larder_txn_end_read(checked.read);
    CHECK_OK(larder_env_close(env, &test_error));
    end_test();
}

static const test_case cases[] = {
    {"every pair answers as the table says", every_pair_answers_as_the_table_says},
    {"so do those of a shared store", so_do_those_of_a_shared_store},
    {"a store is closed when no call needs it", a_store_is_closed_when_no_call_needs_it},
    {"a transaction is only read while it is checked",
     a_transaction_is_only_read_while_it_is_checked},
};
TEST_SUITE(calls, cases);

/* full_disk.c - see full_disk.h. */
#include "full_disk.h"

#include "crash.h"
#include "fault.h"
#include "store/wal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* When a checkpoint is being written: */
typedef enum full_way {
    FULL_REFUSED, /* the disk is full, and a write was refused before the first removal */
    FULL_AT_ONCE, /* the disk is full, and the first removal meets it */
    FULL_QUOTA    /* the disk has room, and its blocks are not allocated */
} full_way;

typedef struct full {
    char path[1024];
    bool is_limit; /* by the process's file size limit */
    full_way way;
} full;

static larder_bytes text(const char *from) {
    larder_bytes bytes = {from, strlen(from)};
    return bytes;
}

/* The document big/NUMBER with content of some size. */
static int32_t put_in(larder_txn *txn, int number, size_t size, larder_error *error) {
    static uint8_t content[30000];
    mirror_random random = mirror_random_from(7, (uint64_t)number);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = mirror_random_next(&random);
        memcpy(content + i, &word, 8);
    }
    larder_builder *b;
    larder_bytes plain, bytes = {content, size};
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version.seconds = info.read_time.seconds = number + 1;
    char name[32];
    snprintf(name, sizeof name, "big/%05d", number);
    int32_t status = larder_builder_create(NULL, &b, error);
    if (status != LARDER_OK) return status;
    larder_builder_begin_map(b, NULL);
    larder_builder_name(b, text("content"), NULL);
    larder_builder_bytes(b, bytes, NULL);
    larder_builder_end_map(b, NULL);
    status = larder_builder_finish_record(b, &plain, error);
    if (status == LARDER_OK) status = larder_document_put(txn, text(name), &info, plain, error);
    larder_builder_close(b);
    return status;
}

static int32_t end(larder_txn *txn, int32_t status, larder_error *error) {
    if (status == LARDER_OK) return larder_txn_commit(txn, error);
    larder_txn_abort(txn);
    return status;
}

static int32_t put_big(larder_env *env, int number, larder_error *error) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, error);
    if (status != LARDER_OK) return status;
    return end(txn, put_in(txn, number, 30000, error), error);
}

static int64_t count_documents(larder_env *env) {
    const larder_txn *txn;
    larder_scan *scan;
    larder_document document;
    int64_t count = 0;
    int32_t status;
    if (larder_txn_begin_read(env, &txn, NULL) != LARDER_OK) return -1;
    if (larder_scan_collection(txn, text("big"), NULL, &scan, NULL) != LARDER_OK) return -1;
    while ((status = larder_scan_next(scan, &document, NULL)) == LARDER_OK)
        count++;
    larder_scan_close(scan);
    if (mirror_check(txn) != LARDER_OK) count = -1;
    larder_txn_end_read(txn);
    return status == LARDER_END ? count : -1;
}

static void must_be(bool condition, const char *what, const larder_error *error) {
    if (!condition) mirror_problem("full disk: %s (%s)", what, error->message);
}

static int fill_disk(void *context) {
    full *f = context;
    if (f->is_limit) {
        struct rlimit limit = {4 << 20, 4 << 20};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    larder_env *env;
    larder_error error = {0};
    must_be(larder_env_open(f->path, NULL, &env, &error) == LARDER_OK, "open", &error);
    if (mirror_problem_count()) return 1;
    for (int round = 0; round < 3; round++) {
        int stored = round * 1000;
        int64_t before = count_documents(env);
        int32_t status = LARDER_OK;
        int first = stored;
        while (stored - first < 900 && (status = put_big(env, stored, &error)) == LARDER_OK)
            stored++;
        printf("full disk, round %d: %d documents of 30 KB went in, then %s: %s\n", round + 1,
               stored - first, larder_status_name(status), error.message);
        must_be(status == LARDER_E_NO_SPACE, "a full disk is not E_NO_SPACE", &error);
        must_be(round > 0 || stored > first + 10, "hardly anything went in", &error);
        must_be(count_documents(env) == before + stored - first, "reads while full", &error);
        /* evicting makes room: a page or two must be free for that */
        larder_lru_result result = {.struct_bytes = sizeof result};
        int64_t evicted = 0;
        do {
            result.struct_bytes = sizeof result;
            status = larder_lru_step(env, 1 << 20, 20, 0, &result, &error);
            evicted += result.evicted_count;
        } while (status == LARDER_MORE && result.evicted_count > 0);
        printf("full disk, round %d: evicting gives %s, %lld documents gone\n", round + 1,
               larder_status_name(status), (long long)evicted);
        must_be(status >= 0, "evicting on a full disk", &error);
        must_be(put_big(env, stored + 50, &error) == LARDER_OK, "writing after that", &error);
        if (mirror_problem_count()) return 1;
    }
    int64_t count = count_documents(env);
    must_be(larder_env_close(env, &error) == LARDER_OK, "close", &error);
    must_be(larder_env_open(f->path, NULL, &env, &error) == LARDER_OK, "open again", &error);
    if (mirror_problem_count()) return 1;
    must_be(count_documents(env) == count && count > 0, "documents after opening again", &error);
    must_be(larder_env_close(env, &error) == LARDER_OK, "close again", &error);
    return mirror_problem_count() > 0;
}

/* ---- removals while a checkpoint is written ---- */

enum { DOCUMENTS = 3000, CONTENT = 160, HELD_CHECKPOINT = 8 };

/* Some documents in one commit: from number first on, some apart. */
static int32_t put_small(larder_env *env, int first, int count, int step, larder_error *error) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, error);
    if (status != LARDER_OK) return status;
    for (int i = 0; i < count && status == LARDER_OK; i++)
        status = put_in(txn, first + i * step, CONTENT, error);
    return end(txn, status, error);
}

static int32_t remove_one(larder_env *env, int number, larder_error *error) {
    char name[32];
    larder_txn *txn;
    snprintf(name, sizeof name, "big/%05d", number);
    int32_t status = larder_txn_begin_write(env, &txn, error);
    if (status != LARDER_OK) return status;
    return end(txn, larder_document_remove(txn, text(name), error), error);
}

static bool fill_rest(const full *f) {
    static const char block[4096];
    char path[1100];
    snprintf(path, sizeof path, "%s-filler", f->path);
    int file = open(path, O_WRONLY | O_CREAT, 0644);
    while (file >= 0 && write(file, block, sizeof block) == (ssize_t)sizeof block)
        continue;
    return file >= 0 && close(file) == 0;
}

/* The thread of a checkpoint is held before its first step. A commit then replaces so many pages that
 * they are pinned until the checkpoint is written, and the disk becomes full: nothing that is removed
 * makes room. The next write has to wait for the checkpoint, and this releases its thread. The
 * pinned pages are in LMDB's table of free ones, more than the reserve for removals. */
static int remove_beside_checkpoint(void *context) {
    full *f = context;
    fault_arm *arm = (fault_arm *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_arm");
    fault_enter *enter = (fault_enter *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_enter");
    fault_holds *holds = (fault_holds *)(uintptr_t)dlsym(RTLD_DEFAULT, "shim_fault_holds");
    larder_env *env;
    larder_error error = {0};
    must_be(larder_env_open(f->path, NULL, &env, &error) == LARDER_OK, "open", &error);
    if (mirror_problem_count()) return 1;
    int32_t status = put_small(env, 0, DOCUMENTS, 1, &error);
    arm(FAULT_THREAD, HELD_CHECKPOINT, FAULT_HOLD, 0); /* the log has grown by then */
    enter(1);
    for (int i = 0; i < 20000 && status == LARDER_OK && !holds(); i++) {
        larder__wal_wait(env); /* for those before */
        status = put_small(env, i % DOCUMENTS, 1, 1, &error);
    }
    enter(0);
    arm(0, 0, 0, 0);
    must_be(status == LARDER_OK && holds(), "no checkpoint is held", &error);
    status = put_small(env, 0, DOCUMENTS / 15, 15, &error);
    must_be(status == LARDER_OK && holds(), "a commit beside the checkpoint", &error);
    must_be(f->way == FULL_QUOTA || fill_rest(f), "the rest of the disk", &error);
    int count = DOCUMENTS;
    if (f->way == FULL_REFUSED) {
        while (count < 2 * DOCUMENTS && (status = put_small(env, count, 1, 1, &error)) == LARDER_OK)
            count++;
        must_be(status == LARDER_E_NO_SPACE, "a full disk is not E_NO_SPACE", &error);
    } else if (f->way == FULL_QUOTA) {
        arm(FAULT_ALLOCATE, 1, EDQUOT, 1);
        enter(1);
    }
    if (mirror_problem_count()) return 1;
    status = remove_one(env, 0, &error);
    must_be(!holds(), "the write did not wait for the checkpoint", &error);
    int removed = status == LARDER_OK;
    while (removed > 0 && removed < count &&
           (status = remove_one(env, removed, &error)) == LARDER_OK)
        removed++;
    printf("full disk, a checkpoint is being written: %d of %d documents removed, then %s\n",
           removed, count, larder_status_name(status));
    must_be(status == LARDER_OK, "a removal while a checkpoint is written", &error);
    enter(0);
    must_be(put_small(env, 0, 1, 1, &error) == LARDER_OK, "writing after that", &error);
    must_be(count_documents(env) == 1, "documents after that", &error);
    must_be(larder_env_close(env, &error) == LARDER_OK, "close", &error);
    return mirror_problem_count() > 0;
}

/* ---- running ---- */

static void report(const char *what, int result) {
    if (result == 0)
        crash_pass();
    else
        crash_fail("%s: %s %d", what, result < 0 ? "signal" : "exit status",
                   result < 0 ? -1 - result : result);
}

void full_disk_run(const char *directory) {
    full f = {.is_limit = false};
    char point[900];
    snprintf(point, sizeof point, "%s/full", directory);
    mkdir(point, 0755);
    bool is_mounted = mount("tmpfs", point, "tmpfs", 0, "size=4m") == 0;
    f.is_limit = !is_mounted;
    printf("full disk: %s\n", is_mounted ? "a tmpfs of 4 MiB" : "a file size limit of 4 MiB");
    snprintf(f.path, sizeof f.path, "%s/store", point);
    report("full disk", crash_child(fill_disk, &f, 60));
    if (!is_mounted) return; /* another file cannot take the rest of a limit */
    static const char *const ways[] = {"full, a write refused", "full at once", "full by a quota"};
    for (int i = 0; i < 3; i++) {
        char what[100];
        f.way = (full_way)i;
        umount(point);
        if (mount("tmpfs", point, "tmpfs", 0, "size=32m") != 0) return;
        snprintf(what, sizeof what, "disk %s, removals while a checkpoint is written", ways[i]);
        report(what, crash_child(remove_beside_checkpoint, &f, 60));
    }
    umount(point);
}

/* full_disk.c - see full_disk.h. */
#include "full_disk.h"

#include "crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

typedef struct full {
    char path[1024];
    bool is_limit; /* by the process's file size limit */
} full;

static larder_bytes text(const char *from) {
    larder_bytes bytes = {from, strlen(from)};
    return bytes;
}

static int32_t put_big(larder_env *env, int number, larder_error *error) {
    static uint8_t content[30000];
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, error);
    if (status != LARDER_OK) return status;
    mirror_random random = mirror_random_from(7, (uint64_t)number);
    for (size_t i = 0; i < sizeof content; i += 8) {
        uint64_t word = mirror_random_next(&random);
        memcpy(content + i, &word, 8);
    }
    larder_builder *b;
    larder_bytes plain, bytes = {content, sizeof content};
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version.seconds = info.read_time.seconds = number + 1;
    char name[32];
    snprintf(name, sizeof name, "big/%05d", number);
    status = larder_builder_create(NULL, &b, error);
    if (status == LARDER_OK) {
        larder_builder_begin_map(b, NULL);
        larder_builder_name(b, text("content"), NULL);
        larder_builder_bytes(b, bytes, NULL);
        larder_builder_end_map(b, NULL);
        status = larder_builder_finish_record(b, &plain, error);
        if (status == LARDER_OK) status = larder_document_put(txn, text(name), &info, plain, error);
        larder_builder_close(b);
    }
    if (status == LARDER_OK) return larder_txn_commit(txn, error);
    larder_txn_abort(txn);
    return status;
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

void full_disk_run(const char *directory) {
    full f = {.is_limit = false};
    char point[900];
    snprintf(point, sizeof point, "%s/full", directory);
    mkdir(point, 0755);
    bool is_mounted = mount("tmpfs", point, "tmpfs", 0, "size=4m") == 0;
    f.is_limit = !is_mounted;
    printf("full disk: %s\n", is_mounted ? "a tmpfs of 4 MiB" : "a file size limit of 4 MiB");
    snprintf(f.path, sizeof f.path, "%s/store", point);
    int result = crash_child(fill_disk, &f, 60);
    if (is_mounted) umount(point);
    if (result == 0)
        crash_pass();
    else
        crash_fail("full disk: %s %d", result < 0 ? "signal" : "exit status",
                   result < 0 ? -1 - result : result);
}

/*
 * powercut_test.c - what is left of a store when the power fails at any moment.
 *
 *     powercut_test [--images 2000] [--seed S] [--dir D]
 *     powercut_test --ignore-sync log|header|map|directory ...
 *     powercut_test --only-bad ...
 *
 * A workload runs under shim_trace.so, which records every write and sync of the store's files
 * and the workload's acknowledgements in their order (trace.h). From that record the test makes
 * images of the disk as a power cut at a random point could have left it: all that was synced
 * before the cut, and of the rest a random part: dropped, kept, kept out of order, torn at
 * sectors of 512 bytes or pages of 4 KiB. Directed images tear writes to the log and to the two
 * meta pages at each sector.
 *
 * Each image is opened in a child process. The store must open; must be at the last
 * acknowledged commit or the one after it (with LAST_COMMIT_AT_RISK also at the one before,
 * unless larder_env_sync came later); must equal the mirror at that commit; larder_check must
 * be clean; and it must take a further commit.
 *
 * --ignore-sync makes the images as if the calls of one class had not been there: those of a
 * commit's record in the log, of the log's header, of the map, of a directory. The test must then
 * fail, and at the end of a normal run it is tried that it does. With --only-bad it succeeds when
 * an image is bad: programs whose core lacks one step of recovery are run so (the Makefile's
 * mutants).
 */
#include "crash.h"
#include "cut_disk.h"
#include "store/wal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TRACES = 10, /* half of them in each durability mode */
    COMMITS = 40,
    DIRECTED_AT_MOST = 60, /* of a trace */
    ROUNDS_AT_MOST = 20,
    LIMIT_SECONDS = 120
};

/* ---- the workload ---- */

/* Many checkpoints, pins, and commits that do not fit; or small commits, whose records have the
 * images of the pages that they replace. */
static bool has_large_log(long trace) { return trace / 2 % 2 == 1; }

/* Records that are written to the log in parts. */
static bool has_parts(long trace) { return trace >= TRACES / 2; }

static mirror_profile profile_of(uint64_t seed, long trace) {
    mirror_profile profile = {.seed = seed + (uint64_t)trace,
                              .operations = has_large_log(trace) ? 3 : 10};
    profile.large = profile.lenient = trace % 5 == 4;
    return profile;
}

static int run_workload(const char *path, uint64_t seed, long trace) {
    void (*mark)(uint64_t) = (void (*)(uint64_t))(uintptr_t)dlsym(RTLD_DEFAULT, "shim_trace_mark");
    if (!mark) return 3;
    mirror_profile profile = profile_of(seed, trace);
    mirror_random random = mirror_random_from(seed, 500 + (uint64_t)trace);
    mirror *m = mirror_create();
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.durability =
        trace % 2 ? LARDER_DURABILITY_LAST_COMMIT_AT_RISK : LARDER_DURABILITY_EVERY_COMMIT;
    if (profile.lenient) options.budget_bytes = LARDER_BUDGET_MIN_BYTES;
    options.log_bytes = has_large_log(trace) ? 1 << 20 : 65536;
    uint64_t image_count = 0, part_count = 0;
    larder_env *env;
    larder_error error;
    if (larder_env_open(path, &options, &env, &error) != LARDER_OK) goto failed;
    while (m->sequence < COMMITS) {
        larder_txn *txn;
        if (has_parts(trace)) env->wal->part_bytes = LARDER__WAL_BLOCK;
        if (larder_txn_begin_write(env, &txn, &error) != LARDER_OK) goto failed;
        mirror_commit(m, txn, &profile, NULL);
        if (larder_txn_commit(txn, &error) != LARDER_OK) goto failed;
        mark(m->sequence);
        if (mirror_random_below(&random, 8) == 0) {
            if (larder_env_sync(env, &error) != LARDER_OK) goto failed;
            mark(m->sequence | SYNCED_MARK);
        }
        if (mirror_random_below(&random, 10) == 0) { /* a new file size, stale pages, ... */
            image_count += env->wal->image_count;
            part_count += env->wal->part_count;
            if (larder_env_close(env, &error) != LARDER_OK) goto failed;
            if (larder_env_open(path, &options, &env, &error) != LARDER_OK) goto failed;
        }
    }
    image_count += env->wal->image_count;
    part_count += env->wal->part_count;
    if (larder_env_close(env, &error) != LARDER_OK) goto failed;
    if (has_large_log(trace) && image_count == 0) mirror_problem("no image of a page was needed");
    if (has_parts(trace) && part_count == 0) mirror_problem("no record was large");
    return mirror_problem_count() > 0;
failed:
    fprintf(stderr, "workload: %s\n", error.message);
    return 2;
}

/* ---- one workload ---- */

typedef struct trace {
    recording records;
    mirror *states[COMMITS + 1];
    mirror_profile profile;
    bool at_risk;
} trace;

static trace *load_trace(const char *path, uint64_t seed, long number) {
    trace *t = crash_must(calloc(1, sizeof *t));
    t->records = recording_load(path);
    t->profile = profile_of(seed, number);
    t->at_risk = number % 2;
    mirror *m = mirror_create();
    for (int i = 0; i <= COMMITS; i++) {
        if (i > 0) mirror_commit(m, NULL, &t->profile, NULL);
        t->states[i] = mirror_clone(m);
    }
    mirror_free(m);
    return t;
}

static void free_trace(trace *t) {
    for (int i = 0; i <= COMMITS; i++)
        mirror_free(t->states[i]);
    recording_free(&t->records);
    free(t);
}

static const char *const class_names[SYNC_CLASSES] = {"", "log", "header", "map", "directory"};
static sync_class ignored = SYNC_NONE;
static bool only_bad; /* bad images are wanted */

/* ---- one image ---- */

typedef struct image {
    const char *path; /* of the store */
    const trace *t;
    uint64_t least, most; /* sequence numbers it may be at */
} image;

static int open_image(void *context) {
    const image *im = context;
    larder_env *env;
    larder_error error;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    int32_t status = larder_env_open(im->path, &options, &env, &error);
    if (status != LARDER_OK) {
        mirror_problem("open: %s: %s", larder_status_name(status), error.message);
        return 1;
    }
    const larder_txn *read;
    if (larder_txn_begin_read(env, &read, &error) != LARDER_OK) {
        mirror_problem("begin_read: %s", error.message);
        return 1;
    }
    int64_t stored = mirror_stored_sequence(read);
    if (stored < (int64_t)im->least || stored > (int64_t)im->most) {
        mirror_problem("the store is at commit %lld, not at %llu to %llu", (long long)stored,
                       (unsigned long long)im->least, (unsigned long long)im->most);
        return 1;
    }
    mirror *m = mirror_clone(im->t->states[stored]);
    if (im->t->profile.lenient) mirror_reconcile(m, read);
    mirror_verify(m, read, NULL);
    mirror_check(read);
    larder_txn_end_read(read);
    if (mirror_problem_count() > 0) return 1;
    /* it goes on from here */
    larder_txn *write;
    status = larder_txn_begin_write(env, &write, &error);
    if (status == LARDER_OK) {
        mirror_commit(m, write, &im->t->profile, NULL);
        status = larder_txn_commit(write, &error);
    }
    if (status == LARDER_OK) status = larder_txn_begin_read(env, &read, &error);
    if (status == LARDER_OK) {
        mirror_check(read);
        larder_txn_end_read(read);
    }
    if (status == LARDER_OK) status = larder_env_close(env, &error);
    if (status != LARDER_OK) mirror_problem("writing: %s", error.message);
    return mirror_problem_count() > 0;
}

/* Writes the files of the disk below root and opens the store there. */
static bool try_image(const cut_disk *d, const trace *t, const char *traced, const char *root,
                      const char *what, size_t cut) {
    char path[2048];
    snprintf(path, sizeof path, "%s/store", root);
    crash_remove_tree(path);
    bool has_store = false; /* the directory itself may be missing */
    for (int i = 0; i < d->directory_count; i++)
        if (d->directory_is_synced[i]) {
            mkdir(path, 0755);
            has_store = true;
        }
    for (int i = 0; i < d->file_count && has_store; i++) {
        const cut_disk_file *file = &d->files[i];
        if (!file->entry_is_synced) continue;
        snprintf(path, sizeof path, "%s%s", root, file->path + strlen(traced));
        int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        size_t done = 0;
        while (out >= 0 && done < file->size_bytes) {
            ssize_t n = write(out, file->bytes + done, file->size_bytes - done);
            if (n <= 0) break;
            done += (size_t)n;
        }
        if (out < 0 || done < file->size_bytes) {
            perror(path);
            exit(3);
        }
        close(out);
    }
    snprintf(path, sizeof path, "%s/store", root);
    image im = {.path = path, .t = t, .most = d->acknowledged + 1, .least = d->acknowledged};
    if (im.most > COMMITS) im.most = COMMITS;
    if (t->at_risk && im.least > 0) im.least--;
    if (im.least < d->synced) im.least = d->synced;
    int result = crash_child(open_image, &im, LIMIT_SECONDS);
    if (result == 0) return true;
    if (ignored == SYNC_NONE && !only_bad)
        crash_fail("%s, cut at record %zu of %zu, %llu commits acknowledged: %s %d", what, cut,
                   t->records.count, (unsigned long long)d->acknowledged,
                   result < 0 ? "signal" : "differences, exit status",
                   result < 0 ? -1 - result : result);
    return false;
}

/* ---- all images of a trace ---- */

typedef struct tally {
    long images, bad;
} tally;

static int by_size(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void count(tally *total, bool good) {
    total->images++;
    total->bad += !good;
    if (good && ignored == SYNC_NONE) crash_pass();
}

/* Some of the writes to meta pages and to the log, torn at each sector, either part kept. */
static void torn_images(const trace *t, const char *traced, const char *root, long limit,
                        tally *total, mirror_random *random) {
    cut_disk *d = cut_disk_create(ignored);
    long made = 0;
    for (size_t r = 0; r < t->records.count && made < limit; r++) {
        trace_record head = recording_head(&t->records, r);
        bool is_log = head.kind == TRACE_WRITE && strstr(d->files[head.file - 1].path, ".wal");
        bool is_meta = head.kind == TRACE_WRITE && head.offset < 2 * CUT_DISK_PAGE;
        is_meta = (is_log || is_meta) && mirror_random_below(random, 4) == 0;
        for (uint64_t at = head.offset; is_meta && made < limit;) {
            cut_disk *torn = cut_disk_clone(d);
            cut_disk_file *file = &torn->files[head.file - 1];
            bool keeps_front = mirror_random_below(random, 2);
            uint64_t end = head.offset + head.size_bytes;
            if (keeps_front)
                cut_disk_apply(file, head.offset, recording_content(&t->records, r),
                               at - head.offset);
            else
                cut_disk_apply(file, at, recording_content(&t->records, r) + (at - head.offset),
                               end - at);
            cut_disk_keep_entries(torn, random);
            count(total, try_image(torn, t, traced, root, "torn write", r));
            cut_disk_free(torn);
            made++;
            if (at == end) break;
            at = (at / CUT_DISK_SECTOR + 1) * CUT_DISK_SECTOR;
            if (at > end) at = end;
        }
        cut_disk_advance(d, &t->records, r);
    }
    cut_disk_free(d);
}

static void random_images(const trace *t, const char *traced, const char *root, long images,
                          tally *total, mirror_random *random) {
    size_t *cuts = crash_must(malloc((size_t)images * sizeof *cuts));
    for (long i = 0; i < images; i++)
        cuts[i] = (size_t)mirror_random_below(random, t->records.count + 1);
    qsort(cuts, (size_t)images, sizeof *cuts, by_size);
    cut_disk *d = cut_disk_create(ignored);
    size_t at = 0;
    for (long i = 0; i < images; i++) {
        while (at < cuts[i])
            cut_disk_advance(d, &t->records, at++);
        cut_disk *left = cut_disk_clone(d);
        cut_disk_lose_power(left, &t->records, random);
        count(total, try_image(left, t, traced, root, "image", cuts[i]));
        cut_disk_free(left);
    }
    cut_disk_free(d);
    free(cuts);
}

/* Runs the workload as this program again, with the shim. */
static bool record_workload(const char *traced, const char *file, uint64_t seed, long number) {
    char text[64], trace_text[64];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    snprintf(trace_text, sizeof trace_text, "%ld", number);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char store[2048];
        snprintf(store, sizeof store, "%s/store", traced);
        setenv(TRACE_FILE_VARIABLE, file, 1);
        setenv(TRACE_PREFIX_VARIABLE, traced, 1);
        char *arguments[] = {"powercut_test", "--workload", store, "--seed", text,
                             "--trace",       trace_text,   NULL};
        crash_preload(arguments, "shim_trace.so");
        _exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Traces first .. before end, with so many images in all. */
static tally run(const char *directory, uint64_t seed, long images, long first, long step,
                 bool directed) {
    tally total = {0, 0};
    char traced[1024], file[1024], root[1024];
    snprintf(traced, sizeof traced, "%s/traced", directory);
    snprintf(file, sizeof file, "%s/trace", directory);
    snprintf(root, sizeof root, "%s/image", directory);
    long traces = (TRACES - first + step - 1) / step;
    for (long number = first, done = 0; number < TRACES; number += step, done++) {
        crash_remove_tree(traced);
        crash_remove_tree(root);
        unlink(file);
        mkdir(traced, 0755);
        mkdir(root, 0755);
        if (!record_workload(traced, file, seed, number)) {
            crash_fail("workload %ld", number);
            continue;
        }
        trace *t = load_trace(file, seed, number);
        mirror_random random = mirror_random_from(seed, 900 + (uint64_t)number);
        long share = images * (done + 1) / traces - images * done / traces;
        long before = total.images;
        if (directed)
            torn_images(t, traced, root,
                        share / 2 < DIRECTED_AT_MOST ? share / 2 : DIRECTED_AT_MOST, &total,
                        &random);
        random_images(t, traced, root, share - (total.images - before), &total, &random);
        free_trace(t);
    }
    return total;
}

/* Runs with new seeds until an image is bad: whether one is depends on where the random cuts lie. */
static tally run_until_bad(const char *directory, uint64_t seed, long images, long step,
                           bool directed) {
    tally total = {0, 0};
    for (uint64_t round = 0; round < ROUNDS_AT_MOST && total.bad == 0; round++) {
        tally more = run(directory, seed + round, images, 0, step, directed);
        total.images += more.images;
        total.bad += more.bad;
    }
    return total;
}

int main(int argc, char **argv) {
    const char *workload = crash_option(argc, argv, "workload", NULL);
    if (workload)
        return run_workload(workload, strtoull(crash_option(argc, argv, "seed", "0"), NULL, 0),
                            crash_number(argc, argv, "trace", 0));
    long images = crash_number(argc, argv, "images", 2000);
    uint64_t seed = crash_seed(argc, argv);
    const char *directory = crash_directory(argc, argv, true);
    const char *chosen = crash_option(argc, argv, "ignore-sync", NULL);
    if (chosen) {
        for (int i = 1; i < SYNC_CLASSES; i++)
            if (strcmp(chosen, class_names[i]) == 0) ignored = (sync_class)i;
        tally total = run(directory, seed, images, 0, 2, false);
        printf("without the %s syncs %ld of %ld images are bad\n", chosen, total.bad, total.images);
        return total.bad > 0;
    }
    if (crash_flag(argc, argv, "only-bad")) {
        only_bad = true;
        tally total = run_until_bad(directory, seed, images, 2, true);
        printf("%ld of %ld images are bad\n", total.bad, total.images);
        return total.bad == 0;
    }
    tally total = run(directory, seed, images, 0, 1, true);
    printf("%ld images of %d workloads, %ld bad\n", total.images, TRACES, total.bad);
    /* the test itself: without any one class of syncs it must find bad images */
    int quiet = open("/dev/null", O_WRONLY), errors = dup(2);
    for (int i = 1; i < SYNC_CLASSES; i++) {
        fflush(stderr);
        dup2(quiet, 2);
        ignored = (sync_class)i;
        long share = images < 400 ? images / 2 : 200;
        tally without = run_until_bad(directory, seed + 1, share, 4, false);
        ignored = SYNC_NONE;
        dup2(errors, 2);
        printf("without the %s syncs %ld of %ld images are bad\n", class_names[i], without.bad,
               without.images);
        if (without.bad > 0)
            crash_pass();
        else
            crash_fail("the test does not notice that the %s syncs are missing", class_names[i]);
    }
    return crash_finish();
}

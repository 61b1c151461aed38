/*
 * powercut_test.c - what is left of a store when the power fails at any moment.
 *
 *     powercut_test [--images 2000] [--seed S] [--dir D]
 *     powercut_test --ignore-sync data|meta|directory ...
 *
 * A workload runs under shim_trace.so, which records every write and sync of the store's files
 * and the workload's acknowledgements in their order (trace.h). From that record the test makes
 * images of the disk as a power cut at a random point could have left it: all that was synced
 * before the cut, and of the rest a random part: dropped, kept, kept out of order, torn at
 * sectors of 512 bytes or pages of 4 KiB. Directed images tear each write to the two meta pages
 * at each sector.
 *
 * Each image is opened in a child process. The store must open; must be at the last
 * acknowledged commit or the one after it (with LAST_COMMIT_AT_RISK also at the one before,
 * unless larder_env_sync came later); must equal the mirror at that commit; larder_check must
 * be clean; and it must take a further commit.
 *
 * --ignore-sync makes the images as if the calls of one class had not been there. The test must
 * then fail, and at the end of a normal run it is tried that it does.
 */
#include "crash.h"
#include "trace.h"

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
    FILES = 16,
    SECTOR = 512,
    PAGE = 4096,
    DIRECTED_AT_MOST = 60, /* of a trace */
    LIMIT_SECONDS = 60
};

/* What a MARK says: the sequence number, and in the top bit that larder_env_sync covered it. */
#define SYNCED_MARK (UINT64_C(1) << 63)

/* ---- the workload ---- */

static mirror_profile profile_of(uint64_t seed, long trace) {
    mirror_profile profile = {.seed = seed + (uint64_t)trace, .operations = 10};
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
    larder_env *env;
    larder_error error;
    if (larder_env_open(path, &options, &env, &error) != LARDER_OK) goto failed;
    while (m->sequence < COMMITS) {
        larder_txn *txn;
        if (larder_txn_begin_write(env, &txn, &error) != LARDER_OK) goto failed;
        mirror_commit(m, txn, &profile, NULL);
        if (larder_txn_commit(txn, &error) != LARDER_OK) goto failed;
        mark(m->sequence);
        if (mirror_random_below(&random, 8) == 0) {
            if (larder_env_sync(env, &error) != LARDER_OK) goto failed;
            mark(m->sequence | SYNCED_MARK);
        }
        if (mirror_random_below(&random, 10) == 0) { /* a new file size, stale pages, ... */
            if (larder_env_close(env, &error) != LARDER_OK) goto failed;
            if (larder_env_open(path, &options, &env, &error) != LARDER_OK) goto failed;
        }
    }
    if (larder_env_close(env, &error) != LARDER_OK) goto failed;
    return mirror_problem_count() > 0;
failed:
    fprintf(stderr, "workload: %s\n", error.message);
    return 2;
}

/* ---- the record of one workload ---- */

typedef struct trace {
    uint8_t *bytes;
    size_t size_bytes;
    size_t *records; /* where each begins */
    size_t count;
    mirror *states[COMMITS + 1];
    mirror_profile profile;
    bool at_risk;
} trace;

static trace_record head_at(const trace *t, size_t record) {
    trace_record head;
    memcpy(&head, t->bytes + t->records[record], sizeof head);
    return head;
}
static const uint8_t *content_at(const trace *t, size_t record) {
    return t->bytes + t->records[record] + sizeof(trace_record);
}

static void *must(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "out of memory\n");
    exit(3);
}

static trace *load_trace(const char *path, uint64_t seed, long number) {
    trace *t = must(calloc(1, sizeof *t));
    struct stat info;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info) != 0) {
        perror(path);
        exit(3);
    }
    t->bytes = must(malloc((size_t)info.st_size + 1));
    while (t->size_bytes < (size_t)info.st_size) {
        ssize_t n = read(file, t->bytes + t->size_bytes, (size_t)info.st_size - t->size_bytes);
        if (n <= 0) break;
        t->size_bytes += (size_t)n;
    }
    close(file);
    size_t capacity = 1024;
    t->records = must(malloc(capacity * sizeof *t->records));
    for (size_t at = 0; at + sizeof(trace_record) <= t->size_bytes;) {
        if (t->count == capacity)
            t->records = must(realloc(t->records, (capacity *= 2) * sizeof *t->records));
        t->records[t->count++] = at;
        at += sizeof(trace_record) + head_at(t, t->count - 1).size_bytes;
    }
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
    free(t->records);
    free(t->bytes);
    free(t);
}

/* ---- the disk at a cut ---- */

typedef enum sync_class { SYNC_NONE, SYNC_DATA, SYNC_META, SYNC_DIRECTORY } sync_class;
static sync_class ignored = SYNC_NONE;

typedef struct disk_file {
    char path[1024];
    bool entry_is_synced;
    uint8_t *bytes; /* what is on disk for certain */
    size_t size_bytes, capacity;
} disk_file;

typedef struct disk {
    disk_file files[FILES];
    int file_count;
    char directories[FILES][1024];
    bool directory_is_synced[FILES];
    int directory_count;
    size_t *pending; /* records of writes and truncations that are not on disk */
    size_t pending_count, pending_capacity;
    uint64_t acknowledged, synced; /* sequence numbers */
} disk;

static void grow(disk_file *file, size_t size) {
    if (size > file->capacity) {
        file->capacity = size * 2;
        file->bytes = must(realloc(file->bytes, file->capacity));
    }
    if (size > file->size_bytes) {
        memset(file->bytes + file->size_bytes, 0, size - file->size_bytes);
        file->size_bytes = size;
    }
}

static void apply(disk_file *file, uint64_t offset, const uint8_t *content, size_t size) {
    grow(file, (size_t)offset + size);
    memcpy(file->bytes + offset, content, size);
}

static void apply_record(disk_file *file, const trace *t, size_t record) {
    trace_record head = head_at(t, record);
    if (head.kind == TRACE_WRITE)
        apply(file, head.offset, content_at(t, record), head.size_bytes);
    else if (head.offset < file->size_bytes)
        file->size_bytes = head.offset;
    else
        grow(file, head.offset);
}

/* Puts pending records of a file on disk: all, or only the newest. */
static void flush(disk *d, const trace *t, uint32_t file, bool newest_only) {
    size_t kept = 0, newest = SIZE_MAX;
    for (size_t i = 0; i < d->pending_count; i++)
        if (head_at(t, d->pending[i]).file == file) newest = i;
    for (size_t i = 0; i < d->pending_count; i++) {
        bool is_flushed = head_at(t, d->pending[i]).file == file && (!newest_only || i == newest);
        if (is_flushed)
            apply_record(&d->files[file - 1], t, d->pending[i]);
        else
            d->pending[kept++] = d->pending[i];
    }
    d->pending_count = kept;
}

static void path_of(const trace *t, size_t record, char *path, size_t capacity) {
    trace_record head = head_at(t, record);
    size_t size = head.size_bytes < capacity ? head.size_bytes : capacity - 1;
    memcpy(path, content_at(t, record), size);
    path[size] = 0;
}

static bool is_in(const char *path, const char *directory) {
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/')
        size--;
    return strncmp(path, directory, size) == 0 && path[size] == '/' &&
           !strchr(path + size + 1, '/');
}

static void advance(disk *d, const trace *t, size_t record) {
    trace_record head = head_at(t, record);
    char path[1024];
    switch (head.kind) {
    case TRACE_CREATE:
        if (d->file_count == FILES || head.file != (uint32_t)d->file_count + 1) abort();
        path_of(t, record, d->files[d->file_count++].path, sizeof d->files[0].path);
        break;
    case TRACE_DIRECTORY:
        if (d->directory_count == FILES) abort();
        path_of(t, record, d->directories[d->directory_count++], sizeof d->directories[0]);
        break;
    case TRACE_WRITE:
    case TRACE_TRUNCATE:
        if (d->pending_count == d->pending_capacity) {
            d->pending_capacity = d->pending_capacity ? d->pending_capacity * 2 : 256;
            d->pending = must(realloc(d->pending, d->pending_capacity * sizeof *d->pending));
        }
        d->pending[d->pending_count++] = record;
        break;
    case TRACE_SYNC:
        if (ignored != SYNC_DATA) flush(d, t, head.file, false);
        break;
    case TRACE_SYNC_WRITE:
        if (ignored != SYNC_META) flush(d, t, head.file, true);
        break;
    case TRACE_SYNC_DIRECTORY:
        if (ignored == SYNC_DIRECTORY) break;
        path_of(t, record, path, sizeof path);
        for (int i = 0; i < d->file_count; i++)
            if (is_in(d->files[i].path, path)) d->files[i].entry_is_synced = true;
        for (int i = 0; i < d->directory_count; i++)
            if (is_in(d->directories[i], path)) d->directory_is_synced[i] = true;
        break;
    case TRACE_MARK:
        if (head.offset & SYNCED_MARK)
            d->synced = head.offset & ~SYNCED_MARK;
        else
            d->acknowledged = head.offset;
        break;
    default:
        fprintf(stderr, "the workload removed or renamed files, which the test cannot do\n");
        exit(3);
    }
}

static disk *disk_create(void) { return must(calloc(1, sizeof(disk))); }
static void disk_free(disk *d) {
    for (int i = 0; i < FILES; i++)
        free(d->files[i].bytes);
    free(d->pending);
    free(d);
}
static disk *disk_clone(const disk *from) {
    disk *d = must(malloc(sizeof *d));
    memcpy(d, from, sizeof *d);
    for (int i = 0; i < d->file_count; i++) {
        d->files[i].capacity = d->files[i].size_bytes;
        d->files[i].bytes = must(malloc(d->files[i].size_bytes + 1));
        if (d->files[i].size_bytes)
            memcpy(d->files[i].bytes, from->files[i].bytes, d->files[i].size_bytes);
    }
    d->pending = must(malloc((d->pending_count + 1) * sizeof *d->pending));
    if (d->pending_count) memcpy(d->pending, from->pending, d->pending_count * sizeof *d->pending);
    return d;
}

/* ---- what of the pending writes the cut left ---- */

/* Pieces of a write, of unit bytes at aligned offsets, each kept or not. */
static void apply_torn(disk_file *file, const trace *t, size_t record, uint64_t unit,
                       mirror_random *random) {
    trace_record head = head_at(t, record);
    if (head.kind != TRACE_WRITE) return;
    const uint8_t *content = content_at(t, record);
    uint64_t at = head.offset, end = head.offset + head.size_bytes;
    while (at < end) {
        uint64_t stop = (at / unit + 1) * unit;
        if (stop > end) stop = end;
        if (mirror_random_below(random, 2))
            apply(file, at, content + (at - head.offset), stop - at);
        at = stop;
    }
}

static void lose_power(disk *d, const trace *t, mirror_random *random) {
    uint64_t manner = mirror_random_below(random, 8);
    size_t prefix = (size_t)mirror_random_below(random, d->pending_count + 1);
    for (size_t i = 0; i < d->pending_count; i++) {
        trace_record head = head_at(t, d->pending[i]);
        disk_file *file = &d->files[head.file - 1];
        uint64_t chance = mirror_random_below(random, 10);
        switch (manner) {
        case 0:
            break; /* nothing of it reached the disk */
        case 1:
            apply_record(file, t, d->pending[i]);
            break; /* all of it */
        case 2:    /* in order, the last one torn */
            if (i < prefix)
                apply_record(file, t, d->pending[i]);
            else if (i == prefix)
                apply_torn(file, t, d->pending[i], SECTOR, random);
            break;
        case 3: /* the other way about: the last ones only */
            if (i >= prefix) apply_record(file, t, d->pending[i]);
            break;
        default:
            if (chance < 4)
                apply_record(file, t, d->pending[i]);
            else if (chance < 6)
                apply_torn(file, t, d->pending[i], SECTOR, random);
            else if (chance < 8)
                apply_torn(file, t, d->pending[i], PAGE, random);
        }
    }
    /* entries of directories that were not synced may be missing */
    for (int i = 0; i < d->file_count; i++)
        d->files[i].entry_is_synced |= mirror_random_below(random, 2);
    for (int i = 0; i < d->directory_count; i++)
        d->directory_is_synced[i] |= mirror_random_below(random, 2);
}

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
static bool try_image(const disk *d, const trace *t, const char *traced, const char *root,
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
        const disk_file *file = &d->files[i];
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
    if (ignored == SYNC_NONE)
        crash_fail("%s, cut at record %zu of %zu, %llu commits acknowledged: %s %d", what, cut,
                   t->count, (unsigned long long)d->acknowledged,
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

/* Each write to a meta page, torn at each sector, either part kept. */
static void meta_images(const trace *t, const char *traced, const char *root, long limit,
                        tally *total, mirror_random *random) {
    disk *d = disk_create();
    long made = 0;
    for (size_t r = 0; r < t->count && made < limit; r++) {
        trace_record head = head_at(t, r);
        bool is_meta = head.kind == TRACE_WRITE && head.offset < 2 * PAGE &&
                       (head.size_bytes < PAGE || mirror_random_below(random, 4) == 0);
        for (uint64_t at = head.offset; is_meta && made < limit;) {
            disk *torn = disk_clone(d);
            disk_file *file = &torn->files[head.file - 1];
            bool keeps_front = mirror_random_below(random, 2);
            uint64_t end = head.offset + head.size_bytes;
            if (keeps_front)
                apply(file, head.offset, content_at(t, r), at - head.offset);
            else
                apply(file, at, content_at(t, r) + (at - head.offset), end - at);
            for (int i = 0; i < torn->file_count; i++)
                torn->files[i].entry_is_synced |= mirror_random_below(random, 2);
            for (int i = 0; i < torn->directory_count; i++)
                torn->directory_is_synced[i] |= mirror_random_below(random, 2);
            count(total, try_image(torn, t, traced, root, "torn meta page", r));
            disk_free(torn);
            made++;
            if (at == end) break;
            at = (at / SECTOR + 1) * SECTOR;
            if (at > end) at = end;
        }
        advance(d, t, r);
    }
    disk_free(d);
}

static void random_images(const trace *t, const char *traced, const char *root, long images,
                          tally *total, mirror_random *random) {
    size_t *cuts = must(malloc((size_t)images * sizeof *cuts));
    for (long i = 0; i < images; i++)
        cuts[i] = (size_t)mirror_random_below(random, t->count + 1);
    qsort(cuts, (size_t)images, sizeof *cuts, by_size);
    disk *d = disk_create();
    size_t at = 0;
    for (long i = 0; i < images; i++) {
        while (at < cuts[i])
            advance(d, t, at++);
        disk *left = disk_clone(d);
        lose_power(left, t, random);
        count(total, try_image(left, t, traced, root, "image", cuts[i]));
        disk_free(left);
    }
    disk_free(d);
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
            meta_images(t, traced, root,
                        share / 2 < DIRECTED_AT_MOST ? share / 2 : DIRECTED_AT_MOST, &total,
                        &random);
        random_images(t, traced, root, share - (total.images - before), &total, &random);
        free_trace(t);
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
    static const char *const classes[] = {"", "data", "meta", "directory"};
    const char *chosen = crash_option(argc, argv, "ignore-sync", NULL);
    if (chosen) {
        for (int i = 1; i < 4; i++)
            if (strcmp(chosen, classes[i]) == 0) ignored = (sync_class)i;
        tally total = run(directory, seed, images, 0, 2, false);
        printf("without the %s syncs %ld of %ld images are bad\n", chosen, total.bad, total.images);
        return total.bad > 0;
    }
    tally total = run(directory, seed, images, 0, 1, true);
    printf("%ld images of %d workloads, %ld bad\n", total.images, TRACES, total.bad);
    /* the test itself: without any one class of syncs it must find bad images */
    int quiet = open("/dev/null", O_WRONLY), errors = dup(2);
    for (int i = 1; i < 4; i++) {
        fflush(stderr);
        dup2(quiet, 2);
        ignored = (sync_class)i;
        tally without = run(directory, seed + 1, images < 400 ? images / 2 : 200, 0, 4, false);
        ignored = SYNC_NONE;
        dup2(errors, 2);
        printf("without the %s syncs %ld of %ld images are bad\n", classes[i], without.bad,
               without.images);
        if (without.bad > 0)
            crash_pass();
        else
            crash_fail("the test does not notice that the %s syncs are missing", classes[i]);
    }
    return crash_finish();
}

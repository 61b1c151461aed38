/*
 * corruption_test.c - damaged data files: every call ends with a status, and damage to records
 * is found.
 *
 *     corruption_test [--files 500] [--seed S] [--dir D]
 *
 * A store of a few hundred kilobytes is damaged in one way: bits flipped, a page blanked, doubled
 * or swapped with another, the file cut off at a page or inside one. A child process opens it,
 * reads everything, checks it, writes to it and closes it. Two kinds of outcome are distinguished:
 *
 *   in records      bytes inside a key's value, found by looking for a record's own content in
 *                   the file: larder_check must answer E_CORRUPT, and reading that record
 *                   E_CORRUPT; never a signal
 *   in the file     anything else, LMDB's page headers with it: LMDB 0.9 has no page checksums
 *                   and trusts them, so a signal inside LMDB, a read behind the file's end that
 *                   a damaged size led to, and a walk over pages that lead back to themselves
 *                   are counted and reported with their places; more than 10 % fail the test
 */
#include "crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, COMMITS = 30, LIMIT_SECONDS = 5, PLACES = 64, SIGNAL_PERCENT = 10 };

/* ---- where a child crashed, told to the parent ---- */

typedef struct crash_place {
    char text[240];
} crash_place;
static crash_place *place; /* shared with the children */

static void note_crash(int number) {
    void *frames[32];
    int count = backtrace(frames, 32);
    size_t used = 0;
    place->text[0] = 0;
    /* the innermost four outside libc, behind this function */
    for (int i = 1, named = 0; i < count && named < 4; i++) {
        Dl_info info;
        if (!dladdr(frames[i], &info) || !info.dli_fname || strstr(info.dli_fname, "libc.so"))
            continue;
        const char *file = strrchr(info.dli_fname, '/');
        int size = snprintf(place->text + used, sizeof place->text - used, "%s%s %s 0x%lx",
                            used ? " < " : "", file ? file + 1 : info.dli_fname,
                            info.dli_sname ? info.dli_sname : "",
                            (unsigned long)((char *)frames[i] - (char *)info.dli_fbase));
        if (size < 0 || used + (size_t)size >= sizeof place->text) break;
        used += (size_t)size;
        named++;
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- what a child does with a damaged store ---- */

typedef struct outcome {
    int32_t open, check, scan; /* statuses; scan: the worst of all reads */
    int64_t problems;
    bool is_other; /* a record differs from what was stored, without a status */
} outcome;
static outcome *result; /* shared with the children */

typedef struct store {
    const char *path;
    mirror *m;
} store;

static int32_t worse(int32_t a, int32_t b) { return b < 0 && a >= 0 ? b : a; }

static void read_documents(store *s, const larder_txn *txn) {
    for (int name = 0; name < MIRROR_NAMES; name++) {
        larder_document document;
        static uint8_t buffer[LARDER_DOCUMENT_MAX_BYTES];
        size_t needed = 0;
        int32_t status = larder_document_get(txn, mirror_name(name), &document, NULL);
        result->scan = worse(result->scan, status);
        if (status != LARDER_OK || document.state != LARDER_DOCUMENT_FOUND) continue;
        status = larder_record_copy(&document.record, buffer, sizeof buffer, &needed, NULL);
        result->scan = worse(result->scan, status);
        const mirror_blob *plain = s->m->documents[name].plain;
        if (status == LARDER_OK && plain &&
            (plain->size_bytes != needed || memcmp(plain->data, buffer, needed) != 0))
            result->is_other = true;
    }
}

static void scan_all(const larder_txn *txn) {
    for (int collection = 0; collection < MIRROR_COLLECTIONS; collection++)
        for (uint32_t flags = 0; flags < 16; flags += 5) {
            larder_scan_options options;
            larder_scan_options_init(&options, sizeof options);
            options.flags = flags;
            options.user = mirror_user(1);
            for (int group = 0; group < 2; group++) {
                larder_scan *scan;
                int32_t status =
                    group ? larder_scan_group(txn, mirror_group(collection), &options, &scan, NULL)
                          : larder_scan_collection(txn, mirror_collection(collection), &options,
                                                   &scan, NULL);
                result->scan = worse(result->scan, status);
                if (status != LARDER_OK) continue;
                larder_document document;
                /* behind a damaged row a scan goes on; it must still come to an end */
                for (int i = 0; i < 100000 && status != LARDER_END; i++) {
                    status = larder_scan_next(scan, &document, NULL);
                    result->scan = worse(result->scan, status);
                    if (status < 0 && status != LARDER_E_CORRUPT) break;
                }
                if (status >= 0 && status != LARDER_END) abort(); /* no end */
                larder_scan_close(scan);
            }
        }
}

static int use_store(void *context) {
    store *s = context;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action = {.sa_handler = note_crash, .sa_flags = SA_ONSTACK};
        sigaction(signals[i], &action, NULL);
    }
    mirror_problem_print(false);
    int nowhere = open("/dev/null", O_WRONLY); /* where LMDB prints its assertions */
    if (nowhere >= 0) dup2(nowhere, 2);
    larder_env *env;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    result->open = larder_env_open(s->path, &options, &env, NULL);
    if (result->open != LARDER_OK) return 0;
    const larder_txn *txn;
    if (larder_txn_begin_read(env, &txn, NULL) == LARDER_OK) {
        read_documents(s, txn);
        scan_all(txn);
        larder_check_report report = {.struct_bytes = sizeof report};
        result->check = larder_check(txn, NULL, NULL, NULL, &report, NULL);
        result->problems = report.problem_count;
        mirror_verify(s->m, txn, NULL); /* touches every other reading call */
        larder_txn_end_read(txn);
    }
    larder_txn *write;
    if (larder_txn_begin_write(env, &write, NULL) == LARDER_OK) {
        mirror_profile profile = {.seed = 3, .operations = 40, .faults = true};
        if (mirror_commit(mirror_clone(s->m), write, &profile, NULL) != LARDER_OK)
            larder_txn_abort(write);
        else
            larder_txn_commit(write, NULL);
    }
    larder_env_close(env, NULL);
    return 0;
}

/* ---- damage ---- */

typedef struct file_bytes {
    uint8_t *bytes;
    size_t size;
} file_bytes;

static file_bytes load(const char *path) {
    struct stat info;
    int file = open(path, O_RDONLY);
    file_bytes f = {NULL, 0};
    if (file < 0 || fstat(file, &info) != 0) {
        perror(path);
        exit(3);
    }
    f.size = (size_t)info.st_size;
    f.bytes = malloc(f.size + 1);
    if (!f.bytes || read(file, f.bytes, f.size) != (ssize_t)f.size) exit(3);
    close(file);
    return f;
}

static void save(const char *path, const uint8_t *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) {
        perror(path);
        exit(3);
    }
    close(file);
}

/* Damages a copy in the file; returns what was done. */
static const char *damage(uint8_t *bytes, size_t *size, mirror_random *random) {
    size_t pages = *size / PAGE;
    size_t page = 2 + (size_t)mirror_random_below(random, pages - 2);
    size_t other = 2 + (size_t)mirror_random_below(random, pages - 2);
    uint8_t kept[PAGE];
    switch (mirror_random_below(random, 9)) {
    case 0: /* anywhere, the meta pages too */
        bytes[mirror_random_below(random, *size)] ^= (uint8_t)(1 << mirror_random_below(random, 8));
        return "a bit flipped";
    case 1: /* in a page's header and pointers */
        bytes[page * PAGE + mirror_random_below(random, 64)] ^=
            (uint8_t)(1 << mirror_random_below(random, 8));
        return "a bit flipped in a page's head";
    case 2:
        for (int i = 0; i < 16; i++)
            bytes[mirror_random_below(random, *size - 2 * PAGE) + 2 * PAGE] =
                (uint8_t)mirror_random_next(random);
        return "16 bytes changed";
    case 3:
        memset(bytes + page * PAGE, 0, PAGE);
        return "a page blanked";
    case 4:
        memcpy(bytes + page * PAGE, bytes + other * PAGE, PAGE);
        return "a page doubled";
    case 5:
        memcpy(kept, bytes + page * PAGE, PAGE);
        memcpy(bytes + page * PAGE, bytes + other * PAGE, PAGE);
        memcpy(bytes + other * PAGE, kept, PAGE);
        return "two pages swapped";
    case 6:
        memset(bytes + page * PAGE + 512 * mirror_random_below(random, 8), 0, 512);
        return "a sector blanked";
    case 7:
        *size = page * PAGE;
        return "cut off at a page";
    default:
        *size = page * PAGE + (size_t)mirror_random_below(random, PAGE);
        return "cut off inside a page";
    }
}

static struct {
    char text[240];
    long count;
} places[PLACES];

static void count_place(const char *text) {
    for (int i = 0; i < PLACES; i++) {
        if (places[i].count && strcmp(places[i].text, text) != 0) continue;
        snprintf(places[i].text, sizeof places[i].text, "%.239s", text);
        places[i].count++;
        return;
    }
}

static long run(store *s, const char *data, const uint8_t *bytes, size_t size) {
    save(data, bytes, size);
    memset(result, 0, sizeof *result);
    place->text[0] = 0;
    return crash_child(use_store, s, LIMIT_SECONDS);
}

static void make_store(store *s, uint64_t seed) {
    mirror_profile profile = {.seed = seed, .operations = 40};
    larder_env *env;
    larder_error error;
    crash_remove_tree(s->path);
    s->m = mirror_create();
    if (larder_env_open(s->path, NULL, &env, &error) != LARDER_OK) {
        fprintf(stderr, "open: %s\n", error.message);
        exit(3);
    }
    for (int i = 0; i < COMMITS; i++) {
        larder_txn *txn;
        if (larder_txn_begin_write(env, &txn, &error) != LARDER_OK) exit(3);
        mirror_commit(s->m, txn, &profile, NULL);
        if (larder_txn_commit(txn, &error) != LARDER_OK) exit(3);
    }
    larder_env_close(env, NULL);
}

/* Where the longest run of a document's own bytes lies in the file: it appears once. */
static uint8_t *find_content(const file_bytes *f, const mirror_blob *plain, size_t *size) {
    *size = 24;
    for (size_t at = 0; at + *size <= plain->size_bytes; at += 7) {
        uint8_t *found = memmem(f->bytes + 2 * PAGE, f->size - 2 * PAGE, plain->data + at, *size);
        if (!found) continue;
        size_t rest = f->size - (size_t)(found + 1 - f->bytes);
        if (!memmem(found + 1, rest, plain->data + at, *size)) return found;
    }
    return NULL;
}

/* A flip in a record's bytes must be answered with E_CORRUPT by reading and by the check. */
static void damage_records(store *s, const char *data, const file_bytes *whole, long files,
                           mirror_random *random) {
    uint8_t *bytes = malloc(whole->size);
    if (!bytes) exit(3);
    long tried = 0;
    for (long i = 0; i < files * 20 && tried < files; i++) {
        int name = (int)mirror_random_below(random, MIRROR_NAMES);
        const mirror_blob *plain = s->m->documents[name].plain;
        size_t size;
        uint8_t *found = plain ? find_content(whole, plain, &size) : NULL;
        if (!found) continue;
        /* an old version's page may hold it as well as the row: it appears once, so either the
         * row lies here or it does not matter: then nothing is found and all is as before */
        memcpy(bytes, whole->bytes, whole->size);
        size_t at = (size_t)(found - whole->bytes) + (size_t)mirror_random_below(random, size);
        bytes[at] ^= (uint8_t)(1 << mirror_random_below(random, 8));
        tried++;
        long ended = run(s, data, bytes, whole->size);
        if (ended < 0)
            crash_fail("a flip in document %d: signal %ld in %s", name, -1 - ended, place->text);
        else if (result->is_other)
            crash_fail("a flip in document %d: it reads as another record", name);
        else if ((result->scan == LARDER_E_CORRUPT) != (result->check == LARDER_E_CORRUPT))
            crash_fail("a flip in document %d: reading says %s, the check %s", name,
                       larder_status_name(result->scan), larder_status_name(result->check));
        else
            crash_pass();
        if (result->check == LARDER_E_CORRUPT) continue;
    }
    printf("%ld flips in records\n", tried);
    free(bytes);
}

static void damage_file(store *s, const char *data, const file_bytes *whole, long files,
                        mirror_random *random) {
    uint8_t *bytes = malloc(whole->size);
    if (!bytes) exit(3);
    long refused = 0, detected = 0, unharmed = 0, signals = 0, endless = 0, older = 0;
    for (long i = 0; i < files; i++) {
        size_t size = whole->size;
        memcpy(bytes, whole->bytes, whole->size);
        const char *what = damage(bytes, &size, random);
        long ended = run(s, data, bytes, size);
        bool is_ours = !strstr(place->text, "liblmdb");
        if (ended == -1 - SIGALRM)
            endless++;
        else if (is_ours && (ended == -1 - SIGABRT || ended == -1 - SIGSEGV))
            crash_fail("file %ld, %s: signal %ld in code of ours: %s", i, what, -1 - ended,
                       place->text);
        else if (ended < 0) { /* SIGBUS in ours: a damaged size led behind the file's end */
            count_place(place->text);
            signals++;
        } else {
            if (result->open < 0)
                refused++;
            else if (result->check < 0 || result->scan < 0)
                detected++;
            else
                unharmed++;
            /* an older version of a page is whole and well formed: where nothing else
             * contradicts it, no checksum of a record can tell */
            older += result->is_other;
            crash_pass();
        }
    }
    printf("%ld files: %ld refused by open, %ld damaged when read or checked, %ld without effect, "
           "%ld signals, %ld without an end; %ld gave older records\n",
           files, refused, detected, unharmed, signals, endless, older);
    for (int i = 0; i < PLACES && places[i].count; i++)
        printf("  %3ld x %s\n", places[i].count, places[i].text);
    if ((signals + endless) * 100 > files * SIGNAL_PERCENT)
        crash_fail("%ld of %ld damaged files end in a signal or not at all", signals + endless,
                   files);
    free(bytes);
}

int main(int argc, char **argv) {
    long files = crash_number(argc, argv, "files", 500);
    uint64_t seed = crash_seed(argc, argv);
    const char *directory = crash_directory(argc, argv, true);
    place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    result = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED || result == MAP_FAILED) return 3;
    void *frames[2]; /* the first call of backtrace allocates */
    (void)backtrace(frames, 2);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    char path[4096], data[4200];
    snprintf(path, sizeof path, "%s/store", directory);
    snprintf(data, sizeof data, "%s/data.mdb", path);
    store s = {.path = path};
    make_store(&s, seed);
    file_bytes whole = load(data);
    mirror_random random = mirror_random_from(seed, 5);
    printf("a store of %zu bytes\n", whole.size);
    if (run(&s, data, whole.bytes, whole.size) != 0 || result->open != LARDER_OK ||
        result->check != LARDER_OK || result->scan < 0 || result->is_other)
        crash_fail("the undamaged store does not pass");
    damage_records(&s, data, &whole, files / 4, &random);
    damage_file(&s, data, &whole, files, &random);
    free(whole.bytes);
    return crash_finish();
}

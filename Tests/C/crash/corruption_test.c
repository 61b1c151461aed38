/*
 * corruption_test.c - damaged files: every call ends with a status, damage to records is found, and
 * every pending write that survives anywhere is salvaged.
 *
 *     corruption_test [--files 2000] [--seed S] [--dir D] [--keep DIR]
 *
 * Damaged stores that fail are kept in the directory given.
 *
 * A store of a few hundred kilobytes, closed or as a killed process leaves it, is damaged in one way
 * (damage.h). A child process opens it, reads everything, checks it, writes to it and closes it. Two
 * kinds of outcome are distinguished:
 *
 *   in records      bytes inside a key's value, found by looking for a record's own content in
 *                   the file: larder_check must answer E_CORRUPT, and reading that record
 *                   E_CORRUPT; never a signal
 *   in the files    anything else, LMDB's page headers with it: LMDB 0.9 has no page checksums
 *                   and trusts them. Where it meets what cannot be, the call ends with E_CORRUPT
 *                   (guard.c), and before it changes a page the page is verified (verify.c). No
 *                   call ends by a signal or not at all
 *
 * Another child salvages the damaged files, which must stay as they are, and checks their pages. It
 * never ends by a signal or without an answer; the new store is a sound one, and has each pending
 * write whose row is whole anywhere in the files.
 *
 * And each page of the data file and each block of the log is blanked in turn.
 */
#include "crash.h"
#include "damage.h"
#include "store/wal.h"

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

enum {
    PAGE = DAMAGE_PAGE,
    COMMITS = 30,
    OLDER_COMMITS = 24,
    LOG_BYTES = 512 << 10,
    LIMIT_SECONDS = 120,
    KINDS_MAX = 32
};

/* Replaces libc's function, which gives logs their salts: a seed's store is always the same. */
static mirror_random salts;
ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
    uint8_t *at = bytes;
    (void)flags;
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)mirror_random_next(&salts);
    return (ssize_t)size;
}

/* ---- where a child crashed, told to the parent ---- */

typedef struct crash_place {
    char text[240];
} crash_place;
static crash_place *place; /* shared with the children */

static void note_crash(int number) {
    void *frames[32];
    int count = backtrace(frames, 32);
    int head = snprintf(place->text, sizeof place->text, "signal %d", number);
    size_t used = head < 0 ? 0 : (size_t)head;
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

/* To be called before a store is opened, so that the library's handlers lie above. */
static void watch_for_crashes(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action = {.sa_handler = note_crash, .sa_flags = SA_ONSTACK};
        sigaction(signals[i], &action, NULL);
    }
}

/* ---- what a child does with a damaged store ---- */

typedef struct outcome {
    int32_t open, check, scan; /* statuses; scan: the worst of all reads */
    int64_t problems;
    bool is_other; /* a record differs from what was stored, without a status */
    int32_t salvage, salvaged_check, pages;
    pending_counts pending;
    larder_salvage_report report;
} outcome;
static outcome *result; /* shared with the children */

typedef struct store {
    const char *path, *salvaged, *keep;
    mirror *m;
    pending_rows pending;
    store_files closed, killed, compact; /* the same store; the last one has nothing twice */
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

static int32_t write_documents(larder_txn *txn) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = info.read_time.seconds = 1;
    int32_t status = LARDER_OK;
    for (int name = 0; name < MIRROR_NAMES && status == LARDER_OK; name++)
        status = larder_document_put(txn, mirror_name(name), &info, (larder_bytes){NULL, 0}, NULL);
    return status;
}

static int use_store(void *context) {
    store *s = context;
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
        /* The mirror's own model ends where a damaged store differs from it. */
        bool is_whole = result->check == LARDER_OK && result->scan >= 0 && !result->is_other;
        int32_t status = is_whole ? mirror_commit(mirror_clone(s->m), write, &profile, NULL)
                                  : write_documents(write);
        if (status != LARDER_OK)
            larder_txn_abort(write);
        else
            larder_txn_commit(write, NULL);
    }
    larder_env_close(env, NULL);
    return 0;
}

/* ---- salvage ---- */

static int salvage_store(void *context) {
    store *s = context;
    mirror_problem_print(false);
    result->report.struct_bytes = sizeof result->report;
    crash_remove_tree(s->salvaged);
    larder_pages_report pages = {.struct_bytes = sizeof pages};
    result->pages = larder_check_pages(s->path, NULL, NULL, NULL, &pages, NULL);
    result->salvage = larder_salvage(s->path, s->salvaged, NULL, NULL, &result->report, NULL);
    if (result->salvage != LARDER_OK) return 0;
    larder_env *env;
    result->salvaged_check = larder_env_open(s->salvaged, NULL, &env, NULL);
    if (result->salvaged_check != LARDER_OK) return 0;
    const larder_txn *txn;
    if (larder_txn_begin_read(env, &txn, NULL) == LARDER_OK) {
        larder_check_report report = {.struct_bytes = sizeof report};
        result->salvaged_check = larder_check(txn, NULL, NULL, NULL, &report, NULL);
        larder_txn_end_read(txn);
    }
    result->pending = pending_compare(&s->pending, env);
    larder_env_close(env, NULL);
    return 0;
}

/* ---- counting ---- */

typedef struct kind_count {
    long files, refused, detected, unharmed, older;
    long pages_found, survived, older_writes, others, lost;
} kind_count;
static kind_count kind_counts[KINDS_MAX];

static const char *file_of(const store *s, const char *name) {
    static char path[4200];
    snprintf(path, sizeof path, "%s/%s", s->path, name);
    return path;
}

static void put_files(const store *s, const store_files *files) {
    file_save(file_of(s, "data.mdb"), files->data.bytes, files->data.size);
    file_save(file_of(s, "data.wal"), files->log.bytes, files->log.size);
}

static void get_files(const store *s, store_files *files) {
    files->data = file_load(file_of(s, "data.mdb"));
    files->log = file_load(file_of(s, "data.wal"));
}

static long run(store *s, const store_files *files, int (*work)(void *context)) {
    put_files(s, files);
    memset(result, 0, sizeof *result);
    place->text[0] = 0;
    return crash_child(work, s, LIMIT_SECONDS);
}

static bool is_unchanged(const char *path, const file_bytes *before) {
    file_bytes now = file_load(path);
    bool same = now.size == before->size && memcmp(now.bytes, before->bytes, now.size) == 0;
    free(now.bytes);
    return same;
}

static void fail_missing(long file, const char *what) {
    const pending_row *row = result->pending.first_missing; /* of the parent's list, as the child */
    char key[64] = "";
    for (size_t i = 0; i < row->key_bytes && i < sizeof key / 2 - 1; i++)
        snprintf(key + 2 * i, 3, "%02x", row->key[i]);
    crash_fail("file %ld, %s: %ld pending writes survive and are not salvaged; the first one, of "
               "table %d with key %s, in %s",
               file, what, result->pending.missing, row->table, key, row->survives_in);
}

/* What is salvaged of damaged files. */
static void check_salvage(store *s, const store_files *files, const char *what, long file,
                          kind_count *count) {
    pending_look(&s->pending, files);
    long ended = run(s, files, salvage_store);
    if (ended < 0)
        crash_fail("file %ld, %s: salvage ends with signal %ld in %s", file, what, -1 - ended,
                   place->text);
    else if (result->salvage != LARDER_OK)
        crash_fail("file %ld, %s: salvage says %s", file, what,
                   larder_status_name(result->salvage));
    else if (result->salvaged_check != LARDER_OK)
        crash_fail("file %ld, %s: the salvaged store says %s", file, what,
                   larder_status_name(result->salvaged_check));
    else if (result->pending.missing > 0)
        fail_missing(file, what);
    else if (!is_unchanged(file_of(s, "data.mdb"), &files->data) ||
             !is_unchanged(file_of(s, "data.wal"), &files->log))
        crash_fail("file %ld, %s: salvage has changed the damaged store", file, what);
    else
        crash_pass();
    count->pages_found += result->pages == LARDER_E_CORRUPT;
    count->survived += result->pending.found;
    count->older_writes += result->pending.older;
    count->others += result->pending.others;
    count->lost += (long)s->pending.count - result->pending.found - result->pending.missing;
}

static void make_store(store *s, uint64_t seed) {
    mirror_profile profile = {.seed = seed, .operations = 40};
    larder_env *env;
    larder_error error;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.log_bytes = LOG_BYTES;
    crash_remove_tree(s->path);
    s->m = mirror_create();
    if (larder_env_open(s->path, &options, &env, &error) != LARDER_OK) {
        fprintf(stderr, "open: %s\n", error.message);
        exit(3);
    }
    for (int i = 0; i < COMMITS; i++) {
        larder_txn *txn;
        if (larder_txn_begin_write(env, &txn, &error) != LARDER_OK) exit(3);
        larder__wal_wait(env); /* which pages are free depends on when a checkpoint ends */
        mirror_commit(s->m, txn, &profile, NULL);
        if (larder_txn_commit(txn, &error) != LARDER_OK) exit(3);
        if (i + 1 == OLDER_COMMITS) s->closed.older = file_load(file_of(s, "data.mdb"));
    }
    get_files(s, &s->killed);
    s->pending = pending_list(env);
    const char *path = s->path;
    char copy[4200];
    snprintf(copy, sizeof copy, "%s.compact", path);
    if (larder_env_compact(env, copy, NULL, NULL, &error) != LARDER_OK) exit(3);
    larder_env_close(env, NULL);
    get_files(s, &s->closed);
    s->path = copy;
    get_files(s, &s->compact);
    s->path = path;
    s->killed.older = s->compact.older = s->closed.older;
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
static void damage_records(store *s, long files, mirror_random *random) {
    long tried = 0;
    for (long i = 0; i < files * 20 && tried < files; i++) {
        int name = (int)mirror_random_below(random, MIRROR_NAMES);
        const mirror_blob *plain = s->m->documents[name].plain;
        size_t size;
        uint8_t *found = plain ? find_content(&s->closed.data, plain, &size) : NULL;
        if (!found) continue;
        /* an old version's page may hold it as well as the row: it appears once, so either the
         * row lies here or it does not matter: then nothing is found and all is as before */
        size_t at =
            (size_t)(found - s->closed.data.bytes) + (size_t)mirror_random_below(random, size);
        uint8_t bit = (uint8_t)(1 << mirror_random_below(random, 8));
        s->closed.data.bytes[at] ^= bit;
        tried++;
        long ended = run(s, &s->closed, use_store);
        if (ended < 0)
            crash_fail("a flip in document %d: signal %ld in %s", name, -1 - ended, place->text);
        else if (result->is_other)
            crash_fail("a flip in document %d: it reads as another record", name);
        else if ((result->scan == LARDER_E_CORRUPT) != (result->check == LARDER_E_CORRUPT))
            crash_fail("a flip in document %d: reading says %s, the check %s", name,
                       larder_status_name(result->scan), larder_status_name(result->check));
        else
            crash_pass();
        s->closed.data.bytes[at] ^= bit;
    }
    printf("%ld flips in records\n", tried);
}

static void count_outcome(long ended, long file, const char *what, kind_count *count) {
    if (ended == -1 - SIGALRM) {
        crash_fail("file %ld, %s: no end within %d seconds", file, what, LIMIT_SECONDS);
    } else if (ended < 0) {
        crash_fail("file %ld, %s: signal %ld in %s", file, what, -1 - ended, place->text);
    } else {
        if (result->open < 0)
            count->refused++;
        else if (result->check < 0 || result->scan < 0)
            count->detected++;
        else
            count->unharmed++;
        /* an older version of a page is whole and well formed: where nothing else
         * contradicts it, no checksum of a record can tell */
        count->older += result->is_other;
        crash_pass();
    }
}

/* Uses and salvages damaged files, which are kept after a failure. */
static void try_files(store *s, const store_files *files, const char *what, long file,
                      kind_count *count) {
    long failures = crash_failures();
    count_outcome(run(s, files, use_store), file, what, count);
    check_salvage(s, files, what, file, count);
    if (s->keep == NULL || crash_failures() == failures) return;
    char kept[4200];
    put_files(s, files);
    snprintf(kept, sizeof kept, "%s/file-%ld", s->keep, file);
    crash_copy_tree(s->path, kept);
}

static void damage_files(store *s, long files, mirror_random *random) {
    int kinds = damage_kind_count();
    for (long i = 0; i < files; i++) {
        int kind = (int)(i % kinds);
        const store_files *all[] = {&s->closed, &s->killed, &s->compact};
        const store_files *whole = all[i / kinds % 3];
        store_files damaged = {file_copy(&whole->data), file_copy(&whole->log), whole->older};
        damage_apply(kind, &damaged, random);
        kind_count *count = &kind_counts[kind];
        count->files++;
        try_files(s, &damaged, damage_kind_name(kind), i, count);
        free(damaged.data.bytes);
        free(damaged.log.bytes);
    }
    /* pages: found by larder_check_pages; salvaged: pending writes, some with a payload from before that
     * of the last commit; lost: with their bytes; stale: acknowledged, and in old pages alone */
    printf("%-30s %5s %7s %7s %7s %6s %8s %7s %5s %6s\n", "damage", "files", "refused", "found",
           "without", "pages", "salvaged", "missed", "lost", "stale");
    for (int kind = 0; kind < kinds; kind++) {
        const kind_count *c = &kind_counts[kind];
        printf("%-30s %5ld %7ld %7ld %7ld %6ld %8ld %7ld %5ld %6ld\n", damage_kind_name(kind),
               c->files, c->refused, c->detected, c->unharmed, c->pages_found, c->survived,
               c->older_writes, c->lost, c->others);
    }
}

/* Each page of the data file, or block of the log, in turn. */
static void blank_in_turn(store *s, bool in_log) {
    store_files damaged = {file_copy(&s->killed.data), file_copy(&s->killed.log), s->killed.older};
    file_bytes *file = in_log ? &damaged.log : &damaged.data;
    kind_count count = {0};
    long pages = (long)(file->size / PAGE);
    uint8_t kept[PAGE];
    const char *what = in_log ? "a block of the log blanked" : "a page blanked";
    for (long page = 0; page < pages; page++) {
        memcpy(kept, file->bytes + page * PAGE, PAGE);
        memset(file->bytes + page * PAGE, 0, PAGE);
        try_files(s, &damaged, what, page, &count);
        memcpy(file->bytes + page * PAGE, kept, PAGE);
    }
    printf("%s, %ld in turn: %ld of them found; %ld pending writes salvaged, %ld lost with theirs, "
           "%ld stale\n",
           what, pages, count.refused + count.detected, count.survived, count.lost, count.others);
    free(damaged.data.bytes);
    free(damaged.log.bytes);
}

static void check_whole(store *s, const store_files *files, const char *what) {
    kind_count count = {0};
    if (run(s, files, use_store) != 0 || result->open != LARDER_OK || result->check != LARDER_OK ||
        result->scan < 0 || result->is_other)
        crash_fail("the undamaged store, %s, does not pass", what);
    check_salvage(s, files, what, 0, &count);
    if (result->pages != LARDER_OK || result->pending.others != 0 || count.lost != 0)
        crash_fail("the undamaged store, %s: the pages say %s, %ld stale writes, %ld lost", what,
                   larder_status_name(result->pages), result->pending.others, count.lost);
}

int main(int argc, char **argv) {
    crash_fix_addresses(argv);
    long files = crash_number(argc, argv, "files", 2000);
    uint64_t seed = crash_seed(argc, argv);
    const char *directory = crash_directory(argc, argv, true);
    place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    result = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED || result == MAP_FAILED) return 3;
    void *frames[2]; /* the first call of backtrace allocates */
    (void)backtrace(frames, 2);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    char path[4096], salvaged[4096];
    snprintf(path, sizeof path, "%s/store", directory);
    snprintf(salvaged, sizeof salvaged, "%s/salvaged", directory);
    watch_for_crashes();
    store s = {.path = path, .salvaged = salvaged, .keep = crash_option(argc, argv, "keep", NULL)};
    salts = mirror_random_from(seed, 6);
    make_store(&s, seed);
    mirror_random random = mirror_random_from(seed, 5);
    printf("a store of %zu bytes with a log of %zu, %zu pending writes\n", s.closed.data.size,
           s.closed.log.size, s.pending.count);
    check_whole(&s, &s.closed, "closed");
    check_whole(&s, &s.killed, "killed");
    check_whole(&s, &s.compact, "compacted");
    damage_records(&s, files / 20, &random);
    blank_in_turn(&s, false);
    blank_in_turn(&s, true);
    damage_files(&s, files, &random);
    pending_free(&s.pending);
    return crash_finish();
}

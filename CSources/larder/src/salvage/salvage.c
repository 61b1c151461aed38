/*
 * salvage.c - a new store of what a damaged one still has.
 *
 *   TARGET.partial-XXXXXX/found   the rows that were found, as an LMDB file (harvest.h)
 *                         store   the new store, written from it (rebuild.h)
 *
 * The store is renamed to the target when it is closed and on disk, so that one that was cut short
 * is never there. The damaged store's files are opened for reading alone.
 */
#include "salvage.h"

#include "rebuild.h"
#include "store/file.h"
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define SUFFIX_BYTES 64
#define LARGEST_DOCUMENT (INT64_C(16) << 20)
#define DEEPEST_DOCUMENT 64

typedef struct places {
    char partial[PATH_BYTES + 32], found[PATH_BYTES + 48], store[PATH_BYTES + 48];
} places;

/* ---- directories ---- */

static int sync_directory(const char *path) {
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno;
    int code = fsync(file) == 0 || errno == EINVAL ? 0 : errno;
    close(file);
    return code;
}

void larder__salvage_discard(const char *directory) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/owner.lock", directory);
    unlink(path);
    larder__file_remove_memory(directory);
}

/* The directory that a path lies in. */
static void parent_of(const char *path, char parent[PATH_BYTES]) {
    snprintf(parent, PATH_BYTES, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        snprintf(parent, PATH_BYTES, ".");
    else
        slash[slash == parent ? 1 : 0] = '\0';
}

static int32_t begin(places *p, char target[PATH_BYTES], const char *given, larder_error *error) {
    char parent[PATH_BYTES];
    struct stat info;
    size_t size = strlen(given);
    p->partial[0] = '\0';
    if (size == 0 || size > PATH_BYTES - SUFFIX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "the target's path is empty or too long");
    memcpy(target, given, size + 1);
    while (size > 1 && target[size - 1] == '/')
        target[--size] = '\0';
    if (rmdir(target) != 0 && errno != ENOENT) /* an empty directory gives way */
        return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                   ? larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target)
                   : larder__file_fail(error, errno, "looking at", target);
    parent_of(target, parent);
    int code = stat(parent, &info) == 0 ? 0 : larder__file_make_directory(parent);
    if (code != 0) return larder__file_fail(error, code, "making", parent);
    snprintf(p->partial, sizeof p->partial, "%s.partial-XXXXXX", target);
    if (mkdtemp(p->partial) == NULL) {
        p->partial[0] = '\0';
        return larder__file_fail(error, errno, "making a directory beside", target);
    }
    snprintf(p->found, sizeof p->found, "%s/found", p->partial);
    snprintf(p->store, sizeof p->store, "%s/store", p->partial);
    if (mkdir(p->found, 0700) != 0 || mkdir(p->store, 0755) != 0)
        return larder__file_fail(error, errno, "making directories in", p->partial);
    return LARDER_OK;
}

static int32_t publish(const places *p, const char *target, larder_error *error) {
    char parent[PATH_BYTES];
    parent_of(target, parent);
    int code = sync_directory(p->store);
    if (code == 0 && rename(p->store, target) != 0) code = errno;
    if (code == ENOTEMPTY || code == EEXIST)
        return larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target);
    if (code == 0) code = sync_directory(parent);
    if (code == EACCES || code == EPERM) code = 0; /* a directory that may not be read */
    return code == 0 ? LARDER_OK : larder__file_fail(error, code, "renaming to", target);
}

static void end(const places *p) {
    if (p->partial[0] == '\0') return;
    larder__salvage_discard(p->found);
    larder__salvage_discard(p->store);
    rmdir(p->partial);
}

/* ---- the report ---- */

static void raise_lost(larder_salvage_count *count, int64_t expected) {
    int64_t lost = expected - count->found_count;
    if (lost > count->lost_count) count->lost_count = lost;
}

static void fill_report(const larder__rebuild *r, larder_salvage_report *report) {
    const larder__harvest *h = r->harvest;
    const larder__counters *counters;
    report->nodes.found_count = h->row_count[LARDER__NODES];
    report->nodes.guessed_count = h->guessed_count[LARDER__NODES];
    report->nodes.lost_count += h->damaged_count[LARDER__NODES];
    report->tree_writes.lost_count += h->damaged_count[LARDER__NODE_WRITES];
    report->targets.lost_count += h->damaged_count[LARDER__TARGETS];
    report->queries.lost_count += h->damaged_count[LARDER__NODE_QUERIES];
    report->values.lost_count += h->damaged_count[LARDER__CATALOG];
    report->page_count = (int64_t)h->pages.page_count;
    report->damaged_page_count = h->damaged_page_count;
    report->damaged_record_count = h->damaged_record_count;
    report->commit_number = h->last_commit;
    if (larder__txn_counters(r->from, &counters, NULL) != LARDER_OK) return;
    raise_lost(&report->batches, counters->pending_batch_count);
    raise_lost(&report->documents, counters->found_count + counters->absent_count);
    /* Each overlay has a row in two tables. */
    raise_lost(&report->overlays, counters->usage[LARDER__COUNT_OVERLAYS].row_count / 2);
}

/* ---- from the rows to the store ---- */

/* Numbers that are never used twice. */
static int32_t raise_numbers(larder__rebuild *r, larder_error *error) {
    const larder__counters *counters;
    int32_t status = larder__txn_counters(r->from, &counters, error);
    if (status != LARDER_OK) return status;
    if (counters->next_batch_id > r->to->counters.next_batch_id)
        r->to->counters.next_batch_id = counters->next_batch_id;
    if (counters->highest_target_id > r->to->counters.highest_target_id)
        r->to->counters.highest_target_id = counters->highest_target_id;
    r->to->changed = true;
    return LARDER_OK;
}

static int32_t rebuild_rows(larder__rebuild *r, larder_error *error) {
    int code = mdb_dbi_open(r->from->mdb, LARDER__GUESSED_TABLE, 0, &r->guessed);
    if (code != 0) return larder__fail_mdb(error, code, "reading salvaged rows");
    int32_t status = larder__rebuild_commit(r, true, error); /* begins the first transaction */
    if (status == LARDER_OK) status = larder__rebuild_outbox(r, error);
    if (status == LARDER_OK) status = larder__rebuild_commit(r, true, error);
    if (status == LARDER_OK) status = larder__rebuild_documents(r, error);
    if (status == LARDER_OK) status = larder__rebuild_trees(r, error);
    if (status == LARDER_OK) status = raise_numbers(r, error);
    if (status == LARDER_OK) status = larder__rebuild_commit(r, true, error);
    if (status == LARDER_OK) fill_report(r, r->report);
    if (r->to != NULL) larder_txn_abort(r->to);
    r->to = NULL;
    return status;
}

static int32_t rebuild(const larder__harvest *h, const places *p, larder_progress_function progress,
                       void *context, larder_salvage_report *report, larder_error *error) {
    larder_env_options options;
    larder__rebuild r = {.harvest = h,
                         .report = report,
                         .plain = {.allocator = &larder__default_allocator},
                         .name = {.allocator = &larder__default_allocator},
                         .strays = {.allocator = &larder__default_allocator},
                         .begin_bytes = h->done_bytes,
                         .progress = progress,
                         .context = context};
    larder_env_options_init(&options, sizeof options);
    /* What was stored with other limits is kept. */
    options.max_document_bytes = LARGEST_DOCUMENT;
    options.max_depth = DEEPEST_DOCUMENT;
    options.flags = LARDER_OPEN_READ_ONLY | LARDER_OPEN_ANY_FILE_SYSTEM;
    int32_t status = larder_env_open(p->found, &options, &r.from_env, error);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_ANY_FILE_SYSTEM;
    if (status == LARDER_OK) status = larder_env_open(p->store, &options, &r.to_env, error);
    if (status == LARDER_OK) status = larder_txn_begin_read(r.from_env, &r.from, error);
    if (status == LARDER_OK) status = rebuild_rows(&r, error);
    if (r.from != NULL) larder_txn_end_read(r.from);
    larder__buffer_free(&r.plain);
    larder__buffer_free(&r.name);
    larder__buffer_free(&r.strays);
    larder_env_close(r.from_env, NULL);
    int32_t closed = larder_env_close(r.to_env, status == LARDER_OK ? error : NULL);
    return status == LARDER_OK ? closed : status;
}

/* Whether there is anything to read. */
static int32_t check_damaged(const char *damaged, larder_error *error) {
    static const char *const files[] = {"data.mdb", LARDER__WAL_FILE};
    char path[PATH_BYTES + 32];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", damaged, files[i]);
        if (access(path, F_OK) == 0) return LARDER_OK;
    }
    return larder__fail(error, LARDER_E_NO_STORE, "there is no store at %s", damaged);
}

int32_t larder__salvage_files(const char *damaged, const char *given,
                              larder_progress_function progress, void *context,
                              larder_salvage_report *report, larder_error *error) {
    places p;
    char target[PATH_BYTES];
    larder__harvest *h = larder__allocate(NULL, sizeof *h);
    if (h == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to salvage rows");
    int32_t status = begin(&p, target, given, error);
    if (status == LARDER_OK) {
        status = larder__harvest_make(damaged, p.found, &larder__default_allocator, progress,
                                      context, h, error);
        larder__harvest_close(h);
        if (status == LARDER_OK) status = rebuild(h, &p, progress, context, report, error);
        larder__harvest_free(h);
        if (status == LARDER_OK) status = publish(&p, target, error);
    }
    larder__release(NULL, h);
    end(&p);
    return status;
}

int32_t larder_salvage(const char *damaged, const char *target, larder_progress_function progress,
                       void *context, larder_salvage_report *report, larder_error *error) {
    if (damaged == NULL || damaged[0] == '\0' || strlen(damaged) > PATH_BYTES - SUFFIX_BYTES ||
        target == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "damaged or target is NULL, empty or too long");
    if (report == NULL || report->struct_bytes < sizeof *report)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "report is NULL, or report.struct_bytes is not set");
    *report = (larder_salvage_report){.struct_bytes = report->struct_bytes};
    int lock = -1;
    int32_t status = check_damaged(damaged, error);
    if (status == LARDER_OK) status = larder__lock_against_owners(damaged, &lock, error);
    if (status == LARDER_OK)
        status = larder__salvage_files(damaged, target, progress, context, report, error);
    if (lock >= 0) close(lock);
    return status;
}

/*
 * copy.c - copies of a store: hot (the pages of one snapshot) and compacted (compact.c).
 *
 * Either is made in a directory beside the target, synced, verified, opened, and renamed: a copy that
 * was cut short, or that has damage of the store's or of its own disk, is never at the target.
 *
 * A hot copy reads the pages as pread gives them, while a read transaction keeps LMDB from using them
 * again; both of its meta pages refer to the snapshot. It takes no lock: LMDB's own copy waits for
 * the writer, and calls a file whole that ends before the pages that it has to have.
 */
#include "copy.h"

#include "file.h"
#include "guard.h"
#include "txn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_CHUNK (1 << 20)
#define META_TXN_AT 128
#define PAGE_IS_META 8
#define SNAPSHOTS_TRIED 1000
#define COPY_MAP_BYTES (UINT64_C(1) << 20) /* a map for reading is as large as the file */

int32_t larder__copy_report(larder__copy *c, int64_t more, larder_error *error) {
    c->done += more;
    if (c->total > 0 && c->done > c->total) c->done = c->total; /* the store has grown */
    if (c->progress == NULL || c->progress(c->context, c->done, c->total) == 0) return LARDER_OK;
    return larder__fail(error, LARDER_STOPPED, "stopped by the caller");
}

static int32_t fail_damaged(const larder_env *env, larder_error *error) {
    return larder__fail(error, LARDER_E_CORRUPT, "the data file of %s is damaged", env->path);
}

int32_t larder__copy_damage(larder__copy *c, uint64_t page, const char *table, const char *what,
                            larder_error *error) {
    char text[160], where[32] = "";
    if (page != LARDER__PAGE_NONE)
        snprintf(where, sizeof where, "page %llu, ", (unsigned long long)page);
    snprintf(text, sizeof text, "%s%s%s%s", where, table, table[0] == '\0' ? "" : ": ", what);
    larder__guard_note_damage(c->env, text);
    return larder__fail(error, LARDER_E_CORRUPT, "the data file of %s is damaged (%s)",
                        c->env->path, text);
}

/* ---- the directory ---- */

static int32_t check_call(const larder_env *env, const char *target, larder_error *error) {
    if (env == NULL || target == NULL || target[0] == '\0')
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL or target is empty");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    if (strlen(target) > LARDER__COPY_PATH - 64)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the target path is too long");
    return LARDER_OK;
}

static int32_t clear_target(const char *target, larder_error *error) {
    if (rmdir(target) != 0 && errno != ENOENT) /* an empty directory gives way */
        return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                   ? larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target)
                   : larder__file_fail(error, errno, "looking at", target);
    return LARDER_OK;
}

static int32_t begin(larder__copy *c, const char *target, larder_error *error) {
    size_t size = strlen(target);
    memcpy(c->partial, target, size + 1);
    while (size > 1 && c->partial[size - 1] == '/')
        c->partial[--size] = '\0';
    snprintf(c->partial + size, sizeof c->partial - size, ".partial-XXXXXX");
    char parent[LARDER__COPY_PATH];
    memcpy(parent, target, size);
    parent[size] = '\0';
    char *slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        int code = larder__file_make_directory(parent);
        if (code != 0) {
            c->partial[0] = '\0';
            return larder__file_fail(error, code, "making", parent);
        }
    }
    if (mkdtemp(c->partial) == NULL) {
        int code = errno;
        c->partial[0] = '\0';
        return larder__file_fail(error, code, "making a directory beside", target);
    }
    if (chmod(c->partial, 0755) != 0)
        return larder__file_fail(error, errno, "preparing", c->partial);
    return LARDER_OK;
}

static int sync_path(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC);
    if (file < 0) return errno;
    int code = fsync(file) == 0 ? 0 : errno;
    close(file);
    return code;
}

/* Rename, and the directory above. */
static int32_t publish(larder__copy *c, const char *target, larder_error *error) {
    char path[LARDER__COPY_PATH + 16];
    int code = sync_path(c->partial, O_RDONLY | O_DIRECTORY);
    if (code != 0) return larder__file_fail(error, code, "syncing", c->partial);
    if (rename(c->partial, target) != 0) {
        code = errno;
        return code == ENOTEMPTY || code == EEXIST
                   ? larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target)
                   : larder__file_fail(error, code, "renaming to", target);
    }
    c->partial[0] = '\0';
    snprintf(path, sizeof path, "%s", target);
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        path[--size] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(path, sizeof path, ".");
    else
        slash[slash == path ? 1 : 0] = '\0';
    code = sync_path(path, O_RDONLY | O_DIRECTORY);
    return code == 0 ? LARDER_OK : larder__file_fail(error, code, "syncing", path);
}

static void remove_files(const larder__copy *c, const char *const *files, size_t count) {
    char path[LARDER__COPY_PATH + 16];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", c->partial, files[i]);
        unlink(path);
    }
}

static const char *const lock_files[] = {"lock.mdb", "owner.lock"};

static void discard(larder__copy *c) {
    static const char *const data_files[] = {"data.mdb", LARDER__WAL_FILE};
    if (c->partial[0] == '\0') return;
    remove_files(c, data_files, 2);
    remove_files(c, lock_files, 2);
    rmdir(c->partial);
}

/* ---- the snapshot ---- */

/* Reads one of the two meta structures. */
static int32_t read_meta(larder__copy *c, uint64_t which, uint8_t bytes[LARDER__WAL_META],
                         larder__meta *meta, larder_error *error) {
    off_t at = (off_t)(which * c->pages.page_bytes + LARDER__PAGE_HEAD);
    ssize_t size = larder__file_read(c->pages.file, bytes, LARDER__WAL_META, at);
    if (size < 0) return larder__file_fail(error, errno, "reading", c->env->path);
    if (size == LARDER__WAL_META && larder__meta_parse(bytes, meta)) return LARDER_OK;
    return larder__copy_damage(c, which, "", "the meta page is damaged", error);
}

/* Reads that of the commit that is read. It is whole as long as the other one is of a commit before:
 * LMDB writes them in turn. LARDER_MORE: later commits are about to replace it. */
static int32_t find_meta(larder__copy *c, larder_error *error) {
    uint64_t commit = c->from->commit;
    uint8_t bytes[LARDER__WAL_META];
    larder__meta other;
    int32_t status = read_meta(c, commit % 2, c->meta_bytes, &c->meta, error);
    if (status == LARDER_OK) status = read_meta(c, 1 - commit % 2, bytes, &other, error);
    if (status != LARDER_OK) return status;
    return c->meta.commit == commit && other.commit < commit ? LARDER_OK : LARDER_MORE;
}

/* Begins the read transaction. */
static int32_t open_snapshot(larder__copy *c, larder_error *error) {
    larder_env *env = c->env;
    struct stat info;
    if (atomic_load(&env->is_damaged)) return fail_damaged(env, error);
    c->pages.page_bytes = env->page_bytes;
    int code = mdb_env_get_fd(env->mdb, &c->pages.file);
    if (code != 0) return larder__fail_mdb(error, code, "copying");
    for (int i = 0; i < SNAPSHOTS_TRIED; i++) {
        int32_t status = larder_txn_begin_read(env, &c->from, error);
        if (status != LARDER_OK) return status;
        status = find_meta(c, error);
        if (status == LARDER_OK && fstat(c->pages.file, &info) != 0)
            status = larder__file_fail(error, errno, "looking at", env->path);
        if (status != LARDER_MORE) {
            c->pages.file_bytes = status == LARDER_OK ? (uint64_t)info.st_size : 0;
            c->pages.page_count = c->meta.last_page + 1;
            return status;
        }
        larder_txn_end_read(c->from);
        c->from = NULL;
    }
    return larder__fail(error, LARDER_E_BUSY, "the commits of others leave no time for a copy");
}

/* ---- hot copy ---- */

static void make_metas(const larder__copy *c, uint8_t *pages) {
    for (uint64_t i = 0; i < 2; i++) {
        uint8_t *page = pages + i * c->pages.page_bytes;
        memset(page, 0, c->pages.page_bytes);
        larder__store64(page, i);
        page[LARDER__PAGE_FLAGS_AT] = PAGE_IS_META;
        memcpy(page + LARDER__PAGE_HEAD, c->meta_bytes, sizeof c->meta_bytes);
        larder__store64(page + LARDER__PAGE_HEAD + META_TXN_AT,
                        c->meta.commit - (c->meta.commit % 2 != i));
    }
}

/* Pages behind the file's end are free ones, or damage that is found when the copy is verified. */
static int32_t copy_chunks(larder__copy *c, int file, uint8_t *chunk, larder_error *error) {
    int32_t status = LARDER_OK;
    for (uint64_t at = 0; at < (uint64_t)c->total && status == LARDER_OK; at += COPY_CHUNK) {
        uint64_t left = (uint64_t)c->total - at;
        size_t wanted = left < COPY_CHUNK ? (size_t)left : COPY_CHUNK;
        ssize_t size = larder__file_read(c->pages.file, chunk, wanted, (off_t)at);
        if (size < 0) return larder__file_fail(error, errno, "reading", c->env->path);
        memset(chunk + size, 0, wanted - (size_t)size);
        if (at == 0) make_metas(c, chunk);
        int code = larder__wal_write_at(file, chunk, wanted, at);
        if (code != 0) return larder__file_fail(error, code, "writing", c->partial);
        status = larder__copy_report(c, (int64_t)wanted, error);
    }
    return status;
}

static int32_t copy_pages(larder__copy *c, larder_error *error) {
    char path[LARDER__COPY_PATH + 16];
    c->total = (int64_t)(c->pages.page_count * c->pages.page_bytes);
    uint8_t *chunk = larder__allocate(&c->env->allocator, COPY_CHUNK);
    if (chunk == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to copy");
    snprintf(path, sizeof path, "%s/data.mdb", c->partial);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int32_t status = file < 0 ? larder__file_fail(error, errno, "making", path)
                              : copy_chunks(c, file, chunk, error);
    if (file >= 0 && close(file) != 0 && status == LARDER_OK)
        status = larder__file_fail(error, errno, "closing", path);
    larder__release(&c->env->allocator, chunk);
    return status;
}

/* ---- whether a copy is good ---- */

typedef struct verification {
    larder__copy *copy;
    bool is_hot;
    uint64_t page; /* of the first problem */
    char table[32], what[96];
} verification;

static int32_t note_problem(void *context, uint64_t page, const char *table, const char *message) {
    verification *v = context;
    v->page = page;
    snprintf(v->table, sizeof v->table, "%s", table);
    snprintf(v->what, sizeof v->what, "%s", message);
    return 1;
}

static int32_t go_on(void *context, int64_t done, int64_t total) {
    const larder__copy *c = ((verification *)context)->copy;
    (void)done;
    (void)total;
    return c->progress == NULL ? 0 : c->progress(c->context, c->done, c->total);
}

/* Whether the store has the same in place of a page of a hot copy. */
static bool is_same_page(const verification *v) {
    uint8_t own[LARDER__PAGE_LARGEST], copied[LARDER__PAGE_LARGEST];
    larder__pages pages;
    if (!v->is_hot || v->page == LARDER__PAGE_NONE ||
        larder__pages_open(v->copy->partial, &pages, NULL) != LARDER_OK)
        return false;
    bool is_same = larder__pages_read(&v->copy->pages, v->page, own) &&
                   larder__pages_read(&pages, v->page, copied) &&
                   memcmp(own, copied, pages.page_bytes) == 0;
    larder__pages_close(&pages);
    return is_same;
}

/* Each page, and each row's checksum, as pread gives them. A problem that is not found again is none: the
 * copy could not be read. */
static int32_t verify_pages(larder__copy *c, bool is_hot, larder_error *error) {
    verification v = {.copy = c, .is_hot = is_hot}, again = v;
    larder_pages_report report = {.struct_bytes = sizeof report};
    int32_t status = larder_check_pages(c->partial, note_problem, go_on, &v, &report, error);
    if (report.problem_count == 0) return status;
    larder_check_pages(c->partial, note_problem, NULL, &again, &report, NULL);
    if (again.page != v.page || strcmp(again.what, v.what) != 0)
        return larder__file_fail(error, EIO, "reading", c->partial);
    if (is_same_page(&v)) return larder__copy_damage(c, v.page, v.table, v.what, error);
    return larder__fail(error, LARDER_E_CORRUPT, "the copy of %s would be damaged (%s%s%s)",
                        c->env->path, v.table, v.table[0] == '\0' ? "" : ": ", v.what);
}

/* The counters are of the same rows. */
static int32_t verify_open(larder__copy *c, larder_error *error) {
    larder_env_options options;
    larder_env *copy;
    const larder_txn *txn;
    const larder__counters *counters, *expected;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_READ_ONLY | LARDER_OPEN_ANY_FILE_SYSTEM;
    options.map_bytes = COPY_MAP_BYTES;
    options.max_readers = 2;
    options.allocator = &c->env->allocator;
    int32_t status = larder__txn_counters(c->from, &expected, error);
    if (status == LARDER_OK) status = larder_env_open(c->partial, &options, &copy, error);
    if (status != LARDER_OK) return status;
    status = larder_txn_begin_read(copy, &txn, error);
    if (status == LARDER_OK) {
        status = larder__txn_counters(txn, &counters, error);
        if (status == LARDER_OK && memcmp(counters, expected, sizeof *counters) != 0)
            status = larder__fail(error, LARDER_E_CORRUPT, "the copy of %s has other counters",
                                  c->env->path);
        larder_txn_end_read(txn);
    }
    larder_env_close(copy, NULL);
    return status;
}

/* On disk, with a log that says that the data file stands alone. */
static int32_t complete(larder__copy *c, bool is_hot, larder_error *error) {
    char path[LARDER__COPY_PATH + 16];
    snprintf(path, sizeof path, "%s/data.mdb", c->partial);
    int code = sync_path(path, O_RDWR);
    if (code == 0) code = larder__wal_make_unused(c->partial);
    if (code != 0) return larder__file_fail(error, code, "syncing", c->partial);
    int32_t status = verify_pages(c, is_hot, error);
    if (status == LARDER_OK) status = verify_open(c, error);
    remove_files(c, lock_files, 2);
    return status;
}

/* ---- both ---- */

static int32_t make_copy(larder__copy *c, const char *target_path,
                         int32_t (*fill)(larder__copy *, larder_error *), larder_error *error) {
    larder_env *env = c->env;
    larder__env_enter(env);
    int32_t status = clear_target(target_path, error);
    if (status == LARDER_OK) status = open_snapshot(c, error);
    if (status == LARDER_OK) status = begin(c, target_path, error);
    if (status == LARDER_OK) status = fill(c, error);
    if (status == LARDER_OK) status = complete(c, fill == copy_pages, error);
    if (c->from != NULL) larder_txn_end_read(c->from);
    if (status == LARDER_OK) status = publish(c, target_path, error);
    if (status != LARDER_OK) discard(c);
    larder__env_leave(env);
    return status;
}

int32_t larder_env_copy(larder_env *env, const char *target_path, larder_progress_function progress,
                        void *context, larder_error *error) {
    larder__copy c = {.env = env, .progress = progress, .context = context};
    int32_t status = check_call(env, target_path, error);
    if (status != LARDER_OK) return status;
    if (larder__txn_is_writing(env))
        return larder__fail(error, LARDER_E_BUSY,
                            "this thread has a write transaction open: end it before the copy");
    return make_copy(&c, target_path, copy_pages, error);
}

int32_t larder_env_compact(larder_env *env, const char *target_path,
                           larder_progress_function progress, void *context, larder_error *error) {
    larder__copy c = {.env = env, .progress = progress, .context = context};
    int32_t status = check_call(env, target_path, error);
    return status == LARDER_OK ? make_copy(&c, target_path, larder__copy_rows, error) : status;
}

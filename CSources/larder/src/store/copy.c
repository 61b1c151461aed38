/*
 * copy.c - copies of a store: hot (LMDB's pages of one snapshot) and compacted (every row put
 * again in key order, so that pages are full).
 *
 * Either is made in a directory beside the target, synced, and renamed: a copy that was cut
 * short is never at the target.
 */
#include "base/platform.h"
#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "internal.h"
#include "wal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define ROWS_A_COMMIT 20000
#define COPY_CHUNK (1 << 20)

typedef struct copy {
    larder_env *env;
    char partial[PATH_BYTES]; /* where it is made */
    larder_progress_function progress;
    void *context;
    int64_t done, total;
} copy;

static int32_t fail_file(larder_error *error, int code, const char *doing, const char *path) {
    int32_t status = code == ENOSPC || code == EDQUOT                   ? LARDER_E_NO_SPACE
                     : code == EACCES || code == EPERM || code == EROFS ? LARDER_E_PERMISSION
                     : code == ENOMEM                                   ? LARDER_E_NO_MEMORY
                                                                        : LARDER_E_IO;
    return larder__fail_system(error, status, code, "%s %s: %s", doing, path, strerror(code));
}

static int32_t report(copy *c, int64_t more, larder_error *error) {
    c->done += more;
    if (c->total > 0 && c->done > c->total) c->done = c->total; /* the store has grown */
    if (c->progress == NULL || c->progress(c->context, c->done, c->total) == 0) return LARDER_OK;
    return larder__fail(error, LARDER_STOPPED, "stopped by the caller");
}

static int32_t check_target(larder_env *env, const char *target, larder_error *error) {
    if (env == NULL || target == NULL || target[0] == '\0')
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL or target is empty");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    if (strlen(target) > PATH_BYTES - 64)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the target path is too long");
    if (rmdir(target) != 0 && errno != ENOENT) /* an empty directory gives way */
        return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                   ? larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target)
                   : fail_file(error, errno, "looking at", target);
    return LARDER_OK;
}

static int32_t begin(copy *c, const char *target, larder_error *error) {
    size_t size = strlen(target);
    memcpy(c->partial, target, size + 1);
    while (size > 1 && c->partial[size - 1] == '/')
        c->partial[--size] = '\0';
    snprintf(c->partial + size, sizeof c->partial - size, ".partial-XXXXXX");
    char parent[PATH_BYTES];
    memcpy(parent, target, size);
    parent[size] = '\0';
    char *slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        int code = larder__file_make_directory(parent);
        if (code != 0) return fail_file(error, code, "making", parent);
    }
    if (mkdtemp(c->partial) == NULL) {
        int code = errno;
        c->partial[0] = '\0';
        return fail_file(error, code, "making a directory beside", target);
    }
    if (chmod(c->partial, 0755) != 0) return fail_file(error, errno, "preparing", c->partial);
    return LARDER_OK;
}

static int sync_path(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC);
    if (file < 0) return errno;
    int code = fsync(file) == 0 ? 0 : errno;
    close(file);
    return code;
}

/* Data, directory, rename, and the directory above. */
static int32_t publish(copy *c, const char *target, larder_error *error) {
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/data.mdb", c->partial);
    int code = sync_path(path, O_RDWR);
    if (code == 0) code = larder__wal_make_unused(c->partial);
    if (code == 0) code = sync_path(c->partial, O_RDONLY | O_DIRECTORY);
    if (code != 0) return fail_file(error, code, "syncing", c->partial);
    if (rename(c->partial, target) != 0) {
        code = errno;
        return code == ENOTEMPTY || code == EEXIST
                   ? larder__fail(error, LARDER_E_EXISTS, "%s is there and not empty", target)
                   : fail_file(error, code, "renaming to", target);
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
    return code == 0 ? LARDER_OK : fail_file(error, code, "syncing", path);
}

static void discard(copy *c) {
    static const char *const files[] = {"data.mdb", "lock.mdb", "owner.lock", LARDER__WAL_FILE};
    if (c->partial[0] == '\0') return;
    char path[PATH_BYTES + 16];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", c->partial, files[i]);
        unlink(path);
    }
    rmdir(c->partial);
}

/* ---- hot copy ---- */

typedef struct pump { /* LMDB writes into a pipe; this thread's partner does that */
    MDB_env *mdb;
    int input;
    int code;
} pump;

static void *run_pump(void *argument) {
    pump *p = argument;
    sigset_t broken_pipe; /* is to be a status, not the end of the process */
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
    p->code = mdb_env_copyfd2(p->mdb, p->input, 0);
    close(p->input);
    return NULL;
}

static int write_all(int file, const uint8_t *data, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Reads the pipe to its end whatever happens, so that the partner always ends; what is read
 * after a failure is dropped. */
static int32_t drain(copy *c, int from, int to, uint8_t *chunk, larder_error *error) {
    int32_t status = LARDER_OK;
    for (;;) {
        ssize_t n = read(from, chunk, COPY_CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && status == LARDER_OK) status = fail_file(error, errno, "reading", "a pipe");
        if (n <= 0) return status;
        if (status != LARDER_OK) continue;
        int code = write_all(to, chunk, (size_t)n);
        if (code != 0)
            status = fail_file(error, code, "writing", c->partial);
        else
            status = report(c, n, error);
    }
}

static int32_t copy_pages(copy *c, larder_error *error) {
    char path[PATH_BYTES + 16];
    int pipes[2] = {-1, -1}, file = -1;
    pthread_t thread;
    pump p = {.mdb = c->env->mdb};
    int32_t status = LARDER_OK;
    MDB_envinfo info;
    MDB_stat pages;
    mdb_env_info(c->env->mdb, &info);
    mdb_env_stat(c->env->mdb, &pages);
    c->total = ((int64_t)info.me_last_pgno + 1) * (int64_t)pages.ms_psize;
    uint8_t *chunk = larder__allocate(&c->env->allocator, COPY_CHUNK);
    if (chunk == NULL) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to copy");
        goto done;
    }
    snprintf(path, sizeof path, "%s/data.mdb", c->partial);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) {
        status = fail_file(error, errno, "making", path);
        goto done;
    }
    int code = larder__pipe(pipes);
    if (code != 0) {
        status = fail_file(error, code, "making", "a pipe");
        goto done;
    }
    p.input = pipes[1];
    code = pthread_create(&thread, NULL, run_pump, &p);
    if (code != 0) {
        status = fail_file(error, code, "making", "a thread");
        goto done;
    }
    pipes[1] = -1;
    status = drain(c, pipes[0], file, chunk, error);
    close(pipes[0]); /* so that the partner ends even when the pipe could not be read */
    pipes[0] = -1;
    pthread_join(thread, NULL);
    if (status == LARDER_OK && p.code != 0)
        status = larder__fail_mdb(error, p.code, "copying the store");
done:
    if (pipes[0] >= 0) close(pipes[0]);
    if (pipes[1] >= 0) close(pipes[1]);
    if (file >= 0 && close(file) != 0 && status == LARDER_OK)
        status = fail_file(error, errno, "closing", path);
    larder__release(&c->env->allocator, chunk);
    return status;
}

/* ---- compacting copy ---- */

#define COPY_READERS 126 /* LMDB's default: none is needed */

static int open_target(const copy *c, MDB_env **env) {
    int code = mdb_env_create(env);
    if (code != 0) return code;
    /* Full pages take less than the store's; twice that is room for each commit's own copies.
     * The store's map would ask for as much address space again, which may not be there. */
    MDB_envinfo info;
    MDB_stat pages;
    mdb_env_info(c->env->mdb, &info);
    mdb_env_stat(c->env->mdb, &pages);
    size_t used = (info.me_last_pgno + 1) * pages.ms_psize;
    code = mdb_env_set_mapsize(*env, 2 * used + ((size_t)64 << 20));
    if (code == 0) code = mdb_env_set_maxdbs(*env, LARDER__TABLE_COUNT + 3);
    /* Nothing is promised before publish() has synced the file. */
    if (code == 0) code = mdb_env_open(*env, c->partial, MDB_NOSYNC | MDB_NOTLS, 0644);
    if (code != 0) {
        mdb_env_close(*env);
        *env = NULL;
    }
    return code;
}

typedef struct target { /* where rows go, in transactions of bounded size */
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    int64_t waiting;
} target;

static int next_txn(target *t, const char *table) {
    if (t->txn != NULL) {
        int code = larder__mdb_txn_commit(t->txn);
        t->txn = NULL;
        if (code != 0) return code;
    }
    t->waiting = 0;
    int code = larder__mdb_txn_begin(t->env, NULL, 0, &t->txn);
    if (code != 0) {
        t->txn = NULL;
        return code;
    }
    return larder__mdb_dbi_open(t->txn, table, MDB_CREATE, &t->dbi);
}

static int32_t copy_table(copy *c, const larder_txn *from, int table, target *to,
                          larder_error *error) {
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int32_t status = LARDER_OK;
    int code = next_txn(to, larder__table_names[table]);
    if (code == 0) code = larder__mdb_cursor_open(from->mdb, c->env->dbis[table], &cursor);
    while (code == 0 && status == LARDER_OK &&
           (code = larder__mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
        if (to->waiting++ >= ROWS_A_COMMIT) {
            code = next_txn(to, larder__table_names[table]);
            if (code != 0) break;
            to->waiting = 1;
        }
        int64_t cost = larder__row_cost(key.mv_size, value.mv_size);
        code = larder__mdb_put(to->txn, to->dbi, &key, &value, MDB_APPEND);
        if (code == 0) status = report(c, cost, error);
    }
    if (cursor != NULL) mdb_cursor_close(cursor);
    if (status != LARDER_OK) return status;
    return code == MDB_NOTFOUND ? LARDER_OK : larder__fail_mdb(error, code, "compacting");
}

/* One more commit of the same, so that the older of the two meta pages has all tables as well. */
static int repeat_commit(target *to) {
    char kind = LARDER__KIND_FORMAT;
    uint8_t format[64];
    MDB_val key = {1, &kind}, value;
    int code = next_txn(to, larder__table_names[LARDER__CATALOG]);
    if (code == 0) code = larder__mdb_get(to->txn, to->dbi, &key, &value);
    if (code == 0 && value.mv_size > sizeof format) code = MDB_CORRUPTED;
    if (code != 0) return code;
    memcpy(format, value.mv_data, value.mv_size);
    value.mv_data = format;
    return larder__mdb_put(to->txn, to->dbi, &key, &value, 0);
}

static int32_t copy_rows(copy *c, larder_error *error) {
    const larder_txn *from;
    const larder__counters *counters;
    target to = {0};
    int32_t status = larder_txn_begin_read(c->env, &from, error);
    if (status != LARDER_OK) return status;
    status = larder__txn_counters(from, &counters, error);
    if (status != LARDER_OK) goto done;
    c->total = larder__counters_total(counters);
    status = larder__file_allocate_readers(c->partial, COPY_READERS, error);
    if (status != LARDER_OK) goto done;
    int code = open_target(c, &to.env);
    if (code != 0) {
        status = larder__fail_mdb(error, code, "making the copy");
        goto done;
    }
    for (int table = 0; table < LARDER__TABLE_COUNT && status == LARDER_OK; table++)
        status = copy_table(c, from, table, &to, error);
    if (status == LARDER_OK) {
        code = repeat_commit(&to);
        if (code == 0) {
            code = larder__mdb_txn_commit(to.txn);
            to.txn = NULL;
        }
        if (code == 0) code = mdb_env_sync(to.env, 1);
        if (code != 0) status = larder__fail_mdb(error, code, "compacting");
    }
done:
    if (to.txn != NULL) larder__mdb_txn_abort(to.txn);
    if (to.env != NULL) mdb_env_close(to.env);
    larder_txn_end_read(from);
    return status;
}

/* ---- both ---- */

static int32_t make_copy(larder_env *env, const char *target_path,
                         int32_t (*fill)(copy *, larder_error *), larder_progress_function progress,
                         void *context, larder_error *error) {
    int32_t status = check_target(env, target_path, error);
    if (status != LARDER_OK) return status;
    copy c = {.env = env, .progress = progress, .context = context};
    status = begin(&c, target_path, error);
    if (status == LARDER_OK) status = fill(&c, error);
    if (status == LARDER_OK) status = publish(&c, target_path, error);
    if (status != LARDER_OK) discard(&c);
    return status;
}

int32_t larder_env_copy(larder_env *env, const char *target_path, larder_progress_function progress,
                        void *context, larder_error *error) {
    return make_copy(env, target_path, copy_pages, progress, context, error);
}

int32_t larder_env_compact(larder_env *env, const char *target_path,
                           larder_progress_function progress, void *context, larder_error *error) {
    return make_copy(env, target_path, copy_rows, progress, context, error);
}

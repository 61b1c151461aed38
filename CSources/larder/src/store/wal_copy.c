/*
 * wal_copy.c - stores that are only read, and the log of a copy.
 *
 * A store that has to be recovered, or whose readers LMDB cannot keep a table of, is read from a copy in
 * a temporary directory. It is complete although another process writes meanwhile: the data file is copied
 * first, so that the log has the image of each page of the checkpoint that was written over by then, or
 * a pin keeps the page, and has each commit of the map. That holds while the header stays.
 */
#include "base/platform.h"
#include "file.h"
#include "wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define WAL_PATH_MAX 4352
#define COPIES 8 /* until one is complete */

int32_t larder__wal_is_clean(const char *directory, bool *is_clean, bool *has_log,
                             larder_error *error) {
    larder__wal_facts facts;
    larder__wal_verdict verdict;
    int32_t status = larder__wal_look_at(directory, &larder__default_allocator, &facts, &verdict,
                                         has_log, error);
    *is_clean = verdict == LARDER__WAL_CLEAN;
    return status == LARDER_OK && larder__wal_is_refused(verdict)
               ? larder__wal_refuse(&facts, verdict, directory, error)
               : status;
}

int larder__wal_make_unused(const char *directory) {
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, LARDER__WAL_FILE);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) return errno;
    larder__wal_header header = {.state = LARDER__WAL_UNUSED, .sequence = 1};
    int code = larder__wal_write_header(file, &header);
    close(file);
    return code;
}

static int copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, code = in < 0 ? errno : 0;
    if (code == 0) out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (code == 0 && out < 0) code = errno;
    if (code == 0) code = larder__copy_data(in, out);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    return code;
}

/* Of the log that is copied; 0: no process uses it. */
static int32_t read_sequence(const larder_env *env, uint64_t *sequence, larder_error *error) {
    char path[WAL_PATH_MAX];
    larder__wal_header header;
    *sequence = 0;
    snprintf(path, sizeof path, "%s/%s", env->path, LARDER__WAL_FILE);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? LARDER_OK : larder__file_fail(error, errno, "opening", path);
    int32_t status = larder__wal_read_header(file, &header, error);
    if (status == LARDER_OK && header.state != LARDER__WAL_UNUSED) *sequence = header.sequence;
    close(file);
    return status < 0 ? status : LARDER_OK;
}

static int32_t copy_files(const larder_env *env, const char *directory, larder_error *error) {
    static const char *const files[] = {"data.mdb", LARDER__WAL_FILE};
    char from[WAL_PATH_MAX], to[WAL_PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(from, sizeof from, "%s/%s", env->path, files[i]);
        snprintf(to, sizeof to, "%s/%s", directory, files[i]);
        int code = copy_file(from, to);
        if (code == ENOENT && i > 0) continue; /* of a store without a log */
        if (code == ENOENT)
            return larder__fail(error, LARDER_E_NO_STORE, "there is no store at %s", env->path);
        if (code != 0) return larder__file_fail(error, code, "copying for reading", from);
    }
    return LARDER_OK;
}

/* Whether a copy is whole. One that was taken while a process appended can lack a record and have the next:
 * it is damage where the next copy lacks the same. *missing: the commit that this one lacks, or 0. */
static int32_t check_copy(const larder_env *env, const char *directory, uint64_t *missing,
                          bool *is_final, larder_error *error) {
    larder__wal_facts facts;
    larder__wal_verdict verdict;
    bool has_log;
    int32_t status =
        larder__wal_look_at(directory, &env->allocator, &facts, &verdict, &has_log, error);
    if (status != LARDER_OK) return status;
    uint64_t lacks = larder__wal_is_refused(verdict) ? facts.last.commit + 1 : 0;
    *is_final = lacks == 0 || lacks == *missing;
    *missing = lacks;
    return LARDER_OK;
}

int32_t larder__wal_copy_aside(const larder_env *env, char path[LARDER__MEMORY_PATH_MAX],
                               larder_error *error) {
    uint64_t before, after, missing = 0;
    for (int i = 0; i < COPIES; i++) {
        bool is_final = false;
        int32_t status = read_sequence(env, &before, error);
        if (status == LARDER_OK) status = larder__file_make_temporary(path, error);
        if (status != LARDER_OK) return status;
        status = copy_files(env, path, error);
        if (status == LARDER_OK) status = read_sequence(env, &after, error);
        if (status == LARDER_OK && before == after)
            status = check_copy(env, path, &missing, &is_final, error);
        if (status == LARDER_OK && is_final) return LARDER_OK; /* opening refuses a damaged one */
        larder__file_remove_memory(path);
        if (status != LARDER_OK) return status;
    }
    return larder__fail(error, LARDER_E_BUSY,
                        "%s changes while it is copied for reading: try again, or open it with the "
                        "right to write lock.mdb",
                        env->path);
}

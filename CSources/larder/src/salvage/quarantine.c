/*
 * quarantine.c - setting a damaged store aside while it is opened.
 *
 *   DIR/salvaged-TIME   the new store, complete as soon as it has this name (salvage.c)
 *   DIR/damaged-TIME    the damaged store's files, as they were
 *   DIR/damage.note     a process has met damage: the next owner looks at the pages
 *
 * First the new store is made beside the old files, which are only read. Then the old files are moved
 * to damaged-TIME, and the new log and after it the new data file take their places. While
 * salvaged-TIME has a data file that is not finished, and each opening goes on with it: as long as it
 * has its log as well, the files in DIR are the old ones. Nothing is deleted or cut short.
 */
#include "salvage.h"
#include "store/file.h"
#include "store/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4352
#define NEW_PREFIX "salvaged-"
#define OLD_PREFIX "damaged-"
#define TIME_BYTES 32
#define DATA_FILE "data.mdb"

static void join(char out[PATH_BYTES], const char *directory, const char *name, const char *more) {
    if (snprintf(out, PATH_BYTES, "%s/%s%s", directory, name, more) >= PATH_BYTES)
        out[0] = '\0'; /* no file has this name */
}

static bool is_there(const char *directory, const char *file) {
    char path[PATH_BYTES];
    join(path, directory, file, "");
    return access(path, F_OK) == 0;
}

static int sync_directory(const char *path) {
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno;
    int code = fsync(file) == 0 || errno == EINVAL ? 0 : errno;
    close(file);
    return code;
}

/* 0 or errno; a file that is not there is no failure. */
static int move_file(const char *from, const char *to, const char *file) {
    char old[PATH_BYTES], new[PATH_BYTES];
    join(old, from, file, "");
    join(new, to, file, "");
    return rename(old, new) == 0 || errno == ENOENT ? 0 : errno;
}

/* ---- from the salvaged store to the store ---- */

static int swap_files(const char *directory, const char *salvaged, const char *damaged) {
    int code = larder__file_make_directory(damaged);
    if (code == 0 && is_there(salvaged, LARDER__WAL_FILE)) {
        code = move_file(directory, damaged, LARDER__WAL_FILE);
        if (code == 0) code = move_file(directory, damaged, DATA_FILE);
        if (code == 0) code = move_file(directory, damaged, "lock.mdb");
        if (code == 0) code = sync_directory(damaged);
        if (code == 0) code = sync_directory(directory);
        if (code == 0) code = move_file(salvaged, directory, LARDER__WAL_FILE);
        if (code == 0) code = sync_directory(directory);
    }
    if (code == 0) code = move_file(salvaged, directory, DATA_FILE);
    if (code == 0) code = sync_directory(directory);
    return code;
}

/* Of the time in the names. */
static int32_t swap_stores(larder_env *env, const char *time, larder_error *error) {
    char salvaged[PATH_BYTES], damaged[PATH_BYTES], note[PATH_BYTES];
    join(salvaged, env->path, NEW_PREFIX, time);
    join(damaged, env->path, OLD_PREFIX, time);
    if (is_there(salvaged, DATA_FILE)) {
        int code = swap_files(env->path, salvaged, damaged);
        if (code != 0)
            return larder__file_fail(error, code, "setting aside the files in", env->path);
        join(note, env->path, LARDER__DAMAGE_NOTE, "");
        unlink(note);
        memcpy(env->quarantine, damaged, sizeof env->quarantine);
    }
    larder__salvage_discard(salvaged);
    return LARDER_OK;
}

/* What is left of a salvage that did not end. */
static void discard_partial(const char *directory, const char *name) {
    char partial[PATH_BYTES], part[PATH_BYTES];
    join(partial, directory, name, "");
    join(part, partial, "found", "");
    larder__salvage_discard(part);
    join(part, partial, "store", "");
    larder__salvage_discard(part);
    rmdir(partial);
}

static int32_t finish(larder_env *env, larder_error *error) {
    int32_t status = LARDER_OK;
    DIR *directory = opendir(env->path);
    if (directory == NULL) return LARDER_OK; /* opening says why */
    struct dirent *entry;
    while (status == LARDER_OK && (entry = readdir(directory)) != NULL) {
        char name[sizeof entry->d_name];
        size_t prefix = strlen(NEW_PREFIX);
        memcpy(name, entry->d_name, sizeof name);
        if (strncmp(name, NEW_PREFIX, prefix) != 0) continue;
        if (strstr(name, ".partial-") != NULL)
            discard_partial(env->path, name);
        else
            status = swap_stores(env, name + prefix, error);
    }
    closedir(directory);
    return status;
}

/* ---- setting aside ---- */

/* One that no quarantine has. */
static void make_time(const larder_env *env, char text[TIME_BYTES]) {
    char path[PATH_BYTES];
    struct tm parts;
    time_t now = time(NULL);
    gmtime_r(&now, &parts);
    size_t size = strftime(text, TIME_BYTES, "%Y%m%dT%H%M%SZ", &parts);
    for (int i = 2;; i++) {
        join(path, env->path, OLD_PREFIX, text);
        if (access(path, F_OK) != 0) return;
        snprintf(text + size, TIME_BYTES - size, "-%d", i);
    }
}

static int32_t make(larder_env *env, larder_error *error) {
    char time[TIME_BYTES], target[PATH_BYTES];
    make_time(env, time);
    join(target, env->path, NEW_PREFIX, time);
    env->salvaged = (larder_salvage_report){.struct_bytes = sizeof env->salvaged};
    int32_t status = larder__salvage_files(env->path, target, NULL, NULL, &env->salvaged, error);
    return status == LARDER_OK ? swap_stores(env, time, error) : status;
}

static bool is_due(const larder_env *env) {
    char note[PATH_BYTES];
    larder_pages_report report = {.struct_bytes = sizeof report};
    if (!is_there(env->path, LARDER__DAMAGE_NOTE)) return false;
    if (larder_check_pages(env->path, NULL, NULL, NULL, &report, NULL) != LARDER_OK) return true;
    join(note, env->path, LARDER__DAMAGE_NOTE, "");
    unlink(note);
    return false;
}

const larder__quarantine_calls larder__quarantine = {make, finish, is_due};

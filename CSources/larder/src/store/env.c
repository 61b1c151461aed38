/*
 * env.c - the environment's life: options, opening, closing.
 *
 * Opening a store, in order: the directory, its file system, this process's registry of open
 * stores (registry.c), the owner lock, a look at the data file, room for the lock file
 * (file_room.c), LMDB, the format row.
 */
#include "base/platform.h"
#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "internal.h"
#include "lock.h"
#include "record/vocabulary.h"
#include "registry.h"
#include "verify.h"
#include "wal.h"

#include <errno.h>

/* The thread sanitizer reserves most of the address space, and ends a process that maps memory
 * there: the kernel may find no other place for a large map. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(HAS_THREAD_SANITIZER)
#define DEFAULT_MAP_BYTES (UINT64_C(16) << 30)
#else
#define DEFAULT_MAP_BYTES (UINT64_C(1) << 40)
#endif
#define FALLBACK_MAP_BYTES (UINT64_C(1) << 30)
/* Room kept for the next transaction, by the size that the caller chose for the map. */
#define SMALLEST_MARGIN_BYTES (UINT64_C(16) << 20)
#define LARGEST_MARGIN_BYTES (UINT64_C(1) << 30) /* more than LMDB lets one transaction dirty */
#define PIN_READERS 3 /* of the log: the checkpoint's pin, the next one's, the reader */
#define DEFAULT_COLD_FIELD_BYTES 64

/* ---- LMDB ---- */

static int lmdb_open(larder_env *env, const char *path, uint32_t max_readers, unsigned extra) {
    /* Meta pages are flushed with the rest, where their number matters (wal_recover.c). */
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | MDB_NOMETASYNC | extra;
    if ((env->flags & LARDER_OPEN_IN_MEMORY) != 0) flags |= MDB_NOSYNC;
    int code = mdb_env_create(&env->mdb);
    if (code != 0) return code;
    larder__guard_attach(env->mdb, env);
    code = mdb_env_set_mapsize(env->mdb, env->map_bytes);
    if (code == 0) code = mdb_env_set_maxdbs(env->mdb, LARDER__TABLES_MAX);
    if (code == 0) code = mdb_env_set_maxreaders(env->mdb, max_readers + PIN_READERS);
    if (code == 0) code = mdb_env_open(env->mdb, path, flags, 0644);
    MDB_stat pages;
    if (code == 0) code = mdb_env_stat(env->mdb, &pages);
    if (code == 0) env->page_bytes = pages.ms_psize;
    if (code != 0) {
        mdb_env_close(env->mdb);
        env->mdb = NULL;
    }
    return code;
}

/* As LMDB's writer: another may rely on what a process that died had pinned (wal_checkpoint.c). */
static int32_t check_readers(larder_env *env, larder_error *error) {
    MDB_txn *writing = NULL;
    int dead = 0, code = 0;
    if ((env->flags & LARDER_OPEN_SHARED) != 0)
        code = larder__mdb_txn_begin(env->mdb, NULL, 0, &writing);
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    mdb_reader_check(env->mdb, &dead);
    if (writing != NULL) larder__mdb_txn_abort(writing);
    if (dead > 0) larder__log(env, LARDER_LOG_INFO, "removed %d stale readers", dead);
    return LARDER_OK;
}

/* Reserves as much address space as the system gives. */
static int32_t open_lmdb(larder_env *env, const char *path, const larder_env_options *o,
                         larder_error *error) {
    bool is_default = o->map_bytes == 0;
    env->map_margin_bytes = o->map_bytes < SMALLEST_MARGIN_BYTES  ? SMALLEST_MARGIN_BYTES
                            : o->map_bytes > LARGEST_MARGIN_BYTES ? LARGEST_MARGIN_BYTES
                                                                  : o->map_bytes;
    uint64_t smallest = env->file_bytes + 2 * env->map_margin_bytes;
    env->map_bytes = is_default                ? DEFAULT_MAP_BYTES
                     : o->map_bytes < smallest ? smallest
                                               : o->map_bytes;
    unsigned extra = 0;
    for (;;) {
        int code = lmdb_open(env, path, o->max_readers, extra);
        if (code == 0) break;
        if (code == ENOMEM && is_default && env->map_bytes > FALLBACK_MAP_BYTES) {
            env->map_bytes /= 2;
        } else if ((code == EACCES || code == EPERM || code == EROFS) && extra == 0 &&
                   (env->flags & LARDER_OPEN_READ_ONLY) != 0) {
            extra = MDB_RDONLY;
        } else {
            return larder__fail_mdb(error, code, "opening the store");
        }
    }
    MDB_envinfo info;
    int code = larder__mdb_env_info(env->mdb, &info);
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    env->map_bytes = info.me_mapsize;
    return extra == 0 ? check_readers(env, error) : LARDER_OK;
}

/* ---- open and close ---- */

static void release_env(larder_env *env) {
    larder_allocator allocator = env->allocator;
    larder__txn_release_idle(env);
    for (int i = LARDER__MODEL_COUNT; i-- > 0;)
        larder__data_models[i]->close(env);
    larder__lru_destroy(env);
    larder__blob_destroy(env);
    larder__shape_destroy(env);
    larder__vocabulary_leave(env->vocabulary);
    larder__verify_release(env);
    larder__wal_release(env);
    if (!larder__env_is_forked(env)) { /* in a child, the parent's threads may hold them */
        pthread_cond_destroy(&env->readers_changed);
        pthread_mutex_destroy(&env->state_lock);
        pthread_mutex_destroy(&env->writer);
    }
    larder__release(&allocator, env->path);
    larder__release(&allocator, env);
}

/* A small budget is to take little space on disk: the log is not much larger than the data. */
static uint64_t default_log_bytes(int64_t budget_bytes) {
    if (budget_bytes == LARDER_BUDGET_UNLIMITED) return LARDER__WAL_DEFAULT;
    uint64_t bytes = (uint64_t)budget_bytes;
    if (bytes < LARDER__WAL_DEFAULT_LEAST) return LARDER__WAL_DEFAULT_LEAST;
    return bytes < LARDER__WAL_DEFAULT ? bytes : LARDER__WAL_DEFAULT;
}

static larder_env *new_env(const larder_env_options *o, const char *path) {
    const larder_allocator *allocator =
        o->allocator != NULL ? o->allocator : &larder__default_allocator;
    larder_env *env = larder__allocate(allocator, sizeof *env);
    if (env == NULL) return NULL;
    memset(env, 0, sizeof *env);
    env->allocator = *allocator;
    size_t path_size = strlen(path) + 1;
    env->path = larder__allocate(allocator, path_size);
    if (env->path == NULL) {
        larder__release(allocator, env);
        return NULL;
    }
    memcpy(env->path, path, path_size);
    env->fork_generation = atomic_load(&larder__fork_generation);
    env->flags = o->flags;
    env->durability = o->durability;
    env->max_depth = o->max_depth;
    env->max_document_bytes = o->max_document_bytes;
    env->cold_field_bytes =
        o->cold_field_bytes != 0 ? o->cold_field_bytes : DEFAULT_COLD_FIELD_BYTES;
    env->compression_level = o->compression_level;
    env->automatic_training = o->automatic_training != 0;
    env->manual_reclaim = o->manual_reclaim != 0;
    atomic_store(&env->budget_bytes, o->budget_bytes);
    env->log_bytes = o->log_bytes != 0 ? o->log_bytes : default_log_bytes(o->budget_bytes);
    env->log = o->log;
    env->log_context = o->log_context;
    env->log_level = o->log_level;
    env->lock_file = -1;
    env->recovery = o->recovery;
    env->opening.state = LARDER_OPENING_CLEAN;
    pthread_mutex_init(&env->writer, NULL);
    pthread_mutex_init(&env->state_lock, NULL);
    pthread_cond_init(&env->readers_changed, NULL);
    return env;
}

static int32_t open_state(larder_env *env, larder_error *error) {
    int32_t status = larder__vocabulary_create(&env->allocator, &env->vocabulary, error);
    if (status == LARDER_OK) status = larder__shape_create(env, error);
    if (status == LARDER_OK) status = larder__blob_create(env, error);
    if (status == LARDER_OK) status = larder__lru_create(env, error);
    for (int i = 0; i < LARDER__MODEL_COUNT && status == LARDER_OK; i++)
        status = larder__data_models[i]->open(env, error);
    return status;
}

/* Data file and tables in the directory, with the log where logged. */
static int32_t open_files(larder_env *env, const char *directory, const larder_env_options *o,
                          bool is_logged, bool is_alone, larder_error *error) {
    bool in_memory = (env->flags & LARDER_OPEN_IN_MEMORY) != 0;
    int32_t status = is_logged ? larder__wal_open(env, directory, is_alone, error) : LARDER_OK;
    if (status == LARDER_OK && !in_memory) status = larder__file_inspect(env, directory, error);
    if (status == LARDER_OK)
        status = larder__file_allocate_readers(directory, o->max_readers + PIN_READERS, error);
    if (status == LARDER_OK) status = open_lmdb(env, directory, o, error);
    if (status == LARDER_OK) status = larder__file_check_tail(env, error);
    if (status == LARDER_OK) status = larder__tables_prepare(env, error);
    if (status == LARDER_OK && is_logged) status = larder__wal_recover(env, error);
    if (status == LARDER_OK) status = larder__tables_migrate(env, is_alone, error);
    return status;
}

/* In a directory that is gone afterwards. */
static int32_t open_temporary(larder_env *env, const char *directory, const larder_env_options *o,
                              larder_error *error) {
    bool is_logged = (env->flags & LARDER_OPEN_IN_MEMORY) == 0; /* else there is no log */
    int32_t status = open_files(env, directory, o, is_logged, true, error);
    larder__file_remove_memory(directory);
    if (is_logged) larder__wal_close(env);
    larder__wal_release(env);
    return status;
}

/* Closes what an opening that failed has left open, but for the locks. */
static void close_attempt(larder_env *env) {
    larder__wal_close(env);
    if (env->mdb != NULL) mdb_env_close(env->mdb);
    env->mdb = NULL;
    larder__wal_undo(env);
    larder__wal_release(env);
    larder__verify_release(env);
    env->file_bytes = env->short_size_bytes = env->short_from_page = 0;
    env->allocated_bytes = env->map_begin = 0;
    env->stored_format = 0;
    env->lacks_tables = false;
    atomic_store(&env->is_damaged, false);
    atomic_store(&env->map_filled, 0);
    env->opening = (larder_opening){.state = LARDER_OPENING_CLEAN};
}

/* A data file that is no longer one of LMDB's is a damaged store's beside its log. */
static bool is_damage(const larder_env *env, int32_t status) {
    bool is_clean, has_log = false;
    if (status == LARDER_E_FOREIGN_FILE) larder__wal_is_clean(env->path, &is_clean, &has_log, NULL);
    return status == LARDER_E_CORRUPT || (status == LARDER_E_FOREIGN_FILE && has_log);
}

/* Opens the files as an owner. Damaged ones are set aside where that was asked for and no other
 * process uses them. */
static int32_t open_owned(larder_env *env, const larder_env_options *o, bool is_alone,
                          larder_error *error) {
    bool may_set_aside = is_alone && o->recovery == LARDER_RECOVERY_QUARANTINE;
    larder_error cause;
    int32_t status = is_alone ? larder__quarantine.finish(env, error) : LARDER_OK;
    if (status != LARDER_OK) return status;
    if (may_set_aside && larder__quarantine.is_due(env))
        status = larder__fail(error, LARDER_E_CORRUPT, "damage was met in %s", env->path);
    else
        status = open_files(env, env->path, o, true, is_alone, error);
    if (status == LARDER_OK || !may_set_aside || !is_damage(env, status)) {
        if (status == LARDER_OK && env->quarantine[0] != '\0') /* finished for another process */
            env->opening.state = LARDER_OPENING_QUARANTINED;
        return status;
    }
    larder__log(env, LARDER_LOG_ERROR, "%s is damaged: a new store is made of what can be read",
                env->path);
    close_attempt(env);
    int32_t salvaged = larder__quarantine.make(env, &cause);
    if (salvaged != LARDER_OK) {
        larder__log(env, LARDER_LOG_ERROR, "salvaging %s: %s", env->path, cause.message);
        return status; /* what was wrong in the first place */
    }
    status = open_files(env, env->path, o, true, is_alone, error);
    if (status != LARDER_OK) return status;
    env->opening.state = LARDER_OPENING_QUARANTINED;
    env->opening.lost_count = (uint64_t)env->salvaged.damaged_record_count;
    if (env->opening.lost_count > 0)
        larder__log(env, LARDER_LOG_ERROR, "%llu commits of the damaged store cannot be read",
                    (unsigned long long)env->opening.lost_count);
    larder__log(
        env, LARDER_LOG_WARNING,
        "the damaged files are in %s: %lld pending writes and %lld documents were salvaged",
        env->quarantine,
        (long long)(env->salvaged.batches.found_count + env->salvaged.tree_writes.found_count),
        (long long)env->salvaged.documents.found_count);
    return LARDER_OK;
}

/* Whether the files themselves can be read: LMDB keeps a table of readers in its lock file, and where the
 * file system takes no writes it needs none while no other process has the store. */
static bool can_read_in_place(const larder_env *env, bool is_alone) {
    int code = larder__file_try_readers(env->path);
    return larder__lock_is_visible(env) && (code == 0 || (code == EROFS && is_alone));
}

/* Opens the files for reading only: as they are, or a copy that is recovered. */
static int32_t open_to_read(larder_env *env, const larder_env_options *o, bool is_alone,
                            larder_error *error) {
    char temporary[LARDER__MEMORY_PATH_MAX];
    bool in_place = can_read_in_place(env, is_alone), has_log = true;
    int32_t status = LARDER_OK;
    if (in_place && is_alone) status = larder__wal_is_clean(env->path, &in_place, &has_log, error);
    if (status == LARDER_OK && !in_place) {
        status = larder__wal_copy_aside(env, temporary, error);
        if (status == LARDER_OK) status = open_temporary(env, temporary, o, error);
        env->opening.is_snapshot = 1;
        return status;
    }
    if (status == LARDER_OK) status = open_files(env, env->path, o, false, is_alone, error);
    if (status == LARDER_OK && !has_log && env->stored_format > LARDER__FORMAT_WITHOUT_LOG)
        status = larder__wal_is_missing(env, error);
    return status;
}

static int32_t open_directory(larder_env *env, const larder_env_options *o, larder_error *error) {
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0, is_alone = false;
    bool is_lost = larder__file_is_lost(env);
    int32_t status = larder__file_prepare(env, error);
    if (status == LARDER_OK && !larder__registry_add(env)) {
        env->inode = env->device = 0;
        status = larder__fail(error, LARDER_E_ALREADY_OPEN,
                              "this process has %s open already: share that handle", env->path);
    }
    if (status == LARDER_OK) status = larder__lock_begin_opening(env, error);
    if (status == LARDER_OK) status = larder__lock_own(env, &is_alone, error);
    if (status == LARDER_OK)
        status = only_reads ? open_to_read(env, o, is_alone, error)
                            : open_owned(env, o, is_alone, error);
    if (status == LARDER_OK && is_lost && env->opening.state == LARDER_OPENING_CREATED) {
        env->opening.state = LARDER_OPENING_LOST;
        larder__log(env, LARDER_LOG_WARNING,
                    "%s has the lock files of a store, but not its data: a store was created",
                    env->path);
    }
    return status;
}

static int32_t open_parts(larder_env *env, const larder_env_options *o, larder_error *error) {
    char memory_path[LARDER__MEMORY_PATH_MAX];
    int32_t status;
    if ((env->flags & LARDER_OPEN_IN_MEMORY) != 0) {
        status = larder__file_make_memory(memory_path, error);
        if (status == LARDER_OK) status = open_temporary(env, memory_path, o, error);
    } else {
        status = open_directory(env, o, error);
        if (status == LARDER_OK) larder__lock_end_opening(env);
    }
    return status == LARDER_OK ? open_state(env, error) : status;
}

static void close_files(larder_env *env) {
    larder__wal_close(env);
    if (env->mdb != NULL) mdb_env_close(env->mdb);
    env->mdb = NULL;
    larder__wal_undo(env);
    if (env->inode != 0) larder__registry_remove(env);
    larder__lock_release(env);
}

static int32_t open_new(const char *path, const larder_env_options *o, larder_env **env,
                        larder_error *error) {
    larder_env *opened = new_env(o, path);
    if (opened == NULL)
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an environment");
    int32_t status = open_parts(opened, o, error);
    if (status != LARDER_OK) {
        close_files(opened);
        release_env(opened);
        return status;
    }
    MDB_envinfo info;
    larder__mdb_env_info(opened->mdb, &info);
    opened->opening.commit_number = info.me_last_txnid;
    larder__handle_opened();
    *env = opened;
    return LARDER_OK;
}

/* For reading, where there is no room or no right to write. */
static int32_t open_read_only(const char *path, larder_env_options o, larder_env **env) {
    o.flags |= LARDER_OPEN_READ_ONLY;
    o.flags &= ~(uint32_t)(LARDER_OPEN_CREATE | LARDER_OPEN_SHARED);
    int32_t status = open_new(path, &o, env, NULL);
    if (status == LARDER_OK) (*env)->opening.state = LARDER_OPENING_READ_ONLY;
    return status;
}

int32_t larder_env_open(const char *path, const larder_env_options *options, larder_env **env,
                        larder_error *error) {
    if (env == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL");
    larder_env_options o;
    larder_env_options_init(&o, sizeof o);
    if (options != NULL) {
        if (options->struct_bytes < sizeof options->struct_bytes)
            return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                "options.struct_bytes is %zu: call larder_env_options_init",
                                options->struct_bytes);
        memcpy(&o, options, options->struct_bytes < sizeof o ? options->struct_bytes : sizeof o);
    }
    int32_t status = larder__options_check(&o, error);
    if (status != LARDER_OK) return status;
    bool in_memory = (o.flags & LARDER_OPEN_IN_MEMORY) != 0;
    if (in_memory) o.flags |= LARDER_OPEN_CREATE; /* there is never one to find */
    if (!in_memory && (path == NULL || path[0] == '\0'))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the path is empty");
    larder__registry_watch_forks();
    status = open_new(in_memory ? "" : path, &o, env, error);
    bool cannot_write = status == LARDER_E_PERMISSION || status == LARDER_E_NO_SPACE;
    if (cannot_write && !in_memory && o.recovery >= LARDER_RECOVERY_READ_ONLY &&
        (o.flags & LARDER_OPEN_READ_ONLY) == 0 && open_read_only(path, o, env) == LARDER_OK)
        return LARDER_OK;
    return status;
}

int32_t larder_env_close(larder_env *env, larder_error *error) {
    if (env == NULL) return LARDER_OK;
    if (larder__env_is_forked(env)) {
        /* LMDB's handle stays: closing it would clear the parent's reader slots. */
        larder__handle_closed();
        release_env(env);
        return LARDER_OK;
    }
    pthread_mutex_lock(&env->state_lock);
    int64_t call_count = atomic_load(&env->running_calls);
    int64_t open_count = larder__txn_open_reads(env) + atomic_load(&env->open_writes);
    pthread_mutex_unlock(&env->state_lock);
    if (call_count + open_count > 0)
        return larder__fail(
            error, LARDER_E_BUSY,
            "%lld transactions of the store are open and %lld calls are running: end "
            "them first",
            (long long)open_count, (long long)call_count);
    larder__txn_release_idle(env);
    close_files(env);
    larder__handle_closed();
    release_env(env);
    return LARDER_OK;
}

int32_t larder_env_opening(const larder_env *env, larder_opening *opening, larder_error *error) {
    const size_t first_version = offsetof(larder_opening, lost_count);
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if (opening == NULL || opening->struct_bytes < first_version)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "opening is NULL, or its struct_bytes is not set");
    size_t struct_bytes = opening->struct_bytes;
    memcpy(opening, &env->opening, struct_bytes < sizeof *opening ? struct_bytes : sizeof *opening);
    opening->struct_bytes = struct_bytes;
    return LARDER_OK;
}

int32_t larder_env_salvaged(const larder_env *env, larder_salvage_report *report,
                            larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if (report == NULL || report->struct_bytes < sizeof *report)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "report is NULL, or its struct_bytes is not set");
    if (env->salvaged.struct_bytes == 0) return LARDER_NOT_FOUND;
    size_t struct_bytes = report->struct_bytes;
    *report = env->salvaged;
    report->struct_bytes = struct_bytes;
    return LARDER_OK;
}

const char *larder_env_quarantine(const larder_env *env) {
    return env == NULL ? "" : env->quarantine;
}

const char *larder_env_path(const larder_env *env) { return env == NULL ? "" : env->path; }

int32_t larder_env_sync(larder_env *env, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if ((env->flags & (LARDER_OPEN_IN_MEMORY | LARDER_OPEN_READ_ONLY)) != 0) return LARDER_OK;
    if (atomic_load(&env->writes_refused))
        return larder__fail(error, LARDER_E_WRITES_REFUSED,
                            "an earlier sync failed: close and open the store again");
    /* A commit has flushed the log before it returns: this flush finds nothing to do, unless the
     * disk has lost something meanwhile. */
    larder__env_enter(env);
    int code = larder__sync_data(env->wal->file);
    if (code != 0) atomic_store(&env->writes_refused, true);
    larder__env_leave(env);
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "syncing the store");
}

int32_t larder_env_set_budget(larder_env *env, int64_t budget_bytes, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status == LARDER_OK) status = larder__budget_check(budget_bytes, error);
    if (status == LARDER_OK) atomic_store(&env->budget_bytes, budget_bytes);
    return status;
}

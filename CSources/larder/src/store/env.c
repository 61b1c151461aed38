/*
 * env.c - the environment's life: options, opening, closing.
 *
 * Opening a store, in order: the directory, its file system, this process's registry of open
 * stores, the owner lock, a look at the data file, room for the lock file (file.c), LMDB, the
 * format row.
 *
 * Global state is what LMDB forces on a process: the registry (two LMDB environments on one
 * file in one process drop each other's locks) and a fork counter (an environment does not
 * survive fork). Beside them only handles are counted (process.h).
 */
#include "file.h"
#include "internal.h"
#include "record/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_MAP_BYTES (UINT64_C(1) << 40)
#define SMALLEST_MAP_BYTES (UINT64_C(1) << 20)
#define FALLBACK_MAP_BYTES (UINT64_C(1) << 30)
/* Room kept for the next transaction, by the size that the caller chose for the map. */
#define SMALLEST_MARGIN_BYTES (UINT64_C(16) << 20)
#define LARGEST_MARGIN_BYTES (UINT64_C(1) << 30) /* more than LMDB lets one transaction dirty */
#define DEFAULT_READERS 510
#define DEFAULT_COLD_FIELD_BYTES 64
#define FORMAT_MAGIC "larder"

/* ---- forks, the registry of open stores ---- */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static larder_env *registry;

static void before_fork(void) { pthread_mutex_lock(&registry_lock); }
static void in_parent(void) { pthread_mutex_unlock(&registry_lock); }
static void in_child(void) {
    atomic_fetch_add(&larder__fork_generation, 1);
    registry = NULL;
    pthread_mutex_unlock(&registry_lock);
}
static void watch_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

static bool registry_add(larder_env *env) {
    bool is_new = true;
    pthread_mutex_lock(&registry_lock);
    for (larder_env *other = registry; other != NULL; other = other->next_open)
        if (other->device == env->device && other->inode == env->inode) is_new = false;
    if (is_new) {
        env->next_open = registry;
        registry = env;
    }
    pthread_mutex_unlock(&registry_lock);
    return is_new;
}

static void registry_remove(larder_env *env) {
    pthread_mutex_lock(&registry_lock);
    for (larder_env **link = &registry; *link != NULL; link = &(*link)->next_open)
        if (*link == env) {
            *link = env->next_open;
            break;
        }
    pthread_mutex_unlock(&registry_lock);
}

/* ---- options ---- */

void larder_env_options_init(larder_env_options *options, size_t struct_bytes) {
    if (options == NULL) return;
    larder_env_options defaults = {
        .struct_bytes = struct_bytes,
        .flags = LARDER_OPEN_CREATE,
        .durability = LARDER_DURABILITY_EVERY_COMMIT,
        .budget_bytes = LARDER_BUDGET_UNLIMITED,
        .max_readers = DEFAULT_READERS,
        .max_depth = LARDER_DEPTH_MAX,
        .max_document_bytes = LARDER_DOCUMENT_MAX_BYTES,
        .compression_level = 1,
        .automatic_training = 1,
        .log_level = LARDER_LOG_WARNING,
    };
    memset(options, 0, struct_bytes);
    memcpy(options, &defaults, struct_bytes < sizeof defaults ? struct_bytes : sizeof defaults);
}

static int32_t check_budget(int64_t budget_bytes, larder_error *error) {
    if (budget_bytes == LARDER_BUDGET_UNLIMITED || budget_bytes >= LARDER_BUDGET_MIN_BYTES)
        return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                        "a budget of %lld bytes: give at least %d, or -1 for no limit",
                        (long long)budget_bytes, LARDER_BUDGET_MIN_BYTES);
}

static int32_t check_options(const larder_env_options *o, larder_error *error) {
    const uint32_t known = LARDER_OPEN_CREATE | LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED |
                           LARDER_OPEN_IN_MEMORY | LARDER_OPEN_ANY_FILE_SYSTEM;
    if ((o->flags & ~known) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown open flags 0x%x", o->flags);
    if ((o->flags & LARDER_OPEN_IN_MEMORY) != 0 &&
        (o->flags & (LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED)) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "an in-memory store can be neither read-only nor shared");
    if (o->durability != LARDER_DURABILITY_EVERY_COMMIT &&
        o->durability != LARDER_DURABILITY_LAST_COMMIT_AT_RISK)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown durability %d",
                            o->durability);
    if (o->max_depth == 0 || o->max_depth > 64)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_depth %u is not in 1..64",
                            o->max_depth);
    if (o->max_document_bytes < 1 || o->max_document_bytes > INT64_C(16) << 20)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "max_document_bytes %lld is not in 1..16 MiB",
                            (long long)o->max_document_bytes);
    if (o->compression_level < -7 || o->compression_level > 19)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "compression_level %d is not in -7..19", o->compression_level);
    if (o->max_readers < 2 || o->max_readers > 65536)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_readers %u is not in 2..65536",
                            o->max_readers);
    if (o->map_bytes != 0 && o->map_bytes < SMALLEST_MAP_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "map_bytes %llu is below 1 MiB (0 means the default)",
                            (unsigned long long)o->map_bytes);
    return check_budget(o->budget_bytes, error);
}

/* ---- LMDB ---- */

static int lmdb_open(larder_env *env, const char *path, uint32_t max_readers, unsigned extra) {
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | extra;
    if (env->durability == LARDER_DURABILITY_LAST_COMMIT_AT_RISK) flags |= MDB_NOMETASYNC;
    if ((env->flags & LARDER_OPEN_IN_MEMORY) != 0) flags |= MDB_NOSYNC;
    int code = mdb_env_create(&env->mdb);
    if (code != 0) return code;
    code = mdb_env_set_mapsize(env->mdb, env->map_bytes);
    if (code == 0) code = mdb_env_set_maxdbs(env->mdb, LARDER__TABLE_COUNT + 3);
    if (code == 0) code = mdb_env_set_maxreaders(env->mdb, max_readers);
    if (code == 0) code = mdb_env_open(env->mdb, path, flags, 0644);
    if (code != 0) {
        mdb_env_close(env->mdb);
        env->mdb = NULL;
    }
    return code;
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
        } else if ((code == EACCES || code == EROFS) && extra == 0 &&
                   (env->flags & LARDER_OPEN_READ_ONLY) != 0) {
            extra = MDB_RDONLY;
        } else {
            return larder__fail_mdb(error, code, "opening the store");
        }
    }
    MDB_envinfo info;
    mdb_env_info(env->mdb, &info);
    env->map_bytes = info.me_mapsize;
    int dead = 0;
    mdb_reader_check(env->mdb, &dead);
    if (dead > 0) larder__log(env, LARDER_LOG_INFO, "removed %d stale readers", dead);
    return LARDER_OK;
}

/* ---- format row and tables ---- */

static int32_t check_format(MDB_val value, larder_error *error) {
    if (value.mv_size < sizeof FORMAT_MAGIC - 1 + 4 ||
        memcmp(value.mv_data, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
        return larder__fail(error, LARDER_E_FOREIGN_FILE,
                            "an LMDB file is there that is not a Larder store");
    uint32_t format = larder__load32((const uint8_t *)value.mv_data + sizeof FORMAT_MAGIC - 1);
    if (format > LARDER_FORMAT_VERSION)
        return larder__fail(error, LARDER_E_NEWER_FORMAT,
                            "the store has format %u; this library reads up to %d", format,
                            LARDER_FORMAT_VERSION);
    return LARDER_OK;
}

static MDB_val format_key(void) {
    static char kind[1] = {LARDER__KIND_FORMAT};
    MDB_val key = {1, kind};
    return key;
}

/* Opens every table within txn. create: 0 or MDB_CREATE. */
static int open_tables(larder_env *env, MDB_txn *txn, unsigned create) {
    for (int t = 0; t < LARDER__TABLE_COUNT; t++) {
        int code = mdb_dbi_open(txn, larder__table_names[t], create, &env->dbis[t]);
        if (code != 0) return code;
    }
    return 0;
}

/* Adds the tables that a store of an earlier version lacks. */
static int32_t add_tables(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0)
        return larder__fail(error, LARDER_E_READ_ONLY,
                            "an earlier version made the store: open it once for writing");
    int code = mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "adding tables");
    code = open_tables(env, txn, MDB_CREATE);
    if (code == 0)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "adding tables");
}

static int32_t create_tables(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    int code = 0;
    /* The blank meta pages come to the disk before any other: a longer file whose meta pages are
     * blank has lost something (file.c). */
    if ((env->flags & LARDER_OPEN_IN_MEMORY) == 0) code = mdb_env_sync(env->mdb, 1);
    if (code == 0) code = mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "creating the store");
    MDB_stat main_stat;
    MDB_dbi main_table;
    code = mdb_dbi_open(txn, NULL, 0, &main_table);
    if (code == 0) code = mdb_stat(txn, main_table, &main_stat);
    if (code == 0 && main_stat.ms_entries > 0) { /* another process was first */
        mdb_txn_abort(txn);
        return LARDER_OK;
    }
    if (code == 0) code = open_tables(env, txn, MDB_CREATE);
    if (code == 0) {
        uint8_t format[sizeof FORMAT_MAGIC - 1 + 4];
        memcpy(format, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1);
        larder__store32(format + sizeof FORMAT_MAGIC - 1, LARDER_FORMAT_VERSION);
        MDB_val key = format_key(), value = {sizeof format, format};
        code = mdb_put(txn, env->dbis[LARDER__CATALOG], &key, &value, 0);
    }
    if (code != 0) {
        mdb_txn_abort(txn);
        return larder__fail_mdb(error, code, "creating the store");
    }
    code = mdb_txn_commit(txn);
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "creating the store");
}

/* OK; NOT_FOUND: an LMDB file without any table, as a fresh one is; MORE: a store without the
 * tables that came later. */
static int32_t adopt_tables(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    int code = mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "reading the store");
    int32_t status = LARDER_OK;
    MDB_dbi main_table;
    MDB_stat main_stat;
    code = mdb_dbi_open(txn, NULL, 0, &main_table);
    if (code == 0) code = mdb_stat(txn, main_table, &main_stat);
    if (code == 0 && main_stat.ms_entries == 0) {
        status = LARDER_NOT_FOUND;
        goto done;
    }
    if (code == 0)
        code =
            mdb_dbi_open(txn, larder__table_names[LARDER__CATALOG], 0, &env->dbis[LARDER__CATALOG]);
    if (code == 0) {
        MDB_val key = format_key(), value;
        code = mdb_get(txn, env->dbis[LARDER__CATALOG], &key, &value);
        if (code == 0) {
            status = check_format(value, error);
            if (status == LARDER_OK) code = open_tables(env, txn, 0);
            if (code == MDB_NOTFOUND) {
                code = 0;
                status = LARDER_MORE;
            }
        }
    }
    if (code == MDB_NOTFOUND || code == MDB_INCOMPATIBLE)
        status = larder__fail(error, LARDER_E_FOREIGN_FILE,
                              "an LMDB file is there that is not a Larder store");
    else if (code != 0)
        status = larder__fail_mdb(error, code, "reading the store");
done:
    /* Committing a read transaction keeps the table handles it opened. */
    if (status == LARDER_OK) {
        code = mdb_txn_commit(txn);
        if (code != 0) status = larder__fail_mdb(error, code, "reading the store");
    } else {
        mdb_txn_abort(txn);
    }
    return status;
}

static int32_t prepare_tables(larder_env *env, larder_error *error) {
    int32_t status = adopt_tables(env, error);
    if (status == LARDER_MORE) {
        status = add_tables(env, error);
        if (status == LARDER_OK) status = adopt_tables(env, error);
        if (status == LARDER_MORE)
            status = larder__fail(error, LARDER_E_CORRUPT, "a table just created is missing");
    }
    if (status != LARDER_NOT_FOUND) return status;
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0 || (env->flags & LARDER_OPEN_CREATE) == 0)
        return larder__fail(error, LARDER_E_NO_STORE, "the store is empty and was not created");
    status = create_tables(env, error);
    if (status == LARDER_OK) status = adopt_tables(env, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__fail(error, LARDER_E_CORRUPT, "a store just created is empty");
    return status;
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
    if (!larder__env_is_forked(env)) { /* in a child, the parent's threads may hold them */
        pthread_cond_destroy(&env->readers_changed);
        pthread_mutex_destroy(&env->state_lock);
        pthread_mutex_destroy(&env->writer);
    }
    larder__release(&allocator, env->path);
    larder__release(&allocator, env);
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
    env->log = o->log;
    env->log_context = o->log_context;
    env->log_level = o->log_level;
    env->lock_file = -1;
    pthread_mutex_init(&env->writer, NULL);
    pthread_mutex_init(&env->state_lock, NULL);
    pthread_cond_init(&env->readers_changed, NULL);
    return env;
}

/* A store that has only been created may have been so right before a crash: its files' names
 * are synced now, before the first commit of a caller. */
static int32_t sync_new_store(larder_env *env, larder_error *error) {
    MDB_envinfo info;
    mdb_env_info(env->mdb, &info);
    if (info.me_last_txnid > 1 ||
        (env->flags & (LARDER_OPEN_IN_MEMORY | LARDER_OPEN_READ_ONLY)) != 0)
        return LARDER_OK;
    return larder__file_sync_entries(env, error);
}

static int32_t open_parts(larder_env *env, const larder_env_options *o, larder_error *error) {
    char memory_path[LARDER__MEMORY_PATH_MAX];
    const char *path = env->path;
    bool in_memory = (env->flags & LARDER_OPEN_IN_MEMORY) != 0;
    int32_t status;
    if (in_memory) {
        status = larder__file_make_memory(memory_path, error);
        if (status != LARDER_OK) return status;
        path = memory_path;
    } else {
        status = larder__file_prepare(env, error);
        if (status == LARDER_OK && !registry_add(env)) {
            env->inode = env->device = 0;
            status = larder__fail(error, LARDER_E_ALREADY_OPEN,
                                  "this process has %s open already: share that handle", env->path);
        }
        if (status == LARDER_OK) status = larder__file_lock(env, error);
        if (status == LARDER_OK) status = larder__file_inspect(env, error);
    }
    if (status == LARDER_OK) status = larder__file_allocate_readers(path, o->max_readers, error);
    if (status == LARDER_OK) status = open_lmdb(env, path, o, error);
    if (in_memory) larder__file_remove_memory(memory_path);
    if (status == LARDER_OK) status = larder__file_check_tail(env, error);
    if (status == LARDER_OK) status = prepare_tables(env, error);
    if (status == LARDER_OK) status = sync_new_store(env, error);
    if (status == LARDER_OK)
        status = larder__vocabulary_create(&env->allocator, &env->vocabulary, error);
    if (status == LARDER_OK) status = larder__shape_create(env, error);
    if (status == LARDER_OK) status = larder__blob_create(env, error);
    if (status == LARDER_OK) status = larder__lru_create(env, error);
    for (int i = 0; i < LARDER__MODEL_COUNT && status == LARDER_OK; i++)
        status = larder__data_models[i]->open(env, error);
    return status;
}

static void close_files(larder_env *env) {
    if (env->mdb != NULL) mdb_env_close(env->mdb);
    env->mdb = NULL;
    if (env->inode != 0) registry_remove(env);
    larder__file_unlock(env);
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
    int32_t status = check_options(&o, error);
    if (status != LARDER_OK) return status;
    bool in_memory = (o.flags & LARDER_OPEN_IN_MEMORY) != 0;
    if (in_memory) o.flags |= LARDER_OPEN_CREATE; /* there is never one to find */
    if (!in_memory && (path == NULL || path[0] == '\0'))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the path is empty");
    pthread_once(&fork_once, watch_forks);
    larder_env *opened = new_env(&o, in_memory ? "" : path);
    if (opened == NULL)
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for an environment");
    status = open_parts(opened, &o, error);
    if (status != LARDER_OK) {
        close_files(opened);
        release_env(opened);
        return status;
    }
    larder__handle_opened();
    *env = opened;
    return LARDER_OK;
}

int32_t larder_env_close(larder_env *env, larder_error *error) {
    if (env == NULL) return LARDER_OK;
    if (larder__env_is_forked(env)) {
        /* LMDB's handle stays: closing it would clear the parent's reader slots. */
        if (env->lock_file >= 0) close(env->lock_file); /* which leaves the parent's lock */
        larder__handle_closed();
        release_env(env);
        return LARDER_OK;
    }
    pthread_mutex_lock(&env->state_lock);
    int64_t open_count = larder__txn_open_reads(env) + env->open_writes;
    pthread_mutex_unlock(&env->state_lock);
    if (open_count > 0)
        return larder__fail(error, LARDER_E_BUSY,
                            "%lld transactions of the store are open: end them first",
                            (long long)open_count);
    larder__txn_release_idle(env);
    close_files(env);
    larder__handle_closed();
    release_env(env);
    return LARDER_OK;
}

const char *larder_env_path(const larder_env *env) { return env == NULL ? "" : env->path; }

int32_t larder_env_sync(larder_env *env, larder_error *error) {
    if (env == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    if ((env->flags & (LARDER_OPEN_IN_MEMORY | LARDER_OPEN_READ_ONLY)) != 0) return LARDER_OK;
    if (atomic_load(&env->writes_refused))
        return larder__fail(error, LARDER_E_WRITES_REFUSED,
                            "an earlier sync failed: close and open the store again");
    int code = mdb_env_sync(env->mdb, 1);
    if (code == 0) return LARDER_OK;
    atomic_store(&env->writes_refused, true);
    return larder__fail_mdb(error, code, "syncing the store");
}

int32_t larder_env_set_budget(larder_env *env, int64_t budget_bytes, larder_error *error) {
    if (env == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    int32_t status = check_budget(budget_bytes, error);
    if (status == LARDER_OK) atomic_store(&env->budget_bytes, budget_bytes);
    return status;
}

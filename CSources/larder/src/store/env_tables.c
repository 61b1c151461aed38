/*
 * env_tables.c - the tables of a store and the row that says that it is one: found, made, completed.
 */
#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "internal.h"
#include "wal.h"

#define FORMAT_MAGIC "larder"
_Static_assert(sizeof FORMAT_MAGIC - 1 == LARDER__FORMAT_AT, "the number stands behind the name");

static int32_t check_format(larder_env *env, MDB_val value, larder_error *error) {
    if (value.mv_size < sizeof FORMAT_MAGIC - 1 + 4 ||
        memcmp(value.mv_data, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
        return larder__fail(error, LARDER_E_FOREIGN_FILE,
                            "an LMDB file is there that is not a Larder store");
    uint32_t format = larder__load32((const uint8_t *)value.mv_data + LARDER__FORMAT_AT);
    if (format > LARDER_FORMAT_VERSION)
        return larder__fail(error, LARDER_E_NEWER_FORMAT,
                            "the store has format %u; this library reads up to %d", format,
                            LARDER_FORMAT_VERSION);
    env->stored_format = format;
    return LARDER_OK;
}

static MDB_val format_key(void) {
    static char kind[1] = {LARDER__KIND_FORMAT};
    MDB_val key = {1, kind};
    return key;
}

/* Opens every table within txn. create: 0 or MDB_CREATE. */
static int open_tables(larder_env *env, MDB_txn *txn, unsigned create) {
    env->lacks_tables = false;
    for (int t = 0; t < LARDER__TABLE_COUNT; t++) {
        int code = larder__mdb_dbi_open(txn, larder__table_names[t], create, &env->dbis[t]);
        if (code == MDB_NOTFOUND)
            env->lacks_tables = true;
        else if (code != 0)
            return code;
    }
    return 0;
}

int larder__format_write(const larder_env *env, MDB_txn *txn) {
    uint8_t row[64];
    MDB_val key = format_key(), value;
    int code = larder__mdb_get(txn, env->dbis[LARDER__CATALOG], &key, &value);
    if (code != 0) return code;
    if (value.mv_size > sizeof row) return MDB_CORRUPTED;
    memcpy(row, value.mv_data, value.mv_size);
    larder__store32(row + LARDER__FORMAT_AT, LARDER_FORMAT_VERSION);
    value.mv_data = row;
    return larder__mdb_put(txn, env->dbis[LARDER__CATALOG], &key, &value, 0);
}

int32_t larder__tables_migrate(larder_env *env, bool is_alone, larder_error *error) {
    MDB_txn *txn;
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    if (env->lacks_tables && only_reads)
        return larder__fail(error, LARDER_E_READ_ONLY,
                            "an earlier version made the store: open it once for writing");
    if (only_reads || (env->stored_format == LARDER_FORMAT_VERSION && !env->lacks_tables))
        return LARDER_OK;
    if (!is_alone)
        return larder__fail(error, LARDER_E_LOCKED,
                            "an earlier version made %s, and another process has it open: end that "
                            "process, so that the store can be migrated",
                            env->path);
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "migrating the store");
    code = open_tables(env, txn, MDB_CREATE);
    if (code == 0) code = larder__format_write(env, txn);
    if (code != 0) {
        larder__mdb_txn_abort(txn);
        return larder__fail_mdb(error, code, "migrating the store");
    }
    int32_t status = larder__wal_commit_whole(env, txn, error);
    if (status == LARDER_OK) env->stored_format = LARDER_FORMAT_VERSION;
    return status;
}

static int32_t create_tables(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    int code = 0;
    /* The blank meta pages come to the disk before any other: a longer file whose meta pages are
     * blank has lost something (file.c). */
    if ((env->flags & LARDER_OPEN_IN_MEMORY) == 0) code = mdb_env_sync(env->mdb, 1);
    if (code == 0) code = larder__mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "creating the store");
    MDB_stat main_stat;
    MDB_dbi main_table;
    code = larder__mdb_dbi_open(txn, NULL, 0, &main_table);
    if (code == 0) code = larder__mdb_stat(txn, main_table, &main_stat);
    if (code == 0 && main_stat.ms_entries > 0) { /* another process was first */
        larder__mdb_txn_abort(txn);
        return LARDER_OK;
    }
    if (code == 0) code = open_tables(env, txn, MDB_CREATE);
    if (code == 0) {
        uint8_t format[sizeof FORMAT_MAGIC - 1 + 4];
        memcpy(format, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1);
        bool in_memory = (env->flags & LARDER_OPEN_IN_MEMORY) != 0;
        larder__store32(format + LARDER__FORMAT_AT,
                        in_memory
                            ? LARDER_FORMAT_VERSION
                            : LARDER__FORMAT_WITHOUT_LOG); /* until there is one (wal_recover.c) */
        MDB_val key = format_key(), value = {sizeof format, format};
        code = larder__mdb_put(txn, env->dbis[LARDER__CATALOG], &key, &value, 0);
    }
    if (code != 0) {
        larder__mdb_txn_abort(txn);
        return larder__fail_mdb(error, code, "creating the store");
    }
    code = larder__mdb_txn_commit(txn);
    env->opening.state = LARDER_OPENING_CREATED;
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "creating the store");
}

/* OK; NOT_FOUND: an LMDB file without any table, as a fresh one is. */
static int32_t adopt_tables(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    int code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn);
    if (code != 0) return larder__fail_mdb(error, code, "reading the store");
    int32_t status = LARDER_OK;
    MDB_dbi main_table;
    MDB_stat main_stat;
    code = larder__mdb_dbi_open(txn, NULL, 0, &main_table);
    if (code == 0) code = larder__mdb_stat(txn, main_table, &main_stat);
    if (code == 0 && main_stat.ms_entries == 0) {
        status = LARDER_NOT_FOUND;
        goto done;
    }
    if (code == 0)
        code = larder__mdb_dbi_open(txn, larder__table_names[LARDER__CATALOG], 0,
                                    &env->dbis[LARDER__CATALOG]);
    if (code == 0) {
        MDB_val key = format_key(), value;
        code = larder__mdb_get(txn, env->dbis[LARDER__CATALOG], &key, &value);
        if (code == 0 && !larder__guard_find_map(env, value)) code = MDB_CORRUPTED;
        if (code == 0) {
            status = check_format(env, value, error);
            if (status == LARDER_OK) code = open_tables(env, txn, 0);
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
        code = larder__mdb_txn_commit(txn);
        if (code != 0) status = larder__fail_mdb(error, code, "reading the store");
    } else {
        larder__mdb_txn_abort(txn);
    }
    return status;
}

void larder__env_find_map(larder_env *env) {
    MDB_txn *txn;
    MDB_val key = format_key(), value;
    larder__guard_forget_map(env);
    if (larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn) != 0) return;
    if (larder__mdb_get(txn, env->dbis[LARDER__CATALOG], &key, &value) == 0)
        larder__guard_find_map(env, value);
    larder__mdb_txn_abort(txn);
}

int32_t larder__tables_prepare(larder_env *env, larder_error *error) {
    int32_t status = adopt_tables(env, error);
    if (status != LARDER_NOT_FOUND) return status;
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0 || (env->flags & LARDER_OPEN_CREATE) == 0)
        return larder__fail(error, LARDER_E_NO_STORE, "the store is empty and was not created");
    status = create_tables(env, error);
    if (status == LARDER_OK) status = adopt_tables(env, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__fail(error, LARDER_E_CORRUPT, "a store just created is empty");
    return status;
}

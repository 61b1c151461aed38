/*
 * wal_recover.c - opening: what the map and the log say together (wal_judge.c).
 *
 *   no log                 a store of format 1, or one whose creation did not end: a log is made,
 *                          and the format's number says so afterwards
 *   log unused             a copy: the data file stands alone, and the log begins
 *   others use the store   the map is theirs and whole: nothing is put back
 *   no records, and the    clean
 *   checkpoint's meta page
 *   the files contradict   refused: nothing is written
 *   each other
 *   anything else          recovered: the images of pages and the meta page are put back, the
 *                          records are applied in one transaction, and a checkpoint is written
 *
 * The meta page is put back with the number of the commit before the last record's, so that the
 * one transaction gets that record's number: commit numbers never go back. Until the checkpoint
 * at its end the header and the records stay as they are, and recovery can begin again.
 *
 * What is put back is damage where the records then meet a damaged page. So the bytes that it replaces
 * are kept until the transaction commits, and a store that is refused gets them back.
 */
#include "base/platform.h"
#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "lock.h"
#include "wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAL_PATH_MAX 4352
#define META_AT 16
#define META_TXN_AT 128
#define PAGE_FLAGS_AT 10
#define PAGE_IS_META 8

/* ---- writing to the data file before LMDB maps it ---- */

/* Each entry: the bytes that were there, where they were, and how many. */
int larder__wal_overwrite(larder__wal *wal, int data_file, larder_bytes bytes, uint64_t at) {
    uint64_t entry_end[2] = {at, 0};
    struct stat info;
    if (wal->undo_size == 0 && fstat(data_file, &info) != 0) return errno;
    if (!larder__buffer_reserve(&wal->undo, bytes.size_bytes + sizeof entry_end)) return ENOMEM;
    uint8_t *before = wal->undo.data + wal->undo.size_bytes;
    ssize_t size = larder__file_read(data_file, before, bytes.size_bytes, (off_t)at);
    if (size < 0) return errno;
    if (wal->undo_size == 0) wal->undo_size = (int64_t)info.st_size;
    entry_end[1] = (uint64_t)size;
    memcpy(before + size, entry_end, sizeof entry_end);
    wal->undo.size_bytes += (size_t)size + sizeof entry_end;
    return larder__wal_write_at(data_file, bytes.data, bytes.size_bytes, at);
}

/* From here on opening writes to the store what it is to be. */
static void forget_undo(larder_env *env) {
    larder__buffer_free(&env->wal->undo);
    env->wal->undo_size = 0;
    env->short_size_bytes = 0;
}

void larder__wal_undo(larder_env *env) {
    larder__wal *wal = env->wal;
    char path[WAL_PATH_MAX];
    uint64_t entry_end[2];
    if (wal == NULL || (env->flags & LARDER_OPEN_READ_ONLY) != 0) return;
    int64_t size = wal->undo_size != 0 ? wal->undo_size : (int64_t)env->short_size_bytes;
    if (size == 0) return;
    snprintf(path, sizeof path, "%s/data.mdb", env->path);
    int file = open(path, O_RDWR | O_CLOEXEC), code = file < 0 ? errno : 0;
    while (code == 0 && wal->undo.size_bytes > 0) {
        wal->undo.size_bytes -= sizeof entry_end;
        memcpy(entry_end, wal->undo.data + wal->undo.size_bytes, sizeof entry_end);
        wal->undo.size_bytes -= (size_t)entry_end[1];
        code = larder__wal_write_at(file, wal->undo.data + wal->undo.size_bytes,
                                    (size_t)entry_end[1], entry_end[0]);
    }
    struct stat info;
    if (code == 0 && fstat(file, &info) != 0) code = errno;
    /* Only where it has another size: blocks that are allocated behind the end go otherwise. */
    if (code == 0 && info.st_size != (off_t)size && ftruncate(file, (off_t)size) != 0) code = errno;
    if (file >= 0) close(file);
    if (code != 0)
        larder__log(env, LARDER_LOG_ERROR, "%s could not be put back as it was: %s", path,
                    strerror(code));
    forget_undo(env);
}

/* ---- putting the checkpoint's map back ---- */

static int put_meta_back(larder__wal *wal, int data_file, uint64_t commit) {
    uint8_t page[META_AT + LARDER__WAL_META];
    uint64_t stamp = larder__wal_next_stamp(&wal->header, &wal->last);
    for (uint64_t number = commit;; number--) {
        memset(page, 0, META_AT);
        larder__store64(page, number % 2);
        page[PAGE_FLAGS_AT] = PAGE_IS_META;
        memcpy(page + META_AT, wal->header.meta, LARDER__WAL_META);
        larder__store64(page + META_AT + META_TXN_AT, number);
        larder__store64(page + META_AT + LARDER__WAL_STAMP_AT, stamp);
        int code = larder__wal_overwrite(wal, data_file, larder__bytes(page, sizeof page),
                                         number % 2 * wal->header.page_bytes);
        if (code != 0 || number + 1 == commit) return code;
    }
}

static int put_map_back(larder_env *env, int data_file) {
    larder__wal *wal = env->wal;
    uint64_t commit = wal->last.commit - (wal->last.commit != wal->header.commit);
    int code = larder__wal_restore_pages(env, data_file);
    return code == 0 ? put_meta_back(wal, data_file, commit) : code;
}

/* Whether a meta page is there that is not one, or not the checkpoint's under its number. */
static bool has_damaged_meta(const larder__wal_facts *facts) {
    for (int i = 0; i < 2; i++) {
        const larder__wal_meta_page *meta = &facts->metas[i];
        if (!meta->is_whole || (meta->commit == facts->header.commit && !meta->is_checkpoints))
            return true;
    }
    return false;
}

static int32_t restore_map(larder_env *env, const char *directory, larder_error *error) {
    larder__wal *wal = env->wal;
    larder__wal_facts facts;
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/data.mdb", directory);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return larder__fail(error, LARDER_E_CORRUPT,
                            "the write-ahead log of %s is there, and data.mdb is missing",
                            env->path);
    if (file < 0) return larder__file_fail(error, errno, "opening", path);
    int32_t status = larder__wal_look(wal->file, file, &facts, &wal->records, error);
    if (status != LARDER_OK) goto done;
    larder__wal_verdict verdict = larder__wal_judge(&facts);
    if (larder__wal_is_refused(verdict)) {
        status = larder__wal_refuse(&facts, verdict, env->path, error);
        goto done;
    }
    wal->last = facts.last;
    wal->last_is_known = true;
    wal->is_recovering = verdict == LARDER__WAL_RECOVER;
    wal->was_damaged = has_damaged_meta(&facts);
    int code = wal->is_recovering ? put_map_back(env, file) : 0;
    if (code != 0) status = larder__file_fail(error, code, "restoring", path);
done:
    close(file);
    return status;
}

/* ---- opening the log ---- */

static larder__wal *new_wal(larder_env *env) {
    larder__wal *wal = larder__allocate(&env->allocator, sizeof *wal);
    if (wal == NULL) return NULL;
    memset(wal, 0, sizeof *wal);
    wal->file = -1;
    wal->capacity_wanted = env->log_bytes;
    wal->part_bytes = LARDER__WAL_PART;
    wal->records.allocator = wal->undo.allocator = &env->allocator;
    pthread_mutex_init(&wal->lock, NULL);
    return wal;
}

/* A log that is unused has no records, and no header was written after it. */
static int32_t check_unused(larder_env *env, larder_error *error) {
    larder__wal_facts facts;
    int32_t status = larder__wal_look(env->wal->file, -1, &facts, &env->wal->records, error);
    larder__wal_verdict verdict =
        status == LARDER_OK ? larder__wal_judge(&facts) : LARDER__WAL_CLEAN;
    return larder__wal_is_refused(verdict) ? larder__wal_refuse(&facts, verdict, env->path, error)
                                           : status;
}

int32_t larder__wal_open(larder_env *env, const char *directory, bool is_alone,
                         larder_error *error) {
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, LARDER__WAL_FILE);
    larder__wal *wal = env->wal = new_wal(env);
    if (wal == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the log");
    wal->is_alone = is_alone;
    wal->file = open(path, O_RDWR | O_CLOEXEC);
    if (wal->file < 0)
        return errno == ENOENT ? LARDER_OK : larder__file_fail(error, errno, "opening", path);
    int32_t status = larder__wal_read_header(wal->file, &wal->header, error);
    if (status == LARDER_NOT_FOUND) return LARDER_OK; /* see begin_log */
    if (status != LARDER_OK) return status;
    wal->has_header = true;
    wal->oldest = wal->header.sequence;
    if (!is_alone) return LARDER_OK;
    if (wal->header.state == LARDER__WAL_UNUSED) return check_unused(env, error);
    wal->salt = wal->header.salt;
    wal->is_closed = wal->header.state == LARDER__WAL_CLOSED;
    return restore_map(env, directory, error);
}

/* ---- applying records ---- */

static int apply_change(larder_env *env, MDB_txn *txn, const larder__wal_change *change) {
    MDB_val key = {change->key.size_bytes, (void *)(uintptr_t)change->key.data};
    MDB_val value = {change->value.size_bytes, (void *)(uintptr_t)change->value.data};
    if (change->kind == LARDER__WAL_PAGE) return 0; /* was put back */
    if (change->kind == LARDER__WAL_PUT)
        return larder__mdb_put(txn, env->dbis[change->table], &key, &value, 0);
    int code = larder__mdb_del(txn, env->dbis[change->table], &key, NULL);
    return code == MDB_NOTFOUND ? MDB_CORRUPTED : code;
}

static int32_t apply_records(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    MDB_txn *txn;
    const uint8_t *at = wal->records.data, *end = at + wal->records.size_bytes;
    larder__wal_change change;
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code == 0) {
        if (mdb_txn_id(txn) != wal->last.commit) code = MDB_CORRUPTED;
        while (code == 0 && at < end)
            code = larder__wal_next_change(&at, end, &change) ? apply_change(env, txn, &change)
                                                              : MDB_CORRUPTED;
        if (code == 0) {
            forget_undo(env);
            code = larder__mdb_txn_commit(txn);
        } else {
            larder__mdb_txn_abort(txn);
        }
    }
    if (code == EIO && larder__file_lacks_room(env, LARDER__NO_ROOM_BYTES)) code = ENOSPC;
    wal->recovered_count = wal->last.commit - wal->header.commit;
    larder__buffer_free(&wal->records);
    if (code == MDB_CORRUPTED)
        return larder__fail(
            error, LARDER_E_CORRUPT,
            "a page of %s is damaged, and the write-ahead log cannot be applied: the "
            "store is left as it is",
            env->path);
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "applying the write-ahead log");
}

/* ---- beginning a log ---- */

static int32_t set_format(larder_env *env, larder_error *error) {
    MDB_txn *txn;
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code == 0) {
        code = larder__format_write(env, txn);
        if (code == 0)
            code = larder__mdb_txn_commit(txn);
        else
            larder__mdb_txn_abort(txn);
    }
    env->stored_format = LARDER_FORMAT_VERSION;
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "writing the format's number");
}

int32_t larder__wal_is_missing(const larder_env *env, larder_error *error) {
    return larder__fail(error, LARDER_E_CORRUPT,
                        "%s/%s is missing or damaged: without it the store is not known to be "
                        "whole, and is left as it is",
                        env->path, LARDER__WAL_FILE);
}

/* So that a log goes with no copy of its data file. LMDB does not write to these bytes. 0 or errno. */
static int stamp_metas(larder_env *env) {
    MDB_stat pages;
    int file, code = mdb_env_get_fd(env->mdb, &file);
    uint64_t salt = larder__wal_new_salt();
    uint8_t stamp[8];
    larder__store64(stamp, salt);
    mdb_env_stat(env->mdb, &pages);
    for (uint64_t i = 0; i < 2 && code == 0; i++)
        code = larder__wal_write_at(file, stamp, sizeof stamp,
                                    i * pages.ms_psize + META_AT + LARDER__WAL_STAMP_AT);
    return code;
}

/* The log is on disk, unused, before the format's number says that there is one, and that is on
 * disk before the log is used. LMDB flushes by itself here. */
static int32_t begin_log(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", env->path, LARDER__WAL_FILE);
    if (!wal->has_header && env->stored_format > 1) return larder__wal_is_missing(env, error);
    forget_undo(env);
    if (wal->file < 0) wal->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (wal->file < 0) return larder__file_fail(error, errno, "making", path);
    int code = mdb_env_sync(env->mdb, 1);
    if (code == 0 && !wal->has_header) {
        memset(&wal->header, 0, sizeof wal->header);
        wal->header.state = LARDER__WAL_UNUSED;
        wal->header.sequence = 1;
        code = larder__wal_fill(wal->file, 0, LARDER__WAL_SMALLEST);
        if (code == 0) code = larder__wal_write_header(wal->file, &wal->header);
    } else if (code == 0) {
        code = larder__wal_fill(wal->file, LARDER__WAL_FIRST, LARDER__WAL_SMALLEST);
    }
    if (code != 0) return larder__file_fail(error, code, "making", path);
    wal->has_header = wal->header_is_flushed = true;
    wal->header.capacity_bytes = LARDER__WAL_SMALLEST;
    int32_t status = larder__file_sync_entries(env, error);
    if (status == LARDER_OK && env->stored_format < LARDER_FORMAT_VERSION)
        status = set_format(env, error);
    if (status == LARDER_OK && (code = stamp_metas(env)) != 0)
        status = larder__file_fail(error, code, "writing to", env->path);
    if (status == LARDER_OK) status = larder__wal_checkpoint_last(env, error);
    return status;
}

/* ---- with the tables open ---- */

/* The transaction that reads LMDB's table of free pages. */
static int begin_reader(larder_env *env) {
    if ((env->flags & (LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED)) != 0) return 0;
    int code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &env->wal->reader);
    if (code != 0)
        env->wal->reader = NULL;
    else
        mdb_txn_reset(env->wal->reader);
    return code;
}

/* The checkpoint is this process's. The header's state says nothing of what other processes will append. */
static int32_t begin_sharing(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    int code = wal->is_closed && !only_reads ? larder__wal_mark(env, LARDER__WAL_ACTIVE) : 0;
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    larder__lock_pin(env, wal->pin_sequence);
    return LARDER_OK;
}

int32_t larder__wal_recover(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    int32_t status = LARDER_OK;
    int code = begin_reader(env);
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    if (!wal->is_alone) forget_undo(env);
    if (!wal->has_header || wal->header.state == LARDER__WAL_UNUSED) {
        if (!only_reads)
            status = begin_log(env, error);
        else if (!wal->has_header && env->stored_format > LARDER__FORMAT_WITHOUT_LOG)
            status = larder__wal_is_missing(env, error);
    } else if (wal->is_alone) {
        code = mdb_env_set_flags(env->mdb, MDB_NOSYNC, 1);
        if (code == 0) code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &wal->pin);
        if (code != 0) return larder__fail_mdb(error, code, "reading the checkpoint");
        wal->pin_sequence = wal->header.sequence;
        if (wal->last.commit != wal->header.commit) status = apply_records(env, error);
        if (status == LARDER_OK) forget_undo(env);
        if (status == LARDER_OK && wal->is_recovering && !only_reads)
            status = larder__wal_checkpoint_last(env, error);
        else if (status == LARDER_OK && (env->flags & LARDER_OPEN_SHARED) != 0)
            status = begin_sharing(env, error);
        else if (status == LARDER_OK && !only_reads)
            wal->is_imaging = larder__wal_begin_images(env, wal->pin, wal->header.meta);
        if (wal->is_imaging) larder__wal_unpin(env);
        if (wal->is_recovering)
            env->opening.state =
                wal->was_damaged ? LARDER_OPENING_REPAIRED : LARDER_OPENING_RECOVERED;
        env->opening.recovered_count = wal->recovered_count;
        if (status == LARDER_OK && wal->was_damaged)
            larder__log(env, LARDER_LOG_WARNING, "a damaged meta page was replaced by the log's");
        if (status == LARDER_OK && wal->is_recovering)
            larder__log(env, LARDER_LOG_INFO,
                        "the store was not closed: recovered at commit %llu, %llu of them from "
                        "the log",
                        (unsigned long long)wal->last.commit,
                        (unsigned long long)wal->recovered_count);
    }
    if (status != LARDER_OK) return status;
    code = mdb_env_set_flags(env->mdb, MDB_NOSYNC, 1);
    wal->is_ready = code == 0;
    return code == 0 ? LARDER_OK : larder__fail_mdb(error, code, "opening the store");
}

/* ---- closing ---- */

void larder__wal_close(larder_env *env) {
    larder__wal *wal = env->wal;
    if (wal == NULL) return;
    MDB_txn *writing = NULL;
    larder__wal_wait(env);
    bool is_behind = wal->is_ready && wal->last_is_known &&
                     wal->last.commit != wal->header.commit && !wal->failed &&
                     !atomic_load(&env->writes_refused) && !atomic_load(&env->is_damaged) &&
                     (env->flags & LARDER_OPEN_READ_ONLY) == 0;
    bool is_relied_on = wal->pin != NULL && (env->flags & LARDER_OPEN_SHARED) != 0;
    if (env->mdb != NULL && (is_behind || is_relied_on) && !atomic_load(&env->is_damaged) &&
        larder__mdb_txn_begin(env->mdb, NULL, 0, &writing) != 0)
        writing = NULL;
    larder_error error;
    if (is_behind && writing != NULL && larder__wal_checkpoint(env, writing, &error) != LARDER_OK)
        larder__log(env, LARDER_LOG_WARNING, "closing: %s; the log keeps the commits",
                    error.message);
    if (wal->is_ready && wal->last_is_known && wal->last.commit == wal->header.commit &&
        wal->header.state == LARDER__WAL_ACTIVE && !wal->failed &&
        !atomic_load(&env->writes_refused) && !atomic_load(&env->is_damaged) &&
        (env->flags & (LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED)) == 0)
        larder__wal_mark(env, LARDER__WAL_CLOSED);
    larder__wal_unpin(env);
    if (wal->reader != NULL) larder__mdb_txn_abort(wal->reader);
    wal->reader = NULL;
    if (writing != NULL) larder__mdb_txn_abort(writing);
}

void larder__wal_release(larder_env *env) {
    larder__wal *wal = env->wal;
    if (wal == NULL) return;
    if (wal->file >= 0) close(wal->file);
    larder__buffer_free(&wal->records);
    larder__buffer_free(&wal->undo);
    larder__release(&env->allocator, wal->settled_pages);
    if (!larder__env_is_forked(env)) pthread_mutex_destroy(&wal->lock);
    larder__release(&env->allocator, wal);
    env->wal = NULL;
}

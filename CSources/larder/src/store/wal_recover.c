/*
 * wal_recover.c - opening: what the map and the log say together.
 *
 *   no log                 a store of format 1, or one whose creation did not end: a log is made,
 *                          and the format's number says so afterwards
 *   log unused             a copy: the data file stands alone, and the log begins
 *   others use the store   the map is theirs and whole: nothing is put back
 *   no records, and the    clean
 *   checkpoint's meta page
 *   anything else          recovered: the images of pages and the meta page are put back, the
 *                          records are applied in one transaction, and a checkpoint is written
 *
 * The meta page is put back with the number of the commit before the last record's, so that the
 * one transaction gets that record's number: commit numbers never go back. Until the checkpoint
 * at its end the header and the records stay as they are, and recovery can begin again.
 *
 * The data file belongs to the log when the root page that the checkpoint refers to, or its image
 * in the log, has the checksum that the header gives.
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
#define META_VERSION_END 8
#define META_FREE_AT 24
#define META_TABLES_AT 72
#define RECORD_KIND_END 6 /* of a table's record: the size of a page or 0, flags */
#define META_ROOT_AT 112
#define META_TXN_AT 128
#define PAGE_FLAGS_AT 10
#define PAGE_IS_META 8

/* ---- putting the checkpoint's meta page back ---- */

typedef struct metas {
    bool are_whole;  /* LMDB takes both for meta pages */
    bool is_current; /* it would begin from the checkpoint */
    uint64_t newest; /* the highest commit that one of them gives */
} metas;

/* Whether what never changes in a store is the same in two meta structures: what LMDB looks at first,
 * the size of a page and the kinds of its two tables. */
static bool are_alike(const uint8_t *meta, const uint8_t *other) {
    return memcmp(meta, other, META_VERSION_END) == 0 &&
           memcmp(meta + META_FREE_AT, other + META_FREE_AT, RECORD_KIND_END) == 0 &&
           memcmp(meta + META_TABLES_AT, other + META_TABLES_AT, RECORD_KIND_END) == 0;
}

/* The data file's meta pages beside the checkpoint's. 0 or errno. */
static int read_metas(int data_file, const larder__wal_header *header, metas *found) {
    uint8_t pages[2][META_AT + LARDER__WAL_META];
    *found = (metas){.are_whole = true};
    for (int i = 0; i < 2; i++) {
        memset(pages[i], 0, sizeof pages[i]);
        if (larder__file_read(data_file, pages[i], sizeof pages[i],
                              (off_t)i * (off_t)header->page_bytes) < 0)
            return errno;
        bool is_whole =
            pages[i][PAGE_FLAGS_AT] == PAGE_IS_META && are_alike(pages[i] + META_AT, header->meta);
        uint64_t commit = larder__load64(pages[i] + META_AT + META_TXN_AT);
        found->are_whole = found->are_whole && is_whole;
        if (is_whole && commit > found->newest) found->newest = commit;
    }
    const uint8_t *own = pages[header->commit % 2] + META_AT;
    const uint8_t *other = pages[1 - header->commit % 2] + META_AT;
    found->is_current = found->are_whole && memcmp(own, header->meta, LARDER__WAL_META) == 0 &&
                        larder__load64(other + META_TXN_AT) < header->commit;
    return 0;
}

static int put_meta_back(int data_file, const larder__wal_header *header, uint64_t commit) {
    uint8_t page[META_AT + LARDER__WAL_META];
    for (uint64_t number = commit;; number--) {
        memset(page, 0, META_AT);
        larder__store64(page, number % 2);
        page[PAGE_FLAGS_AT] = PAGE_IS_META;
        memcpy(page + META_AT, header->meta, LARDER__WAL_META);
        larder__store64(page + META_AT + META_TXN_AT, number);
        off_t at = (off_t)(number % 2 * header->page_bytes);
        ssize_t n;
        do
            n = pwrite(data_file, page, sizeof page, at);
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof page) return n < 0 ? errno : EIO;
        if (number + 1 == commit) return 0;
    }
}

/* Reads the records to the end of the log. A power cut can only tear the last one: with one of a
 * later commit behind, those between are damaged, and were acknowledged. */
static int32_t read_records(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    larder__wal_place place = {wal->header.commit, wal->header.start, wal->header.chain};
    int32_t status;
    do {
        wal->last = place;
        status = larder__wal_next(wal->file, &wal->header, &place, &wal->records, error);
    } while (status == LARDER_OK);
    if (status < 0) return status;
    wal->last_is_known = true;
    if (wal->is_closed && wal->last.commit == wal->header.commit) return LARDER_OK;
    larder__buffer scratch = {.allocator = &env->allocator};
    bool is_damaged = false;
    status = larder__wal_find_later(wal->file, wal->last.commit, &scratch, &is_damaged, error);
    larder__buffer_free(&scratch);
    if (status != LARDER_OK) return status;
    if (is_damaged)
        return larder__fail(error, LARDER_E_CORRUPT,
                            "the write-ahead log of %s is damaged: commit %llu cannot be read, "
                            "and later ones can; the store is left as it is",
                            env->path, (unsigned long long)wal->last.commit + 1);
    return LARDER_OK;
}

static int32_t restore_map(larder_env *env, const char *directory, larder_error *error) {
    larder__wal *wal = env->wal;
    const larder__wal_header *header = &wal->header;
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/data.mdb", directory);
    int32_t status = read_records(env, error);
    if (status != LARDER_OK) return status;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return larder__fail(error, LARDER_E_CORRUPT,
                            "the write-ahead log of %s is there, and data.mdb is missing",
                            env->path);
    if (file < 0) return larder__file_fail(error, errno, "opening", path);
    uint32_t root_checksum;
    larder_bytes image;
    metas found = {.is_current = false};
    int code = larder__wal_root_checksum(file, header->meta, header->page_bytes, &root_checksum);
    if (larder__wal_find_image(wal, larder__load64(header->meta + META_ROOT_AT), &image))
        root_checksum = larder__crc32c(1, image.data, image.size_bytes);
    if (code == 0 && root_checksum != header->root_checksum) {
        status = larder__fail(error, LARDER_E_CORRUPT,
                              "%s is damaged or is not the write-ahead log's: it lacks the last "
                              "checkpoint's pages, and is left as it is",
                              path);
        goto done;
    }
    if (code == 0) code = read_metas(file, header, &found);
    /* A commit is in the log before it is in the map, but for one that is a checkpoint. */
    if (code == 0 && found.newest > wal->last.commit + 1) {
        status = larder__fail(error, LARDER_E_CORRUPT,
                              "%s has commit %llu, and its write-ahead log ends with %llu: it is "
                              "left as it is",
                              path, (unsigned long long)found.newest,
                              (unsigned long long)wal->last.commit);
        goto done;
    }
    wal->was_damaged = code == 0 && !found.are_whole;
    wal->is_recovering = !found.is_current || wal->last.commit != header->commit;
    uint64_t commit = wal->last.commit - (wal->last.commit != header->commit);
    if (code == 0 && wal->is_recovering) code = larder__wal_restore_pages(env, file);
    if (code == 0 && wal->is_recovering) code = put_meta_back(file, header, commit);
    status = code == 0 ? LARDER_OK : larder__file_fail(error, code, "restoring", path);
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
    wal->records.allocator = &env->allocator;
    pthread_mutex_init(&wal->lock, NULL);
    return wal;
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
    if (wal->header.state == LARDER__WAL_UNUSED || !is_alone) return LARDER_OK;
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
        if (code == 0)
            code = larder__mdb_txn_commit(txn);
        else
            larder__mdb_txn_abort(txn);
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
    char kind = LARDER__KIND_FORMAT;
    MDB_val key = {1, &kind}, value;
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &txn);
    if (code == 0) {
        uint8_t row[64];
        code = larder__mdb_get(txn, env->dbis[LARDER__CATALOG], &key, &value);
        if (code == 0 && value.mv_size > sizeof row) code = MDB_CORRUPTED;
        if (code == 0) {
            memcpy(row, value.mv_data, value.mv_size);
            larder__store32(row + LARDER__FORMAT_AT, LARDER_FORMAT_VERSION);
            value.mv_data = row;
            code = larder__mdb_put(txn, env->dbis[LARDER__CATALOG], &key, &value, 0);
        }
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

/* The log is on disk, unused, before the format's number says that there is one, and that is on
 * disk before the log is used. LMDB flushes by itself here. */
static int32_t begin_log(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    char path[WAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", env->path, LARDER__WAL_FILE);
    if (!wal->has_header && env->stored_format > 1) return larder__wal_is_missing(env, error);
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

int32_t larder__wal_recover(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    bool only_reads = (env->flags & LARDER_OPEN_READ_ONLY) != 0;
    int32_t status = LARDER_OK;
    int code = begin_reader(env);
    if (code != 0) return larder__fail_mdb(error, code, "opening the store");
    if (!wal->has_header || wal->header.state == LARDER__WAL_UNUSED) {
        status = begin_log(env, error);
    } else if (wal->is_alone) {
        code = mdb_env_set_flags(env->mdb, MDB_NOSYNC, 1);
        if (code == 0) code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &wal->pin);
        if (code != 0) return larder__fail_mdb(error, code, "reading the checkpoint");
        wal->pin_sequence = wal->header.sequence;
        /* The state says nothing of what other processes will append. */
        if (wal->is_closed && (env->flags & LARDER_OPEN_SHARED) != 0 && !only_reads &&
            (code = larder__wal_mark(env, LARDER__WAL_ACTIVE)) != 0)
            return larder__fail_mdb(error, code, "opening the store");
        if (wal->last.commit != wal->header.commit) status = apply_records(env, error);
        if (status == LARDER_OK && wal->is_recovering && !only_reads)
            status = larder__wal_checkpoint_last(env, error);
        else if (status == LARDER_OK && (env->flags & LARDER_OPEN_SHARED) != 0)
            larder__lock_pin(env, wal->pin_sequence);
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
            larder__log(env, LARDER_LOG_WARNING,
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
    larder__release(&env->allocator, wal->settled_pages);
    if (!larder__env_is_forked(env)) pthread_mutex_destroy(&wal->lock);
    larder__release(&env->allocator, wal);
    env->wal = NULL;
}

/* ---- reading without writing ---- */

int32_t larder__wal_is_clean(const char *directory, bool *is_clean, bool *has_log,
                             larder_error *error) {
    char path[WAL_PATH_MAX];
    larder__wal_header header;
    metas found;
    *is_clean = true;
    *has_log = false;
    snprintf(path, sizeof path, "%s/%s", directory, LARDER__WAL_FILE);
    int log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), data = -1, code = 0;
    if (log < 0)
        return errno == ENOENT ? LARDER_OK : larder__file_fail(error, errno, "opening", path);
    int32_t status = larder__wal_read_header(log, &header, error);
    *has_log = status == LARDER_OK;
    if (status == LARDER_OK && header.state != LARDER__WAL_UNUSED) {
        larder__wal_place place = {header.commit, header.start, header.chain};
        status = larder__wal_next(log, &header, &place, NULL, error);
        *is_clean = status == LARDER_END;
        snprintf(path, sizeof path, "%s/data.mdb", directory);
        data = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        code = data < 0 ? errno : 0;
        if (code == 0 && *is_clean) code = read_metas(data, &header, &found);
        if (code == 0 && *is_clean) *is_clean = found.is_current;
        if (code != 0) status = larder__file_fail(error, code, "reading", path);
    }
    close(log);
    if (data >= 0) close(data);
    return status < 0 ? status : LARDER_OK;
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

int32_t larder__wal_copy_aside(const larder_env *env, char path[LARDER__MEMORY_PATH_MAX],
                               larder_error *error) {
    static const char *const files[] = {"data.mdb", LARDER__WAL_FILE};
    char from[WAL_PATH_MAX], to[WAL_PATH_MAX];
    int32_t status = larder__file_make_temporary(path, error);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == LARDER_OK; i++) {
        snprintf(from, sizeof from, "%s/%s", env->path, files[i]);
        snprintf(to, sizeof to, "%s/%s", path, files[i]);
        int code = copy_file(from, to);
        if (code != 0) {
            status = larder__file_fail(error, code, "copying to recover it for reading", from);
            larder__file_remove_memory(path);
        }
    }
    return status;
}

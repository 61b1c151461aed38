/*
 * wal_checkpoint.c - checkpoints: the map as of one commit is flushed, and a header refers to it.
 *
 *   captured    as LMDB's writer: its meta page, the end of the log, the free pages (wal_pages.c);
 *               in a shared store also a read transaction of the commit (the new pin)
 *   flushed     the data file; the log where it grows; then the header, which is the moment from
 *               which recovery begins at this commit
 *   released    the old pin, and the log's space before the new start
 *
 * In a store of one process a thread of its own does the second and third step, so that writers
 * go on; it ends with its checkpoint. A store that is shared does all steps as LMDB's writer.
 *
 * Images protect the pages of the checkpoint in a store of one process, from the capture on: a page
 * of the checkpoint before that is still in use is one of the new checkpoint's as well. A commit
 * that replaced too many pages ends that for this checkpoint: a pin of that commit follows, and
 * the next checkpoint is due when enough pages were written. While a checkpoint is being written
 * such a pin becomes its own.
 *
 * A shared store has no images, because no process knows what the others have put into the log.
 * The pin belongs to the process that wrote the checkpoint. It holds a lock
 * named after the header's sequence for as long as it has the pin; LMDB's writer looks for that
 * lock, or has a pin that is as old or older. Where there is neither, the process has died:
 * what it pinned may be written over by this transaction, so that a checkpoint comes first. A
 * dead process's place in LMDB's table of readers is given up by LMDB's writer alone (env.c).
 */
#include "base/platform.h"
#include "file.h"
#include "guard.h"
#include "lock.h"
#include "wal.h"

#include <errno.h>
#include <unistd.h>

#define META_AT 16 /* in its page */
#define META_ROOT_AT 112
#define META_TXN_AT 128
/* Of pages that were replaced and that a pin keeps: the data file grows by as much. */
#define SMALLEST_KEPT ((int64_t)1 << 20)
#define LARGEST_KEPT ((int64_t)8 << 20)
#define ROOMY_BYTES (1 << 20) /* a disk that has as much is no longer full */
#define COMMITS_BEHIND 32     /* of other processes, before a pin is looked at again */

static bool is_shared(const larder_env *env) { return (env->flags & LARDER_OPEN_SHARED) != 0; }

/* ---- capturing ---- */

int larder__wal_root_checksum(int data_file, const uint8_t meta[LARDER__WAL_META],
                              uint32_t page_bytes, uint32_t *checksum) {
    uint8_t page[65536];
    uint64_t root = larder__load64(meta + META_ROOT_AT);
    *checksum = 0;
    if (root == UINT64_MAX) return 0; /* no tables yet */
    if (page_bytes == 0 || page_bytes > sizeof page || root > (UINT64_C(1) << 47) / page_bytes)
        return EINVAL;
    ssize_t size = larder__file_read(data_file, page, page_bytes, (off_t)(root * page_bytes));
    if (size < 0) return errno;
    *checksum = larder__crc32c(1, page, (size_t)size);
    return 0;
}

int larder__wal_capture(larder_env *env, uint64_t commit, uint8_t meta[LARDER__WAL_META],
                        uint32_t *root_checksum) {
    int file;
    uint32_t page_bytes = env->page_bytes;
    int code = mdb_env_get_fd(env->mdb, &file);
    if (code != 0) return code;
    off_t at = (off_t)(commit % 2 * page_bytes + META_AT);
    ssize_t size = larder__file_read(file, meta, LARDER__WAL_META, at);
    if (size < 0) return errno;
    if (size != LARDER__WAL_META || larder__load64(meta + META_TXN_AT) != commit)
        return MDB_CORRUPTED;
    return larder__wal_root_checksum(file, meta, page_bytes, root_checksum);
}

/* Bytes between the start and the end, and what was left free before a turn. */
static uint64_t used_bytes(const larder__wal *wal) {
    const larder__wal_header *h = &wal->header;
    if (wal->last.commit == h->commit) return 0;
    return wal->last.end > h->start
               ? wal->last.end - h->start
               : h->capacity_bytes - LARDER__WAL_FIRST - (h->start - wal->last.end);
}

/* What is left is for the commits that are made while the checkpoint is written. */
static bool is_nearly_full(const larder__wal *wal) {
    return used_bytes(wal) >= (wal->header.capacity_bytes - LARDER__WAL_FIRST) / 4 * 3;
}

/* The pins stay: the open write transaction may still commit. */
static void give_up(larder_env *env, int code) {
    env->wal->failed = true;
    atomic_store(&env->writes_refused, true);
    larder__log(env, LARDER_LOG_ERROR,
                "a checkpoint failed (%s): writes are refused until the store is opened again, "
                "and nothing is lost",
                strerror(code));
}

/* The commit before the write transaction that is open. */
static int capture(larder_env *env, MDB_txn *writing, larder__wal_point *point) {
    larder__wal *wal = env->wal;
    wal->kept_bytes = 0;
    memset(point, 0, sizeof *point);
    MDB_txn *read = wal->reader;
    int code = !is_shared(env) ? larder__mdb_txn_renew(read)
                               : larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &read);
    if (code != 0) return code;
    pthread_mutex_lock(&wal->lock);
    point->is_log_full = wal->is_small || (wal->last_is_known && is_nearly_full(wal));
    pthread_mutex_unlock(&wal->lock);
    wal->is_small = false;
    point->place = wal->last;
    point->place.commit = mdb_txn_id(writing) - 1;
    if (mdb_txn_id(read) != point->place.commit)
        code = MDB_CORRUPTED;
    else
        code = larder__wal_capture(env, point->place.commit, point->meta, &point->root_checksum);
    if (read != wal->reader) {
        point->pin = read;
        if (code != 0) larder__mdb_txn_abort(read);
        return code;
    }
    if (code == 0) wal->is_imaging = larder__wal_begin_images(env, read, point->meta);
    mdb_txn_reset(read);
    if (code != 0 || wal->is_imaging) return code;
    code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &point->pin);
    if (code != 0) give_up(env, code); /* neither images nor a pin protect the last checkpoint */
    return code;
}

/* ---- writing ---- */

/* To twice the capacity, where that is wanted and a small part of the free space. */
static bool can_grow(const larder_env *env, const larder__wal_header *header) {
    uint64_t twice = 2 * header->capacity_bytes;
    return twice <= env->wal->capacity_wanted && !larder__file_lacks_room(env, 16 * twice);
}

bool larder__wal_can_grow(larder_env *env) {
    pthread_mutex_lock(&env->wal->lock);
    larder__wal_header header = env->wal->header;
    pthread_mutex_unlock(&env->wal->lock);
    return can_grow(env, &header);
}

/* Both files and the header. begins_anew: the log is empty from here, and records that may lie
 * behind its end are none of its own. 0 or errno. */
static int write_checkpoint(larder_env *env, larder__wal_point *point, bool begins_anew) {
    larder__wal *wal = env->wal;
    pthread_mutex_lock(&wal->lock);
    larder__wal_header next = wal->header;
    bool is_flushed = wal->header_is_flushed;
    pthread_mutex_unlock(&wal->lock);
    int code = is_flushed ? 0 : larder__sync_data(wal->file);
    if (code == 0) code = mdb_env_sync(env->mdb, 1);
    if (code != 0) return code;
    if (point->is_log_full && can_grow(env, &next)) {
        uint64_t capacity = 2 * next.capacity_bytes;
        code = larder__wal_fill(wal->file, next.capacity_bytes, capacity);
        if (code == 0)
            next.capacity_bytes = capacity;
        else if (code != ENOSPC && code != EDQUOT && code != EFBIG)
            return code;
    }
    next.state = LARDER__WAL_ACTIVE;
    next.sequence++;
    next.commit = point->place.commit;
    next.start = point->place.end;
    next.chain = point->place.chain;
    next.page_bytes = env->page_bytes;
    next.root_checksum = point->root_checksum;
    memcpy(next.meta, point->meta, sizeof next.meta);
    if (begins_anew) {
        next.start = LARDER__WAL_FIRST;
        next.salt = larder__wal_new_salt();
        next.chain = (uint32_t)next.salt;
    }
    code = larder__wal_write_header(wal->file, &next);
    if (code != 0) return code;
    if (is_shared(env)) larder__lock_pin(env, next.sequence);
    pthread_mutex_lock(&wal->lock);
    MDB_txn *old = wal->pin;
    uint64_t old_sequence = wal->pin_sequence;
    wal->header = next;
    wal->header_is_flushed = true;
    if (begins_anew || old != NULL) wal->oldest = next.sequence; /* it was not images alone */
    wal->pin = point->pin;
    point->pin = NULL;
    wal->is_running = false; /* from here on a pin is the header's */
    wal->pin_sequence = next.sequence;
    wal->seen_commit = next.commit;
    wal->checkpoint_count++;
    pthread_mutex_unlock(&wal->lock);
    if (old != NULL) {
        larder__mdb_txn_abort(old);
        if (is_shared(env)) larder__lock_unpin(env, old_sequence);
    }
    return 0;
}

/* With no checkpoint being written. */
int larder__wal_mark(larder_env *env, larder__wal_state state) {
    larder__wal *wal = env->wal;
    larder__wal_header next = wal->header;
    next.state = state;
    next.sequence++;
    int code = larder__wal_write_header(wal->file, &next);
    if (code != 0 && code != ENOSPC && code != EDQUOT) give_up(env, code);
    if (code != 0) return code;
    pthread_mutex_lock(&wal->lock);
    wal->header = next;
    wal->pin_sequence = next.sequence;
    pthread_mutex_unlock(&wal->lock);
    wal->is_closed = state == LARDER__WAL_CLOSED;
    return 0;
}

int32_t larder__wal_checkpoint(larder_env *env, MDB_txn *writing, larder_error *error) {
    larder__wal *wal = env->wal;
    larder__wal_point point;
    larder__wal_wait(env);
    if (atomic_load(&env->is_damaged))
        return larder__fail(error, LARDER_E_CORRUPT, "the data file of %s is damaged", env->path);
    if (wal->failed || atomic_load(&env->writes_refused))
        return larder__fail(error, LARDER_E_WRITES_REFUSED,
                            "an earlier sync failed: close and open the store again");
    int code = capture(env, writing, &point);
    if (code != 0) return larder__fail_mdb(error, code, "capturing a checkpoint");
    wal->deferred_count = 0; /* nothing is written before this checkpoint is */
    code = write_checkpoint(env, &point, true);
    if (code != 0) {
        give_up(env, code);
        if (point.pin != NULL) larder__mdb_txn_abort(point.pin);
        return larder__fail_mdb(error, code, "writing a checkpoint");
    }
    wal->is_closed = false;
    wal->salt = wal->header.salt;
    wal->last = (larder__wal_place){wal->header.commit, wal->header.start, wal->header.chain};
    wal->last_is_known = true;
    return LARDER_OK;
}

int32_t larder__wal_checkpoint_last(larder_env *env, larder_error *error) {
    MDB_txn *writing;
    int code = larder__mdb_txn_begin(env->mdb, NULL, 0, &writing);
    if (code != 0) return larder__fail_mdb(error, code, "beginning a checkpoint");
    int32_t status = larder__wal_checkpoint(env, writing, error);
    larder__mdb_txn_abort(writing);
    return status;
}

/* Where the log is full a checkpoint of the commit before makes room. */
static int32_t mark_whole(larder_env *env, MDB_txn *txn, larder_error *error) {
    uint64_t commit = mdb_txn_id(txn);
    int32_t status = larder__wal_append_mark(env, commit, error);
    if (status != LARDER_MORE) return status;
    status = larder__wal_checkpoint(env, txn, error);
    if (status == LARDER_OK) status = larder__wal_append_mark(env, commit, error);
    return status != LARDER_MORE ? status : larder__fail(error, LARDER_E_IO, "the log has no room");
}

/* LMDB flushes the pages before its meta page refers to them, and the header follows. */
int32_t larder__wal_commit_whole(larder_env *env, MDB_txn *txn, larder_error *error) {
    larder__wal_wait(env);
    int32_t status = mark_whole(env, txn, error);
    if (status != LARDER_OK) {
        larder__mdb_txn_abort(txn);
        return status;
    }
    int code = mdb_env_set_flags(env->mdb, MDB_NOSYNC, 0);
    if (code == 0) code = larder__mdb_txn_commit(txn);
    mdb_env_set_flags(env->mdb, MDB_NOSYNC, 1);
    if (code != 0) return larder__fail_mdb(error, code, "committing");
    status = larder__wal_checkpoint_last(env, error);
    /* Readers see the commit, and it may be gone after a crash: nobody is to see more of it. */
    if (status != LARDER_OK) atomic_store(&env->reads_refused, true);
    return status;
}

/* ---- the thread ---- */

static void *run_thread(void *argument) {
    larder_env *env = argument;
    larder__wal *wal = env->wal;
    int code = write_checkpoint(env, &wal->point, false);
    if (code != 0) give_up(env, code);
    pthread_mutex_lock(&wal->lock);
    wal->is_running = false;
    pthread_mutex_unlock(&wal->lock);
    return NULL;
}

static bool is_running(larder__wal *wal) {
    pthread_mutex_lock(&wal->lock);
    bool running = wal->is_running;
    pthread_mutex_unlock(&wal->lock);
    return running;
}

void larder__wal_wait(larder_env *env) {
    larder__wal *wal = env->wal;
    if (!wal->is_started) return;
    pthread_join(wal->thread, NULL);
    wal->is_started = false;
}

static int32_t start_thread(larder_env *env, MDB_txn *writing, larder_error *error) {
    larder__wal *wal = env->wal;
    larder__wal_wait(env); /* for one that has ended */
    if (!larder__wal_defer_images(wal, mdb_txn_id(writing) - 1) && larder__wal_pin(env) != 0)
        return larder__wal_checkpoint(env, writing, error);
    larder__wal_point point;
    int code = capture(env, writing, &point);
    if (code != 0) return larder__fail_mdb(error, code, "capturing a checkpoint");
    pthread_mutex_lock(&wal->lock);
    wal->point = point;
    wal->is_running = true;
    pthread_mutex_unlock(&wal->lock);
    if (pthread_create(&wal->thread, NULL, run_thread, env) == 0) {
        wal->is_started = true;
        return LARDER_OK;
    }
    run_thread(env);
    return LARDER_OK;
}

/* ---- room in the log, and in the map ---- */

uint64_t larder__wal_find_room(larder__wal *wal, uint64_t least_bytes, uint64_t *at) {
    pthread_mutex_lock(&wal->lock);
    const larder__wal_header *h = &wal->header;
    bool is_empty = wal->last.commit == h->commit;
    uint64_t end = wal->last.end, room;
    if (!is_empty && end <= h->start) {
        room = h->start - end;
    } else {
        room = end < h->capacity_bytes ? h->capacity_bytes - end : 0;
        if (room < least_bytes) {
            end = LARDER__WAL_FIRST;
            room = h->start - end;
        }
    }
    pthread_mutex_unlock(&wal->lock);
    *at = end;
    return room < least_bytes ? 0 : room;
}

uint64_t larder__wal_capacity(larder__wal *wal) {
    pthread_mutex_lock(&wal->lock);
    uint64_t capacity = wal->header.capacity_bytes;
    pthread_mutex_unlock(&wal->lock);
    return capacity;
}

/* Three quarters of the log are in use; or the log is too small for a record; or a pin keeps as much
 * as the store has rows. */
static bool is_due(larder_env *env) {
    larder__wal *wal = env->wal;
    pthread_mutex_lock(&wal->lock);
    int64_t limit = wal->row_bytes;
    if (limit < SMALLEST_KEPT) limit = SMALLEST_KEPT;
    if (limit > LARGEST_KEPT) limit = LARGEST_KEPT;
    bool due = wal->is_small || is_nearly_full(wal) || wal->kept_bytes >= limit;
    pthread_mutex_unlock(&wal->lock);
    return due;
}

/* ---- what a write transaction begins with ---- */

/* Of a store that is shared: takes over what other processes wrote. *is_safe: the checkpoint's
 * pages are pinned, and the end of the log is known. */
static int32_t follow(larder_env *env, uint64_t commit, bool *is_safe, larder_error *error) {
    larder__wal *wal = env->wal;
    larder__wal_header header;
    *is_safe = false;
    int32_t status = larder__wal_read_header(wal->file, &header, error);
    if (status < 0) return status;
    if (status == LARDER_NOT_FOUND)
        return larder__fail(error, LARDER_E_CORRUPT, "the write-ahead log has no valid header");
    if (header.sequence != wal->header.sequence || !wal->last_is_known) {
        /* Its writer may have died before it was flushed. */
        int code = larder__lock_is_pinned(env, header.sequence) ? 0 : larder__sync_data(wal->file);
        if (code != 0) return larder__fail_mdb(error, code, "flushing the write-ahead log");
        pthread_mutex_lock(&wal->lock);
        wal->header = header;
        wal->oldest = header.sequence;
        pthread_mutex_unlock(&wal->lock);
        wal->salt = header.salt;
        wal->last = (larder__wal_place){header.commit, header.start, header.chain};
        wal->last_is_known = true;
    }
    if (wal->pin == NULL && !larder__lock_is_pinned(env, header.sequence)) return LARDER_OK;
    while (wal->last.commit < commit && status == LARDER_OK)
        status = larder__wal_next(wal->file, &header, &wal->last, NULL, error);
    if (status < 0) return status;
    *is_safe = wal->last.commit == commit;
    return LARDER_OK;
}

int32_t larder__wal_begin(larder_txn *txn, larder_error *error) {
    larder_env *env = txn->env;
    larder__wal *wal = env->wal;
    txn->redo.rest.size_bytes = 0;
    txn->redo.written_bytes = 0;
    txn->redo.is_given_up = false;
    if (wal == NULL) return LARDER_OK;
    if (wal->without_parts > 0) wal->without_parts--;
    uint64_t commit = txn->commit - 1;
    bool is_safe = wal->last_is_known && wal->last.commit == commit;
    if (is_shared(env)) {
        int32_t status = follow(env, commit, &is_safe, error);
        if (status != LARDER_OK) return status;
    }
    if (!is_safe) return larder__wal_checkpoint(env, txn->mdb, error);
    /* On a full disk what was removed makes room at once, also what was removed while an earlier
     * checkpoint was being written. A quota does not show in the room that the disk has. */
    wal->is_cramped =
        env->lacks_reserve || (wal->is_cramped && larder__file_lacks_room(env, ROOMY_BYTES));
    if (wal->is_cramped) larder__wal_wait(env);
    if (is_running(wal)) return LARDER_OK;
    if (wal->is_cramped && wal->last.commit != wal->header.commit)
        return larder__wal_checkpoint(env, txn->mdb, error);
    if (!is_due(env)) return LARDER_OK;
    return is_shared(env) ? larder__wal_checkpoint(env, txn->mdb, error)
                          : start_thread(env, txn->mdb, error);
}

/* ---- pins ---- */

int larder__wal_pin(larder_env *env) {
    larder__wal *wal = env->wal;
    MDB_txn *pin;
    int code = larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &pin);
    if (code != 0) return code;
    wal->is_imaging = false;
    wal->deferred_count = 0;
    pthread_mutex_lock(&wal->lock);
    MDB_txn **place = wal->is_running ? &wal->point.pin : &wal->pin;
    bool is_needed = *place == NULL; /* an older one keeps as much */
    if (is_needed) *place = pin;
    pthread_mutex_unlock(&wal->lock);
    if (!is_needed) larder__mdb_txn_abort(pin);
    return 0;
}

uint32_t larder__wal_reader_count(larder_env *env) {
    larder__wal *wal = env->wal;
    if (wal == NULL) return 0;
    pthread_mutex_lock(&wal->lock);
    uint32_t count = (uint32_t)(wal->pin != NULL) + (wal->point.pin != NULL);
    pthread_mutex_unlock(&wal->lock);
    return count + (wal->reader != NULL);
}

/* Others may rely on the pin of the current checkpoint: as LMDB's writer only. */
void larder__wal_unpin(larder_env *env) {
    larder__wal *wal = env->wal;
    pthread_mutex_lock(&wal->lock);
    MDB_txn *pins[] = {wal->pin, wal->point.pin};
    uint64_t sequence = wal->pin_sequence;
    wal->pin = wal->point.pin = NULL;
    pthread_mutex_unlock(&wal->lock);
    if (pins[0] != NULL && is_shared(env)) larder__lock_unpin(env, sequence);
    for (int i = 0; i < 2; i++)
        if (pins[i] != NULL) larder__mdb_txn_abort(pins[i]);
}

void larder__wal_saw_commit(larder_env *env, uint64_t commit) {
    larder__wal *wal = env->wal;
    larder__wal_header header;
    pthread_mutex_lock(&wal->lock);
    bool is_far = wal->pin != NULL && commit >= wal->seen_commit + COMMITS_BEHIND;
    if (is_far) wal->seen_commit = commit;
    pthread_mutex_unlock(&wal->lock);
    if (!is_far || pthread_mutex_trylock(&env->writer) != 0) return;
    if (larder__wal_read_header(wal->file, &header, NULL) == LARDER_OK &&
        header.sequence > wal->pin_sequence)
        larder__wal_unpin(env);
    pthread_mutex_unlock(&env->writer);
}

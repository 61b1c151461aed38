/*
 * wal_record.c - the record of a transaction's changes, and appending it.
 *
 * A record larger than a part is written to the free space behind the log's end while it grows,
 * whole blocks at a time; only what follows them is in memory. Its head, with the checksum of all
 * of it, is written when the transaction commits. Until then no record is there: the first block
 * has zeros in place of the head.
 *
 * A record that outgrows its space is given up, and its commit becomes a checkpoint by itself; then a mark
 * takes the record's place before LMDB commits, so that a later commit than the log's last one in the map
 * is never a record that was lost. Where the log has no space of a few parts, a record stays in memory and
 * is given up earlier.
 *
 * Rejected: trying it with every large record. A store whose commits are all too large would write
 * each of them twice, so that parts are tried again some transactions after one that was.
 */
#include "wal.h"

#include "base/platform.h"

#include <errno.h>

#define PARTS_AT_LEAST 4               /* of free space, for a record that is written in parts */
#define RECORD_MAX (UINT64_C(2) << 20) /* beyond it, flushing the map is as fast */
#define MEMORY_MAX (UINT64_C(1) << 20) /* of a record that is not */
#define PARTS_AGAIN_AFTER 16           /* transactions, when a record was too large */

/* ---- growing ---- */

static bool give_up(larder__redo *redo) {
    redo->is_given_up = true;
    redo->written_bytes = 0;
    larder__buffer_free(&redo->rest);
    return false;
}

/* Finds space for a record that is written in parts, none of which is written yet. */
static bool find_place(larder__wal *wal, larder__redo *redo) {
    if (wal->without_parts > 0) return false;
    redo->room_bytes = larder__wal_find_room(wal, PARTS_AT_LEAST * wal->part_bytes, &redo->at);
    if (redo->room_bytes > RECORD_MAX) redo->room_bytes = RECORD_MAX;
    return redo->room_bytes > 0;
}

/* Writes the whole blocks that are in memory. False: the record is given up. */
static bool write_part(larder__wal *wal, larder__redo *redo) {
    uint8_t *data = redo->rest.data;
    size_t size = redo->rest.size_bytes / LARDER__WAL_BLOCK * LARDER__WAL_BLOCK;
    if (size == 0) return true;
    if (larder__wal_write_at(wal->file, data, size, redo->at + redo->written_bytes) != 0)
        return give_up(redo);
    size_t head = redo->written_bytes == 0 ? LARDER__WAL_RECORD_HEAD : 0;
    uint32_t before = redo->written_bytes == 0 ? 0 : redo->checksum;
    redo->checksum = larder__crc32c(before, data + head, size - head);
    redo->written_bytes += size;
    wal->part_count++;
    redo->rest.size_bytes -= size;
    memmove(data, data + size, redo->rest.size_bytes);
    return true;
}

/* Before a change with which there is more than a part in memory. False: the record is given up. */
static bool grow(larder_txn *txn, size_t more) {
    larder__wal *wal = txn->env->wal;
    larder__redo *redo = &txn->redo;
    uint64_t size = larder__wal_whole_blocks(larder__wal_record_bytes(txn) + more);
    if (redo->written_bytes == 0 && !find_place(wal, redo)) {
        uint64_t room = larder__wal_capacity(wal) - LARDER__WAL_FIRST;
        if (size <= room && size <= MEMORY_MAX) return true;
        if (size > room) wal->is_small = larder__wal_can_grow(txn->env);
        return give_up(redo);
    }
    if (size <= redo->room_bytes) return write_part(wal, redo);
    wal->without_parts = PARTS_AGAIN_AFTER;
    return give_up(redo);
}

/* Makes room for a change in a record that is still kept. *is_kept: it is. */
static bool reserve(larder_txn *txn, size_t more, bool *is_kept) {
    larder__redo *redo = &txn->redo;
    larder__wal *wal = txn->env->wal;
    *is_kept = wal != NULL && !redo->is_given_up;
    if (*is_kept && redo->rest.size_bytes + more > wal->part_bytes) *is_kept = grow(txn, more);
    if (!*is_kept) return true;
    size_t head = larder__wal_record_bytes(txn) == 0 ? LARDER__WAL_RECORD_HEAD : 0;
    if (!larder__buffer_reserve(&redo->rest, head + more + LARDER__WAL_BLOCK)) return false;
    if (head > 0) memset(redo->rest.data, 0, head);
    redo->rest.size_bytes += head;
    return true;
}

/* ---- changes ---- */

static void note_bytes(larder__buffer *rest, larder_bytes bytes) {
    uint8_t *to = rest->data + rest->size_bytes;
    size_t size = larder__varint_put(to, bytes.size_bytes);
    if (bytes.size_bytes > 0) memcpy(to + size, bytes.data, bytes.size_bytes);
    rest->size_bytes += size + bytes.size_bytes;
}

static void note(larder_txn *txn, larder__table table, uint8_t kind, larder_bytes key) {
    larder__buffer *rest = &txn->redo.rest;
    rest->data[rest->size_bytes++] = (uint8_t)table;
    rest->data[rest->size_bytes++] = kind;
    note_bytes(rest, key);
}

bool larder__wal_put(larder_txn *txn, larder__table table, larder_bytes key, larder_bytes value) {
    bool is_kept;
    size_t more = 2 + 2 * LARDER__VARINT_MAX + key.size_bytes + value.size_bytes;
    if (!reserve(txn, more, &is_kept)) return false;
    if (is_kept) {
        note(txn, table, LARDER__WAL_PUT, key);
        note_bytes(&txn->redo.rest, value);
    }
    return true;
}

bool larder__wal_remove(larder_txn *txn, larder__table table, larder_bytes key) {
    bool is_kept;
    if (!reserve(txn, 2 + LARDER__VARINT_MAX + key.size_bytes, &is_kept)) return false;
    if (is_kept) note(txn, table, LARDER__WAL_REMOVE, key);
    return true;
}

bool larder__wal_note_image(larder_txn *txn, larder_bytes number, larder_bytes image) {
    size_t more = 2 + 2 * LARDER__VARINT_MAX + number.size_bytes + image.size_bytes;
    if (!larder__buffer_reserve(&txn->redo.rest, more + LARDER__WAL_BLOCK)) return false;
    note(txn, 0, LARDER__WAL_PAGE, number);
    note_bytes(&txn->redo.rest, image);
    return true;
}

void larder__wal_take_back(larder_txn *txn, uint64_t record_bytes) {
    if (larder__wal_record_bytes(txn) > record_bytes)
        txn->redo.rest.size_bytes = (size_t)(record_bytes - txn->redo.written_bytes);
}

/* ---- appending ---- */

/* *at: where the record goes. */
static bool has_room(larder_txn *txn, uint64_t *at) {
    const larder__redo *redo = &txn->redo;
    uint64_t size = larder__wal_whole_blocks(larder__wal_record_bytes(txn));
    if (redo->written_bytes == 0) return larder__wal_find_room(txn->env->wal, size, at) > 0;
    *at = redo->at;
    return size <= redo->room_bytes;
}

/* Adds the images that LMDB's next commit makes necessary, or pins the pages. LARDER_MORE: the
 * record does not fit. */
static int32_t complete_record(larder_txn *txn, uint64_t *at) {
    larder_env *env = txn->env;
    larder__wal *wal = env->wal;
    uint64_t changes = larder__wal_record_bytes(txn);
    wal->imaged_count = 0;
    if (wal->is_imaging) {
        bool is_whole = larder__wal_add_images(txn) == LARDER_OK;
        if (is_whole && has_room(txn, at)) return LARDER_OK;
        wal->is_small = is_whole && larder__wal_can_grow(env);
        wal->imaged_count = 0;
        larder__wal_take_back(txn, changes);
        if (larder__wal_pin(env) != 0) return LARDER_MORE; /* too many readers: a checkpoint */
    }
    return has_room(txn, at) ? LARDER_OK : LARDER_MORE;
}

/* All of a head but the checksum. */
static void fill_head(larder__wal *wal, uint8_t *head, uint64_t commit, uint64_t at,
                      uint64_t payload_bytes) {
    pthread_mutex_lock(&wal->lock);
    uint64_t oldest = wal->oldest;
    pthread_mutex_unlock(&wal->lock);
    larder__store32(head + 4, LARDER__WAL_MAGIC_RECORD);
    larder__store64(head + 8, wal->salt);
    larder__store64(head + 16, commit);
    larder__store64(head + 24, at);
    larder__store32(head + 32, wal->last.chain);
    larder__store64(head + 40, payload_bytes);
    larder__store64(head + 48, oldest);
}

/* Fills in the head, and returns the record's checksum. */
static uint32_t seal(const larder_txn *txn, uint8_t *head, uint64_t at) {
    const larder__redo *redo = &txn->redo;
    uint64_t payload = larder__wal_record_bytes(txn) - LARDER__WAL_RECORD_HEAD;
    fill_head(txn->env->wal, head, txn->commit, at, payload);
    uint32_t checksum;
    if (redo->written_bytes == 0) {
        checksum = larder__crc32c(0, head + 4, redo->rest.size_bytes - 4);
    } else {
        checksum = larder__crc32c_join(
            larder__crc32c(0, head + 4, LARDER__WAL_RECORD_HEAD - 4),
            larder__crc32c(redo->checksum, redo->rest.data, redo->rest.size_bytes), payload);
    }
    larder__store32(head, checksum);
    return checksum;
}

/* Behind the last record there may be one of the same commit, of a process that died or of a commit that
 * failed: where the next one goes elsewhere it must not be taken for that. 0 or errno. */
static int clear_end(larder__wal *wal, uint64_t at) {
    static const uint8_t blank[LARDER__WAL_RECORD_HEAD];
    uint64_t end = wal->last.end;
    if (at == end || end + sizeof blank > larder__wal_capacity(wal)) return 0;
    return larder__wal_write_at(wal->file, blank, sizeof blank, end);
}

/* What is in memory, and the head where its block has been written. 0 or errno. */
static int write_record(larder_txn *txn, uint64_t at) {
    larder__wal *wal = txn->env->wal;
    larder__redo *redo = &txn->redo;
    larder__buffer *rest = &redo->rest;
    uint8_t head[LARDER__WAL_RECORD_HEAD] = {0};
    size_t size = (size_t)larder__wal_whole_blocks(rest->size_bytes);
    uint32_t checksum = seal(txn, redo->written_bytes == 0 ? rest->data : head, at);
    if (size > 0) /* there is room: reserve */
        memset(rest->data + rest->size_bytes, 0, size - rest->size_bytes);
    redo->at = at;
    wal->next = (larder__wal_place){txn->commit, at + redo->written_bytes + size, checksum};
    int code = clear_end(wal, at);
    if (code == 0)
        code = larder__wal_write_at(wal->file, rest->data, size, at + redo->written_bytes);
    if (code == 0 && redo->written_bytes > 0)
        code = larder__wal_write_at(wal->file, head, sizeof head, at);
    return code;
}

/* What was written is on disk, or not: after a flush that failed nothing is known. */
static int32_t flush(larder_env *env, larder_error *error) {
    larder__wal *wal = env->wal;
    int code = larder__sync_data(wal->file);
    if (code == 0) return LARDER_OK;
    wal->failed = true;
    atomic_store(&env->writes_refused, true);
    larder__wal_fail(error, code, "flushing");
    return code == ENOSPC || code == EDQUOT ? LARDER_E_NO_SPACE : LARDER_E_IO;
}

int32_t larder__wal_append(larder_txn *txn, larder_error *error) {
    larder__wal *wal = txn->env->wal;
    if (txn->redo.is_given_up || larder__wal_record_bytes(txn) == 0) return LARDER_MORE;
    uint64_t at;
    int code = wal->is_closed ? larder__wal_mark(txn->env, LARDER__WAL_ACTIVE) : 0;
    if (code != 0) return larder__wal_fail(error, code, "writing to");
    int32_t status = complete_record(txn, &at);
    if (status == LARDER_MORE) {
        larder__wal_wait(txn->env);
        status = complete_record(txn, &at);
    }
    if (status == LARDER_MORE && txn->redo.written_bytes == 0) {
        status = larder__wal_checkpoint(txn->env, txn->mdb, error);
        if (status == LARDER_OK) status = complete_record(txn, &at);
    }
    if (status != LARDER_OK) return status;
    larder__wal_count_kept(txn);
    code = write_record(txn, at);
    if (code != 0) {
        if (code == EIO && larder__file_lacks_room(txn->env, LARDER__NO_ROOM_BYTES)) code = ENOSPC;
        larder__wal_withdraw(txn);
        return larder__wal_fail(error, code, "appending to");
    }
    return flush(txn->env, error);
}

int32_t larder__wal_append_mark(larder_env *env, uint64_t commit, larder_error *error) {
    larder__wal *wal = env->wal;
    uint8_t block[LARDER__WAL_BLOCK] = {0};
    uint64_t at;
    if (!wal->last_is_known || wal->last.commit + 1 != commit ||
        larder__wal_find_room(wal, sizeof block, &at) == 0)
        return LARDER_MORE;
    fill_head(wal, block, commit, at, 0);
    larder__store32(block, larder__crc32c(0, block + 4, LARDER__WAL_RECORD_HEAD - 4));
    int code = clear_end(wal, at);
    if (code == 0) code = larder__wal_write_at(wal->file, block, sizeof block, at);
    return code == 0 ? flush(env, error) : larder__wal_fail(error, code, "appending to");
}

void larder__wal_committed(larder_txn *txn) {
    larder__wal *wal = txn->env->wal;
    wal->last = wal->next;
    larder__wal_settle_images(wal);
}

void larder__wal_withdraw(larder_txn *txn) {
    static const uint8_t blank[LARDER__WAL_RECORD_HEAD];
    larder__wal *wal = txn->env->wal;
    if (larder__wal_write_at(wal->file, blank, sizeof blank, txn->redo.at) != 0 ||
        larder__sync_data(wal->file) != 0)
        larder__log(txn->env, LARDER_LOG_WARNING,
                    "the record of a failed commit could not be removed from the log");
}

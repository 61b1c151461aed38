/*
 * target.c - targets: what listeners asked the remote for, and how far its answer is known.
 *
 * A target, sealed, under its number; little-endian:
 *
 *   0      LRU epoch (4)
 *   4      state: 0 in use, 1 being removed (some of its documents are gone)
 *   5      the caller's flags (4)
 *   9      sequence number (8)
 *   17     snapshot version (9)
 *   26     limbo-free version (9)
 *   35     resume token size varint | resume token
 *          canonical id size varint | canonical id
 *          query, to the end
 *
 * The catalog has an empty row under (hash of the canonical id, target number) for each target
 * in use. Its documents are in target_document.c. A target being removed is found by the LRU
 * walker only, which goes on with it; putting the same id again first removes it in full.
 */
#include "target.h"
#include "store/catalog.h"

enum {
    EPOCH_AT = 0,
    STATE_AT = 4,
    FLAGS_AT = 5,
    SEQUENCE_AT = 9,
    SNAPSHOT_AT = 17,
    LIMBO_FREE_AT = 26,
    HEAD_BYTES = 35,
    STATE_IN_USE = 0,
    STATE_REMOVING = 1
};

/* A target's row taken apart. */
typedef struct target_row {
    uint32_t epoch;
    uint8_t state;
    larder_target target;
} target_row;

void larder__target_key(larder__key *key, int32_t target_id) {
    larder__key_clear(key);
    larder__key_number(key, (uint64_t)target_id);
}

static void canonical_key(larder__key *key, larder_bytes canonical_id, int32_t target_id) {
    uint8_t hash[16];
    larder__hash128(canonical_id, hash);
    larder__key_clear(key);
    larder__key_byte(key, LARDER__KIND_CANONICAL);
    larder__key_append(key, hash, sizeof hash);
    if (target_id > 0) larder__key_number(key, (uint64_t)target_id);
}

/* ---- the row ---- */

static bool take_sized(const uint8_t **at, const uint8_t *end, larder_bytes *bytes) {
    uint64_t size;
    size_t n = larder__varint_get(*at, end, &size);
    if (n == 0 || size > (uint64_t)(end - *at - (ptrdiff_t)n)) return false;
    *bytes = larder__bytes(*at + n, (size_t)size);
    *at += n + size;
    return true;
}

static bool parse_row(larder_bytes payload, int32_t target_id, target_row *row) {
    const uint8_t *at = payload.data, *end = at + payload.size_bytes;
    if (payload.size_bytes < HEAD_BYTES) return false;
    memset(row, 0, sizeof *row);
    row->epoch = larder__load32(at + EPOCH_AT);
    row->state = at[STATE_AT];
    larder_target *target = &row->target;
    target->target_id = target_id;
    target->flags = larder__load32(at + FLAGS_AT);
    target->sequence_number = (int64_t)larder__load64(at + SEQUENCE_AT);
    if (row->state > STATE_REMOVING ||
        !larder__time_get(at + SNAPSHOT_AT, &target->snapshot_version) ||
        !larder__time_get(at + LIMBO_FREE_AT, &target->limbo_free_version))
        return false;
    at += HEAD_BYTES;
    if (!take_sized(&at, end, &target->resume_token) ||
        !take_sized(&at, end, &target->canonical_id))
        return false;
    target->query = larder__bytes(at, (size_t)(end - at));
    return true;
}

static int32_t unseal_row(const larder_txn *txn, larder_bytes key, larder_bytes value,
                          int32_t target_id, target_row *row, larder_error *error) {
    larder_bytes payload;
    int32_t status = larder__unseal(txn, LARDER__TARGETS, key, value, &payload, error);
    if (status != LARDER_OK) return status;
    if (!parse_row(payload, target_id, row))
        return larder__corrupt(txn, LARDER__TARGETS, key, "malformed target", error);
    return LARDER_OK;
}

static int32_t read_row(const larder_txn *txn, int32_t target_id, target_row *row,
                        larder_error *error) {
    larder__key key;
    larder_bytes value;
    if (target_id <= 0) return LARDER_NOT_FOUND;
    larder__target_key(&key, target_id);
    int32_t status =
        larder__table_get(txn, LARDER__TARGETS, larder__key_bytes(&key), &value, error);
    if (status != LARDER_OK) return status;
    return unseal_row(txn, larder__key_bytes(&key), value, target_id, row, error);
}

/* Writes a row by way of txn->row; what it holds may be borrowed from the transaction. */
static int32_t write_row(larder_txn *txn, const target_row *row, larder_error *error) {
    const larder_target *target = &row->target;
    uint8_t head[HEAD_BYTES + LARDER__VARINT_MAX], canonical_size[LARDER__VARINT_MAX];
    larder__store32(head + EPOCH_AT, row->epoch);
    head[STATE_AT] = row->state;
    larder__store32(head + FLAGS_AT, target->flags);
    larder__store64(head + SEQUENCE_AT, (uint64_t)target->sequence_number);
    larder__time_put(head + SNAPSHOT_AT, target->snapshot_version);
    larder__time_put(head + LIMBO_FREE_AT, target->limbo_free_version);
    size_t head_size =
        HEAD_BYTES + larder__varint_put(head + HEAD_BYTES, target->resume_token.size_bytes);
    size_t varint_size = larder__varint_put(canonical_size, target->canonical_id.size_bytes);
    larder__buffer *out = &txn->row;
    out->size_bytes = 0;
    if (!larder__buffer_append(out, head, head_size) ||
        !larder__buffer_append(out, target->resume_token.data, target->resume_token.size_bytes) ||
        !larder__buffer_append(out, canonical_size, varint_size) ||
        !larder__buffer_append(out, target->canonical_id.data, target->canonical_id.size_bytes) ||
        !larder__buffer_append(out, target->query.data, target->query.size_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a target");
    larder__key key;
    larder__target_key(&key, target->target_id);
    larder_bytes payload = larder__bytes(out->data, out->size_bytes);
    return larder__table_put_sealed(txn, LARDER__TARGETS, larder__key_bytes(&key), &payload, 1,
                                    error);
}

/* ---- read ---- */

int32_t larder__target_exists(const larder_txn *txn, int32_t target_id, larder_error *error) {
    target_row row;
    int32_t status = read_row(txn, target_id, &row, error);
    if (status == LARDER_OK && row.state != STATE_IN_USE) return LARDER_NOT_FOUND;
    return status;
}

/* Hands a row to the caller, whose struct may be of a later version and longer. */
static void give(const target_row *row, larder_target *target) {
    size_t struct_bytes = target->struct_bytes;
    *target = row->target;
    target->struct_bytes = struct_bytes;
}

static int32_t check_struct(const larder_target *target, larder_error *error) {
    if (!target) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "target is NULL");
    if (target->struct_bytes < sizeof *target)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "struct_bytes of target is not set");
    return LARDER_OK;
}

int32_t larder_target_get(const larder_txn *txn, int32_t target_id, larder_target *target,
                          larder_error *error) {
    target_row row;
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = check_struct(target, error);
    if (status == LARDER_OK) status = read_row(txn, target_id, &row, error);
    if (status == LARDER_OK && row.state != STATE_IN_USE) status = LARDER_NOT_FOUND;
    if (status == LARDER_OK) give(&row, target);
    return status;
}

int32_t larder_target_next(const larder_txn *txn, int32_t after, larder_target *target,
                           larder_error *error) {
    larder__cursor cursor = {0};
    larder__key key;
    target_row row;
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = check_struct(target, error);
    if (status != LARDER_OK) return status;
    if (after == INT32_MAX) return LARDER_END;
    larder__target_key(&key, after < 0 ? 1 : after + 1);
    status = larder__cursor_open(txn, LARDER__TARGETS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
    while (status == LARDER_OK) {
        const uint8_t *at = larder__begin(cursor.key), *end = at + cursor.key.size_bytes;
        uint64_t number;
        if (!larder__key_read_number(&at, end, &number) || at != end || number > INT32_MAX) {
            status = larder__corrupt(txn, LARDER__TARGETS, cursor.key, "malformed key", error);
            break;
        }
        /* Also of a damaged target, so that a caller can go on behind it. */
        target->target_id = (int32_t)number;
        status = unseal_row(txn, cursor.key, cursor.value, (int32_t)number, &row, error);
        if (status != LARDER_OK) break;
        if (row.state == STATE_IN_USE) {
            give(&row, target);
            break;
        }
        status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status;
}

int32_t larder_target_find(const larder_txn *txn, larder_bytes canonical_id, int32_t *ids,
                           size_t capacity, size_t *id_count, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!id_count || !larder__is_room(ids, capacity) || !larder__is_input(canonical_id))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "canonical_id, ids or id_count is NULL");
    *id_count = 0;
    if (canonical_id.size_bytes > LARDER_NAME_MAX_BYTES) return LARDER_OK;
    canonical_key(&prefix, canonical_id, 0);
    status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix))) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        uint64_t number;
        target_row row;
        status = LARDER_NOT_FOUND;
        if (larder__key_read_number(&at, end, &number) && number <= INT32_MAX)
            status = read_row(txn, (int32_t)number, &row, error);
        if (status == LARDER_NOT_FOUND)
            status = larder__corrupt(txn, LARDER__CATALOG, cursor.key,
                                     "a canonical id leads to no target", error);
        if (status != LARDER_OK) break;
        if (larder__bytes_equal(row.target.canonical_id, canonical_id)) {
            if (*id_count < capacity) ids[*id_count] = (int32_t)number;
            (*id_count)++;
        }
        status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder_target_highest_id(const larder_txn *txn, int32_t *target_id, larder_error *error) {
    const larder__counters *counters;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!target_id) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "target_id is NULL");
    status = larder__txn_counters(txn, &counters, error);
    if (status == LARDER_OK) *target_id = (int32_t)counters->highest_target_id;
    return status;
}

int32_t larder__target_epoch(const larder_txn *txn, int32_t target_id, uint32_t *epoch,
                             larder_error *error) {
    target_row row;
    int32_t status = read_row(txn, target_id, &row, error);
    if (status == LARDER_OK) *epoch = row.epoch;
    return status;
}

/* ---- write ---- */

static int32_t check_target(const larder_target *target, larder_error *error) {
    int32_t status = check_struct(target, error);
    if (status != LARDER_OK) return status;
    if (target->target_id <= 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "target ids are above 0, not %d",
                            target->target_id);
    if (!larder__is_input(target->resume_token) || !larder__is_input(target->canonical_id) ||
        !larder__is_input(target->query))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "resume_token, canonical_id or query is NULL");
    if (!larder__time_is_valid(target->snapshot_version) ||
        !larder__time_is_valid(target->limbo_free_version))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a version of the target is no time");
    if (target->canonical_id.size_bytes > LARDER_NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE,
                            "the canonical id has %zu bytes; %d are allowed",
                            target->canonical_id.size_bytes, LARDER_NAME_MAX_BYTES);
    if (target->resume_token.size_bytes > LARDER_PAYLOAD_MAX_BYTES ||
        target->query.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE,
                            "the resume token or query has more than %d bytes",
                            LARDER_PAYLOAD_MAX_BYTES);
    return LARDER_OK;
}

static int32_t remove_some(larder_txn *txn, target_row *row, int64_t max_documents,
                           int64_t *removed, larder_error *error);

/* old: the row before, or NULL. Its canonical id is needed for a moment only. */
static int32_t put_rows(larder_txn *txn, const target_row *old, target_row *row,
                        larder_error *error) {
    const larder_target *target = &row->target;
    larder__key before, after;
    bool has_before = old != NULL && old->state == STATE_IN_USE;
    if (has_before) canonical_key(&before, old->target.canonical_id, target->target_id);
    canonical_key(&after, target->canonical_id, target->target_id);
    int32_t status = larder__target_note_use(txn, target->target_id, &row->epoch, error);
    if (status == LARDER_OK) status = write_row(txn, row, error);
    if (status != LARDER_OK) return status;
    bool is_same =
        has_before && larder__bytes_equal(larder__key_bytes(&before), larder__key_bytes(&after));
    if (has_before && !is_same) {
        status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&before), error);
        if (status < 0) return status;
    }
    if (!is_same) {
        status = larder__table_put(txn, LARDER__CATALOG, larder__key_bytes(&after),
                                   larder__bytes(NULL, 0), error);
        if (status != LARDER_OK) return status;
    }
    if (target->target_id > txn->counters.highest_target_id)
        txn->counters.highest_target_id = target->target_id;
    txn->changed = true;
    return LARDER_OK;
}

int32_t larder_target_put(larder_txn *txn, const larder_target *target, larder_error *error) {
    const larder__counters *counters;
    target_row old, row = {.state = STATE_IN_USE};
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_target(target, error);
    if (status != LARDER_OK) return status;
    status = larder__txn_counters(txn, &counters, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = read_row(txn, target->target_id, &old, error);
    if (status < 0) return larder__txn_note(txn, status);
    bool has_old = status == LARDER_OK;
    if (has_old && old.state == STATE_REMOVING) {
        int64_t removed = 0;
        status = remove_some(txn, &old, -1, &removed, error);
        if (status < 0) return larder__txn_note_partial(txn, status);
        has_old = false;
    }
    row.target = *target;
    status = put_rows(txn, has_old ? &old : NULL, &row, error);
    return larder__txn_note_partial(txn, status);
}

int32_t larder__target_set_epoch(larder_txn *txn, int32_t target_id, uint32_t epoch,
                                 larder_error *error) {
    target_row row;
    int32_t status = read_row(txn, target_id, &row, error);
    if (status != LARDER_OK || row.epoch == epoch) return status;
    row.epoch = epoch;
    return write_row(txn, &row, error);
}

/* Removes documents and, when none are left, the target; else marks it as being removed. */
static int32_t remove_some(larder_txn *txn, target_row *row, int64_t max_documents,
                           int64_t *removed, larder_error *error) {
    int32_t target_id = row->target.target_id;
    int32_t status = LARDER_OK;
    if (row->state == STATE_IN_USE) {
        larder__key canonical;
        canonical_key(&canonical, row->target.canonical_id, target_id);
        row->state = STATE_REMOVING;
        if (max_documents >= 0) status = write_row(txn, row, error);
        if (status == LARDER_OK)
            status =
                larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&canonical), error);
        if (status < 0) return status;
    }
    status = larder__target_drop_documents(txn, target_id, max_documents, removed, error);
    if (status != LARDER_OK) return status;
    larder__key key;
    larder__target_key(&key, target_id);
    return larder__table_remove(txn, LARDER__TARGETS, larder__key_bytes(&key), error);
}

int32_t larder__target_remove_some(larder_txn *txn, int32_t target_id, int64_t max_documents,
                                   int64_t *removed, larder_error *error) {
    target_row row;
    *removed = 0;
    int32_t status = read_row(txn, target_id, &row, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    if (max_documents < 0) max_documents = 0;
    status = remove_some(txn, &row, max_documents, removed, error);
    return larder__txn_note_partial(txn, status);
}

int32_t larder_target_remove(larder_txn *txn, int32_t target_id, larder_error *error) {
    target_row row;
    int64_t removed = 0;
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    status = read_row(txn, target_id, &row, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    bool was_in_use = row.state == STATE_IN_USE;
    status = remove_some(txn, &row, -1, &removed, error);
    if (status == LARDER_OK && !was_in_use) return LARDER_NOT_FOUND;
    return larder__txn_note_partial(txn, status);
}

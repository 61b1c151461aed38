/*
 * catalog.c - names and their numbers: collections, groups, users, long ids.
 *
 * Sealed rows of table catalog, by kind byte:
 *
 *   c  path key                -> number varint | path, when the key was cut
 *   d  collection number       -> group varint | found documents (8) | bytes (8) | path
 *   e  group id key form       -> number varint | group text
 *   f  group number, path key  -> collection number varint | path
 *   g  collection number, id   -> text of a long id
 *   h  user text               -> number varint
 *   i  user number             -> user text
 *
 * Numbers are never used twice. A collection loses its rows when nothing mentions it any more;
 * so does a long id. Groups and users keep theirs: they are as few as an application has
 * collection names and accounts.
 *
 * A path found once is remembered in the transaction structure ("memo"), which outlives its
 * transaction. A memo learned in snapshot m holds in snapshot s when no name changed between
 * them: in one process that is catalog_commit <= min(m, s); with several, only m == s is sure.
 */
#include "catalog.h"
#include "mention.h"
#include "rules.h"

static int32_t find_number(const larder_txn *txn, const larder__key *key, uint64_t *number,
                           larder_error *error) {
    larder_bytes payload;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(key), &payload, error);
    if (status != LARDER_OK) return status;
    const uint8_t *p = larder__begin(payload);
    if (larder__varint_get(p, p + payload.size_bytes, number) == 0)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(key), "no number", error);
    return LARDER_OK;
}

static int32_t put_number(larder_txn *txn, const larder__key *key, uint64_t number,
                          larder_bytes text, larder_error *error) {
    uint8_t varint[LARDER__VARINT_MAX];
    larder_bytes parts[2] = {larder__bytes(varint, larder__varint_put(varint, number)), text};
    txn->names_changed = true;
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(key), parts, 2, error);
}

static larder__key kind_key(uint8_t kind) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, kind);
    return key;
}

static larder__key number_key(uint8_t kind, uint64_t number) {
    larder__key key = kind_key(kind);
    larder__key_number(&key, number);
    return key;
}

/* ---- groups and users ---- */

static larder__key group_key(larder_bytes group) {
    larder__key key = kind_key(LARDER__KIND_GROUP);
    larder__id id;
    larder__id_encode(group, &id);
    larder__key_id(&key, larder__id_bytes(&id));
    return key;
}

int32_t larder__group_find(const larder_txn *txn, larder_bytes group, uint64_t *number,
                           larder_error *error) {
    int32_t status = larder__path_check(group, 1, error);
    if (status != LARDER_OK) return status;
    if (memchr(group.data, '/', group.size_bytes) != NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a collection group has no slash");
    larder__key key = group_key(group);
    return find_number(txn, &key, number, error);
}

static int32_t group_obtain(larder_txn *txn, larder_bytes group, uint64_t *number,
                            larder_error *error) {
    larder__key key = group_key(group);
    int32_t status = find_number(txn, &key, number, error);
    if (status != LARDER_NOT_FOUND) return status;
    *number = (uint64_t)++txn->counters.next_group;
    return put_number(txn, &key, *number, group, error);
}

static int32_t check_user(larder_bytes user, larder_error *error) {
    if (user.size_bytes > LARDER_USER_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a user id of %zu bytes; %d are allowed",
                            user.size_bytes, LARDER_USER_MAX_BYTES);
    if (user.size_bytes > 0 && (user.data == NULL || !larder__utf8_is_valid(user)))
        return larder__fail(error, LARDER_E_INVALID_NAME, "the user id is not UTF-8");
    return LARDER_OK;
}

static larder__key user_key(larder_bytes user) {
    larder__key key = kind_key(LARDER__KIND_USER);
    larder__key_append(&key, user.data, user.size_bytes);
    return key;
}

int32_t larder__user_find(const larder_txn *txn, larder_bytes user, uint64_t *number,
                          larder_error *error) {
    int32_t status = check_user(user, error);
    if (status != LARDER_OK) return status;
    larder__key key = user_key(user);
    return find_number(txn, &key, number, error);
}

int32_t larder__user_obtain(larder_txn *txn, larder_bytes user, uint64_t *number,
                            larder_error *error) {
    int32_t status = larder__user_find(txn, user, number, error);
    if (status != LARDER_NOT_FOUND) return status;
    *number = (uint64_t)++txn->counters.next_user;
    larder__key key = user_key(user), reverse = number_key(LARDER__KIND_USER_NUMBER, *number);
    status = put_number(txn, &key, *number, larder__bytes(NULL, 0), error);
    if (status != LARDER_OK) return status;
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&reverse), &user, 1,
                                    error);
}

int32_t larder__user_name(const larder_txn *txn, uint64_t number, larder_bytes *user,
                          larder_error *error) {
    larder__key key = number_key(LARDER__KIND_USER_NUMBER, number);
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), user, error);
    if (status == LARDER_NOT_FOUND)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                               "a user number without a name", error);
    return status;
}

/* ---- collections ---- */

#define INFO_FIXED 16 /* found documents, bytes */

static larder__collection_memo *memo_of(const larder_txn *txn) {
    return ((larder_txn *)(uintptr_t)txn)->memo;
}

static bool memo_holds(const larder_txn *txn, const larder__collection_memo *memo) {
    if (memo->commit == txn->commit) return true;
    if ((txn->env->flags & (LARDER_OPEN_SHARED | LARDER_OPEN_READ_ONLY)) != 0) return false;
    if (txn->is_write && txn->names_changed) return false;
    uint64_t changed = atomic_load_explicit(&txn->env->catalog_commit, memory_order_acquire);
    return changed <= memo->commit && changed <= txn->commit;
}

static bool memo_find(const larder_txn *txn, larder_bytes path, uint64_t *number) {
    larder__collection_memo *memo = memo_of(txn);
    for (size_t i = 0; i < LARDER__COLLECTION_MEMO; i++)
        if (memo[i].path_bytes == path.size_bytes &&
            memcmp(memo[i].path, path.data, path.size_bytes) == 0 && memo_holds(txn, &memo[i])) {
            *number = memo[i].number;
            return true;
        }
    return false;
}

static void memo_keep(const larder_txn *txn, larder_bytes path, uint64_t number) {
    larder_txn *mutable_txn = (larder_txn *)(uintptr_t)txn;
    if (path.size_bytes > sizeof mutable_txn->memo[0].path) return;
    size_t slot = LARDER__COLLECTION_MEMO;
    for (size_t i = 0; i < LARDER__COLLECTION_MEMO; i++) /* never twice */
        if (mutable_txn->memo[i].path_bytes == path.size_bytes &&
            memcmp(mutable_txn->memo[i].path, path.data, path.size_bytes) == 0)
            slot = i;
    if (slot == LARDER__COLLECTION_MEMO) slot = mutable_txn->memo_next++ % LARDER__COLLECTION_MEMO;
    larder__collection_memo *memo = &mutable_txn->memo[slot];
    memo->number = number;
    memo->commit = txn->commit;
    memo->path_bytes = (uint16_t)path.size_bytes;
    memcpy(memo->path, path.data, path.size_bytes);
}

static larder__key path_key(larder_bytes path, bool *was_cut) {
    larder__key key = kind_key(LARDER__KIND_COLLECTION_PATH);
    *was_cut = larder__key_path(&key, path);
    return key;
}

/* path has been checked. */
static int32_t collection_find(const larder_txn *txn, larder_bytes path, uint64_t *number,
                               larder_error *error) {
    if (memo_find(txn, path, number)) return LARDER_OK;
    bool was_cut;
    larder__key key = path_key(path, &was_cut);
    int32_t status = find_number(txn, &key, number, error);
    if (status == LARDER_OK) memo_keep(txn, path, *number);
    return status;
}

int32_t larder__collection_find(const larder_txn *txn, larder_bytes path, uint64_t *collection,
                                larder_error *error) {
    int32_t status = larder__path_check(path, 1, error);
    return status != LARDER_OK ? status : collection_find(txn, path, collection, error);
}

static int32_t put_info(larder_txn *txn, uint64_t number, uint64_t group, int64_t found,
                        int64_t bytes, larder_bytes path, larder_error *error) {
    larder__key key = number_key(LARDER__KIND_COLLECTION, number);
    uint8_t head[LARDER__VARINT_MAX + INFO_FIXED];
    size_t size = larder__varint_put(head, group);
    larder__store64(head + size, (uint64_t)found);
    larder__store64(head + size + 8, (uint64_t)bytes);
    larder_bytes parts[2] = {larder__bytes(head, size + INFO_FIXED), path};
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), parts, 2, error);
}

static larder__key member_key(uint64_t group, larder_bytes path) {
    larder__key key = number_key(LARDER__KIND_GROUP_MEMBER, group);
    larder__key_path(&key, path);
    return key;
}

static int32_t collection_obtain(larder_txn *txn, larder_bytes path, uint64_t *number,
                                 larder_error *error) {
    int32_t status = collection_find(txn, path, number, error);
    if (status != LARDER_NOT_FOUND) return status;
    uint64_t group;
    status = group_obtain(txn, larder__path_last(path), &group, error);
    if (status != LARDER_OK) return status;
    *number = (uint64_t)++txn->counters.next_collection;
    bool was_cut;
    larder__key key = path_key(path, &was_cut), member = member_key(group, path);
    status = put_number(txn, &key, *number, was_cut ? path : larder__bytes(NULL, 0), error);
    if (status == LARDER_OK) status = put_number(txn, &member, *number, path, error);
    if (status == LARDER_OK) status = put_info(txn, *number, group, 0, 0, path, error);
    if (status != LARDER_OK) return status;
    txn->counters.collection_count++;
    memo_keep(txn, path, *number);
    return LARDER_OK;
}

int32_t larder__collection_obtain(larder_txn *txn, larder_bytes path, uint64_t *collection,
                                  larder_error *error) {
    int32_t status = larder__path_check(path, 1, error);
    return status != LARDER_OK ? status : collection_obtain(txn, path, collection, error);
}

int32_t larder__collection_read(const larder_txn *txn, uint64_t number, larder__collection_row *row,
                                larder_error *error) {
    larder__key key = number_key(LARDER__KIND_COLLECTION, number);
    larder_bytes payload;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status == LARDER_NOT_FOUND)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                               "a collection number without a row", error);
    if (status != LARDER_OK) return status;
    const uint8_t *p = larder__begin(payload), *end = p + payload.size_bytes;
    size_t size = larder__varint_get(p, end, &row->group);
    if (size == 0 || (size_t)(end - p) < size + INFO_FIXED)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                               "a collection row that is too short", error);
    p += size;
    row->found_count = (int64_t)larder__load64(p);
    row->size_bytes = (int64_t)larder__load64(p + 8);
    row->path = larder__bytes(p + INFO_FIXED, (size_t)(end - p) - INFO_FIXED);
    return LARDER_OK;
}

int32_t larder__collection_info(const larder_txn *txn, uint64_t collection, larder_bytes *path,
                                uint64_t *group, larder_error *error) {
    larder__collection_row row;
    int32_t status = larder__collection_read(txn, collection, &row, error);
    if (status != LARDER_OK) return status;
    if (path != NULL) *path = row.path;
    if (group != NULL) *group = row.group;
    return LARDER_OK;
}

int32_t larder__group_member(const larder_txn *txn, uint64_t group, larder_bytes path,
                             uint64_t *collection, larder_error *error) {
    larder__key key = member_key(group, path);
    return find_number(txn, &key, collection, error);
}

/* The next catalog row with a prefix; the cursor is zeroed for the first. */
static int32_t next_row(const larder_txn *txn, const larder__key *prefix, larder__cursor *cursor,
                        larder_error *error) {
    int32_t status;
    if (cursor->mdb == NULL) {
        status = larder__cursor_open(txn, LARDER__CATALOG, cursor, error);
        if (status != LARDER_OK) return status;
        status = larder__cursor_seek(cursor, larder__key_bytes(prefix), error);
    } else {
        status = larder__cursor_next(cursor, error);
    }
    if (status != LARDER_OK) return status;
    return larder__bytes_has_prefix(cursor->key, larder__key_bytes(prefix)) ? LARDER_OK
                                                                            : LARDER_END;
}

int32_t larder__group_next(const larder_txn *txn, uint64_t group, larder__cursor *cursor,
                           uint64_t *collection, larder_error *error) {
    larder__key prefix = number_key(LARDER__KIND_GROUP_MEMBER, group);
    int32_t status = next_row(txn, &prefix, cursor, error);
    if (status != LARDER_OK) return status;
    larder_bytes payload;
    status = larder__unseal(txn, LARDER__CATALOG, cursor->key, cursor->value, &payload, error);
    if (status != LARDER_OK) return status;
    const uint8_t *p = larder__begin(payload);
    if (larder__varint_get(p, p + payload.size_bytes, collection) == 0)
        return larder__corrupt(txn, LARDER__CATALOG, cursor->key, "no number", error);
    return LARDER_OK;
}

int32_t larder__collection_next(const larder_txn *txn, larder__cursor *cursor, uint64_t *collection,
                                larder_error *error) {
    larder__key prefix;
    larder__key_clear(&prefix);
    larder__key_byte(&prefix, LARDER__KIND_COLLECTION);
    int32_t status = next_row(txn, &prefix, cursor, error);
    if (status != LARDER_OK) return status;
    const uint8_t *at = larder__begin(cursor->key) + 1;
    const uint8_t *end = larder__begin(cursor->key) + cursor->key.size_bytes;
    if (!larder__key_read_number(&at, end, collection))
        return larder__corrupt(txn, LARDER__CATALOG, cursor->key, "no number", error);
    return LARDER_OK;
}

/* ---- collections: what they count ---- */

int32_t larder__collection_count(larder_txn *txn, uint64_t collection, int64_t found_delta,
                                 int64_t bytes_delta, larder_error *error) {
    larder__rules_count(txn, collection, bytes_delta);
    for (size_t i = txn->delta_count; i-- > 0;)
        if (txn->deltas[i].number == collection) {
            txn->deltas[i].found_delta += found_delta;
            txn->deltas[i].bytes_delta += bytes_delta;
            return LARDER_OK;
        }
    if (txn->delta_count >= 64) { /* keeps the search short */
        int32_t status = larder__collection_flush(txn, error);
        if (status != LARDER_OK) return status;
    }
    if (txn->delta_count == txn->delta_capacity) {
        size_t capacity = 64;
        larder__collection_delta *grown =
            larder__allocate(&txn->env->allocator, capacity * sizeof *grown);
        if (grown == NULL)
            return larder__txn_note(
                txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for counters"));
        larder__release(&txn->env->allocator, txn->deltas);
        txn->deltas = grown;
        txn->delta_capacity = capacity;
    }
    larder__collection_delta delta = {collection, found_delta, bytes_delta};
    txn->deltas[txn->delta_count++] = delta;
    return LARDER_OK;
}

static int32_t flush_delta(larder_txn *txn, const larder__collection_delta *delta,
                           larder_error *error) {
    if (delta->found_delta == 0 && delta->bytes_delta == 0) return LARDER_OK;
    larder__collection_row row;
    int32_t status = larder__collection_read(txn, delta->number, &row, error);
    if (status != LARDER_OK) return status;
    uint8_t path[LARDER_NAME_MAX_BYTES];
    memcpy(path, row.path.data, row.path.size_bytes);
    return put_info(txn, delta->number, row.group, row.found_count + delta->found_delta,
                    row.size_bytes + delta->bytes_delta, larder__bytes(path, row.path.size_bytes),
                    error);
}

int32_t larder__collection_flush(larder_txn *txn, larder_error *error) {
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < txn->delta_count && status == LARDER_OK; i++)
        status = flush_delta(txn, &txn->deltas[i], error);
    if (status == LARDER_OK) txn->delta_count = 0;
    return status;
}

/* ---- collections: release ---- */

int32_t larder__collection_release(larder_txn *txn, uint64_t collection, larder_error *error) {
    bool found;
    int32_t status = larder__is_mentioned(txn, collection, larder__bytes(NULL, 0), &found, error);
    if (status != LARDER_OK || found) return status;
    status = larder__collection_flush(txn, error);
    if (status != LARDER_OK) return status;
    larder__collection_row row;
    status = larder__collection_read(txn, collection, &row, error);
    if (status != LARDER_OK) return status;
    uint8_t text[LARDER_NAME_MAX_BYTES];
    larder_bytes path = larder__bytes(text, row.path.size_bytes);
    memcpy(text, row.path.data, row.path.size_bytes);
    bool was_cut;
    larder__key keys[3] = {path_key(path, &was_cut), member_key(row.group, path),
                           number_key(LARDER__KIND_COLLECTION, collection)};
    txn->names_changed = true;
    memset(txn->memo, 0, sizeof txn->memo);
    txn->counters.collection_count--;
    for (size_t i = 0; i < 3 && status == LARDER_OK; i++)
        status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&keys[i]), error);
    if (status == LARDER_NOT_FOUND)
        return larder__txn_note(txn,
                                larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&keys[2]),
                                                "a collection with rows missing", error));
    return status;
}

/* ---- names ---- */

static int32_t name_parts(larder_bytes name, larder_bytes *path, larder__id *id, larder_bytes *text,
                          larder_error *error) {
    int32_t status = larder__path_check(name, 0, error);
    if (status != LARDER_OK) return status;
    larder__name_split(name, path, text);
    larder__id_encode(*text, id);
    return LARDER_OK;
}

static larder__key long_id_key(uint64_t collection, larder_bytes key_form) {
    larder__key key = number_key(LARDER__KIND_LONG_ID, collection);
    larder__key_id(&key, key_form);
    return key;
}

int32_t larder__name_find(const larder_txn *txn, larder_bytes name, uint64_t *collection,
                          larder__id *id, larder_error *error) {
    larder_bytes path, text;
    int32_t status = name_parts(name, &path, id, &text, error);
    if (status == LARDER_OK) status = collection_find(txn, path, collection, error);
    if (status != LARDER_OK || !id->is_long) return status;
    /* Another id may have the same hash: then nothing is known of this one. */
    larder_bytes known;
    larder__key key = long_id_key(*collection, larder__id_bytes(id));
    status = larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &known, error);
    return status == LARDER_OK && !larder__bytes_equal(known, text) ? LARDER_NOT_FOUND : status;
}

int32_t larder__name_obtain(larder_txn *txn, larder_bytes name, uint64_t *collection,
                            larder__id *id, larder_error *error) {
    larder_bytes path, text, known;
    int32_t status = name_parts(name, &path, id, &text, error);
    if (status == LARDER_OK) status = collection_obtain(txn, path, collection, error);
    if (status != LARDER_OK || !id->is_long) return status;
    larder__key key = long_id_key(*collection, larder__id_bytes(id));
    status = larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &known, error);
    if (status == LARDER_NOT_FOUND)
        return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &text, 1,
                                        error);
    if (status == LARDER_OK && !larder__bytes_equal(known, text))
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "two ids over 199 bytes have one hash: rename one");
    return status;
}

int32_t larder__id_text(const larder_txn *txn, uint64_t collection, larder_bytes key_form,
                        char scratch[32], larder_bytes *text, larder_error *error) {
    larder__key key;
    if (larder__id_key_is_long(key_form)) {
        key = long_id_key(collection, key_form);
        int32_t status =
            larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), text, error);
        if (status != LARDER_NOT_FOUND) return status;
    } else if (larder__id_decode(key_form, scratch, text)) {
        return LARDER_OK;
    }
    key = number_key(LARDER__KIND_LONG_ID, collection);
    return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                           "a document id that cannot be read", error);
}

int32_t larder__id_release(larder_txn *txn, uint64_t collection, larder_bytes key_form,
                           larder_error *error) {
    if (!larder__id_key_is_long(key_form)) return LARDER_OK;
    uint8_t id[LARDER__ID_MAX]; /* key_form may lie in a row that goes */
    memcpy(id, key_form.data, sizeof id);
    bool found;
    int32_t status =
        larder__is_mentioned(txn, collection, larder__bytes(id, sizeof id), &found, error);
    if (status != LARDER_OK || found) return status;
    larder__key key = long_id_key(collection, larder__bytes(id, sizeof id));
    status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

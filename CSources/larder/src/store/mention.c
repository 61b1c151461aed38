/*
 * mention.c - whether a table mentions a collection or a document. When none does, the rows of the
 * catalog that name it are removed.
 *
 * Keys that begin with a collection's number are looked up directly; those of overlays begin with
 * their user's.
 */
#include "mention.h"

/* Whether a table has a key that begins with prefix. */
static int32_t has_prefix(const larder_txn *txn, larder__table table, const larder__key *prefix,
                          bool *found, larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, table, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(prefix), error);
    *found = status == LARDER_OK && larder__bytes_has_prefix(cursor.key, larder__key_bytes(prefix));
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* Whether any user has an overlay whose key goes on with (collection, id prefix): two look-ups
 * for each user that has overlays. */
static int32_t has_overlay(const larder_txn *txn, uint64_t collection, larder_bytes id, bool *found,
                           larder_error *error) {
    larder__cursor cursor;
    *found = false;
    if (txn->counters.usage[LARDER__COUNT_OVERLAYS].row_count == 0) return LARDER_OK;
    int32_t status = larder__cursor_open(txn, LARDER__OVERLAYS, &cursor, error);
    if (status != LARDER_OK) return status;
    uint64_t user = 1, last = (uint64_t)txn->counters.next_user;
    while (user <= last && !*found) {
        larder__key key;
        larder__key_clear(&key);
        larder__key_number(&key, user);
        larder__key_number(&key, collection);
        larder__key_append(&key, id.data, id.size_bytes);
        status = larder__cursor_seek(&cursor, larder__key_bytes(&key), error);
        if (status != LARDER_OK) break;
        *found = larder__bytes_has_prefix(cursor.key, larder__key_bytes(&key));
        const uint8_t *at = larder__begin(cursor.key);
        uint64_t next;
        bool is_sound = larder__key_read_number(&at, at + cursor.key.size_bytes, &next);
        user = is_sound && next > user ? next : user + 1;
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

int32_t larder__is_mentioned(const larder_txn *txn, uint64_t collection, larder_bytes id,
                             bool *found, larder_error *error) {
    static const larder__table tables[] = {LARDER__DOCUMENTS, LARDER__MUTATION_DOCUMENTS,
                                           LARDER__DOCUMENT_TARGETS};
    int32_t status = LARDER_OK;
    *found = false;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && status == LARDER_OK && !*found;
         i++) {
        larder__key key;
        larder__key_clear(&key);
        larder__key_number(&key, collection);
        if (id.size_bytes > 0 && tables[i] == LARDER__DOCUMENTS)
            larder__key_id(&key, id);
        else if (id.size_bytes > 0)
            larder__key_idz(&key, id);
        status = has_prefix(txn, tables[i], &key, found, error);
    }
    if (status == LARDER_OK && !*found) status = has_overlay(txn, collection, id, found, error);
    return status;
}

/*
 * target_document.c - which documents belong to which targets.
 *
 * Two empty rows for each pair, one in target_documents and one in document_targets, and a count
 * of each target's documents in the catalog: (kind, target number) -> count (8), sealed; no row
 * for none. A target's documents need not be in the store.
 */
#include "store/catalog.h"
#include "target.h"
#include "walk.h"

static void pair_keys(int32_t target_id, uint64_t collection, larder_bytes id,
                      larder__key *by_target, larder__key *by_document) {
    larder__target_key(by_target, target_id);
    larder__key_number(by_target, collection);
    larder__key_id(by_target, id);
    larder__key_clear(by_document);
    larder__key_number(by_document, collection);
    larder__key_idz(by_document, id);
    larder__key_number(by_document, (uint64_t)target_id);
}

static void count_key(larder__key *key, int32_t target_id) {
    larder__key_clear(key);
    larder__key_byte(key, LARDER__KIND_TARGET_COUNT);
    larder__key_number(key, (uint64_t)target_id);
}

/* ---- counts ---- */

int32_t larder__target_count(const larder_txn *txn, int32_t target_id, int64_t *count,
                             larder_error *error) {
    larder__key key;
    count_key(&key, target_id);
    return larder__table_get_count(txn, larder__key_bytes(&key), count, error);
}

static int32_t set_count(larder_txn *txn, int32_t target_id, int64_t count, larder_error *error) {
    larder__key key;
    count_key(&key, target_id);
    return larder__table_put_count(txn, larder__key_bytes(&key), count, error);
}

int32_t larder_target_document_count(const larder_txn *txn, int32_t target_id, int64_t *count,
                                     larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!count) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "count is NULL");
    status = larder__target_exists(txn, target_id, error);
    return status == LARDER_OK ? larder__target_count(txn, target_id, count, error) : status;
}

/* ---- add, remove ---- */

/* Adds one pair: OK, LARDER_END when it is there. */
static int32_t add_pair(larder_txn *txn, int32_t target_id, larder_bytes name,
                        larder_error *error) {
    larder__key by_target, by_document;
    larder__id id;
    uint64_t collection;
    int32_t status = larder__name_obtain(txn, name, &collection, &id, error);
    if (status != LARDER_OK) return status;
    pair_keys(target_id, collection, larder__id_bytes(&id), &by_target, &by_document);
    status = larder__table_add(txn, LARDER__TARGET_DOCUMENTS, larder__key_bytes(&by_target), error);
    if (status != LARDER_OK) return status;
    status =
        larder__table_add(txn, LARDER__DOCUMENT_TARGETS, larder__key_bytes(&by_document), error);
    return status == LARDER_END ? LARDER_OK : status;
}

/* Removes one pair: OK, NOT_FOUND. id must not lie in the environment. */
static int32_t remove_pair(larder_txn *txn, int32_t target_id, uint64_t collection, larder_bytes id,
                           larder_error *error) {
    larder__key by_target, by_document;
    pair_keys(target_id, collection, id, &by_target, &by_document);
    int32_t status =
        larder__table_remove(txn, LARDER__TARGET_DOCUMENTS, larder__key_bytes(&by_target), error);
    if (status != LARDER_OK) return status;
    status =
        larder__table_remove(txn, LARDER__DOCUMENT_TARGETS, larder__key_bytes(&by_document), error);
    return status < 0 ? status : larder__id_release(txn, collection, id, error);
}

/* Adds pairs and counts the new ones in *count. */
static int32_t add_names(larder_txn *txn, int32_t target_id, const larder_bytes *names,
                         size_t name_count, int64_t *count, larder_error *error) {
    for (size_t i = 0; i < name_count; i++) {
        int32_t status = add_pair(txn, target_id, names[i], error);
        if (status < 0) return status;
        if (status == LARDER_OK) (*count)++;
    }
    return LARDER_OK;
}

/* Removes pairs and takes those that were there from *count. A collection is asked whether it
 * is still needed behind the last of its names that stand together. */
static int32_t remove_names(larder_txn *txn, int32_t target_id, const larder_bytes *names,
                            size_t name_count, int64_t *count, larder_error *error) {
    uint64_t collection = 0, last_collection = 0;
    bool has_last = false;
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < name_count && status >= 0; i++) {
        larder__id id;
        status = larder__name_find(txn, names[i], &collection, &id, error);
        if (status != LARDER_OK) continue;
        if (has_last && collection != last_collection) {
            status = larder__collection_release(txn, last_collection, error);
            if (status < 0) break;
        }
        status = remove_pair(txn, target_id, collection, larder__id_bytes(&id), error);
        if (status == LARDER_OK) (*count)--;
        last_collection = collection;
        has_last = true;
    }
    if (status >= 0 && has_last) status = larder__collection_release(txn, last_collection, error);
    return status < 0 ? status : LARDER_OK;
}

static int32_t check_names(const larder_bytes *names, size_t name_count, larder_error *error) {
    int32_t status = LARDER_OK;
    if (!larder__is_array(names, name_count, sizeof *names))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "names are NULL or too many");
    for (size_t i = 0; i < name_count && status == LARDER_OK; i++)
        status = larder__path_check(names[i], 0, error);
    return status;
}

int32_t larder_target_change_documents(larder_txn *txn, int32_t target_id,
                                       const larder_bytes *removed, size_t removed_count,
                                       const larder_bytes *added, size_t added_count,
                                       larder_error *error) {
    int64_t before = 0;
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_names(removed, removed_count, error);
    if (status == LARDER_OK) status = check_names(added, added_count, error);
    if (status != LARDER_OK) return status;
    status = larder__target_exists(txn, target_id, error);
    if (status == LARDER_OK) status = larder__target_count(txn, target_id, &before, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    int64_t count = before;
    status = remove_names(txn, target_id, removed, removed_count, &count, error);
    if (status == LARDER_OK) status = add_names(txn, target_id, added, added_count, &count, error);
    if (status == LARDER_OK && count != before) status = set_count(txn, target_id, count, error);
    return larder__txn_note_partial(txn, status);
}

int32_t larder_target_add_document(larder_txn *txn, int32_t target_id, larder_bytes name,
                                   larder_error *error) {
    return larder_target_change_documents(txn, target_id, NULL, 0, &name, 1, error);
}

int32_t larder_target_remove_document(larder_txn *txn, int32_t target_id, larder_bytes name,
                                      larder_error *error) {
    int64_t before, count;
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_names(&name, 1, error);
    if (status != LARDER_OK) return status;
    status = larder__target_exists(txn, target_id, error);
    if (status == LARDER_OK) status = larder__target_count(txn, target_id, &before, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    count = before;
    status = remove_names(txn, target_id, &name, 1, &count, error);
    if (status == LARDER_OK && count == before) return LARDER_NOT_FOUND;
    if (status == LARDER_OK) status = set_count(txn, target_id, count, error);
    return larder__txn_note_partial(txn, status);
}

/* The target's first document in key order: OK, NOT_FOUND. */
static int32_t first_document(larder__cursor *cursor, larder_bytes prefix, uint64_t *collection,
                              larder__id *id, larder_error *error) {
    int32_t status = larder__cursor_seek(cursor, prefix, error);
    if (status == LARDER_END) return LARDER_NOT_FOUND;
    if (status != LARDER_OK) return status;
    if (!larder__bytes_has_prefix(cursor->key, prefix)) return LARDER_NOT_FOUND;
    const uint8_t *at = larder__begin(cursor->key) + prefix.size_bytes;
    const uint8_t *end = larder__begin(cursor->key) + cursor->key.size_bytes;
    if (!larder__key_read_number(&at, end, collection) || at == end || end - at > LARDER__ID_MAX)
        return larder__corrupt(cursor->txn, LARDER__TARGET_DOCUMENTS, cursor->key, "malformed key",
                               error);
    id->size_bytes = (uint8_t)(end - at);
    memcpy(id->bytes, at, id->size_bytes);
    return LARDER_OK;
}

int32_t larder__target_drop_documents(larder_txn *txn, int32_t target_id, int64_t max_documents,
                                      int64_t *removed, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix;
    larder__id id;
    uint64_t collection = 0, last_collection = 0;
    bool has_last = false;
    int64_t count;
    *removed = 0;
    larder__target_key(&prefix, target_id);
    int32_t status = larder__target_count(txn, target_id, &count, error);
    if (status == LARDER_OK)
        status = larder__cursor_open(txn, LARDER__TARGET_DOCUMENTS, &cursor, error);
    while (status == LARDER_OK) {
        status = first_document(&cursor, larder__key_bytes(&prefix), &collection, &id, error);
        if (status < 0) break;
        bool is_end = status == LARDER_NOT_FOUND || *removed == max_documents;
        /* A collection is asked about once, behind its last document. */
        if (has_last && (is_end || collection != last_collection)) {
            int32_t released = larder__collection_release(txn, last_collection, error);
            if (released < 0) status = released;
        }
        if (status < 0) break;
        if (is_end) {
            status = status == LARDER_NOT_FOUND ? LARDER_END : LARDER_MORE;
            break;
        }
        last_collection = collection;
        has_last = true;
        status = remove_pair(txn, target_id, collection, larder__id_bytes(&id), error);
        if (status == LARDER_OK) (*removed)++;
    }
    larder__cursor_close(&cursor);
    if (status < 0) return status;
    int32_t counted = LARDER_OK;
    if (*removed > 0 || status == LARDER_END)
        counted = set_count(txn, target_id, status == LARDER_END ? 0 : count - *removed, error);
    if (counted < 0) return counted;
    return status == LARDER_MORE ? LARDER_MORE : LARDER_OK;
}

/* ---- which targets hold a document ---- */

int32_t larder_target_find_document(const larder_txn *txn, larder_bytes name, int32_t *ids,
                                    size_t capacity, size_t *id_count, larder_error *error) {
    larder__cursor cursor = {0};
    larder__key prefix;
    larder__id id;
    uint64_t collection;
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (!id_count || !larder__is_room(ids, capacity))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "ids or id_count is NULL");
    status = larder__name_find(txn, name, &collection, &id, error);
    if (status < 0) return status;
    *id_count = 0;
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, collection);
    larder__key_idz(&prefix, larder__id_bytes(&id));
    status = larder__cursor_open(txn, LARDER__DOCUMENT_TARGETS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix))) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        uint64_t number;
        if (!larder__key_read_number(&at, end, &number) || number == 0 || number > INT32_MAX) {
            status =
                larder__corrupt(txn, LARDER__DOCUMENT_TARGETS, cursor.key, "malformed key", error);
            break;
        }
        /* Targets that are being removed do not count. */
        status = larder__target_exists(txn, (int32_t)number, error);
        if (status < 0) break;
        if (status == LARDER_OK) {
            if (*id_count < capacity) ids[*id_count] = (int32_t)number;
            (*id_count)++;
        }
        status = larder__cursor_next(&cursor, error);
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* ---- scan ---- */

typedef struct target_scan {
    larder_scan base;
    bool is_empty;
    bool has_user; /* LOCAL_VIEW of a user that has a number */
    uint64_t user;
    larder__walk walk;
} target_scan;

static void close_scan(larder_scan *base) { larder__walk_close(&((target_scan *)base)->walk); }

/* Reads the document's row: OK, NOT_FOUND. */
static int32_t read_document(target_scan *scan, larder_document *document, larder_error *error) {
    const larder__walk *walk = &scan->walk;
    if (scan->has_user) {
        int32_t status = larder__overlay_read(scan->base.txn, scan->user, walk->collection,
                                              walk->id_key_form, document, error);
        if (status != LARDER_NOT_FOUND) return status;
    }
    return larder__document_read(scan->base.txn, walk->collection, walk->id_key_form, document,
                                 error);
}

static int32_t next_document(larder_scan *base, larder_document *document, larder_error *error) {
    target_scan *scan = (target_scan *)base;
    bool wants_all = (base->flags & LARDER_SCAN_ALL_STATES) != 0;
    bool keys_only = (base->flags & LARDER_SCAN_KEYS_ONLY) != 0;
    if (scan->is_empty) return LARDER_END;
    for (;;) {
        int32_t status = larder__walk_next(&scan->walk, error);
        if (status != LARDER_OK) return status;
        memset(document, 0, sizeof *document);
        status = LARDER_NOT_FOUND;
        if (!keys_only || !wants_all) status = read_document(scan, document, error);
        if (status < 0) return status;
        if (!wants_all && (status == LARDER_NOT_FOUND || document->state != LARDER_DOCUMENT_FOUND))
            continue;
        if (keys_only || status == LARDER_NOT_FOUND) {
            memset(document, 0, sizeof *document);
            document->state = LARDER_DOCUMENT_NOT_READ;
        }
        return larder__scan_name(base, scan->walk.collection, scan->walk.id_key_form, document,
                                 error);
    }
}

int32_t larder_target_scan(const larder_txn *txn, int32_t target_id,
                           const larder_scan_options *options, larder_scan **scan,
                           larder_error *error) {
    larder__key prefix;
    larder_scan *base;
    int32_t status = larder__scan_check_open(txn, scan, error);
    if (status != LARDER_OK) return status;
    status = larder__scan_create(txn, sizeof(target_scan), options, &base, error);
    if (status != LARDER_OK) return status;
    target_scan *created = (target_scan *)base;
    base->next = next_document;
    base->close = close_scan;
    if ((base->flags & LARDER_SCAN_REVERSE) != 0 ||
        (options && (options->start.size_bytes > 0 || options->end.size_bytes > 0))) {
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                              "a target's documents come in one order and without bounds");
        goto failed;
    }
    if (options && (base->flags & LARDER_SCAN_LOCAL_VIEW) != 0) {
        status = larder__user_find(txn, options->user, &created->user, error);
        if (status < 0) goto failed;
        created->has_user = status == LARDER_OK;
    }
    status = larder__target_exists(txn, target_id, error);
    if (status < 0) goto failed;
    created->is_empty = status == LARDER_NOT_FOUND;
    larder__target_key(&prefix, target_id > 0 ? target_id : 0);
    status = larder__walk_open(txn, LARDER__TARGET_DOCUMENTS, larder__key_bytes(&prefix), true, 0,
                               &created->walk, error);
    if (status < 0) goto failed;
    *scan = base;
    return LARDER_OK;
failed:
    larder_scan_close(base);
    return status;
}

/*
 * collection.c - what the store knows of collections: one, and scans of them in path order.
 *
 * The scan walks the catalog's path keys: those below a document are the keys that begin with
 * its path's key form, and the direct ones have one segment more. Paths beyond 400 bytes lie
 * behind their common head in hash order.
 */
#include "documents.h"
#include "store/catalog.h"

static int32_t describe(const larder_txn *txn, uint64_t number, larder_collection *collection,
                        larder_error *error) {
    larder__collection_row row;
    int32_t status = larder__collection_read(txn, number, &row, error);
    if (status != LARDER_OK) return status;
    collection->path = row.path;
    collection->document_count = row.found_count;
    collection->size_bytes = row.size_bytes;
    for (size_t i = 0; i < txn->delta_count; i++) /* what a write transaction has yet to add */
        if (txn->deltas[i].number == number) {
            collection->document_count += txn->deltas[i].found_delta;
            collection->size_bytes += txn->deltas[i].bytes_delta;
        }
    return LARDER_OK;
}

int32_t larder_collection_get(const larder_txn *txn, larder_bytes path,
                              larder_collection *collection, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (collection == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "collection is NULL");
    uint64_t number;
    status = larder__collection_find(txn, path, &number, error);
    return status != LARDER_OK ? status : describe(txn, number, collection, error);
}

typedef struct path_scan {
    larder_scan base;
    larder__cursor cursor;
    larder__key prefix;
    size_t segment_count; /* 0: any */
    bool is_begun;
    size_t parent_bytes; /* its path, behind this structure */
} path_scan;

static size_t count_segments(larder_bytes path) {
    size_t count = path.size_bytes > 0;
    for (size_t i = 0; i < path.size_bytes; i++)
        count += larder__begin(path)[i] == '/';
    return count;
}

/* Directly below the parent, or any. A cut key alone does not tell. */
static bool is_wanted(const path_scan *scan, larder_bytes path) {
    if (scan->segment_count == 0) return true;
    return count_segments(path) == scan->segment_count &&
           larder__bytes_has_prefix(path, larder__bytes(scan + 1, scan->parent_bytes)) &&
           larder__begin(path)[scan->parent_bytes] == '/';
}

int32_t larder_collection_next(larder_scan *base, larder_collection *collection,
                               larder_error *error) {
    if (base == NULL || collection == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan or collection is NULL");
    int32_t status = larder__scan_check(base, error);
    if (status != LARDER_OK) return status;
    if (!base->is_collection_scan)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a scan of documents: use larder_scan_next");
    path_scan *scan = (path_scan *)base;
    while (!base->ended) {
        status = scan->is_begun
                     ? larder__cursor_next(&scan->cursor, error)
                     : larder__cursor_seek(&scan->cursor, larder__key_bytes(&scan->prefix), error);
        scan->is_begun = true;
        if (status < 0) return status;
        if (status == LARDER_END ||
            !larder__bytes_has_prefix(scan->cursor.key, larder__key_bytes(&scan->prefix))) {
            base->ended = true;
            break;
        }
        larder_bytes payload;
        uint64_t number;
        status = larder__unseal(base->txn, LARDER__CATALOG, scan->cursor.key, scan->cursor.value,
                                &payload, error);
        if (status != LARDER_OK) return status;
        const uint8_t *p = larder__begin(payload);
        if (larder__varint_get(p, p + payload.size_bytes, &number) == 0)
            return larder__corrupt(base->txn, LARDER__CATALOG, scan->cursor.key, "no number",
                                   error);
        status = describe(base->txn, number, collection, error);
        if (status != LARDER_OK) return status;
        if (is_wanted(scan, collection->path)) return LARDER_OK;
    }
    return LARDER_END;
}

static void close_paths(larder_scan *base) { larder__cursor_close(&((path_scan *)base)->cursor); }

int32_t larder_collection_scan(const larder_txn *txn, larder_bytes parent, larder_scan **scan,
                               larder_error *error) {
    int32_t status = larder__scan_check_open(txn, scan, error);
    if (status == LARDER_OK && parent.size_bytes > 0) status = larder__path_check(parent, 0, error);
    if (status != LARDER_OK) return status;
    larder_scan *created;
    status = larder__scan_create(txn, sizeof(path_scan) + parent.size_bytes, NULL, &created, error);
    if (status != LARDER_OK) return status;
    path_scan *opened = (path_scan *)created;
    created->is_collection_scan = true;
    created->close = close_paths;
    larder__key_byte(&opened->prefix, LARDER__KIND_COLLECTION_PATH);
    if (parent.size_bytes > 0) {
        opened->segment_count = count_segments(parent) + 1;
        /* A cut key shares its head only with what lies below. */
        if (larder__key_path(&opened->prefix, parent)) opened->prefix.size_bytes -= 16;
        opened->parent_bytes = parent.size_bytes;
        memcpy(opened + 1, parent.data, parent.size_bytes);
    }
    status = larder__cursor_open(txn, LARDER__CATALOG, &opened->cursor, error);
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

/* overlay_scan.c - a user's overlays by collection, by collection group and by batch. */
#include "overlay.h"
#include "store/catalog.h"
#include "walk.h"

typedef struct overlay_scan {
    larder_scan base;
    bool is_empty;
    bool is_group;
    uint64_t user, group;
    int64_t since_batch;
    larder__cursor members; /* the group's collections */
    larder__walk walk;
} overlay_scan;

static void close_scan(larder_scan *base) {
    overlay_scan *scan = (overlay_scan *)base;
    larder__cursor_close(&scan->members);
    larder__walk_close(&scan->walk);
}

static int32_t walk_collection(overlay_scan *scan, uint64_t collection, larder_error *error) {
    larder__key prefix;
    larder__overlay_key(&prefix, scan->user, collection, larder__bytes(NULL, 0));
    larder__walk_close(&scan->walk);
    return larder__walk_open(scan->base.txn, LARDER__OVERLAYS, larder__key_bytes(&prefix), false,
                             collection, &scan->walk, error);
}

static int32_t next_of_collections(larder_scan *base, larder_document *view, larder_error *error) {
    overlay_scan *scan = (overlay_scan *)base;
    if (scan->is_empty) return LARDER_END;
    for (;;) {
        int32_t status = larder__walk_next(&scan->walk, error);
        if (status == LARDER_END && scan->is_group) {
            uint64_t collection;
            status = larder__group_next(base->txn, scan->group, &scan->members, &collection, error);
            if (status == LARDER_OK) status = walk_collection(scan, collection, error);
            if (status != LARDER_OK) return status;
            continue;
        }
        if (status != LARDER_OK) return status;
        const larder__walk *walk = &scan->walk;
        status = larder__overlay_view(base->txn, walk->key, walk->value, view, NULL, error);
        if (status != LARDER_OK) return status;
        if (view->batch_id > scan->since_batch)
            return larder__scan_name(base, walk->collection, walk->id_key_form, view, error);
    }
}

static int32_t next_of_batch(larder_scan *base, larder_document *view, larder_error *error) {
    overlay_scan *scan = (overlay_scan *)base;
    const larder__walk *walk = &scan->walk;
    if (scan->is_empty) return LARDER_END;
    int32_t status = larder__walk_next(&scan->walk, error);
    if (status != LARDER_OK) return status;
    status = larder__overlay_read(base->txn, scan->user, walk->collection, walk->id_key_form, view,
                                  error);
    if (status == LARDER_NOT_FOUND)
        return larder__corrupt(base->txn, LARDER__OVERLAY_BATCHES, walk->key,
                               "a batch mentions an overlay that is not there", error);
    if (status != LARDER_OK) return status;
    return larder__scan_name(base, walk->collection, walk->id_key_form, view, error);
}

/* A scan of the user's overlays, empty when it is not found. */
static int32_t create(const larder_txn *txn, larder_bytes user, larder_scan **scan,
                      overlay_scan **created, larder_error *error) {
    uint64_t number = 0;
    int32_t status = larder__scan_check_open(txn, scan, error);
    if (status != LARDER_OK) return status;
    int32_t user_status = larder__user_find(txn, user, &number, error);
    if (user_status < 0) return user_status;
    larder_scan *base;
    status = larder__scan_create(txn, sizeof(overlay_scan), NULL, &base, error);
    if (status != LARDER_OK) return status;
    base->close = close_scan;
    *created = (overlay_scan *)base;
    (*created)->user = number;
    (*created)->is_empty = user_status == LARDER_NOT_FOUND;
    return LARDER_OK;
}

/* Hands the scan over, or closes it after a failure. */
static int32_t finish(overlay_scan *created, int32_t status, larder_scan **scan) {
    if (status < 0) {
        larder_scan_close(&created->base);
        return status;
    }
    if (status == LARDER_NOT_FOUND) created->is_empty = true;
    *scan = &created->base;
    return LARDER_OK;
}

int32_t larder_overlay_scan_collection(const larder_txn *txn, larder_bytes user, larder_bytes path,
                                       int64_t since_batch, larder_scan **scan,
                                       larder_error *error) {
    overlay_scan *created;
    uint64_t collection;
    int32_t status = create(txn, user, scan, &created, error);
    if (status != LARDER_OK) return status;
    created->base.next = next_of_collections;
    created->since_batch = since_batch;
    status = larder__collection_find(txn, path, &collection, error);
    if (status == LARDER_OK) status = walk_collection(created, collection, error);
    return finish(created, status, scan);
}

int32_t larder_overlay_scan_group(const larder_txn *txn, larder_bytes user, larder_bytes group,
                                  int64_t since_batch, larder_scan **scan, larder_error *error) {
    overlay_scan *created;
    uint64_t collection;
    int32_t status = create(txn, user, scan, &created, error);
    if (status != LARDER_OK) return status;
    created->base.next = next_of_collections;
    created->since_batch = since_batch;
    created->is_group = true;
    status = larder__group_find(txn, group, &created->group, error);
    if (status == LARDER_OK)
        status = larder__group_next(txn, created->group, &created->members, &collection, error);
    if (status == LARDER_END) status = LARDER_NOT_FOUND;
    if (status == LARDER_OK) status = walk_collection(created, collection, error);
    return finish(created, status, scan);
}

int32_t larder_overlay_scan_batch(const larder_txn *txn, larder_bytes user, int64_t batch_id,
                                  larder_scan **scan, larder_error *error) {
    overlay_scan *created;
    larder__key prefix;
    int32_t status = create(txn, user, scan, &created, error);
    if (status != LARDER_OK) return status;
    created->base.next = next_of_batch;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, created->user);
    larder__key_u64(&prefix, (uint64_t)batch_id);
    status = batch_id > 0
                 ? larder__walk_open(txn, LARDER__OVERLAY_BATCHES, larder__key_bytes(&prefix), true,
                                     0, &created->walk, error)
                 : LARDER_NOT_FOUND;
    return finish(created, status, scan);
}

/*
 * documents.h - what one file of this folder offers the others: documents, overlays, targets,
 * indexes, scans.
 */
#ifndef LARDER_DOCUMENTS_H
#define LARDER_DOCUMENTS_H

#include "store/internal.h"

/* ---- documents (document.c, recount.c) ---- */

/* Removes a document's row, its index entries, its read time and its share of the counts. A long id
 * that no table mentions any more is released; the collection is left to the caller. OK, NOT_FOUND.
 * A damaged row is E_CORRUPT; with even_damaged it is removed, and all documents are counted again.
 * *freed_bytes (nullable): how much the counted bytes went down. id_key_form must not lie in the
 * environment. */
int32_t larder__document_remove(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                                bool even_damaged, int64_t *freed_bytes, larder_error *error);
/* For a row that was damaged: removes the document's read-time rows, whatever their times. */
int32_t larder__read_time_forget(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                                 larder_error *error);
/* For the same, once it is gone or replaced: sets the counters of the store, the dictionaries
 * and the collection by the rows there are. */
int32_t larder__document_recount(larder_txn *txn, uint64_t collection, larder_error *error);
/* larder_document_put of a document that a store has already: also under a name that no new one may
 * have. */
int32_t larder__document_put_again(larder_txn *txn, larder_bytes name,
                                   const larder_document_info *info, larder_bytes plain,
                                   larder_error *error);
/* Reads the row; collection and id of *document are left to the caller. OK, NOT_FOUND. */
int32_t larder__document_read(const larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                              larder_document *document, larder_error *error);
/* Inline, so that the half kilobyte of a key is made in place. */
static inline larder__key larder__document_key(uint64_t collection, larder_bytes id_key_form) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, collection);
    larder__key_id(&key, id_key_form);
    return key;
}

/* ---- overlays (overlay.c) ---- */

/* The user's overlay of a document as a view: LOCAL_MUTATIONS set, version {0,0}, batch id and
 * record filled; collection and id are left to the caller. OK, NOT_FOUND. */
int32_t larder__overlay_read(const larder_txn *txn, uint64_t user, uint64_t collection,
                             larder_bytes id_key_form, larder_document *view, larder_error *error);
/* The same from a row met by a cursor over the overlays table. */
int32_t larder__overlay_view(const larder_txn *txn, larder_bytes key, larder_bytes value,
                             larder_document *view, larder_bytes *payload, larder_error *error);

/* ---- targets (target.c) ---- */

/* The LRU epoch in a target's row: OK, NOT_FOUND. Also of a target that is being removed. */
int32_t larder__target_epoch(const larder_txn *txn, int32_t target_id, uint32_t *epoch,
                             larder_error *error);
/* Notes that a target is used now: adds it to the LRU log unless its row has the epoch. *epoch is
 * what its row keeps. */
int32_t larder__target_note_use(larder_txn *txn, int32_t target_id, uint32_t *epoch,
                                larder_error *error);
int32_t larder__target_set_epoch(larder_txn *txn, int32_t target_id, uint32_t epoch,
                                 larder_error *error);
/* Removes up to max_documents of a target's documents and, with the last one, the target: OK
 * when it is gone, LARDER_MORE while some are left (from the first call on the public calls do
 * not find the target any more), NOT_FOUND. *removed counts the documents of this call. */
int32_t larder__target_remove_some(larder_txn *txn, int32_t target_id, int64_t max_documents,
                                   int64_t *removed, larder_error *error);

/* ---- indexes (index.c) ---- */

int32_t larder__index_create_cache(larder_env *env, larder_error *error);
void larder__index_destroy_cache(larder_env *env);
int32_t larder__index_commit(larder_txn *txn, larder_error *error); /* before commit */
void larder__index_ended(larder_txn *txn, bool committed);
/* Moves the entries of one document from its old record to its new one; NULL: none. Records
 * may be cold (it loads them when an indexed field needs it). */
int32_t larder__index_update(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                             const larder_record *old_record, const larder_record *new_record,
                             larder_error *error);
/* The same for a user's overlay. */
int32_t larder__index_update_overlay(larder_txn *txn, uint64_t user, uint64_t collection,
                                     larder_bytes id_key_form, const larder_record *old_record,
                                     const larder_record *new_record, larder_error *error);

/* ---- scans (scan.c) ---- */

/* Every kind of scan begins with this. next fills the document; close frees what the kind
 * owns (not the scan itself). */
struct larder_scan {
    const larder_txn *txn; /* NULL once that has ended */
    larder_env *env;
    struct larder_scan *next_open, **link_open; /* among the transaction's scans */
    int32_t (*next)(larder_scan *scan, larder_document *document, larder_error *error);
    void (*close)(larder_scan *scan);
    int32_t (*entry)(const larder_scan *scan, larder_bytes *order_bytes); /* NULL: no index */
    uint32_t flags;
    uint64_t write_count; /* of the transaction when it was opened */
    bool ended;
    bool is_collection_scan; /* for larder_collection_next only */
    char scratch[32];        /* of decoded ids */
    /* where the last document lies, for sets */
    uint64_t collection;
    larder_bytes collection_path;
    larder_bytes id_key_form;
};
/* Where a scan has asked the kernel to read ahead: chunks of the map by number, each in the slot
 * that its number gives. */
#define LARDER__AHEAD_SLOTS 64
typedef struct larder__ahead {
    uint32_t count;
    uintptr_t last;
    uintptr_t chunks[LARDER__AHEAD_SLOTS];
} larder__ahead;
/* Whether a scan can be opened in the transaction, and handed over. */
int32_t larder__scan_check_open(const larder_txn *txn, larder_scan *const *scan,
                                larder_error *error);
/* Checks the caller's options (nullable) and copies them. */
int32_t larder__scan_options(const larder_scan_options *given, larder_scan_options *options,
                             larder_error *error);
/* Closes the cursors of the open scans, which answer E_TXN_ENDED from then on. */
void larder__scans_end(larder_txn *txn);
/* LARDER_OK while the scan can be used: not after a write through its transaction. */
int32_t larder__scan_check(const larder_scan *scan, larder_error *error);
/* Allocates a zeroed scan of size_bytes, checks the options (nullable) and counts the handle. */
int32_t larder__scan_create(const larder_txn *txn, size_t size_bytes,
                            const larder_scan_options *options, larder_scan **scan,
                            larder_error *error);
/* Fills collection path (by number) and id text of a document and the scan's last position. */
int32_t larder__scan_find_name(larder_scan *scan, uint64_t collection, larder_bytes id_key_form,
                               larder_document *document, larder_error *error);
/* The same; the collection is mostly that of the last document, and the id its own text. */
static inline int32_t larder__scan_name(larder_scan *scan, uint64_t collection,
                                        larder_bytes id_key_form, larder_document *document,
                                        larder_error *error) {
    if (scan->collection != collection || scan->collection_path.data == NULL ||
        !larder__id_key_is_text(id_key_form))
        return larder__scan_find_name(scan, collection, id_key_form, document, error);
    scan->id_key_form = document->id = id_key_form;
    document->collection = scan->collection_path;
    return LARDER_OK;
}

#endif

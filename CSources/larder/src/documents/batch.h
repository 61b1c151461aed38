/*
 * batch.h - the bytes of a mutation batch, sealed in table mutations; little-endian:
 *
 *   0      local write time (9)
 *   9      attempts (4)
 *   13     time of the last attempt (9), the epoch when there was none
 *   22     error size varint | text of the last failure
 *          payload size varint | payload
 *          documents: count varint | end[count] (4 each) | entries
 *   entry: 00 | name                         based on no version
 *          01 | base version (9) | name
 *
 * end[i] is where entry i ends, counted from the first entry. Names are kept as text, so that a
 * batch can be read without the catalog.
 */
#ifndef LARDER_BATCH_H
#define LARDER_BATCH_H

#include "documents.h"

/* Appends everything up to the documents. False: no memory. */
bool larder__batch_append(larder__buffer *out, const larder_batch *batch);
/* Appends the documents, in bytes of at most 4 GiB together. */
bool larder__batch_append_documents(larder__buffer *out, const larder_mutation_document *documents,
                                    size_t count);
/* The share of one document in them. */
size_t larder__batch_document_bytes(const larder_mutation_document *document);
/* Looks at a row; batch borrows it. False when malformed; the documents are checked as they are
 * taken by larder_batch_get_document. */
bool larder__batch_parse(larder_bytes row, int64_t batch_id, larder_batch *batch);
/* Adds a batch of another store to the user's queue, with the id and the attempts that it has
 * (mutation.c). Neither may be borrowed from the transaction. */
int32_t larder__mutation_restore(larder_txn *txn, larder_bytes user, const larder_batch *batch,
                                 larder_error *error);
/* The prefix of the rows of mutation_documents that belong to a document, for all users
 * (mutation.c). */
void larder__mutation_touch_prefix(larder__key *key, uint64_t collection, const larder__id *id);

#endif

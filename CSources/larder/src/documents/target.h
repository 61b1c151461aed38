/* target.h - what target.c offers target_document.c. */
#ifndef LARDER_TARGET_H
#define LARDER_TARGET_H

#include "documents.h"

void larder__target_key(larder__key *key, int32_t target_id);
/* Whether the target is stored and not being removed: OK, NOT_FOUND. */
int32_t larder__target_exists(const larder_txn *txn, int32_t target_id, larder_error *error);
/* Documents of the target; 0 when it has no row in the catalog. */
int32_t larder__target_count(const larder_txn *txn, int32_t target_id, int64_t *count,
                             larder_error *error);
/* Removes up to max_documents (negative: all) of a target's documents and counts them in
 * *removed; LARDER_MORE while some are left. The caller notes the status. */
int32_t larder__target_drop_documents(larder_txn *txn, int32_t target_id, int64_t max_documents,
                                      int64_t *removed, larder_error *error);

#endif

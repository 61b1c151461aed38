/* mention.h - whether names in the catalog are in use (mention.c). */
#ifndef LARDER_MENTION_H
#define LARDER_MENTION_H

#include "internal.h"

/* Whether any table but the catalog mentions a collection, or one document in it (id of key form;
 * empty for any). */
int32_t larder__is_mentioned(const larder_txn *txn, uint64_t collection, larder_bytes id,
                             bool *found, larder_error *error);

#endif

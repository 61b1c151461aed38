/*
 * node_damage.h - rows of table nodes with any bytes and checksums that fit, so that what is wrong
 * with them is found by looking at them.
 */
#ifndef LARDER_TEST_NODE_DAMAGE_H
#define LARDER_TEST_NODE_DAMAGE_H

#include "store/internal.h"

/* Sets the checksums of a row under a key. False when it is too malformed to have any. */
bool node_damage_mend(const larder_txn *txn, larder_bytes key, uint8_t *row, size_t size_bytes);
/* Puts such a row in place of what the key has. */
int32_t node_damage_put(larder_txn *txn, larder_bytes key, larder_bytes row);

#endif

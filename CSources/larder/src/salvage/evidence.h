/*
 * evidence.h - rows that prove themselves: those with a checksum over key and value.
 *
 * A row found outside of a table's tree belongs to the table whose key and checksum it has.
 */
#ifndef LARDER_EVIDENCE_H
#define LARDER_EVIDENCE_H

#include "store/internal.h"

/* The largest value that is taken for a row's. */
#define LARDER__VALUE_MAX ((uint64_t)LARDER_PAYLOAD_MAX_BYTES + (1 << 20))

/* Whether rows of a table are salvaged; the others are made from them. */
bool larder__evidence_is_wanted(larder__table table);
/* Whether rows of a table have checksums. */
bool larder__evidence_is_sealed(larder__table table);
/* Whether a row of a table is whole; without a checksum, whether it is well formed. */
bool larder__evidence_is_whole(larder__table table, larder_bytes key, larder_bytes value);
/* The table of a row that has a checksum, or LARDER__TABLE_COUNT. */
larder__table larder__evidence_table_of(larder_bytes key, larder_bytes value);

/* The payload of a sealed value (table.c), or false. */
bool larder__evidence_unseal(larder_bytes key, larder_bytes value, larder_bytes *payload);
/* Mends the key of a row that is not whole: one byte of the key is damaged and nothing else, when the
 * checksum says so. Takes time in proportion to the sizes of key times value. */
bool larder__evidence_mend_key(larder__table table, larder_bytes key, larder_bytes value,
                               larder__key *mended);
/* Parts of the keys of mutations, and of pending and refused writes of trees. */
bool larder__evidence_batch_key(larder_bytes key, uint64_t *user, uint64_t *batch_id);
bool larder__evidence_write_key(larder_bytes key, uint64_t *tree, uint8_t *kind,
                                uint64_t *write_id);

#endif

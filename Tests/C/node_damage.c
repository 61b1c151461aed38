/* node_damage.c - see node_damage.h. */
#include "node_damage.h"

#include "nodes/segment.h"

#include <stdlib.h>

bool node_damage_mend(const larder_txn *txn, larder_bytes key, uint8_t *row, size_t size_bytes) {
    enum { FRAME_CHECKSUM_BYTES = 4, HEAD_BYTES = 5 };
    larder__segment segment;
    if (size_bytes <= HEAD_BYTES) return false;
    int32_t status = larder__segment_open(txn, key, larder__bytes(row, size_bytes), &segment, NULL);
    size_t frame_bytes = segment.cold_bytes > 0 ? segment.frame.size_bytes : 0;
    bool is_apart = status == LARDER_OK || segment.hot.data != NULL;
    larder__segment_close(&segment);
    if (!is_apart) return false;
    size_t checked_bytes = size_bytes - frame_bytes;
    if (frame_bytes > 0)
        larder__store32(row + checked_bytes - FRAME_CHECKSUM_BYTES,
                        larder__checksum(0, row + checked_bytes, frame_bytes));
    uint32_t crc = larder__crc32c(row[0], key.data, key.size_bytes);
    crc = larder__checksum(crc, row + HEAD_BYTES, checked_bytes - HEAD_BYTES);
    larder__store32(row + 1, crc);
    return true;
}

int32_t node_damage_put(larder_txn *txn, larder_bytes key, larder_bytes row) {
    uint8_t *copy = malloc(row.size_bytes + 1);
    if (copy == NULL) abort();
    if (row.size_bytes > 0) memcpy(copy, row.data, row.size_bytes);
    (void)node_damage_mend(txn, key, copy, row.size_bytes);
    int32_t status =
        larder__table_put(txn, LARDER__NODES, key, larder__bytes(copy, row.size_bytes), NULL);
    free(copy);
    return status;
}

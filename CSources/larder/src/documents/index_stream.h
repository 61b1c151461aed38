/*
 * index_stream.h - the entries of an index in one collection, or a user's overlay entries there,
 * between the bounds of a scan.
 *
 * Key order is name order within equal order bytes, but for ids that share their first
 * LARDER__ID_HEAD bytes: the key forms of long ones end in a hash. Such a run of entries is
 * gathered and put in order by the ids' texts.
 *
 * The transaction does not write while a stream is in use (larder_scan_next sees to it), so keys
 * stay where they are.
 */
#ifndef LARDER_INDEX_STREAM_H
#define LARDER_INDEX_STREAM_H

#include "index.h"

/* The common part of a scan's streams. */
typedef struct larder__index_range {
    const larder_txn *txn;
    uint32_t index_id;
    larder__index_row row; /* kinds and count of segments only: the rest is borrowed */
    bool is_reverse;
    bool has_user;
    uint64_t user;
    larder__key low;  /* of order bytes and id; empty: none */
    larder__key high; /* exclusive */
    bool has_high;
} larder__index_range;

/* Sets the bounds. Those longer than what entries keep select everything that begins with what
 * is kept. False when nothing can lie between them. */
bool larder__index_range_set(larder__index_range *range, const larder_scan_options *options);

typedef struct larder__index_run larder__index_run;

typedef struct larder__index_stream {
    larder__cursor cursor; /* over index_entries or overlay_entries */
    uint64_t collection;
    larder_bytes path;
    int32_t rank;       /* of the collection in path order */
    int32_t nested_end; /* the first rank behind the collections below its documents */
    bool is_overlay;
    bool checks_overlays; /* the user has overlays in the collection: pass their documents over */
    bool is_placed;       /* the cursor stands on a row that was not looked at */
    bool is_cut;          /* the current entry */
    uint8_t prefix_bytes; /* of the keys: what comes before the order bytes */
    uint8_t prefix[3 * LARDER__NUMBER_MAX];
    larder_bytes rest; /* of the current entry: order bytes, id */
    size_t order_bytes;
    larder__index_run *run; /* what is being given from memory, or NULL */
} larder__index_stream;

static inline larder_bytes larder__index_stream_order(const larder__index_stream *s) {
    return larder__bytes(s->rest.data, s->order_bytes);
}
static inline larder_bytes larder__index_stream_id(const larder__index_stream *s) {
    return larder__bytes(larder__begin(s->rest) + s->order_bytes,
                         s->rest.size_bytes - s->order_bytes);
}
/* Puts the cursor, open and with the prefix set, before the first entry in scan order, or
 * answers LARDER_END. */
int32_t larder__index_stream_place(const larder__index_range *range, larder__index_stream *s,
                                   larder_error *error);
/* Goes to the next entry: OK, LARDER_END; after E_CORRUPT the next call goes on behind the
 * damage. */
int32_t larder__index_stream_next(const larder__index_range *range, larder__index_stream *s,
                                  larder_error *error);
void larder__index_stream_close(const larder__index_range *range, larder__index_stream *s);

#endif

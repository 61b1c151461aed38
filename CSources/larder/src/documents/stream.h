/*
 * stream.h - one collection's documents in name order, a user's overlays merged in.
 *
 * Under every scan by name. A stream stands on an id ("current"); base says that the documents
 * table has it, overlay that the user's overlays do. Of ids that share their first 184 bytes the
 * long ones lie in the tables in hash order, among the others: the stream collects such a run,
 * puts it in order by text, and gives it from memory.
 */
#ifndef LARDER_STREAM_H
#define LARDER_STREAM_H

#include "documents.h"
#include "store/guard.h"

typedef struct larder__run_entry { /* of a run of ids with one head */
    uint8_t size_bytes;
    uint8_t id[LARDER__ID_MAX];
    larder_bytes text;
} larder__run_entry;

#define LARDER__ROWS_AHEAD 16

typedef struct larder__stream {
    const larder_txn *txn;
    uint64_t collection;
    uint64_t user; /* 0: no overlays */
    bool is_reverse;
    larder__key base_prefix, overlay_prefix;
    larder__cursor base, overlay;
    bool has_base, has_overlay; /* the cursor stands on an entry */
    bool base_is_current, overlay_is_current;
    larder_bytes current; /* key form */
    /* bounds on ids in key form; size 0: none */
    larder__id start, end;
    bool start_is_after, end_is_at;
    larder_bytes start_text, end_text; /* for long ids, compared by text */
    larder__run_entry *run;
    size_t run_count, run_at;
    /* Rows of the base fetched ahead, all of the collection, with ids that are in their place. The
     * base's cursor stands on the last of them. */
    larder__mdb_row rows[LARDER__ROWS_AHEAD];
    size_t row_count, row_at, fetch_count;
} larder__stream;

/* Opens before the first id (the last for reverse). start and end are ids as text (empty:
 * none), borrowed while the stream lives. */
int32_t larder__stream_open(larder__stream *stream, const larder_txn *txn, uint64_t collection,
                            uint64_t user, const larder_scan_options *options, larder_bytes start,
                            larder_bytes end, larder_error *error);
/* Moves to the next id; LARDER_END. */
int32_t larder__stream_next(larder__stream *stream, larder_error *error);
/* Of ids in runs and of overlays. */
int32_t larder__stream_read_merged(larder__stream *stream, larder_document *document,
                                   larder_error *error);
/* Reads the document it stands on: the overlay when there is one. Collection and id of the
 * document are left to the caller. */
static inline int32_t larder__stream_read(larder__stream *stream, larder_document *document,
                                          larder_error *error) {
    if (stream->run != NULL || stream->overlay_is_current)
        return larder__stream_read_merged(stream, document, error);
    return larder__row_read(stream->txn, LARDER__DOCUMENTS, stream->base.key, stream->base.value,
                            document, error);
}
void larder__stream_close(larder__stream *stream);

#endif

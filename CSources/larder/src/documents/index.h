/*
 * index.h - what the index files share: a definition as it is stored and as it is kept in
 * memory, and the entries of one record.
 *
 *   index.c           definition rows and their cache
 *   index_define.c    define, get, next, drop
 *   index_entries.c   a record's entries; maintenance with every written document
 *   index_backfill.c  indexing what was there before the definition, in bounded steps
 *   index_stream.c, index_scan.c    reading
 *
 * Definition row: catalog, LARDER__KIND_INDEX, index number -> sealed
 *
 *   0      state: 3 being dropped, 4 building, 5 complete; 1 building and 2 complete of versions
 *          up to 0.2, whose order bytes of references were others: their entries are removed and
 *          built again
 *   1..8   entries in both tables (little-endian)
 *   9..16  bytes they occupy
 *   17..24 documents looked at by the back-fill
 *   25     segment count
 *   26     group size varint, group
 *          for each segment: kind (1), field path size varint, field path
 *          back-fill position: the rest (index_backfill.c)
 *
 * Two definitions are equal when the bytes from 25 up to the position are.
 *
 * Entry keys and values: key.h. A document has an entry when it has every field of the index;
 * with a CONTAINS segment, one for each distinct element of the array there. Order bytes are
 * those of the segments in the order of the definition, each encoding complete in itself, so
 * that none is the beginning of another and the document id behind them never takes part in
 * comparing two different lists of values.
 */
#ifndef LARDER_INDEX_H
#define LARDER_INDEX_H

#include "base/items.h"
#include "documents.h"

enum { LARDER__INDEX_DROPPING = 3, LARDER__INDEX_BUILDING = 4, LARDER__INDEX_COMPLETE = 5 };

/* A definition row in place. */
typedef struct larder__index_row {
    int32_t state;
    uint32_t segment_count;
    int64_t entry_count;
    int64_t size_bytes;
    int64_t backfilled_count;
    larder_bytes definition;
    larder_bytes group;
    larder_index_segment segments[LARDER_INDEX_MAX_SEGMENTS];
    larder_bytes position;
} larder__index_row;

larder__key larder__index_row_key(uint32_t index_id);
/* In any state: OK, NOT_FOUND, E_CORRUPT. */
int32_t larder__index_row_read(const larder_txn *txn, uint32_t index_id, larder__index_row *row,
                               larder_error *error);
/* counts: entries, bytes, documents looked at. */
int32_t larder__index_row_put(larder_txn *txn, uint32_t index_id, int32_t state,
                              const int64_t counts[3], larder_bytes definition,
                              larder_bytes position, larder_error *error);
/* OK, NOT_FOUND (also for an index that is being dropped), E_CORRUPT. */
int32_t larder__index_read(const larder_txn *txn, uint32_t index_id, larder__index_row *row,
                           larder_error *error);
/* Reads a payload; false when malformed. An index of an earlier version is one that is being built
 * and removes its entries first. */
bool larder__index_parse(larder_bytes payload, larder__index_row *row);

/* A definition in memory, for the writer. */
typedef struct larder__index_definition {
    uint32_t index_id;
    uint32_t segment_count;
    int32_t contains;   /* position of the CONTAINS segment, or -1 */
    int32_t next;       /* in the cache, of the same group; -1: the last */
    larder_bytes bytes; /* as stored, see above */
    larder_bytes group;
    uint8_t kinds[LARDER_INDEX_MAX_SEGMENTS];
    larder_field fields[LARDER_INDEX_MAX_SEGMENTS];
    bool is_touched;     /* the transaction changed entries */
    int64_t entry_delta; /* not in the row yet */
    int64_t size_delta;
} larder__index_definition;

/* Fills a zeroed definition, its id apart, from a row, whose bytes it borrows. */
void larder__index_describe(larder__index_definition *definition, const larder__index_row *row);

/* Buffers for making entries, reused. */
typedef struct larder__index_work {
    larder__buffer head, tail; /* order bytes before and after a CONTAINS segment */
    larder__buffer old_cold, new_cold;
    larder__items old_items, new_items;
} larder__index_work;
void larder__index_work_init(larder__index_work *work, const larder_allocator *allocator);
void larder__index_work_free(larder__index_work *work);

/* A record whose cold part is loaded when a field needs it. */
typedef struct larder__index_view {
    const larder_record *record; /* NULL: none, has no entries */
    larder__buffer *cold;
    larder_record loaded;
} larder__index_view;
/* OK, NOT_FOUND; below 0 when the record is damaged or there is no memory. */
int32_t larder__index_find(larder__index_view *view, larder_field *field, larder_bytes *value,
                           larder_error *error);

/* Appends the record's entry keys to items, unsorted: prefix, order bytes, suffix. An item's
 * mark is 1 when its order bytes were cut. */
int32_t larder__index_collect(larder__index_definition *definition, larder__index_view *view,
                              larder_bytes prefix, larder_bytes suffix, larder__index_work *work,
                              larder__items *items, larder_error *error);
/* The value of an entry with that mark. */
larder_bytes larder__index_entry_value(uint16_t mark);
/* The size of the order bytes in front of the id, given what follows an entry key's prefix and
 * the entry's value; 0 when malformed. */
size_t larder__index_boundary(const larder__index_row *row, larder_bytes rest, larder_bytes value);
/* Prefix of entry keys: user is NULL for index_entries. */
void larder__index_prefix(larder__key *key, const uint64_t *user, uint32_t index_id,
                          uint64_t collection);

/* ---- the cache: definitions that are maintained; of the one writer ---- */

#define LARDER__INDEX_MEMO 256

struct larder__index_cache {
    bool is_loaded;
    bool is_begun;              /* the open transaction used it */
    bool is_changed;            /* the open transaction changed definitions */
    int64_t catalog_version;    /* of the commit it is as of */
    larder__buffer texts;       /* what the definitions' bytes point into */
    larder__buffer definitions; /* larder__index_definition each, in order of ids */
    struct {
        uint64_t collection; /* 0: none remembered */
        int32_t first;       /* of its group's definitions; -1: it has none */
    } memo[LARDER__INDEX_MEMO];
    larder__buffer row; /* a row being changed */
    larder__index_work work;
};

/* The cache, valid for the transaction. */
int32_t larder__index_cache_use(larder_txn *txn, larder__index_cache **cache, larder_error *error);
/* A definition in it, or NULL. */
larder__index_definition *larder__index_cached(const larder__index_cache *cache, uint32_t index_id);
/* The position of the first definition of a group, or -1. */
int32_t larder__index_of_group(const larder__index_cache *cache, larder_bytes group);
/* Definitions were put or changed: the cache is read again when it is needed next. Pending counts
 * must be in the rows already (larder__index_commit). */
void larder__index_changed(larder_txn *txn, larder__index_cache *cache);
/* The first definition of a collection's group, linked by next; NULL: none. */
int32_t larder__index_of_collection(larder_txn *txn, larder__index_cache *cache,
                                    uint64_t collection, larder__index_definition **first,
                                    larder_error *error);
static inline larder__index_definition *larder__index_at(const larder__index_cache *cache,
                                                         int32_t position) {
    if (position < 0) return NULL;
    return (larder__index_definition *)(void *)cache->definitions.data + position;
}

/* Changes of entries between these two calls are counted for the definition. */
larder_usage larder__index_usage(const larder_txn *txn);
void larder__index_count(const larder_txn *txn, larder__index_definition *definition,
                         larder_usage before);
/* Rewrites a definition's row: state, back-fill and, with it, the pending counts. */
int32_t larder__index_write(larder_txn *txn, larder__index_definition *definition, int32_t state,
                            int64_t backfilled_count, larder_bytes position, larder_error *error);
/* One step of the back-fill, without checks of arguments: OK or MORE. */
int32_t larder__index_backfill(larder_txn *txn, larder__index_definition *definition,
                               int64_t max_documents, int64_t max_us, larder_error *error);
/* For calls that go on after some failures: hands one that counts to the caller. */
static inline int32_t larder__index_give(larder_error *error, const larder_error *failure) {
    if (error != NULL) *error = *failure;
    return failure->status;
}
/* Removes entries of both tables until *left is 0: OK when none are left, or MORE. */
int32_t larder__index_drop_entries(larder_txn *txn, uint32_t index_id, int64_t *left,
                                   larder_error *error);
/* The back-fill position of an index whose entries an earlier version made: they are removed. */
larder_bytes larder__index_clearing(void);
/* Whether a collection of the group holds a found document: OK or NOT_FOUND. */
int32_t larder__index_has_documents(larder_txn *txn, larder_bytes group, larder_error *error);

#endif

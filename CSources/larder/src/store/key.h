/*
 * key.h - how rows are named: every table's key layout.
 *
 * Parts of keys
 *   number   order-preserving varint: 0..239 one byte; else 0xF0+(n-1) and n big-endian bytes
 *   id       a document id in key form (below), last in its key
 *   idz      the same with its length byte in front, so that more can follow
 *   time     9 bytes, big-endian: seconds since year 1 in 5, nanoseconds in 4
 *   batch    8 bytes big-endian          epoch  4 bytes big-endian
 *
 * Key form of a document id, at most 200 bytes; memcmp order is Firestore's order:
 *   00 | int64 biased, big-endian (8)              __id<digits>__, canonical digits
 *   00 | int64 biased (8) | the id's text          other digits (e.g. 007), of earlier versions
 *   01 | text                                      text that begins with byte 00 or 01
 *   text                                           everything else
 *   first 184 bytes of the above | hash128 (16)    when the above passes 199 bytes: "long"
 * The full text of a long id is in the catalog under (collection, key form). Long ids that
 * share their first 184 bytes are put in order when they are scanned.
 *
 * Tables (LMDB named databases; columns are keys)
 *   catalog             kind byte, then by kind (catalog.c)
 *   documents           collection number, id                       -> row (row.h)
 *   read_times          collection number, time, id                 -> empty
 *   lru                 epoch, chunk (4, big-endian)                -> packed ids (lru.c)
 *   mutations           user number, batch                          -> sealed batch
 *   mutation_documents  collection number, idz, user number, batch  -> empty
 *   overlays            user number, collection number, id          -> sealed head, row
 *   overlay_batches     user number, batch, collection number, id   -> empty
 *   targets             target number                               -> sealed target
 *   target_documents    target number, collection number, id        -> empty
 *   document_targets    collection number, idz, target number       -> empty
 *   index_entries       index number, collection number, order bytes, id  -> empty, or the
 *                       length of the order bytes (2, little-endian) when they were cut
 *   overlay_entries     user number, then as index_entries
 *   nodes               location number, separator (nodes/location.h)   -> segment
 *   node_queries        tree number, query id (8, big-endian)           -> sealed tracked query
 *   node_writes         tree number, kind (1), write id (8, big-endian) -> sealed write
 */
#ifndef LARDER_KEY_H
#define LARDER_KEY_H

#include "base/numeric_id.h"

#define LARDER__KEY_MAX 511
#define LARDER__ID_MAX 200    /* key form of an id */
#define LARDER__ID_HEAD 184   /* of a long one: the bytes before the hash */
#define LARDER__PATH_MAX 400  /* key form of a collection path */
#define LARDER__ORDER_MAX 240 /* order bytes in an index entry */
#define LARDER__NUMBER_MAX 9

typedef struct larder__key {
    size_t size_bytes;
    uint8_t bytes[LARDER__KEY_MAX + 1];
} larder__key;

static inline larder_bytes larder__key_bytes(const larder__key *key) {
    return larder__bytes(key->bytes, key->size_bytes);
}
static inline void larder__key_clear(larder__key *key) { key->size_bytes = 0; }
/* Appends. The layouts above never pass LARDER__KEY_MAX; an append that would is an assertion. */
void larder__key_append(larder__key *key, const void *data, size_t size_bytes);
void larder__key_byte(larder__key *key, uint8_t byte);
void larder__key_number(larder__key *key, uint64_t number);
void larder__key_u32(larder__key *key, uint32_t value);
void larder__key_u64(larder__key *key, uint64_t value);
void larder__key_time(larder__key *key, larder_time time);
/* Makes the smallest key above every key that begins with this one; false when there is none. */
bool larder__key_successor(larder__key *key);

/* Reads a part at *at and moves *at behind it; false when the key is too short or malformed. */
bool larder__key_read_number(const uint8_t **at, const uint8_t *end, uint64_t *number);
bool larder__key_read_u32(const uint8_t **at, const uint8_t *end, uint32_t *value);
bool larder__key_read_u64(const uint8_t **at, const uint8_t *end, uint64_t *value);
bool larder__key_read_time(const uint8_t **at, const uint8_t *end, larder_time *time);
/* idz: bytes becomes the key form. */
bool larder__key_read_idz(const uint8_t **at, const uint8_t *end, larder_bytes *id);

/* A document id in key form. */
typedef struct larder__id {
    uint8_t size_bytes;
    bool is_long;
    uint8_t bytes[LARDER__ID_MAX];
} larder__id;
static inline larder_bytes larder__id_bytes(const larder__id *id) {
    return larder__bytes(id->bytes, id->size_bytes);
}
static inline bool larder__id_key_is_long(larder_bytes key_form) {
    return key_form.size_bytes == LARDER__ID_MAX;
}
/* Whether the key form is the id's text: not numeric, not long. */
static inline bool larder__id_key_is_text(larder_bytes key_form) {
    return key_form.size_bytes > 0 &&
           key_form.size_bytes<LARDER__ID_MAX && * larder__begin(key_form)> 1;
}
/* text is a checked segment. */
void larder__id_encode(larder_bytes text, larder__id *id);
/* The text of a key form that is not long; scratch (32 bytes) holds generated text. False when
 * the bytes are no key form. */
bool larder__id_decode(larder_bytes key_form, char scratch[32], larder_bytes *text);
void larder__key_id(larder__key *key, larder_bytes key_form);
void larder__key_idz(larder__key *key, larder_bytes key_form);

/* Firestore's order of two slash-separated paths. */
int larder__path_compare(larder_bytes a, larder_bytes b);
/* Key form of a collection path: segments in id form without the long rule, 00 escaped as
 * 00 FF, each ended by 00 01; beyond 400 bytes the first 384 and a hash128. Appends to key;
 * returns true when it was cut. */
bool larder__key_path(larder__key *key, larder_bytes path);

/* Checks a slash-separated path of parity 0 (document, even segments) or 1 (collection), and
 * its limits. Spellings of numeric ids that rows of earlier versions have are taken. */
int32_t larder__path_check(larder_bytes path, int parity, larder_error *error);
/* The same for the name of a document that is to be written: without those spellings. */
int32_t larder__name_check_new(larder_bytes name, larder_error *error);
/* Splits a checked name at its last slash. */
void larder__name_split(larder_bytes name, larder_bytes *collection, larder_bytes *id);
/* The last segment of a path. */
larder_bytes larder__path_last(larder_bytes path);

#endif

/* evidence.c - checking rows without a store (evidence.h). */
#include "evidence.h"

#include "documents/batch.h"
#include "nodes/node_query.h"
#include "store/catalog.h"
#include "store/row.h"

#define SEAL_BYTES 4
#define TARGET_HEAD_BYTES 35
#define TARGET_STATE_AT 4
#define OVERLAY_BATCH_AT 4
#define OVERLAY_PAYLOAD_AT 12
#define SEGMENT_HEAD_BYTES 5
#define COLD_RAW 1 /* in place of a dictionary */
#define LARGEST_ID (UINT64_C(1) << 53)

bool larder__evidence_is_wanted(larder__table table) {
    static const bool wanted[LARDER__TABLE_COUNT] = {
        [LARDER__CATALOG] = true,          [LARDER__DOCUMENTS] = true,
        [LARDER__MUTATIONS] = true,        [LARDER__MUTATION_DOCUMENTS] = true,
        [LARDER__OVERLAYS] = true,         [LARDER__TARGETS] = true,
        [LARDER__TARGET_DOCUMENTS] = true, [LARDER__NODES] = true,
        [LARDER__NODE_QUERIES] = true,     [LARDER__NODE_WRITES] = true,
    };
    return table < LARDER__TABLE_COUNT && wanted[table];
}

bool larder__evidence_is_sealed(larder__table table) {
    return larder__evidence_is_wanted(table) && table != LARDER__MUTATION_DOCUMENTS &&
           table != LARDER__TARGET_DOCUMENTS;
}

/* ---- checksums ---- */

static uint32_t seal_of(larder_bytes key, larder_bytes payload) {
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    return larder__crc32c(crc, payload.data, payload.size_bytes);
}

bool larder__evidence_unseal(larder_bytes key, larder_bytes value, larder_bytes *payload) {
    if (value.size_bytes < SEAL_BYTES) return false;
    *payload = larder__bytes(larder__begin(value) + SEAL_BYTES, value.size_bytes - SEAL_BYTES);
    return seal_of(key, *payload) == larder__load32(value.data);
}

static bool skip_sized(const uint8_t **at, const uint8_t *end) {
    uint64_t size;
    size_t used = larder__varint_get(*at, end, &size);
    if (used == 0 || size > (uint64_t)(end - *at) - used) return false;
    *at += used + size;
    return true;
}

static bool skip_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    size_t used = larder__varint_get(*at, end, value);
    *at += used;
    return used > 0;
}

/* The cold part of a document row. *end: where the row's own checksum ends. */
static bool check_cold(const uint8_t *at, const uint8_t **end) {
    uint64_t raw, dictionary;
    if (!skip_varint(&at, *end, &raw) || !skip_varint(&at, *end, &dictionary)) return false;
    if ((size_t)(*end - at) < LARDER__COLD_CHECKSUM_FROM) return true; /* covers it */
    const uint8_t *frame = at + LARDER__COLD_CHECKSUM_BYTES;
    if (larder__checksum(0, frame, (size_t)(*end - frame)) != larder__load32(at)) return false;
    *end = frame;
    return true;
}

/* A document row (row.h). */
static bool is_row(larder_bytes key, larder_bytes row) {
    const uint8_t *p = larder__begin(row), *end = p + row.size_bytes;
    if (row.size_bytes < LARDER__ROW_HEAD_BYTES) return false;
    const uint8_t *at = p + LARDER__ROW_HEAD_BYTES;
    int state = p[0] & LARDER__ROW_STATE;
    size_t times = (p[0] & LARDER__ROW_CREATE_TIME) != 0 ? 1 : 0;
    times += (p[0] & LARDER__ROW_READ_TIME) != 0 ? 1 : 0;
    if (state == 0 || (size_t)(end - at) < times * LARDER__TIME_BYTES) return false;
    at += times * LARDER__TIME_BYTES;
    if (state == LARDER_DOCUMENT_FOUND) {
        uint64_t shape;
        bool has_names = (p[0] & LARDER__ROW_NAMES) != 0;
        if (!(has_names ? skip_sized(&at, end) : skip_varint(&at, end, &shape))) return false;
        if (!skip_sized(&at, end)) return false;
        if ((p[0] & LARDER__ROW_COLD) != 0 ? !check_cold(at, &end) : at != end) return false;
    } else if (at != end) {
        return false;
    }
    uint32_t crc = larder__crc32c(p[0], key.data, key.size_bytes);
    crc = larder__checksum(crc, p + LARDER__ROW_VERSION_AT,
                           (size_t)(end - p) - LARDER__ROW_VERSION_AT);
    return crc == larder__load32(p + 1);
}

/* An overlay (overlay.c). */
static bool is_overlay(larder_bytes key, larder_bytes value) {
    const uint8_t *p = larder__begin(value), *end = p + value.size_bytes;
    if (value.size_bytes <= OVERLAY_PAYLOAD_AT) return false;
    const uint8_t *row = p + OVERLAY_PAYLOAD_AT;
    if (!skip_sized(&row, end)) return false;
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    crc = larder__crc32c(crc, p + OVERLAY_BATCH_AT, (size_t)(row - p) - OVERLAY_BATCH_AT);
    return crc == larder__load32(p) && is_row(key, larder__bytes(row, (size_t)(end - row)));
}

/* A row of nodes (segment.h). */
static bool is_segment(larder_bytes key, larder_bytes row) {
    const uint8_t *p = larder__begin(row), *end = p + row.size_bytes;
    uint64_t count, names, hot, number;
    if (row.size_bytes < SEGMENT_HEAD_BYTES + 1 || p[0] > 1) return false;
    const uint8_t *at = p + SEGMENT_HEAD_BYTES;
    if (!skip_varint(&at, end, &count) || at == end) return false;
    at++; /* the number of names */
    if (!skip_varint(&at, end, &names) || !skip_varint(&at, end, &hot)) return false;
    if (names > (uint64_t)(end - at) || hot > (uint64_t)(end - at) - names) return false;
    at += names + hot;
    const uint8_t *checked_end = end;
    if (p[0] == 1) {
        if (!skip_varint(&at, end, &number) || !skip_varint(&at, end, &number) ||
            !skip_varint(&at, end, &number) || end - at < SEAL_BYTES)
            return false;
        checked_end = at + SEAL_BYTES;
        if (larder__checksum(0, checked_end, (size_t)(end - checked_end)) != larder__load32(at))
            return false;
    } else if (at != end) {
        return false;
    }
    uint32_t crc = larder__crc32c(p[0], key.data, key.size_bytes);
    crc = larder__checksum(crc, p + SEGMENT_HEAD_BYTES,
                           (size_t)(checked_end - p) - SEGMENT_HEAD_BYTES);
    return crc == larder__load32(p + 1);
}

/* ---- keys ---- */

static bool read_number_and_id(larder_bytes key, uint64_t *number, uint64_t *id) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    return larder__key_read_number(&at, end, number) && larder__key_read_u64(&at, end, id) &&
           at == end && *number > 0 && *id > 0;
}

bool larder__evidence_batch_key(larder_bytes key, uint64_t *user, uint64_t *batch_id) {
    return read_number_and_id(key, user, batch_id) && *batch_id < LARGEST_ID;
}

bool larder__evidence_write_key(larder_bytes key, uint64_t *tree, uint8_t *kind,
                                uint64_t *write_id) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    if (!larder__key_read_number(&at, end, tree) || at == end) return false;
    *kind = *at++;
    return *kind <= LARDER_NODE_WRITE_REFUSED && larder__key_read_u64(&at, end, write_id) &&
           at == end && *tree > 0 && *write_id > 0 && *write_id <= INT64_MAX;
}

static bool has_numbers(larder_bytes key, int count) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t number;
    for (int i = 0; i < count; i++)
        if (!larder__key_read_number(&at, end, &number)) return false;
    return at < end;
}

static bool is_target_key(larder_bytes key) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t number;
    return larder__key_read_number(&at, end, &number) && at == end && number > 0 &&
           number <= INT32_MAX;
}

/* ---- payloads ---- */

static bool is_batch(uint64_t id, larder_bytes payload) {
    larder_batch batch;
    larder_mutation_document document;
    if (!larder__batch_parse(payload, (int64_t)id, &batch)) return false;
    for (uint32_t i = 0; i < batch.document_count; i++)
        if (larder_batch_get_document(&batch, i, &document) != LARDER_OK ||
            larder__path_check(document.name, 0, NULL) != LARDER_OK)
            return false;
    return true;
}

static bool is_query(larder_bytes payload) {
    larder__query_row row;
    return larder__query_parse(payload, &row) &&
           (row.flags & ~(uint32_t)LARDER__QUERY_FLAGS) == 0 && larder__utf8_is_valid(row.path);
}

static bool is_target(larder_bytes payload) {
    return payload.size_bytes >= TARGET_HEAD_BYTES && larder__begin(payload)[TARGET_STATE_AT] <= 1;
}

static bool is_write(larder_bytes payload) {
    larder_time time;
    return payload.size_bytes >= LARDER__TIME_BYTES &&
           larder__time_get(larder__begin(payload), &time);
}

static bool is_catalog(larder_bytes key, larder_bytes payload) {
    uint8_t kind = key.size_bytes > 0 ? larder__begin(key)[0] : 0;
    if (kind == LARDER__KIND_COUNTERS)
        return key.size_bytes == 1 && payload.size_bytes == sizeof(larder__counters);
    return kind > LARDER__KIND_FORMAT && kind <= LARDER__KIND_DICTIONARY_COUNT;
}

/* ---- a row of a table ---- */

bool larder__evidence_is_whole(larder__table table, larder_bytes key, larder_bytes value) {
    uint64_t number, id;
    uint8_t kind;
    larder_bytes payload = {NULL, 0};
    if (key.size_bytes == 0 || value.size_bytes > LARDER__VALUE_MAX) return false;
    switch (table) {
    case LARDER__DOCUMENTS:
        return has_numbers(key, 1) && is_row(key, value);
    case LARDER__OVERLAYS:
        return has_numbers(key, 2) && is_overlay(key, value);
    case LARDER__NODES:
        /* Those of location 0 are empty, and what they name is not kept. */
        return value.size_bytes > 0 && is_segment(key, value);
    case LARDER__MUTATION_DOCUMENTS:
    case LARDER__TARGET_DOCUMENTS:
        return value.size_bytes == 0 && has_numbers(key, 1);
    default:
        break;
    }
    if (!larder__evidence_unseal(key, value, &payload)) return false;
    switch (table) {
    case LARDER__CATALOG:
        return is_catalog(key, payload);
    case LARDER__MUTATIONS:
        return larder__evidence_batch_key(key, &number, &id) && is_batch(id, payload);
    case LARDER__TARGETS:
        return is_target_key(key) && is_target(payload);
    case LARDER__NODE_QUERIES:
        return read_number_and_id(key, &number, &id) && is_query(payload);
    case LARDER__NODE_WRITES:
        return larder__evidence_write_key(key, &number, &kind, &id) && is_write(payload);
    default:
        return false;
    }
}

/* The change of a checksum by that of one byte is the sum of the changes by its bits. */
bool larder__evidence_mend_key(larder__table table, larder_bytes key, larder_bytes value,
                               larder__key *mended) {
    if (key.size_bytes > sizeof mended->bytes || value.size_bytes < SEAL_BYTES) return false;
    larder_bytes payload =
        larder__bytes(larder__begin(value) + SEAL_BYTES, value.size_bytes - SEAL_BYTES);
    mended->size_bytes = key.size_bytes;
    memcpy(mended->bytes, key.data, key.size_bytes);
    uint32_t now = seal_of(key, payload), missing = now ^ larder__load32(value.data);
    for (size_t i = 0; i < key.size_bytes; i++) {
        uint32_t changes[256] = {0};
        for (unsigned bits = 1; bits < 256; bits++) {
            unsigned lowest = bits & (~bits + 1);
            if (bits == lowest) {
                mended->bytes[i] ^= (uint8_t)bits;
                changes[bits] = seal_of(larder__key_bytes(mended), payload) ^ now;
                mended->bytes[i] ^= (uint8_t)bits;
            } else {
                changes[bits] = changes[lowest] ^ changes[bits - lowest];
            }
            if (changes[bits] != missing) continue;
            mended->bytes[i] ^= (uint8_t)bits;
            if (larder__evidence_is_whole(table, larder__key_bytes(mended), value)) return true;
            mended->bytes[i] ^= (uint8_t)bits;
        }
    }
    return false;
}

larder__table larder__evidence_table_of(larder_bytes key, larder_bytes value) {
    uint64_t number, id;
    uint8_t kind;
    larder_bytes payload;
    if (key.size_bytes == 0 || value.size_bytes == 0 || value.size_bytes > LARDER__VALUE_MAX)
        return LARDER__TABLE_COUNT;
    if (larder__evidence_unseal(key, value, &payload)) {
        /* Names in keys of the catalog make ids above the largest one. */
        if (larder__evidence_batch_key(key, &number, &id)) {
            if (is_batch(id, payload)) return LARDER__MUTATIONS;
            if (is_query(payload)) return LARDER__NODE_QUERIES;
        }
        if (larder__evidence_write_key(key, &number, &kind, &id) && id < LARGEST_ID &&
            is_write(payload))
            return LARDER__NODE_WRITES;
        if (is_catalog(key, payload)) return LARDER__CATALOG;
        if (is_target_key(key) && is_target(payload)) return LARDER__TARGETS;
        return LARDER__TABLE_COUNT;
    }
    if (has_numbers(key, 1) && is_row(key, value)) return LARDER__DOCUMENTS;
    if (is_segment(key, value)) return LARDER__NODES;
    if (has_numbers(key, 2) && is_overlay(key, value)) return LARDER__OVERLAYS;
    return LARDER__TABLE_COUNT;
}

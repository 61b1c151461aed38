/* row.c - building and reading the stored bytes of a document (row.h). */
#include "row.h"

#include "blob.h"
#include "catalog.h"
#include "shape.h"

#define CRC_AT 1
#define RAW_STORED 1 /* in place of a dictionary: the cold part is not compressed */

/* Over the key, byte 0 (the seed), and bytes 9 up to end: the compressed part has its own. */
static uint32_t checksum(larder_bytes key, const uint8_t *row, size_t end) {
    uint32_t crc = larder__crc32c(row[0], key.data, key.size_bytes);
    return larder__checksum(crc, row + LARDER__ROW_VERSION_AT, end - LARDER__ROW_VERSION_AT);
}

static inline bool take_time(const uint8_t **at, const uint8_t *end, larder_time *time) {
    if (end - *at < LARDER__TIME_BYTES || !larder__time_get(*at, time)) return false;
    *at += LARDER__TIME_BYTES;
    return true;
}

static bool put_time(larder__buffer *row, larder_time time) {
    uint8_t bytes[LARDER__TIME_BYTES];
    larder__time_put(bytes, time);
    return larder__buffer_append(row, bytes, sizeof bytes);
}

static bool put_varint(larder__buffer *row, uint64_t value) {
    uint8_t bytes[LARDER__VARINT_MAX];
    return larder__buffer_append(row, bytes, larder__varint_put(bytes, value));
}

static int32_t no_memory(larder_txn *txn, larder_error *error) {
    return larder__txn_note(txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row"));
}

static bool is_same_time(larder_time a, larder_time b) {
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

/* The create time that a row without one has. */
static larder_time implied_create_time(int32_t state, larder_time version) {
    larder_time none = {0};
    return state == LARDER_DOCUMENT_FOUND ? version : none;
}

static bool put_head(larder__buffer *row, const larder_document_info *info, uint32_t epoch) {
    uint8_t head[LARDER__ROW_VERSION_AT] = {0};
    head[0] = (uint8_t)info->state;
    if ((info->flags & LARDER_DOCUMENT_COMMITTED_MUTATIONS) != 0) head[0] |= LARDER__ROW_COMMITTED;
    bool has_create =
        !is_same_time(info->create_time, implied_create_time(info->state, info->version));
    bool has_read = !is_same_time(info->read_time, info->version);
    if (has_create) head[0] |= LARDER__ROW_CREATE_TIME;
    if (has_read) head[0] |= LARDER__ROW_READ_TIME;
    larder__store32(head + LARDER__ROW_EPOCH_AT, epoch);
    return larder__buffer_append(row, head, sizeof head) && put_time(row, info->version) &&
           (!has_create || put_time(row, info->create_time)) &&
           (!has_read || put_time(row, info->read_time));
}

static uint64_t dictionary_number(uint32_t dictionary, bool is_raw) {
    return is_raw ? RAW_STORED : dictionary == 0 ? 0 : (uint64_t)dictionary + 1;
}

/* Dictionary, checksum, frame. *checked_bytes: what the row's own checksum covers. */
static bool put_cold(larder__buffer *row, uint64_t number, larder_bytes frame,
                     size_t *checked_bytes) {
    uint8_t crc[LARDER__COLD_CHECKSUM_BYTES];
    bool is_small = frame.size_bytes < LARDER__COLD_CHECKSUM_FROM;
    if (!put_varint(row, number)) return false;
    if (!is_small) {
        larder__store32(crc, larder__checksum(0, frame.data, frame.size_bytes));
        if (!larder__buffer_append(row, crc, sizeof crc)) return false;
    }
    *checked_bytes = row->size_bytes + (is_small ? frame.size_bytes : 0);
    return larder__buffer_append(row, frame.data, frame.size_bytes);
}

/* Names, values and cold part of a found document. *checked_bytes: see
 * put_cold. */
static int32_t put_record(larder_txn *txn, const larder_record *plain, larder_record *stored,
                          size_t *checked_bytes, larder_error *error) {
    larder__buffer *row = &txn->row;
    uint32_t number, serial = 0;
    const larder__shape *shape;
    larder_bytes names = plain->names;
    int32_t status =
        larder__record_split(plain, txn->env->cold_field_bytes, &txn->hot, &txn->cold, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = larder__shape_obtain(txn, plain->names, &number, error);
    if (status == LARDER_OK && number != 0) {
        status = larder__shape_find(txn, number, &shape, error);
        if (status == LARDER_OK) {
            names = larder__bytes(shape->names, shape->size_bytes);
            serial = shape->serial;
        }
    }
    if (status != LARDER_OK) return status;
    bool has_memory = true;
    if (number == 0) {
        row->data[0] |= LARDER__ROW_NAMES;
        has_memory = put_varint(row, plain->names.size_bytes) &&
                     larder__buffer_append(row, plain->names.data, plain->names.size_bytes);
    } else {
        has_memory = put_varint(row, number);
    }
    has_memory = has_memory && put_varint(row, txn->hot.size_bytes) &&
                 larder__buffer_append(row, txn->hot.data, txn->hot.size_bytes);
    if (!has_memory) return no_memory(txn, error);
    *checked_bytes = row->size_bytes;
    memset(stored, 0, sizeof *stored);
    stored->names = names;
    stored->values = larder__bytes(txn->hot.data, txn->hot.size_bytes);
    stored->shape = serial;
    stored->vocabulary = txn->env->vocabulary;
    if (txn->cold.size_bytes == 0) return LARDER_OK;
    /* The caller's view of the new record has its cold values at hand. */
    stored->cold = larder__bytes(txn->cold.data, txn->cold.size_bytes);
    stored->cold_raw_bytes = (uint32_t)txn->cold.size_bytes;
    stored->flags = LARDER__RECORD_LOADED;
    row->data[0] |= LARDER__ROW_COLD;
    uint32_t dictionary = 0;
    larder_bytes cold = larder__bytes(txn->cold.data, txn->cold.size_bytes);
    if (!put_varint(row, txn->cold.size_bytes)) return no_memory(txn, error);
    txn->scratch.size_bytes = 0;
    status = larder__cold_compress(txn, cold, &txn->scratch, &dictionary, error);
    if (status < 0) return status;
    bool is_raw = status == LARDER_NOT_FOUND;
    larder_bytes frame = is_raw ? cold : larder__bytes(txn->scratch.data, txn->scratch.size_bytes);
    stored->dictionary = dictionary;
    if (!put_cold(row, dictionary_number(dictionary, is_raw), frame, checked_bytes))
        return no_memory(txn, error);
    return LARDER_OK;
}

int32_t larder__row_build(larder_txn *txn, larder_bytes key, const larder_document_info *info,
                          larder_bytes plain, uint32_t epoch, larder_record *record,
                          int64_t *raw_bytes, larder_error *error) {
    larder__buffer *row = &txn->row;
    larder_record checked;
    memset(record, 0, sizeof *record);
    *raw_bytes = 0;
    row->size_bytes = 0;
    if (info->state == LARDER_DOCUMENT_FOUND) {
        int32_t status = larder_record_open(plain, txn->env->max_depth,
                                            txn->env->max_document_bytes, &checked, error);
        if (status != LARDER_OK) return status;
    }
    if (!put_head(row, info, epoch)) return no_memory(txn, error);
    size_t checked_bytes = row->size_bytes;
    if (info->state == LARDER_DOCUMENT_FOUND) {
        int32_t status = put_record(txn, &checked, record, &checked_bytes, error);
        if (status != LARDER_OK) return status;
        *raw_bytes = larder__row_raw_bytes(record);
    }
    larder__store32(row->data + CRC_AT, checksum(key, row->data, checked_bytes));
    return LARDER_OK;
}

int32_t larder__row_replace_cold(larder_txn *txn, larder_bytes key, larder_bytes row,
                                 const larder_record *record, uint32_t dictionary,
                                 larder_bytes frame, larder_error *error) {
    bool is_raw = (record->flags & LARDER__RECORD_LOADED) != 0;
    size_t head = (size_t)(larder__begin(record->cold) - larder__begin(row));
    head -= larder__varint_size(dictionary_number(record->dictionary, is_raw));
    /* A compressed part is seen with its checksum, a raw one without. */
    if (is_raw && record->cold.size_bytes >= LARDER__COLD_CHECKSUM_FROM)
        head -= LARDER__COLD_CHECKSUM_BYTES;
    size_t checked_bytes;
    larder__buffer *built = &txn->row;
    built->size_bytes = 0;
    if (!larder__buffer_append(built, row.data, head) ||
        !put_cold(built, dictionary_number(dictionary, false), frame, &checked_bytes))
        return no_memory(txn, error);
    larder__store32(built->data + CRC_AT, checksum(key, built->data, checked_bytes));
    return LARDER_OK;
}

int64_t larder__row_raw_bytes(const larder_record *record) {
    return (int64_t)(record->names.size_bytes + record->values.size_bytes + record->cold_raw_bytes);
}

bool larder__row_head(larder_bytes row, int32_t *state, uint32_t *epoch, larder_time *read_time) {
    const uint8_t *p = larder__begin(row);
    if (row.size_bytes < LARDER__ROW_HEAD_BYTES) return false;
    *state = p[0] & LARDER__ROW_STATE;
    *epoch = larder__load32(p + LARDER__ROW_EPOCH_AT);
    size_t at = LARDER__ROW_VERSION_AT;
    if ((p[0] & LARDER__ROW_READ_TIME) != 0)
        at += (p[0] & LARDER__ROW_CREATE_TIME) != 0 ? 2 * LARDER__TIME_BYTES : LARDER__TIME_BYTES;
    if (row.size_bytes < at + LARDER__TIME_BYTES) return false;
    return larder__time_get(p + at, read_time);
}

/* Takes a varint-sized part. */
static bool take_part(const uint8_t **at, const uint8_t *end, larder_bytes *part) {
    uint64_t size;
    size_t used = larder__varint_get(*at, end, &size);
    if (used == 0 || size > (uint64_t)(end - *at) - used) return false;
    *part = larder__bytes(*at + used, (size_t)size);
    *at += used + size;
    return true;
}

/* An expansion larger than this cannot come from a record that was let in. */
static bool raw_size_is_sane(const larder_env *env, uint64_t size) {
    return size > 0 && size <= (uint64_t)env->max_document_bytes * 8 + LARDER_DOCUMENT_MAX_BYTES;
}

/* *checked_end: where the row's own checksum ends. */
static int32_t read_record(const larder_txn *txn, uint8_t flags, const uint8_t *at,
                           const uint8_t *end, larder_record *record, const uint8_t **checked_end,
                           const char **damage, larder_error *error) {
    uint64_t number;
    bool is_unsettled = false;
    *damage = "the record is malformed";
    if ((flags & LARDER__ROW_NAMES) != 0) {
        if (!take_part(&at, end, &record->names)) return LARDER_E_CORRUPT;
        record->shape = 0;
    } else {
        const larder__shape *shape;
        size_t used = larder__varint_get(at, end, &number);
        if (used == 0 || number > UINT32_MAX) return LARDER_E_CORRUPT;
        at += used;
        int32_t status = larder__shape_find(txn, (uint32_t)number, &shape, error);
        if (status != LARDER_OK) return status;
        record->names = larder__bytes(shape->names, shape->size_bytes);
        record->shape = shape->serial;
        is_unsettled = larder__shape_is_new(txn, (uint32_t)number);
    }
    record->vocabulary = txn->env->vocabulary;
    record->cold = larder__bytes(NULL, 0);
    record->cold_raw_bytes = record->dictionary = 0;
    record->flags = is_unsettled ? LARDER__RECORD_UNSETTLED : 0;
    if (!take_part(&at, end, &record->values)) return LARDER_E_CORRUPT;
    *checked_end = at;
    if ((flags & LARDER__ROW_COLD) == 0) return at == end ? LARDER_OK : LARDER_E_CORRUPT;
    size_t used = larder__varint_get(at, end, &number);
    if (used == 0 || !raw_size_is_sane(txn->env, number)) return LARDER_E_CORRUPT;
    at += used;
    record->cold_raw_bytes = (uint32_t)number;
    used = larder__varint_get(at, end, &number);
    if (used == 0 || number > UINT32_MAX) return LARDER_E_CORRUPT;
    at += used;
    record->cold = larder__bytes(at, (size_t)(end - at));
    bool is_small = record->cold.size_bytes < LARDER__COLD_CHECKSUM_FROM;
    *checked_end = is_small ? end : at + LARDER__COLD_CHECKSUM_BYTES;
    if (number == RAW_STORED) {
        record->flags |= LARDER__RECORD_LOADED;
        if (!is_small) {
            at += LARDER__COLD_CHECKSUM_BYTES;
            record->cold = larder__bytes(at, (size_t)(end - at));
            if (larder__checksum(0, at, record->cold.size_bytes) !=
                larder__load32(at - LARDER__COLD_CHECKSUM_BYTES))
                return LARDER_E_CORRUPT;
        }
        return record->cold.size_bytes == record->cold_raw_bytes ? LARDER_OK : LARDER_E_CORRUPT;
    }
    record->dictionary = number == 0 ? 0 : (uint32_t)number - 1;
    if (record->dictionary == 0) return LARDER_OK;
    if (larder__dictionary_is_new(txn, record->dictionary))
        record->flags |= LARDER__RECORD_UNSETTLED;
    if (larder__dictionary_find(record->vocabulary, record->dictionary) != NULL) return LARDER_OK;
    *damage = "the record's dictionary cannot be had";
    return larder__dictionary_load(txn, record->dictionary, error);
}

int32_t larder__row_read(const larder_txn *txn, larder__table table, larder_bytes key,
                         larder_bytes row, larder_document *document, larder_error *error) {
    const uint8_t *p = larder__begin(row), *end = p + row.size_bytes;
    document->batch_id = 0;
    document->stored_bytes = (int64_t)row.size_bytes;
    if (row.size_bytes < LARDER__ROW_HEAD_BYTES)
        return larder__corrupt(txn, table, key, "the row is too short", error);
    document->state = p[0] & LARDER__ROW_STATE;
    document->flags = (p[0] & LARDER__ROW_COMMITTED) != 0 ? LARDER_DOCUMENT_COMMITTED_MUTATIONS : 0;
    const uint8_t *at = p + LARDER__ROW_VERSION_AT;
    bool is_well_formed = document->state != 0 && take_time(&at, end, &document->version);
    document->create_time = implied_create_time(document->state, document->version);
    document->read_time = document->version;
    if (is_well_formed && (p[0] & LARDER__ROW_CREATE_TIME) != 0)
        is_well_formed = take_time(&at, end, &document->create_time);
    if (is_well_formed && (p[0] & LARDER__ROW_READ_TIME) != 0)
        is_well_formed = take_time(&at, end, &document->read_time);
    if (!is_well_formed) return larder__corrupt(txn, table, key, "the head is malformed", error);
    const uint8_t *checked_end = at;
    if (document->state == LARDER_DOCUMENT_FOUND) {
        const char *damage;
        int32_t status =
            read_record(txn, p[0], at, end, &document->record, &checked_end, &damage, error);
        if (status == LARDER_E_CORRUPT || status == LARDER_E_NO_DICTIONARY)
            return larder__corrupt(txn, table, key, damage, error);
        if (status != LARDER_OK) return status;
    } else {
        memset(&document->record, 0, sizeof document->record);
        if (at != end) return larder__corrupt(txn, table, key, "the row is too long", error);
    }
    if (checksum(key, p, (size_t)(checked_end - p)) != larder__load32(p + CRC_AT))
        return larder__corrupt(txn, table, key, "the checksum does not match", error);
    return LARDER_OK;
}

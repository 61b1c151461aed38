/* row.c - building and reading the stored bytes of a document (row.h). */
#include "row.h"

#define CRC_AT 1
#define RAW_STORED 1 /* in place of a dictionary: the cold part is not compressed */

static uint32_t checksum(larder_bytes key, const uint8_t *row, size_t size) {
    uint32_t crc = larder__crc32c(0, key.data, key.size_bytes);
    crc = larder__crc32c(crc, row, 1);
    return larder__crc32c(crc, row + LARDER__ROW_VERSION_AT, size - LARDER__ROW_VERSION_AT);
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

/* Names, values and cold part of a found document. */
static int32_t put_record(larder_txn *txn, const larder_record *plain, larder_record *stored,
                          larder_error *error) {
    larder__buffer *row = &txn->row;
    uint32_t shape, serial = 0;
    larder_bytes names = plain->names;
    int32_t status =
        larder__record_split(plain, txn->env->cold_field_bytes, &txn->hot, &txn->cold, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = larder__shape_obtain(txn, plain->names, &shape, error);
    if (status == LARDER_OK && shape != 0)
        status = larder__shape_names(txn, shape, &names, &serial, error);
    if (status != LARDER_OK) return status;
    bool has_memory = true;
    if (shape == 0) {
        row->data[0] |= LARDER__ROW_NAMES;
        has_memory = put_varint(row, plain->names.size_bytes) &&
                     larder__buffer_append(row, plain->names.data, plain->names.size_bytes);
    } else {
        has_memory = put_varint(row, shape);
    }
    has_memory = has_memory && put_varint(row, txn->hot.size_bytes) &&
                 larder__buffer_append(row, txn->hot.data, txn->hot.size_bytes);
    if (!has_memory) return no_memory(txn, error);
    memset(stored, 0, sizeof *stored);
    stored->names = names;
    stored->values = larder__bytes(txn->hot.data, txn->hot.size_bytes);
    stored->shape = serial;
    stored->env = txn->env;
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
    if (status == LARDER_NOT_FOUND) {
        has_memory =
            put_varint(row, RAW_STORED) && larder__buffer_append(row, cold.data, cold.size_bytes);
    } else if (status == LARDER_OK) {
        has_memory = put_varint(row, dictionary_number(dictionary, false)) &&
                     larder__buffer_append(row, txn->scratch.data, txn->scratch.size_bytes);
        stored->dictionary = dictionary;
    } else {
        return status;
    }
    return has_memory ? LARDER_OK : no_memory(txn, error);
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
    if (info->state == LARDER_DOCUMENT_FOUND) {
        int32_t status = put_record(txn, &checked, record, error);
        if (status != LARDER_OK) return status;
        *raw_bytes = larder__row_raw_bytes(record);
    }
    larder__store32(row->data + CRC_AT, checksum(key, row->data, row->size_bytes));
    return LARDER_OK;
}

int32_t larder__row_replace_cold(larder_txn *txn, larder_bytes key, larder_bytes head,
                                 uint32_t old_dictionary, bool is_raw, uint32_t dictionary,
                                 larder_bytes frame, larder_error *error) {
    larder__buffer *row = &txn->row;
    size_t kept = head.size_bytes - larder__varint_size(dictionary_number(old_dictionary, is_raw));
    row->size_bytes = 0;
    if (!larder__buffer_append(row, head.data, kept) ||
        !put_varint(row, dictionary_number(dictionary, false)) ||
        !larder__buffer_append(row, frame.data, frame.size_bytes))
        return no_memory(txn, error);
    larder__store32(row->data + CRC_AT, checksum(key, row->data, row->size_bytes));
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

static int32_t read_record(const larder_txn *txn, uint8_t flags, const uint8_t *at,
                           const uint8_t *end, larder_record *record, const char **damage,
                           larder_error *error) {
    uint64_t number;
    *damage = "the record is malformed";
    record->env = txn->env;
    if ((flags & LARDER__ROW_NAMES) != 0) {
        if (!take_part(&at, end, &record->names)) return LARDER_E_CORRUPT;
    } else {
        size_t used = larder__varint_get(at, end, &number);
        if (used == 0 || number > UINT32_MAX) return LARDER_E_CORRUPT;
        at += used;
        int32_t status =
            larder__shape_names(txn, (uint32_t)number, &record->names, &record->shape, error);
        if (status != LARDER_OK) return status;
    }
    if (!take_part(&at, end, &record->values)) return LARDER_E_CORRUPT;
    if ((flags & LARDER__ROW_COLD) == 0) return at == end ? LARDER_OK : LARDER_E_CORRUPT;
    size_t used = larder__varint_get(at, end, &number);
    if (used == 0 || !raw_size_is_sane(txn->env, number)) return LARDER_E_CORRUPT;
    at += used;
    record->cold_raw_bytes = (uint32_t)number;
    used = larder__varint_get(at, end, &number);
    if (used == 0 || number > UINT32_MAX) return LARDER_E_CORRUPT;
    at += used;
    record->cold = larder__bytes(at, (size_t)(end - at));
    if (number == RAW_STORED) {
        record->flags = LARDER__RECORD_LOADED;
        return record->cold.size_bytes == record->cold_raw_bytes ? LARDER_OK : LARDER_E_CORRUPT;
    }
    record->dictionary = number == 0 ? 0 : (uint32_t)number - 1;
    if (record->dictionary == 0) return LARDER_OK;
    *damage = "the record's dictionary cannot be had";
    return larder__dictionary_load(txn, record->dictionary, error);
}

int32_t larder__row_read(const larder_txn *txn, larder__table table, larder_bytes key,
                         larder_bytes row, larder_document *document, larder_error *error) {
    const uint8_t *p = larder__begin(row), *end = p + row.size_bytes;
    document->record = (larder_record){0};
    document->batch_id = 0;
    document->stored_bytes = (int64_t)row.size_bytes;
    if (row.size_bytes < LARDER__ROW_HEAD_BYTES)
        return larder__corrupt(txn, table, key, "the row is too short", error);
    if (checksum(key, p, row.size_bytes) != larder__load32(p + CRC_AT))
        return larder__corrupt(txn, table, key, "the checksum does not match", error);
    document->state = p[0] & LARDER__ROW_STATE;
    document->flags = (p[0] & LARDER__ROW_COMMITTED) != 0 ? LARDER_DOCUMENT_COMMITTED_MUTATIONS : 0;
    const uint8_t *at = p + LARDER__ROW_VERSION_AT;
    bool is_well_formed =
        document->state != 0 && larder__key_read_time(&at, end, &document->version);
    document->create_time = implied_create_time(document->state, document->version);
    document->read_time = document->version;
    if (is_well_formed && (p[0] & LARDER__ROW_CREATE_TIME) != 0)
        is_well_formed = larder__key_read_time(&at, end, &document->create_time);
    if (is_well_formed && (p[0] & LARDER__ROW_READ_TIME) != 0)
        is_well_formed = larder__key_read_time(&at, end, &document->read_time);
    if (is_well_formed && document->state != LARDER_DOCUMENT_FOUND) is_well_formed = at == end;
    if (!is_well_formed) return larder__corrupt(txn, table, key, "the head is malformed", error);
    if (document->state != LARDER_DOCUMENT_FOUND) return LARDER_OK;
    const char *damage;
    int32_t status = read_record(txn, p[0], at, end, &document->record, &damage, error);
    if (status == LARDER_E_CORRUPT || status == LARDER_E_NO_DICTIONARY)
        return larder__corrupt(txn, table, key, damage, error);
    return status;
}

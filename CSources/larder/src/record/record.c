/*
 * record.c - looking at records in place: open, fields by position and by path, load, sizes.
 *
 * A larder_record is a names container and a values container, which may come from one plain
 * record or from a shape and a row (record.h). A value with a cold tag lies in the cold
 * container, at hand once LARDER__RECORD_LOADED is set. A record that larder_record_open
 * accepted is canonical; rows are covered by their checksum. Accessors check bounds in any case.
 */
#include "vocabulary.h"

bool larder__record_parts(larder_bytes plain, larder_bytes *names, larder_bytes *values) {
    if (plain.size_bytes < 3 || !larder__is_input(plain)) return false;
    const uint8_t *at = larder__begin(plain);
    const uint8_t *limit = at + plain.size_bytes;
    if (at[0] != LARDER__RECORD_MAGIC || at[1] != LARDER__RECORD_VERSION) return false;
    uint64_t names_bytes;
    size_t n = larder__varint_get(at + 2, limit, &names_bytes);
    if (n == 0) return false;
    at += 2 + n;
    if (names_bytes > (size_t)(limit - at)) return false;
    *names = larder__bytes(at, (size_t)names_bytes);
    *values = larder__bytes(at + names_bytes, (size_t)(limit - at) - (size_t)names_bytes);
    return true;
}

static int32_t fail_check(const larder__value_check *check, larder_bytes name,
                          larder_error *error) {
    if (name.size_bytes == 0)
        return larder__fail(error, check->status, "record: %s", check->problem);
    return larder__fail(error, check->status, "record: field \"%.*s\": %s", (int)name.size_bytes,
                        (const char *)name.data, check->problem);
}

int32_t larder_record_open(larder_bytes plain, uint32_t max_depth, int64_t max_document_bytes,
                           larder_record *record, larder_error *error) {
    if (max_document_bytes < 0 || record == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "record: the record is NULL, or a limit below 0");
    if (max_depth == 0) max_depth = LARDER_DEPTH_MAX;
    if (max_document_bytes == 0) max_document_bytes = LARDER_DOCUMENT_MAX_BYTES;
    /* Before walking: no document within the limit takes more bytes, but for oddities such as
     * an array of a million empty arrays. */
    if ((uint64_t)plain.size_bytes / 8 > (uint64_t)max_document_bytes + 8)
        return larder__fail(error, LARDER_E_TOO_LARGE,
                            "record: %zu encoded bytes, the limit of a "
                            "document is %lld",
                            plain.size_bytes, (long long)max_document_bytes);
    const larder_bytes nothing = {NULL, 0};
    larder__value_check check = {.max_depth = max_depth};
    larder_bytes names_bytes, values_bytes;
    if (!larder__record_parts(plain, &names_bytes, &values_bytes))
        return larder__fail(error, LARDER_E_INVALID_RECORD, "the bytes do not begin as a record");
    larder__container names, values;
    if (!larder__check_container(&check, names_bytes, &names) ||
        !larder__check_container(&check, values_bytes, &values))
        return fail_check(&check, nothing, error);
    if (names.count != values.count)
        return larder__fail(error, LARDER_E_INVALID_RECORD, "record: %zu names, %zu values",
                            names.count, values.count);
    larder_bytes previous = nothing;
    size_t name_start = 0, value_start = 0;
    for (size_t i = 0; i < names.count; i++) {
        larder_bytes name = larder__container_walk(&names, i, &name_start);
        if (!larder__check_name(&check, name, previous)) return fail_check(&check, nothing, error);
        check.size += (int64_t)name.size_bytes + 1;
        if (!larder__check_value(&check, larder__container_walk(&values, i, &value_start), 0))
            return fail_check(&check, name, error);
        previous = name;
    }
    if (check.saw_max)
        return larder__fail(error, LARDER_E_INVALID_RECORD,
                            "record: the maximum value is for "
                            "bounds only");
    if (check.size > max_document_bytes)
        return larder__fail(error, LARDER_E_TOO_LARGE, "record: %lld bytes, the limit is %lld",
                            (long long)check.size, (long long)max_document_bytes);
    memset(record, 0, sizeof *record);
    record->names = names_bytes;
    record->values = values_bytes;
    return LARDER_OK;
}

size_t larder_record_count(const larder_record *record) {
    larder__container names;
    return record != NULL && larder__container_open(record->names, &names) ? names.count : 0;
}

/* ---- fields ---- */

/* The value type of a cold tag. */
static bool cold_reference(larder_bytes value, uint8_t *tag, size_t *position) {
    const uint8_t *at = larder__begin(value);
    uint64_t number;
    if (value.size_bytes < 3) return false;
    size_t n = larder__varint_get(at + 2, at + value.size_bytes, &number);
    if (n != value.size_bytes - 2 || larder__tags[at[1]].rank == 0) return false;
    *tag = at[1];
    *position = (size_t)number;
    return true;
}

__attribute__((noinline)) static int32_t cold_value(const larder_record *record,
                                                    larder_bytes reference, larder_bytes *value,
                                                    int32_t *type) {
    uint8_t tag;
    size_t position;
    if (!cold_reference(reference, &tag, &position)) return LARDER_E_INVALID_RECORD;
    if (type) *type = larder__tags[tag].type;
    if (!(record->flags & LARDER__RECORD_LOADED)) {
        *value = larder__bytes(NULL, 0);
        return LARDER_COLD;
    }
    larder__container cold;
    if (!larder__container_open(record->cold, &cold) ||
        !larder__container_get(&cold, position, value) || value->size_bytes == 0 ||
        *larder__begin(*value) != tag)
        return LARDER_E_CORRUPT;
    return LARDER_OK;
}

/* The encoded value or cold tag at a position. Fewer than 128 fields and ends of one or two
 * bytes, as almost all records have, are read without opening the container. */
static inline bool body_at(larder_bytes values, size_t position, larder_bytes *body) {
    const uint8_t *at = larder__begin(values);
    if (values.size_bytes >= 3 && at[0] < 0x80 && (at[1] == 1 || at[1] == 2)) {
        size_t count = at[0], width = at[1];
        size_t head = 2 + count * width;
        if (position >= count || head > values.size_bytes) return false;
        const uint8_t *ends = at + 2;
        size_t start = 0, end;
        if (width == 1) {
            if (position > 0) start = ends[position - 1];
            end = ends[position];
        } else {
            if (position > 0) start = larder__load16(ends + 2 * position - 2);
            end = larder__load16(ends + 2 * position);
        }
        if (start >= end || end > values.size_bytes - head) return false;
        body->data = at + head + start;
        body->size_bytes = end - start;
        return true;
    }
    larder__container container;
    return larder__container_open(values, &container) &&
           larder__container_get(&container, position, body) && body->size_bytes > 0;
}

static inline int32_t record_value(const larder_record *record, size_t position,
                                   larder_bytes *value, int32_t *type) {
    if (!body_at(record->values, position, value)) return LARDER_E_INVALID_RECORD;
    uint8_t tag = *larder__begin(*value);
    if (tag == LARDER__TAG_COLD) return cold_value(record, *value, value, type);
    if (larder__tags[tag].rank == 0) return LARDER_E_INVALID_RECORD;
    if (type) *type = larder__tags[tag].type;
    return LARDER_OK;
}

int32_t larder__record_value(const larder_record *record, size_t position, larder_bytes *value,
                             int32_t *type) {
    return record_value(record, position, value, type);
}

int32_t larder_record_get_entry(const larder_record *record, size_t position, larder_bytes *name,
                                larder_bytes *value, int32_t *type) {
    larder__container names;
    if (record == NULL || name == NULL || value == NULL) return LARDER_E_INVALID_ARGUMENT;
    if (!larder__container_open(record->names, &names)) return LARDER_E_INVALID_RECORD;
    if (position >= names.count) return LARDER_NOT_FOUND;
    if (!larder__container_get(&names, position, name)) return LARDER_E_INVALID_RECORD;
    return record_value(record, position, value, type);
}

/* Looks the name up, and remembers where it is in the record's shape. */
static ptrdiff_t position_of(const larder_record *record, larder_field *field, larder_bytes name) {
    larder__container names;
    ptrdiff_t position = -1;
    if (larder__container_open(record->names, &names)) position = larder__names_find(&names, name);
    if (record->shape != 0) {
        field->shape = record->shape;
        field->position = (int32_t)position;
    }
    return position;
}

/* Any path, with or without a known position. */
__attribute__((noinline)) static int32_t find_path(const larder_record *record, larder_field *field,
                                                   larder_bytes *value, int32_t *type) {
    const larder_bytes path = larder__input(field->path);
    const uint8_t *at = larder__begin(path);
    const uint8_t *limit = at + path.size_bytes;
    larder_bytes name, found;
    if (path.size_bytes == 0 || !larder__path_next(&at, limit, &name)) return LARDER_E_INVALID_NAME;
    ptrdiff_t position = record->shape != 0 && record->shape == field->shape
                             ? field->position
                             : position_of(record, field, name);
    if (position < 0) return LARDER_NOT_FOUND;
    int32_t status = record_value(record, (size_t)position, &found, type);
    while (status == LARDER_OK && at < limit) {
        if (!larder__path_next(&at, limit, &name)) return LARDER_E_INVALID_NAME;
        status = larder_value_find(found, name, &found);
        if (status == LARDER_E_WRONG_TYPE) return LARDER_NOT_FOUND; /* not a map */
        if (status != LARDER_OK) return status;
        int32_t found_type = larder_value_type(found);
        if (found_type < 0) return found_type;
        if (type) *type = found_type;
    }
    if (status >= 0) *value = found;
    return status;
}

/* A path of one segment in a shape that is remembered is what scans ask for: it is answered
 * here, without a call. */
int32_t larder_record_find(const larder_record *record, larder_field *field, larder_bytes *value,
                           int32_t *type) {
    if (record == NULL || field == NULL || value == NULL) return LARDER_E_INVALID_ARGUMENT;
    size_t name_bytes = field->path.size_bytes - 1;
    if (record->shape == 0 || record->shape != field->shape || name_bytes >= 0x80 ||
        field->path.data == NULL || *larder__begin(field->path) != name_bytes)
        return find_path(record, field, value, type);
    if (field->position < 0) return LARDER_NOT_FOUND;
    return record_value(record, (size_t)field->position, value, type);
}

/* ---- the cold part ---- */

size_t larder_record_cold_bytes(const larder_record *record) {
    if (record == NULL || record->cold.size_bytes == 0 || (record->flags & LARDER__RECORD_LOADED))
        return 0;
    return record->cold_raw_bytes;
}

int32_t larder_record_load(const larder_record *record, void *buffer, size_t capacity_bytes,
                           larder_record *loaded, larder_error *error) {
    if (record == NULL || loaded == NULL || !larder__is_room(buffer, capacity_bytes))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "record: the record, the buffer or loaded is NULL");
    size_t raw_bytes = larder_record_cold_bytes(record);
    if (raw_bytes > capacity_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                            "record: %zu bytes are needed, %zu are there", raw_bytes,
                            capacity_bytes);
    larder_record copy = *record;
    if (raw_bytes > 0) {
        int32_t status = larder__cold_decompress(record->vocabulary, record->dictionary,
                                                 record->cold, buffer, raw_bytes, error);
        if (status != LARDER_OK) return status;
        copy.cold = larder__bytes(buffer, raw_bytes);
        larder__container cold;
        if (!larder__container_open(copy.cold, &cold))
            return larder__fail(error, LARDER_E_CORRUPT, "record: the cold part is malformed");
    }
    copy.flags |= LARDER__RECORD_LOADED;
    *loaded = copy;
    return LARDER_OK;
}

static int64_t sum_sizes(const larder_record *record) {
    larder__container names;
    if (!larder__container_open(record->names, &names)) return LARDER_E_INVALID_RECORD;
    int64_t total = 0;
    for (size_t i = 0; i < names.count; i++) {
        larder_bytes name, value;
        int32_t status = larder_record_get_entry(record, i, &name, &value, NULL);
        if (status == LARDER_COLD) return LARDER_E_CORRUPT;
        if (status != LARDER_OK) return status;
        int64_t size = larder_value_size(value);
        if (size < 0) return size;
        total += (int64_t)name.size_bytes + 1 + size;
    }
    return total;
}

int64_t larder_record_size(const larder_record *record) {
    if (record == NULL) return LARDER_E_INVALID_ARGUMENT;
    size_t raw_bytes = larder_record_cold_bytes(record);
    if (raw_bytes == 0) return sum_sizes(record);
    const larder_allocator *allocator = record->vocabulary ? &record->vocabulary->allocator : NULL;
    void *scratch = larder__allocate(allocator, raw_bytes);
    if (!scratch) return LARDER_E_NO_MEMORY;
    larder_record loaded;
    int64_t size = larder_record_load(record, scratch, raw_bytes, &loaded, NULL);
    if (size == LARDER_OK) size = sum_sizes(&loaded);
    larder__release(allocator, scratch);
    return size;
}

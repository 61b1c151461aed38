/*
 * detached.c - records that outlive their transaction and environment.
 *
 * A detached record lies in the caller's buffer:
 *
 *     larder_detached | own names, values, cold part as stored     (from a store)
 *     larder_detached | plain form                                 (anything else)
 *
 * What is stored was checked when it entered and is covered by checksums, so it is copied as it
 * is: nothing is decompressed and nothing is walked. Names that a shape has stay there; the
 * record keeps the vocabulary for them, and for its dictionary. The plain form of a stored
 * record is made when it is asked for, published once, and freed with the record.
 *
 * In a write transaction a shape or dictionary may be one that an abort would undo: such
 * records are copied in plain form.
 */
#include "base/process.h"
#include "vocabulary.h"

#include <stdalign.h>

typedef struct whole { /* the plain form of a stored record */
    larder_record record;
    larder_bytes plain;
    uint8_t bytes[];
} whole;

struct larder_detached {
    larder_record record;          /* as it was copied */
    larder_vocabulary *vocabulary; /* NULL: it is in plain form and needs none */
    larder_bytes plain;            /* without a vocabulary */
    _Atomic(whole *) whole;        /* with one, once it was asked for */
    uint8_t bytes[];
};

int32_t larder_record_open_trusted(larder_bytes plain, larder_record *record, larder_error *error) {
    larder_bytes names, values;
    if (record == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "record: the record is NULL");
    if (!larder__record_parts(plain, &names, &values))
        return larder__fail(error, LARDER_E_INVALID_RECORD, "the bytes do not begin as a record");
    memset(record, 0, sizeof *record);
    record->names = names;
    record->values = values;
    return LARDER_OK;
}

/* ---- copying ---- */

static bool is_stored(const larder_record *record) {
    return record->vocabulary != NULL && (record->flags & LARDER__RECORD_UNSETTLED) == 0;
}

static size_t plain_size(const larder_record *record) {
    return 2 + larder__varint_size(record->names.size_bytes) + record->names.size_bytes +
           record->values.size_bytes;
}

/* The bytes behind the structure. */
static int32_t content_size(const larder_record *record, size_t *size, larder_error *error) {
    if (is_stored(record)) {
        size_t names = record->shape == 0 ? record->names.size_bytes : 0;
        *size = names + record->values.size_bytes + record->cold.size_bytes;
        return LARDER_OK;
    }
    if (record->vocabulary == NULL) {
        *size = plain_size(record);
        return LARDER_OK;
    }
    int32_t status = larder_record_copy(record, NULL, 0, size, NULL);
    if (status == LARDER_E_BUFFER_TOO_SMALL) return LARDER_OK;
    return larder__fail(error, status, "record: its stored values are malformed");
}

static larder_bytes append(uint8_t **at, larder_bytes bytes) {
    larder_bytes copy = larder__bytes(*at, bytes.size_bytes);
    if (bytes.size_bytes > 0) memcpy(*at, bytes.data, bytes.size_bytes);
    *at += bytes.size_bytes;
    return copy;
}

static int32_t copy_stored(const larder_record *record, larder_detached *d, larder_error *error) {
    uint8_t *at = d->bytes;
    larder_bytes frame;
    d->record = *record;
    if (record->shape == 0) d->record.names = append(&at, record->names);
    d->record.values = append(&at, record->values);
    d->record.cold = append(&at, record->cold);
    if ((record->flags & LARDER__RECORD_LOADED) == 0) {
        int32_t status = larder__cold_check(d->record.cold, &frame, error);
        if (status != LARDER_OK) return status;
    }
    d->vocabulary = (larder_vocabulary *)(uintptr_t)record->vocabulary;
    larder__vocabulary_retain(d->vocabulary);
    return LARDER_OK;
}

static int32_t copy_plain(const larder_record *record, larder_detached *d, size_t size,
                          larder_error *error) {
    if (record->vocabulary == NULL) {
        uint8_t *at = d->bytes;
        *at++ = LARDER__RECORD_MAGIC;
        *at++ = LARDER__RECORD_VERSION;
        at += larder__varint_put(at, record->names.size_bytes);
        append(&at, record->names);
        append(&at, record->values);
    } else {
        int32_t status = larder_record_copy(record, d->bytes, size, &size, error);
        if (status != LARDER_OK) return status;
    }
    d->plain = larder__bytes(d->bytes, size);
    return larder_record_open_trusted(d->plain, &d->record, error);
}

int32_t larder_record_detach(const larder_record *record, void *buffer, size_t capacity_bytes,
                             size_t *needed_bytes, larder_detached **detached,
                             larder_error *error) {
    if (record == NULL || needed_bytes == NULL || detached == NULL ||
        !larder__is_room(buffer, capacity_bytes) ||
        (uintptr_t)buffer % alignof(larder_detached) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "detach takes a record, places for size and result, and a buffer "
                            "aligned for a pointer");
    size_t size;
    int32_t status = content_size(record, &size, error);
    if (status != LARDER_OK) return status;
    *needed_bytes = sizeof(larder_detached) + size;
    if (capacity_bytes < *needed_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                            "record: %zu bytes are needed, %zu are there", *needed_bytes,
                            capacity_bytes);
    larder_detached *d = buffer;
    d->vocabulary = NULL;
    d->plain = larder__bytes(NULL, 0);
    atomic_init(&d->whole, NULL);
    status = is_stored(record) ? copy_stored(record, d, error) : copy_plain(record, d, size, error);
    if (status != LARDER_OK) return status;
    larder__handle_opened();
    *detached = d;
    return LARDER_OK;
}

void larder_detached_end(larder_detached *detached) {
    if (detached == NULL) return;
    larder_vocabulary *vocabulary = detached->vocabulary;
    larder__handle_closed();
    if (vocabulary == NULL) return;
    larder__release(&vocabulary->allocator, atomic_load(&detached->whole));
    larder__vocabulary_release(vocabulary);
}

/* ---- looking ---- */

const larder_record *larder_detached_record(const larder_detached *detached) {
    return detached == NULL ? NULL : &detached->record;
}

/* The plain form of a stored record, made by the first caller. */
static int32_t make_whole(larder_detached *d, const whole **made, larder_error *error) {
    whole *there = atomic_load_explicit(&d->whole, memory_order_acquire);
    *made = there;
    if (there != NULL) return LARDER_OK;
    const larder_allocator *allocator = &d->vocabulary->allocator;
    size_t size = 0;
    int32_t status = larder_record_copy(&d->record, NULL, 0, &size, NULL);
    if (status != LARDER_E_BUFFER_TOO_SMALL)
        return larder__fail(error, status, "record: its stored values are malformed");
    whole *added = larder__allocate(allocator, sizeof *added + size);
    if (added == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a record");
    status = larder_record_copy(&d->record, added->bytes, size, &size, error);
    if (status == LARDER_OK) {
        added->plain = larder__bytes(added->bytes, size);
        status = larder_record_open_trusted(added->plain, &added->record, error);
    }
    if (status != LARDER_OK) {
        larder__release(allocator, added);
        return status;
    }
    added->record.shape = d->record.shape; /* the same names in the same order */
    *made = added;
    if (atomic_compare_exchange_strong(&d->whole, &there, added)) return LARDER_OK;
    larder__release(allocator, added);
    *made = there;
    return LARDER_OK;
}

int32_t larder_detached_load(larder_detached *detached, const larder_record **loaded,
                             larder_error *error) {
    if (detached == NULL || loaded == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "detached or loaded is NULL");
    *loaded = &detached->record;
    if (larder_record_cold_bytes(&detached->record) == 0) return LARDER_OK;
    const whole *made;
    int32_t status = make_whole(detached, &made, error);
    if (status == LARDER_OK) *loaded = &made->record;
    return status;
}

int32_t larder_detached_plain(larder_detached *detached, larder_bytes *plain, larder_error *error) {
    if (detached == NULL || plain == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "detached or plain is NULL");
    *plain = detached->plain;
    if (detached->vocabulary == NULL) return LARDER_OK;
    const whole *made;
    int32_t status = make_whole(detached, &made, error);
    if (status == LARDER_OK) *plain = made->plain;
    return status;
}

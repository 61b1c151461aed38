/*
 * named.c - values by name: globals, bundles, named queries, dead letters, shared state.
 *
 * Catalog rows under (kind byte, LARDER_NAMED_... byte, name in key form), sealed:
 *
 *   0      time (9)
 *   9      name size varint, 0 unless the name is long | name
 *          payload, to the end
 *
 * Key form of a name: its text up to 479 bytes; of a longer one ("long") the first 464 bytes
 * and a hash128, 480 bytes together. Rows whose names begin with the same 464 bytes and go on
 * are a "run": the long ones among them lie in the order of their hashes. Names in a run are
 * compared by their full texts, so that larder_named_next gives byte order.
 */
#include "catalog.h"
#include "rules.h"

enum { NAME_MAX_BYTES = 1500, LONG_BYTES = 480, HEAD_BYTES = 464, PREFIX_BYTES = 2 };

/* A row taken apart. */
typedef struct named_row {
    larder_bytes name;
    larder_time time;
    larder_bytes payload;
} named_row;

static int32_t check_kind(int32_t kind, larder_error *error) {
    if (kind < LARDER_NAMED_GLOBAL || kind > LARDER_NAMED_SHARED)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "%d is no kind of named value", kind);
    return LARDER_OK;
}

static int32_t check_name(int32_t kind, larder_bytes name, larder_error *error) {
    int32_t status = check_kind(kind, error);
    if (status != LARDER_OK) return status;
    if (!larder__is_input(name))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "name is NULL");
    if (name.size_bytes == 0 || name.size_bytes > NAME_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_NAME,
                            "a value's name has 1 to %d bytes, not %zu", NAME_MAX_BYTES,
                            name.size_bytes);
    if (!larder__utf8_is_valid(name))
        return larder__fail(error, LARDER_E_INVALID_NAME, "a value's name is not UTF-8");
    return LARDER_OK;
}

static bool is_long(larder_bytes name) { return name.size_bytes >= LONG_BYTES; }

static void name_key(larder__key *key, int32_t kind, larder_bytes name) {
    larder__key_clear(key);
    larder__key_byte(key, LARDER__KIND_NAMED);
    larder__key_byte(key, (uint8_t)kind);
    if (!is_long(name)) {
        larder__key_append(key, name.data, name.size_bytes);
        return;
    }
    uint8_t hash[16];
    larder__hash128(name, hash);
    larder__key_append(key, name.data, HEAD_BYTES);
    larder__key_append(key, hash, sizeof hash);
}

static int32_t parse_row(const larder_txn *txn, larder_bytes key, larder_bytes value,
                         named_row *row, larder_error *error) {
    larder_bytes sealed;
    int32_t status = larder__unseal(txn, LARDER__CATALOG, key, value, &sealed, error);
    if (status != LARDER_OK) return status;
    const uint8_t *at = sealed.data, *end = at + sealed.size_bytes;
    uint64_t size = 0;
    size_t n = 0;
    if (sealed.size_bytes > LARDER__TIME_BYTES && larder__time_get(at, &row->time))
        n = larder__varint_get(at + LARDER__TIME_BYTES, end, &size);
    at += LARDER__TIME_BYTES + n;
    bool key_is_long = key.size_bytes == PREFIX_BYTES + LONG_BYTES;
    if (n == 0 || key_is_long != (size > 0) || size > (uint64_t)(end - at))
        return larder__corrupt(txn, LARDER__CATALOG, key, "malformed named value", error);
    row->name =
        size > 0 ? larder__bytes(at, (size_t)size)
                 : larder__bytes(larder__begin(key) + PREFIX_BYTES, key.size_bytes - PREFIX_BYTES);
    row->payload = larder__bytes(at + size, (size_t)(end - at) - (size_t)size);
    return LARDER_OK;
}

/* The row of exactly that name: OK, NOT_FOUND; LARDER_E_EXISTS when the key is another's. */
static int32_t find(const larder_txn *txn, larder_bytes key, larder_bytes name, named_row *row,
                    larder_error *error) {
    larder_bytes value;
    int32_t status = larder__table_get(txn, LARDER__CATALOG, key, &value, error);
    if (status == LARDER_OK) status = parse_row(txn, key, value, row, error);
    if (status == LARDER_OK && !larder__bytes_equal(row->name, name)) return LARDER_E_EXISTS;
    return status;
}

int32_t larder_named_put(larder_txn *txn, int32_t kind, larder_bytes name, larder_time time,
                         larder_bytes payload, larder_error *error) {
    larder__key key;
    named_row row;
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_name(kind, name, error);
    if (status != LARDER_OK) return status;
    if (!larder__time_is_valid(time))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the value's time is no time");
    if (!larder__is_input(payload))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "payload is NULL");
    if (payload.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_TOO_LARGE, "the payload has %zu bytes; %d are allowed",
                            payload.size_bytes, LARDER_PAYLOAD_MAX_BYTES);
    name_key(&key, kind, name);
    if (is_long(name)) {
        status = find(txn, larder__key_bytes(&key), name, &row, error);
        if (status == LARDER_E_EXISTS)
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "two long names have one hash: rename one");
        if (status < 0 && status != LARDER_E_CORRUPT) return larder__txn_note(txn, status);
    }
    uint8_t head[LARDER__TIME_BYTES + LARDER__VARINT_MAX];
    larder_bytes inline_name = is_long(name) ? name : larder__bytes(NULL, 0);
    larder__time_put(head, time);
    size_t n = larder__varint_put(head + LARDER__TIME_BYTES, inline_name.size_bytes);
    larder_bytes parts[3] = {larder__bytes(head, LARDER__TIME_BYTES + n), inline_name, payload};
    if (larder__rules_is_row(kind, name)) txn->counters.rules_version++;
    status =
        larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), parts, 3, error);
    return larder__txn_note(txn, status);
}

int32_t larder_named_get(const larder_txn *txn, int32_t kind, larder_bytes name, larder_time *time,
                         larder_bytes *payload, larder_error *error) {
    larder__key key;
    named_row row;
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK) status = check_name(kind, name, error);
    if (status != LARDER_OK) return status;
    name_key(&key, kind, name);
    status = find(txn, larder__key_bytes(&key), name, &row, error);
    if (status == LARDER_E_EXISTS) return LARDER_NOT_FOUND;
    if (status != LARDER_OK) return status;
    if (time) *time = row.time;
    if (payload) *payload = row.payload;
    return LARDER_OK;
}

int32_t larder_named_remove(larder_txn *txn, int32_t kind, larder_bytes name, larder_error *error) {
    larder__key key;
    named_row row;
    int32_t status = larder__txn_check_write(txn, error);
    if (status == LARDER_OK) status = check_name(kind, name, error);
    if (status != LARDER_OK) return status;
    name_key(&key, kind, name);
    if (is_long(name)) {
        status = find(txn, larder__key_bytes(&key), name, &row, error);
        if (status == LARDER_E_EXISTS) return LARDER_NOT_FOUND;
        /* A damaged value may go. */
        if (status != LARDER_OK && status != LARDER_E_CORRUPT) return larder__txn_note(txn, status);
    }
    if (larder__rules_is_row(kind, name)) txn->counters.rules_version++;
    status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
    return larder__txn_note(txn, status);
}

/* ---- the next name ---- */

/* From the cursor on, the row with the smallest full name above after among those that begin
 * with run. The cursor ends behind the run. OK, LARDER_NOT_FOUND. */
static int32_t smallest_of_run(larder__cursor *cursor, larder_bytes run, larder_bytes after,
                               named_row *best, larder_error *error) {
    bool has_best = false;
    int32_t status = LARDER_OK;
    while (status == LARDER_OK && larder__bytes_has_prefix(cursor->key, run)) {
        named_row row;
        status = parse_row(cursor->txn, cursor->key, cursor->value, &row, error);
        if (status != LARDER_OK) return status;
        if (larder__bytes_compare(row.name, after) > 0 &&
            (!has_best || larder__bytes_compare(row.name, best->name) < 0)) {
            *best = row;
            has_best = true;
        }
        status = larder__cursor_next(cursor, error);
    }
    if (status < 0) return status;
    return has_best ? LARDER_OK : LARDER_NOT_FOUND;
}

/* Makes key the beginning that all rows of a name's run share. */
static void run_prefix(larder__key *key, int32_t kind, larder_bytes name) {
    name_key(key, kind, larder__bytes(name.data, HEAD_BYTES));
}

static int32_t next_row(larder__cursor *cursor, int32_t kind, larder_bytes after, named_row *row,
                        larder_error *error) {
    larder__key key, run;
    int32_t status;
    if (after.size_bytes > HEAD_BYTES) {
        /* The answer may lie in after's own run. */
        run_prefix(&run, kind, after);
        key = run;
        larder__key_byte(&key, 0);
        status = larder__cursor_seek(cursor, larder__key_bytes(&key), error);
        if (status != LARDER_OK) return status;
        status = smallest_of_run(cursor, larder__key_bytes(&run), after, row, error);
        if (status != LARDER_NOT_FOUND) return status;
        key = run;
        if (!larder__key_successor(&key)) return LARDER_END;
    } else {
        name_key(&key, kind, after);
        if (after.size_bytes > 0) larder__key_byte(&key, 0);
    }
    status = larder__cursor_seek(cursor, larder__key_bytes(&key), error);
    if (status != LARDER_OK) return status;
    const uint8_t prefix[PREFIX_BYTES] = {LARDER__KIND_NAMED, (uint8_t)kind};
    if (!larder__bytes_has_prefix(cursor->key, larder__bytes(prefix, sizeof prefix)))
        return LARDER_END;
    larder_bytes text = larder__bytes(larder__begin(cursor->key) + PREFIX_BYTES,
                                      cursor->key.size_bytes - PREFIX_BYTES);
    if (text.size_bytes > HEAD_BYTES) {
        run_prefix(&run, kind, text);
        status = smallest_of_run(cursor, larder__key_bytes(&run), after, row, error);
        return status == LARDER_NOT_FOUND ? LARDER_END : status;
    }
    row->name = text; /* also of a damaged value, so that a caller can go on behind it */
    return parse_row(cursor->txn, cursor->key, cursor->value, row, error);
}

int32_t larder_named_next(const larder_txn *txn, int32_t kind, larder_bytes after,
                          larder_bytes *name, larder_time *time, larder_bytes *payload,
                          larder_error *error) {
    larder__cursor cursor = {0};
    named_row row = {0};
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK)
        status = after.size_bytes > 0 ? check_name(kind, after, error) : check_kind(kind, error);
    if (status != LARDER_OK) return status;
    if (!name) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "name is NULL");
    status = larder__cursor_open(txn, LARDER__CATALOG, &cursor, error);
    if (status != LARDER_OK) return status;
    status = next_row(&cursor, kind, after, &row, error);
    larder__cursor_close(&cursor);
    if (status == LARDER_OK || (status == LARDER_E_CORRUPT && row.name.size_bytes > 0))
        *name = row.name;
    if (status != LARDER_OK) return status;
    if (time) *time = row.time;
    if (payload) *payload = row.payload;
    return LARDER_OK;
}

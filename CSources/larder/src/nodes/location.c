/* location.c - finding rows of a location, and keys for new ones (location.h). */
#include "location.h"

#define FRACTION_BYTES 8
#define FRACTION_STEP (UINT64_C(1) << 32) /* between rows that are appended */

void larder__location_key(larder__key *key, uint64_t location) {
    larder__key_clear(key);
    larder__key_number(key, location);
}

bool larder__location_read_key(larder_bytes key, uint64_t *location, larder_bytes *separator) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    if (!larder__key_read_number(&at, end, location)) return false;
    *separator = larder__bytes(at, (size_t)(end - at));
    return separator->size_bytes <= LARDER__SEPARATOR_MAX ||
           separator->size_bytes == LARDER__SEPARATOR_MAX + FRACTION_BYTES;
}

static bool is_cut(larder_bytes separator) { return separator.size_bytes > LARDER__SEPARATOR_MAX; }

static uint64_t fraction_of(larder_bytes separator) {
    return larder__load64_big(larder__begin(separator) + LARDER__SEPARATOR_MAX);
}

/* ---- cursor ---- */

int32_t larder__location_open(const larder_txn *txn, uint64_t location,
                              larder__location_cursor *cursor, larder_error *error) {
    larder__location_move(cursor, location);
    return larder__cursor_open(txn, LARDER__NODES, &cursor->rows, error);
}

void larder__location_close(larder__location_cursor *cursor) {
    larder__cursor_close(&cursor->rows);
}

void larder__location_move(larder__location_cursor *cursor, uint64_t location) {
    cursor->location = location;
    larder__location_key(&cursor->prefix, location);
}

/* A row of another location is the end; one with a malformed key is damage. */
static int32_t stay(const larder__location_cursor *cursor, int32_t status, larder_error *error) {
    uint64_t location;
    larder_bytes separator;
    if (status != LARDER_OK) return status;
    if (!larder__bytes_has_prefix(cursor->rows.key, larder__key_bytes(&cursor->prefix)))
        return LARDER_END;
    if (!larder__location_read_key(cursor->rows.key, &location, &separator))
        return larder__corrupt(cursor->rows.txn, LARDER__NODES, cursor->rows.key, "a malformed key",
                               error);
    return LARDER_OK;
}

int32_t larder__location_first(larder__location_cursor *cursor, larder_error *error) {
    return stay(cursor,
                larder__cursor_seek(&cursor->rows, larder__key_bytes(&cursor->prefix), error),
                error);
}

int32_t larder__location_last(larder__location_cursor *cursor, larder_error *error) {
    larder__key above = cursor->prefix;
    larder__key_successor(&above);
    return stay(cursor, larder__cursor_seek_below(&cursor->rows, larder__key_bytes(&above), error),
                error);
}

int32_t larder__location_next(larder__location_cursor *cursor, larder_error *error) {
    return stay(cursor, larder__cursor_next(&cursor->rows, error), error);
}

int32_t larder__location_previous(larder__location_cursor *cursor, larder_error *error) {
    return stay(cursor, larder__cursor_previous(&cursor->rows, error), error);
}

int32_t larder__location_segment(const larder__location_cursor *cursor, larder__segment *segment,
                                 larder_error *error) {
    return larder__segment_open(cursor->rows.txn, cursor->rows.key, cursor->rows.value, segment,
                                error);
}

/* The least bytes above all that begin with these. */
static void set_successor(larder__form *bound, larder_bytes prefix) {
    size_t size = prefix.size_bytes;
    memcpy(bound->bytes, prefix.data, size);
    while (size > 0 && bound->bytes[size - 1] == 0xff)
        size--;
    if (size > 0) bound->bytes[size - 1]++;
    bound->size_bytes = size;
}

int32_t larder__location_bound(const larder__location_cursor *cursor, larder__form *bound,
                               larder_error *error) {
    larder_bytes separator = larder__location_separator(cursor);
    if (!is_cut(separator)) {
        memcpy(bound->bytes, separator.data, separator.size_bytes);
        bound->size_bytes = separator.size_bytes;
        return LARDER_OK;
    }
    larder__segment segment;
    larder__segment_child child;
    larder__segment_rewind(&child);
    int32_t status = larder__location_segment(cursor, &segment, error);
    if (status == LARDER_OK) status = larder__segment_next(&segment, &child, error);
    if (status == LARDER_OK) status = larder__segment_key(&segment, &child, error);
    if (status == LARDER_END) status = larder__segment_damaged(&segment, "an empty row", error);
    larder__segment_close(&segment);
    if (status != LARDER_OK) return status;
    larder_bytes cut = larder__bytes(separator.data, LARDER__SEPARATOR_MAX);
    if (larder__bytes_has_prefix(larder__form_bytes(&child.form), cut))
        *bound = child.form;
    else
        set_successor(bound, cut);
    return LARDER_OK;
}

/* The last row whose key is at most this one's. */
static int32_t seek_key(larder__location_cursor *cursor, const larder__key *key,
                        larder_error *error) {
    int32_t status = larder__cursor_seek(&cursor->rows, larder__key_bytes(key), error);
    if (status == LARDER_OK && larder__bytes_equal(cursor->rows.key, larder__key_bytes(key)))
        return stay(cursor, LARDER_OK, error);
    if (status < 0) return status;
    status = status == LARDER_END ? larder__cursor_last(&cursor->rows, error)
                                  : larder__cursor_previous(&cursor->rows, error);
    return stay(cursor, status, error);
}

/* To the first row with the cut bytes and at least this fraction: OK, END. */
static int32_t seek_fraction(larder__location_cursor *cursor, const larder__key *cut,
                             uint64_t fraction, larder_error *error) {
    larder__key key = *cut;
    larder__key_u64(&key, fraction);
    int32_t status = larder__cursor_seek(&cursor->rows, larder__key_bytes(&key), error);
    if (status == LARDER_OK && !larder__bytes_has_prefix(cursor->rows.key, larder__key_bytes(cut)))
        return LARDER_END;
    return stay(cursor, status, error);
}

/* For a key longer than a separator: the last row with the same cut bytes that does not begin above
 * it, by halves of the range of fractions; or the row before all of them. */
static int32_t seek_cut(larder__location_cursor *cursor, larder_bytes form, larder_error *error) {
    larder__key cut = cursor->prefix;
    larder__key_append(&cut, form.data, LARDER__SEPARATOR_MAX);
    uint64_t low = 0, high = UINT64_MAX, best = 0;
    bool has_best = false;
    while (low <= high) {
        uint64_t middle = low + (high - low) / 2, fraction = 0;
        bool above = true;
        int32_t status = seek_fraction(cursor, &cut, middle, error);
        if (status == LARDER_OK) fraction = fraction_of(larder__location_separator(cursor));
        if (status == LARDER_OK && fraction <= high) {
            larder__form begin;
            status = larder__location_bound(cursor, &begin, error);
            above =
                status == LARDER_OK && larder__bytes_compare(larder__form_bytes(&begin), form) > 0;
        }
        if (status < 0) return status;
        if (above) {
            if (middle == 0) break;
            high = middle - 1;
        } else {
            best = fraction;
            has_best = true;
            if (fraction == UINT64_MAX) break;
            low = fraction + 1;
        }
    }
    if (has_best) return seek_fraction(cursor, &cut, best, error);
    return seek_key(cursor, &cut, error);
}

int32_t larder__location_seek(larder__location_cursor *cursor, larder_bytes form,
                              larder_error *error) {
    if (form.size_bytes > LARDER__SEPARATOR_MAX) return seek_cut(cursor, form, error);
    larder__key key = cursor->prefix;
    larder__key_append(&key, form.data, form.size_bytes);
    return seek_key(cursor, &key, error);
}

/* ---- keys for new rows ---- */

/* The fraction of a row's key when it has the same cut bytes. */
static bool shared_fraction(const larder__key *key, const larder__key *cut, uint64_t *fraction) {
    if (key->size_bytes != cut->size_bytes + FRACTION_BYTES ||
        !larder__bytes_has_prefix(larder__key_bytes(key), larder__key_bytes(cut)))
        return false;
    *fraction = larder__load64_big(key->bytes + cut->size_bytes);
    return true;
}

bool larder__location_split_key(uint64_t location, larder_bytes last, larder_bytes first,
                                const larder__key *before, const larder__key *next,
                                larder__key *key) {
    const uint8_t *a = larder__begin(last), *b = larder__begin(first);
    size_t shared = 0;
    while (shared < last.size_bytes && shared < first.size_bytes && a[shared] == b[shared])
        shared++;
    larder__location_key(key, location);
    if (shared < LARDER__SEPARATOR_MAX) {
        larder__key_append(key, b, shared + 1);
        return true;
    }
    larder__key_append(key, b, LARDER__SEPARATOR_MAX);
    uint64_t low = 0, high = 0;
    bool has_low = shared_fraction(before, key, &low);
    if (!shared_fraction(next, key, &high)) {
        uint64_t step = UINT64_MAX - low > FRACTION_STEP ? FRACTION_STEP : (UINT64_MAX - low) / 2;
        if (step == 0) return false;
        larder__key_u64(key, low + step);
        return true;
    }
    if (high - low < 2 && (has_low || high == 0)) return false;
    larder__key_u64(key, low + (high - low) / 2);
    return true;
}

/*
 * lru.c - which rows were used least recently: epochs and their log. evict.c walks it.
 *
 * Time is counted in epochs: one lasts until about a thousandth of the budget has been written
 * or touched. A row that can be evicted carries the epoch of its last use. The log lists, by
 * epoch, the rows that got it:
 *
 *   lru  epoch (u32), chunk (u32) -> entries, about 1,000 bytes of them
 *        entry: collection number varint | id size (1) | id key form      a document
 *               0 | target id varint                                      a target
 *               0 | 0 | tree varint | query id (8, big-endian)            a tracked query of nodes
 *
 * A use appends an entry and leaves the old one: an entry counts only while the row has its
 * epoch ("stale" otherwise). Eviction walks the log from the oldest epoch; rows that hold
 * nothing but pinned documents stay, and a position in memory passes over them until a pin is
 * released. When more than half of the log is stale, each commit tidies a few rows of it.
 *
 * Rejected: a row a document in epoch order (twice the bytes, and a touch costs three table
 * changes); a clock hand over the documents (it reads the whole store to free a little).
 */
#include "rules.h"

#define QUERY_ID_BYTES 8
#define CHUNK_BYTES 980 /* and one entry more: four rows fill a page */
#define EPOCHS_IN_BUDGET 1024
#define SMALLEST_EPOCH_BYTES 4096
#define TIDY_SLACK 4096
#define TIDY_ENTRIES 512

int64_t larder__counters_total(const larder__counters *counters) {
    int64_t total = 0;
    for (int c = 0; c < LARDER__CATEGORY_COUNT; c++)
        total += counters->usage[c].size_bytes;
    return total;
}

/* ---- the log ---- */

larder__key larder__lru_key(uint32_t epoch, uint32_t chunk) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_u32(&key, epoch);
    larder__key_u32(&key, chunk);
    return key;
}

bool larder__lru_read_key(larder_bytes key, uint32_t *epoch, uint32_t *chunk) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    return larder__key_read_u32(&at, end, epoch) && larder__key_read_u32(&at, end, chunk) &&
           at == end;
}

bool larder__lru_entry_read(const uint8_t **at, const uint8_t *end, larder__lru_entry *entry) {
    const uint8_t *p = *at;
    entry->begin = p;
    size_t used = larder__varint_get(p, end, &entry->number);
    if (used == 0) return false;
    p += used;
    if (entry->number == 0) {
        entry->kind = LARDER__LRU_TARGET;
        entry->id = larder__bytes(NULL, 0);
        used = larder__varint_get(p, end, &entry->number);
        if (used == 0 || entry->number > INT32_MAX) return false;
        p += used;
        if (entry->number == 0) {
            entry->kind = LARDER__LRU_NODE_QUERY;
            used = larder__varint_get(p, end, &entry->number);
            if (used == 0 || entry->number == 0 || end - p - (ptrdiff_t)used < QUERY_ID_BYTES)
                return false;
            p += used;
            entry->id = larder__bytes(p, QUERY_ID_BYTES);
            p += QUERY_ID_BYTES;
        }
    } else {
        entry->kind = LARDER__LRU_DOCUMENT;
        if (!larder__key_read_idz(&p, end, &entry->id)) return false;
    }
    entry->size_bytes = (size_t)(p - *at);
    *at = p;
    return true;
}

uint32_t larder__lru_epoch(const larder_txn *txn) { return (uint32_t)txn->counters.epoch; }

int32_t larder__lru_append(larder_txn *txn, larder__lru_kind kind, uint64_t number, larder_bytes id,
                           larder_error *error) {
    uint8_t entry[2 * LARDER__VARINT_MAX + 1 + LARDER__ID_MAX];
    size_t size = 0;
    if (kind != LARDER__LRU_DOCUMENT) entry[size++] = 0;
    if (kind == LARDER__LRU_NODE_QUERY) entry[size++] = 0;
    size += larder__varint_put(entry + size, number);
    if (kind == LARDER__LRU_DOCUMENT) entry[size++] = (uint8_t)id.size_bytes;
    if (kind != LARDER__LRU_TARGET) {
        memcpy(entry + size, id.data, id.size_bytes);
        size += id.size_bytes;
    }
    if (!larder__buffer_append(&txn->lru_log, entry, size))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU"));
    txn->counters.lru_entry_count++;
    txn->changed = true;
    return LARDER_OK;
}

int32_t larder__lru_note(larder_txn *txn, larder__lru_kind kind, uint64_t number, larder_bytes id,
                         bool is_logged, int64_t cost_bytes, larder_error *error) {
    txn->counters.epoch_bytes += cost_bytes;
    return is_logged ? LARDER_OK : larder__lru_append(txn, kind, number, id, error);
}

/* Writes the waiting entries as rows of an epoch, after those it has. */
int32_t larder__lru_write_log(larder_txn *txn, uint32_t epoch, larder_error *error) {
    if (txn->lru_log.size_bytes == 0) return LARDER_OK;
    const uint8_t *at = txn->lru_log.data, *end = at + txn->lru_log.size_bytes;
    uint32_t chunk = 0, last_epoch, last_chunk;
    larder__key above = larder__lru_key(epoch, UINT32_MAX);
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__LRU, &cursor, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = larder__cursor_seek_below(&cursor, larder__key_bytes(&above), error);
    txn->scratch.size_bytes = 0;
    bool has_memory = true;
    if (status == LARDER_OK && larder__lru_read_key(cursor.key, &last_epoch, &last_chunk) &&
        last_epoch == epoch) {
        chunk = last_chunk + 1;
        if (cursor.value.size_bytes < CHUNK_BYTES) { /* goes on in the last row */
            chunk = last_chunk;
            has_memory =
                larder__buffer_append(&txn->scratch, cursor.value.data, cursor.value.size_bytes);
        }
    }
    larder__cursor_close(&cursor);
    if (status < 0) return larder__txn_note(txn, status);
    status = LARDER_OK;
    while (at < end && status == LARDER_OK && has_memory) {
        larder__lru_entry entry;
        while (at < end && txn->scratch.size_bytes < CHUNK_BYTES && has_memory) {
            if (!larder__lru_entry_read(&at, end, &entry)) return LARDER_E_CORRUPT;
            has_memory = larder__buffer_append(&txn->scratch, entry.begin, entry.size_bytes);
        }
        larder__key key = larder__lru_key(epoch, chunk++);
        if (has_memory)
            status =
                larder__table_put(txn, LARDER__LRU, larder__key_bytes(&key),
                                  larder__bytes(txn->scratch.data, txn->scratch.size_bytes), error);
        txn->scratch.size_bytes = 0;
    }
    txn->lru_log.size_bytes = 0;
    if (!has_memory) status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    return larder__txn_note(txn, status);
}

/* ---- kinds of row ---- */

const larder__lru_rows *larder__lru_rows_of(larder__lru_kind kind) {
    static const larder__lru_rows *const rows[LARDER__LRU_KIND_COUNT] = {
        [LARDER__LRU_DOCUMENT] = &larder__lru_documents,
        [LARDER__LRU_TARGET] = &larder__lru_targets,
        [LARDER__LRU_NODE_QUERY] = &larder__lru_node_queries,
    };
    return rows[kind];
}

int32_t larder__lru_is_current(const larder_txn *txn, const larder__lru_entry *entry,
                               uint32_t epoch, bool *current, larder_error *error) {
    uint32_t known = 0;
    int32_t status = larder__lru_rows_of(entry->kind)->epoch(txn, entry, &known, error);
    *current = status == LARDER_OK && known == epoch;
    return status < 0 ? status : LARDER_OK;
}

static int64_t live_rows(const larder__counters *counters) {
    int64_t count = 0;
    for (int kind = 0; kind < LARDER__LRU_KIND_COUNT; kind++)
        count += larder__lru_rows_of((larder__lru_kind)kind)->count(counters);
    return count;
}

/* ---- touches ---- */

int32_t larder__lru_flush_touches(larder_txn *txn, larder_error *error) {
    larder__touches touches;
    larder__lru_take_touches(txn->env, &touches);
    const larder__lru_rows *rows = larder__lru_rows_of(LARDER__LRU_DOCUMENT);
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < touches.count && status >= 0; i++)
        status = rows->touch(txn, touches.names[i], error);
    larder__lru_give_touches(txn->env, &touches);
    return status < 0 ? larder__txn_note(txn, status) : LARDER_OK;
}

void larder__lru_begin_epoch(larder_txn *txn) {
    txn->counters.epoch++;
    txn->counters.epoch_bytes = 0;
}

/* ---- tidying ---- */

/* Rewrites one row of the log without its stale entries. */
static int32_t tidy_row(larder_txn *txn, larder_bytes row_key, larder_bytes value,
                        int64_t *examined, larder_error *error) {
    uint32_t epoch, chunk;
    if (!larder__lru_read_key(row_key, &epoch, &chunk)) return LARDER_OK;
    larder__buffer *kept = &txn->scratch;
    kept->size_bytes = 0;
    const uint8_t *at = larder__begin(value), *end = at + value.size_bytes;
    larder__lru_entry entry;
    int64_t dropped = 0;
    while (at < end && larder__lru_entry_read(&at, end, &entry)) {
        bool current;
        int32_t status = larder__lru_is_current(txn, &entry, epoch, &current, error);
        if (status < 0) return status;
        (*examined)++;
        if (!current)
            dropped++;
        else if (!larder__buffer_append(kept, entry.begin, entry.size_bytes))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    }
    if (dropped == 0) return LARDER_OK;
    larder__key key = larder__lru_key(epoch, chunk);
    txn->counters.lru_entry_count -= dropped;
    larder__lru_position *walks[3] = {&txn->env->lru->from, &txn->env->lru->unkept_from,
                                      &txn->env->lru->rules->from};
    for (int i = 0; i < 3; i++)
        if (larder__bytes_equal(larder__key_bytes(&key), larder__key_bytes(&walks[i]->key)))
            walks[i]->skip_bytes = 0; /* the walk looks at the row once more */
    if (kept->size_bytes == 0) {
        larder__lru_begin_epoch(txn);
        return larder__table_remove(txn, LARDER__LRU, larder__key_bytes(&key), error);
    }
    return larder__table_put(txn, LARDER__LRU, larder__key_bytes(&key),
                             larder__bytes(kept->data, kept->size_bytes), error);
}

static int32_t tidy(larder_txn *txn, larder_error *error) {
    larder__lru_state *state = txn->env->lru;
    int64_t live = live_rows(&txn->counters);
    if (txn->counters.lru_entry_count <= 2 * live + TIDY_SLACK) return LARDER_OK;
    int64_t examined = 0;
    int32_t status = LARDER_OK;
    while (examined < TIDY_ENTRIES && status == LARDER_OK) {
        larder__cursor cursor;
        status = larder__cursor_open(txn, LARDER__LRU, &cursor, error);
        if (status != LARDER_OK) break;
        status = larder__cursor_seek(&cursor, larder__key_bytes(&state->tidy_from), error);
        if (status == LARDER_OK) {
            state->tidy_from.size_bytes = 0;
            larder__key_append(&state->tidy_from, cursor.key.data, cursor.key.size_bytes);
            larder__key_byte(&state->tidy_from, 0);
            status = tidy_row(txn, cursor.key, cursor.value, &examined, error);
        } else if (status == LARDER_END) {
            state->tidy_from.size_bytes = 0;
        }
        larder__cursor_close(&cursor);
        examined++;
    }
    return status < 0 ? larder__txn_note(txn, status) : LARDER_OK;
}

/* ---- commit ---- */

static int64_t epoch_length(const larder_txn *txn) {
    int64_t budget = atomic_load(&txn->env->budget_bytes);
    int64_t total = larder__counters_total(&txn->counters);
    int64_t base = budget != LARDER_BUDGET_UNLIMITED && budget < total ? budget : total;
    int64_t length = base / EPOCHS_IN_BUDGET;
    return length < SMALLEST_EPOCH_BYTES ? SMALLEST_EPOCH_BYTES : length;
}

int32_t larder__lru_commit(larder_txn *txn, larder_error *error) {
    int32_t status = larder__lru_write_log(txn, larder__lru_epoch(txn), error);
    if (status == LARDER_OK) status = tidy(txn, error);
    if (status == LARDER_OK) status = larder__marks_commit(txn, error);
    if (status == LARDER_OK && txn->counters.epoch_bytes >= epoch_length(txn))
        larder__lru_begin_epoch(txn);
    return status;
}

void larder__lru_ended(larder_txn *txn, bool committed) {
    larder__rules_ended(txn, committed);
    txn->lru_log.size_bytes = 0;
}

bool larder__lru_is_due(const larder_txn *txn) {
    if (larder__rules_are_due(txn)) return true;
    int64_t budget = atomic_load(&txn->env->budget_bytes);
    return budget != LARDER_BUDGET_UNLIMITED && larder__counters_total(&txn->counters) > budget;
}

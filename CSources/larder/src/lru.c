/*
 * lru.c - which documents were used least recently, and their eviction.
 *
 * Time is counted in epochs: one lasts until about a thousandth of the budget has been written
 * or touched. A document row carries the epoch of its last use. The log lists, by epoch, the
 * documents that got it:
 *
 *   lru  epoch (u32), chunk (u32) -> entries, about 1,000 bytes of them
 *        entry: collection number varint | id size (1) | id key form
 *               0 | target id varint                          for a target
 *
 * A use appends an entry and leaves the old one: an entry counts only while the row has its
 * epoch ("stale" otherwise). Eviction walks the log from the oldest epoch; rows that hold
 * nothing but pinned documents stay, and a position in memory passes over them until a pin is
 * released. When more than half of the log is stale, each commit tidies a few rows of it.
 *
 * A document in a target is kept as long as its target: when the walk meets it, a younger
 * target takes it along to its own epoch, and a target that is not younger is removed first.
 *
 * Rejected: a row a document in epoch order (twice the bytes, and a touch costs three table
 * changes); a clock hand over the documents (it reads the whole store to free a little).
 */
#include "lru.h"

#include <time.h>

#define CHUNK_BYTES 980 /* and one entry more: four rows fill a page */
#define EPOCHS_IN_BUDGET 1024
#define SMALLEST_EPOCH_BYTES 4096
#define TIDY_SLACK 4096
#define TIDY_ENTRIES 512
#define STEP_DOCUMENTS 500
#define STEP_US 2000
#define TARGET_PART 500 /* documents of a target removed at once */

int64_t larder__counters_total(const larder__counters *counters) {
    int64_t total = 0;
    for (int c = 0; c < LARDER__CATEGORY_COUNT; c++)
        total += counters->usage[c].size_bytes;
    return total;
}

/* ---- the log ---- */

static larder__key log_key(uint32_t epoch, uint32_t chunk) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_u32(&key, epoch);
    larder__key_u32(&key, chunk);
    return key;
}

static bool read_log_key(larder_bytes key, uint32_t *epoch, uint32_t *chunk) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    return larder__key_read_u32(&at, end, epoch) && larder__key_read_u32(&at, end, chunk) &&
           at == end;
}

bool larder__lru_entry_read(const uint8_t **at, const uint8_t *end, larder__lru_entry *entry) {
    const uint8_t *p = *at;
    entry->begin = p;
    size_t used = larder__varint_get(p, end, &entry->collection);
    if (used == 0) return false;
    p += used;
    if (entry->collection == 0) {
        uint64_t target;
        used = larder__varint_get(p, end, &target);
        if (used == 0 || target == 0 || target > INT32_MAX) return false;
        entry->target_id = (int32_t)target;
        p += used;
    } else if (!larder__key_read_idz(&p, end, &entry->id)) {
        return false;
    }
    entry->size_bytes = (size_t)(p - *at);
    *at = p;
    return true;
}

uint32_t larder__lru_epoch(const larder_txn *txn) { return (uint32_t)txn->counters.epoch; }

static int32_t append(larder_txn *txn, uint64_t collection, larder_bytes id, int32_t target_id,
                      larder_error *error) {
    uint8_t entry[2 * LARDER__VARINT_MAX + 1 + LARDER__ID_MAX];
    size_t size = larder__varint_put(entry, collection);
    if (collection == 0) {
        size += larder__varint_put(entry + size, (uint64_t)target_id);
    } else {
        entry[size++] = (uint8_t)id.size_bytes;
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

int32_t larder__lru_note(larder_txn *txn, uint64_t collection, larder_bytes id_key_form,
                         bool is_logged, int64_t cost_bytes, larder_error *error) {
    txn->counters.epoch_bytes += cost_bytes;
    return is_logged ? LARDER_OK : append(txn, collection, id_key_form, 0, error);
}

int32_t larder__lru_note_target(larder_txn *txn, int32_t target_id, uint32_t *epoch,
                                larder_error *error) {
    uint32_t known;
    *epoch = larder__lru_epoch(txn);
    int32_t status = larder__target_epoch(txn, target_id, &known, error);
    if (status < 0) return status;
    if (status == LARDER_OK && known == *epoch) return LARDER_OK;
    return append(txn, 0, larder__bytes(NULL, 0), target_id, error);
}

/* Writes the waiting entries as rows of an epoch, behind those it has. */
static int32_t write_log(larder_txn *txn, uint32_t epoch, larder_error *error) {
    if (txn->lru_log.size_bytes == 0) return LARDER_OK;
    const uint8_t *at = txn->lru_log.data, *end = at + txn->lru_log.size_bytes;
    uint32_t chunk = 0, last_epoch, last_chunk;
    larder__key above = log_key(epoch, UINT32_MAX);
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__LRU, &cursor, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    status = larder__cursor_seek_below(&cursor, larder__key_bytes(&above), error);
    txn->scratch.size_bytes = 0;
    bool has_memory = true;
    if (status == LARDER_OK && read_log_key(cursor.key, &last_epoch, &last_chunk) &&
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
        larder__key key = log_key(epoch, chunk++);
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

/* ---- rows and their epochs ---- */

static int32_t document_epoch(const larder_txn *txn, uint64_t collection, larder_bytes id,
                              uint32_t *epoch, larder_error *error) {
    larder__key key = larder__document_key(collection, id);
    larder_bytes row;
    int32_t state;
    larder_time read_time;
    int32_t status =
        larder__table_get(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, error);
    if (status != LARDER_OK) return status;
    if (!larder__row_head(row, &state, epoch, &read_time))
        return larder__corrupt(txn, LARDER__DOCUMENTS, larder__key_bytes(&key),
                               "the row is too short", error);
    return LARDER_OK;
}

static int32_t set_document_epoch(larder_txn *txn, uint64_t collection, larder_bytes id,
                                  uint32_t epoch, larder_error *error) {
    larder__key key = larder__document_key(collection, id);
    larder_bytes row;
    int32_t status =
        larder__table_get(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, error);
    if (status != LARDER_OK) return status;
    txn->old.size_bytes = 0;
    if (row.size_bytes < LARDER__ROW_HEAD_BYTES ||
        !larder__buffer_append(&txn->old, row.data, row.size_bytes))
        return larder__txn_note(txn,
                                larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a row"));
    larder__store32(txn->old.data + LARDER__ROW_EPOCH_AT, epoch);
    return larder__table_put(txn, LARDER__DOCUMENTS, larder__key_bytes(&key),
                             larder__bytes(txn->old.data, txn->old.size_bytes), error);
}

int32_t larder__lru_is_current(const larder_txn *txn, const larder__lru_entry *entry,
                               uint32_t epoch, bool *current, larder_error *error) {
    uint32_t known = 0;
    int32_t status = entry->collection == 0
                         ? larder__target_epoch(txn, entry->target_id, &known, error)
                         : document_epoch(txn, entry->collection, entry->id, &known, error);
    *current = status == LARDER_OK && known == epoch;
    return status < 0 ? status : LARDER_OK;
}

/* ---- touches ---- */

int32_t larder__lru_flush_touches(larder_txn *txn, larder_error *error) {
    larder__touches touches;
    larder__lru_take_touches(txn->env, &touches);
    int32_t status = LARDER_OK;
    uint32_t epoch = larder__lru_epoch(txn);
    for (size_t i = 0; i < touches.count && status >= 0; i++) {
        uint64_t collection;
        larder__id id;
        uint32_t known;
        status = larder__name_find(txn, touches.names[i], &collection, &id, error);
        if (status != LARDER_OK) continue;
        status = document_epoch(txn, collection, larder__id_bytes(&id), &known, error);
        if (status != LARDER_OK || known == epoch) continue;
        larder__key key = larder__document_key(collection, larder__id_bytes(&id));
        status = set_document_epoch(txn, collection, larder__id_bytes(&id), epoch, error);
        if (status == LARDER_OK)
            status = larder__lru_note(txn, collection, larder__id_bytes(&id), false,
                                      larder__row_cost(key.size_bytes, txn->old.size_bytes), error);
    }
    larder__lru_give_touches(txn->env, &touches);
    return status < 0 ? larder__txn_note(txn, status) : LARDER_OK;
}

/* What is written from now on lies behind every row of the log, also behind rows that are gone:
 * the walk, which remembers where it stood by key, must meet it. */
static void begin_epoch(larder_txn *txn) {
    txn->counters.epoch++;
    txn->counters.epoch_bytes = 0;
}

/* ---- tidying ---- */

/* Rewrites one row of the log without its stale entries. */
static int32_t tidy_row(larder_txn *txn, larder_bytes row_key, larder_bytes value,
                        int64_t *examined, larder_error *error) {
    uint32_t epoch, chunk;
    if (!read_log_key(row_key, &epoch, &chunk)) return LARDER_OK;
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
    larder__key key = log_key(epoch, chunk);
    txn->counters.lru_entry_count -= dropped;
    if (larder__bytes_equal(larder__key_bytes(&key), larder__key_bytes(&txn->env->lru->from)))
        txn->env->lru->skip_bytes = 0; /* the walk looks at the row once more */
    if (kept->size_bytes == 0) {
        begin_epoch(txn);
        return larder__table_remove(txn, LARDER__LRU, larder__key_bytes(&key), error);
    }
    return larder__table_put(txn, LARDER__LRU, larder__key_bytes(&key),
                             larder__bytes(kept->data, kept->size_bytes), error);
}

static int32_t tidy(larder_txn *txn, larder_error *error) {
    larder__lru_state *state = txn->env->lru;
    int64_t live = txn->counters.found_count + txn->counters.absent_count +
                   txn->counters.usage[LARDER__COUNT_TARGETS].row_count;
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
    int32_t status = write_log(txn, larder__lru_epoch(txn), error);
    if (status == LARDER_OK) status = tidy(txn, error);
    if (status == LARDER_OK && txn->counters.epoch_bytes >= epoch_length(txn)) {
        begin_epoch(txn);
    }
    return status;
}

void larder__lru_ended(larder_txn *txn, bool committed) {
    (void)committed;
    txn->lru_log.size_bytes = 0;
}

bool larder__lru_is_over_budget(const larder_txn *txn) {
    int64_t budget = atomic_load(&txn->env->budget_bytes);
    return budget != LARDER_BUDGET_UNLIMITED && larder__counters_total(&txn->counters) > budget;
}

/* ---- eviction ---- */

typedef struct step {
    larder_txn *txn;
    int64_t goal;
    int64_t max_documents;
    int64_t started_us, max_us;
    larder_lru_result *result;
    bool removed_target;
    bool removed_row; /* of the log */
} step;

static int64_t thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool is_spent(const step *s) {
    return s->result->examined_count >= s->max_documents ||
           thread_us() - s->started_us >= s->max_us;
}

static bool is_reached(const step *s) {
    return larder__counters_total(&s->txn->counters) + (int64_t)s->txn->lru_log.size_bytes <=
           s->goal;
}

/* What becomes of an entry. */
enum { GONE, KEPT, AGAIN };

static int32_t has_pending_mutation(const larder_txn *txn, uint64_t collection, larder_bytes id,
                                    bool *found, larder_error *error) {
    *found = false;
    if (txn->counters.usage[LARDER__COUNT_MUTATIONS].row_count == 0) return LARDER_OK;
    larder__key prefix;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, collection);
    larder__key_idz(&prefix, id);
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__MUTATION_DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
    *found =
        status == LARDER_OK && larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix));
    larder__cursor_close(&cursor);
    return status < 0 ? status : LARDER_OK;
}

static int32_t is_pinned(const larder_txn *txn, uint64_t collection, larder_bytes id, bool *pinned,
                         larder_error *error) {
    *pinned = false;
    if (larder__lru_has_pins(txn->env)) {
        larder_bytes path, text;
        char scratch[32];
        int32_t status = larder__collection_info(txn, collection, &path, NULL, error);
        if (status == LARDER_OK)
            status = larder__id_text(txn, collection, id, scratch, &text, error);
        if (status != LARDER_OK) return status;
        *pinned = larder__lru_is_pinned(txn->env, path, text);
        if (*pinned) return LARDER_OK;
    }
    return has_pending_mutation(txn, collection, id, pinned, error);
}

/* Removes a part of a target. *outcome AGAIN: some of it is left. */
static int32_t remove_target(step *s, int32_t target_id, int *outcome, larder_error *error) {
    int64_t removed = 0, before = larder__counters_total(&s->txn->counters);
    int32_t status = larder__target_remove_some(s->txn, target_id, TARGET_PART, &removed, error);
    if (status < 0) return status;
    s->result->freed_bytes += before - larder__counters_total(&s->txn->counters);
    *outcome = status == LARDER_MORE ? AGAIN : GONE;
    if (*outcome == GONE) s->result->target_count++;
    s->removed_target = true;
    return LARDER_OK;
}

/* The targets of a document: pinned, a younger epoch to go to, or one to remove first. */
static int32_t look_at_targets(const larder_txn *txn, const larder__lru_entry *entry,
                               uint32_t epoch, bool *pinned, uint32_t *younger, int32_t *removable,
                               larder_error *error) {
    *pinned = false;
    *younger = 0;
    *removable = 0;
    if (txn->counters.usage[LARDER__COUNT_TARGETS].row_count == 0) return LARDER_OK;
    larder__key prefix;
    larder__key_clear(&prefix);
    larder__key_number(&prefix, entry->collection);
    larder__key_idz(&prefix, entry->id);
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__DOCUMENT_TARGETS, &cursor, error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__key_bytes(&prefix), error);
         status == LARDER_OK && larder__bytes_has_prefix(cursor.key, larder__key_bytes(&prefix));
         status = larder__cursor_next(&cursor, error)) {
        const uint8_t *at = larder__begin(cursor.key) + prefix.size_bytes;
        const uint8_t *end = larder__begin(cursor.key) + cursor.key.size_bytes;
        uint64_t target;
        uint32_t known;
        if (!larder__key_read_number(&at, end, &target) || target > INT32_MAX) continue;
        if (larder__lru_is_target_pinned(txn->env, (int32_t)target)) {
            *pinned = true;
            break;
        }
        int32_t found = larder__target_epoch(txn, (int32_t)target, &known, error);
        if (found < 0) {
            status = found;
            break;
        }
        if (found == LARDER_OK && known > epoch) {
            if (known > *younger) *younger = known;
        } else {
            *removable = (int32_t)target;
        }
    }
    larder__cursor_close(&cursor);
    return status < 0 ? status : LARDER_OK;
}

static int32_t look_at_document(step *s, const larder__lru_entry *entry, uint32_t epoch,
                                int *outcome, larder_error *error) {
    bool pinned;
    uint32_t younger;
    int32_t removable;
    int32_t status = is_pinned(s->txn, entry->collection, entry->id, &pinned, error);
    if (status == LARDER_OK && !pinned)
        status = look_at_targets(s->txn, entry, epoch, &pinned, &younger, &removable, error);
    if (status != LARDER_OK) return status;
    if (pinned) {
        s->result->pinned_count++;
        larder__key key = larder__document_key(entry->collection, entry->id);
        larder_bytes row = {0};
        larder__table_get(s->txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, NULL);
        s->txn->env->lru->pinned_bytes += larder__row_cost(key.size_bytes, row.size_bytes);
        *outcome = KEPT;
        return LARDER_OK;
    }
    if (younger != 0) {
        status = set_document_epoch(s->txn, entry->collection, entry->id, younger, error);
        if (status == LARDER_OK) status = append(s->txn, entry->collection, entry->id, 0, error);
        if (status == LARDER_OK) status = write_log(s->txn, younger, error);
        *outcome = GONE;
        return status;
    }
    if (removable != 0) {
        status = remove_target(s, removable, outcome, error);
        *outcome = AGAIN; /* the document itself is looked at once more */
        return status;
    }
    int64_t freed = 0;
    status = larder__document_remove(s->txn, entry->collection, entry->id, &freed, error);
    s->result->freed_bytes += freed;
    if (status == LARDER_OK) s->result->evicted_count++;
    *outcome = GONE;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

static int32_t look_at(step *s, const larder__lru_entry *entry, uint32_t epoch, int *outcome,
                       larder_error *error) {
    bool current;
    int32_t status = larder__lru_is_current(s->txn, entry, epoch, &current, error);
    if (status == LARDER_E_CORRUPT) { /* a damaged row is not evicted: check reports it */
        *outcome = KEPT;
        return LARDER_OK;
    }
    *outcome = GONE;
    if (status != LARDER_OK || !current) return status;
    if (entry->collection != 0) return look_at_document(s, entry, epoch, outcome, error);
    if (larder__lru_is_target_pinned(s->txn->env, entry->target_id)) {
        *outcome = KEPT;
        return LARDER_OK;
    }
    return remove_target(s, entry->target_id, outcome, error);
}

/* Walks one row of the log from state->skip_bytes on and rewrites it. *stop: the step ends. */
static int32_t walk_row(step *s, larder_bytes row_key, larder_bytes value, bool *stop,
                        larder_error *error) {
    larder__lru_state *state = s->txn->env->lru;
    uint32_t epoch, chunk;
    if (!read_log_key(row_key, &epoch, &chunk))
        return larder__corrupt(s->txn, LARDER__LRU, row_key, "a malformed key", error);
    larder__key key = log_key(epoch, chunk);
    larder__buffer *row = &state->row, *kept = &state->kept;
    row->size_bytes = kept->size_bytes = 0;
    if (!larder__buffer_append(row, value.data, value.size_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    size_t skip = state->skip_bytes < row->size_bytes ? state->skip_bytes : row->size_bytes;
    const uint8_t *at = row->data + skip, *end = row->data + row->size_bytes;
    bool has_memory = larder__buffer_append(kept, row->data, skip);
    int64_t dropped = 0;
    larder__lru_entry entry;
    int32_t status = LARDER_OK;
    while (at < end && status == LARDER_OK && has_memory && !*stop) {
        const uint8_t *entry_at = at;
        int outcome;
        if (!larder__lru_entry_read(&at, end, &entry)) break; /* what follows is lost */
        status = look_at(s, &entry, epoch, &outcome, error);
        s->result->examined_count++;
        if (status != LARDER_OK) break;
        if (outcome == KEPT)
            has_memory = larder__buffer_append(kept, entry.begin, entry.size_bytes);
        else if (outcome == GONE)
            dropped++;
        else
            at = entry_at;
        *stop = is_reached(s) || is_spent(s);
    }
    if (status != LARDER_OK) return status;
    size_t looked_at = kept->size_bytes;
    has_memory = has_memory && larder__buffer_append(kept, at, (size_t)(end - at));
    if (!has_memory) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    state->from = key;
    state->skip_bytes = looked_at;
    if (dropped == 0) return LARDER_OK;
    s->txn->counters.lru_entry_count -= dropped;
    s->removed_row = s->removed_row || kept->size_bytes == 0;
    if (kept->size_bytes == 0)
        return larder__table_remove(s->txn, LARDER__LRU, larder__key_bytes(&key), error);
    return larder__table_put(s->txn, LARDER__LRU, larder__key_bytes(&key),
                             larder__bytes(kept->data, kept->size_bytes), error);
}

/* Walks from where the last step stopped, which may have got more entries since. *is_through:
 * the whole log was walked. */
static int32_t walk(step *s, bool *is_through, larder_error *error) {
    larder__lru_state *state = s->txn->env->lru;
    larder__key at = state->from;
    bool stop = is_reached(s);
    *is_through = false;
    while (!stop) {
        larder__cursor cursor;
        int32_t status = larder__cursor_open(s->txn, LARDER__LRU, &cursor, error);
        if (status != LARDER_OK) return status;
        status = larder__cursor_seek(&cursor, larder__key_bytes(&at), error);
        if (status == LARDER_OK &&
            !larder__bytes_equal(cursor.key, larder__key_bytes(&state->from)))
            state->skip_bytes = 0;
        if (status == LARDER_OK) status = walk_row(s, cursor.key, cursor.value, &stop, error);
        larder__cursor_close(&cursor);
        if (status == LARDER_END) {
            *is_through = true;
            return LARDER_OK;
        }
        if (status != LARDER_OK) return status;
        at = state->from;
        larder__key_byte(&at, 0);
    }
    return LARDER_OK;
}

static int32_t check_step(const larder_env *env, int64_t max_documents, int64_t max_us,
                          const larder_lru_result *result, larder_error *error) {
    if (env == NULL || result == NULL || result->struct_bytes < sizeof *result)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "env or result is NULL, or result.struct_bytes is not set");
    if (max_documents < 0 || max_us < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound is negative");
    return LARDER_OK;
}

int32_t larder_lru_step(larder_env *env, int64_t goal_bytes, int64_t max_documents, int64_t max_us,
                        larder_lru_result *result, larder_error *error) {
    int32_t status = check_step(env, max_documents, max_us, result, error);
    if (status != LARDER_OK) return status;
    larder_lru_result blank = {.struct_bytes = result->struct_bytes};
    *result = blank;
    step s = {.goal = goal_bytes,
              .max_documents = max_documents == 0 ? STEP_DOCUMENTS : max_documents,
              .max_us = max_us == 0 ? STEP_US : max_us,
              .result = result};
    if (goal_bytes < 0) {
        s.goal = atomic_load(&env->budget_bytes);
        if (s.goal == LARDER_BUDGET_UNLIMITED) s.goal = INT64_MAX;
    }
    status = larder_txn_begin_write(env, &s.txn, error);
    if (status != LARDER_OK) return status;
    s.started_us = thread_us();
    s.txn->reclaiming = true;
    larder__lru_state *state = env->lru;
    larder__lru_begin_step(env);
    bool starts_over = state->from.size_bytes == 0 && state->skip_bytes == 0;
    if (starts_over) state->pinned_bytes = 0;
    bool is_through = false;
    status = larder__lru_flush_touches(s.txn, error);
    /* Before the walk, which writes entries of other epochs. */
    if (status == LARDER_OK) status = write_log(s.txn, larder__lru_epoch(s.txn), error);
    if (status == LARDER_OK) status = walk(&s, &is_through, error);
    if (status < 0) {
        larder__lru_reset(env);
        larder__txn_note(s.txn, status);
        larder_txn_abort(s.txn);
        *result = blank;
        return status;
    }
    if (s.removed_row) begin_epoch(s.txn);
    result->total_bytes = larder__counters_total(&s.txn->counters);
    bool is_over = result->total_bytes > s.goal;
    status = larder_txn_commit(s.txn, error);
    result->elapsed_us = thread_us() - s.started_us;
    if (status != LARDER_OK) {
        larder__lru_reset(env);
        *result = blank;
        return status;
    }
    atomic_fetch_add(&env->evicted_count, result->evicted_count);
    atomic_fetch_add(&env->evicted_bytes, result->freed_bytes);
    if (is_through) atomic_store(&env->pinned_bytes, state->pinned_bytes);
    /* Documents that the walk passed may go now that a target went (larder__lru_let_go). */
    return is_over && (!is_through || s.removed_target) ? LARDER_MORE : LARDER_OK;
}

void larder__lru_reclaim(larder_env *env) {
    for (;;) {
        larder_error error;
        larder_lru_result result = {.struct_bytes = sizeof result};
        int32_t status = larder_lru_step(env, -1, 0, 0, &result, &error);
        if (status == LARDER_MORE) continue;
        if (status < 0) larder__log(env, LARDER_LOG_WARNING, "reclaiming space: %s", error.message);
        return;
    }
}

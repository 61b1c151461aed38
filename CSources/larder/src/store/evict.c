/*
 * evict.c - the walk over the LRU log that evicts: see lru.c for the log.
 *
 * A step is one write transaction. It looks at entries from the oldest on: stale ones are
 * dropped, pinned documents and those with pending writes stay in their row, the others go. A
 * document in a target is kept as long as its target: a younger target takes it along to its own
 * epoch, and a target that is not younger is removed first.
 */
#include "lru.h"

#include <time.h>

#define STEP_DOCUMENTS 500
#define STEP_US 2000
#define TARGET_PART 500 /* documents of a target removed at once */

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
        status = larder__lru_set_epoch(s->txn, entry->collection, entry->id, younger, error);
        if (status == LARDER_OK)
            status = larder__lru_append(s->txn, entry->collection, entry->id, 0, error);
        if (status == LARDER_OK) status = larder__lru_write_log(s->txn, younger, error);
        *outcome = GONE;
        return status;
    }
    if (removable != 0) {
        status = remove_target(s, removable, outcome, error);
        *outcome = AGAIN; /* the document itself is looked at once more */
        return status;
    }
    int64_t freed = 0;
    status = larder__document_remove(s->txn, entry->collection, entry->id, false, &freed, error);
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
    if (!larder__lru_read_key(row_key, &epoch, &chunk))
        return larder__corrupt(s->txn, LARDER__LRU, row_key, "a malformed key", error);
    larder__key key = larder__lru_key(epoch, chunk);
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
    if (status == LARDER_OK) status = larder__lru_write_log(s.txn, larder__lru_epoch(s.txn), error);
    if (status == LARDER_OK) status = walk(&s, &is_through, error);
    if (status < 0) {
        larder__lru_reset(env);
        larder__txn_note(s.txn, status);
        larder_txn_abort(s.txn);
        *result = blank;
        return status;
    }
    if (s.removed_row) larder__lru_begin_epoch(s.txn);
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

/*
 * evict.c - the walk over the LRU log that evicts: see lru.c for the log.
 *
 * A step is one write transaction. It looks at entries from the oldest on: stale ones are
 * dropped, and the kind of the row decides on the others (larder__lru_rows: visit), which stay in
 * their row of the log or go. A step ends when the goal is reached or it has looked at enough;
 * the next one begins where it ended. Before the walk to the goal, one of its own looks at the
 * documents that cache rules want to go (rules.c).
 */
#include "rules.h"

#include <time.h>

#define STEP_DOCUMENTS 500
#define STEP_US 2000

static int64_t thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool is_spent(const larder__lru_step *s) {
    return s->result->examined_count >= s->max_documents ||
           thread_us() - s->started_us >= s->max_us;
}

static bool is_reached(const larder__lru_step *s, uint32_t epoch) {
    if (s->only_unkept) return epoch > 0;
    if (s->by_rules) return !larder__rules_want_any(s->txn, epoch);
    return larder__counters_total(&s->txn->counters) + (int64_t)s->txn->lru_log.size_bytes <=
           s->goal;
}

/* Whether the walk is not about an entry. */
static bool is_passed_by(larder__lru_step *s, const larder__lru_entry *entry, uint32_t epoch) {
    const larder__lru_rows *rows = larder__lru_rows_of(entry->kind);
    if (s->by_rules) return !larder__rules_want(s->txn, entry, epoch);
    return s->only_unkept && (rows->is_unkept == NULL || !rows->is_unkept(entry));
}

static int32_t look_at(larder__lru_step *s, const larder__lru_entry *entry, uint32_t epoch,
                       larder__lru_outcome *outcome, larder_error *error) {
    bool current;
    int32_t status = larder__lru_is_current(s->txn, entry, epoch, &current, error);
    if (status == LARDER_E_CORRUPT) { /* a damaged row is not evicted: check reports it */
        *outcome = LARDER__LRU_KEPT;
        return LARDER_OK;
    }
    *outcome = LARDER__LRU_GONE;
    if (status != LARDER_OK || !current) return status;
    return larder__lru_rows_of(entry->kind)->visit(s, entry, epoch, outcome, error);
}

/* Walks one row of the log from from->skip_bytes on and rewrites it. *stop: the step ends. */
static int32_t walk_row(larder__lru_step *s, larder__lru_position *from, larder_bytes row_key,
                        larder_bytes value, bool *stop, larder_error *error) {
    larder__lru_state *state = s->txn->env->lru;
    uint32_t epoch, chunk;
    if (!larder__lru_read_key(row_key, &epoch, &chunk))
        return larder__corrupt(s->txn, LARDER__LRU, row_key, "a malformed key", error);
    larder__key key = larder__lru_key(epoch, chunk);
    larder__buffer *row = &state->row, *kept = &state->kept;
    row->size_bytes = kept->size_bytes = 0;
    if (!larder__buffer_append(row, value.data, value.size_bytes))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    size_t skip = from->skip_bytes < row->size_bytes ? from->skip_bytes : row->size_bytes;
    const uint8_t *at = row->data + skip, *end = row->data + row->size_bytes;
    bool has_memory = larder__buffer_append(kept, row->data, skip);
    int64_t dropped = 0;
    larder__lru_entry entry;
    int32_t status = LARDER_OK;
    while (at < end && status == LARDER_OK && has_memory && !*stop) {
        const uint8_t *entry_at = at;
        larder__lru_outcome outcome;
        if (!larder__lru_entry_read(&at, end, &entry)) break; /* what follows is lost */
        if (is_passed_by(s, &entry, epoch)) {
            has_memory = larder__buffer_append(kept, entry.begin, entry.size_bytes);
            continue;
        }
        status = look_at(s, &entry, epoch, &outcome, error);
        s->result->examined_count++;
        if (status != LARDER_OK) break;
        if (outcome == LARDER__LRU_KEPT)
            has_memory = larder__buffer_append(kept, entry.begin, entry.size_bytes);
        else if (outcome == LARDER__LRU_GONE)
            dropped++;
        else
            at = entry_at;
        *stop = is_reached(s, epoch) || is_spent(s);
    }
    s->is_met = is_reached(s, epoch);
    *stop = *stop || s->is_met || is_spent(s);
    if (status != LARDER_OK) return status;
    size_t looked_at = kept->size_bytes;
    has_memory = has_memory && larder__buffer_append(kept, at, (size_t)(end - at));
    if (!has_memory) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    from->key = key;
    from->skip_bytes = looked_at;
    if (dropped == 0) return LARDER_OK;
    s->txn->counters.lru_entry_count -= dropped;
    s->removed_log_row = s->removed_log_row || kept->size_bytes == 0;
    if (kept->size_bytes == 0)
        return larder__table_remove(s->txn, LARDER__LRU, larder__key_bytes(&key), error);
    return larder__table_put(s->txn, LARDER__LRU, larder__key_bytes(&key),
                             larder__bytes(kept->data, kept->size_bytes), error);
}

/* Walks from where the last step stopped, which may have got more entries since. *is_through:
 * the whole log was walked. */
static int32_t walk(larder__lru_step *s, larder__lru_position *from, bool *is_through,
                    larder_error *error) {
    larder__key at = from->key;
    bool stop = is_reached(s, 0);
    *is_through = false;
    while (!stop) {
        larder__cursor cursor;
        int32_t status = larder__cursor_open(s->txn, LARDER__LRU, &cursor, error);
        if (status != LARDER_OK) return status;
        status = larder__cursor_seek(&cursor, larder__key_bytes(&at), error);
        if (status == LARDER_OK && !larder__bytes_equal(cursor.key, larder__key_bytes(&from->key)))
            from->skip_bytes = 0;
        if (status == LARDER_OK) status = walk_row(s, from, cursor.key, cursor.value, &stop, error);
        larder__cursor_close(&cursor);
        if (status == LARDER_END) {
            *is_through = true;
            return LARDER_OK;
        }
        if (status != LARDER_OK) return status;
        at = from->key;
        larder__key_byte(&at, 0);
    }
    return LARDER_OK;
}

/* Evicts by cache rules. *is_through: all that rules want to go, and may, went. */
static int32_t walk_by_rules(larder__lru_step *s, bool has_released, bool *is_through,
                             larder_error *error) {
    *is_through = true;
    if (!s->txn->env->lru->rules->has_limits) return LARDER_OK;
    larder__rules_begin_walk(s->txn, has_released);
    s->by_rules = true;
    s->is_met = is_reached(s, 0);
    int32_t status = walk(s, &s->txn->env->lru->rules->from, is_through, error);
    *is_through = *is_through || s->is_met;
    s->by_rules = false;
    if (status == LARDER_OK && *is_through) larder__rules_settle(s->txn);
    return status;
}

static int32_t end_rows(larder__lru_step *s, larder_error *error) {
    int32_t status = LARDER_OK;
    for (int kind = 0; kind < LARDER__LRU_KIND_COUNT && status == LARDER_OK; kind++) {
        const larder__lru_rows *rows = larder__lru_rows_of((larder__lru_kind)kind);
        if (rows->end != NULL) status = rows->end(s, error);
    }
    return status;
}

/* Rows without a reference go first. *has_unused: there is more of it. */
static int32_t free_unused(larder__lru_step *s, bool *has_unused, larder_error *error) {
    int64_t before = larder__counters_total(&s->txn->counters);
    int32_t status = LARDER_OK;
    *has_unused = false;
    for (int i = 0; i < LARDER__MODEL_COUNT && status >= 0; i++) {
        if (larder__data_models[i]->free_unused == NULL) continue;
        status = larder__data_models[i]->free_unused(s->txn, error);
        *has_unused = *has_unused || status == LARDER_MORE;
    }
    s->result->freed_bytes += before - larder__counters_total(&s->txn->counters);
    return status < 0 ? status : LARDER_OK;
}

/* What nothing keeps goes. */
static int32_t walk_unkept(larder__lru_step *s, bool *is_through, larder_error *error) {
    int32_t status = walk(s, &s->txn->env->lru->unkept_from, is_through, error);
    *is_through = *is_through || s->is_met;
    return status;
}

static int32_t check_step(const larder_env *env, int64_t max_documents, int64_t max_us,
                          const larder_lru_result *result, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if (result == NULL || result->struct_bytes < sizeof *result)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "result is NULL, or its struct_bytes is not set");
    if (max_documents < 0 || max_us < 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound is negative");
    return LARDER_OK;
}

/* The walks of a step. *is_through: the one to the goal has looked at everything; *has_more: another
 * step may free more, whatever the goal. */
static int32_t make_walks(larder__lru_step *s, bool has_released, bool *is_through, bool *has_more,
                          larder_error *error) {
    larder__lru_state *state = s->txn->env->lru;
    bool has_unused = false, is_met = true;
    *is_through = false;
    int32_t status = larder__lru_flush_touches(s->txn, error);
    /* Before the walk, which writes entries of other epochs. */
    if (status == LARDER_OK)
        status = larder__lru_write_log(s->txn, larder__lru_epoch(s->txn), error);
    if (status == LARDER_OK) status = free_unused(s, &has_unused, error);
    if (status == LARDER_OK)
        status = s->only_unkept ? walk_unkept(s, &is_met, error)
                                : walk_by_rules(s, has_released, &is_met, error);
    *has_more = !is_met || (s->only_unkept && has_unused);
    if (status == LARDER_OK && !s->only_unkept && !has_unused && is_met)
        status = walk(s, &state->from, is_through, error);
    return status == LARDER_OK ? end_rows(s, error) : status;
}

static int32_t step_once(larder_env *env, larder__lru_step *s, larder_error *error) {
    larder_lru_result blank = {.struct_bytes = s->result->struct_bytes};
    *s->result = blank;
    int32_t status = larder_txn_begin_write(env, &s->txn, error);
    if (status != LARDER_OK) return status;
    s->started_us = thread_us();
    s->txn->reclaiming = true;
    larder__lru_state *state = env->lru;
    bool is_through, has_more, has_released = larder__lru_begin_step(env);
    bool starts_over = state->from.key.size_bytes == 0 && state->from.skip_bytes == 0;
    if (starts_over && !s->only_unkept) state->pinned_bytes = 0;
    status = make_walks(s, has_released, &is_through, &has_more, error);
    if (status < 0) {
        larder__lru_reset(env);
        larder__txn_note(s->txn, status);
        larder_txn_abort(s->txn);
        *s->result = blank;
        return status;
    }
    if (s->removed_log_row) larder__lru_begin_epoch(s->txn);
    s->result->total_bytes = larder__counters_total(&s->txn->counters);
    bool is_over = s->result->total_bytes > s->goal;
    uint64_t commit = s->txn->commit;
    status = larder_txn_commit(s->txn, error);
    s->result->elapsed_us = thread_us() - s->started_us;
    if (status != LARDER_OK) {
        larder__lru_reset(env);
        *s->result = blank;
        return status;
    }
    atomic_fetch_add(&env->evicted_count, s->result->evicted_count);
    atomic_fetch_add(&env->evicted_bytes, s->result->freed_bytes);
    if (s->removed_holder || s->result->evicted_count + s->result->target_count > 0)
        atomic_store(&env->eviction_commit, commit);
    if (is_through) atomic_store(&env->pinned_bytes, state->pinned_bytes);
    /* Rows that the walk passed may go now that what kept them went (larder__env_released_rows). */
    bool can_go_on = is_over && !s->only_unkept && (!is_through || s->removed_holder);
    return can_go_on || has_more ? LARDER_MORE : LARDER_OK;
}

static int32_t make_step(larder_env *env, larder__lru_step *s, larder_error *error) {
    larder__env_enter(env);
    int32_t status = step_once(env, s, error);
    larder__env_leave(env);
    return status;
}

int32_t larder_lru_step(larder_env *env, int64_t goal_bytes, int64_t max_documents, int64_t max_us,
                        larder_lru_result *result, larder_error *error) {
    int32_t status = check_step(env, max_documents, max_us, result, error);
    if (status != LARDER_OK) return status;
    larder__lru_step s = {.goal = goal_bytes,
                          .max_documents = max_documents == 0 ? STEP_DOCUMENTS : max_documents,
                          .max_us = max_us == 0 ? STEP_US : max_us,
                          .result = result};
    if (goal_bytes < 0) {
        s.goal = atomic_load(&env->budget_bytes);
        if (s.goal == LARDER_BUDGET_UNLIMITED) s.goal = INT64_MAX;
    }
    return make_step(env, &s, error);
}

int32_t larder_lru_sweep(larder_env *env, int64_t max_count, int64_t max_us,
                         larder_lru_result *result, larder_error *error) {
    int32_t status = check_step(env, max_count, max_us, result, error);
    if (status != LARDER_OK) return status;
    larder__lru_step s = {.only_unkept = true,
                          .max_documents = max_count == 0 ? STEP_DOCUMENTS : max_count,
                          .max_us = max_us == 0 ? STEP_US : max_us,
                          .result = result};
    return make_step(env, &s, error);
}

uint64_t larder_lru_commit_number(const larder_env *env) {
    return env == NULL ? 0 : atomic_load(&env->eviction_commit);
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

/*
 * rule_ages.c - how long ago documents were used, for cache rules with an age.
 *
 * Ages are counted by the epochs of the LRU log. While a rule has an age, a write transaction
 * begins an epoch when a sixteenth of the shortest age has passed, and marks it with the time by
 * which its uses will have happened. So a document is never too old too early, and at most an
 * eighth of its age too late. Marks are joined with time: the span of one is at most a sixteenth
 * of its age. The first mark is that of epoch 0.
 *
 *   shared  "useTimes"    mark, mark, ... : epoch (u32) | until in us (u64), little-endian
 *
 * A salvage leaves marks behind, because the epochs of the new store begin again.
 *
 * Rejected: the time of use in each document (8 bytes, and a write for each touch).
 */
#include "rules.h"

#include <time.h>

#define MARK_BYTES 12
#define SPANS_IN_AGE 16
#define TIME_MAX_US (LARDER__SECONDS_MAX * 1000000)

static const char marks_name[] = "useTimes";

static larder_bytes name_of(const char *text) { return larder__bytes(text, strlen(text)); }

int64_t larder__rules_now(const larder__rules *rules) {
    int64_t given = atomic_load(&rules->given_us);
    if (given >= 0) return given;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int32_t larder__marks_begin(larder_txn *txn, larder_error *error) {
    uint8_t first[MARK_BYTES] = {0};
    larder_time none = {0};
    int32_t status =
        larder_named_get(txn, LARDER_NAMED_SHARED, name_of(marks_name), NULL, NULL, error);
    if (status != LARDER_NOT_FOUND) return status;
    larder__store64(first + 4, (uint64_t)larder__rules_now(txn->env->lru->rules));
    return larder_named_put(txn, LARDER_NAMED_SHARED, name_of(marks_name), none,
                            larder__bytes(first, sizeof first), error);
}

/* ---- marks ---- */

int32_t larder__marks_read(larder_txn *txn, larder__rules *rules, larder_error *error) {
    larder_bytes row;
    rules->mark_count = 0;
    rules->marks_changed = false;
    int32_t status =
        larder_named_get(txn, LARDER_NAMED_SHARED, name_of(marks_name), NULL, &row, error);
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    const uint8_t *at = larder__begin(row);
    if (row.size_bytes >= MARK_BYTES * LARDER__RULE_MARKS) return LARDER_OK;
    for (size_t i = 0; i < row.size_bytes / MARK_BYTES; i++, at += MARK_BYTES) {
        larder__use_mark mark = {larder__load32(at), (int64_t)larder__load64(at + 4)};
        if (mark.until_us < 0) { /* no time: the marks are begun again */
            rules->mark_count = 0;
            break;
        }
        rules->marks[rules->mark_count++] = mark;
    }
    return LARDER_OK;
}

int32_t larder_lru_set_time(larder_env *env, int64_t now, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status != LARDER_OK) return status;
    if (now > TIME_MAX_US)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "%lld us are beyond the year 9999",
                            (long long)now);
    atomic_store(&env->lru->rules->given_us, now < 0 ? -1 : now);
    return LARDER_OK;
}

/* 0: no rule has an age. */
static int64_t shortest_age(const larder__rules *rules) {
    int64_t shortest = 0;
    for (size_t i = 0; i < rules->count; i++) {
        int64_t age = rules->list[i].max_age_us;
        if (age != 0 && (shortest == 0 || age < shortest)) shortest = age;
    }
    return shortest;
}

/* Joins marks where the span of the joined one is small for its age. */
static void join_marks(larder__rules *rules, int64_t now) {
    larder__use_mark *marks = rules->marks;
    size_t kept = 0;
    for (size_t i = 0; i < rules->mark_count; i++) {
        int64_t until = marks[i].until_us;
        if (kept >= 2 && until - marks[kept - 2].until_us <= (now - until) / SPANS_IN_AGE)
            marks[kept - 1].until_us = until;
        else
            marks[kept++] = marks[i];
    }
    rules->mark_count = kept;
    if (kept < LARDER__RULE_MARKS) return;
    for (size_t i = 0; i < kept / 2; i++) /* of ages that lie very far apart: each two */
        marks[i] = (larder__use_mark){marks[2 * i].epoch, marks[2 * i + 1].until_us};
    rules->mark_count = kept / 2;
}

void larder__marks_add(larder_txn *txn, larder__rules *rules) {
    int64_t shortest = shortest_age(rules), now = larder__rules_now(rules);
    if (shortest == 0) return;
    if (rules->mark_count > 0) {
        larder__use_mark last = rules->marks[rules->mark_count - 1];
        if (now < last.until_us && last.epoch <= larder__lru_epoch(txn)) return;
        if (last.epoch > larder__lru_epoch(txn)) rules->mark_count = 0; /* of another store */
    }
    larder__lru_begin_epoch(txn);
    larder__use_mark first = {0, now},
                     next = {larder__lru_epoch(txn), now + shortest / SPANS_IN_AGE};
    if (rules->mark_count == 0) rules->marks[rules->mark_count++] = first;
    rules->marks[rules->mark_count++] = next;
    join_marks(rules, now);
    rules->marks_changed = true;
}

uint32_t larder__marks_cutoff(const larder__rules *rules, int64_t age, int64_t now) {
    uint32_t epoch = 0;
    for (size_t i = 0; i + 1 < rules->mark_count && rules->marks[i].until_us <= now - age; i++)
        epoch = rules->marks[i + 1].epoch;
    return epoch;
}

int32_t larder__marks_commit(larder_txn *txn, larder_error *error) {
    larder__rules *rules = txn->env->lru->rules;
    if (!rules->marks_changed) return LARDER_OK;
    larder__buffer *row = &txn->scratch;
    row->size_bytes = 0;
    for (size_t i = 0; i < rules->mark_count; i++) {
        uint8_t bytes[MARK_BYTES];
        larder__store32(bytes, rules->marks[i].epoch);
        larder__store64(bytes + 4, (uint64_t)rules->marks[i].until_us);
        if (!larder__buffer_append(row, bytes, sizeof bytes))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for cache rules");
    }
    larder_time none = {0};
    return larder_named_put(txn, LARDER_NAMED_SHARED, name_of(marks_name), none,
                            larder__bytes(row->data, row->size_bytes), error);
}

int32_t larder__marks_remove(larder_txn *txn, larder_error *error) {
    txn->env->lru->rules->marks_changed = false;
    int32_t status = larder_named_remove(txn, LARDER_NAMED_SHARED, name_of(marks_name), error);
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

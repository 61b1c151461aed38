/*
 * model.c - what the store asks of documents: their part in opening, committing and eviction.
 *
 * Two kinds of row can be evicted. A document stays while it is pinned or a pending write names
 * it. A document in a target is kept as long as its target: a younger target takes it along to its
 * own epoch, and a target that is not younger is removed first. A target stays while it is pinned.
 * Cache rules keep documents, too (store/rules.h).
 */
#include "documents.h"
#include "store/catalog.h"
#include "store/lru.h"
#include "store/row.h"
#include "store/rules.h"

#define TARGET_PART 500 /* documents of a target removed at once */

const larder__data_model larder__documents_model = {
    .open = larder__index_create_cache,
    .close = larder__index_destroy_cache,
    .commit = larder__index_commit,
    .ended = larder__index_ended,
    .end_scans = larder__scans_end,
};

/* ---- targets ---- */

static int64_t target_rows(const larder__counters *counters) {
    return counters->usage[LARDER__COUNT_TARGETS].row_count;
}

static int32_t target_epoch(const larder_txn *txn, const larder__lru_entry *entry, uint32_t *epoch,
                            larder_error *error) {
    return larder__target_epoch(txn, (int32_t)entry->number, epoch, error);
}

int32_t larder__target_note_use(larder_txn *txn, int32_t target_id, uint32_t *epoch,
                                larder_error *error) {
    uint32_t known;
    *epoch = larder__lru_epoch(txn);
    int32_t status = larder__target_epoch(txn, target_id, &known, error);
    if (status < 0) return status;
    bool is_logged = status == LARDER_OK && known == *epoch;
    return larder__lru_note(txn, LARDER__LRU_TARGET, (uint64_t)target_id, larder__bytes(NULL, 0),
                            is_logged, 0, error);
}

static bool is_target_pinned(larder_env *env, int32_t target_id) {
    return larder__lru_has_pins(env) &&
           larder__lru_is_pinned(env, LARDER__LRU_TARGET, larder__lru_target_name(&target_id));
}

/* Removes a part of a target. *outcome AGAIN: some of it is left. */
static int32_t remove_target_part(larder__lru_step *s, int32_t target_id,
                                  larder__lru_outcome *outcome, larder_error *error) {
    int64_t removed = 0, before = larder__counters_total(&s->txn->counters);
    int32_t status = larder__target_remove_some(s->txn, target_id, TARGET_PART, &removed, error);
    if (status < 0) return status;
    s->result->freed_bytes += before - larder__counters_total(&s->txn->counters);
    *outcome = status == LARDER_MORE ? LARDER__LRU_AGAIN : LARDER__LRU_GONE;
    if (*outcome == LARDER__LRU_GONE) s->result->target_count++;
    s->removed_holder = true;
    return LARDER_OK;
}

static int32_t visit_target(larder__lru_step *s, const larder__lru_entry *entry, uint32_t epoch,
                            larder__lru_outcome *outcome, larder_error *error) {
    (void)epoch;
    if (is_target_pinned(s->txn->env, (int32_t)entry->number)) {
        *outcome = LARDER__LRU_KEPT;
        return LARDER_OK;
    }
    return remove_target_part(s, (int32_t)entry->number, outcome, error);
}

const larder__lru_rows larder__lru_targets = {
    .count = target_rows,
    .epoch = target_epoch,
    .visit = visit_target,
};

/* ---- documents ---- */

static int64_t document_rows(const larder__counters *counters) {
    return counters->found_count + counters->absent_count;
}

static int32_t document_epoch(const larder_txn *txn, const larder__lru_entry *entry,
                              uint32_t *epoch, larder_error *error) {
    larder__key key = larder__document_key(entry->number, entry->id);
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

/* The row is in txn->old afterwards. */
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

static int32_t touch_document(larder_txn *txn, larder_bytes name, larder_error *error) {
    larder__lru_entry entry = {.kind = LARDER__LRU_DOCUMENT};
    larder__id id;
    uint32_t known, epoch = larder__lru_epoch(txn);
    int32_t status = larder__name_find(txn, name, &entry.number, &id, error);
    if (status != LARDER_OK) return status;
    entry.id = larder__id_bytes(&id);
    status = document_epoch(txn, &entry, &known, error);
    if (status != LARDER_OK || known == epoch) return status;
    status = set_document_epoch(txn, entry.number, entry.id, epoch, error);
    if (status != LARDER_OK) return status;
    larder__key key = larder__document_key(entry.number, entry.id);
    return larder__lru_note(txn, LARDER__LRU_DOCUMENT, entry.number, entry.id, false,
                            larder__row_cost(key.size_bytes, txn->old.size_bytes), error);
}

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

/* True if a cache rule keeps the documents of a collection from being evicted in this walk. */
static bool is_kept_by_rule(larder__lru_step *s, uint64_t collection) {
    const larder__rule *rule = larder__rules_of(s->txn, collection);
    if (rule == NULL) return false;
    return (rule->flags & LARDER_RULE_PINNED) != 0 ||
           ((rule->flags & LARDER_RULE_LOCAL_ONLY) != 0 && !s->by_rules);
}

static int32_t is_pinned(const larder_txn *txn, uint64_t collection, larder_bytes id, bool *pinned,
                         larder_error *error) {
    *pinned = false;
    if (larder__lru_has_pins(txn->env)) {
        uint8_t name[LARDER_NAME_MAX_BYTES + 1];
        larder_bytes path, text;
        char scratch[32];
        int32_t status = larder__collection_info(txn, collection, &path, NULL, error);
        if (status == LARDER_OK)
            status = larder__id_text(txn, collection, id, scratch, &text, error);
        if (status != LARDER_OK) return status;
        size_t size = path.size_bytes + 1 + text.size_bytes;
        if (size <= sizeof name) {
            memcpy(name, path.data, path.size_bytes);
            name[path.size_bytes] = '/';
            memcpy(name + path.size_bytes + 1, text.data, text.size_bytes);
            *pinned =
                larder__lru_is_pinned(txn->env, LARDER__LRU_DOCUMENT, larder__bytes(name, size));
        }
        if (*pinned) return LARDER_OK;
    }
    return has_pending_mutation(txn, collection, id, pinned, error);
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
    larder__key_number(&prefix, entry->number);
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
        if (is_target_pinned(txn->env, (int32_t)target)) {
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

/* Releases the collection that documents went from, once for all of them that come one after the
 * other. */
static int32_t release_left(larder__lru_step *s, larder_error *error) {
    if (s->left_collection == 0) return LARDER_OK;
    int64_t before = larder__counters_total(&s->txn->counters);
    int32_t status = larder__collection_release(s->txn, s->left_collection, error);
    s->result->freed_bytes += before - larder__counters_total(&s->txn->counters);
    s->left_collection = 0;
    return status;
}

static int32_t visit_document(larder__lru_step *s, const larder__lru_entry *entry, uint32_t epoch,
                              larder__lru_outcome *outcome, larder_error *error) {
    bool pinned;
    uint32_t younger;
    int32_t removable;
    int32_t status = is_pinned(s->txn, entry->number, entry->id, &pinned, error);
    pinned = pinned || is_kept_by_rule(s, entry->number);
    if (status == LARDER_OK && !pinned)
        status = look_at_targets(s->txn, entry, epoch, &pinned, &younger, &removable, error);
    if (status != LARDER_OK) return status;
    if (pinned) {
        s->result->pinned_count++;
        larder__key key = larder__document_key(entry->number, entry->id);
        larder_bytes row = {0};
        larder__table_get(s->txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, NULL);
        s->txn->env->lru->pinned_bytes += larder__row_cost(key.size_bytes, row.size_bytes);
        *outcome = LARDER__LRU_KEPT;
        return LARDER_OK;
    }
    if (younger != 0) {
        status = set_document_epoch(s->txn, entry->number, entry->id, younger, error);
        if (status == LARDER_OK)
            status =
                larder__lru_append(s->txn, LARDER__LRU_DOCUMENT, entry->number, entry->id, error);
        if (status == LARDER_OK) status = larder__lru_write_log(s->txn, younger, error);
        *outcome = LARDER__LRU_GONE;
        return status;
    }
    if (removable != 0) {
        status = remove_target_part(s, removable, outcome, error);
        *outcome = LARDER__LRU_AGAIN; /* also when the target is gone: now to the document */
        return status;
    }
    int64_t freed = 0;
    if (s->left_collection != entry->number) status = release_left(s, error);
    if (status != LARDER_OK) return status;
    s->left_collection = entry->number;
    status = larder__document_remove(s->txn, entry->number, entry->id, false, &freed, error);
    s->result->freed_bytes += freed;
    if (status == LARDER_OK) s->result->evicted_count++;
    *outcome = LARDER__LRU_GONE;
    return status == LARDER_NOT_FOUND ? LARDER_OK : status;
}

const larder__lru_rows larder__lru_documents = {
    .count = document_rows,
    .epoch = document_epoch,
    .visit = visit_document,
    .end = release_left,
    .touch = touch_document,
};

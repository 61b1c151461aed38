/*
 * rules.c - cache rules: what is kept of a collection, and for how long. The walk (evict.c) obeys.
 *
 * A value by name (named.c) holds them:
 *
 *   global  "cacheRules"  rule, rule, ...
 *           rule: scope (1) | flags varint | max bytes varint | max age in us varint
 *                 | path size varint | path
 *
 * The sizes that rules limit are kept in memory: sums over the collections of a rule, made when
 * the rules are read or another process has committed, and kept up to date by each count of a
 * collection.
 *
 * Rejected: sizes by rule in the catalog (a row more in each commit, and one that a salvage would
 * have to mend).
 */
#include "rules.h"
#include "catalog.h"

#define RULES_MAX 256
/* A rule above its limit goes down by one of them, so as not to walk for each document. */
#define PARTS_OF_LIMIT 16

static const char rules_name[] = "cacheRules";

static larder_bytes name_of(const char *text) { return larder__bytes(text, strlen(text)); }

bool larder__rules_is_row(int32_t kind, larder_bytes name) {
    return kind == LARDER_NAMED_GLOBAL && larder__bytes_equal(name, name_of(rules_name));
}

int32_t larder__rules_create(larder_env *env, larder_error *error) {
    larder__rules *rules = larder__allocate(&env->allocator, sizeof *rules);
    if (rules == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for cache rules");
    memset(rules, 0, sizeof *rules);
    rules->version = -1;
    rules->text.allocator = &env->allocator;
    atomic_store(&rules->given_us, -1);
    atomic_store(&rules->is_settled, true);
    env->lru->rules = rules;
    return LARDER_OK;
}

void larder__rules_destroy(larder_env *env) {
    larder__rules *rules = env->lru->rules;
    if (rules == NULL) return;
    larder__release(&env->allocator, rules->list);
    larder__buffer_free(&rules->text);
    larder__release(&env->allocator, rules);
    env->lru->rules = NULL;
}

/* ---- the stored form ---- */

static int32_t check_path(const larder_cache_rule *rule, larder_error *error) {
    if (rule->scope == LARDER_RULE_COLLECTION) return larder__path_check(rule->path, 1, error);
    if (rule->scope == LARDER_RULE_ALL) {
        if (rule->path.size_bytes == 0) return LARDER_OK;
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "the cache rule of all collections has the path '%.*s'",
                            (int)rule->path.size_bytes, (const char *)rule->path.data);
    }
    if (rule->scope != LARDER_RULE_GROUP)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "%d is no scope of a cache rule",
                            rule->scope);
    int32_t status = larder__path_check(rule->path, 1, error);
    if (status != LARDER_OK) return status;
    if (memchr(rule->path.data, '/', rule->path.size_bytes) != NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a collection id has no '/': '%.*s'",
                            (int)rule->path.size_bytes, (const char *)rule->path.data);
    return LARDER_OK;
}

static int32_t check_rule(const larder_cache_rule *rule, larder_error *error) {
    const uint32_t known = LARDER_RULE_PINNED | LARDER_RULE_NEVER_CACHED | LARDER_RULE_LOCAL_ONLY;
    int32_t status = check_path(rule, error);
    if (status != LARDER_OK) return status;
    const char *what = NULL;
    bool has_limit = rule->max_bytes != 0 || rule->max_age_us != 0;
    if ((rule->flags & ~known) != 0) what = "has an unknown flag";
    if (rule->max_bytes < 0 || rule->max_age_us < 0) what = "has a negative limit";
    if ((rule->flags & LARDER_RULE_PINNED) != 0 &&
        (has_limit || (rule->flags & LARDER_RULE_NEVER_CACHED) != 0))
        what = "is pinned, and evicts";
    if ((rule->flags & LARDER_RULE_NEVER_CACHED) != 0 &&
        (has_limit || (rule->flags & LARDER_RULE_LOCAL_ONLY) != 0))
        what = "caches nothing, and limits or keeps what is cached";
    if (what == NULL) return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "the cache rule of '%.*s' %s",
                        (int)rule->path.size_bytes, (const char *)rule->path.data, what);
}

static bool put_varint(larder__buffer *buffer, uint64_t value) {
    uint8_t bytes[LARDER__VARINT_MAX];
    return larder__buffer_append(buffer, bytes, larder__varint_put(bytes, value));
}

int32_t larder_cache_rules_set(larder_txn *txn, const larder_cache_rule *rules, size_t rule_count,
                               larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if ((rules == NULL && rule_count > 0) || rule_count > RULES_MAX)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "rules is NULL, or there are more than %d", RULES_MAX);
    larder__buffer *buffer = &txn->env->lru->kept;
    buffer->size_bytes = 0;
    bool has_memory = true, has_age = false;
    for (size_t i = 0; i < rule_count && has_memory; i++) {
        const larder_cache_rule *rule = &rules[i];
        has_age = has_age || rule->max_age_us > 0;
        if (rule->struct_bytes < sizeof *rule)
            return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                "struct_bytes of a cache rule is not set");
        status = check_rule(rule, error);
        if (status != LARDER_OK) return status;
        for (size_t j = 0; j < i; j++)
            if (rules[j].scope == rule->scope && larder__bytes_equal(rules[j].path, rule->path))
                return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                    "two cache rules are of '%.*s'", (int)rule->path.size_bytes,
                                    (const char *)rule->path.data);
        uint8_t scope = (uint8_t)rule->scope;
        has_memory = larder__buffer_append(buffer, &scope, 1) && put_varint(buffer, rule->flags) &&
                     put_varint(buffer, (uint64_t)rule->max_bytes) &&
                     put_varint(buffer, (uint64_t)rule->max_age_us) &&
                     put_varint(buffer, rule->path.size_bytes) &&
                     larder__buffer_append(buffer, rule->path.data, rule->path.size_bytes);
    }
    if (!has_memory) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for cache rules");
    larder_time none = {0};
    status = larder_named_put(txn, LARDER_NAMED_GLOBAL, name_of(rules_name), none,
                              larder__bytes(buffer->data, buffer->size_bytes), error);
    if (status != LARDER_OK) return status;
    if (has_age) return larder__marks_begin(txn, error);
    /* Marks are kept up only while a rule has an age: later uses would count as earlier ones. */
    txn->env->lru->rules->version = -1;
    return larder__marks_remove(txn, error);
}

static bool read_rule(const uint8_t **at, const uint8_t *end, larder_cache_rule *rule) {
    uint64_t numbers[4];
    if (*at == end) return false;
    rule->scope = *(*at)++;
    for (int i = 0; i < 4; i++) {
        size_t used = larder__varint_get(*at, end, &numbers[i]);
        if (used == 0 || numbers[i] > INT64_MAX) return false;
        *at += used;
    }
    if (numbers[0] > UINT32_MAX || numbers[3] > (uint64_t)(end - *at)) return false;
    rule->flags = (uint32_t)numbers[0];
    rule->max_bytes = (int64_t)numbers[1];
    rule->max_age_us = (int64_t)numbers[2];
    rule->path = larder__bytes(*at, (size_t)numbers[3]);
    *at += numbers[3];
    return true;
}

/* ---- sizes ---- */

/* Adds what a collection's row counts. */
static int32_t add_collection(const larder_txn *txn, uint64_t collection, int64_t *documents,
                              int64_t *bytes, larder_error *error) {
    larder__collection_row row;
    int32_t status = larder__collection_read(txn, collection, &row, error);
    if (status != LARDER_OK) return status;
    *documents += row.found_count;
    *bytes += row.size_bytes;
    return LARDER_OK;
}

/* Whether there is a rule of a scope for a path. */
typedef bool (*has_rule_function)(const void *context, int32_t scope, larder_bytes path);

/* The next collection of a rule of a group or of all, whether or not a more specific one applies. */
static int32_t next_collection(const larder_txn *txn, int32_t scope, uint64_t group,
                               larder__cursor *cursor, uint64_t *number, larder_error *error) {
    return scope == LARDER_RULE_GROUP ? larder__group_next(txn, group, cursor, number, error)
                                      : larder__collection_next(txn, cursor, number, error);
}

/* The sums of a rule's collections, all counts of the transaction being written. */
static int32_t sum(const larder_txn *txn, int32_t scope, larder_bytes path,
                   has_rule_function has_rule, const void *context, int64_t *documents,
                   int64_t *bytes, larder_error *error) {
    uint64_t number, group = 0;
    int32_t status;
    *documents = *bytes = 0;
    if (scope == LARDER_RULE_COLLECTION) {
        status = larder__collection_find(txn, path, &number, error);
        if (status == LARDER_NOT_FOUND) return LARDER_OK;
        return status == LARDER_OK ? add_collection(txn, number, documents, bytes, error) : status;
    }
    if (scope == LARDER_RULE_GROUP) {
        status = larder__group_find(txn, path, &group, error);
        if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_OK : status;
    }
    larder__cursor cursor = {0};
    while ((status = next_collection(txn, scope, group, &cursor, &number, error)) == LARDER_OK) {
        larder_bytes member;
        status = larder__collection_info(txn, number, &member, NULL, error);
        if (status != LARDER_OK) break;
        if (has_rule(context, LARDER_RULE_COLLECTION, member)) continue;
        if (scope == LARDER_RULE_ALL &&
            has_rule(context, LARDER_RULE_GROUP, larder__path_last(member)))
            continue;
        status = add_collection(txn, number, documents, bytes, error);
        if (status != LARDER_OK) break;
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

/* In the stored form. */
static bool is_in_row(const void *context, int32_t scope, larder_bytes path) {
    const larder_bytes *row = context;
    const uint8_t *at = larder__begin(*row), *end = at + row->size_bytes;
    larder_cache_rule rule;
    while (at < end && read_rule(&at, end, &rule))
        if (rule.scope == scope && larder__bytes_equal(rule.path, path)) return true;
    return false;
}

int32_t larder_cache_rules_get(const larder_txn *txn, size_t index, larder_cache_rule *rule,
                               larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (rule == NULL || rule->struct_bytes < sizeof *rule)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "rule is NULL or its struct_bytes is not set");
    larder_bytes row;
    status = larder_named_get(txn, LARDER_NAMED_GLOBAL, name_of(rules_name), NULL, &row, error);
    if (status != LARDER_OK) return status == LARDER_NOT_FOUND ? LARDER_END : status;
    const uint8_t *at = larder__begin(row), *end = at + row.size_bytes;
    larder_cache_rule found = {.struct_bytes = rule->struct_bytes};
    for (size_t i = 0; i <= index; i++) {
        if (at == end) return LARDER_END;
        if (!read_rule(&at, end, &found))
            return larder__fail(error, LARDER_E_CORRUPT, "the stored cache rules are malformed");
    }
    if (txn->is_write) status = larder__collection_flush((larder_txn *)txn, error);
    if (status == LARDER_OK)
        status = sum(txn, found.scope, found.path, is_in_row, &row, &found.document_count,
                     &found.size_bytes, error);
    if (status == LARDER_OK) *rule = found;
    return status;
}

/* ---- reading them ---- */

static larder__rule *find(larder__rules *rules, int32_t scope, larder_bytes path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i].scope == scope && larder__bytes_equal(rules->list[i].path, path))
            return &rules->list[i];
    return NULL;
}

static bool is_in_list(const void *context, int32_t scope, larder_bytes path) {
    return find((larder__rules *)(uintptr_t)context, scope, path) != NULL;
}

static bool evicts(const larder__rule *rule) {
    return rule->max_bytes > 0 || rule->max_age_us > 0 ||
           (rule->flags & LARDER_RULE_NEVER_CACHED) != 0;
}

static int32_t recount(larder_txn *txn, larder__rules *rules, larder_error *error) {
    for (size_t i = 0; i < rules->count; i++) {
        int64_t documents;
        larder__rule *rule = &rules->list[i];
        if (!evicts(rule)) continue;
        int32_t status = sum(txn, rule->scope, rule->path, is_in_list, rules, &documents,
                             &rule->size_bytes, error);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

static int32_t read_rules(larder_txn *txn, larder__rules *rules, larder_error *error) {
    larder_bytes row = {0};
    int32_t status =
        larder_named_get(txn, LARDER_NAMED_GLOBAL, name_of(rules_name), NULL, &row, error);
    if (status < 0) return status;
    rules->count = 0;
    rules->has_limits = false;
    memset(rules->memo_collection, 0, sizeof rules->memo_collection);
    larder__env_released_rows(txn->env); /* both walks begin at the start */
    atomic_store(&rules->is_settled, false);
    if (rules->list == NULL)
        rules->list = larder__allocate(&txn->env->allocator, RULES_MAX * sizeof *rules->list);
    rules->text.size_bytes = 0;
    if (rules->list == NULL ||
        !larder__buffer_append(&rules->text, row.data, status == LARDER_OK ? row.size_bytes : 0))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for cache rules");
    const uint8_t *at = rules->text.data, *end = at + rules->text.size_bytes;
    while (rules->text.size_bytes > 0 && at < end && rules->count < RULES_MAX) {
        larder_cache_rule stored;
        if (!read_rule(&at, end, &stored)) {
            larder__log(txn->env, LARDER_LOG_WARNING, "the stored cache rules are malformed");
            break;
        }
        larder__rule rule = {.scope = stored.scope,
                             .flags = stored.flags,
                             .max_bytes = stored.max_bytes,
                             .max_age_us = stored.max_age_us,
                             .path = stored.path};
        rules->list[rules->count++] = rule;
        rules->has_limits = rules->has_limits || evicts(&rule);
    }
    status = recount(txn, rules, error);
    return status == LARDER_OK ? larder__marks_read(txn, rules, error) : status;
}

/* ---- transactions ---- */

int32_t larder__rules_begin(larder_txn *txn, larder_error *error) {
    larder__rules *rules = txn->env->lru->rules;
    const larder__counters *counters = &txn->counters;
    if (counters->rules_version == 0) {
        rules->count = 0;
        rules->version = 0;
        rules->has_limits = false;
        return LARDER_OK;
    }
    int32_t status = LARDER_OK;
    bool is_known = rules->version == counters->rules_version;
    if (!is_known) status = read_rules(txn, rules, error);
    if (is_known && rules->commit != counters->commit_number && rules->has_limits) {
        status = recount(txn, rules, error);
        if (status == LARDER_OK) status = larder__marks_read(txn, rules, error);
        atomic_store(&rules->is_settled, false);
    }
    if (status == LARDER_E_CORRUPT) { /* the store can be written without them */
        larder__log(txn->env, LARDER_LOG_WARNING, "the cache rules cannot be read");
        rules->count = 0;
        rules->has_limits = false;
        status = LARDER_OK;
    }
    rules->version = status == LARDER_OK ? counters->rules_version : -1;
    rules->commit = counters->commit_number;
    if (status == LARDER_OK) larder__marks_add(txn, rules);
    return status;
}

void larder__rules_ended(larder_txn *txn, bool committed) {
    larder__rules *rules = txn->env->lru->rules;
    if (rules->count == 0 && rules->version == txn->counters.rules_version) return;
    if (committed && (txn->changed || !rules->marks_changed)) {
        /* Unless the rules themselves were changed, by another number. */
        if (txn->changed) rules->commit = (int64_t)txn->commit;
        rules->marks_changed = false;
    } else {
        rules->version = -1;
    }
}

/* ---- collections ---- */

larder__rule *larder__rules_of(larder_txn *txn, uint64_t collection) {
    larder__rules *rules = txn->env->lru->rules;
    if (rules->count == 0) return NULL;
    size_t slot = collection % LARDER__RULE_MEMO;
    if (rules->memo_collection[slot] != collection + 1) {
        larder_bytes path;
        if (larder__collection_info(txn, collection, &path, NULL, NULL) != LARDER_OK) return NULL;
        larder__rule *rule = find(rules, LARDER_RULE_COLLECTION, path);
        if (rule == NULL) rule = find(rules, LARDER_RULE_GROUP, larder__path_last(path));
        if (rule == NULL) rule = find(rules, LARDER_RULE_ALL, larder__bytes(NULL, 0));
        rules->memo_collection[slot] = collection + 1;
        rules->memo_rule[slot] = rule == NULL ? 0 : (uint32_t)(rule - rules->list) + 1;
    }
    uint32_t index = rules->memo_rule[slot];
    return index == 0 ? NULL : &rules->list[index - 1];
}

void larder__rules_count(larder_txn *txn, uint64_t collection, int64_t bytes_delta) {
    larder__rules *rules = txn->env->lru->rules;
    if (rules == NULL || !rules->has_limits) return;
    larder__rule *rule = larder__rules_of(txn, collection);
    if (rule == NULL || !evicts(rule)) return;
    rule->size_bytes += bytes_delta;
    if (!txn->reclaiming) atomic_store(&rules->is_settled, false);
}

/* ---- the walk ---- */

bool larder__rules_are_due(const larder_txn *txn) {
    larder__rules *rules = txn->env->lru->rules;
    if (!rules->has_limits) return false;
    if (!atomic_load(&rules->is_settled) || atomic_load(&txn->env->released_rows)) return true;
    int64_t now = larder__rules_now(rules);
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i].max_age_us > 0 && rules->list[i].size_bytes > 0 &&
            larder__marks_cutoff(rules, rules->list[i].max_age_us, now) != rules->list[i].cutoff)
            return true;
    return false;
}

/* Whether a rule wants documents to go, whatever their age. */
static bool wants_any_age(larder__rule *rule) {
    if (rule->size_bytes <= 0) return false;
    if ((rule->flags & LARDER_RULE_NEVER_CACHED) != 0) return true;
    if (rule->max_bytes == 0) return false;
    if (rule->size_bytes > rule->max_bytes) rule->is_over = true;
    if (rule->size_bytes <= rule->max_bytes - rule->max_bytes / PARTS_OF_LIMIT)
        rule->is_over = false;
    return rule->is_over;
}

static bool wants(larder__rule *rule, uint32_t epoch) {
    return wants_any_age(rule) || (rule->size_bytes > 0 && epoch < rule->cutoff);
}

void larder__rules_begin_walk(larder_txn *txn, bool has_released) {
    larder__rules *rules = txn->env->lru->rules;
    int64_t now = larder__rules_now(rules);
    bool starts_over = has_released;
    for (size_t i = 0; i < rules->count; i++) {
        larder__rule *rule = &rules->list[i];
        uint32_t new_cutoff =
            rule->max_age_us > 0 ? larder__marks_cutoff(rules, rule->max_age_us, now) : 0;
        starts_over = starts_over || new_cutoff != rule->cutoff;
        rule->cutoff = new_cutoff;
        starts_over = starts_over || (wants_any_age(rule) && !rule->was_considered);
    }
    if (!starts_over) return;
    rules->from.key.size_bytes = 0;
    rules->from.skip_bytes = 0;
    for (size_t i = 0; i < rules->count; i++)
        rules->list[i].was_considered = wants_any_age(&rules->list[i]);
}

bool larder__rules_want_any(const larder_txn *txn, uint32_t epoch) {
    larder__rules *rules = txn->env->lru->rules;
    if (!rules->has_limits) return false;
    for (size_t i = 0; i < rules->count; i++)
        if (wants(&rules->list[i], epoch)) return true;
    return false;
}

bool larder__rules_want(larder_txn *txn, const larder__lru_entry *entry, uint32_t epoch) {
    if (entry->kind != LARDER__LRU_DOCUMENT) return false;
    larder__rule *rule = larder__rules_of(txn, entry->number);
    if (rule == NULL) return false;
    rule->was_considered = rule->was_considered && wants_any_age(rule);
    return wants(rule, epoch);
}

void larder__rules_settle(larder_txn *txn) {
    atomic_store(&txn->env->lru->rules->is_settled, true);
}

/*
 * rules_model_test.c - cache rules (rules.c): random uses, compared with a plain model.
 */
#include "lru_kit.h"
#include "store/rules.h"

enum { COLLECTIONS = 6, IDS = 12 };
static const char *const collections[COLLECTIONS] = {"c",     "a/b/g", "a/c/g",
                                                     "a/d/g", "pin",   "other"};

typedef struct model_document {
    bool exists, is_pinned;
    int64_t used; /* second */
} model_document;
static model_document documents[COLLECTIONS][IDS];
static bool has_disagreed;

/* The first disagreement says the most. */
#define AGREE(condition, ...)                                                                      \
    do {                                                                                           \
        bool agrees = (condition);                                                                 \
        if (!has_disagreed) CHECK_NOTE(agrees, __VA_ARGS__);                                       \
        has_disagreed = has_disagreed || !agrees;                                                  \
    } while (0)

static int below(int n) { return (int)test_random_below((uint64_t)n); }

static const char *document_name(int c, int i) {
    static char name[64];
    snprintf(name, sizeof name, "%s/%d", collections[c], i);
    return name;
}

static larder_cache_rule random_rule(int32_t scope, const char *path) {
    larder_cache_rule rule = lru_rule(scope, path, 0);
    switch (below(5)) {
    case 0:
        rule.flags = LARDER_RULE_NEVER_CACHED;
        break;
    case 1:
        rule.max_bytes = 300 + below(4000);
        break;
    case 2:
        rule.max_age_us = (160 + 160 * below(10)) * LRU_SECOND;
        break;
    case 3:
        rule.max_bytes = 300 + below(4000);
        rule.max_age_us = (160 + 160 * below(10)) * LRU_SECOND;
        break;
    default:
        rule.flags = below(2) == 0 ? LARDER_RULE_LOCAL_ONLY : LARDER_RULE_PINNED;
    }
    return rule;
}

static const larder_cache_rule *model_rule(const larder_cache_rule *rules, size_t count, int c) {
    const larder_cache_rule *found = NULL;
    larder_bytes path = test_text(collections[c]);
    for (size_t i = 0; i < count; i++)
        if (rules[i].scope == LARDER_RULE_COLLECTION && larder__bytes_equal(rules[i].path, path))
            return &rules[i];
        else if (rules[i].scope == LARDER_RULE_GROUP &&
                 larder__bytes_equal(rules[i].path, larder__path_last(path)))
            found = &rules[i];
        else if (rules[i].scope == LARDER_RULE_ALL && found == NULL)
            found = &rules[i];
    return found;
}

/* Compares the store with the model, which then takes over what was rightly evicted. */
static void compare(larder_env *env, const larder_cache_rule *rules, size_t count, int64_t now,
                    int round) {
    int64_t left[8] = {0}, unpinned[8] = {0};
    for (int c = 0; c < COLLECTIONS; c++) {
        const larder_cache_rule *rule = model_rule(rules, count, c);
        size_t r = rule == NULL ? 7 : (size_t)(rule - rules);
        for (int i = 0; i < IDS; i++) {
            model_document *document = &documents[c][i];
            bool is_there = lru_has(env, document_name(c, i));
            int64_t age = (now - document->used) * LRU_SECOND;
            AGREE(document->exists || !is_there, "round %d: %s is back", round,
                  document_name(c, i));
            if (document->exists && !is_there) {
                bool may_go =
                    rule != NULL && !document->is_pinned &&
                    ((rule->flags & LARDER_RULE_NEVER_CACHED) != 0 || rule->max_bytes > 0 ||
                     (rule->max_age_us > 0 && age >= rule->max_age_us));
                AGREE(may_go, "round %d: %s has gone, age %d", round, document_name(c, i),
                      (int)(age / LRU_SECOND));
                document->exists = false;
            }
            if (!is_there) continue;
            left[r]++;
            if (document->is_pinned || rule == NULL) continue;
            unpinned[r]++;
            AGREE((rule->flags & LARDER_RULE_NEVER_CACHED) == 0, "round %d: %s is left", round,
                  document_name(c, i));
            /* A mark of the longest age, 1,600 s, spans 100 s; joined ones as much again. */
            AGREE(rule->max_age_us == 0 ||
                      age < rule->max_age_us + rule->max_age_us / 8 + 100 * LRU_SECOND,
                  "round %d: %s is left, age %d of %d", round, document_name(c, i),
                  (int)(age / LRU_SECOND), (int)(rule->max_age_us / LRU_SECOND));
        }
    }
    for (size_t r = 0; r < count; r++) {
        larder_cache_rule stored = lru_get_rule(env, r, LARDER_OK);
        AGREE(stored.document_count == left[r], "round %d: rule %d counts %d documents", round,
              (int)r, (int)stored.document_count);
        AGREE(stored.max_bytes == 0 || stored.size_bytes <= stored.max_bytes || unpinned[r] == 0,
              "round %d: rule %d is above its limit", round, (int)r);
        const larder__rules *kept = env->lru->rules;
        if (stored.max_bytes > 0 && kept->version > 0)
            AGREE(kept->list[r].size_bytes == stored.size_bytes,
                  "round %d: rule %d counts %d bytes", round, (int)r,
                  (int)kept->list[r].size_bytes);
    }
}

static void random_uses_agree_with_a_model(void) {
    const char *directory = test_directory();
    larder_env *env = store_open_at(directory);
    larder_cache_rule rules[5];
    size_t rule_count = 0;
    bool has_age = false;
    int64_t now = 1000000;
    has_disagreed = false;
    memset(documents, 0, sizeof documents);
    lru_at(env, now);
    int rounds = (int)test_steps(3000);
    for (int round = 0; round < rounds && !has_disagreed; round++) {
        int c = below(COLLECTIONS), i = below(IDS), kind = below(100);
        model_document *document = &documents[c][i];
        if (kind < 40) {
            lru_put(env, document_name(c, i), (size_t)(20 + below(300)));
            document->exists = true;
            document->used = now;
        } else if (kind < 55) {
            lru_touch(env, document_name(c, i));
            if (lru_has(env, document_name(c, i))) document->used = now;
        } else if (kind < 70) {
            if (document->is_pinned) {
                CHECK_OK(larder_lru_unpin(env, test_text(document_name(c, i)), &test_error));
                store_commit(store_write(env)); /* and a use */
                document->used = now;
            } else {
                CHECK_OK(larder_lru_pin(env, test_text(document_name(c, i)), &test_error));
            }
            document->is_pinned = !document->is_pinned;
        } else if (kind < 90) {
            now += below(kind < 88 ? 40 : 600);
            lru_at(env, now);
        } else if (kind < 93) {
            larder_txn *txn = store_write(env); /* changes nothing that counts */
            lru_put_in(txn, document_name(c, i), 100);
            larder_txn_abort(txn);
        } else if (kind < 97) {
            rule_count = 0;
            bool had_age = has_age;
            has_age = false;
            if (below(4) != 0) rules[rule_count++] = random_rule(LARDER_RULE_COLLECTION, "c");
            if (below(4) != 0) rules[rule_count++] = random_rule(LARDER_RULE_GROUP, "g");
            if (below(4) != 0) rules[rule_count++] = random_rule(LARDER_RULE_COLLECTION, "a/c/g");
            if (below(4) != 0)
                rules[rule_count++] = lru_rule(LARDER_RULE_COLLECTION, "pin", LARDER_RULE_PINNED);
            if (below(2) != 0) rules[rule_count++] = random_rule(LARDER_RULE_ALL, "");
            for (size_t r = 0; r < rule_count; r++)
                has_age = has_age || rules[r].max_age_us > 0;
            if (has_age && !had_age)
                for (int d = 0; d < COLLECTIONS * IDS; d++)
                    documents[d / IDS][d % IDS].used = now;
            lru_set_rules(env, rules, rule_count);
        } else {
            store_check(env);
            store_close(env);
            env = store_open_at(directory);
            lru_at(env, now);
            for (int d = 0; d < COLLECTIONS * IDS; d++)
                if (documents[d / IDS][d % IDS].is_pinned)
                    CHECK_OK(larder_lru_pin(env, test_text(document_name(d / IDS, d % IDS)),
                                            &test_error));
        }
        lru_reclaim(env, -1);
        compare(env, rules, rule_count, now, round);
    }
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"random uses agree with a model", random_uses_agree_with_a_model},
};
TEST_SUITE(rules_model, cases);

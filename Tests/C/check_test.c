/*
 * check_test.c - larder_check: each invariant that it states is broken in turn behind the store's
 * back, and must be reported at the table where it is broken.
 */
#include "documents/index.h"
#include "index_kit.h"
#include "store.h"
#include "store/blob.h"
#include "store/catalog.h"

/* One row at least in every table, and some rows that mention others. */
static larder_env *open_filled(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    kit_define(txn, "c", "n asc");
    kit_put(txn, "c/a", "n=7 text=x*300");
    kit_put(txn, "c/b", "n=8");
    kit_put_absent(txn, "c/gone");
    kit_overlay(txn, "ada", "c/a", "n=9");
    larder_mutation_document document = {.name = test_text("c/a")};
    int64_t batch;
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text("payload"), &batch, &test_error));
    larder_target target = {.struct_bytes = sizeof target, .target_id = 7};
    target.canonical_id = test_text("canonical");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    CHECK_OK(larder_target_add_document(txn, 7, test_text("c/b"), &test_error));
    store_commit(txn);
    txn = store_write(env);
    kit_fill(txn, 1);
    store_commit(txn);
    return env;
}

/* ---- what is reported ---- */

typedef struct problems {
    int64_t count;
    bool in_table[LARDER__TABLE_COUNT];
    char first[300];
    int64_t stop_at;
} problems;

static int32_t note_problem(void *context, const char *table, larder_bytes key,
                            const char *message) {
    problems *p = context;
    (void)key;
    if (p->count++ == 0) snprintf(p->first, sizeof p->first, "%s: %s", table, message);
    for (int t = 0; t < LARDER__TABLE_COUNT; t++)
        if (strcmp(table, larder__table_names[t]) == 0) p->in_table[t] = true;
    return p->count == p->stop_at;
}

static int32_t check(larder_env *env, problems *found, larder_check_report *report) {
    const larder_txn *txn = store_read(env);
    *report = (larder_check_report){.struct_bytes = sizeof *report};
    int32_t status = larder_check(txn, note_problem, NULL, found, report, NULL);
    larder_txn_end_read(txn);
    return status;
}

/* ---- ways to break a store ---- */

static void remove_first(larder_txn *txn, larder__table table) {
    larder__cursor cursor;
    larder__key key = {0};
    CHECK_OK(larder__cursor_open(txn, table, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), &test_error);
    CHECK_OK(status);
    if (status == LARDER_OK) larder__key_append(&key, cursor.key.data, cursor.key.size_bytes);
    larder__cursor_close(&cursor);
    CHECK_OK(larder__table_remove(txn, table, larder__key_bytes(&key), &test_error));
}

/* A row like the first of the table, under a key that ends otherwise. */
static void add_stray(larder_txn *txn, larder__table table) {
    larder__cursor cursor;
    larder__key key = {0};
    uint8_t value[4096];
    size_t size = 0;
    CHECK_OK(larder__cursor_open(txn, table, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), &test_error);
    CHECK_OK(status);
    if (status == LARDER_OK && cursor.value.size_bytes <= sizeof value) {
        larder__key_append(&key, cursor.key.data, cursor.key.size_bytes);
        size = cursor.value.size_bytes;
        if (size > 0) memcpy(value, cursor.value.data, size);
    }
    larder__cursor_close(&cursor);
    if (key.size_bytes > 0) key.bytes[key.size_bytes - 1] ^= 0x10;
    CHECK_OK(larder__table_put(txn, table, larder__key_bytes(&key), larder__bytes(value, size),
                               &test_error));
}

/* Turns over a bit of the last byte of a row's value. */
static void damage(larder_txn *txn, larder__table table, larder_bytes prefix) {
    larder__cursor cursor;
    larder__key key = {0};
    uint8_t value[4096] = {0};
    size_t size = 0;
    CHECK_OK(larder__cursor_open(txn, table, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, prefix, &test_error);
    CHECK_OK(status);
    if (status == LARDER_OK && cursor.value.size_bytes > 0 &&
        cursor.value.size_bytes <= sizeof value) {
        larder__key_append(&key, cursor.key.data, cursor.key.size_bytes);
        size = cursor.value.size_bytes;
        memcpy(value, cursor.value.data, size);
        value[size - 1] ^= 1;
    }
    larder__cursor_close(&cursor);
    CHECK(size > 0);
    CHECK_OK(larder__table_put(txn, table, larder__key_bytes(&key), larder__bytes(value, size),
                               &test_error));
}

/* ---- rows ---- */

static larder_bytes any(void) { return larder__bytes(NULL, 0); }

static void missing_stray_and_damaged_rows_are_found(void) {
    /* Where the problem shows: a row that others mention is missed there; one that only a count
     * knows of, in the catalog. */
    static const struct {
        larder__table table, missed_in, stray_in;
        bool has_values;
    } rows[] = {
        {LARDER__DOCUMENTS, LARDER__READ_TIMES, LARDER__DOCUMENTS, true},
        {LARDER__READ_TIMES, LARDER__DOCUMENTS, LARDER__READ_TIMES, false},
        {LARDER__LRU, LARDER__CATALOG, LARDER__CATALOG, true},
        {LARDER__MUTATIONS, LARDER__MUTATION_DOCUMENTS, LARDER__MUTATIONS, true},
        {LARDER__MUTATION_DOCUMENTS, LARDER__MUTATIONS, LARDER__MUTATION_DOCUMENTS, false},
        {LARDER__OVERLAYS, LARDER__OVERLAY_BATCHES, LARDER__OVERLAYS, true},
        {LARDER__OVERLAY_BATCHES, LARDER__OVERLAYS, LARDER__OVERLAY_BATCHES, false},
        {LARDER__TARGETS, LARDER__TARGET_DOCUMENTS, LARDER__TARGETS, true},
        {LARDER__TARGET_DOCUMENTS, LARDER__TARGETS, LARDER__TARGET_DOCUMENTS, false},
        {LARDER__DOCUMENT_TARGETS, LARDER__TARGET_DOCUMENTS, LARDER__CATALOG, false},
        {LARDER__INDEX_ENTRIES, LARDER__CATALOG, LARDER__CATALOG, false},
        {LARDER__OVERLAY_ENTRIES, LARDER__CATALOG, LARDER__CATALOG, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int how = 0; how < 3; how++) {
            /* The log has no checksum: damage there is another row, or nothing. */
            if (how == 2 && (!rows[i].has_values || rows[i].table == LARDER__LRU)) continue;
            larder_env *env = open_filled();
            larder_txn *txn = store_write(env);
            if (how == 0) remove_first(txn, rows[i].table);
            if (how == 1) add_stray(txn, rows[i].table);
            if (how == 2) damage(txn, rows[i].table, any());
            store_commit(txn);
            problems found = {0};
            larder_check_report report;
            CHECK_STATUS(check(env, &found, &report), LARDER_E_CORRUPT);
            CHECK_EQ(report.problem_count, found.count);
            larder__table expected = how == 0   ? rows[i].missed_in
                                     : how == 1 ? rows[i].stray_in
                                                : rows[i].table;
            CHECK_NOTE(found.in_table[expected], "table %s, way %d: reported \"%s\", not in %s",
                       larder__table_names[rows[i].table], how, found.first,
                       larder__table_names[expected]);
            store_close(env);
        }
}

static void every_row_of_the_catalog_is_checked(void) {
    /* By kind: collections by path and number, groups, members, users both ways, shapes both ways,
     * an index, a queue, a canonical id's count of documents. */
    static const char kinds[] = {'c', 'd', 'e', 'f', 'h', 'i', 'j', 'k', 'm', 'o', 'q'};
    for (size_t i = 0; i < sizeof kinds; i++)
        for (int is_missing = 0; is_missing < 2; is_missing++) {
            larder_env *env = open_filled();
            larder_txn *txn = store_write(env);
            larder_bytes prefix = larder__bytes(&kinds[i], 1);
            if (!is_missing) {
                damage(txn, LARDER__CATALOG, prefix);
            } else {
                larder__cursor cursor;
                larder__key key = {0};
                CHECK_OK(larder__cursor_open(txn, LARDER__CATALOG, &cursor, &test_error));
                CHECK_OK(larder__cursor_seek(&cursor, prefix, &test_error));
                CHECK(larder__begin(cursor.key)[0] == (uint8_t)kinds[i]);
                larder__key_append(&key, cursor.key.data, cursor.key.size_bytes);
                larder__cursor_close(&cursor);
                CHECK_OK(larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key),
                                              &test_error));
            }
            store_commit(txn);
            problems found = {0};
            larder_check_report report;
            CHECK_NOTE(check(env, &found, &report) == LARDER_E_CORRUPT, "kind %c, missing %d",
                       kinds[i], is_missing);
            store_close(env);
        }
}

/* Rows of the catalog that lead from a name to a number, sound but with another number. */
static void names_that_lead_to_another_number_are_found(void) {
    static const struct {
        const char *key;
        size_t key_bytes;
        const char *text;
    } rows[] = {{"cc\0\1", 4, ""}, {"ec", 2, "c"}, {"f\1c\0\1", 5, "c"}, {"hada", 4, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        larder_env *env = open_filled();
        larder_txn *txn = store_write(env);
        larder_bytes key = larder__bytes(rows[i].key, rows[i].key_bytes), known;
        larder_bytes parts[2] = {TEST_BYTES("\x63"), test_text(rows[i].text)};
        CHECK_OK(larder__table_get(txn, LARDER__CATALOG, key, &known, &test_error));
        CHECK_OK(larder__table_put_sealed(txn, LARDER__CATALOG, key, parts, 2, &test_error));
        store_commit(txn);
        problems found = {0};
        larder_check_report report;
        CHECK_NOTE(check(env, &found, &report) == LARDER_E_CORRUPT, "row %zu", i);
        CHECK(found.in_table[LARDER__CATALOG]);
        store_close(env);
    }
}

/* ---- counters ---- */

static void every_counter_is_compared_with_its_rows(void) {
    enum { FIELDS = 9 + 2 * LARDER__CATEGORY_COUNT };
    for (int field = 0; field < FIELDS; field++) {
        larder_env *env = open_filled();
        larder_txn *txn = store_write(env);
        larder__counters *c = &txn->counters;
        int64_t *const fields[9] = {
            &c->found_count,         &c->absent_count,     &c->raw_record_bytes,
            &c->stored_record_bytes, &c->collection_count, &c->pending_batch_count,
            &c->lru_entry_count,     &c->shape_bytes,      &c->usage[0].size_bytes};
        larder_usage *usage = &c->usage[field >= 9 ? (field - 9) / 2 : 0];
        int64_t *counter = field < 9        ? fields[field]
                           : field % 2 == 0 ? &usage->size_bytes
                                            : &usage->row_count;
        *counter += 1;
        txn->changed = true;
        store_commit(txn);
        problems found = {0};
        larder_check_report report;
        CHECK_NOTE(check(env, &found, &report) == LARDER_E_CORRUPT, "counter %d", field);
        CHECK_EQ(found.count, 1);
        CHECK(found.in_table[LARDER__CATALOG]);
        store_close(env);
    }
}

static void counts_of_collections_targets_and_dictionaries_are_compared(void) {
    for (int what = 0; what < 4; what++) {
        larder_env *env = open_filled();
        larder_txn *txn = store_write(env);
        larder__key key = {0};
        if (what == 0) CHECK_OK(larder__collection_count(txn, 1, 1, 0, &test_error));
        if (what == 1) CHECK_OK(larder__collection_count(txn, 1, 0, 1, &test_error));
        if (what == 2) {
            larder__key_byte(&key, LARDER__KIND_TARGET_COUNT);
            larder__key_number(&key, 7);
            CHECK_OK(larder__table_put_count(txn, larder__key_bytes(&key), 2, &test_error));
        }
        if (what == 3) { /* a dictionary of which 5 records are said to need it */
            larder_bytes row = TEST_BYTES("\5\0\0\0\0\0\0\0content");
            key = larder__dictionary_key(9);
            CHECK_OK(larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &row,
                                              1, &test_error));
        }
        txn->changed = true;
        store_commit(txn);
        problems found = {0};
        larder_check_report report;
        CHECK_NOTE(check(env, &found, &report) == LARDER_E_CORRUPT, "count %d", what);
        store_close(env);
    }
}

/* ---- the call ---- */

static int32_t count_rows(void *context, int64_t done, int64_t total) {
    int64_t *last = context;
    CHECK(done > *last && done <= total);
    *last = done;
    return 0;
}

static int32_t stop_rows(void *context, int64_t done, int64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 1;
}

static void a_sound_store_is_reported_by_the_numbers(void) {
    larder_env *env = open_filled();
    problems found = {0};
    larder_check_report report;
    CHECK_OK(check(env, &found, &report));
    CHECK_EQ(found.count, 0);
    CHECK_EQ(report.problem_count, 0);
    CHECK_EQ(report.document_count, 3);
    CHECK_EQ(report.index_entry_count, 3); /* two documents, one overlay */
    larder_stat stat = store_stat(env);
    int64_t rows = stat.documents.row_count + stat.overlays.row_count + stat.mutations.row_count +
                   stat.indexes.row_count + stat.targets.row_count + stat.catalog.row_count;
    CHECK_EQ(report.row_count, rows + 1); /* the format row is not counted */
    CHECK_EQ(stat.nodes.row_count, 0);
    store_close(env);
}

static void callbacks_stop_the_check(void) {
    larder_env *env = open_filled();
    larder_txn *txn = store_write(env);
    char name[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "d/%04d", i);
        kit_put(txn, name, "n=1");
    }
    remove_first(txn, LARDER__READ_TIMES);
    remove_first(txn, LARDER__READ_TIMES);
    store_commit(txn);
    problems found = {.stop_at = 1};
    larder_check_report report;
    CHECK_STATUS(check(env, &found, &report), LARDER_STOPPED);
    CHECK_EQ(found.count, 1);
    const larder_txn *read = store_read(env);
    int64_t last = 0;
    CHECK_STATUS(larder_check(read, NULL, count_rows, &last, &report, NULL), LARDER_E_CORRUPT);
    CHECK(last > 3000);
    CHECK_STATUS(larder_check(read, NULL, stop_rows, NULL, &report, NULL), LARDER_STOPPED);
    larder_txn_end_read(read);
    store_close(env);
}

static void a_transaction_with_changes_is_refused(void) {
    larder_env *env = open_filled();
    larder_check_report report = {.struct_bytes = sizeof report};
    larder_txn *txn = store_write(env);
    CHECK_OK(larder_check(txn, NULL, NULL, NULL, &report, &test_error));
    kit_put(txn, "c/new", "n=1");
    CHECK_STATUS(larder_check(txn, NULL, NULL, NULL, &report, NULL), LARDER_E_INVALID_ARGUMENT);
    larder_txn_abort(txn);
    report.struct_bytes = 0;
    const larder_txn *read = store_read(env);
    CHECK_STATUS(larder_check(read, NULL, NULL, NULL, &report, NULL), LARDER_E_INVALID_ARGUMENT);
    larder_txn_end_read(read);
    store_close(env);
}

static const test_case cases[] = {
    {"missing, stray and damaged rows are found", missing_stray_and_damaged_rows_are_found},
    {"every row of the catalog is checked", every_row_of_the_catalog_is_checked},
    {"names that lead to another number are found", names_that_lead_to_another_number_are_found},
    {"every counter is compared with its rows", every_counter_is_compared_with_its_rows},
    {"counts of collections, targets and dictionaries are compared",
     counts_of_collections_targets_and_dictionaries_are_compared},
    {"a sound store is reported by the numbers", a_sound_store_is_reported_by_the_numbers},
    {"callbacks stop the check", callbacks_stop_the_check},
    {"a transaction with changes is refused", a_transaction_with_changes_is_refused},
};
TEST_SUITE(check, cases);

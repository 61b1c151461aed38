/*
 * check.c - verifies a snapshot: every row by itself, every mention against what it mentions,
 * every counter against its sum.
 *
 *   check.c           the walk over the tables, reporting, the counters
 *   check_rows.c      documents, read times, LRU log, overlays, mutations, targets, catalog
 *   check_index.c     index entries
 *   check_nodes.c     rows of trees
 *   check_queries.c   trees, tracked queries, pending writes of trees
 *
 * Where two tables mirror each other, each row of one is looked for in the other and the row
 * counts are compared, so that neither can hold more.
 */
#include "check.h"
#include "store/catalog.h"

#include <stdarg.h>
#include <stdio.h>

#define PROGRESS_ROWS 1024

int32_t larder__audit_report(larder__audit *c, larder__table table, larder_bytes key,
                             const char *format, ...) {
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    c->report->problem_count++;
    if (c->problem == NULL || c->problem(c->context, larder__table_names[table], key, message) == 0)
        return LARDER_OK;
    return larder__fail(c->error, LARDER_STOPPED, "stopped by the caller");
}

int32_t larder__audit_damage(larder__audit *c, larder__table table, larder_bytes key,
                             int32_t status, const larder_error *error) {
    if (status == LARDER_E_CORRUPT || status == LARDER_E_NO_DICTIONARY ||
        status == LARDER_E_INVALID_RECORD || status == LARDER_E_TOO_DEEP ||
        status == LARDER_E_TOO_LARGE)
        return larder__audit_report(c, table, key, "%s", error->message);
    if (status < 0 && c->error != NULL) *c->error = *error;
    return status;
}

int32_t larder__audit_mention(larder__audit *c, larder__table from, larder_bytes from_key,
                              larder__table table, const larder__key *key) {
    larder_bytes value;
    larder_error error = {0};
    int32_t status = larder__table_get(c->txn, table, larder__key_bytes(key), &value, &error);
    if (status == LARDER_NOT_FOUND)
        return larder__audit_report(c, from, from_key, "its row in table %s is missing",
                                    larder__table_names[table]);
    return larder__audit_damage(c, from, from_key, status, &error);
}

bool larder__audit_place(const uint8_t *at, const uint8_t *end, uint64_t *collection,
                         larder_bytes *id) {
    if (!larder__key_read_number(&at, end, collection) || at >= end) return false;
    *id = larder__bytes(at, (size_t)(end - at));
    return id->size_bytes <= LARDER__ID_MAX;
}

typedef int32_t (*row_check)(larder__audit *, larder_bytes, larder_bytes);
static const row_check row_checks[LARDER__TABLE_COUNT] = {
    [LARDER__CATALOG] = larder__audit_catalog,
    [LARDER__DOCUMENTS] = larder__audit_document,
    [LARDER__READ_TIMES] = larder__audit_read_time,
    [LARDER__LRU] = larder__audit_lru,
    [LARDER__MUTATIONS] = larder__audit_mutation,
    [LARDER__MUTATION_DOCUMENTS] = larder__audit_mutation_document,
    [LARDER__OVERLAYS] = larder__audit_overlay,
    [LARDER__OVERLAY_BATCHES] = larder__audit_overlay_batch,
    [LARDER__TARGETS] = larder__audit_target,
    [LARDER__TARGET_DOCUMENTS] = larder__audit_target_document,
    [LARDER__DOCUMENT_TARGETS] = larder__audit_document_target,
    [LARDER__INDEX_ENTRIES] = larder__audit_index_entry,
    [LARDER__OVERLAY_ENTRIES] = larder__audit_overlay_entry,
    [LARDER__NODES] = larder__audit_node,
    [LARDER__NODE_QUERIES] = larder__audit_node_query,
    [LARDER__NODE_WRITES] = larder__audit_node_write,
};

static int32_t walk_table(larder__audit *c, larder__table table) {
    larder__cursor cursor;
    larder_usage *usage = &c->usage[larder__table_categories[table]];
    int32_t status = larder__cursor_open(c->txn, table, &cursor, c->error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), c->error);
         status == LARDER_OK; status = larder__cursor_next(&cursor, c->error)) {
        bool is_format = table == LARDER__CATALOG && cursor.key.size_bytes == 1 &&
                         larder__begin(cursor.key)[0] == LARDER__KIND_FORMAT;
        if (!is_format) { /* written before there are counters */
            usage->row_count++;
            usage->size_bytes += larder__row_cost(cursor.key.size_bytes, cursor.value.size_bytes);
        }
        c->rows[table]++;
        status = row_checks[table](c, cursor.key, cursor.value);
        if (status != LARDER_OK) break;
        if (++c->report->row_count % PROGRESS_ROWS == 0 && c->progress != NULL &&
            c->progress(c->context, c->report->row_count, c->row_total) != 0) {
            status = larder__fail(c->error, LARDER_STOPPED, "stopped by the caller");
            break;
        }
    }
    larder__cursor_close(&cursor);
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t compare(larder__audit *c, const char *what, int64_t counted, int64_t sum) {
    if (counted == sum) return LARDER_OK;
    static const uint8_t counters[1] = {LARDER__KIND_COUNTERS};
    return larder__audit_report(c, LARDER__CATALOG, larder__bytes(counters, 1),
                                "%s: the counter says %lld, the rows %lld", what,
                                (long long)counted, (long long)sum);
}

static int32_t compare_usage(larder__audit *c) {
    static const char *const names[LARDER__CATEGORY_COUNT] = {
        [LARDER__COUNT_DOCUMENTS] = "documents", [LARDER__COUNT_OVERLAYS] = "overlays",
        [LARDER__COUNT_MUTATIONS] = "mutations", [LARDER__COUNT_INDEXES] = "indexes",
        [LARDER__COUNT_TARGETS] = "targets",     [LARDER__COUNT_NODES] = "nodes",
        [LARDER__COUNT_CATALOG] = "catalog",
    };
    char what[64];
    int32_t status = LARDER_OK;
    for (int i = 0; i < LARDER__CATEGORY_COUNT && status == LARDER_OK; i++) {
        snprintf(what, sizeof what, "rows of %s", names[i]);
        status = compare(c, what, c->counters->usage[i].row_count, c->usage[i].row_count);
        snprintf(what, sizeof what, "bytes of %s", names[i]);
        if (status == LARDER_OK)
            status = compare(c, what, c->counters->usage[i].size_bytes, c->usage[i].size_bytes);
    }
    return status;
}

static int32_t compare_dictionaries(larder__audit *c) {
    char what[64];
    int32_t status = LARDER_OK;
    for (uint32_t id = 1; id < LARDER__DICTIONARY_MAX && status == LARDER_OK; id++) {
        int64_t record_count;
        larder_bytes content;
        status = larder__dictionary_row(c->txn, id, &record_count, &content, NULL);
        if (status == LARDER_NOT_FOUND || status == LARDER_E_CORRUPT) {
            status = LARDER_OK; /* damage was reported with its row */
            continue;
        }
        if (status != LARDER_OK) return status;
        snprintf(what, sizeof what, "records of dictionary %u", id);
        status = compare(c, what, record_count + larder__dictionary_delta(c->txn, id),
                         c->dictionary_uses[id]);
    }
    return status;
}

/* Mirrors and totals, once every row was seen. */
static int32_t compare_totals(larder__audit *c) {
    const larder__counters *k = c->counters;
    int64_t documents = c->documents.found_count + c->documents.absent_count;
    const struct {
        const char *what;
        int64_t counted, sum;
    } pairs[] = {
        {"found documents", k->found_count, c->documents.found_count},
        {"absent documents", k->absent_count, c->documents.absent_count},
        {"raw record bytes", k->raw_record_bytes, c->documents.raw_bytes},
        {"stored record bytes", k->stored_record_bytes, c->documents.stored_bytes},
        {"collections", k->collection_count, c->collection_rows},
        {"documents of collections", c->collection_found, c->documents.found_count},
        {"bytes of collections", c->collection_bytes, c->documents.cost_bytes},
        {"pending batches", k->pending_batch_count, c->rows[LARDER__MUTATIONS]},
        {"batches of queues", c->queue_total, c->rows[LARDER__MUTATIONS]},
        {"read times beside documents", documents, c->rows[LARDER__READ_TIMES]},
        {"documents, targets and tracked queries in the LRU log",
         documents + c->rows[LARDER__TARGETS] + c->rows[LARDER__NODE_QUERIES],
         (int64_t)larder__items_count(&c->current)},
        {"entries of the LRU log", k->lru_entry_count, c->lru_entries},
        {"overlays by batch", c->rows[LARDER__OVERLAYS], c->rows[LARDER__OVERLAY_BATCHES]},
        {"targets by document", c->rows[LARDER__TARGET_DOCUMENTS],
         c->rows[LARDER__DOCUMENT_TARGETS]},
        {"bytes of shapes", k->shape_bytes, c->shape_bytes},
        {"shapes by content", c->catalog_rows[LARDER__KIND_SHAPE],
         c->catalog_rows[LARDER__KIND_SHAPE_HASH]},
        {"collections by path", c->collection_rows, c->catalog_rows[LARDER__KIND_COLLECTION_PATH]},
        {"collections by group", c->collection_rows, c->catalog_rows[LARDER__KIND_GROUP_MEMBER]},
        {"tracked queries", k->query_count, c->rows[LARDER__NODE_QUERIES]},
        {"trees by name", c->catalog_rows[LARDER__KIND_TREE_NUMBER],
         c->catalog_rows[LARDER__KIND_TREE]},
        {"users by name", c->catalog_rows[LARDER__KIND_USER_NUMBER],
         c->catalog_rows[LARDER__KIND_USER]},
    };
    int32_t status = LARDER_OK;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && status == LARDER_OK; i++)
        status = compare(c, pairs[i].what, pairs[i].counted, pairs[i].sum);
    return status;
}

static int32_t run(larder__audit *c) {
    static const larder__table order[LARDER__TABLE_COUNT] = {
        LARDER__CATALOG,          LARDER__DOCUMENTS,
        LARDER__READ_TIMES,       LARDER__LRU,
        LARDER__MUTATIONS,        LARDER__MUTATION_DOCUMENTS,
        LARDER__OVERLAYS,         LARDER__OVERLAY_BATCHES,
        LARDER__TARGETS,          LARDER__TARGET_DOCUMENTS,
        LARDER__DOCUMENT_TARGETS, LARDER__INDEX_ENTRIES,
        LARDER__OVERLAY_ENTRIES,  LARDER__NODES,
        LARDER__NODE_QUERIES,     LARDER__NODE_WRITES,
    };
    int32_t status = larder__audit_index_begin(c);
    for (int i = 0; i < LARDER__TABLE_COUNT && status == LARDER_OK; i++)
        status = walk_table(c, order[i]);
    if (status == LARDER_OK) status = larder__audit_collection_end(c);
    if (status == LARDER_OK) status = larder__audit_queue_end(c);
    if (status == LARDER_OK) status = larder__audit_nodes_end(c);
    if (status == LARDER_OK) status = larder__audit_queries_end(c);
    if (status == LARDER_OK && !larder__items_sort(&c->current, 0))
        status = larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check the LRU log");
    if (status == LARDER_OK) status = compare_totals(c);
    if (status == LARDER_OK) status = compare_usage(c);
    if (status == LARDER_OK) status = compare_dictionaries(c);
    if (status == LARDER_OK) status = larder__audit_index_end(c);
    return status;
}

int32_t larder_check(const larder_txn *txn, larder_problem_function problem,
                     larder_progress_function progress, void *context, larder_check_report *report,
                     larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (report == NULL || report->struct_bytes < sizeof *report)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "report is NULL or its struct_bytes is not set");
    if (txn->is_write && txn->changed)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "check a read transaction: this one has changes to commit");
    larder_check_report blank = {.struct_bytes = report->struct_bytes};
    *report = blank;
    const larder_allocator *allocator = &txn->env->allocator;
    larder__audit *c = larder__allocate(allocator, sizeof *c);
    if (c == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to check");
    memset(c, 0, sizeof *c);
    larder_txn *checked = (larder_txn *)(uintptr_t)txn;
    checked->checks++;
    c->txn = txn;
    c->problem = problem;
    c->progress = progress;
    c->context = context;
    c->report = report;
    c->error = error;
    c->scratch.allocator = c->plain.allocator = allocator;
    larder__items_init(&c->current, allocator);
    larder__index_work_init(&c->work, allocator);
    larder__audit_nodes_begin(c);
    status = larder__txn_counters(txn, &c->counters, error);
    if (status == LARDER_OK) {
        for (int i = 0; i < LARDER__CATEGORY_COUNT; i++)
            c->row_total += c->counters->usage[i].row_count;
        status = run(c);
    }
    report->document_count = c->documents.found_count + c->documents.absent_count;
    report->index_entry_count = c->rows[LARDER__INDEX_ENTRIES] + c->rows[LARDER__OVERLAY_ENTRIES];
    report->node_row_count = c->rows[LARDER__NODES];
    report->node_write_count = c->rows[LARDER__NODE_WRITES];
    larder__audit_index_free(c);
    larder__audit_nodes_free(c);
    larder__index_work_free(&c->work);
    larder__items_free(&c->current);
    larder__buffer_free(&c->scratch);
    larder__buffer_free(&c->plain);
    larder__release(allocator, c);
    checked->checks--;
    if (status == LARDER_OK && report->problem_count > 0)
        return larder__fail(error, LARDER_E_CORRUPT, "%lld problems in the store",
                            (long long)report->problem_count);
    return status;
}

/* mirror_verify.c - compares a store with the mirror, table by table. */
#include "mirror_checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters ---- */

static void check_stat(checker *c) {
    larder_stat stat = {.struct_bytes = sizeof stat};
    int32_t status = MIRROR_CALL(larder_env_stat(c->txn, &stat, &c->error));
    if (!checker_expect(c, status, LARDER_OK, "env_stat", 0)) return;
    int64_t found = 0, absent = 0, pending = 0, raw = 0, stored = 0, overlays = 0, node_writes = 0;
    for (int name = 0; name < MIRROR_NAMES; name++) {
        const mirror_document *d = &c->m->documents[name];
        found += d->state == LARDER_DOCUMENT_FOUND;
        absent += d->state != 0 && d->state != LARDER_DOCUMENT_FOUND;
        larder_document document;
        if (d->state == LARDER_DOCUMENT_FOUND &&
            checker_expect(
                c,
                MIRROR_CALL(larder_document_get(c->txn, mirror_name(name), &document, &c->error)),
                LARDER_OK, "document_get", name)) {
            raw += (int64_t)(document.record.names.size_bytes + document.record.values.size_bytes +
                             document.record.cold_raw_bytes);
            stored += document.stored_bytes;
        }
        for (int user = 0; user < MIRROR_USERS; user++)
            overlays += c->m->overlays[user][name].present;
    }
    for (int b = 0; b < MIRROR_BATCHES; b++)
        pending += c->m->batches[b].present;
    for (int w = 0; w < MIRROR_NODE_WRITES; w++)
        node_writes += c->m->node_writes[w] != NULL;
    checker_require(c, stat.document_count == found, "stat: document count",
                    (int)stat.document_count);
    checker_require(c, stat.absent_count == absent, "stat: absent count", (int)stat.absent_count);
    checker_require(c, stat.pending_batch_count == pending, "stat: pending batches",
                    (int)stat.pending_batch_count);
    checker_require(c, stat.raw_record_bytes == raw, "stat: raw record bytes",
                    (int)stat.raw_record_bytes);
    checker_require(c, stat.stored_record_bytes == stored, "stat: stored record bytes",
                    (int)stat.stored_record_bytes);
    checker_require(c, (stat.overlays.row_count > 0) == (overlays > 0), "stat: overlay rows",
                    (int)stat.overlays.row_count);
    checker_require(c, (stat.mutations.row_count > 0) == (pending + node_writes > 0),
                    "stat: mutation rows", (int)stat.mutations.row_count);
    checker_require(c, stat.documents.row_count >= found + absent, "stat: document rows",
                    (int)stat.documents.row_count);
    checker_require(c,
                    stat.total_bytes == stat.documents.size_bytes + stat.overlays.size_bytes +
                                            stat.mutations.size_bytes + stat.indexes.size_bytes +
                                            stat.targets.size_bytes + stat.nodes.size_bytes +
                                            stat.catalog.size_bytes,
                    "stat: total bytes", (int)stat.total_bytes);
    checker_require(c, stat.format_version == larder_format_version(), "stat: format",
                    (int)stat.format_version);
}

static void check_nodes(checker *c) {
    if (checker_expect(c, mirror_nodes_verify(c->m, c->txn, &c->error), LARDER_OK, "nodes", 0))
        checker_expect(c, mirror_cache_verify(c->m, c->txn, &c->error), LARDER_OK, "cached nodes",
                       0);
}

int32_t mirror_verify(const mirror *m, const larder_txn *txn, const mirror_profile *profile) {
    checker *c = malloc(sizeof *c);
    if (!c) abort();
    c->m = m;
    c->txn = txn;
    c->profile = profile;
    c->options = NULL;
    c->random = mirror_random_from(m->sequence, 77);
    c->status = 0;
    memset(&c->error, 0, sizeof c->error);
    void (*const parts[])(checker *) = {mirror_check_documents,
                                        mirror_check_collections,
                                        mirror_check_mutations,
                                        mirror_check_overlays,
                                        mirror_check_targets,
                                        mirror_check_named,
                                        mirror_check_indexes,
                                        check_nodes,
                                        check_stat,
                                        mirror_check_scans};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && c->status == 0; i++)
        parts[i](c);
    int32_t status = c->status;
    free(c);
    return status;
}

/* ---- eviction ---- */

void mirror_reconcile(mirror *m, const larder_txn *txn) {
    bool pinned[MIRROR_NAMES] = {false};
    mirror_cache_reconcile(m, txn);
    for (int t = 0; t < MIRROR_TARGETS; t++) {
        mirror_target *target = &m->targets[t];
        if (!target->present) continue;
        larder_target stored = {.struct_bytes = sizeof stored};
        int32_t status = larder_target_get(txn, mirror_target_id(t), &stored, NULL);
        if (status == LARDER_NOT_FOUND) {
            if (m->target_pins[t] > 0) mirror_problem("pinned target %d was evicted", t);
            mirror_blob_release(target->resume_token);
            mirror_blob_release(target->query);
            memset(target, 0, sizeof *target);
            continue;
        }
        bool held[MIRROR_NAMES] = {false};
        larder_scan_options options;
        larder_scan_options_init(&options, sizeof options);
        options.flags = LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES;
        larder_scan *scan;
        larder_document document;
        if (status != LARDER_OK ||
            larder_target_scan(txn, mirror_target_id(t), &options, &scan, NULL) != LARDER_OK) {
            mirror_problem("target %d cannot be read", t);
            continue;
        }
        while (larder_scan_next(scan, &document, NULL) == LARDER_OK) {
            int name = checker_name_of(&document);
            if (name >= 0) held[name] = true;
        }
        larder_scan_close(scan);
        for (int name = 0; name < MIRROR_NAMES; name++) {
            if (target->members[name] && !held[name]) target->members[name] = false;
            if (target->members[name] && m->target_pins[t] > 0) pinned[name] = true;
        }
    }
    for (int name = 0; name < MIRROR_NAMES; name++) {
        mirror_document *d = &m->documents[name];
        larder_document document;
        if (d->state == 0 ||
            larder_document_get(txn, mirror_name(name), &document, NULL) != LARDER_NOT_FOUND)
            continue;
        if (d->held) mirror_problem("document %d was evicted under a pending mutation", name);
        if (m->pins[name] > 0) mirror_problem("pinned document %d was evicted", name);
        if (pinned[name]) mirror_problem("document %d of a pinned target was evicted", name);
        mirror_blob_release(d->plain);
        memset(d, 0, sizeof *d);
    }
}

/* ---- check ---- */

static int32_t report_problem(void *context, const char *table, larder_bytes key,
                              const char *message) {
    (void)context;
    char hex[129] = "";
    const uint8_t *bytes = key.data;
    for (size_t i = 0; i < key.size_bytes && i < 64; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    mirror_problem("check: %s %s: %s", table, hex, message);
    return 0;
}

int32_t mirror_check(const larder_txn *txn) {
    larder_check_report report = {.struct_bytes = sizeof report};
    larder_error error = {0};
    int32_t status = MIRROR_CALL(larder_check(txn, report_problem, NULL, NULL, &report, &error));
    if (status != LARDER_OK && report.problem_count == 0)
        mirror_problem("check ended with %s: %s", larder_status_name(status), error.message);
    return status;
}

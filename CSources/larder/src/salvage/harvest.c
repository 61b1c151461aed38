/* harvest.c - gathered rows, and which keys are known to be lost (harvest.h). */
#include "harvest.h"

#include "store/catalog.h"
#include "store/file.h"

#include <errno.h>
#include <stdio.h>

#define ROWS_A_COMMIT 20000
#define READERS 126 /* LMDB's default: none is needed */
#define MORE_TABLES 4

/* ---- failures, progress ---- */

void larder__harvest_fail(larder__harvest *h, int code, const char *doing) {
    if (h->status == LARDER_OK) h->status = larder__fail_mdb(&h->error, code, doing);
}

void larder__harvest_fail_memory(larder__harvest *h) {
    if (h->status == LARDER_OK)
        h->status = larder__fail(&h->error, LARDER_E_NO_MEMORY, "no memory to salvage rows");
}

void larder__harvest_report(larder__harvest *h, uint64_t bytes) {
    h->done_bytes += (int64_t)bytes;
    if (h->done_bytes > h->total_bytes) h->done_bytes = h->total_bytes;
    if (h->progress != NULL && h->status == LARDER_OK &&
        h->progress(h->context, h->done_bytes, h->total_bytes) != 0)
        h->status = larder__fail(&h->error, LARDER_STOPPED, "stopped by the caller");
}

/* ---- the gathered rows ---- */

static MDB_val as_val(larder_bytes bytes) {
    MDB_val val = {bytes.size_bytes, (void *)(uintptr_t)bytes.data};
    return val;
}

/* A key of the tables beside a store's. A key is 511 bytes at most, and LMDB takes no more. */
typedef struct table_key {
    uint8_t bytes[LARDER__KEY_MAX];
    MDB_val val;
} table_key;

static bool make_key(table_key *out, larder__table table, larder_bytes key) {
    uint8_t hash[16];
    out->bytes[0] = (uint8_t)table;
    larder_bytes kept = key;
    if (key.size_bytes > LARDER__KEY_MAX - 1) { /* its hash stands for it */
        larder__hash128(key, hash);
        kept = larder__bytes(hash, sizeof hash);
    }
    memcpy(out->bytes + 1, kept.data, kept.size_bytes);
    out->val = (MDB_val){kept.size_bytes + 1, out->bytes};
    return key.size_bytes > 0;
}

static int open_table(larder__harvest *h, const char *name, MDB_dbi *dbi) {
    return mdb_dbi_open(h->txn, name, MDB_CREATE, dbi);
}

static int open_tables(larder__harvest *h) {
    int code = 0;
    for (int t = 0; t < LARDER__TABLE_COUNT && code == 0; t++)
        code = open_table(h, larder__table_names[t], &h->tables[t]);
    if (code == 0) code = open_table(h, "salvage_removed", &h->removed);
    if (code == 0) code = open_table(h, LARDER__GUESSED_TABLE, &h->guessed);
    if (code == 0) code = open_table(h, "salvage_missed", &h->missed);
    if (code == 0) code = open_table(h, "salvage_highest", &h->highest);
    return code;
}

/* The row by which a directory is a store's, of the format that has no log. */
static int put_format(larder__harvest *h) {
    uint8_t kind = LARDER__KIND_FORMAT, format[LARDER__FORMAT_AT + 4] = "larder";
    larder__store32(format + LARDER__FORMAT_AT, LARDER__FORMAT_WITHOUT_LOG);
    MDB_val key = {1, &kind}, value = {sizeof format, format};
    return mdb_put(h->txn, h->tables[LARDER__CATALOG], &key, &value, 0);
}

static void open_rows(larder__harvest *h, const char *into) {
    /* Whatever is gathered was in the files; pages that are half full take twice that. */
    uint64_t bytes = 4 * (h->pages.file_bytes + h->log.bytes.size_bytes) + (UINT64_C(64) << 20);
    h->status = larder__file_allocate_readers(into, READERS, &h->error);
    if (h->status != LARDER_OK) return;
    int code = mdb_env_create(&h->mdb);
    if (code == 0) code = mdb_env_set_mapsize(h->mdb, bytes);
    if (code == 0) code = mdb_env_set_maxdbs(h->mdb, LARDER__TABLE_COUNT + MORE_TABLES);
    if (code == 0) code = mdb_env_open(h->mdb, into, MDB_NOSYNC | MDB_NOTLS, 0644);
    if (code == 0) code = mdb_txn_begin(h->mdb, NULL, 0, &h->txn);
    if (code == 0) code = open_tables(h);
    if (code == 0) code = put_format(h);
    if (code != 0) larder__harvest_fail(h, code, "making a place for salvaged rows");
}

void larder__harvest_commit(larder__harvest *h) {
    if (h->txn == NULL) return;
    int code = mdb_txn_commit(h->txn);
    h->txn = NULL;
    h->waiting = 0;
    if (code == 0) code = mdb_txn_begin(h->mdb, NULL, 0, &h->txn);
    if (code != 0) {
        h->txn = NULL;
        larder__harvest_fail(h, code, "keeping salvaged rows");
    }
}

static bool is_in(MDB_txn *txn, MDB_dbi dbi, larder__table table, larder_bytes key) {
    table_key named;
    MDB_val value;
    return txn != NULL && make_key(&named, table, key) &&
           mdb_get(txn, dbi, &named.val, &value) == 0;
}

static void add_to(larder__harvest *h, MDB_dbi dbi, larder__table table, larder_bytes key) {
    table_key named;
    MDB_val value = {0, NULL};
    if (h->txn == NULL || !make_key(&named, table, key)) return;
    int code = mdb_put(h->txn, dbi, &named.val, &value, 0);
    if (code != 0) larder__harvest_fail(h, code, "keeping salvaged rows");
}

bool larder__harvest_has(larder__harvest *h, larder__table table, larder_bytes key) {
    MDB_val k = as_val(key), value;
    return h->txn != NULL && key.size_bytes > 0 &&
           mdb_get(h->txn, h->tables[table], &k, &value) == 0;
}

bool larder__harvest_is_guessed(const larder__harvest *h, MDB_txn *txn, MDB_dbi guessed,
                                larder__table table, larder_bytes key) {
    return h->guessed_count[table] > 0 && is_in(txn, guessed, table, key);
}

bool larder__harvest_is_whole(const larder__harvest *h, larder__table table) {
    const larder__lost_keys *lost = &h->lost[table];
    return h->has_base && !lost->is_all && lost->ranges.size_bytes == 0 &&
           h->guessed_count[table] == 0 && h->damaged_count[table] == 0 &&
           h->damaged_record_count == 0;
}

/* ---- what is lost ---- */

typedef struct lost_range {
    uint32_t at; /* of its keys: low, high */
    uint16_t low_bytes, high_bytes;
    bool has_high;
} lost_range;

static lost_range range_at(const larder__lost_keys *lost, size_t i) {
    lost_range range;
    memcpy(&range, lost->ranges.data + i * sizeof range, sizeof range);
    return range;
}

static larder_bytes low_of(const larder__lost_keys *lost, lost_range range) {
    return larder__bytes(lost->keys.data + range.at, range.low_bytes);
}

static bool is_below_end(const larder__lost_keys *lost, lost_range range, larder_bytes key) {
    const uint8_t *high = lost->keys.data + range.at + range.low_bytes;
    return !range.has_high || larder__bytes_compare(key, larder__bytes(high, range.high_bytes)) < 0;
}

void larder__harvest_lose(larder__harvest *h, larder__table table, larder_bytes low,
                          const larder_bytes *high) {
    larder__lost_keys *lost = &h->lost[table];
    if (lost->is_all || !larder__evidence_is_wanted(table)) return;
    lost_range range = {.at = (uint32_t)lost->keys.size_bytes,
                        .low_bytes = (uint16_t)low.size_bytes,
                        .high_bytes = high != NULL ? (uint16_t)high->size_bytes : 0,
                        .has_high = high != NULL};
    if (lost->keys.size_bytes > (UINT32_MAX >> 1)) { /* no store has so many damaged pages */
        lost->is_all = true;
        return;
    }
    size_t count = lost->ranges.size_bytes / sizeof range;
    if (count > 0 && larder__bytes_compare(low, low_of(lost, range_at(lost, count - 1))) < 0)
        lost->is_unordered = true;
    if (!larder__buffer_append(&lost->keys, low.data, low.size_bytes) ||
        (high != NULL && !larder__buffer_append(&lost->keys, high->data, high->size_bytes)) ||
        !larder__buffer_append(&lost->ranges, &range, sizeof range))
        larder__harvest_fail_memory(h);
}

void larder__harvest_lose_all(larder__harvest *h, larder__table table) {
    h->lost[table].is_all = true;
}

static bool has_lost(const larder__lost_keys *lost, larder_bytes key) {
    size_t from = 0, count = lost->ranges.size_bytes / sizeof(lost_range), to = count;
    if (lost->is_all) return true;
    if (lost->is_unordered) {
        for (size_t i = 0; i < count; i++)
            if (larder__bytes_compare(low_of(lost, range_at(lost, i)), key) <= 0 &&
                is_below_end(lost, range_at(lost, i), key))
                return true;
        return false;
    }
    while (from < to) { /* the first one that begins above key */
        size_t middle = from + (to - from) / 2;
        if (larder__bytes_compare(low_of(lost, range_at(lost, middle)), key) > 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from > 0 && is_below_end(lost, range_at(lost, from - 1), key);
}

bool larder__harvest_is_lost(const larder__harvest *h, larder__table table, larder_bytes key) {
    return !h->has_base || has_lost(&h->lost[table], key);
}

/* ---- taking rows ---- */

/* Whether ids say that a row was written after the base. */
static bool is_later(larder__harvest *h, larder__table table, larder_bytes key) {
    uint64_t owner, id;
    uint8_t kind;
    if (table == LARDER__MUTATIONS)
        return larder__evidence_batch_key(key, &owner, &id) && id >= h->base_next_batch;
    if (table == LARDER__NODE_WRITES) {
        if (!larder__evidence_write_key(key, &owner, &kind, &id)) return false;
        MDB_val tree = {sizeof owner, &owner}, highest;
        /* Refused writes have the ids of pending ones. */
        return mdb_get(h->txn, h->highest, &tree, &highest) != 0 || highest.mv_size != sizeof id ||
               id > larder__load64(highest.mv_data);
    }
    /* What an application is to be told of a refused write cannot be had again either. */
    return table == LARDER__CATALOG && larder__begin(key)[0] == LARDER__KIND_NAMED &&
           key.size_bytes > 2 && larder__begin(key)[1] == LARDER_NAMED_DEAD_LETTER;
}

static bool is_allowed(larder__harvest *h, larder__table table, larder_bytes key,
                       larder__grade grade) {
    if (grade == LARDER__GRADE_SURE || larder__harvest_is_lost(h, table, key)) return true;
    if (h->has_missed && is_in(h->txn, h->missed, table, key)) return true;
    return grade == LARDER__GRADE_LATER && is_later(h, table, key);
}

/* The counts of the base that tell later ids. */
static void note_base(larder__harvest *h, larder_bytes key, larder_bytes value) {
    larder_bytes payload;
    uint8_t kind = larder__begin(key)[0];
    if ((kind != LARDER__KIND_COUNTERS && kind != LARDER__KIND_WRITE_ID) ||
        !larder__evidence_unseal(key, value, &payload))
        return;
    if (kind == LARDER__KIND_COUNTERS && payload.size_bytes == sizeof(larder__counters)) {
        larder__counters counters;
        memcpy(&counters, payload.data, sizeof counters);
        h->base_next_batch = counters.next_batch_id > 0 ? (uint64_t)counters.next_batch_id : 1;
    } else if (kind == LARDER__KIND_WRITE_ID && payload.size_bytes == sizeof(uint64_t)) {
        uint64_t tree, id = larder__load64(payload.data);
        const uint8_t *at = larder__begin(key) + 1, *end = larder__begin(key) + key.size_bytes;
        if (!larder__key_read_number(&at, end, &tree)) return;
        MDB_val k = {sizeof tree, &tree}, v = {sizeof id, &id};
        int code = mdb_put(h->txn, h->highest, &k, &v, 0);
        if (code != 0) larder__harvest_fail(h, code, "keeping salvaged rows");
    }
}

/* Of two guesses of a document the one that was read later. */
static bool is_newer(larder__harvest *h, larder__table table, larder_bytes key,
                     larder_bytes value) {
    MDB_val k = as_val(key), there;
    int32_t state;
    uint32_t epoch;
    larder_time old, new;
    return table == LARDER__DOCUMENTS &&
           larder__harvest_is_guessed(h, h->txn, h->guessed, table, key) &&
           mdb_get(h->txn, h->tables[table], &k, &there) == 0 &&
           larder__row_head(larder__bytes(there.mv_data, there.mv_size), &state, &epoch, &old) &&
           larder__row_head(value, &state, &epoch, &new) &&
           (new.seconds > old.seconds ||
            (new.seconds == old.seconds &&new.nanoseconds > old.nanoseconds));
}

void larder__harvest_take(larder__harvest *h, larder__table table, larder_bytes key,
                          larder_bytes value, larder__grade grade) {
    if (!larder__harvest_goes_on(h)) return;
    if (h->is_in_base && table == LARDER__CATALOG) note_base(h, key, value);
    if (h->has_removed && is_in(h->txn, h->removed, table, key)) return;
    if (!is_allowed(h, table, key, grade)) return;
    MDB_val k = as_val(key), v = as_val(value);
    int code = mdb_put(h->txn, h->tables[table], &k, &v, MDB_NOOVERWRITE);
    if (code == MDB_KEYEXIST && grade != LARDER__GRADE_SURE && is_newer(h, table, key, value)) {
        k = as_val(key);
        v = as_val(value);
        code = mdb_put(h->txn, h->tables[table], &k, &v, 0);
    } else if (code == 0) {
        h->row_count[table]++;
        h->gathered_bytes += key.size_bytes + value.size_bytes;
        if (grade != LARDER__GRADE_SURE) {
            h->guessed_count[table]++;
            add_to(h, h->guessed, table, key);
        }
    }
    if (code != 0 && code != MDB_KEYEXIST)
        larder__harvest_fail(h, code, "keeping salvaged rows");
    else if (++h->waiting >= ROWS_A_COMMIT)
        larder__harvest_commit(h);
}

bool larder__harvest_take_proved(larder__harvest *h, larder_bytes key, larder_bytes value,
                                 larder__grade grade) {
    larder__table table = larder__evidence_table_of(key, value);
    if (table == LARDER__TABLE_COUNT) return false;
    larder__harvest_take(h, table, key, value, grade);
    return true;
}

void larder__harvest_remove(larder__harvest *h, larder__table table, larder_bytes key) {
    if (!larder__harvest_goes_on(h) || larder__harvest_has(h, table, key)) return;
    add_to(h, h->removed, table, key);
    h->has_removed = true;
}

/* ---- batches that a document mentions and that are not there ---- */

static void miss_batch(larder__harvest *h, larder_bytes mention) {
    const uint8_t *at = larder__begin(mention), *end = at + mention.size_bytes;
    uint64_t collection, user, batch;
    larder_bytes id;
    if (!larder__key_read_number(&at, end, &collection) || !larder__key_read_idz(&at, end, &id) ||
        !larder__key_read_number(&at, end, &user) || !larder__key_read_u64(&at, end, &batch) ||
        at != end)
        return;
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, user);
    larder__key_u64(&key, batch);
    if (larder__harvest_has(h, LARDER__MUTATIONS, larder__key_bytes(&key))) return;
    add_to(h, h->missed, LARDER__MUTATIONS, larder__key_bytes(&key));
    h->has_missed = true;
}

static void miss_batches(larder__harvest *h) {
    MDB_cursor *cursor;
    MDB_val key, value;
    if (!larder__harvest_goes_on(h)) return;
    int code = mdb_cursor_open(h->txn, h->tables[LARDER__MUTATION_DOCUMENTS], &cursor);
    if (code != 0) {
        larder__harvest_fail(h, code, "reading salvaged rows");
        return;
    }
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 && larder__harvest_goes_on(h))
        miss_batch(h, larder__bytes(key.mv_data, key.mv_size));
    mdb_cursor_close(cursor);
}

/* ---- all sources in their order ---- */

static void add_root(larder__view_root *list, size_t *count, larder__view_root added) {
    size_t at = (*count)++;
    for (; at > 0 && (added.last > list[at - 1].last ||
                      (added.last == list[at - 1].last && added.is_checkpoint));
         at--)
        list[at] = list[at - 1];
    list[at] = added;
}

/* Whether the checkpoint's pages can be there, and the log's records follow from it. Meta pages that are
 * older than the rest of the file do not lead to its root page; then something of theirs is missing, too. */
static bool has_checkpoint(const larder__pages *pages, const larder__found_log *log) {
    larder__meta own, meta;
    uint64_t last;
    if (log->verdict == LARDER__WAL_HEADER_LOST || log->verdict == LARDER__WAL_DATA_APART)
        return false;
    if (log->verdict != LARDER__WAL_DATA_OLDER) return true;
    if (!log->facts.has_root || !larder__meta_parse(log->header.meta, &own)) return false;
    for (int which = 0; which < 2; which++)
        if (!larder__pages_read_meta(pages, which, &meta) || meta.tables.page == own.tables.page)
            return false;
    return larder__found_log_gaps(log, larder__wal_newest(&log->facts), &last) > 0;
}

/* Whether the number of a meta page can be right. Two of them confirm each other. */
static bool is_plausible(const larder__pages *pages, const larder__found_log *log, int which,
                         uint64_t commit) {
    larder__meta other;
    uint64_t newest = larder__found_log_newest(log);
    if (newest == 0 || !has_checkpoint(pages, log)) return true;
    if (!larder__wal_is_refused(log->verdict)) return commit <= log->last_commit;
    return commit <= newest + 1 || (larder__pages_read_meta(pages, 1 - which, &other) &&
                                    (other.commit + 1 == commit || other.commit == commit + 1));
}

size_t larder__harvest_list_roots(const larder__pages *pages, const larder__found_log *log,
                                  larder__view_root list[LARDER__VIEWS_MAX]) {
    size_t count = 0;
    larder__meta meta;
    if (log->has_header && log->header.state != LARDER__WAL_UNUSED &&
        larder__meta_parse(log->header.meta, &meta)) {
        uint64_t last = has_checkpoint(pages, log) ? log->last_commit : 0;
        add_root(list, &count, (larder__view_root){meta, log->header.commit, last, true});
    }
    for (int which = 0; which < 2; which++) {
        if (!larder__pages_read_meta(pages, which, &meta)) continue;
        uint64_t counted = larder__harvest_commit_of(pages, &meta.tables);
        uint64_t commit = counted != 0 ? counted : meta.commit;
        uint64_t last = is_plausible(pages, log, which, commit) ? commit : 0;
        add_root(list, &count, (larder__view_root){meta, commit, last, false});
    }
    return count;
}

/* Whether no later tree can have been lost with its meta page: LMDB writes the two in turn. */
static bool is_last(const larder__harvest *h, const larder__view_root *base) {
    larder__meta first, second;
    if (base->is_checkpoint) return true;
    if (!larder__pages_read_meta(&h->pages, 0, &first) ||
        !larder__pages_read_meta(&h->pages, 1, &second))
        return false;
    uint64_t low = first.commit < second.commit ? first.commit : second.commit;
    return first.commit + second.commit - 2 * low <= 1;
}

static void gather(larder__harvest *h) {
    larder__view_root views[LARDER__VIEWS_MAX];
    size_t count = larder__harvest_list_roots(&h->pages, &h->log, views);
    h->base_commit = h->last_commit = count > 0 ? views[0].commit : 0;
    h->is_base_last = count > 0 && is_last(h, &views[0]);
    larder__harvest_newer_records(h, h->base_commit);
    for (size_t i = 0; i < count && larder__harvest_goes_on(h); i++) {
        h->is_in_base = i == 0;
        larder__harvest_walk(h, &views[i].meta.tables, views[i].is_checkpoint, i == 0);
        h->is_in_base = false;
        h->has_base = true;
        if (i == 0) miss_batches(h);
    }
    larder__harvest_damaged_records(h);
    larder__harvest_older_records(h, h->base_commit);
    larder__harvest_scan(h);
    larder__harvest_mend_names(h);
}

int32_t larder__harvest_open_files(larder__harvest *h, const char *directory,
                                   const larder_allocator *allocator, larder_error *error) {
    memset(h, 0, sizeof *h);
    h->allocator = allocator;
    h->log.bytes.allocator = h->log.records.allocator = h->log.images.allocator = allocator;
    h->tails.allocator = allocator;
    for (int t = 0; t < LARDER__TABLE_COUNT; t++)
        h->lost[t].ranges.allocator = h->lost[t].keys.allocator = allocator;
    h->status = larder__pages_open(directory, &h->pages, &h->error);
    bool has_log;
    if (larder__harvest_goes_on(h)) {
        larder__harvest_read_log(h, directory);
        int32_t status = larder__wal_look_at(directory, allocator, &h->log.facts, &h->log.verdict,
                                             &has_log, &h->error);
        if (status == LARDER_E_NO_MEMORY) h->status = status; /* others: damage, in the facts */
    }
    if (h->status != LARDER_OK && error != NULL) *error = h->error;
    return h->status;
}

int32_t larder__harvest_make(const char *directory, const char *into,
                             const larder_allocator *allocator, larder_progress_function progress,
                             void *context, larder__harvest *h, larder_error *error) {
    int32_t status = larder__harvest_open_files(h, directory, allocator, error);
    if (status != LARDER_OK) return status;
    h->progress = progress;
    h->context = context;
    size_t seen_bytes = (size_t)(h->pages.page_count / 8 + 1);
    h->seen = larder__allocate(allocator, seen_bytes);
    if (h->seen == NULL) {
        larder__harvest_fail_memory(h);
    } else {
        memset(h->seen, 0, seen_bytes);
        /* Each byte is read once and, in another form, written once. */
        h->total_bytes = 2 * (int64_t)(h->pages.file_bytes + h->log.bytes.size_bytes);
        open_rows(h, into);
    }
    if (larder__harvest_goes_on(h)) gather(h);
    if (larder__harvest_goes_on(h)) larder__harvest_commit(h);
    if (h->status != LARDER_OK && error != NULL) *error = h->error;
    return h->status;
}

void larder__harvest_close(larder__harvest *h) {
    if (h->txn != NULL) mdb_txn_abort(h->txn);
    if (h->mdb != NULL) mdb_env_close(h->mdb);
    h->txn = NULL;
    h->mdb = NULL;
}

void larder__harvest_free(larder__harvest *h) {
    larder__harvest_close(h);
    larder__pages_close(&h->pages);
    larder__release(h->allocator, h->seen);
    h->seen = NULL;
    larder__buffer_free(&h->log.bytes);
    larder__buffer_free(&h->log.records);
    larder__buffer_free(&h->log.images);
    larder__buffer_free(&h->tails);
    for (int t = 0; t < LARDER__TABLE_COUNT; t++) {
        larder__buffer_free(&h->lost[t].ranges);
        larder__buffer_free(&h->lost[t].keys);
    }
}

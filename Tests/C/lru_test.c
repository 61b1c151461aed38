/*
 * lru_test.c - epochs and their log (lru.c): the form of its entries and rows, which uses are
 * logged, when an epoch ends, and that stale entries go.
 */
#include "lru_kit.h"

#include "documents/documents.h"
#include "make.h"
#include "store/catalog.h"

/* ---- entries and rows ---- */

static void an_entry_has_its_documented_bytes(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    CHECK_OK(larder__lru_append(txn, LARDER__LRU_DOCUMENT, 300, test_text("SF"), &test_error));
    CHECK_OK(larder__lru_append(txn, LARDER__LRU_TARGET, 7, larder__bytes(NULL, 0), &test_error));
    CHECK_BYTES(larder__bytes(txn->lru_log.data, txn->lru_log.size_bytes),
                TEST_BYTES("\xac\x02\x02SF\x00\x07"));
    const uint8_t *at = txn->lru_log.data, *end = at + txn->lru_log.size_bytes;
    larder__lru_entry entry;
    REQUIRE(larder__lru_entry_read(&at, end, &entry));
    CHECK_EQ(entry.kind, LARDER__LRU_DOCUMENT);
    CHECK_EQ(entry.number, 300);
    CHECK_TEXT(entry.id, "SF");
    CHECK_EQ(entry.size_bytes, 5);
    REQUIRE(larder__lru_entry_read(&at, end, &entry));
    CHECK_EQ(entry.kind, LARDER__LRU_TARGET);
    CHECK_EQ(entry.number, 7);
    CHECK_EQ(entry.id.size_bytes, 0);
    CHECK_EQ(entry.size_bytes, 2);
    CHECK(at == end);
    CHECK_EQ(txn->counters.lru_entry_count, 2);
    larder_txn_abort(txn);
    store_close(env);
}

static void a_malformed_entry_is_refused(void) {
    static const char *const entries[] = {"",
                                          "ac",
                                          "ac 02",
                                          "ac 02 02",
                                          "ac 02 02 53", /* a document, cut short */
                                          "00",
                                          "00 80",
                                          "00 00",             /* no target, target 0 */
                                          "00 80 80 80 80 08", /* 2^31 */
                                          "01 c9" /* an id longer than any */};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        larder_bytes bytes = make_hex(entries[i]);
        const uint8_t *at = larder__begin(bytes);
        larder__lru_entry entry;
        CHECK_NOTE(!larder__lru_entry_read(&at, at + bytes.size_bytes, &entry), "entry %s",
                   entries[i]);
        CHECK(at == larder__begin(bytes));
    }
    make_release();
}

/* Appends entries for ids from..to - 1 and writes them to an epoch. */
static void log_ids(larder_env *env, int from, int to, uint32_t epoch) {
    larder_txn *txn = store_write(env);
    char id[32];
    for (int i = from; i < to; i++) {
        snprintf(id, sizeof id, "document-%05d", i);
        CHECK_OK(larder__lru_append(txn, LARDER__LRU_DOCUMENT, 1, test_text(id), &test_error));
    }
    CHECK_OK(larder__lru_write_log(txn, epoch, &test_error));
    CHECK_EQ(txn->lru_log.size_bytes, 0);
    store_commit(txn);
}

/* The ids of an epoch's rows, in order: how many follow one another from 0. Checks the chunks'
 * numbers and sizes. */
static int ids_of(larder_env *env, uint32_t epoch, int *row_count) {
    const larder_txn *txn = store_read(env);
    larder__key from = larder__lru_key(epoch, 0);
    larder__cursor cursor;
    int expected = 0;
    *row_count = 0;
    CHECK_OK(larder__cursor_open(txn, LARDER__LRU, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, larder__key_bytes(&from), &test_error);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, &test_error)) {
        const uint8_t *at = larder__begin(cursor.value), *end = at + cursor.value.size_bytes;
        uint32_t found_epoch, chunk;
        CHECK(larder__lru_read_key(cursor.key, &found_epoch, &chunk));
        if (found_epoch != epoch) break;
        CHECK_EQ(chunk, *row_count);
        CHECK(cursor.value.size_bytes < 1000);
        ++*row_count;
        larder__lru_entry entry;
        char id[32];
        while (at < end && larder__lru_entry_read(&at, end, &entry)) {
            snprintf(id, sizeof id, "document-%05d", expected++);
            CHECK_TEXT(entry.id, id);
        }
    }
    larder__cursor_close(&cursor);
    larder_txn_end_read(txn);
    return expected;
}

static void rows_of_an_epoch_are_filled_one_after_the_other(void) {
    larder_env *env = store_open();
    int rows, rows_before;
    log_ids(env, 0, 150, 5); /* 16 bytes each: two rows are full, a third has begun */
    CHECK_EQ(ids_of(env, 5, &rows_before), 150);
    CHECK_EQ(rows_before, 3);
    log_ids(env, 150, 160, 5);
    CHECK_EQ(ids_of(env, 5, &rows), 160);
    CHECK_EQ(rows, rows_before);
    log_ids(env, 160, 260, 5);
    CHECK_EQ(ids_of(env, 5, &rows), 260);
    log_ids(env, 0, 62, 7); /* exactly one full row */
    log_ids(env, 62, 64, 7);
    CHECK_EQ(ids_of(env, 7, &rows), 64);
    CHECK_EQ(rows, 2);
    log_ids(env, 0, 3, 6); /* an epoch has rows of its own */
    CHECK_EQ(ids_of(env, 6, &rows), 3);
    CHECK_EQ(rows, 1);
    CHECK_EQ(ids_of(env, 5, &rows), 260);
    store_close(env);
}

/* ---- what is logged ---- */

static void a_document_is_logged_once_an_epoch(void) {
    larder_env *env = store_open();
    lru_put(env, "c/a", 10);
    lru_put(env, "c/a", 20);
    larder_txn *txn = store_write(env);
    lru_put_in(txn, "c/a", 10);
    lru_put_in(txn, "c/a", 20);
    store_commit(txn);
    CHECK_EQ(lru_entries(env, false), 1);
    CHECK_EQ(lru_entries(env, true), 1);
    lru_next_epoch(env);
    lru_put(env, "c/a", 10);
    CHECK_EQ(lru_entries(env, false), 2);
    CHECK_EQ(lru_entries(env, true), 1);
    store_check(env);
    store_close(env);
}

static void an_abort_logs_nothing(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    lru_put_in(txn, "c/a", 10);
    larder_txn_abort(txn);
    lru_put(env, "c/b", 10);
    CHECK_EQ(lru_entries(env, false), 1);
    store_check(env);
    store_close(env);
}

static void a_target_is_logged_once_an_epoch(void) {
    larder_env *env = store_open();
    larder_target target = {.struct_bytes = sizeof target, .target_id = 3};
    target.canonical_id = test_text("canonical");
    for (int epoch = 1; epoch <= 3; epoch++) {
        larder_txn *txn = store_write(env);
        CHECK_OK(larder_target_put(txn, &target, &test_error));
        CHECK_OK(larder_target_put(txn, &target, &test_error));
        store_commit(txn);
        CHECK_EQ(lru_entries(env, false), epoch);
        CHECK_EQ(lru_entries(env, true), 1);
        lru_next_epoch(env);
    }
    store_check(env);
    store_close(env);
}

static void an_epoch_ends_when_enough_was_written(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    int64_t epoch = txn->counters.epoch;
    lru_put_in(txn, "c/a", 1000);
    larder__id id;
    uint64_t collection;
    CHECK_OK(larder__name_find(txn, test_text("c/a"), &collection, &id, &test_error));
    larder__key key = larder__document_key(collection, larder__id_bytes(&id));
    larder_bytes row = {0};
    CHECK_OK(larder__table_get(txn, LARDER__DOCUMENTS, larder__key_bytes(&key), &row, &test_error));
    CHECK_EQ(txn->counters.epoch_bytes, larder__row_cost(key.size_bytes, row.size_bytes));
    store_commit(txn);
    int64_t written = 0;
    char name[32];
    for (int i = 0; written < 4096; i++) { /* the smallest epoch */
        snprintf(name, sizeof name, "c/%d", i);
        txn = store_write(env);
        CHECK_EQ(txn->counters.epoch, epoch);
        lru_put_in(txn, name, 1000);
        CHECK(txn->counters.epoch_bytes > written);
        written = txn->counters.epoch_bytes;
        store_commit(txn);
    }
    txn = store_write(env);
    CHECK_EQ(txn->counters.epoch, epoch + 1);
    CHECK_EQ(txn->counters.epoch_bytes, 0);
    larder_txn_abort(txn);
    CHECK_EQ(lru_epoch_of(env, name), epoch);
    lru_put(env, "c/next", 10);
    CHECK_EQ(lru_epoch_of(env, "c/next"), epoch + 1);
    store_check(env);
    store_close(env);
}

/* ---- touches ---- */

static void a_touch_is_written_with_the_next_commit(void) {
    larder_env *env = store_open();
    lru_put(env, "c/a", 10);
    uint32_t before = lru_epoch_of(env, "c/a");
    lru_next_epoch(env);
    CHECK_OK(larder_lru_touch(env, test_text("c/a"), &test_error));
    CHECK_OK(larder_lru_touch(env, test_text("c/unknown"), &test_error));
    CHECK_OK(larder_lru_touch(env, test_text("unknown/a"), &test_error));
    CHECK_EQ(lru_epoch_of(env, "c/a"), before);
    CHECK_EQ(lru_entries(env, false), 1);
    lru_put(env, "c/b", 10);
    CHECK_EQ(lru_epoch_of(env, "c/a"), before + 1);
    CHECK_EQ(lru_entries(env, false), 3); /* two of c/a, one of c/b */
    CHECK_EQ(lru_entries(env, true), 2);
    CHECK(!lru_has(env, "c/unknown"));
    store_check(env);
    store_close(env);
}

static void a_touch_within_the_epoch_of_the_row_changes_nothing(void) {
    larder_env *env = store_open();
    lru_put(env, "c/a", 10);
    CHECK_OK(larder_lru_touch(env, test_text("c/a"), &test_error));
    larder_txn *txn = store_write(env);
    int64_t commit = txn->counters.commit_number;
    store_commit(txn);
    txn = store_write(env);
    CHECK_EQ(txn->counters.commit_number, commit);
    larder_txn_abort(txn);
    CHECK_EQ(lru_entries(env, false), 1);
    store_close(env);
}

/* ---- tidying ---- */

/* Uses of few documents in many epochs leave nearly nothing but stale entries. */
static void stale_entries_do_not_pile_up(void) {
    larder_env *env = store_open();
    char name[32];
    int64_t most = 0;
    for (int epoch = 0; epoch < 700; epoch++) {
        larder_txn *txn = store_write(env);
        for (int i = 0; i < 10; i++) {
            snprintf(name, sizeof name, "c/%d", i);
            lru_put_in(txn, name, 8);
        }
        larder__lru_begin_epoch(txn);
        store_commit(txn);
        txn = store_write(env);
        if (txn->counters.lru_entry_count > most) most = txn->counters.lru_entry_count;
        larder_txn_abort(txn);
    }
    CHECK(most > 4096);                /* some are left alone */
    CHECK(most <= 4096 + 2 * 10 + 10); /* and no more: a commit tidies as much as one adds */
    CHECK_EQ(lru_entries(env, true), 10);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"an entry has its documented bytes", an_entry_has_its_documented_bytes},
    {"a malformed entry is refused", a_malformed_entry_is_refused},
    {"rows of an epoch are filled one after the other",
     rows_of_an_epoch_are_filled_one_after_the_other},
    {"a document is logged once an epoch", a_document_is_logged_once_an_epoch},
    {"an abort logs nothing", an_abort_logs_nothing},
    {"a target is logged once an epoch", a_target_is_logged_once_an_epoch},
    {"an epoch ends when enough was written", an_epoch_ends_when_enough_was_written},
    {"a touch is written with the next commit", a_touch_is_written_with_the_next_commit},
    {"a touch within the epoch of the row changes nothing",
     a_touch_within_the_epoch_of_the_row_changes_nothing},
    {"stale entries do not pile up", stale_entries_do_not_pile_up},
};
TEST_SUITE(lru, cases);

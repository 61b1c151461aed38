/*
 * guard_test.c - pages that are damaged (guard.h): a call ends with a status, and so does each
 * later one. crash/corruption_test.c has many more kinds of damage.
 */
#include "store.h"
#include "store/guard.h"
#include "store/page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, DOCUMENTS = 300 };

static larder_env *open_at(const char *path) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.map_bytes = 16 << 20;
    larder_env_open(path, &options, &env, &test_error);
    return env;
}

static void fill(const char *path) {
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    for (int i = 0; i < DOCUMENTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", i);
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.state = LARDER_DOCUMENT_FOUND;
        info.version = info.read_time = (larder_time){i + 1, 0, 0};
        CHECK_OK(larder_document_put(txn, test_text(name), &info,
                                     store_record(i, store_fill('x', i % 50 == 0 ? 5000 : 60)),
                                     &test_error));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
}

/* Reads every document, and checks the store. Whether something was damaged. */
static bool read_all(larder_env *env) {
    const larder_txn *txn;
    larder_document document;
    bool is_damaged = false;
    if (larder_txn_begin_read(env, &txn, &test_error) != LARDER_OK) return true;
    larder_scan *scan;
    if (larder_scan_collection(txn, test_text("c"), NULL, &scan, &test_error) == LARDER_OK) {
        int32_t status = LARDER_OK;
        for (int i = 0; i <= DOCUMENTS && status == LARDER_OK; i++)
            status = larder_scan_next(scan, &document, &test_error);
        CHECK(status == LARDER_END || status == LARDER_E_CORRUPT);
        larder_scan_close(scan);
    }
    for (int i = 0; i < DOCUMENTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", i);
        int32_t status = larder_document_get(txn, test_text(name), &document, &test_error);
        CHECK_NOTE(status == LARDER_OK || status == LARDER_NOT_FOUND || status == LARDER_E_CORRUPT,
                   "%s: %s", larder_status_name(status), test_error.message);
        is_damaged = is_damaged || status != LARDER_OK;
    }
    larder_check_report report = {.struct_bytes = sizeof report};
    int32_t status = larder_check(txn, NULL, NULL, NULL, &report, &test_error);
    larder_txn_end_read(txn);
    return is_damaged || status != LARDER_OK;
}

/* Whether the environment refuses to write. */
static bool is_refused(larder_env *env) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status == LARDER_OK) larder_txn_abort(txn);
    CHECK(status == LARDER_OK || status == LARDER_E_CORRUPT);
    return status != LARDER_OK;
}

/* Blanks each page in turn, and cuts what LMDB says it has. */
static void no_page_ends_the_process(void) {
    char path[4300], data[4400];
    snprintf(path, sizeof path, "%s/store", test_directory());
    snprintf(data, sizeof data, "%s/data.mdb", path);
    fill(path);
    struct stat info;
    int file = open(data, O_RDWR);
    REQUIRE(file >= 0 && fstat(file, &info) == 0);
    uint8_t page[PAGE];
    static const uint8_t blank[PAGE];
    int refused_count = 0, damaged_count = 0, unopened_count = 0;
    for (off_t at = 2 * PAGE; at < info.st_size; at += PAGE) {
        CHECK_EQ(pread(file, page, PAGE, at), PAGE);
        CHECK_EQ(pwrite(file, blank, PAGE, at), PAGE);
        larder_env *env = open_at(path);
        if (env != NULL) {
            damaged_count += read_all(env);
            bool is_damaged = atomic_load(&env->is_damaged);
            CHECK_EQ(is_refused(env), is_damaged);
            refused_count += is_damaged;
            CHECK_OK(larder_env_close(env, &test_error));
        } else {
            CHECK(test_error.status == LARDER_E_CORRUPT);
            unopened_count++;
        }
        CHECK_EQ(pwrite(file, page, PAGE, at), PAGE);
    }
    close(file);
    CHECK_NOTE(refused_count > 0 && damaged_count > 5 && unopened_count > 0,
               "%d refused, %d damaged, %d not opened", refused_count, damaged_count,
               unopened_count);
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    CHECK(!read_all(env) && !is_refused(env));
    store_close(env);
}

/* In a meta page; LMDB divides by it. The log has the other one's copy. */
static void a_wrong_page_size_is_put_right(void) {
    static const uint32_t sizes[] = {0, 1, 4095, 8192, 1u << 31};
    char path[4300], data[4400];
    snprintf(path, sizeof path, "%s/store", test_directory());
    snprintf(data, sizeof data, "%s/data.mdb", path);
    fill(path);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        int file = open(data, O_RDWR);
        REQUIRE(file >= 0);
        off_t at = (off_t)(i % 2) * PAGE + 16 + 24;
        CHECK_EQ(pwrite(file, &sizes[i / 2], sizeof sizes[0], at), sizeof sizes[0]);
        close(file);
        larder_opening opening = {.struct_bytes = sizeof opening};
        larder_env *env = open_at(path);
        REQUIRE(env != NULL);
        CHECK_OK(larder_env_opening(env, &opening, &test_error));
        CHECK_EQ(opening.state, LARDER_OPENING_REPAIRED);
        CHECK(!read_all(env) && !is_refused(env));
        CHECK_OK(larder_env_close(env, &test_error));
    }
    /* Without a log there is nothing to repair it with. */
    int file = open(data, O_RDWR);
    REQUIRE(file >= 0);
    CHECK_EQ(pwrite(file, &sizes[0], sizeof sizes[0], PAGE + 16 + 24), sizeof sizes[0]);
    close(file);
    store_replace_log(path);
    CHECK(open_at(path) == NULL);
    CHECK_EQ(test_error.status, LARDER_E_CORRUPT);
}

/* The number in a page's head says where the map begins. */
static void a_wrong_page_number_leads_nowhere(void) {
    char path[4300];
    snprintf(path, sizeof path, "%s/store", test_directory());
    fill(path);
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    uint8_t *pages = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    uint8_t *page = pages + 8 * PAGE;
    CHECK_EQ(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
    page[0] = 3;
    CHECK(!larder__guard_find_map(env, (MDB_val){10, page + 100}));
    CHECK(is_refused(env));
    munmap(pages, 16 * PAGE);
    CHECK_OK(larder_env_close(env, &test_error));
}

/* ---- pages that lead back to rows that were passed ---- */

enum { TARGET = 3, LONG_ID = 250, MANY = 9000, STEPS = 100000 };

/* Puts a document without fields, and its name into the target. */
static void put_in_target(larder_txn *txn, const char *name) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = info.read_time.seconds = 1;
    CHECK_OK(larder_document_put(txn, test_text(name), &info, test_text(""), &test_error));
    CHECK_OK(larder_target_add_document(txn, TARGET, test_text(name), &test_error));
}

static void put_target(larder_txn *txn) {
    larder_target target = {.struct_bytes = sizeof target, .target_id = TARGET};
    target.canonical_id = test_text("c");
    target.query = test_text("query");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
}

/* An id that is kept by its first bytes and a hash, or a short one. */
static const char *make_name(int number, bool is_long) {
    static char name[LONG_ID + 8];
    snprintf(name, sizeof name, "c/%05d%s", number, is_long ? store_fill('l', LONG_ID - 5) : "");
    return name;
}

/* Makes every child of a table's root the first one. */
static void lead_to_first_page(const char *path, const char *table) {
    uint8_t bytes[PAGE];
    char data[4400];
    larder__pages pages;
    larder__meta first, meta;
    larder__page_node node, child;
    larder__root root = {.page = 0};
    size_t count = 0;
    snprintf(data, sizeof data, "%s/data.mdb", path);
    REQUIRE_OK(larder__pages_open(path, &pages, &test_error));
    REQUIRE(larder__pages_read_meta(&pages, 0, &first) &&
            larder__pages_read_meta(&pages, 1, &meta));
    if (first.commit > meta.commit) meta = first;
    REQUIRE(larder__pages_read(&pages, meta.tables.page, bytes));
    REQUIRE(larder__page_count_nodes(bytes, PAGE, &count));
    for (size_t i = 0; i < count; i++)
        if (larder__page_node_at(bytes, PAGE, true, i, &node) &&
            larder__bytes_equal(node.key, test_text(table)))
            larder__root_parse(node.value.data, &root);
    REQUIRE(larder__pages_read(&pages, root.page, bytes));
    larder__pages_close(&pages);
    REQUIRE(larder__page_kind_of(bytes, root.page) == LARDER__PAGE_BRANCH);
    REQUIRE(larder__page_count_nodes(bytes, PAGE, &count) && count > 1);
    REQUIRE(larder__page_node_at(bytes, PAGE, false, 0, &child));
    for (size_t i = 1; i < count; i++) {
        uint8_t *at = bytes + larder__load16(bytes + LARDER__PAGE_HEAD + 2 * i);
        larder__store32(at, (uint32_t)child.child);
        larder__store16(at + LARDER__NODE_FLAGS_AT, (uint16_t)(child.child >> 32));
    }
    int file = open(data, O_RDWR);
    REQUIRE(file >= 0);
    CHECK_EQ(pwrite(file, bytes, PAGE, (off_t)(root.page * PAGE)), PAGE);
    close(file);
}

/* Steps until something else than OK. */
static int32_t step_through(larder_scan *scan, int *count) {
    larder_document document;
    int32_t status = LARDER_OK;
    *count = -1;
    while (status == LARDER_OK && ++*count < STEPS)
        status = larder_scan_next(scan, &document, &test_error);
    return status;
}

static larder_scan *open_scan(const larder_txn *txn, bool is_of_target, bool is_reverse) {
    larder_scan *scan = NULL;
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = LARDER_SCAN_ALL_STATES | (is_reverse ? LARDER_SCAN_REVERSE : 0);
    if (is_of_target)
        CHECK_OK(larder_target_scan(txn, TARGET, &options, &scan, &test_error));
    else
        CHECK_OK(larder_scan_collection(txn, test_text("c"), &options, &scan, &test_error));
    return scan;
}

static void check_scan_ends(const char *path, bool is_of_target, bool is_reverse) {
    int count;
    larder_document document;
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    const larder_txn *txn = store_read(env);
    larder_scan *scan = open_scan(txn, is_of_target, is_reverse);
    REQUIRE(scan != NULL);
    CHECK_STATUS(step_through(scan, &count), LARDER_E_CORRUPT);
    CHECK_NOTE(count > 1000 && count < 10000, "%d steps", count);
    CHECK_STATUS(larder_scan_next(scan, &document, &test_error), LARDER_END);
    larder_scan_close(scan);
    larder_txn_end_read(txn);
    store_close(env);
}

/* Begins a transaction and puts documents in the target. */
static larder_txn *begin_with_target(larder_env *env, bool has_long_ids) {
    larder_txn *txn = store_write(env);
    put_target(txn);
    for (int i = 0; i < DOCUMENTS; i++)
        put_in_target(txn, make_name(i, has_long_ids));
    return txn;
}

/* Behind a run of long ids a scan searches on, and finds the run again. */
static void pages_that_lead_round_end_a_scan(void) {
    char path[4300];
    snprintf(path, sizeof path, "%s/store", test_directory());
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    larder_txn *txn = begin_with_target(env, true);
    store_commit(txn);
    store_close(env);
    lead_to_first_page(path, "target_documents");
    check_scan_ends(path, true, false);
}

/* Text that compression does not make much smaller. */
static const char *make_text(void) {
    char *text = store_fill('x', 1900);
    for (size_t i = 0; text[i] != '\0'; i++)
        text[i] = (char)('0' + test_random_below(64));
    return text;
}

/* A page of many rows in place of each page that had two. */
static void pages_that_repeat_rows_end_a_scan(void) {
    char path[4300];
    snprintf(path, sizeof path, "%s/store", test_directory());
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    larder_txn *txn = begin_with_target(env, false);
    for (int i = 0; i < DOCUMENTS; i++) {
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.state = LARDER_DOCUMENT_FOUND;
        info.version = info.read_time = (larder_time){1, 0, 0};
        CHECK_OK(larder_document_put(txn, test_text(make_name(DOCUMENTS + i, false)), &info,
                                     store_record(i, make_text()), &test_error));
    }
    store_commit(txn);
    store_close(env);
    lead_to_first_page(path, "documents");
    check_scan_ends(path, false, false);
    check_scan_ends(path, false, true);
}

/* Long ids take more steps than there are rows. */
static void sound_pages_are_scanned_to_the_end(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    put_target(txn);
    for (int i = 0; i < MANY; i++)
        put_in_target(txn, make_name(i, i % 2 == 1));
    store_commit(txn);
    const larder_txn *read = store_read(env);
    for (int i = 0; i < 3; i++) {
        int count;
        larder_scan *scan = open_scan(read, i == 2, i == 1);
        REQUIRE(scan != NULL);
        CHECK_STATUS(step_through(scan, &count), LARDER_END);
        CHECK_EQ(count, MANY);
        larder_scan_close(scan);
    }
    larder_txn_end_read(read);
    store_close(env);
}

/* ---- calls that are left in the middle ---- */

/* A page whose last bytes alone can be read. */
static uint8_t *make_edge(void) {
    uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_READ | PROT_WRITE) != 0) abort();
    memset(pages, 'e', PAGE);
    return pages;
}

/* LMDB has cursors of its own linked into the transaction meanwhile. */
static void a_change_that_was_left_can_be_aborted(void) {
    char path[4300];
    snprintf(path, sizeof path, "%s/store", test_directory());
    uint8_t *edge = make_edge();
    fill(path);
    for (int way = 0; way < 4; way++) {
        larder_env *env = open_at(path);
        REQUIRE(env != NULL);
        MDB_txn *txn;
        MDB_cursor *cursor = NULL;
        MDB_dbi dbi = env->dbis[LARDER__DOCUMENTS];
        REQUIRE(larder__mdb_txn_begin(env->mdb, NULL, 0, &txn) == 0);
        CHECK_EQ(larder__mdb_cursor_open(txn, dbi, &cursor), 0);
        int code = 0;
        for (int i = 0; i < 200 && code == 0; i++) {
            char name[16];
            bool is_last = i == 150; /* replaces the one before */
            snprintf(name, sizeof name, "z%05d", is_last ? i - 1 : i);
            MDB_val key = {6, name}, value = {300, edge};
            if (is_last) value.mv_data = edge + PAGE - (way % 2 == 0 ? 0 : 100);
            code = way < 2 ? larder__mdb_put(txn, dbi, &key, &value, 0)
                           : larder__mdb_cursor_put(cursor, &key, &value, 0);
            CHECK_EQ(code, is_last ? MDB_CORRUPTED : 0);
        }
        CHECK_EQ(code, MDB_CORRUPTED);
        MDB_val key = {1, edge}, value = {1, edge};
        CHECK_EQ(larder__mdb_put(txn, dbi, &key, &value, 0), MDB_CORRUPTED);
        mdb_cursor_close(cursor);
        larder__mdb_txn_abort(txn);
        CHECK(is_refused(env));
        CHECK(!read_all(env));
        CHECK_OK(larder_env_close(env, &test_error));
    }
    munmap(edge, 2 * PAGE);
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    CHECK(!read_all(env) && !is_refused(env));
    store_close(env);
}

/* Changes rows at random until the call that fails; without values that have pages of their own. */
static int32_t change_rows(larder_txn *txn, int count) {
    int32_t status = LARDER_OK;
    for (int i = 0; i < count && status >= 0; i++) {
        char name[32];
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.state = LARDER_DOCUMENT_FOUND;
        info.version = info.read_time = (larder_time){i + 1, 0, 0};
        snprintf(name, sizeof name, "c/%05d", (int)test_random_below(2 * DOCUMENTS));
        if (test_random_below(3) == 0)
            status = larder_document_remove(txn, test_text(name), &test_error);
        else
            status = larder_document_put(
                txn, test_text(name), &info,
                store_record(i, store_fill('x', (size_t)test_random_below(900))), &test_error);
    }
    return status;
}

static void a_file_that_is_cut_off_ends_a_write_transaction(void) {
    char path[4300], data[4400];
    snprintf(path, sizeof path, "%s/store", test_directory());
    snprintf(data, sizeof data, "%s/data.mdb", path);
    larder_env *env = open_at(path);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    CHECK(change_rows(txn, 4 * DOCUMENTS) >= 0);
    store_commit(txn);
    store_close(env);
    int ended = 0;
    struct stat info;
    CHECK_EQ(stat(data, &info), 0);
    size_t size = (size_t)info.st_size;
    uint8_t *bytes = malloc(size);
    int file = open(data, O_RDWR);
    REQUIRE(bytes != NULL && file >= 0 && pread(file, bytes, size, 0) == (ssize_t)size);
    for (int64_t i = 0; i < test_steps(60); i++) {
        env = open_at(path);
        REQUIRE(env != NULL);
        txn = store_write(env);
        int32_t status = change_rows(txn, (int)test_random_below(200));
        CHECK(status >= 0);
        CHECK_EQ(ftruncate(file, (off_t)(test_random_below(size / PAGE) * PAGE)), 0);
        status = change_rows(txn, 200);
        CHECK(status >= 0 || status == LARDER_E_CORRUPT);
        if (test_random_below(2) == 0)
            larder_txn_abort(txn);
        else
            status = larder_txn_commit(txn, &test_error);
        ended += status < 0;
        CHECK_OK(larder_env_close(env, &test_error));
        CHECK_EQ(pwrite(file, bytes, size, 0), (ssize_t)size);
        CHECK_EQ(ftruncate(file, (off_t)size), 0);
        store_replace_log(path);
    }
    CHECK_NOTE(ended > 0, "%d", ended);
    close(file);
    free(bytes);
}

/* No read transaction that could not begin keeps a place in LMDB's table. */
static void a_file_that_was_emptied_is_damaged(void) {
    for (int i = 0; i < 2; i++) {
        char path[4300], data[4400];
        snprintf(path, sizeof path, "%s/store", test_directory());
        snprintf(data, sizeof data, "%s/data.mdb", path);
        fill(path);
        larder_env *env = open_at(path);
        REQUIRE(env != NULL);
        const larder_txn *read = i == 0 ? store_read(env) : NULL, *other;
        larder_stat stat = {.struct_bytes = sizeof stat};
        CHECK_EQ(truncate(data, 0), 0);
        if (read != NULL) CHECK_STATUS(larder_env_stat(read, &stat, &test_error), LARDER_E_CORRUPT);
        larder_txn_end_read(read);
        for (int n = 0; n < 600; n++)
            CHECK_STATUS(larder_txn_begin_read(env, &other, &test_error), LARDER_E_CORRUPT);
        CHECK(is_refused(env));
        CHECK_OK(larder_env_close(env, &test_error));
    }
}

static const test_case cases[] = {
    {"no page ends the process", no_page_ends_the_process},
    {"a wrong page size is put right", a_wrong_page_size_is_put_right},
    {"a wrong page number leads nowhere", a_wrong_page_number_leads_nowhere},
    {"pages that lead round end a scan", pages_that_lead_round_end_a_scan},
    {"pages that repeat rows end a scan", pages_that_repeat_rows_end_a_scan},
    {"sound pages are scanned to the end", sound_pages_are_scanned_to_the_end},
    {"a change that was left can be aborted", a_change_that_was_left_can_be_aborted},
    {"a file that is cut off ends a write transaction",
     a_file_that_is_cut_off_ends_a_write_transaction},
    {"a file that was emptied is damaged", a_file_that_was_emptied_is_damaged},
};
TEST_SUITE(guard, cases);

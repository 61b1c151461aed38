/*
 * salvage_test.c - what is left of a damaged store: everything of a whole one, pending writes from
 * wherever they survive, nothing that was acknowledged; and the check of pages.
 */
#include "mirror.h"
#include "store.h"
#include "store/internal.h"
#include "store/wal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, COMMITS = 25 };

__attribute__((noinline)) static const char *join(const char *directory, const char *name) {
    static char paths[4][4200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

/* ---- whole stores ---- */

/* What clients of a shared store tell each other is not salvaged. */
static void forget_clients(mirror *m) {
    for (int kind = LARDER_NAMED_JOURNAL - 1; kind < MIRROR_NAMED_KINDS; kind++)
        for (int i = 0; i < MIRROR_NAMED; i++)
            m->named[kind][i].present = false;
}

static mirror *fill_mirror(const char *path, uint64_t profile_seed) {
    mirror_profile profile = {.seed = profile_seed, .operations = 40};
    mirror *m = mirror_create();
    larder_env *env = store_open_at(path);
    for (int i = 0; i < COMMITS; i++) {
        larder_txn *txn = store_write(env);
        CHECK_OK(mirror_commit(m, txn, &profile, NULL));
        store_commit(txn);
    }
    store_close(env);
    return m;
}

static larder_salvage_report salvage(const char *from, const char *into) {
    larder_salvage_report report = {.struct_bytes = sizeof report};
    CHECK_OK(larder_salvage(from, into, NULL, NULL, &report, &test_error));
    return report;
}

static void check_nothing_lost(const larder_salvage_report *report) {
    const larder_salvage_count counts[] = {
        report->batches,   report->tree_writes, report->refused_writes,
        report->documents, report->overlays,    report->targets,
        report->nodes,     report->queries,     report->values};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        CHECK_EQ(counts[i].lost_count, 0);
        CHECK_EQ(counts[i].guessed_count, 0);
    }
    CHECK_EQ(report->damaged_page_count, 0);
    CHECK_EQ(report->damaged_record_count, 0);
}

static void a_whole_store_is_salvaged_in_full(void) {
    const char *root = test_directory();
    mirror *m = fill_mirror(join(root, "store"), 11);
    larder_salvage_report report = salvage(join(root, "store"), join(root, "new"));
    check_nothing_lost(&report);
    forget_clients(m);
    larder_env *env = store_open_at(join(root, "new"));
    const larder_txn *txn = store_read(env);
    mirror_problem_reset();
    CHECK_OK(mirror_verify(m, txn, NULL));
    CHECK_EQ(mirror_problem_count(), 0);
    larder_txn_end_read(txn);
    store_check(env);
    store_close(env);
    mirror_free(m);
}

static int32_t print_problem(void *context, uint64_t page, const char *table, const char *message) {
    (void)context;
    test_fail(__FILE__, __LINE__, "page %lld, table %s: %s", (long long)page, table, message);
    return 0;
}

static void a_whole_store_has_whole_pages(void) {
    const char *root = test_directory();
    mirror_free(fill_mirror(join(root, "store"), 12));
    larder_pages_report report = {.struct_bytes = sizeof report};
    CHECK_OK(
        larder_check_pages(join(root, "store"), print_problem, NULL, NULL, &report, &test_error));
    CHECK_EQ(report.problem_count, 0);
    CHECK(report.row_count > 500);
    CHECK(report.tree_count + report.free_count + 2 <= report.page_count + 1);
}

/* ---- damaged files ---- */

static void blank(const char *path, size_t from, size_t to) {
    static const uint8_t zeros[2 * PAGE];
    int file = open(path, O_WRONLY);
    REQUIRE(file >= 0);
    CHECK(pwrite(file, zeros, to - from, (off_t)from) == (ssize_t)(to - from));
    close(file);
}

/* A store with a document, and a pending write of a document and one of a tree. */
static void make_small(const char *path) {
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = 7;
    CHECK_OK(larder_document_put(txn, test_text("c/1"), &info, test_text(""), &test_error));
    larder_mutation_document document = {.name = test_text("c/1")};
    int64_t batch;
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text("payload"), &batch, &test_error));
    uint64_t tree = 0;
    larder_node_write write = {.struct_bytes = sizeof write,
                               .write_id = 1,
                               .time = {1, 0, 0},
                               .payload = test_text("payload")};
    CHECK_OK(larder_node_tree_obtain(txn, test_text("tree"), &tree, &test_error));
    CHECK_OK(larder_node_write_put(txn, tree, LARDER_NODE_WRITE_PENDING, &write, &test_error));
    store_commit(txn);
    store_close(env);
}

/* Both meta pages and both headers of the log are blank. */
static void make_damaged(const char *path) {
    make_small(path);
    blank(join(path, "data.mdb"), 0, 2 * PAGE);
    blank(join(path, "data.wal"), 0, 2 * PAGE);
}

/* ---- pending writes ---- */

enum {
    PAGES = 64,
    PAGE_FLAGS_AT = 10,
    PAGE_LOWER_AT = 12,
    PAGE_HEAD = 16,
    LEAF = 2,
    META_ROOT_AT = 128 /* of the table of tables */
};

typedef struct small_file {
    int file;
    size_t page_count;
    uint8_t bytes[PAGES][PAGE];
} small_file;

static small_file *open_small(const char *path) {
    static small_file opened;
    opened.file = open(path, O_RDWR);
    ssize_t size = opened.file < 0 ? -1 : pread(opened.file, opened.bytes, sizeof opened.bytes, 0);
    CHECK(size > 0 && size < (ssize_t)sizeof opened.bytes);
    opened.page_count = size > 0 ? (size_t)size / PAGE : 0;
    return &opened;
}

/* Of make_small's writes, in a page: the size of the key, user and batch; tree, kind and id. */
static const uint8_t batch_key[] = {9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
static const uint8_t write_key[] = {10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};

static uint8_t *find(uint8_t page[PAGE], const uint8_t *key, size_t size) {
    return memmem(page, PAGE, key, size);
}

static larder_salvage_report check_writes_are_salvaged(const char *store, const char *new) {
    larder_salvage_report report = salvage(store, new);
    larder_env *env = store_open_at(new);
    const larder_txn *txn = store_read(env);
    larder_batch batch;
    larder_node_write write = {.struct_bytes = sizeof write};
    CHECK_OK(larder_mutation_get(txn, test_text("ada"), 1, &batch, &test_error));
    CHECK_OK(larder_node_write_get(txn, 1, LARDER_NODE_WRITE_PENDING, 1, &write, &test_error));
    larder_txn_end_read(txn);
    store_check(env);
    store_close(env);
    return report;
}

static void a_damaged_key_of_a_pending_write_is_mended(void) {
    const char *root = test_directory();
    for (size_t at = 0; at < 9; at++) {
        char store[16], new[16];
        snprintf(store, sizeof store, "store-%zu", at);
        snprintf(new, sizeof new, "new-%zu", at);
        make_small(join(root, store));
        small_file *small = open_small(join(join(root, store), "data.mdb"));
        for (size_t page = 0; page < small->page_count; page++) {
            uint8_t *key = find(small->bytes[page], batch_key, sizeof batch_key);
            if (key == NULL) continue;
            CHECK(pwrite(small->file, "\x55", 1, key + 2 + at - small->bytes[0]) == 1);
        }
        close(small->file);
        larder_salvage_report report =
            check_writes_are_salvaged(join(root, store), join(root, new));
        CHECK_EQ(report.batches.found_count, 1);
        CHECK_EQ(report.batches.guessed_count, 0);
    }
}

/* Flips bits of the byte at an offset from each place where the data file has some bytes; the number
 * of places. */
static int flip_near(small_file *small, const uint8_t *bytes, size_t size, size_t offset,
                     uint8_t bits) {
    int count = 0;
    for (size_t page = 0; page < small->page_count; page++) {
        const uint8_t *found = find(small->bytes[page], bytes, size);
        if (found == NULL) continue;
        const uint8_t changed = found[offset] ^ bits;
        CHECK(pwrite(small->file, &changed, 1, found + offset - small->bytes[0]) == 1);
        count++;
    }
    return count;
}

/* The row of a batch is damaged, and so is the row by which its document mentions it, which has no
 * checksum: the batch in the log is pending, not acknowledged. */
static void a_damaged_mention_loses_no_pending_write(void) {
    /* The size of the key, collection, id, user and batch. */
    static const uint8_t mention[] = {12, 0, 1, 1, '1', 1, 0, 0, 0, 0, 0, 0, 0, 1};
    const char *root = test_directory();
    for (size_t i = 0; i < 2 * (sizeof mention - 2); i++) {
        char store[16], new[16];
        snprintf(store, sizeof store, "store-%zu", i);
        snprintf(new, sizeof new, "new-%zu", i);
        make_small(join(root, store));
        small_file *small = open_small(join(join(root, store), "data.mdb"));
        CHECK_EQ(flip_near(small, batch_key, sizeof batch_key, sizeof batch_key + 8, 1), 1);
        CHECK_EQ(flip_near(small, mention, sizeof mention, 2 + i / 2, i % 2 == 0 ? 0x50 : 0xfe), 1);
        close(small->file);
        larder_salvage_report report =
            check_writes_are_salvaged(join(root, store), join(root, new));
        CHECK_EQ(report.batches.guessed_count, 1);
        CHECK_EQ(report.settled_count, 0);
    }
}

static bool is_leaf_with_one_row(const uint8_t page[PAGE]) {
    return larder__load16(page + PAGE_FLAGS_AT) == LEAF &&
           larder__load16(page + PAGE_LOWER_AT) == PAGE_HEAD + sizeof(uint16_t);
}

/* As when a disk has lost the last write of a page that was another table's before. The write is left
 * in the log. */
static void a_page_of_another_table_loses_no_pending_write(void) {
    const char *root = test_directory();
    int tried = 0;
    make_small(join(root, "store"));
    small_file *small = open_small(join(root, "store/data.mdb"));
    for (size_t page = 2; page < small->page_count; page++) {
        if (find(small->bytes[page], write_key, sizeof write_key) == NULL) continue;
        for (size_t other = 2; other < small->page_count; other++) {
            const uint8_t *bytes = small->bytes[other];
            if (!is_leaf_with_one_row(bytes) || other == page) continue;
            char new[16];
            snprintf(new, sizeof new, "new-%d", tried++);
            uint8_t changed[PAGE];
            memcpy(changed, bytes, PAGE);
            memcpy(changed, small->bytes[page], sizeof(uint64_t)); /* its number */
            CHECK(pwrite(small->file, changed, PAGE, (off_t)(page * PAGE)) == PAGE);
            check_writes_are_salvaged(join(root, "store"), join(root, new));
        }
    }
    close(small->file);
    CHECK(tried > 3);
}

/* As in meta pages of an older commit, whose page for it has been used again. */
static void a_table_of_tables_elsewhere_loses_no_pending_write(void) {
    const char *root = test_directory();
    int tried = 0;
    make_small(join(root, "store"));
    CHECK_EQ(truncate(join(root, "store/data.wal"), 0), 0);
    small_file *small = open_small(join(root, "store/data.mdb"));
    for (uint64_t page = 2; page < small->page_count; page++) {
        if (!is_leaf_with_one_row(small->bytes[page]) ||
            find(small->bytes[page], batch_key, sizeof batch_key) == NULL)
            continue;
        for (int meta = 0; meta < 2; meta++)
            CHECK(pwrite(small->file, &page, sizeof page, meta * PAGE + META_ROOT_AT) ==
                  sizeof page);
        char new[16];
        snprintf(new, sizeof new, "new-%d", tried++);
        check_writes_are_salvaged(join(root, "store"), join(root, new));
    }
    close(small->file);
    CHECK(tried > 0);
}

static void a_table_with_a_damaged_name_loses_no_pending_write(void) {
    static const char *const names[] = {"mutations", "node_writes"};
    const char *root = test_directory();
    for (int n = 0; n < 2; n++) {
        char store[24], new[24];
        int count = 0;
        snprintf(store, sizeof store, "store-%d", n);
        snprintf(new, sizeof new, "new-%d", n);
        make_small(join(root, store));
        small_file *small = open_small(join(join(root, store), "data.mdb"));
        for (size_t page = 2; page < small->page_count; page++) {
            const uint8_t *name =
                find(small->bytes[page], (const uint8_t *)names[n], strlen(names[n]));
            if (name == NULL) continue;
            CHECK(pwrite(small->file, "M", 1, name - small->bytes[0]) == 1);
            count++;
        }
        close(small->file);
        CHECK(count > 0);
        check_writes_are_salvaged(join(root, store), join(root, new));
    }
}

/* ---- setting aside while opening ---- */

static int32_t open_with(const char *path, uint32_t flags, int32_t recovery, larder_env **env) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.recovery = recovery;
    return larder_env_open(path, &options, env, &test_error);
}

static int32_t state_of(const larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    CHECK_OK(larder_env_opening(env, &opening, &test_error));
    return opening.state;
}

static void check_salvaged(larder_env *env) {
    const larder_txn *txn = store_read(env);
    larder_batch batch;
    larder_document document;
    CHECK_OK(larder_mutation_next(txn, test_text("ada"), 0, &batch, &test_error));
    CHECK_TEXT(batch.payload, "payload");
    CHECK_OK(larder_document_get(txn, test_text("c/1"), &document, &test_error));
    larder_txn_end_read(txn);
    store_check(env);
}

static void a_damaged_store_is_set_aside(void) {
    const char *path = join(test_directory(), "store");
    larder_env *env = NULL;
    char store[4200];
    snprintf(store, sizeof store, "%s", path);
    make_damaged(store);
    CHECK_STATUS(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_FAIL, &env),
                 LARDER_E_CORRUPT);
    CHECK_STATUS(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_READ_ONLY, &env),
                 LARDER_E_CORRUPT);
    CHECK_STATUS(open_with(store, LARDER_OPEN_READ_ONLY, LARDER_RECOVERY_QUARANTINE, &env),
                 LARDER_E_CORRUPT);
    REQUIRE_OK(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_QUARANTINE, &env));
    CHECK_EQ(state_of(env), LARDER_OPENING_QUARANTINED);
    CHECK(access(join(larder_env_quarantine(env), "data.mdb"), F_OK) == 0);
    CHECK(access(join(larder_env_quarantine(env), "data.wal"), F_OK) == 0);
    larder_salvage_report report = {.struct_bytes = sizeof report};
    CHECK_OK(larder_env_salvaged(env, &report, &test_error));
    CHECK_EQ(report.batches.found_count, 1);
    check_salvaged(env);
    store_close(env);
    REQUIRE_OK(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_QUARANTINE, &env));
    CHECK_EQ(state_of(env), LARDER_OPENING_CLEAN);
    CHECK(larder_env_quarantine(env)[0] == 0);
    CHECK_STATUS(larder_env_salvaged(env, &report, &test_error), LARDER_NOT_FOUND);
    check_salvaged(env);
    store_close(env);
}

/* A process can end at each step; the next one goes on, whatever it may do by itself. */
static void a_quarantine_that_was_cut_short_is_finished(void) {
    static const char *const steps[][2] = {{"data.wal", "damaged-T"},
                                           {"data.mdb", "damaged-T"},
                                           {"salvaged-T/data.wal", "."},
                                           {"salvaged-T/data.mdb", "."}};
    for (size_t done = 0; done <= sizeof steps / sizeof steps[0]; done++) {
        char store[4200], name[32], target[4300], from[4300];
        larder_env *env = NULL;
        snprintf(name, sizeof name, "store-%zu", done);
        snprintf(store, sizeof store, "%s", join(test_directory(), name));
        make_damaged(store);
        snprintf(target, sizeof target, "%s/salvaged-T", store);
        salvage(store, target);
        if (done > 0) CHECK(mkdir(join(store, "damaged-T"), 0755) == 0);
        for (size_t i = 0; i < done; i++) {
            const char *file = strrchr(steps[i][0], '/');
            snprintf(from, sizeof from, "%s/%s", store, steps[i][0]);
            snprintf(target, sizeof target, "%s/%s/%s", store, steps[i][1],
                     file == NULL ? steps[i][0] : file + 1);
            CHECK(rename(from, target) == 0);
        }
        REQUIRE_OK(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_FAIL, &env));
        CHECK_NOTE(done == 4 || state_of(env) == LARDER_OPENING_QUARANTINED, "after %zu steps",
                   done);
        check_salvaged(env);
        CHECK(access(join(store, "salvaged-T"), F_OK) != 0);
        CHECK(access(join(store, "damaged-T/data.mdb"), F_OK) == 0);
        CHECK(access(join(store, "damaged-T/data.wal"), F_OK) == 0);
        store_close(env);
    }
}

/* Damage that a process met makes the next owner look at all pages. */
static void damage_that_was_met_is_looked_for(void) {
    char store[4200];
    larder_env *env = NULL;
    snprintf(store, sizeof store, "%s", join(test_directory(), "store"));
    mirror_free(fill_mirror(store, 13));
    int note = open(join(store, LARDER__DAMAGE_NOTE), O_WRONLY | O_CREAT, 0644);
    REQUIRE(note >= 0);
    close(note);
    REQUIRE_OK(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_QUARANTINE, &env));
    CHECK_EQ(state_of(env), LARDER_OPENING_CLEAN);
    CHECK(access(join(store, LARDER__DAMAGE_NOTE), F_OK) != 0);
    store_close(env);
    note = open(join(store, LARDER__DAMAGE_NOTE), O_WRONLY | O_CREAT, 0644);
    REQUIRE(note >= 0);
    close(note);
    struct stat info;
    REQUIRE(stat(join(store, "data.mdb"), &info) == 0);
    for (size_t page = 2; page < (size_t)info.st_size / PAGE; page += 3)
        blank(join(store, "data.mdb"), page * PAGE, (page + 1) * PAGE);
    REQUIRE_OK(open_with(store, LARDER_OPEN_CREATE, LARDER_RECOVERY_QUARANTINE, &env));
    CHECK_EQ(state_of(env), LARDER_OPENING_QUARANTINED);
    CHECK(access(join(store, LARDER__DAMAGE_NOTE), F_OK) != 0);
    store_check(env);
    store_close(env);
}

/* Another process that has a shared store open keeps it from being set aside. */
static void a_store_that_others_have_open_is_not_set_aside(void) {
    char store[4200];
    larder_env *env = NULL;
    snprintf(store, sizeof store, "%s", join(test_directory(), "store"));
    make_damaged(store);
    int other = open(join(store, "owner.lock"), O_RDWR);
    REQUIRE(other >= 0);
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    CHECK(fcntl(other, F_OFD_SETLK, &lock) == 0);
    int32_t status =
        open_with(store, LARDER_OPEN_CREATE | LARDER_OPEN_SHARED, LARDER_RECOVERY_QUARANTINE, &env);
    CHECK(status < 0);
    larder_salvage_report report = {.struct_bytes = sizeof report};
    lock.l_type = F_WRLCK; /* and an owner from being salvaged by another command */
    CHECK(fcntl(other, F_OFD_SETLK, &lock) == 0);
    CHECK_STATUS(larder_salvage(store, join(test_directory(), "new"), NULL, NULL, &report, NULL),
                 LARDER_E_LOCKED);
    close(other);
}

static int32_t stop(void *context, int64_t done, int64_t total) {
    (void)context;
    return done <= total;
}

static void salvage_can_be_stopped_and_leaves_nothing(void) {
    const char *root = test_directory();
    mirror_free(fill_mirror(join(root, "store"), 14));
    larder_salvage_report report = {.struct_bytes = sizeof report};
    CHECK_STATUS(
        larder_salvage(join(root, "store"), join(root, "new"), stop, NULL, &report, &test_error),
        LARDER_STOPPED);
    CHECK_STATUS(
        larder_salvage(join(root, "none"), join(root, "new"), NULL, NULL, &report, &test_error),
        LARDER_E_NO_STORE);
    CHECK_STATUS(
        larder_salvage(join(root, "store"), join(root, "store"), NULL, NULL, &report, &test_error),
        LARDER_E_EXISTS);
    CHECK(access(join(root, "new"), F_OK) != 0);
}

static const test_case cases[] = {
    {"a whole store is salvaged in full", a_whole_store_is_salvaged_in_full},
    {"a whole store has whole pages", a_whole_store_has_whole_pages},
    {"a damaged key of a pending write is mended", a_damaged_key_of_a_pending_write_is_mended},
    {"a damaged mention loses no pending write", a_damaged_mention_loses_no_pending_write},
    {"a page of another table loses no pending write",
     a_page_of_another_table_loses_no_pending_write},
    {"a table of tables elsewhere loses no pending write",
     a_table_of_tables_elsewhere_loses_no_pending_write},
    {"a table with a damaged name loses no pending write",
     a_table_with_a_damaged_name_loses_no_pending_write},
    {"a damaged store is set aside", a_damaged_store_is_set_aside},
    {"a quarantine that was cut short is finished", a_quarantine_that_was_cut_short_is_finished},
    {"damage that was met is looked for", damage_that_was_met_is_looked_for},
    {"a store that others have open is not set aside",
     a_store_that_others_have_open_is_not_set_aside},
    {"salvage can be stopped and leaves nothing", salvage_can_be_stopped_and_leaves_nothing},
};
TEST_SUITE(salvage, cases);

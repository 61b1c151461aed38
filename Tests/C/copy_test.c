/*
 * copy_test.c - copies of a store (copy.c): every row of one snapshot, whole or not there at all,
 * with progress that adds up.
 */
#include "index_kit.h"
#include "store.h"
#include "store/internal.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int32_t (*copier)(larder_env *, const char *, larder_progress_function, void *,
                          larder_error *);
static const copier copiers[] = {larder_env_copy, larder_env_compact};
enum { COPIERS = sizeof copiers / sizeof copiers[0] };

/* Borrowed until the fourth call from here. */
static const char *join(const char *directory, const char *name) {
    static char paths[4][4200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

/* Rows in every table but the overlays' entries, in two more than fit a commit of a compacted copy;
 * more than half of the documents go again. */
enum { PAIRS = 20500 };

static larder_env *open_filled(const char *root) {
    larder_env *env = store_open_at(join(root, "store"));
    larder_txn *txn = store_write(env);
    char name[32];
    kit_define(txn, "c", "n asc");
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_put(txn, name, "n=7 text=x*300");
    }
    kit_overlay(txn, "ada", "c/007", "n=8");
    larder_mutation_document document = {.name = test_text("c/007")};
    int64_t batch;
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text("payload"), &batch, &test_error));
    larder_target target = {.struct_bytes = sizeof target, .target_id = 7};
    target.canonical_id = test_text("canonical");
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    for (int i = 0; i < PAIRS; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        CHECK_OK(larder_target_add_document(txn, 7, test_text(name), &test_error));
    }
    store_commit(txn);
    txn = store_write(env);
    for (int i = 100; i < 500; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_remove(txn, name);
    }
    store_commit(txn);
    return env;
}

static void check_same_rows(larder_env *a, larder_env *b) {
    const larder_txn *in_a = store_read(a), *in_b = store_read(b);
    int64_t rows = 0;
    for (int t = 0; t < LARDER__TABLE_COUNT; t++) {
        larder__cursor of_a, of_b;
        CHECK_OK(larder__cursor_open(in_a, (larder__table)t, &of_a, &test_error));
        CHECK_OK(larder__cursor_open(in_b, (larder__table)t, &of_b, &test_error));
        larder_bytes first = {NULL, 0};
        int32_t status_a = larder__cursor_seek(&of_a, first, &test_error);
        int32_t status_b = larder__cursor_seek(&of_b, first, &test_error);
        while (status_a == LARDER_OK && status_b == LARDER_OK) {
            rows++;
            CHECK_BYTES(of_b.key, of_a.key);
            CHECK_BYTES(of_b.value, of_a.value);
            status_a = larder__cursor_next(&of_a, &test_error);
            status_b = larder__cursor_next(&of_b, &test_error);
        }
        CHECK_NOTE(status_a == LARDER_END && status_b == LARDER_END, "table %s",
                   larder__table_names[t]);
        larder__cursor_close(&of_a);
        larder__cursor_close(&of_b);
    }
    CHECK(rows > 2 * PAIRS);
    larder_txn_end_read(in_a);
    larder_txn_end_read(in_b);
}

static int entries_in(const char *directory) {
    int count = 0;
    DIR *opened = opendir(directory);
    if (opened == NULL) return -1;
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened))
        count += entry->d_name[0] != '.';
    closedir(opened);
    return count;
}

static void a_copy_has_every_row(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        REQUIRE_OK(copiers[i](env, join(root, "copy"), NULL, NULL, &test_error));
        CHECK_EQ(entries_in(join(root, "copy")), 2); /* data and log */
        larder_env *copy = store_open_at(join(root, "copy"));
        check_same_rows(env, copy);
        store_check(copy);
        CHECK_OK(larder_env_close(copy, &test_error));
        store_close(env);
    }
}

static int64_t file_bytes(const char *path) {
    struct stat stat_of;
    return stat(path, &stat_of) == 0 ? (int64_t)stat_of.st_size : -1;
}

static void a_compacted_copy_has_full_pages(void) {
    const char *root = test_directory();
    larder_env *env = open_filled(root);
    CHECK_OK(larder_env_compact(env, join(root, "compact"), NULL, NULL, &test_error));
    int64_t compact = file_bytes(join(root, "compact/data.mdb"));
    CHECK(compact > 0);
    CHECK(compact < file_bytes(join(root, "store/data.mdb")));
    CHECK(compact < store_stat(env).total_bytes * 5 / 4);
    store_close(env);
}

/* What is written while a copy is made is not in it: the copy is of one commit. */
static int32_t write_meanwhile(void *context, int64_t done, int64_t total) {
    larder_env **env = context;
    (void)done;
    (void)total;
    if (*env == NULL) return 0;
    larder_txn *txn = store_write(*env);
    kit_put(txn, "meanwhile/1", "n=1");
    store_commit(txn);
    *env = NULL;
    return 0;
}

static void a_copy_is_of_one_commit(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        int64_t documents = store_stat(env).document_count;
        larder_env *writer = env;
        CHECK_OK(copiers[i](env, join(root, "copy"), write_meanwhile, &writer, &test_error));
        CHECK(writer == NULL);
        larder_env *copy = store_open_at(join(root, "copy"));
        CHECK_EQ(store_stat(copy).document_count, documents);
        store_check(copy);
        CHECK_OK(larder_env_close(copy, &test_error));
        CHECK_EQ(store_stat(env).document_count, documents + 1);
        store_close(env);
    }
}

static void a_store_in_memory_can_be_copied(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = store_open();
        larder_txn *txn = store_write(env);
        kit_put(txn, "c/1", "n=7 text=x*9000");
        store_commit(txn);
        CHECK_OK(copiers[i](env, join(root, "copy"), NULL, NULL, &test_error));
        larder_env *copy = store_open_at(join(root, "copy"));
        CHECK_EQ(store_stat(copy).document_count, 1);
        store_check(copy);
        CHECK_OK(larder_env_close(copy, &test_error));
        store_close(env);
    }
}

/* ---- progress ---- */

typedef struct progress {
    int64_t calls, last, total, stop_at;
} progress;

static int32_t follow(void *context, int64_t done, int64_t total) {
    progress *p = context;
    CHECK(done >= p->last);
    CHECK(done <= total);
    CHECK(p->calls == 0 || total == p->total);
    p->last = done;
    p->total = total;
    return ++p->calls == p->stop_at;
}

static void progress_ends_at_the_total(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        progress p = {0};
        CHECK_OK(copiers[i](env, join(root, "copy"), follow, &p, &test_error));
        CHECK(p.calls > 0);
        CHECK_EQ(p.last, p.total);
        if (copiers[i] == larder_env_compact) CHECK_EQ(p.total, store_stat(env).total_bytes);
        store_close(env);
    }
}

static void a_copy_that_was_stopped_leaves_nothing(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        CHECK_EQ(entries_in(root), 1);
        progress p = {.stop_at = 1};
        CHECK_STATUS(copiers[i](env, join(root, "copy"), follow, &p, NULL), LARDER_STOPPED);
        CHECK_EQ(p.calls, 1);
        CHECK_EQ(entries_in(root), 1);
        store_close(env);
    }
}

/* ---- targets ---- */

static void a_target_that_holds_something_is_left_alone(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        CHECK_EQ(mkdir(join(root, "full"), 0755), 0);
        CHECK_EQ(mkdir(join(root, "full/inside"), 0755), 0);
        CHECK_STATUS(copiers[i](env, join(root, "full"), NULL, NULL, NULL), LARDER_E_EXISTS);
        CHECK_EQ(entries_in(join(root, "full")), 1);
        CHECK_STATUS(copiers[i](env, join(root, "store"), NULL, NULL, NULL), LARDER_E_EXISTS);
        CHECK_STATUS(copiers[i](env, join(root, "store/data.mdb"), NULL, NULL, NULL),
                     LARDER_E_EXISTS);
        CHECK_STATUS(copiers[i](env, "", NULL, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
        CHECK_EQ(entries_in(root), 2);
        store_close(env);
    }
}

static void folders_above_the_target_are_made(void) {
    for (int i = 0; i < COPIERS; i++) {
        const char *root = test_directory();
        larder_env *env = open_filled(root);
        CHECK_OK(copiers[i](env, join(root, "a/b/copy//"), NULL, NULL, &test_error));
        larder_env *copy = store_open_at(join(root, "a/b/copy"));
        store_check(copy);
        CHECK_OK(larder_env_close(copy, &test_error));
        CHECK_EQ(entries_in(join(root, "a/b")), 1);
        store_close(env);
    }
}

static const test_case cases[] = {
    {"a copy has every row", a_copy_has_every_row},
    {"a compacted copy has full pages", a_compacted_copy_has_full_pages},
    {"a copy is of one commit", a_copy_is_of_one_commit},
    {"a store in memory can be copied", a_store_in_memory_can_be_copied},
    {"progress ends at the total", progress_ends_at_the_total},
    {"a copy that was stopped leaves nothing", a_copy_that_was_stopped_leaves_nothing},
    {"a target that holds something is left alone", a_target_that_holds_something_is_left_alone},
    {"folders above the target are made", folders_above_the_target_are_made},
};
TEST_SUITE(copy, cases);

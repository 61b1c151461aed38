/*
 * copy_damage_test.c - copies of a store whose data file is damaged, or cut off, while it is open: a
 * copy is good or there is none, and nothing else is left behind.
 */
#include "index_kit.h"
#include "store.h"
#include "store/internal.h"
#include "store/page.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, DOCUMENTS = 150, REMOVED_OF = 9 };
enum { LEFT = DOCUMENTS - (DOCUMENTS + REMOVED_OF - 1) / REMOVED_OF };

typedef int32_t (*copier)(larder_env *, const char *, larder_progress_function, void *,
                          larder_error *);
static const copier copiers[] = {larder_env_copy, larder_env_compact};
enum { COPIERS = sizeof copiers / sizeof copiers[0] };

/* A closed store, its data file and its log, and where it is copied to. */
typedef struct files {
    char root[600], path[700], data[800], log[800], copy[700];
    uint8_t *bytes, *log_bytes;
    size_t size, log_size;
} files;

static uint8_t *load(const char *path, size_t *size) {
    struct stat info;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info) != 0) abort();
    uint8_t *bytes = malloc((size_t)info.st_size);
    if (bytes == NULL || read(file, bytes, (size_t)info.st_size) != info.st_size) abort();
    close(file);
    *size = (size_t)info.st_size;
    return bytes;
}

static void save(const char *path, const uint8_t *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
    close(file);
}

static void prepare(files *f) {
    snprintf(f->root, sizeof f->root, "%s", test_directory());
    snprintf(f->path, sizeof f->path, "%s/store", f->root);
    snprintf(f->data, sizeof f->data, "%s/data.mdb", f->path);
    snprintf(f->log, sizeof f->log, "%s/data.wal", f->path);
    snprintf(f->copy, sizeof f->copy, "%s/copy", f->root);
    larder_env *env = store_open_at(f->path);
    larder_txn *txn = store_write(env);
    char name[32];
    kit_define(txn, "c", "n asc");
    for (int i = 0; i < DOCUMENTS; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_put(txn, name, i % 40 == 0 ? "n=7 text=x*9000" : "n=7 text='some text'");
    }
    kit_overlay(txn, "ada", "c/007", "n=8");
    store_commit(txn);
    txn = store_write(env);
    for (int i = 0; i < DOCUMENTS; i += REMOVED_OF) {
        snprintf(name, sizeof name, "c/%03d", i);
        kit_remove(txn, name);
    }
    store_commit(txn);
    store_close(env);
    f->bytes = load(f->data, &f->size);
    f->log_bytes = load(f->log, &f->log_size);
}

static void release(files *f) {
    free(f->bytes);
    free(f->log_bytes);
}

static larder_env *open_whole(const files *f) {
    save(f->data, f->bytes, f->size);
    save(f->log, f->log_bytes, f->log_size);
    return store_open_at(f->path);
}

static void drop_copy(const files *f) {
    static const char *const names[] = {"data.mdb", "data.wal", "lock.mdb", "owner.lock"};
    char path[900];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", f->copy, names[i]);
        unlink(path);
    }
    CHECK_EQ(rmdir(f->copy), 0);
}

/* Beside the store, in its directory. */
static int entries_beside(const files *f) {
    int count = -1;
    DIR *opened = opendir(f->root);
    if (opened == NULL) return -1;
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened))
        count += entry->d_name[0] != '.';
    closedir(opened);
    return count;
}

static bool is_refused(larder_env *env) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status == LARDER_OK) larder_txn_abort(txn);
    CHECK_NOTE(status == LARDER_OK || status == LARDER_E_CORRUPT, "%s: %s",
               larder_status_name(status), test_error.message);
    return status != LARDER_OK;
}

/* Whether there is a copy, which must be good then. */
static bool try_copy(const files *f, larder_env *env, copier copy) {
    larder_error error = {0};
    larder_pages_report report = {.struct_bytes = sizeof report};
    int32_t status = copy(env, f->copy, NULL, NULL, &error);
    if (status != LARDER_OK) {
        CHECK_NOTE(status == LARDER_E_CORRUPT && error.status == status && error.message[0] != 0,
                   "%s: %s", larder_status_name(status), error.message);
        CHECK_EQ(entries_beside(f), 0);
        return false;
    }
    CHECK_OK(larder_check_pages(f->copy, NULL, NULL, NULL, &report, &test_error));
    larder_env *opened = store_open_at(f->copy);
    if (opened == NULL) return true;
    CHECK_EQ(store_stat(opened).document_count, LEFT);
    CHECK_OK(larder_env_close(opened, &test_error));
    drop_copy(f);
    return true;
}

/* ---- wrong bytes ---- */

/* Changes one byte of a page's head, or of the head of a node: its first, last or middle one. False:
 * there is no such byte. */
static bool damage(uint8_t *page, int number, bool *is_in_node) {
    static const uint8_t heads[] = {0, 10, 11, 12, 13, 14, 15};
    enum { HEADS = sizeof heads, NODE_BYTES = 8, NODES = 3, WAYS = 2 };
    size_t count = 0;
    *is_in_node = number >= HEADS;
    if (number < HEADS) {
        page[heads[number]] ^= 0x15;
        return true;
    }
    number -= HEADS;
    if (number >= NODE_BYTES * NODES * WAYS || (page[10] != 1 && page[10] != 2) ||
        !larder__page_count_nodes(page, PAGE, &count) || count == 0)
        return false;
    size_t slots[] = {0, count - 1, count / 2};
    size_t slot = slots[number / WAYS / NODE_BYTES];
    size_t at = larder__load16(page + LARDER__PAGE_HEAD + 2 * slot);
    page[at + (size_t)(number / WAYS % NODE_BYTES)] ^= number % WAYS == 0 ? 0x41 : 0xff;
    return true;
}

static void a_wrong_byte_is_never_copied(void) {
    files f;
    prepare(&f);
    int refused[COPIERS] = {0}, made[COPIERS] = {0};
    size_t pages = f.size / PAGE;
    /* Each byte on some of the pages. */
    for (size_t i = (size_t)test_random_below(3); i < 2 * pages; i++) {
        size_t at = (2 + i % (pages - 2)) * PAGE;
        uint8_t page[PAGE];
        bool is_in_node;
        memcpy(page, f.bytes + at, PAGE);
        if (!damage(page, (int)test_random_below(7 + 48), &is_in_node)) continue;
        for (int c = 0; c < COPIERS; c++) {
            larder_env *env = open_whole(&f);
            REQUIRE(env != NULL);
            int file = open(f.data, O_RDWR);
            CHECK_EQ(pwrite(file, page, PAGE, (off_t)at), PAGE);
            close(file);
            bool is_made = try_copy(&f, env, copiers[c]);
            *(is_made ? &made[c] : &refused[c]) += 1;
            if (!is_made && is_in_node)
                CHECK_STATUS(copiers[c](env, f.copy, NULL, NULL, NULL), LARDER_E_CORRUPT);
            CHECK_OK(larder_env_close(env, &test_error));
        }
    }
    CHECK_NOTE(refused[0] > 20 && refused[1] > 20 && made[0] > 0 && made[1] > 0,
               "%d and %d refused, %d and %d made", refused[0], refused[1], made[0], made[1]);
    release(&f);
}

/* The key of the first row of a page, made as large as it can be. */
static void a_wrong_size_of_a_row_marks_the_store(void) {
    files f;
    prepare(&f);
    int marked = 0;
    for (size_t at = 2 * PAGE; at < f.size; at += PAGE) {
        const uint8_t *page = f.bytes + at;
        if (page[10] != 2) continue; /* no leaf */
        for (int c = 0; c < COPIERS; c++) {
            larder_env *env = open_whole(&f);
            REQUIRE(env != NULL);
            const uint8_t size[] = {0xff, 0xff};
            off_t node = larder__load16(page + LARDER__PAGE_HEAD);
            int file = open(f.data, O_RDWR);
            CHECK_EQ(pwrite(file, size, 2, (off_t)at + node + LARDER__NODE_KEY_BYTES_AT), 2);
            close(file);
            if (!try_copy(&f, env, copiers[c])) {
                CHECK(is_refused(env));
                marked++;
            }
            CHECK_OK(larder_env_close(env, &test_error));
        }
    }
    CHECK_NOTE(marked > 10, "%d", marked);
    release(&f);
}

/* A row that has another checksum is no page's damage: it can be replaced. */
static void a_damaged_row_is_not_copied_and_can_be_replaced(void) {
    files f;
    prepare(&f);
    release(&f);
    store_damage(f.path, "documents", 3, 20);
    larder_env *env = store_open_at(f.path);
    for (int c = 0; c < COPIERS; c++)
        CHECK(!try_copy(&f, env, copiers[c]));
    const larder_txn *read = store_read(env);
    larder_document document;
    char name[32];
    int damaged = -1;
    for (int i = 0; i < DOCUMENTS && damaged < 0; i++) {
        snprintf(name, sizeof name, "c/%03d", i);
        if (larder_document_get(read, test_text(name), &document, NULL) == LARDER_E_CORRUPT)
            damaged = i;
    }
    larder_txn_end_read(read);
    REQUIRE(damaged >= 0);
    larder_txn *txn = store_write(env);
    kit_put(txn, name, "n=9");
    store_commit(txn);
    for (int c = 0; c < COPIERS; c++)
        CHECK(try_copy(&f, env, copiers[c]));
    store_close(env);
}

/* ---- files that are cut off ---- */

static void a_file_that_was_cut_off_is_not_copied(void) {
    files f;
    prepare(&f);
    int refused = 0;
    for (size_t size = 0; size < f.size; size += size < 3 * PAGE ? PAGE / 2 : 2 * PAGE + 1) {
        for (int c = 0; c < COPIERS; c++) {
            larder_env *env = open_whole(&f);
            REQUIRE(env != NULL);
            CHECK_EQ(truncate(f.data, (off_t)size), 0);
            if (!try_copy(&f, env, copiers[c])) {
                CHECK(is_refused(env));
                refused++;
            }
            CHECK_OK(larder_env_close(env, &test_error));
        }
    }
    CHECK_NOTE(refused > 10, "%d", refused);
    release(&f);
}

static void a_handle_that_knows_its_damage_makes_no_copy(void) {
    files f;
    prepare(&f);
    larder_env *env = open_whole(&f);
    static const uint8_t blank[PAGE];
    for (size_t at = 2 * PAGE; at < f.size && !atomic_load(&env->is_damaged); at += PAGE) {
        int file = open(f.data, O_RDWR);
        if (f.bytes[at + 10] == 2) CHECK_EQ(pwrite(file, blank, PAGE, (off_t)at), PAGE);
        close(file);
        const larder_txn *txn = store_read(env);
        larder_check_report report = {.struct_bytes = sizeof report};
        (void)larder_check(txn, NULL, NULL, NULL, &report, NULL);
        larder_txn_end_read(txn);
    }
    CHECK(is_refused(env));
    save(f.data, f.bytes, f.size);
    for (int c = 0; c < COPIERS; c++)
        CHECK(!try_copy(&f, env, copiers[c]));
    CHECK_OK(larder_env_close(env, &test_error));
    env = store_open_at(f.path);
    for (int c = 0; c < COPIERS; c++)
        CHECK(try_copy(&f, env, copiers[c]));
    store_close(env);
    release(&f);
}

/* What is written to a copy has to be read back from it. */
typedef struct spoiler {
    const files *f;
    bool is_done;
} spoiler;

static int32_t spoil(void *context, int64_t done, int64_t total) {
    spoiler *s = context;
    char path[1200];
    if (s->is_done || done < total) return 0;
    DIR *opened = opendir(s->f->root);
    for (struct dirent *e = readdir(opened); e != NULL; e = readdir(opened)) {
        if (strstr(e->d_name, ".partial-") == NULL) continue;
        snprintf(path, sizeof path, "%s/%s/data.mdb", s->f->root, e->d_name);
        int file = open(path, O_RDWR);
        s->is_done = file >= 0 && pwrite(file, "damage", 6, 2 * PAGE + 10) == 6 &&
                     pwrite(file, "damage", 6, 5 * PAGE + 10) == 6;
        close(file);
    }
    closedir(opened);
    return 0;
}

static void damage_of_the_copys_own_disk_is_found(void) {
    files f;
    prepare(&f);
    larder_env *env = open_whole(&f);
    spoiler s = {.f = &f};
    CHECK_STATUS(larder_env_copy(env, f.copy, spoil, &s, &test_error), LARDER_E_CORRUPT);
    CHECK(s.is_done);
    CHECK_EQ(entries_beside(&f), 0);
    CHECK(!is_refused(env)); /* the store is sound */
    CHECK(try_copy(&f, env, larder_env_copy));
    store_close(env);
    release(&f);
}

static const test_case cases[] = {
    {"a wrong byte is never copied", a_wrong_byte_is_never_copied},
    {"a wrong size of a row marks the store", a_wrong_size_of_a_row_marks_the_store},
    {"a damaged row is not copied and can be replaced",
     a_damaged_row_is_not_copied_and_can_be_replaced},
    {"a file that was cut off is not copied", a_file_that_was_cut_off_is_not_copied},
    {"a handle that knows its damage makes no copy", a_handle_that_knows_its_damage_makes_no_copy},
    {"damage of the copy's own disk is found", damage_of_the_copys_own_disk_is_found},
};
TEST_SUITE(copy_damage, cases);

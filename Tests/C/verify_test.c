/*
 * verify_test.c - no change reaches a damaged page (store/verify.h): each page of a store is damaged
 * under an open environment, and then all of the store is changed in one order or another. LMDB would
 * copy the page as far as its head says, behind its own memory, and the address sanitizer ends the
 * process at that.
 */
#include "store.h"
#include "store/guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, DOCUMENTS = 700, LARGE = 50 };

static void name_of(int number, char name[32]) { snprintf(name, 32, "c/%05d", number); }

static int32_t put(larder_txn *txn, int number, int version, size_t size) {
    char name[32];
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = (larder_time){version, 0, 0};
    name_of(number, name);
    return larder_document_put(txn, test_text(name), &info,
                               store_record(version, store_fill('x', size)), &test_error);
}

/* Documents, some of them with pages of their own, and free pages. */
static void fill(const char *path) {
    larder_env *env = store_open_at(path);
    larder_txn *txn = store_write(env);
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_OK(put(txn, i, i + 1, i % LARGE == 0 ? 5000 : 20 + (size_t)i % 80));
    store_commit(txn);
    txn = store_write(env);
    for (int i = 0; i < DOCUMENTS; i += 9)
        CHECK_OK(put(txn, i, DOCUMENTS + i, 60));
    store_commit(txn);
    store_close(env);
}

/* ---- damage to a page's head, its slots and its nodes ---- */

typedef enum damage { LOWER, UPPER, KIND, SLOT, NODE_BYTES, DAMAGES } damage;

static void damage_page(uint8_t *page, damage how) {
    uint8_t *slot = page + 16;
    uint8_t *node = page + (slot[0] | slot[1] << 8) % (PAGE - 8);
    switch (how) {
    case LOWER: /* of a value's pages: their count */
        page[12] = 0xf0;
        page[13] = 0x7f;
        break;
    case UPPER:
        page[14] = 0;
        page[15] = 0xf0;
        break;
    case KIND:
        page[10] ^= 3;
        break;
    case SLOT:
        slot[1] = 0xff;
        break;
    default:
        node[6] = 0xff; /* of its key */
        node[7] = 0xff;
    }
}

/* ---- changes ---- */

typedef enum order { FROM_FIRST, FROM_LAST, SCATTERED, ORDERS } order;

/* Removes or replaces every document, some in each transaction. The first status that is no success. */
static int32_t change_all(larder_env *env, order in, bool removes, int a_commit) {
    int32_t status = LARDER_OK;
    for (int i = 0; i < DOCUMENTS && status >= 0; i += a_commit) {
        larder_txn *txn;
        status = larder_txn_begin_write(env, &txn, &test_error);
        if (status != LARDER_OK) return status;
        for (int k = i; k < i + a_commit && k < DOCUMENTS && status >= 0; k++) {
            int number = in == FROM_FIRST  ? k
                         : in == FROM_LAST ? DOCUMENTS - 1 - k
                                           : (int)((int64_t)k * 389 % DOCUMENTS);
            char name[32];
            name_of(number, name);
            status = removes ? larder_document_remove(txn, test_text(name), &test_error)
                             : put(txn, number, 5000 + number, (size_t)number * 7 % 150);
        }
        if (status >= 0)
            status = larder_txn_commit(txn, &test_error);
        else
            larder_txn_abort(txn);
    }
    return status;
}

/* How many documents can be read. */
static int count_readable(larder_env *env) {
    const larder_txn *txn;
    int count = 0;
    if (larder_txn_begin_read(env, &txn, &test_error) != LARDER_OK) return 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        char name[32];
        larder_document document;
        name_of(i, name);
        int32_t status = larder_document_get(txn, test_text(name), &document, &test_error);
        CHECK(status == LARDER_OK || status == LARDER_NOT_FOUND || status == LARDER_E_CORRUPT);
        count += status == LARDER_OK;
    }
    larder_txn_end_read(txn);
    return count;
}

typedef struct files {
    char path[4300], data[4400];
    int file;
    uint8_t *bytes; /* of the sound data file */
    off_t size;
} files;

static void prepare(files *f) {
    struct stat info;
    snprintf(f->path, sizeof f->path, "%s/store", test_directory());
    snprintf(f->data, sizeof f->data, "%s/data.mdb", f->path);
    fill(f->path);
    f->file = open(f->data, O_RDWR);
    REQUIRE(f->file >= 0 && fstat(f->file, &info) == 0);
    f->size = info.st_size;
    f->bytes = malloc((size_t)f->size);
    REQUIRE(f->bytes != NULL);
    CHECK_EQ(pread(f->file, f->bytes, (size_t)f->size, 0), f->size);
}

static void release(files *f) {
    close(f->file);
    free(f->bytes);
}

static larder_env *open_whole(files *f) {
    CHECK_EQ(ftruncate(f->file, 0), 0);
    CHECK_EQ(pwrite(f->file, f->bytes, (size_t)f->size, 0), f->size);
    store_replace_log(f->path);
    return store_open_at(f->path);
}

static void no_change_reaches_a_damaged_page(void) {
    files f;
    prepare(&f);
    int refused = 0, tried = 0;
    for (off_t at = 2 * PAGE; at < f.size; at += PAGE, tried++) {
        uint8_t page[PAGE];
        damage how = (damage)(tried % DAMAGES);
        larder_env *env = open_whole(&f);
        REQUIRE(env != NULL);
        memcpy(page, f.bytes + at, PAGE);
        damage_page(page, how);
        CHECK_EQ(pwrite(f.file, page, PAGE, at), PAGE);
        bool removes = tried / DAMAGES % 2 == 0;
        int32_t status =
            change_all(env, (order)(tried / 3 % ORDERS), removes, tried % 2 == 0 ? 7 : 300);
        CHECK_NOTE(status >= 0 || status == LARDER_E_CORRUPT, "page %d: %s", (int)(at / PAGE),
                   test_error.message);
        CHECK_EQ(atomic_load(&env->is_damaged), status < 0);
        refused += status < 0;
        count_readable(env);
        CHECK_OK(larder_env_close(env, &test_error));
    }
    CHECK_NOTE(refused > tried / 3, "%d of %d refused", refused, tried);
    larder_env *env = open_whole(&f);
    CHECK_OK(change_all(env, SCATTERED, true, 50));
    store_check(env);
    store_close(env);
    release(&f);
}

/* The documents of one page are refused, and the others are read as before. */
static void reading_goes_on(void) {
    files f;
    prepare(&f);
    int others = 0;
    for (off_t at = 2 * PAGE; at < f.size; at += PAGE) {
        uint8_t page[PAGE];
        memcpy(page, f.bytes + at, PAGE);
        if (page[10] != 2) continue; /* no leaf */
        larder_env *env = open_whole(&f);
        REQUIRE(env != NULL);
        CHECK_EQ(count_readable(env), DOCUMENTS);
        damage_page(page, UPPER);
        CHECK_EQ(pwrite(f.file, page, PAGE, at), PAGE);
        int32_t status = change_all(env, FROM_FIRST, true, DOCUMENTS);
        if (status == LARDER_E_CORRUPT) {
            larder_txn *txn;
            CHECK_STATUS(larder_txn_begin_write(env, &txn, &test_error), LARDER_E_CORRUPT);
            others += count_readable(env) > DOCUMENTS - 150;
        }
        CHECK_OK(larder_env_close(env, &test_error));
    }
    CHECK_NOTE(others > 5, "%d", others);
    release(&f);
}

/* LMDB takes the pages that it writes to from there. */
static void a_list_of_free_pages_is_looked_at(void) {
    files f;
    prepare(&f);
    larder_env *env = open_whole(&f);
    REQUIRE(env != NULL);
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    REQUIRE(mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn) == 0);
    REQUIRE(mdb_cursor_open(txn, 0, &cursor) == 0);
    REQUIRE(mdb_cursor_get(cursor, &key, &value, MDB_LAST) == 0);
    off_t at = (off_t)((uintptr_t)value.mv_data - env->map_begin);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    const uint8_t count[8] = {0, 0, 0, 1};
    CHECK_EQ(pwrite(f.file, count, sizeof count, at), sizeof count);
    CHECK_STATUS(change_all(env, FROM_FIRST, true, 1), LARDER_E_CORRUPT);
    CHECK_EQ(count_readable(env), DOCUMENTS);
    CHECK_OK(larder_env_close(env, &test_error));
    release(&f);
}

/* Of a table, in its record in LMDB's table of tables: LMDB moves as many pages of its cursors when a
 * root is left with one child. */
static void a_depth_that_the_tree_does_not_have_is_found(void) {
    static const uint8_t name[] = {9, 0, 'd', 'o', 'c', 'u', 'm', 'e', 'n', 't', 's'};
    static const uint16_t depths[] = {0, 1, 3, 32, 53506};
    enum { DEPTH_AT = sizeof name + 6 };
    files f;
    prepare(&f);
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        int count = 0;
        larder_pages_report report = {.struct_bytes = sizeof report};
        larder_env *env = open_whole(&f);
        REQUIRE(env != NULL);
        CHECK_OK(larder_check_pages(f.path, NULL, NULL, NULL, &report, &test_error));
        const uint8_t *at = f.bytes, *end = f.bytes + f.size;
        while ((at = memmem(at, (size_t)(end - at), name, sizeof name)) != NULL) {
            CHECK_EQ(pwrite(f.file, &depths[i], 2, at + DEPTH_AT - f.bytes), 2);
            at += sizeof name;
            count++;
        }
        CHECK(count > 0);
        CHECK_STATUS(larder_check_pages(f.path, NULL, NULL, NULL, &report, &test_error),
                     LARDER_E_CORRUPT);
        CHECK_STATUS(change_all(env, FROM_FIRST, true, 50), LARDER_E_CORRUPT);
        CHECK_EQ(count_readable(env), DOCUMENTS);
        CHECK_OK(larder_env_close(env, &test_error));
    }
    release(&f);
}

/* The last key reads as the smallest, and LMDB would add a row of another page behind it. */
static void no_row_is_appended_to_a_damaged_page(void) {
    static const uint8_t key[] = {6, 0, 1, '0', '0', '6', '9', '9'}; /* its size, collection, id */
    files f;
    int count = 0;
    prepare(&f);
    larder_env *env = open_whole(&f);
    REQUIRE(env != NULL);
    const uint8_t *at = f.bytes, *end = f.bytes + f.size;
    while ((at = memmem(at, (size_t)(end - at), key, sizeof key)) != NULL) {
        CHECK_EQ(pwrite(f.file, "!", 1, at + 3 - f.bytes), 1);
        at += sizeof key;
        count++;
    }
    CHECK(count > 0);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version = info.read_time = (larder_time){1, 0, 0};
    larder_txn *txn = store_write(env);
    CHECK_STATUS(larder_document_put(txn, test_text("c/00100x"), &info, test_text(""), &test_error),
                 LARDER_E_CORRUPT);
    larder_txn_abort(txn);
    CHECK_OK(larder_env_close(env, &test_error));
    release(&f);
}

/* ---- a cursor on a page whose keys are damaged, and that no search leads to ---- */

enum { KEY = 6 }; /* the collection's number, and five digits */

static MDB_val key_of(int number, char text[KEY + 1]) {
    snprintf(text, KEY + 1, "\1%05d", number);
    return (MDB_val){KEY, text};
}

/* A writer's cursor on the row of a document. */
typedef struct editing {
    files f;
    larder_env *env;
    larder_txn *txn;
    MDB_cursor *cursor;
    MDB_val value; /* under the cursor */
} editing;

static bool begin_at(editing *e, int number) {
    char text[KEY + 1];
    MDB_val key = key_of(number, text);
    prepare(&e->f);
    e->env = open_whole(&e->f);
    e->txn = store_write(e->env);
    return larder__mdb_cursor_open(e->txn->mdb, e->env->dbis[LARDER__DOCUMENTS], &e->cursor) == 0 &&
           larder__mdb_cursor_get(e->cursor, &key, &e->value, MDB_SET) == 0;
}

static void end(editing *e) {
    mdb_cursor_close(e->cursor);
    larder_txn_abort(e->txn);
    CHECK_OK(larder_env_close(e->env, &test_error));
    release(&e->f);
}

/* The row that a search from the root finds; of no bytes: none. */
static MDB_val row_of(const editing *e, int number) {
    char text[KEY + 1];
    MDB_val key = key_of(number, text), row;
    int code = larder__mdb_get(e->txn->mdb, e->env->dbis[LARDER__DOCUMENTS], &key, &row);
    return code == 0 ? row : (MDB_val){0, NULL};
}

/* Replaces the end of a key, in the file. */
static void replace_end(const editing *e, const uint8_t *key_end, const char *with) {
    size_t count = strlen(with);
    off_t at = (off_t)((uintptr_t)key_end - count - e->env->map_begin);
    CHECK_EQ(pwrite(e->f.file, with, count, at), count);
}

/* The page's last key reads as larger than all others, so LMDB takes the page for that of any key
 * above its first. */
static void a_row_is_put_where_a_search_finds_it(void) {
    static char content[] = "a row";
    editing e;
    char text[KEY + 1];
    REQUIRE(begin_at(&e, 100));
    const uint8_t *page = e.f.bytes + ((uintptr_t)e.value.mv_data - e.env->map_begin) / PAGE * PAGE;
    const uint8_t *last_slot = page + (page[12] | page[13] << 8) - 2;
    off_t last = page - e.f.bytes + (last_slot[0] | last_slot[1] << 8) + 8;
    replace_end(&e, (const uint8_t *)e.env->map_begin + last + KEY, "\2zzzzz");
    MDB_val key = key_of(650, text), row = {sizeof content, content};
    CHECK_EQ(larder__mdb_cursor_put(e.cursor, &key, &row, 0), 0);
    row = row_of(&e, 650);
    CHECK(row.mv_size == sizeof content && memcmp(row.mv_data, content, sizeof content) == 0);
    end(&e);
}

/* Its key reads as that of a row on another page. */
static void a_row_that_no_search_finds_is_not_deleted(void) {
    editing e;
    char text[KEY + 1];
    REQUIRE(begin_at(&e, 103));
    replace_end(&e, e.value.mv_data, "00652");
    MDB_val key = key_of(652, text), before = row_of(&e, 652);
    CHECK(before.mv_size > 0);
    CHECK_EQ(larder__mdb_cursor_del(e.cursor, &key, 0), MDB_CORRUPTED);
    CHECK(row_of(&e, 652).mv_data == before.mv_data);
    CHECK(atomic_load(&e.env->is_damaged));
    end(&e);
}

static void a_row_under_a_cursor_is_deleted(void) {
    editing e;
    char text[KEY + 1];
    REQUIRE(begin_at(&e, 103));
    MDB_val key = key_of(103, text);
    CHECK_EQ(larder__mdb_cursor_del(e.cursor, &key, 0), 0);
    CHECK_EQ(row_of(&e, 103).mv_size, 0);
    CHECK(!atomic_load(&e.env->is_damaged));
    end(&e);
}

static const test_case cases[] = {
    {"a row is put where a search finds it", a_row_is_put_where_a_search_finds_it},
    {"a row that no search finds is not deleted", a_row_that_no_search_finds_is_not_deleted},
    {"a row under a cursor is deleted", a_row_under_a_cursor_is_deleted},
    {"no row is appended to a damaged page", no_row_is_appended_to_a_damaged_page},
    {"no change reaches a damaged page", no_change_reaches_a_damaged_page},
    {"reading goes on", reading_goes_on},
    {"a list of free pages is looked at", a_list_of_free_pages_is_looked_at},
    {"a depth that the tree does not have is found", a_depth_that_the_tree_does_not_have_is_found},
};
TEST_SUITE(verify, cases);

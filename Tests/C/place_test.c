/* place_test.c - what is opened in place of a store: foreign and damaged files, other file systems. */
#include "env_kit.h"
#include "mirror.h"
#include "store/guard.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- a file system type of the test's choice ---- */

static long fake_file_system;

int statfs(const char *path, struct statfs *info);
int statfs(const char *path, struct statfs *info) {
    int result = (int)syscall(SYS_statfs, path, info);
    if (result == 0 && fake_file_system) info->f_type = (__typeof__(info->f_type))fake_file_system;
    return result;
}

/* ---- files that are no store of ours ---- */

static void refuses_foreign_files(void) {
    const char *root = test_directory();
    char junk[8192];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)test_random();
    env_kit_write_file(env_kit_join(root, "file"), junk, 100);
    CHECK_STATUS(env_kit_open_status(env_kit_join(root, "file"), LARDER_OPEN_CREATE),
                 LARDER_E_FOREIGN_FILE);
    size_t sizes[] = {3, 100, 4096, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *directory = env_kit_join(root, "junk");
        mkdir(directory, 0755);
        env_kit_write_file(env_kit_join(directory, "data.mdb"), junk, sizes[i]);
        CHECK_STATUS(env_kit_open_status(directory, LARDER_OPEN_CREATE), LARDER_E_FOREIGN_FILE);
        CHECK_EQ(env_kit_file_size(env_kit_join(directory, "data.mdb")), (off_t)sizes[i]);
    }
    /* an LMDB store of another program */
    const char *other = env_kit_join(root, "other");
    mkdir(other, 0755);
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {3, "key"}, value = {5, "value"};
    REQUIRE(mdb_env_create(&env) == 0);
    CHECK_EQ(mdb_env_open(env, other, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &table), 0);
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_STATUS(env_kit_open_status(other, LARDER_OPEN_CREATE), LARDER_E_FOREIGN_FILE);
    CHECK_EQ(larder_live_handle_count(), 0);
}

static void refuses_a_newer_format(void) {
    const char *path = test_directory();
    larder_env *store = env_kit_open_store(path, LARDER_OPEN_CREATE);
    CHECK_OK(larder_env_close(store, &test_error));
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {1, "b"}, value;
    char row[64];
    REQUIRE(mdb_env_create(&env) == 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 20), 0);
    CHECK_EQ(mdb_env_open(env, path, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "catalog", 0, &table), 0);
    CHECK_EQ(mdb_get(txn, table, &key, &value), 0);
    REQUIRE(value.mv_size >= 10 && value.mv_size < sizeof row);
    memcpy(row, value.mv_data, value.mv_size);
    CHECK(memcmp(row, "larder", 6) == 0);
    uint32_t format = larder_format_version() + 1;
    memcpy(row + 6, &format, 4);
    value.mv_data = row;
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    store_replace_log(path);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_CREATE), LARDER_E_NEWER_FORMAT);
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NEWER_FORMAT);
}

static void finds_a_truncated_file(void) {
    const char *path = test_directory();
    mirror *m = mirror_create();
    mirror_profile profile = {.seed = test_random(), .operations = 30};
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    for (int i = 0; i < 10; i++) {
        larder_txn *txn;
        REQUIRE_OK(larder_txn_begin_write(env, &txn, &test_error));
        mirror_commit(m, txn, &profile, NULL);
        CHECK_OK(larder_txn_commit(txn, &test_error));
    }
    CHECK_OK(larder_env_close(env, &test_error));
    mirror_free(m);
    const char *file = env_kit_join(path, "data.mdb");
    off_t full = env_kit_file_size(file);
    off_t sizes[] = {full / 2, 3 * 4096, 2 * 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_EQ(truncate(file, sizes[i]), 0);
        CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_CREATE), LARDER_E_CORRUPT);
        CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_CORRUPT);
        CHECK_EQ(env_kit_file_size(file), sizes[i]);
    }
    CHECK_EQ(larder_live_handle_count(), 0);
}

typedef struct page_search {
    uint64_t page;
    bool is_found;
} page_search;

static bool is_page(void *context, uint64_t page) {
    page_search *search = context;
    search->is_found = search->is_found || page == search->page;
    return !search->is_found;
}

/* LMDB leaves out pages at the end that a transaction has taken and given back. */
static void a_free_end_of_the_file_may_be_missing(void) {
    const char *path = test_directory();
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    char name[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "c/%05d", i);
        CHECK_OK(env_kit_put_in(txn, name));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
    txn = store_write(env);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "c/%05d", i);
        CHECK_OK(larder_document_remove(txn, test_text(name), &test_error));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
    page_search search = {.is_found = false};
    MDB_envinfo info;
    /* Commits keep the last checkpoint's pages until the next one, which another thread writes. */
    for (int round = 0; round < 20000 && !search.is_found; round++) {
        MDB_txn *reading;
        CHECK_OK(env_kit_put(env, "c/last"));
        mdb_env_info(env->mdb, &info);
        search.page = info.me_last_pgno;
        REQUIRE(larder__mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &reading) == 0);
        CHECK_EQ(larder__mdb_each_free(reading, 0, UINT64_MAX, is_page, &search), 0);
        larder__mdb_txn_abort(reading);
    }
    REQUIRE(search.is_found);
    CHECK_OK(larder_env_close(env, &test_error));
    const char *file = env_kit_join(path, "data.mdb");
    CHECK_EQ(truncate(file, (off_t)info.me_last_pgno * 4096), 0); /* without the last page */
    for (int i = 0; i < 2; i++) { /* for reading, and then for writing, which makes it whole */
        uint32_t flags = i == 0 ? LARDER_OPEN_READ_ONLY : LARDER_OPEN_CREATE;
        env = env_kit_open_store(path, flags);
        REQUIRE(env != NULL);
        CHECK_OK(env_kit_get(env, "c/last"));
        store_check(env);
        CHECK_OK(larder_env_close(env, &test_error));
        CHECK((env_kit_file_size(file) > (off_t)info.me_last_pgno * 4096) == (i == 1));
    }
}

static void *file_content(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    off_t length = env_kit_file_size(path);
    char *content = length > 0 ? malloc((size_t)length) : NULL;
    *size = content && file ? fread(content, 1, (size_t)length, file) : 0;
    if (file) fclose(file);
    return content;
}

/* Opening in any way gives a status and leaves the data file as it is. */
static void check_left_alone(const char *path, int32_t expected) {
    static const uint32_t ways[] = {LARDER_OPEN_CREATE, 0, LARDER_OPEN_READ_ONLY,
                                    LARDER_OPEN_CREATE | LARDER_OPEN_SHARED};
    const char *file = env_kit_join(path, "data.mdb");
    size_t before_size, after_size;
    void *before = file_content(file, &before_size);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        CHECK_STATUS(env_kit_open_status(path, ways[i]), expected);
        void *after = file_content(file, &after_size);
        CHECK(before && after && after_size == before_size &&
              memcmp(before, after, before_size) == 0);
        free(after);
    }
    free(before);
}

static void overwrite(const char *file, off_t at, const void *data, size_t size) {
    int descriptor = open(file, O_WRONLY);
    REQUIRE(descriptor >= 0);
    CHECK_EQ(pwrite(descriptor, data, size, at), (ssize_t)size);
    close(descriptor);
}

static void a_store_with_blank_pages_is_left_alone(void) {
    static const uint8_t zeros[2 * 4096];
    const char *path = test_directory(), *file = env_kit_join(path, "data.mdb");
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    size_t size;
    void *whole = file_content(file, &size);
    REQUIRE(whole != NULL);
    unlink(env_kit_join(path, "data.wal")); /* which would put them back */
    overwrite(file, 0, zeros, 4096);
    check_left_alone(path, LARDER_E_CORRUPT);
    overwrite(file, 0, zeros, sizeof zeros);
    check_left_alone(path, LARDER_E_CORRUPT);
    /* A meta page of transaction 0 in place of the first, beside a blank one. */
    env_kit_write_file(file, whole, size);
    overwrite(file, 4096, zeros, 4096);
    overwrite(file, 16 + 128, zeros, 8);
    check_left_alone(path, LARDER_E_CORRUPT);
    /* Without its log the store is not known to be whole. */
    env_kit_write_file(file, whole, size);
    check_left_alone(path, LARDER_E_CORRUPT);
    free(whole);
}

/* The log has the checkpoint's meta page: whatever became of the two in the file, the store is
 * read as it was, and opened for reading it is left as it is. */
static void blank_meta_pages_are_put_back(void) {
    static const uint8_t zeros[2 * 4096];
    const char *path = test_directory(), *file = env_kit_join(path, "data.mdb");
    static const uint32_t ways[] = {LARDER_OPEN_READ_ONLY, LARDER_OPEN_CREATE};
    larder_env *env = env_kit_open_store(path, LARDER_OPEN_CREATE);
    REQUIRE(env != NULL);
    CHECK_OK(env_kit_put(env, "cities/SF"));
    CHECK_OK(larder_env_close(env, &test_error));
    for (int blank = 1; blank < 4; blank++) {
        if (blank & 1) overwrite(file, 0, zeros, 4096);
        if (blank & 2) overwrite(file, 4096, zeros, 4096);
        size_t before_size, after_size;
        void *before = file_content(file, &before_size);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            env = env_kit_open_store(path, ways[i]);
            REQUIRE(env != NULL);
            CHECK_OK(env_kit_get(env, "cities/SF"));
            CHECK_OK(larder_env_close(env, &test_error));
            void *after = file_content(file, &after_size);
            CHECK_EQ(before_size == after_size && memcmp(before, after, before_size) == 0, i == 0);
            free(after);
        }
        free(before);
    }
}

/* A short file that is not blank throughout belongs to another program. */
static void a_short_file_with_content_is_left_alone(void) {
    const char *path = test_directory(), *file = env_kit_join(path, "data.mdb");
    static const off_t places[] = {152, 4095, 4096 + 152, 8191};
    static uint8_t content[8192];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memset(content, 0, sizeof content);
        content[places[i]] = 1;
        env_kit_write_file(file, content, sizeof content);
        check_left_alone(path, LARDER_E_CORRUPT);
    }
}

/* None of these is waited for or read. */
static void what_is_no_file_is_refused(void) {
    const char *path = test_directory(), *file = env_kit_join(path, "data.mdb");
    static const uint32_t ways[] = {LARDER_OPEN_CREATE, LARDER_OPEN_READ_ONLY, LARDER_OPEN_SHARED};
    for (int kind = 0; kind < 3; kind++) {
        int made = kind == 0   ? mkfifo(file, 0644)
                   : kind == 1 ? mkdir(file, 0755)
                               : symlink("/dev/zero", file);
        CHECK_EQ(made, 0);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            CHECK_STATUS(env_kit_open_status(path, ways[i]), LARDER_E_FOREIGN_FILE);
        CHECK_EQ(remove(file), 0);
    }
}

static const char *create_only(void *path) {
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    NEED(larder_env_open(path, &options, &env, NULL) == LARDER_OK);
    NEED(larder_env_close(env, NULL) == LARDER_OK);
    return NULL;
}

/* What the creation of a store leaves at each of its steps is recreated. */
static void a_store_that_was_not_created_is_recreated(void) {
    static const uint8_t zeros[2 * 4096];
    const char *path = test_directory(), *file = env_kit_join(path, "data.mdb");
    MDB_env *mdb;
    REQUIRE(mdb_env_create(&mdb) == 0);
    REQUIRE(mdb_env_open(mdb, path, MDB_NOLOCK, 0644) == 0);
    mdb_env_close(mdb);
    size_t size;
    uint8_t *fresh = file_content(file, &size);
    REQUIRE(fresh != NULL && size == sizeof zeros);
    static const size_t sizes[] = {0, 512, 4096, 5000, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int blank = 0; blank < 4; blank++) {
            uint8_t content[sizeof zeros];
            memcpy(content, fresh, sizeof content);
            if (blank & 1) memset(content, 0, 4096);
            if (blank & 2) memset(content + 4096, 0, 4096);
            if (sizes[i] > 4096 && sizes[i] < 8192 && !(blank & 2)) continue; /* page cut within */
            if (sizes[i] > 0 && sizes[i] < 4096 && !(blank & 1)) continue;
            env_kit_write_file(file, content, sizes[i]);
            unlink(env_kit_join(path, "data.wal"));
            CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_READ_ONLY), LARDER_E_NO_STORE);
            env_kit_in_child(create_only, (void *)(uintptr_t)path);
            CHECK_STATUS(env_kit_open_status(path, 0), LARDER_OK);
        }
    }
    free(fresh);
}

/* ---- places ---- */

static void refuses_network_file_systems(void) {
    const char *path = test_directory();
    static const long types[] = {0x6969, 0xff534d42, 0xfe534d42, 0x517b, 0x01021997};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        fake_file_system = types[i];
        CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_CREATE), LARDER_E_NETWORK_FILE_SYSTEM);
    }
    CHECK_STATUS(env_kit_open_status(path, LARDER_OPEN_CREATE | LARDER_OPEN_ANY_FILE_SYSTEM),
                 LARDER_OK);
    fake_file_system = 0xef53; /* ext4 */
    CHECK_STATUS(env_kit_open_status(path, 0), LARDER_OK);
    fake_file_system = 0;
}

static const char *open_without_permission(void *context) {
    NEED(getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
    larder_env *env;
    larder_error error;
    NEED(larder_env_open(context, NULL, &env, &error) == LARDER_E_PERMISSION);
    return NULL;
}

static void answers_missing_permission(void) {
    const char *root = test_directory();
    char *path = env_kit_join(root, "closed");
    mkdir(path, 0000);
    env_kit_in_child(open_without_permission, path);
    chmod(path, 0755);
}

static const test_case cases[] = {
    {"refuses foreign files", refuses_foreign_files},
    {"refuses a newer format", refuses_a_newer_format},
    {"finds a truncated file", finds_a_truncated_file},
    {"a free end of the file may be missing", a_free_end_of_the_file_may_be_missing},
    {"a store with blank pages is left alone", a_store_with_blank_pages_is_left_alone},
    {"what is no file is refused", what_is_no_file_is_refused},
    {"blank meta pages are put back", blank_meta_pages_are_put_back},
    {"a short file with content is left alone", a_short_file_with_content_is_left_alone},
    {"a store that was not created is recreated", a_store_that_was_not_created_is_recreated},
    {"refuses network file systems", refuses_network_file_systems},
    {"answers missing permission", answers_missing_permission},
};
TEST_SUITE(place, cases);

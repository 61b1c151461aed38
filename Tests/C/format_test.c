/*
 * format_test.c - stores of earlier formats, as their versions wrote them: stores/format-N has the files of a
 * store, compressed.
 *
 * format-2: version 0.2, whose process ended without closing it. At the checkpoint: the index "r asc" of group
 * c, complete, with c/1 (r = reference to c/__id12__), c/2 (c/__id7__), c/3 (c/a), c/4 (r = 1). In the log: one
 * batch of ada, its overlay of c/5 (r = reference to c/__id7__) without a history, and c/6 (c/__id1__).
 */
#include "index_kit.h"
#include "store/internal.h"
#include "wal_kit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

static void unpack(const char *from, const char *to, const char *name) {
    char compressed[64];
    size_t size;
    snprintf(compressed, sizeof compressed, "%s.zst", name);
    uint8_t *packed = wal_kit_read(wal_kit_join(from, compressed), &size);
    unsigned long long full = ZSTD_getFrameContentSize(packed, size);
    REQUIRE(full > 0 && full < 32 << 20);
    uint8_t *content = malloc(full);
    REQUIRE(content != NULL);
    CHECK_EQ(ZSTD_decompress(content, full, packed, size), full);
    wal_kit_write(wal_kit_join(to, name), content, full);
    free(content);
    free(packed);
}

/* A store of format 2 in a new directory. */
static const char *unpack_format_2(void) {
    const char *path = test_directory();
    unpack(TEST_STORES "/format-2", path, "data.mdb");
    unpack(TEST_STORES "/format-2", path, "data.wal");
    return path;
}

static void check_content(const larder_txn *txn) {
    larder_batch batch;
    larder_document view;
    larder_bytes payload;
    CHECK_OK(larder_mutation_next(txn, test_text("ada"), 0, &batch, &test_error));
    CHECK_TEXT(batch.payload, "batch");
    CHECK_OK(
        larder_overlay_get(txn, test_text("ada"), test_text("c/5"), &view, &payload, &test_error));
    CHECK(payload.size_bytes == 2 && memcmp(payload.data, "\1\0", 2) == 0);
    CHECK_OK(larder_document_get(txn, test_text("c/6"), &view, &test_error));
}

static uint32_t index_of(const larder_txn *txn) {
    larder_index index = {0};
    CHECK_OK(larder_index_get(txn, 1, &index, &test_error));
    CHECK_EQ(index.complete, 0); /* built by 0.2, in another order */
    return 1;
}

static void a_store_of_format_2_is_read_as_it_is(void) {
    const char *path = unpack_format_2();
    larder_env *env = wal_kit_open(path, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(store_stat(env).format_version, 2);
    const larder_txn *txn = store_read(env);
    check_content(txn);
    index_of(txn);
    larder_txn_end_read(txn);
    store_close(env);
    env = wal_kit_open(path, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(store_stat(env).format_version, 2);
    store_close(env);
}

static void a_store_of_format_2_is_migrated(void) {
    const char *path = unpack_format_2();
    for (int opening = 0; opening < 2; opening++) {
        larder_env *env = wal_kit_open(path, opening == 0 ? 0 : LARDER_OPEN_READ_ONLY, 0);
        REQUIRE(env != NULL);
        CHECK_EQ(store_stat(env).format_version, LARDER_FORMAT_VERSION);
        const larder_txn *txn = store_read(env);
        check_content(txn);
        larder_txn_end_read(txn);
        store_check(env);
        store_close(env);
    }
    larder_env *env = wal_kit_open(path, 0, 0);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    uint32_t id = index_of(txn);
    int32_t status;
    while ((status = larder_index_backfill(txn, id, 0, 0, NULL, NULL, &test_error)) ==
           LARDER_MORE) {
    }
    CHECK_OK(status);
    CHECK_NAMES(kit_all(txn, id), "c/4 c/6 c/2 c/1 c/3");
    store_commit(txn);
    store_check(env);
    store_close(env);
}

/* What version 0.2 locks in a store that it shares, in a process of its own, until the pipe is closed. */
static pid_t share_store(const char *path, const int hold[2]) {
    int ready[2];
    char byte = 0;
    if (pipe(ready) != 0) return -1;
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        close(hold[1]);
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        int file = open(wal_kit_join(path, "owner.lock"), O_RDWR | O_CREAT, 0644);
        if (fcntl(file, F_SETLK, &lock) != 0 || write(ready[1], &byte, 1) != 1) _exit(1);
        _exit(read(hold[0], &byte, 1) != 0);
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return process;
}

/* The other process would not know what it reads next. */
static void a_store_that_is_shared_is_not_migrated(void) {
    const char *path = unpack_format_2();
    larder_env *env = NULL;
    larder_env_options options;
    int hold[2], end;
    REQUIRE(pipe(hold) == 0);
    pid_t process = share_store(path, hold);
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_SHARED;
    CHECK_STATUS(larder_env_open(path, &options, &env, &test_error), LARDER_E_LOCKED);
    CHECK(strstr(test_error.message, "an earlier version") != NULL);
    close(hold[0]);
    close(hold[1]);
    CHECK_EQ(waitpid(process, &end, 0), process);
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    env = wal_kit_open(path, LARDER_OPEN_SHARED, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(store_stat(env).format_version, LARDER_FORMAT_VERSION);
    const larder_txn *txn = store_read(env);
    check_content(txn);
    larder_txn_end_read(txn);
    store_close(env);
}

static const test_case cases[] = {
    {"a store of format 2 is read as it is", a_store_of_format_2_is_read_as_it_is},
    {"a store of format 2 is migrated", a_store_of_format_2_is_migrated},
    {"a store that is shared is not migrated", a_store_that_is_shared_is_not_migrated},
};
TEST_SUITE(format, cases);

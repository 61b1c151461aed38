/*
 * wal_damage_test.c - a write-ahead log (wal.h) that is torn, damaged or another store's.
 */
#include "wal_kit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing is changed by the attempt to open it. */
static void check_refused(const char *path) {
    static const char *const files[] = {"data.mdb", "data.wal"};
    uint8_t *before[2];
    size_t sizes[2];
    for (int i = 0; i < 2; i++)
        before[i] = wal_kit_read(wal_kit_join(path, files[i]), &sizes[i]);
    larder_env *opened = NULL;
    CHECK_STATUS(larder_env_open(path, NULL, &opened, NULL), LARDER_E_CORRUPT);
    for (int i = 0; i < 2; i++) {
        size_t size;
        uint8_t *after = wal_kit_read(wal_kit_join(path, files[i]), &size);
        CHECK(before[i] && after && size == sizes[i] && memcmp(before[i], after, size) == 0);
        free(before[i]);
        free(after);
    }
}

static void a_torn_record_at_the_end_is_cut(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    int first;
    larder_env *env = wal_kit_open_grown(wal_kit_join(root, "store"), &first);
    REQUIRE(env != NULL);
    uint64_t ends[7];
    char at[7][4300]; /* the data file when the record was torn */
    for (int i = 0; i < 6; i++) {
        ends[i] = env->wal->last.end;
        snprintf(at[i], sizeof at[i], "%s/at-%d", root, i);
        mkdir(at[i], 0755);
        wal_kit_copy(wal_kit_join(root, "store"), at[i], "data.mdb");
        CHECK_OK(wal_kit_put(env, first + i, 500));
    }
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(root, "store/data.wal"), &size);
    for (int torn = 0; torn < 6; torn++) {
        for (int part = 0; part < 3; part++) { /* a byte of the head, of the rows, all of it */
            wal_kit_make_image(wal_kit_join(root, "store"), image);
            wal_kit_copy(at[torn], image, "data.mdb");
            uint8_t *damaged = malloc(size);
            REQUIRE(damaged != NULL);
            memcpy(damaged, log, size);
            if (part < 2) damaged[ends[torn] + (part == 0 ? 20 : 300)] ^= 1;
            if (part == 2) memset(damaged + ends[torn], 0, 4096);
            wal_kit_write(wal_kit_join(image, "data.wal"), damaged, size);
            if (torn < 5) check_refused(image);
            if (torn < 5) memset(damaged + ends[torn + 1], 0, size - ends[torn + 1]);
            wal_kit_write(wal_kit_join(image, "data.wal"), damaged, size);
            free(damaged);
            larder_env *opened = wal_kit_open(image, 0, 0);
            REQUIRE(opened != NULL);
            CHECK_EQ(wal_kit_count(opened), first + torn);
            for (int i = torn; i < 8; i++)
                CHECK_OK(
                    wal_kit_put(opened, first + i, 100)); /* it goes on, over the old records */
            larder__wal_wait(opened);
            CHECK_EQ(wal_kit_count(opened), first + 8);
            CHECK_OK(larder_env_close(opened, &test_error));
            wal_kit_check_count(image, first + 8);
        }
    }
    free(log);
    store_close(env);
}

/* Text of one letter, and each sector of it missing. */
static void a_torn_record_of_equal_bytes_is_cut(void) {
    enum { SECTOR = 512, TEXT = 6000 };
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    uint64_t begin = env->wal->last.end;
    int64_t id;
    larder_mutation_document document = {.name = test_text("c/00000")};
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text(store_fill('d', TEXT)), &id, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(root, "store/data.wal"), &size);
    CHECK(env->wal->last.end >= begin + TEXT && env->wal->last.end <= size);
    for (uint64_t at = begin; at < begin + TEXT; at += SECTOR) {
        uint8_t sector[SECTOR];
        larder__buffer payload = {.allocator = &env->allocator};
        larder__wal_place place = {env->wal->header.commit, begin, env->wal->header.chain};
        memcpy(sector, log + at, SECTOR);
        memset(log + at, 0, SECTOR);
        wal_kit_write(image, log, size);
        int file = open(image, O_RDONLY);
        CHECK_STATUS(larder__wal_next(file, &env->wal->header, &place, &payload, &test_error),
                     LARDER_END);
        close(file);
        memcpy(log + at, sector, SECTOR);
        larder__buffer_free(&payload);
    }
    larder__buffer payload = {.allocator = &env->allocator};
    larder__wal_place place = {env->wal->header.commit, begin, env->wal->header.chain};
    wal_kit_write(image, log, size);
    int file = open(image, O_RDONLY);
    CHECK_OK(larder__wal_next(file, &env->wal->header, &place, &payload, &test_error));
    close(file);
    larder__buffer_free(&payload);
    free(log);
    store_close(env);
}

static void a_damaged_header_leaves_the_other(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = wal_kit_open(wal_kit_join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 4; i++)
        CHECK_OK(wal_kit_put(env, i, 500));
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    uint64_t sequence = env->wal->header.sequence;
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(image, "data.wal"), &size);
    log[(1 - sequence % 2) * LARDER__WAL_BLOCK + 50] ^= 1; /* the older one */
    wal_kit_write(wal_kit_join(image, "data.wal"), log, size);
    wal_kit_check_count(image, 4);
    /* Without either nothing is known, and nothing is changed. */
    wal_kit_make_image(wal_kit_join(root, "store"), image);
    log[sequence % 2 * LARDER__WAL_BLOCK + 50] ^= 1;
    wal_kit_write(wal_kit_join(image, "data.wal"), log, size);
    larder_env *opened = NULL;
    CHECK_STATUS(larder_env_open(image, NULL, &opened, NULL), LARDER_E_CORRUPT);
    free(log);
    store_close(env);
}

static void the_log_of_another_store_is_refused(void) {
    const char *root = test_directory();
    char a[4200], b[4200];
    snprintf(a, sizeof a, "%s/a", root);
    snprintf(b, sizeof b, "%s/b", root);
    larder_env *opened = NULL;
    for (int i = 0; i < 2; i++) {
        larder_env *env = wal_kit_open(i ? b : a, LARDER_OPEN_CREATE, 0);
        REQUIRE(env != NULL);
        for (int k = 0; k < 3 + 4 * i; k++)
            CHECK_OK(wal_kit_put(env, k, 100));
        store_close(env);
    }
    size_t before_size, after_size;
    uint8_t *before = wal_kit_read(wal_kit_join(a, "data.mdb"), &before_size);
    wal_kit_copy(b, a, "data.wal");
    CHECK_STATUS(larder_env_open(a, NULL, &opened, NULL), LARDER_E_CORRUPT);
    uint8_t *after = wal_kit_read(wal_kit_join(a, "data.mdb"), &after_size);
    CHECK(before && after && before_size == after_size && memcmp(before, after, after_size) == 0);
    free(before);
    free(after);
}

static const test_case cases[] = {
    {"a torn record at the end is cut, a damaged one before others is refused",
     a_torn_record_at_the_end_is_cut},
    {"a torn record of equal bytes is cut", a_torn_record_of_equal_bytes_is_cut},
    {"a damaged header leaves the other", a_damaged_header_leaves_the_other},
    {"the log of another store is refused", the_log_of_another_store_is_refused},
};
TEST_SUITE(wal_damage, cases);

/*
 * wal_test.c - the write-ahead log (wal.h): what is left of a store whose process ended at some
 * moment. An image is a copy of the files of a store that is open, which is what a process that
 * is killed leaves. Power cuts are crash/powercut_test.c's.
 */
#include "store.h"
#include "store/wal.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Borrowed until the fourth call from here. */
static const char *join(const char *directory, const char *name) {
    static char paths[4][4400];
    static int next;
    char text[4400];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    char *path = paths[next++ % 4];
    memcpy(path, text, sizeof text);
    return path;
}

static uint8_t *content_of(const char *path, size_t *size) {
    struct stat info;
    int file = open(path, O_RDONLY);
    *size = file >= 0 && fstat(file, &info) == 0 ? (size_t)info.st_size : 0;
    uint8_t *content = malloc(*size + 1);
    if (content && read(file, content, *size) != (ssize_t)*size) *size = 0;
    if (file >= 0) close(file);
    return content;
}

static void write_content(const char *path, const uint8_t *content, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK_EQ(write(file, content, size), (ssize_t)size);
    close(file);
}

static void copy(const char *from, const char *to, const char *name) {
    size_t size;
    uint8_t *content = content_of(join(from, name), &size);
    CHECK(content && size > 0);
    write_content(join(to, name), content, size);
    free(content);
}

static void make_image(const char *from, const char *to) {
    mkdir(to, 0755);
    unlink(join(to, "lock.mdb"));
    copy(from, to, "data.mdb");
    copy(from, to, "data.wal");
}

static larder_env *open_with(const char *path, uint32_t flags, uint64_t log_bytes) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.map_bytes = 64 << 20; /* of which several are open */
    options.log_bytes = log_bytes;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

/* One commit: the document c/NUMBER with text of some size. */
static int32_t put(larder_env *env, int number, size_t text_bytes) {
    larder_txn *txn;
    larder_document_info info;
    char name[32];
    snprintf(name, sizeof name, "c/%05d", number);
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = info.create_time = (larder_time){number + 1, 0, 0};
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    status = larder_document_put(txn, test_text(name), &info,
                                 store_record(number, store_fill('x', text_bytes)), &test_error);
    if (status == LARDER_OK) return larder_txn_commit(txn, &test_error);
    larder_txn_abort(txn);
    return status;
}

/* The documents from number first on, some apart, up to another, in one commit. */
static void put_many(larder_env *env, int first, int end, int step) {
    larder_txn *txn = store_write(env);
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version = info.read_time = (larder_time){first + 1, 0, 0};
    for (int number = first; txn != NULL && number < end; number += step) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", number);
        CHECK_OK(larder_document_put(txn, test_text(name), &info,
                                     store_record(number, store_fill('y', 40)), &test_error));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
}

/* How many documents there are from c/00000 on without a gap. */
static int count(larder_env *env) {
    const larder_txn *txn = store_read(env);
    larder_document document;
    int number = 0;
    for (;; number++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", number);
        if (larder_document_get(txn, test_text(name), &document, &test_error) != LARDER_OK) break;
    }
    larder_txn_end_read(txn);
    return number;
}

/* Opens it in every way, and closes it. */
static void check_count(const char *path, int expected) {
    static const uint32_t ways[] = {LARDER_OPEN_READ_ONLY, LARDER_OPEN_CREATE, LARDER_OPEN_SHARED};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        larder_env *env = open_with(path, ways[i], 0);
        if (env == NULL) return;
        CHECK_EQ(count(env), expected);
        store_check(env);
        CHECK_OK(larder_env_close(env, &test_error));
    }
}

/* ---- after the end of the process ---- */

static void what_was_committed_is_there(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 65536);
    REQUIRE(env != NULL);
    for (int i = 0; i < 200; i++) { /* the log turns many times */
        CHECK_OK(put(env, i, (size_t)test_random_below(9000)));
        if (i % 9 != 0) continue;
        larder__wal_wait(env);
        make_image(join(root, "store"), image);
        larder_env *opened = open_with(image, 0, 65536);
        REQUIRE(opened != NULL);
        CHECK_EQ(count(opened), i + 1);
        CHECK_EQ(store_stat(opened).commit_number, store_stat(env).commit_number);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env); /* the last of them may have begun a checkpoint */
    CHECK(env->wal->checkpoint_count > 10);
    make_image(join(root, "store"), image);
    store_close(env);
    check_count(image, 200);
    check_count(join(root, "store"), 200);
}

/* A store of some documents whose log has grown to its full capacity, at a checkpoint. */
static larder_env *open_grown(const char *path, int *number) {
    larder_env *env = open_with(path, LARDER_OPEN_CREATE, 0);
    for (*number = 0; env != NULL && *number < 10000; ++*number) {
        CHECK_OK(put(env, *number, 500));
        larder__wal_wait(env);
        if (env->wal->header.capacity_bytes == LARDER__WAL_DEFAULT && *number > 1000) break;
    }
    ++*number;
    if (env != NULL) CHECK_OK(larder_env_close(env, &test_error));
    return open_with(path, 0, 0);
}

/* Nothing of the map but the checkpoint's pages is needed. */
static void the_log_alone_has_the_commits(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_grown(join(root, "store"), &number);
    REQUIRE(env != NULL);
    make_image(join(root, "store"), image);
    for (int i = 0; i < 5; i++)
        CHECK_OK(put(env, number++, 500));
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 0);
    copy(join(root, "store"), image, "data.wal");
    store_close(env);
    check_count(image, number);
}

/* LMDB writes over pages of the checkpoint; their images are in the log. */
static void replaced_pages_are_put_back(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_grown(join(root, "store"), &number);
    REQUIRE(env != NULL);
    int64_t file_bytes = store_stat(env).file_bytes;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(put(env, (int)test_random_below((uint64_t)number), 500));
        if (i % 20 != 19) continue;
        make_image(join(root, "store"), image);
        larder_env *opened = open_with(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(opened->wal->recovered_count, (uint64_t)i + 1);
        CHECK_EQ(count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 0);
    CHECK(env->wal->image_count > 0 && env->wal->pin == NULL);
    int64_t grown = store_stat(env).file_bytes - file_bytes;
    CHECK_NOTE(grown < 100 * 4096, "the file grew by %lld bytes", (long long)grown);
    store_close(env);
    check_count(join(root, "store"), number);
}

/* While a checkpoint is written the one before is needed, and commits go on. */
static void a_checkpoint_leaves_the_one_before(void) {
    const char *root = test_directory();
    char image[4200];
    int number, i;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_grown(join(root, "store"), &number);
    REQUIRE(env != NULL);
    for (i = 0; i < 20000 && env->wal->checkpoint_count == 0; i++) {
        CHECK_OK(put(env, (int)test_random_below((uint64_t)number), 500));
        larder__wal_wait(env);
    }
    for (int k = 0; k < 20; k++, i++) {
        larder__wal_wait(env);
        CHECK_OK(put(env, (int)test_random_below((uint64_t)number), 500));
        make_image(join(root, "store"), image);
        int log = open(join(image, "data.wal"), O_WRONLY);
        static const uint8_t blank[LARDER__WAL_BLOCK];
        off_t at = (off_t)(env->wal->header.sequence % 2 * LARDER__WAL_BLOCK);
        CHECK_EQ(pwrite(log, blank, sizeof blank, at), (ssize_t)sizeof blank);
        close(log);
        larder_env *opened = open_with(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(opened->wal->recovered_count, (uint64_t)i + 1);
        CHECK_EQ(count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    larder__wal_wait(env);
    CHECK_EQ(env->wal->checkpoint_count, 1);
    store_close(env);
}

/* A commit that replaces many pages has a pin instead of images, up to the next checkpoint. */
static void many_replaced_pages_are_pinned(void) {
    const char *root = test_directory();
    char image[4200];
    int number;
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_grown(join(root, "store"), &number);
    REQUIRE(env != NULL);
    put_many(env, number, 5000, 1);
    number = 5000;
    CHECK_OK(larder_env_close(env, &test_error));
    env = open_with(join(root, "store"), 0, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 12; i++) {
        put_many(env, 0, 5000, 7);
        if (i == 1) { /* the commit may have begun a checkpoint */
            larder__wal_wait(env);
            CHECK(env->wal->pin != NULL || env->wal->checkpoint_count > 0);
        }
        CHECK_OK(put(env, i, 500));
        larder__wal_wait(env);
        make_image(join(root, "store"), image);
        larder_env *opened = open_with(image, 0, 0);
        REQUIRE(opened != NULL);
        CHECK_EQ(count(opened), number);
        store_check(opened);
        CHECK_OK(larder_env_close(opened, &test_error));
    }
    store_close(env);
    check_count(join(root, "store"), number);
}

/* Nothing is changed by the attempt to open it. */
static void check_refused(const char *path) {
    static const char *const files[] = {"data.mdb", "data.wal"};
    uint8_t *before[2];
    size_t sizes[2];
    for (int i = 0; i < 2; i++)
        before[i] = content_of(join(path, files[i]), &sizes[i]);
    larder_env *opened = NULL;
    CHECK_STATUS(larder_env_open(path, NULL, &opened, NULL), LARDER_E_CORRUPT);
    for (int i = 0; i < 2; i++) {
        size_t size;
        uint8_t *after = content_of(join(path, files[i]), &size);
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
    larder_env *env = open_grown(join(root, "store"), &first);
    REQUIRE(env != NULL);
    uint64_t ends[7];
    char at[7][4300]; /* the data file when the record was torn */
    for (int i = 0; i < 6; i++) {
        ends[i] = env->wal->last.end;
        snprintf(at[i], sizeof at[i], "%s/at-%d", root, i);
        mkdir(at[i], 0755);
        copy(join(root, "store"), at[i], "data.mdb");
        CHECK_OK(put(env, first + i, 500));
    }
    size_t size;
    uint8_t *log = content_of(join(root, "store/data.wal"), &size);
    for (int torn = 0; torn < 6; torn++) {
        for (int part = 0; part < 3; part++) { /* a byte of the head, of the rows, all of it */
            make_image(join(root, "store"), image);
            copy(at[torn], image, "data.mdb");
            uint8_t *damaged = malloc(size);
            REQUIRE(damaged != NULL);
            memcpy(damaged, log, size);
            if (part < 2) damaged[ends[torn] + (part == 0 ? 20 : 300)] ^= 1;
            if (part == 2) memset(damaged + ends[torn], 0, 4096);
            write_content(join(image, "data.wal"), damaged, size);
            if (torn < 5) check_refused(image);
            if (torn < 5) memset(damaged + ends[torn + 1], 0, size - ends[torn + 1]);
            write_content(join(image, "data.wal"), damaged, size);
            free(damaged);
            larder_env *opened = open_with(image, 0, 0);
            REQUIRE(opened != NULL);
            CHECK_EQ(count(opened), first + torn);
            for (int i = torn; i < 8; i++)
                CHECK_OK(put(opened, first + i, 100)); /* it goes on, over the old records */
            larder__wal_wait(opened);
            CHECK_EQ(count(opened), first + 8);
            CHECK_OK(larder_env_close(opened, &test_error));
            check_count(image, first + 8);
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
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    larder_txn *txn = store_write(env);
    uint64_t begin = env->wal->last.end;
    int64_t id;
    larder_mutation_document document = {.name = test_text("c/00000")};
    CHECK_OK(larder_mutation_append(txn, test_text("ada"), (larder_time){1, 0, 0}, &document, 1,
                                    test_text(store_fill('d', TEXT)), &id, &test_error));
    CHECK_OK(larder_txn_commit(txn, &test_error));
    size_t size;
    uint8_t *log = content_of(join(root, "store/data.wal"), &size);
    CHECK(env->wal->last.end >= begin + TEXT && env->wal->last.end <= size);
    for (uint64_t at = begin; at < begin + TEXT; at += SECTOR) {
        uint8_t sector[SECTOR];
        larder__buffer payload = {.allocator = &env->allocator};
        larder__wal_place place = {env->wal->header.commit, begin, env->wal->header.chain};
        memcpy(sector, log + at, SECTOR);
        memset(log + at, 0, SECTOR);
        write_content(image, log, size);
        int file = open(image, O_RDONLY);
        CHECK_STATUS(larder__wal_next(file, &env->wal->header, &place, &payload, &test_error),
                     LARDER_END);
        close(file);
        memcpy(log + at, sector, SECTOR);
        larder__buffer_free(&payload);
    }
    larder__buffer payload = {.allocator = &env->allocator};
    larder__wal_place place = {env->wal->header.commit, begin, env->wal->header.chain};
    write_content(image, log, size);
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
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 4; i++)
        CHECK_OK(put(env, i, 500));
    make_image(join(root, "store"), image);
    uint64_t sequence = env->wal->header.sequence;
    size_t size;
    uint8_t *log = content_of(join(image, "data.wal"), &size);
    log[(1 - sequence % 2) * LARDER__WAL_BLOCK + 50] ^= 1; /* the older one */
    write_content(join(image, "data.wal"), log, size);
    check_count(image, 4);
    /* Without either nothing is known, and nothing is changed. */
    make_image(join(root, "store"), image);
    log[sequence % 2 * LARDER__WAL_BLOCK + 50] ^= 1;
    write_content(join(image, "data.wal"), log, size);
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
        larder_env *env = open_with(i ? b : a, LARDER_OPEN_CREATE, 0);
        REQUIRE(env != NULL);
        for (int k = 0; k < 3 + 4 * i; k++)
            CHECK_OK(put(env, k, 100));
        store_close(env);
    }
    size_t before_size, after_size;
    uint8_t *before = content_of(join(a, "data.mdb"), &before_size);
    copy(b, a, "data.wal");
    CHECK_STATUS(larder_env_open(a, NULL, &opened, NULL), LARDER_E_CORRUPT);
    uint8_t *after = content_of(join(a, "data.mdb"), &after_size);
    CHECK(before && after && before_size == after_size && memcmp(before, after, after_size) == 0);
    free(before);
    free(after);
}

static void a_commit_that_does_not_fit_is_a_checkpoint(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 65536);
    REQUIRE(env != NULL);
    for (int i = 0; i < 12; i++)
        CHECK_OK(put(env, i, i % 3 == 0 ? 65000 : 100));
    larder__wal_wait(env);
    make_image(join(root, "store"), image);
    check_count(image, 12);
    store_close(env);
    check_count(join(root, "store"), 12);
}

/* ---- opening for reading ---- */

static void reading_changes_nothing(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 5; i++)
        CHECK_OK(put(env, i, 500));
    make_image(join(root, "store"), image);
    store_close(env);
    size_t sizes[4];
    uint8_t *before = content_of(join(image, "data.mdb"), &sizes[0]);
    uint8_t *log_before = content_of(join(image, "data.wal"), &sizes[1]);
    env = open_with(image, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(count(env), 5);
    store_check(env);
    larder_txn *txn;
    CHECK_STATUS(larder_txn_begin_write(env, &txn, NULL), LARDER_E_READ_ONLY);
    store_close(env);
    uint8_t *after = content_of(join(image, "data.mdb"), &sizes[2]);
    uint8_t *log_after = content_of(join(image, "data.wal"), &sizes[3]);
    CHECK(sizes[0] == sizes[2] && memcmp(before, after, sizes[0]) == 0);
    CHECK(sizes[1] == sizes[3] && memcmp(log_before, log_after, sizes[1]) == 0);
    free(before);
    free(after);
    free(log_before);
    free(log_after);
}

/* ---- earlier formats ---- */

/* What format 1 was: fewer tables, another number, and no log. */
static void make_format_1(const char *path) {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    uint8_t row[10] = "larder";
    row[LARDER__FORMAT_AT] = 1;
    MDB_val key = {1, "b"}, value = {sizeof row, row};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 20), 0);
    CHECK_EQ(mdb_env_open(env, path, 0, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, "catalog", 0, &table), 0);
    CHECK_EQ(mdb_put(txn, table, &key, &value, 0), 0);
    CHECK_EQ(mdb_dbi_open(txn, "nodes", 0, &table), 0);
    CHECK_EQ(mdb_drop(txn, table, 1), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    CHECK_EQ(unlink(join(path, "data.wal")), 0);
}

static void a_store_of_format_1_gets_a_log(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/store", test_directory());
    larder_env *env = open_with(path, LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    for (int i = 0; i < 5; i++)
        CHECK_OK(put(env, i, 500));
    store_close(env);
    make_format_1(path);
    CHECK_STATUS(
        larder_env_open(path, &(larder_env_options){.struct_bytes = 12, .flags = 2}, &env, NULL),
        LARDER_E_READ_ONLY);
    CHECK(access(join(path, "data.wal"), F_OK) != 0);
    env = open_with(path, 0, 0);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, 5, 500));
    CHECK(env->stored_format == LARDER_FORMAT_VERSION && env->wal->header.state == 0);
    store_close(env);
    check_count(path, 6);
}

/* ---- several processes ---- */

typedef struct partner {
    pid_t process;
    int orders, answers;
} partner;

enum { PARTNERS = 3 };
static partner partners[PARTNERS];

/* Opens the store as shared and makes a commit for each number that comes. */
static partner start_partner(const char *path) {
    int orders[2], answers[2];
    partner p = {-1, -1, -1};
    if (pipe(orders) != 0 || pipe(answers) != 0) return p;
    fflush(NULL);
    p.process = fork();
    if (p.process == 0) {
        larder_env *env = NULL;
        larder_env_options options;
        larder_env_options_init(&options, sizeof options);
        options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_SHARED;
        options.log_bytes = 65536;
        close(orders[1]);
        for (int i = 0; i < PARTNERS; i++) /* or the others would not notice their end */
            if (partners[i].process > 0) close(partners[i].orders);
        int32_t status = larder_env_open(path, &options, &env, &test_error);
        int number;
        while (status == LARDER_OK && read(orders[0], &number, sizeof number) > 0) {
            status = put(env, number, 700);
            if (write(answers[1], &status, sizeof status) < 0) break;
        }
        if (status != LARDER_OK) fprintf(stderr, "partner: %s\n", test_error.message);
        larder_env_close(env, NULL);
        _exit(status != LARDER_OK);
    }
    close(orders[0]);
    close(answers[1]);
    p.orders = orders[1];
    p.answers = answers[0];
    return p;
}

static void order(partner *p, int number) {
    int32_t status = LARDER_E_IO;
    CHECK_EQ(write(p->orders, &number, sizeof number), sizeof number);
    CHECK_EQ(read(p->answers, &status, sizeof status), sizeof status);
    CHECK_OK(status);
}

static void end_partner(partner *p, bool kills) {
    if (kills) kill(p->process, SIGKILL);
    close(p->orders);
    close(p->answers);
    int status;
    waitpid(p->process, &status, 0);
    p->process = -1;
    if (!kills) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void processes_share_a_log(void) {
    const char *root = test_directory();
    char path[4200], image[4200];
    snprintf(path, sizeof path, "%s/store", root);
    snprintf(image, sizeof image, "%s/image", root);
    for (int i = 0; i < PARTNERS; i++)
        partners[i] = start_partner(path);
    int number = 0;
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 25; i++)
            order(&partners[test_random_below(PARTNERS)], number++);
        make_image(path, image); /* nobody is in the middle of a commit */
        larder_env *env = open_with(image, 0, 0);
        REQUIRE(env != NULL);
        CHECK_EQ(count(env), number);
        store_check(env);
        CHECK_OK(larder_env_close(env, &test_error));
        size_t one = (size_t)test_random_below(PARTNERS);
        end_partner(&partners[one], round % 2);
        partners[one] = start_partner(path);
    }
    for (int i = 0; i < PARTNERS; i++)
        end_partner(&partners[i], true);
    check_count(path, number);
}

/* One that reads keeps its snapshot while the writer is killed and another one opens the store. */
static void a_reader_outlives_the_writer(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/store", test_directory());
    partner writer = start_partner(path);
    for (int i = 0; i < 10; i++)
        order(&writer, i);
    larder_env *env = open_with(path, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    const larder_txn *read = store_read(env);
    order(&writer, 10);
    end_partner(&writer, true);
    writer = start_partner(path);
    for (int i = 11; i < 120; i++)
        order(&writer, i);
    larder_document document;
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", i);
        CHECK_STATUS(larder_document_get(read, test_text(name), &document, &test_error),
                     i < 10 ? LARDER_OK : LARDER_NOT_FOUND);
    }
    larder_txn_end_read(read);
    CHECK_EQ(count(env), 120);
    store_close(env);
    end_partner(&writer, false);
    check_count(path, 120);
}

static larder_opening opening_of(larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    CHECK_OK(larder_env_opening(env, &opening, &test_error));
    return opening;
}

static void opening_says_what_it_found(void) {
    const char *root = test_directory();
    char image[4200];
    snprintf(image, sizeof image, "%s/image", root);
    larder_env *env = open_with(join(root, "store"), LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_CREATED);
    for (int i = 0; i < 5; i++)
        CHECK_OK(put(env, i, 10));
    make_image(join(root, "store"), image);
    uint64_t commit = store_stat(env).commit_number;
    larder_opening small = {.struct_bytes = 8};
    CHECK_STATUS(larder_env_opening(env, &small, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_env_opening(env, NULL, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_env_close(env, &test_error));

    env = open_with(join(root, "store"), 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_CLEAN);
    CHECK_EQ(opening_of(env).recovered_count, 0);
    CHECK_EQ(opening_of(env).commit_number, commit);
    CHECK_OK(larder_env_close(env, &test_error));

    env = open_with(image, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_RECOVERED);
    CHECK_EQ(opening_of(env).recovered_count, 5);
    CHECK_EQ(opening_of(env).commit_number, commit);
    CHECK_OK(larder_env_close(env, &test_error));

    size_t size; /* a meta page is blanked */
    uint8_t *content = content_of(join(image, "data.mdb"), &size);
    memset(content, 0, 4096);
    write_content(join(image, "data.mdb"), content, size);
    free(content);
    env = open_with(image, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_REPAIRED);
    CHECK_EQ(count(env), 5);
    CHECK_OK(larder_env_close(env, &test_error));
}

static larder__wal_state state_of(const char *directory) {
    larder__wal_header header = {.state = LARDER__WAL_UNUSED};
    int file = open(join(directory, "data.wal"), O_RDONLY);
    CHECK_OK(larder__wal_read_header(file, &header, &test_error));
    close(file);
    return header.state;
}

/* A record behind a header that says so is read all the same, and the header says so no longer. */
static void a_closed_log_is_known_to_have_no_records(void) {
    const char *root = test_directory();
    char image[4200], store[4200];
    snprintf(image, sizeof image, "%s/image", root);
    snprintf(store, sizeof store, "%s/store", root);
    larder_env *env = open_with(store, LARDER_OPEN_CREATE, 0);
    REQUIRE(env != NULL);
    CHECK_OK(put(env, 0, 10));
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    store_close(env);
    CHECK_EQ(state_of(store), LARDER__WAL_CLOSED);
    env = open_with(store, 0, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(state_of(store), LARDER__WAL_CLOSED); /* nothing was written */
    make_image(store, image);
    CHECK_OK(put(env, 1, 10));
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    check_count(image, 1);
    make_image(store, image);
    CHECK_OK(put(env, 2, 10));
    check_count(image, 2);
    make_image(store, image);
    store_close(env);
    check_count(store, 3);

    size_t size; /* the first of two records is damaged */
    uint8_t *log = content_of(join(image, "data.wal"), &size);
    log[LARDER__WAL_FIRST + LARDER__WAL_RECORD_HEAD + 3] ^= 1;
    write_content(join(image, "data.wal"), log, size);
    free(log);
    larder_env *opened = NULL;
    CHECK_STATUS(larder_env_open(image, NULL, &opened, NULL), LARDER_E_CORRUPT);
    /* Other processes append without looking at the state. */
    env = open_with(store, LARDER_OPEN_SHARED, 0);
    REQUIRE(env != NULL);
    CHECK_EQ(state_of(store), LARDER__WAL_ACTIVE);
    CHECK_OK(put(env, 3, 10));
    store_close(env);
    check_count(store, 4);
}

static const test_case cases[] = {
    {"a closed log is known to have no records", a_closed_log_is_known_to_have_no_records},
    {"opening says what it found", opening_says_what_it_found},
    {"what was committed is there", what_was_committed_is_there},
    {"the log alone has the commits", the_log_alone_has_the_commits},
    {"replaced pages are put back", replaced_pages_are_put_back},
    {"a checkpoint leaves the one before", a_checkpoint_leaves_the_one_before},
    {"many replaced pages are pinned", many_replaced_pages_are_pinned},
    {"a torn record at the end is cut, a damaged one before others is refused",
     a_torn_record_at_the_end_is_cut},
    {"a torn record of equal bytes is cut", a_torn_record_of_equal_bytes_is_cut},
    {"a damaged header leaves the other", a_damaged_header_leaves_the_other},
    {"the log of another store is refused", the_log_of_another_store_is_refused},
    {"a commit that does not fit is a checkpoint", a_commit_that_does_not_fit_is_a_checkpoint},
    {"reading changes nothing", reading_changes_nothing},
    {"a store of format 1 gets a log", a_store_of_format_1_gets_a_log},
    {"processes share a log", processes_share_a_log},
    {"a reader outlives the writer", a_reader_outlives_the_writer},
};
TEST_SUITE(wal, cases);

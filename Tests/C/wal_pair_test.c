/*
 * wal_pair_test.c - data files and write-ahead logs (wal.h) of different times of one store, and single
 * bits of them: opened with a commit that neither file goes beyond, or refused and left as they are.
 */
#include "life_kit.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- pairs ---- */

static void try_pairs(const life_kit *l) {
    int opened_count = 0, pair_count = 0;
    for (int data = 0; data < l->time_count; data++) {
        for (int log = 0; log < l->time_count; log++, pair_count++) {
            char what[64];
            snprintf(what, sizeof what, "data of time %d, log of time %d", data, log);
            uint64_t last = l->commits[data > log ? data : log];
            life_kit_make_image(l, data, log);
            larder_pages_report report = {.struct_bytes = sizeof report};
            bool is_whole = larder_check_pages(l->image, NULL, NULL, NULL, &report, NULL) == 0;
            bool is_opened = life_kit_try_image(l, last, (data + log) % 5 == 0, what);
            CHECK_NOTE(is_opened || data != log, "%s: %s", what, test_error.message);
            CHECK_NOTE(is_opened == is_whole, "%s: the check says something else", what);
            opened_count += is_opened;
        }
    }
    CHECK_NOTE(opened_count > l->time_count && opened_count < pair_count / 2, "%d of %d opened",
               opened_count, pair_count);
}

static void files_of_different_times_contradict_each_other(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "small", LARDER__WAL_SMALLEST);
    life_kit_run(l);
    store_close(l->env);
    try_pairs(l);
    free(l);
}

/* Commits that change the same rows use the same pages in turn: of two of them meta pages and the page of
 * the tables can have the same bytes. */
static void commits_that_are_alike(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "alike", 1 << 20);
    for (int time = 0; time < 24; time++) {
        for (int i = 0; i < 1 + time % 7; i++)
            life_kit_commit(l, 1, 700);
        life_kit_take_time(l);
        if (time % 4 != 3) continue;
        if (time % 8 == 3)
            life_kit_kill(l);
        else
            CHECK_OK(larder_env_close(l->env, &test_error));
        life_kit_open(l, 0);
    }
    store_close(l->env);
    try_pairs(l);
    free(l);
}

/* A log that keeps all records; records in parts; commits beyond them. */
static void a_large_log_and_large_commits(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "large", 0);
    static const struct {
        int documents;
        size_t size_bytes;
    } steps[] = {{1, 100},    {1, 200}, {4, LIFE_KIT_LARGEST}, {1, 100},
                 {1, 600000}, {1, 300}, {5, LIFE_KIT_LARGEST}, {1, 100}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        life_kit_commit(l, steps[i].documents, steps[i].size_bytes);
        life_kit_take_time(l);
    }
    store_close(l->env);
    try_pairs(l);
    free(l);
}

/* ---- damage ---- */

typedef struct damage {
    int file;
    size_t at, size; /* a bit of each of so many bytes in turn */
} damage;

static void flip(const life_kit *l, int time, damage d, int *opened_count) {
    life_kit_files whole = life_kit_read_files(life_kit_path_of(l, time));
    for (size_t at = d.at + test_random_below(2); at < d.at + d.size && at < whole.sizes[d.file];
         at += 1 + test_random_below(8)) {
        char what[64];
        uint8_t bit = (uint8_t)(1 << test_random_below(8));
        snprintf(what, sizeof what, "time %d: %s, byte %zu, bit %#x", time, life_kit_names[d.file],
                 at, (unsigned)bit);
        life_kit_make_image(l, time, time);
        whole.bytes[d.file][at] ^= bit;
        wal_kit_write(wal_kit_join(l->image, life_kit_names[d.file]), whole.bytes[d.file],
                      whole.sizes[d.file]);
        whole.bytes[d.file][at] ^= bit;
        *opened_count += life_kit_try_image(l, l->commits[time], test_random_below(8) == 0, what);
    }
    life_kit_free_files(whole);
}

/* The heads of the records that the header leads to, and all of the last one. */
static int list_records(const char *path, damage list[], int most) {
    larder__wal_header header;
    larder__buffer payload = {.allocator = &larder__default_allocator};
    int log = open(wal_kit_join(path, "data.wal"), O_RDONLY), count = 0;
    if (larder__wal_read_header(log, &header, NULL) != LARDER_OK) return 0;
    larder__wal_place place = {header.commit, header.start, header.chain};
    for (;;) {
        payload.size_bytes = 0;
        if (larder__wal_next(log, &header, &place, &payload, NULL) != LARDER_OK) break;
        size_t size = payload.size_bytes + LARDER__WAL_RECORD_HEAD;
        damage record = {1, (size_t)(place.end - larder__wal_whole_blocks(size)), size};
        if (count > 0) list[count - 1].size = LARDER__WAL_RECORD_HEAD;
        if (count < most) list[count++] = record;
    }
    if (count > 0 && list[count - 1].size > 400) list[count - 1].size = 400;
    larder__buffer_free(&payload);
    close(log);
    return count;
}

/* Whatever it is in: nothing that was acknowledged is passed over. */
static void a_bit_is_put_right_or_refused(void) {
    enum { RECORDS = 6 };
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "bits", LARDER__WAL_SMALLEST);
    life_kit_run(l);
    store_close(l->env);
    int opened_count = 0, record_count = 0;
    for (int i = 0; i < 5; i++) { /* the last one has records */
        int time = i == 4 ? l->time_count - 1 : 1 + (int)test_random_below((uint64_t)l->time_count);
        if (time == l->time_count) continue;
        damage list[RECORDS + 4] = {
            {0, 0, 152}, {0, 4096, 152}, {1, 0, 216}, {1, LARDER__WAL_BLOCK, 216}};
        int count = 4 + list_records(life_kit_path_of(l, time), list + 4, RECORDS);
        record_count += count - 4;
        for (int k = 0; k < count; k++)
            flip(l, time, list[k], &opened_count);
    }
    CHECK_NOTE(opened_count > 0 && record_count > 0, "%d opened", opened_count);
    free(l);
}

/* The last record, each header and each meta page. */
static void a_block_that_is_blank_is_put_right_or_refused(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "blocks", LARDER__WAL_SMALLEST);
    life_kit_run(l);
    store_close(l->env);
    for (int time = 0; time < l->time_count; time++) {
        damage list[64] = {{0, 0, 4096}, {0, 4096, 4096}, {1, 0, 4096}, {1, 4096, 4096}};
        int count = 4 + list_records(life_kit_path_of(l, time), list + 4, 60);
        if (count > 4) list[4] = list[count - 1]; /* the last one */
        life_kit_files whole = life_kit_read_files(life_kit_path_of(l, time));
        for (int k = 0; k < 4 + (count > 4); k++) {
            char what[64];
            uint8_t kept[4096];
            uint8_t *at = whole.bytes[list[k].file] + list[k].at;
            snprintf(what, sizeof what, "time %d: %s at %zu blank", time,
                     life_kit_names[list[k].file], list[k].at);
            life_kit_make_image(l, time, time);
            memcpy(kept, at, list[k].size);
            memset(at, 0, list[k].size);
            wal_kit_write(wal_kit_join(l->image, life_kit_names[list[k].file]),
                          whole.bytes[list[k].file], whole.sizes[list[k].file]);
            memcpy(at, kept, list[k].size);
            life_kit_try_image(l, l->commits[time], k == 4, what);
        }
        life_kit_free_files(whole);
    }
    free(l);
}

/* Pages are put back before a damaged one is met. */
static void a_damaged_page_leaves_the_files_as_they_are(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "pages", LARDER__WAL_DEFAULT);
    for (int i = 0; i < 20; i++) {
        life_kit_commit(l, i == 19 ? 4 * LIFE_KIT_DOCUMENTS : 1 + (i < 18),
                        2000); /* the last one: all leaves */
        if (i == 17) {         /* of what the last commit replaces there is no image yet */
            CHECK_OK(larder_env_close(l->env, &test_error));
            life_kit_open(l, 0);
        }
    }
    CHECK(l->env->wal->image_count > 0);
    life_kit_take_time(l);
    store_close(l->env);
    life_kit_files whole = life_kit_read_files(life_kit_path_of(l, 0));
    int refused_count = 0;
    for (size_t page = 2; (page + 1) * 4096 <= whole.sizes[0]; page++) {
        larder_env *env;
        uint8_t kept[4096];
        life_kit_make_image(l, 0, 0);
        memcpy(kept, whole.bytes[0] + page * 4096, sizeof kept);
        memset(whole.bytes[0] + page * 4096, 0, sizeof kept);
        wal_kit_write(wal_kit_join(l->image, "data.mdb"), whole.bytes[0], whole.sizes[0]);
        unlink(wal_kit_join(l->image, "lock.mdb"));
        if (life_kit_open_image(l, 0, LARDER_RECOVERY_FAIL, &env) == LARDER_OK) {
            CHECK_OK(larder_env_close(env, &test_error));
        } else {
            CHECK_EQ(test_error.status, LARDER_E_CORRUPT);
            life_kit_check_unchanged(l->image, whole, "a blank page");
            refused_count++;
        }
        memcpy(whole.bytes[0] + page * 4096, kept, sizeof kept);
    }
    CHECK(refused_count > 0);
    life_kit_free_files(whole);
    free(l);
}

/* ---- commits that are checkpoints ---- */

/* Its mark tells a commit that was interrupted from a record or a header that is lost. */
static void a_commit_that_was_interrupted_is_no_loss(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "whole", LARDER__WAL_SMALLEST);
    for (int i = 0; i < 5; i++)
        life_kit_commit(l, 2, 500);
    uint64_t before = l->last;
    life_kit_take_time(l); /* 0: before it */
    CHECK_OK(larder__wal_append_mark(l->env, before + 1, &test_error));
    life_kit_take_time(l); /* 1: marked */
    life_kit_commit(l, 1, LIFE_KIT_LARGE);
    life_kit_take_time(l); /* 2: made */
    store_close(l->env);
    larder_env *env;
    life_kit_make_image(l, 2, 1);
    CHECK_OK(life_kit_open_image(l, 0, LARDER_RECOVERY_FAIL, &env));
    REQUIRE(env != NULL);
    CHECK_EQ(life_kit_opening_of(env).state, LARDER_OPENING_RECOVERED);
    CHECK_EQ(life_kit_check_content(l, env, "interrupted"), before);
    CHECK_OK(larder_env_close(env, &test_error));
    life_kit_make_image(l, 1, 1);
    CHECK(life_kit_try_image(l, before, false, "marked"));
    life_kit_make_image(l, 2, 0);
    CHECK(!life_kit_try_image(l, before + 1, true, "no mark"));
    /* Of the header that made it durable a bit is wrong. */
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(life_kit_path_of(l, 2), "data.wal"), &size);
    larder__wal_header header;
    int file = open(wal_kit_join(life_kit_path_of(l, 2), "data.wal"), O_RDONLY);
    CHECK_OK(larder__wal_read_header(file, &header, &test_error));
    close(file);
    CHECK_EQ(header.commit, before + 1);
    life_kit_make_image(l, 2, 2);
    log[header.sequence % 2 * LARDER__WAL_BLOCK + 50] ^= 4;
    wal_kit_write(wal_kit_join(l->image, "data.wal"), log, size);
    CHECK(!life_kit_try_image(l, before + 1, true, "a damaged header"));
    free(log);
    free(l);
}

/* A process ended when a record was on disk and its commit was not; the next one's goes elsewhere. */
static void a_record_of_a_commit_that_was_not_made_is_not_taken(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "stale", LARDER__WAL_SMALLEST);
    larder__wal *wal = l->env->wal;
    uint64_t room = 0, at = 0;
    for (int i = 0; i < 200 && l->last < LIFE_KIT_COMMITS - 10; i++) {
        life_kit_commit(l, 1, 3000);
        room = larder__wal_find_room(wal, 1, &at);
        if (wal->last.end > wal->header.start && wal->header.start > 6 * LARDER__WAL_BLOCK &&
            room == LARDER__WAL_BLOCK)
            break;
    }
    REQUIRE(room == LARDER__WAL_BLOCK);
    larder_txn *txn = store_write(l->env);
    uint64_t end = wal->last.end;
    CHECK(larder__wal_put(txn, LARDER__CATALOG, test_text("stale"), test_text("value")));
    wal->is_imaging = false; /* without images, so that it fits */
    CHECK_OK(larder__wal_append(txn, &test_error));
    CHECK_EQ(wal->next.end, end + LARDER__WAL_BLOCK);
    larder_txn_abort(txn);
    life_kit_commit(l, 1, 6000);
    CHECK(wal->last.end < end);
    life_kit_take_time(l);
    life_kit_make_image(l, 0, 0);
    CHECK(life_kit_try_image(l, l->last, false, "a stale record"));
    store_close(l->env);
    free(l);
}

/* A checkpoint's pages were kept by a pin until the next one's header. */
static void a_header_whose_pages_were_released_is_not_used(void) {
    life_kit *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    life_kit_begin(l, "pinned", 1 << 20);
    larder__wal *wal = l->env->wal;
    while (wal->header.capacity_bytes < 1 << 20 && l->last < LIFE_KIT_COMMITS / 3)
        life_kit_commit(l, 3, 9000);
    CHECK_EQ(larder__wal_pin(l->env), 0);
    uint64_t sequence = wal->header.sequence, salt = wal->header.salt;
    while (wal->header.sequence == sequence && l->last < LIFE_KIT_COMMITS - 10)
        life_kit_commit(l, 3, 9000);
    CHECK(wal->header.sequence == sequence + 1 && wal->header.salt == salt);
    for (int i = 0; i < 5; i++)
        life_kit_commit(l, 2, 300);
    CHECK_EQ(wal->header.sequence, sequence + 1);
    life_kit_take_time(l);
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(life_kit_path_of(l, 0), "data.wal"), &size);
    memset(log + (sequence + 1) % 2 * LARDER__WAL_BLOCK, 0, LARDER__WAL_BLOCK);
    life_kit_make_image(l, 0, 0);
    wal_kit_write(wal_kit_join(l->image, "data.wal"), log, size);
    CHECK(!life_kit_try_image(l, l->last, true, "the header before"));
    store_close(l->env);
    free(log);
    free(l);
}

static const test_case cases[] = {
    {"files of different times are opened with the last commit or refused",
     files_of_different_times_contradict_each_other},
    {"the same with commits that are alike", commits_that_are_alike},
    {"the same with a large log and large commits", a_large_log_and_large_commits},
    {"a wrong bit is put right or refused", a_bit_is_put_right_or_refused},
    {"a blank block is put right or refused", a_block_that_is_blank_is_put_right_or_refused},
    {"a damaged page leaves the files as they are", a_damaged_page_leaves_the_files_as_they_are},
    {"a commit that was interrupted is no loss", a_commit_that_was_interrupted_is_no_loss},
    {"a record of a commit that was not made is not taken",
     a_record_of_a_commit_that_was_not_made_is_not_taken},
    {"a header whose pages were released is not used",
     a_header_whose_pages_were_released_is_not_used},
};
TEST_SUITE(wal_pair, cases);

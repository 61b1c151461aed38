/*
 * wal_pair_test.c - data files and write-ahead logs (wal.h) of different times of one store, and single
 * bits of them: opened with a commit that neither file goes beyond, or refused and left as they are.
 */
#include "wal_kit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DOCUMENTS = 12, TIMES = 40, COMMITS = 256, LARGE = 90000, LARGEST = 900000 };

/* What a document was written by, and its size; a commit of 0: it is not there. */
typedef struct written {
    uint64_t commit;
    size_t size_bytes;
} written;

typedef struct life {
    char store[4200], image[4200], root[4000];
    larder_env *env;
    uint64_t log_bytes, last;
    written documents[COMMITS][DOCUMENTS]; /* by the number of a commit */
    int time_count;
    uint64_t commits[TIMES]; /* the last one at a time */
} life;

/* ---- content ---- */

/* A record with bytes that cannot be compressed; borrowed until the next call. */
static larder_bytes record_of(int document, written w) {
    static uint8_t content[LARGEST + 1], bytes[LARGEST + 64];
    larder_builder *builder = NULL;
    larder_bytes plain = {0};
    uint64_t state = w.commit * 1000 + (uint64_t)document;
    for (size_t i = 0; i < w.size_bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        content[i] = (uint8_t)(state >> 56);
    }
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    larder_builder_begin_map(builder, NULL);
    larder_builder_name(builder, test_text("b"), NULL);
    larder_builder_bytes(builder, (larder_bytes){content, w.size_bytes}, NULL);
    larder_builder_end_map(builder, NULL);
    CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
    CHECK(plain.size_bytes <= sizeof bytes);
    if (plain.size_bytes <= sizeof bytes) memcpy(bytes, plain.data, plain.size_bytes);
    plain.data = bytes;
    larder_builder_close(builder);
    return plain;
}

static const char *name_of(int document) {
    static char name[32];
    snprintf(name, sizeof name, "c/%05d", document);
    return name;
}

/* One commit that puts or removes some documents. */
static void commit(life *l, int count, size_t size_bytes) {
    larder_txn *txn = store_write(l->env);
    uint64_t number = larder_txn_commit_number(txn);
    REQUIRE(txn != NULL && number == l->last + 1 && number < COMMITS);
    written *now = l->documents[number];
    memcpy(now, l->documents[l->last], sizeof l->documents[0]);
    l->last = number;
    for (int i = 0; i < count; i++) {
        int document = (int)test_random_below(DOCUMENTS);
        bool is_removed = now[document].commit != 0 && count > 1 && test_random_below(5) == 0;
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.state = LARDER_DOCUMENT_FOUND;
        info.version = info.read_time = (larder_time){(int64_t)number, 0, 0};
        now[document] = (written){is_removed ? 0 : number, size_bytes};
        if (is_removed)
            CHECK_OK(larder_document_remove(txn, test_text(name_of(document)), &test_error));
        else
            CHECK_OK(larder_document_put(txn, test_text(name_of(document)), &info,
                                         record_of(document, now[document]), &test_error));
    }
    CHECK_OK(larder_txn_commit(txn, &test_error));
    larder__wal_wait(l->env);
}

/* The commit that a store is at, whose content it has. */
static uint64_t check_content(const life *l, larder_env *env, const char *what) {
    const larder_txn *txn = store_read(env);
    uint64_t number = larder_txn_commit_number(txn);
    CHECK_NOTE(number <= l->last, "commit %llu", (unsigned long long)number);
    for (int i = 0; i < DOCUMENTS && number <= l->last; i++) {
        written w = l->documents[number][i];
        larder_document document;
        int32_t status = larder_document_get(txn, test_text(name_of(i)), &document, &test_error);
        bool is_right = w.commit == 0 ? status == LARDER_NOT_FOUND
                                      : status == LARDER_OK &&
                                            store_record_is(&document.record, record_of(i, w));
        CHECK_NOTE(is_right, "%s: document %d of commit %llu: %s", what, i,
                   (unsigned long long)number, larder_status_name(status));
    }
    larder_txn_end_read(txn);
    store_check(env);
    return number;
}

/* ---- a life ---- */

static const char *time_of(const life *l, int number) {
    static char paths[4][4200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/time-%d", l->root, number);
    return path;
}

static void take_time(life *l) {
    REQUIRE(l->time_count < TIMES);
    wal_kit_make_image(l->store, time_of(l, l->time_count));
    l->commits[l->time_count++] = l->last;
}

static void open_life(life *l, uint32_t flags) {
    l->env = wal_kit_open(l->store, flags, l->log_bytes);
    REQUIRE(l->env != NULL);
    l->last = store_stat(l->env).commit_number;
}

/* As after the end of its process. */
static void kill_life(life *l) {
    wal_kit_make_image(l->store, l->image);
    CHECK_OK(larder_env_close(l->env, &test_error));
    wal_kit_copy(l->image, l->store, "data.mdb");
    wal_kit_copy(l->image, l->store, "data.wal");
    unlink(wal_kit_join(l->store, "lock.mdb"));
}

static void begin_life(life *l, const char *name, uint64_t log_bytes) {
    memset(l, 0, sizeof *l);
    snprintf(l->root, sizeof l->root, "%s", wal_kit_join(test_memory_directory(), name));
    mkdir(l->root, 0755);
    snprintf(l->store, sizeof l->store, "%s/store", l->root);
    snprintf(l->image, sizeof l->image, "%s/image", l->root);
    l->log_bytes = log_bytes;
    open_life(l, LARDER_OPEN_CREATE);
}

/* Checkpoints, turns of the log, commits that are checkpoints, closing, kills, and times of being shared. */
static void live(life *l) {
    static const struct {
        int commits, documents;
        size_t size_bytes;
        char
            then; /* o: open on, c: closed and opened, k: killed and opened, s: the same, as shared */
    } steps[] = {{1, 2, 100, 'o'},   {3, 3, 300, 'o'},  {5, 2, 2000, 'k'}, {1, 1, LARGE, 'o'},
                 {2, 3, 100, 'c'},   {1, 1, 50, 'o'},   {9, 3, 4000, 'o'}, {1, 1, 50, 'o'},
                 {1, 1, LARGE, 'c'}, {9, 3, 3000, 'k'}, {1, 2, 100, 's'},  {4, 2, 2000, 'o'},
                 {1, 1, LARGE, 'o'}, {1, 2, 200, 'k'},  {12, 2, 3000, 'o'}};
    take_time(l);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (int k = 0; k < steps[i].commits; k++) {
            if (k > 0 && k == steps[i].commits - 1) take_time(l);
            commit(l, steps[i].documents, steps[i].size_bytes);
        }
        take_time(l);
        if (steps[i].then == 'o') continue;
        if (steps[i].then == 'c') {
            CHECK_OK(larder_env_close(l->env, &test_error));
            take_time(l);
        } else {
            kill_life(l);
        }
        open_life(l, steps[i].then == 's' ? LARDER_OPEN_SHARED : 0);
        take_time(l);
    }
}

/* ---- images ---- */

typedef struct contents {
    uint8_t *bytes[2];
    size_t sizes[2];
} contents;
static const char *const files[] = {"data.mdb", "data.wal"};

static contents read_files(const char *path) {
    contents c;
    for (int i = 0; i < 2; i++)
        c.bytes[i] = wal_kit_read(wal_kit_join(path, files[i]), &c.sizes[i]);
    return c;
}

static void free_files(contents c) {
    for (int i = 0; i < 2; i++)
        free(c.bytes[i]);
}

static void check_unchanged(const char *path, contents before, const char *what) {
    contents after = read_files(path);
    for (int i = 0; i < 2; i++)
        CHECK_NOTE(after.sizes[i] == before.sizes[i] &&
                       memcmp(after.bytes[i], before.bytes[i], after.sizes[i]) == 0,
                   "%s: %s has changed", what, files[i]);
    free_files(after);
}

static int32_t open_image(const life *l, uint32_t flags, int32_t recovery, larder_env **env) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.recovery = recovery;
    options.map_bytes = 64 << 20;
    *env = NULL;
    return larder_env_open(l->image, &options, env, &test_error);
}

static larder_opening opening_of(const larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    CHECK_OK(larder_env_opening(env, &opening, &test_error));
    return opening;
}

/* Set aside, it has all of the last commit, or says how many commits are lost. */
static void check_quarantine(const life *l, uint64_t last, const char *what) {
    larder_env *env;
    CHECK_OK(open_image(l, 0, LARDER_RECOVERY_QUARANTINE, &env));
    if (env == NULL) return;
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_QUARANTINED);
    store_check(env);
    const larder_txn *txn = store_read(env);
    for (int i = 0; i < DOCUMENTS && opening_of(env).lost_count == 0; i++) {
        written w = l->documents[last][i];
        larder_document document;
        int32_t status = larder_document_get(txn, test_text(name_of(i)), &document, &test_error);
        CHECK_NOTE(w.commit == 0
                       ? status == LARDER_NOT_FOUND
                       : status == LARDER_OK && store_record_is(&document.record, record_of(i, w)),
                   "%s: document %d is not commit %llu's", what, i, (unsigned long long)last);
    }
    larder_txn_end_read(txn);
    CHECK_OK(larder_env_close(env, &test_error));
}

/* Opens the image, which is at least at a commit, or is refused. Whether it is opened. */
static bool try_image(const life *l, uint64_t least, bool is_salvaged, const char *what) {
    larder_env *env;
    larder_pages_report report = {.struct_bytes = sizeof report};
    unlink(wal_kit_join(l->image, "lock.mdb"));
    contents before = read_files(l->image);
    bool is_read = test_random_below(3) == 0;
    int32_t reading =
        is_read ? open_image(l, LARDER_OPEN_READ_ONLY, LARDER_RECOVERY_FAIL, &env) : LARDER_OK;
    if (is_read && env != NULL) CHECK_OK(larder_env_close(env, &test_error));
    if (is_read) check_unchanged(l->image, before, what);
    int32_t status = open_image(l, 0, LARDER_RECOVERY_FAIL, &env);
    CHECK_NOTE(!is_read || reading == status, "%s: %s for reading, %s", what,
               larder_status_name(reading), larder_status_name(status));
    if (status == LARDER_OK) {
        uint64_t number = check_content(l, env, what);
        CHECK_NOTE(number >= least, "%s: commit %llu, not %llu", what, (unsigned long long)number,
                   (unsigned long long)least);
        CHECK_OK(wal_kit_put(env, 99999, 100));
        CHECK_OK(larder_env_close(env, &test_error));
    } else {
        CHECK_NOTE(status == LARDER_E_CORRUPT, "%s: %s: %s", what, larder_status_name(status),
                   test_error.message);
        CHECK_NOTE(larder_check_pages(l->image, NULL, NULL, NULL, &report, NULL) ==
                       LARDER_E_CORRUPT,
                   "%s: refused, and the check finds nothing", what);
        check_unchanged(l->image, before, what);
        if (is_salvaged) check_quarantine(l, least, what);
    }
    free_files(before);
    return status == LARDER_OK;
}

static void put_pair(const life *l, int data, int log) {
    mkdir(l->image, 0755);
    wal_kit_copy(time_of(l, data), l->image, "data.mdb");
    wal_kit_copy(time_of(l, log), l->image, "data.wal");
}

/* ---- pairs ---- */

static void try_pairs(const life *l) {
    int opened_count = 0, pair_count = 0;
    for (int data = 0; data < l->time_count; data++) {
        for (int log = 0; log < l->time_count; log++, pair_count++) {
            char what[64];
            snprintf(what, sizeof what, "data of time %d, log of time %d", data, log);
            uint64_t last = l->commits[data > log ? data : log];
            put_pair(l, data, log);
            larder_pages_report report = {.struct_bytes = sizeof report};
            bool is_whole = larder_check_pages(l->image, NULL, NULL, NULL, &report, NULL) == 0;
            bool is_opened = try_image(l, last, (data + log) % 5 == 0, what);
            CHECK_NOTE(is_opened || data != log, "%s: %s", what, test_error.message);
            CHECK_NOTE(is_opened == is_whole, "%s: the check says something else", what);
            opened_count += is_opened;
        }
    }
    CHECK_NOTE(opened_count > l->time_count && opened_count < pair_count / 2, "%d of %d opened",
               opened_count, pair_count);
}

static void files_of_different_times_contradict_each_other(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "small", LARDER__WAL_SMALLEST);
    live(l);
    store_close(l->env);
    try_pairs(l);
    free(l);
}

/* Commits that change the same rows use the same pages in turn: of two of them meta pages and the page of
 * the tables can have the same bytes. */
static void commits_that_are_alike(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "alike", 1 << 20);
    for (int time = 0; time < 24; time++) {
        for (int i = 0; i < 1 + time % 7; i++)
            commit(l, 1, 700);
        take_time(l);
        if (time % 4 != 3) continue;
        if (time % 8 == 3)
            kill_life(l);
        else
            CHECK_OK(larder_env_close(l->env, &test_error));
        open_life(l, 0);
    }
    store_close(l->env);
    try_pairs(l);
    free(l);
}

/* A log that keeps all records; records in parts; commits beyond them. */
static void a_large_log_and_large_commits(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "large", 0);
    static const struct {
        int documents;
        size_t size_bytes;
    } steps[] = {{1, 100},    {1, 200}, {4, LARGEST}, {1, 100},
                 {1, 600000}, {1, 300}, {5, LARGEST}, {1, 100}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        commit(l, steps[i].documents, steps[i].size_bytes);
        take_time(l);
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

static void flip(const life *l, int time, damage d, int *opened_count) {
    contents whole = read_files(time_of(l, time));
    for (size_t at = d.at + test_random_below(2); at < d.at + d.size && at < whole.sizes[d.file];
         at += 1 + test_random_below(8)) {
        char what[64];
        uint8_t bit = (uint8_t)(1 << test_random_below(8));
        snprintf(what, sizeof what, "time %d: %s, byte %zu, bit %#x", time, files[d.file], at,
                 (unsigned)bit);
        put_pair(l, time, time);
        whole.bytes[d.file][at] ^= bit;
        wal_kit_write(wal_kit_join(l->image, files[d.file]), whole.bytes[d.file],
                      whole.sizes[d.file]);
        whole.bytes[d.file][at] ^= bit;
        *opened_count += try_image(l, l->commits[time], test_random_below(8) == 0, what);
    }
    free_files(whole);
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
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "bits", LARDER__WAL_SMALLEST);
    live(l);
    store_close(l->env);
    int opened_count = 0, record_count = 0;
    for (int i = 0; i < 5; i++) { /* the last one has records */
        int time = i == 4 ? l->time_count - 1 : 1 + (int)test_random_below((uint64_t)l->time_count);
        if (time == l->time_count) continue;
        damage list[RECORDS + 4] = {
            {0, 0, 152}, {0, 4096, 152}, {1, 0, 216}, {1, LARDER__WAL_BLOCK, 216}};
        int count = 4 + list_records(time_of(l, time), list + 4, RECORDS);
        record_count += count - 4;
        for (int k = 0; k < count; k++)
            flip(l, time, list[k], &opened_count);
    }
    CHECK_NOTE(opened_count > 0 && record_count > 0, "%d opened", opened_count);
    free(l);
}

/* The last record, each header and each meta page. */
static void a_block_that_is_blank_is_put_right_or_refused(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "blocks", LARDER__WAL_SMALLEST);
    live(l);
    store_close(l->env);
    for (int time = 0; time < l->time_count; time++) {
        damage list[64] = {{0, 0, 4096}, {0, 4096, 4096}, {1, 0, 4096}, {1, 4096, 4096}};
        int count = 4 + list_records(time_of(l, time), list + 4, 60);
        if (count > 4) list[4] = list[count - 1]; /* the last one */
        contents whole = read_files(time_of(l, time));
        for (int k = 0; k < 4 + (count > 4); k++) {
            char what[64];
            uint8_t kept[4096];
            uint8_t *at = whole.bytes[list[k].file] + list[k].at;
            snprintf(what, sizeof what, "time %d: %s at %zu blank", time, files[list[k].file],
                     list[k].at);
            put_pair(l, time, time);
            memcpy(kept, at, list[k].size);
            memset(at, 0, list[k].size);
            wal_kit_write(wal_kit_join(l->image, files[list[k].file]), whole.bytes[list[k].file],
                          whole.sizes[list[k].file]);
            memcpy(at, kept, list[k].size);
            try_image(l, l->commits[time], k == 4, what);
        }
        free_files(whole);
    }
    free(l);
}

/* Pages are put back before a damaged one is met. */
static void a_damaged_page_leaves_the_files_as_they_are(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "pages", LARDER__WAL_DEFAULT);
    for (int i = 0; i < 20; i++) {
        commit(l, i == 19 ? 4 * DOCUMENTS : 1 + (i < 18), 2000); /* the last one: all leaves */
        if (i == 17) { /* of what the last commit replaces there is no image yet */
            CHECK_OK(larder_env_close(l->env, &test_error));
            open_life(l, 0);
        }
    }
    CHECK(l->env->wal->image_count > 0);
    take_time(l);
    store_close(l->env);
    contents whole = read_files(time_of(l, 0));
    int refused_count = 0;
    for (size_t page = 2; (page + 1) * 4096 <= whole.sizes[0]; page++) {
        larder_env *env;
        uint8_t kept[4096];
        put_pair(l, 0, 0);
        memcpy(kept, whole.bytes[0] + page * 4096, sizeof kept);
        memset(whole.bytes[0] + page * 4096, 0, sizeof kept);
        wal_kit_write(wal_kit_join(l->image, "data.mdb"), whole.bytes[0], whole.sizes[0]);
        unlink(wal_kit_join(l->image, "lock.mdb"));
        if (open_image(l, 0, LARDER_RECOVERY_FAIL, &env) == LARDER_OK) {
            CHECK_OK(larder_env_close(env, &test_error));
        } else {
            CHECK_EQ(test_error.status, LARDER_E_CORRUPT);
            check_unchanged(l->image, whole, "a blank page");
            refused_count++;
        }
        memcpy(whole.bytes[0] + page * 4096, kept, sizeof kept);
    }
    CHECK(refused_count > 0);
    free_files(whole);
    free(l);
}

/* ---- commits that are checkpoints ---- */

/* Its mark tells a commit that was interrupted from a record or a header that is lost. */
static void a_commit_that_was_interrupted_is_no_loss(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "whole", LARDER__WAL_SMALLEST);
    for (int i = 0; i < 5; i++)
        commit(l, 2, 500);
    uint64_t before = l->last;
    take_time(l); /* 0: before it */
    CHECK_OK(larder__wal_append_mark(l->env, before + 1, &test_error));
    take_time(l); /* 1: marked */
    commit(l, 1, LARGE);
    take_time(l); /* 2: made */
    store_close(l->env);
    larder_env *env;
    put_pair(l, 2, 1);
    CHECK_OK(open_image(l, 0, LARDER_RECOVERY_FAIL, &env));
    REQUIRE(env != NULL);
    CHECK_EQ(opening_of(env).state, LARDER_OPENING_RECOVERED);
    CHECK_EQ(check_content(l, env, "interrupted"), before);
    CHECK_OK(larder_env_close(env, &test_error));
    put_pair(l, 1, 1);
    CHECK(try_image(l, before, false, "marked"));
    put_pair(l, 2, 0);
    CHECK(!try_image(l, before + 1, true, "no mark"));
    /* Of the header that made it durable a bit is wrong. */
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(time_of(l, 2), "data.wal"), &size);
    larder__wal_header header;
    int file = open(wal_kit_join(time_of(l, 2), "data.wal"), O_RDONLY);
    CHECK_OK(larder__wal_read_header(file, &header, &test_error));
    close(file);
    CHECK_EQ(header.commit, before + 1);
    put_pair(l, 2, 2);
    log[header.sequence % 2 * LARDER__WAL_BLOCK + 50] ^= 4;
    wal_kit_write(wal_kit_join(l->image, "data.wal"), log, size);
    CHECK(!try_image(l, before + 1, true, "a damaged header"));
    free(log);
    free(l);
}

/* A process ended when a record was on disk and its commit was not; the next one's goes elsewhere. */
static void a_record_of_a_commit_that_was_not_made_is_not_taken(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "stale", LARDER__WAL_SMALLEST);
    larder__wal *wal = l->env->wal;
    uint64_t room = 0, at = 0;
    for (int i = 0; i < 200 && l->last < COMMITS - 10; i++) {
        commit(l, 1, 3000);
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
    commit(l, 1, 6000);
    CHECK(wal->last.end < end);
    take_time(l);
    put_pair(l, 0, 0);
    CHECK(try_image(l, l->last, false, "a stale record"));
    store_close(l->env);
    free(l);
}

/* A checkpoint's pages were kept by a pin until the next one's header. */
static void a_header_whose_pages_were_released_is_not_used(void) {
    life *l = malloc(sizeof *l);
    REQUIRE(l != NULL);
    begin_life(l, "pinned", 1 << 20);
    larder__wal *wal = l->env->wal;
    while (wal->header.capacity_bytes < 1 << 20 && l->last < COMMITS / 3)
        commit(l, 3, 9000);
    CHECK_EQ(larder__wal_pin(l->env), 0);
    uint64_t sequence = wal->header.sequence, salt = wal->header.salt;
    while (wal->header.sequence == sequence && l->last < COMMITS - 10)
        commit(l, 3, 9000);
    CHECK(wal->header.sequence == sequence + 1 && wal->header.salt == salt);
    for (int i = 0; i < 5; i++)
        commit(l, 2, 300);
    CHECK_EQ(wal->header.sequence, sequence + 1);
    take_time(l);
    size_t size;
    uint8_t *log = wal_kit_read(wal_kit_join(time_of(l, 0), "data.wal"), &size);
    memset(log + (sequence + 1) % 2 * LARDER__WAL_BLOCK, 0, LARDER__WAL_BLOCK);
    put_pair(l, 0, 0);
    wal_kit_write(wal_kit_join(l->image, "data.wal"), log, size);
    CHECK(!try_image(l, l->last, true, "the header before"));
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

/* life_kit.c - see life_kit.h. */
#include "life_kit.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- content ---- */

/* A record with bytes that cannot be compressed; borrowed until the next call. */
static larder_bytes record_of(int document, life_kit_written w) {
    static uint8_t content[LIFE_KIT_LARGEST + 1], bytes[LIFE_KIT_LARGEST + 64];
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
void life_kit_commit(life_kit *l, int count, size_t size_bytes) {
    larder_txn *txn = store_write(l->env);
    uint64_t number = larder_txn_commit_number(txn);
    REQUIRE(txn != NULL && number == l->last + 1 && number < LIFE_KIT_COMMITS);
    life_kit_written *now = l->documents[number];
    memcpy(now, l->documents[l->last], sizeof l->documents[0]);
    l->last = number;
    for (int i = 0; i < count; i++) {
        int document = (int)test_random_below(LIFE_KIT_DOCUMENTS);
        bool is_removed = now[document].commit != 0 && count > 1 && test_random_below(5) == 0;
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.state = LARDER_DOCUMENT_FOUND;
        info.version = info.read_time = (larder_time){(int64_t)number, 0, 0};
        now[document] = (life_kit_written){is_removed ? 0 : number, size_bytes};
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
uint64_t life_kit_check_content(const life_kit *l, larder_env *env, const char *what) {
    const larder_txn *txn = store_read(env);
    uint64_t number = larder_txn_commit_number(txn);
    CHECK_NOTE(number <= l->last, "commit %llu", (unsigned long long)number);
    for (int i = 0; i < LIFE_KIT_DOCUMENTS && number <= l->last; i++) {
        life_kit_written w = l->documents[number][i];
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

/* ---- times ---- */

const char *life_kit_path_of(const life_kit *l, int number) {
    static char paths[4][4200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/time-%d", l->root, number);
    return path;
}

void life_kit_take_time(life_kit *l) {
    REQUIRE(l->time_count < LIFE_KIT_TIMES);
    wal_kit_make_image(l->store, life_kit_path_of(l, l->time_count));
    l->commits[l->time_count++] = l->last;
}

void life_kit_open(life_kit *l, uint32_t flags) {
    l->env = wal_kit_open(l->store, flags, l->log_bytes);
    REQUIRE(l->env != NULL);
    l->last = store_stat(l->env).commit_number;
}

/* As after the end of its process. */
void life_kit_kill(life_kit *l) {
    wal_kit_make_image(l->store, l->image);
    CHECK_OK(larder_env_close(l->env, &test_error));
    wal_kit_copy(l->image, l->store, "data.mdb");
    wal_kit_copy(l->image, l->store, "data.wal");
    unlink(wal_kit_join(l->store, "lock.mdb"));
}

void life_kit_begin(life_kit *l, const char *name, uint64_t log_bytes) {
    memset(l, 0, sizeof *l);
    snprintf(l->root, sizeof l->root, "%s", wal_kit_join(test_memory_directory(), name));
    mkdir(l->root, 0755);
    snprintf(l->store, sizeof l->store, "%s/store", l->root);
    snprintf(l->image, sizeof l->image, "%s/image", l->root);
    l->log_bytes = log_bytes;
    life_kit_open(l, LARDER_OPEN_CREATE);
}

/* Checkpoints, turns of the log, commits that are checkpoints, closing, kills, and times of being shared. */
void life_kit_run(life_kit *l) {
    static const struct {
        int commits, documents;
        size_t size_bytes;
        char
            then; /* o: open on, c: closed and opened, k: killed and opened, s: the same, as shared */
    } steps[] = {{1, 2, 100, 'o'},
                 {3, 3, 300, 'o'},
                 {5, 2, 2000, 'k'},
                 {1, 1, LIFE_KIT_LARGE, 'o'},
                 {2, 3, 100, 'c'},
                 {1, 1, 50, 'o'},
                 {9, 3, 4000, 'o'},
                 {1, 1, 50, 'o'},
                 {1, 1, LIFE_KIT_LARGE, 'c'},
                 {9, 3, 3000, 'k'},
                 {1, 2, 100, 's'},
                 {4, 2, 2000, 'o'},
                 {1, 1, LIFE_KIT_LARGE, 'o'},
                 {1, 2, 200, 'k'},
                 {12, 2, 3000, 'o'}};
    life_kit_take_time(l);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (int k = 0; k < steps[i].commits; k++) {
            if (k > 0 && k == steps[i].commits - 1) life_kit_take_time(l);
            life_kit_commit(l, steps[i].documents, steps[i].size_bytes);
        }
        life_kit_take_time(l);
        if (steps[i].then == 'o') continue;
        if (steps[i].then == 'c') {
            CHECK_OK(larder_env_close(l->env, &test_error));
            life_kit_take_time(l);
        } else {
            life_kit_kill(l);
        }
        life_kit_open(l, steps[i].then == 's' ? LARDER_OPEN_SHARED : 0);
        life_kit_take_time(l);
    }
}

/* ---- images ---- */

const char *const life_kit_names[2] = {"data.mdb", "data.wal"};

life_kit_files life_kit_read_files(const char *path) {
    life_kit_files c;
    for (int i = 0; i < 2; i++)
        c.bytes[i] = wal_kit_read(wal_kit_join(path, life_kit_names[i]), &c.sizes[i]);
    return c;
}

void life_kit_free_files(life_kit_files c) {
    for (int i = 0; i < 2; i++)
        free(c.bytes[i]);
}

void life_kit_check_unchanged(const char *path, life_kit_files before, const char *what) {
    life_kit_files after = life_kit_read_files(path);
    for (int i = 0; i < 2; i++)
        CHECK_NOTE(after.sizes[i] == before.sizes[i] &&
                       memcmp(after.bytes[i], before.bytes[i], after.sizes[i]) == 0,
                   "%s: %s has changed", what, life_kit_names[i]);
    life_kit_free_files(after);
}

int32_t life_kit_open_image(const life_kit *l, uint32_t flags, int32_t recovery, larder_env **env) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.recovery = recovery;
    options.map_bytes = 64 << 20;
    *env = NULL;
    return larder_env_open(l->image, &options, env, &test_error);
}

larder_opening life_kit_opening_of(const larder_env *env) {
    larder_opening opening = {.struct_bytes = sizeof opening};
    CHECK_OK(larder_env_opening(env, &opening, &test_error));
    return opening;
}

/* Set aside, it has all of the last commit, or says how many commits are lost. */
static void check_quarantine(const life_kit *l, uint64_t last, const char *what) {
    larder_env *env;
    CHECK_OK(life_kit_open_image(l, 0, LARDER_RECOVERY_QUARANTINE, &env));
    if (env == NULL) return;
    CHECK_EQ(life_kit_opening_of(env).state, LARDER_OPENING_QUARANTINED);
    store_check(env);
    const larder_txn *txn = store_read(env);
    for (int i = 0; i < LIFE_KIT_DOCUMENTS && life_kit_opening_of(env).lost_count == 0; i++) {
        life_kit_written w = l->documents[last][i];
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
bool life_kit_try_image(const life_kit *l, uint64_t least, bool is_salvaged, const char *what) {
    larder_env *env;
    larder_pages_report report = {.struct_bytes = sizeof report};
    unlink(wal_kit_join(l->image, "lock.mdb"));
    life_kit_files before = life_kit_read_files(l->image);
    bool is_read = test_random_below(3) == 0;
    int32_t reading =
        is_read ? life_kit_open_image(l, LARDER_OPEN_READ_ONLY, LARDER_RECOVERY_FAIL, &env)
                : LARDER_OK;
    if (is_read && env != NULL) CHECK_OK(larder_env_close(env, &test_error));
    if (is_read) life_kit_check_unchanged(l->image, before, what);
    int32_t status = life_kit_open_image(l, 0, LARDER_RECOVERY_FAIL, &env);
    CHECK_NOTE(!is_read || reading == status, "%s: %s for reading, %s", what,
               larder_status_name(reading), larder_status_name(status));
    if (status == LARDER_OK) {
        uint64_t number = life_kit_check_content(l, env, what);
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
        life_kit_check_unchanged(l->image, before, what);
        if (is_salvaged) check_quarantine(l, least, what);
    }
    life_kit_free_files(before);
    return status == LARDER_OK;
}

void life_kit_make_image(const life_kit *l, int data, int log) {
    mkdir(l->image, 0755);
    wal_kit_copy(life_kit_path_of(l, data), l->image, "data.mdb");
    wal_kit_copy(life_kit_path_of(l, log), l->image, "data.wal");
}

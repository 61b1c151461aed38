/* wal_kit.c - see wal_kit.h. */
#include "wal_kit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *wal_kit_join(const char *directory, const char *name) {
    static char paths[4][4400];
    static int next;
    char text[4400];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    char *path = paths[next++ % 4];
    memcpy(path, text, sizeof text);
    return path;
}

uint8_t *wal_kit_read(const char *path, size_t *size) {
    struct stat info;
    int file = open(path, O_RDONLY);
    *size = file >= 0 && fstat(file, &info) == 0 ? (size_t)info.st_size : 0;
    uint8_t *content = malloc(*size + 1);
    if (content && read(file, content, *size) != (ssize_t)*size) *size = 0;
    if (file >= 0) close(file);
    return content;
}

void wal_kit_write(const char *path, const uint8_t *content, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK_EQ(write(file, content, size), (ssize_t)size);
    close(file);
}

/* In the kernel: a log has 16 MiB, and sanitizers track each byte that is read into memory. */
void wal_kit_copy(const char *from, const char *to, const char *name) {
    int source = open(wal_kit_join(from, name), O_RDONLY);
    int copy = open(wal_kit_join(to, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct stat info = {0};
    CHECK(source >= 0 && copy >= 0 && fstat(source, &info) == 0 && info.st_size > 0);
    off_t left = info.st_size;
    while (left > 0) {
        ssize_t copied = copy_file_range(source, NULL, copy, NULL, (size_t)left, 0);
        if (copied <= 0) break;
        left -= copied;
    }
    CHECK_EQ(left, 0);
    close(source);
    close(copy);
}

void wal_kit_make_image(const char *from, const char *to) {
    mkdir(to, 0755);
    unlink(wal_kit_join(to, "lock.mdb"));
    wal_kit_copy(from, to, "data.mdb");
    wal_kit_copy(from, to, "data.wal");
}

larder_env *wal_kit_open(const char *path, uint32_t flags, uint64_t log_bytes) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.map_bytes = 64 << 20; /* of which several are open */
    options.log_bytes = log_bytes;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

int32_t wal_kit_put(larder_env *env, int number, size_t text_bytes) {
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

int wal_kit_count(larder_env *env) {
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

void wal_kit_check_count(const char *path, int expected) {
    static const uint32_t ways[] = {LARDER_OPEN_READ_ONLY, LARDER_OPEN_CREATE, LARDER_OPEN_SHARED};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        larder_env *env = wal_kit_open(path, ways[i], 0);
        if (env == NULL) return;
        CHECK_EQ(wal_kit_count(env), expected);
        store_check(env);
        CHECK_OK(larder_env_close(env, &test_error));
    }
}

larder_env *wal_kit_open_grown(const char *path, int *number) {
    larder_env *env = wal_kit_open(path, LARDER_OPEN_CREATE, 0);
    for (*number = 0; env != NULL && *number < 10000; ++*number) {
        CHECK_OK(wal_kit_put(env, *number, 500));
        larder__wal_wait(env);
        if (env->wal->header.capacity_bytes == LARDER__WAL_DEFAULT && *number > 1000) break;
    }
    ++*number;
    if (env != NULL) CHECK_OK(larder_env_close(env, &test_error));
    return wal_kit_open(path, 0, 0);
}

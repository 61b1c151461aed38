/* env_kit.c - stores, files and child processes for tests of environments (env_kit.h). */
#include "env_kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- stores and files ---- */

larder_env_options env_kit_defaults(void) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    return options;
}

larder_env *env_kit_open_store(const char *path, uint32_t flags) {
    larder_env_options options = env_kit_defaults();
    options.flags = flags;
    larder_env *env = NULL;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

int32_t env_kit_open_status(const char *path, uint32_t flags) {
    larder_env_options options = env_kit_defaults();
    options.flags = flags;
    larder_env *env = NULL;
    larder_error error = {0};
    int32_t status = larder_env_open(path, &options, &env, &error);
    if (status == LARDER_OK)
        larder_env_close(env, NULL);
    else
        CHECK_NOTE(error.status == status && error.message[0] != 0, "the error is not filled");
    CHECK(status == LARDER_OK || env == NULL);
    return status;
}

int32_t env_kit_put_in(larder_txn *txn, const char *name) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_ABSENT;
    info.version.seconds = info.read_time.seconds = 5;
    return larder_document_put(txn, test_text(name), &info, (larder_bytes){NULL, 0}, &test_error);
}

int32_t env_kit_put(larder_env *env, const char *name) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    status = env_kit_put_in(txn, name);
    if (status != LARDER_OK) {
        larder_txn_abort(txn);
        return status;
    }
    return larder_txn_commit(txn, &test_error);
}

int32_t env_kit_get(larder_env *env, const char *name) {
    const larder_txn *txn;
    int32_t status = larder_txn_begin_read(env, &txn, &test_error);
    if (status != LARDER_OK) return status;
    larder_document document;
    status = larder_document_get(txn, test_text(name), &document, &test_error);
    larder_txn_end_read(txn);
    return status;
}

char *env_kit_join(const char *directory, const char *name) {
    static char paths[16][1024];
    static int next;
    char text[1024];
    snprintf(text, sizeof text, "%s/%s", directory, name);
    char *path = paths[next++ % 16];
    memcpy(path, text, sizeof text);
    return path;
}

int env_kit_descriptor_count(void) {
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    if (!entries) return -1;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

void env_kit_write_file(const char *path, const void *data, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    REQUIRE(file >= 0);
    CHECK_EQ(write(file, data, size), (ssize_t)size);
    close(file);
}

off_t env_kit_file_size(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : -1;
}

/* ---- child processes ---- */

env_kit_child env_kit_child_start(env_kit_work work, void *context) {
    env_kit_child c = {-1, -1};
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) return c;
    c.process = fork();
    if (c.process == 0) {
        close(ends[0]);
        const char *text = work(context);
        if (text && write(ends[1], text, strlen(text)) < 0) _exit(2);
        _exit(0);
    }
    close(ends[1]);
    c.result = ends[0];
    return c;
}

void env_kit_child_finish(env_kit_child c) {
    char text[512];
    ssize_t size = read(c.result, text, sizeof text - 1);
    text[size < 0 ? 0 : size] = 0;
    int status = 0;
    waitpid(c.process, &status, 0);
    close(c.result);
    CHECK_NOTE(text[0] == 0, "child: %s", text);
    CHECK_NOTE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: wait status %#x",
               (unsigned)status);
}

void env_kit_in_child(env_kit_work work, void *context) {
    env_kit_child_finish(env_kit_child_start(work, context));
}

void env_kit_send_byte(int to) { CHECK_EQ(write(to, "x", 1), 1); }
bool env_kit_await_byte(int from) {
    char byte;
    return read(from, &byte, 1) == 1;
}

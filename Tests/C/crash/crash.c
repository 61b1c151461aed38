/*
 * crash.c - see crash.h.
 */
#include "crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long passed, failed;

static void stop(const char *what) {
    perror(what);
    exit(3);
}

/* ---- options ---- */

const char *crash_option(int argc, char **argv, const char *name, const char *fallback) {
    for (int i = 1; i + 1 < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) return argv[i + 1];
    return fallback;
}
long crash_number(int argc, char **argv, const char *name, long fallback) {
    const char *text = crash_option(argc, argv, name, NULL);
    return text ? strtol(text, NULL, 0) : fallback;
}
bool crash_flag(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) return true;
    return false;
}
uint64_t crash_seed(int argc, char **argv) {
    const char *text = crash_option(argc, argv, "seed", NULL);
    uint64_t seed =
        text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    printf("seed %llu (--seed to run the same again)\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

/* ---- directories ---- */

static char directory[PATH_MAX];
static pid_t directory_owner;

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}
void crash_remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static void remove_directory(void) {
    if (getpid() == directory_owner) crash_remove_tree(directory);
}

const char *crash_directory(int argc, char **argv, bool in_memory) {
    const char *root = crash_option(argc, argv, "dir", NULL);
    if (root) mkdir(root, 0777);
    if (!root && in_memory && access("/dev/shm", W_OK) == 0) root = "/dev/shm";
    if (!root) root = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/larder-crash-XXXXXX", root && *root ? root : "/tmp");
    if (!mkdtemp(directory)) stop(directory);
    directory_owner = getpid();
    atexit(remove_directory);
    return directory;
}

static void copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (in < 0 || out < 0) stop(from);
    static char buffer[65536];
    ssize_t size;
    while ((size = read(in, buffer, sizeof buffer)) > 0)
        if (write(out, buffer, (size_t)size) != size) stop(to);
    close(in);
    close(out);
}

void crash_copy_tree(const char *from, const char *to) {
    mkdir(to, 0777);
    DIR *entries = opendir(from);
    if (!entries) stop(from);
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char source[PATH_MAX], target[PATH_MAX];
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
        if (entry->d_type == DT_DIR)
            crash_copy_tree(source, target);
        else
            copy_file(source, target);
    }
    closedir(entries);
}

/* ---- results ---- */

void crash_pass(void) { passed++; }
void crash_fail(const char *format, ...) {
    failed++;
    if (failed > 50) return;
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
}
long crash_failures(void) { return failed; }
int crash_finish(void) {
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

/* ---- children ---- */

int crash_child(int (*work)(void *context), void *context, unsigned limit_seconds) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) stop("fork");
    if (child == 0) {
        alarm(limit_seconds);
        int result = work(context);
        fflush(NULL);
        _exit(result);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) stop("waitpid");
    return WIFSIGNALED(status) ? -1 - WTERMSIG(status) : WEXITSTATUS(status);
}

int32_t crash_compare(const char *path, mirror *expected, bool lenient) {
    larder_env *env;
    larder_error error = {0};
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = 0;
    int32_t status = larder_env_open(path, &options, &env, &error);
    if (status != LARDER_OK) {
        mirror_problem("open: %s: %s", larder_status_name(status), error.message);
        return status;
    }
    const larder_txn *txn;
    status = larder_txn_begin_read(env, &txn, &error);
    if (status != LARDER_OK)
        mirror_problem("begin_read: %s", error.message);
    else {
        if (lenient) mirror_reconcile(expected, txn);
        mirror_verify(expected, txn, NULL);
        mirror_check(txn);
        larder_txn_end_read(txn);
    }
    int32_t closed = larder_env_close(env, &error);
    if (closed != LARDER_OK) mirror_problem("close: %s", error.message);
    if (larder_live_handle_count() != 0)
        mirror_problem("%lld handles are left", (long long)larder_live_handle_count());
    return LARDER_OK;
}

int crash_descriptor_count(void) {
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    if (!entries) stop("/proc/self/fd");
    while (readdir(entries))
        count++;
    closedir(entries);
    return count - 3; /* ".", ".." and the directory itself */
}

void crash_fix_addresses(char **argv) {
    int now = personality(0xffffffff); /* asks */
    if (now < 0 || (now & ADDR_NO_RANDOMIZE) != 0) return;
    if (personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0) return;
    execv("/proc/self/exe", argv);
    stop("execv");
}

void crash_preload(char **argv, const char *shim) {
    const char *loaded = getenv("LD_PRELOAD");
    if (loaded && strstr(loaded, shim)) return;
    char program[PATH_MAX], path[PATH_MAX + 64];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size < 0) stop("/proc/self/exe");
    program[size] = 0;
    *strrchr(program, '/') = 0;
    snprintf(path, sizeof path, "%s/%s", program, shim);
    if (access(path, R_OK) != 0) stop(path);
    setenv("LD_PRELOAD", path, 1);
    execv("/proc/self/exe", argv);
    stop("execv");
}

void *crash_must(void *memory) {
    if (memory != NULL) return memory;
    fprintf(stderr, "out of memory\n");
    exit(3);
}

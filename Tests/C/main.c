/*
 * main.c - runs the suites of suites.h.
 *
 * Suites are weak symbols, so that a part of the tests can be linked and run by name. A run
 * without a name fails when a listed suite is missing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include "suites.h"
#include "test.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define DECLARE(id) extern const test_suite suite_##id __attribute__((weak));
TEST_SUITES(DECLARE)
#undef DECLARE

typedef struct suite_entry {
    const char *name;
    const test_suite *suite; /* NULL when not linked */
} suite_entry;

#define ENTRY(id) {#id, &suite_##id},
static const suite_entry entries[] = {TEST_SUITES(ENTRY)};
#undef ENTRY

larder_error test_error;

enum { DIRECTORY_MAX = 64, FAILURES_SHOWN = 20 };

static atomic_int failures; /* of the running test */
static atomic_llong checks;
static uint64_t seed;
static uint64_t random_state;
static char running[256];
static char directories[DIRECTORY_MAX][512];
static int directory_count;

void test_count_check(void) { atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed); }

void test_fail(const char *file, int line, const char *format, ...) {
    int count = atomic_fetch_add(&failures, 1);
    if (count == 0) printf("FAILED %s\n", running);
    if (count >= FAILURES_SHOWN) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("  %s:%d: %s\n", file, line, text);
    if (count + 1 == FAILURES_SHOWN) printf("  further failures of this test are not shown\n");
    fflush(stdout);
}

bool test_check_equal(const char *file, int line, const char *text, int64_t actual,
                      int64_t expected) {
    test_count_check();
    if (actual == expected) return true;
    test_fail(file, line, "%s is %lld, not %lld", text, (long long)actual, (long long)expected);
    return false;
}

bool test_check_status(const char *file, int line, const char *text, int32_t actual,
                       int32_t expected) {
    test_count_check();
    if (actual == expected) return true;
    test_fail(file, line, "%s gives %s (%d), not %s (%d); last error: %s", text,
              larder_status_name(actual), actual, larder_status_name(expected), expected,
              test_error.message);
    return false;
}

static void print_hex(char *to, size_t capacity, larder_bytes bytes) {
    size_t shown = bytes.size_bytes < 48 ? bytes.size_bytes : 48;
    size_t at = 0;
    const uint8_t *data = bytes.data;
    to[0] = 0;
    for (size_t i = 0; i < shown && at + 3 < capacity; i++)
        at += (size_t)snprintf(to + at, capacity - at, "%02x", data[i]);
    if (shown < bytes.size_bytes) snprintf(to + at, capacity - at, "...");
}

bool test_check_bytes(const char *file, int line, const char *text, larder_bytes actual,
                      larder_bytes expected) {
    test_count_check();
    if (actual.size_bytes == expected.size_bytes &&
        (actual.size_bytes == 0 || memcmp(actual.data, expected.data, actual.size_bytes) == 0))
        return true;
    char a[128], e[128];
    print_hex(a, sizeof a, actual);
    print_hex(e, sizeof e, expected);
    test_fail(file, line, "%s is %zu bytes %s, not %zu bytes %s", text, actual.size_bytes, a,
              expected.size_bytes, e);
    return false;
}

/* splitmix64 */
uint64_t test_random(void) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
uint64_t test_random_below(uint64_t bound) { return test_random() % bound; }
uint64_t test_seed(void) { return seed; }
int64_t test_steps(int64_t steps) {
    const char *percent = getenv("LARDER_TEST_PERCENT");
    int64_t taken = percent ? steps * strtoll(percent, NULL, 0) / 100 : steps;
    return taken > 0 ? taken : 1;
}

static const char *make_directory(const char *root) {
    if (directory_count == DIRECTORY_MAX) {
        fprintf(stderr, "a test may make %d directories\n", DIRECTORY_MAX);
        exit(2);
    }
    char *path = directories[directory_count];
    snprintf(path, sizeof directories[0], "%s/larder-test-XXXXXX", root);
    if (!mkdtemp(path)) {
        perror(path);
        exit(2);
    }
    directory_count++;
    return path;
}

const char *test_directory(void) {
    const char *root = getenv("TMPDIR");
    return make_directory(root && *root ? root : "/tmp");
}

const char *test_memory_directory(void) {
    static const char memory[] = "/dev/shm";
    struct statvfs system;
    bool has_room = access(memory, W_OK) == 0 && statvfs(memory, &system) == 0 &&
                    system.f_bavail * system.f_frsize >= (uint64_t)256 << 20;
    return has_room ? make_directory(memory) : test_directory();
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk) {
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_directories(void) {
    while (directory_count > 0)
        nftw(directories[--directory_count], remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void start_random(void) {
    random_state = seed;
    for (const char *c = running; *c; c++)
        random_state = (random_state ^ (uint8_t)*c) * 0x100000001b3u;
}

static bool run_case(const test_case *test, bool verbose) {
    atomic_store(&failures, 0);
    memset(&test_error, 0, sizeof test_error);
    start_random();
    double start = now_seconds();
    test->run();
    remove_directories();
    if (verbose)
        printf("%s %s (%.3f s)\n", atomic_load(&failures) ? "failed" : "passed", running,
               now_seconds() - start);
    return atomic_load(&failures) == 0;
}

int main(int argc, char **argv) {
    const char *filter = argc > 1 ? argv[1] : "";
    const char *given_seed = getenv("LARDER_TEST_SEED");
    const char *given_verbose = getenv("LARDER_VERBOSE");
    bool verbose = given_verbose && strcmp(given_verbose, "0") != 0;
    seed = given_seed ? strtoull(given_seed, NULL, 0)
                      : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    printf("seed %llu (set LARDER_TEST_SEED to run the same again)\n", (unsigned long long)seed);
    fflush(stdout);
    int passed = 0, failed = 0;
    for (size_t s = 0; s < sizeof entries / sizeof entries[0]; s++) {
        const test_suite *suite = entries[s].suite;
        if (!suite) {
            if (*filter) continue;
            printf("FAILED suite %s is listed but not linked\n", entries[s].name);
            failed++;
            continue;
        }
        for (size_t i = 0; i < suite->case_count; i++) {
            snprintf(running, sizeof running, "%s/%s", suite->name, suite->cases[i].name);
            if (!strstr(running, filter)) continue;
            if (run_case(&suite->cases[i], verbose))
                passed++;
            else
                failed++;
        }
    }
    printf("%d passed, %d failed (%lld checks)\n", passed, failed, (long long)atomic_load(&checks));
    if (passed + failed == 0) {
        printf("no test is named like \"%s\"\n", filter);
        return 1;
    }
    return failed ? 1 : 0;
}

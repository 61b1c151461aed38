/*
 * test.h - the small harness that all C tests share.
 *
 * A file of tests ends with its table, and suites.h lists it:
 *
 *     static void adds_two_numbers(void) { CHECK_EQ(1 + 1, 2); }
 *     static const test_case cases[] = {{"adds two numbers", adds_two_numbers}};
 *     TEST_SUITE(sums, cases);
 *
 * The program runs every suite, or those tests whose "suite/name" contains the first argument,
 * prints "N passed, N failed" and exits with 1 after a failure. LARDER_TEST_SEED in the environment
 * sets the seed that is printed at the start; each test's random numbers depend on the seed and
 * its name only. LARDER_VERBOSE=1 prints each test's name and time.
 *
 * CHECK goes on after a failure, REQUIRE returns from the (void) function that it stands in.
 * Both may be used on any thread.
 */
#ifndef LARDER_TEST_H
#define LARDER_TEST_H

#include "larder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

typedef struct test_suite {
    const char *name;
    const test_case *cases;
    size_t case_count;
} test_suite;

#define TEST_SUITE(id, table)                                                                      \
    extern const test_suite suite_##id;                                                            \
    const test_suite suite_##id = {#id, table, sizeof(table) / sizeof((table)[0])}

/* For calls whose error text should be printed when a CHECK_OK fails: pass &test_error. */
extern larder_error test_error;

void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void test_count_check(void);
bool test_check_equal(const char *file, int line, const char *text, int64_t actual,
                      int64_t expected);
bool test_check_status(const char *file, int line, const char *text, int32_t actual,
                       int32_t expected);
bool test_check_bytes(const char *file, int line, const char *text, larder_bytes actual,
                      larder_bytes expected);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        test_count_check();                                                                        \
        if (!(condition)) test_fail(__FILE__, __LINE__, "%s", #condition);                         \
    } while (0)
/* With a printf text that says more, e.g. the case of a loop. */
#define CHECK_NOTE(condition, ...)                                                                 \
    do {                                                                                           \
        test_count_check();                                                                        \
        if (!(condition)) test_fail(__FILE__, __LINE__, __VA_ARGS__);                              \
    } while (0)
/* Integers of any kind. */
#define CHECK_EQ(actual, expected)                                                                 \
    ((void)test_check_equal(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected)))
#define CHECK_STATUS(actual, expected)                                                             \
    ((void)test_check_status(__FILE__, __LINE__, #actual, (actual), (expected)))
#define CHECK_OK(call) CHECK_STATUS(call, LARDER_OK)
#define CHECK_BYTES(actual, expected)                                                              \
    ((void)test_check_bytes(__FILE__, __LINE__, #actual, (actual), (expected)))
/* The expected text is NUL-terminated. */
#define CHECK_TEXT(actual, expected) CHECK_BYTES(actual, test_text(expected))

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        test_count_check();                                                                        \
        if (!(condition)) {                                                                        \
            test_fail(__FILE__, __LINE__, "%s", #condition);                                       \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        if (!test_check_status(__FILE__, __LINE__, #call, (call), LARDER_OK)) return;              \
    } while (0)

/* Borrowed bytes of NUL-terminated text. */
static inline larder_bytes test_text(const char *text) {
    larder_bytes bytes = {text, strlen(text)};
    return bytes;
}
/* Borrowed bytes of a literal that may hold NULs: TEST_BYTES("a\0b"). */
#define TEST_BYTES(literal) ((larder_bytes){(literal), sizeof(literal) - 1})

/* Random numbers of the running test; single thread. */
uint64_t test_random(void);
/* 0 .. bound - 1; bound is above 0. */
uint64_t test_random_below(uint64_t bound);
/* The number of steps that a random test takes: LARDER_TEST_PERCENT (100) percent of the given one, at
 * least 1. */
int64_t test_steps(int64_t steps);
/* The seed that was printed. */
uint64_t test_seed(void);

/* The path of a new empty directory, removed with its contents when the test ends. Borrowed
 * until then. */
const char *test_directory(void);
/* The same in a file system in memory, where there is one with room: tests that flush a thousand times
 * and do not depend on it. */
const char *test_memory_directory(void);

#endif

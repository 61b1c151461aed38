/*
 * blob_memory_test.c - dictionaries without memory: the n-th allocation fails, once or for good, for
 * n = 1, 2, 3, ... until a run meets no failure. crash/zstd_test.c does the same with zstd's own.
 */
#include "memory_kit.h"
#include "store.h"
#include "train_kit.h"

static larder_env *open_counted(const char *path) {
    memory_kit.fail_at = -1;
    return train_kit_open(path, &memory_kit_allocator, &test_error);
}

/* Runs a transaction whose n-th allocation fails. False: there is none. */
static bool fail_once(larder_env *env, int32_t (*change)(larder_env *, larder_error *), int64_t n,
                      uint32_t before, uint32_t after) {
    uint32_t dictionary;
    memory_kit.has_failed = false;
    memory_kit.fail_at = n;
    int32_t status = change(env, &test_error);
    memory_kit.fail_at = -1;
    CHECK_STATUS(status, status == LARDER_OK ? LARDER_OK : LARDER_E_NO_MEMORY);
    CHECK(memory_kit.has_failed || status == LARDER_OK);
    CHECK_NOTE(train_kit_is_whole(env, &dictionary, &test_error), "allocation %lld", (long long)n);
    CHECK_NOTE(dictionary == before || (dictionary == after && status == LARDER_OK), "%u",
               dictionary);
    return memory_kit.has_failed;
}

static void the_first_dictionary_may_lack_memory(void) {
    for (int mode = 0; mode < 2; mode++) {
        int64_t n = 0;
        bool goes_on = true;
        for (memory_kit.fails_for_good = mode == 1; goes_on && n < 1000;) {
            larder_env *env = open_counted("");
            REQUIRE(env != NULL);
            goes_on = fail_once(env, train_kit_first, ++n, 0, 1);
            memory_kit_close(env);
        }
        CHECK_NOTE(n > 20 && !goes_on, "%lld", (long long)n);
    }
}

/* Documents of two kinds, and a dictionary for one of them. */
static void make_store(char path[700], int64_t number) {
    snprintf(path, 700, "%s/%lld", test_directory(), (long long)number);
    larder_env *env = open_counted(path);
    CHECK_OK(train_kit_first(env, &test_error));
    CHECK_OK(train_kit_others(env, &test_error));
    store_close(env);
}

static void a_next_dictionary_may_lack_memory(void) {
    for (int mode = 0; mode < 2; mode++) {
        char path[700];
        int64_t n = 0;
        uint32_t dictionary = 0;
        bool goes_on = true;
        for (memory_kit.fails_for_good = mode == 1; goes_on && n < 1000;) {
            if (dictionary != 1) make_store(path, n); /* there is none yet, or it was changed */
            larder_env *env = open_counted(path);     /* with no encoder */
            REQUIRE(env != NULL);
            goes_on = fail_once(env, train_kit_next, ++n, 1, 2);
            CHECK(train_kit_is_whole(env, &dictionary, &test_error));
            memory_kit_close(env);
        }
        CHECK_NOTE(n > 40 && !goes_on, "%lld", (long long)n);
    }
}

static const test_case cases[] = {
    {"the first dictionary may lack memory", the_first_dictionary_may_lack_memory},
    {"a next dictionary may lack memory", a_next_dictionary_may_lack_memory},
};
TEST_SUITE(blob_memory, cases);

/* memory_kit.c - see memory_kit.h. */
#include "memory_kit.h"
#include "store.h"

#include <stdlib.h>

struct memory_kit memory_kit = {.fail_at = -1};

static void *allocate(void *context, size_t size_bytes) {
    (void)context;
    if (memory_kit.fail_at > 0) memory_kit.fail_at--;
    if (memory_kit.fail_at == 0) {
        memory_kit.has_failed = true;
        if (!memory_kit.fails_for_good) memory_kit.fail_at = -1;
        return NULL;
    }
    memory_kit.allocation_count++;
    memory_kit.live_count++;
    return malloc(size_bytes);
}

static void release(void *context, void *memory) {
    (void)context;
    if (memory != NULL) memory_kit.live_count--;
    free(memory);
}

const larder_allocator memory_kit_allocator = {NULL, allocate, release};

larder_env *memory_kit_open(void) {
    larder_env *env = NULL;
    larder_env_options options;
    memory_kit.live_count = 0;
    memory_kit.fail_at = -1;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.allocator = &memory_kit_allocator;
    options.automatic_training = 0;
    CHECK_OK(larder_env_open("", &options, &env, &test_error));
    return env;
}

void memory_kit_close(larder_env *env) {
    store_close(env);
    CHECK_EQ(memory_kit.live_count, 0);
}

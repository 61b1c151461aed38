/*
 * memory_kit.h - an allocator that counts, and that has no memory when a test says so.
 */
#ifndef LARDER_TEST_MEMORY_KIT_H
#define LARDER_TEST_MEMORY_KIT_H

#include "larder.h"

#include <stdbool.h>

extern struct memory_kit {
    int64_t live_count;       /* allocated and not released */
    int64_t allocation_count; /* ever */
    int64_t fail_at;          /* this allocation fails, counted down; below 0: none */
    bool fails_for_good;      /* those after it fail as well */
    bool has_failed;          /* one has since it was set to false */
} memory_kit;
extern const larder_allocator memory_kit_allocator;

/* Opens an empty store in memory with that allocator, which fails no allocation from here on. */
larder_env *memory_kit_open(void);
/* Closes it and checks that nothing is left. */
void memory_kit_close(larder_env *env);

#endif

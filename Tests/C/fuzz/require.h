/* require.h - what must hold for any input of a fuzz target, and its store with a tree. */
#ifndef LARDER_FUZZ_REQUIRE_H
#define LARDER_FUZZ_REQUIRE_H

#include "larder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the process, which the fuzzer reports with the input. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A store in memory with a tree, without log lines. */
static inline larder_env *require_tree(uint64_t *tree) {
    larder_env *env;
    larder_env_options options;
    larder_txn *txn;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.log_level = -1;
    REQUIRE(larder_env_open("", &options, &env, NULL) == LARDER_OK);
    REQUIRE(larder_txn_begin_write(env, &txn, NULL) == LARDER_OK);
    REQUIRE(larder_node_tree_obtain(txn, (larder_bytes){"t", 1}, tree, NULL) == LARDER_OK);
    REQUIRE(larder_txn_commit(txn, NULL) == LARDER_OK);
    return env;
}

#endif

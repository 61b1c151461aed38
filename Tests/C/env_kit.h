/*
 * env_kit.h - stores, files and child processes for tests of environments.
 *
 * Tests of several processes run a function in a child; it returns NULL, or text that says
 * what was not as it should be, which fails the test in the parent.
 */
#ifndef LARDER_TEST_ENV_KIT_H
#define LARDER_TEST_ENV_KIT_H

#include "store.h"

#include <sys/types.h>

/* ---- stores and files ---- */

larder_env_options env_kit_defaults(void);
/* Opens a store with flags; a failure fails the test. */
larder_env *env_kit_open_store(const char *path, uint32_t flags);
/* The status of opening, with the error checked; the store is closed again. */
int32_t env_kit_open_status(const char *path, uint32_t flags);
/* Puts a document that is known not to exist; in a transaction, or in one of its own. */
int32_t env_kit_put_in(larder_txn *txn, const char *name);
int32_t env_kit_put(larder_env *env, const char *name);
int32_t env_kit_get(larder_env *env, const char *name);
/* The result is good for the next fifteen calls. */
char *env_kit_join(const char *directory, const char *name);
int env_kit_descriptor_count(void);
void env_kit_write_file(const char *path, const void *data, size_t size);
/* -1 for none. */
off_t env_kit_file_size(const char *path);

/* ---- child processes ---- */

#define ENV_KIT_TEXT_OF(x) #x
#define ENV_KIT_LINE(x) ENV_KIT_TEXT_OF(x)
/* In a child's function. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) return "line " ENV_KIT_LINE(__LINE__) ": " #condition;                   \
    } while (0)

typedef const char *(*env_kit_work)(void *context);

typedef struct env_kit_child {
    pid_t process;
    int result; /* what it says at the end */
} env_kit_child;

env_kit_child env_kit_child_start(env_kit_work work, void *context);
void env_kit_child_finish(env_kit_child child);
/* Both. */
void env_kit_in_child(env_kit_work work, void *context);
void env_kit_send_byte(int to);
bool env_kit_await_byte(int from);

#endif

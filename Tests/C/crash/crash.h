/*
 * crash.h - what the crash tests share: options, directories, results, child processes.
 */
#ifndef LARDER_CRASH_H
#define LARDER_CRASH_H

#include "larder.h"
#include "mirror.h"

#include <sys/types.h>

/* The text after --name, or fallback. */
const char *crash_option(int argc, char **argv, const char *name, const char *fallback);
long crash_number(int argc, char **argv, const char *name, long fallback);
bool crash_flag(int argc, char **argv, const char *name);
/* --seed, or one from the clock; printed. */
uint64_t crash_seed(int argc, char **argv);

/* An empty directory of this process below --dir, or else below /dev/shm (in_memory, for
 * stores whose disk does not matter) or TMPDIR; removed at exit. */
const char *crash_directory(int argc, char **argv, bool in_memory);
void crash_remove_tree(const char *path);
void crash_copy_tree(const char *from, const char *to);

/* Counts and prints. */
void crash_pass(void);
void crash_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
long crash_failures(void);
/* Prints "N passed, N failed"; the exit status. */
int crash_finish(void);

/* Runs work in a child process with a time limit. -1 - signal when a signal ended it (-1 -
 * SIGALRM: the time limit), else its exit status. What it prints goes where ours goes. */
int crash_child(int (*work)(void *context), void *context, unsigned limit_seconds);

/* Opens, compares with the mirror and checks; problems are counted by the mirror. expected is
 * reconciled first when lenient. Returns larder_env_open's status. */
int32_t crash_compare(const char *path, mirror *expected, bool lenient);

/* What malloc gave; without memory the program ends. */
void *crash_must(void *memory);

/* Open file descriptors of this process. */
int crash_descriptor_count(void);

/* Starts the program again without randomised addresses, where the kernel allows: LMDB leaves some in
 * the free part of pages. Returns when they are fixed, or cannot be. */
void crash_fix_addresses(char **argv);

/* Starts the program again with shim preloaded, when it is not yet. The shim lies beside the
 * program. Returns when it is loaded. */
void crash_preload(char **argv, const char *shim);

#endif

/*
 * platform.h - system calls that Linux and macOS have under different names.
 *
 * The sources are compiled for macOS; no store has been opened there.
 */
#ifndef LARDER_BASE_PLATFORM_H
#define LARDER_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes a file's data, and the length that reading it needs, to the medium: 0 or errno. */
int larder__sync_data(int file);

/* Reserves blocks without changing the length of the file: 0 or errno, EOPNOTSUPP where the file
 * system or the system cannot do that. */
int larder__reserve_blocks(int file, off_t offset, off_t size);

/* Copies the rest of a file: 0 or errno. */
int larder__copy_data(int from, int to);

/* Random bytes of the system, without waiting for them: false if there are none. */
bool larder__random(void *bytes, size_t size);

#endif

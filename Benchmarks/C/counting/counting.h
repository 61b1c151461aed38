/*
 * counting.h - how often this process has allocated memory; what is linked with allocations.c
 * counts. The whole program's: Swift, LMDB and zstd included.
 */
#ifndef LARDER_COUNTING_H
#define LARDER_COUNTING_H

#include <stdint.h>

/* Calls of malloc and its like since the program began; -1 where that is not counted. */
int64_t malloc_count(void);

#endif

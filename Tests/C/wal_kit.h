/*
 * wal_kit.h - stores and images of them for tests of the write-ahead log.
 *
 * An image is a copy of the files of a store that is open, which is what a process that is killed
 * leaves. No checkpoint may be written meanwhile (larder__wal_wait).
 */
#ifndef LARDER_TEST_WAL_KIT_H
#define LARDER_TEST_WAL_KIT_H

#include "store.h"
#include "store/wal.h"

/* ---- files ---- */

/* Borrowed until the fourth call from here. */
const char *wal_kit_join(const char *directory, const char *name);
/* The content of a file, for the caller to free. */
uint8_t *wal_kit_read(const char *path, size_t *size);
void wal_kit_write(const char *path, const uint8_t *content, size_t size);
/* One file from one directory to another. */
void wal_kit_copy(const char *from, const char *to, const char *name);
void wal_kit_make_image(const char *from, const char *to);

/* ---- stores ---- */

larder_env *wal_kit_open(const char *path, uint32_t flags, uint64_t log_bytes);
/* A store of some documents whose log has grown to its full capacity, at a checkpoint. *number: of the
 * next document. */
larder_env *wal_kit_open_grown(const char *path, int *number);
/* One commit: the document c/NUMBER with text of some size. */
int32_t wal_kit_put(larder_env *env, int number, size_t text_bytes);
/* How many documents there are from c/00000 on without a gap. */
int wal_kit_count(larder_env *env);
/* Opens it in every way, and closes it. */
void wal_kit_check_count(const char *path, int expected);

#endif

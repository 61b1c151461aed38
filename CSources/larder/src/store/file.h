/* file.h - the store's directory and data file, seen from outside LMDB (file.c, file_room.c). */
#ifndef LARDER_FILE_H
#define LARDER_FILE_H

#include "internal.h"

#include <sys/types.h>

#define LARDER__MEMORY_PATH_MAX 256

/* Makes the directory where asked to, refuses network file systems, sets device and inode. */
int32_t larder__file_prepare(larder_env *env, larder_error *error);
/* Whether the directory has the lock files of a store that was complete, and neither data nor log. */
bool larder__file_is_lost(const larder_env *env);
/* Reads the data file's meta pages: foreign and truncated files are found before LMDB maps
 * them. Sets env->short_from_page where pages at the end are missing. Recreates a file that no commit
 * has reached, and no other. */
int32_t larder__file_inspect(larder_env *env, const char *directory, larder_error *error);
/* With LMDB open: missing pages at the end must all be free ones. */
int32_t larder__file_check_tail(larder_env *env, larder_error *error);
/* Syncs the store's directory and the one above, so that a new store's name survives a power
 * cut as its pages do. */
int32_t larder__file_sync_entries(larder_env *env, larder_error *error);
/* A fresh directory on a memory file system (else the temporary one), and its removal. */
int32_t larder__file_make_memory(char path[LARDER__MEMORY_PATH_MAX], larder_error *error);
/* The same where temporary files go first. */
int32_t larder__file_make_temporary(char path[LARDER__MEMORY_PATH_MAX], larder_error *error);
void larder__file_remove_memory(const char *path);
/* Whether statfs's f_type names a network file system. */
bool larder__file_system_is_network(uint64_t type);
/* As pread, but with as much as there is. */
ssize_t larder__file_read(int file, void *buffer, size_t size, off_t offset);
/* The status and message of an errno. */
int32_t larder__file_fail(larder_error *error, int code, const char *doing, const char *path);
/* Makes a directory with its parents; 0 or errno. */
int larder__file_make_directory(const char *path);

/* ---- room on the disk (file_room.c) ---- */

/* Whether the file system of a directory has room for a new store. */
bool larder__file_has_room_for_store(const char *directory);
/* Allocates every block of the lock file of a directory, so that LMDB finds room wherever it
 * writes its map; to be called before LMDB opens the directory in this process. E_NO_SPACE where
 * there is too little room. */
int32_t larder__file_allocate_readers(const char *directory, uint32_t max_readers,
                                      larder_error *error);
/* 0, or the errno with which that file cannot be written, or not be made. */
int larder__file_try_readers(const char *directory);
/* Whether the data file cannot grow by so many bytes: its file system or the process's file size
 * limit is full. */
bool larder__file_lacks_room(const larder_env *env, uint64_t bytes);
/* Allocates blocks behind the data file's used ones; sets env->lacks_reserve where there is no room
 * and little within the file that no reader keeps. */
void larder__file_reserve(larder_env *env, uint64_t used_bytes);
/* When a write transaction has begun, and the log has released what it could: env->lacks_reserve says
 * whether the transactions after it would lack pages. */
void larder__file_recount_reserve(larder_env *env);
/* What is kept for transactions that make the store smaller: more pages than such a one changes. */
#define LARDER__RESERVE_BYTES (UINT64_C(256) << 10)
/* Less than this is left when a write was cut short. */
#define LARDER__NO_ROOM_BYTES 65536

#endif

/* file.h - the store's directory and data file, seen from outside LMDB. */
#ifndef LARDER_FILE_H
#define LARDER_FILE_H

#include "internal.h"

#define LARDER__MEMORY_PATH_MAX 256

/* Makes the directory where asked to, refuses network file systems, sets device and inode. */
int32_t larder__file_prepare(larder_env *env, larder_error *error);
/* Takes the owner lock for the environment's mode. */
int32_t larder__file_lock(larder_env *env, larder_error *error);
/* Gives it up and closes its file; nothing to do when there is none. */
void larder__file_unlock(larder_env *env);
/* Reads the data file's meta pages: foreign and truncated files are found before LMDB maps
 * them. Sets env->file_is_short when pages at the end are missing. Recreates a file that no
 * commit has reached, and no other. */
int32_t larder__file_inspect(larder_env *env, larder_error *error);
/* Allocates every block of the lock file of a directory, so that LMDB finds room wherever it
 * writes its map; to be called before LMDB opens the directory in this process. E_NO_SPACE where
 * there is too little room. */
int32_t larder__file_allocate_readers(const char *directory, uint32_t max_readers,
                                      larder_error *error);
/* With LMDB open: missing pages at the end must all be free ones. */
int32_t larder__file_check_tail(larder_env *env, larder_error *error);
/* Syncs the store's directory and the one above, so that a new store's name survives a power
 * cut as its pages do. */
int32_t larder__file_sync_entries(larder_env *env, larder_error *error);
/* Whether the data file cannot grow: its file system or the process's file size limit is full. */
bool larder__file_has_no_room(const larder_env *env);
/* A fresh directory on a memory file system (else the temporary one), and its removal. */
int32_t larder__file_make_memory(char path[LARDER__MEMORY_PATH_MAX], larder_error *error);
void larder__file_remove_memory(const char *path);
/* Whether statfs's f_type names a network file system. */
bool larder__file_system_is_network(uint64_t type);
/* Makes a directory with its parents; 0 or errno. */
int larder__file_make_directory(const char *path);

#endif

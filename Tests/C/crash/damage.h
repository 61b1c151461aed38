/*
 * damage.h - ways to damage a store's files, each by its number, and which pending writes survive.
 */
#ifndef LARDER_TEST_DAMAGE_H
#define LARDER_TEST_DAMAGE_H

#include "mirror.h"

typedef struct file_bytes {
    uint8_t *bytes;
    size_t size;
} file_bytes;

/* A store's two files, and its data file some commits before. */
typedef struct store_files {
    file_bytes data, log;
    file_bytes older;
} store_files;

enum { DAMAGE_PAGE = 4096 };
int damage_kind_count(void);
const char *damage_kind_name(int kind);
/* Damages copies of the files in one way. Their buffers have room for what they held. */
void damage_apply(int kind, store_files *files, mirror_random *random);

file_bytes file_load(const char *path);
void file_save(const char *path, const uint8_t *bytes, size_t size);
file_bytes file_copy(const file_bytes *from);

/* ---- pending writes, as rows ---- */

typedef struct pending_row {
    uint8_t table;
    uint8_t *key, *value;
    size_t key_bytes, value_bytes;
    const char *survives_in; /* set by pending_look; NULL: nowhere */
} pending_row;

typedef struct pending_rows {
    pending_row *rows;
    size_t count;
} pending_rows;

/* The pending writes of documents and of trees of an open store. */
pending_rows pending_list(larder_env *env);
void pending_free(pending_rows *rows);
/* Looks for each row in the files: as a node of a page with its head and its whole value, in the data
 * file or an image in the log, or as a change in the log. */
void pending_look(pending_rows *rows, const store_files *files);
/* How a store has the rows. */
typedef struct pending_counts {
    long found, missing; /* of those that survive */
    long older;          /* of those found, with a payload from before */
    long others;         /* pending writes of the store that are none of the rows */
    const pending_row *first_missing;
} pending_counts;
pending_counts pending_compare(const pending_rows *rows, larder_env *env);

#endif

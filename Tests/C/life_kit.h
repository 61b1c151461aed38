/*
 * life_kit.h - a store over many commits, kills and openings, and copies of its files at some times, of
 * which images are put together: a data file and a log, of one time or of two.
 */
#ifndef LARDER_TEST_LIFE_KIT_H
#define LARDER_TEST_LIFE_KIT_H

#include "wal_kit.h"

#include <stdbool.h>

enum {
    LIFE_KIT_DOCUMENTS = 12,
    LIFE_KIT_TIMES = 40,
    LIFE_KIT_COMMITS = 256,
    LIFE_KIT_LARGE = 90000,
    LIFE_KIT_LARGEST = 900000
};

/* What a document was written by, and its size; a commit of 0: it is not there. */
typedef struct life_kit_written {
    uint64_t commit;
    size_t size_bytes;
} life_kit_written;

typedef struct life_kit {
    char store[4200], image[4200], root[4000];
    larder_env *env;
    uint64_t log_bytes, last;
    life_kit_written documents[LIFE_KIT_COMMITS]
                              [LIFE_KIT_DOCUMENTS]; /* by the number of a commit */
    int time_count;
    uint64_t commits[LIFE_KIT_TIMES]; /* the last one at a time */
} life_kit;

/* ---- the store ---- */

void life_kit_begin(life_kit *l, const char *name, uint64_t log_bytes);
void life_kit_open(life_kit *l, uint32_t flags);
/* Closes it, and leaves the files as they are after the end of its process. */
void life_kit_kill(life_kit *l);
/* One commit that puts or removes some documents. */
void life_kit_commit(life_kit *l, int count, size_t size_bytes);
/* Checkpoints, turns of the log, commits that are checkpoints, closing, kills, and times of being
 * shared. */
void life_kit_run(life_kit *l);
/* Copies the files, as the next time. */
void life_kit_take_time(life_kit *l);
/* The directory of a time's files; borrowed until the fourth call from here. */
const char *life_kit_path_of(const life_kit *l, int time);
/* The commit that a store is at, whose content it has. */
uint64_t life_kit_check_content(const life_kit *l, larder_env *env, const char *what);

/* ---- files and images ---- */

typedef struct life_kit_files {
    uint8_t *bytes[2];
    size_t sizes[2];
} life_kit_files;
extern const char *const life_kit_names[2];

life_kit_files life_kit_read_files(const char *path);
void life_kit_free_files(life_kit_files c);
void life_kit_check_unchanged(const char *path, life_kit_files before, const char *what);
/* Makes the image of the files of two times. */
void life_kit_make_image(const life_kit *l, int data, int log);
int32_t life_kit_open_image(const life_kit *l, uint32_t flags, int32_t recovery, larder_env **env);
/* Opens the image, which is at least at a commit, or is refused. Whether it is opened. */
bool life_kit_try_image(const life_kit *l, uint64_t least, bool is_salvaged, const char *what);
larder_opening life_kit_opening_of(const larder_env *env);

#endif

/*
 * cut_disk.h - the disk as a power cut leaves it: what was synced before the cut, and a random part
 * of what was not.
 */
#ifndef LARDER_CUT_DISK_H
#define LARDER_CUT_DISK_H

#include "mirror.h"
#include "recording.h"

enum { CUT_DISK_FILES = 16, CUT_DISK_SECTOR = 512, CUT_DISK_PAGE = 4096 };

/* What a MARK says: the sequence number, and in the top bit that larder_env_sync covered it. */
#define SYNCED_MARK (UINT64_C(1) << 63)

typedef enum sync_class {
    SYNC_NONE,
    SYNC_LOG,
    SYNC_HEADER,
    SYNC_MAP,
    SYNC_DIRECTORY,
    SYNC_CLASSES
} sync_class;
typedef struct cut_disk_file {
    char path[1024];
    bool entry_is_synced;
    uint8_t *bytes; /* what is on disk for certain */
    size_t size_bytes, capacity;
} cut_disk_file;

typedef struct cut_disk {
    cut_disk_file files[CUT_DISK_FILES];
    int file_count;
    char directories[CUT_DISK_FILES][1024];
    bool directory_is_synced[CUT_DISK_FILES];
    int directory_count;
    size_t *pending; /* records of writes and truncations that are not on disk */
    size_t pending_count, pending_capacity;
    uint64_t acknowledged, synced; /* sequence numbers */
    sync_class ignored;            /* calls that are taken as not made */
} cut_disk;

cut_disk *cut_disk_create(sync_class ignored);
cut_disk *cut_disk_clone(const cut_disk *from);
void cut_disk_free(cut_disk *d);
/* Takes the next record of a workload. */
void cut_disk_advance(cut_disk *d, const recording *r, size_t record);
/* Puts content on disk for certain. */
void cut_disk_apply(cut_disk_file *file, uint64_t offset, const uint8_t *content, size_t size);
/* Of the pending writes a part reaches the disk, whole or torn. */
void cut_disk_lose_power(cut_disk *d, const recording *r, mirror_random *random);
/* Entries of directories that were not synced may be missing. */
void cut_disk_keep_entries(cut_disk *d, mirror_random *random);

#endif

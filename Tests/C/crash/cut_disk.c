/* cut_disk.c - see cut_disk.h. */
#include "cut_disk.h"

#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void grow(cut_disk_file *file, size_t size) {
    if (size > file->capacity) {
        file->capacity = size * 2;
        file->bytes = crash_must(realloc(file->bytes, file->capacity));
    }
    if (size > file->size_bytes) {
        memset(file->bytes + file->size_bytes, 0, size - file->size_bytes);
        file->size_bytes = size;
    }
}

void cut_disk_apply(cut_disk_file *file, uint64_t offset, const uint8_t *content, size_t size) {
    grow(file, (size_t)offset + size);
    memcpy(file->bytes + offset, content, size);
}

static void apply_record(cut_disk_file *file, const recording *r, size_t record) {
    trace_record head = recording_head(r, record);
    if (head.kind == TRACE_WRITE)
        cut_disk_apply(file, head.offset, recording_content(r, record), head.size_bytes);
    else if (head.offset < file->size_bytes)
        file->size_bytes = head.offset;
    else
        grow(file, head.offset);
}

/* Puts pending records of a file on disk: all, or only the newest. */
static void flush(cut_disk *d, const recording *r, uint32_t file, bool newest_only) {
    size_t kept = 0, newest = SIZE_MAX;
    for (size_t i = 0; i < d->pending_count; i++)
        if (recording_head(r, d->pending[i]).file == file) newest = i;
    for (size_t i = 0; i < d->pending_count; i++) {
        bool is_flushed =
            recording_head(r, d->pending[i]).file == file && (!newest_only || i == newest);
        if (is_flushed)
            apply_record(&d->files[file - 1], r, d->pending[i]);
        else
            d->pending[kept++] = d->pending[i];
    }
    d->pending_count = kept;
}

static bool is_in(const char *path, const char *directory) {
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/')
        size--;
    return strncmp(path, directory, size) == 0 && path[size] == '/' &&
           !strchr(path + size + 1, '/');
}

static sync_class class_of(const cut_disk *d, const recording *r, uint32_t file) {
    if (!strstr(d->files[file - 1].path, ".wal")) return SYNC_MAP;
    for (size_t i = 0; i < d->pending_count; i++) {
        trace_record head = recording_head(r, d->pending[i]);
        if (head.file == file && head.kind == TRACE_WRITE && head.offset < 2 * CUT_DISK_PAGE)
            return SYNC_HEADER;
    }
    return SYNC_LOG;
}

void cut_disk_advance(cut_disk *d, const recording *r, size_t record) {
    trace_record head = recording_head(r, record);
    char path[1024];
    switch (head.kind) {
    case TRACE_CREATE:
        if (d->file_count == CUT_DISK_FILES || head.file != (uint32_t)d->file_count + 1) abort();
        recording_path(r, record, d->files[d->file_count++].path, sizeof d->files[0].path);
        break;
    case TRACE_DIRECTORY:
        if (d->directory_count == CUT_DISK_FILES) abort();
        recording_path(r, record, d->directories[d->directory_count++], sizeof d->directories[0]);
        break;
    case TRACE_WRITE:
    case TRACE_TRUNCATE:
        if (d->pending_count == d->pending_capacity) {
            d->pending_capacity = d->pending_capacity ? d->pending_capacity * 2 : 256;
            d->pending = crash_must(realloc(d->pending, d->pending_capacity * sizeof *d->pending));
        }
        d->pending[d->pending_count++] = record;
        break;
    case TRACE_SYNC:
        if (d->ignored == SYNC_NONE || d->ignored != class_of(d, r, head.file))
            flush(d, r, head.file, false);
        break;
    case TRACE_SYNC_WRITE:
        flush(d, r, head.file, true);
        break;
    case TRACE_SYNC_DIRECTORY:
        if (d->ignored == SYNC_DIRECTORY) break;
        recording_path(r, record, path, sizeof path);
        for (int i = 0; i < d->file_count; i++)
            if (is_in(d->files[i].path, path)) d->files[i].entry_is_synced = true;
        for (int i = 0; i < d->directory_count; i++)
            if (is_in(d->directories[i], path)) d->directory_is_synced[i] = true;
        break;
    case TRACE_MARK:
        if (head.offset & SYNCED_MARK)
            d->synced = head.offset & ~SYNCED_MARK;
        else
            d->acknowledged = head.offset;
        break;
    default:
        fprintf(stderr, "the workload removed or renamed files, which the test cannot do\n");
        exit(3);
    }
}

cut_disk *cut_disk_create(sync_class ignored) {
    cut_disk *d = crash_must(calloc(1, sizeof *d));
    d->ignored = ignored;
    return d;
}

void cut_disk_free(cut_disk *d) {
    for (int i = 0; i < CUT_DISK_FILES; i++)
        free(d->files[i].bytes);
    free(d->pending);
    free(d);
}
cut_disk *cut_disk_clone(const cut_disk *from) {
    cut_disk *d = crash_must(malloc(sizeof *d));
    memcpy(d, from, sizeof *d);
    for (int i = 0; i < d->file_count; i++) {
        d->files[i].capacity = d->files[i].size_bytes;
        d->files[i].bytes = crash_must(malloc(d->files[i].size_bytes + 1));
        if (d->files[i].size_bytes)
            memcpy(d->files[i].bytes, from->files[i].bytes, d->files[i].size_bytes);
    }
    d->pending = crash_must(malloc((d->pending_count + 1) * sizeof *d->pending));
    if (d->pending_count) memcpy(d->pending, from->pending, d->pending_count * sizeof *d->pending);
    return d;
}

/* ---- what the cut left ---- */

void cut_disk_keep_entries(cut_disk *d, mirror_random *random) {
    for (int i = 0; i < d->file_count; i++)
        d->files[i].entry_is_synced |= mirror_random_below(random, 2);
    for (int i = 0; i < d->directory_count; i++)
        d->directory_is_synced[i] |= mirror_random_below(random, 2);
}

/* Pieces of a write, of unit bytes at aligned offsets, each kept or not. */
static void apply_torn(cut_disk_file *file, const recording *r, size_t record, uint64_t unit,
                       mirror_random *random) {
    trace_record head = recording_head(r, record);
    if (head.kind != TRACE_WRITE) return;
    const uint8_t *content = recording_content(r, record);
    uint64_t at = head.offset, end = head.offset + head.size_bytes;
    while (at < end) {
        uint64_t stop = (at / unit + 1) * unit;
        if (stop > end) stop = end;
        if (mirror_random_below(random, 2))
            cut_disk_apply(file, at, content + (at - head.offset), stop - at);
        at = stop;
    }
}

void cut_disk_lose_power(cut_disk *d, const recording *r, mirror_random *random) {
    uint64_t manner = mirror_random_below(random, 8);
    size_t prefix = (size_t)mirror_random_below(random, d->pending_count + 1);
    for (size_t i = 0; i < d->pending_count; i++) {
        trace_record head = recording_head(r, d->pending[i]);
        cut_disk_file *file = &d->files[head.file - 1];
        uint64_t chance = mirror_random_below(random, 10);
        switch (manner) {
        case 0:
            break; /* nothing of it reached the disk */
        case 1:
            apply_record(file, r, d->pending[i]);
            break; /* all of it */
        case 2:    /* in order, the last one torn */
            if (i < prefix)
                apply_record(file, r, d->pending[i]);
            else if (i == prefix)
                apply_torn(file, r, d->pending[i], CUT_DISK_SECTOR, random);
            break;
        case 3: /* the other way about: the last ones only */
            if (i >= prefix) apply_record(file, r, d->pending[i]);
            break;
        default:
            if (chance < 4)
                apply_record(file, r, d->pending[i]);
            else if (chance < 6)
                apply_torn(file, r, d->pending[i], CUT_DISK_SECTOR, random);
            else if (chance < 8)
                apply_torn(file, r, d->pending[i], CUT_DISK_PAGE, random);
        }
    }
    cut_disk_keep_entries(d, random);
}

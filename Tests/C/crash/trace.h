/*
 * trace.h - what shim_trace.so records and powercut_test reads: one record after the other,
 * each a head and size_bytes bytes of content (for WRITE and the kinds that have a path).
 *
 *   CREATE     a file was made; content is its path, file its number from now on
 *   DIRECTORY  a directory was made; content is its path
 *   WRITE      size_bytes at offset of file
 *   TRUNCATE   file has offset bytes now
 *   SYNC       everything written to file so far is on disk
 *   SYNC_WRITE the last WRITE of file is on disk (its descriptor has O_DSYNC or O_SYNC)
 *   SYNC_DIRECTORY  entries of the directory, whose path is the content, are on disk
 *   REMOVE     the file or directory at the content's path is gone
 *   RENAME     content is the old path, a NUL and the new one
 *   MARK       offset is what the workload said with shim_trace_mark
 *
 * A record is written after its call has returned, under a lock, so that their order is that of
 * the effects; a power cut "during" a call is one before its record.
 */
#ifndef LARDER_TRACE_H
#define LARDER_TRACE_H

#include <stdint.h>

enum {
    TRACE_CREATE = 1,
    TRACE_DIRECTORY,
    TRACE_WRITE,
    TRACE_TRUNCATE,
    TRACE_SYNC,
    TRACE_SYNC_WRITE,
    TRACE_SYNC_DIRECTORY,
    TRACE_REMOVE,
    TRACE_RENAME,
    TRACE_MARK
};

typedef struct trace_record {
    uint32_t kind;
    uint32_t file;
    uint64_t offset;
    uint64_t size_bytes;
} trace_record;

#define TRACE_FILE_VARIABLE "LARDER_TRACE_FILE"     /* where the records go */
#define TRACE_PREFIX_VARIABLE "LARDER_TRACE_PREFIX" /* only paths that begin with it */

#endif

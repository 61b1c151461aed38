/*
 * recording.h - the records of one workload (trace.h), in memory.
 */
#ifndef LARDER_RECORDING_H
#define LARDER_RECORDING_H

#include "trace.h"

#include <stddef.h>

typedef struct recording {
    uint8_t *bytes;
    size_t size_bytes;
    size_t *records; /* where each begins */
    size_t count;
} recording;

/* A file that cannot be read ends the program. */
recording recording_load(const char *path);
void recording_free(recording *r);

trace_record recording_head(const recording *r, size_t record);
const uint8_t *recording_content(const recording *r, size_t record);
/* The content as text. */
void recording_path(const recording *r, size_t record, char *path, size_t capacity);

#endif

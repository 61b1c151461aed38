/* recording.c - see recording.h. */
#include "recording.h"

#include "crash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

trace_record recording_head(const recording *r, size_t record) {
    trace_record head;
    memcpy(&head, r->bytes + r->records[record], sizeof head);
    return head;
}

const uint8_t *recording_content(const recording *r, size_t record) {
    return r->bytes + r->records[record] + sizeof(trace_record);
}

void recording_path(const recording *r, size_t record, char *path, size_t capacity) {
    trace_record head = recording_head(r, record);
    size_t size = head.size_bytes < capacity ? head.size_bytes : capacity - 1;
    memcpy(path, recording_content(r, record), size);
    path[size] = 0;
}

static void read_bytes(recording *r, const char *path) {
    struct stat info;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info) != 0) {
        perror(path);
        exit(3);
    }
    r->bytes = crash_must(malloc((size_t)info.st_size + 1));
    while (r->size_bytes < (size_t)info.st_size) {
        ssize_t n = read(file, r->bytes + r->size_bytes, (size_t)info.st_size - r->size_bytes);
        if (n <= 0) break;
        r->size_bytes += (size_t)n;
    }
    close(file);
}

recording recording_load(const char *path) {
    recording r = {0};
    size_t capacity = 1024;
    read_bytes(&r, path);
    r.records = crash_must(malloc(capacity * sizeof *r.records));
    for (size_t at = 0; at + sizeof(trace_record) <= r.size_bytes;) {
        if (r.count == capacity)
            r.records = crash_must(realloc(r.records, (capacity *= 2) * sizeof *r.records));
        r.records[r.count++] = at;
        at += sizeof(trace_record) + recording_head(&r, r.count - 1).size_bytes;
    }
    return r;
}

void recording_free(recording *r) {
    free(r->records);
    free(r->bytes);
}

/*
 * sink.h - one way to tell a document, so that every system encodes the same one: the root is
 * a map; inside a map each value follows its name.
 */
#ifndef LARDER_BENCH_SINK_H
#define LARDER_BENCH_SINK_H

#include "bench.h"

typedef struct sink {
    void (*begin_document)(void);
    void (*end_document)(void);
    void (*name)(span name);
    void (*null)(void);
    void (*boolean)(bool value);
    void (*integer)(int64_t value);
    void (*real)(double value);
    void (*text)(span value);
    void (*reference)(span value); /* below "projects/bench/databases/(default)/documents/" */
    void (*timestamp)(int64_t seconds, int32_t nanoseconds);
    void (*geo_point)(double latitude, double longitude);
    void (*begin_array)(void);
    void (*end_array)(void);
    void (*begin_map)(void);
    void (*end_map)(void);
} sink;

extern const sink raw_record_sink, json_sink, larder_sink;
span raw_record_encoded(void);
span json_encoded(void);
span larder_encoded(void);
/* The value at a top-level field of raw record bytes, without its tag; false when missing. */
bool raw_record_find(span record, span name, span *value);

#define REFERENCE_PREFIX "projects/bench/databases/(default)/documents/"

static inline span span_of(const char *text) { return (span){text, __builtin_strlen(text)}; }

#endif

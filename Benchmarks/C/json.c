/* json.c - the documents as JSON text, for SQLite: compact, timestamps in RFC 3339, a geo
 * point as {"latitude":...,"longitude":...}, a reference as its relative name. */
#include "sink.h"

#include <math.h>
#include <string.h>
#include <time.h>

static buffer out;
static bool needs_comma;

static void put(const char *text) { buffer_append(&out, text, strlen(text)); }

static void separate(void) {
    if (needs_comma) put(",");
    needs_comma = true;
}

static void put_text(span value) {
    put("\"");
    const char *at = value.data, *end = value.data + value.size;
    while (at < end) {
        const char *plain = at;
        while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
            at++;
        buffer_append(&out, plain, (size_t)(at - plain));
        if (at < end) {
            char escaped[8];
            snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)*at++);
            put(escaped);
        }
    }
    put("\"");
}

static void put_real(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    put(text);
    if (isfinite(value) && strpbrk(text, ".e") == NULL) put(".0");
}

static void tell_begin_document(void) {
    out.size = 0;
    put("{");
    needs_comma = false;
}
static void tell_end_document(void) { put("}"); }
static void tell_name(span name) {
    separate();
    put_text(name);
    put(":");
    needs_comma = false;
}
static void tell_null(void) {
    separate();
    put("null");
}
static void tell_boolean(bool value) {
    separate();
    put(value ? "true" : "false");
}
static void tell_integer(int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    separate();
    put(text);
}
static void tell_real(double value) {
    separate();
    put_real(value);
}
static void tell_text(span value) {
    separate();
    put_text(value);
}
static void tell_timestamp(int64_t seconds, int32_t nanoseconds) {
    time_t when = (time_t)seconds;
    struct tm parts;
    char text[64];
    gmtime_r(&when, &parts);
    size_t size = strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + size, sizeof text - size, ".%06dZ\"", nanoseconds / 1000);
    separate();
    put(text);
}
static void tell_geo_point(double latitude, double longitude) {
    separate();
    put("{\"latitude\":");
    put_real(latitude);
    put(",\"longitude\":");
    put_real(longitude);
    put("}");
}
static void tell_begin_array(void) {
    separate();
    put("[");
    needs_comma = false;
}
static void tell_end_array(void) {
    put("]");
    needs_comma = true;
}
static void tell_begin_map(void) {
    separate();
    put("{");
    needs_comma = false;
}
static void tell_end_map(void) {
    put("}");
    needs_comma = true;
}

const sink json_sink = {
    .begin_document = tell_begin_document,
    .end_document = tell_end_document,
    .name = tell_name,
    .null = tell_null,
    .boolean = tell_boolean,
    .integer = tell_integer,
    .real = tell_real,
    .text = tell_text,
    .reference = tell_text,
    .timestamp = tell_timestamp,
    .geo_point = tell_geo_point,
    .begin_array = tell_begin_array,
    .end_array = tell_end_array,
    .begin_map = tell_begin_map,
    .end_map = tell_end_map,
};

span json_encoded(void) { return (span){out.data, out.size}; }

/*
 * raw_record.c - the uncompressed records of the raw LMDB peer: tag, length, value, with the
 * field numbers of google.firestore.v1, so that a record is as large as the protobuf one.
 *
 *   document, map   entry*            entry  12|0A len { 0A len name, 12 len value }
 *   array           0A len value
 *   value           08 bool | 10 varint | 19 double | 2A len reference | 32 len map |
 *                   42 len geo point | 4A len array | 52 len timestamp | 58 00 null |
 *                   8A 01 len string
 *
 * A length is written as one byte when its part begins and widened when the part ends.
 */
#include "sink.h"

#include <string.h>

enum { DEPTH_MAX = 32 };

static buffer out;
static size_t open_parts[3 * DEPTH_MAX + 3];
static size_t open_count;
static char kinds[DEPTH_MAX]; /* 'd' document, 'm' map, 'a' array */
static size_t depth;

static void put_byte(unsigned byte) {
    buffer_reserve(&out, 1);
    out.data[out.size++] = (char)byte;
}

static void put_varint(uint64_t value) {
    while (value >= 0x80) {
        put_byte((unsigned)(value & 0x7f) | 0x80);
        value >>= 7;
    }
    put_byte((unsigned)value);
}

static void put_double(double value) { buffer_append(&out, &value, sizeof value); }

static void open_part(unsigned tag) {
    put_byte(tag);
    put_byte(0);
    open_parts[open_count++] = out.size;
}

static void close_part(void) {
    size_t start = open_parts[--open_count];
    size_t size = out.size - start;
    size_t extra = 0;
    for (size_t rest = size >> 7; rest > 0; rest >>= 7)
        extra++;
    if (extra > 0) {
        buffer_reserve(&out, extra);
        memmove(out.data + start + extra, out.data + start, size);
        out.size += extra;
    }
    char *to = out.data + start - 1;
    size_t rest = size;
    for (size_t k = 0; k < extra; k++, rest >>= 7)
        *to++ = (char)((rest & 0x7f) | 0x80);
    *to = (char)rest;
}

static void before_value(void) {
    if (kinds[depth - 1] == 'a') open_part(0x0a);
}

static void after_value(void) {
    close_part();
    if (kinds[depth - 1] != 'a') close_part(); /* the entry around it */
}

static void push(char kind) {
    if (depth == DEPTH_MAX) fail("a document is nested deeper than %d", DEPTH_MAX);
    kinds[depth++] = kind;
}

static void tell_begin_document(void) {
    out.size = 0;
    open_count = 0;
    depth = 0;
    push('d');
}
static void tell_end_document(void) { depth--; }
static void tell_name(span name) {
    open_part(kinds[depth - 1] == 'd' ? 0x12 : 0x0a);
    put_byte(0x0a);
    put_varint(name.size);
    buffer_append(&out, name.data, name.size);
    open_part(0x12);
}
static void tell_null(void) {
    before_value();
    put_byte(0x58);
    put_byte(0);
    after_value();
}
static void tell_boolean(bool value) {
    before_value();
    put_byte(0x08);
    put_byte(value ? 1 : 0);
    after_value();
}
static void tell_integer(int64_t value) {
    before_value();
    put_byte(0x10);
    put_varint((uint64_t)value);
    after_value();
}
static void tell_real(double value) {
    before_value();
    put_byte(0x19);
    put_double(value);
    after_value();
}
static void tell_text(span value) {
    before_value();
    put_byte(0x8a);
    put_byte(0x01);
    put_varint(value.size);
    buffer_append(&out, value.data, value.size);
    after_value();
}
static void tell_reference(span value) {
    before_value();
    put_byte(0x2a);
    put_varint(strlen(REFERENCE_PREFIX) + value.size);
    buffer_append(&out, REFERENCE_PREFIX, strlen(REFERENCE_PREFIX));
    buffer_append(&out, value.data, value.size);
    after_value();
}
static void tell_timestamp(int64_t seconds, int32_t nanoseconds) {
    before_value();
    open_part(0x52);
    put_byte(0x08);
    put_varint((uint64_t)seconds);
    put_byte(0x10);
    put_varint((uint64_t)nanoseconds);
    close_part();
    after_value();
}
static void tell_geo_point(double latitude, double longitude) {
    before_value();
    open_part(0x42);
    put_byte(0x09);
    put_double(latitude);
    put_byte(0x11);
    put_double(longitude);
    close_part();
    after_value();
}
static void tell_begin_array(void) {
    before_value();
    open_part(0x4a);
    push('a');
}
static void tell_begin_map(void) {
    before_value();
    open_part(0x32);
    push('m');
}
static void tell_end(void) {
    depth--;
    close_part();
    after_value();
}

const sink raw_record_sink = {
    .begin_document = tell_begin_document,
    .end_document = tell_end_document,
    .name = tell_name,
    .null = tell_null,
    .boolean = tell_boolean,
    .integer = tell_integer,
    .real = tell_real,
    .text = tell_text,
    .reference = tell_reference,
    .timestamp = tell_timestamp,
    .geo_point = tell_geo_point,
    .begin_array = tell_begin_array,
    .end_array = tell_end,
    .begin_map = tell_begin_map,
    .end_map = tell_end,
};

span raw_record_encoded(void) { return (span){out.data, out.size}; }

static uint64_t get_varint(const char **at, const char *end) {
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

bool raw_record_find(span record, span name, span *value) {
    const char *at = record.data, *end = record.data + record.size;
    while (at < end) {
        at++; /* 12 */
        size_t entry_size = (size_t)get_varint(&at, end);
        const char *next = at + entry_size;
        at++; /* 0A */
        size_t name_size = (size_t)get_varint(&at, end);
        if (name_size == name.size && memcmp(at, name.data, name_size) == 0) {
            at += name_size + 1; /* 12 */
            size_t value_size = (size_t)get_varint(&at, end);
            const char *value_end = at + value_size;
            bool is_text = (unsigned char)*at == 0x8a;
            at += is_text ? 2 : 1;
            if (is_text) get_varint(&at, value_end);
            *value = (span){at, (size_t)(value_end - at)};
            return true;
        }
        at = next;
    }
    return false;
}

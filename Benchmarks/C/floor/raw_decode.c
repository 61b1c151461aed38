/* raw_decode.c - a raw record (raw_record.c) as an array of nodes, texts copied. */
#include "floor_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *at, *end;
} reader;

static uint64_t get_varint(reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

static double get_double(reader *r) {
    double value = 0;
    if (r->end - r->at < 8) fail("a raw record ends inside a number");
    memcpy(&value, r->at, 8);
    r->at += 8;
    return value;
}

static reader get_part(reader *r) {
    size_t size = (size_t)get_varint(r);
    if (size > (size_t)(r->end - r->at)) fail("a part of a raw record is longer than it");
    reader part = {r->at, r->at + size};
    r->at += size;
    return part;
}

static void skip_byte(reader *r) {
    if (r->at < r->end) r->at++;
}

static node *add_node(arena *to) {
    if (to->count == to->capacity) {
        to->capacity = to->capacity == 0 ? 64 : to->capacity * 2;
        to->nodes = realloc(to->nodes, to->capacity * sizeof *to->nodes);
        if (to->nodes == NULL) fail("out of memory");
    }
    node *added = &to->nodes[to->count++];
    memset(added, 0, sizeof *added);
    return added;
}

static size_t copy(reader part, arena *to, size_t *size) {
    size_t at = to->bytes.size;
    *size = (size_t)(part.end - part.at);
    buffer_append(&to->bytes, part.at, *size);
    return at;
}

static void decode_value(reader value, reader name, arena *to);

static void decode_entries(reader entries, arena *to) {
    while (entries.at < entries.end) {
        skip_byte(&entries);
        reader entry = get_part(&entries);
        skip_byte(&entry);
        reader name = get_part(&entry);
        skip_byte(&entry);
        decode_value(get_part(&entry), name, to);
    }
}

static void decode_elements(reader elements, arena *to) {
    reader none = {NULL, NULL};
    while (elements.at < elements.end) {
        skip_byte(&elements);
        decode_value(get_part(&elements), none, to);
    }
}

static void decode_value(reader value, reader name, arena *to) {
    size_t number = to->count;
    node *n = add_node(to);
    if (name.at != NULL) n->name_at = copy(name, to, &n->name_size);
    n->tag = value.at < value.end ? (unsigned char)*value.at : 0;
    skip_byte(&value);
    reader part;
    switch (n->tag) {
    case 0x08:
    case 0x10:
        n->as.integer = (int64_t)get_varint(&value);
        break;
    case 0x19:
        n->as.real = get_double(&value);
        break;
    case 0x42:
        part = get_part(&value);
        skip_byte(&part);
        n->as.point.latitude = get_double(&part);
        skip_byte(&part);
        n->as.point.longitude = get_double(&part);
        break;
    case 0x52:
        part = get_part(&value);
        skip_byte(&part);
        n->as.timestamp.seconds = (int64_t)get_varint(&part);
        skip_byte(&part);
        n->as.timestamp.nanoseconds = (int32_t)get_varint(&part);
        break;
    case 0x8a:
        skip_byte(&value);
        n->at = copy(get_part(&value), to, &n->size);
        break;
    case 0x2a:
        n->at = copy(get_part(&value), to, &n->size);
        break;
    case 0x32:
    case 0x4a:
        part = get_part(&value);
        if (n->tag == 0x32)
            decode_entries(part, to);
        else
            decode_elements(part, to);
        to->nodes[number].at = number + 1;
        to->nodes[number].size = to->count - number - 1;
        break;
    default:
        break;
    }
}

size_t raw_decode(span record, arena *to) {
    to->count = 0;
    to->bytes.size = 0;
    decode_entries((reader){record.data, record.data + record.size}, to);
    return to->count;
}

void arena_release(arena *a) {
    free(a->nodes);
    buffer_release(&a->bytes);
    *a = (arena){0};
}

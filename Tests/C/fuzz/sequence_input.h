/*
 * sequence_input.h - how the fuzz target "sequence" takes arguments from its input; included by
 * sequence.c only.
 */
#ifndef LARDER_FUZZ_SEQUENCE_INPUT_H
#define LARDER_FUZZ_SEQUENCE_INPUT_H

#include "larder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCANS = 4, SETS = 2, OPERATIONS_MAX = 400 };

typedef struct open_scan {
    larder_scan *scan;
    int set; /* the set it is of, -1 for none */
    bool is_of_write;
    bool is_of_collections;
} open_scan;

typedef struct open_set {
    larder_set *set;
    bool is_of_write;
} open_set;

typedef struct run {
    const uint8_t *at, *end;
    larder_env *env;
    larder_txn *write;
    const larder_txn *read;
    open_scan scans[SCANS];
    open_set sets[SETS];
    larder_builder *builder;
    larder_repack repack;
    larder_error error;
} run;

/* ---- what may not happen ---- */

static void fail(const run *r, const char *what, int32_t status) {
    fprintf(stderr, "%s: %s: %s\n", what, larder_status_name(status), r->error.message);
    abort();
}

/* Nothing is damaged, storage is sound and no transaction is used after its end. */
static int32_t expect(const run *r, int32_t status, const char *what) {
    if (status <= LARDER_E_IO || status == LARDER_E_TXN_ENDED || status == LARDER_E_FORKED ||
        status == LARDER_E_WRONG_THREAD)
        fail(r, what, status);
    return status;
}
#define EXPECT(call) expect(r, (call), #call)

static void must(const run *r, int32_t status, const char *what) {
    if (status != LARDER_OK) fail(r, what, status);
}
#define MUST(call) must(r, (call), #call)

/* ---- arguments ---- */

static uint8_t take(run *r) { return r->at < r->end ? *r->at++ : 0; }

static larder_bytes take_raw(run *r, size_t most) {
    size_t size = take(r), left = (size_t)(r->end - r->at);
    if (size > most) size = most;
    if (size > left) size = left;
    larder_bytes bytes = {r->at, size};
    r->at += size;
    return bytes;
}

static larder_bytes text_of(const char *text) {
    larder_bytes bytes = {text, strlen(text)};
    return bytes;
}

static char long_ids[4][1501];
static char long_path[1201];

static void make_texts(void) {
    static const size_t sizes[4] = {190, 300, 300, 1500};
    for (size_t i = 0; i < 4; i++) {
        memset(long_ids[i], 'x', sizes[i]);
        long_ids[i][sizes[i] - 1] = (char)('w' + i);
    }
    memset(long_path, 'p', 600);
    memcpy(long_path + 600, "/d/c", 5);
}

static larder_bytes take_collection(run *r) {
    static const char *const paths[] = {"c", "c/1/c", "c/1/d", "d", "e/__id3__/c", "\xc3\xa9"};
    uint8_t choice = take(r) % 8;
    if (choice < 6) return text_of(paths[choice]);
    return choice == 6 ? text_of(long_path) : take_raw(r, 64);
}

static larder_bytes take_id(run *r) {
    static const char *const ids[] = {
        "1",   "2",  "a", "b", "__id7__", "__id007__", "__id-12__", "\001x", "\xe2\x82\xac",
        "z z", "A.B"};
    uint8_t choice = take(r) % 16;
    if (choice < 11) return text_of(ids[choice]);
    return choice < 15 ? text_of(long_ids[choice - 11]) : take_raw(r, 250);
}

/* Joined in the run's buffer: one name at a time. */
static larder_bytes take_name(run *r) {
    static char name[4096];
    larder_bytes path = take_collection(r), id = take_id(r);
    if (path.size_bytes > 0) memcpy(name, path.data, path.size_bytes);
    name[path.size_bytes] = '/';
    if (id.size_bytes > 0) memcpy(name + path.size_bytes + 1, id.data, id.size_bytes);
    larder_bytes bytes = {name, path.size_bytes + 1 + id.size_bytes};
    return bytes;
}

static larder_bytes take_user(run *r) {
    static const char *const users[] = {"", "u", "user", "\xc3\xbc"};
    uint8_t choice = take(r) % 16;
    return choice < 12 ? text_of(users[choice % 4]) : take_raw(r, 16);
}

static larder_bytes take_group(run *r) {
    static const char *const groups[] = {"c", "d", "\xc3\xa9", "c/1"};
    return text_of(groups[take(r) % 4]);
}

static larder_time take_time(run *r) {
    larder_time time = {take(r), take(r) % 4 * 300000000, 0};
    if (time.seconds == 255) time.seconds = -62135596800;
    if (time.seconds == 254) time.seconds = 253402300799;
    if (time.seconds == 253) time.nanoseconds = -1;
    return time;
}

static larder_bytes take_payload(run *r) {
    static char zeros[20000];
    uint8_t choice = take(r) % 8;
    larder_bytes large = {zeros, choice == 7 ? sizeof zeros : 3000};
    return choice < 6 ? take_raw(r, 40) : large;
}

static int32_t take_target(run *r) {
    uint8_t choice = take(r);
    return choice == 255 ? INT32_MAX : choice == 254 ? -1 : choice % 8;
}

static int64_t take_batch(run *r) {
    uint8_t choice = take(r);
    return choice == 255 ? INT64_MAX : choice == 254 ? -1 : choice % 32;
}

static larder_bytes take_field(run *r) {
    static const char *const fields[] = {"n", "s", "list", "map", "big", "x.y"};
    return text_of(fields[take(r) % 6]);
}

static size_t take_field_path(run *r, uint8_t buffer[64]) {
    larder_bytes segments[2] = {take_field(r), take_field(r)};
    size_t size = 0, count = take(r) % 4 == 0 ? 2 : 1;
    MUST(larder_path_encode(segments, count, buffer, 64, &size, &r->error));
    return size;
}

static void build_value(run *r, int depth);

static void build_text(run *r, bool is_bytes) {
    static char text[40000];
    uint8_t choice = take(r);
    size_t size = choice < 200 ? choice % 40 : choice < 250 ? choice * 4u : choice * 150u;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + (i * i + choice) % 23);
    larder_bytes bytes = {text, size};
    if (is_bytes)
        larder_builder_bytes(r->builder, bytes, NULL);
    else
        larder_builder_string(r->builder, bytes, NULL);
}

/* Names come in a random order, each once. */
static void build_map(run *r, int depth) {
    static const char *const names[] = {"n", "s", "list", "map", "big", "x.y"};
    uint8_t wanted = take(r);
    larder_builder_begin_map(r->builder, NULL);
    for (size_t i = 0; i < 6; i++) {
        size_t position = (i + wanted) % 6;
        if ((wanted >> position & 1) == 0) continue;
        larder_builder_name(r->builder, text_of(names[position]), NULL);
        build_value(r, depth + 1);
    }
    larder_builder_end_map(r->builder, NULL);
}

static void build_value(run *r, int depth) {
    static const double numbers[] = {0.0, -0.0, 1.5, -1e300, 3.0, 1e-310};
    larder_builder *builder = r->builder;
    uint8_t choice = take(r) % 16;
    if (depth > 6 && choice >= 12) choice = 0;
    if (choice == 0) larder_builder_null(builder, NULL);
    if (choice == 1) larder_builder_boolean(builder, take(r) & 1, NULL);
    if (choice == 2 || choice == 3) larder_builder_integer(builder, (int8_t)take(r), NULL);
    if (choice == 4) larder_builder_integer(builder, INT64_MIN + take(r), NULL);
    if (choice == 5) larder_builder_double(builder, numbers[take(r) % 6], NULL);
    if (choice == 6) larder_builder_timestamp(builder, take_time(r), NULL);
    if (choice == 7 || choice == 8) build_text(r, false);
    if (choice == 9) build_text(r, true);
    if (choice == 10) larder_builder_geo_point(builder, take(r) - 90.0, take(r) - 100.0, NULL);
    if (choice == 11) larder_builder_vector(builder, numbers, take(r) % 6, NULL);
    if (choice == 12 || choice == 13) {
        larder_builder_begin_array(builder, NULL);
        for (int count = take(r) % 5; count > 0; count--)
            build_value(r, depth + 1);
        larder_builder_end_array(builder, NULL);
    }
    if (choice == 14) build_map(r, depth);
    if (choice == 15)
        larder_builder_server_timestamp(builder, take_time(r), (larder_bytes){NULL, 0}, NULL);
}

/* Mostly a well-formed record; values that may not be in one make it empty. */
static larder_bytes take_record(run *r) {
    larder_bytes plain = {NULL, 0};
    if (take(r) % 16 == 15) return take_raw(r, 200);
    larder_builder_reset(r->builder);
    build_map(r, 0);
    if (larder_builder_finish_record(r->builder, &plain, NULL) != LARDER_OK) plain.size_bytes = 0;
    return plain;
}

#endif

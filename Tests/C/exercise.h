/*
 * exercise.h - calls everything that reads values and records on bytes that may be damaged, and
 * states what must hold for any bytes at all. Used by the unit tests and by the fuzz targets.
 */
#ifndef LARDER_TEST_EXERCISE_H
#define LARDER_TEST_EXERCISE_H

#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>

#define EXERCISE_REQUIRE(condition)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline int exercise_sign(int32_t order) { return order < 0 ? -1 : order > 0; }

/* Reads every part of a value, at most so many of them. */
static inline void exercise_walk(larder_bytes value, int depth, int *budget) {
    int32_t boolean;
    int64_t integer;
    double number, second;
    larder_time time;
    larder_bytes name, item;
    size_t count = 0;
    if (depth > 200 || --*budget < 0) return;
    (void)larder_value_type(value);
    (void)larder_value_get_boolean(value, &boolean);
    (void)larder_value_get_integer(value, &integer);
    (void)larder_value_get_double(value, &number);
    (void)larder_value_get_timestamp(value, &time);
    if (larder_value_get_bytes(value, &item) == LARDER_OK)
        (void)larder__crc32c(0, item.data, item.size_bytes);
    (void)larder_value_get_geo_point(value, &number, &second);
    if (larder_value_get_server_timestamp(value, &time, &item) == LARDER_OK)
        exercise_walk(item, depth + 1, budget);
    if (larder_value_count(value, &count) != LARDER_OK) return;
    for (size_t i = 0; i <= count && *budget > 0; i++) {
        (void)larder_value_get_component(value, i, &number);
        if (larder_value_get_element(value, i, &item) == LARDER_OK)
            exercise_walk(item, depth + 1, budget);
        if (larder_value_get_entry(value, i, &name, &item) == LARDER_OK) {
            (void)larder__crc32c(0, name.data, name.size_bytes);
            (void)larder_value_find(value, name, &item);
            exercise_walk(item, depth + 1, budget);
        }
        --*budget;
    }
}

static inline void exercise_order(larder_bytes value) {
    uint8_t small[64], *bytes = NULL;
    for (int32_t direction = 0; direction < 2; direction++) {
        size_t needed = 0;
        int32_t status = larder_order_encode(value, direction, small, sizeof small, &needed, NULL);
        if (status != LARDER_OK && status != LARDER_E_BUFFER_TOO_SMALL) continue;
        bytes = malloc(needed);
        EXERCISE_REQUIRE(bytes != NULL);
        EXERCISE_REQUIRE(larder_order_encode(value, direction, bytes, needed, &needed, NULL) ==
                         LARDER_OK);
        EXERCISE_REQUIRE(larder__order_skip(larder__bytes(bytes, needed), direction) == needed);
        EXERCISE_REQUIRE(status != LARDER_OK || memcmp(bytes, small, needed) == 0);
        free(bytes);
    }
}

static inline void exercise_value(larder_bytes value) {
    int budget = 5000;
    exercise_walk(value, 0, &budget);
    bool valid = larder_value_validate(value, 20, NULL) == LARDER_OK;
    EXERCISE_REQUIRE(larder_value_compare(value, value) == 0);
    EXERCISE_REQUIRE(larder_value_equal(value, value) == 1);
    EXERCISE_REQUIRE(!valid || larder_value_size(value) >= 0);
    EXERCISE_REQUIRE(!valid || larder_value_type(value) >= 0);
    exercise_order(value);
}

/* Comparison is antisymmetric for any bytes, equal values compare equal, and for valid ones the
 * order bytes say the same. */
static inline void exercise_pair(larder_bytes a, larder_bytes b) {
    int order = exercise_sign(larder_value_compare(a, b));
    EXERCISE_REQUIRE(order == -exercise_sign(larder_value_compare(b, a)));
    int32_t equal = larder_value_equal(a, b);
    EXERCISE_REQUIRE(equal == larder_value_equal(b, a));
    if (larder_value_validate(a, 20, NULL) != LARDER_OK ||
        larder_value_validate(b, 20, NULL) != LARDER_OK)
        return;
    EXERCISE_REQUIRE(!equal || order == 0);
    for (int32_t direction = 0; direction < 2; direction++) {
        larder__buffer x = {0}, y = {0};
        EXERCISE_REQUIRE(larder__order_append(a, direction, &x, NULL) == LARDER_OK);
        EXERCISE_REQUIRE(larder__order_append(b, direction, &y, NULL) == LARDER_OK);
        int bytes_order = larder__bytes_compare(larder__bytes(x.data, x.size_bytes),
                                                larder__bytes(y.data, y.size_bytes));
        EXERCISE_REQUIRE(bytes_order == (direction ? -order : order));
        larder__buffer_free(&x);
        larder__buffer_free(&y);
    }
}

/* Everything that reads a record. */
static inline void exercise_look(const larder_record *record) {
    size_t count = larder_record_count(record);
    for (size_t i = 0; i <= count && i < 100; i++) {
        larder_bytes name, value;
        int32_t type;
        if (larder_record_get_entry(record, i, &name, &value, &type) != LARDER_OK) continue;
        int budget = 1000;
        exercise_walk(value, 0, &budget);
        if (name.size_bytes == 0 || name.size_bytes > 100) continue;
        uint8_t path[256];
        size_t size = larder__varint_put(path, name.size_bytes);
        memcpy(path + size, name.data, name.size_bytes);
        size += name.size_bytes;
        memcpy(path + size,
               "\x01"
               "a",
               2);
        larder_field field;
        larder_field_init(&field, larder__bytes(path, size + 2));
        (void)larder_record_find(record, &field, &value, &type);
        larder_field_init(&field, larder__bytes(path, size));
        (void)larder_record_find(record, &field, &value, &type);
    }
    (void)larder_record_size(record);
}

static inline void exercise_copy(const larder_record *record, larder_bytes expected) {
    size_t needed = 0;
    int32_t status = larder_record_copy(record, NULL, 0, &needed, NULL);
    if (status != LARDER_E_BUFFER_TOO_SMALL || needed > (1u << 26)) {
        EXERCISE_REQUIRE(!expected.data);
        return;
    }
    uint8_t *copy = malloc(needed);
    EXERCISE_REQUIRE(copy != NULL);
    status = larder_record_copy(record, copy, needed, &needed, NULL);
    if (expected.data) {
        EXERCISE_REQUIRE(status == LARDER_OK);
        EXERCISE_REQUIRE(larder__bytes_equal(larder__bytes(copy, needed), expected));
    }
    free(copy);
}

/* Bytes as a plain record, then their values as a stored record with themselves as cold part. */
static inline void exercise_record(larder_bytes plain, larder_builder *builder) {
    larder_record record = {0};
    const larder_bytes nothing = {NULL, 0};
    bool valid = larder_record_open(plain, 0, 0, &record, NULL) == LARDER_OK;
    if (!valid && !larder__record_parts(plain, &record.names, &record.values)) return;
    exercise_look(&record);
    exercise_copy(&record, valid ? plain : nothing);
    static const size_t thresholds[] = {0, 8, 100};
    for (size_t i = 0; i < 3; i++) {
        larder__buffer hot = {0}, cold = {0};
        int32_t status = larder__record_split(&record, thresholds[i], &hot, &cold, NULL);
        EXERCISE_REQUIRE(!valid || status == LARDER_OK);
        if (status == LARDER_OK) {
            larder_record stored = record;
            stored.values = larder__bytes(hot.data, hot.size_bytes);
            stored.cold = larder__bytes(cold.data, cold.size_bytes);
            stored.flags = LARDER__RECORD_LOADED;
            exercise_look(&stored);
            exercise_copy(&stored, valid ? plain : nothing);
            EXERCISE_REQUIRE(!valid || larder_record_size(&stored) == larder_record_size(&record));
        }
        larder__buffer_free(&hot);
        larder__buffer_free(&cold);
    }
    larder_record stored = record;
    stored.cold = plain;
    stored.flags = LARDER__RECORD_LOADED;
    exercise_look(&stored);
    exercise_copy(&stored, nothing);
    if (!valid) return;
    larder_bytes patched;
    EXERCISE_REQUIRE(larder_record_patch(&record, NULL, NULL, 0, builder, &patched, NULL) ==
                     LARDER_OK);
    EXERCISE_REQUIRE(larder__bytes_equal(patched, plain));
}

#endif

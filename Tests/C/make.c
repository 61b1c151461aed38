/* make.c - see make.h. */
#include "make.h"
#include "record/record.h"
#include "test.h"

#include <stdarg.h>

static void **kept;
static size_t kept_count, kept_capacity;

static void require(int32_t status, const larder_error *error) {
    if (status == LARDER_OK) return;
    fprintf(stderr, "a test's value cannot be made: %s\n", error->message);
    abort();
}

void make_release(void) {
    for (size_t i = 0; i < kept_count; i++)
        free(kept[i]);
    free(kept);
    kept = NULL;
    kept_count = kept_capacity = 0;
}

static void *keep(size_t size) {
    if (kept_count == kept_capacity) {
        if (kept_capacity == 0) atexit(make_release);
        kept_capacity = kept_capacity ? 2 * kept_capacity : 64;
        kept = realloc(kept, kept_capacity * sizeof *kept);
        if (!kept) abort();
    }
    void *memory = malloc(size ? size : 1);
    if (!memory) abort();
    kept[kept_count++] = memory;
    return memory;
}

larder_bytes make_copy(larder_bytes bytes) {
    larder_bytes copy = {keep(bytes.size_bytes), bytes.size_bytes};
    if (bytes.size_bytes > 0) memcpy((void *)(uintptr_t)copy.data, bytes.data, bytes.size_bytes);
    return copy;
}

larder_bytes make_hex(const char *digits) {
    uint8_t bytes[4096];
    size_t size = 0;
    for (const char *c = digits; *c; c++) {
        if (*c == ' ') continue;
        unsigned value;
        if (size == sizeof bytes || sscanf(c, "%2x", &value) != 1) abort();
        bytes[size++] = (uint8_t)value;
        c++;
    }
    return make_copy((larder_bytes){bytes, size});
}

/* One builder for each value that is being made. */
static larder_builder *start(void) {
    larder_builder *builder;
    larder_error error;
    require(larder_builder_create(NULL, &builder, &error), &error);
    return builder;
}

static larder_bytes finish(larder_builder *builder, bool as_record) {
    larder_bytes result;
    larder_error error;
    require(as_record ? larder_builder_finish_record(builder, &result, &error)
                      : larder_builder_finish_value(builder, &result, &error),
            &error);
    result = make_copy(result);
    larder_builder_close(builder);
    return result;
}

#define MAKE(call)                                                                                 \
    larder_builder *builder = start();                                                             \
    larder_error error;                                                                            \
    require(call, &error);                                                                         \
    return finish(builder, false)

larder_bytes make_null(void) { MAKE(larder_builder_null(builder, &error)); }
larder_bytes make_boolean(bool boolean) { MAKE(larder_builder_boolean(builder, boolean, &error)); }
larder_bytes make_integer(int64_t integer) {
    MAKE(larder_builder_integer(builder, integer, &error));
}
larder_bytes make_double(double number) { MAKE(larder_builder_double(builder, number, &error)); }
larder_bytes make_timestamp(int64_t seconds, int32_t nanoseconds) {
    larder_time time = {seconds, nanoseconds, 0};
    MAKE(larder_builder_timestamp(builder, time, &error));
}
larder_bytes make_pending(int64_t seconds, int32_t nanoseconds, larder_bytes previous) {
    larder_time time = {seconds, nanoseconds, 0};
    MAKE(larder_builder_server_timestamp(builder, time, previous, &error));
}
larder_bytes make_string_of(larder_bytes text) {
    MAKE(larder_builder_string(builder, text, &error));
}
larder_bytes make_string(const char *text) { return make_string_of(test_text(text)); }
larder_bytes make_repeated(char letter, size_t count) {
    char *text = malloc(count + 1);
    if (!text) abort();
    memset(text, letter, count);
    text[count] = 0;
    larder_bytes value = make_string(text);
    free(text);
    return value;
}
larder_bytes make_bytes(larder_bytes content) {
    MAKE(larder_builder_bytes(builder, content, &error));
}
larder_bytes make_reference(const char *name) {
    MAKE(larder_builder_reference(builder, test_text(name), &error));
}
larder_bytes make_geo_point(double latitude, double longitude) {
    MAKE(larder_builder_geo_point(builder, latitude, longitude, &error));
}
larder_bytes make_vector(const double *components, size_t count) {
    MAKE(larder_builder_vector(builder, components, count, &error));
}
larder_bytes make_max(void) { MAKE(larder_builder_max(builder, &error)); }

larder_bytes make_array(size_t count, ...) {
    larder_builder *builder = start();
    larder_error error;
    va_list values;
    va_start(values, count);
    require(larder_builder_begin_array(builder, &error), &error);
    for (size_t i = 0; i < count; i++)
        require(larder_builder_value(builder, va_arg(values, larder_bytes), &error), &error);
    require(larder_builder_end_array(builder, &error), &error);
    va_end(values);
    return finish(builder, false);
}

static void build_map(larder_builder *builder, size_t count, va_list pairs) {
    larder_error error;
    require(larder_builder_begin_map(builder, &error), &error);
    for (size_t i = 0; i < count; i++) {
        const char *name = va_arg(pairs, const char *);
        larder_bytes value = va_arg(pairs, larder_bytes);
        require(larder_builder_name(builder, test_text(name), &error), &error);
        require(larder_builder_value(builder, value, &error), &error);
    }
    require(larder_builder_end_map(builder, &error), &error);
}

larder_bytes make_map(size_t count, ...) {
    larder_builder *builder = start();
    va_list pairs;
    va_start(pairs, count);
    build_map(builder, count, pairs);
    va_end(pairs);
    return finish(builder, false);
}

larder_bytes make_record(size_t count, ...) {
    larder_builder *builder = start();
    va_list pairs;
    va_start(pairs, count);
    build_map(builder, count, pairs);
    va_end(pairs);
    return finish(builder, true);
}

larder_bytes make_path(const char *text) {
    uint8_t path[4096];
    size_t size = 0;
    larder_error error;
    require(larder_path_parse(test_text(text), path, sizeof path, &size, &error), &error);
    return make_copy((larder_bytes){path, size});
}

larder_record make_open(larder_bytes plain) {
    larder_record record;
    larder_error error;
    require(larder_record_open(plain, 0, 0, &record, &error), &error);
    return record;
}

larder_record make_stored(const larder_record *plain, size_t cold_field_bytes) {
    larder__buffer hot = {0}, cold = {0};
    larder_error error;
    require(larder__record_split(plain, cold_field_bytes, &hot, &cold, &error), &error);
    larder_record stored = *plain;
    stored.values = make_copy(larder__bytes(hot.data, hot.size_bytes));
    stored.cold = make_copy(larder__bytes(cold.data, cold.size_bytes));
    stored.cold_raw_bytes = (uint32_t)cold.size_bytes;
    larder__buffer_free(&hot);
    larder__buffer_free(&cold);
    return stored;
}

larder_bytes make_find(const larder_record *record, const char *path) {
    larder_field field;
    larder_bytes value = {NULL, 0};
    larder_field_init(&field, make_path(path));
    if (larder_record_find(record, &field, &value, NULL) != LARDER_OK) value.size_bytes = 0;
    return value;
}

larder_bytes make_order(larder_bytes value, int32_t direction) {
    size_t needed = 0;
    larder_error error;
    int32_t status = larder_order_encode(value, direction, NULL, 0, &needed, &error);
    if (status != LARDER_E_BUFFER_TOO_SMALL) require(status, &error);
    void *bytes = keep(needed);
    require(larder_order_encode(value, direction, bytes, needed, &needed, &error), &error);
    return (larder_bytes){bytes, needed};
}

/* larder_sink.c - the documents as Larder's plain records, by its builder. */
#include "sink.h"

#include <larder.h>
#include <string.h>

static larder_builder *builder;
static larder_bytes encoded;

static larder_bytes bytes_of(span s) { return (larder_bytes){s.data, s.size}; }

static void check(int32_t status, const larder_error *error) {
    if (status != LARDER_OK) {
        fail("Larder, building a record: %s (%s)", larder_strerror(status), error->message);
    }
}

#define TELL(call)                                                                                 \
    do {                                                                                           \
        larder_error error = {0};                                                                  \
        check(call, &error);                                                                       \
    } while (0)

static void tell_begin_document(void) {
    if (builder == NULL) TELL(larder_builder_create(NULL, &builder, &error));
    larder_builder_reset(builder);
    TELL(larder_builder_begin_map(builder, &error));
}
static void tell_end_document(void) {
    TELL(larder_builder_end_map(builder, &error));
    TELL(larder_builder_finish_record(builder, &encoded, &error));
}
static void tell_name(span name) { TELL(larder_builder_name(builder, bytes_of(name), &error)); }
static void tell_null(void) { TELL(larder_builder_null(builder, &error)); }
static void tell_boolean(bool value) { TELL(larder_builder_boolean(builder, value, &error)); }
static void tell_integer(int64_t value) { TELL(larder_builder_integer(builder, value, &error)); }
static void tell_real(double value) { TELL(larder_builder_double(builder, value, &error)); }
static void tell_text(span value) { TELL(larder_builder_string(builder, bytes_of(value), &error)); }
static void tell_reference(span value) {
    static buffer name;
    name.size = 0;
    buffer_append(&name, REFERENCE_PREFIX, strlen(REFERENCE_PREFIX));
    buffer_append(&name, value.data, value.size);
    TELL(larder_builder_reference(builder, (larder_bytes){name.data, name.size}, &error));
}
static void tell_timestamp(int64_t seconds, int32_t nanoseconds) {
    TELL(larder_builder_timestamp(builder, (larder_time){seconds, nanoseconds, 0}, &error));
}
static void tell_geo_point(double latitude, double longitude) {
    TELL(larder_builder_geo_point(builder, latitude, longitude, &error));
}
static void tell_begin_array(void) { TELL(larder_builder_begin_array(builder, &error)); }
static void tell_end_array(void) { TELL(larder_builder_end_array(builder, &error)); }
static void tell_begin_map(void) { TELL(larder_builder_begin_map(builder, &error)); }
static void tell_end_map(void) { TELL(larder_builder_end_map(builder, &error)); }

const sink larder_sink = {
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
    .end_array = tell_end_array,
    .begin_map = tell_begin_map,
    .end_map = tell_end_map,
};

span larder_encoded(void) { return (span){encoded.data, encoded.size_bytes}; }

/*
 * make.h - encoded values for tests, in one expression each.
 *
 * Every result is memory of exactly its size, so that the address sanitizer sees a read beyond
 * it; it lives until make_release. A value that cannot be built ends the program: tests of
 * failing calls use the builder itself.
 */
#ifndef LARDER_TEST_MAKE_H
#define LARDER_TEST_MAKE_H

#include "larder.h"

#include <stdbool.h>

/* A copy of exactly its size. */
larder_bytes make_copy(larder_bytes bytes);
/* From hexadecimal digits; blanks are skipped. */
larder_bytes make_hex(const char *digits);
void make_release(void);

larder_bytes make_null(void);
larder_bytes make_boolean(bool boolean);
larder_bytes make_integer(int64_t integer);
larder_bytes make_double(double number);
larder_bytes make_timestamp(int64_t seconds, int32_t nanoseconds);
/* previous empty for none */
larder_bytes make_pending(int64_t seconds, int32_t nanoseconds, larder_bytes previous);
larder_bytes make_string(const char *text);
larder_bytes make_string_of(larder_bytes text);
/* count times the same letter */
larder_bytes make_repeated(char letter, size_t count);
larder_bytes make_bytes(larder_bytes content);
larder_bytes make_reference(const char *name);
larder_bytes make_geo_point(double latitude, double longitude);
larder_bytes make_vector(const double *components, size_t count);
larder_bytes make_max(void);
/* count values; they may be results of the above */
larder_bytes make_array(size_t count, ...);
/* count pairs of const char * and larder_bytes */
larder_bytes make_map(size_t count, ...);
/* the same as a plain record */
larder_bytes make_record(size_t count, ...);
/* An encoded field path from canonical text. */
larder_bytes make_path(const char *text);
/* Opens plain with the default limits. */
larder_record make_open(larder_bytes plain);
/* The stored form of an opened one, with its cold part at hand: what takes so many bytes is cold. */
larder_record make_stored(const larder_record *plain, size_t cold_field_bytes);
/* The value at a path of canonical text; empty when there is none. */
larder_bytes make_find(const larder_record *record, const char *path);
/* Order bytes. */
larder_bytes make_order(larder_bytes value, int32_t direction);

#endif

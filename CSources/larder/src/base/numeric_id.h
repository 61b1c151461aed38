/*
 * numeric_id.h - numeric ids: path segments that stand for a 64-bit integer, as __id42__ does.
 *
 * Firestore has one spelling of each number other than 0, of document ids only. Larder up to 0.2
 * also stored others (__id007__, __id0__): they keep their place in the order, behind the canonical
 * spelling of their number, so that such rows are found, but no new ones come in.
 */
#ifndef LARDER_NUMERIC_ID_H
#define LARDER_NUMERIC_ID_H

#include "bytes.h"

/* Room for the canonical spelling of any number, with its NUL. */
#define LARDER__NUMERIC_ID_TEXT 32

/* __id<digits>__ with an optional minus, in the range of int64; any spelling. */
bool larder__numeric_id(larder_bytes segment, int64_t *value);
/* Writes the canonical spelling; returns its size. */
size_t larder__numeric_id_print(char out[LARDER__NUMERIC_ID_TEXT], int64_t value);
/* Whether segment is the canonical spelling of value. */
bool larder__numeric_id_is_canonical(larder_bytes segment, int64_t value);

/* Firestore's order of two path segments: numeric ids first, by number, then UTF-8 bytes. Of
 * several spellings of one number the canonical one is first. */
int larder__segment_compare(larder_bytes a, larder_bytes b);

#endif

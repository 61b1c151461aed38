/*
 * node_key.h - keys of nodes in a form whose memcmp order is the Realtime Database's order.
 *
 *   01 | int32 biased, big-endian (4) | 2 * length of the text + 1, or + 0 with a minus
 *                                          a key that is a 32-bit integer
 *   the text, with lead bytes EE and EF as FE and FF
 *                                          every other key
 *   FF FF                                  .priority: above all keys
 *
 * Keys have no control characters, so the first byte tells the two apart. UTF-16 order differs
 * from UTF-8 order in one place only: U+E000..U+FFFF (lead bytes EE, EF) come after what takes two
 * units (F0..F4). A key is a 32-bit integer when it has 1 to 11 characters, digits behind an
 * optional minus, and its value is in range; of two spellings of one number the shorter one is
 * first, then the one with the minus (-0 before 00).
 */
#ifndef LARDER_NODE_KEY_H
#define LARDER_NODE_KEY_H

#include "base/bytes.h"

#define LARDER__FORM_MAX LARDER_NODE_KEY_MAX_BYTES

/* A key in that form; size 0 is no key of a caller's and names a tree's root. */
typedef struct larder__form {
    size_t size_bytes;
    uint8_t bytes[LARDER__FORM_MAX];
} larder__form;

static inline larder_bytes larder__form_bytes(const larder__form *form) {
    return larder__bytes(form->bytes, form->size_bytes);
}
/* text has at most LARDER__FORM_MAX bytes. */
void larder__form_encode(larder_bytes text, larder__form *form);
/* The key's text, in the form's own bytes or in scratch. False when the bytes are no form. */
bool larder__form_decode(larder_bytes form, char scratch[LARDER__FORM_MAX], larder_bytes *text);
/* Size, characters, UTF-8: OK or E_INVALID_NAME. */
int32_t larder__node_key_check(larder_bytes key, larder_error *error);
/* UTF-16 order of UTF-8 text. */
int larder__text_compare(larder_bytes left, larder_bytes right);
/* The order of keys. */
int larder__node_key_compare(larder_bytes left, larder_bytes right);

/* Takes the first key off a path; false when none is left. */
bool larder__path_take(larder_bytes *path, larder_bytes *key);
extern const larder_bytes larder__priority_key;  /* .priority */
extern const larder_bytes larder__priority_form; /* FF FF */
/* Keys of a path, checked. may_end_in_priority: its last key may be .priority. */
int32_t larder__node_path_check(larder_bytes path, bool may_end_in_priority, uint32_t *depth,
                                larder_error *error);

#endif

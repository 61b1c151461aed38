/*
 * segment.h - a row of table nodes: a run of children of one location, in key order, with all
 * that lies below them and is not a location of its own.
 *
 *   key      location number, separator (location.h)
 *   0        flags: 01 a cold part is present
 *   1..4     checksum over the key, byte 0, and bytes 5 up to the frame
 *   5        number of children, varint
 *            number of names (1), bytes of the names varint, bytes of the hot part varint
 *            names: size (1), text; each once
 *            hot part: for each child
 *                bytes of its key form shared with the child before, varint
 *                bytes that follow, varint; those bytes
 *                node
 *   with 01  raw size varint, bytes of it that no node uses varint,
 *            dictionary varint (0 none; 1 stored raw; else id + 1),
 *            checksum of the frame (4), frame
 *
 * A stored node is an encoded one (larder.h), but: the size of children is a varint; the key of a
 * child is one byte, its place in the row's names from 1 on, or 0, size varint and text; a
 * string of COLD_MIN bytes or more is 9, where it begins in the cold part and its size, varints;
 * and 8 with a location number stands for children that lie in rows of their own.
 *
 * What queries compare (keys, numbers, short strings) is thus read in place; the frame is a zstd
 * frame without its magic number and is decompressed when a string in it is asked for.
 */
#ifndef LARDER_SEGMENT_H
#define LARDER_SEGMENT_H

#include "node_plain.h"
#include "store/internal.h"

#define LARDER__COLD_STRING_MIN 32
#define LARDER__NAMES_MAX 255 /* in one row */
#define LARDER__NAMES_MAX_BYTES 8192

/* A row taken apart. Borrows the row; single. */
typedef struct larder__segment {
    const larder_txn *txn;
    larder_bytes key; /* for messages */
    uint64_t child_count;
    uint32_t name_count;
    larder_bytes names, hot, frame;
    larder_bytes cold_part; /* its head and the frame */
    uint32_t cold_bytes;    /* decompressed; 0: there is none */
    uint32_t unused_bytes;  /* of them */
    uint32_t dictionary;
    bool is_raw;       /* the frame is the cold part */
    bool has_places;   /* name_at is filled */
    larder_bytes cold; /* when it is loaded */
    larder__buffer loaded;
    uint16_t name_at[LARDER__NAMES_MAX];
} larder__segment;

/* Checks the checksum. E_CORRUPT. Close it in any case. */
int32_t larder__segment_open(const larder_txn *txn, larder_bytes key, larder_bytes row,
                             larder__segment *segment, larder_error *error);
void larder__segment_close(larder__segment *segment);
/* Finds the places of the row's names. */
int32_t larder__segment_places(larder__segment *segment, larder_error *error);
int32_t larder__segment_damaged(const larder__segment *segment, const char *what,
                                larder_error *error);

/* The children of a row one after the other. Keys are put together only when one is asked for. */
typedef struct larder__segment_child {
    size_t at;         /* of this child, in the hot part */
    size_t next_at;    /* of the one behind it */
    larder_bytes node; /* stored */
    size_t keyed_at;   /* behind the last child whose key was put together */
    larder__form form; /* that key */
} larder__segment_child;
static inline void larder__segment_rewind(larder__segment_child *child) {
    child->next_at = child->keyed_at = child->form.size_bytes = 0;
}
/* The next child, but for its key: OK, END or E_CORRUPT. */
int32_t larder__segment_next(const larder__segment *segment, larder__segment_child *child,
                             larder_error *error);
/* Passes over the children that follow, as far as they are integers without a priority and not from
 * least to most. */
void larder__segment_pass_integers(const larder__segment *segment, larder__segment_child *child,
                                   int64_t least, int64_t most);
/* The key of this child, in child->form. */
int32_t larder__segment_key(const larder__segment *segment, larder__segment_child *child,
                            larder_error *error);
/* The child with a key: OK, NOT_FOUND. */
int32_t larder__segment_find(const larder__segment *segment, larder_bytes form, larder_bytes *node,
                             larder_error *error);
/* Takes a child off the children of a stored node. OK, END. */
int32_t larder__stored_take(larder__segment *segment, larder_bytes *children, larder_bytes *key,
                            larder_bytes *node, larder_error *error);
/* The child of a stored node of type CHILDREN: OK, NOT_FOUND. */
int32_t larder__stored_find(larder__segment *segment, const larder__head *head, const uint8_t *end,
                            larder_bytes key, larder_bytes *node, larder_error *error);
/* The value of a stored leaf; loads the cold part when it lies there. */
int32_t larder__stored_leaf(larder__segment *segment, const larder__head *head, const uint8_t *end,
                            larder_leaf *leaf, larder_error *error);

/* Called for a REFERENCE while a stored node is copied: appends what stands for it. */
typedef int32_t (*larder__reference_function)(void *context, larder_bytes priority,
                                              uint64_t location, uint32_t depth,
                                              larder__buffer *out, larder_error *error);
/* The treatment of a stored node's references and cold strings in a copy. */
typedef struct larder__copy_rules {
    larder__reference_function reference;
    void *context;
    bool keeps_cold; /* cold strings stay COLD */
} larder__copy_rules;
/* Appends a stored node to out as a working one; depth: keys above it. */
int32_t larder__stored_copy(larder__segment *segment, larder_bytes node, uint32_t depth,
                            const larder__copy_rules *rules, larder__buffer *out,
                            larder_error *error);
/* Appends a working node with its COLD strings as strings. */
int32_t larder__cold_resolve_node(larder__segment *segment, larder_bytes node, larder__buffer *out,
                                  larder_error *error);
/* Calls a function for each location that a stored node, or a row, refers to. */
typedef int32_t (*larder__location_function)(void *context, uint64_t location, larder_error *error);
int32_t larder__stored_references(larder__segment *segment, larder_bytes node,
                                  larder__location_function function, void *context,
                                  larder_error *error);
int32_t larder__segment_references(larder__segment *segment, larder__location_function function,
                                   void *context, larder_error *error);
/* The function that keeps references. */
int32_t larder__keep_reference(void *context, larder_bytes priority, uint64_t location,
                               uint32_t depth, larder__buffer *out, larder_error *error);

/* ---- writing (the writer's) ---- */

typedef struct larder__segment_writer {
    larder__buffer names, hot, cold;
    uint64_t child_count;
    uint32_t name_count;
    larder__form last;
    uint16_t name_at[LARDER__NAMES_MAX];
    uint8_t slots[2 * (LARDER__NAMES_MAX + 1)]; /* place in names by hash, 0 for empty */
    uint32_t cold_ratio; /* expected size of a compressed cold part, in 256ths */

} larder__segment_writer;

void larder__segment_begin(larder__segment_writer *writer);
/* Begins with the names of a row, so that nodes can be copied as it stores them. */
int32_t larder__segment_begin_from(larder__segment_writer *writer, larder__segment *source,
                                   larder_error *error);
/* Adds a child as that row stores it. */
int32_t larder__segment_add_stored(larder__segment_writer *writer, larder_bytes form,
                                   larder_bytes node, larder_error *error);
/* Appends bytes of that row's hot part, up to a child's node, and the node instead (empty:
 * nothing); child_count is set by the caller. */
int32_t larder__segment_splice(larder__segment_writer *writer, larder_bytes hot, larder_bytes node,
                               larder_error *error);
/* Adds a child with a working node behind all others. */
int32_t larder__segment_add(larder__segment_writer *writer, larder_bytes form, larder_bytes node,
                            larder_error *error);
/* The row's size, as far as that is known before compressing. */
size_t larder__segment_estimate(const larder__segment_writer *writer);
/* Where the writer stands, to take children back that were added since. */
typedef struct larder__segment_mark {
    size_t names_bytes, hot_bytes, cold_bytes;
    uint64_t child_count;
    uint32_t name_count;
} larder__segment_mark;
larder__segment_mark larder__segment_note(const larder__segment_writer *writer);
void larder__segment_undo(larder__segment_writer *writer, const larder__segment_mark *mark);
/* Builds the row in txn->row. *dictionary: the one it uses, 0 none. */
int32_t larder__segment_finish(larder_txn *txn, larder__segment_writer *writer, larder_bytes key,
                               uint32_t *dictionary, larder_error *error);
/* The same with the cold part of the row that all children were read from. */
int32_t larder__segment_finish_with(larder_txn *txn, larder__segment_writer *writer,
                                    larder_bytes key, const larder__segment *source,
                                    uint32_t unused_bytes, larder_error *error);
/* The same bytes under another key, in txn->row. */
int32_t larder__segment_rekey(larder_txn *txn, const larder__segment *source, larder_bytes row,
                              larder_bytes key, larder_error *error);
/* The bytes of a working node's COLD strings. */
int64_t larder__cold_size(larder_bytes node);

#endif

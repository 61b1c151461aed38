/*
 * page.h - the pages of a data file, read with pread and without LMDB, and what they claim to hold.
 *
 * LMDB 0.9 on 64 bits; all numbers little-endian:
 *
 *   page      number 8 | pad 2 | flags 2 | lower 2 | upper 2 | slots, 2 each | free | nodes
 *             overflow: number 8 | pad 2 | flags 2 | page count 4 | value, over all its pages
 *   node      size 4 | flags 2 | key bytes 2 | key | value, or the page number 8 of a large one
 *   branch    the same with the child's page number in size and flags, and no value
 *   meta      page head 16 | magic 4 | version 4 | address 8 | map size 8 | table of free pages 48 |
 *             table of tables 48 | last page 8 | commit 8
 *   table     page size or 0 (4) | flags 2 | depth 2 | branches 8 | leaves 8 | overflow pages 8 |
 *             entries 8 | root 8; the value of a node in the table of tables
 *
 * Nothing here is believed: whatever a file holds, each call ends, and reads its own memory alone.
 */
#ifndef LARDER_PAGE_H
#define LARDER_PAGE_H

#include "internal.h"
#include "wal.h"

#define LARDER__PAGE_HEAD 16
#define LARDER__PAGE_NONE UINT64_MAX
#define LARDER__PAGE_LARGEST 65536
#define LARDER__TREE_DEPTH_MAX 32
#define LARDER__TABLE_RECORD_BYTES 48

/* An image of a page in the log. */
typedef struct larder__image {
    uint64_t page;
    uint64_t order; /* of two of one page the first counts */
    const uint8_t *bytes;
} larder__image;

/* The data file. */
typedef struct larder__pages {
    int file; /* below 0: there is none */
    uint32_t page_bytes;
    uint64_t file_bytes;
    uint64_t page_count;         /* the last one may be cut off */
    const larder__image *images; /* by page number: they stand for the file's pages */
    size_t image_count;
    int *failure; /* gets the errno of reading; NULL: nobody asks */
} larder__pages;

/* The root of a tree. */
typedef struct larder__root {
    uint64_t page; /* LARDER__PAGE_NONE: the tree is empty */
    uint64_t entry_count;
    uint16_t flags; /* LMDB's */
    uint16_t depth; /* pages from the root to a leaf; 0: the tree is empty */
} larder__root;

typedef struct larder__meta {
    uint64_t commit;
    uint64_t last_page;
    larder__root free_pages, tables;
} larder__meta;

typedef enum larder__page_kind {
    LARDER__PAGE_BROKEN, /* none of the following */
    LARDER__PAGE_BRANCH,
    LARDER__PAGE_LEAF,
    LARDER__PAGE_OVERFLOW,
    LARDER__PAGE_META
} larder__page_kind;

typedef struct larder__page_node {
    larder_bytes key;
    larder_bytes value;   /* of a leaf, in the page */
    uint64_t child;       /* of a branch; of a large value: its first page; else NONE */
    uint64_t value_bytes; /* of a leaf */
    bool is_table;        /* the value is a table's record */
} larder__page_node;

/* Opens the data file of a directory and finds the size of its pages. One that is missing has no
 * pages. */
int32_t larder__pages_open(const char *directory, larder__pages *pages, larder_error *error);
void larder__pages_close(larder__pages *pages);
/* Reads one page, or its image; what the file does not have is zeros. False: it cannot be read. */
bool larder__pages_read(const larder__pages *pages, uint64_t page, uint8_t *bytes);
/* Reads a value that begins in an overflow page. False: the file does not have it. */
bool larder__pages_read_value(const larder__pages *pages, uint64_t page, uint8_t *value,
                              uint64_t size_bytes);
/* One of the two meta pages. */
bool larder__pages_read_meta(const larder__pages *pages, int which, larder__meta *meta);
/* What a meta structure says (136 bytes, as in the log's header). */
bool larder__meta_parse(const uint8_t *bytes, larder__meta *meta);
/* A table's record. */
void larder__root_parse(const uint8_t *record, larder__root *root);

/* By flags and number. */
larder__page_kind larder__page_kind_of(const uint8_t *page, uint64_t number);
/* By flags alone, wherever the page lies. */
larder__page_kind larder__page_kind_anywhere(const uint8_t *page);
/* The free part of a branch or a leaf; false: it has none that makes sense. */
bool larder__page_free_part(const uint8_t *page, uint32_t page_bytes, uint32_t *from, uint32_t *to);
/* Whether nodes of so many bytes fill a page behind its slots and its free part, as LMDB keeps it. */
bool larder__page_is_filled(const uint8_t *page, uint32_t page_bytes, uint64_t nodes_bytes);
/* The pages of a value. */
uint64_t larder__page_overflow_count(const larder__pages *pages, uint64_t value_bytes);

/* ---- nodes ---- */

#define LARDER__PAGE_FLAGS_AT 10
#define LARDER__PAGE_LOWER_AT 12
#define LARDER__PAGE_UPPER_AT 14
#define LARDER__NODE_FLAGS_AT 4
#define LARDER__NODE_KEY_BYTES_AT 6
#define LARDER__NODE_HEAD 8
#define LARDER__NODE_BIG 1
#define LARDER__NODE_TABLE 2

/* Where a page's nodes begin. */
static inline uint32_t larder__page_upper(const uint8_t *page, uint32_t page_bytes) {
    uint16_t upper = larder__load16(page + LARDER__PAGE_UPPER_AT);
    return upper == 0 && page_bytes == LARDER__PAGE_LARGEST ? page_bytes : upper;
}

/* How many nodes a branch or a leaf says it has, and whether its head can be right. */
static inline bool larder__page_count_nodes(const uint8_t *page, uint32_t page_bytes,
                                            size_t *count) {
    uint16_t lower = larder__load16(page + LARDER__PAGE_LOWER_AT);
    uint32_t end = larder__page_upper(page, page_bytes);
    *count = lower < LARDER__PAGE_HEAD ? 0 : (size_t)(lower - LARDER__PAGE_HEAD) / 2;
    return lower >= LARDER__PAGE_HEAD && lower % 2 == 0 && lower <= end && end <= page_bytes;
}

/* The node that begins at an offset; false: it leaves the page. */
static inline bool larder__page_node_from(const uint8_t *page, uint32_t page_bytes, bool is_leaf,
                                          size_t offset, larder__page_node *node) {
    if (offset < LARDER__PAGE_HEAD || offset % 2 != 0 || offset + LARDER__NODE_HEAD > page_bytes)
        return false;
    const uint8_t *at = page + offset;
    size_t room = page_bytes - offset - LARDER__NODE_HEAD;
    uint32_t size = larder__load32(at);
    uint16_t flags = larder__load16(at + LARDER__NODE_FLAGS_AT);
    uint16_t key_bytes = larder__load16(at + LARDER__NODE_KEY_BYTES_AT);
    if (key_bytes > LARDER__KEY_MAX || key_bytes > room) return false;
    *node = (larder__page_node){.key = larder__bytes(at + LARDER__NODE_HEAD, key_bytes),
                                .child = LARDER__PAGE_NONE};
    if (!is_leaf) {
        node->child = size | (uint64_t)flags << 32;
        return true;
    }
    if (flags >= (LARDER__NODE_BIG | LARDER__NODE_TABLE)) return false;
    bool is_big = (flags & LARDER__NODE_BIG) != 0;
    size_t in_page = is_big ? sizeof(uint64_t) : size;
    if (in_page > room - key_bytes) return false;
    const uint8_t *value = at + LARDER__NODE_HEAD + key_bytes;
    node->value_bytes = size;
    node->is_table = (flags & LARDER__NODE_TABLE) != 0;
    if (is_big)
        node->child = larder__load64(value);
    else
        node->value = larder__bytes(value, size);
    return !node->is_table || size == LARDER__TABLE_RECORD_BYTES;
}

/* The node of a slot. */
static inline bool larder__page_node_at(const uint8_t *page, uint32_t page_bytes, bool is_leaf,
                                        size_t slot, larder__page_node *node) {
    size_t at = LARDER__PAGE_HEAD + 2 * slot;
    return at + 2 <= page_bytes &&
           larder__page_node_from(page, page_bytes, is_leaf, larder__load16(page + at), node);
}

/* What a node takes of its page. */
static inline uint64_t larder__page_node_bytes(const larder__page_node *node, bool is_leaf) {
    bool is_large = is_leaf && node->child != LARDER__PAGE_NONE;
    uint64_t value = !is_leaf ? 0 : is_large ? sizeof(uint64_t) : node->value.size_bytes;
    return (LARDER__NODE_HEAD + node->key.size_bytes + value + 1) & ~UINT64_C(1);
}

/* ---- whether LMDB can change a page (page_check.c) ---- */

typedef enum larder__tree_kind {
    LARDER__TREE_ROWS,
    LARDER__TREE_TABLES, /* LMDB's table of tables */
    LARDER__TREE_FREE    /* its table of free pages, whose keys are numbers */
} larder__tree_kind;

/* Where a page is to be. */
typedef struct larder__page_place {
    uint64_t page, page_count; /* the file's */
    uint32_t page_bytes;
    larder__tree_kind kind;
    larder_bytes low, high; /* its keys lie from low on and below high */
    bool has_high;
} larder__page_place;

/* Looks at each node of a branch or leaf. NULL, or what is wrong with it. */
const char *larder__page_check(const uint8_t *page, const larder__page_place *place);

/* ---- sets of pages: a bit for each ---- */

static inline bool larder__page_is_marked(const uint8_t *marks, uint64_t page) {
    return (marks[page / 8] >> page % 8 & 1) != 0;
}
static inline void larder__page_mark(uint8_t *marks, uint64_t page) {
    marks[page / 8] |= (uint8_t)(1 << page % 8);
}

#endif

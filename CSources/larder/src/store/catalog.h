/*
 * catalog.h - table catalog: names and their numbers (catalog.c), shapes (shape.c), and the kinds of
 * all its rows.
 */
#ifndef LARDER_CATALOG_H
#define LARDER_CATALOG_H

#include "internal.h"

/* Checks a document name (or its parts) and finds its numbers. NOT_FOUND when the collection
 * has none. The same with obtain gives it one. */
int32_t larder__name_find(const larder_txn *txn, larder_bytes name, uint64_t *collection,
                          larder__id *id, larder_error *error);
int32_t larder__name_obtain(larder_txn *txn, larder_bytes name, uint64_t *collection,
                            larder__id *id, larder_error *error);
int32_t larder__collection_find(const larder_txn *txn, larder_bytes path, uint64_t *collection,
                                larder_error *error);
int32_t larder__collection_obtain(larder_txn *txn, larder_bytes path, uint64_t *collection,
                                  larder_error *error);
/* The number in the row that makes a collection a member of its group: OK, NOT_FOUND. */
int32_t larder__group_member(const larder_txn *txn, uint64_t group, larder_bytes path,
                             uint64_t *collection, larder_error *error);
/* A collection's row; path is borrowed from the transaction. */
typedef struct larder__collection_row {
    uint64_t group;
    int64_t found_count;
    int64_t size_bytes;
    larder_bytes path;
} larder__collection_row;
int32_t larder__collection_read(const larder_txn *txn, uint64_t collection,
                                larder__collection_row *row, larder_error *error);
/* Path (borrowed from the transaction) and group of a number; E_CORRUPT when unknown. */
int32_t larder__collection_info(const larder_txn *txn, uint64_t collection, larder_bytes *path,
                                uint64_t *group, larder_error *error);
/* Forgets the collection when no table mentions it any more. Call after removing a row that
 * named it; cheap when documents remain. */
int32_t larder__collection_release(larder_txn *txn, uint64_t collection, larder_error *error);
/* Adds to what the collection's row counts, at commit. */
int32_t larder__collection_count(larder_txn *txn, uint64_t collection, int64_t found_delta,
                                 int64_t bytes_delta, larder_error *error);
/* Writes the pending deltas; called by commit, and by readers inside a write transaction. */
int32_t larder__collection_flush(larder_txn *txn, larder_error *error);
int32_t larder__group_find(const larder_txn *txn, larder_bytes group, uint64_t *number,
                           larder_error *error);
/* The group's collections in path order: cursor is zeroed for the first; close it with
 * larder__cursor_close. LARDER_END when done. */
int32_t larder__group_next(const larder_txn *txn, uint64_t group, larder__cursor *cursor,
                           uint64_t *collection, larder_error *error);
/* All collections, in the order of their numbers; otherwise the same. */
int32_t larder__collection_next(const larder_txn *txn, larder__cursor *cursor, uint64_t *collection,
                                larder_error *error);
int32_t larder__user_find(const larder_txn *txn, larder_bytes user, uint64_t *number,
                          larder_error *error);
int32_t larder__user_obtain(larder_txn *txn, larder_bytes user, uint64_t *number,
                            larder_error *error);
int32_t larder__user_name(const larder_txn *txn, uint64_t number, larder_bytes *user,
                          larder_error *error);
/* The text of an id in key form (long ones from the catalog); borrowed from the transaction or
 * in scratch (32 bytes). */
int32_t larder__id_text(const larder_txn *txn, uint64_t collection, larder_bytes key_form,
                        char scratch[32], larder_bytes *text, larder_error *error);
/* For a long id whose last row in one table went: forgets its text when no table mentions the
 * document. Does nothing for others. */
int32_t larder__id_release(larder_txn *txn, uint64_t collection, larder_bytes key_form,
                           larder_error *error);

int32_t larder__shape_create(larder_env *env, larder_error *error);
void larder__shape_destroy(larder_env *env);
void larder__shape_ended(larder_txn *txn, bool committed);
/* Shapes: names containers shared between records. 0: not shared, write the names inline. */
int32_t larder__shape_obtain(larder_txn *txn, larder_bytes names, uint32_t *shape,
                             larder_error *error);

/* Where the format's number stands in its row. */
#define LARDER__FORMAT_AT 6

/* Small catalog rows by kind byte, used by their owners: key = kind, then the owner's bytes. */
enum {
    LARDER__KIND_COUNTERS = 'a',
    LARDER__KIND_FORMAT = 'b',
    LARDER__KIND_COLLECTION_PATH = 'c', /* path key -> number, (path when cut) */
    LARDER__KIND_COLLECTION = 'd',      /* number -> group number, counts, path */
    LARDER__KIND_GROUP = 'e',           /* id key form -> number, text */
    LARDER__KIND_GROUP_MEMBER = 'f',    /* group number, path key -> collection number */
    LARDER__KIND_LONG_ID = 'g',         /* collection number, key form -> text */
    LARDER__KIND_USER = 'h',            /* text -> number */
    LARDER__KIND_USER_NUMBER = 'i',     /* number -> text */
    LARDER__KIND_SHAPE = 'j',           /* number -> names container */
    LARDER__KIND_SHAPE_HASH = 'k',      /* hash128 -> number */
    LARDER__KIND_DICTIONARY = 'l',      /* id (u32) -> a count (see the next), dictionary */
    LARDER__KIND_INDEX = 'm',           /* number -> definition and state (index.c) */
    LARDER__KIND_NAMED = 'n',           /* kind byte, name key -> named value (named.c) */
    LARDER__KIND_QUEUE = 'o',           /* user number -> queue head (mutation.c) */
    LARDER__KIND_CANONICAL = 'p',       /* hash128 of canonical id, target number -> empty */
    LARDER__KIND_TARGET_COUNT = 'q',    /* target number -> document count */
    LARDER__KIND_TREE = 'r',            /* text -> number */
    LARDER__KIND_TREE_NUMBER = 's',     /* number -> text */
    LARDER__KIND_WRITE_ID = 't',        /* tree number -> highest write id */
    LARDER__KIND_DICTIONARY_COUNT = 'u' /* id (u32) -> the records that use a dictionary */
};

#endif

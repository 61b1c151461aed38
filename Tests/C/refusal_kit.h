/*
 * refusal_kit.h - what refusal_test.c gives to calls: a store with a little of everything, and a kind of
 * argument for each word of refusal_calls.h.
 */
#ifndef LARDER_TEST_REFUSAL_KIT_H
#define LARDER_TEST_REFUSAL_KIT_H

#include "test.h"

/* What can be wrong with an argument, or with a member of a struct. */
typedef enum refusal_class {
    REFUSAL_HANDLE,   /* kept until refusal_end */
    REFUSAL_OBJECT,   /* a struct, in or out */
    REFUSAL_BUFFER,   /* a capacity follows */
    REFUSAL_PATH,     /* of a file */
    REFUSAL_BYTES,    /* text, a value, ... in memory of its size */
    REFUSAL_NUMBER,   /* any integer */
    REFUSAL_COUNT,    /* of an array with one item: what it really has cannot be known */
    REFUSAL_CAPACITY, /* of a buffer that is large enough */
    REFUSAL_REAL,
    REFUSAL_TIME,
    REFUSAL_FUNCTION /* in a struct that needs it */
} refusal_class;

typedef struct refusal_slot {
    void *pointer;
    larder_bytes bytes;
    int64_t number; /* of a callback: 0 for none */
    double real;
    larder_time time;
} refusal_slot;

typedef struct refusal_kind {
    const char *word;
    refusal_class class;
    size_t size_bytes; /* of a handle or object that is all zeros at first, 0: not known */
    void (*make)(refusal_slot *slot);
    void (*end)(void *pointer);
    bool is_of_store; /* a handle that a fork ends */
    bool is_opened;   /* an object with a handle that the call opens */
} refusal_kind;

/* An integer, bytes, ... in the struct that a word stands for. */
typedef struct refusal_member {
    const char *word;
    const char *name;
    refusal_class class;
    size_t offset;
    size_t size_bytes; /* of a number */
} refusal_member;
extern const refusal_member refusal_members[];
extern const size_t refusal_member_count;

/* Structs of larder.h with good contents (refusal_structs.c). */
extern const refusal_kind refusal_structs[];
extern const size_t refusal_struct_count;

/* Opens and closes the store. */
void refusal_open(void);
void refusal_close(void);
/* NULL for a word that there is not. */
const refusal_kind *refusal_kind_of(const char *word);
/* Fills a slot; the same handle as before for a word that was used since refusal_begin. */
void refusal_make(const refusal_kind *kind, refusal_slot *slot);
/* A handle, made now or before. */
void *refusal_handle(const char *word);
/* The call has closed it. */
void refusal_forget(const void *handle);
/* Closes what was made; what the call opened first. */
void refusal_end(void);
/* The last commit of the store that changed something. */
uint64_t refusal_commit_number(void);

#endif

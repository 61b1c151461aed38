/*
 * names.h - document names for random tests: plain, numeric, long ids that share their heads, in
 * four collections, one of them nested. Within a collection they are in Firestore's order.
 */
#ifndef LARDER_TEST_NAMES_H
#define LARDER_TEST_NAMES_H

#include "test.h"

enum { NAME_COUNT = 48, NAME_COLLECTIONS = 4, NAME_USERS = 4 };
#define NAME_IDS (NAME_COUNT / NAME_COLLECTIONS)

/* Borrowed for good. */
larder_bytes name_at(size_t position);
larder_bytes name_collection(size_t position); /* 0 .. NAME_COLLECTIONS - 1 */
larder_bytes name_user(size_t position);       /* 0 .. NAME_USERS - 1; 0 is "" */
size_t name_collection_of(size_t position);

#endif

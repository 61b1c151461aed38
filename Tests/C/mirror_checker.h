/*
 * mirror_checker.h - the comparison of a store with the mirror, whose parts lie in several files.
 *
 * For each scan the mirror makes the list of names that it should give, in order, and the scan
 * is walked beside it. Where the header leaves the order of collections open, the lists are
 * compared after sorting both by name, and order is checked within each collection.
 */
#ifndef LARDER_TEST_MIRROR_CHECKER_H
#define LARDER_TEST_MIRROR_CHECKER_H

#include "mirror.h"

enum { CHECKER_NO_USER = -1 };

/* A name's head and its length, for messages. */
#define CHECKER_SHOWN(bytes)                                                                       \
    (bytes).size_bytes < 24 ? (int)(bytes).size_bytes : 24,                                        \
        (bytes).data ? (const char *)(bytes).data : "", (bytes).size_bytes < 24 ? "" : "..."

typedef struct checker {
    const larder_scan_options *options; /* of the scan at hand, for messages */
    const mirror *m;
    const larder_txn *txn;
    const mirror_profile *profile;
    mirror_random random;
    larder_error error;
    int32_t status; /* of the call that failed, with faults */
    uint8_t buffer[LARDER_DOCUMENT_MAX_BYTES];
} checker;

/* False when the comparison cannot go on. */
bool checker_expect(checker *c, int32_t status, int32_t expected, const char *what, int which);
void checker_require(checker *c, bool condition, const char *what, int which);
uint64_t checker_below(checker *c, uint64_t bound);
bool checker_same_bytes(larder_bytes a, larder_bytes b);
bool checker_same_time(larder_time a, larder_time b);
int checker_time_order(larder_time a, larder_time b);

/* ---- documents ---- */

/* The state of a document as a user, or CHECKER_NO_USER, sees it. */
int32_t checker_state_of(const mirror *m, int user, int name);
const mirror_overlay *checker_overlay_of(const mirror *m, int user, int name);
bool checker_document(checker *c, const larder_document *document, int user, int name,
                      bool keys_only);

/* ---- lists of names ---- */

typedef struct checker_list {
    int names[MIRROR_NAMES];
    int count;
} checker_list;

/* For qsort, of names. */
int checker_by_name(const void *a, const void *b);
int checker_by_collection_then_id(const void *a, const void *b);
/* The name of a document that a scan gave; -1 for one outside the universe. */
int checker_name_of(const larder_document *document);
void checker_reverse(checker_list *l);
/* Walks the scan beside the list. in_order: in exactly this order; else in name order within
 * each collection. not_stored: states of documents that are not there are NOT_READ. */
void checker_walk(checker *c, larder_scan *scan, const checker_list *expected, int user,
                  bool keys_only, bool in_order, bool not_stored, const char *what);
/* Random flags of those allowed; the user whose view it is, or CHECKER_NO_USER. */
int checker_random_options(checker *c, larder_scan_options *options, uint32_t allowed);

/* ---- parts: mirror_documents.c, _writes.c, _targets.c, _indexes.c ---- */

void mirror_check_documents(checker *c);
void mirror_check_scans(checker *c);
void mirror_check_collections(checker *c);
void mirror_check_mutations(checker *c);
void mirror_check_overlays(checker *c);
void mirror_check_targets(checker *c);
void mirror_check_named(checker *c);
void mirror_check_indexes(checker *c);

#endif

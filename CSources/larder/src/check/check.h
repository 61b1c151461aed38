/* check.h - what the files of the check share. See check.c. */
#ifndef LARDER_CHECK_H
#define LARDER_CHECK_H

#include "documents/index.h"
#include "nodes/node_key.h"
#include "store/blob.h"

/* Sums over document rows, overall or of one collection. */
typedef struct larder__document_sums {
    int64_t found_count, absent_count;
    int64_t raw_bytes, stored_bytes;
    int64_t cost_bytes;
} larder__document_sums;

/* State of the check of trees (check_nodes.c): locations as numbers (8, big-endian) and bytes. */
typedef struct larder__audit_nodes {
    uint64_t location; /* the one being read, 0 before the first */
    bool has_last;
    larder__form last;     /* its last key so far */
    bool is_holder;        /* its first key is the empty one */
    uint32_t deepest;      /* keys below it, as far as its rows go */
    larder__items seen;    /* with rows: is_holder, deepest */
    larder__items holders; /* mentioned by a tree or a tracked query */
    larder__items linked;  /* mentioned by a node: in which location (8), keys between (1) */
    larder__items discarded;
    larder__items referred; /* all that are mentioned, by anything */
    int64_t index_entries;  /* queries and sweeps that an index is to mention */
    int64_t cold_bytes;     /* of the row's cold part that its children use */
    larder__buffer node;
} larder__audit_nodes;

typedef struct larder__audit {
    const larder_txn *txn;
    const larder__counters *counters;
    larder_problem_function problem;
    larder_progress_function progress;
    void *context;
    larder_check_report *report;
    int64_t row_total;
    larder_error *error;

    larder_usage usage[LARDER__CATEGORY_COUNT];
    int64_t rows[LARDER__TABLE_COUNT];
    larder__document_sums documents, collection; /* of all, of the one being read */
    uint64_t collection_number;                  /* 0 before the first */
    int64_t dictionary_uses[LARDER__DICTIONARY_MAX];
    int64_t queue_batches; /* of the user being read */
    uint64_t queue_user;   /* 0 before the first */
    int64_t queue_total;   /* over the queue rows */
    int64_t collection_rows, collection_found, collection_bytes;
    int64_t catalog_rows[256]; /* by kind byte */
    int64_t shape_bytes;
    int64_t lru_entries;
    larder__items current; /* distinct entries of the LRU log that count */
    larder__buffer scratch, plain;
    larder__audit_nodes nodes;

    struct larder__audit_index *indexes;
    size_t index_count;
    larder__index_work work;
} larder__audit;

typedef struct larder__audit_index {
    larder__index_definition definition;
    larder__buffer row; /* what the definition's bytes point into */
    bool is_complete;
    int64_t stored_entries, stored_bytes; /* as its row says */
    int64_t found_entries, found_bytes;   /* rows in both tables */
    int64_t expected_entries;             /* made from documents and overlays */
} larder__audit_index;

/* Reports a problem at a row; LARDER_OK, or LARDER_STOPPED. */
int32_t larder__audit_report(larder__audit *check, larder__table table, larder_bytes key,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Turns E_CORRUPT and the like into a reported problem; other failures stay. */
int32_t larder__audit_damage(larder__audit *check, larder__table table, larder_bytes key,
                             int32_t status, const larder_error *error);
/* Whether the table has the key: reports when not. */
int32_t larder__audit_mention(larder__audit *check, larder__table from, larder_bytes from_key,
                              larder__table table, const larder__key *key);

/* A row of each table; LARDER_OK goes on. */
int32_t larder__audit_document(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_read_time(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_lru(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_overlay(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_overlay_batch(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_mutation(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_mutation_document(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_target(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_target_document(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_document_target(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_catalog(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_index_entry(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_overlay_entry(larder__audit *check, larder_bytes key, larder_bytes value);

int32_t larder__audit_node(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_node_query(larder__audit *check, larder_bytes key, larder_bytes value);
int32_t larder__audit_node_write(larder__audit *check, larder_bytes key, larder_bytes value);

/* Trees: a tree's rows of the catalog; every row was seen. */
void larder__audit_nodes_begin(larder__audit *check);
int32_t larder__audit_tree(larder__audit *check, larder_bytes key, uint64_t tree,
                           larder_bytes name);
int32_t larder__audit_write_id(larder__audit *check, larder_bytes key, uint64_t tree);
int32_t larder__audit_nodes_end(larder__audit *check);
int32_t larder__audit_queries_end(larder__audit *check);
void larder__audit_nodes_free(larder__audit *check);
/* A tree or a query mentions a location. False without memory. */
bool larder__audit_holder(larder__audit *check, uint64_t location);

/* The collection that was being read is through; the queue that was. */
int32_t larder__audit_collection_end(larder__audit *check);
int32_t larder__audit_queue_end(larder__audit *check);

/* Indexes: read the definitions, test a record's entries, compare the counts. */
int32_t larder__audit_index_begin(larder__audit *check);
int32_t larder__audit_index_record(larder__audit *check, const uint64_t *user, uint64_t collection,
                                   larder_bytes id, const larder_record *record, larder_bytes key);
int32_t larder__audit_index_end(larder__audit *check);
void larder__audit_index_free(larder__audit *check);

/* Splits "collection number, id" at *at; false when malformed. */
bool larder__audit_place(const uint8_t *at, const uint8_t *end, uint64_t *collection,
                         larder_bytes *id);

#endif

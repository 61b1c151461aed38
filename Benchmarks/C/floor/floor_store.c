/*
 * floor_store.c - the tables of the floor.
 *
 *   documents    "cities/city000042"                     -> raw record (raw_record.c)
 *   state        state code (2), document name           -> empty
 *   population   population (8, big-endian), name        -> empty
 *   queue        number of the write (8, big-endian)     -> document name, raw record
 *   views        document name                           -> raw record
 *
 * No versions, times, counters, checksums or eviction order.
 */
#include "floor_parts.h"

#include <stdlib.h>
#include <string.h>

#define MAP_BYTES ((size_t)64 << 30)

void floor_check(int code, const char *what) {
    if (code != MDB_SUCCESS) fail("the floor, %s: %s", what, mdb_strerror(code));
}

static MDB_txn *begin(const floor_store *s) {
    MDB_txn *txn;
    floor_check(mdb_txn_begin(s->env, NULL, 0, &txn), "mdb_txn_begin");
    return txn;
}

floor_store *floor_open(const char *directory, bool durable) {
    floor_store *s = bench_alloc(sizeof *s);
    s->next_batch = 1;
    make_directory(directory);
    floor_check(mdb_env_create(&s->env), "mdb_env_create");
    floor_check(mdb_env_set_mapsize(s->env, MAP_BYTES), "mdb_env_set_mapsize");
    floor_check(mdb_env_set_maxdbs(s->env, 8), "mdb_env_set_maxdbs");
    unsigned flags = MDB_NOTLS | (durable ? 0 : MDB_NOMETASYNC);
    floor_check(mdb_env_open(s->env, directory, flags, 0600), "mdb_env_open");
    MDB_txn *txn;
    struct {
        const char *name;
        MDB_dbi *table;
    } tables[] = {{"documents", &s->documents},
                  {"state", &s->state},
                  {"population", &s->population},
                  {"queue", &s->queue},
                  {"views", &s->views}};
    /* A store that is there is opened without writing, as a program starts that only reads. */
    floor_check(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    unsigned create = 0;
    if (mdb_dbi_open(txn, "views", 0, &s->views) == MDB_NOTFOUND) {
        mdb_txn_abort(txn);
        txn = begin(s);
        create = MDB_CREATE;
    }
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) {
        floor_check(mdb_dbi_open(txn, tables[k].name, create, tables[k].table), "mdb_dbi_open");
    }
    floor_check(mdb_txn_commit(txn), "mdb_txn_commit");
    return s;
}

void floor_close(floor_store *s) {
    mdb_env_close(s->env);
    free(s);
}

static void put(MDB_txn *txn, MDB_dbi table, MDB_val key, MDB_val value) {
    floor_check(mdb_put(txn, table, &key, &value, 0), "mdb_put");
}

/* An index entry: the sorted bytes, then the name. */
static void put_entry(MDB_txn *txn, MDB_dbi table, span sorted, span name) {
    char key[64];
    memcpy(key, sorted.data, sorted.size);
    memcpy(key + sorted.size, name.data, name.size);
    put(txn, table, (MDB_val){sorted.size + name.size, key}, (MDB_val){0, ""});
}

void floor_fill(floor_store *s, int64_t n) {
    enum { DOCUMENTS_PER_COMMIT = 500 };
    city c;
    char name_text[32];
    unsigned char number[8];
    MDB_txn *txn = NULL;
    for (int64_t i = 0; i < n; i++) {
        if (txn == NULL) txn = begin(s);
        city_generate(i, &c);
        city_tell(&c, &raw_record_sink);
        span name = {name_text, city_name(i, name_text)};
        put(txn, s->documents, val(name), val(raw_record_encoded()));
        put_entry(txn, s->state, (span){c.state, 2}, name);
        put_big_endian((uint64_t)c.population, number);
        put_entry(txn, s->population, (span){(char *)number, 8}, name);
        if ((i + 1) % DOCUMENTS_PER_COMMIT == 0 || i + 1 == n) {
            floor_check(mdb_txn_commit(txn), "mdb_txn_commit");
            txn = NULL;
        }
    }
}

void floor_write(floor_store *s, int64_t first, int64_t count) {
    city c;
    char name_text[32];
    unsigned char number[8];
    static buffer batch;
    for (int64_t i = first; i < first + count; i++) {
        city_generate(i, &c);
        city_tell(&c, &raw_record_sink);
        span name = {name_text, city_name(i, name_text)}, record = raw_record_encoded();
        batch.size = 0;
        buffer_append(&batch, name.data, name.size);
        buffer_append(&batch, record.data, record.size);
        put_big_endian(s->next_batch++, number);
        MDB_txn *txn = begin(s);
        put(txn, s->queue, (MDB_val){8, number}, (MDB_val){batch.size, batch.data});
        put(txn, s->views, val(name), val(record));
        floor_check(mdb_txn_commit(txn), "mdb_txn_commit");
    }
}

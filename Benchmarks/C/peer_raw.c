/*
 * peer_raw.c - the floor: LMDB alone, holding the same documents uncompressed.
 *
 *   documents   "cities/city000042"                 -> raw record (raw_record.c)
 *   state       state code (2), document name       -> empty
 *
 * Nothing else is kept: no versions, times, counters, checksums or eviction order.
 */
#include "generator.h"
#include "sink.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAP_BYTES ((uint64_t)64 << 30)

struct store {
    MDB_env *env;
    MDB_dbi documents, state;
    bool indexed;
};

static void check(int code, const char *what) {
    if (code != MDB_SUCCESS) fail("raw LMDB, %s: %s", what, mdb_strerror(code));
}

static MDB_txn *begin(const store *s, unsigned flags) {
    MDB_txn *txn;
    check(mdb_txn_begin(s->env, NULL, flags, &txn), "mdb_txn_begin");
    return txn;
}

static MDB_val val(span bytes) { return (MDB_val){bytes.size, (void *)(uintptr_t)bytes.data}; }

static span span_of_val(MDB_val v) { return (span){v.mv_data, v.mv_size}; }

static store *raw_open(const char *directory, const store_options *options) {
    store *s = bench_alloc(sizeof *s);
    make_directory(directory);
    unsigned flags = MDB_NOTLS;
    if (!options->read_ahead) flags |= MDB_NORDAHEAD;
    if (options->durability == LAST_COMMIT_AT_RISK) flags |= MDB_NOMETASYNC;
    uint64_t map = options->map_bytes == 0 ? DEFAULT_MAP_BYTES : options->map_bytes;
    check(mdb_env_create(&s->env), "mdb_env_create");
    check(mdb_env_set_mapsize(s->env, (size_t)map), "mdb_env_set_mapsize");
    check(mdb_env_set_maxdbs(s->env, 4), "mdb_env_set_maxdbs");
    check(mdb_env_open(s->env, directory, flags, 0600), "mdb_env_open");
    MDB_txn *txn = begin(s, MDB_RDONLY);
    int code = mdb_dbi_open(txn, "documents", 0, &s->documents);
    if (code == MDB_NOTFOUND) {
        mdb_txn_abort(txn);
        txn = begin(s, 0);
        check(mdb_dbi_open(txn, "documents", MDB_CREATE, &s->documents), "mdb_dbi_open");
        s->indexed = false;
    } else {
        check(code, "mdb_dbi_open");
        code = mdb_dbi_open(txn, "state", 0, &s->state);
        if (code != MDB_NOTFOUND) check(code, "mdb_dbi_open");
        s->indexed = code == MDB_SUCCESS;
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    return s;
}

static void raw_close(store *s) {
    mdb_env_close(s->env);
    free(s);
}

static const sink *raw_encoder(void) { return &raw_record_sink; }

static void raw_define_index(store *s) {
    MDB_txn *txn = begin(s, 0);
    check(mdb_dbi_open(txn, "state", MDB_CREATE, &s->state), "mdb_dbi_open");
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    s->indexed = true;
}

/* The index key of a document; false when it has no state. to holds 512 bytes. */
static bool index_key(span name, span record, char *to, MDB_val *key) {
    span state;
    if (!raw_record_find(record, span_of("state"), &state)) return false;
    if (state.size + name.size > 511) fail("raw LMDB: an index key is too long");
    memcpy(to, state.data, state.size);
    memcpy(to + state.size, name.data, name.size);
    *key = (MDB_val){state.size + name.size, to};
    return true;
}

static void raw_insert(store *s, const prepared *documents) {
    MDB_txn *txn = begin(s, 0);
    MDB_val empty = {0, ""};
    char bytes[512];
    for (size_t k = 0; k < documents->count; k++) {
        MDB_val key = val(documents->names[k]), value = val(documents->bodies[k]);
        check(mdb_put(txn, s->documents, &key, &value, 0), "mdb_put");
        MDB_val entry;
        if (s->indexed && index_key(documents->names[k], documents->bodies[k], bytes, &entry)) {
            check(mdb_put(txn, s->state, &entry, &empty, 0), "mdb_put");
        }
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static volatile unsigned char touched; /* keeps reads from being optimised away */

static int64_t raw_read(store *s, const span *names, size_t count, read_mode mode) {
    static buffer copy;
    int64_t found = 0;
    unsigned char sum = 0;
    MDB_txn *txn = begin(s, MDB_RDONLY);
    for (size_t k = 0; k < count; k++) {
        if (mode == READ_EACH_TXN) {
            mdb_txn_reset(txn);
            check(mdb_txn_renew(txn), "mdb_txn_renew");
        }
        MDB_val key = val(names[k]), value;
        int code = mdb_get(txn, s->documents, &key, &value);
        if (code == MDB_NOTFOUND) continue;
        check(code, "mdb_get");
        if (mode == READ_WHOLE) {
            copy.size = 0;
            buffer_append(&copy, value.mv_data, value.mv_size);
            sum ^= (unsigned char)copy.data[0];
        } else {
            sum ^= *(unsigned char *)value.mv_data;
        }
        found++;
    }
    mdb_txn_abort(txn);
    touched = sum;
    return found;
}

/* A floor needs no test: it reads one byte of each value, and counts the candidates. */
static int64_t raw_scan_state(store *s, const char state[2]) {
    (void)state;
    int64_t seen = 0;
    unsigned char sum = 0;
    MDB_txn *txn = begin(s, MDB_RDONLY);
    MDB_cursor *cursor;
    check(mdb_cursor_open(txn, s->documents, &cursor), "mdb_cursor_open");
    MDB_val key, value;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        sum ^= *(unsigned char *)value.mv_data;
        seen++;
    }
    if (code != MDB_NOTFOUND) check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    touched = sum;
    return seen;
}

static int64_t raw_index_state(store *s, const char state[2]) {
    int64_t found = 0;
    unsigned char sum = 0;
    MDB_txn *txn = begin(s, MDB_RDONLY);
    MDB_cursor *cursor;
    check(mdb_cursor_open(txn, s->state, &cursor), "mdb_cursor_open");
    MDB_val entry = val((span){state, 2}), value;
    int code = mdb_cursor_get(cursor, &entry, NULL, MDB_SET_RANGE);
    while (code == MDB_SUCCESS && memcmp(entry.mv_data, state, 2) == 0) {
        MDB_val key = {entry.mv_size - 2, (char *)entry.mv_data + 2};
        check(mdb_get(txn, s->documents, &key, &value), "mdb_get");
        sum ^= *(unsigned char *)value.mv_data;
        found++;
        code = mdb_cursor_get(cursor, &entry, NULL, MDB_NEXT);
    }
    if (code != MDB_NOTFOUND) check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    touched = sum;
    return found;
}

/* One index entry while the index is built, in the arena of its keys. */
typedef struct entry {
    const char *key;
    size_t size;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int order = memcmp(x->key, y->key, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* The floor: collect the keys in one scan, sort them, put them in order. */
static void raw_build_index(store *s) {
    MDB_txn *txn = begin(s, 0);
    check(mdb_dbi_open(txn, "state", MDB_CREATE, &s->state), "mdb_dbi_open");
    MDB_stat stat;
    check(mdb_stat(txn, s->documents, &stat), "mdb_stat");
    entry *entries = bench_alloc(stat.ms_entries * sizeof *entries);
    size_t count = 0;
    buffer keys = {0};
    MDB_cursor *cursor;
    check(mdb_cursor_open(txn, s->documents, &cursor), "mdb_cursor_open");
    MDB_val key, value;
    int code;
    char bytes[512];
    while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        MDB_val made;
        if (!index_key(span_of_val(key), span_of_val(value), bytes, &made)) continue;
        entries[count++].size = made.mv_size;
        buffer_append(&keys, made.mv_data, made.mv_size);
    }
    if (code != MDB_NOTFOUND) check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    const char *at = keys.data;
    for (size_t k = 0; k < count; k++) {
        entries[k].key = at;
        at += entries[k].size;
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    check(mdb_cursor_open(txn, s->state, &cursor), "mdb_cursor_open");
    for (size_t k = 0; k < count; k++) {
        MDB_val put = val((span){entries[k].key, entries[k].size}), empty = {0, ""};
        check(mdb_cursor_put(cursor, &put, &empty, 0), "mdb_cursor_put");
    }
    mdb_cursor_close(cursor);
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    s->indexed = true;
    free(entries);
    buffer_release(&keys);
}

static void raw_remove(store *s, const span *names, size_t count, size_t per_commit) {
    char bytes[512];
    for (size_t first = 0; first < count; first += per_commit) {
        size_t last = first + per_commit < count ? first + per_commit : count;
        MDB_txn *txn = begin(s, 0);
        for (size_t k = first; k < last; k++) {
            MDB_val key = val(names[k]), value, made;
            if (s->indexed) {
                check(mdb_get(txn, s->documents, &key, &value), "mdb_get");
                if (index_key(names[k], span_of_val(value), bytes, &made)) {
                    check(mdb_del(txn, s->state, &made, NULL), "mdb_del");
                }
            }
            check(mdb_del(txn, s->documents, &key, NULL), "mdb_del");
        }
        check(mdb_txn_commit(txn), "mdb_txn_commit");
    }
}

static usage raw_usage(store *s) {
    MDB_txn *txn = begin(s, MDB_RDONLY);
    MDB_envinfo info;
    MDB_stat stat;
    check(mdb_env_info(s->env, &info), "mdb_env_info");
    check(mdb_env_stat(s->env, &stat), "mdb_env_stat");
    size_t pages = 2 + stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    const MDB_dbi tables[3] = {0, s->documents, s->state};
    for (size_t k = 0; k < (s->indexed ? 3u : 2u); k++) {
        check(mdb_stat(txn, tables[k], &stat), "mdb_stat");
        pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    }
    mdb_txn_abort(txn);
    return (usage){(int64_t)((info.me_last_pgno + 1) * stat.ms_psize),
                   (int64_t)(pages * stat.ms_psize)};
}

static void raw_compact(store *s, const char *directory) {
    check(mdb_env_copy2(s->env, directory, MDB_CP_COMPACT), "mdb_env_copy2");
}

const peer raw_peer = {
    .label = "raw LMDB",
    .open = raw_open,
    .close = raw_close,
    .encoder = raw_encoder,
    .encoded = raw_record_encoded,
    .define_index = raw_define_index,
    .build_index = raw_build_index,
    .insert = raw_insert,
    .read = raw_read,
    .scan_state = raw_scan_state,
    .index_state = raw_index_state,
    .remove = raw_remove,
    .usage = raw_usage,
    .compact = raw_compact,
};

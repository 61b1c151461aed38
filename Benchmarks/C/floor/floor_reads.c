/* floor_reads.c - reading the floor's tables: a test on record bytes, matches decoded. */
#include "floor_parts.h"

#include <stdlib.h>
#include <string.h>

struct floor_reader {
    floor_store *store;
    MDB_txn *txn;
    arena document;
};

floor_reader *floor_reader_open(floor_store *s) {
    floor_reader *r = bench_alloc(sizeof *r);
    *r = (floor_reader){.store = s};
    floor_check(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &r->txn), "mdb_txn_begin");
    mdb_txn_reset(r->txn);
    return r;
}

void floor_reader_close(floor_reader *r) {
    mdb_txn_abort(r->txn);
    arena_release(&r->document);
    free(r);
}

static void begin(floor_reader *r) { floor_check(mdb_txn_renew(r->txn), "mdb_txn_renew"); }
static void end(floor_reader *r) { mdb_txn_reset(r->txn); }

static MDB_cursor *open_cursor(floor_reader *r, MDB_dbi table) {
    MDB_cursor *cursor;
    floor_check(mdb_cursor_open(r->txn, table, &cursor), "mdb_cursor_open");
    return cursor;
}

/* 1 when the document is there: it is decoded. */
static int64_t look_up(floor_reader *r, MDB_val name) {
    MDB_val record;
    int code = mdb_get(r->txn, r->store->documents, &name, &record);
    if (code == MDB_NOTFOUND) return 0;
    floor_check(code, "mdb_get");
    return raw_decode(span_of_val(record), &r->document) > 0;
}

int64_t floor_read(floor_reader *r, const int64_t *numbers, size_t count) {
    int64_t found = 0;
    char name[32];
    for (size_t k = 0; k < count; k++) {
        begin(r);
        found += look_up(r, (MDB_val){city_name(numbers[k], name), name});
        end(r);
    }
    return found;
}

int64_t floor_scan_state(floor_reader *r) {
    int64_t found = 0;
    begin(r);
    MDB_cursor *cursor = open_cursor(r, r->store->documents);
    MDB_val key, record;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &record, MDB_NEXT)) == MDB_SUCCESS) {
        span state;
        if (!raw_record_find(span_of_val(record), span_of("state"), &state)) continue;
        if (state.size != 2 || memcmp(state.data, STATE_WANTED, 2) != 0) continue;
        found += raw_decode(span_of_val(record), &r->document) > 0;
    }
    if (code != MDB_NOTFOUND) floor_check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    end(r);
    return found;
}

int64_t floor_index_state(floor_reader *r) {
    int64_t found = 0;
    begin(r);
    MDB_cursor *cursor = open_cursor(r, r->store->state);
    MDB_val entry = val(span_of(STATE_WANTED));
    int code = mdb_cursor_get(cursor, &entry, NULL, MDB_SET_RANGE);
    while (code == MDB_SUCCESS && memcmp(entry.mv_data, STATE_WANTED, 2) == 0) {
        found += look_up(r, (MDB_val){entry.mv_size - 2, (char *)entry.mv_data + 2});
        code = mdb_cursor_get(cursor, &entry, NULL, MDB_NEXT);
    }
    if (code != MDB_NOTFOUND) floor_check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    end(r);
    return found;
}

/* The best documents so far: a heap whose root is the least of them. */
typedef struct candidate {
    int64_t population;
    MDB_val name;
} candidate;

static bool is_less(candidate a, candidate b) {
    if (a.population != b.population) return a.population < b.population;
    return memcmp(a.name.mv_data, b.name.mv_data, NAME_BYTES) < 0;
}

static void sift_down(candidate *heap, size_t count, size_t at) {
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            if (is_less(heap[child], heap[least])) least = child;
        }
        if (least == at) return;
        candidate moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static int compare_descending(const void *a, const void *b) {
    return is_less(*(const candidate *)a, *(const candidate *)b) ? 1 : -1;
}

static int64_t integer_of(span value) {
    uint64_t number = 0;
    for (size_t k = 0; k < value.size && k < 10; k++)
        number |= (uint64_t)((unsigned char)value.data[k] & 0x7f) << (7 * k);
    return (int64_t)number;
}

int64_t floor_scan_most_populous(floor_reader *r, size_t count) {
    candidate *heap = bench_alloc(count * sizeof *heap);
    size_t kept = 0;
    begin(r);
    MDB_cursor *cursor = open_cursor(r, r->store->documents);
    MDB_val key, record;
    int code;
    while ((code = mdb_cursor_get(cursor, &key, &record, MDB_NEXT)) == MDB_SUCCESS) {
        span value;
        if (!raw_record_find(span_of_val(record), span_of("population"), &value)) continue;
        candidate c = {integer_of(value), key};
        if (kept < count) {
            heap[kept++] = c;
            if (kept == count) {
                for (size_t k = count / 2 + 1; k-- > 0;)
                    sift_down(heap, count, k);
            }
        } else if (is_less(heap[0], c)) {
            heap[0] = c;
            sift_down(heap, count, 0);
        }
    }
    if (code != MDB_NOTFOUND) floor_check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    qsort(heap, kept, sizeof *heap, compare_descending);
    int64_t found = 0;
    for (size_t k = 0; k < kept; k++)
        found += look_up(r, heap[k].name);
    end(r);
    free(heap);
    return found;
}

int64_t floor_index_most_populous(floor_reader *r, size_t count) {
    int64_t found = 0;
    begin(r);
    MDB_cursor *cursor = open_cursor(r, r->store->population);
    MDB_val entry;
    int code = mdb_cursor_get(cursor, &entry, NULL, MDB_LAST);
    while (code == MDB_SUCCESS && (size_t)found < count) {
        found += look_up(r, (MDB_val){entry.mv_size - 8, (char *)entry.mv_data + 8});
        code = mdb_cursor_get(cursor, &entry, NULL, MDB_PREV);
    }
    if (code != MDB_NOTFOUND) floor_check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    end(r);
    return found;
}

int64_t floor_first(floor_reader *r, size_t count) {
    int64_t found = 0;
    begin(r);
    MDB_cursor *cursor = open_cursor(r, r->store->documents);
    MDB_val key, record;
    int code = mdb_cursor_get(cursor, &key, &record, MDB_FIRST);
    while (code == MDB_SUCCESS && (size_t)found < count) {
        found += raw_decode(span_of_val(record), &r->document) > 0;
        code = mdb_cursor_get(cursor, &key, &record, MDB_NEXT);
    }
    if (code != MDB_NOTFOUND) floor_check(code, "mdb_cursor_get");
    mdb_cursor_close(cursor);
    end(r);
    return found;
}

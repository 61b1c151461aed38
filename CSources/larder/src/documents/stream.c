/* stream.c - see stream.h. */
#include "stream.h"
#include "store/catalog.h"

#include <stdlib.h>

static larder_bytes id_of(const larder__cursor *cursor, const larder__key *prefix) {
    return larder__bytes(larder__begin(cursor->key) + prefix->size_bytes,
                         cursor->key.size_bytes - prefix->size_bytes);
}

static int32_t settle(larder__cursor *cursor, const larder__key *prefix, int32_t status,
                      bool *has) {
    *has = status == LARDER_OK &&
           larder__bytes_has_prefix(cursor->key, larder__key_bytes(prefix)) &&
           cursor->key.size_bytes > prefix->size_bytes;
    return status == LARDER_END ? LARDER_OK : status;
}

/* Ids longer than a head begin and end a range by it: those that share it, which lie among long
 * ones in hash order, are compared by text. */
static larder_bytes head_of(larder_bytes id) {
    return id.size_bytes > LARDER__ID_HEAD ? larder__bytes(id.data, LARDER__ID_HEAD) : id;
}
static larder_bytes seek_part(const larder__id *id) { return head_of(larder__id_bytes(id)); }

static int32_t begin(larder__stream *s, larder__cursor *cursor, const larder__key *prefix,
                     bool *has, larder_error *error) {
    larder__key key = *prefix;
    int32_t status;
    if (!s->is_reverse) {
        if (s->start.size_bytes > 0) {
            larder_bytes part = seek_part(&s->start);
            larder__key_append(&key, part.data, part.size_bytes);
        }
        status = larder__cursor_seek(cursor, larder__key_bytes(&key), error);
    } else {
        bool is_bounded = true;
        if (s->end.size_bytes > 0) {
            larder_bytes part = seek_part(&s->end);
            larder__key_append(&key, part.data, part.size_bytes);
            if (s->end.size_bytes > LARDER__ID_HEAD)
                is_bounded = larder__key_successor(&key);
            else
                larder__key_byte(&key, 0); /* the end itself is looked at, then refused */
        } else {
            is_bounded = larder__key_successor(&key);
        }
        status = is_bounded ? larder__cursor_seek_below(cursor, larder__key_bytes(&key), error)
                            : larder__cursor_last(cursor, error);
    }
    return settle(cursor, prefix, status, has);
}

int32_t larder__stream_open(larder__stream *s, const larder_txn *txn, uint64_t collection,
                            uint64_t user, const larder_scan_options *options, larder_bytes start,
                            larder_bytes end, larder_error *error) {
    memset(s, 0, sizeof *s);
    s->txn = txn;
    s->collection = collection;
    s->user = user;
    s->is_reverse = (options->flags & LARDER_SCAN_REVERSE) != 0;
    s->start_is_after = (options->flags & LARDER_SCAN_START_AFTER) != 0;
    s->end_is_at = (options->flags & LARDER_SCAN_END_AT) != 0;
    s->start_text = start;
    s->end_text = end;
    s->fetch_count = 1;
    if (start.size_bytes > 0) larder__id_encode(start, &s->start);
    if (end.size_bytes > 0) larder__id_encode(end, &s->end);
    larder__key_number(&s->base_prefix, collection);
    int32_t status = larder__cursor_open(txn, LARDER__DOCUMENTS, &s->base, error);
    if (status == LARDER_OK) status = begin(s, &s->base, &s->base_prefix, &s->has_base, error);
    if (status == LARDER_OK && user != 0) {
        larder__key_number(&s->overlay_prefix, user);
        larder__key_number(&s->overlay_prefix, collection);
        status = larder__cursor_open(txn, LARDER__OVERLAYS, &s->overlay, error);
        if (status == LARDER_OK)
            status = begin(s, &s->overlay, &s->overlay_prefix, &s->has_overlay, error);
    }
    if (status != LARDER_OK) larder__stream_close(s);
    return status;
}

void larder__stream_close(larder__stream *s) {
    if (s->txn == NULL) return;
    larder__cursor_close(&s->base);
    larder__cursor_close(&s->overlay);
    larder__release(&s->txn->env->allocator, s->run);
    s->run = NULL;
}

static int32_t step(larder__stream *s, larder__cursor *cursor, const larder__key *prefix, bool *has,
                    larder_error *error) {
    int32_t status =
        s->is_reverse ? larder__cursor_previous(cursor, error) : larder__cursor_next(cursor, error);
    return settle(cursor, prefix, status, has);
}

/* Merges the two tables: the next id in key order. LARDER_END. */
static int32_t next_raw(larder__stream *s, larder_error *error) {
    int32_t status = LARDER_OK;
    if (s->base_is_current) status = step(s, &s->base, &s->base_prefix, &s->has_base, error);
    if (status == LARDER_OK && s->overlay_is_current)
        status = step(s, &s->overlay, &s->overlay_prefix, &s->has_overlay, error);
    s->base_is_current = s->overlay_is_current = false;
    if (status != LARDER_OK) return status;
    if (!s->has_base && !s->has_overlay) return LARDER_END;
    larder_bytes base = {0}, overlay = {0};
    if (s->has_base) base = id_of(&s->base, &s->base_prefix);
    if (s->has_overlay) overlay = id_of(&s->overlay, &s->overlay_prefix);
    int order = !s->has_overlay ? -1 : !s->has_base ? 1 : larder__bytes_compare(base, overlay);
    if (s->is_reverse && s->has_base && s->has_overlay) order = -order;
    s->base_is_current = order <= 0;
    s->overlay_is_current = order >= 0;
    s->current = order <= 0 ? base : overlay;
    return LARDER_OK;
}

/* ---- runs of ids that share their first LARDER__ID_HEAD bytes ---- */

static int by_text(const void *a, const void *b) {
    return larder__bytes_compare(((const larder__run_entry *)a)->text,
                                 ((const larder__run_entry *)b)->text);
}

static int32_t grow_run(larder__stream *s, size_t *capacity, larder_error *error) {
    const larder_allocator *allocator = &s->txn->env->allocator;
    size_t wanted = *capacity == 0 ? 8 : 2 * *capacity;
    larder__run_entry *grown = larder__allocate(allocator, wanted * sizeof *grown);
    if (grown == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for long ids");
    if (s->run_count > 0) memcpy(grown, s->run, s->run_count * sizeof *grown);
    larder__release(allocator, s->run);
    s->run = grown;
    *capacity = wanted;
    return LARDER_OK;
}

/* Takes the ids that share the current one's head; afterwards the merge stands behind them. */
static int32_t take_run(larder__stream *s, larder_error *error) {
    uint8_t head[LARDER__ID_HEAD];
    char scratch[32];
    memcpy(head, s->current.data, sizeof head);
    size_t capacity = 0;
    larder__release(&s->txn->env->allocator, s->run);
    s->run = NULL;
    s->run_count = s->run_at = 0;
    int32_t status = LARDER_OK;
    while (status == LARDER_OK && s->current.size_bytes > LARDER__ID_HEAD &&
           memcmp(s->current.data, head, sizeof head) == 0) {
        if (s->current.size_bytes > LARDER__ID_MAX)
            status = larder__corrupt(
                s->txn, s->base_is_current ? LARDER__DOCUMENTS : LARDER__OVERLAYS,
                s->base_is_current ? s->base.key : s->overlay.key, "a key that is too long", error);
        else if (s->run_count == capacity)
            status = grow_run(s, &capacity, error);
        if (status != LARDER_OK) break;
        larder__run_entry *entry = &s->run[s->run_count];
        entry->size_bytes = (uint8_t)s->current.size_bytes;
        memcpy(entry->id, s->current.data, s->current.size_bytes);
        status = larder__id_text(s->txn, s->collection, s->current, scratch, &entry->text, error);
        if (status != LARDER_OK) break;
        s->run_count++;
        status = next_raw(s, error);
    }
    if (status < 0) { /* the next call goes on behind what the merge stands on */
        larder__release(&s->txn->env->allocator, s->run);
        s->run = NULL;
        s->run_count = 0;
        return status;
    }
    /* The merge stands on the id behind the run: it is not consumed yet. */
    s->base_is_current = s->overlay_is_current = false;
    qsort(s->run, s->run_count, sizeof *s->run, by_text);
    if (s->is_reverse)
        for (size_t i = 0, k = s->run_count - 1; i < k; i++, k--) {
            larder__run_entry kept = s->run[i];
            s->run[i] = s->run[k];
            s->run[k] = kept;
        }
    return LARDER_OK;
}

/* ---- bounds ---- */

/* Compares the current id with a bound in name order. */
static int compare_bound(const larder__stream *s, const larder__id *bound, larder_bytes text) {
    larder_bytes id = s->current, other = larder__id_bytes(bound);
    int order = larder__bytes_compare(head_of(id), head_of(other));
    if (order != 0) return order;
    if (id.size_bytes > LARDER__ID_HEAD && other.size_bytes > LARDER__ID_HEAD)
        return larder__bytes_compare(s->run[s->run_at].text, text);
    return (id.size_bytes > other.size_bytes) - (id.size_bytes < other.size_bytes);
}

/* 0: inside; -1: before the start; 1: behind the end. */
static int place(const larder__stream *s) {
    if (s->start.size_bytes > 0) {
        int order = compare_bound(s, &s->start, s->start_text);
        if (order < 0 || (order == 0 && s->start_is_after)) return -1;
    }
    if (s->end.size_bytes > 0) {
        int order = compare_bound(s, &s->end, s->end_text);
        if (order > 0 || (order == 0 && !s->end_is_at)) return 1;
    }
    return 0;
}

static int32_t next_any(larder__stream *s, larder_error *error) {
    if (s->run != NULL && s->run_at + 1 < s->run_count) {
        s->run_at++;
        s->current = larder__bytes(s->run[s->run_at].id, s->run[s->run_at].size_bytes);
        return LARDER_OK;
    }
    if (s->run != NULL) {
        larder__release(&s->txn->env->allocator, s->run);
        s->run = NULL;
    }
    int32_t status = next_raw(s, error);
    if (status != LARDER_OK || s->current.size_bytes <= LARDER__ID_HEAD) return status;
    status = take_run(s, error);
    if (status == LARDER_OK) s->current = larder__bytes(s->run[0].id, s->run[0].size_bytes);
    return status;
}

/* ---- rows fetched ahead: no overlays, ordinary ids ---- */

static bool can_fetch(const larder__stream *s) {
    return s->user == 0 && s->base_is_current && s->run == NULL;
}

/* Whether a row is one of the collection's, with an id that lies among the others in name order. */
static bool is_ordinary(const larder__stream *s, const larder__mdb_row *row) {
    size_t prefix = s->base_prefix.size_bytes;
    return larder__guard_can_read_row(s->txn, row->key, row->value) && row->key.mv_size > prefix &&
           row->key.mv_size <= prefix + LARDER__ID_HEAD &&
           larder__bytes_has_prefix(larder__bytes(row->key.mv_data, row->key.mv_size),
                                    larder__key_bytes(&s->base_prefix));
}

/* Puts the cursor back on a row that it was on. In damaged pages a search can find another row, with
 * which the scan would not end. */
static int32_t return_to(larder__stream *s, larder_bytes key, larder_error *error) {
    int32_t status = larder__cursor_seek_on(&s->base, key, error);
    if (status == LARDER_END || (status == LARDER_OK && s->base.key.data != key.data))
        status = larder__corrupt(s->txn, LARDER__DOCUMENTS, key, "keys are out of order", error);
    if (status != LARDER_OK) {
        s->has_base = s->base_is_current = false;
        s->row_count = 0;
    }
    return status;
}

/* Fetches rows, twice as many as the last time, up to the first that is not ordinary. That row, or an
 * error, is left to next_any. */
static int32_t fetch(larder__stream *s, larder_error *error) {
    size_t taken;
    MDB_cursor_op op = s->is_reverse ? MDB_PREV : MDB_NEXT;
    int code = larder__mdb_cursor_get_rows(s->base.mdb, op, s->rows, s->fetch_count, &taken);
    size_t ordinary = 0;
    while (ordinary < taken && is_ordinary(s, &s->rows[ordinary]))
        ordinary++;
    s->row_at = s->row_count = 0;
    int32_t status = larder__cursor_count_steps(&s->base, ordinary, error);
    if (status != LARDER_OK) return status;
    s->row_count = ordinary;
    if (s->row_count == taken && (code == 0 || code == MDB_NOTFOUND)) {
        s->fetch_count = 2 * s->fetch_count;
        if (s->fetch_count > LARDER__ROWS_AHEAD) s->fetch_count = LARDER__ROWS_AHEAD;
        return LARDER_OK;
    }
    s->fetch_count = 1;
    larder_bytes last = s->base.key;
    if (s->row_count > 0) {
        MDB_val key = s->rows[s->row_count - 1].key;
        last = larder__bytes(key.mv_data, key.mv_size);
    }
    return return_to(s, last, error);
}

static void take(larder__stream *s) {
    const larder__mdb_row *row = &s->rows[s->row_at++];
    size_t prefix = s->base_prefix.size_bytes;
    s->base.key = larder__bytes(row->key.mv_data, row->key.mv_size);
    s->base.value = larder__bytes(row->value.mv_data, row->value.mv_size);
    s->current = larder__bytes(larder__begin(s->base.key) + prefix, row->key.mv_size - prefix);
}

static int32_t next_id(larder__stream *s, larder_error *error) {
    if (s->row_at == s->row_count && can_fetch(s)) {
        int32_t status = fetch(s, error);
        if (status != LARDER_OK) return status;
    }
    if (s->row_at == s->row_count) return next_any(s, error);
    take(s);
    return LARDER_OK;
}

int32_t larder__stream_next(larder__stream *s, larder_error *error) {
    for (;;) {
        int32_t status = next_id(s, error);
        if (status != LARDER_OK) return status;
        int where = place(s);
        if (where == 0) return LARDER_OK;
        if ((where > 0) != s->is_reverse) return LARDER_END;
    }
}

int32_t larder__stream_read_merged(larder__stream *s, larder_document *document,
                                   larder_error *error) {
    if (s->run == NULL)
        return larder__overlay_view(s->txn, s->overlay.key, s->overlay.value, document, NULL,
                                    error);
    int32_t status = LARDER_NOT_FOUND;
    if (s->user != 0)
        status = larder__overlay_read(s->txn, s->user, s->collection, s->current, document, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__document_read(s->txn, s->collection, s->current, document, error);
    if (status == LARDER_NOT_FOUND)
        status = larder__fail(error, LARDER_E_CORRUPT, "a document vanished from its scan");
    return status;
}

/*
 * harvest_names.c - numbers whose name another row knows, or no row.
 *
 * Names and numbers are kept in two rows each (catalog.c, node_tree.c). What reads the gathered rows
 * goes from numbers to names:
 *
 *   i  user number   from h  user text
 *   d  collection    from f  group number, path key -> number | path
 *   s  tree number   from r  tree name
 *
 * A user or a tree that has pending writes and whose name is lost gets a name that says so; where no
 * user is known, the one without a name is meant, which clients without authentication have.
 */
#include "harvest.h"
#include "store/catalog.h"

#include <stdio.h>

static MDB_val as_val(larder_bytes bytes) {
    MDB_val val = {bytes.size_bytes, (void *)(uintptr_t)bytes.data};
    return val;
}

static larder__key number_key(uint8_t kind, uint64_t number) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, kind);
    larder__key_number(&key, number);
    return key;
}

/* Adds a sealed row to the catalog unless there is one. */
static void add_row(larder__harvest *h, const larder__key *key, larder_bytes head,
                    larder_bytes text) {
    uint8_t row[4 + 64 + LARDER_NAME_MAX_BYTES];
    size_t size = head.size_bytes + text.size_bytes;
    if (head.size_bytes > 64 || text.size_bytes > LARDER_NAME_MAX_BYTES ||
        larder__harvest_has(h, LARDER__CATALOG, larder__key_bytes(key)))
        return;
    if (head.size_bytes > 0) memcpy(row + 4, head.data, head.size_bytes);
    if (text.size_bytes > 0) memcpy(row + 4 + head.size_bytes, text.data, text.size_bytes);
    uint32_t crc = larder__crc32c(0, key->bytes, key->size_bytes);
    larder__store32(row, larder__crc32c(crc, row + 4, size));
    MDB_val k = as_val(larder__key_bytes(key)), v = {4 + size, row};
    int code = mdb_put(h->txn, h->tables[LARDER__CATALOG], &k, &v, 0);
    if (code != 0) larder__harvest_fail(h, code, "keeping salvaged names");
}

/* ---- names from their other row ---- */

static void mend(larder__harvest *h, larder_bytes key, larder_bytes value) {
    larder_bytes payload;
    uint64_t number, group;
    if (!larder__evidence_unseal(key, value, &payload)) return;
    const uint8_t *at = larder__begin(payload), *end = at + payload.size_bytes;
    size_t used = larder__varint_get(at, end, &number);
    if (used == 0 || number == 0) return;
    uint8_t kind = larder__begin(key)[0], head[LARDER__VARINT_MAX + 16] = {0};
    larder_bytes none = {NULL, 0};
    larder_bytes text = larder__bytes(larder__begin(key) + 1, key.size_bytes - 1);
    if (kind == LARDER__KIND_GROUP_MEMBER) {
        const uint8_t *part = larder__begin(key) + 1;
        if (!larder__key_read_number(&part, larder__begin(key) + key.size_bytes, &group)) return;
        /* What it counts is not read. */
        size_t size = larder__varint_put(head, group) + 16;
        larder__key to = number_key(LARDER__KIND_COLLECTION, number);
        add_row(h, &to, larder__bytes(head, size),
                larder__bytes(at + used, (size_t)(end - at) - used));
    } else {
        larder__key to = number_key(kind == LARDER__KIND_USER ? LARDER__KIND_USER_NUMBER
                                                              : LARDER__KIND_TREE_NUMBER,
                                    number);
        add_row(h, &to, none, text);
    }
}

/* Rows are added to the table that is read: they are listed first. */
static void mend_kind(larder__harvest *h, uint8_t kind) {
    MDB_cursor *cursor;
    MDB_val key = {1, &kind}, value;
    larder__buffer keys = {.allocator = h->allocator};
    int code = mdb_cursor_open(h->txn, h->tables[LARDER__CATALOG], &cursor);
    if (code != 0) {
        larder__harvest_fail(h, code, "reading salvaged names");
        return;
    }
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    for (; code == 0 && *(const uint8_t *)key.mv_data == kind;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        uint16_t size = (uint16_t)key.mv_size;
        if (!larder__buffer_append(&keys, &size, sizeof size) ||
            !larder__buffer_append(&keys, key.mv_data, key.mv_size))
            larder__harvest_fail_memory(h);
    }
    mdb_cursor_close(cursor);
    for (size_t at = 0; at + 2 <= keys.size_bytes && larder__harvest_goes_on(h);) {
        larder_bytes name = larder__bytes(keys.data + at + 2, larder__load16(keys.data + at));
        key = as_val(name);
        larder__buffer row = {.allocator = h->allocator};
        if (mdb_get(h->txn, h->tables[LARDER__CATALOG], &key, &value) == 0) {
            if (larder__buffer_append(&row, value.mv_data, value.mv_size))
                mend(h, name, larder__bytes(row.data, row.size_bytes));
            else
                larder__harvest_fail_memory(h);
        }
        larder__buffer_free(&row);
        at += 2 + name.size_bytes;
    }
    larder__buffer_free(&keys);
}

/* ---- names that no row has ---- */

static bool has_kind(larder__harvest *h, uint8_t kind) {
    MDB_cursor *cursor;
    MDB_val key = {1, &kind}, value;
    if (mdb_cursor_open(h->txn, h->tables[LARDER__CATALOG], &cursor) != 0) return false;
    bool is_there = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE) == 0 &&
                    *(const uint8_t *)key.mv_data == kind;
    mdb_cursor_close(cursor);
    return is_there;
}

/* Names the owners of a table's rows, which their keys begin with. */
static void name_owners(larder__harvest *h, larder__table table, uint8_t kind, const char *text) {
    MDB_cursor *cursor = NULL;
    MDB_val key = {0, NULL}, value;
    bool is_first = !has_kind(h, kind);
    uint64_t number = 0;
    int code = mdb_cursor_open(h->txn, h->tables[table], &cursor);
    if (code == 0) code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (code == 0 && larder__harvest_goes_on(h)) {
        const uint8_t *at = key.mv_data;
        char name[48] = "";
        if (!larder__key_read_number(&at, at + key.mv_size, &number)) break;
        larder__key to = number_key(kind, number), next;
        bool is_nameless = is_first && kind == LARDER__KIND_USER_NUMBER;
        if (!is_nameless) snprintf(name, sizeof name, "%s-%llu", text, (unsigned long long)number);
        add_row(h, &to, larder__bytes(NULL, 0), larder__bytes(name, strlen(name)));
        is_first = false;
        larder__key_clear(&next);
        larder__key_number(&next, number + 1);
        key = as_val(larder__key_bytes(&next));
        code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    }
    if (code != 0 && code != MDB_NOTFOUND) larder__harvest_fail(h, code, "reading salvaged rows");
    if (cursor != NULL) mdb_cursor_close(cursor);
}

void larder__harvest_mend_names(larder__harvest *h) {
    static const uint8_t kinds[] = {LARDER__KIND_USER, LARDER__KIND_GROUP_MEMBER,
                                    LARDER__KIND_TREE};
    for (size_t i = 0; i < sizeof kinds && larder__harvest_goes_on(h); i++)
        mend_kind(h, kinds[i]);
    if (!larder__harvest_goes_on(h)) return;
    name_owners(h, LARDER__MUTATIONS, LARDER__KIND_USER_NUMBER, "lost-user");
    name_owners(h, LARDER__NODE_WRITES, LARDER__KIND_TREE_NUMBER, "lost-tree");
}

/* damage.c - damage to a store's files, and the pending writes that survive it (damage.h). */
#include "damage.h"

#include "nodes/node_place.h"
#include "store/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = DAMAGE_PAGE, SECTOR = 512 };

/* ---- files ---- */

static void stop(const char *what) {
    perror(what);
    exit(3);
}

file_bytes file_load(const char *path) {
    struct stat info;
    int file = open(path, O_RDONLY);
    file_bytes f = {NULL, 0};
    if (file < 0 || fstat(file, &info) != 0) stop(path);
    f.size = (size_t)info.st_size;
    f.bytes = malloc(f.size + 1);
    if (!f.bytes || read(file, f.bytes, f.size) != (ssize_t)f.size) stop(path);
    close(file);
    return f;
}

void file_save(const char *path, const uint8_t *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size) stop(path);
    close(file);
}

file_bytes file_copy(const file_bytes *from) {
    file_bytes f = {malloc(from->size + 1), from->size};
    if (!f.bytes) stop("memory");
    memcpy(f.bytes, from->bytes, f.size);
    return f;
}

/* ---- damage ---- */

static size_t below(mirror_random *random, size_t bound) {
    return (size_t)mirror_random_below(random, bound > 0 ? bound : 1);
}
static size_t any_page(const file_bytes *f, mirror_random *random) {
    return 2 + below(random, f->size / PAGE - 2);
}

static void flip(file_bytes *f, size_t at, mirror_random *random) {
    f->bytes[at] ^= (uint8_t)(1 << below(random, 8));
}

static void flip_bit(store_files *f, mirror_random *random) {
    flip(&f->data, below(random, f->data.size), random);
}
static void flip_head(store_files *f, mirror_random *random) {
    flip(&f->data, any_page(&f->data, random) * PAGE + below(random, 64), random);
}
static void flip_meta(store_files *f, mirror_random *random) {
    flip(&f->data, below(random, 2) * PAGE + below(random, 152), random);
}
static void change_bytes(store_files *f, mirror_random *random) {
    for (int i = 0; i < 16; i++)
        f->data.bytes[2 * PAGE + below(random, f->data.size - 2 * PAGE)] =
            (uint8_t)mirror_random_next(random);
}
static void blank_page(store_files *f, mirror_random *random) {
    memset(f->data.bytes + any_page(&f->data, random) * PAGE, 0, PAGE);
}
static void blank_pages(store_files *f, mirror_random *random) {
    for (int i = 0; i < 8; i++)
        blank_page(f, random);
}
static void blank_metas(store_files *f, mirror_random *random) {
    size_t which = below(random, 3);
    if (which != 1) memset(f->data.bytes, 0, PAGE);
    if (which != 0) memset(f->data.bytes + PAGE, 0, PAGE);
}
static void blank_sector(store_files *f, mirror_random *random) {
    memset(f->data.bytes + any_page(&f->data, random) * PAGE + SECTOR * below(random, 8), 0,
           SECTOR);
}
static void double_page(store_files *f, mirror_random *random) {
    size_t to = any_page(&f->data, random), from = any_page(&f->data, random);
    memmove(f->data.bytes + to * PAGE, f->data.bytes + from * PAGE, PAGE);
}
static void swap_pages(store_files *f, mirror_random *random) {
    uint8_t kept[PAGE];
    uint8_t *a = f->data.bytes + any_page(&f->data, random) * PAGE;
    uint8_t *b = f->data.bytes + any_page(&f->data, random) * PAGE;
    memcpy(kept, a, PAGE);
    memmove(a, b, PAGE);
    memcpy(b, kept, PAGE);
}
static void bring_back_pages(store_files *f, mirror_random *random) {
    for (size_t i = 1 + below(random, 4); i > 0; i--) {
        size_t page = any_page(&f->older, random);
        if ((page + 1) * PAGE <= f->data.size)
            memcpy(f->data.bytes + page * PAGE, f->older.bytes + page * PAGE, PAGE);
    }
}
static void bring_back_meta(store_files *f, mirror_random *random) {
    size_t which = below(random, 3);
    if (which != 1) memcpy(f->data.bytes, f->older.bytes, PAGE);
    if (which != 0) memcpy(f->data.bytes + PAGE, f->older.bytes + PAGE, PAGE);
}
static void cut_at_page(store_files *f, mirror_random *random) {
    f->data.size = any_page(&f->data, random) * PAGE;
}
static void cut_in_page(store_files *f, mirror_random *random) {
    f->data.size = any_page(&f->data, random) * PAGE + below(random, PAGE);
}
static void flip_log_bit(store_files *f, mirror_random *random) {
    flip(&f->log, below(random, f->log.size), random);
}
static void flip_log_head(store_files *f, mirror_random *random) {
    flip(&f->log, below(random, f->log.size / PAGE) * PAGE + below(random, 64), random);
}
static void change_log(store_files *f, mirror_random *random) {
    for (int i = 0; i < 16; i++)
        f->log.bytes[below(random, f->log.size)] = (uint8_t)mirror_random_next(random);
}
static void blank_block(store_files *f, mirror_random *random) {
    memset(f->log.bytes + below(random, f->log.size / PAGE) * PAGE, 0, PAGE);
}
static void blank_headers(store_files *f, mirror_random *random) {
    size_t which = below(random, 3);
    if (which != 1) memset(f->log.bytes, 0, PAGE);
    if (which != 0) memset(f->log.bytes + PAGE, 0, PAGE);
}
static void cut_log(store_files *f, mirror_random *random) {
    f->log.size = below(random, f->log.size);
}
static void damage_both(store_files *f, mirror_random *random) {
    blank_page(f, random);
    blank_block(f, random);
}

static const struct {
    const char *name;
    void (*apply)(store_files *files, mirror_random *random);
} kinds[] = {{"a bit", flip_bit},
             {"a bit of a page's head", flip_head},
             {"a bit of a meta page", flip_meta},
             {"16 bytes", change_bytes},
             {"a page blanked", blank_page},
             {"eight pages blanked", blank_pages},
             {"meta pages blanked", blank_metas},
             {"a sector blanked", blank_sector},
             {"a page doubled", double_page},
             {"two pages swapped", swap_pages},
             {"pages of an older commit", bring_back_pages},
             {"meta pages of an older commit", bring_back_meta},
             {"cut off at a page", cut_at_page},
             {"cut off in a page", cut_in_page},
             {"log: a bit", flip_log_bit},
             {"log: a bit of a block's head", flip_log_head},
             {"log: 16 bytes", change_log},
             {"log: a block blanked", blank_block},
             {"log: headers blanked", blank_headers},
             {"log: cut off", cut_log},
             {"a page and a block of the log", damage_both}};

int damage_kind_count(void) { return (int)(sizeof kinds / sizeof kinds[0]); }
const char *damage_kind_name(int kind) { return kinds[kind].name; }
void damage_apply(int kind, store_files *files, mirror_random *random) {
    kinds[kind].apply(files, random);
}

/* ---- pending writes ---- */

static void add_row(pending_rows *rows, const larder__cursor *cursor) {
    pending_row row = {.table = (uint8_t)cursor->table,
                       .key = malloc(cursor->key.size_bytes),
                       .value = malloc(cursor->value.size_bytes),
                       .key_bytes = cursor->key.size_bytes,
                       .value_bytes = cursor->value.size_bytes};
    rows->rows = realloc(rows->rows, (rows->count + 1) * sizeof row);
    if (!row.key || !row.value || !rows->rows) stop("memory");
    memcpy(row.key, cursor->key.data, row.key_bytes);
    memcpy(row.value, cursor->value.data, row.value_bytes);
    rows->rows[rows->count++] = row;
}

pending_rows pending_list(larder_env *env) {
    static const larder__table tables[] = {LARDER__MUTATIONS, LARDER__NODE_WRITES};
    pending_rows rows = {NULL, 0};
    const larder_txn *txn;
    if (larder_txn_begin_read(env, &txn, NULL) != LARDER_OK) exit(3);
    for (size_t t = 0; t < 2; t++) {
        larder__cursor cursor;
        int32_t status = larder__cursor_open(txn, tables[t], &cursor, NULL);
        if (status == LARDER_OK)
            status = larder__cursor_seek(&cursor, (larder_bytes){NULL, 0}, NULL);
        for (; status == LARDER_OK; status = larder__cursor_next(&cursor, NULL))
            add_row(&rows, &cursor);
        larder__cursor_close(&cursor);
    }
    larder_txn_end_read(txn);
    return rows;
}

void pending_free(pending_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].key);
        free(rows->rows[i].value);
    }
    free(rows->rows);
    *rows = (pending_rows){NULL, 0};
}

static bool has(const file_bytes *f, const uint8_t *needle, size_t size) {
    return f->size >= size && memmem(f->bytes, f->size, needle, size) != NULL;
}

/* A node with its value, or one whose value lies whole in pages of its own. */
static bool has_node(const file_bytes *f, const file_bytes *values, const pending_row *row) {
    bool is_large = 8 + row->key_bytes + row->value_bytes > (PAGE - 16) / 2 - 2;
    size_t head = 8 + row->key_bytes, size = head + (is_large ? 0 : row->value_bytes);
    uint8_t *needle = malloc(size);
    if (!needle) stop("memory");
    larder__store32(needle, (uint32_t)row->value_bytes);
    larder__store16(needle + 4, is_large ? 1 : 0);
    larder__store16(needle + 6, (uint16_t)row->key_bytes);
    memcpy(needle + 8, row->key, row->key_bytes);
    if (!is_large) memcpy(needle + head, row->value, row->value_bytes);
    bool found = !is_large && has(f, needle, size);
    const uint8_t *at = f->bytes, *end = f->bytes + f->size;
    while (is_large && !found && (at = memmem(at, (size_t)(end - at), needle, head)) != NULL) {
        if ((size_t)(end - at) >= head + 8) {
            uint64_t page = larder__load64(at + head);
            found = page < values->size / PAGE &&
                    page * PAGE + 16 + row->value_bytes <= values->size &&
                    memcmp(values->bytes + page * PAGE + 16, row->value, row->value_bytes) == 0;
        }
        at++;
    }
    free(needle);
    return found;
}

static bool has_change(const file_bytes *log, const pending_row *row) {
    uint8_t *needle = malloc(2 + 2 * LARDER__VARINT_MAX + row->key_bytes + row->value_bytes);
    if (!needle) stop("memory");
    size_t size = 0;
    needle[size++] = row->table;
    needle[size++] = 0; /* a put */
    size += larder__varint_put(needle + size, row->key_bytes);
    memcpy(needle + size, row->key, row->key_bytes);
    size += row->key_bytes;
    size += larder__varint_put(needle + size, row->value_bytes);
    memcpy(needle + size, row->value, row->value_bytes);
    size += row->value_bytes;
    bool found = has(log, needle, size);
    free(needle);
    return found;
}

void pending_look(pending_rows *rows, const store_files *files) {
    for (size_t i = 0; i < rows->count; i++) {
        pending_row *row = &rows->rows[i];
        row->survives_in = has_node(&files->data, &files->data, row)  ? "the data file"
                           : has_node(&files->log, &files->data, row) ? "an image in the log"
                           : has_change(&files->log, row)             ? "a change in the log"
                                                                      : NULL;
    }
}

/* Whether a store has a row, and with the same payload: of its batch or write. */
static bool has_row(const larder_txn *txn, const pending_row *row, bool *is_same) {
    larder__cursor cursor;
    bool found = false;
    /* Users and trees may have other numbers there; the id of a batch, and kind and id of a write,
     * are the end of the key, and the seal in front of the payload covers the key. */
    size_t tail = row->table == LARDER__MUTATIONS ? 8 : 9;
    int32_t status = larder__cursor_open(txn, (larder__table)row->table, &cursor, NULL);
    if (status == LARDER_OK) status = larder__cursor_seek(&cursor, (larder_bytes){NULL, 0}, NULL);
    for (; status == LARDER_OK && !found; status = larder__cursor_next(&cursor, NULL)) {
        const uint8_t *key = larder__begin(cursor.key) + cursor.key.size_bytes - tail;
        found = cursor.key.size_bytes >= tail &&
                memcmp(key, row->key + row->key_bytes - tail, tail) == 0;
        *is_same =
            found && cursor.value.size_bytes == row->value_bytes &&
            memcmp(larder__begin(cursor.value) + 4, row->value + 4, row->value_bytes - 4) == 0;
    }
    larder__cursor_close(&cursor);
    return found;
}

static long count_rows(const larder_txn *txn, larder__table table) {
    larder__cursor cursor;
    long count = 0;
    int32_t status = larder__cursor_open(txn, table, &cursor, NULL);
    if (status == LARDER_OK) status = larder__cursor_seek(&cursor, (larder_bytes){NULL, 0}, NULL);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, NULL))
        count++;
    larder__cursor_close(&cursor);
    return count;
}

pending_counts pending_compare(const pending_rows *rows, larder_env *env) {
    const larder_txn *txn;
    pending_counts counts = {0};
    long known = 0;
    if (larder_txn_begin_read(env, &txn, NULL) != LARDER_OK) exit(3);
    for (size_t i = 0; i < rows->count; i++) {
        bool is_same = false, is_there = has_row(txn, &rows->rows[i], &is_same);
        known += is_there;
        counts.first_missing =
            counts.first_missing == NULL && !is_there && rows->rows[i].survives_in != NULL
                ? &rows->rows[i]
                : counts.first_missing;
        counts.found += is_there && rows->rows[i].survives_in != NULL;
        counts.older += is_there && rows->rows[i].survives_in != NULL && !is_same;
        counts.missing += !is_there && rows->rows[i].survives_in != NULL;
    }
    counts.others =
        count_rows(txn, LARDER__MUTATIONS) + count_rows(txn, LARDER__NODE_WRITES) - known;
    larder_txn_end_read(txn);
    return counts;
}

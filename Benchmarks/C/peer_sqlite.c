/*
 * peer_sqlite.c - SQLite in WAL mode, one row a document, the document in a JSON column:
 *
 *   docs(path TEXT PRIMARY KEY, collection TEXT, updated INTEGER, data JSON)
 *   index on (collection, json_extract(data, '$.state'))
 *
 * Page cache, checkpoints and everything else are SQLite's defaults.
 */
#include "generator.h"
#include "sink.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct store {
    sqlite3 *database;
    sqlite3_stmt *insert, *read_field, *read_whole, *scan, *by_index, *remove;
    char path[4096];
};

static void check(const store *s, int code, const char *what) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
        fail("SQLite, %s: %s", what, sqlite3_errmsg(s->database));
    }
}

static void run(const store *s, const char *sql) {
    check(s, sqlite3_exec(s->database, sql, NULL, NULL, NULL), sql);
}

static sqlite3_stmt *statement(const store *s, sqlite3_stmt **slot, const char *sql) {
    if (*slot == NULL) {
        check(s, sqlite3_prepare_v3(s->database, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, NULL),
              sql);
    }
    return *slot;
}

static void bind_text(const store *s, sqlite3_stmt *st, int position, span text) {
    check(s, sqlite3_bind_text(st, position, text.data, (int)text.size, SQLITE_STATIC), "bind");
}

static store *sqlite_open(const char *directory, const store_options *options) {
    store *s = bench_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    make_directory(directory);
    snprintf(s->path, sizeof s->path, "%s/store.sqlite", directory);
    check(s, sqlite3_open(s->path, &s->database), "sqlite3_open");
    run(s, "PRAGMA journal_mode=WAL");
    run(s, options->durability == EVERY_COMMIT ? "PRAGMA synchronous=FULL"
                                               : "PRAGMA synchronous=NORMAL");
    run(s, "CREATE TABLE IF NOT EXISTS docs(path TEXT PRIMARY KEY, collection TEXT,"
           " updated INTEGER, data JSON)");
    return s;
}

static void sqlite_close(store *s) {
    sqlite3_stmt *const all[] = {s->insert, s->read_field, s->read_whole,
                                 s->scan,   s->by_index,   s->remove};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        sqlite3_finalize(all[k]);
    if (sqlite3_close(s->database) != SQLITE_OK) fail("SQLite: a statement is still open");
    free(s);
}

static const sink *sqlite_encoder(void) { return &json_sink; }

static void sqlite_index(store *s) {
    run(s, "CREATE INDEX by_state ON docs(collection, json_extract(data, '$.state'))");
}

static void sqlite_insert(store *s, const prepared *documents) {
    sqlite3_stmt *st = statement(
        s, &s->insert, "INSERT INTO docs(path, collection, updated, data) VALUES(?, ?, ?, ?)");
    run(s, "BEGIN IMMEDIATE");
    for (size_t k = 0; k < documents->count; k++) {
        bind_text(s, st, 1, documents->names[k]);
        bind_text(s, st, 2, span_of(COLLECTION));
        check(s, sqlite3_bind_int64(st, 3, 1700000000000000 + (int64_t)k), "bind");
        bind_text(s, st, 4, documents->bodies[k]);
        check(s, sqlite3_step(st), "insert");
        check(s, sqlite3_reset(st), "insert");
    }
    run(s, "COMMIT");
}

static int64_t sqlite_read(store *s, const span *names, size_t count, read_mode mode) {
    static buffer copy;
    bool whole = mode == READ_WHOLE;
    sqlite3_stmt *st =
        whole ? statement(s, &s->read_whole, "SELECT data FROM docs WHERE path = ?")
              : statement(s, &s->read_field,
                          "SELECT json_extract(data, '$.population') FROM docs WHERE path = ?");
    int64_t found = 0;
    if (mode != READ_EACH_TXN) run(s, "BEGIN");
    for (size_t k = 0; k < count; k++) {
        bind_text(s, st, 1, names[k]);
        int code = sqlite3_step(st);
        check(s, code, "read");
        if (code == SQLITE_ROW) {
            found++;
            if (whole) {
                copy.size = 0;
                buffer_append(&copy, sqlite3_column_text(st, 0),
                              (size_t)sqlite3_column_bytes(st, 0));
            } else if (sqlite3_column_type(st, 0) != SQLITE_INTEGER) {
                fail("SQLite: a document has no population");
            }
        }
        check(s, sqlite3_reset(st), "read");
    }
    if (mode != READ_EACH_TXN) run(s, "COMMIT");
    return found;
}

static int64_t count_rows(store *s, sqlite3_stmt *st, const char state[2]) {
    int64_t found = 0, bytes = 0;
    bind_text(s, st, 1, span_of(COLLECTION));
    bind_text(s, st, 2, (span){state, 2});
    int code;
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        bytes += sqlite3_column_bytes(st, 1);
        found++;
    }
    check(s, code, "query");
    check(s, sqlite3_reset(st), "query");
    if (found > 0 && bytes == 0) fail("SQLite: empty documents");
    return found;
}

static int64_t sqlite_scan_state(store *s, const char state[2]) {
    /* The unary plus keeps the planner from the index. */
    return count_rows(s,
                      statement(s, &s->scan,
                                "SELECT path, data FROM docs WHERE +collection = ?"
                                " AND +json_extract(data, '$.state') = ?"),
                      state);
}

static int64_t sqlite_index_state(store *s, const char state[2]) {
    return count_rows(s,
                      statement(s, &s->by_index,
                                "SELECT path, data FROM docs INDEXED BY by_state"
                                " WHERE collection = ? AND json_extract(data, '$.state') = ?"),
                      state);
}

static void sqlite_remove(store *s, const span *names, size_t count, size_t per_commit) {
    sqlite3_stmt *st = statement(s, &s->remove, "DELETE FROM docs WHERE path = ?");
    for (size_t k = 0; k < count; k++) {
        if (k % per_commit == 0) run(s, "BEGIN IMMEDIATE");
        bind_text(s, st, 1, names[k]);
        check(s, sqlite3_step(st), "delete");
        check(s, sqlite3_reset(st), "delete");
        if ((k + 1) % per_commit == 0 || k + 1 == count) run(s, "COMMIT");
    }
}

static int64_t pragma_value(store *s, const char *sql) {
    sqlite3_stmt *st = NULL;
    statement(s, &st, sql);
    check(s, sqlite3_step(st), sql);
    int64_t value = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return value;
}

static usage sqlite_usage(store *s) {
    run(s, "PRAGMA wal_checkpoint(TRUNCATE)");
    int64_t pages = pragma_value(s, "PRAGMA page_count");
    int64_t page = pragma_value(s, "PRAGMA page_size");
    int64_t unused = pragma_value(s, "PRAGMA freelist_count");
    return (usage){pages * page, (pages - unused) * page};
}

static void sqlite_compact(store *s, const char *directory) {
    char sql[4200];
    snprintf(sql, sizeof sql, "VACUUM INTO '%s/store.sqlite'", directory);
    run(s, sql);
}

const peer sqlite_peer = {
    .label = "SQLite",
    .open = sqlite_open,
    .close = sqlite_close,
    .encoder = sqlite_encoder,
    .encoded = json_encoded,
    .define_index = sqlite_index,
    .build_index = sqlite_index,
    .insert = sqlite_insert,
    .read = sqlite_read,
    .scan_state = sqlite_scan_state,
    .index_state = sqlite_index_state,
    .remove = sqlite_remove,
    .usage = sqlite_usage,
    .compact = sqlite_compact,
};

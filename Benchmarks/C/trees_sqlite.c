/*
 * trees_sqlite.c - trees in SQLite in WAL mode:
 *
 *   nodes(path TEXT PRIMARY KEY, node TEXT)      JSON
 *
 * A write of a path first deletes the rows below it, as Google's client for Android does. JSON is
 * read by a scanner that does no more than find the leaves.
 */
#include "trees.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct tree_store {
    sqlite3 *database;
    sqlite3_stmt *insert, *remove, *read;
};

static void check(const tree_store *s, int code, const char *what) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        fail("SQLite, %s: %s", what, sqlite3_errmsg(s->database));
}

static void run(const tree_store *s, const char *sql) {
    check(s, sqlite3_exec(s->database, sql, NULL, NULL, NULL), sql);
}

static sqlite3_stmt *prepare(const tree_store *s, const char *sql) {
    sqlite3_stmt *statement;
    check(s, sqlite3_prepare_v3(s->database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL),
          sql);
    return statement;
}

static tree_store *tree_open(const char *directory, const store_options *options) {
    tree_store *s = bench_alloc(sizeof *s);
    char path[4200];
    make_directory(directory);
    snprintf(path, sizeof path, "%s/store.sqlite", directory);
    check(s, sqlite3_open(path, &s->database), "sqlite3_open");
    run(s, "PRAGMA journal_mode=WAL");
    run(s, options->durability == EVERY_COMMIT ? "PRAGMA synchronous=FULL"
                                               : "PRAGMA synchronous=NORMAL");
    run(s, "CREATE TABLE IF NOT EXISTS nodes(path TEXT PRIMARY KEY, node TEXT)");
    s->insert = prepare(s, "INSERT OR REPLACE INTO nodes(path, node) VALUES(?, ?)");
    s->remove = prepare(s, "DELETE FROM nodes WHERE path >= ? AND path < ?");
    s->read = prepare(s, "SELECT path, node FROM nodes WHERE path >= ? AND path < ?");
    return s;
}

static void tree_close(tree_store *s) {
    sqlite3_finalize(s->insert);
    sqlite3_finalize(s->remove);
    sqlite3_finalize(s->read);
    if (sqlite3_close(s->database) != SQLITE_OK) fail("SQLite: a statement is still open");
    free(s);
}

/* ---- writing ---- */

static void bind_range(const tree_store *s, sqlite3_stmt *statement, span path, char end[160]) {
    memcpy(end, path.data, path.size);
    end[path.size - 1]++; /* behind the slash */
    check(s, sqlite3_bind_text(statement, 1, path.data, (int)path.size, SQLITE_STATIC), "bind");
    check(s, sqlite3_bind_text(statement, 2, end, (int)path.size, SQLITE_STATIC), "bind");
}

static void put(const tree_store *s, const char *path, size_t path_size, span json) {
    char name[160], end[160];
    memcpy(name, path, path_size);
    name[path_size] = '/';
    span below = {name, path_size + 1};
    bind_range(s, s->remove, below, end);
    check(s, sqlite3_step(s->remove), "delete");
    check(s, sqlite3_reset(s->remove), "delete");
    check(s, sqlite3_bind_text(s->insert, 1, name, (int)below.size, SQLITE_STATIC), "bind");
    check(s, sqlite3_bind_text(s->insert, 2, json.data, (int)json.size, SQLITE_STATIC), "bind");
    check(s, sqlite3_step(s->insert), "insert");
    check(s, sqlite3_reset(s->insert), "insert");
}

static void put_message(const tree_store *s, const message *m, int64_t likes) {
    put(s, m->path, m->path_size, message_json(m, likes));
}

static void put_messages(tree_store *s, const message *messages, size_t count) {
    run(s, "BEGIN IMMEDIATE");
    for (size_t k = 0; k < count; k++)
        put_message(s, &messages[k], messages[k].likes);
    run(s, "COMMIT");
}

static void put_scores(tree_store *s, int64_t first, size_t count) {
    run(s, "BEGIN IMMEDIATE");
    for (size_t k = 0; k < count; k++) {
        char path[64], json[32];
        span name = score_path(first + (int64_t)k, path);
        int size = snprintf(json, sizeof json, "%lld", (long long)score_of(first + (int64_t)k));
        put(s, name.data, name.size, (span){json, (size_t)size});
    }
    run(s, "COMMIT");
}

static void put_groups(tree_store *s, const group *groups, size_t count) {
    run(s, "BEGIN IMMEDIATE");
    for (size_t k = 0; k < count; k++) {
        const group *g = &groups[k];
        const sink *to = &json_sink;
        to->begin_document();
        for (int i = 0; i < GROUP_SETTINGS; i++) {
            to->name(span_of(g->names[i]));
            to->begin_map();
            to->name(span_of("note"));
            to->text(span_of(g->texts[i]));
            to->name(span_of("value"));
            to->integer(g->numbers[i]);
            to->end_map();
        }
        to->end_document();
        put(s, g->path, g->path_size, json_encoded());
    }
    run(s, "COMMIT");
}

/* The row of a message is written whole. */
static void put_likes(tree_store *s, const message *messages, size_t count) {
    run(s, "BEGIN IMMEDIATE");
    for (size_t k = 0; k < count; k++)
        put_message(s, &messages[k], messages[k].likes + 1);
    run(s, "COMMIT");
}

/* ---- reading ---- */

/* Behind the text that begins with a quote; *bytes: its size without escapes. */
static const char *skip_text(const char *at, int64_t *bytes) {
    *bytes = 0;
    for (at++; *at != '"'; at++, (*bytes)++)
        if (*at == '\\') at++;
    return at + 1;
}

static const char *scan(const char *at, tree_sum *sum) {
    int64_t bytes;
    switch (*at) {
    case '{':
        while (*at != '}') {
            at = skip_text(at + 1, &bytes);
            at = scan(at + 1, sum); /* behind the colon */
        }
        return at + 1;
    case '"':
        at = skip_text(at, &bytes);
        sum->leaves++;
        sum->text_bytes += bytes;
        return at;
    case 't':
    case 'f':
        sum->leaves++;
        return at + (*at == 't' ? 4 : 5);
    default: {
        char *end;
        sum->leaves++;
        sum->numbers += strtoll(at, &end, 10);
        return end;
    }
    }
}

static tree_sum tree_read(tree_store *s, span path) {
    char end[160];
    tree_sum sum = {0};
    int code;
    bind_range(s, s->read, path, end);
    while ((code = sqlite3_step(s->read)) == SQLITE_ROW)
        scan((const char *)sqlite3_column_text(s->read, 1), &sum);
    check(s, code, "read");
    check(s, sqlite3_reset(s->read), "read");
    return sum;
}

static int64_t highest_scores(tree_store *s) {
    char end[160];
    int64_t highest[4] = {-1, -1, -1, -1}; /* ascending */
    int code;
    bind_range(s, s->read, span_of("/scores/"), end);
    while ((code = sqlite3_step(s->read)) == SQLITE_ROW) {
        int64_t number = strtoll((const char *)sqlite3_column_text(s->read, 1), NULL, 10);
        if (number <= highest[0]) continue;
        int k = 0;
        for (; k < 3 && highest[k + 1] < number; k++)
            highest[k] = highest[k + 1];
        highest[k] = number;
    }
    check(s, code, "read");
    check(s, sqlite3_reset(s->read), "read");
    return highest[0] + highest[1] + highest[2] + highest[3];
}

static int64_t value(const tree_store *s, const char *sql) {
    sqlite3_stmt *statement = prepare(s, sql);
    check(s, sqlite3_step(statement), sql);
    int64_t result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

static int64_t used_bytes(tree_store *s) {
    run(s, "PRAGMA wal_checkpoint(TRUNCATE)");
    return (value(s, "PRAGMA page_count") - value(s, "PRAGMA freelist_count")) *
           value(s, "PRAGMA page_size");
}

const tree_peer sqlite_tree = {"SQLite",   tree_open, tree_close, put_messages,   put_scores,
                               put_groups, put_likes, tree_read,  highest_scores, used_bytes};

/*
 * cities.c - real documents: an NDJSON file with an "id" in each line. SQLite's JSON functions
 * do the parsing. An object of a latitude and a longitude becomes a geo point.
 */
#include "generator.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS_PER_COMMIT = 500, DEPTH_MAX = 32 };

static sqlite3 *database;
static sqlite3_stmt *walk, *id_of;

static void prepare(void) {
    if (database != NULL) return;
    static const char walk_sql[] =
        "SELECT key, type, atom, id, parent,"
        " CASE type WHEN 'object' THEN json_extract(value, '$.latitude') END,"
        " CASE type WHEN 'object' THEN json_extract(value, '$.longitude') END"
        " FROM json_tree(?)";
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_prepare_v2(database, walk_sql, -1, &walk, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "SELECT json_extract(?, '$.id')", -1, &id_of, NULL) !=
            SQLITE_OK) {
        fail("SQLite's JSON functions: %s", sqlite3_errmsg(database));
    }
}

static span column_text(sqlite3_stmt *st, int column) {
    const char *text = (const char *)sqlite3_column_text(st, column);
    return (span){text, (size_t)sqlite3_column_bytes(st, column)};
}

typedef struct level {
    int64_t id;
    bool is_array;
} level;

static bool is_number(int column) {
    int type = sqlite3_column_type(walk, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void tell_scalar(const sink *to, span type) {
    switch (type.data[0]) {
    case 'n':
        to->null();
        break;
    case 'f':
        to->boolean(false);
        break;
    case 'i':
        to->integer(sqlite3_column_int64(walk, 2));
        break;
    case 'r':
        to->real(sqlite3_column_double(walk, 2));
        break;
    default: /* "true" or "text" */
        if (type.size == 4 && memcmp(type.data, "true", 4) == 0) {
            to->boolean(true);
        } else {
            to->text(column_text(walk, 2));
        }
    }
}

static void end_level(const sink *to, const level *l, size_t depth) {
    if (depth == 0) {
        to->end_document();
    } else if (l->is_array) {
        to->end_array();
    } else {
        to->end_map();
    }
}

/* json_tree gives the nodes in the order of the text, each with the number of its parent. */
static void tell_json(span line, const sink *to) {
    level open[DEPTH_MAX];
    size_t depth = 0;
    int64_t skipped = -1; /* the geo point whose members follow */
    sqlite3_bind_text(walk, 1, line.data, (int)line.size, SQLITE_STATIC);
    int code;
    while ((code = sqlite3_step(walk)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(walk, 3), parent = sqlite3_column_int64(walk, 4);
        span type = column_text(walk, 1);
        bool is_array = type.data[0] == 'a', is_object = type.data[0] == 'o';
        if (depth == 0) {
            if (!is_object) fail("a line is not a JSON object: %.*s", (int)line.size, line.data);
            to->begin_document();
            open[depth++] = (level){id, false};
            continue;
        }
        if (parent == skipped) continue;
        while (depth > 1 && open[depth - 1].id != parent) {
            depth--;
            end_level(to, &open[depth], depth);
        }
        if (!open[depth - 1].is_array) to->name(column_text(walk, 0));
        if (is_object && is_number(5) && is_number(6)) {
            to->geo_point(sqlite3_column_double(walk, 5), sqlite3_column_double(walk, 6));
            skipped = id;
        } else if (is_object || is_array) {
            if (depth == DEPTH_MAX) fail("a line is nested deeper than %d", DEPTH_MAX);
            if (is_array) {
                to->begin_array();
            } else {
                to->begin_map();
            }
            open[depth++] = (level){id, is_array};
        } else {
            tell_scalar(to, type);
        }
    }
    if (code != SQLITE_DONE) fail("%s: %.*s", sqlite3_errmsg(database), (int)line.size, line.data);
    while (depth > 0) {
        depth--;
        end_level(to, &open[depth], depth);
    }
    sqlite3_reset(walk);
}

static void add_line(prepared *batch, int system, span line) {
    char name[256];
    sqlite3_bind_text(id_of, 1, line.data, (int)line.size, SQLITE_STATIC);
    if (sqlite3_step(id_of) != SQLITE_ROW || sqlite3_column_type(id_of, 0) == SQLITE_NULL) {
        fail("a line without \"id\": %.*s", (int)line.size, line.data);
    }
    span id = column_text(id_of, 0);
    int size = snprintf(name, sizeof name, COLLECTION "/%.*s", (int)id.size, id.data);
    sqlite3_reset(id_of);
    if (size >= (int)sizeof name) fail("an \"id\" is too long");
    if (system == SYSTEM_SQLITE) { /* it stores the line as it is */
        prepared_add(batch, (span){name, (size_t)size}, line);
    } else {
        tell_json(line, peers[system]->encoder());
        prepared_add(batch, (span){name, (size_t)size}, peers[system]->encoded());
    }
}

static int compare_names(const void *a, const void *b) {
    const span *x = *(const span *const *)a, *y = *(const span *const *)b;
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* Inserts everything, 500 a commit. */
static void insert_all(const prepared *all, int system, store *s, bool in_name_order) {
    const span **order = bench_alloc(all->count * sizeof *order);
    prepared batch = {0};
    for (size_t k = 0; k < all->count; k++)
        order[k] = &all->names[k];
    if (in_name_order) qsort(order, all->count, sizeof *order, compare_names);
    for (size_t k = 0; k < all->count; k++) {
        prepared_add(&batch, *order[k], all->bodies[order[k] - all->names]);
        if (batch.count < DOCUMENTS_PER_COMMIT && k + 1 < all->count) continue;
        prepared_finish(&batch);
        peers[system]->insert(s, &batch);
        prepared_clear(&batch);
    }
    prepared_release(&batch);
    free(order);
}

int64_t ingest_file(const char *path, int system, store *s, bool in_name_order,
                    int64_t *json_bytes) {
    prepare();
    FILE *file = fopen(path, "r");
    if (file == NULL) fail("%s: %s", path, strerror(errno));
    prepared all = {0};
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    *json_bytes = 0;
    while ((size = getline(&text, &capacity, file)) >= 0) {
        while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
            size--;
        if (size == 0) continue;
        *json_bytes += size;
        add_line(&all, system, (span){text, (size_t)size});
    }
    prepared_finish(&all);
    insert_all(&all, system, s, in_name_order);
    int64_t count = (int64_t)all.count;
    prepared_release(&all);
    free(text);
    fclose(file);
    return count;
}

/* trees_raw.c - trees in LMDB alone: a row a leaf, its path as key, a type byte and the value. */
#include "trees.h"

#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

struct tree_store {
    MDB_env *env;
    MDB_dbi leaves;
};

static void check(int code, const char *what) {
    if (code != MDB_SUCCESS) fail("raw LMDB, %s: %s", what, mdb_strerror(code));
}

static MDB_txn *begin(const tree_store *s, unsigned flags) {
    MDB_txn *txn;
    check(mdb_txn_begin(s->env, NULL, flags, &txn), "mdb_txn_begin");
    return txn;
}

static tree_store *tree_open(const char *directory, const store_options *options) {
    tree_store *s = bench_alloc(sizeof *s);
    uint64_t map = options->map_bytes == 0 ? (uint64_t)64 << 30 : options->map_bytes;
    unsigned flags = MDB_NOTLS;
    make_directory(directory);
    if (options->durability == LAST_COMMIT_AT_RISK) flags |= MDB_NOMETASYNC;
    check(mdb_env_create(&s->env), "mdb_env_create");
    check(mdb_env_set_mapsize(s->env, (size_t)map), "mdb_env_set_mapsize");
    check(mdb_env_open(s->env, directory, flags, 0600), "mdb_env_open");
    MDB_txn *txn = begin(s, 0);
    check(mdb_dbi_open(txn, NULL, 0, &s->leaves), "mdb_dbi_open");
    check(mdb_txn_commit(txn), "mdb_txn_commit");
    return s;
}

static void tree_close(tree_store *s) {
    mdb_env_close(s->env);
    free(s);
}

static void put(const tree_store *s, MDB_txn *txn, const char *path, size_t path_size,
                const char *key, char type, const void *data, size_t size) {
    char name[160], value[256];
    size_t key_size = strlen(key);
    memcpy(name, path, path_size);
    if (key_size > 0) {
        name[path_size++] = '/';
        memcpy(name + path_size, key, key_size);
    }
    value[0] = type;
    memcpy(value + 1, data, size);
    MDB_val k = {path_size + key_size, name}, v = {size + 1, value};
    check(mdb_put(txn, s->leaves, &k, &v, 0), "mdb_put");
}

static void put_number(const tree_store *s, MDB_txn *txn, const char *path, size_t path_size,
                       const char *key, int64_t number) {
    put(s, txn, path, path_size, key, 'i', &number, sizeof number);
}

static void put_messages(tree_store *s, const message *messages, size_t count) {
    MDB_txn *txn = begin(s, 0);
    for (size_t k = 0; k < count; k++) {
        const message *m = &messages[k];
        put(s, txn, m->path, m->path_size, "author", 's', m->author, m->author_size);
        put(s, txn, m->path, m->path_size, "edited", m->edited ? 't' : 'f', "", 0);
        put_number(s, txn, m->path, m->path_size, "likes", m->likes);
        put(s, txn, m->path, m->path_size, "text", 's', m->text, m->text_size);
        put_number(s, txn, m->path, m->path_size, "time", m->time);
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void put_scores(tree_store *s, int64_t first, size_t count) {
    MDB_txn *txn = begin(s, 0);
    for (size_t k = 0; k < count; k++) {
        char path[64];
        span name = score_path(first + (int64_t)k, path);
        put_number(s, txn, name.data, name.size, "", score_of(first + (int64_t)k));
    }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void put_groups(tree_store *s, const group *groups, size_t count) {
    MDB_txn *txn = begin(s, 0);
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < GROUP_SETTINGS; i++) {
            const group *g = &groups[k];
            char path[128];
            int size =
                snprintf(path, sizeof path, "%.*s/%s", (int)g->path_size, g->path, g->names[i]);
            put(s, txn, path, (size_t)size, "note", 's', g->texts[i], strlen(g->texts[i]));
            put_number(s, txn, path, (size_t)size, "value", g->numbers[i]);
        }
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void put_likes(tree_store *s, const message *messages, size_t count) {
    MDB_txn *txn = begin(s, 0);
    for (size_t k = 0; k < count; k++)
        put_number(s, txn, messages[k].path, messages[k].path_size, "likes", messages[k].likes + 1);
    check(mdb_txn_commit(txn), "mdb_txn_commit");
}

typedef void leaf_visitor(void *context, const char *value, size_t size);

static void visit(tree_store *s, span path, leaf_visitor *visitor, void *context) {
    MDB_txn *txn = begin(s, MDB_RDONLY);
    MDB_cursor *cursor;
    MDB_val k = {path.size, (void *)(uintptr_t)path.data}, v;
    check(mdb_cursor_open(txn, s->leaves, &cursor), "mdb_cursor_open");
    for (int code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
         code == MDB_SUCCESS && k.mv_size >= path.size &&
         memcmp(k.mv_data, path.data, path.size) == 0;
         code = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))
        visitor(context, v.mv_data, v.mv_size);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

static int64_t number_of(const char *value) {
    int64_t number;
    memcpy(&number, value + 1, sizeof number);
    return number;
}

static void add_leaf(void *context, const char *value, size_t size) {
    tree_sum *sum = context;
    sum->leaves++;
    if (value[0] == 'i') sum->numbers += number_of(value);
    if (value[0] == 's') sum->text_bytes += (int64_t)size - 1;
}

static tree_sum tree_read(tree_store *s, span path) {
    tree_sum sum = {0};
    visit(s, path, add_leaf, &sum);
    return sum;
}

static void keep_highest(void *context, const char *value, size_t size) {
    int64_t *highest = context, number = number_of(value); /* ascending */
    (void)size;
    if (number <= highest[0]) return;
    int k = 0;
    for (; k < 3 && highest[k + 1] < number; k++)
        highest[k] = highest[k + 1];
    highest[k] = number;
}

static int64_t highest_scores(tree_store *s) {
    int64_t highest[4] = {-1, -1, -1, -1};
    visit(s, span_of("/scores/"), keep_highest, highest);
    return highest[0] + highest[1] + highest[2] + highest[3];
}

static int64_t used_bytes(tree_store *s) {
    MDB_txn *txn = begin(s, MDB_RDONLY);
    MDB_stat stat;
    check(mdb_stat(txn, s->leaves, &stat), "mdb_stat");
    mdb_txn_abort(txn);
    return (int64_t)(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages + 2) *
           stat.ms_psize;
}

const tree_peer raw_tree = {"LMDB",     tree_open, tree_close, put_messages,   put_scores,
                            put_groups, put_likes, tree_read,  highest_scores, used_bytes};

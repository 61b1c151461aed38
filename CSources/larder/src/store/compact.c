/*
 * compact.c - compacted copies: every row put again in key order, so that pages are full.
 *
 * The rows come from the pages of the snapshot as pread gives them, verified on their way (tree.h), and
 * not from LMDB's map: LMDB believes the sizes and page numbers of a damaged page, and a call that
 * writes to the copy would read the row wherever that leads.
 */
#include "copy.h"

#include "catalog.h"
#include "file.h"
#include "guard.h"
#include "tree.h"

#define ROWS_A_COMMIT 20000
#define READERS 126 /* LMDB's default: none is needed */
#define VALUE_MAX ((uint64_t)LARDER_PAYLOAD_MAX_BYTES + (1 << 20))
#define OVERFLOW_COUNT_AT 12

/* ---- the copy ---- */

typedef struct target { /* where rows go, in transactions of bounded size */
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    int64_t waiting;
} target;

static int open_target(const larder__copy *c, MDB_env **env) {
    int code = mdb_env_create(env);
    if (code != 0) return code;
    larder__guard_attach(*env, NULL);
    /* Full pages take less than the store's; twice that is room for each commit's own copies.
     * The store's map would ask for as much address space again, which may not be there. */
    size_t used = (size_t)(c->pages.page_count * c->pages.page_bytes);
    code = mdb_env_set_mapsize(*env, 2 * used + ((size_t)64 << 20));
    if (code == 0) code = mdb_env_set_maxdbs(*env, LARDER__TABLES_MAX);
    /* Nothing is promised before the copy is complete. */
    if (code == 0) code = mdb_env_open(*env, c->partial, MDB_NOSYNC | MDB_NOTLS, 0644);
    if (code != 0) {
        mdb_env_close(*env);
        *env = NULL;
    }
    return code;
}

static int end_txn(target *t) {
    int code = t->txn == NULL ? 0 : larder__mdb_txn_commit(t->txn);
    t->txn = NULL;
    return code;
}

static int next_txn(target *t, const char *table) {
    int code = end_txn(t);
    if (code == 0) code = larder__mdb_txn_begin(t->env, NULL, 0, &t->txn);
    if (code != 0) {
        t->txn = NULL;
        return code;
    }
    t->waiting = 0;
    return larder__mdb_dbi_open(t->txn, table, MDB_CREATE, &t->dbi);
}

/* One more commit of the same, so that the older of the two meta pages has all tables as well. */
static int repeat_commit(target *to) {
    char kind = LARDER__KIND_FORMAT;
    uint8_t format[64];
    MDB_val key = {1, &kind}, value;
    int code = next_txn(to, larder__table_names[LARDER__CATALOG]);
    if (code == 0) code = larder__mdb_get(to->txn, to->dbi, &key, &value);
    if (code == 0 && value.mv_size > sizeof format) code = MDB_CORRUPTED;
    if (code != 0) return code;
    memcpy(format, value.mv_data, value.mv_size);
    value.mv_data = format;
    code = larder__mdb_put(to->txn, to->dbi, &key, &value, 0);
    return code == 0 ? end_txn(to) : code;
}

/* ---- the store ---- */

typedef struct walk {
    larder__copy *copy;
    target to;
    const char *name; /* of the table */
    uint64_t entry_count;
    larder__root roots[LARDER__TABLE_COUNT];
    bool is_found[LARDER__TABLE_COUNT];
    uint8_t *visited;
    larder__buffer value;
    int failure; /* of reading a page */
    int32_t status;
    larder_error *error;
} walk;

static void damage(walk *w, uint64_t page, const char *what) {
    if (w->status != LARDER_OK) return;
    w->status = w->failure != 0
                    ? larder__file_fail(w->error, w->failure, "reading", w->copy->env->path)
                    : larder__copy_damage(w->copy, page, w->name, what, w->error);
}

static void note_lost(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                      const char *what) {
    (void)low;
    (void)high;
    damage(context, page, what);
}

static bool read_large(walk *w, const larder__page_node *node, larder_bytes *value) {
    const larder__pages *pages = &w->copy->pages;
    uint8_t head[LARDER__PAGE_LARGEST];
    uint64_t count = larder__page_overflow_count(pages, node->value_bytes);
    if (node->child < 2 || node->child >= pages->page_count ||
        count > pages->page_count - node->child || node->value_bytes > VALUE_MAX) {
        damage(w, node->child, "a large value leaves the file");
        return false;
    }
    if (!larder__pages_read(pages, node->child, head) ||
        larder__page_kind_of(head, node->child) != LARDER__PAGE_OVERFLOW ||
        larder__load32(head + OVERFLOW_COUNT_AT) < count) {
        damage(w, node->child, "a large value's first page is damaged");
        return false;
    }
    w->value.size_bytes = 0;
    if (!larder__buffer_reserve(&w->value, (size_t)node->value_bytes + 1)) {
        w->status = larder__fail(w->error, LARDER_E_NO_MEMORY, "no memory to copy");
        return false;
    }
    *value = larder__bytes(w->value.data, (size_t)node->value_bytes);
    if (larder__pages_read_value(pages, node->child, w->value.data, node->value_bytes)) return true;
    damage(w, node->child, "a large value cannot be read");
    return false;
}

static bool copy_row(void *context, const larder__page_node *node) {
    walk *w = context;
    larder_bytes row = node->value;
    if (w->status != LARDER_OK) return false;
    if (node->is_table) damage(w, LARDER__PAGE_NONE, "a row is a table's record");
    if (node->child != LARDER__PAGE_NONE) read_large(w, node, &row);
    if (w->status != LARDER_OK) return false;
    MDB_val key = {node->key.size_bytes, (void *)(uintptr_t)node->key.data};
    MDB_val value = {row.size_bytes, (void *)(uintptr_t)row.data};
    int code = w->to.waiting++ < ROWS_A_COMMIT ? 0 : next_txn(&w->to, w->name);
    if (code == 0) code = larder__mdb_put(w->to.txn, w->to.dbi, &key, &value, MDB_APPEND);
    w->entry_count++;
    w->status =
        code != 0
            ? larder__fail_mdb(w->error, code, "compacting")
            : larder__copy_report(w->copy, larder__row_cost(key.mv_size, value.mv_size), w->error);
    return w->status == LARDER_OK;
}

static bool note_table(void *context, const larder__page_node *node) {
    walk *w = context;
    for (int t = 0; t < LARDER__TABLE_COUNT && node->is_table; t++) {
        const char *name = larder__table_names[t];
        if (!larder__bytes_equal(node->key, larder__bytes(name, strlen(name)))) continue;
        larder__root_parse(node->value.data, &w->roots[t]);
        w->is_found[t] = true;
    }
    return w->status == LARDER_OK;
}

/* One tree of the snapshot. */
static void walk_tree(walk *w, const larder__root *root,
                      bool (*node)(void *, const larder__page_node *)) {
    bool has_memory;
    larder__tree_visitor visitor = {.context = w, .node = node, .lost = note_lost};
    larder__tree_walk_all(&w->copy->pages, root->page, w->visited, &visitor,
                          &w->copy->env->allocator, &has_memory);
    if (!has_memory) w->status = larder__fail(w->error, LARDER_E_NO_MEMORY, "no memory to copy");
}

static void copy_table(walk *w, larder__table table) {
    const larder__root *root = &w->roots[table];
    w->name = larder__table_names[table];
    w->entry_count = 0;
    int code = next_txn(&w->to, w->name);
    if (code != 0) {
        w->status = larder__fail_mdb(w->error, code, "compacting");
        return;
    }
    if (!w->is_found[table]) return; /* an earlier version made the store */
    walk_tree(w, root, copy_row);
    if (w->status == LARDER_OK && w->entry_count != root->entry_count)
        damage(w, root->page, "the table has another number of rows than its record says");
}

static void copy_tables(walk *w) {
    walk_tree(w, &w->copy->meta.tables, note_table);
    if (!w->is_found[LARDER__CATALOG])
        damage(w, w->copy->meta.tables.page, "the table of tables lacks the catalog");
    for (int t = 0; t < LARDER__TABLE_COUNT && w->status == LARDER_OK; t++)
        copy_table(w, (larder__table)t);
    int code = w->status == LARDER_OK ? repeat_commit(&w->to) : 0;
    if (code != 0) w->status = larder__fail_mdb(w->error, code, "compacting");
}

int32_t larder__copy_rows(larder__copy *c, larder_error *error) {
    const larder__counters *counters;
    size_t marks = (size_t)(c->pages.page_count / 8 + 1);
    walk w = {.copy = c, .name = "", .error = error, .value.allocator = &c->env->allocator};
    int32_t status = larder__txn_counters(c->from, &counters, error);
    if (status != LARDER_OK) return status;
    c->total = larder__counters_total(counters);
    status = larder__file_allocate_readers(c->partial, READERS, error);
    if (status != LARDER_OK) return status;
    w.visited = larder__allocate(&c->env->allocator, marks);
    if (w.visited == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to copy");
    memset(w.visited, 0, marks);
    c->pages.failure = &w.failure;
    int code = open_target(c, &w.to.env);
    if (code == 0)
        copy_tables(&w);
    else
        w.status = larder__fail_mdb(error, code, "making the copy");
    if (w.to.txn != NULL) larder__mdb_txn_abort(w.to.txn);
    if (w.to.env != NULL) mdb_env_close(w.to.env);
    c->pages.failure = NULL;
    larder__buffer_free(&w.value);
    larder__release(&c->env->allocator, w.visited);
    return w.status;
}

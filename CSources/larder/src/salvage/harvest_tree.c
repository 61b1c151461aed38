/*
 * harvest_tree.c - rows of the trees that a meta page leads to.
 *
 * The table of tables gives each table's root. A table that it may have lost is lost as a whole;
 * so is, for guesses, one that has fewer rows than its record says, or rows of another table: a
 * page of it is an older one.
 */
#include "harvest.h"

#include "store/catalog.h"
#include "store/tree.h"

typedef struct found_table {
    larder__root root;
    bool is_found;
} found_table;

typedef struct walk {
    larder__harvest *h;
    larder__pages *pages;
    larder__table table;
    uint64_t entry_count;
    larder__buffer value; /* of a large row */
    found_table found[LARDER__TABLE_COUNT];
    bool is_base, has_lost_tables;
    bool is_foreign; /* the leaf has rows of another tree: larder__harvest_scan reads them */
} walk;

/* ---- the table of tables ---- */

static bool note_table(void *context, const larder__page_node *node) {
    walk *w = context;
    w->entry_count++;
    int table = 0;
    while (table < LARDER__TABLE_COUNT &&
           !larder__bytes_equal(
               larder__bytes(larder__table_names[table], strlen(larder__table_names[table])),
               node->key))
        table++;
    /* A name that no table has is one with damage: that table is not known to be missing. */
    w->is_foreign = w->is_foreign || !node->is_table;
    w->has_lost_tables = w->has_lost_tables || table == LARDER__TABLE_COUNT || !node->is_table;
    if (table == LARDER__TABLE_COUNT || !node->is_table) return true;
    w->found[table].is_found = true;
    larder__root_parse(node->value.data, &w->found[table].root);
    return true;
}

static void lose_tables(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                        const char *what) {
    walk *w = context;
    (void)page;
    (void)low;
    (void)high;
    (void)what;
    w->has_lost_tables = true;
    if (w->is_base) w->h->damaged_page_count++;
}

static void note_page(void *context, uint64_t page) {
    walk *w = context;
    if (page < w->h->pages.page_count && !w->is_foreign) larder__page_mark(w->h->seen, page);
    w->is_foreign = false;
}

/* ---- a table ---- */

static bool read_large(walk *w, const larder__page_node *node, larder_bytes *value) {
    if (node->value_bytes > LARDER__VALUE_MAX || node->value_bytes > w->pages->file_bytes)
        return false;
    w->value.size_bytes = 0;
    if (!larder__buffer_reserve(&w->value, (size_t)node->value_bytes)) {
        larder__harvest_fail_memory(w->h);
        return false;
    }
    *value = larder__bytes(w->value.data, (size_t)node->value_bytes);
    return larder__pages_read_value(w->pages, node->child, w->value.data, node->value_bytes);
}

/* The pages of a value that is whole hold nothing else, but for the rest of the last one. */
static void see_value(walk *w, const larder__page_node *node) {
    uint64_t count = larder__page_overflow_count(w->pages, node->value_bytes);
    for (uint64_t i = 0; i < count && node->child + i < w->h->pages.page_count; i++)
        larder__page_mark(w->h->seen, node->child + i);
    uint64_t tail = node->child * w->h->pages.page_bytes + LARDER__PAGE_HEAD + node->value_bytes;
    if (!larder__buffer_append(&w->h->tails, &tail, sizeof tail)) larder__harvest_fail_memory(w->h);
}

/* Catalog rows that are not sealed: they are made from others. */
static bool is_unsealed(larder__table table, larder_bytes key) {
    uint8_t kind = larder__begin(key)[0];
    return table == LARDER__CATALOG &&
           (kind == LARDER__KIND_FORMAT || kind == LARDER__KIND_CANONICAL);
}

/* Location 0 lists locations to be freed, in empty rows. */
static bool is_discarded(larder__table table, const larder__page_node *node) {
    return table == LARDER__NODES && node->value_bytes == 0 && larder__begin(node->key)[0] == 0;
}

static void lose_row(walk *w, larder_bytes key) {
    larder__key end = {.size_bytes = key.size_bytes + 1};
    if (end.size_bytes > sizeof end.bytes) return;
    memcpy(end.bytes, key.data, key.size_bytes);
    end.bytes[key.size_bytes] = 0;
    larder_bytes high = larder__key_bytes(&end);
    larder__harvest_lose(w->h, w->table, key, &high);
}

static bool cannot_be_fetched(larder__table table) {
    return table == LARDER__MUTATIONS || table == LARDER__NODE_WRITES;
}

/* A page of it is in the place of one of this table, or the key is none of this table's. */
static bool is_of_another_table(larder__table table, larder_bytes key, larder_bytes value) {
    uint64_t owner, id;
    uint8_t kind;
    if (table == LARDER__MUTATION_DOCUMENTS) return true; /* nothing tells which key is lost */
    if (table == LARDER__MUTATIONS && !larder__evidence_batch_key(key, &owner, &id)) return true;
    if (table == LARDER__NODE_WRITES && !larder__evidence_write_key(key, &owner, &kind, &id))
        return true;
    return larder__evidence_table_of(key, value) != LARDER__TABLE_COUNT;
}

static bool take_row(void *context, const larder__page_node *node) {
    walk *w = context;
    larder__harvest *h = w->h;
    larder_bytes value = node->value;
    larder__key mended;
    w->entry_count++;
    bool is_large = node->child != LARDER__PAGE_NONE;
    bool is_there = !node->is_table && (!is_large || read_large(w, node, &value));
    if (!larder__evidence_is_wanted(w->table)) {
        w->is_foreign = w->is_foreign || (is_there && larder__evidence_table_of(node->key, value) !=
                                                          LARDER__TABLE_COUNT);
        return larder__harvest_goes_on(h);
    }
    if (is_unsealed(w->table, node->key) || is_discarded(w->table, node)) return true;
    if (is_there && larder__evidence_is_whole(w->table, node->key, value)) {
        if (is_large) see_value(w, node);
        larder__harvest_take(h, w->table, node->key, value,
                             w->is_base ? LARDER__GRADE_SURE : larder__harvest_grade_of_pages(h));
    } else if (w->is_base && is_there && cannot_be_fetched(w->table) &&
               larder__evidence_mend_key(w->table, node->key, value, &mended)) {
        larder__harvest_take(h, w->table, larder__key_bytes(&mended), value, LARDER__GRADE_SURE);
    } else {
        bool is_foreign = is_of_another_table(w->table, node->key, value);
        w->is_foreign = w->is_foreign || is_foreign;
        if (w->is_base && is_foreign) larder__harvest_lose_all(h, w->table);
        if (w->is_base && !is_foreign) lose_row(w, node->key);
        h->damaged_count[w->table] += w->is_base;
    }
    return larder__harvest_goes_on(h);
}

static void lose_rows(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                      const char *what) {
    walk *w = context;
    (void)page;
    (void)what;
    if (!w->is_base) return;
    larder__harvest_lose(w->h, w->table, low, high);
    w->h->damaged_page_count++;
}

/* Whether a table of tables is one of a store's, as far as can be seen. */
static bool has_all_tables(const walk *w, const larder__root *tables) {
    return !w->has_lost_tables && w->found[LARDER__CATALOG].is_found &&
           w->entry_count == tables->entry_count;
}

void larder__harvest_walk(larder__harvest *h, const larder__root *tables, bool has_images,
                          bool is_base) {
    larder__pages pages = h->pages;
    if (has_images) {
        pages.images = (const larder__image *)(const void *)h->log.images.data;
        pages.image_count = h->log.images.size_bytes / sizeof(larder__image);
    }
    walk w = {.h = h, .pages = &pages, .is_base = is_base, .value = {.allocator = h->allocator}};
    size_t marks = (size_t)(pages.page_count / 8 + 1);
    uint8_t *visited = larder__allocate(h->allocator, marks);
    if (visited == NULL) {
        larder__harvest_fail_memory(h);
        return;
    }
    memset(visited, 0, marks);
    bool has_memory = true;
    larder__tree_visitor main_visitor = {&w, note_table, lose_tables, note_page};
    larder__tree_visitor visitor = {&w, take_row, lose_rows, note_page};
    larder__tree_walk_all(&pages, tables->page, visited, &main_visitor, h->allocator, &has_memory);
    bool is_whole = tables->page == LARDER__PAGE_NONE || has_all_tables(&w, tables);
    for (int t = 0; t < LARDER__TABLE_COUNT && has_memory && larder__harvest_goes_on(h); t++) {
        w.table = (larder__table)t;
        w.entry_count = 0;
        if (!w.found[t].is_found) {
            if (is_base && !is_whole) larder__harvest_lose_all(h, w.table);
            continue;
        }
        larder__tree_walk_all(&pages, w.found[t].root.page, visited, &visitor, h->allocator,
                              &has_memory);
        if (is_base && w.entry_count != w.found[t].root.entry_count)
            larder__harvest_lose_all(h, w.table);
    }
    if (!has_memory) larder__harvest_fail_memory(h);
    larder__buffer_free(&w.value);
    larder__release(h->allocator, visited);
}

/* ---- the commit of a tree ---- */

typedef struct commit_search {
    larder__root catalog;
    bool has_catalog;
    uint64_t commit;
} commit_search;

static bool find_catalog(void *context, const larder__page_node *node) {
    commit_search *s = context;
    larder_bytes name = larder__bytes(larder__table_names[LARDER__CATALOG],
                                      strlen(larder__table_names[LARDER__CATALOG]));
    s->has_catalog = node->is_table && larder__bytes_equal(name, node->key);
    if (s->has_catalog) larder__root_parse(node->value.data, &s->catalog);
    return !s->has_catalog;
}

/* The counters are the catalog's first row. */
static bool find_counters(void *context, const larder__page_node *node) {
    commit_search *s = context;
    larder_bytes payload;
    larder__counters counters;
    if (larder__begin(node->key)[0] == LARDER__KIND_COUNTERS &&
        larder__evidence_unseal(node->key, node->value, &payload) &&
        payload.size_bytes == sizeof counters) {
        memcpy(&counters, payload.data, sizeof counters);
        if (counters.commit_number > 0) s->commit = (uint64_t)counters.commit_number;
    }
    return false;
}

static void ignore_lost(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                        const char *what) {
    (void)context;
    (void)page;
    (void)low;
    (void)high;
    (void)what;
}

uint64_t larder__harvest_commit_of(const larder__pages *pages, const larder__root *tables) {
    const larder_allocator *allocator = &larder__default_allocator;
    commit_search s = {.has_catalog = false};
    larder__tree_visitor in_tables = {&s, find_catalog, ignore_lost, NULL};
    larder__tree_visitor in_catalog = {&s, find_counters, ignore_lost, NULL};
    size_t marks = (size_t)(pages->page_count / 8 + 1);
    uint8_t *visited = larder__allocate(allocator, marks);
    bool has_memory;
    if (visited == NULL) return 0;
    memset(visited, 0, marks);
    larder__tree_walk_all(pages, tables->page, visited, &in_tables, allocator, &has_memory);
    if (s.has_catalog)
        larder__tree_walk_all(pages, s.catalog.page, visited, &in_catalog, allocator, &has_memory);
    larder__release(allocator, visited);
    return s.commit;
}

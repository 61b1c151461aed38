/*
 * check_pages.c - verifying a store's files page by page, without LMDB and without its locks.
 *
 * The tree of the last checkpoint, or of the newer meta page where the data file stands alone: each
 * page is the one that its parent expects, each row is whole, each table has as many as its record
 * says, no page is used twice or used and free. And the log's records behind the checkpoint.
 */
#include "harvest.h"
#include "store/catalog.h"
#include "store/tree.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define REPORT_PAGES 256

typedef struct check {
    const char *path;
    larder__harvest *files; /* pages and log; no rows are gathered */
    larder__pages pages;
    larder_pages_report *report;
    larder_page_problem_function problem;
    larder_progress_function progress;
    void *context;
    uint8_t *used, *free;
    uint64_t last_page;
    larder__table table;
    const char *name; /* of the table */
    int64_t entry_count, since_report;
    larder__buffer value;
    int32_t status;
} check;

static void note(check *c, uint64_t page, const char *message) {
    c->report->problem_count++;
    if (c->problem != NULL && c->status == LARDER_OK &&
        c->problem(c->context, page, c->name, message) != 0)
        c->status = LARDER_STOPPED;
}

static bool goes_on(const check *c) { return c->status == LARDER_OK; }

static void count_pages(check *c, uint64_t count) {
    c->report->tree_count += (int64_t)count;
    c->since_report += (int64_t)count;
    if (c->since_report < REPORT_PAGES) return;
    c->since_report = 0;
    int64_t total = (int64_t)c->pages.file_bytes;
    int64_t done = c->report->tree_count * (int64_t)c->pages.page_bytes;
    if (c->progress != NULL && goes_on(c) &&
        c->progress(c->context, done < total ? done : total, total) != 0)
        c->status = LARDER_STOPPED;
}

/* ---- trees ---- */

static void note_lost(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                      const char *what) {
    (void)low;
    (void)high;
    note(context, page, what);
}

static void note_page(void *context, uint64_t page) {
    (void)page;
    count_pages(context, 1);
}

/* Reads a large value; marks its pages. */
static bool read_large(check *c, const larder__page_node *node, larder_bytes *value) {
    uint8_t head[LARDER__PAGE_LARGEST];
    uint64_t count = larder__page_overflow_count(&c->pages, node->value_bytes);
    if (node->child < 2 || node->child >= c->pages.page_count ||
        count > c->pages.page_count - node->child) {
        note(c, node->child, "a large value leaves the file");
        return false;
    }
    if (!larder__pages_read(&c->pages, node->child, head) ||
        larder__page_kind_of(head, node->child) != LARDER__PAGE_OVERFLOW ||
        larder__load32(head + 12) < count)
        note(c, node->child, "a large value's first page is damaged");
    for (uint64_t i = 0; i < count; i++) {
        if (larder__page_is_marked(c->used, node->child + i))
            note(c, node->child + i, "the page is used twice");
        larder__page_mark(c->used, node->child + i);
    }
    count_pages(c, count);
    c->value.size_bytes = 0;
    if (!larder__buffer_reserve(&c->value, (size_t)node->value_bytes + 1)) {
        c->status = LARDER_E_NO_MEMORY;
        return false;
    }
    *value = larder__bytes(c->value.data, (size_t)node->value_bytes);
    if (larder__pages_read_value(&c->pages, node->child, c->value.data, node->value_bytes))
        return true;
    note(c, node->child, "a large value cannot be read");
    return false;
}

/* Rows without a checksum that rows of tables are allowed to be. */
static bool is_plain(larder__table table, larder_bytes key, larder_bytes value) {
    uint8_t kind = larder__begin(key)[0];
    if (!larder__evidence_is_sealed(table)) return true;
    if (table == LARDER__CATALOG)
        return kind == LARDER__KIND_FORMAT ||
               (kind == LARDER__KIND_CANONICAL && value.size_bytes == 0);
    return table == LARDER__NODES && kind == 0 && value.size_bytes == 0;
}

static bool check_row(void *context, const larder__page_node *node) {
    check *c = context;
    larder_bytes value = node->value;
    c->entry_count++;
    c->report->row_count++;
    if (node->is_table) {
        note(c, LARDER__PAGE_NONE, "a row is a table's record");
        return goes_on(c);
    }
    if (node->child != LARDER__PAGE_NONE && !read_large(c, node, &value)) return goes_on(c);
    if (!is_plain(c->table, node->key, value) &&
        !larder__evidence_is_whole(c->table, node->key, value))
        note(c, LARDER__PAGE_NONE, "a row is not whole: its checksum does not match");
    return goes_on(c);
}

typedef struct tables_check {
    check *c;
    larder__root roots[LARDER__TABLE_COUNT];
    bool is_found[LARDER__TABLE_COUNT];
} tables_check;

static bool note_table(void *context, const larder__page_node *node) {
    tables_check *t = context;
    for (int i = 0; i < LARDER__TABLE_COUNT; i++) {
        larder_bytes name = larder__bytes(larder__table_names[i], strlen(larder__table_names[i]));
        if (!node->is_table || !larder__bytes_equal(name, node->key)) continue;
        larder__root_parse(node->value.data, &t->roots[i]);
        t->is_found[i] = true;
        return true;
    }
    note(t->c, LARDER__PAGE_NONE, "the table of tables has a row that is no table of a store");
    return goes_on(t->c);
}

static void lose_table(void *context, uint64_t page, larder_bytes low, const larder_bytes *high,
                       const char *what) {
    tables_check *t = context;
    note_lost(t->c, page, low, high, what);
}

static void note_main_page(void *context, uint64_t page) {
    tables_check *t = context;
    note_page(t->c, page);
}

/* LMDB goes by the depth when it changes a table. */
static void check_depth(check *c, const larder__root *root) {
    if (goes_on(c) && !larder__tree_has_depth(&c->pages, root))
        note(c, root->page, "a table's record says another depth than its tree has");
}

static void check_table(check *c, larder__table table, const larder__root *root) {
    larder__tree_visitor visitor = {c, check_row, note_lost, note_page};
    bool has_memory;
    char text[96];
    c->table = table;
    c->name = larder__table_names[table];
    c->entry_count = 0;
    int64_t before = c->report->problem_count;
    larder__tree_walk_all(&c->pages, root->page, c->used, &visitor, &larder__default_allocator,
                          &has_memory);
    if (!has_memory) c->status = LARDER_E_NO_MEMORY;
    if (goes_on(c) && before == c->report->problem_count &&
        (uint64_t)c->entry_count != root->entry_count) {
        snprintf(text, sizeof text, "the table has %lld rows, and its record says %llu",
                 (long long)c->entry_count, (unsigned long long)root->entry_count);
        note(c, root->page, text);
    }
    if (goes_on(c) && root->flags != 0)
        note(c, root->page, "the table's record has the flags of another kind of table");
    if (before == c->report->problem_count) check_depth(c, root);
    c->name = "";
}

static void check_tables(check *c, const larder__root *tables) {
    tables_check t = {.c = c};
    larder__tree_visitor visitor = {&t, note_table, lose_table, note_main_page};
    bool has_memory;
    larder__tree_walk_all(&c->pages, tables->page, c->used, &visitor, &larder__default_allocator,
                          &has_memory);
    if (!has_memory) c->status = LARDER_E_NO_MEMORY;
    for (int i = 0; i < LARDER__TABLE_COUNT && goes_on(c); i++)
        if (t.is_found[i]) check_table(c, (larder__table)i, &t.roots[i]);
    if (goes_on(c) && !t.is_found[LARDER__CATALOG])
        note(c, tables->page, "the table of tables lacks the catalog");
}

/* ---- free pages ---- */

static bool check_free_row(void *context, const larder__page_node *node) {
    check *c = context;
    larder_bytes value = node->value;
    if (node->child != LARDER__PAGE_NONE && !read_large(c, node, &value)) return goes_on(c);
    uint64_t count = value.size_bytes < 8 ? 0 : larder__load64(value.data);
    if (value.size_bytes % 8 != 0 || count != value.size_bytes / 8 - 1) {
        note(c, LARDER__PAGE_NONE, "a row of the free pages has another length than it says");
        return goes_on(c);
    }
    for (uint64_t i = 1; i <= count && goes_on(c); i++) {
        uint64_t page = larder__load64(larder__begin(value) + 8 * i);
        if (page < 2 || page > c->last_page)
            note(c, page, "a free page is none of the store's");
        else if (page < c->pages.page_count && larder__page_is_marked(c->free, page))
            note(c, page, "a page is free twice");
        else if (page < c->pages.page_count)
            larder__page_mark(c->free, page);
        c->report->free_count++;
    }
    return goes_on(c);
}

static void check_free(check *c, const larder__root *root) {
    larder__tree_visitor visitor = {c, check_free_row, note_lost, note_page};
    bool has_memory;
    larder__tree_walk_numbers(&c->pages, root->page, c->used, &visitor, &larder__default_allocator,
                              &has_memory);
    if (!has_memory) c->status = LARDER_E_NO_MEMORY;
    for (uint64_t page = 2; page < c->pages.page_count && goes_on(c); page++)
        if (larder__page_is_marked(c->used, page) && larder__page_is_marked(c->free, page))
            note(c, page, "the page is used, and free");
}

/* ---- all ---- */

static void check_base(check *c, const larder__view_root *base) {
    char text[160];
    const larder__found_log *log = &c->files->log;
    uint64_t last;
    uint64_t gaps = larder__found_log_gaps(log, base->commit, &last);
    c->last_page = base->meta.last_page;
    c->report->commit_number = last;
    c->report->record_count = (int64_t)(last - base->commit - gaps);
    if (base->is_checkpoint) {
        c->pages.images = (const larder__image *)(const void *)log->images.data;
        c->pages.image_count = log->images.size_bytes / sizeof(larder__image);
    }
    if (gaps > 0) {
        snprintf(text, sizeof text, "%llu acknowledged commits cannot be read",
                 (unsigned long long)gaps);
        note(c, LARDER__PAGE_NONE, text);
    }
    check_tables(c, &base->meta.tables);
    if (goes_on(c)) check_free(c, &base->meta.free_pages);
    if (c->report->problem_count == 0) check_depth(c, &base->meta.tables);
    if (c->report->problem_count == 0) check_depth(c, &base->meta.free_pages);
}

static void check_files(check *c) {
    larder__view_root roots[LARDER__VIEWS_MAX];
    const larder__found_log *log = &c->files->log;
    size_t count = larder__harvest_list_roots(&c->pages, log, roots);
    larder__meta meta;
    if (log->bytes.size_bytes > 0 && !log->has_header)
        note(c, LARDER__PAGE_NONE, "both headers of the write-ahead log are damaged");
    for (int which = 0; which < 2; which++)
        if (!larder__pages_read_meta(&c->pages, which, &meta))
            note(c, (uint64_t)which, "the meta page is damaged");
    larder_error refused;
    if (larder__wal_is_refused(log->verdict)) {
        larder__wal_refuse(&log->facts, log->verdict, c->path, &refused);
        note(c, LARDER__PAGE_NONE, refused.message);
    }
    if (count == 0)
        note(c, LARDER__PAGE_NONE, "nothing says where the tables are");
    else if (goes_on(c))
        check_base(c, &roots[0]);
}

int32_t larder_check_pages(const char *path, larder_page_problem_function problem,
                           larder_progress_function progress, void *context,
                           larder_pages_report *report, larder_error *error) {
    if (path == NULL || path[0] == '\0' || report == NULL || report->struct_bytes < sizeof *report)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "path is empty, report is NULL or its struct_bytes is not set");
    *report = (larder_pages_report){.struct_bytes = report->struct_bytes};
    larder__harvest *files = larder__allocate(NULL, sizeof *files);
    if (files == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to check pages");
    int32_t status = larder__harvest_open_files(files, path, &larder__default_allocator, error);
    check c = {.path = path,
               .files = files,
               .pages = files->pages,
               .report = report,
               .problem = problem,
               .progress = progress,
               .context = context,
               .name = "",
               .value = {.allocator = &larder__default_allocator}};
    if (status == LARDER_OK && c.pages.file < 0)
        status = larder__fail(error, LARDER_E_NO_STORE, "there is no data file in %s", path);
    size_t marks = (size_t)(c.pages.page_count / 8 + 1);
    if (status == LARDER_OK) {
        report->page_count = (int64_t)c.pages.page_count;
        c.used = larder__allocate(NULL, marks);
        c.free = larder__allocate(NULL, marks);
        if (c.used == NULL || c.free == NULL)
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to check pages");
    }
    if (status == LARDER_OK) {
        memset(c.used, 0, marks);
        memset(c.free, 0, marks);
        check_files(&c);
        status = c.status;
        if (status == LARDER_STOPPED) larder__fail(error, status, "stopped by the caller");
        if (status == LARDER_E_NO_MEMORY) larder__fail(error, status, "no memory to check pages");
    }
    larder__release(NULL, c.used);
    larder__release(NULL, c.free);
    larder__buffer_free(&c.value);
    larder__harvest_free(files);
    larder__release(NULL, files);
    if (status != LARDER_OK || report->problem_count == 0) return status;
    return larder__fail(error, LARDER_E_CORRUPT, "%lld problems in the pages of %s",
                        (long long)report->problem_count, path);
}

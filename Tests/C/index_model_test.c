/*
 * index_model_test.c - random operations on indexes against a naive model, which keeps every
 * document and view as bytes and works out each scan from scratch.
 */
#include "index_kit.h"
#include "store.h"

#include "store/key.h"

enum { NAMES = 60, USERS = 2, INDEXES = 6, RECORD_BYTES = 4096, ENTRIES = NAMES * 8, CUT = 240 };

static const char *const collections[] = {"posts",
                                          "posts/5/posts",
                                          "users/a/posts",
                                          "users/a/posts/5/posts",
                                          "users/a/posts/5/x/1/posts",
                                          "users/b/posts"};
static const char *const users[USERS] = {"", "ada"};
static char names[NAMES][700];

typedef struct content { /* of a document or an overlay */
    int state;           /* 0 nothing, 1 a record, 2 known to be absent */
    size_t size_bytes;
    uint8_t plain[RECORD_BYTES];
} content;

typedef struct model_index {
    uint32_t id; /* 0: not defined */
    int segment_count;
    int kinds[3];
    char paths[3][8];
    bool is_complete;
    bool is_dropping;
} model_index;

typedef struct model {
    content documents[NAMES];
    content overlays[USERS][NAMES];
    model_index indexes[INDEXES];
} model;

typedef struct entry {
    size_t name;
    size_t order_bytes;
    uint8_t order[CUT];
    const content *content;
} entry;

static model now, committed;
static larder_env *env;
static larder_txn *txn;

/* ---- names and records ---- */

static int compare_names(const void *left, const void *right) {
    return larder__path_compare(test_text(left), test_text(right));
}

static void make_names(void) {
    static const char *const ids[] = {"1", "5", "50", "__id7__", "__id70__", "a"};
    size_t n = 0;
    for (size_t c = 0; c < 6; c++) {
        for (size_t i = 0; i < 6; i++)
            snprintf(names[n++], sizeof names[0], "%s/%s", collections[c], ids[i]);
        for (size_t i = 0; i < 4; i++) /* alike in their first 184 bytes */
            snprintf(names[n++], sizeof names[0], "%s/%s%zu", collections[c],
                     store_fill('m', 183 + 40 * (i % 2)), (i * 7) % 10);
    }
    CHECK_EQ(n, NAMES);
    qsort(names, NAMES, sizeof names[0], compare_names);
}

static const char *random_value(void) {
    static const char *const values[] = {"1",
                                         "1",
                                         "2",
                                         "3",
                                         "1.0",
                                         "-3",
                                         "0.5",
                                         "nan",
                                         "null",
                                         "true",
                                         "'x'",
                                         "'y'",
                                         "''",
                                         "x*237",
                                         "x*238",
                                         "x*300+'a'",
                                         "x*300+'b'",
                                         "[1, 2]",
                                         "@5",
                                         "{k: 1}",
                                         "9007199254740993",
                                         "9007199254740992.0"};
    return values[test_random_below(sizeof values / sizeof values[0])];
}

static void random_record(content *to) {
    char text[4096];
    size_t size = 0;
    text[0] = 0;
    static const char *const fields[] = {"a", "b"};
    for (size_t i = 0; i < 2; i++)
        if (test_random_below(6) > 0)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s=%s ", fields[i],
                                     random_value());
    if (test_random_below(4) > 0) {
        size += (size_t)snprintf(text + size, sizeof text - size, "t=[");
        for (uint64_t i = test_random_below(5); i > 0; i--)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s, ",
                                     i == 4 ? "'x'" : random_value());
        size += (size_t)snprintf(text + size, sizeof text - size, "] ");
    } else if (test_random_below(2) > 0) {
        size += (size_t)snprintf(text + size, sizeof text - size, "t='x' ");
    }
    if (test_random_below(2) > 0)
        snprintf(text + size, sizeof text - size, "m={x: %s} ", random_value());
    larder_bytes plain = kit_record(text);
    to->state = 1;
    to->size_bytes = plain.size_bytes;
    if (plain.size_bytes > RECORD_BYTES) abort();
    memcpy(to->plain, plain.data, plain.size_bytes);
}

/* ---- entries as the model sees them ---- */

static bool find_value(const content *from, const char *path, larder_bytes *value) {
    larder_record record;
    larder_field field;
    larder_bytes plain = {from->plain, from->size_bytes};
    CHECK_OK(larder_record_open(plain, 0, 0, &record, &test_error));
    larder_field_init(&field, kit_path(path));
    return larder_record_find(&record, &field, value, NULL) == LARDER_OK;
}

static void add_entry(entry *entries, size_t *count, size_t first, size_t name, const content *from,
                      const larder_bytes *values, const model_index *index) {
    uint8_t order[4096];
    size_t size = 0, needed;
    for (int i = 0; i < index->segment_count; i++) {
        CHECK_OK(larder_order_encode(values[i], index->kinds[i] == LARDER_SEGMENT_DESCENDING,
                                     order + size, sizeof order - size, &needed, &test_error));
        size += needed;
    }
    entry made = {.name = name, .order_bytes = size < CUT ? size : CUT, .content = from};
    memcpy(made.order, order, made.order_bytes);
    for (size_t i = first; i < *count; i++)
        if (entries[i].order_bytes == made.order_bytes &&
            memcmp(entries[i].order, made.order, made.order_bytes) == 0)
            return;
    entries[(*count)++] = made;
}

static void add_entries(entry *entries, size_t *count, size_t name, const content *from,
                        const model_index *index) {
    larder_bytes values[3];
    int array = -1;
    for (int i = 0; i < index->segment_count; i++) {
        if (!find_value(from, index->paths[i], &values[i])) return;
        if (index->kinds[i] == LARDER_SEGMENT_CONTAINS) array = i;
    }
    size_t first = *count, element_count;
    if (array < 0) {
        add_entry(entries, count, first, name, from, values, index);
        return;
    }
    larder_bytes list = values[array];
    if (larder_value_type(list) != LARDER_TYPE_ARRAY) return;
    CHECK_OK(larder_value_count(list, &element_count));
    for (size_t i = 0; i < element_count; i++) {
        CHECK_OK(larder_value_get_element(list, i, &values[array]));
        add_entry(entries, count, first, name, from, values, index);
    }
}

static int compare_entries(const void *left, const void *right) {
    const entry *a = left, *b = right;
    int order = larder__bytes_compare(larder__bytes(a->order, a->order_bytes),
                                      larder__bytes(b->order, b->order_bytes));
    if (order != 0) return order;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* What a bound of at most CUT bytes says of an entry: below it (-1), begins with it (0), above. */
static int place(const entry *e, larder_bytes bound) {
    size_t size = bound.size_bytes < CUT ? bound.size_bytes : CUT;
    if (e->order_bytes >= size && memcmp(e->order, bound.data, size) == 0) return 0;
    return larder__bytes_compare(larder__bytes(e->order, e->order_bytes), bound) < 0 ? -1 : 1;
}

static bool is_selected(const entry *e, const larder_scan_options *options) {
    if (options->start.size_bytes > 0) {
        int at = place(e, options->start);
        bool is_open =
            (options->flags & LARDER_SCAN_START_AFTER) != 0 && options->start.size_bytes <= CUT;
        if (at < 0 || (at == 0 && is_open)) return false;
    }
    if (options->end.size_bytes > 0) {
        int at = place(e, options->end);
        bool is_closed =
            (options->flags & LARDER_SCAN_END_AT) != 0 || options->end.size_bytes > CUT;
        if (at > 0 || (at == 0 && !is_closed)) return false;
    }
    return true;
}

static bool is_in(const char *name, const char *collection) {
    return *collection == 0 || ((size_t)(strrchr(name, '/') - name) == strlen(collection) &&
                                strncmp(name, collection, strlen(collection)) == 0);
}

/* The entries of a scan, in order. user: -1 for the base. */
static size_t expect(const model_index *index, const char *collection, int user,
                     const larder_scan_options *options, entry *entries) {
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < NAMES; i++) {
        const content *from = &now.documents[i];
        if (user >= 0 && now.overlays[user][i].state != 0) from = &now.overlays[user][i];
        if (from->state == 1 && is_in(names[i], collection))
            add_entries(entries, &count, i, from, index);
    }
    for (size_t i = 0; i < count; i++)
        if (options == NULL || is_selected(&entries[i], options)) entries[kept++] = entries[i];
    qsort(entries, kept, sizeof entries[0], compare_entries);
    return kept;
}

/* ---- comparing ---- */

static void check_document(const larder_document *document, const entry *expected,
                           const larder_scan *scan, bool has_record) {
    char name[2048];
    larder_bytes order = {0};
    snprintf(name, sizeof name, "%.*s/%.*s", (int)document->collection.size_bytes,
             (const char *)document->collection.data, (int)document->id.size_bytes,
             (const char *)document->id.data);
    CHECK_NOTE(strcmp(name, names[expected->name]) == 0, "%s, not %s", name, names[expected->name]);
    CHECK_OK(larder_index_scan_entry(scan, &order, &test_error));
    CHECK_BYTES(order, ((larder_bytes){expected->order, expected->order_bytes}));
    larder_bytes plain = {expected->content->plain, expected->content->size_bytes};
    if (has_record)
        CHECK(store_record_is(&document->record, plain));
    else
        CHECK_EQ(document->state, LARDER_DOCUMENT_NOT_READ);
}

static void compare_scan(const larder_txn *view, const model_index *index) {
    static entry entries[ENTRIES];
    static uint8_t start[1024], end[1024];
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    int user = -1;
    if (test_random_below(2) > 0) options.flags |= LARDER_SCAN_REVERSE;
    if (test_random_below(2) > 0) options.flags |= LARDER_SCAN_START_AFTER;
    if (test_random_below(2) > 0) options.flags |= LARDER_SCAN_END_AT;
    if (test_random_below(4) == 0) options.flags |= LARDER_SCAN_KEYS_ONLY;
    if (test_random_below(2) > 0) {
        user = (int)test_random_below(USERS);
        options.flags |= LARDER_SCAN_LOCAL_VIEW;
        options.user = test_text(users[user]);
    }
    larder_bytes *bounds[2] = {&options.start, &options.end};
    uint8_t *buffers[2] = {start, end};
    for (size_t b = 0; b < 2; b++) {
        uint64_t segments = test_random_below((uint64_t)index->segment_count + 1);
        bounds[b]->data = buffers[b];
        for (uint64_t i = 0; i < segments; i++) {
            size_t needed;
            CHECK_OK(larder_order_encode(kit_value(random_value()),
                                         index->kinds[i] == LARDER_SEGMENT_DESCENDING,
                                         buffers[b] + bounds[b]->size_bytes,
                                         1024 - bounds[b]->size_bytes, &needed, &test_error));
            bounds[b]->size_bytes += needed;
        }
        if (bounds[b]->size_bytes > 2 && test_random_below(8) == 0) bounds[b]->size_bytes--;
    }
    const char *collection = test_random_below(2) > 0 ? collections[test_random_below(6)] : "";
    size_t count = expect(index, collection, user, &options, entries), given = 0;
    larder_scan *scan = NULL;
    REQUIRE_OK(
        larder_index_scan(view, index->id, test_text(collection), &options, &scan, &test_error));
    int32_t status;
    larder_document document;
    while ((status = larder_scan_next(scan, &document, &test_error)) == LARDER_OK) {
        if (given < count) {
            size_t at = options.flags & LARDER_SCAN_REVERSE ? count - 1 - given : given;
            check_document(&document, &entries[at], scan,
                           (options.flags & LARDER_SCAN_KEYS_ONLY) == 0);
        }
        given++;
    }
    CHECK_STATUS(status, LARDER_END);
    CHECK_NOTE(given == count, "flags 0x%x, collection '%s': %zu entries, not %zu", options.flags,
               collection, given, count);
    larder_scan_close(scan);
}

static void compare_counts(const larder_txn *view) {
    static entry entries[ENTRIES];
    kit_check_counts(view);
    for (size_t i = 0; i < INDEXES; i++) {
        const model_index *index = &now.indexes[i];
        if (index->id == 0 || index->is_dropping) continue;
        larder_index stored = kit_index(view, index->id);
        CHECK_EQ(stored.complete, index->is_complete);
        if (!index->is_complete) continue;
        size_t count = expect(index, "", -1, NULL, entries);
        for (size_t u = 0; u < USERS; u++)
            for (size_t n = 0; n < NAMES; n++) {
                size_t of_view = 0;
                if (now.overlays[u][n].state == 1)
                    add_entries(entries, &of_view, n, &now.overlays[u][n], index);
                count += of_view;
            }
        CHECK_EQ(stored.entry_count, count);
    }
}

/* ---- operations ---- */

static void put_document(size_t name, content *to, int user) {
    larder_bytes plain = {0};
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    if (test_random_below(8) > 0) {
        random_record(to);
        plain = (larder_bytes){to->plain, to->size_bytes};
    } else {
        to->state = 2;
        info.state = LARDER_DOCUMENT_ABSENT;
    }
    info.version.seconds = (int64_t)test_random_below(100);
    if (user < 0)
        CHECK_OK(larder_document_put(txn, test_text(names[name]), &info, plain, &test_error));
    else
        CHECK_OK(larder_overlay_put(txn, test_text(users[user]), test_text(names[name]),
                                    1 + (int64_t)test_random_below(5), plain, test_text("p"),
                                    &test_error));
}

static void remove_document(size_t name, content *from, int user) {
    int32_t status = user < 0 ? larder_document_remove(txn, test_text(names[name]), &test_error)
                              : larder_overlay_remove(txn, test_text(users[user]),
                                                      test_text(names[name]), &test_error);
    CHECK_STATUS(status, from->state != 0 ? LARDER_OK : LARDER_NOT_FOUND);
    from->state = 0;
}

static void define_index(model_index *index) {
    static const struct {
        const char *text;
        int segment_count, kinds[3];
        char paths[3][8];
    } definitions[] = {
        {"a asc", 1, {0}, {"a"}},
        {"a desc", 1, {1}, {"a"}},
        {"t contains", 1, {2}, {"t"}},
        {"a asc, b desc", 2, {0, 1}, {"a", "b"}},
        {"m.x asc, t contains", 2, {0, 2}, {"m.x", "t"}},
        {"t contains, a desc, b asc", 3, {2, 1, 0}, {"t", "a", "b"}},
    };
    size_t which = (size_t)(index - now.indexes);
    uint32_t id = kit_define(txn, "posts", definitions[which].text);
    if (index->id != 0 && !index->is_dropping) {
        CHECK_EQ(id, index->id);
        return;
    }
    if (index->is_dropping) CHECK_OK(larder_index_drop(txn, index->id, 0, &test_error));
    memset(index, 0, sizeof *index);
    index->id = id;
    index->segment_count = definitions[which].segment_count;
    memcpy(index->kinds, definitions[which].kinds, sizeof index->kinds);
    memcpy(index->paths, definitions[which].paths, sizeof index->paths);
    index->is_complete = kit_index(txn, id).complete == 1;
}

static void drop_index(model_index *index) {
    if (index->id == 0) return;
    int32_t status =
        larder_index_drop(txn, index->id, 1 + (int64_t)test_random_below(20), &test_error);
    CHECK(status == LARDER_OK || status == LARDER_MORE);
    index->is_dropping = true;
    if (status == LARDER_OK) memset(index, 0, sizeof *index);
}

static void fill_index(model_index *index) {
    if (index->id == 0 || index->is_dropping) return;
    int64_t done = 0, total = 0;
    int32_t status = larder_index_backfill(txn, index->id, 1 + (int64_t)test_random_below(20), 0,
                                           &done, &total, &test_error);
    CHECK(status == LARDER_OK || status == LARDER_MORE);
    CHECK(done <= total);
    index->is_complete = status == LARDER_OK;
}

static void end_transaction(void) {
    compare_counts(txn);
    if (test_random_below(4) == 0) {
        larder_txn_abort(txn);
        now = committed;
    } else {
        store_commit(txn);
        committed = now;
    }
    const larder_txn *read = store_read(env);
    compare_counts(read);
    for (size_t i = 0; i < INDEXES; i++)
        if (now.indexes[i].is_complete && !now.indexes[i].is_dropping)
            compare_scan(read, &now.indexes[i]);
    larder_txn_end_read(read);
    if (test_random_below(10) == 0) store_check(env);
    txn = store_write(env);
}

static void operate(void) {
    size_t name = (size_t)test_random_below(NAMES);
    int user = (int)test_random_below(USERS);
    model_index *index = &now.indexes[test_random_below(INDEXES)];
    uint64_t dice = test_random_below(100);
    if (dice < 45)
        put_document(name, &now.documents[name], -1);
    else if (dice < 55)
        remove_document(name, &now.documents[name], -1);
    else if (dice < 67)
        put_document(name, &now.overlays[user][name], user);
    else if (dice < 75)
        remove_document(name, &now.overlays[user][name], user);
    else if (dice < 78)
        define_index(index);
    else if (dice < 86)
        fill_index(index);
    else if (dice < 87)
        drop_index(index);
    else if (dice < 92)
        end_transaction();
    else if (index->is_complete && !index->is_dropping)
        compare_scan(txn, index);
}

static void random_operations(void) {
    make_names();
    memset(&now, 0, sizeof now);
    committed = now;
    env = store_open();
    txn = store_write(env);
    for (int64_t steps = test_steps(5000); steps > 0; steps--)
        operate();
    store_commit(txn);
    store_check(env);
    store_close(env);
}

static const test_case cases[] = {
    {"random operations", random_operations},
};
TEST_SUITE(index_model, cases);

/*
 * check_nodes_test.c - larder_check on trees: each invariant of their rows, tracked queries and
 * pending writes is broken in turn behind the store's back, and must be reported in its words.
 */
#include "node_damage.h"
#include "node_kit.h"
#include "nodes/node_query.h"
#include "store/catalog.h"

enum { OTHER_TREE = 77, WRITE = 5, KEYED = 1, PLAIN = 2 };

typedef struct world {
    larder_env *env;
    larder_txn *txn;
    uint64_t tree, rooms, spare;
} world;

/* A location of several rows, a keyed query and one that is not, a sweep, writes of both kinds. */
static void begin(world *w) {
    larder_node_write write = {
        .struct_bytes = sizeof write, .write_id = WRITE, .payload = test_text("payload")};
    w->env = node_kit_open(&w->tree);
    node_kit_commit(w->env, w->tree, "rooms", node_kit_list(0, 60, 100));
    node_kit_track(w->env, w->tree, KEYED, "rooms", LARDER_NODE_QUERY_KEYED);
    node_kit_track_key(w->env, w->tree, KEYED, "k0003");
    node_kit_track(w->env, w->tree, PLAIN, "rooms/k0001", LARDER_NODE_QUERY_COMPLETE);
    node_kit_track(w->env, w->tree, 3, "gone", 0);
    node_kit_untrack(w->env, w->tree, 3);
    w->txn = store_write(w->env);
    for (int32_t kind = 0; kind < 2; kind++)
        CHECK_OK(larder_node_write_put(w->txn, w->tree, kind, &write, &test_error));
    store_commit(w->txn);
    store_check(w->env);
    w->txn = store_write(w->env);
    w->rooms = node_kit_location(w->txn, w->tree, "rooms");
    CHECK(w->rooms != 0 && node_kit_row_count(w->txn, w->rooms) > 2);
    w->spare = (uint64_t)++w->txn->counters.next_location;
    w->txn->changed = true;
}

/* ---- what is reported ---- */

typedef struct problems {
    const char *table, *message;
    bool is_found;
    char all[2000];
} problems;

static int32_t note(void *context, const char *table, larder_bytes key, const char *message) {
    problems *p = context;
    (void)key;
    size_t size = strlen(p->all);
    snprintf(p->all + size, sizeof p->all - size, "%s: %s\n", table, message);
    p->is_found =
        p->is_found || (strcmp(table, p->table) == 0 && strstr(message, p->message) != NULL);
    return 0;
}

/* ---- rows ---- */

static const larder_bytes none = {NULL, 0};
static const larder_bytes leaf = {"\x02", 1};

/* The root has rooms and one other child. */
static void set_root(world *w, const char *key, larder_bytes node) {
    uint8_t bytes[4096] = {LARDER_NODE_CHILDREN};
    larder_bytes rooms = node_kit_wrap("rooms", node_kit_reference(w->rooms));
    larder_bytes other = node_kit_wrap(key, node);
    size_t head = 1 + LARDER__NODE_SIZE_BYTES, size = head;
    bool is_first = strcmp(key, "rooms") < 0;
    for (int i = 0; i < 2; i++) {
        larder_bytes part = (i == 0) == is_first ? other : rooms;
        memcpy(bytes + size, larder__begin(part) + head, part.size_bytes - head);
        size += part.size_bytes - head;
    }
    larder__store32(bytes + 1, (uint32_t)(size - head));
    node_kit_child root = {none, larder__bytes(bytes, size)};
    node_kit_row(w->txn, w->tree, none, &root, 1);
}

/* The spare location, which the root refers to, has one row with these keys. */
static void set_spare(world *w, larder_bytes separator, larder_bytes first, larder_bytes second) {
    node_kit_child children[] = {{first, leaf}, {second, leaf}};
    set_root(w, "spare", node_kit_reference(w->spare));
    node_kit_row(w->txn, w->spare, separator, children, second.size_bytes > 0 ? 2 : 1);
}

/* One with these bytes and fitting checksums. */
static void set_raw(world *w, larder_bytes row) {
    larder__key key;
    set_root(w, "spare", node_kit_reference(w->spare));
    larder__location_key(&key, w->spare);
    CHECK_OK(node_damage_put(w->txn, larder__key_bytes(&key), row));
}

static void a_reference_has_no_row(world *w) { set_root(w, "spare", node_kit_reference(w->spare)); }
static void a_row_has_no_reference(world *w) {
    node_kit_child child = {test_text("a"), leaf};
    node_kit_row(w->txn, w->spare, none, &child, 1);
}
static void two_references(world *w) { set_root(w, "spare", node_kit_reference(w->rooms)); }
static void a_reference_to_itself(world *w) {
    node_kit_child child = {test_text("a"), node_kit_reference(w->spare)};
    node_kit_row(w->txn, w->spare, none, &child, 1);
}
static void no_first_row(world *w) {
    larder__key key;
    larder__location_key(&key, w->rooms);
    CHECK_OK(larder__table_remove(w->txn, LARDER__NODES, larder__key_bytes(&key), &test_error));
}
static void wrong_order(world *w) { set_spare(w, none, test_text("b"), test_text("a")); }
static void twice_the_key(world *w) { set_spare(w, none, test_text("b"), test_text("b")); }
static void integer_as_text(world *w) { set_spare(w, none, test_text("17"), none); }
static void malformed_form(world *w) { set_spare(w, none, TEST_BYTES("\1\x80\0\0\7\xff"), none); }
static void forbidden_key(world *w) { set_spare(w, none, test_text("a.b"), none); }
static void key_before_its_row(world *w) {
    node_kit_child child = {test_text("a"), leaf};
    set_spare(w, none, test_text("A"), none);
    node_kit_row(w->txn, w->spare, test_text("m"), &child, 1);
}
static void key_of_the_next_row(world *w) {
    node_kit_child child = {test_text("z"), leaf};
    set_spare(w, none, test_text("n"), none);
    node_kit_row(w->txn, w->spare, test_text("m"), &child, 1);
}

/* Rows with cut keys: what their keys share with the row before, and a fraction. */
static void set_cut(world *w, char fill, size_t fraction_bytes, char first) {
    uint8_t separator[LARDER__SEPARATOR_MAX + 8] = {0};
    char keys[2][LARDER__SEPARATOR_MAX + 20] = {{0}, {0}};
    memset(keys, 'a', sizeof keys);
    memset(separator, fill, LARDER__SEPARATOR_MAX);
    keys[0][LARDER__SEPARATOR_MAX + 10] = 'm';
    keys[1][LARDER__SEPARATOR_MAX + 10] = first;
    node_kit_child child = {larder__bytes(keys[1], sizeof keys[1]), leaf};
    set_spare(w, none, larder__bytes(keys[0], sizeof keys[0]), none);
    node_kit_row(w->txn, w->spare, larder__bytes(separator, LARDER__SEPARATOR_MAX + fraction_bytes),
                 &child, 1);
}
static void cut_key_of_another_size(world *w) { set_cut(w, 'a', 3, 'n'); }
static void cut_rows_in_wrong_order(world *w) { set_cut(w, 'a', 8, 'b'); }
static void cut_key_above_its_keys(world *w) { set_cut(w, 'b', 8, 'n'); }

static void name_twice(world *w) { set_raw(w, TEST_BYTES("\0....\1\2\4\4\1a\1a\0\1k\2")); }
static void name_outside(world *w) { set_raw(w, TEST_BYTES("\0....\1\1\2\4\5a\0\1k\2")); }
static void wrong_count(world *w) { set_raw(w, TEST_BYTES("\0....\2\0\0\4\0\1k\2")); }
static void no_child(world *w) { set_raw(w, TEST_BYTES("\0....\0\0\0\0")); }
static void wrong_unused(world *w) {
    set_raw(w, TEST_BYTES("\1....\1\0\0\6\0\1k\11\0\2\4\1\1....text"));
}
static void cold_outside(world *w) {
    set_raw(w, TEST_BYTES("\1....\1\0\0\6\0\1k\11\3\4\4\0\1....text"));
}
static void empty_children(world *w) { set_raw(w, TEST_BYTES("\0....\1\0\0\5\0\1k\7\0")); }
static void malformed_utf8(world *w) { set_raw(w, TEST_BYTES("\0....\1\0\0\6\0\1k\5\1\xff")); }
static void server_value(world *w) { set_raw(w, TEST_BYTES("\0....\1\0\0\6\0\1k\6\1t")); }
static void wrong_checksum(world *w) {
    larder__key key;
    set_root(w, "spare", node_kit_reference(w->spare));
    larder__location_key(&key, w->spare);
    CHECK_OK(larder__table_put(w->txn, LARDER__NODES, larder__key_bytes(&key),
                               TEST_BYTES("\0....\1\0\0\4\0\1k\2"), &test_error));
}
static void number_never_given(world *w) {
    w->spare += 3;
    a_row_has_no_reference(w);
}
static void child_beside_a_root(world *w) {
    node_kit_child children[] = {{none, leaf}, {test_text("a"), leaf}};
    node_kit_row(w->txn, w->tree, none, children, 2);
}
static void no_root(world *w) {
    node_kit_child child = {test_text("a"), node_kit_reference(w->rooms)};
    node_kit_row(w->txn, w->tree, none, &child, 1);
}
static void root_in_a_location(world *w) { set_spare(w, none, none, none); }
static void too_deep(world *w) {
    larder_bytes deep = leaf;
    for (int i = 0; i < 60; i++)
        deep = node_kit_wrap("a", deep);
    node_kit_child child = {test_text("a"), deep};
    node_kit_row(w->txn, w->spare, none, &child, 1);
    deep = node_kit_reference(w->spare);
    for (int i = 0; i < 60; i++)
        deep = node_kit_wrap("a", deep);
    set_root(w, "spare", deep);
}

static void discard(world *w, uint64_t number, size_t more, larder_bytes value) {
    larder__key key;
    larder__location_key(&key, 0);
    larder__key_number(&key, number);
    larder__key_append(&key, "more", more);
    CHECK_OK(larder__table_put(w->txn, LARDER__NODES, larder__key_bytes(&key), value, &test_error));
}
/* Commits free what is discarded, in order and a share each: this comes first. */
static void keep_discarded(world *w) {
    enum { ROWS = 600 };
    CHECK_OK(larder__location_discard(w->txn, w->spare, &test_error));
    for (int i = 0; i < ROWS; i++) {
        char separator[8];
        node_kit_child child = {test_text(separator), leaf};
        snprintf(separator, sizeof separator, "%s%04d", i == 0 ? "" : "k", i);
        child.form = test_text(separator);
        node_kit_row(w->txn, w->spare, i == 0 ? none : child.form, &child, 1);
    }
}
static void discarded_with_a_longer_key(world *w) {
    keep_discarded(w);
    discard(w, w->spare, 4, none);
}
static void discarded_with_a_value(world *w) {
    keep_discarded(w);
    discard(w, w->spare, 0, leaf);
}
static void discarded_never_given(world *w) {
    keep_discarded(w);
    discard(w, w->spare + 9, 0, none);
}
/* Commits free the rows of rooms after those of the location before it, not all at once. */
static void discarded_and_in_use(world *w) {
    w->spare = (uint64_t)++w->txn->counters.next_location;
    keep_discarded(w);
    set_root(w, "again", node_kit_reference(w->spare));
}

/* ---- tracked queries ---- */

/* Changes a query's row. */
static larder__query_row read_query(world *w, uint64_t id) {
    static uint8_t path[64];
    larder__query_row row = {0};
    CHECK_OK(larder__query_read(w->txn, w->tree, id, &row, &test_error));
    CHECK(row.path.size_bytes <= sizeof path);
    memcpy(path, row.path.data, row.path.size_bytes);
    row.path.data = path;
    row.payload = none;
    return row;
}
static void write_query(world *w, uint64_t tree, uint64_t id, const larder__query_row *row) {
    CHECK_OK(larder__query_write(w->txn, tree, id, row, &test_error));
}

static void keys_without_their_query(world *w) {
    larder__query_row row = read_query(w, KEYED);
    row.keys = 0;
    write_query(w, w->tree, KEYED, &row);
}
static void no_index(world *w) {
    larder__key key;
    larder__location_key(&key, larder__index_of(w->tree));
    CHECK_OK(larder__table_remove(w->txn, LARDER__NODES, larder__key_bytes(&key), &test_error));
}
static void index_without_a_query(world *w) {
    CHECK_OK(larder__query_forget(w->txn, w->tree, PLAIN, &test_error));
}
static void other_kind_in_the_index(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    row.flags ^= LARDER_NODE_QUERY_KEYED;
    write_query(w, w->tree, PLAIN, &row);
}
static void malformed_path(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    row.path = test_text("a//b");
    write_query(w, w->tree, PLAIN, &row);
}
static void unknown_flag(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    row.flags |= 0x100;
    write_query(w, w->tree, PLAIN, &row);
}
static void keys_never_given(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    row.keys = w->spare + 9;
    write_query(w, w->tree, PLAIN, &row);
}
static void query_of_no_tree(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    write_query(w, OTHER_TREE, PLAIN, &row);
}
static void query_with_the_id_of_a_sweep(world *w) {
    larder__query_row row = read_query(w, PLAIN);
    write_query(w, w->tree, LARDER__SWEEP_ID + 1, &row);
}
static void sweep_with_keys(world *w) {
    larder__query_row row = read_query(w, LARDER__SWEEP_ID + 1);
    row.keys = w->spare;
    write_query(w, w->tree, LARDER__SWEEP_ID + 1, &row);
}
static void sweep_at_a_malformed_place(world *w) {
    larder__query_row row = read_query(w, LARDER__SWEEP_ID + 1);
    row.payload = test_text("a//b");
    write_query(w, w->tree, LARDER__SWEEP_ID + 1, &row);
}
static void sweep_never_made(world *w) {
    larder__query_row row = read_query(w, LARDER__SWEEP_ID + 1);
    write_query(w, w->tree, LARDER__SWEEP_ID + 50, &row);
}
static void sweep_not_in_the_index(world *w) {
    CHECK_OK(larder__sweep_unmark(w->txn, w->tree, test_text("gone"), &test_error));
}
static void tracked_key_is_no_truth(world *w) {
    node_kit_child child = {none, node_kit_wrap("k0003", TEST_BYTES("\3\4"))};
    node_kit_row(w->txn, read_query(w, KEYED).keys, none, &child, 1);
}
static void short_query(world *w) {
    larder__key key = larder__query_key(w->tree, PLAIN);
    larder_bytes part = test_text("abc");
    CHECK_OK(larder__table_put_sealed(w->txn, LARDER__NODE_QUERIES, larder__key_bytes(&key), &part,
                                      1, &test_error));
}
static void short_query_key(world *w) {
    CHECK_OK(
        larder__table_put(w->txn, LARDER__NODE_QUERIES, TEST_BYTES("\1\0"), leaf, &test_error));
}
static void query_checksum(world *w) {
    larder__key key = larder__query_key(w->tree, PLAIN);
    CHECK_OK(larder__table_put(w->txn, LARDER__NODE_QUERIES, larder__key_bytes(&key),
                               test_text("whatever it was"), &test_error));
}
static void query_counter(world *w) { w->txn->counters.query_count++; }
static void no_entry_in_the_log(world *w) {
    larder__cursor cursor;
    larder__key key = {0};
    CHECK_OK(larder__cursor_open(w->txn, LARDER__LRU, &cursor, &test_error));
    CHECK_OK(larder__cursor_seek(&cursor, none, &test_error));
    larder__key_append(&key, cursor.key.data, cursor.key.size_bytes);
    larder__cursor_close(&cursor);
    CHECK_OK(larder__table_remove(w->txn, LARDER__LRU, larder__key_bytes(&key), &test_error));
}

/* ---- pending writes ---- */

static void put_write(world *w, uint64_t tree, uint8_t kind, uint64_t id, size_t payload_bytes) {
    larder__key key;
    larder_bytes part = larder__bytes("\0\0\0\0\0\0\0\0\0payload", payload_bytes);
    larder__key_clear(&key);
    larder__key_number(&key, tree);
    larder__key_byte(&key, kind);
    larder__key_u64(&key, id);
    CHECK_OK(larder__table_put_sealed(w->txn, LARDER__NODE_WRITES, larder__key_bytes(&key), &part,
                                      1, &test_error));
}
static void write_of_an_unknown_kind(world *w) { put_write(w, w->tree, 7, WRITE, 16); }
static void write_without_an_id(world *w) { put_write(w, w->tree, 0, 0, 16); }
static void write_of_no_tree(world *w) { put_write(w, OTHER_TREE, 0, WRITE, 16); }
static void write_without_a_time(world *w) { put_write(w, w->tree, 0, WRITE, 5); }
static void write_above_the_highest(world *w) { put_write(w, w->tree, 0, WRITE + 1, 16); }

/* ---- the catalog, accounting ---- */

static void put_catalog(world *w, uint8_t kind, larder_bytes name, uint64_t number,
                        bool is_number) {
    larder__key key;
    uint8_t varint[LARDER__VARINT_MAX];
    larder_bytes value = larder__bytes(varint, larder__varint_put(varint, number));
    larder__key_clear(&key);
    larder__key_byte(&key, kind);
    if (is_number)
        larder__key_number(&key, number);
    else
        larder__key_append(&key, name.data, name.size_bytes);
    CHECK_OK(larder__table_put_sealed(w->txn, LARDER__CATALOG, larder__key_bytes(&key),
                                      is_number ? &name : &value, 1, &test_error));
}
static void name_of_another_number(world *w) {
    put_catalog(w, LARDER__KIND_TREE, test_text("test"), w->spare, false);
}
static void tree_never_given(world *w) {
    put_catalog(w, LARDER__KIND_TREE, test_text("new"), w->spare + 9, false);
    put_catalog(w, LARDER__KIND_TREE_NUMBER, test_text("new"), w->spare + 9, true);
}
static void name_without_a_number(world *w) {
    put_catalog(w, LARDER__KIND_TREE, test_text("new"), w->tree, false);
}
static void highest_id_of_no_tree(world *w) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_WRITE_ID);
    larder__key_number(&key, OTHER_TREE);
    CHECK_OK(larder__table_put_count(w->txn, larder__key_bytes(&key), 3, &test_error));
}
static void bytes_of_nodes(world *w) { w->txn->counters.usage[LARDER__COUNT_NODES].size_bytes++; }
static void rows_of_nodes(world *w) { w->txn->counters.usage[LARDER__COUNT_NODES].row_count--; }
static void bytes_of_writes(world *w) {
    w->txn->counters.usage[LARDER__COUNT_MUTATIONS].size_bytes--;
}

static const struct {
    void (*break_it)(world *);
    const char *table, *message;
} breaks[] = {
    {a_reference_has_no_row, "nodes", "has no row"},
    {a_row_has_no_reference, "nodes", "nothing refers to the location"},
    {two_references, "nodes", "referred to twice"},
    {a_reference_to_itself, "nodes", "lies within itself"},
    {no_first_row, "nodes", "first row is missing"},
    {wrong_order, "nodes", "not in order"},
    {twice_the_key, "nodes", "not in order"},
    {integer_as_text, "nodes", "another form"},
    {malformed_form, "nodes", "key is malformed"},
    {forbidden_key, "nodes", "none that a caller may give"},
    {key_before_its_row, "nodes", "before its row"},
    {key_of_the_next_row, "nodes", "belongs into it"},
    {cut_key_of_another_size, "nodes", "key is malformed"},
    {cut_rows_in_wrong_order, "nodes", "not in order"},
    {cut_key_above_its_keys, "nodes", "before its row"},
    {name_twice, "nodes", "twice"},
    {name_outside, "nodes", "name is malformed"},
    {wrong_count, "nodes", "counts 2 children"},
    {no_child, "nodes", "counts 0 children"},
    {wrong_unused, "nodes", "of the cold part"},
    {cold_outside, "nodes", "node is malformed"},
    {empty_children, "nodes", "children without a child"},
    {malformed_utf8, "nodes", "not UTF-8"},
    {server_value, "nodes", "server value"},
    {wrong_checksum, "nodes", "checksum"},
    {number_never_given, "nodes", "never given"},
    {child_beside_a_root, "nodes", "beside a root"},
    {no_root, "nodes", "root is missing"},
    {root_in_a_location, "nodes", "empty key"},
    {too_deep, "nodes", "too deep"},
    {discarded_with_a_longer_key, "nodes", "key is malformed"},
    {discarded_with_a_value, "nodes", "key is malformed"},
    {discarded_never_given, "nodes", "never given"},
    {discarded_and_in_use, "nodes", "referred to twice"},
    {keys_without_their_query, "nodes", "nothing refers to the location"},
    {no_index, "node_queries", "index does not mention it"},
    {index_without_a_query, "node_queries", "indexes mention"},
    {other_kind_in_the_index, "node_queries", "index does not mention it"},
    {malformed_path, "node_queries", "path is malformed"},
    {unknown_flag, "node_queries", "flag is unknown"},
    {keys_never_given, "node_queries", "never given"},
    {query_of_no_tree, "node_queries", "no tree has the number 77"},
    {query_with_the_id_of_a_sweep, "node_queries", "id of a sweep"},
    {sweep_with_keys, "node_queries", "sweep has tracked keys"},
    {sweep_at_a_malformed_place, "node_queries", "goes on is malformed"},
    {sweep_never_made, "node_queries", "never given"},
    {sweep_not_in_the_index, "node_queries", "index does not mention it"},
    {tracked_key_is_no_truth, "node_queries", "tracked keys are malformed"},
    {short_query, "node_queries", "query is malformed"},
    {short_query_key, "node_queries", "key is malformed"},
    {query_checksum, "node_queries", "checksum"},
    {query_counter, "catalog", "tracked queries"},
    {no_entry_in_the_log, "catalog", "LRU log"},
    {write_of_an_unknown_kind, "node_writes", "key is malformed"},
    {write_without_an_id, "node_writes", "key is malformed"},
    {write_of_no_tree, "node_writes", "no tree has the number 77"},
    {write_without_a_time, "node_writes", "write is malformed"},
    {write_above_the_highest, "node_writes", "above the highest"},
    {name_of_another_number, "catalog", "leads to another number"},
    {tree_never_given, "catalog", "never given"},
    {name_without_a_number, "catalog", "trees by name"},
    {highest_id_of_no_tree, "catalog", "no tree has the number 77"},
    {bytes_of_nodes, "catalog", "bytes of nodes"},
    {rows_of_nodes, "catalog", "rows of nodes"},
    {bytes_of_writes, "catalog", "bytes of mutations"},
};

static void every_invariant_of_trees_is_checked(void) {
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        world w;
        problems found = {breaks[i].table, breaks[i].message, false, ""};
        larder_check_report report = {.struct_bytes = sizeof report};
        begin(&w);
        breaks[i].break_it(&w);
        w.txn->changed = true;
        store_commit(w.txn);
        const larder_txn *txn = store_read(w.env);
        CHECK_STATUS(larder_check(txn, note, NULL, &found, &report, NULL), LARDER_E_CORRUPT);
        CHECK_NOTE(found.is_found, "break %zu: \"%s\" is not among:\n%s", i, breaks[i].message,
                   found.all);
        larder_txn_end_read(txn);
        store_close(w.env);
    }
}

static const test_case cases[] = {
    {"every invariant of trees is checked", every_invariant_of_trees_is_checked},
};
TEST_SUITE(check_nodes, cases);

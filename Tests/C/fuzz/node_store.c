/*
 * node_store.c - fuzz target: every call on a tree whose rows hold any bytes.
 *
 *   0      options: 1 evicts, 2 with queries; from bit 2 on where is written, and how much
 *   1..2   size of the first row, little-endian
 *   then   the row of the tree's root, and the only row of a location that it may refer to
 *
 * Checksums fit. Each call ends with a status; nothing is read outside of the rows.
 */
#include "node_damage.h"
#include "nodes/location.h"
#include "require.h"

enum { BELOW = 3, REFERENCES_MAX = 20 }; /* the location after those of the tree */

static const char *const paths[] = {"", "a", "b", "a/b", "17", "long", "a/b/c"};
enum { PATHS = sizeof paths / sizeof paths[0] };

static larder_env *env;
static uint64_t tree;
static larder_node_builder *builder;

static larder_bytes text(const char *data) { return larder__bytes(data, strlen(data)); }

static void open_store(void) {
    larder_txn *txn;
    env = require_tree(&tree);
    REQUIRE(tree + 2 == BELOW);
    REQUIRE(larder_txn_begin_write(env, &txn, NULL) == LARDER_OK);
    txn->counters.next_location = BELOW;
    txn->changed = true;
    REQUIRE(larder_txn_commit(txn, NULL) == LARDER_OK);
    REQUIRE(larder_node_builder_create(NULL, &builder, NULL) == LARDER_OK);
}

/* ---- rows ---- */

typedef struct references {
    int count;
    bool is_below; /* of the second row: it has none */
    bool is_tame;
} references;

static int32_t note_reference(void *context, uint64_t location, larder_error *error) {
    references *r = context;
    (void)error;
    r->is_tame = r->is_tame && !r->is_below && location >= BELOW && ++r->count < REFERENCES_MAX;
    return LARDER_OK;
}

/* Whether no location refers to itself: following such references takes any time. */
static bool is_tame(const larder_txn *txn, larder_bytes key, bool is_below) {
    larder__segment segment;
    larder_bytes row;
    references r = {.is_below = is_below, .is_tame = true};
    if (larder__table_get(txn, LARDER__NODES, key, &row, NULL) != LARDER_OK) return true;
    if (larder__segment_open(txn, key, row, &segment, NULL) == LARDER_OK)
        (void)larder__segment_references(&segment, note_reference, &r, NULL);
    larder__segment_close(&segment);
    return r.is_tame;
}

static bool put_rows(larder_txn *txn, larder_bytes root, larder_bytes below) {
    larder__key keys[2];
    larder__location_key(&keys[0], tree);
    larder__location_key(&keys[1], BELOW);
    REQUIRE(node_damage_put(txn, larder__key_bytes(&keys[0]), root) == LARDER_OK);
    if (below.size_bytes > 0)
        REQUIRE(node_damage_put(txn, larder__key_bytes(&keys[1]), below) == LARDER_OK);
    txn->changed = true;
    return is_tame(txn, larder__key_bytes(&keys[0]), false) &&
           is_tame(txn, larder__key_bytes(&keys[1]), true);
}

/* ---- calls ---- */

/* What comes back is a node. */
static void look(int32_t status) {
    larder_bytes encoded;
    REQUIRE(larder_node_builder_finish(builder, &encoded, NULL) == LARDER_OK);
    if (status < 0) REQUIRE(encoded.size_bytes == 0);
    const uint8_t *begin = larder__begin(encoded), *end = begin + encoded.size_bytes;
    if (encoded.size_bytes > 0) REQUIRE(larder__node_end(LARDER__WORKING, begin, end) == end);
}

static void read_path(const larder_txn *txn, larder_bytes path) {
    larder_bytes keys[] = {text("a"), text("17"), text("b")};
    larder_usage usage;
    int64_t count;
    look(larder_node_read(txn, tree, path, builder, NULL));
    look(larder_node_read_children(txn, tree, path, keys, 3, builder, NULL));
    (void)larder_node_count(txn, tree, path, &count, NULL);
    (void)larder_node_usage(txn, tree, path, &usage, NULL);
    for (int backwards = 0; backwards < 2; backwards++) {
        larder_node_page page = {.struct_bytes = sizeof page,
                                 .after = text("0"),
                                 .backwards = backwards,
                                 .keys_only = backwards,
                                 .max_count = 3};
        look(larder_node_read_page(txn, tree, path, &page, builder, NULL));
    }
    for (int index = 0; index < 8; index++) {
        larder_node_window window = {.struct_bytes = sizeof window,
                                     .index = index % 4,
                                     .from_end = index / 4,
                                     .index_path = text("a/b"),
                                     .limit = 2 * (index / 4)};
        window.start.given = 1;
        window.start.key = text("-5");
        window.start.value.type = LARDER_NODE_INTEGER;
        look(larder_node_read_window(txn, tree, path, &window, builder, NULL));
    }
}

/* With an index so large that it has a location of its own. */
static void put_queries(larder_txn *txn) {
    larder_bytes key = text("17");
    for (int id = 1; id < 300; id++) {
        larder_node_query query = {.struct_bytes = sizeof query,
                                   .query_id = id,
                                   .flags = LARDER_NODE_QUERY_KEYED,
                                   .path = text(id == 1 ? "a" : "far/away")};
        (void)larder_node_query_put(txn, tree, &query, NULL);
    }
    (void)larder_node_query_change_keys(txn, tree, 1, NULL, 0, &key, 1, NULL);
}

static void write_paths(larder_txn *txn, uint8_t choice) {
    static const uint8_t leaf[] = {LARDER_NODE_INTEGER, 14};
    larder_node_change changes[] = {{text("a"), larder__bytes(leaf, sizeof leaf)},
                                    {text("long"), larder__bytes(leaf, sizeof leaf)},
                                    {text("b"), larder__bytes(NULL, 0)}};
    size_t count = choice % 2 == 0 ? 1 : 3;
    (void)larder_node_merge(txn, tree, text(paths[choice % PATHS]), changes, count, NULL);
}

/* In transactions of its own. */
static void evict(void) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    for (int step = 0; step < 4; step++)
        if (larder_lru_step(env, 0, 10, 0, &result, NULL) != LARDER_MORE) return;
}

/* The check refuses transactions with changes, which these rows are not to count as. */
static void read_all(larder_txn *txn) {
    larder_check_report report = {.struct_bytes = sizeof report};
    for (size_t i = 0; i < PATHS; i++)
        read_path(txn, text(paths[i]));
    txn->changed = false;
    (void)larder_check(txn, NULL, NULL, NULL, &report, NULL);
}

static void run(larder_bytes root, larder_bytes below, uint8_t options) {
    larder_txn *txn;
    bool evicts = (options & 1) != 0;
    REQUIRE(larder_txn_begin_write(env, &txn, NULL) == LARDER_OK);
    if (put_rows(txn, root, below)) {
        read_all(txn);
        txn->changed = true;
        if ((options & 2) != 0) put_queries(txn);
        write_paths(txn, options >> 2);
        if (!evicts) read_all(txn);
    } else {
        evicts = false;
    }
    if (evicts && larder_txn_commit(txn, NULL) == LARDER_OK)
        evict();
    else if (!evicts)
        larder_txn_abort(txn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    if (env == NULL) open_store();
    size_t first = (size_t)(data[1] | data[2] << 8) % (size - 2);
    larder_bytes root = larder__bytes(data + 3, first);
    larder_bytes below = larder__bytes(data + 3 + first, size - 3 - first);
    run(root, below, data[0]);
    if ((data[0] & 1) == 0) return 0; /* nothing was committed */
    larder_node_builder_close(builder);
    REQUIRE(larder_env_close(env, NULL) == LARDER_OK);
    REQUIRE(larder_live_handle_count() == 0);
    env = NULL;
    return 0;
}

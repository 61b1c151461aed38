/*
 * check_nodes.c - trees: their rows, what rows refer to, tracked queries, pending writes. See
 * check.c.
 *
 * Every location is referred to once: by a node in another row, as the root of a tree or its index,
 * by the query whose tracked keys it holds, or by the list of what is to be freed, whose rows come
 * first and are only asked to be sound. Numbers of locations are kept as items (8, big-endian).
 */
#include "check.h"
#include "nodes/node_query.h"

#include <stdio.h>

#define BAD_KEY "the key is malformed"

static int32_t no_memory(larder__audit *c) {
    return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check nodes");
}

static bool add_number(larder__items *items, uint64_t number) {
    uint8_t bytes[8];
    larder__store64_big(bytes, number);
    return larder__items_add(items, larder__bytes(bytes, sizeof bytes), 0);
}

static uint64_t number_at(const larder__items *items, size_t position) {
    return larder__load64_big(larder__items_get(items, position).data);
}

/* In sorted items. */
static bool has_number(const larder__items *items, uint64_t number) {
    size_t low = 0, high = larder__items_count(items);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (number_at(items, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < larder__items_count(items) && number_at(items, low) == number;
}

void larder__audit_nodes_begin(larder__audit *c) {
    larder__audit_nodes *n = &c->nodes;
    const larder_allocator *allocator = &c->txn->env->allocator;
    larder__items_init(&n->seen, allocator);
    larder__items_init(&n->referred, allocator);
    larder__items_init(&n->linked, allocator);
    larder__items_init(&n->discarded, allocator);
    n->node.allocator = allocator;
}

void larder__audit_nodes_free(larder__audit *c) {
    larder__items_free(&c->nodes.seen);
    larder__items_free(&c->nodes.referred);
    larder__items_free(&c->nodes.linked);
    larder__items_free(&c->nodes.discarded);
    larder__buffer_free(&c->nodes.node);
}

/* ---- rows ---- */

/* Called for a reference in a node: TRUE stands for it, so that the rest can be validated. */
static int32_t note_reference(void *context, larder_bytes priority, uint64_t location,
                              uint32_t depth, larder__buffer *out, larder_error *error) {
    larder__audit *c = context;
    larder_leaf leaf = {.type = LARDER_NODE_TRUE};
    (void)depth;
    if (add_number(&c->nodes.referred, location) && add_number(&c->nodes.linked, location) &&
        larder__append_leaf(out, &leaf, priority))
        return LARDER_OK;
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to check nodes");
}

/* A child of a row: its place in the order, its key, its node. */
static int32_t check_child(larder__audit *c, larder_bytes key, larder_bytes separator,
                           larder__segment *segment, const larder__segment_child *child) {
    larder__audit_nodes *n = &c->nodes;
    larder_error error = {0};
    larder_bytes form = larder__form_bytes(&child->form), text;
    larder__form again;
    char scratch[LARDER__FORM_MAX];
    size_t least =
        separator.size_bytes < LARDER__SEPARATOR_MAX ? separator.size_bytes : LARDER__SEPARATOR_MAX;
    if (n->has_last && larder__bytes_compare(larder__form_bytes(&n->last), form) >= 0)
        return larder__audit_report(c, LARDER__NODES, key, "keys are not in order");
    if (larder__bytes_compare(form, larder__bytes(separator.data, least)) < 0)
        return larder__audit_report(c, LARDER__NODES, key, "a key lies before its row");
    n->last = child->form;
    n->has_last = true;
    if (!larder__form_decode(form, scratch, &text))
        return larder__audit_report(c, LARDER__NODES, key, "a child's key is malformed");
    larder__form_encode(text, &again);
    if (!larder__bytes_equal(form, larder__form_bytes(&again)))
        return larder__audit_report(c, LARDER__NODES, key, "a child's key has another form");
    n->node.size_bytes = 0;
    larder__copy_rules rules = {.reference = note_reference, .context = c};
    int32_t status = larder__stored_copy(segment, child->node, 0, &rules, &n->node, &error);
    uint32_t depth;
    if (status == LARDER_OK)
        status = larder__node_check(larder__bytes(n->node.data, n->node.size_bytes),
                                    LARDER__CHECK_RESERVED_KEYS, &depth, &error);
    if (status == LARDER_E_INVALID_NAME) status = LARDER_E_CORRUPT;
    return larder__audit_damage(c, LARDER__NODES, key, status, &error);
}

static int32_t check_row(larder__audit *c, larder_bytes key, larder_bytes separator,
                         larder__segment *segment) {
    larder__segment_child child;
    larder_error error = {0};
    uint64_t count = 0;
    larder__segment_rewind(&child);
    for (;;) {
        int32_t status = larder__segment_next(segment, &child, &error);
        if (status == LARDER_END) break;
        if (status == LARDER_OK) status = larder__segment_key(segment, &child, &error);
        if (status != LARDER_OK) return larder__audit_damage(c, LARDER__NODES, key, status, &error);
        count++;
        status = check_child(c, key, separator, segment, &child);
        if (status != LARDER_OK) return status;
    }
    if (count == segment->child_count && count > 0) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODES, key, "the row counts %llu children and has %llu",
                                (unsigned long long)segment->child_count,
                                (unsigned long long)count);
}

static int32_t check_discarded(larder__audit *c, larder_bytes key, larder_bytes number,
                               larder_bytes value) {
    const uint8_t *at = larder__begin(number), *end = at + number.size_bytes;
    uint64_t location;
    if (!larder__key_read_number(&at, end, &location) || at != end || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__NODES, key, BAD_KEY);
    return add_number(&c->nodes.discarded, location) && add_number(&c->nodes.referred, location)
               ? LARDER_OK
               : no_memory(c);
}

/* The first row of a location. */
static int32_t begin_location(larder__audit *c, larder_bytes key, larder_bytes separator,
                              uint64_t location) {
    larder__audit_nodes *n = &c->nodes;
    if (n->location == 0 && !larder__items_sort(&n->discarded, 0)) return no_memory(c);
    n->location = location;
    n->has_last = false;
    if (!add_number(&n->seen, location)) return no_memory(c);
    if (location > (uint64_t)c->counters->next_location) {
        int32_t status = larder__audit_report(c, LARDER__NODES, key, "the number was never given");
        if (status != LARDER_OK) return status;
    }
    if (separator.size_bytes == 0 || has_number(&n->discarded, location)) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODES, key, "the location's first row is missing");
}

int32_t larder__audit_node(larder__audit *c, larder_bytes key, larder_bytes value) {
    uint64_t location;
    larder_bytes separator;
    larder__segment segment;
    larder_error error = {0};
    if (!larder__location_read_key(key, &location, &separator))
        return larder__audit_report(c, LARDER__NODES, key, BAD_KEY);
    if (location == 0) return check_discarded(c, key, separator, value);
    if (location != c->nodes.location) {
        int32_t status = begin_location(c, key, separator, location);
        if (status != LARDER_OK) return status;
    }
    int32_t status = larder__segment_open(c->txn, key, value, &segment, &error);
    if (status == LARDER_OK) {
        if (segment.dictionary != 0 && segment.dictionary < LARDER__DICTIONARY_MAX)
            c->dictionary_uses[segment.dictionary]++;
        status = check_row(c, key, separator, &segment);
    } else {
        status = larder__audit_damage(c, LARDER__NODES, key, status, &error);
    }
    larder__segment_close(&segment);
    return status;
}

/* ---- trees ---- */

int32_t larder__audit_tree(larder__audit *c, larder_bytes key, uint64_t tree, larder_bytes name) {
    uint64_t found = 0;
    larder_error error = {0};
    int32_t status = larder_node_tree_find(c->txn, name, &found, &error);
    if (status < 0) return larder__audit_damage(c, LARDER__CATALOG, key, status, &error);
    if (!add_number(&c->nodes.referred, tree) ||
        !add_number(&c->nodes.referred, larder__index_of(tree)))
        return no_memory(c);
    if (status == LARDER_OK && found == tree) return LARDER_OK;
    return larder__audit_report(c, LARDER__CATALOG, key, "the tree leads to another number");
}

static int32_t check_tree(larder__audit *c, larder__table table, larder_bytes key, uint64_t tree) {
    larder_error error = {0};
    int32_t status = larder__tree_check(c->txn, tree, &error);
    if (status == LARDER_E_INVALID_ARGUMENT)
        return larder__audit_report(c, table, key, "%s", error.message);
    return larder__audit_damage(c, table, key, status, &error);
}

/* ---- tracked queries ---- */

/* Whether the index has the query or the sweep, with its flags or its id. */
static int32_t check_index(larder__audit *c, larder_bytes key, uint64_t tree, uint64_t id,
                           const larder__query_row *row) {
    larder__place place;
    larder_leaf leaf = {0};
    larder_error error = {0};
    char name[32];
    bool is_made = id >= LARDER__SWEEP_ID;
    int64_t expected = is_made ? (int64_t)id : (int64_t)(row->flags & LARDER_NODE_QUERY_KEYED);
    snprintf(name, sizeof name, "%llu", (unsigned long long)id);
    int32_t status = larder__place_find(c->txn, larder__index_of(tree), row->path, &place, &error);
    if (status == LARDER_OK)
        status = larder__place_descend(
            &place, is_made ? larder__index_sweep : larder__index_queries, &error);
    if (status == LARDER_OK && !is_made)
        status = larder__place_descend(&place, larder__bytes(name, strlen(name)), &error);
    if (status == LARDER_OK)
        status = larder__stored_leaf(&place.segment, &place.head, larder__place_end(&place), &leaf,
                                     &error);
    larder__place_close(&place);
    if (status < 0) return larder__audit_damage(c, LARDER__NODE_QUERIES, key, status, &error);
    if (status == LARDER_OK && leaf.type == LARDER_NODE_INTEGER && leaf.integer == expected)
        return LARDER_OK;
    return larder__audit_report(c, LARDER__NODE_QUERIES, key, "the index does not mention it");
}

int32_t larder__audit_node_query(larder__audit *c, larder_bytes key, larder_bytes value) {
    uint64_t tree, id;
    uint32_t depth;
    larder_bytes payload;
    larder__query_row row;
    larder_error error = {0};
    if (!larder__query_read_key(key, &tree, &id) || id == 0)
        return larder__audit_report(c, LARDER__NODE_QUERIES, key, BAD_KEY);
    int32_t status = check_tree(c, LARDER__NODE_QUERIES, key, tree);
    if (status != LARDER_OK) return status;
    status = larder__unseal(c->txn, LARDER__NODE_QUERIES, key, value, &payload, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__NODE_QUERIES, key, status, &error);
    if (!larder__query_parse(payload, &row) ||
        larder__node_path_check(row.path, false, &depth, &error) != LARDER_OK ||
        (id >= LARDER__SWEEP_ID && row.kind != LARDER__SWEEP_ROW))
        return larder__audit_report(c, LARDER__NODE_QUERIES, key, "the query is malformed");
    if (row.kind == LARDER__QUERY_ROW) c->report->tracked_query_count++;
    if (row.keys != 0) {
        if (!add_number(&c->nodes.referred, row.keys)) return no_memory(c);
        if (row.kind == LARDER__SWEEP_ROW)
            return larder__audit_report(c, LARDER__NODE_QUERIES, key, "a sweep has tracked keys");
    }
    if (row.kind == LARDER__SWEEP_ROW && id < LARDER__SWEEP_ID) return LARDER_OK;
    c->nodes.index_entries++;
    return check_index(c, key, tree, id, &row);
}

/* Leaves of an index, each of which stands for one row. */
static int32_t count_leaves(larder__audit *c, larder_bytes encoded, int64_t *count) {
    larder_node node;
    larder_bytes key, child;
    int32_t status = larder_node_open(encoded, &node, c->error);
    if (status != LARDER_OK) return status;
    if (node.type != LARDER_NODE_CHILDREN) {
        *count += node.type != LARDER_NODE_EMPTY;
        return LARDER_OK;
    }
    while ((status = larder_node_take_child(&node.children, &key, &child, c->error)) == LARDER_OK) {
        status = count_leaves(c, child, count);
        if (status != LARDER_OK) return status;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

static int32_t count_index(larder__audit *c, uint64_t tree, int64_t *count) {
    larder__place place;
    larder_error error = {0};
    larder__buffer *out = &c->nodes.node;
    out->size_bytes = 0;
    int32_t status =
        larder__place_find(c->txn, larder__index_of(tree), larder__bytes(NULL, 0), &place, &error);
    if (status == LARDER_OK)
        status = larder__node_copy(c->txn, &place.segment, place.node, out, &error);
    larder__place_close(&place);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status != LARDER_OK) {
        larder__key key;
        larder__location_key(&key, larder__index_of(tree));
        return larder__audit_damage(c, LARDER__NODES, larder__key_bytes(&key), status, &error);
    }
    return count_leaves(c, larder__bytes(out->data, out->size_bytes), count);
}

/* ---- pending writes ---- */

int32_t larder__audit_node_write(larder__audit *c, larder_bytes key, larder_bytes value) {
    const uint8_t *at = larder__begin(key), *end = at + key.size_bytes;
    uint64_t tree, id;
    larder_bytes payload;
    larder_time time;
    larder_error error = {0};
    if (!larder__key_read_number(&at, end, &tree) || at == end || *at > LARDER_NODE_WRITE_REFUSED)
        return larder__audit_report(c, LARDER__NODE_WRITES, key, BAD_KEY);
    int32_t kind = *at++;
    if (!larder__key_read_u64(&at, end, &id) || at != end || id == 0 || id > INT64_MAX)
        return larder__audit_report(c, LARDER__NODE_WRITES, key, BAD_KEY);
    int32_t status = check_tree(c, LARDER__NODE_WRITES, key, tree);
    if (status != LARDER_OK) return status;
    status = larder__unseal(c->txn, LARDER__NODE_WRITES, key, value, &payload, &error);
    int64_t highest = 0;
    if (status == LARDER_OK) status = larder_node_write_highest_id(c->txn, tree, &highest, &error);
    if (status != LARDER_OK)
        return larder__audit_damage(c, LARDER__NODE_WRITES, key, status, &error);
    if (payload.size_bytes < LARDER__TIME_BYTES || !larder__time_get(larder__begin(payload), &time))
        return larder__audit_report(c, LARDER__NODE_WRITES, key, "the write is malformed");
    if (kind == LARDER_NODE_WRITE_PENDING && (int64_t)id > highest)
        return larder__audit_report(c, LARDER__NODE_WRITES, key,
                                    "its id is above the highest ever given");
    return LARDER_OK;
}

/* ---- totals ---- */

static int32_t report_location(larder__audit *c, uint64_t location, const char *what) {
    larder__key key;
    larder__location_key(&key, location);
    return larder__audit_report(c, LARDER__NODES, larder__key_bytes(&key), "%s", what);
}

/* Rows of locations that nothing refers to; references to locations without rows. Holders may be
 * empty. */
static int32_t compare_locations(larder__audit *c) {
    larder__audit_nodes *n = &c->nodes;
    size_t all = larder__items_count(&n->referred);
    if (!larder__items_sort(&n->referred, 0) || !larder__items_sort(&n->seen, 0))
        return no_memory(c);
    int32_t status = LARDER_OK;
    if (larder__items_count(&n->referred) != all)
        status = report_location(c, 0, "a location is referred to twice");
    for (size_t i = 0; i < larder__items_count(&n->seen) && status == LARDER_OK; i++)
        if (!has_number(&n->referred, number_at(&n->seen, i)))
            status = report_location(c, number_at(&n->seen, i), "nothing refers to the location");
    for (size_t i = 0; i < larder__items_count(&n->linked) && status == LARDER_OK; i++)
        if (!has_number(&n->seen, number_at(&n->linked, i)))
            status = report_location(c, number_at(&n->linked, i), "the location has no row");
    return status;
}

int32_t larder__audit_nodes_end(larder__audit *c) {
    int64_t leaves = 0;
    uint64_t tree = 0;
    larder_bytes name;
    int32_t status = compare_locations(c);
    while (status == LARDER_OK) {
        larder_error error = {0};
        status = larder_node_tree_next(c->txn, tree, &tree, &name, &error);
        if (status == LARDER_OK)
            status = count_index(c, tree, &leaves);
        else if (status < 0)
            status =
                larder__audit_damage(c, LARDER__CATALOG, larder__bytes(NULL, 0), status, &error);
    }
    if (status != LARDER_END) return status;
    if (leaves == c->nodes.index_entries) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODE_QUERIES, larder__bytes(NULL, 0),
                                "indexes mention %lld queries, rows are %lld", (long long)leaves,
                                (long long)c->nodes.index_entries);
}

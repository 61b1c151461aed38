/*
 * check_nodes.c - the rows of trees and what they refer to. See check.c; for tracked queries and
 * pending writes check_queries.c.
 *
 * A location is mentioned once: by a node in another row, as the root of a tree or its index, by
 * the query whose tracked keys it holds, or by the list of what is to be freed. The rows of that
 * list come first; of the locations on it some first rows may be gone.
 *
 *     a row        its checksum; keys in order, in their only form, not before the row's separator
 *                  and behind it those before; nodes valid; names distinct; the counts of children
 *                  and of unused bytes right
 *     a location   its first row is there; it has the empty key, and no other, when a tree or a
 *                  query mentions it; it is not deeper than a path can be, nor within itself
 */
#include "check.h"
#include "nodes/location.h"
#include "nodes/node_query.h"

#define BAD_KEY "the key is malformed"

static int32_t no_memory(larder__audit *c) {
    return larder__fail(c->error, LARDER_E_NO_MEMORY, "no memory to check nodes");
}

/* ---- numbers of locations ---- */

static bool add_number(larder__items *items, uint64_t number) {
    uint8_t bytes[8];
    larder__store64_big(bytes, number);
    return larder__items_add(items, larder__bytes(bytes, sizeof bytes), 0);
}

static uint64_t number_at(const larder__items *items, size_t position) {
    return larder__load64_big(larder__items_get(items, position).data);
}

/* In sorted items: the one with a number; NULL for none. */
static const uint8_t *find_number(const larder__items *items, uint64_t number) {
    size_t low = 0, high = larder__items_count(items);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (number_at(items, middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == larder__items_count(items) || number_at(items, low) != number) return NULL;
    return larder__begin(larder__items_get(items, low));
}

void larder__audit_nodes_begin(larder__audit *c) {
    larder__audit_nodes *n = &c->nodes;
    const larder_allocator *allocator = &c->txn->env->allocator;
    larder__items_init(&n->seen, allocator);
    larder__items_init(&n->holders, allocator);
    larder__items_init(&n->linked, allocator);
    larder__items_init(&n->discarded, allocator);
    larder__items_init(&n->referred, allocator);
    n->node.allocator = allocator;
}

void larder__audit_nodes_free(larder__audit *c) {
    larder__items_free(&c->nodes.seen);
    larder__items_free(&c->nodes.holders);
    larder__items_free(&c->nodes.linked);
    larder__items_free(&c->nodes.discarded);
    larder__items_free(&c->nodes.referred);
    larder__buffer_free(&c->nodes.node);
}

bool larder__audit_holder(larder__audit *c, uint64_t location) {
    return add_number(&c->nodes.holders, location) && add_number(&c->nodes.referred, location);
}

/* ---- a child ---- */

/* Called for a reference in a node: TRUE stands for it, so that the rest can be validated. */
static int32_t note_reference(void *context, larder_bytes priority, uint64_t location,
                              uint32_t depth, larder__buffer *out, larder_error *error) {
    larder__audit *c = context;
    larder__audit_nodes *n = &c->nodes;
    larder_leaf leaf = {.type = LARDER_NODE_TRUE};
    uint8_t link[17];
    larder__store64_big(link, location);
    larder__store64_big(link + 8, n->location);
    link[16] = (uint8_t)(depth + (n->is_holder ? 0 : 1));
    if (larder__items_add(&n->linked, larder__bytes(link, sizeof link), 0) &&
        add_number(&n->referred, location) && larder__append_leaf(out, &leaf, priority))
        return LARDER_OK;
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to check nodes");
}

/* Adds what the child uses of the row's cold part. */
static int32_t add_cold_size(larder__audit *c, larder_bytes key, larder__segment *segment,
                             const larder__segment_child *child) {
    larder__audit_nodes *n = &c->nodes;
    larder__copy_rules rules = {.reference = larder__keep_reference, .keeps_cold = true};
    larder_error error = {0};
    if (segment->cold_bytes == 0) return LARDER_OK;
    n->node.size_bytes = 0;
    int32_t status = larder__stored_copy(segment, child->node, 0, &rules, &n->node, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__NODES, key, status, &error);
    n->cold_bytes += larder__cold_size(larder__bytes(n->node.data, n->node.size_bytes));
    return LARDER_OK;
}

static int32_t check_node(larder__audit *c, larder_bytes key, larder__segment *segment,
                          const larder__segment_child *child) {
    larder__audit_nodes *n = &c->nodes;
    larder__copy_rules rules = {.reference = note_reference, .context = c};
    larder_error error = {0};
    uint32_t depth = 0;
    n->node.size_bytes = 0;
    int32_t status = larder__stored_copy(segment, child->node, 0, &rules, &n->node, &error);
    if (status == LARDER_OK)
        status = larder__node_check(larder__bytes(n->node.data, n->node.size_bytes),
                                    LARDER__CHECK_RESERVED_KEYS, &depth, &error);
    if (status == LARDER_E_INVALID_NAME) status = LARDER_E_CORRUPT;
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__NODES, key, status, &error);
    if (!n->is_holder) depth++;
    if (depth > n->deepest) n->deepest = depth;
    return add_cold_size(c, key, segment, child);
}

static bool is_reserved(larder_bytes text) {
    return text.size_bytes == 2 && *larder__begin(text) == '.';
}

/* The fault of the key; NULL for none. */
static const char *check_key(const larder__audit_nodes *n, larder_bytes form) {
    larder__form again;
    larder_bytes text;
    char scratch[LARDER__FORM_MAX];
    if (n->is_holder && n->has_last) return "something lies beside a root";
    if (n->has_last && larder__bytes_compare(larder__form_bytes(&n->last), form) >= 0)
        return "keys are not in order";
    if (form.size_bytes == 0) return NULL;
    if (!larder__form_decode(form, scratch, &text)) return "a child's key is malformed";
    larder__form_encode(text, &again);
    if (!larder__bytes_equal(form, larder__form_bytes(&again)))
        return "a child's key has another form";
    if (larder__node_key_check(text, NULL) != LARDER_OK && !is_reserved(text))
        return "a child's key is none that a caller may give";
    return NULL;
}

/* ---- a row ---- */

static int32_t check_child(larder__audit *c, larder_bytes key, larder__segment *segment,
                           const larder__segment_child *child) {
    larder__audit_nodes *n = &c->nodes;
    larder_bytes form = larder__form_bytes(&child->form);
    const char *what = check_key(n, form);
    if (what != NULL) return larder__audit_report(c, LARDER__NODES, key, "%s", what);
    if (!n->has_last) n->is_holder = form.size_bytes == 0;
    n->last = child->form;
    n->has_last = true;
    return check_node(c, key, segment, child);
}

/* The separator lies above the keys of the rows before and not above the first of this one. */
static int32_t check_separator(larder__audit *c, larder_bytes key, larder_bytes separator,
                               larder_bytes first) {
    larder__audit_nodes *n = &c->nodes;
    bool is_cut = separator.size_bytes > LARDER__SEPARATOR_MAX;
    larder_bytes text =
        larder__bytes(separator.data, is_cut ? LARDER__SEPARATOR_MAX : separator.size_bytes);
    if (larder__bytes_compare(first, text) < 0)
        return larder__audit_report(c, LARDER__NODES, key, "a key lies before its row");
    if (!n->has_last) return LARDER_OK;
    /* Rows with the same cut bytes differ in their first keys. */
    larder_bytes last = larder__form_bytes(&n->last);
    if (larder__bytes_compare(last, text) < 0 || (is_cut && larder__bytes_has_prefix(last, text)))
        return LARDER_OK;
    return larder__audit_report(c, LARDER__NODES, key, "a key before the row belongs into it");
}

static int32_t check_names(larder__audit *c, larder_bytes key, larder__segment *segment) {
    larder_error error = {0};
    const uint8_t *names = larder__begin(segment->names);
    int32_t status = larder__segment_places(segment, &error);
    if (status != LARDER_OK) return larder__audit_damage(c, LARDER__NODES, key, status, &error);
    for (uint32_t i = 0; i < segment->name_count; i++) {
        const uint8_t *name = names + segment->name_at[i];
        for (uint32_t k = 0; k < i; k++)
            if (memcmp(names + segment->name_at[k], name, 1 + (size_t)*name) == 0)
                return larder__audit_report(c, LARDER__NODES, key, "a name is there twice");
    }
    return LARDER_OK;
}

static int32_t check_row(larder__audit *c, larder_bytes key, larder_bytes separator,
                         larder__segment *segment) {
    larder__segment_child child;
    larder_error error = {0};
    uint64_t count = 0;
    int32_t status = check_names(c, key, segment);
    if (status != LARDER_OK) return status;
    c->nodes.cold_bytes = 0;
    larder__segment_rewind(&child);
    for (;;) {
        status = larder__segment_next(segment, &child, &error);
        if (status == LARDER_END) break;
        if (status == LARDER_OK) status = larder__segment_key(segment, &child, &error);
        if (status != LARDER_OK) return larder__audit_damage(c, LARDER__NODES, key, status, &error);
        if (count++ == 0)
            status = check_separator(c, key, separator, larder__form_bytes(&child.form));
        if (status == LARDER_OK) status = check_child(c, key, segment, &child);
        if (status != LARDER_OK) return status;
    }
    int64_t used = (int64_t)segment->cold_bytes - (int64_t)segment->unused_bytes;
    if (c->nodes.cold_bytes != used)
        return larder__audit_report(c, LARDER__NODES, key,
                                    "children use %lld bytes of the cold part, not %lld",
                                    (long long)c->nodes.cold_bytes, (long long)used);
    if (count == segment->child_count && count > 0) return LARDER_OK;
    return larder__audit_report(c, LARDER__NODES, key, "the row counts %llu children and has %llu",
                                (unsigned long long)segment->child_count,
                                (unsigned long long)count);
}

/* ---- locations ---- */

static int32_t check_discarded(larder__audit *c, larder_bytes key, larder_bytes number,
                               larder_bytes value) {
    const uint8_t *at = larder__begin(number), *end = at + number.size_bytes;
    uint64_t location;
    if (!larder__key_read_number(&at, end, &location) || at != end || value.size_bytes != 0)
        return larder__audit_report(c, LARDER__NODES, key, BAD_KEY);
    if (location == 0 || location > (uint64_t)c->counters->next_location)
        return larder__audit_report(c, LARDER__NODES, key, "the number was never given");
    return add_number(&c->nodes.discarded, location) && add_number(&c->nodes.referred, location)
               ? LARDER_OK
               : no_memory(c);
}

/* Every row of the location was read. */
static int32_t end_location(larder__audit *c) {
    larder__audit_nodes *n = &c->nodes;
    uint8_t seen[10];
    if (n->location == 0) return LARDER_OK;
    larder__store64_big(seen, n->location);
    seen[8] = n->is_holder;
    seen[9] = (uint8_t)n->deepest;
    return larder__items_add(&n->seen, larder__bytes(seen, sizeof seen), 0) ? LARDER_OK
                                                                            : no_memory(c);
}

/* The first row of a location. */
static int32_t begin_location(larder__audit *c, larder_bytes key, larder_bytes separator,
                              uint64_t location) {
    larder__audit_nodes *n = &c->nodes;
    if (n->location == 0 && !larder__items_sort(&n->discarded, 0)) return no_memory(c);
    int32_t status = end_location(c);
    n->location = location;
    n->has_last = n->is_holder = false;
    n->deepest = 0;
    if (status == LARDER_OK && location > (uint64_t)c->counters->next_location)
        status = larder__audit_report(c, LARDER__NODES, key, "the number was never given");
    if (status != LARDER_OK || separator.size_bytes == 0 ||
        find_number(&n->discarded, location) != NULL)
        return status;
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

/* ---- totals ---- */

static int32_t report_location(larder__audit *c, uint64_t location, const char *what) {
    larder__key key;
    larder__location_key(&key, location);
    return larder__audit_report(c, LARDER__NODES, larder__key_bytes(&key), "%s", what);
}

/* Follows the nodes that lead to a location up to a root, and adds their keys up. */
static const char *check_depth(const larder__audit_nodes *n, uint64_t location, uint32_t deepest) {
    const uint8_t *link;
    uint32_t depth = deepest;
    for (int steps = 0; (link = find_number(&n->linked, location)) != NULL; steps++) {
        if (steps > LARDER__DEPTH_MAX) return "the location lies within itself";
        depth += link[16];
        location = larder__load64_big(link + 8);
    }
    return depth > LARDER__DEPTH_MAX ? "the location is too deep" : NULL;
}

/* A location that has rows. */
static const char *check_location(const larder__audit_nodes *n, const uint8_t *seen) {
    uint64_t location = larder__load64_big(seen);
    if (find_number(&n->referred, location) == NULL) return "nothing refers to the location";
    bool is_root = find_number(&n->holders, location) != NULL;
    if (is_root && seen[8] == 0) return "a root is missing";
    if (!is_root && seen[8] != 0 && find_number(&n->linked, location) != NULL)
        return "the location has an empty key";
    return check_depth(n, location, seen[9]);
}

/* Holders may be empty, and what is to be freed may have lost its rows. */
static int32_t compare_locations(larder__audit *c) {
    larder__audit_nodes *n = &c->nodes;
    size_t all = larder__items_count(&n->referred);
    if (!larder__items_sort(&n->referred, 0) || !larder__items_sort(&n->seen, 0) ||
        !larder__items_sort(&n->linked, 0) || !larder__items_sort(&n->holders, 0))
        return no_memory(c);
    int32_t status = LARDER_OK;
    if (larder__items_count(&n->referred) != all)
        status = report_location(c, 0, "a location is referred to twice");
    for (size_t i = 0; i < larder__items_count(&n->seen) && status == LARDER_OK; i++) {
        const char *what = check_location(n, larder__begin(larder__items_get(&n->seen, i)));
        if (what != NULL) status = report_location(c, number_at(&n->seen, i), what);
    }
    for (size_t i = 0; i < larder__items_count(&n->linked) && status == LARDER_OK; i++)
        if (find_number(&n->seen, number_at(&n->linked, i)) == NULL)
            status = report_location(c, number_at(&n->linked, i), "the location has no row");
    return status;
}

int32_t larder__audit_nodes_end(larder__audit *c) {
    int32_t status = end_location(c);
    return status == LARDER_OK ? compare_locations(c) : status;
}

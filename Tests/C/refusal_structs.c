/* refusal_structs.c - structs of larder.h with good contents, and what of them can be bad. */
#include "make.h"
#include "refusal_kit.h"
#include "store.h"

#define COPY(value) ((void *)(uintptr_t)make_copy((larder_bytes){&(value), sizeof(value)}).data)

/* ---- in ---- */

static void drop_log(void *context, int32_t level, const char *message) {
    (void)context;
    (void)level;
    (void)message;
}
static void fill_open_options(refusal_slot *slot) {
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_IN_MEMORY; /* else each call would wait for the disk */
    options.log = drop_log;
    slot->pointer = COPY(options);
}
static void *allocate(void *context, size_t size_bytes) {
    (void)context;
    return malloc(size_bytes);
}
static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}
static void fill_allocator(refusal_slot *slot) {
    larder_allocator allocator = {NULL, allocate, release};
    slot->pointer = COPY(allocator);
}
static void fill_info(refusal_slot *slot) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version.seconds = info.read_time.seconds = 5;
    slot->pointer = COPY(info);
}

static larder_scan_options options_of(uint32_t flags) {
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = flags;
    return options;
}
static void fill_id_options(refusal_slot *slot) {
    larder_scan_options options = options_of(LARDER_SCAN_LOCAL_VIEW);
    options.user = make_copy(test_text("user"));
    options.start = make_copy(test_text("a"));
    options.end = make_copy(test_text("b"));
    slot->pointer = COPY(options);
}
static void fill_name_options(refusal_slot *slot) {
    larder_scan_options options = options_of(LARDER_SCAN_LOCAL_VIEW);
    options.user = make_copy(test_text("user"));
    options.start = make_copy(test_text("users/a"));
    options.end = make_copy(test_text("users/b"));
    slot->pointer = COPY(options);
}
static void fill_order_options(refusal_slot *slot) {
    larder_scan_options options = options_of(LARDER_SCAN_LOCAL_VIEW);
    options.user = make_copy(test_text("user"));
    options.start = make_order(make_integer(0), LARDER_ORDER_ASCENDING);
    options.end = make_order(make_integer(5), LARDER_ORDER_ASCENDING);
    slot->pointer = COPY(options);
}
static void fill_user_options(refusal_slot *slot) {
    larder_scan_options options = options_of(LARDER_SCAN_LOCAL_VIEW);
    options.user = make_copy(test_text("user"));
    slot->pointer = COPY(options);
}
static void fill_time_options(refusal_slot *slot) {
    larder_scan_options options = options_of(0);
    slot->pointer = COPY(options);
}

static void fill_field(refusal_slot *slot) {
    larder_field field;
    larder_field_init(&field, make_path("n"));
    slot->pointer = COPY(field);
}
static void fill_plain_record(refusal_slot *slot) {
    larder_record record = make_open(make_record(1, "n", make_integer(1)));
    slot->pointer = COPY(record);
}
static void fill_components(refusal_slot *slot) {
    double component = 1;
    slot->pointer = COPY(component);
}

static void one_of(refusal_slot *slot, larder_bytes bytes) { slot->pointer = COPY(bytes); }
static void fill_segments(refusal_slot *slot) { one_of(slot, make_copy(test_text("n"))); }
static void fill_mask(refusal_slot *slot) { one_of(slot, make_path("n")); }
static void fill_names(refusal_slot *slot) { one_of(slot, make_copy(test_text("users/b"))); }
static void fill_users(refusal_slot *slot) { one_of(slot, make_copy(test_text("a"))); }
static void fill_keys(refusal_slot *slot) { one_of(slot, make_copy(test_text("1"))); }
static void fill_children(refusal_slot *slot) { one_of(slot, make_hex("01 61 02")); }

static void fill_documents(refusal_slot *slot) {
    larder_mutation_document document = {.name = make_copy(test_text("users/a")),
                                         .base_version.seconds = 5};
    slot->pointer = COPY(document);
}
static void fill_target(refusal_slot *slot) {
    larder_target target = {.struct_bytes = sizeof target,
                            .target_id = 2,
                            .resume_token = make_copy(test_text("token")),
                            .canonical_id = make_copy(test_text("canonical")),
                            .query = make_copy(test_text("query"))};
    slot->pointer = COPY(target);
}
static void fill_index_segments(refusal_slot *slot) {
    larder_index_segment segment = {.field_path = make_path("m")};
    slot->pointer = COPY(segment);
}
static void fill_rules(refusal_slot *slot) {
    larder_cache_rule rule = {.struct_bytes = sizeof rule,
                              .scope = LARDER_RULE_COLLECTION,
                              .path = make_copy(test_text("users")),
                              .max_bytes = 1000,
                              .max_age_us = 1000};
    slot->pointer = COPY(rule);
}
static void fill_leaf(refusal_slot *slot) {
    larder_leaf leaf = {.type = LARDER_NODE_STRING, .text = make_copy(test_text("leaf"))};
    slot->pointer = COPY(leaf);
}
static void fill_page(refusal_slot *slot) {
    larder_node_page page = {.struct_bytes = sizeof page,
                             .after = make_copy(test_text("0")),
                             .before = make_copy(test_text("2")),
                             .max_count = 1,
                             .max_bytes = 1};
    slot->pointer = COPY(page);
}
static larder_node_bound bound(const char *text) {
    larder_node_bound bound = {
        .given = 1,
        .value = {.type = LARDER_NODE_STRING, .text = make_copy(test_text(text))},
        .key = make_copy(test_text("1"))};
    return bound;
}
static void fill_window(refusal_slot *slot) {
    larder_node_window window = {.struct_bytes = sizeof window,
                                 .index = LARDER_NODE_INDEX_PATH,
                                 .index_path = make_copy(test_text("1")),
                                 .limit = 1,
                                 .start = bound("a"),
                                 .end = bound("z")};
    slot->pointer = COPY(window);
}
static void fill_changes(refusal_slot *slot) {
    larder_node_change change = {make_copy(test_text("2")), make_hex("02")};
    slot->pointer = COPY(change);
}
static void fill_query(refusal_slot *slot) {
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = 2,
                               .path = make_copy(test_text("1")),
                               .payload = make_copy(test_text("payload"))};
    slot->pointer = COPY(query);
}
static void fill_node_write(refusal_slot *slot) {
    larder_node_write write = {
        .struct_bytes = sizeof write, .write_id = 2, .payload = make_copy(test_text("payload"))};
    slot->pointer = COPY(write);
}
static void fill_repack(refusal_slot *slot) {
    larder_repack repack = {0};
    slot->pointer = COPY(repack);
}

/* ---- out ---- */

#define OUT(word, type)                                                                            \
    static void fill_##word(refusal_slot *slot) {                                                  \
        type out = {.struct_bytes = sizeof out};                                                   \
        slot->pointer = COPY(out);                                                                 \
    }
OUT(opening, larder_opening)
OUT(stat, larder_stat)
OUT(salvage_report, larder_salvage_report)
OUT(check_report, larder_check_report)
OUT(pages_report, larder_pages_report)
OUT(target_out, larder_target)
OUT(query_out, larder_node_query)
OUT(write_out, larder_node_write)
OUT(rule_out, larder_cache_rule)
OUT(lru_result, larder_lru_result)

#define STRUCT(word, type, make)                                                                   \
    { word, REFUSAL_OBJECT, sizeof(type), make, NULL, false, false }
const refusal_kind refusal_structs[] = {
    STRUCT("open-options", larder_env_options, fill_open_options),
    STRUCT("allocator", larder_allocator, fill_allocator),
    STRUCT("info", larder_document_info, fill_info),
    STRUCT("id-options", larder_scan_options, fill_id_options),
    STRUCT("name-options", larder_scan_options, fill_name_options),
    STRUCT("order-options", larder_scan_options, fill_order_options),
    STRUCT("user-options", larder_scan_options, fill_user_options),
    STRUCT("time-options", larder_scan_options, fill_time_options),
    STRUCT("field", larder_field, fill_field),
    STRUCT("plain-record", larder_record, fill_plain_record),
    STRUCT("components", double, fill_components),
    STRUCT("segments", larder_bytes, fill_segments),
    STRUCT("mask", larder_bytes, fill_mask),
    STRUCT("names", larder_bytes, fill_names),
    STRUCT("users", larder_bytes, fill_users),
    STRUCT("keys", larder_bytes, fill_keys),
    STRUCT("children", larder_bytes, fill_children),
    STRUCT("documents", larder_mutation_document, fill_documents),
    STRUCT("target", larder_target, fill_target),
    STRUCT("index-segments", larder_index_segment, fill_index_segments),
    STRUCT("rules", larder_cache_rule, fill_rules),
    STRUCT("leaf", larder_leaf, fill_leaf),
    STRUCT("page", larder_node_page, fill_page),
    STRUCT("window", larder_node_window, fill_window),
    STRUCT("changes", larder_node_change, fill_changes),
    STRUCT("query", larder_node_query, fill_query),
    STRUCT("node-write", larder_node_write, fill_node_write),
    STRUCT("repack", larder_repack, fill_repack),
    STRUCT("opening", larder_opening, fill_opening),
    STRUCT("stat", larder_stat, fill_stat),
    STRUCT("salvage-report", larder_salvage_report, fill_salvage_report),
    STRUCT("check-report", larder_check_report, fill_check_report),
    STRUCT("pages-report", larder_pages_report, fill_pages_report),
    STRUCT("target-out", larder_target, fill_target_out),
    STRUCT("query-out", larder_node_query, fill_query_out),
    STRUCT("write-out", larder_node_write, fill_write_out),
    STRUCT("rule-out", larder_cache_rule, fill_rule_out),
    STRUCT("lru-result", larder_lru_result, fill_lru_result),
};
const size_t refusal_struct_count = sizeof refusal_structs / sizeof refusal_structs[0];

/* ---- members ---- */

#define MEMBER(word, type, member, class)                                                          \
    { word, #member, class, offsetof(type, member), sizeof(((type *)NULL)->member) }
#define NUMBER(word, type, member) MEMBER(word, type, member, REFUSAL_NUMBER)
#define BYTES(word, type, member) MEMBER(word, type, member, REFUSAL_BYTES)
#define TIME(word, type, member) MEMBER(word, type, member, REFUSAL_TIME)
#define REAL(word, type, member) MEMBER(word, type, member, REFUSAL_REAL)
#define ITEM(word, type, class)                                                                    \
    { word, "item", class, 0, sizeof(type) }

const refusal_member refusal_members[] = {
    NUMBER("open-options", larder_env_options, struct_bytes),
    NUMBER("open-options", larder_env_options, flags),
    NUMBER("open-options", larder_env_options, durability),
    NUMBER("open-options", larder_env_options, budget_bytes),
    NUMBER("open-options", larder_env_options, map_bytes),
    NUMBER("open-options", larder_env_options, max_readers),
    NUMBER("open-options", larder_env_options, max_depth),
    NUMBER("open-options", larder_env_options, max_document_bytes),
    NUMBER("open-options", larder_env_options, compression_level),
    NUMBER("open-options", larder_env_options, automatic_training),
    NUMBER("open-options", larder_env_options, cold_field_bytes),
    NUMBER("open-options", larder_env_options, manual_reclaim),
    NUMBER("open-options", larder_env_options, log_level),
    NUMBER("open-options", larder_env_options, recovery),
    NUMBER("open-options", larder_env_options, log_bytes),
    MEMBER("allocator", larder_allocator, allocate, REFUSAL_FUNCTION),
    MEMBER("allocator", larder_allocator, release, REFUSAL_FUNCTION),
    NUMBER("info", larder_document_info, struct_bytes),
    NUMBER("info", larder_document_info, state),
    NUMBER("info", larder_document_info, flags),
    TIME("info", larder_document_info, version),
    TIME("info", larder_document_info, create_time),
    TIME("info", larder_document_info, read_time),
    NUMBER("id-options", larder_scan_options, struct_bytes),
    NUMBER("id-options", larder_scan_options, flags),
    BYTES("id-options", larder_scan_options, user),
    BYTES("id-options", larder_scan_options, start),
    BYTES("id-options", larder_scan_options, end),
    NUMBER("name-options", larder_scan_options, flags),
    BYTES("name-options", larder_scan_options, user),
    BYTES("name-options", larder_scan_options, start),
    BYTES("name-options", larder_scan_options, end),
    NUMBER("order-options", larder_scan_options, flags),
    BYTES("order-options", larder_scan_options, user),
    BYTES("order-options", larder_scan_options, start),
    BYTES("order-options", larder_scan_options, end),
    NUMBER("user-options", larder_scan_options, flags),
    BYTES("user-options", larder_scan_options, user),
    BYTES("user-options", larder_scan_options, start),
    BYTES("user-options", larder_scan_options, end),
    NUMBER("time-options", larder_scan_options, flags),
    BYTES("time-options", larder_scan_options, start),
    BYTES("time-options", larder_scan_options, end),
    BYTES("field", larder_field, path),
    NUMBER("field", larder_field, shape),
    NUMBER("field", larder_field, position),
    ITEM("components", double, REFUSAL_REAL),
    ITEM("segments", larder_bytes, REFUSAL_BYTES),
    ITEM("mask", larder_bytes, REFUSAL_BYTES),
    ITEM("names", larder_bytes, REFUSAL_BYTES),
    ITEM("users", larder_bytes, REFUSAL_BYTES),
    ITEM("keys", larder_bytes, REFUSAL_BYTES),
    ITEM("children", larder_bytes, REFUSAL_BYTES),
    BYTES("documents", larder_mutation_document, name),
    TIME("documents", larder_mutation_document, base_version),
    BYTES("batch", larder_batch, documents),
    NUMBER("batch", larder_batch, document_count),
    NUMBER("target", larder_target, struct_bytes),
    NUMBER("target", larder_target, target_id),
    NUMBER("target", larder_target, flags),
    NUMBER("target", larder_target, sequence_number),
    TIME("target", larder_target, snapshot_version),
    TIME("target", larder_target, limbo_free_version),
    BYTES("target", larder_target, resume_token),
    BYTES("target", larder_target, canonical_id),
    BYTES("target", larder_target, query),
    BYTES("index-segments", larder_index_segment, field_path),
    NUMBER("index-segments", larder_index_segment, kind),
    NUMBER("index-segments", larder_index_segment, reserved),
    NUMBER("rules", larder_cache_rule, struct_bytes),
    NUMBER("rules", larder_cache_rule, scope),
    NUMBER("rules", larder_cache_rule, flags),
    BYTES("rules", larder_cache_rule, path),
    NUMBER("rules", larder_cache_rule, max_bytes),
    NUMBER("rules", larder_cache_rule, max_age_us),
    NUMBER("leaf", larder_leaf, type),
    NUMBER("leaf", larder_leaf, integer),
    REAL("leaf", larder_leaf, number),
    BYTES("leaf", larder_leaf, text),
    NUMBER("page", larder_node_page, struct_bytes),
    BYTES("page", larder_node_page, after),
    BYTES("page", larder_node_page, before),
    NUMBER("page", larder_node_page, backwards),
    NUMBER("page", larder_node_page, keys_only),
    NUMBER("page", larder_node_page, max_count),
    NUMBER("page", larder_node_page, max_bytes),
    NUMBER("window", larder_node_window, struct_bytes),
    NUMBER("window", larder_node_window, index),
    NUMBER("window", larder_node_window, from_end),
    BYTES("window", larder_node_window, index_path),
    NUMBER("window", larder_node_window, limit),
    NUMBER("window", larder_node_window, start.given),
    NUMBER("window", larder_node_window, start.exclusive),
    NUMBER("window", larder_node_window, start.value.type),
    BYTES("window", larder_node_window, start.value.text),
    NUMBER("window", larder_node_window, start.key_kind),
    BYTES("window", larder_node_window, start.key),
    NUMBER("window", larder_node_window, end.given),
    NUMBER("window", larder_node_window, end.exclusive),
    NUMBER("window", larder_node_window, end.value.type),
    BYTES("window", larder_node_window, end.value.text),
    NUMBER("window", larder_node_window, end.key_kind),
    BYTES("window", larder_node_window, end.key),
    BYTES("changes", larder_node_change, path),
    BYTES("changes", larder_node_change, node),
    NUMBER("query", larder_node_query, struct_bytes),
    NUMBER("query", larder_node_query, query_id),
    NUMBER("query", larder_node_query, flags),
    TIME("query", larder_node_query, last_use),
    BYTES("query", larder_node_query, path),
    BYTES("query", larder_node_query, payload),
    NUMBER("node-write", larder_node_write, struct_bytes),
    NUMBER("node-write", larder_node_write, write_id),
    TIME("node-write", larder_node_write, time),
    BYTES("node-write", larder_node_write, payload),
    NUMBER("repack", larder_repack, key_bytes),
    NUMBER("opening", larder_opening, struct_bytes),
    NUMBER("stat", larder_stat, struct_bytes),
    NUMBER("salvage-report", larder_salvage_report, struct_bytes),
    NUMBER("check-report", larder_check_report, struct_bytes),
    NUMBER("pages-report", larder_pages_report, struct_bytes),
    NUMBER("target-out", larder_target, struct_bytes),
    NUMBER("query-out", larder_node_query, struct_bytes),
    NUMBER("write-out", larder_node_write, struct_bytes),
    NUMBER("rule-out", larder_cache_rule, struct_bytes),
    NUMBER("lru-result", larder_lru_result, struct_bytes),
};
const size_t refusal_member_count = sizeof refusal_members / sizeof refusal_members[0];

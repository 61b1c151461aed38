/* refusal_kit.c - see refusal_kit.h. */
#include "refusal_kit.h"

#include "env_kit.h"
#include "make.h"
#include "store.h"

enum { BUFFER_BYTES = 65536, DOCUMENT_COUNT = 200, PIN_COUNT = 5000, MADE_MAX = 2048 };

static larder_env *store;
static const char *directory;
static char *closed_store;
static larder_bytes frame, zstd_frame;
static int path_count;

/* ---- what was made since the last end ---- */

static struct made {
    const refusal_kind *kind;
    void *pointer;
} made[MADE_MAX];
static size_t made_count;

static void keep(const refusal_kind *kind, void *pointer) {
    if (made_count == MADE_MAX) abort();
    made[made_count++] = (struct made){kind, pointer};
}

void refusal_forget(const void *handle) {
    for (size_t i = 0; i < made_count; i++)
        if (made[i].pointer == handle) made[i].pointer = NULL;
}

void refusal_end(void) {
    for (int pass = 0; pass < 2; pass++) /* what was opened, then what it was opened with */
        for (size_t i = made_count; i-- > 0;) {
            bool is_handle = made[i].kind->class == REFUSAL_HANDLE;
            if (is_handle == (pass == 1) && made[i].pointer != NULL && made[i].kind->end != NULL)
                made[i].kind->end(made[i].pointer);
        }
    made_count = 0;
    make_release();
}

/* In memory that lives until refusal_end. */
static void *copy_of(const void *data, size_t size) {
    return (void *)(uintptr_t)make_copy((larder_bytes){data, size}).data;
}

static void *zeros(size_t size) { return copy_of(store_fill(0, size), size); }

static larder_bytes text(const char *letters) { return make_copy(test_text(letters)); }

/* ---- the store ---- */

static void put_documents(larder_txn *txn) {
    char name[32];
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version.seconds = info.read_time.seconds = 5;
    for (int i = 0; i < DOCUMENT_COUNT; i++) {
        snprintf(name, sizeof name, "docs/%d", i);
        CHECK_OK(larder_document_put(txn, test_text(name), &info,
                                     store_record(i, store_fill('x', 200)), &test_error));
    }
    CHECK_OK(larder_document_put(txn, test_text("users/a"), &info,
                                 store_record(1, store_fill('y', 300)), &test_error));
}

static void put_queue(larder_txn *txn) {
    int64_t batch;
    larder_time time = {5, 0, 0};
    larder_mutation_document document = {test_text("users/a"), {0, 0, 0}};
    larder_target target = {.struct_bytes = sizeof target,
                            .target_id = 1,
                            .canonical_id = test_text("payload"),
                            .query = test_text("q")};
    CHECK_OK(larder_mutation_append(txn, test_text("user"), time, &document, 1,
                                    test_text("payload"), &batch, &test_error));
    CHECK_EQ(batch, 1);
    CHECK_OK(larder_overlay_put(txn, test_text("user"), test_text("users/a"), 1,
                                store_record(2, "overlay"), test_text("payload"), &test_error));
    CHECK_OK(larder_target_put(txn, &target, &test_error));
    CHECK_OK(larder_target_add_document(txn, 1, test_text("users/a"), &test_error));
    CHECK_OK(larder_named_put(txn, LARDER_NAMED_GLOBAL, test_text("n"), time, test_text("payload"),
                              &test_error));
}

static void put_indexes(larder_txn *txn) {
    uint32_t index;
    larder_index_segment segment = {.field_path = make_path("n")};
    larder_cache_rule rule = {.struct_bytes = sizeof rule,
                              .scope = LARDER_RULE_GROUP,
                              .path = test_text("docs"),
                              .max_age_us = INT64_MAX};
    CHECK_OK(larder_index_define(txn, test_text("users"), &segment, 1, &index, &test_error));
    CHECK_EQ(index, 1);
    CHECK(larder_index_backfill(txn, index, 0, 0, NULL, NULL, &test_error) >= 0);
    CHECK_OK(larder_index_define(txn, test_text("docs"), &segment, 1, &index, &test_error));
    CHECK_EQ(index, 2);
    CHECK_OK(larder_cache_rules_set(txn, &rule, 1, &test_error));
}

static void put_nodes(larder_txn *txn) {
    uint64_t tree;
    larder_bytes key = test_text("1");
    larder_node_query query = {.struct_bytes = sizeof query,
                               .query_id = 1,
                               .flags = LARDER_NODE_QUERY_PINNED | LARDER_NODE_QUERY_KEYED};
    larder_node_write write = {
        .struct_bytes = sizeof write, .write_id = 1, .payload = test_text("payload")};
    CHECK_OK(larder_node_tree_obtain(txn, test_text("1"), &tree, &test_error));
    CHECK_EQ(tree, 1);
    CHECK_OK(larder_node_query_put(txn, tree, &query, &test_error));
    CHECK_OK(larder_node_query_change_keys(txn, tree, 1, NULL, 0, &key, 1, &test_error));
    CHECK_OK(larder_node_put(txn, tree, test_text("1/1"), make_hex("02"), &test_error));
    CHECK_OK(larder_node_write_put(txn, tree, LARDER_NODE_WRITE_PENDING, &write, &test_error));
}

static void make_frames(void) {
    static uint8_t bytes[2][256];
    const larder_txn *txn = store_read(store);
    larder_compressor *compressor = NULL;
    CHECK_OK(larder_blob_compress(txn, test_text("payload"), bytes[0], sizeof bytes[0],
                                  &frame.size_bytes, &test_error));
    CHECK_OK(larder_compressor_create(&compressor, &test_error));
    CHECK_OK(larder_compressor_compress(compressor, test_text("payload"), bytes[1], sizeof bytes[1],
                                        &zstd_frame.size_bytes, &test_error));
    frame.data = bytes[0];
    zstd_frame.data = bytes[1];
    larder_compressor_close(compressor);
    larder_txn_end_read(txn);
}

void refusal_open(void) {
    static char path[1024];
    closed_store = path;
    directory = test_directory();
    snprintf(path, sizeof path, "%s", env_kit_join(directory, "closed"));
    larder_env *env = store_open_at(path);
    env_kit_put(env, "users/a");
    store_close(env);
    store = store_open();
    larder_txn *txn = store_write(store);
    put_documents(txn);
    put_queue(txn);
    put_indexes(txn);
    put_nodes(txn);
    store_commit(txn);
    /* More than are taken away, so that nothing is evicted that a call needs. */
    for (int i = 0; i < PIN_COUNT; i++) {
        CHECK_OK(larder_lru_pin(store, test_text("users/a"), &test_error));
        CHECK_OK(larder_lru_pin_target(store, 1, &test_error));
    }
    make_frames();
    make_release();
}

void refusal_close(void) { store_close(store); }

uint64_t refusal_commit_number(void) { return store_stat(store).commit_number; }

/* ---- handles ---- */

static const larder_txn *a_read(void) { return refusal_handle("read"); }

static void fill_env(refusal_slot *slot) { slot->pointer = store; }
static void fill_other_env(refusal_slot *slot) { slot->pointer = store_open(); }
static void end_env(void *pointer) { CHECK_OK(larder_env_close(pointer, &test_error)); }
static void fill_read(refusal_slot *slot) { slot->pointer = (void *)(uintptr_t)store_read(store); }
static void end_read(void *pointer) { larder_txn_end_read(pointer); }
static void fill_write(refusal_slot *slot) { slot->pointer = store_write(store); }
static void end_write(void *pointer) { larder_txn_abort(pointer); }

static void fill_scan(refusal_slot *slot) {
    larder_scan *scan = NULL;
    CHECK_OK(larder_scan_collection(a_read(), test_text("docs"), NULL, &scan, &test_error));
    slot->pointer = scan;
}
static void fill_collection_scan(refusal_slot *slot) {
    larder_scan *scan = NULL;
    CHECK_OK(larder_collection_scan(a_read(), (larder_bytes){NULL, 0}, &scan, &test_error));
    slot->pointer = scan;
}
static void fill_index_scan(refusal_slot *slot) {
    larder_scan *scan = NULL;
    larder_document document;
    CHECK_OK(larder_index_scan(a_read(), 1, (larder_bytes){NULL, 0}, NULL, &scan, &test_error));
    CHECK_OK(larder_scan_next(scan, &document, &test_error));
    slot->pointer = scan;
}
static void end_scan(void *pointer) { larder_scan_close(pointer); }

static void fill_set(refusal_slot *slot) {
    larder_set *set = NULL;
    CHECK_OK(larder_set_create(a_read(), &set, &test_error));
    slot->pointer = set;
}
static void end_set(void *pointer) { larder_set_close(pointer); }

static void fill_compressor(refusal_slot *slot) {
    larder_compressor *compressor = NULL;
    CHECK_OK(larder_compressor_create(&compressor, &test_error));
    slot->pointer = compressor;
}
static void end_compressor(void *pointer) { larder_compressor_close(pointer); }

static void fill_builder(refusal_slot *slot) {
    larder_builder *builder = NULL;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    slot->pointer = builder;
}
static void fill_map_builder(refusal_slot *slot) {
    fill_builder(slot);
    CHECK_OK(larder_builder_begin_map(slot->pointer, &test_error));
}
static void fill_array_builder(refusal_slot *slot) {
    fill_builder(slot);
    CHECK_OK(larder_builder_begin_array(slot->pointer, &test_error));
}
static void fill_whole_builder(refusal_slot *slot) {
    fill_map_builder(slot);
    CHECK_OK(larder_builder_end_map(slot->pointer, &test_error));
}
static void end_builder(void *pointer) { larder_builder_close(pointer); }

static void fill_node_builder(refusal_slot *slot) {
    larder_node_builder *builder = NULL;
    CHECK_OK(larder_node_builder_create(NULL, &builder, &test_error));
    slot->pointer = builder;
}
static void fill_children_builder(refusal_slot *slot) {
    fill_node_builder(slot);
    CHECK_OK(larder_node_builder_begin_children(slot->pointer, NULL, &test_error));
}
static void end_node_builder(void *pointer) { larder_node_builder_close(pointer); }

static larder_record *a_record(void) {
    larder_document document = {0};
    CHECK_OK(larder_document_get(a_read(), test_text("users/a"), &document, &test_error));
    CHECK(larder_record_cold_bytes(&document.record) > 0);
    return copy_of(&document.record, sizeof document.record);
}
static void fill_record(refusal_slot *slot) { slot->pointer = a_record(); }
static void fill_batch(refusal_slot *slot) {
    larder_batch batch = {0};
    CHECK_OK(larder_mutation_get(a_read(), test_text("user"), 1, &batch, &test_error));
    slot->pointer = copy_of(&batch, sizeof batch);
}
static void fill_detached(refusal_slot *slot) {
    size_t needed = 0;
    larder_detached *detached = NULL;
    CHECK_OK(larder_record_detach(a_record(), zeros(4096), 4096, &needed, &detached, &test_error));
    slot->pointer = detached;
}
static void end_detached(void *pointer) { larder_detached_end(pointer); }

/* ---- what a call opens: the handle is to be closed ---- */

#define OPENED(word, type, close)                                                                  \
    static void close_opened_##word(void *pointer) {                                               \
        type **opened = pointer;                                                                   \
        if (*opened != NULL) close(*opened);                                                       \
    }
OPENED(env, larder_env, end_env)
OPENED(read, const larder_txn, larder_txn_end_read)
OPENED(write, larder_txn, larder_txn_abort)
OPENED(scan, larder_scan, larder_scan_close)
OPENED(set, larder_set, larder_set_close)
OPENED(builder, larder_builder, larder_builder_close)
OPENED(node_builder, larder_node_builder, larder_node_builder_close)
OPENED(compressor, larder_compressor, larder_compressor_close)
OPENED(detached, larder_detached, larder_detached_end)

static void fill_opened(refusal_slot *slot) { slot->pointer = zeros(sizeof(void *)); }
static void fill_out(refusal_slot *slot) { slot->pointer = zeros(1024); }
static void fill_init(refusal_slot *slot) { slot->pointer = zeros(4096); }
static void fill_needed(refusal_slot *slot) { slot->pointer = zeros(sizeof(size_t)); }
static void fill_buffer(refusal_slot *slot) { slot->pointer = zeros(BUFFER_BYTES - 1); }

/* ---- files ---- */

static void fill_new_path(refusal_slot *slot) {
    char name[64];
    snprintf(name, sizeof name, "new%d", path_count++);
    const char *path = env_kit_join(directory, name);
    slot->pointer = copy_of(path, strlen(path) + 1);
}
static void fill_closed_store(refusal_slot *slot) { slot->pointer = closed_store; }

/* ---- bytes ---- */

#define BYTES_OF(word, expression)                                                                 \
    static void fill_##word(refusal_slot *slot) { slot->bytes = (expression); }
BYTES_OF(name, text("users/a"))
BYTES_OF(path_bytes, text("users"))
BYTES_OF(id, text("a"))
BYTES_OF(user, text("user"))
BYTES_OF(key, text("1"))
BYTES_OF(payload, text("payload"))
BYTES_OF(field_name, text("n"))
BYTES_OF(field_path, make_path("n"))
BYTES_OF(plain, make_copy(store_record(1, "text")))
BYTES_OF(frame, make_copy(frame))
BYTES_OF(zstd_frame, make_copy(zstd_frame))
BYTES_OF(node, make_hex("07 03000000 01 61 02"))
BYTES_OF(boolean_value, make_boolean(true))
BYTES_OF(integer_value, make_integer(1))
BYTES_OF(double_value, make_double(0.5))
BYTES_OF(timestamp_value, make_timestamp(5, 0))
BYTES_OF(string_value, make_string("text"))
BYTES_OF(geo_point_value, make_geo_point(1, 2))
BYTES_OF(pending_value, make_pending(5, 0, make_integer(1)))
BYTES_OF(array_value, make_array(1, make_integer(1)))
BYTES_OF(vector_value, make_vector((double[1]){1}, 1))
BYTES_OF(map_value, make_map(1, "n", make_integer(1)))

/* ---- numbers ---- */

#define NUMBER_OF(word, value)                                                                     \
    static void number_##word(refusal_slot *slot) { slot->number = (value); }
NUMBER_OF(zero, 0)
NUMBER_OF(one, 1)
NUMBER_OF(two, 2)
NUMBER_OF(below, -1)
NUMBER_OF(depth, 20)
NUMBER_OF(budget, INT64_C(1) << 40)
NUMBER_OF(buffer, BUFFER_BYTES - 1)
NUMBER_OF(struct_bytes, sizeof(larder_env_options))
static void fill_real(refusal_slot *slot) { slot->real = 0.5; }
static void fill_time(refusal_slot *slot) { slot->time.seconds = 5; }

/* ---- kinds ---- */

#define STORE_HANDLE(word, make, end)                                                              \
    {word, REFUSAL_HANDLE, 0, make, end, true, false}, {                                           \
        "ending-" word, REFUSAL_HANDLE, 0, make, end, true, false                                  \
    }
#define FREE_HANDLE(word, make, end)                                                               \
    {word, REFUSAL_HANDLE, 0, make, end, false, false}, {                                          \
        "ending-" word, REFUSAL_HANDLE, 0, make, end, false, false                                 \
    }
#define OPENED_BY_CALL(word, end)                                                                  \
    { "open-" word, REFUSAL_OBJECT, 0, fill_opened, end, false, true }
#define PLAIN(word, class, make)                                                                   \
    { word, class, 0, make, NULL, false, false }

static const refusal_kind kinds[] = {
    {"env", REFUSAL_HANDLE, 0, fill_env, NULL, true, false},
    {"ending-env", REFUSAL_HANDLE, 0, fill_other_env, end_env, true, false},
    STORE_HANDLE("read", fill_read, end_read),
    STORE_HANDLE("write", fill_write, end_write),
    STORE_HANDLE("scan", fill_scan, end_scan),
    STORE_HANDLE("collection-scan", fill_collection_scan, end_scan),
    STORE_HANDLE("index-scan", fill_index_scan, end_scan),
    STORE_HANDLE("set", fill_set, end_set),
    STORE_HANDLE("other-set", fill_set, end_set),
    FREE_HANDLE("compressor", fill_compressor, end_compressor),
    FREE_HANDLE("builder", fill_builder, end_builder),
    FREE_HANDLE("map-builder", fill_map_builder, end_builder),
    FREE_HANDLE("array-builder", fill_array_builder, end_builder),
    FREE_HANDLE("whole-builder", fill_whole_builder, end_builder),
    FREE_HANDLE("node-builder", fill_node_builder, end_node_builder),
    FREE_HANDLE("children-builder", fill_children_builder, end_node_builder),
    FREE_HANDLE("detached", fill_detached, end_detached),
    {"record", REFUSAL_HANDLE, sizeof(larder_record), fill_record, NULL, false, false},
    {"batch", REFUSAL_HANDLE, sizeof(larder_batch), fill_batch, NULL, false, false},
    OPENED_BY_CALL("env", close_opened_env),
    OPENED_BY_CALL("read", close_opened_read),
    OPENED_BY_CALL("write", close_opened_write),
    OPENED_BY_CALL("scan", close_opened_scan),
    OPENED_BY_CALL("set", close_opened_set),
    OPENED_BY_CALL("builder", close_opened_builder),
    OPENED_BY_CALL("node-builder", close_opened_node_builder),
    OPENED_BY_CALL("compressor", close_opened_compressor),
    OPENED_BY_CALL("detached", close_opened_detached),
    PLAIN("out", REFUSAL_OBJECT, fill_out),
    PLAIN("init", REFUSAL_OBJECT, fill_init),
    PLAIN("needed", REFUSAL_OBJECT, fill_needed),
    PLAIN("buffer", REFUSAL_BUFFER, fill_buffer),
    PLAIN("capacity", REFUSAL_CAPACITY, number_buffer),
    PLAIN("ignored-path", REFUSAL_OBJECT, fill_new_path),
    PLAIN("new-path", REFUSAL_PATH, fill_new_path),
    PLAIN("closed-store", REFUSAL_PATH, fill_closed_store),
    PLAIN("name", REFUSAL_BYTES, fill_name),
    PLAIN("path", REFUSAL_BYTES, fill_path_bytes),
    PLAIN("id", REFUSAL_BYTES, fill_id),
    PLAIN("user", REFUSAL_BYTES, fill_user),
    PLAIN("key", REFUSAL_BYTES, fill_key),
    PLAIN("payload", REFUSAL_BYTES, fill_payload),
    PLAIN("field-name", REFUSAL_BYTES, fill_field_name),
    PLAIN("field-path", REFUSAL_BYTES, fill_field_path),
    PLAIN("plain", REFUSAL_BYTES, fill_plain),
    PLAIN("frame", REFUSAL_BYTES, fill_frame),
    PLAIN("zstd-frame", REFUSAL_BYTES, fill_zstd_frame),
    PLAIN("node", REFUSAL_BYTES, fill_node),
    PLAIN("boolean", REFUSAL_BYTES, fill_boolean_value),
    PLAIN("integer", REFUSAL_BYTES, fill_integer_value),
    PLAIN("double", REFUSAL_BYTES, fill_double_value),
    PLAIN("timestamp", REFUSAL_BYTES, fill_timestamp_value),
    PLAIN("string", REFUSAL_BYTES, fill_string_value),
    PLAIN("geo-point", REFUSAL_BYTES, fill_geo_point_value),
    PLAIN("pending", REFUSAL_BYTES, fill_pending_value),
    PLAIN("array", REFUSAL_BYTES, fill_array_value),
    PLAIN("vector", REFUSAL_BYTES, fill_vector_value),
    PLAIN("map", REFUSAL_BYTES, fill_map_value),
    PLAIN("count", REFUSAL_COUNT, number_one),
    PLAIN("zero", REFUSAL_NUMBER, number_zero),
    PLAIN("position", REFUSAL_NUMBER, number_zero),
    PLAIN("number", REFUSAL_NUMBER, number_one),
    PLAIN("second", REFUSAL_NUMBER, number_two),
    PLAIN("goal", REFUSAL_NUMBER, number_below),
    PLAIN("clock", REFUSAL_NUMBER, number_below),
    PLAIN("depth", REFUSAL_NUMBER, number_depth),
    PLAIN("budget", REFUSAL_NUMBER, number_budget),
    PLAIN("size", REFUSAL_NUMBER, number_buffer),
    PLAIN("struct-bytes", REFUSAL_NUMBER, number_struct_bytes),
    PLAIN("callback", REFUSAL_NUMBER, number_one),
    PLAIN("real", REFUSAL_REAL, fill_real),
    PLAIN("time", REFUSAL_TIME, fill_time),
};

const refusal_kind *refusal_kind_of(const char *word) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].word, word) == 0) return &kinds[i];
    for (size_t i = 0; i < refusal_struct_count; i++)
        if (strcmp(refusal_structs[i].word, word) == 0) return &refusal_structs[i];
    return NULL;
}

void refusal_make(const refusal_kind *kind, refusal_slot *slot) {
    memset(slot, 0, sizeof *slot);
    for (size_t i = 0; i < made_count && kind->class == REFUSAL_HANDLE; i++)
        if (made[i].kind == kind) slot->pointer = made[i].pointer;
    if (slot->pointer != NULL) return;
    kind->make(slot);
    if (slot->pointer != NULL) keep(kind, slot->pointer);
}

void *refusal_handle(const char *word) {
    refusal_slot slot;
    refusal_make(refusal_kind_of(word), &slot);
    return slot.pointer;
}

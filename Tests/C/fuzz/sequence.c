/*
 * sequence.c - fuzz target: the input is a program of API calls.
 *
 * Each operation is one byte and takes its arguments from the bytes that follow; past the end
 * every byte is 0. All calls go to one in-memory store. Whatever the input says, no call may
 * answer that stored data is damaged or that storage failed, larder_check must find nothing
 * wrong at the end, and every handle must be closed.
 *
 * Arguments are drawn from small sets of good values, so that calls meet each other's rows, and
 * now and then from the raw input.
 */
#include "sequence_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- transactions ---- */

static void close_scans(run *r, bool is_of_write) {
    for (size_t i = 0; i < SCANS; i++) {
        if (!r->scans[i].scan || r->scans[i].is_of_write != is_of_write) continue;
        larder_scan_close(r->scans[i].scan);
        r->scans[i].scan = NULL;
    }
    for (size_t i = 0; i < SETS; i++) {
        if (!r->sets[i].set || r->sets[i].is_of_write != is_of_write) continue;
        larder_set_close(r->sets[i].set);
        r->sets[i].set = NULL;
    }
}

static void end_write(run *r, bool commits) {
    if (!r->write) return;
    close_scans(r, true);
    if (commits)
        MUST(larder_txn_commit(r->write, &r->error));
    else
        larder_txn_abort(r->write);
    r->write = NULL;
}

static void end_read(run *r) {
    if (!r->read) return;
    close_scans(r, false);
    larder_txn_end_read(r->read);
    r->read = NULL;
}

static larder_txn *writer(run *r) {
    if (!r->write) MUST(larder_txn_begin_write(r->env, &r->write, &r->error));
    return r->write;
}

/* One that reads: the write transaction every other time there is one. */
static const larder_txn *reader(run *r, bool *is_write) {
    *is_write = r->write && take(r) % 2 == 0;
    if (*is_write) return r->write;
    if (!r->read) MUST(larder_txn_begin_read(r->env, &r->read, &r->error));
    return r->read;
}

static const larder_txn *any_reader(run *r) {
    bool is_write;
    return reader(r, &is_write);
}

static void run_commit(run *r) { end_write(r, true); }
static void run_abort(run *r) { end_write(r, false); }
static void run_end_read(run *r) { end_read(r); }

static void run_begin_twice(run *r) {
    larder_txn *second = NULL;
    writer(r);
    if (larder_txn_begin_write(r->env, &second, NULL) != LARDER_E_BUSY)
        fail(r, "a second write transaction", LARDER_OK);
}

/* ---- documents ---- */

/* Reads a document's record in every way there is. */
static void look_at(run *r, const larder_document *document) {
    static uint8_t cold[1 << 20], plain[1 << 20];
    larder_record loaded;
    larder_bytes name, value;
    size_t needed;
    int32_t type;
    if (document->state != LARDER_DOCUMENT_FOUND) return;
    size_t count = larder_record_count(&document->record);
    for (size_t i = 0; i < count; i++)
        EXPECT(larder_record_get_entry(&document->record, i, &name, &value, &type));
    MUST(larder_record_load(&document->record, cold, sizeof cold, &loaded, &r->error));
    MUST(larder_record_copy(&loaded, plain, sizeof plain, &needed, &r->error));
    larder_bytes bytes = {plain, needed};
    MUST(larder_record_open(bytes, 0, 0, &loaded, &r->error));
    if (larder_record_size(&loaded) != larder_record_size(&document->record))
        fail(r, "the size of a copied record", LARDER_OK);
}

static void run_document_put(run *r) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    larder_bytes name = take_name(r), plain = {NULL, 0};
    uint8_t choice = take(r);
    info.state = choice % 8 == 6   ? LARDER_DOCUMENT_ABSENT
                 : choice % 8 == 7 ? LARDER_DOCUMENT_UNKNOWN
                                   : LARDER_DOCUMENT_FOUND;
    if (choice & 0x10) info.flags = LARDER_DOCUMENT_COMMITTED_MUTATIONS;
    info.version = take_time(r);
    if (choice & 0x20) info.read_time = take_time(r);
    if (choice & 0x40) info.create_time = take_time(r);
    if (info.state == LARDER_DOCUMENT_FOUND) plain = take_record(r);
    EXPECT(larder_document_put(writer(r), name, &info, plain, &r->error));
}

static void run_document_remove(run *r) {
    EXPECT(larder_document_remove(writer(r), take_name(r), &r->error));
}

static void run_document_get(run *r) {
    larder_document document;
    larder_bytes name = take_name(r), user = take_user(r);
    const larder_txn *txn = any_reader(r);
    if (EXPECT(larder_document_get(txn, name, &document, &r->error)) == LARDER_OK)
        look_at(r, &document);
    if (EXPECT(larder_document_get_local(txn, user, name, &document, &r->error)) == LARDER_OK)
        look_at(r, &document);
}

/* Patches one stored document with the fields of another. */
static void run_patch(run *r) {
    static uint8_t plain[2][1 << 17];
    larder_document document;
    larder_record records[2];
    const larder_txn *txn = any_reader(r);
    for (size_t i = 0; i < 2; i++) {
        size_t needed;
        if (EXPECT(larder_document_get(txn, take_name(r), &document, &r->error)) != LARDER_OK ||
            document.state != LARDER_DOCUMENT_FOUND ||
            larder_record_copy(&document.record, plain[i], sizeof plain[i], &needed, NULL) !=
                LARDER_OK)
            return;
        larder_bytes bytes = {plain[i], needed};
        MUST(larder_record_open(bytes, 0, 0, &records[i], &r->error));
    }
    uint8_t paths[2][64];
    larder_bytes mask[2], patched;
    for (size_t i = 0; i < 2; i++)
        mask[i] = (larder_bytes){paths[i], take_field_path(r, paths[i])};
    int32_t status = larder_record_patch(take(r) % 4 == 0 ? NULL : &records[0], &records[1], mask,
                                         2, r->builder, &patched, &r->error);
    if (EXPECT(status) == LARDER_OK)
        MUST(larder_record_open(patched, 64, 1 << 22, &records[0], &r->error));
}

static void run_collection_get(run *r) {
    larder_collection collection;
    EXPECT(larder_collection_get(any_reader(r), take_collection(r), &collection, &r->error));
}

/* ---- mutations and overlays ---- */

static void run_mutation_append(run *r) {
    static char names[4][4096];
    larder_mutation_document documents[4];
    size_t count = take(r) % 5;
    for (size_t i = 0; i < count; i++) {
        larder_bytes name = take_name(r);
        memcpy(names[i], name.data, name.size_bytes);
        documents[i].name = (larder_bytes){names[i], name.size_bytes};
        documents[i].base_version = take_time(r);
    }
    larder_bytes user = take_user(r), payload = take_payload(r);
    larder_time time = take_time(r);
    int64_t id;
    EXPECT(
        larder_mutation_append(writer(r), user, time, documents, count, payload, &id, &r->error));
}

static void run_mutation_remove(run *r) {
    larder_bytes user = take_user(r);
    EXPECT(larder_mutation_remove(writer(r), user, take_batch(r), &r->error));
}

/* Removes the head of the first queue, as a client does when a write is acknowledged. */
static void run_mutation_acknowledge(run *r) {
    larder_bytes user;
    larder_batch batch;
    larder_txn *txn = writer(r);
    if (EXPECT(larder_mutation_next_user(txn, NULL, &user, &r->error)) != LARDER_OK) return;
    MUST(larder_mutation_next(txn, user, 0, &batch, &r->error));
    MUST(larder_mutation_remove(txn, user, batch.batch_id, &r->error));
}

static void run_mutation_attempt(run *r) {
    larder_bytes user = take_user(r), text = take_payload(r);
    int64_t id = take_batch(r);
    larder_time when = take_time(r);
    EXPECT(larder_mutation_record_attempt(writer(r), user, id, when, text, &r->error));
}

static void run_mutation_read(run *r) {
    int64_t ids[4], count;
    size_t id_count;
    larder_batch batch;
    larder_mutation_document document;
    larder_bytes user = take_user(r), name = take_name(r), next;
    const larder_txn *txn = any_reader(r);
    if (EXPECT(larder_mutation_next(txn, user, take_batch(r), &batch, &r->error)) == LARDER_OK)
        for (size_t i = 0; i < batch.document_count; i++)
            MUST(larder_batch_get_document(&batch, i, &document));
    EXPECT(larder_mutation_get(txn, user, take_batch(r), &batch, &r->error));
    EXPECT(larder_mutation_count(txn, user, &count, &r->error));
    EXPECT(larder_mutation_next_user(txn, &user, &next, &r->error));
    EXPECT(larder_mutation_find_document(txn, user, name, ids, 4, &id_count, &r->error));
    EXPECT(larder_mutation_next_touching(txn, user, name, take_batch(r), &ids[0], &r->error));
    EXPECT(larder_mutation_find_collection(txn, user, take_collection(r), ids, 4, &id_count,
                                           &r->error));
}

static void run_overlay_put(run *r) {
    larder_bytes user = take_user(r), name = take_name(r), plain = {NULL, 0};
    int64_t id = take_batch(r);
    larder_bytes payload = take_payload(r);
    if (take(r) % 4 != 0) plain = take_record(r);
    EXPECT(larder_overlay_put(writer(r), user, name, id, plain, payload, &r->error));
}

static void run_overlay_get(run *r) {
    larder_document view;
    larder_bytes user = take_user(r), payload;
    if (EXPECT(larder_overlay_get(any_reader(r), user, take_name(r), &view, &payload, &r->error)) ==
        LARDER_OK)
        look_at(r, &view);
}

static void run_overlay_remove(run *r) {
    larder_bytes user = take_user(r);
    EXPECT(larder_overlay_remove(writer(r), user, take_name(r), &r->error));
}

static void run_overlay_remove_batch(run *r) {
    larder_bytes user = take_user(r);
    int64_t removed;
    EXPECT(larder_overlay_remove_batch(writer(r), user, take_batch(r), &removed, &r->error));
}

/* ---- targets and named values ---- */

static void run_target_put(run *r) {
    larder_target target = {.struct_bytes = sizeof target, .target_id = take_target(r)};
    target.sequence_number = take(r);
    target.snapshot_version = take_time(r);
    target.resume_token = take_payload(r);
    target.canonical_id = take_group(r);
    target.query = take_payload(r);
    EXPECT(larder_target_put(writer(r), &target, &r->error));
}

static void run_target_remove(run *r) {
    EXPECT(larder_target_remove(writer(r), take_target(r), &r->error));
}

static void run_target_add_document(run *r) {
    int32_t id = take_target(r);
    EXPECT(larder_target_add_document(writer(r), id, take_name(r), &r->error));
}

static void run_target_remove_document(run *r) {
    int32_t id = take_target(r);
    EXPECT(larder_target_remove_document(writer(r), id, take_name(r), &r->error));
}

static void run_target_change_documents(run *r) {
    int32_t id = take_target(r);
    larder_bytes names[4];
    for (size_t i = 0; i < 4; i++)
        names[i] = take_name(r);
    EXPECT(larder_target_change_documents(writer(r), id, names, 2, names + 1, 3, &r->error));
}

static void run_target_read(run *r) {
    larder_target target = {.struct_bytes = sizeof target};
    int32_t ids[4], id = take_target(r);
    int64_t count;
    size_t id_count;
    const larder_txn *txn = any_reader(r);
    EXPECT(larder_target_get(txn, id, &target, &r->error));
    EXPECT(larder_target_next(txn, id, &target, &r->error));
    EXPECT(larder_target_document_count(txn, id, &count, &r->error));
    EXPECT(larder_target_find(txn, take_group(r), ids, 4, &id_count, &r->error));
    EXPECT(larder_target_find_document(txn, take_name(r), ids, 4, &id_count, &r->error));
    MUST(larder_target_highest_id(txn, &id, &r->error));
}

static larder_bytes take_value_name(run *r) {
    uint8_t choice = take(r) % 8;
    return choice < 4 ? text_of(long_ids[choice]) : choice < 7 ? take_field(r) : take_raw(r, 200);
}

static void run_named_put(run *r) {
    int32_t kind = take(r) % 8;
    larder_bytes name = take_value_name(r);
    larder_time time = take_time(r);
    EXPECT(larder_named_put(writer(r), kind, name, time, take_payload(r), &r->error));
}

static void run_named_remove(run *r) {
    int32_t kind = take(r) % 8;
    EXPECT(larder_named_remove(writer(r), kind, take_value_name(r), &r->error));
}

static void run_named_read(run *r) {
    larder_bytes name = take_value_name(r), next, payload;
    larder_time time;
    int32_t kind = take(r) % 8;
    const larder_txn *txn = any_reader(r);
    EXPECT(larder_named_get(txn, kind, name, &time, &payload, &r->error));
    EXPECT(larder_named_next(txn, kind, name, &next, &time, &payload, &r->error));
}

/* ---- indexes ---- */

static void run_index_define(run *r) {
    uint8_t paths[3][64];
    larder_index_segment segments[3];
    size_t count = take(r) % 3 + 1u;
    uint32_t id;
    for (size_t i = 0; i < count; i++) {
        size_t size = take_field_path(r, paths[i]);
        segments[i] = (larder_index_segment){{paths[i], size}, take(r) % 3, 0};
    }
    EXPECT(larder_index_define(writer(r), take_group(r), segments, count, &id, &r->error));
}

static void run_index_backfill(run *r) {
    int64_t done, total;
    uint32_t id = take(r) % 4;
    EXPECT(larder_index_backfill(writer(r), id, take(r) % 8, 0, &done, &total, &r->error));
}

static void run_index_drop(run *r) {
    uint32_t id = take(r) % 6;
    EXPECT(larder_index_drop(writer(r), id, take(r) % 8, &r->error));
}

static void run_index_read(run *r) {
    larder_index index;
    uint32_t id = take(r) % 6;
    const larder_txn *txn = any_reader(r);
    EXPECT(larder_index_get(txn, id, &index, &r->error));
    EXPECT(larder_index_next(txn, id, &index, &r->error));
}

/* ---- scans and sets ---- */

/* Order bytes of a random value, or raw bytes. */
static larder_bytes take_bound(run *r, bool is_index, uint8_t buffer[300]) {
    larder_bytes value, bound = {NULL, 0};
    size_t needed = 0;
    if (take(r) % 4 == 0) return bound;
    if (!is_index) return take(r) % 4 == 0 ? take_name(r) : take_id(r);
    if (take(r) % 4 == 0) return take_raw(r, 32);
    larder_builder_reset(r->builder);
    build_value(r, 5);
    if (larder_builder_finish_value(r->builder, &value, NULL) == LARDER_OK &&
        larder_order_encode(value, take(r) % 2, buffer, 300, &needed, NULL) == LARDER_OK)
        bound = (larder_bytes){buffer, needed};
    return bound;
}

static int32_t open_kind(run *r, uint8_t kind, const larder_txn *txn,
                         const larder_scan_options *options, larder_scan **scan) {
    larder_bytes path = take_collection(r), user = take_user(r);
    larder_time since;
    switch (kind) {
    case 0:
        return larder_scan_collection(txn, path, options, scan, &r->error);
    case 1:
        return larder_scan_group(txn, take_group(r), options, scan, &r->error);
    case 2:
        since = take_time(r);
        return larder_scan_read_time(txn, path, since, take_id(r), options, scan, &r->error);
    case 3: {
        uint32_t id = take(r) % 4;
        if (take(r) % 2 == 0) path.size_bytes = 0;
        return larder_index_scan(txn, id, path, options, scan, &r->error);
    }
    case 4:
        return larder_overlay_scan_collection(txn, user, path, take_batch(r), scan, &r->error);
    case 5:
        return larder_overlay_scan_group(txn, user, take_group(r), take_batch(r), scan, &r->error);
    case 6:
        return larder_overlay_scan_batch(txn, user, take_batch(r), scan, &r->error);
    case 7:
        return larder_target_scan(txn, take_target(r), options, scan, &r->error);
    default:
        if (take(r) % 2 == 0) path.size_bytes = 0;
        return larder_collection_scan(txn, path, scan, &r->error);
    }
}

static void run_scan_open(run *r) {
    open_scan *open = &r->scans[take(r) % SCANS];
    uint8_t kind = take(r) % 12, start[300], end[300];
    if (kind > 8) kind = 3;
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = take(r) & 0x3f;
    options.user = take_user(r);
    static char start_name[4096];
    options.start = take_bound(r, kind == 3, start);
    if (options.start.size_bytes > 0 && options.start.size_bytes < sizeof start_name) {
        memcpy(start_name, options.start.data, options.start.size_bytes);
        options.start.data = start_name;
    }
    options.end = take_bound(r, kind == 3, end);
    larder_scan_close(open->scan);
    open->scan = NULL;
    const larder_txn *txn = reader(r, &open->is_of_write);
    open->set = -1;
    open->is_of_collections = kind == 8;
    if (EXPECT(open_kind(r, kind, txn, &options, &open->scan)) != LARDER_OK) open->scan = NULL;
}

static void run_scan_next(run *r) {
    open_scan *open = &r->scans[take(r) % SCANS];
    larder_document document;
    larder_collection collection;
    larder_bytes order_bytes;
    if (!open->scan) return;
    for (int count = take(r) % 16; count >= 0; count--) {
        int32_t status = open->is_of_collections
                             ? EXPECT(larder_collection_next(open->scan, &collection, &r->error))
                             : EXPECT(larder_scan_next(open->scan, &document, &r->error));
        if (status != LARDER_OK) break;
        if (open->is_of_collections) continue;
        look_at(r, &document);
        EXPECT(larder_index_scan_entry(open->scan, &order_bytes, &r->error));
    }
}

static void run_scan_close(run *r) {
    open_scan *open = &r->scans[take(r) % SCANS];
    larder_scan_close(open->scan);
    open->scan = NULL;
}

static void run_set_create(run *r) {
    size_t position = take(r) % SETS;
    open_set *open = &r->sets[position];
    for (size_t i = 0; i < SCANS; i++) /* it must outlive its scans */
        if (r->scans[i].scan && r->scans[i].set == (int)position) {
            larder_scan_close(r->scans[i].scan);
            r->scans[i].scan = NULL;
        }
    larder_set_close(open->set);
    open->set = NULL;
    const larder_txn *txn = reader(r, &open->is_of_write);
    MUST(larder_set_create(txn, &open->set, &r->error));
}

static void run_set_combine(run *r) {
    open_set *open = &r->sets[take(r) % SETS], *other = &r->sets[take(r) % SETS];
    open_scan *from = &r->scans[take(r) % SCANS];
    uint8_t choice = take(r) % 4;
    if (!open->set || !other->set) return;
    if (choice == 0) EXPECT(larder_set_intersect(open->set, other->set, &r->error));
    if (choice == 1) EXPECT(larder_set_union(open->set, other->set, &r->error));
    if (choice > 1 && from->scan) EXPECT(larder_set_add_scan(open->set, from->scan, &r->error));
}

static void run_set_scan(run *r) {
    size_t position = take(r) % SETS;
    open_set *set = &r->sets[position];
    open_scan *open = &r->scans[take(r) % SCANS];
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = take(r) & 0x0f;
    options.user = take_user(r);
    if (!set->set) return;
    larder_scan_close(open->scan);
    *open = (open_scan){NULL, (int)position, set->is_of_write, false};
    if (EXPECT(larder_set_scan(set->set, &options, &open->scan, &r->error)) != LARDER_OK)
        open->scan = NULL;
}

/* A query over two indexes, as a whole: two sets, combined and read. */
static void run_set_query(run *r) {
    larder_set *sets[2] = {NULL, NULL};
    larder_scan *scan = NULL;
    larder_document document;
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.user = take_user(r);
    options.flags = take(r) % 2 == 0 ? 0 : LARDER_SCAN_LOCAL_VIEW;
    uint32_t flags = options.flags;
    const larder_txn *txn = any_reader(r);
    for (size_t i = 0; i < 2; i++) {
        uint32_t id = take(r) % 4;
        MUST(larder_set_create(txn, &sets[i], &r->error));
        options.flags = flags | LARDER_SCAN_KEYS_ONLY;
        if (EXPECT(larder_index_scan(txn, id, (larder_bytes){NULL, 0}, &options, &scan,
                                     &r->error)) != LARDER_OK)
            continue;
        MUST(larder_set_add_scan(sets[i], scan, &r->error));
        larder_scan_close(scan);
    }
    size_t most = larder_set_count(sets[0]) + larder_set_count(sets[1]);
    if (take(r) % 2 == 0)
        MUST(larder_set_intersect(sets[0], sets[1], &r->error));
    else
        MUST(larder_set_union(sets[0], sets[1], &r->error));
    if (larder_set_count(sets[0]) > most) fail(r, "the size of a combined set", LARDER_OK);
    options.flags = flags | (take(r) % 2 == 0 ? LARDER_SCAN_REVERSE : 0);
    scan = NULL; /* stays so when the user is none */
    EXPECT(larder_set_scan(sets[0], &options, &scan, &r->error));
    while (scan && EXPECT(larder_scan_next(scan, &document, &r->error)) == LARDER_OK)
        look_at(r, &document);
    larder_scan_close(scan);
    larder_set_close(sets[0]);
    larder_set_close(sets[1]);
}

/* ---- blobs, LRU, the environment ---- */

/* Documents enough to train a dictionary from, alike but not the same. */
static void run_fill(run *r) {
    static char text[2000], name[32];
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    uint8_t seed = take(r);
    larder_txn *txn = writer(r);
    for (int i = 0; i < 48; i++) {
        size_t size = 700u + (size_t)(seed + i * 37) % 900;
        for (size_t k = 0; k < size; k++)
            text[k] = "the quick brown fox jumps"[(k * 7 + k / 31 * seed) % 25];
        snprintf(text, 20, "%d-%d-%d", i, seed, i * i);
        text[strlen(text)] = ' ';
        snprintf(name, sizeof name, "c/fill%d", i);
        larder_bytes plain, value = {text, size};
        larder_builder_reset(r->builder);
        larder_builder_begin_map(r->builder, NULL);
        larder_builder_name(r->builder, text_of("big"), NULL);
        larder_builder_string(r->builder, value, NULL);
        larder_builder_name(r->builder, text_of("n"), NULL);
        larder_builder_integer(r->builder, i % 5, NULL);
        larder_builder_end_map(r->builder, NULL);
        MUST(larder_builder_finish_record(r->builder, &plain, &r->error));
        MUST(larder_document_put(txn, text_of(name), &info, plain, &r->error));
    }
}

static void run_train(run *r) {
    larder_train_result result;
    EXPECT(larder_blob_train(writer(r), take(r) % 4 * 512u, 0, &result, &r->error));
}

static void run_repack(run *r) {
    int64_t changed;
    int32_t status =
        EXPECT(larder_blob_repack(writer(r), take(r) % 8 + 1, &r->repack, &changed, &r->error));
    if (status == LARDER_OK) memset(&r->repack, 0, sizeof r->repack);
}

static void run_frame(run *r) {
    static uint8_t frame[32768], back[32768];
    larder_bytes raw = take_payload(r);
    size_t needed, size;
    const larder_txn *txn = any_reader(r);
    MUST(larder_blob_compress(txn, raw, frame, sizeof frame, &needed, &r->error));
    larder_bytes bytes = {frame, needed};
    MUST(larder_blob_decompress(txn, bytes, sizeof back, back, sizeof back, &size, &r->error));
    if (size != raw.size_bytes || (size > 0 && memcmp(back, raw.data, size) != 0))
        fail(r, "a frame that was compressed", LARDER_OK);
    /* A strange frame is refused, or is a frame: both are fine here. */
    bytes = take_raw(r, 100);
    larder_blob_decompress(txn, bytes, sizeof back, back, sizeof back, &size, &r->error);
    larder_dictionary dictionary;
    EXPECT(larder_dictionary_next(txn, take(r), &dictionary, &r->error));
}

static void run_lru_note(run *r) {
    uint8_t choice = take(r) % 5;
    larder_bytes name = take_name(r);
    int32_t id = take_target(r);
    if (choice == 0) EXPECT(larder_lru_touch(r->env, name, &r->error));
    if (choice == 1) EXPECT(larder_lru_pin(r->env, name, &r->error));
    if (choice == 2) EXPECT(larder_lru_unpin(r->env, name, &r->error));
    if (choice == 3) EXPECT(larder_lru_pin_target(r->env, id, &r->error));
    if (choice == 4) EXPECT(larder_lru_unpin_target(r->env, id, &r->error));
}

static void run_lru_step(run *r) {
    larder_lru_result result = {.struct_bytes = sizeof result};
    int64_t goal = (int64_t)take(r) * 512 - 1;
    /* BUSY with a write transaction open. */
    EXPECT(larder_lru_step(r->env, goal, take(r) % 16, 0, &result, &r->error));
}

static void run_set_budget(run *r) {
    int64_t budget = take(r) % 2 == 0 ? LARDER_BUDGET_UNLIMITED : LARDER_BUDGET_MIN_BYTES;
    MUST(larder_env_set_budget(r->env, budget, &r->error));
}

static void run_stat(run *r) {
    larder_stat stat = {.struct_bytes = sizeof stat};
    const larder_txn *txn = any_reader(r);
    MUST(larder_env_stat(txn, &stat, &r->error));
}

static int32_t print_problem(void *context, const char *table, larder_bytes key,
                             const char *message) {
    (void)context;
    fprintf(stderr, "check: %s, key ", table);
    for (size_t i = 0; i < key.size_bytes; i++)
        fprintf(stderr, "%02x", ((const uint8_t *)key.data)[i]);
    fprintf(stderr, ": %s\n", message);
    return 0;
}

static void run_check(run *r) {
    larder_check_report report = {.struct_bytes = sizeof report};
    const larder_txn *txn;
    MUST(larder_txn_begin_read(r->env, &txn, &r->error));
    MUST(larder_check(txn, print_problem, NULL, NULL, &report, &r->error));
    larder_txn_end_read(txn);
}

static void (*const operations[])(run *) = {
    run_commit,
    run_abort,
    run_end_read,
    run_begin_twice,
    run_document_put,
    run_document_put,
    run_document_put,
    run_document_remove,
    run_document_get,
    run_collection_get,
    run_mutation_append,
    run_mutation_append,
    run_mutation_remove,
    run_mutation_acknowledge,
    run_mutation_attempt,
    run_mutation_read,
    run_overlay_put,
    run_overlay_put,
    run_overlay_get,
    run_overlay_remove,
    run_overlay_remove_batch,
    run_target_put,
    run_target_put,
    run_target_remove,
    run_target_add_document,
    run_target_add_document,
    run_target_remove_document,
    run_target_change_documents,
    run_target_read,
    run_named_put,
    run_named_remove,
    run_named_read,
    run_index_define,
    run_index_backfill,
    run_index_drop,
    run_index_read,
    run_scan_open,
    run_scan_open,
    run_scan_next,
    run_scan_next,
    run_scan_close,
    run_set_create,
    run_set_combine,
    run_set_scan,
    run_train,
    run_repack,
    run_frame,
    run_lru_note,
    run_lru_step,
    run_set_budget,
    run_stat,
    run_check,
    run_set_query,
    run_set_query,
    run_fill,
    run_patch,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static run state;
    run *r = &state;
    memset(r, 0, sizeof *r);
    r->at = data;
    r->end = data + size;
    if (long_path[0] == 0) make_texts();
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    uint8_t choice = take(r);
    options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    options.automatic_training = choice & 1;
    options.manual_reclaim = choice >> 1 & 1;
    options.cold_field_bytes = choice >> 2 & 1 ? 16 : 0;
    options.log_level = LARDER_LOG_ERROR;
    MUST(larder_env_open("", &options, &r->env, &r->error));
    MUST(larder_builder_create(NULL, &r->builder, &r->error));
    for (int count = 0; count < OPERATIONS_MAX && r->at < r->end; count++)
        operations[take(r) % (sizeof operations / sizeof operations[0])](r);
    end_read(r);
    end_write(r, take(r) % 4 != 3);
    run_check(r);
    larder_builder_close(r->builder);
    MUST(larder_env_close(r->env, &r->error));
    if (larder_live_handle_count() != 0) fail(r, "open handles at the end", LARDER_OK);
    return 0;
}

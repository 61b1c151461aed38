/* walk.c - see walk.h. */
#include "walk.h"
#include "store/catalog.h"

/* One row of a run: where its key, id and text lie in run_bytes. */
typedef struct run_item {
    size_t key_at, key_bytes;
    size_t text_at, text_bytes;
    size_t id_bytes;
} run_item;

static int compare_items(const void *left, const void *right, const void *context) {
    const run_item *a = left, *b = right;
    const uint8_t *bytes = context;
    return larder__segment_compare(larder__bytes(bytes + a->text_at, a->text_bytes),
                                   larder__bytes(bytes + b->text_at, b->text_bytes));
}

int32_t larder__walk_open(const larder_txn *txn, larder__table table, larder_bytes prefix,
                          bool reads_collection, uint64_t collection, larder__walk *walk,
                          larder_error *error) {
    memset(walk, 0, sizeof *walk);
    walk->txn = txn;
    walk->table = table;
    walk->reads_collection = reads_collection;
    walk->has_values = table == LARDER__OVERLAYS;
    walk->collection = collection;
    walk->run_bytes.allocator = &txn->env->allocator;
    walk->run_items.allocator = &txn->env->allocator;
    larder__key_append(&walk->prefix, prefix.data, prefix.size_bytes);
    return larder__cursor_open(txn, table, &walk->cursor, error);
}

void larder__walk_close(larder__walk *walk) {
    larder__cursor_close(&walk->cursor);
    larder__buffer_free(&walk->run_bytes);
    larder__buffer_free(&walk->run_items);
}

/* Takes the row under the cursor apart. LARDER_END behind the walk's prefix. */
static int32_t parse(larder__walk *walk, larder_error *error) {
    larder_bytes key = walk->cursor.key;
    if (!larder__bytes_has_prefix(key, larder__key_bytes(&walk->prefix))) return LARDER_END;
    const uint8_t *at = larder__begin(key) + walk->prefix.size_bytes;
    const uint8_t *end = larder__begin(key) + key.size_bytes;
    if ((walk->reads_collection && !larder__key_read_number(&at, end, &walk->collection)) ||
        (size_t)(end - at) < walk->skip_bytes)
        return larder__corrupt(walk->txn, walk->table, key, "malformed key", error);
    at += walk->skip_bytes;
    if (at == end || end - at > LARDER__ID_MAX)
        return larder__corrupt(walk->txn, walk->table, key, "malformed id in the key", error);
    walk->key = key;
    walk->id_key_form = larder__bytes(at, (size_t)(end - at));
    walk->value = walk->cursor.value;
    return LARDER_OK;
}

/* Adds the row that was just taken apart to the run. */
static int32_t gather_one(larder__walk *walk, larder_error *error) {
    char scratch[32];
    larder_bytes text;
    int32_t status =
        larder__id_text(walk->txn, walk->collection, walk->id_key_form, scratch, &text, error);
    if (status != LARDER_OK) return status;
    larder__buffer *bytes = &walk->run_bytes;
    run_item item = {.key_at = bytes->size_bytes,
                     .key_bytes = walk->key.size_bytes,
                     .text_at = bytes->size_bytes + walk->key.size_bytes,
                     .text_bytes = text.size_bytes,
                     .id_bytes = walk->id_key_form.size_bytes};
    if (!larder__buffer_append(bytes, walk->key.data, walk->key.size_bytes) ||
        !larder__buffer_append(bytes, text.data, text.size_bytes) ||
        !larder__buffer_append(&walk->run_items, &item, sizeof item))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to put long ids in order");
    return LARDER_OK;
}

/* Gathers and sorts the run that begins with the row just taken apart. E_CORRUPT, with the rest
 * of the run ready, when a row of it is damaged. */
static int32_t gather(larder__walk *walk, larder_error *error) {
    size_t id_at = walk->key.size_bytes - walk->id_key_form.size_bytes;
    larder__key_clear(&walk->run_head);
    larder__key_append(&walk->run_head, walk->key.data, id_at + LARDER__ID_HEAD);
    walk->run_bytes.size_bytes = 0;
    walk->run_items.size_bytes = 0;
    walk->run_at = 0;
    int32_t outcome = LARDER_OK;
    int32_t status = LARDER_OK;
    while (status == LARDER_OK &&
           larder__bytes_has_prefix(walk->cursor.key, larder__key_bytes(&walk->run_head))) {
        status = parse(walk, error);
        if (status == LARDER_OK) status = gather_one(walk, error);
        if (status == LARDER_E_CORRUPT)
            outcome = status;
        else if (status != LARDER_OK)
            return status;
        status = larder__cursor_next(&walk->cursor, error);
    }
    if (status < 0) return status;
    larder__sort(walk->run_items.data, walk->run_items.size_bytes / sizeof(run_item),
                 sizeof(run_item), compare_items, walk->run_bytes.data);
    return outcome;
}

/* The run's next row: LARDER_END when it is through. */
static int32_t give_from_run(larder__walk *walk, larder_error *error) {
    while ((walk->run_at + 1) * sizeof(run_item) <= walk->run_items.size_bytes) {
        run_item item;
        memcpy(&item, walk->run_items.data + walk->run_at * sizeof item, sizeof item);
        walk->run_at++;
        const uint8_t *key = walk->run_bytes.data + item.key_at;
        walk->key = larder__bytes(key, item.key_bytes);
        walk->id_key_form = larder__bytes(key + item.key_bytes - item.id_bytes, item.id_bytes);
        walk->value = larder__bytes(NULL, 0);
        if (!walk->has_values) return LARDER_OK;
        int32_t status = larder__table_get(walk->txn, walk->table, walk->key, &walk->value, error);
        if (status != LARDER_NOT_FOUND) return status;
    }
    return LARDER_END;
}

int32_t larder__walk_next(larder__walk *walk, larder_error *error) {
    int32_t status;
    if (walk->run_head.size_bytes > 0) {
        status = give_from_run(walk, error);
        if (status != LARDER_END) return status;
        bool has_more = larder__key_successor(&walk->run_head);
        larder__key after = walk->run_head;
        larder__key_clear(&walk->run_head);
        if (!has_more) return LARDER_END;
        status = larder__cursor_seek_on(&walk->cursor, larder__key_bytes(&after), error);
    } else if (!walk->is_started) {
        walk->is_started = true;
        const larder__key *from = walk->start.size_bytes > 0 ? &walk->start : &walk->prefix;
        status = larder__cursor_seek(&walk->cursor, larder__key_bytes(from), error);
    } else {
        status = larder__cursor_next(&walk->cursor, error);
    }
    if (status != LARDER_OK) return status;
    status = parse(walk, error);
    if (status != LARDER_OK || walk->id_key_form.size_bytes <= LARDER__ID_HEAD) return status;
    status = gather(walk, error);
    return status == LARDER_OK ? give_from_run(walk, error) : status;
}

/*
 * rebuild_settled.c - whether a batch of an old page was acknowledged.
 *
 * A batch that is pending is mentioned by each of its documents (LARDER__MUTATION_DOCUMENTS). A guessed
 * one that the base does not mention, where it has lost no mention, was acknowledged and is left out.
 *
 * Mentions have no checksum: with a damaged byte in its key one is another document's or batch's. Such a
 * mention strays: its batch is not there, or does not name the document. The batch whose
 * mention differs in one byte from one that strays is taken for pending.
 */
#include "rebuild.h"

#include "documents/batch.h"
#include "store/catalog.h"

/* ---- mentions ---- */

static larder__key mention_key(uint64_t collection, larder_bytes id, uint64_t user,
                               uint64_t batch) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_number(&key, collection);
    larder__key_idz(&key, id);
    larder__key_number(&key, user);
    larder__key_u64(&key, batch);
    return key;
}

/* The mention that a batch's document has; false: the document's collection has no number. */
static bool find_mention(const larder__rebuild *r, uint64_t user, const larder_batch *batch,
                         uint32_t index, larder__key *key) {
    larder_mutation_document document;
    uint64_t collection;
    larder__id id;
    if (larder_batch_get_document(batch, index, &document) != LARDER_OK ||
        larder__name_find(r->from, document.name, &collection, &id, NULL) != LARDER_OK)
        return false;
    *key = mention_key(collection, larder__id_bytes(&id), user, (uint64_t)batch->batch_id);
    return true;
}

/* True if the batch of a mention exists and names the document. */
static bool is_confirmed(const larder__rebuild *r, larder_bytes mention) {
    const uint8_t *at = larder__begin(mention), *end = at + mention.size_bytes;
    uint64_t collection, user, number;
    larder_bytes id, value, payload;
    larder_batch batch;
    larder__key key;
    if (!larder__key_read_number(&at, end, &collection) || !larder__key_read_idz(&at, end, &id) ||
        !larder__key_read_number(&at, end, &user) || !larder__key_read_u64(&at, end, &number) ||
        at != end)
        return false;
    larder__key_clear(&key);
    larder__key_number(&key, user);
    larder__key_u64(&key, number);
    if (larder__table_get(r->from, LARDER__MUTATIONS, larder__key_bytes(&key), &value, NULL) !=
            LARDER_OK ||
        !larder__evidence_unseal(larder__key_bytes(&key), value, &payload) ||
        !larder__batch_parse(payload, (int64_t)number, &batch))
        return false;
    for (uint32_t i = 0; i < batch.document_count; i++)
        if (find_mention(r, user, &batch, i, &key) &&
            larder__bytes_equal(larder__key_bytes(&key), mention))
            return true;
    return false;
}

/* ---- mentions that stray ---- */

/* Size 2 | key, each. */
static int32_t list_strays(larder__rebuild *r, larder_error *error) {
    larder__cursor cursor;
    int32_t status = larder__cursor_open(r->from, LARDER__MUTATION_DOCUMENTS, &cursor, error);
    if (status == LARDER_OK) status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), error);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, error)) {
        uint8_t size[2];
        if (is_confirmed(r, cursor.key)) continue;
        larder__store16(size, (uint16_t)cursor.key.size_bytes);
        if (larder__buffer_append(&r->strays, size, sizeof size) &&
            larder__buffer_append(&r->strays, cursor.key.data, cursor.key.size_bytes))
            continue;
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to salvage rows");
        break;
    }
    larder__cursor_close(&cursor);
    r->has_strays = status == LARDER_END;
    return status == LARDER_END ? LARDER_OK : status;
}

/* True if two keys of the same size differ in one byte. */
static bool is_near(const uint8_t *a, const uint8_t *b, size_t size_bytes) {
    size_t count = 0;
    for (size_t i = 0; i < size_bytes && count <= 1; i++)
        count += a[i] != b[i];
    return count == 1;
}

static bool is_near_stray(const larder__rebuild *r, const larder__key *key) {
    for (size_t at = 0; at < r->strays.size_bytes;) {
        size_t size = larder__load16(r->strays.data + at);
        if (size == key->size_bytes && is_near(r->strays.data + at + 2, key->bytes, size))
            return true;
        at += 2 + size;
    }
    return false;
}

/* ---- batches ---- */

int32_t larder__rebuild_is_settled(larder__rebuild *r, uint64_t user, const larder_batch *batch,
                                   bool *is_settled, larder_error *error) {
    *is_settled = false;
    /* One that is later than the base was never mentioned there. */
    if ((uint64_t)batch->batch_id >= r->harvest->base_next_batch) return LARDER_OK;
    bool is_missing = false;
    for (uint32_t i = 0; i < batch->document_count; i++) {
        larder__key key;
        larder_bytes none;
        if (!find_mention(r, user, batch, i, &key)) continue;
        if (larder__table_get(r->from, LARDER__MUTATION_DOCUMENTS, larder__key_bytes(&key), &none,
                              NULL) == LARDER_OK)
            return LARDER_OK;
        if (larder__harvest_is_lost(r->harvest, LARDER__MUTATION_DOCUMENTS,
                                    larder__key_bytes(&key)))
            continue;
        int32_t status = r->has_strays ? LARDER_OK : list_strays(r, error);
        if (status != LARDER_OK) return status;
        if (is_near_stray(r, &key)) return LARDER_OK;
        is_missing = true;
    }
    *is_settled = is_missing;
    return LARDER_OK;
}

/*
 * blob.c - zstd with dictionaries: the dictionary table, compressing cold parts, frames.
 *
 *   catalog  l  dictionary id (u32) -> record count (8) | dictionary
 *            u  dictionary id (u32) -> record count (8)
 *
 * The count in the second row, where there is one, is the valid one: nearly every commit changes it,
 * and the first row has some kilobytes. Earlier versions changed the first.
 *
 * Ids are 1, 2, 3... in order of training; the one in use is in the counters. Frames in rows
 * have no magic number and no dictionary id (the row says which): 8 bytes a record less.
 * Prepared ones live in the vocabulary, which also decompresses; the writer has a compressor.
 *
 * A frame of larder_blob_compress:
 *   crc32c of the rest (4) | raw size varint | 0 | zstd frame
 */
#include "blob.h"
#include "catalog.h"

#include <stdlib.h>

#define DICTIONARY_MAX LARDER__DICTIONARY_MAX
#define SAVING_PERCENT 8 /* compression that saves less is not worth its reading */
#define MAGIC_BYTES 4

int32_t larder__blob_create(larder_env *env, larder_error *error) {
    larder__blob_state *state = larder__allocate(&env->allocator, sizeof *state);
    if (state == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for blobs");
    memset(state, 0, sizeof *state);
    env->blobs = state;
    state->samples.allocator = &env->allocator;
    return LARDER_OK;
}

void larder__blob_destroy(larder_env *env) {
    larder__blob_state *state = env->blobs;
    if (state == NULL) return;
    larder__release(&env->allocator, state->deltas);
    larder__buffer_free(&state->samples);
    larder__release(&env->allocator, state->sample_sizes);
    ZSTD_freeCCtx(state->encoder);
    larder__prepared_free(&env->allocator, &state->encoder_dictionary);
    larder__release(&env->allocator, state);
    env->blobs = NULL;
}

/* ---- the dictionary table ---- */

larder__key larder__dictionary_key(uint32_t id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_DICTIONARY);
    larder__key_u32(&key, id);
    return key;
}

larder__key larder__dictionary_count_key(uint32_t id) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_DICTIONARY_COUNT);
    larder__key_u32(&key, id);
    return key;
}

int32_t larder__dictionary_row(const larder_txn *txn, uint32_t id, int64_t *record_count,
                               larder_bytes *content, larder_error *error) {
    larder__key key = larder__dictionary_key(id);
    larder_bytes payload;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status != LARDER_OK) return status;
    if (payload.size_bytes < LARDER__DICTIONARY_HEAD)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                               "a dictionary row that is too short", error);
    *record_count = (int64_t)larder__load64(payload.data);
    *content = larder__bytes(larder__begin(payload) + LARDER__DICTIONARY_HEAD,
                             payload.size_bytes - LARDER__DICTIONARY_HEAD);
    key = larder__dictionary_count_key(id);
    status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &payload, error);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status == LARDER_OK && payload.size_bytes != sizeof *record_count)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key), "malformed count",
                               error);
    if (status == LARDER_OK) *record_count = (int64_t)larder__load64(payload.data);
    return status;
}

void larder__blob_forget(larder_env *env, uint32_t id) {
    larder__blob_state *state = env->blobs;
    larder__dictionary_forget(env->vocabulary, id);
    if (state->encoder == NULL) return;
    ZSTD_CCtx_refCDict(state->encoder, NULL);
    larder__prepared_free(&env->allocator, &state->encoder_dictionary);
    state->encoder_id = 0;
}

int32_t larder__dictionary_load(const larder_txn *txn, uint32_t id, larder_error *error) {
    larder_env *env = txn->env;
    if (larder__dictionary_find(env->vocabulary, id) != NULL) return LARDER_OK;
    int64_t record_count;
    larder_bytes content;
    int32_t status = id >= DICTIONARY_MAX
                         ? LARDER_NOT_FOUND
                         : larder__dictionary_row(txn, id, &record_count, &content, error);
    if (status == LARDER_NOT_FOUND)
        return larder__fail(error, LARDER_E_NO_DICTIONARY, "dictionary %u is not in the store", id);
    if (status != LARDER_OK) return status;
    return larder__dictionary_add(env->vocabulary, id, content, error);
}

/* ---- use counts: what train.c writes at commit ---- */

int64_t larder__dictionary_delta(const larder_txn *txn, uint32_t id) {
    const larder__blob_state *state = txn->env->blobs;
    if (!txn->is_write) return 0;
    for (size_t i = 0; i < state->delta_count; i++)
        if (state->deltas[i].id == id) return state->deltas[i].records;
    return 0;
}

int32_t larder__dictionary_count(larder_txn *txn, uint32_t dictionary, int64_t delta,
                                 larder_error *error) {
    larder__blob_state *state = txn->env->blobs;
    for (size_t i = 0; i < state->delta_count; i++)
        if (state->deltas[i].id == dictionary) {
            state->deltas[i].records += delta;
            return LARDER_OK;
        }
    if (state->delta_count == state->delta_capacity) {
        size_t capacity = state->delta_capacity == 0 ? 8 : 2 * state->delta_capacity;
        larder__dictionary_delta_row *grown =
            larder__allocate(&txn->env->allocator, capacity * sizeof *grown);
        if (grown == NULL)
            return larder__txn_note(
                txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for dictionary counts"));
        if (state->delta_count > 0)
            memcpy(grown, state->deltas, state->delta_count * sizeof *grown);
        larder__release(&txn->env->allocator, state->deltas);
        state->deltas = grown;
        state->delta_capacity = capacity;
    }
    larder__dictionary_delta_row added = {dictionary, delta};
    state->deltas[state->delta_count++] = added;
    return LARDER_OK;
}

/* ---- compressing (the writer's) ---- */

/* Keeps a raw cold part for the first training. */
static void keep_sample(larder_txn *txn, larder_bytes raw) {
    larder__blob_state *state = txn->env->blobs;
    if (!txn->env->automatic_training || txn->counters.dictionary_id != 0 ||
        state->gave_up_training || state->samples.size_bytes >= LARDER__AUTOMATIC_BYTES ||
        state->sample_count >= LARDER__AUTOMATIC_COUNT)
        return;
    if (state->sample_sizes == NULL)
        state->sample_sizes =
            larder__allocate(&txn->env->allocator, LARDER__AUTOMATIC_COUNT * sizeof(size_t));
    size_t size = raw.size_bytes < LARDER__SAMPLE_MAX ? raw.size_bytes : LARDER__SAMPLE_MAX;
    if (state->sample_sizes == NULL || !larder__buffer_append(&state->samples, raw.data, size))
        return; /* no memory: no training */
    state->sample_sizes[state->sample_count++] = size;
}

static int32_t prepare_encoder(larder_txn *txn, larder_error *error) {
    larder_env *env = txn->env;
    larder__blob_state *state = env->blobs;
    if (state->encoder == NULL) {
        state->encoder = ZSTD_createCCtx();
        if (state->encoder == NULL)
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to compress");
        ZSTD_CCtx_setParameter(state->encoder, ZSTD_c_compressionLevel, env->compression_level);
        ZSTD_CCtx_setParameter(state->encoder, ZSTD_c_dictIDFlag, 0);
        ZSTD_CCtx_setParameter(state->encoder, ZSTD_c_checksumFlag, 0);
    }
    uint32_t wanted = (uint32_t)txn->counters.dictionary_id;
    if (state->encoder_id == wanted) return LARDER_OK;
    larder__prepared prepared = {NULL, NULL};
    if (wanted != 0) {
        int64_t record_count;
        larder_bytes content;
        int32_t status = larder__dictionary_row(txn, wanted, &record_count, &content, error);
        if (status == LARDER_NOT_FOUND)
            return larder__fail(error, LARDER_E_NO_DICTIONARY, "dictionary %u is not in the store",
                                wanted);
        if (status != LARDER_OK) return status;
        status = larder__prepared_make(&env->allocator, content, env->compression_level, &prepared,
                                       error);
        if (status != LARDER_OK) return status;
    }
    ZSTD_CCtx_refCDict(state->encoder, prepared.dictionary);
    larder__prepared_free(&env->allocator, &state->encoder_dictionary);
    state->encoder_dictionary = prepared;
    state->encoder_id = wanted;
    return LARDER_OK;
}

/* Appends a frame without its magic number. */
static int32_t compress(larder_txn *txn, larder_bytes raw, larder__buffer *out,
                        larder_error *error) {
    size_t bound = ZSTD_compressBound(raw.size_bytes);
    size_t start = out->size_bytes;
    if (!larder__buffer_reserve(out, bound))
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to compress");
    size_t got = ZSTD_compress2(txn->env->blobs->encoder, out->data + start, bound, raw.data,
                                raw.size_bytes);
    if (ZSTD_isError(got) || got < MAGIC_BYTES)
        return larder__fail(error, LARDER_E_NO_MEMORY, "compressing: %s", ZSTD_getErrorName(got));
    memmove(out->data + start, out->data + start + MAGIC_BYTES, got - MAGIC_BYTES);
    out->size_bytes = start + got - MAGIC_BYTES;
    return LARDER_OK;
}

int32_t larder__cold_compress(larder_txn *txn, larder_bytes raw, larder__buffer *out,
                              uint32_t *dictionary, larder_error *error) {
    int32_t status = prepare_encoder(txn, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    keep_sample(txn, raw);
    size_t start = out->size_bytes;
    status = compress(txn, raw, out, error);
    if (status != LARDER_OK) return larder__txn_note(txn, status);
    *dictionary = txn->env->blobs->encoder_id;
    size_t limit = raw.size_bytes - raw.size_bytes * SAVING_PERCENT / 100;
    if (out->size_bytes - start < limit) return LARDER_OK;
    out->size_bytes = start;
    *dictionary = 0;
    return LARDER_NOT_FOUND;
}

/* ---- frames of their own ---- */

#define FRAME_HEAD_MAX (4 + LARDER__VARINT_MAX + 1)
#define FRAME_MAX (FRAME_HEAD_MAX + ZSTD_COMPRESSBOUND(LARDER_PAYLOAD_MAX_BYTES))

int32_t larder_blob_compress(const larder_txn *txn, larder_bytes raw, void *buffer,
                             size_t capacity_bytes, size_t *needed_bytes, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (needed_bytes == NULL || !larder__is_input(raw) ||
        !larder__is_room(buffer, capacity_bytes) || raw.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "compress takes up to %d bytes and a place for the size",
                            LARDER_PAYLOAD_MAX_BYTES);
    larder_env *env = txn->env;
    larder__buffer out = {.allocator = &env->allocator};
    ZSTD_CCtx *encoder = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(raw.size_bytes);
    if (encoder == NULL || !larder__buffer_reserve(&out, FRAME_HEAD_MAX + bound)) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to compress");
        goto done;
    }
    size_t head = 4;
    head += larder__varint_put(out.data + head, raw.size_bytes);
    out.data[head++] = 0; /* no dictionary: those of the store come and go with its records */
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_compressionLevel, env->compression_level);
    size_t got = ZSTD_compress2(encoder, out.data + head, bound, raw.data, raw.size_bytes);
    if (ZSTD_isError(got)) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "compressing: %s", ZSTD_getErrorName(got));
        goto done;
    }
    *needed_bytes = head + got;
    larder__store32(out.data, larder__crc32c(0, out.data + 4, head + got - 4));
    status = capacity_bytes < head + got ? LARDER_E_BUFFER_TOO_SMALL : LARDER_OK;
    if (status == LARDER_OK)
        memcpy(buffer, out.data, head + got);
    else
        larder__fail(error, status, "the frame has %zu bytes", head + got);
done:
    ZSTD_freeCCtx(encoder);
    larder__buffer_free(&out);
    return status;
}

int32_t larder_blob_decompress(const larder_txn *txn, larder_bytes frame, size_t max_raw_bytes,
                               void *buffer, size_t capacity_bytes, size_t *needed_bytes,
                               larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (needed_bytes == NULL || !larder__is_input(frame) ||
        !larder__is_room(buffer, capacity_bytes))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "frame, buffer or needed_bytes is NULL");
    const uint8_t *p = larder__begin(frame), *end = p + frame.size_bytes;
    uint64_t raw_bytes;
    if (frame.size_bytes < 4 || frame.size_bytes > FRAME_MAX ||
        larder__crc32c(0, p + 4, frame.size_bytes - 4) != larder__load32(p))
        return larder__fail(error, LARDER_E_INVALID_RECORD, "not a frame, or a damaged one");
    p += 4;
    size_t used = larder__varint_get(p, end, &raw_bytes);
    p += used;
    if (used == 0 || end - p < 1 + MAGIC_BYTES || *p != 0)
        return larder__fail(error, LARDER_E_INVALID_RECORD, "the frame's head is malformed");
    p++;
    if (raw_bytes > max_raw_bytes)
        return larder__fail(error, LARDER_E_TOO_LARGE,
                            "the frame holds %llu bytes; %zu are allowed",
                            (unsigned long long)raw_bytes, max_raw_bytes);
    if (raw_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_RECORD, "no frame holds %llu bytes",
                            (unsigned long long)raw_bytes);
    *needed_bytes = (size_t)raw_bytes;
    if (capacity_bytes < raw_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL, "the frame holds %llu bytes",
                            (unsigned long long)raw_bytes);
    uint8_t none[1];
    status = larder__frame_decompress(
        txn->env->vocabulary, 0, larder__bytes(p + MAGIC_BYTES, (size_t)(end - p) - MAGIC_BYTES),
        raw_bytes == 0 ? none : buffer, (size_t)raw_bytes, error);
    return status == LARDER_E_CORRUPT ? LARDER_E_INVALID_RECORD : status;
}

int32_t larder_dictionary_next(const larder_txn *txn, uint32_t after, larder_dictionary *dictionary,
                               larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (dictionary == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "dictionary is NULL");
    for (uint32_t id = after + 1; id > after && id < DICTIONARY_MAX; id++) {
        int64_t record_count;
        larder_bytes content;
        status = larder__dictionary_row(txn, id, &record_count, &content, error);
        if (status == LARDER_NOT_FOUND) continue;
        if (status != LARDER_OK) return status;
        larder_dictionary found = {id, 0, (int64_t)content.size_bytes,
                                   record_count + larder__dictionary_delta(txn, id)};
        *dictionary = found;
        return LARDER_OK;
    }
    return LARDER_END;
}

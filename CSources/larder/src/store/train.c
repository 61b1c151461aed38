/*
 * train.c - dictionaries: their training, writing their use counts, repacking with a newer one.
 *
 * The first dictionary is trained by the commit that has seen enough cold parts (automatic
 * training); later ones when asked. One sample in five is kept out of training and decides
 * whether the new dictionary is better.
 */
#include "blob.h"
#include "catalog.h"
#include "row.h"

#define DEFAULT_DICTIONARY_BYTES (8 * 1024) /* at level 1 larger ones compress worse */
#define DEFAULT_SAMPLE_BYTES (256 * 1024)
#define SMALLEST_DICTIONARY 1024
#define LARGEST_DICTIONARY (112 * 1024)
#define LARGEST_SAMPLES (8 * 1024 * 1024)
#define FEWEST_SAMPLES 40
#define KEPT_OUT_OF 5

/* ---- use counts ---- */

static int32_t put_dictionary(larder_txn *txn, uint32_t id, larder_bytes content,
                              larder_error *error) {
    larder__key key = larder__dictionary_key(id);
    static const uint8_t head[LARDER__DICTIONARY_HEAD];
    larder_bytes parts[2] = {larder__bytes(head, sizeof head), content};
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), parts, 2, error);
}

static int32_t put_count(larder_txn *txn, uint32_t id, int64_t record_count, larder_error *error) {
    larder__key key = larder__dictionary_count_key(id);
    uint8_t bytes[sizeof record_count];
    larder__store64(bytes, (uint64_t)record_count);
    larder_bytes part = larder__bytes(bytes, sizeof bytes);
    return larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &part, 1, error);
}

static int32_t flush_counts(larder_txn *txn, larder_error *error) {
    larder__blob_state *state = txn->env->blobs;
    for (size_t i = 0; i < state->delta_count; i++) {
        const larder__dictionary_delta_row *delta = &state->deltas[i];
        if (delta->records == 0) continue;
        int64_t record_count;
        larder_bytes content;
        int32_t status = larder__dictionary_row(txn, delta->id, &record_count, &content, error);
        if (status == LARDER_NOT_FOUND)
            status = larder__fail(error, LARDER_E_NO_DICTIONARY,
                                  "dictionary %u is not in the store", delta->id);
        if (status != LARDER_OK) return larder__txn_note(txn, status);
        status = put_count(txn, delta->id, record_count + delta->records, error);
        if (status != LARDER_OK) return status;
    }
    state->delta_count = 0;
    return LARDER_OK;
}

/* ---- training ---- */

typedef struct sampling {
    larder__buffer bytes;
    size_t *sizes;
    size_t count, capacity;
    size_t max_bytes;
} sampling;

static bool add_sample(sampling *s, const larder_allocator *allocator, larder_bytes raw) {
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? 256 : 2 * s->capacity;
        size_t *grown = larder__allocate(allocator, capacity * sizeof *grown);
        if (grown == NULL) return false;
        if (s->count > 0) memcpy(grown, s->sizes, s->count * sizeof *grown);
        larder__release(allocator, s->sizes);
        s->sizes = grown;
        s->capacity = capacity;
    }
    size_t size = raw.size_bytes < LARDER__SAMPLE_MAX ? raw.size_bytes : LARDER__SAMPLE_MAX;
    if (!larder__buffer_append(&s->bytes, raw.data, size)) return false;
    s->sizes[s->count++] = size;
    return true;
}

static void free_sampling(sampling *s, const larder_allocator *allocator) {
    larder__buffer_free(&s->bytes);
    larder__release(allocator, s->sizes);
}

/* Parts the samples: every fifth goes to the end. trained_count: those before. */
static bool keep_out(sampling *s, const larder_allocator *allocator, size_t *trained_count) {
    sampling sorted = {.bytes.allocator = allocator};
    bool is_ok = true;
    for (int pass = 0; pass < 2 && is_ok; pass++) {
        size_t at = 0;
        for (size_t i = 0; i < s->count && is_ok; i++) {
            bool is_out = i % KEPT_OUT_OF == KEPT_OUT_OF - 1;
            if (is_out == (pass == 1))
                is_ok =
                    add_sample(&sorted, allocator, larder__bytes(s->bytes.data + at, s->sizes[i]));
            at += s->sizes[i];
        }
        if (pass == 0) *trained_count = sorted.count;
    }
    if (!is_ok) {
        free_sampling(&sorted, allocator);
        return false;
    }
    free_sampling(s, allocator);
    *s = sorted;
    return true;
}

/* The kept-out samples compressed with a dictionary (NULL: none); -1 without memory. */
static int64_t measure(const sampling *s, size_t trained_count, const ZSTD_CDict *dictionary,
                       int level) {
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(LARDER__SAMPLE_MAX), at = 0;
    uint8_t out[LARDER__SAMPLE_MAX + LARDER__SAMPLE_MAX / 128 + 512];
    int64_t total = context == NULL || bound > sizeof out ? -1 : 0;
    if (context != NULL) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(context, ZSTD_c_dictIDFlag, 0);
        ZSTD_CCtx_refCDict(context, dictionary);
    }
    for (size_t i = 0; i < s->count && total >= 0; at += s->sizes[i], i++) {
        if (i < trained_count) continue;
        size_t got = ZSTD_compress2(context, out, sizeof out, s->bytes.data + at, s->sizes[i]);
        total = ZSTD_isError(got) ? -1 : total + (int64_t)got;
    }
    ZSTD_freeCCtx(context);
    return total;
}

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to train a dictionary");
}

/* Trains on samples, and puts the dictionary into use when it is at least 5 % better on those
 * kept out. NOT_FOUND when it is not. */
static int32_t train(larder_txn *txn, sampling *s, size_t dictionary_bytes,
                     larder_train_result *result, larder_error *error) {
    larder_env *env = txn->env;
    int level = env->compression_level;
    size_t trained_count = 0, trained_bytes = 0;
    larder__prepared old = {NULL, NULL}, made = {NULL, NULL};
    larder__buffer content = {.allocator = &env->allocator};
    int32_t status = LARDER_OK;
    if (!keep_out(s, &env->allocator, &trained_count)) return no_memory(error);
    for (size_t i = 0; i < trained_count; i++)
        trained_bytes += s->sizes[i];
    /* A dictionary larger than a quarter of its samples only repeats them. */
    if (dictionary_bytes > trained_bytes / 4) dictionary_bytes = trained_bytes / 4;
    if (dictionary_bytes < SMALLEST_DICTIONARY) return LARDER_NOT_FOUND;
    status = larder__dictionary_train(env, s->bytes.data, s->sizes, trained_count, &content,
                                      dictionary_bytes, error);
    if (status != LARDER_OK) goto done;
    larder_bytes trained = larder__bytes(content.data, content.size_bytes);
    if (txn->counters.dictionary_id != 0) {
        int64_t record_count;
        larder_bytes bytes;
        status = larder__dictionary_row(txn, (uint32_t)txn->counters.dictionary_id, &record_count,
                                        &bytes, error);
        if (status == LARDER_OK)
            status = larder__prepared_make(&env->allocator, bytes, level, &old, error);
        if (status < 0) goto done;
    }
    status = larder__prepared_make(&env->allocator, trained, level, &made, error);
    if (status != LARDER_OK) goto done;
    result->sample_count = (uint32_t)s->count;
    result->sample_bytes = (int64_t)s->bytes.size_bytes;
    result->before_bytes = measure(s, trained_count, old.dictionary, level);
    result->after_bytes = measure(s, trained_count, made.dictionary, level);
    if (result->before_bytes < 0 || result->after_bytes < 0) {
        status = no_memory(error);
        goto done;
    }
    status = LARDER_NOT_FOUND;
    if (result->after_bytes * 20 >= result->before_bytes * 19 ||
        txn->counters.next_dictionary + 1 >= LARDER__DICTIONARY_MAX)
        goto done;
    uint32_t id = (uint32_t)++txn->counters.next_dictionary;
    status = put_dictionary(txn, id, trained, error);
    if (status != LARDER_OK) goto done;
    txn->counters.dictionary_id = id;
    if (env->blobs->first_made == 0) env->blobs->first_made = id;
    result->dictionary_id = id;
    result->dictionary_bytes = (int64_t)trained.size_bytes;
    larder__log(env, LARDER_LOG_INFO, "dictionary %u: %zu bytes, samples %lld -> %lld", id,
                trained.size_bytes, (long long)result->before_bytes,
                (long long)result->after_bytes);
done:
    larder__prepared_free(&env->allocator, &old);
    larder__prepared_free(&env->allocator, &made);
    larder__buffer_free(&content);
    return status;
}

/* ---- samples from the store ---- */

/* The raw cold container of a row into txn->scratch; NOT_FOUND when it has none. */
static int32_t raw_cold(larder_txn *txn, const larder_record *record, larder_error *error) {
    if (record->cold_raw_bytes == 0) return LARDER_NOT_FOUND;
    txn->scratch.size_bytes = 0;
    if (!larder__buffer_reserve(&txn->scratch, record->cold_raw_bytes)) return no_memory(error);
    txn->scratch.size_bytes = record->cold_raw_bytes;
    if ((record->flags & LARDER__RECORD_LOADED) != 0) {
        memcpy(txn->scratch.data, record->cold.data, record->cold_raw_bytes);
        return LARDER_OK;
    }
    return larder__cold_decompress(txn->env->vocabulary, record->dictionary, record->cold,
                                   txn->scratch.data, record->cold_raw_bytes, error);
}

/* Every stride-th document gives a sample, so that they are spread over the store. */
static int32_t sample_store(larder_txn *txn, sampling *s, larder_error *error) {
    int64_t documents = txn->counters.found_count;
    int64_t wanted = s->max_bytes < 256 ? 1 : (int64_t)(s->max_bytes / 256);
    int64_t stride = documents > wanted ? documents / wanted : 1, at = 0;
    larder__cursor cursor;
    int32_t status = larder__cursor_open(txn, LARDER__DOCUMENTS, &cursor, error);
    if (status != LARDER_OK) return status;
    for (status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), error);
         status == LARDER_OK && s->bytes.size_bytes < s->max_bytes;
         status = larder__cursor_next(&cursor, error)) {
        if (at++ % stride != 0) continue;
        larder_document document;
        if (larder__row_read(txn, LARDER__DOCUMENTS, cursor.key, cursor.value, &document, NULL) !=
            LARDER_OK)
            continue;
        int32_t found = raw_cold(txn, &document.record, NULL);
        if (found == LARDER_OK &&
            !add_sample(s, &txn->env->allocator,
                        larder__bytes(txn->scratch.data, txn->scratch.size_bytes)))
            found = no_memory(error);
        if (found == LARDER_E_NO_MEMORY) {
            status = found;
            break;
        }
    }
    larder__cursor_close(&cursor);
    return status < 0 ? status : LARDER_OK;
}

int32_t larder_blob_train(larder_txn *txn, size_t dictionary_bytes, size_t max_sample_bytes,
                          larder_train_result *result, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    larder_train_result unused;
    if (result == NULL) result = &unused;
    memset(result, 0, sizeof *result);
    if (dictionary_bytes == 0) dictionary_bytes = DEFAULT_DICTIONARY_BYTES;
    if (max_sample_bytes == 0) max_sample_bytes = DEFAULT_SAMPLE_BYTES;
    if (dictionary_bytes < SMALLEST_DICTIONARY || dictionary_bytes > LARGEST_DICTIONARY)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a dictionary of %zu bytes is not in %d..%d", dictionary_bytes,
                            SMALLEST_DICTIONARY, LARGEST_DICTIONARY);
    if (max_sample_bytes > LARGEST_SAMPLES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "%zu bytes of samples; %d are allowed", max_sample_bytes,
                            LARGEST_SAMPLES);
    sampling s = {.bytes.allocator = &txn->env->allocator, .max_bytes = max_sample_bytes};
    status = sample_store(txn, &s, error);
    if (status == LARDER_OK && s.count < FEWEST_SAMPLES) status = LARDER_NOT_FOUND;
    if (status == LARDER_OK) status = train(txn, &s, dictionary_bytes, result, error);
    free_sampling(&s, &txn->env->allocator);
    return larder__txn_note(txn, status);
}

/* ---- automatic training ---- */

static void drop_samples(larder_env *env) {
    larder__buffer_free(&env->blobs->samples);
    larder__release(&env->allocator, env->blobs->sample_sizes);
    env->blobs->sample_sizes = NULL;
    env->blobs->sample_count = 0;
}

static int32_t train_automatically(larder_txn *txn, larder_error *error) {
    larder__blob_state *state = txn->env->blobs;
    if (txn->counters.dictionary_id != 0 || state->samples.size_bytes < LARDER__AUTOMATIC_BYTES ||
        state->sample_count < FEWEST_SAMPLES)
        return LARDER_OK;
    sampling s = {.bytes.allocator = &txn->env->allocator};
    size_t at = 0;
    bool has_memory = true;
    for (size_t i = 0; i < state->sample_count && has_memory; i++) {
        has_memory = add_sample(&s, &txn->env->allocator,
                                larder__bytes(state->samples.data + at, state->sample_sizes[i]));
        at += state->sample_sizes[i];
    }
    larder_train_result result;
    int32_t status =
        has_memory ? train(txn, &s, DEFAULT_DICTIONARY_BYTES, &result, error) : LARDER_NOT_FOUND;
    free_sampling(&s, &txn->env->allocator);
    drop_samples(txn->env);
    if (status == LARDER_NOT_FOUND) state->gave_up_training = true;
    return status < 0 ? larder__txn_note(txn, status) : LARDER_OK;
}

int32_t larder__blob_commit(larder_txn *txn, larder_error *error) {
    int32_t status = flush_counts(txn, error);
    return status == LARDER_OK ? train_automatically(txn, error) : status;
}

void larder__blob_ended(larder_txn *txn, bool committed) {
    larder__blob_state *state = txn->env->blobs;
    state->delta_count = 0;
    /* The numbers of dictionaries that were not committed will be given again. */
    if (!committed && state->first_made != 0)
        for (uint32_t id = state->first_made; id <= (uint32_t)txn->counters.next_dictionary; id++)
            larder__blob_forget(txn->env, id);
    state->first_made = 0;
}

/* ---- repacking ---- */

/* The row of a document with its cold part recompressed, in txn->row. NOT_FOUND: as it was. */
static int32_t repack_row(larder_txn *txn, larder_bytes key, larder_bytes row,
                          const larder_document *document, uint32_t *dictionary,
                          larder_error *error) {
    const larder_record *record = &document->record;
    int32_t status = raw_cold(txn, record, error);
    if (status != LARDER_OK) return status;
    larder__buffer *packed = &txn->cold;
    packed->size_bytes = 0;
    status = larder__cold_compress(txn, larder__bytes(txn->scratch.data, txn->scratch.size_bytes),
                                   packed, dictionary, error);
    if (status != LARDER_OK) return status;
    if (packed->size_bytes >= record->cold.size_bytes) return LARDER_NOT_FOUND;
    return larder__row_replace_cold(txn, key, row, record, *dictionary,
                                    larder__bytes(packed->data, packed->size_bytes), error);
}

static int32_t repack_document(larder_txn *txn, larder_bytes key, larder_bytes value,
                               int64_t *changed_count, larder_error *error) {
    larder_document document;
    /* The row is copied: writing would move it. */
    larder__key own_key = {.size_bytes = 0};
    larder__key_append(&own_key, key.data, key.size_bytes);
    txn->old.size_bytes = 0;
    if (!larder__buffer_append(&txn->old, value.data, value.size_bytes)) return no_memory(error);
    larder_bytes row = larder__bytes(txn->old.data, txn->old.size_bytes);
    int32_t status = larder__row_read(txn, LARDER__DOCUMENTS, larder__key_bytes(&own_key), row,
                                      &document, error);
    if (status == LARDER_E_CORRUPT) return LARDER_OK; /* logged; check reports it */
    if (status != LARDER_OK) return status;
    const larder_record *record = &document.record;
    bool is_raw = (record->flags & LARDER__RECORD_LOADED) != 0;
    if (record->cold_raw_bytes == 0 ||
        (!is_raw && (int64_t)record->dictionary == txn->counters.dictionary_id))
        return LARDER_OK;
    uint32_t dictionary = 0;
    status = repack_row(txn, larder__key_bytes(&own_key), row, &document, &dictionary, error);
    if (status == LARDER_NOT_FOUND) return LARDER_OK;
    if (status != LARDER_OK) return status;
    const uint8_t *at = own_key.bytes, *end = at + own_key.size_bytes;
    uint64_t collection = 0;
    larder__key_read_number(&at, end, &collection);
    int64_t grown = larder__row_cost(own_key.size_bytes, txn->row.size_bytes) -
                    larder__row_cost(own_key.size_bytes, row.size_bytes);
    status = larder__table_put(txn, LARDER__DOCUMENTS, larder__key_bytes(&own_key),
                               larder__bytes(txn->row.data, txn->row.size_bytes), error);
    if (status == LARDER_OK) status = larder__collection_count(txn, collection, 0, grown, error);
    txn->counters.stored_record_bytes += (int64_t)txn->row.size_bytes - (int64_t)row.size_bytes;
    if (status == LARDER_OK && record->dictionary != 0)
        status = larder__dictionary_count(txn, record->dictionary, -1, error);
    if (status == LARDER_OK && dictionary != 0)
        status = larder__dictionary_count(txn, dictionary, 1, error);
    if (changed_count != NULL) (*changed_count)++;
    return status;
}

/* Removes dictionaries that nothing uses, but the one in use. */
static int32_t remove_unused(larder_txn *txn, larder_error *error) {
    int32_t status = flush_counts(txn, error);
    for (uint32_t id = 1; status >= 0 && id <= (uint32_t)txn->counters.next_dictionary; id++) {
        int64_t record_count;
        larder_bytes content;
        status = larder__dictionary_row(txn, id, &record_count, &content, error);
        if (status != LARDER_OK || record_count != 0 || (int64_t)id == txn->counters.dictionary_id)
            continue;
        larder__key key = larder__dictionary_key(id);
        status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
        key = larder__dictionary_count_key(id);
        if (status >= 0)
            status = larder__table_remove(txn, LARDER__CATALOG, larder__key_bytes(&key), error);
    }
    return status < 0 ? status : LARDER_OK;
}

int32_t larder_blob_repack(larder_txn *txn, int64_t max_documents, larder_repack *repack,
                           int64_t *changed_count, larder_error *error) {
    int32_t status = larder__txn_check_write(txn, error);
    if (status != LARDER_OK) return status;
    if (repack == NULL || max_documents <= 0 || repack->key_bytes > sizeof repack->key ||
        repack->key_bytes > LARDER__KEY_MAX)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "repack is NULL or not zeroed, or max_documents is not above 0");
    if (changed_count != NULL) *changed_count = 0;
    for (int64_t i = 0; i < max_documents && status == LARDER_OK; i++) {
        larder__cursor cursor;
        status = larder__cursor_open(txn, LARDER__DOCUMENTS, &cursor, error);
        if (status != LARDER_OK) break;
        status = larder__cursor_seek(&cursor, larder__bytes(repack->key, repack->key_bytes), error);
        if (status == LARDER_OK) {
            memcpy(repack->key, cursor.key.data, cursor.key.size_bytes);
            repack->key[cursor.key.size_bytes] = 0; /* behind this one */
            repack->key_bytes = (uint32_t)cursor.key.size_bytes + 1;
            status = repack_document(txn, cursor.key, cursor.value, changed_count, error);
        }
        larder__cursor_close(&cursor);
    }
    if (status == LARDER_OK) return LARDER_MORE;
    if (status == LARDER_END) status = remove_unused(txn, error);
    return larder__txn_note(txn, status);
}

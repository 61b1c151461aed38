/*
 * dictionary.c - zstd's dictionaries, trained and prepared so that missing memory is a status.
 *
 * zstd up to 1.5.5 uses a dictionary for compressing that it could not allocate. So one is prepared in
 * memory of ours. The trainer makes one of its own: the memory that it takes is asked for before, and
 * where it still gets none the call is left (guard.h), and what it had allocated is lost.
 */
#define ZSTD_STATIC_LINKING_ONLY /* all that is used is part of libzstd.so since 1.3.6 */
#define ZDICT_STATIC_LINKING_ONLY
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "blob.h"
#include "guard.h"

/* zstd takes this for the size of what is compressed, when it prepares a dictionary. */
#define EXPECTED_BYTES 513
/* Parameters of the trainer: the search for the best ones takes ten times as long and finds none better
 * here. */
#define SEGMENT_BYTES 800
#define MATCH_BYTES 8
#define FREQUENCY_BITS 16
#define BLOCK_BYTES ((size_t)128 << 10) /* compressed at once */

static int32_t no_memory(larder_error *error) {
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a dictionary");
}

/* ---- preparing ---- */

int32_t larder__prepared_make(const larder_allocator *allocator, larder_bytes content, int level,
                              larder__prepared *prepared, larder_error *error) {
    ZSTD_compressionParameters parameters =
        ZSTD_getCParams(level, EXPECTED_BYTES, content.size_bytes);
    size_t size = ZSTD_estimateCDictSize_advanced(content.size_bytes, parameters, ZSTD_dlm_byCopy);
    prepared->dictionary = NULL;
    prepared->memory = larder__allocate(allocator, size);
    if (prepared->memory == NULL) return no_memory(error);
    prepared->dictionary =
        ZSTD_initStaticCDict(prepared->memory, size, content.data, content.size_bytes,
                             ZSTD_dlm_byCopy, ZSTD_dct_auto, parameters);
    if (prepared->dictionary != NULL) return LARDER_OK;
    larder__prepared_free(allocator, prepared);
    return larder__fail(error, LARDER_E_CORRUPT, "a dictionary that zstd does not take");
}

void larder__prepared_free(const larder_allocator *allocator, larder__prepared *prepared) {
    larder__release(allocator, prepared->memory);
    *prepared = (larder__prepared){NULL, NULL};
}

/* ---- training ---- */

typedef struct training {
    void *dictionary;
    size_t capacity_bytes;
    const void *samples;
    const size_t *sizes;
    unsigned count;
    ZDICT_fastCover_params_t parameters;
    size_t result; /* zstd's */
} training;

static void run(void *context) {
    training *t = context;
    t->result = ZDICT_trainFromBuffer_fastCover(t->dictionary, t->capacity_bytes, t->samples,
                                                t->sizes, t->count, t->parameters);
}

/* What the trainer allocates: two tables of frequencies, the places of samples, a dictionary, a context
 * and a block. */
static size_t training_bytes(const training *t) {
    ZSTD_compressionParameters parameters = ZSTD_getCParams(t->parameters.zParams.compressionLevel,
                                                            LARDER__SAMPLE_MAX, t->capacity_bytes);
    return (sizeof(uint32_t) + sizeof(uint16_t)) * ((size_t)1 << FREQUENCY_BITS) +
           (t->count + 1) * sizeof(size_t) +
           ZSTD_estimateCDictSize_advanced(t->capacity_bytes, parameters, ZSTD_dlm_byRef) +
           ZSTD_estimateCCtxSize_usingCParams(parameters) + 2 * BLOCK_BYTES;
}

int32_t larder__dictionary_train(const larder_env *env, const void *samples, const size_t *sizes,
                                 size_t count, larder__buffer *content, size_t capacity_bytes,
                                 larder_error *error) {
    if (!larder__buffer_reserve(content, capacity_bytes)) return no_memory(error);
    training t = {
        .dictionary = content->data,
        .capacity_bytes = capacity_bytes,
        .samples = samples,
        .sizes = sizes,
        .count = (unsigned)count,
        .parameters = {.k = SEGMENT_BYTES, .d = MATCH_BYTES, .f = FREQUENCY_BITS, .accel = 1}};
    t.parameters.zParams.compressionLevel = env->compression_level;
    void *room = larder__allocate(&larder__default_allocator, training_bytes(&t)); /* zstd's, too */
    larder__release(&larder__default_allocator, room);
    if (room == NULL || !larder__guard_run(run, &t)) return no_memory(error);
    if (ZSTD_getErrorCode(t.result) == ZSTD_error_memory_allocation) return no_memory(error);
    if (ZDICT_isError(t.result)) {
        larder__log(env, LARDER_LOG_INFO, "training a dictionary: %s",
                    ZDICT_getErrorName(t.result));
        return LARDER_NOT_FOUND;
    }
    content->size_bytes = t.result;
    return LARDER_OK;
}

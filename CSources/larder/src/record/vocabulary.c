/* vocabulary.c - sharing what records need, and decompressing with it (vocabulary.h). */
#include "vocabulary.h"

#define MAGIC_BYTES 4
#define CLOSED (INT64_MIN / 2)      /* no count comes near it */
#define SETTLING ((int64_t)1 << 40) /* keeps `remaining` above 0 while stripes are closed */

typedef struct larder__context {
    ZSTD_DCtx *decoder;
    larder__buffer frame;
} context;

int32_t larder__vocabulary_create(const larder_allocator *allocator, larder_vocabulary **vocabulary,
                                  larder_error *error) {
    larder_vocabulary *created = larder__allocate(allocator, sizeof *created);
    if (created == NULL)
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for shapes and dictionaries");
    memset(created, 0, sizeof *created);
    created->allocator = *allocator;
    *vocabulary = created;
    return LARDER_OK;
}

/* ---- users ---- */

static void free_context(context *c) {
    const larder_allocator *allocator = c->frame.allocator;
    ZSTD_freeDCtx(c->decoder);
    larder__buffer_free(&c->frame);
    larder__release(allocator, c);
}

static void free_dictionary(larder_vocabulary *vocabulary, larder__dictionary *dictionary) {
    if (dictionary == NULL) return;
    ZSTD_freeDDict(dictionary->decoder);
    larder__release(&vocabulary->allocator, dictionary);
}

static void free_vocabulary(larder_vocabulary *vocabulary) {
    larder_allocator allocator = vocabulary->allocator;
    for (size_t i = 0; i <= LARDER__SHAPE_MAX; i++)
        larder__release(&allocator, atomic_load(&vocabulary->shapes[i]));
    for (size_t i = 0; i < LARDER__DICTIONARY_MAX; i++)
        free_dictionary(vocabulary, atomic_load(&vocabulary->dictionaries[i]));
    for (size_t i = 0; i < LARDER__STRIPES; i++) {
        context *c = atomic_load(&vocabulary->contexts[i]);
        if (c != NULL) free_context(c);
    }
    larder__release(&allocator, vocabulary);
}

static void count_remaining(larder_vocabulary *vocabulary, int64_t delta) {
    if (atomic_fetch_add(&vocabulary->remaining, delta) + delta == 0) free_vocabulary(vocabulary);
}

void larder__vocabulary_leave(larder_vocabulary *vocabulary) {
    if (vocabulary == NULL) return;
    atomic_store(&vocabulary->remaining, SETTLING);
    for (size_t i = 0; i < LARDER__STRIPES; i++) {
        int64_t count = atomic_exchange(&vocabulary->users.stripes[i].count, CLOSED);
        atomic_fetch_add(&vocabulary->remaining, count);
    }
    count_remaining(vocabulary, -SETTLING);
}

/* On a stripe that is closed, in `remaining`. */
static void count_user(larder_vocabulary *vocabulary, int64_t delta) {
    _Atomic int64_t *stripe = &vocabulary->users.stripes[larder__stripe()].count;
    if (atomic_fetch_add(stripe, delta) < CLOSED / 2) count_remaining(vocabulary, delta);
}

void larder__vocabulary_retain(larder_vocabulary *vocabulary) { count_user(vocabulary, 1); }
void larder__vocabulary_release(larder_vocabulary *vocabulary) { count_user(vocabulary, -1); }

/* ---- dictionaries ---- */

int32_t larder__dictionary_add(larder_vocabulary *vocabulary, uint32_t id, larder_bytes content,
                               larder_error *error) {
    larder__dictionary *there = NULL;
    larder__dictionary *added = larder__allocate(&vocabulary->allocator, sizeof *added);
    if (added == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a dictionary");
    added->size_bytes = content.size_bytes;
    added->decoder = ZSTD_createDDict(content.data, content.size_bytes);
    if (added->decoder == NULL) {
        larder__release(&vocabulary->allocator, added);
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a dictionary");
    }
    if (!atomic_compare_exchange_strong(&vocabulary->dictionaries[id], &there, added))
        free_dictionary(vocabulary, added);
    return LARDER_OK;
}

void larder__dictionary_forget(larder_vocabulary *vocabulary, uint32_t id) {
    if (id < LARDER__DICTIONARY_MAX)
        free_dictionary(vocabulary, atomic_exchange(&vocabulary->dictionaries[id], NULL));
}

/* ---- decompressing ---- */

/* An idle context, the thread's own stripe's first, or a new one. */
static context *take_context(larder_vocabulary *vocabulary) {
    uint32_t first = larder__stripe();
    for (uint32_t i = 0; i < LARDER__STRIPES; i++) {
        _Atomic(context *) *slot = &vocabulary->contexts[(first + i) % LARDER__STRIPES];
        if (atomic_load_explicit(slot, memory_order_relaxed) == NULL) continue;
        context *c = atomic_exchange(slot, NULL);
        if (c != NULL) return c;
    }
    context *c = larder__allocate(&vocabulary->allocator, sizeof *c);
    if (c == NULL) return NULL;
    memset(c, 0, sizeof *c);
    c->frame.allocator = &vocabulary->allocator;
    c->decoder = ZSTD_createDCtx();
    if (c->decoder != NULL) return c;
    larder__release(&vocabulary->allocator, c);
    return NULL;
}

static void give_context(larder_vocabulary *vocabulary, context *c) {
    uint32_t first = larder__stripe();
    for (uint32_t i = 0; i < LARDER__STRIPES; i++) {
        context *none = NULL;
        if (atomic_compare_exchange_strong(&vocabulary->contexts[(first + i) % LARDER__STRIPES],
                                           &none, c))
            return;
    }
    free_context(c);
}

int32_t larder__cold_check(larder_bytes cold, larder_bytes *frame, larder_error *error) {
    *frame = cold;
    if (cold.size_bytes < LARDER__COLD_CHECKSUM_FROM) return LARDER_OK;
    *frame = larder__bytes(larder__begin(cold) + LARDER__COLD_CHECKSUM_BYTES,
                           cold.size_bytes - LARDER__COLD_CHECKSUM_BYTES);
    if (larder__checksum(0, frame->data, frame->size_bytes) == larder__load32(cold.data))
        return LARDER_OK;
    return larder__fail(error, LARDER_E_CORRUPT,
                        "the checksum of a compressed part does not match");
}

int32_t larder__cold_decompress(const larder_vocabulary *vocabulary, uint32_t dictionary,
                                larder_bytes cold, void *buffer, size_t raw_bytes,
                                larder_error *error) {
    larder_bytes frame;
    int32_t status = larder__cold_check(cold, &frame, error);
    if (status != LARDER_OK) return status;
    return larder__frame_decompress(vocabulary, dictionary, frame, buffer, raw_bytes, error);
}

int32_t larder__frame_decompress(const larder_vocabulary *shared, uint32_t dictionary,
                                 larder_bytes frame, void *buffer, size_t raw_bytes,
                                 larder_error *error) {
    larder_vocabulary *vocabulary = (larder_vocabulary *)(uintptr_t)shared;
    const larder__dictionary *d = larder__dictionary_find(vocabulary, dictionary);
    if (dictionary != 0 && d == NULL)
        return larder__fail(error, LARDER_E_NO_DICTIONARY, "dictionary %u is not loaded",
                            dictionary);
    context *c = take_context(vocabulary);
    if (c == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to decompress");
    static const uint8_t magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};
    int32_t status = LARDER_OK;
    c->frame.size_bytes = 0;
    if (!larder__buffer_append(&c->frame, magic, sizeof magic) ||
        !larder__buffer_append(&c->frame, frame.data, frame.size_bytes)) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory to decompress");
    } else {
        size_t got = ZSTD_decompress_usingDDict(c->decoder, buffer, raw_bytes, c->frame.data,
                                                c->frame.size_bytes, d == NULL ? NULL : d->decoder);
        if (ZSTD_isError(got))
            status = larder__fail(error, LARDER_E_CORRUPT, "a compressed part: %s",
                                  ZSTD_getErrorName(got));
        else if (got != raw_bytes)
            status = larder__fail(error, LARDER_E_CORRUPT,
                                  "a compressed part has %zu bytes instead of %zu", got, raw_bytes);
    }
    give_context(vocabulary, c);
    return status;
}

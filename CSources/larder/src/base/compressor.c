/*
 * compressor.c - zstd for bytes in memory that are not stored, with contexts that are made once.
 */
#include <stdbool.h>
#include <zstd.h>

#include "bytes.h"
#include "error.h"
#include "process.h"

/* No frame of a payload has more bytes. */
#define FRAME_MAX ZSTD_COMPRESSBOUND(LARDER_PAYLOAD_MAX_BYTES)
/* Small frames gain little from higher levels, which take several times as long. */
#define LEVEL 1

struct larder_compressor {
    ZSTD_CCtx *encoder;
    ZSTD_DCtx *decoder;
};

int32_t larder_compressor_create(larder_compressor **compressor, larder_error *error) {
    if (compressor == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "compressor is NULL");
    larder_compressor *made = larder__allocate(&larder__default_allocator, sizeof *made);
    if (made == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a compressor");
    *made = (larder_compressor){ZSTD_createCCtx(), ZSTD_createDCtx()};
    larder__handle_opened();
    if (made->encoder == NULL || made->decoder == NULL) {
        larder_compressor_close(made);
        return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a compressor");
    }
    *compressor = made;
    return LARDER_OK;
}

void larder_compressor_close(larder_compressor *compressor) {
    if (compressor == NULL) return;
    ZSTD_freeCCtx(compressor->encoder);
    ZSTD_freeDCtx(compressor->decoder);
    larder__release(&larder__default_allocator, compressor);
    larder__handle_closed();
}

static bool are_valid(const larder_compressor *compressor, larder_bytes bytes, const void *buffer,
                      size_t capacity_bytes, const size_t *needed_bytes) {
    return compressor != NULL && needed_bytes != NULL && larder__is_input(bytes) &&
           larder__is_room(buffer, capacity_bytes);
}

int32_t larder_compressor_compress(larder_compressor *compressor, larder_bytes raw, void *buffer,
                                   size_t capacity_bytes, size_t *needed_bytes,
                                   larder_error *error) {
    if (!are_valid(compressor, raw, buffer, capacity_bytes, needed_bytes) ||
        raw.size_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "compress takes a compressor, up to %d bytes, and a place for the size",
                            LARDER_PAYLOAD_MAX_BYTES);
    size_t bound = ZSTD_compressBound(raw.size_bytes);
    size_t got = ZSTD_compressCCtx(compressor->encoder, buffer,
                                   capacity_bytes < bound ? capacity_bytes : bound, raw.data,
                                   raw.size_bytes, LEVEL);
    if (!ZSTD_isError(got)) {
        *needed_bytes = got;
        return LARDER_OK;
    }
    if (capacity_bytes >= bound)
        return larder__fail(error, LARDER_E_NO_MEMORY, "compressing: %s", ZSTD_getErrorName(got));
    *needed_bytes = bound;
    return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                        "the frame is larger than %zu bytes, and has at most %zu", capacity_bytes,
                        bound);
}

int32_t larder_compressor_decompress(larder_compressor *compressor, larder_bytes frame,
                                     void *buffer, size_t capacity_bytes, size_t *needed_bytes,
                                     larder_error *error) {
    if (!are_valid(compressor, frame, buffer, capacity_bytes, needed_bytes))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "decompress takes a compressor, a frame, and a place for the size");
    unsigned long long raw_bytes = ZSTD_getFrameContentSize(frame.data, frame.size_bytes);
    if (frame.size_bytes > FRAME_MAX || raw_bytes == ZSTD_CONTENTSIZE_UNKNOWN ||
        raw_bytes == ZSTD_CONTENTSIZE_ERROR || raw_bytes > LARDER_PAYLOAD_MAX_BYTES)
        return larder__fail(error, LARDER_E_INVALID_RECORD, "not a frame of a compressor");
    *needed_bytes = (size_t)raw_bytes;
    if (capacity_bytes < raw_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL, "the frame holds %llu bytes",
                            raw_bytes);
    uint8_t none[1];
    size_t got = ZSTD_decompressDCtx(compressor->decoder, raw_bytes == 0 ? none : buffer,
                                     (size_t)raw_bytes, frame.data, frame.size_bytes);
    if (ZSTD_isError(got) || got != raw_bytes)
        return larder__fail(error, LARDER_E_INVALID_RECORD, "the frame is damaged");
    return LARDER_OK;
}

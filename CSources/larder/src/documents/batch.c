/* batch.c - see batch.h. */
#include "batch.h"

enum { ATTEMPTS_AT = 9, LAST_ATTEMPT_AT = 13, HEAD_BYTES = 22 };

static bool append_varint(larder__buffer *out, uint64_t value) {
    uint8_t bytes[LARDER__VARINT_MAX];
    return larder__buffer_append(out, bytes, larder__varint_put(bytes, value));
}

static bool append_sized(larder__buffer *out, larder_bytes bytes) {
    return append_varint(out, bytes.size_bytes) &&
           larder__buffer_append(out, bytes.data, bytes.size_bytes);
}

bool larder__batch_append(larder__buffer *out, const larder_batch *batch) {
    uint8_t head[HEAD_BYTES];
    larder__time_put(head, batch->local_write_time);
    larder__store32(head + ATTEMPTS_AT, batch->attempt_count);
    larder__time_put(head + LAST_ATTEMPT_AT, batch->last_attempt);
    return larder__buffer_append(out, head, sizeof head) && append_sized(out, batch->last_error) &&
           append_sized(out, batch->payload);
}

static size_t version_bytes(larder_time version) {
    return version.seconds != 0 || version.nanoseconds != 0 ? LARDER__TIME_BYTES : 0;
}

size_t larder__batch_document_bytes(const larder_mutation_document *document) {
    return 4 + 1 + version_bytes(document->base_version) + document->name.size_bytes;
}

bool larder__batch_append_documents(larder__buffer *out, const larder_mutation_document *documents,
                                    size_t count) {
    size_t ends_at, end = 0;
    if (!append_varint(out, count) || !larder__buffer_reserve(out, 4 * count)) return false;
    ends_at = out->size_bytes;
    out->size_bytes += 4 * count;
    for (size_t i = 0; i < count; i++) {
        uint8_t head[1 + LARDER__TIME_BYTES] = {0};
        larder_bytes name = documents[i].name;
        size_t head_size = 1 + version_bytes(documents[i].base_version);
        if (head_size > 1) {
            head[0] = 1;
            larder__time_put(head + 1, documents[i].base_version);
        }
        if (!larder__buffer_append(out, head, head_size) ||
            !larder__buffer_append(out, name.data, name.size_bytes))
            return false;
        end += head_size + name.size_bytes;
        larder__store32(out->data + ends_at + 4 * i, (uint32_t)end);
    }
    return true;
}

static bool take_sized(const uint8_t **at, const uint8_t *end, larder_bytes *bytes) {
    uint64_t size;
    size_t n = larder__varint_get(*at, end, &size);
    if (n == 0 || size > (uint64_t)(end - *at - (ptrdiff_t)n)) return false;
    *bytes = larder__bytes(*at + n, (size_t)size);
    *at += n + size;
    return true;
}

bool larder__batch_parse(larder_bytes row, int64_t batch_id, larder_batch *batch) {
    const uint8_t *at = row.data, *end = at + row.size_bytes;
    uint64_t count;
    if (row.size_bytes < HEAD_BYTES) return false;
    memset(batch, 0, sizeof *batch);
    batch->batch_id = batch_id;
    batch->attempt_count = larder__load32(at + ATTEMPTS_AT);
    if (!larder__time_get(at, &batch->local_write_time) ||
        !larder__time_get(at + LAST_ATTEMPT_AT, &batch->last_attempt))
        return false;
    at += HEAD_BYTES;
    if (!take_sized(&at, end, &batch->last_error) || !take_sized(&at, end, &batch->payload))
        return false;
    batch->documents = larder__bytes(at, (size_t)(end - at));
    size_t n = larder__varint_get(at, end, &count);
    if (n == 0 || count > (uint64_t)(end - at - (ptrdiff_t)n) / 4) return false;
    batch->document_count = (uint32_t)count;
    return true;
}

int32_t larder_batch_get_document(const larder_batch *batch, size_t position,
                                  larder_mutation_document *document) {
    if (!batch || !document || !larder__is_input(batch->documents))
        return LARDER_E_INVALID_ARGUMENT;
    if (position >= batch->document_count) return LARDER_NOT_FOUND;
    const uint8_t *at = batch->documents.data, *end = at + batch->documents.size_bytes;
    uint64_t count;
    size_t n = larder__varint_get(at, end, &count);
    if (n == 0 || position >= count || count > (uint64_t)(end - at - (ptrdiff_t)n) / 4)
        return LARDER_E_CORRUPT;
    const uint8_t *ends = at + n, *entries = ends + 4 * count;
    uint32_t start = position > 0 ? larder__load32(ends + 4 * (position - 1)) : 0;
    uint32_t stop = larder__load32(ends + 4 * position);
    if (start >= stop || stop > (uint64_t)(end - entries)) return LARDER_E_CORRUPT;
    at = entries + start;
    end = entries + stop;
    larder_time version = {0, 0, 0};
    uint8_t flag = *at++;
    if (flag == 1) {
        if (end - at < LARDER__TIME_BYTES || !larder__time_get(at, &version))
            return LARDER_E_CORRUPT;
        at += LARDER__TIME_BYTES;
    }
    if (flag > 1) return LARDER_E_CORRUPT;
    document->name = larder__bytes(at, (size_t)(end - at));
    document->base_version = version;
    return LARDER_OK;
}

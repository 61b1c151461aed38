/*
 * wal.c - the write-ahead log's file: headers, and reading records (wal.h has the pictures).
 */
#include "wal.h"

#include "base/platform.h"
#include "file.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define MAGIC_HEADER UINT32_C(0x4857444c) /* "LDWH" */
#define HEADER_BYTES (80 + LARDER__WAL_META)
#define HAS_MARKS 1

/* ---- reading and writing ---- */

int larder__wal_write_at(int file, const uint8_t *data, size_t size, uint64_t at) {
    while (size > 0) {
        ssize_t n = pwrite(file, data, size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        data += n;
        size -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

int32_t larder__wal_fail(larder_error *error, int code, const char *doing) {
    int32_t status = code == ENOSPC || code == EDQUOT || code == EFBIG ? LARDER_E_NO_SPACE
                     : code == ENOMEM                                  ? LARDER_E_NO_MEMORY
                                                                       : LARDER_E_IO;
    return larder__fail_system(error, status, code, "%s the write-ahead log: %s", doing,
                               strerror(code));
}

/* ---- headers ---- */

static bool decode_header(const uint8_t *from, uint64_t block, larder__wal_header *header) {
    if (larder__load32(from + 4) != MAGIC_HEADER || larder__load32(from + 8) != 1 ||
        larder__load32(from) != larder__crc32c(0, from + 4, HEADER_BYTES - 4))
        return false;
    uint32_t state = larder__load32(from + 12);
    if (state > LARDER__WAL_CLOSED) return false;
    header->state = (larder__wal_state)state;
    header->sequence = larder__load64(from + 16);
    header->salt = larder__load64(from + 24);
    header->capacity_bytes = larder__load64(from + 32);
    header->start = larder__load64(from + 40);
    header->commit = larder__load64(from + 48);
    header->chain = larder__load32(from + 56);
    header->page_bytes = larder__load32(from + 60);
    header->root_checksum = larder__load32(from + 64);
    header->has_marks = (larder__load32(from + 68) & HAS_MARKS) != 0;
    memcpy(header->meta, from + 72, LARDER__WAL_META);
    return header->sequence % 2 == block;
}

/* A header is shorter than a sector, so that a power cut leaves the old one or the new one. Blocks that
 * were never written are blank. */
int32_t larder__wal_read_headers(int file, larder__wal_header *header, bool *other_is_valid,
                                 larder_error *error) {
    uint8_t blocks[2 * LARDER__WAL_BLOCK] = {0};
    static const uint8_t blank[HEADER_BYTES];
    ssize_t size = larder__file_read(file, blocks, sizeof blocks, 0);
    if (size < 0) return larder__wal_fail(error, errno, "reading");
    larder__wal_header found;
    int valid_count = 0;
    bool has_blank = false;
    for (uint64_t block = 0; block < 2; block++) {
        const uint8_t *at = blocks + block * LARDER__WAL_BLOCK;
        has_blank = has_blank || memcmp(at, blank, HEADER_BYTES) == 0;
        if (!decode_header(at, block, &found)) continue;
        if (valid_count == 0 || found.sequence > header->sequence) *header = found;
        valid_count++;
    }
    *other_is_valid = valid_count == 2 || (valid_count == 1 && header->sequence == 1 && has_blank);
    return valid_count > 0 ? LARDER_OK : LARDER_NOT_FOUND;
}

int32_t larder__wal_read_header(int file, larder__wal_header *header, larder_error *error) {
    bool other_is_valid;
    return larder__wal_read_headers(file, header, &other_is_valid, error);
}

int larder__wal_write_header(int file, const larder__wal_header *header) {
    uint8_t block[LARDER__WAL_BLOCK] = {0};
    larder__store32(block + 4, MAGIC_HEADER);
    larder__store32(block + 8, 1);
    larder__store32(block + 12, (uint32_t)header->state);
    larder__store64(block + 16, header->sequence);
    larder__store64(block + 24, header->salt);
    larder__store64(block + 32, header->capacity_bytes);
    larder__store64(block + 40, header->start);
    larder__store64(block + 48, header->commit);
    larder__store32(block + 56, header->chain);
    larder__store32(block + 60, header->page_bytes);
    larder__store32(block + 64, header->root_checksum);
    larder__store32(block + 68, HAS_MARKS);
    memcpy(block + 72, header->meta, LARDER__WAL_META);
    larder__store32(block, larder__crc32c(0, block + 4, HEADER_BYTES - 4));
    int code =
        larder__wal_write_at(file, block, sizeof block, header->sequence % 2 * LARDER__WAL_BLOCK);
    return code != 0 ? code : larder__sync_data(file);
}

int larder__wal_fill(int file, uint64_t from, uint64_t to) {
    static const uint8_t zeros[65536];
    while (from < to) {
        size_t size = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        int code = larder__wal_write_at(file, zeros, size, from);
        if (code != 0) return code;
        from += size;
    }
    return larder__sync_data(file);
}

uint64_t larder__wal_new_salt(void) {
    uint64_t salt;
    if (larder__random(&salt, sizeof salt)) return salt;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed[3] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
    return larder__hash64(larder__bytes(seed, sizeof seed));
}

/* ---- reading records ---- */

/* The payload's size, or UINT64_MAX where the head is not that of the record expected there. */
static uint64_t match_head(const uint8_t *head, const larder__wal_header *header,
                           const larder__wal_place *before, uint64_t at) {
    uint64_t size = larder__load64(head + 40);
    bool is_match = larder__load32(head + 4) == LARDER__WAL_MAGIC_RECORD &&
                    larder__load64(head + 8) == header->salt &&
                    larder__load64(head + 16) == before->commit + 1 &&
                    larder__load64(head + 24) == at && larder__load32(head + 32) == before->chain &&
                    size <= header->capacity_bytes &&
                    at + LARDER__WAL_RECORD_HEAD + size <= header->capacity_bytes;
    return is_match ? size : UINT64_MAX;
}

static int32_t read_record(int file, const larder__wal_header *header, larder__wal_place *place,
                           uint64_t at, larder__buffer *payload, larder_error *error) {
    uint8_t head[LARDER__WAL_RECORD_HEAD];
    ssize_t n = larder__file_read(file, head, sizeof head, (off_t)at);
    if (n < 0) return larder__wal_fail(error, errno, "reading");
    if (n < (ssize_t)sizeof head) return LARDER_END;
    uint64_t size = match_head(head, header, place, at);
    if (size == UINT64_MAX) return LARDER_END;
    size_t before = payload != NULL ? payload->size_bytes : 0;
    if (payload != NULL) {
        if (!larder__buffer_reserve(payload, sizeof head + (size_t)size))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to read the log");
        uint8_t *whole = payload->data + before;
        n = larder__file_read(file, whole, sizeof head + (size_t)size, (off_t)at);
        if (n < 0) return larder__wal_fail(error, errno, "reading");
        if ((uint64_t)n < sizeof head + size ||
            larder__load32(head) != larder__crc32c(0, whole + 4, sizeof head - 4 + (size_t)size))
            return LARDER_END; /* torn */
        memmove(whole, whole + sizeof head, (size_t)size);
    }
    if (size == 0) return LARDER_MORE;
    if (larder__wal_oldest_of(head) > header->sequence) return LARDER_STOPPED;
    if (payload != NULL) payload->size_bytes = before + (size_t)size;
    place->commit++;
    place->end = at + larder__wal_whole_blocks(sizeof head + size);
    place->chain = larder__load32(head);
    return LARDER_OK;
}

int32_t larder__wal_next(int file, const larder__wal_header *header, larder__wal_place *place,
                         larder__buffer *payload, larder_error *error) {
    int32_t status = read_record(file, header, place, place->end, payload, error);
    if (status == LARDER_END && place->end != LARDER__WAL_FIRST)
        status = read_record(file, header, place, LARDER__WAL_FIRST, payload, error);
    return status;
}

uint64_t larder__wal_size_of_any(const uint8_t *head, uint64_t at, uint64_t file_bytes) {
    uint64_t size = larder__load64(head + 40);
    bool is_head = larder__load32(head + 4) == LARDER__WAL_MAGIC_RECORD &&
                   larder__load64(head + 24) == at && size <= file_bytes &&
                   at + LARDER__WAL_RECORD_HEAD + size <= file_bytes;
    return is_head ? LARDER__WAL_RECORD_HEAD + size : 0;
}

int32_t larder__wal_find_latest(int file, uint64_t commit, larder__buffer *scratch,
                                uint64_t *latest, larder_error *error) {
    off_t end = lseek(file, 0, SEEK_END);
    if (end < 0) return larder__wal_fail(error, errno, "reading");
    *latest = 0;
    uint8_t head[LARDER__WAL_RECORD_HEAD] = {0};
    for (uint64_t at = LARDER__WAL_FIRST; at + sizeof head <= (uint64_t)end;
         at += LARDER__WAL_BLOCK) {
        ssize_t n = larder__file_read(file, head, sizeof head, (off_t)at);
        uint64_t size = n == sizeof head ? larder__wal_size_of_any(head, at, (uint64_t)end) : 0;
        uint64_t found = larder__wal_commit_of(head);
        if (n >= 0 && (size <= sizeof head || found <= commit || found <= *latest)) continue;
        scratch->size_bytes = 0;
        if (n >= 0 && !larder__buffer_reserve(scratch, (size_t)size))
            return larder__fail(error, LARDER_E_NO_MEMORY, "no memory to read the log");
        if (n >= 0) n = larder__file_read(file, scratch->data, (size_t)size, (off_t)at);
        if (n < 0) return larder__wal_fail(error, errno, "reading");
        if ((uint64_t)n == size &&
            larder__load32(scratch->data) == larder__crc32c(0, scratch->data + 4, size - 4))
            *latest = found;
    }
    return LARDER_OK;
}

/* ---- reading a record's changes ---- */

static bool read_bytes(const uint8_t **at, const uint8_t *end, larder_bytes *bytes) {
    uint64_t size;
    size_t n = larder__varint_get(*at, end, &size);
    if (n == 0 || size > (uint64_t)(end - *at) - n) return false;
    *bytes = larder__bytes(*at + n, (size_t)size);
    *at += n + size;
    return true;
}

bool larder__wal_next_change(const uint8_t **at, const uint8_t *end, larder__wal_change *change) {
    if (end - *at < 2 || (*at)[0] >= LARDER__TABLE_COUNT || (*at)[1] > LARDER__WAL_PAGE)
        return false;
    change->table = (*at)[0];
    change->kind = (larder__wal_kind)(*at)[1];
    change->value = larder__bytes(NULL, 0);
    *at += 2;
    return read_bytes(at, end, &change->key) &&
           (change->kind == LARDER__WAL_REMOVE || read_bytes(at, end, &change->value));
}

/*
 * harvest_log.c - rows in the write-ahead log (wal.h).
 *
 * Records are found by the heads that blocks begin with, whether or not the header can be read. What
 * no whole record covers is searched byte by byte for changes and for nodes of page images, which
 * prove themselves by their rows' checksums.
 */
#include "harvest.h"

#include "harvest_nodes.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading the file ---- */

static bool load_bytes(larder__harvest *h, int file, const char *path) {
    larder__buffer *bytes = &h->log.bytes;
    struct stat info;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    uint64_t size = (uint64_t)info.st_size;
    if (size > LARDER__WAL_LARGEST) size = LARDER__WAL_LARGEST;
    if (!larder__buffer_reserve(bytes, (size_t)size + 1)) {
        larder__harvest_fail_memory(h);
        return false;
    }
    ssize_t n = larder__file_read(file, bytes->data, (size_t)size, 0);
    if (n < 0) h->status = larder__file_fail(&h->error, errno, "reading", path);
    if (n > 0) bytes->size_bytes = (size_t)n;
    return n > 0;
}

static uint64_t whole_blocks(uint64_t size) {
    return (size + LARDER__WAL_BLOCK - 1) / LARDER__WAL_BLOCK * LARDER__WAL_BLOCK;
}

static bool is_whole(const larder__found_log *log, uint64_t at, uint64_t size) {
    const uint8_t *head = log->bytes.data + at;
    return larder__load32(head) == larder__crc32c(0, head + 4, (size_t)size - 4);
}

static void find_records(larder__harvest *h) {
    larder__found_log *log = &h->log;
    uint64_t end = log->bytes.size_bytes, next;
    for (uint64_t at = LARDER__WAL_FIRST; at + LARDER__WAL_RECORD_HEAD <= end; at = next) {
        const uint8_t *head = log->bytes.data + at;
        uint64_t size = larder__wal_size_of_any(head, at, end);
        next = at + LARDER__WAL_BLOCK;
        if (size == 0 || larder__wal_is_mark(size)) continue;
        larder__found_record record = {.at = at,
                                       .size_bytes = size,
                                       .commit = larder__wal_commit_of(head),
                                       .salt = larder__wal_salt_of(head),
                                       .is_whole = is_whole(log, at, size)};
        if (record.is_whole) next = at + whole_blocks(size);
        if (!larder__buffer_append(&log->records, &record, sizeof record))
            larder__harvest_fail_memory(h);
    }
}

static size_t record_count(const larder__found_log *log) {
    return log->records.size_bytes / sizeof(larder__found_record);
}

static larder__found_record record_at(const larder__found_log *log, size_t i) {
    larder__found_record record;
    memcpy(&record, log->records.data + i * sizeof record, sizeof record);
    return record;
}

/* ---- the records that follow the header ---- */

/* The record at a place, if it is the next one. */
static bool find_at(const larder__found_log *log, uint64_t at, larder__wal_place *place,
                    larder__found_record *found) {
    size_t from = 0, to = record_count(log);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (record_at(log, middle).at < at)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == record_count(log)) return false;
    *found = record_at(log, from);
    const uint8_t *head = log->bytes.data + found->at;
    if (found->at != at || !found->is_whole || found->salt != log->header.salt ||
        found->commit != place->commit + 1 || larder__wal_chain_of(head) != place->chain)
        return false;
    place->commit++;
    place->chain = larder__load32(head);
    place->end = at + whole_blocks(found->size_bytes);
    return true;
}

static void add_images(larder__harvest *h, const larder__found_record *record, uint64_t *order) {
    const uint8_t *at = h->log.bytes.data + record->at + LARDER__WAL_RECORD_HEAD;
    const uint8_t *end = h->log.bytes.data + record->at + record->size_bytes;
    larder__wal_change change;
    while (at < end && larder__wal_next_change(&at, end, &change)) {
        if (change.kind != LARDER__WAL_PAGE || change.value.size_bytes != h->pages.page_bytes)
            continue;
        larder__image image = {larder__wal_page_of(&change), (*order)++, change.value.data};
        if (!larder__buffer_append(&h->log.images, &image, sizeof image))
            larder__harvest_fail_memory(h);
    }
}

static int compare_images(const void *left, const void *right, const void *context) {
    const larder__image *a = left, *b = right;
    (void)context;
    if (a->page != b->page) return a->page < b->page ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_images(larder__buffer *images) {
    larder__image *list = (larder__image *)(void *)images->data;
    size_t count = images->size_bytes / sizeof *list, kept = 0;
    larder__sort(list, count, sizeof *list, compare_images, NULL);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1].page != list[i].page) list[kept++] = list[i];
    images->size_bytes = kept * sizeof *list;
}

static void follow_header(larder__harvest *h) {
    larder__found_log *log = &h->log;
    larder__found_record record;
    uint64_t order = 0;
    larder__wal_place place = {log->header.commit, log->header.start, log->header.chain};
    /* Each record is met once: its commit is the next one. */
    while (larder__harvest_goes_on(h) && (find_at(log, place.end, &place, &record) ||
                                          find_at(log, LARDER__WAL_FIRST, &place, &record)))
        add_images(h, &record, &order);
    log->last_commit = place.commit;
    sort_images(&log->images);
}

void larder__harvest_read_log(larder__harvest *h, const char *directory) {
    char path[4352];
    snprintf(path, sizeof path, "%s/%s", directory, LARDER__WAL_FILE);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno != ENOENT)
        h->status = larder__file_fail(&h->error, errno, "opening", path);
    if (file < 0) return;
    if (load_bytes(h, file, path)) {
        h->log.has_header = larder__wal_read_header(file, &h->log.header, NULL) == LARDER_OK;
        find_records(h);
        if (h->log.has_header && h->log.header.state != LARDER__WAL_UNUSED) follow_header(h);
    }
    close(file);
}

/* ---- whole records ---- */

/* Of the log's own, when its newest header is known, and behind a commit. */
static bool is_newer(const larder__found_log *log, const larder__found_record *record,
                     uint64_t commit) {
    return record->commit > commit && (!log->has_header || record->salt == log->header.salt ||
                                       log->verdict == LARDER__WAL_HEADER_LOST);
}

/* The last change first. */
static void take_changes(larder__harvest *h, const larder__found_record *record,
                         larder__grade grade, bool removes) {
    const uint8_t *begin = h->log.bytes.data + record->at;
    const uint8_t *at = begin + LARDER__WAL_RECORD_HEAD, *end = begin + record->size_bytes;
    larder__buffer places = {.allocator = h->allocator};
    larder__wal_change change;
    for (const uint8_t *from = at; at < end && larder__wal_next_change(&at, end, &change);
         from = at) {
        uint32_t place = (uint32_t)(from - begin);
        if (!larder__buffer_append(&places, &place, sizeof place)) larder__harvest_fail_memory(h);
    }
    for (size_t i = places.size_bytes / 4; i-- > 0 && larder__harvest_goes_on(h);) {
        at = begin + larder__load32(places.data + 4 * i);
        if (!larder__wal_next_change(&at, end, &change) || change.kind == LARDER__WAL_PAGE ||
            !larder__evidence_is_wanted(change.table))
            continue;
        if (change.kind == LARDER__WAL_REMOVE && removes)
            larder__harvest_remove(h, change.table, change.key);
        else if (change.kind == LARDER__WAL_PUT &&
                 larder__evidence_is_whole(change.table, change.key, change.value))
            larder__harvest_take(h, change.table, change.key, change.value, grade);
    }
    larder__buffer_free(&places);
}

static int compare_records(const void *left, const void *right, const void *context) {
    const larder__found_record *a = left, *b = right;
    (void)context;
    return a->commit > b->commit ? -1 : a->commit < b->commit;
}

/* The whole records that are newer than a commit, or the others, the newest first. */
static void take_records(larder__harvest *h, uint64_t commit, bool newer) {
    larder__found_log *log = &h->log;
    larder__buffer sorted = {.allocator = h->allocator};
    if (!larder__buffer_append(&sorted, log->records.data, log->records.size_bytes)) {
        larder__harvest_fail_memory(h);
        return;
    }
    size_t count = record_count(log);
    if (count > 0)
        larder__sort(sorted.data, count, sizeof(larder__found_record), compare_records, NULL);
    for (size_t i = 0; i < count && larder__harvest_goes_on(h); i++) {
        larder__found_record record;
        memcpy(&record, sorted.data + i * sizeof record, sizeof record);
        if (!record.is_whole || is_newer(log, &record, commit) != newer) continue;
        bool is_own = log->has_header && record.salt == log->header.salt;
        take_changes(h, &record, newer ? LARDER__GRADE_SURE : larder__harvest_grade_of_pages(h),
                     newer || is_own);
    }
    larder__buffer_free(&sorted);
}

uint64_t larder__found_log_newest(const larder__found_log *log) {
    if (!log->has_header || log->header.state == LARDER__WAL_UNUSED ||
        log->bytes.size_bytes < log->header.capacity_bytes)
        return 0;
    uint64_t newest = log->header.commit;
    for (size_t i = 0; i < record_count(log); i++) {
        larder__found_record record = record_at(log, i);
        if (record.salt == log->header.salt && record.commit > newest) newest = record.commit;
    }
    return newest;
}

uint64_t larder__found_log_gaps(const larder__found_log *log, uint64_t commit, uint64_t *last) {
    uint64_t count = 0;
    *last = commit;
    for (size_t i = 0; i < record_count(log) && log->has_header; i++) {
        larder__found_record record = record_at(log, i);
        if (!record.is_whole || !is_newer(log, &record, commit)) continue;
        count++;
        if (record.commit > *last) *last = record.commit;
    }
    if (log->has_header && log->header.commit > *last) *last = log->header.commit;
    uint64_t all = *last - commit;
    return all > count ? all - count : 0;
}

void larder__harvest_newer_records(larder__harvest *h, uint64_t commit) {
    uint64_t newest = larder__wal_newest(&h->log.facts);
    bool is_older = h->log.verdict == LARDER__WAL_DATA_OLDER && newest < commit;
    h->damaged_record_count =
        (int64_t)larder__found_log_gaps(&h->log, is_older ? newest : commit, &h->last_commit);
    take_records(h, commit, true);
}

void larder__harvest_older_records(larder__harvest *h, uint64_t commit) {
    take_records(h, commit, false);
}

/* ---- what is left of the others ---- */

/* The change at *at, if its row proves itself; *at is behind it then. */
static bool take_loose(larder__harvest *h, const uint8_t **at, const uint8_t *end) {
    const uint8_t *from = *at;
    larder__wal_change change;
    if (end - from < 4 || from[1] != LARDER__WAL_PUT || from[2] == 0 ||
        !larder__evidence_is_sealed(from[0]) || !larder__wal_next_change(&from, end, &change) ||
        change.key.size_bytes > LARDER__KEY_MAX ||
        !larder__evidence_is_whole(change.table, change.key, change.value))
        return false;
    larder__harvest_take(h, change.table, change.key, change.value, LARDER__GRADE_LATER);
    *at = from;
    return true;
}

static void search(larder__harvest *h, uint64_t from, uint64_t to) {
    const uint8_t *begin = h->log.bytes.data + from, *end = h->log.bytes.data + to;
    for (const uint8_t *at = begin; at < end && larder__harvest_goes_on(h);)
        if (!take_loose(h, &at, end)) at++;
    larder__harvest_search_nodes(h, begin, (size_t)(end - begin), 1);
}

void larder__harvest_damaged_records(larder__harvest *h) {
    uint64_t from = LARDER__WAL_FIRST, end = h->log.bytes.size_bytes;
    for (size_t i = 0; i < record_count(&h->log) && larder__harvest_goes_on(h); i++) {
        larder__found_record record = record_at(&h->log, i);
        if (!record.is_whole || record.at < from) continue;
        if (record.at > from) search(h, from, record.at);
        from = record.at + record.size_bytes;
    }
    if (from < end && larder__harvest_goes_on(h)) search(h, from, end);
    larder__harvest_report(h, end);
}

void larder__harvest_each_image(larder__harvest *h, larder__image_function visit) {
    for (size_t i = 0; i < record_count(&h->log) && larder__harvest_goes_on(h); i++) {
        larder__found_record record = record_at(&h->log, i);
        const uint8_t *at = h->log.bytes.data + record.at + LARDER__WAL_RECORD_HEAD;
        const uint8_t *end = h->log.bytes.data + record.at + record.size_bytes;
        larder__wal_change change;
        while (record.is_whole && at < end && larder__wal_next_change(&at, end, &change))
            if (change.kind == LARDER__WAL_PAGE && change.value.size_bytes == h->pages.page_bytes)
                visit(h, change.value.data);
    }
}

/* page.c - pages of a data file without LMDB (page.h). */
#include "page.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_MAGIC UINT32_C(0xBEEFC0DE)
#define META_VERSION 1
#define META_PAGE_BYTES_AT 24
#define META_FREE_AT 24
#define META_TABLES_AT 72
#define META_LAST_PAGE_AT 120
#define META_COMMIT_AT 128
#define RECORD_FLAGS_AT 4
#define RECORD_DEPTH_AT 6
#define RECORD_ENTRIES_AT 32
#define RECORD_ROOT_AT 40
#define SMALLEST_PAGE 256
#define PAGES_TRIED 256 /* to find the size of a page */

/* ---- meta pages ---- */

void larder__root_parse(const uint8_t *record, larder__root *root) {
    root->flags = larder__load16(record + RECORD_FLAGS_AT);
    root->depth = larder__load16(record + RECORD_DEPTH_AT);
    root->entry_count = larder__load64(record + RECORD_ENTRIES_AT);
    root->page = larder__load64(record + RECORD_ROOT_AT);
}

bool larder__meta_parse(const uint8_t *bytes, larder__meta *meta) {
    if (larder__load32(bytes) != META_MAGIC || larder__load32(bytes + 4) != META_VERSION)
        return false;
    larder__root_parse(bytes + META_FREE_AT, &meta->free_pages);
    larder__root_parse(bytes + META_TABLES_AT, &meta->tables);
    meta->last_page = larder__load64(bytes + META_LAST_PAGE_AT);
    meta->commit = larder__load64(bytes + META_COMMIT_AT);
    return true;
}

bool larder__pages_read_meta(const larder__pages *pages, int which, larder__meta *meta) {
    uint8_t bytes[LARDER__PAGE_HEAD + LARDER__WAL_META];
    off_t at = (off_t)which * (off_t)pages->page_bytes;
    return pages->file >= 0 &&
           larder__file_read(pages->file, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes &&
           larder__meta_parse(bytes + LARDER__PAGE_HEAD, meta);
}

/* ---- the size of a page ---- */

static bool is_page_size(uint32_t size) {
    return size >= SMALLEST_PAGE && size <= LARDER__PAGE_LARGEST && (size & (size - 1)) == 0;
}

/* How many of the first pages have their own number, when pages have a size. */
static int count_numbered(const larder__pages *pages, uint32_t size) {
    int count = 0;
    for (uint64_t page = 1; page < PAGES_TRIED && (page + 1) * size <= pages->file_bytes; page++) {
        uint8_t head[LARDER__PAGE_HEAD];
        if (larder__file_read(pages->file, head, sizeof head, (off_t)(page * size)) !=
            (ssize_t)sizeof head)
            break;
        count += larder__page_kind_of(head, page) != LARDER__PAGE_BROKEN;
    }
    return count;
}

/* The size of a page that a meta page gives; 0: it is none, or there is none at that place. */
static uint32_t read_page_bytes(const larder__pages *pages, uint64_t page, uint32_t size) {
    uint8_t bytes[LARDER__PAGE_HEAD + LARDER__WAL_META];
    larder__meta meta;
    if (larder__file_read(pages->file, bytes, sizeof bytes, (off_t)(page * size)) !=
            (ssize_t)sizeof bytes ||
        !larder__meta_parse(bytes + LARDER__PAGE_HEAD, &meta))
        return 0;
    return larder__load32(bytes + LARDER__PAGE_HEAD + META_PAGE_BYTES_AT);
}

/* What both meta pages say. Else what the first one says, if pages have their numbers there; else the
 * size that suits most pages. */
static uint32_t find_page_bytes(const larder__pages *pages) {
    uint32_t best = 4096, own = read_page_bytes(pages, 0, best);
    if (is_page_size(own) && read_page_bytes(pages, 1, own) == own) return own;
    int most = count_numbered(pages, best);
    for (uint32_t size = SMALLEST_PAGE; size <= LARDER__PAGE_LARGEST; size *= 2) {
        int count = count_numbered(pages, size);
        if (count > most || (count == most && size == own)) {
            most = count;
            best = size;
        }
    }
    return most == 0 && is_page_size(own) ? own : best;
}

int32_t larder__pages_open(const char *directory, larder__pages *pages, larder_error *error) {
    char path[4352];
    struct stat info;
    *pages = (larder__pages){.file = -1, .page_bytes = 4096};
    snprintf(path, sizeof path, "%s/data.mdb", directory);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? LARDER_OK : larder__file_fail(error, errno, "opening", path);
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(file);
        return larder__fail(error, LARDER_E_FOREIGN_FILE, "%s is not a regular file", path);
    }
    pages->file = file;
    pages->file_bytes = (uint64_t)info.st_size;
    pages->page_bytes = find_page_bytes(pages);
    pages->page_count = (pages->file_bytes + pages->page_bytes - 1) / pages->page_bytes;
    return LARDER_OK;
}

void larder__pages_close(larder__pages *pages) {
    if (pages->file >= 0) close(pages->file);
    pages->file = -1;
}

/* ---- reading ---- */

static const uint8_t *find_image(const larder__pages *pages, uint64_t page) {
    size_t from = 0, to = pages->image_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (pages->images[middle].page < page)
            from = middle + 1;
        else
            to = middle;
    }
    bool is_there = from < pages->image_count && pages->images[from].page == page;
    return is_there ? pages->images[from].bytes : NULL;
}

/* As larder__file_read. */
static ssize_t read_bytes(const larder__pages *pages, void *bytes, size_t size, uint64_t at) {
    ssize_t n = larder__file_read(pages->file, bytes, size, (off_t)at);
    if (n < 0 && pages->failure != NULL) *pages->failure = errno;
    return n;
}

bool larder__pages_read(const larder__pages *pages, uint64_t page, uint8_t *bytes) {
    const uint8_t *image = find_image(pages, page);
    if (image != NULL) {
        memcpy(bytes, image, pages->page_bytes);
        return true;
    }
    if (pages->file < 0 || page >= pages->page_count) return false;
    ssize_t size = read_bytes(pages, bytes, pages->page_bytes, page * pages->page_bytes);
    if (size < 0) return false;
    memset(bytes + size, 0, pages->page_bytes - (size_t)size);
    return true;
}

uint64_t larder__page_overflow_count(const larder__pages *pages, uint64_t value_bytes) {
    return (LARDER__PAGE_HEAD + value_bytes + pages->page_bytes - 1) / pages->page_bytes;
}

bool larder__pages_read_value(const larder__pages *pages, uint64_t page, uint8_t *value,
                              uint64_t size_bytes) {
    uint64_t count = larder__page_overflow_count(pages, size_bytes), done = 0;
    if (pages->file < 0 || page > pages->page_count || count > pages->page_count - page)
        return false;
    uint64_t at = page * pages->page_bytes + LARDER__PAGE_HEAD;
    if (pages->image_count == 0)
        return read_bytes(pages, value, size_bytes, at) == (ssize_t)size_bytes;
    uint8_t bytes[LARDER__PAGE_LARGEST];
    for (uint64_t i = 0; i < count; i++) {
        size_t skip = i == 0 ? LARDER__PAGE_HEAD : 0;
        uint64_t part = pages->page_bytes - skip;
        if (part > size_bytes - done) part = size_bytes - done;
        if (!larder__pages_read(pages, page + i, bytes)) return false;
        memcpy(value + done, bytes + skip, part);
        done += part;
    }
    return true;
}

/* ---- pages ---- */

larder__page_kind larder__page_kind_anywhere(const uint8_t *page) {
    switch (larder__load16(page + LARDER__PAGE_FLAGS_AT)) {
    case 1:
        return LARDER__PAGE_BRANCH;
    case 2:
        return LARDER__PAGE_LEAF;
    case 4:
        return LARDER__PAGE_OVERFLOW;
    case 8:
        return LARDER__PAGE_META;
    default:
        return LARDER__PAGE_BROKEN;
    }
}

larder__page_kind larder__page_kind_of(const uint8_t *page, uint64_t number) {
    return larder__load64(page) == number ? larder__page_kind_anywhere(page) : LARDER__PAGE_BROKEN;
}

bool larder__page_is_filled(const uint8_t *page, uint32_t page_bytes, uint64_t nodes_bytes) {
    return larder__page_upper(page, page_bytes) + nodes_bytes == page_bytes;
}

bool larder__page_free_part(const uint8_t *page, uint32_t page_bytes, uint32_t *from,
                            uint32_t *to) {
    *from = larder__load16(page + LARDER__PAGE_LOWER_AT);
    *to = larder__page_upper(page, page_bytes);
    return *from >= LARDER__PAGE_HEAD && *from % 2 == 0 && *from < *to && *to <= page_bytes;
}

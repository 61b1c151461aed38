/*
 * wal_judge.c - what the files of a store say of each other, and what follows from that before one of
 * them is changed.
 *
 * Two orders of writing make contradictions visible (wal.h): a commit is on disk in the log before its
 * meta page is written, and the data file has the checkpoint's meta page before the header is. So
 *
 *   the data file's newest commit     is not after the log's last one, unless the next one was marked
 *                                     as a checkpoint of which the header was not written any more
 *                                     is not before the checkpoint
 *   whole records of later commits    are reached from the header; only the next one may be unreachable,
 *                                     a record of a process that died before its commit
 *   the header that counts            is the newest that was written: a power cut leaves a sector old or
 *                                     new, so that one which is neither valid nor blank was damaged
 *   all records                       follow from a header as old as it
 *   the stamp of the meta pages       is the header's: where LMDB has the address of a map at a fixed place,
 *                                     of which it knows nothing else, each recovery writes another number.
 *                                     For a recovery makes a commit again, with the same number and in
 *                                     other pages
 *
 * A power cut can take the last record and every write to the map after the checkpoint. What else is
 * missing was acknowledged: the store is refused.
 *
 * A damaged header may be the older one. It counts only where something depends on it: a record that
 * does not follow from the other header, a record after the last one, or the mark of a commit that the
 * map has.
 */
#include "file.h"
#include "wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define WAL_PATH_MAX 4352
#define META_AT 16
#define META_VERSION_END 8
#define META_FREE_AT 24
#define META_TABLES_AT 72
#define RECORD_KIND_END 6 /* of a table's record: the size of a page or 0, flags */
#define META_ROOT_AT 112
#define META_TXN_AT 128
#define PAGE_FLAGS_AT 10
#define PAGE_IS_META 8

/* ---- the data file ---- */

/* Whether what never changes in a store is the same in two meta structures: what LMDB looks at first,
 * the size of a page and the kinds of its two tables. */
static bool are_alike(const uint8_t *meta, const uint8_t *other) {
    return memcmp(meta, other, META_VERSION_END) == 0 &&
           memcmp(meta + META_FREE_AT, other + META_FREE_AT, RECORD_KIND_END) == 0 &&
           memcmp(meta + META_TABLES_AT, other + META_TABLES_AT, RECORD_KIND_END) == 0;
}

uint64_t larder__wal_next_stamp(const larder__wal_header *header, const larder__wal_place *last) {
    uint64_t parts[4] = {header->salt, header->sequence, last->commit, last->chain};
    uint64_t stamp = larder__hash64(larder__bytes(parts, sizeof parts));
    return stamp == 0 ? 1 : stamp;
}

/* The checkpoint's, or that of a recovery from this log. */
static bool is_stamp_of_log(uint64_t stamp, const larder__wal_facts *f) {
    return stamp == larder__wal_stamp_in(f->header.meta) ||
           stamp == larder__wal_next_stamp(&f->header, &f->last);
}

/* LMDB writes the meta pages in turn, by the number of the commit. 0 or errno. */
static int look_at_metas(int data_file, larder__wal_facts *f) {
    for (uint64_t i = 0; i < 2; i++) {
        uint8_t page[META_AT + LARDER__WAL_META] = {0};
        const uint8_t *meta = page + META_AT;
        if (larder__file_read(data_file, page, sizeof page, (off_t)(i * f->header.page_bytes)) < 0)
            return errno;
        uint64_t commit = larder__load64(meta + META_TXN_AT);
        f->metas[i] = (larder__wal_meta_page){
            .is_whole = page[PAGE_FLAGS_AT] == PAGE_IS_META && commit % 2 == i &&
                        are_alike(meta, f->header.meta),
            .is_checkpoints = memcmp(meta, f->header.meta, LARDER__WAL_META) == 0,
            .is_of_log = is_stamp_of_log(larder__wal_stamp_in(meta), f),
            .commit = commit};
    }
    return 0;
}

/* The page that the checkpoint's table of tables begins in. 0 or errno. */
static int look_at_root(int data_file, larder__wal_facts *f, const larder__buffer *records) {
    uint32_t checksum;
    larder_bytes image;
    uint64_t root = larder__load64(f->header.meta + META_ROOT_AT);
    int code =
        larder__wal_root_checksum(data_file, f->header.meta, f->header.page_bytes, &checksum);
    f->has_root = code == 0 && checksum == f->header.root_checksum;
    f->has_root_image = larder__wal_find_image(records, root, &image) &&
                        larder__crc32c(1, image.data, image.size_bytes) == f->header.root_checksum;
    return code == EINVAL ? 0 : code; /* the header has no place for it */
}

/* ---- the log ---- */

static int32_t look_at_records(int log, larder__wal_facts *f, larder__buffer *records,
                               larder_error *error) {
    f->last = (larder__wal_place){f->header.commit, f->header.start, f->header.chain};
    int32_t status;
    do
        status = larder__wal_next(log, &f->header, &f->last, records, error);
    while (status == LARDER_OK);
    if (status < 0) return status;
    f->has_mark = status == LARDER_MORE;
    f->is_outdated = status == LARDER_STOPPED;
    /* Behind a checkpoint at which the store was closed there are none, and looking takes time. */
    if (f->header.state == LARDER__WAL_CLOSED && f->other_is_valid && status == LARDER_END &&
        f->last.commit == f->header.commit)
        return LARDER_OK;
    larder__buffer scratch = {.allocator = records->allocator};
    status = larder__wal_find_latest(log, f->last.commit, &scratch, &f->latest, error);
    larder__buffer_free(&scratch);
    return status;
}

int32_t larder__wal_look(int log, int data_file, larder__wal_facts *f, larder__buffer *records,
                         larder_error *error) {
    *f = (larder__wal_facts){.other_is_valid = true};
    int32_t status = larder__wal_read_headers(log, &f->header, &f->other_is_valid, error);
    if (status != LARDER_OK) return status;
    if (f->header.state == LARDER__WAL_UNUSED) {
        larder__buffer scratch = {.allocator = records->allocator};
        status = larder__wal_find_latest(log, 0, &scratch, &f->latest, error);
        larder__buffer_free(&scratch);
        return status;
    }
    status = look_at_records(log, f, records, error);
    if (status != LARDER_OK) return status;
    int code = look_at_metas(data_file, f);
    if (code == 0) code = look_at_root(data_file, f, records);
    return code == 0 ? LARDER_OK : larder__wal_fail(error, code, "reading the data file beside");
}

int32_t larder__wal_look_at(const char *directory, const larder_allocator *allocator,
                            larder__wal_facts *f, larder__wal_verdict *verdict, bool *has_log,
                            larder_error *error) {
    char path[WAL_PATH_MAX];
    larder__wal_header header;
    larder__buffer records = {.allocator = allocator};
    *f = (larder__wal_facts){.other_is_valid = true};
    *verdict = LARDER__WAL_CLEAN;
    *has_log = false;
    snprintf(path, sizeof path, "%s/%s", directory, LARDER__WAL_FILE);
    int log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), data = -1;
    if (log < 0)
        return errno == ENOENT ? LARDER_OK : larder__file_fail(error, errno, "opening", path);
    int32_t status = larder__wal_read_header(log, &header, error);
    *has_log = status == LARDER_OK;
    if (status == LARDER_OK && header.state != LARDER__WAL_UNUSED) {
        snprintf(path, sizeof path, "%s/data.mdb", directory);
        data = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (data < 0)
            status = errno == ENOENT ? larder__fail(error, LARDER_E_CORRUPT,
                                                    "the write-ahead log of %s is there, and "
                                                    "data.mdb is missing",
                                                    directory)
                                     : larder__file_fail(error, errno, "opening", path);
    }
    if (status == LARDER_OK) status = larder__wal_look(log, data, f, &records, error);
    if (status == LARDER_OK) *verdict = larder__wal_judge(f);
    larder__buffer_free(&records);
    close(log);
    if (data >= 0) close(data);
    return status < 0 ? status : LARDER_OK;
}

/* ---- what follows ---- */

uint64_t larder__wal_newest(const larder__wal_facts *f) {
    uint64_t newest = 0;
    for (int i = 0; i < 2; i++)
        if (f->metas[i].is_whole && f->metas[i].commit > newest) newest = f->metas[i].commit;
    return newest;
}

/* Whether the log or the map has something that comes after a header that cannot be read. */
static bool needs_other_header(const larder__wal_facts *f) {
    if (f->is_outdated) return true;
    return !f->other_is_valid &&
           (f->latest > f->last.commit || larder__wal_newest(f) > f->last.commit ||
            f->header.state == LARDER__WAL_UNUSED);
}

/* Whether the data file is of the checkpoint or of a later time. Its meta pages say so, not their contents
 * or the root page's, which commits of an earlier time can have had as well. Where one cannot be read the
 * other is at most one commit before the checkpoint. The root page is written over only when the log has
 * its image; by then a meta page of the checkpoint or later is there. */
static larder__wal_verdict judge_age(const larder__wal_facts *f) {
    uint64_t newest = 0, checkpoint = f->header.commit;
    int whole_count = 0, own_count = 0;
    for (int i = 0; i < 2; i++) {
        bool is_own = f->metas[i].is_whole && f->metas[i].is_of_log;
        whole_count += f->metas[i].is_whole;
        own_count += is_own;
        if (is_own && f->metas[i].commit > newest) newest = f->metas[i].commit;
    }
    if (own_count == 0 && whole_count > 0) return LARDER__WAL_DATA_APART;
    if (newest >= checkpoint)
        return f->has_root || f->has_root_image ? LARDER__WAL_RECOVER : LARDER__WAL_DATA_FOREIGN;
    if (own_count == 2 || (own_count == 1 && newest + 1 < checkpoint))
        return LARDER__WAL_DATA_OLDER;
    return f->has_root ? LARDER__WAL_RECOVER : LARDER__WAL_DATA_FOREIGN;
}

larder__wal_verdict larder__wal_judge(const larder__wal_facts *f) {
    const larder__wal_header *header = &f->header;
    uint64_t last = f->last.commit;
    if (needs_other_header(f)) return LARDER__WAL_HEADER_LOST;
    if (header->state == LARDER__WAL_UNUSED)
        return f->latest > 0 ? LARDER__WAL_HEADER_LOST : LARDER__WAL_CLEAN;
    if (f->latest > last + 1) return LARDER__WAL_RECORD_LOST;
    bool may_be_whole = f->has_mark || !header->has_marks;
    if (larder__wal_newest(f) > last + may_be_whole) return LARDER__WAL_COMMIT_LOST;
    larder__wal_verdict verdict = judge_age(f);
    const larder__wal_meta_page *own = &f->metas[header->commit % 2];
    const larder__wal_meta_page *other = &f->metas[1 - header->commit % 2];
    bool is_current = own->is_whole && own->is_checkpoints && other->is_whole && other->is_of_log &&
                      other->commit < header->commit;
    return verdict == LARDER__WAL_RECOVER && is_current && last == header->commit
               ? LARDER__WAL_CLEAN
               : verdict;
}

int32_t larder__wal_refuse(const larder__wal_facts *f, larder__wal_verdict verdict,
                           const char *directory, larder_error *error) {
    unsigned long long next = f->last.commit + 1, newest = larder__wal_newest(f),
                       checkpoint = f->header.commit;
    switch (verdict) {
    case LARDER__WAL_RECORD_LOST:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "the write-ahead log of %s is damaged: commit %llu cannot be read, "
                            "and later ones can; the store is left as it is",
                            directory, next);
    case LARDER__WAL_COMMIT_LOST:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "%s/data.mdb has commit %llu, and its write-ahead log is older or "
                            "damaged: commit %llu cannot be read; the store is left as it is",
                            directory, newest, next);
    case LARDER__WAL_HEADER_LOST:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "the write-ahead log of %s is damaged: commits after %llu need its "
                            "newest header, which cannot be read; the store is left as it is",
                            directory, next - 1);
    case LARDER__WAL_DATA_OLDER:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "%s/data.mdb is older than its write-ahead log: it ends with commit "
                            "%llu, and the log continues commit %llu; the store is left as it is",
                            directory, newest, checkpoint);
    case LARDER__WAL_DATA_APART:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "%s/data.mdb and its write-ahead log do not belong together: one was "
                            "restored, or the other recovered, without it; the store is left as it "
                            "is",
                            directory);
    default:
        return larder__fail(error, LARDER_E_CORRUPT,
                            "%s/data.mdb is damaged or is not the write-ahead log's: it lacks the "
                            "pages of commit %llu, and is left as it is",
                            directory, checkpoint);
    }
}

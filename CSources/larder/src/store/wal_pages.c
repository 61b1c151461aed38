/*
 * wal_pages.c - pages of the checkpoint that commits replace: their images in the log, and putting
 * them back.
 *
 * LMDB lists the pages that a commit replaced under the commit's number in its table of free
 * pages, and gives them out again two commits later at the earliest. So the record of the commit
 * between holds their contents: it is on disk before a page can be written over. Only the first
 * contents count, those of the checkpoint; pages that were free at the checkpoint, or were
 * added since, are nobody's. A set of page numbers says which need no image (any more):
 *
 *   begins     at a checkpoint, with the pages that are free there
 *   grows      with each commit, by the pages whose images its record has
 *   ends       behind the checkpoint's last page: those after it need none either
 *
 * While a checkpoint is being written the one before is still needed. The pages that the new one's
 * commit replaced are free there and may be the old one's: they are deferred to the next record.
 *
 * Images are as large as the pages, so a commit that replaced many is followed by a pin instead,
 * a read transaction for which LMDB keeps all pages, until the next checkpoint.
 */
#include "file.h"
#include "guard.h"
#include "wal.h"

#include <errno.h>
#include <unistd.h>

#define META_LAST_PAGE_AT 120
#define PAGES_A_COMMIT 16 /* of a small one */

/* ---- the set of pages that need no image ---- */

static bool needs_image(const larder__wal *wal, uint64_t page) {
    return page < wal->page_count && (wal->settled_pages[page / 64] >> page % 64 & 1) == 0;
}

static void settle(larder__wal *wal, uint64_t page) {
    if (page < wal->page_count) wal->settled_pages[page / 64] |= UINT64_C(1) << page % 64;
}

static bool settle_free(void *wal, uint64_t page) {
    settle(wal, page);
    return true;
}

bool larder__wal_begin_images(larder_env *env, MDB_txn *read, const uint8_t meta[]) {
    larder__wal *wal = env->wal;
    uint64_t count = larder__load64(meta + META_LAST_PAGE_AT) + 1;
    wal->imaged_count = 0;
    size_t bytes = (size_t)(count / 64 + 1) * sizeof *wal->settled_pages;
    if (bytes > wal->settled_bytes) {
        larder__release(&env->allocator, wal->settled_pages);
        wal->settled_bytes = 0;
        wal->settled_pages = larder__allocate(&env->allocator, bytes);
        if (wal->settled_pages != NULL) wal->settled_bytes = bytes;
    }
    wal->page_count = wal->settled_bytes == 0 ? 0 : count;
    if (wal->settled_bytes == 0) return false;
    memset(wal->settled_pages, 0, bytes);
    return larder__mdb_each_free(read, 0, UINT64_MAX, settle_free, wal) == 0;
}

/* ---- images in a record ---- */

static bool list_page(void *context, uint64_t page) {
    larder__wal *wal = context;
    if (!needs_image(wal, page)) return true;
    wal->has_many = wal->imaged_count == LARDER__WAL_IMAGES_MAX;
    if (!wal->has_many) wal->imaged[wal->imaged_count++] = page;
    return !wal->has_many;
}

/* The pages that the last commit replaced and that need an image, behind those that were
 * deferred, to wal->imaged. */
static bool list_pages(larder__wal *wal, uint64_t commit) {
    memcpy(wal->imaged, wal->deferred, wal->deferred_count * sizeof *wal->imaged);
    wal->imaged_count = wal->deferred_count;
    wal->has_many = false;
    if (larder__mdb_txn_renew(wal->reader) != 0) return false;
    bool is_listed = mdb_txn_id(wal->reader) == commit &&
                     larder__mdb_each_free(wal->reader, commit, commit, list_page, wal) == 0;
    mdb_txn_reset(wal->reader);
    return is_listed && !wal->has_many;
}

int32_t larder__wal_add_images(larder_txn *txn) {
    larder_env *env = txn->env;
    larder__wal *wal = env->wal;
    uint8_t page[LARDER__WAL_PAGE_MAX], number[8];
    int file;
    size_t page_bytes = env->page_bytes;
    if (!list_pages(wal, txn->commit - 1) || page_bytes > sizeof page ||
        mdb_env_get_fd(env->mdb, &file) != 0)
        return LARDER_MORE;
    for (size_t i = 0; i < wal->imaged_count; i++) {
        ssize_t size =
            larder__file_read(file, page, page_bytes, (off_t)(wal->imaged[i] * page_bytes));
        if (size != (ssize_t)page_bytes) return LARDER_MORE;
        larder__store64(number, wal->imaged[i]);
        if (!larder__wal_note_image(txn, larder__bytes(number, sizeof number),
                                    larder__bytes(page, page_bytes)))
            return LARDER_MORE;
    }
    return LARDER_OK;
}

static bool count_page(void *count, uint64_t page) {
    (void)page;
    ++*(int64_t *)count;
    return true;
}

void larder__wal_count_kept(larder_txn *txn) {
    larder__wal *wal = txn->env->wal;
    int64_t count = 0;
    uint32_t page_bytes = txn->env->page_bytes;
    wal->row_bytes = larder__counters_total(&txn->counters);
    if (wal->is_imaging) return;
    if (wal->reader == NULL) { /* about as many */
        count = PAGES_A_COMMIT + 2 * (int64_t)(larder__wal_record_bytes(txn) / page_bytes);
    } else if (larder__mdb_txn_renew(wal->reader) == 0) {
        larder__mdb_each_free(wal->reader, txn->commit - 1, txn->commit - 1, count_page, &count);
        mdb_txn_reset(wal->reader);
    }
    wal->kept_bytes += count * (int64_t)page_bytes;
}

void larder__wal_settle_images(larder__wal *wal) {
    for (size_t i = 0; i < wal->imaged_count; i++)
        settle(wal, wal->imaged[i]);
    wal->image_count += wal->imaged_count;
    wal->imaged_count = wal->deferred_count = 0;
}

bool larder__wal_defer_images(larder__wal *wal, uint64_t commit) {
    if (!wal->is_imaging) return true; /* pinned */
    if (!list_pages(wal, commit)) return false;
    memcpy(wal->deferred, wal->imaged, wal->imaged_count * sizeof *wal->imaged);
    wal->deferred_count = wal->imaged_count;
    return true;
}

/* ---- putting them back ---- */

bool larder__wal_find_image(const larder__buffer *records, uint64_t page, larder_bytes *image) {
    const uint8_t *at = records->data, *end = at + records->size_bytes;
    larder__wal_change change;
    while (at < end && larder__wal_next_change(&at, end, &change)) {
        if (change.kind != LARDER__WAL_PAGE || larder__wal_page_of(&change) != page) continue;
        *image = change.value;
        return true;
    }
    return false;
}

int larder__wal_restore_pages(larder_env *env, int data_file) {
    larder__wal *wal = env->wal;
    const uint8_t *at = wal->records.data, *end = at + wal->records.size_bytes;
    uint64_t count = larder__load64(wal->header.meta + META_LAST_PAGE_AT) + 1;
    larder__wal_change change;
    int code = 0;
    uint8_t *is_restored = larder__allocate(&env->allocator, (size_t)count / 8 + 1);
    if (is_restored == NULL) return ENOMEM;
    memset(is_restored, 0, (size_t)count / 8 + 1);
    while (code == 0 && at < end && larder__wal_next_change(&at, end, &change)) {
        uint64_t page = larder__wal_page_of(&change);
        if (change.kind != LARDER__WAL_PAGE || page >= count ||
            change.value.size_bytes != wal->header.page_bytes ||
            (is_restored[page / 8] >> page % 8 & 1) != 0)
            continue;
        is_restored[page / 8] |= (uint8_t)(1 << page % 8);
        code = larder__wal_overwrite(wal, data_file, change.value, page * change.value.size_bytes);
    }
    larder__release(&env->allocator, is_restored);
    return code;
}

/* stat.c - figures of a snapshot. */
#include "file.h"
#include "guard.h"
#include "internal.h"
#include "wal.h"

#include <sys/stat.h>

static bool count_page(void *context, uint64_t page) {
    (void)page;
    ++*(int64_t *)context;
    return true;
}

static void fill_counters(const larder__counters *c, larder_stat *s) {
    s->documents = c->usage[LARDER__COUNT_DOCUMENTS];
    s->overlays = c->usage[LARDER__COUNT_OVERLAYS];
    s->mutations = c->usage[LARDER__COUNT_MUTATIONS];
    s->indexes = c->usage[LARDER__COUNT_INDEXES];
    s->targets = c->usage[LARDER__COUNT_TARGETS];
    s->nodes = c->usage[LARDER__COUNT_NODES];
    s->catalog = c->usage[LARDER__COUNT_CATALOG];
    s->total_bytes = larder__counters_total(c);
    s->document_count = c->found_count;
    s->absent_count = c->absent_count;
    s->collection_count = c->collection_count;
    s->pending_batch_count = c->pending_batch_count;
    s->raw_record_bytes = c->raw_record_bytes;
    s->stored_record_bytes = c->stored_record_bytes;
    s->dictionary_id = (uint32_t)c->dictionary_id;
    s->shape_count = (uint32_t)c->next_shape;
}

int32_t larder_env_stat(const larder_txn *txn, larder_stat *stat_out, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status != LARDER_OK) return status;
    if (stat_out == NULL || stat_out->struct_bytes < sizeof *stat_out)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "stat is NULL or its struct_bytes is not set");
    larder_env *env = txn->env;
    const larder__counters *counters;
    status = larder__txn_counters(txn, &counters, error);
    if (status != LARDER_OK) return status;
    larder_stat s = {.struct_bytes = stat_out->struct_bytes};
    fill_counters(counters, &s);
    s.budget_bytes = atomic_load(&env->budget_bytes);
    int64_t free_pages = 0;
    if (!txn->is_write) {
        int counted = larder__mdb_each_free(txn->mdb, 0, UINT64_MAX, count_page, &free_pages);
        if (counted != 0) return larder__fail_mdb(error, counted, "counting free pages");
    }
    MDB_envinfo info;
    int code = larder__mdb_env_info(env->mdb, &info);
    if (code != 0) return larder__fail_mdb(error, code, "reading figures");
    s.free_bytes = free_pages * (int64_t)env->page_bytes;
    s.file_bytes = ((int64_t)info.me_last_pgno + 1) * (int64_t)env->page_bytes;
    mdb_filehandle_t file;
    struct stat on_disk;
    if (mdb_env_get_fd(env->mdb, &file) == 0 && fstat(file, &on_disk) == 0)
        s.file_bytes = (int64_t)on_disk.st_size;
    s.map_bytes = info.me_mapsize;
    s.commit_number = txn->commit;
    s.evicted_document_count = atomic_load(&env->evicted_count);
    s.evicted_bytes = atomic_load(&env->evicted_bytes);
    s.pinned_bytes = atomic_load(&env->pinned_bytes);
    s.reader_count = info.me_numreaders - larder__wal_reader_count(env);
    s.format_version = env->stored_format;
    *stat_out = s;
    return LARDER_OK;
}

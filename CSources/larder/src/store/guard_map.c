/*
 * guard_map.c - rows as LMDB returns them (guard.h).
 *
 * They are read after LMDB's call has ended, by callers, too. So the place and size that LMDB returns
 * are compared with the file's: a page that is damaged gives sizes of up to 4 GiB.
 */
#include "guard.h"

#include <sys/stat.h>
#include <unistd.h>

#define PAGE_HEADER 16
#define PAGE_FLAGS_AT 10
#define PAGE_IS_OVERFLOW 4
#define PAGE_COUNT_AT 12 /* of a value's pages */
#define META_MAGIC UINT32_C(0xBEEFC0DE)

typedef struct reading {
    const uint8_t *at;
    uint64_t value;
} reading;

static void load(void *context) {
    reading *n = context;
    n->value = larder__load64(n->at);
}

/* What may lie behind the file's end, read as LMDB would. */
static bool read_number(larder_env *env, const uint8_t *at, uint64_t *value) {
    reading n = {at, 0};
    bool is_there = larder__guard_run(load, &n);
    if (!is_there) larder__guard_note_damage(env, "page reference outside the file");
    *value = n.value;
    return is_there;
}

bool larder__guard_find_map(larder_env *env, MDB_val value) {
    MDB_envinfo info;
    uint64_t number, magic;
    if (larder__mdb_env_info(env->mdb, &info) != 0) return false;
    if (env->page_bytes != (uint32_t)sysconf(_SC_PAGESIZE)) return true; /* places are not known */
    uintptr_t page = (uintptr_t)value.mv_data & ~(uintptr_t)(env->page_bytes - 1);
    if (!read_number(env, (const uint8_t *)page, &number) || number < 2 ||
        number > info.me_last_pgno)
        return false;
    const uint8_t *first = (const uint8_t *)(page - (uintptr_t)(number * env->page_bytes));
    if (!read_number(env, first + PAGE_HEADER, &magic) || (uint32_t)magic != META_MAGIC)
        return false;
    env->map_begin = (uintptr_t)first;
    atomic_store(&env->map_filled, (number + 1) * env->page_bytes);
    return true;
}

void larder__guard_forget_map(larder_env *env) { env->map_begin = 0; }

/* The file may have grown since it was looked at. */
static bool is_filled(larder_env *env, uint64_t end) {
    struct stat info;
    int file;
    if (mdb_env_get_fd(env->mdb, &file) != 0 || fstat(file, &info) != 0) return false;
    atomic_store(&env->map_filled, (uint64_t)info.st_size);
    return end <= (uint64_t)info.st_size;
}

/* Of a writer's own pages, which lie in memory: a value that fits no page has some of its own, and
 * their header in front of it. */
static bool fits_own_pages(const larder_env *env, const uint8_t *data, size_t size_bytes) {
    if (size_bytes <= env->page_bytes / 2) return true;
    const uint8_t *page = data - PAGE_HEADER;
    uint64_t page_count = larder__load32(page + PAGE_COUNT_AT);
    return (page[PAGE_FLAGS_AT] & PAGE_IS_OVERFLOW) != 0 &&
           page_count * env->page_bytes >= PAGE_HEADER + size_bytes;
}

bool larder__guard_look(const larder_txn *txn, const void *data, size_t size_bytes) {
    larder_env *env = txn->env;
    uint64_t at = (uintptr_t)data - env->map_begin, end = at + size_bytes;
    if (env->map_begin == 0 || size_bytes == 0) return true;
    bool is_own = txn->is_write && at >= env->map_bytes;
    if (is_own ? fits_own_pages(env, data, size_bytes) : end >= at && is_filled(env, end))
        return true;
    larder__guard_note_damage(env, "a row that ends behind its pages");
    return false;
}

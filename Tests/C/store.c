/* store.c - see store.h. */
#include "store.h"
#include "store/wal.h"

#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

static void drop_log(void *context, int32_t level, const char *message) {
    (void)context;
    (void)level;
    (void)message;
}

static larder_env *open_with(const char *path, uint32_t flags) {
    larder_env *env = NULL;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.flags = flags;
    options.log = drop_log;
    CHECK_OK(larder_env_open(path, &options, &env, &test_error));
    return env;
}

larder_env *store_open(void) { return open_with("", LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY); }

larder_env *store_open_at(const char *path) {
    return open_with(path, LARDER_OPEN_CREATE | LARDER_OPEN_ANY_FILE_SYSTEM);
}

void store_close(larder_env *env) {
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 0);
}

larder_txn *store_write(larder_env *env) {
    larder_txn *txn = NULL;
    CHECK_OK(larder_txn_begin_write(env, &txn, &test_error));
    return txn;
}

const larder_txn *store_read(larder_env *env) {
    const larder_txn *txn = NULL;
    CHECK_OK(larder_txn_begin_read(env, &txn, &test_error));
    return txn;
}

void store_commit(larder_txn *txn) { CHECK_OK(larder_txn_commit(txn, &test_error)); }

static int32_t report_problem(void *context, const char *table, larder_bytes key,
                              const char *message) {
    (void)context;
    char hex[81] = "";
    for (size_t i = 0; i < key.size_bytes && i < 40; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)key.data)[i]);
    test_fail(__FILE__, __LINE__, "check: table %s, key %s: %s", table, hex, message);
    return 0;
}

void store_check(larder_env *env) {
    const larder_txn *txn = store_read(env);
    larder_check_report report = {.struct_bytes = sizeof report};
    CHECK_OK(larder_check(txn, report_problem, NULL, NULL, &report, &test_error));
    larder_txn_end_read(txn);
}

size_t store_batches_touching(const larder_txn *txn, larder_bytes user, larder_bytes name,
                              int64_t *ids, size_t capacity) {
    int64_t id = 0;
    size_t found = 0;
    CHECK_OK(larder_mutation_find_document(txn, user, name, ids, capacity, &found, &test_error));
    for (size_t count = 0; count < capacity; count++) {
        int32_t status = larder_mutation_next_touching(txn, user, name, id, &id, &test_error);
        CHECK_EQ(status, count < found ? LARDER_OK : LARDER_END);
        if (status != LARDER_OK) return count;
        CHECK_EQ(ids[count], id);
    }
    return capacity;
}

larder_stat store_stat(larder_env *env) {
    const larder_txn *txn = store_read(env);
    larder_stat stat = {.struct_bytes = sizeof stat};
    CHECK_OK(larder_env_stat(txn, &stat, &test_error));
    larder_txn_end_read(txn);
    return stat;
}

larder_bytes store_record(int64_t number, const char *text) {
    static uint8_t bytes[65536];
    larder_bytes plain = {0};
    larder_builder *builder = NULL;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    larder_builder_begin_map(builder, NULL);
    larder_builder_name(builder, test_text("n"), NULL);
    larder_builder_integer(builder, number, NULL);
    larder_builder_name(builder, test_text("text"), NULL);
    larder_builder_string(builder, test_text(text), NULL);
    larder_builder_end_map(builder, NULL);
    CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
    CHECK(plain.size_bytes <= sizeof bytes);
    if (plain.size_bytes <= sizeof bytes && plain.size_bytes > 0)
        memcpy(bytes, plain.data, plain.size_bytes);
    plain.data = bytes;
    larder_builder_close(builder);
    return plain;
}

bool store_record_is(const larder_record *record, larder_bytes plain) {
    static uint8_t bytes[LARDER_DOCUMENT_MAX_BYTES];
    size_t needed = 0;
    int32_t status = larder_record_copy(record, bytes, sizeof bytes, &needed, &test_error);
    return status == LARDER_OK && needed == plain.size_bytes &&
           memcmp(bytes, plain.data, needed) == 0;
}

/* Where in its file a mapped address lies. */
static off_t file_offset(const void *address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4608];
    unsigned long from, to, offset, wanted = (unsigned long)(uintptr_t)address;
    off_t found = -1;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && from <= wanted &&
            wanted < to)
            found = (off_t)(wanted - from + offset);
    if (maps) fclose(maps);
    return found;
}

/* Finds the row by LMDB and the byte in the file, whose meta pages stay as they are: those are
 * the checkpoint's. */
void store_damage(const char *path, const char *table, size_t position, ptrdiff_t offset) {
    char file_path[4200];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, value;
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_set_maxdbs(env, 32), 0);
    CHECK_EQ(mdb_env_open(env, path, MDB_RDONLY, 0644), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, table, 0, &dbi), 0);
    CHECK_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    int code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (code == 0 && position-- > 0)
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    CHECK_EQ(code, 0);
    size_t at = (size_t)(offset < 0 ? (ptrdiff_t)value.mv_size + offset : offset);
    CHECK(at < value.mv_size);
    if (code == 0 && at < value.mv_size) {
        uint8_t byte = (uint8_t)(((uint8_t *)value.mv_data)[at] ^ 1);
        off_t place = file_offset((uint8_t *)value.mv_data + at);
        snprintf(file_path, sizeof file_path, "%s/data.mdb", path);
        int file = open(file_path, O_WRONLY);
        CHECK(place > 0 && file >= 0);
        CHECK_EQ(pwrite(file, &byte, 1, place), 1);
        close(file);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

void store_replace_log(const char *path) {
    char file[4200];
    snprintf(file, sizeof file, "%s/%s", path, LARDER__WAL_FILE);
    CHECK_EQ(unlink(file), 0);
    CHECK_EQ(larder__wal_make_unused(path), 0);
}

char *store_fill(char fill, size_t count) {
    static char bytes[65536];
    if (count >= sizeof bytes) abort();
    memset(bytes, fill, count);
    bytes[count] = 0;
    return bytes;
}

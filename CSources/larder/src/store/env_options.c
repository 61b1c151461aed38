/* env_options.c - the options of opening a store, and their limits. */
#include "internal.h"
#include "wal.h"

#define SMALLEST_MAP_BYTES (UINT64_C(1) << 20)
#define DEFAULT_READERS 510

void larder_env_options_init(larder_env_options *options, size_t struct_bytes) {
    if (options == NULL) return;
    larder_env_options defaults = {
        .struct_bytes = struct_bytes,
        .flags = LARDER_OPEN_CREATE,
        .durability = LARDER_DURABILITY_EVERY_COMMIT,
        .budget_bytes = LARDER_BUDGET_UNLIMITED,
        .max_readers = DEFAULT_READERS,
        .max_depth = LARDER_DEPTH_MAX,
        .max_document_bytes = LARDER_DOCUMENT_MAX_BYTES,
        .compression_level = 1,
        .automatic_training = 1,
        .log_level = LARDER_LOG_WARNING,
    };
    larder__struct_init(options, struct_bytes, &defaults, sizeof defaults);
}

int32_t larder__budget_check(int64_t budget_bytes, larder_error *error) {
    if (budget_bytes == LARDER_BUDGET_UNLIMITED || budget_bytes >= LARDER_BUDGET_MIN_BYTES)
        return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                        "a budget of %lld bytes: give at least %d, or -1 for no limit",
                        (long long)budget_bytes, LARDER_BUDGET_MIN_BYTES);
}

int32_t larder__options_check(const larder_env_options *o, larder_error *error) {
    const uint32_t known = LARDER_OPEN_CREATE | LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED |
                           LARDER_OPEN_IN_MEMORY | LARDER_OPEN_ANY_FILE_SYSTEM;
    if ((o->flags & ~known) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown open flags 0x%x", o->flags);
    if ((o->flags & LARDER_OPEN_IN_MEMORY) != 0 &&
        (o->flags & (LARDER_OPEN_READ_ONLY | LARDER_OPEN_SHARED)) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "an in-memory store can be neither read-only nor shared");
    if (o->durability != LARDER_DURABILITY_EVERY_COMMIT &&
        o->durability != LARDER_DURABILITY_LAST_COMMIT_AT_RISK)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown durability %d",
                            o->durability);
    if (o->recovery < LARDER_RECOVERY_FAIL || o->recovery > LARDER_RECOVERY_QUARANTINE)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown recovery %d", o->recovery);
    if (o->max_depth == 0 || o->max_depth > 64)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_depth %u is not in 1..64",
                            o->max_depth);
    if (o->max_document_bytes < 1 || o->max_document_bytes > INT64_C(16) << 20)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "max_document_bytes %lld is not in 1..16 MiB",
                            (long long)o->max_document_bytes);
    if (o->compression_level < -7 || o->compression_level > 19)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "compression_level %d is not in -7..19", o->compression_level);
    if (o->max_readers < 2 || o->max_readers > 65536)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "max_readers %u is not in 2..65536",
                            o->max_readers);
    if (o->map_bytes != 0 && o->map_bytes < SMALLEST_MAP_BYTES)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "map_bytes %llu is below 1 MiB (0 means the default)",
                            (unsigned long long)o->map_bytes);
    if (o->log_bytes != 0 &&
        (o->log_bytes < LARDER__WAL_SMALLEST || o->log_bytes > LARDER__WAL_LARGEST))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "log_bytes %llu is not in 64 KiB..1 GiB (0 means the default)",
                            (unsigned long long)o->log_bytes);
    if (!larder__is_allocator(o->allocator))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a function of the allocator is NULL");
    return larder__budget_check(o->budget_bytes, error);
}

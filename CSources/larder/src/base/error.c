/* error.c - status texts, the caller's larder_error, version and limits. */
#undef _GNU_SOURCE /* strerror_r as POSIX has it */
#define _POSIX_C_SOURCE 200809L
#include "error.h"

#include <errno.h>
#include <lmdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One row a status: name without prefix, text. */
#define STATUSES(STATUS)                                                                           \
    STATUS(OK, "done")                                                                             \
    STATUS(NOT_FOUND, "nothing is stored under that name or id")                                   \
    STATUS(END, "the scan has no further entry")                                                   \
    STATUS(COLD, "the value lies in the compressed part of the record")                            \
    STATUS(MORE, "a bounded step did its share; call again for the rest")                          \
    STATUS(STOPPED, "a progress callback asked to stop")                                           \
    STATUS(E_INVALID_ARGUMENT, "invalid argument")                                                 \
    STATUS(E_INVALID_NAME, "a path, id, field path or user that Firestore forbids")                \
    STATUS(E_INVALID_RECORD, "the bytes are not a record or value of this format")                 \
    STATUS(E_TOO_DEEP, "maps and arrays are nested too deep")                                      \
    STATUS(E_TOO_LARGE, "a size limit is exceeded")                                                \
    STATUS(E_BUFFER_TOO_SMALL, "the buffer is too small")                                          \
    STATUS(E_WRONG_TYPE, "the value is of another type")                                           \
    STATUS(E_EXISTS, "it exists already")                                                          \
    STATUS(E_ALREADY_OPEN, "this process has the store open already")                              \
    STATUS(E_LOCKED, "another process has the store open")                                         \
    STATUS(E_FORKED, "the handle was made before fork()")                                          \
    STATUS(E_NETWORK_FILE_SYSTEM, "the store lies on a network file system")                       \
    STATUS(E_NEWER_FORMAT, "the store was written by a newer version")                             \
    STATUS(E_FOREIGN_FILE, "a file is there that is not a store")                                  \
    STATUS(E_NO_STORE, "there is no store at the path")                                            \
    STATUS(E_READ_ONLY, "the store is open for reading only")                                      \
    STATUS(E_PERMISSION, "the system denies access")                                               \
    STATUS(E_WRONG_THREAD, "the handle belongs to another thread")                                 \
    STATUS(E_TXN_ENDED, "the transaction has failed or its environment is closing")                \
    STATUS(E_BUSY, "open handles or readers prevent the call")                                     \
    STATUS(E_IO, "input or output failed")                                                         \
    STATUS(E_NO_SPACE, "no space is left on the device")                                           \
    STATUS(E_NO_MEMORY, "out of memory")                                                           \
    STATUS(E_WRITES_REFUSED, "an earlier write to disk failed; reopen the store")                  \
    STATUS(E_READERS_FULL, "too many read transactions are open")                                  \
    STATUS(E_MAP_FULL, "the transaction outgrew the memory map")                                   \
    STATUS(E_CORRUPT, "stored data is damaged")                                                    \
    STATUS(E_NO_DICTIONARY, "a compression dictionary is missing")

const char *larder_strerror(int32_t status) {
    switch (status) {
#define TEXT(name, text)                                                                           \
    case LARDER_##name:                                                                            \
        return text;
        STATUSES(TEXT)
#undef TEXT
    default:
        return status > 0 ? "an outcome this version does not know"
                          : "an error this version does not know";
    }
}

const char *larder_status_name(int32_t status) {
    switch (status) {
#define NAME(name, text)                                                                           \
    case LARDER_##name:                                                                            \
        return #name;
        STATUSES(NAME)
#undef NAME
    default:
        return "unknown";
    }
}

/* Makes the message one line of whole UTF-8 characters (its end may have been cut). */
static void tidy(char *message) {
    size_t size = strlen(message);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)message[i] < 0x20) message[i] = ' ';
    size_t start = size;
    while (start > 0 && size - start < 4 && ((unsigned char)message[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)message[start - 1];
    size_t needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (size - start + 1 < needed) message[start - 1] = 0;
}

__attribute__((format(printf, 4, 0))) static int32_t fill(larder_error *error, int32_t status,
                                                          int32_t system_code, const char *format,
                                                          va_list arguments) {
    if (!error) return status;
    error->status = status;
    error->system_code = system_code;
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        snprintf(error->message, sizeof error->message, "%s", larder_strerror(status));
    tidy(error->message);
    return status;
}

int32_t larder__fail(larder_error *error, int32_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, 0, format, arguments);
    va_end(arguments);
    return status;
}

int32_t larder__fail_system(larder_error *error, int32_t status, int32_t system_code,
                            const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, system_code, format, arguments);
    va_end(arguments);
    return status;
}

static int32_t mdb_status(int code) {
    switch (code) {
    case MDB_NOTFOUND:
        return LARDER_NOT_FOUND;
    case MDB_KEYEXIST:
        return LARDER_E_EXISTS;
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
        return LARDER_E_FOREIGN_FILE;
    case MDB_PANIC:
        return LARDER_E_WRITES_REFUSED; /* LMDB refuses all until it is reopened */
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
        return LARDER_E_MAP_FULL;
    case MDB_READERS_FULL:
        return LARDER_E_READERS_FULL;
    case MDB_TLS_FULL:
        return LARDER_E_NO_MEMORY;
    case MDB_TXN_FULL:
        return LARDER_E_TOO_LARGE;
    case MDB_BAD_TXN:
        return LARDER_E_TXN_ENDED;
    case MDB_BAD_RSLOT:
        return LARDER_E_BUSY;
    case MDB_DBS_FULL:
    case MDB_BAD_VALSIZE:
    case MDB_BAD_DBI:
    case EINVAL:
        return LARDER_E_INVALID_ARGUMENT;
    case MDB_PAGE_NOTFOUND:
    case MDB_CORRUPTED:
    case MDB_CURSOR_FULL:
    case MDB_PAGE_FULL:
    case MDB_INCOMPATIBLE:
        return LARDER_E_CORRUPT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return LARDER_E_NO_SPACE;
    case ENOMEM:
        return LARDER_E_NO_MEMORY;
    case EACCES:
    case EPERM:
        return LARDER_E_PERMISSION;
    case EROFS:
        return LARDER_E_READ_ONLY;
    case ENOENT:
        return LARDER_E_NO_STORE;
    case EEXIST:
        return LARDER_E_EXISTS;
    case EAGAIN:
        return LARDER_E_LOCKED;
    case EBUSY:
        return LARDER_E_BUSY;
    default:
        return LARDER_E_IO;
    }
}

int32_t larder__fail_mdb(larder_error *error, int mdb_code, const char *what) {
    if (mdb_code == MDB_SUCCESS) return LARDER_OK;
    int32_t status = mdb_status(mdb_code);
    if (!error) return status;
    char text[128];
    if (mdb_code > 0) { /* mdb_strerror would use strerror, which may share its buffer */
        if (strerror_r(mdb_code, text, sizeof text) != 0)
            snprintf(text, sizeof text, "system error %d", mdb_code);
    } else {
        snprintf(text, sizeof text, "%s", mdb_strerror(mdb_code));
    }
    return larder__fail_system(error, status, mdb_code, "%s: %s", what, text);
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *larder_version(void) {
    return VERSION_TEXT(LARDER_VERSION_MAJOR, LARDER_VERSION_MINOR, LARDER_VERSION_PATCH);
}
uint32_t larder_version_number(void) {
    return (uint32_t)LARDER_VERSION_MAJOR << 16 | (uint32_t)LARDER_VERSION_MINOR << 8 |
           (uint32_t)LARDER_VERSION_PATCH;
}
uint32_t larder_format_version(void) { return LARDER_FORMAT_VERSION; }

int64_t larder_limit_name_bytes(void) { return LARDER_NAME_MAX_BYTES; }
int64_t larder_limit_id_bytes(void) { return LARDER_ID_MAX_BYTES; }
int64_t larder_limit_document_bytes(void) { return LARDER_DOCUMENT_MAX_BYTES; }
int64_t larder_limit_depth(void) { return LARDER_DEPTH_MAX; }
int64_t larder_limit_budget_bytes(void) { return LARDER_BUDGET_MIN_BYTES; }

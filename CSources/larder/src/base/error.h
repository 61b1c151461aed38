/* error.h - filling the caller's larder_error. */
#ifndef LARDER_ERROR_H
#define LARDER_ERROR_H

#include "larder.h"

/* Fills error (nullable) and returns status, so that a caller can `return larder__fail(...)`. */
int32_t larder__fail(larder_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with errno or an LMDB code kept in system_code. */
int32_t larder__fail_system(larder_error *error, int32_t status, int32_t system_code,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Maps an LMDB or errno code to a status and fills error; what says what was being done. */
int32_t larder__fail_mdb(larder_error *error, int mdb_code, const char *what);

#endif

/* handle.c - what public calls do with a handle first: see that it may be used; and the log. */
#include "txn.h"

#include <stdarg.h>
#include <stdio.h>

int32_t larder__env_check(const larder_env *env, larder_error *error) {
    if (env == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "env is NULL");
    if (larder__env_is_forked(env))
        return larder__fail(error, LARDER_E_FORKED, "the handle was made before fork()");
    return LARDER_OK;
}

int32_t larder__txn_check_read(const larder_txn *txn, larder_error *error) {
    if (txn == NULL) return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "txn is NULL");
    int32_t status = larder__env_check(txn->env, error);
    if (status != LARDER_OK || !txn->is_write) return status;
    if (txn->thread != larder__thread_id())
        return larder__fail(error, LARDER_E_WRONG_THREAD,
                            "a write transaction belongs to the thread that began it");
    if (txn->failed)
        return larder__fail(error, LARDER_E_TXN_ENDED,
                            "the transaction has failed and can only be aborted");
    return LARDER_OK;
}

int32_t larder__txn_check_write(const larder_txn *txn, larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK && !txn->is_write)
        status = larder__fail(error, LARDER_E_READ_ONLY, "this is a read transaction");
    if (status == LARDER_OK && txn->checks > 0)
        status = larder__fail(error, LARDER_E_BUSY, "larder_check is reading the transaction");
    return status;
}

bool larder__txn_is_checked(const larder_txn *txn) {
    if (txn->checks > 0)
        larder__log(txn->env, LARDER_LOG_ERROR,
                    "a transaction was ended while larder_check reads it: nothing done");
    return txn->checks > 0;
}

void larder__log(const larder_env *env, int32_t level, const char *format, ...) {
    if (env->log == NULL || level > env->log_level) return;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    env->log(env->log_context, level, message);
}

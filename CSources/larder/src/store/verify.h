/*
 * verify.h - the pages that LMDB is about to change, looked at before it does (verify.c).
 */
#ifndef LARDER_VERIFY_H
#define LARDER_VERIFY_H

#include "internal.h"

/* What a change of a row can do to its leaf. */
typedef enum larder__effect {
    LARDER__ADDS,      /* a row that is not there, or nothing */
    LARDER__REPLACES,  /* a row by one of the same size */
    LARDER__MAY_SHRINK /* anything: LMDB may merge the leaf with one beside it */
} larder__effect;

/* Damage that was found. */
typedef struct larder__finding {
    uint64_t page;
    const char *what; /* NULL: none */
} larder__finding;

/* To be called before the other functions, outside of the guard. False: there is no memory. */
bool larder__verify_make(larder_env *env);
static inline bool larder__verify_prepare(larder_env *env) {
    return env->verified != NULL || larder__verify_make(env);
}
/* Before a transaction's first change: LMDB's table of tables and that of free pages. Fills
 * *finding; reads the map, so to be called within the guard. */
void larder__verify_tables(larder_env *env, const MDB_txn *txn, larder__finding *finding);
/* Before a change of the row under key: the pages that LMDB may change for it. The same rules. */
void larder__verify_change(larder_env *env, const MDB_txn *txn, MDB_dbi dbi, larder_bytes key,
                           larder__effect effect, larder__finding *finding);
/* True if all pages of a table are verified. */
bool larder__verify_is_done(const larder_env *env, MDB_dbi dbi);
/* A transaction of this process has committed. */
void larder__verify_committed(larder_env *env, uint64_t commit);
void larder__verify_release(larder_env *env);

#endif

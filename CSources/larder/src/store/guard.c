/*
 * guard.c - LMDB's calls, which a damaged file cannot end the process with.
 *
 * LMDB 0.9 believes its pages. Where they are wrong it calls its assertion handler and aborts, or
 * reads behind the end of the file (SIGBUS) or of the map (SIGSEGV). Around each call a thread
 * notes where to go on: the assertion handler, or ours for the two signals, goes there, and the
 * call ends with MDB_CORRUPTED. In a read transaction nothing of LMDB's is held meanwhile. A write
 * transaction can only be aborted afterwards, and the environment takes no other, nor another change:
 * what LMDB had begun to change is not whole. The same holds behind an error by which LMDB says that
 * a page is damaged, because changes believe what is beside it.
 *
 * While LMDB changes pages it has cursors on its stack linked into the transaction, and the end of a
 * write transaction releases every cursor that is linked. So those of a call that was left are
 * unlinked first. A transaction begins with LMDB's lock or a reader's place, which nobody could give
 * back: what it reads of the map is looked at before.
 *
 * The signals of other code go to the handlers that were there before ours.
 *
 * Heap damage cannot be caught: a page that LMDB copies to change it can make it write behind its
 * own memory. So the pages of a change are looked at before it (verify.c).
 *
 * Rejected: reading with pread (a system call a page, and LMDB's interface has no place for it);
 * zeros mapped over what cannot be read (LMDB's assertions would still end the process).
 */
#include "guard.h"

#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/ucontext.h>
#else
#include <ucontext.h>
#endif

typedef struct guard {
    sigjmp_buf place;
    MDB_env *mdb; /* known before the call: afterwards its transaction may not be whole */
    MDB_txn *txn; /* of a call that links cursors; NULL: it links none */
    char what[160];
} guard;

static _Thread_local guard *current;

/* ---- what ends a call ---- */

static struct sigaction earlier[2]; /* SIGSEGV, SIGBUS */
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static void on_assert(MDB_env *env, const char *message) {
    guard *g = current;
    (void)env;
    if (g == NULL) return; /* LMDB aborts */
    size_t size = strnlen(message, sizeof g->what - 1);
    memcpy(g->what, message, size);
    g->what[size] = '\0';
    siglongjmp(g->place, 1);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    guard *g = current;
    if (g != NULL) {
        static const char text[] = "page reference outside the file";
        memcpy(g->what, text, sizeof text);
        /* Going on elsewhere skips the end of the handler, which would unblock its signals. */
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(g->place, 1);
    }
    const struct sigaction *before = &earlier[number == SIGBUS];
    if ((before->sa_flags & SA_SIGINFO) != 0)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    else
        sigaction(number, before, NULL); /* the instruction runs again, and ends the process */
}

static void set_handlers(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &earlier[0]);
    sigaction(SIGBUS, &action, &earlier[1]);
}

void larder__guard_attach(MDB_env *mdb, larder_env *env) {
    pthread_once(&handlers_once, set_handlers);
    mdb_env_set_userctx(mdb, env);
    mdb_env_set_assert(mdb, on_assert);
}

/* ---- cursors that are linked into a write transaction ---- */

#define MAIN_TABLE 1 /* LMDB's table of tables */
#define OWN_TABLES 2 /* that and its table of free pages */
#define TXN_WORDS 24 /* at the begin of LMDB's transaction; it has 17 words and more behind them */
#define LISTS_NONE SIZE_MAX

/* Where LMDB's transaction refers to its lists of cursors, one for each table: the same in each
 * transaction. They lie behind it in its memory. 0: not known yet. */
static _Atomic size_t lists_at;

static MDB_cursor **lists_of(MDB_txn *txn, size_t at) {
    uintptr_t lists;
    memcpy(&lists, (const uint8_t *)txn + at, sizeof lists);
    bool is_behind = lists % sizeof lists == 0 && lists > (uintptr_t)txn &&
                     lists - (uintptr_t)txn < LARDER__TABLES_MAX * (size_t)128;
    return is_behind ? (MDB_cursor **)lists : NULL;
}

/* A cursor that was just opened is the first one of its list. */
static int find_lists(MDB_txn *txn) {
    MDB_cursor *cursor;
    size_t found = LISTS_NONE;
    if (atomic_load_explicit(&lists_at, memory_order_relaxed) != 0) return 0;
    int code = mdb_cursor_open(txn, MAIN_TABLE, &cursor);
    if (code != 0) return code;
    for (size_t at = sizeof(void *); at < TXN_WORDS * sizeof(void *) && found == LISTS_NONE;
         at += sizeof(void *)) {
        MDB_cursor **lists = lists_of(txn, at);
        if (lists != NULL && lists[MAIN_TABLE] == cursor) found = at;
    }
    mdb_cursor_close(cursor);
    atomic_store_explicit(&lists_at, found, memory_order_relaxed);
    return 0;
}

/* Cursors that are open stay so: closing one does not need its list. */
static void unlink_cursors(MDB_txn *txn) {
    size_t at = atomic_load_explicit(&lists_at, memory_order_relaxed);
    MDB_cursor **lists = at == 0 || at == LISTS_NONE ? NULL : lists_of(txn, at);
    if (lists != NULL) memset(lists, 0, (OWN_TABLES + LARDER__TABLES_MAX) * sizeof *lists);
}

/* ---- what is known of damage ---- */

/* For the process that opens the store next: opening does not read all pages. */
static void leave_note(const larder_env *env) {
    char path[4352];
    if ((env->flags & (LARDER_OPEN_READ_ONLY | LARDER_OPEN_IN_MEMORY)) != 0) return;
    snprintf(path, sizeof path, "%s/%s", env->path, LARDER__DAMAGE_NOTE);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file >= 0) close(file);
}

void larder__guard_note_damage(larder_env *env, const char *what) {
    if (env == NULL || atomic_exchange(&env->is_damaged, true)) return;
    leave_note(env);
    larder__log(env, LARDER_LOG_ERROR,
                "a page of the data file is damaged (%s): writes are refused from here on", what);
}

static void note_damage(MDB_env *mdb, const char *what) {
    larder__guard_note_damage(mdb_env_get_userctx(mdb), what);
}

static int give_up(guard *g) {
    current = NULL;
    if (g->txn != NULL) unlink_cursors(g->txn);
    note_damage(g->mdb, g->what);
    return MDB_CORRUPTED;
}

/* What LMDB itself found wrong. A change would spread it. */
static int look_at(MDB_env *mdb, int code) {
    if (code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_CURSOR_FULL ||
        code == MDB_PAGE_FULL)
        note_damage(mdb, mdb_strerror(code));
    return code;
}

/* ---- before a change ---- */

static bool is_sound(guard *g, const larder__finding *finding) {
    if (finding->what == NULL) return true;
    snprintf(g->what, sizeof g->what, "page %llu: %s", (unsigned long long)finding->page,
             finding->what);
    current = NULL;
    note_damage(g->mdb, g->what);
    return false;
}

/* Whether the pages that a change can reach are sound. */
static inline bool look_before(guard *g, larder_env *env, MDB_txn *txn, MDB_dbi dbi,
                               const MDB_val *key, larder__effect effect) {
    larder__finding finding;
    if (env == NULL) return true;
    if (atomic_load_explicit(&env->is_damaged, memory_order_relaxed)) return false;
    if (env->verified == NULL) return true;
    larder__verify_change(env, txn, dbi, larder__bytes(key->mv_data, key->mv_size), effect,
                          &finding);
    return is_sound(g, &finding);
}

/* The same of a change in LMDB's table of tables. */
static bool look_before_open(guard *g, larder_env *env, MDB_txn *txn, unsigned flags) {
    larder__finding finding;
    if (env == NULL || (flags & MDB_CREATE) == 0) return true;
    if (atomic_load_explicit(&env->is_damaged, memory_order_relaxed)) return false;
    if (env->verified == NULL) return true;
    larder__verify_tables(env, txn, &finding);
    return is_sound(g, &finding);
}

/* ---- LMDB's calls ---- */

/* Between: calls of LMDB, which have no call of ours in them, or a read of the map. The handlers look
 * at current, and the compiler may not move what is between to where it is not set. */
#define GUARDED(env_of, call) GUARDED_CHANGE(env_of, NULL, call)

/* The same of a call that changes pages in a transaction. */
#define GUARDED_CHANGE(env_of, txn_of, call)                                                       \
    guard g;                                                                                       \
    g.mdb = env_of;                                                                                \
    g.txn = txn_of;                                                                                \
    if (sigsetjmp(g.place, 0) != 0) return give_up(&g);                                            \
    guard **place = &current;                                                                      \
    *place = &g;                                                                                   \
    atomic_signal_fence(memory_order_seq_cst);                                                     \
    int code = call;                                                                               \
    atomic_signal_fence(memory_order_seq_cst);                                                     \
    *place = NULL;                                                                                 \
    return code == 0 ? 0 : look_at(g.mdb, code)

/* A call that changes the row under key. */
#define CHANGE(txn, dbi, key, effect, call)                                                        \
    MDB_env *mdb = mdb_txn_env(txn);                                                               \
    larder_env *env = mdb_env_get_userctx(mdb);                                                    \
    if (env != NULL && !larder__verify_prepare(env)) return ENOMEM;                                \
    GUARDED_CHANGE(mdb, txn, look_before(&g, env, txn, dbi, key, effect) ? call : MDB_CORRUPTED)

/* Of a put. */
static larder__effect effect_of(unsigned flags) {
    if ((flags & (MDB_NOOVERWRITE | MDB_APPEND)) != 0) return LARDER__ADDS;
    return (flags & MDB_CURRENT) != 0 ? LARDER__REPLACES : LARDER__MAY_SHRINK;
}

/* Reads both meta pages, with nothing of LMDB's held. */
static int look_at_metas(MDB_env *env) {
    MDB_envinfo info;
    return mdb_env_info(env, &info);
}

static int begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn) {
    GUARDED(env, (look_at_metas(env), mdb_txn_begin(env, parent, flags, txn)));
}

int larder__mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn) {
    int code = begin(env, parent, flags, txn);
    if (code != 0 || (flags & MDB_RDONLY) != 0) return code;
    code = find_lists(*txn);
    if (code != 0) larder__mdb_txn_abort(*txn);
    return code;
}

int larder__mdb_txn_renew(MDB_txn *txn) {
    MDB_env *env = mdb_txn_env(txn);
    GUARDED(env, (look_at_metas(env), mdb_txn_renew(txn)));
}

int larder__mdb_env_set_mapsize(MDB_env *env, size_t bytes) {
    GUARDED(env, (look_at_metas(env), mdb_env_set_mapsize(env, bytes)));
}

int larder__mdb_env_info(MDB_env *env, MDB_envinfo *info) {
    *info = (MDB_envinfo){.me_last_pgno = 0};
    GUARDED(env, mdb_env_info(env, info));
}

static int end(MDB_txn *txn) { GUARDED(mdb_txn_env(txn), (mdb_txn_abort(txn), 0)); }

/* LMDB ends a transaction whose commit fails, but not one that it was taken out of. */
static int end_damaged(MDB_txn *txn, guard *g) {
    int code = give_up(g);
    end(txn);
    return code;
}

int larder__mdb_txn_commit(MDB_txn *txn) {
    guard g;
    g.mdb = mdb_txn_env(txn);
    g.txn = txn;
    larder_env *env = mdb_env_get_userctx(g.mdb);
    uint64_t commit = mdb_txn_id(txn);
    if (sigsetjmp(g.place, 0) != 0) return end_damaged(txn, &g);
    current = &g;
    int code = mdb_txn_commit(txn);
    current = NULL;
    if (code == 0 && env != NULL) larder__verify_committed(env, commit);
    return look_at(g.mdb, code);
}

void larder__mdb_txn_abort(MDB_txn *txn) {
    if (txn != NULL) end(txn);
}

int larder__mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi) {
    larder_env *env = mdb_env_get_userctx(mdb_txn_env(txn));
    if (env != NULL && (flags & MDB_CREATE) != 0 && !larder__verify_prepare(env)) return ENOMEM;
    GUARDED_CHANGE(mdb_txn_env(txn), (flags & MDB_CREATE) != 0 ? txn : NULL,
                   look_before_open(&g, env, txn, flags) ? mdb_dbi_open(txn, name, flags, dbi)
                                                         : MDB_CORRUPTED);
}

int larder__mdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat) {
    GUARDED(mdb_txn_env(txn), mdb_stat(txn, dbi, stat));
}

int larder__mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
    GUARDED(mdb_txn_env(txn), mdb_get(txn, dbi, key, value));
}

int larder__mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags) {
    CHANGE(txn, dbi, key, effect_of(flags), mdb_put(txn, dbi, key, value, flags));
}

int larder__mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
    CHANGE(txn, dbi, key, LARDER__MAY_SHRINK, mdb_del(txn, dbi, key, value));
}

int larder__mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor) {
    GUARDED(mdb_txn_env(txn), mdb_cursor_open(txn, dbi, cursor));
}

int larder__mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op) {
    GUARDED(mdb_txn_env(mdb_cursor_txn(cursor)), mdb_cursor_get(cursor, key, value, op));
}

static int get_rows(MDB_cursor *cursor, MDB_cursor_op op, larder__mdb_row *rows, size_t count,
                    size_t *taken) {
    int code = 0;
    while (*taken < count) {
        larder__mdb_row *row = &rows[*taken];
        code = mdb_cursor_get(cursor, &row->key, &row->value, op);
        if (code != 0) break;
        ++*taken;
    }
    return code;
}

int larder__mdb_cursor_get_rows(MDB_cursor *cursor, MDB_cursor_op op, larder__mdb_row *rows,
                                size_t count, size_t *taken) {
    *taken = 0;
    GUARDED(mdb_txn_env(mdb_cursor_txn(cursor)), get_rows(cursor, op, rows, count, taken));
}

/* A cursor stays on a page where its first and last keys say that a key is there. Damaged keys can say
 * that of a page that no search leads to and that was not looked at. So in a table that was not looked at
 * as a whole a change searches from the root. */
static bool may_stay(const larder_env *env, MDB_cursor *cursor) {
    return env == NULL || larder__verify_is_done(env, mdb_cursor_dbi(cursor));
}

/* MDB_CURRENT is left out: a cursor that did not make the search before is on another row. */
static int put_at(const larder_env *env, MDB_cursor *cursor, MDB_val *key, MDB_val *value,
                  unsigned flags) {
    flags &= ~(unsigned)MDB_CURRENT;
    if (may_stay(env, cursor)) return mdb_cursor_put(cursor, key, value, flags);
    return mdb_put(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), key, value, flags);
}

/* Deletes the row that a cursor is on, which has to be the one that a search finds. */
static int delete_at(const larder_env *env, MDB_cursor *cursor, const MDB_val *key,
                     unsigned flags) {
    MDB_val searched = *key, found, row_key, row;
    if (may_stay(env, cursor)) return mdb_cursor_del(cursor, flags);
    int code = mdb_get(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), &searched, &found);
    if (code == 0) code = mdb_cursor_get(cursor, &row_key, &row, MDB_GET_CURRENT);
    if (code == MDB_NOTFOUND || (code == 0 && found.mv_data != row.mv_data)) return MDB_CORRUPTED;
    return code == 0 ? mdb_cursor_del(cursor, flags) : code;
}

int larder__mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags) {
    /* Above each key of a table: they begin with a number, a kind or two 32-bit numbers (key.h). */
    static uint8_t above_all[] = {255, 255, 255, 255, 255, 255, 255, 255, 255};
    /* LMDB takes the last page for a row that is appended, whatever its key. */
    bool is_appended = (flags & MDB_APPEND) != 0;
    MDB_val last = {sizeof above_all, above_all};
    CHANGE(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), is_appended ? &last : key,
           effect_of(flags), put_at(env, cursor, key, value, flags));
}

int larder__mdb_cursor_del(MDB_cursor *cursor, const MDB_val *key, unsigned flags) {
    CHANGE(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), key, LARDER__MAY_SHRINK,
           delete_at(env, cursor, key, flags));
}

/* False: it is of a commit after the last one, or visit says so. */
static bool visit_row(MDB_val key, MDB_val row, uint64_t last, larder__page_function visit,
                      void *context) {
    if (key.mv_size != sizeof last || larder__load64(key.mv_data) > last) return false;
    const uint8_t *at = row.mv_data;
    size_t most = row.mv_size / 8, count = most == 0 ? 0 : (size_t)larder__load64(at);
    bool goes_on = true;
    for (size_t i = 1; i <= count && i < most && goes_on; i++)
        goes_on = visit(context, larder__load64(at + 8 * i));
    return goes_on;
}

/* The row may end behind the file. */
static int look_at_row(MDB_txn *txn, MDB_val key, MDB_val row, uint64_t last,
                       larder__page_function visit, void *context, bool *goes_on) {
    GUARDED(mdb_txn_env(txn), (*goes_on = visit_row(key, row, last, visit, context), 0));
}

/* The table is in the order of commits. */
int larder__mdb_each_free(MDB_txn *txn, uint64_t first, uint64_t last, larder__page_function visit,
                          void *context) {
    MDB_cursor *cursor;
    MDB_val key = {sizeof first, &first}, value;
    bool goes_on = true;
    int code = larder__mdb_cursor_open(txn, 0, &cursor); /* the table's number */
    if (code != 0) return code;
    code =
        larder__mdb_cursor_get(cursor, &key, &value, first == last ? MDB_SET_KEY : MDB_SET_RANGE);
    while (code == 0 && goes_on) {
        code = look_at_row(txn, key, value, last, visit, context, &goes_on);
        if (code != 0 || first == last) break;
        code = larder__mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* ---- other calls ---- */

bool larder__guard_run(void (*run)(void *context), void *context) {
    guard g;
    if (sigsetjmp(g.place, 0) != 0) {
        current = NULL;
        return false;
    }
    current = &g;
    atomic_signal_fence(memory_order_seq_cst);
    run(context);
    atomic_signal_fence(memory_order_seq_cst);
    current = NULL;
    return true;
}

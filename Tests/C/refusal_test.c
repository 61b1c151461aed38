/*
 * refusal_test.c - every function of larder.h refuses what it cannot use (contract 11): each argument in
 * turn, and each member of a struct, is NULL, too large, at the limits of its type, or of before a
 * fork. Nothing else of a call is bad, so that nothing else can be why it is refused.
 */
#include "refusal_calls.h"
#include "refusal_kit.h"

#include "env_kit.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

enum { SLOTS_MAX = 8, SECONDS_MAX = 300 };

/* ---- the calls ---- */

static int32_t on_progress(void *context, int64_t done, int64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 0;
}
static int32_t on_problem(void *context, const char *table, larder_bytes key, const char *message) {
    (void)context;
    (void)table;
    (void)key;
    (void)message;
    return 0;
}
static int32_t on_page_problem(void *context, uint64_t page, const char *table,
                               const char *message) {
    (void)context;
    (void)page;
    (void)table;
    (void)message;
    return 0;
}

#define P(n) s[n].pointer
#define B(n) s[n].bytes
#define I(n) (int32_t) s[n].number
#define J(n) s[n].number
#define U(n) (uint32_t) s[n].number
#define L(n) (uint64_t) s[n].number
#define Z(n) (size_t) s[n].number
#define D(n) s[n].real
#define T(n) s[n].time
#define C(n) (s[n].number ? on_progress : NULL)

#define CALL_FUNCTION(name, words, arguments)                                                      \
    static int64_t call_##name(const refusal_slot *s, larder_error *error) {                       \
        (void)s;                                                                                   \
        (void)error;                                                                               \
        return (int64_t)(intptr_t)larder_##name arguments;                                         \
    }
#define NOTHING_FUNCTION(name, words, arguments)                                                   \
    static int64_t call_##name(const refusal_slot *s, larder_error *error) {                       \
        (void)error;                                                                               \
        larder_##name arguments;                                                                   \
        return 0;                                                                                  \
    }
REFUSAL_CALLS(CALL_FUNCTION, CALL_FUNCTION, NOTHING_FUNCTION)

typedef struct call {
    const char *name;
    const char *words;
    const char *arguments;
    bool has_status;
    int64_t (*run)(const refusal_slot *slots, larder_error *error);
} call;

/* clang-format off */
#define STATUS_ROW(name, words, arguments) {"larder_" #name, words, #arguments, true, call_##name},
#define OTHER_ROW(name, words, arguments) {"larder_" #name, words, #arguments, false, call_##name},
/* clang-format on */
static const call calls[] = {REFUSAL_CALLS(STATUS_ROW, OTHER_ROW, OTHER_ROW)};
static const size_t call_count = sizeof calls / sizeof calls[0];

static bool has_error(const call *c) { return strstr(c->arguments, "error") != NULL; }

/* ---- slots ---- */

typedef struct prepared {
    size_t count;
    const refusal_kind *kinds[SLOTS_MAX];
    bool is_nullable[SLOTS_MAX];
    refusal_slot slots[SLOTS_MAX];
} prepared;

static void prepare(const call *c, prepared *p) {
    const char *at = c->words;
    p->count = 0;
    while (*at != '\0') {
        char word[64];
        size_t size = strcspn(at, " ");
        p->is_nullable[p->count] = *at == '?';
        snprintf(word, sizeof word, "%.*s", (int)size - (*at == '?'), at + (*at == '?'));
        const refusal_kind *kind = refusal_kind_of(word);
        if (kind == NULL || p->count == SLOTS_MAX) abort();
        p->kinds[p->count] = kind;
        refusal_make(kind, &p->slots[p->count++]);
        at += size;
        while (*at == ' ')
            at++;
    }
}

static const char *running; /* what a run that hangs was at */

static void stop(int number) {
    (void)number;
    if (write(2, "hangs: ", 7) < 0 || write(2, running, strlen(running)) < 0) _exit(3);
    _exit(3);
}

/* Calls, and forgets the handles that the call has closed. */
static int64_t run(const call *c, prepared *p, larder_error *error) {
    running = c->name;
    int64_t result = c->run(p->slots, error);
    for (size_t i = 0; i < p->count; i++)
        if (strncmp(p->kinds[i]->word, "ending-", 7) == 0 && p->slots[i].pointer != NULL)
            refusal_forget(p->slots[i].pointer);
    return result;
}

/* ---- what can be wrong ---- */

static const int64_t numbers[] = {
    0,         1,          255,       -1,        INT32_MIN,
    INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN, INT64_C(10000000000000000),
    -2};
static const int64_t counts[] = {0, INT32_MAX, UINT32_MAX, INT64_MAX, -1};
static const int64_t capacities[] = {0, 1, INT64_MAX, -1};
static const double reals[] = {0, NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN};
static const larder_time times[] = {{INT64_MIN, 0, 0}, {INT64_MAX, INT32_MAX, 0},
                                    {0, -1, 0},        {0, 1000000000, 0},
                                    {0, INT32_MIN, 0}, {0, 0, INT32_MAX}};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef enum verdict {
    END,      /* there are no further variations */
    ANY,      /* every answer will do */
    REFUSED,  /* with one of the statuses for it */
    TOO_MUCH, /* the same, or the one for what is too large */
    FAILED    /* with any status below 0 */
} verdict;

static verdict vary_bytes(larder_bytes *bytes, size_t step) {
    static const size_t sizes[] = {1, SIZE_MAX, (size_t)1 << 31, SIZE_MAX / 2, SIZE_MAX, 0, 0};
    if (step >= COUNT(sizes)) return END;
    bytes->size_bytes = sizes[step];
    if (step < 2 || step == 6) bytes->data = NULL;
    return step == 0 ? REFUSED : step < 5 ? TOO_MUCH : ANY;
}

static verdict vary_number(const int64_t *list, size_t count, size_t step, int64_t *number) {
    if (step >= count) return END;
    *number = list[step];
    return ANY;
}

static const char *long_path(void) {
    static char path[1 << 20];
    memset(path, 'p', sizeof path - 1);
    return path;
}

/* The variation of a slot; a handle or object that is not there, then one that is all zeros. */
static verdict vary(const refusal_kind *kind, refusal_slot *slot, size_t step) {
    static const char *const paths[] = {NULL, ""};
    switch (kind->class) {
    case REFUSAL_HANDLE:
    case REFUSAL_OBJECT:
        if (step > (kind->size_bytes > 0)) return END;
        if (step == 1) memset(slot->pointer, 0, kind->size_bytes);
        if (step == 0) slot->pointer = NULL;
        return step == 0 ? REFUSED : ANY;
    case REFUSAL_BUFFER:
        slot->pointer = NULL;
        return step == 0 ? REFUSED : END;
    case REFUSAL_PATH:
        if (step > 2) return END;
        slot->pointer = (void *)(uintptr_t)(step < 2 ? paths[step] : long_path());
        return step < 2 ? REFUSED : FAILED;
    case REFUSAL_BYTES:
        return vary_bytes(&slot->bytes, step);
    case REFUSAL_NUMBER:
        return vary_number(numbers, COUNT(numbers), step, &slot->number);
    case REFUSAL_COUNT:
        return vary_number(counts, COUNT(counts), step, &slot->number);
    case REFUSAL_CAPACITY:
        return vary_number(capacities, COUNT(capacities), step, &slot->number);
    case REFUSAL_REAL:
        if (step < COUNT(reals)) slot->real = reals[step];
        return step < COUNT(reals) ? ANY : END;
    case REFUSAL_TIME:
        if (step < COUNT(times)) slot->time = times[step];
        return step < COUNT(times) ? ANY : END;
    default:
        return END;
    }
}

static verdict vary_member(const refusal_member *member, refusal_slot *slot, size_t step) {
    uint8_t *at = (uint8_t *)slot->pointer + member->offset;
    refusal_kind kind = {.class = member->class};
    refusal_slot value = {0};
    if (member->class == REFUSAL_FUNCTION) {
        memset(at, 0, member->size_bytes);
        return step == 0 ? REFUSED : END;
    }
    memcpy(&value.bytes, at, member->class == REFUSAL_BYTES ? sizeof value.bytes : 0);
    verdict expected = vary(&kind, &value, step);
    if (member->class == REFUSAL_BYTES) memcpy(at, &value.bytes, sizeof value.bytes);
    if (member->class == REFUSAL_NUMBER) memcpy(at, &value.number, member->size_bytes);
    if (member->class == REFUSAL_REAL) memcpy(at, &value.real, member->size_bytes);
    if (member->class == REFUSAL_TIME) memcpy(at, &value.time, member->size_bytes);
    return expected;
}

/* ---- verdicts ---- */

static bool is_as_expected(verdict expected, int64_t status) {
    if (expected == ANY || (expected == TOO_MUCH && status == LARDER_E_TOO_LARGE)) return true;
    if (expected == FAILED) return status < 0;
    return status == LARDER_E_INVALID_ARGUMENT || status == LARDER_E_INVALID_NAME ||
           status == LARDER_E_INVALID_RECORD;
}

/* A write transaction in which a call has failed can be used, and has changed nothing. */
static void check_unchanged(const prepared *p, const char *what, int64_t status) {
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->kinds[i]->word, "write") != 0 || p->slots[i].pointer == NULL) continue;
        uint64_t before = refusal_commit_number();
        CHECK_NOTE(larder_txn_commit(p->slots[i].pointer, &test_error) == LARDER_OK,
                   "%s has failed with %d, and the commit after it: %s", what, (int)status,
                   test_error.message);
        refusal_forget(p->slots[i].pointer);
        CHECK_NOTE(refusal_commit_number() == before,
                   "%s has failed with %d, and changed the store", what, (int)status);
    }
}

static void judge(const call *c, const prepared *p, const char *what, verdict expected,
                  int64_t status, const larder_error *error) {
    if (!c->has_status) return;
    CHECK_NOTE(is_as_expected(expected, status), "%s is not refused: %s", what,
               larder_status_name((int32_t)status));
    if (status >= 0) return;
    if (has_error(c))
        CHECK_NOTE(error->status == status && error->message[0] != '\0',
                   "%s fails with %s and the error says %s, '%s'", what,
                   larder_status_name((int32_t)status), larder_status_name(error->status),
                   error->message);
    for (size_t i = 0; i < p->count; i++)
        if (p->kinds[i]->is_opened && p->slots[i].pointer != NULL)
            CHECK_NOTE(*(void **)p->slots[i].pointer == NULL, "%s fails and gives a handle", what);
    if (status > LARDER_E_IO) check_unchanged(p, what, status);
}

/* One call with the variation of a slot, or of a member of what it points to. */
static bool try(const call *c, size_t slot, const refusal_member *member, size_t step) {
    prepared p;
    char what[192];
    larder_error error = {0};
    prepare(c, &p);
    verdict expected = member == NULL ? vary(p.kinds[slot], &p.slots[slot], step)
                                      : vary_member(member, &p.slots[slot], step);
    if (expected != END) {
        if (p.is_nullable[slot] && member == NULL && step == 0) expected = ANY;
        snprintf(what, sizeof what, "%s, argument %zu, %s%s%s, variation %zu", c->name, slot + 1,
                 p.kinds[slot]->word, member == NULL ? "" : ".", member == NULL ? "" : member->name,
                 step);
        int64_t status = run(c, &p, &error);
        judge(c, &p, what, expected, status, &error);
        if (p.is_nullable[slot] && member == NULL && step == 0 && c->has_status)
            CHECK_NOTE(status >= 0, "%s fails: %s", what, error.message);
    }
    refusal_end();
    return expected != END;
}

/* ---- tests ---- */

static void every_function_is_here(void) {
    FILE *list = fopen(LARDER_SYMBOLS_FILE, "r");
    char line[128];
    size_t line_count = 0;
    REQUIRE(list != NULL);
    while (fgets(line, sizeof line, list) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0') continue;
        bool is_found = false;
        for (size_t i = 0; i < call_count && !is_found; i++)
            is_found = strcmp(calls[i].name, line) == 0;
        CHECK_NOTE(is_found, "%s has no row in refusal_calls.h", line);
        line_count++;
    }
    fclose(list);
    CHECK_EQ(line_count, call_count);
}

/* Else a refusal would say nothing. */
static void good_arguments_are_accepted(void) {
    refusal_open();
    for (size_t i = 0; i < call_count; i++) {
        prepared p;
        larder_error error = {0};
        prepare(&calls[i], &p);
        int64_t status = run(&calls[i], &p, &error);
        if (calls[i].has_status)
            CHECK_NOTE(status >= 0, "%s fails with %s: %s", calls[i].name,
                       larder_status_name((int32_t)status), error.message);
        refusal_end();
    }
    refusal_close();
}

static void every_function_refuses_what_it_cannot_use(void) {
    void (*handler)(int) = signal(SIGALRM, stop);
    alarm(SECONDS_MAX);
    refusal_open();
    for (size_t i = 0; i < call_count; i++) {
        prepared p;
        prepare(&calls[i], &p);
        refusal_end();
        for (size_t slot = 0; slot < p.count; slot++) {
            for (size_t step = 0; try(&calls[i], slot, NULL, step);)
                step++;
            for (size_t m = 0; m < refusal_member_count; m++)
                if (strcmp(refusal_members[m].word, p.kinds[slot]->word) == 0)
                    for (size_t step = 0; try(&calls[i], slot, &refusal_members[m], step);)
                        step++;
        }
    }
    refusal_close();
    alarm(0);
    signal(SIGALRM, handler);
}

/* The error of a call that is refused may be NULL, too. */
static void no_error_is_needed(void) {
    refusal_open();
    for (size_t i = 0; i < call_count; i++) {
        prepared p;
        prepare(&calls[i], &p);
        for (size_t slot = 0; slot < p.count; slot++) {
            refusal_end();
            prepare(&calls[i], &p);
            verdict expected = vary(p.kinds[slot], &p.slots[slot], 0);
            int64_t status = run(&calls[i], &p, NULL);
            if (calls[i].has_status && expected == REFUSED && !p.is_nullable[slot])
                CHECK_NOTE(is_as_expected(expected, status), "%s, argument %zu", calls[i].name,
                           slot + 1);
        }
        refusal_end();
    }
    refusal_close();
}

static bool is_of_store(const prepared *p) {
    for (size_t i = 0; i < p->count; i++)
        if (p->kinds[i]->is_of_store) return true;
    return false;
}

typedef struct forked {
    prepared p;
    bool is_tried;
} forked;

static const char *try_forked(void *context) {
    static char text[512];
    forked *all = context;
    for (size_t i = 0; i < call_count; i++) {
        if (!all[i].is_tried) continue;
        int64_t status = calls[i].run(all[i].p.slots, NULL);
        if (status == LARDER_E_FORKED) continue;
        snprintf(text, sizeof text, "%s: %s", calls[i].name, larder_status_name((int32_t)status));
        return text;
    }
    return NULL;
}

static void handles_of_before_a_fork_are_refused(void) {
    static forked all[COUNT(calls)];
    refusal_open();
    for (size_t i = 0; i < call_count; i++) {
        bool ends = strstr(calls[i].words, "ending-") != NULL;
        all[i].is_tried = false;
        if (!calls[i].has_status || ends) continue;
        prepare(&calls[i], &all[i].p);
        all[i].is_tried = is_of_store(&all[i].p);
    }
    env_kit_in_child(try_forked, all);
    refusal_end();
    refusal_close();
}

static void a_struct_of_an_impossible_size_is_refused(void) {
    larder_env_options options;
    larder_scan_options scan_options;
    larder_document_info info;
    larder_env *env = NULL;
    larder_env_options_init(&options, SIZE_MAX);
    CHECK_EQ(options.struct_bytes, 0);
    CHECK_STATUS(larder_env_open("", &options, &env, &test_error), LARDER_E_INVALID_ARGUMENT);
    larder_scan_options_init(&scan_options, SIZE_MAX / 2);
    CHECK_EQ(scan_options.struct_bytes, 0);
    larder_document_info_init(&info, 4097);
    CHECK_EQ(info.struct_bytes, 0);
    larder_env_options_init(&options, sizeof options);
    CHECK_EQ(options.struct_bytes, sizeof options);
    larder_env_options_init(NULL, SIZE_MAX);
}

static void a_store_needs_a_path(void) {
    larder_env *env = NULL;
    const char *const paths[] = {NULL, "", long_path()};
    for (int i = 0; i < 3; i++) {
        larder_error error = {0};
        int32_t status = larder_env_open(paths[i], NULL, &env, &error);
        CHECK_NOTE(status < 0 && error.status == status && env == NULL, "path %d", i);
    }
}

static void an_environment_needs_both_functions_of_its_allocator(void) {
    larder_env_options options = env_kit_defaults();
    larder_env *env = NULL;
    larder_allocator allocator = {0};
    options.allocator = &allocator;
    options.flags |= LARDER_OPEN_IN_MEMORY;
    CHECK_STATUS(larder_env_open("", &options, &env, &test_error), LARDER_E_INVALID_ARGUMENT);
    CHECK(env == NULL);
}

static const test_case cases[] = {
    {"every function is here", every_function_is_here},
    {"good arguments are accepted", good_arguments_are_accepted},
    {"every function refuses what it cannot use", every_function_refuses_what_it_cannot_use},
    {"no error is needed", no_error_is_needed},
    {"handles of before a fork are refused", handles_of_before_a_fork_are_refused},
    {"a struct of an impossible size is refused", a_struct_of_an_impossible_size_is_refused},
    {"a store needs a path", a_store_needs_a_path},
    {"an environment needs both functions of its allocator",
     an_environment_needs_both_functions_of_its_allocator},
};
TEST_SUITE(refusal, cases);

/*
 * kill_test.c - a writer is killed at random moments; nothing acknowledged may be lost.
 *
 *     kill_test [--rounds 200] [--seed S] [--dir D]
 *
 * A child applies the mirror's random commits to a store and reports each one that was
 * acknowledged over a pipe. After a random number of reports and some random microseconds the
 * parent kills it with SIGKILL, opens the store and asks it for the sequence number that its
 * last commit wrote: it must be that of the last report, or the next one (committed, but not
 * yet reported). The store must then equal the mirror at that commit, and larder_check must be
 * clean. The next round goes on with the same store; now and then a new one is begun, with
 * another durability mode, and with or without a budget that it exceeds.
 */
#include "crash.h"
#include "store/wal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS_A_STORE = 12, REPORTS_AT_MOST = 12, DELAY_AT_MOST_US = 6000 };

typedef struct store {
    char path[4096];
    mirror *m;
    mirror_profile profile;
    int32_t durability;
    int64_t budget_bytes;
} store;

static void begin_store(store *s, const char *directory, mirror_random *random, uint64_t seed,
                        long round) {
    snprintf(s->path, sizeof s->path, "%s/store", directory);
    crash_remove_tree(s->path);
    mirror_free(s->m);
    s->m = mirror_create();
    memset(&s->profile, 0, sizeof s->profile);
    s->profile.seed = seed + (uint64_t)round;
    s->profile.operations = 12;
    s->durability = mirror_random_below(random, 2) ? LARDER_DURABILITY_EVERY_COMMIT
                                                   : LARDER_DURABILITY_LAST_COMMIT_AT_RISK;
    s->budget_bytes = LARDER_BUDGET_UNLIMITED;
    if (mirror_random_below(random, 2)) {
        s->profile.large = s->profile.lenient = true;
        s->budget_bytes = LARDER_BUDGET_MIN_BYTES;
    }
}

/* What the child does until it is killed. Exits by itself on a difference only. */
static void write_until_killed(store *s, int reports, uint64_t seed) {
    mirror_random random = mirror_random_from(seed, s->m->sequence);
    larder_env *env;
    larder_error error;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.durability = s->durability;
    options.budget_bytes = s->budget_bytes;
    options.log_bytes = s->profile.seed % 3 == 0 ? 0 : 65536; /* mostly many checkpoints */
    if (larder_env_open(s->path, &options, &env, &error) != LARDER_OK) {
        fprintf(stderr, "child: open: %s\n", error.message);
        _exit(4);
    }
    if (s->profile.seed % 2 == 0) env->wal->part_bytes = LARDER__WAL_BLOCK; /* records in parts */
    for (;;) {
        larder_txn *txn;
        if (larder_txn_begin_write(env, &txn, &error) != LARDER_OK) break;
        if (mirror_random_below(&random, 6) == 0) { /* changes that are dropped */
            mirror *dropped = mirror_clone(s->m);
            mirror_commit(dropped, txn, &s->profile, NULL);
            mirror_free(dropped);
            larder_txn_abort(txn);
            continue;
        }
        mirror_commit(s->m, txn, &s->profile, NULL);
        if (larder_txn_commit(txn, &error) != LARDER_OK) break;
        if (mirror_problem_count() > 0) _exit(5);
        if (write(reports, &s->m->sequence, sizeof s->m->sequence) !=
            (ssize_t)sizeof s->m->sequence)
            _exit(6);
        if (mirror_random_below(&random, 4) == 0)
            larder_lru_touch(env, mirror_name((int)mirror_random_below(&random, MIRROR_NAMES)),
                             NULL);
        if (s->profile.lenient && mirror_random_below(&random, 8) == 0) {
            larder_lru_result result = {.struct_bytes = sizeof result};
            int32_t status =
                larder_lru_step(env, LARDER_BUDGET_MIN_BYTES / 2, 20, 0, &result, &error);
            if (status != LARDER_OK && status != LARDER_MORE) break;
        }
    }
    fprintf(stderr, "child: a call failed: %s\n", error.message);
    _exit(7);
}

/* The last reported sequence number, or first when there was no report. */
static uint64_t read_reports(int from, uint64_t first, uint64_t wanted) {
    uint64_t last = first;
    for (uint64_t count = 0; count < wanted; count++) {
        uint64_t sequence;
        ssize_t size;
        do
            size = read(from, &sequence, sizeof sequence);
        while (size < 0 && errno == EINTR);
        if (size != (ssize_t)sizeof sequence) break;
        last = sequence;
    }
    return last;
}

static bool round_passes(store *s, mirror_random *random, long round) {
    int reports[2];
    if (pipe(reports) != 0) return false;
    uint64_t wanted = mirror_random_below(random, REPORTS_AT_MOST + 1);
    useconds_t delay_us = (useconds_t)mirror_random_below(random, DELAY_AT_MOST_US);
    uint64_t child_seed = mirror_random_next(random);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        close(reports[0]);
        write_until_killed(s, reports[1], child_seed);
    }
    close(reports[1]);
    uint64_t acknowledged = read_reports(reports[0], s->m->sequence, wanted);
    usleep(delay_us); /* where in the next commits the signal lands */
    kill(child, SIGKILL);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    acknowledged = read_reports(reports[0], acknowledged, UINT64_MAX);
    close(reports[0]);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        crash_fail("round %ld: the child ended by itself, wait status %#x", round,
                   (unsigned)status);
        return false;
    }
    if (access(s->path, F_OK) != 0) return acknowledged == 0; /* killed before it was made */

    larder_env *env;
    larder_error error;
    larder_env_options options;
    larder_env_options_init(&options, sizeof options);
    options.durability = s->durability;
    int32_t opened = larder_env_open(s->path, &options, &env, &error);
    if (opened != LARDER_OK) {
        crash_fail("round %ld: open: %s: %s", round, larder_status_name(opened), error.message);
        return false;
    }
    const larder_txn *txn;
    bool good = false;
    mirror_problem_reset();
    if (larder_txn_begin_read(env, &txn, &error) != LARDER_OK) {
        crash_fail("round %ld: begin_read: %s", round, error.message);
        larder_env_close(env, NULL);
        return false;
    }
    int64_t stored = mirror_stored_sequence(txn);
    if (stored < (int64_t)acknowledged || stored > (int64_t)acknowledged + 1)
        crash_fail("round %ld: commit %llu was acknowledged, the store is at %lld", round,
                   (unsigned long long)acknowledged, (long long)stored);
    else {
        while (s->m->sequence < (uint64_t)stored)
            mirror_commit(s->m, NULL, &s->profile, NULL);
        if (s->profile.lenient) mirror_reconcile(s->m, txn);
        mirror_verify(s->m, txn, NULL);
        mirror_check(txn);
        good = mirror_problem_count() == 0;
        if (!good)
            crash_fail("round %ld: %ld differences, first: %s", round, mirror_problem_count(),
                       mirror_problem_text());
    }
    larder_txn_end_read(txn);
    if (larder_env_close(env, &error) != LARDER_OK || larder_live_handle_count() != 0) {
        crash_fail("round %ld: the store does not close", round);
        good = false;
    }
    return good;
}

int main(int argc, char **argv) {
    long rounds = crash_number(argc, argv, "rounds", 200);
    uint64_t seed = crash_seed(argc, argv), commits = 0;
    store s = {.m = NULL};
    const char *directory = crash_directory(argc, argv, false);
    mirror_random random = mirror_random_from(seed, 1);
    long stores = 0;
    for (long round = 0; round < rounds; round++) {
        if (!s.m || round % ROUNDS_A_STORE == 0) {
            commits += s.m ? s.m->sequence : 0;
            begin_store(&s, directory, &random, seed, round);
            stores++;
        }
        if (round_passes(&s, &random, round))
            crash_pass();
        else { /* what follows would fail for the same reason */
            commits += s.m->sequence;
            begin_store(&s, directory, &random, seed, round);
        }
    }
    commits += s.m ? s.m->sequence : 0;
    printf("%ld kills, %ld stores, %llu commits\n", rounds, stores, (unsigned long long)commits);
    mirror_free(s.m);
    return crash_finish();
}

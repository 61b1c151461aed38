/*
 * wal_share_test.c - a write-ahead log (wal.h) that several processes append to, some of which are
 * killed.
 */
#include "wal_kit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct partner {
    pid_t process;
    int orders, answers;
} partner;

enum { PARTNERS = 3 };
static partner partners[PARTNERS];

/* Opens the store as shared and makes a commit for each number that comes. */
static partner start_partner(const char *path) {
    int orders[2], answers[2];
    partner p = {-1, -1, -1};
    if (pipe(orders) != 0 || pipe(answers) != 0) return p;
    fflush(NULL);
    p.process = fork();
    if (p.process == 0) {
        larder_env *env = NULL;
        larder_env_options options;
        larder_env_options_init(&options, sizeof options);
        options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_SHARED;
        options.log_bytes = 65536;
        close(orders[1]);
        for (int i = 0; i < PARTNERS; i++) /* or the others would not notice their end */
            if (partners[i].process > 0) close(partners[i].orders);
        int32_t status = larder_env_open(path, &options, &env, &test_error);
        int number;
        while (status == LARDER_OK && read(orders[0], &number, sizeof number) > 0) {
            status = wal_kit_put(env, number, 700);
            if (write(answers[1], &status, sizeof status) < 0) break;
        }
        if (status != LARDER_OK) fprintf(stderr, "partner: %s\n", test_error.message);
        larder_env_close(env, NULL);
        _exit(status != LARDER_OK);
    }
    close(orders[0]);
    close(answers[1]);
    p.orders = orders[1];
    p.answers = answers[0];
    return p;
}

static void order(partner *p, int number) {
    int32_t status = LARDER_E_IO;
    CHECK_EQ(write(p->orders, &number, sizeof number), sizeof number);
    CHECK_EQ(read(p->answers, &status, sizeof status), sizeof status);
    CHECK_OK(status);
}

static void end_partner(partner *p, bool kills) {
    if (kills) kill(p->process, SIGKILL);
    close(p->orders);
    close(p->answers);
    int status;
    waitpid(p->process, &status, 0);
    p->process = -1;
    if (!kills) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void processes_share_a_log(void) {
    const char *root = test_directory();
    char path[4200], image[4200];
    snprintf(path, sizeof path, "%s/store", root);
    snprintf(image, sizeof image, "%s/image", root);
    for (int i = 0; i < PARTNERS; i++)
        partners[i] = start_partner(path);
    int number = 0;
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 25; i++)
            order(&partners[test_random_below(PARTNERS)], number++);
        wal_kit_make_image(path, image); /* nobody is in the middle of a commit */
        larder_env *env = wal_kit_open(image, 0, 0);
        REQUIRE(env != NULL);
        CHECK_EQ(wal_kit_count(env), number);
        store_check(env);
        CHECK_OK(larder_env_close(env, &test_error));
        size_t one = (size_t)test_random_below(PARTNERS);
        end_partner(&partners[one], round % 2);
        partners[one] = start_partner(path);
    }
    for (int i = 0; i < PARTNERS; i++)
        end_partner(&partners[i], true);
    wal_kit_check_count(path, number);
}

/* One that reads keeps its snapshot while the writer is killed and another one opens the store. */
static void a_reader_outlives_the_writer(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s/store", test_directory());
    partner writer = start_partner(path);
    for (int i = 0; i < 10; i++)
        order(&writer, i);
    larder_env *env = wal_kit_open(path, LARDER_OPEN_READ_ONLY, 0);
    REQUIRE(env != NULL);
    const larder_txn *read = store_read(env);
    order(&writer, 10);
    end_partner(&writer, true);
    writer = start_partner(path);
    for (int i = 11; i < 120; i++)
        order(&writer, i);
    larder_document document;
    for (int i = 0; i < 12; i++) {
        char name[32];
        snprintf(name, sizeof name, "c/%05d", i);
        CHECK_STATUS(larder_document_get(read, test_text(name), &document, &test_error),
                     i < 10 ? LARDER_OK : LARDER_NOT_FOUND);
    }
    larder_txn_end_read(read);
    CHECK_EQ(wal_kit_count(env), 120);
    store_close(env);
    end_partner(&writer, false);
    wal_kit_check_count(path, 120);
}

static const test_case cases[] = {
    {"processes share a log", processes_share_a_log},
    {"a reader outlives the writer", a_reader_outlives_the_writer},
};
TEST_SUITE(wal_share, cases);

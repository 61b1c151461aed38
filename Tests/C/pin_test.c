/* pin_test.c - what callers say about use (pin.c): counted pins by kind, touches that wait. */
#include "lru_kit.h"

static void pins_are_counted(void) {
    larder_env *env = store_open();
    larder_bytes name = test_text("c/a");
    CHECK(!larder__lru_has_pins(env));
    for (int i = 0; i < 2; i++)
        CHECK_OK(larder_lru_pin(env, name, &test_error));
    CHECK_OK(larder_lru_pin_target(env, 7, &test_error));
    CHECK(larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, name));
    CHECK(!larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, test_text("c/b")));
    CHECK_OK(larder_lru_unpin(env, name, &test_error));
    CHECK(larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, name));
    CHECK_OK(larder_lru_unpin(env, name, &test_error));
    CHECK(!larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, name));
    CHECK_STATUS(larder_lru_unpin(env, name, &test_error), LARDER_NOT_FOUND);
    CHECK(larder__lru_has_pins(env));
    CHECK_OK(larder_lru_unpin_target(env, 7, &test_error));
    CHECK_STATUS(larder_lru_unpin_target(env, 7, &test_error), LARDER_NOT_FOUND);
    CHECK(!larder__lru_has_pins(env));
    store_close(env);
}

/* "c/dd" has the bytes of a target id. */
static void kinds_do_not_meet(void) {
    larder_env *env = store_open();
    int32_t target;
    memcpy(&target, "c/dd", sizeof target);
    larder_bytes name = test_text("c/dd");
    CHECK_OK(larder_lru_pin(env, name, &test_error));
    CHECK(!larder__lru_is_pinned(env, LARDER__LRU_TARGET, larder__lru_target_name(&target)));
    CHECK_STATUS(larder_lru_unpin_target(env, target, &test_error), LARDER_NOT_FOUND);
    CHECK_OK(larder_lru_pin_target(env, target, &test_error));
    CHECK_OK(larder_lru_unpin(env, name, &test_error));
    CHECK(larder__lru_is_pinned(env, LARDER__LRU_TARGET, larder__lru_target_name(&target)));
    CHECK(!larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, name));
    CHECK_OK(larder_lru_unpin_target(env, target, &test_error));
    store_close(env);
}

static void many_pins_are_all_found(void) {
    larder_env *env = store_open();
    char name[32];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "c/%d", i);
            larder_bytes path = test_text(name);
            if (round == 0) CHECK_OK(larder_lru_pin(env, path, &test_error));
            CHECK_EQ(larder__lru_is_pinned(env, LARDER__LRU_DOCUMENT, path), true);
            if (round == 2) CHECK_OK(larder_lru_unpin(env, path, &test_error));
        }
    CHECK(!larder__lru_has_pins(env));
    store_close(env);
}

static void the_last_unpin_starts_the_walk_over(void) {
    larder_env *env = store_open();
    atomic_store(&env->released_rows, false);
    for (int i = 0; i < 2; i++)
        CHECK_OK(larder_lru_pin(env, test_text("c/a"), &test_error));
    CHECK_OK(larder_lru_unpin(env, test_text("c/a"), &test_error));
    CHECK(!atomic_load(&env->released_rows));
    CHECK_OK(larder_lru_unpin(env, test_text("c/a"), &test_error));
    CHECK(atomic_load(&env->released_rows));
    larder__key_byte(&env->lru->from.key, 1);
    env->lru->from.skip_bytes = 3;
    larder__lru_begin_step(env);
    CHECK_EQ(env->lru->from.key.size_bytes, 0);
    CHECK_EQ(env->lru->from.skip_bytes, 0);
    CHECK(!atomic_load(&env->released_rows));
    larder__key_byte(&env->lru->from.key, 1);
    larder__lru_begin_step(env); /* nothing was released meanwhile */
    CHECK_EQ(env->lru->from.key.size_bytes, 1);
    store_close(env);
}

/* ---- touches ---- */

static size_t waiting(larder_env *env, const char *first) {
    larder__touches touches;
    larder__lru_take_touches(env, &touches);
    if (first != NULL && touches.count > 0) CHECK_TEXT(touches.names[0], first);
    size_t count = touches.count;
    larder__lru_give_touches(env, &touches);
    return count;
}

static void a_hot_document_waits_once(void) {
    larder_env *env = store_open();
    CHECK_EQ(waiting(env, NULL), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(larder_lru_touch(env, test_text("c/a"), &test_error));
        CHECK_OK(larder_lru_touch(env, test_text("c/b"), &test_error));
    }
    CHECK_EQ(waiting(env, "c/a"), 2);
    CHECK_EQ(waiting(env, NULL), 0); /* a queue that comes back is empty */
    CHECK_OK(larder_lru_touch(env, test_text("c/b"), &test_error));
    CHECK_EQ(waiting(env, "c/b"), 1);
    store_close(env);
}

static void touches_while_a_commit_empties_a_queue_wait_in_the_other(void) {
    larder_env *env = store_open();
    larder__touches touches;
    CHECK_OK(larder_lru_touch(env, test_text("c/a"), &test_error));
    larder__lru_take_touches(env, &touches);
    CHECK_OK(larder_lru_touch(env, test_text("c/b"), &test_error));
    REQUIRE(touches.count == 1);
    CHECK_TEXT(touches.names[0], "c/a");
    larder__lru_give_touches(env, &touches);
    CHECK_EQ(waiting(env, "c/b"), 1);
    store_close(env);
}

static void at_most_4096_touches_wait(void) {
    larder_env *env = store_open();
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "c/%d", i);
        CHECK_OK(larder_lru_touch(env, test_text(name), &test_error));
    }
    CHECK_EQ(waiting(env, "c/0"), 4096);
    store_close(env);
}

static void unpinning_counts_as_a_use(void) {
    larder_env *env = store_open();
    for (int i = 0; i < 2; i++)
        CHECK_OK(larder_lru_pin(env, test_text("c/a"), &test_error));
    CHECK_EQ(waiting(env, NULL), 0);
    CHECK_OK(larder_lru_unpin(env, test_text("c/a"), &test_error));
    CHECK_OK(larder_lru_unpin(env, test_text("c/a"), &test_error));
    CHECK_EQ(waiting(env, "c/a"), 1);
    CHECK_STATUS(larder_lru_unpin(env, test_text("c/a"), &test_error), LARDER_NOT_FOUND);
    CHECK_EQ(waiting(env, NULL), 0);
    store_close(env);
}

static void wrong_arguments_are_refused(void) {
    larder_env *env = store_open();
    CHECK_STATUS(larder_lru_touch(NULL, test_text("c/a"), NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_lru_touch(env, test_text("c"), NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_lru_pin(env, test_text("c/"), NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_lru_unpin(env, test_text(""), NULL), LARDER_E_INVALID_NAME);
    CHECK_STATUS(larder_lru_pin_target(env, 0, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_lru_unpin_target(env, -1, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK(!larder__lru_has_pins(env));
    CHECK_EQ(waiting(env, NULL), 0);
    store_close(env);
}

static const test_case cases[] = {
    {"pins are counted", pins_are_counted},
    {"kinds do not meet", kinds_do_not_meet},
    {"many pins are all found", many_pins_are_all_found},
    {"the last unpin starts the walk over", the_last_unpin_starts_the_walk_over},
    {"a hot document waits once", a_hot_document_waits_once},
    {"touches while a commit empties a queue wait in the other",
     touches_while_a_commit_empties_a_queue_wait_in_the_other},
    {"at most 4,096 touches wait", at_most_4096_touches_wait},
    {"unpinning counts as a use", unpinning_counts_as_a_use},
    {"wrong arguments are refused", wrong_arguments_are_refused},
};
TEST_SUITE(pin, cases);

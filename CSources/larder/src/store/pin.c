/*
 * pin.c - what callers say about use: touches waiting for the next commit, and pins.
 *
 * Touches wait in one of two queues: callers fill one while a commit empties the other. A
 * queue is an arena of names with a small hash table, so that a hot document waits once.
 * Pins are a hash table by kind of row and name, with counts.
 */
#include "rules.h"

#define TOUCH_MAX 4096
#define TOUCH_SLOTS (2 * TOUCH_MAX)
#define TOUCH_BYTES (TOUCH_MAX * 256)
#define PIN_SLOTS 64 /* at first */

typedef struct larder__touch_queue {
    size_t count, size_bytes;
    size_t at[TOUCH_MAX];
    uint16_t size[TOUCH_MAX];
    uint16_t slots[TOUCH_SLOTS]; /* position + 1 */
    larder_bytes names[TOUCH_MAX];
    uint8_t bytes[TOUCH_BYTES];
} larder__touch_queue;

typedef struct pin {
    struct pin *next;
    uint64_t hash;
    int64_t count;
    larder__lru_kind kind;
    size_t size_bytes;
    uint8_t name[];
} pin;

typedef struct larder__pin_table {
    pin **slots;
    size_t slot_count, pin_count;
} larder__pin_table;

int32_t larder__lru_create(larder_env *env, larder_error *error) {
    larder__lru_state *state = larder__allocate(&env->allocator, sizeof *state);
    if (state == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
    memset(state, 0, sizeof *state);
    pthread_mutex_init(&state->lock, NULL);
    state->row.allocator = state->kept.allocator = &env->allocator;
    env->lru = state;
    state->pins = larder__allocate(&env->allocator, sizeof *state->pins);
    if (state->pins == NULL) goto failed;
    memset(state->pins, 0, sizeof *state->pins);
    state->pins->slots = larder__allocate(&env->allocator, PIN_SLOTS * sizeof(pin *));
    if (state->pins->slots == NULL) goto failed;
    memset(state->pins->slots, 0, PIN_SLOTS * sizeof(pin *));
    state->pins->slot_count = PIN_SLOTS;
    return larder__rules_create(env, error);
failed:
    return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for the LRU");
}

void larder__lru_destroy(larder_env *env) {
    larder__lru_state *state = env->lru;
    if (state == NULL) return;
    larder__rules_destroy(env);
    if (state->pins != NULL && state->pins->slots != NULL)
        for (size_t i = 0; i < state->pins->slot_count; i++)
            while (state->pins->slots[i] != NULL) {
                pin *p = state->pins->slots[i];
                state->pins->slots[i] = p->next;
                larder__release(&env->allocator, p);
            }
    if (state->pins != NULL) larder__release(&env->allocator, state->pins->slots);
    larder__release(&env->allocator, state->pins);
    larder__release(&env->allocator, state->queue);
    larder__buffer_free(&state->row);
    larder__buffer_free(&state->kept);
    pthread_mutex_destroy(&state->lock);
    larder__release(&env->allocator, state);
    env->lru = NULL;
}

static int32_t check(larder_env *env, larder_bytes name, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    return status == LARDER_OK ? larder__path_check(name, 0, error) : status;
}

/* ---- touches ---- */

static void enqueue(larder__touch_queue *queue, larder_bytes name) {
    size_t slot = larder__hash64(name) % TOUCH_SLOTS;
    while (queue->slots[slot] != 0) {
        size_t i = queue->slots[slot] - 1u;
        if (larder__bytes_equal(larder__bytes(queue->bytes + queue->at[i], queue->size[i]), name))
            return;
        slot = (slot + 1) % TOUCH_SLOTS;
    }
    if (queue->count == TOUCH_MAX || queue->size_bytes + name.size_bytes > TOUCH_BYTES) return;
    memcpy(queue->bytes + queue->size_bytes, name.data, name.size_bytes);
    queue->at[queue->count] = queue->size_bytes;
    queue->size[queue->count] = (uint16_t)name.size_bytes;
    queue->size_bytes += name.size_bytes;
    queue->slots[slot] = (uint16_t)++queue->count;
}

static larder__touch_queue *new_queue(larder_env *env) {
    larder__touch_queue *queue = larder__allocate(&env->allocator, sizeof *queue);
    if (queue == NULL) return NULL;
    queue->count = queue->size_bytes = 0;
    memset(queue->slots, 0, sizeof queue->slots);
    return queue;
}

int32_t larder_lru_touch(larder_env *env, larder_bytes name, larder_error *error) {
    int32_t status = check(env, name, error);
    if (status != LARDER_OK) return status;
    if ((env->flags & LARDER_OPEN_READ_ONLY) != 0) return LARDER_OK; /* it would never be written */
    pthread_mutex_lock(&env->lru->lock);
    if (env->lru->queue == NULL) env->lru->queue = new_queue(env);
    if (env->lru->queue == NULL)
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a touch");
    else
        enqueue(env->lru->queue, name);
    pthread_mutex_unlock(&env->lru->lock);
    return status;
}

void larder__lru_take_touches(larder_env *env, larder__touches *touches) {
    memset(touches, 0, sizeof *touches);
    pthread_mutex_lock(&env->lru->lock);
    larder__touch_queue *queue = env->lru->queue;
    env->lru->queue = NULL;
    pthread_mutex_unlock(&env->lru->lock);
    if (queue == NULL) return;
    for (size_t i = 0; i < queue->count; i++)
        queue->names[i] = larder__bytes(queue->bytes + queue->at[i], queue->size[i]);
    touches->names = queue->names;
    touches->count = queue->count;
    touches->queue = queue;
}

void larder__lru_give_touches(larder_env *env, larder__touches *touches) {
    larder__touch_queue *queue = touches->queue;
    if (queue == NULL) return;
    queue->count = queue->size_bytes = 0;
    memset(queue->slots, 0, sizeof queue->slots);
    pthread_mutex_lock(&env->lru->lock);
    if (env->lru->queue == NULL) {
        env->lru->queue = queue;
        queue = NULL;
    }
    pthread_mutex_unlock(&env->lru->lock);
    larder__release(&env->allocator, queue);
}

/* ---- pins ---- */

static pin **find(larder__pin_table *table, uint64_t hash, larder__lru_kind kind,
                  larder_bytes name) {
    pin **link = &table->slots[hash % table->slot_count];
    while (*link != NULL &&
           !((*link)->hash == hash && (*link)->kind == kind &&
             larder__bytes_equal(larder__bytes((*link)->name, (*link)->size_bytes), name)))
        link = &(*link)->next;
    return link;
}

/* More slots when chains grow long; without memory they stay as they are. */
static void widen(larder_env *env, larder__pin_table *table) {
    if (table->pin_count < 2 * table->slot_count) return;
    size_t count = 4 * table->slot_count;
    pin **slots = larder__allocate(&env->allocator, count * sizeof *slots);
    if (slots == NULL) return;
    memset(slots, 0, count * sizeof *slots);
    for (size_t i = 0; i < table->slot_count; i++)
        while (table->slots[i] != NULL) {
            pin *p = table->slots[i];
            table->slots[i] = p->next;
            p->next = slots[p->hash % count];
            slots[p->hash % count] = p;
        }
    larder__release(&env->allocator, table->slots);
    table->slots = slots;
    table->slot_count = count;
}

int32_t larder__lru_add_pin(larder_env *env, larder__lru_kind kind, larder_bytes name,
                            larder_error *error) {
    uint64_t hash = larder__hash64(name);
    int32_t status = LARDER_OK;
    larder__lru_state *state = env->lru;
    pthread_mutex_lock(&state->lock);
    widen(env, state->pins);
    pin **link = find(state->pins, hash, kind, name);
    if (*link == NULL) {
        pin *added = larder__allocate(&env->allocator, sizeof *added + name.size_bytes);
        if (added == NULL) {
            status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a pin");
            goto done;
        }
        added->next = NULL;
        added->hash = hash;
        added->count = 0;
        added->kind = kind;
        added->size_bytes = name.size_bytes;
        memcpy(added->name, name.data, name.size_bytes);
        *link = added;
        state->pins->pin_count++;
        atomic_fetch_add(&state->pin_count, 1);
    }
    (*link)->count++;
done:
    pthread_mutex_unlock(&state->lock);
    return status;
}

int32_t larder__lru_drop_pin(larder_env *env, larder__lru_kind kind, larder_bytes name) {
    uint64_t hash = larder__hash64(name);
    int32_t status = LARDER_OK;
    larder__lru_state *state = env->lru;
    pthread_mutex_lock(&state->lock);
    pin **link = find(state->pins, hash, kind, name);
    if (*link == NULL) {
        status = LARDER_NOT_FOUND;
    } else if (--(*link)->count == 0) {
        pin *gone = *link;
        *link = gone->next;
        larder__release(&env->allocator, gone);
        state->pins->pin_count--;
        atomic_fetch_sub(&state->pin_count, 1);
        larder__env_released_rows(env);
    }
    pthread_mutex_unlock(&state->lock);
    return status;
}

int32_t larder_lru_pin(larder_env *env, larder_bytes name, larder_error *error) {
    int32_t status = check(env, name, error);
    return status != LARDER_OK ? status
                               : larder__lru_add_pin(env, LARDER__LRU_DOCUMENT, name, error);
}

/* An unpin counts as a use. */
int32_t larder_lru_unpin(larder_env *env, larder_bytes name, larder_error *error) {
    int32_t status = check(env, name, error);
    if (status == LARDER_OK) status = larder__lru_drop_pin(env, LARDER__LRU_DOCUMENT, name);
    if (status == LARDER_OK) status = larder_lru_touch(env, name, error);
    return status;
}

static int32_t check_target(larder_env *env, int32_t target_id, larder_error *error) {
    int32_t status = larder__env_check(env, error);
    if (status == LARDER_OK && target_id <= 0)
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT, "target ids are above 0, not %d",
                              target_id);
    return status;
}

int32_t larder_lru_pin_target(larder_env *env, int32_t target_id, larder_error *error) {
    int32_t status = check_target(env, target_id, error);
    if (status != LARDER_OK) return status;
    return larder__lru_add_pin(env, LARDER__LRU_TARGET, larder__lru_target_name(&target_id), error);
}

int32_t larder_lru_unpin_target(larder_env *env, int32_t target_id, larder_error *error) {
    int32_t status = check_target(env, target_id, error);
    if (status != LARDER_OK) return status;
    return larder__lru_drop_pin(env, LARDER__LRU_TARGET, larder__lru_target_name(&target_id));
}

bool larder__lru_has_pins(larder_env *env) { return atomic_load(&env->lru->pin_count) > 0; }

bool larder__lru_is_pinned(larder_env *env, larder__lru_kind kind, larder_bytes name) {
    pthread_mutex_lock(&env->lru->lock);
    bool found = *find(env->lru->pins, larder__hash64(name), kind, name) != NULL;
    pthread_mutex_unlock(&env->lru->lock);
    return found;
}

void larder__lru_reset(larder_env *env) {
    larder__lru_position start = {0};
    env->lru->from = start;
    env->lru->unkept_from = start;
    env->lru->rules->from = start;
}

bool larder__lru_begin_step(larder_env *env) {
    bool has_released = atomic_exchange(&env->released_rows, false);
    if (has_released) larder__lru_reset(env);
    return has_released;
}

/* stop_kit.c - see stop_kit.h. */
#include "stop_kit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_reached, may_go_on;
} stop = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
_Thread_local stop_kit_at stop_kit_place;

void stop_kit_begin(void) { stop.is_reached = stop.may_go_on = false; }

void stop_kit_reach(stop_kit_at place) {
    if (stop_kit_place != place) return;
    stop_kit_place = STOP_KIT_NOWHERE;
    pthread_mutex_lock(&stop.lock);
    stop.is_reached = true;
    pthread_cond_broadcast(&stop.changed);
    while (!stop.may_go_on)
        pthread_cond_wait(&stop.changed, &stop.lock);
    pthread_mutex_unlock(&stop.lock);
}

void stop_kit_wait(void) {
    pthread_mutex_lock(&stop.lock);
    while (!stop.is_reached)
        pthread_cond_wait(&stop.changed, &stop.lock);
    pthread_mutex_unlock(&stop.lock);
}

void stop_kit_go_on(void) {
    pthread_mutex_lock(&stop.lock);
    stop.may_go_on = true;
    pthread_cond_broadcast(&stop.changed);
    pthread_mutex_unlock(&stop.lock);
}

static void *allocate(void *context, size_t size_bytes) {
    (void)context;
    stop_kit_reach(STOP_KIT_MEMORY);
    return malloc(size_bytes);
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

const larder_allocator stop_kit_allocator = {NULL, allocate, release};

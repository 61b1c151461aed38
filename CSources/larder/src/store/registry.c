/*
 * registry.c - the stores that a process has open, and what becomes of them in a forked child.
 *
 * Global state is what LMDB forces on a process: the registry (two LMDB environments on one
 * file in one process drop each other's locks) and a fork counter (an environment does not
 * survive fork). Beside them only handles are counted (process.h).
 */
#include "registry.h"

#include <unistd.h>

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static larder_env *registry;

static void before_fork(void) { pthread_mutex_lock(&registry_lock); }
static void in_parent(void) { pthread_mutex_unlock(&registry_lock); }
static void in_child(void) {
    atomic_fetch_add(&larder__fork_generation, 1);
    /* The locks are the parent's, and go with it. */
    for (larder_env *env = registry; env != NULL; env = env->next_open) {
        if (env->lock_file >= 0) close(env->lock_file);
        env->lock_file = -1;
    }
    registry = NULL;
    pthread_mutex_unlock(&registry_lock);
}
static void watch(void) { pthread_atfork(before_fork, in_parent, in_child); }

void larder__registry_watch_forks(void) { pthread_once(&fork_once, watch); }

static bool is_registered(uint64_t device, uint64_t inode) {
    larder_env *env = registry;
    while (env != NULL && (env->device != device || env->inode != inode))
        env = env->next_open;
    return env != NULL;
}

bool larder__registry_has(uint64_t device, uint64_t inode) {
    pthread_mutex_lock(&registry_lock);
    bool is_open = is_registered(device, inode);
    pthread_mutex_unlock(&registry_lock);
    return is_open;
}

bool larder__registry_add(larder_env *env) {
    pthread_mutex_lock(&registry_lock);
    bool is_new = !is_registered(env->device, env->inode);
    if (is_new) {
        env->next_open = registry;
        registry = env;
    }
    pthread_mutex_unlock(&registry_lock);
    return is_new;
}

void larder__registry_remove(larder_env *env) {
    pthread_mutex_lock(&registry_lock);
    for (larder_env **link = &registry; *link != NULL; link = &(*link)->next_open)
        if (*link == env) {
            *link = env->next_open;
            break;
        }
    pthread_mutex_unlock(&registry_lock);
}

/* registry.h - the stores that this process has open, each by its directory (registry.c). */
#ifndef LARDER_REGISTRY_H
#define LARDER_REGISTRY_H

#include "internal.h"

/* Before the first store is opened: a forked child has none open, and no locks. */
void larder__registry_watch_forks(void);
/* False: the store is open already. */
bool larder__registry_add(larder_env *env);
void larder__registry_remove(larder_env *env);
bool larder__registry_has(uint64_t device, uint64_t inode);

#endif

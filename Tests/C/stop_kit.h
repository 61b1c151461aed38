/*
 * stop_kit.h - a thread that stops inside of a call, where it flushes a file or allocates memory, until
 * another one lets it go on.
 */
#ifndef LARDER_TEST_STOP_KIT_H
#define LARDER_TEST_STOP_KIT_H

#include "larder.h"

typedef enum stop_kit_at { STOP_KIT_NOWHERE, STOP_KIT_FLUSH, STOP_KIT_MEMORY } stop_kit_at;

/* Where the calling thread stops next. */
extern _Thread_local stop_kit_at stop_kit_place;
/* Stops at each allocation of a thread that is to stop there. */
extern const larder_allocator stop_kit_allocator;

/* Before a thread is started that is to stop. */
void stop_kit_begin(void);
/* Stops the calling thread if this is where it is to stop. */
void stop_kit_reach(stop_kit_at place);
/* Returns when the thread has stopped. */
void stop_kit_wait(void);
void stop_kit_go_on(void);

#endif

/* process.c - see process.h. */
#include "process.h"

#include "larder.h"
#include "stripe.h"

_Atomic uint64_t larder__fork_generation;

static larder__striped_count live_handles;

void larder__handle_opened(void) { larder__striped_add(&live_handles, 1); }
void larder__handle_closed(void) { larder__striped_add(&live_handles, -1); }
int64_t larder_live_handle_count(void) { return larder__striped_sum(&live_handles); }

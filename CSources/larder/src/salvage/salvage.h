/* salvage.h - a new store of what a damaged one still has (salvage.c). */
#ifndef LARDER_SALVAGE_H
#define LARDER_SALVAGE_H

#include "store/internal.h"

/* As larder_salvage, of files that no process writes to. */
int32_t larder__salvage_files(const char *damaged, const char *target,
                              larder_progress_function progress, void *context,
                              larder_salvage_report *report, larder_error *error);
/* Removes the files of a store that nobody has open, and its directory. */
void larder__salvage_discard(const char *directory);

#endif

/* builder.h - what patch.c uses of a builder beyond the public calls. */
#ifndef LARDER_BUILDER_H
#define LARDER_BUILDER_H

#include "record.h"

/* Copies a value that is known to be well formed and in bounds. */
int32_t larder__builder_raw(larder_builder *builder, larder_bytes value, larder_error *error);
/* A buffer that lives as long as the builder and that no building call touches. */
larder__buffer *larder__builder_workspace(larder_builder *builder);

#endif

// The public header compiles as the first include, twice, and needs nothing else.
#include "larder.h"

#include "larder.h"

#include <type_traits>

static_assert(std::is_trivially_copyable<larder_bytes>::value, "a binding may copy it");
static_assert(std::is_standard_layout<larder_document>::value, "a binding may lay it out");

// Functions have C linkage: a C++ program can take their addresses and call them.
int32_t header_compiles();
int32_t header_compiles() {
    larder_error error = {};
    larder_env_options options;
    larder_env *env = nullptr;
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_IN_MEMORY;
    int32_t status = larder_env_open("", &options, &env, &error);
    return status == LARDER_OK ? larder_env_close(env, &error) : status;
}

/* The public header compiles as the first include, twice, and needs nothing else. */
#include "larder.h"

#include "larder.h"

/* A binding in C can name every kind of thing the header declares. */
int32_t header_compiles(void);
int32_t header_compiles(void) {
    larder_error error = {LARDER_OK, 0, ""};
    larder_env_options options;
    larder_env *env = NULL;
    const larder_txn *txn = NULL;
    int32_t status;

    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_IN_MEMORY;
    status = larder_env_open("", &options, &env, &error);
    if (status == LARDER_OK) status = larder_txn_begin_read(env, &txn, &error);
    larder_txn_end_read(txn);
    return status == LARDER_OK ? larder_env_close(env, &error) : status;
}

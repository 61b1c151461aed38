/* nodes_model.c - what the store asks of nodes: their part in opening, committing and eviction. */
#include "node_edit.h"

#define COMMIT_ROWS 512 /* of discarded locations, freed by each commit */
#define UNUSED_ROWS 256 /* the same by each step of eviction */
#define FIRST_COLD_RATIO 160

static int32_t open_state(larder_env *env, larder_error *error) {
    larder__node_state *state = larder__allocate(&env->allocator, sizeof *state);
    if (state == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for nodes");
    memset(state, 0, sizeof *state);
    state->writer.names.allocator = state->writer.hot.allocator = &env->allocator;
    state->writer.cold.allocator = &env->allocator;
    state->writer.cold_ratio = FIRST_COLD_RATIO;
    state->damaged.allocator = &env->allocator;
    env->nodes = state;
    return LARDER_OK;
}

static void close_state(larder_env *env) {
    larder__node_state *state = env->nodes;
    if (state == NULL) return;
    larder__buffer_free(&state->writer.names);
    larder__buffer_free(&state->writer.hot);
    larder__buffer_free(&state->writer.cold);
    larder__buffer_free(&state->damaged);
    larder__release(&env->allocator, state);
    env->nodes = NULL;
}

static int32_t free_rows(larder_txn *txn, int64_t max_rows, larder_error *error) {
    if (txn->counters.usage[LARDER__COUNT_NODES].row_count == 0) return LARDER_OK;
    int32_t status = larder__discarded_free(txn, max_rows, error);
    return status < 0 ? larder__txn_note(txn, status) : status;
}

static int32_t commit(larder_txn *txn, larder_error *error) {
    int32_t status = free_rows(txn, COMMIT_ROWS, error);
    return status == LARDER_MORE ? LARDER_OK : status;
}

static int32_t free_unused(larder_txn *txn, larder_error *error) {
    return free_rows(txn, UNUSED_ROWS, error);
}

static void ended(larder_txn *txn, bool committed) {
    (void)committed;
    txn->env->nodes->swept_tree = 0;
}

const larder__data_model larder__nodes_model = {
    .open = open_state,
    .close = close_state,
    .commit = commit,
    .ended = ended,
    .free_unused = free_unused,
};

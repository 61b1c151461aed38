/*
 * order.c - fuzz target: two values, compared as they are and by their order bytes; and the
 * input as order bytes.
 *
 *     size of the first value (1) | first value | second value
 */
#include "exercise.h"

/* Memory of exactly its size. */
static larder_bytes copy_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size);
    EXERCISE_REQUIRE(copy != NULL || size == 0);
    if (size > 0) memcpy(copy, data, size);
    return larder__bytes(copy, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    size_t first = data[0] < size - 1 ? data[0] : size - 1;
    larder_bytes a = copy_of(data + 1, first);
    larder_bytes b = copy_of(data + 1 + first, size - 1 - first);
    exercise_value(a);
    exercise_value(b);
    exercise_pair(a, b);
    for (int32_t direction = 0; direction < 2; direction++) {
        size_t used = larder__order_skip(b, direction);
        EXERCISE_REQUIRE(used <= b.size_bytes);
        /* what follows an encoding does not change where it ends */
        larder_bytes exact = copy_of(b.data, used);
        EXERCISE_REQUIRE(larder__order_skip(exact, direction) == used);
        free((void *)(uintptr_t)exact.data);
    }
    free((void *)(uintptr_t)a.data);
    free((void *)(uintptr_t)b.data);
    return 0;
}

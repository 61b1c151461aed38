/* workload.c - the documents in the forms that the Swift benchmarks take. */
#include "floor_parts.h"

#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

size_t workload_name(int64_t i, char *to) { return city_name(i, to); }

static void tell(int64_t i, const sink *to) {
    city c;
    city_generate(i, &c);
    city_tell(&c, to);
}

static workload_bytes bytes_of(span s) { return (workload_bytes){s.data, s.size}; }

workload_bytes workload_raw_record(int64_t i) {
    tell(i, &raw_record_sink);
    return bytes_of(raw_record_encoded());
}

workload_bytes workload_json(int64_t i) {
    tell(i, &json_sink);
    return bytes_of(json_encoded());
}

int64_t workload_matches(int64_t n) {
    int64_t found = 0;
    city c;
    for (int64_t i = 0; i < n; i++) {
        city_generate(i, &c);
        found += memcmp(c.state, STATE_WANTED, 2) == 0;
    }
    return found;
}

void workload_random(int64_t n, int64_t *to, size_t count) {
    uint64_t state = 42;
    for (size_t k = 0; k < count; k++)
        to[k] = (int64_t)(splitmix64(&state) % (uint64_t)n);
}

void workload_give_back_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

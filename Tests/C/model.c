/* model.c - see model.h. */
#include "model.h"
#include "make.h"
#include "test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- making ---- */

void *model_keep(const void *data, size_t size_bytes) {
    void *memory = calloc(1, size_bytes ? size_bytes : 1);
    if (!memory) abort();
    if (data && size_bytes) memcpy(memory, data, size_bytes);
    larder_bytes kept = make_copy((larder_bytes){memory, size_bytes});
    free(memory);
    return (void *)(uintptr_t)kept.data;
}

model *model_new(int32_t type) {
    model *made = model_keep(NULL, sizeof *made);
    made->type = type;
    return made;
}

static int compare_bytes(larder_bytes a, larder_bytes b) {
    for (size_t i = 0; i < a.size_bytes && i < b.size_bytes; i++) {
        int difference = ((const uint8_t *)a.data)[i] - ((const uint8_t *)b.data)[i];
        if (difference) return difference < 0 ? -1 : 1;
    }
    return a.size_bytes < b.size_bytes ? -1 : a.size_bytes > b.size_bytes;
}

void model_map_put(model *map, larder_bytes name, const model *value) {
    size_t at = 0;
    while (at < map->count && compare_bytes(map->names[at], name) < 0)
        at++;
    bool present = at < map->count && compare_bytes(map->names[at], name) == 0;
    if (!present) {
        larder_bytes *names = model_keep(NULL, (map->count + 1) * sizeof *names);
        const model **items = model_keep(NULL, (map->count + 1) * sizeof *items);
        for (size_t i = 0; i < map->count; i++) {
            names[i + (i >= at)] = map->names[i];
            items[i + (i >= at)] = map->items[i];
        }
        map->names = names;
        map->items = items;
        map->count++;
    }
    map->names[at] = name;
    map->items[at] = value;
}

static void map_remove(model *map, larder_bytes name) {
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (compare_bytes(map->names[i], name) == 0) continue;
        map->names[kept] = map->names[i];
        map->items[kept++] = map->items[i];
    }
    map->count = kept;
}

const model *model_map_get(const model *map, larder_bytes name) {
    for (size_t i = 0; i < map->count; i++)
        if (compare_bytes(map->names[i], name) == 0) return map->items[i];
    return NULL;
}

model *model_map_copy(const model *map) {
    model *copy = model_new(LARDER_TYPE_MAP);
    if (map && map->type == LARDER_TYPE_MAP) {
        copy->count = map->count;
        copy->names = model_keep(map->names, map->count * sizeof *map->names);
        copy->items = model_keep(map->items, map->count * sizeof *map->items);
    }
    return copy;
}

/* ---- rules ---- */

/* long double holds every int64_t and every double exactly. */
static int compare_numbers(const model *a, const model *b) {
    bool a_nan = a->type == LARDER_TYPE_DOUBLE && isnan(a->number);
    bool b_nan = b->type == LARDER_TYPE_DOUBLE && isnan(b->number);
    if (a_nan || b_nan) return (int)b_nan - (int)a_nan;
    long double x =
        a->type == LARDER_TYPE_INTEGER ? (long double)a->integer : (long double)a->number;
    long double y =
        b->type == LARDER_TYPE_INTEGER ? (long double)b->integer : (long double)b->number;
    return x < y ? -1 : x > y;
}

static int compare_doubles(double a, double b) {
    model x = {.type = LARDER_TYPE_DOUBLE, .number = a};
    model y = {.type = LARDER_TYPE_DOUBLE, .number = b};
    return compare_numbers(&x, &y);
}

static size_t split_segments(larder_bytes path, larder_bytes *segments) {
    const char *text = path.data;
    size_t count = 0, start = 0;
    for (size_t i = 0; i <= path.size_bytes; i++) {
        if (i < path.size_bytes && text[i] != '/') continue;
        if (i > start) segments[count++] = (larder_bytes){text + start, i - start};
        start = i + 1;
    }
    return count;
}

static int compare_sizes(size_t a, size_t b) { return a < b ? -1 : a > b; }

/* The number of a numeric id, in any spelling: false for every other segment. */
static bool number_of(larder_bytes segment, long long *number) {
    char text[40], *end;
    if (segment.size_bytes < 7 || segment.size_bytes >= sizeof text) return false;
    memcpy(text, segment.data, segment.size_bytes);
    text[segment.size_bytes] = 0;
    if (strncmp(text, "__id", 4) != 0 || !strchr("-0123456789", text[4])) return false;
    errno = 0;
    *number = strtoll(text + 4, &end, 10);
    return errno == 0 && end == text + segment.size_bytes - 2 && strcmp(end, "__") == 0;
}

/* Numbers in front; the shortest spelling of each first. */
static int compare_segments(larder_bytes a, larder_bytes b) {
    long long x, y;
    bool a_is_number = number_of(a, &x), b_is_number = number_of(b, &y);
    if (a_is_number != b_is_number) return a_is_number ? -1 : 1;
    if (a_is_number && x != y) return x < y ? -1 : 1;
    if (a_is_number && a.size_bytes != b.size_bytes) return a.size_bytes < b.size_bytes ? -1 : 1;
    return compare_bytes(a, b);
}

static int compare_references(larder_bytes a, larder_bytes b) {
    larder_bytes x[130], y[130];
    size_t x_count = split_segments(a, x), y_count = split_segments(b, y);
    for (size_t i = 0; i < x_count && i < y_count; i++) {
        int order = compare_segments(x[i], y[i]);
        if (order) return order;
    }
    return compare_sizes(x_count, y_count);
}

int model_compare(const model *a, const model *b) {
    int32_t a_rank = a->type == LARDER_TYPE_DOUBLE ? LARDER_TYPE_INTEGER : a->type;
    int32_t b_rank = b->type == LARDER_TYPE_DOUBLE ? LARDER_TYPE_INTEGER : b->type;
    if (a_rank != b_rank) return a_rank < b_rank ? -1 : 1;
    int order;
    switch (a_rank) {
    case LARDER_TYPE_BOOLEAN:
        return (int)a->boolean - (int)b->boolean;
    case LARDER_TYPE_INTEGER:
        return compare_numbers(a, b);
    case LARDER_TYPE_TIMESTAMP:
    case LARDER_TYPE_SERVER_TIMESTAMP:
        if (a->time.seconds != b->time.seconds) return a->time.seconds < b->time.seconds ? -1 : 1;
        return a->time.nanoseconds < b->time.nanoseconds
                   ? -1
                   : a->time.nanoseconds > b->time.nanoseconds;
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_BYTES:
        return compare_bytes(a->text, b->text);
    case LARDER_TYPE_REFERENCE:
        return compare_references(a->text, b->text);
    case LARDER_TYPE_GEO_POINT:
        order = compare_doubles(a->number, b->number);
        return order ? order : compare_doubles(a->second, b->second);
    case LARDER_TYPE_VECTOR:
        if (a->count != b->count) return compare_sizes(a->count, b->count);
        for (size_t i = 0; i < a->count; i++)
            if ((order = compare_doubles(a->numbers[i], b->numbers[i])) != 0) return order;
        return 0;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        for (size_t i = 0; i < a->count && i < b->count; i++) {
            if (a_rank == LARDER_TYPE_MAP && (order = compare_bytes(a->names[i], b->names[i])) != 0)
                return order;
            if ((order = model_compare(a->items[i], b->items[i])) != 0) return order;
        }
        return compare_sizes(a->count, b->count);
    default:
        return 0;
    }
}

static bool same_double(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b && !signbit(a) == !signbit(b);
}

/* exactly: previous values and the zeros of geo points count, too. */
static bool equal(const model *a, const model *b, bool exactly) {
    if (a->type != b->type || a->count != b->count) return false;
    switch (a->type) {
    case LARDER_TYPE_BOOLEAN:
        return a->boolean == b->boolean;
    case LARDER_TYPE_INTEGER:
        return a->integer == b->integer;
    case LARDER_TYPE_DOUBLE:
        return same_double(a->number, b->number);
    case LARDER_TYPE_SERVER_TIMESTAMP:
        if (exactly) {
            if (!a->previous != !b->previous) return false;
            if (a->previous && !equal(a->previous, b->previous, true)) return false;
        }
        return a->time.seconds == b->time.seconds && a->time.nanoseconds == b->time.nanoseconds;
    case LARDER_TYPE_TIMESTAMP:
        return a->time.seconds == b->time.seconds && a->time.nanoseconds == b->time.nanoseconds;
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_BYTES:
    case LARDER_TYPE_REFERENCE:
        return compare_bytes(a->text, b->text) == 0;
    case LARDER_TYPE_GEO_POINT:
        return exactly ? same_double(a->number, b->number) && same_double(a->second, b->second)
                       : a->number == b->number && a->second == b->second;
    case LARDER_TYPE_VECTOR:
        for (size_t i = 0; i < a->count; i++)
            if (!same_double(a->numbers[i], b->numbers[i])) return false;
        return true;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        for (size_t i = 0; i < a->count; i++) {
            if (a->type == LARDER_TYPE_MAP && compare_bytes(a->names[i], b->names[i]) != 0)
                return false;
            if (!equal(a->items[i], b->items[i], exactly)) return false;
        }
        return true;
    default:
        return true;
    }
}

bool model_equal(const model *a, const model *b) { return equal(a, b, false); }
bool model_same(const model *a, const model *b) { return equal(a, b, true); }

int64_t model_size(const model *value) {
    int64_t total = 0;
    switch (value->type) {
    case LARDER_TYPE_NULL:
    case LARDER_TYPE_BOOLEAN:
        return 1;
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_REFERENCE:
        return (int64_t)value->text.size_bytes + 1;
    case LARDER_TYPE_BYTES:
        return (int64_t)value->text.size_bytes;
    case LARDER_TYPE_GEO_POINT:
        return 16;
    case LARDER_TYPE_VECTOR:
        return 8 * (int64_t)value->count;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        for (size_t i = 0; i < value->count; i++) {
            total += model_size(value->items[i]);
            if (value->type == LARDER_TYPE_MAP) total += (int64_t)value->names[i].size_bytes + 1;
        }
        return total;
    default:
        return 8;
    }
}

/* ---- patch ---- */

static const model *find_path(const model *map, const model_path *path) {
    const model *value = map;
    for (size_t i = 0; value && i < path->count; i++)
        value = value->type == LARDER_TYPE_MAP ? model_map_get(value, path->segments[i]) : NULL;
    return value;
}

static const model *set_path(const model *map, const model_path *path, size_t at,
                             const model *value) {
    model *copy = model_map_copy(map);
    if (at + 1 == path->count)
        model_map_put(copy, path->segments[at], value);
    else
        model_map_put(copy, path->segments[at],
                      set_path(model_map_get(copy, path->segments[at]), path, at + 1, value));
    return copy;
}

static const model *delete_path(const model *map, const model_path *path, size_t at) {
    model *copy = model_map_copy(map);
    const model *below = model_map_get(copy, path->segments[at]);
    if (at + 1 == path->count)
        map_remove(copy, path->segments[at]);
    else if (below != NULL && below->type == LARDER_TYPE_MAP)
        model_map_put(copy, path->segments[at], delete_path(below, path, at + 1));
    return copy;
}

/* Whether another path leads to the value that one of them is in. */
static bool is_covered(const model_path *paths, size_t path_count, size_t which) {
    for (size_t i = 0; i < path_count; i++) {
        bool is_above = paths[i].count < paths[which].count;
        for (size_t k = 0; is_above && k < paths[i].count; k++)
            is_above = compare_bytes(paths[i].segments[k], paths[which].segments[k]) == 0;
        if (is_above) return true;
    }
    return false;
}

const model *model_patch(const model *base, const model *source, const model_path *paths,
                         size_t path_count) {
    const model *result = model_map_copy(base);
    for (size_t i = 0; i < path_count; i++) {
        if (is_covered(paths, path_count, i)) continue;
        const model *value = find_path(source, &paths[i]);
        result = value ? set_path(result, &paths[i], 0, value) : delete_path(result, &paths[i], 0);
    }
    return result;
}

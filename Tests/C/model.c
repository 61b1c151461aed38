/* model.c - see model.h. */
#include "model.h"
#include "make.h"
#include "test.h"

#include <math.h>

static void *keep(const void *data, size_t size) {
    larder_bytes zeros = {NULL, 0};
    void *memory = calloc(1, size ? size : 1);
    if (!memory) abort();
    if (data && size) memcpy(memory, data, size);
    zeros = make_copy((larder_bytes){memory, size});
    free(memory);
    return (void *)(uintptr_t)zeros.data;
}

static model *new_model(int32_t type) {
    model *made = keep(NULL, sizeof *made);
    made->type = type;
    return made;
}

/* ---- random values ---- */

static const int64_t integers[] = {0,
                                   1,
                                   -1,
                                   2,
                                   127,
                                   128,
                                   -128,
                                   -129,
                                   255,
                                   32767,
                                   32768,
                                   -32768,
                                   -32769,
                                   8388607,
                                   8388608,
                                   INT32_MAX,
                                   INT32_MIN,
                                   9007199254740991,
                                   9007199254740992,
                                   9007199254740993,
                                   -9007199254740991,
                                   -9007199254740992,
                                   -9007199254740993,
                                   9007199254740994,
                                   4611686018427387904,
                                   4611686018427387905,
                                   -4611686018427387905,
                                   INT64_MAX,
                                   INT64_MAX - 1,
                                   INT64_MAX - 511,
                                   INT64_MAX - 512,
                                   INT64_MAX - 513,
                                   INT64_MAX - 1023,
                                   INT64_MAX - 1024,
                                   INT64_MIN,
                                   INT64_MIN + 1,
                                   INT64_MIN + 1024,
                                   INT64_MIN + 1025};

static int64_t random_integer(void) {
    switch (test_random_below(4)) {
    case 0:
        return (int64_t)test_random_below(5) - 2;
    case 1:
        return (int64_t)(test_random() >> test_random_below(64));
    case 2:
        return -(int64_t)(test_random() >> (1 + test_random_below(63)));
    default:
        return integers[test_random_below(sizeof integers / sizeof integers[0])];
    }
}

static double random_double(void) {
    static const double doubles[] = {0.0,
                                     -0.0,
                                     0.5,
                                     -0.5,
                                     1.0,
                                     -1.0,
                                     1.5,
                                     0x1p53,
                                     -0x1p53,
                                     0x1.0000000000001p53,
                                     0x1p62,
                                     0x1p63,
                                     -0x1p63,
                                     0x1.fffffffffffffp62,
                                     -0x1.0000000000001p63,
                                     0x1p64,
                                     5e-324,
                                     -5e-324,
                                     1.7976931348623157e308};
    double number;
    uint64_t bits;
    switch (test_random_below(6)) {
    case 0:
        return NAN;
    case 1:
        return test_random_below(2) ? INFINITY : -INFINITY;
    case 2:
        return (double)random_integer();
    case 3:
        return nextafter((double)random_integer(), test_random_below(2) ? 1e300 : -1e300);
    case 4:
        bits = test_random();
        memcpy(&number, &bits, 8);
        return number;
    default:
        return doubles[test_random_below(sizeof doubles / sizeof doubles[0])];
    }
}

static larder_time random_time(void) {
    static const int64_t seconds[] = {0, 1, -1, -62135596800, 253402300799, 1700000000};
    static const int32_t nanoseconds[] = {0, 1, 999999999, 500};
    larder_time time = {seconds[test_random_below(6)], nanoseconds[test_random_below(4)], 0};
    return time;
}

/* Characters of 1 to 4 bytes, those that UTF-16 order gets wrong, and NUL. */
static larder_bytes random_text(size_t max_count) {
    static const char *const characters[] = {"a",
                                             "b",
                                             "\x01",
                                             "~",
                                             "\x7f",
                                             "\xc3\xa9",
                                             "\xef\xbf\xbf",
                                             "z",
                                             "\xee\x80\x80",
                                             "\xf0\x90\x80\x80",
                                             "\xf4\x8f\xbf\xbf"};
    char text[256];
    size_t size = 0, count = test_random_below(max_count + 1);
    for (size_t i = 0; i < count; i++) {
        if (test_random_below(8) == 0) {
            text[size++] = 0;
            continue;
        }
        const char *character = characters[test_random_below(11)];
        memcpy(text + size, character, strlen(character));
        size += strlen(character);
    }
    return make_copy((larder_bytes){text, size});
}

static larder_bytes random_content(void) {
    static const uint8_t bytes[] = {0, 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
    uint8_t content[8];
    size_t size = test_random_below(5);
    for (size_t i = 0; i < size; i++)
        content[i] = bytes[test_random_below(8)];
    return make_copy((larder_bytes){content, size});
}

static larder_bytes random_reference(void) {
    static const char *const segments[] = {"a", "b", "a\x01", "ab", "__id7__", "", "a.", "a-"};
    char text[256] = "";
    size_t count = test_random_below(5);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || test_random_below(4) == 0) strcat(text, "/");
        strcat(text, segments[test_random_below(8)]);
    }
    return make_copy(test_text(text));
}

static double random_degrees(double limit) {
    static const double choices[] = {0.0, -0.0, 1, -1, 45.5, 90, -90};
    double degrees = choices[test_random_below(7)];
    return limit == 180 && test_random_below(4) == 0 ? 2 * degrees : degrees;
}

static int compare_bytes(larder_bytes a, larder_bytes b) {
    for (size_t i = 0; i < a.size_bytes && i < b.size_bytes; i++) {
        int difference = ((const uint8_t *)a.data)[i] - ((const uint8_t *)b.data)[i];
        if (difference) return difference < 0 ? -1 : 1;
    }
    return a.size_bytes < b.size_bytes ? -1 : a.size_bytes > b.size_bytes;
}

static larder_bytes random_name(void) {
    static const char *const names[] = {"a", "b", "c", "aa", "ab", "\xc3\xa9", "a.b", "long name"};
    if (test_random_below(6) == 0) {
        larder_bytes name = random_text(3);
        if (name.size_bytes > 0) return name;
    }
    return make_copy(test_text(names[test_random_below(8)]));
}

/* Inserts in order; replaces one of the same name. */
static void map_put(model *map, larder_bytes name, const model *value) {
    size_t at = 0;
    while (at < map->count && compare_bytes(map->names[at], name) < 0)
        at++;
    bool present = at < map->count && compare_bytes(map->names[at], name) == 0;
    if (!present) {
        larder_bytes *names = keep(NULL, (map->count + 1) * sizeof *names);
        const model **items = keep(NULL, (map->count + 1) * sizeof *items);
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

static const model *map_get(const model *map, larder_bytes name) {
    for (size_t i = 0; i < map->count; i++)
        if (compare_bytes(map->names[i], name) == 0) return map->items[i];
    return NULL;
}

static model *copy_map(const model *map) {
    model *copy = new_model(LARDER_TYPE_MAP);
    if (map && map->type == LARDER_TYPE_MAP) {
        copy->count = map->count;
        copy->names = keep(map->names, map->count * sizeof *map->names);
        copy->items = keep(map->items, map->count * sizeof *map->items);
    }
    return copy;
}

const model *model_random_map(int depth) {
    model *map = new_model(LARDER_TYPE_MAP);
    size_t count = test_random_below(5);
    for (size_t i = 0; i < count; i++)
        map_put(map, random_name(), model_random(depth));
    return map;
}

const model *model_random(int depth) {
    int32_t type = (int32_t)test_random_below(13);
    if (depth <= 0 && (type == LARDER_TYPE_ARRAY || type == LARDER_TYPE_MAP))
        type = LARDER_TYPE_INTEGER;
    if (type == LARDER_TYPE_MAP) return model_random_map(depth - 1);
    model *made = new_model(type);
    switch (type) {
    case LARDER_TYPE_BOOLEAN:
        made->boolean = test_random_below(2);
        break;
    case LARDER_TYPE_INTEGER:
        made->integer = random_integer();
        break;
    case LARDER_TYPE_DOUBLE:
        made->number = random_double();
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        made->time = random_time();
        if (test_random_below(2)) {
            made->previous = model_random(depth > 0 ? 1 : 0);
            if (made->previous->type == LARDER_TYPE_SERVER_TIMESTAMP) made->previous = NULL;
        }
        break;
    case LARDER_TYPE_TIMESTAMP:
        made->time = random_time();
        break;
    case LARDER_TYPE_STRING:
        made->text = random_text(5);
        break;
    case LARDER_TYPE_BYTES:
        made->text = random_content();
        break;
    case LARDER_TYPE_REFERENCE:
        made->text = random_reference();
        break;
    case LARDER_TYPE_GEO_POINT:
        made->number = random_degrees(90);
        made->second = random_degrees(180);
        break;
    case LARDER_TYPE_ARRAY:
        made->count = test_random_below(4);
        made->items = keep(NULL, made->count * sizeof *made->items);
        for (size_t i = 0; i < made->count; i++)
            made->items[i] = model_random(depth - 1);
        break;
    case LARDER_TYPE_VECTOR:
        made->count = test_random_below(4);
        made->numbers = keep(NULL, made->count * sizeof *made->numbers);
        for (size_t i = 0; i < made->count; i++)
            made->numbers[i] = random_double();
        break;
    default:
        break;
    }
    return made;
}

const model *model_vary(const model *value, int depth) {
    model *copy;
    switch (test_random_below(4)) {
    case 0:
        return value;
    case 1:
        return model_random(depth);
    default:
        break;
    }
    if (value->count > 0 && value->type == LARDER_TYPE_ARRAY) {
        copy = keep(value, sizeof *value);
        copy->items = keep(value->items, value->count * sizeof *value->items);
        size_t at = test_random_below(value->count);
        copy->items[at] = model_vary(value->items[at], depth - 1);
        return copy;
    }
    if (value->type == LARDER_TYPE_MAP) {
        copy = copy_map(value);
        larder_bytes name = random_name();
        const model *old = map_get(copy, name);
        map_put(copy, name, old ? model_vary(old, depth - 1) : model_random(depth - 1));
        return copy;
    }
    copy = keep(value, sizeof *value);
    if (value->type == LARDER_TYPE_INTEGER) {
        copy->type = LARDER_TYPE_DOUBLE;
        copy->number = (double)value->integer;
    } else if (value->type == LARDER_TYPE_SERVER_TIMESTAMP) {
        copy->previous = NULL;
    } else if (value->type == LARDER_TYPE_DOUBLE) {
        copy->number = -value->number;
    }
    return copy;
}

/* ---- encoding and decoding ---- */

void model_build(larder_builder *builder, const model *value) {
    larder_bytes previous = {NULL, 0};
    switch (value->type) {
    case LARDER_TYPE_NULL:
        CHECK_OK(larder_builder_null(builder, &test_error));
        break;
    case LARDER_TYPE_BOOLEAN:
        CHECK_OK(larder_builder_boolean(builder, value->boolean, &test_error));
        break;
    case LARDER_TYPE_INTEGER:
        CHECK_OK(larder_builder_integer(builder, value->integer, &test_error));
        break;
    case LARDER_TYPE_DOUBLE:
        CHECK_OK(larder_builder_double(builder, value->number, &test_error));
        break;
    case LARDER_TYPE_TIMESTAMP:
        CHECK_OK(larder_builder_timestamp(builder, value->time, &test_error));
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        if (value->previous) previous = model_encode(value->previous);
        CHECK_OK(larder_builder_server_timestamp(builder, value->time, previous, &test_error));
        break;
    case LARDER_TYPE_STRING:
        CHECK_OK(larder_builder_string(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_BYTES:
        CHECK_OK(larder_builder_bytes(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_REFERENCE:
        CHECK_OK(larder_builder_reference(builder, value->text, &test_error));
        break;
    case LARDER_TYPE_GEO_POINT:
        CHECK_OK(larder_builder_geo_point(builder, value->number, value->second, &test_error));
        break;
    case LARDER_TYPE_VECTOR:
        CHECK_OK(larder_builder_vector(builder, value->numbers, value->count, &test_error));
        break;
    case LARDER_TYPE_ARRAY:
        CHECK_OK(larder_builder_begin_array(builder, &test_error));
        for (size_t i = 0; i < value->count; i++)
            model_build(builder, value->items[i]);
        CHECK_OK(larder_builder_end_array(builder, &test_error));
        break;
    case LARDER_TYPE_MAP: {
        CHECK_OK(larder_builder_begin_map(builder, &test_error));
        /* from a random name on, and round */
        size_t first = value->count ? test_random_below(value->count) : 0;
        for (size_t i = 0; i < value->count; i++) {
            size_t at = (first + i) % value->count;
            CHECK_OK(larder_builder_name(builder, value->names[at], &test_error));
            model_build(builder, value->items[at]);
        }
        CHECK_OK(larder_builder_end_map(builder, &test_error));
        break;
    }
    default:
        CHECK(false);
    }
}

static larder_bytes encode(const model *value, bool as_record) {
    larder_builder *builder = NULL;
    larder_bytes bytes = {NULL, 0};
    if (larder_builder_create(NULL, &builder, &test_error) != LARDER_OK) abort();
    model_build(builder, value);
    CHECK_OK(as_record ? larder_builder_finish_record(builder, &bytes, &test_error)
                       : larder_builder_finish_value(builder, &bytes, &test_error));
    bytes = make_copy(bytes);
    larder_builder_close(builder);
    return bytes;
}

larder_bytes model_encode(const model *value) { return encode(value, false); }
larder_bytes model_encode_record(const model *map) { return encode(map, true); }

const model *model_decode(larder_bytes value) {
    int32_t type = larder_value_type(value), boolean = 0, status = LARDER_OK;
    larder_bytes name, item;
    if (type < 0) return NULL;
    model *made = new_model(type);
    switch (type) {
    case LARDER_TYPE_NULL:
        break;
    case LARDER_TYPE_BOOLEAN:
        status = larder_value_get_boolean(value, &boolean);
        made->boolean = boolean != 0;
        break;
    case LARDER_TYPE_INTEGER:
        status = larder_value_get_integer(value, &made->integer);
        break;
    case LARDER_TYPE_DOUBLE:
        status = larder_value_get_double(value, &made->number);
        break;
    case LARDER_TYPE_TIMESTAMP:
        status = larder_value_get_timestamp(value, &made->time);
        break;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        status = larder_value_get_server_timestamp(value, &made->time, &item);
        if (status == LARDER_OK && item.size_bytes > 0 && !(made->previous = model_decode(item)))
            return NULL;
        break;
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_BYTES:
    case LARDER_TYPE_REFERENCE:
        status = larder_value_get_bytes(value, &made->text);
        break;
    case LARDER_TYPE_GEO_POINT:
        status = larder_value_get_geo_point(value, &made->number, &made->second);
        break;
    case LARDER_TYPE_VECTOR:
        if (larder_value_count(value, &made->count) != LARDER_OK) return NULL;
        made->numbers = keep(NULL, made->count * sizeof *made->numbers);
        for (size_t i = 0; status == LARDER_OK && i < made->count; i++)
            status = larder_value_get_component(value, i, &made->numbers[i]);
        break;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        if (larder_value_count(value, &made->count) != LARDER_OK) return NULL;
        made->items = keep(NULL, made->count * sizeof *made->items);
        made->names = keep(NULL, made->count * sizeof *made->names);
        for (size_t i = 0; status == LARDER_OK && i < made->count; i++) {
            status = type == LARDER_TYPE_ARRAY ? larder_value_get_element(value, i, &item)
                                               : larder_value_get_entry(value, i, &name, &item);
            if (status == LARDER_OK && type == LARDER_TYPE_MAP) made->names[i] = make_copy(name);
            if (status == LARDER_OK && !(made->items[i] = model_decode(item))) return NULL;
        }
        break;
    default:
        return NULL;
    }
    return status == LARDER_OK ? made : NULL;
}

const model *model_decode_record(const larder_record *record) {
    model *map = new_model(LARDER_TYPE_MAP);
    map->count = larder_record_count(record);
    map->items = keep(NULL, map->count * sizeof *map->items);
    map->names = keep(NULL, map->count * sizeof *map->names);
    for (size_t i = 0; i < map->count; i++) {
        larder_bytes value;
        int32_t type;
        if (larder_record_get_entry(record, i, &map->names[i], &value, &type) != LARDER_OK)
            return NULL;
        map->names[i] = make_copy(map->names[i]);
        map->items[i] = model_decode(value);
        if (!map->items[i] || map->items[i]->type != type) return NULL;
    }
    return map;
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

static int compare_references(larder_bytes a, larder_bytes b) {
    larder_bytes x[130], y[130];
    size_t x_count = split_segments(a, x), y_count = split_segments(b, y);
    for (size_t i = 0; i < x_count && i < y_count; i++) {
        int order = compare_bytes(x[i], y[i]);
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
        value = value->type == LARDER_TYPE_MAP ? map_get(value, path->segments[i]) : NULL;
    return value;
}

static const model *set_path(const model *map, const model_path *path, size_t at,
                             const model *value) {
    model *copy = copy_map(map);
    if (at + 1 == path->count)
        map_put(copy, path->segments[at], value);
    else
        map_put(copy, path->segments[at],
                set_path(map_get(copy, path->segments[at]), path, at + 1, value));
    return copy;
}

static const model *delete_path(const model *map, const model_path *path, size_t at) {
    model *copy = copy_map(map);
    const model *below = map_get(copy, path->segments[at]);
    if (at + 1 == path->count)
        map_remove(copy, path->segments[at]);
    else /* maps on the way are made for a delete, too */
        map_put(copy, path->segments[at], delete_path(below, path, at + 1));
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
    const model *result = copy_map(base);
    for (size_t i = 0; i < path_count; i++) {
        if (is_covered(paths, path_count, i)) continue;
        const model *value = find_path(source, &paths[i]);
        result = value ? set_path(result, &paths[i], 0, value) : delete_path(result, &paths[i], 0);
    }
    return result;
}

/* model_random.c - random values of model.h. */
#include "make.h"
#include "model.h"
#include "test.h"

#include <math.h>

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
    static const char *const segments[] = {"a",         "b",         "a\x01",  "ab",
                                           "__id7__",   "",          "a.",     "a-",
                                           "__id-12__", "__id256__", "__id7_", "__id10__"};
    char text[256] = "";
    size_t count = test_random_below(5);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || test_random_below(4) == 0) strcat(text, "/");
        strcat(text, segments[test_random_below(12)]);
    }
    return make_copy(test_text(text));
}

static double random_degrees(double limit) {
    static const double choices[] = {0.0, -0.0, 1, -1, 45.5, 90, -90};
    double degrees = choices[test_random_below(7)];
    return limit == 180 && test_random_below(4) == 0 ? 2 * degrees : degrees;
}

static larder_bytes random_name(void) {
    static const char *const names[] = {"a", "b", "c", "aa", "ab", "\xc3\xa9", "a.b", "long name"};
    if (test_random_below(6) == 0) {
        larder_bytes name = random_text(3);
        if (name.size_bytes > 0) return name;
    }
    return make_copy(test_text(names[test_random_below(8)]));
}

const model *model_random_map(int depth) {
    model *map = model_new(LARDER_TYPE_MAP);
    size_t count = test_random_below(5);
    for (size_t i = 0; i < count; i++)
        model_map_put(map, random_name(), model_random(depth));
    return map;
}

const model *model_random(int depth) {
    int32_t type = (int32_t)test_random_below(13);
    if (depth <= 0 && (type == LARDER_TYPE_ARRAY || type == LARDER_TYPE_MAP))
        type = LARDER_TYPE_INTEGER;
    if (type == LARDER_TYPE_MAP) return model_random_map(depth - 1);
    model *made = model_new(type);
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
        made->items = model_keep(NULL, made->count * sizeof *made->items);
        for (size_t i = 0; i < made->count; i++)
            made->items[i] = model_random(depth - 1);
        break;
    case LARDER_TYPE_VECTOR:
        made->count = test_random_below(4);
        made->numbers = model_keep(NULL, made->count * sizeof *made->numbers);
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
        copy = model_keep(value, sizeof *value);
        copy->items = model_keep(value->items, value->count * sizeof *value->items);
        size_t at = test_random_below(value->count);
        copy->items[at] = model_vary(value->items[at], depth - 1);
        return copy;
    }
    if (value->type == LARDER_TYPE_MAP) {
        copy = model_map_copy(value);
        larder_bytes name = random_name();
        const model *old = model_map_get(copy, name);
        model_map_put(copy, name, old ? model_vary(old, depth - 1) : model_random(depth - 1));
        return copy;
    }
    copy = model_keep(value, sizeof *value);
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

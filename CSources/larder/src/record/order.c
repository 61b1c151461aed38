/*
 * order.c - order bytes: an encoding of values whose memcmp order is larder_value_compare.
 *
 *     05                        null
 *     0A / 0B                   false / true
 *     0D                        NaN
 *     0F | number               number (8), then offset (2) when |number| >= 2^53
 *     14 | time (9)             timestamp
 *     17 | time (9)             pending server timestamp, by write time
 *     19 | text                 string
 *     1E | text                 bytes
 *     25 | path                 reference
 *     2D | number, number       geo point
 *     32 | values | 01          array
 *     35 | count (4) | numbers  vector (NaN: eight 00)
 *     37 | entries | 01         map; an entry is 19, name as text, value
 *     3C                        maximum
 *
 *   number   a double, big-endian, sign bit flipped when positive and all bits when negative, so
 *            that bytes order as numbers do; -0.0 as 0.0
 *   offset   what is missing to an integer that no double holds: number is the largest double
 *            not above it, offset the difference, 0 to 1023. 0 for doubles. So integers and
 *            doubles interleave exactly and 1 and 1.0 are the same bytes.
 *   text     bytes with 00 as 00 FF, then 00 01
 *   path     the segments that are not empty, as text but with 00 02 between them: the end (01)
 *            is below a further segment (02), both are below any byte of a longer segment.
 *            A numeric id (numeric_id.h) is 00 03 and the number, 8 bytes big-endian with the
 *            sign bit flipped; one that is not spelled canonically has its text behind that
 *
 * Each encoding says where it ends, so values follow each other without separators. Descending
 * order is the complement of all bytes. Labels are apart for types to come; the end mark of
 * arrays and maps is below every label.
 *
 * Rejected: cutting long values here (index.c cuts entries), numbers of varying length.
 */
#include "base/error.h"
#include "base/numeric_id.h"
#include "record.h"

enum {
    END = 0x01,
    LABEL_NULL = 0x05,
    LABEL_FALSE = 0x0a,
    LABEL_TRUE = 0x0b,
    LABEL_NAN = 0x0d,
    LABEL_NUMBER = 0x0f,
    LABEL_TIMESTAMP = 0x14,
    LABEL_SERVER_TIMESTAMP = 0x17,
    LABEL_STRING = 0x19,
    LABEL_BYTES = 0x1e,
    LABEL_REFERENCE = 0x25,
    LABEL_GEO_POINT = 0x2d,
    LABEL_ARRAY = 0x32,
    LABEL_VECTOR = 0x35,
    LABEL_MAP = 0x37,
    LABEL_MAX = 0x3c
};
enum { TEXT_END = 0x01, SEGMENT_END = 0x02, NUMBER = 0x03, ESCAPED = 0xff };

/* Where bytes go: writes what fits, counts all. */
typedef struct sink {
    uint8_t *to;
    size_t capacity;
    size_t size;
} sink;

static inline void put(sink *out, const void *data, size_t size) {
    if (size > 0 && out->size <= out->capacity && size <= out->capacity - out->size)
        memcpy(out->to + out->size, data, size);
    out->size += size;
}

static inline void put_byte(sink *out, uint8_t byte) {
    if (out->size < out->capacity) out->to[out->size] = byte;
    out->size++;
}

static void put_escaped(sink *out, larder_bytes text) {
    const uint8_t *at = larder__begin(text);
    size_t left = text.size_bytes;
    const uint8_t *zero;
    while (left > 0 && (zero = memchr(at, 0, left)) != NULL) {
        size_t before = (size_t)(zero - at);
        put(out, at, before);
        put_byte(out, 0);
        put_byte(out, ESCAPED);
        at = zero + 1;
        left -= before + 1;
    }
    put(out, at, left);
}

static void put_text(sink *out, larder_bytes text) {
    put_escaped(out, text);
    put_byte(out, 0);
    put_byte(out, TEXT_END);
}

#define SIGN 0x8000000000000000u

static void put_segment(sink *out, larder_bytes segment) {
    int64_t number;
    if (!larder__numeric_id(segment, &number)) {
        put_escaped(out, segment);
        return;
    }
    uint8_t bytes[8];
    larder__store64_big(bytes, (uint64_t)number ^ SIGN);
    put_byte(out, 0);
    put_byte(out, NUMBER);
    put(out, bytes, sizeof bytes);
    if (!larder__numeric_id_is_canonical(segment, number)) put_escaped(out, segment);
}

static void put_path(sink *out, larder_bytes path) {
    const uint8_t *at = larder__begin(path);
    const uint8_t *end = at + path.size_bytes;
    bool first = true;
    while (at < end) {
        const uint8_t *slash = memchr(at, '/', (size_t)(end - at));
        const uint8_t *segment_end = slash ? slash : end;
        if (segment_end > at) {
            if (!first) {
                put_byte(out, 0);
                put_byte(out, SEGMENT_END);
            }
            put_segment(out, larder__bytes(at, (size_t)(segment_end - at)));
            first = false;
        }
        at = slash ? slash + 1 : end;
    }
    put_byte(out, 0);
    put_byte(out, TEXT_END);
}

static uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, 8);
    return bits;
}

/* Eight bytes in order; NaN below all. */
static void put_double(sink *out, double number) {
    uint8_t bytes[8];
    uint64_t bits = bits_of(number);
    if (number != number)
        bits = 0;
    else if (number == 0)
        bits = SIGN;
    else
        bits = bits & SIGN ? ~bits : bits | SIGN;
    larder__store64_big(bytes, bits);
    put(out, bytes, 8);
}

#define EXACT 0x1p53 /* below it each integer is a double */

static void put_number(sink *out, double number, uint16_t offset) {
    put_byte(out, LABEL_NUMBER);
    put_double(out, number);
    if (number < EXACT && number > -EXACT) return;
    put_byte(out, (uint8_t)(offset >> 8));
    put_byte(out, (uint8_t)offset);
}

static void put_integer(sink *out, int64_t integer) {
    double number = (double)integer; /* the nearest: may be above */
    if (number >= 0x1p63) {
        number = 0x1p63 - 1024;
    } else if ((int64_t)number > integer) {
        uint64_t bits = bits_of(number) + (number > 0 ? UINT64_MAX : 1); /* the next below */
        memcpy(&number, &bits, 8);
    }
    put_number(out, number, (uint16_t)(integer - (int64_t)number));
}

/* False for malformed values, *too_deep when that is why. */
static bool put_value(sink *out, larder_bytes value, uint32_t depth, bool *too_deep) {
    if (value.size_bytes == 0) return false;
    uint8_t tag = *larder__begin(value);
    const larder__tag_info *info = &larder__tags[tag];
    if (info->rank == 0 || (info->exact_bytes != 0 && info->exact_bytes != value.size_bytes))
        return false;
    larder_bytes payload = larder__bytes(larder__begin(value) + 1, value.size_bytes - 1);
    const uint8_t *at = larder__begin(payload);
    switch (info->type) {
    case LARDER_TYPE_NULL:
        put_byte(out, LABEL_NULL);
        return true;
    case LARDER_TYPE_BOOLEAN:
        put_byte(out, tag == LARDER__TAG_TRUE ? LABEL_TRUE : LABEL_FALSE);
        return true;
    case LARDER_TYPE_INTEGER:
        put_integer(out, larder__integer_load(at, payload.size_bytes));
        return true;
    case LARDER_TYPE_DOUBLE: {
        double number = larder__double_load(at);
        if (number != number)
            put_byte(out, LABEL_NAN);
        else
            put_number(out, number, 0);
        return true;
    }
    case LARDER_TYPE_TIMESTAMP:
        put_byte(out, LABEL_TIMESTAMP);
        put(out, at, LARDER__TIME_BYTES);
        return true;
    case LARDER_TYPE_SERVER_TIMESTAMP:
        if (payload.size_bytes < LARDER__TIME_BYTES) return false;
        put_byte(out, LABEL_SERVER_TIMESTAMP);
        put(out, at, LARDER__TIME_BYTES);
        return true;
    case LARDER_TYPE_STRING:
        put_byte(out, LABEL_STRING);
        put_text(out, payload);
        return true;
    case LARDER_TYPE_BYTES:
        put_byte(out, LABEL_BYTES);
        put_text(out, payload);
        return true;
    case LARDER_TYPE_REFERENCE:
        put_byte(out, LABEL_REFERENCE);
        put_path(out, payload);
        return true;
    case LARDER_TYPE_GEO_POINT:
        put_byte(out, LABEL_GEO_POINT);
        put_double(out, larder__double_load(at));
        put_double(out, larder__double_load(at + 8));
        return true;
    case LARDER_TYPE_VECTOR: {
        if (payload.size_bytes % 8 != 0 || payload.size_bytes / 8 > UINT32_MAX) return false;
        uint8_t count[4];
        larder__store32_big(count, (uint32_t)(payload.size_bytes / 8));
        put_byte(out, LABEL_VECTOR);
        put(out, count, 4);
        for (size_t i = 0; i < payload.size_bytes; i += 8)
            put_double(out, larder__double_load(at + i));
        return true;
    }
    case LARDER_TYPE_MAX:
        put_byte(out, LABEL_MAX);
        return true;
    default:
        break;
    }
    larder__container container;
    if (depth >= LARDER__DEPTH_LIMIT) *too_deep = true;
    if (*too_deep || !larder__container_open(payload, &container)) return false;
    put_byte(out, tag == LARDER__TAG_ARRAY ? LABEL_ARRAY : LABEL_MAP);
    size_t start = 0;
    for (size_t i = 0; i < container.count; i++) {
        larder_bytes body = larder__container_walk(&container, i, &start);
        if (tag == LARDER__TAG_MAP) {
            larder_bytes name;
            if (!larder__entry_split(body, &name, &body)) return false;
            put_byte(out, LABEL_STRING);
            put_text(out, name);
        }
        if (!put_value(out, body, depth + 1, too_deep)) return false;
    }
    put_byte(out, END);
    return true;
}

static void complement(uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)~bytes[i];
}

static int32_t fail_value(bool too_deep, larder_error *error) {
    if (too_deep)
        return larder__fail(error, LARDER_E_TOO_DEEP, "order bytes: value is nested too deep");
    return larder__fail(error, LARDER_E_INVALID_RECORD, "order bytes: value is malformed");
}

static int32_t check_direction(int32_t direction, larder_error *error) {
    if (direction == LARDER_ORDER_ASCENDING || direction == LARDER_ORDER_DESCENDING)
        return LARDER_OK;
    return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                        "order bytes: direction %d is neither "
                        "ascending nor descending",
                        (int)direction);
}

int32_t larder__order_append(larder_bytes value, int32_t direction, larder__buffer *out,
                             larder_error *error) {
    int32_t status = check_direction(direction, error);
    if (status != LARDER_OK) return status;
    for (;;) {
        size_t spare = out->capacity_bytes - out->size_bytes;
        uint8_t *to = spare > 0 ? out->data + out->size_bytes : NULL;
        sink target = {to, spare, 0};
        bool too_deep = false;
        if (!put_value(&target, value, 0, &too_deep)) return fail_value(too_deep, error);
        if (target.size <= spare) {
            if (direction == LARDER_ORDER_DESCENDING) complement(to, target.size);
            out->size_bytes += target.size;
            return LARDER_OK;
        }
        if (!larder__buffer_reserve(out, target.size))
            return larder__fail(error, LARDER_E_NO_MEMORY, "order bytes: out of memory");
    }
}

static int32_t check_request(int32_t direction, const void *buffer, size_t capacity,
                             const size_t *needed, larder_error *error) {
    if (needed == NULL || !larder__is_room(buffer, capacity))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "order bytes: needed_bytes or the buffer is NULL");
    return check_direction(direction, error);
}

int32_t larder_order_encode(larder_bytes value, int32_t direction, void *buffer,
                            size_t capacity_bytes, size_t *needed_bytes, larder_error *error) {
    int32_t status = check_request(direction, buffer, capacity_bytes, needed_bytes, error);
    if (status != LARDER_OK) return status;
    value = larder__input(value);
    /* At worst an integer 0 in an array, 2 bytes, becomes 9. With room for that one pass does;
     * else the first one counts only, because nothing may be written to a buffer too small. */
    bool roomy = capacity_bytes / 5 > value.size_bytes + 4;
    sink target = {buffer, roomy ? capacity_bytes : 0, 0};
    bool too_deep = false;
    if (!put_value(&target, value, 0, &too_deep)) return fail_value(too_deep, error);
    *needed_bytes = target.size;
    if (target.size > capacity_bytes)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL,
                            "order bytes: %zu bytes are needed, %zu are there", target.size,
                            capacity_bytes);
    if (!roomy) {
        target.capacity = capacity_bytes;
        target.size = 0;
        put_value(&target, value, 0, &too_deep);
    }
    if (direction == LARDER_ORDER_DESCENDING) complement(buffer, target.size);
    return LARDER_OK;
}

/* First and last label of a type's rank. */
static bool labels_of(int32_t type, uint8_t *first, uint8_t *last) {
    static const uint8_t labels[][2] = {
        [LARDER_TYPE_NULL] = {LABEL_NULL, LABEL_NULL},
        [LARDER_TYPE_BOOLEAN] = {LABEL_FALSE, LABEL_TRUE},
        [LARDER_TYPE_INTEGER] = {LABEL_NAN, LABEL_NUMBER},
        [LARDER_TYPE_DOUBLE] = {LABEL_NAN, LABEL_NUMBER},
        [LARDER_TYPE_TIMESTAMP] = {LABEL_TIMESTAMP, LABEL_TIMESTAMP},
        [LARDER_TYPE_SERVER_TIMESTAMP] = {LABEL_SERVER_TIMESTAMP, LABEL_SERVER_TIMESTAMP},
        [LARDER_TYPE_STRING] = {LABEL_STRING, LABEL_STRING},
        [LARDER_TYPE_BYTES] = {LABEL_BYTES, LABEL_BYTES},
        [LARDER_TYPE_REFERENCE] = {LABEL_REFERENCE, LABEL_REFERENCE},
        [LARDER_TYPE_GEO_POINT] = {LABEL_GEO_POINT, LABEL_GEO_POINT},
        [LARDER_TYPE_ARRAY] = {LABEL_ARRAY, LABEL_ARRAY},
        [LARDER_TYPE_VECTOR] = {LABEL_VECTOR, LABEL_VECTOR},
        [LARDER_TYPE_MAP] = {LABEL_MAP, LABEL_MAP},
        [LARDER_TYPE_MAX] = {LABEL_MAX, LABEL_MAX},
    };
    if (type < 0 || (size_t)type >= sizeof labels / sizeof labels[0]) return false;
    *first = labels[type][0];
    *last = labels[type][1];
    return true;
}

/* "Before" and "after" are in the order of the bytes: descending, the bytes before all strings
 * are those after them in ascending order. One byte: a label, or the one above it, which no
 * encoding begins with. Descending, the byte below the last label's complement plus one. */
int32_t larder_order_encode_type(int32_t type, int32_t end, int32_t direction, void *buffer,
                                 size_t capacity_bytes, size_t *needed_bytes, larder_error *error) {
    int32_t status = check_request(direction, buffer, capacity_bytes, needed_bytes, error);
    if (status != LARDER_OK) return status;
    uint8_t first, last;
    if (!labels_of(type, &first, &last))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "order bytes: no type %d", (int)type);
    if (end != 0 && end != 1)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "order bytes: end is %d, not 0 or 1",
                            (int)end);
    uint8_t byte;
    if (direction == LARDER_ORDER_ASCENDING)
        byte = (uint8_t)(end == 0 ? first : last + 1);
    else
        byte = (uint8_t)(end == 0 ? ~last : ~first + 1);
    *needed_bytes = 1;
    if (capacity_bytes < 1)
        return larder__fail(error, LARDER_E_BUFFER_TOO_SMALL, "order bytes: 1 byte is needed");
    memcpy(buffer, &byte, 1);
    return LARDER_OK;
}

/* ---- finding the end of an encoding ---- */

/* Order bytes being read; flip is FF for descending ones. */
typedef struct source {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t flip;
} source;

static bool take(source *in, uint8_t *byte) {
    if (in->at == in->end) return false;
    *byte = *in->at++ ^ in->flip;
    return true;
}

static bool skip(source *in, size_t size) {
    if (size > (size_t)(in->end - in->at)) return false;
    in->at += size;
    return true;
}

/* To behind 00 01; what separates and begins segments is taken where a path allows it. */
static bool skip_text(source *in, bool is_path) {
    const uint8_t *segment = in->at;
    for (;;) {
        const uint8_t *zero = memchr(in->at, in->flip, (size_t)(in->end - in->at));
        uint8_t kind;
        if (!zero) return false;
        in->at = zero + 1;
        if (!take(in, &kind)) return false;
        if (kind == TEXT_END) return true;
        if (kind == ESCAPED) continue;
        if (!is_path) return false;
        if (kind == SEGMENT_END)
            segment = in->at;
        else if (kind != NUMBER || zero != segment || !skip(in, 8))
            return false;
    }
}

static bool skip_number(source *in) {
    if (in->end - in->at < 8) return false;
    uint64_t bits = larder__load64_big(in->at) ^ (in->flip ? UINT64_MAX : 0);
    in->at += 8;
    bits = bits & SIGN ? bits & ~SIGN : ~bits;
    double number;
    memcpy(&number, &bits, 8);
    if (number != number) return false;
    return (number < EXACT && number > -EXACT) || skip(in, 2);
}

static bool skip_value(source *in, uint32_t depth);

/* Elements or entries, to behind the end mark. */
static bool skip_container(source *in, bool is_map, uint32_t depth) {
    if (depth >= LARDER__DEPTH_LIMIT) return false;
    for (;;) {
        if (in->at == in->end) return false;
        if ((*in->at ^ in->flip) == END) {
            in->at++;
            return true;
        }
        uint8_t label;
        if (is_map && (!take(in, &label) || label != LABEL_STRING || !skip_text(in, false)))
            return false;
        if (!skip_value(in, depth + 1)) return false;
    }
}

static bool skip_value(source *in, uint32_t depth) {
    uint8_t label;
    if (!take(in, &label)) return false;
    switch (label) {
    case LABEL_NULL:
    case LABEL_FALSE:
    case LABEL_TRUE:
    case LABEL_NAN:
    case LABEL_MAX:
        return true;
    case LABEL_NUMBER:
        return skip_number(in);
    case LABEL_TIMESTAMP:
    case LABEL_SERVER_TIMESTAMP:
        return skip(in, LARDER__TIME_BYTES);
    case LABEL_STRING:
    case LABEL_BYTES:
        return skip_text(in, false);
    case LABEL_REFERENCE:
        return skip_text(in, true);
    case LABEL_GEO_POINT:
        return skip(in, 16);
    case LABEL_VECTOR: {
        if (in->end - in->at < 4) return false;
        uint32_t count = larder__load32_big(in->at) ^ (in->flip ? UINT32_MAX : 0);
        in->at += 4;
        return (size_t)(in->end - in->at) / 8 >= count && skip(in, (size_t)count * 8);
    }
    case LABEL_ARRAY:
        return skip_container(in, false, depth);
    case LABEL_MAP:
        return skip_container(in, true, depth);
    default:
        return false;
    }
}

size_t larder__order_skip(larder_bytes order_bytes, int32_t direction) {
    if (order_bytes.size_bytes == 0) return 0;
    const uint8_t *begin = larder__begin(order_bytes);
    source in = {begin, begin + order_bytes.size_bytes,
                 direction == LARDER_ORDER_DESCENDING ? 0xff : 0x00};
    return skip_value(&in, 0) ? (size_t)(in.at - begin) : 0;
}

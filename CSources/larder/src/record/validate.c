/*
 * validate.c - the check of untrusted values, and the document size rules.
 *
 * Only the canonical form passes: shortest varints and integers, narrowest ends, one NaN, names
 * in order. So two values are the same exactly when their bytes are, and a record that was
 * accepted can be hashed, compared and stored without a second look. Ends that fall need no check
 * of their own: walking gives an empty body for them, and no body may be empty. One walk checks a
 * value and adds up its size; it recurses at most LARDER__DEPTH_LIMIT deep.
 *
 * Depth: a scalar (also a vector) has none, an array or a map one more than what it holds. The
 * map that a record is does not count; a previous value counts where its timestamp stands.
 *
 * Sizes by Firestore's published rules: null, boolean 1; number, timestamp 8; geo point 16;
 * string and reference their bytes + 1; bytes their length; array the sum of its elements; map
 * the sum of name + 1 + value; vector 8 a component. A pending server timestamp counts as the
 * timestamp that it becomes.
 */
#include "base/error.h"
#include "record.h"

#include <math.h>

static bool problem(larder__value_check *check, const char *text) {
    check->status = LARDER_E_INVALID_RECORD;
    check->problem = text;
    return false;
}

bool larder__check_container(larder__value_check *check, larder_bytes bytes,
                             larder__container *container) {
    larder__container c;
    if (!larder__container_open(bytes, &c)) return problem(check, "container is cut off");
    size_t head = (size_t)(c.bodies - larder__begin(bytes));
    if (c.count == 0) {
        *container = c;
        return bytes.size_bytes == 1 || problem(check, "bytes behind an empty container");
    }
    size_t last = larder__container_end(&c, c.count - 1);
    if (last != bytes.size_bytes - head)
        return problem(check, "container is not as long as it says");
    if (c.width != larder__container_width(last) || larder__container_head(c.count, last) != head)
        return problem(check, "container head is not the shortest");
    *container = c;
    return true;
}

bool larder__check_name(larder__value_check *check, larder_bytes name, larder_bytes previous) {
    if (name.size_bytes == 0) return problem(check, "field name is empty");
    if (name.size_bytes > LARDER_FIELD_NAME_MAX_BYTES)
        return problem(check, "field name is too long");
    if (!larder__utf8_is_valid(name)) return problem(check, "field name is not UTF-8");
    if (previous.size_bytes > 0 && larder__bytes_compare(previous, name) >= 0)
        return problem(check, "field names are not in order");
    return true;
}

static bool check_elements(larder__value_check *check, larder_bytes payload, uint32_t depth) {
    larder__container elements;
    if (!larder__check_container(check, payload, &elements)) return false;
    size_t start = 0;
    for (size_t i = 0; i < elements.count; i++)
        if (!larder__check_value(check, larder__container_walk(&elements, i, &start), depth))
            return false;
    return true;
}

static bool check_entries(larder__value_check *check, larder_bytes payload, uint32_t depth) {
    larder__container entries;
    if (!larder__check_container(check, payload, &entries)) return false;
    larder_bytes previous = {NULL, 0};
    size_t start = 0;
    for (size_t i = 0; i < entries.count; i++) {
        larder_bytes entry = larder__container_walk(&entries, i, &start);
        larder_bytes name, value;
        if (!larder__entry_split(entry, &name, &value))
            return problem(check, "entry of a map is malformed");
        if (!larder__check_name(check, name, previous)) return false;
        check->size += (int64_t)name.size_bytes + 1;
        if (!larder__check_value(check, value, depth)) return false;
        previous = name;
    }
    return true;
}

static bool is_canonical_double(const uint8_t *from) {
    double number = larder__double_load(from);
    return number == number || larder__load64(from) == LARDER__NAN_BITS;
}

static bool check_server_timestamp(larder__value_check *check, larder_bytes value, uint32_t depth) {
    larder_time time;
    larder_bytes previous;
    if (larder_value_get_server_timestamp(value, &time, &previous) != LARDER_OK)
        return problem(check, "pending server timestamp is malformed");
    if (previous.size_bytes == 0) return true;
    if (*larder__begin(previous) == LARDER__TAG_SERVER_TIMESTAMP)
        return problem(check, "previous value is a pending server timestamp itself");
    int64_t size = check->size;
    if (!larder__check_value(check, previous, depth)) return false;
    check->size = size;
    return true;
}

bool larder__check_value(larder__value_check *check, larder_bytes value, uint32_t depth) {
    if (value.size_bytes == 0) return problem(check, "value is empty");
    uint8_t tag = *larder__begin(value);
    const larder__tag_info *info = &larder__tags[tag];
    if (info->rank == 0) return problem(check, "unknown tag");
    if (info->exact_bytes != 0 && value.size_bytes != info->exact_bytes)
        return problem(check, "value has not the size of its type");
    check->size += info->document_bytes;
    const uint8_t *payload = larder__begin(value) + 1;
    size_t payload_bytes = value.size_bytes - 1;
    switch (info->type) {
    case LARDER_TYPE_INTEGER:
        if (larder__integer_bytes(larder__integer_load(payload, payload_bytes)) != payload_bytes)
            return problem(check, "integer is not the shortest");
        return true;
    case LARDER_TYPE_DOUBLE:
        return is_canonical_double(payload) || problem(check, "NaN is not the canonical one");
    case LARDER_TYPE_TIMESTAMP: {
        larder_time time;
        return larder__time_get(payload, &time) || problem(check, "timestamp is out of range");
    }
    case LARDER_TYPE_SERVER_TIMESTAMP:
        return check_server_timestamp(check, value, depth);
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_REFERENCE:
        check->size += (int64_t)payload_bytes + 1;
        return larder__utf8_is_valid(larder__bytes(payload, payload_bytes)) ||
               problem(check, "text is not UTF-8");
    case LARDER_TYPE_BYTES:
        check->size += (int64_t)payload_bytes;
        return true;
    case LARDER_TYPE_GEO_POINT: {
        double latitude = larder__double_load(payload),
               longitude = larder__double_load(payload + 8);
        return (fabs(latitude) <= 90 && fabs(longitude) <= 180) ||
               problem(check, "geo point is out of range");
    }
    case LARDER_TYPE_VECTOR:
        if (payload_bytes % 8 != 0) return problem(check, "vector is cut off");
        check->size += (int64_t)payload_bytes;
        for (size_t i = 0; i < payload_bytes; i += 8)
            if (!is_canonical_double(payload + i))
                return problem(check, "NaN is not the canonical one");
        return true;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        if (depth >= check->max_depth || depth >= LARDER__DEPTH_LIMIT) {
            check->status = LARDER_E_TOO_DEEP;
            check->problem = "maps and arrays are nested too deep";
            return false;
        }
        return info->type == LARDER_TYPE_ARRAY
                   ? check_elements(check, larder__bytes(payload, payload_bytes), depth + 1)
                   : check_entries(check, larder__bytes(payload, payload_bytes), depth + 1);
    case LARDER_TYPE_MAX:
        check->saw_max = true;
        return true;
    default:
        return true;
    }
}

int32_t larder_value_validate(larder_bytes value, uint32_t max_depth, larder_error *error) {
    larder__value_check check = {.max_depth = max_depth};
    if (larder__check_value(&check, larder__input(value), 0)) return LARDER_OK;
    return larder__fail(error, check.status, "value: %s", check.problem);
}

/* The size of a value that may be malformed: then below 0. */
static int64_t size_of(larder_bytes value, uint32_t depth) {
    if (value.size_bytes == 0) return -1;
    const larder__tag_info *info = &larder__tags[*larder__begin(value)];
    if (info->rank == 0 || (info->exact_bytes != 0 && value.size_bytes != info->exact_bytes))
        return -1;
    larder_bytes payload = larder__bytes(larder__begin(value) + 1, value.size_bytes - 1);
    switch (info->type) {
    case LARDER_TYPE_STRING:
    case LARDER_TYPE_REFERENCE:
        return (int64_t)payload.size_bytes + 1;
    case LARDER_TYPE_BYTES:
    case LARDER_TYPE_VECTOR:
        return (int64_t)payload.size_bytes;
    case LARDER_TYPE_ARRAY:
    case LARDER_TYPE_MAP:
        break;
    default:
        return info->document_bytes;
    }
    larder__container container;
    if (depth >= LARDER__DEPTH_LIMIT || !larder__container_open(payload, &container)) return -1;
    int64_t total = 0;
    size_t start = 0;
    for (size_t i = 0; i < container.count; i++) {
        larder_bytes body = larder__container_walk(&container, i, &start);
        if (info->type == LARDER_TYPE_MAP) {
            larder_bytes name;
            if (!larder__entry_split(body, &name, &body)) return -1;
            total += (int64_t)name.size_bytes + 1;
        }
        int64_t size = size_of(body, depth + 1);
        if (size < 0) return -1;
        total += size;
    }
    return total;
}

int64_t larder_value_size(larder_bytes value) {
    int64_t size = size_of(larder__input(value), 0);
    return size < 0 ? LARDER_E_INVALID_RECORD : size;
}

/*
 * key.c - fuzz target: parts of keys. The input is read as a key, and as two names whose key
 * forms must order as the names do.
 *
 *     size of the first name (1) | first name | second name
 */
#include "store/key.h"
#include "base/error.h"
#include "record/record.h"
#include "require.h"

static int sign(int number) { return number < 0 ? -1 : number > 0; }

/* ---- as a key ---- */

/* What was read, written again, must be the bytes that were read: there is one form of each. */
static void require_same(const larder__key *key, const uint8_t *from, const uint8_t *at) {
    REQUIRE(larder__bytes_equal(larder__key_bytes(key), larder__bytes(from, (size_t)(at - from))));
}

static void read_parts(const uint8_t *data, size_t size) {
    const uint8_t *end = data + size, *at = data;
    larder__key key;
    uint64_t number;
    uint32_t small;
    larder_time time;
    larder_bytes id;
    larder__key_clear(&key);
    if (larder__key_read_number(&at, end, &number)) {
        larder__key_number(&key, number);
        require_same(&key, data, at);
    }
    at = data;
    larder__key_clear(&key);
    if (larder__key_read_u32(&at, end, &small)) {
        larder__key_u32(&key, small);
        require_same(&key, data, at);
    }
    at = data;
    larder__key_clear(&key);
    if (larder__key_read_u64(&at, end, &number)) {
        larder__key_u64(&key, number);
        require_same(&key, data, at);
    }
    at = data;
    larder__key_clear(&key);
    if (larder__key_read_time(&at, end, &time)) {
        REQUIRE(larder__time_is_valid(time));
        larder__key_time(&key, time);
        require_same(&key, data, at);
    }
    at = data;
    larder__key_clear(&key);
    if (larder__key_read_idz(&at, end, &id)) {
        REQUIRE(id.size_bytes > 0 && id.size_bytes <= LARDER__ID_MAX);
        larder__key_idz(&key, id);
        require_same(&key, data, at);
    }
    char scratch[32];
    larder_bytes text;
    if (larder__id_decode(larder__bytes(data, size), scratch, &text)) {
        REQUIRE(text.size_bytes > 0);
        REQUIRE(text.data == scratch
                    ? text.size_bytes <= sizeof scratch
                    : larder__begin(text) >= data && larder__begin(text) + text.size_bytes == end);
    }
    larder__key_clear(&key);
    larder__key_append(&key, data, size < LARDER__KEY_MAX ? size : LARDER__KEY_MAX);
    larder__key before = key;
    if (larder__key_successor(&key)) {
        REQUIRE(larder__bytes_compare(larder__key_bytes(&key), larder__key_bytes(&before)) > 0);
        REQUIRE(!larder__bytes_has_prefix(larder__key_bytes(&key), larder__key_bytes(&before)));
    }
}

/* ---- as names ---- */

static bool is_id(larder_bytes text) {
    return text.size_bytes > 0 && text.size_bytes <= LARDER_ID_MAX_BYTES &&
           memchr(text.data, '/', text.size_bytes) == NULL && larder__utf8_is_valid(text);
}

static void compare_ids(larder_bytes a, larder_bytes b) {
    larder__id left, right;
    char scratch[32];
    larder_bytes text;
    larder__id_encode(a, &left);
    larder__id_encode(b, &right);
    REQUIRE(left.is_long == larder__id_key_is_long(larder__id_bytes(&left)));
    if (!left.is_long) {
        REQUIRE(larder__id_decode(larder__id_bytes(&left), scratch, &text));
        REQUIRE(larder__bytes_equal(text, a));
    }
    int order = larder__segment_compare(a, b);
    REQUIRE((order == 0) == larder__bytes_equal(a, b));
    REQUIRE(sign(order) == -sign(larder__segment_compare(b, a)));
    bool is_run = left.size_bytes > LARDER__ID_HEAD && right.size_bytes > LARDER__ID_HEAD &&
                  memcmp(left.bytes, right.bytes, LARDER__ID_HEAD) == 0;
    int key_order = larder__bytes_compare(larder__id_bytes(&left), larder__id_bytes(&right));
    if (is_run)
        REQUIRE((key_order == 0) == (order == 0));
    else
        REQUIRE(sign(key_order) == sign(order));
}

static void compare_paths(larder_bytes a, larder_bytes b) {
    larder__key left, right;
    larder__key_clear(&left);
    larder__key_clear(&right);
    bool left_is_cut = larder__key_path(&left, a), right_is_cut = larder__key_path(&right, b);
    REQUIRE(left.size_bytes <= LARDER__PATH_MAX && right.size_bytes <= LARDER__PATH_MAX);
    int order = larder__path_compare(a, b);
    REQUIRE((order == 0) == larder__bytes_equal(a, b));
    REQUIRE(sign(order) == -sign(larder__path_compare(b, a)));
    int key_order = larder__bytes_compare(larder__key_bytes(&left), larder__key_bytes(&right));
    const size_t head = LARDER__PATH_MAX - 16;
    bool may_differ = (left_is_cut || right_is_cut) && left.size_bytes > head &&
                      right.size_bytes > head && memcmp(left.bytes, right.bytes, head) == 0;
    if (may_differ)
        REQUIRE((key_order == 0) == (order == 0));
    else
        REQUIRE(sign(key_order) == sign(order));
}

/* A path splits into parts that make it again. */
static bool check_path(larder_bytes path, int parity) {
    larder_error error;
    int32_t status = larder__path_check(path, parity, &error);
    REQUIRE(status == LARDER_OK || status == error.status);
    REQUIRE(status == LARDER_OK || status == LARDER_E_INVALID_NAME);
    if (status != LARDER_OK) return false;
    larder_bytes last = larder__path_last(path), collection, id;
    REQUIRE(is_id(last));
    if (parity == 0) {
        larder__name_split(path, &collection, &id);
        REQUIRE(larder__bytes_equal(id, last));
        REQUIRE(collection.size_bytes + 1 + id.size_bytes == path.size_bytes);
        REQUIRE(larder__path_check(collection, 1, NULL) == LARDER_OK);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    read_parts(data, size);
    size_t first = data[0] < size - 1 ? data[0] : size - 1;
    larder_bytes a = larder__bytes(data + 1, first);
    larder_bytes b = larder__bytes(data + 1 + first, size - 1 - first);
    if (is_id(a) && is_id(b)) compare_ids(a, b);
    bool are_paths[2];
    for (int parity = 0; parity < 2; parity++) {
        are_paths[parity] = check_path(a, parity);
        are_paths[parity] = check_path(b, parity) && are_paths[parity];
    }
    if (are_paths[1]) compare_paths(a, b);
    return 0;
}

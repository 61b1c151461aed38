/*
 * mirror_records.c - random records of the mirror's documents, and the index entries that they have.
 */
#include "mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

static void random_text(mirror_random *random, char *to, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz      ABCDE";
    for (size_t i = 0; i < size; i++)
        to[i] = letters[mirror_random_below(random, sizeof letters - 1)];
}

static void put_number(larder_builder *b, mirror_random *random) {
    switch (mirror_random_below(random, 8)) {
    case 0:
        larder_builder_double(b, (double)mirror_random_below(random, 20) + 0.5, NULL);
        break;
    case 1:
        larder_builder_double(b, (double)mirror_random_below(random, 20), NULL);
        break;
    case 2:
        larder_builder_integer(b, (int64_t)mirror_random_next(random), NULL);
        break;
    case 3: {
        static const double odd[] = {0.0, -0.0, -1e300, 1e-300, 9007199254740993.0};
        larder_builder_double(b, odd[mirror_random_below(random, 5)], NULL);
        break;
    }
    case 4:
        larder_builder_double(b, __builtin_nan(""), NULL);
        break;
    default:
        larder_builder_integer(b, (int64_t)mirror_random_below(random, 20) - 3, NULL);
        break;
    }
}

static void put_string(larder_builder *b, mirror_random *random) {
    static const char *const few[] = {"",       "a", "ab", "b", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                      "Berlin", "z"};
    char text[400];
    size_t size;
    switch (mirror_random_below(random, 12)) {
    case 0:
        size = mirror_random_below(random, 30);
        random_text(random, text, size);
        break;
    case 1: /* longer than what an index entry keeps */
        size = 236 + mirror_random_below(random, 20);
        memset(text, 'i', size);
        if (size > 240) random_text(random, text + 240, size - 240);
        break;
    default: {
        const char *one = few[mirror_random_below(random, 8)];
        size = strlen(one);
        memcpy(text, one, size);
    }
    }
    larder_bytes bytes = {text, size};
    larder_builder_string(b, bytes, NULL);
}

static void put_scalar(larder_builder *b, mirror_random *random) {
    switch (mirror_random_below(random, 10)) {
    case 0:
        larder_builder_null(b, NULL);
        break;
    case 1:
        larder_builder_boolean(b, (int32_t)mirror_random_below(random, 2), NULL);
        break;
    case 2: {
        larder_bytes content = {"\x00\xff\x01z", mirror_random_below(random, 5)};
        larder_builder_bytes(b, content, NULL);
        break;
    }
    case 3:
        larder_builder_reference(b,
                                 mirror_text(mirror_random_below(random, 2)
                                                 ? "projects/p/databases/d/documents/c/a"
                                                 : "projects/p/databases/d/documents/c/b"),
                                 NULL);
        break;
    case 4:
        larder_builder_geo_point(b, (double)mirror_random_below(random, 90),
                                 -(double)mirror_random_below(random, 180), NULL);
        break;
    case 5: {
        double components[3] = {1.0, (double)mirror_random_below(random, 3), -0.5};
        larder_builder_vector(b, components, mirror_random_below(random, 4), NULL);
        break;
    }
    case 6:
        put_string(b, random);
        break;
    default:
        put_number(b, random);
        break;
    }
}

static larder_time random_time(mirror_random *random) {
    larder_time time = {(int64_t)(1700000000 + mirror_random_below(random, 50)),
                        (int32_t)(mirror_random_below(random, 3) * 1000), 0};
    return time;
}

static void name(larder_builder *b, const char *text) {
    larder_builder_name(b, mirror_text(text), NULL);
}

mirror_blob *mirror_record(mirror_random *random, bool large) {
    larder_builder *b;
    if (larder_builder_create(NULL, &b, NULL) != LARDER_OK) mirror_must(NULL);
    larder_builder_begin_map(b, NULL);
    if (mirror_random_below(random, 10) < 8) name(b, "n"), put_number(b, random);
    if (mirror_random_below(random, 10) < 8) name(b, "s"), put_string(b, random);
    if (mirror_random_below(random, 10) < 6) {
        name(b, "t");
        if (mirror_random_below(random, 8) == 0)
            put_scalar(b, random); /* no array: no entry */
        else {
            larder_builder_begin_array(b, NULL);
            for (uint64_t left = mirror_random_below(random, 5); left > 0; left--) {
                if (mirror_random_below(random, 2))
                    put_number(b, random);
                else
                    put_string(b, random);
            }
            larder_builder_end_array(b, NULL);
        }
    }
    if (mirror_random_below(random, 10) < 6) {
        name(b, "m");
        larder_builder_begin_map(b, NULL);
        if (mirror_random_below(random, 4)) name(b, "x"), put_scalar(b, random);
        name(b, "deep");
        larder_builder_begin_map(b, NULL);
        if (mirror_random_below(random, 2)) name(b, "z"), put_string(b, random);
        larder_builder_end_map(b, NULL);
        larder_builder_end_map(b, NULL);
    }
    if (mirror_random_below(random, 10) < 5) name(b, "k"), put_scalar(b, random);
    if (mirror_random_below(random, 10) < 5) {
        name(b, "when");
        if (mirror_random_below(random, 5))
            larder_builder_timestamp(b, random_time(random), NULL);
        else {
            larder_bytes none = {NULL, 0};
            larder_builder_server_timestamp(b, random_time(random), none, NULL);
        }
    }
    if (mirror_random_below(random, 20) == 0) name(b, "odd.na`me"), put_scalar(b, random);
    uint64_t part = mirror_random_below(random, 10);
    if (large || part < 3) {
        static uint8_t content[30000];
        size_t size = large ? 2000 + mirror_random_below(random, 28000)
                            : 100 + mirror_random_below(random, 3000);
        name(b, "big");
        if (large) {
            for (size_t i = 0; i < size; i += 8) {
                uint64_t word = mirror_random_next(random);
                memcpy(content + i, &word, size - i < 8 ? size - i : 8);
            }
            larder_bytes bytes = {content, size};
            larder_builder_bytes(b, bytes, NULL);
        } else {
            random_text(random, (char *)content, size);
            larder_bytes bytes = {content, size};
            larder_builder_string(b, bytes, NULL);
        }
    }
    larder_builder_end_map(b, NULL);
    larder_bytes plain;
    larder_error error;
    if (larder_builder_finish_record(b, &plain, &error) != LARDER_OK) {
        fprintf(stderr, "mirror: the record was not built: %s\n", error.message);
        exit(3);
    }
    mirror_blob *blob = mirror_must(malloc(sizeof *blob + plain.size_bytes));
    blob->references = 1;
    blob->size_bytes = plain.size_bytes;
    memcpy(blob->data, plain.data, plain.size_bytes);
    larder_builder_close(b);
    return blob;
}

/* ---- index entries ---- */

static size_t append_order(larder_bytes value, int32_t kind, uint8_t *to, size_t used,
                           size_t capacity) {
    size_t needed = 0;
    int32_t direction =
        kind == LARDER_SEGMENT_DESCENDING ? LARDER_ORDER_DESCENDING : LARDER_ORDER_ASCENDING;
    if (larder_order_encode(value, direction, to + used, capacity - used, &needed, NULL) !=
        LARDER_OK) {
        fprintf(stderr, "mirror: a value has no order bytes\n");
        exit(3);
    }
    return used + needed;
}

void mirror_index_entries(int index, larder_bytes plain,
                          void (*visit)(void *context, larder_bytes order_bytes), void *context) {
    enum { CAPACITY = 8192, ELEMENTS = 16 };
    static uint8_t order[ELEMENTS][CAPACITY];
    size_t sizes[ELEMENTS] = {0};
    size_t count = 1;
    const mirror_index_definition *d = mirror_index(index);
    larder_record record;
    if (larder_record_open(plain, 0, 0, &record, NULL) != LARDER_OK) {
        mirror_problem("a record of the mirror does not open");
        return;
    }
    for (size_t s = 0; s < d->segment_count; s++) {
        larder_field field;
        larder_field_init(&field, d->segments[s].field_path);
        larder_bytes value;
        if (larder_record_find(&record, &field, &value, NULL) != LARDER_OK) return;
        if (d->segments[s].kind != LARDER_SEGMENT_CONTAINS) {
            for (size_t e = 0; e < count; e++)
                sizes[e] = append_order(value, d->segments[s].kind, order[e], sizes[e], CAPACITY);
            continue;
        }
        /* an entry for each element, equal ones once; the elements' bytes follow what is there */
        size_t elements = 0;
        if (larder_value_type(value) != LARDER_TYPE_ARRAY ||
            larder_value_count(value, &elements) != LARDER_OK)
            return;
        uint8_t before[CAPACITY];
        size_t before_size = sizes[0];
        memcpy(before, order[0], before_size);
        count = 0;
        for (size_t e = 0; e < elements; e++) {
            larder_bytes element;
            if (larder_value_get_element(value, e, &element) != LARDER_OK) return;
            memcpy(order[count], before, before_size);
            sizes[count] =
                append_order(element, LARDER_SEGMENT_CONTAINS, order[count], before_size, CAPACITY);
            bool known = false;
            for (size_t o = 0; o < count; o++)
                known |= sizes[o] == sizes[count] && memcmp(order[o], order[count], sizes[o]) == 0;
            if (!known) count++;
        }
    }
    for (size_t e = 0; e < count; e++) {
        larder_bytes bytes = {order[e], sizes[e] < MIRROR_ORDER_MAX ? sizes[e] : MIRROR_ORDER_MAX};
        bool known = false; /* cut ones may have become equal */
        for (size_t o = 0; o < e; o++) {
            larder_bytes other = {order[o],
                                  sizes[o] < MIRROR_ORDER_MAX ? sizes[o] : MIRROR_ORDER_MAX};
            known |= bytes.size_bytes == other.size_bytes &&
                     memcmp(bytes.data, other.data, bytes.size_bytes) == 0;
        }
        if (!known) visit(context, bytes);
    }
}

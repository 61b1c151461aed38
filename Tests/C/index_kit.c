/* index_kit.c - see index_kit.h. */
#include "index_kit.h"

#include "documents/index.h"

#include <ctype.h>
#include <math.h>

enum { SLOTS = 8, SLOT_BYTES = 1 << 17 };

static uint8_t slots[SLOTS][SLOT_BYTES];
static size_t next_slot;

static larder_bytes keep(larder_bytes bytes) {
    uint8_t *slot = slots[next_slot++ % SLOTS];
    if (bytes.size_bytes > SLOT_BYTES) abort();
    if (bytes.size_bytes > 0) memcpy(slot, bytes.data, bytes.size_bytes);
    return (larder_bytes){slot, bytes.size_bytes};
}

/* ---- values ---- */

static void skip_blanks(const char **at) {
    while (**at == ' ' || **at == ',')
        ++*at;
}

static larder_bytes take_word(const char **at, const char *stops) {
    const char *begin = *at;
    while (**at != 0 && strchr(stops, **at) == NULL)
        ++*at;
    return (larder_bytes){begin, (size_t)(*at - begin)};
}

static bool take(const char **at, const char *word) {
    size_t size = strlen(word);
    if (strncmp(*at, word, size) != 0) return false;
    *at += size;
    return true;
}

static void build_value(larder_builder *builder, const char **at);

static void build_text(larder_builder *builder, const char **at) {
    static char text[SLOT_BYTES];
    size_t size = 0;
    if ((*at)[0] != '\'') {
        char fill = (*at)[0];
        char *end;
        size = strtoul(*at + 2, &end, 10);
        memset(text, fill, size);
        *at = end;
        if (**at == '+') ++*at;
    }
    if (take(at, "'")) {
        larder_bytes rest = take_word(at, "'");
        memcpy(text + size, rest.data, rest.size_bytes);
        size += rest.size_bytes;
        ++*at;
    }
    CHECK_OK(larder_builder_string(builder, (larder_bytes){text, size}, &test_error));
}

static void build_number(larder_builder *builder, const char **at) {
    char *end;
    size_t size = strspn(*at, "+-0123456789.e");
    bool is_double = memchr(*at, '.', size) != NULL || memchr(*at, 'e', size) != NULL;
    if (is_double)
        CHECK_OK(larder_builder_double(builder, strtod(*at, &end), &test_error));
    else
        CHECK_OK(larder_builder_integer(builder, strtoll(*at, &end, 10), &test_error));
    CHECK_NOTE(end != *at, "not a value: %s", *at);
    *at = end == *at ? *at + strlen(*at) : end;
}

static void build_fields(larder_builder *builder, const char **at, char equals, char stop) {
    char stops[2] = {equals, 0};
    CHECK_OK(larder_builder_begin_map(builder, &test_error));
    for (skip_blanks(at); **at != stop && **at != 0; skip_blanks(at)) {
        larder_bytes name = take_word(at, stops);
        if (**at != 0) ++*at;
        skip_blanks(at);
        CHECK_OK(larder_builder_name(builder, name, &test_error));
        build_value(builder, at);
    }
    if (stop != 0) ++*at;
    CHECK_OK(larder_builder_end_map(builder, &test_error));
}

static void build_value(larder_builder *builder, const char **at) {
    if (take(at, "[")) {
        CHECK_OK(larder_builder_begin_array(builder, &test_error));
        for (skip_blanks(at); **at != ']' && **at != 0; skip_blanks(at))
            build_value(builder, at);
        take(at, "]");
        CHECK_OK(larder_builder_end_array(builder, &test_error));
    } else if (take(at, "{")) {
        build_fields(builder, at, ':', '}');
    } else if (take(at, "@")) {
        larder_time time = {.seconds = strtoll(*at, (char **)(uintptr_t)at, 10)};
        CHECK_OK(larder_builder_timestamp(builder, time, &test_error));
    } else if (take(at, "&'")) {
        CHECK_OK(larder_builder_reference(builder, take_word(at, "'"), &test_error));
        take(at, "'");
    } else if (take(at, "nan")) {
        CHECK_OK(larder_builder_double(builder, (double)NAN, &test_error));
    } else if (take(at, "null")) {
        CHECK_OK(larder_builder_null(builder, &test_error));
    } else if (take(at, "true")) {
        CHECK_OK(larder_builder_boolean(builder, 1, &test_error));
    } else if (take(at, "false")) {
        CHECK_OK(larder_builder_boolean(builder, 0, &test_error));
    } else if (**at == '\'' || (isalpha((unsigned char)**at) && (*at)[1] == '*')) {
        build_text(builder, at);
    } else {
        build_number(builder, at);
    }
}

larder_bytes kit_record(const char *text) {
    larder_builder *builder = NULL;
    larder_bytes plain = {0};
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    build_fields(builder, &text, '=', 0);
    CHECK_OK(larder_builder_finish_record(builder, &plain, &test_error));
    plain = keep(plain);
    larder_builder_close(builder);
    return plain;
}

larder_bytes kit_value(const char *text) {
    larder_builder *builder = NULL;
    larder_bytes value = {0};
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    build_value(builder, &text);
    CHECK_OK(larder_builder_finish_value(builder, &value, &test_error));
    value = keep(value);
    larder_builder_close(builder);
    return value;
}

larder_bytes kit_order(const char *text) {
    static uint8_t order[SLOT_BYTES];
    size_t size = 0;
    const char *at = text;
    for (skip_blanks(&at); *at != 0; skip_blanks(&at)) {
        bool is_descending = take(&at, "desc ");
        CHECK(is_descending || take(&at, "asc "));
        /* One value's text ends at a comma outside brackets and quotes. */
        const char *begin = at;
        int depth = 0;
        bool is_quoted = false;
        while (*at != 0 && (*at != ',' || depth > 0 || is_quoted)) {
            if (*at == '\'') is_quoted = !is_quoted;
            depth += *at == '[' || *at == '{';
            depth -= *at == ']' || *at == '}';
            at++;
        }
        char value[4096];
        snprintf(value, sizeof value, "%.*s", (int)(at - begin), begin);
        size_t needed = 0;
        CHECK_OK(larder_order_encode(kit_value(value), is_descending, order + size,
                                     sizeof order - size, &needed, &test_error));
        size += needed;
    }
    return keep((larder_bytes){order, size});
}

larder_bytes kit_path(const char *text) {
    uint8_t path[2048];
    size_t size = 0;
    CHECK_OK(larder_path_parse(test_text(text), path, sizeof path, &size, &test_error));
    return keep((larder_bytes){path, size});
}

/* ---- documents ---- */

static void put(larder_txn *txn, const char *name, int32_t state, larder_bytes plain) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.state = state;
    info.version.seconds = info.read_time.seconds = 1;
    CHECK_OK(larder_document_put(txn, test_text(name), &info, plain, &test_error));
}

void kit_put(larder_txn *txn, const char *name, const char *record) {
    put(txn, name, LARDER_DOCUMENT_FOUND, kit_record(record));
}

void kit_put_absent(larder_txn *txn, const char *name) {
    put(txn, name, LARDER_DOCUMENT_ABSENT, (larder_bytes){0});
}

void kit_remove(larder_txn *txn, const char *name) {
    CHECK_OK(larder_document_remove(txn, test_text(name), &test_error));
}

void kit_overlay(larder_txn *txn, const char *user, const char *name, const char *record) {
    larder_bytes plain = {0};
    if (record != NULL) plain = kit_record(record);
    CHECK_OK(larder_overlay_put(txn, test_text(user), test_text(name), 1, plain, test_text("m"),
                                &test_error));
}

void kit_put_many(larder_txn *txn, int count) {
    char name[64], record[64];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, i % 3 ? "c/%03d" : "u/%d/c/%03d", i % 3 ? i : i % 4, i);
        snprintf(record, sizeof record, "a=%d", (i * 37) % count);
        kit_put(txn, name, record);
    }
}

/* ---- definitions ---- */

int32_t kit_try_define(larder_txn *txn, const char *group, const char *segments,
                       uint32_t *index_id) {
    larder_index_segment list[LARDER_INDEX_MAX_SEGMENTS + 1];
    static uint8_t paths[LARDER_INDEX_MAX_SEGMENTS + 1][2048];
    size_t count = 0;
    for (const char *at = segments; *at != 0 && count <= LARDER_INDEX_MAX_SEGMENTS; count++) {
        char path[1024], kind[32];
        int used = 0;
        CHECK_EQ(sscanf(at, " %1023s %31[a-z]%n", path, kind, &used), 2);
        at += used;
        if (*at == ',') at++;
        larder_bytes encoded = kit_path(path);
        memcpy(paths[count], encoded.data, encoded.size_bytes);
        larder_index_segment segment = {.field_path = {paths[count], encoded.size_bytes}};
        segment.kind = strcmp(kind, "asc") == 0    ? LARDER_SEGMENT_ASCENDING
                       : strcmp(kind, "desc") == 0 ? LARDER_SEGMENT_DESCENDING
                                                   : LARDER_SEGMENT_CONTAINS;
        list[count] = segment;
    }
    return larder_index_define(txn, test_text(group), list, count, index_id, &test_error);
}

uint32_t kit_define(larder_txn *txn, const char *group, const char *segments) {
    uint32_t index_id = 0;
    CHECK_OK(kit_try_define(txn, group, segments, &index_id));
    CHECK(index_id > 0);
    return index_id;
}

void kit_fill(larder_txn *txn, uint32_t index_id) {
    CHECK_OK(larder_index_backfill(txn, index_id, 0, 0, NULL, NULL, &test_error));
    CHECK_EQ(kit_index(txn, index_id).complete, 1);
}

larder_index kit_index(const larder_txn *txn, uint32_t index_id) {
    larder_index index = {0};
    CHECK_OK(larder_index_get(txn, index_id, &index, &test_error));
    return index;
}

/* ---- scans ---- */

larder_scan_options kit_options(uint32_t flags, const char *start, const char *end) {
    larder_scan_options options;
    larder_scan_options_init(&options, sizeof options);
    options.flags = flags;
    if (start != NULL) options.start = kit_order(start);
    if (end != NULL) options.end = kit_order(end);
    return options;
}

const char *kit_names(larder_scan *scan) {
    static char texts[4][SLOT_BYTES];
    static size_t next_text;
    char *text = texts[next_text++ % 4];
    size_t size = 0;
    text[0] = 0;
    for (;;) {
        larder_document document;
        int32_t status = larder_scan_next(scan, &document, &test_error);
        if (status == LARDER_END) break;
        if (size > 0) text[size++] = ' ';
        if (status == LARDER_OK) {
            size += (size_t)snprintf(text + size, SLOT_BYTES - size, "%.*s/%.*s",
                                     (int)document.collection.size_bytes,
                                     (const char *)document.collection.data,
                                     (int)document.id.size_bytes, (const char *)document.id.data);
        } else {
            size +=
                (size_t)snprintf(text + size, SLOT_BYTES - size, "%s", larder_status_name(status));
            if (status != LARDER_E_CORRUPT) break;
        }
    }
    larder_scan_close(scan);
    return text;
}

const char *kit_scan(const larder_txn *txn, uint32_t index_id, const char *collection,
                     const larder_scan_options *options) {
    larder_scan *scan = NULL;
    int32_t status =
        larder_index_scan(txn, index_id, test_text(collection), options, &scan, &test_error);
    return status == LARDER_OK ? kit_names(scan) : larder_status_name(status);
}

const char *kit_all(const larder_txn *txn, uint32_t index_id) {
    return kit_scan(txn, index_id, "", NULL);
}

/* ---- counts ---- */

/* Adds the rows of one table to the usage of their index. */
static void count_rows(const larder_txn *txn, larder__table table, uint32_t index_id,
                       larder_usage *usage) {
    larder__cursor cursor;
    REQUIRE_OK(larder__cursor_open(txn, table, &cursor, &test_error));
    int32_t status = larder__cursor_seek(&cursor, larder__bytes(NULL, 0), &test_error);
    for (; status == LARDER_OK; status = larder__cursor_next(&cursor, &test_error)) {
        const uint8_t *at = larder__begin(cursor.key), *end = at + cursor.key.size_bytes;
        uint64_t user, number = 0;
        if (table == LARDER__OVERLAY_ENTRIES) CHECK(larder__key_read_number(&at, end, &user));
        CHECK(larder__key_read_number(&at, end, &number));
        if (number != index_id) continue;
        usage->row_count++;
        usage->size_bytes += larder__row_cost(cursor.key.size_bytes, cursor.value.size_bytes);
    }
    CHECK_STATUS(status, LARDER_END);
    larder__cursor_close(&cursor);
}

void kit_check_counts(const larder_txn *txn) {
    larder_index index = {0};
    while (larder_index_next(txn, index.index_id, &index, &test_error) == LARDER_OK) {
        larder_usage usage = {0};
        count_rows(txn, LARDER__INDEX_ENTRIES, index.index_id, &usage);
        count_rows(txn, LARDER__OVERLAY_ENTRIES, index.index_id, &usage);
        CHECK_NOTE(index.entry_count == usage.row_count && index.size_bytes == usage.size_bytes,
                   "index %u counts %lld entries of %lld bytes; there are %lld of %lld",
                   index.index_id, (long long)index.entry_count, (long long)index.size_bytes,
                   (long long)usage.row_count, (long long)usage.size_bytes);
    }
}

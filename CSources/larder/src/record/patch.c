/*
 * patch.c - a plain record with some field paths set or deleted.
 *
 * The paths of the mask, sorted segment by segment, form a tree; base and mask are then merged
 * in the order of names, so that the result comes out in order and unchanged fields are copied
 * as bytes. A path above another one decides for both, because both take their value from the
 * same source; so the order of the mask has no influence. A path that sets makes maps of what it
 * leads through. A path that deletes has no effect if it leads through anything but maps, as in
 * Firestore.
 *
 *     mask    a.b, a.c, d          at the top: group a (2 paths), group d (exact)
 *
 * Recursion goes as deep as the paths do, which are bounded by LARDER__DEPTH_LIMIT.
 */
#include "base/error.h"
#include "builder.h"

/* A path of the mask; at moves over the segments that are dealt with. */
typedef struct masked {
    const uint8_t *at;
    const uint8_t *end;
} masked;

/* A record or a map value, looked at alike. */
typedef struct fields {
    const larder_record *record; /* NULL for a map value */
    larder_bytes map;            /* the value; empty: no fields */
    size_t count;
} fields;

static int32_t malformed(larder_error *error) {
    return larder__fail(error, LARDER_E_INVALID_RECORD, "patch: a record is malformed");
}

static fields fields_of_record(const larder_record *record) {
    fields made = {record, {NULL, 0}, record ? larder_record_count(record) : 0};
    return made;
}

static bool is_map(larder_bytes value) {
    return value.size_bytes > 0 && *larder__begin(value) == LARDER__TAG_MAP;
}

/* No fields when the value is not a map. */
static fields fields_of_value(larder_bytes value) {
    fields made = {NULL, {NULL, 0}, 0};
    if (!is_map(value)) return made;
    made.map = value;
    if (larder_value_count(value, &made.count) != LARDER_OK) made.count = 0;
    return made;
}

static int32_t get_field(const fields *from, size_t position, larder_bytes *name,
                         larder_bytes *value) {
    return from->record ? larder_record_get_entry(from->record, position, name, value, NULL)
                        : larder_value_get_entry(from->map, position, name, value);
}

/* OK or NOT_FOUND, and *value then empty. */
static int32_t find_field(const fields *from, larder_bytes name, larder_bytes *value) {
    *value = larder__bytes(NULL, 0);
    if (from->count == 0) return LARDER_NOT_FOUND;
    if (!from->record) return larder_value_find(from->map, name, value);
    larder__container names;
    if (!larder__container_open(from->record->names, &names)) return LARDER_E_INVALID_RECORD;
    ptrdiff_t position = larder__names_find(&names, name);
    if (position < 0) return LARDER_NOT_FOUND;
    return larder__record_value(from->record, (size_t)position, value, NULL);
}

/* By segments, a path before those that it is above. */
static int compare_masked(const void *left, const void *right, const void *context) {
    (void)context;
    const masked *a = left, *b = right;
    const uint8_t *a_at = a->at, *b_at = b->at;
    larder_bytes a_segment, b_segment;
    for (;;) {
        bool has_a = larder__path_next(&a_at, a->end, &a_segment);
        bool has_b = larder__path_next(&b_at, b->end, &b_segment);
        if (!has_a || !has_b) return has_a - has_b;
        int order = larder__bytes_compare(a_segment, b_segment);
        if (order != 0) return order;
    }
}

static int32_t emit(larder_builder *builder, larder_bytes name, larder_bytes value,
                    larder_error *error) {
    if (value.size_bytes == 0) return malformed(error);
    int32_t status = larder_builder_name(builder, name, error);
    return status == LARDER_OK ? larder__builder_raw(builder, value, error) : status;
}

static int32_t merge(larder_builder *builder, const fields *base, const fields *source,
                     masked *paths, size_t count, larder_error *error);

/* Whether source has a value at one of the paths. */
static int32_t sets_any(const fields *source, const masked *paths, size_t count, bool *sets) {
    *sets = false;
    for (size_t i = 0; i < count && !*sets && source->count > 0; i++) {
        fields inner = *source;
        const uint8_t *at = paths[i].at;
        larder_bytes segment, value;
        *sets = true;
        while (*sets && larder__path_next(&at, paths[i].end, &segment)) {
            int32_t status = find_field(&inner, segment, &value);
            if (status != LARDER_OK && status != LARDER_NOT_FOUND) return status;
            *sets = status == LARDER_OK;
            inner = fields_of_value(value);
        }
    }
    return LARDER_OK;
}

/* One name that paths mention; each path stands behind the name. base_value is empty for none. */
static int32_t merge_field(larder_builder *builder, larder_bytes name, larder_bytes base_value,
                           const fields *source, masked *paths, size_t count, larder_error *error) {
    larder_bytes source_value;
    int32_t status = find_field(source, name, &source_value);
    if (status != LARDER_OK && status != LARDER_NOT_FOUND) return malformed(error);
    if (paths[0].at == paths[0].end) /* set or deleted itself */
        return status == LARDER_OK ? emit(builder, name, source_value, error) : LARDER_OK;
    fields inner_base = fields_of_value(base_value), inner_source = fields_of_value(source_value);
    if (!is_map(base_value)) {
        bool sets;
        if (sets_any(&inner_source, paths, count, &sets) != LARDER_OK) return malformed(error);
        if (!sets)
            return base_value.size_bytes > 0 ? emit(builder, name, base_value, error) : LARDER_OK;
    }
    status = larder_builder_name(builder, name, error);
    if (status == LARDER_OK) status = larder_builder_begin_map(builder, error);
    if (status == LARDER_OK)
        status = merge(builder, &inner_base, &inner_source, paths, count, error);
    return status == LARDER_OK ? larder_builder_end_map(builder, error) : status;
}

/* The fields of base with the paths set or deleted, into the map that is open. */
static int32_t merge(larder_builder *builder, const fields *base, const fields *source,
                     masked *paths, size_t count, larder_error *error) {
    size_t at = 0, position = 0;
    while (position < base->count || at < count) {
        larder_bytes name = {NULL, 0}, value = {NULL, 0}, segment = {NULL, 0};
        if (position < base->count && get_field(base, position, &name, &value) != LARDER_OK)
            return malformed(error);
        int order = -1; /* of the base's name and the next path's segment */
        if (at < count) {
            const uint8_t *next = paths[at].at;
            (void)larder__path_next(&next, paths[at].end, &segment);
            order = position < base->count ? larder__bytes_compare(name, segment) : 1;
        }
        int32_t status;
        if (order < 0) {
            status = emit(builder, name, value, error);
            position++;
        } else {
            size_t end = at;
            for (; end < count; end++) { /* the paths of the same segment */
                const uint8_t *behind = paths[end].at;
                larder_bytes other;
                if (!larder__path_next(&behind, paths[end].end, &other) ||
                    !larder__bytes_equal(segment, other))
                    break;
                paths[end].at = behind;
            }
            larder_bytes old = order == 0 ? value : larder__bytes(NULL, 0);
            status = merge_field(builder, segment, old, source, paths + at, end - at, error);
            position += order == 0;
            at = end;
        }
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

/* Well-formed segments and not too many. */
static int32_t check_path(larder_bytes path, larder_error *error) {
    path = larder__input(path);
    const uint8_t *at = larder__begin(path);
    const uint8_t *end = path.size_bytes > 0 ? at + path.size_bytes : at;
    larder_bytes segment;
    size_t count = 0;
    while (larder__path_next(&at, end, &segment)) {
        if (!larder__utf8_is_valid(segment) || segment.size_bytes > LARDER_FIELD_NAME_MAX_BYTES)
            return larder__fail(error, LARDER_E_INVALID_NAME,
                                "patch: a field name is too long or "
                                "not UTF-8");
        count++;
    }
    if (count == 0 || at != end)
        return larder__fail(error, LARDER_E_INVALID_NAME, "patch: a field path is malformed");
    if (count > LARDER__DEPTH_LIMIT)
        return larder__fail(error, LARDER_E_TOO_DEEP, "patch: a field path of %zu segments", count);
    return LARDER_OK;
}

int32_t larder_record_patch(const larder_record *base, const larder_record *source,
                            const larder_bytes *mask, size_t mask_count, larder_builder *builder,
                            larder_bytes *plain, larder_error *error) {
    if (!builder || !plain || !larder__is_array(mask, mask_count, sizeof *mask))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "patch: the mask, the builder or plain is NULL");
    if (!source && mask_count > 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "patch: a mask without a source");
    if ((base && larder_record_cold_bytes(base) > 0) ||
        (source && larder_record_cold_bytes(source) > 0))
        return larder__fail(error, LARDER_COLD, "patch: a record has a cold part; load it first");
    for (size_t i = 0; i < mask_count; i++) {
        int32_t status = check_path(mask[i], error);
        if (status != LARDER_OK) return status;
    }
    larder__buffer *workspace = larder__builder_workspace(builder);
    workspace->size_bytes = 0;
    if (!larder__buffer_reserve(workspace, mask_count * sizeof(masked)))
        return larder__fail(error, LARDER_E_NO_MEMORY, "patch: out of memory");
    masked *paths = (masked *)(void *)workspace->data; /* allocated memory: aligned */
    for (size_t i = 0; i < mask_count; i++) {
        paths[i].at = larder__begin(mask[i]);
        paths[i].end = paths[i].at + mask[i].size_bytes;
    }
    larder__sort(paths, mask_count, sizeof *paths, compare_masked, NULL);

    larder_builder_reset(builder);
    fields from = fields_of_record(base), values = fields_of_record(source);
    int32_t status = larder_builder_begin_map(builder, error);
    if (status == LARDER_OK) status = merge(builder, &from, &values, paths, mask_count, error);
    if (status == LARDER_OK) status = larder_builder_end_map(builder, error);
    if (status == LARDER_OK) status = larder_builder_finish_record(builder, plain, error);
    if (status != LARDER_OK) larder_builder_reset(builder);
    return status;
}

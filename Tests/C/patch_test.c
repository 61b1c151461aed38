/*
 * patch_test.c - patches: the fields of a mask are taken from another record (digest, 1.9).
 */
#include "make.h"
#include "model.h"
#include "record/record.h"
#include "test.h"

static const larder_bytes nothing = {NULL, 0};

static larder_bytes patch(larder_bytes base, larder_bytes source, size_t count,
                          const char *const *paths) {
    larder_builder *builder = NULL;
    larder_bytes mask[8], plain = nothing;
    larder_record base_record = {0}, source_record = make_open(source);
    if (base.size_bytes > 0) base_record = make_open(base);
    for (size_t i = 0; i < count; i++)
        mask[i] = make_path(paths[i]);
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    CHECK_OK(larder_record_patch(base.size_bytes > 0 ? &base_record : NULL, &source_record, mask,
                                 count, builder, &plain, &test_error));
    plain = make_copy(plain);
    larder_builder_close(builder);
    return plain;
}
#define PATCH(base, source, ...)                                                                   \
    patch(base, source, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),                    \
          (const char *[]){__VA_ARGS__})

static void patches_set_and_delete(void) {
    larder_bytes one = make_integer(1), two = make_integer(2);
    larder_bytes empty = make_record(0), base = make_record(2, "a", one, "b", one);
    CHECK_BYTES(PATCH(base, make_record(1, "a", two), "a"), make_record(2, "a", two, "b", one));
    CHECK_BYTES(PATCH(base, make_record(1, "c", two), "c"),
                make_record(3, "a", one, "b", one, "c", two));
    CHECK_BYTES(PATCH(base, empty, "a"), make_record(1, "b", one));
    CHECK_BYTES(PATCH(base, empty, "a", "b"), empty);
    CHECK_BYTES(PATCH(base, empty, "c"), base);
    /* outside of the mask the source does not count */
    CHECK_BYTES(PATCH(base, make_record(2, "a", two, "b", two), "b"),
                make_record(2, "a", one, "b", two));
    CHECK_BYTES(PATCH(nothing, make_record(1, "a", two), "a"), make_record(1, "a", two));
    CHECK_BYTES(PATCH(nothing, empty, "a"), empty);
    CHECK_BYTES(PATCH(base, make_record(2, "a", make_null(), "b", two), "b", "a", "b"),
                make_record(2, "a", make_null(), "b", two));
}

static void patches_make_and_replace_maps_on_the_way(void) {
    larder_bytes one = make_integer(1), two = make_integer(2);
    larder_bytes empty = make_record(0), empty_map = make_map(0);
    larder_bytes source = make_record(1, "a", make_map(1, "b", make_map(1, "c", two)));
    larder_bytes base = make_record(1, "a", make_map(2, "b", one, "x", one));
    CHECK_BYTES(PATCH(empty, source, "a.b.c"), source);
    CHECK_BYTES(PATCH(make_record(1, "a", one), source, "a.b.c"), source);
    CHECK_BYTES(PATCH(base, source, "a.b.c"),
                make_record(1, "a", make_map(2, "b", make_map(1, "c", two), "x", one)));
    CHECK_BYTES(PATCH(base, source, "a"), source);
    /* deletes */
    CHECK_BYTES(PATCH(base, empty, "a.b"), make_record(1, "a", make_map(1, "x", one)));
    CHECK_BYTES(PATCH(base, empty, "a.b", "a.x"), make_record(1, "a", empty_map));
    /* a delete below what is no map changes nothing */
    CHECK_BYTES(PATCH(base, empty, "a.b.c"), base);
    CHECK_BYTES(PATCH(empty, empty, "a.b"), empty);
    CHECK_BYTES(PATCH(nothing, empty, "a.b.c", "d"), empty);
    CHECK_BYTES(PATCH(make_record(1, "a", one), empty, "a.b", "a.c.d"), make_record(1, "a", one));
    CHECK_BYTES(PATCH(make_record(1, "a", make_null()), make_record(1, "a", two), "a.b"),
                make_record(1, "a", make_null()));
    /* a set and a delete below one parent */
    CHECK_BYTES(PATCH(make_record(1, "a", one), source, "a.b", "a.x"), source);
    CHECK_BYTES(PATCH(base, source, "a.b", "a.x"), source);
    /* a path and one below it, in either order */
    CHECK_BYTES(PATCH(base, source, "a", "a.x"), source);
    CHECK_BYTES(PATCH(base, source, "a.x", "a"), source);
    CHECK_BYTES(PATCH(base, empty, "a.b", "a"), empty);
    CHECK_BYTES(PATCH(make_record(1, "a.b", one), make_record(1, "a.b", two), "`a.b`"),
                make_record(1, "a.b", two));
}

static void bad_masks_are_refused(void) {
    larder_record base = make_open(make_record(1, "a", make_null()));
    larder_builder *builder = NULL;
    larder_bytes plain;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    static const char *const malformed[] = {"", "00", "02 61", "01 61 00", "01 ff"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        larder_bytes mask[2] = {make_path("a"), make_hex(malformed[i])};
        CHECK_STATUS(larder_record_patch(&base, &base, mask, 2, builder, &plain, &test_error),
                     LARDER_E_INVALID_NAME);
    }
    uint8_t deep[300];
    for (size_t i = 0; i < 300; i++)
        deep[i] = i % 2 ? 'a' : 1;
    larder_bytes mask = {deep, 300};
    CHECK_STATUS(larder_record_patch(&base, &base, &mask, 1, builder, &plain, &test_error),
                 LARDER_E_TOO_DEEP);
    CHECK_STATUS(larder_record_patch(&base, NULL, &mask, 1, builder, &plain, &test_error),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_OK(larder_builder_null(builder, &test_error)); /* it was reset */
    larder_builder_close(builder);
}

static void random_patches_follow_the_model(void) {
    static const char *const names[] = {"a", "b", "c", "aa", "ab", "a.b"};
    larder_builder *builder = NULL;
    CHECK_OK(larder_builder_create(NULL, &builder, &test_error));
    for (int round = 0; round < 3000; round++) {
        const model *base = model_random_map(4);
        const model *source = test_random_below(2) ? model_vary(base, 4) : model_random_map(4);
        if (source->type != LARDER_TYPE_MAP) source = base;
        model_path paths[30];
        larder_bytes mask[30];
        size_t count = test_random_below(test_random_below(8) ? 6 : 30);
        for (size_t i = 0; i < count; i++) {
            uint8_t path[256];
            size_t needed = 0;
            paths[i].count = 1 + test_random_below(3);
            for (size_t k = 0; k < paths[i].count; k++)
                paths[i].segments[k] = test_text(names[test_random_below(6)]);
            CHECK_OK(larder_path_encode(paths[i].segments, paths[i].count, path, sizeof path,
                                        &needed, &test_error));
            mask[i] = make_copy(larder__bytes(path, needed));
        }
        const model *expected = model_patch(base, source, paths, count);
        larder_record base_record = make_open(model_encode_record(base));
        larder_record source_record = make_open(model_encode_record(source));
        if (test_random_below(2)) { /* the same from stored records */
            base_record = make_stored(&base_record, 5);
            source_record = make_stored(&source_record, 5);
            base_record.flags = source_record.flags = LARDER__RECORD_LOADED;
        }
        larder_bytes plain = nothing;
        CHECK_OK(larder_record_patch(&base_record, &source_record, mask, count, builder, &plain,
                                     &test_error));
        CHECK_BYTES(plain, model_encode_record(expected));
        make_release();
    }
    larder_builder_close(builder);
}

static const test_case cases[] = {
    {"patches set and delete", patches_set_and_delete},
    {"patches make and replace maps on the way", patches_make_and_replace_maps_on_the_way},
    {"bad masks are refused", bad_masks_are_refused},
    {"random patches follow the model", random_patches_follow_the_model},
};
TEST_SUITE(patch, cases);

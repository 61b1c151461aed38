/* train_kit.c - see train_kit.h. */
#include "train_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 50, OTHERS = 60, SOME = 5, OTHERS_AT = 1000, SOME_AT = 2000, END = 3000 };

/* Text that compresses better with a dictionary of others like it. */
static const char *text_of(int number) {
    static const char *const words[2][8] = {
        {"harbour", "meridian", "quartz", "lantern", "vessel", "orchard", "granite", "compass"},
        {"telegraph", "sonata", "umbrella", "velocity", "walnut", "yearling", "zephyr", "bulwark"}};
    static char text[2600];
    uint64_t state = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    size_t size = 0;
    while (size < 2400) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size += (size_t)snprintf(text + size, sizeof text - size, "%s-%d ",
                                 words[number >= OTHERS_AT][(state >> 33) % 8],
                                 (int)((state >> 40) % 100));
    }
    return text;
}

static larder_bytes name_of(int number, char name[32]) {
    snprintf(name, 32, "c/%06d", number);
    return (larder_bytes){name, strlen(name)};
}

static larder_bytes records[END]; /* made once, so that no memory is needed while it runs out */

static void make_records(int from, int count) {
    larder_builder *builder;
    larder_bytes plain;
    if (larder_builder_create(NULL, &builder, NULL) != LARDER_OK) abort();
    for (int i = from; i < from + count && records[i].data == NULL; i++) {
        const char *text = text_of(i);
        larder_builder_reset(builder);
        larder_builder_begin_map(builder, NULL);
        larder_builder_name(builder, (larder_bytes){"text", 4}, NULL);
        larder_builder_string(builder, (larder_bytes){text, strlen(text)}, NULL);
        larder_builder_end_map(builder, NULL);
        if (larder_builder_finish_record(builder, &plain, NULL) != LARDER_OK) abort();
        void *copy = malloc(plain.size_bytes);
        if (copy == NULL) abort();
        memcpy(copy, plain.data, plain.size_bytes);
        records[i] = (larder_bytes){copy, plain.size_bytes};
    }
    larder_builder_close(builder);
}

static bool is_record(const larder_record *record, larder_bytes plain) {
    static uint8_t bytes[65536];
    size_t size = 0;
    return larder_record_copy(record, bytes, sizeof bytes, &size, NULL) == LARDER_OK &&
           size == plain.size_bytes && memcmp(bytes, plain.data, size) == 0;
}

larder_env *train_kit_open(const char *path, const larder_allocator *allocator,
                           larder_error *error) {
    larder_env *env = NULL;
    larder_env_options options;
    make_records(0, FIRST);
    make_records(OTHERS_AT, OTHERS);
    make_records(SOME_AT, SOME);
    larder_env_options_init(&options, sizeof options);
    options.allocator = allocator;
    options.log_level = LARDER_LOG_ERROR;
    if (path[0] == '\0') options.flags = LARDER_OPEN_CREATE | LARDER_OPEN_IN_MEMORY;
    return larder_env_open(path, &options, &env, error) == LARDER_OK ? env : NULL;
}

static int32_t put(larder_txn *txn, int from, int count, larder_error *error) {
    int32_t status = LARDER_OK;
    for (int i = from; i < from + count && status == LARDER_OK; i++) {
        char name[32];
        larder_document_info info;
        larder_document_info_init(&info, sizeof info);
        info.version = info.create_time = info.read_time = (larder_time){1, 0, 0};
        status = larder_document_put(txn, name_of(i, name), &info, records[i], error);
    }
    return status;
}

static int32_t end(larder_txn *txn, int32_t status, larder_error *error) {
    if (status >= 0) return larder_txn_commit(txn, error);
    larder_txn_abort(txn);
    return status;
}

static int32_t put_all(larder_env *env, int from, int count, larder_error *error) {
    larder_txn *txn;
    int32_t status = larder_txn_begin_write(env, &txn, error);
    return status == LARDER_OK ? end(txn, put(txn, from, count, error), error) : status;
}

int32_t train_kit_first(larder_env *env, larder_error *error) {
    return put_all(env, 0, FIRST, error);
}
int32_t train_kit_others(larder_env *env, larder_error *error) {
    return put_all(env, OTHERS_AT, OTHERS, error);
}

int32_t train_kit_next(larder_env *env, larder_error *error) {
    larder_txn *txn;
    larder_train_result result;
    larder_repack repack = {0};
    int64_t changed;
    int32_t status = larder_txn_begin_write(env, &txn, error);
    if (status != LARDER_OK) return status;
    status = put(txn, SOME_AT, SOME, error);
    if (status == LARDER_OK) status = larder_blob_train(txn, 0, 0, &result, error);
    if (status >= 0) do
            status = larder_blob_repack(txn, 100, &repack, &changed, error);
        while (status == LARDER_MORE);
    return end(txn, status, error);
}

bool train_kit_is_whole(larder_env *env, uint32_t *dictionary, larder_error *error) {
    const larder_txn *txn;
    larder_document document;
    larder_check_report report = {.struct_bytes = sizeof report};
    larder_stat stat = {.struct_bytes = sizeof stat};
    if (larder_txn_begin_read(env, &txn, error) != LARDER_OK) return false;
    bool is_whole = larder_check(txn, NULL, NULL, NULL, &report, error) == LARDER_OK &&
                    larder_env_stat(txn, &stat, error) == LARDER_OK;
    for (int i = 0; i < END && is_whole; i++) {
        char name[32];
        int32_t status = larder_document_get(txn, name_of(i, name), &document, error);
        is_whole = status == LARDER_NOT_FOUND ||
                   (status == LARDER_OK && is_record(&document.record, records[i]));
    }
    larder_txn_end_read(txn);
    *dictionary = stat.dictionary_id;
    return is_whole;
}

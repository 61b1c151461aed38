/*
 * use.c - a program that knows nothing but the installed library, in the common subset of C and
 * C++: it is compiled as both. Stores a document in memory and reads it back.
 */
#include <larder.h>

#include <stdio.h>
#include <string.h>

static larder_bytes text(const char *characters) {
    larder_bytes bytes;
    bytes.data = characters;
    bytes.size_bytes = strlen(characters);
    return bytes;
}

static int failed(const char *what, int32_t status, const larder_error *error) {
    if (status == LARDER_OK) return 0;
    fprintf(stderr, "%s: %s: %s\n", what, larder_status_name(status), error->message);
    return 1;
}

int main(void) {
    larder_error error;
    larder_env_options options;
    larder_env *env = NULL;
    larder_txn *txn = NULL;
    const larder_txn *snapshot = NULL;
    larder_builder *builder = NULL;
    larder_bytes plain;
    larder_document_info info;
    larder_document document;
    larder_field field;
    larder_bytes value;
    int64_t population = 0;

    memset(&error, 0, sizeof error);
    if (larder_version_number() >> 16 != LARDER_VERSION_MAJOR) {
        fprintf(stderr, "header %d and library %s differ\n", LARDER_VERSION_MAJOR,
                larder_version());
        return 1;
    }
    larder_env_options_init(&options, sizeof options);
    options.flags = LARDER_OPEN_IN_MEMORY;
    if (failed("open", larder_env_open("", &options, &env, &error), &error)) return 1;

    if (failed("create", larder_builder_create(NULL, &builder, &error), &error)) return 1;
    if (failed("map", larder_builder_begin_map(builder, &error), &error)) return 1;
    if (failed("name", larder_builder_name(builder, text("population"), &error), &error)) return 1;
    if (failed("integer", larder_builder_integer(builder, 8804190, &error), &error)) return 1;
    if (failed("end", larder_builder_end_map(builder, &error), &error)) return 1;
    if (failed("finish", larder_builder_finish_record(builder, &plain, &error), &error)) return 1;

    larder_document_info_init(&info, sizeof info);
    info.state = LARDER_DOCUMENT_FOUND;
    info.version.seconds = 1;
    info.read_time.seconds = 1;
    if (failed("begin", larder_txn_begin_write(env, &txn, &error), &error)) return 1;
    if (failed("put", larder_document_put(txn, text("cities/NYC"), &info, plain, &error), &error))
        return 1;
    if (failed("commit", larder_txn_commit(txn, &error), &error)) return 1;
    larder_builder_close(builder);

    if (failed("read", larder_txn_begin_read(env, &snapshot, &error), &error)) return 1;
    if (failed("get", larder_document_get(snapshot, text("cities/NYC"), &document, &error), &error))
        return 1;
    larder_field_init(&field, text("\012population"));
    if (failed("find", larder_record_find(&document.record, &field, &value, NULL), &error))
        return 1;
    if (failed("integer", larder_value_get_integer(value, &population), &error)) return 1;
    larder_txn_end_read(snapshot);
    if (failed("close", larder_env_close(env, &error), &error)) return 1;
    if (population != 8804190 || larder_live_handle_count() != 0) {
        fprintf(stderr, "read back %lld, %lld handles left\n", (long long)population,
                (long long)larder_live_handle_count());
        return 1;
    }
    printf("larder %s: stored and read back\n", larder_version());
    return 0;
}

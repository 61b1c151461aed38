/*
 * detached_test.c - records that outlive their transaction and their environment: what they
 * answer, who frees what, many threads at once, uncommitted shapes and dictionaries, damage.
 */
#include "make.h"
#include "memory_kit.h"
#include "store.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct held { /* a detached record and its memory */
    larder_detached *detached;
    void *memory;
} held;

static held detach(const larder_record *record) {
    held h = {0};
    size_t needed = 0;
    CHECK_STATUS(larder_record_detach(record, NULL, 0, &needed, &h.detached, NULL),
                 LARDER_E_BUFFER_TOO_SMALL);
    h.memory = malloc(needed); /* exactly, for the address sanitizer */
    if (h.memory == NULL) abort();
    CHECK_OK(larder_record_detach(record, h.memory, needed, &needed, &h.detached, &test_error));
    return h;
}

static void end(held *h) {
    larder_detached_end(h->detached);
    free(h->memory);
    memset(h, 0, sizeof *h);
}

static void put(larder_txn *txn, const char *name, larder_bytes plain) {
    larder_document_info info;
    larder_document_info_init(&info, sizeof info);
    info.version.seconds = info.read_time.seconds = 1;
    CHECK_OK(larder_document_put(txn, test_text(name), &info, plain, &test_error));
}

static held get(const larder_txn *txn, const char *name) {
    larder_document document;
    held none = {0};
    if (larder_document_get(txn, test_text(name), &document, &test_error) != LARDER_OK) {
        test_fail(__FILE__, __LINE__, "%s: %s", name, test_error.message);
        return none;
    }
    return detach(&document.record);
}

/* Text that zstd makes smaller, but not so small that a frame has no checksum of its own. */
static const char *long_text(uint64_t seed) {
    static char text[1200];
    uint64_t state = seed * 2 + 1;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        text[i] = "abcdefgh"[state >> 61];
    }
    return text;
}

/* Everything that a record can be asked for, against the plain record that was stored. */
static void check_record(larder_detached *detached, larder_bytes plain) {
    larder_record expected = make_open(plain);
    const larder_record *stored = larder_detached_record(detached), *loaded = NULL;
    larder_bytes got;
    REQUIRE_OK(larder_detached_load(detached, &loaded, &test_error));
    CHECK_EQ(larder_record_cold_bytes(loaded), 0);
    size_t count = larder_record_count(&expected);
    CHECK_EQ(larder_record_count(stored), count);
    CHECK_EQ(larder_record_count(loaded), count);
    for (size_t i = 0; i < count; i++) {
        larder_bytes name, value, wanted_name, wanted;
        int32_t type, wanted_type;
        CHECK_OK(larder_record_get_entry(&expected, i, &wanted_name, &wanted, &wanted_type));
        CHECK_OK(larder_record_get_entry(loaded, i, &name, &value, &type));
        CHECK_BYTES(name, wanted_name);
        CHECK_BYTES(value, wanted);
        int32_t status = larder_record_get_entry(stored, i, &name, &value, &type);
        CHECK(status == LARDER_OK || status == LARDER_COLD);
        CHECK_EQ(type, wanted_type);
        if (status == LARDER_OK) CHECK_BYTES(value, wanted);
    }
    REQUIRE_OK(larder_detached_plain(detached, &got, &test_error));
    CHECK_BYTES(got, plain);
    CHECK_EQ(larder_record_size(stored), larder_record_size(&expected));
}

enum { KINDS = 6 };

static larder_bytes record_of(int kind) {
    switch (kind) {
    case 0: /* nothing in it */
        return make_record(0);
    case 1: /* all hot */
        return make_record(2, "a", make_integer(1), "b", make_string("short"));
    case 2: /* compressed */
        return make_record(3, "a", make_integer(2), "text", make_string(long_text(1)), "z",
                           make_boolean(true));
    case 3: /* cold, but not compressible */
        return make_record(
            2, "a", make_integer(3), "bytes",
            make_bytes(TEST_BYTES("\x01\x9f\x33\xd8\x7e\x54\xc1\x2a\x90\x0b\xe6\x4d"
                                  "\x7a\xf3\x18\x6c\xb5\x21\xdd\x92\x3f\x88\x04\xeb"
                                  "\x57\xa6\x1c\x73\xce\x39\x65\xf0\x82\x4b\x97\x2e"
                                  "\xd4\x10\xbf\x69\x06\xfa\x8d\x35\xc8\x51\xe2\x7b"
                                  "\x14\xa9\x46\xdb\x70\x0d\x9a\x3c\xe5\x28\xb1\x5f"
                                  "\xf6\x83\x1a\x4e\xc7\x62\x99\x2d\xd0\x05\xbb\x7e")));
    case 4: { /* names too long for a shape */
        char name[1501];
        memset(name, 'n', 1500);
        name[1500] = 0;
        larder_bytes text = make_string(long_text(2));
        larder_bytes inner = make_map(1, name, make_integer(4));
        char other[1501];
        memset(other, 'o', 1500);
        other[1500] = 0;
        return make_record(3, name, make_integer(5), other, text, "p", inner);
    }
    default: /* a small frame, without a checksum of its own */
        return make_record(2, "a", make_integer(6), "text", make_string(store_fill('x', 300)));
    }
}

static const char *name_of(int kind) {
    static char name[16];
    snprintf(name, sizeof name, "c/%d", kind);
    return name;
}

static void put_all(larder_env *env) {
    larder_txn *txn = store_write(env);
    for (int kind = 0; kind < KINDS; kind++)
        put(txn, name_of(kind), record_of(kind));
    store_commit(txn);
}

/* ---- what they answer ---- */

static void it_outlives_its_environment(void) {
    larder_env *env = store_open();
    held all[2 * KINDS];
    put_all(env);
    const larder_txn *txn = store_read(env);
    for (int i = 0; i < 2 * KINDS; i++)
        all[i] = get(txn, name_of(i % KINDS));
    /* some loaded before, some behind the end */
    for (int kind = 0; kind < KINDS; kind++)
        check_record(all[kind].detached, record_of(kind));
    larder_txn_end_read(txn);
    CHECK_EQ(larder_live_handle_count(), 2 * KINDS + 1);
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK_EQ(larder_live_handle_count(), 2 * KINDS);
    for (int i = 2 * KINDS - 1; i >= 0; i--) {
        check_record(all[i].detached, record_of(i % KINDS));
        end(&all[i]);
    }
    CHECK_EQ(larder_live_handle_count(), 0);
    make_release();
}

static void compressed_fields_are_cold_until_loaded(void) {
    larder_env *env = store_open();
    put_all(env);
    const larder_txn *txn = store_read(env);
    held h = get(txn, "c/2");
    larder_txn_end_read(txn);
    const larder_record *stored = larder_detached_record(h.detached), *loaded, *again;
    larder_field field;
    larder_bytes value;
    int32_t type;
    larder_field_init(&field, make_path("text"));
    CHECK_STATUS(larder_record_find(stored, &field, &value, &type), LARDER_COLD);
    CHECK_EQ(type, LARDER_TYPE_STRING);
    CHECK_OK(larder_detached_load(h.detached, &loaded, &test_error));
    CHECK_OK(larder_record_find(loaded, &field, &value, &type)); /* where the shape has it */
    CHECK_BYTES(value, make_string(long_text(1)));
    CHECK_OK(larder_detached_load(h.detached, &again, &test_error));
    CHECK(again == loaded);
    end(&h);
    store_close(env);
    make_release();
}

static void a_plain_record_can_be_detached(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        larder_bytes plain = record_of(kind);
        larder_record record;
        CHECK_OK(larder_record_open_trusted(plain, &record, &test_error));
        held h = detach(&record);
        check_record(h.detached, plain);
        CHECK(larder_detached_record(h.detached)->names.data != record.names.data);
        end(&h);
    }
    CHECK_EQ(larder_live_handle_count(), 0);
    make_release();
}

static void a_detached_record_can_be_detached_again(void) {
    larder_env *env = store_open();
    put_all(env);
    const larder_txn *txn = store_read(env);
    held first[KINDS], second[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        first[kind] = get(txn, name_of(kind));
    larder_txn_end_read(txn);
    CHECK_OK(larder_env_close(env, &test_error));
    for (int kind = 0; kind < KINDS; kind++) {
        second[kind] = detach(larder_detached_record(first[kind].detached));
        end(&first[kind]);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        check_record(second[kind].detached, record_of(kind));
        end(&second[kind]);
    }
    CHECK_EQ(larder_live_handle_count(), 0);
    make_release();
}

static void overlays_can_be_detached(void) {
    larder_env *env = store_open();
    larder_txn *write = store_write(env);
    larder_bytes plain = record_of(2);
    CHECK_OK(larder_overlay_put(write, test_text("ada"), test_text("c/1"), 1, plain,
                                test_text("payload"), &test_error));
    store_commit(write);
    const larder_txn *txn = store_read(env);
    larder_document document;
    CHECK_OK(
        larder_document_get_local(txn, test_text("ada"), test_text("c/1"), &document, &test_error));
    held h = detach(&document.record);
    larder_txn_end_read(txn);
    CHECK_OK(larder_env_close(env, &test_error));
    check_record(h.detached, plain);
    end(&h);
    make_release();
}

static void misuse_is_a_status(void) {
    larder_record record = make_open(record_of(1));
    larder_detached *detached = NULL;
    const larder_record *loaded;
    larder_bytes plain;
    _Alignas(16) uint8_t buffer[1024];
    size_t needed = 0;
    CHECK_STATUS(larder_record_detach(NULL, buffer, 1024, &needed, &detached, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_record_detach(&record, buffer + 1, 1000, &needed, &detached, NULL),
                 LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_record_detach(&record, buffer, 8, &needed, &detached, NULL),
                 LARDER_E_BUFFER_TOO_SMALL);
    CHECK(detached == NULL && needed > 8 && needed <= sizeof buffer);
    CHECK_STATUS(larder_detached_load(NULL, &loaded, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK_STATUS(larder_detached_plain(NULL, &plain, NULL), LARDER_E_INVALID_ARGUMENT);
    CHECK(larder_detached_record(NULL) == NULL);
    larder_detached_end(NULL);
    CHECK_STATUS(larder_record_open_trusted(TEST_BYTES("no record"), &record, NULL),
                 LARDER_E_INVALID_RECORD);
    CHECK_STATUS(larder_record_open_trusted(TEST_BYTES(""), &record, NULL),
                 LARDER_E_INVALID_RECORD);
    make_release();
}

/* ---- what an aborted transaction undoes ---- */

static void an_abort_leaves_detached_records_alone(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    larder_bytes first =
        make_record(2, "first", make_integer(1), "text", make_string(long_text(3)));
    put(txn, "c/1", first);
    held h = get(txn, "c/1");
    check_record(h.detached, first);
    larder_txn_abort(txn);
    txn = store_write(env); /* the shape's number is given again */
    larder_bytes second =
        make_record(2, "other", make_integer(2), "text", make_string(long_text(4)));
    put(txn, "c/1", second);
    held other = get(txn, "c/1");
    store_commit(txn);
    check_record(h.detached, first);
    check_record(other.detached, second);
    end(&h);
    end(&other);
    store_close(env);
    make_release();
}

enum { TRAINED = 400 };

static larder_bytes trained_record(int i) {
    char text[400];
    snprintf(text, sizeof text,
             "document %d is one of many that all tell the same story of a river, a bridge and a "
             "market square in an old town by the coast, with number %d as the only difference "
             "between them, %d",
             i, i * 7919, i * 104729);
    return make_record(2, "n", make_integer(i), "text", make_string(text));
}

static void an_aborted_dictionary_is_not_missed(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[32];
    for (int i = 0; i < TRAINED; i++) {
        snprintf(name, sizeof name, "c/%d", i);
        put(txn, name, trained_record(i));
    }
    store_commit(txn);
    txn = store_write(env);
    larder_train_result result = {0};
    REQUIRE_OK(larder_blob_train(txn, 0, 0, &result, &test_error));
    put(txn, "c/0", trained_record(1));
    held h = get(txn, "c/0");
    larder_txn_abort(txn);
    CHECK_OK(larder_env_close(env, &test_error));
    check_record(h.detached, trained_record(1));
    end(&h);
    make_release();
}

static void a_committed_dictionary_stays(void) {
    larder_env *env = store_open();
    larder_txn *txn = store_write(env);
    char name[32];
    for (int i = 0; i < TRAINED; i++) {
        snprintf(name, sizeof name, "c/%d", i);
        put(txn, name, trained_record(i));
    }
    larder_train_result result = {0};
    REQUIRE_OK(larder_blob_train(txn, 0, 0, &result, &test_error));
    put(txn, "c/0", trained_record(1));
    store_commit(txn);
    const larder_txn *read = store_read(env);
    held h = get(read, "c/0");
    CHECK(larder_detached_record(h.detached)->dictionary != 0);
    larder_txn_end_read(read);
    CHECK_OK(larder_env_close(env, &test_error));
    check_record(h.detached, trained_record(1));
    end(&h);
    make_release();
}

/* ---- damage and lack of memory ---- */

static void a_damaged_cold_part_is_corrupt(void) {
    const char *path = test_directory();
    larder_env *env = store_open_at(path);
    larder_txn *write = store_write(env);
    put(write, "c/2", record_of(2));
    store_commit(write);
    store_close(env);
    store_damage(path, "documents", 0, -20);
    env = store_open_at(path);
    const larder_txn *txn = store_read(env);
    larder_document document;
    REQUIRE_OK(larder_document_get(txn, test_text("c/2"), &document, &test_error));
    size_t needed = 0;
    larder_detached *detached = NULL;
    CHECK_STATUS(larder_record_detach(&document.record, NULL, 0, &needed, &detached, NULL),
                 LARDER_E_BUFFER_TOO_SMALL);
    void *memory = malloc(needed);
    CHECK_STATUS(larder_record_detach(&document.record, memory, needed, &needed, &detached, NULL),
                 LARDER_E_CORRUPT);
    CHECK(detached == NULL);
    free(memory);
    larder_txn_end_read(txn);
    store_close(env);
    make_release();
}

/* Damage that no checksum tells of, e.g. from before it was made. */
static void a_frame_that_lies_is_corrupt_when_loaded(void) {
    larder_env *env = store_open();
    put_all(env);
    const larder_txn *txn = store_read(env);
    held h = get(txn, "c/5");
    larder_txn_end_read(txn);
    const larder_record *stored = larder_detached_record(h.detached), *loaded;
    uint8_t *frame = (uint8_t *)(uintptr_t)stored->cold.data;
    CHECK(stored->cold.size_bytes < 160); /* the row's checksum had it */
    larder_bytes plain;
    uint8_t first = frame[0];
    frame[0] ^= 0xff;
    CHECK_STATUS(larder_detached_load(h.detached, &loaded, NULL), LARDER_E_CORRUPT);
    CHECK_STATUS(larder_detached_plain(h.detached, &plain, NULL), LARDER_E_CORRUPT);
    CHECK(larder_record_size(stored) < 0);
    frame[0] = first;
    check_record(h.detached, record_of(5));
    end(&h);
    store_close(env);
    make_release();
}

static void memory_goes_with_the_last_of_them(void) {
    larder_env *env = memory_kit_open();
    REQUIRE(env != NULL);
    put_all(env);
    const larder_txn *txn = store_read(env);
    held a = get(txn, "c/2"), b = get(txn, "c/2");
    larder_txn_end_read(txn);
    const larder_record *loaded;
    memory_kit.fails_for_good = true;
    memory_kit.fail_at = 1;
    CHECK_STATUS(larder_detached_load(a.detached, &loaded, NULL), LARDER_E_NO_MEMORY);
    memory_kit.fail_at = -1;
    CHECK_OK(larder_detached_load(a.detached, &loaded, &test_error));
    CHECK_OK(larder_env_close(env, &test_error));
    CHECK(memory_kit.live_count > 0);
    end(&a);
    CHECK(memory_kit.live_count > 0);
    check_record(b.detached, record_of(2));
    end(&b);
    CHECK_EQ(memory_kit.live_count, 0);
    make_release();
}

/* ---- threads ---- */

enum { THREADS = 6, ROUNDS = 200 };

typedef struct crew {
    larder_env *env;
    larder_detached *shared;
    larder_bytes text;
    _Atomic int failures;
    _Atomic int waiting;
    held last[THREADS];
} crew;

typedef struct worker {
    crew *crew;
    int number;
} worker;

static bool text_is(const larder_record *record, larder_bytes field, larder_bytes expected) {
    larder_field prepared;
    larder_bytes value;
    larder_field_init(&prepared, field);
    return larder_record_find(record, &prepared, &value, NULL) == LARDER_OK &&
           value.size_bytes == expected.size_bytes &&
           memcmp(value.data, expected.data, value.size_bytes) == 0;
}

static void *load_and_detach(void *context) {
    worker *w = context;
    crew *c = w->crew;
    const larder_record *loaded;
    larder_bytes path = TEST_BYTES("\x04text");
    atomic_fetch_add(&c->waiting, 1);
    while (atomic_load(&c->waiting) < THREADS)
        sched_yield();
    if (larder_detached_load(c->shared, &loaded, NULL) != LARDER_OK ||
        !text_is(loaded, path, c->text))
        atomic_fetch_add(&c->failures, 1);
    for (int i = 0; i < ROUNDS; i++) {
        const larder_txn *txn;
        larder_document document;
        held *h = &c->last[w->number];
        end(h);
        if (larder_txn_begin_read(c->env, &txn, NULL) != LARDER_OK ||
            larder_document_get(txn, test_text("c/2"), &document, NULL) != LARDER_OK) {
            atomic_fetch_add(&c->failures, 1);
            return NULL;
        }
        *h = detach(&document.record);
        larder_txn_end_read(txn);
        if (i % 8 != 0) continue;
        if (larder_detached_load(h->detached, &loaded, NULL) != LARDER_OK ||
            !text_is(loaded, path, c->text))
            atomic_fetch_add(&c->failures, 1);
    }
    return NULL;
}

static void *end_one(void *context) {
    worker *w = context;
    const larder_record *loaded;
    held *h = &w->crew->last[(w->number + 1) % THREADS]; /* one that another thread made */
    if (larder_detached_load(h->detached, &loaded, NULL) != LARDER_OK)
        atomic_fetch_add(&w->crew->failures, 1);
    end(h);
    return NULL;
}

static void many_threads_load_and_end_at_once(void) {
    static crew c;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    memset(&c, 0, sizeof c);
    c.env = store_open();
    put_all(c.env);
    const larder_txn *txn = store_read(c.env);
    held shared = get(txn, "c/2");
    c.shared = shared.detached;
    c.text = make_string(long_text(1));
    larder_txn_end_read(txn);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){&c, i};
        pthread_create(&threads[i], NULL, load_and_detach, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* the environment closes while other threads release records */
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, end_one, &workers[i]);
    CHECK_OK(larder_env_close(c.env, &test_error));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(atomic_load(&c.failures), 0);
    check_record(shared.detached, record_of(2));
    end(&shared);
    CHECK_EQ(larder_live_handle_count(), 0);
    make_release();
}

static const test_case cases[] = {
    {"it outlives its environment", it_outlives_its_environment},
    {"compressed fields are cold until loaded", compressed_fields_are_cold_until_loaded},
    {"a plain record can be detached", a_plain_record_can_be_detached},
    {"a detached record can be detached again", a_detached_record_can_be_detached_again},
    {"overlays can be detached", overlays_can_be_detached},
    {"misuse is a status", misuse_is_a_status},
    {"an abort leaves detached records alone", an_abort_leaves_detached_records_alone},
    {"an aborted dictionary is not missed", an_aborted_dictionary_is_not_missed},
    {"a committed dictionary stays", a_committed_dictionary_stays},
    {"a damaged cold part is corrupt", a_damaged_cold_part_is_corrupt},
    {"a frame that lies is corrupt when loaded", a_frame_that_lies_is_corrupt_when_loaded},
    {"memory goes with the last of them", memory_goes_with_the_last_of_them},
    {"many threads load and end at once", many_threads_load_and_end_at_once},
};
TEST_SUITE(detached, cases);

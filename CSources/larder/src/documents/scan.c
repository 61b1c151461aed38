/*
 * scan.c - scans: what all kinds share, and the documents of one collection by name and by read
 * time.
 */
#include "scan.h"
#include "store/catalog.h"
#include "walk.h"

#include <stdlib.h>
#include <sys/mman.h>

/* ---- what all kinds share ---- */

void larder_scan_options_init(larder_scan_options *options, size_t struct_bytes) {
    if (options == NULL) return;
    larder_scan_options defaults = {.struct_bytes = struct_bytes};
    larder__struct_init(options, struct_bytes, &defaults, sizeof defaults);
}

int32_t larder__scan_check_open(const larder_txn *txn, larder_scan *const *scan,
                                larder_error *error) {
    int32_t status = larder__txn_check_read(txn, error);
    if (status == LARDER_OK && scan == NULL)
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan is NULL");
    return status;
}

int32_t larder__scan_options(const larder_scan_options *given, larder_scan_options *options,
                             larder_error *error) {
    const uint32_t known = LARDER_SCAN_REVERSE | LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES |
                           LARDER_SCAN_LOCAL_VIEW | LARDER_SCAN_START_AFTER | LARDER_SCAN_END_AT;
    larder_scan_options_init(options, sizeof *options);
    if (given == NULL) return LARDER_OK;
    if (given->struct_bytes < sizeof *given)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "options are not initialised by larder_scan_options_init");
    *options = *given;
    if ((options->flags & ~known) != 0)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "unknown scan flags 0x%x",
                            options->flags);
    if (!larder__is_input(options->start) || !larder__is_input(options->end) ||
        !larder__is_input(options->user))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "a bound or the user is NULL");
    return LARDER_OK;
}

int32_t larder__scan_create(const larder_txn *txn, size_t size_bytes,
                            const larder_scan_options *options, larder_scan **scan,
                            larder_error *error) {
    larder_scan_options checked;
    int32_t status = larder__scan_options(options, &checked, error);
    if (status != LARDER_OK) return status;
    larder_scan *created = larder__allocate(&txn->env->allocator, size_bytes);
    if (created == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a scan");
    memset(created, 0, size_bytes);
    larder_txn *owner = (larder_txn *)(uintptr_t)txn;
    created->txn = txn;
    created->env = txn->env;
    created->next_open = owner->scans;
    created->link_open = &owner->scans;
    if (owner->scans != NULL) owner->scans->link_open = &created->next_open;
    owner->scans = created;
    created->flags = checked.flags;
    created->write_count = txn->write_count;
    owner->open_scans++;
    larder__handle_opened();
    *scan = created;
    return LARDER_OK;
}

/* Takes a scan out of its transaction. */
static void end_scan(larder_scan *scan) {
    larder_txn *owner = (larder_txn *)(uintptr_t)scan->txn;
    if (scan->close != NULL) scan->close(scan);
    *scan->link_open = scan->next_open;
    if (scan->next_open != NULL) scan->next_open->link_open = scan->link_open;
    owner->open_scans--;
    scan->txn = NULL;
}

void larder__scans_end(larder_txn *txn) {
    while (txn->scans != NULL)
        end_scan(txn->scans);
}

void larder_scan_close(larder_scan *scan) {
    if (scan == NULL) return;
    if (scan->txn != NULL) end_scan(scan);
    larder__handle_closed();
    larder__release(&scan->env->allocator, scan);
}

int32_t larder__scan_check(const larder_scan *scan, larder_error *error) {
    if (scan->txn == NULL)
        return larder__fail(error, LARDER_E_TXN_ENDED, "the scan's transaction has ended");
    int32_t status = larder__txn_check_read(scan->txn, error);
    if (status == LARDER_OK && scan->write_count != scan->txn->write_count)
        status = larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                              "the transaction has written since the scan was opened");
    return status;
}

/* Whether larder__scan_check has nothing to say, of the scans of read transactions. */
static inline bool is_usable(const larder_scan *scan) {
    return scan->txn != NULL && !scan->txn->is_write && !larder__env_is_forked(scan->env);
}

int32_t larder_scan_next(larder_scan *scan, larder_document *document, larder_error *error) {
    if (scan == NULL || document == NULL)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "scan or document is NULL");
    int32_t status = is_usable(scan) ? LARDER_OK : larder__scan_check(scan, error);
    if (status != LARDER_OK) return status;
    if (scan->is_collection_scan)
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a scan of collections: use larder_collection_next");
    if (scan->ended) return LARDER_END;
    status = scan->next(scan, document, error);
    if (status == LARDER_END) scan->ended = true;
    return status;
}

int32_t larder__scan_find_name(larder_scan *scan, uint64_t collection, larder_bytes id_key_form,
                               larder_document *document, larder_error *error) {
    if (scan->collection != collection || scan->collection_path.data == NULL) {
        int32_t status =
            larder__collection_info(scan->txn, collection, &scan->collection_path, NULL, error);
        if (status != LARDER_OK) return status;
        scan->collection = collection;
    }
    scan->id_key_form = id_key_form;
    document->collection = scan->collection_path;
    if (larder__id_key_is_text(id_key_form)) {
        document->id = id_key_form;
        return LARDER_OK;
    }
    return larder__id_text(scan->txn, collection, id_key_form, scan->scratch, &document->id, error);
}

int32_t larder__scan_user(const larder_txn *txn, const larder_scan_options *options, uint64_t *user,
                          larder_error *error) {
    *user = 0;
    if (options == NULL || (options->flags & LARDER_SCAN_LOCAL_VIEW) == 0) return LARDER_OK;
    int32_t status = larder__user_find(txn, options->user, user, error);
    if (status == LARDER_NOT_FOUND) *user = 0;
    return status < 0 ? status : LARDER_OK;
}

int32_t larder__scan_nothing(larder_scan *scan, larder_document *document, larder_error *error) {
    (void)scan;
    (void)document;
    (void)error;
    return LARDER_END;
}

/* ---- reading ahead: random reads ask the kernel for single pages, long scans for more ---- */

#define AHEAD_AFTER 32
#define AHEAD_BYTES (UINT64_C(4) << 20)

/* Asks for a chunk unless the scan did so lately, or its first page is in memory. Asking costs a
 * look at each of its pages, and rows of neighbouring names lie all over the file. */
static void ask_for(larder__ahead *ahead, uintptr_t chunk) {
    uintptr_t *slot = &ahead->chunks[chunk % LARDER__AHEAD_SLOTS];
    if (*slot == chunk) return;
    *slot = chunk;
    void *from = (void *)(chunk * AHEAD_BYTES);
    unsigned char is_resident = 0;
    /* A vector of char on macOS, of unsigned char on Linux. */
    if (mincore(from, 1, (void *)&is_resident) == 0 && (is_resident & 1) != 0) return;
    madvise(from, AHEAD_BYTES, MADV_WILLNEED);
}

static void read_ahead(larder__ahead *ahead, const larder_txn *txn, larder_bytes row) {
    uintptr_t chunk = (uintptr_t)row.data / AHEAD_BYTES;
    if (chunk == ahead->last || txn->is_write) return;
    if (ahead->count < AHEAD_AFTER) {
        ahead->count++;
        return;
    }
    ahead->last = chunk;
    ask_for(ahead, chunk);
    ask_for(ahead, chunk + 1);
}

/* ---- one collection ---- */

typedef struct collection_scan {
    larder_scan base;
    larder__stream stream;
    larder__ahead ahead;
} collection_scan;

int32_t larder__scan_give(larder_scan *scan, larder__stream *stream, larder__ahead *ahead,
                          larder_document *document, larder_error *error) {
    const uint32_t names_only = LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES;
    if ((scan->flags & names_only) != names_only) {
        if (stream->base_is_current) read_ahead(ahead, scan->txn, stream->base.value);
        int32_t status = larder__stream_read(stream, document, error);
        if (status != LARDER_OK) return status;
        if (document->state != LARDER_DOCUMENT_FOUND && (scan->flags & LARDER_SCAN_ALL_STATES) == 0)
            return LARDER_NOT_FOUND;
    }
    if ((scan->flags & LARDER_SCAN_KEYS_ONLY) != 0) memset(document, 0, sizeof *document);
    return larder__scan_name(scan, stream->collection, stream->current, document, error);
}

static int32_t next_in_collection(larder_scan *base, larder_document *document,
                                  larder_error *error) {
    collection_scan *scan = (collection_scan *)base;
    int32_t status;
    do {
        status = larder__stream_next(&scan->stream, error);
        if (status != LARDER_OK) return status;
        status = larder__scan_give(base, &scan->stream, &scan->ahead, document, error);
    } while (status == LARDER_NOT_FOUND);
    return status;
}

static void close_collection(larder_scan *base) {
    larder__stream_close(&((collection_scan *)base)->stream);
}

/* Ids given as bounds must be ids. */
static int32_t check_id_bound(larder_bytes id, larder_error *error) {
    if (id.size_bytes == 0) return LARDER_OK;
    if (id.size_bytes > LARDER_ID_MAX_BYTES || !larder__utf8_is_valid(id) ||
        memchr(id.data, '/', id.size_bytes) != NULL)
        return larder__fail(error, LARDER_E_INVALID_NAME, "a bound that is not a document id");
    return LARDER_OK;
}

int32_t larder_scan_collection(const larder_txn *txn, larder_bytes path,
                               const larder_scan_options *options, larder_scan **scan,
                               larder_error *error) {
    int32_t status = larder__scan_check_open(txn, scan, error);
    larder_scan_options o;
    if (status == LARDER_OK) status = larder__scan_options(options, &o, error);
    if (status == LARDER_OK) status = check_id_bound(o.start, error);
    if (status == LARDER_OK) status = check_id_bound(o.end, error);
    if (status != LARDER_OK) return status;
    uint64_t collection, user;
    status = larder__collection_find(txn, path, &collection, error);
    if (status < 0) return status;
    bool is_known = status == LARDER_OK;
    status = larder__scan_user(txn, &o, &user, error);
    if (status != LARDER_OK) return status;
    larder_scan *created;
    size_t size = sizeof(collection_scan) + o.start.size_bytes + o.end.size_bytes;
    status = larder__scan_create(txn, size, &o, &created, error);
    if (status != LARDER_OK) return status;
    created->next = larder__scan_nothing;
    if (is_known) {
        collection_scan *opened = (collection_scan *)created;
        uint8_t *bounds = (uint8_t *)(opened + 1); /* the caller's bytes are copied */
        if (o.start.size_bytes > 0) memcpy(bounds, o.start.data, o.start.size_bytes);
        if (o.end.size_bytes > 0) memcpy(bounds + o.start.size_bytes, o.end.data, o.end.size_bytes);
        created->next = next_in_collection;
        created->close = close_collection;
        status = larder__stream_open(
            &opened->stream, txn, collection, user, &o, larder__bytes(bounds, o.start.size_bytes),
            larder__bytes(bounds + o.start.size_bytes, o.end.size_bytes), error);
    }
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

/* ---- by read time ---- */

typedef struct read_time_scan {
    larder_scan base;
    larder__walk walk;
    larder__key since;     /* the time's rows begin with this */
    larder_bytes since_id; /* a copy when it shares its head with others; else empty */
} read_time_scan;

/* Whether the row at hand does not come after since_id, which only its text can tell. */
static bool is_before(const read_time_scan *scan, larder_bytes id) {
    return scan->since_id.size_bytes > 0 &&
           larder__bytes_has_prefix(scan->walk.key, larder__key_bytes(&scan->since)) &&
           larder__segment_compare(id, scan->since_id) <= 0;
}

static int32_t next_by_read_time(larder_scan *base, larder_document *document,
                                 larder_error *error) {
    read_time_scan *scan = (read_time_scan *)base;
    for (;;) {
        int32_t status = larder__walk_next(&scan->walk, error);
        if (status != LARDER_OK) return status;
        larder_bytes id = scan->walk.id_key_form;
        larder_document named;
        memset(document, 0, sizeof *document);
        memset(&named, 0, sizeof named);
        status = larder__scan_name(base, scan->walk.collection, id, &named, error);
        if (status != LARDER_OK) return status;
        if (is_before(scan, named.id)) continue;
        if ((base->flags & LARDER_SCAN_KEYS_ONLY) == 0 ||
            (base->flags & LARDER_SCAN_ALL_STATES) == 0) {
            status = larder__document_read(base->txn, scan->walk.collection, id, document, error);
            if (status == LARDER_NOT_FOUND)
                return larder__corrupt(base->txn, LARDER__READ_TIMES, scan->walk.key,
                                       "a read time without its document", error);
            if (status != LARDER_OK) return status;
            if (document->state != LARDER_DOCUMENT_FOUND &&
                (base->flags & LARDER_SCAN_ALL_STATES) == 0)
                continue;
            if ((base->flags & LARDER_SCAN_KEYS_ONLY) != 0) memset(document, 0, sizeof *document);
        }
        document->collection = named.collection;
        document->id = named.id;
        return LARDER_OK;
    }
}

static void close_read_time(larder_scan *base) {
    larder__walk_close(&((read_time_scan *)base)->walk);
}

int32_t larder_scan_read_time(const larder_txn *txn, larder_bytes path, larder_time since,
                              larder_bytes since_id, const larder_scan_options *options,
                              larder_scan **scan, larder_error *error) {
    int32_t status = larder__scan_check_open(txn, scan, error);
    if (status == LARDER_OK) status = check_id_bound(since_id, error);
    if (status != LARDER_OK) return status;
    if (options != NULL && options->struct_bytes >= sizeof *options &&
        ((options->flags & ~(uint32_t)(LARDER_SCAN_KEYS_ONLY | LARDER_SCAN_ALL_STATES)) != 0 ||
         options->start.size_bytes > 0 || options->end.size_bytes > 0))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                            "a scan by read time takes KEYS_ONLY and ALL_STATES only");
    if (!larder__time_is_valid(since))
        return larder__fail(error, LARDER_E_INVALID_ARGUMENT, "since is not a valid time");
    uint64_t collection;
    status = larder__collection_find(txn, path, &collection, error);
    if (status < 0) return status;
    bool is_known = status == LARDER_OK;
    larder_scan *created;
    status = larder__scan_create(txn, sizeof(read_time_scan) + since_id.size_bytes, options,
                                 &created, error);
    if (status != LARDER_OK) return status;
    created->next = larder__scan_nothing;
    if (is_known) {
        read_time_scan *opened = (read_time_scan *)created;
        larder__key prefix = {0};
        created->next = next_by_read_time;
        created->close = close_read_time;
        larder__key_number(&prefix, collection);
        status = larder__walk_open(txn, LARDER__READ_TIMES, larder__key_bytes(&prefix), false,
                                   collection, &opened->walk, error);
        opened->walk.skip_bytes = LARDER__TIME_BYTES;
        opened->since = prefix;
        larder__key_time(&opened->since, since);
        opened->walk.start = opened->since;
        if (since_id.size_bytes > 0) {
            larder__id id;
            larder__id_encode(since_id, &id);
            larder_bytes key_form = larder__id_bytes(&id);
            if (key_form.size_bytes <= LARDER__ID_HEAD) {
                larder__key_id(&opened->walk.start, key_form);
                larder__key_byte(&opened->walk.start, 0); /* behind the id itself */
            } else {
                memcpy(opened + 1, since_id.data, since_id.size_bytes);
                opened->since_id = larder__bytes(opened + 1, since_id.size_bytes);
                larder__key_id(&opened->walk.start, larder__bytes(key_form.data, LARDER__ID_HEAD));
            }
        }
    }
    if (status != LARDER_OK) {
        larder_scan_close(created);
        return status;
    }
    *scan = created;
    return LARDER_OK;
}

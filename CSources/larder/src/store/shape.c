/*
 * shape.c - field names shared between records: a shape is one names container (record.h).
 *
 *   catalog  j  shape number -> names container       k  hash128 of it -> shape number varint
 *
 * In memory every shape that was met lies in the vocabulary's table by number, with a serial of its
 * own in this process: prepared fields remember serials, so a field used with two stores is never
 * misled. The writer also finds shapes by content. A store has at most LARDER__SHAPE_MAX shapes;
 * records of further shapes carry their names themselves.
 */
#include "shape.h"
#include "catalog.h"

static _Atomic uint32_t next_serial = 1;

int32_t larder__shape_create(larder_env *env, larder_error *error) {
    env->shapes = larder__allocate(&env->allocator, sizeof *env->shapes);
    if (env->shapes == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for shapes");
    memset(env->shapes, 0, sizeof *env->shapes);
    return LARDER_OK;
}

void larder__shape_destroy(larder_env *env) {
    larder__release(&env->allocator, env->shapes);
    env->shapes = NULL;
}

static larder__key shape_key(uint32_t number) {
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_SHAPE);
    larder__key_number(&key, number);
    return key;
}

static larder__key hash_key(larder_bytes names) {
    uint8_t hash[16];
    larder__key key;
    larder__key_clear(&key);
    larder__key_byte(&key, LARDER__KIND_SHAPE_HASH);
    larder__hash128(names, hash);
    larder__key_append(&key, hash, sizeof hash);
    return key;
}

/* Publishes a shape; of two threads that load one at once the first wins. */
static larder__shape *remember(const larder_env *env, uint32_t number, larder_bytes names) {
    larder__shape *added = larder__allocate(&env->allocator, sizeof *added + names.size_bytes);
    if (added == NULL) return NULL;
    uint32_t serial = atomic_fetch_add(&next_serial, 1);
    added->serial = serial == 0 ? atomic_fetch_add(&next_serial, 1) : serial;
    added->size_bytes = (uint32_t)names.size_bytes;
    memcpy(added->names, names.data, names.size_bytes);
    larder__shape *there = NULL;
    if (atomic_compare_exchange_strong(&env->vocabulary->shapes[number], &there, added))
        return added;
    larder__release(&env->allocator, added);
    return there;
}

static int32_t load(const larder_txn *txn, uint32_t number, larder__shape **found,
                    larder_error *error) {
    larder__key key = shape_key(number);
    larder_bytes names;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &names, error);
    if (status == LARDER_NOT_FOUND)
        return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&key),
                               "a record names a shape that is not there", error);
    if (status != LARDER_OK) return status;
    *found = remember(txn->env, number, names);
    if (*found == NULL) return larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a shape");
    return LARDER_OK;
}

int32_t larder__shape_load(const larder_txn *txn, uint32_t number, const larder__shape **shape,
                           larder_error *error) {
    larder__shape *found = NULL;
    if (number == 0 || number > LARDER__SHAPE_MAX)
        return larder__fail(error, LARDER_E_CORRUPT, "shape number %u", number);
    int32_t status = load(txn, number, &found, error);
    *shape = found;
    return status;
}

static bool is_shape(const larder_env *env, uint32_t number, larder_bytes names) {
    const larder__shape *s =
        atomic_load_explicit(&env->vocabulary->shapes[number], memory_order_relaxed);
    return s != NULL && larder__bytes_equal(larder__bytes(s->names, s->size_bytes), names);
}

/* The slot of a shape with these names, or the empty slot where it belongs. */
static uint16_t *slot_of(larder_env *env, larder_bytes names) {
    larder__shape_cache *cache = env->shapes;
    size_t count = sizeof cache->slots / sizeof cache->slots[0];
    size_t at = larder__hash64(names) % count;
    while (cache->slots[at] != 0 && !is_shape(env, cache->slots[at], names))
        at = (at + 1) % count;
    return &cache->slots[at];
}

static int32_t create(larder_txn *txn, larder_bytes names, const larder__key *hash,
                      uint32_t *number, larder_error *error) {
    if (txn->counters.next_shape >= LARDER__SHAPE_MAX ||
        names.size_bytes > LARDER__SHAPE_NAMES_MAX ||
        txn->counters.shape_bytes + (int64_t)names.size_bytes > LARDER__SHAPE_TOTAL_MAX) {
        *number = 0;
        return LARDER_OK;
    }
    larder__shape_cache *cache = txn->env->shapes;
    if (!cache->has_new) cache->begun_at = txn->counters.next_shape;
    cache->has_new = true;
    *number = (uint32_t)++txn->counters.next_shape;
    txn->counters.shape_bytes += (int64_t)names.size_bytes;
    uint8_t varint[LARDER__VARINT_MAX];
    larder_bytes value = larder__bytes(varint, larder__varint_put(varint, *number));
    larder__key key = shape_key(*number);
    int32_t status =
        larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(&key), &names, 1, error);
    if (status == LARDER_OK)
        status = larder__table_put_sealed(txn, LARDER__CATALOG, larder__key_bytes(hash), &value, 1,
                                          error);
    return status;
}

int32_t larder__shape_obtain(larder_txn *txn, larder_bytes names, uint32_t *number,
                             larder_error *error) {
    uint16_t *slot = slot_of(txn->env, names);
    if (*slot != 0) {
        *number = *slot;
        return LARDER_OK;
    }
    larder__key hash = hash_key(names);
    larder_bytes payload, stored;
    uint64_t known = 0;
    int32_t status =
        larder__table_get_sealed(txn, LARDER__CATALOG, larder__key_bytes(&hash), &payload, error);
    if (status == LARDER_NOT_FOUND) {
        status = create(txn, names, &hash, number, error);
        if (status != LARDER_OK || *number == 0) return status;
        if (remember(txn->env, *number, names) == NULL)
            return larder__txn_note(
                txn, larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a shape"));
    } else if (status == LARDER_OK) {
        const uint8_t *p = larder__begin(payload);
        const larder__shape *shape;
        if (larder__varint_get(p, p + payload.size_bytes, &known) == 0 || known > LARDER__SHAPE_MAX)
            return larder__corrupt(txn, LARDER__CATALOG, larder__key_bytes(&hash), "no number",
                                   error);
        status = larder__shape_find(txn, (uint32_t)known, &shape, error);
        if (status != LARDER_OK) return status;
        stored = larder__bytes(shape->names, shape->size_bytes);
        /* Of two name lists with one hash the second is written inline. */
        *number = larder__bytes_equal(stored, names) ? (uint32_t)known : 0;
    } else {
        return status;
    }
    if (*number != 0) *slot_of(txn->env, names) = (uint16_t)*number;
    return LARDER_OK;
}

/* After an abort the shapes it made are forgotten: their numbers will be given again. */
void larder__shape_ended(larder_txn *txn, bool committed) {
    larder__shape_cache *cache = txn->env->shapes;
    if (!cache->has_new) return;
    cache->has_new = false;
    if (committed) return;
    memset(cache->slots, 0, sizeof cache->slots);
    for (size_t i = 1; i <= LARDER__SHAPE_MAX; i++) {
        larder__shape *s = atomic_load(&txn->env->vocabulary->shapes[i]);
        if (s == NULL) continue;
        if ((int64_t)i > cache->begun_at) {
            atomic_store(&txn->env->vocabulary->shapes[i], NULL);
            larder__release(&txn->env->allocator, s);
        } else {
            *slot_of(txn->env, larder__bytes(s->names, s->size_bytes)) = (uint16_t)i;
        }
    }
}

/* node_change.c - paths parsed into the changes of an edit, in order (node_edit.h). */
#include "node_edit.h"

/* A change while its paths are parsed: forms and keys still move. */
typedef struct parsed {
    uint32_t first_key, key_count;
    larder_bytes node;
} parsed;

typedef struct part { /* of a path */
    size_t at, size_bytes;
} part;

void larder__change_list_init(larder__change_list *list, const larder_allocator *allocator) {
    memset(list, 0, sizeof *list);
    list->allocator = allocator;
    list->forms.allocator = list->keys.allocator = list->changes.allocator = allocator;
}

void larder__change_list_free(larder__change_list *list) {
    larder__buffer_free(&list->forms);
    larder__buffer_free(&list->keys);
    larder__buffer_free(&list->changes);
}

void larder__change_list_clear(larder__change_list *list) {
    list->forms.size_bytes = list->keys.size_bytes = list->changes.size_bytes = 0;
}

static bool add_form(larder__change_list *list, larder_bytes form) {
    part added = {list->forms.size_bytes, form.size_bytes};
    return larder__append_bytes(&list->forms, form) &&
           larder__buffer_append(&list->keys, &added, sizeof added);
}

static bool add_path(larder__change_list *list, larder_bytes path) {
    larder_bytes key;
    larder__form form;
    while (larder__path_take(&path, &key)) {
        if (larder__bytes_equal(key, larder__priority_key)) {
            if (!add_form(list, larder__priority_form)) return false;
            continue;
        }
        larder__form_encode(key, &form);
        if (!add_form(list, larder__form_bytes(&form))) return false;
    }
    return true;
}

int32_t larder__change_list_add(larder__change_list *list, larder_bytes base, larder_bytes path,
                                larder_bytes node, larder_error *error) {
    parsed change = {.first_key = (uint32_t)(list->keys.size_bytes / sizeof(part)), .node = node};
    /* The holder's one child is the root. */
    bool has_memory =
        add_form(list, larder__bytes(NULL, 0)) && add_path(list, base) && add_path(list, path);
    change.key_count = (uint32_t)(list->keys.size_bytes / sizeof(part)) - change.first_key;
    has_memory = has_memory && larder__buffer_append(&list->changes, &change, sizeof change);
    return has_memory ? LARDER_OK
                      : larder__fail(error, LARDER_E_NO_MEMORY, "no memory for a change");
}

/* Path order; a path is above its beginnings. */
static int compare_changes(const void *left, const void *right, const void *context) {
    const larder__node_change *a = left, *b = right;
    (void)context;
    uint32_t shared = a->key_count < b->key_count ? a->key_count : b->key_count;
    for (uint32_t i = 0; i < shared; i++) {
        int order = larder__bytes_compare(a->keys[i], b->keys[i]);
        if (order != 0) return order;
    }
    return a->key_count < b->key_count ? -1 : a->key_count > b->key_count;
}

static bool is_beginning(const larder__node_change *a, const larder__node_change *b) {
    if (a->key_count > b->key_count) return false;
    for (uint32_t i = 0; i < a->key_count; i++)
        if (!larder__bytes_equal(a->keys[i], b->keys[i])) return false;
    return true;
}

int32_t larder__change_list_apply(larder__change_list *list, larder_txn *txn, uint64_t holder,
                                  larder_error *error) {
    size_t count = list->changes.size_bytes / sizeof(parsed);
    size_t key_count = list->keys.size_bytes / sizeof(part);
    const parsed *from = (const parsed *)(const void *)list->changes.data;
    const part *parts = (const part *)(const void *)list->keys.data;
    if (count == 0) return LARDER_OK;
    larder_bytes *keys = larder__allocate(list->allocator, key_count * sizeof *keys);
    larder__node_change *changes = larder__allocate(list->allocator, count * sizeof *changes);
    int32_t status = LARDER_OK;
    if (keys == NULL || changes == NULL) {
        status = larder__fail(error, LARDER_E_NO_MEMORY, "no memory for changes");
        goto done;
    }
    for (size_t i = 0; i < key_count; i++)
        keys[i] = larder__bytes(list->forms.data + parts[i].at, parts[i].size_bytes);
    bool is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        larder__node_change change = {keys + from[i].first_key, from[i].key_count, from[i].node};
        changes[i] = change;
        if (i > 0 && compare_changes(&changes[i - 1], &changes[i], NULL) > 0) is_sorted = false;
    }
    if (!is_sorted) larder__sort(changes, count, sizeof *changes, compare_changes, NULL);
    for (size_t i = 1; i < count && status == LARDER_OK; i++)
        if (is_beginning(&changes[i - 1], &changes[i]))
            status = larder__fail(error, LARDER_E_INVALID_ARGUMENT,
                                  "of two paths that change, one lies below the other");
    if (status == LARDER_OK) status = larder__node_edit(txn, holder, changes, count, error);
done:
    larder__release(list->allocator, keys);
    larder__release(list->allocator, changes);
    return status;
}

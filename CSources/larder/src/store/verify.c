/*
 * verify.c - pages are looked at before LMDB changes them.
 *
 * LMDB copies a page before it changes it, as much of it as the page's head says, and believes the
 * nodes in it: a damaged one makes it write behind its own memory, which nothing notices at once
 * (guard.c). So each page that a change can reach is verified before LMDB is called, once in a process:
 * what LMDB has written since the store was opened is sound, in this process and in others that share
 * the store.
 *
 * What a change can reach is found in the tree of the last commit, whose pages stay as they are while
 * a transaction changes copies of them:
 *
 *   any change       the pages from the root to the row's leaf, as many as the table's record says, and
 *                    all of LMDB's two tables of its own, for its commit
 *   of a row         the head of the pages that its value has of its own: LMDB frees as many as
 *                    it says
 *   one that can     on each level the pages beside them, for LMDB merges a leaf that is less than a
 *   shrink a leaf    quarter full with one beside it, and a branch of one child likewise; and below
 *                    each branch the first leaf, whose first key can become the branch's
 * Beside pages that are sparse the next one, too, until those passed fill a third of a page: LMDB goes past
 * pages only when all of their rows lie in one that is less than a quarter full, or after a change in
 * them, before which the pages beside it were verified. A page of one row counts as passed once more:
 * LMDB merges it however full it is, and its parent then. That holds within a transaction, whose
 * tree is not looked at, and over several.
 * So a change in a leaf whose surroundings were verified needs nothing more for as long as no other process
 * commits. For each table the keys of the last leaf are remembered: a change in it costs two comparisons,
 * any other one search from the root.
 * A table that is not large is verified whole once as many changes have been looked at as it has pages.
 * None of them costs anything after that.
 * Pages are not verified in a process that has made the store, nor where they have another size than
 * the machine's: the map's place is not known then (guard.c).
 */
#include "verify.h"

#include "guard.h"
#include "page.h"

#define DBI_MAX (LARDER__TABLE_COUNT + 5) /* LMDB's own two are the first */
/* Of a table: how its keys are ordered, and whether there are several values for one. */
#define KEY_FLAGS                                                                                  \
    (MDB_REVERSEKEY | MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP | MDB_REVERSEDUP)
#define RECORD_BRANCHES_AT 8
#define RECORD_LEAVES_AT 16
#define RECORD_OVERFLOW_AT 24
#define PAGE_IS_LEAF 2
#define OVERFLOW_COUNT_AT 12
#define PASSED_PART 3 /* LMDB merges below a quarter of a page */
#define SURROUNDED 256
#define WHOLE_PAGES_MAX 4096

/* The keys of a leaf that was verified. */
typedef struct leaf_keys {
    larder__key low, high;
    bool has_high, is_set;
    larder__effect effect; /* the strongest that it was verified for */
} leaf_keys;

/* A leaf that was verified in one commit. */
typedef struct looked {
    uint64_t page, base;
} looked;

typedef struct table_root {
    uint64_t page; /* 0: not looked up in this commit */
    uint64_t page_count, overflow_count;
    unsigned depth;
} table_root;

struct larder__verified {
    uint64_t limit;      /* pages from here on were written since the store was opened */
    uint64_t base;       /* the commit whose tree is looked at */
    uint64_t own_commit; /* the last one of this process */
    bool has_base, has_tables;
    uint64_t page_count; /* in base */
    uint32_t page_bytes;
    larder__root tables, free_pages;
    table_root roots[DBI_MAX];
    leaf_keys leaves[DBI_MAX];
    uint64_t search_counts[DBI_MAX];
    bool is_whole[DBI_MAX];        /* each of the table's pages was verified */
    looked surrounded[SURROUNDED]; /* by page: those beside it were verified, too */
    uint8_t marks[];               /* a bit for each page below the limit that was verified */
};

bool larder__verify_make(larder_env *env) {
    if (env->map_begin == 0 || env->opening.state == LARDER_OPENING_CREATED) return true;
    MDB_envinfo info;
    if (larder__mdb_env_info(env->mdb, &info) != 0) return true;
    uint64_t limit = (uint64_t)info.me_last_pgno + 1;
    size_t marks = (size_t)(limit / 8 + 1);
    larder__verified *v = larder__allocate(&env->allocator, sizeof *v + marks);
    if (v == NULL) return false;
    memset(v, 0, sizeof *v + marks);
    v->limit = limit;
    v->page_bytes = env->page_bytes;
    env->verified = v;
    return true;
}

void larder__verify_release(larder_env *env) {
    larder__release(&env->allocator, env->verified);
    env->verified = NULL;
}

void larder__verify_committed(larder_env *env, uint64_t commit) {
    if (env->verified != NULL) env->verified->own_commit = commit;
}

/* ---- one page ---- */

/* What the functions below share. */
typedef struct look {
    larder__verified *v;
    const uint8_t *map;
    larder__tree_kind kind;
    larder__finding *finding;
    unsigned depth; /* of the tree, as its record says */
} look;

static bool find(const look *l, uint64_t page, const char *what) {
    *l->finding = (larder__finding){page, what};
    return false;
}

static const uint8_t *page_at(const look *l, uint64_t page) {
    return l->map + page * l->v->page_bytes;
}

static bool is_known(const larder__verified *v, uint64_t page) {
    return page >= v->limit || larder__page_is_marked(v->marks, page);
}

static bool is_in_file(const larder__verified *v, uint64_t page) {
    return page >= 2 && page < v->page_count;
}

/* The pages of a value. There are more than it needs where it replaced a larger one. */
static bool check_overflow(const look *l, uint64_t page, uint64_t value_bytes) {
    larder__verified *v = l->v;
    uint64_t needed = (LARDER__PAGE_HEAD + value_bytes + v->page_bytes - 1) / v->page_bytes;
    if (!is_in_file(v, page) || needed > v->page_count - page)
        return find(l, page, "a value has pages that the file does not have");
    if (is_known(v, page)) return true;
    uint64_t count = larder__load32(page_at(l, page) + OVERFLOW_COUNT_AT);
    if (larder__page_kind_of(page_at(l, page), page) != LARDER__PAGE_OVERFLOW || count < needed ||
        count > v->page_count - page)
        return find(l, page, "the head of a value's pages is damaged");
    larder__page_mark(v->marks, page);
    return true;
}

/* Keys from low on and below high. */
typedef struct bounds {
    larder_bytes low, high;
    bool has_high;
} bounds;

static bool check_page(const look *l, uint64_t page, const bounds *of) {
    larder__verified *v = l->v;
    if (!is_in_file(v, page)) return find(l, page, "the file does not have it");
    if (is_known(v, page)) return true;
    const larder__page_place place = {page,    v->page_count, v->page_bytes, l->kind,
                                      of->low, of->high,      of->has_high};
    const char *what = larder__page_check(page_at(l, page), &place);
    if (what != NULL) return find(l, page, what);
    larder__page_mark(v->marks, page);
    return true;
}

/* ---- pages that are known ---- */

static size_t count_of(const uint8_t *page) {
    return (uint16_t)(larder__load16(page + LARDER__PAGE_LOWER_AT) - LARDER__PAGE_HEAD) / 2U;
}
static bool is_leaf(const uint8_t *page) {
    return larder__load16(page + LARDER__PAGE_FLAGS_AT) == PAGE_IS_LEAF;
}
static const uint8_t *node_of(const uint8_t *page, size_t slot) {
    return page + larder__load16(page + LARDER__PAGE_HEAD + 2 * slot);
}
static larder_bytes key_of(const uint8_t *page, size_t slot) {
    const uint8_t *node = node_of(page, slot);
    return larder__bytes(node + LARDER__NODE_HEAD,
                         larder__load16(node + LARDER__NODE_KEY_BYTES_AT));
}
static uint64_t child_of(const uint8_t *page, size_t slot) {
    const uint8_t *node = node_of(page, slot);
    return larder__load32(node) | (uint64_t)larder__load16(node + LARDER__NODE_FLAGS_AT) << 32;
}
static size_t used_bytes(const uint8_t *page, uint32_t page_bytes) {
    return 2 * count_of(page) + page_bytes - larder__page_upper(page, page_bytes);
}

/* The first slot from one on whose key is not below, or where asked not equal either. */
static size_t slot_from(const uint8_t *page, size_t from, larder_bytes key, bool may_be_equal) {
    size_t to = count_of(page);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (larder__bytes_compare(key_of(page, middle), key) < (may_be_equal ? 0 : 1))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* ---- ways through a tree ---- */

typedef struct level {
    const uint8_t *page;
    size_t slot; /* of the child below */
    bounds of;
} level;

typedef struct way {
    level levels[LARDER__TREE_DEPTH_MAX];
} way;

static bool begin_way(const look *l, uint64_t root, way *w) {
    w->levels[0] = (level){.page = page_at(l, root)};
    return check_page(l, root, &w->levels[0].of);
}

/* Goes to the child of a level's slot. */
static bool descend(const look *l, way *w, size_t depth) {
    const level *parent = &w->levels[depth];
    uint64_t child = child_of(parent->page, parent->slot);
    if (depth + 1 == LARDER__TREE_DEPTH_MAX) return find(l, child, "the tree is too deep");
    level *below = &w->levels[depth + 1];
    *below = (level){page_at(l, child), 0, parent->of};
    if (parent->slot > 0) below->of.low = key_of(parent->page, parent->slot);
    if (parent->slot + 1 < count_of(parent->page)) {
        below->of.high = key_of(parent->page, parent->slot + 1);
        below->of.has_high = true;
    }
    return check_page(l, child, &below->of);
}

static void copy_levels(way *to, const way *from, size_t count) {
    memcpy(to->levels, from->levels, count * sizeof to->levels[0]);
}

/* The first leaf below a level. */
static bool check_first_leaf(const look *l, const way *from, size_t depth) {
    way w;
    copy_levels(&w, from, depth + 1);
    w.levels[depth].slot = 0;
    for (; !is_leaf(w.levels[depth].page); depth++)
        if (!descend(l, &w, depth)) return false;
    return true;
}

/* Goes to the page beside one on a level. False: there is none, or it is damaged. */
static bool step(const look *l, way *w, size_t depth, bool to_left) {
    size_t at = depth; /* below the level that has another slot */
    for (; at > 0; at--) {
        const level *parent = &w->levels[at - 1];
        if (to_left ? parent->slot > 0 : parent->slot + 1 < count_of(parent->page)) break;
    }
    if (at == 0) return false;
    w->levels[at - 1].slot += to_left ? (size_t)-1 : 1;
    for (;; at++) {
        if (!descend(l, w, at - 1)) return false;
        const uint8_t *page = w->levels[at].page;
        if (at == depth) return true;
        if (is_leaf(page)) return find(l, larder__load64(page), "a leaf is not at the bottom");
        w->levels[at].slot = to_left ? count_of(page) - 1 : 0;
    }
}

/* The pages beside one of a level that LMDB can merge it with, one after the other. */
static bool check_side(const look *l, const way *from, size_t depth, bool to_left) {
    way w;
    size_t passed = 0, enough = (l->v->page_bytes - LARDER__PAGE_HEAD) / PASSED_PART;
    bool is_last = false;
    copy_levels(&w, from, depth);
    while (step(l, &w, depth, to_left)) {
        const uint8_t *page = w.levels[depth].page;
        if (!is_leaf(page) && !check_first_leaf(l, &w, depth)) return false;
        passed += used_bytes(page, l->v->page_bytes);
        if (is_last || (passed >= enough && count_of(page) > 1)) break;
        is_last = passed >= enough;
    }
    return l->finding->what == NULL;
}

static bool check_surroundings(const look *l, const way *w, size_t leaf_depth) {
    uint64_t page = larder__load64(w->levels[leaf_depth].page);
    looked *before = &l->v->surrounded[page % SURROUNDED];
    if (before->page == page && before->base == l->v->base) return true;
    for (size_t d = 0; d < leaf_depth; d++)
        if (!check_first_leaf(l, w, d)) return false;
    for (size_t d = 1; d <= leaf_depth; d++)
        if (!check_side(l, w, d, true) || !check_side(l, w, d, false)) return false;
    *before = (looked){page, l->v->base};
    return true;
}

/* ---- LMDB's own tables ---- */

/* Free pages: their count, and their numbers from the highest down. */
static bool check_free_pages(const look *l, uint64_t page, const uint8_t *value, uint64_t size) {
    uint64_t count = size < 8 ? 0 : larder__load64(value), last = l->v->page_count;
    bool is_sound = size >= 8 && size % 8 == 0 && count < size / 8;
    for (uint64_t i = 1; i <= count && is_sound; i++) {
        uint64_t number = larder__load64(value + 8 * i);
        is_sound = number >= 2 && number < last;
        last = number;
    }
    return is_sound || find(l, page, "a list of free pages is none");
}

static bool check_row(const look *l, uint64_t page, size_t slot) {
    larder__page_node node;
    larder__root root;
    if (!larder__page_node_at(page_at(l, page), l->v->page_bytes, true, slot, &node))
        return find(l, page, "it has a node that leaves it");
    if (l->kind == LARDER__TREE_ROWS)
        return node.value.data != NULL || check_overflow(l, node.child, node.value_bytes);
    if (l->kind == LARDER__TREE_TABLES) {
        larder__root_parse(node.value.data, &root);
        bool is_empty = root.page == LARDER__PAGE_NONE;
        return (root.flags == 0 && (is_empty ? root.depth == 0 : is_in_file(l->v, root.page))) ||
               find(l, page, "a table's record is damaged");
    }
    if (larder__load64(node.key.data) > l->v->base)
        return find(l, page, "a list of free pages is a later commit's");
    if (node.value.data != NULL)
        return check_free_pages(l, page, node.value.data, node.value_bytes);
    return check_overflow(l, node.child, node.value_bytes) &&
           check_free_pages(l, node.child, page_at(l, node.child) + LARDER__PAGE_HEAD,
                            node.value_bytes);
}

/* Where LMDB merges pages it goes through as many levels as a table's record says. */
static bool check_depth(const look *l, uint64_t leaf, size_t leaf_depth) {
    return leaf_depth + 1 == l->depth ||
           find(l, leaf, "it is not as deep as its table's record says");
}

/* All of the tree below a level, whose page is verified. */
static bool check_below(const look *l, way *w, size_t depth) {
    level *at = &w->levels[depth];
    uint64_t page = larder__load64(at->page);
    bool is_bottom = is_leaf(at->page);
    if (is_bottom && !check_depth(l, page, depth)) return false;
    for (at->slot = 0; at->slot < count_of(at->page); at->slot++) {
        if (is_bottom && !check_row(l, page, at->slot)) return false;
        if (is_bottom) continue;
        uint64_t child = child_of(at->page, at->slot);
        /* Of LMDB's own tables no page was verified before. */
        if (l->kind != LARDER__TREE_ROWS && child < l->v->limit && is_known(l->v, child))
            return find(l, child, "two ways lead to it");
        if (!descend(l, w, depth) || !check_below(l, w, depth + 1)) return false;
    }
    return true;
}

static bool check_tree(const look *l, uint64_t root) {
    way w;
    if (root == LARDER__PAGE_NONE) return l->depth == 0 || find(l, 0, "an empty tree has a depth");
    return begin_way(l, root, &w) && check_below(l, &w, 0);
}

/* Looks at the commit before a transaction's. */
static bool look_at_base(look *l, uint64_t base) {
    larder__verified *v = l->v;
    const uint8_t *page = page_at(l, base % 2);
    larder__meta meta;
    if (!larder__meta_parse(page + LARDER__PAGE_HEAD, &meta) || meta.commit != base ||
        (meta.free_pages.flags & KEY_FLAGS) != MDB_INTEGERKEY ||
        (meta.tables.flags & KEY_FLAGS) != 0)
        return find(l, base % 2, "it is not the last commit's meta page");
    if (!v->has_base || base != v->own_commit)
        for (size_t i = 0; i < DBI_MAX; i++)
            v->leaves[i].is_set = false;
    memset(v->roots, 0, sizeof v->roots);
    v->base = base;
    v->has_base = true;
    v->page_count = meta.last_page + 1;
    v->tables = meta.tables;
    v->free_pages = meta.free_pages;
    if (v->has_tables) return true;
    l->kind = LARDER__TREE_FREE;
    l->depth = meta.free_pages.depth;
    if (!check_tree(l, meta.free_pages.page)) return false;
    l->kind = LARDER__TREE_TABLES;
    l->depth = meta.tables.depth;
    v->has_tables = check_tree(l, meta.tables.page);
    return v->has_tables;
}

static bool begin(look *l, const MDB_txn *txn) {
    uint64_t base = mdb_txn_id((MDB_txn *)(uintptr_t)txn) - 1;
    bool is_same = l->v->has_base && l->v->has_tables && l->v->base == base;
    return is_same || look_at_base(l, base);
}

void larder__verify_tables(larder_env *env, const MDB_txn *txn, larder__finding *finding) {
    look l = {env->verified, (const uint8_t *)env->map_begin, LARDER__TREE_TABLES, finding, 0};
    finding->what = NULL;
    if (env->map_begin != 0) begin(&l, txn);
}

/* ---- changes ---- */

/* Where a table's tree begins; NONE also for a table that the transaction has made. */
static bool find_root(const larder_env *env, look *l, MDB_dbi dbi) {
    table_root *root = &l->v->roots[dbi];
    way w;
    size_t t = 0, depth = 0;
    while (t < LARDER__TABLE_COUNT && env->dbis[t] != dbi)
        t++;
    root->page = LARDER__PAGE_NONE;
    if (t == LARDER__TABLE_COUNT || l->v->tables.page == LARDER__PAGE_NONE) return true;
    larder_bytes name = larder__bytes(larder__table_names[t], strlen(larder__table_names[t]));
    l->kind = LARDER__TREE_TABLES;
    if (!begin_way(l, l->v->tables.page, &w)) return false;
    for (; !is_leaf(w.levels[depth].page); depth++) {
        w.levels[depth].slot = slot_from(w.levels[depth].page, 1, name, false) - 1;
        if (!descend(l, &w, depth)) return false;
    }
    const uint8_t *page = w.levels[depth].page;
    size_t slot = slot_from(page, 0, name, true);
    if (slot == count_of(page) || !larder__bytes_equal(key_of(page, slot), name)) return true;
    const uint8_t *record = node_of(page, slot) + LARDER__NODE_HEAD + name.size_bytes;
    larder__root parsed;
    larder__root_parse(record, &parsed);
    root->page = parsed.page;
    root->depth = parsed.depth;
    root->overflow_count = larder__load64(record + RECORD_OVERFLOW_AT);
    root->page_count = root->overflow_count + larder__load64(record + RECORD_BRANCHES_AT) +
                       larder__load64(record + RECORD_LEAVES_AT);
    return true;
}

/* The pages of the value under a key, where it has some. */
static bool check_value(const look *l, const uint8_t *page, larder_bytes key) {
    size_t slot = slot_from(page, 0, key, true);
    if (slot == count_of(page) || !larder__bytes_equal(key_of(page, slot), key)) return true;
    const uint8_t *node = node_of(page, slot);
    if ((larder__load16(node + LARDER__NODE_FLAGS_AT) & LARDER__NODE_BIG) == 0) return true;
    return check_overflow(l, larder__load64(node + LARDER__NODE_HEAD + key.size_bytes),
                          larder__load32(node));
}

static bool is_among(const leaf_keys *leaf, larder_bytes key) {
    return larder__bytes_compare(key, larder__key_bytes(&leaf->low)) >= 0 &&
           (!leaf->has_high || larder__bytes_compare(key, larder__key_bytes(&leaf->high)) < 0);
}

static void remember(leaf_keys *leaf, const bounds *of, larder__effect effect) {
    larder__key_clear(&leaf->low);
    larder__key_clear(&leaf->high);
    larder__key_append(&leaf->low, of->low.data, of->low.size_bytes);
    larder__key_append(&leaf->high, of->high.data, of->has_high ? of->high.size_bytes : 0);
    leaf->has_high = of->has_high;
    leaf->effect = effect;
    leaf->is_set = true;
}

static void verify_change(const larder_env *env, look *l, MDB_dbi dbi, larder_bytes key,
                          larder__effect effect) {
    leaf_keys *leaf = &l->v->leaves[dbi];
    table_root *root = &l->v->roots[dbi];
    way w;
    size_t depth = 0;
    if (l->v->is_whole[dbi] || (leaf->is_set && leaf->effect >= effect && is_among(leaf, key)))
        return;
    if (root->page == 0 && !find_root(env, l, dbi)) return;
    if (root->page == LARDER__PAGE_NONE) return;
    l->kind = LARDER__TREE_ROWS;
    l->depth = root->depth;
    if (!begin_way(l, root->page, &w)) return;
    for (; !is_leaf(w.levels[depth].page); depth++) {
        w.levels[depth].slot = slot_from(w.levels[depth].page, 1, key, false) - 1;
        if (!descend(l, &w, depth)) return;
    }
    if (!check_depth(l, larder__load64(w.levels[depth].page), depth)) return;
    if (effect != LARDER__ADDS && !check_value(l, w.levels[depth].page, key)) return;
    if (effect == LARDER__MAY_SHRINK && !check_surroundings(l, &w, depth)) return;
    /* Of a value with pages only its own change looks at them. */
    remember(leaf, &w.levels[depth].of, root->overflow_count > 0 ? LARDER__ADDS : effect);
    if (++l->v->search_counts[dbi] >= root->page_count && root->page_count <= WHOLE_PAGES_MAX)
        l->v->is_whole[dbi] = check_tree(l, root->page);
}

bool larder__verify_is_done(const larder_env *env, MDB_dbi dbi) {
    const larder__verified *v = env->verified;
    return v == NULL || env->map_begin == 0 || dbi >= DBI_MAX || v->is_whole[dbi];
}

void larder__verify_change(larder_env *env, const MDB_txn *txn, MDB_dbi dbi, larder_bytes key,
                           larder__effect effect, larder__finding *finding) {
    look l = {env->verified, (const uint8_t *)env->map_begin, LARDER__TREE_ROWS, finding, 0};
    finding->what = NULL;
    if (env->map_begin == 0 || dbi >= DBI_MAX || !begin(&l, txn)) return;
    verify_change(env, &l, dbi, key, effect);
}

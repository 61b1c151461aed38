/* names.c - see names.h. */
#include "names.h"

static const char *const collections[NAME_COLLECTIONS] = {"cities", "cities/SF/landmarks",
                                                          "landmarks", "über"};
static const char *const users[NAME_USERS] = {"", "ada", "zoë", "ad"};

static char ids[NAME_IDS][1600];
static char names[NAME_COUNT][1700];
static bool is_made;

/* fill, count times, then tail. */
static void long_id(char *to, char fill, size_t count, const char *tail) {
    memset(to, fill, count);
    strcpy(to + count, tail);
}

/* The ids of every collection, in Firestore's order: numbers, then bytes. */
static void make(void) {
    size_t n = 0;
    strcpy(ids[n++], "__id-9223372036854775808__");
    strcpy(ids[n++], "__id7__");
    strcpy(ids[n++], "__id8__");
    strcpy(ids[n++], "__id10__");
    strcpy(ids[n++], "A");
    strcpy(ids[n++], "SF");
    /* From here on one run: alike in the first 184 bytes. */
    long_id(ids[n++], 'x', 184, "");
    long_id(ids[n++], 'x', 300, "a");
    long_id(ids[n++], 'x', 300, "b");
    long_id(ids[n++], 'x', 190, "y");
    long_id(ids[n++], 'x', 186, "z");
    strcpy(ids[n++], "é");
    for (size_t i = 0; i < NAME_COUNT; i++)
        snprintf(names[i], sizeof names[i], "%s/%s", collections[i / NAME_IDS], ids[i % NAME_IDS]);
    is_made = n == NAME_IDS;
}

larder_bytes name_at(size_t position) {
    if (!is_made) make();
    return test_text(names[position]);
}
larder_bytes name_collection(size_t position) { return test_text(collections[position]); }
larder_bytes name_user(size_t position) { return test_text(users[position]); }
size_t name_collection_of(size_t position) { return position / NAME_IDS; }

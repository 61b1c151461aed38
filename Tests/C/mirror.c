/*
 * mirror.c - the mirror's universe and state.
 */
#include "mirror.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t mirror_random_next(mirror_random *random) {
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
uint64_t mirror_random_below(mirror_random *random, uint64_t bound) {
    return mirror_random_next(random) % bound;
}
mirror_random mirror_random_from(uint64_t seed, uint64_t stream) {
    mirror_random random = {seed * 0x9e3779b97f4a7c15u ^ stream * 0xc2b2ae3d27d4eb4fu};
    mirror_random_next(&random);
    return random;
}

/* ---- problems ---- */

static long problem_count;
static char problem_text[512];
static bool problem_print = true;

long mirror_problem_count(void) { return problem_count; }
const char *mirror_problem_text(void) { return problem_text; }
void mirror_problem_print(bool print) { problem_print = print; }
void mirror_problem_reset(void) {
    problem_count = 0;
    problem_text[0] = 0;
}
void mirror_problem(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (problem_count++ == 0) memcpy(problem_text, text, sizeof text);
    if (problem_print && problem_count <= 20) fprintf(stderr, "difference: %s\n", text);
}

void *mirror_must(void *memory) {
    if (!memory) {
        fprintf(stderr, "mirror: out of memory\n");
        exit(3);
    }
    return memory;
}

larder_bytes mirror_text(const char *text) {
    larder_bytes bytes = {text, strlen(text)};
    return bytes;
}

/* ---- universe ---- */

static char *names[MIRROR_NAMES];
static char *ids[MIRROR_IDS];
static char *collections[MIRROR_COLLECTIONS];

static char *repeated(const char *head, char fill, size_t fill_count, const char *tail) {
    size_t head_size = strlen(head), tail_size = strlen(tail);
    char *text = mirror_must(malloc(head_size + fill_count + tail_size + 1));
    memcpy(text, head, head_size);
    memset(text + head_size, fill, fill_count);
    memcpy(text + head_size + fill_count, tail, tail_size + 1);
    return text;
}

/* Ids of each awkward kind: numeric ones, other spellings of a number, first bytes 0 and 1,
 * lengths around the 200 bytes of a key form, the longest, and ordinary ones. */
static void make_ids(void) {
    static const char *const fixed[] = {"SF",
                                        "LA",
                                        "1",
                                        "a",
                                        "b",
                                        "B",
                                        "z",
                                        "a.b",
                                        "with space",
                                        "caf\xc3\xa9",
                                        "\xe6\x97\xa5\xe6\x9c\xac",
                                        "\xf0\x9f\x98\x80",
                                        "__id7__",
                                        "__id42__",
                                        "__id-5__",
                                        "__id70__",
                                        "__id9223372036854775807__",
                                        "__id",
                                        "_",
                                        "\x01one",
                                        "~",
                                        "{",
                                        "0",
                                        "10",
                                        "9",
                                        "mQ3bWq8xLk0sJd7hTz2f",
                                        "mQ3bWq8xLk0sJd7hTz2g",
                                        "Zz0aYy1bXx2cWw3dVv4e"};
    size_t count = 0;
    for (; count < sizeof fixed / sizeof fixed[0]; count++)
        ids[count] = repeated(fixed[count], 0, 0, "");
    ids[count++] = repeated("L", 'l', 183, "");   /* 184 */
    ids[count++] = repeated("L", 'l', 197, "");   /* 198 */
    ids[count++] = repeated("L", 'l', 197, "a");  /* 199: the longest that is kept whole */
    ids[count++] = repeated("L", 'l', 197, "ab"); /* 200: long */
    ids[count++] = repeated("L", 'l', 197, "aa"); /* 200, the same first 184 bytes */
    ids[count++] = repeated("L", 'l', 250, "z");
    ids[count++] = repeated("L", 'l', 250, "");
    ids[count++] = repeated("L", 'l', 190, "\xc3\xa9");
    ids[count++] = repeated("Q", 'q', 1499, ""); /* 1,500: the longest id */
    ids[count++] = repeated("Q", 'q', 1498, "a");
    ids[count++] = repeated("__id123456789", '_', 2, "");
    ids[count++] = repeated("__id1", '0', 300, "");
    if (count != MIRROR_IDS) abort();
}

static void make_universe(void) {
    if (names[0]) return;
    make_ids();
    collections[0] = repeated("cities", 0, 0, "");
    collections[1] = repeated("cities/SF/landmarks", 0, 0, "");
    collections[2] = repeated("cities/LA/landmarks", 0, 0, "");
    collections[3] = repeated("landmarks", 0, 0, "");
    collections[4] = repeated("landmarks/1/landmarks", 0, 0, "");
    collections[5] = repeated("rooms", 0, 0, "");
    /* two paths whose key forms share what is kept of a cut one */
    collections[6] = repeated("rooms/", 'r', 450, "/cities");
    collections[7] = repeated("rooms/", 'r', 451, "/cities");
    for (int c = 0; c < MIRROR_COLLECTIONS; c++)
        for (int i = 0; i < MIRROR_IDS; i++) {
            char *name = repeated(collections[c], '/', 1, ids[i]);
            names[c * MIRROR_IDS + i] = name;
        }
}

larder_bytes mirror_user(int user) {
    static const char *const users[MIRROR_USERS] = {"", "alice", "user/with \xc3\xa9"};
    return mirror_text(users[user]);
}
larder_bytes mirror_collection(int collection) {
    make_universe();
    return mirror_text(collections[collection]);
}
larder_bytes mirror_group(int collection) {
    larder_bytes path = mirror_collection(collection);
    const char *slash = strrchr(path.data, '/');
    return slash ? mirror_text(slash + 1) : path;
}
larder_bytes mirror_id(int name) {
    make_universe();
    return mirror_text(ids[name % MIRROR_IDS]);
}
larder_bytes mirror_name(int name) {
    make_universe();
    return mirror_text(names[name]);
}
int mirror_name_collection(int name) { return name / MIRROR_IDS; }

int32_t mirror_target_id(int target) {
    static const int32_t target_ids[MIRROR_TARGETS] = {1, 2, 4, 7, 300, 70000, 5000000, 2147483647};
    return target_ids[target];
}
larder_bytes mirror_canonical(int canonical) {
    static char *canonicals[MIRROR_CANONICALS];
    if (!canonicals[0]) {
        canonicals[0] = repeated("cities|f:|ob:__name__asc", 0, 0, "");
        canonicals[1] = repeated("landmarks|cg:landmarks|ob:n", 0, 0, "");
        canonicals[2] = repeated("rooms|f:", 'c', 1200, "");
        canonicals[3] = repeated("rooms|f:", 'd', LARDER_NAME_MAX_BYTES - 8, "");
    }
    return mirror_text(canonicals[canonical]);
}
larder_bytes mirror_named(int named) {
    static char *keys[MIRROR_NAMED];
    if (!keys[0]) {
        static const char *const fixed[] = {"sequence", "a", "ab",   "b",
                                            "B",        "0", "\x01", "with space"};
        size_t count = sizeof fixed / sizeof fixed[0];
        for (size_t i = 0; i < count; i++)
            keys[i] = repeated(fixed[i], 0, 0, "");
        keys[count++] = repeated("n", 'n', 254, "");
        keys[count++] = repeated("n", 'n', 600, "a");
        keys[count++] = repeated("n", 'n', 600, "b");
        keys[count++] = repeated("n", 'n', 1499, "");
        if (count != MIRROR_NAMED) abort();
    }
    return mirror_text(keys[named]);
}

const mirror_index_definition *mirror_index(int index) {
    static mirror_index_definition definitions[MIRROR_INDEXES];
    static uint8_t paths[16][16];
    static bool made;
    if (!made) {
        static const struct {
            const char *group;
            const char *fields[3];
            int32_t kinds[3];
        } plan[MIRROR_INDEXES] = {
            {"cities", {"n"}, {LARDER_SEGMENT_ASCENDING}},
            {"cities", {"s"}, {LARDER_SEGMENT_DESCENDING}},
            {"landmarks", {"n", "s"}, {LARDER_SEGMENT_ASCENDING, LARDER_SEGMENT_DESCENDING}},
            {"landmarks", {"t"}, {LARDER_SEGMENT_CONTAINS}},
            {"cities", {"t", "n"}, {LARDER_SEGMENT_CONTAINS, LARDER_SEGMENT_DESCENDING}},
            {"landmarks", {"m.x"}, {LARDER_SEGMENT_ASCENDING}},
            {"rooms", {"k", "when"}, {LARDER_SEGMENT_DESCENDING, LARDER_SEGMENT_ASCENDING}},
        };
        int used = 0;
        for (int i = 0; i < MIRROR_INDEXES; i++) {
            mirror_index_definition *d = &definitions[i];
            d->group = mirror_text(plan[i].group);
            for (size_t s = 0; s < 3 && plan[i].fields[s]; s++) {
                size_t needed = 0;
                if (larder_path_parse(mirror_text(plan[i].fields[s]), paths[used], sizeof paths[0],
                                      &needed, NULL) != LARDER_OK)
                    abort();
                d->segments[s].field_path = (larder_bytes){paths[used++], needed};
                d->segments[s].kind = plan[i].kinds[s];
                d->segment_count++;
            }
        }
        made = true;
    }
    return &definitions[index];
}

/* ---- order of names ---- */

static bool numeric_segment(larder_bytes segment, long long *value) {
    char text[64];
    if (segment.size_bytes <= 6 || segment.size_bytes >= sizeof text) return false;
    memcpy(text, segment.data, segment.size_bytes);
    text[segment.size_bytes] = 0;
    if (strncmp(text, "__id", 4) != 0 || strcmp(text + segment.size_bytes - 2, "__") != 0)
        return false;
    text[segment.size_bytes - 2] = 0;
    const char *digits = text + 4 + (text[4] == '-');
    if (*digits == 0 || digits[strspn(digits, "0123456789")] != 0) return false;
    *value = strtoll(text + 4, NULL, 10);
    return true;
}

static int bytes_compare(larder_bytes a, larder_bytes b) {
    size_t shared = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    if (order) return order;
    return a.size_bytes < b.size_bytes ? -1 : a.size_bytes > b.size_bytes;
}

/* Numeric ids first, by number; the plain spelling of a number before others of it. */
int mirror_segment_compare(larder_bytes a, larder_bytes b) {
    long long x = 0, y = 0;
    bool a_numeric = numeric_segment(a, &x), b_numeric = numeric_segment(b, &y);
    if (a_numeric != b_numeric) return a_numeric ? -1 : 1;
    if (a_numeric) {
        if (x != y) return x < y ? -1 : 1;
        if (a.size_bytes != b.size_bytes) return a.size_bytes < b.size_bytes ? -1 : 1;
    }
    return bytes_compare(a, b);
}

int mirror_path_compare(larder_bytes a, larder_bytes b) {
    const char *p = a.data, *p_end = p + a.size_bytes;
    const char *q = b.data, *q_end = q + b.size_bytes;
    while (p < p_end && q < q_end) {
        const char *p_stop = memchr(p, '/', (size_t)(p_end - p));
        const char *q_stop = memchr(q, '/', (size_t)(q_end - q));
        if (!p_stop) p_stop = p_end;
        if (!q_stop) q_stop = q_end;
        larder_bytes left = {p, (size_t)(p_stop - p)}, right = {q, (size_t)(q_stop - q)};
        int order = mirror_segment_compare(left, right);
        if (order) return order;
        p = p_stop < p_end ? p_stop + 1 : p_end;
        q = q_stop < q_end ? q_stop + 1 : q_end;
    }
    return p < p_end ? 1 : q < q_end ? -1 : 0;
}

/* ---- state ---- */

mirror_blob *mirror_blob_keep(mirror_blob *blob) {
    if (blob) blob->references++;
    return blob;
}
void mirror_blob_release(mirror_blob *blob) {
    if (blob && --blob->references == 0) free(blob);
}

mirror *mirror_create(void) {
    make_universe();
    mirror *m = mirror_must(calloc(1, sizeof *m));
    m->next_batch_id = 1;
    return m;
}

static void keep_all(mirror *m, int delta) {
#define KEEP(blob)                                                                                 \
    do {                                                                                           \
        if (delta > 0)                                                                             \
            mirror_blob_keep(blob);                                                                \
        else                                                                                       \
            mirror_blob_release(blob);                                                             \
    } while (0)
    for (int n = 0; n < MIRROR_NAMES; n++) {
        KEEP(m->documents[n].plain);
        for (int u = 0; u < MIRROR_USERS; u++) {
            KEEP(m->overlays[u][n].plain);
            KEEP(m->overlays[u][n].payload);
        }
    }
    for (int b = 0; b < MIRROR_BATCHES; b++) {
        KEEP(m->batches[b].last_error);
        KEEP(m->batches[b].payload);
    }
    for (int t = 0; t < MIRROR_TARGETS; t++) {
        KEEP(m->targets[t].resume_token);
        KEEP(m->targets[t].query);
    }
    for (int k = 0; k < MIRROR_NAMED_KINDS; k++)
        for (int n = 0; n < MIRROR_NAMED; n++)
            KEEP(m->named[k][n].payload);
#undef KEEP
}

mirror *mirror_clone(const mirror *from) {
    mirror *m = mirror_must(malloc(sizeof *m));
    memcpy(m, from, sizeof *m);
    keep_all(m, 1);
    mirror_nodes_keep(m);
    return m;
}
void mirror_free(mirror *m) {
    if (!m) return;
    keep_all(m, -1);
    mirror_nodes_release(m);
    free(m);
}

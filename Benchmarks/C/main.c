/* main.c - options, and the run through the operations. */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES_MAX = 8, ONLY_MAX = 16 };

static const char help[] =
    "larder-bench: Larder beside raw LMDB and SQLite, in one run\n"
    "\n"
    "  --n LIST        numbers of documents (default 10000,100000)\n"
    "  --rounds COUNT  rounds of each operation, systems in turn (default 5, at most 64)\n"
    "  --quick         --n 10000 --rounds 3\n"
    "  --full          everything: --big 1\n"
    "  --only LIST     operations by name, see --list\n"
    "  --system LIST   larder, raw, sqlite, or their first letters (default: all)\n"
    "  --loop COUNT    the same as --rounds; for one operation of one system in a profiler\n"
    "  --cities FILE   also the size of these documents (NDJSON with \"id\" in each line)\n"
    "  --big GB        also opening a store of that size (1 takes about a minute to build)\n"
    "  --dir DIRECTORY where the stores are made (default: below TMPDIR or /tmp)\n"
    "  --keep          keep the stores built for reading in --dir, and use those there\n"
    "  --map-gib GIB   size of the memory map, e.g. 8 in valgrind\n"
    "  --json FILE     the figures for programs\n"
    "  --strict        exit with 2 when a limit was missed\n"
    "  --list          the operations\n"
    "  --help\n";

typedef struct settings {
    bench b;
    int64_t sizes[SIZES_MAX];
    size_t size_count;
    const char *only[ONLY_MAX];
    size_t only_count;
    const char *json;
    const char *directory;
    bool strict;
} settings;

static const operation *const groups[] = {write_operations, commit_operations, read_operations,
                                          disk_operations, tree_operations};

static void list_operations(void) {
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (const operation *o = groups[g]; o->name != NULL; o++) {
            printf("  %-14s %s\n", o->name, o->summary);
        }
    }
}

static int64_t number(const char *text, const char *option, int64_t least, int64_t most) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        fail("%s takes a number from %lld to %lld, not \"%s\"", option, (long long)least,
             (long long)most, text);
    }
    return value;
}

static void parse_sizes(settings *s, char *list) {
    s->size_count = 0;
    for (char *part = strtok(list, ","); part != NULL; part = strtok(NULL, ",")) {
        if (s->size_count == SIZES_MAX) fail("--n takes at most %d numbers", SIZES_MAX);
        s->sizes[s->size_count++] = number(part, "--n", 100, 10000000);
    }
}

static void parse_only(settings *s, char *list) {
    for (char *part = strtok(list, ","); part != NULL; part = strtok(NULL, ",")) {
        bool known = false;
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
            for (const operation *o = groups[g]; o->name != NULL; o++) {
                known = known || strcmp(o->name, part) == 0;
            }
        }
        if (!known) fail("there is no operation \"%s\"; --list shows them", part);
        if (s->only_count == ONLY_MAX) fail("--only takes at most %d names", ONLY_MAX);
        s->only[s->only_count++] = part;
    }
}

static void parse_systems(settings *s, char *list) {
    static const char *const names[SYSTEM_COUNT] = {"larder", "raw", "sqlite"};
    memset(s->b.systems, 0, sizeof s->b.systems);
    for (char *part = strtok(list, ","); part != NULL; part = strtok(NULL, ",")) {
        bool known = false;
        for (int k = 0; k < SYSTEM_COUNT; k++) {
            bool letter = strlen(part) == 1 && (part[0] | 0x20) == names[k][0];
            if (!letter && strcmp(part, names[k]) != 0) continue;
            s->b.systems[k] = known = true;
        }
        if (!known) fail("there is no system \"%s\": larder, raw or sqlite", part);
    }
}

static void parse(settings *s, int argc, char **argv) {
    enum { KEEP = 1, QUICK, FULL, LIST, HELP, STRICT };
    static const struct option options[] = {{"n", required_argument, NULL, 'n'},
                                            {"rounds", required_argument, NULL, 'r'},
                                            {"loop", required_argument, NULL, 'r'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"system", required_argument, NULL, 's'},
                                            {"cities", required_argument, NULL, 'c'},
                                            {"big", required_argument, NULL, 'b'},
                                            {"dir", required_argument, NULL, 'd'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"map-gib", required_argument, NULL, 'm'},
                                            {"keep", no_argument, NULL, KEEP},
                                            {"quick", no_argument, NULL, QUICK},
                                            {"full", no_argument, NULL, FULL},
                                            {"list", no_argument, NULL, LIST},
                                            {"strict", no_argument, NULL, STRICT},
                                            {"help", no_argument, NULL, HELP},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'n':
            parse_sizes(s, optarg);
            break;
        case 'r':
            s->b.rounds = (int)number(optarg, "--rounds", 1, 100000);
            break;
        case 'o':
            parse_only(s, optarg);
            break;
        case 's':
            parse_systems(s, optarg);
            break;
        case 'c':
            s->b.cities = optarg;
            break;
        case 'b':
            s->b.big_bytes = number(optarg, "--big", 1, 64) * 1000000000;
            break;
        case 'd':
            s->directory = optarg;
            break;
        case 'j':
            s->json = optarg;
            break;
        case 'm':
            s->b.map_bytes = (uint64_t)number(optarg, "--map-gib", 1, 4096) << 30;
            break;
        case KEEP:
            s->b.reuse = true;
            break;
        case QUICK:
            s->sizes[0] = 10000;
            s->size_count = 1;
            s->b.rounds = 3;
            break;
        case FULL:
            s->b.big_bytes = 1000000000;
            break;
        case STRICT:
            s->strict = true;
            break;
        case LIST:
            list_operations();
            exit(0);
        case HELP:
            fputs(help, stdout);
            exit(0);
        default:
            exit(64);
        }
    }
    if (optind < argc) fail("\"%s\" is not an option; --help shows them", argv[optind]);
    if (s->b.reuse && s->directory == NULL) fail("--keep needs --dir");
}

static bool wanted(const settings *s, const operation *o) {
    if (s->only_count == 0) return true;
    for (size_t k = 0; k < s->only_count; k++) {
        if (strcmp(s->only[k], o->name) == 0) return true;
    }
    return false;
}

static void run_all(const settings *s) {
    for (size_t k = 0; k < s->size_count; k++) {
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
            for (const operation *o = groups[g]; o->name != NULL; o++) {
                if (!wanted(s, o) || (o->once && k > 0)) continue;
                o->run(&s->b, s->sizes[k]);
                report_rows();
            }
        }
    }
}

int main(int argc, char **argv) {
    settings s = {.b = {.rounds = 5, .systems = {true, true, true}},
                  .sizes = {10000, 100000},
                  .size_count = 2};
    char made[4096];
    parse(&s, argc, argv);
    if (s.directory == NULL) {
        const char *parent = getenv("TMPDIR");
        snprintf(made, sizeof made, "%s/larder-bench-XXXXXX",
                 parent == NULL || *parent == '\0' ? "/tmp" : parent);
        if (mkdtemp(made) == NULL) fail("%s: %s", made, strerror(errno));
    } else {
        make_directory(s.directory);
        snprintf(made, sizeof made, "%s/larder-bench", s.directory);
        if (!s.b.reuse) remove_tree(made);
        make_directory(made);
    }
    s.b.directory = made;
    report_machine(&s.b);
    run_all(&s);
    int missed = report_summary();
    if (s.json != NULL) report_json(s.json);
    if (!s.b.reuse) remove_tree(made);
    return s.strict && missed > 0 ? 2 : 0;
}

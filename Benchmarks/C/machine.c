/* machine.c - where and with what the figures were measured: printed, and kept for JSON. */
#include "generator.h"

#include <lmdb.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zstd.h>

#include <larder.h>

#ifndef BENCH_COMMIT
#define BENCH_COMMIT "not known"
#endif
#ifndef BENCH_COMPILER
#define BENCH_COMPILER "not known"
#endif

typedef struct fact {
    const char *key, *label;
    char text[256];
} fact;

static fact facts[16];
static int fact_count;

static void add_fact(const char *key, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add_fact(const char *key, const char *label, const char *format, ...) {
    fact *f = &facts[fact_count++];
    va_list arguments;
    va_start(arguments, format);
    f->key = key;
    f->label = label;
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    printf("    %-22s %s\n", label, f->text);
}

static void first_line(const char *path, const char *prefix, char *to, size_t capacity) {
    FILE *file = fopen(path, "r");
    char line[512];
    snprintf(to, capacity, "not known");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, prefix, strlen(prefix)) != 0) continue;
        const char *at = line + strlen(prefix);
        at += strspn(at, " \t:");
        snprintf(to, capacity, "%.*s", (int)strcspn(at, "\n"), at);
        break;
    }
    fclose(file);
}

static const char *file_system_name(const char *directory) {
    static const struct {
        unsigned long magic;
        const char *name;
    } known[] = {{0xef53, "ext2/3/4"},  {0x58465342, "xfs"},     {0x9123683e, "btrfs"},
                 {0x01021994, "tmpfs"}, {0x794c7630, "overlay"}, {0x2fc12fc1, "zfs"},
                 {0xf2f52010, "f2fs"},  {0x6969, "nfs"}};
    static char text[32];
    struct statfs info;
    if (statfs(directory, &info) != 0) return "not known";
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if ((unsigned long)info.f_type == known[k].magic) return known[k].name;
    }
    snprintf(text, sizeof text, "0x%lx", (unsigned long)info.f_type);
    return text;
}

void report_machine(const bench *b) {
    char text[256], load[256];
    struct utsname system;
    printf("larder-bench\n\n");
    first_line("/proc/cpuinfo", "model name", text, sizeof text);
    add_fact("processor", "processor", "%s, %ld in use", text, sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) == 0) {
        add_fact("kernel", "kernel", "%s %s %s", system.sysname, system.release, system.machine);
    }
    first_line("/proc/loadavg", "", load, sizeof load);
    add_fact("load", "load at the start", "%s", load);
    add_fact("file_system", "file system", "%s", file_system_name(b->directory));
    add_fact("fdatasync", "raw fdatasync", "4 KiB overwrite %.0f us, append %.0f us (medians)",
             fdatasync_us(b->directory, false), fdatasync_us(b->directory, true));
    add_fact("larder", "Larder", "%s, commit %s, %s -O2 -DNDEBUG", larder_version(), BENCH_COMMIT,
             BENCH_COMPILER);
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    add_fact("libraries", "libraries", "LMDB %d.%d.%d, SQLite %s, zstd %s", major, minor, patch,
             sqlite3_libversion(), ZSTD_versionString());
    add_fact("every_commit", "every commit on disk",
             "Larder every-commit, LMDB default, SQLite WAL synchronous=FULL");
    add_fact("last_commit", "last commit at risk",
             "Larder last-commit-at-risk, LMDB MDB_NOMETASYNC, SQLite WAL synchronous=NORMAL");
    add_fact("rounds", "rounds", "%d, systems in turn; median (least .. most)", b->rounds);
    city c;
    int64_t raw_bytes = 0, json_bytes = 0;
    for (int64_t i = 0; i < 1000; i++) {
        city_generate(i, &c);
        city_tell(&c, &raw_record_sink);
        city_tell(&c, &json_sink);
        raw_bytes += (int64_t)raw_record_encoded().size;
        json_bytes += (int64_t)json_encoded().size;
    }
    add_fact("document", "a document", "%.0f bytes as raw record, %.0f as JSON (means of 1,000)",
             (double)raw_bytes / 1000, (double)json_bytes / 1000);
    fflush(stdout);
}

void machine_json(FILE *file) {
    for (int k = 0; k < fact_count; k++) {
        fprintf(file, "%s\"%s\":", k == 0 ? "" : ",", facts[k].key);
        json_text(file, facts[k].text);
    }
}

/* measure.c - clocks, buffers, files and the page cache. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("larder-bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- memory ---- */

void *bench_alloc(size_t size) {
    void *memory = malloc(size == 0 ? 1 : size);
    if (memory == NULL) fail("out of memory (%zu bytes)", size);
    return memory;
}

void buffer_reserve(buffer *b, size_t more) {
    if (b->size + more <= b->capacity) return;
    size_t capacity = b->capacity < 1024 ? 1024 : b->capacity * 2;
    if (capacity < b->size + more) capacity = b->size + more;
    char *data = realloc(b->data, capacity);
    if (data == NULL) fail("out of memory (%zu bytes)", capacity);
    b->data = data;
    b->capacity = capacity;
}

void buffer_append(buffer *b, const void *data, size_t size) {
    if (size == 0) return;
    buffer_reserve(b, size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void buffer_release(buffer *b) {
    free(b->data);
    *b = (buffer){0};
}

void prepared_clear(prepared *p) {
    p->count = 0;
    p->arena.size = 0;
}

void prepared_add(prepared *p, span name, span body) {
    if (p->count == p->capacity) {
        p->capacity = p->capacity == 0 ? 512 : p->capacity * 2;
        p->names = realloc(p->names, p->capacity * sizeof *p->names);
        p->bodies = realloc(p->bodies, p->capacity * sizeof *p->bodies);
        p->offsets = realloc(p->offsets, (2 * p->capacity + 1) * sizeof *p->offsets);
        if (p->names == NULL || p->bodies == NULL || p->offsets == NULL) fail("out of memory");
    }
    p->offsets[2 * p->count] = p->arena.size;
    buffer_append(&p->arena, name.data, name.size);
    p->offsets[2 * p->count + 1] = p->arena.size;
    buffer_append(&p->arena, body.data, body.size);
    p->offsets[2 * p->count + 2] = p->arena.size;
    p->count++;
}

void prepared_finish(prepared *p) {
    for (size_t k = 0; k < p->count; k++) {
        const size_t *at = p->offsets + 2 * k;
        p->names[k] = (span){p->arena.data + at[0], at[1] - at[0]};
        p->bodies[k] = (span){p->arena.data + at[1], at[2] - at[1]};
    }
}

void prepared_release(prepared *p) {
    free(p->names);
    free(p->bodies);
    free(p->offsets);
    buffer_release(&p->arena);
    *p = (prepared){0};
}

/* ---- clocks ---- */

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

stopwatch stopwatch_start(void) {
    return (stopwatch){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

stopwatch stopwatch_stop(stopwatch started) {
    stopwatch now = stopwatch_start();
    return (stopwatch){now.wall - started.wall, now.processor - started.processor};
}

double thread_processor_seconds(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

/* ---- files ---- */

static bool is_lock_file(const char *name) {
    return strstr(name, "lock") != NULL || strstr(name, "-shm") != NULL;
}

typedef void file_visitor(void *context, const char *path, const char *name, int64_t size);

/* Visits the regular files directly in a directory; a missing directory has none. */
static void visit_files(const char *directory, file_visitor *visit, void *context) {
    DIR *listing = opendir(directory);
    if (listing == NULL) {
        if (errno == ENOENT) return;
        fail("%s: %s", directory, strerror(errno));
    }
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        visit(context, path, entry->d_name, (int64_t)info.st_size);
    }
    closedir(listing);
}

bool path_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

void make_directory(const char *directory) {
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        fail("%s: %s", directory, strerror(errno));
    }
}

static void remove_file(void *context, const char *path, const char *name, int64_t size) {
    (void)context, (void)name, (void)size;
    if (unlink(path) != 0) fail("%s: %s", path, strerror(errno));
}

void remove_tree(const char *directory) {
    DIR *listing = opendir(directory);
    if (listing == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL) {
        char path[4096];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            remove_tree(path);
        } else {
            remove_file(NULL, path, entry->d_name, 0);
        }
    }
    closedir(listing);
    if (rmdir(directory) != 0) fail("%s: %s", directory, strerror(errno));
}

static void copy_file(void *context, const char *path, const char *name, int64_t size) {
    (void)size;
    if (is_lock_file(name)) return;
    char target[4096];
    snprintf(target, sizeof target, "%s/%s", (const char *)context, name);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (from < 0 || to < 0) fail("copying %s to %s: %s", path, target, strerror(errno));
    static char block[1 << 20];
    ssize_t got;
    while ((got = read(from, block, sizeof block)) > 0) {
        if (write(to, block, (size_t)got) != got) fail("%s: %s", target, strerror(errno));
    }
    if (got < 0 || fdatasync(to) != 0) fail("%s: %s", target, strerror(errno));
    close(from);
    close(to);
}

void copy_directory(const char *from, const char *to) {
    char target[4096];
    remove_tree(to);
    make_directory(to);
    snprintf(target, sizeof target, "%s", to);
    visit_files(from, copy_file, target);
}

static void add_size(void *context, const char *path, const char *name, int64_t size) {
    (void)path;
    if (!is_lock_file(name)) *(int64_t *)context += size;
}

int64_t directory_bytes(const char *directory) {
    int64_t total = 0;
    visit_files(directory, add_size, &total);
    return total;
}

typedef struct residency {
    int64_t pages, resident;
} residency;

static void drop_file(void *context, const char *path, const char *name, int64_t size) {
    residency *total = context;
    if (is_lock_file(name) || size == 0) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) fail("%s: %s", path, strerror(errno));
    if (fdatasync(file) != 0) fail("%s: %s", path, strerror(errno));
    int code = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (code != 0) fail("posix_fadvise %s: %s", path, strerror(code));
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t page_count = ((size_t)size + page - 1) / page;
    unsigned char *in_memory = bench_alloc(page_count);
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED && mincore(map, (size_t)size, in_memory) == 0) {
        for (size_t k = 0; k < page_count; k++)
            total->resident += in_memory[k] & 1;
        total->pages += (int64_t)page_count;
    }
    if (map != MAP_FAILED) munmap(map, (size_t)size);
    free(in_memory);
    close(file);
}

double drop_from_page_cache(const char *directory) {
    residency total = {0};
    visit_files(directory, drop_file, &total);
    return total.pages == 0 ? 0 : (double)total.resident / (double)total.pages;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double fdatasync_us(const char *directory, bool append) {
    enum { TIMES = 200 };
    static double times[TIMES];
    static char block[4096];
    char path[4096];
    snprintf(path, sizeof path, "%s/fdatasync", directory);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) fail("%s: %s", path, strerror(errno));
    for (int k = -1; k < TIMES; k++) { /* the first is a warm-up */
        memset(block, 'a' + (k + 1) % 26, sizeof block);
        double start = seconds_of(CLOCK_MONOTONIC);
        off_t at = append ? (off_t)(k + 1) * 4096 : 0;
        if (pwrite(file, block, sizeof block, at) != (ssize_t)sizeof block ||
            fdatasync(file) != 0) {
            fail("%s: %s", path, strerror(errno));
        }
        if (k >= 0) times[k] = (seconds_of(CLOCK_MONOTONIC) - start) * 1e6;
    }
    close(file);
    unlink(path);
    qsort(times, TIMES, sizeof times[0], compare_doubles);
    return times[TIMES / 2];
}

/*
 * replay.c - a main program for one fuzz target without libFuzzer: runs it on every file of the
 * directories (or on the files) given, so that any compiler can replay a corpus. A missing or
 * empty directory is a failure.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each input in memory of exactly its size, so that the address sanitizer sees a read beyond. */
static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0 || info.st_size < 0) {
        perror(path);
        if (file) fclose(file);
        return 1;
    }
    size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size);
    if ((!data && size) || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        fclose(file);
        return 1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int run_directory(const char *path, int *count) {
    struct dirent **entries;
    int found = scandir(path, &entries, NULL, alphasort);
    if (found < 0) {
        perror(path);
        return 1;
    }
    int failed = 0, before = *count;
    for (int i = 0; i < found; i++) {
        char name[4096];
        if (entries[i]->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
            failed |= run_file(name);
            (*count)++;
        }
        free(entries[i]);
    }
    free(entries);
    if (*count == before) {
        fprintf(stderr, "%s: no inputs\n", path);
        failed = 1;
    }
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0, count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            failed |= run_directory(argv[i], &count);
        } else {
            failed |= run_file(argv[i]);
            count++;
        }
    }
    const char *name = strrchr(argv[0], '/');
    printf("%s: %d inputs replayed\n", name ? name + 1 : argv[0], count);
    return failed || count == 0;
}

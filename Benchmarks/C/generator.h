/*
 * generator.h - the workload's documents: document i is the same whatever N is.
 */
#ifndef LARDER_BENCH_GENERATOR_H
#define LARDER_BENCH_GENERATOR_H

#include "sink.h"

#define COLLECTION "cities"
#define STATE_COUNT 50
#define STATE_WANTED "CA" /* 2 % of the documents */
#define NAME_BYTES 17     /* "cities/city000042", up to a million documents */

typedef struct city {
    char name[20];
    char state[2];
    span country;
    int64_t population;
    double area;
    int64_t founded_seconds;
    int32_t founded_nanoseconds;
    bool capital;
    double latitude, longitude;
    span tags[5];
    double stats[4];
    size_t notes_size;
    char notes[640];
    char reference[32];
    size_t reference_size;
} city;

uint64_t splitmix64(uint64_t *state);
/* Words with blanks between them, at least wanted bytes and at most 11 more; the size. */
size_t generate_words(uint64_t *state, size_t wanted, char *to);
void city_generate(int64_t i, city *c);
void city_tell(const city *c, const sink *to);
/* "cities/city000042"; the result is its length. to holds 32 bytes. */
size_t city_name(int64_t i, char to[32]);

#endif

/* generator.c - see generator.h. Random numbers are splitmix64, the seed 42. */
#include "generator.h"

#include <string.h>

#define SEED 42

static const char states[STATE_COUNT][3] = {
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL",
    "IN", "IA", "KS", "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT",
    "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR", "PA", "RI",
    "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY"};

static const char *const countries[] = {"United States", "Canada",  "Mexico", "Brazil",
                                        "Argentina",     "Germany", "France", "Japan"};

static const char *const tag_words[] = {
    "coastal", "inland",  "harbor", "river",  "mountain", "capital", "museum", "market",
    "airport", "railway", "campus", "garden", "festival", "stadium", "valley", "desert"};

static const char *const stat_names[4] = {"density", "elevation", "income", "rainfall"};

/* The vocabulary of texts. It is small, which flatters compression. */
static const char *const words[128] = {
    "the",      "city",     "of",      "and",      "with",    "its",        "old",      "town",
    "river",    "bridge",   "north",   "south",    "east",    "west",       "harbor",   "market",
    "square",   "people",   "street",  "park",     "garden",  "church",     "tower",    "castle",
    "railway",  "station",  "airport", "school",   "college", "museum",     "library",  "theater",
    "music",    "summer",   "winter",  "spring",   "autumn",  "weather",    "rain",     "snow",
    "sun",      "wind",     "coast",   "beach",    "island",  "mountain",   "valley",   "forest",
    "lake",     "field",    "farm",    "village",  "suburb",  "center",     "district", "region",
    "province", "county",   "border",  "road",     "highway", "trade",      "industry", "steel",
    "coal",     "wool",     "cotton",  "fish",     "wheat",   "wine",       "bread",    "cheese",
    "fruit",    "apple",    "orange",  "coffee",   "tea",     "restaurant", "hotel",    "visitor",
    "history",  "century",  "founded", "built",    "rebuilt", "burned",     "flooded",  "moved",
    "grew",     "declined", "known",   "famous",   "small",   "large",      "great",    "early",
    "late",     "modern",   "ancient", "medieval", "royal",   "public",     "private",  "local",
    "national", "foreign",  "open",    "closed",   "quiet",   "busy",       "narrow",   "broad",
    "high",     "low",      "first",   "second",   "third",   "last",       "between",  "before",
    "after",    "during",   "near",    "across",   "under",   "above",      "around",   "along"};

uint64_t splitmix64(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t *state, uint64_t limit) { return splitmix64(state) % limit; }

/* Uniform in 0 .. 1. */
static double unit(uint64_t *state) { return (double)(splitmix64(state) >> 11) * 0x1p-53; }

static double rounded(double value, double step) { return (double)(int64_t)(value / step) * step; }

size_t city_name(int64_t i, char to[32]) {
    return (size_t)snprintf(to, 32, COLLECTION "/city%06lld", (long long)i);
}

size_t generate_words(uint64_t *state, size_t wanted, char *to) {
    size_t size = 0;
    while (size < wanted) {
        const char *word = words[below(state, 128)];
        size_t word_size = strlen(word);
        if (size > 0) to[size++] = ' ';
        memcpy(to + size, word, word_size);
        size += word_size;
    }
    return size;
}

void city_generate(int64_t i, city *c) {
    uint64_t state = SEED;
    state = splitmix64(&state) ^ ((uint64_t)i * 0xd1342543de82ef95u);
    for (size_t k = 0; k < sizeof c->name; k++) {
        c->name[k] = (char)((k == 0 ? 'A' : 'a') + (int)below(&state, 26));
    }
    memcpy(c->state, states[below(&state, STATE_COUNT)], 2);
    c->country = span_of(countries[below(&state, sizeof countries / sizeof countries[0])]);
    c->population = (int64_t)(1000 + below(&state, 20000000));
    c->area = rounded(1 + unit(&state) * 5000, 0.001);
    c->founded_seconds = (int64_t)below(&state, 1600000000u);
    c->founded_nanoseconds = (int32_t)below(&state, 1000000) * 1000;
    c->capital = below(&state, 50) == 0;
    c->latitude = rounded(unit(&state) * 180 - 90, 0.00001);
    c->longitude = rounded(unit(&state) * 360 - 180, 0.00001);
    for (size_t k = 0; k < 5; k++) {
        c->tags[k] = span_of(tag_words[below(&state, sizeof tag_words / sizeof tag_words[0])]);
    }
    for (size_t k = 0; k < 4; k++)
        c->stats[k] = rounded(unit(&state) * 10000, 0.01);
    size_t wanted = 590 + below(&state, 21);
    c->notes_size = generate_words(&state, wanted, c->notes);
    c->reference_size = (size_t)snprintf(c->reference, sizeof c->reference, "regions/region%04u",
                                         (unsigned)below(&state, 10000));
}

void city_tell(const city *c, const sink *to) {
    to->begin_document();
    to->name(span_of("name"));
    to->text((span){c->name, sizeof c->name});
    to->name(span_of("state"));
    to->text((span){c->state, sizeof c->state});
    to->name(span_of("country"));
    to->text(c->country);
    to->name(span_of("population"));
    to->integer(c->population);
    to->name(span_of("area"));
    to->real(c->area);
    to->name(span_of("founded"));
    to->timestamp(c->founded_seconds, c->founded_nanoseconds);
    to->name(span_of("capital"));
    to->boolean(c->capital);
    to->name(span_of("location"));
    to->geo_point(c->latitude, c->longitude);
    to->name(span_of("tags"));
    to->begin_array();
    for (size_t k = 0; k < 5; k++)
        to->text(c->tags[k]);
    to->end_array();
    to->name(span_of("stats"));
    to->begin_map();
    for (size_t k = 0; k < 4; k++) {
        to->name(span_of(stat_names[k]));
        to->real(c->stats[k]);
    }
    to->end_map();
    to->name(span_of("notes"));
    to->text((span){c->notes, c->notes_size});
    to->name(span_of("ref"));
    to->reference((span){c->reference, c->reference_size});
    to->end_document();
}

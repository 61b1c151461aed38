/* tree_workload.c - see trees.h. */
#include "trees.h"

#include "generator.h"

#include <string.h>

static const char push_digits[] =
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

span room_path(int64_t room, char to[64]) {
    int size = snprintf(to, 64, "/rooms/r%04lld/", (long long)room);
    return (span){to, (size_t)size};
}

/* A push id: the time in milliseconds, then 72 random bits. */
static size_t push_id(int64_t time, uint64_t *state, char *to) {
    for (int k = 7; k >= 0; k--) {
        to[k] = push_digits[time % 64];
        time /= 64;
    }
    for (int k = 8; k < 20; k++)
        to[k] = push_digits[splitmix64(state) % 64];
    return 20;
}

void message_generate(int64_t i, message *m) {
    uint64_t state = 4242 + (uint64_t)i * 0x9e3779b97f4a7c15u;
    m->time = 1760000000000 + i * 977 + (int64_t)(splitmix64(&state) % 900);
    m->path_size = room_path(i / ROOM_MESSAGES, m->path).size;
    m->path_size += push_id(m->time, &state, m->path + m->path_size);
    m->author_size =
        (size_t)snprintf(m->author, sizeof m->author, "user%04d", (int)(splitmix64(&state) % 500));
    m->edited = splitmix64(&state) % 10 == 0;
    m->likes = (int64_t)(splitmix64(&state) % 100);
    m->text_size = generate_words(&state, 100 + splitmix64(&state) % 21, m->text);
}

span message_json(const message *m, int64_t likes) {
    const sink *to = &json_sink;
    to->begin_document();
    to->name(span_of("author"));
    to->text((span){m->author, m->author_size});
    to->name(span_of("edited"));
    to->boolean(m->edited);
    to->name(span_of("likes"));
    to->integer(likes);
    to->name(span_of("text"));
    to->text((span){m->text, m->text_size});
    to->name(span_of("time"));
    to->integer(m->time);
    to->end_document();
    return json_encoded();
}

int64_t score_of(int64_t i) {
    uint64_t state = 7 + (uint64_t)i * 0xd1342543de82ef95u;
    return (int64_t)(splitmix64(&state) % 10000000);
}

span score_path(int64_t i, char to[64]) {
    int size = snprintf(to, 64, "/scores/p%06lld", (long long)i);
    return (span){to, (size_t)size};
}

void group_generate(int64_t i, group *g) {
    uint64_t state = 99 + (uint64_t)i * 0x9e3779b97f4a7c15u;
    g->path_size = (size_t)snprintf(g->path, sizeof g->path, "/config/s%02d/g%02d/x%02d",
                                    (int)(i / 64), (int)(i / 8 % 8), (int)(i % 8));
    for (int k = 0; k < GROUP_SETTINGS; k++) {
        snprintf(g->names[k], sizeof g->names[k], "setting%02d", k);
        size_t size = generate_words(&state, 40, g->texts[k]);
        g->texts[k][size] = '\0';
        g->numbers[k] = (int64_t)(splitmix64(&state) % 100000);
    }
}

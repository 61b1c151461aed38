/*
 * trees.h - the Realtime Database's workloads, and how each system keeps a tree.
 *
 *   rooms    /rooms/r0001/<push id> = {author, edited, likes, text, time}: 100 messages of about
 *            200 bytes of JSON in each room
 *   scores   /scores/p000001 = number
 *   deep     /config/... : 1 MiB of settings in objects, five levels deep
 *
 * Larder keeps nodes in runs. SQLite keeps a row a message, a score or a group of settings, with its
 * path as key and its JSON as value, as Google's client for Android does, and writes it as that does:
 * what lies below the path goes first. Raw LMDB keeps a row a leaf, with its path as key.
 */
#ifndef LARDER_BENCH_TREES_H
#define LARDER_BENCH_TREES_H

#include "sink.h"

enum { ROOM_MESSAGES = 100, MESSAGE_LEAVES = 5, DEEP_GROUPS = 512, GROUP_SETTINGS = 16 };

typedef struct message {
    char path[64]; /* /rooms/r0001/<push id> */
    size_t path_size;
    char author[12];
    size_t author_size;
    bool edited;
    int64_t likes;
    char text[160];
    size_t text_size;
    int64_t time;
} message;
void message_generate(int64_t i, message *m);
/* The message with these likes; valid until the next call. */
span message_json(const message *m, int64_t likes);
/* "/rooms/r0001/"; to holds 64 bytes. */
span room_path(int64_t room, char to[64]);

int64_t score_of(int64_t i);
/* "/scores/p000001" */
span score_path(int64_t i, char to[64]);

/* A group of settings: /config/s01/g03/x07 = {k00: ..}; about 2 KiB of JSON. */
typedef struct group {
    char path[64];
    size_t path_size;
    char names[GROUP_SETTINGS][24];
    char texts[GROUP_SETTINGS][64];
    int64_t numbers[GROUP_SETTINGS];
} group;
void group_generate(int64_t i, group *g);

/* What a read brought out, so that systems can be compared: leaves, and what is in them. */
typedef struct tree_sum {
    int64_t leaves, numbers, text_bytes;
} tree_sum;

typedef struct tree_store tree_store;
typedef struct tree_peer {
    const char *label;
    tree_store *(*open)(const char *directory, const store_options *options);
    void (*close)(tree_store *s);
    /* One update of the server: these messages, in one transaction. */
    void (*put_messages)(tree_store *s, const message *messages, size_t count);
    /* Scores first .. first + count - 1, in one transaction. */
    void (*put_scores)(tree_store *s, int64_t first, size_t count);
    void (*put_groups)(tree_store *s, const group *groups, size_t count);
    /* One change of each of these messages' likes, in one transaction. */
    void (*put_likes)(tree_store *s, const message *messages, size_t count);
    tree_sum (*read)(tree_store *s, span path); /* every leaf decoded */
    /* The four highest scores: their sum. */
    int64_t (*highest_scores)(tree_store *s);
    int64_t (*used_bytes)(tree_store *s);
} tree_peer;
extern const tree_peer larder_tree, raw_tree, sqlite_tree;
extern const tree_peer *const tree_peers[SYSTEM_COUNT];

#endif

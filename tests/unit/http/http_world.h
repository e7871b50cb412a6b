/*
 * http_world.h: a real server on a free loopback port over a real store and log, a small operation
 * table, and a client made of a socket.
 */
#ifndef TESTS_UNIT_HTTP_WORLD_H
#define TESTS_UNIT_HTTP_WORLD_H

#include "base/clock.h"
#include "http/http.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORLD_WAIT_MS = 30000 }; /* for what must happen, on however busy a machine */

struct world {
    char dir[128];
    struct store *store;
    struct journal *journal;
    struct http_server *server;
    struct http_mount mounts[4]; /* the first is the test's own */
    size_t mounts_nr;
    struct arena *arena;
    struct str key, key_poor, key_expired, key_revoked; /* all scopes; none; ... */
    struct str key_id;
    atomic_int executed, waiting, freed; /* handler runs; handlers and folds held; user_free and
                                            state_free calls */
    atomic_int asked_here, turns;        /* calls of costly folds: by loops, and elsewhere */
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool open; /* held handlers may go on */
};
extern struct world W;
/* Everything up; tweak may change the configuration. */
void world_up(void (*tweak)(struct http_config *cfg));
/* The same with a second mount beside the test's own. */
void world_up_with(void (*tweak)(struct http_config *cfg), const struct http_mount *second);
void world_down(void);
void world_open(void); /* let held handlers answer */
/* Handlers for tables of the tests. */
int world_echo(struct http_call *c); /* the body, 201 */
int world_later(
    struct http_call *c); /* 201 after world_open, stored under the key if there is one */

int64_t world_run(const char *run_id); /* a run with an empty log; its run_no */
struct seed {
    enum ev_kind kind;
    const char *payload;
};
void world_append(int64_t run_no, const char *run_id, int64_t base_seq, const struct seed *v,
                  size_t n);

struct client {
    int fd;
    struct buf raw, body; /* body: decoded */
    size_t at;            /* consumed bytes of raw */
    int status;
    char head[8192];
    bool chunked, ended;
};
struct client *dial(void);
struct client *dial_port(uint16_t port);
void hang_up(struct client *c);
void say(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_bytes(struct client *c, const void *p, size_t n);
/* One whole answer; false when the connection ended first. */
bool hear(struct client *c);
bool hear_head(struct client *c);
/* Read on until the decoded body holds text, or the answer ends (false). */
bool hear_until(struct client *c, const char *text);
bool hear_end(struct client *c);  /* the answer is complete */
bool is_closed(struct client *c); /* the server closes without a further byte */
bool body_has(const struct client *c, const char *text);
const char *header_of(struct client *c, const char *name); /* value or NULL; static buffer */
/* dial, one request, hear; hang up is the caller's. */
struct client *ask(const char *method, const char *target, const char *headers, const char *body);
const char *bearer(void); /* "Authorization: Bearer <key>\r\n" */
size_t count_of(const struct client *c, const char *text);

#endif

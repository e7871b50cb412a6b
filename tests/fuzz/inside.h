/*
 * inside.h: a whole host inside the fuzz target's process, and one connection to it over loopback.
 * It is made at the first input and replaced now and then, so that its database stays small; each
 * time it goes, the database is verified.  What a request must never do is checked here: stay
 * without an answer, answer 500, or answer an error that is not the closed envelope (ERR-1).
 */
#ifndef WOPR_TESTS_FUZZ_INSIDE_H
#define WOPR_TESTS_FUZZ_INSIDE_H

#include "../support/folder.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "host/host.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define INSIDE_KEY "hk_test_inside_key_0123456789abcdef0123456789"

enum {
    INSIDE_ARENA_BYTES = 64 << 20,
    INSIDE_ANSWER_MAX = 64 << 20,
    INSIDE_ANSWER_MS = 40000,
    INSIDE_POLL_MS = 1000
};

struct inside {
    struct host *host;
    struct arena *arena; /* settings; lives as long as the host */
    char dir[200];
    int fd;
    struct buf in;
    unsigned inputs;
};

static inline void inside_report(void *ctx, const char *line) {
    (void)ctx;
    fprintf(stderr, "inside: verify: %s\n", line);
}

static inline void inside_delete(const struct inside *w) {
    DIR *d = opendir(w->dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", w->dir, e->d_name);
        if (e->d_name[0] != '.') unlink(name);
    }
    if (d) closedir(d);
    rmdir(w->dir);
}

static inline void inside_hang_up(struct inside *w) {
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
}

static inline void inside_down(struct inside *w) {
    int64_t runs = 0, findings = 0;
    struct wopr_error err = {0};
    if (w->host == NULL) return;
    inside_hang_up(w);
    host_stop(w->host);
    ASSERT(host_verify(host_store(w->host), NULL, inside_report, NULL, &runs, &findings, &err) ==
           0);
    ASSERT(findings == 0);
    host_free(w->host);
    arena_free(w->arena);
    buf_fini(&w->in);
    inside_delete(w);
    *w = (struct inside){.fd = -1};
}

static inline void inside_up(struct inside *w) {
    struct wopr_error err = {0};
    struct config cfg;
    char db[240];
    char *argv[] = {"--port",
                    "0",
                    "--ops-port",
                    "-1",
                    "--db",
                    db,
                    "--api-key",
                    INSIDE_KEY,
                    "--conformance-seed",
                    "--address-rate",
                    "0",
                    "--log-level",
                    "error",
                    "--sync",
                    "off",
                    "--egress",
                    "false",
                    "--drain-ms",
                    "200",
                    NULL};
    int argc = (int)(sizeof argv / sizeof *argv) - 1;
    *w = (struct inside){.fd = -1, .arena = arena_new(INSIDE_ARENA_BYTES)};
    ASSERT(w->arena != NULL);
    ASSERT(folder_make(w->dir, sizeof w->dir, "fuzz"));
    snprintf(db, sizeof db, "%s/w.db", w->dir);
    logger_level(LOG_ERROR);
    if (config_load(&cfg, &argc, argv, w->arena, &err) != 0 ||
        host_new(&cfg, NULL, 0, &w->host, &err) != 0 || host_start(w->host, &err) != 0) {
        fprintf(stderr, "inside: %s (at %s)\n", err.message, err.pointer);
        ASSERT(!"the host starts");
    }
    buf_init(&w->in, INSIDE_ANSWER_MAX);
}

static inline void inside_nap(int ms) { /* inside bounded polling */
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static inline int inside_dial(const struct inside *w) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(host_port(w->host))};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    return fd;
}

static inline bool inside_send(int fd, struct str s) {
    while (s.n > 0) {
        ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        s = str_n(s.p + n, s.n - (size_t)n);
    }
    return true;
}

/* Bytes of the body so far and its length as the head says; false while the head is not there. */
static inline bool inside_head(const struct buf *in, struct str *body, size_t *length) {
    const char *cut = in->len > 12 ? strstr(in->p, "\r\n\r\n") : NULL;
    if (cut == NULL) return false;
    *body = str_n(cut + 4, in->len - (size_t)(cut + 4 - in->p));
    *length = 0;
    for (const char *p = strstr(in->p, "\r\n"); p != NULL && p < cut; p = strstr(p + 2, "\r\n"))
        if (strncasecmp(p + 2, "content-length:", 15) == 0) *length = strtoul(p + 17, NULL, 10);
    return true;
}

/* The closed envelope of every error of ours. */
static inline void inside_check(int status, struct str body, struct str request) {
    if (status < 400) return;
    if (status == 500 || json_get(body, "error").n == 0 || json_get(body, "message").n == 0)
        fprintf(stderr, "inside: %d " STR_FMT "\n  for " STR_FMT "\n", status, STR_ARG(body),
                STR_ARG(request));
    ASSERT(status != 500);
    ASSERT(json_check(body, &JSON_LIMITS_DEFAULT, NULL) == 0);
    ASSERT(json_get(body, "error").n > 0 && json_get(body, "message").n > 0);
}

/* Until the answer is whole; false when the host closed the connection without a byte of it.
 * libFuzzer's timer interrupts calls: nothing is sent twice for that. */
static inline bool inside_read(struct inside *w, struct str *body) {
    const uint64_t end = clock_mono_ms() + INSIDE_ANSWER_MS;
    size_t length = 0;
    while (!inside_head(&w->in, body, &length) || body->n < length) {
        char chunk[16384];
        struct pollfd p = {w->fd, POLLIN, 0};
        if (clock_mono_ms() > end) break;
        if (poll(&p, 1, INSIDE_POLL_MS) <= 0) continue;
        ssize_t n = read(w->fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        buf_add(&w->in, chunk, (size_t)n);
    }
    return inside_head(&w->in, body, &length) && body->n >= length;
}

/* One exchange on the kept connection; the body lives until the next one. */
static inline int inside_ask(struct inside *w, struct str request, struct str *body) {
    bool whole = false;
    int status = 0;
    for (int try = 0; !whole && try < 2; try++) { /* the host may have closed the kept one */
        const bool fresh = w->fd < 0;
        if (fresh) w->fd = inside_dial(w);
        buf_reset(&w->in);
        *body = STR_NONE;
        whole = inside_send(w->fd, request) && inside_read(w, body);
        if (!whole) inside_hang_up(w);
        if (fresh || w->in.len > 0) break;
    }
    whole = whole && sscanf(w->in.p, "HTTP/1.1 %d", &status) == 1;
    if (!whole) fprintf(stderr, "inside: no answer to " STR_FMT "\n", STR_ARG(request));
    ASSERT(whole);
    if (strstr(w->in.p, "\r\nConnection: close") != NULL) inside_hang_up(w);
    inside_check(status, *body, request);
    return status;
}

static inline bool inside_run_id(struct str body, char id[64]) {
    struct str raw = body.n > 0 ? json_get(body, "runId") : STR_NONE;
    if (raw.n < 3 || raw.n > 60) return false;
    memcpy(id, raw.p + 1, raw.n - 2);
    id[raw.n - 2] = '\0';
    return true;
}

/* POST when body.p is not NULL, else GET. */
static inline int inside_json(struct inside *w, const char *path, struct str body,
                              struct str *answer) {
    struct buf b;
    buf_init(&b, 8u << 20);
    buf_addf(&b, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " INSIDE_KEY "\r\n",
             body.p != NULL ? "POST" : "GET", path);
    if (body.p != NULL)
        buf_addf(&b, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.n);
    buf_addz(&b, "\r\n");
    buf_adds(&b, body);
    int status = inside_ask(w, buf_str(&b), answer);
    buf_fini(&b);
    return status;
}

#endif

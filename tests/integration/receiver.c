/* receiver.c: see receiver.h. */
#define _GNU_SOURCE /* strcasestr */
#include "receiver.h"
#include "harness.h"

#include "base/mem.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 256 * 1024, POSTED_MAX = 4096, HELD_MAX = 16, LOOK_MS = 20 };

struct receiver {
    int door, port;
    pthread_t thread;
    pthread_mutex_t mu;
    bool stop;
    int acts_nr, act;
    struct posted *v;
    size_t n;
    int held[HELD_MAX]; /* the thread's: connections that get no answer */
    size_t held_nr;
};

const char *posted_header(const struct posted *p, const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    out[0] = '\0';
    for (const char *l = strstr(p->head, "\r\n"); l; l = strstr(l + 2, "\r\n")) {
        if (strncasecmp(l + 2, name, n) != 0 || l[2 + n] != ':') continue;
        (void)snprintf(out, size, "%.*s", (int)strcspn(l + 4 + n, "\r"), l + 4 + n);
        return out;
    }
    return out;
}

static void member(const char *body, const char *key, char *out, size_t size) {
    const char *at = strstr(body, key);
    if (at)
        (void)snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\""), at + strlen(key));
}

static void keep(struct receiver *r, const char *text, const char *body) {
    if (r->n == POSTED_MAX) abort();
    struct posted *p = &r->v[r->n];
    const char *seq = strstr(body, "\"sequence\":");
    (void)snprintf(p->head, sizeof p->head, "%.*s", (int)(body - text), text);
    (void)snprintf(p->body, sizeof p->body, "%s", body);
    (void)sscanf(text, "POST %63s", p->path);
    member(body, "\"type\":\"", p->event, sizeof p->event);
    member(body, "{\"runId\":\"", p->run, sizeof p->run);
    p->seq = seq ? strtoll(seq + 11, NULL, 10) : -1;
    p->at_ms = now_ms();
    r->n++;
}

static void endless(struct receiver *r, int fd) {
    static char chunk[16384];
    bool stop = false;
    (void)!write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (!stop && send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) > 0) {
        pthread_mutex_lock(&r->mu);
        stop = r->stop;
        pthread_mutex_unlock(&r->mu);
    }
}

static void answer(struct receiver *r, int fd, int act) {
    char line[160];
    if (act == ACT_SLOW && r->held_nr < HELD_MAX) {
        r->held[r->held_nr++] = dup(fd);
        return;
    }
    if (act == ACT_RESET) {
        const struct linger l = {1, 0};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    } else if (act == ACT_ENDLESS) {
        endless(r, fd);
    } else if (act == ACT_SHORT) {
        (void)send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nab", 42, MSG_NOSIGNAL);
    } else {
        (void)snprintf(line, sizeof line,
                       "HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:%d/elsewhere\r\n"
                       "Content-Length: 0\r\nConnection: close\r\n\r\n",
                       act > 0 ? act : 204, r->port);
        (void)send(fd, line, strlen(line), MSG_NOSIGNAL);
    }
}

/* One request: its head, then as many bytes as it says. */
static void serve(struct receiver *r, int fd, char *text) {
    size_t n = 0;
    ssize_t got = 0;
    const char *body = NULL;
    long want = -1;
    do {
        n += (size_t)got;
        text[n] = '\0';
        body = strstr(text, "\r\n\r\n");
        const char *length = body ? strcasestr(text, "content-length:") : NULL;
        if (length) want = strtol(length + 15, NULL, 10);
        if (body && want >= 0 && n >= (size_t)(body + 4 - text) + (size_t)want) break;
        got = recv(fd, text + n, REQUEST_MAX - 1 - n, 0);
    } while (got > 0);
    if (got < 0 || !body) return;
    pthread_mutex_lock(&r->mu);
    keep(r, text, body + 4);
    int act = r->acts_nr != 0 ? r->act : 204;
    if (r->acts_nr > 0) r->acts_nr--;
    pthread_mutex_unlock(&r->mu);
    answer(r, fd, act);
}

static void *receiver_main(void *arg) {
    struct receiver *r = arg;
    char *text = mem_alloc(REQUEST_MAX);
    if (!text) abort();
    for (bool stop = false; !stop;) {
        struct pollfd p = {.fd = r->door, .events = POLLIN};
        if (poll(&p, 1, LOOK_MS) == 1) {
            int fd = accept(r->door, NULL, NULL);
            if (fd >= 0) serve(r, fd, text);
            if (fd >= 0) close(fd);
        }
        pthread_mutex_lock(&r->mu);
        stop = r->stop;
        pthread_mutex_unlock(&r->mu);
    }
    for (size_t i = 0; i < r->held_nr; i++) close(r->held[i]);
    mem_free(text);
    return NULL;
}

struct receiver *receiver_start(int port) {
    struct receiver *r = MEM_NEW(struct receiver);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t n = sizeof at;
    int on = 1;
    cr_assert_not_null(r);
    r->v = mem_array(POSTED_MAX, sizeof *r->v);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(r->door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    cr_assert_eq(bind(r->door, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(r->door, 64), 0);
    cr_assert_eq(getsockname(r->door, (struct sockaddr *)&at, &n), 0);
    r->port = ntohs(at.sin_port);
    (void)pthread_mutex_init(&r->mu, NULL);
    cr_assert_eq(pthread_create(&r->thread, NULL, receiver_main, r), 0);
    return r;
}

void receiver_stop(struct receiver *r) {
    pthread_mutex_lock(&r->mu);
    r->stop = true;
    pthread_mutex_unlock(&r->mu);
    (void)pthread_join(r->thread, NULL);
    close(r->door);
    (void)pthread_mutex_destroy(&r->mu);
    mem_free(r->v);
    mem_free(r);
}

int receiver_port(const struct receiver *r) { return r->port; }

void receiver_act(struct receiver *r, int n, int act) {
    pthread_mutex_lock(&r->mu);
    r->acts_nr = n;
    r->act = act;
    pthread_mutex_unlock(&r->mu);
}

size_t receiver_count(struct receiver *r) {
    pthread_mutex_lock(&r->mu);
    size_t n = r->n;
    pthread_mutex_unlock(&r->mu);
    return n;
}

bool receiver_at(struct receiver *r, size_t i, struct posted *out) {
    pthread_mutex_lock(&r->mu);
    bool there = i < r->n;
    if (there) *out = r->v[i];
    pthread_mutex_unlock(&r->mu);
    return there;
}

bool receiver_wait(struct receiver *r, size_t n) {
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(5))
        if (receiver_count(r) >= n) return true;
    return false;
}

/* door.c: see door.h.  One connection at a time: a host has one request under way. */
#define _GNU_SOURCE /* strcasestr */
#include "door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BODY_MAX = 8 << 20, READ_S = 10, FDS_MAX = 1024 };

static void send_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0) return;
        p += sent;
        n -= (size_t)sent;
    }
}

void door_answer(const struct asked *a, const char *status, const char *json, size_t n) {
    char head[200];
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n",
                       status, n);
    send_all(a->fd, head, (size_t)len);
    send_all(a->fd, json, n);
}

/* The rest of a body of which have bytes lie at from. */
static bool body_read(struct asked *a, const char *from, size_t have, size_t want) {
    if (want > BODY_MAX || have > want || (a->body = malloc(want + 1)) == NULL) return false;
    memcpy(a->body, from, have);
    while (have < want) {
        ssize_t got = recv(a->fd, a->body + have, want - have, 0);
        if (got <= 0) return false;
        have += (size_t)got;
    }
    a->body[want] = '\0';
    a->body_n = want;
    return true;
}

static bool asked_read(struct asked *a) {
    size_t n = 0;
    char *end = NULL;
    while (end == NULL && n < sizeof a->head - 1) {
        ssize_t got = recv(a->fd, a->head + n, sizeof a->head - 1 - n, 0);
        if (got <= 0) return false;
        n += (size_t)got;
        a->head[n] = '\0';
        end = strstr(a->head, "\r\n\r\n");
    }
    if (end == NULL || sscanf(a->head, "%15s %255s ", a->method, a->path) != 2) return false;
    const char *rest = end + 4;
    end[2] = '\0'; /* the head ends with the end of its last line */
    const char *length = strcasestr(a->head, "\r\ncontent-length:");
    size_t want = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    return body_read(a, rest, n - (size_t)(rest - a->head), want);
}

static void serve_one(int door, int nth, void (*serve)(struct asked *a)) {
    static struct asked a;
    struct timeval patience = {READ_S, 0};
    memset(&a, 0, sizeof a);
    a.door = nth;
    a.fd = accept(door, NULL, NULL);
    if (a.fd < 0) return;
    setsockopt(a.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (asked_read(&a)) serve(&a);
    free(a.body);
    close(a.fd);
}

static void serve_all(const int *door, int n, int life, void (*serve)(struct asked *a)) {
    struct pollfd p[DOORS_MAX + 1] = {{life, POLLIN, 0}};
    for (int i = 0; i < n; i++) p[i + 1] = (struct pollfd){door[i], POLLIN, 0};
    for (int fd = 3; fd < FDS_MAX; fd++) {
        bool ours = fd == life;
        for (int i = 0; i < n; i++) ours = ours || fd == door[i];
        if (!ours) close(fd);
    }
    signal(SIGINT, SIG_IGN);
    while (poll(p, (nfds_t)n + 1, -1) > 0 && p[0].revents == 0)
        for (int i = 0; i < n; i++)
            if (p[i + 1].revents != 0) serve_one(door[i], i, serve);
    _exit(0);
}

static int door_open(int *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) != 0) {
        if (fd >= 0) close(fd);
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

bool doors_start(struct doors *d, const char *what, int n, void (*serve)(struct asked *a)) {
    int life[2], door[DOORS_MAX], opened = 0;
    d->pid = 0;
    d->life = -1;
    while (opened < n && (door[opened] = door_open(&d->port[opened])) >= 0) opened++;
    if (opened < n || pipe(life) != 0) {
        fprintf(stderr, "conformance: %s has no port\n", what);
        while (opened > 0) close(door[--opened]);
        return false;
    }
    fflush(NULL);
    d->pid = fork();
    if (d->pid == 0) serve_all(door, n, life[0], serve);
    while (opened > 0) close(door[--opened]);
    close(life[0]);
    d->life = life[1];
    fcntl(d->life, F_SETFD, FD_CLOEXEC);
    return d->pid > 0;
}

void doors_stop(struct doors *d) {
    if (d->pid <= 0) return;
    close(d->life);
    kill(d->pid, SIGTERM);
    waitpid(d->pid, NULL, 0);
    d->pid = 0;
}

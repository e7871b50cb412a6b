/* collector.c: see collector.h.  One connection at a time: a host has one request under way. */
#define _GNU_SOURCE /* memmem, strcasestr */
#include "collector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD_MAX = 16384, BODY_MAX = 8 << 20, KEPT_MAX = 20000, READ_S = 10, FDS_MAX = 1024 };

static struct kept { /* in the collector's process */
    char *body;
    size_t n;
} kept[KEPT_MAX];
static size_t kept_nr;

static void send_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0) return;
        p += sent;
        n -= (size_t)sent;
    }
}

static void answer(int fd, const char *status, const char *body, size_t n) {
    char head[200];
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n",
                       status, n);
    send_all(fd, head, (size_t)len);
    send_all(fd, body, n);
}

static void answer_runs(int fd, const char *id) {
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    bool first = true;
    if (f == NULL) return;
    fputc('[', f);
    for (size_t i = 0; i < kept_nr; i++) {
        if (*id == '\0' || memmem(kept[i].body, kept[i].n, id, strlen(id)) == NULL) continue;
        if (!first) fputc(',', f);
        first = false;
        fwrite(kept[i].body, 1, kept[i].n, f);
    }
    fputc(']', f);
    if (fclose(f) == 0) answer(fd, "200 OK", out, n);
    free(out);
}

static void keep(char *body, size_t n) { /* takes body */
    if (kept_nr < KEPT_MAX) kept[kept_nr++] = (struct kept){body, n};
    else free(body);
}

/* The rest of a body of which have bytes lie at from. */
static char *body_read(int fd, const char *from, size_t have, size_t want) {
    char *body = want <= BODY_MAX && have <= want ? malloc(want + 1) : NULL;
    if (body == NULL) return NULL;
    memcpy(body, from, have);
    while (have < want) {
        ssize_t got = recv(fd, body + have, want - have, 0);
        if (got <= 0) {
            free(body);
            return NULL;
        }
        have += (size_t)got;
    }
    return body;
}

static void post_take(int fd, const char *head, const char *rest, size_t rest_n) {
    const char *length = strcasestr(head, "\r\ncontent-length:"),
               *type = strcasestr(head, "\r\ncontent-type:");
    size_t want = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    bool json =
        type != NULL && strncmp(type + 15 + strspn(type + 15, " "), "application/json", 16) == 0;
    bool traces = strstr(head, "/v1/traces ") != NULL;
    char *body = body_read(fd, rest, rest_n, want);
    if (body == NULL) return;
    if (json && traces) keep(body, want);
    else free(body);
    if (json) answer(fd, "200 OK", "{}", 2);
    else answer(fd, "415 Unsupported Media Type", "{}", 2);
}

static void serve(int fd) {
    char head[HEAD_MAX + 1], id[200] = "";
    size_t n = 0;
    char *end = NULL;
    while (end == NULL && n < HEAD_MAX) {
        ssize_t got = recv(fd, head + n, HEAD_MAX - n, 0);
        if (got <= 0) return;
        n += (size_t)got;
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    if (end == NULL) return;
    if (strncmp(head, "POST ", 5) == 0) {
        end[2] = '\0'; /* the head ends with the end of its last line */
        post_take(fd, head, end + 4, n - (size_t)(end + 4 - head));
    } else if (sscanf(head, "GET /?%199[^ ] ", id) == 1) {
        answer_runs(fd, id);
    } else {
        answer(fd, "405 Method Not Allowed", "{}", 2);
    }
}

static void collect(int door, int life) {
    struct pollfd p[] = {{door, POLLIN, 0}, {life, POLLIN, 0}};
    struct timeval patience = {READ_S, 0};
    for (int fd = 3; fd < FDS_MAX; fd++)
        if (fd != door && fd != life) close(fd);
    signal(SIGINT, SIG_IGN);
    while (poll(p, 2, -1) > 0 && p[1].revents == 0) {
        int fd = accept(door, NULL, NULL);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        serve(fd);
        close(fd);
    }
    for (size_t i = 0; i < kept_nr; i++) free(kept[i].body);
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

bool collector_start(struct collector *c, int port) {
    int life[2], door = door_open(&port);
    *c = (struct collector){.life = -1, .port = port};
    if (door < 0 || pipe(life) != 0) {
        fputs("conformance: the collector of telemetry has no port\n", stderr);
        if (door >= 0) close(door);
        return false;
    }
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0) collect(door, life[0]);
    close(door);
    close(life[0]);
    c->life = life[1];
    fcntl(c->life, F_SETFD, FD_CLOEXEC);
    return c->pid > 0;
}

void collector_stop(struct collector *c) {
    if (c->pid <= 0) return;
    close(c->life);
    kill(c->pid, SIGTERM);
    waitpid(c->pid, NULL, 0);
    c->pid = 0;
}

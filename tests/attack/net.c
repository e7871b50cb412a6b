/* net.c: sockets, one HTTP exchange, and many connections at once. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DIAL_WAIT_MS = 5000, SEND_WAIT_MS = 10000, SWARM_DIAL_MS = 20, DEAF_BYTES = 4096 };

int64_t now_ms(void) { return (int64_t)clock_mono_ms(); }

void nap_ms(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static struct sockaddr_in at(int port, int last) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl((127u << 24) | (unsigned)last);
    return a;
}

static bool ready(int fd, short what, int wait_ms) {
    struct pollfd p = {fd, what, 0};
    return poll(&p, 1, wait_ms) > 0;
}

/* Non-blocking; the connection may still be on its way. */
static int dial(int port, int from, int wait_ms, int receive_bytes) {
    struct sockaddr_in me = at(0, from), to = at(port, 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), failed = 0;
    socklen_t n = sizeof failed;
    if (fd < 0) return -1;
    if (receive_bytes > 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    if (bind(fd, (struct sockaddr *)&me, sizeof me) == 0 &&
        (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ||
         (errno == EINPROGRESS && ready(fd, POLLOUT, wait_ms) &&
          getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &n) == 0 && failed == 0)))
        return fd;
    close(fd);
    return -1;
}

int net_dial(int port, int from) { return dial(port, from, DIAL_WAIT_MS, 0); }

bool net_send(int fd, const void *p, size_t n) {
    const char *at_byte = p;
    for (int64_t end = now_ms() + SEND_WAIT_MS; n > 0;) {
        ssize_t w = send(fd, at_byte, n, MSG_NOSIGNAL);
        if (w > 0) {
            at_byte += w;
            n -= (size_t)w;
        } else if (w < 0 && errno != EAGAIN) return false;
        else if (now_ms() >= end || !ready(fd, POLLOUT, SEND_WAIT_MS)) return false;
    }
    return true;
}

void net_close(int fd, bool reset) {
    struct linger l = {1, 0};
    if (fd < 0) return;
    if (reset) (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    close(fd);
}

int net_listen(int *port) {
    struct sockaddr_in me = at(0, 1);
    socklen_t n = sizeof me;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&me, sizeof me) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&me, &n) != 0) {
        net_close(fd, false);
        return -1;
    }
    *port = ntohs(me.sin_port);
    return fd;
}

/* Bytes added; 0 at the end of the stream or when nothing came in time. */
static size_t read_some(int fd, struct buf *b, int wait_ms) {
    char chunk[16384];
    if (!ready(fd, POLLIN, wait_ms)) return 0;
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n <= 0) return 0;
    buf_add(b, chunk, (size_t)n);
    return (size_t)n;
}

size_t net_read(int fd, struct buf *b, int wait_ms) {
    const size_t before = b->len;
    for (int64_t end = now_ms() + wait_ms, left; (left = end - now_ms()) > 0;)
        if (read_some(fd, b, (int)left) == 0) break;
    return b->len - before;
}

/* --- one exchange --- */

void line_init(struct line *l, int port, int from) {
    *l = (struct line){.port = port, .from = from, .fd = -1};
    buf_init(&l->in, ANSWER_BYTES_MAX);
}

static void line_drop(struct line *l) {
    net_close(l->fd, false);
    l->fd = -1;
}

void line_fini(struct line *l) {
    line_drop(l);
    buf_fini(&l->in);
}

static void request_write(struct buf *b, const struct request *q) {
    buf_addf(b, "%s %s HTTP/1.1\r\nHost: attack.test\r\n", q->method, q->path);
    if (q->key != NULL) buf_addf(b, "Authorization: Bearer %s\r\n", q->key);
    if (q->headers != NULL) buf_addz(b, q->headers);
    if (q->close) buf_addz(b, "Connection: close\r\n");
    if (q->body.n > 0)
        buf_addf(b, "Content-Type: application/json\r\nContent-Length: %zu\r\n", q->body.n);
    buf_addz(b, "\r\n");
    buf_adds(b, q->body);
}

/* The end of the head, or NULL; *length: of the body, -1 when it goes to the end of the stream. */
static const char *head_end(const struct buf *b, long *length) {
    const char *cut = b->len > 12 ? strstr(b->p, "\r\n\r\n") : NULL;
    *length = -1;
    if (cut == NULL) return NULL;
    for (const char *p = strstr(b->p, "\r\n"); p != NULL && p < cut; p = strstr(p + 2, "\r\n"))
        if (strncasecmp(p + 2, "content-length:", 15) == 0) sscanf(p + 17, "%ld", length);
    if (strncmp(b->p + 9, "204", 3) == 0 || strncmp(b->p + 9, "304", 3) == 0) *length = 0;
    return cut + 4;
}

static int answer_read(struct line *l, int wait_ms, struct str *body) {
    const int64_t end = now_ms() + wait_ms;
    for (bool more = true; more;) {
        long length;
        int64_t left = end - now_ms();
        more = left > 0 && read_some(l->fd, &l->in, (int)left) > 0;
        const char *from = head_end(&l->in, &length);
        size_t have = from != NULL ? l->in.len - (size_t)(from - l->in.p) : 0;
        if (from == NULL || (length >= 0 && have < (size_t)length) || (length < 0 && more))
            continue;
        int status = 0;
        if (sscanf(l->in.p, "HTTP/1.1 %d", &status) != 1) return 0;
        if (body != NULL) *body = str_n(from, length < 0 ? have : (size_t)length);
        return status;
    }
    return 0;
}

int line_ask(struct line *l, const struct request *q, struct str *body) {
    struct buf out;
    int status = 0;
    buf_init(&out, ANSWER_BYTES_MAX);
    request_write(&out, q);
    if (body != NULL) *body = str_c("");
    for (int try = 0; status == 0 && try < 2; try++) { /* a kept connection may be gone */
        const bool fresh = l->fd < 0;
        if (fresh) l->fd = net_dial(l->port, l->from);
        buf_reset(&l->in);
        if (l->fd >= 0 && (net_send(l->fd, out.p, out.len) || true))
            status = answer_read(l, q->wait_ms > 0 ? q->wait_ms : ANSWER_WAIT_MS, body);
        if (status == 0 || q->close || strcasestr(l->in.p, "\r\nconnection: close") != NULL)
            line_drop(l);
        if (fresh || l->in.len > 0) break;
    }
    buf_fini(&out);
    return status;
}

int net_once(int port, int from, const char *key, const char *method, const char *path,
             struct str body, int wait_ms) {
    struct line l;
    line_init(&l, port, from);
    int status = line_ask(&l,
                          &(struct request){.method = method,
                                            .path = path,
                                            .key = key,
                                            .body = body,
                                            .wait_ms = wait_ms,
                                            .close = true},
                          NULL);
    line_fini(&l);
    return status;
}

/* --- many connections --- */

static void swarm_dial(struct swarm *s, int port, int from, size_t n, struct str first,
                       int receive_bytes) {
    *s = (struct swarm){.fds = mem_array(n + 1, sizeof(int)), .n = n};
    for (size_t i = 0; s->fds != NULL && i < n; i++) {
        s->fds[i] = dial(port, from, SWARM_DIAL_MS, receive_bytes);
        bool ok =
            s->fds[i] >= 0 && (first.n == 0 || send(s->fds[i], first.p, first.n, MSG_NOSIGNAL) > 0);
        s->open += ok;
        s->refused += !ok;
    }
}

void swarm_open(struct swarm *s, int port, int from, size_t n, struct str first) {
    swarm_dial(s, port, from, n, first, 0);
}

void swarm_open_deaf(struct swarm *s, int port, int from, size_t n, struct str first) {
    swarm_dial(s, port, from, n, first, DEAF_BYTES);
}

void swarm_send(struct swarm *s, struct str bytes) {
    for (size_t i = 0; i < s->n; i++)
        if (s->fds[i] >= 0) (void)!send(s->fds[i], bytes.p, bytes.n, MSG_NOSIGNAL);
}

size_t swarm_cut(struct swarm *s) {
    size_t cut = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct pollfd p = {s->fds[i], POLLIN | POLLRDHUP, 0};
        if (s->fds[i] < 0) cut++;
        else cut += poll(&p, 1, 0) > 0;
    }
    return cut;
}

void swarm_close(struct swarm *s, bool reset) {
    for (size_t i = 0; i < s->n; i++) net_close(s->fds[i], reset);
    mem_free(s->fds);
    *s = (struct swarm){0};
}

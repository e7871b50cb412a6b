/*
 * http_client.c: the client of http_world.h, made of a socket.
 */
#include "base/mem.h"
#include "http_world.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct client *dial_port(uint16_t port) {
    struct client *c = MEM_NEW(struct client);
    buf_init(&c->raw, 256u << 20);
    buf_init(&c->body, 256u << 20);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval tv = {.tv_sec = WORLD_WAIT_MS / 1000};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
    cr_assert_eq(connect(c->fd, (struct sockaddr *)&sa, sizeof sa), 0);
    return c;
}

struct client *dial(void) {
    return dial_port(http_server_port(W.server));
}

void hang_up(struct client *c) {
    if (c->fd >= 0) close(c->fd);
    buf_fini(&c->raw);
    buf_fini(&c->body);
    mem_free(c);
}

void say_bytes(struct client *c, const void *p, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t k = send(c->fd, (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (k <= 0) return; /* the server may rightly have closed */
        at += (size_t)k;
    }
}

void say(struct client *c, const char *fmt, ...) {
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    cr_assert_lt(n, (int)sizeof text);
    say_bytes(c, text, (size_t)n);
}

static const char *find(const char *p, size_t n, const char *text) {
    size_t len = strlen(text);
    for (; n >= len; p++, n--) {
        const char *q = memchr(p, text[0], n - len + 1);
        if (!q) return NULL;
        n -= (size_t)(q - p);
        p = q;
        if (memcmp(p, text, len) == 0) return p;
    }
    return NULL;
}

static bool more(struct client *c) {
    char piece[16384];
    ssize_t n = recv(c->fd, piece, sizeof piece, 0);
    if (n <= 0) return false;
    buf_add(&c->raw, piece, (size_t)n);
    return true;
}

/* Length of the line at `at` without CR LF; reads on until it is there.  -1: ended. */
static ssize_t line_at(struct client *c) {
    for (;;) {
        const char *p = c->raw.p ? c->raw.p + c->at : NULL;
        const char *e = p ? find(p, c->raw.len - c->at, "\r\n") : NULL;
        if (e) return e - p;
        if (!more(c)) return -1;
    }
}

bool hear_head(struct client *c) {
    size_t used = 0;
    c->head[0] = 0;
    c->chunked = c->ended = false;
    buf_reset(&c->body);
    for (bool first = true;; first = false) {
        ssize_t n = line_at(c);
        if (n < 0) return false;
        const char *p = c->raw.p + c->at;
        if (first) c->status = n > 12 ? (int)strtol(p + 9, NULL, 10) : 0;
        if (used + (size_t)n + 3 < sizeof c->head) {
            memcpy(c->head + used, p, (size_t)n);
            used += (size_t)n;
            c->head[used++] = '\n';
            c->head[used] = 0;
        }
        c->at += (size_t)n + 2;
        if (n == 0) break;
    }
    if (c->status == 100) return hear_head(c);
    c->chunked = header_of(c, "Transfer-Encoding") != NULL;
    return true;
}

const char *header_of(struct client *c, const char *name) {
    static char value[512];
    size_t n = strlen(name);
    for (const char *l = c->head; *l; l = strchr(l, '\n') + 1) {
        if (strncasecmp(l, name, n) != 0 || l[n] != ':') continue;
        snprintf(value, sizeof value, "%.*s", (int)(strchr(l, '\n') - l - (ptrdiff_t)n - 2),
                 l + n + 2);
        return value;
    }
    return NULL;
}

/* Take what is there of one chunk into body; false at the end of everything. */
static bool take_chunk(struct client *c) {
    if (!c->chunked) { /* until the connection ends */
        if (c->raw.len == c->at && !more(c)) return false;
        buf_add(&c->body, c->raw.p + c->at, c->raw.len - c->at);
        c->at = c->raw.len;
        return true;
    }
    ssize_t n = line_at(c);
    if (n < 0) return false;
    size_t size = strtoul(c->raw.p + c->at, NULL, 16);
    size_t need = c->at + (size_t)n + 2 + size + 2;
    while (c->raw.len < need)
        if (!more(c)) return false;
    buf_add(&c->body, c->raw.p + c->at + n + 2, size);
    c->at = need;
    if (size == 0) c->ended = true;
    return true;
}

bool body_has(const struct client *c, const char *text) {
    return c->body.len > 0 && find(c->body.p, c->body.len, text) != NULL;
}

bool hear_until(struct client *c, const char *text) {
    while (!body_has(c, text))
        if (c->ended || !take_chunk(c)) return false;
    return true;
}

bool hear_end(struct client *c) {
    const char *length = c->chunked ? NULL : header_of(c, "Content-Length");
    size_t n = length ? strtoul(length, NULL, 10) : 0;
    while (c->body.len < n)
        if (!take_chunk(c)) return false;
    while (c->chunked && !c->ended)
        if (!take_chunk(c)) return false;
    return true;
}

bool hear(struct client *c) {
    if (!hear_head(c)) return false;
    if (c->chunked) return hear_end(c);
    const char *v = header_of(c, "Content-Length");
    size_t n = v ? strtoul(v, NULL, 10) : 0;
    while (c->raw.len < c->at + n)
        if (!more(c)) return false;
    buf_add(&c->body, c->raw.p + c->at, n);
    c->at += n;
    return true;
}

bool is_closed(struct client *c) {
    char one;
    ssize_t n = c->at == c->raw.len ? recv(c->fd, &one, 1, 0) : 1;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK); /* a timeout is no close */
}

struct client *ask(const char *method, const char *target, const char *headers, const char *body) {
    struct client *c = dial();
    say(c, "%s %s HTTP/1.1\r\nHost: host.example\r\n%s", method, target, headers ? headers : "");
    if (body) say(c, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    say(c, "\r\n");
    if (body) say_bytes(c, body, strlen(body));
    cr_assert(hear(c), "no answer to %s %s", method, target);
    return c;
}

const char *bearer(void) {
    static char text[256];
    snprintf(text, sizeof text, "Authorization: Bearer " STR_FMT "\r\n", STR_ARG(W.key));
    return text;
}

size_t count_of(const struct client *c, const char *text) {
    size_t n = 0, len = strlen(text);
    for (size_t i = 0; i + len <= c->body.len; i++) n += memcmp(c->body.p + i, text, len) == 0;
    return n;
}

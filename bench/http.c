/* http.c: just enough of an HTTP/1.1 client to be faster than what it measures. */
#define _GNU_SOURCE /* memmem */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HTTP_CHUNK = 64 * 1024, HTTP_BODY_MAX = 64 * 1024 * 1024 };

int target_parse(struct target *t, const struct options *o) {
    struct str rest = str_c(o->url), host, port;
    char name[64];
    uint64_t no;
    *t = (struct target){.addr.sin_family = AF_INET};
    if (!o->url || !str_starts(rest, STR("http://"))) {
        fprintf(stderr, "wopr-bench: --url http://ADDRESS:PORT is needed\n");
        return 1;
    }
    rest = str_n(rest.p + 7, rest.n - 7);
    while (rest.n > 0 && rest.p[rest.n - 1] == '/') rest.n--;
    if (!str_cut(rest, ':', &host, &port) || !str_u64(port, &no) || no == 0 || no > 65535 ||
        host.n >= sizeof name || rest.n >= sizeof t->host) {
        fprintf(stderr, "wopr-bench: --url must be http://ADDRESS:PORT\n");
        return 1;
    }
    (void)snprintf(name, sizeof name, STR_FMT, STR_ARG(host));
    if (strcmp(name, "localhost") == 0) (void)snprintf(name, sizeof name, "127.0.0.1");
    if (inet_pton(AF_INET, name, &t->addr.sin_addr) != 1) {
        fprintf(stderr, "wopr-bench: the address in --url must be a numeric IPv4 address\n");
        return 1;
    }
    t->addr.sin_port = htons((uint16_t)no);
    (void)snprintf(t->host, sizeof t->host, STR_FMT, STR_ARG(rest));
    if (o->key) (void)snprintf(t->auth, sizeof t->auth, "Authorization: Bearer %s\r\n", o->key);
    return 0;
}

void request_make(struct buf *out, const struct target *t, const char *method, const char *path,
                  const char *accept, struct str body) {
    buf_addf(out, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", method, path, t->host, t->auth);
    if (accept) buf_addf(out, "Accept: %s\r\n", accept);
    if (body.n > 0 || strcmp(method, "POST") == 0)
        buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.n);
    buf_addz(out, "\r\n");
    buf_adds(out, body);
}

/* ------------------------------------------------------------------ answers */
static bool header_is(struct str line, const char *name, struct str *value) {
    struct str head;
    return str_cut(line, ':', &head, value) && str_eq_nocase(head, str_c(name)) &&
           (*value = str_trim(*value), true);
}

/* 1 whole, 0 more, -1 broken; *used counts the coded bytes. */
static int chunks_decode(struct str in, struct buf *out, size_t *used) {
    size_t at = 0;
    for (;;) {
        uint64_t n = 0;
        size_t i = at;
        for (; i < in.n && in.p[i] != '\r' && in.p[i] != ';'; i++) {
            char c = in.p[i];
            unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;
            if (d == 16 || n > HTTP_BODY_MAX) return -1;
            n = n * 16 + d;
        }
        while (i < in.n && in.p[i] != '\n') i++;
        if (i >= in.n || in.n - i - 1 < n + 2) return 0;
        i++;
        if (n > 0) buf_add(out, in.p + i, n);
        at = i + n + 2;
        if (n == 0) {
            *used = at;
            return buf_failed(out) ? -1 : 1;
        }
    }
}

static struct str next_line(struct str *rest) {
    struct str line;
    if (!str_cut(*rest, '\n', &line, rest)) {
        line = *rest;
        *rest = STR_NONE;
    }
    if (line.n > 0 && line.p[line.n - 1] == '\r') line.n--;
    return line;
}

int answer_parse(const struct buf *b, struct buf *scratch, struct answer *out) {
    const char *end = b->len >= 4 ? memmem(b->p, b->len, "\r\n\r\n", 4) : NULL;
    if (!end) return b->len > HTTP_CHUNK ? -1 : 0;
    struct str head = str_n(b->p, (size_t)(end - b->p)), value;
    struct str line = next_line(&head);
    if (line.n < 12 || memcmp(line.p, "HTTP/1.", 7) != 0) return -1;
    *out = (struct answer){.status = (line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 +
                                     (line.p[11] - '0')};
    uint64_t length = 0;
    bool chunked = false;
    while (head.n > 0) {
        line = next_line(&head);
        if (header_is(line, "content-length", &value)) {
            if (!str_u64(value, &length) || length > HTTP_BODY_MAX) return -1;
        } else if (header_is(line, "transfer-encoding", &value)) {
            chunked = str_eq_nocase(value, STR("chunked"));
        } else if (header_is(line, "connection", &value)) {
            out->close = str_eq_nocase(value, STR("close"));
        }
    }
    struct str rest = str_n(end + 4, b->len - (size_t)(end + 4 - b->p));
    size_t used = (size_t)length;
    if (chunked) {
        buf_reset(scratch);
        int rc = chunks_decode(rest, scratch, &used);
        if (rc != 1) return rc;
        out->body = buf_str(scratch);
    } else {
        if (rest.n < length) return 0;
        out->body = str_n(rest.p, (size_t)length);
    }
    out->bytes = (size_t)(end + 4 - b->p) + used;
    return 1;
}

/* ------------------------------------------------------------------ connections */
int connect_start(const struct target *t) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0) return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)&t->addr, sizeof t->addr) == 0 || errno == EINPROGRESS)
        return fd;
    (void)close(fd);
    return -1;
}

static bool wait_for(int fd, short what, uint64_t end_ns) {
    uint64_t now = clock_mono_ns();
    struct pollfd p = {.fd = fd, .events = what};
    return now < end_ns && poll(&p, 1, (int)((end_ns - now) / 1000000 + 1)) == 1;
}

static int exchange(int fd, struct str q, struct buf *in, struct buf *body, uint64_t end_ns) {
    struct buf scratch;
    struct answer a = {.status = -1};
    int rc = 0;
    for (size_t at = 0; at < q.n;) {
        if (!wait_for(fd, POLLOUT, end_ns)) return -1;
        ssize_t n = send(fd, q.p + at, q.n - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) return -1;
        if (n > 0) at += (size_t)n;
    }
    buf_init(&scratch, HTTP_BODY_MAX);
    while (rc == 0 && wait_for(fd, POLLIN, end_ns)) {
        char piece[16384];
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n <= 0) break;
        buf_add(in, piece, (size_t)n);
        rc = answer_parse(in, &scratch, &a);
    }
    if (rc == 1 && body) {
        buf_reset(body);
        buf_adds(body, a.body);
    }
    buf_fini(&scratch);
    return rc == 1 ? a.status : -1;
}

int http_once(const struct target *t, const char *method, const char *path, struct str request_body,
              struct buf *body, unsigned timeout_ms) {
    struct buf q, in;
    int fd = connect_start(t), status = -1;
    if (fd < 0) return -1;
    buf_init(&q, HTTP_BODY_MAX);
    buf_init(&in, HTTP_BODY_MAX);
    request_make(&q, t, method, path, NULL, request_body);
    status = exchange(fd, buf_str(&q), &in, body, clock_mono_ns() + (uint64_t)timeout_ms * 1000000);
    buf_fini(&q);
    buf_fini(&in);
    (void)close(fd);
    return status;
}

/* ------------------------------------------------------------------ runs */
bool run_id_of(struct str body, char out[BENCH_RUN_ID_MAX]) {
    static const char name[] = "\"runId\":";
    const char *p = body.n > 0 ? memmem(body.p, body.n, name, sizeof name - 1) : NULL;
    if (!p) return false;
    p += sizeof name - 1;
    const char *end = body.p + body.n;
    while (p < end && *p == ' ') p++;
    if (p == end || *p++ != '"') return false;
    size_t n = 0;
    while (p + n < end && p[n] != '"' && n < BENCH_RUN_ID_MAX - 1) n++;
    memcpy(out, p, n);
    out[n] = '\0';
    return n > 0;
}

int run_create(const struct target *t, const char *workflow, const char *inputs,
               char out[BENCH_RUN_ID_MAX]) {
    struct buf q, body;
    buf_init(&q, HTTP_CHUNK);
    buf_init(&body, HTTP_BODY_MAX);
    buf_addf(&q, "{\"workflowId\":\"%s\",\"inputs\":%s}", workflow, inputs ? inputs : "{}");
    int status = http_once(t, "POST", "/v1/runs", buf_str(&q), &body, 10000);
    bool ok = status == 201 && run_id_of(buf_str(&body), out);
    if (!ok)
        fprintf(stderr, "wopr-bench: creating a run of %s answered %d: %.200s\n", workflow, status,
                body.p ? body.p : "");
    buf_fini(&q);
    buf_fini(&body);
    return ok ? 0 : 1;
}

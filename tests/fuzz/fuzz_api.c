/*
 * fuzz_api.c: requests to a host in this process, over loopback: any route, headers and body.
 * An input is a list of records: route, flags, two bytes of length, body; the body also serves as
 * query or last segment where the route wants one.  A later record finds the run of an earlier one.
 *  - every request is answered in time, whole, and never with 500;
 *  - every error is the closed envelope (ERR-1);
 *  - when the host goes, its database passes verification.
 */
#include "inside.h"

enum { RECORDS_MAX = 12, BODY_MAX = 4096, INPUTS_PER_HOST = 800, STREAM_MS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum kind { BODY, QUERY, SEGMENT, STREAM };
static const struct {
    const char *method, *before, *after; /* the run's id or the text of the input between */
    enum kind kind;
} ROUTES[] = {
    {"POST", "/v1/runs", NULL, BODY},
    {"GET", "/v1/runs?", NULL, QUERY},
    {"GET", "/v1/runs/", "", BODY},
    {"GET", "/v1/runs/", "/events?", QUERY},
    {"GET", "/v1/runs/", "/events/poll?timeout=1&", QUERY},
    {"POST", "/v1/runs/", "/cancel", BODY},
    {"POST", "/v1/runs/", ":pause", BODY},
    {"POST", "/v1/runs/", ":resume", BODY},
    {"POST", "/v1/runs/", ":fork", BODY},
    {"POST", "/v1/runs/", "/interrupts/gate", BODY},
    {"POST", "/v1/runs/", "/approvals/gate", BODY},
    {"POST", "/v1/host/wopr/runs/", "/stream-ticket", BODY},
    {"GET", "/v1/host/wopr/interrupts?", NULL, QUERY},
    {"GET", "/v1/interrupts/", NULL, SEGMENT},
    {"POST", "/v1/interrupts/", NULL, SEGMENT},
    {"GET", "/v1/workflows/", NULL, SEGMENT},
    {"GET", "/v1/runs/", "/artifacts/x", BODY},
    {"GET", "/", NULL, SEGMENT},
    {"GET", "/v1/runs/", "/events?", STREAM},
};
enum { ROUTES_NR = sizeof ROUTES / sizeof *ROUTES };
enum {
    NO_KEY = 1,
    WRONG_KEY = 2,
    KEYED = 4, /* Idempotency-Key */
    DEDUP = 8,
    AS_TEXT = 16, /* another content type */
    CHUNKED = 32,
    TEMPLATE = 64 /* the body of an ordinary creation */
};

static struct inside w = {.fd = -1};
static char run[64] = "run_01ARZ3NDEKTSV4RRFFQ69G5FAV";

static void gone(void) { inside_down(&w); }

static void visible(struct buf *b, struct str s) { /* nothing that ends the target */
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain = c > ' ' && c < 127 && c != '#' && c != 't'; /* no other timeout */
        buf_addc(b, plain ? c : '+');
    }
}

static void head(struct buf *b, unsigned route, unsigned flags, struct str text) {
    buf_addf(b, "%s %s", ROUTES[route].method, ROUTES[route].before);
    if (ROUTES[route].after != NULL) buf_addf(b, "%s%s", run, ROUTES[route].after);
    if (ROUTES[route].kind != BODY) visible(b, str_n(text.p, text.n < 512 ? text.n : 512));
    buf_addz(b, " HTTP/1.1\r\nHost: x\r\n");
    if ((flags & WRONG_KEY) != 0) buf_addz(b, "Authorization: Bearer hk_wrong\r\n");
    else if ((flags & NO_KEY) == 0) buf_addz(b, "Authorization: Bearer " INSIDE_KEY "\r\n");
    if ((flags & KEYED) != 0) buf_addf(b, "Idempotency-Key: k%zu\r\n", text.n % 8);
    if ((flags & DEDUP) != 0) buf_addz(b, "X-Dedup: enforce\r\n");
    buf_addz(b, ROUTES[route].kind == STREAM ? "Accept: text/event-stream\r\n"
                                             : "Accept: application/json\r\n");
}

static void body(struct buf *b, unsigned flags, struct str text) {
    buf_addf(b, "Content-Type: %s\r\n", (flags & AS_TEXT) != 0 ? "text/plain" : "application/json");
    if ((flags & CHUNKED) != 0 && text.n > 0) {
        buf_addf(b, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", text.n);
        buf_adds(b, text);
        buf_addz(b, "\r\n0\r\n\r\n");
    } else {
        buf_addf(b, "Content-Length: %zu\r\n\r\n", text.n);
        buf_adds(b, text);
    }
}

/* Streams go on: look at the first bytes and leave. */
static void look(struct str request) {
    char chunk[4096];
    int fd = inside_dial(&w);
    struct pollfd p = {fd, POLLIN, 0};
    ASSERT(inside_send(fd, request));
    if (poll(&p, 1, STREAM_MS) > 0) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        ASSERT(n <= 12 || strncmp(chunk + 9, "500", 3) != 0);
    }
    close(fd);
}

static void record(unsigned route, unsigned flags, struct str text) {
    static const char *const ordinary[] = {"{\"workflowId\":\"conformance-approval\"}",
                                           "{\"workflowId\":\"conformance-noop\"}"};
    struct buf b;
    struct str answer;
    if ((flags & TEMPLATE) != 0) text = str_c(ordinary[text.n % 2]);
    buf_init(&b, 1 << 20);
    head(&b, route, flags, text);
    if (ROUTES[route].method[0] == 'P') body(&b, flags, text);
    else buf_addz(&b, "\r\n");
    if (ROUTES[route].kind == STREAM) look(buf_str(&b));
    else if (inside_ask(&w, buf_str(&b), &answer) == 201) (void)inside_run_id(answer, run);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static bool once;
    if (!once) (void)atexit(gone);
    once = true;
    if (w.host == NULL) inside_up(&w);
    for (unsigned i = 0; i < RECORDS_MAX && len >= 4; i++) {
        size_t n = (size_t)data[2] | (size_t)data[3] << 8;
        if (n > len - 4) n = len - 4;
        record(data[0] % ROUTES_NR, data[1],
               str_n((const char *)data + 4, n < BODY_MAX ? n : BODY_MAX));
        data += 4 + n;
        len -= 4 + n;
    }
    snprintf(run, sizeof run, "run_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    if (++w.inputs >= INPUTS_PER_HOST) inside_down(&w);
    return 0;
}

/*
 * socket.c: fuzz_socket --binary PATH [--seconds N] [--seed N] [--save FOLDER]
 * Mutated bytes at the socket of a host that runs as a process of its own, built with sanitizers.
 * Seeds are valid requests of every route; they are bent, cut, split over packets, pipelined, and
 * their connections are reset or half-closed.  Afterwards the host must be alive and answer, stop
 * on SIGTERM, have told of nothing that a sanitizer finds, and leave a database without findings.
 * On a finding the last requests of every thread are kept in FOLDER.  Exit status 0 or 1; 2: usage.
 */
#include "attack/attack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 4,
    KEPT = 64,
    TEXT_MAX = 1 << 16,
    MUTATIONS_MAX = 8,
    PIECES_MAX = 6,
    HEALTH_EVERY = 256,
    HEALTH_WAIT_MS = 30000,
    READ_MS = 3,
    READS = 6,
    STOP_MS = 120000,
    SECONDS_DEFAULT = 60,
    SHOWN_MAX = 4000
};

#define HEAD "Host: attack.test\r\nAuthorization: Bearer @K\r\n"
#define JSON HEAD "Content-Type: application/json\r\n"
static const char *const SEEDS[] = {
    "GET /.well-known/openwop HTTP/1.1\r\n" HEAD "\r\n",
    "GET /v1/openapi.json HTTP/1.1\r\n" HEAD "If-None-Match: \"x\"\r\n\r\n",
    "GET /v1/workflows/attack-hello HTTP/1.1\r\n" HEAD "\r\n",
    "POST /v1/runs HTTP/1.1\r\n" JSON "Content-Length: 29\r\n\r\n{\"workflowId\":\"attack-hello\"}",
    "POST /v1/runs HTTP/1.1\r\n" JSON
    "Transfer-Encoding: chunked\r\n\r\n1d\r\n{\"workflowId\":\"attack-hello\"}\r\n0\r\n\r\n",
    "POST /v1/runs HTTP/1.1\r\n" JSON "Idempotency-Key: k1\r\nX-Dedup: enforce\r\nExpect: "
    "100-continue\r\nContent-Length: 27\r\n\r\n{\"workflowId\":\"attack-ask\"}",
    "GET /v1/runs?limit=2&status=completed&tag=a HTTP/1.1\r\n" HEAD "\r\n",
    "GET /v1/runs/@R HTTP/1.1\r\n" HEAD "\r\n",
    "HEAD /v1/runs/@R HTTP/1.1\r\n" HEAD "\r\n",
    "OPTIONS /v1/runs HTTP/1.1\r\nHost: x\r\nOrigin: https://a.test\r\n"
    "Access-Control-Request-Method: POST\r\n\r\n",
    "GET /v1/runs/@R/events HTTP/1.1\r\n" HEAD
    "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n\r\n",
    "GET /v1/runs/@R/events?streamMode=values,messages&bufferMs=10 HTTP/1.1\r\n" HEAD
    "Accept: text/event-stream\r\n\r\n",
    "GET /v1/runs/@R/events HTTP/1.1\r\n" HEAD "Accept: application/json\r\n\r\n",
    "GET /v1/runs/@R/events/poll?lastSequence=0&timeout=1 HTTP/1.1\r\n" HEAD "\r\n",
    "POST /v1/runs/@R/cancel HTTP/1.1\r\n" JSON "Content-Length: 14\r\n\r\n{\"reason\":\"r\"}",
    "POST /v1/runs/@R:pause HTTP/1.1\r\n" JSON "Content-Length: 2\r\n\r\n{}",
    "POST /v1/runs/@R:resume HTTP/1.1\r\n" JSON "Content-Length: 2\r\n\r\n{}",
    "POST /v1/runs/@R:fork HTTP/1.1\r\n" JSON
    "Content-Length: 28\r\n\r\n{\"mode\":\"branch\",\"fromSeq\":1}",
    "POST /v1/runs/@R/interrupts/gate HTTP/1.1\r\n" JSON
    "Content-Length: 35\r\n\r\n{\"resumeValue\":{\"action\":\"accept\"}}",
    "POST /v1/runs/@R/approvals/gate HTTP/1.1\r\n" JSON
    "Content-Length: 19\r\n\r\n{\"action\":\"accept\"}",
    "POST /v1/host/wopr/runs/@R/stream-ticket HTTP/1.1\r\n" JSON "Content-Length: 2\r\n\r\n{}",
    "GET /v1/host/wopr/interrupts?kind=approval HTTP/1.1\r\n" HEAD "\r\n",
    "GET /v1/interrupts/ow2.hs256.a.b.c HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /v1/runs/@R/artifacts/x HTTP/1.1\r\n" HEAD "\r\n",
    "GET /v1/runs HTTP/1.0\r\n" HEAD "Connection: keep-alive\r\n\r\n",
    "GET /v1/runs HTTP/1.1\r\n" HEAD "Cookie: a=1; b=2\r\nConnection: close\r\n\r\n",
};
static const struct {
    const char *p;
    size_t n;
} TOKENS[] = {
#define TOKEN(text)                                                                                \
    { text, sizeof(text) - 1 }
    TOKEN("\r\n"),
    TOKEN("\r\n\r\n"),
    TOKEN("\n"),
    TOKEN("\0"),
    TOKEN("%00"),
    TOKEN("%ff"),
    TOKEN(" "),
    TOKEN("\t"),
    TOKEN(":"),
    TOKEN("&&&&&&&&"),
    TOKEN("?a=b"),
    TOKEN("\r\nContent-Length: 5"),
    TOKEN("ffffffff"),
    TOKEN("18446744073709551615"),
    TOKEN("\r\nTransfer-Encoding: chunked"),
    TOKEN("0\r\n\r\n"),
    TOKEN("\r\nExpect: 100-continue"),
    TOKEN("\r\nConnection: close"),
    TOKEN("\xff\xfe"),
    TOKEN("{\"a\":[[[[[["),
    TOKEN("\\ud800"),
    TOKEN("../"),
    TOKEN("-1"),
    TOKEN("9007199254740993"),
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct text {
    size_t n;
    char p[TEXT_MAX];
};
struct thread {
    uint64_t rng;
    uint64_t requests, answered;
    char run[ID_BYTES];
    struct text *kept; /* the last ones, a ring */
    pthread_t id;
};
static struct host host;
static struct thread threads[THREADS];
static atomic_bool stop, sick;

static uint64_t dice(struct thread *t, uint64_t n) {
    t->rng ^= t->rng >> 12;
    t->rng ^= t->rng << 25;
    t->rng ^= t->rng >> 27;
    return (t->rng * UINT64_C(2685821657736338717) >> 32) % n;
}

/* --- bytes --- */

static void text_put(struct text *x, size_t at, const char *p, size_t n) {
    if (x->n + n > TEXT_MAX || at > x->n) return;
    memmove(x->p + at + n, x->p + at, x->n - at);
    memcpy(x->p + at, p, n);
    x->n += n;
}

static void text_cut(struct text *x, size_t at, size_t n) {
    if (at >= x->n) return;
    if (n > x->n - at) n = x->n - at;
    memmove(x->p + at, x->p + at + n, x->n - at - n);
    x->n -= n;
}

static void seed(struct thread *t, struct text *x) {
    const char *s = SEEDS[dice(t, COUNT(SEEDS))];
    for (; *s != '\0'; s++) {
        bool token = s[0] == '@' && (s[1] == 'K' || s[1] == 'R');
        const char *put = !token ? s : s[1] == 'K' ? host.alpha : t->run;
        text_put(x, x->n, put, token ? strlen(put) : 1);
        s += token;
    }
}

static void mutate(struct thread *t, struct text *x) {
    size_t at = x->n > 0 ? (size_t)dice(t, x->n) : 0, i;
    char copy[256];
    switch (dice(t, 8)) {
    case 0:
        x->p[at] ^= (char)(1 << dice(t, 8));
        break;
    case 1:
        x->p[at] = (char)dice(t, 256);
        break;
    case 2:
        text_cut(x, at, 1 + (size_t)dice(t, 16));
        break;
    case 3:
        i = (size_t)dice(t, COUNT(TOKENS));
        text_put(x, at, TOKENS[i].p, TOKENS[i].n);
        break;
    case 4: /* a part twice, or many times */
        i = 1 + (size_t)dice(t, sizeof copy - 1);
        if (at + i > x->n) break;
        memcpy(copy, x->p + at, i);
        for (uint64_t times = 1 + dice(t, dice(t, 16) == 0 ? 64 : 2); times > 0; times--)
            text_put(x, at, copy, i);
        break;
    case 5:
        x->n = at;
        break; /* cut short */
    case 6:
        seed(t, x);
        break; /* pipelined */
    default:
        if (x->p[at] >= '0' && x->p[at] <= '9') x->p[at] = (char)('0' + dice(t, 10));
        break;
    }
}

static struct text *next(struct thread *t) {
    struct text *x = &t->kept[t->requests++ % KEPT];
    x->n = 0;
    seed(t, x);
    for (uint64_t i = dice(t, MUTATIONS_MAX); i > 0; i--) mutate(t, x);
    return x;
}

/* --- one connection --- */

static void deliver(struct thread *t, const struct text *x) {
    int fd = net_dial(host.port, FROM_ATTACKER);
    struct buf in;
    size_t done = 0;
    if (fd < 0) return;
    buf_init(&in, 1 << 22);
    for (uint64_t piece = 1 + dice(t, PIECES_MAX); done < x->n && piece > 0; piece--) {
        size_t n = piece == 1 ? x->n - done : (size_t)dice(t, x->n - done) + 1;
        if (!net_send(fd, x->p + done, n)) break;
        done += n;
        if (piece > 1) nap_ms((int)dice(t, 2));
    }
    const uint64_t end = dice(t, 8);
    if (end == 0) (void)shutdown(fd, SHUT_WR);
    for (int i = 0; end != 1 && i < READS && in.len == 0; i++) /* 1: leave at once */
        (void)net_read(fd, &in, READ_MS);
    t->answered += in.len > 0;
    if (in.len > 12 && strstr(in.p, "\"runId\":\"run_") != NULL)
        sscanf(strstr(in.p, "\"runId\":\"run_"), "\"runId\":\"%63[A-Za-z0-9_]", t->run);
    net_close(fd, end == 1 || end == 2);
    buf_fini(&in);
}

static bool healthy(void) {
    return net_once(host.port, FROM_BETA, host.beta, "GET", "/v1/runs?limit=1", STR_NONE,
                    HEALTH_WAIT_MS) == 200;
}

static void *fuzz_main(void *arg) {
    struct thread *t = arg;
    snprintf(t->run, sizeof t->run, "run_absent");
    while (!atomic_load(&stop)) {
        deliver(t, next(t));
        if (t->requests % HEALTH_EVERY != 0 || healthy()) continue;
        atomic_store(&sick, true);
        atomic_store(&stop, true);
    }
    return NULL;
}

/* --- the end --- */

static int sanitized(void) { /* 1: a sanitizer found something */
    static const char *const marks[] = {"AddressSanitizer", "LeakSanitizer",
                                        "runtime error:", "ThreadSanitizer", "ASSERT"};
    struct buf log;
    int found = 0;
    buf_init(&log, 64u << 20);
    host_log(&host, &log);
    for (size_t i = 0; log.p != NULL && i < COUNT(marks); i++) {
        const char *p = strstr(log.p, marks[i]);
        if (p == NULL) continue;
        found = 1;
        fprintf(stderr, "socket: the host said: %.*s\n", SHOWN_MAX, p);
        break;
    }
    buf_fini(&log);
    return found;
}

static void save(const char *folder) {
    if (folder == NULL) return;
    for (int i = 0; i < THREADS; i++) {
        char path[500];
        snprintf(path, sizeof path, "%s/thread-%d", folder, i);
        FILE *f = fopen(path, "wb");
        for (int k = 0; f != NULL && k < KEPT; k++) {
            const struct text *x = &threads[i].kept[(threads[i].requests + (uint64_t)k) % KEPT];
            if (x->n > 0) fprintf(f, "--- %zu bytes\n", x->n), fwrite(x->p, 1, x->n, f);
        }
        if (f != NULL) fclose(f);
    }
}

static int judge(const char *binary) {
    int bad = 0, status = 0;
    int64_t took = 0;
    struct buf out;
    if (atomic_load(&sick)) bad++, fprintf(stderr, "socket: the host does not answer any more\n");
    if (waitpid(host.pid, &status, WNOHANG) == host.pid) {
        bad++, fprintf(stderr, "socket: the host has ended: %x\n", (unsigned)status);
        host.pid = 0;
    } else if ((status = host_stop(&host, STOP_MS, &took)) != 0)
        bad++, fprintf(stderr, "socket: SIGTERM ended it with %d after %lld ms\n", status,
                       (long long)took);
    bad += sanitized();
    buf_init(&out, 1 << 20);
    if (host_verify(&host, binary, &out) != 0)
        bad++, fprintf(stderr, "socket: verify: %.*s\n", SHOWN_MAX, out.p != NULL ? out.p : "");
    buf_fini(&out);
    return bad;
}

static void storm(int64_t seconds, uint64_t rng) {
    for (int i = 0; i < THREADS; i++) {
        threads[i].rng = (rng + (uint64_t)i * 977) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        threads[i].kept = mem_array(KEPT, sizeof(struct text));
        if (threads[i].kept == NULL ||
            pthread_create(&threads[i].id, NULL, fuzz_main, &threads[i]) != 0)
            exit(2);
    }
    for (int64_t end = now_ms() + seconds * 1000; !atomic_load(&stop) && now_ms() < end;)
        nap_ms(50);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i].id, NULL);
}

int main(int argc, char **argv) {
    const char *binary = NULL, *folder = NULL;
    uint64_t seconds = SECONDS_DEFAULT, rng = 20261122, requests = 0, answered = 0;
    char why[600] = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--binary") == 0) binary = argv[i + 1];
        else if (strcmp(argv[i], "--save") == 0) folder = argv[i + 1];
        else if (strcmp(argv[i], "--seconds") == 0) (void)str_u64(str_c(argv[i + 1]), &seconds);
        else if (strcmp(argv[i], "--seed") == 0) (void)str_u64(str_c(argv[i + 1]), &rng);
    }
    if (binary == NULL)
        return fprintf(stderr, "usage: fuzz_socket --binary PATH [--seconds N] [--seed N] "
                               "[--save FOLDER]\n"),
               2;
    (void)signal(SIGPIPE, SIG_IGN);
    static const char *const args[] = {"--address-rate", "0", "--read-timeout-s", "5", NULL};
    const struct host_start s = {.binary = binary, .args = args};
    if (!host_up(&host, &s, why, sizeof why)) return fprintf(stderr, "socket: %s\n", why), 1;
    storm((int64_t)seconds, rng);
    int bad = judge(binary);
    for (int i = 0; i < THREADS; i++)
        requests += threads[i].requests, answered += threads[i].answered;
    if (bad > 0) save(folder);
    for (int i = 0; i < THREADS; i++) mem_free(threads[i].kept);
    host_remove(&host);
    printf("executions %llu, answered %llu, seed %llu, findings %d\n", (unsigned long long)requests,
           (unsigned long long)answered, (unsigned long long)rng, bad);
    return bad > 0;
}

/*
 * hooks.c: webhooks under the storm: a receiver that refuses, resets, hangs and cuts its answers at
 * random, and afterwards every committed event that was asked for was delivered at least once, the
 * events of a run in their order, each rightly signed (HOOK-9 to HOOK-12, D31, D67).
 */
#define _GNU_SOURCE /* strcasestr */
#include "world.h"

#include "base/mem.h"
#include "codec/bytes.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HOOKS_NR = 3,
    REQUEST_MAX = 512 * 1024,
    HELD_MAX = 32,
    DRAIN_MS = 120000,
    LOOK_MS = 20,
    BAD_PERCENT = 6
};
#define SECRET "chaos-webhook-secret-0123456789"

#define LIFE  "\"run.started\",\"run.completed\",\"run.failed\",\"run.cancelled\""
#define TURNS "\"run.resumed\",\"run.paused\",\"approval.requested\",\"approval.received\""
static const char *const EVENTS[HOOKS_NR] = {LIFE, "\"node.completed\"", TURNS};

struct taken { /* a delivery that was answered well, in the order of arrival */
    int hook;
    char run[ID_BYTES];
    int64_t seq;
    size_t at;
};
static struct {
    int door, port;
    pthread_t thread;
    atomic_bool stop, calm;
    uint64_t rng;
    char ids[HOOKS_NR][ID_BYTES];
    struct taken *v; /* the thread's until it has ended */
    size_t n, cap;
    unsigned bad, forged, harmed; /* forged: signatures that are wrong */
    int held[HELD_MAX];
    size_t held_nr;
} rx;

/* ------------------------------------------------------------------------------ the receiver */
static const char *field(const char *head, const char *name, char *out, size_t size) {
    const char *at = strcasestr(head, name);
    out[0] = '\0';
    if (at)
        (void)snprintf(out, size, "%.*s", (int)strcspn(at + strlen(name), "\r"), at + strlen(name));
    return out;
}

static bool signed_right(const char *head, const char *body) {
    char stamp[32], have[96], want[96] = "sha256=", hex[65];
    struct buf b;
    field(head, "X-openwop-Timestamp: ", stamp, sizeof stamp);
    field(head, "X-openwop-Signature: ", have, sizeof have);
    buf_init(&b, REQUEST_MAX);
    buf_addf(&b, "%s.", stamp);
    buf_addz(&b, body);
    struct sha256 mac = hmac_sha256(STR(SECRET), buf_str(&b));
    bool whole = !buf_failed(&b);
    buf_fini(&b);
    sha256_hex(&mac, hex);
    (void)snprintf(want + 7, sizeof want - 7, "%s", hex);
    return whole && strcmp(have, want) == 0;
}

static void keep(const char *text, const char *body, bool well) {
    struct taken t = {.hook = -1, .seq = -1, .at = rx.n};
    const char *seq = strstr(body, "\"sequence\":");
    if (rx.n == rx.cap) {
        rx.cap = rx.cap ? 2 * rx.cap : 4096;
        rx.v = realloc(rx.v, rx.cap * sizeof *rx.v);
        if (!rx.v) abort();
    }
    (void)sscanf(text, "POST /%d", &t.hook);
    (void)sscanf(body, "{\"runId\":\"%63[^\"]", t.run);
    if (seq) t.seq = strtoll(seq + 11, NULL, 10);
    if (!signed_right(text, body) || t.hook < 0 || t.seq < 0) rx.forged++;
    if (well) rx.v[rx.n++] = t;
}

/* true: the connection is kept open. */
static bool answer(int fd, bool bad) {
    static const char OK[] = "HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n",
                      NO[] = "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n",
                      SHORT[] = "HTTP/1.1 200 X\r\nContent-Length: 50\r\n\r\nab";
    const struct linger reset = {1, 0};
    switch (bad ? client_chance(&rx.rng, 4) : 9) {
    case 0:
        (void)!send(fd, NO, sizeof NO - 1, MSG_NOSIGNAL);
        return false;
    case 1:
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        return false;
    case 2:
        (void)!send(fd, SHORT, sizeof SHORT - 1, MSG_NOSIGNAL);
        return false;
    case 3:
        if (rx.held_nr < HELD_MAX) rx.held[rx.held_nr++] = fd;
        return rx.held_nr < HELD_MAX;
    default:
        (void)!send(fd, OK, sizeof OK - 1, MSG_NOSIGNAL);
        return false;
    }
}

/* A host that is frozen or killed in the middle of a request: half a second, nothing is kept. */
static bool serve(int fd, char *text) {
    const struct timeval wait = {.tv_usec = 500000};
    size_t n = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    for (ssize_t got; (got = recv(fd, text + n, REQUEST_MAX - 1 - n, 0)) > 0;) {
        n += (size_t)got;
        text[n] = '\0';
        const char *body = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (!body || !length) continue;
        if (n < (size_t)(body + 4 - text) + strtoull(length + 15, NULL, 10)) continue;
        bool bad = !atomic_load(&rx.calm) && client_chance(&rx.rng, 100) < BAD_PERCENT;
        rx.bad += bad;
        keep(text, body + 4, !bad);
        return answer(fd, bad);
    }
    rx.harmed++;
    return false;
}

static void *receiver_main(void *arg) {
    char *text = mem_alloc(REQUEST_MAX);
    if (!text) abort();
    while (!atomic_load(&rx.stop)) {
        struct pollfd p = {.fd = rx.door, .events = POLLIN};
        int fd = poll(&p, 1, LOOK_MS) == 1 ? accept(rx.door, NULL, NULL) : -1;
        if (fd < 0) continue;
        bool kept = serve(fd, text);
        if (!kept) close(fd);
        if (rx.held_nr == HELD_MAX || atomic_load(&rx.calm))
            while (rx.held_nr > 0) close(rx.held[--rx.held_nr]);
    }
    while (rx.held_nr > 0) close(rx.held[--rx.held_nr]);
    mem_free(text);
    return arg;
}

void hooks_start(uint64_t seed) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    rx.rng = (seed + 77) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    rx.door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(rx.door, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(rx.door, 128), 0);
    cr_assert_eq(getsockname(rx.door, (struct sockaddr *)&a, &n), 0);
    rx.port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&rx.thread, NULL, receiver_main, NULL), 0);
    for (int i = 0; i < HOOKS_NR; i++) {
        struct reply r = ask(&slots[0].sv, "POST", "/v1/webhooks",
                             fmt("{\"url\":\"http://127.0.0.1:%d/%d\",\"events\":[%s],"
                                 "\"secret\":\"" SECRET "\"}",
                                 rx.port, i, EVENTS[i]),
                             NULL);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        struct str id = text_at(r.body, "webhookId");
        (void)snprintf(rx.ids[i], sizeof rx.ids[i], STR_FMT, STR_ARG(id));
    }
}

void hooks_calm(void) { atomic_store(&rx.calm, true); }

/* ------------------------------------------------------------------------------ afterwards */
static void wait_drained(const struct server *sv) {
    const int64_t end = now_ms() + DRAIN_MS;
    for (int i = 0; i < HOOKS_NR; i++)
        for (struct str now;; nap_ms(20)) {
            arena_reset(test_arena());
            now = ask(sv, "GET", fmt("/v1/host/wopr/webhooks/%s", rx.ids[i]), NULL, NULL).body;
            cr_assert_eq(int_at(now, "deadLetters") + int_at(now, "dropped"), 0, STR_FMT,
                         STR_ARG(now));
            if (int_at(now, "pending") == 0) break;
            cr_assert_lt(now_ms(), end, STR_FMT, STR_ARG(now));
        }
}

static int by_run(const void *x, const void *y) {
    const struct taken *a = x, *b = y;
    int c = strcmp(a->run, b->run);
    if (c == 0) c = (a->hook > b->hook) - (a->hook < b->hook);
    return c != 0 ? c : (a->at > b->at) - (a->at < b->at);
}

static size_t first_of(const char *run, int hook) {
    size_t lo = 0, hi = rx.n;
    const struct taken key = {.hook = hook};
    struct taken k = key;
    (void)snprintf(k.run, sizeof k.run, "%s", run);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (by_run(&rx.v[mid], &k) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static bool asked_for(int hook, struct str event) {
    return strstr(EVENTS[hook], fmt("\"" STR_FMT "\"", STR_ARG(text_at(event, "type")))) != NULL;
}

/* Repetitions left out, the deliveries of a run to a webhook are its events in their order. */
static void check_run(const struct made *m, struct json_elements log, int hook) {
    int64_t last = -1;
    size_t at = first_of(m->id, hook);
    for (size_t i = 0; i < log.n; i++) {
        if (!asked_for(hook, log.v[i])) continue;
        int64_t seq = int_at(log.v[i], "sequence");
        while (at < rx.n && strcmp(rx.v[at].run, m->id) == 0 && rx.v[at].hook == hook &&
               rx.v[at].seq <= last)
            at++;
        bool here = at < rx.n && strcmp(rx.v[at].run, m->id) == 0 && rx.v[at].hook == hook;
        cr_assert(here && rx.v[at].seq == seq, "webhook %d, run %s: %lld instead of %lld", hook,
                  m->id, here ? (long long)rx.v[at].seq : -1, (long long)seq);
        last = seq;
    }
}

void hooks_check(const struct server *sv) {
    wait_drained(sv);
    atomic_store(&rx.stop, true);
    pthread_join(rx.thread, NULL);
    close(rx.door);
    cr_expect_eq(rx.forged, 0u, "every delivery is signed and whole");
    qsort(rx.v, rx.n, sizeof *rx.v, by_run);
    for (int i = 0; i < made_nr(); i++) {
        arena_reset(test_arena());
        if (made[i].replay) {
            size_t at = first_of(made[i].id, 0);
            cr_expect(at == rx.n || strcmp(rx.v[at].run, made[i].id) != 0, "%s is a replay",
                      made[i].id);
            continue;
        }
        if (made[i].fork_depth > 0) continue; /* which of its events it took over is not shown */
        struct json_elements log = elements_of(events_of(sv, made[i].id));
        for (int h = 0; h < HOOKS_NR; h++) check_run(&made[i], log, h);
    }
    fprintf(stderr, "chaos: %zu deliveries, %u ill-treated, %u cut short\n", rx.n, rx.bad,
            rx.harmed);
    free(rx.v);
}

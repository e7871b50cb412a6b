/*
 * kill_loop.c: the real program under load, killed at random moments, started again on its file
 * (20-runtime 14 check 2, HTTP-15, IDEM-5, IDEM-15, EVT-2, STORE-39).
 * WOPR_KILLS: how many (default 20); WOPR_FAULT_SEED: another story.  Which moment a kill hits
 * depends on the machine too, so the seed repeats the requests, not the outcome.
 */
#include "integration/harness.h"

#include "base/mem.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    KILLS_DEFAULT = 20,
    CLIENTS = 3,
    OPS_MAX = 12000,    /* per client */
    ANSWER_MAX = 16384, /* bytes of one HTTP answer */
    RETRIES_FIRST = 12, /* answered requests that a client repeats after a restart */
    ANSWER_WAIT_MS = 10000,
    RUN_ID_BYTES = 40
};

struct op { /* one keyed request, repeated until it is answered */
    char path[96], body[160];
    int of;      /* operation on the run that this op of the client created; -1 = creates */
    long status; /* first answer; 0 = none yet */
    char *answer;
    char run_id[RUN_ID_BYTES];
};
struct client {
    unsigned no;
    uint64_t rng;
    struct op *ops;
    int ops_nr;
    unsigned replays;
    char wrong[512]; /* what was not as it should be; "" = nothing */
};

static struct server sv;
static struct client clients[CLIENTS];
static atomic_bool stop;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(kill_loop, .init = up, .fini = down, .timeout = 900);

static uint64_t number(const char *env, uint64_t otherwise) {
    const char *text = getenv(env);
    uint64_t v;
    return text && str_u64(str_c(text), &v) ? v : otherwise;
}

static uint64_t chance(uint64_t *rng, uint64_t n) { /* xorshift64* */
    *rng ^= *rng >> 12;
    *rng ^= *rng << 25;
    *rng ^= *rng >> 27;
    return (*rng * UINT64_C(2685821657736338717) >> 32) % n;
}

/* ------------------------------------------------------------------------------ one request */
static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The answer as far as it came; the server closes behind it, or dies. */
static size_t read_all(int fd, char *answer) {
    size_t got = 0;
    for (int64_t end = now_ms() + ANSWER_WAIT_MS; now_ms() < end && got + 1 < ANSWER_MAX;) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 50) <= 0) continue;
        ssize_t r = read(fd, answer + got, ANSWER_MAX - 1 - got);
        if (r <= 0) break;
        got += (size_t)r;
    }
    answer[got] = '\0';
    return got;
}

/* Status of a whole answer, *body inside answer; 0 when there was none: nothing is acknowledged. */
static long send_op(int port, const struct client *c, int i, char *answer, char **body) {
    char head[512];
    const struct op *o = &c->ops[i];
    int fd = dial(port);
    if (fd < 0) return 0;
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                     "Idempotency-Key: kill-%u-%d\r\nContent-Type: application/json\r\n"
                     "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                     o->path, TEST_KEY, c->no, i, strlen(o->body), o->body);
    size_t got = 0;
    if (send(fd, head, (size_t)n, MSG_NOSIGNAL) == n) got = read_all(fd, answer);
    close(fd);
    char *cut = got > 12 ? strstr(answer, "\r\n\r\n") : NULL;
    const char *length = cut ? strstr(answer, "\r\nContent-Length:") : NULL;
    if (!length) return 0;
    *body = cut + 4;
    if (strlen(*body) != strtoul(length + 17, NULL, 10)) return 0;
    return strtol(answer + 9, NULL, 10);
}

/* ------------------------------------------------------------------------------ a client */
static void complain(struct client *c, const char *what, int i, const char *got) {
    if (c->wrong[0] != '\0') return;
    snprintf(c->wrong, sizeof c->wrong, "client %u, request %d (%s): %s: %.200s", c->no, i,
             c->ops[i].path, what, got);
}

static void learn_run(struct op *o) {
    const char *p = strstr(o->answer, "\"runId\":\"");
    if (p != NULL) sscanf(p + 9, "%39[^\"]", o->run_id);
}

/* false: the host is gone. */
static bool perform(struct client *c, int i) {
    char answer[ANSWER_MAX], *body;
    struct op *o = &c->ops[i];
    long status = send_op(sv.port, c, i, answer, &body);
    if (status == 0) return false;
    if (status == 429 || status >= 500) return true; /* not acknowledged, tried again later */
    if (o->status == 0) {
        o->status = status;
        o->answer = mem_strndup(body, strlen(body));
        if (o->of < 0) learn_run(o);
        if (o->of < 0 && (status != 201 || o->run_id[0] == '\0'))
            complain(c, "a creation was refused", i, body);
        if (status != 201 && status != 200 && status != 202 && status != 409)
            complain(c, "an odd answer", i, body);
    } else {
        c->replays++;
        if (o->status != status || strcmp(o->answer, body) != 0)
            complain(c, "a retry was answered otherwise", i, body);
        if (strstr(answer, "openwop-Idempotent-Replay: true") == NULL)
            complain(c, "a retry was not called one", i, answer);
    }
    return true;
}

static void new_create(struct client *c, struct op *o) {
    static const char *const workflows[] = {"conformance-multi-node", "conformance-noop",
                                            "conformance-delay", "slow-pipeline",
                                            "conformance-cancellable"};
    uint64_t w = chance(&c->rng, 5);
    *o = (struct op){.of = -1, .path = "/v1/runs"};
    if (w < 2) snprintf(o->body, sizeof o->body, "{\"workflowId\":\"%s\"}", workflows[w]);
    else
        snprintf(o->body, sizeof o->body, "{\"workflowId\":\"%s\",\"inputs\":{\"delayMs\":%d}}",
                 workflows[w], 1 + (int)chance(&c->rng, w == 4 ? 400 : 60));
}

static bool new_control(struct client *c, struct op *o) {
    static const char *const verbs[] = {"/cancel", ":pause", ":pause", ":resume"};
    int of = c->ops_nr - 1 - (int)chance(&c->rng, 12);
    if (of < 0 || c->ops[of].run_id[0] == '\0') return false;
    *o = (struct op){.of = of, .body = "{}"};
    snprintf(o->path, sizeof o->path, "/v1/runs/%s%s", c->ops[of].run_id,
             verbs[chance(&c->rng, 4)]);
    return true;
}

static void *client_main(void *ctx) {
    struct client *c = ctx;
    for (int i = 0; i < c->ops_nr; i++) /* what was in flight when the host died */
        if (c->ops[i].status == 0 && !perform(c, i)) return NULL;
    for (int k = 0; k < RETRIES_FIRST && c->ops_nr > 0; k++)
        if (!perform(c, (int)chance(&c->rng, (uint64_t)c->ops_nr))) return NULL;
    while (!atomic_load(&stop) && c->ops_nr < OPS_MAX) {
        struct op *o = &c->ops[c->ops_nr];
        if (chance(&c->rng, 3) != 0 || !new_control(c, o)) new_create(c, o);
        if (!perform(c, c->ops_nr++)) return NULL;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ the loop */
static void load_for(int ms, bool then_kill) {
    pthread_t threads[CLIENTS];
    atomic_store(&stop, false);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
    nap_ms(ms); /* the moment of the kill, not a synchronisation */
    if (then_kill) server_kill(&sv);
    atomic_store(&stop, true);
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_str_eq(clients[i].wrong, "", "%s", clients[i].wrong);
}

static void retry_everything(void) {
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            for (int again = 0; clients[i].ops[k].status == 0 && again < 20; again++)
                cr_assert(perform(&clients[i], k), "the host is gone");
            cr_assert(perform(&clients[i], k), "the host is gone");
            cr_assert_str_eq(clients[i].wrong, "", "%s", clients[i].wrong);
        }
}

/* Paused runs wait legitimately: they are resumed, and then all of them end. */
static unsigned end_all_runs(void) {
    unsigned runs = 0;
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            if (clients[i].ops[k].of >= 0) continue;
            const char *id = clients[i].ops[k].run_id;
            struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", id), NULL, NULL);
            cr_assert_eq(r.status, 200, "acknowledged run %s: " STR_FMT, id, STR_ARG(r.body));
            if (str_eqc(text_at(r.body, "status"), "paused"))
                ask(&sv, "POST", fmt("/v1/runs/%s:resume", id), "{}", NULL);
            runs++;
            if (k % 64 == 0) arena_reset(test_arena());
        }
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            if (clients[i].ops[k].of < 0) wait_terminal(&sv, clients[i].ops[k].run_id);
            if (k % 64 == 0) arena_reset(test_arena());
        }
    return runs;
}

/* No node ends twice: loops aside, which these workflows do not have. */
static void check_events(struct store *s, const struct run_head *h, struct arena *a) {
    struct event_list l;
    struct wopr_error err;
    cr_assert_eq(store_events(s, h->run_no, 0, 10000, 1u << 28, a, &l, &err), 0);
    cr_assert_eq((int64_t)l.n, h->next_seq);
    for (size_t i = 0; i < l.n; i++) {
        cr_assert_eq(l.v[i].seq, (int64_t)i, "a hole"); /* EVT-2 */
        for (size_t k = 0; l.v[i].kind == EV_NODE_COMPLETED && k < i; k++)
            cr_assert(l.v[k].kind != EV_NODE_COMPLETED || !str_eq(l.v[k].node_id, l.v[i].node_id),
                      "run " STR_FMT ": node " STR_FMT " completed twice", STR_ARG(h->run_id),
                      STR_ARG(l.v[i].node_id));
    }
    cr_assert(run_status_final(h->status) && l.n > 0 && event_is_terminal(l.v[l.n - 1].kind));
}

static void check_file(unsigned runs) {
    struct store_config cfg = {.path = sv.db, .read_only = true};
    struct store *s = NULL;
    struct wopr_error err;
    struct store_counts n;
    struct arena *a = arena_new(256u << 20);
    cr_assert_eq(store_open(&cfg, &s, &err), 0, "%s", err.message);
    cr_assert_eq(store_count(s, &n, &err), 0, "%s", err.message);
    cr_assert_eq(n.runs, (int64_t)runs, "%d runs for %u keys", (int)n.runs, runs);
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            struct run_head h;
            if (clients[i].ops[k].of >= 0) continue;
            arena_reset(a);
            cr_assert_eq(store_run_head(s, STR("default"), true, str_c(clients[i].ops[k].run_id), a,
                                        &h, &err),
                         0, "%s: %s", clients[i].ops[k].run_id, err.message);
            check_events(s, &h, a);
        }
    store_close(s);
    arena_free(a);
}

Test(kill_loop, acknowledged_requests_survive_any_kill) {
    const uint64_t seed = number("WOPR_FAULT_SEED", 20261121);
    const uint64_t kills = number("WOPR_KILLS", KILLS_DEFAULT);
    static const char *const verify[] = {"verify", NULL};
    uint64_t rng = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    unsigned requests = 0, replays = 0;
    fprintf(stderr, "kill loop: seed %llu, %llu kills\n", (unsigned long long)seed,
            (unsigned long long)kills);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.no = i, .rng = rng + i * 977 + 1};
        clients[i].ops = mem_array(OPS_MAX, sizeof(struct op));
        cr_assert_not_null(clients[i].ops);
    }
    for (uint64_t k = 0; k < kills; k++) {
        load_for(1 + (int)chance(&rng, 150), true);
        server_again(&sv);
        arena_reset(test_arena());
    }
    load_for(50, false);
    retry_everything();
    unsigned runs = end_all_runs();
    cr_assert_eq(server_stop(&sv), 0);
    check_file(runs);
    struct str out, why;
    cr_expect_eq(program(&sv, verify, &out, &why), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(why));
    for (int i = 0; i < CLIENTS; i++) {
        requests += (unsigned)clients[i].ops_nr;
        replays += clients[i].replays;
        for (int k = 0; k < clients[i].ops_nr; k++) mem_free(clients[i].ops[k].answer);
        mem_free(clients[i].ops);
    }
    fprintf(stderr, "kill loop: %u requests, %u runs, %u replays\n", requests, runs, replays);
}

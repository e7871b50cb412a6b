/*
 * kill_loop.c: the real program under load, killed at random moments, started again on its file
 * (20-runtime 14 check 2, HTTP-15, IDEM-5, IDEM-15, EVT-2, STORE-39).
 * WOPR_KILLS: how many (default 20); WOPR_FAULT_SEED: another story.  Which moment a kill hits
 * depends on the machine too, so the seed repeats the requests, not the outcome.
 */
#include "integration/client.h"
#include "integration/harness.h"

#include "base/mem.h"
#include "store/admin.h"
#include "store/events.h"
#include "store/runs.h"
#include "store/sqlite/sqlite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

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

/* ------------------------------------------------------------------------------ one request */
static long send_op(int port, const struct client *c, int i, char *answer, char **body) {
    char key[64];
    snprintf(key, sizeof key, "kill-%u-%d", c->no, i);
    return client_ask(port, "POST", c->ops[i].path, key, c->ops[i].body, ANSWER_WAIT_MS, answer,
                      ANSWER_MAX, body);
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
    uint64_t w = client_chance(&c->rng, 5);
    *o = (struct op){.of = -1, .path = "/v1/runs"};
    if (w < 2) snprintf(o->body, sizeof o->body, "{\"workflowId\":\"%s\"}", workflows[w]);
    else
        snprintf(o->body, sizeof o->body, "{\"workflowId\":\"%s\",\"inputs\":{\"delayMs\":%d}}",
                 workflows[w], 1 + (int)client_chance(&c->rng, w == 4 ? 400 : 60));
}

static bool new_control(struct client *c, struct op *o) {
    static const char *const verbs[] = {"/cancel", ":pause", ":pause", ":resume"};
    int of = c->ops_nr - 1 - (int)client_chance(&c->rng, 12);
    if (of < 0 || c->ops[of].run_id[0] == '\0') return false;
    *o = (struct op){.of = of, .body = "{}"};
    snprintf(o->path, sizeof o->path, "/v1/runs/%s%s", c->ops[of].run_id,
             verbs[client_chance(&c->rng, 4)]);
    return true;
}

static void *client_main(void *ctx) {
    struct client *c = ctx;
    for (int i = 0; i < c->ops_nr; i++) /* what was in flight when the host died */
        if (c->ops[i].status == 0 && !perform(c, i)) return NULL;
    for (int k = 0; k < RETRIES_FIRST && c->ops_nr > 0; k++)
        if (!perform(c, (int)client_chance(&c->rng, (uint64_t)c->ops_nr))) return NULL;
    while (!atomic_load(&stop) && c->ops_nr < OPS_MAX) {
        struct op *o = &c->ops[c->ops_nr];
        if (client_chance(&c->rng, 3) != 0 || !new_control(c, o)) new_create(c, o);
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
    const uint64_t seed = client_number("WOPR_FAULT_SEED", 20261121);
    const uint64_t kills = client_number("WOPR_KILLS", KILLS_DEFAULT);
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
        load_for(1 + (int)client_chance(&rng, 150), true);
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

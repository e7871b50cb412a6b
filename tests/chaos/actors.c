/* actors.c: clients that create, resolve, cancel, pause and fork through whichever host answers. */
#include "world.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 60, TRY_NAP_MS = 50, OP_NAP_MS = 4, RECENT = 40 };

static const struct {
    const char *workflow, *gate; /* the node that waits for somebody, NULL = none */
} SHAPES[SHAPE_NR] = {
    [SHAPE_DELAY] = {"conformance-delay", NULL},
    [SHAPE_APPROVAL] = {"conformance-approval", "gate"},
    [SHAPE_QUORUM] = {"conformance-interrupt-quorum", "gate"},
    [SHAPE_PARENT] = {"conformance-subworkflow-parent", NULL},
    [SHAPE_PARENT_GATE] = {"conformance-interrupt-parent-child-cancel", NULL},
    [SHAPE_OUTSIDE] = {"outside", NULL},
    [SHAPE_NESTED] = {"chaos-nested", NULL},
    [SHAPE_SECRET] = {"chaos-secret", "gate"},
    [SHAPE_WORKER] = {"chaos-worker", "asks"},
    [SHAPE_CHILD_GATE] = {NULL, "child-gate"},
};

struct client clients[CLIENTS];
struct made made[RUNS_MAX];
struct peer *peer;
atomic_bool actors_stop;
static atomic_int made_count;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

int made_nr(void) { return atomic_load(&made_count); }

void actors_init(uint64_t seed) {
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] =
            (struct client){.no = i, .rng = (seed + i * 977) * UINT64_C(0x9e3779b97f4a7c15) | 1};
        clients[i].ops = mem_array(OPS_MAX, sizeof(struct op));
        cr_assert_not_null(clients[i].ops);
    }
}

void actors_free(void) {
    for (int i = 0; i < CLIENTS; i++) {
        for (int k = 0; k < clients[i].ops_nr; k++) mem_free(clients[i].ops[k].answer);
        mem_free(clients[i].ops);
    }
}

static void made_add(const char *id, enum shape shape, int fork_depth, bool replay) {
    pthread_mutex_lock(&made_lock);
    int n = atomic_load(&made_count);
    if (n < RUNS_MAX) {
        made[n] = (struct made){.shape = shape, .fork_depth = fork_depth, .replay = replay};
        snprintf(made[n].id, sizeof made[n].id, "%s", id);
        atomic_store(&made_count, n + 1);
    }
    pthread_mutex_unlock(&made_lock);
}

static void complain(struct client *c, const char *what, const struct op *o, const char *got) {
    if (c->wrong[0] != '\0') return;
    snprintf(c->wrong, sizeof c->wrong, "client %u, %s %s: %s: %.300s", c->no, o->path, o->body,
             what, got);
}

static bool run_id_in(const char *json, char id[ID_BYTES]) {
    const char *p = strstr(json, "\"runId\":\"");
    return p != NULL && sscanf(p + 9, "%63[^\"]", id) == 1;
}

/* --- answers --- */

static void first_answer(struct client *c, struct op *o, long status, const char *body) {
    char id[ID_BYTES];
    o->answer = mem_strndup(body, strlen(body));
    o->status = status;
    if (o->kind == OP_CREATE || (o->kind == OP_FORK && status == 201)) {
        if (status != 201 || !run_id_in(body, id)) {
            complain(c, "a creation was refused", o, body);
            return;
        }
        bool fork = o->kind == OP_FORK;
        enum shape shape = fork ? made[o->run].shape : (enum shape)o->run;
        made_add(id, shape, fork ? made[o->run].fork_depth + 1 : 0,
                 fork && strstr(o->body, "replay") != NULL);
        return;
    }
    static const long fine[] = {200, 202, 400, 404, 409, 410, 422};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (status == fine[i]) return;
    complain(c, "an odd answer", o, body);
}

/* The first try may still wait in a frozen host while the next one is refused (IDEM-11). */
static bool acknowledged(long status, const char *body) {
    if (status == 0 || status == 429 || status >= 500) return false;
    return status != 409 || strstr(body, "\"idempotency_in_flight\"") == NULL;
}

/* IDEM-8; and a question that nobody has asked yet may come. */
static bool kept(const struct op *o) {
    return o->status != 400 && strstr(o->answer, "\"interrupt_not_found\"") == NULL;
}

static void forget_answer(struct op *o) {
    mem_free(o->answer);
    o->answer = NULL;
    o->status = 0;
}

static void perform(struct client *c, int i) {
    struct op *o = &c->ops[i];
    char key[64], *answer = mem_alloc(ANSWER_BYTES), *body = answer;
    snprintf(key, sizeof key, "chaos-%u-%d", c->no, i);
    for (int t = 0; answer != NULL && t < TRIES; t++) {
        int port = hosts_port(&c->rng);
        long status = port == 0 ? 0
                                : client_ask(port, "POST", o->path, key, o->body, ASK_WAIT_MS,
                                             answer, ANSWER_BYTES, &body);
        if (!acknowledged(status, body)) { /* again, elsewhere */
            if (atomic_load(&actors_stop) && t > 2) break;
            nap_ms(TRY_NAP_MS);
            continue;
        }
        if (o->kind == OP_RESOLVE && o->status != 0 && !kept(o))
            forget_answer(o); /* it was executed anew, and may win */
        if (o->status == 0) first_answer(c, o, status, body);
        else if (kept(o) && (o->status != status || strcmp(o->answer, body) != 0)) {
            char what[320];
            snprintf(what, sizeof what, "first answered %ld %.200s, then %ld", o->status, o->answer,
                     status);
            complain(c, what, o, body);
        }
        break;
    }
    mem_free(answer);
}

/* --- what to ask --- */

static void create(struct client *c, struct op *o) {
    enum shape shape = (enum shape)client_chance(&c->rng, SHAPE_CHILD_GATE);
    *o = (struct op){.kind = OP_CREATE, .run = (int)shape, .path = "/v1/runs"};
    char inputs[96] = "";
    if (shape == SHAPE_DELAY)
        snprintf(inputs, sizeof inputs, ",\"inputs\":{\"delayMs\":%d}",
                 1 + (int)client_chance(&c->rng, 300));
    if (shape == SHAPE_OUTSIDE)
        snprintf(inputs, sizeof inputs, ",\"inputs\":{\"url\":\"http://127.0.0.1:%d/orders\"}",
                 peer_port(peer));
    if (shape == SHAPE_SECRET || shape == SHAPE_WORKER)
        snprintf(inputs, sizeof inputs, ",\"inputs\":{\"token\":\"" CANARY "%02u%010d\"}", c->no,
                 c->ops_nr);
    snprintf(o->body, sizeof o->body, "{\"workflowId\":\"%s\"%s}", SHAPES[shape].workflow, inputs);
}

/* The child of a waiting parent becomes a run that can be resolved. */
static void find_child(struct client *c, const struct made *m) {
    char path[128], id[ID_BYTES], *body, *answer = mem_alloc(ANSWER_BYTES);
    int port = hosts_port(&c->rng);
    snprintf(path, sizeof path, "/v1/runs/%s", m->id);
    if (answer != NULL && port != 0 &&
        client_ask(port, "GET", path, NULL, "", ASK_WAIT_MS, answer, ANSWER_BYTES, &body) == 200) {
        const char *children = strstr(body, "\"childRuns\":[{");
        if (children != NULL && run_id_in(children, id)) made_add(id, SHAPE_CHILD_GATE, 0, false);
    }
    mem_free(answer);
}

static bool resolve(struct client *c, struct op *o, const struct made *m, int run) {
    const char *gate = SHAPES[m->shape].gate;
    if (m->shape == SHAPE_PARENT_GATE) find_child(c, m);
    if (gate == NULL) return false;
    *o = (struct op){.kind = OP_RESOLVE, .run = run};
    snprintf(o->path, sizeof o->path, "/v1/runs/%s/interrupts/%s", m->id, gate);
    if (m->shape == SHAPE_QUORUM)
        snprintf(o->body, sizeof o->body,
                 "{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"v%d\"}}",
                 (int)client_chance(&c->rng, 4));
    else
        snprintf(o->body, sizeof o->body,
                 "{\"resumeValue\":{\"action\":\"%s\",\"comment\":\"%u-%d\"}}",
                 client_chance(&c->rng, 4) == 0 ? "reject" : "accept", c->no, c->ops_nr);
    return true;
}

static bool next(struct client *c, struct op *o) {
    static const char *const tails[] = {[OP_CANCEL] = "/cancel",
                                        [OP_PAUSE] = ":pause",
                                        [OP_RESUME] = ":resume",
                                        [OP_FORK] = ":fork"};
    static const enum op_kind dice[] = {OP_CREATE,  OP_CREATE,  OP_CREATE,  OP_RESOLVE,
                                        OP_RESOLVE, OP_RESOLVE, OP_RESOLVE, OP_CANCEL,
                                        OP_PAUSE,   OP_RESUME,  OP_RESUME,  OP_FORK};
    enum op_kind kind = dice[client_chance(&c->rng, sizeof dice / sizeof *dice)];
    int n = made_nr();
    if (kind == OP_CREATE || n == 0) {
        create(c, o);
        return true;
    }
    int run = n - 1 - (int)client_chance(&c->rng, (uint64_t)(n < RECENT ? n : RECENT));
    const struct made *m = &made[run];
    if (kind == OP_RESOLVE) return resolve(c, o, m, run);
    if (kind == OP_FORK && m->fork_depth >= FORK_DEPTH_MAX) return false;
    *o = (struct op){.kind = kind, .run = run, .body = "{}"};
    snprintf(o->path, sizeof o->path, "/v1/runs/%s%s", m->id, tails[kind]);
    if (kind == OP_FORK)
        snprintf(o->body, sizeof o->body, "{\"fromSeq\":%d,\"mode\":\"%s\"}",
                 (int)client_chance(&c->rng, 4),
                 client_chance(&c->rng, 2) == 0 ? "replay" : "branch");
    return true;
}

void *actor_main(void *arg) {
    struct client *c = arg;
    while (!atomic_load(&actors_stop) && c->ops_nr < OPS_MAX && made_nr() < RUNS_MAX - CLIENTS) {
        if (!next(c, &c->ops[c->ops_nr])) continue;
        perform(c, c->ops_nr++);
        if (c->wrong[0] != '\0') break;
        nap_ms(OP_NAP_MS); /* bounds the load */
    }
    return NULL;
}

void actors_settle(void) {
    atomic_store(&actors_stop, false);
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < clients[i].ops_nr; k++) {
            perform(&clients[i], k); /* what was kept is answered the same once more */
            cr_assert_neq(clients[i].ops[k].status, 0, "no answer to %s %s", clients[i].ops[k].path,
                          clients[i].ops[k].body);
            cr_assert_str_eq(clients[i].wrong, "", "%s", clients[i].wrong);
        }
}

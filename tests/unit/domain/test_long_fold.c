/* test_long_fold.c: what a fold costs grows with the length of its log, not with its square: gates
 * in long loops, many approvals answered one by one, retries beside many nodes, rounds that wait
 * for long chains (20-runtime 10.4, INT-2, INT-12, WF-24). */
#include "base/sanitized.h"
#include "domain/state.h"
#include "support/growth.h"

#include "base/buf.h"
#include "codec/json.h"
#include "domain/interrupt.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct world {
    struct workflow *wf;
    struct run_state *s;
    int64_t now_ms;
    unsigned asked;
};

static void up(struct world *w, const struct buf *nodes, const struct buf *edges,
               const struct buf *more) {
    struct wopr_error err = {0};
    struct buf b;
    buf_init(&b, 4u << 20);
    buf_addf(&b,
             "{\"id\":\"t\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
             "\"settings\":{\"maxLoopbackIterations\":1000000}%s}",
             nodes->p, edges->len > 0 ? edges->p : "", more->len > 0 ? more->p : "");
    *w = (struct world){.now_ms = 1000};
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
    cr_assert_eq(workflow_compile(buf_str(&b), &(struct wf_env){0}, &w->wf, &err), 0, "%s",
                 err.message);
    struct run_meta meta = {.run_id = STR("run_1"),
                            .workflow_id = STR("t"),
                            .tenant = STR("default"),
                            .transport = STR("rest"),
                            .created_ms = 1,
                            .recursion_limit = 10000000};
    cr_assert_eq(run_state_new(w->wf, &meta, &RUN_LIMITS_DEFAULT, &w->s, &err), 0);
    buf_fini(&b);
}

static void down(struct world *w) {
    run_state_free(w->s);
    workflow_unref(w->wf);
}

static void take(struct world *w, enum ev_kind kind, int node, const char *payload) {
    struct wopr_error err = {0};
    struct event e = {.seq = w->s->next_seq,
                      .kind = kind,
                      .type = str_c(event_name(kind)),
                      .node_id = node < 0 ? STR("") : w->wf->nodes[node].id,
                      .causation_seq = -1,
                      .ts_ms = ++w->now_ms,
                      .schema_version = 1,
                      .engine_version = 1,
                      .payload = str_c(payload)};
    cr_assert_eq(run_state_apply(w->s, &e, &err), 0, "%s", err.message);
}

static void ask(struct world *w, int node, unsigned nr) {
    char text[200];
    snprintf(text, sizeof text,
             "{\"kind\":\"approval\",\"key\":\"run_1:" STR_FMT ":%u\",\"data\":{}}",
             STR_ARG(w->wf->nodes[node].id), nr);
    take(w, EV_INTERRUPT_REQUESTED, node, text);
    snprintf(text, sizeof text, "{\"interruptId\":\"i%d.%u\",\"kind\":\"approval\"}", node, nr);
    take(w, EV_NODE_SUSPENDED, node, text);
}

static void answer(struct world *w, int node, unsigned nr) {
    char text[200];
    snprintf(text, sizeof text,
             "{\"interruptId\":\"i%d.%u\",\"resumeValue\":{\"action\":\"accept\"}}", node, nr);
    take(w, EV_INTERRUPT_RESOLVED, node, text);
    take(w, EV_NODE_RESUMED, node, "{}");
    take(w, EV_NODE_COMPLETED, node, "{\"outputs\":{\"action\":\"accept\"}}");
}

static void node_add(struct buf *b, unsigned n) {
    buf_addf(b, "%s{\"id\":\"n%u\",\"typeId\":\"core.noop\",\"name\":\"n\"}", b->len ? "," : "", n);
}

static void edge_add(struct buf *b, unsigned from, unsigned to) {
    buf_addf(b, "%s{\"id\":\"e%u_%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n%u\"}",
             b->len ? "," : "", from, to, from, to);
}

static struct sched_action next(const struct world *w) {
    struct sched_action a;
    sched_next(w->s, w->now_ms, &a);
    return a;
}

/* A gate that is asked and answered in each of n rounds. */
static void gate_in_a_loop(unsigned n, struct world *w) {
    for (unsigned i = 0; i < n; i++) {
        struct arena *a = arena_new(1u << 16);
        char want[64], after[64];
        snprintf(want, sizeof want, "run_1:n0:%u", i);
        snprintf(after, sizeof after, "run_1:n0:%u", i + 1);
        cr_assert(next(w).what == SCHED_START && next(w).node == 0);
        take(w, EV_NODE_STARTED, 0, "{}");
        cr_assert(str_eqc(intr_key_of(w->s, 0, 0, a), want)); /* INT-3 */
        ask(w, 0, i);
        cr_assert(run_state_intr_open(w->s, 0) == &w->s->interrupts.v[i]);
        cr_assert(str_eqc(intr_key_of(w->s, 0, 0, a), want));
        cr_assert(str_eqc(intr_key_of(w->s, 0, 1, a), after));
        answer(w, 0, i);
        cr_assert(run_state_intr_open(w->s, 0) == NULL);
        take(w, EV_NODE_STARTED, 1, "{}");
        take(w, EV_NODE_COMPLETED, 1, "{}");
        arena_free(a);
    }
}

/* n gates side by side, answered in the order of the definition. */
static void gates_side_by_side(unsigned n, struct world *w) {
    for (unsigned i = 0; i < n; i++) {
        take(w, EV_NODE_STARTED, (int)i, "{}");
        ask(w, (int)i, 0);
    }
    for (unsigned i = 0; i < n; i++) {
        cr_assert_eq(w->s->current_node, (int)i); /* INT-12: the earliest */
        answer(w, (int)i, 0);
    }
}

/* The last node waits for its retry while all others come and go. */
static void retry_beside(unsigned n, struct world *w) {
    take(w, EV_NODE_STARTED, (int)n - 1, "{}");
    take(w, EV_NODE_RETRIED, (int)n - 1, "{\"attempt\":1,\"delayMs\":100000000}");
    for (unsigned i = 0; i + 1 < n; i++) {
        struct sched_action a = next(w);
        cr_assert(a.what == SCHED_START && a.node == (int)i);
        take(w, EV_NODE_STARTED, a.node, "{}");
        take(w, EV_NODE_COMPLETED, a.node, "{}");
    }
    cr_assert_eq(next(w).what, SCHED_WAIT);
}

/* n0 asks for a round at once, which waits for the chain behind it. */
static void round_waits(unsigned n, struct world *w) {
    for (unsigned i = 0; i < n; i++) {
        struct sched_action a = next(w);
        cr_assert(a.what == SCHED_START, "%u: %d", i, (int)a.what);
        take(w, EV_NODE_STARTED, a.node, "{}");
        take(w, EV_NODE_COMPLETED, a.node, "{}");
    }
    cr_assert(next(w).node == 0);
}

/* All nodes wait for retries of different lengths, and start again as each is over. */
static void retries_together(unsigned n, struct world *w) {
    char text[80];
    for (unsigned i = 0; i < n; i++) {
        take(w, EV_NODE_STARTED, (int)i, "{}");
        snprintf(text, sizeof text, "{\"attempt\":1,\"delayMs\":%u}", 100000000u + 7919 * i % n);
        take(w, EV_NODE_RETRIED, (int)i, text);
        (void)next(w);
    }
    for (unsigned i = 0; i < n; i++) {
        if (sched_next_retry_ms(w->s) > w->now_ms) w->now_ms = sched_next_retry_ms(w->s);
        struct sched_action a = next(w);
        cr_assert(a.what == SCHED_START);
        take(w, EV_NODE_STARTED, a.node, "{}");
        take(w, EV_NODE_COMPLETED, a.node, "{}");
    }
}

/* All nodes but the first are started by writes to channels, and held until these are quiet. */
static void firings_beside(unsigned n, struct world *w) {
    char text[80];
    take(w, EV_NODE_STARTED, 0, "{}");
    for (unsigned i = 0; i < n; i++) {
        snprintf(text, sizeof text, "{\"channel\":\"c%u\",\"reducer\":\"append\",\"value\":1}",
                 i % (n / 4));
        take(w, EV_CHANNEL_WRITTEN, 0, text);
        cr_assert(next(w).what == SCHED_WAIT);
    }
    w->now_ms = sched_next_trigger_ms(w->s) + (int)n;
    for (struct sched_action a = next(w); a.what == SCHED_START; a = next(w)) {
        take(w, EV_NODE_STARTED, a.node, "{}");
        take(w, EV_NODE_COMPLETED, a.node, "{}");
    }
    cr_assert_eq(w->s->started_count, n);
}

/* All nodes but the first want a further round, which waits for the first, which they reach. */
static void rounds_beside(unsigned n, struct world *w) {
    for (unsigned i = 1; i < n; i++) {
        struct sched_action a = next(w);
        cr_assert(a.what == SCHED_START);
        take(w, EV_NODE_STARTED, a.node, "{}");
        if (a.node > 0) take(w, EV_NODE_COMPLETED, a.node, "{}");
    }
    cr_assert_eq(w->s->sched.loops_nr, n - 2);
}

enum shape { LOOP, FLAT, CHAIN, FIRED, ROUNDS };

static void firings_add(struct buf *more, unsigned nodes) {
    buf_addz(more, ",\"channels\":{");
    for (unsigned i = 0; i < nodes / 4; i++)
        buf_addf(more, "%s\"c%u\":{\"reducer\":\"append\"}", i ? "," : "", i);
    buf_addz(more, "},\"triggers\":[");
    for (unsigned i = 1; i < nodes; i++)
        buf_addf(more,
                 "%s{\"id\":\"t%u\",\"type\":\"channel-write\",\"nodeId\":\"n%u\",\"config\":{"
                 "\"channel\":\"c%u\",\"debounceMs\":60000}}",
                 i > 1 ? "," : "", i, i, i % (nodes / 4));
    buf_addz(more, "]");
}

static uint64_t cost_us(enum shape shape, unsigned nodes, unsigned n,
                        void (*run)(unsigned n, struct world *w)) {
    struct buf b, e, more;
    struct world w;
    buf_init(&more, 4u << 20);
    buf_init(&b, 4u << 20);
    buf_init(&e, 4u << 20);
    for (unsigned i = 0; i < nodes; i++) node_add(&b, i);
    for (unsigned i = 0; shape == CHAIN && i + 1 < nodes; i++) edge_add(&e, i, i + 1);
    if (shape == LOOP) edge_add(&e, 0, 1), edge_add(&e, 1, 0);
    if (shape == CHAIN) edge_add(&e, 1, 0);
    for (unsigned i = 1; shape == ROUNDS && i < nodes; i++) {
        edge_add(&e, i, i);
        buf_addf(&e,
                 ",{\"id\":\"s%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n0\","
                 "\"triggerRule\":\"any_success\"}",
                 i, i);
    }
    if (shape == FIRED) firings_add(&more, nodes);
    up(&w, &b, &e, &more);
    take(&w, EV_RUN_STARTED, -1, "{}");
    uint64_t began = cpu_time_us();
    run(n, &w);
    uint64_t us = cpu_time_us() - began;
    down(&w);
    buf_fini(&more);
    buf_fini(&b);
    buf_fini(&e);
    return us;
}

struct shaped {
    enum shape shape;
    unsigned nodes, n; /* of the smaller one */
    void (*run)(unsigned n, struct world *w);
};

static uint64_t shaped_cost(void *ctx, unsigned n) {
    const struct shaped *s = ctx;
    unsigned nodes = s->nodes > 2 ? s->nodes * (n / s->n) : s->nodes;
    return cost_us(s->shape, nodes, n, s->run);
}

static void linear(const char *what, enum shape shape, unsigned nodes, unsigned n,
                   void (*run)(unsigned n, struct world *w)) {
    struct shaped shaped = {shape, nodes, n, run};
    const struct growth g = {shaped_cost, &shaped, n, 4 * n, GROWTH_FACTOR, 40000};
    char told[512];
#if SANITIZED_THREAD
    (void)growth_holds; /* its shadow memory costs more the more is touched */
    (void)g, (void)told, (void)what;
    (void)shaped_cost(&shaped, 4 * n);
#else
    cr_expect(growth_holds(&g, told, sizeof told), "%s: %s", what, told);
#endif
}

Test(long_fold, a_round_that_waits_for_a_chain_costs_no_square /* WF-13 */) {
    linear("chain", CHAIN, 2000, 2000, round_waits);
}

Test(long_fold, a_retry_beside_many_nodes_costs_no_square /* WF-24 */) {
    linear("retry", FLAT, 2500, 2500, retry_beside);
}

Test(long_fold, approvals_answered_one_by_one_cost_no_square /* INT-12 */) {
    linear("approvals", FLAT, 2000, 2000, gates_side_by_side);
}

Test(long_fold, a_gate_in_a_long_loop_costs_no_square /* INT-2, INT-3 */) {
    linear("gates", LOOP, 2, 4000, gate_in_a_loop);
}

Test(long_fold, retries_that_wait_together_cost_no_square /* WF-24 */) {
    linear("retries", FLAT, 2500, 2500, retries_together);
}

Test(long_fold, firings_beside_many_triggers_cost_no_square /* CHAN-20 */) {
    linear("firings", FIRED, 1500, 1500, firings_beside);
}

Test(long_fold, rounds_that_wait_together_cost_no_square /* WF-13 */) {
    linear("rounds", ROUNDS, 1000, 1000, rounds_beside);
}

/* sched_world.c: see sched_world.h. */
#include "sched_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

void world_up(struct world *x, const char *nodes, const char *edges, const char *more,
              const char *options) {
    struct buf b;
    struct wopr_error err;
    buf_init(&b, 1 << 20);
    buf_addf(&b, "{\"id\":\"t\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s]%s}",
             nodes, edges, more ? more : "");
    *x = (struct world){.now = 1000};
    buf_init(&x->trace, 1 << 20);
    wopr_error_clear(&err);
    cr_assert(json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, &err) == 0, "%s: %s", err.message, b.p);
    cr_assert(workflow_compile(buf_str(&b), NULL, &x->w, &err) == 0, "%s %s", err.pointer,
              err.message);
    buf_fini(&b);
    struct run_meta meta = {.run_id = STR("run_1"),
                            .workflow_id = STR("t"),
                            .tenant = STR("default"),
                            .configurable = str_c(options ? options : ""),
                            .transport = STR("rest"),
                            .created_ms = 1};
    cr_assert(run_state_new(x->w, &meta, &RUN_LIMITS_DEFAULT, &x->s, &err) == 0, "%s", err.message);
}

void world_down(struct world *x) {
    run_state_free(x->turns);
    run_state_free(x->s);
    workflow_unref(x->w);
    buf_fini(&x->trace);
}

uint32_t dice(uint32_t *seed, uint32_t sides) { /* xorshift: the same graphs every time */
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed % sides;
}

static bool turn_over(void *seed) { return dice(seed, 2) == 0; }

/* Edges are settled in turns, and some of them by the next event: both states decide the same. */
static void fold_in_turns(struct world *x, const struct event *e) {
    const struct run_pace pace = {.over = turn_over, .ctx = &x->seed};
    struct sched_action a, b;
    struct wopr_error err;
    cr_assert_eq(run_state_begin(x->turns, e, &err), 0, "%s", err.message);
    while (run_state_busy(x->turns) && dice(&x->seed, 8) > 0)
        cr_assert_eq(run_state_finish(x->turns, &pace, &err), 0);
    if (run_state_busy(x->turns)) return;
    sched_next(x->s, x->now, &a);
    sched_next(x->turns, x->now, &b);
    cr_expect(a.what == b.what && a.node == b.node && a.reason == b.reason, "event %d",
              (int)e->seq);
}

int try_event(struct world *x, enum ev_kind kind, int node, const char *payload) {
    struct wopr_error err;
    struct event e = {.seq = x->s->next_seq,
                      .kind = kind,
                      .type = str_c(event_name(kind)),
                      .node_id = node < 0 ? STR("") : x->w->nodes[node].id,
                      .causation_seq = -1,
                      .ts_ms = x->now,
                      .schema_version = 1,
                      .engine_version = 1,
                      .payload = str_c(payload)};
    wopr_error_clear(&err);
    int rc = run_state_apply(x->s, &e, &err);
    const char *broken = rc == 0 ? run_state_broken(x->s) : NULL;
    cr_expect(broken == NULL, "%s after %s", broken, event_name(kind));
    if (rc == 0 && x->turns) fold_in_turns(x, &e);
    return rc;
}

void event(struct world *x, enum ev_kind kind, int node, const char *payload) {
    int rc = try_event(x, kind, node, payload);
    cr_assert(rc == 0, "%s of node %d: %d (trace %s)", event_name(kind), node, rc, x->trace.p);
}

int at(const struct world *x, const char *id) {
    int n = workflow_node_index(x->w, str_c(id));
    cr_assert(n >= 0, "%s", id);
    return n;
}

/* WF-14, by looking at every node: the first that is ready, or whose time has come. */
static int first_by_looking(const struct world *x) {
    for (size_t i = 0; i < x->w->nodes_nr; i++) {
        const struct node_state *n = &x->s->nodes[i];
        bool held = n->sched.phase == PHASE_HELD && n->sched.due_ms <= x->now;
        bool waited = n->retry_at_ms > 0 && n->retry_at_ms <= x->now;
        if (held || waited || n->sched.phase == PHASE_READY) return (int)i;
    }
    return -1;
}

struct sched_action next(const struct world *x) {
    struct sched_action a;
    sched_next(x->s, x->now, &a);
    if (a.what == SCHED_START) cr_expect_eq(a.node, first_by_looking(x));
    return a;
}

static const char *ending(const struct script *sc, const char *id) {
    for (; sc != NULL && sc->node != NULL; sc++)
        if (strcmp(sc->node, id) == 0) return sc->ends;
    return "{}";
}

static void finish(struct world *x, int node, const char *how) {
    char payload[512];
    if (strcmp(how, "fail") == 0) event(x, EV_NODE_FAILED, node, FAILED_PAYLOAD);
    else if (strcmp(how, "cancel") == 0) event(x, EV_NODE_CANCELLED, node, "{\"reason\":\"r\"}");
    else if (strcmp(how, "hold") != 0) {
        snprintf(payload, sizeof(payload), "{\"outputs\":%s}", how);
        event(x, EV_NODE_COMPLETED, node, payload);
    }
}

/* One action turned into events, noted in the trace.  false at rest or at the end. */
bool step(struct world *x, const struct script *sc) {
    struct sched_action a = next(x);
    const char *id = a.node >= 0 ? x->w->nodes[a.node].id.p : "";
    char payload[128];
    x->now++;
    switch (a.what) {
    case SCHED_WAIT:
        return false;
    case SCHED_START:
        buf_addf(&x->trace, "+%s ", id);
        event(x, EV_NODE_STARTED, a.node, "{}");
        finish(x, a.node, ending(sc, id));
        return true;
    case SCHED_SKIP:
        buf_addf(&x->trace, "-%s ", id);
        cr_assert(a.reason != NULL);
        snprintf(payload, sizeof(payload), "{\"reason\":\"%s\"}", a.reason);
        event(x, EV_NODE_SKIPPED, a.node, payload);
        return true;
    case SCHED_LOOP_LIMIT:
        buf_addf(&x->trace, "!%s ", id);
        event(x, EV_LOOPBACK_LIMIT, a.node, "{}");
        event(x, EV_NODE_FAILED, a.node, FAILED_PAYLOAD);
        return true;
    case SCHED_CAP:
        buf_addf(&x->trace, "#%s", id);
        return false;
    case SCHED_FAIL:
        buf_addf(&x->trace, "FAIL %s", id);
        return false;
    case SCHED_COMPLETE:
        buf_addz(&x->trace, "DONE");
        return false;
    }
    return false;
}

const char *play(struct world *x, const struct script *sc) {
    if (x->s->status == RUN_PENDING) event(x, EV_RUN_STARTED, -1, "{}");
    for (int i = 0; step(x, sc); i++) cr_assert(i < 10000, "no end: %s", x->trace.p);
    return x->trace.len > 0 ? x->trace.p : "";
}

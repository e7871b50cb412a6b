/* Commands of runs that show sessions, on the thread that executes them for all tenants. */
#include "engine/engine.h"
#include "nodes/nodes.h"
#include "rail/rail_int.h"
#include "unit/rail/calls.h"

#include <semaphore.h>

static struct calls c;
static struct journal *journal;
static struct node_registry *types;
static struct engine *engine;

static void up(void) {
    const struct wf_env env = {.accepted = true};
    struct engine_config cfg = {
        .workers = 1, .holder = "holder-1", .sole_host = true, .limits = RUN_LIMITS_DEFAULT};
    calls_up(&c);
    rail_free(c.rail);
    journal = calls_journal(&c);
    calls_rail_on(&c, c.k.s, journal, &c.rail);
    cfg.vault = c.vault;
    cfg.led = (struct engine_led){c.rail, rail_take};
    types = node_registry_new();
    cr_assert_eq(nodes_register_core(types, false, &c.k.err), 0);
    cr_assert_eq(engine_new(journal, c.rules, types, &env, &cfg, &engine, &c.k.err), 0, "%s",
                 c.k.err.message);
    cr_assert_eq(engine_start(engine, &c.k.err), 0, "%s", c.k.err.message);
    cr_assert_eq(rail_start(c.rail, engine, &c.k.err), 0);
}

static void down(void) {
    rail_stop(c.rail);
    engine_stop(engine);
    engine_free(engine);
    rail_free(c.rail);
    c.rail = NULL;
    calls_journal_end(journal);
    node_registry_free(types);
    cr_expect_eq(kit_verify(&c.k), 0, "the database is as it should be");
    calls_down(&c);
}
#define COMMANDS(name) Test(rail_commands, name, .init = up, .fini = down, .timeout = 60)

/* --- an answer to the question that a run shows --- */
struct answer {
    struct engine_cmd cmd;
    sem_t done;
};

static void answer_done(struct engine_cmd *cmd) { sem_post(&((struct answer *)cmd->ctx)->done); }

static bool answer_respond(struct engine_cmd *cmd, const struct engine_result *r,
                           struct idem_response *out) {
    (void)cmd, (void)r, (void)out;
    return false;
}

static void answer_send(struct answer *x, struct str tenant, struct str run, struct str node) {
    memset(x, 0, sizeof *x);
    sem_init(&x->done, 0, 0);
    x->cmd =
        (struct engine_cmd){.op = ENGINE_RESOLVE,
                            .arena = arena_new(1u << 20),
                            .tenant = tenant,
                            .workspace = STR("ws"),
                            .subject = STR("{\"kind\":\"user\"}"),
                            .principal = STR("someone"),
                            .run_id = run,
                            .resolve = {.via = RESOLVE_RUN,
                                        .node_id = node,
                                        .value = STR("{\"output\":{\"notesMarkdown\":\"Done.\"}}")},
                            .respond = answer_respond,
                            .done = answer_done,
                            .ctx = x};
    engine_submit(engine, &x->cmd);
}

static bool answer_come(struct answer *x, int seconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += seconds;
    return sem_timedwait(&x->done, &t) == 0;
}

static void answer_end(struct answer *x) {
    arena_free(x->cmd.arena);
    sem_destroy(&x->done);
}

/* The node where a new session of the tenant waits. */
static struct str session_open(struct str tenant, struct str *session, struct str *run) {
    struct interrupt_list l;
    c.who.tenant = tenant;
    calls_fine(&c, "start", calls_start(&c, ""));
    *session = calls_get(&c, "session.sessionId");
    *run = calls_get(&c, "session.runId");
    cr_assert_eq(store_interrupts_of_run(c.k.s, calls_run(&c, *run).run_no, STR_NONE, true, c.a, &l,
                                         &c.k.err),
                 0);
    cr_assert_eq(l.n, 1);
    return l.v[0].node_id;
}

COMMANDS(a_session_that_is_locked_delays_no_other_tenant) {
    struct str session[2], run[2], node[2];
    struct answer a, b;
    struct rail_gate g;
    node[0] = session_open(STR("tenant-a"), &session[0], &run[0]);
    node[1] = session_open(STR("tenant-b"), &session[1], &run[1]);
    cr_assert_eq(rail_gate_enter(c.rail, session[0], &g, &c.f), 0);
    answer_send(&a, STR("tenant-a"), run[0], node[0]);
    answer_send(&b, STR("tenant-b"), run[1], node[1]);
    cr_assert(answer_come(&b, 20));
    cr_expect_eq(b.cmd.result.rc, 0, "%s", b.cmd.result.err.message);
    cr_expect_not(answer_come(&a, 0), "the first one still waits for its session");
    rail_gate_leave(&g);
    cr_assert(answer_come(&a, 20));
    cr_expect_eq(a.cmd.result.rc, 0, "and is answered once it is free: %s",
                 a.cmd.result.err.message);
    answer_end(&a);
    answer_end(&b);
    cr_expect_eq(calls_replays(&c, session[1]), 1);
}

/* Nothing is tried for ever, and nothing that waits is left behind. */
COMMANDS(a_session_that_stays_locked_is_told) {
    struct str session, run, node = session_open(STR("tenant-a"), &session, &run);
    struct answer a;
    struct rail_gate g;
    cr_assert_eq(rail_gate_enter(c.rail, session, &g, &c.f), 0);
    answer_send(&a, STR("tenant-a"), run, node);
    cr_assert(answer_come(&a, 20));
    cr_expect_eq(a.cmd.result.rc, WOPR_E_UNAVAILABLE, "%s", a.cmd.result.err.message);
    rail_gate_leave(&g);
    answer_end(&a);
}

COMMANDS(what_waits_for_a_session_is_answered_when_the_host_stops) {
    struct str session, run, node = session_open(STR("tenant-a"), &session, &run);
    struct answer a;
    struct rail_gate g;
    cr_assert_eq(rail_gate_enter(c.rail, session, &g, &c.f), 0);
    answer_send(&a, STR("tenant-a"), run, node);
    cr_expect_not(answer_come(&a, 0));
    rail_stop(c.rail);
    cr_assert(answer_come(&a, 20));
    cr_expect_neq(a.cmd.result.rc, 0);
    rail_gate_leave(&g);
    answer_end(&a);
}

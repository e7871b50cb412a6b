/*
 * test_statuses.c: every status of a run times every command (10-http-core 5.3 to 5.6), for runs
 * by themselves, branches, replays and replays of branches, in memory, with their state dropped,
 * after a crash, at another host, parked, with a log that does not fold, and with retention going
 * over what has ended.  No answer is a 5xx, no event is emitted that the table
 * forbids, the log begins with run.started, and every run ends.  The tables are walked: a status
 * that events.def leads to, or an operation of the engine, needs a row here.
 */
#include "statuses_kit.h"
#include "twin_kit.h"

#include "base/clock.h"
#include "host/host.h"
#include "store/run_lists.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

enum place { IN_MEMORY, DROPPED, CRASHED, RESTARTED, ELSEWHERE, PARKED, BROKEN, PURGED };
static bool stops(enum place p) { return p == RESTARTED || p == PARKED || p == BROKEN; }

static bool MET[RUN_STATUS_NR][ORDERS_NR];

/* --- the command --- */

static void again_answered(struct subject *x, struct call *c) {
    cr_expect(c->cmd.replayed && strstr(c->cmd.response.body.p, x->run.p), "%s", label(x));
}

static void again_send(struct subject *x) {
    struct call c;
    if (x->lineage == PLAIN) return; /* its creation is answered by its key: test_create.c */
    create_call(x, &c);
    call_do(&c);
    again_answered(x, &c);
    call_fini(&c);
}

static void order_answered(struct subject *x, struct call *c) {
    answered(x, c, x->order->name);
    enum run_status now = world_head(x->run).status;
    if (x->order->op == ENGINE_CANCEL)
        cr_expect(c->cmd.result.rc == 0 && run_status_final(now), "%s", label(x));
    if (x->order->op == ENGINE_PAUSE && c->cmd.result.rc == 0)
        cr_expect_eq(now, RUN_PAUSED, "%s", label(x));
    if (x->order->op == ENGINE_CREATE) again_answered(x, c);
    if (x->order->op == ENGINE_TASK && c->cmd.result.rc == 0) TAKEN[x->order->verb]++;
    call_fini(c);
}

static void order_send(struct subject *x) {
    struct call c;
    MET[world_head(x->run).status][x->order - ORDERS] = true;
    if (x->order->op == ENGINE_CREATE) {
        again_send(x);
        return;
    }
    order_fill(&c, x, x->order);
    call_do(&c);
    order_answered(x, &c);
}

/* The command arrives while the fork is pending: before its first step; before its host, which
 * stops at that moment, or the next one has taken it up; or at the other host. */
static void order_send_pending(struct subject *x, enum place place) {
    struct call made, c;
    bool again = x->order->op == ENGINE_CREATE;
    if (place == CRASHED || place == RESTARTED) {
        fork_send(x, &made, HOST_STOPS, NULL);
        MET[world_head(x->run).status][x->order - ORDERS] = true;
        if (place == CRASHED) world_engine_crash();
        else world_engine_stop();
        fork_made(x, &made);
        world_engine_start();
        order_send(x);
        return;
    }
    if (again) create_call(x, &c);
    else order_fill(&c, x, x->order);
    if (x->order->op == ENGINE_FORK) c.cmd.run_id = STR_NONE; /* the fork itself */
    bool asks = place == ELSEWHERE && !again && x->order->op != ENGINE_FORK;
    if (place == ELSEWHERE) twin_be(0);
    fork_send(x, &made, asks ? RUN_ASKED_FOR : COMMAND_IN, &c);
    MET[world_head(x->run).status][x->order - ORDERS] = true;
    if (asks) {
        twin_be(1);
        c.cmd.run_id = x->run;
        call_send(&c);
    }
    call_wait(&c);
    EARLY.answered = true;
    fork_made(x, &made);
    order_answered(x, &c);
    if (place == ELSEWHERE) twin_be(1);
}

/* --- places --- */

static void states_drop(void) {
    struct engine *e = W.engine;
    pthread_mutex_lock(&e->mu);
    size_t max = e->cfg.bounds.state_bytes_max;
    e->cfg.bounds.state_bytes_max = 0;
    pthread_mutex_unlock(&e->mu);
    for (size_t i = 0; i < SUBJECTS_NR; i++) /* a turn of each, which lets it be asked to go */
        if (SUBJECTS[i].run.n > 0) (void)world_op(ENGINE_OP_NR, SUBJECTS[i].run, NULL);
    pthread_mutex_lock(&e->mu);
    e->cfg.bounds.state_bytes_max = max;
    pthread_mutex_unlock(&e->mu);
}

/* Restarts for each pending fork: of two lineages they are enough. */
static bool left_out(const struct shape *s, int lineage, enum place place) {
    bool restarts = place == CRASHED || stops(place);
    if (place >= PARKED && s->at_once) return true;
    return s->at_once && (lineage == PLAIN || (restarts && lineage > REPLAY));
}

static void make_all(enum place place) {
    SUBJECTS = ARENA_ARRAY(W.a, struct subject, (size_t)SHAPES_NR * LINEAGES_NR * ORDERS_NR * 2);
    for (int s = 0; s < SHAPES_NR; s++)
        for (int l = 0; l < LINEAGES_NR; l++)
            for (int o = 0; o < ORDERS_NR; o++) {
                if (left_out(&SHAPES[s], l, place)) continue; /* its creation has its first step */
                if (!sampled_in((unsigned)(s + l + o))) continue;
                struct subject *x = &SUBJECTS[SUBJECTS_NR++];
                *x = (struct subject){.shape = &SHAPES[s],
                                      .lineage = (enum lineage)l,
                                      .order = &ORDERS[o],
                                      .key = ++KEYS};
                subject_make(x);
            }
}

/* All that has not ended is parked, or an event is appended that no state allows. */
static void open_spoil(enum place place) {
    for (size_t i = 0; i < SUBJECTS_NR; i++) {
        struct str run = SUBJECTS[i].run;
        if (run_status_final(world_head(run).status)) continue;
        if (place == PARKED) log_park(run);
        else log_break(run);
    }
}

/* What of it waits for nothing but a cancel. */
static void run_cancel(struct str run, const char *why) {
    enum run_status st = RUN_RUNNING;
    int rc = world_op(ENGINE_CANCEL, run, &st);
    cr_expect(rc == 0 && run_status_final(st), "%s: %s: %s", why, wopr_err_name(rc),
              world_story(run));
}

static bool is_gone(struct str run) {
    struct run_head h;
    struct wopr_error err;
    return store_run_head(W.store, STR("t1"), true, run, W.a, &h, &err) == WOPR_E_EXPIRED;
}

/* Retention takes what has ended, sources of what goes on among it. */
static void ended_purge(void) {
    size_t n = 0;
    log_purge_ended();
    for (size_t i = 0; i < SUBJECTS_NR; i++)
        if (!is_gone(SUBJECTS[i].run)) SUBJECTS[n++] = SUBJECTS[i];
    cr_assert(n > 0 && n < SUBJECTS_NR);
    SUBJECTS_NR = n;
}

static void all_purged(void) {
    static const char *const TABLES[] = {
        "runs",         "events",           "run_origins", "node_states",  "interrupts",
        "run_prefixes", "node_states_long", "run_burials", "run_lineages", "sealed"};
    for (int i = 0; i < 5; i++) log_purge_ended(); /* children wait for their parents */
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        const char *q = arena_cstr(W.a, arena_printf(W.a, "SELECT count(*) FROM %s", TABLES[i]));
        cr_expect_eq(world_sql_number(q), 0, "%s", TABLES[i]);
    }
    cr_expect_eq(world_sql_number("SELECT runs + events FROM tenant_usage WHERE tenant = ''"), 0);
}

static void product(enum place place, const char *why) {
    statuses_children_put();
    make_all(place);
    if (place == DROPPED) states_drop();
    if (place == CRASHED) world_engine_crash();
    if (stops(place)) world_engine_stop();
    if (place == PARKED || place == BROKEN) open_spoil(place);
    if (place == CRASHED || stops(place)) world_engine_start();
    if (place == ELSEWHERE) twin_be(1);
    if (place == PURGED) ended_purge();
    size_t n = SUBJECTS_NR;
    for (size_t i = 0; i < n; i++)
        if (SUBJECTS[i].run.n > 0) order_send(&SUBJECTS[i]);
        else order_send_pending(&SUBJECTS[i], place);
    if (place == PARKED || place == BROKEN) (void)each_open(run_cancel, why);
    all_end(why);
    if (place != BROKEN) all_whole();
    nothing_left();
    if (place == PURGED) all_purged();
    if (sampled_every() > 1) return; /* a part of the product need not meet everything */
    if (place < PARKED && !stops(place)) {
        cr_expect_gt(TAKEN[TASK_COMPLETE], 0u);
        cr_expect_gt(TAKEN[TASK_FAIL], 0u);
        cr_expect_gt(TAKEN[TASK_ASK], 0u);
    }
    int pending = 0; /* no command stops a run there, so one or the other comes too late */
    for (int o = 0; o < ORDERS_NR; o++) pending += MET[RUN_PENDING][o];
    cr_expect(pending > 0 || place >= PARKED);
    for (int s = 0; s < RUN_STATUS_NR; s++)
        for (int o = 0; o < ORDERS_NR; o++)
            if (s != RUN_CANCELLING && s != RUN_PENDING &&
                (place != PURGED || !run_status_final((enum run_status)s)))
                cr_expect(MET[s][o], "%s was not met by %s", run_status_name((enum run_status)s),
                          ORDERS[o].name);
}

/* --- tests --- */

Test(engine_statuses, the_tables_are_covered) {
    bool shown[RUN_STATUS_NR] = {false}, ordered[ENGINE_OP_NR] = {false};
    for (int i = 0; i < SHAPES_NR; i++) shown[SHAPES[i].status] = true;
    for (int i = 0; i < ORDERS_NR; i++) ordered[ORDERS[i].op] = true;
    for (int s = 0; s < RUN_STATUS_NR; s++) {
        bool led_to = s == RUN_PENDING || run_status_waiting((enum run_status)s);
        for (int from = 0; from < RUN_STATUS_NR; from++)
            for (int k = 0; k < EV_NR; k++)
                led_to = led_to || (from != s && run_edge((enum run_status)from, k) == s);
        cr_expect(shown[s] || !led_to, "%s has no shape here", run_status_name(s));
    }
    for (int o = 0; o < ENGINE_OP_NR; o++) cr_expect(ordered[o], "operation %d has no order", o);
}

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_statuses, .init = up_virtual, .fini = world_down, .timeout = 300);
TestSuite(engine_statuses_twins, .init = twins_up, .fini = twins_down, .timeout = 300);

Test(engine_statuses, in_memory /* F9, F19 */) { product(IN_MEMORY, "in memory"); }
Test(engine_statuses, with_their_states_dropped) { product(DROPPED, "dropped"); }
Test(engine_statuses, after_a_crash) { product(CRASHED, "after a crash"); }
Test(engine_statuses, after_a_restart) { product(RESTARTED, "after a restart"); }
Test(engine_statuses, parked /* RUN-20 */) { product(PARKED, "parked"); }
Test(engine_statuses, with_a_log_that_does_not_fold /* RUN-20 */) { product(BROKEN, "broken"); }
Test(engine_statuses, with_retention /* STORE-44, FORK-24 */) { product(PURGED, "purged"); }
Test(engine_statuses_twins, at_another_host /* STORE-40 */) { product(ELSEWHERE, "elsewhere"); }

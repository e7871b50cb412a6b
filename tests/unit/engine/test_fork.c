/* test_fork.c: forks of every kind of run at every sequence of its log (FORK-4..11, 13..15, 19),
 * changed nodes, forks of forks and of running sources, hosts that die in between. */
#include "engine_world.h"
#include "fork_kit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "store/admin.h"

#include <criterion/criterion.h>

TestSuite(engine_fork, .init = world_up, .fini = world_down);

/* Two replays and a branch at each sequence of an ended run. */
static void forks_everywhere(struct str source) {
    enum run_status end = world_wait_final(source);
    int64_t n = world_head(source).next_seq;
    struct str *branches = ARENA_ARRAY(W.a, struct str, (size_t)n);
    for (int64_t seq = 0; seq < n; seq++) branches[seq] = fork_run(source, FORK_BRANCH, seq);
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(source, seq, end);
    for (int64_t seq = 0; seq < n; seq++) {
        (void)world_wait_final(branches[seq]);
        fork_same_prefix(source, branches[seq], seq);
        world_check_log(branches[seq]);
        cr_expect_eq(world_count(branches[seq], EV_REPLAY_DIVERGED), 0);
    }
    cr_expect_eq(world_head(source).next_seq, n); /* FORK-6 */
}

static struct str start(const char *nodes, const char *edges, const char *settings) {
    return world_start(world_def("w", nodes, edges, 0, settings, 0), NULL);
}

/* --- every kind of run --- */

Test(engine_fork, a_chain_forks_at_every_sequence /* FORK-4, FORK-9, FORK-15 */) {
    forks_everywhere(start(NODE("a", "core.noop", "", "") "," NODE("b", "core.noop", "", ""),
                           EDGE("e", "a", "b", ""), 0));
}

Test(engine_fork, parallel_waits_end_in_the_order_of_the_source /* FORK-14 */) {
    forks_everywhere(
        start(NODE("a", "core.delay", "\"ms\":60", "") "," NODE(
                  "b", "core.delay", "\"ms\":20", "") "," NODE("c", "core.noop", "", ""),
              EDGE("e", "a", "c", "") "," EDGE("f", "b", "c", ""), 0));
}

Test(engine_fork, streams_go_on_where_they_were_cut /* FORK-11 */) {
    forks_everywhere(
        start(NODE("a", "test.stepper", "", "") "," NODE("b", "test.stepper", "", ""), 0, 0));
}

Test(engine_fork, retries_are_tried_again_without_waiting /* FORK-14, EVT-23 */) {
    forks_everywhere(start(
        NODE("a", "test.flaky", "\"failures\":1", "") "," NODE("b", "core.delay", "\"ms\":30", ""),
        0, "\"maxRetries\":2"));
}

Test(engine_fork, failures_cascade_again /* EVT-22 */) {
    forks_everywhere(
        start(NODE("a", "core.delay", "\"ms\":10", "") "," NODE("f", "core.fail", "", "") "," NODE(
                  "d", "core.delay", "\"ms\":5000", ""),
              EDGE("e", "a", "f", ""), 0));
}

Test(engine_fork, channels_and_variables_come_out_the_same /* FORK-17, CHAN-17 */) {
    static const char *const nodes =
        NODE("v", "core.setVariable", "\"name\":\"x\",\"value\":[1,2.50]", "") "," NODE(
            "w", "core.channelWrite", "\"channelName\":\"log\",\"value\":{\"k\":1},\"ttlMs\":60000",
            "") "," NODE("d", "core.delay", "\"ms\":10",
                         "") "," NODE("u", "core.channelWrite",
                                      "\"channelName\":\"log\",\"value\":2",
                                      "") "," NODE("t", "test.artifact", "", "");
    forks_everywhere(start(nodes,
                           EDGE("e1", "v", "w", "") "," EDGE("e2", "w", "d", "") "," EDGE(
                               "e3", "d", "u", "") "," EDGE("e4", "u", "t", ""),
                           0));
}

Test(engine_fork, a_run_timeout_is_replayed /* WF-23 */) {
    struct str r = start(NODE("d", "core.delay", "\"ms\":60000", ""), 0, "\"timeout\":60");
    cr_assert_eq(world_wait_final(r), RUN_FAILED);
    forks_everywhere(r);
}

Test(engine_fork, a_cancelled_source_is_cancelled_again /* FORK-12 */) {
    struct str r =
        start(NODE("n", "core.noop", "", "") "," NODE("d", "core.delay", "\"ms\":200", ""), 0, 0);
    world_wait_event(r, EV_NODE_STARTED, 2);
    cr_assert_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    forks_everywhere(r);
}

Test(engine_fork, a_pause_of_the_source_is_not_inherited /* FORK-19, WF-44 */) {
    struct str r = /* long enough for a pause to be in time, on however slow a machine */
        start(NODE("d", "core.delay", "\"ms\":1500", "") "," NODE("n", "core.noop", "", ""),
              EDGE("e", "d", "n", ""), 0);
    world_wait_event(r, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    forks_everywhere(r);
}

Test(engine_fork, a_cap_breach_is_replayed /* EVT-25 */) {
    struct workflow *wf =
        world_put(world_def("w", NODE("a", "core.noop", "", "") "," NODE("b", "core.noop", "", ""),
                            EDGE("e", "a", "b", ""), 0, 0, 0));
    struct str r = world_create(wf, NULL, "{\"recursionLimit\":1}");
    workflow_unref(wf);
    forks_everywhere(r);
}

Test(engine_fork, loops_and_their_limit_are_replayed /* EVT-40 */) {
    struct str r =
        start(NODE("a", "core.noop", "", "") "," NODE("b", "core.noop", "", ""),
              EDGE("e", "a", "b", "") "," EDGE("l", "b", "a", ""), "\"maxLoopbackIterations\":2");
    cr_assert_eq(world_wait_final(r), RUN_FAILED);
    cr_assert_eq(world_count(r, EV_LOOPBACK_LIMIT), 1);
    forks_everywhere(r);
}

Test(engine_fork, agents_hand_over_at_the_same_places /* WF-4, FORK-11 */) {
#define AGENT_NODE(id, agent)                                                                      \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"" id                                   \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{},"                               \
    "\"agent\":{\"agentId\":\"" agent "\"}}"
    struct str r = start(AGENT_NODE("a", "agent.one") "," AGENT_NODE("b", "agent.two"),
                         EDGE("e", "a", "b", ""), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    cr_assert_eq(world_count(r, EV_AGENT_HANDOFF), 1);
    forks_everywhere(r);
}

/* --- who forks what --- */

Test(engine_fork, forks_of_forks_to_any_depth /* FORK-5, FORK-9 */) {
    struct str r =
        start(NODE("a", "core.delay", "\"ms\":10", "") "," NODE("b", "core.noop", "", ""),
              EDGE("e", "a", "b", ""), 0);
    (void)world_wait_final(r);
    struct str x = r;
    for (int i = 0; i < 6; i++) {
        struct str y = fork_run(x, i % 2 ? FORK_BRANCH : FORK_REPLAY, i % 4);
        (void)world_wait_final(y);
        cr_expect_eq(world_count(y, EV_REPLAY_DIVERGED), 0);
        struct run_view v = world_view(y);
        cr_expect(str_eq(v.fork.source_run_id, x));
        cr_expect_eq(v.fork.from_seq, i % 4);
        x = y;
    }
    fork_replays_equal(x, 2, RUN_COMPLETED);
}

Test(engine_fork, a_running_source_is_replayed_as_far_as_it_came /* FORK-5 */) {
    struct str r = start(NODE("a", "core.noop", "", "") "," NODE("h", "test.hold", "", ""),
                         EDGE("e", "a", "h", ""), 0);
    cr_assert_eq(sem_wait(&HOLD_HELD), 0); /* run.started is committed, or comes with the hold */
    sem_post(&HOLD_GO);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str s =
        start(NODE("d", "core.delay", "\"ms\":300", "") "," NODE("n", "core.noop", "", ""),
              EDGE("e", "d", "n", ""), 0);
    world_wait_event(s, EV_NODE_STARTED, 1);
    struct str f = fork_run(s, FORK_REPLAY, 0), g = fork_run(s, FORK_BRANCH, 1);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    cr_expect_eq(world_wait_final(g), RUN_COMPLETED);
    cr_expect_eq(world_wait_final(s), RUN_COMPLETED);
    cr_expect_str_eq(world_story(f), world_story(s));
    cr_expect_str_eq(world_story(g), world_story(s));
}

Test(engine_fork, refusals_name_what_is_wrong /* FORK-4, FORK-23 */) {
    struct str r = start(NODE("a", "core.noop", "", ""), 0, 0), id;
    struct wopr_error err;
    (void)world_wait_final(r);
    struct fork_overlay none = {0}, bad = {.configurable = STR("{\"recursionLimit\":0}")};
    cr_expect_eq(fork_try(r, FORK_REPLAY, 4, none, &id, &err), WOPR_E_SEQUENCE_NOT_FOUND);
    cr_expect_not_null(strstr(err.details, "\"lastSequence\":3"));
    cr_expect_eq(fork_try(STR("run_none"), FORK_REPLAY, 0, none, &id, &err), WOPR_E_NOT_FOUND);
    cr_expect_eq(fork_try(r, FORK_BRANCH, 0, bad, &id, &err), WOPR_E_VALIDATION);
    bad = (struct fork_overlay){.tags = STR("[1]")};
    cr_expect_eq(fork_try(r, FORK_BRANCH, 0, bad, &id, &err), WOPR_E_VALIDATION);
}

Test(engine_fork, a_branch_merges_options_and_inputs /* FORK-23 */) {
    struct workflow *wf = world_put(world_def(
        "w", NODE("a", "core.noop", "", ""), 0,
        "{\"name\":\"x\",\"type\":\"number\"},{\"name\":\"y\",\"type\":\"number\"}", 0, 0));
    struct str r = world_create(wf, "{\"x\":1,\"y\":2}", "{\"recursionLimit\":7,\"model\":\"m\"}"),
               f;
    workflow_unref(wf);
    (void)world_wait_final(r);
    struct fork_overlay o = {.inputs = STR("{\"y\":3,\"none\":4}"),
                             .configurable = STR("{\"model\":\"n\",\"maxTokens\":5}"),
                             .tags = STR("[\"t\",\"t\"]"),
                             .metadata = STR("{\"k\":null}")};
    cr_assert_eq(fork_try(r, FORK_BRANCH, 0, o, &f, NULL), 0);
    (void)world_wait_final(f);
    struct run_view v = world_view(f);
    cr_expect(str_eqc(v.configurable, "{\"recursionLimit\":7,\"model\":\"n\",\"maxTokens\":5}"));
    cr_expect(str_eqc(v.tags, "[\"t\"]"));
    cr_expect(str_eqc(v.metadata, "{\"k\":null}"));
    cr_expect(str_eqc(world_var(f, "x"), "1"));
    cr_expect(str_eqc(world_var(f, "y"), "3"));
    struct str in = json_get(world_event(f, EV_RUN_STARTED, 1)->payload, "inputs");
    cr_expect(str_eqc(in, "{\"x\":1,\"y\":3}"), STR_FMT, STR_ARG(in));
}

Test(engine_fork, a_key_makes_one_fork_only /* FORK-1, IDEM-5 */) {
    struct str r = start(NODE("a", "core.noop", "", ""), 0, 0);
    (void)world_wait_final(r);
    struct str first = STR_NONE;
    for (int i = 0; i < 2; i++) {
        struct call c;
        call_init(&c, ENGINE_FORK, r);
        call_key(&c, "k", "body");
        c.cmd.fork.mode = FORK_REPLAY;
        call_do(&c);
        cr_assert_eq(c.cmd.result.rc, 0);
        cr_expect_eq(c.cmd.replayed, i == 1);
        struct str body = arena_str(W.a, c.cmd.response.body);
        if (i == 0) first = body;
        else cr_expect(str_eq(first, body));
        call_fini(&c);
    }
    struct store_counts n;
    struct wopr_error err;
    cr_assert_eq(store_count(W.store, &n, &err), 0);
    cr_expect_eq(n.runs, 2);
}

/* --- changed nodes --- */

static void changed(const struct node_call *call, struct node_result *out) {
    out->outputs = arena_printf(call->a, "{\"v\":%d}", (int)SPY_CALLS);
}
static void changed_fails(const struct node_call *call, struct node_result *out) {
    (void)call;
    if (SPY_CALLS > 0) node_fail(out, "broken", "was fine before", false);
}
static void changed_more(const struct node_call *call, struct node_result *out) {
    if (SPY_CALLS == 0) return;
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHUNK);
    x->value = STR("more");
}

static struct str with_type_in(const char *id, node_fn *fn, int first) {
    struct node_type t = {.type_id = id, .fn = fn};
    struct wopr_error err;
    world_engine_stop();
    cr_assert_eq(node_registry_add(W.types, &t, &err), 0);
    world_engine_start();
    SPY_CALLS = first;
    struct str nodes = arena_printf(
        W.a,
        "%s,{\"id\":\"x\",\"typeId\":\"%s\",\"name\":\"x\",\"position\":{\"x\":0,\"y\":0},"
        "\"config\":{},\"inputs\":{}},%s",
        NODE("a", "core.noop", "", ""), id, NODE("z", "core.noop", "", ""));
    struct str r = start(nodes.p, EDGE("e", "a", "x", "") "," EDGE("f", "x", "z", ""), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    SPY_CALLS = 1; /* from here on the node behaves otherwise */
    return r;
}

static struct str with_type(const char *id, node_fn *fn) { return with_type_in(id, fn, 0); }

/* "kind@sequence" of each replay.diverged. */
static const char *divergences(struct str run_id) {
    struct event_list l = world_events(run_id);
    struct buf b;
    buf_init(&b, 1u << 16);
    for (size_t i = 0; i < l.n; i++) {
        if (l.v[i].kind != EV_REPLAY_DIVERGED) continue;
        struct str kind = json_string(json_get(l.v[i].payload, "divergenceKind"), W.a);
        struct str at = json_get(l.v[i].payload, "atSequence");
        buf_addf(&b, "%s" STR_FMT "@" STR_FMT, b.len ? " " : "", STR_ARG(kind), STR_ARG(at));
        cr_expect(str_eq(json_get(l.v[i].payload, "divergencePoint"), at));
    }
    const char *out = arena_cstr(W.a, buf_str(&b));
    buf_fini(&b);
    return out;
}

Test(engine_fork, another_output_is_told_once_and_nothing_else /* FORK-18, FORK-20 */) {
    struct str r = with_type("test.changed", changed);
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    EXPECT_STR(divergences(f), "output@4");
    EXPECT_STR(world_story(f),
               "run.started node.started(a) node.completed(a) node.started(x) node.completed(x) "
               "replay.diverged(x) node.started(z) node.completed(z) run.completed");
    const struct event *d = world_event(f, EV_REPLAY_DIVERGED, 1);
    char id[EVENT_ID_SIZE];
    event_id_format(r, 4, id);
    cr_expect(str_eqc(json_string(json_get(d->payload, "originalEventId"), W.a), id));
    event_id_format(f, 4, id);
    cr_expect(str_eqc(json_string(json_get(d->payload, "replayEventId"), W.a), id));
    cr_expect(str_eq(json_string(json_get(d->payload, "sourceRunId"), W.a), r));
    cr_expect_eq(d->causation_seq, 4); /* EVT-4 */
    /* Behind the node nothing differs; a branch is not compared at all (FORK-22). */
    struct str g = fork_run(r, FORK_REPLAY, 5), h = fork_run(r, FORK_BRANCH, 0);
    cr_expect_eq(world_wait_final(g), RUN_COMPLETED);
    EXPECT_STR(divergences(g), "");
    cr_expect_eq(world_wait_final(h), RUN_COMPLETED);
    EXPECT_STR(divergences(h), "");
    /* The last node's outputs are the run's: its end differs too, told before it. */
    struct str again = fork_run(f, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(again), RUN_COMPLETED);
    EXPECT_STR(divergences(again), ""); /* the source's own divergence is looked away from */
}

Test(engine_fork, a_node_that_fails_now_is_a_mismatch_and_the_rest_is_missing /* FORK-20 */) {
    struct str r = with_type("test.changedFails", changed_fails);
    struct str f = fork_run(r, FORK_REPLAY, 3);
    cr_expect_eq(world_wait_final(f), RUN_FAILED);
    /* source: 4 completed(x), 5 started(z), 6 completed(z), 7 run.completed */
    EXPECT_STR(divergences(f), "type-mismatch@4 type-mismatch@5 missing@6 type-mismatch@7");
    EXPECT_STR(world_story(f),
               "run.started node.started(a) node.completed(a) node.started(x) node.failed(x) "
               "replay.diverged(x) node.skipped(z) replay.diverged(z) replay.diverged(z) "
               "replay.diverged run.failed");
    const struct event *d = world_event(f, EV_REPLAY_DIVERGED, 4);
    cr_expect_eq(json_get(d->payload, "replayEventId").n, 0);
}

Test(engine_fork, what_the_source_never_had_is_extra /* FORK-20 */) {
    struct str r = with_type("test.changedMore", changed_more);
    struct str f = fork_run(r, FORK_REPLAY, 4);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    EXPECT_STR(divergences(f), "type-mismatch@4 type-mismatch@5 type-mismatch@6 type-mismatch@7 "
                               "extra@8");
    EXPECT_STR(divergences(fork_run(r, FORK_REPLAY, 7)), "");
}

static void asks_version(const struct node_call *call, struct node_result *out) {
    int64_t v = -7;
    if (SPY_CALLS == 9) return; /* code from before the change */
    if (node_version(call, out, STR("c"), -1, 1 + SPY_CALLS, &v) != 0) return;
    out->outputs = arena_printf(call->a, "{\"v\":%lld}", (long long)v);
}
static void mints(const struct node_call *call, struct node_result *out) {
    struct str id = node_mint_id(call, STR("message"), 0);
    out->outputs = arena_printf(call->a, "{\"id\":\"" STR_FMT "\"}", STR_ARG(id));
}

static struct str output_of_x(struct str run_id) {
    struct event_list l = world_events(run_id);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == EV_NODE_COMPLETED && str_eqc(l.v[i].node_id, "x"))
            return json_get(l.v[i].payload, "outputs");
    return STR_NONE;
}

Test(engine_fork, versions_are_those_of_the_source /* FORK-12, VER-7 */) {
    struct str r = with_type("test.asksVersion", asks_version); /* pinned 1; now 2 is known */
    cr_assert(str_eqc(output_of_x(r), "{\"v\":1}"));
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(r, seq, RUN_COMPLETED);
    struct str b = fork_run(r, FORK_BRANCH, 0), c = fork_run(r, FORK_BRANCH, 5);
    cr_expect_eq(world_wait_final(b), RUN_COMPLETED);
    cr_expect(str_eqc(output_of_x(b), "{\"v\":2}"), "a branch is a run of today");
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
    cr_expect(str_eqc(output_of_x(c), "{\"v\":1}"), "but keeps what it inherited");
}

Test(engine_fork, a_source_from_before_a_change_is_replayed_without_it /* FORK-12 */) {
    SPY_CALLS = 9;
    struct str r = with_type_in("test.asksVersion", asks_version, 9);
    SPY_CALLS = 0; /* asks now: -1 is the version from before, which has no event */
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    cr_expect(str_eqc(output_of_x(f), "{\"v\":-1}"));
    cr_expect_eq(world_count(f, EV_VERSION_PINNED), 0);
    EXPECT_STR(divergences(f), "output@4"); /* our executor tells the version it got */
}

Test(engine_fork, ids_are_those_of_the_run_that_minted_them /* FORK-14 */) {
    struct str r = with_type("test.mints", mints);
    fork_replays_equal(r, 0, RUN_COMPLETED);
    struct str early = fork_run(r, FORK_BRANCH, 2), late = fork_run(r, FORK_BRANCH, 6);
    cr_expect_eq(world_wait_final(early), RUN_COMPLETED);
    cr_expect_eq(world_wait_final(late), RUN_COMPLETED);
    cr_expect_not(str_eq(output_of_x(early), output_of_x(r)));
    cr_expect(str_eq(output_of_x(late), output_of_x(r)));
    for (int64_t seq = 0; seq < 6; seq++) {
        fork_replays_equal(early, seq, RUN_COMPLETED);
        fork_replays_equal(late, seq, RUN_COMPLETED); /* also before its own cut */
    }
    struct str again = fork_run(late, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(again), RUN_COMPLETED);
    fork_replays_equal(again, 0, RUN_COMPLETED);
}

/* --- hosts that die --- */

Test(engine_fork,
     a_host_that_dies_at_any_step_of_a_replay_changes_nothing /* FORK-18, STORE-39 */) {
    struct str r = with_type("test.changed", changed);
    struct str first = fork_run(r, FORK_REPLAY, 0);
    (void)world_wait_final(first);
    for (int i = 0; i < 12; i++) {
        struct str f = fork_run(r, FORK_REPLAY, i % 8);
        world_engine_crash();
        world_engine_start();
        cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
        EXPECT_STR(divergences(f), i % 8 <= 4 ? "output@4" : "");
        fork_same_prefix(r, f, i % 8);
        world_check_log(f);
    }
}

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_fork_time, .init = up_virtual, .fini = world_down);

Test(engine_fork_time, a_paused_cut_goes_on_after_a_crash /* FORK-3, STORE-35 */) {
    world_time_stop(true); /* the delay is not over before the pause */
    struct str r = start(NODE("d", "core.delay", "\"ms\":20", ""), 0, 0);
    world_wait_event(r, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    world_time_stop(false);
    int64_t n = world_head(r).next_seq;
    for (int i = 0; i < 6; i++) {
        struct str f = fork_run(r, i % 2 ? FORK_BRANCH : FORK_REPLAY, n - 1);
        world_engine_crash();
        world_engine_start();
        cr_expect_eq(world_wait_final(f), RUN_COMPLETED, "%s", world_story(f));
    }
    cr_expect_eq(world_head(r).status, RUN_PAUSED);
}

/* The other wait is a delay here; it may be a request that is out as well. */
Test(engine_fork_time, a_retry_at_the_cut_comes_though_another_node_waits /* WF-24, FORK-11 */) {
    struct str r = start(NODE("f", "test.flaky", "\"failures\":1",
                              "") "," NODE("d", "core.delay", "\"ms\":3600000", ""),
                         0, "\"maxRetries\":2,\"retryDelayMs\":60000");
    world_wait_event(r, EV_NODE_RETRIED, 1);
    world_wait_event(r, EV_NODE_STARTED, 2);
    int64_t n = world_head(r).next_seq;
    struct str f[2] = {fork_run(r, FORK_BRANCH, n - 1), fork_run(r, FORK_REPLAY, n - 1)};
    for (int i = 0; i < 2; i++) world_wait_event(f[i], EV_NODE_STARTED, 2);
    world_time_skip(61000);
    for (int i = 0; i < 2; i++) {
        world_wait_event(f[i], EV_NODE_COMPLETED, 1);
        cr_expect(str_eqc(world_event(f[i], EV_NODE_COMPLETED, 1)->node_id, "f"));
        cr_expect_eq(world_head(f[i]).status, RUN_RUNNING);
    }
}

/* test_fork_wait.c: interrupts across forks (FORK-10, FORK-11, FORK-13, INT-2). */
#include "engine_world.h"
#include "fork_kit.h"

#include "codec/json.h"

#include "store/append.h"

#include <criterion/criterion.h>

TestSuite(engine_fork_wait, .init = world_up, .fini = world_down);

static bool waits(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

/* The next answers are what the source got. */
static void answer_until_final(struct str run_id, const char *const *answers) {
    for (unsigned given = 0; !run_status_final(world_head(run_id).status);) {
        world_wait_settled(run_id);
        struct run_view v = world_view(run_id); /* status and node of one moment */
        if (!waits(v.head.status)) continue;
        const char *node = arena_cstr(W.a, v.current_node);
        cr_assert_not_null(answers[given], "%s", world_story(run_id));
        int rc = world_answer(run_id, node, answers[given], NULL);
        /* Else the fork's first step was about to tell that it is answered. */
        if (rc == 0) given++;
        else
            cr_assert_eq(rc, WOPR_E_INTERRUPT_RESOLVED, "%s: %s", wopr_err_name(rc),
                         world_story(run_id));
    }
}

/* At each sequence: two replays that ask nobody, and a branch that is answered. */
static void forks_of_answered(struct str source, const char *const *answers) {
    enum run_status end = world_wait_final(source);
    int64_t n = world_head(source).next_seq;
    for (int64_t seq = 0; seq < n; seq++) {
        fork_replays_equal(source, seq, end);
        struct str b = fork_run(source, FORK_BRANCH, seq);
        if (answers) answer_until_final(b, answers);
        cr_expect_eq(world_wait_final(b), end, "at %d: %s", (int)seq, world_story(b));
        world_check_log(b);
    }
}

static struct str asked(const char *nodes, const char *edges) {
    struct str r = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_SUSPENDED, 1);
    return r;
}

Test(engine_fork_wait, an_approval_is_answered_from_the_source /* FORK-13 */) {
    struct str r = asked(NODE("g", "core.approvalGate", "", "") "," NODE("n", "core.noop", "", ""),
                         EDGE("e", "g", "n", ""));
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\",\"comment\":\"fine\"}", NULL), 0);
    forks_of_answered(r, (const char *[]){"{\"action\":\"accept\"}", "{\"action\":\"accept\"}", 0});
}

Test(engine_fork_wait, a_rejection_fails_the_replay_too /* INT-25 */) {
    struct str r = asked(NODE("g", "core.approvalGate", "", ""), 0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"reject\",\"comment\":\"no\"}", NULL), 0);
    const char *no = "{\"action\":\"reject\",\"comment\":\"no\"}";
    forks_of_answered(r, (const char *[]){no, no, 0});
}

Test(engine_fork_wait, questions_and_votes_are_told_again /* INT-21, INT-30 */) {
    struct str r = asked(NODE("g", "core.approvalGate",
                              "\"requiredApprovals\":2,"
                              "\"actions\":[\"accept\",\"ask\"]",
                              ""),
                         0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"ask\",\"question\":\"why?\"}", NULL), 0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\",\"voter\":\"ann\"}", NULL), 0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\",\"voter\":\"bob\"}", NULL), 0);
    forks_of_answered(r, (const char *[]){"{\"action\":\"accept\",\"voter\":\"cid\"}",
                                          "{\"action\":\"accept\",\"voter\":\"dan\"}", 0});
}

Test(engine_fork_wait, clarifications_one_after_the_other /* FORK-13 */) {
#define ASK "\"questions\":[{\"id\":\"q\",\"question\":\"who?\"}]"
    const char *a = "{\"answers\":{\"q\":\"me\"}}", *b = "{\"answers\":{\"q\":\"you\"}}";
    struct str r = asked(NODE("g", "core.clarificationGate", ASK,
                              "") "," NODE("h", "core.clarificationGate", ASK, ""),
                         EDGE("e", "g", "h", ""));
    cr_assert_eq(world_answer(r, "g", a, NULL), 0);
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    cr_assert_eq(world_answer(r, "h", b, NULL), 0);
    forks_of_answered(r, (const char *[]){a, b, 0});
}

Test(engine_fork_wait, two_gates_at_once_are_answered_in_the_order_of_the_source /* FORK-13 */) {
    struct str r =
        asked(NODE("g", "core.approvalGate", "", "") "," NODE("h", "core.approvalGate", "", ""), 0);
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    cr_assert_eq(world_answer(r, "h", "{\"action\":\"accept\"}", NULL), 0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\"}", NULL), 0);
    const char *yes = "{\"action\":\"accept\"}";
    forks_of_answered(r, (const char *[]){yes, yes, yes, 0});
}

Test(engine_fork_wait, a_timeout_is_replayed_and_not_waited_for /* EVT-29, FORK-14 */) {
    struct str r = asked(NODE("g", "core.approvalGate", "\"timeoutMs\":60", ""), 0);
    cr_assert_eq(world_wait_final(r), RUN_FAILED);
    forks_of_answered(r, NULL);
}

Test(engine_fork_wait, a_source_that_still_waits_is_answered_by_itself /* FORK-5, FORK-10 */) {
    struct str r = asked(NODE("g", "core.approvalGate", "", ""), 0);
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) {
        for (int mode = FORK_REPLAY; mode <= FORK_BRANCH; mode++) {
            struct str f = fork_run(r, (enum fork_mode)mode, seq);
            world_wait_status(f, RUN_WAITING_APPROVAL);
            if (seq % 2) { /* who waits is found again after a crash */
                world_engine_crash();
                world_engine_start();
            }
            cr_expect_eq(world_answer(f, "g", "{\"action\":\"accept\"}", NULL), 0);
            cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
            cr_expect_eq(world_count(f, EV_INTERRUPT_REQUESTED), 1); /* INT-2 */
            cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0);
            cr_expect_eq(world_answer(f, "g", "{\"action\":\"accept\"}", NULL),
                         WOPR_E_INTERRUPT_RESOLVED);
            world_check_log(f);
        }
    }
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL); /* FORK-6 */
    cr_expect_eq(world_head(r).next_seq, n);
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"accept\"}", NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_fork_wait, an_inherited_timeout_has_the_time_that_was_left /* FORK-10 */) {
    struct str r = asked(NODE("g", "core.approvalGate", "\"timeoutMs\":150", ""), 0);
    int64_t n = world_head(r).next_seq;
    cr_assert_eq(world_wait_final(r), RUN_FAILED);
    struct str f = fork_run(r, FORK_BRANCH, n);
    world_wait_status(f, RUN_WAITING_APPROVAL);
    cr_expect_eq(world_wait_final(f), RUN_FAILED);
    int64_t asked_ms = world_event(f, EV_NODE_SUSPENDED, 1)->ts_ms;
    int64_t failed_ms = world_event(f, EV_NODE_FAILED, 1)->ts_ms;
    cr_expect_geq(failed_ms - asked_ms, 300); /* 150 in the source, 150 again */
}

Test(engine_fork_wait, crashes_while_recorded_answers_are_told /* FORK-13, STORE-39 */) {
    const char *yes = "{\"action\":\"accept\"}";
    struct str r =
        asked(NODE("g", "core.approvalGate", "", "") "," NODE("h", "core.approvalGate", "", ""),
              EDGE("e", "g", "h", ""));
    cr_assert_eq(world_answer(r, "g", yes, NULL), 0);
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    cr_assert_eq(world_answer(r, "h", yes, NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    for (int i = 0; i < 10; i++) {
        struct str f = fork_run(r, FORK_REPLAY, i);
        world_engine_crash();
        world_engine_start();
        cr_expect_eq(world_wait_final(f), RUN_COMPLETED, "%s", world_story(f));
        cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0);
        fork_same_tail(r, f, i);
    }
}

/* --- a source that is a replay which came off its own source --- */

static void asks_otherwise(const struct node_call *call, struct node_result *out) {
    struct node_reply reply;
    struct node_prompt q = {.kind = "custom", .data = STR("{\"customKind\":\"old\"}")};
    if (SPY_CALLS > 0) q.data = STR("{\"customKind\":\"new\"}");
    if (node_interrupt(call, out, 0, &q, &reply)) out->outputs = STR("{}");
}

Test(engine_fork_wait, a_diverged_replay_is_replayed_at_every_cut /* F11, FORK-15 */) {
    struct node_type t = {.type_id = "test.asksOtherwise", .fn = asks_otherwise};
    struct wopr_error err;
    world_engine_stop();
    cr_assert_eq(node_registry_add(W.types, &t, &err), 0);
    world_engine_start();
    SPY_CALLS = 0;
    struct str r = asked(NODE("g", "test.asksOtherwise", "", ""), 0);
    cr_assert_eq(world_answer(r, "g", "1", NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    SPY_CALLS = 1;
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_assert_eq(world_wait_final(f), RUN_COMPLETED, "%s", world_story(f));
    cr_assert_geq(world_count(f, EV_REPLAY_DIVERGED), 1u, "%s", world_story(f));
    int64_t n = world_head(f).next_seq;
    for (int64_t seq = 0; seq < n; seq++) { /* between the events of one question, too */
        struct str g = fork_run(f, FORK_REPLAY, seq), b = fork_run(f, FORK_BRANCH, seq);
        cr_expect_eq(world_wait_final(g), RUN_COMPLETED, "at %d: %s", (int)seq, world_story(g));
        fork_same_tail(f, g, seq);
        answer_until_final(b, (const char *[]){"1", "1", 0});
        cr_expect_eq(world_wait_final(b), RUN_COMPLETED, "at %d: %s", (int)seq, world_story(b));
    }
}

/* A fork at a cut as its creating plan leaves it, held by a host that has not gone on with it. */
static struct str fresh_fork(struct str source, int64_t cut) {
    struct run_head h = world_head(source);
    struct run_origin o;
    struct wopr_error err = {0};
    struct plan *p = plan_new();
    int rc = store_run_origin(W.store, h.run_no, W.a, &o, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
    p->what = PLAN_CREATE;
    p->run_id = STR("run_fresh");
    p->epoch = 1;
    p->base_seq = cut;
    p->has_update = true;
    p->update.status = RUN_RUNNING;
    p->create = ARENA_NEW(p->arena, struct run_row_new);
    p->create->meta = o.meta;
    p->create->meta.run_id = p->run_id;
    p->create->workflow_hash = o.workflow_hash;
    p->create->holder = STR("another-host");
    p->create->lease_until_ms = INT64_MAX;
    p->create->fork = ARENA_NEW(p->arena, struct plan_fork);
    p->create->fork->link = (struct run_fork){.mode = FORK_BRANCH,
                                              .source_run_id = source,
                                              .source_run_no = h.run_no,
                                              .from_seq = cut,
                                              .base_seq = h.next_seq,
                                              .cut_ms = 1};
    cr_assert_eq(store_apply(W.store, &p, 1, &rc, &err), 0, "%s", err.message);
    cr_assert_eq(rc, 0);
    plan_unref(p);
    return STR("run_fresh");
}

Test(engine_fork_wait, a_fork_of_a_fork_that_has_not_begun_asks_once /* FORK-8, FORK-11 */) {
    struct str r =
        world_start(world_def("w", NODE("g", "core.approvalGate", "", ""), 0, 0, 0, 0), NULL);
    world_wait_settled(r);
    int64_t n = world_head(r).next_seq; /* ... requested, told, suspended */
    struct str fresh = fresh_fork(r, n - 1);
    struct str b = fork_run(fresh, FORK_BRANCH, n - 2);
    world_wait_settled(b);
    cr_expect_eq(world_head(b).status, RUN_WAITING_APPROVAL, "%s", world_story(b));
    cr_expect_eq(world_head(b).next_seq, n, "%s", world_story(b));
}

/* --- off the order of the source (FORK-13) --- */

/* The replay's own events are fewer, or more, than its source's: where it asks, the source's next
 * event is not the answer.  lines: of the node before the gates. */
static void replay_drifts(struct str source, int lines, int64_t from) {
    SPY_LINES = lines;
    struct str r = fork_run(source, FORK_REPLAY, from);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_gt(world_count(r, EV_REPLAY_DIVERGED), 0u);
    cr_assert_eq(world_count(r, EV_INTERRUPT_RESOLVED), 2u, "%s", world_story(r));
    for (unsigned n = 1; n <= 2; n++) {
        const struct event *g = world_event(source, EV_INTERRUPT_RESOLVED, n);
        struct str node = g->node_id, value = json_get(g->payload, "resumeValue");
        unsigned same = 0;
        for (unsigned k = 1; k <= 2; k++) {
            const struct event *e = world_event(r, EV_INTERRUPT_RESOLVED, k);
            same += str_eq(e->node_id, node) && str_eq(json_get(e->payload, "resumeValue"), value);
        }
        cr_expect_eq(same, 1u, "each gets its own answer: %s", world_story(r));
    }
    world_check_log(r);
}

Test(engine_fork_wait, a_replay_off_the_order_of_its_source_finds_the_answers /* FORK-13 */) {
    static const char *const gate = "\"actions\":[\"accept\",\"reject\"],\"title\":\"t\"";
    const char *nodes = arena_cstr(
        W.a, arena_printf(W.a,
                          "%s,{\"id\":\"g\",\"typeId\":\"core.approvalGate\",\"name\":\"g\","
                          "\"position\":{\"x\":0,\"y\":0},\"config\":{%s},\"inputs\":{}},"
                          "{\"id\":\"h\",\"typeId\":\"core.approvalGate\",\"name\":\"h\","
                          "\"position\":{\"x\":0,\"y\":0},\"config\":{%s},\"inputs\":{}}",
                          NODE("n", "test.drift", "", ""), gate, gate));
    SPY_LINES = 4;
    struct str r = asked(nodes, EDGE("e", "n", "g", "") "," EDGE("f", "n", "h", ""));
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    cr_assert_eq(world_answer(r, "h", "{\"action\":\"accept\",\"comment\":\"to h\"}", NULL), 0);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\",\"comment\":\"to g\"}", NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    for (int lines = 0; lines < 40; lines += lines < 8 ? 1 : 8)
        if (lines != 4) replay_drifts(r, lines, 0);
    struct str b = fork_run(r, FORK_BRANCH, world_head(r).next_seq - 1);
    cr_assert_eq(world_wait_final(b), RUN_COMPLETED);
    replay_drifts(b, 0, 0); /* the answers are in the log of its source's source */
    replay_drifts(b, 12, 2);
}

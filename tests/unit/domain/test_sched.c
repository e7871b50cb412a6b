/* Scheduler, driven through the fold by hand-made events (WF-4..15, WF-24, EVT-25, NODE-14..19). */
#include "sched_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void expect(const char *nodes, const char *edges, const char *more, const struct script *sc,
                   const char *want) {
    struct world x;
    world_up(&x, nodes, edges, more, NULL);
    const char *got = play(&x, sc);
    cr_expect_str_eq(got, want, "%s\n gave %s\n want %s", edges, got, want);
    world_down(&x);
}

/* --- WF-7: every rule x every outcome of two sources (20-runtime 14, check 20) --- */

enum outcome { OUT_TRUE, OUT_FALSE, OUT_FAILED, OUT_SKIPPED, OUT_CANCELLED, OUT_DISABLED, OUT_NR };
static const char *const RULES[RULE_NR] = {"all_success", "any_success", "all_complete",
                                           "none_failed", "any_failed"};

/* The table of WF-7 written once more, independently, for settled sources. */
static bool should_start(enum wf_rule rule, const enum outcome o[2]) {
    int yes = 0, failed = 0;
    for (int i = 0; i < 2; i++) {
        yes += o[i] == OUT_TRUE || o[i] == OUT_DISABLED;
        failed += o[i] == OUT_FAILED;
    }
    switch (rule) {
    case RULE_ALL_SUCCESS:
        return yes == 2;
    case RULE_ANY_SUCCESS:
        return yes > 0;
    case RULE_ALL_COMPLETE:
        return true;
    case RULE_NONE_FAILED:
        return failed == 0 && yes > 0;
    default:
        return failed > 0;
    }
}

static void source(struct buf *nodes, struct buf *edges, char id, enum outcome o,
                   const char *rule) {
    /* g<id> gates the source, h<id> handles its failure */
    buf_addf(nodes, ",{\"id\":\"%c\",\"typeId\":\"core.noop\",\"name\":\"n\",\"disabled\":%s}", id,
             o == OUT_DISABLED ? "true" : "false");
    buf_addf(nodes, ",{\"id\":\"h%c\",\"typeId\":\"core.noop\",\"name\":\"n\"}", id);
    buf_addf(edges,
             "%s{\"id\":\"g%c\",\"sourceNodeId\":\"g\",\"targetNodeId\":\"%c\",\"condition\":"
             "{\"expression\":\"%s\"}}",
             edges->len ? "," : "", id, id, o == OUT_SKIPPED ? "false" : "true");
    buf_addf(
        edges,
        ",{\"id\":\"%ct\",\"sourceNodeId\":\"%c\",\"targetNodeId\":\"t\",\"triggerRule\":\"%s\","
        "\"condition\":{\"expression\":\"output.go != 'no'\"}}",
        id, id, rule);
    buf_addf(edges,
             ",{\"id\":\"%ch\",\"sourceNodeId\":\"%c\",\"targetNodeId\":\"h%c\",\"triggerRule\":"
             "\"any_failed\"}",
             id, id, id);
}

static const char *outcome_script(enum outcome o) {
    switch (o) {
    case OUT_FALSE:
        return "{\"go\":\"no\"}";
    case OUT_FAILED:
        return "fail";
    case OUT_CANCELLED:
        return "cancel";
    default:
        return "{}";
    }
}

Test(sched, every_rule_with_every_pair_of_outcomes /* WF-7, WF-8, WF-5 */) {
    for (int rule = 0; rule < RULE_NR; rule++)
        for (int p = 0; p < OUT_NR * OUT_NR; p++) {
            enum outcome o[2] = {(enum outcome)(p / OUT_NR), (enum outcome)(p % OUT_NR)};
            struct buf nodes, edges;
            struct world x;
            buf_init(&nodes, 1 << 16);
            buf_init(&edges, 1 << 16);
            buf_addz(&nodes, N("g"));
            source(&nodes, &edges, 'a', o[0], RULES[rule]);
            source(&nodes, &edges, 'b', o[1], RULES[rule]);
            buf_addz(&nodes, "," N("t"));
            world_up(&x, nodes.p, edges.p, NULL, NULL);
            const char *got = play(&x, S({"a", outcome_script(o[0])}, {"b", outcome_script(o[1])}));
            bool want = should_start((enum wf_rule)rule, o);
            cr_expect((strstr(got, "+t") != NULL) == want, "%s %d %d: %s", RULES[rule], o[0], o[1],
                      got);
            cr_expect((strstr(got, "-t") != NULL) == !want, "%s %d %d: %s", RULES[rule], o[0], o[1],
                      got);
            cr_expect(strstr(got, "DONE") != NULL, "%s %d %d: %s", RULES[rule], o[0], o[1], got);
            cr_expect(x.s->sched.unsettled_nr == 0);
            world_down(&x);
            buf_fini(&nodes);
            buf_fini(&edges);
        }
}

Test(sched, plain_graphs_run_in_definition_order /* EVT-20, EVT-21, WF-14 */) {
    expect(N("a"), "", NULL, NULL, "+a DONE");
    expect(N("a") "," N("b") "," N("c"), E("a", "b") "," E("b", "c"), NULL, NULL, "+a +b +c DONE");
    expect(N("d") "," N("c") "," N("b") "," N("a"),
           E("a", "b") "," E("a", "c") "," E("b", "d") "," E("c", "d"), NULL, NULL,
           "+a +c +b +d DONE");
}

Test(sched, any_rules_start_once_and_early /* WF-7 */) {
    struct world x;
    world_up(&x, N("a") "," N("b") "," N("t"),
             ER("a", "t", "any_success") "," ER("b", "t", "any_success"), NULL, NULL);
    cr_expect_str_eq(play(&x, S({"b", "hold"})), "+a +b +t ");
    cr_expect(next(&x).what == SCHED_WAIT); /* b still runs */
    event(&x, EV_NODE_COMPLETED, at(&x, "b"), "{}");
    cr_expect(next(&x).what == SCHED_COMPLETE); /* and starts nothing again */
    world_down(&x);
}

Test(sched, groups_of_rules_must_all_be_satisfied /* WF-7 */) {
    const char *nodes = N("a") "," N("b") "," N("t") "," N("h");
    const char *edges =
        ER("a", "t", "any_failed") "," ER("b", "t", "all_success") "," ER("a", "h", "any_failed");
    expect(nodes, edges, NULL, S({"a", "fail"}), "+a +b +t +h DONE");
    expect(nodes, edges, NULL, NULL, "+a -t -h +b DONE"); /* skips are told first */
    /* without h the failure of a depends on t, and t cannot run once b is cancelled */
    expect(N("a") "," N("b") "," N("t"), ER("a", "t", "any_failed") "," ER("b", "t", "all_success"),
           NULL, S({"a", "fail"}, {"b", "cancel"}), "+a +b FAIL a");
}

Test(sched, failures_are_handled_or_end_the_run /* WF-8 */) {
    expect(N("a") "," N("b"), E("a", "b"), NULL, S({"a", "fail"}), "+a FAIL a");
    expect(N("a") "," N("b") "," N("h"), E("a", "b") "," ER("a", "h", "any_failed"), NULL,
           S({"a", "fail"}), "+a -b +h DONE");
    expect(N("a") "," N("h"), ER("a", "h", "all_complete"), NULL, S({"a", "fail"}), "+a +h DONE");
    expect(N("a") "," N("h"), ER("a", "h", "none_failed"), NULL, S({"a", "fail"}), "+a FAIL a");
    /* the handler's own condition decides */
    expect(N("a") "," N("h"),
           "{\"id\":\"e\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"h\",\"triggerRule\":\"any_"
           "failed\","
           "\"condition\":{\"left\":\"status\",\"right\":\"completed\"}}",
           NULL, S({"a", "fail"}), "+a FAIL a");
    /* a second failure after the handler began is handled too */
    expect(N("a") "," N("b") "," N("h"), ER("a", "h", "any_failed") "," ER("b", "h", "any_failed"),
           NULL, S({"a", "fail"}, {"b", "fail"}), "+a +b +h DONE");
}

Test(sched, a_failure_is_reported_while_siblings_run /* WF-8 */) {
    struct world x;
    world_up(&x, N("a") "," N("b") "," N("c"), E("b", "c"), NULL, NULL);
    cr_expect_str_eq(play(&x, S({"a", "hold"}, {"b", "fail"})), "+a +b FAIL b");
    cr_expect(x.s->failure.node == at(&x, "b"));
    event(&x, EV_NODE_CANCELLED, at(&x, "a"), "{\"reason\":\"upstream-failure\"}");
    event(&x, EV_NODE_SKIPPED, at(&x, "c"), "{}");
    cr_expect(next(&x).what == SCHED_FAIL);
    event(&x, EV_RUN_FAILED, -1, "{\"error\":{\"code\":\"boom\",\"message\":\"m\"}}");
    cr_expect(next(&x).what == SCHED_WAIT);
    cr_expect(x.s->sched.ready_nr == 0 && x.s->sched.skips_nr == 0);
    world_down(&x);
}

Test(sched, disabled_nodes_are_skipped_as_success /* WF-5, NODE-19 */) {
    expect(N("a") "," NOFF("b") "," N("c"), E("a", "b") "," E("b", "c"), NULL, NULL,
           "+a -b +c DONE");
    expect(NOFF("a"), "", NULL, NULL, "-a DONE");
    struct world x;
    world_up(&x, NOFF("a") "," N("b"), EC("a", "b", "status == 'completed' && size(output) == 0"),
             NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    struct sched_action a = next(&x);
    cr_assert(a.what == SCHED_SKIP);
    cr_expect_str_eq(a.reason, "disabled");
    cr_expect_str_eq(play(&x, NULL), "-a +b DONE");
    cr_expect(x.s->nodes[0].disabled_skip);
    world_down(&x);
    /* on a branch that is not taken it is skipped like any other */
    expect(N("a") "," NOFF("b") "," N("c"), EC("a", "b", "false") "," E("b", "c"), NULL, NULL,
           "+a -b -c DONE");
}

Test(sched, conditions_see_outputs_and_variables /* WF-9 */) {
    const char *vars = ",\"variables\":[{\"name\":\"v\",\"type\":\"number\",\"defaultValue\":3}]";
    expect(N("a") "," N("b") "," N("c"),
           EC("a", "b", "output.x == variables.v") "," EC("a", "c", "output.x != variables.v"),
           vars, S({"a", "{\"x\":3}"}), "+a -c +b DONE");
    expect(N("a") "," N("b"),
           "{\"id\":\"e\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\",\"sourceOutput\":\"k\","
           "\"condition\":{\"type\":\"regex\",\"left\":\"value\",\"right\":\"^ok\"}}",
           NULL, S({"a", "{\"k\":\"okay\"}"}), "+a +b DONE");
    expect(N("a") "," N("b"),
           EC("a", "b", "config.z == null && channels.q == null && inputs.i == null"), NULL, NULL,
           "+a +b DONE");
}

Test(sched, conditions_do_not_see_what_the_log_hides /* NODE-20, EVT-41 */) {
    expect(N("a") "," N("b"), EC("a", "b", "variables.v == null && variables.w == 2"),
           ",\"variables\":[{\"name\":\"v\",\"type\":\"number\",\"defaultValue\":1,"
           "\"sensitive\":true},{\"name\":\"w\",\"type\":\"number\",\"defaultValue\":2}]",
           NULL, "+a +b DONE");
}

Test(sched, a_cycle_without_entry_starts_at_its_first_node /* WF-11, WF-13, DISP-8 */) {
    const char *nodes = NT("o", "core.orchestrator.supervisor") "," NT("d", "core.dispatch");
    const char *edges = E("o", "d") "," E("d", "o");
    struct world x;
    expect(nodes, edges, NULL, S({"d", "{\"decision\":\"terminate\"}"}), "+o +d DONE");
    /* next-worker twice, then terminate; a fresh activation each time, attempt 0 */
    world_up(&x, nodes, edges, NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    for (int i = 0; i < 3; i++) {
        step(&x, NULL);
        cr_expect(x.s->nodes[0].activation == i);
        step(&x,
             S({"d", i < 2 ? "{\"childStatus\":\"completed\"}" : "{\"decision\":\"terminate\"}"}));
    }
    cr_expect_str_eq(play(&x, NULL), "+o +d +o +d +o +d DONE");
    cr_expect(x.s->nodes[0].attempt == 0 && x.s->started_count == 6);
    world_down(&x);
}

Test(sched, the_default_loop_bound_spares_orchestrators /* NODE-16, EVT-25 */) {
    const char *nodes = NT("o", "core.orchestrator.supervisor") "," NT("d", "core.dispatch");
    const char *edges = E("o", "d") "," E("d", "o");
    struct world x;
    world_up(&x, nodes, edges, NULL, NULL);
    const char *got = play(&x, NULL); /* only the execution cap of 100 ends it */
    cr_expect(x.s->started_count == 100);
    cr_expect(strstr(got, "#o") != NULL);
    world_down(&x);
    world_up(&x, nodes, edges, ",\"settings\":{\"maxLoopbackIterations\":2}", NULL);
    cr_expect_str_eq(play(&x, NULL), "+o +d +o +d +o +d !o FAIL o");
    world_down(&x);
}

/* Two ways back to one head, asked for in one round: the stricter bound holds, whichever came
 * first.  That of the supervisor is the execution cap. */
Test(sched, of_two_ways_back_the_stricter_bound_holds /* WF-12, NODE-16 */) {
    const char *o = NT("o", "core.orchestrator.supervisor");
    static const char *const BACK[] = {E("o", "a") "," E("b", "a"), E("b", "a") "," E("o", "a")};
    char nodes[512], edges[512];
    for (int i = 0; i < 2; i++) {
        struct world x;
        (void)snprintf(nodes, sizeof nodes, "%s,%s,%s", N("a"), i ? N("b") : o, i ? o : N("b"));
        (void)snprintf(edges, sizeof edges, "%s,%s", E("a", "o") "," E("a", "b"), BACK[i]);
        world_up(&x, nodes, edges, NULL, NULL);
        const char *got = play(&x, NULL);
        cr_expect(strstr(got, "!a FAIL a") != NULL, "%s", got);
        cr_expect_eq(x.s->nodes[0].sched.loop_limit, 5);
        world_down(&x);
    }
}

Test(sched, loops_end_at_their_bound /* WF-12, EVT-40 */) {
    const char *nodes = N("a") "," N("b") "," N("c");
    const char *edges = E("a", "b") "," E("b", "a") "," E("b", "c");
    struct world x;
    world_up(&x, N("a") "," N("b"), E("a", "b") "," E("b", "a"), NULL, NULL);
    cr_expect_str_eq(play(&x, NULL), "+a +b +a +b +a +b +a +b +a +b +a +b !a FAIL a");
    cr_expect(x.s->nodes[0].sched.loops == 6 && x.s->nodes[0].sched.loop_limit == 5);
    world_down(&x);
    /* what hangs behind the loop runs in every round */
    expect(nodes, edges, ",\"settings\":{\"maxLoopbackIterations\":1}", NULL,
           "+a +b +c +a +b +c !a FAIL a");
}

Test(sched, an_exit_taken_later_is_not_skipped_before /* WF-13 */) {
    struct world x;
    world_up(&x, N("a") "," N("b") "," N("c"),
             E("a", "b") "," EC("b", "a", "output.again") "," EC("b", "c", "!output.again"), NULL,
             NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    step(&x, NULL);
    step(&x, S({"b", "{\"again\":true}"}));
    cr_expect(x.s->nodes[2].status == NODE_PENDING);
    cr_expect_str_eq(play(&x, NULL), "+a +b +a +b +c DONE");
    world_down(&x);
}

Test(sched, a_round_waits_for_the_last_one /* WF-13 */) {
    struct world x; /* s hangs off the loop and is slow */
    world_up(&x, N("a") "," N("b") "," N("s"),
             E("a", "b") "," E("a", "s") "," EC("b", "a", "output.again"), NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    step(&x, NULL);
    step(&x, S({"b", "{\"again\":true}"}));
    step(&x, S({"s", "hold"}));
    cr_expect(next(&x).what == SCHED_WAIT);
    event(&x, EV_NODE_COMPLETED, at(&x, "s"), "{}");
    cr_expect_str_eq(play(&x, NULL), "+a +b +s +a +b +s DONE");
    world_down(&x);
}

Test(sched, inner_loops_begin_afresh /* WF-12 */) {
    /* o -> i -> j -> (i while again) ; j -> o while outer */
    struct world x;
    world_up(&x, N("o") "," N("i") "," N("j"),
             E("o", "i") "," E("i", "j") "," EC("j", "i", "output.again") "," EC("j", "o",
                                                                                 "output.outer"),
             ",\"settings\":{\"maxLoopbackIterations\":2}", NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    static const char *const J[] = {"{\"again\":true}", "{\"again\":true}", "{\"outer\":true}",
                                    "{\"again\":true}", "{\"again\":true}", "{}"};
    for (size_t k = 0; k < 6; k++)
        for (bool was_j = false; !was_j;) {
            was_j = next(&x).node == at(&x, "j");
            cr_assert(step(&x, S({"j", J[k]})));
        }
    cr_expect_str_eq(play(&x, NULL), "+o +i +j +i +j +i +j +o +i +j +i +j +i +j DONE");
    world_down(&x);
}

Test(sched, a_loopback_may_ask_for_failure /* WF-8, WF-13 */) {
    struct world x;
    world_up(&x, N("a") "," N("b"), E("a", "b") "," ER("b", "a", "any_failed"), NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    step(&x, NULL);
    step(&x, S({"b", "fail"}));
    cr_expect_str_eq(play(&x, NULL), "+a +b +a +b DONE");
    world_down(&x);
}

Test(sched, the_cap_counts_every_start /* EVT-25, NODE-15 */) {
    const char *nodes = N("a") "," N("b") "," N("c") "," N("d");
    const char *edges = E("a", "b") "," E("b", "c") "," E("c", "d");
    static const char *const WANT[] = {"+a #b", "+a +b #c", "+a +b +c #d", "+a +b +c +d DONE"};
    for (int limit = 1; limit <= 4; limit++) {
        char options[64];
        struct world x;
        snprintf(options, sizeof(options), "{\"recursionLimit\":%d}", limit);
        world_up(&x, nodes, edges, NULL, options);
        cr_expect_str_eq(play(&x, NULL), WANT[limit - 1]);
        world_down(&x);
    }
}

Test(sched, retries_wait_and_count /* WF-24, EVT-23, EVT-25 */) {
    struct world x;
    world_up(&x, N("a") "," N("b"), E("a", "b"), NULL, "{\"recursionLimit\":2}");
    cr_expect_str_eq(play(&x, S({"a", "hold"})), "+a ");
    event(&x, EV_NODE_RETRIED, 0, "{\"attempt\":1,\"delayMs\":250,\"lastError\":{}}");
    int64_t due = x.now + 250;
    cr_expect(sched_next_retry_ms(x.s) == due);
    cr_expect(next(&x).what == SCHED_WAIT);
    x.now = due - 1;
    cr_expect(next(&x).what == SCHED_WAIT);
    x.now = due;
    cr_expect(next(&x).what == SCHED_START && next(&x).node == 0);
    event(&x, EV_NODE_STARTED, 0, "{\"attempt\":1}");
    cr_expect(sched_next_retry_ms(x.s) == -1);
    event(&x, EV_NODE_COMPLETED, 0, "{}");
    cr_expect(next(&x).what == SCHED_CAP && next(&x).node == 1);
    world_down(&x);
}

Test(sched, at_most_eight_run_at_once /* WF-14 */) {
    struct world x;
    struct buf nodes;
    struct script hold[11] = {{NULL, NULL}};
    static const char *const IDS[] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"};
    buf_init(&nodes, 1 << 16);
    for (int i = 0; i < 10; i++) {
        buf_addf(&nodes, "%s{\"id\":\"%s\",\"typeId\":\"core.noop\",\"name\":\"n\"}", i ? "," : "",
                 IDS[i]);
        hold[i] = (struct script){IDS[i], "hold"};
    }
    world_up(&x, nodes.p, "", NULL, NULL);
    cr_expect_str_eq(play(&x, hold), "+n0 +n1 +n2 +n3 +n4 +n5 +n6 +n7 ");
    event(&x, EV_NODE_COMPLETED, 5, "{}");
    cr_expect(next(&x).what == SCHED_START && next(&x).node == 8);
    /* a suspended node makes room as well, and the run goes on beside it */
    event(&x, EV_NODE_SUSPENDED, 2,
          "{\"nodeId\":\"n2\",\"interruptId\":\"i\",\"kind\":\"approval\",\"reason\":\"r\"}");
    cr_expect_str_eq(play(&x, hold), "+n0 +n1 +n2 +n3 +n4 +n5 +n6 +n7 +n8 +n9 ");
    world_down(&x);
    buf_fini(&nodes);
}

Test(sched, core_end_ends_the_run_when_nothing_is_in_flight /* 30-nodes 2.4 */) {
    struct world x;
    world_up(&x, N("a") "," NT("e", "core.end") "," N("s") "," N("z"), E("a", "e") "," E("s", "z"),
             NULL, NULL);
    /* s was ready but not started when e ended the run */
    cr_expect_str_eq(play(&x, S({"s", "hold"})), "+a +e DONE");
    world_down(&x);
    expect(NT("e", "core.end") "," N("a"), E("a", "e"), NULL, NULL, "+a +e DONE");
}

Test(sched, core_end_waits_for_what_runs /* 30-nodes 2.4 */) {
    struct world x;
    world_up(&x, N("s") "," N("a") "," NT("e", "core.end") "," N("z"), E("a", "e") "," E("s", "z"),
             NULL, NULL);
    cr_expect_str_eq(play(&x, S({"s", "hold"})), "+s +a +e ");
    event(&x, EV_NODE_COMPLETED, 0, "{}");
    cr_expect_str_eq(play(&x, NULL), "+s +a +e DONE"); /* z does not start any more */
    world_down(&x);
}

Test(sched, core_start_is_the_start_set /* 30-nodes 2.4 */) {
    expect(N("x") "," NT("s", "core.start") "," N("a") "," N("y"), E("s", "a") "," E("x", "y"),
           NULL, NULL, "-x -y +s +a DONE");
}

Test(sched, nothing_starts_while_the_run_stands) {
    struct world x;
    world_up(&x, N("a"), "", NULL, NULL);
    cr_expect(next(&x).what == SCHED_WAIT); /* pending */
    event(&x, EV_RUN_STARTED, -1, "{}");
    event(&x, EV_RUN_PAUSED, -1, "{\"drainPolicy\":\"immediate\"}");
    cr_expect(next(&x).what == SCHED_WAIT);
    event(&x, EV_RUN_RESUMED, -1, "{}");
    cr_expect(next(&x).what == SCHED_START);
    world_down(&x);
}

Test(sched, a_node_may_fail_before_it_starts /* EVT-24 */) {
    struct world x;
    world_up(&x, N("a") "," N("b"), E("a", "b"), NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    event(&x, EV_NODE_FAILED, 0, FAILED_PAYLOAD);
    cr_expect(x.s->sched.ready_nr == 0);
    cr_expect(next(&x).what == SCHED_FAIL);
    world_down(&x);
}

Test(sched, a_second_end_of_one_activation_is_corrupt /* R5 */) {
    struct world x;
    world_up(&x, N("a") "," N("b"), E("a", "b"), NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    event(&x, EV_NODE_STARTED, 0, "{}");
    event(&x, EV_NODE_COMPLETED, 0, "{}");
    cr_expect(try_event(&x, EV_NODE_FAILED, 0, FAILED_PAYLOAD) == WOPR_E_CORRUPT);
    world_down(&x);
}

Test(sched, outputs_are_those_of_leaves_that_completed /* WF-15 */) {
    struct world x;
    struct buf b;
    buf_init(&b, 1 << 16);
    world_up(&x, N("a") "," N("b") "," N("c") "," N("d"),
             E("a", "b") "," EC("a", "c", "false") "," E("a", "d"), NULL, NULL);
    play(&x, S({"a", "{\"no\":1}"}, {"b", "{\"x\":1}"}));
    cr_assert(sched_outputs(x.s, &b) == 0);
    cr_expect_str_eq(b.p, "{\"b\":{\"x\":1},\"d\":{}}");
    buf_fini(&b);
    world_down(&x);
}

/* --- re-folding gives the same decisions (EVT-41) --- */

Test(sched, folding_the_log_again_gives_the_same_next_step /* EVT-41 */) {
    const char *nodes = N("a") "," N("b") "," NOFF("c") "," N("d") "," N("h");
    const char *edges = E("a", "b") "," E("a", "c") "," EC("b", "a", "output.again") "," ER(
        "b", "h", "any_failed") "," E("c", "d");
    struct world x, y;
    world_up(&x, nodes, edges, NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    enum ev_kind kinds[200];
    int on[200], nr = 0;
    char outs[200][32];
    /* keep a log by hand: every step is one or two events */
    for (int i = 0; i < 40; i++) {
        struct sched_action a = next(&x);
        if (a.what != SCHED_START && a.what != SCHED_SKIP) break;
        bool start = a.what == SCHED_START;
        const char *out = a.node == 1 && i < 8 ? "{\"again\":true}" : "{}";
        kinds[nr] = start ? EV_NODE_STARTED : EV_NODE_SKIPPED;
        on[nr] = a.node;
        snprintf(outs[nr++], 32, "{}");
        event(&x, kinds[nr - 1], a.node, outs[nr - 1]);
        if (!start) continue;
        kinds[nr] = EV_NODE_COMPLETED;
        on[nr] = a.node;
        snprintf(outs[nr++], 32, "{\"outputs\":%s}", out);
        event(&x, EV_NODE_COMPLETED, a.node, outs[nr - 1]);
    }
    cr_assert(next(&x).what == SCHED_COMPLETE && nr > 15, "%d", nr);
    for (int upto = 0; upto <= nr; upto++) { /* every prefix, folded from nothing, twice */
        struct sched_action first, second;
        world_up(&y, nodes, edges, NULL, NULL);
        event(&y, EV_RUN_STARTED, -1, "{}");
        for (int i = 0; i < upto; i++) event(&y, kinds[i], on[i], outs[i]);
        first = next(&y);
        second = next(&y);
        cr_expect(first.what == second.what && first.node == second.node);
        if (upto < nr && kinds[upto] == EV_NODE_STARTED)
            cr_expect(first.what == SCHED_START && first.node == on[upto], "prefix %d", upto);
        if (upto < nr && kinds[upto] == EV_NODE_SKIPPED)
            cr_expect(first.what == SCHED_SKIP && first.node == on[upto], "prefix %d", upto);
        world_down(&y);
    }
    world_down(&x);
}

/* --- any graph comes to an end --- */

static void random_graph(uint32_t *seed, struct buf *nodes, struct buf *edges) {
    static const char *const WHEN[] = {"", ",\"condition\":{\"expression\":\"output.go != 'no'\"}"};
    uint32_t n = 1 + dice(seed, 8), m = dice(seed, 14);
    for (uint32_t i = 0; i < n; i++)
        buf_addf(nodes,
                 "%s{\"id\":\"n%u\",\"typeId\":\"core.noop\",\"name\":\"n\",\"disabled\":%s}",
                 i ? "," : "", i, dice(seed, 8) == 0 ? "true" : "false");
    for (uint32_t i = 0; i < m; i++)
        buf_addf(edges,
                 "%s{\"id\":\"e%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n%u\","
                 "\"triggerRule\":\"%s\"%s}",
                 i ? "," : "", i, dice(seed, n), dice(seed, n), RULES[dice(seed, RULE_NR)],
                 WHEN[dice(seed, 2)]);
}

Test(sched, every_graph_comes_to_an_end_and_starts_a_node_once_per_round /* WF-7, WF-12, WF-15 */) {
    static const char *const ENDS[] = {"{}", "{}", "{\"go\":\"no\"}", "fail"};
    for (uint32_t round = 1; round <= 1500; round++) {
        uint32_t seed = round * 2654435761u;
        struct buf nodes, edges;
        struct world x;
        int started[8][128] = {{0}};
        buf_init(&nodes, 1 << 16);
        buf_init(&edges, 1 << 16);
        random_graph(&seed, &nodes, &edges);
        world_up(&x, nodes.p, edges.len ? edges.p : "", NULL, NULL);
        x.seed = seed;
        cr_assert_eq(run_state_new(x.w, &x.s->meta, &RUN_LIMITS_DEFAULT, &x.turns, NULL), 0);
        event(&x, EV_RUN_STARTED, -1, "{}");
        for (int i = 0;; i++) {
            struct sched_action a = next(&x);
            struct script sc[9] = {{NULL, NULL}};
            if (a.what == SCHED_START) {
                cr_assert(x.s->nodes[a.node].activation < 128);
                cr_expect(++started[a.node][x.s->nodes[a.node].activation] == 1, "round %u: %s",
                          round, x.trace.p);
                sc[0] = (struct script){x.w->nodes[a.node].id.p, ENDS[dice(&seed, 4)]};
            }
            if (!step(&x, sc)) {
                cr_expect(a.what != SCHED_WAIT, "round %u stands: %s\n%s", round, x.trace.p,
                          edges.p);
                bool done = a.what == SCHED_COMPLETE;
                cr_expect(!done || x.s->sched.unsettled_nr == 0, "round %u leaves %zu open: %s\n%s",
                          round, x.s->sched.unsettled_nr, x.trace.p, edges.p);
                break;
            }
            cr_assert(i < 2000, "round %u: %s", round, x.trace.p);
        }
        world_down(&x);
        buf_fini(&nodes);
        buf_fini(&edges);
    }
}

/* --- ports --- */

Test(ports, resolve_every_kind /* NODE-6, WF-4 */) {
    struct world x;
    struct str out;
    struct wopr_error err;
    world_up(&x,
             N("a") "," NX("b",
                           "\"typeId\":\"core.identity\",\"config\":{\"k\":2},\"inputs\":{"
                           "\"s\":{\"type\":\"static\",\"value\":[1, 2]},"
                           "\"e\":{\"type\":\"expression\",\"expression\":\"config.k * 21\"},"
                           "\"c\":{\"type\":\"connection\",\"nodeId\":\"a\",\"outputKey\":\"x\"},"
                           "\"o\":{\"type\":\"connection\",\"nodeId\":\"a\",\"outputKey\":\"y\","
                           "\"optional\":true},"
                           "\"v\":{\"type\":\"variable\",\"variableName\":\"w\"},"
                           "\"u\":{\"type\":\"variable\",\"variableName\":\"nope\","
                           "\"optional\":true}}"),
             E("a", "b"),
             ",\"variables\":[{\"name\":\"w\",\"type\":\"string\",\"defaultValue\":\"q\"}]", NULL);
    play(&x, S({"a", "{\"x\":{\"deep\":null}}"}));
    struct arena *a = arena_new(1 << 20);
    cr_assert(ports_resolve(x.s, 1, a, &out, &err) == 0, "%s", err.message);
    cr_expect(str_eqc(out, "{\"s\":[1, 2],\"e\":42,\"c\":{\"deep\":null},\"v\":\"q\"}"), STR_FMT,
              STR_ARG(out));
    arena_free(a);
    world_down(&x);
}

Test(ports, what_is_missing_and_required_is_named /* WF-4 */) {
    static const char *const PORTS[] = {
        "{\"type\":\"connection\",\"nodeId\":\"a\",\"outputKey\":\"x\"}",
        "{\"type\":\"variable\",\"variableName\":\"w\"}",
        "{\"type\":\"expression\",\"expression\":\"1 / 0\"}",
    };
    for (size_t i = 0; i < sizeof(PORTS) / sizeof(PORTS[0]); i++) {
        struct world x;
        struct str out = STR_NONE;
        struct wopr_error err;
        char nodes[512];
        snprintf(nodes, sizeof(nodes),
                 "%s,{\"id\":\"b\",\"typeId\":\"core.noop\",\"name\":\"n\",\"inputs\":{\"p\":%s}}",
                 N("a"), PORTS[i]);
        world_up(&x, nodes, E("a", "b"), ",\"variables\":[{\"name\":\"w\",\"type\":\"string\"}]",
                 NULL);
        play(&x, NULL);
        struct arena *a = arena_new(1 << 20);
        cr_expect(ports_resolve(x.s, 1, a, &out, &err) == WOPR_E_VALIDATION, "row %zu", i);
        cr_expect_str_eq(err.pointer, "/inputs/p");
        cr_expect(out.p == NULL);
        arena_free(a);
        world_down(&x);
    }
}

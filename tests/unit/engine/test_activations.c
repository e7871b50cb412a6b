/* test_activations.c: a loop that is entered again iterates again, whatever enters it: an outer
 * loop, a refinement, a trigger; and whatever is named after an activation has a name of its own
 * (30-nodes 2.4, WF-12, WF-13, CHAN-20, INT-3, EVT-23, FORK-15). */
#include "engine_world.h"
#include "fork_kit.h"

#include "codec/json.h"

#include <criterion/criterion.h>

TestSuite(engine_activations, .init = world_up, .fini = world_down);

#define WHILE(value)                                                                               \
    ",\"condition\":{\"type\":\"equals\",\"left\":\"output.done\",\"right\":" value "}"
#define OUTER_INNER(body, body_config)                                                             \
    NODE("o", "core.loop", "\"maxIterations\":3", "")                                              \
    "," NODE("i", "core.loop", "\"maxIterations\":2",                                              \
             "") "," NODE("b", body, body_config, "") "," NODE("x", "core.noop", "", "")
#define OUTER_INNER_EDGES                                                                          \
    EDGE("e1", "o", "i", WHILE("false"))                                                           \
    "," EDGE("e2", "i", "b", WHILE("false")) "," EDGE("e3", "b", "i", "") "," EDGE(                \
        "e4", "i", "x", WHILE("true")) "," EDGE("e5", "x", "o", "")

static unsigned count_of(struct str run, enum ev_kind kind, const char *node) {
    struct event_list l = world_events(run);
    unsigned nr = 0;
    for (size_t i = 0; i < l.n; i++) nr += l.v[i].kind == kind && str_eqc(l.v[i].node_id, node);
    return nr;
}

/* Two replays and a branch at each sequence of an ended run. */
static void forks_everywhere(struct str source) {
    enum run_status end = world_wait_final(source);
    int64_t n = world_head(source).next_seq;
    for (int64_t seq = 0; seq < n; seq++) {
        fork_replays_equal(source, seq, end);
        struct str b = fork_run(source, FORK_BRANCH, seq);
        cr_expect_eq(world_wait_final(b), end, "at %d: %s", (int)seq, world_story(b));
        cr_expect_eq(world_count(b, EV_NODE_STARTED), world_count(source, EV_NODE_STARTED));
        world_check_log(b);
    }
}

Test(engine_activations, an_inner_loop_iterates_in_each_round_of_the_outer) {
    struct str r = world_start(
        world_def("w", OUTER_INNER("core.channelWrite", "\"channelName\":\"seen\",\"value\":1"),
                  OUTER_INNER_EDGES, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_CHANNEL_WRITTEN, "b"), 6, "%s", world_story(r));
    forks_everywhere(r);
}

Test(engine_activations, an_inner_loop_begins_with_its_first_item) {
    struct str r = world_start(
        world_def("w",
                  NODE("o", "core.loop", "\"maxIterations\":2", "") "," NODE(
                      "i", "core.loop", "\"items\":[\"x\",\"y\"]",
                      "") "," NODE("b", "core.channelWrite", "\"channelName\":\"seen\"",
                                   "\"value\":{\"type\":\"connection\",\"nodeId\":\"i\","
                                   "\"outputKey\":\"item\"}") "," NODE("x", "core.noop", "", ""),
                  OUTER_INNER_EDGES, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    static const char *const items[] = {"\"x\"", "\"y\"", "\"x\"", "\"y\""};
    cr_assert_eq(world_count(r, EV_CHANNEL_WRITTEN), 4, "%s", world_story(r));
    for (unsigned i = 0; i < 4; i++)
        cr_expect(str_eqc(json_get(world_event(r, EV_CHANNEL_WRITTEN, i + 1)->payload, "value"),
                          items[i]));
}

static struct str triggered(const char *nodes, const char *edges) {
    struct str more = arena_printf(
        W.a,
        "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
        "\"variables\":[],\"metadata\":{},\"settings\":{},\"channels\":{\"c\":{\"reducer\":"
        "\"append\"}},\"triggers\":[{\"id\":\"t1\",\"type\":\"channel-write\",\"nodeId\":\"l\","
        "\"config\":{\"channel\":\"c\",\"debounceMs\":0}}]}",
        nodes, edges);
    return world_start(more, NULL);
}

Test(engine_activations, each_firing_of_a_trigger_runs_the_whole_loop /* CHAN-20 */) {
    struct str r =
        triggered(NODE("p", "core.channelWrite", "\"channelName\":\"c\",\"value\":1",
                       "") "," NODE("q", "core.channelWrite", "\"channelName\":\"c\",\"value\":2",
                                    "") "," NODE("l", "core.loop", "\"maxIterations\":3",
                                                 "") "," NODE("b", "core.noop", "", ""),
                  EDGE("e0", "p", "q", "") "," EDGE("e1", "l", "b",
                                                    WHILE("false")) "," EDGE("e2", "b", "l", ""));
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "b"), 6, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "l"), 8, "%s", world_story(r));
    forks_everywhere(r);
}

static void answer(struct str run, const char *node, const char *value) {
    struct wopr_error err = {0};
    world_wait_status(run, RUN_WAITING_APPROVAL);
    int rc = world_answer(run, node, value, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
}

#define ACTION(word)                                                                               \
    ",\"condition\":{\"type\":\"equals\",\"left\":\"output.action\",\"right\":\"" word "\"}"
#define REFINED_NODES                                                                              \
    NODE("s", "core.noop", "", "")                                                                 \
    "," NODE("l", "core.loop", "\"maxIterations\":3", "") "," NODE(                                \
        "b", "core.noop", "", "") "," NODE("g", "core.approvalGate",                               \
                                           "\"actions\":[\"accept\",\"refine\"]",                  \
                                           "") "," NODE("z", "core.noop", "", "")
#define REFINED_EDGES(to)                                                                          \
    EDGE("e0", "s", "l", "")                                                                       \
    "," EDGE("e1", "l", "b", WHILE("false")) "," EDGE("e2", "b", "l", "") "," EDGE(                \
        "e3", "l", "g", WHILE("true")) "," EDGE("e4", "g", to,                                     \
                                                ACTION("refine")) "," EDGE("e5", "g", "z",         \
                                                                           ACTION("accep"          \
                                                                                  "t"))

static void refine_twice(const char *edges) {
    struct str r =
        world_start(world_def("w", REFINED_NODES, edges, 0, "\"maxLoopbackIterations\":20", 0), 0);
    answer(r, "g", "{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"whole\"}}");
    world_wait_event(r, EV_INTERRUPT_REQUESTED, 2);
    answer(r, "g", "{\"action\":\"accept\"}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "b"), 6, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "z"), 1);
    /* INT-3: each asking has a key of its own */
    struct str k1 = json_get(world_event(r, EV_INTERRUPT_REQUESTED, 1)->payload, "key"),
               k2 = json_get(world_event(r, EV_INTERRUPT_REQUESTED, 2)->payload, "key");
    cr_expect(k1.n > 0 && !str_eq(k1, k2));
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(r, seq, RUN_COMPLETED);
}

Test(engine_activations, a_loop_behind_a_refinement_iterates_again /* NODE-41, WF-13 */) {
    refine_twice(REFINED_EDGES("s"));
}

Test(engine_activations, a_refinement_may_lead_straight_to_the_head_of_the_loop) {
    refine_twice(REFINED_EDGES("l"));
}

Test(engine_activations, attempts_and_effects_are_those_of_the_activation /* EVT-23, NODE-10 */) {
    static const char NODES[] = OUTER_INNER(
        "test.flaky", "\"failures\":1},\"settings\":{\"maxRetries\":1,\"retryDelayMs\":1");
    struct str r = world_start(world_def("w", NODES, OUTER_INNER_EDGES, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_RETRIED, "b"), 6, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "b"), 6);
    forks_everywhere(r);
}

Test(engine_activations, a_host_that_dies_in_an_inner_loop_goes_on_with_its_round /* STORE-39 */) {
    struct str r = world_start(
        world_def("w", OUTER_INNER("core.delay", "\"ms\":40"), OUTER_INNER_EDGES, 0, 0, 0), NULL);
    for (unsigned nr = 1; nr <= 6; nr++) {
        world_wait_event(r, EV_NODE_COMPLETED, 3 * nr - 1);
        world_engine_crash();
        world_engine_start();
    }
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "b"), 6, "%s", world_story(r));
    cr_expect_eq(count_of(r, EV_NODE_COMPLETED, "i"), 9, "%s", world_story(r));
    world_check_log(r);
}

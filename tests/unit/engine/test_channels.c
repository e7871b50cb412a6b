/* test_channels.c: channels through the engine: access, framework variables, triggers, schema
 * versions (CHAN-6, 18, 20, 23, 28; EVT-4). */
#include "engine_world.h"
#include "fork_kit.h"

#include "base/clock.h"
#include "codec/json.h"

#include <criterion/criterion.h>

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_channels, .init = up, .fini = world_down);

static struct str failure_of(struct str run) {
    return json_get(world_event(run, EV_NODE_FAILED, 1)->payload, "error");
}

Test(engine_channels, a_reader_that_is_not_listed_fails /* CHAN-5, CHAN-6 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("n", "core.identity", "",
                       "\"x\":{\"type\":\"expression\",\"expression\":\"channels.shut\"}"),
                  0, 0, "\"maxRetries\":2",
                  ",\"channels\":{\"shut\":{\"reducer\":\"append\",\"access\":{\"readers\":"
                  "[\"someone\"]}}}"),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(world_count(r, EV_NODE_RETRIED), 0);
    struct str error = failure_of(r), details = json_get(error, "details");
    cr_expect(str_eqc(json_get(error, "code"), "\"channel_access_denied\""), STR_FMT,
              STR_ARG(error));
    cr_expect(str_eqc(json_get(details, "channel"), "\"shut\""));
    cr_expect(str_eqc(json_get(details, "allowed"), "\"readers\""));
    cr_expect(str_eqc(json_get(json_get(details, "requestedBy"), "nodeId"), "\"n\""));
    cr_expect(str_eqc(json_get(json_get(details, "requestedBy"), "typeId"), "\"core.identity\""));
}

Test(engine_channels, a_listed_reader_reads /* CHAN-5, CHAN-8 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("p", "core.channelWrite", "\"channelName\":\"c\",\"value\":7", "") "," NODE(
                      "n", "core.identity", "",
                      "\"x\":{\"type\":\"expression\",\"expression\":\"channels.c[0]\"}"),
                  EDGE("e", "p", "n", ""), 0, 0,
                  ",\"channels\":{\"c\":{\"reducer\":\"append\",\"access\":{\"readers\":"
                  "[\"core.id*\"],\"writers\":[\"p\"]}}}"),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str out = json_get(world_event(r, EV_NODE_COMPLETED, 2)->payload, "outputs");
    cr_expect(str_eqc(out, "{\"x\":7}"), STR_FMT, STR_ARG(out));
}

Test(engine_channels, framework_variables_become_channel_writes /* CHAN-23, CHAN-28 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("s", "core.setVariable",
                       "\"name\":\"_feedbackHistory:g\",\"value\":\"good\"",
                       "") "," NODE("g", "core.getVariable", "\"name\":\"_feedbackHistory:g\"", ""),
                  EDGE("e", "s", "g", ""), 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_VARIABLE_CHANGED), 0);
    struct str write = world_event(r, EV_CHANNEL_WRITTEN, 1)->payload;
    cr_expect(str_eqc(json_get(write, "channel"), "\"_feedbackHistory:g\""));
    cr_expect(str_eqc(json_get(write, "reducer"), "\"append\""));
    struct str got = json_get(world_event(r, EV_NODE_COMPLETED, 2)->payload, "outputs");
    cr_expect(str_starts(got, STR("{\"value\":[{\"value\":\"good\",\"_ts\":")), STR_FMT,
              STR_ARG(got));
}

Test(engine_channels, with_a_channels_block_they_are_variables /* CHAN-22, CHAN-23 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("s", "core.setVariable", "\"name\":\"_feedbackHistory:g\",\"value\":1", ""),
                  0, 0, 0, ",\"channels\":{\"c\":{\"reducer\":\"append\"}}"),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_CHANNEL_WRITTEN), 0);
    cr_expect_eq(world_count(r, EV_VARIABLE_CHANGED), 1);
}

/* The world's definitions have triggers of their own: replace them. */
static struct str triggered(const char *debounce, const char *nodes, const char *edges) {
    const char *text = arena_cstr(
        W.a, arena_printf(W.a,
                          "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[%s],"
                          "\"edges\":[%s],\"variables\":[],\"metadata\":{},\"settings\":{},"
                          "\"channels\":{\"c\":{\"reducer\":\"append\"}},\"triggers\":[{\"id\":"
                          "\"t1\",\"type\":\"channel-write\",\"nodeId\":\"t\",\"config\":{"
                          "\"channel\":\"c\",\"debounceMs\":%s}}]}",
                          nodes, edges, debounce));
    return world_start(str_c(text), NULL);
}

#define WRITER(id) NODE(id, "core.channelWrite", "\"channelName\":\"c\",\"value\":1", "")

Test(engine_channels, a_write_starts_a_node_and_is_its_cause /* CHAN-20, EVT-4 */) {
    struct str r = triggered("0", WRITER("p") "," NODE("t", "core.noop", "", ""), "");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(p) channel.written(p) node.completed(p) "
                               "node.started(t) node.completed(t) run.completed");
    cr_expect_eq(world_event(r, EV_NODE_STARTED, 2)->causation_seq,
                 world_event(r, EV_CHANNEL_WRITTEN, 1)->seq);
    cr_expect_eq(world_event(r, EV_NODE_STARTED, 1)->causation_seq, -1);
    world_check_log(r);
}

Test(engine_channels, a_quiet_period_is_waited_for_and_once_is_enough /* CHAN-20 */) {
    struct str r = triggered("30000",
                             WRITER("p") "," NODE("d", "core.delay", "\"ms\":20000", "") "," WRITER(
                                 "q") "," NODE("t", "core.noop", "", ""),
                             EDGE("e", "p", "d", "") "," EDGE("f", "d", "q", ""));
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_time_skip(21000);
    world_wait_event(r, EV_NODE_COMPLETED, 3); /* q wrote: quiet only 30 s from now */
    world_time_skip(15000);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 3);
    world_time_skip(16000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 4);
    cr_expect_eq(world_event(r, EV_NODE_STARTED, 4)->causation_seq,
                 world_event(r, EV_CHANNEL_WRITTEN, 2)->seq);
}

Test(engine_channels, a_quiet_period_survives_a_crash /* CHAN-20, STORE-39 */) {
    struct str r = triggered("30000", WRITER("p") "," NODE("t", "core.noop", "", ""), "");
    world_wait_event(r, EV_NODE_COMPLETED, 1);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_time_skip(31000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 2);
    world_check_log(r);
}

static void landed(void *ctx, struct plan *p, int rc) {
    cr_assert_eq(rc, 0);
    plan_unref(p);
    sem_post(ctx);
}

Test(engine_channels, an_incompatible_write_ends_the_run_with_its_place /* CHAN-18 */) {
    sem_t done;
    struct str r =
        world_start(world_def("w", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, 0,
                              ",\"channels\":{\"c\":{\"reducer\":\"append\",\"schemaVersion\":3,"
                              "\"compatibleWith\":[2]}}"),
                    NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    world_engine_crash();
    struct run_head h = world_head(r);
    struct plan *p = plan_new();
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, r);
    p->run_no = h.run_no;
    p->base_seq = h.next_seq;
    p->epoch = h.epoch;
    for (int version = 2; version >= 1; version--)
        (void)plan_event(p, W.rules, NULL, EV_CHANNEL_WRITTEN, STR("d"), -1, clock_wall_ms(),
                         pay_channel_written(p->arena, STR("c"), STR("1"), "append",
                                             clock_wall_ms(), STR("d"), version));
    sem_init(&done, 0, 0);
    cr_assert_eq(journal_append(W.journal, p, landed, &done), 0);
    while (sem_wait(&done) != 0) {
    }
    world_engine_start();
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    const struct event *end = world_event(r, EV_RUN_FAILED, 1);
    struct str error = json_get(end->payload, "error"), details = json_get(error, "details");
    cr_expect(str_eqc(json_get(error, "code"), "\"channel_schema_breaking_change\""), STR_FMT,
              STR_ARG(error));
    cr_expect(str_eqc(json_get(details, "channel"), "\"c\""));
    cr_expect(str_eqc(json_get(details, "currentSchemaVersion"), "3"));
    cr_expect(str_eqc(json_get(details, "incompatibleEventVersion"), "1"));
    cr_expect_eq(end->causation_seq, h.next_seq + 1);
    char id[EVENT_ID_SIZE];
    event_id_format(r, h.next_seq + 1, id);
    cr_expect(str_eqc(json_string(json_get(details, "incompatibleEventId"), W.a), id));
    cr_expect_gt(json_get(details, "migrationHint").n, 2);
    world_check_log(r);
}

Test(engine_channels, triggers_fire_again_in_a_replay /* CHAN-21, FORK-15, FORK-17 */) {
    struct str r = triggered("50",
                             WRITER("p") "," WRITER("q") "," NODE(
                                 "t", "core.noop", "", "") "," NODE("u", "core.noop", "", ""),
                             EDGE("e", "p", "q", "") "," EDGE("f", "t", "u", ""));
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(r, seq, RUN_COMPLETED);
}

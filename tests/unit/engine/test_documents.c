/*
 * test_documents.c: documents of WorkSpec as runs: the vectors of 7.6 by their ids, restarts and
 * forks at every event, both clocks, people (section 5 of the contract).
 */
#include "document_kit.h"

#include "base/clock.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(documents, .init = world_up, .fini = world_down);

static void virtual_up(void) {
    world_virtual_time();
    world_up();
    world_time_stop(true);
}
static void virtual_down(void) {
    world_time_stop(false);
    world_down();
}
TestSuite(documents_clock, .init = virtual_up, .fini = virtual_down);

#define MINUTE   INT64_C(60000)
#define ACCEPT   "{\"action\":\"accept\"}"
#define REJECT   "{\"action\":\"reject\"}"
#define APPROVAL "{\"workspec.humanTasks\":\"approval\"}"

static const char E_1[] =
    "0 run.started @28800000\n"
    "1 node.started boil @28800000\n"
    "2 variable.changed boil water.quantity 2 -> 1.75 apply @28800000\n"
    "3 variable.changed boil kettle.state \"cold\" -> \"boiling\" apply "
    "@28800000\n"
    "4 variable.changed boil kettle.state \"boiling\" -> \"cold\" revert "
    "@29100000\n"
    "5 node.completed boil @29100000\n"
    "6 node.started brew @29100000\n"
    "7 variable.changed brew pot absent -> "
    "{\"id\":\"pot\",\"type\":\"product\",\"name\":\"Pot\"} create @29100000\n"
    "8 variable.changed brew pot.quantity absent -> 0.25 create @29100000\n"
    "9 node.completed brew @29340000\n"
    "10 node.started pour @29340000\n"
    "11 variable.changed pour cup.quantity 0 -> 1 apply @29340000\n"
    "12 variable.changed pour pot "
    "{\"id\":\"pot\",\"type\":\"product\",\"name\":\"Pot\"} -> null delete "
    "@29340000\n"
    "13 node.completed pour @29400000\n"
    "14 artifact.created\n"
    "15 run.completed\n";
static const char TEA_WORLD[] =
    "{\"objects\":[{\"id\":\"ann\",\"type\":\"actor\",\"name\":\"Ann\",\"properties\":"
    "{\"state\":\"free\"}},{\"id\":\"kettle\",\"type\":\"equipment\",\"name\":\"Kettle\","
    "\"properties\":{\"state\":\"cold\"}},{\"id\":\"water\",\"type\":\"resource\",\"name\":"
    "\"Water\",\"properties\":{\"quantity\":1.75}},{\"id\":\"cup\",\"type\":\"product\","
    "\"name\":\"Cup\",\"properties\":{\"quantity\":1}}]}";

static struct str tea(const char *configurable) {
    return doc_start(doc_text(DOC_TEA), configurable);
}

static void expect_world(struct str run) {
    struct str world = doc_world(run);
    cr_expect(str_eqc(world, TEA_WORLD), STR_FMT, STR_ARG(world));
    cr_expect(str_eqc(world_var(run, "water.quantity"), "1.75"));
    cr_expect(str_eqc(world_var(run, "cup.quantity"), "1"));
    cr_expect(world_var(run, "pot.quantity").n == 0, "it went with the pot (WS-104)");
}

/* --- vectors --- */

Test(documents, e_1_the_worked_example_and_again) {
    struct str run[2];
    for (int i = 0; i < 2; i++) {
        run[i] = tea(NULL);
        cr_assert_eq(world_wait_final(run[i]), RUN_COMPLETED, "%s", doc_story(run[i]));
        char *told = (char *)(uintptr_t)doc_story(run[i]);
        cr_expect(str_starts(str_c(told), STR("0 run.started\n")), "%s", told);
        cr_expect_str_eq(strchr(told, '\n'), strchr(E_1, '\n'), "%s", told);
        expect_world(run[i]);
        world_check_log(run[i]);
    }
    struct str opening = json_get(world_event(run[0], EV_RUN_STARTED, 1)->payload, "workspec");
    int64_t n;
    cr_expect(json_int(json_get(opening, "originMs"), &n) && n == 28800000);
    cr_expect(json_int(json_get(opening, "taskCount"), &n) && n == 3);
    for (unsigned i = 1; i < 15; i++) { /* a second run differs in ids and times only */
        struct str x = world_events(run[0]).v[i].payload, y = world_events(run[1]).v[i].payload;
        cr_expect(str_eq(x, y), "%u: " STR_FMT " against " STR_FMT, i, STR_ARG(x), STR_ARG(y));
    }
}

Test(documents, e_2_a_start_that_fails_changes_nothing) {
    struct str run = doc_start(
        doc_base("", "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                     "{'target_id':'m','property_changes':{'state':{'from':'off','to':'on'}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_expect_str_eq(strchr(doc_story(run), '\n'),
                     "\n1 node.started t1 @32400000\n"
                     "2 node.failed t1 \"workspec_transition_mismatch\"\n"
                     "3 run.failed \"workspec_transition_mismatch\"\n",
                     "%s", doc_story(run));
    struct str error = json_get(world_event(run, EV_NODE_FAILED, 1)->payload, "error");
    struct str details = json_get(error, "details");
    cr_expect(str_eqc(json_get(details, "expected"), "\"off\""), STR_FMT, STR_ARG(error));
    cr_expect(str_eqc(json_get(details, "actual"), "\"ready\""));
    cr_expect(str_eqc(json_get(details, "metric_id"), "\"object.state.invalid_transition\""));
    cr_expect(str_eqc(json_get(error, "retryable"), "false"));
    world_check_log(run);
}

Test(documents, e_3_the_first_failure_ends_the_run) {
    struct str run = doc_start(
        doc_base("{'id':'f','type':'resource','name':'F','properties':{'quantity':10}}",
                 "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                 "{'target_id':'f','property_changes':{'quantity':{'delta':-1}}}]},"
                 "{'id':'t2','actor_id':'a','start':'09:30','duration':30,'interactions':["
                 "{'target_id':'m','property_changes':{'state':{'from':'off','to':'on'}}}]},"
                 "{'id':'t3','actor_id':'b','start':'09:45','duration':30,'interactions':["
                 "{'target_id':'f','property_changes':{'quantity':{'delta':-1}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_expect_str_eq(strchr(doc_story(run), '\n'),
                     "\n1 node.started t1 @32400000\n"
                     "2 variable.changed t1 f.quantity 10 -> 9 apply @32400000\n"
                     "3 node.completed t1 @34200000\n"
                     "4 node.started t2 @34200000\n"
                     "5 node.failed t2 \"workspec_transition_mismatch\"\n"
                     "6 node.skipped t3 \"run_failed\"\n"
                     "7 run.failed \"workspec_transition_mismatch\"\n",
                     "%s", doc_story(run));
    struct str failed = json_get(world_event(run, EV_RUN_FAILED, 1)->payload, "failedNodeId");
    cr_expect(str_eqc(failed, "\"t2\""));
    world_check_log(run);
}

static struct str tea_of_people(void) {
    struct str run = tea(APPROVAL);
    world_wait_status(run, RUN_WAITING_APPROVAL);
    return run;
}

Test(documents, e_4_people_accept_and_the_world_is_the_same) {
    struct str run = tea_of_people();
    cr_expect(str_ends(str_c(doc_story(run)), STR("8 variable.changed brew pot.quantity absent -> "
                                                  "0.25 create @29100000\n"
                                                  "9 interrupt.requested brew\n"
                                                  "10 approval.requested brew\n"
                                                  "11 node.suspended brew\n")),
              "%s", doc_story(run));
    cr_expect(str_eqc(world_view(run).current_node, "brew"));
    struct str data = json_get(world_event(run, EV_INTERRUPT_REQUESTED, 1)->payload, "data");
    cr_expect(str_eqc(json_get(data, "title"), "\"Ann: brew\""), STR_FMT, STR_ARG(data));
    cr_expect(str_eqc(json_get(data, "artifactId"), "\"task:brew\""));
    cr_expect(json_get(json_get(data, "artifactData"), "changes").n > 2);
    cr_assert_eq(world_answer(run, "brew", ACCEPT, NULL), 0);
    world_wait_event(run, EV_INTERRUPT_REQUESTED, 2);
    cr_expect_not_null(strstr(doc_story(run), "12 interrupt.resolved brew\n"
                                              "13 approval.received brew\n"
                                              "14 node.resumed brew\n"
                                              "15 node.completed brew @29340000\n"
                                              "16 node.started pour @29340000\n"),
                       "%s", doc_story(run));
    cr_assert_eq(world_answer(run, "pour", ACCEPT, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    expect_world(run);
    world_check_log(run);
}

Test(documents, e_5_what_is_rejected_is_taken_back) {
    struct str run = tea_of_people();
    cr_assert_eq(world_answer(run, "brew", REJECT, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_expect_not_null(strstr(doc_story(run),
                              "14 node.resumed brew\n"
                              "15 variable.changed brew pot "
                              "{\"id\":\"pot\",\"type\":\"product\",\"name\":\"Pot\"} -> null "
                              "withdraw @29100000\n"
                              "16 node.failed brew \"approval_rejected\"\n"
                              "17 node.skipped pour \"run_failed\"\n"
                              "18 run.failed \"approval_rejected\"\n"),
                       "%s", doc_story(run));
    cr_expect(world_var(run, "pot.quantity").n == 0);
    world_check_log(run);
}

Test(documents, e_7_reverts_take_back_their_own_effect_only) {
    struct str run = doc_start(
        doc_base("{'id':'f','type':'resource','name':'F','properties':{'quantity':10}}",
                 "{'id':'t1','actor_id':'a','start':'09:00','duration':60,'interactions':["
                 "{'target_id':'f','temporary':true,'property_changes':{'quantity':{'delta':-4}}}]}"
                 ",{'id':'t2','actor_id':'b','start':'09:20','duration':10,'interactions':["
                 "{'target_id':'f','property_changes':{'quantity':{'delta':5}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    cr_expect(str_eqc(world_var(run, "f.quantity"), "15"));
    struct str outputs = json_get(world_event(run, EV_NODE_COMPLETED, 2)->payload, "outputs");
    cr_expect(str_eqc(json_get(outputs, "changes"),
                      "[{\"name\":\"f.quantity\",\"previous\":10,\"next\":6,\"cause\":\"apply\"},"
                      "{\"name\":\"f.quantity\",\"previous\":11,\"next\":15,\"cause\":\"revert\"}"
                      "]"),
              STR_FMT, STR_ARG(outputs));
}

/* --- restarts, forks --- */

/* Branches that are cut at every event, in a host that dies as soon as they exist: each comes to
 * the world of the source. */
static void restart_everywhere(struct str source, void (*answer)(struct str run)) {
    int64_t n = world_head(source).next_seq;
    const char *facts = doc_facts(source);
    struct str *branch = ARENA_ARRAY(W.a, struct str, (size_t)n);
    for (int64_t seq = 0; seq < n; seq++) {
        branch[seq] = fork_run(source, FORK_BRANCH, seq);
        world_engine_crash();
        world_engine_start();
    }
    for (int64_t seq = 0; seq < n; seq++) {
        if (answer) answer(branch[seq]);
        cr_expect_eq(world_wait_final(branch[seq]), RUN_COMPLETED, "at %d: %s", (int)seq,
                     doc_story(branch[seq]));
        cr_expect(str_eq(doc_world(branch[seq]), doc_world(source)), "at %d", (int)seq);
        cr_expect_str_eq(doc_facts(branch[seq]), facts, "at %d", (int)seq);
        world_check_log(branch[seq]);
    }
}

static void replays_everywhere(struct str source, enum run_status end) {
    int64_t n = world_head(source).next_seq;
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(source, seq, end);
}

Test(documents, e_1_goes_on_wherever_it_is_cut_and_its_host_killed) {
    struct str run = tea(NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    restart_everywhere(run, NULL);
    replays_everywhere(run, RUN_COMPLETED);
}

/* Whatever is asked is accepted, until the run has ended. */
static void accept_all(struct str run) {
    for (;;) {
        world_wait_settled(run);
        if (run_status_final(world_head(run).status)) return;
        struct run_head before = world_head(run);
        struct str node = arena_str(W.a, world_view(run).current_node);
        int rc = world_answer(run, node.p, ACCEPT, NULL);
        cr_assert(rc == 0 || rc == WOPR_E_INTERRUPT_RESOLVED || rc == WOPR_E_INTERRUPT_NOT_FOUND,
                  "%d: %s", rc, doc_story(run));
        if (rc == 0) world_wait_more(&before);
    }
}

Test(documents, e_4_goes_on_wherever_it_is_cut_and_its_host_killed) {
    struct str run = tea_of_people();
    accept_all(run);
    restart_everywhere(run, accept_all);
    replays_everywhere(run, RUN_COMPLETED);
}

Test(documents, e_4_is_killed_while_it_waits_and_after_each_answer) {
    struct str run = tea_of_people();
    for (int i = 0; i < 2; i++) {
        world_engine_crash();
        world_engine_start();
        cr_assert_eq(world_answer(run, i == 0 ? "brew" : "pour", ACCEPT, NULL), 0);
        world_engine_crash();
        world_engine_start();
        if (i == 0) world_wait_event(run, EV_INTERRUPT_REQUESTED, 2);
    }
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    expect_world(run);
    world_check_log(run);
}

Test(documents, a_rejection_and_a_failed_start_are_replayed_from_everywhere) {
    struct str run = tea_of_people();
    cr_assert_eq(world_answer(run, "brew", REJECT, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    replays_everywhere(run, RUN_FAILED);
    run = doc_start(
        doc_base("", "{'id':'t0','actor_id':'b','start':'08:00','duration':300,'interactions':["
                     "{'target_id':'p','temporary':true,'property_changes':{'x':{'set':1}}}]},"
                     "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                     "{'target_id':'m','property_changes':{'state':{'from':'off','to':'on'}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_expect_eq(world_count(run, EV_NODE_CANCELLED), 1, "%s", doc_story(run));
    replays_everywhere(run, RUN_FAILED);
}

Test(documents, a_fork_keeps_the_inputs_and_options_that_its_past_follows_from) {
    struct str run = tea_of_people(), fork;
    struct wopr_error err = {0};
    struct fork_overlay over = {.configurable = STR("{\"workspec.humanTasks\":\"auto\"}")};
    cr_expect_eq(fork_try(run, FORK_BRANCH, 5, over, &fork, &err), WOPR_E_VALIDATION);
    over = (struct fork_overlay){.inputs = STR("{\"world\":{\"water\":{\"quantity\":9}}}")};
    cr_expect_eq(fork_try(run, FORK_BRANCH, 5, over, &fork, &err), WOPR_E_VALIDATION);
    cr_assert_eq(fork_try(run, FORK_BRANCH, 0, over, &fork, &err), 0, "%s", err.message);
    accept_all(fork);
    cr_expect(str_eqc(world_var(fork, "water.quantity"), "8.75"));
}

/* --- people --- */

#define ASKING(more)                                                                               \
    "{'id':'t1','actor_id':'m','start':'09:00','duration':30,'interactions':["                     \
    "{'target_id':'p','property_changes':{'quantity':{'delta':2}}}],'x_openwop':{" more "}}"

Test(documents, a_clarification_has_its_answers_in_the_outputs_ws_117) {
    struct str run =
        doc_start(doc_base("", ASKING("'interrupt':'clarification','questions':["
                                      "{'id':'colour','question':'Which colour?','note':'x'}]")),
                  NULL);
    world_wait_status(run, RUN_WAITING_INPUT);
    cr_assert_eq(world_answer(run, "t1", "{\"answers\":{\"colour\":\"red\"}}", NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    struct str outputs = json_get(world_event(run, EV_NODE_COMPLETED, 1)->payload, "outputs");
    cr_expect(str_eqc(json_get(outputs, "answers"), "{\"colour\":\"red\"}"), STR_FMT,
              STR_ARG(outputs));
    replays_everywhere(run, RUN_COMPLETED);
}

/* WS-120: recorded decisions are used where they were given. */
Test(documents, two_people_answer_in_their_own_order_and_a_replay_as_they_did) {
    struct str run =
        doc_start(doc_base("", "{'id':'t0','actor_id':'b','start':'09:00','duration':120},"
                               "{'id':'t1','actor_id':'a','start':'09:00','duration':1},"
                               "{'id':'t2','actor_id':'m','start':'09:00','duration':30}"),
                  APPROVAL);
    world_wait_event(run, EV_INTERRUPT_REQUESTED, 2);
    world_wait_status(run, RUN_WAITING_APPROVAL);
    cr_assert_eq(world_answer(run, "t1", ACCEPT, NULL), 0);
    world_wait_event(run, EV_NODE_COMPLETED, 2);
    cr_assert_eq(world_answer(run, "t0", ACCEPT, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    replays_everywhere(run, RUN_COMPLETED);
}

static void expect_var(struct str run, const char *name, const char *value) {
    struct str raw = world_var(run, name);
    cr_expect(str_eqc(raw, value), "%s: " STR_FMT, name, STR_ARG(raw));
}

Test(documents, variables_are_the_properties_of_what_exists_ws_143) {
    struct str run = doc_start(
        doc_base("{'id':'q','type':'equipment','name':'Q','properties':{'state':'s','a.b':1,"
                 "'pos':{'x':1,'y':2}}}",
                 "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                 "{'target_id':'q','property_changes':{'pos.x':{'delta':4},'u.v':{'set':1},"
                 "'a.b':{'set':2},'':{'set':null}}},"
                 "{'target_id':'q','property_changes':{'u':{'set':{'w':1}}}},"
                 "{'target_id':'q','temporary':true,"
                 "'property_changes':{'pos.q.k':{'set':1},'new.q':{'set':1}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    expect_var(run, "q.pos", "{\"x\":5,\"y\":2}");
    expect_var(run, "q.u", "{\"w\":1}");
    expect_var(run, "q.a.b", "2");
    expect_var(run, "q.", "null"); /* the empty name is one, and no word about q itself */
    expect_var(run, "q.state", "\"s\"");
    static const char *const GONE[] = {"q.pos.x", "q.pos.q.k", "q.u.v", "q.new", "q.new.q", "q"};
    for (size_t i = 0; i < sizeof GONE / sizeof *GONE; i++)
        cr_expect_eq(world_var(run, GONE[i]).n, 0u, "%s", GONE[i]);
    replays_everywhere(run, RUN_COMPLETED);
}

/* All of it is in the commit that creates the run. */
Test(documents, a_run_that_asks_and_fails_at_once_leaves_no_question) {
    world_engine_stop();
    W.cfg.create_ms_max = 60000;
    world_engine_start();
    struct str run = doc_start(
        doc_base("", ASKING("'interrupt':'approval'") ",{'id':'t2','actor_id':'a','start':'09:00',"
                                                      "'duration':30,'interactions':[{'target_id':'"
                                                      "m','property_changes':{'state':"
                                                      "{'from':'off','to':'on'}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_assert_eq(world_count(run, EV_INTERRUPT_REQUESTED), 1);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM interrupts WHERE state = 0"), 0);
}

Test(documents_clock, nobody_answers_in_time_and_all_is_taken_back_ws_119) {
    struct str run = doc_start(
        doc_base("", ASKING("'interrupt':'approval','timeoutMs':60000,'approversList':['x']")),
        NULL);
    world_wait_status(run, RUN_WAITING_APPROVAL);
    cr_expect(str_eqc(world_var(run, "p.quantity"), "2"));
    world_time_skip(61000);
    cr_assert_eq(world_wait_final(run), RUN_FAILED);
    cr_expect_not_null(strstr(doc_story(run), "variable.changed t1 p.quantity 2 -> 0 withdraw "
                                              "@32400000\n"),
                       "%s", doc_story(run));
    cr_expect_not_null(strstr(doc_story(run), "node.failed t1 \"interrupt_timeout\"\n"));
    cr_expect(str_eqc(world_var(run, "p.quantity"), "0"));
    world_check_log(run);
    replays_everywhere(run, RUN_FAILED);
}

/* --- the real clock --- */

#define REAL "{\"workspec.clock\":\"real\",\"workspec.humanTasks\":\"auto\"}"

/* Let the run sleep, then skip to what it waits for. */
static void skip(struct str run, int64_t minutes, unsigned events) {
    for (unsigned i = 0; i < 2000 && world_head(run).next_seq < (int64_t)events; i++) {
        world_time_skip(i == 0 ? minutes * MINUTE : 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    cr_assert_eq(world_head(run).next_seq, events, "%s", doc_story(run));
}

Test(documents_clock, e_6_what_began_before_a_crash_ends_when_it_was_due) {
    struct str run = tea(REAL);
    int64_t began = world_event(run, EV_RUN_STARTED, 1)->ts_ms;
    cr_assert_eq(world_head(run).next_seq, 4, "%s", doc_story(run));
    world_time_skip(2 * MINUTE);
    world_engine_crash();
    world_engine_start();
    world_wait_event(run, EV_RUN_RESUMED, 1); /* the mark of the takeover */
    cr_expect_eq(world_count(run, EV_VARIABLE_CHANGED), 2, "nothing is applied twice");
    int64_t marks = world_head(run).next_seq - 4;
    skip(run, 3, (unsigned)(9 + marks));
    const struct event *done = world_event(run, EV_NODE_COMPLETED, 1);
    cr_expect(done->ts_ms >= began + 5 * MINUTE && done->ts_ms < began + 5 * MINUTE + 2500);
    world_engine_crash(); /* and while the host is down, the rest comes due */
    world_time_skip(30 * MINUTE);
    world_engine_start();
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    expect_world(run);
    cr_expect_str_eq(strchr(doc_facts(run), '\n'), strchr(doc_facts(tea(NULL)), '\n'));
    world_check_log(run);
}

Test(documents_clock, virtual_time_stands_while_the_run_is_paused_ws_113) {
    struct str run = tea(REAL);
    int64_t began = world_event(run, EV_RUN_STARTED, 1)->ts_ms;
    world_time_skip(2 * MINUTE);
    cr_assert_eq(world_pause(run, DRAIN_CURRENT_NODE), 0);
    world_time_skip(600 * MINUTE);
    cr_assert_eq(world_op(ENGINE_RESUME, run, NULL), 0);
    int64_t before = world_head(run).next_seq;
    skip(run, 3, (unsigned)before + 5);
    const struct event *done = world_event(run, EV_NODE_COMPLETED, 1);
    cr_expect(done->ts_ms >= began + 605 * MINUTE && done->ts_ms < began + 605 * MINUTE + 2500,
              "%lld", (long long)(done->ts_ms - began));
    skip(run, 4, (unsigned)before + 9);
    world_time_skip(MINUTE + 5);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    expect_world(run);
    replays_everywhere(run, RUN_COMPLETED);
}

/* What comes from outside while tasks run comes to a replay at the same place, also after the last
 * change of a start, which ends no step of the log. */
Test(documents_clock, a_replay_is_answered_where_its_source_was_while_others_run) {
    struct str run = doc_start(
        doc_base("", "{'id':'t0','actor_id':'a','start':'09:00','duration':30},"
                     "{'id':'t1','actor_id':'m','start':'09:00','duration':60,'interactions':[{"
                     "'target_id':'p','temporary':true,'property_changes':{'x':{'set':1}}}]}"),
        "{\"workspec.clock\":\"real\",\"workspec.speed\":60}");
    world_time_skip(2 * MINUTE + 5);
    world_wait_event(run, EV_VARIABLE_CHANGED, 1);
    world_wait_status(run, RUN_WAITING_APPROVAL);
    cr_assert_eq(world_answer(run, "t0", ACCEPT, NULL), 0);
    world_wait_event(run, EV_NODE_COMPLETED, 1);
    world_time_skip(61 * 1000);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    replays_everywhere(run, RUN_COMPLETED);
}

Test(documents_clock, a_replay_takes_back_what_no_one_answered_while_others_run) {
    struct str run = doc_start(
        doc_base("", "{'id':'t0','actor_id':'m','start':'09:00','duration':60},"
                     "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'x_openwop':{"
                     "'interrupt':'clarification','timeoutMs':1000,'questions':[{'id':'q',"
                     "'question':'Q'}]},'interactions':[{'target_id':'p','property_changes':{"
                     "'x':{'set':1},'y':{'set':2}}}]}"),
        "{\"workspec.clock\":\"real\",\"workspec.speed\":60,\"workspec.humanTasks\":\"auto\"}");
    world_time_skip(2 * MINUTE + 5);
    world_wait_status(run, RUN_WAITING_INPUT);
    world_time_skip(1005);
    cr_assert_eq(world_wait_final(run), RUN_FAILED, "%s", doc_story(run));
    replays_everywhere(run, RUN_FAILED);
}

Test(documents_clock, a_replay_is_cancelled_where_its_source_was) {
    struct str run = tea(REAL);
    world_wait_event(run, EV_VARIABLE_CHANGED, 2);
    cr_assert_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_CANCELLED);
    replays_everywhere(run, RUN_CANCELLED);
}

Test(documents_clock, people_make_tasks_slip_and_a_replay_slips_as_well_ws_118) {
    struct str run = doc_start(
        doc_base("", "{'id':'t1','actor_id':'a','start':'09:00','duration':30},"
                     "{'id':'t2','actor_id':'a','start':'09:30','duration':20,'priority':'low'},"
                     "{'id':'t3','actor_id':'a','start':'10:00','duration':30,"
                     "'priority':'critical'},"
                     "{'id':'t4','actor_id':'m','start':'09:30','duration':10,"
                     "'depends_on':['t1']}"),
        "{\"workspec.clock\":\"real\",\"workspec.speed\":60}");
    cr_expect_eq(world_head(run).next_seq, 1, "the day begins at seven: %s", doc_story(run));
    world_time_skip(2 * MINUTE + 5); /* timers are never early */
    world_wait_status(run, RUN_WAITING_APPROVAL);
    world_time_skip(70 * 1000); /* 10:10 */
    cr_assert_eq(world_answer(run, "t1", ACCEPT, NULL), 0);
    world_wait_event(run, EV_NODE_STARTED, 3);
    for (int i = 0; i < 2; i++) { /* C-6 asks once; here t3 and t2 are people's as well */
        world_wait_event(run, EV_INTERRUPT_REQUESTED, (unsigned)i + 2);
        world_time_skip(30 * 1000);
        struct str node = arena_str(W.a, world_view(run).current_node);
        cr_assert_eq(world_answer(run, node.p, ACCEPT, NULL), 0, "%s", doc_story(run));
    }
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    const struct event *e = world_event(run, EV_NODE_STARTED, 2);
    cr_expect(str_eqc(e->node_id, "t4"), "%s", doc_story(run));
    cr_expect(str_eqc(world_event(run, EV_NODE_STARTED, 3)->node_id, "t3"));
    cr_expect(str_eqc(world_event(run, EV_NODE_STARTED, 4)->node_id, "t2"));
    replays_everywhere(run, RUN_COMPLETED);
}

Test(documents_clock, a_fork_goes_on_at_the_virtual_instant_of_its_cut) {
    struct str run = tea(REAL);
    world_time_skip(2 * MINUTE);
    struct str fork = fork_run(run, FORK_BRANCH, 3);
    (void)fork;
    world_time_skip(30 * MINUTE);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    cr_assert_eq(world_wait_final(fork), RUN_COMPLETED);
    struct str later = fork_run(run, FORK_BRANCH, 4); /* half an hour after the cut */
    world_wait_event(later, EV_VARIABLE_CHANGED, 2);
    int64_t n = world_head(later).next_seq;
    cr_expect_eq(world_count(later, EV_NODE_COMPLETED), 0, "%s", doc_story(later));
    skip(later, 5, (unsigned)n + 5);
    skip(later, 4, (unsigned)n + 9);
    world_time_skip(MINUTE + 5);
    cr_assert_eq(world_wait_final(later), RUN_COMPLETED);
    expect_world(later);
}

/* --- bounds and bad input --- */

static int start_code(const char *configurable, const char *inputs, struct wopr_error *err) {
    struct workflow *wf = doc_put(doc_text(DOC_TEA));
    const struct options_env env = {.limits = &W.cfg.limits, .test_key = true};
    struct run_options o;
    struct var_inits v;
    int rc = run_options_check(str_c(configurable), STR_NONE, STR_NONE, wf, &env, W.a, &o, err);
    if (rc == 0) rc = run_inputs_check(str_c(inputs), wf, W.a, &v, err);
    workflow_unref(wf);
    return rc;
}

Test(documents, options_and_inputs_that_are_none_are_refused_by_name_ws_96_ws_99) {
    static const char *const BAD[][2] = {
        {"{\"workspec.clock\":\"sun\"}", "{}"},
        {"{\"workspec.clock\":1}", "{}"},
        {"{\"workspec.speed\":0,\"workspec.clock\":\"real\"}", "{}"},
        {"{\"workspec.speed\":2000000,\"workspec.clock\":\"real\"}", "{}"},
        {"{\"workspec.speed\":2}", "{}"},
        {"{\"workspec.humanTasks\":\"\"}", "{}"},
        {"{\"workspec.onFailure\":\"go on\"}", "{}"},
        {"{\"workspec.colour\":\"red\"}", "{}"},
        {"{\"recursionLimit\":2}", "{}"},
        {"{}", "{\"water\":1}"},
        {"{}", "{\"world\":1}"},
        {"{}", "{\"world\":{\"wine\":{\"quantity\":1}}}"},
        {"{}", "{\"world\":{\"water\":3}}"},
        {"{}", "{\"world\":{\"water\":{\"quantity.x\":3}}}"},
        {"{}", "{\"world\":{\"water\":{\"quantity\":-3}}}"},
        {"{}", "{\"world\":{\"water\":{\"quantity\":0.1}}}"}, /* the dry run finds it */
        {"{}", "{\"world\":{\"water\":{\"quantity\":2}},\"more\":1}"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct wopr_error err = {0};
        cr_expect_eq(start_code(BAD[i][0], BAD[i][1], &err), WOPR_E_VALIDATION, "%s %s", BAD[i][0],
                     BAD[i][1]);
        cr_expect(err.pointer[0] == '/' && err.message[0] != '\0', "%s %s", BAD[i][0], BAD[i][1]);
    }
    struct wopr_error err = {0};
    cr_expect_eq(start_code("{\"workspec.clock\":\"real\",\"workspec.speed\":2.5}",
                            "{\"world\":{\"water\":{\"quantity\":3,\"from.spring\":1},"
                            "\"ann\":{\"location\":\"hall\",\"properties.location\":2}}}",
                            &err),
                 0, "%s", err.message);
}

Test(documents, other_values_at_the_beginning_ws_96) {
    struct workflow *wf = doc_put(doc_text(DOC_TEA));
    struct str run =
        world_create(wf, "{\"world\":{\"water\":{\"quantity\":7},\"cup\":{\"deep.er\":1}}}", NULL);
    workflow_unref(wf);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    cr_expect(str_eqc(world_var(run, "water.quantity"), "6.75"));
    cr_expect(str_eqc(world_var(run, "cup.deep"), "{\"er\":1}"));
    world_check_log(run);
    restart_everywhere(run, NULL);
}

Test(documents, what_looks_like_a_credential_is_hidden_and_stops_nothing) {
    struct str run = doc_start(
        doc_base("", "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                     "{'target_id':'m','temporary':true,'property_changes':{'state':{'from':"
                     "'ready','to':'sk-abcdefghijklmnopqrstuvwxyz0123456789'}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED, "%s", doc_story(run));
    cr_expect_null(strstr(doc_story(run), "sk-abcdef"));
    replays_everywhere(run, RUN_COMPLETED);
    world_check_log(run);
}

Test(documents, operators_without_effect_are_told_once_ws_78) {
    struct str run = doc_start(
        doc_base("", "{'id':'t1','actor_id':'a','start':'09:00','duration':30,'interactions':["
                     "{'target_id':'p','property_changes':{'quantity':{'set':7,'delta':5}}}]},"
                     "{'id':'t2','actor_id':'b','start':'09:00','duration':30,'interactions':["
                     "{'target_id':'p','property_changes':{'quantity':{'set':8,'delta':5}}}]}"),
        NULL);
    cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
    cr_expect_eq(world_count(run, EV_LOG_APPENDED), 3, "two warnings (R58), one remark: %s",
                 doc_story(run));
    cr_expect(str_eqc(world_var(run, "p.quantity"), "8"));
    restart_everywhere(run, NULL);
}

Test(documents, a_cancel_reverts_nothing_and_leaves_no_world_ws_115) {
    struct str run = tea_of_people();
    cr_assert_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    cr_assert_eq(world_wait_final(run), RUN_CANCELLED);
    cr_expect_eq(world_count(run, EV_ARTIFACT_CREATED), 0);
    cr_expect(str_eqc(world_var(run, "pot.quantity"), "0.25"));
    replays_everywhere(run, RUN_CANCELLED);
}

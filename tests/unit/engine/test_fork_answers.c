/*
 * test_fork_answers.c: what a person says to a replay that still follows its source (FORK-12,
 * FORK-13).  Its questions have the answers that the source got; a person's comes after these, or
 * too late, and in no case does the replay differ from its source or show that it waits.
 */
#include "engine_world.h"
#include "fork_kit.h"

#include <criterion/criterion.h>

TestSuite(engine_fork_answers, .init = world_up, .fini = world_down, .timeout = 120);

#define GATE    NODE("g", "core.approvalGate", "", "")
#define QUORUM  NODE("g", "core.approvalGate", "\"requiredApprovals\":2", "")
#define HOLD(x) NODE(x, "test.hold", "", "")
#define ACCEPT  "{\"action\":\"accept\"}"
#define REJECT  "{\"action\":\"reject\"}"

static void held_go(unsigned holds) {
    while (holds-- > 0) {
        cr_assert_eq(world_wait_sem(&HOLD_HELD), 0);
        sem_post(&HOLD_GO);
    }
}

/* A gate asks, and the nodes of the other branch pass their gates. */
static struct str asked(const char *nodes, const char *edges, unsigned holds) {
    struct str r = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
    held_go(holds);
    world_wait_event(r, EV_NODE_COMPLETED, holds);
    world_wait_event(r, EV_NODE_SUSPENDED, 1);
    return r;
}

/* A replay is inside its first held node, and has asked, when a person answers; what it says. */
static int answered_inside(struct str replay, const char *value, unsigned holds) {
    struct call c;
    cr_assert_eq(world_wait_sem(&HOLD_HELD), 0);
    call_init(&c, ENGINE_RESOLVE, replay);
    c.cmd.resolve.node_id = STR("g");
    c.cmd.resolve.value = str_c(value);
    c.cmd.resolve.may_delegate = true;
    call_send(&c);
    sem_post(&HOLD_GO);
    held_go(holds - 1);
    call_wait(&c);
    int rc = c.cmd.result.rc;
    call_fini(&c);
    return rc;
}

static void same_as(struct str source, struct str replay) {
    cr_expect_eq(world_wait_final(replay), world_head(source).status, "%s", world_story(replay));
    cr_expect_eq(world_count(replay, EV_REPLAY_DIVERGED), 0, "%s", world_story(replay));
    fork_same_tail(source, replay, 0);
    world_check_log(replay);
}

/* The answer is the source's next event: it is in the plan of the question. */
Test(engine_fork_answers, a_recorded_answer_that_comes_next_is_given_at_once /* FORK-13 */) {
    struct str r = asked(GATE "," HOLD("h"), 0, 1);
    cr_assert_eq(world_answer(r, "g", ACCEPT, NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(answered_inside(f, REJECT, 1), WOPR_E_INTERRUPT_RESOLVED);
    same_as(r, f);
}

/* Another node comes first, so that the replay is seen waiting. */
Test(engine_fork_answers, a_person_answers_no_question_that_the_source_answers /* FORK-12 */) {
    struct str r = asked(GATE "," HOLD("h") "," HOLD("i"), EDGE("e", "h", "i", ""), 2);
    cr_assert_eq(world_answer(r, "g", ACCEPT, NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(answered_inside(f, REJECT, 2), WOPR_E_INTERRUPT_RESOLVED);
    same_as(r, f);
    struct str g = fork_run(f, FORK_REPLAY, 0); /* and a replay of that */
    cr_expect_eq(answered_inside(g, REJECT, 2), WOPR_E_INTERRUPT_RESOLVED);
    same_as(f, g);
}

/* The source waits for the second vote: so does the replay, after the first. */
Test(engine_fork_answers, a_person_votes_after_the_votes_of_the_source /* FORK-13, INT-30 */) {
    struct str r = asked(QUORUM "," HOLD("h") "," HOLD("i"), EDGE("e", "h", "i", ""), 2);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\",\"voter\":\"ann\"}", NULL), 0);
    int64_t n = world_head(r).next_seq;
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(answered_inside(f, "{\"action\":\"accept\",\"voter\":\"bob\"}", 2), 0);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED, "%s", world_story(f));
    cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0, "%s", world_story(f));
    cr_expect_eq(world_head(r).next_seq, n);
    struct str g = fork_run(f, FORK_REPLAY, 0);
    cr_expect_eq(answered_inside(g, REJECT, 2), WOPR_E_INTERRUPT_RESOLVED);
    same_as(f, g);
}

/* Who asks is not running, so that no paused run has an open question: an answer to a replay is
 * never held back by a pause, and waits for its source alone. */
Test(engine_fork_answers, a_replay_that_asks_is_not_paused_while_its_source_leads /* RUN-25 */) {
    struct str r = asked(GATE "," HOLD("h") "," HOLD("i"), EDGE("e", "h", "i", ""), 2);
    int64_t n = world_head(r).next_seq;
    struct str f = fork_run(r, FORK_REPLAY, 0);
    struct call pause, answer;
    cr_assert_eq(world_wait_sem(&HOLD_HELD), 0);
    call_init(&pause, ENGINE_PAUSE, f);
    pause.cmd.control.drain = DRAIN_IMMEDIATE;
    call_send(&pause);
    call_init(&answer, ENGINE_RESOLVE, f);
    answer.cmd.resolve.node_id = STR("g");
    answer.cmd.resolve.value = STR(ACCEPT);
    call_send(&answer);
    sem_post(&HOLD_GO);
    call_wait(&pause);
    cr_expect_eq(pause.cmd.result.rc, WOPR_E_CONFLICT, "%s", world_story(f));
    held_go(1);
    call_wait(&answer);
    cr_expect_eq(answer.cmd.result.rc, 0, "%s", answer.cmd.result.err.message);
    call_fini(&pause);
    call_fini(&answer);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED, "%s", world_story(f));
    cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0, "%s", world_story(f));
    cr_expect_eq(world_head(r).next_seq, n);
    world_check_log(f);
}

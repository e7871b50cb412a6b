/*
 * Two hosts in one process on one file, each with a store, a log and an engine of its own
 * (STORE-16, STORE-30 to STORE-40).  A host whose committer is held up stands for one that is
 * stopped: it beats no more, but its locks are there.
 */
#include "base/clock.h"
#include "store/peers.h"
#include "unit/engine/engine_world.h"
#include "unit/engine/twin_kit.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* A committer that stands still until it is let go. */
static sem_t STUCK, GO;
static bool FROZEN;

static void thaw(void) {
    if (FROZEN) sem_post(&GO);
    FROZEN = false;
}

static void down(void) {
    thaw(); /* a failed assertion left it frozen */
    twins_down();
}
TestSuite(engine_peers, .init = twins_up, .fini = down, .timeout = 300);

static struct str delayed(void) {
    struct str def = world_def("w", NODE("d", "core.delay", "\"delayMs\":60000", ""), 0, 0, 0, 0);
    struct str run = world_start(def, NULL);
    world_wait_event(run, EV_NODE_STARTED, 1);
    return run;
}

static void stand_still(void *ctx, struct store *s) {
    (void)ctx, (void)s;
    sem_post(&STUCK);
    while (sem_wait(&GO) != 0) continue;
}
static void freeze(unsigned i) {
    sem_init(&STUCK, 0, 0);
    sem_init(&GO, 0, 0);
    cr_assert_eq(journal_side(TWINS[i].journal, stand_still, NULL), 0);
    FROZEN = true;
    while (sem_wait(&STUCK) != 0) continue;
}

Test(engine_peers, a_run_that_waits_for_people_is_answered_anywhere /* STORE-35, INT-18 */) {
    struct str r =
        world_start(world_def("w", NODE("g", "core.approvalGate", "", ""), 0, 0, 0, 0), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_expect_eq(world_head(r).holder.n, 0u);
    unsigned won = 0;
    struct call c[2];
    for (unsigned i = 0; i < 2; i++) { /* both hosts at once */
        twin_be(i);
        call_init(&c[i], ENGINE_RESOLVE, r);
        c[i].cmd.resolve.node_id = STR("g");
        c[i].cmd.resolve.value = STR("{\"action\":\"accept\"}");
        call_send(&c[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        twin_be(i);
        call_wait(&c[i]);
        won += c[i].cmd.result.rc == 0;
        cr_expect(c[i].cmd.result.rc == 0 || c[i].cmd.result.rc == WOPR_E_INTERRUPT_RESOLVED, "%s",
                  wopr_err_name(c[i].cmd.result.rc));
        call_fini(&c[i]);
    }
    cr_expect_eq(won, 1u);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 1u);
    world_check_log(r);
}

Test(engine_peers, a_run_goes_where_a_command_for_it_came_in /* STORE-40, RUN-20 */) {
    struct str r = delayed();
    cr_expect_eq(world_head(r).epoch, 1);
    twin_be(1);
    cr_expect_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) lease.handed-off lease.acquired "
                               "node.suspended(d) run.paused");
    twin_be(0);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0); /* paused: no marks */
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_LEASE_HANDED_OFF), 1);
    cr_expect_eq(world_count(r, EV_RUN_RESUMED), 1);
    cr_expect_eq(world_head(r).epoch, 4, "given and claimed; let go and claimed");
    world_check_log(r);
}

Test(engine_peers, the_holder_serves_its_own_mail_first) {
    struct str r = delayed();
    struct call own, other;
    call_init(&own, ENGINE_PAUSE, r);
    call_init(&other, ENGINE_CANCEL, r);
    twin_be(1);
    call_send(&other);
    twin_be(0);
    call_send(&own);
    call_wait(&other);
    call_wait(&own);
    cr_expect_eq(other.cmd.result.rc, 0);
    cr_expect(own.cmd.result.rc == 0 || own.cmd.result.rc == WOPR_E_CONFLICT);
    cr_expect_eq(world_wait_final(r), RUN_CANCELLED);
    call_fini(&own);
    call_fini(&other);
    world_check_log(r);
}

/* Commands that are sent again as soon as they are answered: the mailbox is hardly ever empty. */
enum { FLOOD = 64 };
static atomic_bool FLOOD_OVER;

static void again(struct engine_cmd *cmd) {
    struct call *c = cmd->ctx;
    if (atomic_load(&FLOOD_OVER)) sem_post(&c->done);
    else engine_submit(TWINS[0].engine, cmd);
}

Test(engine_peers, a_run_is_given_away_under_a_flood_of_commands /* STORE-40 */) {
    struct str r = delayed();
    struct call flood[FLOOD], cancel;
    atomic_store(&FLOOD_OVER, false);
    twin_be(0);
    for (int i = 0; i < FLOOD; i++) {
        call_init(&flood[i], ENGINE_RESUME, r); /* a conflict: the run is not paused */
        flood[i].cmd.done = again;
        flood[i].cmd.ctx = &flood[i];
        call_send(&flood[i]);
    }
    twin_be(1);
    call_init(&cancel, ENGINE_CANCEL, r);
    call_do(&cancel);
    cr_expect_eq(cancel.cmd.result.rc, 0, "%s", cancel.cmd.result.err.message);
    atomic_store(&FLOOD_OVER, true);
    for (int i = 0; i < FLOOD; i++) {
        call_wait(&flood[i]);
        call_fini(&flood[i]);
    }
    call_fini(&cancel);
    cr_expect_eq(world_wait_final(r), RUN_CANCELLED);
    world_check_log(r);
}

Test(engine_peers, both_ask_at_once_and_both_are_served) {
    struct str r = delayed();
    for (unsigned k = 0; k < 6; k++) {
        struct call c[2];
        for (unsigned i = 0; i < 2; i++) {
            call_init(&c[i], k % 2 == 0 ? ENGINE_PAUSE : ENGINE_RESUME, r);
            twin_be(i);
            call_send(&c[i]);
        }
        unsigned done = 0;
        for (unsigned i = 0; i < 2; i++) {
            call_wait(&c[i]);
            done += c[i].cmd.result.rc == 0;
            cr_expect(c[i].cmd.result.rc == 0 || c[i].cmd.result.rc == WOPR_E_CONFLICT, "%d: %s",
                      c[i].cmd.result.rc, c[i].cmd.result.err.message);
            call_fini(&c[i]);
        }
        cr_expect_eq(done, 1u, "one of two equal commands has the effect");
    }
    world_check_log(r);
}

Test(engine_peers, a_dead_host_is_found_by_its_lock /* STORE-30, EVT-32 */) {
    struct str r = delayed();
    twin_down(0, false); /* nothing released, and no time passes */
    twin_be(1);
    world_wait_event(r, EV_RUN_RESUMED, 1);
    EXPECT_STR(world_story(r), "run.started node.started(d) lease.lost lease.acquired "
                               "workflow.restored run.resumed");
    twin_up(0);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_peers, a_host_that_stops_hands_over /* STORE-36, STORE-40 */) {
    struct str r = delayed();
    twin_down(0, true);
    twin_be(1);
    world_wait_event(r, EV_RUN_RESUMED, 1);
    EXPECT_STR(world_story(r), "run.started node.started(d) lease.handed-off lease.acquired "
                               "workflow.restored run.resumed");
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

static int64_t beat_of(unsigned i) {
    struct wopr_error err;
    struct holder_row_list l = {NULL, 0};
    cr_assert_eq(store_holders(TWINS[1].store, W.a, &l, &err), 0, "%s", err.message);
    for (size_t k = 0; k < l.n; k++)
        if (str_eqc(l.v[k].name, TWINS[i].holder)) return l.v[k].beat;
    cr_assert_fail("no such host");
    return 0;
}

/* A third of the ttl passes, and the second host lives through it. */
static void time_for_a_beat(void) {
    int64_t beat = beat_of(1);
    world_time_skip(200000);
    for (int i = 0; i < 12000 && beat_of(1) == beat; i++) {
        engine_kick(TWINS[1].engine);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    cr_assert_neq(beat_of(1), beat);
}

static bool taken_over(struct str run) {
    for (int i = 0; i < 200 && world_count(run, EV_RUN_RESUMED) == 0; i++) {
        engine_kick(TWINS[1].engine);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return world_count(run, EV_RUN_RESUMED) > 0;
}

Test(engine_peers, a_silent_host_loses_its_runs_and_falls_silent /* STORE-31, 33, 34 */) {
    struct str r = delayed();
    struct call late;
    freeze(0);
    call_init(&late, ENGINE_PAUSE, r);
    call_send(&late); /* planned with the old epoch, or not at all; not committed anyway */
    twin_be(1);
    world_time_skip(30000);
    cr_expect_eq(world_head(r).epoch, 1, "its lease has not ended");
    for (int i = 0; i < 3; i++) time_for_a_beat();
    /* Silence counts from when its last beat was seen, which may be beats after it was written. */
    for (int i = 0; i < 40 && !taken_over(r); i++)
        if (i < 3) time_for_a_beat();
    cr_assert_eq(world_count(r, EV_RUN_RESUMED), 1);
    cr_expect_eq(world_count(r, EV_LEASE_LOST), 1);
    thaw();
    call_wait(&late);
    cr_expect(late.cmd.result.rc == 0 || late.cmd.result.rc == WOPR_E_CONFLICT, "%s",
              late.cmd.result.err.message);
    bool paused = late.cmd.result.rc == 0;
    call_fini(&late);
    if (paused) cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_COMPLETED), 1);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_check_log(r);
}

static void rung(void *ctx) { sem_post(ctx); }

Test(engine_peers, a_follower_hears_of_each_event /* STORE-16 */) {
    struct str r = delayed();
    struct run_head h = world_head(r);
    struct wopr_error err;
    struct journal_waiter *w = NULL;
    struct journal_reader *reader = NULL;
    struct journal_piece piece;
    sem_t bell, wake;
    sem_init(&bell, 0, 0);
    sem_init(&wake, 0, 0);
    cr_assert_eq(journal_wait(TWINS[1].journal, h.run_no, h.next_seq - 1, rung, &bell, &w, &err),
                 0);
    cr_assert_eq(journal_reader_open(
                     TWINS[1].journal,
                     (&(struct journal_cursor){h.run_no, r, h.next_seq - 1, NULL, rung, &wake}),
                     &reader, &err),
                 0);
    cr_assert_eq(journal_reader_next(reader, &piece, &err), 0, "nothing yet");
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_assert_eq(world_wait_sem(&bell), 0, "the follower hears of the end");
    size_t got = 0;
    for (bool end = false; !end;) {
        int rc = journal_reader_next(reader, &piece, &err);
        cr_assert_geq(rc, 0);
        if (rc == 0) {
            cr_assert_eq(world_wait_sem(&wake), 0);
            continue;
        }
        for (size_t i = 0; i < piece.events_nr; i++, got++) {
            cr_assert_eq(piece.events[i].seq, h.next_seq + (int64_t)got);
            end = event_is_terminal(piece.events[i].kind);
        }
    }
    journal_reader_close(reader);
    journal_wait_cancel(w);
    sem_destroy(&bell);
    sem_destroy(&wake);
}

/* --- parents and children on different hosts --- */

static struct str child_at_the_other_host(struct str *child) {
    struct wopr_error err = {0};
    struct child_row_list l = {NULL, 0};
    workflow_unref(world_put(
        world_def("child", NODE("d", "core.delay", "\"delayMs\":60000", ""), 0, 0, 0, 0)));
    struct str p = world_start(
        world_def("p", NODE("s", "core.subWorkflow", "\"workflowId\":\"child\"", ""), 0, 0, 0, 0),
        NULL);
    world_wait_event(p, EV_NODE_STARTED, 1);
    while (l.n == 0) cr_assert_eq(store_children(W.store, p, false, 1, W.a, &l, &err), 0);
    *child = l.v[0].run_id;
    world_wait_event(*child, EV_NODE_STARTED, 1);
    twin_be(1);
    cr_assert_eq(world_pause(*child, DRAIN_CURRENT_NODE), 0); /* it goes where it is asked for */
    cr_assert_eq(world_op(ENGINE_RESUME, *child, NULL), 0);
    twin_be(0);
    return p;
}

Test(engine_peers, a_parent_hears_of_a_child_that_ends_elsewhere /* WF-45 */) {
    struct str c, p = child_at_the_other_host(&c);
    world_time_skip(61000);
    twin_be(1);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
    twin_be(0);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    cr_expect_eq(world_count(p, EV_LEASE_ACQUIRED), 0, "it never left");
    world_check_log(p);
}

Test(engine_peers, a_cancel_reaches_a_child_that_runs_elsewhere /* INT-41 */) {
    struct str c, p = child_at_the_other_host(&c);
    cr_expect_eq(world_op(ENGINE_CANCEL, p, NULL), 0);
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    cr_expect_eq(world_head(p).status, RUN_CANCELLED);
    world_check_log(p);
    world_check_log(c);
}

/* What was given back is taken by the look that hears of it, though the list of hosts is older:
 * with the clock at rest neither the next regular look nor another sweep comes to its help. */
Test(engine_peers, a_hand_over_is_taken_at_once /* STORE-36, STORE-40 */) {
    struct str r = delayed();
    struct run_head h = world_head(r);
    struct wopr_error err;
    struct journal_waiter *w = NULL;
    sem_t bell;
    sem_init(&bell, 0, 0);
    world_time_stop(true);
    cr_assert_eq(journal_wait(TWINS[1].journal, h.run_no, h.next_seq - 1, rung, &bell, &w, &err),
                 0);
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    while (sem_wait(&bell) != 0) continue; /* the second host has looked since the clock stopped */
    journal_wait_cancel(w);
    sem_destroy(&bell);
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    engine_halt(TWINS[0].engine, true); /* its file stays open: it is still listed as a neighbour */
    twin_be(1);
    world_wait_event(r, EV_LEASE_ACQUIRED, 1);
    world_time_stop(false);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    world_check_log(r);
}

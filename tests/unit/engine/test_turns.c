/* test_turns.c: conditions that cost much are evaluated in many turns: other runs have theirs in
 * between, and where one ends changes nothing (WF-9, WF-10, RUN-4, RUN-20, FORK-15, STORE-39). */
#include "engine_world.h"
#include "fork_kit.h"

#include "base/buf.h"
#include "base/clock.h"
#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <sqlite3.h>

TestSuite(engine_turns, .init = world_up, .fini = world_down);

enum { EDGES_LEAST = 20, EDGES_BEYOND = 250 };
static unsigned edges_nr(void) { return EDGES_LEAST + sampled(100); }

/* A node with edges that a backtracking pattern closes one by one, and one that is open. */
static struct str costly(unsigned edges) {
    struct buf n, e;
    buf_init(&n, 1 << 20);
    buf_init(&e, 1 << 20);
    buf_addz(&n, NODE("a", "core.delay", "\"ms\":60", "")); /* not in the plan that creates it */
    for (unsigned i = 0; i < edges; i++) {
        buf_addf(&n, "," NODE("n%u", "core.noop", "", ""), i, i);
        buf_addf(&e,
                 "%s{\"id\":\"e%u\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"n%u\",\"condition\":"
                 "{\"type\":\"expression\",\"expression\":\"%smatches("
                 "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '^(a+)+$')\"}}",
                 i ? "," : "", i, i, i + 1 == edges ? "1 == 1 || " : "");
    }
    struct str def = world_def("costly", n.p, e.p, 0, 0, 0);
    buf_fini(&n);
    buf_fini(&e);
    return def;
}

static void costly_check(struct str r, unsigned edges) {
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 2);
    cr_expect_eq(world_count(r, EV_NODE_SKIPPED), edges - 1);
    world_check_log(r);
}

static void other_run(void) {
    struct str r = world_start(world_def("w", NODE("a", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

/* 120 conditions of 500,000 steps are a hundred turns of some 20 ms: between those of four such
 * runs many others get theirs.  Were a run one turn, two or three would. */
Test(engine_turns, costly_conditions_leave_others /* RUN-4 */) {
    struct str r[4];
    unsigned others = 0, n = sampled(3) + 1;
    for (unsigned i = 0; i < n; i++) r[i] = world_start(costly(edges_nr()), NULL);
    for (; !run_status_final(world_head(r[0]).status); others++) other_run();
    cr_expect_geq(others, 10u);
    for (unsigned i = 0; i < n; i++) costly_check(r[i], edges_nr());
}

Test(engine_turns, who_takes_such_a_run_over_leaves_others_too /* STORE-39 */) {
    struct str r = world_start(costly(edges_nr()), NULL);
    world_wait_event(r, EV_NODE_COMPLETED, 1);
    world_engine_crash(); /* in the middle of the edges */
    world_engine_start();
    other_run();
    cr_expect_not(run_status_final(world_head(r).status), "it was first");
    costly_check(r, edges_nr());
}

Test(engine_turns, a_cancel_waits_for_the_edges_and_is_heard /* RUN-20 */) {
    enum run_status status = RUN_PENDING;
    struct str r = world_start(costly(40), NULL);
    world_wait_event(r, EV_NODE_COMPLETED, 1);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &status), 0);
    cr_expect_eq(world_wait_final(r), RUN_CANCELLED);
    world_check_log(r);
}

/* Many conditions on a small variable beside a large one: what they do not read costs nothing. */
static struct str beside_large(unsigned edges) {
    struct buf n, e;
    buf_init(&n, 1 << 20);
    buf_init(&e, 1 << 20);
    buf_addz(&n, NODE("a", "core.delay", "\"ms\":60", "") "," NODE("t", "core.noop", "", ""));
    for (unsigned i = 0; i < edges; i++)
        buf_addf(&e,
                 "%s{\"id\":\"e%u\",\"sourceNodeId\":\"a\",\"targetNodeId\":\"t\","
                 "\"triggerRule\":\"any_success\",\"condition\":{\"left\":\"variables.small\","
                 "\"right\":\"%u\"}}",
                 i ? "," : "", i, i);
    struct str def = world_def("beside", n.p, e.p,
                               "{\"name\":\"large\",\"type\":\"array\"},"
                               "{\"name\":\"small\",\"type\":\"string\",\"defaultValue\":\"4999\"}",
                               0, 0);
    buf_fini(&n);
    buf_fini(&e);
    return def;
}

static void inputs_large(struct buf *b) {
    buf_init(b, 8 << 20);
    buf_addz(b, "{\"large\":[0");
    for (unsigned i = 0; b->len < 5500000; i++) buf_addf(b, ",%u", i);
    buf_addz(b, "]}");
}

Test(engine_turns, a_cancel_is_heard_whatever_the_run_holds /* RUN-20, WF-9 */) {
    enum run_status status = RUN_PENDING;
    uint64_t ms = UINT64_MAX;
    struct buf in;
    inputs_large(&in);
    struct str def = beside_large(5000);
    for (int i = 0; i < 5 && ms >= 2000; i++) { /* the machine may be busy, but not every time */
        struct str r = world_start(def, in.p);
        world_wait_event(r, EV_NODE_COMPLETED, 1);
        uint64_t began_ms = clock_mono_ms();
        cr_expect_eq(world_op(ENGINE_CANCEL, r, &status), 0);
        (void)world_wait_final(r); /* cancelled, or it was through before */
        ms = clock_mono_ms() - began_ms;
        world_check_log(r);
    }
    cr_expect_lt(ms, 2000u);
    buf_fini(&in);
}

Test(engine_turns, conditions_beside_a_large_variable_are_decided /* WF-9 */) {
    struct buf in;
    inputs_large(&in);
    struct str r = world_start(beside_large(5000), in.p);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 2);
    world_check_log(r);
    buf_fini(&in);
}

Test(engine_turns, forks_of_such_a_run_come_to_the_same /* FORK-15 */) {
    struct str r = world_start(costly(20), NULL);
    costly_check(r, 20);
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq += 3 * (int64_t)sampled_every())
        fork_replays_equal(r, seq, RUN_COMPLETED);
    struct str b = fork_run(r, FORK_BRANCH, 3);
    cr_expect_eq(world_wait_final(b), RUN_COMPLETED);
    world_check_log(b);
}

/* What decides is a count: the same in a replay, whatever else the host has to do. */
Test(engine_turns, the_conditions_of_one_event_have_a_bound_together /* S5 */) {
    if (sampled_every() > 1) cr_skip_test("one thread computes, for a minute where it is slow");
    struct str r = world_start(costly(EDGES_BEYOND), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    cr_expect_eq(world_count(r, EV_NODE_SKIPPED), EDGES_BEYOND);
    struct str again = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(again), RUN_COMPLETED);
    cr_expect_eq(world_count(again, EV_REPLAY_DIVERGED), 0);
}

/* A store that takes its time: every look of SQLite's machine lasts longer than a turn should. */
enum { SLOW_STEPS = 50, SLOW_MS = 3, SLOW_EVENTS = 240 };
static _Atomic bool slow;
static _Atomic unsigned slow_looks;

static int look_slowly(void *ctx) {
    (void)ctx;
    if (!slow) return 0;
    slow_looks++;
    clock_sleep_ms(SLOW_MS);
    return 0;
}

static int watch_connection(sqlite3 *db, char **message, const void *api) {
    (void)message, (void)api;
    sqlite3_progress_handler(db, SLOW_STEPS, look_slowly, NULL);
    return SQLITE_OK;
}

static void up_slow(void) {
    cr_assert_eq(sqlite3_auto_extension((void (*)(void))watch_connection), SQLITE_OK);
    world_up();
}
TestSuite(engine_slow_store, .init = up_slow, .fini = world_down);

/* Were the time that a page takes to read counted as the time to fold it, each turn would fold one
 * event of a page, and the next would read the page again: some thousands of looks. */
Test(engine_slow_store, a_slow_store_does_not_make_a_load_quadratic /* STORE-38, STORE-39 */) {
    struct str r =
        world_start(world_def("w", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    while (world_head(r).next_seq < SLOW_EVENTS) {
        cr_assert_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
        cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    }
    world_engine_crash();
    slow = true;
    world_engine_start();
    cr_assert_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    slow = false;
    cr_expect_eq(world_wait_final(r), RUN_CANCELLED);
    cr_expect_lt(slow_looks, 300u, "%u looks", slow_looks);
    world_check_log(r);
}

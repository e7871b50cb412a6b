/*
 * test_checkpoint.c: checkpoints of the fold (engine/checkpoint.c): when they are written, that
 * they are what the log folds to, and that a load with one, without one or with a damaged one gives
 * the same run.
 */
#include "checkpoint_kit.h"
#include "fork_kit.h"

#include "base/clock.h"
#include "codec/json.h"
#include "domain/state_save.h"
#include "engine/kept.h"
#include "host/host.h"
#include "store/events.h"
#include "store/runs.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

enum { PIECES = 600, PARTS = 3, EVENTS_MIN = 128, OLD_EVENTS = 300 };

TestSuite(engine_checkpoint, .init = world_up, .fini = world_down);

#define ACCEPT     "{\"action\":\"accept\"}"
#define PROMPT(id) NODE(id, "core.ai.callPrompt", "", "")
#define GATE(id)   NODE(id, "core.approvalGate", "", "")
/* p0 -> g0 -> p1 -> g1 -> p2 -> g2: each p streams so many pieces, each g waits for a person. */
#define PART(n) PROMPT("p" n) "," GATE("g" n)
#define LINKS                                                                                      \
    EDGE("1", "p0", "g0", "")                                                                      \
    "," EDGE("2", "g0", "p1", "") "," EDGE("3", "p1", "g1", "") "," EDGE(                          \
        "4", "g1", "p2", "") "," EDGE("5", "p2", "g2", "")

static struct workflow *parts_def(const char *variables) {
    return world_put(world_def("w", PART("0") "," PART("1") "," PART("2"), LINKS, variables, 0, 0));
}

static struct str run_begin(struct workflow *wf, int pieces) {
    struct buf b;
    buf_init(&b, 1u << 22);
    buf_addz(&b, "{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[");
    for (int i = 0; i < pieces; i++) buf_addf(&b, "%s\"t%d \"", i ? "," : "", i);
    buf_addz(&b, "]}}}");
    struct str r = world_create(wf, NULL, arena_cstr(W.a, buf_str(&b)));
    buf_fini(&b);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    return r;
}

static int answer(struct str run, const char *node) {
    return world_answer(run, node, ACCEPT, NULL);
}

/* Answers gate n and waits for the next one, or the end. */
static void part_answer(struct str run, int n) {
    char node[8];
    snprintf(node, sizeof node, "g%d", n);
    cr_assert_eq(answer(run, node), 0);
    if (n + 1 == PARTS) {
        cr_assert_eq(world_wait_final(run), RUN_COMPLETED);
        return;
    }
    world_wait_event(run, EV_INTERRUPT_REQUESTED, (unsigned)n + 2);
    world_wait_status(run, RUN_WAITING_APPROVAL);
}

Test(engine_checkpoint, a_long_run_leaves_few_bytes_of_them_and_each_is_true) {
    struct workflow *wf = parts_def(NULL);
    struct str r = run_begin(wf, PIECES);
    for (int i = 0; i < PARTS; i++) part_answer(r, i);
    struct points p = checkpoints_check(r, wf);
    int64_t log_bytes = world_head(r).log_bytes;
    cr_expect_geq(p.n, 3u, "only %u", p.n);
    cr_expect_leq(p.bytes * 4, log_bytes, "%d of %d bytes", (int)p.bytes, (int)log_bytes);
    cr_expect_leq(p.gap, 2 * PIECES);
    world_sound();
    workflow_unref(wf);
}

Test(engine_checkpoint, a_short_run_has_none) {
    struct workflow *wf = parts_def(NULL);
    struct str r = run_begin(wf, 30);
    for (int i = 0; i < PARTS; i++) part_answer(r, i);
    cr_assert_lt(world_head(r).next_seq, EVENTS_MIN);
    cr_expect_eq(checkpoints_check(r, wf).n, 0u);
    workflow_unref(wf);
}

/* --- of runs with sensitive values --- */

#define CANARY "1mage-0f-a-canary"

static struct workflow *secret_def(void) {
    return world_put(world_def(
        "w",
        NODE("s", "core.setVariable", "\"name\":\"x\",\"value\":\"" CANARY "\"", "") "," PART(
            "0") "," PART("1") "," PART("2") "," NODE("m", "core.identity", "",
                                                      "\"n\":{\"type\":\"expression\","
                                                      "\"expression\":\"size(variables.x)\"}"),
        EDGE("0", "s", "p0", "") "," LINKS "," EDGE("6", "g2", "m", ""),
        "{\"name\":\"x\",\"type\":\"string\",\"sensitive\":true}", 0, 0));
}

/* Loads the run and answers its gate; how many sealed checkpoints there were before. */
static int64_t load_and_answer(struct str run, int n) {
    int64_t before = world_sql_number("SELECT count(*) FROM run_checkpoints WHERE key_no > 0");
    world_restart();
    part_answer(run, n);
    return before;
}

static bool measured(struct str run, size_t want) {
    const struct event *e =
        world_event(run, EV_NODE_COMPLETED, world_count(run, EV_NODE_COMPLETED));
    int64_t n = -1;
    return json_int(json_get(json_get(e->payload, "outputs"), "n"), &n) && n == (int64_t)want;
}

Test(engine_checkpoint, those_of_a_state_with_sensitive_values_are_sealed /* OBS-71 */) {
    struct workflow *wf = secret_def();
    struct str r = run_begin(wf, PIECES);
    cr_expect_geq(world_sql_number("SELECT count(*) FROM run_checkpoints"), 1);
    cr_expect_eq(
        world_sql_number("SELECT count(*) FROM run_checkpoints WHERE instr(image, CAST('" CANARY
                         "' AS BLOB)) > 0 OR instr(image, CAST('WOPRST' AS BLOB)) = 1"),
        0, "none is clear");
    part_answer(r, 0);
    world_sound();
    cr_expect_geq(load_and_answer(r, 1), 2);
    struct str f = fork_run(r, FORK_BRANCH, world_head(r).next_seq - 1);
    world_wait_status(f, RUN_WAITING_APPROVAL);
    load_and_answer(r, 2);
    cr_expect(measured(r, strlen(CANARY)));
    cr_expect_geq(world_sql_number("SELECT count(*) FROM run_checkpoints WHERE key_no > 0"), 2,
                  "the fork goes on from them");
    world_sound();
    load_and_answer(f, 2);
    cr_expect(measured(f, strlen(CANARY)));
    cr_expect_eq(world_sql_number("SELECT count(*) FROM run_checkpoints WHERE key_no > 0"), 0,
                 "gone with the last run that needs them");
    world_sound();
    workflow_unref(wf);
}

Test(engine_checkpoint, a_load_gives_the_same_run_whatever_became_of_them) {
    const size_t damages = CHECKPOINT_DAMAGES;
    struct workflow *wf = NULL;
    char *story = NULL;
    for (size_t k = 0; k < 2 * damages; k++) { /* clear ones, then sealed ones */
        size_t i = k % damages;
        if (i == 0) {
            workflow_unref(wf);
            wf = k == 0 ? parts_def(NULL) : secret_def();
            story = NULL;
        }
        struct str r = run_begin(wf, PIECES);
        part_answer(r, 0);
        world_restart();
        world_sql("DELETE FROM run_checkpoints WHERE run_no < (SELECT max(run_no) FROM runs)");
        world_sql(CHECKPOINT_DAMAGE[i].sql);
        part_answer(r, 1);
        part_answer(r, 2);
        world_check_log(r);
        const char *now = world_story(r);
        if (!story) story = arena_cstr(W.a, str_c(now));
        cr_expect_str_eq(now, story, "%s", CHECKPOINT_DAMAGE[i].what);
        cr_expect(k < damages || measured(r, strlen(CANARY)), "%s", CHECKPOINT_DAMAGE[i].what);
        cr_expect(str_eq(world_head(r).parked, STR_NONE));
    }
    world_sql("DELETE FROM run_checkpoints");
    world_sound();
    workflow_unref(wf);
}

/* FORK-13: the place of a replay in its source is part of its checkpoints. */
Test(engine_checkpoint, a_replay_goes_on_from_its_own_without_divergence) {
    struct workflow *wf = parts_def(NULL);
    struct str r = run_begin(wf, PIECES);
    part_answer(r, 0);
    part_answer(r, 1); /* it waits for the last answer */
    struct str f = fork_run(r, FORK_REPLAY, 2);
    world_wait_event(f, EV_INTERRUPT_REQUESTED, 3);
    world_wait_status(f, RUN_WAITING_APPROVAL);
    cr_expect_geq(checkpoints_check(f, wf).n, 2u);
    world_restart();
    cr_assert_eq(answer(f, "g2"), 0);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0);
    part_answer(r, 2);
    char *story = arena_cstr(W.a, str_c(world_story(r)));
    cr_expect_str_eq(world_story(f), story);
    world_sound();
    workflow_unref(wf);
}

/* A branch that is loaded from its own checkpoint knows how long its source stood still (WF-23). */
Test(engine_checkpoint, a_branch_goes_on_from_its_own) {
    struct workflow *wf = parts_def(NULL);
    struct str r = run_begin(wf, PIECES);
    part_answer(r, 0);
    struct str f = fork_run(r, FORK_BRANCH, PIECES / 2);
    world_wait_status(f, RUN_WAITING_APPROVAL);
    part_answer(f, 0);
    cr_expect_geq(checkpoints_check(f, wf).n, 1u);
    world_restart();
    part_answer(f, 1);
    part_answer(f, 2);
    world_sound();
    workflow_unref(wf);
}

/* FORK-8: the rows of a fork are what its log folds to, wherever it is cut. */
Test(engine_checkpoint, a_fork_begins_at_one_of_its_source) {
    struct workflow *wf = parts_def(NULL);
    struct str r = run_begin(wf, PIECES);
    part_answer(r, 0);
    struct points p = checkpoints_check(r, wf);
    const int64_t cuts[] = {p.last - 1, p.last, p.last + 1, PIECES + 4, PIECES + 9, p.last - 300};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct str f = fork_run(r, FORK_BRANCH, cuts[i]);
        world_wait_status(f, RUN_WAITING_APPROVAL);
        fork_same_prefix(r, f, cuts[i]);
        struct str g = fork_run(f, FORK_REPLAY, cuts[i] - 1); /* a fork of a fork */
        world_wait_status(g, RUN_WAITING_APPROVAL);
        fork_same_prefix(r, g, cuts[i] - 1);
        cr_expect_eq(world_count(g, EV_REPLAY_DIVERGED), 0);
    }
    world_sound();
    workflow_unref(wf);
}

/* Plans end where edges with conditions are still to be settled. */
Test(engine_checkpoint, a_loop_of_conditions_has_them) {
    world_engine_stop();
    W.cfg.limits.max_node_executions = 2000;
    world_engine_start();
    struct workflow *wf = world_put(
        world_def("w",
                  NODE("h", "core.loop", "\"maxIterations\":400", "") "," NODE("b", "core.noop", "",
                                                                               "") "," GATE("g0"),
                  EDGE("1", "h", "b",
                       ",\"condition\":{\"type\":\"expression\",\"expression\":\"output.done == "
                       "false\"}") "," EDGE("2", "b", "h",
                                            "") "," EDGE("3", "h", "g0",
                                                         ",\"condition\":{\"type\":\"expression\","
                                                         "\"expression\":\"output.done == true\"}"),
                  0, "\"maxLoopbackIterations\":1000", 0));
    struct str r = world_create(wf, NULL, "{\"recursionLimit\":2000}");
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_assert_gt(world_head(r).next_seq, 2000);
    struct points p = checkpoints_check(r, wf);
    cr_expect_geq(p.n, 3u, "only %u", p.n); /* where plans end is a matter of time */
    cr_expect_leq(p.gap, 6 * EVENTS_MIN);
    world_restart();
    cr_assert_eq(answer(r, "g0"), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    world_sound();
    workflow_unref(wf);
}

/* --- states of runs that were let go --- */

static size_t kept_nr(void) {
    pthread_mutex_lock(&W.engine->kept.mu);
    size_t n = W.engine->kept.nr;
    pthread_mutex_unlock(&W.engine->kept.mu);
    return n;
}

/* A run has left memory some time after the commit that let it go. */
static void memory_empty(void) {
    struct engine_stats s;
    uint64_t until_ms = clock_mono_ms() + 60000;
    do {
        engine_stats(W.engine, &s);
        sched_yield();
    } while (s.runs_active > 0 && clock_mono_ms() < until_ms);
    cr_assert_eq(s.runs_active, 0u);
}

Test(engine_checkpoint, only_long_runs_are_kept_and_few_of_them) {
    struct workflow *wf = parts_def(NULL);
    (void)run_begin(wf, 40);
    memory_empty();
    cr_expect_eq(kept_nr(), 0u, "folding a short log costs nothing");
    struct str r = run_begin(wf, PIECES);
    memory_empty();
    cr_expect_eq(kept_nr(), 1u);
    part_answer(r, 0);
    part_answer(r, 1);
    memory_empty();
    cr_expect_eq(kept_nr(), 1u);
    part_answer(r, 2);
    memory_empty();
    cr_expect_eq(kept_nr(), 0u, "it has ended");
    for (int i = 0; i < KEPT_MAX + 3; i++) (void)run_begin(wf, PIECES / 2);
    memory_empty();
    cr_expect_leq(kept_nr(), (size_t)KEPT_MAX);
    cr_expect_gt(kept_nr(), 0u);
    world_sound();
    workflow_unref(wf);
}

/* As after another host had the run: what is kept is a fold of the first events only. */
Test(engine_checkpoint, an_old_kept_state_folds_on) {
    struct workflow *wf = parts_def(NULL), *cached = NULL;
    struct str r = run_begin(wf, PIECES);
    struct run_origin o;
    struct wopr_error err;
    memory_empty();
    int64_t no = world_head(r).run_no;
    struct event_list log = world_events(r);
    cr_assert_eq(store_run_origin(W.store, no, W.a, &o, &err), 0);
    cr_assert_eq(engine_workflow(W.engine, o.meta.tenant, o.meta.test_mode, wf->id, &cached, &err),
                 0);
    struct run_exec *re = exec_new(W.engine, r, EXEC_LOOKUP);
    re->run_no = no;
    re->state = checkpoint_fresh(&o, cached);
    for (int i = 0; i < OLD_EVENTS; i++)
        cr_assert_eq(run_state_apply(re->state, &log.v[i], &err), 0);
    run_state_clean(re->state);
    re->memory.bytes = 1000;
    kept_put(re);
    cr_assert_null(re->state, "it took the place of the newer one");
    exec_free(re);
    cr_expect_eq(kept_nr(), 1u);
    for (int i = 0; i < PARTS; i++) part_answer(r, i);
    world_sound();
    workflow_unref(cached);
    workflow_unref(wf);
}

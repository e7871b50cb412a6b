/*
 * test_fork_long.c: long prefixes folded in turns, chains of forks, sources that vanish, masked
 * values (FORK-9, FORK-21, STORE-44).
 */
#include "engine_world.h"
#include "fork_kit.h"

#include "codec/json.h"
#include "store/admin.h"
#include "store/run_lists.h"
#include "store/upkeep.h"

#include <criterion/criterion.h>

TestSuite(engine_fork_long, .init = world_up, .fini = world_down);

/* A stream of so many pieces. */
static struct str long_run(int pieces) {
    struct buf b;
    buf_init(&b, 1u << 22);
    buf_addz(&b, "{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[");
    for (int i = 0; i < pieces; i++) buf_addf(&b, "%s\"t%d \"", i ? "," : "", i);
    buf_addz(&b, "]}}}");
    struct workflow *wf = world_put(
        world_def("w", NODE("a", "core.ai.callPrompt", "", "") "," NODE("n", "core.noop", "", ""),
                  EDGE("e", "a", "n", ""), 0, 0, 0));
    struct str r = world_create(wf, NULL, arena_cstr(W.a, buf_str(&b)));
    buf_fini(&b);
    workflow_unref(wf);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    return r;
}

Test(engine_fork_long, a_long_prefix_is_folded_in_turns /* FORK-9 */) {
    enum { PIECES = 4900 };
    static const int64_t cuts[] = {2048, 2049, 4097, PIECES, PIECES + 1, PIECES + 6};
    struct str r = long_run(PIECES); /* started, node, pieces, node, node, node, end */
    cr_assert_eq(world_head(r).next_seq, PIECES + 6);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts - 1; i++) {
        struct str b = fork_run(r, FORK_BRANCH, cuts[i]);
        fork_replays_equal(r, cuts[i], RUN_COMPLETED);
        cr_expect_eq(world_wait_final(b), RUN_COMPLETED);
        cr_expect_eq(world_count(b, EV_OUTPUT_CHUNK), PIECES);
        fork_same_prefix(r, b, cuts[i]);
        world_check_log(b);
    }
}

Test(engine_fork_long, a_host_that_ends_while_it_folds_leaves_nothing /* FORK-9 */) {
    struct str r = long_run(4900);
    struct store_counts before, after;
    struct wopr_error err;
    cr_assert_eq(store_count(W.store, &before, &err), 0);
    for (int i = 0; i < 8; i++) {
        struct call c;
        call_init(&c, ENGINE_FORK, r);
        c.cmd.fork.mode = FORK_BRANCH;
        c.cmd.fork.from_seq = 4900;
        call_send(&c);
        world_engine_crash();
        call_wait(&c);
        int rc = c.cmd.result.rc;
        struct str id = rc == 0 ? arena_str(W.a, c.cmd.result.run_id) : STR_NONE;
        call_fini(&c);
        world_engine_start();
        if (rc == 0) {
            cr_expect_eq(world_wait_final(id), RUN_COMPLETED);
            before.runs++;
        } else {
            cr_expect_eq(rc, WOPR_E_UNAVAILABLE);
        }
        struct run_filter all = {.any_tenant = true, .any_mode = true, .status = -1, .max = 100};
        struct run_list l;
        cr_assert_eq(store_run_list(W.store, &all, W.a, &l, &err), 0);
        cr_expect_eq((int64_t)l.n, before.runs);
    }
    cr_assert_eq(store_count(W.store, &after, &err), 0);
    cr_expect_eq(after.runs, before.runs, "nothing is hidden");
}

/* Each fork of a chain adds events of its own; a reload folds through all of them. */
Test(engine_fork_long, forks_of_forks_fifty_deep /* FORK-8, FORK-9 */) {
    enum { DEPTH = 50 };
    struct str r = long_run(60), chain[DEPTH + 1];
    chain[0] = r;
    for (int i = 0; i < DEPTH; i++) {
        int64_t cut = 4 + i; /* in the stream: the rest is emitted again by each of them */
        chain[i + 1] = fork_run(chain[i], FORK_BRANCH, cut);
        cr_assert_eq(world_wait_final(chain[i + 1]), RUN_COMPLETED);
        fork_same_prefix(chain[i], chain[i + 1], cut);
    }
    for (int i = 1; i <= DEPTH; i += 7) {
        cr_expect_eq(world_count(chain[i], EV_OUTPUT_CHUNK), 60);
        world_check_log(chain[i]);
    }
    fork_replays_equal(chain[DEPTH], 30, RUN_COMPLETED);
    world_engine_crash();
    world_engine_start();
    fork_replays_equal(chain[DEPTH], world_head(chain[DEPTH]).next_seq - 1, RUN_COMPLETED);
}

static void purge_source(void *ctx, struct store *s) {
    struct wopr_error err;
    int64_t deleted;
    cr_expect_eq(store_purge_runs(s, INT64_MAX, 1, 1, &deleted, NULL, &err), 0);
    sem_post(ctx);
}

/* Retention takes the run that ended first. */
static void purge_first(void) {
    sem_t done;
    sem_init(&done, 0, 0);
    cr_assert_eq(journal_side(W.journal, purge_source, &done), 0);
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
}

Test(engine_fork_long, a_removed_source_cannot_be_forked /* FORK-24, STORE-44 */) {
    struct str r = world_start(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    struct wopr_error err;
    struct str id;
    (void)world_wait_final(r);
    purge_first();
    int rc = fork_try(r, FORK_REPLAY, 2, (struct fork_overlay){0}, &id, &err);
    cr_expect_eq(rc, WOPR_E_EVENTS_EXPIRED);
    cr_expect_not_null(strstr(err.details, "\"fromSeq\":2"));
}

Test(engine_fork_long, a_replay_outlives_its_source /* FORK-5 */) {
    struct str r = world_start(
        world_def("w", NODE("h", "test.hold", "", "") "," NODE("n", "core.noop", "", ""),
                  EDGE("e", "h", "n", ""), 0, 0, 0),
        NULL);
    while (sem_wait(&HOLD_HELD) != 0) {
    }
    sem_post(&HOLD_GO);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str f = fork_run(r, FORK_REPLAY, 1);
    while (sem_wait(&HOLD_HELD) != 0) { /* the replay is in the node */
    }
    purge_first();
    sem_post(&HOLD_GO);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    cr_expect_eq(world_count(f, EV_REPLAY_DIVERGED), 0);
    struct run_view v = world_view(f);
    cr_expect(str_eq(v.fork.source_run_id, r)); /* it still says where it came from */
}

Test(engine_fork_long, a_replay_behind_masked_values_warns /* FORK-21 */) {
    static const char *const nodes =
        NODE("s", "core.setVariable", "\"name\":\"v\",\"value\":\"hush\"", "") "," NODE(
            "c", "test.measure", "", "\"v\":{\"type\":\"variable\",\"variableName\":\"v\"}");
    struct str r =
        world_start(world_def("w", nodes, EDGE("e", "s", "c", ""),
                              "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
                    NULL);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str whole = fork_run(r, FORK_REPLAY, 0), part = fork_run(r, FORK_REPLAY, 4);
    cr_expect_eq(world_wait_final(whole), RUN_COMPLETED);
    cr_expect_eq(world_count(whole, EV_LOG_APPENDED), 0);
    cr_expect_eq(world_count(whole, EV_REPLAY_DIVERGED), 0);
    cr_expect_eq(world_wait_final(part), RUN_COMPLETED);
    cr_expect_eq(world_count(part, EV_LOG_APPENDED), 1);
    cr_expect_eq(world_count(part, EV_REPLAY_DIVERGED), 2, "%s", world_story(part));
    struct str level = json_get(world_event(part, EV_LOG_APPENDED, 1)->payload, "level");
    cr_expect(str_eqc(level, "\"warn\""));
    struct wopr_error err = {0}; /* a branch would compute with the mask as if it were the value */
    struct str b;
    cr_expect_eq(fork_try(r, FORK_BRANCH, 4, (struct fork_overlay){.inputs = STR_NONE}, &b, &err),
                 WOPR_E_CONFLICT);
    cr_expect(strstr(err.message, "clear values") != NULL, "%s", err.message);
    b = fork_run(r, FORK_BRANCH, 1);
    cr_expect_eq(world_wait_final(b), RUN_COMPLETED);
}

/* A variable that is neither given nor has a default has nothing that could be masked. */
Test(engine_fork_long, a_replay_of_an_ended_run_begins_with_what_is_shown /* FORK-21 */) {
    static const char *const MODES[] = {"mask", "hash", "omit"};
    static const char *const plain = "\"metadata\":{}";
    struct str def = world_def("w", NODE("n", "core.noop", "", ""), 0,
                               "{\"name\":\"k\",\"type\":\"string\",\"sensitive\":true},"
                               "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}",
                               0, 0);
    const char *at = strstr(def.p, plain);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        struct str text =
            arena_printf(W.a, "%.*s\"metadata\":{\"complianceConfig\":{\"maskingMode\":\"%s\"}}%s",
                         (int)(at - def.p), def.p, MODES[i], at + strlen(plain));
        struct str r = world_start(text, "{\"k\":\"0nly-g1ven\"}");
        cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
        struct str f = fork_run(r, FORK_REPLAY, 0);
        cr_expect_eq(world_wait_final(f), RUN_COMPLETED, "%s: %s", MODES[i], world_story(f));
        world_check_log(f);
    }
}

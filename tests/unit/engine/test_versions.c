/* test_versions.c: getVersion, the logical clock and the randomness of executors under retries,
 * crashes and new builds (VER-7, EVT-33, FORK-14). */
#include "engine_world.h"
#include "fork_kit.h"

#include "base/clock.h"
#include "codec/ident.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* What the "build" of test.versioned knows: ASKS false is a build from before the change. */
static struct {
    bool asks;
    int64_t min, max;
} BUILD;

/* Asks for config.change, writes what it got, waits config.waitMs, fails before config.failures. */
static void exec_versioned(const struct node_call *call, struct node_result *out) {
    int64_t version = -7, wait_ms = 0, failures = 0;
    struct str change = json_string(json_get(call->config, "change"), call->a);
    (void)json_int(json_get(call->config, "waitMs"), &wait_ms);
    (void)json_int(json_get(call->config, "failures"), &failures);
    if (BUILD.asks && node_version(call, out, change, BUILD.min, BUILD.max, &version) != 0) return;
    if (call->effects_done == 0) {
        struct node_effect *x = node_effect_add(call, out, EFFECT_LOG);
        x->name = STR("info");
        x->value = arena_printf(call->a, "version %lld", (long long)version);
    }
    out->outputs = arena_printf(call->a, "{\"version\":%lld}", (long long)version);
    if (wait_ms > 0 && !call->waited) {
        out->outcome = NODE_OUT_WAIT;
        out->wait_ms = wait_ms;
    } else if (call->attempt < failures) {
        node_fail(out, "flaky", "not yet", true);
    }
}

/* What each entry of test.oracle saw. */
static struct {
    int64_t now_ms, wall_ms;
    struct sha256 random;
    bool waited;
} SEEN[64];
static _Atomic unsigned SEEN_NR;

static void exec_oracle(const struct node_call *call, struct node_result *out) {
    unsigned at = SEEN_NR++ % 64;
    SEEN[at].now_ms = call->now_ms;
    SEEN[at].wall_ms = clock_wall_ms();
    SEEN[at].random = node_random(call, STR("draw"), 0);
    SEEN[at].waited = call->waited;
    out->outputs = arena_printf(call->a, "{\"now\":%lld,\"id\":\"" STR_FMT "\"}",
                                (long long)call->now_ms, STR_ARG(node_mint_id(call, STR("id"), 0)));
    if (call->waited) return;
    out->outcome = NODE_OUT_WAIT;
    out->wait_ms = 60000;
}

static void up(void) {
    static const struct node_type types[] = {{.type_id = "test.versioned", .fn = exec_versioned},
                                             {.type_id = "test.oracle", .fn = exec_oracle}};
    struct wopr_error err;
    world_virtual_time();
    world_up();
    for (size_t i = 0; i < 2; i++) cr_assert_eq(node_registry_add(W.types, &types[i], &err), 0);
    BUILD.asks = true;
    BUILD.min = -1;
    BUILD.max = 2;
    SEEN_NR = 0;
}
TestSuite(engine_versions, .init = up, .fini = world_down);

static void build(bool asks, int64_t min, int64_t max) {
    BUILD.asks = asks;
    BUILD.min = min;
    BUILD.max = max;
}

static void crash_and_come_back(struct str run) {
    unsigned before = world_count(run, EV_RUN_RESUMED);
    world_engine_crash();
    world_engine_start();
    world_wait_event(run, EV_RUN_RESUMED, before + 1);
}

static struct str payload_of(struct str run, enum ev_kind kind, unsigned n) {
    return world_event(run, kind, n)->payload;
}

static void expect_version(struct str run, unsigned nth_completed, const char *want) {
    struct str out = json_get(payload_of(run, EV_NODE_COMPLETED, nth_completed), "outputs");
    struct str have = json_get(out, "version");
    cr_expect(str_eqc(have, want), STR_FMT, STR_ARG(have));
}

Test(engine_versions, a_pin_precedes_what_follows_from_it /* EVT-33 */) {
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\"", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(v) version.pinned(v) log.appended(v) "
                               "node.completed(v) run.completed");
    struct str pin = payload_of(r, EV_VERSION_PINNED, 1);
    cr_expect(str_eqc(json_get(pin, "changeId"), "\"c\""));
    cr_expect(str_eqc(json_get(pin, "version"), "2"));
    cr_expect(str_eqc(json_get(pin, "nodeId"), "\"v\""));
    world_check_log(r);
}

/* a asks, a delay holds the run, b asks. */
static struct str two_asks(const char *settings) {
    return world_start(
        world_def("w",
                  NODE("a", "test.versioned", "\"change\":\"c\"",
                       "") "," NODE("d", "core.delay", "\"ms\":60000",
                                    "") "," NODE("b", "test.versioned", "\"change\":\"c\"", ""),
                  EDGE("e", "a", "d", "") "," EDGE("f", "d", "b", ""), 0, settings, 0),
        NULL);
}

Test(engine_versions, a_newer_build_on_another_host_follows_the_pin /* VER-7 */) {
    struct str r = two_asks(0);
    world_wait_event(r, EV_NODE_STARTED, 2);
    build(true, 0, 5);
    crash_and_come_back(r);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_VERSION_PINNED), 1);
    expect_version(r, 1, "2");
    expect_version(r, 3, "2");
}

Test(engine_versions, a_build_without_the_pinned_version_fails_the_node /* VER-7, EVT-33 */) {
    struct str r = two_asks("\"maxRetries\":3");
    world_wait_event(r, EV_NODE_STARTED, 2);
    build(true, 3, 5);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(world_count(r, EV_NODE_RETRIED), 0); /* trying again changes nothing */
    struct str error = json_get(payload_of(r, EV_NODE_FAILED, 1), "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"version_out_of_range\""), STR_FMT,
              STR_ARG(error));
    struct str details = json_get(error, "details");
    cr_expect(str_eq(json_string(json_get(details, "runId"), W.a), r));
    cr_expect(str_eqc(json_get(details, "changeId"), "\"c\""));
    cr_expect(str_eqc(json_get(details, "pinnedVersion"), "2"));
    cr_expect(str_eqc(json_get(details, "currentMin"), "3"));
    cr_expect(str_eqc(json_get(details, "currentMax"), "5"));
}

Test(engine_versions, a_retry_gets_the_pin_of_the_first_attempt) {
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\",\"failures\":1", ""), 0, 0,
                  "\"maxRetries\":1", 0),
        NULL);
    world_wait_event(r, EV_NODE_RETRIED, 1);
    build(true, -1, 9);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_VERSION_PINNED), 1);
    expect_version(r, 1, "2");
}

Test(engine_versions, an_attempt_goes_on_with_its_pin_after_a_takeover /* STORE-39 */) {
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\",\"waitMs\":60000", ""), 0, 0,
                  0, 0),
        NULL);
    world_wait_event(r, EV_LOG_APPENDED, 1);
    build(true, -1, 9);
    crash_and_come_back(r);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    expect_version(r, 1, "2");
    cr_expect_eq(world_count(r, EV_LOG_APPENDED), 1);
    cr_expect_eq(world_count(r, EV_VERSION_PINNED), 1);
}

static void old_attempt_meets(int64_t min, const char *want, unsigned pins) {
    build(false, 0, 0);
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\",\"waitMs\":60000", ""), 0, 0,
                  0, 0),
        NULL);
    world_wait_event(r, EV_LOG_APPENDED, 1);
    build(true, min, 2);
    crash_and_come_back(r);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    expect_version(r, 1, want);
    cr_expect_eq(world_count(r, EV_VERSION_PINNED), pins);
}

Test(engine_versions, what_an_older_build_began_stays_before_the_change /* VER-7 */) {
    old_attempt_meets(-1, "-1", 0);
}

Test(engine_versions, what_an_older_build_began_gets_the_least_version /* VER-7 */) {
    old_attempt_meets(1, "1", 1);
}

Test(engine_versions, authors_of_workflows_may_ask_too /* VER-7 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("v", "vendor.wopr.version", "\"changeId\":\"tax\",\"max\":4",
                       "") "," NODE("n", "core.noop", "", ""),
                  EDGE("e", "v", "n",
                       ",\"condition\":{\"type\":\"equals\",\"left\":\"output.version\","
                       "\"right\":4}"),
                  0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    expect_version(r, 1, "4");
    cr_expect_eq(world_count(r, EV_NODE_COMPLETED), 2);
}

Test(engine_versions, a_change_id_like_a_credential_is_refused /* OBS-75 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("v", "vendor.wopr.version",
                       "\"changeId\":\"sk-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl\"", ""),
                  0, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(world_count(r, EV_VERSION_PINNED), 0);
}

static void room_for_logs(bool room) {
    struct rlimit l;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = room ? l.rlim_max : 1;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void wait_seen(unsigned n) {
    for (int i = 0; i < 60000 && SEEN_NR < n; i++) {
        engine_kick(W.engine);
        struct timespec t = {0, 1000000};
        (void)nanosleep(&t, NULL);
    }
    cr_assert_geq(SEEN_NR, n);
}

Test(engine_versions, a_repeated_execution_sees_the_same_time_and_chance /* FORK-14, STORE-39 */) {
    signal(SIGXFSZ, SIG_IGN);
    struct str r = world_start(world_def("w", NODE("o", "test.oracle", "", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    wait_seen(1);
    cr_expect_eq(SEEN[0].now_ms, world_event(r, EV_NODE_STARTED, 1)->ts_ms);
    room_for_logs(false); /* the outcome cannot be committed: folded and entered again */
    world_time_skip(61000);
    wait_seen(2);
    world_time_skip(20000);
    wait_seen(3);
    room_for_logs(true);
    world_time_skip(20000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_geq(SEEN_NR, 3);
    for (unsigned i = 1; i < SEEN_NR && i < 64; i++) {
        cr_expect(SEEN[i].waited);
        cr_expect_eq(SEEN[i].now_ms, SEEN[1].now_ms, "entry %u", i);
        cr_expect(sha256_eq(&SEEN[i].random, &SEEN[0].random), "entry %u", i);
    }
    cr_expect_geq(SEEN[1].now_ms, SEEN[0].now_ms + 60000);
    cr_expect_geq(SEEN[SEEN_NR - 1].wall_ms, SEEN[1].wall_ms + 20000); /* the wall clock moved */
}

Test(engine_versions, a_takeover_sees_the_same_time_and_chance /* FORK-14 */) {
    struct str r = world_start(world_def("w", NODE("o", "test.oracle", "", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    wait_seen(1);
    struct timer_row_list rows;
    cr_assert_eq(store_timers(W.store, world_head(r).run_no, W.a, &rows, NULL), 0);
    int64_t deadline_ms = -1;
    for (size_t i = 0; i < rows.n; i++)
        if (rows.v[i].kind == TIMER_NODE_WAIT) deadline_ms = rows.v[i].fire_at_ms;
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    world_time_skip(90000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(SEEN[1].now_ms, deadline_ms); /* not when the new host got to it */
    cr_expect(sha256_eq(&SEEN[1].random, &SEEN[0].random));
}

Test(engine_versions, chance_differs_by_everything_it_names /* FORK-14 */) {
    struct arena *a = arena_new(1u << 16);
    struct node_state states[2] = {{.activation = 0}, {.activation = 1}};
    struct run_state run = {.nodes = states, .meta = {.run_id = STR("run_1")}};
    struct run_state other = {.nodes = states, .meta = {.run_id = STR("run_2")}};
    struct wf_node n1 = {.id = STR("n1")}, n2 = {.id = STR("n2")};
    const struct node_call calls[] = {
        {.a = a, .run = &run, .def = &n1},
        {.a = a, .run = &other, .def = &n1},
        {.a = a, .run = &run, .def = &n2},
        {.a = a, .run = &run, .def = &n1, .attempt = 1},
        {.a = a, .run = &run, .def = &n1, .node = 1}, /* another activation */
    };
    enum { NR = 5 };
    struct str ids[NR + 2];
    for (size_t i = 0; i < NR; i++) ids[i] = node_mint_id(&calls[i], STR("x"), 0);
    ids[NR] = node_mint_id(&calls[0], STR("x"), 1);
    ids[NR + 1] = node_mint_id(&calls[0], STR("y"), 0);
    for (size_t i = 0; i < NR + 2; i++) {
        cr_expect_eq(ids[i].n, NODE_ID_MINTED_LEN);
        cr_expect(id_opaque_valid(ids[i])); /* GEN-4 */
        for (size_t k = 0; k < i; k++) cr_expect_not(str_eq(ids[i], ids[k]), "%zu %zu", i, k);
    }
    cr_expect(str_eq(ids[0], node_mint_id(&calls[0], STR("x"), 0)));
    arena_free(a);
}

/* --- replays --- */

Test(engine_versions, a_replay_follows_the_pins_of_its_source /* FORK-12 */) {
    struct str r = two_asks(0);
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    build(true, 0, 9); /* a first ask of a new run would get 9 */
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) fork_replays_equal(r, seq, RUN_COMPLETED);
    struct str branch = fork_run(r, FORK_BRANCH, 0);
    world_wait_event(branch, EV_NODE_STARTED, 2);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(branch), RUN_COMPLETED);
    expect_version(branch, 1, "9");
}

Test(engine_versions, a_replay_of_a_source_without_pins_stays_before_the_change /* FORK-12 */) {
    build(false, 0, 0);
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\"", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    build(true, -1, 9);
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(f), RUN_COMPLETED);
    cr_expect_eq(world_count(f, EV_VERSION_PINNED), 0);
    expect_version(f, 1, "-1");
}

Test(engine_versions, a_replay_that_lacks_the_version_fails_and_says_so /* VER-7, FORK-18 */) {
    struct str r = world_start(
        world_def("w", NODE("v", "test.versioned", "\"change\":\"c\"", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    build(true, 3, 9);
    struct str f = fork_run(r, FORK_REPLAY, 0);
    cr_expect_eq(world_wait_final(f), RUN_FAILED);
    struct str error = json_get(payload_of(f, EV_NODE_FAILED, 1), "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"version_out_of_range\""));
    cr_expect_geq(world_count(f, EV_REPLAY_DIVERGED), 1);
}

Test(engine_versions, a_replay_sees_the_time_and_chance_of_its_source /* FORK-14 */) {
    struct str r = world_start(world_def("w", NODE("o", "test.oracle", "", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    world_time_skip(75000); /* the host comes late: the wait ended when it was to */
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    int64_t n = world_head(r).next_seq;
    for (int64_t seq = 0; seq < n; seq++) /* outputs are compared */
        fork_replays_equal(r, seq, RUN_COMPLETED);
    struct str again = fork_run(r, FORK_REPLAY, 0); /* and the replay of a replay */
    cr_expect_eq(world_wait_final(again), RUN_COMPLETED);
    fork_replays_equal(again, 0, RUN_COMPLETED);
}

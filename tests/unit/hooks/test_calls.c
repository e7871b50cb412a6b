/*
 * test_calls.c: callbacks of runs (RUN-1): tenants and receivers do not delay each other, memory
 * fails, clocks change, hosts come and go.
 */
#include "base/fault.h"
#include "hooks_world.h"
#include "store/callbacks.h"

#include <stdio.h>
#include <stdlib.h>

TestSuite(calls, .init = world_up, .fini = world_down, .timeout = 300);

static const char *named(const char *begin, int i) {
    return arena_cstr(W.k.a, arena_printf(W.k.a, "%s%d", begin, i));
}
static void ask_one(const char *tenant, const char *run, const char *path) {
    world_ask(world_caller(tenant, run, path), run, 0, 0);
}
static int64_t in_state(int state) {
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM callbacks WHERE state = %d", state);
    return world_count(sql);
}

Test(calls, a_question_is_a_row_of_its_commit_and_is_sent_once /* RUN-1, D31 */) {
    struct rx_got g = {.seq = -1};
    int64_t no = world_caller("a", "run_1", "/x");
    world_ask(no, "run_1", 0, 0);
    world_ask(no, "run_1", 1, 0);
    cr_expect_eq(in_state(CALLBACK_OPEN), 2, "no host delivers yet");
    world_start();
    cr_assert(rx_wait("/x", 2));
    cr_assert(rx_at("/x", 0, &g));
    cr_expect_str_eq(g.run, "run_1");
    WORLD_UNTIL(in_state(CALLBACK_SENT) == 2);
    world_stop();
    world_start();
    ask_one("a", "run_2", "/y");
    cr_assert(rx_wait("/y", 1));
    cr_expect_eq(rx_count("/x"), 2u, "not again after a restart");
}

Test(calls, tenants_and_receivers_that_hang_delay_no_other /* fairness */) {
    W.cfg.timeout_ms = 60000;
    world_start();
    rx_act("/hang", RX_HANG);
    for (int i = 0; i < 60; i++) ask_one("a", named("run_a", i), "/hang");
    for (int t = 0; t < 20; t++)
        for (int i = 0; i < 3; i++)
            ask_one(named("t", t), arena_cstr(W.k.a, arena_printf(W.k.a, "run_%d_%d", t, i)),
                    "/hang");
    cr_assert(rx_wait("/hang", 8));
    ask_one("b", "run_b", "/fine");
    cr_assert(rx_wait("/fine", 1));
    WORLD_UNTIL(in_state(CALLBACK_SENT) == 1);
    cr_expect_lt(rx_count("/hang"), 60u + 60u, "they have a part of the places");
}

Test(calls, more_than_fit_into_memory_are_sent_in_turns /* W10 */) {
    enum { MANY = 150 };
    for (int i = 0; i < MANY; i++) ask_one("a", named("run_", i), "/x");
    ask_one("z", "run_z", "/z");
    world_start();
    cr_assert(rx_wait("/z", 1));
    WORLD_UNTIL(in_state(CALLBACK_SENT) == MANY + 1);
    cr_expect_eq(rx_count("/x"), (size_t)MANY, "each once");
}

Test(calls, what_fails_grows_apart_and_is_given_up /* D63 */) {
    struct hooks_stats st;
    world_start();
    rx_act("/x", 503);
    ask_one("a", "run_1", "/x");
    WORLD_UNTIL(in_state(CALLBACK_GIVEN_UP) == 1);
    cr_expect_eq(rx_count("/x"), 3u);
    cr_expect_eq(world_count("SELECT attempts FROM callbacks"), 3);
    cr_expect_eq(world_count("SELECT status FROM callbacks"), 503);
    hooks_stats(W.h, &st);
    cr_expect(st.calls.failed == 3 && st.calls.given_up == 1 && st.calls.sent == 0);
}

Test(calls, an_allocation_that_fails_loses_no_question /* D60 */) {
    const uint64_t stride = getenv("WOPR_FAULT_ROUNDS") ? 1 : 12;
    uint64_t rng = 20261124;
    unsigned rounds = 0;
    W.cfg.retry_ms = 1;
    W.cfg.call_attempts = 100;
    world_start();
    ask_one("a", "run_first", "/x");
    cr_assert(rx_wait("/x", 1));
    for (unsigned nth = 1; fault_fired() || nth == 1; rounds++) {
        const char *run = named("run_", (int)nth), *path = named("/x", (int)nth);
        world_ask(world_caller("a", run, path), run, 0, nth);
        cr_assert(rx_wait(path, 1), "%u", nth);
        for (int i = 0; i < 40 && !fault_fired(); i++) world_nap(); /* what is written of it */
        fault_disarm();
        WORLD_UNTIL(in_state(CALLBACK_OPEN) == 0);
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        nth += 1 + (unsigned)((rng >> 33) % stride);
    }
    printf("%u rounds\n", rounds);
    cr_expect_gt(rounds, 5u);
    cr_expect_eq(in_state(CALLBACK_SENT), rounds + 1);
    cr_expect_geq(rx_count("/x"), rounds + 1);
}

Test(calls, a_clock_that_was_set_back_holds_no_question_for_ever /* STORE-30 */) {
    ask_one("a", "run_1", "/far");
    ask_one("a", "run_2", "/soon");
    world_sql("UPDATE callbacks SET attempts = 1, next_ms = (CAST(strftime('%s', 'now') AS INTEGER)"
              " + CASE run_no WHEN (SELECT min(run_no) FROM callbacks) THEN 864000 ELSE 1800 END)"
              " * 1000");
    world_start();
    cr_assert(rx_wait("/far", 1), "no host would have made it wait so long");
    ask_one("a", "run_3", "/now");
    cr_assert(rx_wait("/now", 1));
    cr_expect_eq(rx_count("/soon"), 0u, "that one is not due");
}

Test(calls, a_run_that_is_gone_is_called_by_nobody /* RUN-1 */) {
    int64_t no = world_caller("a", "run_1", "/x");
    world_ask(no, "run_1", 0, 0);
    world_purge(no, 1);
    cr_expect_eq(world_count("SELECT count(*) FROM callbacks"), 0, "its rows go with it");
    world_start();
    ask_one("a", "run_2", "/y");
    cr_assert(rx_wait("/y", 1));
    cr_expect_eq(rx_count("/x"), 0u);
}

/*
 * test_hooks_run.c: the dispatcher with a real receiver: one that never answers delays no other,
 * failing allocations lose nothing, what is too far behind is counted, what is delivered is removed
 * (HOOK-6, HOOK-11, HOOK-15, D60 to D66).
 */
#include "base/fault.h"
#include "base/mem.h"
#include "hooks_world.h"

TestSuite(hooks, .init = world_up, .fini = world_down, .timeout = 300);

static const char *named(const char *what, int i) {
    return arena_cstr(W.k.a, arena_printf(W.k.a, "%s%d", what, i));
}

/* Sequences from `from` to n of a run arrive at a path, in order when repetitions are left out. */
static void expect_order(const char *path, const char *run, int64_t from, int64_t n) {
    struct rx_got g;
    int64_t next = from;
    WORLD_UNTIL(next == n) {
        next = from;
        for (size_t i = 0; rx_at(path, i, &g); i++) {
            if (strcmp(g.run, run) != 0) continue;
            cr_assert_leq(g.seq, next, "%s: %lld before %lld", path, (long long)g.seq,
                          (long long)next);
            next += g.seq == next;
        }
    }
}

/* --- one that never answers --- */

Test(hooks, receivers_of_many_tenants_that_never_answer_delay_no_other_tenant) {
    enum { TENANTS = 12, EACH = 20, RUNS = 5 };
    world_start();
    rx_act("/hole", RX_HANG);
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) world_add(named("bad-", t), "/hole", NULL);
    world_add("good", "/good", NULL);
    for (int t = 0; t < TENANTS; t++) world_run(named("bad-", t), named("run_bad_", t), 2, 40);
    cr_assert(rx_wait("/hole", TENANTS));
    for (int i = 0; i < RUNS; i++) {
        world_run("good", named("run_good_", i), 3, 40);
        expect_order("/good", named("run_good_", i), 0, 3);
    }
}

Test(hooks, receivers_of_one_tenant_that_never_answer_delay_no_other_of_it) {
    enum { EACH = 60 };
    world_start();
    world_add("a", "/good", NULL);
    world_run("a", "run_first", 2, 40);
    expect_order("/good", "run_first", 0, 2);
    rx_act("/hole", RX_HANG);
    for (int i = 0; i < EACH; i++) world_add("a", "/hole", NULL);
    world_run("a", "run_1", 4, 40);
    expect_order("/good", "run_1", 0, 4);
    cr_expect_leq(rx_count("/hole"), (size_t)EACH, "and none is tried twice at a time");
}

Test(hooks, large_events_that_are_never_taken_leave_room_for_others) {
    enum { TENANTS = 3, EACH = 16 };
    world_start();
    rx_act("/hole", RX_HANG);
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < EACH; i++) world_add(named("bad-", t), "/hole", NULL);
    world_add("good", "/good", NULL);
    for (int t = 0; t < TENANTS; t++)
        world_run(named("bad-", t), named("run_bad_", t), 1, 3u << 20);
    cr_assert(rx_wait("/hole", 1));
    world_run("good", "run_good", 3, 40);
    expect_order("/good", "run_good", 0, 3);
}

/* --- memory --- */

Test(hooks, an_allocation_that_fails_loses_nothing /* D60 */) {
    const uint64_t stride = getenv("WOPR_FAULT_ROUNDS") ? 1 : 12;
    uint64_t rng = 20261123;
    unsigned rounds = 0;
    W.cfg.retry_ms = 1;
    world_start();
    world_add("a", "/x", NULL);
    world_add("a", "/tagged", "[\"none\",\"blue\"]");
    world_run("a", "run_first", 1, 40);
    expect_order("/tagged", "run_first", 0, 1);
    for (unsigned nth = 1; fault_fired() || nth == 1; rounds++) {
        const char *run = named("run_", (int)nth);
        int64_t no = world_run("a", run, 0, 0);
        world_events_armed(no, 3, nth);
        expect_order("/x", run, 0, 3);
        expect_order("/tagged", run, 0, 3);
        fault_disarm();
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        nth += 1 + (unsigned)((rng >> 33) % stride);
    }
    printf("%u rounds\n", rounds);
    cr_expect_gt(rounds, 5u);
    WORLD_UNTIL(world_count("SELECT min(delivered) FROM webhook_states") >= 3 * rounds);
    cr_expect_eq(world_count("SELECT sum(dead) + sum(dropped) FROM webhook_states"), 0);
}

/* --- what is too far behind --- */

Test(hooks, beyond_its_bound_a_backlog_loses_the_oldest_and_says_so /* HOOK-11 */) {
    enum { BOUND = 32, RUNS = 100 };
    struct hooks_stats st = {0};
    struct rx_got g = {.seq = -1};
    W.cfg.backlog_max = BOUND;
    W.cfg.timeout_ms = 60000;
    world_start();
    rx_act("/x", RX_HANG);
    const char *id = world_add("a", "/x", NULL);
    for (int i = 0; i < RUNS; i++) world_run("a", named("run_", i), 1, 40);
    cr_assert(rx_wait("/x", 1));
    world_stop(); /* the one under way is not taken: it counts as never sent */
    rx_forget();
    egress_free(W.eg);
    struct egress_config ec = {0};
    cr_assert_eq(egress_allow_parse(STR("127.0.0.1"), &ec.allow, &W.k.err), 0);
    cr_assert_eq(egress_new(&ec, &W.eg, &W.k.err), 0);
    egress_start(W.eg);
    W.cfg.egress = W.eg;
    rx_act("/x", 500);
    W.cfg.retry_ms = 3600000; /* it waits, and the bound finds it waiting */
    world_start();
    WORLD_UNTIL(st.dropped > 0) hooks_stats(W.h, &st);
    cr_expect_eq(st.dropped, RUNS - BOUND);
    WORLD_UNTIL(world_get("a", id).state.dropped == RUNS - BOUND) {}
    int64_t pending = 0, since;
    struct hook_item item = world_get("a", id);
    cr_assert_eq(store_hook_backlog(W.k.s, &item, INT64_MAX, &pending, &since, &W.k.err), 0);
    cr_expect_eq(pending, BOUND, "the newest are kept");
    rx_forget();
    int64_t queued;
    cr_assert_eq(store_hook_retry(W.k.s, STR("a"), false, str_c(id), 1, 1, &queued, &W.k.err), 0);
    cr_assert(rx_wait("/x", BOUND));
    cr_assert(rx_at("/x", 0, &g));
    cr_expect_str_eq(g.run, named("run_", RUNS - BOUND), "the oldest that is left is first");
}

Test(hooks, a_backlog_is_bounded_while_its_receiver_is_always_busy /* HOOK-11 */) {
    enum { BOUND = 32, RUNS = 100 };
    struct hooks_stats st = {0};
    W.cfg.backlog_max = BOUND;
    world_start();
    rx_act("/x", RX_HANG);
    const char *id = world_add("a", "/x", NULL);
    world_run("a", "run_first", 1, 40);
    cr_assert(rx_wait("/x", 1));
    for (int i = 0; i < RUNS; i++) world_run("a", named("run_", i), 1, 40);
    struct hook_item item = world_get("a", id);
    WORLD_UNTIL(world_count("SELECT count(*) FROM webhook_moves") > RUNS) {}
    uint64_t looks = world_ms() + 1500; /* one look at bounds while it is sending */
    WORLD_UNTIL(world_ms() > looks) {}
    egress_stop(W.eg); /* ends the delivery that is under way */
    WORLD_UNTIL(st.dropped > 0) hooks_stats(W.h, &st);
    cr_expect_geq(st.dropped, RUNS - BOUND);
    (void)item;
}

/* --- rows --- */

Test(hooks, delivered_commits_are_removed_to_the_last_one /* W7 */) {
    struct hooks_stats st = {0};
    world_start();
    world_add("a", "/x", NULL);
    world_run("a", "run_1", 1, 40);
    cr_assert(rx_wait("/x", 1));
    world_sql(
        "INSERT INTO webhook_moves (tenant, test_mode, run_no, from_seq, until_seq, kinds,"
        " at_ms) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 14000) SELECT 'a', 0, 1, 0, 1, 1, 0 FROM n"); /* of a kind not asked for */
    world_run("a", "run_2", 1, 40);
    cr_assert(rx_wait("/x", 2));
    WORLD_UNTIL(world_count("SELECT count(*) FROM webhook_moves") <= 1) {}
    hooks_stats(W.h, &st);
    cr_expect_eq(st.tenants, 1u);
}

Test(hooks, a_tenant_without_webhooks_leaves_memory_and_file /* W7 */) {
    enum { TENANTS = 100 };
    struct hooks_stats st = {0};
    const char *ids[TENANTS];
    world_start();
    rx_act("/x", 500);
    for (int i = 0; i < TENANTS; i++) ids[i] = world_add(named("t-", i), "/x", NULL);
    for (int i = 0; i < TENANTS; i++) world_run(named("t-", i), named("run_", i), 2, 40);
    cr_assert(rx_wait("/x", TENANTS));
    WORLD_UNTIL(st.tenants == TENANTS) hooks_stats(W.h, &st);
    for (int i = 0; i < TENANTS; i++) world_remove(named("t-", i), ids[i]);
    WORLD_UNTIL(st.tenants == 0) hooks_stats(W.h, &st);
    cr_expect_leq(world_count("SELECT count(*) FROM webhook_moves"), 1);
    world_add("t-1", "/again", NULL);
    world_run("t-1", "run_again", 2, 40);
    expect_order("/again", "run_again", 0, 2);
}

/* --- what cannot be delivered --- */

Test(hooks, a_run_that_retention_took_first_is_one_dead_letter /* D66 */) {
    W.cfg.retry_ms = 3600000;
    world_start();
    rx_act("/", 500);
    const char *id = world_add("a", "/all", NULL);
    const char *tagged = world_add("a", "/tagged", "[\"blue\"]");
    world_run("a", "run_0", 1, 40); /* fails, and those after it wait */
    cr_assert(rx_wait("/all", 1));
    cr_assert(rx_wait("/tagged", 1));
    int64_t gone = world_run("a", "run_1", 3, 40);
    world_purge(gone, 3);
    world_run("a", "run_2", 1, 40);
    rx_forget();
    int64_t queued;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(store_hook_retry(W.k.s, STR("a"), false, str_c(i ? id : tagged), 1, 1, &queued,
                                      &W.k.err),
                     0);
    expect_order("/all", "run_2", 0, 1);
    expect_order("/tagged", "run_2", 0, 1);
    WORLD_UNTIL(world_get("a", id).state.delivered == 2) {}
    WORLD_UNTIL(world_get("a", tagged).state.delivered == 2) {}
    struct hook_dead_list l = world_deads("a", id);
    cr_assert_eq(l.n, 1u);
    cr_expect_eq(l.v[0].seq, 0);
    cr_expect_eq(l.v[0].until_seq, 4);
    cr_expect_eq(l.v[0].run_id.n, 0u);
    cr_expect_eq(world_get("a", tagged).state.dropped, 4, "nobody knows its tags any more");
}

Test(hooks, an_event_too_large_is_a_dead_letter_and_the_next_is_sent /* W7 */) {
    world_start();
    const char *id = world_add("a", "/x", NULL);
    world_run("a", "run_1", 1, EGRESS_BODY_MAX + 1);
    world_run("a", "run_2", 1, 1u << 20);
    expect_order("/x", "run_2", 0, 1);
    WORLD_UNTIL(world_get("a", id).state.delivered == 1) {}
    struct hook_dead_list l = world_deads("a", id);
    cr_assert_eq(l.n, 1u);
    cr_expect(str_eqc(l.v[0].run_id, "run_1"));
    cr_expect_not_null(strstr(arena_cstr(W.k.a, l.v[0].reason), "too large"));
    cr_expect_eq(world_get("a", id).state.failures, 0, "the receiver is not to blame");
}

Test(hooks, a_secret_that_does_not_open_is_seen_and_does_not_last_for_ever) {
    W.cfg.attempts_max = 3;
    world_start();
    const char *id = world_add("a", "/x", NULL);
    world_sql("UPDATE webhooks SET secret_box = x'00112233445566778899aabbccddeeff0011223344'");
    world_run("a", "run_1", 1, 40);
    WORLD_UNTIL(world_get("a", id).state.dead == 1) {}
    struct hook_dead_list l = world_deads("a", id);
    cr_assert_eq(l.n, 1u);
    cr_expect_eq(l.v[0].attempts, 3);
    cr_expect_gt(l.v[0].reason.n, 10u);
    cr_expect_eq(rx_count("/"), 0u, "nothing is sent unsigned");
}

Test(hooks, an_open_breaker_is_closed_by_a_wish_from_anywhere /* D66 HOOK-15 */) {
    W.cfg.attempts_max = 1;
    world_start();
    rx_act("/x", 500);
    const char *id = world_add("a", "/x", NULL);
    world_run("a", "run_1", 6, 40);
    WORLD_UNTIL(world_get("a", id).state.open_until_ms != 0) {}
    int64_t queued;
    rx_forget();
    cr_assert_eq(store_hook_retry(W.k.s, STR("a"), false, str_c(id), 100, 1, &queued, &W.k.err), 0);
    cr_expect_eq(queued, 4);
    expect_order("/x", "run_1", 4, 6);
    cr_assert(rx_wait("/x", 6));
    WORLD_UNTIL(world_get("a", id).state.open_until_ms == 0) {}
    cr_expect_eq(world_count("SELECT count(*) FROM webhook_moves WHERE kinds = 0 AND hook_no > 0"),
                 0, "it wakes once");
}

Test(hooks, a_wish_during_an_attempt_that_fails_is_another_attempt_at_once /* D66 */) {
    int64_t queued;
    W.cfg.retry_ms = 3600000;
    W.cfg.attempts_max = 1;  /* without the wish it would be given up */
    W.cfg.timeout_ms = 2000; /* so long the first attempt is under way */
    world_start();
    rx_act("/x", RX_HANG);
    const char *id = world_add("a", "/x", NULL);
    world_run("a", "run_1", 1, 40);
    cr_assert(rx_wait("/x", 1));
    cr_assert_eq(store_hook_retry(W.k.s, STR("a"), false, str_c(id), 1, 1, &queued, &W.k.err), 0);
    WORLD_UNTIL(world_count("SELECT count(*) FROM webhook_moves WHERE hook_no > 0") == 0) {}
    rx_act("/x", RX_OK);
    cr_assert(rx_wait("/x", 2), "the wish was heard and forgotten");
    WORLD_UNTIL(world_get("a", id).state.delivered >= 1) {}
    cr_expect_eq(world_get("a", id).state.dead, 0);
}

/*
 * test_hooks.c: webhooks in the store: subscriptions, moves in the transaction of their events,
 * cursors behind a lease, dead letters (HOOK-1 to HOOK-15, D31, D60, D66, D67).
 */
#include "base/fault.h"
#include "base/mem.h"
#include "store/hooks.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "store/vault.h"
#include "unit/store/kit.h"

static struct kit w;
static struct vault *v;
static const struct seal_secret KEK = {{1, 2, 3}};
static int wakes;

static void up(void) {
    bool replaced;
    kit_up(&w);
    cr_assert_eq(vault_new(w.s, &KEK, 1, &v, &replaced, &w.err), 0);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(store_hooks, .init = up, .fini = down);

static int64_t bit(enum ev_kind k) { return (int64_t)(UINT64_C(1) << (unsigned)k); }

static struct hook_row row_of(const char *id, struct str tenant, int64_t kinds) {
    const struct seal_place at = {.scope = str_c(id), .at = -10};
    struct hook_row r = {.webhook_id = str_c(id),
                         .tenant = tenant,
                         .url = STR("https://a.example/hook"),
                         .events = STR("[]"),
                         .fingerprint = STR("01234567"),
                         .created_major = 1,
                         .kinds = kinds,
                         .created_ms = 5};
    cr_assert_eq(vault_seal(v, &at, STR("the-secret-of-it"), w.a, &r.secret, &w.err), 0);
    return r;
}

static int64_t add(const char *id, int64_t kinds) {
    struct hook_row r = row_of(id, KIT_TENANT, kinds);
    const struct hook_idem none = {.has = false};
    bool repeated;
    cr_assert_eq(store_hook_add(w.s, &r, &none, NULL, 100, 10, w.a, &repeated, &w.err), 0, "%s",
                 w.err.message);
    return r.hook_no;
}

static struct hook_item get(const char *id) {
    struct hook_item item;
    cr_assert_eq(store_hook_get(w.s, KIT_TENANT, false, str_c(id), w.a, &item, &w.err), 0);
    return item;
}

static struct hook_move_list moves(void) {
    struct hook_move_list l;
    cr_assert_eq(store_hook_moves(w.s, 0, 1000, w.a, &l, &w.err), 0, "%s", w.err.message);
    return l;
}

static int64_t claim(void) {
    struct hook_lease l;
    int64_t epoch = 0;
    cr_assert_eq(store_hook_lease(w.s, &l, &w.err), 0);
    cr_assert_eq(store_hook_claim(w.s, &l, &epoch, &w.err), 0);
    return epoch;
}

static void woken(void *ctx) {
    (void)ctx;
    wakes++;
}

Test(store_hooks, a_move_is_in_the_transaction_of_its_events /* D31 */) {
    store_on_hook_move(w.s, woken, NULL);
    int64_t before = kit_run(&w, "run_0", 2);
    cr_expect_eq(moves().n, 0, "nobody asked");
    cr_expect_eq(wakes, 0);
    add("wh_1", bit(EV_LOG_APPENDED));
    int64_t no = kit_run(&w, "run_1", 3);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 2, true)), 0);
    struct hook_move_list l = moves();
    cr_assert_eq(l.n, 2);
    cr_expect_eq(l.v[0].run_no, no);
    cr_expect_eq(l.v[0].from_seq, 0);
    cr_expect_eq(l.v[0].until_seq, 3);
    cr_expect_eq(l.v[1].from_seq, 3);
    cr_expect_eq(l.v[1].kinds, bit(EV_LOG_APPENDED) | bit(EV_RUN_COMPLETED));
    cr_expect_eq(wakes, 2);
    cr_expect_eq(kit_apply(&w, kit_append(before, 9, 1, false)), WOPR_E_STALE);
    cr_expect_eq(moves().n, 2, "a refused plan moves nothing");
    cr_assert_eq(kit_apply(&w, kit_append(before, 2, 1, false)), 0);
    cr_expect_eq(moves().n, 3, "of runs that were there before, too");
}

Test(store_hooks, what_nobody_wants_is_no_move /* HOOK-7 */) {
    struct hook_row r = row_of("wh_other", STR("tenant-b"), -1);
    const struct hook_idem none = {.has = false};
    bool repeated;
    cr_assert_eq(store_hook_add(w.s, &r, &none, NULL, 100, 10, w.a, &repeated, &w.err), 0);
    add("wh_1", bit(EV_RUN_COMPLETED));
    int64_t no = kit_run(&w, "run_1", 3);
    cr_expect_eq(moves().n, 0, "another tenant, another type");
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, true)), 0);
    cr_expect_eq(moves().n, 1);
}

Test(store_hooks, a_replay_repeats_nothing_and_a_branch_says_its_own /* D67 FORK-10 */) {
    add("wh_1", -1);
    int64_t no = kit_run(&w, "run_1", 3);
    size_t before = moves().n;
    struct plan *p = kit_fork("run_f", no, "run_1", 2);
    cr_assert_eq(store_apply(w.s, &p, 1, &(int){0}, &w.err), 0);
    int64_t fork = p->run_no;
    plan_unref(p);
    cr_expect_eq(moves().n, before, "what it inherits is nobody's commit");
    cr_assert_eq(kit_apply(&w, kit_append(fork, 2, 1, false)), 0);
    cr_expect_eq(moves().n, before, "a replay");
    cr_assert_eq(kit_foreign(&w, "UPDATE run_origins SET fork_mode = 2 WHERE fork_mode = 1"), 0);
    cr_assert_eq(kit_apply(&w, kit_append(fork, 3, 1, false)), 0);
    cr_expect_eq(moves().n, before + 1, "a branch");
}

Test(store_hooks, a_registration_is_made_once_for_its_key /* IDEM-5 */) {
    struct hook_idem key = {.has = true, .key = {{7}}, .digest = {{8}}, .until_ms = 1000};
    struct hook_row r = row_of("wh_1", KIT_TENANT, 1), again = row_of("wh_2", KIT_TENANT, 1);
    bool repeated = true;
    cr_assert_eq(store_hook_add(w.s, &r, &key, NULL, 100, 10, w.a, &repeated, &w.err), 0);
    cr_expect_not(repeated);
    cr_assert_eq(store_hook_add(w.s, &again, &key, NULL, 100, 20, w.a, &repeated, &w.err), 0);
    cr_expect(repeated);
    cr_expect(str_eq(again.webhook_id, STR("wh_1")));
    key.digest.b[0] = 9;
    again = row_of("wh_2", KIT_TENANT, 1);
    cr_expect_eq(store_hook_add(w.s, &again, &key, NULL, 100, 20, w.a, &repeated, &w.err),
                 WOPR_E_IDEM_CONFLICT);
    cr_assert_eq(store_hook_add(w.s, &again, &key, NULL, 100, 1000, w.a, &repeated, &w.err), 0);
    cr_expect_not(repeated, "the key's time is over");
}

Test(store_hooks, a_tenant_has_so_many_and_no_more) {
    struct hook_row r = row_of("wh_3", KIT_TENANT, 1);
    const struct hook_idem none = {.has = false};
    bool repeated;
    add("wh_1", 1);
    add("wh_2", 1);
    cr_expect_eq(store_hook_add(w.s, &r, &none, NULL, 2, 10, w.a, &repeated, &w.err), WOPR_E_QUOTA);
    cr_assert_eq(store_hook_remove(w.s, KIT_TENANT, false, STR("wh_1"), NULL, &w.err), 0);
    cr_expect_eq(store_hook_add(w.s, &r, &none, NULL, 2, 10, w.a, &repeated, &w.err), 0);
}

Test(store_hooks, other_tenants_and_modes_do_not_see_it /* AUTH-8 */) {
    struct hook_item item;
    int64_t queued;
    add("wh_1", 1);
    cr_expect_eq(store_hook_get(w.s, STR("b"), false, STR("wh_1"), w.a, &item, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_expect_eq(store_hook_get(w.s, KIT_TENANT, true, STR("wh_1"), w.a, &item, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_expect_eq(store_hook_remove(w.s, STR("b"), false, STR("wh_1"), NULL, &w.err),
                 WOPR_E_NOT_FOUND);
    cr_expect_eq(store_hook_retry(w.s, STR("b"), false, STR("wh_1"), 1, 1, &queued, &w.err),
                 WOPR_E_NOT_FOUND);
}

Test(store_hooks, only_the_host_that_delivers_writes_cursors) {
    int64_t no = add("wh_1", -1), first = claim();
    struct hook_mark m = {.hook_no = no, .state = {.next_move = 4, .next_seq = 2, .delivered = 3}};
    cr_assert_eq(store_hook_marks(w.s, first, &m, 1, &w.err), 0);
    cr_assert_eq(store_hook_marks(w.s, first, &m, 1, &w.err), 0);
    cr_expect_eq(get("wh_1").state.delivered, 6, "increments");
    int64_t second = claim();
    cr_expect_eq(store_hook_marks(w.s, first, &m, 1, &w.err), WOPR_E_FENCED);
    cr_expect_eq(store_hook_marks(w.s, second, &m, 1, &w.err), 0);
    const struct hook_lease old = {.epoch = first};
    cr_expect_eq(store_hook_claim(w.s, &old, &second, &w.err), WOPR_E_FENCED, "seen too long ago");
    cr_assert_eq(store_hook_remove(w.s, KIT_TENANT, false, STR("wh_1"), NULL, &w.err), 0);
    cr_assert_eq(store_hook_marks(w.s, second, &m, 1, &w.err), 0);
    cr_expect(m.gone);
}

Test(store_hooks, a_hundred_failures_in_seven_days_stop_it /* HOOK-15 */) {
    const int64_t day = 86400000, start = 1000 * day;
    int64_t no = add("wh_1", -1), epoch = claim();
    struct hook_mark m = {.hook_no = no, .failed = 1};
    for (int i = 0; i < 300; i++) { /* ninety-nine in any seven days, at most */
        m.state.last_ms = start + i * (7 * day / 98);
        cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
        cr_assert_not(m.stopped, "after %d", i + 1);
    }
    for (int i = 0; i < 100 && !m.stopped; i++) {
        m.state.last_ms += 1000;
        cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
    }
    cr_expect(m.stopped);
    cr_expect(get("wh_1").row.stopped);
    struct plan_sealed box;
    int64_t queued;
    cr_expect_eq(store_hook_secret(w.s, no, w.a, &box, &w.err), WOPR_E_NOT_FOUND);
    cr_expect_eq(store_hook_retry(w.s, KIT_TENANT, false, STR("wh_1"), 1, 1, &queued, &w.err),
                 WOPR_E_CONFLICT);
    kit_run(&w, "run_1", 1);
    cr_expect_eq(moves().n, 0, "it costs a run nothing any more");
}

Test(store_hooks, dead_letters_are_bounded_expire_and_come_back /* D66 */) {
    int64_t no = add("wh_1", -1), epoch = claim(), run = kit_run(&w, "run_1", 3), queued = 0;
    struct hook_dead d[3] = {{.run_no = run,
                              .run_id = STR("run_1"),
                              .seq = 0,
                              .until_seq = 1,
                              .reason = STR("why"),
                              .dead_ms = 5,
                              .expires_ms = 50},
                             {.run_no = run,
                              .run_id = STR("run_1"),
                              .seq = 1,
                              .until_seq = 2,
                              .reason = STR("why"),
                              .dead_ms = 6,
                              .expires_ms = 500},
                             {.run_no = 99,
                              .seq = 0,
                              .until_seq = 9,
                              .reason = STR("gone"),
                              .dead_ms = 7,
                              .expires_ms = 500}};
    struct hook_mark m = {.hook_no = no, .state = {.dead = 3}, .deads = d, .deads_nr = 3};
    struct hook_dead_list l;
    cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
    cr_assert_eq(store_hook_dead(w.s, no, INT64_MAX, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 3);
    cr_expect_eq(l.v[0].run_no, 99, "newest first");
    cr_assert_eq(store_hook_expire(w.s, 100, &w.err), 0);
    cr_assert_eq(store_hook_dead(w.s, no, INT64_MAX, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 2, "one expired");
    cr_assert_eq(store_hook_retry(w.s, KIT_TENANT, false, STR("wh_1"), 10, 9, &queued, &w.err), 0);
    cr_expect_eq(queued, 1, "that whose run is there");
    struct hook_move_list all = moves();
    cr_expect_eq(all.v[all.n - 1].hook_no, no);
    cr_expect_eq(all.v[all.n - 1].from_seq, 1);
    for (int i = 0; i < HOOK_DEAD_MAX / 3 + 2; i++)
        cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
    cr_assert_eq(store_hook_dead(w.s, no, INT64_MAX, 2 * HOOK_DEAD_MAX, w.a, &l, &w.err), 0);
    cr_expect_leq(l.n, HOOK_DEAD_MAX);
}

Test(store_hooks, a_wish_to_try_again_is_a_commit_and_wakes_once /* H2 D66 */) {
    int64_t no = add("wh_1", -1), epoch = claim(), queued;
    const struct hook_mark open = {.hook_no = no,
                                   .state = {.failures = 4, .open_until_ms = 77, .next_move = 1}};
    struct hook_mark m = open;
    cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
    cr_assert_eq(store_hook_retry(w.s, KIT_TENANT, false, STR("wh_1"), 10, 9, &queued, &w.err), 0);
    cr_expect_eq(get("wh_1").state.open_until_ms, 77, "only the host that delivers writes it");
    struct hook_move_list l = moves();
    cr_assert_eq(l.n, 1);
    cr_expect_eq(l.v[0].hook_no, no);
    cr_expect_eq(l.v[0].kinds, 0);
    int64_t pending, since, wish = l.v[0].move_no;
    const struct hook_item item = get("wh_1");
    cr_assert_eq(store_hook_backlog(w.s, &item, INT64_MAX, &pending, &since, &w.err), 0);
    cr_expect_eq(pending, 0, "nothing is to be sent");
    m = (struct hook_mark){.hook_no = no, .woken_from = wish, .woken_to = wish};
    cr_assert_eq(store_hook_marks(w.s, epoch, &m, 1, &w.err), 0);
    cr_expect_eq(moves().v[0].hook_no, 0, "the next host does not take it for a new one");
}

Test(store_hooks, a_secret_is_not_read_as_none_for_want_of_memory) {
    add("wh_1", -1);
    int64_t no = get("wh_1").row.hook_no;
    unsigned failed = 0;
    for (size_t n = 3000; n < 3016;
         n++) { /* some fill their block, so that a terminator needs more */
        char sql[96];
        snprintf(sql, sizeof sql, "UPDATE webhooks SET secret_box = randomblob(%zu)", n);
        cr_assert_eq(kit_foreign(&w, sql), 0);
        for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
            struct plan_sealed box = {.seq = 0};
            arena_reset(w.a);
            int rc = store_hook_secret(w.s, no, w.a, &box, &w.err);
            failed += rc != 0;
            if (rc == 0) cr_assert_eq(box.box.n, n, "call %u", nth);
        }
    }
    fault_disarm();
    cr_expect_gt(failed, 0u);
}

Test(store_hooks, a_backlog_is_counted_up_to_a_place) {
    int64_t pending = 0, since;
    add("wh_1", -1);
    for (int i = 0; i < 5; i++) kit_run(&w, (const char *[]){"a", "b", "c", "d", "e"}[i], 1);
    const struct hook_item item = get("wh_1");
    cr_assert_eq(store_hook_backlog(w.s, &item, moves().v[3].move_no, &pending, &since, &w.err), 0);
    cr_expect_eq(pending, 3);
}

Test(store_hooks, no_number_of_a_move_is_given_twice /* H1 */) {
    bool more;
    int64_t no = add("wh_1", -1);
    for (int i = 0; i < 5; i++) kit_run(&w, (const char *[]){"a", "b", "c", "d", "e"}[i], 1);
    cr_assert_eq(store_hook_trim(w.s, KIT_TENANT, false, INT64_MAX, &more, &w.err), 0);
    struct hook_move_list l = moves();
    cr_assert_eq(l.n, 1, "the last stays");
    int64_t last = l.v[0].move_no;
    kit_run(&w, "f", 1);
    l = moves();
    cr_expect_eq(l.v[l.n - 1].move_no, last + 1);
    cr_assert_eq(store_hook_remove(w.s, KIT_TENANT, false, STR("wh_1"), NULL, &w.err), 0);
    cr_assert_eq(store_hook_orphans(w.s, &w.err), 0);
    cr_expect_eq(moves().n, 1);
    (void)no;
}

Test(store_hooks, a_data_key_that_seals_a_secret_is_not_dropped /* vault V2 */) {
    static const struct seal_secret OTHER = {{9}};
    struct vault *wrong;
    bool any = false, replaced;
    add("wh_1", -1);
    cr_assert_eq(store_seals_any(w.s, &any, &w.err), 0);
    cr_expect(any);
    cr_expect_eq(vault_new(w.s, &OTHER, 1, &wrong, &replaced, &w.err), WOPR_E_CONFIG);
}

Test(store_hooks, a_rotated_key_opens_what_was_sealed_before) {
    static const struct seal_secret NEXT = {{4, 4}};
    const struct seal_place at = {.scope = STR("wh_1"), .at = -10};
    struct plan_sealed box;
    struct str clear;
    struct vault *after;
    bool replaced;
    int64_t no = add("wh_1", -1);
    cr_assert_eq(vault_rotate(v, &NEXT, &w.err), 0);
    cr_assert_eq(vault_new(w.s, &NEXT, 1, &after, &replaced, &w.err), 0);
    cr_assert_eq(store_hook_secret(w.s, no, w.a, &box, &w.err), 0);
    cr_assert_eq(vault_open(after, &at, &box, w.a, &clear, &w.err), 0, "%s", w.err.message);
    cr_expect(str_eq(clear, STR("the-secret-of-it")));
    vault_free(after);
}

Test(store_hooks, a_run_that_retention_took_is_not_found) {
    struct hook_run run;
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(store_hook_run(w.s, KIT_TENANT, no, w.a, &run, &w.err), 0);
    cr_expect(str_eq(run.run_id, STR("run_1")));
    cr_expect(str_eq(run.tags, STR("[\"blue\",\"t2\"]")));
    cr_expect_eq(store_hook_run(w.s, STR("b"), no, w.a, &run, &w.err), WOPR_E_NOT_FOUND);
    cr_expect_eq(store_hook_run(w.s, KIT_TENANT, no + 1, w.a, &run, &w.err), WOPR_E_NOT_FOUND);
}

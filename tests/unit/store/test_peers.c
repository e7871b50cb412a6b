/*
 * Several hosts on one file: who is there, who is dead, what they tell each other; schema upgrades
 * (STORE-15, STORE-16, STORE-30).  A second store of the same process has locks of its own.
 */
#include "store/leases.h"
#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

static struct kit w;
static struct store *other;
static struct store_config shared(void) {
    struct store_config cfg = kit_config(&w);
    cfg.host_lock = true;
    return cfg;
}
static void up(void) {
    kit_dir(&w);
    struct store_config cfg = shared();
    cr_assert_eq(store_open(&cfg, &w.s, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(store_open(&cfg, &other, &w.err), 0, "%s", w.err.message);
}
static void down(void) {
    store_close(other);
    kit_down(&w);
}
TestSuite(peers, .init = up, .fini = down);

static int64_t join(struct store *s, const char *name, int64_t *last) {
    int64_t no = 0;
    cr_assert_eq(store_join(s, str_c(name), 2000, 99, &no, last, &w.err), 0, "%s", w.err.message);
    return no;
}

Test(peers, a_host_knows_who_is_there_and_who_is_dead) {
    int64_t last;
    int64_t a = join(w.s, "a", &last);
    cr_expect_not(store_has_peers(w.s));
    int64_t b = join(other, "b", &last);
    cr_expect(store_has_peers(w.s) && store_has_peers(other));
    cr_expect_eq(store_holder_state(w.s, a), HOLDER_ALIVE, "oneself");
    cr_expect_eq(store_holder_state(w.s, b), HOLDER_ALIVE);
    cr_expect_eq(store_holder_state(other, a), HOLDER_ALIVE);
    store_close(other);
    other = NULL;
    cr_expect_eq(store_holder_state(w.s, b), HOLDER_DEAD);
    cr_expect_not(store_has_peers(w.s));
    struct holder_row_list l;
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    cr_assert(l.n == 2 && l.v[1].holder_no == b && l.v[1].ttl_ms == 2000);
    cr_assert_eq(store_holder_retire(w.s, b, &w.err), 0);
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1u);
}

Test(peers, a_dead_host_with_a_run_is_not_buried) {
    int64_t no = kit_run(&w, "run_1", 1); /* host-1's */
    struct holder_row_list l;
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1u);
    cr_assert_eq(store_holder_retire(w.s, l.v[0].holder_no, &w.err), 0);
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1u);
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, true)), 0);
    cr_assert_eq(store_holder_retire(w.s, l.v[0].holder_no, &w.err), 0);
    cr_assert_eq(store_holders(w.s, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
}

Test(peers, what_hosts_hold_is_counted_up_to_a_bound) {
    struct holder_view_list l;
    int64_t last;
    (void)kit_run(&w, "run_1", 1); /* host-1's */
    (void)kit_run(&w, "run_2", 1);
    int64_t own = join(w.s, "a", &last);
    cr_assert_eq(store_holders_view(w.s, 100, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eqc(l.v[0].name, "host-1") && l.v[0].runs == 2 && !l.v[0].self);
    cr_expect(l.v[1].holder_no == own && l.v[1].runs == 0 && l.v[1].self && l.v[1].ttl_ms == 2000);
    cr_assert_eq(store_holders_view(w.s, 1, w.a, &l, &w.err), 0);
    cr_expect_eq(l.v[0].runs, 1);
}

Test(peers, transactions_tell_the_others_exactly_what_moved /* STORE-16 */) {
    int64_t last_a, last_b, v0, v1;
    struct move_row_list l;
    int64_t a = join(w.s, "a", &last_a);
    int64_t first = kit_run(&w, "run_1", 2);
    cr_assert_eq(store_moves(w.s, last_a, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u, "nobody there to be told");
    (void)join(other, "b", &last_b);
    cr_assert_eq(store_data_version(other, &v0, &w.err), 0);
    int64_t second = kit_run(&w, "run_2", 3);
    cr_assert_eq(kit_apply(&w, kit_append(first, 2, 4, false)), 0);
    cr_assert_eq(kit_apply(&w, kit_append(first, 2, 4, false)), WOPR_E_STALE);
    cr_assert_eq(store_data_version(other, &v1, &w.err), 0);
    cr_expect_neq(v0, v1);
    cr_assert_eq(store_moves(other, last_b, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2u, "refused plans move nothing");
    cr_assert(l.v[0].holder_no == a && l.v[0].runs_nr == 1 && l.v[0].runs[0].run_no == second &&
              l.v[0].runs[0].next_seq == 3);
    cr_assert(l.v[1].runs_nr == 1 && l.v[1].runs[0].run_no == first &&
              l.v[1].runs[0].next_seq == 6 && l.v[1].move_no == l.v[0].move_no + 1);
    int64_t at = l.v[1].move_no;
    cr_assert_eq(store_lease_release(w.s, STR("a"), &w.err), 0);
    cr_assert_eq(store_moves(other, at, 10, w.a, &l, &w.err), 0);
    cr_assert(l.n == 1 && l.v[0].runs_nr == 0, "all given back");
}

Test(peers, old_moves_go_and_numbers_only_grow) {
    int64_t last, n;
    struct move_row_list l;
    (void)join(w.s, "a", &last);
    (void)join(other, "b", &last);
    for (int i = 0; i < 20; i++) cr_assert_eq(store_lease_release(w.s, STR("a"), &w.err), 0);
    cr_assert_eq(sqlite3_exec(w.s->writer->db,
                              "UPDATE peer_moves SET move_no = move_no + 5000 WHERE move_no > 15",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    cr_assert_eq(store_lease_renew(w.s, STR("a"), 5, &n, &w.err), 0);
    cr_assert_eq(store_moves(other, last, 100, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 5u);
    cr_expect_gt(l.v[0].move_no, last + 1, "who is behind sees that rows are missing");
}

Test(peers, a_schema_is_not_upgraded_beside_a_living_host /* STORE-15 */) {
    struct store *newer = NULL;
    struct store_config cfg = shared();
    cr_assert_eq(sqlite3_exec(w.s->writer->db,
                              "DELETE FROM schema_migrations WHERE version ="
                              " (SELECT max(version) FROM schema_migrations)",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    cr_assert_eq(store_open(&cfg, &newer, &w.err), WOPR_E_LOCKED);
    cr_expect_not_null(strstr(w.err.message, "stop them first"), "%s", w.err.message);
    cfg.exclusive = true;
    cr_assert_eq(store_open(&cfg, &newer, &w.err), WOPR_E_LOCKED);
}

Test(peers, a_host_that_is_alone_lets_nobody_in) {
    store_close(other);
    other = NULL;
    kit_close(&w);
    struct store_config cfg = shared();
    cfg.exclusive = true;
    cr_assert_eq(store_open(&cfg, &w.s, &w.err), 0, "%s", w.err.message);
    cr_expect_not(store_has_peers(w.s));
    cr_assert_eq(store_open(&cfg, &other, &w.err), WOPR_E_LOCKED);
}

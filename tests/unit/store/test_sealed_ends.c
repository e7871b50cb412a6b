/*
 * test_sealed_ends.c: what is sealed goes with the last run that reads it, in bounded transactions,
 * and not before; what retention passes to find the runs that it may remove (OBS-71, STORE-44).
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "store/vault.h"
#include "unit/store/kit_steps.h"

static const int64_t ENDED = 1700000000500, DAY = 86400000;
static const struct seal_secret KEK = {{1}}, OTHER = {{2}};
static struct kit w;
static struct vault *v;

static void up(void) {
    bool replaced;
    kit_up(&w);
    cr_assert_eq(vault_new(w.s, &KEK, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(store_sealed_ends, .init = up, .fini = down, .timeout = 300);

static int64_t number(const char *sql) { return kit_number(&w, sql); }

static void purge(void) {
    bool more = true;
    int64_t n;
    for (int i = 0; more; i++) {
        cr_assert_lt(i, 2000);
        cr_assert_eq(store_purge_runs(w.s, ENDED + 1, ENDED + DAY, UINT32_MAX, &n, &more, &w.err),
                     0, "%s", w.err.message);
    }
}

static size_t reads(int64_t run_no) {
    struct sealed_list l;
    arena_reset(w.a);
    cr_assert_eq(store_sealed(w.s, run_no, 0, INT64_MAX, w.a, &l, &w.err), 0);
    return l.n;
}

static int head_of(const char *id) {
    struct run_head h;
    return store_run_head(w.s, KIT_TENANT, false, str_c(id), w.a, &h, &w.err);
}

static void end(int64_t no, int64_t at) {
    struct plan *p = kit_append(no, at, 1, true);
    p->unseals = true;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
}

static int64_t forked(const char *id, int64_t of_no, const char *of, int64_t cut) {
    struct plan *p = plan_ref(kit_fork(id, of_no, of, cut));
    p->create->fork->sealed = true;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
    int64_t no = p->run_no;
    plan_unref(p);
    return no;
}

/* Events, a sealed value for each. */
static void seal_events(int64_t no, int64_t from, int64_t n) {
    while (n > 0) {
        int64_t page = n < 500 ? n : 500;
        struct plan *p = kit_append(no, from, (size_t)page, false);
        for (int64_t i = 0; i < page; i++) {
            const struct plan_sealed row = {from + i, 1, STR("a box")};
            p->events[i].flags |= EVENT_MASKED;
            plan_sealed(p, &row);
        }
        cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
        from += page;
        n -= page;
    }
}

/* Forks of schema version 17 own copies of what was sealed for their prefix; the events before
 * their cut belong to the source, so that no later fork refers to them for its log. */
Test(store_sealed_ends, a_copy_of_an_older_program_stays_while_a_fork_reads_it /* FORK-24 */) {
    int64_t src = kit_run(&w, "src", 6);
    int64_t old = forked("old", src, "src", 5);
    cr_assert_eq(kit_foreign(&w, "INSERT INTO sealed VALUES (2, 1, 1, x'01'), (2, 2, 1, x'02'),"
                                 " (2, 4, 1, x'04')"),
                 SQLITE_OK);
    int64_t young = forked("young", old, "old", 3);
    cr_assert_eq(reads(young), 2);
    end(old, 5);
    cr_expect_eq(reads(young), 2);
    purge();
    cr_expect_eq(head_of("old"), WOPR_E_EXPIRED);
    cr_expect_eq(reads(young), 2, "its source was removed");
    cr_expect_eq(number("SELECT count(*) FROM events WHERE run_no = 2"), 0, "none shows them");
    cr_expect_eq(kit_verify(&w), 0);
    int64_t grandchild = forked("youngest", young, "young", 2);
    end(young, 3);
    purge();
    cr_expect_eq(reads(grandchild), 1);
    cr_expect_eq(kit_verify(&w), 0);
    end(grandchild, 2);
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 0);
    end(src, 6);
    purge();
    cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    cr_expect_eq(number("SELECT count(*) FROM run_burials"), 0);
    cr_expect_eq(number("SELECT runs + runs_open + events FROM tenant_usage WHERE tenant = ''"), 0);
    cr_expect_eq(number("SELECT runs + runs_open + bytes FROM tenant_usage"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_sealed_ends, a_sealed_image_needs_its_key_as_well) {
    bool replaced;
    struct plan *p = kit_create("run_1", 3);
    const struct plan_checkpoint image = {2, 1, STR("sealed")};
    plan_checkpoint(p, &image);
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(number("SELECT count(*) FROM sealed"), 0);
    vault_free(v);
    v = NULL;
    cr_expect_eq(vault_new(w.s, &OTHER, 1, &v, &replaced, &w.err), WOPR_E_CONFIG);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM run_checkpoints"), SQLITE_OK);
    bool any = true;
    cr_assert_eq(store_seals_any(w.s, &any, &w.err), 0);
    cr_expect_not(any);
}

/* --- pages --- */

enum { MANY = 3000, IMAGES = 40 };

static void sweep_whole(int pages_min) {
    bool more = true;
    int n = 0;
    for (; more; n++) {
        int64_t was = number("SELECT count(*) FROM sealed");
        cr_assert_lt(n, 100);
        cr_assert_eq(store_seals_sweep(w.s, &more, &w.err), 0, "%s", w.err.message);
        cr_expect_leq(was - number("SELECT count(*) FROM sealed"), STORE_UNSEAL_VALUES);
    }
    cr_expect_geq(n, pages_min);
}

static void images(int64_t no) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO run_checkpoints (run_no, seq, key_no, image)"
             " SELECT %lld, i * 50, 1, x'00' FROM n",
             IMAGES, (long long)no);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
}

/* A host that dies between two pages has removed what it has, and the next one finds the rest. */
Test(store_sealed_ends, a_long_run_is_unsealed_in_pages_by_whoever_is_there /* OBS-71 */) {
    int64_t no = kit_run(&w, "src", 0);
    seal_events(no, 0, MANY);
    images(no);
    int64_t fork = forked("fork", no, "src", 700);
    store_seals_rest(w.s);
    end(no, MANY);
    cr_expect(store_seals_rest(w.s), "the engine is told");
    cr_expect_eq(number("SELECT count(*) FROM sealed"), MANY - STORE_UNSEAL_VALUES);
    cr_expect_eq(number("SELECT count(*) FROM run_checkpoints"), IMAGES - STORE_UNSEAL_IMAGES);
    cr_expect_eq(reads(no), 0, "no reader gets the rest");
    cr_expect_eq(reads(fork), 700);
    cr_expect_eq(kit_verify(&w), 1, "it is told");
    bool more = false;
    cr_assert_eq(store_seals_sweep(w.s, &more, &w.err), 0);
    cr_expect(more);
    purge(); /* beside the pages: the run is hidden, and holds what its fork reads */
    kit_close(&w);
    kit_open(&w);
    cr_expect_eq(reads(fork), 700);
    sweep_whole(1);
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 700);
    cr_expect_eq(reads(fork), 700);
    cr_expect_eq(kit_verify(&w), 0);
    end(fork, 700); /* of the run that it held */
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 700 - STORE_UNSEAL_VALUES);
    sweep_whole(1);
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 0);
    cr_expect_eq(number("SELECT count(*) FROM sealed_rests"), 0);
    cr_expect_eq(kit_verify(&w), 0);
    purge();
    cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

/* Of a run whose states are sealed, and no value of its own. */
Test(store_sealed_ends, images_alone_take_pages_as_well /* OBS-71 */) {
    int64_t no = kit_run(&w, "src", 0);
    seal_events(no, 0, 3);
    images(no);
    end(no, 3);
    cr_expect_eq(number("SELECT count(*) FROM run_checkpoints"), IMAGES - STORE_UNSEAL_IMAGES);
    cr_expect_eq(number("SELECT count(*) FROM sealed_rests"), 1);
    sweep_whole(2);
    cr_expect_eq(number("SELECT count(*) FROM run_checkpoints"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

/* Retention may be faster than the pages. */
Test(store_sealed_ends, a_run_that_is_removed_takes_its_rest_along) {
    int64_t no = kit_run(&w, "src", 0);
    seal_events(no, 0, MANY);
    end(no, MANY);
    purge();
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 0);
    cr_expect_eq(number("SELECT count(*) FROM sealed_rests"), 0);
    cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    sweep_whole(0);
    cr_expect_eq(kit_verify(&w), 0);
}

/* --- looks --- */

/* Steps of SQLite's machine in a look that finds nothing. */
static int64_t look_cost(void) {
    bool more = true;
    int64_t n = -1;
    purge();
    int64_t ops = 0;
    for (int i = 0; i < 20 && more; i++) { /* one whose time was not over before its end */
        kit_steps_begin(&w);
        cr_assert_eq(store_purge_runs(w.s, ENDED + 1, ENDED + DAY, 1000, &n, &more, &w.err), 0);
        ops = kit_steps_end(&w);
    }
    cr_assert(n == 0 && !more);
    return ops;
}

static void child_ended(int i, const char *parent) {
    char id[16];
    snprintf(id, sizeof id, "%s_%d", parent, i);
    struct plan *p = plan_ref(kit_create(id, 1));
    p->create->parent_run_id = str_c(parent);
    p->create->parent_node_id = STR("n1");
    p->create->child_depth = 1;
    p->create->child_flags = CHILD_AWAITED;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
    cr_assert_eq(kit_apply(&w, kit_append(p->run_no, 1, 1, true)), 0);
    plan_unref(p);
}

/* A child that leaves its variables to its parent, which goes on. */
static void child_leaves(int i, const char *parent) {
    char id[16];
    snprintf(id, sizeof id, "%s_%d", parent, i);
    struct plan *p = plan_ref(kit_create(id, 1));
    p->create->parent_run_id = str_c(parent);
    p->create->parent_node_id = STR("n1");
    p->create->child_depth = 1;
    p->create->child_flags = CHILD_AWAITED;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
    struct plan *end = kit_append(p->run_no, 1, 1, true);
    const struct plan_sealed left = {SEALED_LEFT, 1, STR("a box")};
    plan_sealed(end, &left);
    end->unseals = true;
    cr_assert_eq(kit_apply(&w, end), 0, "%s", w.err.message);
    plan_unref(p);
}

/* In the plan that ends the parent, and in the pages after it. */
Test(store_sealed_ends, what_children_left_goes_with_their_parent /* OBS-71, WF-49 */) {
    enum { FEW = 3, LEFT = STORE_UNSEAL_VALUES + 100 };
    int64_t one = kit_run(&w, "one", 1), two = kit_run(&w, "two", 1), three = kit_run(&w, "k", 1);
    seal_events(three, 1, STORE_UNSEAL_VALUES);
    for (int i = 0; i < FEW; i++) child_leaves(i, "one");
    for (int i = 0; i < LEFT; i++) child_leaves(i, "two");
    for (int i = 0; i < FEW; i++) child_leaves(i, "k");
    cr_assert_eq(number("SELECT count(*) FROM sealed WHERE seq = -2"), LEFT + 2 * FEW);
    cr_expect_eq(kit_verify(&w), 0);
    end(one, 1);
    cr_expect_eq(number("SELECT count(*) FROM sealed WHERE seq = -2"), LEFT + FEW);
    cr_expect_eq(kit_verify(&w), 0);
    end(two, 1);
    cr_expect_eq(number("SELECT count(*) FROM sealed WHERE seq = -2"), 100 + FEW, "a page");
    end(three, 1 + STORE_UNSEAL_VALUES);
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 100 + FEW, "its own come first");
    cr_expect_gt(kit_verify(&w), 0, "it is told");
    sweep_whole(1);
    cr_expect_eq(number("SELECT count(*) FROM sealed"), 0);
    cr_expect_eq(number("SELECT count(*) FROM sealed_rests"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_sealed_ends, a_look_passes_no_child_of_a_run_that_goes_on /* STORE-44, WF-46 */) {
    int64_t one = kit_run(&w, "one", 1), two = kit_run(&w, "two", 1);
    for (int i = 0; i < 10; i++) child_ended(i, i % 2 ? "one" : "two");
    int64_t few = look_cost();
    for (int i = 10; i < 600; i++) child_ended(i, i > 40 ? "one" : "two");
    int64_t many = look_cost();
    cr_expect_eq(few, many, "%lld, and with 590 more %lld", (long long)few, (long long)many);
    cr_expect_eq(number("SELECT count(*) FROM runs WHERE tenant <> ''"), 602);
    cr_expect_eq(kit_verify(&w), 0);
    end(one, 1);
    cr_expect_eq(kit_verify(&w), 0);
    purge();
    cr_expect_eq(number("SELECT count(*) FROM runs"), 37, "those of the other parent, and it");
    kit_close(&w);
    kit_open(&w);
    cr_assert_eq(kit_apply(&w, kit_append(two, 1, 1, true)), 0);
    purge();
    cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    cr_expect_eq(number("SELECT count(*) FROM retention_due"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_sealed_ends, verify_sees_a_child_that_is_kept_for_nobody) {
    int64_t one = kit_run(&w, "one", 1);
    child_ended(1, "one");
    purge();
    end(one, 1);
    cr_assert_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM retention_due"), SQLITE_OK);
    cr_expect_eq(kit_verify(&w), 1);
}

/* A branch whose source waited, and that waits itself. */
static void branch_waiting(int i) {
    char id[16], fork[16];
    snprintf(id, sizeof id, "src_%d", i);
    snprintf(fork, sizeof fork, "branch_%d", i);
    int64_t no = kit_run(&w, id, 3);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, true)), 0);
    struct plan *p = kit_fork(fork, no, id, 2);
    p->create->fork->link.mode = FORK_BRANCH;
    p->create->fork->link.base_seq = 4;
    cr_assert_eq(kit_apply(&w, p), 0);
}

Test(store_sealed_ends, a_look_passes_no_source_of_a_branch_that_waits /* STORE-44 */) {
    for (int i = 0; i < 10; i++) branch_waiting(i);
    int64_t few = look_cost();
    cr_expect_eq(number("SELECT count(*) FROM run_burials WHERE waiting"), 10);
    for (int i = 10; i < 300; i++) branch_waiting(i);
    int64_t many = look_cost();
    cr_expect_eq(few, many, "%lld, and with 290 more %lld", (long long)few, (long long)many);
    cr_expect_eq(kit_verify(&w), 0);
}

/* Its first step may still read on where it was cut; an hour later it has been made. */
Test(store_sealed_ends, the_source_of_a_young_branch_stays /* FORK-11 */) {
    branch_waiting(1);
    (void)kit_purge(&w, ENDED + 1, ENDED + 1, 1000);
    cr_expect_eq(head_of("src_1"), 0);
    purge();
    cr_expect_eq(head_of("src_1"), WOPR_E_EXPIRED);
}

/* Of a run that goes on: what its log masks is sealed, and nothing else; keys are there. */
Test(store_sealed_ends, verify_compares_what_is_sealed_with_the_log) {
    int64_t no = kit_run(&w, "src", 0);
    seal_events(no, 0, 5);
    cr_assert_eq(kit_apply(&w, kit_append(no, 5, 2, false)), 0);
    (void)forked("fork", no, "src", 3);
    cr_assert_eq(kit_verify(&w), 0);
    static const char *const damage[][2] = {
        {"DELETE FROM sealed WHERE seq = 4", "INSERT INTO sealed VALUES (1, 4, 1, x'01')"},
        {"INSERT INTO sealed VALUES (1, 6, 1, x'01')", "DELETE FROM sealed WHERE seq = 6"},
        {"INSERT INTO sealed VALUES (2, 3, 1, x'01')", "DELETE FROM sealed WHERE run_no = 2"},
        {"UPDATE sealed SET key_no = 9 WHERE seq = 2", "UPDATE sealed SET key_no = 1"},
        {"INSERT INTO run_checkpoints (run_no, seq, key_no, image) VALUES (1, 3, 9, x'00')",
         "DELETE FROM run_checkpoints"}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        cr_assert_eq(kit_foreign(&w, damage[i][0]), SQLITE_OK);
        cr_expect_eq(kit_verify(&w), 1, "%s", damage[i][0]);
        cr_assert_eq(kit_foreign(&w, damage[i][1]), SQLITE_OK);
        cr_expect_eq(kit_verify(&w), 0, "%s", damage[i][1]);
    }
}

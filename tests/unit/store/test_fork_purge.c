/*
 * test_fork_purge.c: retention and forks (FORK-24, STORE-44): what a fork shows outlives its owner,
 * unseen under the owner's id, and goes with the last fork; what no fork shows goes at once.
 */
#include "store/leases.h"
#include "store/runs.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/store/kit_forks.h"
#include "unit/store/kit_old.h"
#include "unit/store/kit_steps.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const int64_t ENDED = 1700000000500, DAY = 86400000;
enum { FOREST = 60, LONG = 3000, ROUNDS_MAX = 2000 };
static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_fork_purge, .init = up, .fini = down, .timeout = 300);

static int64_t number(const char *sql) { return kit_number(&w, sql); }

static int64_t events_held(int run) {
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM events WHERE run_no = %lld",
             (long long)model[run].no);
    return number(sql);
}

static struct tenant_usage usage(void) {
    struct tenant_usage u;
    cr_assert_eq(store_tenant_usage(w.s, KIT_TENANT, &u, &w.err), 0);
    return u;
}

/* Retention, at most so many runs. */
static void purge(unsigned max) {
    bool more = true;
    int64_t n;
    for (int i = 0; more; i++) {
        cr_assert_lt(i, ROUNDS_MAX);
        cr_assert_eq(store_purge_runs(w.s, ENDED + 1, ENDED + DAY, max, &n, &more, &w.err), 0, "%s",
                     w.err.message);
        if (max < 1000) return;
    }
}
static void purge_all(void) { purge(1000000); }

static int head_of(int run) {
    struct run_head h;
    char id[16];
    snprintf(id, sizeof id, "run_%d", run);
    return store_run_head(w.s, KIT_TENANT, false, str_c(id), w.a, &h, &w.err);
}

static void lengthen(int run, int64_t to) {
    while (model[run].n < to)
        model_grow(&w, run, to - model[run].n < 1000 ? to - model[run].n : 1000);
}

static void end(int run) { model_extend(&w, run, 1, true); }

Test(store_fork_purge, what_a_fork_shows_outlives_its_source) {
    model_make(&w, 0, -1, 0);
    lengthen(0, LONG);
    end(0);
    model_make(&w, 1, 0, 1200);
    int64_t whole = usage().bytes;
    purge_all();
    cr_expect_eq(head_of(0), WOPR_E_EXPIRED);
    cr_expect_eq(kit_apply(&w, kit_fork("run_late", model[0].no, "run_0", 5)), WOPR_E_EXPIRED);
    cr_expect_eq(events_held(0), 1200, "what no fork shows is gone");
    cr_expect_eq(kit_count_events(&w, model[1].no), 1200);
    cr_expect_eq(usage().runs, 1);
    cr_expect(usage().bytes < whole / 2 && usage().bytes > whole / 3, "%lld of %lld",
              (long long)usage().bytes, (long long)whole);
    cr_expect_eq(kit_verify(&w), 0);
    model_make(&w, 2, 1, 700); /* of the hidden run's events, through the one that shows them */
    end(1);
    purge_all();
    cr_expect_eq(head_of(1), WOPR_E_EXPIRED);
    cr_expect_eq(events_held(0), 700);
    cr_expect_eq(events_held(1), 0);
    cr_expect_eq(kit_count_events(&w, model[2].no), 700);
    cr_expect_eq(kit_verify(&w), 0);
    end(2);
    purge_all();
    cr_expect_eq(number("SELECT count(*) FROM events"), 0);
    cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    cr_expect_eq(number("SELECT count(*) FROM run_prefixes"), 0);
    cr_expect_eq(number("SELECT count(*) FROM run_burials"), 0);
    cr_expect(usage().bytes == 0 && usage().runs == 0);
    cr_expect_eq(number("SELECT runs + runs_open + events FROM tenant_usage WHERE tenant = ''"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

static int link_of(int run, struct run_link *out) {
    return store_run_link(w.s, model[run].no, w.a, out, &w.err);
}

/* A lost or changed link is damage; what a program before migration 0022 did not keep is none. */
Test(store_fork_purge, a_fork_that_an_older_program_removed_is_told_from_damage /* FORK-18 */) {
    static const char *const CHANGES[] = {
        "DELETE FROM run_lineages WHERE run_no = 2",
        "DELETE FROM run_lineages WHERE run_no = 4",
        "UPDATE run_lineages SET run_no = 77 WHERE run_no = 3",
        "UPDATE run_lineages SET run_id = 'other' WHERE run_no = 4",
        "UPDATE run_lineages SET fork_run_id = 'other' WHERE run_no = 3",
        "UPDATE run_lineages SET fork_run_id = 'other' WHERE run_no = 2",
        "UPDATE run_lineages SET fork_run_no = 2 WHERE run_no = 4",
        "UPDATE run_lineages SET fork_mode = 0 WHERE run_no = 4",
        "UPDATE run_lineages SET fork_seq = fork_base + 1 WHERE run_no = 3",
        "UPDATE run_lineages SET created_ms = 0 WHERE run_no = 3",
        "UPDATE run_lineages SET due = 1 WHERE run_no = 3",
    };
    struct run_link l;
    model_make(&w, 0, -1, 0);
    model_grow(&w, 0, 8);
    for (int i = 1; i < 5; i++) {
        model_make(&w, i, i - 1, 8 - i);
        model_grow(&w, i, 3);
    }
    for (int i = 0; i < 4; i++) end(i);
    purge_all();
    cr_assert_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "CREATE TABLE was AS SELECT * FROM run_lineages"), SQLITE_OK);
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        cr_assert_eq(kit_foreign(&w, CHANGES[i]), SQLITE_OK);
        cr_expect_gt(kit_verify(&w), 0, "not found: %s", CHANGES[i]);
        cr_assert_eq(kit_foreign(&w, "DELETE FROM run_lineages; INSERT INTO run_lineages"
                                     " SELECT * FROM was"),
                     SQLITE_OK);
    }
    cr_assert_eq(kit_foreign(&w, "DROP TABLE was; DELETE FROM run_lineages"), SQLITE_OK);
    kit_close(&w);
    kit_old(&w, 23);
    kit_open(&w);
    cr_expect_eq(kit_verify(&w), 0, "a note, and no finding");
    cr_expect_eq(number("SELECT count(*) FROM run_lineages WHERE guessed = 1"), 1);
    cr_assert_eq(link_of(3, &l), 0);
    cr_expect_eq(l.fork.source_run_no, model[0].no, "as far up as anything is known");
    end(4);
    purge_all();
    cr_expect_eq(number("SELECT count(*) FROM run_lineages"), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

/* Where a fork was cut from is known as long as something leads up to it. */
Test(store_fork_purge, a_removed_fork_is_named_for_its_forks /* FORK-18, STORE-44 */) {
    struct run_link l;
    model_make(&w, 0, -1, 0);
    model_grow(&w, 0, 8);
    for (int i = 1; i < 5; i++) { /* all of them show events of the root alone */
        model_make(&w, i, i - 1, 8 - i);
        model_grow(&w, i, 3);
    }
    for (int i = 0; i < 4; i++) end(i);
    purge_all();
    for (int i = 1; i < 4; i++) {
        cr_expect_eq(head_of(i), WOPR_E_EXPIRED);
        cr_assert_eq(link_of(i, &l), 0);
        cr_expect(l.fork.source_run_no == model[i - 1].no && l.fork.from_seq == 8 - i);
    }
    cr_expect_eq(number("SELECT count(*) FROM run_lineages"), 3);
    cr_expect_eq(number("SELECT count(*) FROM runs"), 2, "the root is kept for its events");
    cr_expect_eq(kit_verify(&w), 0);
    model_make(&w, 5, 4, 2);
    end(4);
    purge_all();
    cr_expect_eq(number("SELECT count(*) FROM run_lineages"), 4);
    end(5);
    purge_all();
    cr_expect_eq(number("SELECT count(*) FROM run_lineages"), 0);
    cr_expect_eq(link_of(4, &l), WOPR_E_NOT_FOUND);
    cr_expect_eq(kit_verify(&w), 0);
}

/* Steps of SQLite's machine in a look of retention that finds nothing. */
static int64_t look_cost(void) {
    bool more = true;
    int64_t n = -1;
    purge_all();
    int64_t ops = 0;
    for (int i = 0; i < 20 && more; i++) { /* one whose time was not over before its end */
        kit_steps_begin(&w);
        cr_assert_eq(store_purge_runs(w.s, ENDED + 1, ENDED + DAY, 1000, &n, &more, &w.err), 0);
        ops = kit_steps_end(&w);
    }
    cr_assert(n == 0 && !more);
    return ops;
}

/* A source that has ended, and a fork that shows a part of it. */
static void kept_for_a_fork(int i) {
    char id[16], fork[16];
    snprintf(id, sizeof id, "kept_%d", i);
    snprintf(fork, sizeof fork, "fork_%d", i);
    int64_t no = kit_run(&w, id, 3);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, true)), 0);
    cr_assert_eq(kit_apply(&w, kit_fork(fork, no, id, 2)), 0);
}

Test(store_fork_purge, a_look_passes_no_run_that_is_kept_for_its_forks /* STORE-44 */) {
    for (int i = 0; i < 10; i++) kept_for_a_fork(i);
    int64_t few = look_cost();
    cr_assert_eq(number("SELECT count(*) FROM run_burials WHERE waiting"), 10);
    for (int i = 10; i < 400; i++) kept_for_a_fork(i);
    int64_t many = look_cost();
    cr_assert_eq(number("SELECT count(*) FROM run_burials WHERE waiting"), 400);
    cr_expect_eq(few, many, "%lld, and with 390 more %lld", (long long)few, (long long)many);
}

/* What its cut parts is in the source's log only, until its first step has emitted it again. */
Test(store_fork_purge, a_source_waits_for_the_first_step_of_its_fork /* FORK-11, FORK-24 */) {
    int64_t no = kit_run(&w, "src", 5);
    struct run_head h;
    cr_assert_eq(kit_apply(&w, kit_append(no, 5, 1, true)), 0);
    struct plan *p = plan_ref(kit_fork("fork", no, "src", 3));
    p->create->fork->link.base_seq = 6;
    cr_assert_eq(kit_apply(&w, p), 0);
    int64_t fork = p->run_no;
    plan_unref(p);
    purge_all();
    cr_expect_eq(store_run_head(w.s, KIT_TENANT, false, STR("src"), w.a, &h, &w.err), 0);
    cr_expect_eq(number("SELECT count(*) FROM events"), 6);
    cr_assert_eq(kit_apply(&w, kit_append(fork, 3, 1, false)), 0);
    purge_all();
    cr_expect_eq(store_run_head(w.s, KIT_TENANT, false, STR("src"), w.a, &h, &w.err),
                 WOPR_E_EXPIRED);
    cr_expect_eq(number("SELECT count(*) FROM events"), 4);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_fork_purge, a_parked_fork_holds_no_source /* FORK-24 */) {
    int64_t no = kit_run(&w, "src", 5);
    struct run_head h;
    cr_assert_eq(kit_apply(&w, kit_append(no, 5, 1, true)), 0);
    struct plan *p = plan_ref(kit_fork("fork", no, "src", 3));
    p->create->fork->link.base_seq = 6;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(store_run_park(w.s, p->run_no, LEASE_ANY, STR("x"), &w.err), 0);
    plan_unref(p);
    purge_all();
    cr_expect_eq(store_run_head(w.s, KIT_TENANT, false, STR("src"), w.a, &h, &w.err),
                 WOPR_E_EXPIRED);
}

Test(store_fork_purge, the_source_keeps_nothing_but_events /* STORE-44 */) {
    model_make(&w, 0, -1, 0);
    struct plan *p = kit_append(model[0].no, 0, 4, true);
    const struct plan_artifact art = {.artifact_id = STR("x"),
                                      .artifact_type = STR("t"),
                                      .body = STR("{\"canary\":1}"),
                                      .seq = 2};
    const struct plan_var_row var = {.name = STR("v"), .value = STR("\"canary\"")};
    plan_artifact(p, &art);
    plan_var(p, &var);
    p->update.outputs = STR("{\"o\":\"canary\"}");
    cr_assert_eq(kit_apply(&w, p), 0);
    model_make(&w, 1, 0, 2);
    purge_all();
    cr_expect_eq(kit_count_events(&w, model[1].no), 2);
    cr_expect_eq(number("SELECT count(*) FROM run_vars"), 0);
    cr_expect_eq(number("SELECT count(*) FROM artifacts"), 0);
    cr_expect_eq(number("SELECT count(*) FROM runs r JOIN run_origins o USING (run_no)"
                        " WHERE r.tenant = '' AND (r.outputs NOT NULL OR o.inputs NOT NULL"
                        " OR o.tags NOT NULL)"),
                 0);
    cr_expect_eq(kit_verify(&w), 0);
}

/* --- read while it happens --- */

static atomic_bool done;
static atomic_int rounds;

/* The log of run 2 is whole at any time: it begins in run 0 and goes on in run 1. */
static void *read_on(void *ctx) {
    struct arena *a = arena_new(8u << 20);
    struct wopr_error err;
    while (!atomic_load(&done)) {
        struct event_list l;
        int64_t from = 0;
        do {
            arena_reset(a);
            if (store_events(w.s, model[2].no, from, 300, 1 << 20, a, &l, &err) != 0) break;
            for (size_t i = 0; i < l.n; i++)
                if (l.v[i].seq != from++ || !model_has(&l.v[i], 2))
                    atomic_fetch_add((atomic_int *)ctx, 1);
        } while (l.n > 0);
        if (from != model[2].n) atomic_fetch_add((atomic_int *)ctx, 1);
        atomic_fetch_add(&rounds, 1);
    }
    arena_free(a);
    return NULL;
}

Test(store_fork_purge, a_reader_sees_the_whole_log_while_its_owners_are_removed /* STORE-44 */) {
    static atomic_int wrong;
    pthread_t t[2];
    model_make(&w, 0, -1, 0);
    lengthen(0, LONG);
    model_make(&w, 1, 0, 2000);
    lengthen(1, 2600);
    model_make(&w, 2, 1, 2500);
    model_grow(&w, 2, 5);
    for (int i = 0; i < 2; i++) cr_assert_eq(pthread_create(&t[i], NULL, read_on, &wrong), 0);
    for (int i = 0; i < 2; i++) {
        end(i);
        for (int k = 0; k < 40; k++) purge(1);
        for (int seen = atomic_load(&rounds); atomic_load(&rounds) < seen + 4;) sched_yield();
    }
    atomic_store(&done, true);
    for (int i = 0; i < 2; i++) (void)pthread_join(t[i], NULL);
    cr_expect_eq(atomic_load(&wrong), 0);
    cr_expect_eq(events_held(0), 2000);
    cr_expect_eq(events_held(1), 500);
    cr_expect_eq(kit_verify(&w), 0);
}

/* The first one to be found among those that are there, or -1. */
static int pick(const bool *there, int n) {
    int at = (int)model_some(n);
    for (int i = 0; i < n; i++)
        if (there[(at + i) % n]) return (at + i) % n;
    return -1;
}

Test(store_fork_purge, a_forest_shows_what_it_should_whatever_goes_first) {
    bool going[FOREST] = {0}, shown[FOREST] = {0};
    model_seed(7);
    for (int i = 0, run; i < FOREST; i++) {
        int from = i > 0 ? pick(shown, i) : -1;
        int64_t cut = from < 0 || model[from].n == 0 ? 0 : 1 + model_some(model[from].n);
        if (from >= 0 && !going[from] && cut == model[from].n) cut--; /* FORK-4 */
        model_make(&w, i, cut > 0 ? from : -1, cut);
        going[i] = shown[i] = true;
        model_grow(&w, i, 1 + model_some(MODEL_GROWTH_MAX - 1));
        if (i == 20) lengthen(i, LONG); /* its forks inherit what takes several slices */
        if (model_some(2) == 0 && (run = pick(going, i + 1)) >= 0) {
            end(run);
            going[run] = false;
        }
        if (model_some(3) == 0) purge(1 + (unsigned)model_some(4));
        if (model_some(10) == 0) { /* a crash changes nothing */
            kit_close(&w);
            kit_open(&w);
        }
        cr_assert_eq(kit_verify(&w), 0, "seed %u: after %d", model_seeded, i);
        for (int k = 0; k <= i; k++) {
            shown[k] = head_of(k) == 0;
            if (!shown[k]) cr_assert_not(going[k]);
            if (shown[k]) model_check(&w, k, model_some(model[k].n), STORE_LIST_MAX);
        }
    }
    for (int k = 0; k < FOREST; k++)
        if (going[k]) end(k);
    purge_all();
    cr_expect_eq(
        number("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM runs)"
               " + (SELECT count(*) FROM run_burials) + (SELECT count(*) FROM run_lineages)"),
        0);
    cr_expect_eq(usage().bytes, 0);
    cr_expect_eq(kit_verify(&w), 0);
}

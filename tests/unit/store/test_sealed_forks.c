/*
 * test_sealed_forks.c: what forks read of the sealed values of their prefix (OBS-71, FORK-9):
 * random forests beside a model.  A fork reads what its source could read when it was made, whoever
 * ends and is removed meanwhile; what no unfinished run reads is gone.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "store/vault.h"
#include "unit/store/kit_forks.h"

enum { FOREST = 48, STEPS = 260, ROUNDS = 4 };
static const int64_t ENDED = 1700000000500, DAY = 86400000;
static const struct seal_secret KEK = {{1}};
static struct kit w;
static struct vault *v;
static struct held {             /* of one run */
    int owner[MODEL_LENGTH_MAX]; /* who sealed for the event; -1: nobody, or not for this run */
    bool ended;
    int64_t image_seq; /* of the newest sealed checkpoint that it reads, 0 = none */
} held[MODEL_RUNS];

static void up(void) {
    bool replaced;
    kit_up(&w);
    cr_assert_eq(vault_new(w.s, &KEK, 1, &v, &replaced, &w.err), 0, "%s", w.err.message);
}
static void down(void) {
    vault_free(v);
    kit_down(&w);
}
TestSuite(store_sealed_forks, .init = up, .fini = down, .timeout = 300);

static int64_t number(const char *sql) { return kit_number(&w, sql); }

static struct str box_of(struct arena *a, int run, int64_t seq) {
    return arena_printf(a, "box of %d at %lld", run, (long long)seq);
}

/* An event, perhaps with a sealed value, perhaps with a sealed checkpoint, perhaps the last one. */
static void grow(int run, bool ends) {
    struct model *m = &model[run];
    struct plan *p = kit_append(m->no, m->n, 1, ends);
    bool seals = !ends && model_some(2) == 0;
    const struct plan_sealed row = {m->n, 1, box_of(w.a, run, m->n)};
    const struct plan_checkpoint image = {m->n + 1, 1, box_of(w.a, run, m->n + 1)};
    if (seals) p->events[0].flags |= EVENT_MASKED;
    if (seals) plan_sealed(p, &row);
    if (seals && model_some(3) == 0) {
        plan_checkpoint(p, &image);
        held[run].image_seq = image.seq;
    }
    p->unseals = ends;
    cr_assert_eq(kit_apply(&w, p), 0, "seed %u: %s", model_seeded, w.err.message);
    held[run].owner[m->n] = seals ? run : -1;
    held[run].ended = ends;
    m->owner[m->n++] = run;
}

static void fork_of(int run, int from, int64_t cut) {
    char id[16], of[16];
    snprintf(id, sizeof id, "run_%d", run);
    snprintf(of, sizeof of, "run_%d", from);
    struct plan *p = kit_fork(id, model[from].no, of, cut);
    bool live = !held[from].ended;
    p->create->fork->sealed = true;
    plan_ref(p);
    int rc = kit_apply(&w, p);
    cr_assert_eq(rc, live ? 0 : WOPR_E_STALE, "seed %u", model_seeded);
    p->create->fork->sealed = false; /* what its engine does then */
    if (!live) cr_assert_eq(kit_apply(&w, plan_ref(p)), 0, "seed %u", model_seeded);
    model[run].no = p->run_no;
    model[run].n = cut;
    plan_unref(p);
    held[run] = (struct held){.ended = false};
    for (int64_t i = 0; i < cut; i++) held[run].owner[i] = live ? held[from].owner[i] : -1;
}

static void check(int run) {
    struct sealed_list l;
    size_t n = 0;
    arena_reset(w.a);
    cr_assert_eq(store_sealed(w.s, model[run].no, 0, INT64_MAX, w.a, &l, &w.err), 0);
    for (int64_t seq = 0; seq < model[run].n && !held[run].ended; seq++) {
        int owner = held[run].owner[seq];
        char id[16];
        snprintf(id, sizeof id, "run_%d", owner);
        if (owner < 0) continue;
        cr_assert(n < l.n && l.v[n].sealed.seq == seq && str_eqc(l.v[n].run_id, id) &&
                      str_eq(l.v[n].sealed.box, box_of(w.a, owner, seq)),
                  "seed %u: run %d at %d, sealed by %d", model_seeded, run, (int)seq, owner);
        n++;
    }
    cr_assert_eq(n, l.n, "seed %u: run %d reads %zu more", model_seeded, run, l.n - n);
}

/* A page is a part of the whole. */
static void check_page(int run) {
    struct sealed_list all, page;
    int64_t from = model_some(model[run].n + 1), until = from + model_some(5);
    size_t n = 0;
    arena_reset(w.a);
    cr_assert_eq(store_sealed(w.s, model[run].no, 0, INT64_MAX, w.a, &all, &w.err), 0);
    cr_assert_eq(store_sealed(w.s, model[run].no, from, until, w.a, &page, &w.err), 0);
    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i].sealed.seq < from || all.v[i].sealed.seq >= until) continue;
        cr_assert(n < page.n && page.v[n++].sealed.seq == all.v[i].sealed.seq);
    }
    cr_assert_eq(n, page.n, "seed %u", model_seeded);
}

/* A sealed checkpoint is read by who may read what it was made of, newest first. */
static void check_image(int run) {
    struct checkpoint_row c;
    arena_reset(w.a);
    int rc = store_run_checkpoint(w.s, model[run].no, INT64_MAX, false, w.a, &c, &w.err);
    cr_assert_eq(rc, WOPR_E_NOT_FOUND, "without a key");
    rc = store_run_checkpoint(w.s, model[run].no, INT64_MAX, true, w.a, &c, &w.err);
    if (held[run].ended) cr_assert_eq(rc, WOPR_E_NOT_FOUND, "seed %u", model_seeded);
    if (rc != 0) {
        cr_assert(held[run].ended || held[run].image_seq == 0, "seed %u: run %d", model_seeded,
                  run);
        return;
    }
    cr_assert_geq(c.point.seq, held[run].image_seq, "seed %u", model_seeded);
    int by = held[run].owner[c.point.seq - 1]; /* made with the value before it */
    char id[16];
    snprintf(id, sizeof id, "run_%d", by);
    cr_assert(by >= 0 && str_eqc(c.run_id, id), "seed %u: run %d", model_seeded, run);
}

static void purge(unsigned max) {
    bool more = true;
    int64_t n;
    for (int i = 0; more && i < 2000; i++) {
        cr_assert_eq(store_purge_runs(w.s, ENDED + 1, ENDED + DAY, max, &n, &more, &w.err), 0, "%s",
                     w.err.message);
        if (max < 1000) return;
    }
}

static bool step(int *runs) {
    int run = (int)model_some(*runs), from = (int)model_some(*runs);
    bool there = number("SELECT count(*) FROM runs WHERE tenant <> ''") > 0;
    if (*runs < FOREST && model_some(3) == 0) {
        struct run_head h;
        char id[16];
        snprintf(id, sizeof id, "run_%d", from);
        there = there && model[from].n > 0 &&
                store_run_head(w.s, KIT_TENANT, false, str_c(id), w.a, &h, &w.err) == 0;
        if (there && model_some(6) != 0) fork_of(*runs, from, 1 + model_some(model[from].n));
        else {
            model_make(&w, *runs, -1, 0);
            held[*runs] = (struct held){.ended = false};
        }
        run = (*runs)++;
    } else if (!held[run].ended) {
        grow(run, model_some(12) == 0);
    } else if (model_some(4) == 0) {
        purge(1);
    }
    check(run);
    check(from);
    check_page(run);
    check_image(run);
    return true;
}

Test(store_sealed_forks, a_fork_reads_what_its_source_read_and_nothing_stays_that_none_reads) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        int runs = 1;
        if (round > 0) down();
        if (round > 0) up();
        model_seed(20261122u + round);
        model_make(&w, 0, -1, 0);
        held[0] = (struct held){.ended = false};
        for (int i = 0; i < STEPS; i++) step(&runs);
        cr_assert_eq(kit_verify(&w), 0, "seed %u", model_seeded);
        for (int run = 0; run < runs; run++) check(run);
        for (int run = 0; run < runs; run++)
            if (!held[run].ended) grow(run, true);
        cr_expect_eq(number("SELECT count(*) FROM sealed"), 0, "seed %u", model_seeded);
        cr_expect_eq(number("SELECT count(*) FROM sealed_holds"), 0, "seed %u", model_seeded);
        cr_expect_eq(number("SELECT count(*) FROM run_checkpoints WHERE key_no > 0"), 0);
        cr_expect_eq(kit_verify(&w), 0, "seed %u", model_seeded);
        purge(1000000);
        cr_expect_eq(number("SELECT count(*) FROM runs"), 0);
    }
}

/* The page of a long run is found, not searched for (PRIMARY KEY of sealed). */
Test(store_sealed_forks, a_page_is_found_by_its_key) {
    sqlite3 *db;
    sqlite3_stmt *st;
    struct buf plan;
    buf_init(&plan, 1 << 16);
    cr_assert_eq(sqlite3_open_v2(w.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    struct str sql = arena_printf(w.a, "EXPLAIN QUERY PLAN %s", STMTS[SQL_SEALED].text);
    cr_assert_eq(sqlite3_prepare_v2(db, sql.p, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW)
        buf_addf(&plan, "%s\n", (const char *)sqlite3_column_text(st, 3));
    sqlite3_finalize(st);
    sqlite3_close(db);
    const char *first = strstr(plan.p, "(run_no=? AND seq>? AND seq<?)");
    cr_expect_not_null(first, "%s", plan.p);
    if (first)
        cr_expect_not_null(strstr(first + 1, "(run_no=? AND seq>? AND seq<?)"), "%s", plan.p);
    cr_expect_null(strstr(plan.p, "SCAN s"), "%s", plan.p);
    buf_fini(&plan);
}

/* A row of a run that has ended and that no fork holds, a hold that stays, a sealed checkpoint. */
Test(store_sealed_forks, verify_sees_what_was_left) {
    model_seed(1);
    model_make(&w, 0, -1, 0);
    held[0] = (struct held){.ended = false};
    for (int i = 0; i < 9; i++) grow(0, i == 8);
    cr_assert_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "INSERT INTO sealed VALUES (1, 3, 1, x'00')"), SQLITE_OK);
    cr_expect_eq(kit_verify(&w), 1);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM sealed; INSERT INTO sealed_holds VALUES (1, 1, 4)"),
                 SQLITE_OK);
    cr_expect_eq(kit_verify(&w), 1);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM sealed_holds; INSERT INTO run_checkpoints"
                                 " (run_no, seq, image, key_no) VALUES (1, 3, x'00', 1)"),
                 SQLITE_OK);
    cr_expect_eq(kit_verify(&w), 1);
}

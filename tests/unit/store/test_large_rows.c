/*
 * test_large_rows.c: what one run costs does not depend on how large the rows of others are.
 * Counted in pages that SQLite looks at: a search copies a row it compares with page by page.
 */
#include "kit.h"
#include "store/runs.h"
#include "store/sqlite/sql.h"

enum {
    PAIRS = 40,     /* of a small run and one with large values */
    LARGE = 400000, /* bytes: about 100 pages */
    PAGES_MAX = 60, /* of one read or one append: depths of trees and pages of small rows */
    PAGES_OF_LARGE_MIN = 90
};

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(large_rows, .init = up, .fini = down, .timeout = 300);

static int64_t pages_looked_at(const struct conn *c) {
    int hit = 0, miss = 0, high = 0;
    cr_assert_eq(sqlite3_db_status(c->db, SQLITE_DBSTATUS_CACHE_HIT, &hit, &high, 0), SQLITE_OK);
    cr_assert_eq(sqlite3_db_status(c->db, SQLITE_DBSTATUS_CACHE_MISS, &miss, &high, 0), SQLITE_OK);
    return (int64_t)hit + miss;
}

static struct str text_of(struct arena *a, size_t n) {
    char *p = arena_alloc(a, n);
    memset(p, 'x', n);
    p[0] = p[n - 1] = '"';
    return str_n(p, n);
}

/* A step of a run: an event, a node, a variable, a channel and an artifact of n bytes. */
static struct plan *step_plan(int64_t run_no, size_t n) {
    struct plan *p = kit_append(run_no, 1, 0, false);
    kit_events(p, 1, false, n);
    struct str text = text_of(p->arena, n);
    p->nodes = ARENA_NEW(p->arena, struct plan_node_row);
    p->vars = ARENA_NEW(p->arena, struct plan_var_row);
    p->chans = ARENA_NEW(p->arena, struct plan_chan_row);
    p->artifacts = ARENA_NEW(p->arena, struct plan_artifact);
    *p->nodes = (struct plan_node_row){STR("node"), text};
    *p->vars = (struct plan_var_row){STR("var"), text, false};
    *p->chans = (struct plan_chan_row){PLAN_CHAN_PUT, STR("chan"), false, false, 1, 10, text, 0};
    *p->artifacts =
        (struct plan_artifact){STR("art"), STR("doc"), STR("node"), STR("1"), STR("s"), text, 1};
    p->nodes_nr = p->vars_nr = p->chans_nr = p->artifacts_nr = 1;
    return p;
}

static int64_t run_make(const char *kind, int i, size_t n, int64_t *pages) {
    char id[32];
    snprintf(id, sizeof id, "%s_%d", kind, i);
    int64_t no = kit_run(&w, id, 1), before = pages_looked_at(w.s->writer);
    cr_assert_eq(kit_apply(&w, step_plan(no, n)), 0, "%s", w.err.message);
    *pages = pages_looked_at(w.s->writer) - before;
    return no;
}

static int64_t pages_of_view(const struct conn *c, const char *kind, int i) {
    char id[32];
    struct run_view v;
    int64_t before = pages_looked_at(c);
    snprintf(id, sizeof id, "%s_%d", kind, i);
    arena_reset(w.a);
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, str_c(id), w.a, &v, &w.err), 0);
    cr_assert_eq(v.vars_nr, 1);
    return pages_looked_at(c) - before;
}

static int64_t pages_of_events(const struct conn *c, int64_t run_no) {
    int64_t before = pages_looked_at(c);
    cr_assert_eq(kit_count_events(&w, run_no), 2);
    return pages_looked_at(c) - before;
}

/* Appends are looked at on the way, each behind a large run. */
Test(large_rows, those_of_others_cost_a_small_run_nothing) {
    int64_t small[PAIRS], large[PAIRS], pages;
    struct conn *c;
    for (int i = 0; i < PAIRS; i++) {
        large[i] = run_make("large", i, LARGE, &pages);
        small[i] = run_make("small", i, 40, &pages);
        cr_expect_leq(pages, PAGES_MAX, "a step of small run %d looked at %lld pages", i,
                      (long long)pages);
    }
    cr_assert_eq(conn_reader(w.s, &c, &w.err), 0);
    for (int i = 0; i < PAIRS; i++) {
        pages = pages_of_view(c, "small", i);
        cr_expect_leq(pages, PAGES_MAX, "the view of run %d: %lld pages", i, (long long)pages);
        pages = pages_of_events(c, small[i]);
        cr_expect_leq(pages, PAGES_MAX, "the events of run %d: %lld pages", i, (long long)pages);
    }
    /* the count sees what a large row costs */
    cr_assert_geq(pages_of_view(c, "large", 0), PAGES_OF_LARGE_MIN);
    cr_assert_geq(pages_of_events(c, large[0]), PAGES_OF_LARGE_MIN);
}

/* Tables whose rows are their own keys: each row of these is short by the bounds of its columns. */
Test(large_rows, no_table_of_long_texts_is_without_rowids) {
    static const char *const SHORT[] = {
        "meta", "secrets", "timers", "run_tombstones", "idempotency", "run_snapshots", "workflows",
        "api_keys", "token_secrets", "run_tags", "tenant_usage", "audit_checkpoints",
        "sealed_holds", "workflow_versions", "workflow_usage", "workflow_texts_older",
        "webhook_failures", "task_counts", "audit_keys", "node_states", "memory_usage",
        "agent_usage", "pack_owners", "pack_keys", "pack_words", "wr_ref", "wr_node", "wr_resume",
        /* nothing writes them yet */
        "snapshots"};
    sqlite3_stmt *st = NULL;
    cr_assert_eq(sqlite3_prepare_v2(w.s->writer->db, "SELECT name FROM pragma_table_list WHERE wr",
                                    -1, &st, NULL),
                 SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 0);
        bool known = false;
        for (size_t i = 0; i < sizeof SHORT / sizeof *SHORT; i++)
            known = known || strcmp(SHORT[i], name) == 0;
        cr_expect(known, "%s is WITHOUT ROWID: a search copies each row it compares with", name);
    }
    sqlite3_finalize(st);
}

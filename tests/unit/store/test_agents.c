/*
 * test_agents.c: agents of workspaces against a model, and the sets that runs hold (AGT-40 to
 * AGT-46).
 */
#include "kit.h"

#include "domain/agent_manifest.h"
#include "store/agents.h"
#include "store/runs.h"
#include "store/upkeep.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(agents, .init = up, .fini = down);

static int findings;
static void finding(void *ctx, const struct store_finding *f) {
    (void)ctx;
    findings++;
    printf("%s: %s\n", f->what, f->text);
}
static void verify(int want) {
    findings = 0;
    cr_assert_eq(store_verify(w.s, finding, NULL, &w.err), 0);
    cr_expect_eq(findings, want);
}

static struct agent_row row(const char *tenant, const char *id, const char *text) {
    struct agent_row r = {.tenant = str_c(tenant),
                          .agent_id = str_c(id),
                          .definition = str_c(text),
                          .created_by = STR("key_1"),
                          .created_ms = 1000,
                          .updated_ms = 1000};
    cr_assert_eq(agent_digest(r.definition, &r.digest, &w.err), 0, "%s", w.err.message);
    return r;
}

static int put(struct agent_row r, int64_t if_revision, struct agent_put *out) {
    *out = (struct agent_put){.what = AGENT_SAME, .revision = -1};
    return store_agent_put(w.s, &r, if_revision, out, &w.err);
}

Test(agents, a_put_says_what_it_did_and_no_revision_comes_twice) {
    struct agent_put p;
    struct agent_row got, gone = row("t", "core.a.b", "{}");
    cr_assert_eq(put(row("t", "core.a.b", "{\"x\":1}"), 0, &p), 0);
    cr_expect(p.what == AGENT_CREATED && p.revision == 1);
    cr_assert_eq(put(row("t", "core.a.b", "{ \"x\": 1.0 }"), 0, &p), 0, "the same is no conflict");
    cr_expect(p.what == AGENT_SAME && p.revision == 1);
    cr_expect_eq(put(row("t", "core.a.b", "{\"x\":2}"), 0, &p), WOPR_E_CONFLICT);
    cr_expect_eq(p.revision, 1);
    cr_assert_eq(put(row("t", "core.a.b", "{\"x\":2}"), 1, &p), 0);
    cr_expect(p.what == AGENT_UPDATED && p.revision == 2);
    cr_expect_eq(store_agent_delete(w.s, &gone, 1, &p, &w.err), WOPR_E_CONFLICT);
    cr_assert_eq(store_agent_delete(w.s, &gone, 2, &p, &w.err), 0);
    cr_expect_eq(store_agent_delete(w.s, &gone, AGENT_ANY, &p, &w.err), WOPR_E_NOT_FOUND);
    cr_expect_eq(put(row("t", "core.a.b", "{\"x\":2}"), 2, &p), WOPR_E_CONFLICT, "it is gone");
    cr_assert_eq(put(row("t", "core.a.b", "{\"x\":2}"), 0, &p), 0);
    cr_expect_eq(p.revision, 3, "the revision of the deleted one comes not again");
    cr_assert_eq(store_agent_get(w.s, STR("t"), false, STR("core.a.b"), w.a, &got, &w.err), 0);
    cr_expect(str_eqc(got.definition, "{\"x\":2}") && got.revision == 3);
    cr_expect_eq(store_agent_get(w.s, STR("t"), true, STR("core.a.b"), w.a, &got, &w.err),
                 WOPR_E_NOT_FOUND, "test mode has its own");
    cr_expect_eq(store_agent_get(w.s, STR("u"), false, STR("core.a.b"), w.a, &got, &w.err),
                 WOPR_E_NOT_FOUND, "as has each tenant");
    verify(0);
}

Test(agents, there_is_a_bound_on_number_and_bytes) {
    static char large[AGENT_DEFINITION_MAX + 1];
    struct agent_put p;
    for (int i = 0; i < AGENTS_MAX; i++) {
        char id[64];
        snprintf(id, sizeof id, "core.a.b%04d", i);
        cr_assert_eq(put(row("t", id, "{}"), AGENT_ANY, &p), 0);
    }
    cr_expect_eq(put(row("t", "core.a.more", "{}"), AGENT_ANY, &p), WOPR_E_QUOTA);
    cr_expect_eq(put(row("t", "core.a.b0001", "{\"x\":1}"), AGENT_ANY, &p), 0);
    cr_expect_eq(put(row("u", "core.a.more", "{}"), AGENT_ANY, &p), 0, "of a tenant");
    memset(large, ' ', AGENT_DEFINITION_MAX);
    large[0] = '{';
    int64_t n = 0;
    for (int rc = 0; rc == 0 && n < 100; n++) {
        char id[64];
        snprintf(id, sizeof id, "core.b.b%04d", (int)n);
        snprintf(large + AGENT_DEFINITION_MAX - 24, 25, "\"x\":%19d}", (int)n);
        rc = put(row("u", id, large), AGENT_ANY, &p);
        if (rc != 0) cr_expect_eq(rc, WOPR_E_QUOTA);
    }
    cr_expect_eq(n - 1, AGENTS_BYTES_MAX / (AGENT_DEFINITION_MAX + AGENT_ROW_BYTES));
    verify(0);
}

/* --- against a model --- */

enum { TENANTS = 2, IDS = 5, STEPS = 3000 };
static struct {
    int value; /* 0: not there */
    int64_t revision;
} model[TENANTS][2][IDS];
static int64_t last[TENANTS][2];

static uint32_t dice(uint32_t *seed, uint32_t sides) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

static void compare(int t, int mode) {
    static const char *const NAMES[] = {"t", "u"};
    struct agent_rows l;
    size_t k = 0;
    cr_assert_eq(store_agents(w.s, str_c(NAMES[t]), mode != 0, NULL, 100, w.a, &l, &w.err), 0);
    for (int i = 0; i < IDS; i++) {
        if (model[t][mode][i].value == 0) continue;
        cr_assert_lt(k, l.n);
        const char *want = arena_printf(w.a, "{\"x\":%d}", model[t][mode][i].value).p;
        cr_assert(str_eqc(l.v[k].definition, want));
        cr_assert_eq(l.v[k].revision, model[t][mode][i].revision);
        cr_assert_eq(l.v[k].agent_id.p[7], '0' + i);
        k++;
    }
    cr_assert_eq(k, l.n);
}

Test(agents, any_order_of_puts_and_deletes_gives_what_a_model_has /* AGT-46 */) {
    static const char *const NAMES[] = {"t", "u"};
    uint32_t seed = 20261124;
    for (int step = 0; step < STEPS; step++) {
        int t = (int)dice(&seed, TENANTS), mode = (int)dice(&seed, 2), i = (int)dice(&seed, IDS);
        int value = 1 + (int)dice(&seed, 3);
        int64_t now = model[t][mode][i].revision, terms = AGENT_ANY;
        if (dice(&seed, 2)) terms = dice(&seed, 2) ? now : (int64_t)dice(&seed, 40);
        struct agent_put p;
        char id[16];
        snprintf(id, sizeof id, "core.a.%d", i);
        id[7] = (char)('0' + i);
        struct agent_row r = row(NAMES[t], id, arena_printf(w.a, "{\"x\":%d}", value).p);
        r.test_mode = mode != 0;
        if (dice(&seed, 3) == 0) {
            int rc = store_agent_delete(w.s, &r, terms, &p, &w.err);
            bool fits = terms == AGENT_ANY || terms == now;
            cr_assert_eq(rc, now == 0 ? WOPR_E_NOT_FOUND : fits ? 0 : WOPR_E_CONFLICT);
            if (rc == 0) model[t][mode][i].value = 0, model[t][mode][i].revision = 0;
        } else {
            int rc = put(r, terms, &p);
            bool same = model[t][mode][i].value == value;
            bool fits = same || terms == AGENT_ANY || terms == now;
            cr_assert_eq(rc, fits ? 0 : WOPR_E_CONFLICT, "step %d", step);
            if (rc == 0 && !same) {
                model[t][mode][i].value = value;
                model[t][mode][i].revision = ++last[t][mode];
            }
            if (rc == 0) cr_assert_eq(p.revision, model[t][mode][i].revision);
        }
        if (step % 50 == 0) {
            compare(t, mode);
            arena_reset(w.a);
        }
    }
    verify(0);
}

Test(agents, pages_follow_each_other) {
    struct agent_put p;
    struct agent_rows l;
    struct agent_row after = {.tenant = STR("t")};
    for (int i = 0; i < 7; i++)
        cr_assert_eq(put(row("t", arena_printf(w.a, "core.a.b%d", i).p, "{}"), AGENT_ANY, &p), 0);
    cr_assert_eq(put(row("s", "core.a.b", "{}"), AGENT_ANY, &p), 0);
    cr_assert_eq(put(row("v", "core.a.b", "{}"), AGENT_ANY, &p), 0);
    size_t n = 0;
    for (l.n = 3; l.n == 3; n += l.n) {
        cr_assert_eq(store_agents(w.s, STR("t"), false, &after, 3, w.a, &l, &w.err), 0);
        if (l.n > 0) after = l.v[l.n - 1];
    }
    cr_expect_eq(n, 7u);
    after = (struct agent_row){.tenant = STR_NONE};
    n = 0;
    for (l.n = 4; l.n == 4; n += l.n) {
        cr_assert_eq(store_agents(w.s, STR_NONE, false, &after, 4, w.a, &l, &w.err), 0);
        if (l.n > 0) after = l.v[l.n - 1];
    }
    cr_expect_eq(n, 9u, "of all tenants");
}

Test(agents, one_read_gives_those_that_are_there /* AGT-46 */) {
    struct agent_put p;
    struct agent_rows l;
    int64_t held = -1;
    const struct str ids[] = {STR("core.a.a"), STR("core.a.b"), STR("core.a.c")};
    cr_assert_eq(store_agents_of(w.s, STR("t"), false, ids, 3, w.a, &l, &held, &w.err), 0);
    cr_expect(l.n == 0 && held == 0);
    cr_assert_eq(put(row("t", "core.a.a", "{}"), AGENT_ANY, &p), 0);
    cr_assert_eq(put(row("t", "core.a.c", "{\"c\":1}"), AGENT_ANY, &p), 0);
    cr_assert_eq(put(row("u", "core.a.b", "{}"), AGENT_ANY, &p), 0);
    cr_assert_eq(store_agents_of(w.s, STR("t"), false, ids, 3, w.a, &l, &held, &w.err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eqc(l.v[0].agent_id, "core.a.a") && str_eqc(l.v[1].agent_id, "core.a.c"));
}

/* --- sets --- */

#define SET_A STR("{\"core.a.b\":{\"manifest\":{}}}")
#define SET_B STR("{\"core.a.b\":{\"manifest\":{\"x\":1}}}")

static int64_t create(const char *id, struct str set, const char *digest, bool ends) {
    struct plan *p = kit_create(id, 2);
    if (ends) {
        plan_unref(p);
        p = kit_create(id, 0);
        kit_events(p, 2, true, 40);
        p->has_update = true;
        p->update = (struct run_row_update){
            .status = RUN_COMPLETED, .started_ms = 5, .completed_ms = 1700000000500};
    }
    p->create->meta.agents = set;
    p->create->meta.agents_digest = str_c(digest);
    int rc = 0;
    cr_assert_eq(store_apply(w.s, &p, 1, &rc, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(rc, 0);
    int64_t no = p->run_no;
    cr_assert_gt(no, 0);
    plan_unref(p);
    return no;
}

static int64_t sets_nr(void) {
    struct agent_set_row set;
    int64_t n = 0;
    for (int64_t at = 0; store_agent_set_after(w.s, at, w.a, &set, &w.err) == 0; n++)
        at = set.set_no;
    return n;
}

static int64_t held(void) {
    struct agent_rows l;
    int64_t n = -1;
    cr_assert_eq(store_agents_of(w.s, KIT_TENANT, false, NULL, 0, w.a, &l, &n, &w.err), 0);
    return n;
}

Test(agents, runs_share_a_set_until_the_last_of_them_is_removed /* AGT-46, STORE-44 */) {
    struct run_origin o;
    struct agent_set_row set;
    int64_t one = create("run_1", SET_A, "sha256:a", true);
    (void)create("run_2", SET_A, "sha256:a", true);
    (void)create("run_3", SET_B, "sha256:b", false);
    (void)create("run_4", STR_NONE, "", true);
    cr_expect_eq(sets_nr(), 2);
    cr_expect_eq(held(), (int64_t)(SET_A.n + SET_B.n));
    cr_assert_eq(store_run_origin(w.s, one, w.a, &o, &w.err), 0);
    cr_assert_eq(store_agent_set(w.s, o.agents_no, w.a, &set, &w.err), 0);
    cr_expect(str_eq(set.definitions, SET_A) && str_eqc(set.digest, "sha256:a"));
    verify(0);
    cr_expect_eq(kit_purge(&w, 1800000000000, 1800000000000, 1), 1);
    cr_expect_eq(sets_nr(), 2, "another run holds it");
    cr_expect_eq(kit_purge(&w, 1800000000000, 1800000000000, 100), 2);
    cr_expect_eq(sets_nr(), 1);
    cr_expect_eq(held(), (int64_t)SET_B.n);
    verify(0);
}

Test(agents, a_fork_holds_the_set_when_its_source_is_gone /* AGT-46, STORE-44 */) {
    int64_t one = create("run_1", SET_A, "sha256:a", true);
    struct plan *p = kit_fork("run_2", one, "run_1", 1);
    int rc = 0;
    p->create->meta.agents = SET_A;
    p->create->meta.agents_digest = STR("sha256:a");
    cr_assert_eq(store_apply(w.s, &p, 1, &rc, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(rc, 0);
    int64_t fork = p->run_no;
    plan_unref(p);
    cr_expect_eq(sets_nr(), 1);
    (void)kit_purge(&w, 1800000000000, 1800000000000, 100);
    cr_expect_eq(sets_nr(), 1, "the fork goes by it");
    verify(0);
    p = kit_append(fork, 1, 1, true);
    cr_assert_eq(store_apply(w.s, &p, 1, &rc, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(rc, 0);
    plan_unref(p);
    for (int i = 0; i < 3; i++) (void)kit_purge(&w, 1800000000000, 1800000000000, 100);
    cr_expect_eq(sets_nr(), 0);
    cr_expect_eq(held(), 0);
    verify(0);
}

Test(agents, the_same_set_of_two_tenants_is_two) {
    struct plan *p = kit_create("run_9", 1);
    (void)create("run_1", SET_A, "sha256:a", false);
    p->create->meta.tenant = STR("tenant-b");
    p->create->meta.agents = SET_A;
    p->create->meta.agents_digest = STR("sha256:a");
    int rc = 0;
    cr_assert_eq(store_apply(w.s, &p, 1, &rc, &w.err), 0, "%s", w.err.message);
    cr_assert_eq(rc, 0);
    plan_unref(p);
    cr_expect_eq(sets_nr(), 2);
    verify(0);
}

static void sql(const char *text) {
    sqlite3 *db;
    char *why = NULL;
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, &why), SQLITE_OK, "%s", why);
    (void)sqlite3_close(db);
}

Test(agents, a_check_finds_sets_and_counts_that_do_not_fit) {
    (void)create("run_1", SET_A, "sha256:a", false);
    sql("UPDATE agent_usage SET set_bytes = set_bytes + 1");
    verify(1);
    sql("UPDATE agent_usage SET set_bytes = set_bytes - 1");
    sql("UPDATE agent_sets SET tenant = 'other'");
    verify(3); /* the run's set is of another tenant; the sums of both are wrong */
    sql("UPDATE agent_sets SET tenant = 'tenant-a'");
    sql("UPDATE run_origins SET agents = NULL");
    verify(1);
}

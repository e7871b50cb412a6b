/*
 * A batch is what its plans are one by one (STORE-1, STORE-33): creations that wait for each other
 * to be inserted together refuse, answer and count as if they had come alone.
 */
#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

static struct kit together, alone;
static void up(void) { kit_up(&together), kit_up(&alone); }
static void down(void) { kit_down(&together), kit_down(&alone); }
TestSuite(batches, .init = up, .fini = down);

enum { PLANS_MAX = 40, IDS = 60, KEYS = 12, SCOPES = 3 };
static uint32_t seed;
static uint32_t below(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void key_give(struct plan *p, uint32_t key, uint32_t body) {
    char text[32];
    snprintf(text, sizeof text, "key-%u", key);
    p->has_idem = true;
    p->idem = (struct idem_key){.tenant = KIT_TENANT,
                                .operation_id = STR("createRun"),
                                .key = sha256_of(str_c(text)),
                                .digest = sha256_of(body ? STR("one") : STR("two"))};
    p->idem_response = (struct idem_response){.status = 201, .body = STR("{}")};
}

/* A creation or a move of a run that may be there; what it is depends on the seed alone. */
static struct plan *plan_any(void) {
    char id[16], parent[16];
    if (below(8) == 0)
        return kit_append((int64_t)below(IDS) + 1, below(3), 1 + below(3), below(2) == 0);
    snprintf(id, sizeof id, "run_%u", below(IDS));
    struct plan *p = kit_create(id, below(24));
    if (below(3) == 0) {
        kit_events(p, 1 + below(9), true, 40);
        p->has_update = true;
        p->update = (struct run_row_update){
            .status = RUN_COMPLETED, .completed_ms = 1700000000500, .outputs = STR("{}")};
    }
    if (below(3) == 0) key_give(p, below(KEYS), below(6) > 0);
    if (below(9) == 0) p->create->meta.tags = STR_NONE;
    if (below(12) == 0) p->create->tenant_bytes_max = 20000;
    if (below(12) == 0) {
        p->create->meta.scope_id = below(2) ? STR("s") : STR("t");
        p->create->dedup_enforce = below(2) == 0;
    }
    if (below(12) == 0) {
        snprintf(parent, sizeof parent, "run_%u", below(IDS));
        p->create->parent_run_id = arena_str(p->arena, str_c(parent));
        p->create->parent_node_id = STR("n1");
        p->create->child_depth = 1;
    }
    if (below(30) == 0) plan_fail(p, WOPR_E_TOO_BIG, "too big");
    return p;
}

static void outcome_compare(const struct plan *a, int rc_a, const struct plan *b, int rc_b) {
    cr_assert_eq(rc_a, rc_b, "%s against %s", wopr_err_name(rc_a), wopr_err_name(rc_b));
    cr_assert_eq(a->run_no, b->run_no);
    cr_assert_eq(a->idem_hit, b->idem_hit);
    cr_assert(str_eq(a->active_run_id, b->active_run_id));
    if (rc_a == WOPR_E_QUOTA) cr_assert_eq(a->tenant_bytes, b->tenant_bytes);
}

/* Every row of the tables that plans write; times of answers are the clock's. */
static void rows_compare(void) {
    static const char *const SAME[] = {
        "SELECT * FROM runs",
        "SELECT * FROM run_origins",
        "SELECT * FROM events",
        "SELECT * FROM run_tags",
        "SELECT * FROM node_states",
        "SELECT * FROM tenant_usage",
        "SELECT tenant, operation_id, key, status FROM idempotency"};
    char sql[1200];
    sqlite3 *db;
    cr_assert_eq(sqlite3_open_v2(together.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    snprintf(sql, sizeof sql, "ATTACH '%s' AS alone", alone.path);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        const char *from = strstr(SAME[i], " FROM ") + 6;
        int columns = (int)(from - SAME[i]);
        sqlite3_stmt *st;
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT count(*) FROM main.%s), (SELECT count(*) FROM (%.*s main.%s EXCEPT"
                 " %.*s alone.%s)), (SELECT count(*) FROM (%.*s alone.%s EXCEPT %.*s main.%s))",
                 from, columns, SAME[i], from, columns, SAME[i], from, columns, SAME[i], from,
                 columns, SAME[i], from);
        cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s",
                     sqlite3_errmsg(db));
        cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
        cr_assert(sqlite3_column_int(st, 1) == 0 && sqlite3_column_int(st, 2) == 0, "%s differ",
                  from);
        sqlite3_finalize(st);
    }
    sqlite3_close(db);
}

Test(batches, a_batch_is_its_plans_one_by_one /* STORE-1, STORE-33, RUN-7, RUN-8 */) {
    int outcomes[512] = {0}, hits = 0;
    for (int round = 0; round < 60; round++) {
        struct plan *v[PLANS_MAX], *one[PLANS_MAX];
        int rcs[PLANS_MAX], rc;
        uint32_t from = (uint32_t)round * 7919u + 1;
        size_t n = 1 + (seed = from, below(PLANS_MAX));
        for (size_t i = 0; i < n; i++) v[i] = plan_any();
        seed = from, (void)below(PLANS_MAX);
        for (size_t i = 0; i < n; i++) one[i] = plan_any();
        cr_assert_eq(store_apply(together.s, v, n, rcs, &together.err), 0, "%s",
                     together.err.message);
        for (size_t i = 0; i < n; i++) {
            int all = store_apply(alone.s, &one[i], 1, &rc, &alone.err);
            cr_assert(all == 0 || all == rc);
            outcome_compare(v[i], rcs[i], one[i], rc);
            outcomes[rc < 0 ? -rc % 512 : rc % 512]++;
            hits += v[i]->idem_hit;
            plan_unref(v[i]);
            plan_unref(one[i]);
        }
    }
    rows_compare();
    cr_expect_eq(kit_verify(&together), 0);
    int kinds = 0;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) kinds += outcomes[i] > 0;
    cr_expect(kinds >= 6 && hits > 3, "%d outcomes, %d stored answers", kinds, hits);
}

/* Ten creations, the sixth with the id of the third. */
Test(batches, a_taken_id_costs_its_neighbours_nothing /* STORE-33 */) {
    struct plan *v[10];
    int rcs[10];
    for (int i = 0; i < 10; i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i == 5 ? 2 : i);
        v[i] = kit_create(id, 3);
    }
    cr_assert_eq(store_apply(together.s, v, 10, rcs, &together.err), 0);
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(rcs[i], i == 5 ? WOPR_E_EXISTS : 0, "plan %d", i);
        cr_expect_eq(v[i]->run_no, i == 5 ? 0 : i + (i < 5));
        plan_unref(v[i]);
    }
    cr_expect_eq(kit_number(&together, "SELECT count(*) FROM events"), 27);
    cr_expect_eq(kit_verify(&together), 0);
}

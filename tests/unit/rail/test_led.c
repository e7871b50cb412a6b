/* Which runs are led (migration 0049): a fact of its own that only an append to a session sets. */
#include "unit/rail/calls.h"
#include "unit/store/kit_old.h"

static struct calls c;
static void up(void) { calls_up(&c); }
static void down(void) { calls_down(&c); }
#define LED(name) Test(rail_led, name, .init = up, .fini = down)

static bool led(struct str run_id) {
    struct run_head h = calls_run(&c, run_id);
    struct run_origin o;
    cr_assert_eq(store_run_origin(c.k.s, h.run_no, c.a, &o, &c.k.err), 0, "%s", c.k.err.message);
    return o.meta.led;
}

static void ordinary_run(const char *id, struct str transport) {
    struct plan *p = kit_create(id, 1);
    p->create->meta.transport = transport;
    cr_assert_eq(kit_apply(&c.k, plan_ref(p)), 0, "%s", c.k.err.message);
    plan_unref(p);
}

LED(a_transport_does_not_make_a_run_one_that_is_led) {
    ordinary_run("run_mcp", STR("mcp"));
    cr_expect_not(led(STR("run_mcp")));
    calls_fine(&c, "start", calls_start(&c, ""));
    cr_expect(led(calls_get(&c, "session.runId")));
}

LED(a_branch_is_led_too /* WR-262 */) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str id = calls_get(&c, "session.sessionId"), state = calls_get(&c, "stateToken");
    calls_fine(&c, "one", calls_next(&c, CALLS_NOTES));
    calls_fine(&c, "fresh", calls_continue(&c, state, STR_NONE, ""));
    calls_fine(&c, "two", calls_next(&c, CALLS_NOTES));
    struct session_head h;
    struct session_runs runs;
    cr_assert_eq(store_session_head(c.k.s, KIT_TENANT, false, id, c.a, &h, &c.k.err), 0);
    cr_assert_eq(store_session_runs(c.k.s, h.session_no, c.a, &runs, &c.k.err), 0);
    cr_assert_eq(runs.n, 2);
    for (size_t i = 0; i < runs.n; i++) cr_expect(led(runs.v[i].run_id));
}

LED(a_file_of_before_knows_which_were /* STORE-15 */) {
    bool replaced;
    ordinary_run("run_rest", STR("rest"));
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str run = calls_get(&c, "session.runId");
    rail_free(c.rail);
    vault_free(c.vault);
    kit_close(&c.k);
    kit_old(&c.k, 47);
    kit_open(&c.k);
    cr_assert_eq(vault_new(c.k.s, &CALLS_KEK, 1, &c.vault, &replaced, &c.k.err), 0);
    calls_rail(&c, c.k.s, &c.rail);
    cr_expect(led(run));
    cr_expect_not(led(STR("run_rest")));
    calls_fine(&c, "it goes on", calls_next(&c, CALLS_NOTES));
}

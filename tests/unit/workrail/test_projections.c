/*
 * test_projections.c: what is read off sessions (V-PT, V-ST, V-OUT, V-GP, V-PF, V-CA, V-CX, V-CB).
 */
#include "log.h"
#include "workrail/context.h"

static struct log l;
static void up(void) {
    kit_up();
    log_open(&l);
}
static void down(void) {
    log_close(&l);
    kit_down();
}
static void again(void) {
    log_close(&l);
    log_open(&l);
}

/* --- V-PT --- */

/* "b 8, c 8", and the preferred one, as the page has them. */
static void tips_are(const char *id) {
    struct wr_tip *tips, preferred;
    size_t nr;
    struct buf b;
    buf_init(&b, 1024);
    cr_assert_eq(wr_run_tips(l.s, 0, kit_a, &tips, &nr, &preferred), 0);
    for (size_t i = 0; i < nr; i++)
        buf_addf(&b, "%s%s %d", i > 0 ? ", " : "", l.s->nodes[tips[i].node].id.p + 5,
                 (int)tips[i].score);
    if (nr == 0) buf_addz(&b, "none");
    kit_same(id, buf_str(&b), kit_plain(id, 1));
    struct str word, rest, want = kit_plain(id, 2);
    if (!str_cut(want, ' ', &word, &rest)) word = want;
    kit_same(
        id, preferred.node == WR_NO_NODE ? STR("null") : str_c(l.s->nodes[preferred.node].id.p + 5),
        word);
    buf_fini(&b);
}

static void pt_2(void) {
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_create(&l, 4, "b", "a", WR_NODE_STEP);
    log_edge(&l, 5, "a", "b", WR_EDGE_ACKED);
}
static void pt_3(void) {
    pt_2();
    log_create(&l, 7, "c", "a", WR_NODE_STEP);
    log_edge(&l, 8, "a", "c", WR_EDGE_ACKED);
}
static void pt_6(void) {
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_create(&l, 4, "k", "a", WR_NODE_CHECKPOINT);
    log_edge(&l, 5, "a", "k", WR_EDGE_CHECKPOINT);
}

Test(workrail_projections, v_pt_1_to_5_tips_wr_158_to_wr_160, .init = up, .fini = down) {
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    tips_are("V-PT-1");
    again();
    pt_2();
    tips_are("V-PT-2");
    again();
    pt_3();
    tips_are("V-PT-3");
    log_put(&l, log_gap("b", "1", WR_INFO, WR_D_INVARIANT_VIOLATION, NULL), STR_NONE);
    tips_are("V-PT-4");
    again();
    pt_3();
    log_put(&l, log_output("a", "1", NULL, WR_RECAP), STR_NONE);
    tips_are("V-PT-5");
}

Test(workrail_projections, v_pt_6_to_11_checkpoints_and_blocks, .init = up, .fini = down) {
    struct wr_event e = log_blank(WR_ADVANCE_RECORDED, "a");
    tips_are("V-PT-11");
    pt_6();
    tips_are("V-PT-6");
    e.u.advance.attempt_id = str_c(KIT_A);
    e.u.advance.to_node_id = log_node("b");
    log_put(&l, e, STR_NONE);
    log_create(&l, 7, "b", "a", WR_NODE_STEP);
    log_edge(&l, 8, "a", "b", WR_EDGE_ACKED);
    log_put(&l, log_output("a", "1", NULL, WR_RECAP), STR_NONE);
    tips_are("V-PT-7");
    again();
    pt_2();
    log_create(&l, 6, "k", "a", WR_NODE_CHECKPOINT);
    log_edge(&l, 7, "a", "k", WR_EDGE_CHECKPOINT);
    tips_are("V-PT-8");
    again();
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_create(&l, 5, "x", "a", WR_NODE_BLOCKED);
    log_edge(&l, 6, "a", "x", WR_EDGE_ACKED);
    log_create(&l, 9, "b", "x", WR_NODE_STEP);
    log_edge(&l, 10, "x", "b", WR_EDGE_ACKED);
    tips_are("V-PT-9");
    again();
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_create(&l, 3, "b", "a", WR_NODE_STEP);
    tips_are("V-PT-10");
}

Test(workrail_projections, v_pt_12_to_13_contradictions_wr_57, .init = up, .fini = down) {
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_fill(&l, 4);
    cr_expect_neq(log_try(&l, log_creation("b", "zz", WR_NODE_STEP), STR_NONE), 0);
    kit_same("V-PT-12", str_c(wr_code_name(l.f.code)), kit_code("V-PT-12", 2, 0));
    again();
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    /* The same node again has the same key, so it is an event of another run that names it. */
    struct wr_event e = log_creation("a", NULL, WR_NODE_STEP),
                    run = log_blank(WR_RUN_STARTED, NULL);
    run.run_id = STR("run_other");
    run.u.run.workflow_id = STR("a.b");
    run.u.run.workflow_hash = log_hash('d');
    run.u.run.source_ref = STR("x");
    log_put(&l, run, STR_NONE);
    e.run_id = STR("run_other");
    e.u.node.workflow_hash = log_hash('d');
    cr_expect_neq(log_try(&l, e, STR_NONE), 0);
    kit_same("V-PT-13", str_c(wr_code_name(l.f.code)), kit_code("V-PT-13", 2, 0));
}

static void refused(struct wr_event e, struct str part, enum wr_code want, const char *what) {
    cr_expect_neq(log_try(&l, e, part), 0, "%s", what);
    cr_expect_eq(l.f.code, want, "%s: %s", what, wr_code_name(l.f.code));
    again();
    pt_2();
}

Test(workrail_projections, a_plan_that_no_projection_could_read_is_refused_wr_57, .init = up,
     .fini = down) {
    pt_2();
    refused(log_creation("b2", NULL, WR_NODE_STEP), STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED,
            "a second root");
    struct wr_event e = log_creation("b2", "a", WR_NODE_STEP);
    e.u.node.workflow_hash = log_hash('e');
    refused(e, STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED, "another workflow");
    e = log_blank(WR_EDGE_CREATED, NULL);
    e.u.edge = (__typeof__(e.u.edge)){.cause = WR_INTENTIONAL_FORK,
                                      .from_node_id = log_node("b"),
                                      .to_node_id = log_node("a"),
                                      .cause_event_id = STR("evt_0")};
    refused(e, STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED, "an edge that is not from the parent");
    e.u.edge.from_node_id = log_node("zz");
    refused(e, STR_NONE, WR_PROJECTION_INVARIANT_VIOLATION, "an edge from nowhere");
    refused(log_gap("zz", "1", WR_INFO, WR_D_EVALUATION_ERROR, NULL), STR_NONE,
            WR_PROJECTION_INVARIANT_VIOLATION, "a gap of no node");
    e = log_blank(WR_SESSION_CREATED, NULL);
    e.run_id = STR_NONE;
    refused(e, STR_NONE, WR_PROJECTION_INVARIANT_VIOLATION, "a second beginning");
}

/* --- V-ST --- */

struct status_case {
    int tip, kind, autonomy; /* tip: enum wr_state_kind */
    const char *where;       /* of the gap: NULL none, "b" the tip, "a" its parent */
    int severity, detail;
    bool resolved, on_root;
};
static const struct status_case CASES[] = {
    {WR_S_RUNNING, WR_NODE_STEP, WR_GUIDED, NULL, 0, 0, false, false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_GUIDED, "b", WR_CRITICAL, WR_D_NEEDS_USER_APPROVAL, false,
     false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_STOP_ON_USER_DEPS, "b", WR_CRITICAL,
     WR_D_MISSING_REQUIRED_OUTPUT, false, false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_NEVER_STOP, "b", WR_CRITICAL, WR_D_MISSING_REQUIRED_OUTPUT,
     false, false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_GUIDED, "a", WR_CRITICAL, WR_D_MISSING_REQUIRED_OUTPUT, false,
     false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_GUIDED, "b", WR_CRITICAL, WR_D_INVARIANT_VIOLATION, false,
     false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_GUIDED, "b", WR_WARNING, WR_D_MISSING_REQUIRED_OUTPUT, false,
     false},
    {WR_S_BLOCKED, WR_NODE_BLOCKED, WR_GUIDED, NULL, 0, 0, false, false},
    {WR_S_BLOCKED, WR_NODE_BLOCKED, WR_NEVER_STOP, NULL, 0, 0, false, false},
    {WR_S_COMPLETE, WR_NODE_STEP, WR_GUIDED, NULL, 0, 0, false, false},
    {WR_S_COMPLETE, WR_NODE_STEP, WR_NEVER_STOP, "a", WR_CRITICAL, WR_D_MISSING_REQUIRED_OUTPUT,
     false, false},
    {WR_S_COMPLETE, WR_NODE_STEP, WR_GUIDED, "a", WR_CRITICAL, WR_D_MISSING_REQUIRED_OUTPUT, true,
     false},
    {WR_S_COMPLETE, WR_NODE_STEP, WR_GUIDED, "b", WR_WARNING, WR_D_MISSING_REQUIRED_OUTPUT, false,
     false},
    {WR_S_INIT, WR_NODE_STEP, WR_GUIDED, NULL, 0, 0, false, false},
    {WR_S_RUNNING, WR_NODE_STEP, WR_NEVER_STOP, "b", WR_CRITICAL, WR_D_MISSING_REQUIRED_OUTPUT,
     false, true}};

static void check_status(int i, const struct status_case *c) {
    const char *id = kit_id("ST", i);
    enum wr_run_status status;
    log_create(&l, 2, "a", NULL, WR_NODE_STEP);
    log_put(&l, log_preferences("a", "0", c->on_root ? c->autonomy : WR_GUIDED, WR_CONSERVATIVE),
            STR_NONE);
    log_create(&l, 4, "b", "a", (enum wr_node_kind)c->kind);
    log_edge(&l, 5, "a", "b", WR_EDGE_ACKED);
    if (!c->on_root) log_put(&l, log_preferences("b", "1", c->autonomy, WR_CONSERVATIVE), STR_NONE);
    if (c->where != NULL)
        log_put(&l, log_gap(c->where, "1", (enum wr_severity)c->severity, c->detail, NULL),
                STR_NONE);
    if (c->resolved) log_put(&l, log_gap("b", "2", WR_INFO, c->detail, "1"), STR_NONE);
    cr_assert_eq(wr_run_status(l.s, 0, 1, c->tip, &status, &l.f), 0);
    kit_same(id, str_c(wr_run_status_name(status)), kit_code(id, 3, 0));
    again();
}

Test(workrail_projections, v_st_1_to_15_status_wr_163_wr_164, .init = up, .fini = down) {
    enum wr_run_status status;
    for (int i = 1; i <= 15; i++) check_status(i, &CASES[i - 1]);
    cr_assert_eq(wr_run_status(l.s, 0, WR_NO_NODE, WR_S_INIT, &status, &l.f), 0);
    cr_expect_eq(status, WR_IN_PROGRESS, "no node");
}

/* --- V-OUT, V-GP --- */

static void current_is(const char *id, const char *node, const char *want, size_t nr_want) {
    const struct wr_event **v;
    size_t nr, at = wr_session_node(l.s, log_node(node));
    cr_assert_eq(wr_node_outputs(l.s, at, nr_want > 1 ? WR_ARTIFACT : WR_RECAP, kit_a, &v, &nr), 0);
    cr_assert_eq(nr, nr_want, "%s has %zu", id, nr);
    kit_same(id, v[0]->u.output.output_id, arena_printf(kit_a, "out_%s", want));
}

Test(workrail_projections, v_out_1_to_5_current_outputs_wr_166, .init = up, .fini = down) {
    pt_2();
    log_put(&l, log_output("a", "o1", NULL, WR_RECAP), STR_NONE);
    log_put(&l, log_output("a", "o2", "o1", WR_RECAP), STR_NONE);
    current_is("V-OUT-1", "a", "o2", 1);
    cr_expect_eq(l.s->nodes[0].events.nr, 2, "V-OUT-1: the history stays");
    log_put(&l, log_output("a", "o3", "o2", WR_RECAP), STR_NONE);
    current_is("V-OUT-2", "a", "o3", 1);
    cr_expect(l.s->nodes[0].recap != NULL &&
              str_eqc(l.s->nodes[0].recap->u.output.output_id, "out_o3"));
    cr_expect_neq(log_try(&l, log_output("a", "o4", "o9", WR_RECAP), STR_NONE), 0, "V-OUT-3");
    cr_expect_eq(l.f.code, WR_PROJECTION_CORRUPTION_DETECTED, "V-OUT-3");
    again();
    pt_2();
    log_put(&l, log_output("a", "o1", NULL, WR_RECAP), STR_NONE);
    refused(log_output("b", "o2", "o1", WR_RECAP), STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED,
            "V-OUT-3: of another node");
    log_put(&l, log_output("a", "o1", NULL, WR_RECAP), STR_NONE);
    refused(log_output("a", "o2", "o1", WR_ARTIFACT), STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED,
            "V-OUT-3: of the other channel");
    log_put(&l, log_output("a", "o1", NULL, WR_RECAP), STR_NONE);
    refused(log_output("a", "o2", NULL, WR_RECAP), STR_NONE, WR_PROJECTION_CORRUPTION_DETECTED,
            "V-OUT-4");
    log_put(&l, log_output("a", "o1", NULL, WR_ARTIFACT), STR_NONE);
    log_put(&l, log_output("a", "o2", NULL, WR_ARTIFACT), STR_NONE);
    current_is("V-OUT-5", "a", "o1", 2);
}

Test(workrail_projections, v_gp_1_to_2_gaps_wr_167, .init = up, .fini = down) {
    struct wr_gap *gaps;
    size_t nr;
    pt_2();
    log_put(&l, log_gap("a", "g1", WR_CRITICAL, WR_D_NEEDS_USER_CHOICE, NULL), STR_NONE);
    cr_expect_neq(
        log_try(&l, log_gap("a", "g1", WR_CRITICAL, WR_D_NEEDS_USER_CHOICE, NULL), STR_NONE), 0,
        "V-GP-2: the key is known, so the store appends nothing");
    again();
    pt_2();
    log_put(&l, log_gap("a", "g1", WR_CRITICAL, WR_D_NEEDS_USER_CHOICE, NULL), STR_NONE);
    log_put(&l, log_gap("b", "g2", WR_INFO, WR_D_NEEDS_USER_CHOICE, "g1"), STR_NONE);
    cr_assert_eq(wr_run_gaps(l.s, 0, kit_a, &gaps, &nr), 0);
    cr_expect(nr == 2 && gaps[0].resolved && !gaps[1].resolved, "V-GP-1");
    cr_expect(str_eqc(gaps[0].event->u.gap.gap_id, "gap_g1"), "V-GP-1: sorted by index");
}

/* --- V-PF, V-CA --- */

Test(workrail_projections, v_pf_1_to_3_preferences_wr_168, .init = up, .fini = down) {
    log_create(&l, 2, "r", NULL, WR_NODE_STEP);
    struct wr_preferences p = wr_node_preferences(l.s, 0, INT64_MAX);
    cr_expect(p.autonomy == WR_GUIDED && p.risk == WR_CONSERVATIVE, "V-PF-3");
    log_put(&l, log_preferences("r", "0", WR_GUIDED, WR_BALANCED), STR_NONE);
    log_create(&l, 4, "c", "r", WR_NODE_STEP);
    log_put(&l, log_preferences("c", "1", WR_NEVER_STOP, WR_CONSERVATIVE), STR_NONE);
    log_create(&l, 6, "tip", "c", WR_NODE_STEP);
    log_create(&l, 7, "sibling", "r", WR_NODE_STEP);
    p = wr_node_preferences(l.s, 2, INT64_MAX);
    cr_expect(p.autonomy == WR_NEVER_STOP && p.risk == WR_CONSERVATIVE, "V-PF-1");
    p = wr_node_preferences(l.s, 3, INT64_MAX);
    cr_expect(p.autonomy == WR_GUIDED && p.risk == WR_BALANCED, "V-PF-2");
    p = wr_node_preferences(l.s, 2, 4);
    cr_expect(p.autonomy == WR_GUIDED && p.risk == WR_BALANCED, "as of an index (WR-141)");
}

static struct wr_event observation(const char *id, int provenance, int status) {
    struct wr_event e = log_blank(WR_CAPABILITY_OBSERVED, "a");
    e.u.capability.cap_obs_id = arena_printf(kit_a, "capobs_%s", id);
    e.u.capability.capability = WR_WEB_BROWSING;
    e.u.capability.provenance = provenance;
    e.u.capability.status = status;
    e.u.capability.failure_code = -1;
    e.u.capability.claim = status == WR_UNAVAILABLE;
    e.u.capability.probe_step_id = STR("probe");
    e.u.capability.probe_template_id = STR("wr.templates.capability_probe");
    return e;
}

Test(workrail_projections, v_ca_1_to_2_capabilities_wr_169, .init = up, .fini = down) {
    pt_2();
    log_put(&l, observation("1", WR_MANUAL_CLAIM, WR_AVAILABLE), STR_NONE);
    cr_expect_eq(wr_node_capability(l.s, 1, WR_WEB_BROWSING, false)->u.capability.status,
                 WR_AVAILABLE, "V-CA-2: shown, and inherited");
    cr_expect_null(wr_node_capability(l.s, 1, WR_WEB_BROWSING, true), "V-CA-2: not met");
    cr_expect_null(wr_node_capability(l.s, 1, WR_DELEGATION, false));
    log_put(&l, observation("2", WR_PROBE_STEP, WR_AVAILABLE), STR_NONE);
    log_put(&l, observation("3", WR_MANUAL_CLAIM, WR_UNAVAILABLE), STR_NONE);
    cr_expect_eq(wr_node_capability(l.s, 0, WR_WEB_BROWSING, false)->u.capability.status,
                 WR_UNAVAILABLE, "V-CA-1: shown");
    cr_expect_eq(wr_node_capability(l.s, 0, WR_WEB_BROWSING, true)->u.capability.status,
                 WR_AVAILABLE, "V-CA-1: for a requirement");
}

/* --- V-CX, V-CB --- */

static struct str canonical(struct str s) {
    struct str out;
    cr_assert_eq(wr_canonical(s, &JSON_LIMITS_STORED, kit_a, &out, NULL), 0);
    return out;
}

Test(workrail_projections, v_cx_1_to_9_merging_wr_172, .init = kit_up, .fini = kit_down) {
    for (int i = 1; i <= 9; i++) {
        const char *id = kit_id("CX", i);
        struct str stored = i == 6 ? STR_NONE : canonical(kit_code(id, 0, 0)), out;
        struct str delta = canonical(kit_code(id, 1, 0));
        struct wr_fault f = {0};
        bool changed;
        int rc = wr_context_merge(stored, delta, kit_a, &out, &changed, &f);
        if (i == 7) {
            cr_expect_neq(rc, 0);
            kit_same(id, str_c(wr_code_name(f.code)), kit_code(id, 2, 0));
            continue;
        }
        cr_assert_eq(rc, 0, "%s: %s", id, f.e.message);
        cr_expect_eq(changed, i != 5, "%s", id);
        kit_same(id, out, i == 5 ? stored : kit_code(id, 2, 0));
    }
}

static void bounded(const char *id, struct str raw, const char *kind) {
    struct str out;
    struct wr_fault f = {0};
    int rc = wr_context_check(raw, kit_a, &out, &f);
    if (kind == NULL) {
        cr_expect_eq(rc, 0, "%s: %s", id, f.e.message);
        return;
    }
    cr_expect_eq(f.code, WR_VALIDATION_ERROR, "%s", id);
    kit_same(id, json_string(json_get(str_c(f.e.details), "kind"), kit_a), str_c(kind));
}

Test(workrail_projections, v_cb_1_to_5_budget_of_contexts_wr_230, .init = kit_up,
     .fini = kit_down) {
    struct str full = kit_repeat("a", 262133, "{\"blob\":\""),
               over = kit_repeat("a", 262134, "{\"blob\":\""), out;
    full = arena_printf(kit_a, STR_FMT "\"}", STR_ARG(full));
    over = arena_printf(kit_a, STR_FMT "\"}", STR_ARG(over));
    bounded("V-CB-1", full, NULL);
    bounded("V-CB-2", over, "context_budget_exceeded");
    struct wr_fault f = {0};
    cr_expect_neq(wr_context_check(over, kit_a, &out, &f), 0);
    kit_same("V-CB-2", json_get(str_c(f.e.details), "measuredBytes"),
             kit_code("V-CB-2", 2, 1).n > 0 ? STR("262145") : STR(""));
    struct str quotes = kit_repeat("\\\"", 10, "{\"q\":\"");
    cr_assert_eq(
        wr_context_check(arena_printf(kit_a, STR_FMT "\"}", STR_ARG(quotes)), kit_a, &out, &f), 0);
    cr_expect_eq(out.n, 28, "V-CB-3 measures %zu", out.n);
    bounded("V-CB-4", STR("[1]"), "context_invalid_shape");
    bounded("V-CB-4", STR("\"x\""), "context_invalid_shape");
    bounded("V-CB-4", STR("null"), "context_invalid_shape");
    struct str deep = kit_repeat("[", 65, "{\"d\":"), shut = kit_repeat("]", 65, "");
    bounded("V-CB-5", arena_printf(kit_a, STR_FMT STR_FMT "}", STR_ARG(deep), STR_ARG(shut)),
            "context_too_deep");
    deep = kit_repeat("[", 64, "{\"d\":");
    shut = kit_repeat("]", 64, "");
    bounded("64", arena_printf(kit_a, STR_FMT STR_FMT "}", STR_ARG(deep), STR_ARG(shut)), NULL);
    bounded("1e400", STR("{\"n\":1e400}"), "context_non_finite_number");
}

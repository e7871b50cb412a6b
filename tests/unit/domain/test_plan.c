/* Plans: events are checked, redacted and folded before anything is written (E13, EVT-10, EVT-12).
 */
#include "fold_world.h"

#include "base/mem.h"
#include "codec/json.h"

static struct fold_world w;
static struct payload_rules *rules;
static struct plan *p;

static void plan_up(void) {
    struct wopr_error err = {0};
    cr_assert_eq(payload_rules_new(&rules, &err), 0, "%s", err.message);
    fw_up(&w, FW_PARALLEL, "{\"secret\":\"s3cret\"}");
    p = plan_new();
    cr_assert_not_null(p);
    p->what = PLAN_RUN;
}

static void plan_down(void) {
    plan_unref(p);
    fw_down(&w);
    payload_rules_free(rules);
}

TestSuite(plan, .init = plan_up, .fini = plan_down);

static int64_t add(enum ev_kind k, const char *node, struct str payload) {
    return plan_event(p, rules, w.s, k, str_c(node), -1, ++w.now_ms, payload);
}

static void start(void) {
    cr_assert_eq(add(EV_RUN_STARTED, "", pay_run_started(p->arena, w.s, STR("{}"))), 0);
}

static bool has_node(const char *id) {
    for (size_t i = 0; i < p->nodes_nr; i++)
        if (str_eqc(p->nodes[i].node_id, id)) return true;
    return false;
}

static const struct plan_var_row *var_row(const char *name) {
    for (size_t i = 0; i < p->vars_nr; i++)
        if (str_eqc(p->vars[i].name, name)) return &p->vars[i];
    return NULL;
}

/* The next plan of the same run. */
static void next_plan(void) {
    plan_unref(p);
    p = plan_new();
    p->what = PLAN_RUN;
    p->base_seq = w.s->next_seq;
}

Test(plan, events_get_consecutive_sequences_and_times_that_do_not_go_back /* EVT-2, EVT-3 */) {
    start();
    cr_expect_eq(
        add(EV_NODE_STARTED, "a", pay_node_started(p->arena, STR("a"), STR("core.noop"), 0)), 1);
    w.now_ms -= 100;
    cr_expect_eq(add(EV_NODE_COMPLETED, "a", pay_node_completed(p->arena, STR("a"), STR_NONE, 5)),
                 2);
    cr_expect_eq(p->events_nr, 3);
    for (size_t i = 0; i < p->events_nr; i++) {
        cr_expect_eq(p->events[i].seq, (int64_t)i);
        cr_expect_eq(p->events[i].schema_version, 1);
        cr_expect_eq(p->events[i].causation_seq, -1);
        if (i > 0) cr_expect_geq(p->events[i].ts_ms, p->events[i - 1].ts_ms);
    }
    cr_expect(str_eqc(p->events[1].type, "node.started"));
    cr_expect_eq(w.s->next_seq, 3);
    cr_expect_eq(w.s->nodes[0].status, NODE_COMPLETED);
}

Test(plan, the_first_failure_sticks /* EVT-12 */) {
    start();
    cr_expect_eq(add(EV_NODE_STARTED, "a", STR("{\"nodeId\":\"a\"}")), -1);
    cr_expect_eq(p->failed, WOPR_E_PAYLOAD_INVALID);
    cr_expect_eq(add(EV_NODE_STARTED, "a", pay_node_started(p->arena, STR("a"), STR("t"), 0)), -1);
    plan_fail(p, WOPR_E_INTERNAL, "later");
    plan_timer_set(p, TIMER_RETRY, STR("a"), 1, 0);
    plan_project(p, w.s, 0);
    cr_expect_eq(p->failed, WOPR_E_PAYLOAD_INVALID);
    cr_expect_eq(p->error.code, WOPR_E_PAYLOAD_INVALID);
    cr_expect_eq(p->events_nr, 1);
    cr_expect_eq(p->timers_nr, 0);
    cr_expect_not(p->has_update);
}

Test(plan, what_does_not_fit_the_state_is_not_planned /* R4 */) {
    cr_expect_eq(add(EV_NODE_STARTED, "a", pay_node_started(p->arena, STR("a"), STR("t"), 0)), -1);
    cr_expect_eq(p->failed, WOPR_E_CORRUPT);
    cr_expect_eq(p->events_nr, 0);
}

Test(plan, a_plan_of_another_tail_is_refused) {
    p->base_seq = 3;
    cr_expect_eq(add(EV_RUN_STARTED, "", STR("{\"workflowId\":\"w\"}")), -1);
    cr_expect_eq(p->failed, WOPR_E_STALE);
}

Test(plan, a_builder_without_memory_fails_the_plan) {
    mem_refused_by_library();
    cr_expect_eq(add(EV_RUN_STARTED, "", STR_NONE), -1);
    cr_expect_eq(p->failed, WOPR_E_NO_MEMORY);
}

Test(plan, a_builder_that_met_a_bound_says_so) {
    cr_expect_eq(add(EV_RUN_STARTED, "", STR_NONE), -1);
    cr_expect_eq(p->failed, WOPR_E_TOO_BIG, "the same again would fail again");
}

Test(plan, an_unknown_kind_is_never_written /* EVT-13 */) {
    cr_expect_eq(add(EV_UNKNOWN, "", STR("{}")), -1);
    cr_expect_eq(p->failed, WOPR_E_PAYLOAD_INVALID);
}

Test(plan, the_number_of_events_is_bounded) {
    start();
    for (int64_t i = 1; i < (int64_t)PLAN_EVENTS_MAX; i++)
        cr_assert_eq(add(EV_LOG_APPENDED, "", STR("{\"level\":\"info\",\"message\":\"m\"}")), i);
    cr_expect_eq(add(EV_LOG_APPENDED, "", STR("{\"level\":\"info\",\"message\":\"m\"}")), -1);
    cr_expect_eq(p->failed, WOPR_E_TOO_BIG);
    cr_expect_eq(p->events_nr, PLAN_EVENTS_MAX);
}

Test(plan, no_credential_reaches_the_log /* EVT-10, OBS-75, OBS-76 */) {
    w.s->options.credential_ref = STR("vault:ref-7");
    start();
    add(EV_LOG_APPENDED, "",
        pay_log(p->arena, "info", STR("sk-0123456789abcdef for vault:ref-7"), STR_NONE, STR_NONE));
    cr_assert_eq(p->failed, 0);
    cr_expect(str_eqc(p->events[1].payload,
                      "{\"level\":\"info\",\"message\":\"[REDACTED] for [REDACTED]\"}"));
}

/* --- projection --- */

Test(plan, a_projection_holds_what_changed_and_nothing_twice /* EVT-44 */) {
    start();
    add(EV_NODE_STARTED, "a", pay_node_started(p->arena, STR("a"), STR("core.noop"), 0));
    add(EV_VARIABLE_CHANGED, "a",
        pay_variable_changed(p->arena, STR("x"), STR("1"), STR("2"), STR("a")));
    plan_project(p, w.s, 0);
    cr_assert_eq(p->failed, 0, "%s", p->error.message);
    cr_expect(p->has_update);
    cr_expect_eq(p->update.status, RUN_RUNNING);
    cr_expect_eq(p->update.started_ms, FW_T0 + 1);
    cr_expect_eq(p->update.completed_ms, 0);
    cr_expect(has_node("a") && !has_node("b"));
    cr_expect(str_eqc(var_row("x")->value, "2"));
    next_plan();
    plan_project(p, w.s, 0);
    cr_expect_eq(p->nodes_nr + p->vars_nr + p->chans_nr, 0);
}

Test(plan, a_sensitive_variable_shows_its_event_and_nodes_read_the_clear_one /* OBS-71 */) {
    start();
    plan_project(p, w.s, 0);
    cr_expect_null(var_row("secret")); /* the run row was created with its mask */
    next_plan();
    struct str shown = STR("\"sha256:digest\"");
    int64_t seq =
        plan_event_masked(p, rules, w.s, EV_VARIABLE_CHANGED, STR("a"), -1, w.now_ms,
                          pay_variable_changed(p->arena, STR("secret"), STR_NONE, shown, STR("a")),
                          STR("{\"next\":\"fresh\"}"));
    cr_assert(seq >= 0, "%s", p->error.message);
    plan_project(p, w.s, 0);
    cr_expect(str_eqc(var_row("secret")->value, "\"sha256:digest\""));
    cr_expect(str_eqc(text_str(&run_state_var(w.s, STR("secret"))->value), "\"fresh\""));
    cr_expect_eq(p->events[p->events_nr - 1].flags, EVENT_MASKED);
}

static void append(const char *channel, int n) {
    char value[16];
    snprintf(value, sizeof value, "%d", n);
    add(EV_CHANNEL_WRITTEN, "",
        pay_channel_written(p->arena, str_c(channel), str_c(value), "append", w.now_ms, STR_NONE,
                            1));
}

/* A table keyed by (channel, seq), as the store keeps it. */
static struct {
    int64_t seq[64];
    char value[64][16];
    size_t n;
} table;

static void table_apply(const char *channel) {
    for (size_t i = 0; i < p->chans_nr; i++) {
        const struct plan_chan_row *r = &p->chans[i];
        if (!str_eqc(r->name, channel)) continue;
        cr_expect(r->declared);
        if (r->op == PLAN_CHAN_PUT) {
            table.seq[table.n] = r->seq;
            snprintf(table.value[table.n++], 16, STR_FMT, STR_ARG(r->value));
            continue;
        }
        size_t k = 0;
        while (k < table.n && table.seq[k] != r->seq) k++;
        cr_assert_lt(k, table.n, "an entry is deleted that was never put");
        memmove(&table.seq[k], &table.seq[k + 1], (table.n - k - 1) * sizeof table.seq[0]);
        memmove(&table.value[k], &table.value[k + 1], (table.n - k - 1) * sizeof table.value[0]);
        table.n--;
    }
}

Test(plan, channel_rows_follow_the_fold /* CHAN-8, EVT-41 */) {
    start();
    for (int batch = 1, n = 0; batch <= 6;
         batch++) { /* some batches drop what they put themselves */
        for (int i = 0; i < batch; i++) append("last3", n++);
        plan_project(p, w.s, 0);
        cr_assert_eq(p->failed, 0, "%s", p->error.message);
        table_apply("last3");
        const struct chan_state *c = run_state_chan(w.s, STR("last3"));
        cr_assert_eq(table.n, c->n);
        for (size_t i = 0; i < c->n; i++) {
            cr_expect_eq(table.seq[i], c->v[i].seq);
            cr_expect(str_eqc(text_str(&c->v[i].value), table.value[i]));
        }
        next_plan();
    }
}

Test(plan, a_value_channel_has_one_row /* CHAN-9 */) {
    start();
    for (int i = 0; i < 3; i++) {
        add(EV_CHANNEL_WRITTEN, "",
            pay_channel_written(p->arena, STR("sum"), STR("2"), "counter", w.now_ms, STR("a"), 1));
        plan_project(p, w.s, 0);
        table_apply("sum");
        cr_assert_eq(table.n, 1);
        next_plan();
    }
    cr_expect_str_eq(table.value[0], "6");
}

Test(plan, the_projected_run_is_the_folded_log /* EVT-41 */) {
    start();
    add(EV_NODE_STARTED, "a", pay_node_started(p->arena, STR("a"), STR("core.noop"), 0));
    append("log", 1);
    add(EV_NODE_SUSPENDED, "a", pay_node_suspended(p->arena, STR("a"), STR("i"), "approval", NULL));
    plan_project(p, w.s, 17);
    cr_assert_eq(p->failed, 0, "%s", p->error.message);
    cr_expect_eq(p->update.status, RUN_WAITING_APPROVAL);
    cr_expect(str_eqc(p->update.current_node, "a"));
    cr_expect_eq(p->update.paused_ms, 17);
    struct run_state *again = fw_state(w.wf, "{\"secret\":\"s3cret\"}");
    for (size_t i = 0; i < p->events_nr; i++)
        cr_assert_eq(run_state_apply(again, &p->events[i], &w.err), 0, "%s", w.err.message);
    char *x = fw_text(w.s), *y = fw_text(again);
    cr_expect_str_eq(x, y);
    mem_free(x);
    mem_free(y);
    run_state_free(again);
}

/* --- the rest of a plan --- */

Test(plan, timers_and_artifacts_are_copied) {
    char id[] = "art";
    const struct plan_artifact art = {
        .artifact_id = str_c(id), .artifact_type = STR("t"), .body = STR("{}")};
    plan_timer_set(p, TIMER_NODE_WAIT, STR("a"), 99, 7);
    plan_timer_clear(p, TIMER_RETRY, STR("b"));
    plan_artifact(p, &art);
    id[0] = 'X';
    cr_expect(p->timers[0].set && p->timers[0].fire_at_ms == 99 && p->timers[0].remaining_ms == 7);
    cr_expect(!p->timers[1].set && str_eqc(p->timers[1].node_id, "b"));
    cr_expect(str_eqc(p->artifacts[0].artifact_id, "art"));
}

Test(plan, a_shared_plan_lives_until_its_last_reader) {
    start();
    struct plan *reader = plan_ref(p);
    plan_unref(p);
    cr_expect(str_eqc(reader->events[0].type, "run.started"));
    plan_unref(NULL);
}

/* --- payload builders --- */

struct built {
    enum ev_kind kind;
    struct str have;
    const char *want;
};

Test(plan, builders_write_the_keys_of_the_contract /* 1.3, D26, D36 */) {
    struct arena *a = p->arena;
    const struct plan_artifact art = {
        .artifact_id = STR("a"), .artifact_type = STR("t"), .version = STR("1")};
    const struct str none = STR_NONE, n = STR("n");
    const struct str error =
        err_json(a, STR("x"), STR(""), STR("{\"k\":\"sk-0123456789abcdef\"}"), 0);
    const struct built ROWS[] = {
        {EV_RUN_STARTED, pay_run_started(a, w.s, STR("{\"x\":1}")),
         "{\"workflowId\":\"parallel\",\"inputs\":{\"x\":1},\"transport\":\"rest\","
         "\"engineVersion\":\"1\",\"tags\":[\"t\"]}"},
        {EV_RUN_COMPLETED, pay_run_completed(a, none, -1), "{\"outputs\":{},\"durationMs\":0}"},
        {EV_RUN_FAILED, pay_run_failed(a, error, n, 3),
         "{\"error\":{\"code\":\"x\",\"message\":\"x\",\"details\":{\"k\":\"[REDACTED]\"},"
         "\"retryable\":false},\"failedNodeId\":\"n\",\"durationMs\":3}"},
        {EV_RUN_CANCELLED, pay_run_cancelled(a, STR("r"), STR("system"), 1),
         "{\"reason\":\"r\",\"cancelledBy\":\"system\",\"durationMs\":1}"},
        {EV_RUN_PAUSED, pay_run_paused(a, STR("r"), STR("immediate"), n, 0),
         "{\"reason\":\"r\",\"drainPolicy\":\"immediate\",\"interruptedNodeId\":\"n\","
         "\"interruptedAttempt\":1}"},
        {EV_RUN_PAUSED, pay_run_paused(a, none, STR("immediate"), none, 0),
         "{\"drainPolicy\":\"immediate\"}"},
        {EV_RUN_RESUMED, pay_reason(a, none), "{}"},
        {EV_RUN_RESUMING, pay_run_resuming(a), "{\"fromStatus\":\"paused\"}"},
        {EV_NODE_STARTED, pay_node_started(a, n, STR("t"), 2),
         "{\"nodeId\":\"n\",\"typeId\":\"t\",\"attempt\":2}"},
        {EV_NODE_COMPLETED, pay_node_completed(a, n, STR("{\"o\":1.0}"), 4),
         "{\"nodeId\":\"n\",\"outputs\":{\"o\":1.0},\"durationMs\":4}"},
        {EV_NODE_FAILED, pay_node_failed(a, n, STR("{\"code\":\"c\",\"message\":\"m\"}"), 2),
         "{\"nodeId\":\"n\",\"error\":{\"code\":\"c\",\"message\":\"m\"},\"attempts\":2}"},
        {EV_NODE_RETRIED, pay_node_retried(a, n, 1, 250, none),
         "{\"nodeId\":\"n\",\"attempt\":1,\"delayMs\":250}"},
        {EV_NODE_SKIPPED, pay_node_reason(a, n, "disabled"),
         "{\"nodeId\":\"n\",\"reason\":\"disabled\"}"},
        {EV_NODE_SUSPENDED, pay_node_suspended(a, n, STR("i"), NULL, "pause-drain"),
         "{\"nodeId\":\"n\",\"interruptId\":\"i\",\"reason\":\"pause-drain\"}"},
        {EV_NODE_RESUMED, pay_node_resumed(a, n, STR("i"), STR("null")),
         "{\"nodeId\":\"n\",\"interruptId\":\"i\",\"resumeValue\":null}"},
        {EV_CHANNEL_WRITTEN, pay_channel_written(a, STR("c"), STR("1"), "append", 1500, n, 0),
         "{\"channel\":\"c\",\"value\":1,\"reducer\":\"append\","
         "\"writtenAt\":\"1970-01-01T00:00:01.500Z\",\"nodeId\":\"n\"}"},
        {EV_VARIABLE_CHANGED, pay_variable_changed(a, STR("v"), none, STR("1"), none),
         "{\"name\":\"v\",\"next\":1}"},
        {EV_LOG_APPENDED, pay_log(a, "warn", STR("m\n"), n, STR("{}")),
         "{\"level\":\"warn\",\"message\":\"m\\n\",\"nodeId\":\"n\",\"fields\":{}}"},
        {EV_OUTPUT_CHUNK, pay_chunk(a, n, STR("t"), -1, none),
         "{\"nodeId\":\"n\",\"chunk\":\"t\"}"},
        {EV_OUTPUT_CHUNK, pay_chunk(a, n, STR(""), 1, STR("{\"model\":\"m\"}")),
         "{\"nodeId\":\"n\",\"chunk\":\"\",\"isLast\":true,\"meta\":{\"model\":\"m\"}}"},
        {EV_CAP_BREACHED, pay_cap(a, "node-executions", 3, 4, n),
         "{\"kind\":\"node-executions\",\"limit\":3,\"observed\":4,\"nodeId\":\"n\"}"},
        {EV_LOOPBACK_LIMIT, pay_loopback_limit(a, n, 6, 5),
         "{\"nodeId\":\"n\",\"iterations\":6,\"limit\":5}"},
        {EV_ARTIFACT_CREATED, pay_artifact(a, &art),
         "{\"artifactId\":\"a\",\"artifactType\":\"t\",\"version\":\"1\"}"},
        {EV_WORKFLOW_RESTORED, pay_restored(a, 4),
         "{\"fromSnapshotSeq\":4,\"engineVersion\":\"1\"}"},
        {EV_LEASE_ACQUIRED, pay_lease(a, STR("l"), STR("i"), 1500, true),
         "{\"leaseId\":\"l\",\"host\":\"cloud\",\"instanceId\":\"i\","
         "\"expiresAt\":\"1970-01-01T00:00:01.500Z\",\"previousHost\":\"cloud\"}"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct wopr_error err = {0};
        cr_expect(str_eqc(ROWS[i].have, ROWS[i].want), STR_FMT, STR_ARG(ROWS[i].have));
        cr_expect_eq(payload_check(rules, ROWS[i].kind, ROWS[i].have, &err), 0, "%s: %s",
                     event_name(ROWS[i].kind), err.message);
    }
}

/* The fold of run and node events: 20-runtime 1.4, 1.5, 10-http-core 5.3. */
#include "fold_world.h"

#include "base/fault.h"
#include "base/mem.h"

static struct fold_world w;

static void parallel_up(void) { fw_up(&w, FW_PARALLEL, "{}"); }
static void chain_up(void) { fw_up(&w, FW_CHAIN, "{}"); }
static void world_down(void) { fw_down(&w); }

static const struct node_state *node(const char *id) {
    return &w.s->nodes[workflow_node_index(w.wf, str_c(id))];
}

static const char *current(void) {
    return w.s->current_node < 0 ? "" : w.wf->nodes[w.s->current_node].id.p;
}

/* Skip or end whatever has not ended, so that the run may end. */
static void finish_nodes(void) {
    static const char *const IDS[] = {"a", "b", "c", "t"};
    for (size_t i = 0; i < w.wf->nodes_nr; i++)
        if (node(IDS[i])->status == NODE_PENDING) fw_node(&w, EV_NODE_SKIPPED, IDS[i]);
}

static void suspend(const char *id, const char *more) {
    char payload[256];
    snprintf(payload, sizeof payload, "{\"nodeId\":\"%s\",\"interruptId\":\"i-%s\"%s}", id, id,
             more);
    fw_take(&w, EV_NODE_SUSPENDED, id, payload);
}

/* --- tables --- */

Test(fold_table, a_finished_run_takes_no_event /* EVT-7, RUN-16 */) {
    for (int st = 0; st < RUN_STATUS_NR; st++)
        for (int k = 0; k < EV_NR && run_status_final((enum run_status)st); k++)
            cr_expect_eq(run_edge((enum run_status)st, (enum ev_kind)k), -1, "%s takes %s",
                         run_status_name((enum run_status)st), event_name((enum ev_kind)k));
}

Test(fold_table, every_kind_has_a_place_and_no_other_end_is_reached /* EVT-7 */) {
    for (int k = 0; k < EV_NR; k++) {
        bool taken = false;
        for (int st = 0; st < RUN_STATUS_NR; st++) {
            int to = run_edge((enum run_status)st, (enum ev_kind)k);
            taken = taken || to >= 0;
            if (to < 0) continue;
            cr_expect_eq(run_status_final((enum run_status)to), event_is_terminal((enum ev_kind)k),
                         "%s leads to %s", event_name((enum ev_kind)k),
                         run_status_name((enum run_status)to));
        }
        cr_expect(taken, "%s has no row", event_name((enum ev_kind)k));
    }
}

Test(fold_table, the_moves_are_those_of_the_contract /* 10-http-core 5.3, RUN-17 */) {
    static const struct {
        enum run_status from;
        enum ev_kind kind;
        int to;
    } ROWS[] = {
        {RUN_PENDING, EV_RUN_STARTED, RUN_RUNNING},
        {RUN_RUNNING, EV_RUN_STARTED, -1},
        {RUN_PENDING, EV_RUN_PAUSED, RUN_PAUSED},
        {RUN_RUNNING, EV_RUN_PAUSED, RUN_PAUSED},
        {RUN_WAITING_APPROVAL, EV_RUN_PAUSED, -1}, /* WF-52 */
        {RUN_PAUSED, EV_RUN_RESUMED, RUN_RUNNING},
        {RUN_RUNNING, EV_RUN_RESUMED, RUN_RUNNING}, /* STORE-38 */
        {RUN_PAUSED, EV_NODE_STARTED, -1},
        {RUN_PAUSED, EV_RUN_COMPLETED, -1},
        {RUN_PAUSED, EV_RUN_FAILED, -1},
        {RUN_PAUSED, EV_RUN_CANCELLED, RUN_CANCELLED},
        {RUN_WAITING_INPUT, EV_RUN_FAILED, RUN_FAILED},
        {RUN_WAITING_INPUT, EV_RUN_COMPLETED, -1},
        {RUN_CANCELLING, EV_RUN_CANCELLED, RUN_CANCELLED},
        {RUN_PENDING, EV_NODE_STARTED, -1},
        {RUN_PENDING, EV_UNKNOWN, RUN_PENDING},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        cr_expect_eq(run_edge(ROWS[i].from, ROWS[i].kind), ROWS[i].to, "%s, %s",
                     run_status_name(ROWS[i].from), event_name(ROWS[i].kind));
}

Test(fold_table, status_names_are_the_wire_words /* EVT-42, EVT-45 */) {
    cr_expect_str_eq(run_status_name(RUN_WAITING_APPROVAL), "waiting-approval");
    cr_expect_str_eq(run_status_name(RUN_STATUS_NR), "unknown");
    cr_expect_str_eq(node_status_name(NODE_SUSPENDED), "suspended");
    cr_expect_str_eq(node_status_name(NODE_STATUS_NR), "unknown");
}

/* --- a fresh state --- */

Test(fold, variables_are_defaults_overlaid_by_declared_inputs /* WF-17, WF-19, EVT-11 */) {
    fw_up(&w, FW_CHAIN, "{\"secret\":\"s\",\"x\":2.50,\"nobody\":1}");
    cr_expect(str_eqc(text_str(&run_state_var(w.s, STR("x"))->value), "2.50"));
    cr_expect(run_state_var(w.s, STR("secret"))->sensitive);
    cr_expect_null(run_state_var(w.s, STR("nobody")));
    cr_expect_null(run_state_var(w.s, STR("unset")));
    cr_expect_null(run_state_broken(w.s));
    fw_down(&w);
    fw_up(&w, FW_CHAIN, "");
    cr_expect(str_eqc(text_str(&run_state_var(w.s, STR("x"))->value), "1"));
    fw_down(&w);
}

Test(fold, broken_inputs_of_a_stored_run_are_refused) {
    struct workflow *wf = fw_compile(FW_CHAIN);
    const struct run_meta meta = {.run_id = STR(FW_RUN_ID), .inputs = STR("{\"x\":")};
    struct run_state *s = NULL;
    struct wopr_error err = {0};
    cr_expect_neq(run_state_new(wf, &meta, &RUN_LIMITS_DEFAULT, &s, &err), 0);
    cr_expect_null(s);
    workflow_unref(wf);
}

Test(fold, a_state_keeps_the_memory_that_it_uses) {
    struct buf inputs;
    buf_init(&inputs, 8000);
    buf_addz(&inputs, "{\"x\":\"");
    for (int i = 0; i < 3000; i++) buf_addz(&inputs, "y");
    buf_addz(&inputs, "\"}");
    const char *const given[] = {"", "{\"x\":2}", buf_str(&inputs).p};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        fw_up(&w, FW_CHAIN, given[i]);
        fw_start(&w);
        size_t used = arena_used(w.s->arena), block = mem_size(w.s->arena);
        cr_expect(block <= used + 512, "%zu bytes for %zu", block, used);
        cr_expect(used <= block, "a second block: %zu bytes in %zu", used, block);
        fw_down(&w);
    }
    buf_fini(&inputs);
}

/* --- ends --- */

Test(fold, a_completed_run /* EVT-20, WF-15 */, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    for (const char *id = "abc"; *id; id++) {
        char name[2] = {*id, '\0'};
        fw_node(&w, EV_NODE_STARTED, name);
        cr_expect_eq(w.s->counts.running, 1);
        fw_node(&w, EV_NODE_COMPLETED, name);
    }
    fw_take(&w, EV_RUN_COMPLETED, "", "{\"outputs\":{\"c\":{\"o\":\"c\"}},\"durationMs\":7}");
    cr_expect_eq(w.s->status, RUN_COMPLETED);
    cr_expect_eq(w.s->clock.started_ms, FW_T0 + 1);
    cr_expect_eq(w.s->clock.completed_ms, w.now_ms);
    cr_expect_eq(w.s->started_count, 3);
    cr_expect(str_eqc(text_str(&w.s->outputs), "{\"c\":{\"o\":\"c\"}}"));
    cr_expect(str_eqc(text_str(&node("b")->outputs), "{\"o\":\"b\"}"));
    cr_expect_eq(node("b")->terminal_n, 1); /* D56 */
    cr_expect_eq(fw_event(&w, EV_LOG_APPENDED, "", "{}"), WOPR_E_CORRUPT);
}

Test(fold, a_failed_run_has_a_closed_error /* EVT-22, NODE-12 */, .init = chain_up,
     .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_take(&w, EV_NODE_FAILED, "a",
            "{\"nodeId\":\"a\",\"error\":{\"code\":\"x\",\"message\":\"m\",\"retryable\":false}}");
    finish_nodes();
    fw_take(
        &w, EV_RUN_FAILED, "",
        "{\"error\":{\"retryable\":false,\"message\":\"m\",\"details\":{\"k\":1},\"code\":\"x\"}}");
    cr_expect(
        str_eqc(text_str(&w.s->error), "{\"code\":\"x\",\"message\":\"m\",\"details\":{\"k\":1}}"));
    cr_expect_eq(node("a")->status, NODE_FAILED);
    cr_expect(str_eqc(text_str(&node("a")->error),
                      "{\"code\":\"x\",\"message\":\"m\",\"retryable\":false}"));
}

Test(fold, a_refusal_before_the_start_fails_without_node_started /* EVT-24 */, .init = parallel_up,
     .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_FAILED, "a");
    cr_expect_eq(w.s->started_count, 0);
    finish_nodes();
    fw_take(&w, EV_RUN_FAILED, "", "{\"error\":{\"code\":\"x\",\"message\":\"m\"}}");
}

Test(fold, a_cancelled_run /* EVT-30 */, .init = parallel_up, .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_node(&w, EV_NODE_STARTED, "b");
    suspend("b", ",\"kind\":\"approval\"");
    fw_node(&w, EV_NODE_CANCELLED, "a");
    fw_node(&w, EV_NODE_CANCELLED, "b");
    fw_take(&w, EV_RUN_CANCELLED, "", "{\"cancelledBy\":\"system\"}");
    cr_expect_eq(w.s->status, RUN_CANCELLED);
    cr_expect_eq(w.s->counts.suspended, 0);
}

Test(fold, a_pending_run_can_be_cancelled, .init = chain_up, .fini = world_down) {
    fw_take(&w, EV_RUN_CANCELLED, "", "{}");
    cr_expect_eq(w.s->clock.started_ms, 0);
}

Test(fold, a_run_does_not_end_while_a_node_runs /* R2 */, .init = parallel_up, .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    cr_expect_eq(fw_event(&w, EV_RUN_COMPLETED, "", "{}"), WOPR_E_CORRUPT);
}

Test(fold, the_execution_cap_ends_the_run /* EVT-25 */, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    fw_take(&w, EV_CAP_BREACHED, "a",
            "{\"kind\":\"node-executions\",\"limit\":0,\"observed\":1,\"nodeId\":\"a\"}");
    cr_expect(w.s->cap_breached);
    fw_take(&w, EV_RUN_FAILED, "",
            "{\"error\":{\"code\":\"recursion_limit_exceeded\",\"message\":\"m\"}}");
}

/* --- retry, suspension, pause --- */

Test(fold, a_retry_waits_and_starts_the_next_attempt /* EVT-23, D36 */, .init = parallel_up,
     .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_take(&w, EV_OUTPUT_CHUNK, "a", "{\"nodeId\":\"a\",\"chunk\":\"x\"}");
    fw_take(&w, EV_LOG_APPENDED, "a", "{\"level\":\"info\",\"message\":\"m\"}");
    fw_take(&w, EV_LOG_APPENDED, "", "{\"level\":\"info\",\"message\":\"m\"}");
    cr_expect_eq(node("a")->effects, 2);
    cr_expect_eq(node("a")->chunks, 1);
    fw_take(&w, EV_NODE_RETRIED, "a", "{\"nodeId\":\"a\",\"attempt\":1,\"delayMs\":250}");
    cr_expect_eq(node("a")->status, NODE_PENDING);
    cr_expect_eq(node("a")->retry_at_ms, w.now_ms + 250);
    cr_expect_eq(w.s->counts.retry, 1);
    cr_expect_eq(w.s->counts.running, 0);
    cr_expect_eq(sched_next_retry_ms(w.s), w.now_ms + 250);
    fw_take(&w, EV_NODE_STARTED, "a", "{\"nodeId\":\"a\",\"typeId\":\"core.noop\"}");
    cr_expect_eq(node("a")->attempt, 1);
    cr_expect_eq(node("a")->effects, 0);
    cr_expect_eq(w.s->counts.retry, 0);
    cr_expect_eq(w.s->started_count, 2);
}

Test(fold, a_suspension_shows_its_kind /* INT-12, EVT-14 b */) {
    static const struct {
        const char *more;
        enum run_status want;
    } ROWS[] = {
        {",\"kind\":\"approval\"", RUN_WAITING_APPROVAL},
        {",\"kind\":\"clarification\"", RUN_WAITING_INPUT},
        {",\"kind\":\"external-event\"", RUN_WAITING_EXTERNAL},
        {",\"kind\":\"custom\"", RUN_WAITING_INPUT},
        {",\"reason\":\"low-confidence\"", RUN_WAITING_APPROVAL},
        {",\"reason\":\"conversation-input\"", RUN_WAITING_APPROVAL},
        {",\"kind\":\"clarification\",\"reason\":\"child-suspended\"", RUN_WAITING_INPUT},
        {",\"reason\":\"child-suspended\"", RUN_WAITING_APPROVAL},
        {"", RUN_WAITING_INPUT},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fw_up(&w, FW_PARALLEL, "{}");
        fw_start(&w);
        fw_node(&w, EV_NODE_STARTED, "a");
        suspend("a", ROWS[i].more);
        cr_expect_eq(w.s->status, ROWS[i].want, "%s", ROWS[i].more);
        cr_expect_str_eq(current(), "a");
        fw_node(&w, EV_NODE_RESUMED, "a");
        cr_expect_eq(w.s->status, RUN_RUNNING);
        cr_expect_str_eq(current(), "");
        fw_down(&w);
    }
}

Test(fold, of_several_suspensions_approval_comes_first_then_the_earliest /* INT-12 */,
     .init = parallel_up, .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_node(&w, EV_NODE_STARTED, "b");
    fw_node(&w, EV_NODE_STARTED, "c");
    suspend("a", ",\"kind\":\"external-event\"");
    suspend("c", ",\"kind\":\"approval\"");
    suspend("b", ",\"kind\":\"approval\"");
    cr_expect_eq(w.s->status, RUN_WAITING_APPROVAL);
    cr_expect_str_eq(current(), "c");
    fw_node(&w, EV_NODE_RESUMED, "c");
    cr_expect_str_eq(current(), "b");
    fw_node(&w, EV_NODE_FAILED, "b"); /* EVT-29: time-out */
    cr_expect_eq(w.s->status, RUN_WAITING_EXTERNAL);
    cr_expect_str_eq(current(), "a");
}

Test(fold, a_drained_delay_leaves_the_run_running /* WF-44, EVT-43 */, .init = parallel_up,
     .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    suspend("a", ",\"reason\":\"pause-drain\"");
    cr_expect_eq(w.s->status, RUN_RUNNING);
    cr_expect_str_eq(current(), "");
    cr_expect(node("a")->pause_drained);
    fw_take(&w, EV_RUN_PAUSED, "", "{\"drainPolicy\":\"drain-current-node\"}");
    cr_expect_eq(w.s->status, RUN_PAUSED);
    fw_take(&w, EV_RUN_RESUMING, "", "{\"fromStatus\":\"paused\"}");
    fw_take(&w, EV_RUN_RESUMED, "", "{}");
    fw_node(&w, EV_NODE_RESUMED, "a");
    cr_expect_not(node("a")->pause_drained);
    cr_expect_eq(node("a")->status, NODE_RUNNING);
}

Test(fold, an_immediate_pause_cuts_the_attempt /* D37 */, .init = parallel_up, .fini = world_down) {
    struct sched_action next;
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_take(&w, EV_RUN_PAUSED, "", "{\"interruptedNodeId\":\"a\",\"interruptedAttempt\":1}");
    cr_expect_eq(w.s->counts.running, 0);
    fw_take(&w, EV_RUN_RESUMED, "", "{}");
    sched_next(w.s, w.now_ms + 1, &next);
    cr_expect_eq(next.what, SCHED_START);
    fw_take(&w, EV_NODE_STARTED, "a", "{\"nodeId\":\"a\",\"typeId\":\"core.noop\"}");
    cr_expect_eq(node("a")->attempt, 1);
}

Test(fold, a_run_paused_before_its_start_is_pending_again, .init = chain_up, .fini = world_down) {
    fw_take(&w, EV_RUN_PAUSED, "", "{}");
    fw_take(&w, EV_RUN_RESUMED, "", "{}");
    cr_expect_eq(w.s->status, RUN_PENDING);
    fw_start(&w);
    cr_expect_eq(w.s->clock.waited_ms, 0);
}

Test(fold, only_running_time_counts_for_the_timeout /* WF-23 */, .init = parallel_up,
     .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    suspend("a", ",\"kind\":\"approval\"");
    w.now_ms += 999;
    fw_node(&w, EV_NODE_RESUMED, "a");
    cr_expect_eq(w.s->clock.waited_ms, 1000);
    fw_take(&w, EV_RUN_PAUSED, "", "{}");
    w.now_ms += 99;
    fw_take(&w, EV_RUN_RESUMED, "", "{}");
    cr_expect_eq(w.s->clock.waited_ms, 1100);
    cr_expect_eq(w.s->clock.wait_since_ms, 0);
}

Test(fold, a_loop_starts_a_fresh_activation /* WF-13 */) {
    fw_up(&w, FW_LOOP, "{}");
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_node(&w, EV_NODE_COMPLETED, "a");
    fw_node(&w, EV_NODE_STARTED, "b");
    fw_node(&w, EV_NODE_COMPLETED, "b");
    cr_expect_eq(node("a")->activation, 1);
    fw_node(&w, EV_NODE_STARTED, "a");
    cr_expect_eq(node("a")->outputs.n, 0);
    cr_expect_eq(node("a")->attempt, 0);
    fw_node(&w, EV_NODE_COMPLETED, "a");
    cr_expect_eq(node("a")->terminal_n, 2); /* D56 */
    cr_expect_eq(w.s->started_count, 3);
    fw_down(&w);
}

Test(fold, a_node_ends_once_per_activation /* R5 */, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_node(&w, EV_NODE_COMPLETED, "a");
    cr_expect_eq(fw_event(&w, EV_NODE_COMPLETED, "a", "{}"), WOPR_E_CORRUPT);
}

/* --- what is no fact of this run --- */

Test(fold, unknown_kinds_and_members_are_counted_only /* GEN-5, EVT-13 */, .init = chain_up,
     .fini = world_down) {
    fw_take(&w, EV_UNKNOWN, "nobody", "not even JSON");
    fw_take(&w, EV_RUN_STARTED, "", "{\"workflowId\":\"w\",\"new\":[1]}");
    cr_expect_eq(w.s->next_seq, 2);
    cr_expect_eq(w.s->status, RUN_RUNNING);
}

Test(fold, a_log_that_can_not_be_is_refused) {
    static const struct {
        enum ev_kind kind;
        const char *node, *payload;
    } BAD[] = {
        {EV_RUN_STARTED, "", "{}"},
        {EV_NODE_STARTED, "", "{\"nodeId\":\"a\"}"},
        {EV_NODE_STARTED, "nobody", "{}"},
        {EV_NODE_STARTED, "a", "{\"attempt\":-1}"},
        {EV_NODE_STARTED, "a", "[]"},
        {EV_NODE_STARTED, "a", "{"},
        {EV_NODE_COMPLETED, "a", "{}"},
        {EV_NODE_RESUMED, "a", "{}"},
        {EV_NODE_COMPLETED, "b", "{\"outputs\":1}"},
        {EV_NODE_FAILED, "b", "{}"},
        {EV_NODE_STARTED, "b", "{}"},
        {EV_NODE_SKIPPED, "b", "{}"},
        {EV_NODE_RETRIED, "b", "{\"attempt\":1,\"delayMs\":-5}"},
        {EV_RUN_FAILED, "", "{\"error\":{\"code\":\"x\",\"message\":\"m\"}}"},
        {EV_VARIABLE_CHANGED, "", "{}"},
        {EV_CHANNEL_WRITTEN, "", "{\"channel\":\"c\",\"reducer\":\"append\"}"},
        {EV_CHANNEL_WRITTEN, "", "{\"channel\":\"doc\",\"reducer\":\"merge\",\"value\":1}"},
        {EV_CHANNEL_WRITTEN, "", "{\"channel\":\"sum\",\"reducer\":\"counter\",\"value\":\"1\"}"},
        {EV_RUN_PAUSED, "", "{\"interruptedNodeId\":\"a\"}"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fw_up(&w, FW_PARALLEL, "{}");
        fw_start(&w);
        fw_node(&w, EV_NODE_STARTED, "b");
        cr_expect_eq(fw_event(&w, BAD[i].kind, BAD[i].node, BAD[i].payload), WOPR_E_CORRUPT,
                     "%s %s", event_name(BAD[i].kind), BAD[i].payload);
        fw_down(&w);
    }
}

Test(fold, the_next_sequence_only /* EVT-2 */, .init = chain_up, .fini = world_down) {
    for (int64_t seq = -1; seq < 3; seq += 2) {
        struct event e = {.seq = seq, .kind = EV_RUN_STARTED, .ts_ms = 1, .payload = STR("{}")};
        cr_expect_eq(run_state_apply(w.s, &e, &w.err), WOPR_E_CORRUPT);
    }
}

Test(fold, a_time_that_goes_back_is_lifted, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    int64_t last = w.s->last_ts_ms;
    w.now_ms = 5;
    fw_node(&w, EV_NODE_STARTED, "a");
    cr_expect_eq(w.s->last_ts_ms, last);
    cr_expect_eq(node("a")->started_ms, last);
}

/* --- variables, agents, node states --- */

Test(fold, a_variable_takes_its_next_value /* 1.5 */, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    fw_take(&w, EV_VARIABLE_CHANGED, "", "{\"name\":\"x\",\"next\":{\"n\":1.0}}");
    fw_take(&w, EV_VARIABLE_CHANGED, "", "{\"name\":\"n\\u0065w\",\"next\":[]}");
    cr_expect(str_eqc(text_str(&run_state_var(w.s, STR("x"))->value), "{\"n\":1.0}"));
    cr_expect(str_eqc(text_str(&run_state_var(w.s, STR("new"))->value), "[]"));
}

Test(fold, the_agent_is_the_last_one_in_charge /* 1.5 */, .init = chain_up, .fini = world_down) {
    fw_start(&w);
    fw_take(&w, EV_AGENT_HANDOFF, "", "{\"fromAgentId\":\"abc\",\"toAgentId\":\"d\\\"ef\"}");
    cr_expect(str_eqc(text_str(&w.s->agent), "{\"agentId\":\"d\\\"ef\"}"));
}

Test(fold, a_node_state_is_shown_as_the_contract_says /* EVT-45 */, .init = chain_up,
     .fini = world_down) {
    struct buf b;
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
    fw_node(&w, EV_NODE_COMPLETED, "a");
    buf_init(&b, 4096);
    node_state_render(node("a"), &b);
    cr_expect_str_eq(b.p,
                     "{\"status\":\"completed\",\"attempt\":0,\"startedAt\":"
                     "\"2023-11-14T22:13:20.002Z\",\"completedAt\":\"2023-11-14T22:13:20.003Z\","
                     "\"outputs\":{\"o\":\"a\"}}");
    buf_reset(&b);
    node_state_render(node("b"), &b);
    cr_expect_str_eq(b.p, "{\"status\":\"pending\",\"attempt\":0}");
    buf_fini(&b);
}

/* --- the fold as a function of the log --- */

static const struct {
    enum ev_kind kind;
    const char *node, *payload;
} LOG[] = {
    {EV_RUN_STARTED, "", "{\"workflowId\":\"w\"}"},
    {EV_NODE_STARTED, "a", "{\"attempt\":0}"},
    {EV_CHANNEL_WRITTEN, "a", "{\"channel\":\"log\",\"value\":1,\"reducer\":\"append\"}"},
    {EV_CHANNEL_WRITTEN, "a", "{\"channel\":\"sum\",\"value\":2,\"reducer\":\"counter\"}"},
    {EV_NODE_RETRIED, "a", "{\"attempt\":1,\"delayMs\":5}"},
    {EV_NODE_STARTED, "a", "{\"attempt\":1}"},
    {EV_CHANNEL_WRITTEN, "a",
     "{\"channel\":\"votes\",\"value\":{\"voter\":\"v\"},\"reducer\":\"votes\"}"},
    {EV_VARIABLE_CHANGED, "a", "{\"name\":\"x\",\"next\":3}"},
    {EV_NODE_SUSPENDED, "a", "{\"interruptId\":\"i\",\"kind\":\"approval\"}"},
    {EV_NODE_RESUMED, "a", "{}"},
    {EV_NODE_COMPLETED, "a", "{\"outputs\":{\"k\":1}}"},
    {EV_NODE_STARTED, "b", "{\"attempt\":0}"},
    {EV_RUN_PAUSED, "", "{\"interruptedNodeId\":\"b\"}"},
    {EV_RUN_RESUMED, "", "{}"},
    {EV_NODE_STARTED, "b", "{\"attempt\":1}"},
    {EV_CHANNEL_WRITTEN, "b", "{\"channel\":\"young\",\"value\":1,\"reducer\":\"append\"}"},
    {EV_NODE_COMPLETED, "b", "{}"},
    {EV_NODE_STARTED, "c", "{}"},
    {EV_NODE_COMPLETED, "c", "{}"},
    {EV_RUN_COMPLETED, "", "{\"outputs\":{}}"},
};
#define LOG_NR (sizeof LOG / sizeof LOG[0])

Test(fold, the_same_log_gives_the_same_state_wherever_it_is_cut /* EVT-41, check 13 */) {
    char *whole = NULL;
    for (size_t cut = 0; cut <= LOG_NR;
         cut++) { /* a projection is taken at the cut, which changes nothing */
        fw_up(&w, FW_CHAIN, "{}");
        for (size_t i = 0; i < LOG_NR; i++) {
            if (i == cut) run_state_clean(w.s);
            fw_take(&w, LOG[i].kind, LOG[i].node, LOG[i].payload);
        }
        char *text = fw_text(w.s);
        if (!whole) whole = text;
        else cr_expect_str_eq(text, whole, "cut at %zu", cut);
        if (text != whole) mem_free(text);
        fw_down(&w);
    }
    mem_free(whole);
}

Test(fold, memory_that_runs_out_is_an_answer_and_no_leak /* E16 */) {
    struct workflow *wf = fw_compile(FW_CHAIN);
    const struct run_meta meta = {.run_id = STR(FW_RUN_ID), .inputs = STR("{\"secret\":\"s\"}")};
    bool reached = true;
    for (unsigned nth = 1; reached; nth++) {
        struct run_state *s = NULL;
        int rc;
        fault_arm(1u << FAULT_MALLOC, nth);
        rc = run_state_new(wf, &meta, &RUN_LIMITS_DEFAULT, &s, NULL);
        for (size_t i = 0; rc == 0 && i < LOG_NR; i++) {
            const struct event e = {.seq = (int64_t)i,
                                    .kind = LOG[i].kind,
                                    .node_id = str_c(LOG[i].node),
                                    .ts_ms = FW_T0 + (int64_t)i,
                                    .payload = str_c(LOG[i].payload)};
            rc = run_state_apply(s, &e, NULL);
        }
        reached = fault_fired();
        fault_disarm();
        cr_assert(rc == (reached ? WOPR_E_NO_MEMORY : 0), "allocation %u: %s", nth,
                  wopr_err_name(rc));
        if (rc == 0) cr_expect_null(run_state_broken(s));
        run_state_free(s);
    }
    workflow_unref(wf);
}

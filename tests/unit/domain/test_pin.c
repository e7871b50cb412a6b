/* test_pin.c: pinned change versions in the fold, and what getVersion answers (VER-7, EVT-33). */
#include "fold_world.h"

#include "base/mem.h"

static struct fold_world w;

static void begun(void) {
    fw_up(&w, FW_PARALLEL, "{}");
    fw_start(&w);
    fw_node(&w, EV_NODE_STARTED, "a");
}
static void world_down(void) { fw_down(&w); }

TestSuite(pin, .init = begun, .fini = world_down);

static void pinned(const char *node, const char *change, int version) {
    char payload[128];
    snprintf(payload, sizeof payload, "{\"changeId\":\"%s\",\"version\":%d,\"nodeId\":\"%s\"}",
             change, version, node);
    fw_take(&w, EV_VERSION_PINNED, node, payload);
}

static int node_of(const char *id) { return workflow_node_index(w.wf, str_c(id)); }

static void expect_answer(const char *node, bool waited, const char *change, int64_t min,
                          int64_t max, int rc, int64_t version, bool record) {
    struct pin_reply r = {.version = -99};
    cr_expect_eq(run_state_version(w.s, node_of(node), waited, str_c(change), min, max, &r), rc,
                 "%s %s", node, change);
    cr_expect_eq(r.version, version, "%s %s: %lld", node, change, (long long)r.version);
    cr_expect_eq(r.record, record, "%s %s", node, change);
}

Test(pin, the_first_ask_of_a_run_gets_max /* VER-7 */) {
    expect_answer("a", false, "c", -1, 3, 0, 3, true);
    expect_answer("a", false, "c", 0, 0, 0, 0, true);
    pinned("a", "c", 3);
    expect_answer("a", false, "c", -1, 9, 0, 3, false);
    expect_answer("a", false, "other", -1, 9, 0, 9, true); /* per change */
}

Test(pin, later_asks_of_any_node_get_the_pin /* VER-7 */) {
    pinned("a", "c", 1);
    fw_node(&w, EV_NODE_STARTED, "b");
    expect_answer("b", false, "c", -1, 5, 0, 1, false);
    fw_node(&w, EV_NODE_RETRIED, "a");
    fw_node(&w, EV_NODE_STARTED, "a");
    expect_answer("a", false, "c", 0, 5, 0, 1, false); /* a retry */
    expect_answer("a", true, "c", 0, 5, 0, 1, false);
}

Test(pin, outside_the_range_is_refused_and_told /* VER-7 */) {
    pinned("a", "c", 2);
    expect_answer("a", false, "c", 3, 5, WOPR_E_VERSION_MISMATCH, 2, false);
    expect_answer("a", false, "c", -1, 1, WOPR_E_VERSION_MISMATCH, 2, false); /* an older build */
    expect_answer("a", false, "c", 2, 2, 0, 2, false);
}

Test(pin, an_attempt_that_was_begun_without_the_change_gets_min /* VER-7 */) {
    fw_take(&w, EV_LOG_APPENDED, "a", "{\"level\":\"info\",\"message\":\"m\",\"nodeId\":\"a\"}");
    expect_answer("a", false, "c", -1, 3, 0, -1, false); /* -1 cannot be written */
    expect_answer("a", false, "c", 1, 3, 0, 1, true);
    fw_node(&w, EV_NODE_STARTED, "b");
    expect_answer("b", true, "c", 0, 3, 0, 0, true); /* a wait is a trace too */
    expect_answer("b", false, "c", -1, 3, 0, 3, true);
    pinned("b", "c", 3); /* while a is under way: a stays what it was */
    expect_answer("a", false, "c", -1, 3, 0, -1, false);
    fw_node(&w, EV_NODE_RETRIED, "a");
    fw_node(&w, EV_NODE_STARTED, "a"); /* a new attempt follows the pin */
    expect_answer("a", false, "c", -1, 3, 0, 3, false);
    expect_answer("a", true, "c", -1, 3, 0, 3, false);
}

Test(pin, a_question_to_people_is_a_trace_and_a_pause_is_none /* VER-7 */) {
    fw_take(&w, EV_NODE_SUSPENDED, "a",
            "{\"nodeId\":\"a\",\"interruptId\":\"pause:3\",\"reason\":\"pause-drain\"}");
    fw_node(&w, EV_NODE_RESUMED, "a");
    expect_answer("a", false, "c", -1, 3, 0, 3, true);
    fw_take(&w, EV_NODE_SUSPENDED, "a",
            "{\"nodeId\":\"a\",\"interruptId\":\"i\",\"kind\":\"approval\"}");
    fw_node(&w, EV_NODE_RESUMED, "a");
    expect_answer("a", false, "c", -1, 3, 0, -1, false);
}

Test(pin, a_handoff_before_the_executor_is_no_trace_of_it) {
    fw_take(&w, EV_AGENT_HANDOFF, "a", "{\"fromAgentId\":\"one\",\"toAgentId\":\"two\"}");
    expect_answer("a", false, "c", -1, 3, 0, 3, true);
}

Test(pin, wrong_questions_are_refused /* VER-7 */) {
    char id[PIN_CHANGE_ID_MAX + 2];
    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    expect_answer("a", false, "", 0, 1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, id, 0, 1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, id + 1, 0, 1, 0, 1, true);
    expect_answer("a", false, "\xff", 0, 1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, "c", -2, 1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, "c", 2, 1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, "c", -1, -1, WOPR_E_VALIDATION, -99, false);
    expect_answer("a", false, "c", 0, PIN_VERSION_MAX + 1, WOPR_E_VALIDATION, -99, false);
}

Test(pin, the_fold_takes_a_change_once /* V1 */) {
    pinned("a", "c", 2);
    pinned("a", "c", 2); /* said twice, the same */
    cr_expect_eq(w.s->pins.n, 1);
    pinned("a", "\\u0063", 2); /* the same id in another spelling */
    cr_expect_eq(w.s->pins.n, 1);
    pinned("", "run", 0); /* without a node */
    cr_expect_eq(w.s->pins.v[1].node, -1);
    cr_expect_eq(fw_event(&w, EV_VERSION_PINNED, "a", "{\"changeId\":\"c\",\"version\":3}"),
                 WOPR_E_CORRUPT);
}

Test(pin, a_pin_that_is_none_is_corrupt) {
    static const char *const BAD[] = {
        "{}", "{\"changeId\":\"c\"}", "{\"changeId\":\"c\",\"version\":-1}",
        "{\"changeId\":\"c\",\"version\":\"1\"}", "{\"changeId\":1,\"version\":1}"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        fw_down(&w);
        begun();
        cr_expect_eq(fw_event(&w, EV_VERSION_PINNED, "a", BAD[i]), WOPR_E_CORRUPT, "%s", BAD[i]);
    }
}

Test(pin, pins_are_no_effects_to_be_skipped /* STORE-39 */) {
    pinned("a", "c", 2);
    cr_expect_eq(w.s->nodes[node_of("a")].effects, 0);
    cr_expect_not(w.s->nodes[node_of("a")].recorded);
}

Test(pin, the_logical_clock_is_that_of_the_attempts_last_event /* FORK-14 */) {
    const struct node_state *a = &w.s->nodes[node_of("a")];
    cr_expect_eq(a->clock_ms, a->started_ms);
    fw_node(&w, EV_NODE_STARTED, "b"); /* others do not move it */
    cr_expect_eq(a->clock_ms, a->started_ms);
    pinned("a", "c", 2);
    cr_expect_eq(a->clock_ms, w.now_ms);
    fw_node(&w, EV_NODE_RETRIED, "a");
    fw_node(&w, EV_NODE_STARTED, "a");
    cr_expect_eq(a->clock_ms, a->started_ms);
    cr_expect_eq(a->clock_ms, w.now_ms);
}

/* test_trigger.c: channel-write triggers in the scheduler (CHAN-20, CHAN-21, WF-20, EVT-40). */
#include "fold_world.h"

#include "base/mem.h"

static struct fold_world w;
static struct buf trace; /* "+a" start, "-a" skip, "!a" loop limit, "@" waits, "DONE", "FAIL a" */

/* Nodes whose name begins with w write the channel named by their second letter. */
#define N(id)                                                                                      \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"   \
    "\"config\":{},\"inputs\":{}}"
#define E(f, t) "{\"id\":\"" f t "\",\"sourceNodeId\":\"" f "\",\"targetNodeId\":\"" t "\"}"
#define T(id, node, config)                                                                        \
    "{\"id\":\"" id "\",\"type\":\"channel-write\",\"nodeId\":\"" node "\",\"config\":{" config "}}"

static void up(const char *nodes, const char *edges, const char *triggers, const char *settings) {
    char def[4096];
    snprintf(def, sizeof def,
             "{\"id\":\"t\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
             "\"triggers\":[%s],\"variables\":[],\"channels\":{\"c\":{\"reducer\":\"append\"},"
             "\"d\":{\"reducer\":\"append\"}},\"metadata\":{},\"settings\":{%s}}",
             nodes, edges, triggers, settings);
    fw_up(&w, def, "{}");
    buf_init(&trace, 1u << 16);
    fw_start(&w);
}

static void down(void) {
    fw_down(&w);
    buf_fini(&trace);
}

static void write_channel(const char *node, char channel, const char *more) {
    char payload[256];
    snprintf(payload, sizeof payload, "{\"channel\":\"%c\",\"value\":1,\"reducer\":\"append\"%s}",
             channel, more);
    fw_take(&w, EV_CHANNEL_WRITTEN, node, payload);
}

static void run_node(const char *id) {
    fw_node(&w, EV_NODE_STARTED, id);
    if (id[0] == 'w') write_channel(id, id[1], "");
    fw_node(&w, EV_NODE_COMPLETED, id);
}

static struct sched_action next(void) {
    struct sched_action a;
    sched_next(w.s, w.now_ms, &a);
    return a;
}

/* One action; false at rest or at the end. */
static bool step(void) {
    struct sched_action a = next();
    const char *id = a.node >= 0 ? w.wf->nodes[a.node].id.p : "";
    switch (a.what) {
    case SCHED_START:
        buf_addf(&trace, "+%s ", id);
        run_node(id);
        return true;
    case SCHED_SKIP:
        buf_addf(&trace, "-%s(%s) ", id, a.reason);
        fw_take(&w, EV_NODE_SKIPPED, id, "{\"nodeId\":\"x\"}");
        return true;
    case SCHED_LOOP_LIMIT:
        buf_addf(&trace, "!%s ", id);
        fw_take(&w, EV_LOOPBACK_LIMIT, id, "{\"nodeId\":\"x\",\"iterations\":1}");
        fw_node(&w, EV_NODE_FAILED, id);
        return true;
    case SCHED_FAIL:
        buf_addf(&trace, "FAIL %s", id);
        return false;
    case SCHED_COMPLETE:
        buf_addz(&trace, "DONE");
        return false;
    default:
        buf_addz(&trace, "@");
        return false;
    }
}

static void expect(const char *nodes, const char *edges, const char *triggers, const char *want) {
    up(nodes, edges, triggers, "");
    for (int i = 0; step(); i++) cr_assert(i < 1000, "no end: %s", trace.p);
    cr_expect_str_eq(trace.p, want, "got  %s\nwant %s", trace.p, want);
    down();
}

#define ON_C "\"channel\":\"c\""
#define ON_D "\"channel\":\"d\""

Test(trigger, a_write_starts_its_node /* CHAN-20 */) {
    expect(N("wc") "," N("t"), "", T("1", "t", ON_C), "+wc +t DONE");
}

Test(trigger, each_write_starts_it_again /* CHAN-20 */) {
    expect(N("wc1") "," N("wc2") "," N("wd") "," N("t"), E("wc1", "wc2") "," E("wc2", "wd"),
           T("1", "t", ON_C), "+wc1 +wc2 +wd +t +t DONE");
}

Test(trigger, without_a_write_the_node_is_skipped_at_the_end) {
    expect(N("a") "," N("t") "," N("u"), E("t", "u"), T("1", "t", ON_C),
           "+a -t(not-triggered) -u(upstream-skipped) DONE");
}

Test(trigger, what_follows_the_node_runs_again_too) {
    expect(N("wc1") "," N("wc2") "," N("t") "," N("u"), E("wc1", "wc2") "," E("t", "u"),
           T("1", "t", ON_C), "+wc1 +wc2 +t +u +t +u DONE");
}

Test(trigger, a_disabled_trigger_leaves_an_ordinary_node /* WF-20 */) {
    expect(N("wc") "," N("t"), "",
           "{\"id\":\"1\",\"type\":\"channel-write\",\"nodeId\":\"t\",\"enabled\":false,"
           "\"config\":{\"channel\":\"c\"}}",
           "+wc +t DONE");
    expect(N("a") "," N("t"), "",
           "{\"id\":\"1\",\"type\":\"channel-write\",\"nodeId\":\"t\",\"enabled\":false,"
           "\"config\":{\"channel\":\"c\"}}",
           "+a +t DONE");
}

Test(trigger, with_nothing_else_to_begin_with_the_node_is_an_entry /* S1 */) {
    expect(N("t"), "", T("1", "t", ON_C), "+t DONE");
}

Test(trigger, its_own_lineage_does_not_fire_it /* CHAN-21 */) {
    /* t and u are reached by the firing; both write c again */
    expect(N("wc") "," N("wc-t") "," N("wc-u"), E("wc-t", "wc-u"), T("1", "wc-t", ON_C),
           "+wc +wc-t +wc-u DONE");
}

Test(trigger, a_ping_pong_ends_at_the_loop_limit /* CHAN-21, EVT-40 */) {
    up(N("wc") "," N("wd-t") "," N("wc-u"), "", T("1", "wd-t", ON_C) "," T("2", "wc-u", ON_D),
       "\"maxLoopbackIterations\":3");
    while (step()) cr_assert_lt(trace.len, 1000u);
    cr_expect_str_eq(trace.p, "+wc +wd-t +wc-u +wd-t +wc-u !wd-t FAIL wd-t");
    const struct sched_node *n = &w.s->nodes[workflow_node_index(w.wf, STR("wd-t"))].sched;
    cr_expect_eq(n->loops, 4);
    cr_expect_eq(n->loop_limit, 3);
    down();
}

Test(trigger, many_independent_writes_are_no_loop /* CHAN-21 */) {
    up(N("a") "," N("t"), "", T("1", "t", ON_C), "\"maxLoopbackIterations\":2");
    fw_node(&w, EV_NODE_STARTED, "a");
    for (int i = 0; i < 20; i++) write_channel("a", 'c', "");
    unsigned starts = 0;
    for (; step(); starts++) cr_assert_lt(starts, 100u);
    cr_expect_eq(starts, 20);
    down();
}

Test(trigger, only_from_whom_it_says /* CHAN-20 */) {
    static const struct {
        const char *from, *more;
        bool fires;
    } ROWS[] = {
        {"any", "", true},    {"any", ",\"sourceEngineId\":\"e\",\"sourceRunId\":\"r\"", true},
        {"parent", "", true}, {"parent", ",\"sourceEngineId\":\"e\",\"sourceRunId\":\"r\"", false},
        {"child", "", false}, {"child", ",\"sourceEngineId\":\"e\",\"sourceRunId\":\"r\"", true},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "{\"id\":\"1\",\"type\":\"channel-write\",\"nodeId\":\"t\",\"config\":{"
                 "\"channel\":\"c\",\"onlyFrom\":\"%s\"}}",
                 ROWS[i].from);
        up(N("a") "," N("t"), "", config, "");
        fw_node(&w, EV_NODE_STARTED, "a");
        write_channel("", 'c', ROWS[i].more);
        struct sched_action a = next();
        cr_expect_eq(a.what, ROWS[i].fires ? SCHED_START : SCHED_WAIT, "row %zu", i);
        down();
    }
}

static int of(const char *id) { return workflow_node_index(w.wf, str_c(id)); }

Test(trigger, a_debounced_one_waits_until_the_channel_is_quiet /* CHAN-20 */) {
    up(N("a") "," N("t"), "", T("1", "t", ON_C ",\"debounceMs\":100"), "");
    fw_node(&w, EV_NODE_STARTED, "a");
    write_channel("a", 'c', "");
    int64_t first = w.now_ms;
    cr_expect_eq(sched_next_trigger_ms(w.s), first + 100);
    w.now_ms += 60;
    write_channel("a", 'c', "");
    int64_t second = w.now_ms, cause = w.s->next_seq - 1;
    fw_node(&w, EV_NODE_COMPLETED, "a");
    w.now_ms = first + 100;
    cr_expect_eq(next().what, SCHED_WAIT); /* the run does not end meanwhile */
    cr_expect_eq(sched_next_trigger_ms(w.s), second + 100);
    w.now_ms = second + 99;
    cr_expect_eq(next().what, SCHED_WAIT);
    w.now_ms = second + 100;
    cr_expect_eq(next().what, SCHED_START);
    cr_expect_eq(w.s->nodes[of("t")].sched.cause_seq, cause); /* EVT-4 */
    while (step()) cr_assert_lt(trace.len, 1000u);
    cr_expect_str_eq(trace.p, "+t DONE"); /* once for both */
    cr_expect_eq(sched_next_trigger_ms(w.s), -1);
    down();
}

Test(trigger, writes_while_the_node_runs_are_answered_after_it) {
    up(N("a") "," N("t"), "", T("1", "t", ON_C), "");
    fw_node(&w, EV_NODE_STARTED, "a");
    write_channel("a", 'c', "");
    fw_node(&w, EV_NODE_STARTED, "t");
    write_channel("a", 'c', "");
    write_channel("a", 'c', "");
    cr_expect_eq(next().what, SCHED_WAIT);
    fw_node(&w, EV_NODE_COMPLETED, "t");
    fw_node(&w, EV_NODE_COMPLETED, "a");
    while (step()) cr_assert_lt(trace.len, 1000u);
    cr_expect_str_eq(trace.p, "+t +t DONE");
    cr_expect_eq(w.s->nodes[of("t")].activation, 2);
    down();
}

Test(trigger, a_finished_run_holds_nobody /* R2 */) {
    up(N("a") "," N("t"), "", T("1", "t", ON_C ",\"debounceMs\":100"), "");
    fw_node(&w, EV_NODE_STARTED, "a");
    write_channel("a", 'c', "");
    fw_take(&w, EV_NODE_CANCELLED, "a", "{\"nodeId\":\"a\"}");
    fw_take(&w, EV_RUN_CANCELLED, "", "{}");
    cr_expect_eq(w.s->sched.held_nr, 0);
    cr_expect_eq(sched_next_trigger_ms(w.s), -1);
    down();
}

static char *two_triggers(void) {
    up(N("wc1") "," N("wc2") "," N("t") "," N("wd-u") "," N("v"),
       E("wc1", "wc2") "," E("t", "wd-u"),
       T("1", "t", ON_C) "," T("2", "v", ON_D ",\"debounceMs\":1"), "");
    for (int i = 0; i < 40 && step(); i++) w.now_ms += 50;
    char *text = fw_text(w.s);
    cr_expect_not_null(strstr(trace.p, "+v "), "%s", trace.p);
    cr_expect_str_eq(trace.p + trace.len - 4, "DONE");
    down();
    return text;
}

Test(trigger, the_same_log_gives_the_same_run /* CHAN-21: replays fire in event order */) {
    char *x = two_triggers(), *y = two_triggers();
    cr_expect_str_eq(x, y);
    mem_free(x);
    mem_free(y);
}

Test(trigger, of_what_a_definition_may_say /* CHAN-20, WF-3 */) {
    static const char *const BAD[] = {
        T("1", "t", "\"channel\":\"nobody\""),
        T("1", "gone", ON_C),
        T("1", "t", ""),
        T("1", "t", ON_C ",\"onlyFrom\":\"aunt\""),
        T("1", "t", ON_C ",\"debounceMs\":60001"),
        "{\"id\":\"1\",\"type\":\"channel-write\",\"config\":{\"channel\":\"c\"}}"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char def[2048];
        struct workflow *wf = NULL;
        struct wopr_error err = {0};
        const struct wf_env env = {0};
        snprintf(def, sizeof def,
                 "{\"id\":\"t\",\"name\":\"t\",\"version\":\"1\",\"nodes\":[" N(
                     "t") "],\"edges\":[],"
                          "\"triggers\":[%s],\"variables\":[],\"channels\":{\"c\":{\"reducer\":"
                          "\"append\"}},"
                          "\"metadata\":{},\"settings\":{}}",
                 BAD[i]);
        cr_expect_eq(workflow_compile(str_c(def), &env, &wf, &err), WOPR_E_VALIDATION, "%s",
                     BAD[i]);
    }
}

/*
 * test_fork_oracle.c: replays and branches of some twenty kinds of flows at every sequence, and
 * forks of those forks at every pair of sequences of the small ones: no replay differs from its
 * source, and all of them end as it did (FORK-13 to FORK-20).  WOPR_FORK_PAIRS=1: pairs for all.
 * Left out of the pairs: a branch that is cut between the effects and the end of an executor which
 * waited for a child enters it again with a child of its own; a replay of it enters it once, so
 * that ids, or the order of what started meanwhile, differ.
 */
#include "fork_kit.h"
#include "log_kit.h"

#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* --- flows --- */

#define IF_DONE(x) ",\"condition\":{\"type\":\"equals\",\"left\":\"output.done\",\"right\":" x "}"
#define IF_REFINE                                                                                  \
    ",\"condition\":{\"type\":\"equals\",\"left\":\"output.action\",\"right\":\"refine\"}"
#define SUB(of)  NODE("s", "core.subWorkflow", "\"workflowId\":\"" of "\"", "")
#define ASK      "\"questions\":[{\"id\":\"q\",\"question\":\"who?\"}]"
#define ACCEPT   "{\"action\":\"accept\"}"
#define REFINE   "{\"action\":\"refine\",\"refineFeedback\":{\"scope\":\"whole\"}}"
#define NOOP(x)  NODE(x, "core.noop", "", "")
#define TALKS    ",\"channels\":{\"conversation\":{\"reducer\":\"message\"}}"
#define SAYS(x)  "{\"operation\":\"exchange\",\"turn\":{\"content\":\"" x "\"}}"
#define HANGS_UP "{\"operation\":\"close\",\"outcome\":7}"
#define WRITES                                                                                     \
    NODE("p", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", "")                        \
    "," NODE("q", "core.channelWrite", "\"channelName\":\"c\",\"value\":2", "")
#define CHILD_WRITES                                                                               \
    NODE("s", "core.subWorkflow", "\"workflowId\":\"quick\",\"outputMapping\":{\"c\":\"v\"}", "")
#define FIRES(ms)                                                                                  \
    ",\"channels\":{\"c\":{\"reducer\":\"append\"}},\"triggers\":[{\"id\":\"t1\",\"type\":"        \
    "\"channel-write\",\"nodeId\":\"t\",\"config\":{\"channel\":\"c\",\"debounceMs\":" ms "}}]"

#define PINNED(id, type, agent, config)                                                            \
    "{\"id\":\"" id "\",\"typeId\":\"" type "\",\"name\":\"" id                                    \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config                                        \
    "},\"inputs\":{},\"agent\":{\"agentId\":\"" agent "\"}}"
#define SUPERVISOR(config) PINNED("s", "core.orchestrator.supervisor", "core.test.lead", config)
#define DISPATCH(config)   NODE("d", "core.dispatch", config, "")
#define ORCH_LOOP          EDGE("e", "s", "d", "") "," EDGE("l", "d", "s", "")
#define NEXT(ids)          "{\"kind\":\"next-worker\",\"nextWorkerIds\":[" ids "]}"
#define ENOUGH             "{\"kind\":\"terminate\",\"reason\":\"enough\"}"

enum act { LEFT_ALONE, CANCELLED, PAUSED, KILLED };
static const struct flow {
    const char *name;
    const char *nodes, *edges, *settings, *more;
    enum act act;           /* while its first node runs */
    bool pairs;             /* small enough for every pair of sequences */
    bool never_pairs;       /* see above */
    const char *answers[5]; /* of the runs that wait, in this order */
} FLOWS[] = {
    {.name = "a chain",
     .nodes = NOOP("a") "," NOOP("b"),
     .edges = EDGE("e", "a", "b", ""),
     .pairs = true},
    {.name = "parallel waits",
     .nodes = NODE("a", "core.delay", "\"ms\":9", "") "," NODE("b", "core.delay", "\"ms\":3", "")},
    {.name = "pieces",
     .nodes = NODE("a", "test.stepper", "", "") "," NODE("b", "test.stepper", "", "")},
    {.name = "retries",
     .nodes =
         NODE("f", "test.flaky", "\"failures\":2", "") "," NODE("d", "core.delay", "\"ms\":5", ""),
     .settings = "\"maxRetries\":2,\"retryDelayMs\":3",
     .pairs = true},
    {.name = "retries in vain",
     .nodes = NODE("f", "test.flaky", "\"failures\":9", "") "," NOOP("n"),
     .edges = EDGE("e", "f", "n", ""),
     .settings = "\"maxRetries\":1,\"retryDelayMs\":2"},
    {.name = "a failure",
     .nodes = NODE("a", "core.delay", "\"ms\":2", "") "," NODE("f", "core.fail", "", "") "," NODE(
         "d", "core.delay", "\"ms\":60000", ""),
     .edges = EDGE("e", "a", "f", "")},
    {.name = "a run timeout",
     .nodes = NODE("d", "core.delay", "\"ms\":60000", ""),
     .settings = "\"timeout\":40",
     .pairs = true},
    {.name = "a loop",
     .nodes = NOOP("a") "," NOOP("b"),
     .edges = EDGE("e", "a", "b", "") "," EDGE("l", "b", "a", ""),
     .settings = "\"maxLoopbackIterations\":2"},
    {.name = "a loop over items",
     .nodes = NODE("l", "core.loop", "\"items\":[1,2]", "") "," NOOP("b") "," NOOP("z"),
     .edges = EDGE("1", "l", "b", IF_DONE("false")) "," EDGE("2", "b", "l", "") "," EDGE(
         "3", "l", "z", IF_DONE("true"))},
    {.name = "a trigger",
     .nodes = WRITES "," NOOP("t"),
     .edges = EDGE("e", "p", "q", ""),
     .more = FIRES("0")},
    {.name = "a debounced trigger",
     .nodes = WRITES "," NOOP("t"),
     .edges = EDGE("e", "p", "q", ""),
     .more = FIRES("5")},
    {.name = "variables",
     .nodes = NODE("v", "core.setVariable", "\"name\":\"x\",\"value\":[1,2.50]",
                   "") "," NODE("t", "test.artifact", "", ""),
     .edges = EDGE("e", "v", "t", "")},
    {.name = "a pin",
     .nodes = NODE("v", "vendor.wopr.version", "\"changeId\":\"tax\",\"max\":4", "") "," NOOP("n"),
     .edges = EDGE("e", "v", "n", ""),
     .pairs = true},
    {.name = "a child", .nodes = SUB("quick"), .pairs = true},
    {.name = "an approval",
     .nodes = NODE("g", "core.approvalGate", "", "") "," NOOP("n"),
     .edges = EDGE("e", "g", "n", ""),
     .pairs = true,
     .answers = {ACCEPT, ACCEPT, ACCEPT}},
    {.name = "a clarification",
     .nodes = NODE("g", "core.clarificationGate", ASK, ""),
     .pairs = true,
     .answers = {"{\"answers\":{\"q\":\"me\"}}", "{\"answers\":{\"q\":\"me\"}}"}},
    {.name = "two gates at once",
     .nodes = NODE("g", "core.approvalGate", "", "") "," NODE("h", "core.approvalGate", "", ""),
     .answers = {ACCEPT, ACCEPT, ACCEPT, ACCEPT}},
    {.name = "a quorum",
     .nodes = NODE("g", "core.approvalGate", "\"requiredApprovals\":2", ""),
     .pairs = true,
     .answers = {"{\"action\":\"accept\",\"voter\":\"a\"}",
                 "{\"action\":\"accept\",\"voter\":\"b\"}",
                 "{\"action\":\"accept\",\"voter\":\"c\"}"}},
    {.name = "a refinement",
     .nodes =
         NOOP("a") "," NODE("g", "core.approvalGate", "\"actions\":[\"accept\",\"refine\"]", ""),
     .edges = EDGE("e", "a", "g", "") "," EDGE("l", "g", "a", IF_REFINE),
     .answers = {REFINE, ACCEPT, ACCEPT}},
    {.name = "a scripted conversation",
     .nodes = NODE("g", "core.conversationGate", "\"mockAutoResume\":true,\"turnCount\":2", ""),
     .more = TALKS,
     .pairs = true},
    {.name = "a conversation",
     .nodes = NODE("g", "core.conversationGate", "", "") "," NOOP("n"),
     .edges = EDGE("e", "g", "n", ""),
     .more = TALKS,
     .pairs = true,
     .answers = {"\"one\"", SAYS("two"), HANGS_UP, HANGS_UP}},
    {.name = "a conversation without a channel, beside others",
     .nodes = NODE("g", "core.conversationGate", "\"turnCount\":1", "") "," NODE(
         "d", "core.delay", "\"ms\":3", "") "," NODE("h", "core.conversationGate", "", ""),
     .answers = {"\"one\"", HANGS_UP, HANGS_UP, HANGS_UP}},
    {.name = "a conversation that nobody ends",
     .nodes = NODE("g", "core.conversationGate", "\"timeoutMs\":20", ""),
     .more = TALKS,
     .pairs = true},
    {.name = "a conversation that is cancelled",
     .nodes = NODE("g", "core.conversationGate", "", ""),
     .more = TALKS,
     .act = CANCELLED,
     .pairs = true,
     .answers = {HANGS_UP, HANGS_UP, HANGS_UP}},
    {.name = "a conversation in steps",
     .nodes = NODE("o", "core.conversationGate", "\"lifecycle\":\"open\"", "") "," NODE(
         "x", "core.conversationGate", "\"lifecycle\":\"exchange\"",
         "") "," NODE("c", "core.conversationGate", "\"lifecycle\":\"close\"", ""),
     .edges = EDGE("1", "o", "x", "") "," EDGE("2", "x", "c", ""),
     .more = TALKS,
     .pairs = true,
     .answers = {"{\"a\":1}", "{\"a\":1}"}},
    {.name = "no answer in time",
     .nodes = NODE("g", "core.approvalGate", "\"timeoutMs\":20", ""),
     .pairs = true},
    {.name = "a child that asks", .nodes = SUB("asker"), .answers = {ACCEPT, ACCEPT}},
    {.name = "a child that writes a channel",
     .never_pairs = true,
     .nodes = CHILD_WRITES,
     .more = ",\"channels\":{\"c\":{\"reducer\":\"append\"}},\"triggers\":[]",
     .pairs = false},
    {.name = "a child that fires a trigger",
     .never_pairs = true,
     .nodes = CHILD_WRITES "," NOOP("t"),
     .more = FIRES("0")},
    {.name = "cancelled",
     .nodes = NODE("d", "core.delay", "\"ms\":50", ""),
     .act = CANCELLED,
     .pairs = true},
    {.name = "paused",
     .nodes = NODE("d", "core.delay", "\"ms\":30", "") "," NOOP("n"),
     .edges = EDGE("e", "d", "n", ""),
     .act = PAUSED,
     .pairs = true},
    {.name = "killed",
     .nodes = NODE("d", "core.delay", "\"ms\":30", "") "," NOOP("n"),
     .edges = EDGE("e", "d", "n", ""),
     .act = KILLED,
     .pairs = true},
    {.name = "a message said twice", /* MSG-6 */
     .nodes = NODE("m", "core.identity", "\"emitDuplicateMessageId\":true", ""),
     .more = ",\"channels\":{\"c\":{\"reducer\":\"message\"}},\"triggers\":[]",
     .pairs = true},
    {.name = "a trace of an agent", /* AGT-20..28 */
     .nodes = PINNED("a", "core.identity", "core.test.one", "\"emitReasoningTrace\":true"),
     .pairs = true},
    {.name = "two agents", /* AGT-8 */
     .nodes = PINNED("a", "core.identity", "core.test.one", "") "," PINNED("b", "core.identity",
                                                                           "core.test.two", ""),
     .edges = EDGE("e", "a", "b", ""),
     .pairs = true},
    {.name = "a doubt that is shared", /* AGT-30..33 */
     .nodes = PINNED("a", "core.identity", "core.test.one", "\"mockConfidence\":0.5"),
     .pairs = true,
     .answers = {ACCEPT, ACCEPT}},
    {.name = "a doubt that ends it",
     .nodes = PINNED("a", "core.identity", "core.test.one", "\"mockConfidence\":0.5"),
     .answers = {"{\"action\":\"reject\"}", "{\"action\":\"reject\"}"}},
    {.name = "a supervisor with workers", /* ORCH-13, DISP-14 */
     .never_pairs = true,
     .nodes = SUPERVISOR("\"mockDecisions\":[" NEXT("\"quick\",\"quick\"") "," ENOUGH
                                                                           "]") "," DISPATCH(""),
     .edges = ORCH_LOOP},
    {.name = "a supervisor that asks", /* DISP-7 */
     .nodes = SUPERVISOR("\"mockDecisions\":[{\"kind\":\"ask-user\",\"prompt\":\"who?\"}," ENOUGH
                         "]") "," DISPATCH("\"askUserRouting\":\"clarification\""),
     .edges = ORCH_LOOP,
     .answers = {"{\"answers\":{\"answer\":\"me\"}}", "{\"answers\":{\"answer\":\"me\"}}"}},
    {.name = "a supervisor that converses", /* DISP-7, CONV-20 */
     .never_pairs = true,
     .nodes =
         SUPERVISOR("\"mockDecisions\":[{\"kind\":\"ask-user\",\"prompt\":\"who?\"},"
                    "{\"kind\":\"ask-user\",\"prompt\":\"and?\"}," ENOUGH "]") "," DISPATCH(""),
     .edges = ORCH_LOOP,
     .more = TALKS,
     .answers = {"\"me\"", SAYS("you"), "\"they\"", HANGS_UP}},
    {.name = "a decision that is held", /* ORCH-10 */
     .nodes = SUPERVISOR("\"mockConfidence\":0.5,\"mockPendingDecision\":" ENOUGH) "," DISPATCH(""),
     .edges = ORCH_LOOP,
     .pairs = true,
     .answers = {ACCEPT, ACCEPT}},
    {.name = "a supervisor that ends it for others", /* DISP-8 */
     .nodes = SUPERVISOR("\"mockDecisions\":[" ENOUGH
                         "]") "," DISPATCH("") "," NODE("w", "core.delay", "\"ms\":600000", ""),
     .edges = ORCH_LOOP},
    {.name = "a supervisor out of bounds", /* ORCH-9 */
     .never_pairs = true,
     .nodes = SUPERVISOR("\"iterationCap\":1,\"mockDecisions\":[" NEXT("\"quick\"") "," NEXT(
         "\"quick\"") "]") "," DISPATCH(""),
     .edges = ORCH_LOOP},
    {.name = "a dispatcher out of bounds", /* DISP-11 */
     .never_pairs = true,
     .nodes = SUPERVISOR("\"mockDecisions\":[" NEXT("\"quick\"") "," NEXT(
         "\"quick\"") "]") "," DISPATCH("\"iterationCap\":1"),
     .edges = ORCH_LOOP},
};
enum { FLOWS_NR = sizeof FLOWS / sizeof *FLOWS };

/* --- driving --- */

static bool waits(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

/* The child whose suspension the parent shows, else the run itself. */
static struct str asker_of(struct str run) {
    struct event_list l = world_events(run);
    struct str child = STR_NONE;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == EV_NODE_SUSPENDED)
            child = json_string(json_get(l.v[i].payload, "childRunId"), W.a);
    return child.n > 0 ? child : run;
}

static int answer(struct str run, const char *value) {
    struct str asker = asker_of(run);
    struct run_view v = world_view(asker);
    struct call c;
    if (!waits(v.head.status)) return WOPR_E_CONFLICT;
    call_init(&c, ENGINE_RESOLVE, asker);
    c.cmd.resolve.node_id = v.current_node;
    c.cmd.resolve.value = str_c(value);
    c.cmd.resolve.may_delegate = true;
    call_do(&c);
    int rc = c.cmd.result.rc;
    call_fini(&c);
    return rc;
}

static enum run_status drive(const struct flow *f, struct str run) {
    for (size_t given = 0;;) {
        struct run_head h = world_head(run);
        if (run_status_final(h.status)) return h.status;
        if (!waits(h.status) || !f->answers[0]) {
            world_wait_more(&h);
            continue;
        }
        int rc = answer(run, f->answers[given]);
        if (rc == 0 && f->answers[given + 1]) given++;
    }
}

static struct str source_run(const struct flow *f) {
    struct str def = world_def("w", f->nodes, f->edges, 0, f->settings, 0);
    if (f->more) { /* the world's definitions have triggers of their own */
        size_t at = (size_t)(strstr(def.p, ",\"triggers\":[]") - def.p);
        def = arena_printf(W.a, "%.*s%s%s", (int)at, def.p, f->more,
                           def.p + at + strlen(",\"triggers\":[]"));
    }
    struct str run = world_start(def, NULL);
    if (f->act != LEFT_ALONE) world_wait_event(run, EV_NODE_STARTED, 1);
    if (f->act == CANCELLED) cr_assert_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    if (f->act == PAUSED) {
        cr_assert_eq(world_pause(run, DRAIN_CURRENT_NODE), 0);
        cr_assert_eq(world_op(ENGINE_RESUME, run, NULL), 0);
    }
    if (f->act == KILLED) {
        world_engine_crash();
        world_engine_start();
    }
    (void)drive(f, run);
    return run;
}

/* --- the oracle --- */

struct made {
    struct str run, source;
    enum fork_mode mode;
    int64_t cut;
};

static struct made fork_made(struct str source, enum fork_mode mode, int64_t cut) {
    return (struct made){fork_run(source, mode, cut), source, mode, cut};
}

static const char *chain(const struct made *m) {
    return arena_cstr(W.a, arena_printf(W.a, "%s at %d of\n%s\n%s",
                                        m->mode == FORK_REPLAY ? "replay" : "branch", (int)m->cut,
                                        world_story(m->source), world_story(m->run)));
}

/* People answer replays as well, and come after what the source's got (FORK-12). */
static void judge(const struct flow *f, const struct made *m, enum run_status end) {
    enum run_status s = drive(f, m->run);
    if (m->mode == FORK_REPLAY) end = world_head(m->source).status;
    /* Who cancelled, or how long it took, is not repeated by a branch. */
    bool ends_so = m->mode == FORK_REPLAY || f->act != CANCELLED;
    cr_expect(!ends_so || s == end, "%s: %s as %s", f->name, run_status_name(s), chain(m));
    cr_expect_eq(world_count(m->run, EV_REPLAY_DIVERGED), 0, "%s: %s", f->name, chain(m));
    if (m->mode == FORK_REPLAY) fork_same_tail(m->source, m->run, m->cut);
    world_check_log(m->run);
}

static void children_put(void) {
    workflow_unref(world_put(world_def(
        "quick", NOOP("c"), 0, "{\"name\":\"v\",\"type\":\"number\",\"defaultValue\":1}", 0, 0)));
    workflow_unref(
        world_put(world_def("asker", NODE("g", "core.approvalGate", "", ""), 0, 0, 0, 0)));
}

static void every_pair(const struct flow *f, struct str source, enum run_status end) {
    static const enum fork_mode MODES[][2] = {{FORK_REPLAY, FORK_REPLAY},
                                              {FORK_REPLAY, FORK_BRANCH},
                                              {FORK_BRANCH, FORK_REPLAY},
                                              {FORK_BRANCH, FORK_BRANCH}};
    int64_t n = world_head(source).next_seq, m = 0, made = 0;
    struct made *first = ARENA_ARRAY(W.a, struct made, (size_t)n), *all;
    for (size_t k = 0; k < sizeof MODES / sizeof *MODES; k++) {
        for (int64_t i = 0; i < n; i++) first[i] = fork_made(source, MODES[k][0], i);
        for (int64_t i = m = made = 0; i < n; i++) {
            (void)drive(f, first[i].run);
            m += world_head(first[i].run).next_seq;
        }
        all = ARENA_ARRAY(W.a, struct made, (size_t)m);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0, cuts = world_head(first[i].run).next_seq; j < cuts; j++)
                if (sampled_in((unsigned)(i + j)))
                    all[made++] = fork_made(first[i].run, MODES[k][1], j);
        for (int64_t i = 0; i < made; i++) judge(f, &all[i], end);
    }
}

Test(engine_fork_oracle, every_kind_at_every_sequence /* FORK-15, FORK-18 */) {
    children_put();
    for (int i = 0; i < FLOWS_NR; i++) {
        struct str source = source_run(&FLOWS[i]);
        enum run_status end = world_head(source).status;
        int64_t n = world_head(source).next_seq;
        struct made *all = ARENA_ARRAY(W.a, struct made, (size_t)n * 2);
        for (int64_t seq = 0; seq < n; seq++) {
            all[seq] = fork_made(source, FORK_REPLAY, seq);
            all[n + seq] = fork_made(source, FORK_BRANCH, seq);
        }
        for (int64_t seq = 0; seq < 2 * n; seq++) judge(&FLOWS[i], &all[seq], end);
    }
}

Test(engine_fork_oracle, forks_of_forks_at_every_pair_of_sequences /* F10 */) {
    children_put();
    for (int i = 0; i < FLOWS_NR; i++) {
        if (!FLOWS[i].pairs && (FLOWS[i].never_pairs || !getenv("WOPR_FORK_PAIRS"))) continue;
        struct str source = source_run(&FLOWS[i]);
        every_pair(&FLOWS[i], source, world_head(source).status);
    }
}

enum { CHAINS_NR = 8 };

/* Every third replay of each, from this sequence on. */
static void replays_judge(const struct flow *f, const struct made *of, int64_t from,
                          enum run_status end) {
    struct made all[CHAINS_NR * 64];
    size_t made = 0;
    for (int k = 0; k < CHAINS_NR; k++)
        for (int64_t i = from; i < world_head(of[k].run).next_seq; i += 3) {
            cr_assert_lt(made, sizeof all / sizeof *all);
            all[made++] = fork_made(of[k].run, FORK_REPLAY, i);
        }
    for (size_t i = 0; i < made; i++) judge(f, &all[i], end);
}

/* Retention takes the middle of chains, to which no log refers, and then their root. */
static void without_ancestors(const struct flow *f) {
    static const enum fork_mode MODES[] = {FORK_REPLAY, FORK_BRANCH};
    struct made middle[CHAINS_NR], last[CHAINS_NR];
    struct str source = source_run(f);
    enum run_status end = world_head(source).status;
    int64_t n = world_head(source).next_seq;
    for (int k = 0; k < CHAINS_NR; k++)
        middle[k] = fork_made(source, MODES[k & 1], k & 4 ? n - 1 : n / 2);
    for (int k = 0; k < CHAINS_NR; k++) {
        (void)drive(f, middle[k].run);
        last[k] = fork_made(middle[k].run, MODES[k >> 1 & 1], middle[k].cut / 2);
    }
    for (int k = 0; k < CHAINS_NR; k++) judge(f, &last[k], end);
    for (int k = 0; k < CHAINS_NR; k++) log_purge_run(middle[k].run);
    replays_judge(f, last, 0, end);
    log_purge_run(source);
    replays_judge(f, last, 1, end);
}

Test(engine_fork_oracle, replays_know_ancestors_that_are_gone /* FORK-18, STORE-44 */) {
    children_put();
    for (int i = 0; i < FLOWS_NR; i++)
        if (FLOWS[i].pairs || (!FLOWS[i].never_pairs && getenv("WOPR_FORK_PAIRS")))
            without_ancestors(&FLOWS[i]);
}

TestSuite(engine_fork_oracle, .init = world_up, .fini = world_down, .timeout = 400);

/*
 * test_state_save.c: images of states.  Random runs over a workflow with loops, triggers,
 * conditions and channels: at every sequence the state goes through an image and goes on as the
 * fold does, compared member by member (their images).  The seed is printed with each failure;
 * WOPR_TEST_SEED chooses another, WOPR_TEST_ROUNDS more of them.
 */
#include "domain/conversation.h"
#include "domain/state_save.h"

#include "base/fault.h"
#include "base/mem.h"
#include "fold_world.h"

#include <stddef.h>
#include <stdlib.h>

enum { ROUNDS = 30, EVENTS_MAX = 90, TRIES = 400, PAYLOAD_MAX = 512, IMAGE_MAX = 1 << 20 };

#define N(id, more)                                                                                \
    "{\"id\":\"" id "\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"   \
    "\"config\":{\"ttlMs\":9},\"inputs\":{}" more "}"
#define E(f, t, more)                                                                              \
    "{\"id\":\"" f t "\",\"sourceNodeId\":\"" f "\",\"targetNodeId\":\"" t "\"" more "}"
#define RULE(rule) ",\"triggerRule\":\"" rule "\""
#define COND(expr) ",\"condition\":{\"type\":\"expression\",\"expression\":\"" expr "\"}"
#define T(id, node, config)                                                                        \
    "{\"id\":\"" id "\",\"type\":\"channel-write\",\"nodeId\":\"" node "\",\"config\":{" config "}}"
/* clang-format off */
static const char RICH[] =
    "{\"id\":\"rich\",\"name\":\"rich\",\"version\":\"1\",\"nodes\":["
    N("a", ",\"agent\":{\"agentId\":\"first\"}") "," N("b", "") "," N("c", "") "," N("d", "") ","
    N("e", "") "," N("f", "") "," N("g", "") "," N("h", ",\"disabled\":true")
    "],\"edges\":["
    E("a", "b", "") "," E("b", "c", RULE("any_success")) "," E("c", "b", COND("variables.x > 1"))
    "," E("b", "d", RULE("any_failed")) "," E("c", "e", RULE("all_complete"))
    "," E("d", "e", RULE("none_failed")) "," E("a", "h", "") "," E("h", "e", RULE("all_complete"))
    "],\"triggers\":[" T("t", "f", "\"channel\":\"log\"") ","
    T("u", "g", "\"channel\":\"doc\",\"debounceMs\":5")
    "],\"variables\":[{\"name\":\"x\",\"type\":\"number\",\"defaultValue\":1},"
    "{\"name\":\"in\",\"type\":\"string\"}],"
    "\"channels\":{\"log\":{\"reducer\":\"append\",\"ttlMs\":40},"
    "\"last3\":{\"reducer\":\"append\",\"maxSize\":3},\"doc\":{\"reducer\":\"merge\"},"
    "\"sum\":{\"reducer\":\"counter\"},\"votes\":{\"reducer\":\"votes\"},"
    "\"old\":{\"reducer\":\"append\",\"schema\":{\"type\":\"integer\"},\"schemaVersion\":2}},"
    "\"metadata\":{},\"settings\":{\"maxLoopbackIterations\":3}}";
/* clang-format on */

static uint64_t seed, dice;
static bool masks_some; /* OBS-71 */

static unsigned roll(unsigned n) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

struct log {
    struct event v[EVENTS_MAX];
    char payloads[EVENTS_MAX][PAYLOAD_MAX];
    size_t n;
};

static struct workflow *rich;
static const struct state_aside ASIDE = {1, 2, 3, true};

static void rich_up(void) {
    const char *env = getenv("WOPR_TEST_SEED");
    seed = env ? strtoull(env, NULL, 10) : 20261122u;
    rich = fw_compile(RICH);
}

static void rich_down(void) { workflow_unref(rich); }

static struct run_state *fresh(void) { return fw_state(rich, "{\"in\":\"i\"}"); }

static struct str image_of(const struct run_state *s, struct buf *b) {
    buf_init(b, IMAGE_MAX);
    cr_assert_eq(run_state_save(s, &ASIDE, b), 0);
    return buf_str(b);
}

static struct run_state *state_of(struct str image) {
    struct run_state *s = NULL;
    struct state_aside aside = {0};
    struct wopr_error err = {0};
    const struct run_meta meta = {.run_id = STR("run_other"),
                                  .workflow_id = rich->id,
                                  .inputs = STR("{\"in\":\"i\"}"),
                                  .created_ms = FW_T0};
    int rc = run_state_load(image, rich, &meta, &RUN_LIMITS_DEFAULT, &s, &aside, &err);
    cr_assert_eq(rc, 0, "seed %llu: %s", (unsigned long long)seed, err.message);
    cr_assert_eq(aside.fork_gap_ms, 1);
    cr_assert_eq(aside.source_next, 2);
    cr_assert_eq(aside.source_beyond, 3);
    cr_assert(aside.source_ended);
    return s;
}

/* --- random runs --- */

static const struct {
    enum ev_kind kind;
    const char *payload; /* %d: a small number */
} TEMPLATES[] = {
    {EV_NODE_STARTED, "{\"attempt\":%d}"},
    {EV_NODE_COMPLETED, "{\"outputs\":{\"o\":%d}}"},
    {EV_NODE_COMPLETED, "{\"outputs\":{\"long\":\"................................%d\"}}"},
    {EV_NODE_COMPLETED, "{\"openwop-cost\":{\"openwop.cost.usd\":0.5,\"openwop.cost.model\":\"m\"},"
                        "\"outputs\":{\"o\":%d}}"},
    {EV_NODE_FAILED, "{\"error\":{\"code\":\"c%d\",\"message\":\"m\"}}"},
    {EV_NODE_SKIPPED, "{\"reason\":\"upstream-skipped\",\"n\":%d}"},
    {EV_NODE_CANCELLED, "{\"n\":%d}"},
    {EV_NODE_SUSPENDED, "{\"kind\":\"approval\",\"interruptId\":\"int_%d\"}"},
    {EV_NODE_SUSPENDED, "{\"reason\":\"pause-drain\",\"n\":%d}"},
    {EV_NODE_SUSPENDED, "{\"reason\":\"child-suspended\",\"n\":%d}"},
    {EV_NODE_RESUMED, "{\"n\":%d}"},
    {EV_NODE_RETRIED, "{\"delayMs\":%d}"},
    {EV_INTERRUPT_REQUESTED, "{\"key\":\"k%d\",\"kind\":\"approval\",\"timeoutMs\":5}"},
    {EV_INTERRUPT_RESOLVED,
     "{\"interruptId\":\"int_%d\",\"resumeValue\":{\"action\":\"accept\"},\"resolvedBy\":\"me\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"log\",\"value\":%d,\"reducer\":\"append\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"last3\",\"value\":[%d],\"reducer\":\"append\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"doc\",\"value\":{\"k%d\":1},\"reducer\":\"merge\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"sum\",\"value\":-%d.5,\"reducer\":\"counter\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"sum\",\"value\":%d,\"reducer\":\"replace\"}"},
    {EV_CHANNEL_WRITTEN,
     "{\"channel\":\"votes\",\"value\":{\"voter\":\"v%d\"},\"reducer\":\"votes\"}"},
    {EV_CHANNEL_WRITTEN,
     "{\"channel\":\"old\",\"value\":%d,\"reducer\":\"append\",\"schemaVersion\":1}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"new%d\",\"value\":7,\"reducer\":\"append\"}"},
    {EV_CHANNEL_WRITTEN,
     "{\"channel\":\"_approvalVotes:x\",\"value\":{\"voter\":\"%d\"},\"reducer\":\"votes\"}"},
    {EV_CHANNEL_WRITTEN, "{\"channel\":\"_askExchanges:x\",\"value\":%d,\"reducer\":\"append\"}"},
    {EV_VARIABLE_CHANGED, "{\"name\":\"x\",\"next\":%d}"},
    {EV_VARIABLE_CHANGED, "{\"name\":\"y%d\",\"next\":\"value\"}"},
    {EV_VERSION_PINNED, "{\"changeId\":\"change%d\",\"version\":1}"},
    {EV_OUTPUT_CHUNK, "{\"chunk\":\"%d\"}"},
    {EV_AGENT_HANDOFF, "{\"toAgentId\":\"agent%d\"}"},
    {EV_LOG_APPENDED, "{\"message\":\"%d\"}"},
    {EV_RUN_PAUSED, "{\"n\":%d}"},
    {EV_RUN_PAUSED, "{\"interruptedNodeId\":\"b\",\"n\":%d}"},
    {EV_RUN_RESUMED, "{\"n\":%d}"},
    {EV_CAP_BREACHED, "{\"n\":%d}"},
};
enum { TEMPLATES_NR = sizeof TEMPLATES / sizeof *TEMPLATES };

/* Some of the values are masked, and known clear as a rule. */
static void event_mask(struct event *e, unsigned number) {
    static const char *const CLEAR[] = {
        [EV_NODE_COMPLETED] = "{\"outputs\":{\"o\":\"clear\"}}",
        [EV_VARIABLE_CHANGED] = "{\"next\":\"clear\"}",
        [EV_CHANNEL_WRITTEN] = "{\"value\":{\"voter\":\"clear\"}}",
    };
    bool may = e->kind == EV_NODE_COMPLETED || e->kind == EV_VARIABLE_CHANGED ||
               (e->kind == EV_CHANNEL_WRITTEN && number != 2);
    if (!masks_some || !may || roll(3) != 0) return;
    e->flags |= EVENT_MASKED;
    if (roll(4) != 0) e->clear = str_c(CLEAR[e->kind]);
}

static void event_fill(struct log *l, const struct run_state *s, enum ev_kind kind,
                       const char *node, const char *payload, unsigned number) {
    struct event *e = &l->v[l->n];
    snprintf(l->payloads[l->n], PAYLOAD_MAX, payload, number);
    *e = (struct event){.seq = (int64_t)l->n,
                        .kind = kind,
                        .type = str_c(event_name(kind)),
                        .node_id = str_c(node),
                        .causation_seq = -1,
                        .ts_ms = s->last_ts_ms + 1 + roll(8),
                        .schema_version = EVENT_SCHEMA_VERSION,
                        .engine_version = CURRENT_ENGINE_VERSION,
                        .payload = str_c(l->payloads[l->n])};
    if (l->n == 0) e->ts_ms = FW_T0 + 1;
    event_mask(e, number);
}

/* What the scheduler wants, often enough for the run to get on; else anything. */
static void event_choose(struct log *l, const struct run_state *s) {
    static const char *const NODES[] = {"a", "b", "c", "d", "e", "f", "g", "h", ""};
    struct sched_action act;
    sched_next(s, s->last_ts_ms, &act);
    const char *node = act.node >= 0 ? rich->nodes[act.node].id.p : "";
    /* one after the other: compilers differ in the order of arguments */
    unsigned k = roll(TEMPLATES_NR), any = roll(9), number = roll(4);
    if (l->n == 0) event_fill(l, s, EV_RUN_STARTED, "", "{\"workflowId\":\"rich\"}", 0);
    else if (act.what == SCHED_START && roll(2) == 0)
        event_fill(l, s, EV_NODE_STARTED, node, "{\"attempt\":%d}", 0);
    else if (act.what == SCHED_SKIP && roll(2) == 0)
        event_fill(l, s, EV_NODE_SKIPPED, node, "{\"reason\":\"disabled\"}", 0);
    else if (act.what == SCHED_COMPLETE && roll(20) == 0)
        event_fill(l, s, EV_RUN_COMPLETED, "", "{\"outputs\":{\"z\":%d}}", any);
    else if (act.what == SCHED_FAIL && roll(20) == 0)
        event_fill(l, s, EV_RUN_FAILED, "", "{\"error\":{\"code\":\"c\",\"message\":\"m%d\"}}", 1);
    else event_fill(l, s, TEMPLATES[k].kind, NODES[any], TEMPLATES[k].payload, number);
}

static struct run_state *fold_to(const struct log *l, size_t n) {
    struct run_state *s = fresh();
    for (size_t i = 0; i < n; i++) cr_assert_eq(run_state_apply(s, &l->v[i], NULL), 0);
    return s;
}

/* A log that the fold takes. */
static void log_make(struct log *l) {
    struct run_state *s = fresh();
    l->n = 0;
    for (unsigned t = 0; t < TRIES && l->n < EVENTS_MAX && !run_status_final(s->status); t++) {
        event_choose(l, s);
        if (run_state_apply(s, &l->v[l->n], NULL) == 0) {
            l->n++;
            continue;
        }
        run_state_free(s); /* half moved */
        s = fold_to(l, l->n);
    }
    run_state_free(s);
}

static void same_image(const struct run_state *x, const struct run_state *y, size_t cut) {
    struct buf a, b;
    struct str p = image_of(x, &a), q = image_of(y, &b);
    if (!str_eq(p, q)) {
        char *s = fw_text(x), *t = fw_text(y);
        cr_assert_fail("seed %llu, cut at %zu, at %lld: %s\n--\n%s", (unsigned long long)seed, cut,
                       (long long)x->next_seq, s, t);
    }
    buf_fini(&a);
    buf_fini(&b);
}

static void every_cut(const struct log *l) {
    for (size_t cut = 0; cut <= l->n; cut++) {
        struct run_state *whole = fold_to(l, cut);
        struct buf b;
        struct run_state *s = state_of(image_of(whole, &b));
        buf_fini(&b);
        same_image(whole, s, cut);
        for (size_t i = cut; i < l->n; i++) {
            struct sched_action x, y;
            cr_assert_eq(run_state_apply(whole, &l->v[i], NULL), 0);
            cr_assert_eq(run_state_apply(s, &l->v[i], NULL), 0, "seed %llu",
                         (unsigned long long)seed);
            same_image(whole, s, cut);
            sched_next(whole, whole->last_ts_ms, &x);
            sched_next(s, s->last_ts_ms, &y);
            cr_assert(x.what == y.what && x.node == y.node && x.reason == y.reason);
        }
        char *x = fw_text(whole), *y = fw_text(s);
        cr_assert_str_eq(x, y);
        mem_free(x);
        mem_free(y);
        run_state_free(whole);
        run_state_free(s);
    }
}

static struct log logs; /* large */

Test(state_save, at_every_sequence_an_image_goes_on_as_the_fold_does /* EVT-41 */, .init = rich_up,
     .fini = rich_down) {
    const char *env = getenv("WOPR_TEST_ROUNDS");
    unsigned rounds = env ? (unsigned)strtoul(env, NULL, 10) : ROUNDS;
    size_t events = 0, kinds = 0;
    bool seen[EV_NR] = {false};
    for (unsigned i = 0; i < rounds; i++, seed++) {
        dice = seed;
        masks_some = i % 2 == 1;
        log_make(&logs);
        every_cut(&logs);
        events += logs.n;
        for (size_t k = 0; k < logs.n; k++) {
            kinds += !seen[logs.v[k].kind];
            seen[logs.v[k].kind] = true;
        }
    }
    cr_assert_gt(events, rounds * 10u, "the runs are too short to show anything");
    cr_assert_geq(kinds, 20, "only %zu kinds of events were taken", kinds);
}

/* --- no member is forgotten --- */

#if defined __has_builtin
#if __has_builtin(__builtin_clear_padding)
#define HAS_CLEAR_PADDING 1
#endif
#endif

struct gap { /* members that an image does not hold, and why */
    size_t at, n;
};
#define GAP(type, member)                                                                          \
    { offsetof(struct type, member), sizeof(((struct type *)0)->member) }
#define GAPS(...)                                                                                  \
    (const struct gap[]) {                                                                         \
        __VA_ARGS__, { 0, 0 }                                                                      \
    }

#ifdef HAS_CLEAR_PADDING
/* Flips each byte of one element that is no padding and in no gap: the image must show it. */
static void bytes_flip(const struct run_state *s, void *element, const unsigned char *solid,
                       size_t size, const struct gap *gaps, const char *what) {
    struct buf b, c;
    struct str before = image_of(s, &b);
    for (size_t i = 0; i < size; i++) {
        bool skip = solid[i] == 0;
        for (const struct gap *g = gaps; g->n > 0; g++)
            skip = skip || (i >= g->at && i < g->at + g->n);
        if (skip) continue;
        unsigned char *p = (unsigned char *)element + i, old = *p;
        *p = (unsigned char)(old ^ 1);
        cr_assert_not(str_eq(image_of(s, &c), before), "byte %zu of %s is in no image", i, what);
        buf_fini(&c);
        *p = old;
    }
    buf_fini(&b);
}
#define SHOWN(s, type, element, gaps)                                                              \
    do {                                                                                           \
        struct type mold;                                                                          \
        memset(&mold, 0xff, sizeof mold);                                                          \
        __builtin_clear_padding(&mold);                                                            \
        bytes_flip((s), (element), (const unsigned char *)&mold, sizeof mold, (gaps), #type);      \
    } while (0)

Test(state_save, no_member_of_a_state_is_forgotten, .init = rich_up, .fini = rich_down) {
    const struct gap none[] = {{0, 0}};
    dice = 1;
    struct run_state *s = NULL;
    for (unsigned i = 0; i < 1000; i++) { /* a state that has some of everything */
        log_make(&logs);
        run_state_free(s);
        s = fold_to(&logs, logs.n);
        struct chan_state *sum = run_state_chan(s, STR("sum")),
                          *log = run_state_chan(s, STR("log"));
        if (s->interrupts.n > 0 && s->pins.n > 0 && s->variables.n > 2 && sum->summed &&
            log->n > 0 && s->sched.triggers &&
            s->sched.triggers[1].n + s->sched.triggers[0].n > 0 && !run_status_final(s->status))
            break;
    }
    struct trigger_state *q = &s->sched.triggers[s->sched.triggers[0].n > 0 ? 0 : 1];
    struct chan_state *sum = run_state_chan(s, STR("sum")), *log = run_state_chan(s, STR("log"));
    cr_assert(q->n > 0 && s->interrupts.n > 0 && s->pins.n > 0 && sum->summed && log->n > 0);
    for (int r = 0; r < RULE_NR; r++) s->nodes[4].sched.in[r].total |= 2;
    SHOWN(s, run_state, s,
          GAPS(GAP(run_state, program), GAP(run_state, wf), GAP(run_state, arena),
               GAP(run_state, meta), /* of the creation */
               GAP(run_state, options), GAP(run_state, nodes), GAP(run_state, sched.edges),
               GAP(run_state, sched.ready), GAP(run_state, sched.ready_nr),
               GAP(run_state, sched.region), GAP(run_state, sched.skips),
               GAP(run_state, sched.skips_nr), GAP(run_state, sched.wishes),
               GAP(run_state, sched.retries), GAP(run_state, sched.held),
               GAP(run_state, sched.asleep_from), GAP(run_state, sched.loops_nr),
               GAP(run_state, sched.triggers), GAP(run_state, sched.settling),
               GAP(run_state, inputs_seen), /* of the creation too */
               GAP(run_state, waits), GAP(run_state, interrupts), GAP(run_state, error),
               GAP(run_state, variables), GAP(run_state, channels.v), GAP(run_state, channels.n),
               GAP(run_state, channels.cap), GAP(run_state, channels.ops),
               GAP(run_state, channels.ops_nr), GAP(run_state, channels.ops_cap),
               GAP(run_state, pins), GAP(run_state, agent), GAP(run_state, outputs),
               GAP(run_state, orch.agent), GAP(run_state, orch.decision),
               GAP(run_state, dirty_run)));
    SHOWN(s, node_state, &s->nodes[4],
          GAPS(GAP(node_state, sched.pos), GAP(node_state, sched.mark),
               GAP(node_state, sched.blocker), GAP(node_state, dirty), GAP(node_state, queued),
               GAP(node_state, outputs), GAP(node_state, error), GAP(node_state, clear),
               GAP(node_state, cost), GAP(node_state, orch.decision),
               GAP(node_state, conversation)));
    s->nodes[4].conversation = MEM_NEW(struct conversation);
    cr_assert(s->nodes[4].conversation);
    s->nodes[4].conversation->turns = 2;
    SHOWN(s, conversation, s->nodes[4].conversation, GAPS(GAP(conversation, id)));
    SHOWN(s, var_state, &s->variables.v[0],
          GAPS(GAP(var_state, name), GAP(var_state, value), GAP(var_state, shown),
               GAP(var_state, dirty)));
    SHOWN(s, chan_state, sum,
          GAPS(GAP(chan_state, name), GAP(chan_state, decl), GAP(chan_state, v), GAP(chan_state, n),
               GAP(chan_state, cap), GAP(chan_state, sum), GAP(chan_state, shown)));
    SHOWN(s, chan_entry, &log->v[0], GAPS(GAP(chan_entry, fresh), GAP(chan_entry, value)));
    SHOWN(s, intr_state, &s->interrupts.v[0],
          GAPS(GAP(intr_state, voters), GAP(intr_state, voters_nr), GAP(intr_state, voters_cap),
               GAP(intr_state, id), GAP(intr_state, key), GAP(intr_state, payload),
               GAP(intr_state, value), GAP(intr_state, action), GAP(intr_state, decided_by)));
    SHOWN(s, pin_state, &s->pins.v[0], GAPS(GAP(pin_state, change_id)));
    SHOWN(s, trigger_fire, &q->v[0], none);
    SHOWN(s, sum, sum->sum, none);
    for (int r = 0; r < RULE_NR; r++) s->nodes[4].sched.in[r].total &= ~2u;
    run_state_free(s);
}
#endif

/* Clear values decide how the log is folded on, so they are of what an image belongs to. */
Test(state_save, an_image_is_that_of_its_sensitive_inputs /* OBS-71 */, .init = rich_up,
     .fini = rich_down) {
    static const char *const CLEAR[] = {"{\"in\":\"one\"}", "{\"in\":\"two\"}", ""};
    struct run_state *s = NULL, *t;
    struct state_aside aside;
    struct run_meta meta = {.workflow_id = rich->id,
                            .inputs = STR("{\"in\":\"[REDACTED]\"}"),
                            .inputs_clear = str_c(CLEAR[0]),
                            .sealed = true,
                            .created_ms = FW_T0};
    struct buf b;
    cr_assert_eq(run_state_new(rich, &meta, &RUN_LIMITS_DEFAULT, &s, NULL), 0);
    struct str image = image_of(s, &b);
    for (size_t i = 0; i < 3; i++) {
        meta.inputs_clear = str_c(CLEAR[i]);
        int rc = run_state_load(image, rich, &meta, &RUN_LIMITS_DEFAULT, &t, &aside, NULL);
        cr_expect_eq(rc, i == 0 ? 0 : WOPR_E_CORRUPT);
        if (rc != 0) continue;
        const struct var_state *v = run_state_var(t, STR("in"));
        cr_expect(str_eqc(text_str(&v->value), "\"one\"") && v->sensitive && t->secrecy.masks);
        cr_expect(str_eqc(var_shown(v), "\"[REDACTED]\""));
        run_state_free(t);
    }
    run_state_free(s);
    buf_fini(&b);
}

/* --- an image that is not trusted --- */

static int load_rc(struct str image, const char *inputs, int64_t limit) {
    struct run_state *s = NULL;
    struct state_aside aside;
    struct wopr_error err = {0};
    const struct run_meta meta = {
        .workflow_id = rich->id, .inputs = str_c(inputs), .recursion_limit = limit};
    int rc = run_state_load(image, rich, &meta, &RUN_LIMITS_DEFAULT, &s, &aside, &err);
    run_state_free(s);
    return rc;
}

Test(state_save, a_damaged_image_is_refused, .init = rich_up, .fini = rich_down) {
    struct buf b;
    dice = seed;
    log_make(&logs);
    struct run_state *s = fold_to(&logs, logs.n);
    struct str image = image_of(s, &b);
    cr_assert_eq(load_rc(image, "{\"in\":\"i\"}", 0), 0);
    for (size_t i = 0; i < image.n; i++) {
        b.p[i] = (char)(b.p[i] ^ 4);
        cr_assert_eq(load_rc(image, "{\"in\":\"i\"}", 0), WOPR_E_CORRUPT, "byte %zu", i);
        b.p[i] = (char)(b.p[i] ^ 4);
        cr_assert_eq(load_rc(str_n(image.p, i), "{\"in\":\"i\"}", 0), WOPR_E_CORRUPT, "cut %zu", i);
    }
    run_state_free(s);
    buf_fini(&b);
}

Test(state_save, an_image_of_other_inputs_or_limits_is_refused /* FORK-23 */, .init = rich_up,
     .fini = rich_down) {
    struct buf b;
    struct run_state *s = fresh();
    struct str image = image_of(s, &b);
    cr_assert_eq(load_rc(image, "{\"in\":\"i\"}", 0), 0);
    cr_assert_eq(load_rc(image, "{\"in\":\"j\"}", 0), WOPR_E_CORRUPT);
    cr_assert_eq(load_rc(image, "{\"in\":\"i\"}", 7), WOPR_E_CORRUPT);
    struct workflow *other = rich;
    rich = fw_compile(FW_CHAIN);
    cr_assert_eq(load_rc(image, "{\"in\":\"i\"}", 0), WOPR_E_CORRUPT);
    workflow_unref(rich);
    rich = other;
    run_state_free(s);
    buf_fini(&b);
}

Test(state_save, too_large_a_state_has_no_image, .init = rich_up, .fini = rich_down) {
    struct buf b;
    struct run_state *s = fresh();
    buf_init(&b, 64);
    cr_assert_eq(run_state_save(s, &ASIDE, &b), WOPR_E_TOO_BIG);
    buf_fini(&b);
    run_state_free(s);
}

Test(state_save, memory_may_fail_at_every_allocation, .init = rich_up, .fini = rich_down) {
    struct buf b;
    dice = seed;
    log_make(&logs);
    struct run_state *s = fold_to(&logs, logs.n);
    struct str image = image_of(s, &b);
    unsigned nth = 1;
    for (; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        int rc = load_rc(image, "{\"in\":\"i\"}", 0);
        bool fired = fault_fired();
        fault_disarm();
        cr_assert_eq(rc, fired ? WOPR_E_NO_MEMORY : 0, "allocation %u", nth);
        if (!fired) break;
    }
    cr_assert_gt(nth, 20);
    for (nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++) {
        struct buf c;
        buf_init(&c, IMAGE_MAX);
        int rc = run_state_save(s, &ASIDE, &c);
        bool fired = fault_fired();
        fault_disarm();
        cr_assert_eq(rc, fired ? WOPR_E_TOO_BIG : 0);
        buf_fini(&c);
        if (!fired) break;
    }
    run_state_free(s);
    buf_fini(&b);
}

/* --- rows out of a loaded state --- */

static bool row_is(const struct plan *p, struct str name, struct str value) {
    for (size_t i = 0; i < p->vars_nr; i++)
        if (str_eq(p->vars[i].name, name)) return str_eq(p->vars[i].value, value);
    return false;
}

static const struct plan_node_row *node_row(const struct plan *p, struct str id) {
    const struct plan_node_row *found = NULL;
    for (size_t i = 0; i < p->nodes_nr; i++)
        if (str_eq(p->nodes[i].node_id, id)) found = &p->nodes[i];
    return found;
}

Test(state_save, a_soiled_state_makes_the_rows_that_the_whole_fold_makes /* EVT-44 */,
     .init = rich_up, .fini = rich_down) {
    for (unsigned i = 0; i < ROUNDS; i++, seed++) {
        struct buf b;
        dice = seed;
        log_make(&logs);
        struct run_state *whole = fold_to(&logs, logs.n), *half = fold_to(&logs, logs.n / 2);
        struct run_state *s = state_of(image_of(half, &b));
        struct plan *p = plan_new(), *q = plan_new();
        run_state_soil(s);
        for (size_t k = logs.n / 2; k < logs.n; k++)
            cr_assert_eq(run_state_apply(s, &logs.v[k], NULL), 0);
        plan_project(p, whole, 0);
        plan_project(q, s, 0);
        cr_assert_eq(p->failed, 0);
        cr_assert_eq(q->failed, 0);
        for (size_t k = 0; k < p->nodes_nr; k++) {
            const struct plan_node_row *row = node_row(q, p->nodes[k].node_id);
            cr_assert(row && str_eq(row->state, p->nodes[k].state), "seed %llu",
                      (unsigned long long)seed);
        }
        for (size_t k = 0; k < p->vars_nr; k++)
            cr_assert(row_is(q, p->vars[k].name, p->vars[k].value));
        cr_assert_eq(p->chans_nr, q->chans_nr, "seed %llu", (unsigned long long)seed);
        for (size_t k = 0; k < p->chans_nr; k++)
            cr_assert(p->chans[k].op == q->chans[k].op && p->chans[k].seq == q->chans[k].seq &&
                      str_eq(p->chans[k].name, q->chans[k].name) &&
                      str_eq(p->chans[k].value, q->chans[k].value));
        plan_unref(p);
        plan_unref(q);
        run_state_free(whole);
        run_state_free(half);
        run_state_free(s);
        buf_fini(&b);
    }
}

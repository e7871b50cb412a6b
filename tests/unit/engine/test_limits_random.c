/*
 * test_limits_random.c: random definitions and inputs at and beyond the bounds of bounds.def: each
 * is refused, or its run ends, or waits for something that comes; it can always be cancelled, is
 * never parked, and folds.  WOPR_TEST_SEED chooses another seed, WOPR_TEST_ROUNDS more rounds.
 */
#include "engine_world.h"

#include "codec/json.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void up(void) {
    W.cfg.limits = RUN_LIMITS_DEFAULT;
    W.cfg.limits.max_node_executions = 20000;
    world_virtual_time();
    world_up();
}
TestSuite(engine_limits_random, .init = up, .fini = world_down, .timeout = 600);

#define SEED_DEFAULT   20261122
#define ROUNDS_DEFAULT 2 /* of all shapes */
#define WORLD_ROUNDS   10
#define TEXT_MAX       ((size_t)24 << 20)

static uint64_t SEED;
static uint64_t below(uint64_t n) {
    SEED = SEED * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (SEED >> 33) % n;
}
/* A number at the bound, just below, just beyond, or far beyond. */
static int64_t near_bound(int64_t bound) {
    switch (below(5)) {
    case 0:
        return bound - 1;
    case 1:
        return bound + 1;
    case 2:
        return bound <= INT64_MAX / 3 ? bound * 3 : INT64_MAX;
    default:
        return bound;
    }
}

struct shape { /* of one case; texts of the arena */
    struct buf nodes, edges, vars, inputs;
    struct str more;
};

static void add(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct buf *b, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (b->len > 0) buf_addc(b, ',');
    buf_addz(b, text);
}

static void node(struct shape *s, const char *id, const char *type, const char *config,
                 const char *ports, const char *settings) {
    add(&s->nodes,
        "{\"id\":\"%s\",\"typeId\":\"%s\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
        "\"config\":{%s},\"inputs\":{%s},\"settings\":{%s}}",
        id, type, config, ports, settings);
}

static struct str text_of(size_t n, char c) {
    char *p = arena_alloc(W.a, n + 2);
    cr_assert_not_null(p);
    memset(p, c, n + 2);
    p[0] = p[n + 1] = '"';
    return str_n(p, n + 2);
}

static void input(struct shape *s, const char *name, const char *type, struct str raw) {
    add(&s->vars, "{\"name\":\"%s\",\"type\":\"%s\"}", name, type);
    add(&s->inputs, "\"%s\":", name);
    buf_adds(&s->inputs, raw);
}

#define PORT_VAR "\"%s\":{\"type\":\"variable\",\"variableName\":\"%s\"}"

/* --- shapes --- */

static void many_nodes(struct shape *s) {
    int64_t n = below(2) ? near_bound(900) : near_bound((int64_t)WF_NODES_MAX);
    bool gates = below(2), fails = below(2);
    for (int64_t i = 0; i < n && i < 12000; i++)
        add(&s->nodes,
            "{\"id\":\"n%d\",\"typeId\":\"%s\",\"name\":\"\",\"position\":{\"x\":0,\"y\":0},"
            "\"config\":{},\"inputs\":{}}",
            (int)i,
            fails && i == 7 ? "core.fail"
            : gates         ? "core.approvalGate"
                            : "core.noop");
}

static void many_names(struct shape *s) {
    bool vars = below(2);
    int64_t n = near_bound((int64_t)WF_VARS_MAX);
    struct buf b;
    buf_init(&b, TEXT_MAX);
    for (int64_t i = 0; i < n; i++)
        if (vars)
            add(&s->vars, "{\"name\":\"v%d\",\"type\":\"number\",\"defaultValue\":%d}", (int)i, 1);
        else add(&b, "\"v%d\":{\"reducer\":\"append\"}", (int)i);
    if (!vars) s->more = arena_printf(W.a, ",\"channels\":{" STR_FMT "}", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    if (below(2)) node(s, "g", "core.approvalGate", "\"requiredApprovals\":2", "", "");
    node(s, "a", "core.setVariable", "\"name\":\"w\",\"value\":1", "", "");
    node(s, "b", "core.channelWrite", "\"channelName\":\"x\",\"value\":1", "", "");
}

static void long_names(struct shape *s) {
    bool channel = below(2);
    input(s, "name", "string", text_of((size_t)near_bound((int64_t)WF_NAME_MAX), 'x'));
    char port[128];
    snprintf(port, sizeof port, PORT_VAR, channel ? "channelName" : "name", "name");
    node(s, "a", channel ? "core.channelWrite" : "core.setVariable", "\"value\":1", port, "");
}

static void long_times(struct shape *s) {
    char text[128];
    snprintf(text, sizeof text, "\"maxRetries\":%d,\"retryDelayMs\":%lld,\"timeoutMs\":%lld",
             (int)below(3), (long long)near_bound(WF_RETRY_MS_MAX),
             (long long)near_bound(WF_TIME_MS_MAX));
    node(s, "a", "test.flaky", "\"failures\":1", "", text);
    snprintf(text, sizeof text, "\"ms\":%lld", (long long)near_bound(RUN_WAIT_MS_MAX));
    node(s, "b", "core.delay", text, "", "");
    snprintf(text, sizeof text, "\"timeoutMs\":%lld,\"requiredApprovals\":%lld",
             (long long)near_bound(INTR_TIMEOUT_MAX), (long long)near_bound(INTR_VOTERS_MAX));
    node(s, "c", "core.approvalGate", text, "", "");
    W.accepted = below(2);
}

static void large_payloads(struct shape *s) {
    static const char *const types[] = {"core.identity", "core.setVariable", "core.channelWrite",
                                        "vendor.wopr.log", "core.interrupt"};
    static const char *const configs[] = {"", "\"name\":\"x\"", "\"channelName\":\"x\"", "",
                                          "\"kind\":\"custom\""};
    static const char *const ports[] = {"value", "value", "value", "message", "data"};
    size_t k = below(5);
    int64_t n = near_bound((int64_t)EVENT_PAYLOAD_MAX - (int64_t)below(300));
    char port[128];
    input(s, "b", "string", text_of((size_t)n, below(4) ? 'a' : '\x7f'));
    snprintf(port, sizeof port, PORT_VAR, ports[k], "b");
    node(s, "a", types[k], configs[k], port, "");
    node(s, "b", types[k], configs[k], port, "");
}

static void large_expressions(struct shape *s) {
    char text[1024] = "\"value\":{\"type\":\"expression\",\"expression\":\"size(variables.b";
    size_t n = 1 + below(40);
    for (size_t i = 0; i < n; i++) strncat(text, "+variables.b", sizeof text - strlen(text) - 1);
    strncat(text, below(2) ? ")\"}" : "+string(size(variables)))\"}",
            sizeof text - strlen(text) - 1);
    input(s, "b", "string", text_of(below(1000000), 'b'));
    node(s, "a", "core.identity", "", text, "");
}

static void many_ports(struct shape *s) {
    struct buf b;
    size_t n = 2 + below(60);
    buf_init(&b, TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "p%zu", i);
        add(&b, PORT_VAR, name, "b");
    }
    input(s, "b", "string", text_of(below(1000000), 'b'));
    if (s->nodes.len > 0) buf_addc(&s->nodes, ',');
    buf_addz(&s->nodes,
             "{\"id\":\"a\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,"
             "\"y\":0},\"config\":{},\"inputs\":{");
    buf_adds(&s->nodes, buf_str(&b));
    buf_addz(&s->nodes, "}}");
    buf_fini(&b);
}

/* Many writes to one channel, which meet the bound of the run's values, or of the reducer. */
static void large_channels(struct shape *s) {
    static const char *const reducers[] = {"append", "merge", "replace", "feedback", "message"};
    struct buf b;
    const char *reducer = reducers[below(5)];
    size_t n = 2 + below(28), keys = below(2) ? 60000 : 1, bytes = below(700000);
    buf_init(&b, TEXT_MAX);
    buf_addc(&b, '{');
    for (size_t i = 0; i < keys; i++) add(&b, "%s\"k%zu\":%zu", i ? "" : " ", i, i);
    buf_addz(&b, ",\"t\":");
    buf_adds(&b, text_of(keys > 1 ? 10 : bytes, 't'));
    buf_addc(&b, '}');
    b.p[1] = ' '; /* the comma of add before the first member */
    input(s, "b", "object", arena_str(W.a, buf_str(&b)));
    buf_fini(&b);
    for (size_t i = 0; i < n; i++) {
        char id[32], port[128];
        snprintf(id, sizeof id, "n%zu", i);
        snprintf(port, sizeof port, PORT_VAR, "value", "b");
        node(s, id, "core.channelWrite", "\"channelName\":\"c\"", port, "");
    }
    s->more = arena_printf(W.a, ",\"channels\":{\"c\":{\"reducer\":\"%s\",\"maxSize\":%lld}}",
                           reducer, (long long)near_bound(below(2) ? 5 : 1000000));
}

static void many_effects(struct shape *s) {
    char text[128];
    snprintf(text, sizeof text, "\"effects\":%lld,\"bytes\":%lld",
             (long long)near_bound((int64_t)NODE_EFFECTS_MAX), (long long)below(150000));
    node(s, "a", "test.many", text, "", "");
    node(s, "b", "core.noop", "", "", "");
}

static void (*const SHAPES[])(struct shape *s) = {
    many_nodes,        many_names, long_names,     long_times,   large_payloads,
    large_expressions, many_ports, large_channels, many_effects,
};

/* --- one case --- */

static struct str rendered(struct shape *s) {
    struct buf b;
    buf_init(&b, 4 * TEXT_MAX);
    buf_addz(&b, "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"edges\":[],\"triggers\":[],"
                 "\"metadata\":{},\"settings\":{},\"nodes\":[");
    buf_adds(&b, buf_str(&s->nodes));
    buf_addz(&b, "],\"variables\":[");
    buf_adds(&b, buf_str(&s->vars));
    buf_addz(&b, "]");
    buf_adds(&b, s->more);
    buf_addz(&b, "}");
    cr_assert(!buf_failed(&b));
    struct str text = arena_str(W.a, buf_str(&b));
    buf_fini(&b);
    return text;
}

static bool is_refusal(int rc) { return rc == WOPR_E_VALIDATION || rc == WOPR_E_TOO_BIG; }

/* NULL: refused, with a code that says so. */
static struct workflow *registered(struct str text, const char *what) {
    struct wopr_error err = {0};
    struct wf_env env = {.accepted = W.accepted};
    struct workflow *wf = NULL;
    int rc = workflow_compile(text, &env, &wf, &err);
    if (rc == 0) {
        workflow_unref(wf);
        return world_put(text);
    }
    cr_expect(is_refusal(rc), "%s: %s", what, wopr_err_name(rc));
    cr_expect_neq(err.message[0], '\0');
    return NULL;
}

/* The id of the run; empty: refused. */
static struct str created(struct workflow *wf, struct str inputs, const char *what) {
    struct call c;
    struct wopr_error err = {0};
    struct str id = STR_NONE;
    call_init(&c, ENGINE_CREATE, STR_NONE);
    c.cmd.create.wf = wf;
    c.cmd.create.inputs_accepted = inputs;
    int rc = run_inputs_check(inputs, wf, c.cmd.arena, &c.cmd.create.inputs, &err);
    if (rc == 0)
        rc = run_options_load(STR("{\"recursionLimit\":20000}"), STR_NONE, STR_NONE, &W.cfg.limits,
                              c.cmd.arena, &c.cmd.create.options, &err);
    if (rc == 0) {
        call_do(&c);
        rc = c.cmd.result.rc;
        if (rc == 0) id = arena_str(W.a, c.cmd.result.run_id);
    }
    cr_expect(rc == 0 || is_refusal(rc), "%s: %s", what, wopr_err_name(rc));
    call_fini(&c);
    return id;
}

static bool engine_works(void) {
    pthread_mutex_lock(&W.engine->mu);
    bool works = W.engine->life.busy_nr > 0 || W.engine->inflight_nr > 0;
    pthread_mutex_unlock(&W.engine->mu);
    return works;
}

/* Until it has ended, or rests: nothing is written for a while of virtual time. */
static void settled(struct str run) {
    for (int quiet = 0; quiet < 40;) {
        struct run_head h = world_head(run), later;
        if (run_status_final(h.status)) return;
        struct timespec slice = {.tv_nsec = 5000000};
        nanosleep(&slice, NULL);
        world_time_skip(2000); /* past every backoff of the engine */
        later = world_head(run);
        quiet = later.next_seq == h.next_seq && !engine_works() ? quiet + 1 : 0;
    }
}

/* times: it may wait for a delay or a retry. */
static void checked(struct str run, bool times, const char *what) {
    enum run_status st;
    settled(run);
    struct run_head h = world_head(run);
    cr_expect_eq(h.parked.n, 0u, "%s: parked: " STR_FMT, what, STR_ARG(h.parked));
    if (!run_status_final(h.status)) { /* it waits: the deadline, the retry or the answer is told */
        bool waits = h.status == RUN_WAITING_APPROVAL || h.status == RUN_WAITING_INPUT ||
                     h.status == RUN_WAITING_EXTERNAL || (h.status == RUN_RUNNING && times);
        cr_expect(waits, "%s: %s", what, run_status_name(h.status));
        cr_expect_eq(world_op(ENGINE_CANCEL, run, &st), 0, "%s: cannot be cancelled", what);
        cr_expect(run_status_final(st), "%s", what);
    }
    if (h.next_seq < 4000) world_check_log(run);
}

static void one_case(size_t shape, uint64_t seed) {
    struct shape s = {.more = STR_NONE};
    char what[64];
    snprintf(what, sizeof what, "shape %zu, seed %llu", shape, (unsigned long long)seed);
    buf_init(&s.nodes, TEXT_MAX);
    buf_init(&s.edges, TEXT_MAX);
    buf_init(&s.vars, TEXT_MAX);
    buf_init(&s.inputs, TEXT_MAX);
    SEED = seed;
    W.accepted = false;
    SHAPES[shape](&s);
    struct workflow *wf = registered(rendered(&s), what);
    struct str inputs = arena_printf(W.a, "{" STR_FMT "}", STR_ARG(buf_str(&s.inputs)));
    if (wf) {
        struct str run = created(wf, inputs, what);
        if (run.n > 0) checked(run, SHAPES[shape] == long_times, what);
    }
    workflow_unref(wf);
    buf_fini(&s.nodes);
    buf_fini(&s.edges);
    buf_fini(&s.vars);
    buf_fini(&s.inputs);
    W.accepted = false;
}

Test(engine_limits_random, every_run_ends_is_refused_or_waits) {
    const char *seed = getenv("WOPR_TEST_SEED"), *more = getenv("WOPR_TEST_ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : SEED_DEFAULT;
    size_t rounds = more ? strtoul(more, NULL, 10) : sampled(ROUNDS_DEFAULT);
    for (size_t i = 0; i < rounds; i++) {
        if (i % WORLD_ROUNDS == WORLD_ROUNDS - 1) { /* all that was read is in its memory */
            world_down();
            up();
        }
        for (size_t k = 0; k < sizeof SHAPES / sizeof SHAPES[0]; k++)
            one_case(k, first + i * 1000003 + k);
    }
}

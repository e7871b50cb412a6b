/* statuses_kit.c: see statuses_kit.h. */
#include "statuses_kit.h"

#include "base/clock.h"
#include "host/host.h"
#include "store/run_lists.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

static bool waits(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

/* Codes whose answer is a server's error. */
static int http_status(int rc) {
    switch (rc) {
#define V1_ERR(id, status, ...)                                                                    \
    case WOPR_E_##id:                                                                              \
        return status;
#include "wire/v1/errors.def"
#undef V1_ERR
    default:
        return 200;
    }
}

/* --- rows --- */

#define DELAY NODE("d", "core.delay", "\"ms\":3600000", "")
#define GATE  NODE("g", "core.approvalGate", "\"actions\":[\"accept\",\"reject\",\"ask\"]", "")
#define UNTIL NODE("g", "core.approvalGate", "\"actions\":[\"accept\"],\"timeoutMs\":5400000", "")
#define TIMED                                                                                      \
    "{\"id\":\"d\",\"typeId\":\"core.delay\",\"name\":\"d\",\"position\":{\"x\":0,\"y\":0},"       \
    "\"config\":{\"ms\":7200000},\"inputs\":{},\"settings\":{\"timeoutMs\":5400000}}"
#define ASKS                                                                                       \
    NODE("g", "core.clarificationGate", "\"questions\":[{\"id\":\"q\",\"question\":\"?\"}]", "")
#define HEARS                                                                                      \
    NODE("g", "core.interrupt",                                                                    \
         "\"kind\":\"external-event\",\"data\":{\"eventType\":\"e\",\"correlation\":{\"n\":1}}",   \
         "")
#define TYPE    "acme.status"
#define TASKED  NODE("g", TYPE, "", "")
#define FLAKY   NODE("f", "test.flaky", "\"failures\":1", "")
#define SUB(of) NODE("s", "core.subWorkflow", "\"workflowId\":\"" of "\"", "")
#define RETRIES "\"maxRetries\":2,\"retryDelayMs\":3600000"
#define ENDS    "\"timeout\":5400000" /* of the run */

const struct shape SHAPES[] = {
    {"pending", RUN_PENDING, DELAY, 0, BY_ITSELF, true},
    {"in a delay", RUN_RUNNING, DELAY, 0, BY_ITSELF, false},
    {"before a retry", RUN_RUNNING, FLAKY, RETRIES, BY_ITSELF, false},
    {"with a child", RUN_RUNNING, SUB("sleeper"), 0, BY_ITSELF, false},
    {"asks", RUN_WAITING_APPROVAL, GATE, 0, BY_ITSELF, false},
    {"asks beside a delay", RUN_WAITING_APPROVAL, GATE "," DELAY, 0, BY_ITSELF, false},
    {"asks beside a retry", RUN_WAITING_APPROVAL, GATE "," FLAKY, RETRIES, BY_ITSELF, false},
    {"child asks", RUN_WAITING_APPROVAL, SUB("asker"), 0, BY_ITSELF, false},
    {"clarifies", RUN_WAITING_INPUT, ASKS, 0, BY_ITSELF, false},
    {"waits for an event", RUN_WAITING_EXTERNAL, HEARS, 0, BY_ITSELF, false},
    {"paused before it began", RUN_PAUSED, DELAY, 0, BY_PAUSE, true},
    {"paused", RUN_PAUSED, DELAY, 0, BY_PAUSE, false},
    {"drained", RUN_PAUSED, DELAY, 0, BY_DRAIN, false},
    {"paused before a retry", RUN_PAUSED, FLAKY, RETRIES, BY_DRAIN, false},
    {"paused with a child", RUN_PAUSED, SUB("sleeper"), 0, BY_DRAIN, false},
    {"asks until a deadline", RUN_WAITING_APPROVAL, UNTIL, 0, BY_ITSELF, false},
    {"in a delay that is cut off", RUN_RUNNING, TIMED, 0, BY_ITSELF, false},
    {"drained in one that is cut off", RUN_PAUSED, TIMED, 0, BY_DRAIN, false},
    {"before a retry that comes too late", RUN_RUNNING, FLAKY, RETRIES "," ENDS, BY_ITSELF, false},
    {"paused before one", RUN_PAUSED, FLAKY, RETRIES "," ENDS, BY_PAUSE, false},
    {"with a task of a worker", RUN_RUNNING, TASKED, 0, BY_ITSELF, false},
    {"paused with a task", RUN_PAUSED, TASKED, 0, BY_PAUSE, false},
    {"drained with a task", RUN_PAUSED, TASKED, RETRIES, BY_DRAIN, false},
    {"completed", RUN_COMPLETED, NODE("n", "core.noop", "", ""), 0, BY_ITSELF, false},
    {"failed", RUN_FAILED, NODE("f", "core.fail", "", ""), 0, BY_ITSELF, false},
    {"cancelled", RUN_CANCELLED, DELAY, 0, BY_CANCEL, false},
    {"cancelled before it began", RUN_CANCELLED, DELAY, 0, BY_CANCEL, true},
};
_Static_assert(sizeof SHAPES / sizeof *SHAPES == SHAPES_NR, "as declared");

const struct order ORDERS[] = {
    {.name = "create again", .op = ENGINE_CREATE},
    {.name = "cancel", .op = ENGINE_CANCEL},
    {.name = "pause", .op = ENGINE_PAUSE, .drain = DRAIN_IMMEDIATE},
    {.name = "drain", .op = ENGINE_PAUSE, .drain = DRAIN_CURRENT_NODE},
    {.name = "resume", .op = ENGINE_RESUME},
    {.name = "answer", .op = ENGINE_RESOLVE, .node = "g", .value = "{\"action\":\"accept\"}"},
    {.name = "ask",
     .op = ENGINE_RESOLVE,
     .node = "g",
     .value = "{\"action\":\"ask\",\"question\":\"why?\"}"},
    {.name = "answer nothing", .op = ENGINE_RESOLVE, .node = "d", .value = "1"},
    {.name = "answer by id", .op = ENGINE_RESOLVE, .interrupt = "int_none", .value = "1"},
    {.name = "complete a task", .op = ENGINE_TASK, .value = "{}", .verb = TASK_COMPLETE},
    {.name = "fail a task", .op = ENGINE_TASK, .value = "{}", .verb = TASK_FAIL},
    {.name = "ask of a task", .op = ENGINE_TASK, .value = "{}", .verb = TASK_ASK},
    {.name = "replay", .op = ENGINE_FORK, .mode = FORK_REPLAY, .from = 0},
    {.name = "branch at the end", .op = ENGINE_FORK, .mode = FORK_BRANCH, .from = -1},
    {.name = "replay at the end", .op = ENGINE_FORK, .mode = FORK_REPLAY, .from = -1},
};
_Static_assert(sizeof ORDERS / sizeof *ORDERS == ORDERS_NR, "as declared");

static const char *const LINEAGES[] = {"a run", "a branch", "a replay", "a replay of a branch",
                                       "a branch of a replay"};
struct subject *SUBJECTS;
size_t SUBJECTS_NR;

const char *label(const struct subject *x) {
    return arena_cstr(W.a, arena_printf(W.a, "%s, %s, %s (cut %d): %s", LINEAGES[x->lineage],
                                        x->shape->name, x->order->name, (int)x->cut,
                                        x->run.n ? world_story(x->run) : "?"));
}

/* --- making --- */

static struct workflow *shape_workflow(const struct shape *s) {
    return world_put(world_def(arena_cstr(W.a, arena_printf(W.a, "w%d", (int)(s - SHAPES))),
                               s->nodes, 0, 0, s->settings, 0));
}

void answered(const struct subject *x, const struct call *c, const char *what) {
    cr_expect_lt(http_status(c->cmd.result.rc), 500, "%s: %s: %s (%s)", label(x), what,
                 wopr_err_name(c->cmd.result.rc), c->cmd.result.err.message);
}

/* What a worker has of these runs, and what of it was taken in. */
unsigned TAKEN[TASK_EMIT + 1];
static struct task_row CLAIMED[4096];
static size_t CLAIMED_NR;

static void tasks_claim(void) {
    for (struct task_row_list l = {.n = 1}; l.n > 0;) {
        l = worker_claim(TYPE, 16, HOUR_MS);
        for (size_t i = 0; i < l.n; i++) {
            cr_assert_lt(CLAIMED_NR, sizeof CLAIMED / sizeof *CLAIMED);
            CLAIMED[CLAIMED_NR++] = l.v[i];
        }
    }
}

static void task_fill(struct call *c, struct str run, const struct order *o) {
    struct cmd_task *t = &c->cmd.task;
    *t = (struct cmd_task){.task_id = STR("task_none"), .says = {.verb = o->verb}};
    for (size_t i = 0; i < CLAIMED_NR; i++) {
        if (!str_eq(CLAIMED[i].run_id, run)) continue;
        t->task_id = CLAIMED[i].task_id;
        t->epoch = CLAIMED[i].epoch;
    }
    if (o->verb == TASK_COMPLETE) t->says.output = str_c(o->value);
    if (o->verb == TASK_ASK)
        t->says.data = STR("{\"artifactId\":\"a\",\"artifactType\":\"x\",\"title\":\"?\","
                           "\"actions\":[\"accept\"]}");
    t->says.kind = STR("approval");
    t->says.code = t->says.message = STR("no");
    t->says.retryable = true;
}

/* The command of an order or a shape; sent by the caller. */
void order_fill(struct call *c, const struct subject *x, const struct order *o) {
    call_init(c, o->op, x->run);
    c->cmd.control.reason = STR_NONE;
    if (o->op == ENGINE_PAUSE) c->cmd.control.drain = o->drain;
    if (o->op == ENGINE_RESOLVE) {
        c->cmd.resolve.node_id = str_c(o->node ? o->node : "");
        c->cmd.resolve.interrupt_id = str_c(o->interrupt ? o->interrupt : "");
        c->cmd.resolve.value = str_c(o->value);
        c->cmd.resolve.may_delegate = true;
        if (o->interrupt) c->cmd.resolve.via = RESOLVE_TOKEN;
    }
    if (o->op == ENGINE_TASK) task_fill(c, x->run, o);
    if (o->op == ENGINE_FORK) {
        c->cmd.fork.mode = o->mode;
        c->cmd.fork.from_seq = o->from;
        if (o->from < 0 && x->run.n > 0) c->cmd.fork.from_seq = world_head(x->run).next_seq - 1;
        if (c->cmd.fork.from_seq < 0) c->cmd.fork.from_seq = 0; /* no event yet */
    }
}

static const struct order BRINGS[] = {
    [BY_ITSELF] = {.op = ENGINE_OP_NR},
    [BY_CANCEL] = {.op = ENGINE_CANCEL},
    [BY_PAUSE] = {.op = ENGINE_PAUSE, .drain = DRAIN_IMMEDIATE},
    [BY_DRAIN] = {.op = ENGINE_PAUSE, .drain = DRAIN_CURRENT_NODE},
};

struct early EARLY;

static bool run_asked_for(struct engine *e, struct str run_id) {
    pthread_mutex_lock(&e->mu);
    const struct run_exec *re = map_get(e->runs.by_id, run_id);
    bool asked = !re || re->lease.requested;
    pthread_mutex_unlock(&e->mu);
    return asked;
}

static void early_done(struct engine_cmd *cmd) {
    struct engine *e = cmd->priv;
    struct str run = cmd->result.run_id;
    if (EARLY.window == COMMAND_IN) {
        if (EARLY.command->cmd.op != ENGINE_FORK || EARLY.command->cmd.run_id.n == 0)
            EARLY.command->cmd.run_id = run;
        engine_submit(e, &EARLY.command->cmd);
    }
    sem_post(&EARLY.open);
    while (EARLY.window == HOST_STOPS && !engine_is_stopping(e)) sched_yield();
    while (EARLY.window == RUN_ASKED_FOR && !EARLY.answered && !run_asked_for(e, run))
        sched_yield();
    EARLY.done(cmd);
}

void create_call(struct subject *x, struct call *c) {
    struct order o = {.op = ENGINE_FORK, .mode = FORK_BRANCH, .from = x->cut};
    if (x->lineage == REPLAY || x->lineage == REPLAY_OF_BRANCH) o.mode = FORK_REPLAY;
    struct subject of = {.run = x->source};
    order_fill(c, &of, &o);
    call_key(c, arena_cstr(W.a, arena_printf(W.a, "key-%u", x->key)), "body");
}

/* Sends the creation of a fork and returns in the window, where there is one. */
void fork_send(struct subject *x, struct call *c, enum window window, struct call *command) {
    create_call(x, c);
    EARLY.window = window;
    EARLY.command = command;
    EARLY.answered = false;
    EARLY.done = c->cmd.done;
    sem_init(&EARLY.open, 0, 0);
    c->cmd.priv = W.engine;
    if (window != NO_WINDOW) c->cmd.done = early_done;
    call_send(c);
    if (window != NO_WINDOW) cr_assert_eq(world_wait_sem(&EARLY.open), 0);
    if (window != NO_WINDOW) x->run = arena_str(W.a, c->cmd.result.run_id);
}

void fork_made(struct subject *x, struct call *c) {
    call_wait(c);
    cr_assert_eq(c->cmd.result.rc, 0, "%s", c->cmd.result.err.message);
    x->run = arena_str(W.a, c->cmd.result.run_id);
    call_fini(c);
}

/* A fork, with a command before its first step when the shape says so. */
static void fork_make(struct subject *x) {
    struct call c, early;
    bool commands = x->shape->at_once && x->shape->by != BY_ITSELF;
    if (commands) order_fill(&early, x, &BRINGS[x->shape->by]);
    fork_send(x, &c, commands ? COMMAND_IN : NO_WINDOW, &early);
    fork_made(x, &c);
    if (!commands) return;
    call_wait(&early);
    answered(x, &early, "first command");
    call_fini(&early);
}

static bool is_on_its_way(const struct subject *x) {
    struct run_head h = world_head(x->run);
    enum run_status s = x->shape->status;
    if (h.status == s || run_status_final(h.status)) {
        if (s != RUN_RUNNING || h.status != s) return true;
    }
    bool running = s == RUN_RUNNING || x->shape->by != BY_ITSELF;
    return running && h.status == RUN_RUNNING &&
           (strstr(x->shape->nodes, "flaky") ? world_count(x->run, EV_NODE_RETRIED) > 0
                                             : world_count(x->run, EV_NODE_STARTED) > 0);
}

static void shape_reach(struct subject *x) {
    if (x->shape->at_once) return;
    for (;;) {
        struct run_head h = world_head(x->run);
        if (is_on_its_way(x)) break;
        world_wait_more(&h);
    }
    if (x->key % 2 == 0) tasks_claim(); /* of others they are ready */
    if (x->shape->by == BY_ITSELF || run_status_final(world_head(x->run).status)) return;
    struct call c;
    order_fill(&c, x, &BRINGS[x->shape->by]);
    call_do(&c);
    answered(x, &c, "the command of its shape");
    call_fini(&c);
}

static struct subject SOURCES[SHAPES_NR][LINEAGES_NR];
unsigned KEYS;

/* A run of the shape to be forked, of this lineage; one for all forks of it. */
static struct str source_of(const struct shape *s, enum lineage lineage) {
    struct subject *x = &SOURCES[s - SHAPES][lineage];
    if (x->run.n > 0) return x->run;
    static struct shape plain[SHAPES_NR];
    struct shape *p = &plain[s - SHAPES];
    *p = *s;
    p->at_once = false;
    if (s->at_once && s->by == BY_ITSELF) p->status = RUN_RUNNING;
    *x = (struct subject){.shape = p, .lineage = lineage, .order = &ORDERS[0], .key = ++KEYS};
    if (lineage == PLAIN) {
        struct workflow *wf = shape_workflow(s);
        x->run = world_create(wf, NULL, NULL);
        workflow_unref(wf);
    } else {
        x->source = source_of(s, PLAIN);
        x->cut = world_head(x->source).next_seq / 2;
        fork_make(x);
    }
    shape_reach(x);
    return x->run;
}

void subject_make(struct subject *x) {
    static const enum lineage OF[] = {[BRANCH] = PLAIN,
                                      [REPLAY] = PLAIN,
                                      [REPLAY_OF_BRANCH] = BRANCH,
                                      [BRANCH_OF_REPLAY] = REPLAY};
    if (x->lineage == PLAIN) {
        struct workflow *wf = shape_workflow(x->shape);
        x->run = world_create(wf, NULL, NULL);
        workflow_unref(wf);
        shape_reach(x);
        return;
    }
    x->source = source_of(x->shape, OF[x->lineage]);
    if (!x->shape->at_once)
        x->cut = (int64_t)((x->key * 7u) % (unsigned)world_head(x->source).next_seq);
    if (x->shape->status == RUN_PENDING) return; /* it is made when its command is sent */
    fork_make(x);
    shape_reach(x);
}

/* --- the end --- */

static void push_on(struct str run, const char *why) {
    static const struct order ANSWERS[RUN_STATUS_NR] = {
        [RUN_WAITING_APPROVAL] = {.op = ENGINE_RESOLVE,
                                  .node = "g",
                                  .value = "{\"action\":\"accept\"}"},
        [RUN_WAITING_INPUT] = {.op = ENGINE_RESOLVE,
                               .node = "g",
                               .value = "{\"answers\":{\"q\":\"a\"}}"},
        [RUN_WAITING_EXTERNAL] = {.op = ENGINE_RESOLVE, .node = "g", .value = "{\"n\":1}"},
        [RUN_PAUSED] = {.op = ENGINE_RESUME},
    };
    struct subject x = {.shape = SHAPES, .order = ORDERS, .run = run};
    struct run_head h = world_head(run);
    struct call c;
    if (h.status != RUN_PAUSED && !waits(h.status)) return;
    order_fill(&c, &x, &ANSWERS[h.status]);
    call_do(&c); /* the node of a parent that waits is not its own: its child is a run as well */
    cr_expect_lt(http_status(c.cmd.result.rc), 500, "%s: %s", why, c.cmd.result.err.message);
    call_fini(&c);
}

/* Calls each for every run that has not ended, children and forks of orders among them. */
size_t each_open(void (*each)(struct str run, const char *why), const char *why) {
    size_t n = 0;
    for (int status = 0; status < RUN_STATUS_NR; status++) {
        struct run_filter f = {.tenant = STR("t1"), .test_mode = true, .whole = true};
        f.status = status;
        f.max = STORE_LIST_MAX;
        struct run_list l = {.n = 1};
        for (struct wopr_error err; !run_status_final((enum run_status)status) && l.n > 0;) {
            cr_assert_eq(store_run_list(W.store, &f, W.a, &l, &err), 0, "%s", err.message);
            for (size_t i = 0; i < l.n; i++) each(l.v[i].head.run_id, why);
            if (l.n > 0) f.before_run_no = l.v[l.n - 1].head.run_no;
            n += l.n;
        }
    }
    return n;
}

static void tasks_complete(void) {
    const struct task_says done = {.verb = TASK_COMPLETE, .output = STR("{}")};
    CLAIMED_NR = 0;
    tasks_claim();
    for (size_t i = 0; i < CLAIMED_NR; i++) (void)worker_say(&CLAIMED[i], &done, NULL);
}

void all_end(const char *why) {
    for (int round = 0; each_open(push_on, why) > 0; round++) {
        tasks_complete();
        if (round == 40)
            for (size_t i = 0; i < SUBJECTS_NR; i++)
                cr_assert(run_status_final(world_head(SUBJECTS[i].run).status), "%s",
                          label(&SUBJECTS[i]));
        cr_assert_lt(round, 50, "%s: a run does not end", why);
        world_time_skip(HOUR_MS + 1000);
        for (size_t i = 0; i < SUBJECTS_NR; i++) { /* one of them shows that time has passed */
            struct run_head h = world_head(SUBJECTS[i].run);
            if (h.status != RUN_RUNNING) continue;
            (void)world_shows_more(&h, 1); /* or it has come to a task since, for the next round */
            break;
        }
    }
}

static void finding(void *ctx, const char *line) {
    (void)ctx;
    fprintf(stderr, "verify: %s\n", line);
}

void all_whole(void) {
    struct wopr_error err;
    int64_t runs = 0, findings = 0;
    for (size_t i = 0; i < SUBJECTS_NR; i++) {
        world_check_log(SUBJECTS[i].run);
        cr_expect_eq(world_events(SUBJECTS[i].run).v[0].kind, EV_RUN_STARTED, "%s",
                     label(&SUBJECTS[i]));
        cr_expect_eq(world_count(SUBJECTS[i].run, EV_RUN_STARTED), 1u, "%s", label(&SUBJECTS[i]));
    }
    cr_assert_eq(host_verify(W.store, NULL, finding, NULL, &runs, &findings, &err), 0, "%s",
                 err.message);
    cr_expect_eq(findings, 0);
    struct engine_stats stats;
    engine_stats(W.engine, &stats);
    cr_expect_eq(stats.parked, 0u);
}

void statuses_children_put(void) {
    worker_type_put(TYPE);
    workflow_unref(world_put(world_def("sleeper", DELAY, 0, 0, 0, 0)));
    workflow_unref(world_put(world_def("asker", GATE, 0, 0, 0, 0)));
}

/* No run goes on, so nothing waits and nobody is asked. */
void nothing_left(void) {
    cr_expect_eq(world_sql_number("SELECT count(*) FROM timers"), 0);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM interrupts WHERE state = 0"), 0);
    cr_expect_eq(world_sql_number("SELECT runs_open FROM tenant_usage WHERE tenant = ''"), 0);
}

/* engine_world.c: see engine_world.h. */
#include "engine_world.h"

#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"
#include "nodes/nodes.h"
#include "store/events.h"
#include "store/sqlite/sqlite.h"
#include "store/workflows.h"
#include "support/folder.h"
#include "workspec/language.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S   240
#define SLICE_MS 50

struct world W;
sem_t HOLD_HELD, HOLD_GO;
_Atomic int SPY_CALLS, SPY_LINES;
char SPY_NOTES[64];
static bool VIRTUAL;
static _Atomic int64_t SHIFT_MS;
static _Atomic bool STOPPED; /* the virtual clocks stand at these */
static struct timespec STOPPED_WALL, STOPPED_MONO;

/* --- virtual time: the real clocks, shifted --- */

void (*WORLD_ON_WALL)(void);

static int64_t shifted_wall(void *ctx) {
    struct timespec t;
    (void)ctx;
    if (WORLD_ON_WALL) WORLD_ON_WALL();
    clock_gettime(CLOCK_REALTIME, &t);
    if (STOPPED) t = STOPPED_WALL;
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + SHIFT_MS;
}
static uint64_t shifted_mono(void *ctx) {
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (STOPPED) t = STOPPED_MONO;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)SHIFT_MS * 1000000u;
}
static void random_bytes(void *ctx, void *out, size_t n) {
    (void)ctx;
    cr_assert_eq(getentropy(out, n), 0);
}

void world_virtual_time(void) {
    static const struct sys_ops ops = {shifted_wall, shifted_mono, random_bytes, NULL};
    VIRTUAL = true;
    sys_set(&ops);
}

void world_time_stop(bool stop) {
    cr_assert(VIRTUAL);
    if (stop) {
        clock_gettime(CLOCK_REALTIME, &STOPPED_WALL);
        clock_gettime(CLOCK_MONOTONIC, &STOPPED_MONO);
    }
    STOPPED = stop;
}

void world_time_skip(int64_t ms) {
    cr_assert(VIRTUAL);
    SHIFT_MS += ms;
    if (W.engine) engine_kick(W.engine);
    if (W.also) engine_kick(W.also);
}

/* A condition variable counts real time: under a shifted clock the engine is told to look again. */
static int wait_a_slice(sem_t *sem) {
    struct timespec at;
    int rc;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += VIRTUAL ? 0 : WAIT_S;
    at.tv_nsec += VIRTUAL ? SLICE_MS * 1000000L : 0;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    while ((rc = sem_timedwait(sem, &at)) != 0 && errno == EINTR) {
    }
    if (rc != 0 && VIRTUAL && W.engine) engine_kick(W.engine);
    if (rc != 0 && VIRTUAL && W.also) engine_kick(W.also);
    return rc;
}

static int wait_for(sem_t *sem, int s) {
    int rc = -1;
    for (int i = 0; rc != 0 && i < (VIRTUAL ? s * 1000 / SLICE_MS : 1); i++) rc = wait_a_slice(sem);
    return rc;
}

int world_wait_sem(sem_t *sem) { return wait_for(sem, WAIT_S); }

/* --- test node types --- */

/* Fails until attempt config.failures; code config.code. */
static void exec_flaky(const struct node_call *call, struct node_result *out) {
    int64_t failures = 0;
    struct str code = json_string(json_get(call->config, "code"), call->a);
    (void)json_int(json_get(call->config, "failures"), &failures);
    SPY_CALLS++;
    if (call->attempt >= failures) return;
    node_fail(out, "flaky", "not yet", true);
    if (code.n > 0) out->error_code = code;
}
static void exec_hold(const struct node_call *call, struct node_result *out) {
    (void)call;
    (void)out;
    SPY_CALLS++;
    sem_post(&HOLD_HELD);
    while (sem_wait(&HOLD_GO) != 0) {
    }
}
static void exec_bad_output(const struct node_call *call, struct node_result *out) {
    (void)call;
    out->outputs = STR("[1,2]");
}
static void exec_broken_json(const struct node_call *call, struct node_result *out) {
    (void)call;
    out->outputs = STR("{\"x\":");
}
static void exec_bad_effect(const struct node_call *call, struct node_result *out) {
    struct node_effect *x = node_effect_add(call, out, EFFECT_LOG);
    x->name = STR("loud"); /* no such level */
    x->value = STR("hello");
}
static void exec_bad_error(const struct node_call *call, struct node_result *out) {
    (void)call;
    node_fail(out, "\xff\xfe", "broken \xff", false);
}
static void exec_artifact(const struct node_call *call, struct node_result *out) {
    struct node_effect *x = node_effect_add(call, out, EFFECT_ARTIFACT);
    x->name = STR("art-1");
    x->value = STR("{\"hello\":1}");
    x->extra = STR("{\"type\":\"doc\",\"version\":\"1\"}");
}
/* An artifact all of which, its id too, has input x in it; and chunks and a log line. */
static void exec_tell(const struct node_call *call, struct node_result *out) {
    struct str x = json_string(json_get(call->inputs, "x"), call->a);
    struct node_effect *e = node_effect_add(call, out, EFFECT_ARTIFACT);
    e->name = arena_printf(call->a, STR_FMT "/" STR_FMT, STR_ARG(call->def->id), STR_ARG(x));
    e->value = arena_printf(call->a, "{\"x\":\"" STR_FMT "\"}", STR_ARG(x));
    e->extra = arena_printf(call->a,
                            "{\"type\":\"" STR_FMT "\",\"version\":\"v " STR_FMT
                            "\",\"summary\":\"it is " STR_FMT "\"}",
                            STR_ARG(x), STR_ARG(x), STR_ARG(x));
    e = node_effect_add(call, out, EFFECT_CHUNK);
    e->value = x;
    out->outputs = arena_printf(call->a, "{\"x\":\"" STR_FMT "\"}", STR_ARG(x));
}
/* Fails at the first attempt with an error that has input x in all its parts. */
static void exec_complain(const struct node_call *call, struct node_result *out) {
    struct str x = json_string(json_get(call->inputs, "x"), call->a);
    if (call->attempt > 0) return;
    node_fail(out, "complaint", "", true);
    out->error_code = x;
    out->error_message = arena_printf(call->a, "no " STR_FMT " here", STR_ARG(x));
    out->error_details = arena_printf(call->a, "{\"x\":[\"" STR_FMT "\"]}", STR_ARG(x));
}
/* Writes config.chunks pieces with a wait between; the calls show where it re-enters. */
static void exec_stepper(const struct node_call *call, struct node_result *out) {
    SPY_CALLS++;
    out->continues = true;
    if (call->chunks_done > 3) return;
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHUNK);
    x->value = arena_printf(call->a, "piece-%d", call->chunks_done);
    if (call->chunks_done == 3) return;
    out->outcome = NODE_OUT_WAIT;
    out->wait_ms = 5;
}

static void note(char c) {
    size_t n = strlen(SPY_NOTES);
    if (n + 1 < sizeof SPY_NOTES) SPY_NOTES[n] = c;
}
static void exec_note(const struct node_call *call, struct node_result *out) {
    (void)call;
    (void)out;
    note('-');
}
static void exec_note_at_once(const struct node_call *call, struct node_result *out) {
    (void)call;
    (void)out;
    note('+');
}

/* config.effects log lines of config.bytes each. */
static void exec_many(const struct node_call *call, struct node_result *out) {
    int64_t effects = 0, bytes = 0;
    (void)json_int(json_get(call->config, "effects"), &effects);
    (void)json_int(json_get(call->config, "bytes"), &bytes);
    char *text = arena_alloc(call->a, (size_t)bytes + 1);
    if (text) memset(text, 'm', (size_t)bytes);
    for (int64_t i = 0; i < effects && text; i++) {
        struct node_effect *x = node_effect_add(call, out, EFFECT_LOG);
        if (!x) return;
        x->name = STR("info");
        x->value = str_n(text, (size_t)bytes);
    }
}
static void exec_drift(const struct node_call *call, struct node_result *out) {
    for (int i = 0; i < SPY_LINES; i++) {
        struct node_effect *x = node_effect_add(call, out, EFFECT_VARIABLE);
        if (!x) return;
        x->name = STR("line");
        x->value = arena_printf(call->a, "%d", i);
    }
}
static void exec_forge(const struct node_call *call, struct node_result *out) {
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHANNEL);
    x->name = STR("_approvalVotes:g");
    x->value = STR("{\"userId\":\"evil\",\"action\":\"accept\"}");
    x->reducer = RED_VOTES;
}

/* How long the JSON text of port "v" is, as a number that gives nothing else away. */
static void exec_measure(const struct node_call *call, struct node_result *out) {
    struct str v = json_get(call->inputs, "v");
    out->outcome = NODE_OUT_DONE;
    out->outputs = arena_printf(call->a, "{\"n\":%zu}", v.n > 2 ? v.n - 2 : 0);
}

static const struct node_type TEST_TYPES[] = {
    {.type_id = "test.measure", .fn = exec_measure, .flags = NODE_AT_ONCE},
    {.type_id = "test.drift", .fn = exec_drift},
    {.type_id = "test.many", .fn = exec_many},
    {.type_id = "test.forge", .fn = exec_forge},
    {.type_id = "test.note", .fn = exec_note},
    {.type_id = "test.noteAtOnce", .fn = exec_note_at_once, .flags = NODE_AT_ONCE},
    {.type_id = "test.flaky", .fn = exec_flaky},
    {.type_id = "test.hold", .fn = exec_hold},
    {.type_id = "test.badOutput", .fn = exec_bad_output},
    {.type_id = "test.brokenJson", .fn = exec_broken_json},
    {.type_id = "test.badEffect", .fn = exec_bad_effect},
    {.type_id = "test.badError", .fn = exec_bad_error},
    {.type_id = "test.artifact", .fn = exec_artifact},
    {.type_id = "test.tell", .fn = exec_tell},
    {.type_id = "test.complain", .fn = exec_complain},
    {.type_id = "test.stepper", .fn = exec_stepper},
};

/* --- life --- */

static const struct schema *no_schema;

void world_engine_start(void) {
    struct wopr_error err = {0};
    struct wf_env env = {.definition_schema = no_schema, .dialects = &WS_DIALECT, .dialects_nr = 1};
    snprintf(W.holder, sizeof W.holder, "holder-%u", ++W.starts);
    W.cfg.holder = W.holder;
    cr_assert_eq(engine_new(W.journal, W.rules, W.types, &env, &W.cfg, &W.engine, &err), 0, "%s",
                 err.message);
    cr_assert_eq(engine_start(W.engine, &err), 0, "%s", err.message);
}

void world_engine_crash(void) {
    engine_halt(W.engine, false);
    engine_free(W.engine);
    W.engine = NULL;
}

void world_engine_stop(void) {
    engine_stop(W.engine);
    engine_free(W.engine);
    W.engine = NULL;
}

void world_up(void) {
    struct wopr_error err = {0};
    char path[288];
    const struct journal_config lc = {.queue_max = 0};
    if (!W.dir[0]) {
        cr_assert(folder_make(W.dir, sizeof W.dir, "engine"));
    }
    snprintf(path, sizeof path, "%s/t.db", W.dir);
    W.a = arena_new(1u << 30);
    struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .busy_timeout_ms = 5000};
    cr_assert_eq(store_open(&sc, &W.store, &err), 0, "%s", err.message);
    cr_assert_eq(journal_new(W.store, &lc, &W.journal, &err), 0, "%s", err.message);
    const struct seal_secret kek = {{1, 2, 3}};
    bool replaced;
    cr_assert_eq(vault_new(W.store, &kek, 1, &W.vault, &replaced, &err), 0, "%s", err.message);
    W.cfg.vault = W.vault;
    cr_assert_eq(journal_start(W.journal, &err), 0, "%s", err.message);
    cr_assert_eq(payload_rules_new(&W.rules, &err), 0, "%s %s", err.message, err.pointer);
    W.types = node_registry_new();
    cr_assert_eq(nodes_register_core(W.types, true, &err), 0);
    for (size_t i = 0; i < sizeof TEST_TYPES / sizeof TEST_TYPES[0]; i++)
        cr_assert_eq(node_registry_add(W.types, &TEST_TYPES[i], &err), 0);
    sem_init(&HOLD_HELD, 0, 0);
    sem_init(&HOLD_GO, 0, 0);
    if (W.cfg.workers == 0) W.cfg.workers = 2;
    if (W.cfg.limits.max_node_executions == 0) W.cfg.limits = RUN_LIMITS_DEFAULT;
    if (VIRTUAL) W.cfg.limits.max_run_duration_sec = 1000000000; /* tests skip days */
    W.cfg.conformance = true;
    W.cfg.sole_host = true;
    world_engine_start();
}

static void remove_dir(void) {
    struct dirent *x;
    DIR *d = opendir(W.dir);
    while (d && (x = readdir(d)) != NULL) {
        char path[544];
        snprintf(path, sizeof path, "%s/%s", W.dir, x->d_name);
        if (x->d_name[0] != '.') (void)remove(path);
    }
    if (d) closedir(d);
    (void)rmdir(W.dir);
}

void world_down(void) {
    world_leave();
    remove_dir();
}

void world_leave(void) {
    if (W.engine) world_engine_stop();
    journal_stop(W.journal);
    journal_free(W.journal);
    vault_free(W.vault);
    store_close(W.store);
    node_registry_free(W.types);
    payload_rules_free(W.rules);
    arena_free(W.a);
}

/* --- workflows --- */

static const char *or_else(const char *s, const char *d) { return s ? s : d; }

struct str world_def(const char *id, const char *nodes, const char *edges, const char *variables,
                     const char *settings, const char *more) {
    return arena_printf(W.a,
                        "{\"id\":\"%s\",\"name\":\"%s\",\"version\":\"1.0\",\"nodes\":[%s],"
                        "\"edges\":[%s],\"triggers\":[],\"variables\":[%s],\"metadata\":{},"
                        "\"settings\":{%s}%s}",
                        id, id, nodes, or_else(edges, ""), or_else(variables, ""),
                        or_else(settings, ""), or_else(more, ""));
}

static void put_now(void *ctx, struct store *s) {
    struct wopr_error err = {0};
    enum put_result what;
    void **x = ctx;
    cr_assert_eq(store_workflow_put(s, x[0], &what, &err), 0, "%s", err.message);
    sem_post(x[1]);
}

struct workflow *world_put(struct str text) {
    struct wopr_error err = {0};
    struct wf_env env = {.accepted = W.accepted, .dialects = &WS_DIALECT, .dialects_nr = 1};
    struct workflow *wf = NULL;
    sem_t done;
    if (!dialect_named(text, NULL, NULL, NULL))
        cr_assert_eq(json_check(text, &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
    cr_assert_eq(workflow_compile(text, &env, &wf, &err), 0, "%s at %s", err.message, err.pointer);
    struct workflow_row row = {.workflow_id = wf->id,
                               .hash = wf->hash,
                               .version = wf->version,
                               .text = text,
                               .both_modes = true};
    void *ctx[] = {&row, &done};
    sem_init(&done, 0, 0);
    cr_assert_eq(journal_side(W.journal, put_now, ctx), 0);
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    return wf;
}

/* --- commands --- */

static bool respond(struct engine_cmd *cmd, const struct engine_result *r,
                    struct idem_response *out) {
    struct call *c = cmd->ctx;
    c->responds++;
    out->status = r->rc == 0 ? 200 : 500 - r->rc;
    out->body = arena_printf(cmd->arena, "{\"runId\":\"" STR_FMT "\",\"status\":\"%s\"}",
                             STR_ARG(r->run_id), run_status_name(r->status));
    return c->store;
}

static void done(struct engine_cmd *cmd) {
    struct call *c = cmd->ctx;
    sem_post(&c->done);
}

void call_init(struct call *c, enum engine_op op, struct str run_id) {
    memset(c, 0, sizeof *c);
    c->cmd.op = op;
    c->cmd.arena = arena_new(1u << 22);
    c->cmd.tenant = STR("t1");
    c->cmd.workspace = STR("w1");
    c->cmd.subject = STR("{\"issuer\":\"test\",\"subjectId\":\"s1\"}");
    c->cmd.principal = STR("s1");
    c->cmd.test_mode = true;
    c->cmd.run_id = run_id;
    c->cmd.respond = respond;
    c->cmd.done = done;
    c->cmd.ctx = c;
    sem_init(&c->done, 0, 0);
}

void call_key(struct call *c, const char *key, const char *body) {
    c->cmd.has_idem = true;
    c->store = true;
    c->cmd.idem.tenant = STR("t1");
    c->cmd.idem.operation_id = STR("op");
    c->cmd.idem.key = sha256_of(str_c(key));
    c->cmd.idem.digest = sha256_of(str_c(body));
}

void call_send(struct call *c) { engine_submit(W.engine, &c->cmd); }

void call_wait(struct call *c) {
    cr_assert_eq(world_wait_sem(&c->done), 0, "a command was not answered");
}

void call_do(struct call *c) {
    call_send(c);
    call_wait(c);
}

void call_fini(struct call *c) {
    sem_destroy(&c->done);
    arena_free(c->cmd.arena);
}

int world_op(enum engine_op op, struct str run_id, enum run_status *status) {
    struct call c;
    call_init(&c, op, run_id);
    c.cmd.control.reason = STR("because");
    call_do(&c);
    int rc = c.cmd.result.rc;
    if (status) *status = c.cmd.result.status;
    call_fini(&c);
    return rc;
}

int world_pause(struct str run_id, enum drain_policy drain) {
    struct call c;
    call_init(&c, ENGINE_PAUSE, run_id);
    c.cmd.control.drain = drain;
    call_do(&c);
    int rc = c.cmd.result.rc;
    call_fini(&c);
    return rc;
}

int world_answer(struct str run_id, const char *node, const char *value, struct wopr_error *err) {
    struct call c;
    call_init(&c, ENGINE_RESOLVE, run_id);
    c.cmd.resolve.node_id = str_c(node);
    c.cmd.resolve.value = str_c(value);
    c.cmd.resolve.may_delegate = true;
    call_do(&c);
    int rc = c.cmd.result.rc;
    if (err) *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}

static void create_fill(struct call *c, struct workflow *wf, const char *inputs,
                        const char *configurable) {
    struct wopr_error err = {0};
    c->cmd.create.wf = wf;
    c->cmd.create.inputs_accepted = str_c(or_else(inputs, "{}"));
    cr_assert_eq(run_inputs_check(c->cmd.create.inputs_accepted, wf, c->cmd.arena,
                                  &c->cmd.create.inputs, &err),
                 0, "%s", err.message);
    const struct options_env env = {.limits = &W.cfg.limits, .test_key = true};
    struct run_options *out = &c->cmd.create.options;
    /* Tests of workflows may ask for what callers may not; what a program may do is part of it. */
    int rc = wf->program ? run_options_check(str_c(configurable), STR_NONE, STR_NONE, wf, &env,
                                             c->cmd.arena, out, &err)
                         : run_options_load(str_c(configurable), STR_NONE, STR_NONE, &W.cfg.limits,
                                            c->cmd.arena, out, &err);
    cr_assert_eq(rc, 0, "%s", err.message);
}

struct str world_create(struct workflow *wf, const char *inputs, const char *configurable) {
    struct call c;
    call_init(&c, ENGINE_CREATE, STR_NONE);
    create_fill(&c, wf, inputs, configurable);
    call_do(&c);
    cr_assert_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
    struct str id = arena_str(W.a, c.cmd.result.run_id);
    call_fini(&c);
    return id;
}

int world_create_try(struct workflow *wf, const char *inputs, struct wopr_error *err) {
    struct call c;
    call_init(&c, ENGINE_CREATE, STR_NONE);
    create_fill(&c, wf, inputs, NULL);
    call_do(&c);
    int rc = c.cmd.result.rc;
    *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}

struct str world_start(struct str text, const char *inputs) {
    struct workflow *wf = world_put(text);
    struct str id = world_create(wf, inputs, NULL);
    workflow_unref(wf);
    return id;
}

/* --- looking --- */

struct run_head world_head(struct str run_id) {
    struct wopr_error err = {0};
    struct run_head h;
    cr_assert_eq(store_run_head(W.store, STR("t1"), true, run_id, W.a, &h, &err), 0, "%s",
                 err.message);
    return h;
}

static void wake(void *ctx) { sem_post(ctx); }

bool world_shows_more(const struct run_head *h, int s) {
    struct wopr_error err = {0};
    struct journal_waiter *w = NULL;
    sem_t more;
    sem_init(&more, 0, 0);
    cr_assert_eq(journal_wait(W.journal, h->run_no, h->next_seq - 1, wake, &more, &w, &err), 0,
                 "%s", err.message);
    int rc = wait_for(&more, s);
    journal_wait_cancel(w);
    sem_destroy(&more);
    return rc == 0;
}

void world_wait_more(const struct run_head *h) {
    cr_assert(world_shows_more(h, WAIT_S), "nothing happens any more");
}

enum run_status world_wait_final(struct str run_id) {
    for (;;) {
        struct run_head h = world_head(run_id);
        if (run_status_final(h.status)) return h.status;
        world_wait_more(&h);
    }
}

void world_wait_status(struct str run_id, enum run_status status) {
    for (;;) {
        struct run_head h = world_head(run_id);
        if (h.status == status) return;
        cr_assert(!run_status_final(h.status), "ended as %s: %s", run_status_name(h.status),
                  world_story(run_id));
        world_wait_more(&h);
    }
}

struct event_list world_events(struct str run_id) {
    struct wopr_error err = {0};
    struct event_list out;
    struct run_head h = world_head(run_id);
    cr_assert_eq(store_events(W.store, h.run_no, 0, 5000, 1u << 28, W.a, &out, &err), 0);
    return out;
}

const struct event *world_event(struct str run_id, enum ev_kind kind, unsigned n) {
    struct event_list l = world_events(run_id);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == kind && --n == 0) return &l.v[i];
    return NULL;
}

unsigned world_count(struct str run_id, enum ev_kind kind) {
    struct event_list l = world_events(run_id);
    unsigned n = 0;
    for (size_t i = 0; i < l.n; i++) n += l.v[i].kind == kind;
    return n;
}

void world_wait_event(struct str run_id, enum ev_kind kind, unsigned n) {
    for (;;) {
        struct run_head h = world_head(run_id);
        if (world_count(run_id, kind) >= n) return;
        cr_assert(!run_status_final(h.status), "%s", world_story(run_id));
        world_wait_more(&h);
    }
}

const char *world_story(struct str run_id) {
    struct event_list l = world_events(run_id);
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < l.n; i++) {
        if (i) buf_addc(&b, ' ');
        buf_addz(&b, event_name(l.v[i].kind));
        if (l.v[i].node_id.n > 0) buf_addf(&b, "(" STR_FMT ")", STR_ARG(l.v[i].node_id));
    }
    const char *out = arena_cstr(W.a, buf_str(&b));
    buf_fini(&b);
    return out;
}

struct run_view world_view(struct str run_id) {
    struct wopr_error err = {0};
    struct run_view v;
    cr_assert_eq(store_run_view(W.store, STR("t1"), true, run_id, W.a, &v, &err), 0);
    return v;
}

struct str world_var(struct str run_id, const char *name) {
    struct run_view v = world_view(run_id);
    for (size_t i = 0; i < v.vars_nr; i++)
        if (str_eqc(v.vars[i].name, name)) return v.vars[i].value;
    for (size_t i = 0; i < v.chans_nr; i++)
        if (str_eqc(v.chans[i].name, name)) return v.chans[i].value;
    return STR_NONE;
}

void world_check_log(struct str run_id) {
    struct event_list l = world_events(run_id);
    struct run_head h = world_head(run_id);
    cr_assert_eq((int64_t)l.n, h.next_seq);
    for (size_t i = 0; i < l.n; i++) {
        cr_assert_eq(l.v[i].seq, (int64_t)i); /* EVT-2 */
        cr_assert_eq(event_is_terminal(l.v[i].kind),
                     run_status_final(h.status) && i + 1 == l.n); /* EVT-7 */
        if (i > 0) cr_assert(l.v[i].ts_ms >= l.v[i - 1].ts_ms);
    }
}

static sqlite3 *file_open(void) {
    char path[288];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/t.db", W.dir);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    return db;
}

void world_sql(const char *text) {
    sqlite3 *db = file_open();
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

int64_t world_sql_number(const char *query) {
    sqlite3 *db = file_open();
    sqlite3_stmt *q;
    cr_assert_eq(sqlite3_prepare_v2(db, query, -1, &q, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(q), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

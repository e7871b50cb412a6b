/*
 * fuzz_workspec_run.c: runs of documents out of any bytes, without an engine.
 *  - what is stored (a first line of any bytes, a document of any bytes) compiles or is refused;
 *  - inputs.world of any bytes is accepted or refused, and accepted again when the run is loaded;
 *  - what the program says is next its fold accepts, whoever accepts or rejects; every run ends,
 *    but for those of documents that validation refuses, whose tasks may wait for each other;
 *  - the log, folded again, cut anywhere too, is accepted and leads to what came next (WS-114);
 *  - so does the image of the state there (WS-142), and damaged images are refused or harmless.
 */
#include "domain/interrupt.h"
#include "domain/program.h"
#include "domain/state_save.h"
#include "workspec/language.h"
#include "workspec/validate.h"

enum {
    FUZZ_BYTES_MAX = 1 << 14,
    ARENA_MAX = 256 << 20,
    EVENTS_MAX = 4000,
    TASKS_MAX = 60,
    CUTS_MAX = 12
};
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct payload_rules *rules(void) {
    static struct payload_rules *r;
    struct wopr_error err;
    if (r == NULL) ASSERT(payload_rules_new(&r, &err) == 0);
    return r;
}

struct play {
    struct arena *a;
    struct workflow *wf;
    struct run_meta meta;
    struct run_state *s;
    struct plan *log;
    uint64_t dice;
    int64_t now_ms;
    bool refused;    /* an event did not fit */
    struct str text; /* what is stored */
};

static unsigned roll(struct play *p, unsigned n) {
    p->dice ^= p->dice << 13;
    p->dice ^= p->dice >> 7;
    p->dice ^= p->dice << 17;
    return (unsigned)(p->dice % n);
}

static bool emit(struct play *p, enum ev_kind kind, int node, struct str payload) {
    struct str id = node >= 0 ? p->wf->nodes[node].id : STR_NONE;
    ASSERT(payload.p != NULL);
    int64_t seq = plan_event(p->log, rules(), p->s, kind, id, -1, p->now_ms, payload);
    p->refused =
        p->refused || p->log->failed == WOPR_E_PAYLOAD_INVALID || p->log->failed == WOPR_E_TOO_BIG;
    ASSERT(seq >= 0 || p->refused); /* the fold accepts what the program says */
    return seq >= 0;
}

static void ask(struct play *p, const struct program_action *act) {
    struct arena *a = p->log->arena;
    struct str node = p->wf->nodes[act->node].id, key = intr_key_of(p->s, act->node, 0, a);
    bool approval = strcmp(act->ask_kind, "approval") == 0;
    char id[INTR_ID_LEN + 1];
    struct str value =
        approval ? roll(p, 3) ? STR("{\"action\":\"accept\"}") : STR("{\"action\":\"reject\"}")
                 : STR("{\"answers\":{\"x\":1}}");
    intr_id_of(p->meta.run_id, key, id);
    struct str asked =
        arena_printf(a, "{\"kind\":\"%s\",\"key\":\"" STR_FMT "\",\"data\":" STR_FMT "}",
                     act->ask_kind, STR_ARG(key), STR_ARG(act->ask_data));
    if (!emit(p, EV_INTERRUPT_REQUESTED, act->node, asked)) return;
    emit(p, EV_NODE_SUSPENDED, act->node,
         pay_interrupt_suspended(a, node, str_c(id), act->ask_kind, key, NULL, STR_NONE));
    p->now_ms += roll(p, 100000);
    emit(p, EV_INTERRUPT_RESOLVED, act->node,
         pay_interrupt_resolved(a, node, str_c(id), act->ask_kind, value, STR("x"), p->now_ms));
    emit(p, EV_NODE_RESUMED, act->node, pay_node_resumed(a, node, str_c(id), value));
}

static int open_state(struct play *p, struct run_state **out) {
    struct wopr_error err = {0};
    struct run_limits limits = RUN_LIMITS_DEFAULT;
    limits.max_node_executions = 100000;
    int rc = run_state_new(p->wf, &p->meta, &limits, out, &err);
    ASSERT(rc == 0);
    return rc;
}

/* What comes next, by a state that has folded the first events of the log. */
static struct program_action next_of(struct play *p, struct run_state *s, struct arena *a) {
    const struct program_time t = {.now_ms = p->now_ms};
    struct program_action act = {.node = -1};
    ASSERT(p->wf->program->next(s->program, s, &t, a, &act) == 0);
    return act;
}

/* true: the run goes on. */
static bool step(struct play *p) {
    struct program_action act = next_of(p, p->s, p->log->arena);
    switch (act.what) {
    case PROGRAM_WAIT:
        ASSERT(act.at_ms > p->now_ms); /* only the clock can be waited for: all is answered */
        p->now_ms = act.at_ms;
        return true;
    case PROGRAM_EMIT:
        return emit(p, act.kind, act.node, act.payload);
    case PROGRAM_ASK:
        ask(p, &act);
        return !p->refused;
    case PROGRAM_FAIL:
        ASSERT(p->s->nodes[act.node].status == NODE_FAILED);
        return false;
    case PROGRAM_END:
        ASSERT(p->s->counts.running == 0 && p->s->counts.suspended == 0);
        return false;
    }
    return false;
}

static const struct run_limits *limits_of(void) {
    static struct run_limits limits;
    limits = RUN_LIMITS_DEFAULT;
    limits.max_node_executions = 100000;
    return &limits;
}

/* What the image gives is what was saved; s is replaced by it. */
static void image_pass(struct play *p, struct run_state **s) {
    const struct state_aside none = {0};
    struct state_aside aside;
    struct wopr_error err = {0};
    struct run_state *t = NULL, *bent = NULL;
    struct buf x, y;
    buf_init(&x, STATE_IMAGE_MAX);
    buf_init(&y, STATE_IMAGE_MAX);
    if (run_state_save(*s, &none, &x) == 0) {
        ASSERT(run_state_load(buf_str(&x), p->wf, &p->meta, limits_of(), &t, &aside, &err) == 0);
        ASSERT(run_state_save(t, &none, &y) == 0 && str_eq(buf_str(&x), buf_str(&y)));
        run_state_free(*s);
        *s = t;
        x.p[STATE_IMAGE_HEAD + roll(p, (unsigned)(x.len - STATE_IMAGE_HEAD))] ^=
            (char)(1 << roll(p, 8));
        uint64_t sum =
            str_hash(str_n(x.p + STATE_IMAGE_HEAD, x.len - STATE_IMAGE_HEAD), STATE_IMAGE_SEED);
        for (size_t i = 0; i < 8; i++) x.p[16 + i] = (char)(sum >> (8 * i));
        if (run_state_load(buf_str(&x), p->wf, &p->meta, limits_of(), &bent, &aside, &err) == 0)
            (void)next_of(p, bent, p->a);
        run_state_free(bent);
    }
    buf_fini(&x);
    buf_fini(&y);
}

/* The events before the cut, folded by a fresh state, lead to the event at it. */
static void cut_check(struct play *p, size_t cut) {
    struct arena *a = arena_new(ARENA_MAX);
    struct run_state *s = NULL;
    struct wopr_error err = {0};
    ASSERT(a != NULL);
    open_state(p, &s);
    for (size_t i = 0; i < cut; i++) ASSERT(run_state_apply(s, &p->log->events[i], &err) == 0);
    image_pass(p, &s);
    const struct event *e = cut < p->log->events_nr ? &p->log->events[cut] : NULL;
    if (e != NULL && cut > 0 &&
        (e->kind == EV_VARIABLE_CHANGED || e->kind == EV_NODE_STARTED ||
         e->kind == EV_NODE_COMPLETED)) {
        struct program_action act;
        int64_t now = p->now_ms;
        p->now_ms = e->ts_ms;
        act = next_of(p, s, a);
        p->now_ms = now;
        ASSERT(act.what == PROGRAM_EMIT && act.kind == e->kind && str_eq(act.payload, e->payload));
    }
    run_state_free(s);
    arena_free(a);
}

static void play(struct play *p) {
    open_state(p, &p->s);
    struct str opening = p->wf->program->opening(p->s->program, p->a);
    struct str started = pay_run_started(p->log->arena, p->s, STR("{}"));
    if (emit(p, EV_RUN_STARTED, -1,
             pay_member(p->log->arena, started, p->wf->program->name, opening)))
        while (p->log->events_nr < EVENTS_MAX && step(p)) p->now_ms += roll(p, 4) * 1000;
    for (unsigned i = 0; i < CUTS_MAX && !p->refused; i++)
        cut_check(p, i == 0 ? p->log->events_nr : roll(p, (unsigned)p->log->events_nr + 1));
    run_state_free(p->s);
}

/* What follows an empty line are inputs. */
static void inputs_take(struct play *p, struct str inputs) {
    struct wopr_error err = {0};
    struct var_inits v;
    if (inputs.n == 0 || json_check(inputs, &JSON_LIMITS_DEFAULT, &err) != 0 ||
        json_type_of(inputs) != JSON_OBJECT)
        return;
    int rc = run_inputs_check(inputs, p->wf, p->a, &v, &err);
    ASSERT(rc == 0 || (rc == WOPR_E_VALIDATION && err.message[0] != '\0'));
    if (rc == 0 && run_inputs_render(&v, p->a, &p->meta.inputs, &err) != 0) ASSERT(false);
}

static const char *const OPTIONS[] = {
    "{}", "{\"workspec.humanTasks\":\"approval\"}", "{\"workspec.clock\":\"real\"}",
    "{\"workspec.clock\":\"real\",\"workspec.speed\":1000000,\"workspec.humanTasks\":\"auto\"}"};

static void check_text(struct str text, struct str inputs, uint64_t dice) {
    const struct wf_env env = {.dialects = &WS_DIALECT, .dialects_nr = 1};
    struct play p = {.a = arena_new(ARENA_MAX),
                     .log = plan_new(),
                     .dice = dice | 1,
                     .now_ms = 1000,
                     .text = text};
    struct wopr_error err = {0};
    ASSERT(p.a != NULL && p.log != NULL);
    int rc = workflow_compile(text, &env, &p.wf, &err);
    ASSERT(rc == 0 || err.message[0] != '\0');
    if (rc == 0 && p.wf->nodes_nr <= TASKS_MAX) {
        p.meta = (struct run_meta){.run_id = STR("run_00000000000000000000000000"),
                                   .workflow_id = p.wf->id,
                                   .inputs = STR("{}"),
                                   .configurable = str_c(OPTIONS[roll(&p, 4)]),
                                   .transport = STR("rest"),
                                   .recursion_limit = 100000};
        inputs_take(&p, inputs);
        play(&p);
    }
    workflow_unref(p.wf);
    plan_unref(p.log);
    arena_free(p.a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct arena *a = arena_new(1 << 20);
    struct str text = str_n((const char *)data, len), inputs = STR_NONE;
    if (len > FUZZ_BYTES_MAX || a == NULL) {
        arena_free(a);
        return 0;
    }
    for (size_t i = 0; i + 1 < len; i++)
        if (data[i] == '\n' && data[i + 1] == '\n') {
            inputs = str_n(text.p + i + 2, len - i - 2);
            text.n = i;
            break;
        }
    struct sha256 d = sha256_of(str_n((const char *)data, len));
    uint64_t dice;
    memcpy(&dice, d.b, sizeof dice);
    if (!str_starts(text, STR("#!")))
        text = arena_printf(a, "#!workspec json doc - zone\n" STR_FMT, STR_ARG(text));
    check_text(text, inputs, dice);
    arena_free(a);
    return 0;
}

/*
 * state.c: life of a run state, and the fold of run events (20-runtime 1.5).  Node events:
 * state_node.c, channels: state_channel.c.  run_move is the only place that assigns the status of a
 * run.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/jobj.h"
#include "domain/conversation.h"
#include "domain/due_tree.h"
#include "domain/program.h"
#include "domain/sched_int.h"
#include "domain/state_internal.h"

void state_vars_free(struct run_state *s) {
    for (size_t i = 0; i < s->variables.n; i++) {
        s->bytes -= sizeof s->variables.v[i] + s->variables.v[i].name.n +
                    s->variables.v[i].value.n + s->variables.v[i].shown.n;
        text_clear(&s->variables.v[i].name);
        text_clear(&s->variables.v[i].value);
        text_clear(&s->variables.v[i].shown);
    }
    mem_free(s->variables.v);
    s->variables.v = NULL;
    s->variables.n = s->variables.cap = 0;
}

static struct str member_of(const struct json_members *m, struct str name) {
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->v[i].key, name)) return m->v[i].raw;
    return STR_NONE;
}

/* One initial variable.  The creation data holds inputs as shown and, only for folds that may read
 * them, the masked ones clear.  Without these a sensitive variable begins as its mask. */
static int var_init(struct run_state *s, const struct wf_variable *d, struct str given,
                    struct str clear, struct arena *scratch, struct wopr_error *err) {
    struct str mode = s->wf->masking_mode, shown = given;
    struct str value = clear.n > 0 ? clear : given;
    bool masks = d->sensitive && mask_masks(mode);
    int rc = 0;
    if (value.n == 0 && d->has_default) {
        value = shown = d->default_value;
        if (masks) rc = mask_value(mode, value, scratch, &shown, err);
        s->secrecy.masks = s->secrecy.masks || masks;
    }
    if (rc != 0 || value.n == 0) return rc;
    rc = state_var_set(s, d->name, value, d->sensitive || clear.n > 0, shown);
    if (rc != 0) return wopr_error_set(err, rc, "no room for the variables of a run");
    s->variables.v[s->variables.n - 1].dirty = false; /* its row was written with that of the run */
    return 0;
}

/* Declared defaults overlaid by inputs (WF-17..19); undeclared inputs are ignored (EVT-11). */
static int vars_fill(struct run_state *s, struct arena *scratch, struct wopr_error *err) {
    struct json_members in = {0}, clear = {0};
    int rc = 0;
    if (s->meta.inputs.n > 0) {
        rc = json_check(s->meta.inputs, &JSON_LIMITS_STORED, err);
        if (rc == 0) rc = json_members(s->meta.inputs, scratch, &in, err);
    }
    if (rc == 0 && s->meta.inputs_clear.n > 0)
        rc = json_members(s->meta.inputs_clear, scratch, &clear, err);
    s->secrecy.masked = s->secrecy.masks = s->meta.sealed;
    s->secrecy.lost = s->meta.sealed && s->meta.inputs_clear.n == 0;
    for (size_t i = 0; rc == 0 && i < s->wf->vars_nr; i++) {
        const struct wf_variable *d = &s->wf->vars[i];
        rc = var_init(s, d, member_of(&in, d->name), member_of(&clear, d->name), scratch, err);
    }
    return rc;
}

/* What the inputs of most runs need: a block that the allocator keeps at hand. */
enum { VARS_SCRATCH_BYTES = 768 };

static int vars_init(struct run_state *s, struct wopr_error *err) {
    if (s->wf->vars_nr == 0 && s->meta.inputs.n == 0) return vars_fill(s, NULL, err);
    struct arena *scratch = arena_new_for(STATE_SCRATCH_MAX, VARS_SCRATCH_BYTES);
    if (!scratch) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run");
    int rc = vars_fill(s, scratch, err);
    arena_free(scratch);
    return rc;
}

/* --- the state of a program (program.h) --- */

/* Inputs of a program change first values, by rules of its own. */
static int program_vars(struct run_state *s, struct wopr_error *err) {
    struct var_inits vars = {0};
    if (s->meta.inputs.n <= 2) return 0; /* {} */
    struct arena *scratch = arena_new(STATE_SCRATCH_MAX);
    if (!scratch) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run");
    int rc = s->wf->program->inputs(s->wf, s->meta.inputs, true, scratch, &vars, err);
    if (rc == 0) state_vars_free(s);
    for (size_t i = 0; rc == 0 && i < vars.n; i++) {
        rc = state_var_set(s, vars.v[i].name, vars.v[i].value, false, STR_NONE);
        if (rc != 0) (void)wopr_error_set(err, rc, "no room for the variables of a run");
        else s->variables.v[i].dirty = false;
    }
    arena_free(scratch);
    return rc;
}

static int program_open(struct run_state *s, struct wopr_error *err) {
    if (!s->wf->program) return 0;
    int rc = program_vars(s, err);
    return rc == 0 ? s->wf->program->open(s, &s->program, err) : rc;
}

/* --- life --- */

enum { META_TEXTS = 17, STATE_ARENA_SLACK = 256 }; /* slack: what options and inputs leave there */

static void meta_texts(struct run_meta *m, struct str *texts[META_TEXTS]) {
    struct str *const all[META_TEXTS] = {
        &m->run_id,        &m->workflow_id,  &m->tenant,       &m->workspace, &m->scope_id,
        &m->subject,       &m->configurable, &m->tags,         &m->metadata,  &m->callback_url,
        &m->traceparent,   &m->inputs,       &m->inputs_clear, &m->transport, &m->agents,
        &m->agents_digest, &m->modules,
    };
    memcpy(texts, all, sizeof all);
}

/* A state is kept for as long as its run waits, so its arena begins with the room that it needs. */
static struct arena *state_arena_new(const struct workflow *wf, struct run_meta m) {
    struct str *texts[META_TEXTS];
    size_t n = STATE_ARENA_SLACK + sched_alloc_bytes(wf);
    meta_texts(&m, texts);
    for (size_t i = 0; i < META_TEXTS; i++)
        if (texts[i]->n > 0) n += texts[i]->n + _Alignof(max_align_t);
    return arena_new_for(STATE_ARENA_MAX, n);
}

static int meta_copy(struct run_state *s, const struct run_meta *m) {
    struct str *texts[META_TEXTS];
    s->meta = *m;
    meta_texts(&s->meta, texts);
    for (size_t i = 0; i < META_TEXTS; i++)
        if (texts[i]->n > 0) *texts[i] = arena_str(s->arena, *texts[i]);
        else *texts[i] = STR_NONE;
    return arena_failed(s->arena) ? WOPR_E_NO_MEMORY : 0;
}

int run_state_new(struct workflow *wf, const struct run_meta *meta, const struct run_limits *limits,
                  struct run_state **out, struct wopr_error *err) {
    int rc = WOPR_E_NO_MEMORY;
    struct run_state *s = MEM_NEW(struct run_state);
    if (!s) return wopr_error_set(err, rc, "no memory for a run");
    s->wf = workflow_ref(wf);
    s->status = s->before_pause = RUN_PENDING;
    s->current_node = s->failure.node = -1;
    s->failure.seq = -1;
    s->arena = state_arena_new(wf, *meta);
    if (!s->arena || meta_copy(s, meta) != 0) goto no_memory;
    s->nodes = mem_array(wf->nodes_nr > 0 ? wf->nodes_nr : 1, sizeof *s->nodes);
    if (!s->nodes) goto no_memory;
    rc = run_options_load(s->meta.configurable, s->meta.tags, s->meta.metadata, limits, s->arena,
                          &s->options, err);
    if (rc != 0) goto fail;
    /* The effective limit was fixed at creation (EVT-25): the row overrides a host limit changed
     * since. */
    if (s->meta.recursion_limit > 0) s->options.recursion_limit = s->meta.recursion_limit;
    else s->meta.recursion_limit = s->options.recursion_limit;
    rc = vars_init(s, err);
    if (rc == 0) rc = program_open(s, err);
    if (rc != 0) goto fail;
    for (size_t i = 0; i < wf->channels_nr; i++)
        if (!chan_add(s, wf->channels[i].name, &wf->channels[i])) goto no_memory;
    *out = s;
    return 0;
no_memory:
    rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run");
fail:
    run_state_free(s);
    return rc;
}

void run_state_free(struct run_state *s) {
    if (!s) return;
    if (s->program) s->wf->program->close(s->program);
    for (size_t i = 0; s->nodes && i < s->wf->nodes_nr; i++) {
        text_clear(&s->nodes[i].outputs);
        text_clear(&s->nodes[i].cost);
        text_clear(&s->nodes[i].error);
        text_clear(&s->nodes[i].clear);
        text_clear(&s->nodes[i].orch.decision);
        conversation_free(s->nodes[i].conversation);
    }
    mem_free(s->nodes);
    state_vars_free(s);
    for (size_t i = 0; i < s->channels.n; i++) chan_free(&s->channels.v[i]);
    for (size_t i = 0; i < s->interrupts.n; i++) intr_free(&s->interrupts.v[i]);
    mem_free(s->interrupts.v);
    intr_index_free(s->interrupts.index);
    state_waits_free(s);
    mem_free(s->channels.v);
    mem_free(s->channels.ops);
    state_pins_free(s);
    sched_settling_drop(s);
    sched_free(s);
    text_clear(&s->error);
    text_clear(&s->agent);
    text_clear(&s->orch.agent);
    text_clear(&s->orch.decision);
    text_clear(&s->outputs);
    arena_free(s->arena);
    workflow_unref(s->wf);
    mem_free(s);
}

void run_state_clean(struct run_state *s) {
    for (size_t i = 0; i < s->wf->nodes_nr; i++) s->nodes[i].dirty = false;
    for (size_t i = 0; i < s->variables.n; i++) s->variables.v[i].dirty = false;
    for (size_t i = 0; i < s->channels.n; i++)
        for (size_t k = s->channels.v[i].n; k > 0 && s->channels.v[i].v[k - 1].fresh; k--)
            s->channels.v[i].v[k - 1].fresh = false;
    s->channels.ops_nr = 0;
    s->dirty_run = false;
}

/* --- run events --- */

/* The run timeout counts running time only (WF-23): not before the start, not while paused or
 * waiting. */
static bool run_clock_stops(enum run_status st) {
    return st == RUN_PAUSED || run_status_waiting(st);
}

void run_move(struct run_state *s, enum run_status to, int64_t ts_ms) {
    enum run_status from = s->status;
    if (from == to) return;
    s->status = to;
    s->dirty_run = true;
    if (s->clock.started_ms == 0) return;
    if (run_clock_stops(from) && !run_clock_stops(to)) {
        s->clock.waited_ms += ts_ms - s->clock.wait_since_ms;
        s->clock.wait_since_ms = 0;
    } else if (!run_clock_stops(from) && run_clock_stops(to)) {
        s->clock.wait_since_ms = ts_ms;
    }
}

static int fold_run_started(struct fold *f) {
    struct run_state *s = f->run;
    s->clock.started_ms = f->ts_ms;
    int rc = sched_run_started(s);
    if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(f);
    return rc == 0 ? 0 : fold_corrupt(f, "the workflow can not be started");
}

/* Reduce an error to {"code","message","details"?}, the closed form of the snapshot (NODE-12). */
static int error_closed(struct fold *f, struct str error, struct text *out) {
    struct jobj o;
    struct str code = json_get(error, "code"), message = json_get(error, "message"),
               details = json_get(error, "details");
    if (code.n == 0 || message.n == 0) return fold_corrupt(f, "the error has no code or message");
    struct text closed;
    jobj_begin(&o, EVENT_ERROR_MAX);
    jw_kraw(&o.w, "code", code);
    jw_kraw(&o.w, "message", message);
    jw_kraw_opt(&o.w, "details", details);
    closed.p = jobj_take(&o, &closed.n);
    if (!closed.p) return fold_no_memory(f);
    state_text_clear(f->run, out);
    *out = closed;
    f->run->bytes += closed.n;
    return 0;
}

/* EVT-7, R2: the nodes were ended by their own events before the run ends. */
static int fold_run_ended(struct fold *f) {
    struct run_state *s = f->run;
    if (s->counts.running > 0 || s->counts.suspended > 0)
        return fold_corrupt(f, "the run ends while a node runs or waits");
    for (size_t i = 0; s->counts.retry > 0 && i < s->wf->nodes_nr; i++)
        if (s->nodes[i].retry_at_ms > 0) {
            s->nodes[i].retry_at_ms = 0; /* it will not start again */
            due_tree_set(s->sched.retries, (int)i, 0);
            s->counts.retry--;
        }
    s->clock.completed_ms = f->ts_ms;
    s->current_node = -1;
    sched_run_ended(s);
    return 0;
}

static int fold_run_completed(struct fold *f) {
    struct str outputs = json_get(f->event->payload, "outputs");
    if (outputs.n == 0) outputs = STR("{}");
    if (run_state_text_set(f->run, &f->run->outputs, outputs) != 0) return fold_no_memory(f);
    return fold_run_ended(f);
}

static int fold_run_failed(struct fold *f) {
    int rc = error_closed(f, json_get(f->event->payload, "error"), &f->run->error);
    return rc == 0 ? fold_run_ended(f) : rc;
}

/* D37: an immediate pause interrupts one attempt without a node event; the node starts again after
 * the resume. */
static int fold_run_paused(struct fold *f) {
    struct run_state *s = f->run;
    s->before_pause = s->status;
    s->pauses++;
    if (json_get(f->event->payload, "interruptedNodeId").n == 0) return 0;
    struct str id;
    int rc = fold_string(f, "interruptedNodeId", &id);
    if (rc != 0) return rc;
    int i = workflow_node_index(s->wf, id);
    if (i < 0 || s->nodes[i].status != NODE_RUNNING)
        return fold_corrupt(f, "the interrupted node does not run");
    return node_wait_retry(s, i, f->ts_ms) == 0 ? 0 : fold_no_memory(f);
}

/* Variables of a program are what exists: one that has no next value is gone, and with a thing (a
 * name without a dot) go all that begin with its name and a dot. */
static int fold_program_variable(struct fold *f, struct str name, struct str next) {
    struct run_state *s = f->run;
    bool thing = memchr(name.p, '.', name.n) == NULL;
    int rc = state_var_set(s, name, next, false, STR_NONE);
    if (rc == WOPR_E_TOO_BIG) return fold_corrupt(f, "the run has too many variables");
    if (rc != 0) return fold_no_memory(f);
    if (!thing || !str_eqc(next, "null")) return 0;
    for (size_t i = 0; i < s->variables.n; i++) {
        struct var_state *v = &s->variables.v[i];
        struct str of = text_str(&v->name);
        if (v->value.n == 0 || of.n <= name.n || of.p[name.n] != '.' || !str_starts(of, name))
            continue;
        state_text_clear(s, &v->value);
        v->dirty = true;
    }
    return 0;
}

static int fold_variable_changed(struct fold *f) {
    struct str name, shown = json_get(f->event->payload, "next"), next = fold_clear(f, "next");
    int rc = fold_string(f, "name", &name);
    if (rc != 0) return rc;
    if (f->run->program) return fold_program_variable(f, name, shown);
    const struct wf_variable *d = workflow_variable(f->run->wf, name);
    bool sensitive = fold_masked(f) || (d && d->sensitive);
    /* Mode omit leaves the value out (OBS-72). */
    rc = state_var_set(f->run, name, next.n > 0 ? next : STR("null"), sensitive, shown);
    if (rc == WOPR_E_TOO_BIG) return fold_corrupt(f, "the run has too many variables");
    return rc == 0 ? 0 : fold_no_memory(f);
}

static int fold_agent_handoff(struct fold *f) {
    struct str to;
    int rc = fold_string(f, "toAgentId", &to);
    if (rc != 0) return rc;
    struct str raw_to = json_get(f->event->payload, "toAgentId");
    for (size_t i = 0; i < f->run->wf->nodes_nr; i++) { /* a pinned AgentRef has more than an id */
        struct str ref = f->run->wf->nodes[i].agent;
        if (ref.n > 0 && str_eq(json_get(ref, "agentId"), raw_to))
            return text_set(&f->run->agent, ref) == 0 ? 0 : fold_no_memory(f);
    }
    struct jobj o;
    struct text agent;
    jobj_begin(&o, EVENT_ERROR_MAX);
    jw_kstr(&o.w, "agentId", to);
    agent.p = jobj_take(&o, &agent.n);
    if (!agent.p) return fold_no_memory(f);
    text_clear(&f->run->agent);
    f->run->agent = agent;
    return 0;
}

/* The column "fold" of events.def: what a kind does beyond moving the status. */
static int (*const FOLDS[EV_NR])(struct fold *f) = {
#define EVENT(id, wire, modes, def, run_edge, node_edge, fold, ...) [EV_##id] = fold,
#include "domain/events.def"
#undef EVENT
};

static void count_effect(struct fold *f) {
    if (f->node < 0 || !event_kind_is(f->event->kind, EV_F_EFFECT)) return;
    struct node_state *n = &f->run->nodes[f->node];
    struct str agent = json_get(f->run->wf->nodes[f->node].agent, "agentId");
    if (f->event->kind == EV_AGENT_HANDOFF &&
        str_eq(json_get(f->event->payload, "toAgentId"), agent))
        return; /* WF-4: at the node's start, not by its executor */
    if (n->status != NODE_RUNNING) return;
    if (n->effects < INT32_MAX) n->effects++;
    if (f->event->kind != EV_AGENT_HANDOFF) n->recorded = true; /* it precedes the executor */
    if (f->event->kind != EV_OUTPUT_CHUNK) return;
    if (n->chunks < INT32_MAX) n->chunks++;
    bool piece = json_get(f->event->payload, "isLast").n == 0;
    if (piece && n->pieces < INT32_MAX) n->pieces++;
}

static bool node_waits(const struct fold *f) {
    return f->node >= 0 && f->run->nodes[f->node].status == NODE_SUSPENDED;
}

static int fold_known(struct fold *f) {
    struct run_state *s = f->run;
    const struct event *e = f->event;
    int to = run_edge(s->status, e->kind);
    if (to < 0)
        return fold_corrupt(f, run_status_final(s->status) ? "the run has already ended"
                                                           : "not possible in this status");
    if (e->kind == EV_RUN_RESUMED && s->status == RUN_PAUSED) to = (int)s->before_pause;
    if (json_type_of(e->payload) != JSON_OBJECT) return fold_corrupt(f, "no object as payload");
    if (e->node_id.n > 0) f->node = workflow_node_index(s->wf, e->node_id);
    bool waited = node_waits(f);
    if (fold_masked(f)) {
        s->secrecy.masked = s->secrecy.masks = true;
        s->secrecy.lost = s->secrecy.lost || e->clear.n == 0;
    }
    if (FOLDS[e->kind]) {
        int rc = FOLDS[e->kind](f);
        if (rc != 0) return rc;
    }
    count_effect(f);
    if (f->node >= 0) s->nodes[f->node].clock_ms = f->ts_ms;
    /* RUNNING and the waiting states show what the suspended nodes ask for (INT-12). */
    bool going = to == RUN_RUNNING || run_status_waiting((enum run_status)to);
    enum run_status shown = (enum run_status)to;
    if (going && (waited || node_waits(f) || to != (int)s->status) &&
        state_waits_now(s, &shown, &s->current_node) != 0)
        return fold_no_memory(f);
    run_move(s, shown, f->ts_ms);
    return s->program ? s->wf->program->fold(s->program, s, e, f->node, f->err) : 0;
}

int state_apply_checked(struct run_state *s, const struct event *e, struct wopr_error *err) {
    struct fold f = {.run = s, .event = e, .node = -1, .err = err};
    f.ts_ms = e->ts_ms > s->last_ts_ms ? e->ts_ms : s->last_ts_ms;
    int rc = run_state_finish(s, NULL, err);
    if (rc != 0) return rc;
    if (e->seq != s->next_seq) rc = fold_corrupt(&f, "not the next sequence");
    else if (run_status_final(s->status)) rc = fold_corrupt(&f, "the run has already ended");
    else if ((unsigned)e->kind < EV_NR) rc = fold_known(&f);
    arena_free(f.scratch);
    if (rc != 0) return rc;
    s->last_ts_ms = f.ts_ms;
    s->next_seq++;
    s->log_bytes += event_bytes(e);
    return 0;
}

int run_state_begin(struct run_state *s, const struct event *e, struct wopr_error *err) {
    if ((unsigned)e->kind < EV_NR) { /* the payload of an unknown kind is not read */
        struct fold f = {.run = s, .event = e, .node = -1, .err = err};
        int rc = json_check(e->payload, &JSON_LIMITS_STORED, NULL);
        if (rc == WOPR_E_NO_MEMORY) return fold_no_memory(&f);
        if (rc != 0) return fold_corrupt(&f, "the payload is not JSON");
    }
    return state_apply_checked(s, e, err);
}

int run_state_apply(struct run_state *s, const struct event *e, struct wopr_error *err) {
    int rc = run_state_begin(s, e, err);
    return rc == 0 ? run_state_finish(s, NULL, err) : rc;
}

/*
 * children.c: nodes that wait for a run of another workflow (WF-45..51, NODE-48..52, EVT-39).
 * Nothing here needs to survive a crash: the executor of a running node is entered again (STORE-39)
 * and asks for the same child, whose id follows from the log and which is found in the store.
 */
#include "engine/children.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "codec/json.h"
#include "engine/attempt.h"
#include "engine/cascade.h"
#include "engine/child_link.h"
#include "engine/clear.h"
#include "engine/outcome.h"
#include "engine/secret.h"
#include "engine/timeline.h"
#include "engine/timers.h"
#include "store/events.h"

#include <stdio.h>

/* Separates these hashes from any other use of SHA-256 here. */
#define CHILD_ID_DOMAIN "wopr/child-run/1"

/* --- identity --- */

/* The ULID's time is that of node.started, its random bits a hash of the child's identity
 * (DISP-12). */
static bool child_id(struct step *st, int node, int ordinal, char out[RUN_ID_MAX + 1]) {
    const struct node_state *ns = &st->state->nodes[node];
    char ulid[ULID_LEN + 1];
    struct buf b;
    buf_init(&b, 4096);
    buf_addz(&b, CHILD_ID_DOMAIN);
    buf_addc(&b, '\0');
    /* A replay does not run children again: it reads those of its source (FORK-14). */
    buf_adds(&b, timeline_ids(st, node));
    buf_addc(&b, '\0');
    buf_adds(&b, st->state->wf->nodes[node].id);
    buf_addc(&b, '\0');
    buf_addf(&b, "%d/%d/%d", (int)ns->activation, (int)ns->attempt, ordinal);
    bool ok = !buf_failed(&b);
    struct sha256 h = sha256_of(buf_str(&b));
    buf_fini(&b);
    ulid_from(ns->started_ms, h.b, ulid);
    snprintf(out, RUN_ID_MAX + 1, "run_%s", ulid);
    return ok;
}

static bool node_live(const struct node_state *ns) {
    return ns->status == NODE_RUNNING || ns->status == NODE_SUSPENDED;
}

static bool id_is_current(struct step *st, struct str node_id, struct str run_id) {
    char id[RUN_ID_MAX + 1];
    int node = workflow_node_index(st->state->wf, node_id);
    if (node < 0 || !node_live(&st->state->nodes[node])) return false;
    for (int i = 0; i <= NODE_CHILD_ORDINAL_MAX; i++)
        if (child_id(st, node, i, id) && str_eqc(run_id, id)) return true;
    return false;
}

/* --- entries --- */

/* Keep entries whose creation is in flight: the run must not end until its outcome is known. */
static void children_forget(struct run_exec *re) {
    for (struct list *l = re->kin.children.next, *next; l != &re->kin.children; l = next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        next = l->next;
        if (creation_out(x)) child_move(x, CHILD_FORGOTTEN);
        else child_free(re, x);
    }
    cascade_forget(re);
    re->kin.stall_emitted = false;
}

static void children_free(struct run_exec *re) {
    while (!list_empty(&re->kin.children))
        child_free(re, LIST_ENTRY(re->kin.children.next, struct exec_child, link));
}

static bool child_in_use(const struct exec_child *x) {
    return x->phase != CHILD_UNWANTED && x->phase != CHILD_FORGOTTEN;
}

static bool children_hold(struct run_exec *re, int node) {
    for (const struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next) {
        const struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        if (child_in_use(x) && (node < 0 || x->node == node)) return true;
    }
    return false;
}

static void children_timer(struct step *st, int node) {
    struct run_exec *re = st->exec;
    (void)node;
    re->kin.news = true;
    for (struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next)
        LIST_ENTRY(l, struct exec_child, link)->again_ms = 0;
}

bool children_wanted(const struct run_exec *re) {
    for (const struct list *l = re->kin.children.next; l != &re->kin.children; l = l->next) {
        const struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        if (x->turn != re->turns) continue;
        if (x->phase == CHILD_WANTED || x->look || x->pause_due) return true;
    }
    return false;
}

static void child_again_later(struct step *st, struct exec_child *x) {
    x->held = true;
    x->again_ms = clock_mono_ms() + ENGINE_CHILD_AGAIN_MS;
    if (timer_arm(st->exec, TIMER_CHILD, -1, st->now_ms + ENGINE_CHILD_AGAIN_MS, false) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a timer");
}

/* --- requests of executors --- */

static int child_refuse(struct failure *f, const char *code, struct str message) {
    *f = (struct failure){.code = str_c(code), .message = message};
    return WOPR_E_VALIDATION;
}

static int child_workflow_find(struct step *st, struct str id, struct workflow **out,
                               struct failure *f) {
    const struct run_meta *m = &st->state->meta;
    struct wopr_error err = {0};
    struct workflow *wf = NULL;
    int rc = engine_workflow(st->engine, m->tenant, m->test_mode, id, &wf, &err);
    if (rc == WOPR_E_NOT_FOUND)
        return child_refuse(f, "unknown_child_workflow", STR("there is no such workflow to run"));
    if (rc == WOPR_E_VALIDATION)
        return child_refuse(f, "validation_error",
                            STR("the stored child workflow cannot be executed by this host"));
    if (rc != 0) return rc;
    if (wf->active) {
        *out = wf;
        return 0;
    }
    workflow_unref(wf);
    return child_refuse(f, "unknown_child_workflow", STR("the child workflow is not active"));
}

/* The span of the node is the parent of the child's run (OBS-6). */
static struct str trace_for_child(const struct step *st, int node, struct arena *a) {
    const struct run_meta *m = &st->state->meta;
    uint8_t span[SPAN_ID_BYTES];
    struct traceparent t;
    if (!st->engine->cfg.trace.on && m->traceparent.n == 0) return STR_NONE;
    trace_span_node(m->run_id, st->state->wf->nodes[node].id, st->state->nodes[node].terminal_n,
                    span);
    bool any = trace_onward(&st->engine->cfg.trace, m->traceparent, m->run_id, span, &t);
    return any ? arena_str(a, trace_context(str_c(t.text), trace_state(m->traceparent), a))
               : STR_NONE;
}

/* Inputs and options, as a caller of the child would give them. */
static int creation_fill(struct step *st, int node, const struct node_child *want,
                         struct run_command *c, struct failure *f) {
    const struct run_meta *m = &st->state->meta;
    struct engine_cmd *cmd = &c->cmd;
    struct options_env env = {.limits = &st->engine->cfg.limits, .test_key = m->test_mode};
    struct wopr_error err = {0};
    struct str conf = want->configurable.n > 0 ? want->configurable : m->configurable;
    conf = conf.n > 0 ? arena_str(c->arena, conf) : STR_NONE;
    struct str inputs = arena_str(c->arena, want->inputs.n > 0 ? want->inputs : STR("{}"));
    cmd->subject = m->subject.n > 0 ? arena_str(c->arena, m->subject) : STR_NONE;
    cmd->create.scope_id = m->scope_id.n > 0 ? arena_str(c->arena, m->scope_id) : STR_NONE;
    cmd->traceparent = trace_for_child(st, node, c->arena);
    if (arena_failed(c->arena)) return WOPR_E_NO_MEMORY;
    int rc = run_options_check(conf, STR_NONE, STR_NONE, c->wf, &env, c->arena,
                               &cmd->create.options, &err);
    if (rc == 0) rc = run_inputs_check(inputs, c->wf, c->arena, &cmd->create.inputs, &err);
    for (size_t i = 0; rc == 0 && i < cmd->create.inputs.n; i++) { /* OBS-71: there, too */
        struct var_init *v = &cmd->create.inputs.v[i];
        if (v->from_input && secret_in(st, v->value)) v->sensitive = v->inherited = true;
    }
    if (rc == 0)
        rc = run_inputs_render(&cmd->create.inputs, c->arena, &cmd->create.inputs_accepted, &err);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    struct str why = arena_printf(st->scratch, "the child run cannot be created: %s", err.message);
    return child_refuse(f, "validation_error", why);
}

static int creation_prepare(struct step *st, struct exec_child *x, const struct node_child *want,
                            struct failure *f) {
    struct workflow *wf = NULL;
    if (st->exec->kin.depth >= ENGINE_CHILD_DEPTH_MAX) /* WF-48 */
        return child_refuse(f, "subworkflow_depth_exceeded",
                            STR("child runs may be nested 10 deep and not deeper"));
    int rc = child_workflow_find(st, want->workflow_id, &wf, f);
    if (rc != 0) return rc;
    struct run_command *c = run_command_new(st, ENGINE_CREATE, str_c(x->run_id), NULL);
    if (!c) {
        workflow_unref(wf);
        return WOPR_E_NO_MEMORY;
    }
    c->wf = c->cmd.create.wf = wf;
    c->cmd.create.parent_run_id = arena_str(c->arena, str_c(st->exec->run_id));
    c->cmd.create.parent_node_id = arena_str(c->arena, st->state->wf->nodes[x->node].id);
    c->cmd.create.callback_url = arena_str(c->arena, st->state->meta.callback_url); /* RUN-1 */
    c->cmd.create.child_depth = st->exec->kin.depth + 1;
    c->cmd.create.child_flags =
        (want->wait ? CHILD_AWAITED : 0u) | (want->detached ? CHILD_DETACHED : 0u);
    rc = creation_fill(st, x->node, want, c, f);
    if (rc == 0) x->creation = c;
    else run_command_free(c);
    return rc;
}

/* A child that the source could not start fails here as it did there. */
static int replay_lacks(struct step *st, struct exec_child *x, const struct node_child *want,
                        int rc, struct failure *f) {
    if (rc == WOPR_E_NOT_FOUND) {
        rc = creation_prepare(st, x, want, f);
        if (rc != 0) return rc;
    } else if (rc != 0 && rc != WOPR_E_EXPIRED) {
        return rc;
    }
    return child_refuse(
        f, "replay_source_missing",
        STR("a replay starts no child runs, and its source has no end of this one"));
}

static int child_find(struct step *st, struct exec_child *x, const struct node_child *want,
                      struct failure *f) {
    const struct run_meta *m = &st->state->meta;
    struct run_head h;
    bool ok = want->ordinal >= 0 && want->ordinal <= NODE_CHILD_ORDINAL_MAX;
    if (!ok || !child_id(st, x->node, want->ordinal, x->run_id))
        return child_refuse(f, "validation_error", STR("the node asks for too many child runs"));
    x->ordinal = want->ordinal;
    x->wait = want->wait;
    x->detached = want->detached;
    if (timeline_lacked(st, x->node, f)) return WOPR_E_VALIDATION;
    int rc = store_run_head(st->engine->store, m->tenant, m->test_mode, str_c(x->run_id),
                            st->scratch, &h, NULL);
    if (st->exec->timeline && rc == 0 && (run_status_final(h.status) || !x->wait)) return 0;
    if (st->exec->timeline) return replay_lacks(st, x, want, rc, f);
    if (rc == WOPR_E_EXPIRED)
        return child_refuse(f, "child_failed", STR("the child run was removed by retention"));
    if (rc == 0) {
        child_move(x, CHILD_WAITING);
        x->look = true;
        return 0;
    }
    return rc == WOPR_E_NOT_FOUND ? creation_prepare(st, x, want, f) : rc;
}

static void child_ended(struct step *st, struct exec_child *x, const struct run_head *h);

static void child_claim(struct step *st, int node, const struct node_result *r) {
    const struct node_child *want = &r->child;
    struct failure f = {.code = STR_NONE};
    if (timeline_shows_child(st, node)) return;
    struct exec_child *x = child_new(st->exec, node, CHILD_WANTED);
    int rc = x ? child_find(st, x, want, &f) : WOPR_E_NO_MEMORY;
    if (rc == 0 && st->exec->timeline) {
        child_ended(st, x, NULL);
        return;
    }
    if (rc == 0) {
        x->turn = st->exec->turns;
        step_timeout_arm(st, node);
        return;
    }
    if (x) child_free(st->exec, x);
    if (rc == WOPR_E_VALIDATION) attempt_failed(st, node, &f);
    else plan_fail(st->plan, rc, "the child run of a node cannot be looked up");
}

/* --- creation --- */

/* WF-51: as many unfinished children as a run may have. */
static bool fan_full(struct step *st) {
    struct run_exec *re = st->exec;
    unsigned max = st->engine->cfg.children_open_max;
    struct child_row_list l;
    if (re->kin.open_bound < max) return false;
    if (store_children(st->engine->store, str_c(re->run_id), true, max, st->scratch, &l, NULL) != 0)
        return true;
    re->kin.open_bound = l.n;
    for (struct list *k = re->kin.children.next; k != &re->kin.children; k = k->next)
        re->kin.open_bound += LIST_ENTRY(k, struct exec_child, link)->phase == CHILD_ASKED;
    return re->kin.open_bound >= max;
}

static void fan_stall_emit(struct step *st, const struct exec_child *x) {
    struct jobj o;
    if (st->exec->kin.stall_emitted) return;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kint(&o.w, "stalledForMs", 0);
    jw_kstr(&o.w, "lastNodeId", st->state->wf->nodes[x->node].id);
    (void)step_emit(st, EV_WORKFLOW_STALLED, -1, -1, jobj_end(&o, st->plan->arena));
    st->exec->kin.stall_emitted = true;
}

static void creation_ask(struct step *st, struct exec_child *x) {
    if (x->held) return;
    if (fan_full(st)) { /* try again when a child ends, which wakes the run */
        fan_stall_emit(st, x);
        x->held = true;
        x->again_ms = 0;
        return;
    }
    st->exec->kin.stall_emitted = false;
    st->exec->kin.had_children = true;
    st->exec->kin.open_bound++;
    child_move(x, CHILD_ASKED);
    run_command_send(x->creation);
}

static void creation_failed(struct step *st, struct exec_child *x, int rc) {
    const struct wopr_error *said = &x->creation->cmd.result.err;
    struct failure f = {
        .code = STR("child_failed"),
        .message = arena_printf(st->scratch, "the child run could not be created: %s",
                                rc == WOPR_E_VALIDATION && said->code == rc ? said->message
                                                                            : wopr_err_text(rc)),
        .retryable = true};
    int node = x->node;
    log_warn("a child run could not be created", "run", st->exec->run_id, "reason",
             wopr_err_name(rc));
    if (wopr_err_passes(rc)) {
        fan_stall_emit(st, x); /* WF-51: throttled, not dropped */
        child_move(x, CHILD_WANTED);
        child_again_later(st, x);
        return;
    }
    child_free(st->exec, x);
    attempt_failed(st, node, &f);
}

/* --- changes of a child --- */

static void child_emit_resumed(struct step *st, const struct exec_child *x) {
    const struct node_state *ns = &st->state->nodes[x->node];
    if (ns->status != NODE_SUSPENDED || !ns->child_waits) return;
    (void)step_emit(st, EV_NODE_RESUMED, x->node, ns->suspended_seq,
                    pay_node_resumed(st->plan->arena, st->state->wf->nodes[x->node].id,
                                     text_str(&x->interrupt), STR_NONE));
}

/* EVT-39, NODE-50: the parent shows what the child waits for. */
static void child_suspends(struct step *st, struct exec_child *x, const struct run_head *h) {
    const struct node_state *ns = &st->state->nodes[x->node];
    struct event last;
    int rc = store_event_last(st->engine->store, h->run_no, EV_NODE_SUSPENDED, STR_NONE,
                              st->scratch, &last, NULL);
    struct str id =
        rc == 0 ? json_string(json_get(last.payload, "interruptId"), st->scratch) : STR_NONE;
    if (id.n == 0) { /* it has changed since its row was read, and will wake us */
        child_again_later(st, x);
        return;
    }
    if (ns->child_waits && str_eq(id, text_str(&x->interrupt))) return;
    child_emit_resumed(st, x);
    if (ns->status != NODE_RUNNING || step_lost(st)) return;
    if (text_set(&x->interrupt, id) != 0) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the suspension of a child");
        return;
    }
    (void)step_emit(st, EV_NODE_SUSPENDED, x->node, -1,
                    pay_child_suspended(st->plan->arena, st->state->wf->nodes[x->node].id, id,
                                        json_get(last.payload, "kind"), str_c(x->run_id)));
}

static void child_goes(struct step *st, struct exec_child *x, const struct run_head *h) {
    child_emit_resumed(st, x);
    text_clear(&x->interrupt);
    if (h->status == RUN_PAUSED && cascade_paused(st, h->run_no))
        run_command_post(st, ENGINE_RESUME, str_c(x->run_id), "parent-resumed");
}

static int child_end_read(struct step *st, const struct exec_child *x, struct node_child_end *out) {
    const struct run_meta *m = &st->state->meta;
    struct run_view v;
    struct str left = STR_NONE;
    struct json_members clear = {0};
    struct wopr_error err;
    int rc = store_run_view(st->engine->store, m->tenant, m->test_mode, str_c(x->run_id),
                            st->scratch, &v, &err);
    if (rc == 0 && run_status_final(v.head.status)) /* WF-49: what it left to us, clear */
        rc = clear_one(st->engine, v.head.run_no, SEALED_LEFT, st->scratch, &left, &err);
    if (rc == 0 && left.n > 0) rc = json_members(left, st->scratch, &clear, &err);
    if (rc != 0) return rc;
    struct node_child_var *vars =
        ARENA_ARRAY(st->scratch, struct node_child_var, v.vars_nr + clear.n + 1);
    size_t vars_nr = v.vars_nr;
    if (!vars) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < v.vars_nr; i++)
        vars[i] = (struct node_child_var){.name = v.vars[i].name, .shown = v.vars[i].value};
    for (size_t k = 0; k < clear.n; k++) {
        size_t i = 0;
        while (i < v.vars_nr && !str_eq(vars[i].name, clear.v[k].key)) i++;
        if (i == v.vars_nr) i = vars_nr++; /* not shown: mode omit */
        vars[i].name = clear.v[k].key;
        vars[i].clear = clear.v[k].raw;
    }
    *out = (struct node_child_end){.run_id = arena_str(st->scratch, str_c(x->run_id)),
                                   .ordinal = x->ordinal,
                                   .status = v.head.status,
                                   .error = v.head.status == RUN_FAILED ? v.error : STR_NONE,
                                   .outputs = v.outputs,
                                   .vars = vars,
                                   .vars_nr = vars_nr};
    return out->run_id.p ? 0 : WOPR_E_NO_MEMORY;
}

/* A cascade from here or from above cancelled the child before this process loaded the run. */
static bool cancel_cut_off(struct step *st, const struct run_head *h) {
    struct event_list l;
    if (h->status != RUN_CANCELLED) return false;
    if (store_events(st->engine->store, h->run_no, h->next_seq - 1, 1, 1, st->scratch, &l, NULL) !=
            0 ||
        l.n == 0)
        return false;
    struct str p = l.v[0].payload;
    if (!str_eqc(json_get(p, "reason"), "\"parent-cancelled\"")) return false;
    return cascade_goes_on(st, json_string(json_get(p, "cancelledBy"), st->scratch));
}

static void child_ended(struct step *st, struct exec_child *x, const struct run_head *h) {
    struct node_child_end end;
    int node = x->node;
    if (h && x->wait && cancel_cut_off(st, h)) return;
    int rc = child_end_read(st, x, &end);
    if (rc != 0) {
        plan_fail(st->plan, rc, "the result of a child run cannot be read");
        return;
    }
    child_emit_resumed(st, x);
    child_free(st->exec, x);
    if (step_lost(st) || st->state->nodes[node].status != NODE_RUNNING) return;
    st->child_end = &end;
    attempt_run(st, node, false);
    st->child_end = NULL;
}

static void child_lost(struct step *st, struct exec_child *x) {
    struct failure f = {.code = STR("child_failed"),
                        .message = STR("the child run was removed by retention")};
    int node = x->node;
    child_emit_resumed(st, x);
    child_free(st->exec, x);
    if (!step_lost(st)) attempt_failed(st, node, &f);
}

static void child_look(struct step *st, struct exec_child *x) {
    const struct run_meta *m = &st->state->meta;
    struct run_head h;
    int rc = store_run_head(st->engine->store, m->tenant, m->test_mode, str_c(x->run_id),
                            st->scratch, &h, NULL);
    x->look = false;
    if (rc == WOPR_E_NOT_FOUND && x->creation) { /* a creation reported as EXISTS then failed */
        child_move(x, CHILD_WANTED);
        child_again_later(st, x);
        return;
    }
    if (rc == WOPR_E_NOT_FOUND || rc == WOPR_E_EXPIRED) {
        child_lost(st, x);
        return;
    }
    if (rc != 0) {
        x->look = true;
        child_again_later(st, x);
        return;
    }
    bool waiting = h.status >= RUN_WAITING_APPROVAL && h.status <= RUN_WAITING_EXTERNAL;
    run_command_free(x->creation);
    x->creation = NULL;
    st->exec->kin.had_children = true;
    child_await(st->exec, x, &h);
    if (x->ordinal < 0 &&
        (!waiting || x->foreign)) { /* its node is entered again and requests it */
        child_emit_resumed(st, x);
        child_free(st->exec, x);
    } else if (run_status_final(h.status) || !x->wait) child_ended(st, x, &h);
    else if (waiting) child_suspends(st, x, &h);
    else child_goes(st, x, &h);
}

static void child_step(struct step *st, struct exec_child *x) {
    if (x->phase == CHILD_WANTED) {
        creation_ask(st, x);
    } else if (x->phase == CHILD_ASKED) {
        int rc = x->creation->rc;
        if (rc == RUN_COMMAND_PENDING) return;
        if (rc != 0 && rc != WOPR_E_EXISTS) {
            creation_failed(st, x, rc);
            return;
        }
        child_move(x, CHILD_WAITING);
        child_look(st, x);
    } else if (x->phase == CHILD_WAITING && x->look && !x->held) {
        child_look(st, x);
    }
}

static void children_step(struct step *st) {
    struct run_exec *re = st->exec;
    for (struct list *l = re->kin.children.next, *next; l != &re->kin.children; l = next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        next = l->next;
        if (!step_moves(st) || step_full(st) || !step_settled(st)) return;
        if (x->turn != re->turns) child_step(st, x);
    }
}

/* --- commands to children --- */

static void unwanted_step(struct step *st, struct exec_child *x) {
    if (x->creation) {
        int rc = x->creation->rc;
        if (rc == RUN_COMMAND_PENDING) return;
        bool there = rc == 0 || rc == WOPR_E_EXISTS;
        run_command_free(x->creation);
        x->creation = NULL;
        if (!there) {
            child_free(st->exec, x);
            return;
        }
    }
    if (x->cancel && x->cancel->rc == RUN_COMMAND_PENDING) return;
    if (x->cancel && (x->cancel->rc == 0 || !wopr_err_passes(x->cancel->rc))) {
        child_free(st->exec, x);
        return;
    }
    if (x->held) return;
    bool again = x->cancel != NULL;
    if (!again) x->cancel = run_command_new(st, ENGINE_CANCEL, str_c(x->run_id), "parent-moved-on");
    if (x->cancel) run_command_send(x->cancel);
    if (again || !x->cancel) child_again_later(st, x);
}

static void pause_step(struct step *st, struct exec_child *x) {
    if (x->phase == CHILD_ASKED && x->creation->rc == RUN_COMMAND_PENDING) return;
    x->pause_due = false;
    if (st->state->status == RUN_PAUSED)
        run_command_post(st, ENGINE_PAUSE, str_c(x->run_id), "parent-paused");
}

static void children_tend(struct step *st) {
    struct run_exec *re = st->exec;
    bool told = atomic_exchange(&re->kin.news, false);
    uint64_t now_ms = clock_mono_ms();
    for (struct list *l = re->kin.children.next, *next; l != &re->kin.children; l = next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        next = l->next;
        if (told) {
            x->look = true;
            x->held = x->held && x->again_ms > now_ms;
        }
        if (x->turn == re->turns) continue;
        if (x->phase == CHILD_FORGOTTEN && !creation_out(x)) child_free(re, x);
        else if (x->phase == CHILD_UNWANTED) unwanted_step(st, x);
        else if (x->pause_due) pause_step(st, x);
    }
}

/* The node no longer needs its child: cancel it, unless it is detached. */
static void children_timed_out(struct step *st, int node) {
    struct run_exec *re = st->exec;
    for (struct list *l = re->kin.children.next, *next; l != &re->kin.children; l = next) {
        struct exec_child *x = LIST_ENTRY(l, struct exec_child, link);
        next = l->next;
        if (x->node != node || !child_in_use(x)) continue;
        child_emit_resumed(st, x);
        if (x->phase == CHILD_WANTED || x->detached || x->foreign) {
            child_free(re, x);
            continue;
        }
        child_move(x, CHILD_UNWANTED);
        x->turn = re->turns;
        x->held = false;
    }
}

/* --- after a fold --- */

static int left_over_load(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct child_row_list l;
    int rc = store_children(st->engine->store, str_c(re->run_id), true, ENGINE_CHILDREN_PAGE,
                            st->scratch, &l, err);
    if (rc != 0) return rc;
    re->kin.open_bound = l.n;
    re->kin.had_children = re->kin.had_children || l.n > 0;
    for (size_t i = 0; i < l.n; i++) {
        bool bound = l.v[i].flags & CHILD_AWAITED && !(l.v[i].flags & CHILD_DETACHED);
        if (!bound || id_is_current(st, l.v[i].node_id, l.v[i].run_id)) continue;
        struct exec_child *x = child_new(re, -1, CHILD_UNWANTED);
        if (!x) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a child run");
        snprintf(x->run_id, sizeof x->run_id, STR_FMT, STR_ARG(l.v[i].run_id));
    }
    return 0;
}

static int child_restore_flags(struct step *st, struct exec_child *x, struct wopr_error *err) {
    const struct run_meta *m = &st->state->meta;
    struct run_head h;
    struct run_origin o;
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX); /* reset per child: inputs are large */
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a child run");
    int rc =
        store_run_head(st->engine->store, m->tenant, m->test_mode, str_c(x->run_id), a, &h, err);
    if (rc == 0) rc = store_run_origin(st->engine->store, h.run_no, a, &o, err);
    if (rc == 0) {
        x->detached = (o.child_flags & CHILD_DETACHED) != 0;
        x->foreign = !str_eqc(o.parent_run_id, st->exec->run_id);
    }
    arena_free(a);
    return rc == WOPR_E_EXPIRED || rc == WOPR_E_NOT_FOUND ? 0 : rc; /* child_look will report it */
}

/* A node that shows its child's suspension waits for the child that its own event names. */
static int child_restore(struct step *st, int node, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct event last;
    int rc = store_event_last(st->engine->store, re->run_no, EV_NODE_SUSPENDED,
                              st->state->wf->nodes[node].id, st->scratch, &last, err);
    if (rc != 0) return rc;
    struct str run_id = json_string(json_get(last.payload, "childRunId"), st->scratch);
    struct str interrupt = json_string(json_get(last.payload, "interruptId"), st->scratch);
    if (run_id.n == 0 || run_id.n > RUN_ID_MAX)
        return wopr_error_set(err, WOPR_E_CORRUPT, "a suspended node does not name its child");
    struct exec_child *x = child_new(re, node, CHILD_WAITING);
    if (!x || text_set(&x->interrupt, interrupt) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a child run");
    memcpy(x->run_id, run_id.p, run_id.n);
    x->wait = x->look = true;
    x->ordinal = -1;
    return child_restore_flags(st, x, err);
}

int children_load(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    st->state = re->state;
    if (re->timeline) return 0;
    int rc = left_over_load(st, err);
    for (size_t i = 0; rc == 0 && i < st->state->wf->nodes_nr; i++)
        if (st->state->nodes[i].status == NODE_SUSPENDED && st->state->nodes[i].child_waits)
            rc = child_restore(st, (int)i, err);
    if (rc == 0 && re->lease.taken) cascade_check_parent(st);
    return rc;
}

static bool children_stay(struct run_exec *re) {
    return !list_empty(&re->kin.children) || !list_empty(&re->kin.cancels);
}

const struct wait_kind WAIT_CHILD = {.name = "child",
                                     .outcome = NODE_OUT_CHILD,
                                     .timer = TIMER_CHILD,
                                     .claim = child_claim,
                                     .holds = children_hold,
                                     .tend = children_tend,
                                     .enter = children_step,
                                     .on_timer = children_timer,
                                     .timed_out = children_timed_out,
                                     .load = children_load,
                                     .forget = children_forget,
                                     .free = children_free,
                                     .stays = children_stay};

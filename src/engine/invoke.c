/*
 * invoke.c: requests that leave the host for a node (STORE-42, IDEM-16..19, D55).  Claim and
 * outcome are rows of plans: the request is sent when the plan with its claim has landed, and an
 * executor sees an outcome in the step whose plan records it.  A claim without an outcome (crash,
 * takeover) is sent again under the same invocation id; so is a request whose answer never came.
 * Success is final: it is never sent again.  A request under way belongs to the engine
 * (e->requests), so that the run may be reloaded meanwhile. */
#include "engine/invoke.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "domain/reasoning.h"
#include "engine/answer.h"
#include "engine/answer_clear.h"
#include "engine/invoke_call.h"
#include "engine/outcome.h"
#include "engine/pieces.h"
#include "engine/secret.h"
#include "engine/timeline.h"
#include "engine/timers.h"

#define INVOKE_TTL_MS       (INT64_C(14) * 86400 * 1000) /* IDEM-18 */
#define INVOKE_OUTCOME_MAX  (2u * 1024 * 1024)
#define INVOKE_PER_RUN_MAX  100000u
#define INVOKE_STATUS_ERROR 400
#define INVOKE_CANCELS      64u /* at a time */
#define INVOKE_ARENA_MAX    (16u * 1024 * 1024)
#define NO_ROOM             "no memory for the invocation log"

struct invocation { /* a row of the log, as this process knows it */
    int node;
    int64_t ordinal; /* activation * NODE_INVOKES_MAX + position */
    int32_t attempt;
    enum invocation_state state;
    struct sha256 digest;
    struct text effect_id, provider_key, invocation_id, outcome;
    bool calling;             /* under way, maybe since an earlier fold */
    bool shown;               /* the outcome is that of the log, not the clear one */
    struct invoke_call *send; /* claimed by the plan in flight */
};

/* --- the rows of a run --- */

static void invocation_clear(struct invocation *v) {
    text_clear(&v->effect_id);
    text_clear(&v->provider_key);
    text_clear(&v->invocation_id);
    text_clear(&v->outcome);
    invoke_call_free(v->send);
}

static void invoke_forget(struct run_exec *re) {
    for (size_t i = 0; i < re->requests.rows_nr; i++) invocation_clear(&re->requests.rows[i]);
    mem_free(re->requests.rows);
    re->requests.rows = NULL;
    re->requests.rows_nr = re->requests.rows_cap = 0;
    if (!re->requests.recorded) return;
    pthread_mutex_lock(&re->engine->mu); /* their plan was lost: take them in again */
    while (re->requests.recorded) {
        struct invoke_call *c = re->requests.recorded;
        re->requests.recorded = c->next;
        c->next = re->requests.answers;
        re->requests.answers = c;
        re->requests.has_answers = true;
    }
    pthread_mutex_unlock(&re->engine->mu);
}

static void invoke_free(struct run_exec *re) {
    invoke_calls_free(re->requests.recorded);
    invoke_calls_free(re->requests.answers);
    re->requests.recorded = re->requests.answers = NULL;
}

static struct invocation *invocation_find(struct run_exec *re, int node, int64_t ordinal) {
    for (size_t i = 0; i < re->requests.rows_nr; i++)
        if (re->requests.rows[i].node == node && re->requests.rows[i].ordinal == ordinal)
            return &re->requests.rows[i];
    return NULL;
}

static struct invocation *invocation_add(struct run_exec *re, int node, int64_t ordinal) {
    if (re->requests.rows_nr >= INVOKE_PER_RUN_MAX) return NULL;
    if (VEC_ROOM(re->requests.rows, re->requests.rows_nr, re->requests.rows_cap, 4) != 0)
        return NULL;
    struct invocation *v = &re->requests.rows[re->requests.rows_nr++];
    *v = (struct invocation){.node = node, .ordinal = ordinal};
    return v;
}

static bool invoke_waits(struct run_exec *re, int node) {
    for (size_t i = 0; i < re->requests.rows_nr; i++) {
        const struct invocation *v = &re->requests.rows[i];
        if ((node < 0 || v->node == node) && (v->calling || v->send)) return true;
    }
    return false;
}

static bool call_under_way(struct engine *e, const char *run_id, struct str invocation_id) {
    bool found = false;
    pthread_mutex_lock(&e->mu);
    for (struct list *l = e->requests.next; !found && l != &e->requests; l = l->next) {
        const struct invoke_call *c = LIST_ENTRY(l, struct invoke_call, link);
        found = strcmp(c->run_id, run_id) == 0 && str_eq(c->invocation_id, invocation_id);
    }
    pthread_mutex_unlock(&e->mu);
    return found;
}

/* Add a row, unless this process knows it already. */
static int invocation_take_row(void *ctx, const struct plan_invocation *row,
                               struct wopr_error *err) {
    struct step *st = ctx;
    struct run_exec *re = st->exec;
    int node = workflow_node_index(re->wf, row->node_id);
    if (node < 0 || invocation_find(re, node, row->ordinal)) return 0; /* not one of ours */
    struct invocation *v = invocation_add(re, node, row->ordinal);
    int rc = v ? 0 : WOPR_E_NO_MEMORY;
    if (v) {
        v->attempt = row->attempt;
        v->state = row->state;
        v->digest = row->request_digest;
        v->calling = call_under_way(st->engine, re->run_id, row->invocation_id);
        rc = text_set(&v->effect_id, row->effect_id);
        if (rc == 0) rc = text_set(&v->provider_key, row->provider_key);
        if (rc == 0) rc = text_set(&v->invocation_id, row->invocation_id);
        if (rc == 0) rc = text_set(&v->outcome, row->outcome);
        v->shown = answer_is_shown(row->outcome);
    }
    return rc == 0 ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, NO_ROOM);
}

/* Rows of this run that are shown with something left out, as they came if that is still there. */
static int answers_open(struct step *st, int64_t run_no, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct arena *a = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < re->requests.rows_nr; i++) {
        struct invocation *v = &re->requests.rows[i];
        struct str clear;
        if (!v->shown) continue;
        v->shown = false; /* of this run: it is looked for once */
        if (!a) a = arena_new(INVOKE_ARENA_MAX);
        if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, NO_ROOM);
        rc = answer_clear(st->engine, run_no, v->node, v->ordinal, a, &clear, err);
        if (rc == 0 && clear.n > 0 && text_set(&v->outcome, clear) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, NO_ROOM);
        arena_reset(a);
    }
    arena_free(a);
    return rc;
}

int invoke_load(struct step *st, int64_t run_no, struct wopr_error *err) {
    int rc = store_invocations(st->engine->store, run_no, invocation_take_row, st, err);
    return rc == 0 ? answers_open(st, run_no, err) : rc;
}

static void invocation_record(struct step *st, const struct invocation *v) {
    struct plan_invocation row = {.effect_id = text_str(&v->effect_id),
                                  .node_id = st->state->wf->nodes[v->node].id,
                                  .provider_key = text_str(&v->provider_key),
                                  .invocation_id = text_str(&v->invocation_id),
                                  .ordinal = v->ordinal,
                                  .attempt = v->attempt,
                                  .state = v->state,
                                  .request_digest = v->digest,
                                  .outcome =
                                      answer_shown(st, v->node, v->ordinal, text_str(&v->outcome)),
                                  .at_ms = st->now_ms,
                                  .expires_ms = st->now_ms + INVOKE_TTL_MS};
    plan_invocation(st->plan, &row);
}

/* --- results for executors --- */

/* Of an earlier attempt only a success counts: a failed request may be repeated. */
static bool invocation_visible(const struct invocation *v, int attempt) {
    if (v->state == INVOCATION_CLAIMED || v->outcome.n == 0) return false;
    if (v->attempt > attempt) return false; /* a later attempt of a replay's source */
    if (v->attempt == attempt) return true;
    int64_t status = 0;
    return v->state == INVOCATION_COMPLETED &&
           json_int(json_get(text_str(&v->outcome), "status"), &status) &&
           status < INVOKE_STATUS_ERROR;
}

void invoke_answers(struct step *st, int node, struct node_call *call) {
    struct run_exec *re = st->exec;
    int64_t base = (int64_t)st->state->nodes[node].activation * NODE_INVOKES_MAX;
    size_t n = 0;
    for (size_t i = 0; i < re->requests.rows_nr; i++) n += re->requests.rows[i].node == node;
    if (n == 0) return;
    struct node_answer *out = ARENA_ARRAY(st->scratch, struct node_answer, n);
    if (!out) return; /* the scratch arena remembers */
    n = 0;
    for (size_t i = 0; i < re->requests.rows_nr; i++) {
        const struct invocation *v = &re->requests.rows[i];
        if (v->node != node || v->ordinal < base || v->ordinal >= base + NODE_INVOKES_MAX ||
            !invocation_visible(v, call->attempt))
            continue;
        out[n].ordinal = (unsigned)(v->ordinal - base);
        outcome_parse(arena_str(st->scratch, text_str(&v->outcome)), st->scratch, &out[n]);
        struct pieces_mark m = pieces_mark_read(text_str(&v->outcome));
        out[n].streamed = m.attempt == call->attempt ? m.streamed : 0;
        out[n].restarted = m.again;
        n++;
    }
    call->answers = out;
    call->answers_nr = n;
}

struct str invoke_recorded(struct step *st, int node, int64_t ordinal) {
    const struct invocation *v = invocation_find(st->exec, node, ordinal);
    if (!v || !invocation_visible(v, st->state->nodes[node].attempt)) return STR_NONE;
    return arena_str(st->scratch, text_str(&v->outcome));
}

/* --- the claim --- */

static void claim_refuse(struct step *st, int node, const char *code, struct str message) {
    struct failure f = {.code = str_c(code), .message = message};
    attempt_failed(st, node, &f);
}

/* While the outcome is unknown, only the identical request may be sent again. */
static bool invocation_unknown(const struct invocation *v) {
    return v->state == INVOCATION_CLAIMED || v->state == INVOCATION_ESCAPED;
}

static int invocation_identify(struct step *st, struct invocation *v, const struct node_request *r,
                               bool keep_id) {
    struct str run_id = str_c(st->exec->run_id), node_id = st->state->wf->nodes[v->node].id;
    char id[INVOCATION_ID_LEN + 1], effect[EFFECT_ID_LEN + 1];
    int rc = text_set(&v->provider_key, r->provider_key);
    if (keep_id || rc != 0) return rc;
    v->attempt = st->state->nodes[v->node].attempt;
    invocation_id_of(run_id, node_id, v->attempt, r->provider_key, v->ordinal, id);
    effect_id_of(run_id, node_id, v->ordinal, effect);
    rc = text_set(&v->invocation_id, str_c(id));
    return rc == 0 ? text_set(&v->effect_id, str_c(effect)) : rc;
}

void invoke_record(struct step *st, int node, int64_t ordinal, const char *provider_key,
                   struct str outcome) {
    const struct node_request r = {.provider_key = str_c(provider_key)};
    struct invocation *v = invocation_find(st->exec, node, ordinal);
    if (!v) v = invocation_add(st->exec, node, ordinal);
    int rc = v ? invocation_identify(st, v, &r, false) : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = text_set(&v->outcome, outcome);
    if (rc != 0) {
        plan_fail(st->plan, rc, "no memory to record what a node has read");
        return;
    }
    v->state = INVOCATION_COMPLETED;
    v->digest = sha256_of(outcome);
    invocation_record(st, v);
}

/* A request that may have been executed and may not be sent twice: its answer is that nobody knows.
 * The executor is entered again with it, since nothing holds the node. */
static void claim_settle(struct step *st, struct invocation *v) {
    struct buf b;
    buf_init(&b, INVOKE_OUTCOME_MAX);
    outcome_unknown(&b);
    v->attempt = st->state->nodes[v->node].attempt;
    v->state = INVOCATION_ESCAPED;
    if (buf_failed(&b) || text_set(&v->outcome, buf_str(&b)) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for the outcome of a request");
    else invocation_record(st, v);
    buf_fini(&b);
}

/* A request that is sent again, and whose text was shown in part, begins that text again. */
static int claim_mark(struct step *st, struct invocation *v, bool sent_before) {
    struct pieces_mark m = pieces_mark_read(text_str(&v->outcome));
    bool again = sent_before && (m.again || m.streamed > 0);
    text_clear(&v->outcome);
    if (!again) return 0;
    m = (struct pieces_mark){.attempt = v->attempt, .again = true};
    struct str mark = pieces_mark_add(STR_NONE, m, st->scratch);
    return mark.p ? text_set(&v->outcome, mark) : WOPR_E_NO_MEMORY;
}

/* May it be sent at all?  false: the attempt has failed. */
static bool way_open(struct step *st, int node, const struct node_request *r) {
    struct wopr_error err;
    if (r->module.digest) {
        if (st->engine->cfg.sandbox) return true;
        claim_refuse(st, node, "sandbox_disabled", STR("this host executes no modules of packs"));
        return false;
    }
    if (!st->engine->cfg.egress) {
        claim_refuse(st, node, "egress_disabled", STR("this host sends no requests"));
        return false;
    }
    if (egress_url_check(r->url, egress_allowed(st->engine->cfg.egress), &err) == 0) return true;
    claim_refuse(st, node, "egress_refused", arena_str(st->scratch, str_c(err.message)));
    return false;
}

static void invoke_claim(struct step *st, int node, const struct node_result *out) {
    struct run_exec *re = st->exec;
    const struct node_request *r = &out->request;
    int64_t ordinal =
        (int64_t)st->state->nodes[node].activation * NODE_INVOKES_MAX + out->request_ordinal;
    struct invocation *v = invocation_find(re, node, ordinal);
    struct sha256 digest = request_digest(r->method, r->url, r->body);
    if (v && (v->calling || v->send)) return; /* sent by an attempt that timed out: wait for it */
    struct failure recorded;
    if (timeline_effect(st, node, &recorded)) {
        attempt_failed(st, node, &recorded);
        return;
    }
    if (!way_open(st, node, r)) return;
    int rc = 0;
    bool keep_id = v && invocation_unknown(v);
    if (keep_id && r->once) {
        claim_settle(st, v);
        return;
    }
    /* A module has no effect but its report: it may be executed again, with what the run is now. */
    if (keep_id && !r->module.digest && !sha256_eq(&v->digest, &digest)) {
        claim_refuse(
            st, node, "invocation_changed",
            STR("the node asks for another request while the outcome of its first is unknown"));
        return;
    }
    if (!v) v = invocation_add(re, node, ordinal);
    rc = v ? invocation_identify(st, v, r, keep_id) : WOPR_E_NO_MEMORY;
    if (rc == 0 && keep_id) v->attempt = st->state->nodes[node].attempt;
    if (rc == 0) rc = claim_mark(st, v, keep_id);
    if (rc == 0) {
        v->state = INVOCATION_CLAIMED;
        v->digest = digest;
        v->send = invoke_call_new(st, v->node, v->ordinal, text_str(&v->invocation_id), r);
    }
    if (rc != 0 || !v->send) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a request of a node");
        return;
    }
    invocation_record(st, v);
    step_timeout_arm(st, node);
}

/* --- sending and answers --- */

static void invoke_landed(struct step *st) {
    struct run_exec *re = st->exec;
    invoke_calls_free(re->requests.recorded);
    re->requests.recorded = NULL;
    for (size_t i = 0; i < re->requests.rows_nr; i++) {
        struct invocation *v = &re->requests.rows[i];
        struct invoke_call *c = v->send;
        if (!c) continue;
        v->send = NULL;
        v->calling = true;
        invoke_call_send(c);
    }
}

struct under_way {
    uint64_t id;
    bool module;
};
/* Requests of a run that are under way and not cancelled yet, whichever fold sent them. */
static size_t calls_of_ended(struct run_exec *re, struct under_way calls[], size_t max) {
    struct engine *e = re->engine;
    size_t n = 0;
    pthread_mutex_lock(&e->mu);
    for (struct list *l = e->requests.next; n < max && l != &e->requests; l = l->next) {
        struct invoke_call *c = LIST_ENTRY(l, struct invoke_call, link);
        if (strcmp(c->run_id, re->run_id) != 0 || c->cancelled) continue;
        c->cancelled = true;
        calls[n++] = (struct under_way){c->egress_id, c->module != NULL};
    }
    pthread_mutex_unlock(&e->mu);
    return n;
}

/* The run has ended: nobody waits for these answers, and no peer needs to finish them. */
static void invoke_over(struct step *st) {
    struct under_way calls[INVOKE_CANCELS];
    size_t n = INVOKE_CANCELS;
    if (!invoke_waits(st->exec, -1)) return;
    while (n == INVOKE_CANCELS) {
        n = calls_of_ended(st->exec, calls, INVOKE_CANCELS);
        for (size_t i = 0; i < n; i++)
            if (calls[i].module) sandbox_cancel(st->engine->cfg.sandbox, calls[i].id);
            else egress_cancel(st->engine->cfg.egress, calls[i].id);
    }
}

static struct invoke_call *answers_take(struct run_exec *re) {
    pthread_mutex_lock(&re->engine->mu);
    struct invoke_call *c = re->requests.answers;
    re->requests.answers = NULL;
    re->requests.has_answers = false;
    pthread_mutex_unlock(&re->engine->mu);
    return c;
}

/* The executor itself is entered by interrupted() (step.c): a running node with nothing to wait
 * for.
 */
static void invoke_arrived(struct step *st) {
    struct run_exec *re = st->exec;
    struct invoke_call *c, *next;
    if (!re->requests.has_answers || step_lost(st)) return;
    secret_look(st);
    for (c = answers_take(re); c; c = next) {
        struct invocation *v = invocation_find(re, c->node, c->ordinal);
        next = c->next;
        if (!v || !str_eq(text_str(&v->invocation_id), c->invocation_id) ||
            v->state != INVOCATION_CLAIMED) {
            invoke_call_free(c);
            continue;
        }
        struct pieces_mark m = pieces_mark_read(text_str(&v->outcome));
        struct str outcome = text_str(&c->outcome);
        if (m.streamed > 0 || m.again) outcome = pieces_mark_add(outcome, m, st->scratch);
        v->calling = false;
        v->state = c->state;
        if (!outcome.p || text_set(&v->outcome, outcome) != 0)
            plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for an answer");
        invocation_record(st, v);
        c->next = re->requests.recorded;
        re->requests.recorded = c;
    }
}

/* --- streams --- */

/* A run that shows values masked shows a text when it is whole: a value may span two chunks. */
static bool stream_shown(struct step *st, const struct invocation *v) {
    return v && v->calling && v->state == INVOCATION_CLAIMED && !st->state->secrecy.masks &&
           st->state->nodes[v->node].status == NODE_RUNNING;
}

struct stream_text {
    struct stream_text *next;
    struct invocation *v;
    struct pieces_mark mark;
    struct str more, model;
};

/* What has come of the run's streams since the last look, copied.  *any: it has one. */
static struct stream_text *streams_look(struct step *st, bool *any) {
    struct engine *e = st->engine;
    struct run_exec *re = st->exec;
    struct stream_text *all = NULL;
    *any = false;
    pthread_mutex_lock(&e->mu);
    re->requests.has_pieces = false;
    for (struct list *l = e->requests.next; l != &e->requests; l = l->next) {
        const struct invoke_call *c = LIST_ENTRY(l, struct invoke_call, link);
        if (!c->stream || c->text.len == 0 || strcmp(c->run_id, re->run_id) != 0) continue;
        struct invocation *v = invocation_find(re, c->node, c->ordinal);
        struct stream_text *t = ARENA_NEW(st->scratch, struct stream_text);
        *any = true;
        if (!t || !stream_shown(st, v) || !str_eq(text_str(&v->invocation_id), c->invocation_id))
            continue;
        struct pieces_mark m = pieces_mark_read(text_str(&v->outcome));
        int32_t attempt = st->state->nodes[v->node].attempt;
        if (m.attempt != attempt) m = (struct pieces_mark){.attempt = attempt, .again = m.again};
        size_t end = c->text.len;
        int64_t words;
        if (c->bounded) end = reasoning_summary(str_n(c->text.p, end), &words).n;
        if (m.streamed >= end) continue;
        struct str more = str_n(c->text.p + m.streamed, end - m.streamed);
        *t = (struct stream_text){all, v, m, arena_str(st->scratch, more),
                                  arena_str(st->scratch, c->model)};
        all = t;
    }
    re->requests.pieces_held = *any;
    pthread_mutex_unlock(&e->mu);
    return all;
}

static void stream_show(struct step *st, struct stream_text *t) {
    const struct node_state *ns = &st->state->nodes[t->v->node];
    bool restarted = t->mark.streamed == 0 && (t->mark.again || ns->attempt > 0);
    t->more.n = pieces_ready(t->more);
    if (t->more.n == 0 || !pieces_emit(st, t->v->node, t->more, t->model, restarted)) return;
    t->mark.streamed += t->more.n;
    struct str mark = pieces_mark_add(STR_NONE, t->mark, st->scratch);
    if (!mark.p || text_set(&t->v->outcome, mark) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a stream");
    invocation_record(st, t->v);
}

static void invoke_enter(struct step *st) {
    struct run_exec *re = st->exec;
    if (!re->requests.has_pieces || step_lost(st)) return;
    bool any;
    struct stream_text *all = streams_look(st, &any);
    for (; all && !step_lost(st); all = all->next) stream_show(st, all);
    if (!any) return;
    if (step_lost(st)) return;
    step_now(st);
    if (timer_arm(re, TIMER_PIECES, -1, st->now_ms + PIECES_GAP_MS, false) != 0)
        re->requests.pieces_held = false;
}

static void pieces_again(struct step *st, int node) {
    (void)node;
    st->exec->requests.has_pieces = true; /* the rest of this step looks */
}

static int invoke_load_own(struct step *st, struct wopr_error *err) {
    pthread_mutex_lock(&st->engine->mu); /* what came meanwhile; its timer is gone */
    st->exec->requests.pieces_held = false;
    st->exec->requests.has_pieces = true;
    pthread_mutex_unlock(&st->engine->mu);
    return invoke_load(st, st->exec->run_no, err);
}

static bool invoke_under_way(struct run_exec *re) { return invoke_waits(re, -1); }

const struct wait_kind WAIT_REQUEST = {.name = "request",
                                       .outcome = NODE_OUT_CALL,
                                       .claim = invoke_claim,
                                       .holds = invoke_waits,
                                       .timer = TIMER_PIECES,
                                       .arrived = invoke_arrived,
                                       .enter = invoke_enter,
                                       .on_timer = pieces_again,
                                       .landed = invoke_landed,
                                       .over = invoke_over,
                                       .load = invoke_load_own,
                                       .forget = invoke_forget,
                                       .free = invoke_free,
                                       .under_way = invoke_under_way};

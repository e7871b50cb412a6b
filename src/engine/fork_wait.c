/*
 * fork_wait.c: interrupts of forks and replays (FORK-10, FORK-11, FORK-13).  An inherited interrupt
 * keeps its id in events and in the fold; the row that makes it answerable in the fork has an id of
 * its own, since the source may still ask under the old one.  A replay asks no person whose answer
 * its source has: the recorded events of the answer are emitted again.
 */
#include "engine/fork_wait.h"

#include "base/log.h"
#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "engine/effects.h"
#include "engine/fork_info.h"
#include "engine/secret.h"
#include "engine/suspend.h"
#include "engine/timers.h"
#include "store/events.h"
#include "store/runs.h"

#define GROUP_EVENTS_MAX 8u  /* a page: one question, or one answer, of one commit */
#define GROUP_LOOK_MAX   64u /* including inserted events */

/* --- rows of inherited interrupts --- */

static void row_open(struct run_exec *re, struct plan *p, const struct intr_state *i,
                     int64_t until_ms) {
    struct str payload = text_str(&i->payload);
    struct plan_interrupt row = {.op = INTR_ROW_OPEN,
                                 .interrupt_id = fork_interrupt_id(re, i, p->arena),
                                 .node_id = re->state->wf->nodes[i->node].id,
                                 .key = text_str(&i->key),
                                 .kind = str_c(intr_kind_name((enum intr_kind)i->kind)),
                                 .payload = payload.n > 0 ? payload : STR("{}"),
                                 .resume_schema = json_get(payload, "resumeSchema"),
                                 .requested_ms = i->requested_ms,
                                 .requested_seq = i->requested_seq,
                                 .timeout_at_ms = until_ms};
    plan_interrupt(p, &row);
}

void fork_wait_open(struct run_exec *re, struct plan *p, const struct intr_state *i) {
    struct run_state *s = re->state;
    int64_t until_ms = i->requested_ms + i->timeout_ms + fork_shift_ms(re, i->requested_seq);
    row_open(re, p, i, i->timeout_ms > 0 ? until_ms : 0);
    if (i->timeout_ms <= 0) return;
    int64_t left_ms = until_ms - s->meta.created_ms;
    plan_timer_set(p, TIMER_INTERRUPT, s->wf->nodes[i->node].id, until_ms,
                   left_ms > 0 ? left_ms : 0);
    if (timer_arm(re, TIMER_INTERRUPT, i->node, until_ms, true) != 0)
        plan_fail(p, WOPR_E_NO_MEMORY, "no memory for a timer");
}

/* Answered before the cut: keep the row, so that a second answer is refused as such (INT-19). */
static void row_closed(struct step *st, struct plan *p, const struct intr_state *i) {
    struct run_exec *re = st->exec;
    struct str shown; /* the fold has it clear */
    if (answer_value_mask(st, i, text_str(&i->value), &shown) != 0) return; /* p has failed */
    bool answered = i->phase == INTR_RESOLVED;
    struct plan_interrupt row = {.op = INTR_ROW_CLOSE,
                                 .interrupt_id = fork_interrupt_id(re, i, p->arena),
                                 .state = answered ? IROW_RESUMED : IROW_TIMED_OUT,
                                 .resolved_ms = re->fork.info->link.cut_ms,
                                 .resolved_seq = -1,
                                 .resume_value = secret_scrub(st, shown),
                                 .resolved_by = text_str(&i->decided_by),
                                 .action = text_str(&i->action),
                                 .cause = STR("inherited")};
    row_open(re, p, i, 0);
    plan_interrupt(p, &row);
}

void fork_waits_open(struct step *st, struct plan *p) {
    struct run_exec *re = st->exec;
    const struct run_state *s = st->state = re->state;
    st->plan = p;
    for (size_t i = 0; i < s->interrupts.n; i++) {
        const struct intr_state *x = &s->interrupts.v[i];
        if (x->phase != INTR_OPEN) row_closed(st, p, x);
        else if (s->nodes[x->node].status == NODE_SUSPENDED) fork_wait_open(re, p, x);
    }
    st->plan = NULL;
    st->secrets = NULL;
}

/* --- recorded events emitted again --- */

/* payload with another interruptId, where it has one. */
static struct str payload_readdress(struct step *st, struct str payload, struct str id) {
    struct json_members m;
    struct jobj o;
    if (json_get(payload, "interruptId").n == 0 || id.n == 0)
        return arena_str(st->plan->arena, payload);
    int rc = json_members(payload, st->scratch, &m, NULL);
    jobj_begin(&o, EVENT_PAYLOAD_MAX * 2);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        jw_key_str(&o.w, m.v[i].key);
        if (str_eqc(m.v[i].key, "interruptId")) jw_str(&o.w, id);
        else jw_raw(&o.w, m.v[i].raw);
    }
    if (rc != 0) jobj_fail(&o);
    struct str out = jobj_end(&o, st->plan->arena);
    if (!out.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a recorded event");
    return out;
}

/* The interrupt that an event of this node is about: the open one, or the last one. */
static struct intr_state *interrupt_of_node(const struct run_state *s, int node) {
    struct intr_state *last = run_state_intr_open(s, node);
    for (size_t i = 0; !last && i < s->interrupts.n; i++)
        if (s->interrupts.v[s->interrupts.n - 1 - i].node == node)
            last = &s->interrupts.v[s->interrupts.n - 1 - i];
    return last;
}

static void close_row(struct step *st, const struct intr_state *i, const struct event *g) {
    struct str value = json_get(g->payload, "resumeValue");
    struct plan_interrupt row = {.op = INTR_ROW_CLOSE,
                                 .interrupt_id = fork_interrupt_id(st->exec, i, st->plan->arena),
                                 .state = IROW_RESUMED,
                                 .resolved_ms = st->now_ms,
                                 .resolved_seq = st->state->next_seq - 1,
                                 .resume_value = value.n > 0 ? value : STR("null"),
                                 .resolved_by =
                                     json_string(json_get(g->payload, "resolvedBy"), st->scratch),
                                 .action = json_type_of(value) == JSON_OBJECT
                                               ? json_string(json_get(value, "action"), st->scratch)
                                               : STR_NONE,
                                 .cause = STR("replay")};
    plan_interrupt(st->plan, &row);
    step_timer_clear(st, TIMER_INTERRUPT, i->node);
}

static void event_reemit(struct step *st, const struct event *g, int node) {
    struct intr_state *i = interrupt_of_node(st->state, node);
    int64_t cause = i && g->kind != EV_CHANNEL_WRITTEN ? i->requested_seq : -1;
    struct str id = i ? text_str(&i->id) : STR_NONE;
    bool open = i && i->phase == INTR_OPEN;
    /* The page that holds g is read again while its counterpart is compared. */
    struct event copy = *g;
    copy.payload = arena_str(st->scratch, g->payload);
    if (!copy.payload.p) {
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a recorded event");
        return;
    }
    int64_t seq = step_emit(st, g->kind, node, cause, payload_readdress(st, copy.payload, id));
    if (seq == EMIT_REFUSED) plan_fail(st->plan, WOPR_E_INTERNAL, "a recorded event is refused");
    if (seq >= 0 && copy.kind == EV_INTERRUPT_RESOLVED && open) close_row(st, i, &copy);
}

/* --- commits split by the cut --- */

static bool event_belongs(const struct event *e, enum ev_kind cut, const struct wf_node *def) {
    if (e->kind == EV_AGENT_HANDOFF && /* any other is the executor's */
        !str_eq(json_get(e->payload, "toAgentId"), json_get(def->agent, "agentId")))
        return false;
    return event_follows(e->kind, cut);
}

struct group { /* events of a source that follow one of a node, for the same cause */
    struct step *step;
    const struct wf_node *def;
    enum ev_kind cut;
    int64_t run_no, until; /* whose log is read, and how far */
    int64_t next;
    struct event_list page;
    size_t at;
    unsigned looked;
};

static int group_page(struct group *g) {
    struct wopr_error err;
    int rc = store_events(g->step->engine->store, g->run_no, g->next, GROUP_EVENTS_MAX,
                          ENGINE_READ_BYTES, g->step->scratch, &g->page, &err);
    g->at = 0;
    if (rc != 0) plan_fail(g->step->plan, rc, "the source of a fork cannot be read");
    return rc;
}

/* A source without own events at the time of the fork has not emitted the rest of the group either:
 * that is in the log of its own source. */
static bool group_goes_up(struct group *g) {
    struct run_origin o;
    struct wopr_error err;
    int rc = store_run_origin(g->step->engine->store, g->run_no, g->step->scratch, &o, &err);
    if (rc != 0 && rc != WOPR_E_NOT_FOUND)
        plan_fail(g->step->plan, rc, "the source of a fork cannot be read");
    if (rc != 0 || !fork_is_fresh(&o.fork, g->until)) return false;
    g->run_no = o.fork.source_run_no;
    g->until = o.fork.base_seq;
    g->page.n = g->at = 0;
    return g->next < g->until;
}

/* NULL: the group has ended.  Skips inserted events. */
static const struct event *group_next(struct group *g) {
    while (g->looked++ < GROUP_LOOK_MAX && (g->next < g->until || group_goes_up(g))) {
        if (g->at == g->page.n && (group_page(g) != 0 || g->page.n == 0)) return NULL;
        const struct event *e = &g->page.v[g->at++];
        g->next = e->seq + 1;
        if (fork_inserted(e)) continue;
        if (!str_eq(e->node_id, g->def->id) || !event_belongs(e, g->cut, g->def)) return NULL;
        g->cut = e->kind;
        return e;
    }
    return NULL;
}

void fork_group(struct step *st, enum ev_kind cut, int node) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct group g = {.step = st,
                      .def = &st->state->wf->nodes[node],
                      .cut = cut,
                      .run_no = f->source_run_no,
                      .until = f->base_seq,
                      .next = f->from_seq};
    const struct event *e;
    bool suspends = false;
    while (!step_lost(st) && (e = group_next(&g)) != NULL) {
        suspends = suspends || e->kind == EV_NODE_SUSPENDED;
        if (e->kind == EV_NODE_FAILED) suspend_timed_out_emitted(st, node, f->from_seq - 1);
        else event_reemit(st, e, node);
    }
    struct intr_state *x = run_state_intr_open(st->state, node);
    if (suspends && x && !step_lost(st)) fork_wait_open(st->exec, st->plan, x);
}

static bool writes_vote(const struct event *e) {
    return str_starts(json_get(e->payload, "channel"), STR("\"_approvalVotes:"));
}

/* The last event of a log before seq that its run itself emitted; NULL: none near. */
static const struct event *group_last(struct group *g, int64_t seq) {
    const struct event *last = NULL;
    g->next = seq > GROUP_EVENTS_MAX ? seq - GROUP_EVENTS_MAX : 0;
    if (group_page(g) != 0) return NULL;
    for (size_t i = 0; i < g->page.n && g->page.v[i].seq < seq; i++)
        if (!fork_inserted(&g->page.v[i])) last = &g->page.v[i];
    return last;
}

bool replay_group(struct step *st) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct group g = {.step = st, .run_no = f->source_run_no, .until = f->base_seq};
    int64_t at = st->state->next_seq;
    if (!group_goes_up(&g) && g.run_no == f->source_run_no) return false;
    const struct event *last = group_last(&g, f->base_seq), *e;
    int node = last && last->node_id.n > 0 ? workflow_node_index(st->state->wf, last->node_id) : -1;
    if (node < 0) return false;
    g.def = &st->state->wf->nodes[node];
    g.cut = last->kind;
    if (last->kind == EV_CHANNEL_WRITTEN && !writes_vote(last))
        g.cut = EV_LOG_APPENDED; /* no event belongs to it */
    g.next = f->base_seq;
    g.page.n = g.at = 0;
    while (!step_lost(st) && (e = group_next(&g)) != NULL) {
        if (e->kind == EV_NODE_FAILED) suspend_timed_out_emitted(st, node, at - 1);
        else event_reemit(st, e, node);
    }
    return st->state->next_seq > at;
}

/* --- answers of a replay --- */

static bool timed_out(const struct event *g) {
    if (g->kind == EV_APPROVAL_RECEIVED)
        return str_eq(json_get(g->payload, "action"), STR("\"timeout\""));
    return g->kind == EV_NODE_FAILED &&
           str_eq(json_get(json_get(g->payload, "error"), "code"), STR("\"interrupt_timeout\""));
}

/* What a node of a program changes while it waits for people is taken back: no one answered in
 * time, which only an approval says in an event of its own. */
static bool taken_back(const struct step *st, const struct event *g, int node) {
    return st->state->program && g->kind == EV_VARIABLE_CHANGED &&
           run_state_intr_open(st->state, node) != NULL;
}

/* The rest of an answer whose interrupt.resolved was passed before this replay asked: by itself it
 * would let the node go on without one.  replay_finds_answer emits all of it. */
static bool answer_was_passed(const struct step *st, const struct event *g, int node) {
    bool rest = g->kind == EV_NODE_RESUMED || event_follows(g->kind, EV_INTERRUPT_RESOLVED);
    return rest && run_state_intr_open(st->state, node) != NULL;
}

bool replay_goes_on_answering(struct step *st, const struct event *g, int node) {
    if (st->state->nodes[node].status != NODE_SUSPENDED || st->state->nodes[node].pause_drained)
        return false;
    if (timed_out(g) || taken_back(st, g, node)) return true;
    if (!event_kind_is(g->kind, EV_F_ANSWERS) || answer_was_passed(st, g, node)) return false;
    return g->kind != EV_INTERRUPT_RESOLVED || run_state_intr_open(st->state, node) != NULL;
}

bool replay_answers_wait(struct step *st, const struct event *g, int node) {
    if (st->state->nodes[node].status == NODE_RUNNING && g->kind == EV_NODE_SUSPENDED &&
        str_eq(json_get(g->payload, "reason"), STR("\"child-suspended\""))) {
        event_reemit(st, g, node); /* EVT-39: no node asked, its child waited */
        return true;
    }
    if (!replay_goes_on_answering(st, g, node)) return false;
    if (timed_out(g) || taken_back(st, g, node)) {
        step_now(st);
        suspend_timed_out(st, node);
    } else {
        event_reemit(st, g, node);
    }
    return true;
}

bool replay_repeats_cancel(struct step *st, const struct event *g) {
    int node = g->node_id.n > 0 ? workflow_node_index(st->state->wf, g->node_id) : -1;
    const struct node_state *n = node >= 0 ? &st->state->nodes[node] : NULL;
    if (!n || (n->status != NODE_RUNNING && n->status != NODE_SUSPENDED && n->retry_at_ms <= 0))
        return false;
    event_reemit(st, g, node);
    static const enum timer_kind KINDS[] = {TIMER_NODE_WAIT, TIMER_NODE_TIMEOUT, TIMER_RETRY,
                                            TIMER_INTERRUPT};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) step_timer_clear(st, KINDS[i], node);
    return true;
}

/* The position of an interrupt among those of its node, in the order they were asked. */
static unsigned ordinal_of(const struct run_state *s, const struct intr_state *x) {
    unsigned n = 0;
    for (const struct intr_state *i = s->interrupts.v; i < x; i++) n += i->node == x->node;
    return n;
}

/* The source's sequence of the n-th answer of a node, -1 when it has none. */
static int64_t answer_of(struct step *st, struct str node_id, unsigned n) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX);
    struct wopr_error err;
    struct event_list l = {NULL, 0};
    int64_t next = 0, found = -1;
    int rc = a ? 0 : WOPR_E_NO_MEMORY;
    do {
        if (rc != 0) break;
        arena_reset(a);
        rc = store_events(st->engine->store, f->source_run_no, next, ENGINE_READ_EVENTS,
                          ENGINE_READ_BYTES, a, &l, &err);
        for (size_t i = 0; rc == 0 && found < 0 && i < l.n; i++) {
            next = l.v[i].seq + 1;
            if (next > f->base_seq) break;
            if (l.v[i].kind == EV_INTERRUPT_RESOLVED && str_eq(l.v[i].node_id, node_id) && n-- == 0)
                found = l.v[i].seq;
        }
    } while (rc == 0 && found < 0 && l.n > 0 && next <= f->base_seq);
    arena_free(a);
    if (rc != 0) plan_fail(st->plan, rc, "the log of the source cannot be read");
    return found;
}

bool replay_has_answer(struct step *st, const struct intr_state *i) {
    return answer_of(st, st->state->wf->nodes[i->node].id, ordinal_of(st->state, i)) >= 0;
}

/* The interrupt.resolved at seq of the source, and what follows it. */
static void answer_reemit(struct step *st, const struct wf_node *def, int node, int64_t seq) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct group g = {.step = st,
                      .def = def,
                      .cut = EV_INTERRUPT_RESOLVED,
                      .run_no = f->source_run_no,
                      .until = f->base_seq,
                      .next = seq};
    if (group_page(&g) != 0 || g.page.n == 0) return;
    const struct event *e = &g.page.v[g.at++];
    for (g.next = seq + 1; e && !step_lost(st); e = group_next(&g)) event_reemit(st, e, node);
}

/* A replay that has left its source's order: search the log for the answer to this question. */
bool replay_finds_answer(struct step *st) {
    const struct run_state *s = st->state;
    for (size_t k = 0; s->counts.suspended > 0 && k < s->interrupts.n && !step_lost(st); k++) {
        const struct intr_state *x = &s->interrupts.v[k];
        if (x->phase != INTR_OPEN || s->nodes[x->node].status != NODE_SUSPENDED) continue;
        const struct wf_node *def = &s->wf->nodes[x->node];
        int node = x->node;
        int64_t seq = answer_of(st, def->id, ordinal_of(s, x));
        if (seq < 0) continue;
        answer_reemit(st, def, node, seq);
        return true;
    }
    return false;
}

/* Emit what follows the answer at seq in a log, from another sequence on. */
static bool answer_rest(struct step *st, int node, int64_t seq, int64_t from, int64_t until) {
    struct group g = {.step = st,
                      .def = &st->state->wf->nodes[node],
                      .cut = EV_INTERRUPT_RESOLVED,
                      .run_no = st->exec->fork.info->link.source_run_no,
                      .until = until,
                      .next = seq + 1};
    bool any = false;
    for (const struct event *e; !step_lost(st) && (e = group_next(&g)) != NULL;) {
        if (e->seq < from) continue;
        event_reemit(st, e, node);
        any = true;
    }
    return any;
}

/* The source ended between an answer and the rest of its commit: it was a fork without a step of
 * its own so far.  The rest is in its log by now, or in that of its own source; if that fork never
 * made it, the node goes on with the answer that it has. */
bool replay_ends_answer(struct step *st) {
    const struct run_state *s = st->state;
    int64_t base = st->exec->fork.info->link.base_seq;
    for (size_t k = 0; s->counts.suspended > 0 && k < s->interrupts.n && !step_lost(st); k++) {
        const struct intr_state *x = &s->interrupts.v[k];
        int node = x->node;
        const struct node_state *n = &s->nodes[node];
        if (x->phase != INTR_RESOLVED || n->status != NODE_SUSPENDED || n->pause_drained ||
            interrupt_of_node(s, node) != x)
            continue;
        int64_t seq = answer_of(st, s->wf->nodes[node].id, ordinal_of(s, x));
        if (step_lost(st)) return true;
        if (seq >= 0 &&
            (answer_rest(st, node, seq, base, INT64_MAX) || answer_rest(st, node, seq, base, base)))
            return true;
        struct str payload = pay_node_resumed(st->plan->arena, s->wf->nodes[node].id,
                                              text_str(&x->id), text_str(&x->value));
        return step_emit(st, EV_NODE_RESUMED, node, x->requested_seq, payload) >= 0;
    }
    return false;
}

/*
 * replay.c: runs that follow the log of their source (FORK-12 to FORK-21).  Where an original run
 * would look at a clock or wait for a person, the source's next event decides: which wait is over,
 * which attempt is repeated, when the run was cancelled.  The time of that event is the time of the
 * replay.  Everything else is executed, and each event is compared with the source's, which is read
 * in step.  The position in the source is the number of compared events in the replay's own log, so
 * a reload finds it by folding.  Where the source's log ends (it was still running) or was removed,
 * the run continues on its own, by the wall clock.
 */
#include "engine/replay.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "domain/compare.h"
#include "engine/attempt.h"
#include "engine/conversation.h"
#include "engine/fork_info.h"
#include "engine/fork_wait.h"
#include "engine/invoke.h"
#include "engine/requirement.h"
#include "engine/task_replay.h"
#include "engine/task_type.h"
#include "engine/timers.h"
#include "store/events.h"

#define REPLAY_PAGE_EVENTS   64u
#define REPLAY_PAGE_BYTES    (256u * 1024)
#define REPLAY_ARENA_MAX     (32u * 1024 * 1024)
#define REPLAY_PINS_MAX      10000u
#define REPLAY_MISSING_MAX   1024u  /* emitted one by one at the end, no more than these */
#define REPLAY_ANCESTORS_MAX 1000u  /* forks of forks whose recorded answers count */
#define REPLAY_SPINS_MAX     10000u /* waits ended without reaching the source's next event */
#define SOURCE_MISSING       STR("replay_source_missing")
#define REPLAY_WARNING       "values that the log holds masked are read again; results may differ"

struct minter { /* ids in events from a sequence on derive from this run's id */
    struct minter *next;
    int64_t from;
    struct str run_id;
};
struct replay {
    struct timeline timeline; /* first: the exec points to it */
    struct arena *page, *scratch, *keep;
    struct minter *minters, **minters_end; /* nearest ancestor first */
    struct map *family;                    /* ids of the replay and its ancestors */
    struct node_pin *pins;                 /* of the source, from the cut on */
    size_t pins_nr;
    struct event_list l;
    size_t at;      /* l.v[at]: the source's next event that counts */
    int64_t next;   /* source sequence that the next page begins with */
    int64_t beyond; /* events counted past the source's end */
    unsigned spins;
    int64_t searched_seq; /* length of the log when no recorded answer was found */
    bool source_ended;    /* its terminal event was compared: later events are extra */
    bool rests;           /* wait, whatever the source's next event is */
    bool gone;            /* the source was removed meanwhile */
    bool settled;         /* the end was compared */
    bool parted;          /* the end was looked at: it may be within a commit */
    int rc;               /* a page could not be read: the step fails and is repeated */
};

static const struct timeline_ops REPLAY_OPS;
static void replay_close(struct run_exec *re);
static bool replay_leads(struct step *st);

/* NULL: the run is no replay, or not live. */
static struct replay *replay_of(const struct run_exec *re) {
    return (struct replay *)(void *)re->timeline;
}

int replay_open(struct run_exec *re) {
    if (!re->fork.info || re->fork.info->link.mode != FORK_REPLAY || replay_of(re)) return 0;
    struct replay *rp = MEM_NEW(struct replay);
    if (!rp) return WOPR_E_NO_MEMORY;
    rp->page = arena_new(REPLAY_ARENA_MAX);
    rp->scratch = arena_new(REPLAY_ARENA_MAX);
    rp->keep = arena_new(REPLAY_ARENA_MAX);
    rp->family = map_new();
    rp->minters_end = &rp->minters;
    rp->next = re->fork.info->link.from_seq;
    rp->timeline.ops = &REPLAY_OPS;
    re->timeline = &rp->timeline;
    if (rp->page && rp->scratch && rp->keep && rp->family) return 0;
    replay_close(re);
    return WOPR_E_NO_MEMORY;
}

static void replay_close(struct run_exec *re) {
    struct replay *rp = replay_of(re);
    if (!rp) return;
    arena_free(rp->page);
    arena_free(rp->scratch);
    arena_free(rp->keep);
    map_free(rp->family);
    mem_free(rp);
    re->timeline = NULL;
}

/* --- the source's next event --- */

static void page_read(struct run_exec *re) {
    struct replay *rp = replay_of(re);
    const struct run_fork *f = &re->fork.info->link;
    struct wopr_error err;
    arena_reset(rp->page);
    rp->l = (struct event_list){NULL, 0};
    rp->at = 0;
    rp->rc = store_events(re->engine->store, f->source_run_no, rp->next, REPLAY_PAGE_EVENTS,
                          REPLAY_PAGE_BYTES, rp->page, &rp->l, &err);
    if (rp->rc != 0) return;
    if (rp->l.n == 0) {
        rp->gone = true;
        log_warn("the source of a replay was removed; it goes on without", "run", re->run_id);
        return;
    }
    rp->next = rp->l.v[rp->l.n - 1].seq + 1;
}

/* NULL: there is none (any more), or rp->rc says why it cannot be read. */
static const struct event *source_peek(struct run_exec *re) {
    struct replay *rp = replay_of(re);
    for (;;) {
        for (; rp->at < rp->l.n; rp->at++) {
            const struct event *g = &rp->l.v[rp->at];
            if (g->seq >= re->fork.info->link.base_seq) return NULL;
            if (!compare_ignores(g)) return g;
        }
        if (rp->gone || rp->rc != 0 || rp->next >= re->fork.info->link.base_seq) return NULL;
        page_read(re);
    }
}

static const struct event *source_peek_in(struct step *st) {
    const struct event *g = source_peek(st->exec);
    if (replay_of(st->exec)->rc != 0 && st->plan)
        plan_fail(st->plan, replay_of(st->exec)->rc, "the log of the source cannot be read");
    return g;
}

static void source_advance(struct replay *rp, const struct event *g) {
    rp->spins = 0;
    rp->rests = false;
    if (!g) {
        rp->beyond++;
        return;
    }
    if (event_is_terminal(g->kind)) rp->source_ended = true;
    rp->at++;
}

int replay_follow(struct run_exec *re, const struct event *e, struct wopr_error *err) {
    struct replay *rp = replay_of(re);
    if (!rp || e->seq < re->fork.info->link.from_seq || compare_ignores(e)) return 0;
    const struct event *g = source_peek(re);
    if (rp->rc != 0) return wopr_error_set(err, rp->rc, "the log of the source cannot be read");
    source_advance(rp, g);
    return 0;
}

void replay_mark(const struct run_exec *re, struct state_aside *out) {
    const struct replay *rp = replay_of(re);
    if (!rp) return;
    out->source_next = rp->at < rp->l.n ? rp->l.v[rp->at].seq : rp->next;
    out->source_beyond = rp->beyond;
    out->source_ended = rp->source_ended;
}

void replay_resume(struct run_exec *re, const struct state_aside *mark) {
    struct replay *rp = replay_of(re);
    if (!rp) return;
    rp->next = mark->source_next;
    rp->beyond = mark->source_beyond;
    rp->source_ended = mark->source_ended;
}

/* The event that decides what comes next; none once its node was entered again and again without
 * reaching it. */
static const struct event *source_leader(struct step *st) {
    const struct event *g = source_peek_in(st);
    return replay_of(st->exec)->spins < REPLAY_SPINS_MAX ? g : NULL;
}

static bool replay_holds_timers(struct step *st) {
    return replay_leads(st) && !replay_of(st->exec)->rests;
}

static bool replay_leads(struct step *st) { return source_leader(st) != NULL; }

static int64_t replay_now_ms(struct step *st) {
    const struct event *g = source_leader(st);
    return g ? g->ts_ms : clock_wall_ms();
}

/* --- divergence --- */

static int event_node(const struct step *st, struct str node_id) {
    return node_id.n > 0 ? workflow_node_index(st->state->wf, node_id) : -1;
}

/* FORK-20.  g: the source's event or NULL; seq: the replay's, or -1. */
static void divergence_emit(struct step *st, enum divergence d, const struct event *g, int64_t seq,
                            int node) {
    const struct run_fork *f = &st->exec->fork.info->link;
    int64_t at = g ? g->seq : f->base_seq + replay_of(st->exec)->beyond;
    char id[EVENT_ID_SIZE];
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "sourceRunId", f->source_run_id);
    jw_kint(&o.w, "atSequence", at);
    if (g) {
        event_id_format(f->source_run_id, g->seq, id);
        jw_kstrz(&o.w, "originalEventId", id);
    }
    if (seq >= 0) {
        event_id_format(st->state->meta.run_id, seq, id);
        jw_kstrz(&o.w, "replayEventId", id);
    }
    jw_kint(&o.w, "divergencePoint", at);
    jw_kstrz(&o.w, "divergenceKind", divergence_name(d));
    (void)step_emit(st, EV_REPLAY_DIVERGED, node, seq, jobj_end(&o, st->plan->arena));
}

static enum divergence event_compare(struct step *st, const struct event *g,
                                     const struct event *e) {
    struct replay *rp = replay_of(st->exec);
    enum divergence d = DIV_NONE;
    if (!g) return rp->source_ended && !rp->gone ? DIV_EXTRA : DIV_NONE;
    arena_reset(rp->scratch);
    int rc = compare_events(g, e, rp->family, rp->scratch, &d);
    if (rc != 0) plan_fail(st->plan, rc, "no memory to compare a replay with its source");
    return d;
}

/* The end stays last: differences are emitted before it. */
static void replay_settle(struct step *st, enum ev_kind kind, struct str payload) {
    struct replay *rp = replay_of(st->exec);
    struct event e = {.kind = kind, .payload = payload};
    const struct event *g;
    if (rp->settled) return;
    rp->settled = true;
    for (unsigned n = 0; (g = source_peek_in(st)) != NULL && !event_is_terminal(g->kind); n++) {
        if (n < REPLAY_MISSING_MAX)
            divergence_emit(st, DIV_MISSING, g, -1, event_node(st, g->node_id));
        if (step_lost(st)) return;
        source_advance(rp, g);
    }
    enum divergence d = event_compare(st, g, &e);
    if (d != DIV_NONE) divergence_emit(st, d, g, -1, -1);
    st->now_ms = g ? g->ts_ms : clock_wall_ms();
    source_advance(rp, g);
}

/* A replay that is cancelled before it did anything but begin has executed nothing that could
 * differ (FORK-18). */
static bool replay_did_nothing(struct step *st) {
    int64_t from = st->exec->fork.info->link.from_seq;
    return st->state->next_seq <= (from > 0 ? from : 1);
}

static void replay_before(struct step *st, enum ev_kind kind, struct str payload) {
    bool compares = kind != EV_RUN_CANCELLED || !replay_did_nothing(st);
    if (event_is_terminal(kind) && compares) replay_settle(st, kind, payload);
    else st->now_ms = replay_now_ms(st);
}

static void replay_after(struct step *st, int64_t seq, int node) {
    struct event *e = &st->plan->events[st->plan->events_nr - 1];
    e->flags |= EVENT_REEMITTED; /* D67 */
    if (event_is_terminal(e->kind) || compare_ignores(e)) return;
    const struct event *g = source_peek_in(st);
    enum divergence d = event_compare(st, g, e);
    if (d != DIV_NONE) divergence_emit(st, d, g, seq, node);
    source_advance(replay_of(st->exec), g);
}

/* --- what comes next in the source --- */

/* A clock's decision is a fact of the source, not to be measured again. */
static bool event_timed_out(const struct event *g) {
    const char *member = g->kind == EV_NODE_FAILED ? "error" : "lastError";
    if (g->kind != EV_NODE_FAILED && g->kind != EV_NODE_RETRIED) return false;
    return str_eq(json_get(json_get(g->payload, member), "code"), STR("\"node_timeout\""));
}

/* Whether the cancels of nodes from g on are those of the source's end.  A fork that was cut
 * between such cancels inherits some and goes on. */
static bool cancels_end(struct step *st, const struct event *g) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct event_list l = {.n = 1};
    struct wopr_error err;
    enum ev_kind kind = g->kind;
    int64_t next = g->seq + 1;
    while (kind == EV_NODE_CANCELLED && next < f->base_seq && l.n > 0) {
        int rc = store_events(st->engine->store, f->source_run_no, next, REPLAY_PAGE_EVENTS,
                              REPLAY_PAGE_BYTES, st->scratch, &l, &err);
        if (rc != 0) plan_fail(st->plan, rc, "the end of the source cannot be read");
        if (rc != 0) return true;
        for (size_t i = 0; i < l.n && kind == EV_NODE_CANCELLED; i++) {
            next = l.v[i].seq + 1;
            if (!compare_ignores(&l.v[i])) kind = l.v[i].kind;
        }
    }
    return kind == EV_RUN_CANCELLED || kind == EV_NODE_CANCELLED;
}

/* The source was cancelled from outside: cancel the replay at the same place. */
static bool source_cancelled(struct step *st, const struct event *g) {
    struct event_list last;
    struct wopr_error err;
    const struct run_fork *f = &st->exec->fork.info->link;
    struct str reason = json_get(g->payload, "reason");
    bool cascade = g->kind == EV_NODE_CANCELLED && (str_eq(reason, STR("\"upstream-failure\"")) ||
                                                    str_eq(reason, STR("\"terminated\"")) ||
                                                    str_eq(reason, STR("\"run-timeout\"")));
    bool cancels = g->kind == EV_NODE_CANCELLED || g->kind == EV_RUN_CANCELLED;
    if ((!cancels && !conversation_cancelled(g)) || cascade) return false;
    int rc = store_events(st->engine->store, f->source_run_no, f->base_seq - 1, 1,
                          REPLAY_PAGE_BYTES, st->scratch, &last, &err);
    if (rc != 0) {
        plan_fail(st->plan, rc, "the end of the source cannot be read");
        return true;
    }
    if (last.n == 0 || last.v[0].kind != EV_RUN_CANCELLED || !cancels_end(st, g))
        return replay_repeats_cancel(st, g);
    if (step_lost(st)) return true;
    conversations_cancel(st);
    run_end_cancelled(st, json_string(json_get(last.v[0].payload, "reason"), st->scratch),
                      json_string(json_get(last.v[0].payload, "cancelledBy"), st->scratch));
    return true;
}

/* The same holds for the run's timeout: the source measured it without pauses, waits and the gaps
 * before forks. */
static bool replay_run_over(struct step *st) {
    const struct event *g = source_leader(st);
    if (!g) return false;
    if (g->kind == EV_NODE_CANCELLED)
        return str_eq(json_get(g->payload, "reason"), STR("\"run-timeout\""));
    return g->kind == EV_RUN_FAILED &&
           str_eq(json_get(json_get(g->payload, "error"), "code"), STR("\"run_timeout\""));
}

/* Continue an attempt whose wait is over, or that was cut off (FORK-11). */
static void replay_enter(struct step *st, int node) {
    bool waited = timer_find(st->exec, TIMER_NODE_WAIT, node) != NULL;
    replay_of(st->exec)->spins++;
    st->wait_over_ms = waited ? timer_find(st->exec, TIMER_NODE_WAIT, node)->fire_at_ms : 0;
    step_timer_clear(st, TIMER_NODE_WAIT, node);
    step_now(st);
    attempt_run(st, node, waited);
    st->wait_over_ms = 0;
}

/* A piece of an answer that the source was given as it came: the executor, which gets the whole,
 * does not make it. */
static bool chunk_of_stream(struct step *st, const struct event *g, int node) {
    const struct node_type *type = task_type_of(st, node);
    return g->kind == EV_OUTPUT_CHUNK && st->state->options.mock == MOCK_NONE && type &&
           (type->flags & NODE_STREAMS) != 0 && json_get(g->payload, "isLast").n == 0;
}

static bool replay_goes_on(struct step *st, int node) {
    const struct event *g = source_leader(st);
    while (g && event_node(st, g->node_id) == node && chunk_of_stream(st, g, node) &&
           task_replay(st, g, node) && !step_lost(st))
        g = source_leader(st);
    return !step_lost(st) && (!g || event_node(st, g->node_id) == node);
}

static bool replay_guide(struct step *st) {
    const struct event *g = source_leader(st);
    struct replay *rp = replay_of(st->exec);
    if (step_lost(st)) return false;
    if (!g) { /* a source that had not begun ends where it was cut, maybe within a commit */
        bool ends = rp->beyond == 0 && !rp->parted && !source_peek_in(st);
        rp->parted = rp->parted || ends;
        return ends && !step_lost(st) && replay_group(st);
    }
    if (source_cancelled(st, g)) return true;
    int node = event_node(st, g->node_id);
    if (node >= 0 && replay_answers_wait(st, g, node)) return true;
    if (node < 0 || st->state->nodes[node].status != NODE_RUNNING ||
        g->kind == EV_NODE_CANCELLED || st->state->program)
        return false;
    if (event_timed_out(g)) {
        step_now(st);
        attempt_timed_out(st, node);
    } else if (!(task_type_is(st, node) || chunk_of_stream(st, g, node)) ||
               !task_replay(st, g, node)) {
        replay_enter(st, node);
    }
    return true;
}

static bool replay_shows_child(struct step *st, int node) {
    const struct event *g = source_leader(st);
    if (!g || g->kind != EV_NODE_SUSPENDED || event_node(st, g->node_id) != node) return false;
    return replay_answers_wait(st, g, node);
}

static bool replay_answers(struct step *st) {
    const struct event *g = source_leader(st);
    int node = g ? event_node(st, g->node_id) : -1;
    return node >= 0 && replay_goes_on_answering(st, g, node);
}

static bool replay_answered(struct step *st, const struct intr_state *i) {
    return !replay_of(st->exec)->rests && replay_has_answer(st, i);
}

/* FORK-13: once per length of the log, since nothing else can bring an answer. */
static bool answer_searched(struct step *st) {
    struct replay *rp = replay_of(st->exec);
    if (st->state->counts.suspended == 0 || rp->searched_seq == st->state->next_seq) return false;
    rp->searched_seq = st->state->next_seq;
    return replay_finds_answer(st);
}

/* The source's log ends while a child waits, and no one will resume a child for a replay: the node
 * reads the source's child once more and follows its outcome, or fails (FORK-14). */
static bool child_left_behind(struct step *st) {
    for (size_t i = 0; i < st->state->wf->nodes_nr; i++) {
        const struct node_state *n = &st->state->nodes[i];
        if (n->status != NODE_SUSPENDED || !n->child_waits) continue;
        struct str payload =
            pay_node_resumed(st->plan->arena, st->state->wf->nodes[i].id, STR_NONE, STR_NONE);
        return step_emit(st, EV_NODE_RESUMED, (int)i, n->suspended_seq, payload) >= 0;
    }
    return false;
}

/* Nothing else to do, and the source's next event does not tell what: a replay never sleeps before
 * the end of its source. */
static bool replay_force(struct step *st) {
    const struct run_state *s = st->state;
    bool led = replay_leads(st);
    int first = -1;
    int64_t first_ms = INT64_MAX;
    if (step_lost(st) || s->status == RUN_PAUSED) return false;
    for (size_t i = 0; !s->program && i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        const struct exec_timer *t = timer_find(st->exec, TIMER_NODE_WAIT, (int)i);
        int64_t at_ms = n->retry_at_ms;
        if (n->status == NODE_RUNNING) at_ms = t ? t->fire_at_ms : 1;
        if (at_ms <= 0 || (!led && (t || n->status != NODE_RUNNING)) || at_ms >= first_ms) continue;
        first = (int)i;
        first_ms = at_ms;
    }
    if (first < 0 && !led && (child_left_behind(st) || replay_ends_answer(st))) return true;
    if (first < 0) {
        replay_of(st->exec)->rests = !answer_searched(st);
        return !replay_of(st->exec)->rests;
    }
    if (s->nodes[first].status == NODE_RUNNING) {
        replay_enter(st, first);
    } else {
        if (st->floor_ms < first_ms) st->floor_ms = first_ms;
        step_timer_clear(st, TIMER_RETRY, first);
    }
    return true;
}

/* The source says whether its node was refused or began (EVT-24). */
static bool replay_serves(struct step *st, int node) {
    const struct event *g = source_leader(st);
    return g && (event_node(st, g->node_id) != node || g->kind != EV_NODE_FAILED ||
                 st->state->nodes[node].status == NODE_RUNNING);
}

static bool replay_defers(struct step *st, int node) {
    const struct event *g = source_leader(st);
    if (!g) return false;
    return g->kind == EV_NODE_CANCELLED || event_is_terminal(g->kind) ||
           event_node(st, g->node_id) != node || event_timed_out(g) || chunk_of_stream(st, g, node);
}

/* --- the outside --- */

/* The failure of a node as the source's event tells it; false: it tells of something else. */
static bool failure_recorded(struct step *st, const struct event *g, int node, struct failure *f) {
    bool retried = g && g->kind == EV_NODE_RETRIED;
    if (!g || event_node(st, g->node_id) != node || (!retried && g->kind != EV_NODE_FAILED))
        return false;
    struct str error = json_get(g->payload, retried ? "lastError" : "error");
    struct str code = json_string(json_get(error, "code"), st->scratch);
    if (code.n == 0) return false;
    *f = (struct failure){.code = code,
                          .message = json_string(json_get(error, "message"), st->scratch),
                          .details = json_get(error, "details"),
                          .retryable = retried};
    if (f->details.n > 0) f->details = arena_str(st->scratch, f->details);
    return true;
}

/* The invocation log keeps one answer per request, that of the last attempt; the outcome of earlier
 * attempts is in the source's events. */
static bool replay_effect(struct step *st, int node, struct failure *f) {
    *f = (struct failure){
        .code = SOURCE_MISSING,
        .message =
            STR("a replay sends nothing, and its source recorded no answer to this request")};
    (void)failure_recorded(st, source_leader(st), node, f);
    return true;
}

/* A credential is not asked for again: the source says whether its node began (EVT-24). */
static bool replay_refused(struct step *st, int node, struct failure *f) {
    const struct event *g = source_leader(st);
    if (st->state->nodes[node].status == NODE_RUNNING || !failure_recorded(st, g, node, f))
        return false;
    return g->kind == EV_NODE_FAILED && requirement_code(f->code);
}

static bool replay_lacked(struct step *st, int node, struct failure *f) {
    struct failure was;
    if (!failure_recorded(st, source_leader(st), node, &was) || !str_eq(was.code, SOURCE_MISSING))
        return false;
    *f = was;
    return true;
}

static int family_add(struct replay *rp, struct str run_id) {
    return run_id.n == RUN_ID_LEN ? map_put(rp->family, run_id, rp, NULL) : 0;
}

/* Own rows of a run win over those of the run it was forked from.  A run that is no replay mints
 * ids of its own from its cut on; before it they are those of its source. */
static int ancestors_read(struct step *st, struct wopr_error *err) {
    struct replay *rp = replay_of(st->exec);
    struct run_fork f = st->exec->fork.info->link;
    int rc = family_add(rp, str_c(st->exec->run_id));
    for (unsigned n = 0; rc == 0 && f.mode != FORK_NONE && n < REPLAY_ANCESTORS_MAX; n++) {
        struct run_link o;
        int64_t from = 0;
        rc = family_add(rp, f.source_run_id);
        if (rc == 0) rc = invoke_load(st, f.source_run_no, err);
        arena_reset(rp->scratch);
        if (rc == 0) rc = store_run_link(st->engine->store, f.source_run_no, rp->scratch, &o, err);
        bool there = rc == 0, replay = there && o.fork.mode == FORK_REPLAY;
        if (there && o.fork.mode == FORK_BRANCH) from = o.fork.from_seq;
        if (rc == WOPR_E_NOT_FOUND) rc = 0; /* removed, and no fork: its id is enough */
        struct minter *m = replay ? NULL : ARENA_NEW(rp->keep, struct minter);
        if (m) {
            *m = (struct minter){.from = from, .run_id = f.source_run_id};
            *rp->minters_end = m;
            rp->minters_end = &m->next;
        }
        f = there ? o.fork : (struct run_fork){.mode = FORK_NONE};
        f.source_run_id = arena_str(rp->keep, f.source_run_id);
    }
    return rc;
}

static int pins_read(struct step *st, struct wopr_error *err) {
    const struct run_fork *f = &st->exec->fork.info->link;
    struct replay *rp = replay_of(st->exec);
    struct event_list l;
    const struct log_range recorded = {.run_no = f->source_run_no,
                                       .from = f->from_seq,
                                       .until = f->base_seq,
                                       .page_events = REPLAY_PINS_MAX,
                                       .page_bytes = REPLAY_ARENA_MAX / 2};
    int rc =
        store_events_of_kind(st->engine->store, &recorded, EV_VERSION_PINNED, st->scratch, &l, err);
    if (rc != 0) return rc;
    rp->pins = ARENA_ARRAY(rp->keep, struct node_pin, l.n + 1);
    for (size_t i = 0; rp->pins && i < l.n; i++) {
        struct node_pin *p = &rp->pins[rp->pins_nr];
        p->change_id = json_string(json_get(l.v[i].payload, "changeId"), rp->keep);
        if (p->change_id.p && json_int(json_get(l.v[i].payload, "version"), &p->version))
            rp->pins_nr++;
    }
    return 0;
}

int replay_begin(struct step *st, struct wopr_error *err) {
    struct replay *rp = replay_of(st->exec);
    if (!rp) return 0;
    int rc = ancestors_read(st, err);
    if (rc == 0) rc = pins_read(st, err);
    if (rc == 0 && arena_failed(rp->keep))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a replay");
    return rc;
}

/* The run that minted what the source's next event shows: the nearest whose own part that event is
 * in.  That run entered the executor, even if the node was started before its cut. */
static struct str replay_ids(struct step *st, int node) {
    const struct event *g = source_leader(st);
    int64_t at = g ? g->seq : INT64_MAX;
    (void)node;
    for (const struct minter *m = replay_of(st->exec)->minters; m; m = m->next)
        if (at >= m->from) return m->run_id;
    return str_c(st->exec->run_id);
}

static void replay_call(struct step *st, int node, struct node_call *call) {
    const struct replay *rp = replay_of(st->exec);
    if (!rp) return;
    call->replaying = source_leader(st) != NULL;
    call->source_pins = rp->pins;
    call->source_pins_nr = rp->pins_nr;
    call->ids_run_id = replay_ids(st, node);
}

/* --- FORK-21 --- */

void replay_warn(struct step *st) {
    if (!replay_of(st->exec) || !st->exec->fork.info->masked) return;
    (void)step_emit(st, EV_LOG_APPENDED, -1, -1,
                    pay_log(st->plan->arena, "warn", STR(REPLAY_WARNING), STR_NONE, STR_NONE));
}

static const struct timeline_ops REPLAY_OPS = {.close = replay_close,
                                               .now_ms = replay_now_ms,
                                               .leads = replay_leads,
                                               .holds_timers = replay_holds_timers,
                                               .before = replay_before,
                                               .after = replay_after,
                                               .run_over = replay_run_over,
                                               .leader = source_leader,
                                               .guide = replay_guide,
                                               .force = replay_force,
                                               .defers = replay_defers,
                                               .shows_child = replay_shows_child,
                                               .answers = replay_answers,
                                               .answered = replay_answered,
                                               .goes_on = replay_goes_on,
                                               .serves = replay_serves,
                                               .refused = replay_refused,
                                               .call = replay_call,
                                               .ids = replay_ids,
                                               .effect = replay_effect,
                                               .lacked = replay_lacked};

/*
 * fork_info.c: facts of a fork about its cut: the link to its source, the last inherited event, the
 * row ids of inherited interrupts.
 */
#include "engine/fork_info.h"

#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "domain/compare.h"
#include "domain/interrupt.h"
#include "engine/core.h"
#include "store/runs.h"

enum { FORKS_UP_MAX = 1024 }; /* the time before those further up counts as running time */

static struct str run_id_keep(char to[RUN_ID_MAX + 1], struct str id) {
    size_t n = id.n <= RUN_ID_MAX ? id.n : 0;
    if (n > 0) memcpy(to, id.p, n);
    return str_n(to, n);
}

int fork_set(struct run_exec *re, const struct run_fork *f) {
    if (f->mode == FORK_NONE || re->fork.info) return 0;
    struct fork_info *x = MEM_NEW(struct fork_info);
    if (!x) return WOPR_E_NO_MEMORY;
    x->link = *f;
    x->link.source_run_id = run_id_keep(x->source_run_id, f->source_run_id);
    x->cut_kind = EV_UNKNOWN;
    x->cut_node = -1;
    re->fork.info = x;
    return 0;
}

void fork_info_free(struct fork_info *f) {
    if (!f) return;
    mem_free(f->cuts);
    mem_free(f);
}

static int cut_add(struct fork_info *f, int64_t from_seq, int64_t created_ms) {
    if (VEC_ROOM(f->cuts, f->cuts_nr, f->cuts_cap, 4) != 0) return WOPR_E_NO_MEMORY;
    f->cuts[f->cuts_nr++] = (struct fork_cut){.from_seq = from_seq, .created_ms = created_ms};
    return 0;
}

/* A fork inherits what a fork above it made only when it was cut after that one was. */
int fork_cuts_read(struct run_exec *re, int64_t created_ms, struct wopr_error *err) {
    struct fork_info *f = re->fork.info;
    bool limited = re->wf->timeout_ms > 0 || re->engine->cfg.limits.max_run_duration_sec > 0;
    if (!f || f->cuts_nr > 0 || !limited) return 0;
    struct arena *a = arena_new(ENGINE_SCRATCH_MAX);
    struct run_fork up = f->link;
    int rc = a ? cut_add(f, up.from_seq, created_ms) : WOPR_E_NO_MEMORY;
    for (unsigned n = 0; rc == 0 && up.mode != FORK_NONE && n < FORKS_UP_MAX; n++) {
        struct run_link o;
        arena_reset(a);
        rc = store_run_link(re->engine->store, up.source_run_no, a, &o, err);
        bool gone = rc == WOPR_E_NOT_FOUND; /* retention keeps the links of forks that are needed */
        if (gone) rc = 0;
        if (rc != 0 || gone || o.fork.mode == FORK_NONE) break;
        if (o.fork.from_seq < f->cuts[f->cuts_nr - 1].from_seq)
            rc = cut_add(f, o.fork.from_seq, o.created_ms);
        up = o.fork;
    }
    arena_free(a);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for a fork") : rc;
}

/* The run timeout counts running time only (WF-23): the time between the last event before a cut
 * and the fork does not count, unless the run stood still and the fold counts it as waiting.  The
 * events of a replay have the times of its source, so what is cut from one has no such gap before
 * an event as late as the replay itself. */
static void cuts_pass(struct run_exec *re, int64_t last_ms) {
    const struct run_state *s = re->state;
    struct fork_info *f = re->fork.info;
    /* The clock of a program goes on while people are asked, and stands only in a pause. */
    bool waits = s->program ? s->status == RUN_PAUSED : s->clock.wait_since_ms > 0;
    bool stands = s->status == RUN_PENDING || waits;
    for (size_t i = 0; i < f->cuts_nr; i++) {
        struct fork_cut *c = &f->cuts[i];
        if (c->from_seq == s->next_seq && !stands && c->created_ms > last_ms)
            c->gap_ms = c->created_ms - last_ms;
        bool shows = i == 0 ? c->from_seq == s->next_seq : last_ms >= c->created_ms;
        if (!shows) continue;
        f->gap_ms += c->gap_ms;
        c->gap_ms = 0;
    }
}

void fork_resume(struct run_exec *re, int64_t gap_ms) {
    struct fork_info *f = re->fork.info;
    if (!f) return;
    f->gap_ms = gap_ms;
    for (size_t i = 0; i < f->cuts_nr; i++) f->cuts[i].gap_ms = 0;
    if (re->state->next_seq > 0) cuts_pass(re, re->state->last_ts_ms);
}

/* Does the event hold something masked that the run itself could read (OBS-71)? */
static bool event_holds_masked(const struct workflow *wf, const struct event *e, struct arena *a) {
    if (e->kind == EV_NODE_COMPLETED) {
        int node = workflow_node_index(wf, e->node_id);
        return node >= 0 && wf->nodes[node].sensitive_nr > 0;
    }
    if (e->kind == EV_VARIABLE_CHANGED) {
        const struct wf_variable *v =
            workflow_variable(wf, json_string(json_get(e->payload, "name"), a));
        return v && v->sensitive;
    }
    if (e->kind != EV_CHANNEL_WRITTEN) return false;
    const struct wf_channel *c =
        workflow_channel(wf, json_string(json_get(e->payload, "channel"), a));
    return c && c->sensitive;
}

/* Hosts and comparisons insert events between those of one commit. */
bool fork_inserted(const struct event *e) {
    return compare_ignores(e) && !event_kind_is(e->kind, EV_F_EFFECT);
}

/* Note the last inherited event that the run itself emitted. */
static void cut_note(struct run_exec *re, const struct event *e) {
    struct fork_info *f = re->fork.info;
    if (fork_inserted(e)) return;
    f->cut_kind = e->kind;
    struct str channel = json_get(e->payload, "channel");
    if (e->kind == EV_CHANNEL_WRITTEN && !str_starts(channel, STR("\"_approvalVotes:")))
        f->cut_kind = EV_LOG_APPENDED; /* no event belongs to it */
    f->cut_node = e->node_id.n > 0 ? workflow_node_index(re->state->wf, e->node_id) : -1;
}

void fork_passed(struct run_exec *re, const struct event *e, struct arena *a) {
    const struct run_state *s = re->state;
    if (!re->fork.info || s->next_seq > re->fork.info->link.from_seq) return;
    cuts_pass(re, e->ts_ms);
    re->fork.info->masked = re->fork.info->masked || event_holds_masked(s->wf, e, a);
    cut_note(re, e);
    if (s->next_seq == re->fork.info->link.from_seq && re->fork.info->link.cut_ms == 0)
        re->fork.info->link.cut_ms = e->ts_ms;
}

int64_t fork_gap_ms(const struct run_exec *re, int64_t now_ms) {
    if (!re->fork.info || now_ms < re->state->meta.created_ms) return 0;
    return re->fork.info->gap_ms;
}

bool fork_is_fresh(const struct run_fork *f, int64_t next_seq) {
    return f->mode != FORK_NONE && f->from_seq > 0 && next_seq == f->from_seq;
}

static bool interrupt_inherited(const struct run_exec *re, int64_t requested_seq) {
    return re->fork.info && requested_seq < re->fork.info->link.from_seq;
}

struct str fork_interrupt_id(const struct run_exec *re, const struct intr_state *i,
                             struct arena *a) {
    char id[INTR_ID_LEN + 1];
    if (!interrupt_inherited(re, i->requested_seq)) return text_str(&i->id);
    intr_id_of(str_c(re->run_id), text_str(&i->key), id);
    return arena_str(a, str_c(id));
}

int64_t fork_shift_ms(const struct run_exec *re, int64_t requested_seq) {
    if (!interrupt_inherited(re, requested_seq)) return 0;
    int64_t ms = re->state->meta.created_ms - re->fork.info->link.cut_ms;
    return ms > 0 ? ms : 0;
}

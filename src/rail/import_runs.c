/*
 * import_runs.c: see import_runs.h.  First the log is walked for which run shows which node, by the
 * rules of derive.h; then each run is opened with all of its nodes, and the appends are derived in
 * order.  Reading the nodes first is what keeps the work linear: no log is folded again for the
 * next node.
 */
#include "rail/import_runs.h"

#include "base/map.h"
#include "base/mem.h"
#include "rail/rail_int.h"

struct import_run {
    struct str id;
    struct import_run *source; /* NULL: no branch */
    int64_t cut;               /* its first own sequence */
    struct str *nodes;         /* of its own events */
    size_t nodes_nr, nodes_cap;
    struct str waiting; /* the node it waits at; empty: it has ended */
    struct plan *plan;
    struct rail_shown shown;
};
struct group { /* of one append */
    struct wr_plan plan;
    struct derive_parts parts;
    size_t run; /* that it is shown by */
    bool opens; /* a run of its own */
    bool shown; /* false: the run had ended, it changes the session alone */
};
struct work {
    struct import_runs *in;
    struct arena *a;
    struct group *groups;
    size_t groups_nr;
    struct map *at; /* node id -> index of its run + 1 */
    struct derive_nodes nodes;
    struct rail_derive d; /* shared by all appends but for the append */
    struct wr_fault *f;
};

/* --- groups --- */
static void group_parts(struct group *g) {
    for (size_t i = 0; i < g->plan.events_nr; i++) {
        const struct wr_event *e = &g->plan.events[i];
        if (e->kind == WR_RUN_STARTED) g->parts.started = e;
        if (e->kind == WR_ADVANCE_RECORDED) g->parts.advance = e;
        if (e->kind == WR_NODE_CREATED) g->parts.node = e;
    }
}

static int groups_make(struct work *w) {
    const struct rail_session *s = w->in->session;
    w->groups = ARENA_ARRAY(w->a, struct group, s->records_nr + 1);
    if (!w->groups) return wr_no_memory(w->f);
    for (size_t i = 0; i < s->records_nr; i++) {
        const struct wr_record *r = &s->records[i];
        if (r->kind != WR_SEGMENT_CLOSED) continue;
        struct group *g = &w->groups[w->groups_nr++];
        *g = (struct group){.plan = *w->in->op->pending};
        g->plan.session_id = s->head.session_id;
        g->plan.events = &s->events[r->first_index];
        g->plan.events_nr = (size_t)(r->last_index - r->first_index + 1);
        group_parts(g);
        if (!g->parts.node)
            return wr_fail(w->f, WR_BUNDLE_INVALID_FORMAT, "/session/events",
                           "the bundle is refused: an append creates no node");
    }
    return 0;
}

/* --- who shows what --- */
static int node_add(struct work *w, size_t run, struct str node_id) {
    struct import_run *r = &w->in->runs[run];
    if (r->nodes_nr == r->nodes_cap) {
        size_t cap = r->nodes_cap ? r->nodes_cap * 2 : 16;
        struct str *v = ARENA_ARRAY(w->a, struct str, cap);
        if (!v) return wr_no_memory(w->f);
        if (r->nodes_nr > 0) memcpy(v, r->nodes, r->nodes_nr * sizeof *v);
        r->nodes = v;
        r->nodes_cap = cap;
    }
    r->nodes[r->nodes_nr++] = node_id;
    return 0;
}

static int node_place(struct work *w, struct str node_id, size_t run) {
    return map_put(w->at, node_id, (void *)(uintptr_t)(run + 1), NULL) == 0 ? 0
                                                                            : wr_no_memory(w->f);
}

static int pending_read(struct work *w, const struct group *g, bool *pending) {
    struct wr_operator *op = &w->in->op->op;
    struct wr_state state;
    struct str bytes;
    int rc =
        op->port.snapshot(op->port.ctx, g->parts.node->u.node.snapshot_ref, w->a, &bytes, w->f);
    if (rc == 0) rc = wr_snapshot_read(bytes, w->a, &state, w->f);
    if (rc == 0) *pending = state.pending != 0;
    return rc;
}

static struct import_run *run_of(struct work *w, struct str node_id, size_t *at) {
    const struct wr_node *asked = derive_asked(w->in->session->truth, node_id);
    uintptr_t no = asked ? (uintptr_t)map_get(w->at, asked->id) : 0;
    *at = no > 0 ? no - 1 : 0;
    return no > 0 ? &w->in->runs[no - 1] : NULL;
}

static int group_place(struct work *w, struct group *g) {
    struct str node_id = g->parts.node->node_id;
    bool pending = false;
    size_t at = 0;
    int rc = pending_read(w, g, &pending);
    if (rc != 0) return rc;
    bool checkpoint = !g->parts.started && !g->parts.advance;
    struct import_run *r =
        g->parts.started ? NULL : run_of(w, checkpoint ? node_id : g->parts.advance->node_id, &at);
    if (!r && !g->parts.started)
        return wr_fail(w->f, WR_BUNDLE_INVALID_FORMAT, "/session/events",
                       "the bundle is refused: an append belongs to no run");
    if (checkpoint) {
        g->shown = r->waiting.n > 0;
        g->run = at;
        return g->shown ? node_add(w, at, node_id) : 0;
    }
    const struct wr_node *asked =
        r ? derive_asked(w->in->session->truth, g->parts.advance->node_id) : NULL;
    g->opens = !r || !str_eq(r->waiting, asked->id);
    g->run = g->opens ? w->in->runs_nr++ : at;
    g->shown = true;
    if (g->opens && r) w->in->runs[g->run].source = r;
    w->in->runs[g->run].waiting = pending ? node_id : STR_NONE;
    rc = node_place(w, node_id, g->run);
    return rc == 0 && pending ? node_add(w, g->run, node_id) : rc;
}

static int groups_place(struct work *w) {
    w->in->runs = ARENA_ARRAY(w->a, struct import_run, w->groups_nr + 1);
    if (!w->in->runs) return wr_no_memory(w->f);
    for (size_t i = 0; i < w->groups_nr; i++) {
        int rc = group_place(w, &w->groups[i]);
        if (rc != 0) return rc;
    }
    return 0;
}

/* --- a run is opened --- */
struct prefix { /* the events that a branch inherits, in order */
    struct run_state *state;
    struct str *nodes;
    size_t nodes_nr, nodes_cap;
    struct arena *a;
};

static int prefix_walk(const struct import_run *r, int64_t until, struct prefix *p,
                       int (*take)(struct prefix *p, const struct event *e)) {
    int rc = 0;
    if (r->source) rc = prefix_walk(r->source, until < r->cut ? until : r->cut, p, take);
    for (size_t i = 0; rc == 0 && i < r->plan->events_nr && r->plan->events[i].seq < until; i++)
        rc = take(p, &r->plan->events[i]);
    return rc;
}

static int prefix_node(struct prefix *p, const struct event *e) {
    if (e->kind != EV_NODE_STARTED) return 0;
    if (p->nodes_nr == p->nodes_cap) {
        size_t cap = p->nodes_cap ? p->nodes_cap * 2 : 32;
        struct str *v = ARENA_ARRAY(p->a, struct str, cap);
        if (!v) return WOPR_E_NO_MEMORY;
        if (p->nodes_nr > 0) memcpy(v, p->nodes, p->nodes_nr * sizeof *v);
        p->nodes = v;
        p->nodes_cap = cap;
    }
    p->nodes[p->nodes_nr++] = e->node_id;
    return 0;
}

static int prefix_fold(struct prefix *p, const struct event *e) {
    struct wopr_error err;
    return run_state_apply(p->state, e, &err);
}

static int shown_open(struct work *w, struct import_run *r, const struct run_meta *meta) {
    struct prefix p = {.a = w->a};
    int rc = r->source ? prefix_walk(r->source, r->cut, &p, prefix_node) : 0;
    for (size_t i = 0; rc == 0 && i < r->nodes_nr; i++) {
        const struct event own = {.kind = EV_NODE_STARTED, .node_id = r->nodes[i]};
        rc = prefix_node(&p, &own);
    }
    if (rc == 0)
        rc = rail_shown_workflow(meta->workflow_id, p.nodes, p.nodes_nr, &r->shown.wf, &w->f->e);
    if (rc == 0)
        rc = run_state_new(r->shown.wf, meta, &RUN_LIMITS_DEFAULT, &r->shown.state, &w->f->e);
    p.state = r->shown.state;
    if (rc == 0 && r->source) rc = prefix_walk(r->source, r->cut, &p, prefix_fold);
    return rc == 0 ? 0 : wr_fail_as(w->f, WR_INTERNAL_ERROR, rc);
}

/* Where the source waits at the node that is answered again. */
static int64_t cut_of(const struct work *w, struct str node_id) {
    for (size_t i = w->nodes.n; i > 0; i--)
        if (str_eq(w->nodes.v[i - 1].node_id, node_id)) return w->nodes.v[i - 1].seq + 1;
    return 0;
}

static int run_open(struct work *w, struct deriving *d, struct import_run *r,
                    const struct wr_event *started) {
    struct plan_fork *fork = NULL;
    r->plan = d->plan = plan_new();
    if (!r->plan) return wr_no_memory(w->f);
    r->id =
        r->source ? derive_branch_id(d) : rail_run_id(started->run_id, w->in->salt, r->plan->arena);
    struct run_row_new *n = derive_row_new(d, r->id, started);
    if (!n) return wr_no_memory(w->f);
    if (r->source) {
        fork = ARENA_NEW(r->plan->arena, struct plan_fork);
        if (!fork) return wr_no_memory(w->f);
        r->cut = cut_of(w, d->asked);
    }
    int rc = shown_open(w, r, &n->meta);
    if (rc != 0 || !fork) return rc;
    *fork = (struct plan_fork){
        .link = {.mode = FORK_BRANCH,
                 .source_run_id = r->source->id,
                 .from_seq = r->cut,
                 .base_seq = r->source->plan->base_seq + (int64_t)r->source->plan->events_nr,
                 .cut_ms = r->shown.state->last_ts_ms},
        .prefix_bytes = r->shown.state->log_bytes};
    n->fork = fork;
    r->plan->base_seq = r->cut;
    return 0;
}

/* --- and its events are derived --- */
static int group_open(struct work *w, struct group *g, struct deriving *d) {
    const struct wr_session *s = w->in->session->truth;
    struct import_run *r = &w->in->runs[g->run];
    const struct wr_event *started = s->runs[wr_session_run(s, g->parts.node->run_id)].started;
    struct wr_operator *op = &w->in->op->op;
    int rc = op->port.workflow(op->port.ctx, started->u.run.workflow_hash, &w->d.workflow, w->f);
    if (rc != 0 && w->f->code == WR_SCHEMA_UNKNOWN_VERSION) { /* shown, not executed (WR-187) */
        static const struct wr_workflow FOREIGN = {.warnings = {NULL, 0}};
        w->d.workflow = &FOREIGN;
        rc = 0;
    }
    if (rc != 0) return rc;
    if (g->parts.advance) d->asked = derive_asked(s, g->parts.advance->node_id)->id;
    if (g->opens) {
        rc = run_open(w, d, r, started);
        if (rc != 0) return rc;
    }
    d->plan = r->plan;
    d->run = r->shown;
    return derive_begin(d);
}

static void checkpoint_derive(struct work *w, const struct group *g, struct deriving *d) {
    const struct wr_node *asked = derive_asked(w->in->session->truth, g->parts.node->node_id);
    int64_t seq = cut_of(w, asked->id) - 1;
    if (g->shown) derive_checkpoint(d);
    derive_shown(d, g->parts.node->node_id, w->in->runs[g->run].id, seq);
}

static int group_derive(struct work *w, struct group *g) {
    struct deriving d = {.in = &w->d, .f = w->f, .parts = g->parts, .nodes = &w->nodes};
    w->d.append = &g->plan;
    int rc = group_open(w, g, &d);
    if (rc != 0) return rc;
    if (g->parts.started) derive_start(&d);
    else if (g->parts.advance) derive_advance(&d);
    else checkpoint_derive(w, g, &d);
    if (d.plan->failed == 0) return 0;
    w->f->e = d.plan->error;
    return wr_fail_as(w->f, WR_INTERNAL_ERROR, d.plan->failed);
}

/* --- */
static int plans_close(struct work *w, struct plan_session *x) {
    struct import_runs *m = w->in;
    m->plans = ARENA_ARRAY(w->a, struct plan *, m->runs_nr);
    if (!m->plans) return wr_no_memory(w->f);
    x->nodes = w->nodes.v;
    x->nodes_nr = w->nodes.n;
    for (size_t i = 0; i < m->runs_nr; i++) {
        struct plan_session *own = ARENA_NEW(w->a, struct plan_session);
        if (!own) return wr_no_memory(w->f);
        *own = *x;
        own->wr_run_id = m->session->truth->runs[0].id;
        if (i > 0) { /* the session is there, each run is linked to it */
            own->create = false;
            own->base_event = (int64_t)x->events_nr;
            own->base_manifest = (int64_t)x->records_nr;
            own->events_nr = own->records_nr = own->blobs_nr = own->nodes_nr = 0;
        }
        plan_project(m->runs[i].plan, m->runs[i].shown.state, 0);
        m->runs[i].plan->session = own;
        m->plans[m->plans_nr++] = m->runs[i].plan;
    }
    return 0;
}

int import_runs_make(struct import_runs *m, struct plan_session *x, struct wr_fault *f) {
    struct work w = {.in = m, .a = m->op->a, .at = map_new(), .f = f, .nodes = {.a = m->op->a}};
    w.d = (struct rail_derive){.store = m->op->rail->cfg.store,
                               .rules = m->op->rail->cfg.rules,
                               .op = &m->op->op,
                               .truth = m->session->truth,
                               .owner = m->owner,
                               .salt = m->salt,
                               .tenant_bytes_max = m->op->rail->cfg.tenant_bytes_max,
                               .now_ms = m->now_ms};
    int rc = w.at ? groups_make(&w) : wr_no_memory(f);
    if (rc == 0) rc = groups_place(&w);
    for (size_t i = 0; rc == 0 && i < w.groups_nr; i++) rc = group_derive(&w, &w.groups[i]);
    if (rc == 0) rc = plans_close(&w, x);
    map_free(w.at);
    return rc;
}

void import_runs_fini(struct import_runs *m) {
    for (size_t i = 0; i < m->runs_nr; i++) {
        rail_shown_fini(&m->runs[i].shown);
        plan_unref(m->runs[i].plan);
    }
    m->runs_nr = 0;
}

int import_blobs(struct arena *a, const struct plan_session_blob *v, size_t n,
                 struct wr_plan *out) {
    static const enum wr_blob_kind KINDS[] = {[SESSION_SNAPSHOT] = WR_BLOB_SNAPSHOT,
                                              [SESSION_WORKFLOW] = WR_BLOB_WORKFLOW,
                                              [SESSION_ARTIFACT] = WR_BLOB_ARTIFACT};
    struct wr_blob *b = ARENA_ARRAY(a, struct wr_blob, n + 1);
    if (!b) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        b[i] = (struct wr_blob){KINDS[v[i].kind], v[i].digest, v[i].bytes};
    out->blobs = b;
    out->blobs_nr = n;
    return 0;
}

/*
 * derive.c: see derive.h: which run an append belongs to, and the order of its events there.
 */
#include "rail/derive_int.h"

#include "codec/jobj.h"
#include "store/sessions.h"

#include <stdio.h>

struct str rail_run_id(struct str wr_run_id, struct str salt, struct arena *a) {
    if (salt.n == 0) return arena_str(a, wr_run_id);
    const struct wr_id id = wr_branch_run(wr_run_id, STR("import"), salt);
    return arena_str(a, wr_id_str(&id));
}

/* --- runs that are kept --- */
void rail_runs_fini(struct rail_runs *r) {
    for (size_t i = 0; i < RAIL_RUNS_KEPT; i++) rail_shown_fini(&r->v[i].shown);
    *r = (struct rail_runs){.v = {{0}}};
}

size_t rail_runs_bytes(const struct rail_runs *r) {
    size_t bytes = 0;
    for (size_t i = 0; i < RAIL_RUNS_KEPT; i++) bytes += rail_shown_bytes(&r->v[i].shown);
    return bytes;
}

static bool runs_take(struct rail_runs *r, int64_t run_no, struct rail_shown *out) {
    for (size_t i = 0; r && i < RAIL_RUNS_KEPT; i++) {
        if (r->v[i].run_no != run_no) continue;
        *out = r->v[i].shown;
        memmove(&r->v[i], &r->v[i + 1], (RAIL_RUNS_KEPT - 1 - i) * sizeof *r->v);
        memset(&r->v[RAIL_RUNS_KEPT - 1], 0, sizeof *r->v);
        return true;
    }
    return false;
}

/* The run of d, whose events so far are those of its log and of its plan; else it ends. */
static void runs_put(struct deriving *d) {
    struct rail_runs *r = d->in->runs;
    if (!r || d->keep_no == 0 || !d->run.state) {
        rail_shown_fini(&d->run);
        return;
    }
    rail_shown_fini(&r->v[RAIL_RUNS_KEPT - 1].shown);
    memmove(&r->v[1], &r->v[0], (RAIL_RUNS_KEPT - 1) * sizeof *r->v);
    r->v[0].run_no = d->keep_no;
    r->v[0].shown = d->run;
    d->run = (struct rail_shown){.wf = NULL};
    d->keep_no = 0;
}

/* --- what the append is --- */
static void parts_find(struct deriving *d) {
    for (size_t i = 0; i < d->in->append->events_nr; i++) {
        const struct wr_event *e = &d->in->append->events[i];
        if (e->kind == WR_RUN_STARTED) d->parts.started = e;
        if (e->kind == WR_ADVANCE_RECORDED) d->parts.advance = e;
        if (e->kind == WR_NODE_CREATED) d->parts.node = e;
    }
}

int derive_begin(struct deriving *d) {
    struct str bytes;
    parts_find(d);
    if (!d->parts.node)
        return wr_fail(d->f, WR_INTERNAL_ERROR, "", "an append without a node has no events");
    int rc = d->in->op->port.snapshot(d->in->op->port.ctx, d->parts.node->u.node.snapshot_ref,
                                      d->plan->arena, &bytes, d->f);
    return rc == 0 ? wr_snapshot_read(bytes, d->plan->arena, &d->state, d->f) : rc;
}

const struct wr_node *derive_asked(const struct wr_session *s, struct str node_id) {
    size_t at = wr_session_node(s, node_id);
    while (at != WR_NO_NODE && s->nodes[at].created->u.node.kind == WR_NODE_CHECKPOINT &&
           s->nodes[at].parent != WR_NO_NODE)
        at = s->nodes[at].parent;
    return at == WR_NO_NODE ? NULL : &s->nodes[at];
}

/* --- rows of the session's map --- */
void derive_shown(struct deriving *d, struct str node_id, struct str run_id, int64_t seq) {
    struct derive_nodes *l = d->nodes;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 1; /* an append makes one node */
        struct plan_session_node *v = ARENA_ARRAY(l->a, struct plan_session_node, cap);
        if (!v) {
            plan_fail(d->plan, WOPR_E_NO_MEMORY, "no memory for a node of a session");
            return;
        }
        if (l->n > 0) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] =
        (struct plan_session_node){arena_str(l->a, node_id), arena_str(l->a, run_id), seq};
}

static int64_t last_seq(const struct deriving *d) {
    return d->plan->base_seq + (int64_t)d->plan->events_nr - 1;
}

/* --- a new run --- */
static struct str metadata_of(const struct deriving *d, const struct wr_event *started) {
    static const char *const KINDS[] = {"bundled", "user", "project", "remote", "plugin"};
    struct jobj o;
    jobj_begin(&o, 4096);
    jw_key(&o.w, "x-workrail");
    jw_object(&o.w);
    jw_kstr(&o.w, "sessionId", d->in->append->session_id);
    jw_kstr(&o.w, "workflowHash", started->u.run.workflow_hash);
    jw_kstrz(&o.w, "sourceKind", KINDS[started->u.run.source_kind]);
    jw_end_object(&o.w);
    return jobj_end(&o, d->plan->arena);
}

static bool hash_of(struct str digest, struct sha256 *out) {
    struct buf b;
    struct wopr_error err;
    if (!wr_digest_good(digest)) return false;
    buf_init(&b, sizeof out->b);
    int rc = hex_decode(str_n(digest.p + 7, digest.n - 7), &b, &err); /* behind "sha256:" */
    bool ok = rc == 0 && !buf_failed(&b) && b.len == sizeof out->b;
    if (ok) memcpy(out->b, buf_str(&b).p, sizeof out->b);
    buf_fini(&b);
    return ok;
}

struct run_row_new *derive_row_new(struct deriving *d, struct str run_id,
                                   const struct wr_event *started) {
    struct arena *a = d->plan->arena;
    const struct rail_owner *o = &d->in->owner;
    struct run_row_new *n = ARENA_NEW(a, struct run_row_new);
    if (!n) return NULL;
    n->meta = (struct run_meta){.run_id = arena_str(a, run_id),
                                .workflow_id = arena_str(a, started->u.run.workflow_id),
                                .tenant = arena_str(a, o->tenant),
                                .workspace = arena_str(a, o->workspace),
                                .subject = arena_str(a, o->subject),
                                .metadata = metadata_of(d, started),
                                .transport = STR("mcp"),
                                .led = true,
                                .inputs = STR("{}"),
                                .test_mode = o->test_mode,
                                .shown_engine_version = CURRENT_ENGINE_VERSION,
                                .created_ms = d->in->now_ms};
    n->tenant_bytes_max = d->in->tenant_bytes_max;
    if (!hash_of(started->u.run.workflow_hash, &n->workflow_hash)) return NULL;
    d->plan->what = PLAN_CREATE;
    d->plan->run_id = n->meta.run_id;
    d->plan->epoch = 1;
    d->plan->create = n;
    return arena_failed(a) ? NULL : n;
}

static int load_failed(struct deriving *d, int rc) {
    if (rc == WOPR_E_TOO_BIG)
        return wr_fail(d->f, WR_PRECONDITION_FAILED, "",
                       "the session is full: %.200s; start a new one", d->f->e.message);
    return wr_fail_as(d->f, WR_SESSION_LOAD_FAILED, rc);
}

static int start_open(struct deriving *d) {
    struct str id = rail_run_id(d->parts.started->run_id, d->in->salt, d->plan->arena);
    struct run_row_new *n = derive_row_new(d, id, d->parts.started);
    if (!n) return wr_no_memory(d->f);
    const struct rail_shown_at at = {
        .meta = &n->meta, .more = &d->parts.node->node_id, .more_nr = d->state.pending ? 1 : 0};
    int rc = rail_shown_load(d->in->store, &at, d->plan->arena, &d->run, &d->f->e);
    return rc == 0 ? 0 : load_failed(d, rc);
}

void derive_start(struct deriving *d) {
    (void)derive_event(d, EV_RUN_STARTED, STR_NONE,
                       pay_run_started(d->plan->arena, d->run.state, STR("{}")));
    derive_says(d);
    derive_pending(d);
    derive_shown(d, d->parts.node->node_id, d->plan->run_id, last_seq(d));
}

/* --- an existing run --- */
static int derive_cancelled(struct deriving *d) {
    return wr_fail(d->f, WR_PRECONDITION_FAILED, "",
                   "the run of this session was cancelled, nothing can be added to it; start a new"
                   " session, or read this one with a rehydrate");
}

struct place { /* where a node is shown */
    struct plan_session_node node;
    struct run_head head;
};

static int place_find(struct deriving *d, struct str node_id, struct place *out) {
    struct arena *a = d->plan->arena;
    int rc = store_session_node(d->in->store, d->in->session_no, node_id, a, &out->node, &d->f->e);
    if (rc == 0)
        rc = store_run_head(d->in->store, d->in->owner.tenant, d->in->owner.test_mode,
                            out->node.run_id, a, &out->head, &d->f->e);
    if (rc == WOPR_E_NOT_FOUND || rc == WOPR_E_EXPIRED)
        return wr_fail(d->f, WR_INTERNAL_ERROR, "",
                       "the run that shows this session is gone; export the session and import it");
    if (rc != 0) return wr_fail_as(d->f, WR_SESSION_LOAD_FAILED, rc);
    return out->head.status == RUN_CANCELLED ? derive_cancelled(d) : 0;
}

/* WR-264: who cancels the run of a session stops all its branches. */
static int root_going(struct deriving *d) {
    const struct wr_session *s = d->in->truth;
    size_t run = wr_session_run(s, d->parts.node->run_id);
    struct place root;
    if (run == WR_NO_NODE || s->runs[run].root == WR_NO_NODE) return 0;
    return place_find(d, s->nodes[s->runs[run].root].id, &root);
}

/* A branch has no rows yet, and the whole of what it inherits is read (as for any fork). */
static int branch_load(struct deriving *d, const struct place *at, int64_t until,
                       const struct run_meta *meta) {
    const struct rail_shown_at want = {.run_no = at->head.run_no,
                                       .until = until,
                                       .meta = meta,
                                       .more = &d->parts.node->node_id,
                                       .more_nr = 1};
    int rc = rail_shown_load(d->in->store, &want, d->plan->arena, &d->run, &d->f->e);
    return rc == 0 ? 0 : load_failed(d, rc);
}

/* The run as it is kept, and what others appended since; false: it must be read. */
static bool run_kept(struct deriving *d, const struct place *at) {
    const int64_t next = at->head.next_seq;
    struct wopr_error err;
    if (!runs_take(d->in->runs, at->head.run_no, &d->run)) return false;
    if (d->run.state->next_seq == next ||
        (d->run.state->next_seq < next &&
         rail_shown_follow(d->in->store, at->head.run_no, &d->run, &err) == 0))
        return true;
    rail_shown_fini(&d->run);
    return false;
}

static int run_read(struct deriving *d, const struct place *at, const struct str *more) {
    const struct rail_shown_at want = {.run_no = at->head.run_no,
                                       .until = INT64_MAX,
                                       .more = more,
                                       .more_nr = more ? 1 : 0,
                                       .spare = d->in->runs != NULL};
    int rc = rail_shown_load(d->in->store, &want, d->plan->arena, &d->run, &d->f->e);
    return rc == 0 ? 0 : load_failed(d, rc);
}

static int run_open(struct deriving *d, const struct place *at) {
    d->keep_no = at->head.run_no;
    return run_kept(d, at) ? 0 : run_read(d, at, NULL);
}

/* The run that is open moves: it gets the new node. */
static int move_open(struct deriving *d, const struct place *at) {
    struct plan *p = d->plan;
    const struct str *node_id = &d->parts.node->node_id;
    int rc = rail_shown_name(&d->run, *node_id, &d->f->e);
    if (rc == WOPR_E_TOO_BIG) { /* no spare node */
        rail_shown_fini(&d->run);
        rc = run_read(d, at, node_id);
    }
    if (rc != 0) return rc == WOPR_E_NO_MEMORY ? wr_no_memory(d->f) : rc;
    p->what = PLAN_RUN;
    p->run_id = at->head.run_id;
    p->run_no = at->head.run_no;
    p->base_seq = d->run.state->next_seq;
    p->epoch = at->head.epoch;
    p->tenant = arena_str(p->arena, d->in->owner.tenant);
    return 0;
}

/* Does the run wait at the node? */
static bool waits_at(const struct deriving *d, struct str node_id) {
    int at = workflow_node_index(d->run.wf, node_id);
    return !run_status_final(d->run.state->status) && at >= 0 &&
           d->run.state->nodes[at].status == NODE_SUSPENDED;
}

struct str derive_branch_id(const struct deriving *d) {
    const struct wr_event *adv = d->parts.advance;
    const struct wr_id id = wr_branch_run(d->in->salt.n > 0 ? d->in->salt : adv->run_id,
                                          adv->node_id, adv->u.advance.attempt_id);
    return arena_str(d->plan->arena, wr_id_str(&id));
}

static int branch_open(struct deriving *d, const struct place *at) {
    const struct wr_session *s = d->in->truth;
    struct arena *a = d->plan->arena;
    size_t run = wr_session_run(s, d->parts.advance->run_id);
    struct run_row_new *n = derive_row_new(d, derive_branch_id(d), s->runs[run].started);
    struct plan_fork *fork = n ? ARENA_NEW(a, struct plan_fork) : NULL;
    if (!fork) return wr_no_memory(d->f);
    int64_t cut = at->node.seq + 1;
    int rc = branch_load(d, at, cut, &n->meta);
    if (rc != 0) return rc;
    *fork = (struct plan_fork){.link = {.mode = FORK_BRANCH,
                                        .source_run_id = at->head.run_id,
                                        .source_run_no = at->head.run_no,
                                        .from_seq = cut,
                                        .base_seq = at->head.next_seq,
                                        .cut_ms = d->run.state->last_ts_ms},
                               .prefix_bytes = d->run.state->log_bytes};
    n->fork = fork;
    d->plan->base_seq = cut;
    return 0;
}

/* The run that waits at the node answered, or a branch of it. */
static int advance_open(struct deriving *d) {
    const struct wr_node *asked = derive_asked(d->in->truth, d->parts.advance->node_id);
    struct place at;
    if (!asked) return wr_fail(d->f, WR_INTERNAL_ERROR, "", "an advance from no node");
    d->asked = asked->id;
    int rc = root_going(d);
    if (rc == 0) rc = place_find(d, asked->id, &at);
    if (rc == 0) rc = run_open(d, &at);
    if (rc != 0) return rc;
    if (waits_at(d, asked->id)) return move_open(d, &at);
    runs_put(d);
    return branch_open(d, &at);
}

void derive_advance(struct deriving *d) {
    struct str run_id = d->plan->run_id;
    derive_answer(d);
    derive_blocked(d);
    derive_says(d);
    derive_pending(d);
    derive_shown(d, d->parts.node->node_id, run_id, last_seq(d));
}

/* A checkpoint of a run that has ended changes the session alone. */
static int checkpoint_derive(struct deriving *d) {
    const struct wr_node *asked = derive_asked(d->in->truth, d->parts.node->node_id);
    struct place at;
    int rc = root_going(d);
    if (rc == 0) rc = place_find(d, asked ? asked->id : STR_NONE, &at);
    if (rc == 0) rc = run_open(d, &at);
    if (rc != 0) return rc;
    if (run_status_final(d->run.state->status)) {
        d->plan->what = PLAN_SIDE;
    } else {
        rc = move_open(d, &at);
        if (rc != 0) return rc;
        derive_checkpoint(d);
    }
    derive_shown(d, d->parts.node->node_id, at.node.run_id, at.node.seq);
    return 0;
}

static int derive_run(struct deriving *d) {
    int rc;
    if (d->parts.started) {
        rc = start_open(d);
        if (rc == 0) derive_start(d);
        return rc;
    }
    if (!d->parts.advance) return checkpoint_derive(d);
    rc = advance_open(d);
    if (rc == 0) derive_advance(d);
    return rc;
}

int rail_derive(const struct rail_derive *in, struct plan *p, struct wr_fault *f) {
    struct derive_nodes nodes = {.a = p->arena};
    struct deriving d = {.in = in, .plan = p, .f = f, .nodes = &nodes};
    int rc = derive_begin(&d);
    if (rc == 0) rc = derive_run(&d);
    if (rc == 0 && p->what != PLAN_SIDE) plan_project(p, d.run.state, 0);
    if (rc == 0) p->session->wr_run_id = arena_str(p->arena, d.parts.node->run_id);
    p->session->nodes = nodes.v;
    p->session->nodes_nr = nodes.n;
    if (rc != 0 || p->failed != 0) d.keep_no = 0;
    runs_put(&d);
    if (rc != 0) return rc;
    if (arena_failed(p->arena) && p->failed == 0) return wr_no_memory(f);
    if (p->failed == 0) return 0;
    f->e = p->error;
    return wr_fail_as(f, WR_INTERNAL_ERROR, p->failed);
}

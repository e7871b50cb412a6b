/*
 * show.c: see show.h.
 */
#include "rail/show.h"

#include "base/mem.h"
#include "rail/rail_int.h"
#include "rail/tools.h"
#include "workrail/registry.h"

#include <stdio.h>

enum { SHOW_ARENA = 64 << 20, SHOW_READ_MAX = 200, SHOW_TRACES_MAX = 100 };

struct showing {
    struct rail_op op;
    struct jw *w;
    const struct wr_session *s;
    struct arena *a;
    struct wr_fault *f;
};

/* --- a run, measured --- */
struct run_facts {
    struct wr_tip *tips;
    size_t tips_nr, gaps_open, critical_open;
    struct wr_tip preferred;
    enum wr_run_status status;
};

static int tip_state(struct showing *x, size_t node, int *kind) {
    struct wr_operator *o = &x->op.op;
    struct wr_state st;
    struct str bytes;
    int rc = o->port.snapshot(o->port.ctx, x->s->nodes[node].created->u.node.snapshot_ref, x->a,
                              &bytes, x->f);
    if (rc == 0) rc = wr_snapshot_read(bytes, x->a, &st, x->f);
    if (rc == 0) *kind = st.kind;
    return rc;
}

static int run_measure(struct showing *x, size_t run, struct run_facts *out) {
    struct wr_gap *gaps;
    size_t n;
    int kind = WR_S_INIT;
    *out = (struct run_facts){.status = WR_IN_PROGRESS};
    int rc = wr_run_tips(x->s, run, x->a, &out->tips, &out->tips_nr, &out->preferred);
    if (rc == 0) rc = wr_run_gaps(x->s, run, x->a, &gaps, &n);
    if (rc != 0) return wr_no_memory(x->f);
    for (size_t i = 0; i < n; i++) {
        bool open = !gaps[i].resolved && gaps[i].event->u.gap.resolves.p == NULL;
        out->gaps_open += open;
        out->critical_open += open && gaps[i].event->u.gap.severity == WR_CRITICAL;
    }
    if (out->preferred.node == WR_NO_NODE) return 0;
    rc = tip_state(x, out->preferred.node, &kind);
    return rc == 0 ? wr_run_status(x->s, run, out->preferred.node, kind, &out->status, x->f) : rc;
}

/* --- members --- */
static void health_write(struct jw *w, const struct rail_session *s) {
    jw_kstrz(w, "health", rail_health_name(s->health));
    if (s->health != RAIL_HEALTHY) {
        jw_key(w, "healthReason");
        jw_object(w);
        jw_kstrz(w, "code", rail_reason_name(s->reason));
        jw_kstrz(w, "message", s->why);
        jw_end_object(w);
    }
    jw_kbool(w, "salvage", s->health != RAIL_HEALTHY && s->events_nr > 0);
    if (s->orphans_nr > 0) jw_kint(w, "orphanedEvents", (int64_t)s->orphans_nr);
}

static void observed_write(const struct showing *x, const char *key, enum wr_observed what) {
    const struct wr_event *e = x->s->observed[what];
    if (e) jw_kstr(x->w, key, e->u.observation.value);
}

static int row_write(struct showing *x, const struct session_list_row *row) {
    struct jw *w = x->w;
    const struct rail_session *s = &x->op.session;
    struct run_facts facts = {.status = WR_IN_PROGRESS};
    int rc = x->s->runs_nr > 0 ? run_measure(x, 0, &facts) : 0;
    if (rc == WOPR_E_NO_MEMORY) return rc;
    jw_object(w);
    jw_kstr(w, "sessionId", s->head.session_id);
    jw_kstr(w, "sessionTitle", row->resume.title);
    if (x->s->runs_nr > 0) {
        const struct wr_run *r = &x->s->runs[0];
        jw_kstr(w, "workflowId", r->started->u.run.workflow_id);
        jw_kstr(w, "workflowHash", r->started->u.run.workflow_hash);
        jw_kstr(w, "runId", r->id);
        jw_kstrz(w, "status", wr_run_status_name(facts.status));
        jw_kint(w, "nodeCount", (int64_t)r->nodes_nr);
        jw_kint(w, "edgeCount", (int64_t)r->edges.nr);
        jw_kint(w, "tipCount", (int64_t)facts.tips_nr);
        jw_kbool(w, "hasUnresolvedGaps", facts.gaps_open > 0);
    }
    health_write(w, s);
    jw_kstr(w, "recapSnippet", row->resume.snippet);
    observed_write(x, "gitBranch", WR_GIT_BRANCH);
    observed_write(x, "repoRoot", WR_REPO_ROOT);
    jw_kint(w, "eventCount", (int64_t)s->events_nr);
    jw_kbool(w, "keep", s->head.keep);
    jw_kint(w, "lastModifiedMs", s->head.changed_ms);
    jw_end_object(w);
    return 0;
}

static bool row_wanted(const struct showing *x, const struct rail_page *p,
                       const struct session_list_row *row) {
    const struct rail_session *s = &x->op.session;
    if (p->health.n > 0 && !str_eqc(p->health, rail_health_name(s->health))) return false;
    if (p->status.n > 0 && !str_eq(p->status, row->resume.status)) return false;
    return p->workflow_id.n == 0 ||
           (x->s->runs_nr > 0 && str_eq(p->workflow_id, x->s->runs[0].started->u.run.workflow_id));
}

/* --- loading --- */
static int show_load(struct showing *x, struct rail *r, const struct rail_view *v,
                     struct str session_id) {
    const struct rail_owner owner = {.tenant = v->tenant, .test_mode = v->test_mode};
    int rc = rail_op_init(&x->op, r, &owner, false, x->a, x->f);
    if (rc == 0)
        rc = rail_session_load(r->cfg.store, v->tenant, v->test_mode, session_id, x->a,
                               &x->op.session, x->f);
    x->s = x->op.session.truth;
    return rc;
}

static int page_row(struct rail *r, const struct rail_view *v, const struct rail_page *page,
                    const struct session_list_row *row, struct showing *x, unsigned *shown) {
    x->f->code = WR_FINE;
    int rc = show_load(x, r, v, row->head.session_id);
    if (rc == 0 && row_wanted(x, page, row)) {
        rc = row_write(x, row);
        ++*shown;
    }
    rail_op_fini(&x->op);
    return rc == WOPR_E_NOT_FOUND ? 0 : rc; /* removed meanwhile */
}

static void place_write(struct jw *w, struct session_place at) {
    char text[48];
    (void)snprintf(text, sizeof text, "%lld-%lld", (long long)at.commit_no,
                   (long long)at.session_no);
    jw_kstrz(w, "nextBelow", text);
}

int rail_show_sessions(struct rail *r, const struct rail_view *v, const struct rail_page *page,
                       struct buf *out, struct wr_fault *f) {
    struct session_filter filter = {.tenant = v->tenant,
                                    .test_mode = v->test_mode,
                                    .any = v->tenant.n == 0,
                                    .below = page->below,
                                    .max = SHOW_READ_MAX};
    struct session_list l = {NULL, 0};
    struct jw w;
    struct arena *list = arena_new(SHOW_ARENA), *one = arena_new(SHOW_ARENA);
    struct showing x = {.w = &w, .a = one, .f = f};
    unsigned shown = 0;
    struct session_place next = {0, 0};
    int rc =
        list && one ? store_session_list(r->cfg.store, &filter, list, &l, &f->e) : wr_no_memory(f);
    jw_init(&w, out);
    jw_object(&w);
    jw_key(&w, "sessions");
    jw_array(&w);
    size_t i = 0;
    for (; rc == 0 && i < l.n && shown < page->max; i++) {
        arena_reset(one);
        rc = page_row(r, v, page, &l.v[i], &x, &shown);
        next = (struct session_place){l.v[i].head.commit_no, l.v[i].head.session_no};
    }
    jw_end_array(&w);
    if (i < l.n || l.n == SHOW_READ_MAX) place_write(&w, next);
    jw_end_object(&w);
    arena_free(one);
    arena_free(list);
    return rc == 0 && buf_failed(out) ? wr_no_memory(f) : rc;
}

/* --- one session --- */
static bool is_tip(const struct run_facts *facts, size_t node) {
    for (size_t i = 0; i < facts->tips_nr; i++)
        if (facts->tips[i].node == node) return true;
    return false;
}

struct node_marks {
    bool failed, gaps, artifacts, divergence, capability, preference;
};

static struct node_marks node_marks(const struct wr_node *n) {
    struct node_marks m = {false, false, false, false, false, false};
    for (const struct wr_link *l = n->events.first; l; l = l->next) {
        const struct wr_event *e = l->event;
        m.failed |= e->kind == WR_VALIDATION_PERFORMED && !e->u.validation.valid;
        m.gaps |= e->kind == WR_GAP_RECORDED;
        m.artifacts |= e->kind == WR_NODE_OUTPUT_APPENDED && e->u.output.channel == WR_ARTIFACT;
        m.divergence |= e->kind == WR_DIVERGENCE_RECORDED;
        m.capability |=
            e->kind == WR_CAPABILITY_OBSERVED && e->u.capability.status == WR_UNAVAILABLE;
        m.preference |= e->kind == WR_PREFERENCES_CHANGED && e->u.preferences.source == 0;
    }
    return m;
}

static void badges_write(struct jw *w, const struct wr_node *n, const struct node_marks *m) {
    jw_key(w, "badges");
    jw_array(w);
    if (n->acked_edges > 1) jw_strz(w, "fork");
    if (m->divergence) jw_strz(w, "divergence");
    if (m->capability) jw_strz(w, "capability_warning");
    if (m->preference) jw_strz(w, "preference_change");
    jw_end_array(w);
}

/* The step that the node waits at, or was made at the end of. */
static void step_write(struct showing *x, const struct wr_node *n) {
    struct wr_operator *o = &x->op.op;
    struct wr_state st;
    struct wr_fault f;
    struct str bytes;
    if (o->port.snapshot(o->port.ctx, n->created->u.node.snapshot_ref, x->a, &bytes, &f) != 0 ||
        wr_snapshot_read(bytes, x->a, &st, &f) != 0)
        return;
    if (st.pending)
        jw_kstr(x->w, "stepLabel",
                wr_step_key(st.step.path.v, st.step.path.nr, st.step.step_id, x->a));
}

static void node_members(struct showing *x, size_t at, const struct run_facts *facts) {
    static const char *const KINDS[] = {"step", "checkpoint", "blocked_attempt"};
    const struct wr_node *n = &x->s->nodes[at];
    const struct node_marks m = node_marks(n);
    struct jw *w = x->w;
    jw_kstr(w, "nodeId", n->id);
    jw_kstrz(w, "nodeKind", KINDS[n->created->u.node.kind]);
    jw_key(w, "parentNodeId");
    if (n->parent == WR_NO_NODE) jw_null(w);
    else jw_str(w, x->s->nodes[n->parent].id);
    jw_kint(w, "createdAtEventIndex", n->created->index);
    jw_kbool(w, "isPreferredTip", facts->preferred.node == at);
    jw_kbool(w, "isTip", is_tip(facts, at));
    step_write(x, n);
    jw_kbool(w, "hasRecap", n->recap != NULL);
    jw_kbool(w, "hasFailedValidations", m.failed);
    jw_kbool(w, "hasGaps", m.gaps);
    jw_kbool(w, "hasArtifacts", m.artifacts);
    badges_write(w, n, &m);
}

static void edges_write(struct showing *x, const struct wr_run *r) {
    static const char *const CAUSES[] = {"idempotent_replay", "intentional_fork", "non_tip_advance",
                                         "checkpoint_created"};
    jw_key(x->w, "edges");
    jw_array(x->w);
    for (const struct wr_link *l = r->edges.first; l; l = l->next) {
        const struct wr_event *e = l->event;
        jw_object(x->w);
        jw_kstrz(x->w, "edgeKind", e->u.edge.kind == WR_EDGE_ACKED ? "acked_step" : "checkpoint");
        jw_kstr(x->w, "fromNodeId", e->u.edge.from_node_id);
        jw_kstr(x->w, "toNodeId", e->u.edge.to_node_id);
        jw_kstrz(x->w, "cause", CAUSES[e->u.edge.cause]);
        jw_end_object(x->w);
    }
    jw_end_array(x->w);
}

static void drift_write(struct showing *x, const struct wr_run *r) {
    const struct rail_workflow *now = rail_workflow_find(x->op.rail, r->started->u.run.workflow_id);
    struct str pinned = r->started->u.run.workflow_hash;
    if (now && str_eq(wr_digest_str(&now->compiled.hash), pinned)) return;
    jw_key(x->w, "pinnedDrift");
    jw_object(x->w);
    jw_kstr(x->w, "workflowId", r->started->u.run.workflow_id);
    jw_kstr(x->w, "pinnedHash", pinned);
    jw_key(x->w, "currentHash");
    if (now) jw_str(x->w, wr_digest_str(&now->compiled.hash));
    else jw_null(x->w);
    jw_end_object(x->w);
}

static int run_write(struct showing *x, size_t run) {
    const struct wr_run *r = &x->s->runs[run];
    struct run_facts facts;
    struct jw *w = x->w;
    int rc = run_measure(x, run, &facts);
    if (rc != 0) return rc;
    jw_object(w);
    jw_kstr(w, "runId", r->id);
    jw_kstr(w, "workflowId", r->started->u.run.workflow_id);
    jw_kstr(w, "workflowHash", r->started->u.run.workflow_hash);
    if (facts.preferred.node != WR_NO_NODE)
        jw_kstr(w, "preferredTipNodeId", x->s->nodes[facts.preferred.node].id);
    jw_kstrz(w, "status", wr_run_status_name(facts.status));
    jw_kbool(w, "hasUnresolvedCriticalGaps", facts.critical_open > 0);
    jw_key(w, "tipNodeIds");
    jw_array(w);
    for (size_t i = 0; i < facts.tips_nr; i++) jw_str(w, x->s->nodes[facts.tips[i].node].id);
    jw_end_array(w);
    jw_key(w, "nodes");
    jw_array(w);
    for (size_t i = 0; i < r->nodes_nr; i++) {
        jw_object(w);
        node_members(x, r->nodes[i], &facts);
        jw_end_object(w);
    }
    jw_end_array(w);
    edges_write(x, r);
    drift_write(x, r);
    jw_end_object(w);
    return 0;
}

static int shown_by_write(struct showing *x) {
    struct session_runs l;
    int rc = store_session_runs(x->op.rail->cfg.store, x->op.session.head.session_no, x->a, &l,
                                &x->f->e);
    if (rc != 0) return wr_fail_as(x->f, WR_SESSION_LOAD_FAILED, rc);
    jw_key(x->w, "shownBy");
    jw_array(x->w);
    for (size_t i = 0; i < l.n; i++) {
        jw_object(x->w);
        jw_kstr(x->w, "runId", l.v[i].run_id);
        jw_kstrz(x->w, "status", run_status_name(l.v[i].status));
        jw_end_object(x->w);
    }
    jw_end_array(x->w);
    return 0;
}

static int session_write(struct showing *x) {
    int rc = 0;
    jw_object(x->w);
    jw_kstr(x->w, "sessionId", x->op.session.head.session_id);
    health_write(x->w, &x->op.session);
    jw_key(x->w, "runs");
    jw_array(x->w);
    for (size_t i = 0; rc == 0 && i < x->s->runs_nr; i++) rc = run_write(x, i);
    jw_end_array(x->w);
    if (rc == 0) rc = shown_by_write(x);
    jw_end_object(x->w);
    return rc;
}

/* Open, write, close. */
static int with_session(struct rail *r, const struct rail_view *v, struct str session_id,
                        struct buf *out, struct wr_fault *f,
                        int (*write)(struct showing *x, struct str arg), struct str arg) {
    struct jw w;
    struct showing x = {.w = &w, .a = arena_new(SHOW_ARENA), .f = f};
    f->code = WR_FINE;
    jw_init(&w, out);
    if (!x.a) return wr_no_memory(f);
    int rc = show_load(&x, r, v, session_id);
    if (rc == 0) rc = write(&x, arg);
    rail_op_fini(&x.op);
    arena_free(x.a);
    return rc == 0 && buf_failed(out) ? wr_no_memory(f) : rc;
}

static int session_shown(struct showing *x, struct str arg) {
    (void)arg;
    return session_write(x);
}

int rail_show_session(struct rail *r, const struct rail_view *v, struct str session_id,
                      struct buf *out, struct wr_fault *f) {
    return with_session(r, v, session_id, out, f, session_shown, STR_NONE);
}

/* --- one node --- */

/* Events of one kind that are of the node, as a list of what they say. */
static void facts_write(struct showing *x, const struct wr_node *n, const char *key,
                        enum wr_kind kind) {
    size_t nr = 0;
    jw_key(x->w, key);
    jw_array(x->w);
    for (const struct wr_link *l = n->events.first; l && nr < SHOW_TRACES_MAX; l = l->next)
        if (l->event->kind == (int)kind) {
            jw_raw(x->w, json_get(l->event->bytes, "data"));
            nr++;
        }
    jw_end_array(x->w);
}

static int node_shown(struct showing *x, struct str node_id) {
    static const char *const AUTONOMY[] = {"guided", "full_auto_stop_on_user_deps",
                                           "full_auto_never_stop"};
    static const char *const RISK[] = {"conservative", "balanced", "aggressive"};
    size_t at = wr_session_node(x->s, node_id);
    struct run_facts facts;
    if (at == WR_NO_NODE)
        return wr_fail(x->f, WR_NOT_FOUND, "nodeId", "the session has no such node");
    const struct wr_node *n = &x->s->nodes[at];
    int rc = run_measure(x, n->run, &facts);
    if (rc != 0) return rc;
    const struct wr_preferences p = wr_node_preferences(x->s, at, INT64_MAX);
    jw_object(x->w);
    node_members(x, at, &facts);
    jw_kstr(x->w, "recapMarkdown", n->recap ? n->recap->u.output.notes : STR(""));
    facts_write(x, n, "outputs", WR_NODE_OUTPUT_APPENDED);
    facts_write(x, n, "advances", WR_ADVANCE_RECORDED);
    facts_write(x, n, "validations", WR_VALIDATION_PERFORMED);
    facts_write(x, n, "gaps", WR_GAP_RECORDED);
    facts_write(x, n, "capabilities", WR_CAPABILITY_OBSERVED);
    facts_write(x, n, "divergences", WR_DIVERGENCE_RECORDED);
    facts_write(x, n, "trace", WR_DECISION_TRACE_APPENDED);
    jw_key(x->w, "preferences");
    jw_object(x->w);
    jw_kstrz(x->w, "autonomy", AUTONOMY[p.autonomy]);
    jw_kstrz(x->w, "riskPolicy", RISK[p.risk]);
    jw_end_object(x->w);
    jw_kbool(x->w, "salvage", x->op.session.health != RAIL_HEALTHY);
    jw_end_object(x->w);
    return 0;
}

int rail_show_node(struct rail *r, const struct rail_view *v, struct str session_id,
                   struct str node_id, struct buf *out, struct wr_fault *f) {
    return with_session(r, v, session_id, out, f, node_shown, node_id);
}

/* --- workflows --- */
int rail_show_workflows(struct rail *r, struct buf *out, struct wr_fault *f) {
    const struct rail_owner nobody = {.test_mode = false};
    struct arena *a = arena_new(SHOW_ARENA);
    struct rail_op op;
    struct str json;
    if (!a) return wr_no_memory(f);
    int rc = rail_op_init(&op, r, &nobody, false, a, f);
    if (rc == 0) rc = rail_list(&op, &json);
    if (rc == 0) buf_adds(out, json);
    rail_op_fini(&op);
    arena_free(a);
    return rc == 0 && buf_failed(out) ? wr_no_memory(f) : rc;
}

/* Only what a session of the tenant was started with (WR-268). */
static int pinned_read(struct rail *r, const struct rail_view *v, struct str hash, struct arena *a,
                       struct str *bytes, struct wr_fault *f) {
    struct plan_session_blob b;
    bool seen = false;
    int rc = store_session_pinned(r->cfg.store, v->tenant, v->test_mode, hash, &seen, &f->e);
    if (rc == 0 && seen)
        rc = store_session_blob(r->cfg.store, SESSION_WORKFLOW, hash, a, &b, &f->e);
    if (rc == 0 && !seen) rc = WOPR_E_NOT_FOUND;
    if (rc == WOPR_E_NOT_FOUND)
        return wr_fail(f, WR_NOT_FOUND, "hash", "no session of yours was started with this hash");
    if (rc != 0) return wr_fail_as(f, WR_SESSION_LOAD_FAILED, rc);
    *bytes = b.bytes;
    return 0;
}

int rail_show_workflow(struct rail *r, const struct rail_view *v,
                       const struct rail_workflow_view *in, struct buf *out, struct wr_fault *f) {
    const struct rail_workflow *w = rail_workflow_find(r, in->id);
    struct arena *a = arena_new(SHOW_ARENA);
    struct str bytes = STR_NONE;
    int rc = a ? 0 : wr_no_memory(f);
    f->code = rc == 0 ? WR_FINE : f->code;
    if (rc == 0 && str_eqc(in->view, "pinned")) rc = pinned_read(r, v, in->hash, a, &bytes, f);
    else if (rc == 0 && !w) rc = wr_fail(f, WR_NOT_FOUND, "id", "no such workflow here");
    else if (rc == 0) bytes = str_eqc(in->view, "source") ? w->source : w->compiled.bytes;
    if (rc == 0) buf_adds(out, bytes);
    arena_free(a);
    return rc == 0 && buf_failed(out) ? wr_no_memory(f) : rc;
}

/* --- what is built in, and what was configured --- */
int rail_show_builtins(struct buf *out, struct wr_fault *f) {
    struct jw w;
    f->code = WR_FINE;
    jw_init(&w, out);
    wr_builtins_write(&w);
    return buf_failed(out) ? wr_no_memory(f) : 0;
}

static void config_write(const struct rail *r, struct jw *w) {
    jw_object(w);
    jw_kint(w, "retentionMs", r->cfg.retention_ms);
    jw_key(w, "tools");
    if (r->cfg.offered) rail_tools_write(r, w);
    else jw_raw(w, STR("[]"));
    jw_key(w, "workflows");
    jw_array(w);
    for (size_t i = 0; i < r->workflows_nr; i++) {
        jw_object(w);
        jw_kstr(w, "workflowId", r->workflows[i].compiled.id);
        jw_kstr(w, "workflowHash", wr_digest_str(&r->workflows[i].compiled.hash));
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}

static int config_bytes(const struct rail *r, struct arena *a, struct str *out,
                        struct wr_fault *f) {
    struct buf b;
    struct jw w;
    buf_init(&b, SHOW_ARENA);
    jw_init(&w, &b);
    config_write(r, &w);
    int rc = !a || buf_failed(&b) ? wr_no_memory(f)
                                  : wr_canonical(buf_str(&b), &JSON_LIMITS_STORED, a, out, f);
    buf_fini(&b);
    return rc;
}

int rail_config_hash(const struct rail *r, struct wr_digest *out, struct wr_fault *f) {
    struct arena *a = arena_new(SHOW_ARENA);
    struct str applied = STR_NONE;
    int rc = config_bytes(r, a, &applied, f);
    if (rc == 0) *out = wr_digest_of(applied);
    arena_free(a);
    return rc;
}

/* What a start now would apply.  *why: why it would not start, then *out is empty; of a. */
static int config_desired(const struct rail *r, struct arena *a, struct str *out, struct str *why,
                          struct wr_fault *f) {
    struct rail *fresh = NULL;
    struct wopr_error err = {0};
    if (!r->cfg.reread) return config_bytes(r, a, out, f);
    int rc = rail_new(&r->cfg, &fresh, &f->e);
    if (rc != 0) return wr_no_memory(f);
    rc = r->cfg.reread(r->cfg.reread_ctx, fresh, &err);
    if (rc == WOPR_E_NO_MEMORY) rc = wr_no_memory(f);
    else if (rc == 0) rc = config_bytes(fresh, a, out, f);
    else {
        *why = arena_str(a, str_c(err.message));
        rc = why->p ? 0 : wr_no_memory(f);
    }
    rail_free(fresh);
    return rc;
}

int rail_show_config(struct rail *r, struct buf *out, struct wr_fault *f) {
    struct arena *a = arena_new(SHOW_ARENA);
    struct str applied = STR_NONE, desired = STR_NONE, why = STR_NONE;
    struct jw w;
    f->code = WR_FINE;
    int rc = config_bytes(r, a, &applied, f);
    if (rc == 0) rc = config_desired(r, a, &desired, &why, f);
    if (rc == 0) {
        const struct wr_digest hash = wr_digest_of(applied);
        jw_init(&w, out);
        jw_object(&w);
        jw_kraw(&w, "applied", applied);
        jw_kstr(&w, "appliedConfigHash", wr_digest_str(&hash));
        jw_kraw_opt(&w, "desired", desired);
        jw_kstr_opt(&w, "desiredProblem", why);
        jw_kbool(&w, "restartRequired", why.n == 0 && !str_eq(applied, desired));
        jw_end_object(&w);
    }
    arena_free(a);
    return rc == 0 && buf_failed(out) ? wr_no_memory(f) : rc;
}

/*
 * append.c: an append to a session: checked against what is stored, with the events of its run, in
 * one transaction (WR-55 to WR-61, WR-256).
 */
#include "store/append.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "journal/journal.h"
#include "rail/rail_int.h"

enum { WORKFLOW_WORDS_MAX = 512, TITLE_CHARS_MAX = 120, SUMMARY_ARENA = 8 << 20 };

/* --- the session's part of a plan --- */
static int events_fill(struct plan_session *x, const struct wr_plan *p, struct arena *a) {
    x->events = ARENA_ARRAY(a, struct plan_session_event, p->events_nr);
    if (!x->events) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < p->events_nr; i++) {
        const struct wr_event *e = &p->events[i];
        x->events[i] = (struct plan_session_event){
            .event_id = arena_str(a, e->event_id),
            .kind = str_c(wr_kind_name((enum wr_kind)e->kind)),
            .run_id = e->run_id.n > 0 ? arena_str(a, e->run_id) : STR_NONE,
            .node_id = e->node_id.n > 0 ? arena_str(a, e->node_id) : STR_NONE,
            .dedupe_key = arena_str(a, e->dedupe_key),
            .bytes = arena_str(a, e->bytes)};
    }
    x->events_nr = p->events_nr;
    return 0;
}

static int records_fill(struct plan_session *x, const struct wr_plan *p, struct arena *a,
                        struct wr_fault *f) {
    struct wr_record *v;
    size_t nr;
    int rc = wr_plan_records(p, x->base_manifest, a, &v, &nr, f);
    if (rc != 0) return rc;
    x->records = ARENA_ARRAY(a, struct plan_session_record, nr);
    if (!x->records) return wr_no_memory(f);
    for (size_t i = 0; i < nr; i++) {
        bool segment = v[i].kind == WR_SEGMENT_CLOSED;
        x->records[i] = (struct plan_session_record){
            .kind = segment ? STR("segment_closed") : STR("snapshot_pinned"),
            .first = segment ? v[i].first_index : -1,
            .last = segment ? v[i].last_index : -1,
            .event_index = segment ? -1 : v[i].pin.event_index,
            .snapshot_ref = segment ? STR_NONE : arena_str(a, v[i].pin.snapshot_ref),
            .bytes = v[i].bytes};
    }
    x->records_nr = nr;
    return 0;
}

static int blobs_fill(struct plan_session *x, const struct wr_plan *p, struct arena *a) {
    static const enum session_blob KINDS[] = {[WR_BLOB_SNAPSHOT] = SESSION_SNAPSHOT,
                                              [WR_BLOB_WORKFLOW] = SESSION_WORKFLOW,
                                              [WR_BLOB_ARTIFACT] = SESSION_ARTIFACT};
    x->blobs = ARENA_ARRAY(a, struct plan_session_blob, p->blobs_nr + 1);
    if (!x->blobs) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < p->blobs_nr; i++)
        x->blobs[i] = (struct plan_session_blob){
            .kind = KINDS[p->blobs[i].kind],
            .digest = arena_str(a, p->blobs[i].digest),
            .content_type =
                p->blobs[i].kind == WR_BLOB_ARTIFACT ? STR("application/json") : STR_NONE,
            .bytes = arena_str(a, p->blobs[i].bytes)};
    x->blobs_nr = p->blobs_nr;
    return 0;
}

static int session_part(struct rail_op *o, const struct rail_append *in, int64_t now_ms,
                        struct plan *p) {
    const struct session_head *h = &o->session.head;
    struct plan_session *x = ARENA_NEW(p->arena, struct plan_session);
    if (!x) return wr_no_memory(o->f);
    *x = (struct plan_session){.session_id = arena_str(p->arena, in->plan->session_id),
                               .tenant = arena_str(p->arena, o->owner.tenant),
                               .test_mode = o->owner.test_mode,
                               .create = in->create,
                               .base_event = in->create ? 0 : h->next_event,
                               .base_manifest = in->create ? 0 : h->next_manifest,
                               .at_ms = now_ms};
    p->session = x;
    int rc = records_fill(x, in->plan, p->arena, o->f);
    if (rc != 0) return rc;
    if (events_fill(x, in->plan, p->arena) != 0 || blobs_fill(x, in->plan, p->arena) != 0 ||
        arena_failed(p->arena))
        return wr_no_memory(o->f);
    return 0;
}

/* --- what searches and lists look at --- */

/* Whole words only: "\na\nb\n". */
static struct str words_cut(struct str words, size_t max) {
    if (words.n <= max) return words;
    size_t n = max;
    while (n > 1 && words.p[n - 1] != '\n') n--;
    return str_n(words.p, n);
}

static struct str line_of(struct str text, struct arena *a) {
    size_t n = 0, chars = 0;
    while (n < text.n && text.p[n] != '\n') {
        if (((unsigned char)text.p[n] & 0xc0) != 0x80 && chars++ == TITLE_CHARS_MAX) break;
        n++;
    }
    return arena_str(a, str_n(text.p, n));
}

/* The recap of the first step that has one. */
static struct str first_recap(const struct wr_session *s, size_t run) {
    for (size_t i = 0; i < s->runs[run].nodes_nr; i++) {
        const struct wr_event *e = s->nodes[s->runs[run].nodes[i]].recap;
        if (e) return e->u.output.notes;
    }
    return STR_NONE;
}

/* WR-250. */
static struct str title_of(struct rail_op *o, size_t run, size_t tip, struct arena *a) {
    static const char *const KEYS[] = {"goal",    "taskDescription", "mrTitle",
                                       "prTitle", "ticketTitle",     "problem"};
    const struct wr_session *s = o->session.truth;
    struct str context = wr_node_context(s, tip);
    struct wr_fault f;
    const struct wr_workflow *w;
    for (size_t i = 0; context.n > 0 && i < sizeof KEYS / sizeof *KEYS; i++) {
        struct str v = json_string(json_get(context, KEYS[i]), a);
        if (v.n > 0) return line_of(v, a);
    }
    struct str recap = first_recap(s, run);
    if (recap.n > 0) return line_of(recap, a);
    if (o->op.port.workflow(o, s->runs[run].started->u.run.workflow_hash, &w, &f) == 0 &&
        w->name.n > 0)
        return line_of(w->name, a);
    return arena_str(a, s->runs[run].started->u.run.workflow_id);
}

static int summary_make(struct rail_op *o, size_t run, struct arena *a,
                        struct plan_session_resume *out) {
    const struct wr_session *s = o->session.truth;
    struct wr_summary m;
    int rc = wr_summary_make(&o->op, s, run, &m, o->f);
    if (rc != 0) return rc;
    uint8_t *filter = arena_alloc(a, RAIL_FILTER_BYTES);
    size_t tip = wr_session_node(s, m.tip_node_id);
    if (!filter) return wr_no_memory(o->f);
    rail_filter_make(m.note_tokens, filter);
    *out = (struct plan_session_resume){
        .wr_run_id = arena_str(a, m.run_id),
        .node_id = arena_str(a, m.tip_node_id),
        .workflow_hash = arena_str(a, s->runs[run].started->u.run.workflow_hash),
        .head_sha = m.head_sha.n > 0 ? arena_str(a, m.head_sha) : STR_NONE,
        .branch = m.branch.n > 0 ? arena_str(a, m.branch) : STR_NONE,
        .workflow_text = arena_str(a, words_cut(m.workflow_tokens, WORKFLOW_WORDS_MAX)),
        .filter = str_n((const char *)filter, RAIL_FILTER_BYTES),
        .words = arena_str(a, m.note_tokens),
        .snippet = arena_str(a, m.snippet),
        .title = title_of(o, run, tip, a),
        .status = str_c(wr_run_status_name((enum wr_run_status)m.status))};
    return arena_failed(a) ? wr_no_memory(o->f) : 0;
}

int rail_summaries(struct rail_op *o, struct arena *a, struct plan_session *x) {
    const struct wr_session *s = o->session.truth;
    x->resumes = ARENA_ARRAY(a, struct plan_session_resume, s->runs_nr + 1);
    if (!x->resumes) return wr_no_memory(o->f);
    for (size_t i = 0; i < s->runs_nr; i++) {
        int rc = summary_make(o, i, a, &x->resumes[x->resumes_nr]);
        if (rc == 0) x->resumes_nr++;
        else if (rc != WOPR_E_NOT_FOUND) return rc; /* a run without nodes is no candidate */
    }
    return 0;
}

/* --- commit --- */
struct landing {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    bool done;
    int rc;
};

static void append_landed(void *ctx, struct plan *p, int rc) {
    struct landing *l = ctx;
    (void)p; /* the caller has a reference of its own */
    pthread_mutex_lock(&l->lock);
    l->done = true;
    l->rc = rc;
    pthread_cond_signal(&l->ready);
    pthread_mutex_unlock(&l->lock);
}

static int commit_queued(struct rail *r, struct plan *p, struct wr_fault *f) {
    struct landing l = {.rc = 0};
    if (clock_cond_init(&l.ready) != 0) return wr_no_memory(f);
    pthread_mutex_init(&l.lock, NULL);
    int rc = journal_append(r->cfg.journal, plan_ref(p), append_landed, &l);
    if (rc != 0) {
        plan_unref(p);
        (void)wopr_error_set(&f->e, rc, "%s", wopr_err_text(rc));
    } else {
        pthread_mutex_lock(&l.lock);
        while (!l.done) pthread_cond_wait(&l.ready, &l.lock);
        pthread_mutex_unlock(&l.lock);
        rc = l.rc;
        plan_unref(p);
        if (rc != 0) (void)wopr_error_set(&f->e, rc, "%s", wopr_err_text(rc));
    }
    pthread_cond_destroy(&l.ready);
    pthread_mutex_destroy(&l.lock);
    return rc;
}

int rail_commit(struct rail *r, struct plan *p, struct wr_fault *f) {
    int rc;
    if (r->cfg.journal) return commit_queued(r, p, f);
    int all = store_apply(r->cfg.store, &p, 1, &rc, &f->e);
    if (all != 0) return all;
    if (rc != 0) (void)wopr_error_set(&f->e, rc, "%s", wopr_err_text(rc));
    return rc;
}

static int append_refused(struct wr_fault *f, int rc) {
    switch (rc) {
    case WOPR_E_STALE: /* another process */
    case WOPR_E_FENCED:
    case WOPR_E_EXISTS:
    case WOPR_E_BUSY:
        return wr_fail(f, WR_SESSION_LOCKED, "",
                       "another process changes this session; repeat the same call in a second");
    case WOPR_E_CORRUPT:
        return wr_fail(f, WR_SESSION_STORE_CORRUPTION_DETECTED, "",
                       "the stored session is damaged, nothing was written; have the operator run "
                       "wopr sessions verify");
    case WOPR_E_RUN_TERMINAL:
        return wr_fail(f, WR_PRECONDITION_FAILED, "", "the run of this session was cancelled");
    case WOPR_E_QUOTA:
        return wr_fail(f, WR_PRECONDITION_FAILED, "",
                       "the tenant's room for logs is used up; ask the operator for more");
    case WOPR_E_INTERNAL:
    case WOPR_E_NOT_FOUND:
        return wr_fail_as(f, WR_INTERNAL_ERROR, rc);
    default:
        return wr_fail_as(f, WR_SESSION_STORE_IO_ERROR, rc);
    }
}

/* --- checks before anything is made (WR-22, WR-56) --- */
static int append_bounds(const struct rail_op *o, const struct wr_plan *p) {
    const struct session_head *h = &o->session.head;
    int64_t bytes = h->bytes;
    for (size_t i = 0; i < p->events_nr; i++) bytes += (int64_t)p->events[i].bytes.n;
    if (bytes <= RAIL_SESSION_BYTES_MAX &&
        h->next_event + (int64_t)p->events_nr <= RAIL_SESSION_EVENTS_MAX)
        return 0;
    return wr_fail(o->f, WR_PRECONDITION_FAILED, "",
                   "the session is full; end it here, and start a new one for what is left");
}

/* Folds the plan into the truth.  What is held from call to call folds what is stored, in memory of
 * its own: the plan's lies in the arena of this call. */
static int truth_add(struct rail_op *o, const struct wr_plan *p) {
    struct wr_session *truth = o->session.truth;
    if (!o->held) return wr_session_add_plan(truth, p, o->f);
    struct arena *a = o->held->arena;
    struct wr_event *v = ARENA_ARRAY(a, struct wr_event, p->events_nr);
    int rc = v ? 0 : wr_no_memory(o->f);
    o->held->ahead = true;
    for (size_t i = 0; rc == 0 && i < p->events_nr; i++) {
        struct str bytes = arena_str(a, p->events[i].bytes);
        rc = bytes.p ? wr_event_read(bytes, a, &v[i], o->f) : wr_no_memory(o->f);
        if (rc == 0) rc = wr_session_add(truth, &v[i], o->f);
    }
    return rc;
}

/* The plan is stored: the session goes on where it ends.  Numbers that only the store knows come
 * with the next look. */
static void truth_stored(struct rail_op *o, const struct plan_session *x) {
    struct rail_session *s = &o->session;
    if (!o->held) return;
    s->head.next_event += (int64_t)x->events_nr;
    s->head.next_manifest += (int64_t)x->records_nr;
    s->events_nr += x->events_nr;
    s->records_nr += x->records_nr;
    o->held->ahead = false;
}

/* 1: all of it is there already. */
static int append_checked(struct rail_op *o, const struct rail_append *in) {
    if (o->session.orphans_nr > 0)
        return wr_fail(o->f, WR_SESSION_STORE_CORRUPTION_DETECTED, "",
                       "the session has events that no record attests, nothing was written; have "
                       "the operator run wopr sessions verify");
    switch (wr_plan_dedupe(in->plan, wr_session_present(o->session.truth, in->plan))) {
    case WR_DEDUPE_REPLAY:
        return 1;
    case WR_DEDUPE_BROKEN:
        return wr_fail(o->f, WR_SESSION_STORE_INVARIANT_VIOLATION, "",
                       "a part of this append is stored already, the rest is not");
    case WR_DEDUPE_NEW:
        break;
    }
    int rc = append_bounds(o, in->plan);
    if (rc == 0) rc = wr_plan_check(in->plan, in->create ? 0 : o->session.head.next_event, o->f);
    return rc == 0 ? truth_add(o, in->plan) : rc;
}

static int append_make(struct rail_op *o, const struct rail_append *in, struct plan *p) {
    const struct rail_derive d = {
        .store = o->rail->cfg.store,
        .rules = o->rail->cfg.rules,
        .op = &o->op,
        .truth = o->session.truth,
        .append = in->plan,
        .workflow = in->workflow,
        .owner = o->owner,
        .session_no = in->create ? 0 : o->session.head.session_no,
        .salt = o->session.head.imported_from.n > 0 ? o->session.head.session_id : STR_NONE,
        .resolved_by = in->resolved_by,
        .tenant_bytes_max = o->rail->cfg.tenant_bytes_max,
        .now_ms = clock_wall_ms(),
        .runs = o->held ? &o->held->runs : NULL};
    int rc = session_part(o, in, d.now_ms, p);
    if (rc == 0) rc = rail_derive(&d, p, o->f);
    return rc == 0 ? rail_summaries(o, p->arena, p->session) : rc;
}

int rail_append(struct rail_op *o, const struct rail_gate *g, const struct rail_append *in) {
    int rc = rail_gate_check(g, in->plan->session_id, o->f);
    if (rc != 0) return rc;
    rc = append_checked(o, in);
    if (rc != 0) return rc > 0 ? 0 : rc;
    struct plan *p = plan_new();
    if (!p) return wr_no_memory(o->f);
    o->pending = in->plan;
    rc = append_make(o, in, p);
    o->pending = NULL;
    if (rc == 0) {
        if (in->attach) in->attach(in->ctx, p);
        rc = rail_commit(o->rail, p, o->f);
        if (rc == 0) truth_stored(o, p->session);
        if (rc != 0) rc = append_refused(o->f, rc);
        else if (in->committed) in->committed(in->ctx, p);
    }
    plan_unref(p);
    return rc;
}

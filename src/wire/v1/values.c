/*
 * values.c: a run folded from its log: snapshots of stream mode values (SSE-17, SSE-27).  The fold
 * is the same as the engine's; this file only asks what the store would show for that state.
 */
#include "base/mem.h"
#include "domain/interrupt.h"
#include "store/events.h"
#include "store/workflows.h"
#include "wire/v1/wire_int.h"

struct v1_fold {
    struct v1 *v;
    struct arena *arena;   /* origin */
    struct arena *scratch; /* one page or one view at a time */
    struct run_origin origin;
    struct workflow *wf;
    struct run_state *state;
    int64_t quiet_until; /* resumed here: nothing is shown of what came before */
    bool owes_baseline;  /* SSE-27: its snapshot is still to come */
};

/* The cached one when its hash is still the same. */
int v1_workflow_of(struct v1 *v, const struct run_origin *o, struct arena *scratch,
                   struct workflow **out, struct wopr_error *err) {
    const struct run_meta *m = &o->meta;
    struct workflow *wf = NULL;
    struct str text;
    if (engine_workflow(v->engine, m->tenant, m->test_mode, m->workflow_id, &wf, NULL) == 0) {
        if (sha256_eq(&wf->hash, &o->workflow_hash)) {
            *out = wf;
            return 0;
        }
        workflow_unref(wf);
    }
    const struct wf_env env = {0}; /* it was checked when it was stored */
    int rc = store_workflow_by_hash(v->store, &o->workflow_hash, scratch, &text, err);
    if (rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_CORRUPT, "the workflow of a run is missing");
    if (rc != 0) return rc;
    return workflow_compile(text, &env, out, err);
}

int v1_fold_new(struct v1 *v, int64_t run_no, struct v1_fold **out, struct wopr_error *err) {
    struct v1_fold *f = MEM_NEW(struct v1_fold);
    int rc = WOPR_E_NO_MEMORY;
    if (!f) return wopr_error_set(err, rc, "no memory to fold a run");
    *f = (struct v1_fold){.v = v,
                          .quiet_until = -1,
                          .arena = arena_new(V1_ARENA_MAX),
                          .scratch = arena_new(V1_ARENA_MAX)};
    if (!f->arena || !f->scratch) {
        wopr_error_set(err, rc, "no memory to fold a run");
        goto fail;
    }
    rc = store_run_origin(v->store, run_no, f->arena, &f->origin, err);
    if (rc != 0) goto fail;
    rc = v1_workflow_of(v, &f->origin, f->scratch, &f->wf, err);
    if (rc != 0) goto fail;
    rc = run_state_new(f->wf, &f->origin.meta, &v->cfg.limits, &f->state, err);
    if (rc != 0) goto fail;
    *out = f;
    return 0;
fail:
    v1_fold_free(f);
    return rc;
}

void v1_fold_free(struct v1_fold *f) {
    if (!f) return;
    run_state_free(f->state);
    workflow_unref(f->wf);
    arena_free(f->scratch);
    arena_free(f->arena);
    mem_free(f);
}

size_t v1_fold_bytes(const struct v1_fold *f) {
    return arena_used(f->arena) + arena_used(f->scratch) + arena_used(f->state->arena) +
           f->state->bytes;
}

/* A page of the log; *done when it is folded up to seq, or to its end. */
static int fold_page(struct v1_fold *f, int64_t seq, bool *done, struct wopr_error *err) {
    struct event_list page = {0};
    arena_reset(f->scratch);
    int rc = store_events(f->v->store, f->origin.head.run_no, f->state->next_seq, V1_PAGE_EVENTS,
                          V1_PAGE_BYTES, f->scratch, &page, err);
    *done = page.n == 0;
    for (size_t i = 0; rc == 0 && i < page.n && !*done; i++) {
        *done = page.v[i].seq > seq;
        if (!*done) rc = run_state_apply(f->state, &page.v[i], err);
    }
    return rc;
}

int v1_fold_to(struct v1_fold *f, int64_t seq, struct wopr_error *err) {
    int rc = 0;
    for (bool done = false; rc == 0 && !done && f->state->next_seq <= seq;)
        rc = fold_page(f, seq, &done, err);
    arena_reset(f->scratch);
    return rc;
}

int64_t v1_fold_seq(const struct v1_fold *f) { return f->state->next_seq - 1; }

bool v1_fold_ended(const struct v1_fold *f) { return run_status_final(f->state->status); }

void v1_fold_resume(struct v1_fold *f, int64_t seq) {
    f->quiet_until = seq;
    f->owes_baseline = true;
}

static struct str take(struct arena *a, struct buf *b) {
    struct str s = buf_failed(b) ? STR_NONE : arena_str(a, buf_str(b));
    buf_reset(b);
    return s;
}

/* Nodes that have a row: everything that ever left its first pending. */
static int view_nodes(const struct run_state *s, struct arena *a, struct buf *b,
                      struct run_view *out) {
    out->nodes = ARENA_ARRAY(a, struct run_view_item, s->wf->nodes_nr + 1);
    if (!out->nodes) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->wf->nodes_nr; i++) {
        const struct node_state *n = &s->nodes[i];
        if (n->status == NODE_PENDING && n->activation == 0 && n->terminal_n == 0 &&
            n->retry_at_ms == 0)
            continue;
        node_state_render(n, b);
        struct str value = take(a, b);
        if (!value.p) return WOPR_E_NO_MEMORY;
        out->nodes[out->nodes_nr++] = (struct run_view_item){s->wf->nodes[i].id, value};
    }
    return 0;
}

static int view_vars(const struct run_state *s, struct arena *a, struct run_view *out,
                     struct wopr_error *err) {
    struct str mode = s->wf->masking_mode.n ? s->wf->masking_mode : STR("mask"); /* OBS-71 */
    out->vars = ARENA_ARRAY(a, struct run_view_item, s->vars_nr + 1);
    if (!out->vars) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->vars_nr; i++) {
        struct str value = text_str(&s->vars[i].value);
        if (s->vars[i].sensitive) {
            int rc = mask_value(mode, value, a, &value, err);
            if (rc != 0) return rc;
        }
        if (value.n)
            out->vars[out->vars_nr++] = (struct run_view_item){text_str(&s->vars[i].name), value};
    }
    return 0;
}

static int view_chans(const struct run_state *s, int64_t now_ms, struct arena *a, struct buf *b,
                      struct run_view *out) {
    out->chans = ARENA_ARRAY(a, struct run_view_chan, s->chans_nr + 1);
    if (!out->chans) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->chans_nr; i++) {
        const struct chan_state *c = &s->chans[i];
        if (c->n == 0 && c->decl == NULL) continue;
        /* entries of undeclared channels go when they are written (CHAN-27) */
        int rc = chan_value(c, c->decl ? now_ms : 0, b);
        if (rc != 0) return rc;
        struct str value = take(a, b);
        if (!value.p) return WOPR_E_NO_MEMORY;
        if (value.n == 0) continue; /* replace without a default: nothing to show yet */
        out->chans[out->chans_nr++] =
            (struct run_view_chan){.name = text_str(&c->name), .declared = c->decl, .value = value};
    }
    return 0;
}

/* As interrupt_view.c shows the stored row. */
static int view_interrupt(const struct run_state *s, struct arena *a, struct run_view *out,
                          struct wopr_error *err) {
    const struct intr_state *i =
        s->current_node >= 0 ? run_state_intr_open(s, s->current_node) : NULL;
    if (!i) return 0;
    struct v1_interrupt_view shown = {.interrupt_id = text_str(&i->id),
                                      .node_id = s->wf->nodes[i->node].id,
                                      .kind = str_c(intr_kind_name((enum intr_kind)i->kind)),
                                      .key = text_str(&i->key),
                                      .requested_ms = i->requested_ms,
                                      .expires_ms =
                                          i->timeout_ms > 0 ? i->requested_ms + i->timeout_ms : 0};
    return v1_interrupt_render(&shown, a, &out->interrupt, err);
}

int v1_view_of_state(const struct run_state *s, const struct run_origin *o, int64_t now_ms,
                     struct arena *a, struct run_view *out, struct wopr_error *err) {
    struct run_view v = {
        .head = o->head, .workflow_id = s->meta.workflow_id, .parent_run_id = o->parent_run_id};
    struct buf b;
    v.head.status = s->status;
    v.head.next_seq = s->next_seq;
    v.parent_node_id = o->parent_node_id;
    v.fork = o->fork;
    v.child_depth = o->child_depth;
    if (s->current_node >= 0) v.current_node = s->wf->nodes[s->current_node].id;
    v.error = text_str(&s->error);
    v.outputs = text_str(&s->outputs);
    v.agent = text_str(&s->agent);
    v.configurable = s->meta.configurable;
    v.tags = s->meta.tags;
    v.metadata = s->meta.metadata;
    v.created_ms = s->meta.created_ms;
    v.started_ms = s->started_ms;
    v.completed_ms = s->completed_ms;
    buf_init(&b, V1_SNAPSHOT_MAX);
    int rc = view_nodes(s, a, &b, &v);
    if (rc == 0) rc = view_vars(s, a, &v, err);
    if (rc == 0) rc = view_chans(s, now_ms, a, &b, &v);
    if (rc == 0) rc = view_interrupt(s, a, &v, err);
    buf_fini(&b);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory for the view of a run");
    if (rc == 0) *out = v;
    return rc;
}

static int fold_snapshot(struct v1_fold *f, int64_t at_seq, int64_t now_ms, struct buf *out,
                         struct wopr_error *err) {
    struct run_view view;
    arena_reset(f->scratch);
    int rc = v1_view_of_state(f->state, &f->origin, now_ms, f->scratch, &view, err);
    if (rc == 0) rc = v1_snapshot_render(&view, at_seq, now_ms, out, err);
    arena_reset(f->scratch); /* a stream may wait for hours before the next one */
    return rc;
}

/* The snapshot of what is folded; never half a frame. */
static int fold_frame(struct v1_fold *f, struct buf *out) {
    struct wopr_error err;
    size_t start = out->len;
    int64_t seq = f->state->next_seq - 1;
    buf_addz(out, "id: ");
    buf_add_i64(out, seq);
    buf_addz(out, "\nevent: state.snapshot\ndata: ");
    /* CHAN-17: the time of a fold is that of its last event */
    int rc = fold_snapshot(f, seq, f->state->last_ts_ms, out, &err);
    if (rc == 0) buf_addz(out, "\n\n");
    if (rc != 0 && !buf_failed(out)) {
        out->len = start;
        if (out->p) out->p[start] = '\0';
    }
    return rc;
}

static int baseline(struct v1_fold *f, struct buf *out) {
    bool due = f->owes_baseline && f->state->next_seq > 0;
    if (due) f->owes_baseline = false;
    return due ? fold_frame(f, out) : 0;
}

int v1_fold_event(void *state, const struct event *e, struct buf *out) {
    struct v1_fold *f = state;
    struct wopr_error err;
    if (!e) return baseline(f, out); /* the cursor is at the end of the log, or beyond it */
    int rc = e->seq > f->quiet_until ? baseline(f, out) : 0; /* it was folded before */
    if (rc == 0) rc = run_state_apply(f->state, e, &err);
    if (rc != 0) return rc;
    if (e->seq <= f->quiet_until) {
        bool covered = e->seq == f->quiet_until || event_is_terminal(e->kind);
        return covered ? baseline(f, out) : 0;
    }
    return event_modes(e->kind) & EV_MODE_V ? fold_frame(f, out) : 0;
}

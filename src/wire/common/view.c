/*
 * view.c: the view of a run, from its folded state or from its stored rows.
 */
#include "wire/common/view.h"

static struct str text_take(struct arena *a, struct buf *b) {
    struct str s = buf_failed(b) ? STR_NONE : arena_str(a, buf_str(b));
    buf_reset(b);
    return s;
}

/* The nodes with a stored row: all that ever left their first pending state. */
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
        struct str value = text_take(a, b);
        if (!value.p) return WOPR_E_NO_MEMORY;
        out->nodes[out->nodes_nr++] = (struct run_view_item){s->wf->nodes[i].id, value};
    }
    return 0;
}

static int view_vars(const struct run_state *s, struct arena *a, struct run_view *out) {
    out->vars = ARENA_ARRAY(a, struct run_view_item, s->variables.n + 1);
    if (!out->vars) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->variables.n; i++) {
        struct str value = var_shown(&s->variables.v[i]); /* OBS-71 */
        if (value.n)
            out->vars[out->vars_nr++] =
                (struct run_view_item){text_str(&s->variables.v[i].name), value};
    }
    return 0;
}

static int view_chans(const struct run_state *s, int64_t now_ms, struct arena *a, struct buf *b,
                      struct run_view *out) {
    out->chans = ARENA_ARRAY(a, struct run_view_chan, s->channels.n + 1);
    if (!out->chans) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < s->channels.n; i++) {
        const struct chan_state *c = &s->channels.v[i];
        if (c->n == 0 && c->decl == NULL) continue;
        /* an undeclared channel drops entries on writes only (CHAN-27) */
        int rc = chan_shown(c, s->wf->masking_mode, c->decl ? now_ms : 0, b);
        if (rc != 0) return rc;
        struct str value = text_take(a, b);
        if (!value.p) return WOPR_E_NO_MEMORY;
        if (value.n == 0) continue; /* replace without a default: nothing to show yet */
        out->chans[out->chans_nr++] =
            (struct run_view_chan){.name = text_str(&c->name), .declared = c->decl, .value = value};
    }
    return 0;
}

int wire_view_of_state(const struct run_state *s, const struct run_origin *o, int64_t now_ms,
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
    v.orchestrator = text_str(&s->orch.agent);
    v.configurable = s->meta.configurable;
    v.tags = s->meta.tags;
    v.metadata = s->meta.metadata;
    v.created_ms = s->meta.created_ms;
    v.started_ms = s->clock.started_ms;
    v.completed_ms = s->clock.completed_ms;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    int rc = view_nodes(s, a, &b, &v);
    if (rc == 0) rc = view_vars(s, a, &v);
    if (rc == 0) rc = view_chans(s, now_ms, a, &b, &v);
    buf_fini(&b);
    if (rc == WOPR_E_NO_MEMORY) return wopr_error_set(err, rc, "no memory for the view of a run");
    if (rc == 0) *out = v;
    return rc;
}

int wire_view_expire(struct run_view *view, int64_t now_ms, struct arena *a,
                     struct wopr_error *err) {
    struct buf b;
    int rc = 0;
    if (run_status_final(view->head.status)) now_ms = view->completed_ms;
    buf_init(&b, WIRE_SNAPSHOT_MAX);
    for (size_t i = 0; i < view->chans_nr; i++) {
        struct run_view_chan *c = &view->chans[i];
        size_t from = 0; /* entries are sorted by time */
        while (from < c->entries_nr && c->entries[from].ts_ms < now_ms - c->ttl_ms) from++;
        if (from == 0) continue;
        buf_reset(&b);
        buf_addc(&b, '[');
        for (size_t k = from; k < c->entries_nr; k++) {
            if (k > from) buf_addc(&b, ',');
            buf_adds(&b, c->entries[k].value);
        }
        buf_addc(&b, ']');
        c->value = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
        if (!c->value.p) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the snapshot");
    }
    buf_fini(&b);
    return rc;
}

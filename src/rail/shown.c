/*
 * shown.c: see shown.h.
 */
#include "rail/shown.h"

#include "base/map.h"
#include "base/mem.h"
#include "codec/jobj.h"

#include <stdio.h>

enum {
    SHOWN_PAGE_EVENTS = 512,
    SHOWN_PAGE_BYTES = 1 << 20,
    SHOWN_ARENA_MAX = 64 << 20,
    SPARE_MIN = 16,
    SPARE_NODES_MAX = 8000 /* of a definition with spare nodes: all of it fits WF_TEXT_MAX */
};

static void node_write(struct jw *w, struct str id) {
    jw_object(w);
    jw_kstr(w, "id", id);
    jw_kstrz(w, "typeId", RAIL_STEP_TYPE);
    jw_kstrz(w, "name", "step");
    jw_kraw(w, "config", STR("{}"));
    jw_end_object(w);
}

/* No node of a session is called so: their ids begin otherwise (WR-2). */
static void spare_write(struct jw *w, size_t i) {
    char id[32];
    (void)snprintf(id, sizeof id, "spare-%zu", i);
    node_write(w, str_c(id));
}

static int definition_make(struct str workflow_id, const struct str *nodes, size_t nr, size_t spare,
                           struct workflow **out, struct wopr_error *err) {
    const struct wf_env env = {.accepted = true};
    struct jobj o;
    size_t n = 0;
    jobj_begin(&o, WF_TEXT_MAX);
    jw_kstr(&o.w, "id", workflow_id);
    jw_kstrz(&o.w, "name", "session");
    jw_kstrz(&o.w, "version", "1");
    jw_key(&o.w, "nodes");
    jw_array(&o.w);
    for (size_t i = 0; i < nr; i++) node_write(&o.w, nodes[i]);
    for (size_t i = 0; i < spare; i++) spare_write(&o.w, i);
    /* A definition has a node at least; a session that is complete at once has no step (WR-120). */
    if (nr + spare == 0) node_write(&o.w, STR("none"));
    jw_end_array(&o.w);
    jw_kraw(&o.w, "edges", STR("[]"));
    char *text = jobj_take(&o, &n);
    if (!text) return wopr_error_set(err, WOPR_E_TOO_BIG, "the session has too many nodes");
    int rc = workflow_compile(str_n(text, n), &env, out, err);
    mem_free(text);
    return rc;
}

int rail_shown_workflow(struct str workflow_id, const struct str *nodes, size_t nr,
                        struct workflow **out, struct wopr_error *err) {
    return definition_make(workflow_id, nodes, nr, 0, out, err);
}

/* As many again, so that a long session is folded anew only when it has doubled. */
static size_t spare_nr(const struct rail_shown_at *at, size_t nr) {
    size_t want = nr > SPARE_MIN ? nr : SPARE_MIN;
    if (!at->spare || nr >= SPARE_NODES_MAX) return 0;
    return nr + want <= SPARE_NODES_MAX ? want : SPARE_NODES_MAX - nr;
}

/* --- the nodes that a log names --- */
struct names {
    struct map *seen;
    struct arena *a;
    struct str *v;
    size_t n, cap;
    int64_t until; /* after the last event that was looked at */
};

static int name_add(struct names *l, struct str id) {
    if (id.n == 0 || map_get(l->seen, id)) return 0;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct str *v = ARENA_ARRAY(l->a, struct str, cap);
        if (!v) return WOPR_E_NO_MEMORY;
        if (l->n > 0) memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
        l->cap = cap;
    }
    struct str copy = arena_str(l->a, id);
    if (!copy.p) return WOPR_E_NO_MEMORY;
    l->v[l->n++] = copy;
    return map_put(l->seen, id, l, NULL);
}

static int name_take(void *ctx, const struct event *e, struct wopr_error *err) {
    struct names *l = ctx;
    l->until = e->seq + 1;
    if (e->kind != EV_NODE_STARTED) return 0;
    if (name_add(l, e->node_id) == 0) return 0;
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the nodes of a session");
}

static int state_take(void *ctx, const struct event *e, struct wopr_error *err) {
    return run_state_apply(ctx, e, err);
}

static int log_walk(struct store *s, const struct rail_shown_at *at, int64_t from, event_take *take,
                    void *ctx, struct wopr_error *err) {
    const struct log_range range = {.run_no = at->run_no,
                                    .from = from,
                                    .until = at->until,
                                    .page_events = SHOWN_PAGE_EVENTS,
                                    .page_bytes = SHOWN_PAGE_BYTES};
    struct arena *page = arena_new(SHOWN_ARENA_MAX);
    if (!page) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a log");
    int rc = at->run_no > 0 ? store_walk(s, &range, page, take, ctx, err) : 0;
    arena_free(page);
    return rc;
}

static int names_read(struct store *s, const struct rail_shown_at *at, struct names *l,
                      struct wopr_error *err) {
    int rc = log_walk(s, at, 0, name_take, l, err);
    for (size_t i = 0; rc == 0 && i < at->more_nr; i++)
        if (name_add(l, at->more[i]) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the nodes of a session");
    if (rc == 0 && l->n > WF_NODES_MAX)
        rc = wopr_error_set(err, WOPR_E_TOO_BIG, "the session has more than %d nodes",
                            (int)WF_NODES_MAX);
    return rc;
}

int rail_shown_load(struct store *s, const struct rail_shown_at *at, struct arena *a,
                    struct rail_shown *out, struct wopr_error *err) {
    struct names l = {.seen = map_new(), .a = a};
    struct rail_shown x = {.wf = NULL};
    int rc = l.seen ? names_read(s, at, &l, err)
                    : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to show a session");
    if (rc == 0 && at->run_no > 0) rc = store_run_origin(s, at->run_no, a, &x.origin, err);
    const struct run_meta *meta = at->meta ? at->meta : &x.origin.meta;
    if (rc == 0) rc = definition_make(meta->workflow_id, l.v, l.n, spare_nr(at, l.n), &x.wf, err);
    if (rc == 0) rc = run_state_new(x.wf, meta, &RUN_LIMITS_DEFAULT, &x.state, err);
    /* Another process may append between the two walks: what it makes has no name here yet. */
    const struct rail_shown_at named = {.run_no = at->run_no, .until = l.until};
    if (rc == 0) rc = log_walk(s, &named, 0, state_take, x.state, err);
    map_free(l.seen);
    if (rc != 0) {
        rail_shown_fini(&x);
        return rc;
    }
    if (!at->meta) run_state_clean(x.state); /* a branch has no rows yet */
    x.named = l.n;
    *out = x;
    return 0;
}

int rail_shown_name(struct rail_shown *x, struct str node_id, struct wopr_error *err) {
    if (workflow_node_index(x->wf, node_id) >= 0) return 0;
    if (x->named == x->wf->nodes_nr)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "no spare node is left to show a session");
    int rc = workflow_node_name(x->wf, x->named, node_id);
    if (rc != 0) return wopr_error_set(err, rc, "no memory for a node of a session");
    x->named++;
    return 0;
}

static int follow_take(void *ctx, const struct event *e, struct wopr_error *err) {
    struct rail_shown *x = ctx;
    int rc = e->kind == EV_NODE_STARTED ? rail_shown_name(x, e->node_id, err) : 0;
    return rc == 0 ? run_state_apply(x->state, e, err) : rc;
}

int rail_shown_follow(struct store *s, int64_t run_no, struct rail_shown *x,
                      struct wopr_error *err) {
    const struct rail_shown_at at = {.run_no = run_no, .until = INT64_MAX};
    int rc = log_walk(s, &at, x->state->next_seq, follow_take, x, err);
    if (rc == 0) run_state_clean(x->state);
    return rc;
}

size_t rail_shown_bytes(const struct rail_shown *x) {
    if (!x->state) return 0;
    size_t nodes = x->wf->nodes_nr;
    return x->state->bytes + arena_used(x->state->arena) + arena_used(x->wf->arena) +
           nodes * (sizeof *x->state->nodes + 4 * sizeof(int));
}

int rail_shown_definition(struct store *s, const struct run_origin *o, struct arena *a,
                          struct workflow **out, struct wopr_error *err) {
    const struct rail_shown_at at = {.run_no = o->head.run_no, .until = INT64_MAX};
    struct names l = {.seen = map_new(), .a = a};
    int rc = l.seen ? names_read(s, &at, &l, err)
                    : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to show a session");
    if (rc == 0) rc = rail_shown_workflow(o->meta.workflow_id, l.v, l.n, out, err);
    map_free(l.seen);
    return rc;
}

void rail_shown_fini(struct rail_shown *s) {
    run_state_free(s->state);
    workflow_unref(s->wf);
    s->state = NULL;
    s->wf = NULL;
}

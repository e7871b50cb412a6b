/*
 * session.c: see session.h: the fold.
 */
#include "workrail/session.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

enum { FIRST_CAP = 8 };

/* Maps hold positions as pointers: 0 is absent. */
static void *of_position(size_t at) { return (void *)(uintptr_t)(at + 1); }
static size_t to_position(const void *p) {
    return p == NULL ? WR_NO_NODE : (size_t)(uintptr_t)p - 1;
}

struct wr_session *wr_session_new(struct arena *a) {
    struct wr_session *s = MEM_NEW(struct wr_session);
    if (s == NULL) return NULL;
    s->a = a;
    struct map **maps[] = {&s->keys,    &s->ids,      &s->node_at, &s->run_at,
                           &s->outputs, &s->contexts, &s->attempts};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        *maps[i] = map_new();
        if (*maps[i] != NULL) continue;
        wr_session_free(s);
        return NULL;
    }
    return s;
}

void wr_session_free(struct wr_session *s) {
    if (s == NULL) return;
    struct map *maps[] = {s->keys,    s->ids,      s->node_at, s->run_at,
                          s->outputs, s->contexts, s->attempts};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    mem_free(s);
}

static int session_broken(struct wr_fault *f, const struct wr_event *e, const char *what) {
    return wr_fail(f, WR_PROJECTION_INVARIANT_VIOLATION, "", "event %lld: %s", (long long)e->index,
                   what);
}

static int session_corrupt(struct wr_fault *f, const struct wr_event *e, const char *what) {
    return wr_fail(f, WR_PROJECTION_CORRUPTION_DETECTED, "", "event %lld: %s", (long long)e->index,
                   what);
}

static int session_row_put(struct map *m, struct str key, const void *value, struct wr_fault *f) {
    union {
        const void *in;
        void *out;
    } v = {value};
    return map_put(m, key, v.out, NULL) == 0 ? 0 : wr_no_memory(f);
}

static int link_add(struct wr_session *s, struct wr_links *to, const struct wr_event *e,
                    struct wr_fault *f) {
    struct wr_link *l = ARENA_NEW(s->a, struct wr_link);
    if (l == NULL) return wr_no_memory(f);
    *l = (struct wr_link){e, NULL};
    if (to->last != NULL) to->last->next = l;
    else to->first = l;
    to->last = l;
    to->nr++;
    return 0;
}

size_t wr_session_node(const struct wr_session *s, struct str node_id) {
    return to_position(map_get(s->node_at, node_id));
}
size_t wr_session_run(const struct wr_session *s, struct str run_id) {
    return to_position(map_get(s->run_at, run_id));
}
const struct wr_event *wr_session_key(const struct wr_session *s, struct str dedupe_key) {
    return map_get(s->keys, dedupe_key);
}

const struct wr_event *wr_session_attempt(const struct wr_session *s, struct str attempt_id) {
    return map_get(s->attempts, attempt_id);
}

size_t wr_session_present(const struct wr_session *s, const struct wr_plan *p) {
    size_t nr = 0;
    for (size_t i = 0; i < p->events_nr; i++)
        nr += wr_session_key(s, p->events[i].dedupe_key) != NULL;
    return nr;
}

/* A node of this run, created before. */
static struct wr_node *node_of(struct wr_session *s, size_t run, struct str id) {
    size_t at = wr_session_node(s, id);
    return at == WR_NO_NODE || s->nodes[at].run != run ? NULL : &s->nodes[at];
}

/* --- runs and nodes --- */

/* The tools make one run in a session; a bundle of elsewhere may have more (WR-119). */
static int fold_run(struct wr_session *s, const struct wr_event *e, struct wr_fault *f) {
    if (wr_session_run(s, e->run_id) != WR_NO_NODE)
        return session_corrupt(f, e, "the run is there already");
    if (VEC_ROOM_IN(s->a, s->runs, s->runs_nr, s->runs_cap, FIRST_CAP) != 0) return wr_no_memory(f);
    s->runs[s->runs_nr] = (struct wr_run){.id = e->run_id, .started = e, .root = WR_NO_NODE};
    return session_row_put(s->run_at, e->run_id, of_position(s->runs_nr++), f);
}

static int node_check(struct wr_session *s, size_t run, const struct wr_event *e,
                      struct wr_fault *f) {
    const struct wr_run *r = &s->runs[run];
    if (wr_session_node(s, e->node_id) != WR_NO_NODE)
        return session_corrupt(f, e, "the node is there already");
    if (!str_eq(e->u.node.workflow_hash, r->started->u.run.workflow_hash))
        return session_corrupt(f, e, "the node is of another workflow than its run");
    if (e->u.node.parent_node_id.p == NULL) {
        if (r->root != WR_NO_NODE) return session_corrupt(f, e, "the run has a root already");
        return 0;
    }
    if (node_of(s, run, e->u.node.parent_node_id) == NULL)
        return session_broken(f, e, "the parent is no node of the run before it");
    return 0;
}

/* Children are a list through the nodes, the last one first: a node has few, and nothing that
 * is read off them depends on their order. */
static int fold_node(struct wr_session *s, size_t run, const struct wr_event *e,
                     struct wr_fault *f) {
    struct wr_run *r = &s->runs[run];
    size_t at = s->nodes_nr;
    int rc = node_check(s, run, e, f);
    if (rc != 0) return rc;
    if (VEC_ROOM_IN(s->a, s->nodes, s->nodes_nr, s->nodes_cap, FIRST_CAP) != 0 ||
        VEC_ROOM_IN(s->a, r->nodes, r->nodes_nr, r->nodes_cap, FIRST_CAP) != 0)
        return wr_no_memory(f);
    struct str up = e->u.node.parent_node_id;
    s->nodes[at] = (struct wr_node){.id = e->node_id,
                                    .created = e,
                                    .run = run,
                                    .parent = up.p == NULL ? WR_NO_NODE : wr_session_node(s, up),
                                    .children = WR_NO_NODE,
                                    .next_child = WR_NO_NODE,
                                    .activity = e->index,
                                    .context = map_get(s->contexts, e->node_id)};
    if (up.p == NULL) {
        r->root = at;
    } else {
        struct wr_node *parent = &s->nodes[s->nodes[at].parent];
        s->nodes[at].next_child = parent->children;
        parent->children = at;
    }
    r->nodes[r->nodes_nr++] = at;
    s->nodes_nr++;
    return session_row_put(s->node_at, e->node_id, of_position(at), f);
}

static int fold_edge(struct wr_session *s, size_t run, const struct wr_event *e,
                     struct wr_fault *f) {
    struct wr_node *from = node_of(s, run, e->u.edge.from_node_id),
                   *to = node_of(s, run, e->u.edge.to_node_id);
    if (from == NULL || to == NULL)
        return session_broken(f, e, "an end of the edge is no node of the run");
    if (to->parent == WR_NO_NODE || &s->nodes[to->parent] != from)
        return session_corrupt(f, e, "the edge is not from the parent");
    bool checkpoint = to->created->u.node.kind == WR_NODE_CHECKPOINT;
    if (checkpoint != (e->u.edge.kind == WR_EDGE_CHECKPOINT))
        return session_corrupt(f, e, "the kind of the edge is not that of the node");
    if (map_get(s->ids, e->u.edge.cause_event_id) == NULL)
        return session_broken(f, e, "the cause is no event of the session before it");
    /* Activity passes along edges in the order of the log (WR-159): both ends get the later one. */
    from->edges++;
    from->acked_edges += !checkpoint;
    int64_t activity = e->index;
    if (from->activity > activity) activity = from->activity;
    if (to->activity > activity) activity = to->activity;
    from->activity = to->activity = activity;
    return link_add(s, &s->runs[run].edges, e, f);
}

/* --- what is scoped to nodes --- */

/* The context that a plan wrote is that of the node it made: found by the attempt. */
static int fold_context(struct wr_session *s, size_t run, const struct wr_event *e,
                        struct wr_fault *f) {
    struct str attempt = wr_context_attempt(e);
    const struct wr_event *advance = attempt.p != NULL ? map_get(s->attempts, attempt) : NULL;
    if (advance == NULL) {
        s->runs[run].context = e;
        return 0;
    }
    if (!str_eq(advance->run_id, e->run_id))
        return session_corrupt(f, e, "the context is of an advance of another run");
    return session_row_put(s->contexts, advance->u.advance.to_node_id, e, f);
}

/* Attempts are found without their node: a context has no other mark of the plan that wrote it. */
static int fold_advance(struct wr_session *s, const struct wr_event *e, struct wr_fault *f) {
    return session_row_put(s->attempts, e->u.advance.attempt_id, e, f);
}

/* WR-166: a node has one current recap, so a further one takes the place of exactly that one. */
static int fold_output(struct wr_session *s, size_t node, const struct wr_event *e,
                       struct wr_fault *f) {
    struct wr_node *n = &s->nodes[node];
    struct str before = e->u.output.supersedes;
    const struct wr_event *old = before.p != NULL ? map_get(s->outputs, before) : NULL;
    if (map_get(s->outputs, e->u.output.output_id) != NULL)
        return session_corrupt(f, e, "the output is there already");
    if (before.p != NULL && old == NULL)
        return session_corrupt(f, e, "the output that it supersedes is not before it");
    if (old != NULL &&
        (!str_eq(old->node_id, e->node_id) || old->u.output.channel != e->u.output.channel))
        return session_corrupt(f, e, "it supersedes an output of another node or channel");
    if (e->u.output.channel == WR_RECAP) {
        if (n->recap != old) return session_corrupt(f, e, "the node would have two current recaps");
        n->recap = e;
    }
    return session_row_put(s->outputs, e->u.output.output_id, e, f);
}

static int fold_gap(struct wr_session *s, size_t run, const struct wr_event *e,
                    struct wr_fault *f) {
    return link_add(s, &s->runs[run].gaps, e, f);
}

static int fold_scoped(struct wr_session *s, size_t run, const struct wr_event *e,
                       struct wr_fault *f) {
    size_t at = wr_session_node(s, e->node_id);
    int rc = 0;
    if (at == WR_NO_NODE || s->nodes[at].run != run)
        return session_broken(f, e, "its node is no node of the run before it");
    if (e->kind == WR_ADVANCE_RECORDED) rc = fold_advance(s, e, f);
    else if (e->kind == WR_NODE_OUTPUT_APPENDED) rc = fold_output(s, at, e, f);
    else if (e->kind == WR_GAP_RECORDED) rc = fold_gap(s, run, e, f);
    if (rc != 0) return rc;
    if (e->index > s->nodes[at].activity) s->nodes[at].activity = e->index;
    return link_add(s, &s->nodes[at].events, e, f);
}

/* --- any event --- */

/* What is checked here is checked before a plan is committed, too (WR-57): a log that was
 * written can be read. */
static int order_check(const struct wr_session *s, const struct wr_event *e, struct wr_fault *f) {
    bool first = s->next_index == 0;
    if (e->index != s->next_index) return session_broken(f, e, "the index is not the next one");
    if (first != (e->kind == WR_SESSION_CREATED))
        return session_broken(f, e, "a session begins with session_created, and has one");
    if (!first && !str_eq(e->session_id, s->id))
        return session_corrupt(f, e, "it is of another session");
    if (map_get(s->keys, e->dedupe_key) != NULL)
        return session_corrupt(f, e, "its key is there already");
    if (map_get(s->ids, e->event_id) != NULL)
        return session_corrupt(f, e, "its id is there already");
    return 0;
}

static int fold_in_run(struct wr_session *s, const struct wr_event *e, struct wr_fault *f) {
    size_t run = wr_session_run(s, e->run_id);
    if (run == WR_NO_NODE) return session_broken(f, e, "its run is not started");
    switch (e->kind) {
    case WR_NODE_CREATED:
        return fold_node(s, run, e, f);
    case WR_EDGE_CREATED:
        return fold_edge(s, run, e, f);
    case WR_CONTEXT_SET:
        return fold_context(s, run, e, f);
    default:
        return fold_scoped(s, run, e, f);
    }
}

/* A fold that fails half-way leaves a session of no use, which callers throw away; undoing it would
 * be code that only a damaged log runs. */
int wr_session_add(struct wr_session *s, const struct wr_event *e, struct wr_fault *f) {
    int rc = order_check(s, e, f);
    if (rc == 0) rc = session_row_put(s->keys, e->dedupe_key, e, f);
    if (rc == 0) rc = session_row_put(s->ids, e->event_id, e, f);
    if (rc != 0) return rc;
    switch (e->kind) {
    case WR_SESSION_CREATED:
        s->id = e->session_id;
        break;
    case WR_OBSERVATION_RECORDED:
        s->observed[e->u.observation.key] = e;
        break;
    case WR_RUN_STARTED:
        rc = fold_run(s, e, f);
        break;
    default:
        rc = fold_in_run(s, e, f);
        break;
    }
    if (rc == 0) s->next_index++;
    return rc;
}

int wr_session_add_plan(struct wr_session *s, const struct wr_plan *p, struct wr_fault *f) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->events_nr; i++) rc = wr_session_add(s, &p->events[i], f);
    return rc;
}

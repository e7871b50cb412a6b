/*
 * project.c: what is read off a session: tips, preferences, capabilities, context, outputs, gaps,
 * status (sections 7.2 to 7.5).
 */
#include "base/map.h"
#include "workrail/session.h"

#include <stdlib.h>

/* --- tips --- */

static int by_node_id(const void *x, const void *y, const struct wr_session *s) {
    const struct wr_tip *a = x, *b = y;
    return str_cmp(s->nodes[a->node].id, s->nodes[b->node].id);
}

/* Bottom-up merge sort: qsort has no place for the session. */
static void tips_sort(const struct wr_session *s, struct wr_tip *v, struct wr_tip *other,
                      size_t nr) {
    struct wr_tip *from = v, *to = other;
    for (size_t w = 1; w < nr; w *= 2) {
        for (size_t lo = 0; lo < nr; lo += 2 * w) {
            size_t mid = lo + w < nr ? lo + w : nr, hi = lo + 2 * w < nr ? lo + 2 * w : nr;
            size_t i = lo, k = mid;
            for (size_t out = lo; out < hi; out++)
                to[out] = i < mid && (k == hi || by_node_id(&from[i], &from[k], s) <= 0)
                              ? from[i++]
                              : from[k++];
        }
        struct wr_tip *swap = from;
        from = to;
        to = swap;
    }
    if (from != v && nr > 0) memcpy(v, from, nr * sizeof *v);
}

static bool is_checkpoint(const struct wr_session *s, const struct wr_tip *t) {
    return s->nodes[t->node].created->u.node.kind == WR_NODE_CHECKPOINT;
}

/* WR-160; checkpoints do not compete with the others. */
bool wr_tip_better(const struct wr_session *s, const struct wr_tip *x, const struct wr_tip *y) {
    if (is_checkpoint(s, x) != is_checkpoint(s, y)) return !is_checkpoint(s, x);
    if (x->score != y->score) return x->score > y->score;
    int64_t a = s->nodes[x->node].created->index, b = s->nodes[y->node].created->index;
    if (a != b) return a > b;
    return str_cmp(s->nodes[x->node].id, s->nodes[y->node].id) < 0;
}

int wr_run_tips(const struct wr_session *s, size_t run, struct arena *a, struct wr_tip **out,
                size_t *nr, struct wr_tip *preferred) {
    const struct wr_run *r = &s->runs[run];
    struct wr_tip *v = ARENA_ARRAY(a, struct wr_tip, 2 * r->nodes_nr);
    int64_t *score = ARENA_ARRAY(a, int64_t, s->nodes_nr);
    size_t n = 0;
    *preferred = (struct wr_tip){WR_NO_NODE, 0};
    if (v == NULL || score == NULL) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < r->nodes_nr; i++) { /* parents are before their children */
        size_t at = r->nodes[i];
        const struct wr_node *node = &s->nodes[at];
        score[at] = node->activity;
        if (node->parent != WR_NO_NODE && score[node->parent] > score[at])
            score[at] = score[node->parent];
        if (node->edges > 0) continue;
        v[n] = (struct wr_tip){at, score[at]};
        if (preferred->node == WR_NO_NODE || wr_tip_better(s, &v[n], preferred)) *preferred = v[n];
        n++;
    }
    if (out == NULL) return 0;
    tips_sort(s, v, v + r->nodes_nr, n);
    *out = v;
    *nr = n;
    return 0;
}

/* --- on the path --- */

/* The nearest node upwards that says anything.  as_of: replies and questions are made of what was
 * known at their node, whatever changed later (WR-141). */
struct wr_preferences wr_node_preferences(const struct wr_session *s, size_t node, int64_t as_of) {
    for (; node != WR_NO_NODE; node = s->nodes[node].parent) {
        const struct wr_event *last = NULL;
        for (const struct wr_link *l = s->nodes[node].events.first; l != NULL; l = l->next)
            if (l->event->kind == WR_PREFERENCES_CHANGED && l->event->index <= as_of)
                last = l->event;
        if (last != NULL) return last->u.preferences.effective;
    }
    return (struct wr_preferences){WR_GUIDED, WR_CONSERVATIVE};
}

const struct wr_event *wr_node_capability(const struct wr_session *s, size_t node,
                                          enum wr_capability c, bool strong) {
    for (; node != WR_NO_NODE; node = s->nodes[node].parent) {
        const struct wr_event *last = NULL;
        for (const struct wr_link *l = s->nodes[node].events.first; l != NULL; l = l->next)
            if (l->event->kind == WR_CAPABILITY_OBSERVED &&
                l->event->u.capability.capability == (int)c &&
                !(strong && l->event->u.capability.provenance == WR_MANUAL_CLAIM))
                last = l->event;
        if (last != NULL) return last;
    }
    return NULL;
}

struct str wr_node_context(const struct wr_session *s, size_t node) {
    const struct wr_event *initial = s->runs[s->nodes[node].run].context;
    for (; node != WR_NO_NODE; node = s->nodes[node].parent)
        if (s->nodes[node].context != NULL) return s->nodes[node].context->u.context.context;
    return initial != NULL ? initial->u.context.context : STR_NONE;
}

/* --- outputs --- */

static bool is_output(const struct wr_event *e, enum wr_channel channel) {
    return e->kind == WR_NODE_OUTPUT_APPENDED && e->u.output.channel == (int)channel;
}

/* Superseded by a later output of the node: linear, for one superseding output names one. */
int wr_node_outputs(const struct wr_session *s, size_t node, enum wr_channel channel,
                    struct arena *a, const struct wr_event ***out, size_t *nr) {
    const struct wr_links *links = &s->nodes[node].events;
    const struct wr_event **v = (const struct wr_event **)arena_array(a, links->nr, sizeof *v);
    struct map *gone = map_new();
    int rc = v == NULL || gone == NULL ? WOPR_E_NO_MEMORY : 0;
    size_t n = 0;
    for (const struct wr_link *l = links->first; rc == 0 && l != NULL; l = l->next)
        if (is_output(l->event, channel) && l->event->u.output.supersedes.p != NULL)
            rc = map_put(gone, l->event->u.output.supersedes, gone, NULL);
    for (const struct wr_link *l = links->first; rc == 0 && l != NULL; l = l->next)
        if (is_output(l->event, channel) && map_get(gone, l->event->u.output.output_id) == NULL)
            v[n++] = l->event;
    map_free(gone);
    if (rc != 0) return rc;
    *out = v;
    *nr = n;
    return 0;
}

/* --- gaps --- */

static int by_index(const void *x, const void *y) {
    const struct wr_gap *a = x, *b = y;
    return (a->event->index > b->event->index) - (a->event->index < b->event->index);
}

int wr_run_gaps(const struct wr_session *s, size_t run, struct arena *a, struct wr_gap **out,
                size_t *nr) {
    const struct wr_links *links = &s->runs[run].gaps;
    struct wr_gap *v = ARENA_ARRAY(a, struct wr_gap, links->nr);
    struct map *at = map_new();
    int rc = v == NULL || at == NULL ? WOPR_E_NO_MEMORY : 0;
    size_t n = 0;
    for (const struct wr_link *l = links->first; rc == 0 && l != NULL; l = l->next) {
        struct wr_gap *old = map_get(at, l->event->u.gap.gap_id);
        if (old != NULL) {
            old->event = l->event;
            continue;
        }
        v[n] = (struct wr_gap){l->event, false};
        rc = map_put(at, l->event->u.gap.gap_id, &v[n++], NULL);
    }
    for (const struct wr_link *l = links->first; rc == 0 && l != NULL; l = l->next) {
        struct wr_gap *g =
            l->event->u.gap.resolution == 1 ? map_get(at, l->event->u.gap.resolves) : NULL;
        if (g != NULL && g->event->index < l->event->index) g->resolved = true;
    }
    map_free(at);
    if (rc != 0) return rc;
    if (n > 1) qsort(v, n, sizeof *v, by_index);
    *out = v;
    *nr = n;
    return 0;
}

/* --- status --- */

static const char *const STATUSES[] = {"in_progress", "blocked", "complete", "complete_with_gaps"};
const char *wr_run_status_name(enum wr_run_status status) { return STATUSES[status]; }

/* A record that resolves another is itself a disclosure, not a new gap (WR-167). */
static bool gap_open(const struct wr_gap *g) {
    return !g->resolved && g->event->u.gap.resolution == 0 &&
           g->event->u.gap.severity == WR_CRITICAL;
}

static bool tip_blocked(const struct wr_session *s, size_t tip, const struct wr_gap *gaps,
                        size_t nr) {
    if (wr_node_preferences(s, tip, INT64_MAX).autonomy == WR_NEVER_STOP) return false;
    /* A checkpoint saves what was done on a node and answers nothing of it. */
    while (s->nodes[tip].created->u.node.kind == WR_NODE_CHECKPOINT &&
           s->nodes[tip].parent != WR_NO_NODE)
        tip = s->nodes[tip].parent;
    if (s->nodes[tip].created->u.node.kind == WR_NODE_BLOCKED) return true;
    for (size_t i = 0; i < nr; i++)
        if (gap_open(&gaps[i]) && str_eq(gaps[i].event->node_id, s->nodes[tip].id) &&
            gaps[i].event->u.gap.category != WR_UNEXPECTED)
            return true;
    return false;
}

int wr_run_status(const struct wr_session *s, size_t run, size_t tip, int tip_state,
                  enum wr_run_status *out, struct wr_fault *f) {
    enum { GAPS_ARENA = 64 << 20 };
    struct wr_gap *gaps;
    size_t nr, open = 0;
    *out = WR_IN_PROGRESS;
    if (tip == WR_NO_NODE) return 0;
    struct arena *a = arena_new(GAPS_ARENA);
    if (a == NULL || wr_run_gaps(s, run, a, &gaps, &nr) != 0) {
        arena_free(a);
        return wr_no_memory(f);
    }
    for (size_t i = 0; i < nr; i++) open += gap_open(&gaps[i]);
    if (tip_state == WR_S_COMPLETE) *out = open > 0 ? WR_COMPLETE_WITH_GAPS : WR_COMPLETE;
    else if (tip_blocked(s, tip, gaps, nr)) *out = WR_STATUS_BLOCKED;
    arena_free(a);
    return 0;
}

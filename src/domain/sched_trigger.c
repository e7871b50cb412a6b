/*
 * sched_trigger.c: nodes started by writes to channels (CHAN-20, CHAN-21, WF-20).
 * A write fires the triggers of its channel.  A firing waits until nothing of the node and of what
 * follows it is in flight, then gives all of that a fresh activation, as a loop does; the node is
 * READY, or HELD while its channel is not yet quiet.  Everything follows from the log: the time of
 * a firing is that of the write, and the clock only decides whether a quiet period is over.
 *
 * Bounds: a write of the activation that a trigger began does not fire that trigger (lineage); a
 * chain of firings that is longer than maxLoopbackIterations fails its node (EVT-40); beyond
 * TRIGGER_QUEUE_MAX unanswered writes only the latest counts.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "codec/json.h"
#include "domain/due_tree.h"
#include "domain/sched_int.h"

static bool fires_for(const struct wf_trigger *t, bool from_child) {
    return t->from == FROM_ANY || (t->from == FROM_CHILD) == from_child;
}

static int queue_add(struct trigger_state *q, const struct trigger_fire *fire, bool latest_only) {
    if (latest_only || q->n == TRIGGER_QUEUE_MAX) {
        if (q->n > 0) q->n--; /* the quiet period begins again */
    }
    if (VEC_ROOM(q->v, q->n, q->cap, 4) != 0) return WOPR_E_NO_MEMORY;
    q->v[q->n++] = *fire;
    return 0;
}

static void queue_take(struct trigger_state *q, struct trigger_fire *fire) {
    *fire = q->v[0];
    q->n--;
    memmove(q->v, q->v + 1, q->n * sizeof *q->v);
}

static int64_t trigger_due(const struct wf_trigger *t, int64_t ts_ms) {
    return ts_ms > INT64_MAX - t->debounce_ms ? INT64_MAX : ts_ms + t->debounce_ms;
}

static int wish_of(const struct run_state *s, size_t trigger) {
    return (int)(s->wf->nodes_nr + trigger);
}

static void held_due(struct run_state *s, const struct wf_trigger *t, int64_t due_ms) {
    s->nodes[t->node].sched.due_ms = due_ms;
    due_tree_set(s->sched.held, t->node, due_ms > 0 ? due_ms : 1);
}

static void trigger_enter(struct run_state *s, size_t i) {
    const struct wf_trigger *t = &s->wf->triggers[i];
    struct trigger_state *q = &s->sched.triggers[i];
    struct sched_node *n = &s->nodes[t->node].sched;
    int64_t limit = s->wf->max_loopback < INT32_MAX - 1 ? s->wf->max_loopback : INT32_MAX - 1;
    struct trigger_fire fire;
    if (!sched_fire(s, t->node, &q->blocker, (int32_t)i + 1, q->v[0].depth)) {
        sched_wish_wait(s, wish_of(s, i), q->blocker - 1);
        return;
    }
    queue_take(q, &fire);
    if (q->n > 0) sched_wish_wait(s, wish_of(s, i), t->node); /* for the next firing */
    else sched_wish_drop(s, wish_of(s, i));
    n->cause_seq = fire.seq;
    n->loop_over = fire.depth > limit;
    if (n->loop_over) n->loops = fire.depth; /* reported by workflow.loopback-limit */
    n->loop_limit = (int32_t)limit;
    if (t->debounce_ms == 0 || s->wf->nodes[t->node].disabled) {
        sched_ready(s, t->node);
        return;
    }
    n->phase = PHASE_HELD;
    held_due(s, t, trigger_due(t, fire.ts_ms));
    s->sched.held_nr++;
}

void sched_triggers_try(struct run_state *s) {
    int first = (int)s->wf->nodes_nr, end = first + (int)s->wf->triggers_nr, wish = first - 1;
    while (s->failure.node < 0 && !s->end_reached && (wish = sched_wish_due(s, wish + 1, end)) >= 0)
        trigger_enter(s, (size_t)(wish - first));
}

/* A further write while the node is held: its quiet period begins again. */
static bool held_on(struct run_state *s, size_t i, const struct trigger_fire *fire) {
    const struct wf_trigger *t = &s->wf->triggers[i];
    struct sched_node *n = &s->nodes[t->node].sched;
    if (n->phase != PHASE_HELD || n->fired_by != (int32_t)i + 1) return false;
    held_due(s, t, trigger_due(t, fire->ts_ms));
    n->cause_seq = fire->seq;
    return true;
}

int sched_channel_written(struct run_state *s, const struct chan_state *c, int node,
                          const struct event *e) {
    if (s->wf->triggers_nr == 0 || c->decl == NULL || s->sched.triggers == NULL) return 0;
    bool from_child = json_get(e->payload, "sourceEngineId").n > 0;
    const struct sched_node *w = node >= 0 ? &s->nodes[node].sched : NULL;
    const struct trigger_fire fire = {
        .seq = e->seq, .ts_ms = e->ts_ms, .depth = w && w->fired_by > 0 ? w->fire_depth + 1 : 0};
    for (size_t next = c->decl->trigger_first; next > 0;) {
        size_t i = next - 1;
        const struct wf_trigger *t = &s->wf->triggers[i];
        next = t->next;
        if (!fires_for(t, from_child)) continue;
        if (w && w->fired_by == (int32_t)i + 1) continue; /* CHAN-21: its own lineage */
        if (held_on(s, i, &fire)) continue;
        int rc = queue_add(&s->sched.triggers[i], &fire, t->debounce_ms > 0);
        if (rc != 0) return rc;
        sched_wish_ask(s, wish_of(s, i));
    }
    sched_triggers_try(s);
    return 0;
}

void sched_triggers_drop(struct run_state *s) {
    for (size_t i = 0; s->sched.triggers && i < s->wf->triggers_nr; i++) {
        s->sched.triggers[i].n = 0;
        sched_wish_drop(s, wish_of(s, i));
        if (s->nodes[s->wf->triggers[i].node].sched.phase == PHASE_HELD)
            sched_dequeue(s, s->wf->triggers[i].node);
    }
}

void sched_free(struct run_state *s) {
    for (size_t i = 0; s->sched.triggers && i < s->wf->triggers_nr; i++)
        mem_free(s->sched.triggers[i].v);
}

int64_t sched_next_trigger_ms(const struct run_state *s) {
    return s->sched.held_nr > 0 ? due_tree_earliest(s->sched.held) : -1;
}

static bool node_sleeps(const struct run_state *s, const struct wf_trigger *t) {
    return s->wf->nodes[t->node].dormant && s->nodes[t->node].sched.phase == PHASE_IDLE;
}

int sched_asleep(const struct run_state *s) {
    for (size_t i = s->sched.asleep_from; i < s->wf->triggers_nr; i++)
        if (node_sleeps(s, &s->wf->triggers[i])) return s->wf->triggers[i].node;
    return -1;
}

void sched_slept(struct run_state *s, int node) {
    if (!s->wf->nodes[node].dormant) return;
    while (s->sched.asleep_from < s->wf->triggers_nr &&
           !node_sleeps(s, &s->wf->triggers[s->sched.asleep_from]))
        s->sched.asleep_from++;
}

/*
 * interpret.c: see interpret.h.
 */
#include "workrail/interpret.h"

#include "base/vec.h"
#include "workrail/condition.h"

#include <stdlib.h>

enum {
    DECISIONS_MAX = 10000,
    WORK_MAX = 2000000,   /* items looked at in one call, and their conditions */
    CONDITION_BYTES = 16, /* of a condition that cost as much as an item */
    FIRST_CAP = 8,
    TRACE_MAX = 2 * WR_TRACE_ENTRIES_MAX,
    SCRATCH_MAX = 8 << 20
};

struct walk {
    const struct wr_workflow *w;
    struct json_members context; /* sorted */
    const struct wr_controls *controls;
    struct str innermost; /* the loop that a control without loopId means */
    struct arena *a;
    struct wr_next *out;
    struct wr_fault *f;
    struct arena *scratch; /* of one item */
    size_t completed_cap, work;
    struct wr_frame stack[WR_LOOP_DEPTH_MAX];
    size_t depth;
    bool done; /* a step is pending, or all is complete */
};

/* --- what is completed --- */

static int by_text(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static struct str walk_key(const struct walk *k, struct str id, struct arena *a) {
    return wr_step_key(k->stack, k->depth, id, a);
}

static bool walk_has(const struct walk *k, struct str key) {
    const struct wr_texts *c = &k->out->state.completed;
    return c->nr > 0 && bsearch(&key, c->v, c->nr, sizeof key, by_text) != NULL;
}

/* Kept sorted while it grows: the set is part of the snapshot, whose bytes must not depend on the
 * order in which steps were done, and walk_has searches it. */
static int walk_complete(struct walk *k, struct str id) {
    struct wr_texts *c = &k->out->state.completed;
    struct str key = walk_key(k, id, k->a);
    if (key.p == NULL || VEC_ROOM_IN(k->a, c->v, c->nr, k->completed_cap, FIRST_CAP) != 0)
        return wr_no_memory(k->f);
    if (c->nr >= WR_COMPLETED_MAX)
        return wr_fail(k->f, WR_PRECONDITION_FAILED, "",
                       "this run has done %d steps, and a session keeps no more; start a new one "
                       "with what is left",
                       WR_COMPLETED_MAX);
    size_t at = c->nr;
    while (at > 0 && str_cmp(c->v[at - 1], key) > 0) at--;
    if (at > 0 && str_eq(c->v[at - 1], key)) return 0;
    memmove(c->v + at + 1, c->v + at, (c->nr - at) * sizeof *c->v);
    c->v[at] = key;
    c->nr++;
    return 0;
}

/* --- trace --- */

/* id and iteration: refs, iteration < 0: none.  Entries beyond what any event keeps are dropped. */
static int walk_trace(struct walk *k, enum wr_trace_kind kind, struct str id, int64_t iteration,
                      const char *summary) {
    struct wr_next *o = k->out;
    if (o->trace.nr >= TRACE_MAX) return 0;
    if (VEC_ROOM_IN(k->a, o->trace.v, o->trace.nr, o->trace.cap, FIRST_CAP) != 0)
        return wr_no_memory(k->f);
    struct wr_trace_entry *e = &o->trace.v[o->trace.nr];
    *e = (struct wr_trace_entry){.kind = (int)kind};
    e->summary = arena_printf(k->a, "%s", summary);
    e->refs.v = ARENA_ARRAY(k->a, struct wr_trace_ref, 2);
    if (e->summary.p == NULL || e->refs.v == NULL) return wr_no_memory(k->f);
    e->refs.v[e->refs.nr++] =
        (struct wr_trace_ref){.kind = kind == WR_T_SELECTED ? WR_REF_STEP : WR_REF_LOOP, .id = id};
    if (iteration >= 0)
        e->refs.v[e->refs.nr++] =
            (struct wr_trace_ref){.kind = WR_REF_ITERATION, .value = iteration};
    o->trace.nr++;
    return 0;
}

/* --- loops --- */

/* What the artifacts say of a loop: the last one counts.  0 nothing, 1 continue, -1 stop. */
static int walk_control(const struct walk *k, struct str loop_id) {
    int said = 0;
    for (size_t i = 0; i < k->controls->nr; i++) {
        const struct wr_control *c = &k->controls->v[i];
        struct str of = c->loop_id.p != NULL ? c->loop_id : k->innermost;
        if (str_eq(of, loop_id)) said = c->goes_on ? 1 : -1;
    }
    return said;
}

/* Silence goes on (WR-99): a loop is entered before any artifact could speak of it, and the
 * steps in the middle of its body say nothing. */
static bool walk_while(const struct walk *k, const struct wr_loop *loop) {
    switch (k->w->conditions.v[loop->condition].kind) {
    case WR_ALWAYS_TRUE:
        return true;
    case WR_ALWAYS_FALSE:
        return false;
    default:
        return walk_control(k, loop->id) >= 0;
    }
}

/* Pop the top frame; its loop is completed in what encloses it (WR-96). */
static int loop_exit(struct walk *k, const struct wr_loop *loop, bool limit) {
    int64_t iteration = k->stack[k->depth - 1].iteration;
    int rc = walk_trace(k, WR_T_EXITED, loop->id, iteration,
                        limit ? "max iterations reached" : "condition false");
    if (rc != 0) return rc;
    if (limit) {
        struct wr_next *o = k->out;
        if (VEC_ROOM_IN(k->a, o->limits.v, o->limits.nr, o->limits.cap, FIRST_CAP) != 0)
            return wr_no_memory(k->f);
        o->limits.v[o->limits.nr++] = (struct wr_limit){loop->id, iteration, loop->max_iterations,
                                                        walk_control(k, loop->id) > 0};
    }
    k->depth--;
    return walk_complete(k, loop->id);
}

/* The frame is pushed before the condition is looked at, so that a loop of no pass is left by the
 * same path as any other and its trace is complete (WR-46). */
static int loop_enter(struct walk *k, size_t at) {
    const struct wr_loop *loop = &k->w->loops.v[at];
    if (k->depth == WR_LOOP_DEPTH_MAX)
        return wr_fail(k->f, WR_INTERNAL_ERROR, "", "loops are nested deeper than a workflow may");
    k->stack[k->depth++] = (struct wr_frame){loop->id, 0, 0};
    bool goes_on = walk_while(k, loop);
    int rc = goes_on ? walk_trace(k, WR_T_ENTERED, loop->id, -1, "loop entered") : 0;
    if (rc == 0)
        rc = walk_trace(k, WR_T_EVALUATED, loop->id, 0,
                        goes_on ? "condition true" : "condition false");
    if (rc == 0 && !goes_on) rc = loop_exit(k, loop, false);
    return rc;
}

/* --- items --- */

/* The path goes without body indices: it names the step, while the stack says where to go on. */
static int step_select(struct walk *k, const struct wr_step *step) {
    struct wr_state *s = &k->out->state;
    struct wr_frame *path = ARENA_ARRAY(k->a, struct wr_frame, k->depth),
                    *stack = ARENA_ARRAY(k->a, struct wr_frame, k->depth);
    if (path == NULL || stack == NULL) return wr_no_memory(k->f);
    for (size_t i = 0; i < k->depth; i++) {
        path[i] = (struct wr_frame){k->stack[i].loop_id, k->stack[i].iteration, 0};
        stack[i] = k->stack[i];
    }
    s->kind = WR_S_RUNNING;
    s->pending = 1;
    s->step.step_id = step->id;
    s->step.path.v = path;
    s->step.path.nr = s->stack.nr = k->depth;
    s->stack.v = stack;
    k->done = true;
    return walk_trace(k, WR_T_SELECTED, step->id, -1, "next step selected");
}

/* Whether an item is neither completed nor ruled out. */
static int item_due(struct walk *k, const struct wr_item *item, bool *due) {
    struct str when = item->loop ? STR_NONE : k->w->steps.v[item->at].run_condition;
    struct str key = walk_key(k, item->id, k->scratch);
    *due = key.p != NULL && !walk_has(k, key);
    if (key.p != NULL && *due && when.p != NULL &&
        wr_condition_holds(when, &k->context, k->scratch, due) != 0)
        key = STR_NONE;
    arena_reset(k->scratch);
    return key.p != NULL ? 0 : wr_no_memory(k->f);
}

/* The first such item from `from` on; WR_NO_AT: none. */
static int item_find(struct walk *k, const struct wr_items *items, size_t from, size_t *out) {
    int rc = 0;
    bool due = false;
    size_t i = from;
    /* Decisions are bounded, but one of them may look at a long list of conditions: what is bounded
     * here is the time of a call. */
    for (; rc == 0 && i < items->nr; i++) {
        struct str when = items->v[i].loop ? STR_NONE : k->w->steps.v[items->v[i].at].run_condition;
        k->work += 1 + when.n / CONDITION_BYTES;
        if (k->work > WORK_MAX)
            return wr_fail(k->f, WR_INTERNAL_ERROR, "", "the workflow is too large to decide in");
        rc = item_due(k, &items->v[i], &due);
        if (due) break;
    }
    *out = due ? i : WR_NO_AT;
    return rc;
}

static int item_take(struct walk *k, const struct wr_item *item) {
    return item->loop ? loop_enter(k, item->at) : step_select(k, &k->w->steps.v[item->at]);
}

/* The next pass of a loop whose body is done (WR-95, 4 and 5). */
static int loop_again(struct walk *k, const struct wr_loop *loop) {
    struct wr_frame *top = &k->stack[k->depth - 1];
    int64_t next = top->iteration + 1;
    if (next >= loop->max_iterations) return loop_exit(k, loop, true);
    bool goes_on = walk_while(k, loop);
    int rc = walk_trace(k, WR_T_EVALUATED, loop->id, next,
                        goes_on ? "condition true" : "condition false");
    if (rc != 0) return rc;
    if (!goes_on) return loop_exit(k, loop, false);
    *top = (struct wr_frame){loop->id, next, 0};
    return 0;
}

/* One decision for the top frame (WR-95). */
static int loop_decide(struct walk *k) {
    struct wr_frame *top = &k->stack[k->depth - 1];
    size_t at = wr_workflow_loop(k->w, top->loop_id), found;
    const struct wr_loop *loop = at != WR_NO_AT ? &k->w->loops.v[at] : NULL;
    if (loop == NULL || top->iteration >= loop->max_iterations ||
        top->body_index > (int64_t)loop->body.nr || loop->body.nr == 0)
        return wr_fail(k->f, WR_LOOP_INVALID_STATE, "",
                       "the stored state is beyond the bounds of its loop; nothing was written");
    if (!walk_while(k, loop)) {
        int rc = walk_trace(k, WR_T_EVALUATED, loop->id, top->iteration, "condition false");
        return rc == 0 ? loop_exit(k, loop, false) : rc;
    }
    int rc = item_find(k, &loop->body, (size_t)top->body_index, &found);
    if (rc != 0) return rc;
    if (found == WR_NO_AT) return loop_again(k, loop);
    top->body_index = (int64_t)found;
    return item_take(k, &loop->body.v[found]);
}

/* From the first item each time: what is done is skipped by its key, and a step that its condition
 * ruled out before may be due now, since the context has changed. */
static int top_decide(struct walk *k) {
    size_t found;
    int rc = item_find(k, &k->w->order, 0, &found);
    if (rc != 0) return rc;
    if (found != WR_NO_AT) return item_take(k, &k->w->order.v[found]);
    k->out->state = (struct wr_state){.kind = WR_S_COMPLETE};
    k->done = true;
    return 0;
}

/* A stored state is foreign bytes, also where this program wrote it: another version of the
 * workflow or an edited file must not become an index out of bounds. */
static int walk_from(struct walk *k, const struct wr_state *from) {
    struct wr_texts *c = &k->out->state.completed;
    if (from->kind == WR_S_INIT) return 0;
    if (from->kind == WR_S_COMPLETE || from->pending == 0 || from->stack.nr > WR_LOOP_DEPTH_MAX ||
        wr_workflow_step(k->w, from->step.step_id) == WR_NO_AT)
        return wr_fail(k->f, WR_INTERNAL_ERROR, "", "the stored state has no step of its workflow");
    k->completed_cap = from->completed.nr + FIRST_CAP;
    c->v = ARENA_ARRAY(k->a, struct str, k->completed_cap);
    if (c->v == NULL) return wr_no_memory(k->f);
    if (from->completed.nr > 0) memcpy(c->v, from->completed.v, from->completed.nr * sizeof *c->v);
    c->nr = from->completed.nr;
    for (size_t i = 0; i < from->stack.nr; i++) k->stack[i] = from->stack.v[i];
    k->depth = from->stack.nr;
    if (k->depth > 0) k->innermost = k->stack[k->depth - 1].loop_id;
    return walk_complete(k, from->step.step_id);
}

static int walk_all(struct walk *k, const struct wr_state *from, struct str context) {
    if (context.p != NULL && json_members(context, k->a, &k->context, NULL) != 0)
        return wr_no_memory(k->f);
    json_members_sort(&k->context);
    int rc = walk_from(k, from);
    for (unsigned i = 0; rc == 0 && !k->done; i++) {
        if (i == DECISIONS_MAX)
            return wr_fail(k->f, WR_INTERNAL_ERROR, "",
                           "the workflow takes more than 10000 decisions without a step to do");
        rc = k->depth > 0 ? loop_decide(k) : top_decide(k);
    }
    return rc;
}

int wr_interpret(const struct wr_workflow *w, const struct wr_state *from, struct str context,
                 const struct wr_controls *controls, struct arena *a, struct wr_next *out,
                 struct wr_fault *f) {
    static const struct wr_controls NONE = {NULL, 0};
    struct wr_next next = {.state = {.kind = WR_S_RUNNING}};
    struct walk k = {.w = w,
                     .controls = controls != NULL ? controls : &NONE,
                     .a = a,
                     .scratch = arena_new(SCRATCH_MAX),
                     .out = &next,
                     .f = f};
    int rc = k.scratch == NULL ? wr_no_memory(f) : walk_all(&k, from, context);
    arena_free(k.scratch);
    if (rc == 0) *out = next;
    return rc;
}

/* --- budget of traces --- */

int wr_trace_fit(const struct wr_trace_entry *v, size_t nr, struct arena *a,
                 struct wr_trace_entry **out, size_t *out_nr) {
    const size_t least = WR_MARKER.n + 10; /* a rest that says something */
    struct wr_trace_entry *t = ARENA_ARRAY(a, struct wr_trace_entry, WR_TRACE_ENTRIES_MAX);
    size_t sum = 0, n = 0;
    if (t == NULL) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < nr && n < WR_TRACE_ENTRIES_MAX; i++) {
        bool cut;
        size_t room = WR_TRACE_SUMMARIES_MAX - sum;
        struct str s = wr_fit(v[i].summary, WR_TRACE_SUMMARY_MAX, a);
        if (s.p == NULL) return WOPR_E_NO_MEMORY;
        (void)wr_fit_bytes(s, room, &cut);
        if (cut && room <= least) break;
        if (cut) s = wr_fit(s, room, a);
        if (s.p == NULL) return WOPR_E_NO_MEMORY;
        t[n] = v[i];
        t[n].summary = s;
        if (t[n].refs.nr > WR_TRACE_REFS_MAX) t[n].refs.nr = WR_TRACE_REFS_MAX;
        n++;
        sum += s.n;
        if (cut) break;
    }
    *out = t;
    *out_nr = n;
    return 0;
}

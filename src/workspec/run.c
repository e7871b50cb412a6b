/* run.c: a run of a document: its life, its clock, and what comes next (section 5). */
#include "codec/json.h"
#include "domain/state_save.h"
#include "workspec/run_int.h"

#include <math.h>

#define RUN_ARENA_MAX ((size_t)256 * 1024 * 1024)

/* --- life --- */

void run_close(void *program) {
    struct ws_run *r = program;
    if (r == NULL) return;
    buf_fini(&r->deeds);
    arena_free(r->a);
}

struct ws_run *run_new(const struct ws_program *program) {
    struct arena *a = arena_new(RUN_ARENA_MAX);
    struct ws_run *r = a != NULL ? ARENA_NEW(a, struct ws_run) : NULL;
    if (r == NULL) {
        arena_free(a);
        return NULL;
    }
    *r = (struct ws_run){
        .program = program, .plan = program->plan, .a = a, .at = -1, .failed = -1, .rejected = -1};
    buf_init(&r->deeds, STATE_IMAGE_MAX);
    return r;
}

bool run_make(struct ws_run *r) {
    const struct ws_plan *p = &r->plan;
    const char *kind;
    r->task = ARENA_ARRAY(r->a, struct ws_run_task, p->nr);
    r->asks = ARENA_ARRAY(r->a, bool, p->nr);
    r->resumed = ARENA_ARRAY(r->a, int64_t, p->nr);
    r->world = ws_world_new(p, r->a);
    if (r->task == NULL || r->asks == NULL || r->resumed == NULL || r->world == NULL) return false;
    for (size_t i = 0; i < p->nr; i++) r->asks[i] = run_task_asks(&p->v[i], &r->options, &kind);
    r->schedule = ws_schedule_new(p, r->asks, r->options.clock, r->a);
    return r->schedule != NULL;
}

int run_open(const struct run_state *s, void **out, struct wopr_error *err) {
    const struct ws_program *program = s->wf->compiled;
    struct ws_run *r = run_new(program);
    int rc = r == NULL ? WOPR_E_NO_MEMORY : 0;
    if (rc == 0) {
        run_options_read(s->meta.configurable, &r->options, r->a);
        rc = run_objects(program, s->meta.inputs, r->a, &r->plan.objects, err);
    }
    if (rc == 0 && !run_make(r)) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) {
        *out = r;
        return 0;
    }
    run_close(r);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for a document") : rc;
}

bool run_short(const struct ws_run *r) {
    return r->no_memory || (arena_failed(r->a) && !arena_over(r->a));
}

size_t run_bytes(const void *program) {
    const struct ws_run *r = program;
    return arena_used(r->a) + r->deeds.cap;
}

/* --- the clock (WS-110, WS-111) --- */

/* The virtual instant that the clock shows. */
static int64_t instant_of(const struct ws_run *r, int64_t now_ms) {
    double v = (double)(now_ms - r->started_ms - r->paused_ms) * r->options.speed;
    if (v < 0) v = 0;
    return r->plan.origin_ms + (v < 0x1p53 ? (int64_t)floor(v) : INT64_C(1) << 53);
}

/* When the clock will show it; later than now. */
static int64_t due_of(const struct ws_run *r, int64_t vt, int64_t now_ms) {
    double ms = ceil((double)(vt - r->plan.origin_ms) / r->options.speed);
    int64_t at = r->started_ms + r->paused_ms + (ms < 0x1p53 ? (int64_t)ms : INT64_C(1) << 53);
    return at > now_ms ? at : now_ms + 1;
}

/* --- what comes next --- */

/* The instant at which the source of a replay has an event of this task; else the clock's. */
static int64_t instant_led(const struct ws_run *r, uint32_t task, const struct program_time *t) {
    int64_t vt;
    if (t->led == NULL) return instant_of(r, t->now_ms);
    if (!str_eq(t->led->node_id, r->plan.v[task].node_id)) return r->vt;
    if (json_int(json_get(json_get(t->led->payload, WS_LANGUAGE), "vt"), &vt)) return vt;
    if (json_int(json_get(json_get(t->led->payload, "outputs"), "end"), &vt)) return vt;
    return r->vt;
}

/* A replay does what its source did next: the completion of an answered task, or what is due. */
static bool answer_first(const struct ws_run *r, const struct program_time *t) {
    if (t->led == NULL || r->resumed_at == r->resumed_nr) return false;
    return str_eq(t->led->node_id, r->plan.v[r->resumed[r->resumed_at]].node_id);
}

/* The step that is due, or when one will be.  What is due by the clock comes before the completion
 * of what was answered just now. */
static enum ws_next step_choose(struct ws_run *r, const struct program_time *t) {
    bool real = r->options.clock == WS_REAL;
    int64_t now = !real || t->led != NULL ? INT64_MAX : instant_of(r, t->now_ms);
    enum ws_next next = WS_NEXT_BLOCKED;
    if (r->chosen) return WS_NEXT_STEP;
    if (!answer_first(r, t)) next = ws_schedule_next(r->schedule, now, &r->step);
    if (next != WS_NEXT_STEP && real && r->resumed_at < r->resumed_nr) {
        int64_t at = instant_led(r, (uint32_t)r->resumed[r->resumed_at], t);
        if (at < r->vt) at = r->vt;
        if (step_answer(r, at)) next = ws_schedule_next(r->schedule, at, &r->step);
    }
    r->chosen = next == WS_NEXT_STEP;
    return next;
}

static void next_fail(const struct ws_run *r, struct program_action *out) {
    out->what = PROGRAM_FAIL;
    out->node = (int)r->failed;
    out->reason = "run_failed";
}

/* The end of the step that is under way, whose changes are told. */
static void next_of_step(struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_run_task *t = &r->task[r->at];
    bool failed = r->outcome.failure.kind != WS_F_NONE;
    if (t->phase == TASK_IS_WITHDRAWING) {
        if (failed && !r->failure_told) say_kept(r, a, out);
        else say_failed(r, a, out);
    } else if (failed) {
        say_failed(r, a, out);
    } else if (t->phase == TASK_IS_ENDING) {
        say_completed(r, a, out);
    } else {
        say_question(r, a, out);
    }
}

/* All tasks are done: the world, and the end (WS-106). */
static int next_end(struct ws_run *r, const struct run_state *s, struct arena *a,
                    struct program_action *out) {
    if (r->artifact_told) {
        say_outputs(r, s, a, out);
        return 0;
    }
    out->artifact = run_world_artifact(r, s, a);
    if (out->artifact == NULL) return WOPR_E_NO_MEMORY;
    out->what = PROGRAM_EMIT;
    out->kind = EV_ARTIFACT_CREATED;
    out->payload = pay_artifact(a, out->artifact);
    out->more = true;
    return 0;
}

static void next_step(struct ws_run *r, const struct program_time *t, struct arena *a,
                      struct program_action *out) {
    switch (step_choose(r, t)) {
    case WS_NEXT_STEP:
        if (r->step.ends) {
            r->chosen = false;
            step_end(r, r->step.task, r->step.vt);
        } else {
            say_started(r, a, out);
        }
        break;
    case WS_NEXT_LATER:
        out->at_ms = due_of(r, r->step.vt, t->now_ms);
        break;
    case WS_NEXT_BLOCKED:
    case WS_NEXT_DONE:
        break;
    }
}

static bool ignored_untold(const struct ws_run *r) {
    return !r->ignored_told && ws_world_ignored(r->world) > 0;
}

int run_next(void *program, const struct run_state *s, const struct program_time *t,
             struct arena *a, struct program_action *out) {
    struct ws_run *r = program;
    out->what = PROGRAM_WAIT;
    step_settle(r);
    if (!r->begun && r->warned < r->program->warnings_nr) say_warning(r, a, out);
    else if (r->failed >= 0) next_fail(r, out);
    else if (r->at < 0 && r->done == r->plan.nr) return next_end(r, s, a, out);
    else {
        if (r->at < 0 && r->rejected >= 0)
            step_withdraw(r, (uint32_t)r->rejected,
                          r->options.clock == WS_REAL ? instant_led(r, (uint32_t)r->rejected, t)
                                                      : r->vt);
        if (r->at < 0 && ignored_untold(r)) say_ignored(r, a, out);
        else if (r->at < 0) next_step(r, t, a, out);
        if (r->at >= 0 && !step_told(r)) say_change(r, a, out);
        else if (r->at >= 0) next_of_step(r, a, out);
    }
    bool none = out->what == PROGRAM_EMIT && out->payload.p == NULL;
    return none || run_short(r) ? WOPR_E_NO_MEMORY : 0;
}

void run_timed_out(void *program, int node) {
    struct ws_run *r = program;
    r->task[node].late = true;
    if (r->at < 0) step_withdraw(r, (uint32_t)node, r->vt);
    else if (r->rejected < 0) r->rejected = node; /* after the step under way */
}

bool run_late(const void *program, int node) {
    return ((const struct ws_run *)program)->task[node].late;
}

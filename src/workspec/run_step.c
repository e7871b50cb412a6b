/*
 * run_step.c: the steps of a run, and the deeds by which it moves (run_int.h).  Both the fold of an
 * event and the loading of an image come here; nothing else changes what a run knows of its tasks.
 */
#include "workspec/run_int.h"

/* --- steps --- */

bool step_told(const struct ws_run *r) { return r->told == r->outcome.nr; }

void step_settle(struct ws_run *r) {
    if (r->at < 0 || !step_told(r)) return;
    struct ws_run_task *t = &r->task[r->at];
    if (t->phase != TASK_IS_STARTING || r->outcome.failure.kind != WS_F_NONE) return;
    if (r->asks[r->at]) return;
    t->phase = TASK_IS_RUNNING;
    r->at = -1;
}

static void step_enter(struct ws_run *r, uint32_t task, enum run_phase phase, int64_t vt) {
    r->at = task;
    r->task[task].phase = phase;
    r->vt = vt;
    r->told = 0;
    r->shown = false;
    r->failure_told = false;
}

/* The changes of a start are told again when the task completes, and the world forgets those of a
 * step with the next one. */
static struct ws_change *changes_keep(struct ws_run *r, size_t *nr) {
    struct ws_change *v = ARENA_ARRAY(r->a, struct ws_change, r->outcome.nr);
    *nr = v != NULL ? r->outcome.nr : 0; /* the arena tells of memory */
    if (*nr > 0) memcpy(v, r->outcome.v, *nr * sizeof *v);
    return v;
}

static void start_enter(struct ws_run *r, uint32_t task, int64_t vt) {
    struct ws_run_task *t = &r->task[task];
    step_enter(r, task, TASK_IS_STARTING, vt);
    t->begun = vt;
    r->begun = true;
    ws_begin(r->world, task, vt, &r->outcome);
    t->made = changes_keep(r, &t->made_nr);
}

void step_end(struct ws_run *r, uint32_t task, int64_t vt) {
    step_enter(r, task, TASK_IS_ENDING, vt);
    struct ws_run_task *t = &r->task[task];
    t->ended = vt;
    ws_end(r->world, task, vt, &r->outcome);
    results_enter(r, task);
}

void step_withdraw(struct ws_run *r, uint32_t task, int64_t vt) {
    step_enter(r, task, TASK_IS_WITHDRAWING, vt);
    if (r->rejected == task) r->rejected = -1;
    question_leave(r, task);
    ws_withdraw(r->world, task, vt, &r->outcome);
}

bool step_answer(struct ws_run *r, int64_t vt) {
    if (r->resumed_at == r->resumed_nr) return false;
    uint32_t task = (uint32_t)r->resumed[r->resumed_at++];
    return ws_schedule_answer(r->schedule, task, vt);
}

/* A step that the log has must be the one that the plan leads to: the schedule, asked at its
 * instant, gives it.  That also brings the schedule to where it was. */
static bool step_take(struct ws_run *r, uint32_t task, bool ends, int64_t vt) {
    bool answered = ends && r->options.clock == WS_REAL && r->resumed_at < r->resumed_nr &&
                    r->resumed[r->resumed_at] == task;
    if (!r->chosen && answered && !step_answer(r, vt)) return false;
    if (!r->chosen && ws_schedule_next(r->schedule, vt, &r->step) != WS_NEXT_STEP) return false;
    r->chosen = false;
    return r->step.task == task && r->step.ends == ends && r->step.vt == vt;
}

/* --- deeds --- */

static const char *begin_apply(struct ws_run *r, const struct ws_deed *f) {
    enum run_phase phase = r->task[f->task].phase;
    if (r->at >= 0) return "another step is under way";
    if (f->kind == DEED_START) {
        if (!step_take(r, f->task, false, f->vt)) return "the task is not the next one";
        start_enter(r, f->task, f->vt);
    } else if (f->kind == DEED_END) {
        if (phase != TASK_IS_RUNNING && phase != TASK_IS_ANSWERED) return "the task does not run";
        if (!step_take(r, f->task, true, f->vt)) return "the task does not end next";
        step_end(r, f->task, f->vt);
    } else {
        if (phase != TASK_IS_ASKED && phase != TASK_IS_ANSWERED)
            return "nothing of the task can be withdrawn";
        step_withdraw(r, f->task, f->vt);
    }
    r->shown = true;
    return NULL;
}

struct ws_deed deed_of_step(const struct ws_run *r) {
    enum run_phase phase = r->task[r->at].phase;
    return (struct ws_deed){.kind = phase == TASK_IS_STARTING ? DEED_START
                                    : phase == TASK_IS_ENDING ? DEED_END
                                                              : DEED_WITHDRAW,
                            .task = (uint32_t)r->at,
                            .vt = r->vt};
}

static const char *complete_apply(struct ws_run *r, bool plain) {
    if (r->at < 0 || r->task[r->at].phase != TASK_IS_ENDING || !step_told(r) ||
        r->outcome.failure.kind != WS_F_NONE)
        return "the task has not come to its end";
    r->task[r->at].phase = TASK_IS_DONE;
    r->task[r->at].plain = plain;
    r->done++;
    r->at = -1;
    return NULL;
}

/* Fail-fast (WS-91): what else the failed step would have said is never said. */
static const char *fail_apply(struct ws_run *r, uint32_t task) {
    r->task[task].phase = TASK_HAS_FAILED;
    question_leave(r, task);
    if (r->failed < 0) r->failed = task;
    if (r->at == (int64_t)task) r->at = -1;
    return NULL;
}

static const char *resume_apply(struct ws_run *r, const struct ws_deed *f) {
    if (r->task[f->task].phase != TASK_IS_ASKED) return "the task waits for no answer";
    r->task[f->task].phase = TASK_IS_ANSWERED;
    question_leave(r, f->task);
    if (f->flag) {
        if (r->rejected < 0) r->rejected = f->task;
    } else if (r->options.clock == WS_REAL) {
        r->resumed[r->resumed_nr++] = f->task;
    } else if (!ws_schedule_answer(r->schedule, f->task, 0)) {
        return "the task waits for no answer";
    }
    return NULL;
}

const char *deed_apply(struct ws_run *r, const struct ws_deed *f) {
    struct ws_run_task *t = &r->task[f->task];
    switch (f->kind) {
    case DEED_START:
    case DEED_END:
    case DEED_WITHDRAW:
        return begin_apply(r, f);
    case DEED_CHANGE:
        if (r->at < 0 || step_told(r)) return "the step has no such change";
        r->told++;
        return NULL;
    case DEED_KEPT:
        r->failure_told = true;
        return NULL;
    case DEED_COMPLETE:
        return complete_apply(r, f->flag);
    case DEED_FAIL:
        return fail_apply(r, f->task);
    case DEED_ASK:
        if (r->at != (int64_t)f->task || t->phase != TASK_IS_STARTING || !step_told(r))
            return "the task has nothing to ask";
        t->phase = TASK_IS_ASKED;
        question_enter(r, f->task);
        r->at = -1;
        return NULL;
    case DEED_DECIDE:
        if (f->text.n > 0) t->decided_by = arena_str(r->a, f->text);
        if (!f->flag) return NULL;
        t->late = true; /* the log may be cut here: what is next is to take back what it did */
        if (t->phase == TASK_IS_ASKED && r->rejected < 0) r->rejected = f->task;
        return NULL;
    case DEED_ANSWER:
        t->answers = arena_str(r->a, f->text);
        return NULL;
    case DEED_RESUME:
        return resume_apply(r, f);
    case DEED_NR:
        break;
    }
    return "it is no deed of a document";
}

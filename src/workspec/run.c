/* run.c: a run of a document: the fold of its log, and what comes next (section 5). */
#include "codec/json.h"
#include "workspec/run_int.h"

#include <math.h>

#define RUN_ARENA_MAX ((size_t)256 * 1024 * 1024)

/* --- life --- */

static void run_close(void *program) {
    struct ws_run *r = program;
    if (r != NULL) arena_free(r->a);
}

static bool run_make(struct ws_run *r) {
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

static int run_open(const struct run_state *s, void **out, struct wopr_error *err) {
    const struct ws_program *program = s->wf->compiled;
    struct arena *a = arena_new(RUN_ARENA_MAX);
    struct ws_run *r = a != NULL ? ARENA_NEW(a, struct ws_run) : NULL;
    int rc = r == NULL ? WOPR_E_NO_MEMORY : 0;
    if (rc == 0) {
        *r = (struct ws_run){.program = program,
                             .plan = program->plan,
                             .a = a,
                             .at = -1,
                             .failed = -1,
                             .rejected = -1};
        run_options_read(s->meta.configurable, &r->options, a);
        rc = run_objects(program, s->meta.inputs, a, &r->plan.objects, err);
    }
    if (rc == 0 && !run_make(r)) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) {
        *out = r;
        return 0;
    }
    arena_free(a);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for a document") : rc;
}

static size_t run_bytes(const void *program) {
    return arena_used(((const struct ws_run *)program)->a);
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

/* --- steps --- */

static bool step_told(const struct ws_run *r) { return r->told == r->outcome.nr; }

/* A start that did everything, is told, and asks no one, is over. */
static void step_settle(struct ws_run *r) {
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
    r->failure_told = false;
}

/* The changes of a start are told again when the task completes. */
static bool made_keep(struct ws_run *r, struct ws_run_task *t) {
    t->made_nr = r->outcome.nr;
    t->made = ARENA_ARRAY(r->a, struct ws_change, t->made_nr);
    if (t->made != NULL && t->made_nr > 0)
        memcpy(t->made, r->outcome.v, t->made_nr * sizeof *t->made);
    return t->made != NULL;
}

static void start_enter(struct ws_run *r, uint32_t task, int64_t vt) {
    struct ws_run_task *t = &r->task[task];
    step_enter(r, task, TASK_IS_STARTING, vt);
    t->begun = vt;
    r->begun = true;
    ws_begin(r->world, task, vt, &r->outcome);
    (void)made_keep(r, t); /* the arena tells */
}

static void end_enter(struct ws_run *r, uint32_t task, int64_t vt) {
    step_enter(r, task, TASK_IS_ENDING, vt);
    r->task[task].ended = vt;
    ws_end(r->world, task, vt, &r->outcome);
}

static void withdraw_enter(struct ws_run *r, uint32_t task, int64_t vt) {
    step_enter(r, task, TASK_IS_WITHDRAWING, vt);
    if (r->rejected == task) r->rejected = -1;
    ws_withdraw(r->world, task, vt, &r->outcome);
}

/* Real clock: the completion of an answered task, at the instant of the answer (WS-118). */
static bool answer_due(struct ws_run *r, int64_t vt) {
    if (r->resumed_at == r->resumed_nr) return false;
    uint32_t task = (uint32_t)r->resumed[r->resumed_at++];
    return ws_schedule_answer(r->schedule, task, vt);
}

/* The step that an event of the log is of must be the one that the plan leads to. */
static bool step_take(struct ws_run *r, uint32_t task, bool ends, int64_t vt) {
    bool answered = ends && r->options.clock == WS_REAL && r->resumed_at < r->resumed_nr &&
                    r->resumed[r->resumed_at] == task;
    if (!r->chosen && answered && !answer_due(r, vt)) return false;
    if (!r->chosen && ws_schedule_next(r->schedule, vt, &r->step) != WS_NEXT_STEP) return false;
    r->chosen = false;
    return r->step.task == task && r->step.ends == ends && r->step.vt == vt;
}

/* --- the fold --- */

struct told { /* an event on its way into the state */
    struct ws_run *r;
    const struct run_state *s;
    const struct event *e;
    struct ws_run_task *t; /* of its node, or NULL */
    uint32_t task;
    struct wopr_error *err;
};

static int told_wrong(const struct told *f, const char *what) {
    return wopr_error_set(f->err, WOPR_E_CORRUPT,
                          "event %lld (%s): %s; the log is not one of the document",
                          (long long)f->e->seq, event_name(f->e->kind), what);
}

static bool told_vt(struct str object, const char *key, int64_t *out) {
    return json_int(json_get(object, key), out);
}

static int fold_started(struct told *f) {
    int64_t vt;
    if (!told_vt(json_get(f->e->payload, WS_LANGUAGE), "vt", &vt))
        return told_wrong(f, "it has no instant");
    if (f->r->at >= 0) return told_wrong(f, "another step is under way");
    if (!step_take(f->r, f->task, false, vt)) return told_wrong(f, "the task is not the next one");
    start_enter(f->r, f->task, vt);
    return 0;
}

/* The first event of a completion or of a withdrawal. */
static int step_begins(struct told *f, bool withdraws, int64_t vt) {
    struct ws_run *r = f->r;
    enum run_phase phase = f->t->phase;
    if (r->at >= 0) return told_wrong(f, "another step is under way");
    if (withdraws) {
        if (phase != TASK_IS_ASKED && phase != TASK_IS_ANSWERED)
            return told_wrong(f, "nothing of the task can be withdrawn");
        withdraw_enter(r, f->task, vt);
        return 0;
    }
    if (phase != TASK_IS_RUNNING && phase != TASK_IS_ANSWERED)
        return told_wrong(f, "the task does not run");
    if (!step_take(r, f->task, true, vt)) return told_wrong(f, "the task does not end next");
    end_enter(r, f->task, vt);
    return 0;
}

/* A text in which the log hides what looks like a credential is not compared (OBS-75). */
static bool text_hides(const struct told *f, struct str text) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    bool hides = redact_json(text, f->s->options.credential_ref, &b, NULL) != 0 ||
                 !str_eq(buf_str(&b), text);
    buf_fini(&b);
    return hides;
}

static bool name_hides(const struct told *f, struct str name) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    json_quote(&b, name);
    bool hides = buf_failed(&b) || text_hides(f, buf_str(&b));
    buf_fini(&b);
    return hides;
}

/* WS-114: what the log says is what the interpreter did. */
static int change_compare(struct told *f, const struct ws_change *c) {
    struct str logged = json_get(f->e->payload, "next"), next, name;
    struct arena *a = arena_new(RUN_ARENA_MAX);
    if (a == NULL) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    next = change_next(a, c);
    name = ws_variable_name(a, c->object, c->property);
    bool same =
        str_eq(json_string(json_get(f->e->payload, "name"), a), name) || name_hides(f, name);
    same = same && (str_eq(logged, next) || (next.n > 0 && text_hides(f, next)));
    bool failed = arena_failed(a);
    arena_free(a);
    if (failed) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    return same ? 0 : told_wrong(f, "the interpreter comes to another value");
}

static int fold_changed(struct told *f) {
    struct ws_run *r = f->r;
    struct str more = json_get(f->e->payload, WS_LANGUAGE);
    int64_t vt;
    int rc = 0;
    if (!told_vt(more, "vt", &vt)) return told_wrong(f, "it has no instant");
    if (r->at != (int64_t)f->task)
        rc = step_begins(f, str_eqc(json_get(more, "cause"), "\"withdraw\""), vt);
    if (rc != 0) return rc;
    if (step_told(r)) return told_wrong(f, "the step has no such change");
    rc = change_compare(f, &r->outcome.v[r->told]);
    if (rc == 0) r->told++;
    return rc;
}

static int fold_completed(struct told *f) {
    struct ws_run *r = f->r;
    int64_t vt;
    if (!told_vt(json_get(f->e->payload, "outputs"), "end", &vt))
        return told_wrong(f, "it has no instant");
    int rc = r->at != (int64_t)f->task ? step_begins(f, false, vt) : 0;
    if (rc != 0) return rc;
    if (f->t->phase != TASK_IS_ENDING || !step_told(r) || r->outcome.failure.kind != WS_F_NONE)
        return told_wrong(f, "the task has not come to its end");
    f->t->phase = TASK_IS_DONE;
    r->done++;
    r->at = -1;
    return 0;
}

static int fold_failed(struct told *f) {
    f->t->phase = TASK_HAS_FAILED;
    if (f->r->failed < 0) f->r->failed = f->task;
    if (f->r->at == (int64_t)f->task) f->r->at = -1;
    return 0;
}

static int fold_suspended(struct told *f) {
    if (f->t->phase != TASK_IS_STARTING) return 0; /* a pause stops what runs */
    f->t->phase = TASK_IS_ASKED;
    f->r->at = -1;
    return 0;
}

static int fold_received(struct told *f) {
    struct str by = json_get(f->e->payload, "decidedBy");
    if (by.n > 0) f->t->decided_by = json_string(by, f->r->a);
    if (str_eqc(json_get(f->e->payload, "action"), "\"timeout\"")) f->t->late = true;
    return 0;
}

static int fold_answers(struct told *f) {
    f->t->answers = arena_str(f->r->a, json_get(f->e->payload, "answers"));
    return 0;
}

static int fold_resumed(struct told *f) {
    struct ws_run *r = f->r;
    struct str value = json_get(f->e->payload, "resumeValue");
    if (f->t->phase != TASK_IS_ASKED) return 0; /* after a pause */
    f->t->phase = TASK_IS_ANSWERED;
    if (json_type_of(value) == JSON_OBJECT && str_eqc(json_get(value, "action"), "\"reject\"")) {
        if (r->rejected < 0) r->rejected = f->task;
        return 0;
    }
    if (r->options.clock == WS_REAL) r->resumed[r->resumed_nr++] = f->task;
    else if (!ws_schedule_answer(r->schedule, f->task, 0))
        return told_wrong(f, "the task waits for no answer");
    return 0;
}

static int fold_log(struct told *f) {
    struct str word = json_get(json_get(f->e->payload, "fields"), WS_LANGUAGE);
    if (str_eqc(word, "\"warning\"")) f->r->warned++;
    if (str_eqc(word, "\"ignored\"")) f->r->ignored_told = true;
    if (str_eqc(word, "\"kept\"")) f->r->failure_told = true;
    return 0;
}

static int fold_of_run(struct told *f) {
    struct ws_run *r = f->r;
    switch (f->e->kind) {
    case EV_RUN_STARTED:
        r->started_ms = f->e->ts_ms;
        break;
    case EV_RUN_PAUSED:
        r->paused_since_ms = f->e->ts_ms;
        break;
    case EV_RUN_RESUMED: /* WS-113; without a pause it is the mark of a takeover */
        if (r->paused_since_ms > 0) r->paused_ms += f->e->ts_ms - r->paused_since_ms;
        r->paused_since_ms = 0;
        break;
    case EV_ARTIFACT_CREATED:
        r->artifact_told = true;
        break;
    case EV_LOG_APPENDED:
        return fold_log(f);
    default:
        break;
    }
    return 0;
}

static int (*fold_of(enum ev_kind kind))(struct told *f) {
    static const struct {
        enum ev_kind kind;
        int (*fold)(struct told *f);
    } FOLDS[] = {
        {EV_NODE_STARTED, fold_started},     {EV_VARIABLE_CHANGED, fold_changed},
        {EV_NODE_COMPLETED, fold_completed}, {EV_NODE_FAILED, fold_failed},
        {EV_NODE_SUSPENDED, fold_suspended}, {EV_APPROVAL_RECEIVED, fold_received},
        {EV_NODE_RESUMED, fold_resumed},     {EV_CLARIFICATION_RESOLVED, fold_answers},
        {EV_LOG_APPENDED, fold_log},
    };
    for (size_t i = 0; i < sizeof FOLDS / sizeof *FOLDS; i++)
        if (FOLDS[i].kind == kind) return FOLDS[i].fold;
    return NULL;
}

static int run_fold(void *program, const struct run_state *s, const struct event *e, int node,
                    struct wopr_error *err) {
    struct ws_run *r = program;
    struct told f = {.r = r, .s = s, .e = e, .err = err};
    step_settle(r);
    int rc = 0;
    if (node < 0) {
        rc = fold_of_run(&f);
    } else {
        int (*fold)(struct told * f) = fold_of(e->kind);
        f.task = (uint32_t)node; /* node n is task n */
        f.t = &r->task[node];
        if (fold != NULL) rc = fold(&f);
    }
    bool no_memory = arena_failed(r->a) && !arena_over(r->a);
    return rc == 0 && no_memory ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document")
                                : rc;
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
        if (answer_due(r, at)) next = ws_schedule_next(r->schedule, at, &r->step);
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
            end_enter(r, r->step.task, r->step.vt);
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

static int run_next(void *program, const struct run_state *s, const struct program_time *t,
                    struct arena *a, struct program_action *out) {
    struct ws_run *r = program;
    out->what = PROGRAM_WAIT;
    step_settle(r);
    if (!r->begun && r->warned < r->program->warnings_nr) say_warning(r, a, out);
    else if (r->failed >= 0) next_fail(r, out);
    else if (r->at < 0 && r->done == r->plan.nr) return next_end(r, s, a, out);
    else {
        if (r->at < 0 && r->rejected >= 0)
            withdraw_enter(r, (uint32_t)r->rejected,
                           r->options.clock == WS_REAL ? instant_led(r, (uint32_t)r->rejected, t)
                                                       : r->vt);
        if (r->at < 0 && ignored_untold(r)) say_ignored(r, a, out);
        else if (r->at < 0) next_step(r, t, a, out);
        if (r->at >= 0 && !step_told(r)) say_change(r, a, out);
        else if (r->at >= 0) next_of_step(r, a, out);
    }
    bool none = out->what == PROGRAM_EMIT && out->payload.p == NULL;
    return none || arena_failed(r->a) ? WOPR_E_NO_MEMORY : 0;
}

static void run_timed_out(void *program, int node) {
    struct ws_run *r = program;
    r->task[node].late = true;
    if (r->at < 0) withdraw_enter(r, (uint32_t)node, r->vt);
}

const struct program_ops WS_PROGRAM = {.name = WS_LANGUAGE,
                                       .compiled_free = ws_compiled_free,
                                       .options = run_options_good,
                                       .options_same = run_options_equal,
                                       .inputs = run_inputs_read,
                                       .open = run_open,
                                       .close = run_close,
                                       .bytes = run_bytes,
                                       .fold = run_fold,
                                       .next = run_next,
                                       .timed_out = run_timed_out,
                                       .opening = say_opening};

/*
 * run_fold.c: what an event means for a run: the deeds that it is read as, and whether it says what
 * it ought to (WS-114).
 */
#include "codec/json.h"
#include "workspec/run_int.h"

#define COMPARE_BYTES_MAX ((size_t)64 * 1024 * 1024)

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

static int told_deed(const struct told *f, struct ws_deed deed) {
    deed.task = f->task;
    const char *wrong = deed_apply(f->r, &deed);
    if (wrong != NULL) return told_wrong(f, wrong);
    deed_note(f->r, &deed);
    return 0;
}

static bool told_vt(struct str object, const char *key, int64_t *out) {
    return json_int(json_get(object, key), out);
}

/* The first event of a step other than a start brings the step with it.  In the run that emits it
 * the world has been told before, when the changes were asked for; then it is only noted. */
static int told_step(const struct told *f, enum ws_deed_kind kind, int64_t vt) {
    struct ws_run *r = f->r;
    if (r->at != (int64_t)f->task) return told_deed(f, (struct ws_deed){.kind = kind, .vt = vt});
    if (r->shown) return 0;
    struct ws_deed begun = deed_of_step(r);
    deed_note(r, &begun);
    r->shown = true;
    return 0;
}

static int fold_started(struct told *f) {
    int64_t vt;
    if (!told_vt(json_get(f->e->payload, WS_LANGUAGE), "vt", &vt))
        return told_wrong(f, "it has no instant");
    return told_deed(f, (struct ws_deed){.kind = DEED_START, .vt = vt});
}

/* --- changes --- */

/* WS-114: what the log says is what the interpreter did.  A text in which the log hides what looks
 * like a credential is not compared (OBS-75). */
static int change_compare(struct told *f, const struct ws_change *c) {
    struct str logged = json_get(f->e->payload, "next"), next, name;
    struct arena *a = arena_new(COMPARE_BYTES_MAX);
    if (a == NULL) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    next = change_next(a, c);
    name = change_name(a, c);
    bool same =
        str_eq(json_string(json_get(f->e->payload, "name"), a), name) || run_hides_name(f->s, name);
    same = same && (str_eq(logged, next) || (next.n > 0 && run_hides(f->s, next)));
    bool failed = arena_failed(a);
    arena_free(a);
    if (failed) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    return same ? 0 : told_wrong(f, "the interpreter comes to another value");
}

static int fold_changed(struct told *f) {
    struct ws_run *r = f->r;
    struct str more = json_get(f->e->payload, WS_LANGUAGE);
    bool withdraws = str_eqc(json_get(more, "cause"), "\"withdraw\"");
    int64_t vt;
    if (!told_vt(more, "vt", &vt)) return told_wrong(f, "it has no instant");
    int rc = told_step(f, withdraws ? DEED_WITHDRAW : DEED_END, vt);
    if (rc == 0 && !step_told(r)) rc = change_compare(f, &r->outcome.v[r->told]);
    return rc == 0 ? told_deed(f, (struct ws_deed){.kind = DEED_CHANGE}) : rc;
}

/* --- ends --- */

static int fold_completed(struct told *f) {
    int64_t vt;
    if (!told_vt(json_get(f->e->payload, "outputs"), "end", &vt))
        return told_wrong(f, "it has no instant");
    int rc = told_step(f, DEED_END, vt);
    if (rc != 0) return rc;
    struct arena *a = arena_new(COMPARE_BYTES_MAX);
    if (a == NULL) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    struct str mine = say_results(f->r, f->task, a);
    bool plain = str_eq(json_get(f->e->payload, "outputs"), mine);
    arena_free(a);
    if (mine.p == NULL) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    return told_deed(f, (struct ws_deed){.kind = DEED_COMPLETE, .flag = plain});
}

static int fold_failed(struct told *f) { return told_deed(f, (struct ws_deed){.kind = DEED_FAIL}); }

/* --- people --- */

/* A pause also suspends what runs, and resumes it: neither is a question or its answer. */
static int fold_suspended(struct told *f) {
    if (f->s->nodes[f->task].pause_drained) return 0;
    return told_deed(f, (struct ws_deed){.kind = DEED_ASK});
}

static int fold_received(struct told *f) {
    struct str by = json_get(f->e->payload, "decidedBy");
    bool late = str_eqc(json_get(f->e->payload, "action"), "\"timeout\"");
    struct arena *a = arena_new(COMPARE_BYTES_MAX);
    if (a == NULL) return wopr_error_set(f->err, WOPR_E_NO_MEMORY, "no memory for a document");
    struct ws_deed deed = {.kind = DEED_DECIDE, .flag = late};
    if (by.n > 0) deed.text = json_string(by, a);
    int rc = told_deed(f, deed);
    arena_free(a);
    return rc;
}

static int fold_answers(struct told *f) {
    return told_deed(
        f, (struct ws_deed){.kind = DEED_ANSWER, .text = json_get(f->e->payload, "answers")});
}

static int fold_resumed(struct told *f) {
    struct str value = json_get(f->e->payload, "resumeValue");
    bool rejects =
        json_type_of(value) == JSON_OBJECT && str_eqc(json_get(value, "action"), "\"reject\"");
    if (f->t->phase != TASK_IS_ASKED) return 0; /* after a pause */
    return told_deed(f, (struct ws_deed){.kind = DEED_RESUME, .flag = rejects});
}

/* --- the run --- */

static int fold_log(struct told *f) {
    struct str word = json_get(json_get(f->e->payload, "fields"), WS_LANGUAGE);
    if (str_eqc(word, "\"warning\"")) f->r->warned++;
    if (str_eqc(word, "\"ignored\"")) f->r->ignored_told = true;
    if (str_eqc(word, "\"kept\"")) return told_deed(f, (struct ws_deed){.kind = DEED_KEPT});
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

int run_fold(void *program, const struct run_state *s, const struct event *e, int node,
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
    return rc == 0 && run_short(r)
               ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a document")
               : rc;
}

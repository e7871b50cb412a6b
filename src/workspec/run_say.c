/* run_say.c: events of a run of a document (5.4 and 5.6 of the contract). */
#include "codec/jobj.h"
#include "workspec/run_int.h"

enum {
    OUTPUTS_BYTES_MAX = 512 * 1024,  /* of a run */
    PAYLOAD_BYTES_MAX = 1000 * 1024, /* of a change with what was there before */
    TITLE_CHARS_MAX = 500            /* of an approval */
};

static void run_say_emit(struct program_action *out, enum ev_kind kind, int node,
                         struct str payload) {
    out->what = PROGRAM_EMIT;
    out->kind = kind;
    out->node = node;
    out->payload = payload;
}

static const struct ws_entry *entry_at(const struct ws_run *r) { return &r->plan.v[r->at]; }

/* --- the run --- */

static void hash_put(struct jw *w, const char *key, const struct sha256 *d) {
    char hex[65];
    sha256_hex(d, hex);
    jw_kstrz(w, key, hex);
}

struct str say_opening(const void *program, struct arena *a) {
    const struct ws_run *r = program;
    const struct ws_plan *p = &r->plan;
    bool real = r->options.clock == WS_REAL;
    char date[WS_DATE_SIZE];
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, "schemaVersion", "2.0");
    hash_put(&o.w, "documentSha256", &p->document_sha);
    hash_put(&o.w, "planSha256", &p->plan_sha);
    jw_kstrz(&o.w, "clock", real ? "real" : "virtual");
    if (real) {
        jw_key(&o.w, "speed");
        jw_double(&o.w, r->options.speed);
    }
    jw_kstrz(&o.w, "humanTasks", r->options.approval ? "approval" : "auto");
    jw_kint(&o.w, "originMs", p->origin_ms);
    if (p->anchored) {
        ws_date_format(p->anchor_days, date);
        jw_kstrz(&o.w, "anchorDate", date);
    }
    jw_kint(&o.w, "taskCount", (int64_t)p->nr);
    return jobj_end(&o, a);
}

/* A log line; fields: what it is, for the fold, and more. */
static void log_put(struct arena *a, struct program_action *out, struct str message,
                    struct jobj *fields) {
    struct str text = jobj_end(fields, a);
    run_say_emit(out, EV_LOG_APPENDED, -1,
                 text.p == NULL ? STR_NONE : pay_log(a, "warn", message, STR_NONE, text));
}

void say_warning(struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_warning *w = &r->program->warnings[r->warned];
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, WS_LANGUAGE, "warning");
    jw_kraw_opt(&o.w, "problem", w->problem);
    log_put(a, out, w->message, &o);
    out->more = true;
}

void say_ignored(struct ws_run *r, struct arena *a, struct program_action *out) {
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, WS_LANGUAGE, "ignored");
    jw_kint(&o.w, "operators", (int64_t)ws_world_ignored(r->world));
    log_put(a, out,
            STR("operators stand beside others that overrule them, and have no effect: a task "
                "should use one operator for a property"),
            &o);
}

/* WS-119: a withdrawal that could not take all back. */
void say_kept(struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_failure *f = &r->outcome.failure;
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, WS_LANGUAGE, "kept");
    jw_kstr(&o.w, "taskId", entry_at(r)->id);
    jw_kstr(&o.w, "target", f->target);
    jw_kstr_opt(&o.w, "property", f->property);
    log_put(a, out, STR("what the task changed could not be taken back, and stays"), &o);
    out->more = true;
}

void say_outputs(const struct ws_run *r, const struct run_state *s, struct arena *a,
                 struct program_action *out) {
    struct jobj o;
    size_t bytes = 0;
    for (size_t i = 0; i < r->plan.nr; i++)
        if (s->wf->nodes[i].out_nr == 0) bytes += s->nodes[i].outputs.n + r->plan.v[i].node_id.n;
    jobj_begin(&o, PLAN_BYTES_MAX);
    for (size_t i = 0; bytes <= OUTPUTS_BYTES_MAX && i < r->plan.nr; i++) {
        if (s->wf->nodes[i].out_nr > 0) continue; /* some task depends on it */
        jw_key_str(&o.w, r->plan.v[i].node_id);
        jw_raw(&o.w, text_str(&s->nodes[i].outputs));
    }
    if (bytes > OUTPUTS_BYTES_MAX) jw_kint(&o.w, "omittedBytes", (int64_t)bytes);
    out->what = PROGRAM_END;
    out->outputs = jobj_end(&o, a);
}

/* --- tasks --- */

void say_started(const struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_entry *e = &r->plan.v[r->step.task];
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstr(&o.w, "taskId", e->id);
    jw_kstr(&o.w, "performer", e->performer);
    jw_kint(&o.w, "vt", r->step.vt);
    jw_kint(&o.w, "plannedStart", e->start_ms);
    jw_kint(&o.w, "plannedEnd", e->end_ms);
    struct str payload = pay_node_started(a, e->node_id, STR(WS_NODE_TYPE), 0);
    run_say_emit(out, EV_NODE_STARTED, (int)r->step.task,
                 pay_member(a, payload, WS_LANGUAGE, jobj_end(&o, a)));
    out->more = true;
}

static struct str change_more(struct arena *a, const struct ws_change *c) {
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstrz(&o.w, "cause", c->cause);
    jw_kint(&o.w, "interaction", (int64_t)c->action);
    jw_kstr_opt(&o.w, "property", c->property);
    jw_kstrz_opt(&o.w, "op", c->op);
    jw_kbool(&o.w, "temporary", c->temporary);
    jw_kint(&o.w, "vt", c->vt);
    return jobj_end(&o, a);
}

/* What was there before is left out where both are larger than an event may be. */
void say_change(const struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_change *c = &r->outcome.v[r->told];
    struct str previous = c->was != NULL ? ws_written(a, c->was) : STR_NONE;
    struct str next = change_next(a, c);
    if (previous.n + next.n > PAYLOAD_BYTES_MAX) previous = STR_NONE;
    struct str payload =
        pay_variable_changed(a, change_name(a, c), previous, next, r->plan.v[c->task].node_id);
    run_say_emit(out, EV_VARIABLE_CHANGED, (int)c->task,
                 pay_member(a, payload, WS_LANGUAGE, change_more(a, c)));
    out->more = true;
}

void say_completed(const struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_run_task *t = &r->task[r->at];
    run_say_emit(out, EV_NODE_COMPLETED, (int)r->at,
                 pay_node_completed(a, entry_at(r)->node_id, say_results(r, (size_t)r->at, a),
                                    t->ended - t->begun));
    out->more = r->done + 1 == r->plan.nr;
}

/* --- failures (4.7) --- */

static struct str failure_details(const struct ws_run *r, struct arena *a, struct str *message) {
    struct ws_report report;
    struct buf text;
    struct jobj o;
    ws_report_init(&report, a);
    ws_failure_raise(&r->outcome.failure, &r->plan, &report);
    jobj_begin(&o, PLAN_BYTES_MAX);
    buf_init(&text, WS_PROBLEM_BYTES_MAX);
    if (report.nr > 0) {
        const struct ws_problem *p = &report.v[0];
        jw_members(&o.w, p->context);
        jw_kstrz(&o.w, "metric_id", ws_metric(p->code));
        jw_kstr(&o.w, "instance", p->instance);
        ws_detail(&text, p, false);
    }
    *message = arena_str(a, buf_str(&text));
    buf_fini(&text);
    ws_report_fini(&report);
    return jobj_end(&o, a);
}

static struct str decision_details(const struct ws_run *r, struct arena *a, struct str *message) {
    const struct ws_run_task *t = &r->task[r->at];
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstr(&o.w, "task_id", entry_at(r)->id);
    jw_kstr_opt(&o.w, "decidedBy", t->decided_by);
    jw_kstr(&o.w, "instance", arena_printf(a, "/simulation/process/tasks/%lld", (long long)r->at));
    *message = t->late ? STR("nobody answered within the time of the task")
                       : STR("the task was rejected, and what it did is taken back");
    return jobj_end(&o, a);
}

void say_failed(const struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_run_task *t = &r->task[r->at];
    bool withdrawn = t->phase == TASK_IS_WITHDRAWING;
    struct str message, code, details;
    if (withdrawn) {
        details = decision_details(r, a, &message);
        code = t->late ? STR("interrupt_timeout") : STR("approval_rejected");
    } else {
        details = failure_details(r, a, &message);
        code = str_c(ws_failure_code(r->outcome.failure.kind));
    }
    struct str error = err_json(a, code, message, details, 0);
    run_say_emit(out, EV_NODE_FAILED, (int)r->at,
                 error.p == NULL ? STR_NONE : pay_node_failed(a, entry_at(r)->node_id, error, 1));
    out->more = true;
}

/* --- questions (WS-117) --- */

static struct str performer_name(const struct ws_run *r, const struct ws_entry *e) {
    struct ws_seen seen;
    for (size_t i = 0; i < ws_world_objects(r->world); i++) {
        if (!ws_world_object(r->world, i, &seen) || !str_eq(seen.id, e->performer)) continue;
        struct str name = ws_str(ws_get(seen.source, "name"));
        return name.n > 0 ? name : e->performer;
    }
    return e->performer;
}

static struct str title_of(const struct ws_run *r, const struct ws_entry *e, struct arena *a) {
    struct str own = ws_str(ws_get(ws_get(e->task, "x_openwop"), "title"));
    struct str what = ws_str(ws_get(e->task, "description"));
    if (own.n > 0) return ws_first_chars(own, TITLE_CHARS_MAX);
    struct str who = performer_name(r, e);
    if (what.n == 0) what = e->id;
    struct str title = arena_printf(a, STR_FMT ": " STR_FMT, STR_ARG(who), STR_ARG(what));
    return ws_first_chars(title, TITLE_CHARS_MAX);
}

static void shown_put(struct jw *w, struct ws_run *r, struct arena *a) {
    const struct ws_entry *e = entry_at(r);
    const struct ws_value *location = ws_get(e->task, "location");
    bool fits = question_shows(r, (size_t)r->at);
    struct str changes = fits ? changes_text(&r->task[r->at], a) : STR_NONE;
    jw_key(w, "artifactData");
    jw_object(w);
    jw_kstr(w, "taskId", e->id);
    jw_kstr(w, "performer", e->performer);
    if (location != NULL) result_value_put(w, "location", location);
    jw_kint(w, "plannedStart", e->start_ms);
    jw_kint(w, "plannedEnd", e->end_ms);
    if (!fits) jw_kint(w, "changesOmitted", (int64_t)r->task[r->at].made_nr);
    else if (changes.p != NULL) jw_kraw(w, "changes", changes);
    else w->b->failed = true;
    jw_end_object(w);
}

static struct str approval_data(struct ws_run *r, struct arena *a) {
    const struct ws_entry *e = entry_at(r);
    const struct ws_value *approvers = ws_get(ws_get(e->task, "x_openwop"), "approversList");
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_kstr(&o.w, "artifactId", arena_printf(a, "task:" STR_FMT, STR_ARG(e->id)));
    jw_kstrz(&o.w, "artifactType", "workspec.task");
    jw_kstr(&o.w, "title", title_of(r, e, a));
    jw_kraw(&o.w, "actions", STR("[\"accept\",\"reject\"]"));
    if (approvers != NULL) result_value_put(&o.w, "approversList", approvers);
    shown_put(&o.w, r, a);
    return jobj_end(&o, a);
}

/* Members of a question that the protocol does not have are left out. */
static struct str clarification_data(const struct ws_run *r, struct arena *a) {
    const struct ws_value *list =
        ws_array_of(ws_get(ws_get(entry_at(r)->task, "x_openwop"), "questions"));
    struct jobj o;
    jobj_begin(&o, PLAN_BYTES_MAX);
    jw_key(&o.w, "questions");
    jw_array(&o.w);
    for (size_t i = 0; list != NULL && i < list->nr; i++) {
        const struct ws_value *q = list->elements[i], *schema = ws_get(q, "schema");
        jw_object(&o.w);
        jw_kstr(&o.w, "id", ws_raw(ws_get(q, "id")));
        jw_kstr(&o.w, "question", ws_raw(ws_get(q, "question")));
        if (schema != NULL) result_value_put(&o.w, "schema", schema);
        jw_end_object(&o.w);
    }
    jw_end_array(&o.w);
    jw_kstrz(&o.w, "contextType", "workspec.task");
    return jobj_end(&o, a);
}

void say_question(struct ws_run *r, struct arena *a, struct program_action *out) {
    const struct ws_entry *e = entry_at(r);
    const struct ws_value *timeout = ws_get(ws_get(e->task, "x_openwop"), "timeoutMs");
    (void)run_task_asks(e, &r->options, &out->ask_kind);
    bool approval = strcmp(out->ask_kind, "approval") == 0;
    out->what = PROGRAM_ASK;
    out->node = (int)r->at;
    out->ask_data = approval ? approval_data(r, a) : clarification_data(r, a);
    if (approval)
        out->ask_schema = STR("{\"type\":\"object\",\"required\":[\"action\"],\"properties\":"
                              "{\"action\":{\"enum\":[\"accept\",\"reject\"]}}}");
    if (ws_is(timeout, WS_NUMBER) && timeout->number < (double)INTR_TIMEOUT_MAX)
        out->ask_timeout_ms = (int64_t)timeout->number;
}

/* --- what the log hides (OBS-75) --- */

bool run_hides(const struct run_state *s, struct str text) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    bool hides =
        redact_json(text, s->options.credential_ref, &b, NULL) != 0 || !str_eq(buf_str(&b), text);
    buf_fini(&b);
    return hides;
}

bool run_hides_name(const struct run_state *s, struct str name) {
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    json_quote(&b, name);
    bool hides = buf_failed(&b) || run_hides(s, buf_str(&b));
    buf_fini(&b);
    return hides;
}

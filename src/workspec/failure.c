/* failure.c: what a step failed of, as a problem; and the dry run (H17). */
#include "workspec/interpret.h"

static const struct {
    const char *code;
    enum ws_code problem;
} KINDS[] = {
    [WS_F_NONE] = {"", WS_H18},
    [WS_F_TRANSITION] = {"workspec_transition_mismatch", WS_T_TRANSITION},
    [WS_F_TYPE] = {"workspec_type_error", WS_T_TYPE},
    [WS_F_OVERFLOW] = {"workspec_numeric_overflow", WS_T_OVERFLOW},
    [WS_F_STOCK] = {"workspec_negative_quantity", WS_T_STOCK},
    [WS_F_PATH] = {"workspec_property_path", WS_T_PATH},
    [WS_F_REVERT] = {"workspec_revert_conflict", WS_T_REVERT},
    [WS_F_UNKNOWN] = {"workspec_unknown_target", WS_T_UNKNOWN},
    [WS_F_DELETED] = {"workspec_object_deleted", WS_T_DELETED},
    [WS_F_NOT_CREATED] = {"workspec_object_not_created", WS_T_NOT_CREATED},
    [WS_F_DUPLICATE] = {"workspec_duplicate_object", WS_T_DUPLICATE},
    [WS_F_PERFORMER] = {"workspec_performer_unavailable", WS_T_PERFORMER},
    [WS_F_LIMIT] = {"workspec_limit_exceeded", WS_H18},
};

const char *ws_failure_code(enum ws_failure_kind k) { return KINDS[k].code; }

enum ws_code ws_failure_problem(enum ws_failure_kind k) { return KINDS[k].problem; }

/* K/i/interactions/j and on; property.p NULL: without one. */
static struct str place_of(const struct ws_failure *f, struct arena *a, struct str property,
                           const char *rest) {
    struct str token = ws_token(a, property);
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    buf_addf(&b, "/simulation/process/tasks/%u/interactions/%zu", f->task, f->action);
    if (property.p != NULL) {
        buf_addz(&b, "/property_changes/");
        buf_adds(&b, token);
    }
    buf_addz(&b, rest);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static const char *operator_path(const struct ws_failure *f) {
    static const char *const NAMES[] = {"/delta",     "/multiply", "/increment",
                                        "/decrement", "/append",   "/remove"};
    for (size_t i = 0; f->op != NULL && i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(NAMES[i] + 1, f->op) == 0) return NAMES[i];
    return "";
}

static struct str deleter_of(const struct ws_failure *f, const struct ws_plan *p) {
    return f->deleted_by < 0 ? STR_NONE : p->v[f->deleted_by].id;
}

static const struct ws_value *interaction_of(const struct ws_failure *f, const struct ws_plan *p) {
    const struct ws_value *task = p->v[f->task].task;
    const struct ws_value *list = ws_array_of(ws_get(task, "interactions"));
    return list != NULL && f->action < list->nr ? list->elements[f->action] : task;
}

/* Where the text has what failed. */
static const struct ws_value *operator_of(const struct ws_failure *f, const struct ws_plan *p) {
    const struct ws_value *v = interaction_of(f, p);
    const struct ws_value *op = ws_get_str(ws_get(v, "property_changes"), f->property);
    return op != NULL ? op : v;
}

/* Failures of an operator. */
static void change_raise(const struct ws_failure *f, const struct ws_plan *p, struct ws_report *r) {
    const struct ws_value *where = operator_of(f, p);
    struct ws_fact task = ws_ft("task_id", p->v[f->task].id),
                   target = ws_ft("target_id", f->target);
    struct ws_fact property = ws_ft("property", f->property), op = ws_fz("operator", f->op);
    enum ws_code code = KINDS[f->kind].problem;
    struct str at = place_of(f, r->a, f->property, "");
    switch (f->kind) {
    case WS_F_TRANSITION:
        ws_raise(r, code, f->expected, place_of(f, r->a, f->property, "/from"),
                 WS_FACTS(task, target, property, ws_fv("expected", f->expected),
                          ws_fv("actual", f->actual)));
        return;
    case WS_F_TYPE:
        ws_raise(
            r, code, where, place_of(f, r->a, f->property, operator_path(f)),
            WS_FACTS(task, target, property, op, ws_fz("actual_type", ws_kind_name(f->actual))));
        return;
    case WS_F_OVERFLOW:
        ws_raise(r, code, where, place_of(f, r->a, f->property, operator_path(f)),
                 WS_FACTS(task, target, property, op, ws_fv("before", f->actual)));
        return;
    case WS_F_PATH:
        ws_raise(r, code, where, at,
                 WS_FACTS(task, target, property, ws_ft("segment", f->segment)));
        return;
    case WS_F_STOCK: {
        struct ws_fact delta = ws_fn("delta", f->delta);
        if (!f->additive) delta = ws_fv("delta", NULL);
        ws_raise(r, code, where, at,
                 WS_FACTS(task, ws_ft("object_id", f->target), ws_fv("before", f->actual), delta,
                          ws_fv("after", f->after)));
        return;
    }
    default:
        ws_raise(r, code, where, place_of(f, r->a, STR_NONE, "/temporary"),
                 WS_FACTS(task, target, property,
                          ws_fz("reason", KINDS[f->reason].code + strlen("workspec_"))));
        return;
    }
}

void ws_failure_raise(const struct ws_failure *f, const struct ws_plan *p, struct ws_report *r) {
    const struct ws_value *where = interaction_of(f, p);
    struct ws_fact task = ws_ft("task_id", p->v[f->task].id);
    struct ws_fact object = ws_ft("object_id", f->target);
    enum ws_code code = KINDS[f->kind].problem;
    switch (f->kind) {
    case WS_F_NONE:
        return;
    case WS_F_LIMIT: {
        struct ws_excess e = {"work of the interpreter", WS_WORK_MAX, WS_WORK_MAX + 1};
        ws_raise_excess(r, &e);
        return;
    }
    case WS_F_UNKNOWN:
        ws_raise(r, code, where, place_of(f, r->a, STR_NONE, "/target_id"),
                 WS_FACTS(task, ws_ft("target_id", f->target)));
        return;
    case WS_F_DELETED:
    case WS_F_NOT_CREATED:
        ws_raise(r, code, where, place_of(f, r->a, STR_NONE, "/target_id"),
                 WS_FACTS(task, object, ws_ft("deleted_by", deleter_of(f, p))));
        return;
    case WS_F_DUPLICATE:
        ws_raise(r, code, where, place_of(f, r->a, STR_NONE, "/object/id"), WS_FACTS(task, object));
        return;
    case WS_F_PERFORMER:
        ws_raise(r, code, ws_get(p->v[f->task].task, "actor_id"),
                 arena_printf(r->a, "/simulation/process/tasks/%u/actor_id", f->task),
                 WS_FACTS(task, ws_ft("actor_id", f->target)));
        return;
    default:
        change_raise(f, p, r);
        return;
    }
}

static void plan_play(const struct ws_plan *p, struct arena *own, struct ws_report *r) {
    struct ws_steps steps = {.plan = p};
    struct ws_step step;
    struct ws_outcome out;
    struct ws_world *w = ws_world_new(p, own);
    bool *failed = ARENA_ARRAY(own, bool, p->nr);
    if (w == NULL || failed == NULL) return; /* the arena tells */
    while (ws_next_step(&steps, &step) && !r->full && !r->failed && !arena_failed(own)) {
        if (failed[step.task]) continue;
        if (step.ends) ws_end(w, step.task, step.vt, &out);
        else ws_begin(w, step.task, step.vt, &out);
        if (out.failure.kind == WS_F_NONE || arena_failed(own)) continue;
        failed[step.task] = true;
        ws_failure_raise(&out.failure, p, r);
        if (out.failure.kind == WS_F_LIMIT) return;
    }
}

/* Its world has less room than that of a run: what was played here does not end there for want of
 * memory. */
void ws_dry_run(const struct ws_doc *doc, const struct ws_zones *zones, struct ws_report *r) {
    struct ws_plan p;
    struct wopr_error err;
    struct arena *own = arena_new(WS_WORLD_BYTES_MAX);
    if (own == NULL || ws_compile_to_play(doc, zones, r->a, &p, &err) != 0) {
        r->failed = true; /* the validator has seen to the rest */
        arena_free(own);
        return;
    }
    plan_play(&p, own, r);
    struct ws_excess e = {"bytes of the world", WS_WORLD_BYTES_MAX, WS_WORLD_BYTES_MAX + 1};
    if (arena_over(own)) ws_raise_excess(r, &e);
    else if (arena_failed(own)) r->failed = true;
    arena_free(own);
}

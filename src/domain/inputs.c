/*
 * inputs.c: initial variables of a run (RUN-3, WF-17, EVT-11).
 */
#include "base/near.h"
#include "codec/fields.h"
#include "codec/jobj.h"
#include "domain/program.h"

#define INPUTS_BYTES_MAX (16u * 1024 * 1024)
#define FIELDS_SHOWN_MAX 8u   /* of the refusals, in details */
#define FIELD_NAME_MAX   100u /* details omit longer names; the message counts them */

struct issues {
    struct jobj details; /* {"fields":[{"path","reason"} ... and still open (ERR-6) */
    size_t nr;
};

static void issues_begin(struct issues *is) {
    is->nr = 0;
    jobj_begin(&is->details, WOPR_DETAILS_SIZE);
    fields_begin(&is->details.w);
}

static void issue_add(struct issues *is, struct str name, const char *reason) {
    if (is->nr++ >= FIELDS_SHOWN_MAX || name.n > FIELD_NAME_MAX) return;
    struct buf path;
    buf_init(&path, 2 * FIELD_NAME_MAX);
    buf_addz(&path, "inputs.");
    buf_adds(&path, name);
    fields_add(&is->details.w, buf_str(&path), reason);
    buf_fini(&path);
}

static int issues_refuse(struct issues *is, struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs",
                           "%zu input(s) do not fit the variables of the workflow", is->nr);
    fields_end(&is->details.w);
    jobj_details(&is->details, err);
    return rc;
}

/* Details of a defect of the inputs as a whole; max: the exceeded limit, or 0. */
static void details_of_all(const char *reason, int64_t max, struct wopr_error *err) {
    struct issues is;
    issues_begin(&is);
    fields_add(&is.details.w, STR("inputs"), reason);
    fields_end(&is.details.w);
    if (max > 0) jw_kint(&is.details.w, "max", max);
    jobj_details(&is.details, err);
}

static int inputs_no_object(struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs", "inputs must be an object");
    details_of_all("wrong_type", 0, err);
    return rc;
}

static int inputs_too_long(struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs",
                           "inputs take %zu bytes at most, with those that a branch has from its "
                           "source: keep large data elsewhere and pass where it is",
                           RUN_INPUTS_MAX);
    details_of_all("too_long", RUN_INPUTS_MAX, err);
    return rc;
}

/* What a misspelt input was probably meant to be. */
static void stray_add(struct var_inits *r, struct str name, const struct workflow *wf,
                      struct arena *a) {
    enum { TRIED_MAX = 500 };
    struct near n;
    if (r->strays_nr == INPUT_STRAYS_MAX || name.n > INPUT_STRAY_BYTES) return;
    if (r->strays == NULL) r->strays = ARENA_ARRAY(a, struct input_stray, INPUT_STRAYS_MAX);
    if (r->strays == NULL) return; /* the caller meets the want of memory at its next step */
    near_init(&n, name);
    for (size_t i = 0; i < wf->vars_nr && i < TRIED_MAX; i++) near_try(&n, wf->vars[i].name);
    r->strays[r->strays_nr++] = (struct input_stray){name, near_best(&n)};
}

/* Declared values by name, so that the cost is the number of inputs plus the number of variables.
 * Others are dropped (EVT-11) and named to the caller, unless the workflow refuses them
 * (settings.strictInputs). */
static void inputs_collect(const struct json_members *m, const struct workflow *wf,
                           struct str *values, struct issues *is, struct var_inits *r,
                           struct arena *a) {
    for (size_t i = 0; i < m->n; i++) {
        const struct wf_variable *v = workflow_variable(wf, m->v[i].key);
        if (v != NULL) values[v - wf->vars] = m->v[i].raw;
        else if (wf->strict_inputs) issue_add(is, m->v[i].key, "undeclared");
        else stray_add(r, m->v[i].key, wf, a);
    }
}

int run_inputs_check(struct str inputs, const struct workflow *wf, struct arena *a,
                     struct var_inits *out, struct wopr_error *err) {
    struct json_members m = {0};
    struct var_inits r = {0};
    struct issues is;
    int rc = 0;
    if (inputs.n > 0) {
        if (json_type_of(inputs) != JSON_OBJECT) return inputs_no_object(err);
        if (inputs.n > RUN_INPUTS_MAX) return inputs_too_long(err);
        rc = json_members(inputs, a, &m, err);
        if (rc != 0) return rc;
    }
    if (wf->program != NULL && m.n > 0) return wf->program->inputs(wf, inputs, false, a, out, err);
    struct str *values = ARENA_ARRAY(a, struct str, wf->vars_nr);
    r.v = ARENA_ARRAY(a, struct var_init, wf->vars_nr);
    if (values == NULL || r.v == NULL)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the variables of a run");
    issues_begin(&is);
    inputs_collect(&m, wf, values, &is, &r, a);
    for (size_t i = 0; i < wf->vars_nr; i++) {
        const struct wf_variable *v = &wf->vars[i];
        struct var_init init = {.name = v->name,
                                .value = values[i],
                                .sensitive = v->sensitive,
                                .from_input = values[i].p != NULL};
        if (init.from_input && json_type_of(init.value) != v->type)
            issue_add(&is, v->name, "wrong_type");
        if (!init.from_input && v->has_default) init.value = v->default_value;
        if (init.value.p != NULL) r.v[r.n++] = init;
        else if (v->required) issue_add(&is, v->name, "required"); /* NODE-8 */
    }
    if (is.nr > 0) return issues_refuse(&is, err);
    jobj_drop(&is.details);
    if (wf->program != NULL) wf->program->needs(wf, &r.needs);
    *out = r;
    return 0;
}

int run_inputs_render(const struct var_inits *inits, struct arena *a, struct str *out,
                      struct wopr_error *err) {
    struct jobj o;
    if (inits->accepted.p != NULL) {
        *out = inits->accepted;
        return 0;
    }
    jobj_begin(&o, INPUTS_BYTES_MAX);
    for (size_t i = 0; i < inits->n; i++) {
        if (!inits->v[i].from_input) continue;
        jw_key_str(&o.w, inits->v[i].name);
        jw_raw(&o.w, inits->v[i].value);
    }
    struct str text = jobj_end(&o, a);
    if (!text.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the inputs");
    *out = text;
    return 0;
}

/*
 * inputs.c: initial variables of a run (RUN-3, WF-17, EVT-11).
 */
#include "domain/options.h"

#define INPUTS_BYTES_MAX (16u * 1024 * 1024)
#define FIELDS_SHOWN_MAX 8u /* of the refusals that details can name */
#define FIELD_NAME_MAX                                                                             \
    100u /* longer names are left out of details; the count in the message is right */

struct issues {
    struct buf fields;
    size_t nr, shown;
};

static void issue(struct issues *is, struct str name, const char *reason) {
    if (is->nr++ >= FIELDS_SHOWN_MAX || name.n > FIELD_NAME_MAX) return;
    struct buf path;
    buf_init(&path, 2 * FIELD_NAME_MAX);
    buf_addz(&path, "inputs.");
    buf_adds(&path, name);
    if (is->shown++ > 0) buf_addc(&is->fields, ',');
    buf_addz(&is->fields, "{\"path\":");
    json_quote(&is->fields, buf_str(&path));
    buf_addf(&is->fields, ",\"reason\":\"%s\"}", reason);
    buf_fini(&path);
}

static int refuse(struct issues *is, struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs",
                           "%zu input(s) do not fit the variables of the workflow", is->nr);
    if (!buf_failed(&is->fields))
        wopr_error_details(err, "{\"fields\":[" STR_FMT "]}", STR_ARG(buf_str(&is->fields)));
    return rc;
}

static int not_an_object(struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs", "inputs must be an object");
    wopr_error_details(err, "{\"fields\":[{\"path\":\"inputs\",\"reason\":\"wrong_type\"}]}");
    return rc;
}

static int too_long(struct wopr_error *err) {
    int rc = wopr_error_at(err, WOPR_E_VALIDATION, "/inputs",
                           "inputs take %u bytes at most, with those that a branch has from its "
                           "source: keep large data elsewhere and pass where it is",
                           RUN_INPUTS_MAX);
    wopr_error_details(err,
                       "{\"fields\":[{\"path\":\"inputs\",\"reason\":\"too_long\"}],"
                       "\"max\":%u}",
                       RUN_INPUTS_MAX);
    return rc;
}

/* Declared values by name, so that the cost is the number of inputs plus the number of variables.
 * Others are dropped (EVT-11), unless the workflow wants to know of them. */
static void given(const struct json_members *m, const struct workflow *wf, struct str *values,
                  struct issues *is) {
    for (size_t i = 0; i < m->n; i++) {
        const struct wf_variable *v = workflow_variable(wf, m->v[i].key);
        if (v != NULL) values[v - wf->vars] = m->v[i].raw;
        else if (wf->strict_inputs) issue(is, m->v[i].key, "undeclared");
    }
}

int run_inputs_check(struct str inputs, const struct workflow *wf, struct arena *a,
                     struct var_inits *out, struct wopr_error *err) {
    struct json_members m = {0};
    struct var_inits r = {0};
    struct issues is = {.nr = 0};
    int rc = 0;
    if (inputs.n > 0) {
        if (json_type_of(inputs) != JSON_OBJECT) return not_an_object(err);
        if (inputs.n > RUN_INPUTS_MAX) return too_long(err);
        rc = json_members(inputs, a, &m, err);
        if (rc != 0) return rc;
    }
    struct str *values = ARENA_ARRAY(a, struct str, wf->vars_nr);
    r.v = ARENA_ARRAY(a, struct var_init, wf->vars_nr);
    if (values == NULL || r.v == NULL)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the variables of a run");
    buf_init(&is.fields, sizeof(err->details));
    given(&m, wf, values, &is);
    for (size_t i = 0; i < wf->vars_nr; i++) {
        const struct wf_variable *v = &wf->vars[i];
        struct var_init init = {v->name, values[i], v->sensitive, values[i].p != NULL};
        if (init.from_input && json_type_of(init.value) != v->type)
            issue(&is, v->name, "wrong_type");
        if (!init.from_input && v->has_default) init.value = v->default_value;
        if (init.value.p != NULL) r.v[r.n++] = init;
        else if (v->required) issue(&is, v->name, "required"); /* NODE-8 */
    }
    if (is.nr > 0) rc = refuse(&is, err);
    else *out = r;
    buf_fini(&is.fields);
    return rc;
}

int run_inputs_render(const struct var_inits *inits, struct arena *a, struct str *out,
                      struct wopr_error *err) {
    struct buf b;
    struct jw w;
    buf_init(&b, INPUTS_BYTES_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < inits->n; i++) {
        if (!inits->v[i].from_input) continue;
        jw_key_str(&w, inits->v[i].name);
        jw_raw(&w, inits->v[i].value);
    }
    jw_end_object(&w);
    struct str text = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (!text.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the inputs");
    *out = text;
    return 0;
}

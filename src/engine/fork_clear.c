/*
 * fork_clear.c: clear values across a fork; see fork_clear.h.
 */
#include "engine/fork_clear.h"

#include "base/mem.h"
#include "codec/jobj.h"
#include "engine/fork_info.h"

int fork_lost(const struct run_fork *link, struct wopr_error *err) {
    if (link->mode == FORK_REPLAY) return 0;
    int rc = wopr_error_set(err, WOPR_E_CONFLICT,
                            "the source has ended, and the clear values of its sensitive data are"
                            " gone: branch from before they were written, give sensitive inputs in"
                            " the overlay, or replay the run");
    wopr_error_details(err,
                       "{\"sourceRunId\":\"" STR_FMT "\",\"fromSeq\":%lld,"
                       "\"reason\":\"sensitive_values_gone\"}",
                       STR_ARG(link->source_run_id), (long long)link->from_seq);
    return rc;
}

/* --- inputs --- */

/* Members of an object by name; none of an empty text. */
static int members_by_name(struct str object, struct arena *a, struct json_members *out,
                           struct wopr_error *err) {
    *out = (struct json_members){0};
    int rc = object.n > 0 ? json_members(object, a, out, err) : 0;
    if (rc == 0) json_members_sort(out);
    return rc;
}

/* With the masks for values: what a replay of a run that has ended begins with. */
static int inputs_as_shown(const struct workflow *wf, struct arena *a, const struct run_meta *m,
                           struct var_inits *vars, struct wopr_error *err) {
    struct json_members in = {0};
    int rc = members_by_name(m->inputs, a, &in, err);
    *vars = (struct var_inits){.v = ARENA_ARRAY(a, struct var_init, wf->vars_nr + 1)};
    if (!vars->v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
    for (size_t i = 0; rc == 0 && i < wf->vars_nr; i++) {
        struct var_init v = {.name = wf->vars[i].name, .value = wf->vars[i].default_value};
        const struct json_member *given = json_member_sorted(&in, v.name);
        if (given) v.value = given->raw;
        if (v.value.n == 0) continue; /* left out, and without a default */
        if (wf->vars[i].sensitive && !given) {
            rc = mask_value(wf->masking_mode, v.value, a, &v.shown, err);
            v.sensitive = true;
        } else {
            v.shown = v.value;
        }
        vars->v[vars->n++] = v;
    }
    return rc;
}

/* Without the masked ones, each of which the overlay has to give. */
static int masks_drop(const struct workflow *wf, struct str over, struct str inputs,
                      const struct run_fork *link, struct arena *a, struct str *out,
                      struct wopr_error *err) {
    struct json_members m = {0}, named, given;
    struct jobj o;
    int rc = inputs.n > 0 ? json_members(inputs, a, &m, err) : 0;
    if (rc == 0) rc = members_by_name(inputs, a, &named, err);
    if (rc == 0) rc = members_by_name(over, a, &given, err);
    bool omits = str_eqc(wf->masking_mode, "omit");
    for (size_t i = 0; rc == 0 && i < wf->vars_nr; i++)
        if (wf->vars[i].sensitive && (omits || json_member_sorted(&named, wf->vars[i].name)) &&
            !json_member_sorted(&given, wf->vars[i].name))
            rc = fork_lost(link, err);
    if (rc != 0) return rc;
    jobj_begin(&o, RUN_INPUTS_MAX);
    for (size_t i = 0; i < m.n; i++) {
        const struct wf_variable *d = workflow_variable(wf, m.v[i].key);
        if (d && d->sensitive) continue;
        jw_key_str(&o.w, m.v[i].key);
        jw_raw(&o.w, m.v[i].raw);
    }
    *out = jobj_end(&o, a);
    return out->p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
}

int fork_inputs(struct step *st, const struct fork_inputs *from, struct arena *a,
                struct run_meta *m, struct var_inits *vars, struct wopr_error *err) {
    const struct run_fork *link = from->source;
    const struct workflow *wf = st->exec->wf;
    struct str all = m->inputs, was = STR_NONE;
    struct json_members sealed = {0};
    int rc = 0;
    if (m->sealed) {
        rc = clear_one(st->engine, link->source_run_no, SEALED_INPUTS, a, &was, err);
        if (rc != 0) return rc;
        if (was.n > 0) rc = overlay_object(m->inputs, was, a, &all, err);
        else if (link->mode == FORK_REPLAY) return inputs_as_shown(wf, a, m, vars, err);
        else rc = masks_drop(wf, from->overlay, m->inputs, link, a, &all, err);
    }
    /* Sensitive inputs are merged clear, and masked as those of a new run. */
    if (rc == 0 && from->overlay.p) rc = overlay_object(all, from->overlay, a, &all, err);
    if (rc == 0) rc = run_inputs_check(all, wf, a, vars, err);
    if (rc == 0 && from->overlay.p) rc = engine_run_fits(st->engine, &vars->needs, err);
    if (rc == 0) rc = members_by_name(was, a, &sealed, err);
    if (rc == 0 && m->sealed) /* also of a child, in what is a plain variable there */
        for (size_t i = 0; i < vars->n; i++)
            if (json_member_sorted(&sealed, vars->v[i].name))
                vars->v[i].sensitive = vars->v[i].inherited = true;
    if (rc == 0) rc = run_inputs_mask(vars, wf->masking_mode, a, &m->inputs, &m->inputs_clear, err);
    m->sealed = m->inputs_clear.n > 0;
    return rc;
}

/* --- events --- */

struct fork_clear {
    struct clear_reader source;
    bool used; /* the state holds clear values of the source */
};

int fork_clear_open(struct run_exec *re, const struct run_fork *link, struct wopr_error *err) {
    struct fork_clear *c = MEM_NEW(struct fork_clear);
    if (!c) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
    re->fork.clear = c;
    return clear_open(&c->source, re->engine, link->source_run_no, err);
}

int fork_inherit(struct run_exec *re, struct event *e, struct wopr_error *err) {
    struct fork_clear *c = re->fork.clear;
    int rc = c ? clear_event(&c->source, e, err) : 0;
    if (rc == 0 && c && e->clear.n > 0) c->used = true;
    return rc;
}

void fork_inherits_image(struct run_exec *re) {
    if (!re->state->secrecy.masks && !re->state->secrecy.masked) return;
    if (re->fork.clear) re->fork.clear->used = true;
    if (re->fork.info) re->fork.info->masked = true;
}

bool fork_clear_used(const struct run_exec *re) { return re->fork.clear && re->fork.clear->used; }

void fork_clear_free(struct run_exec *re) {
    struct fork_clear *c = re->fork.clear;
    if (!c) return;
    clear_shut(&c->source);
    mem_free(c);
    re->fork.clear = NULL;
}

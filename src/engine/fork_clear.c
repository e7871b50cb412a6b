/*
 * fork_clear.c: clear values across a fork; see fork_clear.h.
 */
#include "engine/fork_clear.h"

#include "codec/jobj.h"

#define FORK_SEALS_MAX (32u * 1024 * 1024)

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

static bool object_has(struct str object, struct str name, struct arena *a) {
    struct json_members m;
    if (object.n == 0 || json_members(object, a, &m, NULL) != 0) return false;
    for (size_t i = 0; i < m.n; i++)
        if (str_eq(m.v[i].key, name)) return true;
    return false;
}

/* With the masks for values: what a replay of a run that has ended begins with. */
static int inputs_as_shown(const struct workflow *wf, struct arena *a, const struct run_meta *m,
                           struct var_inits *vars, struct wopr_error *err) {
    struct json_members in = {0};
    int rc = m->inputs.n > 0 ? json_members(m->inputs, a, &in, err) : 0;
    *vars = (struct var_inits){.v = ARENA_ARRAY(a, struct var_init, wf->vars_nr + 1)};
    if (!vars->v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
    for (size_t i = 0; rc == 0 && i < wf->vars_nr; i++) {
        struct var_init v = {.name = wf->vars[i].name, .value = wf->vars[i].default_value};
        for (size_t k = 0; k < in.n; k++)
            if (str_eq(in.v[k].key, v.name)) v.value = in.v[k].raw;
        if (wf->vars[i].sensitive && !object_has(m->inputs, v.name, a)) {
            rc = mask_value(wf->masking_mode, v.value, a, &v.shown, err);
            v.sensitive = true;
        } else {
            v.shown = v.value;
        }
        if (v.value.n > 0) vars->v[vars->n++] = v;
    }
    return rc;
}

/* Without the masked ones, each of which the overlay has to give. */
static int masks_drop(const struct workflow *wf, struct str over, struct str inputs,
                      const struct run_fork *link, struct arena *a, struct str *out,
                      struct wopr_error *err) {
    struct json_members m = {0};
    struct jobj o;
    int rc = inputs.n > 0 ? json_members(inputs, a, &m, err) : 0;
    bool omits = str_eqc(wf->masking_mode, "omit");
    for (size_t i = 0; rc == 0 && i < wf->vars_nr; i++)
        if (wf->vars[i].sensitive && (omits || object_has(inputs, wf->vars[i].name, a)) &&
            !object_has(over, wf->vars[i].name, a))
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
    int rc = 0;
    if (m->sealed) {
        rc = clear_one(st->engine, link->source_run_no, link->source_run_id, SEALED_INPUTS, a, &was,
                       err);
        if (rc != 0) return rc;
        if (was.n > 0) rc = overlay_object(m->inputs, was, a, &all, err);
        else if (link->mode == FORK_REPLAY) return inputs_as_shown(wf, a, m, vars, err);
        else rc = masks_drop(wf, from->overlay, m->inputs, link, a, &all, err);
    }
    /* Sensitive inputs are merged clear, and masked as those of a new run. */
    if (rc == 0 && from->overlay.p) rc = overlay_object(all, from->overlay, a, &all, err);
    if (rc == 0) rc = run_inputs_check(all, wf, a, vars, err);
    if (rc == 0 && m->sealed) /* also of a child, in what is a plain variable there */
        for (size_t i = 0; i < vars->n; i++)
            if (object_has(was, vars->v[i].name, a)) vars->v[i].sensitive = true;
    if (rc == 0) rc = run_inputs_mask(vars, wf->masking_mode, a, &m->inputs, &m->inputs_clear, err);
    m->sealed = m->inputs_clear.n > 0;
    return rc;
}

/* --- events --- */

int fork_seal(struct step *st, struct fork_seals *s, const struct event *e,
              struct wopr_error *err) {
    const struct seal_place place = {str_c(st->exec->run_id), e->seq};
    struct plan_sealed row;
    if (e->clear.n == 0) return 0;
    if (!s->a) s->a = arena_new(FORK_SEALS_MAX);
    if (!s->a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
    int rc = vault_seal(st->engine->cfg.vault, &place, e->clear, s->a, &row, err);
    if (rc != 0) return rc;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        struct plan_sealed *v = ARENA_ARRAY(s->a, struct plan_sealed, cap);
        if (!v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a fork");
        if (s->n > 0) memcpy(v, s->v, s->n * sizeof *v);
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = row;
    return 0;
}

void fork_seals_take(struct fork_seals *s, struct plan *p) {
    for (size_t i = 0; i < s->n; i++) plan_sealed(p, &s->v[i]);
    if (s->a) arena_reset(s->a);
    *s = (struct fork_seals){.a = s->a};
}

void fork_seals_free(struct fork_seals *s) {
    arena_free(s->a);
    s->a = NULL;
}

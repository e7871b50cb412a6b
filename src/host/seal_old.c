/*
 * seal_old.c: clear values of older programs; see seal_old.h.
 */
#include "host/seal_old.h"

#include "base/log.h"
#include "codec/jobj.h"
#include "store/runs.h"
#include "store/workflows.h"
#include "workspec/language.h"

#include <stdio.h>

#define OLD_ARENA_MAX (256u * 1024 * 1024)

struct old_run {
    struct store *store;
    struct vault *vault;
    struct arena *a;
    struct run_origin origin;
    struct workflow *wf;
    struct old_clear_list was;
    struct old_sealed now;
};

static int row_add(struct old_run *o, int64_t seq, struct str clear, struct wopr_error *err) {
    const struct seal_place place = {o->origin.head.run_id, seq};
    struct plan_sealed *rows = (struct plan_sealed *)(uintptr_t)o->now.rows;
    int rc = vault_seal(o->vault, &place, clear, o->a, &rows[o->now.rows_nr], err);
    if (rc == 0) o->now.rows_nr++;
    return rc;
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to seal the values of a run");
}

/* Masks the sensitive inputs; *clear: an object of them, empty when there is none. */
static int inputs_mask(struct old_run *o, struct str *clear, struct wopr_error *err) {
    struct json_members m = {0};
    struct jobj shown, kept;
    size_t n = 0;
    int rc = o->origin.meta.inputs.n > 0 ? json_members(o->origin.meta.inputs, o->a, &m, err) : 0;
    if (rc != 0) return rc;
    jobj_begin(&shown, RUN_INPUTS_MAX);
    jobj_begin(&kept, RUN_INPUTS_MAX);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        const struct wf_variable *d = workflow_variable(o->wf, m.v[i].key);
        struct str raw = m.v[i].raw;
        if (d && d->sensitive) {
            jw_key_str(&kept.w, m.v[i].key);
            jw_raw(&kept.w, raw);
            rc = mask_value(o->wf->masking_mode, raw, o->a, &raw, err);
            n++;
        }
        if (rc != 0 || raw.n == 0) continue;
        jw_key_str(&shown.w, m.v[i].key);
        jw_raw(&shown.w, raw);
    }
    struct str text = jobj_end(&shown, o->a), all = jobj_end(&kept, o->a);
    if (rc == 0 && (!text.p || !all.p)) rc = no_memory(err);
    if (rc != 0 || n == 0) return rc;
    o->now.inputs = text;
    *clear = all;
    return 0;
}

static int run_seal(struct old_run *o, struct wopr_error *err) {
    struct str clear = STR_NONE;
    int rc = inputs_mask(o, &clear, err);
    o->now.rows = ARENA_ARRAY(o->a, struct plan_sealed, o->was.n + 1);
    if (rc == 0 && !o->now.rows) rc = no_memory(err);
    if (rc != 0 || run_status_final(o->origin.head.status)) return rc;
    if (clear.n > 0) rc = row_add(o, SEALED_INPUTS, clear, err);
    o->now.inputs_sealed = clear.n > 0;
    for (size_t i = 0; rc == 0 && i < o->was.n; i++) {
        if (o->was.v[i].seq < 0) continue; /* an input, or the default of the definition */
        struct str next = jobj_of(o->a, "next", o->was.v[i].value);
        rc = next.p ? row_add(o, o->was.v[i].seq, next, err) : no_memory(err);
    }
    return rc;
}

static int run_convert(struct old_run *o, int64_t run_no, struct wopr_error *err) {
    struct str text;
    const struct wf_env env = {.accepted = true, .dialects = &WS_DIALECT, .dialects_nr = 1};
    int rc = store_old_clear(o->store, run_no, o->a, &o->was, err);
    if (rc == 0) rc = store_run_origin(o->store, run_no, o->a, &o->origin, err);
    if (rc == 0) rc = store_workflow_by_hash(o->store, &o->origin.workflow_hash, o->a, &text, err);
    if (rc == 0) rc = workflow_compile(text, &env, &o->wf, err);
    o->now = (struct old_sealed){.run_no = run_no, .was = &o->was};
    if (rc == 0) rc = run_seal(o, err);
    if (rc == 0) rc = store_old_sealed(o->store, &o->now, err);
    workflow_unref(o->wf);
    o->wf = NULL;
    return rc;
}

int seal_old_values(struct store *s, struct vault *v, struct wopr_error *err) {
    struct old_run o = {.store = s, .vault = v, .a = arena_new(OLD_ARENA_MAX)};
    int64_t run_no = 0, n = 0;
    int rc = o.a ? 0 : no_memory(err);
    while (rc == 0) {
        struct wopr_error why = {0};
        rc = store_old_clear_next(s, run_no, &run_no, err);
        if (rc != 0 || run_no == 0) break;
        arena_reset(o.a);
        int code = run_convert(&o, run_no, &why);
        if (code == WOPR_E_NO_MEMORY || wopr_err_passes(code)) *err = why, rc = code;
        else if (code != 0) log_warn("clear values of a run cannot be sealed", "why", why.message);
        n += code == 0;
    }
    if (rc == 0 && n > 0) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)n);
        log_info("clear values that an older program kept were sealed or removed", "runs", text);
    }
    arena_free(o.a);
    return rc;
}

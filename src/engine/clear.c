/*
 * clear.c: clear values in and out of the store; see clear.h.
 */
#include "engine/clear.h"

#include "codec/jobj.h"

#define CLEAR_PAGE_EVENTS 16 /* which fit the arena with clear values of any size */
#define CLEAR_ARENA_MAX   (64u * 1024 * 1024)

void clear_seal(struct engine *e, struct plan *p, struct str run_id, int64_t at, struct str clear) {
    const struct seal_place place = {run_id, at};
    struct plan_sealed row;
    struct wopr_error err;
    if (p->failed != 0) return;
    if (!e->cfg.vault) {
        plan_fail(p, WOPR_E_CONFIG, "this host has no key for sensitive values");
        return;
    }
    int rc = vault_seal(e->cfg.vault, &place, clear, p->arena, &row, &err);
    if (rc == 0) plan_sealed(p, &row);
    else plan_fail(p, rc, "%s", err.message);
}

int clear_open(struct clear_reader *r, struct engine *e, int64_t run_no, struct wopr_error *err) {
    *r = (struct clear_reader){.engine = e, .run_no = run_no};
    r->a = arena_new(CLEAR_ARENA_MAX);
    return r->a ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for clear values");
}

void clear_shut(struct clear_reader *r) {
    arena_free(r->a);
    r->a = NULL;
}

static int row_open(struct engine *e, const struct sealed_row *row, struct arena *a,
                    struct str *clear, struct wopr_error *err) {
    const struct seal_place place = {row->run_id, row->sealed.seq};
    if (!e->cfg.vault)
        return wopr_error_set(err, WOPR_E_CONFIG, "this host has no key for sensitive values");
    int rc = vault_open(e->cfg.vault, &place, &row->sealed, a, clear, err);
    if (rc == 0 && json_type_of(*clear) != JSON_OBJECT)
        rc = wopr_error_set(err, WOPR_E_CORRUPT, "a sealed value is no object");
    return rc;
}

int clear_event(struct clear_reader *r, struct event *e, struct wopr_error *err) {
    e->clear = STR_NONE;
    if (!(e->flags & EVENT_MASKED)) return 0;
    if (e->seq >= r->until) {
        arena_reset(r->a);
        r->at = 0;
        r->until = e->seq + CLEAR_PAGE_EVENTS;
        int rc = store_sealed(r->engine->store, r->run_no, e->seq, r->until, r->a, &r->l, err);
        if (rc != 0) return rc;
    }
    while (r->at < r->l.n && r->l.v[r->at].sealed.seq < e->seq) r->at++;
    if (r->at == r->l.n || r->l.v[r->at].sealed.seq != e->seq) return 0;
    return row_open(r->engine, &r->l.v[r->at], r->a, &e->clear, err);
}

int clear_one(struct engine *e, int64_t run_no, int64_t at, struct arena *a, struct str *clear,
              struct wopr_error *err) {
    struct sealed_list l;
    *clear = STR_NONE;
    int rc = store_sealed(e->store, run_no, at, at + 1, a, &l, err);
    return rc == 0 && l.n > 0 ? row_open(e, &l.v[0], a, clear, err) : rc;
}

int clear_box(struct engine *e, struct str run_id, const struct plan_sealed *box, struct arena *a,
              struct str *clear, struct wopr_error *err) {
    const struct sealed_row row = {.sealed = *box, .run_id = run_id};
    return row_open(e, &row, a, clear, err);
}

/* WF-49: a parent reads the variables of its child once that has ended. */
static void vars_leave(struct step *st) {
    const struct run_state *s = st->state;
    struct jobj o;
    size_t n = 0;
    jobj_begin(&o, PLAN_BYTES_MAX);
    for (size_t i = 0; i < s->variables.n; i++) {
        const struct var_state *v = &s->variables.v[i];
        if (!v->sensitive || str_eq(var_shown(v), text_str(&v->value))) continue;
        jw_key_str(&o.w, text_str(&v->name));
        jw_raw(&o.w, text_str(&v->value));
        n++;
    }
    struct str vars = jobj_end(&o, st->scratch);
    if (!vars.p) plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for what a child leaves");
    if (!vars.p || n == 0) return;
    clear_seal(st->engine, st->plan, s->meta.run_id, SEALED_LEFT, vars);
    st->plan->unseals = true; /* even if nothing was sealed before: the parent may have ended */
}

void clear_end(struct step *st) {
    const struct run_exec *re = st->exec;
    if (!run_status_final(st->state->status) || st->plan->failed != 0) return;
    if (re->kin.parent_id && (re->kin.flags & CHILD_AWAITED) != 0) vars_leave(st);
    if (re->kin.had_children) st->plan->unseals = true; /* values that children left to it */
}

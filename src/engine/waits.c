/*
 * waits.c: calls the hooks of all kinds of waits.  The table is a member of the engine, so that
 * callers of hooks do not depend on the kinds.
 */
#include "engine/waits.h"

/* In the order of the table. */
#define FOR_KINDS(e, k)                                                                            \
    for (const struct wait_kind *const *k##_at = (e)->waits, *k; (k = *k##_at) != NULL; k##_at++)

void waits_claim(struct step *st, int node, const struct node_result *r) {
    FOR_KINDS(st->engine, k) {
        if (k->outcome != r->outcome) continue;
        k->claim(st, node, r);
        return;
    }
    plan_fail(st->plan, WOPR_E_INTERNAL, "a node waits for something unknown");
}

bool waits_hold(struct run_exec *re, int node) {
    FOR_KINDS(re->engine, k)
    if (k->holds && k->holds(re, node)) return true;
    return false;
}

bool waits_stay(struct run_exec *re) {
    FOR_KINDS(re->engine, k)
    if (k->stays && k->stays(re)) return true;
    return false;
}

bool waits_under_way(struct run_exec *re) {
    FOR_KINDS(re->engine, k)
    if (k->under_way && k->under_way(re)) return true;
    return false;
}

void waits_on_timer(struct step *st, int kind, int node) {
    FOR_KINDS(st->engine, k)
    if (k->timer == kind) k->on_timer(st, node);
}

void waits_timed_out(struct step *st, int node) {
    FOR_KINDS(st->engine, k)
    if (k->timed_out) k->timed_out(st, node);
}

int waits_load(struct step *st, struct wopr_error *err) {
    int rc = 0;
    FOR_KINDS(st->engine, k)
    if (rc == 0 && k->load) rc = k->load(st, err);
    return rc;
}

void waits_arrived(struct step *st) {
    FOR_KINDS(st->engine, k)
    if (k->arrived) k->arrived(st);
}

void waits_tend(struct step *st) {
    FOR_KINDS(st->engine, k)
    if (k->tend) k->tend(st);
}

void waits_enter(struct step *st) {
    FOR_KINDS(st->engine, k)
    if (k->enter) k->enter(st);
}

void waits_landed(struct step *st) {
    FOR_KINDS(st->engine, k)
    if (k->landed) k->landed(st);
}

void waits_over(struct step *st) {
    FOR_KINDS(st->engine, k)
    if (k->over) k->over(st);
}

void waits_forget(struct run_exec *re) {
    FOR_KINDS(re->engine, k)
    if (k->forget) k->forget(re);
}

void waits_free(struct run_exec *re) {
    FOR_KINDS(re->engine, k)
    if (k->free) k->free(re);
}

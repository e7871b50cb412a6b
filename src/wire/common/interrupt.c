/*
 * interrupt.c: the open interrupt of a run, and the part of it that a caller may see.
 */
#include "wire/common/interrupt.h"
#include "base/clock.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "wire/common/interrupt_token.h"

struct wire_interrupt wire_interrupt_of_row(const struct interrupt_row *r) {
    return (struct wire_interrupt){.interrupt_id = r->interrupt_id,
                                   .node_id = r->node_id,
                                   .kind = r->kind,
                                   .key = r->key,
                                   .data = json_get(r->payload, "data"),
                                   .requested_ms = r->requested_ms,
                                   .expires_ms = r->timeout_at_ms};
}

bool wire_interrupt_of_state(const struct run_state *s, struct wire_interrupt *out) {
    const struct intr_state *i =
        s->current_node >= 0 ? run_state_intr_open(s, s->current_node) : NULL;
    if (!i) return false;
    *out = (struct wire_interrupt){.interrupt_id = text_str(&i->id),
                                   .node_id = s->wf->nodes[i->node].id,
                                   .kind = str_c(intr_kind_name((enum intr_kind)i->kind)),
                                   .key = text_str(&i->key),
                                   .data = json_get(text_str(&i->payload), "data"),
                                   .requested_ms = i->requested_ms,
                                   .expires_ms =
                                       i->timeout_ms > 0 ? i->requested_ms + i->timeout_ms : 0};
    return true;
}

static bool status_waits(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

int wire_interrupt_current(struct store *s, const struct run_view *view, struct arena *a,
                           struct interrupt_row *out, bool *found, struct wopr_error *err) {
    struct interrupt_list l;
    *found = false;
    if (!status_waits(view->head.status) || view->current_node.n == 0) return 0;
    int rc = store_interrupts_of_run(s, view->head.run_no, view->current_node, true, a, &l, err);
    if (rc != 0 || l.n == 0) return rc;
    *out = l.v[0];
    *found = true;
    return 0;
}

/* External events always have a token, other kinds only when callbacks are enabled; only those who
 * may respond see it. */
static bool token_due(const struct wire *w, const struct interrupt_row *row) {
    return w->interrupt_callbacks || str_eqc(row->kind, intr_kind_name(INTR_EXTERNAL));
}

int wire_interrupt_seen(struct wire *w, const struct interrupt_row *row, bool may_respond,
                        struct arena *a, struct wire_interrupt *out, struct wopr_error *err) {
    struct wire_interrupt shown = wire_interrupt_of_row(row);
    bool allowed = false;
    int rc = 0;
    if (may_respond && token_due(w, row)) rc = wire_token_allowed(w, row, a, &allowed, err);
    if (rc == 0 && allowed) rc = wire_token_mint(w, row, clock_wall_ms(), a, &shown.token, err);
    if (rc == 0) *out = shown;
    return rc;
}

int wire_interrupt_for(struct http_call *c, const struct interrupt_row *row,
                       struct wire_interrupt *out, struct wopr_error *err) {
    bool may_respond = (c->who.scopes & SCOPE_APPROVALS_RESPOND) != 0;
    int rc = wire_interrupt_seen(wire_of(c), row, may_respond, c->arena, out, err);
    if (rc == 0) out->base_url = http_base_url(c);
    return rc;
}

int wire_interrupt_open(const struct interrupt_row *row, struct wopr_error *err) {
    switch (row->state) {
    case IROW_PENDING:
        return 0;
    case IROW_TIMED_OUT:
        return wopr_error_set(err, WOPR_E_INTERRUPT_EXPIRED,
                              "nobody answered within the time of the interrupt");
    case IROW_REJECTED:
        if (str_eqc(row->cause, "parent-cancelled"))
            return wopr_error_set(err, WOPR_E_INTERRUPT_GONE,
                                  "the run was cancelled together with its parent");
        return wopr_error_set(err, WOPR_E_INTERRUPT_CANCELLED,
                              "the run ended while the interrupt was open");
    case IROW_RESUMED:
        break;
    }
    return wopr_error_set(err, WOPR_E_INTERRUPT_RESOLVED, "the interrupt is not open any more");
}

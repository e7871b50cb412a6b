/*
 * interrupt.h: the open interrupt of a run.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_INTERRUPT_H
#define WOPR_WIRE_COMMON_INTERRUPT_H

#include "store/interrupts.h"
#include "wire/common/wire.h"

/* The visible part of an open interrupt (INT-13). */
struct wire_interrupt {
    struct str interrupt_id, node_id, kind, key;
    struct str data;                  /* the question: raw JSON of the event */
    int64_t requested_ms, expires_ms; /* 0 = no deadline */
    struct str token, base_url;       /* empty: neither token nor callback URL is shown */
};
/* Borrows the texts of r. */
struct wire_interrupt wire_interrupt_of_row(const struct interrupt_row *r);
/* The open interrupt of the node that s shows; false: there is none. */
bool wire_interrupt_of_state(const struct run_state *s, struct wire_interrupt *out);
/* The row of the open interrupt of the node that a stored run shows; *found false: it does not
 * wait, or it waits for a child (INT-51). */
MUST_CHECK int wire_interrupt_current(struct store *s, const struct run_view *view, struct arena *a,
                                      struct interrupt_row *out, bool *found,
                                      struct wopr_error *err);
/* The part of row that somebody may see who may respond or not; without base_url. */
MUST_CHECK int wire_interrupt_seen(struct wire *w, const struct interrupt_row *row,
                                   bool may_respond, struct arena *a, struct wire_interrupt *out,
                                   struct wopr_error *err);
/* The part of row that the caller of c may see: a token only if the caller may respond and one is
 * due (INT-13, RUN-12). */
MUST_CHECK int wire_interrupt_for(struct http_call *c, const struct interrupt_row *row,
                                  struct wire_interrupt *out, struct wopr_error *err);
/* 0 while it is open; else the reason why it cannot be answered: INTERRUPT_RESOLVED, _EXPIRED,
 * _CANCELLED, _GONE. */
MUST_CHECK int wire_interrupt_open(const struct interrupt_row *row, struct wopr_error *err);

#endif

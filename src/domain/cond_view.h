/*
 * cond_view.h: what the conditions of one settlement see (WF-9).  Layer: domain (pure), private to
 * this folder.
 *
 * Made by the first condition after an event that ended a node, freed with the last one.  In
 * between nothing changes what it shows: no event is applied, and a condition has no effect.  A
 * value is found where the state has it: only who reads a whole root has its text made, once.  What
 * conditions cost is counted in the bytes that are looked at (work); what they are charged, in
 * steps, is what it costs to read the whole text of a root, so that it depends on the log alone.
 */
#ifndef WOPR_DOMAIN_COND_VIEW_H
#define WOPR_DOMAIN_COND_VIEW_H

#include "domain/expr_int.h"
#include "domain/state.h"

struct cond_view;
/* Of the edges of a node that has ended; now_ms: clock of channels (CHAN-17).  NULL when memory is
 * short.  Borrows s. */
struct cond_view *cond_view_new(struct run_state *s, int node, int64_t now_ms);
void cond_view_free(struct cond_view *v); /* takes NULL */
/* The next condition is that of an edge with this sourceOutput, or with none. */
struct expr_scope cond_view_edge(struct cond_view *v, struct str output_key, uint64_t *steps);
/* Something that it read is over a bound, or memory was short. */
bool cond_view_failed(const struct cond_view *v);
/* Bytes that the condition took, which has spent so many steps. */
uint64_t cond_view_spent(const struct cond_view *v, uint64_t steps);

#endif

/*
 * clear.h: clear values of what the log shows masked (OBS-71, CHAN-24): sealed on the way into a
 * plan, opened on the way into a fold.  Layer: engine, not for others.
 *
 * Invariants
 *   C1  an event with EVENT_MASKED and its sealed row are in one plan
 *   C2  only a fold that executes reads clear values: of a run that is loaded, of the prefix of a
 *       fork.  Streams, snapshots, verification, the comparison of replays see the log alone
 *   C3  the plan that ends a run deletes them (plan_project), but for those that a fork holds
 */
#ifndef WOPR_ENGINE_CLEAR_H
#define WOPR_ENGINE_CLEAR_H

#include "engine/emit.h"
#include "store/vault.h"

/* Seals clear for position at of the run: an event, or SEALED_*.  The plan fails when it cannot. */
void clear_seal(struct engine *e, struct plan *p, struct str run_id, int64_t at, struct str clear);

struct clear_reader { /* events of one run, in their order */
    struct engine *engine;
    int64_t run_no;
    struct arena *a;      /* of this reader: what it gives lives until the next call */
    struct sealed_list l; /* up to `until` */
    size_t at;
    int64_t until;
};
/* Reads nothing yet.  NO_MEMORY; clear_shut in any case. */
MUST_CHECK int clear_open(struct clear_reader *r, struct engine *e, int64_t run_no,
                          struct wopr_error *err);
void clear_shut(struct clear_reader *r); /* takes one that was not opened */
/* Add the clear values to *e if it is masked and they still exist. */
MUST_CHECK int clear_event(struct clear_reader *r, struct event *e, struct wopr_error *err);
/* What was sealed under SEALED_*; empty: nothing.  In a's memory. */
MUST_CHECK int clear_one(struct engine *e, int64_t run_no, int64_t at, struct arena *a,
                         struct str *clear, struct wopr_error *err);

/* A box that was read with what it belongs to. */
MUST_CHECK int clear_box(struct engine *e, struct str run_id, const struct plan_sealed *box,
                         struct arena *a, struct str *clear, struct wopr_error *err);

/* Call it after plan_project.  A run that ends leaves its sensitive variables to a parent that
 * waits for it, and drops those that its children left. */
void clear_end(struct step *st);

#endif

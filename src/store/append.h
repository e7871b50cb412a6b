/*
 * append.h: commit plans, and look up the answers that were stored with them.  Layer: store.
 * General rules (threads, ownership, errors): store.h.
 */
#ifndef WOPR_STORE_APPEND_H
#define WOPR_STORE_APPEND_H

#include "domain/plan.h"
#include "store/store.h"

/* Commit n >= 1 plans as one batch: one transaction, one sync.  Blocks for both.
 *
 * Returns 0 when rcs[0..n-1] hold the outcomes; else the code that hit every plan, which is in rcs
 * as well. rcs[i] is plan i's own outcome:
 *   0                   written and durable; run_no is filled in for a creation.  With idem_hit
 *                       set nothing was written: idem_response holds the stored answer
 *   STALE               base_seq is not the tail of the log
 *   FENCED              epoch is not the run's
 *   RUN_TERMINAL        the run has ended (found_status)
 *   RUN_ALREADY_ACTIVE  another run is active in the scope (active_run_id, active_until_ms)
 *   QUOTA               no room for a creation (tenant_bytes)
 *   IDEM_CONFLICT       the key was used with another body
 *   NOT_FOUND, EXISTS   the run of an update is not there; the id of a creation is taken
 *   EXPIRED             retention took the source of a fork
 *   CORRUPT             the run is parked
 *   INTERNAL            the plan breaks EVT-2 or EVT-7: our own mistake
 *   p->failed           the plan failed while it was built; returned untouched
 * A refusal wrote nothing for that plan and does not touch its neighbours.
 *
 * A failure of the machine (DISK_FULL, IO, NO_MEMORY) rolls the batch back and runs it again plan
 * by plan, so that one plan cannot fail the others; BUSY fails the whole batch at once.  After
 * SYNC_FAILED the outcome is unknown and the store is unusable until it is opened again. */
MUST_CHECK int store_apply(struct store *s, struct plan **plans, size_t n, int *rcs,
                           struct wopr_error *err);

/* The same, all of them or none: a refusal of one is the result, and nothing is written.  For what
 * is no single run's (an import).  A host calls it by journal_commit_whole, which publishes. */
MUST_CHECK int store_apply_whole(struct store *s, struct plan **plans, size_t n,
                                 struct wopr_error *err);

/* The answer stored under k at wall time now_ms.  NOT_FOUND when there is none, or only a transient
 * one whose time is over (IDEM-9); IDEM_CONFLICT when the body had another digest. */
MUST_CHECK int store_idem_find(struct store *s, const struct idem_key *k, int64_t now_ms,
                               struct arena *a, struct idem_response *out, struct wopr_error *err);

#endif

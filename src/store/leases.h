/*
 * leases.h: who may append to a run (STORE-30 to STORE-36).  Layer: store.
 *
 * A run names its holder and carries a fencing epoch, which rises with every change of holder; an
 * append with an older epoch is refused.  No clock decides who holds a run: until_ms is only shown.
 * All functions but store_lease_requests are writes.  General rules: store.h; other hosts: peers.h.
 */
#ifndef WOPR_STORE_LEASES_H
#define WOPR_STORE_LEASES_H

#include "store/store.h"

enum {
    LEASE_ANY = -1,    /* whatever the epoch or the beat is now */
    LEASE_NO_BEAT = -2 /* as a beat: only a run that is free or the caller's own */
};

/* Succeeds when the run has no holder, its holder released all its leases, it is the caller's own
 * already, or its holder's beat is still the one the caller saw when it found that holder dead or
 * silent. */
struct lease_claim {
    int64_t run_no;
    struct str holder; /* the claimant, 1 to 255 bytes */
    int64_t until_ms;  /* wall clock */
    int64_t epoch;     /* the run's, as seen; LEASE_ANY for a sole host */
    int64_t beat;      /* its holder's, as seen; LEASE_ANY for a sole host or a dead holder */
};
/* *epoch: the new one.  FENCED, RUN_TERMINAL, NOT_FOUND, CORRUPT (parked). */
MUST_CHECK int store_lease_claim(struct store *s, const struct lease_claim *c, int64_t *epoch,
                                 struct wopr_error *err);
/* The end of a lease is stored once per holder, so renewing costs one row however many runs it
 * holds.  Also increments the holder's beat. *renewed: its unfinished runs. */
MUST_CHECK int store_lease_renew(struct store *s, struct str holder, int64_t until_ms,
                                 int64_t *renewed, struct wopr_error *err);
/* Release all leases of a holder. */
MUST_CHECK int store_lease_release(struct store *s, struct str holder, struct wopr_error *err);

/* ---------------------------------------------------------------- hand a run over */
/* Request a run from its holder.  A later request replaces an earlier one. */
MUST_CHECK int store_lease_request(struct store *s, int64_t run_no, struct str holder,
                                   struct wopr_error *err);
struct lease_request {
    int64_t run_no;
    struct str run_id;
};
struct lease_request_list {
    struct lease_request *v;
    size_t n;
};
/* Requests for runs that holder has, at most max, in no order. */
MUST_CHECK int store_lease_requests(struct store *s, struct str holder, unsigned max,
                                    struct arena *a, struct lease_request_list *out,
                                    struct wopr_error *err);
/* Transfer a run to its last requester, with a new epoch.  NOT_FOUND when no living host requests
 * it; FENCED when from does not hold it with that epoch (or LEASE_ANY); RUN_TERMINAL; CORRUPT. */
MUST_CHECK int store_lease_transfer(struct store *s, int64_t run_no, struct str from, int64_t epoch,
                                    struct wopr_error *err);

/* ---------------------------------------------------------------- take a run out of service */
/* Park a run whose log breaks an invariant: recovery skips it and appends are refused until it is
 * unparked (empty reason); its ready tasks are held (WRK-13).  With an epoch other than LEASE_ANY:
 * FENCED when the run has another; else NOT_FOUND. */
MUST_CHECK int store_run_park(struct store *s, int64_t run_no, int64_t epoch, struct str reason,
                              struct wopr_error *err);

#endif

/*
 * hooks.h: webhook subscriptions, and what they have still to be sent (HOOK-1 to HOOK-18, D58 to
 * D67).  Layer: store.  General rules: store.h; how it is used: src/hooks/DESIGN.md.
 *
 * A commit of events that a subscription of their tenant may want adds one row, a *move*, in the
 * same transaction: run, range of sequences, set of kinds.  A subscription has a cursor over the
 * moves of its tenant.  So a commit costs the same whatever the number of subscriptions, nothing is
 * copied, and what was committed is delivered or found again after any crash.
 *
 * Invariants
 *   H1  move_no ascends in the order of commits and is never given twice
 *   H2  state is written by the holder of the lease only (FENCED)
 *   H3  a subscription is removed whole, in one transaction
 */
#ifndef WOPR_STORE_HOOKS_H
#define WOPR_STORE_HOOKS_H

#include "domain/plan.h"
#include "store/store.h"

enum {
    HOOK_WINDOW_FAILURES = 100, /* within HOOK_WINDOW_MS: it is stopped (HOOK-15) */
    HOOK_TRIM_ROWS = 5000,
    HOOK_DEAD_MAX = 1000 /* dead letters kept of one subscription: the newest */
};
#define HOOK_WINDOW_MS ((int64_t)7 * 24 * 3600 * 1000)

struct hook_row {
    int64_t hook_no;
    struct str webhook_id, tenant, url, events, tags, fingerprint,
        created_by; /* JSON: events, tags */
    bool test_mode, stopped;
    int32_t created_major;
    int64_t kinds; /* bit set */
    int64_t created_ms;
    struct plan_sealed secret; /* at webhook_id; filled by store_hook_get and _secret only */
};
struct hook_state {
    int64_t next_move, next_seq;
    int64_t attempts, next_attempt_ms; /* of the event that is next; wall clock */
    int64_t failures, failures_total, open_until_ms;
    int64_t delivered, dead, dropped;
    int64_t last_status, last_ms;
    struct str last_error;
};
struct hook_list {
    struct hook_item {
        struct hook_row row;
        struct hook_state state;
    } * v;
    size_t n;
};

/* ---------------------------------------------------------------- registration */
struct hook_idem { /* the request; n 0: without a key */
    bool has;
    struct sha256 key, digest;
    int64_t until_ms;
};
/* A write.  Its cursor is behind everything committed so far.  *repeated: a request with this key
 * made a subscription before, which is *row now.  QUOTA: the tenant has max of them;
 * IDEM_CONFLICT; UNAVAILABLE: its secret was sealed with a key that is gone, seal again.  audit:
 * the entry of an audited file about a new one, in the same transaction; NULL: none. */
MUST_CHECK int store_hook_add(struct store *s, struct hook_row *row, const struct hook_idem *idem,
                              const struct plan_audit *audit, unsigned max, int64_t now_ms,
                              struct arena *a, bool *repeated, struct wopr_error *err);
/* A write.  NOT_FOUND.  audit: as above. */
MUST_CHECK int store_hook_remove(struct store *s, struct str tenant, bool test_mode,
                                 struct str webhook_id, const struct plan_audit *audit,
                                 struct wopr_error *err);
/* A write.  Ask the host that delivers, by a move without events, to close its breaker, and queue
 * at most max of its dead letters again, oldest first; *queued: how many.  NOT_FOUND; CONFLICT: it
 * is stopped. */
MUST_CHECK int store_hook_retry(struct store *s, struct str tenant, bool test_mode,
                                struct str webhook_id, unsigned max, int64_t now_ms,
                                int64_t *queued, struct wopr_error *err);
/* NOT_FOUND. */
MUST_CHECK int store_hook_get(struct store *s, struct str tenant, bool test_mode,
                              struct str webhook_id, struct arena *a, struct hook_item *out,
                              struct wopr_error *err);
/* Those of a tenant, or of all tenants (empty), with hook_no > after, ascending. */
MUST_CHECK int store_hooks(struct store *s, struct str tenant, bool test_mode, int64_t after,
                           unsigned max, struct arena *a, struct hook_list *out,
                           struct wopr_error *err);
/* Commits before `until` that it has still to be sent, and the time of the oldest. */
MUST_CHECK int store_hook_backlog(struct store *s, const struct hook_item *h, int64_t until,
                                  int64_t *moves, int64_t *oldest_ms, struct wopr_error *err);

struct hook_dead {
    int64_t dead_no, run_no, seq, until_seq, attempts, status, dead_ms, expires_ms;
    struct str run_id, event_type, reason;
};
struct hook_dead_list {
    struct hook_dead *v;
    size_t n;
};
/* Newest first, with dead_no < below. */
MUST_CHECK int store_hook_dead(struct store *s, int64_t hook_no, int64_t below, unsigned max,
                               struct arena *a, struct hook_dead_list *out, struct wopr_error *err);

/* ---------------------------------------------------------------- delivery */
struct hook_lease {
    int64_t holder_no, epoch, changes;
    bool any; /* there are subscriptions */
};
/* Who delivers now, and how often subscriptions changed. */
MUST_CHECK int store_hook_lease(struct store *s, struct hook_lease *out, struct wopr_error *err);
/* A write.  This host delivers from now on, unless another one took over since `seen` was read.
 * *epoch: the new one.  FENCED. */
MUST_CHECK int store_hook_claim(struct store *s, const struct hook_lease *seen, int64_t *epoch,
                                struct wopr_error *err);
/* The number by which this host holds leases; 0 before it joined, or alone by its settings. */
int64_t store_own_holder(const struct store *s);

/* The secret of a subscription that is there and not stopped.  NOT_FOUND. */
MUST_CHECK int store_hook_secret(struct store *s, int64_t hook_no, struct arena *a,
                                 struct plan_sealed *out, struct wopr_error *err);
struct hook_move {
    int64_t move_no, run_no, from_seq, until_seq, kinds, hook_no, at_ms; /* kinds 0: see retry */
    struct str tenant;
    bool test_mode;
};
struct hook_move_list {
    struct hook_move *v;
    size_t n;
};
/* Of all tenants, after move_no. */
MUST_CHECK int store_hook_moves(struct store *s, int64_t after, unsigned max, struct arena *a,
                                struct hook_move_list *out, struct wopr_error *err);
/* Those that a subscription may want, from its cursor on. */
MUST_CHECK int store_hook_moves_of(struct store *s, const struct hook_row *row, int64_t from,
                                   unsigned max, struct arena *a, struct hook_move_list *out,
                                   struct wopr_error *err);
/* What a delivery says of a run of this tenant: its id, its tags (JSON array or empty), and the
 * traceparent it was asked for with, or empty.  NOT_FOUND: retention took it. */
struct hook_run {
    struct str run_id, tags, traceparent;
};
MUST_CHECK int store_hook_run(struct store *s, struct str tenant, int64_t run_no, struct arena *a,
                              struct hook_run *out, struct wopr_error *err);

struct hook_mark { /* of one subscription, since the last write */
    int64_t hook_no;
    struct hook_state state;      /* as it is now; delivered, dead and dropped are increments */
    int64_t failed;               /* failures that the breaker counted, the last at state.last_ms */
    int64_t woken_from, woken_to; /* moves that woke it, which are then done with; 0 = none */
    const struct hook_dead *deads; /* new ones */
    size_t deads_nr;
    bool stopped; /* out: 100 failures in 7 days */
    bool gone;    /* out: the subscription was removed */
};
/* A write: all of them in one transaction.  FENCED: another host delivers. */
MUST_CHECK int store_hook_marks(struct store *s, int64_t epoch, struct hook_mark *marks, size_t n,
                                struct wopr_error *err);
/* A write.  Delete moves of a tenant before move_no, at most HOOK_TRIM_ROWS; *more: call again. */
MUST_CHECK int store_hook_trim(struct store *s, struct str tenant, bool test_mode, int64_t before,
                               bool *more, struct wopr_error *err);
/* A write.  Delete dead letters that expired, at most HOOK_TRIM_ROWS. */
MUST_CHECK int store_hook_expire(struct store *s, int64_t now_ms, struct wopr_error *err);
/* A write.  Delete moves that no subscription of their tenant waits for. */
MUST_CHECK int store_hook_orphans(struct store *s, struct wopr_error *err);
/* The move that is the max-th newest of a tenant; 0: there are fewer. */
MUST_CHECK int store_hook_floor(struct store *s, struct str tenant, bool test_mode, int64_t max,
                                int64_t *move_no, struct wopr_error *err);

/* wake(ctx) is called after each commit that added moves; it must only signal.  NULL unsets it.
 * Set it before the journal starts. */
void store_on_hook_move(struct store *s, void (*wake)(void *ctx), void *ctx);

#endif

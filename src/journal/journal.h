/*
 * journal.h: the event log: its committer and its live readers.  Layer: journal.
 * (base/log.h is the process log, for diagnostics.)
 *
 * Invariants
 *   L1  Nothing is published before the commit that makes it true.
 *   L2  A reader sees every event after its cursor exactly once and in order (SSE-14).
 *   L3  A slow reader delays nobody: it falls back to reading the store.
 *
 * Threads: call journal_append from any thread.  Completion callbacks and wake calls come from the
 * committer and hub threads and must only queue work.
 */
#ifndef WOPR_JOURNAL_JOURNAL_H
#define WOPR_JOURNAL_JOURNAL_H

#include "base/metric.h"
#include "domain/plan.h"

struct store;
struct journal;
struct journal_config {
    size_t queue_max;        /* plans waiting, default 8192; beyond: UNAVAILABLE */
    size_t queue_bytes_max;  /* of these plans, default 64 MiB.  One tenant has three quarters of
                                both, so that its flood leaves room for others and leases */
    size_t batch_max;        /* plans per transaction, default 512 */
    size_t topic_bytes_max;  /* committed bytes kept for the slowest live reader of a run, default 4
                                MiB (SSE-25) */
    unsigned slow_commit_ms; /* a batch or checkpoint that takes longer is reported in the process
                                log; 0 = never */
};
struct journal_stats { /* counters since the start, and gauges, for /metrics */
    uint64_t commits, plans, slow_commits;
    uint64_t events, events_by[EV_NR];            /* all, and by type */
    uint64_t plans_refused, refused[WOPR_ERR_NR]; /* all, and by code (index: its negation) */
    uint64_t failing;                             /* commits failed since the last that did not */
    uint64_t failed_ms;                           /* monotonic, of the last one that failed */
    uint64_t queue_len, queue_max, queue_max_seen, queue_refused;
    uint64_t queue_bytes, queue_bytes_max;
    struct metric_reading commit_ns;   /* a batch, from its begin to its end */
    struct metric_reading batch_plans; /* plans of a batch */
    uint64_t readers, topics;
    uint64_t behind;                   /* readers that read the store now: backlog, or too slow */
    uint64_t lagged;                   /* times a slow reader lost its place in the ring */
    uint64_t backlog_bytes;            /* held in memory for readers that have still to take it */
    uint64_t wakes;                    /* of readers and waiters */
    struct metric_reading delivery_ns; /* from a commit to a live reader that takes it */
};
/* Borrows s until journal_free; cfg is copied.  NO_MEMORY.  start makes the committer. */
MUST_CHECK int journal_new(struct store *s, const struct journal_config *cfg, struct journal **out,
                           struct wopr_error *err);
MUST_CHECK int journal_start(struct journal *j, struct wopr_error *err);
/* Refuse new plans (CLOSED), commit what is queued, end all readers (wake with closing), join
 * threads. */
void journal_stop(struct journal *j);
void journal_free(struct journal *j);
struct store *journal_store(struct journal *j);
void journal_stats(struct journal *j, struct journal_stats *out);

/* Queue a plan. 0: p belongs to the journal until done(ctx, p, rc) gives the caller's reference
 * back (call plan_unref). Otherwise (plan's sticky failure, UNAVAILABLE, CLOSED) done is not called
 * and p stays the caller's. done == NULL: fire and forget, the journal unrefs. */
typedef void journal_done_fn(void *ctx, struct plan *p, int rc);
MUST_CHECK int journal_append(struct journal *j, struct plan *p, journal_done_fn *done, void *ctx);
/* The same for a caller with many plans in flight: landed(owner, v, n) gives back those of a batch
 * at once, as done would one by one. */
struct journal_result {
    struct plan *plan;
    void *ctx;
    int rc;
};
typedef void journal_result_fn(void *owner, const struct journal_result *v, size_t n);
MUST_CHECK int journal_append_to(struct journal *j, struct plan *p, journal_result_fn *landed,
                                 void *owner, void *ctx);
/* seen(ctx, plans, codes, n) is called on the committer's thread for each batch that was committed,
 * before its answers; a plan counts where its code is 0.  It must only queue (plan_ref) and not
 * change a plan.  Before anything is appended; one at most, NULL unsets it. */
typedef void journal_seen_fn(void *ctx, struct plan *const *v, const int *rcs, size_t n);
void journal_on_commit(struct journal *j, journal_seen_fn *seen, void *ctx);
/* Run fn on the committer thread between batches (leases, purges, key and workflow writes of a
 * running host). */
MUST_CHECK int journal_side(struct journal *j, void (*fn)(void *ctx, struct store *s), void *ctx);

/* Only inside a side job: commit these plans all or none (store_apply_whole), then count, show and
 * publish them as those of a batch.  For what is no single run's and too large to wait in the
 * queue.  The plans stay the caller's. */
MUST_CHECK int journal_commit_whole(struct journal *j, struct plan **v, size_t n,
                                    struct wopr_error *err);

/* --- commits of other processes on the same file --- */
/* Run run_no got events up to next_seq - 1 from elsewhere: its readers look into the store, its
 * waiters for that are woken.  _all: anything may have happened.  From any thread. */
void journal_foreign(struct journal *j, int64_t run_no, int64_t next_seq);
void journal_foreign_all(struct journal *j);
/* Is there any reader or waiter? first(ctx) is called whenever the first one arrives; it must only
 * signal. NULL unsets it. */
bool journal_has_listeners(struct journal *j);
void journal_on_listener(struct journal *j, void (*first)(void *ctx), void *ctx);

/* --- live readers --- */
enum { JOURNAL_VIEWS_MAX = 256 }; /* a shared commit has a pointer for each */
/* How one event looks on one kind of stream.  Rendered at most once per committed batch and view
 * and shared by all readers, so the function must depend on run id and event only.  Writes the
 * bytes of the frame, or nothing when the view filters it out. */
struct journal_view {
    unsigned id; /* a number that journal_views_add gave, one for each distinct render/ctx */
    void (*render)(const void *ctx, struct str run_id, const struct event *e, struct buf *out);
    const void *ctx;
};
/* Reserves the numbers *first .. *first + n - 1 for n views, for good.  From any thread, also while
 * the journal runs.  CONFIG, and nothing reserved, beyond JOURNAL_VIEWS_MAX. */
MUST_CHECK int journal_views_add(struct journal *j, unsigned n, unsigned *first,
                                 struct wopr_error *err);
struct journal_reader; /* one cursor on one run; used by one thread at a time */
struct journal_piece { /* what journal_reader_next returns */
    const char *p;     /* rendered bytes of the admitted events, concatenated; n may be 0 */
    size_t n;
    const struct event *events; /* the events covered, admitted or not, ascending */
    size_t events_nr;
    size_t frames_nr;     /* events that the view admits; 0 without a view */
    const uint32_t *ends; /* per event: offset in p after its frame (ends[i] - previous = its
                             length); NULL without a view */
};
struct journal_cursor {
    int64_t run_no;
    struct str run_id;               /* without wake it must live as long as the reader */
    int64_t after_seq;               /* the last sequence known, -1 = none */
    const struct journal_view *view; /* copied; NULL: events only (values mode folds them itself) */
    void (*wake)(void *ctx);
    void *ctx;
};
/* wake(ctx) is called at least once after journal_reader_next said "nothing now" and something new,
 * or the end, is there; it may be called by another thread at any time until journal_reader_close
 * returns, and must never block.  wake == NULL: the run has ended and its log is complete; the
 * reader is in no topic, and "nothing now" is the end.  CLOSED, NO_MEMORY. */
MUST_CHECK int journal_reader_open(struct journal *j, const struct journal_cursor *at,
                                   struct journal_reader **out, struct wopr_error *err);
/* 1: *out is filled and stays valid until the next call or close.  0: nothing now, wake is armed
 * (one wake; it may also be spurious). WOPR_E_CLOSED: the log stops (server drain).  Other negative
 * codes: store failures. The terminal event is delivered like any other; the caller decides to end.
 */
MUST_CHECK int journal_reader_next(struct journal_reader *r, struct journal_piece *out,
                                   struct wopr_error *err);
int64_t
journal_reader_cursor(const struct journal_reader *r); /* last sequence delivered, or after_seq */
void journal_reader_close(
    struct journal_reader *r); /* takes NULL; wake is never called after it returns */
/* One-shot waiter for long-poll: wake once when run_no has a commit with sequence > after_seq (at
 * once when it already has) or on stop. wake is called by the hub thread, maybe before journal_wait
 * returns (*out is set by then); cancel only after journal_wait has returned. After a shortage of
 * memory there may be a wake with nothing new. */
struct journal_waiter;
MUST_CHECK int journal_wait(struct journal *j, int64_t run_no, int64_t after_seq,
                            void (*wake)(void *ctx), void *ctx, struct journal_waiter **out,
                            struct wopr_error *err);
void journal_wait_cancel(
    struct journal_waiter *w); /* takes NULL; always call it to free, also after the wake */

#endif

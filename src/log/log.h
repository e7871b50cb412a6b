/*
 * log.h (layer log): the committer and the live readers.  Include as "log/log.h" (base/log.h is the
 * process log). L1 nothing is told to anybody before the commit that makes it true.  L2 a reader
 * sees every event after its cursor exactly once, in order (SSE-14).  L3 a slow reader delays
 * nobody: it falls back to reading the store. Threads: log_append from any; done callbacks and wake
 * calls come from the committer and hub threads and must only queue.
 */
#ifndef WOPR_LOG_LOG_H
#define WOPR_LOG_LOG_H

#include "store/store.h"

struct wopr_log;
struct log_config {
    size_t queue_max;        /* plans waiting, default 8192; beyond: UNAVAILABLE */
    size_t queue_bytes_max;  /* of these plans, default 64 MiB.  One tenant has three quarters of
                                both, so that its flood leaves room for others and leases */
    size_t batch_max;        /* plans per transaction, default 512 */
    size_t topic_bytes_max;  /* committed bytes kept for the slowest live reader of a run, default 4
                                MiB (SSE-25) */
    unsigned slow_commit_ms; /* a batch or checkpoint that takes longer is told in the process log;
                                0 = never */
};
struct log_stats { /* counters since the start, and gauges, for /metrics */
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
MUST_CHECK int wopr_log_new(struct store *s, const struct log_config *cfg, struct wopr_log **out,
                            struct wopr_error *err);
MUST_CHECK int wopr_log_start(struct wopr_log *l, struct wopr_error *err);
/* Refuse new plans (CLOSED), commit what is queued, end all readers (wake with closing), join
 * threads. */
void wopr_log_stop(struct wopr_log *l);
void wopr_log_free(struct wopr_log *l);
struct store *wopr_log_store(struct wopr_log *l);
void wopr_log_stats(struct wopr_log *l, struct log_stats *out);

/* Queue a plan.  0: p belongs to the log until done(ctx, p, rc) gives the caller's reference back
 * (call plan_unref).  Otherwise (plan's sticky failure, UNAVAILABLE, CLOSED) done is not called and
 * p stays the caller's. done == NULL: fire and forget, the log unrefs. */
typedef void log_done_fn(void *ctx, struct plan *p, int rc);
MUST_CHECK int log_append(struct wopr_log *l, struct plan *p, log_done_fn *done, void *ctx);
/* The same for a caller with many plans in flight: landed(owner, v, n) gives back those of a batch
 * at once, as done would one by one. */
struct log_landed {
    struct plan *plan;
    void *ctx;
    int rc;
};
typedef void log_landed_fn(void *owner, const struct log_landed *v, size_t n);
MUST_CHECK int log_append_to(struct wopr_log *l, struct plan *p, log_landed_fn *landed, void *owner,
                             void *ctx);
/* Run fn on the committer thread between batches (leases, purges, key and workflow writes of a
 * running host). */
MUST_CHECK int log_side(struct wopr_log *l, void (*fn)(void *ctx, struct store *s), void *ctx);

/* --- commits of other processes on the same file --- */
/* Run run_no got events up to next_seq - 1 from elsewhere: its readers look into the store, its
 * waiters for that are woken.  _all: anything may have happened.  From any thread. */
void log_foreign(struct wopr_log *l, int64_t run_no, int64_t next_seq);
void log_foreign_all(struct wopr_log *l);
/* Is there any reader or waiter?  first(ctx) is called whenever the first one comes; it must only
 * signal.  NULL ends it. */
bool log_has_listeners(struct wopr_log *l);
void log_on_listener(struct wopr_log *l, void (*first)(void *ctx), void *ctx);

/* --- live readers --- */
#define LOG_VIEWS_MAX 16
/* How one event looks on one kind of stream.  Rendered at most once per committed batch and view
 * and shared by all readers, so the function must depend on run id and event only.  Writes the
 * bytes of the frame, or nothing when the view filters it out. */
struct log_view {
    unsigned id; /* 0..LOG_VIEWS_MAX-1, unique per distinct render/ctx */
    void (*render)(const void *ctx, struct str run_id, const struct event *e, struct buf *out);
    const void *ctx;
};
struct log_reader; /* one cursor on one run; used by one thread at a time */
struct log_piece { /* what log_reader_next gives */
    const char *p; /* rendered bytes of the admitted events, concatenated; n may be 0 */
    size_t n;
    const struct event *events; /* the events covered, admitted or not, ascending */
    size_t events_nr;
    size_t frames_nr;     /* events that the view admits; 0 without a view */
    const uint32_t *ends; /* per event: offset in p after its frame (ends[i] - previous = its
                             length); NULL without a view */
};
/* after_seq: cursor, -1 = from the start.  view may be NULL: events only (values mode folds them
 * itself). wake(ctx) is called at least once after log_reader_next said "nothing now" and something
 * new, or the end, is there; it may come from another thread at any time until log_reader_close
 * returns, and never blocks.  wake == NULL: the run has ended and its log is complete; the reader
 * is in no topic, and "nothing now" is the end.  run_id must live as long as such a reader. */
MUST_CHECK int log_reader_open(struct wopr_log *l, int64_t run_no, struct str run_id,
                               int64_t after_seq, const struct log_view *view,
                               void (*wake)(void *ctx), void *ctx, struct log_reader **out,
                               struct wopr_error *err);
/* 1: *out is filled and stays valid until the next call or close.  0: nothing now, wake is armed
 * (one wake; it may also be spurious). WOPR_E_CLOSED: the log stops (server drain).  Other negative
 * codes: store failures. The terminal event is delivered like any other; the caller decides to end.
 */
MUST_CHECK int log_reader_next(struct log_reader *r, struct log_piece *out, struct wopr_error *err);
int64_t log_reader_cursor(const struct log_reader *r); /* last sequence delivered, or after_seq */
void log_reader_close(struct log_reader *r); /* takes NULL; wake is never called after it returns */
/* One-shot waiter for long-poll: wake once when run_no has a commit with sequence > after_seq (at
 * once when it already has) or on stop. wake comes from the hub thread, maybe before log_wait
 * returns (*out is set by then); cancel only after log_wait has returned. After a shortage of
 * memory a wake may come with nothing new. */
struct log_waiter;
MUST_CHECK int log_wait(struct wopr_log *l, int64_t run_no, int64_t after_seq,
                        void (*wake)(void *ctx), void *ctx, struct log_waiter **out,
                        struct wopr_error *err);
void log_wait_cancel(
    struct log_waiter *w); /* takes NULL; always call it to free, also after the wake */

#endif

/*
 * otel_int.h: what the files of otel/ share.  Private to the folder.
 *
 * Members marked (mu) are shared with the committer's and the egress thread; all else is of the
 * thread of otel.c.
 */
#ifndef WOPR_OTEL_INT_H
#define WOPR_OTEL_INT_H

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "domain/cost.h"
#include "egress/egress.h"
#include "otel/meter.h"
#include "otel/otel.h"
#include "otel/span.h"
#include "store/runs.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    OTEL_PLANS_MAX = 8192,    /* commits that wait to be folded */
    OTEL_PAIRS_MAX = 64,      /* headers, and attributes of the resource */
    OTEL_RUNS_MAX = 200000,   /* runs in memory; the one that moved least lately is forgotten */
    OTEL_RELOAD_MAX = 200000, /* events that are read again of a run that was not in memory */
    OTEL_AGAIN_MS = 5000      /* spans that ended so short before a crash are sent again */
};
#define OTEL_PLAN_BYTES_MAX (32u * 1024 * 1024)  /* of those commits */
#define OTEL_RUN_BYTES_MAX  (128u * 1024 * 1024) /* of those runs */
#define OTEL_SPAN_MAX       (1024u * 1024)       /* of one span */
#define OTEL_SPANS_MAX      (16u * 1024 * 1024)  /* of the spans that wait, and of a request */

struct pairs { /* of a setting; texts lie in the arena */
    struct str name[OTEL_PAIRS_MAX], value[OTEL_PAIRS_MAX];
    size_t n;
};

/* --- settings.c --- */
MUST_CHECK int otel_pairs(const char *setting, const char *text, struct arena *a, struct pairs *out,
                          struct wopr_error *err);
/* Can they be sent as headers?  CONFIG. */
MUST_CHECK int otel_headers_check(const struct pairs *p, struct wopr_error *err);
bool otel_metrics_wanted(const struct otel_config *c);
enum record_level { RECORD_NONE, RECORD_RUNS, RECORD_ALL };
enum record_level otel_records(const struct otel_config *c);
/* URL of a signal: its own, or the common one and path; "" when neither is set. */
struct str otel_url(const char *own, const char *common, const char *path, struct arena *a);

/* --- run.c: the fold of one run --- */
struct trace_request { /* under way */
    struct list link;
    char *id, *provider;
    uint8_t span[SPAN_ID_BYTES];
    int64_t start_ms;
};
struct trace_node {
    char *id, *type;
    int64_t past; /* how often it has completed or failed */
    bool open, attempt_open, asked, masked;
    uint8_t span[SPAN_ID_BYTES];
    int64_t start_ms, attempt_ms, attempt_seq, attempt;
    char *ask_id, *ask_kind; /* the open interrupt */
    int64_t ask_ms, asks;
    struct list requests;
};
struct trace_run {
    struct list recent; /* in otel.recent */
    int64_t run_no, next_seq, created_ms;
    uint64_t missed;       /* otel.missed when it last moved */
    size_t bytes, counted; /* in memory; of these in otel.run_bytes */
    bool recorded;         /* its trace is sampled: spans are made */
    bool waits;            /* it has not started */
    struct trace_ctx ctx;
    uint8_t span[SPAN_ID_BYTES];
    char *run_id, *workflow_id, *tenant, *scope_id, *tags, *parent_run_id, *parent_node_id;
    char *state; /* the caller's tracestate, or NULL */
    bool test_mode, masked, diverged;
    enum fork_mode fork;
    char *source_id;
    int64_t source_no, from_seq;
    char *cap_kind;
    int64_t cap_limit, cap_observed;
    struct map *nodes; /* id -> struct trace_node */
};
struct trace_run *trace_run_new(int64_t run_no, const struct run_meta *m,
                                const struct run_fork *fork, struct str parent_run_id,
                                struct str parent_node_id);
void trace_run_free(struct trace_run *r);

struct otel;
/* Quiet: nothing is sent of what ended before quiet_ms; only with 0 is anything counted. */
struct fold_to {
    struct otel *o;
    int64_t quiet_ms;
};
/* It was accepted: by this host, or is a fork whose first event has come. */
void trace_accepted(struct otel *o, struct trace_run *r);
/* One event; 1: the run has ended. */
int trace_event(const struct fold_to *to, struct trace_run *r, const struct event *e);
void trace_invocation(const struct fold_to *to, struct trace_run *r,
                      const struct plan_invocation *row);

/* A run that was refused, because another one of its scope is active. */
void trace_conflict(struct otel *o, const struct plan *p);

/* --- record.c: records in the log --- */
/* A number of a record, as digits. */
struct record_number {
    char text[24];
};
struct record_number record_number(int64_t v);
/* Lines of the log between these are of the run, and of the span of the node; n may be NULL. */
struct record_scope {
    struct log_scope scope;
    const struct trace_run *run;
    const struct trace_node *node;
    bool traced;
};
void record_enter(struct record_scope *s, const struct otel *o, const struct trace_run *r,
                  const struct trace_node *n);
void record_run_created(const struct otel *o, const struct trace_run *r);
void record_run_completed(const struct otel *o, const struct trace_run *r, const char *status,
                          int64_t at_ms);
void record_conflict(const struct plan *p);
void record_cap(const struct otel *o, const struct trace_run *r);
void record_node(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                 const char *status, int64_t at_ms);
void record_activity(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                     const struct trace_request *q, bool good, int64_t at_ms);
/* A tool of an MCP server was called.  server: its name here; code: of the failure, or empty. */
void record_mcp(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                const struct trace_request *q, struct str server, struct str code, bool good,
                int64_t at_ms);
void record_cost(const struct otel *o, const struct trace_run *r, const struct trace_node *n,
                 const struct cost *c);

/* --- otel.c --- */
struct span_item { /* encoded */
    struct list link;
    size_t n;
    char text[];
};
struct sending { /* the one request under way, or waiting to be repeated */
    struct buf body;
    size_t spans;    /* in it; 0: none */
    unsigned tries;  /* so far */
    uint64_t due_ms; /* monotonic: of the next try */
    bool out;        /* (mu) egress has it */
    bool back;       /* (mu) with the three below */
    int rc, status;
    int64_t retry_after_s;
};
struct telling { /* the message of numbers that is under way */
    struct buf body;
    uint64_t due_ms; /* monotonic: of the next one */
    bool out, back;  /* (mu) */
    int rc, status;  /* (mu) */
};
struct otel {
    struct otel_config cfg;
    struct arena *a; /* texts of the settings */
    struct trace_policy policy;
    struct str traces_url, metrics_url; /* "": none are sent */
    struct pairs headers, resource;
    struct attr speaker_attrs[OTEL_PAIRS_MAX + 3];
    struct speaker speaker;
    struct journal *journal;
    struct store *store;
    struct egress *egress;
    struct arena *page; /* of a fold */
    pthread_mutex_t mu;
    pthread_cond_t tick;
    bool stopping, kicked;     /* (mu) */
    struct plan **plans;       /* (mu) ring of OTEL_PLANS_MAX */
    size_t plans_at, plans_nr; /* (mu) */
    size_t plan_bytes;         /* (mu) */
    struct map *runs;          /* run_no -> struct trace_run */
    struct list recent;
    size_t run_bytes;
    struct list spans; /* span_item, waiting */
    size_t spans_nr, span_bytes;
    uint64_t oldest_ms; /* when the first of them came; monotonic */
    struct sending sending;
    struct meters *meters; /* NULL: nothing is counted */
    enum record_level records;
    int64_t started_ms;
    size_t waiting; /* runs in memory that have not started */
    struct telling telling;
    struct log_gate failed_gate, dropped_gate;
    bool up;
    pthread_t thread;
    _Atomic uint64_t missed, stat_spans, stat_sent, stat_dropped, stat_requests, stat_failed,
        stat_queued, stat_runs, stat_series;
};
void otel_emit(struct otel *o, const struct span *s);
static inline bool otel_looks(const struct otel *o) { return o->meters || o->records; }

/* --- runs.c: the table of runs --- */
void otel_fold(struct otel *o, const struct plan *p);
void otel_runs_clear(struct otel *o);

/* --- send.c --- */
/* One request to the receiver; done is called on the egress thread unless it fails at once. */
MUST_CHECK int otel_post(struct otel *o, struct str url, struct str body, egress_done_fn *done,
                         struct wopr_error *err);
void otel_failure_log(struct otel *o, int rc, int status);
/* Send what is due; the milliseconds until there is something to do, at most max_ms. */
int64_t otel_send(struct otel *o, bool all, int64_t max_ms);
void otel_send_drop(struct otel *o);

/* --- tell.c --- */
/* Tell the numbers when it is time, or now; the milliseconds until then, at most max_ms. */
int64_t otel_tell(struct otel *o, bool now, int64_t max_ms);
/* Take what came back of the message under way; false: it has not. */
bool otel_tell_settle(struct otel *o);

#endif

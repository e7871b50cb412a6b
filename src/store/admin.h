/*
 * admin.h: what operators see of a store: counts, statistics, verification.  Layer: store.
 * General rules: store.h.
 */
#ifndef WOPR_STORE_ADMIN_H
#define WOPR_STORE_ADMIN_H

#include "base/metric.h"
#include "store/store.h"

struct store_counts {
    int64_t runs, runs_open, events;
    int64_t bytes;        /* of the database */
    int64_t tenant_bytes; /* logs of the largest tenant */
};
/* One short query, whatever the size.  CORRUPT when the row of counters is missing. */
MUST_CHECK int store_count(struct store *s, struct store_counts *out, struct wopr_error *err);

struct tenant_usage {               /* bytes: including what removed runs leave to their forks */
    int64_t runs, runs_open, bytes; /* bytes: of logs, as event_bytes() counts, and artifacts */
};
/* Zeros for a tenant that never had a run. */
MUST_CHECK int store_tenant_usage(struct store *s, struct str tenant, struct tenant_usage *out,
                                  struct wopr_error *err);

struct open_runs { /* of one tenant */
    struct str tenant;
    int64_t runs;
};
struct open_runs_list {
    struct open_runs *v;
    size_t n;
};
/* Tenants with unfinished runs, those with most first, max at most; in a. */
MUST_CHECK int store_open_runs(struct store *s, int64_t max, struct arena *a,
                               struct open_runs_list *out, struct wopr_error *err);

struct store_stats {               /* since the store was opened, for /metrics */
    struct metric_reading sync_ns; /* the commit alone: written and synced */
    bool failed;                   /* a sync failed: writes are refused */
};
/* Any thread; costs no query and does not block. */
void store_stats(struct store *s, struct store_stats *out);

struct store_finding {
    int64_t run_no;    /* 0: not about one run */
    struct str run_id; /* may be empty */
    bool is_note;      /* nothing is damaged */
    const char *what;  /* class of the finding, a constant */
    char text[256];
};
/* Physical checks: integrity of pages and foreign keys, triggers and indexes as the migrations made
 * them, sequences without holes, next_seq, one terminal event and that the last, counters.  Reads
 * everything, for as long as that takes.  Calls report once per finding, whose texts live for the
 * call only.  0 when the walk ended, even with findings. */
MUST_CHECK int store_verify(struct store *s,
                            void (*report)(void *ctx, const struct store_finding *f), void *ctx,
                            struct wopr_error *err);

#endif

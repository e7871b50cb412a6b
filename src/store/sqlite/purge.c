/*
 * purge.c: retention of whole runs (STORE-44).  The flag that opens the triggers is set and cleared
 * inside the one transaction, so nobody else ever sees it open.
 */
#include "base/mem.h"
#include "store/sqlite/sql.h"

enum {
    PURGE_RUNS_MAX = 1000,
    PURGE_EVENTS_MAX = 50000 /* per call, but at least one run: a transaction stays short */
};

struct ended {
    int64_t run_no, events;
};

int purge_gate(struct conn *c, int open, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RETENTION_SET);
    bind_int(&q, open);
    return query_run(&q, err);
}

static int find_ended(struct conn *c, int64_t before_ms, unsigned max, struct ended *v, size_t *n,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RUNS_ENDED_BEFORE);
    bind_int(&q, before_ms);
    bind_int(&q, max);
    int rc;
    int64_t events = 0;
    *n = 0;
    while ((rc = query_step(&q, err)) == 1 && *n < max && events < PURGE_EVENTS_MAX) {
        v[*n] = (struct ended){col_int(&q, 0), col_int(&q, 1)};
        events += v[(*n)++].events;
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int purge_rows(struct conn *c, int64_t run_no, struct wopr_error *err) {
    static const enum stmt_id deletes[] = {SQL_PURGE_NODES, SQL_PURGE_VARS, SQL_PURGE_CHANS,
                                           SQL_PURGE_TIMERS, SQL_PURGE_RUN};
    struct query q;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof deletes / sizeof *deletes; i++) {
        query_begin(&q, c, deletes[i]);
        bind_int(&q, run_no);
        rc = query_run(&q, err);
    }
    return rc;
}

static int purge_one(struct conn *c, int64_t run_no, int64_t now_ms, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_TOMBSTONE_PUT);
    bind_int(&q, now_ms);
    bind_int(&q, run_no);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_PURGE_EVENTS);
    bind_int(&q, run_no);
    rc = query_run(&q, err);
    return rc == 0 ? purge_rows(c, run_no, err) : rc;
}

static int purge_tombstones(struct conn *c, int64_t now_ms, unsigned max, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_TOMBSTONE_PURGE);
    bind_int(&q, now_ms - STORE_TOMBSTONE_KEEP_MS);
    bind_int(&q, max);
    return query_run(&q, err);
}

static int purge_found(struct conn *c, const struct ended *v, size_t n, int64_t now_ms,
                       struct wopr_error *err) {
    int64_t events = 0;
    struct query q;
    int rc = purge_gate(c, 1, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = purge_one(c, v[i].run_no, now_ms, err);
        events += v[i].events;
    }
    if (rc == 0) rc = purge_gate(c, 0, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_COUNTERS_ADD);
    bind_int(&q, -(int64_t)n);
    bind_int(&q, 0);
    bind_int(&q, -events);
    return query_run(&q, err);
}

int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                     int64_t *deleted, struct wopr_error *err) {
    if (max > PURGE_RUNS_MAX) max = PURGE_RUNS_MAX;
    struct ended *v = mem_array(max ? max : 1, sizeof *v);
    if (!v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a purge");
    size_t n = 0;
    int rc = write_begin(s, err);
    if (rc == 0) {
        rc = find_ended(s->writer, before_ms, max, v, &n, err);
        if (rc == 0 && n > 0) rc = purge_found(s->writer, v, n, now_ms, err);
        if (rc == 0) rc = purge_tombstones(s->writer, now_ms, max, err);
        rc = write_end(s, rc, err);
    }
    mem_free(v);
    if (rc == 0) *deleted = (int64_t)n;
    return rc;
}

/*
 * usage.c: what tenants use.  The rows change in the transactions that write runs: one statement
 * for each tenant of a batch, however many plans it has there, and one read for those that create,
 * so a kill or another host cannot make them drift.  Events are paid for once, by the run that
 * appended them, and a fork pays for its own and the copies it got (log_bytes).  A buried run is
 * paid for as long as its events are held (run_burials.bytes; its forks are of the same tenant).
 */
#include "base/mem.h"
#include "base/vec.h"
#include "store/admin.h"
#include "store/sqlite/sql.h"

static struct usage *usage_of(struct usages *u, struct str tenant, struct wopr_error *err) {
    for (size_t i = 0; i < u->n; i++)
        if (str_eq(u->v[i].tenant, tenant)) return &u->v[i];
    if (VEC_ROOM(u->v, u->n, u->cap, 8) != 0) {
        (void)wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to count what a tenant takes");
        return NULL;
    }
    u->v[u->n] = (struct usage){.tenant = tenant, .stored = -1};
    return &u->v[u->n++];
}

int usage_add(struct usages *u, struct str tenant, int64_t runs, int64_t open, int64_t bytes,
              struct wopr_error *err) {
    struct usage *x = usage_of(u, tenant, err);
    if (!x) return WOPR_E_NO_MEMORY;
    x->runs += runs;
    x->open += open;
    x->bytes += bytes;
    return 0;
}

int usage_tenant(struct conn *c, struct plan *p, struct wopr_error *err) {
    struct query q;
    if (p->tenant.n > 0) return 0;
    query_begin(&q, c, SQL_RUN_TENANT);
    bind_int(&q, p->run_no);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    if (rc == 1) p->tenant = col_str(&q, 0, p->arena);
    query_end(&q);
    return arena_failed(p->arena)
               ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the tenant of a run")
               : 0;
}

static int usage_stored(struct conn *c, struct usage *x, struct wopr_error *err) {
    struct query q;
    if (x->stored >= 0) return 0;
    query_begin(&q, c, SQL_USAGE_GET);
    bind_text(&q, x->tenant);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    x->stored = rc == 1 ? col_int(&q, 2) : 0;
    query_end(&q);
    return 0;
}

int usage_room(struct usages *u, struct conn *c, struct plan *p, int64_t bytes, int *refusal,
               struct wopr_error *err) {
    int64_t max = p->create->tenant_bytes_max;
    if (max <= 0) return 0;
    struct usage *x = usage_of(u, p->create->meta.tenant, err);
    if (!x) return WOPR_E_NO_MEMORY;
    int rc = usage_stored(c, x, err);
    if (rc != 0) return rc;
    p->tenant_bytes = x->stored + x->bytes;
    if (p->tenant_bytes + bytes > max) *refusal = WOPR_E_QUOTA;
    return 0;
}

int usages_write(struct usages *u, struct conn *c, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < u->n; i++) {
        const struct usage *x = &u->v[i];
        struct query q;
        if (x->runs == 0 && x->open == 0 && x->bytes == 0) continue;
        query_begin(&q, c, SQL_USAGE_ADD);
        bind_text(&q, x->tenant);
        bind_int(&q, x->runs);
        bind_int(&q, x->open);
        bind_int(&q, x->bytes);
        rc = query_run(&q, err);
    }
    return rc;
}

void usages_free(struct usages *u) {
    mem_free(u->v);
    *u = (struct usages){0};
}

int store_tenant_usage(struct store *s, struct str tenant, struct tenant_usage *out,
                       struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_USAGE_GET, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    rc = query_step(&q, err);
    if (rc < 0) return rc;
    *out = (struct tenant_usage){0};
    if (rc == 1)
        *out = (struct tenant_usage){
            .runs = col_int(&q, 0), .runs_open = col_int(&q, 1), .bytes = col_int(&q, 2)};
    query_end(&q);
    return 0;
}

static int open_runs_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct open_runs *)row = (struct open_runs){col_str(q, 0, a), col_int(q, 1)};
    return 0;
}

int store_open_runs(struct store *s, int64_t max, struct arena *a, struct open_runs_list *out,
                    struct wopr_error *err) {
    struct query q;
    struct open_runs_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_OPEN_RUNS, err);
    if (rc != 0) return rc;
    bind_int(&q, max);
    rc = list_read(&q, a, open_runs_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

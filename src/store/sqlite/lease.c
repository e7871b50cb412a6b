/*
 * lease.c: who may append to a run: acquire, renew, release, park (STORE-30 to STORE-33).
 * A run names its holder and carries the fencing epoch; the end of the lease stands once per
 * holder.
 */
#include "store/sqlite/sql.h"

void holder_forget(struct store *s) { s->holder_no = 0; }

/* Number of a holder; its leases last until until_ms or longer.  Inside a write transaction. */
int holder_number(struct store *s, struct str name, int64_t until_ms, int64_t *no,
                  struct wopr_error *err) {
    if (s->holder_no != 0 && until_ms <= s->holder_until_ms && str_eqc(name, s->holder)) {
        *no = s->holder_no;
        return 0;
    }
    if (name.n == 0 || name.n >= sizeof s->holder)
        return wopr_error_set(err, WOPR_E_CONFIG, "a lease holder's name has 1 to %zu bytes",
                              sizeof s->holder - 1);
    struct query q;
    query_begin(&q, s->writer, SQL_HOLDER_PUT);
    bind_text(&q, name);
    bind_int(&q, until_ms);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    ASSERT(rc == 1); /* the upsert always returns its row */
    int64_t number = col_int(&q, 0), until = col_int(&q, 1);
    rc = query_run(&q, err);
    if (rc != 0) return rc;
    memcpy(s->holder, name.p, name.n);
    s->holder[name.n] = '\0';
    s->holder_until_ms = until;
    s->holder_no = number;
    *no = number;
    return 0;
}

/* Why LEASE_TAKE moved no row. */
static int lease_refused(struct store *s, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_RUN_WHY_NOT);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    bool final = col_int(&q, 0) >= STORE_FINAL_STATUS, parked = col_int(&q, 3) != 0;
    query_end(&q);
    if (final) return wopr_error_set(err, WOPR_E_RUN_TERMINAL, "the run has ended");
    if (parked) return wopr_error_set(err, WOPR_E_CORRUPT, "the run is parked; see 'wopr verify'");
    return wopr_error_set(err, WOPR_E_FENCED, "another holder's lease on the run is still valid");
}

static int lease_take(struct store *s, int64_t run_no, int64_t holder_no, int64_t now_ms,
                      bool take_all, int64_t *epoch, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_LEASE_TAKE);
    bind_int(&q, holder_no);
    bind_int(&q, run_no);
    bind_int(&q, now_ms);
    bind_int(&q, take_all);
    int rc = query_step(&q, err);
    if (rc == 0) return lease_refused(s, run_no, err);
    if (rc < 0) return rc;
    *epoch = col_int(&q, 0);
    return query_run(&q, err);
}

int store_lease_acquire(struct store *s, int64_t run_no, struct str holder, int64_t now_ms,
                        int64_t until_ms, bool take_all, int64_t *epoch, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    int64_t no, got = 0;
    rc = holder_number(s, holder, until_ms, &no, err);
    if (rc == 0) rc = lease_take(s, run_no, no, now_ms, take_all, &got, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *epoch = got;
    return rc;
}

static int holder_set(struct store *s, struct str holder, int64_t until_ms,
                      struct wopr_error *err) {
    struct query q;
    holder_forget(s);
    query_begin(&q, s->writer, SQL_HOLDER_SET);
    bind_int(&q, until_ms);
    bind_text(&q, holder);
    return query_run(&q, err);
}

int store_lease_renew(struct store *s, struct str holder, int64_t until_ms, int64_t *renewed,
                      struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    int64_t n = 0;
    rc = holder_set(s, holder, until_ms, err);
    if (rc == 0) {
        query_begin(&q, s->writer, SQL_HOLDER_RUNS);
        bind_text(&q, holder);
        rc = query_step(&q, err);
        if (rc == 1) n = col_int(&q, 0);
        if (rc == 1) rc = query_run(&q, err);
    }
    rc = write_end(s, rc, err);
    if (rc == 0) *renewed = n;
    return rc;
}

int store_lease_release(struct store *s, struct str holder, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = holder_set(s, holder, 0, err);
    return write_end(s, rc, err);
}

int store_run_park(struct store *s, int64_t run_no, struct str reason, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_RUN_PARK);
    bind_opt(&q, reason);
    bind_int(&q, run_no);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    return write_end(s, rc, err);
}

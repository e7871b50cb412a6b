/*
 * lease.c: who may append to a run: claim, renew, release, request, transfer, park (STORE-30 to
 * STORE-36). A run names its holder and carries the fencing epoch; the end of the lease is stored
 * once per holder.  A claim names the run's epoch and the holder's beat as they were when that
 * holder was found dead or silent, so it fails when either has changed.
 */
#include "store/leases.h"
#include "store/peers.h"
#include "store/sqlite/sql.h"

/* Why a claim changed no row. */
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

static int want_delete(struct store *s, int64_t run_no, int64_t holder_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_LEASE_UNWANT);
    bind_int(&q, run_no);
    bind_int(&q, holder_no);
    return query_run(&q, err);
}

static int lease_moved(struct store *s, int64_t run_no, int64_t how, struct wopr_error *err) {
    const struct moved_run m = {.run_no = run_no, .next_seq = how};
    return moves_put(s, &m, 1, err);
}

static int lease_claim(struct store *s, const struct lease_claim *c, int64_t holder_no,
                       int64_t *epoch, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_LEASE_CLAIM);
    bind_int(&q, holder_no);
    bind_int(&q, c->run_no);
    bind_int(&q, c->epoch);
    bind_int(&q, c->beat);
    int rc = query_step(&q, err);
    if (rc == 0) return lease_refused(s, c->run_no, err);
    if (rc < 0) return rc;
    *epoch = col_int(&q, 0);
    rc = query_run(&q, err);
    if (rc == 0) rc = want_delete(s, c->run_no, holder_no, err);
    return rc == 0 ? lease_moved(s, c->run_no, MOVED_CLAIMED, err) : rc;
}

int store_lease_claim(struct store *s, const struct lease_claim *c, int64_t *epoch,
                      struct wopr_error *err) {
    int rc = write_begin_relaxed(s, err);
    if (rc != 0) return rc;
    int64_t no, got = 0;
    rc = holder_number(s, c->holder, c->until_ms, &no, err);
    if (rc == 0) rc = lease_claim(s, c, no, &got, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *epoch = got;
    return rc;
}

static int holder_beat(struct store *s, struct str holder, int64_t until_ms,
                       struct wopr_error *err) {
    struct query q;
    holder_forget(s);
    query_begin(&q, s->writer, SQL_HOLDER_BEAT);
    bind_int(&q, until_ms);
    bind_text(&q, holder);
    return query_run(&q, err);
}

static int peer_rows_prune(struct store *s, struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_MOVES_PRUNE);
    bind_int(&q, STORE_MOVES_KEPT);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_WANTS_PRUNE);
    return query_run(&q, err);
}

int store_lease_renew(struct store *s, struct str holder, int64_t until_ms, int64_t *renewed,
                      struct wopr_error *err) {
    int rc = write_begin_relaxed(s, err);
    if (rc != 0) return rc;
    struct query q;
    int64_t n = 0;
    rc = holder_beat(s, holder, until_ms, err);
    if (rc == 0) rc = peer_rows_prune(s, err);
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
    rc = holder_beat(s, holder, 0, err);
    if (rc == 0) rc = moves_put(s, NULL, 0, err);
    return write_end(s, rc, err);
}

/* --- requests and transfers --- */

int store_lease_request(struct store *s, int64_t run_no, struct str holder,
                        struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    int64_t no;
    rc = holder_number(s, holder, 0, &no, err);
    if (rc == 0) {
        struct query q;
        query_begin(&q, s->writer, SQL_LEASE_WANT);
        bind_int(&q, run_no);
        bind_int(&q, no);
        rc = query_run(&q, err);
    }
    return write_end(s, rc, err);
}

static int want_read(struct store *s, int64_t run_no, int64_t *holder_no, struct wopr_error *err) {
    struct query q;
    *holder_no = 0;
    query_begin(&q, s->writer, SQL_LEASE_WANTED);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc != 1) return rc;
    *holder_no = col_int(&q, 0);
    query_end(&q);
    return 0;
}

static int lease_give(struct store *s, int64_t run_no, int64_t to, struct str from, int64_t epoch,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, s->writer, SQL_LEASE_GIVE);
    bind_int(&q, to);
    bind_int(&q, run_no);
    bind_int(&q, epoch);
    bind_text(&q, from);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    if (sqlite3_changes64(s->writer->db) != 1) return lease_refused(s, run_no, err);
    rc = want_delete(s, run_no, to, err);
    return rc == 0 ? lease_moved(s, run_no, MOVED_GIVEN, err) : rc;
}

int store_lease_transfer(struct store *s, int64_t run_no, struct str from, int64_t epoch,
                         struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    int64_t to;
    bool nobody = false;
    rc = want_read(s, run_no, &to, err);
    if (rc == 0) nobody = to == 0 || store_holder_state(s, to) == HOLDER_DEAD;
    if (rc == 0 && !nobody) rc = lease_give(s, run_no, to, from, epoch, err);
    else if (rc == 0 && to != 0) rc = want_delete(s, run_no, to, err);
    rc = write_end(s, rc, err);
    return rc == 0 && nobody ? wopr_error_set(err, WOPR_E_NOT_FOUND, "nobody asks for the run")
                             : rc;
}

/* --- parking --- */

int store_run_park(struct store *s, int64_t run_no, int64_t epoch, struct str reason,
                   struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, s->writer, SQL_RUN_PARK);
    bind_opt(&q, reason);
    bind_int(&q, run_no);
    bind_int(&q, epoch);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = epoch < 0 ? wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run")
                       : wopr_error_set(err, WOPR_E_FENCED, "the run is not this holder's");
    if (rc == 0 && reason.n > 0) rc = tasks_hold(s->writer, run_no, err);
    return write_end(s, rc, err);
}

/*
 * hook_moves.c: what subscriptions have still to be sent: moves, cursors, dead letters, and which
 * host delivers (HOOK-11 to HOOK-15, D60 to D67).
 */
#include "store/hooks.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"

void store_on_hook_move(struct store *s, void (*wake)(void *ctx), void *ctx) {
    s->hook_wake = wake;
    s->hook_ctx = ctx;
}

/* ------------------------------------------------------------------------------ in a commit */
int hooks_any(struct conn *c, bool *any, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOKS_ANY);
    int rc = query_step(&q, err);
    query_end(&q);
    if (rc >= 0) *any = rc == 1;
    return rc < 0 ? rc : 0;
}

/* What a fork took over from its source was delivered as the source's. */
static int64_t kinds_of(const struct plan *p) {
    uint64_t set = 0;
    for (size_t i = 0; i < p->events_nr; i++)
        if (!(p->events[i].flags & (EVENT_INHERITED | EVENT_REEMITTED)))
            set |= UINT64_C(1) << (unsigned)p->events[i].kind;
    return (int64_t)set;
}

int hook_move_put(struct conn *c, const struct plan *p, int64_t now_ms, bool *moved,
                  struct wopr_error *err) {
    struct query q;
    int64_t kinds = kinds_of(p);
    if (kinds == 0) return 0;
    query_begin(&q, c, SQL_HOOK_MOVE_PUT);
    bind_int(&q, p->run_no);
    bind_int(&q, p->base_seq);
    bind_int(&q, p->base_seq + (int64_t)p->events_nr);
    bind_int(&q, kinds);
    bind_int(&q, now_ms);
    int rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(c->db) == 1) *moved = true;
    return rc;
}

/* ------------------------------------------------------------------------------ who delivers */
int64_t store_own_holder(const struct store *s) { return s->joined ? s->own_no : 0; }

int store_hook_lease(struct store *s, struct hook_lease *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOOK_LEASE, err);
    if (rc != 0) return rc;
    rc = query_step(&q, err);
    if (rc == 1)
        *out = (struct hook_lease){.holder_no = col_int(&q, 0),
                                   .epoch = col_int(&q, 1),
                                   .changes = col_int(&q, 2),
                                   .any = col_int(&q, 3) != 0};
    query_end(&q);
    if (rc == 0) return wopr_error_set(err, WOPR_E_CORRUPT, "the row of webhook_lease is gone");
    return rc < 0 ? rc : 0;
}

int store_hook_claim(struct store *s, const struct hook_lease *seen, int64_t *epoch,
                     struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOOK_CLAIM);
    bind_int(&q, store_own_holder(s));
    bind_int(&q, seen->epoch);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) != 1)
        rc = wopr_error_set(err, WOPR_E_FENCED, "another host delivers webhooks");
    rc = write_end(s, rc, err);
    if (rc == 0) *epoch = seen->epoch + 1;
    return rc;
}

/* ------------------------------------------------------------------------------ reading */
int store_hook_secret(struct store *s, int64_t hook_no, struct arena *a, struct plan_sealed *out,
                      struct wopr_error *err) {
    struct query q;
    struct plan_sealed row = {.seq = 0};
    int rc = read_begin(&q, s, SQL_HOOK_SECRET, err);
    if (rc != 0) return rc;
    bind_int(&q, hook_no);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) row = (struct plan_sealed){.box = col_str(&q, 0, a), .key_no = col_int(&q, 1)};
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such webhook");
    if (rc == 0) *out = row;
    return rc;
}

static int move_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct hook_move *)row = (struct hook_move){.move_no = col_int(q, 0),
                                                  .run_no = col_int(q, 1),
                                                  .from_seq = col_int(q, 2),
                                                  .until_seq = col_int(q, 3),
                                                  .kinds = col_int(q, 4),
                                                  .hook_no = col_int(q, 5),
                                                  .at_ms = col_int(q, 6),
                                                  .tenant = col_str(q, 7, a),
                                                  .test_mode = col_int(q, 8) != 0};
    return 0;
}

int store_hook_moves(struct store *s, int64_t after, unsigned max, struct arena *a,
                     struct hook_move_list *out, struct wopr_error *err) {
    struct query q;
    struct hook_move_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_HOOK_MOVES, err);
    if (rc != 0) return rc;
    bind_int(&q, after);
    bind_int(&q, max);
    rc = list_read(&q, a, move_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_hook_moves_of(struct store *s, const struct hook_row *row, int64_t from, unsigned max,
                        struct arena *a, struct hook_move_list *out, struct wopr_error *err) {
    struct query q;
    struct hook_move_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_HOOK_MOVES_OF, err);
    if (rc != 0) return rc;
    bind_text(&q, row->tenant);
    bind_int(&q, row->test_mode);
    bind_int(&q, from);
    bind_int(&q, row->kinds);
    bind_int(&q, row->hook_no);
    bind_int(&q, max);
    rc = list_read(&q, a, move_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_hook_run(struct store *s, struct str tenant, int64_t run_no, struct arena *a,
                   struct hook_run *out, struct wopr_error *err) {
    struct query q;
    struct hook_run got = {STR_NONE, STR_NONE, STR_NONE};
    int rc = read_begin(&q, s, SQL_HOOK_RUN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_text(&q, tenant);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) {
        got = (struct hook_run){col_str(&q, 0, a), col_str(&q, 1, a), col_str(&q, 2, a)};
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run is gone");
    if (rc != 0) return rc;
    *out = got;
    return 0;
}

int store_hook_floor(struct store *s, struct str tenant, bool test_mode, int64_t max,
                     int64_t *move_no, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_HOOK_FLOOR, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    bind_int(&q, max);
    rc = query_step(&q, err);
    if (rc >= 0) *move_no = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------------------------ marks */
int hook_fence_check(struct conn *c, int64_t epoch, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_LEASE);
    int rc = query_step(&q, err);
    bool ours = rc == 1 && col_int(&q, 1) == epoch;
    query_end(&q);
    if (rc < 0 || ours) return rc < 0 ? rc : 0;
    return wopr_error_set(err, WOPR_E_FENCED, "another host delivers webhooks");
}

static int mark_state(struct conn *c, struct hook_mark *m, struct wopr_error *err) {
    const struct hook_state *t = &m->state;
    struct query q;
    query_begin(&q, c, SQL_HOOK_MARK);
    const int64_t numbers[] = {m->hook_no,         t->next_move, t->next_seq, t->attempts,
                               t->next_attempt_ms, t->failures,  m->failed,   t->open_until_ms,
                               t->delivered,       t->dead,      t->dropped,  t->last_status};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) bind_int(&q, numbers[i]);
    bind_opt(&q, t->last_error);
    bind_int(&q, t->last_ms);
    int rc = query_run(&q, err);
    m->gone = rc == 0 && sqlite3_changes64(c->db) == 0;
    return rc;
}

/* Moves that woke it do so once, also for the host that delivers next. */
static int mark_woken(struct conn *c, const struct hook_mark *m, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_WOKEN);
    bind_int(&q, m->hook_no);
    bind_int(&q, m->woken_from);
    bind_int(&q, m->woken_to);
    return query_run(&q, err);
}

static int number_of(struct query *q, int64_t *out, struct wopr_error *err) {
    int rc = query_step(q, err);
    if (rc >= 0) *out = rc == 1 ? col_int(q, 0) : 0;
    query_end(q);
    return rc < 0 ? rc : 0;
}

/* HOOK-15: the times of the last 100 are a ring; when all of them are recent, it is over. */
static int mark_failures(struct conn *c, struct hook_mark *m, struct wopr_error *err) {
    struct query q;
    int64_t total = 0, recent = 0;
    query_begin(&q, c, SQL_HOOK_FAILURES_NR);
    bind_int(&q, m->hook_no);
    int rc = number_of(&q, &total, err);
    for (int64_t i = 1; rc == 0 && i <= m->failed && i <= HOOK_WINDOW_FAILURES; i++) {
        query_begin(&q, c, SQL_HOOK_FAILURE_PUT);
        bind_int(&q, m->hook_no);
        bind_int(&q, (total - i + HOOK_WINDOW_FAILURES) % HOOK_WINDOW_FAILURES);
        bind_int(&q, m->state.last_ms);
        rc = query_run(&q, err);
    }
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_HOOK_FAILURES_SINCE);
    bind_int(&q, m->hook_no);
    bind_int(&q, m->state.last_ms - HOOK_WINDOW_MS);
    rc = number_of(&q, &recent, err);
    if (rc != 0 || recent < HOOK_WINDOW_FAILURES) return rc;
    query_begin(&q, c, SQL_HOOK_STOP);
    bind_int(&q, m->hook_no);
    m->stopped = true;
    return query_run(&q, err);
}

static int dead_put(struct conn *c, int64_t hook_no, const struct hook_dead *d,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_HOOK_DEAD_PUT);
    bind_int(&q, hook_no);
    bind_int(&q, d->run_no);
    bind_opt(&q, d->run_id);
    bind_int(&q, d->seq);
    bind_int(&q, d->until_seq);
    bind_opt(&q, d->event_type);
    bind_int(&q, d->attempts);
    bind_int(&q, d->status);
    bind_text(&q, d->reason);
    bind_int(&q, d->dead_ms);
    bind_int(&q, d->expires_ms);
    return query_run(&q, err);
}

static int mark_deads(struct conn *c, const struct hook_mark *m, struct wopr_error *err) {
    struct query q;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->deads_nr; i++)
        rc = dead_put(c, m->hook_no, &m->deads[i], err);
    if (rc != 0 || m->deads_nr == 0) return rc;
    query_begin(&q, c, SQL_HOOK_DEAD_BOUND);
    bind_int(&q, m->hook_no);
    bind_int(&q, HOOK_DEAD_MAX);
    return query_run(&q, err);
}

int store_hook_marks(struct store *s, int64_t epoch, struct hook_mark *marks, size_t n,
                     struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = hook_fence_check(s->writer, epoch, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        marks[i].stopped = marks[i].gone = false;
        rc = mark_state(s->writer, &marks[i], err);
        if (rc != 0 || marks[i].gone) continue;
        if (marks[i].woken_from > 0) rc = mark_woken(s->writer, &marks[i], err);
        if (rc == 0 && marks[i].failed > 0) rc = mark_failures(s->writer, &marks[i], err);
        if (rc == 0) rc = mark_deads(s->writer, &marks[i], err);
    }
    return write_end(s, rc, err);
}

/* ------------------------------------------------------------------------------ trimming */
int store_hook_trim(struct store *s, struct str tenant, bool test_mode, int64_t before, bool *more,
                    struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOOK_TRIM);
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    bind_int(&q, before);
    bind_int(&q, HOOK_TRIM_ROWS);
    rc = query_run(&q, err);
    bool full = rc == 0 && sqlite3_changes64(s->writer->db) == HOOK_TRIM_ROWS;
    rc = write_end(s, rc, err);
    if (rc == 0) *more = full;
    return rc;
}

int store_hook_expire(struct store *s, int64_t now_ms, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOOK_DEAD_EXPIRE);
    bind_int(&q, now_ms);
    bind_int(&q, HOOK_TRIM_ROWS);
    rc = query_run(&q, err);
    return write_end(s, rc, err);
}

int store_hook_orphans(struct store *s, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_HOOK_ORPHANS);
    rc = query_run(&q, err);
    return write_end(s, rc, err);
}

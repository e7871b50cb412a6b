/*
 * purge.c: retention of whole runs (STORE-44) and of stored answers.  The flag that opens the
 * triggers is set and cleared inside the one transaction, so no other transaction ever sees it
 * open.  A run that is too long for one transaction, or that forks refer to, is buried: hidden
 * (tenant '') and removed in slices; its row is removed last, so what is left can find its run.
 * Events that forks show stay until the last of these forks is removed: then the burial is resumed.
 * What none shows, and all of its state, is removed at once, but no source before the first step of
 * a fork, which may read on where it was cut.  Its tombstone answers for it meanwhile.
 * A fork that has forks leaves a row of run_lineages, with nothing but its place among them.
 */
#include "base/clock.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"

enum {
    FIND_MAX = 64,      /* ended runs looked up at once */
    STEP_ROWS = 256,    /* rows deleted between two looks at the clock */
    SMALL_EVENTS = 256, /* a run with at most this many is removed at once */
    TOMBSTONES_MAX = 500
};

struct slice {
    struct conn *c;
    int64_t now_ms;    /* wall clock, for tombstones */
    uint64_t until_ms; /* monotonic */
    int64_t rows_left, runs, events;
    bool spent;
    struct wopr_error *err;
};

/* The clock starts at the first row, so that each slice makes progress on the slowest disk. */
static bool slice_spent(struct slice *s) {
    const bool began = s->rows_left < STORE_PURGE_ROWS;
    s->spent = s->spent || s->rows_left <= 0 || (began && clock_mono_ms() >= s->until_ms);
    return s->spent;
}

static int purge_gate(struct conn *c, int open, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RETENTION_SET);
    bind_int(&q, open);
    return query_run(&q, err);
}

static int run_statement(struct conn *c, enum stmt_id id, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

static int purge_from(struct conn *c, const enum stmt_id *deletes, size_t n, int64_t run_no,
                      struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) rc = run_statement(c, deletes[i], run_no, err);
    return rc;
}

#define RUN_TABLE_ID(id, table) SQL_PURGE_##id,
static const enum stmt_id RUN_ROWS[] = {RUN_TABLES(RUN_TABLE_ID) SQL_PURGE_RUN}; /* except events */
static const enum stmt_id STATE_ROWS[] = {STATE_TABLES(RUN_TABLE_ID)};

struct ended { /* ENDED_COLUMNS, and the bytes its tenant still pays for */
    int64_t run_no, events, keep, bytes;
    bool in_use;       /* forks read what it has sealed */
    int64_t parent_no; /* that has not ended, 0 = none */
};

static struct ended ended_read(struct query *q) {
    return (struct ended){.run_no = col_int(q, 0),
                          .events = col_int(q, 1),
                          .keep = col_int(q, 2),
                          .in_use = col_int(q, 3) != 0};
}

static int run_number(struct conn *c, enum stmt_id id, int64_t run_no, int64_t number,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    bind_int(&q, number);
    return query_run(&q, err);
}

/* The first slice hides the run: from now on its tombstone answers. */
static int run_entomb(struct slice *s, int64_t run_no) {
    struct query q;
    query_begin(&q, s->c, SQL_TOMBSTONE_PUT);
    bind_int(&q, s->now_ms);
    bind_int(&q, run_no);
    int rc = query_run(&q, s->err);
    if (rc == 0) rc = run_statement(s->c, SQL_USAGE_LESS, run_no, s->err);
    return rc == 0 ? run_statement(s->c, SQL_TAGS_DROP, run_no, s->err) : rc;
}

/* Its source may have been named for its sake alone. */
static int lineage_wake(struct slice *s, const char *source, size_t n) {
    struct query q;
    query_begin(&q, s->c, SQL_LINEAGE_WAKE);
    bind_text(&q, str_n(source, n));
    return query_run(&q, s->err);
}

struct source { /* id of the run that a fork was cut from */
    char id[RUN_ID_MAX];
    size_t n;
    int64_t agents_no; /* set of agents of the fork itself */
};

static struct source source_read(struct query *q, int col) {
    struct source x = {.n = (size_t)sqlite3_column_bytes(q->st, col)};
    const void *p = sqlite3_column_blob(q->st, col);
    if (!p || x.n > sizeof x.id) x.n = 0;
    if (x.n > 0) memcpy(x.id, p, x.n);
    return x;
}

static int source_of(struct slice *s, int64_t run_no, struct source *out) {
    struct query q;
    query_begin(&q, s->c, SQL_LINEAGE_SOURCE);
    bind_int(&q, run_no);
    int rc = query_step(&q, s->err);
    if (rc == 1) {
        *out = source_read(&q, 0);
        out->agents_no = col_int(&q, 1);
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* Names that nothing leads to any more, and with them those further up. */
static int purge_lineages(struct slice *s) {
    while (!slice_spent(s)) {
        struct query q;
        query_begin(&q, s->c, SQL_LINEAGE_NEXT);
        int rc = query_step(&q, s->err);
        if (rc <= 0) return rc;
        int64_t run_no = col_int(&q, 0);
        struct source up = source_read(&q, 1);
        query_end(&q);
        rc = run_statement(s->c, SQL_LINEAGE_DROP, run_no, s->err);
        if (rc == 0) rc = lineage_wake(s, up.id, up.n);
        if (rc != 0) return rc;
        s->rows_left--;
    }
    return 0;
}

static int run_forget(struct slice *s, const struct ended *r) {
    struct source up = {.n = 0};
    int rc = run_statement(s->c, SQL_BURIAL_WAKE, r->run_no, s->err);
    if (rc == 0) rc = source_of(s, r->run_no, &up);
    if (rc == 0) rc = run_statement(s->c, SQL_LINEAGE_PUT, r->run_no, s->err);
    if (rc == 0)
        rc = purge_from(s->c, RUN_ROWS, sizeof RUN_ROWS / sizeof *RUN_ROWS, r->run_no, s->err);
    if (rc == 0) rc = agent_set_release(s->c, up.agents_no, s->err);
    if (rc == 0 && up.n > 0) rc = lineage_wake(s, up.id, up.n);
    s->rows_left--;
    s->runs++;
    s->events += r->events;
    return rc;
}

static int purge_small(struct slice *s, const struct ended *r) {
    int rc = run_entomb(s, r->run_no);
    if (rc == 0) rc = run_statement(s->c, SQL_PURGE_EVENTS, r->run_no, s->err);
    s->rows_left -= r->events;
    return rc == 0 ? run_forget(s, r) : rc;
}

/* Delete rows of one table until the slice is spent. */
static int purge_table(struct slice *s, enum stmt_id id, int64_t run_no) {
    for (int64_t n = STEP_ROWS; n == STEP_ROWS && !slice_spent(s);) {
        int rc = run_number(s->c, id, run_no, STEP_ROWS, s->err);
        if (rc != 0) return rc;
        n = sqlite3_changes64(s->c->db);
        s->rows_left -= n;
    }
    return 0;
}

/* The tenant pays for fewer bytes of a run that is kept for its forks. */
static int burial_relieve(struct slice *s, struct ended *r, int64_t bytes) {
    if (r->bytes == 0 || bytes == 0) return 0;
    r->bytes -= bytes;
    int rc = run_number(s->c, SQL_BURIAL_PAID, r->run_no, bytes, s->err);
    return rc == 0 ? run_number(s->c, SQL_BURIAL_LESS, r->run_no, bytes, s->err) : rc;
}

/* Delete the events that no fork shows. */
static int purge_events(struct slice *s, struct ended *r) {
    int rc = r->keep == 0 ? burial_relieve(s, r, r->bytes) : 0;
    for (int64_t n = STEP_ROWS; rc == 0 && n == STEP_ROWS && !slice_spent(s);) {
        struct query q;
        int64_t bytes = 0;
        query_begin(&q, s->c, SQL_SLICE_EVENTS);
        bind_int(&q, r->run_no);
        bind_int(&q, STEP_ROWS);
        bind_int(&q, r->keep);
        for (n = 0; (rc = query_step(&q, s->err)) == 1; n++) bytes += col_int(&q, 0);
        s->rows_left -= n;
        if (rc == 0) rc = burial_relieve(s, r, bytes);
    }
    return rc;
}

/* Only the run's row and what its forks show or read are left. */
static int burial_rest(struct slice *s, const struct ended *r) {
    if (r->keep == 0 && !r->in_use) return run_forget(s, r);
    struct source up = {.n = 0};
    int rc =
        purge_from(s->c, STATE_ROWS, sizeof STATE_ROWS / sizeof *STATE_ROWS, r->run_no, s->err);
    if (rc == 0) rc = source_of(s, r->run_no, &up);
    if (rc == 0) rc = run_statement(s->c, SQL_BURIAL_BARE, r->run_no, s->err);
    if (rc == 0) rc = agent_set_release(s->c, up.agents_no, s->err);
    return rc == 0 ? run_statement(s->c, SQL_BURIAL_WAIT, r->run_no, s->err) : rc;
}

static int purge_on(struct slice *s, struct ended *r) {
#define LONG_TABLE_ID(id, table, key, of_run) SQL_SLICE_##id,
    static const enum stmt_id tables[] = {LONG_TABLES(LONG_TABLE_ID)};
    int rc = purge_events(s, r);
    for (size_t i = 0; rc == 0 && !slice_spent(s) && i < sizeof tables / sizeof *tables; i++)
        if (tables[i] != SQL_SLICE_SEALED || (r->keep == 0 && !r->in_use))
            rc = purge_table(s, tables[i], r->run_no);
    return rc == 0 && !slice_spent(s) ? burial_rest(s, r) : rc;
}

/* Continue with a run that an earlier call began, or that lost a fork. */
static int purge_begun(struct slice *s) {
    while (!slice_spent(s)) {
        struct query q;
        query_begin(&q, s->c, SQL_BURIAL_NEXT);
        int rc = query_step(&q, s->err);
        if (rc <= 0) return rc;
        struct ended r = ended_read(&q);
        r.bytes = col_int(&q, 4);
        query_end(&q);
        rc = purge_on(s, &r);
        if (rc != 0) return rc;
    }
    return 0;
}

static int purge_one(struct slice *s, const struct ended *r) {
    if (r->events <= SMALL_EVENTS && r->keep == 0 && !r->in_use) return purge_small(s, r);
    int rc = run_number(s->c, SQL_BURIAL_PUT, r->run_no, r->keep > 0, s->err);
    if (rc == 0) rc = run_entomb(s, r->run_no);
    if (rc == 0) rc = run_statement(s->c, SQL_PURGE_HIDE, r->run_no, s->err);
    return rc == 0 ? purge_begun(s) : rc;
}

static int ended_find(struct slice *s, int64_t before_ms, unsigned max, struct ended *v,
                      size_t *n) {
    struct query q;
    int rc;
    query_begin(&q, s->c, SQL_RUNS_ENDED_BEFORE);
    bind_int(&q, before_ms);
    bind_int(&q, max < FIND_MAX ? max : FIND_MAX);
    bind_int(&q, s->now_ms);
    *n = 0;
    while (*n < FIND_MAX && (rc = query_step(&q, s->err)) == 1) {
        v[*n] = ended_read(&q);
        v[(*n)++].parent_no = col_int(&q, 4);
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* Its parent may still ask for it: no look passes it until the parent has ended. */
static int ended_keep(struct slice *s, const struct ended *r) {
    s->rows_left--;
    return run_number(s->c, SQL_RUN_KEEP_FOR, r->run_no, r->parent_no, s->err);
}

static int purge_ended(struct slice *s, int64_t before_ms, unsigned max) {
    struct ended v[FIND_MAX];
    size_t n = 1;
    int rc = 0;
    while (rc == 0 && n > 0 && max > 0 && !slice_spent(s)) {
        rc = ended_find(s, before_ms, max, v, &n);
        for (size_t i = 0; rc == 0 && i < n && !slice_spent(s); i++) {
            bool kept = v[i].parent_no != 0;
            rc = kept ? ended_keep(s, &v[i]) : purge_one(s, &v[i]);
            max -= !kept;
        }
    }
    if (max == 0) s->spent = true;
    return rc;
}

/* Children of runs that have ended since are looked at again. */
static int kept_release(struct slice *s) {
    while (!slice_spent(s)) {
        struct query q;
        query_begin(&q, s->c, SQL_KEPT_DUE_NEXT);
        int rc = query_step(&q, s->err);
        if (rc <= 0) return rc;
        int64_t parent_no = col_int(&q, 0);
        query_end(&q);
        rc = run_number(s->c, SQL_KEPT_RELEASE, parent_no, STEP_ROWS, s->err);
        int64_t n = rc == 0 ? sqlite3_changes64(s->c->db) : 0;
        s->rows_left -= n + 1;
        if (rc == 0 && n < STEP_ROWS)
            rc = run_statement(s->c, SQL_KEPT_DUE_DROP, parent_no, s->err);
        if (rc != 0) return rc;
    }
    return 0;
}

int kept_end(const struct row_writer *w, const struct plan *p) {
    bool ends = p->has_update && (int)p->update.status >= STORE_FINAL_STATUS;
    if (!ends || p->what == PLAN_CREATE) return 0;
    return run_statement(w->c, SQL_KEPT_DUE, w->run_no, w->err);
}

static int purge_tombstones(struct slice *s) {
    struct query q;
    query_begin(&q, s->c, SQL_TOMBSTONE_PURGE);
    bind_int(&q, s->now_ms - STORE_TOMBSTONE_KEEP_MS);
    bind_int(&q, TOMBSTONES_MAX);
    int rc = query_run(&q, s->err);
    if (rc == 0 && sqlite3_changes64(s->c->db) == TOMBSTONES_MAX) s->spent = true;
    return rc;
}

static int slice_count(struct slice *s) {
    struct query q;
    if (s->runs == 0) return 0;
    query_begin(&q, s->c, SQL_COUNTERS_ADD);
    bind_int(&q, -s->runs);
    bind_int(&q, 0);
    bind_int(&q, -s->events);
    return query_run(&q, s->err);
}

static struct slice slice_begin(struct store *s, int64_t now_ms, struct wopr_error *err) {
    return (struct slice){.c = s->writer,
                          .now_ms = now_ms,
                          .until_ms = clock_mono_ms() + STORE_PURGE_MS,
                          .rows_left = STORE_PURGE_ROWS,
                          .err = err};
}

int store_purge_runs(struct store *s, int64_t before_ms, int64_t now_ms, unsigned max,
                     int64_t *deleted, bool *more, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct slice z = slice_begin(s, now_ms, err);
    rc = purge_gate(z.c, 1, err);
    if (rc == 0) rc = purge_begun(&z);
    if (rc == 0) rc = kept_release(&z);
    if (rc == 0) rc = purge_ended(&z, before_ms, max);
    if (rc == 0) rc = purge_begun(&z); /* runs that lost their last fork in this slice */
    if (rc == 0) rc = purge_lineages(&z);
    if (rc == 0) rc = purge_tombstones(&z);
    if (rc == 0) rc = slice_count(&z);
    if (rc == 0) rc = purge_gate(z.c, 0, err);
    rc = write_end(s, rc, err);
    if (rc != 0) return rc;
    *deleted = z.runs;
    if (more) *more = z.spent;
    return 0;
}

int store_purge_idempotency(struct store *s, int64_t now_ms, unsigned max, int64_t *deleted,
                            bool *more, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    struct slice z = slice_begin(s, now_ms, err);
    int64_t gone = 0, step = STEP_ROWS;
    for (int64_t n = step; rc == 0 && n == step && step > 0 && !slice_spent(&z);) {
        struct query q;
        step = max - gone < STEP_ROWS ? max - gone : STEP_ROWS;
        query_begin(&q, z.c, SQL_IDEM_PURGE);
        bind_int(&q, now_ms);
        bind_int(&q, step);
        rc = query_run(&q, err);
        n = rc == 0 ? sqlite3_changes64(z.c->db) : 0;
        gone += n;
        z.rows_left -= n;
    }
    rc = write_end(s, rc, err);
    if (rc != 0) return rc;
    *deleted = gone;
    if (more) *more = z.spent || gone == (int64_t)max;
    return 0;
}

/*
 * import.c: stores a checked bundle as a session of this host (WR-240 to WR-243), with the runs
 * that its log makes, in one transaction: all of it or nothing.
 */
#include "base/clock.h"
#include "journal/journal.h"
#include "rail/bundle.h"
#include "rail/import_runs.h"
#include "rail/rail_int.h"
#include "store/append.h"

struct importing {
    struct rail *rail;
    const struct rail_import *in;
    struct rail_bundle b;
    struct rail_op op;
    struct arena *a;
    struct str from; /* the id it has in the bundle, when it gets another one here */
    struct wr_fault *f;
};

/* --- under another id (WR-241) --- */
static struct str key_renamed(struct arena *a, struct str key, struct str old, struct str fresh) {
    size_t at = 0;
    while (at < key.n && key.p[at] != ':') at++; /* <kind>:<session>... */
    if (at + 1 + old.n > key.n || memcmp(key.p + at + 1, old.p, old.n) != 0) return key;
    return arena_printf(a, "%.*s" STR_FMT "%.*s", (int)at + 1, key.p, STR_ARG(fresh),
                        (int)(key.n - at - 1 - old.n), key.p + at + 1 + old.n);
}

static int events_rename(struct importing *m, struct str fresh) {
    for (size_t i = 0; i < m->b.events_nr; i++) {
        struct wr_event *e = &m->b.events[i];
        e->dedupe_key = key_renamed(m->a, e->dedupe_key, m->b.session_id, fresh);
        e->session_id = fresh;
        int rc = wr_event_seal(e, m->a, m->f);
        if (rc != 0) return rc;
    }
    return 0;
}

static int records_rename(struct importing *m, struct str fresh) {
    for (size_t i = 0; i < m->b.records_nr; i++) {
        struct wr_record *r = &m->b.records[i];
        r->session_id = fresh;
        if (r->kind == WR_SEGMENT_CLOSED) {
            struct wr_segment_sum sum;
            size_t n = (size_t)(r->last_index - r->first_index + 1);
            int rc = wr_segment_sum(&m->b.events[r->first_index], n, &sum, m->f);
            if (rc != 0) return rc;
            r->segment_bytes = sum.bytes;
            r->sha256 = arena_str(m->a, wr_digest_str(&sum.digest));
        }
        int rc = wr_record_seal(r, m->a, m->f);
        if (rc != 0) return rc;
    }
    return 0;
}

static int session_rename(struct importing *m) {
    const struct wr_id id = wr_id_mint(&RAIL_MINT, WR_ID_SESSION);
    struct str fresh = arena_str(m->a, wr_id_str(&id));
    if (!fresh.p) return wr_no_memory(m->f);
    int rc = events_rename(m, fresh);
    if (rc == 0) rc = records_rename(m, fresh);
    m->from = m->b.session_id;
    m->b.session_id = fresh;
    return rc;
}

/* --- what is here --- */
static bool same_log(const struct session_log *l, const struct rail_bundle *b) {
    if (l->events.n != b->events_nr || l->records.n != b->records_nr) return false;
    for (size_t i = 0; i < l->events.n; i++)
        if (!str_eq(l->events.v[i].event.bytes, b->events[i].bytes)) return false;
    for (size_t i = 0; i < l->records.n; i++)
        if (!str_eq(l->records.v[i].record.bytes, b->records[i].bytes)) return false;
    return true;
}

/* *same: the very session is here already.  What another tenant has is not told: then the import
 * has an id of its own. */
static int clash_look(struct importing *m, bool *same) {
    const struct rail_caller *who = &m->in->who;
    const struct session_from all = {0, 0};
    struct session_log log;
    *same = false;
    int rc = store_session_log(m->rail->cfg.store, STR_NONE, false, m->b.session_id, all, m->a,
                               &log, &m->f->e);
    if (rc == WOPR_E_NOT_FOUND) return 0;
    if (rc != 0) return wr_fail_as(m->f, WR_SESSION_LOAD_FAILED, rc);
    bool ours = str_eq(log.head.tenant, who->tenant) && log.head.test_mode == who->test_mode;
    *same = ours && same_log(&log, &m->b);
    if (*same) return 0;
    if (ours && !m->in->rename)
        return wr_fail(m->f, WR_PRECONDITION_FAILED, "/session/sessionId",
                       "another session here has this id; import it under a new one with "
                       "--rename (rename=true)");
    return session_rename(m);
}

/* --- (8), and the log as rows --- */
static void event_rows(const struct rail_bundle *b, struct session_event_row *v) {
    for (size_t i = 0; i < b->events_nr; i++) {
        const struct wr_event *e = &b->events[i];
        v[i] =
            (struct session_event_row){.index = (int64_t)i,
                                       .event = {.event_id = e->event_id,
                                                 .kind = str_c(wr_kind_name((enum wr_kind)e->kind)),
                                                 .run_id = e->run_id,
                                                 .node_id = e->node_id,
                                                 .dedupe_key = e->dedupe_key,
                                                 .bytes = e->bytes}};
    }
}

static void record_rows(const struct rail_bundle *b, struct session_record_row *v) {
    for (size_t i = 0; i < b->records_nr; i++) {
        const struct wr_record *r = &b->records[i];
        bool segment = r->kind == WR_SEGMENT_CLOSED;
        v[i] = (struct session_record_row){
            .index = (int64_t)i,
            .record = {.kind = segment ? STR("segment_closed") : STR("snapshot_pinned"),
                       .first = segment ? r->first_index : -1,
                       .last = segment ? r->last_index : -1,
                       .event_index = segment ? -1 : r->pin.event_index,
                       .snapshot_ref = segment ? STR_NONE : r->pin.snapshot_ref,
                       .bytes = r->bytes}};
    }
}

static int log_judge(struct importing *m, struct session_log *log) {
    *log = (struct session_log){.head = {.session_id = m->b.session_id,
                                         .tenant = m->in->who.tenant,
                                         .test_mode = m->in->who.test_mode,
                                         .imported_from = m->from}};
    log->events.v = ARENA_ARRAY(m->a, struct session_event_row, m->b.events_nr);
    log->records.v = ARENA_ARRAY(m->a, struct session_record_row, m->b.records_nr + 1);
    if (!log->events.v || !log->records.v) return wr_no_memory(m->f);
    log->events.n = m->b.events_nr;
    log->records.n = m->b.records_nr;
    event_rows(&m->b, log->events.v);
    record_rows(&m->b, log->records.v);
    int rc = rail_session_judge(log, m->a, &m->op.session, m->f);
    if (rc != 0 || m->op.session.health == RAIL_HEALTHY) return rc;
    return wr_fail(m->f, WR_BUNDLE_INVALID_FORMAT, "/session/events",
                   "the bundle is refused: its events do not fit each other: %.200s",
                   m->op.session.why);
}

/* --- commit --- */
static int session_plan(struct importing *m, const struct session_log *log,
                        struct plan_session *x) {
    *x = (struct plan_session){.session_id = m->b.session_id,
                               .tenant = m->in->who.tenant,
                               .test_mode = m->in->who.test_mode,
                               .create = true,
                               .at_ms = clock_wall_ms(),
                               .commit_no = m->b.commit_no,
                               .imported_from = m->from,
                               .blobs = m->b.blobs,
                               .blobs_nr = m->b.blobs_nr};
    x->events = ARENA_ARRAY(m->a, struct plan_session_event, log->events.n);
    x->records = ARENA_ARRAY(m->a, struct plan_session_record, log->records.n + 1);
    if (!x->events || !x->records) return wr_no_memory(m->f);
    for (size_t i = 0; i < log->events.n; i++) x->events[i] = log->events.v[i].event;
    for (size_t i = 0; i < log->records.n; i++) x->records[i] = log->records.v[i].record;
    x->events_nr = log->events.n;
    x->records_nr = log->records.n;
    return rail_summaries(&m->op, m->a, x);
}

struct whole {
    struct journal *journal; /* NULL: of a tool, nobody here listens */
    struct plan **plans;
    size_t n;
};

/* Streams, telemetry and counters see these commits as they see those of runs that began here. */
static int whole_write(void *ctx, struct store *s, struct wopr_error *err) {
    const struct whole *w = ctx;
    return w->journal ? journal_commit_whole(w->journal, w->plans, w->n, err)
                      : store_apply_whole(s, w->plans, w->n, err);
}

static int import_refused(struct importing *m, int rc) {
    if (rc == WOPR_E_QUOTA)
        return wr_fail(m->f, WR_PRECONDITION_FAILED, "",
                       "the tenant's room for logs is used up; ask the operator for more");
    return wr_fail_as(m->f, WR_SESSION_STORE_IO_ERROR, rc);
}

/* salt: the runs get ids of their own.  EXISTS: an id is taken. */
static int import_try(struct importing *m, const struct session_log *log, struct str salt) {
    struct plan_session x;
    struct import_runs runs = {.op = &m->op,
                               .session = &m->op.session,
                               .owner = m->op.owner,
                               .salt = salt,
                               .now_ms = clock_wall_ms()};
    int rc = session_plan(m, log, &x);
    if (rc == 0) rc = import_runs_make(&runs, &x, m->f);
    if (rc == 0) {
        struct whole w = {m->rail->cfg.journal, runs.plans, runs.plans_nr};
        rc = rail_side(m->rail, whole_write, &w, &m->f->e);
        if (rc != 0 && rc != WOPR_E_EXISTS) rc = import_refused(m, rc);
    }
    import_runs_fini(&runs);
    return rc;
}

static int import_store(struct importing *m) {
    struct session_log log;
    struct wr_plan pending = {.blobs = NULL};
    int rc = log_judge(m, &log);
    if (rc != 0) return rc;
    rc = import_blobs(m->a, m->b.blobs, m->b.blobs_nr, &pending) == 0 ? 0 : wr_no_memory(m->f);
    m->op.pending = &pending;
    if (rc == 0) rc = import_try(m, &log, m->from.n > 0 ? m->b.session_id : STR_NONE);
    if (rc == WOPR_E_EXISTS && m->from.n == 0) { /* runs of a session that was removed here */
        m->from = m->b.session_id;
        rc = import_try(m, &log, m->b.session_id);
    }
    m->op.pending = NULL;
    return rc == WOPR_E_EXISTS ? wr_fail(m->f, WR_PRECONDITION_FAILED, "/session",
                                         "an id of this session is taken; import it again")
                               : rc;
}

int rail_bundle_import(struct rail *r, const struct rail_import *x, struct str json,
                       struct arena *a, struct rail_imported *out, struct wr_fault *f) {
    const struct rail_owner owner = {x->who.tenant, x->who.workspace, x->who.subject,
                                     x->who.test_mode};
    struct importing m = {.rail = r, .in = x, .a = a, .f = f};
    bool same = false;
    *f = (struct wr_fault){.code = WR_FINE};
    int rc = rail_op_init(&m.op, r, &owner, false, a, f);
    if (rc == 0) rc = rail_bundle_read(json, a, &m.b, f);
    if (rc == 0) rc = clash_look(&m, &same);
    if (rc == 0 && !same) rc = import_store(&m);
    rail_op_fini(&m.op);
    if (rc != 0) return rc;
    *out = (struct rail_imported){.session_id = m.b.session_id,
                                  .fresh = !same,
                                  .renamed = m.from.n > 0 && !str_eq(m.from, m.b.session_id)};
    return 0;
}

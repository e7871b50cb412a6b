/*
 * session.c: see session.h.  A group is what one plan wrote: a segment of events, its record, and
 * the records of the snapshots that its nodes refer to.  The log is judged group by group; the
 * first that fails ends the validated prefix.
 */
#include "rail/session.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const HEALTH_NAMES[RAIL_HEALTHS] = {"healthy", "corrupt_tail", "corrupt_head",
                                                       "unknown_version"};
static const char *const REASONS[] = {"",
                                      "digest_mismatch",
                                      "non_contiguous_indices",
                                      "missing_attested_segment",
                                      "unknown_schema_version",
                                      "schema_validation_failed"};
const char *rail_health_name(enum rail_health h) { return HEALTH_NAMES[h]; }
const char *rail_reason_name(enum rail_reason r) { return REASONS[r]; }

struct judge {
    const struct session_log *log;
    struct arena *keep; /* events; their bytes, too, when rows lie elsewhere */
    struct arena *a;    /* rows and records */
    struct rail_session *out;
    struct wr_event *events;   /* by row, as are records: of this read alone */
    struct wr_record *records; /* rows before log->from were judged when they were read */
    size_t record;             /* next to be judged */
    size_t event;              /* row of the next event */
    int64_t next;              /* its index */
    bool refold;               /* the truth holds events beyond the prefix */
    int rc;                    /* memory */
};

/* Ends the judgement; false, so that a caller can return it. */
static bool session_spoil(struct judge *j, enum rail_reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool session_spoil(struct judge *j, enum rail_reason reason, const char *fmt, ...) {
    struct rail_session *s = j->out;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    s->reason = reason;
    s->health = reason == RAIL_UNKNOWN_SCHEMA ? RAIL_UNKNOWN_VERSION
                : s->records_nr == 0          ? RAIL_CORRUPT_HEAD
                                              : RAIL_CORRUPT_TAIL;
    return false;
}

static bool read_failed(struct judge *j, const struct wr_fault *f, const char *what, int64_t at) {
    if (f->e.code == WOPR_E_NO_MEMORY) {
        j->rc = WOPR_E_NO_MEMORY;
        return false;
    }
    return session_spoil(
        j, f->code == WR_SCHEMA_UNKNOWN_VERSION ? RAIL_UNKNOWN_SCHEMA : RAIL_SCHEMA_FAILED,
        "%s %lld: %.100s", what, (long long)at, f->e.message);
}

/* --- records --- */
static bool columns_of_record(const struct plan_session_record *c, const struct wr_record *r) {
    bool segment = r->kind == WR_SEGMENT_CLOSED;
    return str_eqc(c->kind, segment ? "segment_closed" : "snapshot_pinned") &&
           c->first == (segment ? r->first_index : -1) &&
           c->last == (segment ? r->last_index : -1) &&
           c->event_index == (segment ? -1 : r->pin.event_index) &&
           str_eq(c->snapshot_ref, segment ? STR_NONE : r->pin.snapshot_ref);
}

/* The record of row i, checked by itself. */
static bool record_judge(struct judge *j, size_t i, struct wr_record *out) {
    const struct session_record_row *row = &j->log->records.v[i];
    const long long at = j->log->from.record + (long long)i;
    struct wr_fault f;
    if (row->index != at)
        return session_spoil(j, RAIL_NON_CONTIGUOUS, "record %lld of the manifest is missing", at);
    if (wr_record_read(row->record.bytes, j->a, out, &f) != 0)
        return read_failed(j, &f, "record", row->index);
    if (out->manifest_index != row->index)
        return session_spoil(j, RAIL_NON_CONTIGUOUS, "record %lld says that it is another one", at);
    if (!str_eq(out->session_id, j->log->head.session_id))
        return session_spoil(j, RAIL_SCHEMA_FAILED, "record %lld is of another session", at);
    if (!columns_of_record(&row->record, out))
        return session_spoil(j, RAIL_SCHEMA_FAILED,
                             "the columns of record %lld differ from its bytes", at);
    return true;
}

/* --- events --- */
static bool columns_of_event(const struct plan_session_event *c, const struct wr_event *e) {
    return str_eq(c->event_id, e->event_id) && str_eq(c->dedupe_key, e->dedupe_key) &&
           str_eqc(c->kind, wr_kind_name((enum wr_kind)e->kind)) && str_eq(c->run_id, e->run_id) &&
           str_eq(c->node_id, e->node_id);
}

static bool rows_there(struct judge *j, const struct wr_record *seg) {
    const struct session_events *l = &j->log->events;
    size_t n = (size_t)(seg->last_index - seg->first_index + 1);
    if (seg->first_index != j->next)
        return session_spoil(j, RAIL_NON_CONTIGUOUS,
                             "a segment begins at event %lld, expected %lld",
                             (long long)seg->first_index, (long long)j->next);
    for (size_t i = 0; i < n; i++)
        if (j->event + i >= l->n || l->v[j->event + i].index != seg->first_index + (int64_t)i)
            return session_spoil(j, RAIL_MISSING_SEGMENT, "event %lld is missing",
                                 (long long)(seg->first_index + (int64_t)i));
    return true;
}

static bool segment_digest(struct judge *j, const struct wr_record *seg, size_t n) {
    struct wr_event *v = &j->events[j->event];
    struct wr_segment_sum sum;
    struct wr_fault f;
    for (size_t i = 0; i < n; i++) v[i].bytes = j->log->events.v[j->event + i].event.bytes;
    if (wr_segment_sum(v, n, &sum, &f) != 0) {
        j->rc = WOPR_E_NO_MEMORY;
        return false;
    }
    if (sum.bytes == seg->segment_bytes && str_eq(wr_digest_str(&sum.digest), seg->sha256))
        return true;
    return session_spoil(j, RAIL_DIGEST_MISMATCH,
                         "the segment of events %lld to %lld has another digest",
                         (long long)seg->first_index, (long long)seg->last_index);
}

static bool event_judge(struct judge *j, size_t row) {
    const struct session_event_row *r = &j->log->events.v[row];
    struct wr_event *e = &j->events[row];
    struct str bytes = j->keep == j->a ? r->event.bytes : arena_str(j->keep, r->event.bytes);
    struct wr_fault f;
    if (!bytes.p) {
        j->rc = WOPR_E_NO_MEMORY;
        return false;
    }
    if (wr_event_read(bytes, j->keep, e, &f) != 0) return read_failed(j, &f, "event", r->index);
    if (e->index != r->index)
        return session_spoil(j, RAIL_NON_CONTIGUOUS, "event %lld says that it is another one",
                             (long long)r->index);
    if (!str_eq(e->session_id, j->log->head.session_id))
        return session_spoil(j, RAIL_SCHEMA_FAILED, "event %lld is of another session",
                             (long long)r->index);
    if (!columns_of_event(&r->event, e))
        return session_spoil(j, RAIL_SCHEMA_FAILED,
                             "the columns of event %lld differ from its bytes",
                             (long long)r->index);
    return true;
}

/* Do the events of the group fit those before them (WR-57)?  The fold that fails is made again. */
static bool events_fit(struct judge *j, size_t n) {
    struct wr_fault f;
    for (size_t i = 0; i < n; i++) {
        const struct wr_event *e = &j->events[j->event + i];
        if (wr_session_add(j->out->truth, e, &f) == 0) continue;
        if (f.e.code == WOPR_E_NO_MEMORY) j->rc = WOPR_E_NO_MEMORY;
        j->refold = true;
        return j->rc == 0 ? session_spoil(j, RAIL_NON_CONTIGUOUS, "event %lld: %.120s",
                                          (long long)e->index, f.e.message)
                          : false;
    }
    return true;
}

/* --- a group --- */
static bool session_pinned(const struct wr_record *pins, size_t n, const struct wr_event *e) {
    for (size_t i = 0; i < n; i++)
        if (pins[i].pin.event_index == e->index &&
            str_eq(pins[i].pin.snapshot_ref, e->u.node.snapshot_ref) &&
            str_eq(pins[i].pin.created_by_event_id, e->event_id))
            return true;
    return false;
}

static bool pins_judge(struct judge *j, const struct wr_record *seg, size_t pins) {
    const struct wr_record *v = &j->records[j->record + 1];
    for (size_t i = 0; i < pins; i++)
        if (v[i].pin.event_index < seg->first_index || v[i].pin.event_index > seg->last_index)
            return session_spoil(j, RAIL_NON_CONTIGUOUS,
                                 "a snapshot is pinned outside of its segment");
    for (int64_t k = seg->first_index; k <= seg->last_index; k++) {
        const struct wr_event *e = &j->events[j->event + (size_t)(k - seg->first_index)];
        if (e->kind == WR_NODE_CREATED && !session_pinned(v, pins, e))
            return session_spoil(j, RAIL_MISSING_SEGMENT,
                                 "the snapshot of event %lld is not pinned", (long long)k);
    }
    return true;
}

static bool group_judge(struct judge *j) {
    struct wr_record *seg = &j->records[j->record];
    size_t pins = 0;
    if (!record_judge(j, j->record, seg)) return false;
    if (seg->kind != WR_SEGMENT_CLOSED)
        return session_spoil(j, RAIL_NON_CONTIGUOUS, "record %lld belongs to no segment",
                             (long long)seg->manifest_index);
    if (!rows_there(j, seg)) return false;
    size_t n = (size_t)(seg->last_index - seg->first_index + 1);
    if (!segment_digest(j, seg, n)) return false;
    for (size_t i = 0; i < n; i++)
        if (!event_judge(j, j->event + i)) return false;
    while (j->record + 1 + pins < j->log->records.n &&
           str_eqc(j->log->records.v[j->record + 1 + pins].record.kind, "snapshot_pinned")) {
        if (!record_judge(j, j->record + 1 + pins, &seg[1 + pins])) return false;
        pins++;
    }
    if (!pins_judge(j, seg, pins) || !events_fit(j, n)) return false;
    j->event += n;
    j->next = seg->last_index + 1;
    j->record += 1 + pins;
    j->out->events_nr += n;
    j->out->records_nr += 1 + pins;
    return true;
}

static int truth_refold(struct rail_session *s, struct arena *a, struct wr_fault *f) {
    wr_session_free(s->truth);
    s->truth = wr_session_new(a);
    int rc = s->truth ? 0 : wr_no_memory(f);
    for (size_t i = 0; rc == 0 && i < s->events_nr; i++)
        rc = wr_session_add(s->truth, &s->events[i], f);
    return rc;
}

/* The groups that were read, after those that j->out has. */
static int groups_judge(struct judge *j, struct wr_fault *f) {
    const struct session_log *log = j->log;
    j->next = log->from.event;
    if (log->events.n + log->records.n == 0) return 0; /* a look costs the kept arena nothing */
    j->events = ARENA_ARRAY(j->keep, struct wr_event, log->events.n);
    j->records = ARENA_ARRAY(j->a, struct wr_record, log->records.n + 1);
    if (!j->events || !j->records) return wr_no_memory(f);
    while (j->record < log->records.n && group_judge(j)) {
    }
    if (j->rc != 0 || arena_failed(j->a) || arena_failed(j->keep)) return wr_no_memory(f);
    if (j->out->health == RAIL_HEALTHY) j->out->orphans_nr = log->events.n - j->event;
    return 0;
}

static int log_judge(const struct session_log *log, struct arena *keep, struct arena *a,
                     struct rail_session *out, struct wr_fault *f) {
    struct judge j = {.log = log, .keep = keep, .a = a, .out = out};
    out->truth = wr_session_new(keep);
    out->committed_ms = ARENA_ARRAY(a, int64_t, log->records.n + 1);
    if (!out->truth || !out->committed_ms) return wr_no_memory(f);
    for (size_t i = 0; i < log->records.n; i++)
        out->committed_ms[i] = log->records.v[i].committed_ms;
    int rc = groups_judge(&j, f);
    out->events = j.events;
    out->records = j.records;
    return rc == 0 && j.refold ? truth_refold(out, keep, f) : rc;
}

static int session_judge(const struct session_log *log, struct arena *keep, struct arena *a,
                         struct rail_session *out, struct wr_fault *f) {
    *out = (struct rail_session){.head = log->head};
    int rc = log_judge(log, keep, a, out, f);
    if (rc != 0) rail_session_fini(out);
    return rc;
}

int rail_session_judge(const struct session_log *log, struct arena *a, struct rail_session *out,
                       struct wr_fault *f) {
    return session_judge(log, a, a, out, f);
}

void rail_session_fini(struct rail_session *s) {
    wr_session_free(s->truth);
    s->truth = NULL;
}

static int log_failed(int rc, struct wr_fault *f) {
    if (rc == WOPR_E_NOT_FOUND)
        return wr_fail(f, WR_NOT_FOUND, "sessionId", "there is no such session");
    return wr_fail_as(f, WR_SESSION_LOAD_FAILED, rc);
}

int rail_session_read(struct store *s, struct str tenant, bool test_mode, struct str session_id,
                      struct arena *keep, struct arena *a, struct rail_session *out,
                      struct wr_fault *f) {
    const struct session_from all = {0, 0};
    struct session_log log;
    int rc = store_session_log(s, tenant, test_mode, session_id, all, a, &log, &f->e);
    return rc == 0 ? session_judge(&log, keep, a, out, f) : log_failed(rc, f);
}

int rail_session_load(struct store *s, struct str tenant, bool test_mode, struct str session_id,
                      struct arena *a, struct rail_session *out, struct wr_fault *f) {
    return rail_session_read(s, tenant, test_mode, session_id, a, a, out, f);
}

/* Texts of a head do not change, and the new ones lie in the arena of one call. */
static void head_move(struct session_head *to, const struct session_head *now) {
    to->keep = now->keep;
    to->changed_ms = now->changed_ms;
    to->next_event = now->next_event;
    to->next_manifest = now->next_manifest;
    to->commit_no = now->commit_no;
    to->bytes = now->bytes;
}

/* Numbers of sessions are never given twice, and rows leave with their session only: what has the
 * number and is no shorter begins with what was judged. */
static bool head_follows(const struct session_head *was, const struct session_head *now) {
    return was->session_no == now->session_no && was->next_event <= now->next_event &&
           was->next_manifest <= now->next_manifest;
}

int rail_session_follow(struct store *s, struct rail_session *x, struct arena *keep,
                        struct arena *a, struct wr_fault *f) {
    const struct session_from from = {x->head.next_event, x->head.next_manifest};
    struct session_log log;
    int rc = store_session_log(s, x->head.tenant, x->head.test_mode, x->head.session_id, from, a,
                               &log, &f->e);
    if (rc != 0) return log_failed(rc, f);
    if (!head_follows(&x->head, &log.head)) return RAIL_READ_AGAIN;
    struct judge j = {.log = &log, .keep = keep, .a = a, .out = x};
    rc = groups_judge(&j, f);
    if (rc != 0) return rc;
    x->events = NULL;
    x->records = NULL;
    x->committed_ms = NULL;
    head_move(&x->head, &log.head);
    bool whole = x->health == RAIL_HEALTHY && x->orphans_nr == 0 && j.next == x->head.next_event;
    return whole ? 0 : RAIL_READ_AGAIN;
}

/*
 * plan.c: see plan.h.
 */
#include "workrail/plan.h"

#include "workrail/shape.h"

#include <stdlib.h>

/* --- records --- */

#define AT(member) offsetof(struct wr_record, member)
static const char *const RECORDS[] = {"segment_closed", "snapshot_pinned"};
static const struct wr_field SEGMENT_FIELDS[] = {
    {"bytes", WF_INT, 0, AT(segment_bytes), NULL, 0, 0},
    {"firstEventIndex", WF_INT, 0, AT(first_index), NULL, 0, 0},
    {"kind", WF_TAG, 0, 0, NULL, 0, 0},
    {"lastEventIndex", WF_INT, 0, AT(last_index), NULL, 0, 0},
    {"manifestIndex", WF_INT, 0, AT(manifest_index), NULL, 0, 0},
    {"segmentRelPath", WF_TEXT, 0, AT(segment_rel_path), NULL, 1, 256},
    {"sessionId", WF_ID, 0, AT(session_id), NULL, 0, WR_ID_SESSION},
    {"sha256", WF_DIGEST, 0, AT(sha256), NULL, 0, 0},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};
static const struct wr_field PINNED_FIELDS[] = {
    {"createdByEventId", WF_ID, 0, AT(pin.created_by_event_id), NULL, 0, WR_ID_EVENT},
    {"eventIndex", WF_INT, 0, AT(pin.event_index), NULL, 0, 0},
    {"kind", WF_TAG, 0, 0, NULL, 0, 0},
    {"manifestIndex", WF_INT, 0, AT(manifest_index), NULL, 0, 0},
    {"sessionId", WF_ID, 0, AT(session_id), NULL, 0, WR_ID_SESSION},
    {"snapshotRef", WF_DIGEST, 0, AT(pin.snapshot_ref), NULL, 0, 0},
    {"v", WF_VERSION, 0, 0, NULL, 0, 1},
};

/* Relative, without a step upwards (WR-63). */
static bool path_good(struct str path) {
    struct str head, rest;
    for (bool more = true; more; path = rest) {
        more = str_cut(path, '/', &head, &rest);
        if (!more) head = path;
        if (head.n == 0 || str_eqc(head, "..")) return false;
    }
    return true;
}

static int segment_check(const void *base, struct wr_fault *f) {
    const struct wr_record *r = base;
    if (r->last_index < r->first_index)
        return wr_fail(f, WR_SCHEMA_INVALID, "/lastEventIndex",
                       "the segment ends before it begins");
    if (!path_good(r->segment_rel_path))
        return wr_fail(f, WR_SCHEMA_INVALID, "/segmentRelPath", "not a relative path inside");
    return 0;
}
static const struct wr_shape SEGMENT =
                                 WR_SHAPE_CHECKED(SEGMENT_FIELDS, struct wr_record, segment_check),
                             PINNED = WR_SHAPE(PINNED_FIELDS, struct wr_record);
static const struct wr_shape *const RECORD_SHAPES[] = {&SEGMENT, &PINNED};
static const struct wr_union RECORD_UNION = {"kind", WR_NAMES(RECORDS), RECORD_SHAPES, AT(kind)};
static const struct wr_shape RECORD = {.size = sizeof(struct wr_record), .variants = &RECORD_UNION};

int wr_record_read(struct str bytes, struct arena *a, struct wr_record *out, struct wr_fault *f) {
    struct wr_record r = {0};
    int64_t v;
    struct wr_fault own;
    if (f == NULL) f = &own;
    int rc = wr_fail_as(f, WR_SCHEMA_INVALID, json_check(bytes, &JSON_LIMITS_STORED, &f->e));
    struct str raw = rc == 0 ? json_get(bytes, "v") : STR_NONE;
    if (raw.p != NULL && json_type_of(raw) == JSON_NUMBER && (!json_int(raw, &v) || v != 1))
        rc = wr_fail(f, WR_SCHEMA_UNKNOWN_VERSION, "/v",
                     "the version of the record is not known to this build");
    if (rc == 0) rc = wr_document_read(&RECORD, bytes, &JSON_LIMITS_STORED, a, &r, f);
    if (rc != 0) return rc;
    r.bytes = bytes;
    *out = r;
    return 0;
}

int wr_record_seal(struct wr_record *r, struct arena *a, struct wr_fault *f) {
    return wr_document_write(&RECORD, r, a, &r->bytes, f);
}

struct str wr_segment_path(int64_t first, int64_t last, struct arena *a) {
    return arena_printf(a, "events/%08lld-%08lld.jsonl", (long long)first, (long long)last);
}

/* The bytes of a segment as the file form would have them, with a line end after each event, so
 * that digests of a database and of files are the same (WR-69). */
int wr_segment_sum(const struct wr_event *events, size_t nr, struct wr_segment_sum *out,
                   struct wr_fault *f) {
    struct buf b;
    size_t sum = 0;
    for (size_t i = 0; i < nr; i++) sum += events[i].bytes.n + 1;
    buf_init(&b, sum + 1);
    for (size_t i = 0; i < nr; i++) {
        buf_adds(&b, events[i].bytes);
        buf_addc(&b, '\n');
    }
    int rc = buf_failed(&b) ? wr_no_memory(f) : 0;
    if (rc == 0) *out = (struct wr_segment_sum){wr_digest_of(buf_str(&b)), (int64_t)b.len};
    buf_fini(&b);
    return rc;
}

static int segment_record(const struct wr_plan *p, struct arena *a, struct wr_record *r,
                          struct wr_fault *f) {
    struct wr_segment_sum sum;
    const struct wr_event *first = &p->events[0], *last = &p->events[p->events_nr - 1];
    int rc = wr_segment_sum(p->events, p->events_nr, &sum, f);
    if (rc != 0) return rc;
    r->kind = WR_SEGMENT_CLOSED;
    r->first_index = first->index;
    r->last_index = last->index;
    r->segment_bytes = sum.bytes;
    r->segment_rel_path = wr_segment_path(first->index, last->index, a);
    r->sha256 = arena_str(a, wr_digest_str(&sum.digest));
    return arena_failed(a) ? wr_no_memory(f) : 0;
}

int wr_plan_records(const struct wr_plan *p, int64_t next_manifest_index, struct arena *a,
                    struct wr_record **out, size_t *nr, struct wr_fault *f) {
    struct wr_record *v = ARENA_ARRAY(a, struct wr_record, p->pins_nr + 1);
    ASSERT(p->events_nr > 0);
    if (v == NULL) return wr_no_memory(f);
    for (size_t i = 0; i <= p->pins_nr; i++) {
        v[i].session_id = p->session_id;
        v[i].manifest_index = next_manifest_index + (int64_t)i;
        if (i > 0) {
            v[i].kind = WR_SNAPSHOT_PINNED;
            v[i].pin = p->pins[i - 1];
        }
        int rc = i == 0 ? segment_record(p, a, &v[0], f) : 0;
        if (rc == 0) rc = wr_record_seal(&v[i], a, f);
        if (rc != 0) return rc;
    }
    *out = v;
    *nr = p->pins_nr + 1;
    return 0;
}

/* --- checks --- */

static int plan_broken(struct wr_fault *f, const char *what) {
    return wr_fail(f, WR_SESSION_STORE_INVARIANT_VIOLATION, "",
                   "the append plan is refused, nothing was written: %s", what);
}

static int pin_cmp(const struct wr_pin *x, const struct wr_pin *y) {
    int c = str_cmp(x->snapshot_ref, y->snapshot_ref);
    if (c != 0) return c;
    if (x->event_index != y->event_index) return x->event_index < y->event_index ? -1 : 1;
    return str_cmp(x->created_by_event_id, y->created_by_event_id);
}

/* One pin for each node, in order: what the store keeps alive is exactly what the events refer to,
 * and the same plan is the same bytes of manifest. */
static int pins_check(const struct wr_plan *p, int64_t first, struct wr_fault *f) {
    size_t nodes = 0;
    for (size_t i = 0; i < p->events_nr; i++) nodes += p->events[i].kind == WR_NODE_CREATED;
    if (nodes != p->pins_nr) return plan_broken(f, "nodes and pins do not match one to one");
    for (size_t i = 0; i < p->pins_nr; i++) {
        const struct wr_pin *pin = &p->pins[i];
        int64_t at = pin->event_index - first;
        if (i > 0 && pin_cmp(pin - 1, pin) >= 0)
            return plan_broken(f, "the pins are not sorted, or one is there twice");
        if (at < 0 || (uint64_t)at >= p->events_nr)
            return plan_broken(f, "a pin is for an event of another plan");
        const struct wr_event *e = &p->events[at];
        if (e->kind != WR_NODE_CREATED || !str_eq(e->event_id, pin->created_by_event_id) ||
            !str_eq(e->u.node.snapshot_ref, pin->snapshot_ref))
            return plan_broken(f, "a pin does not fit its event");
    }
    return 0;
}

static int blobs_check(const struct wr_plan *p, struct wr_fault *f) {
    for (size_t i = 0; i < p->blobs_nr; i++) {
        struct wr_digest d = wr_digest_of(p->blobs[i].bytes);
        if (!str_eq(wr_digest_str(&d), p->blobs[i].digest))
            return plan_broken(f, "bytes are not those of their digest");
    }
    return 0;
}

/* The struct and the bytes of an event are one thing: what is judged is what is stored. */
static int event_check(const struct wr_plan *p, size_t i, int64_t index, struct arena *a,
                       struct wr_fault *f) {
    const struct wr_event *e = &p->events[i];
    struct wr_event again;
    int rc = wr_event_read(e->bytes, a, &again, f);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != 0) return plan_broken(f, "an event breaks its schema");
    if (again.index != index || e->index != index) return plan_broken(f, "the indices have a hole");
    if (!str_eq(again.session_id, p->session_id) || !str_eq(e->event_id, again.event_id) ||
        e->kind != again.kind || !str_eq(e->dedupe_key, again.dedupe_key) ||
        !str_eq(e->run_id, again.run_id) || !str_eq(e->node_id, again.node_id))
        return plan_broken(f, "an event is not what its bytes say, or of another session");
    return 0;
}

static int by_text(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Keys and ids in one list: they have no text in common, so one sort finds both kinds of pairs. */
static int keys_check(const struct wr_plan *p, struct arena *a, struct wr_fault *f) {
    struct str *v = ARENA_ARRAY(a, struct str, 2 * p->events_nr);
    if (v == NULL) return wr_no_memory(f);
    for (size_t i = 0; i < p->events_nr; i++) {
        v[i] = p->events[i].dedupe_key;
        v[p->events_nr + i] = p->events[i].event_id;
    }
    qsort(v, 2 * p->events_nr, sizeof *v, by_text);
    for (size_t i = 1; i < 2 * p->events_nr; i++)
        if (str_eq(v[i - 1], v[i])) return plan_broken(f, "a key or event id is there twice");
    return 0;
}

int wr_plan_check(const struct wr_plan *p, int64_t next_index, struct wr_fault *f) {
    enum { ARENA_MAX = 64 << 20 };
    if (p->events_nr == 0) return plan_broken(f, "it has no event");
    struct arena *a = arena_new(ARENA_MAX);
    int rc = a == NULL ? wr_no_memory(f) : 0;
    for (size_t i = 0; rc == 0 && i < p->events_nr; i++)
        rc = event_check(p, i, next_index + (int64_t)i, a, f);
    if (rc == 0) rc = keys_check(p, a, f);
    if (rc == 0) rc = pins_check(p, next_index, f);
    if (rc == 0) rc = blobs_check(p, f);
    arena_free(a);
    return rc;
}

/* A part alone can only be our own mistake, or two attempts that share ids: writing the rest would
 * make a step that is half of each (WR-22). */
enum wr_dedupe wr_plan_dedupe(const struct wr_plan *p, size_t present) {
    if (present == 0) return WR_DEDUPE_NEW;
    return present == p->events_nr ? WR_DEDUPE_REPLAY : WR_DEDUPE_BROKEN;
}

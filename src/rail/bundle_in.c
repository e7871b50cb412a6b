/*
 * bundle_in.c: checks a bundle, in the order of WR-240; the first failure decides.
 */
#include "base/mem.h"
#include "rail/bundle.h"
#include "rail/rail_int.h"

enum { BUNDLE_DEPTH_MAX = 80, COMMIT_AHEAD_MAX = 0x7fffffff };
static const struct json_limits LIMITS = {RAIL_BUNDLE_MAX, BUNDLE_DEPTH_MAX};

struct reading_in {
    struct arena *a;
    struct rail_bundle *out;
    struct json_members top, session;
    struct str events, manifest; /* canonical */
    struct map *values;          /* path -> its blob; r itself: events, the manifest */
    struct map *paths;           /* of entries */
    struct wr_fault *f;
};

static int bundle_in_bad(struct reading_in *r, enum wr_code code, const char *where,
                         const char *what) {
    return wr_fail(r->f, code, where, "the bundle is refused at %s: %s",
                   *where ? where : "its beginning", what);
}

static struct str bundle_in_member(const struct json_members *m, const char *key) {
    const struct json_member *x = json_member_find(m, key);
    return x ? x->raw : STR_NONE;
}

static bool bundle_in_only(const struct json_members *m, const char *const *keys) {
    for (size_t i = 0; i < m->n; i++) {
        const char *const *k = keys;
        while (*k && !str_eqc(m->v[i].key, *k)) k++;
        if (!*k) return false;
    }
    return true;
}

/* (1) */
static int version_check(struct reading_in *r, struct str json) {
    int64_t v = 0;
    struct wopr_error err;
    int rc = json_check(json, &LIMITS, &err);
    if (rc == WOPR_E_NO_MEMORY) return wr_no_memory(r->f);
    if (rc != 0 || json_type_of(json) != JSON_OBJECT)
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "",
                             "it is no JSON object, or too large or deep");
    if (json_members(json, r->a, &r->top, &err) != 0) return wr_no_memory(r->f);
    struct str raw = bundle_in_member(&r->top, "bundleSchemaVersion");
    if (raw.n == 0 || !json_int(raw, &v))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/bundleSchemaVersion",
                             "a version is required");
    return v == 1
               ? 0
               : bundle_in_bad(r, WR_BUNDLE_UNSUPPORTED_VERSION, "/bundleSchemaVersion",
                               "this host reads version 1; export it again with a program of that "
                               "version");
}

/* (2) */
static int envelope_check(struct reading_in *r) {
    static const char *const TOP[] = {"bundleSchemaVersion", "bundleId", "exportedAt", "producer",
                                      "integrity",           "session",  NULL};
    static const char *const SESSION[] = {"sessionId",       "events",    "manifest", "snapshots",
                                          "pinnedWorkflows", "artifacts", NULL};
    static const char *const LISTS[] = {"events", "manifest"};
    static const char *const OBJECTS[] = {"snapshots", "pinnedWorkflows"};
    struct wopr_error err;
    struct str raw = bundle_in_member(&r->top, "session");
    if (!bundle_in_only(&r->top, TOP))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "", "an unknown member");
    for (size_t i = 0; TOP[i]; i++)
        if (bundle_in_member(&r->top, TOP[i]).n == 0)
            return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, TOP[i], "the member is required");
    if (json_type_of(raw) != JSON_OBJECT)
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/session", "it is no object");
    if (json_members(raw, r->a, &r->session, &err) != 0) return wr_no_memory(r->f);
    if (!bundle_in_only(&r->session, SESSION))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/session", "an unknown member");
    for (size_t i = 0; i < 2; i++) {
        struct str l = bundle_in_member(&r->session, LISTS[i]),
                   o = bundle_in_member(&r->session, OBJECTS[i]);
        if (l.n == 0 || json_type_of(l) != JSON_ARRAY)
            return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, LISTS[i],
                                 "a list is required in session");
        if (o.n == 0 || json_type_of(o) != JSON_OBJECT)
            return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, OBJECTS[i],
                                 "an object is required in session");
    }
    r->out->session_id = json_string(bundle_in_member(&r->session, "sessionId"), r->a);
    if (!wr_id_good(WR_ID_SESSION, r->out->session_id))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/session/sessionId",
                             "it is no session id");
    (void)json_int(json_get(bundle_in_member(&r->top, "producer"), "lastCommit"),
                   &r->out->commit_no);
    if (r->out->commit_no < 0 || r->out->commit_no > COMMIT_AHEAD_MAX) r->out->commit_no = 0;
    return 0;
}

static int bundle_in_canonical(struct reading_in *r, struct str raw, struct str *out) {
    int rc = wr_canonical(raw, &LIMITS, r->a, out, r->f);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "", "a value has no canonical form");
}

static int events_read(struct reading_in *r) {
    struct json_elements l;
    struct wopr_error err;
    int rc = bundle_in_canonical(r, bundle_in_member(&r->session, "events"), &r->events);
    if (rc != 0) return rc;
    if (json_elements(r->events, r->a, &l, &err) != 0) return wr_no_memory(r->f);
    if (l.n == 0)
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/session/events", "it has no events");
    if (l.n > RAIL_SESSION_EVENTS_MAX)
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/session/events",
                             "more events than a session may"
                             " have");
    r->out->events = ARENA_ARRAY(r->a, struct wr_event, l.n);
    if (!r->out->events) return wr_no_memory(r->f);
    r->out->events_nr = l.n;
    for (size_t i = 0; i < l.n; i++) {
        rc = wr_event_read(l.v[i], r->a, &r->out->events[i], r->f);
        if (rc == WOPR_E_NO_MEMORY) return rc;
        if (rc != 0)
            return wr_fail(r->f, WR_BUNDLE_INVALID_FORMAT, "/session/events",
                           "the bundle is refused: event %zu does not fit its schema", i);
    }
    return 0;
}

static int records_read(struct reading_in *r) {
    struct json_elements l;
    struct wopr_error err;
    int rc = bundle_in_canonical(r, bundle_in_member(&r->session, "manifest"), &r->manifest);
    if (rc != 0) return rc;
    if (json_elements(r->manifest, r->a, &l, &err) != 0) return wr_no_memory(r->f);
    r->out->records = ARENA_ARRAY(r->a, struct wr_record, l.n + 1);
    if (!r->out->records) return wr_no_memory(r->f);
    r->out->records_nr = l.n;
    for (size_t i = 0; i < l.n; i++) {
        rc = wr_record_read(l.v[i], r->a, &r->out->records[i], r->f);
        if (rc == WOPR_E_NO_MEMORY) return rc;
        if (rc != 0)
            return wr_fail(r->f, WR_BUNDLE_INVALID_FORMAT, "/session/manifest",
                           "the bundle is refused: record %zu does not fit its schema", i);
    }
    return 0;
}

/* Of foreign shapes of workflows it is enough that they are JSON: they are shown, not run (WR-187).
 */
static int blob_schema(struct reading_in *r, enum session_blob kind, struct str bytes) {
    struct wr_state state;
    struct wr_workflow w;
    int rc = 0;
    if (kind == SESSION_SNAPSHOT) rc = wr_snapshot_read(bytes, r->a, &state, r->f);
    if (kind == SESSION_WORKFLOW) rc = wr_workflow_read(bytes, r->a, &w, r->f);
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc;
    if (kind == SESSION_WORKFLOW && r->f->code == WR_SCHEMA_UNKNOWN_VERSION) return 0;
    return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT,
                         kind == SESSION_SNAPSHOT ? "/session/snapshots"
                                                  : "/session/pinnedWorkflows",
                         "a value does not fit its schema");
}

static int blobs_read(struct reading_in *r, const char *key, enum session_blob kind) {
    struct str raw = bundle_in_member(&r->session, key);
    struct json_members m;
    struct wopr_error err;
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_OBJECT)
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, key, "an object is required");
    if (json_members(raw, r->a, &m, &err) != 0) return wr_no_memory(r->f);
    struct plan_session_blob *v =
        ARENA_ARRAY(r->a, struct plan_session_blob, r->out->blobs_nr + m.n + 1);
    if (!v) return wr_no_memory(r->f);
    if (r->out->blobs_nr > 0) memcpy(v, r->out->blobs, r->out->blobs_nr * sizeof *v);
    r->out->blobs = v;
    for (size_t i = 0; i < m.n; i++) {
        struct plan_session_blob *b = &v[r->out->blobs_nr];
        *b = (struct plan_session_blob){.kind = kind, .digest = m.v[i].key};
        if (kind == SESSION_ARTIFACT) b->content_type = STR("application/json");
        int rc = bundle_in_canonical(r, m.v[i].raw, &b->bytes);
        if (rc == 0) rc = blob_schema(r, kind, b->bytes);
        if (rc != 0) return rc;
        r->out->blobs_nr++;
    }
    return 0;
}

static struct str blob_path(struct reading_in *r, enum session_blob kind, struct str digest) {
    static const char *const FOLDERS[] = {[SESSION_SNAPSHOT] = "session/snapshots/",
                                          [SESSION_WORKFLOW] = "session/pinnedWorkflows/",
                                          [SESSION_ARTIFACT] = "session/artifacts/"};
    return arena_printf(r->a, "%s" STR_FMT, FOLDERS[kind], STR_ARG(digest));
}

static int values_index(struct reading_in *r) {
    for (size_t i = 0; i < r->out->blobs_nr; i++) {
        struct plan_session_blob *b = &r->out->blobs[i];
        struct str path = blob_path(r, b->kind, b->digest);
        if (!path.p || map_put(r->values, path, b, NULL) != 0) return wr_no_memory(r->f);
    }
    if (map_put(r->values, STR("session/events"), r, NULL) != 0 ||
        map_put(r->values, STR("session/manifest"), r, NULL) != 0)
        return wr_no_memory(r->f);
    return 0;
}

/* (3): every value has one entry, every entry a value. */
static struct str path_value(const struct reading_in *r, struct str path) {
    const void *v = map_get(r->values, path);
    if (v == r) return str_eqc(path, "session/events") ? r->events : r->manifest;
    return v ? ((const struct plan_session_blob *)v)->bytes : STR_NONE;
}

static int entry_check(struct reading_in *r, struct str entry) {
    struct str path = json_string(json_get(entry, "path"), r->a),
               sha = json_string(json_get(entry, "sha256"), r->a);
    int64_t bytes = -1;
    if (path.n == 0 || !json_int(json_get(entry, "bytes"), &bytes))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/integrity/entries",
                             "an entry without its members");
    struct str value = path_value(r, path);
    if (!value.p || map_get(r->paths, path))
        return bundle_in_bad(r, WR_BUNDLE_INTEGRITY_FAILED, "/integrity/entries",
                             "an entry has no value, or its value has two");
    if (map_put(r->paths, path, r, NULL) != 0) return wr_no_memory(r->f);
    const struct wr_digest is = wr_digest_of(value);
    if (!str_eq(wr_digest_str(&is), sha) && !str_eqc(sha, is.s + 7))
        return bundle_in_bad(r, WR_BUNDLE_INTEGRITY_FAILED, "/integrity/entries",
                             "a value has another digest");
    return bytes == (int64_t)value.n
               ? 0
               : bundle_in_bad(r, WR_BUNDLE_INTEGRITY_FAILED, "/integrity/entries",
                               "a value has another length");
}

static int integrity_check(struct reading_in *r) {
    struct str integrity = bundle_in_member(&r->top, "integrity"),
               list = json_get(integrity, "entries");
    struct json_elements l;
    struct wopr_error err;
    int rc = 0;
    if (json_type_of(integrity) != JSON_OBJECT || list.n == 0 || json_type_of(list) != JSON_ARRAY ||
        !str_eqc(json_string(json_get(integrity, "kind"), r->a), "sha256_manifest_v1"))
        return bundle_in_bad(r, WR_BUNDLE_INVALID_FORMAT, "/integrity",
                             "no list of entries of a known kind");
    if (json_elements(list, r->a, &l, &err) != 0) return wr_no_memory(r->f);
    for (size_t i = 0; rc == 0 && i < l.n; i++) rc = entry_check(r, l.v[i]);
    if (rc != 0) return rc;
    return l.n == r->out->blobs_nr + 2
               ? 0
               : bundle_in_bad(r, WR_BUNDLE_INTEGRITY_FAILED, "/integrity/entries",
                               "a value has no entry");
}

/* (4) */
static int bundle_in_once(struct reading_in *r, struct map *seen, struct str key) {
    if (map_get(seen, key))
        return bundle_in_bad(r, WR_BUNDLE_EVENT_ORDER_INVALID, "/session/events",
                             "an event id or a dedupe key occurs twice");
    return map_put(seen, key, r, NULL) == 0 ? 0 : wr_no_memory(r->f);
}

static int events_check(struct reading_in *r) {
    struct map *seen = map_new();
    int rc = seen ? 0 : wr_no_memory(r->f);
    for (size_t i = 0; rc == 0 && i < r->out->events_nr; i++) {
        const struct wr_event *e = &r->out->events[i];
        if (e->index != (int64_t)i || !str_eq(e->session_id, r->out->session_id))
            rc = bundle_in_bad(r, WR_BUNDLE_EVENT_ORDER_INVALID, "/session/events",
                               "events are not in order, or of another session");
        if (rc == 0) rc = bundle_in_once(r, seen, e->event_id);
        if (rc == 0) rc = bundle_in_once(r, seen, e->dedupe_key);
    }
    map_free(seen);
    return rc;
}

/* (5) */
static int segment_check(struct reading_in *r, const struct wr_record *s, int64_t next) {
    struct wr_segment_sum sum;
    if (s->first_index != next || s->last_index >= (int64_t)r->out->events_nr)
        return bundle_in_bad(r, WR_BUNDLE_MANIFEST_ORDER_INVALID, "/session/manifest",
                             "segments do not cover the events in order");
    int rc = wr_segment_sum(&r->out->events[next], (size_t)(s->last_index - next + 1), &sum, r->f);
    if (rc != 0) return rc;
    return str_eq(wr_digest_str(&sum.digest), s->sha256) && sum.bytes == s->segment_bytes
               ? 0
               : bundle_in_bad(r, WR_BUNDLE_INTEGRITY_FAILED, "/session/manifest",
                               "a segment has another digest than its events");
}

static int manifest_check(struct reading_in *r) {
    int64_t next = 0;
    for (size_t i = 0; i < r->out->records_nr; i++) {
        const struct wr_record *x = &r->out->records[i];
        if (x->manifest_index != (int64_t)i || !str_eq(x->session_id, r->out->session_id))
            return bundle_in_bad(r, WR_BUNDLE_MANIFEST_ORDER_INVALID, "/session/manifest",
                                 "records are not in order, or of another session");
        if (x->kind != WR_SEGMENT_CLOSED) continue;
        int rc = segment_check(r, x, next);
        if (rc != 0) return rc;
        next = x->last_index + 1;
    }
    return next == (int64_t)r->out->events_nr
               ? 0
               : bundle_in_bad(r, WR_BUNDLE_MANIFEST_ORDER_INVALID, "/session/manifest",
                               "segments do not cover the events");
}

/* (6), (7) */
static bool blob_there(struct reading_in *r, enum session_blob kind, struct str digest) {
    struct str path = blob_path(r, kind, digest);
    return path.p && map_get(r->values, path);
}

/* A value under another digest than its own is as good as missing. */
static int digests_check(struct reading_in *r) {
    static const enum wr_code CODES[] = {[SESSION_SNAPSHOT] = WR_BUNDLE_MISSING_SNAPSHOT,
                                         [SESSION_WORKFLOW] = WR_BUNDLE_MISSING_PINNED_WORKFLOW,
                                         [SESSION_ARTIFACT] = WR_BUNDLE_INTEGRITY_FAILED};
    for (size_t i = 0; i < r->out->blobs_nr; i++) {
        const struct plan_session_blob *b = &r->out->blobs[i];
        const struct wr_digest is = wr_digest_of(b->bytes);
        if (!str_eq(wr_digest_str(&is), b->digest))
            return bundle_in_bad(r, CODES[b->kind], "/session",
                                 "a value is not that of its digest");
    }
    return 0;
}

static int references_check(struct reading_in *r) {
    for (size_t i = 0; i < r->out->events_nr; i++) {
        const struct wr_event *e = &r->out->events[i];
        if (e->kind == WR_NODE_CREATED && !blob_there(r, SESSION_SNAPSHOT, e->u.node.snapshot_ref))
            return bundle_in_bad(r, WR_BUNDLE_MISSING_SNAPSHOT, "/session/snapshots",
                                 "a snapshot that an event refers to is missing");
    }
    for (size_t i = 0; i < r->out->events_nr; i++) {
        const struct wr_event *e = &r->out->events[i];
        if (e->kind == WR_RUN_STARTED && !blob_there(r, SESSION_WORKFLOW, e->u.run.workflow_hash))
            return bundle_in_bad(r, WR_BUNDLE_MISSING_PINNED_WORKFLOW, "/session/pinnedWorkflows",
                                 "a workflow that a run was started with is missing");
    }
    return digests_check(r);
}

int rail_bundle_read(struct str json, struct arena *a, struct rail_bundle *out,
                     struct wr_fault *f) {
    struct reading_in r = {.a = a, .out = out, .f = f, .paths = map_new(), .values = map_new()};
    *out = (struct rail_bundle){.commit_no = 0};
    int rc = r.paths && r.values ? version_check(&r, json) : wr_no_memory(f);
    if (rc == 0) rc = envelope_check(&r);
    if (rc == 0) rc = events_read(&r);
    if (rc == 0) rc = records_read(&r);
    if (rc == 0) rc = blobs_read(&r, "snapshots", SESSION_SNAPSHOT);
    if (rc == 0) rc = blobs_read(&r, "pinnedWorkflows", SESSION_WORKFLOW);
    if (rc == 0) rc = blobs_read(&r, "artifacts", SESSION_ARTIFACT);
    if (rc == 0) rc = values_index(&r);
    if (rc == 0) rc = integrity_check(&r);
    if (rc == 0) rc = events_check(&r);
    if (rc == 0) rc = manifest_check(&r);
    if (rc == 0) rc = references_check(&r);
    map_free(r.paths);
    map_free(r.values);
    return rc;
}

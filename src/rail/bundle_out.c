/*
 * bundle_out.c: a session as a bundle.  Members are in order, so the document is the same for the
 * same session, but for its id and its time (WR-239).
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "rail/bundle.h"
#include "rail/rail_int.h"

#include <stdlib.h>

struct part { /* a value with an entry of its own */
    struct str path, key, bytes;
    enum session_blob kind;
};
struct parts {
    struct part *v;
    size_t n, cap;
};
struct writing_out {
    struct rail *rail;
    const struct rail_export *in;
    struct rail_session s;
    struct parts parts; /* blobs */
    struct map *known;  /* their paths */
    struct str events, manifest;
    struct arena *a;
    struct wr_fault *f;
};

static struct str list_of(struct arena *a, size_t n, struct str (*at)(const void *v, size_t i),
                          const void *v) {
    struct buf b;
    buf_init(&b, RAIL_BUNDLE_MAX);
    buf_addc(&b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0) buf_addc(&b, ',');
        buf_adds(&b, at(v, i));
    }
    buf_addc(&b, ']');
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static struct str event_bytes_at(const void *v, size_t i) {
    return ((const struct wr_event *)v)[i].bytes;
}
static struct str record_bytes_at(const void *v, size_t i) {
    return ((const struct wr_record *)v)[i].bytes;
}

/* --- what the log refers to --- */
static int part_add(struct writing_out *w, enum session_blob kind, struct str digest) {
    static const char *const FOLDERS[] = {[SESSION_SNAPSHOT] = "session/snapshots/",
                                          [SESSION_WORKFLOW] = "session/pinnedWorkflows/",
                                          [SESSION_ARTIFACT] = "session/artifacts/"};
    struct str bytes, path = arena_printf(w->a, "%s" STR_FMT, FOLDERS[kind], STR_ARG(digest));
    if (!path.p) return wr_no_memory(w->f);
    if (map_get(w->known, path)) return 0;
    if (map_put(w->known, path, w, NULL) != 0) return wr_no_memory(w->f);
    int rc = rail_blob_read(w->rail->cfg.store, kind, digest, w->a, &bytes, w->f);
    if (rc != 0 && w->f->code == WR_NOT_FOUND) { /* came without */
        w->f->code = WR_FINE;
        return 0;
    }
    if (rc != 0) return rc;
    if (w->parts.n == w->parts.cap) {
        size_t cap = w->parts.cap ? w->parts.cap * 2 : 16;
        struct part *v = ARENA_ARRAY(w->a, struct part, cap);
        if (!v) return wr_no_memory(w->f);
        if (w->parts.n > 0) memcpy(v, w->parts.v, w->parts.n * sizeof *v);
        w->parts.v = v;
        w->parts.cap = cap;
    }
    w->parts.v[w->parts.n++] = (struct part){path, digest, bytes, kind};
    return 0;
}

static int part_cmp(const void *x, const void *y) {
    return str_cmp(((const struct part *)x)->path, ((const struct part *)y)->path);
}

static int parts_find(struct writing_out *w) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->s.records_nr; i++)
        if (w->s.records[i].kind == WR_SNAPSHOT_PINNED)
            rc = part_add(w, SESSION_SNAPSHOT, w->s.records[i].pin.snapshot_ref);
    for (size_t i = 0; rc == 0 && i < w->s.events_nr; i++) {
        const struct wr_event *e = &w->s.events[i];
        if (e->kind == WR_RUN_STARTED) rc = part_add(w, SESSION_WORKFLOW, e->u.run.workflow_hash);
        if (w->in->artifacts && e->kind == WR_NODE_OUTPUT_APPENDED &&
            e->u.output.channel == WR_ARTIFACT)
            rc = part_add(w, SESSION_ARTIFACT, e->u.output.sha256);
    }
    if (rc == 0 && w->parts.n > 0) qsort(w->parts.v, w->parts.n, sizeof *w->parts.v, part_cmp);
    return rc;
}

/* --- the document --- */
static void entry_write(struct jw *w, struct str path, struct str bytes) {
    const struct wr_digest d = wr_digest_of(bytes);
    jw_object(w);
    jw_kint(w, "bytes", (int64_t)bytes.n);
    jw_kstr(w, "path", path);
    jw_kstr(w, "sha256", wr_digest_str(&d));
    jw_end_object(w);
}

/* Paths in order: artifacts, events, manifest, pinnedWorkflows, snapshots. */
static void integrity_write(const struct writing_out *o, struct jw *w) {
    jw_key(w, "integrity");
    jw_object(w);
    jw_key(w, "entries");
    jw_array(w);
    size_t i = 0;
    while (i < o->parts.n && o->parts.v[i].kind == SESSION_ARTIFACT) {
        entry_write(w, o->parts.v[i].path, o->parts.v[i].bytes);
        i++;
    }
    entry_write(w, STR("session/events"), o->events);
    entry_write(w, STR("session/manifest"), o->manifest);
    for (; i < o->parts.n; i++) entry_write(w, o->parts.v[i].path, o->parts.v[i].bytes);
    jw_end_array(w);
    jw_kstrz(w, "kind", "sha256_manifest_v1");
    jw_end_object(w);
}

static void blobs_write(const struct writing_out *o, struct jw *w, const char *key,
                        enum session_blob kind) {
    jw_key(w, key);
    jw_object(w);
    for (size_t i = 0; i < o->parts.n; i++) {
        if (o->parts.v[i].kind != kind) continue;
        jw_key_str(w, o->parts.v[i].key);
        jw_raw(w, o->parts.v[i].bytes);
    }
    jw_end_object(w);
}

static void session_write(const struct writing_out *o, struct jw *w) {
    jw_key(w, "session");
    jw_object(w);
    if (o->in->artifacts) blobs_write(o, w, "artifacts", SESSION_ARTIFACT);
    jw_kraw(w, "events", o->events);
    jw_kraw(w, "manifest", o->manifest);
    blobs_write(o, w, "pinnedWorkflows", SESSION_WORKFLOW);
    jw_kstr(w, "sessionId", o->s.head.session_id);
    blobs_write(o, w, "snapshots", SESSION_SNAPSHOT);
    jw_end_object(w);
}

static int producer_write(const struct writing_out *o, struct jw *w) {
    struct wr_digest config;
    int rc = o->in->told_config ? rail_config_hash(o->rail, &config, o->f) : 0;
    if (rc != 0) return rc;
    jw_key(w, "producer");
    jw_object(w);
    jw_kstrz(w, "appVersion", o->in->version);
    if (o->in->told_config) jw_kstr(w, "appliedConfigHash", wr_digest_str(&config));
    jw_kint(w, "lastCommit", o->s.head.commit_no); /* its place among others */
    if (o->s.health != RAIL_HEALTHY) jw_kbool(w, "salvage", true);
    jw_end_object(w);
    return 0;
}

static int document_write(struct writing_out *o, struct str *json) {
    const struct wr_id id = wr_id_mint(&RAIL_MINT, WR_ID_BUNDLE);
    char at[TIME_LEN + 1];
    struct buf b;
    struct jw w;
    time_format(clock_wall_ms(), at);
    buf_init(&b, RAIL_BUNDLE_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "bundleId", wr_id_str(&id));
    jw_kint(&w, "bundleSchemaVersion", 1);
    jw_kstrz(&w, "exportedAt", at);
    integrity_write(o, &w);
    int rc = producer_write(o, &w);
    session_write(o, &w);
    jw_end_object(&w);
    bool over = buf_over(&b);
    *json = buf_failed(&b) ? STR_NONE : arena_str(o->a, buf_str(&b));
    buf_fini(&b);
    if (rc != 0) return rc;
    if (over)
        return wr_fail(o->f, WR_PRECONDITION_FAILED, "",
                       "the session is larger than a bundle may be (64 MiB); export it without "
                       "artifacts");
    return json->p ? 0 : wr_no_memory(o->f);
}

static int healthy_enough(const struct writing_out *o) {
    if (o->s.health == RAIL_CORRUPT_TAIL && o->in->salvage) return 0;
    return rail_not_healthy(&o->s, o->f);
}

int rail_bundle_export(struct rail *r, const struct rail_export *x, struct arena *a,
                       struct str *json, struct wr_fault *f) {
    struct writing_out o = {.rail = r, .in = x, .a = a, .f = f};
    int rc = rail_session_load(r->cfg.store, x->tenant, x->test_mode, x->session_id, a, &o.s, f);
    if (rc != 0) return rc;
    o.known = map_new();
    rc = o.known ? healthy_enough(&o) : wr_no_memory(f);
    if (rc == 0 && o.s.events_nr == 0)
        rc = wr_fail(f, WR_BUNDLE_BUILD_EMPTY_EVENTS, "", "the session has no events");
    if (rc == 0) rc = parts_find(&o);
    o.events = list_of(a, o.s.events_nr, event_bytes_at, o.s.events);
    o.manifest = list_of(a, o.s.records_nr, record_bytes_at, o.s.records);
    if (rc == 0 && (!o.events.p || !o.manifest.p)) rc = wr_no_memory(f);
    if (rc == 0) rc = document_write(&o, json);
    map_free(o.known);
    rail_session_fini(&o.s);
    return rc;
}

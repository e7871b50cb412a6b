/*
 * port.c: what an operation reads: the session, snapshots and workflows by digest (WR-81).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "rail/rail_int.h"

static void random_id(void *ctx, uint8_t out[WR_ID_BYTES]) {
    (void)ctx;
    rng_bytes(out, WR_ID_BYTES);
}
const struct wr_minter RAIL_MINT = {random_id, NULL};

static const struct wr_blob *pending_blob(const struct rail_op *o, enum wr_blob_kind kind,
                                          struct str digest) {
    for (size_t i = 0; o->pending && i < o->pending->blobs_nr; i++)
        if (o->pending->blobs[i].kind == kind && str_eq(o->pending->blobs[i].digest, digest))
            return &o->pending->blobs[i];
    return NULL;
}

/* --- stored bytes are what their digest says, or they are damaged (WR-81) --- */
static const struct {
    const char *what;
    enum wr_code missing, unread, damaged;
} BLOBS[] = {
    [SESSION_SNAPSHOT] = {"snapshot", WR_SNAPSHOT_STORE_CORRUPTION_DETECTED,
                          WR_SNAPSHOT_STORE_IO_ERROR, WR_SNAPSHOT_STORE_CORRUPTION_DETECTED},
    [SESSION_WORKFLOW] = {"pinned workflow", WR_PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED,
                          WR_PINNED_WORKFLOW_STORE_IO_ERROR,
                          WR_PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED},
    /* A bundle may have come without its artifacts. */
    [SESSION_ARTIFACT] = {"artifact", WR_NOT_FOUND, WR_SESSION_LOAD_FAILED,
                          WR_ARTIFACT_STORE_CORRUPTION_DETECTED},
};

int rail_blob_read(struct store *s, enum session_blob kind, struct str digest, struct arena *a,
                   struct str *bytes, struct wr_fault *f) {
    struct plan_session_blob b;
    int rc = store_session_blob(s, kind, digest, a, &b, &f->e);
    if (rc == WOPR_E_NOT_FOUND)
        return wr_fail(f, BLOBS[kind].missing, "", "a %s of the session is missing",
                       BLOBS[kind].what);
    if (rc != 0) return wr_fail_as(f, BLOBS[kind].unread, rc);
    const struct wr_digest is = wr_digest_of(b.bytes);
    if (!str_eq(wr_digest_str(&is), digest))
        return wr_fail(f, BLOBS[kind].damaged, "",
                       "a %s of the session has another digest than it should", BLOBS[kind].what);
    *bytes = b.bytes;
    return 0;
}

/* 0: good, or an artifact that is not here. */
static int blob_judge(struct store *s, enum session_blob kind, struct str digest, struct arena *a,
                      struct wr_fault *f) {
    struct str bytes;
    arena_reset(a);
    int rc = rail_blob_read(s, kind, digest, a, &bytes, f);
    return kind == SESSION_ARTIFACT && f->code == WR_NOT_FOUND ? 0 : rc;
}

int rail_session_blobs(struct store *s, const struct rail_session *x, struct arena *scratch,
                       struct wr_fault *f) {
    int rc = 0;
    *f = (struct wr_fault){.code = WR_FINE};
    for (size_t i = 0; rc == 0 && i < x->records_nr; i++)
        if (x->records[i].kind == WR_SNAPSHOT_PINNED)
            rc = blob_judge(s, SESSION_SNAPSHOT, x->records[i].pin.snapshot_ref, scratch, f);
    for (size_t i = 0; rc == 0 && i < x->events_nr; i++) {
        const struct wr_event *e = &x->events[i];
        if (e->kind == WR_RUN_STARTED)
            rc = blob_judge(s, SESSION_WORKFLOW, e->u.run.workflow_hash, scratch, f);
        if (e->kind == WR_NODE_OUTPUT_APPENDED && e->u.output.channel == WR_ARTIFACT)
            rc = blob_judge(s, SESSION_ARTIFACT, e->u.output.sha256, scratch, f);
    }
    return rc;
}

static int port_snapshot(void *ctx, struct str ref, struct arena *a, struct str *bytes,
                         struct wr_fault *f) {
    struct rail_op *o = ctx;
    const struct wr_blob *b = pending_blob(o, WR_BLOB_SNAPSHOT, ref);
    if (!b) return rail_blob_read(o->rail->cfg.store, SESSION_SNAPSHOT, ref, a, bytes, f);
    *bytes = b->bytes;
    return 0;
}

static int port_workflow(void *ctx, struct str hash, const struct wr_workflow **out,
                         struct wr_fault *f) {
    struct rail_op *o = ctx;
    if (!o->workflow || !str_eq(wr_digest_str(&o->workflow->hash), hash)) {
        const struct wr_blob *b = pending_blob(o, WR_BLOB_WORKFLOW, hash);
        struct wr_workflow *w = ARENA_NEW(o->a, struct wr_workflow);
        struct str bytes = b ? b->bytes : STR_NONE;
        int rc = w ? 0 : wr_no_memory(f);
        if (rc == 0 && !b)
            rc = rail_blob_read(o->rail->cfg.store, SESSION_WORKFLOW, hash, o->a, &bytes, f);
        if (rc == 0) rc = wr_workflow_read(bytes, o->a, w, f);
        if (rc != 0) return rc;
        o->workflow = w;
    }
    *out = o->workflow;
    return 0;
}

int rail_op_init(struct rail_op *o, struct rail *r, const struct rail_owner *owner, bool keys,
                 struct arena *a, struct wr_fault *f) {
    *o = (struct rail_op){.rail = r, .a = a, .owner = *owner, .f = f};
    o->op = (struct wr_operator){
        .keys = &o->keys, .mint = &RAIL_MINT, .port = {o, port_snapshot, port_workflow}, .a = a};
    return keys ? rail_keyring(r, &o->keys, f) : 0;
}

static void session_release(struct rail_op *o) {
    if (!o->held) {
        rail_session_fini(&o->session);
        return;
    }
    o->held->session = o->session;
    held_put(&o->rail->held, o->held);
    o->held = NULL;
    o->session = (struct rail_session){.truth = NULL};
}

void rail_op_fini(struct rail_op *o) {
    session_release(o);
    mem_wipe(&o->keys, sizeof o->keys);
}

int rail_not_healthy(const struct rail_session *s, struct wr_fault *f) {
    if (s->health == RAIL_HEALTHY) return 0;
    (void)wr_fail(f, WR_SESSION_NOT_HEALTHY, "",
                  "the log of this session is damaged (%s, %s); start a new one, and have the "
                  "operator run wopr sessions verify",
                  rail_health_name(s->health), rail_reason_name(s->reason));
    wr_fault_details(f, "{\"health\":{\"status\":\"%s\",\"reason\":{\"code\":\"%s\"}}}",
                     rail_health_name(s->health), rail_reason_name(s->reason));
    return f->e.code;
}

/* The session is of the op from here on. */
static void session_take(struct rail_op *o, struct str session_id) {
    if (o->held && !o->held->ahead && str_eq(o->session.head.session_id, session_id)) return;
    session_release(o);
    o->held = held_take(&o->rail->held, &o->owner, session_id);
    if (o->held) o->session = o->held->session;
}

static void session_drop(struct rail_op *o) {
    if (o->held) o->held->ahead = true;
    session_release(o);
}

static int session_read(struct rail_op *o, struct str session_id) {
    o->held = held_new();
    if (!o->held) return wr_no_memory(o->f);
    int rc = rail_session_read(o->rail->cfg.store, o->owner.tenant, o->owner.test_mode, session_id,
                               o->held->arena, o->a, &o->session, o->f);
    o->held->session = o->session;
    if (rc == 0 && !held_own(o->held)) rc = wr_no_memory(o->f);
    o->session = o->held->session;
    return rc == 0 ? rail_not_healthy(&o->session, o->f) : rc;
}

int rail_op_load(struct rail_op *o, struct str session_id) {
    int rc = RAIL_READ_AGAIN;
    session_take(o, session_id);
    if (o->held) {
        rc = rail_session_follow(o->rail->cfg.store, &o->session, o->held->arena, o->a, o->f);
        if (rc != 0) session_drop(o);
    }
    return rc == RAIL_READ_AGAIN ? session_read(o, session_id) : rc;
}

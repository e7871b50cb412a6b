/*
 * draft.c: append plans while they are built, and what is read back of stored facts.
 */
#include "workrail/work.h"

#include <stdlib.h>

int wr_draft_begin(struct wr_draft *d, const struct wr_operator *o, const struct wr_session *s,
                   struct str session_id, struct str run_id, struct wr_fault *f) {
    *d = (struct wr_draft){.o = o, .s = s, .f = f};
    d->session_id = arena_str(o->a, session_id);
    d->run_id = arena_str(o->a, run_id);
    d->next = s != NULL ? s->next_index : 0;
    d->plan.session_id = d->session_id;
    d->plan.events = ARENA_ARRAY(o->a, struct wr_event, WR_PLAN_EVENTS_MAX);
    d->plan.pins = ARENA_ARRAY(o->a, struct wr_pin, 1);
    d->plan.blobs = ARENA_ARRAY(o->a, struct wr_blob, WR_ARTIFACTS_MAX + 2);
    return arena_failed(o->a) ? wr_no_memory(f) : 0;
}

struct str wr_draft_id(struct wr_draft *d, const struct wr_id *id) {
    return arena_str(d->o->a, wr_id_str(id));
}

/* Bounds of the parts of a call keep plans below WR_PLAN_EVENTS_MAX. */
struct wr_event *wr_draft_event(struct wr_draft *d, enum wr_kind kind, struct str node_id) {
    ASSERT(d->plan.events_nr < WR_PLAN_EVENTS_MAX);
    struct wr_event *e = &d->plan.events[d->plan.events_nr];
    struct wr_id id = wr_id_mint(d->o->mint, WR_ID_EVENT);
    bool scoped = kind != WR_SESSION_CREATED && kind != WR_OBSERVATION_RECORDED;
    *e = (struct wr_event){.kind = (int)kind,
                           .index = d->next,
                           .event_id = wr_draft_id(d, &id),
                           .session_id = d->session_id,
                           .run_id = scoped ? d->run_id : STR_NONE,
                           .node_id = node_id};
    return e->event_id.p != NULL ? e : NULL;
}

int wr_draft_seal(struct wr_draft *d, struct wr_event *e, struct str part) {
    if (e == NULL || arena_failed(d->o->a)) return wr_no_memory(d->f);
    e->dedupe_key = wr_dedupe_key(e, part, d->o->a);
    if (e->dedupe_key.p == NULL) return wr_no_memory(d->f);
    int rc = wr_event_seal(e, d->o->a, d->f);
    if (rc == 0) {
        d->next++;
        d->plan.events_nr++;
    }
    return rc;
}

int wr_draft_seal_new(struct wr_draft *d, struct wr_event *e, struct str part) {
    struct str key = e != NULL ? wr_dedupe_key(e, part, d->o->a) : STR_NONE;
    if (key.p == NULL) return wr_no_memory(d->f);
    if (d->s != NULL && wr_session_key(d->s, key) != NULL) return 0;
    for (size_t i = 0; i < d->plan.events_nr; i++)
        if (str_eq(d->plan.events[i].dedupe_key, key)) return 0;
    return wr_draft_seal(d, e, part);
}

int wr_draft_blob(struct wr_draft *d, enum wr_blob_kind kind, struct str bytes,
                  struct str *digest) {
    struct wr_digest sum = wr_digest_of(bytes);
    *digest = arena_str(d->o->a, wr_digest_str(&sum));
    if (digest->p == NULL) return wr_no_memory(d->f);
    for (size_t i = 0; i < d->plan.blobs_nr; i++)
        if (d->plan.blobs[i].kind == kind && str_eq(d->plan.blobs[i].digest, *digest)) return 0;
    ASSERT(d->plan.blobs_nr < WR_ARTIFACTS_MAX + 2);
    d->plan.blobs[d->plan.blobs_nr++] = (struct wr_blob){kind, *digest, bytes};
    return 0;
}

int wr_draft_state(struct wr_draft *d, const struct wr_state *state, struct str *ref) {
    struct str bytes;
    int rc = wr_snapshot_write(state, d->o->a, &bytes, d->f);
    return rc == 0 ? wr_draft_blob(d, WR_BLOB_SNAPSHOT, bytes, ref) : rc;
}

int wr_draft_node(struct wr_draft *d, enum wr_node_kind kind, struct str node_id, struct str parent,
                  struct str workflow_hash, struct str snapshot_ref, const struct wr_event **out) {
    struct wr_event *e = wr_draft_event(d, WR_NODE_CREATED, node_id);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.node.kind = (int)kind;
    e->u.node.parent_node_id = parent;
    e->u.node.workflow_hash = workflow_hash;
    e->u.node.snapshot_ref = snapshot_ref;
    int rc = wr_draft_seal(d, e, STR_NONE);
    if (rc != 0) return rc;
    d->plan.pins[d->plan.pins_nr++] = (struct wr_pin){snapshot_ref, e->event_id, e->index};
    *out = e;
    return 0;
}

int wr_draft_edge(struct wr_draft *d, enum wr_edge_kind kind, enum wr_cause cause,
                  struct str cause_event, struct str from, struct str to) {
    struct wr_event *e = wr_draft_event(d, WR_EDGE_CREATED, STR_NONE);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.edge.kind = (int)kind;
    e->u.edge.cause = (int)cause;
    e->u.edge.cause_event_id = cause_event;
    e->u.edge.from_node_id = from;
    e->u.edge.to_node_id = to;
    return wr_draft_seal(d, e, STR_NONE);
}

/* --- outputs --- */

struct artifact_at {
    struct str digest, bytes;
    size_t i; /* in the caller's list */
};

static int by_digest(const void *x, const void *y) {
    const struct artifact_at *a = x, *b = y;
    int c = str_cmp(a->digest, b->digest);
    return c != 0 ? c : (a->i > b->i) - (a->i < b->i);
}

static int recap_put(struct wr_draft *d, struct str notes, const struct wr_id *id,
                     struct str node_id, const struct wr_event *recap) {
    struct wr_event *e = wr_draft_event(d, WR_NODE_OUTPUT_APPENDED, node_id);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.output.output_id = wr_draft_id(d, id);
    e->u.output.channel = e->u.output.payload_kind = WR_RECAP;
    e->u.output.notes = wr_fit(notes, WR_NOTES_MAX, d->o->a);
    if (recap != NULL) e->u.output.supersedes = recap->u.output.output_id;
    return wr_draft_seal(d, e, STR_NONE);
}

static int artifact_put(struct wr_draft *d, const struct artifact_at *at, const struct wr_id *id,
                        struct str node_id) {
    struct wr_event *e = wr_draft_event(d, WR_NODE_OUTPUT_APPENDED, node_id);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.output.output_id = wr_draft_id(d, id);
    e->u.output.channel = e->u.output.payload_kind = WR_ARTIFACT;
    e->u.output.sha256 = at->digest;
    e->u.output.content_type = STR("application/json");
    e->u.output.byte_length = (int64_t)at->bytes.n;
    return wr_draft_seal(d, e, STR_NONE);
}

int wr_draft_outputs(struct wr_draft *d, const struct wr_output *output, struct str attempt,
                     struct str node_id, const struct wr_event *recap, bool checkpoint) {
    const char *notes = checkpoint ? "out_checkpoint_recap" : "out_recap",
               *artifact = checkpoint ? "out_checkpoint_artifact" : "out_artifact";
    struct wr_id id = wr_id_joined(notes, attempt, -1);
    size_t nr = output->artifacts.nr;
    struct artifact_at *v = ARENA_ARRAY(d->o->a, struct artifact_at, nr);
    int rc = v == NULL ? wr_no_memory(d->f) : 0;
    ASSERT(nr <= WR_ARTIFACTS_MAX);
    for (size_t i = 0; rc == 0 && i < nr; i++) {
        v[i] = (struct artifact_at){.bytes = output->artifacts.v[i], .i = i};
        rc = wr_draft_blob(d, WR_BLOB_ARTIFACT, v[i].bytes, &v[i].digest);
    }
    if (rc == 0 && nr > 1) qsort(v, nr, sizeof *v, by_digest);
    if (rc == 0 && output->notes.n > 0) rc = recap_put(d, output->notes, &id, node_id, recap);
    for (size_t i = 0; rc == 0 && i < nr; i++) {
        id = wr_id_joined(artifact, attempt, (int)v[i].i);
        rc = artifact_put(d, &v[i], &id, node_id);
    }
    return rc;
}

/* --- gaps --- */

int wr_draft_gap(struct wr_draft *d, const struct wr_draft_gap *gap, struct str node_id) {
    struct wr_event *e = wr_draft_event(d, WR_GAP_RECORDED, node_id);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.gap.gap_id = wr_draft_id(d, gap->id);
    e->u.gap.severity = (int)gap->severity;
    e->u.gap.detail = gap->detail;
    e->u.gap.category = (int)wr_detail_category(gap->detail);
    e->u.gap.summary = wr_fit(gap->summary, WR_SUMMARY_MAX, d->o->a);
    if (e->u.gap.summary.p == NULL) return wr_no_memory(d->f);
    return wr_draft_seal_new(d, e, STR_NONE);
}

static int recommendation_put(struct wr_draft *d, struct str node_id, int i, const char *what) {
    const struct wr_id id = wr_id_joined("rec_warn", node_id, i);
    const struct wr_draft_gap gap = {&id, WR_WARNING, WR_D_INVARIANT_VIOLATION, str_c(what)};
    return wr_draft_gap(d, &gap, node_id);
}

int wr_draft_recommendations(struct wr_draft *d, const struct wr_workflow *w,
                             const struct wr_preferences *in_effect, struct str node_id) {
    int rc = 0;
    if (w->recommended_autonomy >= 0 && in_effect->autonomy > w->recommended_autonomy)
        rc = recommendation_put(d, node_id, 0,
                                "The autonomy in effect is above what the workflow recommends.");
    if (rc == 0 && w->recommended_risk >= 0 && in_effect->risk > w->recommended_risk)
        rc = recommendation_put(d, node_id, 1,
                                "The risk policy in effect is above what the workflow recommends.");
    return rc;
}

/* --- observations (WR-42): what breaks its limit, or was seen before, is not one --- */

static int draft_observe(struct wr_draft *d, enum wr_observed key, struct str value, size_t max,
                         int confidence) {
    if (value.n == 0 || value.n > max) return 0;
    struct wr_event *e = wr_draft_event(d, WR_OBSERVATION_RECORDED, STR_NONE);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.observation.key = e->u.observation.type = (int)key;
    e->u.observation.confidence = confidence;
    e->u.observation.value = value;
    return wr_draft_seal_new(d, e, STR_NONE);
}

static bool is_sha1(struct str s) {
    if (s.n != 40) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) return false;
    return true;
}

int wr_draft_observations(struct wr_draft *d, const struct wr_anchors *n) {
    struct wr_digest sum = wr_digest_of(n->root);
    struct str hash = wr_digest_good(n->root_hash) ? n->root_hash : STR_NONE;
    if (hash.p == NULL && n->root.n > 0) hash = arena_str(d->o->a, wr_digest_str(&sum));
    int rc = draft_observe(d, WR_GIT_BRANCH, n->branch, WR_OBSERVED_WORD_MAX, n->confidence);
    if (rc == 0 && is_sha1(n->head_sha))
        rc = draft_observe(d, WR_GIT_HEAD_SHA, n->head_sha, n->head_sha.n, n->confidence);
    if (rc == 0) rc = draft_observe(d, WR_REPO_ROOT_HASH, hash, WR_DIGEST_LEN, n->confidence);
    if (rc == 0) rc = draft_observe(d, WR_REPO_ROOT, n->root, WR_OBSERVED_PATH_MAX, n->confidence);
    return rc;
}

/* --- stored facts --- */

int wr_stored_state(const struct wr_operator *o, const struct wr_session *s, size_t node,
                    struct wr_state *out, struct wr_fault *f) {
    struct str bytes, ref = s->nodes[node].created->u.node.snapshot_ref;
    int rc = o->port.snapshot(o->port.ctx, ref, o->a, &bytes, f);
    return rc == 0 ? wr_snapshot_read(bytes, o->a, out, f) : rc;
}

int wr_stored_workflow(const struct wr_operator *o, const struct wr_session *s, size_t node,
                       const struct wr_workflow **out, struct wr_fault *f) {
    return o->port.workflow(o->port.ctx, s->nodes[node].created->u.node.workflow_hash, out, f);
}

const struct wr_event *wr_stored_advance(const struct wr_session *s, struct str node_id,
                                         struct str attempt_id) {
    char key[WR_DEDUPE_MAX + 1];
    struct buf b = {.p = key, .cap = sizeof key, .max = sizeof key - 1};
    buf_addz(&b, "advance_recorded:");
    buf_adds(&b, s->id);
    buf_addc(&b, ':');
    buf_adds(&b, node_id);
    buf_addc(&b, ':');
    buf_adds(&b, attempt_id);
    return buf_failed(&b) ? NULL : wr_session_key(s, buf_str(&b));
}

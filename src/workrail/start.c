/*
 * start.c: the beginning of a session (6.1, WR-50).
 */
#include "workrail/context.h"
#include "workrail/work.h"

static int run_put(struct wr_draft *d, const struct wr_start *in) {
    struct wr_event *e = wr_draft_event(d, WR_RUN_STARTED, STR_NONE);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.run.workflow_id = in->workflow->id;
    e->u.run.workflow_hash = wr_digest_str(&in->workflow->hash);
    e->u.run.source_kind = in->source_kind;
    e->u.run.source_ref = in->source_ref;
    return wr_draft_seal(d, e, STR_NONE);
}

enum { BY_USER = 0, BY_SYSTEM = 2 }; /* sources of preferences */

/* autonomy, risk: -1 leaves what is in effect.  The id is minted: one that is derived of the first
 * attempt, as advance.c makes it, would be that of a change which the same attempt brings later. */
static int preferences_put(struct wr_draft *d, struct str root, int source, int autonomy, int risk,
                           struct wr_preferences *in_effect) {
    struct wr_id id = wr_id_mint(d->o->mint, WR_ID_CHANGE);
    struct wr_delta *delta = ARENA_ARRAY(d->o->a, struct wr_delta, 2);
    size_t nr = 0;
    if (autonomy < 0 && risk < 0) return 0;
    struct wr_event *e = wr_draft_event(d, WR_PREFERENCES_CHANGED, root);
    if (e == NULL || delta == NULL) return wr_no_memory(d->f);
    if (autonomy >= 0) delta[nr++] = (struct wr_delta){0, in_effect->autonomy = autonomy};
    if (risk >= 0) delta[nr++] = (struct wr_delta){1, in_effect->risk = risk};
    e->u.preferences.change_id = wr_draft_id(d, &id);
    e->u.preferences.source = source;
    e->u.preferences.delta.v = delta;
    e->u.preferences.delta.nr = nr;
    e->u.preferences.effective = *in_effect;
    return wr_draft_seal(d, e, STR_NONE);
}

/* The whole baseline first, so that later changes of defaults never reach back (WR-168); then what
 * the caller wishes otherwise (WR-153), and what the workflow thinks of that (WR-152). */
static int preferences_begin(struct wr_draft *d, const struct wr_start *in, struct str root) {
    struct wr_preferences now = {WR_GUIDED, WR_CONSERVATIVE};
    int rc = preferences_put(d, root, BY_SYSTEM, WR_GUIDED, WR_CONSERVATIVE, &now);
    if (rc == 0) rc = preferences_put(d, root, BY_USER, in->autonomy, in->risk, &now);
    if (rc != 0 || (in->autonomy < 0 && in->risk < 0)) return rc;
    return wr_draft_recommendations(d, in->workflow, &now, root);
}

static int context_put(struct wr_draft *d, struct str context, struct str attempt) {
    struct wr_id id = wr_context_id(attempt);
    struct wr_event *e = wr_draft_event(d, WR_CONTEXT_SET, STR_NONE);
    if (e == NULL) return wr_no_memory(d->f);
    e->u.context.context_id = wr_draft_id(d, &id);
    e->u.context.context = context;
    return wr_draft_seal(d, e, STR("initial"));
}

static int start_events(struct wr_draft *d, const struct wr_start *in, struct str context,
                        const struct wr_state *first, const struct wr_started *ids) {
    const struct wr_event *node;
    struct str workflow_hash = STR_NONE, ref = STR_NONE, root = wr_draft_id(d, &ids->node_id);
    int rc = wr_draft_blob(d, WR_BLOB_WORKFLOW, in->workflow->bytes, &workflow_hash);
    if (rc == 0) rc = wr_draft_state(d, first, &ref);
    if (rc == 0) rc = wr_draft_seal(d, wr_draft_event(d, WR_SESSION_CREATED, STR_NONE), STR_NONE);
    if (rc == 0) rc = run_put(d, in);
    if (rc == 0) rc = wr_draft_node(d, WR_NODE_STEP, root, STR_NONE, workflow_hash, ref, &node);
    if (rc == 0) rc = preferences_begin(d, in, root);
    if (rc == 0 && context.p != NULL) rc = context_put(d, context, wr_id_str(&ids->attempt_id));
    if (rc == 0) rc = wr_draft_observations(d, &in->anchors);
    return rc;
}

int wr_start_plan(const struct wr_operator *o, const struct wr_start *in, struct wr_plan *out,
                  struct wr_started *ids, struct wr_fault *f) {
    struct wr_draft d;
    struct wr_next next;
    const struct wr_state init = {.kind = WR_S_INIT};
    struct wr_started made = {wr_id_mint(o->mint, WR_ID_SESSION), wr_id_mint(o->mint, WR_ID_RUN),
                              wr_id_mint(o->mint, WR_ID_NODE), wr_id_mint(o->mint, WR_ID_ATTEMPT)};
    struct str context = STR_NONE;
    bool changed;
    int rc = in->context.p != NULL
                 ? wr_context_merge(STR_NONE, in->context, o->a, &context, &changed, f)
                 : 0;
    if (rc == 0) rc = wr_interpret(in->workflow, &init, context, NULL, o->a, &next, f);
    if (rc == 0)
        rc = wr_draft_begin(&d, o, NULL, wr_id_str(&made.session_id), wr_id_str(&made.run_id), f);
    if (rc == 0) rc = start_events(&d, in, context, &next.state, &made);
    if (rc != 0) return rc;
    *out = d.plan;
    *ids = made;
    return 0;
}

/*
 * checkpoint.c: work that is recorded without going on (6.6, WR-53).
 */
#include "workrail/work.h"

static struct wr_id checkpoint_id(const struct wr_token *t) {
    return wr_checkpoint_node(t->session_id, t->run_id, t->node_id, t->attempt_id);
}

bool wr_checkpoint_find(const struct wr_session *s, const struct wr_token *t) {
    struct wr_id id = checkpoint_id(t);
    return wr_session_node(s, wr_id_str(&id)) != WR_NO_NODE;
}

int wr_checkpoint_plan(const struct wr_operator *o, const struct wr_session *s,
                       const struct wr_checkpoint *in, struct wr_plan *out, struct wr_fault *f) {
    struct wr_draft d;
    const struct wr_event *made;
    size_t run, node;
    struct wr_id id = checkpoint_id(&in->token);
    int rc = wr_token_locate(s, &in->token, "checkpointToken", &run, &node, f);
    if (rc == 0) rc = wr_draft_begin(&d, o, s, s->id, s->runs[run].id, f);
    if (rc != 0) return rc;
    const struct wr_node *from = &s->nodes[node];
    struct str to = wr_draft_id(&d, &id);
    rc = wr_draft_node(&d, WR_NODE_CHECKPOINT, to, from->id, from->created->u.node.workflow_hash,
                       from->created->u.node.snapshot_ref, &made);
    if (rc == 0)
        rc = wr_draft_edge(&d, WR_EDGE_CHECKPOINT, WR_CHECKPOINT_CREATED, made->event_id, from->id,
                           to);
    if (rc == 0) rc = wr_draft_outputs(&d, &in->output, in->token.attempt_id, to, NULL, true);
    if (rc == 0) *out = d.plan;
    return rc;
}

/*
 * resume.c: which earlier work a person means (WR-175 to WR-183).  One pass over the short rows of
 * the tenant, the last changed first, so that a row can be passed without its text once five better
 * ones are known; then the sessions of those five are read, and judged, for their tokens.
 */
#include "base/mem.h"
#include "rail/rail_int.h"

enum { TEXT_ARENA = 4 << 20, DAMAGED_MAX = 64 };

struct search {
    struct rail_op *op;
    struct wr_ranking ranking;
    struct arena *text;           /* of one row */
    int64_t damaged[DAMAGED_MAX]; /* sessions that did not pass when they were read */
    size_t damaged_nr;
};

/* The best tier that the row can have, by what it says itself. */
static int tier_at_best(const struct search *s, const struct plan_session_resume *r) {
    const struct wr_ranking *k = &s->ranking;
    if (k->head_sha.n > 0 && str_eq(k->head_sha, r->head_sha)) return 1;
    if (k->branch.n > 0 && r->branch.n > 0 &&
        (str_starts(k->branch, r->branch) || str_starts(r->branch, k->branch)))
        return 2;
    return k->query_tokens.n > 0 && rail_filter_may(r->filter, k->query_tokens) ? 3 : 4;
}

/* Can it still be one of the five?  Rows come with falling activity. */
static bool may_enter(const struct search *s, const struct session_resume_row *row, int tier) {
    const struct wr_ranking *k = &s->ranking;
    if (k->nr < WR_CANDIDATES_MAX) return true;
    for (size_t i = 0; i < k->nr; i++)
        if (k->best[i].tier > tier || k->best[i].summary.activity <= row->commit_no) return true;
    return false;
}

static bool is_damaged(const struct search *s, int64_t session_no) {
    for (size_t i = 0; i < s->damaged_nr; i++)
        if (s->damaged[i] == session_no) return true;
    return false;
}

static int row_take(void *ctx, const struct session_resume_row *row, struct wopr_error *err) {
    struct search *s = ctx;
    const struct plan_session_resume *r = &row->resume;
    struct plan_session_resume text = {.words = STR_NONE};
    int tier = tier_at_best(s, r);
    bool wanted = tier <= 3 && s->ranking.query_tokens.n > 0 && may_enter(s, row, tier) &&
                  rail_filter_may(r->filter, s->ranking.query_tokens);
    if (is_damaged(s, row->session_no)) return 0;
    arena_reset(s->text);
    int rc = wanted ? store_session_resume_text(s->op->rail->cfg.store, row->session_no,
                                                r->wr_run_id, s->text, &text, err)
                    : 0;
    if (rc == WOPR_E_NOT_FOUND) rc = 0;
    const struct wr_summary m = {.session_id = row->session_id,
                                 .run_id = r->wr_run_id,
                                 .tip_node_id = r->node_id,
                                 .activity = row->commit_no,
                                 .head_sha =
                                     r->head_sha.n > 0 ? r->head_sha : (struct str){NULL, 0},
                                 .branch = r->branch.n > 0 ? r->branch : (struct str){NULL, 0},
                                 .note_tokens = text.words,
                                 .workflow_tokens = r->workflow_text};
    if (rc == 0) rc = wr_ranking_offer(&s->ranking, &m);
    return rc;
}

static int resume_rank(struct search *s, const struct wr_call *call) {
    struct rail_op *o = s->op;
    int rc = wr_ranking_begin(&s->ranking, call->query, call->branch, call->head_sha, o->a);
    if (rc == 0)
        rc = store_session_resumes(o->rail->cfg.store, o->owner.tenant, o->owner.test_mode,
                                   row_take, s, &o->f->e);
    return rc == 0 ? 0 : wr_fail_as(o->f, WR_SESSION_LOAD_FAILED, rc);
}

/* The session is read for the token, and its snippet with it.  NOT_FOUND, not healthy: it is none.
 */
static int candidate_read(struct search *s, struct wr_candidate *c, struct str *token) {
    struct rail_op *o = s->op;
    int rc = rail_op_load(o, c->summary.session_id);
    int64_t no = o->session.head.session_no;
    size_t node = rc == 0 ? wr_session_node(o->session.truth, c->summary.tip_node_id) : WR_NO_NODE;
    struct plan_session_resume text;
    struct str state;
    if (rc == WOPR_E_NO_MEMORY) return rc;
    /* A token of a step that cannot be read any more would lead nowhere (WR-175). */
    if (node != WR_NO_NODE &&
        o->op.port.snapshot(o, o->session.truth->nodes[node].created->u.node.snapshot_ref, o->a,
                            &state, o->f) != 0)
        node = WR_NO_NODE;
    if (node == WR_NO_NODE) {
        if (no > 0 && s->damaged_nr < DAMAGED_MAX) s->damaged[s->damaged_nr++] = no;
        return WOPR_E_NOT_FOUND;
    }
    rc =
        store_session_resume_text(o->rail->cfg.store, no, c->summary.run_id, o->a, &text, &o->f->e);
    c->summary.snippet = rc == 0 ? text.snippet : STR_NONE;
    *token = wr_state_token(&o->op, o->session.truth, node);
    return token->p ? 0 : wr_no_memory(o->f);
}

/* 1: a candidate was damaged, rank again without it. */
static int candidates_read(struct search *s, struct str *tokens) {
    size_t before = s->damaged_nr;
    for (size_t i = 0; i < s->ranking.nr; i++) {
        int rc = candidate_read(s, &s->ranking.best[i], &tokens[i]);
        if (rc != 0 && rc != WOPR_E_NOT_FOUND) return rc;
        if (rc == WOPR_E_NOT_FOUND && s->damaged_nr == before) /* removed meanwhile */
            return wr_fail(s->op->f, WR_TIMEOUT, "", "sessions changed; send the call again");
    }
    return s->damaged_nr > before ? 1 : 0;
}

int rail_resume(struct rail_op *o, const struct wr_call *call, struct str *json) {
    struct str tokens[WR_CANDIDATES_MAX] = {{NULL, 0}};
    struct search *s = ARENA_NEW(o->a, struct search);
    int rc = s ? 1 : wr_no_memory(o->f);
    if (s) *s = (struct search){.op = o, .text = arena_new(TEXT_ARENA)};
    if (s && !s->text) rc = wr_no_memory(o->f);
    while (rc == 1 && s->damaged_nr < DAMAGED_MAX) {
        rc = resume_rank(s, call);
        if (rc == 0) rc = candidates_read(s, tokens);
    }
    if (rc == 1)
        rc = wr_fail(o->f, WR_SESSION_NOT_HEALTHY, "",
                     "too many sessions are damaged; have the operator run wopr sessions verify");
    if (rc == 0 && wr_ranking_reply(&s->ranking, tokens, o->a, json) != 0) rc = wr_no_memory(o->f);
    if (s) arena_free(s->text);
    return rc;
}

/*
 * resume.c: see resume.h.
 */
#include "workrail/resume.h"

#include "codec/fold.h"
#include "workrail/work.h"

#include <stdio.h>

enum { PATH_NODES_MAX = 100 }; /* WR-181 */

/* --- words --- */

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Words of folded text, from *at on; p NULL: no more. */
static struct str word_next(struct str s, size_t *at) {
    size_t from;
    while (*at < s.n && !word_char(s.p[*at])) ++*at;
    for (from = *at; *at < s.n && word_char(s.p[*at]); ++*at) {
    }
    return *at > from ? str_n(s.p + from, *at - from) : STR_NONE;
}

struct str wr_tokens(struct str text, struct arena *a) {
    struct str folded = fold_search(text, a), word;
    size_t nr = 0, at = 0, bytes = 2;
    if (folded.p == NULL && text.n > 0 && arena_failed(a)) return STR_NONE;
    while ((word = word_next(folded, &at)).p != NULL) nr++;
    struct str *v = ARENA_ARRAY(a, struct str, nr);
    if (v == NULL) return STR_NONE;
    at = nr = 0;
    while ((word = word_next(folded, &at)).p != NULL) v[nr++] = word;
    nr = wr_sort_unique(v, nr);
    if (nr == 0) return STR("");
    for (size_t i = 0; i < nr; i++) bytes += v[i].n + 1;
    char *p = arena_alloc(a, bytes), *q = p;
    if (p == NULL) return STR_NONE;
    *q++ = '\n';
    for (size_t i = 0; i < nr; i++) {
        memcpy(q, v[i].p, v[i].n);
        q += v[i].n;
        *q++ = '\n';
    }
    return str_n(p, (size_t)(q - p));
}

/* Both sorted: whether each word of few is in many, in one pass. */
static bool has_all(struct str many, struct str few) {
    size_t i = 0, k = 0;
    struct str have = word_next(many, &i), want = word_next(few, &k);
    if (want.p == NULL) return false;
    while (want.p != NULL) {
        while (have.p != NULL && str_cmp(have, want) < 0) have = word_next(many, &i);
        if (have.p == NULL || !str_eq(have, want)) return false;
        want = word_next(few, &k);
    }
    return true;
}

/* --- summaries --- */

/* Text of notes without a marker at its end, which is no word of theirs (WR-12, WR-181). */
static struct str resume_unmarked(struct str notes) {
    return str_ends(notes, WR_MARKER) ? str_n(notes.p, notes.n - WR_MARKER.n) : notes;
}

/* Current recaps from the tip to the root, newest first: whole for words, cut for reading. */
static int corpus_make(const struct wr_session *s, size_t tip, struct arena *a,
                       struct wr_summary *out) {
    struct buf all, head;
    size_t nr = 0;
    buf_init(&all, (size_t)PATH_NODES_MAX * (WR_NOTES_MAX + 2) + 2);
    buf_init(&head, (size_t)2 * (WR_SNIPPET_MAX + WR_NOTES_MAX));
    for (size_t at = tip; at != WR_NO_NODE && nr < PATH_NODES_MAX; at = s->nodes[at].parent, nr++) {
        const struct wr_event *recap = s->nodes[at].recap;
        if (recap == NULL) continue;
        struct str notes = resume_unmarked(recap->u.output.notes);
        if (all.len > 0) buf_addz(&all, "\n\n");
        buf_adds(&all, notes);
        if (head.len > WR_SNIPPET_MAX) continue;
        if (head.len > 0) buf_addz(&head, "\n\n");
        buf_adds(&head, notes);
    }
    int rc = buf_failed(&all) || buf_failed(&head) ? WOPR_E_NO_MEMORY : 0;
    if (rc == 0) {
        out->note_tokens = wr_tokens(buf_str(&all), a);
        out->snippet = wr_fit(buf_str(&head), WR_SNIPPET_MAX, a);
        if (out->note_tokens.p == NULL || out->snippet.p == NULL) rc = WOPR_E_NO_MEMORY;
    }
    buf_fini(&all);
    buf_fini(&head);
    return rc;
}

static struct str resume_observed(const struct wr_session *s, enum wr_observed key) {
    return s->observed[key] != NULL ? s->observed[key]->u.observation.value : STR_NONE;
}

/* Of a workflow that can be looked at only (WR-187) no more than its id is known. */
static int summary_name(const struct wr_operator *o, const struct wr_session *s, size_t node,
                        struct str *id, struct str *name, struct wr_fault *f) {
    const struct wr_workflow *w;
    int rc = wr_stored_workflow(o, s, node, &w, f);
    *id = s->runs[s->nodes[node].run].started->u.run.workflow_id;
    *name = rc == 0 ? w->name : STR_NONE;
    return rc != 0 && f->code == WR_SCHEMA_UNKNOWN_VERSION ? 0 : rc;
}

int wr_summary_make(const struct wr_operator *o, const struct wr_session *s, size_t run,
                    struct wr_summary *out, struct wr_fault *f) {
    struct wr_tip tip;
    struct wr_state state;
    struct str id, name;
    enum wr_run_status status;
    struct wr_summary made = {.session_id = s->id, .run_id = s->runs[run].id};
    if (wr_run_tips(s, run, o->a, NULL, NULL, &tip) != 0) return wr_no_memory(f);
    if (tip.node == WR_NO_NODE)
        return wr_fail(f, WR_NOT_FOUND, "", "the run has no step to go on from");
    int rc = wr_stored_state(o, s, tip.node, &state, f);
    if (rc == 0) rc = summary_name(o, s, tip.node, &id, &name, f);
    if (rc == 0) rc = wr_run_status(s, run, tip.node, state.kind, &status, f);
    if (rc != 0) return rc;
    made.tip_node_id = s->nodes[tip.node].id;
    made.activity = tip.score;
    made.head_sha = resume_observed(s, WR_GIT_HEAD_SHA);
    made.branch = resume_observed(s, WR_GIT_BRANCH);
    made.status = (int)status;
    made.workflow_tokens =
        wr_tokens(arena_printf(o->a, STR_FMT " " STR_FMT, STR_ARG(id), STR_ARG(name)), o->a);
    if (made.workflow_tokens.p == NULL || corpus_make(s, tip.node, o->a, &made) != 0)
        return wr_no_memory(f);
    *out = made;
    return 0;
}

/* --- ranking --- */

int wr_ranking_begin(struct wr_ranking *r, struct str query, struct str branch, struct str head_sha,
                     struct arena *a) {
    *r = (struct wr_ranking){.a = a};
    r->branch = str_trim(branch).n > 0 ? arena_str(a, branch) : STR_NONE;
    r->head_sha = str_trim(head_sha).n > 0 ? arena_str(a, head_sha) : STR_NONE;
    r->query_tokens = wr_tokens(query, a);
    return arena_failed(a) ? WOPR_E_NO_MEMORY : 0;
}

static unsigned why_of(const struct wr_ranking *r, const struct wr_summary *s) {
    unsigned why = 0;
    if (r->head_sha.p != NULL && str_eq(r->head_sha, s->head_sha)) why |= WR_WHY_HEAD;
    if (r->branch.p != NULL && s->branch.n > 0 &&
        (str_starts(s->branch, r->branch) || str_starts(r->branch, s->branch)))
        why |= WR_WHY_BRANCH;
    if (has_all(s->note_tokens, r->query_tokens)) why |= WR_WHY_NOTES;
    if (has_all(s->workflow_tokens, r->query_tokens)) why |= WR_WHY_WORKFLOW;
    return why;
}

static int tier_of(unsigned why) {
    if (why & WR_WHY_HEAD) return 1;
    if (why & WR_WHY_BRANCH) return 2;
    if (why & WR_WHY_NOTES) return 3;
    return why & WR_WHY_WORKFLOW ? 4 : 5;
}

/* Whether the new one is before an old candidate (WR-176). */
static bool resume_before(int tier, const struct wr_summary *s, const struct wr_candidate *c) {
    if (tier != c->tier) return tier < c->tier;
    if (s->activity != c->summary.activity) return s->activity > c->summary.activity;
    int order = str_cmp(s->session_id, c->summary.session_id);
    return order != 0 ? order < 0 : str_cmp(s->run_id, c->summary.run_id) < 0;
}

/* Only what the reply and a token need is copied. */
static int candidate_keep(struct wr_ranking *r, size_t at, const struct wr_summary *s, int tier,
                          unsigned why) {
    size_t last = r->nr < WR_CANDIDATES_MAX ? r->nr : WR_CANDIDATES_MAX - 1;
    struct wr_candidate c = {.tier = tier, .why = why};
    c.summary.session_id = arena_str(r->a, s->session_id);
    c.summary.run_id = arena_str(r->a, s->run_id);
    c.summary.tip_node_id = arena_str(r->a, s->tip_node_id);
    c.summary.snippet = arena_str(r->a, s->snippet);
    c.summary.activity = s->activity;
    c.summary.status = s->status;
    if (arena_failed(r->a)) return WOPR_E_NO_MEMORY;
    memmove(&r->best[at + 1], &r->best[at], (last - at) * sizeof *r->best);
    r->best[at] = c;
    if (r->nr < WR_CANDIDATES_MAX) r->nr++;
    return 0;
}

int wr_ranking_offer(struct wr_ranking *r, const struct wr_summary *s) {
    unsigned why = why_of(r, s);
    int tier = tier_of(why);
    size_t at = 0;
    r->total++;
    while (at < r->nr && !resume_before(tier, s, &r->best[at])) at++;
    if (at == WR_CANDIDATES_MAX) return 0;
    return candidate_keep(r, at, s, tier, why != 0 ? why : (unsigned)WR_WHY_RECENCY);
}

static void why_write(struct jw *w, unsigned why) {
    static const char *const NAMES[] = {"matched_head_sha", "matched_branch", "matched_notes",
                                        "matched_workflow_id", "recency_fallback"};
    jw_key(w, "whyMatched");
    jw_array(w);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (why >> i & 1u) jw_strz(w, NAMES[i]);
    jw_end_array(w);
}

int wr_ranking_reply(const struct wr_ranking *r, const struct str *tokens, struct arena *a,
                     struct str *json) {
    struct buf b;
    struct jw w;
    buf_init(&b, (size_t)1024 * 1024);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "candidates");
    jw_array(&w);
    for (size_t i = 0; i < r->nr; i++) {
        const struct wr_candidate *c = &r->best[i];
        jw_object(&w);
        jw_kstr(&w, "runId", c->summary.run_id);
        jw_kstr(&w, "sessionId", c->summary.session_id);
        jw_kstr(&w, "snippet", c->summary.snippet);
        jw_kstr(&w, "stateToken", tokens[i]);
        why_write(&w, c->why);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_kint(&w, "totalEligible", r->total);
    jw_end_object(&w);
    *json = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return json->p != NULL ? 0 : WOPR_E_NO_MEMORY;
}

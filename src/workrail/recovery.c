/*
 * recovery.c: what a resumed agent reads beside its step (WR-208 to WR-210).
 */
#include "workrail/prompt.h"
#include "workrail/work.h"

#include <stdio.h>

/* Tiers in the order they are written, and the order in which they are left out. */
enum tier { TIER_BRANCHES, TIER_DOWNSTREAM, TIER_ANCESTRY, TIER_FUNCTIONS, TIERS };
static const enum tier LEAST_FIRST[] = {TIER_BRANCHES, TIER_ANCESTRY, TIER_DOWNSTREAM,
                                        TIER_FUNCTIONS};
static const char HEADING[] = "## Recovery Context";
enum { ANCESTORS_MAX = 100, PATH_MAX_TOLD = 100, BRANCHES_MAX = 50 };

struct recovery {
    const struct wr_session *s;
    struct arena *a;
    struct buf tiers[TIERS];
};

static void recap_add(struct buf *b, const struct wr_node *n) {
    if (n->recap == NULL) return;
    buf_addz(b, "\n\n");
    buf_adds(b, n->recap->u.output.notes);
}

/* --- tiers --- */

static void branches_add(struct recovery *r, size_t node) {
    static const char *const KINDS[] = {"step", "checkpoint", "blocked attempt"};
    struct buf *b = &r->tiers[TIER_BRANCHES];
    size_t nr = 0;
    for (size_t at = r->s->nodes[node].children; at != WR_NO_NODE && nr < BRANCHES_MAX; nr++) {
        const struct wr_node *n = &r->s->nodes[at];
        if (nr == 0) buf_addz(b, "### Branch Summary\n");
        buf_addf(b, "\n- " STR_FMT ": %s%s", STR_ARG(n->id), KINDS[n->created->u.node.kind],
                 n->children == WR_NO_NODE ? ", its tip" : "");
        at = n->next_child;
    }
}

/* The tip below node that is preferred among those below it. */
static int tip_below(struct recovery *r, size_t node, size_t *out) {
    struct wr_tip *tips, best = {WR_NO_NODE, 0}, preferred;
    size_t nr;
    if (wr_run_tips(r->s, r->s->nodes[node].run, r->a, &tips, &nr, &preferred) != 0)
        return WOPR_E_NO_MEMORY;
    bool *below = ARENA_ARRAY(r->a, bool, r->s->nodes_nr);
    if (below == NULL) return WOPR_E_NO_MEMORY;
    for (size_t i = node; i < r->s->nodes_nr; i++) { /* parents come first */
        size_t up = r->s->nodes[i].parent;
        below[i] = i == node || (up != WR_NO_NODE && below[up]);
    }
    for (size_t i = 0; i < nr; i++)
        if (below[tips[i].node] &&
            (best.node == WR_NO_NODE || wr_tip_better(r->s, &tips[i], &best)))
            best = tips[i];
    *out = best.node;
    return 0;
}

static int downstream_add(struct recovery *r, size_t node) {
    struct buf *b = &r->tiers[TIER_DOWNSTREAM];
    size_t tip, nr = 0, *path;
    if (tip_below(r, node, &tip) != 0) return WOPR_E_NO_MEMORY;
    if (tip == WR_NO_NODE) return 0;
    path = ARENA_ARRAY(r->a, size_t, r->s->nodes_nr);
    if (path == NULL) return WOPR_E_NO_MEMORY;
    for (size_t at = tip; at != WR_NO_NODE; at = at == node ? WR_NO_NODE : r->s->nodes[at].parent)
        path[nr++] = at;
    for (size_t i = nr, told = 0; i-- > 0 && told < PATH_MAX_TOLD; told++)
        recap_add(b, &r->s->nodes[path[i]]);
    return 0;
}

static void ancestry_add(struct recovery *r, size_t node) {
    size_t nr = 0;
    for (size_t at = r->s->nodes[node].parent; at != WR_NO_NODE && nr < ANCESTORS_MAX; nr++) {
        recap_add(&r->tiers[TIER_ANCESTRY], &r->s->nodes[at]);
        at = r->s->nodes[at].parent;
    }
}

static int functions_add(struct recovery *r, const struct wr_workflow *w,
                         const struct wr_step_at *at, size_t *nr) {
    struct wr_functions f;
    struct buf *b = &r->tiers[TIER_FUNCTIONS];
    if (wr_prompt_functions(w, at, r->a, &f) != 0) return WOPR_E_NO_MEMORY;
    *nr = f.nr;
    if (f.nr == 0) return 0;
    buf_addz(b, "### Function Definitions\n\n```");
    for (size_t i = 0; i < f.nr; i++) {
        buf_addc(b, '\n');
        wr_function_write(b, &f.v[i]);
    }
    buf_addz(b, "\n```");
    return 0;
}

/* --- within the budget (WR-209) --- */

static size_t tier_bytes(const struct recovery *r, enum tier t) {
    static const size_t TITLES[TIERS] = {0, sizeof "### Downstream Recap (Preferred Branch)" - 1,
                                         sizeof "### Ancestry Recap" - 1, 0};
    return r->tiers[t].len > 0 ? r->tiers[t].len + TITLES[t] + 2 : 0;
}

static void tiers_write(const struct recovery *r, const bool *out, struct buf *b) {
    static const char *const TITLES[TIERS] = {"", "### Downstream Recap (Preferred Branch)",
                                              "### Ancestry Recap", ""};
    buf_addz(b, HEADING);
    for (enum tier t = 0; t < TIERS; t++) {
        if (out[t] || r->tiers[t].len == 0) continue;
        buf_addz(b, "\n\n");
        buf_addz(b, TITLES[t]);
        buf_adds(b, buf_str(&r->tiers[t]));
    }
}

struct left_out {
    bool tier[TIERS];
    size_t nr, kept, functions;
};

/* Whole tiers from the least important on, while more than one is left. */
static struct left_out tiers_choose(const struct recovery *r, size_t functions) {
    struct left_out l = {.nr = 0};
    size_t sum = sizeof HEADING - 1;
    for (enum tier t = 0; t < TIERS; t++) {
        sum += tier_bytes(r, t);
        l.kept += r->tiers[t].len > 0;
    }
    for (size_t i = 0; i < TIERS && sum > WR_RECOVERY_MAX && l.kept > 1; i++) {
        enum tier t = LEAST_FIRST[i];
        if (r->tiers[t].len == 0) continue;
        sum -= tier_bytes(r, t);
        l.tier[t] = true;
        l.nr++;
        l.kept--;
        if (t == TIER_FUNCTIONS) l.functions = functions;
    }
    if (sum > WR_RECOVERY_MAX && l.nr == 0) l.nr = 1; /* the one there is will be cut */
    return l;
}

static struct str recovery_fit(struct recovery *r, size_t functions) {
    char note[96] = "";
    struct left_out l = tiers_choose(r, functions);
    struct buf b;
    size_t n = 0, keep;
    bool cut;
    if (l.kept == 0) return STR("");
    buf_init(&b, (size_t)16 * 1024 * 1024);
    tiers_write(r, l.tier, &b);
    if (l.nr > 0) n = (size_t)snprintf(note, sizeof note, "\n(%zu sections left out)", l.nr);
    if (l.functions > 0)
        n += (size_t)snprintf(note + n, sizeof note - n, "\n(%zu functions left out)", l.functions);
    keep = l.nr > 0 ? wr_fit_bytes(buf_str(&b), WR_RECOVERY_MAX - n - WR_MARKER.n, &cut) : b.len;
    /* What is left out is marked, even where the rest had room; what is cut leaves the marker. */
    if (l.nr > 0 && cut) keep = wr_fit_bytes(buf_str(&b), WR_RECOVERY_MAX - n, &cut);
    if (keep < b.len) b.len = keep;
    if (l.nr > 0) buf_adds(&b, WR_MARKER);
    buf_addz(&b, note);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(r->a, buf_str(&b));
    buf_fini(&b);
    return out;
}

int wr_recovery_text(const struct wr_session *s, size_t node, const struct wr_workflow *w,
                     const struct wr_step_at *at, struct arena *a, struct str *out) {
    struct recovery r = {.s = s, .a = a};
    size_t functions = 0;
    bool tip = s->nodes[node].edges == 0;
    int rc = 0;
    for (enum tier t = 0; t < TIERS; t++) buf_init(&r.tiers[t], (size_t)4 * 1024 * 1024);
    if (!tip) {
        branches_add(&r, node);
        rc = downstream_add(&r, node);
    }
    ancestry_add(&r, node);
    if (rc == 0 && at != NULL) rc = functions_add(&r, w, at, &functions);
    for (enum tier t = 0; t < TIERS; t++)
        if (buf_failed(&r.tiers[t])) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) {
        *out = recovery_fit(&r, functions);
        if (out->p == NULL) rc = WOPR_E_NO_MEMORY;
    }
    for (enum tier t = 0; t < TIERS; t++) buf_fini(&r.tiers[t]);
    return rc;
}

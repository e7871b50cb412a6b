/*
 * prefix.c: which runs hold the events of a log (FORK-9).  A fork refers to what it inherits: its
 * row in run_prefixes names the owner of the event before its cut.  An owner may be a fork itself,
 * so the owners form a chain whose cuts decrease.  Each row also names an owner further up, as in a
 * skew binary list: making a fork and finding a sequence cost a logarithm of the depth.
 */
#include "store/sqlite/sql.h"

enum { SEEK_STEPS_MAX = 256 }; /* far more than 2 log n: bounds a damaged chain */

struct prefix { /* a row; until 0: the run inherits nothing */
    int64_t run_no, until, owner_no, jump_no, depth;
};

static int prefix_get(struct conn *c, int64_t run_no, struct prefix *out, struct wopr_error *err) {
    struct query q;
    *out = (struct prefix){.run_no = run_no, .jump_no = run_no};
    query_begin(&q, c, SQL_PREFIX_GET);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc == 1)
        *out =
            (struct prefix){run_no, col_int(&q, 0), col_int(&q, 1), col_int(&q, 2), col_int(&q, 3)};
    query_end(&q);
    return rc < 0 ? rc : 0;
}

static int chain_broken(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_CORRUPT,
                          "the references of a fork go in circles; see 'wopr verify'");
}

/* Climb from p, the run itself, to the last row that begins after seq; *owner is the next one,
 * which holds seq. */
static int chain_climb(struct conn *c, int64_t seq, struct prefix *p, struct prefix *owner,
                       struct wopr_error *err) {
    for (int steps = 0; steps < SEEK_STEPS_MAX; steps++) {
        struct prefix up;
        int rc = prefix_get(c, p->jump_no, &up, err);
        if (rc == 0 && up.until <= seq) {
            rc = prefix_get(c, p->owner_no, &up, err);
            *owner = up;
            if (rc == 0 && up.until <= seq) return 0;
        }
        if (rc != 0) return rc;
        if (up.until >= p->until) return chain_broken(err);
        *p = up;
    }
    return chain_broken(err);
}

int segment_at(struct conn *c, int64_t run_no, int64_t seq, struct segment *out,
               struct wopr_error *err) {
    struct prefix p, owner = {0};
    int rc = prefix_get(c, run_no, &p, err);
    if (rc != 0) return rc;
    *out = (struct segment){.run_no = run_no, .first = p.until, .until = INT64_MAX};
    if (seq >= p.until) return 0;
    rc = chain_climb(c, seq, &p, &owner, err);
    if (rc == 0)
        *out = (struct segment){
            .run_no = owner.run_no, .first = owner.until, .until = p.until, .inherited = true};
    return rc;
}

static int jump_choose(struct conn *c, const struct prefix *owner, int64_t *jump_no,
                       struct wopr_error *err) {
    struct prefix a, b;
    int rc = prefix_get(c, owner->jump_no, &a, err);
    if (rc == 0) rc = prefix_get(c, a.jump_no, &b, err);
    bool even = rc == 0 && owner->depth - a.depth == a.depth - b.depth;
    *jump_no = even ? b.run_no : owner->run_no;
    return rc;
}

int prefix_put(struct conn *c, int64_t run_no, const struct plan_fork *f, struct wopr_error *err) {
    const struct run_fork *link = &f->link;
    struct segment last;
    struct prefix owner;
    int64_t jump_no;
    struct query q;
    int rc = segment_at(c, link->source_run_no, link->from_seq - 1, &last, err);
    if (rc == 0) rc = prefix_get(c, last.run_no, &owner, err);
    if (rc == 0) rc = jump_choose(c, &owner, &jump_no, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_PREFIX_PUT);
    bind_int(&q, run_no);
    bind_int(&q, link->from_seq);
    bind_int(&q, owner.run_no);
    bind_int(&q, jump_no);
    bind_int(&q, owner.depth + 1);
    bind_int(&q, f->prefix_bytes);
    bind_int(&q, f->row_bytes);
    return query_run(&q, err);
}

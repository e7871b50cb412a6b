/*
 * derive_says.c: what else an append says, as events of its run: log lines, variables, the limit of
 * a loop (WR-258).
 */
#include "codec/jobj.h"
#include "rail/derive_int.h"

#include <stdio.h>

enum {
    SAYS_BYTES_MAX = 65536,
    SAYS_VARS_MAX = 256,     /* changed keys of one context that get an event each */
    SAYS_VARS_HELD = 2048,   /* variables of a run, beyond: a line instead of events */
    SAYS_PREVIOUS_MAX = 8192 /* bytes of an old value that is said beside the new one */
};

static void line_append(struct deriving *d, const char *level, struct str message,
                        struct str node_id, struct str fields) {
    /* Only nodes that the run shows: the node of a complete snapshot is none of them. */
    bool known = node_id.n > 0 && workflow_node_index(d->run.wf, node_id) >= 0;
    if (!known) node_id = STR_NONE;
    (void)derive_event(d, EV_LOG_APPENDED, node_id,
                       pay_log(d->plan->arena, level, message, node_id, fields));
}

/* --- facts that become a line --- */
static void gap_say(struct deriving *d, const struct wr_event *e) {
    static const char *const LEVELS[] = {"info", "warn", "error"};
    struct jobj o;
    jobj_begin(&o, SAYS_BYTES_MAX);
    jw_kstr(&o.w, "gapId", e->u.gap.gap_id);
    jw_kstrz(&o.w, "category", wr_category_name(e->u.gap.category));
    jw_kstrz(&o.w, "detail", wr_detail_name(e->u.gap.detail));
    line_append(d, LEVELS[e->u.gap.severity], e->u.gap.summary, e->node_id,
                jobj_end(&o, d->plan->arena));
}

/* The message of a kind whose facts are told by its name and a word. */
static void fact_say(struct deriving *d, const struct wr_event *e, const char *level,
                     struct str message, const char *key, struct str value) {
    struct jobj o;
    jobj_begin(&o, SAYS_BYTES_MAX);
    jw_kstrz(&o.w, "kind", wr_kind_name((enum wr_kind)e->kind));
    if (key) jw_kstr_opt(&o.w, key, value);
    line_append(d, level, message, e->node_id, jobj_end(&o, d->plan->arena));
}

/* The limit of a loop ends it with this reason (WR-96). */
static bool limit_met(const struct wr_trace_entry *t) {
    static const char WORDS[] = "max iterations";
    for (size_t i = 0; t->kind == WR_T_EXITED && i + sizeof WORDS - 1 <= t->summary.n; i++)
        if (memcmp(t->summary.p + i, WORDS, sizeof WORDS - 1) == 0) return true;
    return false;
}

static void trace_say(struct deriving *d, const struct wr_event *e) {
    for (size_t i = 0; i < e->u.trace.entries.nr; i++) {
        const struct wr_trace_entry *t = &e->u.trace.entries.v[i];
        fact_say(d, e, "debug", t->summary, NULL, STR_NONE);
        for (size_t r = 0; limit_met(t) && r < t->refs.nr; r++) {
            if (t->refs.v[r].kind != WR_REF_LOOP || d->asked.n == 0) continue;
            size_t at = wr_workflow_loop(d->in->workflow, t->refs.v[r].id);
            int64_t limit = at == WR_NO_AT ? 1 : d->in->workflow->loops.v[at].max_iterations;
            (void)derive_event(d, EV_LOOPBACK_LIMIT, STR_NONE,
                               pay_loopback_limit(d->plan->arena, d->asked, limit, limit));
        }
    }
}

/* --- contexts become variables --- */
static struct str context_before(const struct deriving *d) {
    size_t at =
        d->parts.advance ? wr_session_node(d->in->truth, d->parts.advance->node_id) : WR_NO_NODE;
    return at == WR_NO_NODE ? STR_NONE : wr_node_context(d->in->truth, at);
}

struct context_change {
    const struct json_members *was, *now;
    size_t said, left;
};

static void variable_change(struct deriving *d, struct context_change *c, struct str name,
                            struct str was, struct str now) {
    if (c->said >= SAYS_VARS_MAX || d->run.state->variables.n >= SAYS_VARS_HELD || name.n == 0) {
        c->left++;
        return;
    }
    c->said++;
    if (was.n > SAYS_PREVIOUS_MAX) was = STR_NONE;
    (void)derive_event(d, EV_VARIABLE_CHANGED, STR_NONE,
                       pay_variable_changed(d->plan->arena, name, was, now, STR_NONE));
}

static struct str member_of(const struct json_members *m, struct str key) {
    const struct json_member *x = json_member_sorted(m, key);
    return x ? x->raw : STR_NONE;
}

static void context_changes(struct deriving *d, struct context_change *c) {
    for (size_t i = 0; i < c->now->n; i++) {
        struct str was = member_of(c->was, c->now->v[i].key);
        if (!str_eq(was, c->now->v[i].raw)) /* both are canonical */
            variable_change(d, c, c->now->v[i].key, was, c->now->v[i].raw);
    }
    for (size_t i = 0; i < c->was->n; i++)
        if (member_of(c->now, c->was->v[i].key).n == 0)
            variable_change(d, c, c->was->v[i].key, c->was->v[i].raw, STR_NONE);
}

static void context_say(struct deriving *d, const struct wr_event *e) {
    struct json_members was = {NULL, 0}, now = {NULL, 0};
    struct str before = context_before(d);
    struct wopr_error err;
    struct context_change c = {&was, &now, 0, 0};
    char text[80];
    int rc = json_members(e->u.context.context, d->plan->arena, &now, &err);
    if (rc == 0 && before.n > 0) rc = json_members(before, d->plan->arena, &was, &err);
    if (rc != 0) {
        plan_fail(d->plan, rc, "the context of a session cannot be read");
        return;
    }
    json_members_sort(&was);
    json_members_sort(&now);
    context_changes(d, &c);
    if (c.left == 0) return;
    (void)snprintf(text, sizeof text, "%zu further keys of the context changed", c.left);
    line_append(d, "debug", arena_str(d->plan->arena, str_c(text)), STR_NONE, STR_NONE);
}

/* --- */
static void validation_say(struct deriving *d, const struct wr_event *e) {
    bool valid = e->u.validation.valid;
    fact_say(d, e, "debug",
             valid ? STR("the output of the step is valid")
                   : STR("the output of the step is not valid"),
             "contractRef", e->u.validation.contract_ref);
}

static void event_say(struct deriving *d, const struct wr_event *e) {
    static const char *const OBSERVED[] = {"git_branch", "git_head_sha", "repo_root_hash",
                                           "repo_root"};
    switch ((enum wr_kind)e->kind) {
    case WR_GAP_RECORDED:
        gap_say(d, e);
        return;
    case WR_DIVERGENCE_RECORDED:
        fact_say(d, e, "info", e->u.divergence.summary, "divergenceId",
                 e->u.divergence.divergence_id);
        return;
    case WR_CONTEXT_SET:
        context_say(d, e);
        return;
    case WR_DECISION_TRACE_APPENDED:
        trace_say(d, e);
        return;
    case WR_VALIDATION_PERFORMED:
        validation_say(d, e);
        return;
    case WR_CAPABILITY_OBSERVED:
        fact_say(d, e, "debug", STR("a capability was observed"), "capObsId",
                 e->u.capability.cap_obs_id);
        return;
    case WR_OBSERVATION_RECORDED:
        fact_say(d, e, "debug", STR("something was observed"), "key",
                 str_c(OBSERVED[e->u.observation.key]));
        return;
    case WR_PREFERENCES_CHANGED:
        fact_say(d, e, "debug", STR("preferences changed"), "changeId", e->u.preferences.change_id);
        return;
    default:
        return; /* told by events of nodes, artifacts and the run */
    }
}

void derive_says(struct deriving *d) {
    for (size_t i = 0; i < d->in->append->events_nr && d->plan->failed == 0; i++)
        event_say(d, &d->in->append->events[i]);
}

void derive_blocked(struct deriving *d) {
    const struct wr_report *r = &d->state.block.report;
    if (d->state.kind == WR_S_BLOCKED && r->nr > 0)
        line_append(d, "warn", r->v[0].message, d->asked, STR_NONE);
}

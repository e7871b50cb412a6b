/*
 * artifact.c: artifacts of a call, sorted out by their kinds.
 */
#include "codec/schema.h"
#include "workrail/event_shape.h"
#include "workrail/registry.h"
#include "workrail/work.h"

#include <stdio.h>

enum { CONTROL_SUMMARY_MAX = 1024 };

struct sorting {
    const struct wr_workflow *w;
    const struct wr_step *step;
    const struct wr_state *state;
    struct arena *a;
    struct wr_artifacts *out;
    size_t issues_cap;
    struct wr_fault *f;
};

static struct str kind_of(struct str artifact, struct arena *a) {
    struct str raw = json_get(artifact, "kind");
    return raw.p != NULL ? json_string(raw, a) : STR_NONE;
}

/* Whether an artifact fits a schema (*fits), with the sentence that says why not. */
static int schema_fits(struct str schema, struct str artifact, struct schema_issue *issue,
                       bool *fits) {
    const struct schema *compiled;
    struct schema_set *set = schema_set_new(false);
    if (set == NULL) return WOPR_E_NO_MEMORY;
    int rc = schema_set_add(set, STR("urn:wopr:contract"), schema, NULL);
    if (rc == 0) rc = schema_compile(set, STR("urn:wopr:contract"), &compiled, NULL);
    if (rc == 0) rc = schema_validate_text(compiled, artifact, issue);
    schema_set_free(set);
    *fits = rc == 0;
    return rc == WOPR_E_NO_MEMORY ? rc : 0;
}

static bool loop_active(const struct wr_state *s, struct str loop_id) {
    for (size_t i = 0; i < s->stack.nr; i++)
        if (str_eq(s->stack.v[i].loop_id, loop_id)) return true;
    return false;
}

/* What the schema of wr.loop_control cannot say (WR-100); NULL: nothing is wrong. */
static const char *control_wrong(const struct sorting *t, struct str artifact) {
    struct str loop = json_get(artifact, "loopId"), summary = json_get(artifact, "summary");
    if (loop.p != NULL && !loop_active(t->state, json_string(loop, t->a)))
        return "loopId names no loop that is active";
    if (loop.p == NULL && t->state->stack.nr == 0) return "no loop is active";
    if (summary.p != NULL && json_string(summary, t->a).n > CONTROL_SUMMARY_MAX)
        return "summary is longer than 1024 bytes";
    return NULL;
}

/* 0 and *why NULL: the artifact fits; *why: what is wrong. */
static int artifact_judge(struct sorting *t, struct str schema, bool control, struct str artifact,
                          struct str *why) {
    struct schema_issue issue = {{0}, {0}, {0}};
    bool fits = false;
    *why = STR_NONE;
    if (schema_fits(schema, artifact, &issue, &fits) != 0) return wr_no_memory(t->f);
    if (!fits)
        *why = arena_printf(t->a, "%s%s%s", issue.instance, issue.instance[0] != '\0' ? ": " : "",
                            issue.reason[0] != '\0' ? issue.reason : "it does not fit its schema");
    const char *more = fits && control ? control_wrong(t, artifact) : NULL;
    if (more != NULL) *why = str_c(more);
    return arena_failed(t->a) ? wr_no_memory(t->f) : 0;
}

static int name_of(const struct wr_names *names, struct str artifact, const char *member,
                   struct arena *a) {
    struct str raw = json_get(artifact, member);
    return raw.p != NULL ? wr_name_find(names, json_string(raw, a)) : -1;
}

/* --- what an artifact that fits says --- */

static void control_take(struct sorting *t, struct str artifact) {
    struct wr_controls *c = &t->out->controls;
    struct str loop = json_get(artifact, "loopId");
    c->v[c->nr].loop_id = loop.p != NULL ? json_string(loop, t->a) : STR_NONE;
    c->v[c->nr++].goes_on = str_eqc(json_string(json_get(artifact, "decision"), t->a), "continue");
}

static void capability_take(struct sorting *t, struct str artifact) {
    static const char *const STATUSES[] = {"unknown", "available", "unavailable"};
    static const char *const FAILURES[] = {"tool_missing", "tool_error", "policy_blocked",
                                           "unknown"};
    static const struct wr_names STATUS = WR_NAMES(STATUSES), FAILURE = WR_NAMES(FAILURES);
    struct wr_seen_capability *c = &t->out->capabilities.v[t->out->capabilities.nr++];
    c->capability = name_of(&WR_CAPABILITY_NAMES, artifact, "capability", t->a);
    c->status = name_of(&STATUS, artifact, "status", t->a);
    c->failure_code = name_of(&FAILURE, artifact, "failureCode", t->a);
    (void)json_bool(json_get(artifact, "attempted"), &c->attempted);
}

static void divergence_take(struct sorting *t, struct str artifact) {
    struct wr_seen_divergence *d = &t->out->divergences.v[t->out->divergences.nr++];
    struct str step = json_get(artifact, "relatedStepId");
    d->reason = name_of(&WR_DIVERGENCE_NAMES, artifact, "reason", t->a);
    d->summary = wr_fit(json_string(json_get(artifact, "summary"), t->a), WR_SUMMARY_MAX, t->a);
    d->step_id = step.p != NULL ? json_string(step, t->a) : STR_NONE;
}

static void user_take(struct sorting *t, struct str artifact) {
    struct wr_reason r = {.text = t->step->id};
    struct str said = json_string(json_get(artifact, "summary"), t->a);
    r.detail = name_of(&WR_DETAIL_NAMES, artifact, "reason", t->a);
    r.message = arena_printf(t->a, "Only the user can provide this: " STR_FMT, STR_ARG(said));
    r.fix = STR("Ask the user. When it is there, rehydrate the step before this block for a fresh "
                "ackToken and continue from there.");
    if (wr_reason_add(&t->out->users, r, t->a) != 0) (void)wr_no_memory(t->f);
}

/* --- kinds --- */

static const struct known_kind {
    const char *kind, *contract;
    void (*take)(struct sorting *t, struct str artifact);
} KNOWN[] = {{"wr.loop_control", WR_LOOP_CONTROL_REF, control_take},
             {"wr.capability_observation", WR_CAPABILITY_REF, capability_take},
             {"wr.user_only_dependency", WR_USER_REF, user_take},
             {"wr.workflow_divergence", WR_DIVERGENCE_REF, divergence_take},
             {"workflow_divergence", WR_DIVERGENCE_REF, divergence_take}};

static int issue_add(struct sorting *t, struct str why) {
    struct wr_texts *i = &t->out->issues;
    if (i->nr < t->issues_cap) i->v[i->nr++] = why;
    return 0;
}

static int artifact_sort(struct sorting *t, size_t i, struct str artifact) {
    struct str kind = kind_of(artifact, t->a), why;
    const struct known_kind *k = NULL;
    char where[48];
    for (size_t n = 0; n < sizeof KNOWN / sizeof *KNOWN; n++)
        if (str_eqc(kind, KNOWN[n].kind)) k = &KNOWN[n];
    if (k == NULL) return 0; /* the workflow's own kind: kept, not read */
    size_t at = wr_workflow_contract(t->w, str_c(k->contract));
    bool due = t->step->contract_ref.p != NULL && str_eqc(t->step->contract_ref, k->contract);
    struct str schema = at != WR_NO_AT ? t->w->contracts.v[at].schema
                                       : str_c(wr_builtin_contract(str_c(k->contract))->schema);
    int rc = artifact_judge(t, schema, k->take == control_take, artifact, &why);
    if (rc != 0) return rc;
    t->out->of_contract += due;
    if (why.p == NULL) {
        t->out->valid_of_contract += due;
        k->take(t, artifact);
        return arena_failed(t->a) ? wr_no_memory(t->f) : 0;
    }
    if (due) return issue_add(t, why);
    snprintf(where, sizeof where, "output.artifacts[%zu]", i);
    return wr_fail(t->f, WR_VALIDATION_ERROR, where,
                   "%s: an artifact of kind %s does not fit its form: %s; send it again mended, or "
                   "leave it out",
                   where, k->kind, why.p);
}

int wr_artifacts_sort(const struct wr_workflow *w, const struct wr_step *step,
                      const struct wr_state *state, const struct wr_texts *artifacts,
                      struct arena *a, struct wr_artifacts *out, struct wr_fault *f) {
    struct sorting t = {.w = w, .step = step, .state = state, .a = a, .out = out, .f = f};
    size_t nr = artifacts->nr;
    *out = (struct wr_artifacts){.of_contract = 0};
    out->controls.v = ARENA_ARRAY(a, struct wr_control, nr + 1); /* one more may be put in */
    out->capabilities.v = ARENA_ARRAY(a, struct wr_seen_capability, nr);
    out->divergences.v = ARENA_ARRAY(a, struct wr_seen_divergence, nr);
    out->issues.v = ARENA_ARRAY(a, struct str, nr);
    t.issues_cap = nr;
    if (arena_failed(a)) return wr_no_memory(f);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < nr; i++) rc = artifact_sort(&t, i, artifacts->v[i]);
    return rc;
}

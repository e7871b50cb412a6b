/*
 * verify_agents.c: agents of workspaces and the sets that runs go by, against their digests and
 * against what a put would say (AGT-40 to AGT-46).
 */
#include "codec/json.h"
#include "domain/agent_manifest.h"
#include "host/verify_int.h"
#include "store/agents.h"
#include "store/events.h"

#define AGENTS_PAGE 64u

/* Kept from a judgement: the first error. */
static void error_keep(void *ctx, const struct lint_finding *f) {
    struct str *first = ctx;
    static _Thread_local char text[LINT_TEXT];
    if (!f->error || first->n > 0) return;
    memcpy(text, f->text, sizeof text);
    *first = str_c(text);
}

/* What is broken, or empty.  What this host offers may have changed since: that is no damage. */
static struct str definition_broken(struct verify *v, struct str id, struct str text,
                                    const struct sha256 *digest, struct wopr_error *err) {
    const struct agent_rules rules = {.long_term = true};
    struct agent_judgement sum;
    struct sha256 real;
    struct str first = STR_NONE;
    if (json_check(text, &JSON_LIMITS_STORED, NULL) != 0) return STR("it is no JSON");
    if (agent_judge(text, &rules, error_keep, &first, v->arena, &sum, err) != 0) return STR_NONE;
    if (first.n > 0) return first;
    if (!str_eq(sum.agent_id, id)) return STR("it is stored under the id of another one");
    if (digest && (agent_digest(text, &real, err) != 0 || !sha256_eq(&real, digest)))
        return STR("its digest is that of another one");
    return STR_NONE;
}

/* The last row of a page, where the next one begins, is of the other arena. */
static int agents_walk(struct verify *v, struct arena *pages[2], struct wopr_error *err) {
    struct agent_rows l = {.n = AGENTS_PAGE};
    struct agent_row last, *after = NULL;
    for (unsigned turn = 0; l.n == AGENTS_PAGE; turn++) {
        struct arena *page = pages[turn % 2];
        arena_reset(page);
        int rc = store_agents(v->store, STR_NONE, false, after, AGENTS_PAGE, page, &l, err);
        if (rc != 0) return rc;
        for (size_t i = 0; i < l.n; i++) {
            arena_reset(v->arena);
            struct str why =
                definition_broken(v, l.v[i].agent_id, l.v[i].definition, &l.v[i].digest, err);
            if (why.n > 0) finding_report(v, l.v[i].agent_id, "agents", arena_cstr(v->arena, why));
            last = l.v[i];
            after = &last;
        }
    }
    return 0;
}

static int set_check(struct verify *v, const struct agent_set_row *set, struct wopr_error *err) {
    struct json_members m;
    struct str digest;
    int rc = agent_set_digest(set->definitions, v->arena, &digest, err);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != 0 || !str_eq(digest, set->digest)) {
        finding_report(v, set->digest, "agents", "the set has another digest than it is stored by");
        return 0;
    }
    rc = json_members(set->definitions, v->arena, &m, err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        struct str why = definition_broken(v, m.v[i].key, m.v[i].raw, NULL, err);
        if (why.n > 0) finding_report(v, set->digest, "agents", arena_cstr(v->arena, why));
    }
    return rc;
}

int verify_agents(struct verify *v, struct wopr_error *err) {
    struct arena *pages[2] = {arena_new(AGENTS_PAGE * AGENT_SET_BYTES),
                              arena_new(AGENTS_PAGE * AGENT_SET_BYTES)};
    struct agent_set_row set;
    int64_t after = 0;
    int rc = pages[0] && pages[1] ? agents_walk(v, pages, err)
                                  : wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    while (rc == 0) {
        arena_reset(pages[0]);
        arena_reset(v->arena);
        rc = store_agent_set_after(v->store, after, pages[0], &set, err);
        if (rc != 0) break;
        after = set.set_no;
        rc = set_check(v, &set, err);
    }
    arena_free(pages[0]);
    arena_free(pages[1]);
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}

int verify_run_agents(struct verify *v, const struct run_origin *o, struct wopr_error *err) {
    struct agent_set_row set = {.set_no = 0};
    struct event_list l = {NULL, 0};
    int rc = store_events(v->store, o->head.run_no, 0, 1, INT32_MAX, v->arena, &l, err);
    if (rc == 0 && o->agents_no > 0)
        rc = store_agent_set(v->store, o->agents_no, v->arena, &set, err);
    if (rc == WOPR_E_NOT_FOUND) return 0; /* reported by the store's checks */
    if (rc != 0 || l.n == 0 || l.v[0].kind != EV_RUN_STARTED) return rc;
    struct str named = json_string(json_get(l.v[0].payload, "agentSet"), v->arena);
    if (!str_eq(named, set.digest))
        finding_report(v, o->head.run_id, "agents",
                       "the run holds another set of agents than its first event names");
    return 0;
}

/*
 * requirement.c: see requirement.h.
 */
#include "engine/requirement.h"

#include "codec/jobj.h"
#include "domain/options.h"
#include "engine/timeline.h"

static const char UNAVAILABLE[] = "credential_unavailable", REQUIRED[] = "credential_required";

bool requirement_code(struct str code) {
    return str_eqc(code, UNAVAILABLE) || str_eqc(code, REQUIRED);
}

/* true: the message is formatted with the id of the requirement, which a manifest gives. */
static bool requirement_report_lack(struct step *st, const struct node_secret *n, const char *code,
                                    const char *why, struct failure *f) {
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kraw(&o.w, "requirement", n->raw);
    if (code == UNAVAILABLE) jw_kstrz(&o.w, "capability", "secrets");
    *f = (struct failure){.code = str_c(code),
                          .message = arena_printf(
                              st->scratch, "the node requires the secret \"" STR_FMT "\" (%s), %s",
                              STR_ARG(n->id), credential_kind_name(n->kind), why),
                          .details = jobj_end(&o, st->scratch)};
    if (!f->message.p || !f->details.p)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory to refuse a node");
    return true;
}

static bool requirement_listed(const char *const *names, struct str name) {
    for (; names && *names; names++)
        if (str_eqc(name, *names)) return true;
    return false;
}

enum scope { SCOPE_ANY, SCOPE_TENANT, SCOPE_USER };
/* What a name means to the run, without opening it. */
static bool credential_there(struct step *st, struct str name, enum scope scope,
                             struct credential *out) {
    const struct run_meta *m = &st->state->meta;
    struct credential_id id = {.tenant = m->tenant, .test_mode = m->test_mode, .name = name};
    struct wopr_error err = {0};
    id.issuer = id.subject = STR("");
    if (!credential_name_ok(name)) return false;
    if (scope != SCOPE_TENANT) {
        id.issuer = json_string(json_get(m->subject, "issuer"), st->scratch);
        id.subject = json_string(json_get(m->subject, "subjectId"), st->scratch);
        if (id.issuer.n == 0 || id.subject.n == 0) id.issuer = id.subject = STR("");
    }
    if (scope == SCOPE_USER && id.subject.n == 0) return false;
    int rc = store_credential_find(st->engine->store, &id, st->scratch, out, &err);
    if (rc != 0 && rc != WOPR_E_NOT_FOUND)
        plan_fail(st->plan, rc, "the credentials that a node requires cannot be looked up");
    return rc == 0 && (scope != SCOPE_USER || out->id.subject.n > 0);
}

/* CAP-36 (2): of the provider that the host has, or of one that takes the run's own key. */
static bool provider_lacks(struct step *st, int node, const struct node_secret *n,
                           struct failure *f) {
    const struct run_limits *l = &st->engine->cfg.limits;
    const struct str refs[] = {st->state->options.credential_ref,
                               st->state->wf->nodes[node].credentials_ref};
    struct credential c;
    if (!requirement_listed(l->ai_providers, n->provider))
        return requirement_report_lack(st, n, UNAVAILABLE,
                                       "and this host offers no such AI provider", f);
    if (!requirement_listed(l->byok_providers, n->provider)) return false;
    for (size_t i = 0; i < 2 && !step_lost(st); i++)
        if (refs[i].n > 0 && credential_there(st, refs[i], SCOPE_ANY, &c) &&
            c.kind == CREDENTIAL_AI_PROVIDER && str_eq(c.provider, n->provider))
            return false;
    return requirement_report_lack(
        st, n, REQUIRED,
        "and neither ai.credentialRef of the run nor credentialsRef of the node names a "
        "credential of that AI provider",
        f);
}

static bool secret_lacks(struct step *st, int node, const struct node_secret *n,
                         struct failure *f) {
    bool user = str_eqc(n->scope, "user");
    struct credential c;
    if (!st->engine->cfg.vault)
        return requirement_report_lack(st, n, UNAVAILABLE, "and this host keeps none (--seal-key)",
                                       f);
    if (!user && !str_eqc(n->scope, "tenant"))
        return requirement_report_lack(
            st, n, UNAVAILABLE, "of a scope that this host does not offer; it has tenant and user",
            f);
    if (n->kind == CREDENTIAL_AI_PROVIDER) return provider_lacks(st, node, n, f);
    if (credential_there(st, n->id, user ? SCOPE_USER : SCOPE_TENANT, &c) && c.kind == n->kind)
        return false;
    return requirement_report_lack(
        st, n, REQUIRED,
        user ? "and the subject of the run has no credential of that name and kind "
               "(wopr secrets set)"
             : "and the tenant has no credential of that name and kind (wopr secrets set)",
        f);
}

bool requirement_lacks(struct step *st, int node, const struct node_type *type, struct failure *f) {
    if (type->secrets_nr == 0) return false;
    if (timeline_leads(st)) return timeline_of(st)->refused(st, node, f);
    for (size_t i = 0; i < type->secrets_nr && !step_lost(st); i++)
        if (secret_lacks(st, node, &type->secrets[i], f)) return true;
    return step_lost(st);
}

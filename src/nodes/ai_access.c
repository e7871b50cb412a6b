/*
 * ai_access.c: before a model is asked: the policies of the operator, then whose credential is sent
 * (CAP-36 to CAP-38).  The reference of the run (ai.credentialRef) counts before that of the node
 * (credentialsRef), and both before the operator's own.  A reference is a name; neither it nor what
 * it names is ever part of a message.
 */
#include "nodes/ai.h"

static void ai_access_denied(const struct node_call *call, const struct ai_providers *all,
                             const struct ai_prompt *p, const char *reason,
                             const struct ai_policy *policy, struct node_result *out) {
    struct jobj o;
    node_fail(out, "provider_policy_denied",
              "a policy of this host does not admit the request to the AI provider", false);
    out->error_code = all->error_code;
    out->decision = (struct node_decision){"denied", reason, p->provider->name};
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstr(&o.w, "provider", p->provider->name);
    jw_kstrz(&o.w, "reason", reason);
    if (policy && policy->mode == AI_RESTRICTED) {
        jw_key(&o.w, "allowed");
        jw_array(&o.w);
        for (size_t i = 0; i < policy->allowed_nr; i++) jw_str(&o.w, policy->allowed[i]);
        jw_end_array(&o.w);
    }
    out->error_details = jobj_end(&o, call->a);
}

static void ai_access_needs(const struct node_call *call, const struct ai_prompt *p,
                            const char *message, struct node_result *out) {
    struct jobj o;
    node_fail(out, "credential_required", message, false);
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_key(&o.w, "requirement");
    jw_object(&o.w);
    jw_kstr(&o.w, "id", p->provider->name);
    jw_kstrz(&o.w, "kind", "ai-provider");
    jw_kstr(&o.w, "provider", p->provider->name);
    jw_end_object(&o.w);
    out->error_details = jobj_end(&o, call->a);
}

static void ai_access_forbidden(const struct node_call *call, const struct ai_prompt *p,
                                struct node_result *out) {
    struct jobj o;
    node_fail(out, "credential_forbidden",
              "the AI provider takes no credential references on this host", false);
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstr(&o.w, "provider", p->provider->name);
    out->error_details = jobj_end(&o, call->a);
}

enum own { OWN_KEY, OWN_NONE, OWN_FAILED };
/* What the reference gives for this provider.  A credential of another provider is none: a run has
 * one reference, and may ask several providers. */
static enum own own_key(const struct node_call *call, const struct ai_providers *all,
                        const struct ai_asked *q, const struct ai_prompt *p, struct str ref,
                        struct str *key, struct node_result *out) {
    struct node_credential c = {0};
    switch (node_credential(call, ref, &c, out)) {
    case NODE_FOUND:
        break;
    case NODE_NONE:
        if (ai_policy_requires(all, q))
            ai_access_denied(call, all, p, "byok_required_but_unresolved", NULL, out);
        else
            ai_access_needs(
                call, p,
                "there is no credential of the name that the run or the node refers to; \"wopr "
                "secrets set\" stores one",
                out);
        return OWN_FAILED;
    case NODE_LOST:
        return OWN_FAILED;
    }
    if (!str_eq(c.provider, p->provider->name)) return OWN_NONE;
    if (!p->provider->byok) {
        ai_access_forbidden(call, p, out);
        return OWN_FAILED;
    }
    *key = c.value;
    return OWN_KEY;
}

static bool answer_known(const struct node_call *call, unsigned ordinal) {
    for (size_t i = 0; i < call->answers_nr; i++)
        if (call->answers[i].ordinal == ordinal) return true;
    return call->replaying;
}

static bool ai_access_admitted(const struct node_call *call, const struct ai_providers *all,
                               const struct ai_prompt *p, const struct ai_asked *q,
                               struct node_result *out) {
    const struct ai_policy *policy = NULL;
    const char *reason = ai_policy_denies(all, q, &policy);
    if (reason) ai_access_denied(call, all, p, reason, policy, out);
    return reason == NULL;
}

/* A policy that applies has admitted what is about to be sent. */
static bool ai_access_granted(const struct ai_providers *all, const struct ai_prompt *p,
                              const struct ai_asked *q, struct node_result *out) {
    if (ai_policy_asked(all, q))
        out->decision = (struct node_decision){"admitted", NULL, p->provider->name};
    return true;
}

bool ai_access(const struct node_call *call, const struct ai_providers *all,
               const struct ai_prompt *p, unsigned ordinal, struct str *key,
               struct node_result *out) {
    const struct run_options *run = &call->run->options;
    const bool others = run->ai_provider.n > 0 && !str_eq(run->ai_provider, p->provider->name);
    const struct str refs[] = {others ? STR("") : run->credential_ref, call->def->credentials_ref};
    struct ai_asked q = {call->run->meta.tenant, p->provider->name, p->model,
                         refs[0].n + refs[1].n > 0};
    enum own own = OWN_NONE;
    *key = STR_NONE;
    if (answer_known(call, ordinal)) return true;
    if (!ai_access_admitted(call, all, p, &q, out)) return false;
    for (size_t i = 0; own == OWN_NONE && i < 2; i++)
        if (refs[i].n > 0) own = own_key(call, all, &q, p, refs[i], key, out);
    if (own != OWN_NONE) return own == OWN_KEY && ai_access_granted(all, p, &q, out);
    q.own_credential = false;
    if (!ai_access_admitted(call, all, p, &q, out)) return false;
    *key = p->provider->key;
    if (key->n > 0 || !p->provider->byok) return ai_access_granted(all, p, &q, out);
    ai_access_needs(call, p,
                    "the AI provider takes no request without a credential of the run: name one in "
                    "ai.credentialRef, or in credentialsRef of the node",
                    out);
    return false;
}

/*
 * ai_policy.c: policies of the operator about AI providers (CAP-37 to CAP-39).  Each may be of one
 * provider or all, and of some tenants or all.  They are not merged: every policy that applies must
 * admit a request, so the strictest decides, in whatever order they are written.
 */
#include "nodes/ai.h"

#define POLICIES_MAX 1024u
#define NAMES_MAX    1024u
#define CODE_MAX     128u

static const struct mode_row {
    const char *name;
    enum ai_mode mode;
} MODES[] = {{"optional", AI_OPTIONAL},
             {"disabled", AI_DISABLED},
             {"required", AI_REQUIRED},
             {"restricted", AI_RESTRICTED}};

/* --- reading --- */

struct reader {
    struct ai_providers *p;
    struct wopr_error *err;
    size_t at;
};

static int ai_policy_wrong(struct reader *x, const char *member, const char *why) {
    return wopr_error_set(x->err, WOPR_E_CONFIG, "policies[%zu]: %s %s", x->at, member, why);
}

static int names_read(struct reader *x, struct str raw, const char *member, struct str **out,
                      size_t *n) {
    struct json_elements l;
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->p->a, &l, NULL) != 0 ||
        l.n > NAMES_MAX)
        return ai_policy_wrong(x, member, "must be a list of at most 1024 strings");
    *out = ARENA_ARRAY(x->p->a, struct str, l.n + 1);
    if (!*out) return WOPR_E_NO_MEMORY;
    for (size_t i = 0; i < l.n; i++) {
        (*out)[i] = json_string(l.v[i], x->p->a);
        if (json_type_of(l.v[i]) != JSON_STRING || (*out)[i].n == 0 || (*out)[i].n > AI_NAME_MAX)
            return ai_policy_wrong(x, member, "must be a list of strings of 1 to 128 bytes");
    }
    *n = l.n;
    return 0;
}

static int mode_read(struct reader *x, struct str raw, struct ai_policy *policy) {
    struct str name = json_type_of(raw.n > 0 ? raw : STR("0")) == JSON_STRING
                          ? json_string(raw, x->p->a)
                          : STR_NONE;
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        if (!str_eqc(name, MODES[i].name)) continue;
        policy->mode = MODES[i].mode;
        return 0;
    }
    return ai_policy_wrong(x, "mode", "must be optional, disabled, required or restricted");
}

static int provider_read(struct reader *x, struct str raw, struct ai_policy *policy) {
    struct str name = json_type_of(raw.n > 0 ? raw : STR("0")) == JSON_STRING
                          ? json_string(raw, x->p->a)
                          : STR_NONE;
    if (str_eqc(name, "*")) return 0;
    policy->provider = name;
    return name.n > 0 && ai_provider_find(x->p, name)
               ? 0
               : ai_policy_wrong(x, "provider",
                                 "must be the name of one of the providers, or * for each");
}

static int policy_read(struct reader *x, struct str raw, struct ai_policy *policy) {
    static const char *const KNOWN[] = {"provider", "mode", "tenants", "allowedModels"};
    struct json_members m;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, x->p->a, &m, NULL) != 0)
        return ai_policy_wrong(x, "it", "must be an object");
    for (size_t i = 0; i < m.n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++)
            known = known || str_eqc(m.v[i].key, KNOWN[k]);
        if (!known)
            return ai_policy_wrong(x, "it",
                                   "may have the members provider, mode, tenants, allowedModels");
    }
    int rc = provider_read(x, json_get(raw, "provider"), policy);
    if (rc == 0) rc = mode_read(x, json_get(raw, "mode"), policy);
    if (rc == 0)
        rc = names_read(x, json_get(raw, "tenants"), "tenants", &policy->tenants,
                        &policy->tenants_nr);
    if (rc == 0 && json_get(raw, "tenants").n > 0 && policy->tenants_nr == 0)
        rc = ai_policy_wrong(x, "tenants", "is empty: leave it out for all of them");
    if (rc == 0)
        rc = names_read(x, json_get(raw, "allowedModels"), "allowedModels", &policy->allowed,
                        &policy->allowed_nr);
    if (rc == 0 && json_get(raw, "allowedModels").n > 0 && policy->mode != AI_RESTRICTED)
        rc = ai_policy_wrong(x, "allowedModels", "belongs to the mode restricted");
    return rc;
}

static int code_read(struct ai_providers *p, struct str raw, struct wopr_error *err) {
    p->error_code = STR("provider_policy_denied");
    if (raw.n == 0) return 0;
    if (json_type_of(raw) == JSON_STRING) p->error_code = json_string(raw, p->a);
    bool ok =
        json_type_of(raw) == JSON_STRING && p->error_code.n > 0 && p->error_code.n <= CODE_MAX;
    for (size_t i = 0; ok && i < p->error_code.n; i++)
        ok = (p->error_code.p[i] >= 'a' && p->error_code.p[i] <= 'z') || p->error_code.p[i] == '_';
    return ok ? 0
              : wopr_error_set(err, WOPR_E_CONFIG,
                               "policyErrorCode must be 1 to 128 of a-z and _, such as "
                               "provider_policy_denied");
}

int ai_policies_read(struct ai_providers *p, struct str raw, struct str error_code,
                     struct wopr_error *err) {
    struct reader x = {p, err, 0};
    struct json_elements l;
    int rc = code_read(p, error_code, err);
    if (rc != 0 || raw.n == 0) return rc;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, p->a, &l, NULL) != 0 ||
        l.n > POLICIES_MAX)
        return wopr_error_set(err, WOPR_E_CONFIG, "policies must be a list of at most %u",
                              POLICIES_MAX);
    p->has_policies = true;
    p->policies = ARENA_ARRAY(p->a, struct ai_policy, l.n + 1);
    if (!p->policies) return WOPR_E_NO_MEMORY;
    for (; rc == 0 && x.at < l.n; x.at++) rc = policy_read(&x, l.v[x.at], &p->policies[x.at]);
    p->policies_nr = l.n;
    return rc;
}

/* --- deciding --- */

/* A star that fails is tried one character further, only the last one: time is the product of both
 * lengths at most. */
bool ai_pattern_fits(struct str pattern, struct str text) {
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
            p++, t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*') p++;
    return p == pattern.n;
}

static bool policy_applies(const struct ai_policy *y, const struct ai_asked *q) {
    bool tenant = y->tenants_nr == 0;
    for (size_t i = 0; !tenant && i < y->tenants_nr; i++) tenant = str_eq(y->tenants[i], q->tenant);
    return tenant && (y->provider.n == 0 || str_eq(y->provider, q->provider));
}

static bool model_allowed(const struct ai_policy *y, struct str model) {
    for (size_t i = 0; i < y->allowed_nr; i++)
        if (ai_pattern_fits(y->allowed[i], model)) return true;
    return false; /* also of an empty list: fail closed */
}

static bool policy_admits(const struct ai_policy *y, const struct ai_asked *q) {
    switch (y->mode) {
    case AI_DISABLED:
        return false;
    case AI_REQUIRED:
        return q->own_credential;
    case AI_RESTRICTED:
        return model_allowed(y, q->model);
    case AI_OPTIONAL:
        break;
    }
    return true;
}

const char *ai_policy_denies(const struct ai_providers *p, const struct ai_asked *q,
                             const struct ai_policy **policy) {
    static const struct {
        enum ai_mode mode;
        const char *reason;
    } ORDER[] = {{AI_DISABLED, "provider_disabled"},
                 {AI_REQUIRED, "byok_required"},
                 {AI_RESTRICTED, "model_not_allowed"}};
    for (size_t k = 0; k < sizeof ORDER / sizeof *ORDER; k++)
        for (size_t i = 0; i < p->policies_nr; i++) {
            const struct ai_policy *y = &p->policies[i];
            if (y->mode != ORDER[k].mode || !policy_applies(y, q) || policy_admits(y, q)) continue;
            *policy = y;
            return ORDER[k].reason;
        }
    return NULL;
}

bool ai_policy_asked(const struct ai_providers *p, const struct ai_asked *q) {
    for (size_t i = 0; i < p->policies_nr; i++)
        if (policy_applies(&p->policies[i], q)) return true;
    return false;
}

bool ai_policy_requires(const struct ai_providers *p, const struct ai_asked *q) {
    for (size_t i = 0; i < p->policies_nr; i++)
        if (p->policies[i].mode == AI_REQUIRED && policy_applies(&p->policies[i], q)) return true;
    return false;
}

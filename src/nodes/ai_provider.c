/*
 * ai_provider.c: the models that the operator configured, read from one JSON document; see nodes.h
 * for its form.  Wrong members are named with their place, and no credential is ever in a message.
 */
#include "base/mem.h"
#include "domain/agent_manifest.h"
#include "nodes/ai.h"

#include <math.h>

#define PROVIDERS_MAX      32u
#define PRICES_MAX         256u
#define PROVIDER_ARENA     (4u * 1024 * 1024)
#define MAX_TOKENS_LIMIT   10000000
#define PRICE_USD_MAX      1000000.0
#define PICO_PER_MILLIONTH 1e6 /* 10^-12 USD per token, of a USD per million tokens */

static const struct ai_style *const AI_STYLES[] = {&AI_OPENAI, &AI_ANTHROPIC};

struct reader {
    struct ai_providers *out;
    ai_key_fn *key;
    void *ctx;
    struct wopr_error *err;
    size_t at; /* which provider */
};

static int provider_wrong(struct reader *x, const char *member, const char *why) {
    return wopr_error_set(x->err, WOPR_E_CONFIG, "providers[%zu].%s %s", x->at, member, why);
}

static int text_read(struct reader *x, struct str o, const char *member, bool needed,
                     struct str *out) {
    struct str raw = json_get(o, member);
    *out = STR_NONE;
    if (raw.n == 0 && !needed) return 0;
    if (raw.n > 0 && json_type_of(raw) == JSON_STRING) *out = json_string(raw, x->out->a);
    return out->n > 0 ? 0 : provider_wrong(x, member, "must be a string that is not empty");
}

static int members_known(struct reader *x, struct str o, const char *const *known,
                         const char *where) {
    struct json_members m;
    if (json_type_of(o) != JSON_OBJECT) return provider_wrong(x, where, "must be an object");
    int rc = json_members(o, x->out->a, &m, x->err);
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        size_t k = 0;
        while (known[k] && !str_eqc(m.v[i].key, known[k])) k++;
        if (!known[k])
            rc = wopr_error_set(
                x->err, WOPR_E_CONFIG,
                "providers[%zu]%s%s has a member \"" STR_FMT "\" that this host does not know",
                x->at, *where ? "." : "", where,
                STR_ARG(str_n(m.v[i].key.p, m.v[i].key.n < 64 ? m.v[i].key.n : 64)));
    }
    return rc;
}

/* --- prices --- */

static int usd_read(struct reader *x, struct str o, const char *member, int64_t absent,
                    int64_t *out) {
    double usd;
    struct str raw = json_get(o, member);
    *out = absent;
    if (raw.n == 0 && absent >= 0) return 0;
    if (raw.n == 0 || !json_double(raw, &usd) || !(usd >= 0) || usd > PRICE_USD_MAX)
        return wopr_error_set(x->err, WOPR_E_CONFIG,
                              "providers[%zu].prices: %s must be USD per million tokens, a number "
                              "from 0 to 1000000",
                              x->at, member);
    *out = (int64_t)llround(usd * PICO_PER_MILLIONTH);
    return 0;
}

static int prices_read(struct reader *x, struct str raw, struct ai_provider *p) {
    static const char *const KNOWN[] = {"input", "output", "cacheRead", "cacheWrite", NULL};
    struct json_members m;
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, x->out->a, &m, x->err) != 0 ||
        m.n > PRICES_MAX)
        return provider_wrong(x, "prices", "must be an object, a model's name to its prices");
    p->prices = ARENA_ARRAY(x->out->a, struct ai_price, m.n + 1);
    int rc = p->prices ? 0 : WOPR_E_NO_MEMORY;
    for (size_t i = 0; rc == 0 && i < m.n; i++) {
        struct ai_price *c = &p->prices[p->prices_nr++];
        c->model = m.v[i].key;
        rc = members_known(x, m.v[i].raw, KNOWN, "prices");
        if (rc == 0) rc = usd_read(x, m.v[i].raw, "input", -1, &c->input);
        if (rc == 0) rc = usd_read(x, m.v[i].raw, "output", -1, &c->output);
        if (rc == 0) rc = usd_read(x, m.v[i].raw, "cacheRead", c->input, &c->cache_read);
        if (rc == 0) rc = usd_read(x, m.v[i].raw, "cacheWrite", c->input, &c->cache_write);
    }
    return rc;
}

/* --- one provider --- */

static int classes_read(struct reader *x, struct str raw, struct ai_provider *p) {
    static const char WHY[] = "must be a list of reasoning, tool-using, chat, code, vision, "
                              "multimodal, embedding, classification and retrieval";
    struct json_elements l = {0};
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->out->a, &l, x->err) != 0)
        return provider_wrong(x, "modelClasses", WHY);
    for (size_t i = 0; i < l.n; i++) {
        int no = agent_class_no(json_string(l.v[i], x->out->a));
        if (no < 0) return provider_wrong(x, "modelClasses", WHY);
        p->classes |= 1u << no;
    }
    return 0;
}

static int style_read(struct reader *x, struct str o, struct ai_provider *p) {
    struct str name;
    int rc = text_read(x, o, "style", true, &name);
    for (size_t i = 0; rc == 0 && i < sizeof AI_STYLES / sizeof *AI_STYLES; i++)
        if (str_eqc(name, AI_STYLES[i]->name)) p->style = AI_STYLES[i];
    return rc != 0 || p->style ? rc : provider_wrong(x, "style", "must be openai or anthropic");
}

static int url_read(struct reader *x, struct str o, struct ai_provider *p) {
    int rc = text_read(x, o, "url", true, &p->url);
    if (rc != 0) return rc;
    while (p->url.n > 0 && p->url.p[p->url.n - 1] == '/') p->url.n--;
    bool ok = (str_starts(p->url, STR("https://")) || str_starts(p->url, STR("http://"))) &&
              p->url.n < EGRESS_URL_MAX - 64;
    for (size_t i = 0; ok && i < p->url.n; i++)
        ok = p->url.p[i] > ' ' && p->url.p[i] < 127 && p->url.p[i] != '?' && p->url.p[i] != '#';
    return ok ? 0
              : provider_wrong(x, "url",
                               "must be an http or https URL without query, such as "
                               "https://api.example.com/v1");
}

static int key_read(struct reader *x, struct str o, struct ai_provider *p) {
    struct str file, env;
    int rc = text_read(x, o, "keyFile", false, &file);
    if (rc == 0) rc = text_read(x, o, "keyEnv", false, &env);
    if (rc != 0 || (file.n == 0 && env.n == 0)) return rc;
    if (file.n > 0 && env.n > 0)
        return provider_wrong(x, "keyFile", "and keyEnv are two sources for one credential");
    if (!x->key) return 0; /* nobody will ask it */
    rc = x->key(x->ctx, file, env, x->out->a, &p->key, x->err);
    if (rc != 0) return rc;
    bool ok = p->key.n > 0;
    for (size_t i = 0; ok && i < p->key.n; i++) ok = p->key.p[i] > ' ' && p->key.p[i] < 127;
    return ok ? 0
              : provider_wrong(x, file.n > 0 ? "keyFile" : "keyEnv",
                               "holds no credential: one line of visible ASCII characters");
}

static int provider_read(struct reader *x, struct str o, struct ai_provider *p) {
    static const char *const KNOWN[] = {
        "name",      "style",           "url",  "model",        "keyFile", "keyEnv", "prices",
        "maxTokens", "maxTokensMember", "byok", "modelClasses", NULL};
    struct str raw = json_get(o, "maxTokens");
    int rc = members_known(x, o, KNOWN, "");
    if (rc == 0) rc = text_read(x, o, "name", true, &p->name);
    for (size_t i = 0; rc == 0 && i < p->name.n; i++)
        if (p->name.p[i] <= ' ' || p->name.p[i] > '~' || p->name.n > AI_NAME_MAX)
            rc = provider_wrong(x, "name", "must be 1 to 128 visible ASCII characters");
    if (rc == 0 && ai_provider_find(x->out, p->name))
        rc = provider_wrong(x, "name", "is the name of an earlier provider");
    if (rc == 0) rc = style_read(x, o, p);
    if (rc == 0) rc = url_read(x, o, p);
    if (rc == 0) rc = text_read(x, o, "model", false, &p->model);
    if (rc == 0) rc = text_read(x, o, "maxTokensMember", false, &p->max_tokens_member);
    if (rc == 0 && raw.n > 0 &&
        (!json_int(raw, &p->max_tokens) || p->max_tokens < 1 || p->max_tokens > MAX_TOKENS_LIMIT))
        rc = provider_wrong(x, "maxTokens", "must be a whole number from 1 to 10000000");
    raw = json_get(o, "byok");
    if (rc == 0 && raw.n > 0 && !json_bool(raw, &p->byok))
        rc = provider_wrong(x, "byok", "must be true or false");
    if (rc == 0) rc = classes_read(x, json_get(o, "modelClasses"), p);
    if (rc == 0) rc = key_read(x, o, p);
    return rc == 0 ? prices_read(x, json_get(o, "prices"), p) : rc;
}

static int providers_read(struct reader *x, struct str text) {
    struct json_elements l;
    struct json_members m;
    int rc = json_check(text, &JSON_LIMITS_DEFAULT, x->err);
    if (rc != 0) return rc;
    text = arena_str(x->out->a, text);
    bool ok =
        text.p && json_type_of(text) == JSON_OBJECT && json_members(text, x->out->a, &m, NULL) == 0;
    for (size_t i = 0; ok && i < m.n; i++)
        ok = str_eqc(m.v[i].key, "providers") || str_eqc(m.v[i].key, "policies") ||
             str_eqc(m.v[i].key, "policyErrorCode");
    struct str list = ok ? json_get(text, "providers") : STR_NONE;
    ok = ok && list.n > 0 && json_type_of(list) == JSON_ARRAY &&
         json_elements(list, x->out->a, &l, NULL) == 0 && l.n > 0 && l.n <= PROVIDERS_MAX;
    if (!ok)
        return wopr_error_set(x->err, WOPR_E_CONFIG,
                              "must be an object with providers, a list of 1 to %u, and at most "
                              "policies and policyErrorCode beside it",
                              PROVIDERS_MAX);
    x->out->v = ARENA_ARRAY(x->out->a, struct ai_provider, l.n);
    if (!x->out->v) return WOPR_E_NO_MEMORY;
    for (x->at = 0; rc == 0 && x->at < l.n; x->at++) {
        x->out->v[x->at] = (struct ai_provider){0};
        rc = provider_read(x, l.v[x->at], &x->out->v[x->at]);
        if (rc == 0) x->out->n++;
    }
    return rc == 0 ? ai_policies_read(x->out, json_get(text, "policies"),
                                      json_get(text, "policyErrorCode"), x->err)
                   : rc;
}

int ai_providers_new(struct str text, ai_key_fn *key, void *ctx, struct ai_providers **out,
                     struct wopr_error *err) {
    struct ai_providers *p = MEM_NEW(struct ai_providers);
    if (p) p->a = arena_new(PROVIDER_ARENA);
    struct reader x = {p, key, ctx, err, 0};
    int rc = p && p->a ? providers_read(&x, text) : WOPR_E_NO_MEMORY;
    if (rc == 0 && arena_failed(p->a)) rc = WOPR_E_NO_MEMORY;
    if (rc == WOPR_E_NO_MEMORY) rc = wopr_error_set(err, rc, "no memory for the AI providers");
    if (rc == 0) *out = p;
    else ai_providers_free(p);
    return rc;
}

void ai_providers_free(struct ai_providers *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n; i++) /* the credentials do not stay in freed memory */
        if (p->v[i].key.n > 0) mem_wipe((void *)(uintptr_t)p->v[i].key.p, p->v[i].key.n);
    arena_free(p->a);
    mem_free(p);
}

/* ai_lookup.c: providers and prices by name. */
#include "domain/agent_manifest.h"
#include "nodes/ai.h"

size_t ai_providers_count(const struct ai_providers *p) { return p ? p->n : 0; }
unsigned ai_providers_classes(const struct ai_providers *p) {
    unsigned all = 0;
    for (size_t i = 0; p && i < p->n; i++) all |= p->v[i].classes;
    return all;
}
const struct ai_provider *ai_provider_for(const struct ai_providers *p, const char *model_class) {
    int no = model_class ? agent_class_no(str_c(model_class)) : -1;
    for (size_t i = 0; p && no >= 0 && i < p->n; i++)
        if ((p->v[i].classes >> no & 1u) != 0) return &p->v[i];
    return NULL;
}
struct str ai_providers_name(const struct ai_providers *p, size_t i) {
    return p->v[i].name;
}
struct str ai_providers_url(const struct ai_providers *p, size_t i) {
    return p->v[i].url;
}
bool ai_providers_byok(const struct ai_providers *p, size_t i) { return p->v[i].byok; }
struct str ai_providers_policy_code(const struct ai_providers *p) {
    return p && p->has_policies ? p->error_code : STR_NONE;
}

const struct ai_provider *ai_provider_find(const struct ai_providers *p, struct str name) {
    if (!p || p->n == 0) return NULL;
    if (name.n == 0) return &p->v[0];
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(p->v[i].name, name)) return &p->v[i];
    return NULL;
}

const struct ai_price *ai_price_find(const struct ai_provider *p, struct str model) {
    const struct ai_price *any = NULL;
    for (size_t i = 0; i < p->prices_nr; i++) {
        if (str_eq(p->prices[i].model, model)) return &p->prices[i];
        if (str_eqc(p->prices[i].model, "*")) any = &p->prices[i];
    }
    return any;
}

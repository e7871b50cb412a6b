/*
 * remotes.c: look-ups in the table of systems that the operator named.
 */
#include "egress/remotes.h"

static bool names_have(const struct remote_names *l, struct str name) {
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->v[i], name)) return true;
    return l->n == 0;
}

bool remote_for(const struct remote *r, struct str tenant) {
    return names_have(&r->tenants, tenant);
}

bool remote_has_tool(const struct remote *r, struct str tool) {
    return names_have(&r->tools, tool);
}

const struct remote *remote_find(const struct remotes *r, enum remote_kind kind, struct str name,
                                 struct str tenant) {
    for (size_t i = 0; r && i < r->n; i++) {
        const struct remote *x = &r->v[i];
        bool named = name.n == 0 || str_eq(name, x->name) || str_eq(name, x->url);
        if (x->kind == kind && named && remote_for(x, tenant)) return x;
    }
    return NULL;
}

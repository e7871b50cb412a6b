/*
 * cors.c: browsers of configured origins (HTTP-18; none by default).
 */
#include "http/http_internal.h"

bool cors_allows(const struct http_server *s, struct str origin) {
    if (!s->cfg.cors_origins || origin.n == 0) return false;
    for (const char *const *o = s->cfg.cors_origins; *o; o++)
        if (strcmp(*o, "*") == 0 || str_eqc(origin, *o)) return true;
    return false;
}

void cors_headers(struct call *c, struct MHD_Response *r) {
    struct http_server *s = c->pub.server;
    (void)MHD_add_response_header(r, "Vary", "Origin");
    if (!cors_allows(s, c->origin)) return;
    char *origin = arena_cstr(c->pub.arena, c->origin);
    if (!origin) return;
    (void)MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    const struct http_mount *mt = &c->mount->as;
    if (mt->cors_expose)
        (void)MHD_add_response_header(r, "Access-Control-Expose-Headers", mt->cors_expose);
    if (!str_eq(c->pub.method, STR("OPTIONS")) || !c->allow) return;
    (void)MHD_add_response_header(r, "Access-Control-Allow-Methods", c->allow);
    if (mt->cors_allow)
        (void)MHD_add_response_header(r, "Access-Control-Allow-Headers", mt->cors_allow);
    (void)MHD_add_response_header(r, "Access-Control-Max-Age", "600");
}
